"""Encoders that are loaded in another thread while what will use them is imported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_EARLY: dict[str, tuple[threading.Thread, list[Any]]] = {}  # which loads; the encoder, once it is loaded


def load_early(spec: str, load: Callable[[str], Any]) -> None:
    """Begin to load an encoder, for the next :func:`~aspectra.views.encoders.protocol.load_encoder` of it.

    Args:
        spec: as there; nothing is loaded twice.
        load: loads it, or gives None where that needs a permission.
    """
    if spec in _EARLY:
        return
    loaded: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # who needs the encoder loads it again, and reports the failure
            loaded.append(load(spec))

    thread = threading.Thread(target=run, name=f"load {spec}")
    _EARLY[spec] = thread, loaded
    thread.start()


def loaded_early(spec: str) -> Any:
    """The encoder that :func:`load_early` began to load, returned once; None if it did not."""
    thread, loaded = _EARLY.pop(spec, (None, []))
    if thread is not None:
        thread.join()
    return loaded[0] if loaded else None
