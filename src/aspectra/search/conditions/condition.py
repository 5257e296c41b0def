"""Conditions: what a paper should be like, as an attribute, a value and a relation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal, cast, get_args

from msgspec import Meta

from aspectra.base.errors import UsageError, check_length, unknown_name
from aspectra.base.values import Value, force_setattr
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

_LONGEST_NAME = 1000  # characters of an attribute's name
_LONGEST_SPELLING = 200_000
_LONGEST_LABEL = 120
MOST_CONDITIONS = 64

# The grade from which a paper meets a condition.
MEETS = 0.5

_NEXT = re.compile(r"((?<!\\);|\sor(?=\s))(?=\s*+\w++\s*+=)")
# Words of a value that a spelling would read as a sign; a backslash keeps them in the value.
_UNMARKED = re.compile(r"(?<=\s)\\*+(?=unless(?:\s|$)|or\s++\w++\s*+=)|(?<!\\)\\*+(?=;\s*+\w++\s*+=)")
_MARKED = re.compile(r"(?<=\s)\\(?=\\*+unless(?:\s|$)|\\*+or\s++\w++\s*+=)|(?<!\\)\\(?=\\*+;\s*+\w++\s*+=)")

Relation = Literal["require", "exclude", "prefer", "avoid"]


class Exemption(Value, frozen=True):
    """An exemption from a condition: *nothing before 2018 except SemEval* has ``venue=SemEval``.

    Attributes:
        attribute, value: as in :class:`Condition`.
        apart: begins another exception: the exemptions before it suffice without it.
    """

    attribute: str
    value: str
    apart: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "value", _checked(self.attribute, self.value))

    @property
    def spelling(self) -> str:
        """As a condition spells it: ``venue=SemEval``."""
        return f"{self.attribute}={_kept(self.value)}"


def _kept(value: str) -> str:
    r"""A value as a spelling holds it: ``learning \unless supervised``."""
    return _UNMARKED.sub(lambda found: found[0] + "\\", value)


def _checked(attribute: str, value: str) -> str:
    """The value without spaces around it.

    Raises:
        UsageError: the attribute is unknown, or does not have this value.
    """
    known, value = ATTRIBUTES.get(attribute), value.strip()
    check_length("characters in the value of a condition", value, known.longest, hint="shorten it")
    known.check(value)
    return value


class Condition(Value, frozen=True):
    """One constraint or preference about the papers themselves, whatever they are about.

    Attributes:
        attribute: ``language``, ``length``, ``keyword`` ...: a name in
            :data:`~aspectra.search.conditions.attributes.protocol.ATTRIBUTES`.
        value: as that attribute writes its values: ``zh``, ``<=paragraph``, ``>=2021`` ...
        relation: ``require`` and ``exclude`` filter; ``prefer`` and ``avoid`` raise and lower by degrees.
        words: the words of the query that it was read from, or "".
        unless: papers that have these are exempt: the condition neither drops nor moves them. Values of one
            attribute are alternatives, bounds and different attributes must all be met, as in ``require``;
            one that is ``apart`` begins another exception.
        by: the language model that read it where the rules read nothing, or "".

    Raises:
        UsageError: the relation, the attribute or the value is unknown.

    >>> Condition("kind", "survey", "avoid").spelling
    'avoid kind=survey'
    """

    attribute: str
    value: str
    relation: Relation = "prefer"
    words: str = ""
    unless: tuple[Exemption, ...] = ()
    by: str = ""

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise unknown_name(f"unknown relation {self.relation!r}", self.relation, get_args(Relation))
        what = "characters in the attribute of a condition"
        check_length(what, self.attribute, _LONGEST_NAME, hint="shorten it")
        force_setattr(self, "value", _checked(self.attribute, self.value))

    @property
    def filters(self) -> bool:
        """True if papers are dropped, rather than moved."""
        return self.relation in ("require", "exclude")

    @property
    def lowers(self) -> bool:
        """True if papers that it does not drop are lowered by their grade, see ``grading``."""
        return self.relation == "exclude" and ATTRIBUTES.get(self.attribute).doubtful

    @property
    def cheap(self) -> bool:
        """True if it and its exemptions are fast enough to grade every paper, not candidates alone."""
        names = (self.attribute, *(exempt.attribute for exempt in self.unless))
        return all(ATTRIBUTES.get(name).cheap for name in names)

    @property
    def sign(self) -> int:
        """+1 where the value is wanted, -1 where it is unwanted."""
        return 1 if self.relation in ("require", "prefer") else -1

    @property
    def spelling(self) -> str:
        """As a person writes and edits it; :meth:`parse` reads it back.

        >>> Condition("language", "zh", "avoid").spelling
        'avoid language=zh'
        """
        signs = (" unless ", *(" or " if e.apart else "; " for e in self.unless[1:]))
        exempt = "".join(sign + e.spelling for sign, e in zip(signs, self.unless, strict=False))
        return f"{self.relation} {self.attribute}={_kept(self.value)}{exempt}"

    @property
    def label(self) -> str:
        """The spelling, cut where it is too long for a line: a value may list hundreds of papers."""
        text = self.spelling
        return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"

    @classmethod
    def parse(cls, spelling: str) -> Condition:
        """From its spelling: ``avoid language=zh``; ``prefer`` may be left out.

        >>> [e.apart for e in Condition.parse("exclude year=2017 unless venue=ACL or citations=high").unless]
        [False, True]

        Raises:
            UsageError: not of that form, or an unknown relation, attribute or value.
        """
        check_length("characters in a condition", spelling, _LONGEST_SPELLING, hint="shorten its value")
        stated, _, exempt = spelling.partition(" unless ")
        found = re.fullmatch(r"\s*+(?:(\w++)\s++)?(\w++)\s*+=\s*+(.*\S)\s*+", stated, re.DOTALL)
        # A semicolon or an "or" that begins no exemption belongs to the value before it.
        parts = _NEXT.split(exempt) if exempt.strip() else []
        pairs = [part.partition("=") for part in parts[::2]]
        if found is None or not all(equals for _, equals, _ in pairs):
            why = "write RELATION ATTRIBUTE=VALUE, as in: avoid source=blog"
            raise UsageError(f"{spelling!r} is no condition", why=why)
        relation, attribute, value = found.groups()
        apart = (False, *(sign != ";" for sign in parts[1::2]))
        unless = tuple(
            Exemption(name.strip(), _MARKED.sub("", what.strip()), other)
            for (name, _, what), other in zip(pairs, apart, strict=False)
        )
        # The relation is checked by __post_init__.
        value = _MARKED.sub("", value)
        return cls(attribute, value, cast("Relation", relation or "prefer"), unless=unless)


# Bounded before any of them is made.
Conditions = Annotated[tuple[Condition, ...], Meta(max_length=MOST_CONDITIONS)]


def check_conditions(conditions: tuple[Condition, ...]) -> None:
    """Refuse more conditions than a query may have.

    Raises:
        UsageError: there are more than 64.
    """
    check_length("conditions", conditions, MOST_CONDITIONS, hint="leave out those that matter least")


def distinct(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Conditions without repetitions: of those with one spelling, the first."""
    known: dict[str, Condition] = {}
    for condition in conditions:
        known.setdefault(condition.spelling, condition)
    return tuple(known.values())


