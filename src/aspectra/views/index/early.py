"""The encoder of a library's index, loaded while its first search is read and planned."""

from __future__ import annotations

from contextlib import suppress

from aspectra.papers.library.store import Store


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
            from aspectra.views.encoders.protocol import load_early

            load_early(specs[0], text)
