"""Conditions on what a study uses, in free words: ``method=graph neural networks``.

Graded as a topic is. The roles of the sentences that name a method told no more about labelled methods than
how many sentences there are (docs/results/exclusions.md).
"""

from __future__ import annotations

from aspectra.search.conditions.attributes.content._subject import SubjectAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

ATTRIBUTES.register("method")(SubjectAttribute("method"))
