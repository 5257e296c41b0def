"""Lines over an axis and points in a plane, named in a key beside them.

Recall curves, growing pools, failing judges, moved ranks; relevance against p-MRR, quality against cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from aspectra.lab.figures.drawing import (
    GREY,
    MOST_LINES,
    SMALLEST,
    Drawing,
    groups_of,
    new_figure,
    no_systems,
    numbers_on,
    panels_in,
    short_text,
    shorten,
    style_of,
    text_width,
    tick,
)
from aspectra.lab.reports.tables import Number, Table

T = TypeVar("T")
_MOST_BANDS = 3  # more of them hide each other: whiskers then


def finite(value: float | None) -> TypeGuard[float]:
    """True if a value is a number that can be drawn."""
    return value is not None and math.isfinite(value)


def drawable(value: Number | None) -> TypeGuard[Number]:
    """True if a value can be drawn."""
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


def factors(low: float, high: float) -> list[float]:
    """About five round numbers between two positive bounds, for a scale by factors.

    >>> factors(0.8, 60)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    found = [m * 10.0**e for e in range(-9, 12) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
    return found[:: max(1, len(found) // 5)] or [low]


def closed(values: Sequence[T]) -> list[T]:
    """The values with the first one again behind them."""
    return [*values, *values[:1]]


def key_of(axes: Any, names: Sequence[str], *more: Any, joined: bool = True, right: float = 1.01) -> None:
    """A key at the right of a panel.

    Args:
        axes: the panel.
        names: of its lines, in the order of their styles.
        more: further entries, of matplotlib.
        joined: whether its lines are more than markers.
        right: where the key begins, in widths of the panel.
    """
    from matplotlib.lines import Line2D

    styles = [style_of(n) for n in range(len(names))]
    looks = [style.line if joined else style.mark for style in styles]
    lines = [Line2D([], [], label=name, **look) for name, look in zip(names, looks, strict=True)]
    axes.legend(
        handles=[*lines, *more],
        loc="upper left",
        bbox_to_anchor=(right, 1.03),
        frameon=False,
        fontsize=SMALLEST,
        handlelength=2.6,
        borderaxespad=0.0,
    )


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
        lines: name -> its values at the places of the axis; None or NaN for a missing one.
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
    floor: tuple[str, float] | None = None,
    downwards: bool = False,
    logarithmic: bool = False,
    columns: int = 0,
    height: float = 2.1,
) -> Drawing:
    """Small multiples on one scale, each with a key beside it, or one for neighbours with the same lines.

    Args:
        name: of the files.
        title: of the figure.
        panels: of at most six lines each.
        axis: of every panel without its own.
        measure: what the values are.
        notes: below.
        floor: name and value of a level that is drawn through every panel.
        downwards: smaller values higher up, as for ranks.
        logarithmic: vertical scale by factors; all values must be above 0.
        columns: panels in a row; 0 chooses.
        height: of a panel in inches.

    Raises:
        UsageError: no value is finite.
    """
    values = [v for panel in panels for line in panel.lines.values() for v in line if drawable(v)]
    if not values:
        raise no_systems(title)
    columns = columns or min(len(panels), 2)
    rows = -(-len(panels) // columns)
    every = [*ends_of(values), *([floor[1]] if floor else [])]
    bounds = (min(v for v in every if v > 0) / 1.25, max(every) * 1.25) if logarithmic else padded(every)
    short = shorten([line for panel in panels for line in panel.lines], 20)
    with new_figure(title, [*notes, *_lacking(panels)], rows * (height + 0.65)) as figure:
        placed = zip(panels_in(figure, len(panels), columns), panels, strict=True)
        for i, (axes, panel) in enumerate(placed):
            own = panel.axis or axis
            _scales(axes, own, bounds, logarithmic, downwards, columns)
            axes.tick_params(labelleft=i % columns == 0)
            _draw(axes, panel, own)
            level = [axes.axhline(floor[1], color=GREY, linewidth=0.8, label=floor[0])] if floor else []
            same = (i + 1) % columns and i + 1 < len(panels) and [*panels[i + 1].lines] == [*panel.lines]
            if not same:
                key_of(axes, [short[line] for line in panel.lines], *level)
            axes.set_title(short_text(panel.title, 36 / columns) if panel.title else "")
            axes.set_xlabel(own.label)
            if i % columns == 0:
                axes.set_ylabel(short_text(measure, height * 12, 2))
    least, most = min(v.value for v in values), max(v.value for v in values)
    said = (
        f"{title}. Lines: {', '.join(dict.fromkeys(n for p in panels for n in p.lines))}. "
        f"{measure} from {least:.2f} to {most:.2f}."
    )
    return Drawing(name, title, said, figure, _table(title, panels, axis, measure, floor, notes))


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
        UsageError: no value is finite.
    """
    axis = Axis("candidates in the pool (K)", tuple(map(float, sizes)), tuple(f"{k:,}" for k in sizes), True)
    shown = title or f"{measure} as the pool of candidates grows"
    return line_figure(name, shown, panels_of(systems, _MOST_BANDS), axis, measure, notes=notes)


def _scales(
    axes: Any, axis: Axis, bounds: tuple[float, float], logarithmic: bool, downwards: bool, columns: int
) -> None:
    if axis.logarithmic:
        axes.set_xscale("log")
    if logarithmic:
        axes.set_yscale("log")
        axes.set_yticks(at := factors(*bounds), list(map(tick, at)))
    else:
        numbers_on(axes.yaxis)
    axes.set_ylim(*(reversed(bounds) if downwards else bounds))
    texts = axis.ticks or tuple(map(tick, axis.places))
    shown = range(0, len(texts), -(-len(texts) * max(map(len, texts)) * columns // 60))
    axes.set_xticks([axis.places[i] for i in shown], [texts[i] for i in shown])
    axes.minorticks_off()


def _draw(axes: Any, panel: Panel, axis: Axis) -> None:
    for n, line in enumerate(panel.lines.values()):
        style = style_of(n)
        known = [(x, v) for x, v in zip(axis.places, line, strict=True) if drawable(v)]
        ranged = [(x, v.low, v.high) for x, v in known if finite(v.low) and finite(v.high)]
        if ranged and len(panel.lines) > _MOST_BANDS:
            axes.vlines(*zip(*ranged, strict=True), color=style.color, linewidth=0.6)
        elif ranged:
            axes.fill_between(*zip(*ranged, strict=True), color=style.color, alpha=0.13, linewidth=0)
        axes.plot([x for x, _ in known], [v.value for _, v in known], **style.line)


def _lacking(panels: Sequence[Panel]) -> list[str]:
    """Notes on the values that are not drawn, and on the bands."""
    lost = [name for panel in panels for name, line in panel.lines.items() if not any(map(drawable, line))]
    every = [v for panel in panels for line in panel.lines.values() for v in line if v is not None]
    ranged = any(v.low is not None for v in every)
    out = ["Bands and thin vertical lines: 95 % intervals of means."] if ranged else []
    return [*out, *([f"Without a value: {', '.join(dict.fromkeys(lost))}."] if lost else [])]


def _table(
    title: str,
    panels: Sequence[Panel],
    axis: Axis,
    measure: str,
    floor: tuple[str, float] | None,
    notes: Sequence[str],
) -> Table:
    titled = any(panel.title for panel in panels)
    mixed = len({(panel.axis or axis).label for panel in panels}) > 1

    def row(panel: str, axis: str, *cells: Any) -> tuple[Any, ...]:
        return (*([panel] if titled else []), *([axis] if mixed else []), *cells)

    rows: list[tuple[Any, ...]] = []
    for panel in panels:
        own = panel.axis or axis
        for name, line in panel.lines.items():
            places = own.ticks or own.places
            rows += [row(panel.title, own.label, name, places[n], value) for n, value in enumerate(line)]
    if floor is not None:
        rows.append(row("", "", floor[0], "", Number(floor[1])))
    header = row("panel", "axis", "system", "at" if mixed else (panels[0].axis or axis).label, measure)
    return Table(title, header, tuple(rows), tuple(notes))


# Points in a plane.


@dataclass(frozen=True)
class Point:
    """A point of a series.

    Attributes:
        x, y: where it lies; the interval of ``y`` is drawn.
        label: beside it where there is room, else in the table alone; "" for none.
    """

    x: Number
    y: Number
    label: str = ""


@dataclass(frozen=True)
class Scatter:
    """One panel.

    Attributes:
        title: above it.
        series: name -> its points; several are joined in order.
        x, y: what the axes show.
    """

    title: str
    series: Mapping[str, Sequence[Point]]
    x: str
    y: str


def scatter_figure(
    name: str,
    title: str,
    panels: Sequence[Scatter],
    *,
    notes: Sequence[str] = (),
    logarithmic: bool = False,
    front: bool = False,
) -> Drawing:
    """Points with a key of their series; a series of several points is a line.

    Args:
        name: of the files.
        title: of the figure.
        panels: side by side.
        notes: below.
        logarithmic: horizontal scale by factors.
        front: join the points of the Pareto front: less to the left, more above.

    Raises:
        UsageError: no point is finite.
    """
    if not any(_known(points) for panel in panels for points in panel.series.values()):
        raise no_systems(title)
    names = shorten(list(dict.fromkeys(s for panel in panels for s in panel.series)), 20)
    with new_figure(title, notes, 3.6) as figure:
        row = panels_in(figure, len(panels), len(panels))
        for n, (axes, panel) in enumerate(zip(row, panels, strict=True)):
            _scatter(axes, panel, logarithmic, front)
            axes.set_title(short_text(panel.title, 36 / len(panels)) if panel.title else "")
            axes.set_xlabel(short_text(panel.x, 60 / len(panels)))
            axes.set_ylabel(short_text(panel.y, 36, 2))
            if n + 1 == len(panels) or [*panels[n + 1].series] != [*panel.series]:
                joined = any(len(points) > 1 for points in panel.series.values())
                key_of(axes, [names[series] for series in panel.series], joined=joined)
        if any(point.label for panel in panels for points in panel.series.values() for point in points):
            figure.draw_without_rendering()  # lays out
            for axes, panel in zip(row, panels, strict=True):
                _label(axes, panel)
    rows = [
        (panel.title, series, point.label, point.x, point.y)
        for panel in panels
        for series, points in panel.series.items()
        for point in points
    ]
    one = len({(panel.x, panel.y) for panel in panels}) == 1
    header = ("panel", "system", "point", panels[0].x if one else "x", panels[0].y if one else "y")
    told = (f"{p.title or 'One panel'}: {p.y} against {p.x} of {', '.join(p.series)}." for p in panels)
    return Drawing(
        name, title, f"{title}. {' '.join(told)}", figure, Table(title, header, tuple(rows), tuple(notes))
    )


def _known(points: Sequence[Point]) -> list[Point]:
    return [p for p in points if drawable(p.x) and drawable(p.y)]


def _scatter(axes: Any, panel: Scatter, logarithmic: bool, front: bool) -> None:
    if logarithmic:
        axes.set_xscale("log")
    held = {series: known for series, points in panel.series.items() if (known := _known(points))}
    if front:
        best = [held[s][0] for s in pareto_front({s: (p[0].x.value, p[0].y.value) for s, p in held.items()})]
        steps = [p.x.value for p in best], [p.y.value for p in best]
        axes.step(*steps, where="post", color=GREY, linewidth=0.9, zorder=1)
    for n, series in enumerate(panel.series):
        known, style = held.get(series, []), style_of(n)
        for p in known:
            if finite(p.y.low) and finite(p.y.high):
                axes.plot([p.x.value] * 2, [p.y.low, p.y.high], color=style.color, linewidth=0.7)
        look = style.line if len(known) > 1 else style.mark
        axes.plot([p.x.value for p in known], [p.y.value for p in known], **look)
    axes.margins(0.1)
    numbers_on(axes.yaxis)
    if logarithmic:
        axes.set_xticks(at := factors(*axes.get_xlim()), list(map(tick, at)))
        axes.minorticks_off()
    else:
        numbers_on(axes.xaxis)


def _label(axes: Any, panel: Scatter) -> None:
    """Write the labels of points beside them, inside the panel and over no other label and no marker."""
    points = [(n, p) for n, own in enumerate(panel.series.values()) for p in _known(own)]
    scale = axes.figure.dpi / 72
    places = [axes.transData.transform((p.x.value, p.y.value)) / scale for _, p in points]  # points of print
    left, low, right, high = axes.bbox.extents / scale
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in places]
    for (n, point), (x, y) in zip(points, places, strict=True):
        text = short_text(point.label, 24)
        width, height = 36 * text_width(text, SMALLEST), SMALLEST / 2  # half of each
        ways = [(0, height + 4), (0, -height - 5), (width + 4, 0), (-width - 4, 0)]
        boxes = [(x + a - width, y + b - height, x + a + width, y + b + height) for a, b in ways]
        free = [
            (way, box)
            for way, box in zip(ways, boxes, strict=True)
            if left < box[0] and box[2] < right and low < box[1] and box[3] < high
            if not any(_cross(box, other) for other in taken)
        ]
        if point.label and free:
            taken.append(free[0][1])
            axes.annotate(
                text,
                (point.x.value, point.y.value),
                free[0][0],
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=SMALLEST,
                color=style_of(n).color,
            )


def _cross(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def pareto_figure(
    name: str,
    title: str,
    systems: Mapping[str, tuple[float, Number]],
    *,
    cost: str,
    measure: str,
    notes: Sequence[str] = (),
) -> Drawing:
    """Quality against cost; systems that no other betters in both are joined by a line.

    Args:
        name: of the files.
        title: of the figure.
        systems: system -> (its cost, its mean); lower cost and higher mean are better.
        cost: what the costs are.
        measure: what the means are.
        notes: below.
    """
    known = {s: held for s, held in systems.items() if finite(held[0]) and drawable(held[1])}
    best = pareto_front({system: (c, m.value) for system, (c, m) in known.items()})
    series = {system: [Point(Number(c), m)] for system, (c, m) in systems.items()}
    told = [*notes, "Line: systems that no other betters in both (Pareto front): " + ", ".join(best) + "."]
    panel = Scatter("", series, cost, measure)
    positive = all(c > 0 for c, _ in known.values())
    return scatter_figure(name, title, [panel], notes=told, logarithmic=positive, front=True)


def pareto_front(systems: Mapping[str, tuple[float, float]]) -> list[str]:
    """The Pareto front, cheapest first: no other system costs at most as much and reaches at least as much.

    >>> pareto_front({"a": (1, 5), "b": (2, 4), "c": (3, 9), "d": (3, 8)})
    ['a', 'c']
    """
    out, best = [], -math.inf
    for name, (_, value) in sorted(systems.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
        if value > best:
            out.append(name)
            best = value
    return out
