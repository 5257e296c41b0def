"""Open names: authors, venues, publishers, institutions, places, and sites that documents come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from aspectra.base.expressions import AnyOf, Expression
from aspectra.base.values import replace
from aspectra.search.instructions.recognisers.lexicon import fold, joined_lines, table


class Name(Struct, frozen=True):
    """A name that was read.

    Attributes:
        attribute: ``author``, ``venue``, ``publisher``, ``affiliation``, ``population`` (a place), ``cites``
            or ``source``.
        values: alternatives.
        sure: the words around it say what it is; otherwise it needs company that does.
        alone: it is written as a person is, behind *by* and words in lower case: *reading by Ong*.
    """

    attribute: str
    values: tuple[str, ...]
    sure: bool = True
    alone: bool = False


def _listed(names: str) -> list[str]:
    return sorted((" ".join(name.split()) for name in names.split("|")), key=len, reverse=True)


_LISTS = {kind: _listed(names) for kind, names in table("names")["names"].items()}
# Regular expressions; those for any of the names of a list, longer ones first, end in "_names".
_PATTERNS = joined_lines(
    "names", {f"{kind}_names": "|".join(map(re.escape, names)) for kind, names in _LISTS.items()}
)
_SPLIT = Expression(rf"[,/&、和与]|或者?|(?<=\s){_PATTERNS['ands']}(?=\s)")
_INVERTED = Expression(_PATTERNS["inverted"])  # "Smith, J." is "J. Smith"
_ET_AL = Expression(r"(?<!\s)\s++et\s++al\.?")
# "V. Moss", "van Dam"
_CERTAIN = Expression(rf"\bet\s+al\b|(?:^|\s){_PATTERNS['initials']}|\b{_PATTERNS['particle']}\s+[A-Z]")
_PERSONAL = Expression(r"(?:(?:[A-Z][a-z]{0,2})?[A-Z][a-zß-ÿ]+(?:[ '’-]|$)){1,3}")
_RUNNING = Expression(r"(?:^|\s)(?:[A-Z]+|[a-zß-ÿ]\w*)\s+$")  # no word of a title before it
_OWNED = Expression(r"^(?P<who>[\w-]+)['’]s\s+(?:[Ll]abs?|group|team)$")  # "Domen's group"
# "Taylor & Francis" is one
_KNOWN_PUBLISHER = Expression(rf"(?:{_PATTERNS['publisher_names']})(?!{_PATTERNS['on']})")
_PRESS = re.compile(r"\b(?:press|verlag|publish\w+|society|association|books|university|institute)\b", re.I)
_A_VENUE = Expression(_PATTERNS["common"])
_A_PLACE = Expression(rf"(?:the\s+)?(?:{_PATTERNS['place_names']})")
_QUOTED = Expression(r"[‘'“\"`「]([^’'”\"`」]+)[’'”\"`」]")
_PROPER = Expression(r"(?:^|\s)(?:[A-Z][\w’'-]*|[a-z]+-[a-z]+|[^\W\d]*+\d\w*+)(?=\s|$)")
_NO_NAME = Expression(_PATTERNS["no_name"])
_NO_AUTHOR = Expression(
    rf"{_NO_NAME.pattern}|\w(?![\w'’])(?!\.\s*[A-Z])|[\w-]*\d|(?:[a-z]\w*|\w+(?=ing\s))ing"
)
_OUR_WORDS = Expression(_PATTERNS["our_words"], re.IGNORECASE)
# "von", "par" and "por" are "of" as well, unless behind words for writings or at the beginning of a piece.
_BEFORE = 40  # characters
_OF = Expression(r"(?:von|par|por)\s")
_WRITTEN = Expression(_PATTERNS["written"], re.IGNORECASE)
_VENUE_LEAD = Expression(rf"(?:{_PATTERNS['shown']}\s+)?(?:in|at|from|by)\s+(?:the\s+)?")
_SAYS = Expression(_PATTERNS["shown"])
_JOINED = Expression(_PATTERNS["join"])
_TABLED = Expression(rf"(?:{_PATTERNS['one_venue']})(?!{_PATTERNS['on']})")
_VENUE_WORDS = Expression(r"[\w&'’.+-]{1,40}(?: [\w&'’.+-]{1,40}){0,7}")
_ACRONYM = Expression(r"[A-Z][a-z]*+[A-Z][A-Za-z]*+")
_TELLING = Expression(r"(?i)\b(?:journal|annals|transactions|proceedings|acta|bulletin|zeitschrift)\b")


@lru_cache(maxsize=4)
def library_venues(names: tuple[str, ...]) -> dict[str, str]:
    """Venues of a library that a text may name: acronyms and names of several words, by the folded name.

    One word in lower case may be an acronym or a word: a text means it by capitals alone, *ACML*. So are
    several words, unless one of them is said of venues alone: *Clinical Trials*, *annals of hives*.
    """
    return {fold(name): name for name in names if " " in name or name.islower() or _ACRONYM.fullmatch(name)}


def _writes(word: str, name: str, said: bool) -> bool:
    """True if words are written as the name of a venue, or ``said`` to be one: *at acml*, not *in water*."""
    if " " in word:
        return word[1:] != word[1:].lower() or bool(_TELLING.search(word))
    if name.islower():
        return sum(map(str.isupper, word)) > 1
    return word == name or (said and word.islower())


def _library_venue(text: str, at: int, known: Mapping[str, str], said: bool) -> int:
    """End of the longest venue of a library that begins at a place; ``at`` if none does."""
    if not (found := _VENUE_WORDS.match(text, at)):
        return at
    end = found.end()
    while end > at:
        words = text[at:end].rstrip(".")
        name = known.get(fold(words))
        if name and _writes(words, name, said):
            return at + len(words)
        end = text.rfind(" ", at, end)
    return at


def read_library_venue(text: str, at: int, known: Mapping[str, str]) -> tuple[int, Name] | None:
    """The venues of a library that are named from a place of a text on: *ACML*, *at ACML or ECCV*.

    Returns:
        Where they end, and what they are; None where none is named.
    """
    lead = _VENUE_LEAD.match(text, at)
    here = lead.end() if lead else at
    said = lead is not None and not lead.group().lower().startswith(("in ", "from ", "by "))
    last = at
    values: list[str] = []
    while True:
        tabled = _TABLED.match(text, here) if values else None
        end = tabled.end() if tabled else _library_venue(text, here, known, said)
        if end == here:
            break
        values.append(text[here:end])
        last = end
        if not (join := _JOINED.match(text, end)):
            break
        here = join.end()
    return (last, Name("venue", tuple(values))) if values else None


def is_place(words: str) -> bool:
    """True if words name a country, a continent or the like: *US*, *Europe*."""
    return bool(_A_PLACE.fullmatch(words))


def is_venue(words: str) -> bool:
    """True if words are the name of a venue in the lists: *Nature*, *ICML*."""
    return bool(_A_VENUE.fullmatch(words))


def is_publisher(words: str) -> bool:
    """True if words name a publisher in the lists, or certainly not a person: *Owl Press*, *CEPAL*."""
    return words.isupper() or bool(_KNOWN_PUBLISHER.fullmatch(words) or _PRESS.search(words))


def _several(names: str) -> tuple[str, ...]:
    names = _INVERTED.sub(r"\2 \1", _ET_AL.sub("", names))
    return tuple(name.strip() for name in _SPLIT.split(names) if name.strip())


def _place(match: re.Match[str], name: Name) -> Name | None:
    """The name in *from the XYZ project's handbook*; None where the words say a kind (*the user forum*)."""
    words, head = match["words"].strip(), match["head"]
    if quoted := _QUOTED.search(words):
        return Name("source", (quoted.group(1).strip(),))
    if not _PROPER.search(words) or _OUR_WORDS.search(words):
        return None
    if re.fullmatch(_PATTERNS["plain_head"], head):
        value = words + (match["more"] or "")
    else:
        value = f"{words} {head}{match['more'] or ''}"
        if match["own"]:
            value = f"{words} {head}"
    return Name("source", (value,)) if value[0] not in "'\"" else None


