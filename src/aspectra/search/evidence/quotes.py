"""Evidence: the sentences of a hit that match best, as verified quotes.

Of notes the one that matches a probe on notes best; for directions the seed's own sentence that is most about
a hit, as it builds on it; for late interaction the words that matched, and the sentence that most of MaxSim
comes from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct

from aspectra.base.values import replace
from aspectra.papers.library.rows import full_hash
from aspectra.papers.paper import Paper, field_text
from aspectra.papers.text.structure import lead_field, split_sentences
from aspectra.search.plan import Search
from aspectra.search.ranking import Evidence
from aspectra.views.dense.late.view import LateView
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.protocol import NOTES, Asked, ViewFacts
from aspectra.views.storage.folder import EncodedText, Units
from aspectra.views.text.tokens import ChunkSize, chunk_spans
from aspectra.views.view import Floats, Positions, Probe

if TYPE_CHECKING:
    from aspectra.papers.library.marks.values import Note
    from aspectra.views.lexical.bm25 import NotesView


# A sentence that holds every word of a short query gains this much cosine: an exact term is what a reader
# looks for in a quote. It fades for long queries, whose words are everywhere.
_WORD_BONUS = 0.25
_LONG_QUERY = 24
# A sentence of background loses this much cosine, times the probability of that role: it names the query's
# subject best, and does not say what the paper did about it. Chosen on other hits than those of
# docs/results/quotes.md. Where a sentence speaks of the paper itself, the role is wrong.
_BACKGROUND_COST = 0.3
_OWN_WORK = re.compile(
    r"\b(?:we|our|this (?:paper|work|study|article|survey|review|thesis))\b", re.IGNORECASE
)


class _Candidate(Struct, frozen=True):
    """A sentence that may be quoted; its vector is found or made later.

    ``background`` is the probability that it says what was known before, 0 where no lens says.
    """

    quote: Evidence
    vector: Floats | None = None
    background: float = 0.0


class Quoter:
    """Finds the best-matching sentences of hits of one search.

    Sentences of the abstract have stored vectors. Where the plan searches chunks of full text, the sentences
    of each hit's best chunk compete too; those are encoded on the spot.

    Args:
        index: the generation searched.
        search: whose probes are matched.
        count: sentences quoted per hit.
    """

    def __init__(self, index: Index, search: Search, count: int) -> None:
        self._index = index
        self._count = count
        positive = [p for p in search.probes if p.weight > 0]
        self._dense = _strongest(index, positive, "dense")
        self._lexical = _strongest(index, positive, "lexical")
        self._chunk = next((p for p in positive if index.facts(p.view).chunks and not p.reverse), None)
        self._vectors: Floats | None = None
        self._background: Floats | None = None
        if "roles" in index.lens_names:
            self._background = index.lens("roles").column("background")
        self._weights: dict[str, float] = {}
        if self._dense:
            self._view = index.vector_view(self._dense.view)
            self._sentences = index.vector_view(self._view.facts.beside("sentences")).vectors
            abstracts = index.vector_view(self._view.facts.beside("abstract"))
            self._vectors = abstracts.query_vectors(self._dense)
        if self._lexical:
            self._words = view = index.word_view()
            (asked,) = index.look_up([Probe(view.name, view.query_text(self._lexical))])
            self._weights = index.statistics(asked.words).rarity(asked.words)

    def _overlap(self, text: str) -> float:
        """Share of the query's word rarity that a sentence holds, 0 to 1."""
        total = sum(self._weights.values())
        if not total:
            return 0.0
        held = self._weights.keys() & set(self._words.words(text))
        return math.fsum(self._weights[word] for word in held) / total

    def quotes(self, positions: Positions, papers: Sequence[Paper]) -> list[tuple[Evidence, ...] | None]:
        """Per hit the best sentences, best first; None where the text changed since it was indexed.

        Args:
            positions: of the hits in the generation.
            papers: the hits; with sections where the plan searches chunks or the abstract is empty.
        """
        candidates: list[list[_Candidate] | None] = []
        chunks = self._best_chunks(positions)
        for position, paper, chunk in zip(positions, papers, chunks, strict=True):
            if not self._index.unchanged(paper):
                candidates.append(None)
                continue
            held = self._abstract(int(position), paper)
            if chunk is not None and full_hash(paper):
                held += self._in_chunk(paper, chunk)
            candidates.append(held)
        self._encode(candidates)
        return [
            None if held is None else self._choose(held, paper)
            for held, paper in zip(candidates, papers, strict=True)
        ]

    def _abstract(self, position: int, paper: Paper) -> list[_Candidate]:
        table, out = self._index.units("sentences"), []
        for row in table.sentence_rows(position):  # the title is shown above the quote
            quote = Evidence.of(paper, table.unit(paper.id, int(row)))
            known = 0.0
            if self._background is not None and not _OWN_WORK.search(quote.quote):
                known = float(np.nan_to_num(self._background[row]))
            vector = self._sentences[row].astype(np.float32) if self._dense else None
            out.append(_Candidate(quote, vector, known))
        return out

    def _best_chunks(self, positions: Positions) -> list[tuple[int, int, int] | None]:
        """Per hit (section, start, end) of the chunk that matches the plan's chunk probe best."""
        if self._chunk is None:
            return [None] * len(positions)
        view = self._index.view(self._chunk.view)
        scored = view.score(self._chunk, positions)
        if scored.units is None or view.units is None:
            return [None] * len(positions)
        return [tuple(view.units.spans[unit].tolist()) if unit >= 0 else None for unit in scored.units]

    def _in_chunk(self, paper: Paper, chunk: tuple[int, int, int]) -> list[_Candidate]:
        size = ChunkSize.parse(self._index.facts(self._chunk.view if self._chunk else "").chunks)
        if chunk not in chunk_spans([(s.heading, s.text) for s in paper.sections], size):
            return []  # the full text changed since it was indexed
        code, start, end = chunk
        field = Units.field_name(code)
        bounds = split_sentences(field_text(paper, field)[start:end])
        return [_Candidate(Evidence.of(paper, TextSpan(field, start + a, start + b))) for a, b in bounds]

    def _encode(self, candidates: list[list[_Candidate] | None]) -> None:
        """Give every candidate without a vector one, in one call."""
        if self._dense is None:
            return
        bare = [(held, i) for held in candidates if held for i, c in enumerate(held) if c.vector is None]
        if not bare:
            return
        vectors = self._view.query.encoder.encode([held[i].quote.quote for held, i in bare]).vectors
        for (held, i), vector in zip(bare, vectors, strict=True):
            held[i] = replace(held[i], vector=vector)

    def _choose(self, held: list[_Candidate], paper: Paper) -> tuple[Evidence, ...]:
        if not held or not (self._dense or self._lexical):
            return ()  # the plan compares no sentences, so none can be quoted
        score = np.array([self._overlap(c.quote.quote) for c in held], dtype=np.float32)
        if self._vectors is not None:
            rows = np.array([c.vector for c in held], dtype=np.float32)
            cosine = self._view.compare(rows, self._vectors).max(axis=1)
            score = cosine + _WORD_BONUS * score * min(1.0, _LONG_QUERY / (4 * max(len(self._weights), 1)))
        score -= _BACKGROUND_COST * np.array([c.background for c in held], dtype=np.float32)
        best = sorted(range(len(held)), key=lambda i: (-float(score[i]), i))[: self._count]
        quotes = [replace(held[i].quote, score=float(score[i])) for i in best if held[i].quote.quote.strip()]
        return tuple(replace(quote, heading=_heading(paper, quote.field)) for quote in quotes)


