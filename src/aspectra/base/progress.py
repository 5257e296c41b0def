"""How far a long step is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # called with (step, done, total)


def quiet(step: str, done: int, total: int) -> None:
    """Show no progress."""
