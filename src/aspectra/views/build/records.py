"""The columns of a generation that conditions on records read, and the citations between its papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.bibliography import facts_of
from aspectra.papers.library.derived import Producer
from aspectra.papers.library.rows import Parts, paper_columns, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.build.draft import IndexTask
from aspectra.views.build.values import citation_version
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.readers.protocol import READERS, reading_text
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import StoredFolder, Units, save_coded
from aspectra.views.view import Floats, Positions

if TYPE_CHECKING:
    from aspectra.papers.library.derived import Derived


# Roles of an abstract's sentences that stand for an aspect where there is no full text to read.
_ROLES = {"question": ("background", "objective"), "method": ("method",), "experiment": ("result",)}


def reader_state(names: Sequence[str]) -> str:
    """Names and versions: what stored readings and generations depend on."""
    return " ".join(f"{name}/{READERS.get(name).version}" for name in names)


def reader_spans(name: str) -> Producer:
    """Values: (spans, 3) int32 of what a reader found: field code, start, end."""
    return Producer(f"reading-spans:{name}", str(READERS.get(name).version), ("sections",))


def reader_vectors(name: str, encoder: Encoder, citations: str) -> Producer:
    """Values: (dimensions,) float32 of what a reader found, (0,) for nothing; number of cut texts."""
    version = f"{READERS.get(name).version}{citation_version(citations)} {encoder.fingerprint}"
    return Producer(f"reading:{name}", version, ("sections",))


def make_readings(task: IndexTask) -> int:
    """Read and encode the full texts that have no readings; returns how many papers."""
    library, settings, progress = task.library, task.settings, task.progress
    encoders = [encoder for _, encoder in task.encoders]
    missing: dict[int, tuple[str, list[str]]] = {}
    for name in settings.readers:
        made = [reader_spans(name), *(reader_vectors(name, e, settings.citations) for e in encoders)]
        for pos, key, _ in library.derived.missing(*made):
            missing.setdefault(pos, (key, []))[1].append(name)
    waiting = sorted(missing)
    label = "reading full texts"
    batch = max(1, settings.batch // 16)  # a full text holds some 16 abstracts and more
    for start in range(0, len(waiting), batch):
        progress(label, start, len(waiting))
        read: list[tuple[str, str, NDArray[np.int32], str]] = []  # name, key, spans, text
        for pos, paper in library.papers_at(waiting[start : start + batch], "sections").items():
            key, names = missing[pos]
            for name in names:
                reading = READERS.get(name).read(paper)
                spans = [(Units.field_code(field), a, b) for field, a, b in reading.spans]
                table = np.array(spans, np.int32).reshape(-1, 3)
                read.append((name, key, table, reading_text(paper, reading, settings.citations)))
        values = [(reader_spans(name), [(key, [spans])]) for name, key, spans, _ in read]
        for encoder in encoders:
            full = [row for row in read if row[3].strip()]
            coded = encoder.encode([text for *_, text in full])
            vectors = dict(
                zip([row[:2] for row in full], zip(coded.vectors, coded.truncated, strict=True), strict=True)
            )
            for name, key, _, _ in read:
                vector, cut = vectors.get((name, key), (np.zeros(0, np.float32), 0))
                producer = reader_vectors(name, encoder, settings.citations)
                values.append((producer, [(key, [vector, np.array(cut, "u4")])]))
        task.writer.derived.put_all(values)
    progress(label, len(waiting), len(waiting))
    return len(waiting)


def stored_spans(library: Store, name: str) -> Units:
    """The spans of a reader, of every paper in order of position; none where nothing was found."""
    nothing = np.zeros((0, 3), np.int32)
    parts = [
        nothing if found is None else found[0] for *_, found in library.derived.stream(reader_spans(name))
    ]
    offsets = np.concatenate(([0], np.cumsum([len(p) for p in parts]))).astype(np.int64)
    return Units(offsets, np.concatenate([nothing, *parts]))


def fill_missing(
    name: str,
    vectors: Floats,
    whole: NDArray[np.floating],
    chunks: tuple[NDArray[np.int64], NDArray[np.floating]] | None,
    sentences: tuple[NDArray[np.int64], NDArray[np.floating]],
    roles: tuple[tuple[str, ...], NDArray[np.floating]] | None,
) -> dict[str, Any]:
    """Give every paper without a reading another vector in its place; returns the counts.

    With full text, the whole paper replaces a missing aspect: the mean of its chunks. Without, the
    abstract's sentences that have the aspect's role, by the lens ``roles``; else the whole abstract. Never a
    zero vector, which would be as near to everything as to nothing.

    Args:
        name: of the reader.
        vectors: (papers, dimensions) zeros where a reader found nothing.
        whole: (papers, dimensions) vectors of abstracts.
        chunks: offsets by paper and vectors of chunks, or None where none are encoded.
        sentences: the same of the abstracts' sentences.
        roles: labels and (sentences, labels) probabilities, or None.
    """
    counts = {"whole_paper": 0, "abstract_sentences": 0, "abstract": 0}
    columns: list[int] = []
    if roles is not None:
        columns = [roles[0].index(role) for role in _ROLES.get(name, ())]
    for paper in np.flatnonzero(~vectors.any(axis=1)):
        total = None
        if chunks is not None:
            total = _mean(chunks[1][chunks[0][paper] : chunks[0][paper + 1]])
            kind = "whole_paper"
        if total is None and columns and roles is not None:
            low, high = sentences[0][paper], sentences[0][paper + 1]
            table = np.nan_to_num(np.asarray(roles[1][low:high], dtype=np.float32))
            told = np.isin(table.argmax(axis=1), columns) & (table.max(axis=1) > 0)
            total = _mean(sentences[1][low:high][told])
            kind = "abstract_sentences"
        if total is None:
            total, kind = np.asarray(whole[paper], dtype=np.float32), "abstract"
        vectors[paper] = total
        counts[kind] += 1
    return counts


def _mean(rows: NDArray[np.floating]) -> Floats | None:
    """The mean at length 1, or None where there is nothing to average."""
    total = rows.astype(np.float32).sum(axis=0) if len(rows) else np.zeros(1, np.float32)
    norm = float(np.linalg.norm(total))
    return total / np.float32(norm) if norm > 1e-6 else None


class PartOfStore(Store):
    """The papers at some positions, and what is derived from them. It is closed with the library.

    Args:
        whole: the library.
        positions: of the papers.
    """

    def __init__(self, whole: Store, positions: Iterable[int]) -> None:
        self.__dict__.update(whole.__dict__)
        self.__dict__.pop("derived", None)
        self._whole = whole
        self._positions = sorted(positions)
        # Written out: a value of the statement would be one of every statement that these are a part of.
        self.among = f"pos IN ({','.join(map(str, self._positions))})"

    def __len__(self) -> int:
        return len(self._positions)

    @cached_property
    def derived(self) -> Derived:
        """See :attr:`Store.derived`; of these papers alone."""
        from aspectra.papers.library.derived import Derived

        self._whole.derived  # noqa: B018 - brings a library of an older format to the present one
        return Derived(self.rows, self.fetch, self.checksums, among=f"p.{self.among}")

    def papers(self, parts: Parts = "all") -> Iterator[Paper]:
        """See :meth:`Store.papers`; these alone."""
        columns = paper_columns(parts, checked=self.checksums.kept)
        for row in self.rows(f"SELECT {columns} FROM papers WHERE {self.among} ORDER BY pos"):
            yield paper_from_row(row)

    def close(self) -> None:
        """Nothing: the library is open as long as it is used itself."""


def chosen(library: Store) -> str:
    """SQL that holds for the papers of a library, or of a part of one."""
    return library.among if isinstance(library, PartOfStore) else "1"


_PAIRS = "SELECT DISTINCT pos, target FROM citations WHERE target IS NOT NULL"
_MANY = 50_000  # places that one statement names at most
_LISTED = "SELECT pos, count(*) FROM citations"


class RecordColumns:
    """Columns of facts from papers' records, collected paper by paper in order and written together."""

    def __init__(self) -> None:
        names = ("publishers", "affiliations", "types", "origins", "accesses")
        self._texts: dict[str, list[str]] = {name: [] for name in names}
        self._cited: list[int] = []

    def add(self, paper: Paper) -> None:
        """The next paper."""
        facts = facts_of(paper)
        stated = (
            facts.publisher,
            "\n".join(facts.affiliations),
            "; ".join(facts.types),
            facts.origin,
            facts.access,
        )
        for column, text in zip(self._texts.values(), stated, strict=True):
            column.append(text)
        self._cited.append(-1 if facts.cited_by is None else facts.cited_by)

    def extend(self, others: RecordColumns) -> None:
        """The next papers."""
        for name, texts in others._texts.items():
            self._texts[name] += texts
        self._cited += others._cited

    def write(self, folder: Path, full: list[bool]) -> None:
        """Write them into a generation.

        Args:
            folder: of the generation.
            full: whether each paper has full text.
        """
        for name, texts in self._texts.items():
            save_coded(folder, name, texts)
        save_array(folder / "cited_by.npy", np.array(self._cited, np.int32))
        save_array(folder / "full_text.npy", np.array(full, np.bool_))


