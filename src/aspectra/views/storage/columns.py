"""The columns of a generation: what papers are ordered, sampled and filtered by."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.storage.arrays import save_array, save_json
from aspectra.views.storage.folder import StoredFolder

_SAMPLE = 1024


def sample_ids(ids: Iterable[str]) -> list[str]:
    """The papers with the smallest hashes of their ids: a random sample that new papers hardly change.

    The sample of a collection in several parts is that of the samples of its parts together.
    """

    def key(paper_id: str) -> bytes:
        return hashlib.blake2b(paper_id.encode("utf-8", "replace"), digest_size=8).digest()

    return heapq.nsmallest(_SAMPLE, ids, key=key)


def places_of(sample: Sequence[str], ids: Sequence[str]) -> NDArray[np.int64]:
    """The positions of a sample's papers in its order, which is that of their hashes in every library."""
    held = set(sample)
    places = {paper_id: at for at, paper_id in enumerate(ids) if paper_id in held}
    return np.array([places[one] for one in sample if one in places], dtype=np.int64)


def save_coded(folder: Path, name: str, texts: Sequence[str]) -> None:
    """Write a column of texts that repeat: the texts, and which one each paper has."""
    names = sorted(set(texts))
    code = {text: i for i, text in enumerate(names)}
    save_array(folder / f"{name}.npy", np.array([code[text] for text in texts], dtype=np.int32))
    save_json(folder / f"{name}.json", names)


def stored_ids(folder: StoredFolder) -> list[str]:
    """Ids of the papers of a generation, in order."""
    parts = [part.json("ids.json") for part in folder.segments]
    ids: list[str] = parts[0] if len(parts) == 1 else [*chain.from_iterable(parts)]
    return ids if folder.order is None else [ids[row] for row in folder.order.tolist()]


def stored_codes(folder: StoredFolder, name: str) -> tuple[NDArray[np.int32], list[str]]:
    """Inverse of :func:`save_coded`: the code of each paper of a generation, and the texts in order."""
    parts = [(part.whole(name), part.json(f"{name}.json")) for part in folder.segments]
    codes, names = parts[0]
    if len(parts) > 1:
        names = sorted(set(chain.from_iterable(texts for _, texts in parts)))
        numbers = {text: number for number, text in enumerate(names)}
        renamed = [np.array([numbers[text] for text in texts], np.int32) for _, texts in parts]
        codes = np.concatenate([new[old] for new, (old, _) in zip(renamed, parts, strict=True)])
    return codes if folder.order is None else codes[folder.order], names


def id_order(ids: Sequence[str]) -> NDArray[np.int32]:
    """(papers,) rank of each id in ascending order."""
    order = np.empty(len(ids), dtype=np.int32)
    order[np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)] = np.arange(len(ids))
    return order


def write_columns(
    folder: Path,
    ids: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    sample: Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """Write ids and columns of papers into a generation; returns positions of its sample.

    Args:
        folder: of the generation being built.
        ids: of the papers, in order.
        columns: ``year``, ``venue``, ``language`` and ``text_hash`` of each paper.
        sample: ids of the sample of a collection that the papers are a part of, in its order; default: a
            sample of them.
    """
    count = len(ids)
    hashes = b"".join(bytes.fromhex(h) for h in columns["text_hash"])
    chosen = places_of(sample_ids(ids) if sample is None else sample, ids)
    arrays: dict[str, NDArray[Any]] = {
        "id_order": id_order(ids),
        "sample": chosen,
        "years": np.array([y or 0 for y in columns["year"]], dtype=np.int32),
        "text_hashes": np.frombuffer(hashes, dtype=np.uint8).reshape(count, 16),
    }
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)
    for column, plural in (("venue", "venues"), ("language", "languages")):
        save_coded(folder, plural, columns[column])
    save_json(folder / "ids.json", ids)
    return chosen
