"""The files of a generation, whose arrays may lie in several segments; its columns and units.

A generation is one segment, written in one go, or a base and segments of what came later. Each segment is a
folder of the same kind, and none is changed again. Their rows are read as those of one array, without what
was replaced or removed, in the order of the library's papers.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.papers.library.generations.folders import FileSum, Generations, damaged
from aspectra.papers.paper import Paper, Unit
from aspectra.papers.text.structure import abstract_sentences, lead_field
from aspectra.views.storage.arrays import StoredArray, StoredFile, closed, save_array, save_json
from aspectra.views.view import Floats, Pooling, Positions

WHOLE = "whole/"  # what is written for all segments together


class SegmentedArray(StoredArray):
    """An array whose rows lie in several stored arrays, one after the other, or in another order.

    Reads as one :class:`StoredArray`. :meth:`whole` makes a copy: what computes with every row of a large
    array takes :meth:`StoredArray.over_rows`.

    Args:
        parts: of the same type and width.
        order: (rows,) places of the rows in the parts, counted through; None: all of them, as they lie.
    """

    def __init__(self, parts: Sequence[StoredArray], order: NDArray[np.int64] | None = None) -> None:
        self._parts = list(parts)
        self._order = order
        self._starts = np.cumsum([0, *map(len, parts)])
        rows = int(self._starts[-1]) if order is None else len(order)
        self.shape = (rows, *parts[0].shape[1:])
        self.dtype = parts[0].dtype

    def __getitem__(self, rows: Any) -> Any:
        """Rows, as :meth:`StoredArray.__getitem__`; a slice that lies in one part is not copied."""
        if isinstance(rows, int | np.integer):
            row = range(len(self))[int(rows)]
            place = row if self._order is None else int(self._order[row])
            part = int(np.searchsorted(self._starts, place, side="right")) - 1
            return self._parts[part][place - int(self._starts[part])]
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            part = int(np.searchsorted(self._starts, low, side="right")) - 1
            if self._order is None and step == 1 and low < high <= self._starts[part + 1]:
                start = int(self._starts[part])
                return self._parts[part][low - start : high - start]
            rows = np.arange(low, high, step)
        elif isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        wanted = np.asarray(rows, np.int64) % max(len(self), 1)
        places = wanted if self._order is None else self._order[wanted]
        owners = np.searchsorted(self._starts, places, side="right") - 1
        out = np.empty((*places.shape, *self.shape[1:]), self.dtype)
        for number in np.unique(owners).tolist():
            here = owners == number
            out[here] = self._parts[number][places[here] - self._starts[number]]
        return out

    def whole(self) -> NDArray[Any]:
        """All of it; a copy."""
        return self.over_rows(lambda rows: rows)

    def over_rows(self, compute: Callable[[NDArray[Any]], NDArray[Any]], axis: int = 0) -> NDArray[Any]:
        """See :meth:`StoredArray.over_rows`."""
        parts = [part.over_rows(compute, axis) for part in self._parts]
        out = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)
        return out if self._order is None else np.take(out, self._order, axis=axis)

    def close(self) -> None:
        """Release the files."""
        for part in self._parts:
            part.close()


class Layout(Struct, frozen=True):
    """Layout of a generation: its segments, and the order of its papers.

    Attributes:
        segments: the folder of each segment below the generation's, with a slash; the first is the
            generation's own, "".
        whole: folder, with a slash, of files that are written anew for all segments together; "" where there
            is one segment.
        order: (papers,) the stored row of each paper, counted through the segments; None: all, as they lie.
    """

    segments: tuple[str, ...] = ("",)
    whole: str = ""
    order: NDArray[np.int64] | None = None


class StoredFolder:
    """A folder of a generation. Its arrays may lie in several segments, and are read as one.

    Args:
        path: of the generation's folder, or of another one to be taken by itself.
        files: of the generation; None for one that is being built, whose files are taken as they are.
        below: name of the folder below ``path``, with a slash.
        layout: of the generation.
    """

    def __init__(
        self,
        path: Path,
        files: Mapping[str, FileSum] | None = None,
        below: str = "",
        layout: Layout | None = None,
    ) -> None:
        self.path = path / below if below else path
        self._root = path
        self._files = files
        self._below = below
        self._layout = layout or Layout()
        self._opened: list[StoredArray] = []
        self._closed = threading.Event()

    def _beside(self, below: str, layout: Layout) -> StoredFolder:
        inner = StoredFolder(self._root, self._files, below, layout)
        inner._opened, inner._closed = self._opened, self._closed
        return inner

    def folder(self, name: str) -> StoredFolder:
        """A folder in it; closed with it."""
        return self._beside(f"{self._below}{name}/", self._layout)

    @property
    def segments(self) -> list[StoredFolder]:
        """The same folder of each segment by itself; closed with it."""
        return [self._beside(one + self._below, Layout()) for one in self._layout.segments]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """See :attr:`Layout.order`."""
        return self._layout.order

    def _there(self, name: str) -> bool:
        return (self._root / name).is_file() if self._files is None else name in self._files

    def shares(self, name: str) -> bool:
        """True if there is one file of this name for all segments together."""
        return bool(self._layout.whole) and self._there(f"{self._layout.whole}{self._below}{name}")

    def _name(self, name: str) -> str:
        """Below the generation's folder: the file of all segments, or that of the first."""
        return f"{self._layout.whole if self.shares(name) else ''}{self._below}{name}"

    def __contains__(self, name: str) -> bool:
        return self._there(self._name(name))

    def _first(self, name: str) -> str:
        """The same, of a file that is not an array: those of a shard lie with its first segment."""
        return f"{'' if self.shares(name) else self._layout.segments[0]}{self._name(name)}"

    def _file(self, name: str) -> StoredFile:
        if self._closed.is_set():
            raise closed()
        if not self._there(name):
            raise damaged(f"{self._root.name}/{name} of the index cannot be read", "it is missing")
        return StoredFile(self._root / name)

    def array(self, name: str, order: NDArray[np.int64] | EllipsisType | None = ...) -> StoredArray:
        """An array.

        Args:
            name: of the file, without its ending.
            order: of its rows, as in :class:`SegmentedArray`; ``...`` where they are those of papers.

        Raises:
            LibraryCorrupt: the file is missing or its header is damaged.
        """
        file = f"{name}.npy"
        found = self._name(file)
        if found != self._below + file:
            names, rows = [found], None
        else:
            names = [one + found for one in self._layout.segments]
            rows = self._layout.order if isinstance(order, EllipsisType) else order
        parts = [StoredArray(self._file(one)) for one in names]
        out = parts[0] if len(parts) == 1 and rows is None else SegmentedArray(parts, rows)
        self._opened.append(out)
        return out

    def whole(self, name: str, order: NDArray[np.int64] | EllipsisType | None = ...) -> NDArray[Any]:
        """An array as one of numpy's: for those that every search reads all of.

        Raises:
            LibraryCorrupt: the file is missing or damaged.
        """
        return self.array(name, order).whole()

    def json(self, name: str) -> Any:
        """The value in a JSON file; of the first segment, where no file is of all.

        Raises:
            LibraryCorrupt: the file is missing or damaged.
        """
        file = self._file(self._first(name))
        try:
            return json.loads(bytes(file.content))
        except (ValueError, RecursionError) as error:
            raise file.error(error) from error
        finally:
            file.close()

    def close(self) -> None:
        """Release all files that were opened through it and the folders in it."""
        self._closed.set()
        while self._opened:
            self._opened.pop().close()


