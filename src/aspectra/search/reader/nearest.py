"""Wishes in unknown words: the nearest description of an attribute's value, by their embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aspectra.search.reader.clauses import Clauses
from aspectra.search.reader.scope import Wish

__all__ = ["nearest_values"]


def nearest_values(
    text: str, unread: Sequence[tuple[int, int]], clauses: Clauses, encode: Callable[[Sequence[str]], Any]
) -> tuple[list[Wish], list[tuple[int, int]]]:
    """Not written yet: nothing is near."""
    return [], list(unread)
