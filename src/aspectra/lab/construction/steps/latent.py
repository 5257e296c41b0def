"""``annotate`` and ``rejudge``: what texts show without saying it, and whether each shows what is asked for.

A labelling pass is a lens of the library (``aspectra lens run``), which asks a model once a paper and keeps
what it said. Its values are brought together, so that each group asks for its members; a judge then looks at
each member again (OBLIQ-Bench, section 4 and appendix D).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest_texts
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, QueryDraft, Workbench, step
from aspectra.lab.construction.steps.review import left_out, unjudged
from aspectra.llm import loops
from aspectra.papers.text.cleaning import folded
from aspectra.search.rerank.asker import Asker, in_parallel
from aspectra.search.rerank.judges.prompted import Grade
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import ShownTexts
from aspectra.views.prompted.definition import definition, readings
from aspectra.views.view import Floats

SAID = "said"  # fact: query -> value of the lens -> papers


class AnnotateOptions(Value, frozen=True):
    """Options of ``annotate``.

    Attributes:
        lens: a prompted lens of the library whose values are labels or short texts.
        distance: values join a group while no two of it are farther apart than this, as 1 minus the cosine of
            their vectors; 0 joins equal ones alone, without an encoder.
        encoder: of the values; "" for the default one.
        least: members of a group.
        groups: drawn; 0 for all.
    """

    lens: str = "stance"
    distance: float = 0.35
    encoder: str = ""
    least: int = 3
    groups: int = 0


@step(
    AnnotateOptions,
    helps="aspectra lens add NAME and aspectra lens run NAME, or --option annotate.distance=0.5",
)
def annotate(made: Made, bench: Workbench, options: AnnotateOptions) -> Made:
    """Papers of which a lens says the same ask for each other.

    The values of each group are the fact ``said``.

    Raises:
        UsageError: the library has no such lens.
        BadInput: the lens was not run.
    """
    lens, there = definition(bench.store, options.lens), set(made.corpus)
    said: dict[str, list[str]] = defaultdict(list)  # value -> papers
    spelled: dict[str, str] = {}
    simulated = False
    for paper, reading in readings(bench.store, lens):
        if paper.id not in there:
            continue
        text = "" if reading is None or reading.value is None else str(reading.value).strip()
        if reading is None or not text:
            bench.drop(
                "papers of which the lens says nothing" if reading else "papers that the lens has not seen"
            )
            continue
        simulated |= reading.simulated
        said[folded(text)].append(paper.id)
        spelled.setdefault(folded(text), text)
    if not said:
        raise BadInput(f"the lens {lens.name} has no values", hint=f"aspectra lens run {lens.name}")
    names = sorted(said)
    joined = [[n] for n in range(len(names))]
    if options.distance > 0:
        joined = grouped(_vectors([spelled[one] for one in names], options.encoder), options.distance)
    members = [
        (sorted(p for n in group for p in said[names[n]]), {spelled[names[n]]: said[names[n]] for n in group})
        for group in joined
    ]
    able = {group_id(ids): (ids, values) for ids, values in members if len(ids) >= options.least}
    bench.drop("groups of too few papers", len(members) - len(able))
    chosen = bench.some(able, "groups", options.groups, "groups")
    bench.found |= {"lens": lens.name, "model of the lens": lens.model, "different values": len(names)}
    if simulated:
        bench.found["replies"] = "simulated"
    asked = [
        (QueryDraft(name, next(iter(values)), context="\n".join(values)), dict.fromkeys(ids, 1))
        for name, (ids, values) in ((name, able[name]) for name in chosen)
    ]
    return made.asking(asked, facts={**made.facts, SAID: {name: able[name][1] for name in chosen}})


def group_id(papers: Sequence[str]) -> str:
    """The id of the query that asks for these papers, whose ids are in order."""
    return f"g-{digest_texts(papers)[:12]}"


def _vectors(texts: Sequence[str], encoder: str) -> Floats:
    from aspectra.views.encoders.protocol import load_encoder
    from aspectra.views.settings import IndexSettings

    return load_encoder(encoder or IndexSettings().encoders[0]).encode(texts).vectors


def grouped(vectors: Floats, distance: float) -> list[list[int]]:
    """Rows by complete linkage: groups of which no two rows are farther apart than ``distance``.

    The two nearest groups join first; of equally near ones, the first in order. Memory grows with the square
    of the rows: 5,000 take 100 MB.

    Args:
        vectors: (rows, dimensions) of unit length.
        distance: as 1 minus the cosine.

    >>> grouped(np.array([[1, 0], [0, 1], [1, 0.1]], np.float32), 0.2)
    [[0, 2], [1]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)
    apart = 1.0 - unit @ unit.T
    np.fill_diagonal(apart, np.inf)
    groups: list[list[int]] = [[row] for row in range(len(vectors))]
    while len(vectors) > 1:
        at = int(apart.argmin())
        one, other = sorted(divmod(at, len(vectors)))
        if not apart[one, other] <= distance:
            break
        groups[one] += groups[other]
        groups[other] = []
        apart[one] = apart[:, one] = np.maximum(apart[one], apart[other])
        apart[other] = apart[:, other] = np.inf
        apart[one, one] = np.inf
    return sorted(sorted(group) for group in groups if group)


class RecallOptions(Value, frozen=True):
    """Options of ``recall``.

    Attributes:
        lens: a prompted lens of the library with numbers, as ``memorability``; "" takes any paper.
        least: value of a paper that is asked for.
        queries: drawn; 0 for all.
    """

    lens: str = "memorability"
    least: float = 3.0
    queries: int = 100


