"""The probes and weights of the planners' defaults, all in one place.

They were chosen on development data only (docs/results/aspects.md says which, and what they cost and gain)
and depend on nothing but the views there are and the fields that a query gives. Weights multiply scores in
deviations from the mean of a fixed sample of papers, see :mod:`aspectra.search.scoring.chain`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aspectra.views.view import Matching

# BM25 beside the abstract vector's 1.0.
LEXICAL_WEIGHT = 0.3

# Likeness in the aspects that the query names, shared between them.
ASPECT_WEIGHT = 1.0

# Likeness in the other roles, subtracted: what tells "the same method" from "much the same paper". Where
# terms are compared too it gained nothing, plain or as residual.
CONTRAST_WEIGHT = 0.4
CONTRAST_BESIDE_TERMS = 0.0

# Likeness in an aspect that is to be different, subtracted, shared between them.
DIFFERENT_WEIGHT = 0.8

# How sentences of a role are compared; each has its share of the weight. MaxSim follows an aspect closer, the
# centroid is steadier where roles are predicted wrongly.
ASPECT_MATCHINGS: tuple[Matching, ...] = ("maxsim", "centroid")


@dataclass(frozen=True)
class Shares:
    """What each reading of an aspect has of the aspect's weight.

    Attributes:
        sentences: similarity of the sentences with its roles.
        words: terms shared, by words.
        vectors: terms shared, by their pooled vectors.
        anywhere: words that somebody named, wherever a paper has them.
    """

    sentences: float = 0.0
    words: float = 0.0
    vectors: float = 0.0
    anywhere: float = 0.0


# Terms that somebody named.
NAMED = Shares(words=0.5, vectors=1.0, anywhere=2.0)

# An aspect in free words, which has no terms: at 1.0 its sentences cost nDCG@20 in all of eight collections.
FREE = Shares(sentences=0.5)


def aspect_shares(sure: float) -> Shares:
    """How much each reading of an aspect counts: terms in proportion to how sure the seed's are.

    Chosen so that no collection loses (CSFCube's development half, aspect-pairs). Labels alone would have
    terms count twice as much, CSFCube alone would have none. How far a seed's terms and sentences agree, and
    how much either singles out, did not tell which of the two serves it better.

    Args:
        sure: 0 to 1, see :class:`~aspectra.views.terms.values.Offer`.
    """
    return Shares(sentences=0.8, words=0.8 * sure, vectors=2.0 * sure)


# Papers whose sentences are compared, the best of the other probes, where all would be too many. Among 88,584
# papers 200 to 8,000 gave the same NDCG@20 within a point, so this is about time.
ASPECT_CANDIDATES = 300
# Papers of the hybrid that the planner `late` compares token by token, and what MaxSim counts beside it.
LATE_CANDIDATES = 300
LATE_WEIGHT = 0.5
# The hybrid's probes beside those of the lenses of a query: what a lens found comes first, and the paper's
# own words decide between papers in which it found much the same. Set by hand, not tuned.
UNLENSED_WEIGHT = 0.5

# What wholly meeting one preference is worth, as a share of the best paper's lead over the field.
COMPLIANCE_WEIGHT = 0.6

# The stage that takes a searcher's decisions as examples. Papers and weights as measured with simulated
# decisions, see docs/results/decisions.md.
LIKE_DECIDED = "feedback(papers=10,decided=yes,against=0.25)"

# Further words beside a seed with a direction.
TEXT_WEIGHT = 1.0


@dataclass(frozen=True)
class Directed:
    """One probe of a directional plan before it knows its seed; fields as in a probe.

    ``{chunks}`` and ``{encoder}`` in a view's name stand for the library's own.
    """

    view: str
    weight: float = 1.0
    reverse: bool = False
    matching: Matching = ""
    asking: str = ""


# A direction's probes, chosen on one half of acl-fulltext's queries (docs/results/full-papers.md). What asks:
# a paper's telling words, its chunks, its abstract, the mean of its chunks; "back" is in reverse.
_WORDS_BACK = Directed("full@bm25", reverse=True)
_WORDS = Directed("full@bm25")
_CHUNKS_BACK = Directed("{chunks}@{encoder}", reverse=True)
_CHUNKS = Directed("{chunks}@{encoder}", matching="maxsim")
_PLACES_BACK = Directed("{chunks}@bm25", 0.5, reverse=True, asking="abstract@bm25")
_PLACES = Directed("{chunks}@bm25", 0.5)
_ABSTRACT = Directed("abstract@{encoder}")
_ABSTRACT_BACK = Directed("abstract@{encoder}", reverse=True)
_TERMS_BACK = Directed("abstract@bm25", reverse=True)

DIRECTED_FULL_TEXTS: dict[str, tuple[Directed, ...]] = {
    "builds-on": (_WORDS_BACK, _CHUNKS_BACK, replace(_PLACES_BACK, weight=1.0), _ABSTRACT),
    "built-on-by": (_WORDS, Directed("{chunks}@{encoder}", asking="abstract@{encoder}"), _PLACES),
    "both": (_WORDS_BACK, _WORDS, _CHUNKS_BACK, _CHUNKS, _PLACES_BACK, _PLACES, _ABSTRACT),
}
DIRECTED_ABSTRACTS: dict[str, tuple[Directed, ...]] = {
    "builds-on": (_ABSTRACT, replace(_TERMS_BACK, weight=0.5), replace(_ABSTRACT_BACK, weight=0.5)),
    "built-on-by": (_ABSTRACT, _TERMS_BACK, _ABSTRACT_BACK),
    "both": (_ABSTRACT, _TERMS_BACK, _ABSTRACT_BACK),
}
