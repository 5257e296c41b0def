"""Lexicons: phrases and what they say, found longest first; tokens of a text; typing errors.

A lexicon is written as text, one line per sense: ``CATEGORY VALUE = phrase | phrase | ...``. In a phrase,
``(x)`` may be missing and ``{a,b}`` is a choice: ``blog( post)(s)`` stands for four phrases. The lists are in
``words``, in sections ``[grammar]`` and ``[context]``; those of values are with their attributes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, product
from typing import Any, NamedTuple

from msgspec import Struct

from aspectra.base.expressions import HAN, Expression

# Tokens of an instruction, with exact offsets into its text.

# Kinds of delimiters, from the loosest tie between their sides to the closest.
DELIMITERS = ("stop", "semicolon", "colon", "dash", "bracket", "comma")

_QUOTED = (
    r"“[^”\n]{1,120}”|„[^“”\n]{1,120}[“”]|\"[^\"\n]{1,120}\"|«[^»\n]{1,120}»|「[^」\n]{1,120}」|『[^』\n]{1,120}』"
    r"|《[^》\n]{1,120}》|‘[^’\n]{1,120}’(?!\w)|`[^`\n]{1,120}`|(?<![\w'’])'(?=[^\s'])[^'\n]{1,120}?(?<=[^\s'])'(?!\w)"
)
# A full stop without a blank behind it ends a sentence before a word that begins a request: "weight.Please".
_BEGINS = (
    "Please|I|Avoid|Exclude|Only|No|Nothing|Not|Don|Do|Prefer|Give|Show|Find|Use|Provide|Include|Limit|Make"
)
_WITHIN = rf"(?:['’&+_]|(?<![a-z]{{3}})\.|\.(?!(?:{_BEGINS})[\s'’]))"
_KINDS = {
    "quote": _QUOTED,
    "option": r"(?<![\w-])--?[^\W\d_][\w-]*",
    "number": r"\d{1,3}(?:,\d{3})+(?![\w])|\d+(?![^\W\d_\u3400-\u9fff]|_)",
    "han": rf"[{HAN}]+",
    "elision": r"(?:[dlnsjcmDLNSJCM]|[Qq]u)['’](?=[^\W\d_]|$)",
    "word": rf"[^\W_\u3400-\u9fff]+(?:{_WITHIN}(?=[^\W_\u3400-\u9fff])[^\W_\u3400-\u9fff]+)*(?:[+#]+(?!\w))?",
    "stop": r"[.!?…。！？]+|\n\s*",
    "semicolon": r"[;；]|(?<=\s)\|(?=\s)",
    "colon": r"[:：]",
    "dash": r"(?<=\s)[-–—]+(?=\s)|—",
    "bracket": r"[()\[\]（）【】]",
    "comma": r"[,，、]",
    "hyphen": r"[-‐‑–]",
    "mark": r"[^\s]",
}
_TOKEN = Expression("|".join(f"(?P<{name}>{pattern})" for name, pattern in _KINDS.items()))


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: a name in ``_KINDS`` (but ``hyphen``, which only ties its neighbours).
        start, end: where it stands in the text.
        low: its text in lower case.
        tied: whether a hyphen, and no white space, stands before it.
    """

    kind: str
    start: int
    end: int
    low: str
    tied: bool = False


def fold(text: str) -> str:
    """Lower case with plain apostrophes and spaces, every character still at its place.

    >>> fold("Don’t")
    "don't"
    """
    folded = text.lower()
    if len(folded) != len(text):  # some letters grow: İ
        folded = "".join(new if len(new := c.lower()) == 1 else c for c in text)
    return folded.replace("’", "'").replace("\u00a0", " ")


def tokenise(text: str, han: re.Pattern[str] | None = None) -> list[Token]:
    """Cut a text.

    Args:
        text: any text.
        han: a group of words at which runs of Han characters are cut; None: a run is one token.

    >>> [t.low for t in tokenise("Non-English, please.")]
    ['non', 'english', ',', 'please', '.']
    """
    low = fold(text)
    out: list[Token] = []
    tie = -1
    for match in _TOKEN.finditer(text):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "hyphen":
            tie = end if start > 0 and not text[start - 1].isspace() else -1
            continue
        if kind == "han":
            for word in filter(None, han.split(match.group()) if han else [match.group()]):
                out.append(Token("word", start, start + len(word), word))
                start += len(word)
        else:
            kind = "word" if kind == "elision" else kind
            out.append(Token(kind, start, end, low[start:end], tied=tie == start))
    return out


