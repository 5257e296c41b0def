"""What a search takes beside words and seeds, and the query that it makes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from aspectra.base.errors import UsageError, refuse_unknown

if TYPE_CHECKING:
    from aspectra.search.conditions.condition import Condition
    from aspectra.search.query import Query

Aspect = Literal["background", "method", "result"]
"""The aspects that sentences are labelled with; an aspect may also be free words."""

Direction = Literal["builds-on", "built-on-by", "both"]
"""What the papers are to the seed: it builds on them, they build on it, or either."""

Relation = Literal["require", "exclude", "prefer", "avoid"]
"""What a condition does: the first two filter papers, the others raise or lower their score."""

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGO = re.compile(r"(\d{1,3})\s*y(?:ears?)?")


class Preferences(TypedDict, total=False):
    """What may be given beside the words or seeds of a search; nothing is required.

    Attributes:
        since, until: first and last year, inclusive; a year, a date or an age such as ``"3y"``.
        venues, authors, languages: any of these; ``*`` in a venue matches anything.
        direction: what the papers are to the seeds: the seeds build on them, they build on the seeds, or
            both; "" for plain likeness.
        any_year: a direction ranks papers of every year.
        same, different: aspects in which papers should be like the text or the seeds, or unlike them. Terms
            may be named in place of the seeds': ``"method: gaussian splatting"``.
        same_sentences: numbers of the one seed's sentences, from 1, whose like papers should say.
        roles: roles that are corrected for this search: ``"3=method"``.
        conditions: as ``"avoid source=blog"``.
        instruction: the same in free words.
        literal: do not detect constraints in the text.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper.
        versions: ``best`` shows one version of a work, ``all`` ranks each by itself.
        lenses: lenses to search, for recipes that do.
        tags: only papers with all of these tags.
        decided: only papers of which you decided so: ``include``, ``exclude``, ``maybe``, ``any``, ``none``.

    >>> wanted: Preferences = {"since": "2020", "conditions": ["avoid kind=survey"]}
    >>> library.search("owls at night", **wanted).ids
    ['mice']
    """

    since: int | str | None
    until: int | str | None
    venues: str | Sequence[str]
    authors: str | Sequence[str]
    languages: str | Sequence[str]
    direction: Direction | Literal[""]
    any_year: bool
    same: Aspect | str | Sequence[Aspect | str]
    different: Aspect | str | Sequence[Aspect | str]
    same_sentences: int | Sequence[int]
    roles: str | Sequence[str]
    conditions: str | Condition | Sequence[str | Condition]
    instruction: str
    literal: bool
    limit: int
    evidence: int
    versions: Literal["best", "all"]
    lenses: str | Sequence[str]
    tags: str | Sequence[str]
    decided: str


def make_query(text: str, seeds: tuple[str, ...], given: Mapping[str, Any]) -> Query:
    """The whole question as one value.

    Args:
        text: words, or "".
        seeds: ids.
        given: see :class:`Preferences`.

    Raises:
        UsageError: the question cannot mean anything.
    """
    from aspectra.search.conditions.condition import Condition, limits
    from aspectra.search.query import Query

    refuse_unknown(given, Preferences.__annotations__, "argument of a search")
    fields = dict(given)
    required = limits(
        since=parse_year(fields.pop("since", None), "since"),
        until=parse_year(fields.pop("until", None), "until"),
        **{name: _several(fields.pop(name, ())) for name in ("venues", "authors", "languages")},
    )
    marked = [("tag", one) for one in _several(fields.pop("tags", ()))]
    marked += [("decided", one) for one in (fields.pop("decided", ""),) if one]
    required += tuple(Condition(name, value, "require") for name, value in marked)
    conditions = [
        Condition.parse(one) if isinstance(one, str) else one
        for one in _several(fields.pop("conditions", ()))
    ]
    if "same_sentences" in fields:
        fields["same_sentences"] = _several(fields["same_sentences"])
    return Query(text, seeds, conditions=(*required, *conditions), **fields)


def parse_year(given: int | str | None, name: str) -> int | None:
    """The year that a limit means: 2020, ``2020``, ``2020-05-01`` (papers carry years only) or ``3y`` (ago).

    >>> parse_year("2020-05-01", "since")
    2020

    Raises:
        UsageError: it is none of these.
    """
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    text = str(given).strip()
    if found := _DATE.fullmatch(text):
        year, month, day = (int(part or 1) for part in found.groups())
        if 1 <= month <= 12 and 1 <= day <= 31 and year > 0:
            return year
    elif found := _AGO.fullmatch(text):
        return datetime.now(UTC).year - int(found[1])
    raise UsageError(
        f"{name} is {given!r}, which is no year",
        hint=f"{name}: 2020, 2020-05-01 or 3y (years ago)",
    )


def _several(given: Any) -> tuple[Any, ...]:
    """One value or several, as a tuple; a text alone is one value, never its letters."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
