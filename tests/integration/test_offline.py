"""The default path opens no connection: not on import, not while encoding, not while searching."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SCRIPT = """
import sys

def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        raise SystemExit(f"a connection was tried: {event} {args}")

sys.addaudithook(watch)
from aspectra.app.main import main
for words in (
    ["init", "--library", sys.argv[1]],
    ["add", sys.argv[2], "--library", sys.argv[1]],
    ["index", "--library", sys.argv[1]],
    ["search", "owls at night", "--library", sys.argv[1]],
    ["similar", "owl", "--same", "method", "--library", sys.argv[1]],
    ["doctor", "--library", sys.argv[1]],
):
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    if code not in (0, None):
        raise SystemExit(f"{words}: {code}")
"""


BIB = """
@article{owl, title={Owls hunt at night}, abstract={Owls listen for mice. We recorded forty owls.}}
@article{mice, title={Mice avoid predators}, abstract={Mice freeze. A maze was built for the study.}}
"""


def test_no_connection_is_tried(tmp_path):
    (tmp_path / "owls.bib").write_text(BIB)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(SCRIPT),
            str(tmp_path / "library"),
            str(tmp_path / "owls.bib"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_importing_is_light():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, aspectra; aspectra.AspectraError;"
            "heavy = {'numpy', 'openvino', 'bm25s', 'typer', 'rich', 'lxml', 'pypdfium2', 'torch', 'scipy'};"
            "print(sorted(heavy & set(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
