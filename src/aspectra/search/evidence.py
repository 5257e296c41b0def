"""Evidence: the sentences that speak for a hit, as verified quotes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper, field_text
from aspectra.papers.rows import text_hash
from aspectra.search.plan import Plan
from aspectra.search.ranking import Evidence
from aspectra.views.dense import DenseView
from aspectra.views.index import Index
from aspectra.views.lexical import LexicalView
from aspectra.views.units import Units
from aspectra.views.view import Floats, Probe

__all__ = ["Quoter"]

# A sentence that holds every word of a short query gains this much cosine: an exact term is what a reader
# looks for in a quote. It fades for long queries, whose words are everywhere.
_WORD_BONUS = 0.25
_LONG_QUERY = 24


class Quoter:
    """Finds the best-matching sentences of hits under one plan.

    Args:
        index: the generation searched.
        plan: whose probes say what is looked for.
    """

    def __init__(self, index: Index, plan: Plan) -> None:
        self._index = index
        self._count = plan.evidence
        positive = [p for p in plan.probes if p.weight > 0]
        self._dense = _strongest(index, positive, "dense")
        self._lexical = _strongest(index, positive, "lexical")
        self._vectors: Floats | None = None
        self._weights: dict[int, float] = {}
        if self._dense:
            view = index.view(f"abstract@{self._dense.view.partition('@')[2]}")
            if isinstance(view, DenseView):
                self._vectors = view.query_vectors(self._dense)
        if self._lexical:
            lexical = self._words()
            terms = set(lexical.terms(lexical.query_text(self._lexical)))
            self._weights = lexical.rarity(terms)

    def _words(self) -> LexicalView:
        view = self._index.view("abstract@bm25")
        if not isinstance(view, LexicalView):  # the name says so
            raise TypeError("abstract@bm25 is not lexical")
        return view

    def _overlap(self, quotes: Sequence[str]) -> Floats:
        """Share of the query's word rarity that each sentence holds, 0 to 1."""
        total = sum(self._weights.values())
        out = np.zeros(len(quotes), dtype=np.float32)
        if total:
            words = self._words()
            for number, quote in enumerate(quotes):
                held = self._weights.keys() & set(words.terms(quote))
                out[number] = sum(self._weights[t] for t in held) / total
        return out

    def quotes(self, position: int, paper: Paper) -> tuple[Evidence, ...] | None:
        """The best sentences of a paper, best first; None when its text changed since it was indexed."""
        if bytes.fromhex(text_hash(paper)) != self._index.text_hashes[position].tobytes():
            return None
        table = self._index.units("sentences")
        low, high = int(table.offsets[position]), int(table.offsets[position + 1])
        spans = [(Units.field_name(int(f)), int(a), int(b)) for f, a, b in table.spans[low:high]]
        body = [i for i, (field, _, _) in enumerate(spans) if field != "title"]
        chosen = body or list(range(len(spans)))  # a paper of a title alone is quoted by its title
        if not chosen:
            return ()
        texts = [field_text(paper, spans[i][0])[spans[i][1] : spans[i][2]] for i in chosen]
        score = self._overlap(texts)
        if self._vectors is not None and self._dense is not None:
            view = self._index.view(f"sentences@{self._dense.view.partition('@')[2]}")
            if isinstance(view, DenseView):
                rows = view.vectors[low:high][chosen]
                cosine = view.compare(rows, self._vectors, Probe(view.name, text="-")).max(axis=1)
                bonus = _WORD_BONUS * min(1.0, _LONG_QUERY / (4 * max(len(self._weights), 1)))
                score = cosine + bonus * score
        best = sorted(range(len(chosen)), key=lambda i: (-float(score[i]), i))[: self._count]
        return tuple(
            Evidence(texts[i], *spans[chosen[i]], score=float(score[i])) for i in best if texts[i].strip()
        )


def _strongest(index: Index, probes: Sequence[Probe], kind: str) -> Probe | None:
    """The probe of this kind with the greatest weight, or None."""
    facts = index.manifest["views"]
    fitting = [p for p in probes if facts.get(p.view, {}).get("kind") == kind]
    return max(fitting, key=lambda p: p.weight, default=None)
