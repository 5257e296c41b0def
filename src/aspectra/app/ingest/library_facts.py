"""The facts that ``status`` prints, read from the same files that a search reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.shards import SPAN
from aspectra.papers.library.store import Store

# A file added again replaces what was said about it before.
_NEWEST = f"SELECT max(id) FROM additions GROUP BY path, id / {SPAN}"


# Rows -> name of each count of them -> its expression.
_COUNTS = {
    "papers": {
        "papers": "count(*)",
        "with_abstract": "sum(abstract != '')",
        "with_full_text": "sum(full_hash != '')",
        "title_only": "sum(title != '' AND abstract = '' AND full_hash = '')",
        "to_complete": "sum(title = '' AND abstract = '' AND full_hash = '')",
    },
    "papers WHERE version_group IS NOT NULL": {
        "version_groups": "count(DISTINCT version_group)",
        "papers_in_groups": "count(*)",
    },
    "citations": {"citations": "count(*)", "citations_resolved": "count(target)"},
    f"remarks WHERE addition IN ({_NEWEST})": {
        "records_skipped": "sum(skipped)",
        "records_noted": "sum(1 - skipped)",
    },
}


def summary(library: Store) -> dict[str, Any]:
    """Counts of what the database holds."""
    out: dict[str, Any] = {"folder": str(library.folder), "revision": library.revision}
    for rows, counts in _COUNTS.items():
        (found,) = library.fetch(f"SELECT {', '.join(counts.values())} FROM {rows}")
        out |= {name: number or 0 for name, number in zip(counts, found, strict=True)}  # or NULL
    return out


def remarks(library: Store, limit: int = 100) -> list[dict[str, Any]]:
    """Skipped records and notes from adding files, newest file first."""
    rows = library.fetch(
        "SELECT a.path, a.source, r.place, r.reason, r.skipped FROM remarks r "
        f"JOIN additions a ON a.id = r.addition WHERE a.id IN ({_NEWEST}) "
        "ORDER BY a.id DESC, r.rowid LIMIT ?",
        (limit,),
    )
    names = ("file", "source", "place", "reason", "skipped")
    return [dict(zip(names, (*row[:4], bool(row[4])), strict=True)) for row in rows]


def facts_of(library: Store) -> dict[str, Any]:
    """Everything about a library; ``index`` is None before the first ``aspectra index``."""
    shards = {str(shard.folder): len(shard) for shard in library.shards.values()}
    held = {"shards": shards} if shards else {}
    return {**summary(library), **held, "bytes": _bytes(library.folder), "index": _index(library)}


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a writer replaced it just now
            continue
    return total


def _index(library: Store) -> dict[str, Any] | None:
    folder = library.generations.current()
    if folder is None:
        return None
    manifest = library.generations.manifest(folder)
    try:
        settings, files = manifest["settings"], manifest["files"]
        lexical = settings["lexical"]
        views = {
            name: {
                "kind": view["kind"],
                "encoder": view.get("encoder", ""),
                "fingerprint": view.get("fingerprint", ""),
                "truncated": view.get("truncated"),
                "bytes": sum(
                    size
                    for file, (size, _) in files.items()
                    if file.startswith(f"{view.get('folder', name)}/")
                ),
            }
            for name, view in sorted(manifest["views"].items())
        }
        out = {
            "generation": folder.name,
            "created": manifest["created"],
            "papers": manifest["papers"],
            "encoders": settings["encoders"],
            "chunks": settings["chunks"],
            "bm25": {
                "k1": lexical["k1"],
                "b": lexical["b"],
                "method": lexical["method"],
                "stemmer": lexical["tokens"]["stemmer"] or "none",
            },
            "views": views,
            "unfinished": manifest.get("waiting", ""),
        }
        same = manifest["revision"] == library.revision
    except (KeyError, TypeError) as error:
        raise LibraryCorrupt(
            f"the manifest of the index generation {folder.name} is damaged",
            why=f"no {error}",
            hint="aspectra index --rebuild",
        ) from error
    waiting = {"waiting": 0, "changed": 0, "gone": 0} if same else _waiting(library, folder, manifest)
    return {**out, **waiting}


def _waiting(library: Store, folder: Path, manifest: dict[str, Any]) -> dict[str, int]:
    """Papers that a new index would treat otherwise than the one there is."""
    from aspectra.views.storage.folder import open_folder, stored_ids

    held = open_folder(library.generations, folder, manifest)
    hashes = held.whole("text_hashes")
    indexed = {paper_id: row.tobytes() for paper_id, row in zip(stored_ids(held), hashes, strict=True)}
    held.close()
    new = changed = 0
    for paper_id, text_hash in library.rows("SELECT id, text_hash FROM papers"):
        known = indexed.pop(paper_id, None)
        new += known is None
        changed += known is not None and known != bytes.fromhex(text_hash)
    return {"waiting": new, "changed": changed, "gone": len(indexed)}
