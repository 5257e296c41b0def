"""Queries: text, seeds and conditions of a search, as one value that every surface fills in."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from aspectra.base.errors import UsageError, check_length, check_number, unknown_name
from aspectra.base.values import Value, force_setattr, replace
from aspectra.search.conditions.condition import Conditions, as_names, check_conditions, distinct
from aspectra.views.view import Matching

Versions = Literal["best", "all"]
DIRECTIONS = ("builds-on", "built-on-by", "both")

# What a query may hold at most, so that one search is bounded work.
LONGEST_TEXT = 100_000  # characters
MOST_SEEDS = 100
MOST_PAPERS = 10**9  # as a limit: more than any library holds
MOST_EVIDENCE = 100
_MOST_ASPECTS = 8  # same and different together: each is up to four probes
_MOST_LENSES = 16
_MOST_SENTENCES = 100
LONGEST_ASPECT = 2000  # characters


class Unread(Value, frozen=True):
    """Words of a query that request something of papers and are not applied.

    Attributes:
        words: as typed.
        why: the reason, in a few words.
        searched: whether they are searched for, since they may as well belong to the subject.
        instead: the spelling of the condition that they may mean, or "".
    """

    words: str
    why: str = ""
    searched: bool = False
    instead: str = ""


class Query(Value, frozen=True):
    """A question, before it is planned.

    Attributes:
        text: free words, or "".
        seeds: ids of seed papers (resolved).
        same, different: aspects in which papers should be like the seeds (or the text), or unlike them; see
            :class:`~aspectra.search.planning.aspects.Aspect`.
        same_sentences: numbers of sentences of the one seed, from 1, whose like papers should say.
        roles: roles that somebody corrected, as ``3=method``: for this query, that sentence of the one seed
            has that role.
        conditions: what the papers themselves should be like, each once; limits on year, venue, author and
            language are conditions too, see :func:`~aspectra.search.conditions.condition.limits`.
        instruction: what the papers should be like, in free words, or "".
        direction: what the papers are to the seeds: ``builds-on`` (the seeds build on them), ``built-on-by``
            (they build on the seeds), ``both``, or "" for plain likeness.
        any_year: a direction ranks papers of every year; otherwise those that cannot be in it are left out,
            see :mod:`aspectra.search.planning.index_views`.
        lenses: lenses to search through, for planners that use them; () leaves the choice to the planner.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper, 0 for none.
        versions: ``best`` shows one version of a work and names the others; ``all`` ranks each by itself.
        literal: search the text as it is; otherwise constraints in it are read and applied, as those of the
            instruction always are.

    Raises:
        UsageError: there is neither text nor seed, or a field has an impossible value.

    >>> Query("owls", limit=3).limit
    3
    """

    text: str = ""
    seeds: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    same_sentences: tuple[int, ...] = ()
    roles: tuple[str, ...] = ()
    conditions: Conditions = ()
    instruction: str = ""
    direction: str = ""
    any_year: bool = False
    lenses: tuple[str, ...] = ()
    limit: int = 10
    evidence: int = 1
    versions: Versions = "best"
    literal: bool = False

    def __post_init__(self) -> None:
        for name in ("seeds", "same", "different", "roles", "lenses"):
            force_setattr(self, name, as_names(getattr(self, name)))
        check_length("characters in the text", self.text, LONGEST_TEXT, hint="search for its abstract")
        check_length("characters in the instruction", self.instruction, LONGEST_TEXT, hint="shorten it")
        check_length("seeds", self.seeds, MOST_SEEDS, hint="name the papers that matter most")
        check_length("aspects", self.same + self.different, _MOST_ASPECTS, hint="name those that matter most")
        check_length("lenses", self.lenses, _MOST_LENSES, hint="name those that matter most")
        for aspect in (*self.same, *self.different):
            check_length("characters in an aspect", aspect, LONGEST_ASPECT, hint="say it in a few words")
        _check_sentences(self.same_sentences, self.roles, self.seeds)
        force_setattr(self, "conditions", distinct(self.conditions))
        check_conditions(self.conditions)
        if not self.text.strip() and not self.seeds:
            raise UsageError(
                "the query is empty", hint='give words, as in: aspectra search "graph pretraining"'
            )
        check_number("the limit", self.limit, 0, MOST_PAPERS, hint="--limit 10")
        check_number("evidence", self.evidence, 0, MOST_EVIDENCE, hint="--evidence 1")
        _check_direction(self.direction, self.seeds)
        if self.versions not in get_args(Versions):
            raise UsageError(
                f"versions is {self.versions!r}", why="it must be best or all", hint="--all-versions for all"
            )


def _check_sentences(numbers: tuple[int, ...], roles: tuple[str, ...], seeds: tuple[str, ...]) -> None:
    check_length("sentences", numbers, _MOST_SENTENCES, hint="name those that matter most")
    check_length("roles", roles, _MOST_SENTENCES, hint="correct those that matter most")
    for number in numbers:
        check_number("the number of a sentence", number, 1, MOST_PAPERS, hint="aspectra show ID --sentences")
    if (numbers or roles) and len(seeds) != 1:
        raise UsageError(
            "sentences are named of one seed paper",
            why=f"the query has {len(seeds)} seeds" if seeds else "the query has words alone",
            hint="aspectra similar ID --same-sentences 3,5",
        )


def _check_direction(direction: str, seeds: tuple[str, ...]) -> None:
    if direction and direction not in DIRECTIONS:
        raise unknown_name(f"unknown direction {direction!r}", direction, DIRECTIONS)
    if direction and not seeds:
        raise UsageError(
            f"a direction ({direction}) needs a seed paper",
            why="words alone neither build on papers nor are built on",
            hint=f"aspectra similar ID --direction {direction}",
        )


# The probes and weights of the planners' defaults, all in one place.
#
# They were chosen on development data only (docs/results/aspects.md says which, and what they cost and
# gain) and depend on nothing but the views there are and the fields that a query gives. Weights multiply
# scores in deviations from the mean of a fixed sample of papers, see :mod:`aspectra.search.scoring.chain`.

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


class Shares(Struct, frozen=True):
    """Share of each reading of an aspect in the aspect's weight.

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
    """Shares of an aspect's readings: terms count in proportion to the certainty of the seed's.

    Chosen so that no collection loses (CSFCube's development half, aspect-pairs). Labels alone would have
    terms count twice as much, CSFCube alone would have none. How far a seed's terms and sentences agree, and
    how much either singles out, did not tell which of the two serves it better.

    Args:
        sure: 0 to 1, see :class:`~aspectra.views.terms.view.Offer`.
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


class Directed(Struct, frozen=True):
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
