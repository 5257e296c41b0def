"""Scoring runs: values by topic, then means; what is left out is reported."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from aspectra.base.errors import BadInput, UsageError, check_choice
from aspectra.lab.evaluation.means import (
    PRESETS,
    Counts,
    Evaluation,
    Labels,
    Preset,
    Score,
    get_preset,
    nested_mean,
)
from aspectra.lab.measures.protocol import Arity, Family, Measure
from aspectra.lab.measures.rankings import Pools
from aspectra.lab.runs.files import Array, Grades, Judged, judge

# The inputs of an evaluation, by mode: checks, and remarks on what they lack.

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
        judged = {id(table): table for table in self.qrels.values()}.values()
        for table in judged:
            for topic, docs in table.items():
                bad = next((doc for doc, grade in docs.items() if not math.isfinite(grade)), None)
                if bad is not None:
                    raise BadInput(
                        f"topic {topic!r} has a grade that is not a number for {bad!r}: {docs[bad]}",
                        why="it would count as unjudged",
                        hint="leave such judgements out",
                    )
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

    def judged_topic(
        self, mode: str, topic: str, docs: Sequence[str] | None = None, *, preset: Preset | None = None
    ) -> Judged:
        """Places of the judged documents of a topic (of ``docs``, where several modes share them)."""
        preset = preset or self.preset
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
            order=preset.order,
            precision=preset.precision,
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


def evaluate(
    measures: Sequence[str | Measure | Family],
    qrels: Grades | Mapping[str, Grades] | None = None,
    runs: Grades | Mapping[str, Grades] | None = None,
    *,
    preset: str | Preset = "paper",
    groups: Mapping[str, str] | None = None,
    labels: Labels | None = None,
    average: Sequence[str] | None = None,
    excluded: Mapping[str, Collection[str]] | None = None,
    missing: str = "declared",
    incomplete: bool = False,
    vectors: Mapping[str, Array] | None = None,
    pools: Pools | None = None,
) -> Evaluation:
    """Score a run, or one run per mode.

    Args:
        measures: spellings, read under the preset, or measures (``nDCG@10``), taken as they are.
        qrels: topic -> document -> grade, or mode -> the same.
        runs: topic -> document -> score, or mode -> the same.
        preset: see :mod:`aspectra.lab.evaluation.means`.
        groups: topic -> core query, for measures of a query's variants.
        labels: unit -> name -> label, for breakdowns and nested means.
        average: labels to average within first, finest first; None takes the preset's, where labels exist.
        excluded: topic -> documents dropped from its ranking and judgements.
        missing: a judged topic without a ranking scores the measure's ``declared`` value, or is ``skip``-ped.
        incomplete: let modes cover different topics; a topic that lacks a mode counts as missing.
        vectors: topic -> (documents, dimensions), for measures of vectors.
        pools: runs of retrievers and verifiers, for the gap.

    Returns:
        Scores in the order of the measures given; measures of one ranking once per mode.

    >>> from aspectra.lab import R, nDCG
    >>> found = evaluate([nDCG@10, "R@1"], {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "c": 1.0}})
    >>> round(found[nDCG@10].mean, 4), found["R@1"].values
    (0.6131, {'q': 0.5})

    Raises:
        UsageError: no such measure or preset, or something that a measure needs was not given.
        BadInput: empty judgements, scores that are not numbers, modes that cover different topics, no judged
            topic ranked at all.
    """
    chosen = get_preset(preset) if isinstance(preset, str) else preset
    check_choice(missing, ("declared", "skip"), "way to treat missing topics called")
    given = [one() if isinstance(one, Family) else one for one in measures]
    spellings = {str(one): chosen.parse(one) if isinstance(one, str) else one.complete() for one in given}
    wanted = list(dict.fromkeys(spellings.values()))
    if not wanted:
        raise UsageError("no measure is named", hint="for example " + " ".join(chosen.measures))
    job = Inputs(
        preset=chosen,
        qrels=by_mode(qrels, "judgements"),
        runs=by_mode(runs, "runs"),
        excluded=excluded or {},
        missing=missing,
        groups=groups,
    )
    _check_needs(wanted, job, vectors, pools)
    highest = max(
        (g for one in job.qrels.values() for docs in one.values() for g in docs.values()), default=0
    )
    if idle := [m for m in wanted if 0 < highest < cast("float", m.params.get("rel", 0))]:
        job.remarks.append(
            f"no grade is above {highest:g}, so no document is relevant for {', '.join(map(str, idle))}: "
            f"name the least grade of a relevant one, as in {idle[0].family.name}(rel={highest:g})"
        )
    if job.runs:
        job.check_coverage(incomplete)
    label_names = {name for unit in (labels or {}).values() for name in unit}
    keys = tuple(average if average is not None else chosen.average)
    if average is None and keys and not set(keys) <= label_names:
        job.remarks.append(
            f"the preset averages within {', '.join(keys)}, which no labels name: plain mean over topics"
        )
        keys = ()
    values = _all_values(wanted, job, vectors)
    known_labels = _with_groups(labels or {}, groups)
    means: dict[tuple[Measure, str], Score] = {}

    def mean_of(measure: Measure, mode: str) -> Score:
        if (measure, mode) not in means:
            own, lost = values[measure, mode]
            _check_numbers(measure, own)
            defined = {unit: v for unit, v in own.items() if v is not None}
            undefined = tuple(sorted(unit for unit, v in own.items() if v is None))
            if measure.family.combine and measure.family.of:
                parts = tuple(mean_of(part, mode).mean for part in measure.family.of(measure))
                mean = None if None in parts else measure.family.combine(measure, cast("Any", parts))
            else:
                mean = nested_mean(defined, known_labels, keys)
            means[measure, mode] = Score(
                measure, mode, values=defined, mean=mean, undefined=undefined, missing=tuple(sorted(lost))
            )
        return means[measure, mode]

    scores = []
    for measure in wanted:
        if measure.arity is Arity.POOLS:
            scores.append(_pooled(measure, cast("Pools", pools), job, labels, keys))
        else:
            scores += [mean_of(measure, mode) for known, mode in values if known == measure]
    return Evaluation(
        preset=chosen.name,
        scores=tuple(scores),
        counts=job.counts(),
        average=keys,
        labels=known_labels,
        spellings=spellings,
        remarks=tuple(job.remarks),
    )


def _check_numbers(measure: Measure, values: Mapping[str, float | None]) -> None:
    """Refuse what would make a mean NaN or infinite; a measure without a value returns None instead."""
    bad = next((unit for unit, v in values.items() if v is not None and not math.isfinite(v)), None)
    if bad is not None:
        raise BadInput(
            f"{measure} of {bad!r} is {values[bad]}",
            why="a value that is no number cannot be averaged",
            hint="its measure must return None where it is undefined",
        )


def _check_needs(
    wanted: Sequence[Measure], job: Inputs, vectors: Mapping[str, Array] | None, pools: Pools | None
) -> None:
    """Check that everything a measure needs was given."""
    for measure in wanted:
        arity = measure.arity
        if arity is Arity.VECTORS:
            if vectors is None:
                raise UsageError(
                    f"{measure} needs vectors", hint="give the vectors of each topic's documents"
                )
            continue
        if not job.qrels:
            raise UsageError(f"{measure} needs judgements")
        if arity is Arity.POOLS:
            if pools is None:
                raise UsageError(f"{measure} needs runs of retrievers and of verifiers")
        elif not job.runs:
            raise UsageError(f"{measure} needs a run")
        if arity is Arity.GROUP and job.groups is None:
            raise UsageError(
                f"{measure} needs to know which topics are variants of one query", hint="groups=..."
            )
        if arity is Arity.MODES:
            judged = measure.family.judged
            for kind, given, modes in (("a run", job.runs, measure.modes), ("judgements", job.qrels, judged)):
                if lacking := [mode for mode in modes if mode not in given]:
                    raise UsageError(
                        f"{measure} needs {kind} for the modes {', '.join(dict.fromkeys(modes))}",
                        why=f"there is none for {', '.join(dict.fromkeys(lacking))}",
                    )


def _with_groups(labels: Labels, groups: Mapping[str, str] | None) -> Labels:
    """Labels of topics, and of core queries where all their variants agree."""
    out = {unit: dict(named) for unit, named in labels.items()}
    for topic, group in sorted((groups or {}).items()):
        if topic in labels and group not in labels:
            own = dict(labels[topic])
            known = out.setdefault(group, own)
            for name in [name for name in known if own.get(name) != known[name]]:
                del known[name]
    return out


Values = dict[tuple[Measure, str], tuple[dict[str, float | None], set[str]]]


def _all_values(wanted: Sequence[Measure], job: Inputs, vectors: Mapping[str, Array] | None) -> Values:
    """(measure, mode) -> (unit -> value, units without a ranking)."""
    every = list(wanted)
    for measure in wanted:
        if measure.family.combine and measure.family.of:
            every += [part for part in measure.family.of(measure) if part not in every]
    kinds = {arity: [m for m in every if m.arity is arity] for arity in Arity}
    out: Values = {}
    if kinds[Arity.RANKING] or kinds[Arity.GROUP]:
        for mode in [mode for mode in job.runs if mode in job.qrels or "" in job.qrels]:
            _score_rankings(kinds[Arity.RANKING], kinds[Arity.GROUP], mode, job, out)
    for judged in dict.fromkeys(measure.family.judged for measure in kinds[Arity.MODES]):
        _score_modes([m for m in kinds[Arity.MODES] if m.family.judged == judged], judged, job, out)
    for measure in kinds[Arity.VECTORS]:
        out[measure, ""] = ({t: measure.score(v) for t, v in sorted((vectors or {}).items())}, set())
    return out


def _value(measure: Measure, given: Any, absent: bool) -> float | None:
    """The value of a unit; without a ranking the declared one, unless the judgements leave it undefined."""
    value = measure.family.score(measure, given)
    return measure.family.missing if absent and value is not None else value


def _score_rankings(
    singles: Sequence[Measure], grouped: Sequence[Measure], mode: str, job: Inputs, out: Values
) -> None:
    run = job.runs[mode]
    judged = job.judged_by(mode)
    slots: list[tuple[Measure, dict[str, float | None]]] = [(m, {}) for m in singles]
    lost: set[str] = set()
    by_trec = job.preset.by_trec
    members: dict[str, list[tuple[Judged, Judged]]] = {}  # places by the preset, and by trec_eval
    for topic in sorted(judged):
        if not judged[topic]:
            continue
        absent = not run.get(topic)
        if absent:
            lost.add(topic)
            if job.missing == "skip":
                continue
        place = job.judged_topic(mode, topic)
        if not place.count(np.nextafter(0, 1)):
            job.without_relevant[mode] = job.without_relevant.get(mode, 0) + 1
        places = place, (job.judged_topic(mode, topic, preset=PRESETS["trec"]) if by_trec else place)
        for measure, values in slots:
            values[topic] = _value(measure, places[measure.family.name in by_trec], absent)
        if grouped and job.groups is not None:
            members.setdefault(job.groups.get(topic, topic), []).append(places)
    for measure, values in slots:
        out[measure, mode] = (values, lost)
    for measure in grouped:
        which = measure.family.name in by_trec
        of_groups = {
            g: measure.score([places[which] for places in own]) for g, own in sorted(members.items())
        }
        out[measure, mode] = (of_groups, set())


def _score_modes(measures: Sequence[Measure], judged_modes: Sequence[str], job: Inputs, out: Values) -> None:
    """Measures that read the judgements of the same modes."""
    modes = list(dict.fromkeys(mode for measure in measures for mode in measure.modes))
    judged = [{t for t, docs in job.judged_by(mode).items() if docs} for mode in judged_modes]
    topics = sorted(set.intersection(*judged))
    if partly := set.union(*judged) - set(topics):
        job.remarks.append(
            f"{len(partly):,} topics lack judgements in one of {' and '.join(judged_modes)}; measures over "
            f"modes leave them out: {some(partly)}"
        )
    for measure in measures:
        out[measure, ""] = ({}, set())
    uneven = 0
    for topic in topics:
        dropped = job.excluded.get(topic, ())
        judged_docs = dict.fromkeys(doc for mode in judged_modes for doc in job.judged_by(mode)[topic])
        docs = [doc for doc in judged_docs if doc not in dropped]
        places = {mode: job.judged_topic(mode, topic, docs) for mode in modes}
        uneven += len({place.length for place in places.values()}) > 1
        for measure in measures:
            values, lost = out[measure, ""]
            absent = any(not places[mode].length for mode in measure.modes)
            if absent:
                lost.add(topic)
            if not absent or job.missing == "declared":
                values[topic] = _value(measure, places, absent)
    if uneven:
        job.remarks.append(
            f"{uneven:,} topics have rankings of different length by mode, so that the place of an unranked "
            "document differs too"
        )


def _pooled(measure: Measure, pools: Pools, job: Inputs, labels: Labels | None, keys: Sequence[str]) -> Score:
    """A measure of means over several systems."""
    (inner,) = measure.family.of(measure) if measure.family.of else ()
    means: dict[str, dict[str, float]] = {}
    units = {topic: 0.0 for topic, docs in job.judged_by("").items() if docs}
    for role in ("retrievers", "verifiers", "lower", "agents"):
        for name, run in sorted(getattr(pools, role).items()):
            found = evaluate(
                [inner],
                job.judged_by(""),
                run,
                preset=job.preset,
                labels=labels,
                average=keys,
                excluded=job.excluded,
                missing=job.missing,
            )
            mean = found[inner].mean
            if mean is not None:
                means.setdefault(role, {})[name] = mean
            job.remarks += [
                f"{role[:-1] if role != 'lower' else role} {name}: {remark}" for remark in found.remarks
            ]
    return Score(measure, "", {}, measure.score(means), systems=means, over=len(units))
