"""Open names: authors, venues, and sites or projects that documents come from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aspectra.search.instructions.grammar.lexicon import joined_lines, table

__all__ = ["Name", "read_name"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name that was read.

    Attributes:
        attribute: ``author``, ``venue`` or ``source``.
        values: alternatives.
        sure: the words around it say what it is; otherwise it needs company that does.
    """

    attribute: str
    values: tuple[str, ...]
    sure: bool = True


def _either(names: str) -> str:
    """A regular expression for any of the names, longer ones first."""
    known = sorted((" ".join(name.split()) for name in names.split("|")), key=len, reverse=True)
    return "|".join(map(re.escape, known))


_NAMES = {kind: _either(names) for kind, names in table("names")["names"].items()}
_PATTERNS = joined_lines("names")
_CAP = r"[^\W\d_a-zß-öø-ÿ\u3400-\u9fff][\w’'&-]{0,60}(?:\.\w{1,60}){0,8}"
_INITIALS = r"(?:[A-Z]\.\s?)+"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|af|zu|y)\b"
_PART = rf"(?:{_PARTICLE}\s+)*(?:{_INITIALS}\s*)?{_CAP}"
_PERSON = rf"(?:{_PART}(?:\s+{_PART}){{0,4}}(?:\s+et\s+al\.?)?)"
_AUTHOR = re.compile(
    rf"(?:(?:co-?)?(?:written|authored|penned)\s+by|by|from\s+the\s+pen\s+of|authors?:|author\s+is|von)\s+"
    rf"(?:(?:Prof|Dr|Professor|Sir|Dame)\.?\s+)?(?P<people>{_PERSON})(?:\s*(?:,|and|or|&|und"
    rf"|oder)\s*(?P<second>{_PERSON}))?"
)
_WROTE = re.compile(
    rf"[Ww]hat\s+(?:did|has|have|does|do)\s+(?P<people>{_PERSON})\s+(?:write|written|say|said"
    rf"|published?|think|find|found)\b"
)
_OWNER = re.compile(
    rf"(?P<people>{_CAP}(?:\s+{_CAP})?)['’]s?\s+(?:papers?|work|articles?|writings?|publications?"
    rf"|own\s+papers?|own\s+work)\b"
)
_AUTHOR_AS = re.compile(
    rf"(?:with\s+)?(?P<people>{_CAP}(?:\s+{_CAP}){{0,2}})\s+(?:as\s+(?:an?\s+|the\s+|first\s+|last"
    rf"\s+|lead\s+|co-?)*author|(?:is|as)\s+(?:an?\s+|the\s+|first\s+)*author|among\s+the\s+authors"
    rf"|wrote|(?:co-?)?authored)\b"
)
_RUN = (
    rf"(?:The\s+|the\s+)?{_CAP}(?:\s+(?:(?:of|on|in|and|for|the|&|de|der|für)\s+"
    rf"(?:the\s+)?(?={_CAP}))*{_CAP})*"
)
_APPEARED = re.compile(
    rf"(?:published|appear(?:ed|ing|s)?|presented|printed|accepted|came\s+out|come\s+out|featured"
    rf"|erschienen|venue:?|journal:|conference:|proceedings\s+of)\s++(?:only\s++)?(?:in|at|by"
    rf"|on)?\s*+(?:the\s+(?![Ll]ancet)(?:journal\s+|conference\s+|proceedings\s+of\s+(?:the"
    rf"\s+)?)?)?(?P<name>{_RUN})"
)
_VENUE_WORD = _PATTERNS["venue_word"]
_IN_VENUE = re.compile(
    rf"(?:(?:in|at|from|by|bei|the)\s+)+(?P<name>(?={_RUN})(?:(?!\bin\b)[^,.;:!?\n])*?\b"
    rf"(?:{_VENUE_WORD})\b(?:\s+(?:(?:of|on|in|and|for|the|&)\s+)*{_CAP})*)"
)
_ACRONYM_AT = re.compile(r"at\s+(?P<name>(?:IEEE\s+|ACM\s+)?[A-Z]{3,}[A-Z+-]*)(?![\w-])(?!\s+[a-z]{3,}ing\b)")
_KNOWN_VENUE = re.compile(
    rf"(?:(?:in|at|from|by|of)\s+(?:the\s+)?)?(?:(?P<proc>(?:proceedings\s+of\s+)?)(?P<name>"
    rf"(?:IEEE\s+|ACM\s+)?(?:{_NAMES['venue']}))(?:['’]\d\d)?)(?![\w-])"
)
_COMMON_VENUE = re.compile(rf"(?:in|from|by)\s+(?P<name>{_NAMES['common']})(?![\w-])(?!\s+[A-Z])")
_SITE = re.compile(
    rf"(?:(?:from|on|in|at|by|of|aus|von)\s+)?(?:the\s+(?=[A-Z]))?(?P<name>{_NAMES['site']})(?![\w-])",
    re.ASCII,
)
# What a name may end in; the plain ones are no part of it.
_PLAIN_HEAD = _PATTERNS["plain_head"]
_HEAD = _PLAIN_HEAD + _PATTERNS["more_heads"]
_PLACE = re.compile(
    rf"(?:(?:taken|drawn|come|comes|coming|came|sourced|originating|stemming)\s++)?(?:from|on|out"
    rf"\s++of|aus)\s++(?:the|an?|our|their|dem|der)\s++(?P<full>(?P<words>[^,.;:!?()\n]{{1,60}}?)"
    rf"\s{{1,20}}+(?P<head>{_HEAD})\b(?![-])(?P<own>['’]s\s+[\w-]+)?(?P<more>\s*\([^()\n]{{1,40}}\))?)"
)
_FROM = re.compile(rf"(?:from|aus)\s+(?P<name>{_RUN})(?=\s*(?:$|[,.;:!?()—–]|\s))")
_QUOTED = re.compile(r"[‘'“\"`「]([^’'”\"`」]+)[’'”\"`」]")
_PROPER = re.compile(r"(?:^|\s)(?:[A-Z][\w’'-]*|[a-z]+-[a-z]+|[^\W\d]*+\d\w*+)(?=\s|$)")
_NO_NAME = re.compile(_PATTERNS["no_name"])
_NO_AUTHOR = re.compile(rf"{_NO_NAME.pattern}|\w+ing$")
_OUR_WORDS = re.compile(_PATTERNS["our_words"], re.IGNORECASE)