def _heading(paper: Paper, field: str) -> str:
    """Heading of the section that a field names, or ""."""
    kind, _, number = field.partition(":")
    if kind == "section" and int(number) < len(paper.sections):
        return paper.sections[int(number)].heading
    return ""


def _strongest(index: Index, probes: Sequence[Probe], kind: str) -> Probe | None:
    """The probe of this kind with the greatest weight, or None."""
    fitting = [p for p in probes if index.facts(p.view).kind == kind]
    return max(fitting, key=lambda p: p.weight, default=None)


def with_notes(
    index: Index, search: Search, papers: Sequence[Paper], quotes: Sequence[tuple[Evidence, ...] | None]
) -> list[tuple[Evidence, ...] | None]:
    """Each hit's quotes behind the note of it that matches best.

    An annotation is quoted by its marked passage, or else by its comment; a note by its words.

    Args:
        index: the generation searched.
        search: only where it has a probe on notes anything is quoted of them.
        papers: the hits.
        quotes: found for them.
    """
    name = ViewFacts.words_of(NOTES).name
    probes = [probe for probe in search.probes if probe.view == name and probe.weight > 0]
    if not probes:
        return list(quotes)
    view = cast("NotesView", index.view(name))
    found = view.best_notes(view.look_up(probes[0]), [paper.id for paper in papers])
    return [
        (_of_note(*found[paper.id]), *(held or ())) if paper.id in found else held
        for paper, held in zip(papers, quotes, strict=True)
    ]


def _of_note(note: Note, score: float) -> Evidence:
    quote, page = note.quote or note.text, f", p. {note.page}" if note.page else ""
    heading = f"your {'annotation' if note.kind == 'annotation' else 'note'}{page}"
    return Evidence(quote, f"note:{note.number}", 0, len(quote), score=score, heading=heading)


_SHORTEST, _LONGEST = 6, 80  # words: shorter ones are headings, longer ones tables


