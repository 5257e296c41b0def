"""Build what a release uploads: source archive and wheel of the tagged commit, and the wheel of the weights.

Usage: ``python packaging/release.py https://HOST/OWNER/NAME v0.1.0 OUT``

A page of a package index has no files beside it, so the README's links are made absolute there. The address
of the repository is given here, since it is nowhere in the files themselves.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from weights_wheel import make

from aspectra.base.version import __version__
from aspectra.views.encoders.minilm import find_model

_LINK = re.compile(r"(\]\()(?!https?://|#|mailto:)([^)\s]+)(\))")


def absolute_links(text: str, home: str, tag: str) -> str:
    """Markdown whose links to files of the repository name them at a tag.

    >>> absolute_links("[a](docs/a.md#b) [c](https://c.org)", "https://h/o/n", "v1")
    '[a](https://h/o/n/blob/v1/docs/a.md#b) [c](https://c.org)'
    """
    return _LINK.sub(rf"\g<1>{home}/blob/{tag}/\g<2>\g<3>", text)


def build(home: str, tag: str, out: Path) -> None:
    """Source archive, wheel, and wheel of the weights."""
    if tag != f"v{__version__}":
        sys.exit(f"the tag is {tag}, the version {__version__}. Next: set the version in pyproject.toml")
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        files = subprocess.run(["git", "archive", tag], cwd=root, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(folder, filter="data")
        readme, project = Path(folder) / "README.md", Path(folder) / "pyproject.toml"
        readme.write_text(absolute_links(readme.read_text("utf-8"), home, tag), "utf-8")
        urls = f'[project.urls]\nRepository = "{home}"\nChanges = "{home}/blob/{tag}/CHANGELOG.md"\n\n'
        text = project.read_text("utf-8").replace("[project.scripts]", f"{urls}[project.scripts]", 1)
        project.write_text(text, "utf-8")
        command = [sys.executable, "-m", "build", "--outdir", str(out.resolve()), folder]
        subprocess.run(command, check=True)
    make(find_model(), out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("home", help="address of the repository, as https://HOST/OWNER/NAME")
    parser.add_argument("tag")
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    build(given.home.rstrip("/"), given.tag, given.out)
