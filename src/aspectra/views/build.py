"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.hashing import digest_texts
from aspectra.base.version import __version__
from aspectra.papers.library import Library
from aspectra.papers.rows import PAPER_COLUMNS, paper_from_row
from aspectra.views.caching import (
    ABSTRACT_KIND,
    SENTENCE_KIND,
    Packed,
    Progress,
    chunk_kind,
    chunks_missing,
    encode_abstracts,
    encode_chunks,
    encode_sentences,
    paper_spans,
    read_sections,
)
from aspectra.views.chunks import chunk_spans
from aspectra.views.columns import write_columns
from aspectra.views.encoder import Encoder, load_encoder
from aspectra.views.lensing import apply_lenses, collect_lenses, lens_state
from aspectra.views.lexical import build_lexical
from aspectra.views.prompted.building import collect_prompted, encode_readings, prompted_state
from aspectra.views.settings import ChunkSize, IndexSettings
from aspectra.views.units import Units

__all__ = ["SETTINGS_KEY", "IndexReport", "build_index", "settings_of"]

SETTINGS_KEY = "index_settings"
_FORMAT = 1


@dataclass
class IndexReport:
    """What one ``index`` did.

    Attributes:
        papers: in the generation.
        encoded: abstract texts encoded now, over all encoders.
        encoded_full: full texts encoded now.
        lensed: values made by lenses now, over all lenses.
        truncated: view -> texts longer than the encoder reads.
        generation: folder name of the generation, "" for an empty library.
        changed: False when the generation was already up to date.
        seconds: by step.
    """

    papers: int = 0
    encoded: int = 0
    encoded_full: int = 0
    lensed: int = 0
    truncated: dict[str, int] = field(default_factory=dict)
    generation: str = ""
    changed: bool = True
    seconds: dict[str, float] = field(default_factory=dict)


def settings_of(library: Library) -> IndexSettings:
    """The settings the library was last indexed with, or the defaults."""
    return IndexSettings.loads(library.meta(SETTINGS_KEY))


def _quiet(stage: str, done: int, total: int) -> None:
    """No progress shown."""


def build_index(
    library: Library,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = _quiet,
    rebuild: bool = False,
    load: Callable[[str], Encoder] = load_encoder,
) -> IndexReport:
    """Encode what is new and switch to a new generation.

    Interrupted at any point, the old generation stays in use and every finished batch is kept.

    Args:
        library: the library.
        settings: what to build; default: as last time.
        progress: called with (step, done, total).
        rebuild: make a new generation even when nothing changed.
        load: makes an encoder from its specification.

    Raises:
        LibraryBusy: somebody else is writing.
    """
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        encoders = [(spec, load(spec)) for spec in chosen.encoders]
        if settings is not None:  # kept only once its encoders could be had
            writer.set_meta(SETTINGS_KEY, settings.dumps())
        state = _state(library, chosen, encoders)
        current = None if rebuild else _current(library)
        if current is not None:
            manifest = library.generations.manifest(current)
            if manifest.get("state") == state:
                return IndexReport(manifest["papers"], generation=current.name, changed=False)
        report = IndexReport()
        clock = perf_counter()
        for _, encoder in encoders:
            report.encoded += encode_abstracts(library, writer, encoder, chosen.batch, progress)
            if _apart(chosen, encoder):
                encode_sentences(library, writer, encoder, chosen.batch, progress)
            encode_readings(library, writer, encoder, chosen.batch, progress)
        report.seconds["encode"] = perf_counter() - clock
        clock = perf_counter()
        report.lensed = apply_lenses(library, writer, chosen.applied_lenses, progress)
        report.seconds["lenses"] = perf_counter() - clock
        chunked = [(e, size) for _, e in encoders for size in chosen.chunks] if chosen.dense_chunks else []
        if any(chunks_missing(library, encoder, size) for encoder, size in chunked):
            # Full texts take much longer than abstracts, which are made searchable first.
            bare = replace(chosen, dense_chunks=False)
            _publish(library, bare, encoders, IndexReport(), progress, f"without full texts: {state}")
            clock = perf_counter()
            for encoder, size in chunked:
                report.encoded_full += encode_chunks(library, writer, encoder, size, chosen.batch, progress)
            report.seconds["encode"] += perf_counter() - clock
        report.generation = _publish(library, chosen, encoders, report, progress, state)
        writer.checkpoint()
        return report


def _current(library: Library) -> Path | None:
    """The generation in use; None where it is missing or damaged, since a new one mends that."""
    try:
        return library.generations.current()
    except LibraryCorrupt:
        return None


def _publish(
    library: Library,
    settings: IndexSettings,
    encoders: list[tuple[str, Encoder]],
    report: IndexReport,
    progress: Progress,
    state: str,
) -> str:
    """Write a generation and switch to it; returns its name."""
    with library.generations.build() as folder:
        manifest = _Builder(library, folder, settings, encoders, report, progress).write()
        return library.generations.publish(folder, {**manifest, "state": state}).name


