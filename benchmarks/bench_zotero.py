"""Seconds to read a made Zotero library, to sync it again, and to search its notes.

    python benchmarks/bench_zotero.py [--items 10000]

Both back ends: a database as Zotero keeps it, and a stand-in of Zotero's API on this computer, whose own time
is counted too. No PDFs. Wall time in seconds, and the CPU time of this process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, local_address
from aspectra.app.ingest.zotero.sync import SyncReport, follow
from aspectra.app.library import open_library
from aspectra.papers.library.store import Store
from aspectra.papers.sources.zotero.database import ZoteroDatabase
from aspectra.papers.sources.zotero.mapping import ZoteroSource
from zotero_library import COLLECTIONS, made_items, write_database
from zotero_server import ZoteroServer


def timed(name: str, store: Store, source: Callable[[], ZoteroSource]) -> SyncReport:
    wall, cpu = time.perf_counter(), time.process_time()
    report = follow(store, source())
    took, used = time.perf_counter() - wall, time.process_time() - cpu
    counts = (
        f"added {report.added:,}, updated {report.updated:,}, notes {report.notes + report.annotations:,}"
    )
    print(f"{name:<46}{took:8.2f} s wall {used:8.2f} s CPU   {counts}", flush=True)
    return report


def database(folder: Path, count: int) -> None:
    items = made_items(count)
    path = write_database(folder / "zotero.sqlite", items)
    print(f"database: {count:,} records, {len(items):,} items, {path.stat().st_size >> 20} MiB")
    with Store.create(folder / "database.lib") as store:
        timed("database, first read", store, lambda: ZoteroDatabase(path))
        timed("database, nothing changed", store, lambda: ZoteroDatabase(path))
        os.utime(path, (1, 1))
        timed("database, written to, but no item changed", store, lambda: ZoteroDatabase(path))
        items[0] |= {"title": "Another title", "dateModified": "2025-01-01T00:00:00Z"}
        write_database(path, items)
        timed("database, one record changed", store, lambda: ZoteroDatabase(path))
    searched(folder / "database.lib")


def searched(folder: Path) -> None:
    with open_library(folder) as library:
        library.index(encoders=[], lenses=())
        for name in ("notes, first search", "notes, second search"):
            wall, cpu = time.perf_counter(), time.process_time()
            found = library.search("river margin citation", recipe="notes")
            took, used = time.perf_counter() - wall, time.process_time() - cpu
            print(f"{name:<46}{took:8.2f} s wall {used:8.2f} s CPU   {len(found.hits)} hits", flush=True)


def interface(folder: Path, count: int) -> None:
    with ZoteroServer(made_items(count), COLLECTIONS) as server, Store.create(folder / "api.lib") as store:

        def source() -> ZoteroApi:
            return ZoteroApi(Connection(local_address(server.port)))

        timed("API, first read", store, source)
        timed("API, nothing changed", store, source)
        server.change("AAAAAAAA", title="Another title")
        timed("API, one record changed", store, source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000, help="records [10000]")
    count = parser.parse_args().items
    with tempfile.TemporaryDirectory() as place:
        database(Path(place), count)
        interface(Path(place), count)


if __name__ == "__main__":
    main()
