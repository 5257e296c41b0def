"""Runs and judgements: thin values over topic -> document -> number; results of other engines; labels."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from aspectra.base.decompression import zstd
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.trec import trec_lines, trec_words
from aspectra.lab.runs import files as run_files
from aspectra.lab.runs.files import DOCUMENT_KEYS, DUPLICATES, TOPIC_KEYS, Checks, Order, order_ids
from aspectra.lab.runs.rows import Row, first_of, read_rows
from aspectra.papers.paper import normalise_title
from aspectra.papers.sources.files import read_text


@dataclass(frozen=True)
class _Table(Mapping[str, Mapping[str, float]]):
    """Topic -> document -> number, with a name and the checks of its file."""

    data: Mapping[str, Mapping[str, float]]
    name: str = ""
    checks: Checks = field(default_factory=Checks)

    def __getitem__(self, topic: str) -> Mapping[str, float]:
        return self.data[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, eq=False)
class Run(_Table):
    """The rankings of one system: topic -> document -> score, higher is better.

    Attributes:
        data: the scores; documents keep the order they were read in.
        name: of the system.
        checks: what was odd about the file.

    >>> Run({"q": {"a": 1.0, "b": 2.0, "c": 1.0}}).ranking("q")
    ['b', 'c', 'a']
    """

    @classmethod
    def from_rankings(cls, rankings: Mapping[str, Sequence[str]], name: str = "") -> Run:
        """A run out of plain lists, whose order is final: the score is minus the rank.

        Raises:
            BadInput: a list has a document twice.

        >>> Run.from_rankings({"q": ["a", "b"]})["q"]
        {'a': -1.0, 'b': -2.0}
        """
        data = {}
        for topic, docs in rankings.items():
            data[topic] = {doc: -float(rank) for rank, doc in enumerate(docs, 1)}
            if len(data[topic]) != len(docs):
                twice = next(doc for i, doc in enumerate(docs) if doc in docs[:i])
                raise BadInput(
                    f"topic {topic!r} ranks {twice!r} twice",
                    why="a document has one place in a ranking",
                    hint="keep the better place",
                )
        return cls(data, name)

    @classmethod
    def read(cls, path: Path | str, *, duplicates: str = DUPLICATES[0]) -> Run:
        """A run from a file: TREC, BEIR (JSON or tsv with a header), JSON Lines or Parquet.

        Args:
            path: the file, compressed or not; the format is told by content.
            duplicates: whether a document listed twice for one topic is an ``error``, or the ``first`` in the
                file counts and the others are reported.

        Raises:
            BadInput: the file or a line of it cannot be read, or a score is not a number.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Run({"q": {"a": 1.0, "b": 2.0}}).write(f"{folder}/my.run")
        ...     Run.read(f"{folder}/my.run").ranking("q")
        ['b', 'a']
        """
        data, checks = run_files.read_table(Path(path), run_files.RUN, duplicates)
        return cls(data, _stem(Path(path)), checks)

    def ranking(self, topic: str, order: Order = "id-descending") -> list[str]:
        """Documents of a topic, best first; equal scores by ``order``."""
        return order_ids(self.data.get(topic, {}), order)

    def write(
        self,
        path: Path | str,
        format: str = "trec",  # noqa: A002
        *,
        order: Order = "id-descending",
    ) -> None:
        """Write the run, best first; ``trec`` with scores that strictly fall, so that all tools agree.

        Args:
            path: the file; a name ending in ``.gz`` or ``.zst`` is compressed.
            format: ``trec``, ``beir`` (JSON, scores as they are) or ``jsonl``.
            order: how equal scores are told apart.

        Raises:
            BadInput: two ids become one word in TREC format, or a score is not a number. UsageError: no such
                format.
        """
        best = ((t, {doc: docs[doc] for doc in order_ids(docs, order)}) for t, docs in self.data.items())
        if format == "trec":
            _write(Path(path), _trec_run(self.data, self.name or "aspectra", order))
        elif format == "beir":
            _write(Path(path), [json.dumps(dict(best), ensure_ascii=False, allow_nan=False) + "\n"])
        elif format == "jsonl":
            _write(Path(path), _jsonl(best))
        else:
            raise UsageError(f"there is no format {format!r} for runs", why="known: trec, beir, jsonl")


@dataclass(frozen=True, eq=False)
class Qrels(_Table):
    """Relevance judgements: topic -> document -> grade. Negative grades gain nothing.

    >>> qrels = Qrels({"q": {"a": 2, "b": 0}})
    >>> len(qrels), qrels["q"]["a"]
    (1, 2)

    Attributes:
        data: the grades.
        name: of the set: ``gold``, ``pooled``, or a mode.
        checks: what was odd about the file.
    """

    @classmethod
    def read(cls, path: Path | str, *, duplicates: str = DUPLICATES[0]) -> Qrels:
        """Judgements from a file: TREC, BEIR (tsv with a header, or JSON), JSON Lines or Parquet.

        Args:
            path: the file, compressed or not; the format is told by content.
            duplicates: as :meth:`Run.read`; a judgement repeated with the same grade does not contradict, and
                counts once.

        Raises:
            BadInput: the file or a line of it cannot be read, it holds no judgement, a grade is not a number,
                or a pair has two grades.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Qrels({"q": {"a": 2, "b": 0}}).write(f"{folder}/qrels.tsv", "beir")
        ...     Qrels.read(f"{folder}/qrels.tsv")["q"]
        {'a': 2.0, 'b': 0.0}
        """
        data, checks = run_files.read_table(Path(path), run_files.QRELS, duplicates)
        return cls(data, _stem(Path(path)), checks)

    def write(self, path: Path | str, format: str = "trec") -> None:  # noqa: A002
        """Write as ``trec``, ``beir`` (tsv with a header) or ``jsonl``; see :meth:`Run.write`."""
        if format == "trec":
            _write(Path(path), _trec_qrels(self.data))
        elif format == "beir":
            rows = (f"{t}\t{d}\t{grade:.15g}\n" for t, docs in self.data.items() for d, grade in docs.items())
            _write(Path(path), chain(["query-id\tcorpus-id\tscore\n"], rows))
        elif format == "jsonl":
            _write(Path(path), _jsonl((topic, dict(docs)) for topic, docs in self.data.items()))
        else:
            raise UsageError(f"there is no format {format!r} for judgements", why="known: trec, beir, jsonl")


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", ".zst", ".txt", ".tsv", ".json", ".jsonl", ".run", ".trec", ".qrels"):
        name = name.removesuffix(ending)
    return name or path.name


# Results exported from any other engine: lists of ids or titles, matched to the corpus and counted.
#
# A result that is not in the corpus keeps its place, under an id of its own, since leaving it out would lift
# everything below it.

UNMATCHED = "unmatched:"
_TITLE_KEYS = ("title", "document title", "paper title", "name", "ti")
_SCORE_KEYS = ("score", "relevance", "similarity", "sim")
_RANK_KEYS = ("rank", "position", "place", "nr")


def read_export(path: Path, titles: Mapping[str, str], *, topic: str = "") -> Run:
    """A run from a csv, tsv, JSON Lines or Parquet file with an id or a title in each row.

    A row is matched by its id, else by its title reduced to letters and digits. The order of a topic is that
    of a score column, else of a rank column, else of the file; the first that any of its rows fills must be
    filled in all. A document that comes twice keeps its better place.

    Args:
        path: the file; the first line of csv and tsv names the columns.
        titles: id -> title of the corpus.
        topic: the topic of all rows, for a file without such a column.

    Returns:
        The run; its ``checks`` count rows ``matched by id``, ``matched by title``, ``unmatched`` (no such
        paper), ``ambiguous`` (several papers of that title) and ``listed again``. Rows that are unmatched or
        ambiguous keep their place under an id that starts with :data:`UNMATCHED`.

    Raises:
        BadInput: no column for topics, or none for ids and titles, or a score or rank that is not a number.
    """
    by_title: dict[str, list[str]] = {}
    for doc, title in titles.items():
        if key := normalise_title(title):
            by_title.setdefault(key, []).append(doc)
    found: dict[str, list[str]] = {
        what: [] for what in ("matched by id", "matched by title", "unmatched", "ambiguous", "listed again")
    }
    rows: dict[str, list[tuple[Row, int, str]]] = {}
    for i, given_row in read_rows(path):
        row = {name.strip().lower(): value for name, value in given_row.items()}
        where = first_of(row, TOPIC_KEYS) or topic
        if not where:
            raise BadInput(
                f"{path}, line {i}: no topic", why="there is no column query_id", hint="name the topic"
            )
        given, title = first_of(row, DOCUMENT_KEYS), first_of(row, _TITLE_KEYS)
        if not given and not title:
            raise BadInput(f"{path}, line {i}: neither an id nor a title", hint="name a column id or title")
        shown = given or title
        candidates = by_title.get(normalise_title(title or given), [])
        if given in titles:
            doc, what = given, "matched by id"
        elif len(candidates) == 1:
            doc, what = candidates[0], "matched by title"
        else:
            doc = UNMATCHED + (normalise_title(title) or given)
            what = "ambiguous" if candidates else "unmatched"
        found[what].append(f"{where}: {shown[:60]}")
        rows.setdefault(where, []).append((row, i, doc))
    data: dict[str, dict[str, float]] = {}
    for where, listed in rows.items():
        docs: dict[str, float] = {}
        keys = next(
            (keys for keys in (_SCORE_KEYS, _RANK_KEYS) if any(first_of(r, keys) for r, *_ in listed)), ()
        )
        worths = [(-_worth(row, keys, i, path), i, doc) for row, i, doc in listed]
        for rank, (_, _, doc) in enumerate(sorted(worths), 1):
            if doc in docs:
                found["listed again"].append(f"{where}: {doc[:60]}")
            else:
                docs[doc] = -float(rank)
        data[where] = docs
    if not data:
        raise BadInput(f"{path} has no rows", hint="check that the export finished")
    return Run(data, path.stem, Checks.of(found))


def _worth(row: Row, keys: tuple[str, ...], i: int, path: Path) -> float:
    """The score, or minus the rank; 0 without such a column, so that the order of the file decides."""
    if not keys:
        return 0.0
    given = first_of(row, keys)
    try:
        value = float(given) if keys is _SCORE_KEYS else -float(given)
    except ValueError as error:
        raise BadInput(
            f"{path}, line {i}: {given!r} is not a number",
            why=f"its topic is ordered by {keys[0]}",
            hint="fill that column in all rows of a topic, or in none",
        ) from error
    if not math.isfinite(value):
        raise BadInput(f"{path}, line {i}: a score that is {value} has no place in an order")
    return value


# Files beside a run: labels of topics, documents that are dropped, titles of a corpus.

_TITLES = ("title", "name")
_IDS = ("_id", "paper_id", "corpusid", *DOCUMENT_KEYS)


def read_labels(path: Path) -> dict[str, dict[str, str]]:
    """Topic -> label -> value, from a JSON object of objects, or rows with a column for the topic.

    Raises:
        BadInput: the file cannot be read, or has no column for topics.
    """
    whole = _json(_text(path))
    if isinstance(whole, dict) and all(isinstance(v, dict) for v in whole.values()):
        return {str(t): {str(k): str(v) for k, v in held.items()} for t, held in whole.items()}
    out: dict[str, dict[str, str]] = {}
    for number, row in read_rows(path):
        key = next((name for name in ("_id", *TOPIC_KEYS, "id") if row.get(name) not in (None, "")), None)
        if key is None:
            raise BadInput(f"{path}, line {number}: no topic", hint="name its column query_id")
        out[str(row[key])] = {n: str(v) for n, v in row.items() if n != key and isinstance(v, str | int)}
    return out


def read_excluded(path: Path) -> dict[str, frozenset[str]]:
    """Topic -> documents dropped, from a JSON object of lists, or lines with a topic and a document.

    Raises:
        BadInput: the file is neither.
    """
    text = _text(path)
    whole = _json(text)
    if isinstance(whole, dict) and all(isinstance(v, list) for v in whole.values()):
        return {str(t): frozenset(map(str, docs)) for t, docs in whole.items()}
    out: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("\t") if "\t" in line else line.split()
        if not words or words[0].lower() in TOPIC_KEYS:
            continue
        if len(words) != 2:
            raise BadInput(f"{path}, line {number}: {len(words)} words instead of topic and document")
        out.setdefault(words[0].strip(), set()).add(words[1].strip())
    return {topic: frozenset(docs) for topic, docs in out.items()}


def read_titles(path: Path) -> dict[str, str]:
    """Id -> title of a corpus: JSON Lines, csv or tsv with a column for each.

    Raises:
        BadInput: the file cannot be read, or a row has no id.
    """
    out: dict[str, str] = {}
    for number, row in read_rows(path):
        own = first_of(row, _IDS)
        if not own:
            raise BadInput(f"{path}, line {number}: no id", hint="name its column _id")
        out[own] = first_of(row, _TITLES)
    if not out:
        raise BadInput(f"{path} has no rows")
    return out


def _text(path: Path) -> str:
    if not path.is_file():
        raise BadInput(f"there is no file {path}", hint="check the path")
    return read_text(path)[0]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# The files that runs and judgements are written to.


def _write(path: Path, chunks: Iterable[str]) -> None:
    raw: Any
    if path.name.endswith(".gz"):
        raw = gzip.GzipFile(filename="", mode="wb", fileobj=path.open("wb"), mtime=0)
        raw.myfileobj = raw.fileobj
    elif path.name.endswith(".zst"):
        raw = zstd.ZstdFile(path, "wb")
    else:
        raw = path.open("wb")
    with io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as out:
        for chunk in chunks:
            out.write(chunk)


def _trec_run(data: Mapping[str, Mapping[str, float]], name: str, order: Order) -> Iterator[str]:
    """TREC run lines, a topic at a time, tie-free."""
    trec_words("topic", data)
    for topic, docs in data.items():
        ids = order_ids(docs, order)
        if not all(map(math.isfinite, docs.values())):
            raise BadInput(f"topic {topic!r} has a score that is NaN or infinite")
        yield trec_lines(topic, ids, [docs[doc] for doc in ids], name)


def _trec_qrels(data: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    topics = trec_words("topic", data)
    for topic, docs in data.items():
        words = trec_words("document", docs)
        yield from (f"{topics[topic]} 0 {words[doc]} {grade:.15g}\n" for doc, grade in docs.items())


def _jsonl(topics: Iterable[tuple[str, dict[str, float]]]) -> Iterator[str]:
    for topic, docs in topics:
        row = {"query_id": topic, "docs": docs}
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
