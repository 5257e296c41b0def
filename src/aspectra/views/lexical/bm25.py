"""Lexical views: BM25 over abstracts or chunks, computed by bm25s."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.checking import unknown_name
from aspectra.base.errors import LibraryCorrupt, NoSuchPaper, UsageError, ViewMismatch
from aspectra.views.lexical.reverse import WordPairs, build_pairs
from aspectra.views.lexical.tokens import Tokeniser, TokenSettings
from aspectra.views.units import Units
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions

__all__ = ["METHODS", "LexicalSettings", "LexicalView", "build_lexical"]


METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """BM25 as bm25s computes it.

    Attributes:
        k1: term saturation, >= 0.
        b: length normalisation, 0 to 1.
        method: variant: robertson, atire, bm25l, bm25+ or lucene (Lu, "BM25S", 2024, section 2).
        tokens: how texts become words.
    """

    k1: float = 1.5
    b: float = 0.75
    method: str = "lucene"
    tokens: TokenSettings = TokenSettings()

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise unknown_name(f"unknown BM25 variant {self.method!r}", self.method, METHODS)
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError("BM25 needs k1 >= 0 and b from 0 to 1")


def build_lexical(
    texts: Iterable[str],
    settings: LexicalSettings,
    folder: Path,
    *,
    pairs: bool = False,
    damped: bool = False,
    asking: Iterable[str] | None = None,
) -> int:
    """Index texts in order into ``folder``; returns the number of distinct words.

    Args:
        texts: one for each paper or unit.
        settings: see :class:`LexicalSettings`.
        folder: is made.
        pairs: keep what each paper asks with and answers, for reverse probes.
        damped: papers ask with root frequencies, see :func:`~aspectra.views.lexical.reverse.build_pairs`.
        asking: the text that each paper asks with; default: ``texts``, one for each paper.
    """
    import bm25s

    tokeniser = Tokeniser(settings.tokens)
    vocabulary: dict[str, int] = {}
    documents: list[list[int]] = []
    for text in texts:
        documents.append([vocabulary.setdefault(w, len(vocabulary)) for w in tokeniser.words(text)])
    folder.mkdir(parents=True, exist_ok=True)
    if not vocabulary:
        vocabulary[""] = 0
        documents = [d or [0] for d in documents] or [[0]]
    engine = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy")
    engine.index((documents, vocabulary), show_progress=False)
    engine.save(folder, show_progress=False)
    if pairs:
        asked: list[list[int]] = documents
        if asking is not None:
            known = vocabulary.get
            asked = [[w for w in map(known, tokeniser.words(t)) if w is not None] for t in asking]
        build_pairs(asked, len(documents), engine.scores, folder, damped=damped)
    return len(vocabulary)


class LexicalView:
    """BM25 scores of papers, or of units pooled into papers.

    Args:
        name: name of the view.
        folder: where :func:`build_lexical` wrote.
        papers: number of papers in the generation.
        id_order: rank of each paper's id, for ties.
        settings: those it was built with.
        text_of: seed id -> its text in this view.
        units: units where a paper is more than one document, else None.
        positions: paper id -> position, for probes of whole papers.
        pairs: whether both sides of each paper were kept, for reverse probes.
        own_words: whether seeds ask with the words kept of them rather than with their abstract.
    """

    cheap = True

    def __init__(
        self,
        name: str,
        folder: Path,
        papers: int,
        id_order: NDArray[np.int32],
        settings: LexicalSettings,
        text_of: Callable[[str], str],
        units: Units | None = None,
        *,
        positions: Callable[[], dict[str, int]] | None = None,
        pairs: bool = False,
        own_words: bool = False,
    ) -> None:
        self.name = name
        self.settings = settings
        self._positions = positions
        self._pairs = WordPairs(folder, None if units is None else units.offsets) if pairs else None
        self._own_words = own_words
        self.units = units
        self._papers = papers
        self._id_order = id_order
        self._text_of = text_of
        self._tokeniser = Tokeniser(settings.tokens)
        self._engine = _load(folder)
        self._vocabulary: dict[str, int] = self._engine.vocab_dict
        pointers = np.asarray(self._engine.scores["indptr"])
        self._frequency = np.diff(pointers)

    def query_text(self, probe: Probe) -> str:
        """The text a probe asks with: its own, then that of its seeds."""
        return "\n".join([probe.text, *(self._text_of(seed) for seed in probe.seeds)]).strip()

    def terms(self, text: str) -> list[int]:
        """Ids of the words of ``text`` that the view knows, repeats kept."""
        known = self._vocabulary
        return [known[word] for word in self._tokeniser.words(text) if word in known]

    def rarity(self, terms: Iterable[int]) -> dict[int, float]:
        """Term -> inverse document frequency, ln(1 + N / df): what evidence is weighed with."""
        total = max(self._papers, 1)
        return {t: float(np.log1p(total / max(int(self._frequency[t]), 1))) for t in terms}

    def _seed_positions(self, probe: Probe) -> list[int]:
        known = self._positions() if self._positions else {}
        if absent := [seed for seed in probe.seeds if seed not in known]:
            raise NoSuchPaper(f"{absent[0]!r} is not in the index", hint="aspectra index")
        return [known[seed] for seed in probe.seeds]

    def _asking_terms(self, probe: Probe) -> list[int]:
        """Ids of the words that a probe asks with, each as often as it counts."""
        if probe.asking not in ("", self.name, "abstract@bm25"):
            raise UsageError(
                f"{self.name} cannot be asked with {probe.asking}", why="its words are those of abstract@bm25"
            )
        if self._pairs is None or not self._own_words or probe.asking == "abstract@bm25":
            return self.terms(self.query_text(probe))
        words = [self._pairs.asking(at) for at in self._seed_positions(probe)]
        return [*self.terms(probe.text), *(int(w) for part in words for w in part)]

    def _reversed(self, probe: Probe) -> Floats:
        """(papers,) mean over the seeds of how well each candidate's words find them; NaN: it has none."""
        if self._pairs is None:
            raise ViewMismatch(
                f"the view {self.name} cannot be asked in reverse",
                why="it keeps no words to ask with: it was built before there were any",
                hint="aspectra index --rebuild",
            )
        kept = self.name if self.units is None else "abstract@bm25"
        if probe.asking not in ("", kept):
            raise UsageError(f"candidates ask {self.name} with {kept}, not with {probe.asking}")
        scores = [self._pairs.reverse(at) for at in self._seed_positions(probe)]
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0, dtype=np.float32)

    def _documents(self, probe: Probe) -> Floats:
        terms = self._asking_terms(probe)
        count = self._papers if self.units is None else len(self.units.spans)
        if not terms:
            return np.zeros(count, dtype=np.float32)
        scores: Floats = self._engine.get_scores_from_ids(terms)
        return scores[:count]

    def score(self, probe: Probe, papers: Positions | None = None) -> Scored:
        """See :class:`View`."""
        if probe.reverse:
            values = self._reversed(probe)
            return Scored(np.arange(self._papers) if papers is None else papers, _at(values, papers))
        values = self._documents(probe)
        best: Positions | None = None
        if self.units is not None:
            values, best = Units.pool(values, self.units.offsets, probe.pooling)
            values = np.maximum(values, 0.0)  # a paper without units matches no word
        if papers is None:
            return Scored(np.arange(self._papers), values, best)
        return Scored(papers, values[papers], None if best is None else best[papers])

    def top(self, probe: Probe, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`View`; papers that share no word with the query are left out."""
        all_ = self.score(probe)
        if probe.reverse:  # below a candidate's own mean is below 0, and no reason to leave it out
            known = np.where(np.isnan(all_.scores), np.float32(-np.inf), all_.scores)
            able = ~np.isnan(all_.scores) if allowed is None else allowed & ~np.isnan(all_.scores)
            at = top_positions(known, k, self._id_order, able)
            return Scored(at, all_.scores[at])
        scores = all_.scores if allowed is None else all_.scores * allowed
        at = top_positions(scores, min(k, int(np.count_nonzero(scores > 0))), self._id_order)
        return Scored(at, all_.scores[at], None if all_.units is None else all_.units[at])


def _at(values: Floats, papers: Positions | None) -> Floats:
    return values if papers is None else values[papers]


def _load(folder: Path) -> Any:
    import bm25s

    try:
        return bm25s.BM25.load(folder, mmap=True, load_corpus=False)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise LibraryCorrupt(
            f"the lexical index in {folder} cannot be read", why=str(error), hint="aspectra index --rebuild"
        ) from error
