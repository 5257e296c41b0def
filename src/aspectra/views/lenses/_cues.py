"""Lenses that grade by cues: phrases and patterns that count for or against a label.

A label's log-odds are a bias plus the sum over its cues of ``weight * min(occurrences, most)``: one mannerism
repeated all over a long text cannot decide alone. Its grade is ``1 / (1 + exp(-log-odds))``. Cues are data:
``data/NAME.toml`` has one table per cue under its label, see :func:`cue`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.base.values import Remembered
from aspectra.papers.paper import Paper
from aspectra.views.lenses._lead import STEM, LeadText, lead_text
from aspectra.views.lenses.protocol import Features, LensKind, TextSpan, load_data, logistic
from aspectra.views.view import Floats

_NOT_BORDER = expression(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\s]")
_BRACES = expression(r"\{([^{}]*+)\}")
_GAP = expression(r" (\.\.|~) ")
_REACH = 90  # characters of the same sentence in which the end of a phrase with a gap begins

# Where a sentence or a part of one ends; a full stop inside a number or a name does not.
_STOP = expression(r"[.;!?\n](?=\s|$)")
_PART = expression(r"[,:()]|[.;!?\n](?=\s|$)")
# Words shortly before a cue that make it another work's, or none at all; words behind it that do.
_BEFORE, _AFTER = 40, 40  # characters
_OTHERS = expression(
    r"\b(?:unlike|previous(?:ly)?|prior|existing|earlier|other|others|published|recent|past|several|many|most|"
    r"numerous|few|future|further|larger|large-scale|no|not|without|lack|absence|need|needed|instead|rather|"
    r"against|beyond|according to|based on)\b"
)
_WANTED = expression(
    r"\b(?:needed|warranted|required|necessary|lacking|scarce|rare|desirable|should be|showed that|"
    r"were included|ha(?:ve|s) (?:shown|been|demonstrated|suggested|reported|found|indicated|failed))\b"
)
# Words behind which the object of a verb is over.
_OVER = expression(
    r" (?:that|which|for|in the|on|using|via|with|by|from|where|whose|to|achiev\w{1,5}|outperform\w{0,3}) "
)
# "A cohort study reported" is about that study.
_ONE = expression(r"\b(?:an?|one|another)\s(?:\w{1,20}\s){0,2}$")
_TELLS = expression(r"(?:\s\w{1,20})?\s(?:reported|demonstrated|suggested|found|showed|shows|reveals|by)\b")

Where = Literal["anywhere", "title", "start", "line"]


class CuePhrase(NamedTuple):
    """A phrase as looked up in :attr:`LeadText.plain`.

    Attributes:
        text: in lower case, a space at each end that is a border of words.
        tails: where not empty, one of these begins behind it, in the same sentence and near.
        noun: no word that ends the object of a verb stands before the tail.
    """

    text: str
    tails: tuple[str, ...] = ()
    noun: bool = False


class Cue(Struct, frozen=True):
    """Phrases and a pattern that count for (or, with a negative weight, against) a label.

    Attributes:
        weight: added to the log-odds per occurrence.
        most: occurrences that count.
        keys: a word, or two in a row -> the phrases that begin with it; those of one word have that as key.
        open: phrases without a word of their own: beginnings of words, and those of scripts without spaces.
        pattern: looked up in :attr:`LeadText.text`, or None.
        needs: the pattern is tried only where one of these is in the text, or in the title where only that is
            read; () for always.
        where: ``title`` restricts phrases and pattern to the title; ``start`` matches the pattern where the
            lead begins only, ``line`` at the beginnings of lines only.
        own: places where the words nearby speak of other works, or of none, do not count.
    """

    weight: float
    most: int
    keys: Mapping[str, tuple[CuePhrase, ...]]
    open: tuple[CuePhrase, ...]
    pattern: re.Pattern[str] | None
    needs: tuple[str, ...]
    where: Where
    own: bool

    def places(self, lead: LeadText) -> list[tuple[int, int]]:
        """(start, end) in ``lead.text`` of the first :attr:`most` occurrences found."""
        out: list[tuple[int, int]] = []
        there = [
            phrases for key, phrases in self.keys.items() if all(word in lead.tokens for word in key.split())
        ]
        for phrase in itertools.chain(self.open, *there):
            out += self.found(phrase, lead, self.most - len(out), occurrences(lead.plain, phrase.text))
        return out + self.matches(lead, self.most - len(out), self.needs)

    def found(
        self, phrase: CuePhrase, lead: LeadText, most: int, places: Sequence[int]
    ) -> list[tuple[int, int]]:
        """(start, end) in ``lead.text`` of the first ``most`` occurrences of a phrase.

        Args:
            phrase: of the cue.
            lead: the text.
            most: see above.
            places: where ``phrase.text`` is in ``lead.plain``.
        """
        text = phrase.text
        left, right = text[0] == " ", text[-1] == " "
        last = (len(lead.title) + 2 if self.where == "title" else len(lead.plain)) - len(text)
        out: list[tuple[int, int]] = []
        for at in places:
            if at > last or len(out) >= most:
                break
            start = at - 1 + left  # ``plain`` begins with a space of its own
            end: int | None = start + len(text) - left - right
            if phrase.tails:
                end = _tail(phrase, lead, at + len(text) - right)
            if end is not None and not (self.own and _of_others(lead, start, end)):
                out.append((start, end))
        return out

    def matches(self, lead: LeadText, most: int, needs: Collection[str]) -> list[tuple[int, int]]:
        """(start, end) in ``lead.text`` of the first ``most`` matches, where one of ``needs`` is in it."""
        text, shift = lead.text, len(lead.title) + 1
        if (
            self.pattern is None
            or most <= 0
            or not _holds(lead.title if self.where == "title" else text, needs)
        ):
            return []
        if self.where == "start":
            found: Iterable[re.Match[str]] = filter(None, [self.pattern.match(text, shift)])
        elif self.where == "line":
            found = _line_matches(self.pattern, text)
        else:
            found = self.pattern.finditer(text, 0, shift - 1 if self.where == "title" else len(text))
        spans = (m.span() for m in found)
        if self.own:
            spans = (span for span in spans if not _of_others(lead, *span))
        return list(itertools.islice(spans, most))


def _tail(phrase: CuePhrase, lead: LeadText, at: int) -> int | None:
    """End in ``lead.text`` of the first tail near ``lead.plain[at]`` in its sentence; None without one."""
    near = lead.plain[at : at + _REACH + 2]  # as far as the limit below can be
    tails = [tail for tail in phrase.tails if tail in near]
    if not tails:
        return None
    stop = _STOP.search(lead.text, at - 1, at + _REACH)
    limit = stop.start() + 2 if stop else at + _REACH
    if phrase.noun and (over := _OVER.search(lead.plain, at, limit)):
        limit = over.start() + 1
    ends = [
        found + len(tail) - (tail[-1] == " ") - 1
        for tail in tails
        if (found := lead.plain.find(tail, at, limit)) >= 0
    ]
    return min(ends, default=None)


def _of_others(lead: LeadText, start: int, end: int) -> bool:
    """True if the words around ``lead.text[start:end]`` show that it does not describe this paper."""
    low = max(0, start - _BEFORE)
    for border in _PART.finditer(lead.text, low, start):
        low = border.end()
    if _OTHERS.search(lead.plain, low + 1, start + 1):
        return True
    if _TELLS.match(lead.plain, end + 1) and _ONE.search(lead.plain, low + 1, start + 1):
        return True
    stop = _STOP.search(lead.text, end, end + _AFTER)
    return _WANTED.search(lead.plain, end + 1, stop.start() + 1 if stop else end + _AFTER) is not None


def occurrences(plain: str, text: str) -> list[int]:
    """Positions of ``text`` in ``plain``, overlapping ones included."""
    out = []
    at = plain.find(text)
    while at >= 0:
        out.append(at)
        at = plain.find(text, at + 1)
    return out


def _line_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Matches that begin where a line begins, not overlapping: much faster than ``^`` in a search."""
    free = start = 0
    while True:
        if start >= free and (found := pattern.match(text, start)):
            yield found
            free = found.end()
        start = text.find("\n", start) + 1
        if not start:
            return


