"""Lenses that grade by cues: phrases and patterns that count for or against a label.

A label's log-odds are a bias plus the sum over its cues of ``weight * min(occurrences, most)``: one mannerism
repeated all over a long text cannot decide alone. Its grade is ``1 / (1 + exp(-log-odds))``. Cues are data:
``data/NAME.toml`` has one table per cue under its label, see :func:`cue`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.expressions import expression
from aspectra.base.values import Remembered
from aspectra.papers.paper import Paper
from aspectra.views.lenses._lead import Doubles, Integers, LeadBatch, LeadText, lead_batch, lead_text, spread
from aspectra.views.lenses.protocol import Features, Lens, TextSpan, load_data, logistics
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
        known = lead.tokens.__contains__
        there = [phrases for key, phrases in self.keys.items() if all(map(known, key.split()))]
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


def _bordered(phrase: str) -> str:
    left = "" if _NOT_BORDER.match(phrase[0]) else " "
    if phrase.endswith("*"):
        return left + phrase[:-1]
    return left + phrase + ("" if _NOT_BORDER.match(phrase[-1]) else " ")


class _Phrases:
    """Phrases, found in all texts of a batch at once.

    Words lead from node to node of a tree, which all texts walk at the same time: step by step, from every
    token that begins a phrase. A last word that may go on is a word of its own kind; tokens know both the
    word that they are and those that they begin with. Phrases of scripts without spaces are searched for.

    Args:
        texts: as in :attr:`CuePhrase.text`.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        words: dict[str, int] = {}  # one that may go on ends in a line break, which no token does
        steps: dict[tuple[int, int], int] = {}
        ends: dict[int, int] = {}
        self._loose: list[tuple[int, str]] = []
        for number, text in enumerate(texts):
            if not text.startswith(" "):
                self._loose.append((number, text))
                continue
            *whole, last = text[1:].split(" ")
            node = 0
            for word in [*whole, f"{last}\n"] if last else whole:
                node = steps.setdefault((node, words.setdefault(word, len(words) + 1)), len(steps) + 1)
            ends[node] = number
        self._size = len(words) + 1
        keys = sorted((node * self._size + word, after) for (node, word), after in steps.items())
        self._keys, self._after = np.array([*keys, (np.iinfo(np.int64).max, 0)]).T
        self._ends = np.full(len(steps) + 1, -1)
        self._ends[[*ends]] = [*ends.values()]
        self._begins = np.isin(np.arange(self._size), [word for node, word in steps if node == 0])
        begun = [(word[:-1], number) for word, number in words.items() if word.endswith("\n")]
        begun_by: dict[str, list[tuple[str, int]]] = {}
        for word, number in begun:
            begun_by.setdefault(word[:1], []).append((word, number))
        self._forms = Remembered(
            lambda token: (
                words.get(token, 0),
                *(n for word, n in begun_by.get(token[:1], ()) if token.startswith(word)),
            )
        )
        firsts = "".join({text[0] for _, text in self._loose})
        self._first = re.compile(f"[{re.escape(firsts)}]" if firsts else "(?!)")

    def places(self, batch: LeadBatch) -> tuple[Integers, Integers, Integers]:
        """Of all occurrences in order: numbers of the paper and the phrase, and the place in ``plain``."""
        tokens = batch.tokens
        forms = np.array([*zip_longest(*map(self._forms.__getitem__, tokens.known), fillvalue=0)], np.int64)
        found = [self._searched(batch)]
        starts = np.flatnonzero(np.logical_or.reduce(self._begins[forms])[tokens.numbers])
        nodes, depth = np.zeros_like(starts), 0
        while len(starts):
            went = []
            for form in forms:
                words = form[tokens.numbers[starts + depth]]
                known = np.flatnonzero(words)
                keys = nodes[known] * self._size + words[known]
                at = np.searchsorted(self._keys, keys)
                there = self._keys[at] == keys
                went.append((starts[known[there]], self._after[at[there]]))
            starts, nodes = (np.concatenate(parts) for parts in zip(*went, strict=True))
            depth += 1
            ended = np.flatnonzero(self._ends[nodes] >= 0)
            rows = tokens.rows[starts[ended]]
            # A phrase begins with the space before its first word.
            offsets = tokens.offsets[starts[ended]] - tokens.offsets[tokens.ends[rows]] - 1
            found.append(np.array([rows, self._ends[nodes[ended]], offsets]))
        rows, phrases, offsets = np.concatenate(found, axis=1)
        order = np.lexsort((offsets, phrases, rows))
        return rows[order], phrases[order], offsets[order]

    def _searched(self, batch: LeadBatch) -> Integers:
        """The same of phrases that no space begins."""
        found = [
            (row, number, at)
            for row, lead in enumerate(batch.leads)
            if not lead.text.isascii() and self._first.search(lead.plain)
            for number, text in self._loose
            for at in occurrences(lead.plain, text)
        ]
        return np.array(found, np.int64).reshape(-1, 3).T


