"""Weak matches: whether the best hits fit the words of a query at all, by signals calibrated on data.

Two signals, joined by a logistic regression: likeness, the mean cosine of the query's vector with the
abstracts of the three hits most like it; and words, the weight of the query's words that one hit holds, as a
share of the query's eight rarest (long queries have many words that no paper repeats). Scores in deviations
say nothing here: the best paper of a library on another subject stands out as much. Fitted on questions that
their library answers against the same questions put to libraries of another field, see
docs/results/weak-match.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aspectra.papers.text.sentences import lead_field
from aspectra.search.plan import Search
from aspectra.search.ranking import Fit, Hit
from aspectra.views.index.opened import Index
from aspectra.views.view import Probe

_BEST = 3  # hits whose likeness is averaged
_RAREST = 8  # words of the query that a hit is measured against

# Of each encoder: weights of likeness and words, constant, and the logit below which a match is weak.
# Libraries without vectors, and encoders that were not calibrated, are judged by words alone.
_CALIBRATED = {"minilm": (19.87, 4.49, -9.67, -0.75)}
_WORDS_ALONE = (0.0, 9.41, -4.74, -2.0)
_ALL = 0.999  # a hit that holds this share of the words is no weak match: one rare word has a low cosine


def fit_of(index: Index, search: Search, hits: Sequence[Hit]) -> Fit | None:
    """How well the best hits fit the words of a query; None where there are no words, hits or abstracts.

    A query with seeds gets None: papers like a paper of the library are always found.

    Args:
        index: the generation searched.
        search: the last one that was run.
        hits: of the ranking.
    """
    asked = [
        (number, probe)
        for number, probe in enumerate(search.probes)
        if probe.text.strip() and probe.weight > 0 and index.facts(probe.view).base == "abstract"
    ]
    if not asked or not hits or search.seeds:
        return None
    words = _words_held(index, asked[0][1].text, hits)
    if words is None:
        return None
    for number, probe in asked:
        scorer = index.facts(probe.view).scorer
        known = [score for hit in hits if (score := hit.probes[number].score) is not None]
        if scorer in _CALIBRATED and known and probe.metric == "cosine" and not probe.instruction:
            likeness = float(np.mean(sorted(known)[-_BEST:]))
            return _judged(likeness, words, *_CALIBRATED[scorer])
    return _judged(None, words, *_WORDS_ALONE)


def weak_match_warning(fit: Fit | None) -> list[str]:
    """The sentence for a ranking whose hits hardly fit; [] for others."""
    if fit is None or not fit.weak:
        return []
    like = "" if fit.likeness is None else f" and are hardly like it (cosine {fit.likeness:.2f})"
    return [
        f"weak match: the best papers hold {100 * fit.words:.0f} % of the query's rarest words{like}; "
        "the library may hold nothing on it"
    ]


def _judged(
    likeness: float | None, words: float, of_likeness: float, of_words: float, constant: float, least: float
) -> Fit:
    logit = of_likeness * (likeness or 0.0) + of_words * words + constant
    return Fit(likeness, words, 1.0 / (1.0 + math.exp(-logit)), weak=logit < least and words < _ALL)


def _words_held(index: Index, text: str, hits: Sequence[Hit]) -> float | None:
    """The rarity of the query's words in the hit that holds most of it, over that of the eight rarest.

    None where the query has no words.
    """
    view = index.word_view()
    asked = set(view.look_up(Probe(view.name, text=text)).words)
    known = view.rarity(set(view.terms(text)))
    # A word of no paper is as rare as one of a single paper.
    absent = [math.log1p(len(index))] * (len(asked) - len(known))
    rarest = sorted([*known.values(), *absent], reverse=True)[:_RAREST]
    if not rarest:
        return None
    held = (known.keys() & set(view.terms(f"{hit.paper.title}\n{lead_field(hit.paper)[1]}")) for hit in hits)
    return min(1.0, max(sum(known[term] for term in terms) for terms in held) / sum(rarest))