def open_folder(generations: Generations, path: Path, manifest: dict[str, Any]) -> StoredFolder:
    """The files of a generation, after :meth:`Generations.check`.

    Raises:
        LibraryCorrupt: a file is missing, or has changed since it was written.
    """
    files = generations.check(path, manifest)
    segments = tuple(str(one["folder"]) for one in manifest.get("segments", ()))
    if not segments:
        return StoredFolder(path, files)
    plain = StoredFolder(path, files, WHOLE)
    order = plain.whole("order") if "order.npy" in plain else None
    return StoredFolder(path, files, layout=Layout(segments, WHOLE, order))


def segment_folder(shard: int) -> str:
    """Folder of the files of a shard below the generation of a collection: those of the first lie in it."""
    return f"shard-{shard}/" if shard else ""


def open_shard(
    generations: Generations, path: Path, manifest: dict[str, Any], shard: int
) -> tuple[StoredFolder, StoredFolder, slice]:
    """One shard of a generation of a collection.

    Args:
        generations: of the collection.
        path: of the generation.
        manifest: of it.
        shard: number of the shard among those that hold papers.

    Returns:
        Its files, those of all shards together, and the positions of its papers among all.

    Raises:
        LibraryCorrupt: a file is missing, or has changed since it was written.
    """
    files = generations.check(path, manifest)
    papers = [*manifest["shards"].values()]
    mine = slice(first := sum(papers[:shard]), first + papers[shard])
    of: dict[int, list[str]] = {number: [] for number in range(len(papers))}
    for segment in manifest["segments"]:
        name = str(segment["folder"])
        number = next(n for n in reversed(of) if name.startswith(segment_folder(n)))
        of[number].append(name)
    whole, order = StoredFolder(path, files, WHOLE), None
    if "order.npy" in whole:
        before = chain.from_iterable(names for number, names in of.items() if number < shard)
        rows = sum(len(StoredFolder(path, files, name).whole("years")) for name in before)
        order = whole.whole("order")[mine] - rows
    return StoredFolder(path, files, layout=Layout((*of[shard],), "", order)), whole, mine


