"""Statistics of a benchmark, as the papers that publish one print them: queries by label, and the corpus.

Words are what white space separates, and not a model's tokens. A column that a benchmark has nothing for is
left out. Sources: InfoSearch, table 9; LitSearch, table 2; SciFullBench, tables 3 and 4; OBLIQ-Bench,
table 1.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.lab.reports.tables import Cell, Table
from aspectra.papers.paper import Paper

_MOST_VALUES = 40  # of a label that queries are broken down by
_WORD = re.compile(r"[^\W_]+")


@dataclass
class _Corpus:
    """What one pass over the papers keeps: sums, and the words of relevant papers."""

    documents: int = 0
    words: list[int] = field(default_factory=list)
    characters: int = 0
    full: list[int] = field(default_factory=list)
    sections: int = 0
    years: list[int] = field(default_factory=list)
    texts: dict[str, frozenset[str]] = field(default_factory=dict)


def collection_tables(benchmark: Benchmark) -> list[Table]:
    """Two tables: queries, all and by each of their labels; and the corpus.

    Reads the corpus once, and the query papers where queries are papers outside of it.
    """
    wanted = {
        document
        for grades in benchmark.qrels.values()
        for docs in grades.values()
        for document, grade in docs.items()
        if grade > 0
    }
    corpus = _read(benchmark.papers(), wanted)
    seeds = {paper.id: _full_words(paper) for paper in benchmark.seeds()} if benchmark.seeds else {}
    return [_queries(benchmark, corpus, seeds), _papers(benchmark, corpus)]


def _full_words(paper: Paper) -> int:
    return sum(len(text.split()) for text in (paper.title, paper.abstract, *(s.text for s in paper.sections)))


def _read(papers: Iterable[Paper], wanted: set[str]) -> _Corpus:
    out = _Corpus()
    for paper in papers:
        text = f"{paper.title} {paper.abstract}".strip()
        out.documents += 1
        out.words.append(len(text.split()))
        out.characters += len(text) + sum(len(section.text) for section in paper.sections)
        if paper.has_full_text:
            out.full.append(_full_words(paper))
            out.sections += len(paper.sections)
        if paper.year is not None:
            out.years.append(paper.year)
        if paper.id in wanted:
            out.texts[paper.id] = frozenset(_WORD.findall(text.lower()))
    return out


def _groups(topics: Sequence[Topic]) -> list[tuple[str, str, list[Topic]]]:
    """(label, value, its topics): first all topics, then those of each value of each label."""
    out = [("all", "", list(topics))]
    for label in sorted({name for topic in topics for name in topic.labels}):
        values = sorted({topic.labels[label] for topic in topics if label in topic.labels})
        if 1 < len(values) <= _MOST_VALUES:
            out += [(label, v, [t for t in topics if t.labels.get(label) == v]) for v in values]
    return out


Measured = Callable[[Sequence[Topic]], Cell]


def _queries(benchmark: Benchmark, corpus: _Corpus, seeds: Mapping[str, int]) -> Table:
    columns = _query_columns(benchmark, corpus, seeds)
    groups = _groups(benchmark.topics)
    rows = [(label, value, *(made(own) for made in columns.values())) for label, value, own in groups]
    kept = [n for n in range(2, len(columns) + 2) if any(row[n] is not None for row in rows)]
    header = ("label", "value", *(list(columns)[n - 2] for n in kept))
    notes = [f"{benchmark.name}, revision {benchmark.revision[:12]}; words are separated by white space"]
    if "overlap" in header:
        notes.append(
            "overlap: share of a query's different words that are in title or abstract of its relevant papers"
        )
    return Table(
        f"{benchmark.name}: queries",
        header,
        tuple((row[0], row[1], *(row[n] for n in kept)) for row in rows),
        tuple(notes),
    )


def _query_columns(benchmark: Benchmark, corpus: _Corpus, seeds: Mapping[str, int]) -> dict[str, Measured]:
    out: dict[str, Measured] = {
        "queries": len,
        "core queries": lambda own: len({t.group for t in own if t.group and not t.seed}) or None,
        "query papers": lambda own: len({t.seed for t in own if t.seed}) or None,
        "words/query": lambda own: _mean([len(t.text.split()) for t in own if t.text]),
        "characters/query": lambda own: _mean([len(t.text) for t in own if t.text]),
        "words/query paper": lambda own: _mean([seeds[t.group] for t in own if t.group in seeds]),
    }
    for mode in [mode for mode in benchmark.modes if mode != "original"]:
        out[mode] = lambda own, mode=mode: sum(mode in t.instructions for t in own) or None  # type: ignore[misc]
        out[f"words/{mode}"] = lambda own, mode=mode: _mean(  # type: ignore[misc]
            [len(t.instructions[mode].split()) for t in own if mode in t.instructions]
        )
    for name in benchmark.qrels:
        grades = benchmark.qrels[name]
        counts = {t: sum(grade > 0 for grade in docs.values()) for t, docs in grades.items()}
        out[f"relevant/query, {name}"] = lambda own, c=counts: _mean([c[t.id] for t in own if t.id in c])  # type: ignore[misc]
        out[f"least, {name}"] = lambda own, c=counts: min((c[t.id] for t in own if t.id in c), default=None)  # type: ignore[misc]
    out["documents judged"] = lambda own: len(
        {d for grades in benchmark.qrels.values() for t in own for d in grades.get(t.id, ())}
    )
    if benchmark.pools is not None:
        pools = benchmark.pools
        out["candidates/query"] = lambda own: _mean([len(pools[t.id]) for t in own if t.id in pools])
    gold = next(iter(benchmark.qrels.values()), {})
    out["overlap"] = lambda own: _mean(
        [share for t in own if t.text and (share := _overlap(t, gold.get(t.id, {}), corpus)) is not None]
    )
    return out


def _overlap(topic: Topic, grades: Mapping[str, float], corpus: _Corpus) -> float | None:
    words = set(_WORD.findall(topic.text.lower()))
    texts = [corpus.texts[d] for d, grade in grades.items() if grade > 0 and d in corpus.texts]
    return len(words & frozenset().union(*texts)) / len(words) if words and texts else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _papers(benchmark: Benchmark, corpus: _Corpus) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("documents", corpus.documents),
        ("words of title and abstract, mean", _mean(corpus.words)),
        ("characters of the whole text, mean", corpus.characters / max(1, corpus.documents)),
    ]
    if corpus.full:
        rows += [
            ("with full text", len(corpus.full)),
            ("words of a full text, mean", _mean(corpus.full)),
            ("sections of a full text, mean", corpus.sections / len(corpus.full)),
        ]
    if corpus.years:
        rows += [("with a year", len(corpus.years)), ("years", f"{min(corpus.years)} to {max(corpus.years)}")]
    note = f"{benchmark.name}, revision {benchmark.revision[:12]}"
    return Table(f"{benchmark.name}: corpus", ("corpus", "number"), tuple(rows), (note,))
