"""Building an index generation from ``library.db``; only what changed is encoded."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from aspectra.base.errors import AspectraError, LibraryCorrupt, MissingExtra
from aspectra.base.hashing import digest_texts
from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.derived import Missing
from aspectra.papers.library.generations.folders import FORMAT
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import part_sql
from aspectra.papers.library.store import Store
from aspectra.papers.record_facts import FACTS_VERSION
from aspectra.papers.text.citation_marks import STRIPPER_VERSION
from aspectra.papers.text.sentences import SPLITTER_VERSION
from aspectra.views.build.draft import Draft, IndexReport
from aspectra.views.build.generation import write_generation
from aspectra.views.build.lenses import apply_lenses, lens_state, lens_values
from aspectra.views.build.readings import make_readings, reader_state
from aspectra.views.build.terms import FEW, encode_terms, lacking_terms, term_state
from aspectra.views.build.tokens import encode_lacking_tokens
from aspectra.views.build.vectors import (
    chunk_vectors,
    encode_abstracts,
    encode_chunks,
    encode_sentences,
)
from aspectra.views.dense.late.tokens import TOKENS_VERSION
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.lexical.reverse import REVERSE_VERSION
from aspectra.views.prompted.building import encode_readings, prompted_state
from aspectra.views.settings import IndexSettings

__all__ = ["SETTINGS_KEY", "IndexReport", "build_index", "settings_of"]

SETTINGS_KEY = "index_settings"


def settings_of(library: Store) -> IndexSettings:
    """The settings the library was last indexed with, or the defaults."""
    return IndexSettings.loads(library.meta(SETTINGS_KEY))


def build_index(
    library: Store,
    settings: IndexSettings | None = None,
    *,
    progress: Progress = quiet,
    rebuild: bool = False,
    terms: bool = False,
    load: Callable[[str], Encoder] = load_encoder,
    sample: Sequence[str] | None = None,
    lenient: bool = False,
) -> IndexReport:
    """Encode what is new and switch to a new generation.

    Interrupted at any point, the old generation stays in use and every finished batch is kept.

    Args:
        library: the library.
        settings: what to build; default: as last time.
        progress: called with (step, done, total).
        rebuild: make a new generation even when nothing changed.
        terms: encode papers again that lack the terms of aspects.
        load: makes an encoder from its specification.
        sample: ids of the sample that scores are standardised against, where the library is one of several
            shards of a collection; default: a sample of the library.
        lenient: build without an encoder that is not installed, where the library has no views of it yet; the
            settings keep it, so that a later run adds its views.

    Raises:
        LibraryBusy: another process is writing.
        MissingExtra: an encoder is not installed.
    """
    chosen = settings or settings_of(library)
    with library.writing("index") as writer:
        name, manifest = _current(library)
        encoders, absent = _encoders(chosen, load, manifest, lenient)
        if settings is not None:  # stored only once its encoders could be had
            writer.set_meta(SETTINGS_KEY, settings.dumps())
        if absent:
            chosen = replace(chosen, encoders=tuple(spec for spec, _ in encoders))
        lacking = {encoder.name: lacking_terms(library, encoder) for _, encoder in encoders}
        few = {name for name, papers in lacking.items() if terms or len(papers) <= FEW}
        fixed = _fixed(library, chosen, encoders, sample, few)
        # A generation without full texts was followed by no collection of orphans.
        changed = manifest.get("revision") != library.revision or "fixed" not in manifest
        same = not rebuild and not changed and manifest["fixed"] == fixed
        state = manifest["state"] if same else _state(library, chosen, fixed)
        if not rebuild and manifest.get("state") == state:
            if changed:
                writer.derived.collect()
            library.generations.prune()
            return IndexReport(manifest["papers"], absent=absent, generation=name, changed=False)
        report = IndexReport(absent=absent)
        clock = perf_counter()
        for _, encoder in encoders:
            report.encoded += encode_abstracts(library, writer, encoder, chosen, progress)
            _add_terms(library, writer, encoder, lacking[encoder.name], terms, report, chosen.batch, progress)
            encode_lacking_tokens(library, writer, encoder, chosen, progress)
            if chosen.sentences_apart(encoder):
                encode_sentences(library, writer, encoder, chosen, progress)
            encode_readings(library, writer, encoder, chosen.batch, progress)
        report.seconds["encode"] = perf_counter() - clock
        clock = perf_counter()
        report.lensed = apply_lenses(library, writer, chosen.applied_lenses, progress)
        report.seconds["lenses"] = perf_counter() - clock
        identity = {"state": state, "fixed": fixed}
        chunked = [(e, size) for _, e in encoders for size in chosen.chunks] if chosen.dense_chunks else []
        if any(library.derived.missing(chunk_vectors(e, size, chosen.citations)) for e, size in chunked):
            # Full texts take much longer than abstracts, which are made searchable first.
            bare = replace(chosen, dense_chunks=False)
            early = IndexReport(lacking_terms=report.lacking_terms)
            first = Draft(library, Path(), bare, encoders, early, progress, sample)
            _publish(first, {"state": f"without full texts: {state}"})
            clock = perf_counter()
            for encoder, size in chunked:
                report.encoded_full += encode_chunks(library, writer, encoder, size, chosen, progress)
            report.seconds["encode"] += perf_counter() - clock
        if chunked and chosen.readers:
            clock = perf_counter()
            report.read = make_readings(library, writer, [e for _, e in encoders], chosen, progress)
            report.seconds["reading"] = perf_counter() - clock
        report.generation = _publish(
            Draft(library, Path(), chosen, encoders, report, progress, sample), identity
        )
        if changed:  # else nothing was orphaned since the last time
            writer.derived.collect()
        writer.checkpoint()
        return report


def _encoders(
    settings: IndexSettings, load: Callable[[str], Encoder], manifest: dict[str, Any], lenient: bool
) -> tuple[list[tuple[str, Encoder]], dict[str, str]]:
    """The encoders with their specifications; and those left out, with the command that brings them."""
    used = {view.get("encoder") for view in manifest.get("views", {}).values()}
    encoders, absent = [], {}
    for spec in settings.encoders:
        try:
            encoders.append((spec, load(spec)))
        except MissingExtra as error:
            if not lenient or spec in used:
                raise
            absent[spec] = error.hint
    return encoders, absent


def _add_terms(
    library: Store,
    writer: Writer,
    encoder: Encoder,
    lacking: list[Missing],
    everything: bool,
    report: IndexReport,
    batch: int,
    progress: Progress,
) -> None:
    """Make the terms that are lacking where they are few or wanted; else of a few, to tell what all take."""
    few = lacking if everything else lacking[:: max(1, len(lacking) // FEW)][:FEW]
    seconds = encode_terms(library, writer, encoder, few, batch, progress) if few else 0.0
    if rest := len(lacking) - len(few):
        report.lacking_terms[encoder.name] = rest
        report.seconds_for_terms[encoder.name] = seconds / len(few) * rest


def _current(library: Store) -> tuple[str, dict[str, Any]]:
    """Name and manifest of the generation in use; empty where they are missing or damaged."""
    try:
        folder = library.generations.current()
        return ("", {}) if folder is None else (folder.name, library.generations.manifest(folder))
    except LibraryCorrupt:
        return "", {}


def _publish(draft: Draft, identity: dict[str, str]) -> str:
    """Write a generation and switch to it; returns its name."""
    generations = draft.library.generations
    try:
        with generations.build() as folder:
            draft.folder = folder
            manifest = write_generation(draft)
            return generations.publish(folder, {**manifest, **identity}).name
    except OSError as error:
        # numpy's error for a file that it could write in part has no number.
        full = error.errno in (None, errno.ENOSPC, errno.EDQUOT)
        raise AspectraError(
            "the disk is full while writing the index" if full else "the index cannot be written",
            why=f"{error.strerror or error}; the index in use is unchanged",
            hint="free some space, then run: aspectra index" if full else "aspectra index",
        ) from error


def _fixed(
    library: Store,
    settings: IndexSettings,
    encoders: list[tuple[str, Encoder]],
    sample: Sequence[str] | None,
    with_terms: Collection[str],
) -> str:
    """Hash of everything that a generation depends on beside the papers."""
    parts = [
        str(FORMAT),
        settings.dumps(),
        *(e.fingerprint for _, e in encoders),
        *(term_state(e, lacking=e.name not in with_terms) for _, e in encoders),
        f"sentences/{SPLITTER_VERSION}",
        lens_state(settings.applied_lenses),
        *prompted_state(library),
        f"reverse/{REVERSE_VERSION} citations/{STRIPPER_VERSION} records/{FACTS_VERSION}",
        *((f"tokens/{TOKENS_VERSION}",) if settings.late else ()),
        reader_state(settings.readers),
        *(() if sample is None else sample),
    ]
    return digest_texts(parts)


def _state(library: Store, settings: IndexSettings, fixed: str) -> str:
    """Hash of everything that a generation depends on: equal state, nothing to do."""
    reads = {part for name in settings.applied_lenses for part in lens_values(name).reads}
    parts = sorted({"text", "sections", "record"} | reads)
    columns = ", ".join(part_sql(part) for part in parts)
    rows = library.rows(f"SELECT p.id, {columns} FROM papers p ORDER BY p.pos")
    return digest_texts([fixed, *(json.dumps(row, ensure_ascii=False) for row in rows)])
