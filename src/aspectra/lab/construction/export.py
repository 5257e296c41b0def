"""Writers of built sets, in the layouts in which benchmarks are published and read again.

Each writes a folder that the loader of the same layout reads; what a layout cannot hold is an error before a
file is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError, check_choice
from aspectra.base.files import disk, make_folder
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.benchmarks.scifullbench import document_id
from aspectra.lab.construction.protocol import Made, MadeText, QueryDraft, Workbench
from aspectra.papers.text.cleaning import clean

Write = Callable[[Made, Workbench, Path], None]
_MODES = {"original": "og", "instructed": "changed", "reversed": "reversed"}


@dataclass(frozen=True)
class FileLayout:
    """A layout.

    Attributes:
        write: writes the set into a folder.
        loader: the benchmark whose loader reads it.
        holds: what it can hold, for messages.
        seeds, aspects, modes: whether a query may be a paper, ask for an aspect, have instructions.
        pooled: whether grades of pools have a place beside those of the construction.
        whole: options with which the loader leaves nothing out.
    """

    write: Write
    loader: str
    holds: str
    seeds: bool = False
    aspects: bool = False
    modes: bool = False
    pooled: bool = False
    whole: Mapping[str, str] = field(default_factory=dict)

    def read(self, folder: Path) -> Benchmark:
        """The benchmark that its loader reads from a folder."""
        return BENCHMARKS.get(self.loader)(folder, **self.whole)

    def lacks(self, draft: QueryDraft) -> str:
        """The part of a query that it cannot hold, in words; "" if it holds the query."""
        if draft.seed and not self.seeds:
            return "a paper as the query"
        if draft.aspect and not self.aspects:
            return "an aspect"
        return "instructions" if draft.instructions and not self.modes else ""


LAYOUTS: dict[str, FileLayout] = {}


def layout(name: str, holds: str, *, loader: str = "", **declared: Any) -> Callable[[Write], Write]:
    """Decorator that makes a layout of a writer.

    Args:
        name: of the layout.
        holds: as in :class:`FileLayout`.
        loader: the benchmark whose loader reads it; "" for the one of that name.
        declared: any other field of :class:`FileLayout`.
    """

    def add(write: Write) -> Write:
        LAYOUTS[name] = FileLayout(write, loader or name, holds, **declared)
        return write

    return add


def write_set(made: Made, bench: Workbench, folder: Path, layout: str) -> FileLayout:
    """Write the set; the folder is made.

    Raises:
        UsageError: the layout does not exist, or cannot hold the set.
        OSError: a file cannot be written.
    """
    chosen = LAYOUTS[check_choice(layout, LAYOUTS, "layout")]
    for draft in made.drafts:
        if lacking := chosen.lacks(draft):
            fits = [name for name, one in LAYOUTS.items() if not any(map(one.lacks, made.drafts))]
            raise UsageError(
                f"the layout {layout} has no place for {lacking}, as the query {draft.id} needs",
                why=f"it holds {chosen.holds}",
                hint=f"--option layout={fits[0]}" if fits else "",
            )
    if "pooled" in made.qrels and not chosen.pooled:
        raise UsageError(
            f"the layout {layout} has no place for grades of pools",
            why=f"it holds {chosen.holds}",
            hint="--option layout=obliq, or --option pool.runs=[]",
        )
    make_folder(folder)
    chosen.write(made, bench, folder)
    return chosen


def _rows(path: Path, rows: Iterable[Any]) -> None:
    """Lines of JSON, or of text, on the disk when this returns."""
    make_folder(path.parent)
    with disk().create(path) as stream:
        for row in rows:
            line = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)
            stream.write(f"{line}\n".encode("utf-8", "replace"))
        disk().sync_stream(stream)


def _document(one: MadeText) -> dict[str, Any]:
    row: dict[str, Any] = {"_id": one.id, "title": one.title, "text": one.text}
    if one.sections:
        row["sections"] = [{"heading": heading, "text": text} for heading, text in one.sections]
    return row


def _qrels(path: Path, judged: Mapping[str, Mapping[str, int]]) -> None:
    for name in {*judged, *(document for grades in judged.values() for document in grades)}:
        if len(name.split()) != 1:
            raise UsageError(
                f"the id {name!r} has a blank in it", why="judgements are a table without quotes"
            )
    pairs = (f"{q}\t{doc}\t{grade}" for q, grades in judged.items() for doc, grade in grades.items())
    _rows(path, ["query-id\tcorpus-id\tscore", *pairs])


def _query(draft: QueryDraft) -> dict[str, Any]:
    values = {name: held[0] if len(held) == 1 else list(held) for name, held in draft.labels.items()}
    return {"_id": draft.id, "text": draft.text, **values}


def as_texts(made: Made, bench: Workbench) -> Iterator[dict[str, Any]]:
    """Queries as texts: a seed's is its title and abstract, beside which its full text is in the corpus."""
    seeds = bench.by_id(made, {draft.seed for draft in made.drafts if draft.seed})
    for draft in made.drafts:
        seed = seeds.get(draft.seed)
        text = draft.text or (clean(f"{seed.title}\n{seed.text}") if seed else "")
        yield {**_query(draft), "text": text}


