"""Records per second of `aspectra add` on a folder of many made-up files, half BibTeX and half RIS.

    python benchmarks/bench_add.py [--records 100000] [--files 1000] [--runs 1]

Every 20th record is there in another file too, in the other format and under another key. Titles, names and
abstracts are random words with the lengths of real ones. Prints a Markdown table; --keep FOLDER leaves the
files and the library there.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter

_LIMIT = 90.0  # seconds for 100,000 records
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu tion ment ness ing ed er".split()
_VENUES = tuple(f"Journal of {name} Studies" for name in ("Applied", "General", "Modern", "Northern", "Open"))
_EVERY = 20  # records: one of them is there twice


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(1, 4)))


def record(number: int) -> dict[str, object]:
    """A made-up record; the same for the same number."""
    rng = random.Random(number)
    sentences = [
        " ".join(_word(rng) for _ in range(rng.randint(12, 28))).capitalize() + "."
        for _ in range(rng.randint(5, 9))
    ]
    people = [
        (_word(rng).capitalize(), f"{_word(rng).capitalize()} {rng.choice('ABCDEFGH')}.")
        for _ in range(rng.randint(1, 6))
    ]
    return {
        "key": f"rec{number}",
        "title": " ".join(_word(rng) for _ in range(rng.randint(6, 14))).capitalize(),
        "people": people,
        "year": rng.randint(1990, 2024),
        "venue": rng.choice(_VENUES),
        "doi": f"10.{1000 + number % 97}/made.{number}",
        "abstract": " ".join(sentences),
        "keywords": [_word(rng) for _ in range(rng.randint(0, 6))],
        "pages": (first := rng.randint(1, 900), first + rng.randint(3, 30)),
        "volume": rng.randint(1, 80),
    }


def bibtex(made: dict[str, object], key: str) -> str:
    """As an entry of BibTeX."""
    names = " and ".join(f"{last}, {first}" for last, first in made["people"])  # type: ignore[attr-defined]
    first, last = made["pages"]  # type: ignore[misc]
    return (
        f"@article{{{key},\n  author = {{{names}}},\n  title = {{{{{made['title']}}}}},\n"
        f"  journal = {{{made['venue']}}},\n  year = {{{made['year']}}},\n  volume = {{{made['volume']}}},\n"
        f"  pages = {{{first}--{last}}},\n  doi = {{{made['doi']}}},\n"
        f"  keywords = {{{', '.join(made['keywords'])}}},\n"  # type: ignore[arg-type]
        f"  abstract = {{{made['abstract']}}}\n}}\n\n"
    )


def ris(made: dict[str, object], key: str) -> str:
    """As a record of RIS."""
    people = "".join(f"AU  - {last}, {first}\n" for last, first in made["people"])  # type: ignore[attr-defined]
    words = "".join(f"KW  - {word}\n" for word in made["keywords"])  # type: ignore[attr-defined]
    first, last = made["pages"]  # type: ignore[misc]
    return (
        f"TY  - JOUR\nID  - {key}\n{people}TI  - {made['title']}\nJO  - {made['venue']}\n"
        f"PY  - {made['year']}\n"
        f"VL  - {made['volume']}\nSP  - {first}\nEP  - {last}\nDO  - {made['doi']}\n{words}"
        f"AB  - {made['abstract']}\nER  - \n\n"
    )


def write_files(folder: Path, records: int, files: int) -> None:
    """Write the records into files of equal size, BibTeX and RIS in turn."""
    share = -(-records // files)
    for number in range(files):
        write, suffix = ((bibtex, "bib"), (ris, "ris"))[number % 2]
        parts = []
        for at in range(number * share, min((number + 1) * share, records)):
            again = at % _EVERY == _EVERY - 1 and at >= share
            parts.append(write(record(at - share) if again else record(at), f"rec{at}"))
        (folder / f"part-{number:04}.{suffix}").write_text("".join(parts), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as made:
        root = Path(made)
        folder = root / "files"
        folder.mkdir(parents=True, exist_ok=True)
        write_files(folder, options.records, options.files)
        seconds, cpu = [], []
        for run in range(options.runs):
            library = str(root / f"library-{run}")
            aspectra = [sys.executable, "-m", "aspectra"]
            subprocess.run([*aspectra, "init", "--library", library], check=True, stdout=subprocess.DEVNULL)
            before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
            command = [*aspectra, "add", str(folder), "--library", library]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds.append(perf_counter() - clock)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            print(done.stdout.splitlines()[-1], file=sys.stderr)
    wall, limit = statistics.median(seconds), _LIMIT * options.records / 100_000
    print("| what | measured | asked | met |\n|---|---|---|---|")
    print(
        f"| add {options.records:,} records in {options.files:,} files | {wall:.1f} s "
        f"({options.records / wall:,.0f} a second; processor time {statistics.median(cpu):.1f} s) | "
        f"<= {limit:.0f} s | {'yes' if wall <= limit else 'no'} |"
    )


if __name__ == "__main__":
    main()
