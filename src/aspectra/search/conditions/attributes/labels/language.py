"""Conditions on language: a BCP 47 tag, as in ``de``, ``zh-Hant`` or ``pt-BR``.

A grade is the share of the title and abstract in that language. Regions say which way of writing Chinese is
meant (``zh-TW`` is ``zh-Hant``) and are left aside elsewhere. A language that the lens cannot see is met by
papers whose record states it, and not by those that state or are clearly in another.
"""

from __future__ import annotations

import re

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.views.index.opened import Index
from aspectra.views.lenses.language import LANGUAGES, label_of
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions

_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")


class LanguageAttribute(Attribute):
    """See the module."""

    name = "language"

    def check(self, value: str) -> None:
        """Refuse what is no language tag.

        Raises:
            UsageError: with the tags that the lens sees.
        """
        if not _TAG.fullmatch(value.strip()):
            raise UsageError(
                f"{value!r} is no language",
                why="write a BCP 47 tag; seen in texts are " + ", ".join(sorted(LANGUAGES)),
                hint="language=en, language=zh-Hant",
            )

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) share of the text in the language, NaN where the text does not tell.

        Before the lens is applied the records alone tell.
        """
        out: Floats = np.full(len(papers), np.nan, np.float32)
        if "language" in index.lens_names:
            lens = index.lens("language")
            if label := label_of(value.strip()):
                return np.asarray(lens.column(label)[papers], np.float32)
            clear = np.max([lens.column(code)[papers] for code in LANGUAGES], axis=0) >= 0.5
            out = np.where(clear, np.float32(0), out)
        codes, names = index.coded("languages")
        if names:
            primary = re.split("[-_]", value.strip().casefold())[0]
            stated = np.array([bool(name) for name in names])[codes[papers]]
            same = np.array([name == primary for name in names])[codes[papers]]
            out = np.where(stated, same.astype(np.float32), out)
        return np.asarray(out, np.float32)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence with most words in the language."""
        label = label_of(value.strip())
        return LENSES.get("language").span(paper, label) if label else None


ATTRIBUTES.register("language")(LanguageAttribute())
