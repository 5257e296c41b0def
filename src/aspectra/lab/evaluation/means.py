"""The results of scoring a run: values by topic, means, breakdowns, counts of what was left out."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any

from aspectra.base.errors import UsageError, check_choice
from aspectra.base.values import Value
from aspectra.lab.measures.protocol import Family, Measure, parse
from aspectra.lab.runs.files import Order, Precision

# Presets: which reference implementation a number follows.
#
# A preset sets the parameters that the spelling of a measure leaves out, the order of equal scores, and how
# topics are averaged. Every report names it.


class Preset(Value, frozen=True):
    """A named way to evaluate.

    Attributes:
        name: as reports give it.
        about: one line for people.
        order: how equal scores are told apart.
        precision: of the scores when compared.
        by_trec: families that the implementation takes from trec_eval, and so with the order and precision of
            the preset ``trec``.
        defaults: family -> parameters, where a spelling leaves them out.
        renames: family -> family put in its place.
        average: labels, finest first: topics are averaged within them before their plain mean is taken.
        measures: reported where none is named.
    """

    name: str
    about: str
    order: Order = "id-descending"
    precision: Precision = "float64"
    by_trec: tuple[str, ...] = ()
    defaults: dict[str, dict[str, str | int | float | bool]] = {}  # noqa: RUF012 - copied for each value
    renames: dict[str, str] = {}  # noqa: RUF012 - as above
    average: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("nDCG@10", "R@100", "MRR@10", "AP")

    def parse(self, text: str) -> Measure:
        """The measure that ``text`` spells under this preset.

        >>> get_preset("csfcube").parse("nDCG@20"), get_preset("csfcube").parse("P@20")
        (csfcube_ndcg@20, P(rel=2)@20)
        """
        return parse(text, self.defaults, self.renames)


_GIVEN = tomllib.loads((resources.files("aspectra.lab.evaluation") / "presets.toml").read_text("utf-8"))
PRESETS = {name: Preset.from_dict({"name": name, **held}) for name, held in _GIVEN.items()}


def get_preset(name: str) -> Preset:
    """The preset called ``name``.

    Raises:
        UsageError: the name is unknown.
    """
    return PRESETS[check_choice(name, PRESETS, "preset called")]


# Unit -> name of a label -> its value.
Labels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of the topics that a mean is taken over.

    Attributes:
        scored: judged topics with a ranking.
        judged: topics with judgements.
        missing: judged topics without a ranking.
        extra: ranked topics without judgements, which cannot be scored.
        without_relevant: judged topics none of whose documents has a positive grade.
    """

    scored: int
    judged: int
    missing: int
    extra: int
    without_relevant: int


@dataclass(frozen=True)
class Score:
    """One measure of one run (in one mode).

    Attributes:
        measure: complete; its spelling needs no preset.
        mode: whose ranking was scored, or "" for a single run and for measures over several modes.
        values: unit (topic, or core query) -> value, where it is defined.
        mean: over the units, or None without values to average.
        undefined: units whose value is not defined: not in the mean.
        missing: units without a ranking.
        systems: role -> system -> mean, for a measure over several systems.
        over: topics judged, for such a measure.

    >>> from aspectra.lab import AP, evaluate
    >>> score = evaluate([AP], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})[AP]
    >>> score.mean, score.values
    (0.5, {'q': 0.5})
    """

    measure: Measure
    mode: str
    values: Mapping[str, float]
    mean: float | None
    undefined: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    systems: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    over: int = 0

    @property
    def spelling(self) -> str:
        """The measure, with the mode in brackets where there is one."""
        return f"{self.measure} [{self.mode}]" if self.mode else str(self.measure)

    @property
    def units(self) -> int:
        """Number of units that the mean is taken over."""
        return len(self.values) or self.over

    def by(self, labels: Labels, name: str) -> dict[str, tuple[float, int]]:
        """Label -> (mean, units), sorted; units without the label are under ""."""
        return by_label(self.values, labels, name)


def by_label(values: Mapping[str, float], labels: Labels, name: str) -> dict[str, tuple[float, int]]:
    """Label -> (mean, units), sorted; units without the label are under ""."""
    groups: dict[str, list[float]] = {}
    for unit, value in values.items():
        groups.setdefault(labels.get(unit, {}).get(name, ""), []).append(value)
    return {label: (_mean(own), len(own)) for label, own in sorted(groups.items())}


