"""Agents and units of PRISM: python studies/plot_papers_scifullbench.py TABLES.json FOLDER.

The subjects of figures 2 and 3 of PRISM: one to three agents, and what their queries are searched in. Each
is drawn where all its rows were run here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.lab.figures.dots import Dots, dot_figure
from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.reports.tables import Number
from study_tables import study_table

TITLE = "Table 2: one agent or three; figures 2 and 3: fewer agents, and other units to search in"
SYSTEM = "GPT-4o-Mini-2024-0718 + JE-v2-Base-EN, "
ALL = "multi agents"  # the three of them, in chunks of 3K tokens
FIGURES = {
    "prism-agents": (
        "One, two and three agents of PRISM",
        ("question", "method", "experiment", "question+method", "question+experiment", "method+experiment"),
        "all three",
    ),
    "prism-units": (
        "What the queries of PRISM's three agents are searched in",
        ("in abstracts", "in full papers", "in chunks of 6K tokens"),
        "in chunks of 3K tokens",
    ),
}

measured = {}
for row in study_table(Path(sys.argv[1]), TITLE):
    if row["system"].startswith(SYSTEM) and row[""].startswith("run here"):
        measured[row["system"].removeprefix(SYSTEM)] = row
columns = [name for row in measured.values() for name, cell in row.items() if isinstance(cell, Number)]
for name, (title, rows, last) in FIGURES.items():
    if not measured.keys() >= {*rows, ALL}:
        print(f"{name} is not drawn: not all of its rows were run here")
        continue
    shown = {row: measured[row] for row in rows} | {last: measured[ALL]}
    simulated = any("simulated" in row[""] for row in shown.values())
    drawing = dot_figure(
        name,
        title + " [simulated]" * simulated,
        Dots(tuple(shown), {c: [row[c] for row in shown.values()] for c in dict.fromkeys(columns)}),
        notes=[f"SciFullBench, {SYSTEM.rstrip(', ')}; measures x100."],
    )
    write_drawing(drawing, Path(sys.argv[2]))