def cue(
    weight: float,
    most: int,
    phrases: Iterable[str] = (),
    pattern: str | Iterable[str] = "",
    needs: Iterable[str] = (),
    where: Where = "anywhere",
    own: bool = False,
) -> Cue:
    """A cue as written in a data file.

    Args:
        weight: as in :class:`Cue`.
        most: as in :class:`Cue`.
        phrases: in lower case, without punctuation; one that ends in ``*`` may go on. ``{a,b} c`` stands for
            two phrases; behind `` .. `` comes what follows in the same sentence, at most 90 characters on,
            behind `` ~ `` only within the object of the verb before it.
        pattern: a regular expression, or its parts in order.
        needs: as in :class:`Cue`.
        where: as in :class:`Cue`.
        own: as in :class:`Cue`.

    >>> found = cue(1.0, 2, ["we {show,see} .. a {proof,lemma}", "leitfaden*", "问答"])
    >>> found.keys["we show"], [phrase.text for phrase in found.open]
    ((CuePhrase(text=' we show ', tails=(' a proof ', ' a lemma '), noun=False),), [' leitfaden', '问答'])
    """
    keys: dict[str, tuple[CuePhrase, ...]] = {}
    loose: list[CuePhrase] = []
    for written in phrases:
        head, gap, tail = [*_GAP.split(written, 1), "", ""][:3]
        tails = tuple(map(_bordered, _spelt_out(tail))) if tail else ()
        for text in map(_bordered, _spelt_out(head)):
            words = text.split() if text.endswith(" ") else text.split()[:-1]
            if words and text.startswith(" "):
                key = " ".join(words[:2])
                keys[key] = (*keys.get(key, ()), CuePhrase(text, tails, gap == "~"))
            else:
                loose.append(CuePhrase(text, tails, gap == "~"))
    joined = "".join(pattern)
    compiled = re.compile(joined, re.MULTILINE) if joined else None
    return Cue(weight, most, keys, tuple(loose), compiled, tuple(needs), where, own)