# The columns of a generation: what papers are ordered, sampled and filtered by.

SAMPLE = 1024


def sample_ids(ids: Iterable[str]) -> list[str]:
    """The papers with the smallest hashes of their ids: a random sample that new papers hardly change.

    The sample of a collection in several parts is that of the samples of its parts together.
    """
    return heapq.nsmallest(SAMPLE, ids, key=sample_key)


def sample_key(paper_id: str) -> bytes:
    """The hash of an id: papers are in a sample in its order."""
    return hashlib.blake2b(paper_id.encode("utf-8", "replace"), digest_size=8).digest()


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
) -> NDArray[np.int64]:
    """Write ids and columns of papers into a generation; returns positions of its sample.

    Args:
        folder: of the generation being built.
        ids: of the papers, in order.
        columns: ``year``, ``venue``, ``language`` and ``text_hash`` of each paper.
    """
    hashes = b"".join(bytes.fromhex(h) for h in columns["text_hash"])
    chosen = places_of(sample_ids(ids), ids)
    arrays: dict[str, NDArray[Any]] = {
        "id_order": id_order(ids),
        "sample": chosen,
        "years": np.array([y or 0 for y in columns["year"]], dtype=np.int32),
        "text_hashes": np.frombuffer(hashes, dtype=np.uint8).reshape(len(ids), 16),
    }
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)
    for column, plural in (("venue", "venues"), ("language", "languages")):
        save_coded(folder, plural, columns[column])
    save_json(folder / "ids.json", ids)
    return chosen


# Units of papers as arrays: which span of which field, grouped by paper.

_TITLE = -2
_ABSTRACT = -1  # sections count from 0


