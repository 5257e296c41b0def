"""Shared by all loaders: the corpus as a stream, and counts of the problems of a benchmark."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import BadInput
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Audit, Benchmark, Topic, of_topics
from aspectra.lab.runs.files import Grades
from aspectra.lab.runs.rows import Row, first_of, text_of
from aspectra.papers.paper import Paper
from aspectra.papers.sources.json.generic import papers_in_record
from aspectra.papers.sources.protocol import ReadOptions

# What a collection's own records and labels decide about its papers, without any part of the engine.
#
# A condition is one line: ``year 2015..``, ``not venue iros | icra``, ``kind survey``, ``not words
# driving``, ``label Asthma``; with ``unless`` and another line, what exempts a paper from it.

HAS, HAS_NOT, UNDECIDED = 1, 0, -1
Decided = NDArray[np.int8]
Mask = NDArray[np.bool_]

# Two codes of one series of meetings.
_SAME_VENUE = {"neurips": "nips", "the web conference": "www", "robotics: science and systems": "rss"}
# Titles that name the kind of their paper; words after which a kind is possible; abstracts that state it.
_KINDS = {
    "survey": (
        r"\b(?:a|an|the)(?: [\w-]+){0,3} (?:survey|overview|review)\b(?! (?:generation|data|bias|mechanism))"
        r"|\b(?:survey|overview|review) (?:of|on)\b|[:,] (?:survey|overview|review)\b|\b(?:survey|review)$",
        r"\b(?:survey|overview|review|tutorial|taxonomy|roadmap|perspectives?|challenges|state of the art|"
        r"primer|introduction|advances|trends)",
        r"\b(?:survey|overview|review|tutorial)",
    ),
    "dataset": (
        r"\b(?:a|an|the)(?: [\w-]+){0,4} (?:data ?set|benchmark|corpus)(?: (?:for|of|on|to|with|in)\b|$)"
        r"|: (?:[\w-]+ ){0,3}(?:dataset|benchmark|corpus)$",
        r"\b(?:data ?sets?|benchmark|corpus|corpora|challenge|testbed|test suite|collection|resource|"
        r"treebank|competition|shared task|annotat)|bench\b",
        r"\b(?:(?:new|novel|our|present|introduce|release|propose|construct|build|collect|create|contribute)"
        r"[^.]{0,60} (?:data ?set|benchmark|corpus|corpora|testbed|resource))",
    ),
}


def _parts(value: str) -> list[str]:
    """The alternatives of a value."""
    return [part.strip() for part in value.split("|")]


@lru_cache(100_000)
def plain_words(text: str) -> str:
    """Words alone, in lower case, with one space before and after each.

    >>> plain_words("Multi-Robot SLAM: a survey")
    ' multi robot slam a survey '
    """
    return " " + " ".join(re.findall(r"[^\W_]+", text.lower())) + " "


@lru_cache(100_000)
def heading_words(heading: str) -> str:
    """A subject heading in the order of plain words.

    >>> heading_words("Rhinitis, Allergic, Seasonal"), heading_words("Breast Neoplasms")
    ('seasonal allergic rhinitis', 'breast cancer')
    """
    words = " ".join(reversed(heading.lower().removesuffix(" as topic").split(", ")))
    return re.sub(r"\bneoplasms\b", "cancer", words)


@dataclass
class Facts:
    """Facts of all papers of a collection, in the order of their ids.

    Attributes:
        ids: of the papers.
        years: 0 where unknown.
        venues: as stored, in lower case; "" where unknown.
        tracks: of the meeting, in lower case.
        heads: titles in lower case, with their punctuation.
        titles, texts: plain words of the title, and of title and abstract.
        keywords: plain words of each paper's own keywords.
        labels: heading -> 2 for a main topic of the paper, 0 or 1 for another that it was given.
    """

    ids: list[str] = field(default_factory=list)
    years: list[int] = field(default_factory=list)
    venues: list[str] = field(default_factory=list)
    tracks: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    keywords: list[tuple[str, ...]] = field(default_factory=list)
    labels: list[dict[str, int]] = field(default_factory=list)
    _known: dict[tuple[str, bool], Decided] = field(default_factory=dict, repr=False)
    _held: dict[tuple[str, str], Mask] = field(default_factory=dict, repr=False)
    _joined: dict[str, tuple[str, list[int]]] = field(default_factory=dict, repr=False)

    def add(self, name: str, row: Row, labels: Row) -> None:
        """Add a paper from its record and its labels."""
        title = text_of(row.get("title"))
        own = row.get("keywords")
        year = text_of(row.get("year"))
        self.ids.append(name)
        self.years.append(int(year) if re.fullmatch(r"[12]\d{3}", year) else 0)
        self.venues.append(text_of(row.get("venue")).strip().lower())
        self.tracks.append(text_of(row.get("track")).lower())
        self.heads.append(title.lower())
        self.titles.append(plain_words(title))
        self.texts.append(plain_words(f"{title}. {text_of(row.get('abstract') or row.get('text'))}"))
        self.keywords.append(tuple(plain_words(text_of(one)) for one in own) if isinstance(own, list) else ())
        self.labels.append(_graded(labels))

    def decide(self, condition: str) -> Decided:
        """(papers,) whether each meets a condition: ``HAS``, ``HAS_NOT`` or ``UNDECIDED``.

        Raises:
            BadInput: the line is none of the forms in the module's description.
        """
        stated, _, exempt = condition.partition(" unless ")
        negated = stated.startswith("not ")
        out = self._has(stated.removeprefix("not "), negated)
        if negated:
            out = np.where(out == UNDECIDED, UNDECIDED, 1 - out).astype(np.int8)
        return _either(out, self.decide(exempt)) if exempt else out

    def all_of(self, conditions: Iterable[str]) -> Decided:
        """(papers,) whether each meets all of several conditions."""
        out = np.full(len(self.ids), HAS, np.int8)
        for condition in conditions:
            one = self.decide(condition)
            out = np.where((out == HAS_NOT) | (one == HAS_NOT), HAS_NOT, np.minimum(out, one)).astype(np.int8)
        return out

    def about(self, topic: str) -> Mask:
        """(papers,) whether a paper has the topic: as a main label, or its words in title or abstract."""
        if not any(self.labels):
            return self.holding("texts", plain_words(topic))
        key = ("labels", topic)
        if key not in self._held:
            self._held[key] = np.array([labels.get(topic) == 2 for labels in self.labels], bool)
        return self._held[key]

    def holding(self, field: str, words: str) -> Mask:
        """(papers,) whether ``titles`` or ``texts`` hold some plain words."""
        key = (field, words)
        if key not in self._held:
            if field not in self._joined:
                texts: list[str] = getattr(self, field)
                starts = np.cumsum([0, *(len(text) + 1 for text in texts)]).tolist()
                self._joined[field] = ("\n".join(texts), starts)
            joined, starts = self._joined[field]
            found = np.zeros(len(self.ids), bool)
            at = joined.find(words)
            while at >= 0:
                number = bisect_right(starts, at) - 1
                found[number] = True
                at = joined.find(words, starts[number + 1])
            self._held[key] = found
        return self._held[key]

    def _has(self, stated: str, negated: bool) -> Decided:
        key = (stated, negated)
        if key not in self._known:
            what, _, value = stated.partition(" ")
            found = _DECIDERS.get(what)
            if found is None or not value.strip():
                raise BadInput(f"{stated!r} is no condition", why="it begins with " + ", ".join(_DECIDERS))
            self._known[key] = found(self, value.strip(), negated)
        return self._known[key]


def _graded(labels: Row) -> dict[str, int]:
    out: dict[str, int] = {}
    for aspect in labels.values():
        if isinstance(aspect, dict):
            for name, grade in aspect.items():
                out[name] = max(out.get(name, 0), grade if isinstance(grade, int) else 0)
    return out


def _either(one: Decided, other: Decided) -> Decided:
    return np.where((one == HAS) | (other == HAS), HAS, np.minimum(one, other)).astype(np.int8)


def _year(facts: Facts, value: str, _: bool) -> Decided:
    shape = re.fullmatch(r"(\d{4})?(\.\.)?(\d{4})?", value)
    if shape is None or not (shape[1] or shape[3]):
        raise BadInput(f"{value!r} is no span of years", why="write 2015.., ..2009, 2015..2018 or 2017")
    years = np.array(facts.years)
    low = int(shape[1] or 0)
    high = int(shape[3] or 9999) if shape[2] else low
    return np.where(years == 0, UNDECIDED, (years >= low) & (years <= high)).astype(np.int8)


def _venue(facts: Facts, value: str, _: bool) -> Decided:
    names = {_SAME_VENUE.get(name, name) for name in _parts(value.lower())}
    known = {venue: UNDECIDED if not venue else int(venue in names) for venue in set(facts.venues)}
    return np.array([known[venue] for venue in facts.venues], np.int8)


def _kind(facts: Facts, value: str, _: bool) -> Decided:
    if value not in _KINDS:
        raise BadInput(f"{value!r} is no kind that titles decide", why="kinds: " + ", ".join(_KINDS))
    titled, possible, stated = map(re.compile, _KINDS[value])

    def one(title: str, text: str, track: str) -> int:
        if value in track or titled.search(title):
            return HAS
        return UNDECIDED if possible.search(title) or stated.search(text) else HAS_NOT

    return np.array(list(map(one, facts.heads, facts.texts, facts.tracks)), np.int8)


def _words(facts: Facts, value: str, _: bool) -> Decided:
    named = np.zeros(len(facts.ids), bool)
    mentioned = named.copy()
    for part in _parts(value):
        words = plain_words(part)
        named |= facts.holding("titles", words)
        named |= np.array([any(words in one for one in own) for own in facts.keywords], bool)
        mentioned |= facts.holding("texts", words)
    return np.where(named, HAS, np.where(mentioned, UNDECIDED, HAS_NOT)).astype(np.int8)


def _label(facts: Facts, value: str, negated: bool) -> Decided:
    phrase = plain_words(heading_words(value))
    akin = {word for word in phrase.split() if len(word) > 4}

    def one(labels: Mapping[str, int], text: str) -> int:
        if labels.get(value) == 2:
            return HAS
        near = any(not akin.isdisjoint(plain_words(heading_words(label)).split()) for label in labels)
        # A thing that is only mentioned is not a topic of the paper, but may be used in it.
        return UNDECIDED if near or phrase in text else HAS_NOT

    return np.array(list(map(one, facts.labels, facts.titles if negated else facts.texts)), np.int8)


_DECIDERS: dict[str, Callable[[Facts, str, bool], Any]] = {
    "year": _year,
    "venue": _venue,
    "kind": _kind,
    "words": _words,
    "label": _label,
}


_IDS = ("_id", "paper_id", "corpusid", "corpus_id", "id", "docid", "doc_id")
_TEXTS = ("title", "abstract", "text", "contents", "content", "full_paper", "sections")
_OPTIONS = ReadOptions(markup=False)  # texts are ranked as the benchmark has them


def own_id(row: Row) -> str:
    """The id in a record, as judgements spell it, or ""."""
    return first_of(row, _IDS)


def paper_of(row: Row) -> Paper:
    """A record as a paper under its own id; a record without any text is a paper without text.

    Judgements may name it, and a measure must count it, so it is kept.
    """
    name = own_id(row)
    for item in papers_in_record(row, name, _OPTIONS):
        if isinstance(item, Paper):
            return item if item.id == name else item.with_id(name)
    return Paper(name)


@dataclass(frozen=True)
class Scan:
    """One pass over a corpus.

    Attributes:
        ids: of all documents.
        repeated: ids that occur more than once; the first document of an id is kept.
        same_text: documents whose whole text another document has as well, beyond the first of each.
        empty: documents without any text.
        dropped: records left out because their id had occurred before.
    """

    ids: frozenset[str]
    repeated: frozenset[str]
    same_text: int
    empty: int
    dropped: int

    def problems(self) -> list[str]:
        """One sentence for each kind found."""
        found = {
            "repeat the id of another and are left out": self.dropped,
            "repeat the whole text of another": self.same_text,
            "have no text": self.empty,
        }
        return [f"{number} documents {what}" for what, number in found.items() if number]


@dataclass
class Corpus:
    """Documents of a benchmark, streaming.

    Attributes:
        rows: opens the records anew at each call.
        convert: a record as a paper.
        key: a record's id.
    """

    rows: Callable[[], Iterable[Row]]
    convert: Callable[[Row], Paper] = paper_of
    key: Callable[[Row], str] = own_id
    _scan: Scan | None = field(default=None, init=False, repr=False)

    def scan(self) -> Scan:
        """Scan all documents in one pass; only ids and short hashes of texts stay in memory.

        Raises:
            BadInput: a document has no id, or a file cannot be used.
        """
        if self._scan is None:
            ids: set[str] = set()
            repeated: set[str] = set()
            texts: set[bytes] = set()
            same = empty = dropped = 0
            for number, row in enumerate(self.rows(), 1):
                name = self.key(row)
                if not name:
                    raise BadInput(
                        f"document {number} of the corpus has no id",
                        why="its fields are " + ", ".join(list(row)[:8]),
                        hint="check that the file is the corpus",
                    )
                if name in ids:
                    repeated.add(name)
                    dropped += 1
                    continue
                ids.add(name)
                parts = [str(row[field]) for field in _TEXTS if row.get(field)]
                if not parts:
                    empty += 1
                    continue
                mark = blake2b("\x1e".join(parts).encode("utf-8", "replace"), digest_size=12).digest()
                same += mark in texts
                texts.add(mark)
            self._scan = Scan(frozenset(ids), frozenset(repeated), same, empty, dropped)
        return self._scan

    def once(self) -> Iterator[tuple[str, Row]]:
        """Id and record of each document, in the order of the file, each id once."""
        repeated = self.scan().repeated
        seen: set[str] = set()
        for row in self.rows():
            name = self.key(row)
            if name not in seen:
                yield name, row
            if name in repeated:
                seen.add(name)

    def papers(self) -> Iterator[Paper]:
        """The papers, in the order of the file, each id once."""
        return (self.convert(row) for _, row in self.once())


def counted(number: int, one: str, many: str) -> str:
    """A number with the right form of its noun."""
    return f"{number} {one if number == 1 else many}"


class Problems(list[str]):
    """Problems of a benchmark, each one sentence."""

    def add(self, number: int, one: str, many: str, rest: str) -> None:
        """Add a sentence that begins with a number and the right form of its noun, unless it is 0."""
        if number:
            self.append(f"{counted(number, one, many)} {rest}")


def keep_judged(
    topics: Sequence[Topic], qrels: Mapping[str, Grades], by: str
) -> tuple[tuple[Topic, ...], dict[str, Grades], Problems]:
    """Topics that the judgement set ``by`` covers, and judgements of those topics only.

    Returns:
        Topics, judgement sets, and one sentence for each kind of thing left out.
    """
    problems = Problems()
    counts = Counter(topic.id for topic in topics)
    again = sum(count - 1 for count in counts.values())
    problems.add(again, "query repeats", "queries repeat", "the id of another, left out")
    first = {topic.id: topic for topic in reversed(topics)}
    kept = tuple(first[name] for name in counts if name in qrels[by])
    unjudged = len(counts) - len(kept)
    problems.add(unjudged, "query", "queries", f"without judgements in {by!r}, left out")
    names = {topic.id for topic in kept}
    out: dict[str, Grades] = {name: of_topics(names, grades) for name, grades in qrels.items()}
    for name, own in out.items():
        rest = f"not among the topics (judgements {name!r}), left out"
        problems.add(len(qrels[name]) - len(own), "judged query is", "judged queries are", rest)
        problems.add(len(names) - len(own), "topic has", "topics have", f"no judgements in {name!r}")
    return kept, out, problems


def audited(
    folder: Folder,
    corpus: Corpus,
    name: str,
    topics: Sequence[Topic],
    qrels: Mapping[str, Grades],
    problems: Iterable[str] = (),
    *,
    clashes: bool = False,
    **fields: Any,
) -> Benchmark:
    """A benchmark with its audit: its problems, counted, after those that its loader found itself.

    Args:
        folder: whose checksums and notes are reported.
        corpus: its papers.
        name: of the benchmark.
        topics: those kept.
        qrels: those kept.
        problems: the loader's own findings.
        clashes: whether relevant documents that are excluded are a problem.
        fields: further ones of :class:`Benchmark`.
    """
    scan, pools = corpus.scan(), fields.get("pools")
    found = Problems((*problems, *scan.problems()))
    empty = sum(not topic.text.strip() and not topic.seed for topic in topics)
    found.add(empty, "query is", "queries are", "empty")
    for of, grades in qrels.items():
        pairs = [(query, document) for query, of_query in grades.items() for document in of_query]
        lost = [document for _, document in pairs if document not in scan.ids]
        rest = f"not in the corpus ({counted(len(lost), 'judgement', 'judgements')} of {of!r})"
        found.add(len(set(lost)), "judged document is", "judged documents are", rest)
        bare = sum(not any(grade > 0 for grade in of_query.values()) for of_query in grades.values())
        found.add(bare, "topic has", "topics have", f"nothing relevant in {of!r}")
    if pools is not None:
        lost_pool = set().union(*{id(pool): pool for pool in pools.values()}.values()) - scan.ids
        found.add(len(lost_pool), "document", "documents", "of the pools not in the corpus")
    clash = {
        (query, document)
        for query, documents in (fields["excluded"] if clashes else {}).items()
        for document in documents
        for grades in qrels.values()
        if grades.get(query, {}).get(document, 0) > 0
    }
    found.add(len(clash), "relevant document is", "relevant documents are", "excluded")
    made = Audit(
        checksums=dict(folder.checksums),
        documents=len(scan.ids),
        topics=len(topics),
        judged={name: sum(map(len, grades.values())) for name, grades in qrels.items()},
        problems=(*found, *folder.notes),
    )
    papers = fields.pop("papers", corpus.papers)
    return Benchmark(name, papers, tuple(topics), qrels, audit=made, **fields)