def _place(match: re.Match[str]) -> Name | None:
    """The name in *from the XYZ project's handbook*; None where the words say a kind (*the user forum*)."""
    words, head = match["words"].strip(), match["head"]
    if quoted := _QUOTED.search(words):
        return Name("source", (quoted.group(1).strip(),))
    if not _PROPER.search(words) or _OUR_WORDS.search(words):
        return None
    if re.fullmatch(_PLAIN_HEAD, head):
        value = words + (match["more"] or "")
    else:
        value = f"{words} {head}{match['more'] or ''}"
        if match["own"]:
            value = f"{words} {head}"
    return Name("source", (value,)) if value[0] not in "'\"" else None


def read_name(text: str, at: int) -> tuple[int, Name] | None:
    """The name of an author, a venue or a place that begins at a place of a text.

    Returns:
        Where it ends, and what it is; None where none begins.

    >>> read_name("by Barbara Liskov, on abstraction", 0)
    (17, Name(attribute='author', values=('Barbara Liskov',), sure=False))
    """
    if (match := _PLACE.match(text, at)) and (name := _place(match)):
        return match.end(), name
    if match := _SITE.match(text, at):
        return match.end(), Name("source", (match["name"],))
    if (match := _APPEARED.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end("name"), Name("venue", (match["name"].strip(),))
    if match := _KNOWN_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"],))
    if match := _IN_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"].strip(),))
    if match := _COMMON_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"],), sure=False)
    if (match := _AUTHOR.match(text, at)) and not _NO_AUTHOR.match(match["people"]):
        people = tuple(match[group].strip() for group in ("people", "second") if match[group])
        return match.end(), Name("author", people, match.group().startswith(("authored", "author", "from")))
    for pattern in (_WROTE, _OWNER, _AUTHOR_AS):
        if (match := pattern.match(text, at)) and not _NO_NAME.match(match["people"]):
            return match.end(), Name("author", (match["people"].strip(),))
    if match := _ACRONYM_AT.match(text, at):
        return match.end(), Name("venue", (match["name"],), sure=False)
    if (match := _FROM.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end(), Name("source", (match["name"].strip(),), sure=False)
    return None
