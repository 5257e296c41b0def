"""Systems in rows with intervals, one panel per measure; radars of dimensions; differences by query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aspectra.lab.figures.drawing import (
    GREY,
    SMALLEST,
    WIDTH,
    Drawing,
    groups_of,
    needs_plot,
    new_figure,
    no_systems,
    numbers_on,
    panels_in,
    short_text,
    shorten,
    style_of,
    text_height,
    text_width,
    tick,
)
from aspectra.lab.figures.lines import closed, drawable, ends_of, finite, key_of, padded
from aspectra.lab.reports.tables import Number, Table
from aspectra.lab.statistics.significance import Comparison, compare, win_tie_loss

_MOST_PANELS = 6  # in a row
_NAME = 22  # characters of a line of a name
_ROUND = 2.3  # height of a radar in inches


@dataclass(frozen=True)
class Dots:
    """Data of a dot plot.

    Attributes:
        systems: names of the rows.
        panels: title -> a value for each system; None or NaN for a missing one.
        shared: whether all panels have one scale.
        names: system -> its name as printed, where it is among others that are drawn elsewhere.
    """

    systems: tuple[str, ...]
    panels: Mapping[str, Sequence[Number | None]]
    shared: bool = True
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> list[str]:
        """Names as printed, in order."""
        names = self.names or shorten(self.systems, _NAME)
        return [names[system] for system in self.systems]

    @property
    def columns(self) -> int:
        """Panels in a row: fewer where their titles are long."""
        longest = max(len(word) for title in self.panels for word in title.split() or [""])
        return min(len(self.panels), _MOST_PANELS if longest < 10 else 4)

    def height(self) -> float:
        """Height of the rows of panels, in inches."""
        lines = max(name.count("\n") for name in self.short)
        one = max(0.19, text_height("\n" * lines, SMALLEST) + 0.04)
        return -(-len(self.panels) // self.columns) * (one * len(self.systems) + 0.62)


def dot_figure(name: str, title: str, dots: Dots, *, notes: Sequence[str] = (), digits: int = 2) -> Drawing:
    """One row per system, one panel per measure; lines through dots are intervals.

    Raises:
        UsageError: no value is finite.
    """
    values = [value for line in dots.panels.values() for value in line]
    if not any(map(drawable, values)):
        raise no_systems(title)
    with new_figure(title, [*notes, *_interval_note(values)], dots.height()) as figure:
        _draw_dots(figure, dots)
    header = ("system", *dots.panels)
    rows = [(system, *(line[n] for line in dots.panels.values())) for n, system in enumerate(dots.systems)]
    table = Table(title, header, tuple(rows), tuple(notes), digits=digits)
    return Drawing(name, title, f"{title}. Systems: {', '.join(dots.systems)}.", figure, table)


def _interval_note(values: Iterable[Number | None]) -> list[str]:
    """Note on the lines through dots, if there are any."""
    ranged = any(v is not None and v.low is not None for v in values)
    return ["Lines through dots: 95 % intervals of means."] if ranged else []


def _draw_dots(figure: Any, dots: Dots) -> None:
    """Draw onto a figure or a part of one."""
    short, columns = dots.short, dots.columns
    width = (WIDTH - max(text_width(name, SMALLEST) for name in short)) / columns - 0.15
    every = padded(ends_of(v for line in dots.panels.values() for v in line), 0.08)
    panels = zip(panels_in(figure, len(dots.panels), columns), dots.panels.items(), strict=True)
    for n, (axes, (title, line)) in enumerate(panels):
        low, high = every if dots.shared else padded(ends_of(line), 0.08)
        axes.set(xlim=(low, high), ylim=(len(short) - 0.5, -0.5))
        axes.set_yticks(range(len(short)), short if n % columns == 0 else [""] * len(short))
        numbers_on(axes.xaxis, 3 if width > 1.2 else 2 if width > 0.8 else 1)
        axes.tick_params(axis="y", length=0)
        heading = short_text(title, max(7, width * 12), 2)
        axes.set_title(heading, fontsize=SMALLEST, fontweight="bold")
        if low < 0 < high:
            axes.axvline(0, color=GREY, linewidth=0.8)
        for row, value in enumerate(line):
            if not drawable(value):
                middle = (low + high) / 2
                axes.text(middle, row, "n/a", ha="center", va="center", color=GREY, fontsize=SMALLEST)
                continue
            if finite(value.low) and finite(value.high):
                axes.plot([value.low, value.high], [row] * 2, color=style_of(row).color, linewidth=1.1)
            axes.plot([value.value], [row], **style_of(row).mark)


def radar_figure(
    name: str,
    title: str,
    dimensions: Sequence[str],
    systems: Mapping[str, Sequence[Number | None]],
    *,
    measure: str,
    notes: Sequence[str] = (),
) -> Drawing:
    """Systems over dimensions; up to six systems per radar, each radar with its dot plot.

    With fewer than three dimensions only the dot plot is drawn. The scale of a radar begins at the lowest
    value where that is negative, with a circle at 0.

    Args:
        name: of the files.
        title: of the figure.
        dimensions: at least one.
        systems: system -> a value for each dimension.
        measure: what the values are.
        notes: below.

    Raises:
        UsageError: no value is finite.
    """
    every = [v for line in systems.values() for v in line]
    values = [v.value for v in every if drawable(v)]
    if not values:
        raise no_systems(title)
    has_radar = len(dimensions) >= 3
    low, high = min(0.0, *values), max(0.0, *values)
    high = high if high > low else low + 1.0
    names = shorten(list(systems), _NAME)
    plots = [
        Dots(tuple(part), {d: [systems[s][n] for s in part] for n, d in enumerate(dimensions)}, names=names)
        for part in groups_of(list(systems))
    ]
    told = [
        *notes,
        f"Values: {measure}." + ("" if has_radar else " Fewer than three dimensions: no radar."),
        *([f"Radar: {tick(float(f'{low:.3g}'))} in the centre, {tick(float(f'{high:.3g}'))} at the rim."
           + (" The dark ring is 0." if low < 0 else "")] if has_radar else []),
        *_interval_note(every),
    ]  # fmt: skip
    heights = [h for plot in plots for h in ([_ROUND] * has_radar + [plot.height()])]
    with new_figure(title, told, sum(heights)) as figure:
        parts = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False).ravel())
        for plot in plots:
            if has_radar:
                _radar(next(parts), dimensions, plot, (low, high))
            _draw_dots(next(parts), plot)
    rows = [(system, *line) for system, line in systems.items()]
    table = Table(title, ("system", *dimensions), tuple(rows), tuple(notes))
    about = f"{title}. Dimensions: {', '.join(dimensions)}. Systems: {', '.join(systems)}."
    return Drawing(name, title, about, figure, table)


def _radar(figure: Any, dimensions: Sequence[str], dots: Dots, bounds: tuple[float, float]) -> None:
    """One radar with the names of its lines beside it."""
    low, high = bounds
    axes = figure.subplots(subplot_kw={"projection": "polar"})
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    angles = [2 * math.pi * n / len(dimensions) for n in range(len(dimensions))]
    for n in range(len(dots.systems)):
        line = [values[n] for values in dots.panels.values()]
        radii = [v.value if drawable(v) else math.nan for v in line]
        axes.plot(closed(angles), closed(radii), clip_on=False, **style_of(n).line)
    axes.set_rlim(low - 0.06 * (high - low), high)
    axes.set_rticks([low + (high - low) * share for share in (0.25, 0.5, 0.75, 1.0)], [""] * 4)
    if low < 0:
        axes.plot([2 * math.pi * n / 90 for n in range(91)], [0.0] * 91, color="#404040", linewidth=0.9)
    short = shorten(dimensions, 12)
    axes.set_xticks(angles, [short[d] for d in dimensions], fontsize=SMALLEST)
    axes.spines["polar"].set_visible(False)
    axes.tick_params(axis="x", pad=9)
    key_of(axes, dots.short, right=1.5)


def delta_figure(
    name: str,
    title: str,
    baseline: str,
    own: Mapping[str, float],
    others: Mapping[str, Mapping[str, float]],
    *,
    measure: str,
    scale: float = 1.0,
    test: str = "t",
    correction: str = "holm",
    lower_is_better: bool = False,
    notes: Sequence[str] = (),
) -> Drawing:
    """Each query's difference from a baseline, sorted, with the paired test above each panel.

    Args:
        name: of the files.
        title: of the figure.
        baseline: name of what the others are compared with.
        own: unit -> its value.
        others: system -> unit -> value, over the same units.
        measure: what the values are.
        scale: what they are multiplied with when printed.
        test: ``t``, ``wilcoxon`` or ``randomisation``.
        correction: ``none``, ``holm`` or ``bonferroni``, over the systems.
        lower_is_better: whether a negative difference is an improvement.
        notes: below.

    Raises:
        UsageError: ``others`` or the units are empty.
    """
    if not others or not own:
        raise no_systems(title)
    needs_plot()
    found = compare(own, others, test=test, correction=correction)
    columns = min(3, len(others))
    rows = -(-len(others) // columns)
    way = {"t": "paired t", "wilcoxon": "Wilcoxon's", "randomisation": "randomisation"}.get(test, test)
    foot = [
        *notes,
        f"One bar a query, sorted; {'below' if lower_is_better else 'above'} 0 the system is better than "
        f"{baseline}. Test: {way}, correction {correction.capitalize()}; in brackets the 95 % interval.",
    ]
    table_rows: list[tuple[Any, ...]] = []
    headings = shorten(list(others), 66 / columns, 1)
    with new_figure(title, foot, rows * 2.1) as figure:
        panels = panels_in(figure, len(others), columns, sharey=True)
        for axes, (system, values) in zip(panels, others.items(), strict=True):
            ordered = sorted(
                ((scale * (values[u] - own[u]), u) for u in own), key=lambda pair: (-pair[0], pair[1])
            )
            table_rows += [
                (system, unit, scale * own[unit], scale * values[unit], value) for value, unit in ordered
            ]
            many = len(ordered) > 60
            axes.bar(
                range(len(ordered)),
                [value for value, _ in ordered],
                width=1.0 if many else 0.8,
                color=["#0072B2" if (value < 0) == lower_is_better else "#E8A33D" for value, _ in ordered],
                edgecolor="#333333",
                linewidth=0.0 if many else 0.4,
            )
            one = found[system]
            axes.axhline(0, color="#000000", linewidth=0.7)
            axes.axhline(scale * one.difference, color="#000000", linewidth=0.9, linestyle=(0, (4, 2)))
            axes.set_xticks([])
            numbers_on(axes.yaxis)
            axes.set_xlabel(f"{len(ordered):,} queries", fontsize=SMALLEST)
            wins, ties, losses = win_tie_loss(*((own, values) if lower_is_better else (values, own)))
            tested = _amount(one, scale) + _p(one.p if one.adjusted is None else one.adjusted)
            told = (headings[system], tested, f"{wins} better, {ties} equal, {losses} worse")
            axes.set_title("\n".join(told), loc="left", fontsize=SMALLEST)
        for axes in panels[::columns]:
            axes.set_ylabel(short_text(f"difference in {measure}", 20, 2))
    header = ("system", "query", f"{measure} of {baseline}", f"{measure} of the system", "difference")
    about = f"{title}. " + "; ".join(
        f"{system}: mean difference {scale * found[system].difference:.2f}" for system in others
    )
    return Drawing(name, title, about + ".", figure, Table(title, header, tuple(table_rows), tuple(foot)))


def _amount(one: Comparison, scale: float) -> str:
    """A difference with its interval, as exact as its size allows."""
    numbers = [scale * one.difference]
    numbers += [scale * one.interval.low, scale * one.interval.high] if one.interval else []
    digits = 2 if 0.1 <= max(map(abs, numbers)) < 1000 else None
    shown = [tick(v) if digits is None else f"{v:.{digits}f}".replace("-", "−") for v in numbers]
    return shown[0] + (f" [{shown[1]}, {shown[2]}]" if len(shown) > 1 else "")


def _p(p: float | None) -> str:
    return "" if p is None else f", p = {p:.4f}" if p >= 0.0001 else ", p < 0.0001"