def _mean(values: Sequence[float]) -> float:
    """The mean, exactly rounded, so that it does not depend on the order of topics."""
    return math.fsum(values) / len(values)


def nested_mean(values: Mapping[str, float], labels: Labels, names: Sequence[str]) -> float | None:
    """Means within labels, finest first, then their plain mean; None without values.

    Raises:
        UsageError: a unit lacks one of the labels.

    >>> labels = {"a": {"fold": "1"}, "b": {"fold": "1"}, "c": {"fold": "2"}}
    >>> nested_mean({"a": 0.0, "b": 1.0, "c": 1.0}, labels, ["fold"])
    0.75
    """
    if not values:
        return None
    lacking = [unit for unit in values if any(name not in labels.get(unit, {}) for name in names)]
    if lacking:
        raise UsageError(
            f"{len(lacking):,} of {len(values):,} topics have no label for {' or '.join(names)}",
            why="first: " + ", ".join(sorted(lacking)[:5]),
        )
    level = [(tuple(labels[unit][name] for name in names) if names else (), v) for unit, v in values.items()]
    for _ in names:
        groups: dict[tuple[str, ...], list[float]] = {}
        for key, value in level:
            groups.setdefault(key, []).append(value)
        level = [(key[1:], _mean(group)) for key, group in groups.items()]
    return _mean([value for _, value in level])


@dataclass(frozen=True)
class Evaluation:
    """Scores of one run (all its modes) under one preset.

    Attributes:
        preset: its name; to be printed with every number.
        scores: in the order of the measures given.
        counts: mode -> what the means are taken over.
        average: labels that means were taken within first.
        labels: unit -> labels.
        spellings: spelling given -> complete measure.
        remarks: what the reader should know, each one sentence.

    >>> from aspectra.lab import P, evaluate
    >>> found = evaluate([P@1], {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}})
    >>> found["P@1"].values, found["P@1"].mean, found["P@1"].missing
    ({'q1': 1.0, 'q2': 0.0}, 0.5, ('q2',))
    """

    preset: str
    scores: tuple[Score, ...]
    counts: Mapping[str, Counts]
    average: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)
    spellings: Mapping[str, Measure] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __getitem__(self, wanted: str | Measure | Family) -> Score:
        return self.get(wanted)

    def get(self, wanted: str | Measure | Family, mode: str | None = None) -> Score:
        """The score of a measure, by the spelling it was given with or its complete one.

        Raises:
            UsageError: it was not evaluated, or there are several modes and none is named.
        """
        wanted = wanted() if isinstance(wanted, Family) else wanted
        measure = self.spellings.get(wanted, wanted) if isinstance(wanted, str) else wanted
        found = [s for s in self.scores if str(s.measure) == str(measure) and mode in (None, s.mode)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(
                f"{wanted} was not evaluated" + (f" in mode {mode!r}" if mode else ""),
                why="there are " + ", ".join(dict.fromkeys(str(s.measure) for s in self.scores)),
            )
        raise UsageError(f"{wanted} was evaluated in {len(found)} modes", hint="name one of them: mode=...")

    @property
    def means(self) -> dict[str, float | None]:
        """:attr:`Score.spelling` -> mean."""
        return {s.spelling: s.mean for s in self.scores}

    def rows(self) -> list[dict[str, Any]]:
        """One row per score, for tables: measure, mode, mean, units, undefined, missing, preset."""
        return [
            {
                "measure": str(s.measure),
                "mode": s.mode,
                "mean": s.mean,
                "units": s.units,
                "undefined": len(s.undefined),
                "missing": len(s.missing),
                "preset": self.preset,
            }
            for s in self.scores
        ]

    def to_dict(self, *, per_unit: bool = True) -> dict[str, Any]:
        """JSON form; ``per_unit`` adds the values of every unit."""
        rows = self.rows()
        for row, score in zip(rows, self.scores, strict=True):
            if per_unit:
                row["values"] = dict(sorted(score.values.items()))
            if score.systems:
                row["systems"] = {role: dict(means) for role, means in score.systems.items()}
        return {
            "preset": self.preset,
            "average": list(self.average),
            "counts": {mode: asdict(counts) for mode, counts in self.counts.items()},
            "scores": rows,
            "remarks": list(self.remarks),
        }
