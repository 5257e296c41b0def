"""A state machine: any order of changes, kills and searches of a library, against a dictionary of papers."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import limits
from aspectra.search.searcher import Searcher
from aspectra.testing.simulated_disk import Fault, run_with_fault
from aspectra.testing.views import Limit, after_adding, bm25_scores
from aspectra.views.build.run import build_index, merge_segments
from aspectra.views.build.segments import Segments
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.settings import IndexSettings

# Words that no stemmer changes and no list of stop words has; one in two titles shares each of the first.
_WORDS = ("owl", "fox", "bear", "wolf", "lynx", "crab", "moth")
_IDS = tuple(f"p{number}" for number in range(9))
_VENUES = ("Dens", "Nests")
_text = st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    """One of nine papers, each with a title of its own; abstract, year and venue vary."""
    number = draw(st.integers(0, len(_IDS) - 1))
    title = f"{_WORDS[number % 7]} {_WORDS[number // 7]} t{number}x{number}"
    year = draw(st.none() | st.integers(1999, 2003))
    return Paper(_IDS[number], title, draw(_text), year=year, venue=draw(st.sampled_from(("", *_VENUES))))


_limits = st.builds(
    Limit,
    st.none() | st.integers(1999, 2001),
    st.none() | st.integers(2001, 2003),
    st.sampled_from(("", *_VENUES)),
)


class LibraryMachine(RuleBasedStateMachine):
    """Adds, edits, removes, indexes, is killed, is opened again, refreshes and searches.

    A subclass puts something of its own under test, an encoder say, by naming it in ``settings``; pytest runs
    ``Subclass.TestCase``. Every test holds these to be true:

    - a paper that was added is there with what was added, until it is removed; after a kill all of a step's
      papers changed or none;
    - papers that a search finds were indexed, and were not removed since;
    - BM25 scores are those of :func:`~aspectra.testing.views.bm25_scores`, and filters are exact;
    - a reader keeps its generation until it refreshes, and then has the newest;
    - a library made anew of the same papers gives the same answers.

    Attributes:
        settings: what is indexed; the rule ``lens`` adds to it and takes away from it.
        load: makes an encoder from its specification.
        lenses: lenses that come and go.
        recipes: answers of these are compared with those of a library made anew.
        segments: when an index is written in segments.
    """

    settings: ClassVar[IndexSettings] = IndexSettings(encoders=(), chunks=(), lenses=())
    load: ClassVar[Callable[[str], Encoder]] = staticmethod(load_encoder)
    lenses: ClassVar[Sequence[str]] = ("language", "length")
    recipes: ClassVar[Sequence[str]] = ("bm25", "guided")
    segments: ClassVar[Segments] = Segments()

    @initialize(some=st.lists(papers(), max_size=6, unique_by=lambda paper: paper.id))
    def start(self, some: list[Paper]) -> None:
        """A library with these papers, indexed and opened; an empty one without papers."""
        self._place = Path(tempfile.mkdtemp(prefix="aspectra-machine-"))
        self.folder = self._place / "library"
        self.store = Store.create(self.folder)
        self.applied: tuple[str, ...] = ()
        self.held: dict[str, Paper] = {}
        self.indexed: dict[str, Paper] | None = None
        self.searcher: Searcher | None = None
        self.seen: dict[str, Paper] = {}  # what the searcher's generation was built from
        if some:
            self.add(some)
            self.index(rebuild=False)
            self.refresh()

    def teardown(self) -> None:
        """Remove the library."""
        if hasattr(self, "_place"):
            self._release()
            shutil.rmtree(self._place, ignore_errors=True)

    # Steps that write. Each opens the library for itself, so that it can run in a process that is killed.

    def _adding(self, some: Sequence[Paper]) -> Callable[[], object]:
        def step() -> None:
            with Store(self.folder) as store, store.writing("add") as writer:
                writer.add(some)
                writer.checkpoint()

        return step

    def _removing(self, ids: Sequence[str]) -> Callable[[], object]:
        def step() -> None:
            with Store(self.folder) as store, store.writing("remove") as writer:
                writer.remove(ids)

        return step

    def _indexing(self, *, rebuild: bool = False) -> Callable[[], object]:
        settings = self.settings.changed(lenses=(*self.settings.lenses, *self.applied))

        def step() -> None:
            with Store(self.folder) as store:
                load, segments = type(self).load, self.segments
                build_index(store, settings, rebuild=rebuild, load=load, segments=segments)

        return step

    def _with(self, some: Sequence[Paper]) -> dict[str, Paper]:
        after = dict(self.held)
        for paper in some:
            after[paper.id] = after_adding(after, paper)
        return after

    @rule(some=st.lists(papers(), max_size=4, unique_by=lambda paper: paper.id))
    def add(self, some: list[Paper]) -> None:
        """Add papers; those that are there are edited."""
        self._adding(some)()
        self.held = self._with(some)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """Remove one paper."""
        paper_id = data.draw(st.sampled_from(sorted(self.held)))
        self._removing([paper_id])()
        del self.held[paper_id]

    @precondition(lambda self: self.held)
    @rule(rebuild=st.booleans())
    def index(self, rebuild: bool) -> None:
        """Make a generation."""
        self._indexing(rebuild=rebuild)()
        self.indexed = dict(self.held)

    @precondition(lambda self: self.indexed is not None)
    @rule()
    def merge(self) -> None:
        """Write the segments as one; what waits for an index is indexed, where there is one."""
        with Store(self.folder) as store:
            waits = store.generations.current() is not None
            merge_segments(store, load=type(self).load)
        if waits:
            self.indexed = dict(self.held)

    @precondition(lambda self: self.held and self.lenses)
    @rule(data=st.data())
    def lens(self, data: st.DataObject) -> None:
        """Apply a lens, or no longer, and make a generation with its values or without."""
        name = data.draw(st.sampled_from(self.lenses))
        others = tuple(one for one in self.applied if one != name)
        self.applied = others if name in self.applied else (*others, name)
        self.index(rebuild=False)

    @precondition(lambda self: os.name == "posix")
    @rule(
        some=st.lists(papers(), min_size=1, max_size=3, unique_by=lambda paper: paper.id),
        what=st.sampled_from(("add", "remove", "index", "rebuild")),
        at=st.integers(0, 45),
        seed=st.integers(0, 1000),
        power=st.booleans(),
    )
    def kill(self, some: list[Paper], what: str, at: int, seed: int, power: bool) -> None:
        """Stop a step at one of its operations; what it leaves is what was before, or what it makes."""
        held, indexed = dict(self.held), self.indexed
        if what == "add":
            step, held = self._adding(some), self._with(some)
        elif what == "remove" and held:
            gone = sorted(held)[0]
            step = self._removing([gone])
            del held[gone]
        elif held:
            step, indexed = self._indexing(rebuild=what == "rebuild"), dict(held)
        else:
            return
        self._release()
        before = self._current()
        outcome = run_with_fault(step, self.folder, Fault(at, "power" if power else "kill", seed))
        assert not outcome.error, outcome.error
        self.store = Store(self.folder)
        found = self._found()
        assert found in (held, self.held) if outcome.crashed else found == held
        self.held = found
        if not outcome.crashed or self._current() != before:
            self.indexed = indexed

    def _current(self) -> str:
        folder = self.store.generations.current()
        return "" if folder is None else folder.name

    # Readers.

    def _release(self) -> None:
        if self.searcher is not None:
            self.searcher.refresh()
        self.searcher = None
        self.store.close()

    @rule()
    def reopen(self) -> None:
        """Close the library and open it again."""
        self._release()
        self.store = Store(self.folder)

    @precondition(lambda self: self.indexed is not None)
    @rule()
    def refresh(self) -> None:
        """Use the newest generation from now on."""
        if self.searcher is None:
            self.searcher = Searcher(self.store, type(self).load)
        self.searcher.refresh()
        assert self.indexed is not None
        assert set(self.searcher.index.ids) == set(self.indexed)
        assert set(self.searcher.index.lens_names) >= set(self.settings.lenses)
        self.seen = dict(self.indexed)

    @precondition(lambda self: self.searcher is not None)
    @rule(words=_text, limit=_limits)
    def search(self, words: str, limit: Limit) -> None:
        """Search words with a filter; the reader's generation answers."""
        assert self.searcher is not None
        if not words.strip():
            return
        venues = (limit.venue,) if limit.venue else ()
        ranking = self.searcher.search(
            words,
            "bm25",
            conditions=limits(limit.since, limit.until, venues),
            limit=len(_IDS),
            literal=True,
        )
        scores = bm25_scores(words, self.seen)
        applied = limit.applied(self.seen.values())
        expected = {i for i in scores if i in self.held and applied.passes(self.seen[i])}
        assert set(ranking.ids) == expected
        order = [(hit.score, hit.id) for hit in ranking]
        assert order == sorted(order, reverse=True)
        for hit in ranking:
            assert math.isclose(hit.score, scores[hit.id], rel_tol=1e-5)
            assert hit.paper == self.held[hit.id]
            for quote in hit.evidence:
                assert quote.quote in f"{hit.paper.title}\n{hit.paper.abstract}"

    @precondition(lambda self: self.held)
    @rule(words=_text.filter(bool))
    def compare(self, words: str) -> None:
        """Compare with a library that was made of the same papers, in another order and in one go."""
        self.index(rebuild=False)
        self.refresh()
        assert self.searcher is not None
        folder = Path(tempfile.mkdtemp(dir=self._place)) / "library"
        with Store.create(folder) as store:
            with store.writing("add") as writer:
                writer.add(self.held[i] for i in sorted(self.held, reverse=True))
            settings = self.settings.changed(lenses=(*self.settings.lenses, *self.applied))
            build_index(store, settings, load=type(self).load)
            anew = Searcher(store, type(self).load)
            for recipe in self.recipes:
                theirs = anew.search(words, recipe, limit=len(_IDS))
                ours = self.searcher.search(words, recipe, limit=len(_IDS))
                assert ours.ids == theirs.ids
                for one, other in zip(ours, theirs, strict=True):
                    # Sums of deviations of either sign: one near 0 differs by their size.
                    assert math.isclose(one.score, other.score, rel_tol=1e-4, abs_tol=1e-5)
                    assert one.evidence == other.evidence
            anew.refresh()

    @invariant()
    def everything_is_there(self) -> None:
        """Check that papers that were added and not removed are unchanged, and that the library is sound."""
        if not hasattr(self, "held"):
            return
        assert self._found() == self.held
        assert self.store.check() == []

    def _found(self) -> dict[str, Paper]:
        return {paper.id: paper for paper in self.store.papers()}
