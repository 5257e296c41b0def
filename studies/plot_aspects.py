"""Relevance against p-MRR as the contrast weight moves: python studies/plot_aspects.py TABLES.json FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.figures.lines import Point, Scatter, scatter_figure
from study_tables import study_table

SHOWN = ("0.0", "0.8", "2.0", "3.0")

panels = []
for place, column in (("pools", "NDCG%20"), ("collection", "csfcube_ndcg@20")):
    series: dict[str, list[Point]] = {}
    for row in study_table(Path(sys.argv[1]), "What contrast buys and costs"):
        roles, _, weight = row["recipe"].rpartition(", contrast ")
        point = Point(row[f"p-MRR {place}"], row[f"{column} {place}"], weight if weight in SHOWN else "")
        series.setdefault(f"{roles} roles", []).append(point)
    panels.append(Scatter(place, series, "p-MRR, x100", f"{column}, x100"))
drawing = scatter_figure(
    "contrast",
    "What contrast buys and costs",
    panels,
    notes=[
        "Numbers at points: the weight of contrast. p-MRR: how far a changed aspect changes the ranking.",
        "CSFCube, development half: 24 queries for NDCG, 10 for p-MRR.",
    ],
)
write_drawing(drawing, Path(sys.argv[2]))
