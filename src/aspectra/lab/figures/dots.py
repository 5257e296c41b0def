"""Dot plots: systems in rows, one panel a measure or dimension, with intervals; and differences by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aspectra.lab.figures.drawing import (
    BODY,
    GREY,
    SMALLEST,
    WIDTH,
    Canvas,
    Drawing,
    needs_plot,
    new_canvas,
    no_systems,
    shorten,
    style_of,
    text_height,
    text_width,
)
from aspectra.lab.figures.lines import drawable, ends_of, finite, padded, tick
from aspectra.lab.reports.tables import Number, Table
from aspectra.lab.statistics.significance import Comparison, compare, win_tie_loss

_MOST_PANELS = 6  # in a row
NAME_WIDTH = 22  # characters of a line of a name


@dataclass(frozen=True)
class Dots:
    """What a dot plot shows.

    Attributes:
        systems: names of the rows.
        panels: title -> a value for each system; None or NaN where there is none.
        shared: whether all panels have one scale.
        names: system -> its name as printed, where it is among others that are drawn elsewhere.
    """

    systems: tuple[str, ...]
    panels: Mapping[str, Sequence[Number | None]]
    shared: bool = True
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> Mapping[str, str]:
        """System -> its name as printed."""
        return self.names or shorten(self.systems, NAME_WIDTH)

    @property
    def columns(self) -> int:
        """Panels in a row: fewer where their titles are long."""
        longest = max(len(word) for title in self.panels for word in title.split() or [""])
        return min(len(self.panels), _MOST_PANELS if longest < 10 else 4)

    def height(self) -> float:
        """Of the rows of panels, in inches."""
        count = -(-len(self.panels) // self.columns)
        return count * (self.row_height() * len(self.systems) + 0.62)

    def row_height(self) -> float:
        """Of one system, in inches."""
        lines = max(self.short[system].count("\n") for system in self.systems) + 1
        return max(0.19, text_height("\n" * (lines - 1), SMALLEST) + 0.04)


def dot_figure(
    name: str, title: str, dots: Dots, *, notes: Sequence[str] = (), about: str = "", digits: int = 2
) -> Drawing:
    """One row a system, one panel a measure; lines through dots are intervals.

    Raises:
        UsageError: there is no finite value.
    """
    values = [value for line in dots.panels.values() for value in line]
    if not any(map(drawable, values)):
        raise no_systems(title)
    with new_canvas(title, [*notes, *interval_note(values)], dots.height()) as canvas:
        draw_dots(canvas, canvas.top, dots)
        figure = canvas.figure
    header = ("system", *dots.panels)
    rows = [(system, *(line[n] for line in dots.panels.values())) for n, system in enumerate(dots.systems)]
    table = Table(title, header, tuple(rows), tuple(notes), digits=digits)
    return Drawing(name, title, about or f"{title}. Systems: {', '.join(dots.systems)}.", figure, table)


def interval_note(values: Iterable[Number | None]) -> list[str]:
    """What the lines through dots are, where there are any."""
    ranged = any(v is not None and v.low is not None for v in values)
    return ["Lines through dots: 95 % intervals of means."] if ranged else []


def draw_dots(canvas: Canvas, top: float, dots: Dots, styles: Mapping[str, int] | None = None) -> None:
    """Draw a dot plot onto a canvas.

    Args:
        canvas: the figure.
        top: upper edge in inches.
        dots: what is drawn.
        styles: system -> number of its style; default: by its row.
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator

    short = dots.short
    names = 0.16 + max(text_width(short[system], SMALLEST) for system in dots.systems)
    titles = list(dots.panels)
    columns = dots.columns
    gap = 0.2
    width = min(2.6, (WIDTH - names - 0.22 - gap * (columns - 1)) / columns)
    tall = dots.row_height() * len(dots.systems)
    every = padded(ends_of(v for line in dots.panels.values() for v in line), 0.08)
    for n, title in enumerate(titles):
        row, column = divmod(n, columns)
        y = top + row * (tall + 0.62) + 0.32
        x = names + 0.1 + column * (width + gap)
        axes = canvas.axes(x, y, width, tall)
        low, high = every if dots.shared else padded(ends_of(dots.panels[title]), 0.08)
        axes.set_xlim(low, high)
        axes.set_ylim(len(dots.systems) - 0.5, -0.5)
        axes.yaxis.set_major_locator(FixedLocator(list(range(len(dots.systems)))))
        axes.set_yticklabels([])
        axes.xaxis.set_major_locator(MaxNLocator(3 if width > 0.75 else 2, steps=[1, 2, 5, 10]))
        axes.tick_params(length=2, width=0.6, pad=2)
        axes.tick_params(axis="y", length=0)
        _thin_ticks(axes, low, high, width)
        if low < 0 < high:
            axes.axvline(0, color=GREY, linewidth=0.8)
        for place, (system, value) in enumerate(zip(dots.systems, dots.panels[title], strict=True)):
            if not drawable(value):
                axes.text(
                    (low + high) / 2, place, "n/a", ha="center", va="center", color=GREY, fontsize=SMALLEST
                )
                continue
            style = style_of(styles[system] if styles else place)
            if finite(value.low) and finite(value.high):
                axes.plot([value.low, value.high], [place, place], color=style.color, linewidth=1.1)
            axes.plot(
                [value.value],
                [place],
                marker=style.marker,
                color=style.color,
                markerfacecolor=style.fill,
                linestyle="none",
            )
        heading = shorten([title], max(8, width * 13), 2)[title]
        canvas.text(x + width / 2, y - 0.03, heading, SMALLEST, ha="center", va="bottom", fontweight="bold")
        if column == 0:
            for place, system in enumerate(dots.systems):
                at = y + tall * (place + 0.5) / len(dots.systems)
                canvas.text(names + 0.04, at, short[system], SMALLEST, ha="right", va="center")