_SECTION = re.compile(r"^\[(\w+)\]$", re.MULTILINE)
_NAMED = re.compile(r"\{([a-z_]+)\}")  # an expression in another
_CHOICE = re.compile(r"\(([^()]*)\)|\{([^{}]*)\}")
# Three and more words that may follow, one behind the other, are a choice: one of them, or none.
_MAYBE_RUN = re.compile(r"(?:\( [^()]*\)){3,}")
# Words that are cut into tokens at spaces and hyphens alone; d', qu' and the like are words of their own.
_PLAIN_WORD = r"(?:(?!(?:[cdjlmns]|qu)')[a-z]++(?:'[a-z]++)*+|\d++(?![a-z]))"
_PLAIN = re.compile(rf"{_PLAIN_WORD}(?:[ -]{_PLAIN_WORD})*+")


def _text(name: str) -> str:
    return (resources.files("aspectra.search.instructions") / "words" / name).read_text("utf-8")


def sections(language: str) -> dict[str, str]:
    """The lists of a language in ``words``: section -> its text.

    Args:
        language: ``en``, ``de``, ``zh``, ``fr`` or ``es``.
    """
    parts = _SECTION.split(_text(f"{language}.txt"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@cache
def table(name: str) -> dict[str, dict[str, str]]:
    """The tables of ``words/NAME.toml``."""
    found: dict[str, dict[str, str]] = tomllib.loads(_text(f"{name}.toml"))
    return found


def word_sets(module: str) -> dict[str, frozenset[str]]:
    """The sets of words of one module and those that several name, from ``words/sets.toml``."""
    tables = table("sets")
    return {
        name: frozenset(w.replace("_", " ") for w in words.split())
        for name, words in (tables["shared"] | tables[module]).items()
    }


def joined_lines(name: str, known: Mapping[str, str] = {}) -> dict[str, str]:
    """The regular expressions of ``words/NAME.toml``, each on one line.

    Args:
        name: of the file.
        known: more expressions, which others name in braces as they name those before them.
    """
    found = dict(known)
    for key, text in table(name)["patterns"].items():
        found[key] = _NAMED.sub(lambda one: found[one[1]], "".join(text.splitlines()))
    return found


def expand(pattern: str) -> list[str]:
    """All phrases that a pattern matches; blanks may stand twice, or at an end.

    >>> expand("blog( post)(s)")
    ['blog posts', 'blog post', 'blogs', 'blog']
    """
    if ")( " in pattern:
        pattern = _MAYBE_RUN.sub(lambda run: "{" + run.group()[1:-1].replace(")(", ",") + ",}", pattern)
    first, *others = _CHOICE.split(pattern)
    if not others:
        return [first]
    options = [[first]]
    for maybe, choice, text in zip(others[::3], others[1::3], others[2::3], strict=True):
        options.append([option + text for option in ([maybe, ""] if choice is None else choice.split(","))])
    found = list(map("".join, product(*options)))
    if pattern.count("(") + pattern.count("{") >= len(options):  # choices within choices
        return [phrase for one in found for phrase in expand(one)]
    return found


class Entry(Struct, frozen=True):
    """The meaning of a phrase.

    Attributes:
        category: one of those in :mod:`~aspectra.search.instructions.marks`.
        value: of an attribute, or a finer kind of the category, or "".
        marks: further properties, as the word lists give them after a colon.
    """

    category: str
    value: str = ""
    marks: frozenset[str] = frozenset()


class Mark(Struct, frozen=True):
    """A phrase of the text with its meaning.

    Attributes:
        cat: ``value``, ``bound``, ``name``, ``term`` and ``aspect`` carry requests; ``neg``, ``hard``,
            ``soft``, ``wish``, ``perm`` and ``except`` say how they are meant; ``fix`` corrects; ``cue`` says
            what free words are about; ``taste`` and ``demand`` are what no paper decides; ``open`` asks,
            ``label`` and ``lead`` lead to the subject, ``doc`` names what is searched, ``func`` and
            ``polite`` say nothing by themselves; ``word`` is any other word, ``quote`` quoted text; and the
            delimiters.
        start, end: where it stands in the text.
        low: its words in lower case.
        sub: the finer kind of its category.
        flags: as the word lists give them after a colon.
        attribute, values: what is requested, all of them.
        opposite: what a denied bound leaves, or "".
        sure: False where the words need company to be a request.
        tied: whether a hyphen ties it to the mark before.
    """

    cat: str
    start: int
    end: int
    low: str
    sub: str = ""
    flags: frozenset[str] = frozenset()
    attribute: str = ""
    values: tuple[str, ...] = ()
    opposite: str = ""
    sure: bool = True
    tied: bool = False

    @property
    def carries(self) -> bool:
        """True if it says what papers should be like."""
        return bool(self.attribute)

    @property
    def free(self) -> bool:
        """True if it is a word that no table has."""
        return self.cat in ("word", "quote", "change")


# A node of the trie: word -> node, and under "" the entry of the phrase that ends there. Dictionaries alone:
# there are 20,000, and making an object for each took half of the time.
_Node = dict[str, Any]


def _words_of(phrase: str) -> Sequence[str]:
    """The tokens of a phrase, in lower case; by the tokeniser where blanks and hyphens do not tell them."""
    words = phrase.lower().split()
    if phrase.isascii():
        if all(map(str.isalpha, words)):
            return words
        if _PLAIN.fullmatch(low := " ".join(words)):
            return low.replace("-", " ").split()
    return [token.low for token in tokenise(" ".join(phrase.split()))]


class Lexicon:
    """Phrases in a trie of their words."""

    def __init__(self) -> None:
        self._root: _Node = {}
        self.words: set[str] = set()

    def add(self, phrase: str, entry: Entry) -> None:
        """Add a phrase; the first one added stays."""
        words = _words_of(phrase)
        self.words.update(words)
        node = self._root
        for word in words:
            after = node.get(word)
            if after is None:
                after = node[word] = {}
            node = after
        if words:
            node.setdefault("", entry)

    def knows(self, word: str, *others: Lexicon) -> bool:
        """True if a word is in a phrase of this or another lexicon."""
        return any(word in lexicon.words for lexicon in (self, *others))

    def phrases(self) -> Iterator[tuple[str, Entry]]:
        """All phrases."""
        nodes: list[tuple[str, _Node]] = [("", self._root)]
        while nodes:
            phrase, node = nodes.pop()
            if "" in node:
                yield phrase.strip(), node[""]
            nodes += [(f"{phrase} {word}", after) for word, after in node.items() if word]

    def read(self, source: str) -> None:
        """Add a lexicon written as text; a line that begins with white space continues the one before."""
        lines = "\n".join(line for line in source.splitlines() if not line.startswith("#"))
        for line in filter(str.strip, re.sub(r"\n[ \t]+", " ", lines).splitlines()):
            head, _, phrases = line.partition(" = ")
            head, _, marks = head.partition(":")
            category, _, value = head.strip().partition(" ")
            entry = Entry(category, value.strip(), frozenset(marks.split()))
            for phrase in chain.from_iterable(map(expand, phrases.split("|"))):
                self.add(phrase, entry)

    def matches(self, tokens: Sequence[Token], at: int) -> Iterator[tuple[int, Entry]]:
        """(number of tokens, entry) of the phrases that begin at a token, the longest first.

        A phrase neither begins nor ends inside a hyphenated word, but for prefixes such as *non-*.
        """
        node: _Node | None = self._root
        found: list[tuple[int, Entry]] = []
        for number in range(1, len(tokens) - at + 1):
            token = tokens[at + number - 1]
            node = node.get(token.low) if node is not None else None
            if node is None:
                break
            entry = node.get("")
            if entry is None or ("tied" in entry.marks and not token.tied):
                continue
            inside = at + number < len(tokens) and tokens[at + number].tied
            if not inside or "prefix" in entry.marks:
                found.append((number, entry))
        return reversed(found)


# Typing errors in the words that matter: one letter missing, doubled, wrong, or two exchanged.

# Words that are corrected to, and real words that are one letter away from one of them.
_SETS = word_sets("spelling")
_SHORTEST = 5
_SHORTEST_WRONG = 6  # a wrong letter changes more than a missing or exchanged one


def _near(said: str, word: str) -> bool:
    shorter = min(len(said), len(word))
    at = next((n for n in range(shorter) if said[n] != word[n]), shorter)
    a, b = said[at:], word[at:]
    wrong = a[1:] == b[1:] and len(word) >= _SHORTEST_WRONG
    return wrong or a[1:] == b or a == b[1:] or (a[1::-1] == b[:2] and a[2:] == b[2:])


@lru_cache(4096)
def _guess(said: str) -> str:
    alike = [w for w in _SETS["words"] if w[0] == said[0] and abs(len(w) - len(said)) <= 1]
    found = [word for word in alike if len(word) >= _SHORTEST and word != said and _near(said, word)]
    return found[0] if len(found) == 1 else said


def corrected(low: str) -> str:
    """The word that an unknown word in lower case was meant to be, or the same.

    >>> corrected("contian"), corrected("germany")
    ('contain', 'germany')
    """
    if not (_SHORTEST - 1 <= len(low) <= 20 and low.isascii() and low.isalpha()) or low in _SETS["real"]:
        return low
    return _guess(low)