def _write_plain(made: Made, bench: Workbench, folder: Path) -> None:
    """Write the files that the layouts of BEIR and OBLIQ-Bench share."""
    _rows(folder / "corpus.jsonl", map(_document, bench.documents(made)))
    _rows(folder / "queries.jsonl", as_texts(made, bench))
    _qrels(folder / "qrels.tsv", made.qrels.get("gold", {}))


@layout("beir", "texts or papers as queries, and one grade a pair", seeds=True)
def _write_beir(made: Made, bench: Workbench, folder: Path) -> None:
    there = set(made.corpus)
    for draft in made.drafts:
        if draft.seed and (draft.seed != draft.id or draft.seed not in there):
            raise UsageError(
                f"the query {draft.id} is the paper {draft.seed}"
                + ("" if draft.seed in there else ", which is not in the corpus"),
                why="in the layout beir a query that is a paper has its id, and is in the corpus",
                hint="--option layout=aspect-pairs, or scifullbench",
            )
    _write_plain(made, bench, folder)


@layout("mteb", "texts as queries, one grade a pair, and candidates", loader="obliq", seeds=True)
def _write_mteb(made: Made, bench: Workbench, folder: Path) -> None:
    everything = frozenset(made.corpus)
    _rows(folder / "writing-corpus.jsonl", map(_document, bench.documents(made)))
    _rows(folder / "writing-queries.jsonl", as_texts(made, bench))
    grades = made.qrels.get("gold", {})
    pairs = ((q, doc, grade) for q, held in grades.items() for doc, grade in held.items())
    fields = ("query-id", "corpus-id", "score")
    _rows(folder / "writing-qrels.jsonl", (dict(zip(fields, pair, strict=True)) for pair in pairs))
    ranked = (
        {"query-id": draft.id, "corpus-ids": sorted(everything.difference(made.excluded.get(draft.id, ())))}
        for draft in made.drafts
    )
    _rows(folder / "writing-top_ranked.jsonl", ranked)


@layout("obliq", "texts as queries, gold and pooled grades, exclusions", seeds=True, pooled=True)
def _write_obliq(made: Made, bench: Workbench, folder: Path) -> None:
    _write_plain(made, bench, folder)
    if "pooled" in made.qrels:
        _qrels(folder / "qrels_pool.tsv", made.qrels["pooled"])
    if made.excluded:
        kept = {query: sorted(ids) for query, ids in sorted(made.excluded.items())}
        _rows(folder / "per_query_excluded_ids.json", [kept])