def with_passages(
    index: Index,
    search: Search,
    papers: Sequence[Paper],
    quotes: Sequence[tuple[Evidence, ...] | None],
) -> list[tuple[Evidence, ...] | None]:
    """Each hit's first quote beside the sentence of a seed that shares most rare words with the hit.

    Args:
        index: the generation searched.
        search: only those in the direction ``builds-on`` or ``both`` get passages.
        papers: the hits.
        quotes: found for them.
    """
    seeds = list(dict.fromkeys(seed for probe in search.probes if probe.reverse for seed in probe.seeds))
    if search.direction not in ("builds-on", "both") or not seeds:
        return list(quotes)
    words = index.word_view()
    held = index.library.get_many(seeds)
    said = [(seed, text, set(words.words(text))) for seed in held for text in _sentences(held[seed])]
    every = set[str]().union(*(own for _, _, own in said))
    rarity = index.statistics(every).rarity(every)
    sentences = [
        (seed, text, known)
        for seed, text, own in said
        if (known := own & rarity.keys()) and _SHORTEST <= text.count(" ") + 1 <= _LONGEST
    ]
    out: list[tuple[Evidence, ...] | None] = []
    for paper, found in zip(papers, quotes, strict=True):
        here = set(words.words(f"{paper.title}\n{lead_field(paper)[1]}"))
        worth = [
            math.fsum(rarity[word] for word in known & here) / math.sqrt(len(known) + 4)
            for _, _, known in sentences
        ]
        place = max(range(len(worth)), key=worth.__getitem__, default=-1)
        if not found or place < 0 or worth[place] <= 0:
            out.append(found)
            continue
        seed, text, _ = sentences[place]
        out.append((replace(found[0], seed=seed, seed_quote=text), *found[1:]))
    return out


def _sentences(paper: Paper) -> list[str]:
    """The sentences of a paper's full text, or of its abstract."""
    parts = [section.text for section in paper.sections if section.text.strip()] or [lead_field(paper)[1]]
    return [text[a:b] for text in parts for a, b in split_sentences(text)]


_SHOWN = 5  # pairs of words named beside a quote


def with_matches(
    index: Index,
    search: Search,
    positions: Positions,
    papers: Sequence[Paper],
    quotes: Sequence[tuple[Evidence, ...] | None],
) -> list[tuple[Evidence, ...] | None]:
    """Each hit's quotes with the words that matched in them; a hit without quotes gets one.

    That is the sentence whose words add most to MaxSim.

    Args:
        index: the generation searched.
        search: only those that compare token vectors are looked at.
        positions: of the hits.
        papers: the hits.
        quotes: found for them; None where the text changed since it was indexed.
    """
    probe = next((p for p in search.probes if p.weight > 0 and index.facts(p.view).kind == "late"), None)
    if probe is None or not len(positions):
        return list(quotes)
    held = index.view(probe.view)
    if not isinstance(held, LateView):
        raise TypeError(f"{probe.view} compares no token vectors")
    (asked,) = index.look_up([probe])
    out: list[tuple[Evidence, ...] | None] = []
    for position, paper, found in zip(positions.tolist(), papers, quotes, strict=True):
        if found is None:
            out.append(found)
            continue
        matches = _Matches(asked, held, position, paper)
        best = None if found else matches.best_sentence(index, position, paper)
        shown = found if best is None else (best,)
        out.append(tuple(matches.beside(quote) for quote in shown))
    return out


class _Matches:
    """The words of one hit that are nearest to those of the query.

    Args:
        asked: the query.
        view: that was searched.
        position: of the hit.
        paper: the hit.
    """

    def __init__(self, asked: Asked, view: LateView, position: int, paper: Paper) -> None:
        self._text = EncodedText.of(paper)
        rows, self._cosines = view.nearest(asked, position, self._text.shift)  # its title is shown anyway
        self._spans = view.spans(rows)
        self._worth = asked.weights[: len(rows)] * self._cosines
        self._words = asked.words

    def best_sentence(self, index: Index, position: int, paper: Paper) -> Evidence | None:
        """The sentence that most of MaxSim comes from."""
        table = index.units("sentences")
        units = [table.unit(paper.id, int(row)) for row in table.sentence_rows(position)]
        sums = [float(self._worth[self._inside(unit.start, unit.end)].sum()) for unit in units]
        best = max(range(len(units)), key=lambda n: (sums[n], -n), default=-1)
        return Evidence.of(paper, units[best], score=sums[best]) if best >= 0 and sums[best] > 0 else None

    def _inside(self, start: int, end: int) -> Positions:
        """Those that lie in a span of the lead text."""
        low, high = start + self._text.shift, end + self._text.shift
        inside = (self._spans[:, 0] >= low) & (self._spans[:, 1] <= high)
        return np.flatnonzero(inside & (self._spans[:, 1] > self._spans[:, 0]))

    def beside(self, quote: Evidence) -> Evidence:
        """A quote of the lead text with what matched in it, the strongest first."""
        if quote.field != self._text.field:
            return quote
        here = self._inside(quote.start, quote.end)
        order = here[np.argsort(-self._worth[here], kind="stable")]
        pairs: dict[tuple[str, str], float] = {}
        for number in order.tolist():
            start, end = self._spans[number].tolist()
            if self._words[number]:
                pairs.setdefault(
                    (self._words[number], self._text.text[start:end]), float(self._cosines[number])
                )
        shown = list(pairs.items())[:_SHOWN]
        return replace(quote, matched=tuple((*pair, cosine) for pair, cosine in shown))
