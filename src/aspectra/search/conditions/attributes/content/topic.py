"""Conditions on the subject of a paper, in free words: ``topic=driving scenes``."""

from __future__ import annotations

from aspectra.search.conditions.attributes.content._subject import SubjectAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

ATTRIBUTES.register("topic")(SubjectAttribute("topic"))
