"""The protocol of an attribute: what conditions of one name mean.

To add an attribute, write one module in ``search/conditions/attributes`` with an object registered by
``@ATTRIBUTES.register(name)``; third parties use the entry point group ``aspectra.attribute``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from importlib import resources
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.view import Floats, Positions

_SECTION = re.compile(r"^\[(\w+)\]$", re.MULTILINE)


class Attribute(Protocol):
    """The meaning of conditions of one name. Members derive from it and override the defaults.

    Attributes:
        name: as in ``language``.
        cheap: grading every paper of a library takes milliseconds (a stored column or lens); otherwise only
            the best candidates of the probes are graded, among those :meth:`possible`.
        whole: what was measured, see :meth:`measure`; None where nothing was.
        every: several wanted values must all be met; otherwise one of them will do.
        doubtful: a grade below a half is doubt and not absence: an ``exclude`` lowers such papers.
        longest: characters that a value may have.
        finds: papers that meet a required value are found even where no word of the question is in them, and
            a warning is given if there are none.
        noun: what is unknown of a paper whose grade is NaN, as in *venue unknown*; "" for the name.
    """

    name: str
    cheap: bool = True
    whole: Any = None
    every: bool = False
    doubtful: bool = False
    finds: bool = False
    noun: str = ""
    longest: int = 1000

    def words(self, language: str) -> str:
        """Lines ``VALUE = phrase | phrase`` of the words by which people say the values, for the reader.

        By default those of ``words/NAME.txt``; "" without such a file.

        The notation is that of :mod:`aspectra.search.instructions.recognisers.lexicon`.

        Args:
            language: of the words: ``en``, ``de`` or ``zh``.
        """
        file = resources.files(__package__) / "words" / f"{self.name}.txt"
        if not file.is_file():
            return ""
        parts = _SECTION.split(file.read_text("utf-8"))
        return dict(zip(parts[1::2], parts[2::2], strict=True)).get(language, "")

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

    def measure(self, value: str, index: Index) -> Any:
        """Statistics of all papers of an index: all that grades depend on besides the paper itself.

        By default None, nothing: grades are the same whatever other papers there are.
        """
        return None

    def knowing(self, whole: Any) -> Self:
        """The attribute with what it measured, which is not measured again."""
        made = copy(self)
        object.__setattr__(made, "whole", whole)  # members may be frozen
        return made

    def told(self, value: str, index: Index) -> Any:
        """Result of :meth:`measure`, from now or from before."""
        return self.measure(value, index) if self.whole is None else self.whole

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The value with what only the query or the user's own lists know put in; by default as it is.

        Called once, when a search is planned: ``same`` becomes the names of the seeds' authors.

        Args:
            value: as it was written.
            seeds: ids of the query's seed papers.
            index: that is searched.
            lists: of the user.
        """
        return value

    def state(self, index: Index) -> int:
        """A number that changes with what grades depend on beside the index, so that they are taken anew."""
        return index.library.revision

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper, for people; "" where something is known of one.

        A condition of which nothing is known is not applied. Called where all grades of a ``cheap`` attribute
        are NaN, and for every other attribute.
        """
        return f"no paper of this library states its {self.noun or self.name}" if self.cheap else ""

    def orders_only(self, value: str, index: Index) -> str:
        """Why papers are not dropped by the value but moved, for people; "" where they are dropped.

        Called once, when a search is planned: ``require`` becomes ``prefer``, ``exclude`` becomes ``avoid``.
        """
        return ""

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where the grade is surely 0; None where that cannot be told quickly.

        Used where the attribute is not ``cheap``.
        """
        return None

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The span of the stored text that decided, or None where it is the paper as a whole or its record.

        ``paper`` comes with its sections.
        """
        return None

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The deciding fact in the record: ``cited 120 times (record)``; "" if a span shows it."""
        return ""


def table_of_words(name: str) -> dict[str, Any]:
    """The tables of ``words/NAME.toml``."""
    return tomllib.loads((resources.files(__package__) / "words" / f"{name}.toml").read_text("utf-8"))


def by_name(index: Index, column: str, papers: Positions, grade: Callable[[str], float]) -> Floats:
    """(papers,) what ``grade`` gives for each paper's text in a column; it is called once for each text."""
    codes, names = index.coded(column)
    if not names:
        return np.full(len(papers), np.nan, np.float32)
    chosen = codes[papers]
    table = np.full(len(names), np.nan, np.float32)
    for code in np.unique(chosen):
        table[code] = grade(names[code])
    return np.asarray(table[chosen], np.float32)


def places(index: Index, ids: Iterable[str]) -> list[int]:
    """Positions of the papers with some ids, of those that are in the index."""
    return [index.positions[one] for one in ids if one in index.positions]


def meeting(index: Index, papers: Positions, met: Iterable[int], others: float | NDArray[Any]) -> Floats:
    """(papers,) grade 1 for the papers at some positions.

    Args:
        index: that holds the papers.
        papers: (papers,) positions.
        met: positions.
        others: grade of all other papers, or (all papers,) one for each.
    """
    out = np.full(len(index), others, np.float32)
    out[[*met]] = 1
    return out[papers]


ATTRIBUTES: Registry[Attribute] = Registry("attribute", __package__)
