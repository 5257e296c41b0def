"""Conditions on what a study uses, in free words: ``method=graph neural networks``.

Graded as a subject is: which sentences name it, by the role of the sentence, told nothing more about
labelled methods than how many do (docs/results/exclusions.md).
"""

from __future__ import annotations

from aspectra.search.conditions.attributes.content._subject import SubjectAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

__all__: list[str] = []

ATTRIBUTES.register("method")(SubjectAttribute("method"))
