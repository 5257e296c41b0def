"""WISE@20 by dimension: python studies/plot_instructions.py STUDY-FOLDER/tables.json FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from aspectra.base.values import replace
from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.figures.kinds import draw
from aspectra.lab.figures.recorded import FigureChoice, open_all

experiment = Path(sys.argv[1]).parent / "attribute-docs"
(drawing,) = draw("radar", open_all([experiment]), FigureChoice(measures=("WISE@20",), by="dimension"))
write_drawing(replace(drawing, name="instructions"), Path(sys.argv[2]))
