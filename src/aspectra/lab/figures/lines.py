"""Lines over an axis, labelled at their ends: recall curves, growing pools, failing judges, moved ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from aspectra.lab.figures.drawing import (
    BODY,
    GREY,
    MOST_LINES,
    SMALLEST,
    WIDTH,
    Canvas,
    Drawing,
    groups_of,
    new_canvas,
    no_systems,
    shorten,
    spread,
    style_of,
    text_height,
    text_width,
)
from aspectra.lab.reports.tables import Number, Table

# Numbers that can be drawn, and axes for them.


def finite(value: float | None) -> TypeGuard[float]:
    """Whether there is a number to draw."""
    return value is not None and math.isfinite(value)


def drawable(value: Number | None) -> TypeGuard[Number]:
    """Whether there is a value to draw."""
    return value is not None and finite(value.value)


def ends_of(values: Iterable[Number | None]) -> list[float]:
    """The finite values and the ends of their intervals."""
    return [end for v in values if drawable(v) for end in (v.value, v.low, v.high) if finite(end)]


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """Bounds of an axis around finite values, with some room."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = share * (high - low) or max(abs(high) * 0.1, 0.5)
    return low - room, high + room


def tick(value: float, _: object = None) -> str:
    """A number on an axis, short at any size.

    >>> tick(0.25), tick(-12.0), tick(1500), tick(25000), tick(1500000), tick(0.000002)
    ('0.25', '−12', '1,500', '25k', '1.5M', '2e−06')
    """
    size = abs(value)
    if size >= 1e4:
        text = f"{value / 1e6:.4g}M" if size >= 1e6 else f"{value / 1e3:.4g}k"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def factors(low: float, high: float) -> list[float]:
    """About five round numbers between two positive bounds, for a scale by factors.

    >>> factors(0.8, 60)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    found = [m * 10.0**e for e in range(-9, 12) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return found[:: max(1, len(found) // 5)] or [low]


_GAP = 0.14  # inches between the end of a line and its label
_MOST_BANDS = 3  # more of them hide each other: whiskers then


@dataclass(frozen=True)
class Axis:
    """A horizontal axis.

    Attributes:
        label: what it shows.
        places: of the points, in order.
        ticks: text at each place; empty prints the number.
        logarithmic: whether equal factors are equal lengths.
    """

    label: str
    places: tuple[float, ...]
    ticks: tuple[str, ...] = ()
    logarithmic: bool = False


@dataclass(frozen=True)
class Panel:
    """Lines drawn together.

    Attributes:
        title: above them.
        lines: name -> its values at the places of the axis; None or NaN where there is none.
        axis: its own axis, or None for the figure's.
    """

    title: str
    lines: Mapping[str, Sequence[Number | None]]
    axis: Axis | None = None


def panels_of(lines: Mapping[str, Sequence[Number | None]], most: int = MOST_LINES) -> list[Panel]:
    """Lines in panels of at most six, in order."""
    return [Panel("", {name: lines[name] for name in group}) for group in groups_of(list(lines), most)]


def line_figure(
    name: str,
    title: str,
    panels: Sequence[Panel],
    axis: Axis,
    measure: str,
    *,
    notes: Sequence[str] = (),
    about: str = "",
    floor: tuple[str, float] | None = None,
    downwards: bool = False,
    logarithmic: bool = False,
    bands: bool = True,
    columns: int = 0,
    height: float = 2.1,
    digits: int = 2,
) -> Drawing:
    """Small multiples on one scale, every line labelled where it ends.

    Args:
        name: of the files.
        title: of the figure.
        panels: of at most six lines each.
        axis: of every panel without its own.
        measure: what the values are.
        notes: below.
        about: text alternative; default: the title, the panels and the range of values.
        floor: name and value of a level that is drawn through every panel.
        downwards: smaller values higher up, as for ranks.
        logarithmic: vertical scale by factors; all values must be above 0.
        bands: draw intervals as bands, where there are any.
        columns: panels in a row; 0 chooses.
        height: of a panel in inches.
        digits: decimals in the table.

    Raises:
        UsageError: there is no finite value.
    """
    values = [v for panel in panels for line in panel.lines.values() for v in line if drawable(v)]
    if not values:
        raise no_systems(title)
    short = shorten([line for panel in panels for line in panel.lines], 20)
    columns = columns or min(len(panels), 3 if max(map(_longest(short), panels)) < 0.9 else 2)
    rows = -(-len(panels) // columns)
    low, high = _bounds(values, floor, bands, logarithmic)
    ticks = max(text_width(tick(float(f"{v:.3g}")), SMALLEST) for v in (low, high, (low + high) / 2))
    left, right = 0.38 + ticks, [0.0] * columns
    for i, panel in enumerate(panels):
        right[i % columns] = max(right[i % columns], _longest(short)(panel) + _GAP + 0.1)
    inner = (WIDTH - left - sum(right) - 0.16 * (columns - 1)) / columns
    head = 0.24 if any(panel.title for panel in panels) else 0.06
    below = 0.42
    body = rows * (head + height + below)
    with new_canvas(title, [*notes, *_lacking(panels, bands)], body) as canvas:
        for i, panel in enumerate(panels):
            row, column = divmod(i, columns)
            x = left + sum(right[:column]) + column * (inner + 0.16)
            y = canvas.top + row * (head + height + below) + head
            own = panel.axis or axis
            axes = canvas.axes(x, y, inner, height)
            _scales(axes, own, inner, (low, high), logarithmic, downwards)
            if column:
                axes.tick_params(labelleft=False)
            if floor is not None:
                axes.axhline(floor[1], color=GREY, linewidth=0.8)
            _draw(axes, panel, own, bands)
            _labels(canvas, axes, panel, own, short, (x, y, inner, height), floor)
            if panel.title:
                heading = shorten([panel.title], inner * 12, 1)[panel.title]
                canvas.text(x, y - head, heading, BODY, fontweight="bold")
            canvas.text(x + inner / 2, y + height + 0.2, own.label, BODY, ha="center")
        for row in range(rows):
            middle = canvas.top + row * (head + height + below) + head + height / 2
            canvas.text(0.06, middle, _upright(measure, height), BODY, rotation=90, va="center")
        figure = canvas.figure
    least, most = min(v.value for v in values), max(v.value for v in values)
    said = about or (
        f"{title}. Lines: {', '.join(dict.fromkeys(n for p in panels for n in p.lines))}. "
        f"{measure} from {least:.{digits}f} to {most:.{digits}f}."
    )
    return Drawing(name, title, said, figure, _table(title, panels, axis, measure, floor, notes, digits))


def pool_scaling(
    sizes: Sequence[int],
    systems: Mapping[str, Sequence[Number | None]],
    *,
    measure: str = "R@10",
    name: str = "pools",
    title: str = "",
    notes: Sequence[str] = (),
) -> Drawing:
    """A measure as pools grow, with bands for intervals.

    Args:
        sizes: K of each pool, rising.
        systems: system -> its mean at each size, with its interval where it has one.
        measure: what the means are.
        name: of the files.
        title: of the figure.
        notes: below.

    Raises:
        UsageError: there is no finite value.
    """
    axis = Axis("candidates in the pool (K)", tuple(map(float, sizes)), tuple(f"{k:,}" for k in sizes), True)
    shown = title or f"{measure} as the pool of candidates grows"
    return line_figure(name, shown, panels_of(systems, _MOST_BANDS), axis, measure, notes=notes)


def _longest(short: Mapping[str, str]) -> Any:
    return lambda panel: max((text_width(short[line], SMALLEST) for line in panel.lines), default=0.0)


def _upright(text: str, height: float) -> str:
    """A vertical label that fits beside its panel."""
    return shorten([text], height * 12, 2)[text]


def _bounds(
    values: Sequence[Number], floor: tuple[str, float] | None, bands: bool, logarithmic: bool
) -> tuple[float, float]:
    every = ends_of(values) if bands else [v.value for v in values]
    every += [floor[1]] if floor else []
    if logarithmic:
        above = [v for v in every if v > 0]
        return min(above) / 1.25, max(above) * 1.25
    return padded(every)


def _scales(
    axes: Any, axis: Axis, width: float, bounds: tuple[float, float], logarithmic: bool, downwards: bool
) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    if axis.logarithmic:
        axes.set_xscale("log")
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(FixedLocator(factors(*bounds)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.set_ylim(*(reversed(bounds) if downwards else bounds))
    first, last = min(axis.places), max(axis.places)
    room = (last - first) * 0.05 or 0.5
    axes.set_xlim(*((first / 1.1, last * 1.1) if axis.logarithmic else (first - room, last + room)))
    texts = axis.ticks or tuple(tick(place) for place in axis.places)
    shown = _kept_ticks(axis, texts, width)
    axes.xaxis.set_major_locator(FixedLocator([axis.places[i] for i in shown]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticklabels([texts[i] for i in shown])
    axes.tick_params(length=2.5, width=0.6, pad=2)


def _kept_ticks(axis: Axis, texts: Sequence[str], width: float) -> list[int]:
    """Numbers of the ticks whose texts have room beside each other."""
    scale = math.log if axis.logarithmic else float
    first, last = scale(min(axis.places)), scale(max(axis.places))
    span = (last - first) * 1.1 or 1.0
    kept: list[int] = []
    edge = -math.inf
    for i, (place, text) in enumerate(zip(axis.places, texts, strict=True)):
        centre, half = width * (scale(place) - first) / span, text_width(text, SMALLEST) / 2
        if centre - half > edge + 0.04:
            kept.append(i)
            edge = centre + half
    return kept


def _draw(axes: Any, panel: Panel, axis: Axis, bands: bool) -> None:
    for n, (_, line) in enumerate(panel.lines.items()):
        style = style_of(n)
        known = [(x, v) for x, v in zip(axis.places, line, strict=True) if drawable(v)]
        ranged = [(x, v) for x, v in known if finite(v.low) and finite(v.high)]
        if bands and ranged and len(panel.lines) > _MOST_BANDS:
            axes.vlines(
                [x for x, _ in ranged],
                [v.low for _, v in ranged],
                [v.high for _, v in ranged],
                color=style.color,
                linewidth=0.6,
            )
        elif bands and ranged:
            axes.fill_between(
                [x for x, _ in ranged],
                [v.low for _, v in ranged],
                [v.high for _, v in ranged],
                color=style.color,
                alpha=0.13 if len(panel.lines) > 1 else 0.2,
                linewidth=0,
            )
        axes.plot(
            [x for x, _ in known],
            [v.value for _, v in known],
            color=style.color,
            linestyle=style.dashes,
            marker=style.marker,
            markerfacecolor=style.fill,
            markeredgecolor=style.color,
        )


def _labels(
    canvas: Canvas,
    axes: Any,
    panel: Panel,
    axis: Axis,
    short: Mapping[str, str],
    place: tuple[float, float, float, float],
    floor: tuple[str, float] | None,
) -> None:
    """Names at the right of a panel, each with a thin line to where its own ends."""
    x, y, width, height = place
    ends = []
    for n, (name, line) in enumerate(panel.lines.items()):
        known = [(at, v.value) for at, v in zip(axis.places, line, strict=True) if drawable(v)]
        if known:
            ends.append((short[name], known[-1], style_of(n).color))
    if floor is not None:
        ends.append((floor[0], (axes.get_xlim()[1], floor[1]), GREY))
    down = [
        y + height * (1 - axes.transAxes.inverted().transform(axes.transData.transform(end))[1])
        for _, end, _ in ends
    ]
    tall = [text_height(text, SMALLEST) * 1.02 for text, _, _ in ends]
    for (text, end, color), at in zip(ends, spread(down, tall, y - 0.1, y + height + 0.1), strict=True):
        axes.annotate(
            "",
            xy=end,
            xytext=((width + _GAP - 0.03) / width, 1 - (at - y) / height),
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2},
            annotation_clip=False,
        )
        canvas.text(x + width + _GAP, at, text, SMALLEST, va="center", color=color)


def _lacking(panels: Sequence[Panel], bands: bool) -> list[str]:
    """Notes on what is not drawn, and on the bands."""
    lost = [name for panel in panels for name, line in panel.lines.items() if not any(map(drawable, line))]
    every = [v for panel in panels for line in panel.lines.values() for v in line if v is not None]
    out = (
        ["Bands and thin vertical lines: 95 % intervals of means."]
        if bands and any(v.low is not None for v in every)
        else []
    )
    return [*out, *([f"Without a value: {', '.join(dict.fromkeys(lost))}."] if lost else [])]


def _table(
    title: str,
    panels: Sequence[Panel],
    axis: Axis,
    measure: str,
    floor: tuple[str, float] | None,
    notes: Sequence[str],
    digits: int,
) -> Table:
    titled = any(panel.title for panel in panels)
    mixed = len({(panel.axis or axis).label for panel in panels}) > 1
    rows: list[tuple[Any, ...]] = []
    for panel in panels:
        own = panel.axis or axis
        for name, line in panel.lines.items():
            for n, value in enumerate(line):
                at = own.ticks[n] if own.ticks else own.places[n]
                rows.append(
                    (*([panel.title] if titled else []), *([own.label] if mixed else []), name, at, value)
                )
    if floor is not None:
        rows.append((*([""] if titled else []), *([""] if mixed else []), floor[0], "", Number(floor[1])))
    before = (*(["panel"] if titled else []), *(["axis"] if mixed else []))
    header = (*before, "system", "at" if mixed else (panels[0].axis or axis).label, measure)
    return Table(title, header, tuple(rows), tuple(notes), digits=digits)
