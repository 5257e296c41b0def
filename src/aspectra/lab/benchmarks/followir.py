"""FollowIR: TREC queries with an original and an altered instruction, the altered one narrowing relevance.

Read is one folder to a collection (Core17, News21, Robust04): ``corpus.jsonl``, ``queries.jsonl`` with
``instruction_og`` and ``instruction_changed``, ``qrels_og`` and ``qrels_changed``, and ``top_ranked`` with
the documents to re-rank. p-MRR scores the documents that the altered instruction makes irrelevant.

Source: Weller et al., FollowIR: Evaluating and Teaching Information Retrieval Models to Follow
Instructions, 2024.
"""

from __future__ import annotations

from collections.abc import Mapping

from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.infosearch import instruction_negatives, read_part
from aspectra.lab.benchmarks.protocol import Benchmark, Option, benchmark
from aspectra.lab.runs.rows import first_of, text_of

_MODES = ("original", "instructed")


@benchmark(
    "followir",
    files="one collection (core17, news21, robust04).",
    licence="MIT (instructions); the TREC collections have licences of their own",
    source=(
        "huggingface.co/jhu-clsp. Cite: Weller et al., FollowIR: Evaluating and Teaching Information"
        " Retrieval Models to Follow Instructions, 2024"
    ),
    options=(Option("pools", "re-rank top_ranked where it is there", ("yes", "no"), "yes"),),
    measures=("p-MRR", "nDCG@5", "AP(cut=1000)"),
    preset="followir-2024",
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """FollowIR: TREC queries with an original instruction and an altered one that narrows relevance."""
    part = read_part(folder, "", _MODES, {})
    corpus = Corpus(lambda: folder.rows(*part.corpus))
    corpus.scan()  # now, as checksums are listed in the order of reading
    kept, qrels, problems = keep_judged(part.topics, part.qrels, "original")
    for mode in _MODES:
        without = sum(mode not in topic.instructions for topic in kept)
        problems.add(without, "topic has", "topics have", f"no {mode} instruction")
    negatives = instruction_negatives(qrels["original"], qrels["instructed"])
    none = sum(not documents for documents in negatives.values())
    problems.add(none, "topic has", "topics have", "no document that loses relevance")
    pools = _top_ranked(folder) if options["pools"] == "yes" else None
    if pools is not None:
        pools = {topic.id: pools[topic.id] for topic in kept if topic.id in pools}
        problems.add(len(kept) - len(pools), "topic has", "topics have", "no documents to re-rank")
    name = folder.root.resolve().name.casefold().removesuffix("-instructions")
    return audited(folder, corpus, f"followir/{name}", kept, qrels, problems, modes=_MODES, pools=pools)


def _top_ranked(folder: Folder) -> dict[str, tuple[str, ...]] | None:
    """Query -> documents, from rows of one pair (``qid``, ``pid``) or of one query with a list."""
    files = folder.table("top_ranked", ("test", "top_ranked"))
    if not files:
        return None
    found: dict[str, dict[str, None]] = {}
    for row in folder.rows(*files):
        query = first_of(row, ("qid", "query-id", "query_id"))
        given = next((row[n] for n in ("pid", "corpus-ids", "corpus-id", "corpus_id") if n in row), "")
        for document in given if isinstance(given, list) else [given]:
            found.setdefault(query, {})[text_of(document)] = None
    return {query: tuple(documents) for query, documents in found.items()}