@step(
    RecallOptions,
    helps="aspectra lens add memorability and aspectra lens run memorability, or --option recall.least=2",
)
def recall(made: Made, bench: Workbench, options: RecallOptions) -> Made:
    """Each memorable paper is asked for by itself, as somebody remembers it.

    A query has one relevant paper, and a way to open it (OBLIQ-Bench, appendix D.5).

    Raises:
        UsageError: the library has no such lens, or its values are not numbers.
        BadInput: the lens was not run.
    """
    there = set(made.corpus)
    able = sorted(there)
    if options.lens:
        lens, graded, able = definition(bench.store, options.lens), 0, []
        if lens.prompt.schema.kind != "number":
            raise UsageError(
                f"the values of the lens {lens.name} are no numbers", hint="--option recall.lens=NAME"
            )
        for paper, reading in readings(bench.store, lens):
            if paper.id in there and reading is not None and reading.value is not None:
                graded += 1
                if reading.simulated:
                    bench.found["replies"] = "simulated"
                if float(reading.value) >= options.least:
                    able.append(paper.id)
        if not graded:
            raise BadInput(f"the lens {lens.name} has no values", hint=f"aspectra lens run {lens.name}")
        bench.drop(f"papers of a {lens.name} below {options.least:g}", graded - len(able))
        bench.found |= {"lens": lens.name, "model of the lens": lens.model}
    chosen = bench.some(able, "recall", options.queries, "papers")
    prompts = files(__package__.rpartition(".")[0]) / "prompts"
    openings = (prompts / "openings.txt").read_text("utf-8").splitlines()
    asked = []
    for number, one in enumerate(bench.documents(made, chosen)):
        if not (text := f"{one.title}\n{one.text}".strip()):
            bench.drop("papers without words")
            continue
        labels: dict[str, tuple[str, ...]] = {"opening": (openings[number % len(openings)],)}
        draft = QueryDraft(f"r-{digest_texts([one.id])[:12]}", text, context=text, labels=labels)
        asked.append((draft, {one.id: 1}))
    return made.asking(asked)


class RejudgeOptions(Value, frozen=True):
    """Options of ``rejudge``.

    Attributes:
        of: ``judged`` documents get a new grade, or those of the step ``pool`` get their first, beside which
            the others keep theirs (the judgements ``pooled``).
        criterion: what makes a text fit, as judges call it: ``stance``, ``failure``, ``technique`` ...
        least: relevant documents that a query keeps.
        lanes: questions at a time.
    """

    of: Literal["judged", "pool"] = "judged"
    criterion: str = "relevance"
    least: int = 3
    lanes: int = 4


@step(RejudgeOptions, helps="another model, or --option rejudge.least=1", model=True)
def rejudge(made: Made, bench: Workbench, options: RejudgeOptions) -> Made:
    """A judge grades each document of each query: 3 becomes 2, 2 becomes 1, the others 0.

    The grades take the place of those that were made, or come beside them.

    A document without an answer is left out of the judgements.

    Raises:
        UsageError: no model is named, or the criterion does not exist.
        ModelError: the model cannot be asked any more; replies so far are in the journal.
    """
    gold = made.qrels.get("gold", {})
    wanted = gold if options.of == "judged" else unjudged(made)
    if options.of == "pool" and not any(wanted.values()):
        bench.found["pool"] = "*nothing to judge*"
        return made
    model, judge = bench.require_model(), Grade()
    held = bench.by_id(made, {doc for ids in wanted.values() for doc in ids})
    grades: dict[str, dict[str, int]] = {}
    unanswered = calls = 0
    simulated = False
    for draft in made.drafts:
        question = Question(draft.text, criterion=options.criterion)
        asker = Asker(model, ShownTexts(question, salt=str(bench.seed)), concurrency=options.lanes)
        documents = [held[one] for one in sorted(wanted.get(draft.id, ())) if one in held]
        shown = [Candidate(one.id, f"{one.title}\n{one.text}".strip(), title=one.title) for one in documents]

        async def score(paper: Candidate, asker: Asker = asker) -> float | None:
            return (await judge.score([paper], asker))[0]

        scores = loops.run(in_parallel(score, shown, options.lanes))
        if asker.stopped is not None:
            raise asker.stopped
        simulated |= asker.simulated
        calls += asker.cost.calls
        unanswered += scores.count(None)
        grades[draft.id] = {
            paper.id: max(0, round(value) - 1)
            for paper, value in zip(shown, scores, strict=True)
            if value is not None
        }
    if calls and unanswered == sum(map(len, wanted.values())):
        raise UsageError("the judge gave no answer that could be read", hint="another model")
    bench.drop("documents without an answer of the judge", unanswered)
    if options.of == "pool":
        added = {query: {**held, **grades.get(query, {})} for query, held in gold.items()}
        found = replace(made, qrels={**made.qrels, "pooled": added}).of_queries(made.drafts)
        new = sum(grade > 0 for own in grades.values() for grade in own.values())
        bench.found |= {"graded": sum(map(len, grades.values())), "relevant among them": new}
        bench.found |= left_out(made, added)
    else:
        found = bench.enough(replace(made, qrels={**made.qrels, "gold": grades}), options.least)
    bench.found |= {"judge": f"grade, {options.criterion}", "model of the judge": model.name, "calls": calls}
    if simulated:
        bench.found["replies"] = "simulated"
    return found
