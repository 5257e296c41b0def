"""The options that ``search``, ``similar`` and ``plan`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.settings import FORMATS

__all__ = [
    "AllVersions",
    "Author",
    "Different",
    "Direction",
    "EvidenceCount",
    "Explain",
    "FailEmpty",
    "Format",
    "Instruction",
    "Json",
    "JsonLines",
    "Lang",
    "LensNames",
    "Limit",
    "Literal",
    "Output",
    "PlanFile",
    "PlanOnly",
    "Planner",
    "Same",
    "Since",
    "Strict",
    "Until",
    "Venue",
    "WhyNot",
    "Wish",
]

Limit = Annotated[
    int | None, typer.Option("--limit", "-n", metavar="N", help="Papers wanted [10].", show_default=False)
]
Planner = Annotated[
    str | None,
    typer.Option(
        "--planner",
        "-p",
        metavar="NAME",
        help="guided, hybrid, bm25, dense, fulltext, directional, prism, chain, hand, lensed.",
        show_default=False,
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Earliest year: 2020, or 3y (ago).", show_default=False)
]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Latest year.", show_default=False)]
Venue = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only this venue; * matches anything, as *SIGIR*.", show_default=False),
]
Author = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only this author; again for more.", show_default=False),
]
Lang = Annotated[
    list[str] | None, typer.Option(metavar="TAG", help="Only this language, as en.", show_default=False)
]
LensNames = Annotated[
    list[str] | None,
    typer.Option(
        "--lens", metavar="NAME", help="Look through this lens; again for more.", show_default=False
    ),
]
Same = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ASPECT",
        help="Alike in this: background, method, result, or words; a,b for two.",
        show_default=False,
    ),
]
Different = Annotated[
    list[str] | None, typer.Option(metavar="ASPECT", help="Unlike in this.", show_default=False)
]
Direction = Annotated[
    str | None,
    typer.Option(
        metavar="WAY",
        help="builds-on (what the seed builds on), built-on-by (what builds on it) or both.",
        show_default=False,
    ),
]
Wish = Annotated[
    list[str] | None,
    typer.Option(
        "--condition",
        "-c",
        metavar="CHIP",
        help="As: avoid source=blog. Again for more.",
        show_default=False,
    ),
]
Instruction = Annotated[
    str, typer.Option(metavar="TEXT", help="What papers should be like, in words.", show_default=False)
]
Literal = Annotated[bool, typer.Option("--literal", help="Read no wishes out of TEXT.")]
WhyNot = Annotated[
    str | None,
    typer.Option("--why-not", metavar="ID", help="Why this paper is not among them.", show_default=False),
]
EvidenceCount = Annotated[
    int | None, typer.Option("--evidence", metavar="N", help="Sentences quoted [1].", show_default=False)
]
AllVersions = Annotated[bool, typer.Option("--all-versions", help="Rank preprint and journal version apart.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say what each view thought of each paper.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Print the plan and stop.")]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan-file", metavar="FILE", help="Run this (edited) plan.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
JsonLines = Annotated[bool, typer.Option("--jsonl", help="One JSON object a paper.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help=", ".join(FORMATS) + ".", show_default=False),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE.", show_default=False)
]
FailEmpty = Annotated[bool, typer.Option("--fail-empty", help="Exit with 3 when nothing is found.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 4 when there are warnings.")]
