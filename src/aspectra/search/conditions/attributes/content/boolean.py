"""Conditions on the words of title, abstract and keywords, as a Boolean string: ``boolean=(a OR b) AND c*``.

One grammar takes the forms of PubMed, Ovid, Web of Science and Scopus, which differ in wildcards, in what
binds tighter, and in what words side by side mean. In our spelling NOT binds tightest, then AND; ``*`` is
any letters, ``?`` one or none, ``#`` one, ``$2`` at most two; ``NEAR/3`` has at most three words between,
``PRE/3`` too, in order; ``[ti,ab,kw]`` are fields, by default the first two. Inflections are other words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import folded
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions

LONGEST_STRING = 20_000  # characters
_DEEPEST, _MOST_GROUPS, _WIDEST, _MOST_WILD = 50, 150, 255, 3  # _WIDEST: words between
_FIELDS = ("title", "abstract", "keywords")
_SHORT = dict(zip(_FIELDS, ("ti", "ab", "kw"), strict=True))
_HEADINGS = "mh mesh majr sh mesh-terms mesh-major-topic".split()
_CODES = {
    **dict.fromkeys("ti title".split(), _FIELDS[:1]),
    **dict.fromkeys("ab abs abstract".split(), _FIELDS[1:2]),
    **dict.fromkeys("tiab title/abstract tw text-word title-abs".split(), _FIELDS[:2]),
    **dict.fromkeys("kw kf hw ot ak kp key authkey other-term".split() + _HEADINGS, _FIELDS[2:]),
    **dict.fromkeys("mp af ts all all-fields title-abs-key".split(), _FIELDS),
}
# Database -> its wildcards in our spelling; how tightly its operators bind, from left to right if alike.
_WILDCARDS = {"pubmed": ("?#$", "   "), "scopus": ("?#$", "#  ")}
_WILDCARDS |= dict.fromkeys(("wos", "embase"), ("?#$", "# ?"))
_LEVEL, _NEAR = {"OR": 1, "AND": 2, "NOT": 3}, 4
_LEVELS = {
    "pubmed": dict.fromkeys(_LEVEL, 1),
    "ovid": {"OR": 1, "NOT": 2, "AND": 3},
    "scopus": {"NOT": 1, "AND": 2, "OR": 3},
}
_NARROWER = "looked for in keywords as it stands, without narrower headings and subheadings"
_NO_FIELD = "this is not searched: give a condition instead, such as -c 'require year=>=2020'"
_NO_LINES = "lines of another search are not known here: put in what they stand for"
_LETTER = r"[^\W_]"
_WILD = {"*": _LETTER + "{0,99}", "?": _LETTER + "?", "#": _LETTER}
_PIECE = expression(rf"(?:{_LETTER}|[*?#]|\$\d?)+")
_CJK = expression("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_BARE = expression(r"(?!(?:and|or|not|near|same|exp|s\d+|adj\d*)$|#)(?=[\d*?#$]*[^\W\d])[\w*?#$]+")
_SUFFIX = r"(?:\.[a-z]{2}|:(?:ti|ab|kw|de|au))(?:,\s?[a-z]{2})*(?:\.(?!\w)|(?=[\s)]|$))"
_HEADING = r"(?:(?!(?i:and|or|not|adj\d*)\b)[\w'’-]+(?:,?\ |(?=/))){1,9}"
_NAMES = r"(?:TITLE|ABS|KEY|ALL|AUTH\w*|AFFIL\w*|SRCTITLE|DOCTYPE|LANGUAGE|SUBJAREA|ISSN|DOI)"
_TOKEN = expression(
    rf"""(?P<tag>\[(?!mp=)[^\[\]]{{1,60}}\]|(?<=[\w*?$\#)'"”/]){_SUFFIX})
    |[\s,;:&]+|\[mp=[^\[\]]{{0,300}}\]|(?P<open>\()|(?P<close>\))
    |(?P<heading>(?i:exp\s+)?\*?(?:"[^"]*"|'[^']*'|{_HEADING})/(?:exp|[a-z]{{2}}(?:,\s?[a-z]{{2}})*)?(?=[\s)]|$)
        (?:\s\[[^\[\]]*\])?)
    |(?P<phrase>"[^"]*"|“[^”“]*”|(?<!\w)'[^']*'(?!\w)|\{{[^{{}}]*\}})
    |(?P<lines>(?i:and|or)/\d[\d,-]*|\#\d{{1,3}}(?![\w*])|\bS?\d{{1,2}}(?=\s+(?i:and|or|not)\b|\s*\)|\s*$))
    |(?P<other>PUBYEAR\s*(?:[<>=]+|AFT|BEF|IS)\s*\d+|(?:LIMIT-TO|EXCLUDE)\s*\([^()]*\))
    |(?P<prefix>[A-Z]{{2,3}}\s*=\s*|{_NAMES}(?:-(?:ABS|KEY|AUTH))*\s*(?=\())
    |(?P<op>(?:(?i:and\s+not|and|or|not|(?:o?near|next|pre|w)/\d+|adj\d*)|NEAR|NEXT|SAME)(?=[\s("“{{]|$))
    |(?P<word>(?:(?!{_SUFFIX})[^\s()\[\]{{}}"“”,;])+)|(?P<stray>.)|(?P<end>\Z)""",
    re.VERBOSE,
)


def _normal(text: str) -> str:
    """Text as it is matched: without case and accents, each Chinese character a word."""
    text = folded(text)
    return text if text.isascii() else _CJK.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))


def _pattern(word: str) -> str:
    few = re.sub(r"\\\$(\d)", lambda most: f"{_LETTER}{{0,{most[1]}}}", re.escape(word))
    return re.sub(r"\\([*?#])", lambda wild: _WILD[wild[1]], few)


class Node(Struct, frozen=True, dict=True):
    """Words in a row, or parts joined by AND, OR, NEAR/3, PRE/3 or NOT.

    NOT is the first part without the others, or what lacks the only one. ``fields`` is () until it is known.
    """

    sign: str = ""
    parts: tuple[Node, ...] = ()
    words: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def spelling(self) -> str:
        """With every bracket; read again, it gives an equal node."""
        if self.sign:
            parts = [f"({p.spelling})" if p.sign else p.spelling for p in self.parts]
            return f" {self.sign} ".join(parts if len(parts) > 1 else ["", *parts]).lstrip()
        text = " ".join(self.words)
        tag = "" if self.fields == _FIELDS[:2] else f"[{','.join(_SHORT[f] for f in self.fields)}]"
        return (text if _BARE.fullmatch(text) else f'"{text}"') + tag

    @property
    def wanted(self) -> list[Node]:
        """All words that are looked for, without those behind a NOT."""
        kept = self.parts[: len(self.parts) > 1] if self.sign == "NOT" else self.parts
        return [one for part in kept for one in part.wanted] if self.sign else [self]

    @cached_property
    def row(self) -> re.Pattern[str]:
        """Pattern of its words in a normal text."""
        words = r"[\W_]+".join(map(_pattern, self.words))
        return re.compile(f"(?<!{_LETTER}){words}(?!{_LETTER})")

    @cached_property
    def needle(self) -> str:
        """The longest piece that every match contains: looking for it first is three times as fast."""
        return max(re.split(r"[*?# ]|\$\d", " ".join(self.words)), key=len)

    def within(self, fields: tuple[str, ...]) -> Node:
        """The same, with words in these fields where they have none of their own."""
        if self.sign:
            return replace(self, parts=tuple(part.within(fields) for part in self.parts))
        return self if self.fields else replace(self, fields=fields)

    def matches(self, paper: Sequence[tuple[str, str]]) -> bool:
        """True if a paper matches it, given as (field, normal text) with one text per keyword."""
        if not self.sign:
            texts = (text for name, text in paper if name in self.fields and self.needle in text)
            return any(map(self.row.search, texts))
        first, *others = self.parts
        if self.sign == "NOT":
            return first.matches(paper) == bool(others) and not any(p.matches(paper) for p in others)
        if self.sign in _LEVEL:
            return (any if self.sign == "OR" else all)(part.matches(paper) for part in self.parts)
        return all(any(w.matches(paper) for w in part.wanted) for part in self.parts) and any(
            self._spans(name, re.findall(_LETTER + "+", text)) for name, text in paper
        )

    def _spans(self, name: str, words: list[str]) -> list[tuple[int, int]]:
        """(first, behind the last) of each place in the words of a field, in order."""
        if not self.sign:
            own, size = [re.compile(_pattern(word)) for word in self.words], len(self.words)
            places = range(len(words) - size + 1 if name in self.fields else 0)
            return [(a, a + size) for a in places if all(own[n].fullmatch(words[a + n]) for n in range(size))]
        spans = [part._spans(name, words) for part in self.parts]
        if self.sign == "OR":
            return sorted({one for part in spans for one in part})
        gap, found = int(self.sign.partition("/")[2]), set()
        for first, second in (spans, spans[::-1])[: 1 + self.sign.startswith("NEAR")]:
            starts = [start for start, _ in second]
            for start, end in first:
                close = second[bisect_left(starts, end) : bisect_right(starts, end + gap)]
                found |= {(start, last) for _, last in close}
        return sorted(found)


def parse(text: str, database: str = "") -> tuple[Node, dict[str, str]]:
    """Read a string into what papers must have; and its parts that are not applied as there, with the reason.

    >>> parse("exp Asthma/ or asthma$.ti. and (child* adj3 care)", "ovid")[0].spelling
    'asthma[kw] OR (asthma*[ti] AND (child* NEAR/2 care))'

    The database is ``pubmed``, ``ovid``, ``wos``, ``scopus``, ``embase``, or "" for our own spelling.

    Raises:
        UsageError: a bracket or quote is not closed, an operator lacks a side ... with the place.
    """
    reader = _Reader(text, database)
    node = reader.expression()
    if reader.token.lastgroup != "end":
        raise reader.error("the bracket at {} closes none", reader.token.start())
    if node is None:
        why = "; ".join(dict.fromkeys(reader.left_out.values()))
        raise UsageError("the Boolean string names no words that can be searched", why=why)
    return node.within(_FIELDS[:2]), reader.left_out


class _Reader:
    """Recursive descent over the tokens of a string, in time proportional to its length."""

    def __init__(self, text: str, database: str) -> None:
        self.text, self.database, self.levels = text, database, _LEVELS.get(database, _LEVEL)
        self.tokens = [found for found in _TOKEN.finditer(text) if found.lastgroup]
        self.at = self.depth = self.joined = 0
        self.left_out: dict[str, str] = {}

    @property
    def token(self) -> re.Match[str]:
        return self.tokens[self.at]

    def error(self, what: str, start: int) -> UsageError:
        near = " ".join(self.text[max(0, start - 15) : start + 15].split())
        return UsageError(f"{what.format(f'character {start + 1}')} of the Boolean string: “{near}”")

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][0]

    def leave_out(self, start: int, why: str) -> None:
        self.left_out[self.text[start : self.tokens[self.at - 1].end()].strip()] = why

    def expression(self, least: int = 1) -> Node | None:
        left = self.operand()
        while self.token.lastgroup not in ("end", "close"):
            start = self.token.start()
            sign = self.sign() if self.token.lastgroup == "op" else "AND"  # side by side
            if (level := self.levels.get(sign, _NEAR)) < least:
                break
            self.at += self.token.lastgroup == "op"
            left = self.join(sign, left, self.expression(level + 1), start)
        return left

    def sign(self) -> str:
        """The next operator, in our spelling."""
        said = self.tokens[self.at][0].upper()
        if said[:2] in ("AN", "OR", "NO"):
            return "NOT" if said.endswith("NOT") else said
        if said in ("ADJ", "NEXT"):
            return "PRE/0"
        gap = int(re.sub(r"\D", "", said)[:6] or 15)  # a bare NEAR
        if said.startswith("ADJ") or self.database == "embase":
            gap = max(gap, 1) - 1
        if said == "SAME" or gap > _WIDEST:
            what = f"{said} at {{}} is not known here, NEAR/{_WIDEST} is the widest"
            raise self.error(what, self.token.start())
        return f"{'PRE' if said.startswith(('PRE', 'ONEAR', 'NEXT')) else 'NEAR'}/{gap}"

    def join(self, sign: str, left: Node | None, right: Node | None, start: int) -> Node | None:
        near = "/" in sign
        if left is None or right is None:
            return None if near else Node("NOT", (right,)) if right and sign == "NOT" else left or right
        if near and {"AND", "NOT"} & {left.sign, right.sign}:
            raise self.error("beside the operator at {} words are not one phrase: quote them", start)
        if left.sign == sign and not near and len(left.parts) > 1:
            return replace(left, parts=(*left.parts, right))
        self.joined += 1
        if self.joined > _MOST_GROUPS:
            raise self.error(f"there are more than {_MOST_GROUPS} groups at {{}}", start)
        return Node(sign, (left, right))

    def operand(self) -> Node | None:
        kind, start = self.token.lastgroup, self.token.start()
        if kind in ("end", "close") or (kind == "op" and self.sign() != "NOT"):
            raise self.error("a term is missing before {}", start)
        said = self.take()
        if kind in ("op", "prefix") and self.token.lastgroup in ("op", kind):
            raise self.error("a term is missing before {}", self.token.start())
        if kind == "op":
            return self.join("NOT", None, self.operand(), start)
        if kind == "prefix":
            return self.in_fields(self.operand(), said.strip("= \n\t"), start)
        if kind in ("lines", "other"):
            self.leave_out(start, _NO_LINES if kind == "lines" else _NO_FIELD)
            return None
        if kind == "heading":
            name, _, below = said.partition(" [")[0].rpartition("/")
            if below or name.lower().startswith("exp"):
                self.leave_out(start, _NARROWER)
            return self.words([re.sub(r"(?i)^exp\s|[*]", "", name)], _FIELDS[2:])
        if kind == "open":
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.error(f"more than {_DEEPEST} brackets within each other at {{}}", start)
            node = self.expression()
            if self.token.lastgroup != "close":
                raise self.error("the bracket at {} is not closed", start)
            self.at, self.depth = self.at + 1, self.depth - 1
        elif kind in ("stray", "tag"):
            raise self.error("the sign at {} is not closed, or belongs to no term", start)
        else:
            found = [said]
            while kind == "word" and self.token.lastgroup in ("word", "lines"):
                found.append(self.take())
            phrase = self.token.lastgroup == "tag" or self.database == "ovid"
            node = self.words([" ".join(found)] if phrase else found)
        while self.token.lastgroup == "tag":
            node = self.in_fields(node, self.take().strip("[].:"), start)
        return node

    def words(self, said: list[str], fields: tuple[str, ...] = ()) -> Node | None:
        """Each text as a phrase; papers must have all."""
        node: Node | None = None
        wild = str.maketrans(*_WILDCARDS.get(self.database, ("", "")))
        for text in said:
            pieces = _PIECE.findall(_normal(text.translate(wild)))
            words = tuple(re.sub(r"\$(?!\d)", "*", word) for word in pieces if re.search(_LETTER, word))
            if any(len(re.findall(r"[*?#$]", word)) > _MOST_WILD for word in words):
                raise UsageError(f"“{text}” has more than {_MOST_WILD} wildcards in a word")
            node = self.join("AND", node, Node(words=words, fields=fields) if words else None, 0)
        return node

    def in_fields(self, node: Node | None, said: str, start: int) -> Node | None:
        """A node in the fields of some codes; None where none of them is searched here."""
        codes, _, how = said.lower().partition(":")
        names = [re.sub(r"[\s-]+", "-", code.strip()) for code in codes.split(",")]
        found = tuple(f for f in _FIELDS if any(f in _CODES.get(name, ()) for name in names))
        if not all(name in _CODES for name in names):
            self.leave_out(start, _NO_FIELD)
        elif names[0] in _HEADINGS and how != "noexp":
            self.leave_out(start, _NARROWER)
        if node is None or not found:
            return None
        if how.startswith("~"):
            if len(node.words) != 2 or not how[1:].isdecimal() or int(how[1:6]) > _WIDEST:
                raise self.error(f"near each other at {{}} are two words, at most {_WIDEST} apart", start)
            node = Node(f"NEAR/{how[1:]}", tuple(Node(words=(word,)) for word in node.words))
        return node.within(found)


class BooleanAttribute(Attribute):
    """A Boolean string over title, abstract and keywords."""

    name = "boolean"
    every = finds = True
    longest = 8 * LONGEST_STRING  # with every bracket and field
    noun = "text"

    def check(self, value: str) -> None:
        """Refuse a string that cannot be read, or has parts that cannot be searched here.

        Raises:
            UsageError: always then.
        """
        for part, why in parse(value)[1].items():
            raise UsageError(f"{part!r} cannot be part of a condition", why=why)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 or 0, NaN for a paper without title and abstract."""
        node, places, known = parse(value)[0], {index.ids[paper] for paper in papers}, {}
        columns = "id, title, abstract, json_extract(record, '$.metadata.keywords')"
        where = f"FROM papers WHERE {index.library.checksums.sound('papers')}"
        for paper, title, abstract, given in index.library.rows(f"SELECT {columns} {where}"):
            if paper in places:
                keywords = json.loads(given) if (given or "")[:1] == "[" else [given or ""]
                texts = [("title", title), ("abstract", abstract), *(("keywords", str(k)) for k in keywords)]
                held = node.matches([(name, _normal(text)) for name, text in texts])
                known[paper] = float(held) if title or abstract else np.nan
        return np.array([known.get(index.ids[paper], 0.0) for paper in papers], np.float32)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The first of its words, where folding changes no lengths."""
        for name, text in (("title", paper.title), ("abstract", paper.abstract)):
            plain = _normal(text)
            places = [one.row.search(plain) for one in parse(value)[0].wanted if name in one.fields]
            found = min((place.span() for place in places if place), default=None)
            if found and len(plain) == len(text):
                return TextSpan(name, *found)
        return None


ATTRIBUTES.register("boolean")(BooleanAttribute())


# Conditions on several values of one paper at once, as in ``kind=trial and population=children``.
#
# *No trials in children* denies what is both: neither trials nor papers on children.

_AND = re.compile(r"(?<!\s)\s++and\s++(?=\w{1,60}=)")
_MOST = 8  # values
_MEETS = 0.5  # of a condition, see there


def combined(pairs: Sequence[tuple[str, str]]) -> str:
    """The value that asks for several: (attribute, value) of each.

    >>> combined([("kind", "trial"), ("population", "children")])
    'kind=trial and population=children'
    """
    return " and ".join(f"{attribute}={value}" for attribute, value in pairs)


def split_up(value: str) -> list[str]:
    """Split a value of :func:`combined` into its parts: ``kind=trial`` and so on."""
    return _AND.split(value)


class CombinationAttribute(Attribute):
    """Two to eight values of one paper at once: ``kind=trial and population=children``."""

    name = "combination"
    cheap = False  # as its slowest part may be
    noun = "values"

    def check(self, value: str) -> None:
        """Refuse a value that does not name two to eight values.

        Raises:
            UsageError: it does not, or an attribute or a value is unknown.
        """
        parts = list(self._parts(value)) if "=" in value else []
        if not 1 < len(parts) <= _MOST or any(attribute is self for attribute, _ in parts):
            why = "write ATTRIBUTE=VALUE and ATTRIBUTE=VALUE, as in: kind=trial and population=children"
            raise UsageError(f"{value!r} names no two values, or more than {_MOST}", why=why)
        for attribute, held in parts:
            attribute.check(held)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) the lowest grade of any part; NaN where it is not known whether all are met."""
        table = np.stack([attribute.grades(held, index, papers) for attribute, held in self._parts(value)])
        lowest = np.fmin.reduce(table)
        unsure = np.isnan(table).any(axis=0) & (lowest >= _MEETS)
        return np.where(unsure, np.nan, lowest).astype(np.float32)

    def measure(self, value: str, index: Index) -> tuple[Any, ...]:
        """Measurements of each part."""
        return tuple(attribute.measure(held, index) for attribute, held in self._parts(value))

    def _parts(self, value: str) -> Iterator[tuple[Attribute, str]]:
        """The attributes of a value with what they measured, and what each should be."""
        for number, part in enumerate(split_up(value)):
            name, _, held = part.partition("=")
            attribute = ATTRIBUTES.get(name.strip())
            yield attribute.knowing(self.whole[number]) if self.whole else attribute, held.strip()

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """Each part bound."""
        return combined([(a.name, a.bound(held, seeds, index, lists)) for a, held in self._parts(value)])

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper: the first part of which nothing is."""
        every = np.arange(len(index))
        for attribute, held in self._parts(value):
            known = attribute.cheap and not np.isnan(attribute.grades(held, index, every)).all()
            if not known and len(index) and (why := attribute.missing(held, index)):
                return why
        return ""

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where a part is surely 0."""
        found = [attribute.possible(held, index) for attribute, held in self._parts(value)]
        known = [mask for mask in found if mask is not None]
        return np.asarray(np.logical_and.reduce(known)) if known else None

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """That of the first part that has one."""
        spans = (attribute.span(held, paper, index) for attribute, held in self._parts(value))
        return next((span for span in spans if span), None)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The reasons of its parts."""
        return ", ".join(filter(None, (a.reason(held, paper, index) for a, held in self._parts(value))))


ATTRIBUTES.register("combination")(CombinationAttribute())
