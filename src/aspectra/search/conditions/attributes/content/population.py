"""Conditions on whom or what a study is on, in free words: ``population=mice``, ``population=older adults``.

Graded as a subject is; no labelled populations were at hand to fit it on.
"""

from __future__ import annotations

from aspectra.search.conditions.attributes.content._subject import SubjectAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

ATTRIBUTES.register("population")(SubjectAttribute("population"))
