"""Boolean search strings among questions, and operators of search boxes: told by their form.

A string has a field or an operator of a database, as in ``asthma*[tiab]``, ``adj3`` and ``TS=``; or it is
nothing but terms of a few words between AND, OR and NOT. A sentence, a title and a question have other words.
It is read into a condition on words. Operators stand beside plain words: ``owls -reviews author:Smith``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import starmap
from typing import NamedTuple

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.search.conditions.attributes.content.boolean import LONGEST_STRING, parse
from aspectra.search.conditions.condition import Condition, Relation
from aspectra.search.instructions.recognisers.lexicon import table
from aspectra.search.query import Query, Unread

_Reader = Callable[[str], tuple[Condition, ...]]
_MOST_WORDS = 4  # of a term without quotes
# What strings of one database alone have; the first that is found decides how the string is read.
_FORMS = {
    "pubmed": r"[\w*\")]\[(?i:tiab|ti|ab|tw|ot|mh|mesh|majr|title|title/abstract|mesh terms|text word)"
    r"(?::\S{1,9})?\]",
    "ovid": r"(?<=[\w*?$)\"/])\.(?:ti|ab|tw|mp|kw|kf|ot|hw|sh|af)(?:,\s?[a-z]{2})*\.(?!\w)"
    r"|[*$)\"]\.[a-z]{2}(?:,[a-z]{2})*(?=[\s)]|$)|\bexp\s+\*?[\"A-Z][^()/\n]{1,80}/(?=[a-z\s)]|$)"
    r"|[\w*?$)\"]\s+adj\d{1,2}\s+[\w*(\"]",
    "scopus": r"\bTITLE-ABS(?:-KEY)?\s*\(|\b(?:TITLE|ABS|KEY)\(.{1,200}\s(?:AND|OR)\s|\b(?:W|PRE)/\d+\s",
    "embase": r"'/(?:exp|de|mj)(?=[\s)]|$)|':(?:ti|ab|kw)\b|\bNEXT/\d+\s",
    # Cochrane has the operators of Web of Science.
    "wos": r"^[\s(]*(?:TS|TI|AB|AK|KP|ALL)\s*=\s*[\w(\"*]|\bNEAR/\d+\s"
    r"|[\w*\")]:(?:ti|ab|kw)(?:,[a-z]{2})*(?=[\s)]|$)",
}
_FORM = {database: re.compile(form) for database, form in _FORMS.items()}
_LINES = expression(r"[#S]?\d{1,2}(?:\s+(?i:and|or|not)\s+[#S]?\d{1,2})+|(?i:and|or)/\d[\d,-]+")
_NUMBERED = expression(r"^[ \t]*\d{1,3}[.): ].*\n[ \t]*\d{1,3}[.): ]", re.MULTILINE)
_QUOTED = expression(r"""(?:"[^"]*"|“[^”“]*”|(?<!\w)'[^']*'(?!\w))""")
_CUT = expression(r"(?<![\w*])[\w*]{3,80}[*$](?=[\s)]|$)|\b\w+\?\w+\b")
_MARKS = expression(r"([()]|(?<![^\s)])(?:AND NOT|AND|OR|NOT)(?![^\s(]))")
_MARKS_BESIDE_CUT = expression(r"([()]|(?<![^\s)])(?i:and not|and|or|not)(?![^\s(]))")
_SENTENCE = expression(
    r"[,;:!?.](?:\s|$)|\b(?i:an?|the|of|in|on|at|to|for|from|by|with|without|about|between|during|after|before|is|are"
    r"|was|were|be|that|which|who|what|how|why|does?|can|i|we|my|our|its?|as|into|than|if|and|or|not|no|only|any"
    r"|papers?|studies|since|please|find|show)\b"
)
_MARK = expression(r"[\"()\[\]*/=]|\b(?:AND|OR|NOT)\b")
_PROSE = expression(r"\b(?:the|The|is|are|[Ww]e|was|were|[Tt]his|that|which)\b(?!\*)")
_REST = expression(r"[,;]\s+(?![a-z]{2}[.,])")
# Parts of an unreadable string that are not words.
_NOISE = expression(
    r"\[[^\[\]]{0,80}\]|(?<=\S)\.[a-z]{2}(?:,[a-z]{2})*\.?(?=[\s)]|$)|\b[A-Z-]{2,}(?=[=(])"
    r"|\b(?i:and|or|not|exp|adj\d*|(?:near|pre|w)/\d+)\b"
)
_OPERATOR = expression(
    r"""(?<!\S)(?P<sign>-|(?:AND )?NOT )?(?:(?P<field>[A-Za-z]{2,14}):)?"""
    r"""(?P<value>"[^"\n]{1,120}"|“[^”\n]{1,120}”|[^\W_](?:[^\s"“”()]*[^\s"“”()-])?)(?!\S)"""
)
_LIKE = {"kind": ("status", "source", "format"), "status": ("kind",), "access": ("artifacts",)}
# What plain words end with in front of an operator: neither "β" nor "the option" nor "AND".
_PLAIN_END = expression(
    r"(?:^|(?<!\boption)(?<!\bflag)(?<!\bswitch)(?<!\bAND)(?<!\bOR)(?<!\bNOT)(?<=[^\W\d_]{2})[?.,;:]?"
    r"|[)\]*\"”])\s*$"
)
_WILD = expression(r"[*?#]|\$\d|(?<=[\u3040-\u9fff\uac00-\ud7af]) (?=[\u3040-\u9fff\uac00-\ud7af])")