def _state(library: Library, settings: IndexSettings, encoders: list[tuple[str, Encoder]]) -> str:
    """Hash of everything a generation depends on: equal state, nothing to do."""
    rows = library.rows("SELECT id, content_hash, text_hash, full_hash FROM papers ORDER BY pos")
    texts = (json.dumps(row, ensure_ascii=False) for row in rows)
    fixed = [
        str(_FORMAT),
        settings.dumps(),
        *(e.fingerprint for _, e in encoders),
        ABSTRACT_KIND,
        SENTENCE_KIND,
    ]
    fixed += [lens_state(settings.applied_lenses), *prompted_state(library)]
    return digest_texts([*fixed, *texts])


def _apart(settings: IndexSettings, encoder: Encoder) -> bool:
    """Whether sentences have vectors of their own; without token states the abstracts' pass made them so."""
    return settings.sentences == "apart" and encoder.late_pooling


class _Builder:
    """Writes the arrays of one generation."""

    def __init__(
        self,
        library: Library,
        folder: Path,
        settings: IndexSettings,
        encoders: list[tuple[str, Encoder]],
        report: IndexReport,
        progress: Progress,
    ) -> None:
        self.library = library
        self.folder = folder
        self.settings = settings
        self.encoders = encoders
        self.report = report
        self.progress = progress
        self.ids: list[str] = []
        self.units: list[tuple[int, int, int]] = []
        self.offsets: list[int] = [0]
        self.columns: dict[str, list[Any]] = {
            "year": [],
            "venue": [],
            "language": [],
            "text_hash": [],
            "full": [],
        }
        self.views: dict[str, dict[str, Any]] = {}
        self.lenses: dict[str, dict[str, Any]] = {}

    def write(self) -> dict[str, Any]:
        """Everything; returns the manifest."""
        for step in (self._abstracts, self._papers, self._lenses, self._dense, self._full_texts):
            clock = perf_counter()
            step()
            self.report.seconds[step.__name__.strip("_")] = perf_counter() - clock
        self.report.papers = len(self.ids)
        return {
            "format": _FORMAT,
            "aspectra": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "revision": self.library.revision,
            "papers": len(self.ids),
            "settings": self.settings.to_dict(),
            "views": self.views,
            "lenses": self.lenses,
        }

    def _texts(self) -> Iterator[str]:
        """Text of each paper for the abstract views, filling the columns on the way."""
        total = len(self.library)
        bare = [
            row[0]
            for row in self.library.rows("SELECT pos FROM papers WHERE abstract = '' AND full_hash != ''")
        ]
        leads = read_sections(self.library, bare) if bare else {}
        statement = f"SELECT text_hash, full_hash, {PAPER_COLUMNS} FROM papers ORDER BY pos"
        for number, row in enumerate(self.library.rows(statement)):
            if number % 1000 == 0:
                self.progress("reading abstracts", number, total)
            paper = paper_from_row(row[2:], leads.get(row[2], ()))
            text, _, units = paper_spans(paper)
            self.ids.append(paper.id)
            self.units.extend((Units.field_code(f), start, end) for f, start, end in units)
            self.offsets.append(len(self.units))
            for name, value in zip(
                self.columns, (paper.year, paper.venue, paper.language, row[0], row[1]), strict=True
            ):
                self.columns[name].append(value)
            yield text
        self.progress("reading abstracts", total, total)

    def _abstracts(self) -> None:
        words = build_lexical(self._texts(), self.settings.lexical, self.folder / "abstract@bm25")
        self.views["abstract@bm25"] = {"kind": "lexical", "folder": "abstract@bm25", "words": words}

    def _papers(self) -> None:
        write_columns(self.folder, self.ids, self.columns)
        sentences = self.folder / "sentences"
        sentences.mkdir()
        spans = np.array(self.units, dtype=np.int32).reshape(-1, 3)
        Units(np.array(self.offsets, dtype=np.int64), spans).save(sentences)

    def _lenses(self) -> None:
        self.lenses, views = collect_lenses(
            self.library, self.settings.applied_lenses, self.offsets, self.folder
        )
        lenses, more = collect_prompted(
            self.library, self.settings, self.encoders, len(self.ids), self.folder
        )
        self.lenses |= lenses
        self.views |= views | more

    def _vectors(self, column: str, kind: str, encoder: Encoder) -> Iterator[tuple[int, Packed | None]]:
        """(position, cached vectors) in order of position."""
        statement = (
            f"SELECT p.{column} != '', v.data FROM papers p LEFT JOIN vectors v ON v.text_hash = p.{column} "
            "AND v.kind = ? AND v.fingerprint = ? ORDER BY p.pos"
        )
        for number, (wanted, data) in enumerate(self.library.rows(statement, (kind, encoder.fingerprint))):
            if number % 1000 == 0:
                self.progress(f"collecting vectors of {encoder.name}", number, len(self.ids))
            if wanted and data is None:
                raise LibraryCorrupt(
                    f"vectors of {self.ids[number]!r} are missing", hint="run `aspectra index` again"
                )
            yield number, None if data is None else Packed.loads(data)
        self.progress(f"collecting vectors of {encoder.name}", len(self.ids), len(self.ids))

    def _matrix(self, name: str, rows: int, columns: int, dtype: type) -> Any:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        if rows == 0:
            empty: NDArray[Any] = np.zeros((0, columns), dtype=dtype)
            np.save(path / "vectors.npy", empty, allow_pickle=False)
            return empty
        return np.lib.format.open_memmap(path / "vectors.npy", "w+", dtype=dtype, shape=(rows, columns))

    def _describe(self, name: str, spec: str, encoder: Encoder, truncated: int, **more: Any) -> None:
        self.views[name] = {
            "kind": "dense",
            "folder": name,
            "encoder": spec,
            "fingerprint": encoder.fingerprint,
            "dimensions": encoder.dimensions,
            "truncated": truncated,
            **more,
        }
        self.report.truncated[name] = truncated

    def _dense(self) -> None:
        for spec, encoder in self.encoders:
            whole_name, unit_name = f"abstract@{encoder.name}", f"sentences@{encoder.name}"
            whole = self._matrix(whole_name, len(self.ids), encoder.dimensions, np.float32)
            units = self._matrix(unit_name, len(self.units), encoder.dimensions, np.float16)
            truncated, even = 0, True
            apart = _apart(self.settings, encoder)
            for number, packed in self._vectors("text_hash", ABSTRACT_KIND, encoder):
                if packed is None:
                    raise LibraryCorrupt(
                        f"vectors of {self.ids[number]!r} are missing", hint="aspectra index --rebuild"
                    )
                whole[number] = packed.whole
                if not apart:
                    self._put_units(units, number, packed)
                even = even and _is_unit(packed.whole)
                truncated += packed.truncated
            self._describe(whole_name, spec, encoder, truncated, unit_length=even)
            if apart:
                for number, packed in self._vectors("text_hash", SENTENCE_KIND, encoder):
                    self._put_units(units, number, packed)
            how = "late pooling" if encoder.late_pooling and not apart else "encoded apart"
            self._describe(
                unit_name, spec, encoder, truncated, units="sentences", sentences=how, unit_length=even
            )

    def _put_units(self, units: Any, number: int, packed: Packed | None) -> None:
        low, high = self.offsets[number], self.offsets[number + 1]
        if packed is None or len(packed.units) != high - low:
            raise LibraryCorrupt(
                f"the cached vectors of {self.ids[number]!r} do not fit its sentences",
                hint="aspectra index --rebuild",
            )
        units[low:high] = packed.units

    def _full_texts(self) -> None:
        if not any(self.columns["full"]):
            return
        sections: dict[int, list[tuple[str, str]]] = {}
        position = {
            pos: i for i, (pos,) in enumerate(self.library.rows("SELECT pos FROM papers ORDER BY pos"))
        }
        statement = "SELECT pos, heading, text FROM sections ORDER BY pos, ordinal"
        for pos, heading, text in self.library.rows(statement):
            sections.setdefault(position[pos], []).append((heading, text))
        for size in self.settings.chunks:
            spans, offsets, texts = [], [0], []
            for number in range(len(self.ids)):
                held = sections.get(number, []) if self.columns["full"][number] else []
                for section, start, end in chunk_spans(held, ChunkSize.parse(size)):
                    spans.append((section, start, end))
                    texts.append(f"{held[section][0]}\n{held[section][1][start:end]}")
                offsets.append(len(spans))
            base = f"chunks-{size}"
            (self.folder / base).mkdir()
            Units(np.array(offsets, np.int64), np.array(spans, np.int32).reshape(-1, 3)).save(
                self.folder / base
            )
            words = build_lexical(texts, self.settings.lexical, self.folder / f"{base}@bm25")
            self.views[f"{base}@bm25"] = {
                "kind": "lexical",
                "folder": f"{base}@bm25",
                "units": base,
                "words": words,
            }
            del texts
            if not self.settings.dense_chunks:
                continue
            for spec, encoder in self.encoders:
                name = f"{base}@{encoder.name}"
                matrix = self._matrix(name, len(spans), encoder.dimensions, np.float16)
                truncated = 0
                for number, packed in self._vectors("full_hash", chunk_kind(size), encoder):
                    if packed is not None:
                        matrix[offsets[number] : offsets[number + 1]] = packed.units
                        truncated += packed.truncated
                self._describe(name, spec, encoder, truncated, units=base)


def _is_unit(vector: NDArray[np.float32]) -> bool:
    """Length 1, or 0 for a text without tokens."""
    square = float(vector @ vector)
    return abs(square - 1.0) < 1e-2 or square == 0.0
