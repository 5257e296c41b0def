"""The files that runs and judgements come in: TREC, BEIR and JSON Lines, compressed or not.

Reading is strict: a line that cannot be understood is an error that names it, since leaving it out would
change a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import BadInput, check_choice
from aspectra.base.values import replace
from aspectra.lab.runs.rows import Row, read_rows, text_of
from aspectra.papers.sources.files import InputFile

# One ranking against one set of judgements: the rank of every judged document.
#
# Every measure of a ranking is a function of these ranks, so nothing else is stored. The order of equal
# scores is decided here and nowhere else in the lab.

Order = Literal["id-descending", "id-ascending", "input"]
Precision = Literal["float64", "float32"]
T = TypeVar("T")
_ORDERS: tuple[str, ...] = get_args(Order)
Array = NDArray[Any]
# Judgements: topic -> document -> grade. Runs: topic -> document -> score.
Grades = Mapping[str, Mapping[str, float]]


def only_in(grades: Grades, others: Grades) -> int:
    """Number of judgements of relevant documents that another set does not call relevant.

    >>> only_in({"q": {"a": 1, "b": 2, "c": 0}}, {"q": {"a": 1, "b": 0}})
    1
    """
    return sum(
        grade > 0 and others.get(topic, {}).get(doc, 0) <= 0
        for topic, docs in grades.items()
        for doc, grade in docs.items()
    )


@dataclass(slots=True, eq=False)
class Judged:
    """The judged documents of one topic with their grades and ranks.

    All arrays are parallel to ``docs``.

    Attributes:
        docs: the judged documents; several modes of one topic share them.
        grades: float64; NaN for a document that this mode does not judge.
        ranks: int64, from 1; ``length + 1`` for a document that is not ranked.
        scores: float64; NaN for a document that is not ranked.
        above, tied: int64; documents with a higher score, and with the same one (itself included).
        length: documents ranked.
    """

    docs: Sequence[str]
    grades: Array
    ranks: Array
    scores: Array
    above: Array
    tied: Array
    length: int
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """Result of ``make``, computed once for all measures."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def ranked(self) -> Array:
        """Mask of the judged documents that are in the ranking."""
        return self.ranks <= self.length

    def relevant(self, rel: float = 1.0) -> Array:
        """Mask of the documents with at least this grade; unjudged ones never have it."""
        return self._once(("relevant", rel), lambda: self.grades >= rel)

    def count(self, rel: float = 1.0) -> int:
        """Number of relevant documents, ranked or not."""
        return self._once(("count", rel), lambda: int(np.count_nonzero(self.relevant(rel))))

    def hits(self, rel: float = 1.0) -> Array:
        """Ranks of the relevant documents that are ranked, rising."""
        return self._once(("hits", rel), lambda: np.sort(self.ranks[self.relevant(rel) & self.ranked]))

    def gained(self) -> tuple[Array, Array]:
        """(ranks, grades) of the ranked documents with a positive grade, by rank."""
        return self._once("gained", self._gained)

    def _gained(self) -> tuple[Array, Array]:
        positive = (self.grades > 0) & self.ranked
        ranks, grades = self.ranks[positive], self.grades[positive]
        order = np.argsort(ranks)
        return ranks[order], grades[order]

    def ideal(self, *, ranked_only: bool = False) -> Array:
        """Positive grades, falling: of all judged documents, or of the ranked ones."""

        def positive() -> Array:
            grades = self.gained()[1] if ranked_only else self.grades[self.grades > 0]
            return np.sort(grades)[::-1]

        return self._once(("ideal", ranked_only), positive)

    def condensed(self) -> Judged:
        """The same ranking without its unjudged documents."""
        return self._once("condensed", self._condensed)

    def _condensed(self) -> Judged:
        keep = ~np.isnan(self.grades)
        ranked = keep & self.ranked
        length = int(np.count_nonzero(ranked))
        places = np.sort(self.ranks[ranked])
        falling = np.sort(self.scores[ranked])
        left = np.searchsorted(falling, self.scores, "left")
        right = np.searchsorted(falling, self.scores, "right")
        return replace(
            self,
            ranks=np.where(ranked, np.searchsorted(places, self.ranks) + 1, length + 1),
            above=np.where(ranked, length - right, length),
            tied=np.where(ranked, right - left, 1),
            length=length,
            _made={},
        )


