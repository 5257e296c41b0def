"""PRISM: abstracts like the seed's, chunks of full text like its aspects, fused by rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from aspectra.base.checking import check_choice
from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner, probe
from aspectra.search.query import Query
from aspectra.views.protocol import lens_base
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.view import Metric, Probe

_DEPTH = 300  # ranks of each list, as in the paper
# Reader -> the prompted lens whose prompt has a language model write about the same.
WRITERS = {
    "question": "research_question",
    "method": "method",
    "experiment": "experiment",
    "base": "overview",
}


@dataclass(frozen=True)
class PrismOptions(Options):
    """What of the seed is searched with.

    Attributes:
        aspects: readers, with + between them: those of the three aspects, or ``base``, of all at once.
        abstract: whether the seed's abstract is searched for in abstracts, too.
        readers: ``extracted``: sentences that readers find in the papers; ``prompted``: what lenses of the
            same aspects wrote about them.
        metric: as in :class:`~aspectra.views.view.Probe`.

    Raises:
        UsageError: there is no such aspect, or no such kind of readers.
    """

    aspects: str = "+".join(ASPECT_READERS)
    abstract: bool = True
    readers: str = "extracted"
    metric: Metric = "cosine"

    def __post_init__(self) -> None:
        for name in self.chosen:
            check_choice(name, WRITERS, "aspect")
        if len(set(self.chosen)) < len(self.chosen):
            raise UsageError(f"an aspect is named twice in {self.aspects}", hint="name each once")
        check_choice(self.readers, ("extracted", "prompted"), "kind of readers")
        check_choice(self.metric, get_args(Metric), "metric")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The aspects, in order."""
        return tuple(part.strip() for part in self.aspects.split("+"))


@planner("prism", vectors="needed", full_text="needed", seeds=True, options=PrismOptions)
def prism(query: Query, views: ViewNames, options: PrismOptions) -> Search:
    """Like the seeds in each aspect of their full texts (PRISM).

    The abstract probe and one for each aspect that full texts were read for, fused by rank with k = 60.
    Readings are extracted; ``readers=prompted`` takes what lenses wrote, and a stage ``write`` has it written
    for the seeds. Source: PRISM (Park et al., 2025), section 3.

    Raises:
        ViewMismatch: no readings of full text, or a lens was not run on a seed.
    """
    view = views.dense(views.chunks())
    given = [a for a in options.chosen if f"{a}@{views.encoder}" in views.names]
    extracted = {a: f"{a}@{views.encoder}" for a in given}
    if options.readers == "prompted":
        asking = {a: found for a in options.chosen if (found := _written(query, views, a, extracted.get(a)))}
    else:
        asking = extracted
    if not asking or (options.aspects != PrismOptions().aspects and set(options.chosen) - asking.keys()):
        missing = [a for a in options.chosen if a not in asking]
        raise ViewMismatch(
            "the planner prism needs full texts that were read for aspects",
            why=f"the index has no readings of {', '.join(missing)}",
            hint="aspectra index "
            + " ".join(f"--reader {a}" for a in dict.fromkeys((*ASPECT_READERS, *missing))),
        )
    probes = [
        Probe(view, seeds=query.seeds, aspect=a, asking=name, metric=options.metric)
        for a, name in asking.items()
    ]
    if options.abstract:
        probes.insert(0, probe(query, views.dense("abstract"), metric=options.metric))
    return Search(probes=tuple(probes), fusion=Fusion(kind="rrf", depth=_DEPTH))


def _written(query: Query, views: ViewNames, aspect: str, extracted: str | None) -> str | None:
    """The view of what a lens wrote; the extracted reading where it found nothing to write about a seed.

    Raises:
        ViewMismatch: the lens was not run on the library, or not on a seed.
    """
    lens = WRITERS[aspect]
    name = f"{lens_base(lens)}@{views.encoder}"
    texts = [views.seeds.written(seed, lens) for seed in query.seeds] if views.seeds is not None else []
    if name not in views.names or None in texts:
        untold = [seed for seed, text in zip(query.seeds, texts, strict=False) if text is None]
        raise ViewMismatch(
            f"there is no text of the lens {lens} on {', '.join(untold) or 'this library'}",
            why="prism(readers=prompted) searches with what a language model wrote about the seeds",
            hint=f"aspectra lens add {lens}, aspectra lens run {lens}, then aspectra index; "
            'or for the seeds alone: -r "prism | write"',
        )
    return extracted if "" in texts else name
