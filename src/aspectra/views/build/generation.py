"""The arrays of one generation: ids, columns, lenses, and the views of titles and abstracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.version import __version__
from aspectra.papers.library.store import Store
from aspectra.papers.library.rows import PAPER_COLUMNS, paper_from_row
from aspectra.views.build.vectors import (
    ABSTRACT_KIND,
    SENTENCE_KIND,
    Packed,
    Progress,
    paper_spans,
    read_sections,
)
from aspectra.views.arrays import new_array
from aspectra.views.columns import write_columns
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.build.lenses import collect_lenses
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.prompted.building import collect_prompted
from aspectra.views.lexical.reverse import build_moments
from aspectra.views.dense.reverse import dense_moments
from aspectra.views.settings import IndexSettings
from aspectra.views.units import Units

__all__ = ["FORMAT", "Builder", "IndexReport"]

FORMAT = 1


@dataclass
class IndexReport:
    """What one ``index`` did.

    Attributes:
        papers: in the generation.
        encoded: abstract texts encoded now, over all encoders.
        encoded_full: full texts encoded now.
        read: full texts read for their aspects now.
        lensed: values made by lenses now, over all lenses.
        truncated: view -> texts longer than the encoder reads.
        generation: folder name of the generation, "" for an empty library.
        changed: False when the generation was already up to date.
        seconds: by step.
    """

    papers: int = 0
    encoded: int = 0
    encoded_full: int = 0
    read: int = 0
    lensed: int = 0
    truncated: dict[str, int] = field(default_factory=dict)
    generation: str = ""
    changed: bool = True
    seconds: dict[str, float] = field(default_factory=dict)


class Builder:
    """Writes the arrays of one generation."""

    def __init__(
        self,
        library: Store,
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
        self._strip = settings.citations == "strip"
        self.reference: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def _steps(self) -> Sequence[Callable[[], None]]:
        """What is written, in this order."""
        return self._abstracts, self._papers, self._lenses, self._dense

    def write(self) -> dict[str, Any]:
        """Everything; returns the manifest."""
        for step in self._steps():
            clock = perf_counter()
            step()
            name = step.__name__.strip("_")  # lenses were timed before, while they looked
            self.report.seconds[name] = self.report.seconds.get(name, 0.0) + perf_counter() - clock
        self.report.papers = len(self.ids)
        return {
            "format": FORMAT,
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
        name = "abstract@bm25"
        self.views[name] = build_lexical(
            self._texts(), self.settings.lexical, self.folder / name, pairs=True
        )

    def _papers(self) -> None:
        # The documents of reverse scores are the sample, too.
        self.reference = write_columns(self.folder, self.ids, self.columns)
        build_moments(self.folder / "abstract@bm25", self.reference)
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

    def _vectors(
        self, column: str, kind: str, encoder: Encoder, *, sparse: bool = False
    ) -> Iterator[tuple[int, Packed | None]]:
        """(position, cached vectors) in order of position; ``sparse``: not every paper need have some."""
        statement = (
            f"SELECT p.{column} != '', v.data FROM papers p LEFT JOIN vectors v ON v.text_hash = p.{column} "
            "AND v.kind = ? AND v.fingerprint = ? ORDER BY p.pos"
        )
        for number, (wanted, data) in enumerate(self.library.rows(statement, (kind, encoder.fingerprint))):
            if number % 1000 == 0:
                self.progress(f"collecting vectors of {encoder.name}", number, len(self.ids))
            if wanted and data is None and not sparse:
                raise LibraryCorrupt(
                    f"vectors of {self.ids[number]!r} are missing", hint="run `aspectra index` again"
                )
            yield number, None if data is None else Packed.loads(data)
        self.progress(f"collecting vectors of {encoder.name}", len(self.ids), len(self.ids))

    def _matrix(self, name: str, rows: int, columns: int, dtype: type) -> Any:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return new_array(path / "vectors.npy", (rows, columns), dtype)

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
            apart = self.settings.sentences_apart(encoder)
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
            self.progress(f"asking in reverse with {encoder.name}", 0, 1)
            dense_moments(whole, None, self.reference).save(self.folder / whole_name)
            self._describe(whole_name, spec, encoder, truncated, unit_length=even, pairs=True)
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


def _is_unit(vector: NDArray[np.float32]) -> bool:
    """Length 1, or 0 for a text without tokens."""
    square = float(vector @ vector)
    return abs(square - 1.0) < 1e-2 or square == 0.0
