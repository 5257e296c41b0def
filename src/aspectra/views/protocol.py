"""The protocol of views: named units of papers and a scorer; and what more some views can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper
from aspectra.views.encoders.protocol import ENCODERS, Prompts
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.readers.protocol import ASPECT_READERS, READERS
from aspectra.views.storage.arrays import StoredArray
from aspectra.views.storage.folder import Units
from aspectra.views.text.tokens import Statistics
from aspectra.views.view import Floats, Metric, Positions, Probe, Scored

TERMS = "terms"  # base of the views of terms of aspects
TOKENS = "tokens"  # base of the views of token vectors
NOTES = "notes"  # base of the view of notes and annotations
_WORDS = "bm25"  # the scorer of views of words
_GRAPH = "graph"  # the scorer of the view of citations
_LENS_VECTORS = "delta"  # the scorer of views of vector lenses, after Burrows's Delta
_CHUNKS, _LENS = "chunks-", "lens-"


def chunk_base(size: str) -> str:
    """Base of the views of chunks of a size: ``chunks-250w``."""
    return _CHUNKS + size


def lens_base(name: str) -> str:
    """Base of the views of a lens: ``lens-style``."""
    return _LENS + name


class ViewFacts(Struct, frozen=True):
    """Facts that a view's name and its entry in the manifest state.

    Attributes:
        base: what is scored: ``abstract``, ``sentences``, ``full``, ``chunks-250w``, ``lens-style``, or what
            a reader reads.
        scorer: ``bm25``, ``delta``, ``graph``, or the encoder's name.
        stored: the entry in the manifest; empty where only the name is known, as in a recipe.
    """

    base: str
    scorer: str
    stored: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, name: str, stored: Mapping[str, Any] | None = None) -> ViewFacts:
        """Facts of the view called ``name``.

        >>> ViewFacts.of("chunks-250w@bm25").chunks, ViewFacts.of("lens-style@delta").lens
        ('250w', 'style')
        """
        base, _, scorer = name.partition("@")
        return cls(base, scorer, stored or {})

    @classmethod
    def words_of(cls, base: str) -> ViewFacts:
        """Facts of the view of words of ``base``: :attr:`name` gives ``abstract@bm25``."""
        return cls(base, _WORDS)

    @classmethod
    def lens_vectors_of(cls, lens: str) -> ViewFacts:
        """Facts of the view of a vector lens.

        >>> ViewFacts.lens_vectors_of("style").name
        'lens-style@delta'
        """
        return cls(lens_base(lens), _LENS_VECTORS)

    @property
    def name(self) -> str:
        """The view's name, ``base@scorer``."""
        return f"{self.base}@{self.scorer}"

    def beside(self, base: str) -> str:
        """Name of the view of another base by the same scorer."""
        return f"{base}@{self.scorer}"

    @property
    def kind(self) -> str:
        """Its name in ``VIEW_KINDS``; "" where only the name of the view is known."""
        return str(self.stored.get("kind", ""))

    @property
    def lexical(self) -> bool:
        """True if it scores words."""
        return self.scorer == _WORDS

    @property
    def lens(self) -> str:
        """Name of the lens whose values it is made from, or ""."""
        return self.base.removeprefix(_LENS) if self.base.startswith(_LENS) else ""

    @property
    def chunks(self) -> str:
        """Size of the chunks of full text that are its units (``250w``), or ""."""
        return self.base.removeprefix(_CHUNKS) if self.base.startswith(_CHUNKS) else ""

    @property
    def full_text(self) -> bool:
        """True if it is made from full texts."""
        return bool(self.chunks) or self.base == "full" or self.base in READERS

    @property
    def units(self) -> str:
        """Name of its table of units, or "" where each paper is one."""
        return str(self.stored.get("units", ""))

    @property
    def fallback(self) -> str:
        """Name of the view whose vectors are used for a seed without units here, or ""."""
        return self.beside("abstract") if self.chunks else ""

    @property
    def seed_prompts(self) -> Prompts | None:
        """Prompts of its encoder where it can encode a seed as a query: one text a paper, which is kept."""
        kept = self.base == "abstract" or "values" in self.stored
        return Prompts(*self.stored.get("prompts", ())) if kept and self.kind == "dense" else None

    @property
    def remedy(self) -> str:
        """The command that makes such a view."""
        if self.chunks:
            return f"aspectra index --chunks {self.chunks}"
        if self.base in READERS:
            wanted = dict.fromkeys((*ASPECT_READERS, self.base))
            return "aspectra index " + " ".join(f"--reader {name}" for name in wanted)
        if self.base == TERMS:
            return "aspectra index --terms"
        if self.base == TOKENS:
            return "aspectra index --late"
        if self.base == NOTES:
            return 'aspectra note PAPER "what you think of it", or aspectra zotero sync'
        if self.scorer == _GRAPH:
            return "aspectra add papers with references (OpenAlex, JATS, unarXive ...), then aspectra index"
        if self.lens:
            run = "" if self.scorer == _LENS_VECTORS else f"aspectra lens run {self.lens}, then "
            return f"aspectra lens add {self.lens}, then {run}aspectra index"
        return f"aspectra index --encoder {self.scorer}" if self.scorer in ENCODERS else "aspectra status"


