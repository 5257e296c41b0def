"""Encoders that are loaded in another thread while what will use them is imported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class _Early(threading.Thread):
    """Loads an encoder."""

    def __init__(self, spec: str, load: Callable[[str], Any]) -> None:
        super().__init__(name=f"load {spec}")
        self._spec, self._load = spec, load
        self._loaded: Any = None

    def run(self) -> None:
        with suppress(Exception):  # who needs the encoder loads it again, and reports the failure
            self._loaded = self._load(self._spec)

    def result(self) -> Any:
        """The encoder, as soon as it is loaded; None where it was not."""
        self.join()
        return self._loaded


_EARLY: dict[str, _Early] = {}


def load_early(spec: str, load: Callable[[str], Any]) -> None:
    """Begin to load an encoder, for the next :func:`~aspectra.views.encoders.protocol.load_encoder` of it.

    Args:
        spec: as there; nothing is loaded twice.
        load: loads it, or gives None where that needs a permission.
    """
    if spec not in _EARLY:
        _EARLY[spec] = early = _Early(spec, load)
        early.start()


def loaded_early(spec: str) -> Any:
    """The encoder that :func:`load_early` began to load, returned once; None if it did not."""
    early = _EARLY.pop(spec, None)
    return early.result() if early is not None else None
