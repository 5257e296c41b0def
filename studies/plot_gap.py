"""Recall@10 as the pool grows, and tasks as points: python studies/plot_gap.py TABLES.json FOLDER.

A panel for each task: what the pool holds, and both bounds of a verifier and of a retriever. The points have
the form of OBLIQ-Bench's figure 1: how well relevance is recognised, and how well it is found.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.figures.lines import Axis, Panel, Point, Scatter, line_figure, scatter_figure
from study_tables import study_table

TASKS = {"theorem-analogue": "dense", "style-authorship": "hand"}
LINES = {
    "recall of the pool": "in the pool",
    "tournament, error 0.1 [simulated], upper": "verifier, upper",
    "tournament, error 0.1 [simulated], lower": "verifier, lower",
    "{retriever}, own left out, upper": "retriever, upper",
    "{retriever}, own left out, lower": "retriever, lower",
}

panels = []
for task, retriever in TASKS.items():
    rows = study_table(Path(sys.argv[1]), f"{task} (gold): R@10 as the pool grows")
    sizes = [int(row["K"]) for row in rows]
    axis = Axis(
        "documents in the pool, K", tuple(map(float, sizes)), tuple(map(str, sizes)), logarithmic=True
    )
    named = {column.replace("{retriever}", retriever): name for column, name in LINES.items()}
    lines = {name: [row[column] for row in rows] for column, name in named.items()}
    panels.append(Panel(task, lines, axis))
drawing = line_figure(
    "pool-growth",
    "What is found and what is recognised as the pool grows [simulated]",
    panels,
    Axis("documents in the pool, K", (10.0, 200.0)),
    "R@10, x100",
    notes=[
        "Lower: the pool as it was found; upper: with the missing relevant documents put in. The verifier is "
        "simulated: an oracle that puts two neighbours the wrong way round at a rate of 0.1. The retriever "
        "(dense; hand) ranks pools of the others' documents.",
    ],
)
write_drawing(drawing, Path(sys.argv[2]))

rows = study_table(Path(sys.argv[1]), "The gap between retrieval and verification")
found = [row for row in rows if "error 0.1 " in row["verifier"]]
points = {row["task"]: [Point(row["upper"], row["nDCG@10"])] for row in found}
drawing = scatter_figure(
    "retrieval-verification",
    "What is recognised and what is found, a point for each task [simulated]",
    [Scatter("nDCG@10, x100", points, "verification, upper bound", "best retriever")],
    notes=[
        "The verifier is simulated: an oracle that puts two neighbours the wrong way round at a rate of 0.1 "
        "ranks pools of 200 with the missing relevant documents put in.",
    ],
)
write_drawing(drawing, Path(sys.argv[2]))
