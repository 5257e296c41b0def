"""Any folder in the layout of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and judgements.

Judgements may be ``qrels/SPLIT.tsv``, ``qrels.tsv`` or several ``qrels_NAME.tsv``, with or without a header,
or TREC's four columns. A query may bring an instruction (``instruction``), as in BIRCO and BRIGHT. A document
under the id of a query is dropped from its ranking and its judgements, as BEIR does, unless ``seed=no`` says
that they share ids by chance.

Source: Thakur et al., BEIR, NeurIPS Datasets and Benchmarks 2021; BIRCO's pools: Wang et al., BIRCO, 2024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged, own_id
from aspectra.lab.benchmarks._files import CollectionCard, Folder, collections
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.files import Grades
from aspectra.lab.runs.rows import Row, text_of

_YES_NO = ("yes", "no")


@benchmark(
    "beir",
    files="corpus.jsonl, queries.jsonl, and qrels.tsv, qrels/SPLIT.tsv or qrels_NAME.tsv.",
    options=(
        Option("qrels", "which judgements, where there are several"),
        Option("corpus", "another file or folder to take the documents from"),
        Option(
            "pools",
            "rank only judged documents, or the whole collection; without it: only judged ones for instructed"
            " queries whose judgements list irrelevant documents",
            _YES_NO,
        ),
        Option(
            "seed", "a query whose id is a document's is that paper; no: they share ids by chance", _YES_NO
        ),
        Option("name", "of the benchmark, in tables"),
        Option("licence", "as its owners state it"),
        Option("source", "where it comes from, and whom to cite"),
    ),
    measures=("nDCG@10", "R@100"),
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """Any folder in the layout of BEIR: corpus.jsonl, queries.jsonl and judgements.

    Raises:
        UsageError: there are several judgements and none was chosen.
    """
    documents = _documents(folder, options["corpus"])
    queries = folder.table("queries", ("queries", "test", "dev")) or [folder.need("queries.jsonl")]
    which, judgements = _judgements(folder, options["qrels"])
    known = _known(folder.root, which)

    corpus = Corpus(lambda: folder.rows(*documents))
    scan = corpus.scan()
    as_seed = options["seed"] == "yes" if options["seed"] else known.seed
    topics = [_topic(row, as_seed and own_id(row) in scan.ids) for row in folder.rows(*queries)]
    given = folder.qrels(judgements)
    by_chance = options["seed"] == "no"
    own = 0 if by_chance else sum(grades.pop(query, None) is not None for query, grades in given.items())
    kept, qrels, problems = keep_judged(topics, {"gold": given}, "gold")
    problems.add(own, "query is", "queries are", "judged against themselves, left out (seed=no keeps them)")
    excluded = {} if by_chance else {t.id: frozenset([t.id]) for t in kept if t.id in scan.ids}
    same = sum(not topic.seed for topic in kept if topic.id in excluded)
    problems.add(same, "document has", "documents have", "the id of a query: excluded for it")
    gold = qrels["gold"]
    pools = {t.id: tuple(gold[t.id]) for t in kept} if _pooled(options["pools"], kept, gold) else None
    name = options["name"] or _name(folder.root, known, which)
    told: dict[str, Any] = {"pools": pools, "excluded": excluded, "measures": known.measures}
    told |= {"licence": options["licence"] or known.licence, "source": options["source"] or known.source}
    return audited(folder, corpus, name, kept, qrels, problems, **told)


def _documents(folder: Folder, given: str) -> list[Path]:
    if not given:
        return folder.table("corpus", ("corpus", "test", "train")) or [folder.need("corpus.jsonl")]
    path = Path(given)
    if path.is_dir():
        return Folder(path).table("corpus") or [Folder(path).need("corpus.jsonl")]
    if not path.is_file():
        raise BadInput(f"there is no corpus {path}", hint="check the option corpus")
    return [path]


def _judgements(folder: Folder, which: str) -> tuple[str, Path]:
    """The name of the chosen judgements ("" where there is one set only) and their file."""
    if which:
        places = ("qrels/{}.tsv", "qrels_{}.tsv", "qrels.{}.tsv", "qrels/{}.jsonl", "{}")
        return which, folder.need(*(place.format(which) for place in places))
    if path := folder.find("qrels.tsv", "qrels.txt", "qrels"):
        return "", path
    found: dict[str, Path] = {}
    for file in [*sorted(folder.root.glob("qrels_*.tsv*")), *sorted(folder.root.glob("qrels/*.tsv*"))]:
        found[file.name.removeprefix("qrels_").split(".")[0]] = file
    if "test" in found or len(found) == 1:
        name = "test" if "test" in found else next(iter(found))
        return ("" if name == "test" else name), found[name]
    if found:
        raise UsageError(
            f"{folder.root} holds several judgements", hint="name one: qrels=" + "|".join(sorted(found))
        )
    return "", folder.need("qrels.tsv", "qrels/test.tsv")


def _known(path: Path, which: str) -> CollectionCard:
    folders = {part.casefold() for part in path.resolve().parts[-3:]}
    plain = CollectionCard("beir", "not stated in the folder", "not stated in the folder")
    return next((one for one in collections() if one.folder in folders or which in one.qrels), plain)


def _name(path: Path, known: CollectionCard, which: str) -> str:
    folder = path.resolve()
    own = folder.parent.name if folder.name in ("dev", "test", "train") else folder.name
    parts = [known.name, own, which]
    return "/".join(part for number, part in enumerate(parts) if part and part not in parts[:number])


def _topic(row: Row, seed: bool) -> Topic:
    name = own_id(row)
    text = "\n".join(filter(None, (text_of(row.get("title")), text_of(row.get("text")))))
    instruction = next((text_of(row[n]) for n in ("instruction", "instructions") if row.get(n)), "")
    return Topic(
        name,
        "" if seed else text,
        seed=name if seed else "",
        instructions={"original": instruction} if instruction else {},
    )


def _pooled(wanted: str, topics: Sequence[Topic], gold: Grades) -> bool:
    if wanted:
        return wanted == "yes"
    negatives = any(grade <= 0 for grades in gold.values() for grade in grades.values())
    return negatives and any(topic.instructions for topic in topics)
