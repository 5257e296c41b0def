"""The kinds of figures of experiments: each a function from choices to drawings; maps of documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import BadInput, UsageError, check_choice
from aspectra.base.values import replace
from aspectra.lab.experiments.directory import Opened, corpus_hash, library_folder
from aspectra.lab.experiments.experiment import BASE_MODE, library_state, vectors_by_id
from aspectra.lab.figures.dots import Dots, delta_figure, dot_figure, radar_figure
from aspectra.lab.figures.drawing import (
    Drawing,
    needs_plot,
    new_figure,
    panels_in,
    short_text,
    shorten,
    style_of,
)
from aspectra.lab.figures.lines import (
    Axis,
    Point,
    Scatter,
    closed,
    key_of,
    line_figure,
    panels_of,
    pareto_figure,
    scatter_figure,
)
from aspectra.lab.figures.recorded import (
    COSTS,
    FigureChoice,
    Place,
    axis_name,
    choose_column,
    places_of,
)
from aspectra.lab.measures.protocol import Arity, parse
from aspectra.lab.reports.scores import comparable, family_of
from aspectra.lab.reports.tables import Column, Table
from aspectra.papers.library.store import Store
from aspectra.search.searcher import Searcher

# Where retrieved documents lie: t-SNE of their vectors, with the convex hull of each system's.

MOST_MAPPED = 3  # systems whose hulls can be told apart in one panel
_LEAST = 5  # documents


@dataclass(frozen=True)
class Retrieved:
    """Documents that systems found for one query.

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
    """One panel per query: its documents by t-SNE, the hull of each system's documents around them.

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


# What recorded rankings found, with the vectors of the library that they were made on.

_QUERIES = 4  # as in PRISM, figure 4


def retrieved(place: Place, choice: FigureChoice) -> tuple[list[Retrieved], str]:
    """Of the first systems their first papers for the chosen queries, with vectors; and the encoder.

    Without a choice four queries are taken, evenly spread over all in order of their ids.

    Raises:
        UsageError: no such query, or no folder of libraries. BadInput: the library is gone, or has changed
            since.
    """
    if choice.libraries is None:
        raise UsageError("a map needs the vectors of the libraries", hint="--libraries DIR")
    benchmark = place.first.benchmark
    systems = list(place.systems)[:MOST_MAPPED]
    opened = [place.opened[place.systems[name].where] for name in systems]
    study = opened[0].study
    loaded = study.benchmarks()[benchmark]
    folder = library_folder(choice.libraries, loaded, study.settings(), corpus_hash(loaded), study.among)
    if not folder.exists():
        raise BadInput(
            f"the library of {benchmark} is not in {choice.libraries}",
            hint="name its folder with --libraries, or run the experiment again",
        )
    rankings = {
        name: {
            r.topic: r.ids for r in place.records(place.systems[name]) if r.mode == BASE_MODE and not r.repeat
        }
        for name in systems
    }
    every = sorted(set.intersection(*(set(found) for found in rankings.values())))
    if unknown := [query for query in choice.queries if query not in every]:
        raise UsageError(f"nothing is recorded of the query {unknown[0]!r}", why=f"first ids: {every[:3]}")
    if not every:
        raise UsageError("no query was ranked by all systems")
    step = len(every) / min(_QUERIES, len(every))
    chosen = list(choice.queries) or [every[int(n * step)] for n in range(min(_QUERIES, len(every)))]
    out = []
    with Store(folder) as store, Searcher(store) as searcher:
        if any(library_state(searcher) != one.about.states[benchmark] for one in opened):
            raise BadInput(
                f"the library of {benchmark} is not the one that was searched",
                why="its texts or encoders have changed",
                hint="run the experiment again",
            )
        for query in chosen:
            found = {name: list(held[query])[: choice.depth] for name, held in rankings.items()}
            ids = list(dict.fromkeys(paper for papers in found.values() for paper in papers))
            vectors = vectors_by_id(searcher, ids)
            kept = {name: [paper for paper in papers if paper in vectors] for name, papers in found.items()}
            out.append(Retrieved(query, vectors, kept))
        encoder = searcher.index.default_encoder()
    return out, encoder


CUTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DIVERSITY = ("CosineDistance", "CentroidDistance", "HullVolume")
_BREAKDOWNS = ("dimension", "facet", "aspect")
_MODES = ("original", "instructed", "reversed")
# Kind -> measures by which the recorded rankings are scored for it, whatever they were scored by before.
_RESCORED = {
    "recall": [f"R@{k}" for k in CUTS],
    "movement": [f"GoldRank(mode={mode})" for mode in _MODES],
}


def draw(
    kind: str,
    opened: Mapping[str, Opened],
    choice: FigureChoice | None = None,
) -> list[Drawing]:
    """The figures of one kind: one for each benchmark and protocol.

    Args:
        kind: one of :data:`KINDS`.
        opened: name -> experiment, see :func:`~aspectra.lab.figures.recorded.open_all`.
        choice: what is wanted; default: everything.

    Raises:
        UsageError: no such kind, or what it needs was not measured. MissingExtra: matplotlib, or for maps
            scikit-learn, is not installed. BadInput: what was recorded is damaged.
    """
    chosen = choice or FigureChoice()
    check_choice(chosen.cost, COSTS, "cost")
    make = KINDS[check_choice(kind, KINDS, "figure")]
    return [make(place, chosen) for place in places_of(opened, chosen, rescored=_RESCORED.get(kind, ()))]


def _notes(place: Place, column: Column | None = None) -> list[str]:
    units = max(len(s.values.get(column, ())) for s in place.systems.values()) if column else 0
    facts = f"{place.title}, {int(place.first.about.get('documents') or 0):,} documents"
    counted = f", {units:,} queries" if column else ""
    return [f"{facts}{counted}. {place.simulated}".rstrip(), *place.failed]


def _name(kind: str, place: Place) -> str:
    return f"{kind}-{place.first.benchmark}-{place.first.protocol}"


def _means(place: Place, choice: FigureChoice) -> Drawing:
    """Every measure of every system, with intervals."""
    columns = [c for c in place.columns if c[1] in DIVERSITY or family_of(c).better]
    if choice.measures:
        columns = [choose_column(place, choice, wanted=m) for m in choice.measures]
    panels = {f"{c[1]} {c[2]}".strip(): [s.mean(c) for s in place.systems.values()] for c in columns}
    dots = Dots(tuple(place.systems), panels, shared=False)
    notes = [*_notes(place), "Measures x100 except ranks, distances and percents."]
    return dot_figure(_name("means", place), f"Means by measure on {place.title}", dots, notes=notes)


def _radar(place: Place, choice: FigureChoice) -> Drawing:
    """One measure by the values of a label: dimensions of instructions, facets."""
    column = choose_column(place, choice)
    names = {name for own in place.first.labels.values() for name in own}
    wanted = (choice.by,) if choice.by else _BREAKDOWNS
    label = next((name for name in wanted if name in names), "")
    if not label:
        raise UsageError(
            f"the queries of {place.first.benchmark} have no label {' or '.join(wanted)}",
            why="labels: " + (", ".join(sorted(names)) or "none"),
            hint="choose one with --by",
        )
    parts: dict[str, list[str]] = {}
    for unit, own in place.first.labels.items():
        if label in own:
            parts.setdefault(own[label], []).append(unit)
    scored = place.with_column(column)
    known = {unit for s in scored.values() for unit in s.values.get(column, {})}
    values = sorted(value for value, units in parts.items() if known & set(units))
    lines = {name: [s.mean(column, parts[v]) for v in values] for name, s in scored.items()}
    counts = ", ".join(f"{v} {len(known & set(parts[v])):,}" for v in values)
    title = f"{column[1]} by {label} on {place.title}"
    notes = [*_notes(place), f"Queries: {counts}."]
    return radar_figure(_name("radar", place), title, values, lines, measure=axis_name(column), notes=notes)


def _recall(place: Place, choice: FigureChoice) -> Drawing:
    """Recall at growing cuts, scored now from the recorded rankings."""
    first = choose_column(place, choice, wanted="R@1")
    columns = [(first[0], f"R@{k}", first[2]) for k in CUTS]
    lines = {name: [s.mean(c) for c in columns] for name, s in place.systems.items()}
    axis = Axis("k", tuple(map(float, CUTS)), tuple(f"{k:,}" for k in CUTS), True)
    title = f"Recall at k on {place.title}"
    mode = f" [{first[2]}]" if first[2] else ""
    notes = _notes(place, first)
    return line_figure(_name("recall", place), title, panels_of(lines), axis, f"R@k{mode}, x100", notes=notes)


def _movement(place: Place, choice: FigureChoice) -> Drawing:
    """Mean ranks of what the instruction wants, by mode; scored now from the recorded rankings."""
    columns = [c for c in place.columns if family_of(c).name == "GoldRank"]
    by_mode = {parse(c[1])["mode"]: c for c in columns}
    lines = {
        name: [s.mean(by_mode[mode]) if mode in by_mode else None for mode in _MODES]
        for name, s in place.systems.items()
    }
    axis = Axis("query", (0.0, 1.0, 2.0), _MODES)
    notes = [
        *_notes(place, columns[0]),
        "Mean rank of the papers that are relevant under the instruction. Instructed above original, and "
        "reversed below it, is what the instruction asked for.",
    ]
    return line_figure(
        _name("movement", place),
        f"Ranks of the wanted papers on {place.title}",
        panels_of(lines),
        axis,
        "mean rank",
        notes=notes,
        downwards=True,
        logarithmic=True,
        height=2.4,
    )


def _tradeoff(place: Place, choice: FigureChoice) -> Drawing:
    """Relevance against instruction following."""
    follows = next((c for c in place.columns if family_of(c).name == "p-MRR"), None)
    if follows is None:
        raise UsageError(
            f"{place.title} was not scored by p-MRR",
            hint="aspectra bench run --output DIR --measure p-MRR --measure nDCG@20",
        )
    modes = {column[2] for column in place.columns}
    mode = choice.mode or ("instructed" if "instructed" in modes else "")
    column = choose_column(place, replace(choice, mode=mode), arity=Arity.RANKING)
    points = {
        name: [Point(x, y)]
        for name, s in place.systems.items()
        if (x := s.mean(follows)) is not None and (y := s.mean(column)) is not None
    }
    panel = Scatter("", points, axis_name(follows), axis_name(column))
    title = f"Relevance against instruction following on {place.title}"
    notes = [*_notes(place, column), "Vertical lines: 95 % intervals of relevance."]
    return scatter_figure(_name("tradeoff", place), title, [panel], notes=notes)


def _cost(place: Place, choice: FigureChoice) -> Drawing:
    """Quality against what a ranking costs."""
    cost = choice.cost
    column = choose_column(place, choice)
    costs = place.costs(cost)
    if not costs:
        raise UsageError(f"no {cost} is recorded on {place.title}", hint="aspectra bench run --output DIR")
    held = {
        name: (costs[name], mean)
        for name, s in place.systems.items()
        if name in costs and (mean := s.mean(column)) is not None
    }
    shown = "ms/query (median)" if cost == "ms/query" else cost
    title = f"{column[1]} against {shown} on {place.title}"
    notes = _notes(place, column)
    if cost == "ms/query":
        notes.append("Time: a query is encoded once, for the first system that needs its vector.")
    return pareto_figure(
        _name("cost", place), title, held, cost=shown, measure=axis_name(column), notes=notes
    )


def _deltas(place: Place, choice: FigureChoice) -> Drawing:
    """Differences from a baseline, query by query."""
    column = choose_column(place, choice)
    scored = place.with_column(column)
    baseline = choice.baseline or next(iter(scored), "")
    own, others = comparable(baseline, {name: s.values[column] for name, s in scored.items()})
    left = [name for name in scored if name not in (baseline, *others)]
    skipped = [f"Scored on other queries and not compared: {', '.join(left)}."] if left else []
    if baseline not in scored or not others:
        raise UsageError(
            f"there is nothing to compare on {place.title}",
            why=" ".join([f"scored by {column[1]}: {', '.join(scored) or 'no system'}.", *skipped]),
            hint="run both recipes into one directory (bench run -r A -r B), or name both: DIR DIR",
        )
    family = family_of(column)
    return delta_figure(
        _name("deltas", place),
        f"{column[1]} by query, against {baseline}, on {place.title}",
        baseline,
        own,
        others,
        measure=axis_name(column),
        scale=family.scale,
        test=choice.test,
        correction=choice.correction,
        lower_is_better=family.better == "lower",
        notes=_notes(place) + skipped,
    )


def _diversity(place: Place, choice: FigureChoice) -> Drawing:
    """Distances between the first papers of each ranking."""
    columns = [c for c in place.columns if family_of(c).name in DIVERSITY]
    if not columns:
        raise UsageError(
            f"{place.title} was not scored by measures of diversity",
            hint="aspectra bench run --output DIR " + " ".join(f"--measure {m}" for m in DIVERSITY),
        )
    panels = {c[1]: [s.mean(c) for s in place.systems.values()] for c in columns}
    dots = Dots(tuple(place.systems), panels, shared=False)
    notes = [
        *_notes(place, columns[0]),
        "Vectors of the first 200 papers of each ranking; comparable within one encoder only.",
    ]
    title = f"Diversity of what is found on {place.title}"
    return dot_figure(_name("diversity", place), title, dots, notes=notes, digits=4)


def _map(place: Place, choice: FigureChoice) -> Drawing:
    """t-SNE of what systems found for some queries."""
    found, encoder = retrieved(place, choice)
    notes = _notes(place)
    if len(place.systems) > MOST_MAPPED:
        notes.append(f"The first {MOST_MAPPED} of {len(place.systems)} systems; others with --system.")
    return map_figure(
        _name("map", place),
        f"First {choice.depth} papers by t-SNE on {place.title}",
        found,
        encoder=encoder,
        seed=choice.seed,
        perplexity=choice.perplexity,
        notes=notes,
    )


KINDS: Mapping[str, Callable[[Place, FigureChoice], Drawing]] = {
    "means": _means,
    "radar": _radar,
    "recall": _recall,
    "movement": _movement,
    "tradeoff": _tradeoff,
    "cost": _cost,
    "deltas": _deltas,
    "diversity": _diversity,
    "map": _map,
}
