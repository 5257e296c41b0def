"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.hashing import digest_texts
from aspectra.papers.text.citation_marks import STRIPPER_VERSION
from aspectra.papers.library.store import Store
from aspectra.views.build.generation import FORMAT, IndexReport
from aspectra.views.build.full_text import FullTextBuilder
from aspectra.views.build.vectors import (
    ABSTRACT_KIND,
    SENTENCE_KIND,
    Progress,
    chunks_missing,
    encode_abstracts,
    encode_chunks,
    encode_sentences,
)
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.build.lenses import apply_lenses, lens_state
from aspectra.views.prompted.building import encode_readings, prompted_state
from aspectra.views.build.readings import make_readings, reader_state
from aspectra.views.lexical.reverse import REVERSE_VERSION
from aspectra.views.settings import IndexSettings

__all__ = ["SETTINGS_KEY", "IndexReport", "build_index", "settings_of"]

SETTINGS_KEY = "index_settings"


def settings_of(library: Store) -> IndexSettings:
    """The settings the library was last indexed with, or the defaults."""
    return IndexSettings.loads(library.meta(SETTINGS_KEY))


def _quiet(stage: str, done: int, total: int) -> None:
    """No progress shown."""


def build_index(
    library: Store,
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
            if chosen.sentences_apart(encoder):
                encode_sentences(library, writer, encoder, chosen.batch, progress)
            encode_readings(library, writer, encoder, chosen.batch, progress)
        report.seconds["encode"] = perf_counter() - clock
        clock = perf_counter()
        report.lensed = apply_lenses(library, writer, chosen.applied_lenses, progress)
        report.seconds["lenses"] = perf_counter() - clock
        chunked = [(e, size) for _, e in encoders for size in chosen.chunks] if chosen.dense_chunks else []
        if any(chunks_missing(library, encoder, size, chosen.citations) for encoder, size in chunked):
            # Full texts take much longer than abstracts, which are made searchable first.
            bare = replace(chosen, dense_chunks=False)
            _publish(library, bare, encoders, IndexReport(), progress, f"without full texts: {state}")
            clock = perf_counter()
            for encoder, size in chunked:
                report.encoded_full += encode_chunks(
                    library, writer, encoder, size, chosen.batch, progress, chosen.citations
                )
            report.seconds["encode"] += perf_counter() - clock
        if chunked and chosen.readers:
            clock = perf_counter()
            made = make_readings(
                library,
                writer,
                chosen.readers,
                [e for _, e in encoders],
                chosen.citations,
                max(1, chosen.batch // 16),
                progress,
            )
            report.seconds["reading"] = perf_counter() - clock
            report.read = made
        report.generation = _publish(library, chosen, encoders, report, progress, state)
        writer.checkpoint()
        return report


def _current(library: Store) -> Path | None:
    """The generation in use; None where it is missing or damaged, since a new one mends that."""
    try:
        return library.generations.current()
    except LibraryCorrupt:
        return None


def _publish(
    library: Store,
    settings: IndexSettings,
    encoders: list[tuple[str, Encoder]],
    report: IndexReport,
    progress: Progress,
    state: str,
) -> str:
    """Write a generation and switch to it; returns its name."""
    with library.generations.build() as folder:
        manifest = FullTextBuilder(library, folder, settings, encoders, report, progress).write()
        return library.generations.publish(folder, {**manifest, "state": state}).name


def _state(library: Store, settings: IndexSettings, encoders: list[tuple[str, Encoder]]) -> str:
    """Hash of everything a generation depends on: equal state, nothing to do."""
    rows = library.rows("SELECT id, content_hash, text_hash, full_hash FROM papers ORDER BY pos")
    texts = (json.dumps(row, ensure_ascii=False) for row in rows)
    fixed = [
        str(FORMAT),
        settings.dumps(),
        *(e.fingerprint for _, e in encoders),
        ABSTRACT_KIND,
        SENTENCE_KIND,
    ]
    fixed += [lens_state(settings.applied_lenses), *prompted_state(library)]
    fixed.append(f"reverse/{REVERSE_VERSION} citations/{STRIPPER_VERSION}")
    fixed.append(reader_state(settings.readers))
    return digest_texts([*fixed, *texts])