def _spelt_out(written: str) -> list[str]:
    """The phrases that one with alternatives in braces stands for."""
    parts = _BRACES.split(written)
    choices = [part.split(",") if odd % 2 else [part] for odd, part in enumerate(parts)]
    return [" ".join("".join(chosen).split()) for chosen in itertools.product(*choices)]


def _holds(text: str, some: Collection[str]) -> bool:
    """True if the text holds one of the strings, or if there are none."""
    for each in some:  # a loop: any() of a generator takes three times as long
        if each in text:
            return True
    return not some


def _pairs_of(text: str) -> list[str]:
    """Every two whole words in a row of a phrase."""
    words = text.split()
    return [*map(" ".join, itertools.pairwise(words if text.endswith(" ") else words[:-1]))]


def _bordered(phrase: str) -> str:
    left = "" if _NOT_BORDER.match(phrase[0]) else " "
    if phrase.endswith("*"):
        return left + phrase[:-1]
    return left + phrase + ("" if _NOT_BORDER.match(phrase[-1]) else " ")


class _Entry(NamedTuple):
    """A phrase of a cue; ``number`` is that of the cue. It is ``bare`` where every occurrence counts."""

    number: int
    cue: Cue
    phrase: CuePhrase
    bare: bool


_Groups = dict[str, list[_Entry]]  # text of a phrase -> all entries that have it