@dataclass(frozen=True)
class Asked:
    """A probe with all that its text and its seeds bring to a view.

    It is made once, by :meth:`View.look_up`, where the seeds are, and refers to no library: every view of the
    same name can score papers with it, also one that does not hold the seeds.

    Attributes:
        probe: the probe.
        words: of the text and of the seeds, in order, repeats kept; for views of words. For views of tokens
            that of each vector.
        documents: per seed its documents, each as (words, weights); for reverse probes on views of words, and
            for views of terms.
        vectors: (m, dimensions) float32 of the text and of the seeds; for views of vectors.
        weights: (m,) float32 from 0 to 1, how much each vector takes part.
        owners: (m,) int64, which of the probe's seeds each vector belongs to; -1 for the text.
        units: (m,) int64, the seed's unit in the view; -1 where the vector is of no such unit.
        focus: (dimensions,) vector of the probe's focus, or None.
        quotes: (m) (seed, its sentence) of each vector, ("", "") without one; () if not looked up.
        borrowed: seeds without units in the view, for which vectors of :attr:`ViewFacts.fallback` are used.
        truncated: name of the encoder that did not read the whole text, or "".
        statistics: of the collection that the view is a part of, with all these words; for views of words.
            None: the view is all of it.
    """

    probe: Probe
    words: tuple[str, ...] = ()
    documents: tuple[tuple[tuple[tuple[str, ...], Floats], ...], ...] = ()
    vectors: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    weights: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    owners: Positions = field(default_factory=lambda: np.zeros(0, np.int64))
    units: Positions = field(default_factory=lambda: np.zeros(0, np.int64))
    focus: Floats | None = None
    quotes: tuple[tuple[str, str], ...] = ()
    borrowed: tuple[str, ...] = ()
    truncated: str = ""
    statistics: Statistics | None = None

    @property
    def empty(self) -> bool:
        """True if no unit of the seeds has the roles that the probe names, so that nothing can match."""
        return bool(self.probe.matching) and not len(self.vectors)


@runtime_checkable
class View(Protocol):
    """Units of papers and a scorer.

    Attributes:
        name: ``abstract@bm25``, ``sentences@minilm`` ...
        facts: what the name and the manifest say of it.
        cheap: scoring every paper costs milliseconds even for a hundred thousand.
        units: its units; None where each paper is one.
    """

    name: str
    facts: ViewFacts
    cheap: bool
    units: Units | None

    def look_up(self, probe: Probe) -> Asked:
        """The probe with what its text and seeds bring.

        Raises:
            NoSuchPaper: a seed is not in the generation.
            ViewMismatch: the view cannot score such a probe.
        """
        ...

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores for each of several probes, in one pass where the view can.

        Args:
            asked: probes on this view, looked up.
            papers: positions; None for all papers, in order of position.
        """
        ...

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best of all papers that were scored, best first; ties by descending id.

        Args:
            asked: the probe.
            scored: what :meth:`score_many` gave for it, for all papers.
            k: how many; fewer where fewer papers match.
            allowed: (papers,) True where a paper may appear.
        """
        ...

    def score(self, probe: Probe, papers: Positions | None = None) -> Scored:
        """Scores of these papers, or of all, for one probe."""
        return self.score_many([self.look_up(probe)], papers)[0]

    def top(self, probe: Probe, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best papers for one probe, see :meth:`best`."""
        asked = self.look_up(probe)
        return self.best(asked, self.score_many([asked])[0], k, allowed)


@dataclass(eq=False)
class GenerationView(View):
    """A view of the papers of a generation.

    Attributes:
        facts: of the view.
        positions: gives paper id -> position.
        id_order: (papers,) rank of each paper's id, for ties.
    """

    facts: ViewFacts
    positions: Callable[[], Mapping[str, int]]
    id_order: NDArray[np.int32]

    def __post_init__(self) -> None:
        self.name = self.facts.name

    def position(self, paper_id: str) -> int:
        """Position of a paper.

        Raises:
            NoSuchPaper: it is not in the generation.
        """
        at = self.positions().get(paper_id)
        if at is None:
            raise NoSuchPaper(f"{paper_id!r} is not in the index", hint="aspectra index")
        return at

    def chosen(self, papers: Positions | None) -> Positions:
        """These positions; those of all papers for None."""
        return np.arange(len(self.id_order)) if papers is None else papers

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`View`; papers without a score are left out."""
        return scored.best(k, self.id_order, allowed, drop_unknown=True)


@runtime_checkable
class WordView(View, Protocol):
    """A view that knows words and how many documents hold them."""

    def query_text(self, probe: Probe) -> str:
        """The probe's text and that of its seeds."""
        ...

    def words(self, text: str) -> list[str]:
        """The words of a text as the view writes them, repeats kept, also those that no document holds."""
        ...

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Statistics of the view's documents, with the frequency of these words and their other spellings."""
        ...


@runtime_checkable
class VectorView(View, Protocol):
    """A view with one vector for each paper or unit."""

    vectors: StoredArray
    query: QueryEncoder

    def query_vectors(self, probe: Probe) -> Floats:
        """(m, dimensions) vectors of the probe's text and seeds, all of weight 1."""
        ...

    def vectors_of(self, paper_id: str) -> NDArray[np.floating]:
        """(m, dimensions) stored vectors of a paper."""
        ...

    def seed_vectors(self, paper_id: str, probe: Probe) -> tuple[NDArray[np.floating], bool]:
        """(m, dimensions) vectors of a seed of a probe, stored or encoded; whether its text was cut.

        Raises:
            ViewMismatch: it is to be encoded, and the view has no text for it.
        """
        ...

    def compare(self, rows: NDArray[np.floating], query: Floats, metric: Metric = "cosine") -> Floats:
        """(rows, m) similarities."""
        ...


@runtime_checkable
class UnitView(VectorView, Protocol):
    """A view that can name the pair of units that decides a match."""

    def best_pairs(self, asked: Asked, papers: Positions) -> tuple[Positions, Positions, Floats]:
        """(papers,) best row of ``asked``, (papers,) best unit of the paper, (papers,) scores; -1: none."""
        ...
