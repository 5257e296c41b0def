"""The inputs of an evaluation, by mode: checks, and remarks on what they lack."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.evaluation.means import Counts
from aspectra.lab.evaluation.presets import Preset
from aspectra.lab.runs.judged import Array, Grades, Judged, judge

_SHOWN = 5


def by_mode(given: Grades | Mapping[str, Grades] | None, what: str) -> dict[str, Grades]:
    """Mode -> mapping; a plain mapping is the mode ""."""
    if given is None:
        return {}
    for by_topic in given.values():
        if not isinstance(by_topic, Mapping):
            raise UsageError(f"{what} must map topics to documents to numbers")
        first = next(iter(by_topic.values()), None)
        if isinstance(first, Mapping):
            return dict(cast("Mapping[str, Grades]", given))
        if first is not None:
            break
    return {"": cast("Grades", given)}


def some(topics: Collection[str]) -> str:
    """The first few ids, and how many more there are."""
    shown = sorted(topics)[:_SHOWN]
    rest = len(topics) - len(shown)
    return (", ".join(shown) or "none") + (f" and {rest:,} more" if rest else "")


@dataclass
class Inputs:
    """The inputs of one evaluation.

    Attributes:
        preset: how scores become places.
        qrels, runs: mode -> topic -> document -> number.
        excluded: topic -> documents dropped from its ranking and judgements.
        missing: ``declared`` or ``skip``, for judged topics without a ranking.
        groups: topic -> core query, or None.
        remarks: what the reader should know; grows while scoring.
        without_relevant: mode -> topics without a relevant document, counted while scoring.
    """

    preset: Preset
    qrels: dict[str, Grades]
    runs: dict[str, Grades]
    excluded: Mapping[str, Collection[str]]
    missing: str
    groups: Mapping[str, str] | None
    remarks: list[str] = field(default_factory=list)
    without_relevant: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table in {id(table): table for table in self.qrels.values()}.values():
            for topic, docs in table.items():
                bad = next((doc for doc, grade in docs.items() if not math.isfinite(grade)), None)
                if bad is not None:
                    raise BadInput(
                        f"topic {topic!r} has a grade that is not a number for {bad!r}: {docs[bad]}",
                        why="it would count as unjudged",
                        hint="leave such judgements out",
                    )
        judged = {id(table): table for table in self.qrels.values()}.values()
        lost = sum(
            doc in table.get(t, {}) for table in judged for t, docs in self.excluded.items() for doc in docs
        )
        if lost:
            self.remarks.append(
                f"{lost:,} judged documents are excluded for their topics, and judged no more"
            )

    def judged_by(self, mode: str) -> Grades:
        """The judgements of a mode; one set serves all modes where it is the only one."""
        return self.qrels[mode] if mode in self.qrels else self.qrels.get("", {})

    def check_coverage(self, incomplete: bool) -> None:
        """Check that runs and judgements share topics, and that all modes cover the same ones."""
        for mode in self.runs:
            name = f" of mode {mode!r}" if mode else ""
            if mode not in self.qrels and "" not in self.qrels:
                self.remarks.append(f"there are no judgements for mode {mode}: its rankings alone are used")
                continue
            judged = self.judged_by(mode)
            if not any(judged.values()):
                raise BadInput(f"the judgements{name} are empty", hint="check the file and its layout")
            ranked = set(self.runs[mode])  # one may be empty: searched, and nothing found
            if not ranked & set(judged):
                raise BadInput(
                    f"the run{name} ranks documents for none of the {len(judged):,} judged topics",
                    why=f"it has {some(ranked)}; judged are {some(judged)}",
                    hint="check that both use the same topic ids",
                )
        if len(self.runs) < 2 or incomplete:
            return
        every: set[str] = set().union(*self.qrels.values())
        covered = {m: {t for t, docs in run.items() if docs} & every for m, run in self.runs.items()}
        union: set[str] = set().union(*covered.values())
        if short := {mode: union - topics for mode, topics in covered.items() if topics != union}:
            raise BadInput(
                "the modes cover different topics",
                why="; ".join(f"{mode} lacks {some(topics)}" for mode, topics in short.items()),
                hint="run all modes on the same topics, or allow incomplete modes (--incomplete)",
            )

    def judged_topic(self, mode: str, topic: str, docs: Sequence[str] | None = None) -> Judged:
        """Places of the judged documents of a topic (of ``docs``, where several modes share them)."""
        graded = self.judged_by(mode).get(topic, {})
        dropped = self.excluded.get(topic, ())
        if docs is None:
            if dropped:
                graded = {doc: grade for doc, grade in graded.items() if doc not in dropped}
            docs = list(graded)
            grades: Array = np.fromiter(graded.values(), np.float64, len(docs))
        else:
            grades = np.array([graded.get(doc, np.nan) for doc in docs], np.float64)
        return judge(
            self.runs[mode].get(topic, {}),
            docs,
            grades,
            order=self.preset.order,
            precision=self.preset.precision,
            excluded=dropped,
            topic=topic,
        )

    def counts(self) -> dict[str, Counts]:
        """Mode -> counts of what was scored; adds a remark on each kind of thing that was not."""
        out = {}
        for mode, run in self.runs.items():
            given = self.judged_by(mode)
            judged = {topic for topic, docs in given.items() if docs}
            if not judged:
                continue
            ranked = {topic for topic, docs in run.items() if docs}
            lost, extra = judged - ranked, ranked - judged
            counts = Counts(
                scored=len(judged & ranked),
                judged=len(judged),
                missing=len(lost),
                extra=len(extra),
                without_relevant=self.without_relevant.get(mode, 0),
            )
            out[mode] = counts
            name = f"mode {mode}: " if mode else ""
            if lost:
                how = "left out" if self.missing == "skip" else "score each measure's declared value"
                self.remarks.append(
                    f"{name}{len(lost):,} judged topics have no ranking and {how}: {some(lost)}"
                )
            if bare := set(given) - judged:
                self.remarks.append(f"{name}{len(bare):,} topics without any judgement: {some(bare)}")
            if extra:
                self.remarks.append(f"{name}{len(extra):,} ranked topics are not judged: {some(extra)}")
            if counts.without_relevant:
                self.remarks.append(f"{name}{counts.without_relevant:,} topics have no relevant document")
        return out