def limits(
    since: int | None = None,
    until: int | None = None,
    venues: Iterable[str] = (),
    authors: Iterable[str] = (),
    languages: Iterable[str] = (),
) -> tuple[Condition, ...]:
    """Conditions that papers must meet; one whose year, venue, authors or language is unknown does not.

    Args:
        since: first year.
        until: last year.
        venues: any of these: names, acronyms or patterns with ``*``.
        authors: any of these: family names or whole names.
        languages: any of these tags, such as ``en``.

    >>> [c.spelling for c in limits(since=2020, venues=("ACL", "*SIGIR*"))]
    ['require year=>=2020', 'require venue=ACL', 'require venue=*SIGIR*']

    Raises:
        UsageError: a value means nothing, or no year is within both bounds.
    """
    for name, year in (("since", since), ("until", until)):
        if year is not None and (isinstance(year, bool) or not isinstance(year, int)):
            raise UsageError(f"{name} is {year!r}", why="it must be a year, as a whole number")
    if since is not None and until is not None and since > until:
        raise UsageError(f"no year is both >= {since} and <= {until}")
    bounds = [f"{sign}{year:04d}" for sign, year in ((">=", since), ("<=", until)) if year is not None]
    groups = {"year": bounds, "venue": venues, "author": authors, "language": languages}
    wanted = ((name, value) for name, values in groups.items() for value in as_names(values))
    return tuple(Condition(name, value, "require") for name, value in wanted)


def as_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """A tuple of names; one name alone is taken as one name, never as its letters."""
    return (given,) if isinstance(given, str) else tuple(given)