def _compared(scores: Array, precision: Precision) -> Array:
    """Scores as they are compared; in 32 bits, those beyond their range are infinite, as in trec_eval."""
    with np.errstate(over="ignore"):
        return scores.astype(precision, copy=False)


def order_ids(
    scores: Mapping[str, float], order: Order = "id-descending", precision: Precision = "float64"
) -> list[str]:
    """Documents best first: score descending, then as ``order`` says; ids compare as strings.

    >>> order_ids({"9": 1.0, "10": 1.0, "2": 1.0, "z": 2.0})
    ['z', '9', '2', '10']
    >>> order_ids({"b": 1.0, "a": 1.0}, "id-ascending"), order_ids({"b": 1.0, "a": 1.0}, "input")
    (['a', 'b'], ['b', 'a'])
    """
    check_choice(order, _ORDERS, "order")
    ids = list(scores) if order == "input" else sorted(scores, reverse=order == "id-descending")
    values = _compared(np.fromiter(map(scores.__getitem__, ids), np.float64, len(ids)), precision)
    return [ids[i] for i in np.argsort(-values, kind="stable").tolist()]


def judge(
    scores: Mapping[str, float],
    docs: Sequence[str],
    grades: Array,
    *,
    order: Order = "id-descending",
    precision: Precision = "float64",
    excluded: Collection[str] = (),
    topic: str = "",
) -> Judged:
    """Find the places of ``docs`` in a ranking.

    Args:
        scores: document -> score; higher is better.
        docs: the judged documents.
        grades: (len(docs),) their grades, NaN where unjudged.
        order: how equal scores are told apart.
        precision: ``float32`` compares scores as trec_eval does.
        excluded: documents dropped from the ranking first.
        topic: for the message.

    Raises:
        BadInput: a score is NaN or infinite.
    """
    if excluded:
        scores = {doc: score for doc, score in scores.items() if doc not in excluded}
    length = len(scores)
    values: Array = np.fromiter(scores.values(), np.float64, length)
    if not np.isfinite(values).all():
        bad = next(doc for doc, score in scores.items() if not math.isfinite(score))
        raise BadInput(
            f"topic {topic!r} has a score that is not a number for {bad!r}: {scores[bad]}",
            why="a score that is NaN or infinite has no place in an order",
            hint="drop such documents, or give them a score below all others",
        )
    nan = math.nan
    own: Array = np.array([scores.get(doc, nan) for doc in docs], np.float64)
    values, keys = _compared(values, precision), _compared(own, precision)
    rising = np.sort(values)
    ranked = ~np.isnan(own)
    left = np.searchsorted(rising, keys, "left")
    right = np.searchsorted(rising, keys, "right")
    above = np.where(ranked, length - right, length)
    tied = np.where(ranked, right - left, 1)
    if (tied > 1).any():
        place = {doc: i for i, doc in enumerate(order_ids(scores, order, precision), 1)}
        ranks: Array = np.array([place.get(doc, length + 1) for doc in docs], np.int64)
    else:
        ranks = above + 1
    return Judged(docs=docs, grades=grades, ranks=ranks, scores=own, above=above, tied=tied, length=length)


_EXAMPLES = 3