def _issued(match: re.Match[str], name: Name) -> Name:
    """A publisher, or where authors work; of *Domen's group*, the author."""
    names = tuple(_KNOWN_PUBLISHER.findall(match["names"])) or _several(match["names"])
    if owner := _OWNED.search(match["names"]):
        return Name("author", (owner["who"],))
    return Name(name.attribute, names, match.start("names") > match.start() or len(names) > 1)


def _author(match: re.Match[str], name: Name) -> Name | None:
    """Who is named behind *by*; None where it is no author."""
    text, at = match.string, match.start()
    before = text[max(0, at - _BEFORE) : at]
    of = (_OF.match(text, at) and not _WRITTEN.search(before)) or text.endswith("cited ", 0, at)
    if of or _NO_AUTHOR.match(match["people"]):  # "cited by Smith"
        return None
    running = text.startswith("by ", at) and _RUNNING.search(before)
    alone = bool(running) and all(_PERSONAL.fullmatch(n) and not is_place(n) for n in name.values)
    return Name("author", name.values, bool(match["said"] or _CERTAIN.search(match["people"])), alone)


def _appeared(match: re.Match[str], name: Name) -> Name | None:
    """A venue; no name at all where it is the place of the printer."""
    if is_place(name.values[0]):
        return Name("", ())
    return None if _NO_NAME.match(match["name"]) else name


