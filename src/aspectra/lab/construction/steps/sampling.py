"""``sample`` and ``corpus``: which queries are kept, and over which documents."""

from __future__ import annotations

from dataclasses import replace

from aspectra.base.errors import UsageError
from aspectra.base.values import Value
from aspectra.lab.construction.made import Made
from aspectra.lab.construction.protocol import Workbench, step


class SampleOptions(Value, frozen=True):
    """Options of ``sample``.

    Attributes:
        positives: a query needs so many relevant documents.
        queries: drawn; 0 for all.
    """

    positives: int = 10
    queries: int = 400


@step(
    "sample",
    SampleOptions,
    "Queries with enough relevant documents, so many of them drawn.",
    helps="--option sample.positives=N: how many queries each number allows is said by the step before",
)
def sample(made: Made, bench: Workbench, options: SampleOptions) -> Made:
    """Keep queries with enough relevant documents."""
    relevant = made.relevant()
    able = [draft for draft in made.drafts if len(relevant.get(draft.id, ())) >= options.positives]
    bench.drop("queries with too few relevant documents", len(made.drafts) - len(able))
    names = set(bench.drawn((draft.id for draft in able), "sample")[: options.queries or None])
    bench.drop("queries not drawn", len(able) - len(names))
    return made.of_queries(draft for draft in able if draft.id in names)


class CorpusOptions(Value, frozen=True):
    """Options of ``corpus``.

    Attributes:
        distractors: other documents for each relevant one, drawn; 0 keeps judged documents alone, and such a
            set flatters every system.
    """

    distractors: int = 10

    def __post_init__(self) -> None:
        if self.distractors < 0:
            raise UsageError(
                "the number of distractors is not negative", hint="--option corpus.distractors=0"
            )


@step("corpus", CorpusOptions, "The judged documents, and so many others for each relevant one.")
def corpus(made: Made, bench: Workbench, options: CorpusOptions) -> Made:
    """Choose the documents."""
    judged = made.judged
    others = [name for name in made.corpus if name not in judged]
    chosen = set(bench.drawn(others, "distractors")[: options.distractors * len(judged)])
    bench.drop("documents that are neither judged nor drawn", len(others) - len(chosen))
    bench.found |= {"judged documents": len(judged), "distractors": len(chosen)}
    ids = tuple(name for name in made.corpus if name in judged or name in chosen)
    there = set(ids)
    excluded = {query: tuple(one for one in held if one in there) for query, held in made.excluded.items()}
    return replace(made, corpus=ids, excluded={query: held for query, held in excluded.items() if held})
