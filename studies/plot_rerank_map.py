"""NDCG%20 by rate of error: python studies/plot_rerank_map.py TABLES.json FOLDER.

One row of panels for each judge, one column for each kind of failing, a line for each sorter.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.figures.lines import Axis, Panel, line_figure
from study_tables import study_table

KINDS = {
    "error": ("wrong answers, %", (0, 10, 20, 30, 40)),
    "place": ("answers by place, %", (0, 10, 20, 30)),
    "bad": ("malformed replies, %", (0, 10, 20, 30)),
}
JUDGES = {
    "one by one": ("grade", "points", "yes-no"),
    "pairwise": ("pairwise",),
    "listwise": ("listwise",),
    "think-first": ("think-first",),
}

rows = study_table(Path(sys.argv[1]), "NDCG%20 by method and rate")
floor = next(row for row in rows if row["recipe"] == "bm25")["error 0 %"].value
panels = []
for title, judges in JUDGES.items():
    for kind, (label, rates) in KINDS.items():
        lines = {}
        for row in rows:
            judge, _, sorter = row["recipe"].partition("+")
            if judge in judges:
                name = judge if len(judges) > 1 else sorter
                lines[name] = [row[f"{kind} {rate} %" if rate else "error 0 %"] for rate in rates]
        panels.append(Panel(title, lines, Axis(label, tuple(map(float, rates)))))
drawing = line_figure(
    "rerank-map",
    "Reranking when the judge errs [simulated]",
    panels,
    Axis("rate, %", (0.0, 40.0)),
    "NDCG%20, x100",
    notes=[
        "Simulated: an oracle that knows the judgements answers, and no language model. CSFCube, development "
        "half, 24 queries; the first 50 of each BM25 pool are reranked.",
    ],
    floor=("BM25", floor),
    columns=3,
    height=1.5,
)
write_drawing(drawing, Path(sys.argv[2]))