def _database(text: str) -> str | None:
    """The database whose form a text has; "" for a string of none in particular, None for no string."""
    bare = _QUOTED.sub(" Q ", text)
    found = next((name for name, form in _FORM.items() if form.search(text)), "")
    if found and not _PROSE.search(bare):
        return found
    cut = _CUT.search(bare) is not None
    pieces = (_MARKS_BESIDE_CUT if cut else _MARKS).split(bare)
    terms, marks = [piece.strip() for piece in pieces[::2]], pieces[1::2]
    joints = zip(marks, terms, terms[1:], strict=False)
    beside = any((m == "(" and a) or (m == ")" and b) for m, a, b in joints)
    if beside or any(_SENTENCE.search(term) or len(term.split()) > _MOST_WORDS for term in terms):
        return "" if _LINES.fullmatch(text) else None
    clear = cut or bare != text or ("(" in marks and ")" in marks)
    if {*marks} <= {"(", ")"} or not (clear or ({"AND", "OR"} & {*marks} and not "".join(terms).isupper())):
        return None
    return ""


def read_string(query: Query) -> tuple[Query, tuple[Unread, ...]] | None:
    """A query whose text is a Boolean string, with its words as the text and a condition; None for any other.

    Requests behind the string and a comma go before the instruction. Of a string with a fault the words are
    searched for, and the fault is said with its place, as are parts that are not applied as in the database.

    Raises:
        UsageError: the string only says what papers must not have.
    """
    last = [one for one in operators(query.text) if one.last]
    last = [one for one in last if not query.text.startswith(("NOT ", "AND "), one.start)]
    if last and _database(query.text[: last[0].start].strip()) is not None:  # "(bees OR wasps) -reviews"
        beside = f"{query.text[last[0].start :]} {query.instruction}".strip()
        query = replace(query, text=query.text[: last[0].start].strip(), instruction=beside)
    rest = _REST.search(query.text, max((mark.end() for mark in _MARK.finditer(query.text)), default=0))
    string = query.text[: rest.start() if rest else None].strip()
    if len(string) > LONGEST_STRING or (database := _database(string)) is None:
        return None
    if rest:
        query = replace(query, instruction=f"{query.text[rest.end() :]} {query.instruction}".strip())
    try:
        if _NUMBERED.search(string):
            raise UsageError("numbered lines are not put together here: give the whole string as one line")
        node, left_out = parse(string, database)
        made = Condition("boolean", node.spelling, "require", words=string)
    except UsageError as error:
        why = f"{': '.join(filter(None, (error.what, error.why)))}; it is searched as words"
        words = " ".join(re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", _NOISE.sub(" ", string)))
        return replace(query, text=words or string), (Unread(string[:200], why),)
    words = " ".join(dict.fromkeys(" ".join(one.words) for one in node.wanted))
    if not words and not query.seeds:
        raise UsageError(
            "something to search for is missing",
            why=f"“{string[:200]}” only says what papers must not have",
            hint="name words that they must have, or search the words as they are with --literal",
        )
    query = replace(query, text=_WILD.sub("", words), conditions=(*query.conditions, made))
    return query, tuple(starmap(Unread, left_out.items()))


@cache
def _fields() -> dict[str, frozenset[str]]:
    """Fields of operators by the attribute that they are of."""
    return {name: frozenset(words.split()) for name, words in table("sets")["operators"].items()}


class Operator(NamedTuple):
    """An operator of a search box.

    Attributes:
        start, end: where it stands.
        field: in front of its colon, in lower case; "" of ``-reviews``.
        denied: whether papers shall not have the value.
        value: without quotation marks.
        last: whether a plain word ends in front of it, and none stands behind it.
    """

    start: int
    end: int
    field: str
    denied: bool
    value: str
    last: bool


def operators(text: str) -> list[Operator]:
    """The operators of a text, in order: ``-reviews``, ``NOT "book chapters"``, ``author:Smith``.

    What has a minus or NOT and no field counts where a clause begins or ends alone, since crawled titles
    have lost blanks behind their dashes: *PlaNet -Photo Geolocation*.

    >>> [(o.field, o.denied, o.value) for o in operators("barn owls author:Smith -reviews")]
    [('author', False, 'Smith'), ('', True, 'reviews')]
    """
    known = frozenset[str]().union(*_fields().values())
    found = [
        match
        for match in _OPERATOR.finditer(text)
        if (match["sign"] if not match["field"] else match["field"].lower() in known)
        and match["value"].lower() not in ("a", "an", "the")  # "open source:a survey"
    ]
    first, last, close = 0, len(text), len(text)
    for match in found:
        first = first if text[first : match.start()].strip() else match.end()
    closing = set[int]()  # where those begin that end a clause
    for match in reversed(found):
        last = last if text[match.end() : last].strip() else match.start()
        if match[0][-1] in ",;." or not text[match.end() : close].strip():
            closing.add(match.start())
            close = match.start()
    ends = bool(_PLAIN_END.search(text[:last]))
    return [
        Operator(
            *match.span(),
            (match["field"] or "").lower(),
            bool(match["sign"]),
            match["value"].strip('"“”,;.'),
            ends and match.start() >= last,
        )
        for match in found
        if match["field"] or match.end() <= first or match.start() in closing
    ]


def _asked(operator: Operator, words: str, read: _Reader) -> Condition | Unread | None:
    """Request of an operator of a search box; None if it may not be an operator.

    Raises:
        UsageError: the value means nothing for its field.
    """
    field, value = operator.field, operator.value
    relation: Relation = "exclude" if operator.denied else "require"
    attribute = next((name for name, fields in _fields().items() if field in fields), "")
    if attribute == "nothing":
        return Unread(words, f"{field}: tells nothing that a search here knows of papers")
    if attribute == "title":
        return Condition("boolean", f'"{value}"[ti]', relation, words)
    if attribute in ("since", "before"):
        return Condition("year", f"{'>=' if attribute == 'since' else '<'}{value}", relation, words)
    found = read(f"only {value}" if field else f"no {value}")
    known = [condition for condition in found if condition.attribute not in ("topic", "keyword")]
    if not field:
        if len(known) == 1 and known[0].relation in ("exclude", "avoid"):
            return replace(known[0], relation=relation, words=words)
        return Condition("keyword", value, relation, words) if operator.last else None
    if len(known) == 1 and known[0].attribute in (attribute, *_LIKE.get(attribute, ())):
        return replace(known[0], relation=relation, words=words)
    return Condition(attribute, value, relation, words)


def without_operators(
    text: str, read: _Reader, is_title: Callable[[str], bool]
) -> tuple[str, dict[int, Condition | Unread]]:
    """A text with blanks for operators of search boxes, and what those ask for by where they stand.

    Args:
        text: any text.
        read: reads what words beside a question ask for; nothing where a part of them is not read.
        is_title: whether a text has the capitals of a title: *Mobile Robots -Review*.
    """
    found = operators(text)
    if found and is_title(text):
        found = [operator for operator in found if operator.field]
    asked: dict[int, Condition | Unread] = {}
    for operator in found:
        words = text[operator.start : operator.end]
        try:
            meant = _asked(operator, words, read)
        except UsageError as error:
            meant = Unread(words, ": ".join(filter(None, (error.what, error.why))))
        if meant is not None:
            text = text[: operator.start] + " " * len(words) + text[operator.end :]
            asked[operator.start] = meant
    return text, asked
