"""SciFullBench: from a full paper to the papers it refers to, and to those that cite it.

Read is the unpacked data set: ``Benchmark/VENUE/TASK/ID.json`` with the query paper and its relevant papers,
``Target_Corpus/*/corpus.json``, and the queries' texts ``ID.mmd``. The tool knows no ids: a document is the
string of its title and abstract, and relevance is equality of strings. Here the id is a hash of that string,
so that the judgements are the same ones.

A query is a paper with its full text, so that every unit of it (A, F, aspects) can be searched with. Query
papers that are not in the corpus join it, and no topic ranks them.

Source: PRISM / Chain of Retrieval with SciFullBench. Recall and nDCG are binary; the two directions are
references (what the query cites) and citations (what cites the query).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.base.files import digest_texts
from aspectra.base.values import replace
from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Benchmark, HubSet, Option, Topic, benchmark
from aspectra.lab.runs.rows import Row
from aspectra.papers.paper import Paper, Section
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.text.cleaning import clean

_TEXTS = ("title-abstract", "chunks", "pairs", "full")
_QUERIES = ("papers", "text")
_FULL = ("Full_Papers_remove_citations_True_remove_mentions_True", "Full_Papers", "Full_Paper")
_BASES = (
    "",
    "Final_Dataset_w_citations_mentions_removed",
    "SciFullBench/Final_Dataset_w_citations_mentions_removed",
    "Paper2PaperRetrievalBench/SciFullBench/Final_Dataset_w_citations_mentions_removed",
)


def document_id(title: object, abstract: object) -> str:
    """The id of a document that has none: a hash of the very string the tool compares.

    >>> document_id("T", "A") == document_id("T", "A "), len(document_id("T", "A"))
    (False, 18)
    """
    return "p:" + digest_texts([f"Title: {title}\nAbstract: {abstract}"])[:16]


@dataclass(frozen=True)
class _Query:
    topic: str
    venue: str
    task: str
    file: Path
    row: Row


@benchmark(
    "scifullbench",
    files="the unpacked data set, or any folder of it down to the one that holds Benchmark.",
    licence="as the data set's card states on the hub; texts belong to their authors",
    source=(
        "huggingface.co/datasets/Jackson0018/Paper2PaperRetrievalBench. Cite: the PRISM paper that"
        " introduces SciFullBench"
    ),
    options=(
        Option("venue", "only this venue"),
        Option("direction", "only references, citations, or the folder of one task"),
        Option(
            "text",
            "what of a document is indexed; chunks, pairs of neighbouring ones, and full texts come from the"
            " corpus file. Queries always have their full text",
            _TEXTS,
            _TEXTS[0],
        ),
        Option(
            "queries",
            "papers: query papers that are not in the corpus are indexed with their full text, and never"
            " ranked; text: their title and abstract are the query",
            _QUERIES,
            _QUERIES[0],
        ),
    ),
    measures=("R@100", "R@200", "R@300", "MRR@50", "nDCG@10"),
    hub=(HubSet("Jackson0018/Paper2PaperRetrievalBench", ""),),
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """SciFullBench: from a full paper to the papers it refers to, and to those that cite it.

    Venues and directions are one benchmark with the labels ``venue`` and ``direction``.
    """
    given = folder.root
    root = next((given / base for base in _BASES if (given / base / "Benchmark").is_dir()), given)
    folder = folder.at(root)
    queries = list(_queries(folder, options["venue"], options["direction"]))
    file = next(iter(sorted((root / "Target_Corpus").rglob("corpus.json*"))), None)
    file = file or folder.need("Target_Corpus/corpus.json", "corpus.json")

    as_papers = options["queries"] == "papers"
    texts = {_name(query): _full_text(root, query.file) for query in queries}

    def convert(row: Row) -> Paper:
        paper = _document(row, options["text"], root)
        own = texts.get(paper.id) if as_papers and not paper.sections else None
        return replace(paper, sections=_sections(own)) if own else paper

    corpus = Corpus(lambda: folder.rows(file), convert, key=_key)
    scan = corpus.scan()
    joined = frozenset(texts.keys() - scan.ids) if as_papers else frozenset()

    def papers() -> Iterator[Paper]:
        yield from corpus.papers()
        yield from (paper for paper in _seeds(folder, queries) if paper.id in joined)

    known = scan.ids | joined
    gold: dict[str, dict[str, float]] = {}
    topics: list[Topic] = []
    twice = untold = 0
    for query in queries:
        relevant = [_key(item) for item in _candidates(query)]
        if relevant:
            gold[query.topic] = dict.fromkeys(relevant, 1.0)
            twice += len(relevant) - len(gold[query.topic])
        topics.append(_topic(query, known))
        untold += _full_text(root, query.file) is None
    kept, qrels, problems = keep_judged(topics, {"gold": gold}, "gold")
    problems.add(twice, "relevant paper is", "relevant papers are", "listed twice")
    problems.add(untold, "query paper has", "query papers have", "no full text (.mmd)")
    excluded = {topic.id: frozenset([topic.seed]) for topic in kept if topic.seed in scan.ids}
    rest = "in the corpus: excluded for itself, though the tool ranks it"
    problems.add(len(excluded), "query paper is", "query papers are", rest)
    rest = "not in the corpus: indexed with full text, and ranked for no query"
    problems.add(len(joined), "query paper is", "query papers are", rest)
    told: dict[str, Any] = {"papers": papers, "excluded": excluded, "unranked": joined}
    told["seeds"] = lambda: _seeds(folder, queries)
    return audited(folder, corpus, "scifullbench", kept, qrels, problems, **told)


def _key(row: Row) -> str:
    return document_id(row.get("title", ""), row.get("abstract", ""))


def _paper(row: Row) -> Paper:
    return Paper(_key(row), clean(row.get("title")), clean(row.get("abstract")))


def _direction_of(task: str) -> str:
    """References or citations, from the name of a task's folder; unknown names stay as they are.

    The release has the folders ``Direct_References`` and ``Cited_Papers``; the latter is what its paper calls
    the citation split of a venue ("ICLR-cited"): papers that cite the query.

    >>> _direction_of("Direct_References"), _direction_of("Cited_Papers"), _direction_of("Other")
    ('references', 'citations', 'Other')
    """
    name = task.casefold()
    if "reference" in name:
        return "references"
    return "citations" if "cit" in name else task


def _queries(folder: Folder, venue: str, direction: str) -> Iterator[_Query]:
    """Queries of all venues and tasks: the folders are listed, because their names are not all published."""
    found: list[str] = []
    count = 0
    base = folder.root / "Benchmark"
    if not base.is_dir():
        raise BadInput(f"{folder.root} has no folder Benchmark", hint="name the unpacked data set")
    for place in sorted(base.iterdir()):
        tasks = sorted(task for task in place.iterdir() if task.is_dir()) if place.is_dir() else []
        for task in tasks:
            files = sorted(
                file for file in task.iterdir() if file.name.endswith((".json", ".json.gz", ".json.zst"))
            )
            if not files:
                continue
            found.append(f"{place.name}/{task.name}")
            if venue and place.name.casefold() != venue.casefold():
                continue
            if direction and direction not in (task.name, _direction_of(task.name)):
                continue
            for file in files:
                row = folder.object(file)
                own = clean(row.get("id")) or file.name.split(".json")[0]
                count += 1
                yield _Query(f"{place.name}/{task.name}/{own}", place.name, task.name, file, row)
    if not count:
        raise BadInput(
            f"{base} holds no query for {venue or 'any venue'}, {direction or 'any direction'}",
            why="found: " + ", ".join(found) if found else "no folder VENUE/TASK with JSON files",
        )


def _candidates(query: _Query) -> list[dict[str, Any]]:
    given = query.row.get("Candidate")
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise BadInput(f"{query.file}: no list of relevant papers (Candidate)", hint="fetch the file again")
    return given


def _paper_of_query(query: _Query) -> dict[str, Any]:
    given = query.row.get("Query")
    if not isinstance(given, dict):
        raise BadInput(f"{query.file}: no query paper (Query)", hint="fetch the file again")
    return given


def _name(query: _Query) -> str:
    return _key(_paper_of_query(query))


def _topic(query: _Query, corpus: frozenset[str]) -> Topic:
    paper = _paper_of_query(query)
    title, abstract = paper.get("title", ""), paper.get("abstract", "")
    name = _name(query)
    known = name in corpus
    return Topic(
        query.topic,
        "" if known else clean(f"{title}\n{abstract}"),
        seed=name if known else "",
        group=name,
        labels={"venue": query.venue, "task": query.task, "direction": _direction_of(query.task)},
    )


def _full_text(root: Path, file: Path) -> Path | None:
    """``Benchmark/NAME/ID.mmd`` or ``Benchmark/VENUE/NAME/ID.mmd``: its scripts build both."""
    name = file.name.split(".json")[0]
    venue = file.parent.parent
    places = [place / folder / f"{name}.mmd" for folder in _FULL for place in (venue, venue.parent)]
    return next((place for place in places if place.is_file()), None)


def _seeds(folder: Folder, queries: list[_Query]) -> Iterator[Paper]:
    seen: set[str] = set()
    for query in queries:
        paper = _paper(_paper_of_query(query))
        if paper.id in seen:
            continue
        seen.add(paper.id)
        file = _full_text(folder.root, query.file)
        yield replace(paper, sections=_sections(file)) if file else paper


def _sections(file: Path) -> tuple[Section, ...]:
    """The sections of a full text; a text without headings is one section."""
    found = next((item for item in read_papers(file, "markdown") if isinstance(item, Paper)), None)
    if found is None:
        return ()
    return found.sections or ((Section("", found.abstract),) if found.abstract else ())


def _document(row: Row, texts: str, root: Path) -> Paper:
    paper = _paper(row)
    if texts in ("chunks", "pairs"):
        parts = next(
            (v for k, v in row.items() if k.startswith("chunked_sections") and isinstance(v, list)), []
        )
        size = 2 if texts == "pairs" else 1
        joined = (" ".join(map(str, parts[at : at + size])) for at in range(0, len(parts), size))
        return replace(paper, sections=tuple(Section("", clean(part)) for part in joined))
    if texts == "full" and isinstance(row.get("full_paper_directory"), str):
        relative = clean(row["full_paper_directory"])
        # Given relative to the folder above the data set's; never followed out of it.
        for base in (root.parent, root):
            file = (base / relative).resolve()
            if file.is_relative_to(base.resolve()) and file.is_file():
                return replace(paper, sections=_sections(file))
    return paper
