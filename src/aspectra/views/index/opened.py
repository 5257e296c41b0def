"""An index generation with its views, the kinds of views that can be opened, the view of citations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import ViewMismatch
from aspectra.base.registry import Registry
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.views.dense.late.view import LateView, Rarity
from aspectra.views.dense.reverse import LensEncoder
from aspectra.views.dense.view import DenseView
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.index.generation import Generation
from aspectra.views.lexical.bm25 import LexicalView, NotesView
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.protocol import (
    NOTES,
    TERMS,
    Asked,
    GenerationView,
    VectorView,
    View,
    ViewFacts,
    WordView,
)
from aspectra.views.storage.folder import EncodedText, StoredFolder
from aspectra.views.terms.view import TermView, aspect_weights, terms_of_paper
from aspectra.views.text.tokens import Statistics, Tokeniser
from aspectra.views.view import Floats, Matching, Positions, Probe, Scored

# Papers by their citation links to the seeds: what both cite, what cites both, and direct links.
#
# The view ``citations@graph`` scores a paper by the mean, over the seeds, of three likenesses from 0 to 1:
#
# - *bibliographic coupling* (Kessler, American Documentation 1963): the cosine of the lists of references;
# - *co-citation* (Small, JASIS 1973): the cosine of the two sets of papers that cite them;
# - a direct link: 1 where one of the two cites the other.
#
# Only citations between papers of the library count. A paper without any is unknown (NaN).

GRAPH_VIEW = "citations@graph"
Links = tuple[NDArray[np.int64], NDArray[np.int32]]


@dataclass(eq=False)
class CitationView(GenerationView):
    """The view of the citation graph; see the module.

    Attributes:
        cites: (rows, targets) of a generation.
    """

    cites: Links

    cheap = True
    units = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cited = _turned(self.cites)
        self._counts = [np.diff(links[0]).astype(np.float64) for links in (self.cites, self._cited)]

    def look_up(self, probe: Probe) -> Asked:
        """The probe, whose seeds are in the generation.

        Raises:
            NoSuchPaper: a seed is not.
            ViewMismatch: the probe has no seeds, or more than seeds.
        """
        if not probe.seeds or probe.reverse or probe.matching or probe.asking:
            raise ViewMismatch(f"{self.name} compares papers by their citations", why="it takes seeds alone")
        for seed in probe.seeds:
            self.position(seed)  # raises
        return Asked(probe)

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores, see the module."""
        at = self.chosen(papers)
        return [Scored(at, self._scores(one.probe.seeds)[at]) for one in asked]

    def _scores(self, seeds: Sequence[str]) -> Floats:
        """(all papers,) scores, NaN for papers without citations."""
        out = np.zeros(len(self.id_order))
        for seed in seeds:
            at = self.position(seed)
            direct = np.zeros(len(out))
            for number, (links, turned) in enumerate(((self.cites, self._cited), (self._cited, self.cites))):
                neighbours = _row(links, at)
                direct[neighbours] = 1.0
                shared = np.zeros(len(out))
                for neighbour in neighbours:
                    shared[_row(turned, int(neighbour))] += 1.0
                counts = self._counts[number]
                out += shared / np.sqrt(np.maximum(counts * counts[at], 1.0))
            out += direct
        out /= max(1, len(seeds))
        out[(self._counts[0] + self._counts[1]) == 0] = np.nan
        return out.astype(np.float32)


def _row(links: Links, at: int) -> NDArray[np.int32]:
    rows, targets = links
    return targets[rows[at] : rows[at + 1]]


def _turned(links: Links) -> Links:
    """The same links from the other end."""
    rows, targets = links
    sources = np.repeat(np.arange(len(rows) - 1, dtype=np.int32), np.diff(rows))
    order = np.argsort(targets, kind="stable")
    offsets = np.zeros(len(rows), np.int64)
    np.cumsum(np.bincount(targets, minlength=len(rows) - 1), out=offsets[1:])
    return offsets, sources[order]


# The kinds of views: how each is opened, and what it stores.
#
# To add one, write a function ``(generation, facts, other) -> view`` decorated by
# ``@VIEW_KINDS.register(name)``; ``name`` is the ``kind`` of such views in a manifest.

Other = Callable[[str], VectorView]