@dataclass(frozen=True)
class Checks:
    """Counts of what was found, in the words a person reads.

    Attributes:
        counts: what -> how often; findings that do not occur are absent.
        examples: what -> the first few places.

    >>> Checks.of({"documents twice": ["q1 a", "q2 b"]}).lines()
    ('2 documents twice (q1 a, q2 b)',)
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Mapping[str, Collection[str]]) -> Checks:
        """Checks from all places of each finding."""
        kept = {what: list(places) for what, places in found.items() if places}
        return cls(
            {what: len(places) for what, places in kept.items()},
            {what: tuple(places[:_EXAMPLES]) for what, places in kept.items()},
        )

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __add__(self, other: Checks) -> Checks:
        counts = dict(self.counts)
        examples = dict(self.examples)
        for what, count in other.counts.items():
            counts[what] = counts.get(what, 0) + count
            examples[what] = (*examples.get(what, ()), *other.examples.get(what, ()))[:_EXAMPLES]
        return Checks(counts, examples)

    def lines(self) -> tuple[str, ...]:
        """One line per finding."""
        return tuple(
            f"{count:,} {what}" + (f" ({', '.join(self.examples[what])})" if self.examples.get(what) else "")
            for what, count in self.counts.items()
        )


def check_run(run: Grades, qrels: Grades, *, corpus: Collection[str] | None = None) -> Checks:
    """Mismatches of a run with the judgements or the corpus, besides those that an evaluation reports itself.

    Args:
        run: topic -> document -> score.
        qrels: topic -> document -> grade.
        corpus: all document ids; without it, topics whose documents are all unjudged are counted instead.
    """
    found: dict[str, list[str]] = {"topics with an empty ranking": [t for t, docs in run.items() if not docs]}
    if corpus is not None:
        for what, table in (("ranked", run), ("judged", qrels)):
            found[f"{what} documents outside the corpus"] = [
                f"{topic} {doc}" for topic, docs in table.items() for doc in docs if doc not in corpus
            ]
    else:
        both = [topic for topic, docs in qrels.items() if docs and run.get(topic)]
        lost = [topic for topic in both if qrels[topic].keys().isdisjoint(run[topic])]
        what = "topics rank no judged document"
        if both and len(lost) == len(both):
            what += ": no topic ranks any, so check that both files use the same document ids"
        found[what] = lost
    out = Checks.of(found)
    tied = sum(len(docs) - len(set(docs.values())) for docs in run.values())
    return out + Checks({"documents with the score of another": tied}) if tied else out


Data = dict[str, dict[str, float]]

TOPIC_KEYS = ("query-id", "query_id", "qid", "query", "topic", "topic_id", "q_id", "query id")
# PyTerrier's docid is a number of its index; docno is the id.
DOCUMENT_KEYS = (
    *("docno", "corpus-id", "corpus_id", "docid", "doc_id", "document", "pid", "paper_id", "doc", "id"),
)
_SCORE_KEYS = ("score", "sim")
_GRADE_KEYS = ("relevance", "grade", "rel", "label", "rating", "judgment", "judgement", "gain")
# A row with no field but these names a relevant document; any other field may be its grade.
_NOT_GRADES = frozenset((*TOPIC_KEYS, *DOCUMENT_KEYS, "_id", "iteration", "iter", "q0", "title", "text"))
# The policy of every reader of the lab for a document named twice for one topic: ``error`` refuses the file,
# ``first`` takes the first number in it. A judgement repeated with the same grade contradicts nothing and
# counts once. Whatever is listed twice and not refused is counted and reported.
DUPLICATES = ("error", "first")
_BLOCK = 1 << 19  # small enough for its words to stay in the cache


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: a run or judgements.

    Attributes:
        name, number: words for messages.
        columns: how many columns a TREC line has.
        place: which of them holds the number.
        layout: the columns, for messages.
        keys: names of the number in a row, the first one present counts: a file of judgements may also hold
            the score of a system, and a run the grade of a judge.
        repeats: whether a pair may be repeated with the same number.
        unstated: the number of a pair that is named alone; None where it must have one.
    """

    name: str
    number: str
    columns: int
    place: int
    layout: str
    keys: tuple[str, ...]
    repeats: bool = False
    unstated: float | None = None


RUN = Kind("run", "score", 6, 4, "topic Q0 document rank score name", (*_SCORE_KEYS, *_GRADE_KEYS))
QRELS = Kind(
    "judgements",
    "grade",
    4,
    3,
    "topic 0 document grade",
    (*_GRADE_KEYS, *_SCORE_KEYS),
    repeats=True,
    unstated=1.0,
)


class _Filling:
    """Collects (topic, document, number), and checks duplicates and numbers."""

    def __init__(self, path: Path, kind: Kind, duplicates: str, data: Data) -> None:
        check_choice(duplicates, DUPLICATES, "policy for duplicates called")
        self.path = path
        self.kind = kind
        self.duplicates = duplicates
        self.data = data
        self.twice: list[str] = []
        self.repeated: list[str] = []
        self.added = False

    def fail(self, place: str, what: str, hint: str = "") -> BadInput:
        return BadInput(f"{self.path}, {place}: {what}", why=f"read as {self.kind.name}", hint=hint)

    def add(self, place: str, topic: str, doc: str, number: Any) -> None:
        if not topic or not doc:
            raise self.fail(place, "a topic or document without an id")
        try:
            value = float(number)
        except (TypeError, ValueError) as error:
            raise self.fail(place, f"the {self.kind.number} {number!r} is not a number") from error
        if not math.isfinite(value):
            raise self.fail(
                place,
                f"the {self.kind.number} of {doc!r} for {topic!r} is {value}",
                "drop such documents, or give them a score below all others",
            )
        docs = self.data.setdefault(topic, {})
        self.added = True
        if doc in docs:
            if self.kind.repeats and docs[doc] == value:
                self.repeated.append(f"{topic} {doc}")
                return
            if self.duplicates == "error":
                raise self.fail(
                    place,
                    f"topic {topic!r} has {doc!r} twice",
                    "keep one of them, or read with duplicates=first",
                )
            self.twice.append(f"{topic} {doc}")
            return
        docs[doc] = value

    def done(self) -> tuple[Data, Checks]:
        if not self.added:
            raise BadInput(f"{self.path} holds no {self.kind.name}", hint="check the file and its format")
        found = {"documents listed twice, the first kept": self.twice}
        found["judgements repeated with the same grade"] = self.repeated
        return self.data, Checks.of(found)