def write_citations(folder: Path, library: Store, count: int) -> bool:
    """Write those between papers, and how many references each lists; returns whether any cites another."""
    library.checksums.check_all("citations")
    places = np.array([row[0] for row in library.rows("SELECT pos FROM papers ORDER BY pos")], np.int64)
    pairs = _table(library.rows(f"{_PAIRS} ORDER BY 1, 2"))
    listed = _table(library.rows(f"{_LISTED} GROUP BY pos ORDER BY pos"))
    references = np.zeros(count, np.int32)
    references[np.searchsorted(places, listed[:, 0])] = listed[:, 1]
    return _save(folder, places, pairs, references)


def update_citations(
    folder: Path, library: Store, before: StoredFolder, old: Positions, new: Positions, changed: Positions
) -> bool:
    """The same, read again only where papers that changed cite or are cited.

    Args:
        folder: that is written into.
        library: as it is now.
        before: the files of the generation before.
        old: (papers,) place in the library of each paper of that generation, ascending.
        new: (papers,) the same of all papers there are now.
        changed: places of papers that are new, were edited or were removed.
    """
    rows, targets = before.whole("citation_rows", None), before.whole("citations", None)
    citing = old[np.repeat(np.arange(len(old)), np.diff(rows))]
    cited = old[targets]
    # What cited a paper that changed may mean another one now, and what cited none may mean it.
    touched = {*changed.tolist(), *citing[np.isin(cited, changed)].tolist()}
    touched |= {row[0] for row in library.rows(f"SELECT pos FROM citations WHERE target IN ({_in(changed)})")}
    if len(touched) > _MANY:
        return write_citations(folder, library, len(new))
    again = np.array(sorted(touched), np.int64)
    kept = ~np.isin(citing, again)
    found = _table(
        library.rows(f"{_PAIRS} AND {library.checksums.sound('citations')} AND pos IN ({_in(again)})")
    )
    pairs = np.concatenate([np.stack([citing[kept], cited[kept]], axis=1), found])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    references = np.zeros(len(new), np.int32)
    there = np.isin(old, new)
    references[np.searchsorted(new, old[there])] = before.whole("references", None)[there]
    references[np.searchsorted(new, changed[np.isin(changed, new)])] = 0
    listed = _table(library.rows(f"{_LISTED} WHERE pos IN ({_in(changed)}) GROUP BY pos"))
    references[np.searchsorted(new, listed[:, 0])] = listed[:, 1]
    return _save(folder, new, pairs, references)


def _table(rows: Iterable[tuple[int, ...]]) -> NDArray[np.int64]:
    return np.array([*rows], np.int64).reshape(-1, 2)


def _in(places: Positions) -> str:
    return ",".join(map(str, places.tolist()))


def _save(folder: Path, places: Positions, pairs: NDArray[np.int64], references: NDArray[np.int32]) -> bool:
    """Write pairs of places in the library, in order."""
    citing, cited = (np.searchsorted(places, pairs[:, side]) for side in (0, 1))
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(np.bincount(citing, minlength=len(places)), out=offsets[1:])
    save_array(folder / "references.npy", references)
    save_array(folder / "citation_rows.npy", offsets)
    save_array(folder / "citations.npy", cited.astype(np.int32))
    return len(cited) > 0
