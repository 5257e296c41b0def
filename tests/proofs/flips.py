"""Flip one bit at a time in an index or in ``library.db``, and compare what a fresh process would answer.

Each flip is made, some queries are asked of a library opened anew, and the bit is put back. A flip may be
*harmless* (all answers are the same) or *refused* (LibraryCorrupt, with the command that mends it); one that
is *silent* (another answer) or *uncaught* (another error) is a fault, and the exit code is 1.

    python tests/proofs/flips.py --flips 3500 --seed 1

Six of seven flips are made here, in the files of an index; the others by ``database_flips.py``. The library
is small and made up. The size from which files are memory-mapped is made small too, so that arrays are read
lazily, as those of a large library are.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import database_flips
from summary import Summary, arguments

from aspectra.app.ingest.library_facts import summary
from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.conditions.condition import Condition
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.settings import IndexSettings
from aspectra.views.storage import arrays
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder

KINDS = ("harmless", "refused", "silent", "uncaught")
BROKEN = KINDS[2:]
_WORDS = (
    "owl mouse night forest hearing wing prey maze shadow fear ranking document query model prompt search "
    "vector index sentence method result measure survey benchmark language translation graph protein cell"
).split()
_VENUES = ("Birds", "Mammals", "IR", "")
CONDITIONS = tuple(
    Condition(attribute, value, relation)
    for attribute, value, relation in (
        ("year", ">=2004", "require"),
        ("venue", "IR", "prefer"),
        ("language", "en", "prefer"),
        ("length", ">=paragraph", "prefer"),
        ("audience", "expert", "prefer"),
        ("kind", "survey", "avoid"),
        ("format", "list", "avoid"),
        ("source", "scholarly", "prefer"),
    )
)


@dataclass
class Outcome:
    """What came of many flips.

    Attributes:
        seed: of the places.
        counts: kind -> how many.
        faults: what each silent or uncaught one was: file, byte, bit, and what happened.
    """

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [f"seed {self.seed}: {self.counts.total():,} flips"]
        rows += [f"  {kind:9} {self.counts[kind]:6,}" for kind in KINDS]
        return "\n".join([*rows, *self.faults])


def make_papers(count: int, random_: random.Random) -> list[Paper]:
    """Papers of made-up sentences; every third one has full text, every fifth cites the one before it."""
    papers = []
    for number in range(count):

        def sentence() -> str:
            words = random_.choices(_WORDS, k=random_.randint(5, 12))
            return f"{' '.join(words).capitalize()} number {random_.randint(2, 900)}."

        def text(sentences: int, say: Callable[[], str] = sentence) -> str:
            return " ".join(say() for _ in range(sentences))

        sections = ("Introduction", "Method", "Results") if number % 3 == 0 else ()
        papers.append(
            Paper(
                f"paper-{number:03d}",
                sentence().rstrip("."),
                text(random_.randint(2, 5)) if number % 7 else "",
                (f"Ada Author{number % 9}",),
                2000 + number % 24 if number % 11 else None,
                _VENUES[number % 4],
                language="en" if number % 2 else "",
                sections=tuple(Section(name, text(random_.randint(3, 8))) for name in sections),
            )
        )
    return papers


def make_library(folder: Path, papers: int = 48, seed: int = 0) -> None:
    """A library with all that an index can hold: words, vectors, chunks, lenses, readings."""
    with Store.create(folder) as library:
        with library.writing("add") as writer:
            writer.add(make_papers(papers, random.Random(seed)))
            writer.checkpoint()
        settings = IndexSettings(encoders=("fake",), chunks=("60w",), lenses=tuple(LENSES.names()))
        build_index(library, settings, load=lambda _: FakeEncoder())


def ask(folder: Path) -> list[Any]:
    """What a library, opened anew, answers to a fixed set of queries."""
    with Searcher(Store(folder), load=lambda _: FakeEncoder()) as searcher:
        ids = [f"paper-{number:03d}" for number in (3, 6, 10)]
        rankings = [
            searcher.search("owl hearing at night", limit=6, explain=True),
            searcher.search("ranking documents with a language model", "hybrid", limit=6),
            searcher.search("mouse in the maze", "bm25", limit=6, conditions=CONDITIONS),
            searcher.search("protein graph survey", "fulltext", limit=6, explain=True),
            searcher.similar(ids[0], same=("method",), different=("result",), limit=6, explain=True),
            searcher.similar(*ids[1:], recipe="prism", limit=6),
            searcher.similar(ids[0], recipe="directional", limit=6),
        ]
        views = [_best(searcher, name, ids[0]) for name in searcher.index.view_names]
        facts = summary(searcher.library)
        shown = [searcher.library.get(one) for one in ids]
    return [*map(_told, rankings), views, facts, shown]


def _best(searcher: Searcher, name: str, seed: str) -> list[Any]:
    """The best papers of one view for a text and for a paper, and where it can, in reverse."""
    view = searcher.index.view(name)
    probes = [Probe(name, text="owl hearing at night"), Probe(name, seeds=(seed,))]
    if view.facts.stored.get("pairs"):
        probes.append(Probe(name, seeds=(seed,), reverse=True))
    found = [view.top(probe, 6) for probe in probes]
    return [(one.papers.tolist(), one.scores.tolist()) for one in found]


def _told(ranking: Any) -> Any:
    """A ranking without its times."""
    told = ranking.to_dict()
    told.pop("seconds", None)
    for step in told.get("steps", ()):
        step.pop("seconds", None)
    return told


def _places(files: Sequence[Path], count: int, random_: random.Random) -> Iterator[tuple[Path, int, int]]:
    """(file, byte, bit): by turns drawn from all bytes, and from a file drawn as often as any other."""
    sizes = [file.stat().st_size for file in files]
    filled = [file for file, size in zip(files, sizes, strict=True) if size]
    for number in range(count):
        file = random_.choice(filled) if number % 2 else random_.choices(files, sizes)[0]
        yield file, random_.randrange(file.stat().st_size), random_.randrange(8)


def _flip(file: Path, at: int, bit: int) -> None:
    with file.open("r+b") as stream:
        stream.seek(at)
        byte = stream.read(1)[0]
        stream.seek(at)
        stream.write(bytes([byte ^ 1 << bit]))


def _kind(folder: Path, expected: list[Any]) -> tuple[str, str]:
    """What became of a flip, and what to tell of it."""
    try:
        found = ask(folder)
    except LibraryCorrupt as error:
        return ("refused", "") if error.hint else ("uncaught", f"without a hint: {error.what}")
    except AspectraError as error:
        return "uncaught", f"{type(error).__name__}: {error.what}"
    except Exception as error:
        return "uncaught", f"{type(error).__name__}: {error}"
    if found == expected:
        return "harmless", ""
    changed = [number for number, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    return "silent", f"answers {changed} differ"


def flip(folder: Path, files: Sequence[Path], count: int, seed: int) -> Outcome:
    """Flip ``count`` bits of the files of a library, one at a time.

    Args:
        folder: of the library.
        files: those to damage.
        count: flips.
        seed: of their places.
    """
    expected = ask(folder)
    assert ask(folder) == expected, "the answers are not the same twice"
    out = Outcome(seed)
    for file, at, bit in _places(files, count, random.Random(seed)):
        whole = file.read_bytes()
        _flip(file, at, bit)
        kind, told = _kind(folder, expected)
        out.counts[kind] += 1
        if told:
            out.faults.append(f"{kind}: {file.relative_to(folder)} byte {at} bit {bit}: {told}")
        if file.read_bytes() != whole:
            file.write_bytes(whole)
    return out


def index_files(folder: Path) -> list[Path]:
    """CURRENT, and all files of the generation that it names."""
    current = Store(folder).generations.current()
    assert current is not None
    return [current.parent / "CURRENT", *sorted(path for path in current.rglob("*") if path.is_file())]


def flip_index(folder: Path, count: int, seed: int) -> Outcome:
    """Flips in the files of an index of a library that is made in ``folder``."""
    with mock.patch.object(arrays, "_MAPPED", 2048):
        make_library(folder)
        return flip(folder, index_files(folder), count, seed)


def main() -> int:
    parser = arguments("Flip bits of an index and of library.db, one at a time, and ask the same questions.")
    parser.add_argument("--flips", type=int, default=3500, help="six of seven in the index [3500]")
    options = parser.parse_args()
    proof = Summary("flips", options.seed)
    with tempfile.TemporaryDirectory(prefix="flips-") as folder:
        count = options.flips * 6 // 7
        index = flip_index(Path(folder, "library"), count, options.seed)
        faults: list[str] = []
        database = database_flips.run(
            options.flips - count, options.seed, Path(folder, "database"), report=faults.append
        )
    for kind in KINDS:
        proof.count("index", kind, 0 if kind in BROKEN else index.counts[kind])
    for kind, name in {"same": "harmless", "refused": "refused", "doctor": "doctor"}.items():
        proof.count("library.db", name, database[kind])
    for kind in BROKEN:
        proof.count("library.db", kind, 0)
    for fault in index.faults:
        proof.broken("index", fault.partition(":")[0], fault)
    for fault in faults:
        proof.broken("library.db", "silent" if fault.startswith("changed") else "uncaught", fault)
    return proof.finish(options.record)


if __name__ == "__main__":
    sys.exit(main())
