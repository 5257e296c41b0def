"""Evidence for late interaction: which words matched, and the sentence that most of MaxSim comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aspectra.papers.paper import Paper, field_text
from aspectra.search.plan import Search
from aspectra.search.ranking import Evidence
from aspectra.views.dense.late.view import LateView
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked
from aspectra.views.storage.units import EncodedText
from aspectra.views.view import Positions

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
        if best < 0 or sums[best] <= 0:
            return None
        unit = units[best]
        text = field_text(paper, unit.field)[unit.start : unit.end]
        return Evidence(text, unit.field, unit.start, unit.end, score=sums[best])

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
