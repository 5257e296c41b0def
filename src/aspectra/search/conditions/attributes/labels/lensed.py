"""Attributes whose values are the labels of a lens, graded as the lens graded them.

``audience``, ``format`` and ``artifacts`` are such, and the base of others. Of ``artifacts`` (``code``,
``data``, ``weights``) several wanted ones must all be there.
"""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.checking import unknown_name
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.lenses.artifacts import ArtifactsLens
from aspectra.views.lenses.audience import AudienceLens
from aspectra.views.lenses.format import FormatLens
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions

_PHRASES = re.compile(r"^([\w -]++)(?::[^=\n]*+)?+=((?:.|\n\s)*)", re.MULTILINE)


def lens_column(index: Index, lens: str, label: str, papers: Positions) -> Floats:
    """(papers,) values of a label of a lens; NaN where an index of an older version has none."""
    if lacks(index, lens, label):
        return np.full(len(papers), np.nan, np.float32)
    return np.asarray(index.lens(lens).column(label)[papers], np.float32)


def lacks(index: Index, lens: str, label: str) -> str:
    """Why the index has no values of a label, for people; "" where it has."""
    if lens in index.lens_names and label in index.lens(lens).labels:
        return ""
    if index.waiting:
        return f"the lens {lens} is not applied yet: aspectra index goes on with it"
    return f"the index was built by an older version, without {label} of the lens {lens}: aspectra index"


class LensAttribute(Attribute):
    """See the module; ``name`` is the attribute's and the lens's."""

    def __init__(self, name: str, values: tuple[str, ...], about: str = "") -> None:
        self.name, self.values, self.about = name, values, about

    def check(self, value: str) -> None:
        """Refuse what is no label of the lens.

        Raises:
            UsageError: with the values there are.
        """
        if value not in self.values:
            raise unknown_name(f"{value!r} is no {self.name}", value, self.values, self._synonyms(value))

    def _synonyms(self, word: str) -> dict[str, str]:
        """The word with the first value that its English words mean: ``review`` is said for ``survey``.

        A value for which the whole word is said goes before one with a longer phrase.
        """
        said = word.strip().casefold()
        held: dict[bool, str] = {}
        for value, phrases in _PHRASES.findall(self.words("en") if said else ""):
            alone = said in (re.sub(r"\([^()]*+\)", "", phrase).strip() for phrase in phrases.split("|"))
            if alone or re.search(rf"\b{re.escape(said)}\b", phrases):
                held.setdefault(alone, value.strip())
        return {said: held[max(held)]} if held else {}

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text, and for all where the index has no such label."""
        return lens_column(index, self.name, value, papers)

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known: an index of an older version has no such lens, or no such label."""
        return lacks(index, self.name, value) or super().missing(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """What spoke most for the value, or None where it is the text as a whole."""
        return LENSES.get(self.name).span(paper, value)


ATTRIBUTES.register("audience")(LensAttribute("audience", AudienceLens.labels, "Whom a text is written for."))


ATTRIBUTES.register("format")(LensAttribute("format", FormatLens.labels, "The form of a text."))


class ArtifactsAttribute(LensAttribute):
    """What a paper makes available: code, data or weights."""

    every = True  # who names code and data means both


ATTRIBUTES.register("artifacts")(ArtifactsAttribute("artifacts", ArtifactsLens.labels))