def read_table(
    path: Path, kind: Kind, duplicates: str = DUPLICATES[0], data: Data | None = None
) -> tuple[Data, Checks]:
    """Topic -> document -> number, in the order of the file, and the checks of it.

    Args:
        path: TREC (judgements also without its second column), a tsv with a header, BEIR's JSON, JSON Lines
            or Parquet; compressed or not.
        kind: :data:`RUN` or :data:`QRELS`.
        duplicates: one of :data:`DUPLICATES`.
        data: earlier parts of the same table, to be added to.

    Raises:
        BadInput: the file cannot be read as this kind, or holds nothing.
    """
    filling = _Filling(path, kind, duplicates, {} if data is None else data)
    with InputFile(path) as file, file.damage():
        stream = file.stream()
        head = stream.read(4096)
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        blocks = _blocks(stream, head)
        if path.suffix == ".parquet" or _header(start.split(b"\n")[0].decode("utf-8", "replace")):
            _read_rows(filling)
        elif start.startswith(b"{"):
            _read_json(b"".join(blocks), filling)
        else:
            _read_trec(blocks, filling)
    return filling.done()


def _blocks(stream: Any, head: bytes) -> Iterator[bytes]:
    """The file in blocks of whole lines."""
    rest = head
    while block := stream.read(_BLOCK):
        rest += block
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _text(raw: bytes, filling: _Filling) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{filling.path} is not UTF-8", why=str(error), hint="convert it to UTF-8") from error


def _read_trec(blocks: Iterator[bytes], filling: _Filling) -> None:
    kind = filling.kind
    number = 0
    columns = kind.columns
    for raw in blocks:
        text = _text(raw, filling)
        lines = text.count("\n") + (not text.endswith("\n"))
        if not _read_even(text, number, lines, filling):
            for i, line in enumerate(text.split("\n"), number + 1):
                if not line.strip():
                    continue
                words = line.split()
                # An id may hold blanks between tabs; a line with the second column of TREC has none.
                if kind is QRELS and "\t" in line and not (len(words) == 4 and words[1] in ("0", "Q0")):
                    words = [word.strip() for word in line.split("\t")]
                if words[0] == "#" or (words[0][0] == "#" and len(words) not in (3, columns)):
                    raise filling.fail(f"line {i}", "a comment", "remove the lines that begin with #")
                if not filling.added and kind is QRELS and len(words) == 3:
                    columns = 3  # no second column; then no line may have it
                if len(words) != columns:
                    raise filling.fail(
                        f"line {i}",
                        f"{len(words)} columns instead of {columns}",
                        "TREC lines are: " + kind.layout,
                    )
                doc, place = (2, kind.place) if columns > 3 else (1, 2)
                filling.add(f"line {i}", words[0], words[doc], words[place])
        number += lines


def _read_even(text: str, number: int, lines: int, filling: _Filling) -> bool:
    """Read many lines of a run at once; False (and nothing is read) where each must be read alone.

    Uneven lines would shift some other column into the second one.
    """
    words = text.split()
    if filling.kind is not RUN or len(words) != lines * 6 or not set(words[1::6]) <= {"Q0", "q0"}:
        return False
    try:
        scores = list(map(float, words[4::6]))
    except ValueError:
        return False
    if not math.isfinite(math.fsum(map(abs, scores))):
        return False
    docs = words[2::6]
    start = 0
    for topic, group in groupby(words[::6]):
        end = start + len(list(group))
        found = dict(zip(docs[start:end], scores[start:end], strict=True))
        known = filling.data.setdefault(topic, {})
        filling.added = True
        if len(found) == end - start and known.keys().isdisjoint(found):
            known.update(found)
        else:
            for i in range(start, end):
                filling.add(f"line {number + i + 1}", topic, docs[i], scores[i])
        start = end
    return True