class CueTable:
    """The cues of a lens, looked up in a text all at once.

    Args:
        cues: label -> its cues.
    """

    def __init__(self, cues: Mapping[str, Sequence[Cue]]) -> None:
        self.cues = cues
        every = [c for label in cues for c in cues[label]]
        self._weights = [(label, c.weight) for label in cues for c in cues[label]]
        self._open: _Groups = {}
        self._wide: _Groups = {}
        self._keyed: dict[str, _Groups] = {}
        entries = [
            (_Entry(i, c, phrase, c.where != "title" and not c.own and not phrase.tails), key)
            for i, c in enumerate(every)
            for key, phrases in (("", c.open), *c.keys.items())
            for phrase in phrases
        ]
        pairs = [_pairs_of(one.phrase.text) if key else [] for one, key in entries]
        common = Counter(itertools.chain.from_iterable(pairs))
        for (one, begins), some in zip(entries, pairs, strict=True):
            text = one.phrase.text
            key = begins
            if some:  # a phrase is looked up by those two of its words that few others have
                key = min(some, key=common.__getitem__)
            elif not key and text.isascii() and text[0] == " " and len(text) > STEM:
                key = text[1 : STEM + 1]  # the beginning of a word
            groups = self._keyed.setdefault(key, {}) if key else self._open if text.isascii() else self._wide
            groups.setdefault(text, []).append(one)
        self._keys = frozenset(self._keyed)
        found = [(i, c) for i, c in enumerate(every) if c.pattern is not None]
        # Of what is needed, the longest part without white space is in something written.
        parts = [[max(need.split(), key=len) for need in c.needs] for _, c in found]
        bits = [1 << n for n in range(len(found))]
        # The last are those that are still to be looked for where such a part was found.
        self._patterns = [
            (bit, i, c, () if [*c.needs] == some else c.needs)
            for bit, (i, c), some in zip(bits, found, parts, strict=True)
        ]
        self._parts = [both for both in zip(bits, parts, strict=True) if both[1]]
        self._always = sum(bit for bit, some in zip(bits, parts, strict=True) if not some)
        self._titled = sum(bit for bit, (_, c) in zip(bits, found, strict=True) if c.where == "title")
        self._bits = Remembered(self._bits_of)

    def _bits_of(self, token: str) -> int:
        """A bit for each pattern that may be found where a text has a token."""
        return sum(bit for bit, parts in self._parts if _holds(token, parts))

    @classmethod
    def load(cls, name: str) -> CueTable:
        """The table in ``data/NAME.toml``."""
        return cls({label: [cue(**row) for row in rows] for label, rows in load_data(name).items()})

    def add_up(self, lead: LeadText) -> dict[str, float]:
        """Label -> the log-odds that its cues add."""
        counts: dict[int, int] = {}
        plain = lead.plain
        groups = {**self._open} if plain.isascii() else {**self._open, **self._wide}
        for key in self._keys & lead.keys:  # of two frozensets the smaller one is gone through
            groups.update(self._keyed[key])
        for text, entries in groups.items():
            places = occurrences(plain, text)
            for i, c, phrase, bare in entries if places else ():
                if (have := counts.get(i, 0)) < (most := c.most):
                    more = len(places) if bare else len(c.found(phrase, lead, most - have, places))
                    counts[i] = min(have + more, most)
        bits = [*map(self._bits.__getitem__, lead.written)] if self._parts else []
        near = self._always | reduce(or_, set(bits), 0) & ~self._titled
        near |= reduce(or_, bits[: lead.title_size], 0) & self._titled
        for bit, i, c, needs in self._patterns if near else ():
            if near & bit and (have := counts.get(i, 0)) < c.most:
                counts[i] = have + len(c.matches(lead, c.most - have, needs))
        out = dict.fromkeys(self.cues, 0.0)
        for i in sorted(counts):
            label, weight = self._weights[i]
            out[label] += weight * counts[i]
        return out


def strongest(cues: Iterable[Cue], lead: LeadText) -> tuple[int, int] | None:
    """The first place of the cue that adds most, or None where none adds anything."""
    best: tuple[float, int, int] | None = None
    for c in cues:
        if c.weight > 0 and (found := c.places(lead)):
            worth = c.weight * len(found)
            if best is None or worth > best[0]:
                best = (worth, *min(found))
    return None if best is None else best[1:]


class CueLens:
    """A lens of grades on a logistic scale, from the cues in ``data/NAME.toml`` and what a subclass adds.

    A subclass declares ``name``, ``description`` and ``labels``; a paper without text has NaN.
    """

    name: str
    description: str
    labels: tuple[str, ...]
    version = 2
    kind: LensKind = "paper"
    reads: tuple[str, ...] = ("text",)
    default = True

    @cached_property
    def table(self) -> CueTable:
        """The cues; read at the first use, since a search mostly needs the labels alone."""
        return CueTable.load(self.name)

    @cached_property
    def features(self) -> Features:
        """Features read in addition to the cues, for a lens that has a file of them."""
        return Features(self.name)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, labels) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        lead = lead_text(paper)
        if not lead.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        odds = self.odds(paper, lead, self.table.add_up(lead))
        return np.array([[logistic(x) for x in odds]], np.float32)

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """Log-odds of each label.

        Args:
            paper: whose record may be read too.
            lead: its text.
            added: what the cues of each table of the data file add.
        """
        raise NotImplementedError

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The sentence or line that counts most for the label, or None where only the whole text does."""
        lead = lead_text(paper)
        place = self.place(lead, label)
        return lead.quote(*place) if place else None

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """(start, end) in ``lead.text`` of what counts most for the label: the strongest cue."""
        return strongest(self.table.cues.get(label, ()), lead)