def _written(match: re.Match[str], name: Name) -> Name:
    """Who wrote something, or published it."""
    issued = all(map(_KNOWN_PUBLISHER.fullmatch, name.values))
    return Name("publisher" if issued else "author", name.values)


_MAKERS: dict[str, Callable[[re.Match[str], Name], Name | None]] = {
    "place": _place,
    **dict.fromkeys(("publisher", "sited"), _issued),
    "affiliated": lambda match, name: replace(name, sure=bool(match["sure"] or match["authors"])),
    "common_venue": lambda match, name: replace(
        name, sure=bool(name.values[1:] or _SAYS.match(match.group()))
    ),
    "outside": lambda match, name: replace(name, values=tuple(f"!{one}" for one in match.groups() if one)),
    "appeared": _appeared,
    "author": _author,
    **dict.fromkeys(("wrote", "owner", "author_as", "writings"), _written),
}


@cache
def _part(within: str) -> Expression | AnyOf | None:
    """What every match of a form contains: a name of one or several lists, a capital letter, or nothing."""
    if within == "capital":
        return Expression(_PATTERNS["capital"])
    return AnyOf(chain(*(_LISTS[kind] for kind in within.split("+")))) if within != "-" else None


class _Form(NamedTuple):
    """A row of the forms in ``words/names.toml``."""

    expression: Expression
    attribute: str
    how: Sequence[str]

    @classmethod
    def of(cls, name: str, row: str) -> _Form:
        """The form of a row."""
        attribute, within, *how = row.split()
        return cls(Expression(_PATTERNS[name], part=_part(within)), attribute, how)

    def name(self, match: re.Match[str]) -> Name | None:
        """The name in a match; None where it begins as none does."""
        said = match[match.lastgroup] if match.lastgroup else match.group()
        if "checked" in self.how and _NO_NAME.match(said):
            return None
        values = _several(said) if "several" in self.how else (said.strip(),)
        return Name(self.attribute, values, "unsure" not in self.how)


_FORMS = {name: _Form.of(name, row) for name, row in table("names")["forms"].items()}


def read_name(text: str, at: int) -> tuple[int, Name] | None:
    """The name of an author, a venue or a place that begins at a place of a text.

    Returns:
        Where it ends, and what it is; None where none begins.

    >>> read_name("by Barbara Liskov, on abstraction", 0)
    (17, Name(attribute='author', values=('Barbara Liskov',), sure=False, alone=False))
    """
    for key, form in _FORMS.items():
        if (match := form.expression.match(text, at)) and (name := form.name(match)):
            made = _MAKERS[key](match, name) if key in _MAKERS else name
            if made:
                return (match.end(), made) if made.attribute else None
    return None
