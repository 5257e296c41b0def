"""Counts, with examples, of what is odd about a run or a set of judgements; nothing is repaired."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from aspectra.lab.runs.judged import Grades

_EXAMPLES = 3


@dataclass(frozen=True)
class Checks:
    """Counts of what was found, in the words a person reads.

    Attributes:
        counts: what -> how often; findings that do not occur are absent.
        examples: what -> the first few places.

    >>> Checks.of({"documents twice": ["q1 a", "q2 b"]}).lines()
    ('2 documents twice (q1 a, q2 b)',)
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Mapping[str, Collection[str]]) -> Checks:
        """Checks from all places of each finding."""
        kept = {what: list(places) for what, places in found.items() if places}
        return cls(
            {what: len(places) for what, places in kept.items()},
            {what: tuple(places[:_EXAMPLES]) for what, places in kept.items()},
        )

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __add__(self, other: Checks) -> Checks:
        counts = dict(self.counts)
        examples = dict(self.examples)
        for what, count in other.counts.items():
            counts[what] = counts.get(what, 0) + count
            examples[what] = (*examples.get(what, ()), *other.examples.get(what, ()))[:_EXAMPLES]
        return Checks(counts, examples)

    def lines(self) -> tuple[str, ...]:
        """One line per finding."""
        return tuple(
            f"{count:,} {what}" + (f" ({', '.join(self.examples[what])})" if self.examples.get(what) else "")
            for what, count in self.counts.items()
        )


def check_run(run: Grades, qrels: Grades, *, corpus: Collection[str] | None = None) -> Checks:
    """What of a run does not fit the judgements or the corpus, besides what an evaluation reports itself.

    Args:
        run: topic -> document -> score.
        qrels: topic -> document -> grade.
        corpus: all document ids; without it, topics whose documents are all unjudged are counted instead.
    """
    found: dict[str, list[str]] = {"topics with an empty ranking": [t for t, docs in run.items() if not docs]}
    if corpus is not None:
        for what, table in (("ranked", run), ("judged", qrels)):
            found[f"{what} documents outside the corpus"] = [
                f"{topic} {doc}" for topic, docs in table.items() for doc in docs if doc not in corpus
            ]
    else:
        both = [topic for topic, docs in qrels.items() if docs and run.get(topic)]
        lost = [topic for topic in both if qrels[topic].keys().isdisjoint(run[topic])]
        what = "topics rank no judged document"
        if both and len(lost) == len(both):
            what += ": no topic ranks any, so check that both files use the same document ids"
        found[what] = lost
    out = Checks.of(found)
    tied = sum(len(docs) - len(set(docs.values())) for docs in run.values())
    return out + Checks({"documents with the score of another": tied}) if tied else out
