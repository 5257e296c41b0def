"""InstructIR: each query under several users' instructions, each instruction with documents of its own.

Read are the git release (``queries.jsonl`` whose text is the instruction, ``[SEP]`` and the query;
``only_queries.jsonl``; ``qrels/test.tsv``) and the hub's copy (``queries`` and ``instruction`` apart).
Variants of one query form a group, over which Robustness@10 takes the worst.

Source: Oh et al., InstructIR: A Benchmark for Instruction Following of Information Retrieval Models, 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged, own_id
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.infosearch import group_of
from aspectra.lab.benchmarks.protocol import Benchmark, Topic, benchmark
from aspectra.lab.runs.files import Grades
from aspectra.lab.runs.rows import first_of, text_of

_MARK = "[SEP]"


@benchmark(
    "instructir",
    files="corpus, queries and judgements, as in the git release or the hub's copy.",
    licence="MIT (instructions); passages under the terms of MS MARCO",
    source=(
        "github.com/kaistAI/InstructIR. Cite: Oh et al., InstructIR: A Benchmark for Instruction"
        " Following of Information Retrieval Models, 2024"
    ),
    measures=("Robustness@10", "nDCG@10"),
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """InstructIR: each query under several users' instructions, each with documents of its own.

    The modes are *original* (the query alone) and *instructed*. There is one set of judgements, made for the
    instructed queries; both modes are scored by it.
    """
    documents = folder.table("corpus") or [folder.need("corpus.jsonl")]
    judged = folder.table("qrels") or folder.table("default") or [folder.need("qrels/test.tsv")]
    grades = folder.qrels(*judged)
    corpus = Corpus(lambda: folder.rows(*documents))
    corpus.scan()  # now, as checksums are listed in the order of reading
    given: dict[str, Grades] = {"original": grades, "instructed": grades}
    kept, qrels, problems = keep_judged(list(_topics(folder)), given, "instructed")
    bare = sum(not topic.instructions for topic in kept)
    problems.add(bare, "topic has", "topics have", "no instruction")
    return audited(folder, corpus, "instructir", kept, qrels, problems, modes=tuple(given))


def _topics(folder: Folder) -> Iterator[Topic]:
    apart = {
        first_of(row, ("query-id", "_id")): text_of(row.get("instruction"))
        for row in folder.rows(*folder.table("instruction"))
    }
    files = folder.table("queries", ("queries", "test")) or [folder.need("queries.jsonl")]
    for row in folder.rows(*files):
        name = own_id(row)
        before, mark, after = text_of(row.get("text")).partition(_MARK)
        text = after.strip() if mark else before.strip()
        instruction = apart.get(name, "") or text_of(row.get("instruction"))
        if mark and not instruction:
            instruction = before.strip()
        instructions = {"instructed": instruction} if instruction else {}
        yield Topic(name, text, instructions=instructions, group=group_of(text))
