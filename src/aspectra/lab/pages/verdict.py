"""Which system is better, on what, by how much, and how sure that is: sentences from paired tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aspectra.base.errors import UsageError
from aspectra.lab.figures.recorded import Choice, Place, choose_column, family_of, mean_of
from aspectra.lab.reports.tables import Column, Number
from aspectra.lab.statistics.significance import SMALL, Comparison, compare

_SHOWN = 5  # names in a sentence
_PLAIN = "bm25"  # what others are compared with where it was run and nothing else is named


@dataclass(frozen=True)
class Verdict:
    """What can be said of one benchmark under one protocol.

    Attributes:
        headline: one sentence, for somebody who reads no other.
        details: what else follows from the same tests, and what to keep in mind.
        column: the measure it is about.
        baseline: what the headline compares with, or "".
        best: the system with the best mean.
    """

    headline: str
    details: tuple[str, ...]
    column: Column
    baseline: str
    best: str


def verdict_on(place: Place, choice: Choice) -> Verdict:
    """The verdict by one measure.

    The system with the best mean is compared with the baseline, and all others with it; ceilings take no
    part. Every test is paired by query and corrected for the number of comparisons.

    Args:
        place: whose systems.
        choice: names measure, baseline, test and correction; the baseline is otherwise ``bm25``, or the first
            system where that was not run.

    Raises:
        UsageError: no measure fits.
    """
    column = choose_column(place, choice)
    scored = place.with_column(column)
    # A ceiling is made from the judgements: no system that could be chosen.
    ceilings = [name for name in scored if place.is_ceiling(name)]
    systems = {name: system for name, system in scored.items() if name not in ceilings} or scored
    place = replace(place, systems=systems)
    if not systems:
        raise _nothing(place)
    lower = family_of(column).better == "lower"
    means = {name: system.means[column] or 0.0 for name, system in systems.items()}
    best = (min if lower else max)(means, key=lambda name: means[name])
    usual = _PLAIN if _PLAIN in systems else next(iter(systems))
    baseline = choice.baseline if choice.baseline in systems else usual
    measure = column[1] + (f" [{column[2]}]" if column[2] else "")
    units = len(systems[best].values[column])
    few = (
        (f"{units} queries are few: the t-test then leans on differences that are about normal.",)
        if units < SMALL
        else ()
    )
    told = (*place.failed, *_simulated(place), *few)
    if ceilings and ceilings != list(scored):
        told = (*told, f"Made from the judgements, and no system to choose: {_list(ceilings)}.")
    if len(systems) == 1:
        mean = mean_of(systems[best], column)
        said = (
            f"Only {_named(best)} was run on {place.title}: {measure} {_text(mean)} over {units:,} queries."
        )
        return Verdict(said, ("There is nothing to compare it with.", *told), column, "", best)
    against_base = _compared(place, column, baseline, choice)
    against_best = _compared(place, column, best, choice)
    first, base, where = _named(best), _named(baseline), f"on {place.title}"
    if best == baseline:
        equal = [name for name, one in against_best.items() if not one.significant()]
        worse = [name for name in against_best if name not in equal]
        shown = _text(mean_of(systems[best], column))
        said = f"{base} has the best mean {where}, {measure} {shown} over {units:,} queries"
        said += f"; better than {_list(worse)}" if worse else ""
        said += f"; {_list(equal)} cannot be told from it." if equal else "."
        return Verdict(said, (*_each(place, column, against_base, baseline), *told), column, baseline, best)
    one = against_base.get(best)
    if one is None:
        said = f"{first} has the best mean {where}, but was scored on other queries than {base}."
        return Verdict(said, told, column, baseline, best)
    scale = family_of(column).scale
    amount = f"{measure} {_signed(scale * one.difference)}{_span(one, scale)}, {one.units:,} queries{_p(one)}"
    others = [name for name, c in against_base.items() if c.significant() and _gain(c, lower)]
    if best in others:
        said = f"{first} is better than {base} {where}: {amount}"
    elif others:
        said = f"{_list(others)} {_are(others)} better than {base} {where}; "
        said += f"the best mean is that of {first}: {amount}"
    else:
        said = f"No system can be told from {base} as better {where}; "
        said += f"the best mean is that of {first}: {amount}"
    rest = [name for name, c in against_best.items() if name != baseline and not c.significant()]
    said += f"; {_list(rest)} cannot be told from {first}." if rest else "."
    details = _each(place, column, against_base, baseline, best if best in others else "")
    if len(systems) > 2:
        details.append(
            f"{first} was chosen as the best of {len(systems)} on these same queries, which flatters it; new "
            "queries decide."
        )
    return Verdict(said, (*details, *told), column, baseline, best)


def _nothing(place: Place) -> UsageError:
    return UsageError(f"no system on {place.title} has a mean", hint="aspectra bench show DIR")


def _compared(place: Place, column: Column, base: str, choice: Choice) -> Mapping[str, Comparison]:
    systems = place.with_column(column)
    own = systems[base].values[column]
    others = {
        name: s.values[column]
        for name, s in systems.items()
        if name != base and set(s.values[column]) == set(own)
    }
    return compare(own, others, test=choice.test, correction=choice.correction)


def _gain(one: Comparison, lower: bool) -> bool:
    return (one.difference < 0) == lower


def _each(
    place: Place, column: Column, found: Mapping[str, Comparison], baseline: str, told: str = ""
) -> list[str]:
    """What the tests against the baseline say of all systems but ``told``, which the headline names."""
    lower = family_of(column).better == "lower"
    better = [n for n, one in found.items() if one.significant() and _gain(one, lower) and n != told]
    worse = [n for n, one in found.items() if one.significant() and not _gain(one, lower)]
    open_ = [n for n, one in found.items() if not one.significant()]
    skipped = [n for n in place.with_column(column) if n != baseline and n not in found]
    out = [f"Better than {_named(baseline)}: {_list(better)}."] if better else []
    out += [f"Worse than {_named(baseline)}: {_list(worse)}."] if worse else []
    out += [f"Not to be told from {_named(baseline)}: {_list(open_)}."] if open_ else []
    out += [f"Scored on other queries and not compared: {_list(skipped)}."] if skipped else []
    return out


def _simulated(place: Place) -> list[str]:
    if not any("[simulated]" in name for name in place.systems):
        return []
    return ["Simulated: an oracle that knows the judgements answers, and no language model."]


def _list(names: list[str]) -> str:
    """Names in a sentence: five at most.

    >>> _list(["a"]), _list(["a", "b", "c"]), _list(["a, b", "c"])
    ('a', 'a, b and c', '“a, b” and c')
    """
    shown = list(map(_named, names[:_SHOWN]))
    if len(names) > _SHOWN:
        return f"{', '.join(shown)} and {len(names) - _SHOWN} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _named(name: str) -> str:
    """A name in a sentence, in quotes where it holds a comma."""
    return f"“{name}”" if "," in name or " and " in name else name


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _span(one: Comparison, scale: float) -> str:
    if one.interval is None:
        return ""
    return f" [{scale * one.interval.low:.1f}, {scale * one.interval.high:.1f}]".replace("-", "−")


def _p(one: Comparison) -> str:
    p = one.p if one.adjusted is None else one.adjusted
    if p is None:
        return ""
    return f", p = {p:.3f}" if p >= 0.001 else ", p < 0.001"


def _text(mean: Number | None) -> str:
    return "–" if mean is None else mean.text(1).replace("-", "−")
