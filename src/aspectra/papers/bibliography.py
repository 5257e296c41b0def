"""What formats call the parts of a paper (``bibliography.toml``), and the metadata names that they share.

Sources of bibliographies put what a :class:`Paper` has no field for under these metadata names, so that
a record read from one format can be written in another: ``type`` (a CSL type), ``volume``, ``issue``,
``pages``, ``publisher``, ``issn``, ``date``, ``note`` (text), ``keywords`` and ``editors`` (lists).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["SHARED", "Names", "names_in", "shared_list", "shared_text"]

SHARED = ("type", "volume", "issue", "pages", "publisher", "issn", "date", "note", "keywords", "editors")


class Names(msgspec.Struct, frozen=True):
    """The names of one format.

    Attributes:
        attributes: attribute of :class:`Paper` -> the fields it is read from.
        shared: shared metadata name -> the fields it is read from; the first is the one to write.
        types: type of publication in the format -> CSL type.
        written_types: CSL type -> the type to write.
    """

    attributes: dict[str, tuple[str, ...]] = {}
    shared: dict[str, tuple[str, ...]] = {}
    types: dict[str, str] = {}
    written_types: dict[str, str] = {}

    def shared_texts(self, text_of: Callable[[str], str]) -> dict[str, Any]:
        """Shared metadata name -> text of the first of its fields that has any, or ""; in our order."""
        return {name: next(filter(None, map(text_of, fields)), "") for name, fields in self.shared.items()}


@cache
def names_in(form: str) -> Names:
    """The names of a format: ``bibtex``, ``csl-json``, ``jsonl``, ``nbib`` or ``ris``."""
    table = Path(__file__).with_suffix(".toml").read_bytes()
    return msgspec.toml.decode(table, type=dict[str, Names])[form]


def shared_text(metadata: Mapping[str, Any], name: str) -> str:
    """The text or number under a shared metadata name; "" when it is absent or of another kind."""
    value = metadata.get(name)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def shared_list(metadata: Mapping[str, Any], name: str) -> list[str]:
    """The texts under a shared metadata name, whether it holds a list or one text."""
    value = metadata.get(name)
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str) and v] if isinstance(value, list) else []
