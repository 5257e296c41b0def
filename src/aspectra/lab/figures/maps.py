"""Where retrieved documents lie: t-SNE of their vectors, with the convex hull of each system's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.lab.figures.drawing import (
    BODY,
    SMALLEST,
    WIDTH,
    Drawing,
    needs_plot,
    new_canvas,
    shorten,
    style_of,
)
from aspectra.lab.reports.tables import Table

MOST_MAPPED = 3  # systems whose hulls can be told apart in one panel
_LEAST = 5  # documents


@dataclass(frozen=True)
class Retrieved:
    """What systems found for one query.

    Attributes:
        query: its name.
        vectors: document -> its vector.
        systems: system -> its documents, best first.
    """

    query: str
    vectors: Mapping[str, NDArray[np.floating[Any]]]
    systems: Mapping[str, Sequence[str]]


def tsne_places(
    vectors: NDArray[np.floating[Any]], *, seed: int = 0, perplexity: float = 30.0
) -> tuple[NDArray[np.float64], float]:
    """(documents, 2) places by t-SNE, and the perplexity used, which must be below the number of documents.

    Raises:
        MissingExtra: scikit-learn is not installed.
        UsageError: there are fewer than five documents.
    """
    if len(vectors) < _LEAST:
        raise UsageError(
            f"{len(vectors)} documents are too few for a map", why=f"t-SNE needs {_LEAST}", hint="--depth 200"
        )
    needs_plot("sklearn")
    from sklearn.manifold import TSNE

    used = min(perplexity, (len(vectors) - 1) / 3)
    made = TSNE(
        n_components=2,
        init="pca",
        random_state=seed,
        perplexity=used,
        method="exact" if len(vectors) < 1000 else "barnes_hut",
    )
    return np.asarray(made.fit_transform(np.asarray(vectors, np.float64)), np.float64), used


def hull_2d(points: NDArray[np.float64]) -> list[int]:
    """Numbers of the points on the convex hull, anticlockwise; fewer than three where all lie on a line.

    >>> hull_2d(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [1.0, 2.0]]))
    [0, 1, 3]
    """
    order = sorted(range(len(points)), key=lambda i: (points[i][0], points[i][1]))

    def half(numbers: Sequence[int]) -> list[int]:
        out: list[int] = []
        for i in numbers:
            while len(out) > 1 and _turn(points[out[-2]], points[out[-1]], points[i]) <= 0:
                out.pop()
            out.append(i)
        return out

    lower, upper = half(order), half(order[::-1])
    return lower[:-1] + upper[:-1] if len(order) > 1 else order


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def map_figure(
    name: str,
    title: str,
    queries: Sequence[Retrieved],
    *,
    encoder: str,
    seed: int = 0,
    perplexity: float = 30.0,
    notes: Sequence[str] = (),
) -> Drawing:
    """One panel a query: its documents by t-SNE, the hull of each system's documents around them.

    Args:
        name: of the files.
        title: of the figure.
        queries: up to four read well; of at most :data:`MOST_MAPPED` systems.
        encoder: whose vectors these are.
        seed: of t-SNE; printed on the figure.
        perplexity: of t-SNE, at most a third of the documents; printed on the figure.
        notes: below.

    Raises:
        MissingExtra: scikit-learn is not installed. UsageError: no query, too many systems, too few
            documents.
    """
    systems = list(dict.fromkeys(s for query in queries for s in query.systems))
    if not queries or not systems:
        raise UsageError("there is no query to map", hint="--query ID")
    if len(systems) > MOST_MAPPED:
        raise UsageError(
            f"{len(systems)} systems are too many for one map",
            why="their hulls could not be told apart",
            hint=f"choose {MOST_MAPPED} with --system",
        )
    needs_plot()  # before anything is computed
    made, used = [], set()
    for query in queries:
        ids = list(query.vectors)
        places, own = tsne_places(np.stack([query.vectors[i] for i in ids]), seed=seed, perplexity=perplexity)
        made.append(dict(zip(ids, places, strict=True)))
        used.add(round(own, 2))
    short = shorten(systems, 30, 1)
    columns = min(2, len(queries))
    side = (WIDTH - 0.2 - 0.2 * (columns - 1)) / columns
    tall = min(side, 2.6)
    rows = -(-len(queries) // columns)
    told = [
        *notes,
        f"t-SNE of vectors of {encoder}; seed {seed}, perplexity {', '.join(f'{p:g}' for p in sorted(used))}."
        " Outlines: 2-d convex hulls. Distances between panels cannot be compared.",
    ]
    key = 0.3
    with new_canvas(title, told, key + rows * (tall + 0.3)) as canvas:
        _key(canvas, [short[s] for s in systems])
        for n, (query, place) in enumerate(zip(queries, made, strict=True)):
            row, column = divmod(n, columns)
            x, y = 0.1 + column * (side + 0.2), canvas.top + key + row * (tall + 0.3) + 0.22
            axes = canvas.axes(x, y, side, tall)
            axes.set_xticks([])
            axes.set_yticks([])
            for spine in axes.spines.values():
                spine.set_visible(True)
            _found(axes, query, place, systems)
            axes.margins(0.06)
            heading = shorten([query.query], side * 12, 1)[query.query]
            canvas.text(x, y - 0.18, heading, BODY, fontweight="bold")
        figure = canvas.figure
    table_rows = [
        (query.query, system, rank, document, float(place[document][0]), float(place[document][1]))
        for query, place in zip(queries, made, strict=True)
        for system, found in query.systems.items()
        for rank, document in enumerate(found, 1)
    ]
    header = ("query", "system", "rank", "document", "x", "y")
    about = f"{title}. Queries: {', '.join(q.query for q in queries)}. Systems: {', '.join(systems)}."
    return Drawing(name, title, about, figure, Table(title, header, tuple(table_rows), tuple(told)))


def _found(axes: Any, query: Retrieved, places: Mapping[str, Any], systems: Sequence[str]) -> None:
    for n, system in enumerate(systems):
        style = style_of(n)
        here = np.array([places[i] for i in query.systems.get(system, ())]).reshape(-1, 2)
        if not len(here):
            continue
        axes.plot(
            here[:, 0],
            here[:, 1],
            linestyle="none",
            marker=style.marker,
            markersize=3.2,
            color=style.color,
            markerfacecolor="none" if style.hollow else style.color,
            markeredgewidth=0.6,
            alpha=0.75,
        )
        rim = hull_2d(here)
        if len(rim) > 2:
            closed = [*rim, rim[0]]
            axes.plot(here[closed, 0], here[closed, 1], color=style.color, linestyle=style.dashes)
            axes.fill(here[rim, 0], here[rim, 1], color=style.color, alpha=0.06, linewidth=0)


def _key(canvas: Any, systems: Sequence[str]) -> None:
    width = (WIDTH - 0.2) / len(systems)
    for n, system in enumerate(systems):
        style = style_of(n)
        axes = canvas.axes(0.1 + n * width, canvas.top, 0.4, 0.16)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(-1, 1)
        axes.plot(
            [0.05, 0.5, 0.95],
            [0, 0, 0],
            color=style.color,
            linestyle=style.dashes,
            marker=style.marker,
            markevery=[1],
            markerfacecolor=style.fill,
        )
        canvas.text(0.1 + n * width + 0.46, canvas.top + 0.08, system, SMALLEST, va="center")
