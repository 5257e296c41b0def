"""Aspects, as roles of sentences or free words; and the use made of the words of a query, for people."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

from msgspec import Struct

from aspectra.base.errors import LibraryCorrupt, UsageError, check_length, unknown_name
from aspectra.base.values import converted
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import alternatives
from aspectra.search.plan import Plan
from aspectra.search.query import LONGEST_ASPECT, Unread
from aspectra.views.view import ROLE_GROUPS, ROLES, Probe

# Roles of each aspect, named by their first one; the role other belongs to none.
ASPECT_ROLES: dict[str, tuple[str, ...]] = {group[0]: group for group in ROLE_GROUPS if group[0] != "other"}

# One word this similar to the name of an aspect is taken for a typing error, not for free words.
_TYPO = 0.82

# The aspect of a probe on all roles that the query does not name.
REST = "the rest"

# Where a library keeps the aspects that were defined for it.
OWN_KEY = "aspects"

# Words of the name of an aspect that is defined.
_MOST_WORDS = 4

_WORDS = {
    "background": "context goal motivation objective problem question task topic aim setting "
    "research-question hypothesis issue",
    "method": "approach technique algorithm model procedure methodology architecture design how way manner",
    "result": "finding outcome conclusion performance evaluation-result evidence",
}
_NAMES = {word.replace("-", " "): name for name, words in _WORDS.items() for word in [name, *words.split()]}


class Aspect(Struct, frozen=True):
    """One aspect.

    Attributes:
        name: as in the query.
        roles: roles of the sentences that carry it, or () where it is free words.
        focus: the free words, or "". Of an aspect that was defined, its definition and examples, a line each.
        terms: what somebody named in the aspect, in place of what the seeds name there, or "".
    """

    name: str
    roles: tuple[str, ...] = ()
    focus: str = ""
    terms: str = ""

    @property
    def told(self) -> str:
        """The aspect for a model that is told it: its name, and the terms or definition that belong to it."""
        definition = self.focus.partition("\n")[0]
        meant = self.terms or (definition if definition != self.name else "")
        return f"{self.name}: {meant}" if meant else self.name

    @classmethod
    def parse(cls, text: str, own: Mapping[str, str] = {}) -> Aspect:
        """From a person's words: an aspect of the library, a role or a usual word for one, or free words.

        Args:
            text: as typed.
            own: name -> focus of the aspects that were defined for the library, see :func:`own_aspects`.

        >>> Aspect.parse("Approach").roles
        ('method',)
        >>> Aspect.parse("evaluation protocol").focus
        'evaluation protocol'
        >>> Aspect.parse("method: gaussian splatting").terms
        'gaussian splatting'

        Raises:
            UsageError: the text is empty, or one word that is nearly the name of an aspect; or terms are
                announced and none follow.
        """
        said = " ".join(text.split())
        if (held := _plain(said)) in own:
            return cls(held, focus=own[held])
        before, colon, terms = said.partition(":")
        if colon and (known := _known(before.strip().casefold())):
            if not terms.strip():
                raise UsageError(f"no terms follow {said!r}", hint=f'--same "{known}: gaussian splatting"')
            return cls(known, ASPECT_ROLES[known], terms=terms.strip())
        if not said:
            raise UsageError("an aspect is empty", hint="--same method, or --same 'evaluation protocol'")
        plain = said.casefold()
        name = _known(plain)
        if name is None and " " not in plain and difflib.get_close_matches(plain, ASPECT_ROLES, 1, _TYPO):
            raise unknown_name(f"there is no aspect {said!r}", plain, ASPECT_ROLES)
        if name is None:
            return cls(said, focus=said)
        return cls(name, ASPECT_ROLES[name])


def own_aspects(library: Store) -> dict[str, str]:
    """Name -> focus of the aspects that were defined for a library, in the order in which they were added.

    Raises:
        LibraryCorrupt: what the library holds is not such a list.
    """
    try:
        return converted(json.loads(library.meta(OWN_KEY) or "{}"), dict[str, str])
    except (ValueError, RecursionError) as error:
        raise LibraryCorrupt("the library's list of aspects cannot be read", why=str(error)) from error


def define_aspect(library: Store, writer: Writer, name: str, definition: str, examples: Iterable[str]) -> str:
    """Add an aspect to a library, or replace the one of that name; return the name as it is kept.

    Args:
        library: that the aspect is for.
        writer: of the library.
        name: one to four words; a hyphen is a space.
        definition: what the aspect is about, in a sentence.
        examples: sentences about it, as papers write them.

    Raises:
        UsageError: the name is that of a built-in aspect, or no name; the definition is empty or, with the
            examples, too long.
    """
    plain = _plain(name)
    if _known(plain) or ":" in plain or not 1 <= len(plain.split()) <= _MOST_WORDS:
        raise UsageError(
            f"an aspect cannot be called {name!r}",
            why="this name is built in"
            if _known(plain)
            else f"a name is one to {_MOST_WORDS} words, without a colon",
            hint="choose another name",
        )
    lines = [" ".join(line.split()) for line in (definition, *examples)]
    if not all(lines):
        raise UsageError("a definition or an example is empty", hint='--as "who was studied"')
    check_length("characters in an aspect", "\n".join(lines), LONGEST_ASPECT, hint="give fewer examples")
    own = own_aspects(library) | {plain: "\n".join(lines)}
    writer.set_meta(OWN_KEY, json.dumps(own, ensure_ascii=False))
    return plain


def remove_aspect(library: Store, writer: Writer, name: str) -> None:
    """Remove an aspect from a library.

    Raises:
        UsageError: the library has none of that name.
    """
    own = own_aspects(library)
    plain = _plain(name)
    if own.pop(plain, None) is None:
        raise unknown_name(f"the library has no aspect {name!r}", plain, own)
    writer.set_meta(OWN_KEY, json.dumps(own, ensure_ascii=False))


def _plain(name: str) -> str:
    """A name as a library keeps it."""
    return " ".join(name.casefold().replace("-", " ").split())


def _known(word: str) -> str | None:
    return _NAMES.get(word) or _NAMES.get(word.removesuffix("s"))


def corrected_roles(given: Iterable[str]) -> dict[int, str]:
    """Number of a sentence -> its role, from spellings such as ``3=method``.

    >>> corrected_roles(["3=method", "4 = findings"])
    {3: 'method', 4: 'result'}

    Raises:
        UsageError: a spelling is another, a role unknown, or a sentence named twice.
    """
    out: dict[int, str] = {}
    for one in given:
        number, equals, name = (part.strip() for part in one.partition("="))
        plain = name.casefold()
        if not equals or not (number.isascii() and number.isdigit() and int(number)):
            raise UsageError(
                f"{one!r} is no role of a sentence",
                why="it is the number of a sentence, = and a role",
                hint="--role 3=method",
            )
        if int(number) in out:
            raise UsageError(f"sentence {number} has two roles", hint=f"--role {number}={name}")
        role = plain if plain in ROLES else _known(plain)
        if role is None:
            raise unknown_name(f"there is no role {name!r}", plain, ROLES)
        out[int(number)] = role
    return out


def named_sentences(numbers: Iterable[int]) -> Aspect:
    """Aspect of likeness in certain sentences of the seed; it has no roles.

    >>> named_sentences((2, 3)).name
    'sentences 2, 3'
    """
    return Aspect(f"sentences {', '.join(map(str, numbers))}")


def other_roles(aspects: tuple[Aspect, ...]) -> tuple[str, ...]:
    """Roles that none of the aspects is carried by; () where an aspect is free words, which has no others."""
    if any(a.focus for a in aspects):
        return ()
    taken = {role for a in aspects for role in a.roles}
    return tuple(r for roles in ASPECT_ROLES.values() for r in roles if r not in taken)


def aspect_probes(probes: Iterable[Probe], sign: int) -> list[Probe]:
    """Probes that raise papers alike in an aspect (sign 1), or lower them (sign -1)."""
    return [
        p
        for p in probes
        if (p.matching or (p.aspect in ASPECT_ROLES and not p.asking))
        and p.aspect != REST
        and p.weight * sign > 0
    ]


def aspects_asked(probes: Iterable[Probe], sign: int) -> list[str]:
    """Names of aspects, each once, in which papers should be alike (sign 1) or different (sign -1)."""
    return list(dict.fromkeys(one.aspect for one in aspect_probes(probes, sign) if one.aspect))


# How a warning of what was not applied begins.
NOT_APPLIED = "not applied:"


class AspectRequests(Struct, frozen=True):
    """Three lists.

    Attributes:
        applied: conditions that are applied.
        aspects: that are compared: ``same method``.
        not_applied: words, or conditions that were given as such, that are not applied, with the reason.
        searched: texts and ids of seed papers that are searched for.
    """

    applied: tuple[Condition, ...] = ()
    aspects: tuple[str, ...] = ()
    not_applied: tuple[Unread, ...] = ()
    searched: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: Plan, without_data: Iterable[tuple[Condition, str]] = ()) -> AspectRequests:
        """The requests of a plan.

        Args:
            plan: before or after it was run.
            without_data: conditions of which nothing is known of any paper, with the reason; known once it
                was run.
        """
        unknown = dict(without_data)
        applied = tuple(c for c in plan.conditions if c not in unknown)
        aspects = tuple(
            f"{word} {name}"
            for word, sign in (("same", 1), ("different", -1))
            for name in aspects_asked(plan.search.probes, sign)
        )
        missed = (Unread(condition.words or condition.label, why) for condition, why in unknown.items())
        searched = dict.fromkeys([*plan.search.texts, *plan.search.seeds])
        return cls(applied, aspects, (*plan.unread, *missed), tuple(searched))

    @property
    def rows(self) -> list[tuple[str, str]]:
        """For people: (name of a list beside its first item, an item); [] where no words held a request."""
        if not self.not_applied and not any(condition.words for condition in self.applied):
            return []
        applied = [*map(_in_words, alternatives(self.applied)), *self.aspects]
        missed = [
            f"“{u.words}”{f' ({u.why})' if u.why else ''}{f'; -c {quote(u.instead)}' if u.instead else ''}"
            for u in self.not_applied
        ]
        lists = (("applied", applied), ("not applied", missed), ("searched for", self.searched))
        return [
            (name if number == 0 else "", item)
            for name, items in lists
            for number, item in enumerate(dict.fromkeys(items))
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        applied = [
            {"request": c.label, "words": c.words, **({"by": c.by} if c.by else {})} for c in self.applied
        ]
        return {
            "applied": applied + [{"request": name, "words": ""} for name in self.aspects],
            "not_applied": [{"words": unread.words, "why": unread.why} for unread in self.not_applied],
            "searched": list(self.searched),
        }


def said_by(condition: Condition) -> str:
    """The words that a condition was read from, and who read it where that was not the rules."""
    return f"“{condition.words}”{f', read by {condition.by}' if condition.by else ''}"


def _in_words(group: Sequence[Condition]) -> str:
    """Alternatives as one request, with the words of the query."""
    words = dict.fromkeys(said_by(condition) for condition in group if condition.words)
    return " ".join((" or ".join(condition.label for condition in group), ", ".join(words))).rstrip()
