"""Boolean search strings among questions: told by their form, and read into a condition on words.

A string has a field or an operator of a database, as in ``asthma*[tiab]``, ``adj3`` and ``TS=``; or it is
nothing but terms of a few words between AND, OR and NOT. A sentence, a title and a question have other words.
"""

from __future__ import annotations

import re
from itertools import starmap

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.search.conditions.attributes.content.boolean import LONGEST_STRING, parse
from aspectra.search.conditions.condition import Condition
from aspectra.search.query import Query, Unread

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
# What is no word of a string that cannot be read.
_NOISE = expression(
    r"\[[^\[\]]{0,80}\]|(?<=\S)\.[a-z]{2}(?:,[a-z]{2})*\.?(?=[\s)]|$)|\b[A-Z-]{2,}(?=[=(])"
    r"|\b(?i:and|or|not|exp|adj\d*|(?:near|pre|w)/\d+)\b"
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
    beside = any(
        (m == "(" and a) or (m == ")" and b) for m, a, b in zip(marks, terms, terms[1:], strict=False)
    )
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
