"""Shared by all loaders: the corpus as a stream, and counts of what is wrong with a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from aspectra.base.errors import BadInput
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Audit, Topic
from aspectra.lab.runs.judged import Grades
from aspectra.lab.runs.rows import Row, first_of
from aspectra.papers.paper import Paper
from aspectra.papers.sources.json.generic import papers_in_record
from aspectra.papers.sources.protocol import ReadOptions

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
        out = []
        if self.dropped:
            out.append(f"{self.dropped} documents repeat the id of another and are left out")
        if self.same_text:
            out.append(f"{self.same_text} documents repeat the whole text of another")
        if self.empty:
            out.append(f"{self.empty} documents have no text")
        return out


class Corpus:
    """Documents of a benchmark, streaming.

    Args:
        rows: opens the records anew at each call.
        convert: a record as a paper.
        key: a record's id.
    """

    def __init__(
        self,
        rows: Callable[[], Iterable[Row]],
        convert: Callable[[Row], Paper] = paper_of,
        key: Callable[[Row], str] = own_id,
    ) -> None:
        self._rows = rows
        self._convert = convert
        self._key = key
        self._scan: Scan | None = None

    def scan(self) -> Scan:
        """What one pass over all documents finds; only ids and short hashes of texts stay in memory.

        Raises:
            BadInput: a document has no id, or a file cannot be used.
        """
        if self._scan is None:
            ids: set[str] = set()
            repeated: set[str] = set()
            texts: set[bytes] = set()
            same = empty = dropped = 0
            for number, row in enumerate(self._rows(), 1):
                name = self._key(row)
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

    def papers(self) -> Iterator[Paper]:
        """The papers, in the order of the file, each id once."""
        repeated = self.scan().repeated
        seen: set[str] = set()
        for row in self._rows():
            name = self._key(row)
            if name in repeated:
                if name in seen:
                    continue
                seen.add(name)
            yield self._convert(row)


def counted(number: int, one: str, many: str) -> str:
    """A number with the right form of its noun."""
    return f"{number} {one if number == 1 else many}"


class Problems(list[str]):
    """What is wrong with a benchmark, each one sentence."""

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
    out: dict[str, Grades] = {}
    for name, grades in qrels.items():
        out[name] = {query: of_query for query, of_query in grades.items() if query in names}
        rest = f"not among the topics (judgements {name!r}), left out"
        problems.add(len(grades) - len(out[name]), "judged query is", "judged queries are", rest)
        missing = len(names) - len(out[name])
        problems.add(missing, "topic has", "topics have", f"no judgements in {name!r}")
    return kept, out, problems


def audit(
    folder: Folder,
    scan: Scan,
    topics: Sequence[Topic],
    qrels: Mapping[str, Grades],
    *,
    pools: Mapping[str, Sequence[str]] | None = None,
    excluded: Mapping[str, Iterable[str]] | None = None,
    problems: Iterable[str] = (),
) -> Audit:
    """The audit of a benchmark: what is wrong, counted, behind what its loader found itself.

    Args:
        folder: whose checksums and notes are reported.
        scan: of the corpus.
        topics: those kept.
        qrels: those kept.
        pools: documents to be ranked by topic, or None.
        excluded: documents dropped from rankings by topic.
        problems: the loader's own findings.
    """
    found = Problems((*problems, *scan.problems()))
    empty = sum(not topic.text.strip() and not topic.seed for topic in topics)
    found.add(empty, "query is", "queries are", "empty")
    for name, grades in qrels.items():
        pairs = [(query, document) for query, of_query in grades.items() for document in of_query]
        lost = [document for _, document in pairs if document not in scan.ids]
        rest = f"not in the corpus ({counted(len(lost), 'judgement', 'judgements')} of {name!r})"
        found.add(len(set(lost)), "judged document is", "judged documents are", rest)
        bare = sum(not any(grade > 0 for grade in of_query.values()) for of_query in grades.values())
        found.add(bare, "topic has", "topics have", f"nothing relevant in {name!r}")
    if pools is not None:
        groups = {id(pool): pool for pool in pools.values()}
        lost_pool = {document for pool in groups.values() for document in pool} - scan.ids
        found.add(len(lost_pool), "document", "documents", "of the pools not in the corpus")
    clash = {
        (query, document)
        for query, documents in (excluded or {}).items()
        for document in documents
        for grades in qrels.values()
        if grades.get(query, {}).get(document, 0) > 0
    }
    found.add(len(clash), "relevant document is", "relevant documents are", "excluded")
    return Audit(
        checksums=dict(folder.checksums),
        documents=len(scan.ids),
        topics=len(topics),
        judged={name: sum(map(len, grades.values())) for name, grades in qrels.items()},
        problems=(*found, *folder.notes),
    )
