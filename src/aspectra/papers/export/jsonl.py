"""JSON Lines in our own format: loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable

from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import storable


class JsonLinesWriter:
    """One :meth:`Paper.to_dict` a line."""

    name = "jsonl"
    suffix = ".jsonl"

    def write(self, papers: Iterable[Paper]) -> str:
        """All papers, one JSON object a line, real Unicode."""
        return "".join(
            json.dumps(storable(paper.to_dict()), ensure_ascii=False, allow_nan=False) + "\n"
            for paper in papers
        )


WRITERS.register("jsonl")(JsonLinesWriter())
