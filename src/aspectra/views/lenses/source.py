"""Lenses for documents on the web: the kind of place they come from, their format, length and audience.

The record decides where it can (a DOI, a word in the host's name); the rest is style: the persons of the text
and its layout. English cues are the fullest, German and Chinese ones the commonest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from aspectra.base.expressions import expression
from aspectra.base.values import Remembered
from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import split_sentences
from aspectra.views.lenses._cues import CueLens
from aspectra.views.lenses._lead import Doubles, LeadBatch, LeadLayout, LeadText, LineKind, asks, lead_batch
from aspectra.views.lenses.protocol import LENSES, Lens, logistic
from aspectra.views.view import Floats

_PAPERS_HAVE = frozenset({"doi", "arxiv", "acl", "s2", "openalex", "pmid", "pmcid"})

_TURNED = expression(r"\s*+([^:：\n]{2,40}?)(?: wrote| schrieb|写道)?\s?[:：]")
_DEFINES = expression(
    r"(?:is|are|was|were|denotes|means|ist|sind|war|bezeichnet)\s(?:an?|the|one|any|ein|eine|der|die|das)\b"
    r"|(?:，|\s)?(?:是|指)"
)
_HANDLE = expression(r"^[a-z]|[a-z][A-Z]|[\d_]")
_PRONOUN_SHARE = 0.03  # of the words, from which on a text is plainly told by somebody


def _is_thread(lead: LeadText) -> bool:
    """True if most lines are turns of two or more speakers.

    Labels before a colon ("Note: ...") look like speakers, but speakers return or have a made-up name.
    """
    lines = lead.layout
    if lines.number("turn") < 2 or lines.share("turn") < 0.5:
        return False
    names = [
        m[1].strip()
        for line in lines.lines
        if line.kind == "turn" and (m := _TURNED.match(lead.lead, line.start, line.end))
    ]
    again = {name for name in names if names.count(name) > 1 or _HANDLE.search(name)}
    return len(again) >= 2 or len(set(names)) < len(names)


def _first_person(batch: LeadBatch, words: frozenset[str]) -> Doubles:
    person = np.minimum(1.0, batch.share(words) / _PRONOUN_SHARE)
    for row in np.flatnonzero(batch.cjk > 0.3):
        plain = batch.leads[row].plain
        person[row] = min(1.0, 60 * plain.count("我") / max(120, len(plain)))
    return person


def _defines(lead: LeadText) -> float:
    """1 if the text opens with a definition of its title, 0.7 for one of something in its title, else 0."""
    title = lead.title.strip().casefold()
    opening = lead.lead.lstrip()[:160].casefold()
    if not title or len(title) > 60 or title[-1:] in "?!？！":
        return 0.0
    at = opening.find(title[: max(3, len(title) - 1)])  # a plural's s may be missing
    if 0 <= at <= 8 and _DEFINES.search(opening, at + len(title) - 1, at + len(title) + 70):
        return 1.0
    found = _DEFINES.search(opening, 3, 80)
    if found is None:
        return 0.0
    subject = {word[:5] for word in re.findall(r"[^\W\d_]{5,}", opening[: found.start()])}
    return 0.7 if subject & {word[:5] for word in re.findall(r"[^\W\d_]{5,}", title)} else 0.0


class SourceLens(CueLens):
    """Grades of the kinds of source, each 0 to 1 on a logistic scale; several may hold.

    At 0.5, roughly: two or three independent cues. A dateline, a thread of speakers, or an opening that
    defines the title is nearly enough alone; so is a DOI or a telling host in the record. A paper without
    text has NaN.
    """

    name = "source"
    description = "what kind of place a text comes from: a blog, a forum, the press, a journal"
    reads: tuple[str, ...] = ("text", "url", "identifiers")
    labels: tuple[str, ...] = ("blog", "forum", "news", "scholarly", "encyclopedia", "official documentation")

    def odds(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> Sequence[Doubles]:
        """See :class:`CueLens`."""
        odds = self._by_text(batch, added)
        # The record counts as much as two good cues.
        for row, paper in enumerate(batch.papers):
            url = paper.url.casefold()
            told = {label for label, pattern in self.features.patterns.items() if pattern.search(url)}
            for label in told | ({"scholarly"} if _PAPERS_HAVE & paper.identifiers.keys() else set()):
                odds[label][row] += 4.0
        return [odds[label] for label in self.labels]

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The strongest cue, else the first turn of a thread or the sentence that defines the title."""
        place = super().place(lead, label)
        if place is not None:
            return place
        first = None
        if label == "forum":
            first = lead.layout.first("turn")
        if label == "encyclopedia" and _defines(lead) > 0:
            first = lead.layout.first("prose")
        start = first and first.start + len(lead.title) + 1
        return None if start is None else (start, start + 1)

    def _by_text(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> dict[str, Doubles]:
        """Label -> (papers,) log-odds from the text."""
        leads, known = batch.leads, self.features.words
        person = _first_person(batch, known["i"])
        addressed, together = (
            np.minimum(1.0, batch.share(known[name]) / _PRONOUN_SHARE) for name in ("you", "we")
        )
        chatty = np.minimum(1.0, batch.share(known["chatty"]) / 0.02)
        excited = np.array([min(2, sum(lead.text.count(c) for c in "!！")) / 2 for lead in leads])
        words = np.where(batch.cjk < 0.3, batch.words, batch.words_of_cjk)
        # A blog post is a story told by one person, so it needs some room.
        room = np.minimum(1.0, words / 60)
        prose = np.array([lead.layout.share("prose") for lead in leads]) > 0.8
        # Neither a writer nor a reader is mentioned.
        alone = prose & (person + addressed + together + chatty + excited == 0)
        asked = np.array([lead.layout.number("question", "answer") for lead in leads]) > 0
        features = {
            "person": person,
            "story": person * room,
            "addressed": addressed,
            "together": together,
            "chatty": chatty,
            "excited": excited,
            "impersonal": np.where(alone, room, 0.0),
            "thread": np.array([*map(_is_thread, leads)], np.float64),
            "hard": batch.hardness,
            "defines": np.array([*map(_defines, leads)]),
            "clauses": np.array([min(3.0, lead.layout.number("clause")) for lead in leads]),
            "options": np.array([min(4.0, lead.layout.number("option")) for lead in leads]),
            "answers": np.array(asked & (together > 0), np.float64),
        }
        odds = {label: self.features.odds(label, {**features, "cues": added[label]}) for label in self.labels}
        # An abstract may well cite a term's definition or quote people; a scholarly text is then still that.
        for label in ("encyclopedia", "news", "blog"):
            odds[label] -= 0.6 * np.minimum(3.0, np.maximum(0.0, added["scholarly"] - 0.8))
        return odds


LENSES.register("source")(SourceLens())


# In what form a text comes: code, questions and answers, a manual, prose, a list.
#
# The kinds of its lines decide, which need no language (see :mod:`aspectra.views.lenses._lead`); words
# help with manuals and question-and-answer posts. Grades are independent: a manual may be a list as well.


def _code(lines: LeadLayout) -> float:
    # Commands with a comment each are all code and comment; the same commands below bullets are a list of
    # examples, and between headings and paragraphs they illustrate a manual.
    own = lines.share("code", "comment")
    other = lines.share("item", "option", "heading", "quote", "prose", "clause")
    comments = 1.0 if lines.number("comment") else 0.0
    return -2.4 + 6.0 * own - 4.0 * other + comments * min(1.0, lines.number("code") / 3)


def _list(lines: LeadLayout) -> float:
    items = lines.number("item")
    # A code line below an item shows what the item says.
    led = min(lines.number("code"), items)
    body = len(lines.lines) - lines.number("heading", "quote")
    share = (items + led) / max(1, body)
    return -4.0 + 8.0 * share + 0.4 * min(items, 4) - 3.0 * lines.share("clause", "question", "answer")


def _manual(added: float, lines: LeadLayout) -> float:
    options = lines.number("option")
    return (
        -3.0
        + added
        + 0.8 * min(options, 4)
        + 0.9 * min(lines.number("clause"), 4)
        - 3.0 * lines.share("question", "answer")
    )


def _questions(added: float, lead: LeadText) -> float:
    lines = lead.layout
    pairs = min(lines.number("question"), lines.number("answer"))
    # Questions on lines of their own, each with something below it.
    answered = 0
    below = False
    for line in lines.lines:
        asking = line.kind in ("prose", "heading", "item") and asks(lead.lead[line.start : line.end])
        answered += below and not asking
        below = asking
    return -3.2 + 2.4 * min(pairs, 2) + added + 0.9 * min(answered, 3)


def _prose(odds: Sequence[float], lines: LeadLayout) -> float:
    # Prose is what has sentences and none of the other forms.
    own = lines.weight("prose", "turn", "quote")
    return -2.0 + 5.0 * own - 2.5 * logistic(max(odds))


# The kinds of line that each label is about.
_LINES: dict[str, tuple[LineKind, ...]] = {
    "code": ("code",),
    "qa": ("question",),
    "manual": ("option", "clause"),
    "prose": ("prose", "turn"),
    "list": ("item",),
}


class FormatLens(CueLens):
    """Grades of ``code``, ``qa``, ``manual``, ``prose`` and ``list``, each 0 to 1 on a logistic scale.

    At 0.5, roughly: ``code`` has three lines of code or comment to one of anything else; ``list`` has items
    (with the code they introduce) on every other line; ``manual`` has two of the sections of a reference
    page, or four described options or numbered clauses; ``qa`` has two questions with their answers or says
    that it has; ``prose`` is half in running lines, and nothing of the others. The whole lead (its first
    12,000 characters) is read. A paper without text has NaN.
    """

    name = "format"
    description = "in what form a text comes: code, questions and answers, a manual, prose, a list"
    labels = tuple(_LINES)

    def odds(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> Sequence[Doubles]:
        """See :class:`CueLens`."""
        each = zip(batch.leads, added["manual"].tolist(), added["qa"].tolist(), strict=True)
        return [*np.array([self._odds(*one) for one in each], np.float64).T]

    def _odds(self, lead: LeadText, manual: float, asked: float) -> tuple[float, ...]:
        """Log-odds of each label from what the cues add to two of them."""
        lines = lead.layout
        manual, asked = _manual(manual, lines), _questions(asked, lead)
        # The examples of a reference page do not make it a snippet, however many they are.
        code = _code(lines) - 2.5 * logistic(manual)
        listed = _list(lines)
        prose = _prose((code, listed, manual, asked), lines) if lines.lines else 0.0
        return (code, asked, manual, prose, listed)

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The first line of a kind that counts for the label, else the strongest cue."""
        found = lead.layout.first(*_LINES[label])
        if found is None:
            return super().place(lead, label)
        shift = len(lead.title) + 1
        return found.start + shift, found.end + shift


LENSES.register("format")(FormatLens())


# How long a paper's stored text is: raw counts, comparable between scripts.
#
# The text is the abstract and all sections; the title is counted only where there is nothing else. The
# pages of a paper are those that its record states, else those that its full text would fill. Counts are
# raw: what is short or long is decided by the condition (see
# :mod:`aspectra.search.conditions.attributes.labels.source`).

WORDS_PER_PAGE = 500  # of a paper: two narrow columns hold some 900, a manuscript 300

# Words of an alphabetic script that one character is worth to a reader. A Chinese word has 1.6 characters
# on average; Japanese spells endings and particles in kana, so that a sentence takes more characters.
HAN_WORDS = 0.6
_KANA_WORDS = 0.4
_UNSPACED_WORDS = 0.2  # Thai, Lao, Khmer and Burmese: letters, five to a word, without spaces between words

_HAN = expression("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_KANA = expression("[\u3041-\u30ff\u31f0-\u31ff]")
_UNSPACED = expression("[\u0e01-\u0e4e\u0e81-\u0edd\u1000-\u109f\u1780-\u17d3]")
_LETTER = expression(r"[^\W_]")
_BREAK = expression(r"\n[^\S\n]*\n")
# What white space separates -> whether it has a letter or digit.
_SPOKEN = Remembered(lambda token: _LETTER.search(token) is not None)


# The same -> whether it has letters of a script without spaces.
_UNSPACED_IN = Remembered(lambda token: any(pattern.search(token) for pattern in (_HAN, _KANA, _UNSPACED)))


def _words_and_characters(text: str) -> tuple[float, float]:
    """Words as a reader counts them, and characters that are not white space."""
    tokens = text.split()
    characters = sum(map(len, tokens))
    words = 0.0
    if not text.isascii():
        for pattern, worth in ((_HAN, HAN_WORDS), (_KANA, _KANA_WORDS), (_UNSPACED, _UNSPACED_WORDS)):
            text, count = pattern.subn(" ", text)
            words += worth * count
        tokens = text.split()
    return words + sum(map(_SPOKEN.__getitem__, tokens)), characters


def _of_abstracts(papers: Sequence[Paper]) -> Iterator[tuple[float, float] | None]:
    """The same of each abstract from the words that are numbered; None where it has others."""
    batch = lead_batch(papers)
    written = batch.written
    unspaced = written.sums(written.each(_UNSPACED_IN.__getitem__)).tolist()
    words = written.sums(written.each(_SPOKEN.__getitem__), ~batch.in_title).tolist()
    characters = written.sums(written.each(len), ~batch.in_title).tolist()
    for row, (paper, lead) in enumerate(zip(papers, batch.leads, strict=True)):
        whole = len(lead.lead) == len(paper.abstract)
        yield (words[row], characters[row]) if whole and not unspaced[row] else None


def _sentences(text: str) -> int:
    return sum(_LETTER.search(text, start, end) is not None for start, end in split_sentences(text))


def _paragraphs(text: str) -> int:
    if "\n" not in text:
        return int(_LETTER.search(text) is not None)
    return sum(_LETTER.search(block) is not None for block in _BREAK.split(text))


_RANGE = expression(r"\D{0,3}(\d{1,6})\s?[-–—]{1,2}\s?\D{0,3}(\d{1,6})")
_STATED = expression(r"\b(\d{1,4})\+?\s?(?:pages?|pp)\b", re.IGNORECASE)
_MOST_PAGES = 5000


def stated_pages(paper: Paper) -> float:
    """Pages by the record: a range, their number, or the author's remark; NaN where it has none."""
    metadata = paper.metadata
    for name in ("numpages", "pagetotal", "number-of-pages", "number_of_pages", "num_pages"):
        value = str(metadata.get(name, ""))
        if value.isdecimal() and 0 < int(value) <= _MOST_PAGES:
            return float(value)
    if found := _RANGE.fullmatch(str(metadata.get("pages", "")).strip()):
        first, last = found.groups()
        if len(last) < len(first):
            last = first[: len(first) - len(last)] + last  # 1187-94
        if 0 <= int(last) - int(first) < _MOST_PAGES:
            return float(int(last) - int(first) + 1)
    if found := _STATED.search(str(metadata.get("comments", ""))[:500]):
        return float(found[1])
    return math.nan


class LengthLens(Lens):
    """Words, characters, sentences and paragraphs of the stored text, and pages of the paper, as counts.

    ``words`` counts runs between spaces that hold a letter or digit; a Han character counts as 0.6 words,
    kana as 0.4 and a letter of a script without spaces as 0.2. ``characters`` are all but white space.
    ``sentences`` are those of :func:`~aspectra.papers.text.structure.split_sentences`; ``paragraphs`` are
    blocks between blank lines, at least one to a section. ``pages`` are NaN where neither the record states
    them nor the full text is stored. A paper without any text has NaN everywhere.
    """

    name = "length"
    description = "how long a text is: words, characters, sentences, paragraphs, pages"
    version = 2
    labels: tuple[str, ...] = ("words", "characters", "sentences", "paragraphs", "pages")
    reads: tuple[str, ...] = ("text", "sections", "metadata")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 5) counts >= 0 of each paper, or NaN."""
        return [*map(self._row, papers, _of_abstracts(papers))]

    def _row(self, paper: Paper, of_abstract: tuple[float, float] | None) -> Floats:
        counts = np.zeros((1, 5), np.float32)
        texts = [paper.abstract, *(section.text for section in paper.sections)]
        for text in texts if any(map(str.strip, texts)) else [paper.title]:
            if text.strip():
                told = of_abstract if text is paper.abstract else None
                counts += (*(told or _words_and_characters(text)), _sentences(text), _paragraphs(text), 0)
        if not counts[0, 1]:
            counts[:] = np.nan
            return counts
        counts[0, 4] = stated_pages(paper)
        if paper.has_full_text and np.isnan(counts[0, 4]):
            counts[0, 4] = counts[0, 0] / WORDS_PER_PAGE
        return counts


LENSES.register("length")(LengthLens())


# For whom a text is written: lay people, experts, students, practitioners.
#
# Readability first: the mean length of the words, which in alphabetic scripts tells easy from hard text as
# well as the classic formulas do and needs no syllables; then numbers with units, abbreviations and
# symbols, how readers are addressed, definitions, and the words of a classroom. Chinese, Japanese and
# Korean text has no word length; there the other cues decide.
#
# How rare the words are in the library is left out: it tells experts' texts only where most texts are
# plain. Among papers everyday words are the rare ones.


_OF_WORDS = frozenset({"abbreviation", "digit_in_word"})  # patterns that match within a word
_DIGIT = expression(r"\d")


class AudienceLens(CueLens):
    """Grades of ``lay``, ``expert``, ``student`` and ``practitioner``, each 0 to 1 on a logistic scale.

    ``lay`` is 0.5 at words of about 5.1 letters with nothing else to tell, ``expert`` at about 5.4, or
    earlier with quantities and abbreviations; one letter more is three units of log-odds. ``student`` needs
    two words of the classroom, ``practitioner`` one phrase of advice for practice. A paper without text
    has NaN.
    """

    name = "audience"
    description = "for whom a text is written: lay people, experts, students, practitioners"
    version = 3
    labels: tuple[str, ...] = ("lay", "expert", "student", "practitioner")

    def odds(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> Sequence[Doubles]:
        """See :class:`CueLens`."""
        words = np.where(batch.cjk > 0.3, batch.words_of_cjk, batch.words)
        # Two technical tokens in a hundred words are already unusual in a text for everybody.
        tokens = batch.written.sums(batch.written.each(self._inside.__getitem__))
        patterns = [pattern for name, pattern in self.features.patterns.items() if name not in _OF_WORDS]
        tokens += [
            sum(len(pattern.findall(lead.text)) for pattern in patterns)
            if _DIGIT.search(lead.text)  # which all matches have
            else 0
            for lead in batch.leads
        ]
        technical = np.minimum(2.0, 50.0 * tokens / np.maximum(40.0, words))
        marks = np.array([lead.text.count("!") + lead.text.count("！") for lead in batch.leads])
        known = self.features.words
        features = {
            **added,
            "hard": batch.hardness,
            "technical": technical,
            "personal": np.minimum(1.0, batch.share(known["personal"]) / 0.03),
            "talk": np.minimum(1.0, batch.share(known["contracted"]) / 0.01) + np.minimum(2, marks) / 2,
        }
        return [self.features.odds(label, features) for label in self.labels]

    @cached_property
    def _inside(self) -> Remembered[int]:
        """String between white space -> number of its technical signs."""
        patterns = [self.features.patterns[name] for name in _OF_WORDS]
        return Remembered(lambda token: sum(len(pattern.findall(token)) for pattern in patterns))

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The strongest cue; for experts the first quantity or abbreviation where there is none."""
        place = super().place(lead, label)
        if place is None and label == "expert":
            found = [
                m.span() for pattern in self.features.patterns.values() if (m := pattern.search(lead.text))
            ]
            place = min(found, default=None)
        return place


LENSES.register("audience")(AudienceLens())
