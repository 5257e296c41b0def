"""Points labelled where they lie: relevance against p-MRR, quality against cost with its Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from aspectra.lab.figures.drawing import (
    BODY,
    GREY,
    SMALLEST,
    WIDTH,
    Canvas,
    Drawing,
    groups_of,
    new_canvas,
    no_systems,
    shorten,
    style_of,
    text_height,
    text_width,
)
from aspectra.lab.figures.lines import drawable, ends_of, factors, finite, padded, tick
from aspectra.lab.reports.tables import Number, Table

_MARK = 0.045  # half a marker, inches
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """A point of a series.

    Attributes:
        x, y: where it lies; intervals are drawn.
        label: beside it; "" for none.
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
    about: str = "",
    logarithmic: bool = False,
    front: bool = False,
) -> Drawing:
    """Points with their names; a series of several points is a line, named at its highest point.

    Args:
        name: of the files.
        title: of the figure.
        panels: side by side.
        notes: below.
        about: text alternative.
        logarithmic: horizontal scale by factors; points at 0 or below stand at its left end.
        front: join the points that no other betters: less to the left, more above.

    Raises:
        UsageError: there is no finite point.
    """
    parts = [part for panel in panels for part in _divided(panel)]
    if not any(_finite(p) for panel in parts for points in panel.series.values() for p in points):
        raise no_systems(title)
    columns = min(2, len(parts))
    rows = -(-len(parts) // columns)
    left, gap, height, below = 0.62, 0.66, 3.0 if columns == 2 else 3.4, 0.5
    head = 0.26 if any(panel.title for panel in parts) else 0.06
    width = (WIDTH - left - 0.12 - gap * (columns - 1)) / columns
    names = shorten(list(dict.fromkeys(s for panel in parts for s in panel.series)), 20)
    body = rows * (head + height + below)
    with new_canvas(title, notes, body) as canvas:
        for n, panel in enumerate(parts):
            row, column = divmod(n, columns)
            x, y = left + column * (width + gap), canvas.top + row * (head + height + below) + head
            _panel(canvas, panel, names, (x, y, width, height), logarithmic=logarithmic, front=front)
        figure = canvas.figure
    rows_: list[tuple[Any, ...]] = []
    for panel in panels:
        for series, points in panel.series.items():
            rows_ += [(panel.title, series, point.label, point.x, point.y) for point in points]
    one = len({(panel.x, panel.y) for panel in panels}) == 1
    header = ("panel", "system", "point", panels[0].x if one else "x", panels[0].y if one else "y")
    said = about or (
        f"{title}. "
        + " ".join(f"{p.title or 'One panel'}: {p.y} against {p.x} of {', '.join(p.series)}." for p in panels)
    )
    return Drawing(name, title, said, figure, Table(title, header, tuple(rows_), tuple(notes)))


def pareto_figure(
    name: str,
    title: str,
    systems: Mapping[str, tuple[float, Number]],
    *,
    cost: str,
    measure: str,
    logarithmic: bool = True,
    notes: Sequence[str] = (),
) -> Drawing:
    """Quality against cost; systems that no other betters in both are joined by a line.

    Args:
        name: of the files.
        title: of the figure.
        systems: system -> (its cost, its mean); lower cost and higher mean are better.
        cost: what the costs are.
        measure: what the means are.
        logarithmic: cost by factors.
        notes: below.
    """
    known = {s: held for s, held in systems.items() if finite(held[0]) and drawable(held[1])}
    best = pareto_front({system: (c, m.value) for system, (c, m) in known.items()})
    series = {system: [Point(Number(c), m, system)] for system, (c, m) in systems.items()}
    told = [*notes, "Line: systems that no other betters in both (Pareto front): " + ", ".join(best) + "."]
    panel = Scatter("", series, cost, measure)
    positive = all(c > 0 for c, _ in known.values())
    return scatter_figure(name, title, [panel], notes=told, logarithmic=logarithmic and positive, front=True)


def pareto_front(systems: Mapping[str, tuple[float, float]]) -> list[str]:
    """Systems that no other betters, cheapest first: none costs at most as much and reaches at least as much.

    >>> pareto_front({"a": (1, 5), "b": (2, 4), "c": (3, 9), "d": (3, 8)})
    ['a', 'c']
    """
    out, best = [], -math.inf
    for name, (_, value) in sorted(systems.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
        if value > best:
            out.append(name)
            best = value
    return out


def _finite(point: Point) -> bool:
    return drawable(point.x) and drawable(point.y)


def _divided(panel: Scatter) -> list[Scatter]:
    """A panel of joined series in panels of six; single points stay together, since each has its name."""
    joined = any(len(points) > 1 for points in panel.series.values())
    if not joined:
        return [panel]
    groups = groups_of(list(panel.series))
    return [Scatter(panel.title, {s: panel.series[s] for s in group}, panel.x, panel.y) for group in groups]


def _panel(
    canvas: Canvas,
    panel: Scatter,
    names: Mapping[str, str],
    place: Box,
    *,
    logarithmic: bool,
    front: bool,
) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

    x, y, width, height = place
    axes = canvas.axes(x, y, width, height)
    points = [p for series in panel.series.values() for p in series if _finite(p)]
    xs = [p.x.value for p in points]
    if logarithmic:
        above = [v for v in xs if v > 0] or [1.0]
        axes.set_xscale("log")
        axes.set_xlim(min(above) / 1.6, max(above) * 1.6)
        axes.xaxis.set_major_locator(FixedLocator(factors(*axes.get_xlim())))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(*padded(xs, 0.1))
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylim(*padded(ends_of(p.y for p in points), 0.1))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.tick_params(length=2.5, width=0.6, pad=2)
    marks: list[tuple[float, float]] = []
    thin: list[Box] = _front(axes, place, panel) if front else []  # lines that labels avoid where they can
    wanted: list[tuple[str, tuple[float, float], str]] = []
    for n, (series, own) in enumerate(panel.series.items()):
        known = [p for p in own if _finite(p)]
        style = style_of(n)
        for p in known:
            if finite(p.y.low) and finite(p.y.high):
                axes.plot([p.x.value] * 2, [p.y.low, p.y.high], color=style.color, linewidth=0.7)
                (left, top), (_, bottom) = (_inches(axes, place, p.x.value, v) for v in (p.y.high, p.y.low))
                thin.append((left - 0.015, top, left + 0.015, bottom))
        axes.plot(
            [p.x.value for p in known],
            [p.y.value for p in known],
            color=style.color,
            linestyle=style.dashes if len(known) > 1 else "none",
            marker=style.marker,
            markerfacecolor=style.fill,
        )
        at = [_inches(axes, place, p.x.value, p.y.value) for p in known]
        marks += at
        if len(known) == 1:
            wanted.append((names[series], at[0], style.color))
        elif known:
            top = max(range(len(known)), key=lambda i: known[i].y.value)
            wanted.insert(0, (names[series], at[top], style.color))
            wanted += [(p.label, spot, style.color) for p, spot in zip(known, at, strict=True) if p.label]
    _place(canvas, wanted, marks, thin, place)
    if panel.title:
        canvas.text(x, y - 0.2, shorten([panel.title], width * 12, 1)[panel.title], BODY, fontweight="bold")
    canvas.text(
        x + width / 2, y + height + 0.22, shorten([panel.x], width * 13, 1)[panel.x], BODY, ha="center"
    )
    label = shorten([panel.y], height * 12, 2)[panel.y]
    canvas.text(x - 0.52, y + height / 2, label, BODY, rotation=90, va="center")


def _front(axes: Any, place: Box, panel: Scatter) -> list[Box]:
    """Draw the Pareto front; its steps as thin boxes, in inches."""
    held = {s: (p[0].x.value, p[0].y.value) for s, p in panel.series.items() if p and _finite(p[0])}
    steps = [held[name] for name in pareto_front(held)]
    axes.step([x for x, _ in steps], [y for _, y in steps], where="post", color=GREY, linewidth=0.9, zorder=1)
    out = []
    for (x, y), (right, top) in pairwise(_inches(axes, place, *step) for step in steps):
        out += [(x, y - 0.015, right, y + 0.015), (right - 0.015, top, right + 0.015, y)]
    return out


def _inches(axes: Any, place: Box, across: float, up: float) -> tuple[float, float]:
    """Where a point of the data lies on the canvas."""
    x, y, width, height = place
    at = axes.transAxes.inverted().transform(axes.transData.transform((across, up)))
    return x + width * min(1.0, max(0.0, at[0])), y + height * (1 - at[1])


def _place(
    canvas: Canvas,
    wanted: Sequence[tuple[str, tuple[float, float], str]],
    marks: Sequence[tuple[float, float]],
    thin: Sequence[Box],
    place: Box,
) -> None:
    """Write labels beside their points, over no other label and no marker, as near as that can be."""
    taken: list[Box] = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in marks]
    x, y, width, height = place
    bounds = (x + 0.02, y - 0.02, x + width + 0.08, y + height - 0.02)
    for text, (px, py), color in wanted:
        size = text_width(text, SMALLEST) + 0.03, text_height(text, SMALLEST)
        box = _free(px, py, size, taken, thin, bounds)
        taken.append(box)
        near_x, near_y = min(max(px, box[0]), box[2]), min(max(py, box[1]), box[3])
        if math.hypot(near_x - px, near_y - py) > 0.12:
            _leader(canvas, (px, py), (near_x, near_y), color)
        canvas.text(
            (box[0] + box[2]) / 2,
            (box[1] + box[3]) / 2,
            text,
            SMALLEST,
            ha="center",
            va="center",
            color=color,
        )


def _free(
    px: float,
    py: float,
    size: tuple[float, float],
    taken: Sequence[Box],
    thin: Sequence[Box],
    bounds: Box,
) -> Box:
    """The nearest box of a size beside a point that touches nothing; else one that crosses lines only.

    Where there is neither, the one that covers least.
    """
    width, height = size
    best, least = None, math.inf
    for step in range(60):
        reach = 0.07 + 0.045 * step
        if 0.1 * reach > least:
            break
        for turn in range(16):
            angle = math.pi * turn / 8
            cx = px + (reach + width / 2 * abs(math.cos(angle))) * math.cos(angle)
            cy = py - (reach + height / 2 * abs(math.sin(angle))) * math.sin(angle)
            if turn in (0, 8):
                cx = px + math.copysign(reach + width / 2, math.cos(angle))
            box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
            if box[0] < bounds[0] or box[1] < bounds[1] or box[2] > bounds[2] or box[3] > bounds[3]:
                continue
            crossed = sum(_shared(box, other) for other in thin)
            shared = 1e3 * sum(_shared(box, other) for other in taken) + crossed + 0.1 * reach
            if shared < least:
                best, least = box, shared
    if best is not None:
        return best
    x = min(max(px, bounds[0] + width / 2), max(bounds[2] - width / 2, bounds[0] + width / 2))
    return (x - width / 2, py - height, x + width / 2, py)


def _shared(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    along = min(one[3], other[3]) - max(one[1], other[1])
    return across * along if across > 0 and along > 0 else 0.0


def _leader(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    from matplotlib.lines import Line2D

    xs = [start[0] / canvas.width, end[0] / canvas.width]
    ys = [1 - start[1] / canvas.height, 1 - end[1] / canvas.height]
    canvas.figure.add_artist(Line2D(xs, ys, color=color, linewidth=0.5))