class CueTable:
    """The cues of a lens, looked up in texts all at once.

    Args:
        cues: label -> its cues.
    """

    def __init__(self, cues: Mapping[str, Sequence[Cue]]) -> None:
        self.cues = cues
        self._every = every = [c for label in cues for c in cues[label]]
        self._labels = np.repeat(np.arange(len(cues)), [*map(len, cues.values())])
        self._weights = np.array([c.weight for c in every], np.float64)
        self._most = np.array([c.most for c in every], np.int64)
        # Text of a phrase -> cues of which every occurrence counts; other cues and their phrases.
        self._counted: dict[str, list[int]] = {}
        self._judged: dict[str, list[tuple[int, CuePhrase]]] = {}
        for i, c in enumerate(every):
            for phrase in itertools.chain(c.open, *c.keys.values()):
                counted = self._counted.setdefault(phrase.text, [])
                judged = self._judged.setdefault(phrase.text, [])
                if c.where == "title" or c.own or phrase.tails:
                    judged.append((i, phrase))
                else:
                    counted.append(i)
        self._phrases = _Phrases([*self._counted])
        self._patterned = [i for i, c in enumerate(every) if c.pattern is not None]
        parts = [(i, [max(need.split(), key=len) for need in every[i].needs]) for i in self._patterned]
        # Token -> cues of which a text with it may hold a pattern: those that need a part of it. Of what is
        # needed, the longest part without white space is in something written.
        self._needing = Remembered(lambda token: [i for i, some in parts if any(p in token for p in some)])
        # What is still to be looked for where a token has a part of it.
        self._needs = [() if len(" ".join(c.needs).split()) == len(c.needs) else c.needs for c in every]

    @classmethod
    def load(cls, name: str) -> CueTable:
        """The table in ``data/NAME.toml``."""
        return cls({label: [cue(**row) for row in rows] for label, rows in load_data(name).items()})

    def add_up(self, batch: LeadBatch) -> dict[str, Doubles]:
        """Label -> (papers,) the log-odds that its cues add."""
        counts = self._phrases_in(batch)
        for row, i in np.argwhere(self._may_match(batch)).tolist():
            if (more := self._every[i].most - counts[row, i]) > 0:
                counts[row, i] += len(self._every[i].matches(batch.leads[row], more, self._needs[i]))
        rows, numbers = np.nonzero(counts)
        worth = self._weights[numbers] * np.minimum(counts, self._most)[rows, numbers]
        cells = rows * len(self.cues) + self._labels[numbers]
        sums = np.bincount(cells, worth, len(counts) * len(self.cues))
        return dict(zip(self.cues, sums.reshape(len(counts), len(self.cues)).T, strict=True))

    def _phrases_in(self, batch: LeadBatch) -> Integers:
        """(papers, cues) how often phrases of each cue are found, where it is less than all that count."""
        size = (len(batch.leads), len(self._every))
        counted, judged = [*self._counted.values()], [*self._judged.values()]
        rows, phrases, places = self._phrases.places(batch)
        numbers, each = spread(counted, phrases)
        cells = np.repeat(rows, each) * size[1] + numbers
        counts = np.bincount(cells, minlength=size[0] * size[1]).reshape(size)
        found = zip(rows.tolist(), phrases.tolist(), places.tolist(), strict=True)
        for (row, phrase), some in itertools.groupby(found, itemgetter(0, 1)):
            positions = [at for *_, at in some] if judged[phrase] else []
            for i, written in judged[phrase]:
                c = self._every[i]
                if (more := c.most - counts[row, i]) > 0:
                    counts[row, i] += len(c.found(written, batch.leads[row], more, positions))
        return counts

    def _may_match(self, batch: LeadBatch) -> NDArray[np.bool_]:
        """(papers, cues) whether the pattern of a cue may be found."""
        written = batch.written
        needing = [*map(self._needing.__getitem__, written.known)]
        at = np.flatnonzero(np.array([*map(bool, needing)], np.bool_)[written.numbers])
        numbers, each = spread(needing, written.numbers[at])
        titled = np.array([c.where == "title" for c in self._every])
        there = np.repeat(batch.in_title[at], each) | ~titled[numbers]
        out = np.zeros((len(batch.leads), len(self._every)), np.bool_)
        out[:, [i for i in self._patterned if not self._every[i].needs]] = True
        out[np.repeat(written.rows[at], each)[there], numbers[there]] = True
        return out


def strongest(cues: Iterable[Cue], lead: LeadText) -> tuple[int, int] | None:
    """The first place of the cue that adds most, or None where none adds anything."""
    best: tuple[float, int, int] | None = None
    for c in cues:
        least = 0.0 if best is None else best[0]  # most cues cannot add more, whatever the text
        if c.weight * c.most > least and (found := c.places(lead)):
            worth = c.weight * len(found)
            if worth > least:
                best = (worth, *min(found))
    return None if best is None else best[1:]


class CueLens(Lens):
    """A lens of grades on a logistic scale, from the cues in ``data/NAME.toml`` and what a subclass adds.

    A subclass declares ``name``, ``description`` and ``labels``; a paper without text has NaN.
    """

    version = 2

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
        if not papers:
            return []
        batch = lead_batch(papers)
        odds = self.odds(batch, self.table.add_up(batch))
        grades = logistics(np.array(odds, np.float64)).T.astype(np.float32)
        grades[[not lead.text.strip() for lead in batch.leads]] = np.nan
        return [*grades[:, None]]

    def odds(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> Sequence[Doubles]:
        """(papers,) log-odds of each label.

        Args:
            batch: the papers, whose records may be read too, and their texts.
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
