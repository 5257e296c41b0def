"""Change one line of the code at a time: the tests named for it have to fail.

``mutants.toml`` lists the mutants: a file of the package, a text that is in it once, what it becomes, and the
tests that must notice. Each is applied to a copy of the package, which the tests then import. A mutant whose
text is not in its file once, or that cannot be imported, is an error of the list, not a mutant that died.

    python tests/proofs/mutants.py                     # all
    python tests/proofs/mutants.py --only sign-of-p-mrr
    python tests/proofs/mutants.py --sample 8 --seed 1
    python tests/proofs/mutants.py --check             # only whether the list fits the code
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

sys.path[:0] = [str(Path(__file__).parent)]

from summary import Summary, arguments

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "aspectra"
LIST = Path(__file__).with_name("mutants.toml")
PATIENCE = 600  # seconds; a mutant that makes its tests run for ever has died


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        name: unique, in lower case.
        file: of the package.
        text: in the file once.
        becomes: the mistake.
        tests: files or ids of tests, one of which has to fail.
    """

    name: str
    file: str
    text: str
    becomes: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """The room that the file belongs to."""
        return self.file.partition("/")[0]

    def mutated(self) -> str:
        """The file's content with the mistake in it.

        Raises:
            ValueError: the list does not fit the code.
        """
        content = (PACKAGE / self.file).read_text("utf-8")
        if (times := content.count(self.text)) != 1:
            raise ValueError(f"{self.name}: the text is {times} times in {self.file}, not once")
        new = content.replace(self.text, self.becomes)
        if self.file.endswith(".py"):
            try:
                compile(new, self.file, "exec")
            except SyntaxError as error:
                raise ValueError(f"{self.name}: {error}") from error
        return new


def mutants() -> list[Mutant]:
    """All of the list."""
    rows = tomllib.loads(LIST.read_text("utf-8"))["mutant"]
    return [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows]


def problems() -> list[str]:
    """What in the list does not fit the code; empty when all is well."""
    found, names = [], set()
    for one in mutants():
        if one.name in names:
            found.append(f"{one.name}: the name is given twice")
        names.add(one.name)
        try:
            one.mutated()
        except (ValueError, OSError) as error:
            found.append(str(error))
        missing = [test for test in one.tests if not (ROOT / test.partition("::")[0]).exists()]
        found += [f"{one.name}: there is no {test}" for test in missing]
    return found


def run_tests(tests: tuple[str, ...], source: Path) -> tuple[int, str]:
    """Exit status of pytest with the package in ``source``, and the last of what it printed."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",
        "HF_HUB_OFFLINE": "1",
    }
    # Examples in docstrings are those of the copy.
    places = [str(source / one.removeprefix("src/")) if one.startswith("src/") else one for one in tests]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-p",
        "no:cacheprovider",
        "-c",
        "pyproject.toml",
        *places,
    ]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return 1, "timed out"
    return done.returncode, (done.stdout + done.stderr)[-1500:]


class Copies:
    """Copies of the package, one for each process at work."""

    def __init__(self, root: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            shutil.copytree(
                PACKAGE, root / str(number) / "aspectra", ignore=shutil.ignore_patterns("__pycache__")
            )
            self._free.put(root / str(number))

    def test(self, one: Mutant | None, tests: tuple[str, ...]) -> tuple[int, str, float]:
        """Run tests on a copy with a mutant in it, or none."""
        source = self._free.get()
        clock = time.monotonic()
        file = source / "aspectra" / (one.file if one else "__init__.py")
        plain = file.read_bytes()
        try:
            if one is not None:
                file.write_text(one.mutated(), "utf-8")
            return *run_tests(tests, source), time.monotonic() - clock
        finally:
            file.write_bytes(plain)
            self._free.put(source)


def prove(chosen: list[Mutant], seed: int, jobs: int = 2) -> Summary:
    """Try these mutants."""
    summary = Summary("mutants", seed)
    for outcome in ("died", "survived", "error"):
        summary.count("base", outcome, 0)
    with tempfile.TemporaryDirectory(prefix="aspectra-mutants-") as root, ThreadPoolExecutor(jobs) as pool:
        copies = Copies(Path(root), jobs)
        tests = tuple(dict.fromkeys(test for one in chosen for test in one.tests))
        code, said, seconds = copies.test(None, tests)
        if code:
            summary.broken("unchanged", "error", f"the tests fail without any mutant: {said}")
            return summary
        print(f"{len(chosen)} mutants; their tests pass on the code as it is ({seconds:.0f} s)", flush=True)
        for one, (code, said, seconds) in zip(
            chosen, pool.map(lambda one: copies.test(one, one.tests), chosen), strict=True
        ):
            outcome = {0: "survived", 1: "died"}.get(code, "error")
            print(f"{outcome:9}{seconds:6.1f} s  {one.file}: {one.name}", flush=True)
            if outcome == "died":
                summary.count(one.room, "died")
            else:
                summary.broken(one.room, outcome, f"{one.name} in {one.file}" + said * (outcome == "error"))
    return summary


if __name__ == "__main__":
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", action="append", default=[], help="a mutant's name, or its beginning")
    parser.add_argument("--sample", type=int, default=0, help="only so many, drawn with the seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once; 2 unless given")
    parser.add_argument("--check", action="store_true", help="only check that the list fits the code")
    options = parser.parse_args()
    if wrong := problems():
        raise SystemExit("\n".join(wrong))
    every = [m for m in mutants() if not options.only or m.name.startswith(tuple(options.only))]
    if options.check:
        raise SystemExit(f"{len(every)} mutants fit the code" if not every else 0)
    if options.sample:
        every = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    raise SystemExit(prove(every, options.seed, options.jobs).finish(options.record))