class Units(Struct, frozen=True):
    """Spans grouped by paper.

    Attributes:
        offsets: (papers + 1,) int64: the units of paper i are ``offsets[i]`` to ``offsets[i + 1]``.
        spans: (units, 3) int32: field (-2 title, -1 abstract, N section), start, end in characters.
        order: (units,) the stored row of each unit, counted through the segments; None: all, as they lie.
        segments: ``offsets`` of each segment, with its own numbers of papers and units; () where there is
            one.
    """

    offsets: NDArray[np.int64]
    spans: NDArray[np.int32] | StoredArray
    order: Positions | None = None
    segments: tuple[NDArray[np.int64], ...] = ()

    @staticmethod
    def field_code(field: str) -> int:
        """The number of a field name."""
        return {"title": _TITLE, "abstract": _ABSTRACT}.get(field) or int(field.partition(":")[2])

    @staticmethod
    def field_name(code: int) -> str:
        """The field name of a number."""
        return {_TITLE: "title", _ABSTRACT: "abstract"}.get(code) or f"section:{code}"

    @classmethod
    def load(cls, folder: StoredFolder) -> Units:
        """Read from a generation."""
        segments = tuple(part.whole("offsets") for part in folder.segments)
        ends = np.cumsum([one[-1] for one in segments])[:-1]
        shifted = [one[1:] + end for one, end in zip(segments[1:], ends, strict=True)]
        stored = np.concatenate([segments[0], *shifted]) if shifted else segments[0]
        if folder.order is None:
            return cls(stored, folder.array("spans", None), None, segments)
        starts, counts = stored[:-1][folder.order], np.diff(stored)[folder.order]
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        order = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        return cls(offsets, folder.array("spans", order), order, segments)

    def save(self, folder: Path) -> None:
        """Into a generation being built."""
        save_array(folder / "offsets.npy", self.offsets)
        save_array(folder / "spans.npy", np.asarray(self.spans))

    def unit(self, paper_id: str, index: int) -> Unit:
        """The unit at ``index`` as a value."""
        code, start, end = (int(v) for v in self.spans[index])
        return Unit(paper_id, self.field_name(code), start, end)

    def rows(self, papers: Positions) -> tuple[Positions, NDArray[np.int64]]:
        """Unit indices of these papers, concatenated, and (papers + 1,) offsets into them."""
        starts = self.offsets[papers]
        counts = self.offsets[papers + 1] - starts
        local = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(starts - local[:-1], counts) + np.arange(local[-1])
        return rows, local

    def sentence_rows(self, paper: int) -> Positions:
        """Units of a paper that are sentences, in order: all but its title."""
        low, high = int(self.offsets[paper]), int(self.offsets[paper + 1])
        rows: Positions = np.arange(low, high)[np.asarray(self.spans[low:high])[:, 0] != _TITLE]
        return rows

    @staticmethod
    def pool(values: Floats, offsets: NDArray[np.int64], how: Pooling) -> tuple[Floats, Positions]:
        """Unit scores to paper scores.

        Args:
            values: (units,) scores, grouped by paper.
            offsets: (papers + 1,) where each paper's units begin.
            how: see :class:`Probe`.

        Returns:
            (papers,) scores, -inf for a paper without units, and (papers,) index into ``values`` of the
            unit that decided, -1 without units.
        """
        starts, ends = offsets[:-1], offsets[1:]
        count = ends - starts
        full = np.flatnonzero(count)
        out = np.full(len(starts), -np.inf, dtype=np.float32)
        best = np.full(len(starts), -1, dtype=np.int64)
        if not len(full):
            return out, best
        begin = starts[full]
        highest = np.maximum.reduceat(values, begin)
        # The first unit that reaches its paper's maximum.
        owner = np.repeat(np.arange(len(full)), count[full])
        hits = np.flatnonzero(values[: len(owner)] == highest[owner])
        first = hits[np.unique(owner[hits], return_index=True)[1]]
        best[full] = first
        if how == "max":
            out[full] = highest
        elif how == "first":
            out[full] = values[begin]
            best[full] = begin
        elif how == "sum":
            out[full] = np.add.reduceat(values, begin)
        else:
            order = np.lexsort((-values[: len(owner)], owner))
            place = np.arange(len(owner)) - begin[owner] + begin[0]
            kept = np.where(place < 3, values[order], 0.0)
            out[full] = np.add.reduceat(kept, begin - begin[0]) / np.minimum(count[full], 3)
        return out, best


def paper_spans(paper: Paper) -> tuple[str, list[tuple[int, int]], list[tuple[str, int, int]]]:
    """Text of a paper that the abstract views encode, and its units.

    Returns:
        The text (title, then the lead text); the character span in it of each unit; and each unit as
        (field, start, end) in the stored text: the title first, then each sentence.
    """
    held = EncodedText.of(paper)
    title = held.title
    spans, units = [], []
    if title:
        at = paper.title.find(title)
        spans.append((0, len(title)))
        units.append(("title", at, at + len(title)))
    for sentence in abstract_sentences(paper):
        spans.append((sentence.start + held.shift, sentence.end + held.shift))
        units.append((held.field, sentence.start, sentence.end))
    return held.text, spans, units


class EncodedText(Struct, frozen=True):
    """Text of a paper that the abstract views encode: its title, then the lead text.

    Attributes:
        text: both.
        title: without outer white space.
        field: of the lead text in the paper.
        shift: where it begins in the text.
    """

    text: str
    title: str
    field: str
    shift: int

    @classmethod
    def of(cls, paper: Paper) -> EncodedText:
        """The encoded text of a paper."""
        field, lead = lead_field(paper)
        title = paper.title.strip()
        joint = "" if not title or not lead else " " if title[-1] in ".?!。！？" else ". "
        return cls(title + joint + lead, title, field, len(title) + len(joint))
