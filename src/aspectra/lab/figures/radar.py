"""A radar of dimensions, and below it the same numbers as a dot plot, which can be read to the digit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from aspectra.lab.figures.dots import NAME_WIDTH, Dots, draw_dots, interval_note
from aspectra.lab.figures.drawing import (
    GREY,
    SMALLEST,
    WIDTH,
    Canvas,
    Drawing,
    Style,
    groups_of,
    new_canvas,
    no_systems,
    shorten,
    style_of,
    text_width,
)
from aspectra.lab.figures.lines import drawable
from aspectra.lab.reports.tables import Number, Table

_SIDE = 2.1  # inches


def radar_figure(
    name: str,
    title: str,
    dimensions: Sequence[str],
    systems: Mapping[str, Sequence[Number | None]],
    *,
    measure: str,
    notes: Sequence[str] = (),
) -> Drawing:
    """Systems over dimensions; up to six systems a radar, each radar with its dot plot.

    Below three dimensions there is no radar but the dot plot alone. The scale of a radar begins at the lowest
    value where that is negative, with a circle at 0.

    Args:
        name: of the files.
        title: of the figure.
        dimensions: at least one.
        systems: system -> a value for each dimension.
        measure: what the values are.
        notes: below.

    Raises:
        UsageError: there is no finite value.
    """
    every = [v for line in systems.values() for v in line]
    values = [v.value for v in every if drawable(v)]
    if not values:
        raise no_systems(title)
    parts = groups_of(list(systems))
    has_radar = len(dimensions) >= 3
    low, high = min(0.0, *values), max(0.0, *values)
    high = high if high > low else low + 1.0
    names = shorten(list(systems), NAME_WIDTH)
    plots = [
        Dots(
            tuple(part),
            {d: [systems[s][n] for s in part] for n, d in enumerate(dimensions)},
            names={s: names[s] for s in part},
        )
        for part in parts
    ]
    round_height = _depth(len(dimensions)) + 0.75 if has_radar else 0.0
    body = sum(round_height + one.height() for one in plots)
    told = [
        *notes,
        f"Values: {measure}." + ("" if has_radar else " Fewer than three dimensions: no radar."),
        *(["The scale of the radar begins below 0; the dark ring is 0."] if has_radar and low < 0 else []),
        *interval_note(every),
    ]
    with new_canvas(title, told, body) as canvas:
        y = canvas.top
        for part, plot in zip(parts, plots, strict=True):
            if has_radar:
                _radar(canvas, y, dimensions, {s: systems[s] for s in part}, (low, high), names)
            draw_dots(canvas, y + round_height, plot)
            y += round_height + plot.height()
        figure = canvas.figure
    rows = [(system, *line) for system, line in systems.items()]
    table = Table(title, ("system", *dimensions), tuple(rows), tuple(notes))
    about = f"{title}. Dimensions: {', '.join(dimensions)}. Systems: {', '.join(systems)}."
    return Drawing(name, title, about, figure, table)


def _depth(count: int) -> float:
    """Height in inches of a figure of so many corners, the first at the top."""
    lowest = min(math.sin(math.pi / 2 - 2 * math.pi * n / count) for n in range(count))
    return _SIDE * (1 - lowest) / 2


def _radar(
    canvas: Canvas,
    top: float,
    dimensions: Sequence[str],
    systems: Mapping[str, Sequence[Number | None]],
    bounds: tuple[float, float],
    names: Mapping[str, str],
) -> None:
    """One radar at the left third of the page, the names of its lines beside it."""
    low, high = bounds
    centre, middle = 2.25, top + 0.36 + _SIDE / 2
    axes = canvas.axes(centre - _SIDE / 2, middle - _SIDE / 2, _SIDE, _SIDE)
    axes.set_axis_off()
    axes.set_xlim(-1.02, 1.02)
    axes.set_ylim(-1.02, 1.02)
    angles = [math.pi / 2 - 2 * math.pi * n / len(dimensions) for n in range(len(dimensions))]

    def at(value: float, angle: float) -> tuple[float, float]:
        radius = 0.06 + 0.94 * (value - low) / (high - low)
        return radius * math.cos(angle), radius * math.sin(angle)

    rings = [low + (high - low) * share for share in (0.25, 0.5, 0.75, 1.0)] + ([0.0] if low < 0 else [])
    for ring in rings:
        points = [at(ring, angle) for angle in (*angles, angles[0])]
        dark = low < 0 and ring == 0.0
        axes.plot(
            *zip(*points, strict=True), color="#404040" if dark else "#CFCFCF", linewidth=0.9 if dark else 0.6
        )
    for angle in angles:
        axes.plot([0, math.cos(angle)], [0, math.sin(angle)], color="#CFCFCF", linewidth=0.6)
    for n, line in enumerate(systems.values()):
        corners = [at(v.value, a) if drawable(v) else None for v, a in zip(line, angles, strict=True)]
        _outline(axes, corners, style_of(n))
    short = shorten(dimensions, 12)
    for angle, dimension in zip(angles, dimensions, strict=True):
        x, y = centre + 1.12 * math.cos(angle) * _SIDE / 2, middle - 1.12 * math.sin(angle) * _SIDE / 2
        across = "left" if math.cos(angle) > 0.2 else "right" if math.cos(angle) < -0.2 else "center"
        along = "bottom" if math.sin(angle) > 0.7 else "top" if math.sin(angle) < -0.7 else "center"
        canvas.text(x, y, short[dimension], SMALLEST, ha=across, va=along)
    _names(
        canvas, top + 0.36 + _depth(len(dimensions)) / 2, [names[system] for system in systems], (low, high)
    )


def _outline(axes: Any, points: list[tuple[float, float] | None], style: Style) -> None:
    """A closed line, open where a value is missing."""
    joined = [*points, points[0]]
    for one, other in pairwise(joined):
        if one is not None and other is not None:
            axes.plot(*zip(one, other, strict=True), color=style.color, linestyle=style.dashes)
    known = [point for point in points if point is not None]
    if known:  # a marker on the rim is not cut
        axes.plot(
            *zip(*known, strict=True),
            color=style.color,
            marker=style.marker,
            linestyle="none",
            markerfacecolor=style.fill,
            clip_on=False,
        )


def _names(canvas: Canvas, middle: float, systems: Sequence[str], bounds: tuple[float, float]) -> None:
    """What each line is, right beside the radar, with the range of its scale."""
    x, step = 4.3, 0.27
    y = middle - step * len(systems) / 2
    box = canvas.axes(x, y, 0.36, step * len(systems))
    box.set_axis_off()
    box.set_xlim(0, 1)
    box.set_ylim(len(systems), 0)
    for n, system in enumerate(systems):
        style = style_of(n)
        box.plot(
            [0.05, 0.5, 0.95],
            [n + 0.5] * 3,
            color=style.color,
            linestyle=style.dashes,
            marker=style.marker,
            markevery=[1],
            markerfacecolor=style.fill,
        )
        canvas.text(x + 0.44, y + step * (n + 0.5), system, SMALLEST, va="center")
    text = f"centre {bounds[0]:.3g}, rim {bounds[1]:.3g}"
    canvas.text(
        min(x, WIDTH - text_width(text) - 0.1),
        y + step * len(systems) + 0.08,
        text,
        SMALLEST,
        color=GREY,
    )