class ViewKind(Protocol):
    """Opens a view of one kind: of a generation; ``other`` gives another view of vectors by its name."""

    def __call__(self, generation: Generation, facts: ViewFacts, other: Other, /) -> View: ...


VIEW_KINDS: Registry[ViewKind] = Registry("view kind")


def _common(
    generation: Generation, facts: ViewFacts
) -> tuple[ViewFacts, Callable[[], Mapping[str, int]], NDArray[np.int32]]:
    """The first arguments of every :class:`~aspectra.views.protocol.GenerationView`."""
    return facts, lambda: generation.positions, generation.id_order


def _folder(generation: Generation, facts: ViewFacts) -> StoredFolder:
    return generation.files.folder(facts.stored["folder"])


@VIEW_KINDS.register("graph")
def open_citations(generation: Generation, facts: ViewFacts, other: Other) -> CitationView:
    """The view, opened."""
    return CitationView(*_common(generation, facts), generation.citations)


@VIEW_KINDS.register("late")
def open_late(generation: Generation, facts: ViewFacts, other: Other) -> LateView:
    """The view, opened; its encoder is loaded when a text is encoded."""
    return LateView(
        *_common(generation, facts),
        _folder(generation, facts),
        generation.query_encoder(facts),
        _rarity(generation),
        _text(generation),
        lambda: generation.sample,
    )


def _rarity(generation: Generation) -> Rarity:
    """Words -> how rare each is in titles and abstracts: ln(1 + papers / papers with the word)."""

    @cache
    def known() -> tuple[WordIndex, Tokeniser]:
        folder = _folder(generation, generation.facts(ViewFacts.words_of("abstract").name))
        return WordIndex(folder, generation.lexical, folder.order), Tokeniser(generation.lexical.tokens)

    def rarity(words: Sequence[str]) -> Floats:
        index, tokeniser = known()
        stems = [tokeniser.words(word) for word in words]
        statistics = index.statistics(chain.from_iterable(stems))
        often = [
            min((max(statistics.held(stem), 1) for stem in some), default=0)
            or statistics.documents  # a stop word
            for some in stems
        ]
        return np.log1p(statistics.documents / np.maximum(often, 1)).astype(np.float32)

    return rarity


def _text(generation: Generation) -> Callable[[str], str | None]:
    """Id -> the text that was encoded of a paper; None where it is another now."""

    def text(paper_id: str) -> str | None:
        paper = generation.library.get(paper_id)
        return EncodedText.of(paper).text if generation.unchanged(paper) else None

    return text


@VIEW_KINDS.register("vector")
def open_lens_columns(generation: Generation, facts: ViewFacts, other: Other) -> DenseView:
    """The view, opened; query texts are encoded by its lens."""
    folder = _folder(generation, facts)
    return DenseView(
        *_common(generation, facts), folder, QueryEncoder(partial(LensEncoder, facts.lens, folder))
    )


@VIEW_KINDS.register(NOTES)
def open_notes(generation: Generation, facts: ViewFacts, other: Other) -> NotesView:
    """The view, opened; it reads the notes when it is first used."""
    return NotesView(
        *_common(generation, facts), generation.lexical, generation.seed_text(facts), generation.library
    )


@VIEW_KINDS.register("terms")
def open_terms(generation: Generation, facts: ViewFacts, other: Other) -> TermView:
    """The view, opened; terms of seeds are those stored in the library."""
    return TermView(
        *_common(generation, facts),
        generation.lexical,
        _folder(generation, facts),
        partial(terms_of_paper, generation.library, facts.stored["values"]),
    )


@VIEW_KINDS.register("dense")
def open_vectors(generation: Generation, facts: ViewFacts, other: Other) -> DenseView:
    """The view, opened; its encoder is loaded when a text is encoded."""
    return DenseView(
        *_common(generation, facts),
        _folder(generation, facts),
        generation.query_encoder(facts),
        generation.units_of(facts),
        sample=lambda: generation.sample,
        role_weights=_role_weights(generation, facts),
        other=other,
        seed_text=None if facts.seed_prompts is None else generation.seed_text(facts),
    )


def _role_weights(generation: Generation, facts: ViewFacts) -> Callable[[tuple[str, ...]], Floats] | None:
    """Roles -> which units have one of them; None where units have no roles."""
    if facts.units == "sentences":
        return generation.role_weights
    return partial(aspect_weights, len(generation)) if facts.units == TERMS else None


