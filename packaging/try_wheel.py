"""Install the wheel in an empty environment and do with it what the README says, with an empty home.

Usage: ``python packaging/try_wheel.py FOLDER``

FOLDER holds ``aspectra-*.whl``, and may hold ``aspectra_minilm-*.whl``. First everything runs on words; then
``aspectra setup`` brings the weights. Exits with 1 where a step fails or prints something else than expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

BIB = """@article{owl, title={How owls hunt in the dark}, author={Ada Strix}, year={2019},
  abstract={Owls listen for mice. Their ears sit at different heights.}}
@article{bat, title={Bats and their echoes}, author={Ben Ferox}, year={2021},
  abstract={Bats hunt moths by echo.}}
"""
WORDS = "Searched by words only"
STEPS = (  # (arguments, what its output must hold)
    (["init", "--demo"], WORDS),
    (["search", "reranking with large language models", "--limit", "1"], "of 107"),
    (["init", "--library", "my.lib"], "Made a library"),
    (["add", "my.bib", "--library", "my.lib"], "2 added"),
    (["index", "--library", "my.lib"], WORDS),
    (["search", "hunting at night", "--library", "my.lib"], "How owls hunt in the dark"),
    (["doctor"], "aspectra setup"),
    (["setup"], "The weights of the default encoder are"),
    (["index", "--library", "my.lib"], "2 newly encoded"),
    (["similar", "owl", "--library", "my.lib"], "Bats and their echoes"),
    (["export", "last", "--format", "ris", "--library", "my.lib"], "TY  - "),
)


def main(folder: Path) -> None:
    """Install and run the steps."""
    wheels = sorted(folder.resolve().glob("*.whl"))
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        venv.create(root / "venv", with_pip=True)
        programs = root / "venv" / ("Scripts" if os.name == "nt" else "bin")
        install = [programs / "python", "-m", "pip", "install", "--quiet"]
        ours = [str(wheel) for wheel in wheels if wheel.name.startswith("aspectra-")]
        subprocess.run([*install, *ours], check=True)
        home = root / "home"
        home.mkdir()
        (home / "my.bib").write_text(BIB, encoding="utf-8")
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ASPECTRA_"))
        }
        names = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
        environment = {**kept, **dict.fromkeys(names, str(home)), "PYTHONUTF8": "1"}
        weights = [wheel for wheel in wheels if wheel.name.startswith("aspectra_minilm-")]
        for words, expected in STEPS:
            more = ["--from", str(weights[0])] if words == ["setup"] and weights else []
            done = subprocess.run(
                [programs / "aspectra", *words, *more],
                cwd=home,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                check=False,
            )
            print(f"$ aspectra {' '.join(words)}\n{done.stdout}", flush=True)
            if done.returncode or expected not in done.stdout:
                sys.exit(f"exit code {done.returncode}; expected in the output: {expected}")
        _serve(programs, [*install, f"{ours[0]}[serve,mcp]"], home, environment)


def _serve(programs: Path, install: list[str | Path], home: Path, environment: dict[str, str]) -> None:
    """The page: named as missing without its extra, answered with it."""
    serve = [programs / "aspectra", "serve", "--library", "my.lib", "--port", "0", "--no-open"]
    lacking = subprocess.run(serve, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if lacking.returncode != 2 or "aspectra[serve]" not in lacking.stderr:
        sys.exit(f"without the extra: {lacking.stdout}{lacking.stderr}")
    subprocess.run(install, check=True)
    with subprocess.Popen(serve, cwd=home, env=environment, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        address = line.partition("/ ")[0]
        try:
            with urllib.request.urlopen(f"{address}/?text=hunting+at+night", timeout=60) as answer:
                page = answer.read().decode()
            with urllib.request.urlopen(f"{address}/static/style.css", timeout=60) as answer:
                style = answer.read().decode()
        finally:
            process.terminate()
    print(f"$ aspectra serve\n{line}", flush=True)
    if "How owls hunt in the dark" not in page or "--" not in style:
        sys.exit(f"the page is not what was expected: {page[:2000]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
