"""Evidence for terms of an aspect: the hit's sentence that names most of them, beside the seed's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aspectra.papers.paper import Paper, Unit, field_text
from aspectra.search.ranking import Evidence
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, ViewFacts
from aspectra.views.terms.view import TermView
from aspectra.views.view import Probe

# A sentence with less of the seed's terms, by count and rarity, names too few of them to be the reason.
# Set by looking at hits, not tuned.
_LEAST_SHARE = 0.1
_Sentence = tuple[Unit, frozenset[int]]  # and the numbers of its words


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
        (asked,) = index.look_up([probe])
        self._aspect = probe.aspect
        self._roles = index.role_weights(probe.roles) if probe.roles and "roles" in index.lens_names else None
        self._worth = view.worth(asked)
        seeds = [seed for seed in map(index.library.get, probe.seeds) if index.unchanged(seed)]
        self._seeds = [(seed, self._sentences(seed)) for seed in seeds]

    @staticmethod
    def fits(probe: Probe) -> bool:
        """Whether a probe compares words of terms."""
        return probe.view == ViewFacts.words_of(TERMS).name

    def quote(self, paper: Paper) -> Evidence | None:
        """The aspect's own sentence of an unchanged hit that names most of the terms; None: too few of them.

        The title is not quoted: it is shown above.
        """
        found = _best(self._sentences(paper), self._worth)
        if found is None or found[0] < _LEAST_SHARE:
            return None
        share, unit = found
        text = field_text(paper, unit.field)[unit.start : unit.end]
        here = {number: self._worth[number] for number in self._view.numbers(text) & self._worth.keys()}
        said = [(*best, one) for one, own in self._seeds if (best := _best(own, here)) is not None]
        _, answered, seed = max(said, key=lambda one: one[0], default=(0.0, None, None))
        quoted = ""
        if seed is not None and answered is not None:
            quoted = field_text(seed, answered.field)[answered.start : answered.end]
        return Evidence(
            text,
            unit.field,
            unit.start,
            unit.end,
            aspect=self._aspect,
            score=share,
            seed=seed.id if seed is not None else "",
            seed_quote=quoted,
        )

    def _sentences(self, paper: Paper) -> list[_Sentence]:
        """The sentences of an unchanged paper that are of the aspect; all where no lens tells roles."""
        table = self._index.units("sentences")
        units = [
            table.unit(paper.id, int(number))
            for number in table.sentence_rows(self._index.position(paper.id))
            if self._roles is None or self._roles[number]
        ]
        texts = (field_text(paper, unit.field)[unit.start : unit.end] for unit in units)
        return [(unit, self._view.numbers(text)) for unit, text in zip(units, texts, strict=True)]


def _best(sentences: Sequence[_Sentence], worth: Mapping[int, float]) -> tuple[float, Unit] | None:
    """(share, sentence) of the sentence with most of what words are worth, the first of several."""
    total = sum(worth.values())
    shares = [sum(worth[number] for number in held & worth.keys()) for _, held in sentences]
    best = max(range(len(shares)), key=shares.__getitem__, default=-1)
    return (shares[best] / total, sentences[best][0]) if best >= 0 and shares[best] > 0 else None
