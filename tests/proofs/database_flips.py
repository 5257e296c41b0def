"""One-bit flips in ``library.db``: is every one of them refused, or without effect on what is answered?

``flips.py`` runs it.

For each flip: a sound library is copied, one bit of the database is flipped (the file's times stay as they
were, as when a disk forgets), and everything in :func:`answers` is done in a fresh process, which opens it
anew. Each answer is *same*, *refused* (an ``AspectraError``), *changed* (another answer: silent damage) or
*uncaught* (any other error). *doctor* is another answer where a paper is not found any more by an index or a
key, and the check of the database, which ``aspectra doctor --verify`` makes, says that it is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from aspectra.base.errors import AspectraError
from aspectra.papers.library import schema
from aspectra.papers.library.marks.values import Note
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

OUTCOMES = ("same", "refused", "doctor", "changed", "uncaught")
_WORDS = "owl mouse night wing egg nest song hunt dark prey flock sea".split()
SETTINGS = IndexSettings(encoders=("fake",), chunks=("60w",), batch=16)


def small_papers(count: int) -> list[Paper]:
    out = []
    for n in range(count):
        first, second, third = _WORDS[n % 12], _WORDS[n // 12 % 12], _WORDS[n * 7 % 12]
        title = f"The {first} and the {second} of kind {n}"
        text = f"We study the {first}. It has a {second} at {third}. The number of it is {n * 13}."
        body = tuple(
            Section(f"Part {part}", f"The {third} number {part} of {n}. " * 12) for part in range(n % 3)
        )
        cited = tuple(
            Reference(identifiers={"doi": f"10.1000/work.{(n * 5 + k) % count}"}) for k in range(n % 4)
        )
        names = (f"Ada {_WORDS[n % 5].title()}son", f"Bo {_WORDS[n % 7].title()}man")
        own = {"doi": f"10.1000/work.{n}"} if n % 5 else {"arxiv": f"2101.{n:05d}"}
        out.append(
            Paper(
                *(f"p{n:03d}", title, text, names if n % 9 else ()),
                *(2000 + n % 20, f"Venue {n % 4}", own),
                sections=body,
                references=cited,
            )
        )
    # Two works of two versions each.
    out += [Paper(f"v{n}", out[n].title, "Another text.", out[n].authors, out[n].year) for n in (10, 25)]
    return out


def make(folder: Path, papers: int = 60) -> None:
    """A small library with an index: papers, full texts, citations, versions, vectors, lens values."""
    with Store.create(folder) as library:
        with library.writing("add") as writer:
            writer.add(small_papers(papers), path="/papers.jsonl", source="jsonl")
            writer.marks.tag(["p001", "p002", "p017"], ["owl", "to read"])
            writer.marks.note("p002", Note("A weak baseline.", "It has a mouse."))
            writer.marks.decide(["p002", "p003"], "exclude", "no owl")
            writer.marks.edit("p004", year=1990)
            writer.checkpoint()
        build_index(library, SETTINGS, load=lambda _: FakeEncoder())


def answers(folder: Path) -> dict[str, Callable[[], Any]]:
    """Name -> what to ask of the library; each opens it anew."""

    def asked(ask: Callable[[Searcher, Store], Any]) -> Callable[[], Any]:
        def go() -> Any:
            with Store(folder) as library:
                return ask(Searcher(library, load=lambda _: FakeEncoder()), library)

        return go

    def search(text: str, *seeds: str, **more: Any) -> Callable[[], Any]:
        def go(searcher: Searcher, library: Store) -> Any:
            from aspectra.search.conditions.condition import Condition
            from aspectra.search.query import Query

            conditions = tuple(Condition.parse(c) for c in more.get("conditions", ()))
            found = tuple(library.resolve(seed) for seed in seeds)
            query = Query(text, seeds=found, conditions=conditions, limit=8)
            return searcher.search(query, more.get("recipe", "hybrid")).to_dict()

        return asked(go)

    def rebuilt() -> Any:
        """A new index from the database, and an answer of it."""
        with Store(folder) as library:
            build_index(library, SETTINGS, load=lambda _: FakeEncoder(), rebuild=True)
            searcher = Searcher(library, load=lambda _: FakeEncoder())
            return searcher.search("a nest in the dark").to_dict()["hits"]

    return {
        "search": search("the owl hunts at night"),
        "seed by DOI": search("", "doi:10.1000/work.11"),
        "seed by title": search("", "The owl and the wing of kind 36"),
        "seed by id": search("", "p017"),
        "seed with versions": search("", "p010"),
        "author": search("egg and nest", conditions=["require author=Owlson"]),
        "keyword": search("egg and nest", conditions=["prefer keyword=prey"]),
        "citations": search("song of the sea", recipe="bm25 | citations | bm25"),
        "links": asked(lambda _, s: [(s.cites(i), s.cited_by(i), s.versions([i])) for i in ("p007", "p025")]),
        "show": asked(lambda _, s: s.get("p023").to_dict()),
        "export": asked(lambda _, s: [p.to_dict() for p in s.get_many(s.ids()).values()]),
        "marks": asked(lambda _, s: _marks(s)),
        "rebuild": rebuilt,
    }


def _marks(library: Store) -> list[Any]:
    marks = library.marks
    read = [marks.tags(), list(marks.notes()), marks.decisions(), marks.edit("p004"), marks.actions()]
    return [*read, sorted(marks.tagged("owl")), marks.origins(["p001", "p004"])]


def outcome(folder: Path, names: list[str] | None = None) -> dict[str, str]:
    """Name of the question -> hash of its answer, ``refused: ...`` or ``uncaught: ...``."""
    out = {}
    for name, ask in answers(folder).items():
        if names is not None and name not in names:
            continue
        try:
            value = json.dumps(_bare(ask()), sort_keys=True, default=str)
            out[name] = hashlib.sha256(value.encode()).hexdigest()
        except AspectraError as error:
            out[name] = f"refused: {type(error).__name__}: {error.what}"
        except Exception as error:
            out[name] = f"uncaught: {type(error).__name__}: {error}"
    return out


def _bare(value: Any) -> Any:
    """The answer without times and without where the library is."""
    if isinstance(value, dict):
        return {
            k: _bare(v) for k, v in value.items() if k not in ("seconds", "library", "created", "generation")
        }
    return [_bare(v) for v in value] if isinstance(value, (list, tuple)) else value


def flip(file: Path, bit: int) -> None:
    """Flip one bit of a file, which keeps its times."""
    times = file.stat()
    with file.open("r+b") as stream:
        stream.seek(bit // 8)
        (byte,) = stream.read(1)
        stream.seek(bit // 8)
        stream.write(bytes([byte ^ 1 << bit % 8]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _in_child(folder: Path) -> dict[str, str]:
    """:func:`outcome` in a child process, which a damaged file may not take down, and what a check finds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            found = outcome(folder)
            found["check"] = " ".join(schema.problems(folder / "library.db"))
        except AspectraError as error:
            found["check"] = error.what
        except BaseException as error:
            found = {"all": f"uncaught: {type(error).__name__}: {error}"}
        with os.fdopen(write, "w") as stream:
            json.dump(found, stream)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"all": f"uncaught: the process ended with {status}"}


