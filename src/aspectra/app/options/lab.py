"""Options that the lab's commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aspectra.app.settings import TABLE_FORMATS
from aspectra.app.terminal.panels import option


def choice(about: str, *flags: str, metavar: str = "NAME") -> Any:
    """An option with its help; without flags, named like its parameter."""
    return option(*flags, metavar=metavar, about=about)


def argument(about: str, metavar: str) -> Any:
    """An argument with its help."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


LoaderOption = Annotated[
    list[str] | None, choice("Option of a loader; see bench list.", "--option", metavar="K=V")
]
Measures = Annotated[list[str] | None, choice("As nDCG@10; again for more{; measures}.", "--measure", "-m")]
Preset = Annotated[str | None, choice("Which reference implementation to follow [paper].", "--preset")]
Incomplete = Annotated[bool, option("--incomplete", about="Average although topics are missing.")]
Format = Annotated[str, choice(", ".join(TABLE_FORMATS) + ".", "--format")]
Experiment = Annotated[Path, argument("Directory of an experiment.", "DIR")]
Test = Annotated[str, choice("t, wilcoxon, randomisation [t].", "--test")]
Correction = Annotated[str, choice("none, holm, bonferroni [bonferroni].", "--correction")]
By = Annotated[str | None, choice("Means by the values of a label.", "--by", metavar="LABEL")]
Baseline = Annotated[str, choice("Recipe to test others against.", "--baseline")]
