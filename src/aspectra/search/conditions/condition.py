"""Conditions: what a paper should be like, as an attribute, a value and a relation.

To add an attribute, write one module in ``search/attributes`` with an object registered by
``@ATTRIBUTES.register(name)`` and name it in :data:`ATTRIBUTES`; third parties use the entry point group
``aspectra.attribute``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.views.index import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions

__all__ = ["ATTRIBUTES", "MEETS", "Attribute", "Condition", "Relation"]

# The grade from which a paper meets a condition.
MEETS = 0.5

Relation = Literal["require", "exclude", "prefer", "avoid"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One wish about the papers themselves, whatever they are about.

    Attributes:
        attribute: ``language``, ``length``, ``keyword`` ...: a name in :data:`ATTRIBUTES`.
        value: as that attribute spells its values: ``zh``, ``<=paragraph``, ``>=2021`` ...
        relation: ``require`` and ``exclude`` filter; ``prefer`` and ``avoid`` raise and lower by degrees.
        words: the words of the instruction that said so, or "".
    """

    attribute: str
    value: str
    relation: Relation = "prefer"
    words: str = ""

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise UsageError(
                f"unknown relation {self.relation!r}", why="known: " + ", ".join(get_args(Relation))
            )
        ATTRIBUTES.get(self.attribute).check(self.value)

    @property
    def filters(self) -> bool:
        """Whether papers are dropped, rather than moved."""
        return self.relation in ("require", "exclude")

    @property
    def sign(self) -> int:
        """+1 where the value is wanted, -1 where it is unwanted."""
        return 1 if self.relation in ("require", "prefer") else -1

    @property
    def chip(self) -> str:
        """As a person edits it; :meth:`parse` reads it back.

        >>> Condition("language", "zh", "avoid").chip
        'avoid language=zh'
        """
        return f"{self.relation} {self.attribute}={self.value}"

    @classmethod
    def parse(cls, chip: str) -> Condition:
        """From a chip: ``avoid language=zh``; ``prefer`` may be left out.

        Raises:
            UsageError: not of that form, or an unknown relation, attribute or value.
        """
        found = re.fullmatch(r"\s*(?:(\w+)\s+)?(\w+)\s*=\s*(.+?)\s*", chip, re.DOTALL)
        if found is None:
            raise UsageError(
                f"{chip!r} is no condition", why="write RELATION ATTRIBUTE=VALUE, as in: avoid source=blog"
            )
        relation, attribute, value = found.groups()
        return cls(attribute, value, cast("Relation", relation or "prefer"))  # checked by __post_init__

    def to_dict(self) -> dict[str, str]:
        """JSON form."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "words" or self.words}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Condition:
        """Inverse of :meth:`to_dict`."""
        refuse_unknown(data, (f.name for f in fields(cls)), "field in a condition")
        try:
            return cls(**data)
        except TypeError as error:
            raise UsageError("a condition cannot be read", why=str(error)) from error


class Attribute(Protocol):
    """What conditions of one name mean.

    Attributes:
        name: as in ``language``.
        cheap: grading every paper of a library takes milliseconds (a stored column or lens); otherwise only
            the best candidates of the other probes are graded, among those :meth:`possible`.
    """

    name: str
    cheap: bool

    def check(self, value: str) -> None:
        """Refuse a value that means nothing here.

        Raises:
            UsageError: with the values there are.
        """
        ...

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) how far each paper has the value: 0 not at all, 1 wholly, NaN where nothing is known.

        A paper meets a condition from 0.5 on.
        """
        ...

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where the grade is surely 0; None where that cannot be told quickly."""
        ...

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The span of the stored text that decided, or None where it is the paper as a whole or its record.

        ``paper`` comes with its sections.
        """
        ...


ATTRIBUTES: Registry[Attribute] = Registry("attribute", "aspectra.search.conditions.attributes")
