"""Queries: text, seeds and conditions of a search, as one value that every surface fills in."""

from __future__ import annotations

from typing import Literal, get_args

from aspectra.base.checking import check_length, check_number, unknown_name
from aspectra.base.errors import UsageError
from aspectra.base.values import Value, force_setattr
from aspectra.search.conditions.condition import Conditions, as_names, check_conditions, distinct

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
            see :mod:`aspectra.search.planning.permitted`.
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