def _header(line: str) -> bool:
    """True if the first line of a tsv names its columns."""
    names = line.lower().split("\t")
    return len(names) >= 3 and names[0].strip() in TOPIC_KEYS


def _read_json(raw: bytes, filling: _Filling) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        held: dict[str, Any] = {}
        for key, value in pairs:
            if key not in held:
                held[key] = value
            elif filling.kind.repeats and held[key] == value:
                filling.repeated.append(key)
            elif filling.duplicates == "error" or isinstance(value, (dict, list)):
                raise filling.fail("an object", f"{key!r} is in it twice", "keep one of them")
            else:
                filling.twice.append(key)
        return held

    try:
        whole = json.loads(_text(raw, filling), object_pairs_hook=unique)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and _lower(whole).keys().isdisjoint((*TOPIC_KEYS, "_id")):
        if whole.pop("mteb_model_meta", None):  # predictions of mteb: subset, split, topic
            parts = {f"{a}/{b}": part for a, splits in whole.items() for b, part in dict(splits).items()}
            if len(parts) != 1:
                raise filling.fail("subsets", ", ".join(parts) or "none", "keep one subset and split")
            (whole,) = parts.values()
        for topic, docs in whole.items():
            _add_docs(f"topic {topic}", str(topic), docs, filling)
    else:
        _read_rows(filling)


def _read_rows(filling: _Filling) -> None:
    for number, row in read_rows(filling.path):
        _add_row(f"line {number}", row, filling)


def _add_row(place: str, row: Row, filling: _Filling) -> None:
    """A row: one document, or all of a topic's under ``docs``, ``results``, ``scores`` or ``qrels``."""
    row = _lower(row)
    topic = next((row[key] for key in (*TOPIC_KEYS, "_id") if key in row), None)
    if isinstance(topic, dict):  # rank_llm: {"query": {"qid": ...}, "candidates": [{"docid": ...}]}
        topic = _lower(topic)
        topic = next((topic[key] for key in TOPIC_KEYS if key in topic), None)
    if topic is None or isinstance(topic, (dict, list)):
        raise filling.fail(place, "no topic", "name it query_id")
    for key in ("docs", "results", "scores", "qrels", "ranking", "retrieved", "candidates"):
        if isinstance(row.get(key), (dict, list)):
            _add_docs(place, text_of(topic), row[key], filling)
            return
    _add_document(place, text_of(topic), row, filling)


def _lower(row: Row) -> Row:
    return {name.strip().lower(): value for name, value in row.items()}


def _add_document(place: str, topic: str, row: Row, filling: _Filling) -> None:
    """A row of one document, whose names are in lower case."""
    kind = filling.kind
    doc = next((row[key] for key in DOCUMENT_KEYS if key in row), None)
    if doc is None or isinstance(doc, (dict, list)):
        raise filling.fail(place, "no document", "name it doc_id")
    key = next((key for key in kind.keys if key in row), None)
    if key is None and (kind.unstated is None or row.keys() - _NOT_GRADES):
        raise filling.fail(place, f"no {kind.number}: name it {kind.keys[0]}", f"it has {', '.join(row)}")
    filling.add(place, topic, text_of(doc), row[key] if key else kind.unstated)


def _add_docs(place: str, topic: str, docs: Any, filling: _Filling) -> None:
    """Document -> number; or a list of [document, number], of rows or, in a run, of documents in order."""
    filling.data.setdefault(topic, {})
    if isinstance(docs, list) and docs and all(isinstance(x, dict) for x in docs):
        for one in docs:
            _add_document(place, topic, _lower(one), filling)
        return
    if isinstance(docs, dict):
        pairs = list(docs.items())
    elif isinstance(docs, list) and all(isinstance(x, (list, tuple)) and len(x) == 2 for x in docs):
        pairs = [(x[0], x[1]) for x in docs]
    elif isinstance(docs, list) and all(isinstance(x, (str, int)) for x in docs):
        unstated = filling.kind.unstated
        pairs = [(doc, -float(rank) if unstated is None else unstated) for rank, doc in enumerate(docs, 1)]
    else:
        raise filling.fail(place, f"documents with a {filling.kind.number} each were expected")
    for doc, value in pairs:
        filling.add(place, topic, str(doc), value)