@VIEW_KINDS.register("lexical")
def open_words(generation: Generation, facts: ViewFacts, other: Other) -> LexicalView:
    """The view, opened."""
    return LexicalView(
        *_common(generation, facts),
        generation.lexical,
        generation.seed_text(facts),
        _folder(generation, facts),
        generation.units_of(facts),
    )


class Index(Generation):
    """One immutable generation and its views; see :class:`~aspectra.views.index.generation.Generation`."""

    def __init__(
        self,
        library: Store,
        folder: Path,
        load: Callable[[str], Encoder] = load_encoder,
        shard: int | None = None,
    ) -> None:
        super().__init__(library, folder, load, shard)
        self._views: dict[str, View] = {}
        if library.marks.notes_revision:  # no file is behind the view of notes: they change without an index
            views = {**self.manifest["views"], ViewFacts.words_of(NOTES).name: {"kind": NOTES}}
            self.manifest = {**self.manifest, "views": views}

    def _free(self) -> None:
        self._views.clear()
        super()._free()

    def view(self, name: str) -> View:
        """A view by name, opened at the first use.

        Raises:
            ViewMismatch: the generation has no such view.
        """
        with self._lock:
            if name not in self._views:
                facts = self.facts(name)
                if not facts.kind:
                    raise ViewMismatch(
                        f"the index has no view {name!r}",
                        why="it has " + ", ".join(self.view_names),
                        hint=facts.remedy,
                    )
                self._views[name] = VIEW_KINDS.get(facts.kind)(self, facts, self.vector_view)
            return self._views[name]

    def word_view(self) -> WordView:
        """The view of words of abstracts.

        Raises:
            ViewMismatch: the index has no such view.
        """
        return cast("WordView", self.view(ViewFacts.words_of("abstract").name))

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Statistics of abstracts with the frequency of these words."""
        return self.word_view().statistics(words)

    def vector_view(self, name: str) -> VectorView:
        """A view by name, one of vectors.

        Raises:
            ViewMismatch: the index has no such view, or it is a view of words.
        """
        found = self.view(name)
        if not hasattr(found, "vectors"):  # checking the whole protocol costs as much as a small search
            raise ViewMismatch(f"{name} has no vectors", why="it is lexical")
        return cast("VectorView", found)

    def look_up(self, probes: Sequence[Probe]) -> list[Asked]:
        """Probes with what their texts and seeds bring, in order; equal questions are looked up once."""
        known: dict[Probe, Asked] = {}
        out = []
        for probe in probes:
            matching: Matching = "single" if probe.matching else ""
            question = replace(
                probe, weight=1.0, aspect="", pooling="max", metric="cosine", matching=matching
            )
            if question not in known:
                known[question] = self.view(probe.view).look_up(question)
            out.append(replace(known[question], probe=probe))
        return out

    def with_quotes(self, asked: Asked) -> Asked:
        """The same with the seed's sentence of each vector; "" where the seed changed since indexing."""
        units = self.view(asked.probe.view).units
        quotes, papers = [], dict[str, Paper]()
        for owner, unit in zip(asked.owners, asked.units, strict=True):
            if unit < 0 or units is None:
                quotes.append(("", ""))
                continue
            seed = asked.probe.seeds[owner]
            if seed not in papers:
                papers[seed] = self.library.get(seed)
            held = units.unit(seed, int(unit))
            text = field_text(papers[seed], held.field) if self.unchanged(papers[seed]) else ""
            quotes.append((seed, text[held.start : held.end]))
        return replace(asked, quotes=tuple(quotes))

    def score(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores for each of several probes; those on one view are scored together where it can.

        Args:
            asked: probes, looked up.
            papers: positions; None for all papers, in order of position.
        """
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(asked):
            numbers.setdefault(one.probe.view, []).append(number)
        out: dict[int, Scored] = {}
        for name, chosen in numbers.items():
            found = self.view(name).score_many([asked[n] for n in chosen], papers)
            out |= zip(chosen, found, strict=True)
        return [out[n] for n in range(len(asked))]

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best of all papers that a probe scored, see :meth:`View.best`."""
        return self.view(asked.probe.view).best(asked, scored, k, allowed)
