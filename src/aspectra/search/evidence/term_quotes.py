"""Evidence for terms of an aspect: the hit's sentence that names most of them, beside the seed's."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.papers.paper import Paper, Unit, field_text
from aspectra.search.ranking import Evidence
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, ViewFacts
from aspectra.views.terms.view import TermView
from aspectra.views.view import Probe

__all__ = ["TermQuoter"]

# A sentence with less of the seed's terms, by count and rarity, names too few of them to be the reason.
# Set by looking at hits, not tuned.
_LEAST_SHARE = 0.1


class TermQuoter:
    """Finds the sentences of hits that name the terms of an aspect.

    Args:
        index: the generation searched.
        probe: on the view of words of terms.
    """

    def __init__(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        if not isinstance(view, TermView):
            raise ValueError(f"{probe.view} compares no words of terms")
        self._index, self._view = index, view
        (self._asked,) = index.look_up([probe])
        seeds = (index.library.get(seed) for seed in probe.seeds)
        self._seeds = [seed for seed in seeds if index.unchanged(seed)]

    @staticmethod
    def fits(probe: Probe) -> bool:
        """Whether a probe compares words of terms."""
        return probe.view == ViewFacts.words_of(TERMS).name

    def quote(self, paper: Paper) -> Evidence | None:
        """The sentence of an unchanged hit that names most of the terms; None where none names enough.

        The title is not quoted: it is shown above.
        """
        found = self._best(paper, None)
        if found is None or found[0] < _LEAST_SHARE:
            return None
        share, unit = found
        text = field_text(paper, unit.field)[unit.start : unit.end]
        said = [(*best, one) for one in self._seeds if (best := self._best(one, text)) is not None]
        _, answered, seed = max(said, key=lambda one: one[0], default=(0.0, None, None))
        quoted = ""
        if seed is not None and answered is not None:
            quoted = field_text(seed, answered.field)[answered.start : answered.end]
        return Evidence(
            text,
            unit.field,
            unit.start,
            unit.end,
            aspect=self._asked.probe.aspect,
            score=share,
            seed=seed.id if seed is not None else "",
            seed_quote=quoted,
        )

    def _best(self, paper: Paper, within: str | None) -> tuple[float, Unit] | None:
        """(share, sentence) of an unchanged paper's sentence with most of the terms, the first of several."""
        table = self._index.units("sentences")
        units = [table.unit(paper.id, int(n)) for n in table.sentence_rows(self._index.position(paper.id))]
        if not units:
            return None
        texts: Sequence[str] = [field_text(paper, u.field)[u.start : u.end] for u in units]
        shares = self._view.shares(self._asked, texts, within)
        best = int(shares.argmax())
        return (float(shares[best]), units[best]) if shares[best] > 0 else None
