"""Pieces of an instruction: words and phrases with what they may be doing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text.

    Attributes:
        category: ``mention``, ``bound``, ``name``, ``term`` and ``aspect`` carry wishes; ``neg``,
            ``hard``, ``soft``, ``wish`` and ``perm`` say how they are meant; ``open`` asks, ``topic`` and
            ``label`` lead to the subject, ``doc`` names what is searched, ``func`` and ``polite`` say
            nothing by themselves; ``word`` is any other word, ``quote`` quoted text; and the delimiters.
        start, end: where it stands in the text.
        low: its words in lower case.
        value: the finer kind of its category.
        marks: see :class:`~aspectra.search.instructions.grammar.lexicon.Entry`.
        attribute, values: what is wished, all of them.
        opposite: what a denied bound leaves.
        sure: False where the words need company to be a wish.
        tied: whether a hyphen ties it to the piece before.
    """

    category: str
    start: int
    end: int
    low: str
    value: str = ""
    marks: frozenset[str] = frozenset()
    attribute: str = ""
    values: tuple[str, ...] = ()
    opposite: str = ""
    sure: bool = True
    tied: bool = False

    @property
    def carries(self) -> bool:
        """Whether it says what papers should be like."""
        return bool(self.attribute)

    @property
    def rules(self) -> bool:
        """Whether it says how that is meant."""
        return self.category in ("neg", "hard", "soft", "wish", "perm")

    @property
    def covered(self) -> bool:
        """Whether it can belong to a wish at all."""
        return self.category not in ("word", "quote")
