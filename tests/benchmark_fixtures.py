"""Small made-up collections in the exact layouts of the published benchmarks, written on the spot."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.decompression import zstd


def put(path: Path, text: str) -> Path:
    """Write a text file, compressed where its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode()
    if path.suffix == ".gz":
        raw = gzip.compress(raw)
    elif path.suffix == ".zst":
        raw = zstd.compress(raw)
    path.write_bytes(raw)
    return path


def lines(path: Path, rows: Iterable[Any]) -> Path:
    return put(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def qrels(path: Path, pairs: Iterable[tuple[Any, ...]], header: str = "query-id\tcorpus-id\tscore") -> Path:
    text = f"{header}\n" if header else ""
    return put(path, text + "".join("\t".join(map(str, pair)) + "\n" for pair in pairs))


def as_parquet(path: Path, to: Path, parts: int = 1) -> None:
    """Write the rows of a file of JSON Lines, or of a tsv with a header, as parts of a Parquet table.

    The parts are named as a hub's client names those of a split.
    """
    import pyarrow
    from pyarrow import parquet

    text = path.read_text("utf-8").splitlines()
    if path.suffix == ".tsv":
        header = text[0].split("\t")
        rows = [dict(zip(header, line.split("\t"), strict=True)) for line in text[1:]]
        rows = [{**row, "score": float(row["score"])} for row in rows]
    else:
        rows = [json.loads(line) for line in text]
    to.parent.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // parts)
    for n in range(parts):
        table = pyarrow.Table.from_pylist(rows[n * size : (n + 1) * size])
        parquet.write_table(table, to.with_name(f"{to.name}-{n:05d}-of-{parts:05d}.parquet"))
    path.unlink()


def csfcube(folder: Path, packed: str = "") -> Path:
    """Three query papers, four pairs, two facets of one paper; one pool holds its own query."""
    papers = [
        {
            "paper_id": str(100 + number),
            "title": f"Paper number {number}",
            "abstract": [f"Birds of kind {number} sing.", "We count them by ear.", "Half of them are owls."],
            "pred_labels": ["background_label", "method_label", "result_label"],
            "metadata": {"year": 2000 + number},
        }
        for number in range(8)
    ]
    lines(folder / f"abstracts-csfcube-preds.jsonl{packed}", papers)
    pairs = {
        "background": {"100": {"101": 3, "102": 1, "103": 0}, "101": {"101": 3, "104": 2, "105": 0}},
        "method": {"100": {"101": 0, "103": 2, "106": 1}},
        "result": {"102": {"103": 1, "104": 0, "999": 2}},
    }
    packed_too = ".gz" if packed else ""
    for facet, seeds in pairs.items():
        value = {}
        for number, (seed, grades) in enumerate(seeds.items()):
            ratings = list(grades.values())
            value[seed] = {"cands": list(grades)}
            value[seed] |= {f"relevance_{name}": ratings for name in ("adju", "max", "min")}
            # Four annotators, two of them a pair, as in the release.
            second, first = ("ann3", "ann2") if number else ("ann4", "ann1")
            value[seed] |= {f"relevance_{second}": ratings[::-1], f"relevance_{first}": ratings}
        put(folder / f"test-pid2anns-csfcube-{facet}.json{packed_too}", json.dumps(value))
    fold1, fold2 = ["100_background", "100_method"], ["101_background", "102_result", "555_result"]
    splits = {"fold1_dev": fold1, "fold2_dev": fold2, "fold1_test": fold2, "fold2_test": fold1}
    put(folder / "evaluation_splits.json", json.dumps({"all": splits, "background": splits}))
    return folder


def modes(
    folder: Path, prefix: str = "q", packed: str = "", reverse: bool = True, original: str = ""
) -> Path:
    """One dimension: two core queries, three instructed ones, a fourth without original judgements."""
    corpus = [{"_id": f"d{n}", "title": "", "text": f"How to feed owl {n}, told in words"} for n in range(6)]
    lines(folder / f"corpus.jsonl{packed}", corpus)
    asked = {"1": "feeding owls", "2": "feeding owls", "3": "bathing owls", "4": "selling owls"}
    rows = []
    for number, text in asked.items():
        row = {"_id": f"{prefix}{number}", "text": text, "instruction_og": original}
        row |= {"instruction_changed": f"For reader {number}.", "keywords": "owl"}
        if reverse:
            row["instruction_reversed"] = f"Not for reader {number}."
        rows.append(row)
    lines(folder / f"queries.jsonl{packed}", rows)
    og = [("1", "d0"), ("1", "d1"), ("2", "d0"), ("2", "d1"), ("3", "d2"), ("3", "d3")]
    changed = [("1", "d0"), ("2", "d1"), ("3", "d2"), ("4", "d4")]
    turned = [("1", "d1"), ("2", "d0"), ("3", "d3")]
    packed_too = ".gz" if packed else ""
    for name, pairs in (("og", og), ("changed", changed), ("reversed", turned)):
        if name != "reversed" or reverse:
            rated = [(f"{prefix}{q}", d, 1) for q, d in pairs]
            qrels(folder / f"qrels_{name}" / f"test.tsv{packed_too}", rated)
    return folder


def infosearch(folder: Path, packed: str = "") -> Path:
    return modes(folder, packed=packed)


def infosearch_all(folder: Path, packed: str = "") -> Path:
    for name in ("Clarity-v1", "Length-v1"):
        modes(folder / name, packed=packed)
    return folder


def followir(folder: Path, packed: str = "") -> Path:
    modes(folder, packed=packed, reverse=False, original="Anything about owls.")
    ranked = [{"qid": f"q{q}", "pid": f"d{d}"} for q in range(1, 4) for d in range(5)]
    lines(folder / "top_ranked" / f"test.jsonl{packed}", ranked)
    return folder


def instructir(folder: Path, packed: str = "") -> Path:
    """Two queries under two users each; the text is the instruction, a mark and the query."""
    corpus = [
        {"_id": f"p{q}_{u}", "title": "", "text": f"Owl {q} for user {u}"} for q in (1, 2) for u in (1, 2)
    ]
    lines(folder / f"corpus.jsonl{packed}", corpus)
    rows = [
        {"_id": f"{q}_{u}", "text": f"I am user {u}. [SEP] owl {q}", "metadata": {}}
        for q in (1, 2)
        for u in (1, 2)
    ]
    lines(folder / f"queries.jsonl{packed}", rows)
    pairs = [(f"{q}_{u}", f"p{q}_{u}", 1) for q in (1, 2) for u in (1, 2)]
    qrels(folder / "qrels" / f"test.tsv{'.gz' if packed else ''}", pairs, header="qid\tpid\tscore")
    return folder


def litsearch(folder: Path, packed: str = "") -> Path:
    sets = ("inline_nonacl", "manual_acl", "inline_acl", "manual_iclr")
    rows = [
        {
            "query_set": sets[n],
            "query": f"Which papers feed owl {n}?",
            "specificity": n % 2,
            "quality": 1 + n // 2,
            "corpusids": [7000 + n, 7004] if n == 3 else [7000 + n],
        }
        for n in range(4)
    ]
    lines(folder / f"query.jsonl{packed}", rows)
    papers = [
        {
            "corpusid": 7000 + n,
            "title": f"Owls {n}",
            "abstract": "" if n == 2 else f"Of feeding owl {n}.",
            "citations": [7000 + (n + 1) % 6],
            "full_paper": f"Owls eat.\n\nOwl number {n} eats a great many mice in one night.",
        }
        for n in range(6)
    ]
    lines(folder / f"corpus_clean.jsonl{packed}", papers)
    return folder


def scifullbench(folder: Path, packed: str = "") -> Path:
    """Two venues, two directions; one relevant paper is not in the corpus, one document comes twice."""
    base = folder / "Benchmark"
    docs = [{"title": f"Owl study {n}", "abstract": f"We study owl {n}."} for n in range(5)]
    asked = {"ACL": ("a1", "Cited_Papers", [0, 1]), "ICLR": ("i1", "Direct_References", [2, 9])}
    for venue, (name, task, relevant) in asked.items():
        query = {"title": f"Query {name}", "abstract": f"What {name} is about."}
        cands = [{"title": f"Owl study {n}", "abstract": f"We study owl {n}."} for n in relevant]
        value = {"id": name, "Query": query, "Candidate": cands}
        put(base / venue / task / f"{name}.json{packed}", json.dumps(value))
    text = "# Query a1\n\n## Abstract\n\nWhat a1 is about.\n\n## Method\n\nWe ask owls.\n"
    put(base / "ACL" / "Full_Papers" / "a1.mmd", text)
    put(base / "Full_Papers" / "i1.mmd", text.replace("a1", "i1"))
    rows = [
        {**doc, "full_paper_directory": "x.mmd", "chunked_sections_3000": ["Part one.", "Two."]}
        for doc in docs
    ]
    place = folder / "Target_Corpus" / "target_corpus_citations_removed_True_mentions_removed_True"
    put(place / f"corpus.json{packed}", json.dumps([*rows, rows[0]], indent=1))
    return folder


def obliq_mteb(folder: Path, packed: str = "", task: str = "writing") -> Path:
    """One task as mteb's copy has it: an ``id``, one set of judgements, and candidates by query."""
    corpus = [{"id": f"t{n}", "text": f"A riddle about owl {min(n, 4)}"} for n in range(6)]
    rows = {
        "corpus": corpus,
        "queries": [{"id": f"q{n}", "text": f"owl riddle {n}"} for n in range(2)],
        "qrels": [
            {"query-id": "q0", "corpus-id": "t1", "score": 1},
            {"query-id": "q1", "corpus-id": "t2", "score": 2},
        ],
        "top_ranked": [
            {"query-id": "q0", "corpus-ids": ["t1", "t2", "t3", "t4", "t5"]},
            {"query-id": "q1", "corpus-ids": ["t1", "t2", "t3", "t4"]},
        ],
    }
    for config, held in rows.items():
        lines(folder / f"{task}-{config}" / f"test.jsonl{packed}", held)
    return folder


def obliq(folder: Path, packed: str = "") -> Path:
    """One task in the raw layout, with solutions, pooled judgements, exclusions and one repeated text."""
    corpus = [{"_id": f"t{n}", "text": f"A riddle about owl {min(n, 4)}"} for n in range(6)]
    corpus = [{**row, "solution": f"Count wings of {row['_id']}."} for row in corpus]
    lines(folder / "corpus" / f"corpus.jsonl{packed}", corpus)
    at = folder / "queries+qrels"
    asked = [{"_id": f"q{n}", "text": f"owl riddle {n}"} for n in range(2)]
    asked = [{**row, "solution": f"Count wings of {row['_id']}."} for row in asked]
    lines(at / f"queries.jsonl{packed}", asked)
    packed_too = ".gz" if packed else ""
    qrels(at / f"qrels.tsv{packed_too}", [("q0", "t1", 1), ("q1", "t2", 1)], "query_id\tcorpus_id\tscore")
    qrels(at / f"qrels_pool.tsv{packed_too}", [("q0", "t1", 1), ("q0", "t3", 1), ("q1", "t2", 1)])
    put(at / f"per_query_excluded_ids.json{packed_too}", json.dumps({"q0": ["t0"], "q1": ["t0", "t5"]}))
    return folder


def beir(folder: Path, packed: str = "") -> Path:
    corpus = [{"_id": f"b{n}", "title": f"Owl {n}", "text": f"The owl {n} flies"} for n in range(5)]
    lines(folder / f"corpus.jsonl{packed}", corpus)
    rows = [{"_id": f"q{n}", "text": f"flying {n}", "instruction": "Find owls."} for n in range(3)]
    lines(folder / f"queries.jsonl{packed}", rows)
    pairs = [("q0", "b0", 0.5), ("q0", "b1", 0), ("q1", "b2", 1)]
    qrels(folder / f"qrels.tsv{'.gz' if packed else ''}", pairs)
    return folder


def requests(folder: Path, packed: str = "") -> Path:
    """Ninety papers with years, venues and keywords, some of them surveys."""
    subjects = ("owl flight", "mouse hunting", "nest building")
    rows = []
    for n in range(90):
        own = [subject for k, subject in enumerate(subjects) if n % (k + 2) == 0]
        title = f"{'A survey of ' if n % 9 == 0 else ''}{' and '.join(own) or 'feathers'}, part {n}"
        row = {"id": f"p{n}", "title": title, "abstract": f"We watch birds in forest {n}.", "keywords": own}
        rows.append({**row, "year": 2000 + n % 20, "venue": ("icra", "nips", "acl")[n // 3 % 3]})
    lines(folder / f"papers.jsonl{packed}", rows)
    return folder


def labelled(folder: Path, packed: str = "") -> Path:
    """Ninety papers with headings: birds and what is done to them."""
    rows, given = [], []
    for n in range(90):
        bird = ("Owls", "Eagles, Golden")[n % 2]
        done = {"Feeding": 2 if n % 3 == 0 else 0} if n % 3 < 2 else {}
        text = f"We study {'owls' if n % 2 == 0 else 'golden eagles'}{' and their feeding' if done else ''}."
        rows.append({"_id": f"p{n}", "title": f"Birds {n}", "text": text})
        given.append({"_id": f"p{n}", "background": {bird: 2}, "method": done})
    lines(folder / f"corpus.jsonl{packed}", rows)
    lines(folder / f"labels.jsonl{packed}", given)
    return folder


def aspect_pairs(folder: Path, packed: str = "") -> Path:
    """Two seeds, two aspects; a label of three queries and one of a single query; contrast papers."""
    lines(
        folder / f"corpus.jsonl{packed}",
        [{"_id": f"p{n}", "title": f"Owl {n}", "text": f"Feeding owl {n} with mice."} for n in range(6)],
    )
    asked = {
        "p0#background": ["Owls, Barn"],
        "p0#method": ["feeding", "mice"],
        "p1#method": ["feeding"],
        "p2#method": ["feeding"],
        "p3#method": ["feeding"],
    }
    rows = [
        {"_id": name, "seed": name[:2], "aspect": name[3:], "labels": labels}
        for name, labels in asked.items()
    ]
    lines(folder / f"queries.jsonl{packed}", rows)
    pairs = [
        pair
        for name in asked
        for pair in ((name, "p4", 2), (name, "p5", 0))
        if (name, pair[1]) != ("p1#method", "p5")
    ]
    qrels(folder / f"qrels.tsv{'.gz' if packed else ''}", pairs)
    return folder


@dataclass(frozen=True)
class Layout:
    """The test value of a benchmark: with it, tests/unit/lab/test_benchmark_conformance.py checks the loader.

    Attributes:
        benchmark: its registry name.
        write: (folder, packed) -> the folder, filled with a small made-up collection.
        optional: parts of names of files that may be absent; ``("",)`` where any file may be.
    """

    benchmark: str
    write: Callable[..., Path]
    optional: tuple[str, ...] = ()


LAYOUTS = {
    "csfcube": Layout("csfcube", csfcube, ("evaluation_splits",)),
    "infosearch": Layout("infosearch", infosearch),
    "infosearch-all": Layout("infosearch", infosearch_all, ("",)),
    "litsearch": Layout("litsearch", litsearch),
    "scifullbench": Layout("scifullbench", scifullbench, ("",)),
    "obliq": Layout("obliq", obliq, ("qrels_pool", "per_query_excluded")),
    "obliq-mteb": Layout("obliq", obliq_mteb, ("top_ranked",)),
    "beir": Layout("beir", beir),
    "followir": Layout("followir", followir, ("top_ranked",)),
    "instructir": Layout("instructir", instructir),
    "requests": Layout("requests", requests),
    "requests-labelled": Layout("requests", labelled, ("labels",)),
    "aspect-pairs": Layout("aspect-pairs", aspect_pairs),
}
