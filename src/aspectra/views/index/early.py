"""The encoder of a library's index, loaded while its first search is imported, read and planned."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from aspectra.papers.library.store import Store
from aspectra.views.encoders.early import load_early

if TYPE_CHECKING:
    from aspectra.views.encoders.protocol import Encoder


def load_default_encoder(library: Store, text: str) -> None:
    """Begin to load the encoder of the current index in another thread.

    Args:
        library: an opened library.
        text: of the query.
    """
    with suppress(Exception):  # what is wrong with the index is reported by the search itself
        folder = library.generations.current()
        specs = library.generations.manifest(folder)["settings"]["encoders"] if folder is not None else ()
        if specs:
            load_early(specs[0], partial(load_and_try, text=text))


def load_and_try(spec: str, text: str) -> Encoder | None:
    """An encoder, ready by having encoded a text; None where it needs a permission."""
    from aspectra.views.encoders.protocol import load_named, needs_of  # numpy: for the thread to import

    if needs_of(spec):
        return None
    encoder = load_named(spec)
    encoder.encode([text], kind="query")
    return encoder
