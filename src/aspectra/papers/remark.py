"""Remarks: what was wrong with a record, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the reader of the file should know about one record.

    Attributes:
        place: where, for a person: ``line 12``, ``entry smith2020``, ``record 3``, ``file``.
        reason: what is wrong and what was done about it.
        skipped: True when the record was left out, False when it was kept all the same.
    """

    place: str
    reason: str
    skipped: bool = True