@layout(
    "aspect-pairs",
    "a paper and an aspect, alike and contrast papers",
    seeds=True,
    aspects=True,
    whole={"most": "0"},
)
def _write_aspect_pairs(made: Made, bench: Workbench, folder: Path) -> None:
    _rows(folder / "corpus.jsonl", map(_document, bench.documents(made)))
    gold = made.qrels.get("gold", {})
    rows = []
    for draft in made.drafts:
        grades = gold.get(draft.id, {})
        positives = sum(grade > 0 for grade in grades.values())
        counts = {"positives": positives, "contrast": len(grades) - positives}
        shown = {"_id": draft.id, "seed": draft.seed, "aspect": draft.aspect}
        rows.append({**shown, "labels": list(draft.labels.get("label", ())), **counts})
    _rows(folder / "queries.jsonl", rows)
    _qrels(folder / "qrels.tsv", gold)


@layout("infosearch", "queries with instructions in three modes", modes=True)
def _write_infosearch(made: Made, bench: Workbench, folder: Path) -> None:
    _rows(folder / "corpus.jsonl", map(_document, bench.documents(made)))
    rows = []
    for draft in made.drafts:
        told = {f"instruction_{short}": draft.instructions.get(mode, "") for mode, short in _MODES.items()}
        rows.append({**_query(draft), **told})
    _rows(folder / "queries.jsonl", rows)
    for mode, short in _MODES.items():
        _qrels(folder / f"qrels_{short}" / "test.tsv", made.qrels.get(mode, {}))


@layout("litsearch", "questions with the papers that answer them")
def _write_litsearch(made: Made, bench: Workbench, folder: Path) -> None:
    numbers = {name: number for number, name in enumerate(made.corpus, 1)}  # its ids are whole numbers
    rows = (
        {"corpusid": numbers[one.id], "title": one.title, "abstract": one.text, "full_paper": ""}
        for one in bench.documents(made)
    )
    _rows(folder / "corpus_clean.jsonl", rows)
    gold = made.qrels.get("gold", {})
    asked = (
        {
            "query": draft.text,
            "corpusids": [numbers[doc] for doc, grade in gold.get(draft.id, {}).items() if grade > 0],
            "query_set": next(iter(draft.labels.get("query_set", ("inline_nonacl",)))),
            "specificity": next((int(one) for one in draft.labels.get("specificity", ())), 1),
            "quality": next((int(one) for one in draft.labels.get("quality", ())), 1),
        }
        for draft in made.drafts
    )
    _rows(folder / "query.jsonl", asked)
    _rows(folder / "ids.tsv", (f"{number}\t{name}" for name, number in numbers.items()))


@layout("scifullbench", "full papers and what they cite", seeds=True)
def _write_scifullbench(made: Made, bench: Workbench, folder: Path) -> None:
    corpus, ids = [], {}
    for one in bench.documents(made):
        ids[one.id] = document_id(one.title, one.text)
        corpus.append({"title": one.title, "abstract": one.text})
    _rows(folder / "Target_Corpus" / "corpus.json", [corpus])
    gold = made.qrels.get("gold", {})
    for draft in made.drafts:
        (seed,) = bench.documents(made, [draft.seed])
        direction = next(iter(draft.labels.get("direction", ("references",))))
        task = {"references": "Direct_References", "citations": "Cited_Papers"}[direction]
        venue = folder / "Benchmark" / next(iter(draft.labels.get("venue", ("library",))))
        relevant = list(bench.documents(made, sorted(gold.get(draft.id, {}))))
        row = {
            "id": ids.get(draft.seed) or document_id(seed.title, seed.text),
            "Query": {"title": seed.title, "abstract": seed.text},
            "Candidate": [{"title": one.title, "abstract": one.text} for one in relevant],
        }
        name = str(row["id"]).replace(":", "-")
        _rows(venue / task / f"{name}.json", [row])
        if seed.sections:
            text = (f"# {heading or 'Text'}\n\n{body}\n" for heading, body in seed.sections)
            _rows(venue / "Full_Papers" / f"{name}.mmd", [f"# {seed.title}\n", *text])
    _rows(folder / "ids.tsv", (f"{hashed}\t{name}" for name, hashed in ids.items()))
