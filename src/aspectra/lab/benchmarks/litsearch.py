"""LitSearch: 597 questions that ask for papers, over 64,183 papers.

Read are the data set's configs ``query`` and ``corpus_clean``, as Parquet from the hub or as JSON Lines. The
paper reports R@5 on specific and R@20 on broad questions by origin (inline citation or author-written);
its averages weigh questions, not subsets.

Source: Ajith et al., LitSearch: A Retrieval Benchmark for Scientific Literature Search, EMNLP 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged, paper_of
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.rows import Row, text_of
from aspectra.papers.paper import Paper

_TEXTS = ("title-abstract", "full")
_SPECIFICITY = {"0": "broad", "1": "specific"}


@benchmark(
    "litsearch",
    files="the configs query and corpus_clean, as Parquet or JSON Lines.",
    licence="MIT (data set); abstracts and texts belong to their authors",
    source=(
        "huggingface.co/datasets/princeton-nlp/LitSearch. Cite: Ajith, Xia, Chevalier, Goyal, Chen, Gao,"
        " LitSearch: A Retrieval Benchmark for Scientific Literature Search, EMNLP 2024"
    ),
    options=(Option("text", "what is indexed; full texts become one section each", _TEXTS, _TEXTS[0]),),
    measures=("R@5", "R@20", "nDCG@10"),
    preset="litsearch-tool",
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """LitSearch: 597 questions that ask for papers, over 64,183 papers.

    Topics are ``q1`` to ``q597``, by row. Labels: ``query_set``, ``origin`` (``inline``, ``manual``),
    ``venue`` (``acl``, ``nonacl``), ``specificity`` (``broad``, ``specific``), ``quality`` (``1``, ``2``).
    """
    queries = folder.table("query", ("full",)) or folder.table("queries", ("full",))
    queries = queries or [folder.need("query.jsonl", "query/full.jsonl")]
    documents = folder.table("corpus_clean", ("full",)) or folder.table("corpus", ("full",))
    documents = documents or [folder.need("corpus_clean.jsonl", "corpus_clean/full.jsonl")]

    convert = paper_of if options["text"] == "full" else _short
    corpus = Corpus(lambda: folder.rows(*documents), convert)
    corpus.scan()  # now, as checksums are listed in the order of reading
    topics: list[Topic] = []
    gold: dict[str, dict[str, float]] = {}
    again = 0
    for row in folder.rows(*queries):
        topic = _topic(row, f"q{len(topics) + 1}")
        answers = _answers(row, f"{folder.root}, {topic.id}")
        topics.append(topic)
        if answers:
            gold[topic.id] = dict.fromkeys(answers, 1.0)
            again += len(answers) - len(gold[topic.id])
    kept, qrels, problems = keep_judged(topics, {"gold": gold}, "gold")
    problems.add(again, "answer is", "answers are", "listed twice")
    return audited(folder, corpus, "litsearch", kept, qrels, problems)


def _short(row: Row) -> Paper:
    return paper_of({name: value for name, value in row.items() if name != "full_paper"})


def _answers(row: Row, place: str) -> list[str]:
    given: Any = row.get("corpusids")
    if not isinstance(given, list):
        raise BadInput(f"{place}: no list of answers (corpusids)", hint="fetch the file again")
    return [text_of(answer) for answer in given]


def _topic(row: Row, name: str) -> Topic:
    query_set = text_of(row.get("query_set"))
    origin, _, venue = query_set.partition("_")
    specificity = text_of(row.get("specificity"))
    labels = {
        "query_set": query_set,
        "origin": origin,
        "venue": "acl" if venue == "acl" else "nonacl",
        "specificity": _SPECIFICITY.get(specificity, specificity),
        "quality": text_of(row.get("quality")),
    }
    return Topic(name, text_of(row.get("query")), labels={k: v for k, v in labels.items() if v})
