"""Where retrieved documents lie: t-SNE of their vectors, with the convex hull of each system's."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.lab.figures.drawing import (
    Drawing,
    needs_plot,
    new_figure,
    panels_in,
    short_text,
    shorten,
    style_of,
)
from aspectra.lab.figures.lines import closed, key_of
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
    told = [
        *notes,
        f"t-SNE of vectors of {encoder}; seed {seed}, perplexity {', '.join(f'{p:g}' for p in sorted(used))}."
        " Outlines: 2-d convex hulls. Distances between panels cannot be compared.",
    ]
    columns = min(2, len(queries))
    rows = -(-len(queries) // columns)
    with new_figure(title, told, rows * 2.8) as figure:
        panels = panels_in(figure, len(queries), columns)
        for axes, query, place in zip(panels, queries, made, strict=True):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(True)
            axes.margins(0.06)
            axes.set_title(short_text(query.query, 72 / columns), loc="left")
            _found(axes, query, place, systems)
        key_of(panels[columns - 1], list(shorten(systems, 20).values()), joined=False)
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
    from scipy.spatial import ConvexHull, QhullError  # comes with scikit-learn

    for n, system in enumerate(systems):
        style = style_of(n)
        here = np.array([places[i] for i in query.systems.get(system, ())]).reshape(-1, 2)
        if not len(here):
            continue
        axes.plot(here[:, 0], here[:, 1], markersize=3.2, markeredgewidth=0.6, alpha=0.75, **style.mark)
        with contextlib.suppress(QhullError):  # fewer than three papers, or all on a line
            rim = closed([int(n) for n in ConvexHull(here).vertices])
            axes.plot(here[rim, 0], here[rim, 1], color=style.color, linestyle=style.dashes)
            axes.fill(here[rim, 0], here[rim, 1], color=style.color, alpha=0.06, linewidth=0)
