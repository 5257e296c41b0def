"""Rewards of WISE by two ranks: python studies/plot_papers_infosearch.py TABLES.json FOLDER.

The form of figure 5 of InfoSearch. The values are those of the measure, so that no table is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.lab.figures.drawing import SMALLEST, Drawing, new_figure, write_drawing
from aspectra.lab.measures.instructed import wise_score
from aspectra.lab.reports.tables import Table

TITLE = "What WISE rewards: ranks of a gold document without and with the instruction"
ABOUT = (
    "K = 20, one relevant document (N = 1); with the reversed instruction it falls by a rank. Empty: with the"
    " instruction it stands lower in the list than without, which is a penalty. Below rank 20 the reward is "
    "0.01."
)
ranks = range(1, 23)
rewards = [[wise_score(o, i, o + 1, 1) if i <= o else None for i in ranks] for o in ranks]
with new_figure(TITLE, [ABOUT], 4.9) as figure:
    axes = figure.subplots()
    shown = [[float("nan") if reward is None else reward for reward in row] for row in rewards]
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(rewards):
        for x, reward in enumerate(row):
            if reward is not None:
                colour = "white" if reward > 0.6 else "black"
                text = f"{reward:.2f}".removeprefix("0")
                axes.text(x, y, text, fontsize=SMALLEST, ha="center", va="center", color=colour)
    axes.grid(visible=False)
    axes.set_xticks(range(len(ranks)), ranks, fontsize=SMALLEST)
    axes.set_yticks(range(len(ranks)), ranks, fontsize=SMALLEST)
    axes.set_xlabel("rank with the instruction")
    axes.set_ylabel("rank without it")
    header = ("without the instruction", *map(str, ranks))
    table = Table(
        TITLE, header, tuple((str(o), *row) for o, row in zip(ranks, rewards, strict=True)), (ABOUT,)
    )
    write_drawing(Drawing("wise-rewards", TITLE, ABOUT, figure, table), Path(sys.argv[2]))