def run(flips: int, seed: int, folder: Path, *, report: Callable[[str], None] = print) -> Counter[str]:
    """Flip bits one after the other; returns outcome -> number of flips, by the worst of each flip."""
    sound, damaged = folder / "sound", folder / "damaged"
    if not sound.exists():
        make(sound)
    expected = outcome(_copy(sound, damaged))  # here, so that no child has to import anything
    assert not [v for v in expected.values() if ":" in v], expected
    chance, total = random.Random(seed), Counter[str]()
    bits = (sound / "library.db").stat().st_size * 8
    for _ in range(flips):
        bit = chance.randrange(bits)
        flip(_copy(sound, damaged) / "library.db", bit)
        found = _in_child(damaged)
        seen = found.pop("check", "")
        kinds = {name: _kind(value, expected.get(name)) for name, value in found.items()}
        if seen:
            kinds = {name: "doctor" if kind == "changed" else kind for name, kind in kinds.items()}
        worst = max(kinds.values(), key=OUTCOMES.index)
        total[worst] += 1
        if worst in ("changed", "uncaught"):
            report(
                f"{worst}: bit {bit} (page {bit // 65536 + 1}): "
                + "; ".join(f"{name}: {found[name][:200]}" for name, kind in kinds.items() if kind == worst)
            )
    return total


def _kind(value: str, expected: str | None) -> str:
    if value == expected:
        return "same"
    kind = value.partition(":")[0]
    return kind if kind in OUTCOMES else "changed"


def _copy(sound: Path, damaged: Path) -> Path:
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(sound, damaged)
    return damaged