def _thin_ticks(axes: Any, low: float, high: float, width: float) -> None:
    """Keep those tick labels that have room beside each other and inside the gap of panels."""
    from matplotlib.ticker import FixedLocator

    kept, edge = [], -0.08
    for value in [float(v) for v in axes.xaxis.get_majorticklocs() if low <= v <= high]:
        half = text_width(tick(value), SMALLEST) / 2
        centre = width * (value - low) / (high - low)
        if centre - half > edge and centre + half < width + 0.08:
            kept.append(value)
            edge = centre + half + 0.05
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.set_xticklabels([tick(value) for value in kept])


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
        UsageError: there is no other system, or no unit.
    """
    if not others or not own:
        raise no_systems(title)
    needs_plot()
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    found = compare(own, others, test=test, correction=correction)
    columns = min(3, len(others))
    rows = -(-len(others) // columns)
    head, height, below = 0.5, 1.25, 0.42
    tested = {"t": "paired t", "wilcoxon": "Wilcoxon's", "randomisation": "randomisation"}.get(test, test)
    foot = [
        *notes,
        f"One bar a query, sorted; {'below' if lower_is_better else 'above'} 0 the system is better than "
        f"{baseline}. Test: {tested}, correction {correction.capitalize()}; in brackets the 95 % interval.",
    ]
    table_rows: list[tuple[Any, ...]] = []
    bounds = padded([scale * (v - own[u]) for other in others.values() for u, v in other.items()] + [0.0])
    left = 0.46 + max(text_width(tick(float(f"{v:.1e}")), SMALLEST) for v in (*bounds, sum(bounds)))
    gap = 0.22
    width = (WIDTH - left - 0.12 - gap * (columns - 1)) / columns
    headings = shorten(list(others), width * 12, 1)
    with new_canvas(title, foot, rows * (head + height + below)) as canvas:
        for n, (system, values) in enumerate(others.items()):
            row, column = divmod(n, columns)
            x, y = left + column * (width + gap), canvas.top + row * (head + height + below) + head
            ordered = sorted(
                ((scale * (values[u] - own[u]), u) for u in own), key=lambda pair: (-pair[0], pair[1])
            )
            table_rows += [
                (system, unit, scale * own[unit], scale * values[unit], value) for value, unit in ordered
            ]
            axes = canvas.axes(x, y, width, height)
            better = [(value < 0) == lower_is_better for value, _ in ordered]
            axes.bar(
                range(len(ordered)),
                [value for value, _ in ordered],
                width=1.0 if len(ordered) > 60 else 0.8,
                color=["#0072B2" if good else "#E8A33D" for good in better],
                edgecolor="#333333",
                linewidth=0.0 if len(ordered) > 60 else 0.4,
            )
            axes.axhline(0, color="#000000", linewidth=0.7)
            one = found[system]
            axes.axhline(scale * one.difference, color="#000000", linewidth=0.9, linestyle=(0, (4, 2)))
            axes.set_xlim(-0.8, len(ordered) - 0.2)
            axes.set_ylim(*bounds)
            axes.set_xticks([])
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.yaxis.set_major_formatter(FuncFormatter(tick))
            axes.tick_params(length=2.5, width=0.6, pad=2, labelleft=column == 0)
            p = one.p if one.adjusted is None else one.adjusted
            wins, ties, losses = win_tie_loss(*((own, values) if lower_is_better else (values, own)))
            canvas.text(x, y - 0.46, headings[system], BODY, fontweight="bold")
            line = f"{_amount(one, scale)}{_p(p)}"
            canvas.text(x, y - 0.31, line, SMALLEST)
            canvas.text(x, y - 0.175, f"{wins} better, {ties} equal, {losses} worse", SMALLEST, color=GREY)
            canvas.text(x + width / 2, y + height + 0.07, f"{len(ordered):,} queries", SMALLEST, ha="center")
        label = shorten([f"difference in {measure}"], 20, 2)[f"difference in {measure}"]
        for row in range(rows):
            middle = canvas.top + row * (head + height + below) + head + height / 2
            canvas.text(0.06, middle, label, SMALLEST, rotation=90, va="center")
        figure = canvas.figure
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
