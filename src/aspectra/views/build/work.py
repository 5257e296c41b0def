"""Values that an index computes from papers before it is written, and the state that they depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt, MissingExtra
from aspectra.base.files import digest_texts
from aspectra.base.values import replace
from aspectra.papers.bibliography import FACTS_VERSION
from aspectra.papers.library.derived import Missing
from aspectra.papers.library.generations.folders import FORMAT
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.papers.text.cleaning import FOLDING_VERSION
from aspectra.papers.text.references import STRIPPER_VERSION
from aspectra.papers.text.structure import SPLITTER_VERSION
from aspectra.views.build.draft import IndexTask
from aspectra.views.build.generation import FEW, encode_lacking_tokens, encode_terms, term_state
from aspectra.views.build.records import make_readings, reader_state
from aspectra.views.build.values import (
    apply_lenses,
    chunk_vectors,
    encode_abstracts,
    encode_chunks,
    encode_sentences,
    lens_state,
    lens_values,
)
from aspectra.views.dense.late.view import TOKENS_VERSION
from aspectra.views.encoders.protocol import Encoder, prompt_facts
from aspectra.views.lexical.reverse import REVERSE_VERSION
from aspectra.views.prompted.collecting import encode_readings, prompted_state
from aspectra.views.settings import IndexSettings

SETTINGS_KEY = "index_settings"
Named = list[tuple[str, Encoder]]  # with their specifications


class Work(IndexTask):
    """The part of an ``index`` run that computes values of papers, before any file is written."""

    def make_abstracts(
        self, lacking: dict[str, list[Missing]], *, everything: bool, complete: bool = False
    ) -> None:
        """Encode titles and abstracts, and apply lenses.

        Args:
            lacking: name of an encoder -> papers without terms of aspects.
            everything: make the terms of all those.
            complete: all other values are stored already, and are not looked for.
        """
        if not complete:
            self.make_lenses()
            self.encode()
        clock = perf_counter()
        for _, encoder in self.encoders:
            self._add_terms(encoder, lacking[encoder.name], everything)
        seconds = self.report.seconds
        seconds["encode"] = seconds.get("encode", 0.0) + perf_counter() - clock

    def _add_terms(self, encoder: Encoder, lacking: list[Missing], everything: bool) -> None:
        """Make the terms that are lacking where few or wanted; else of a few, to tell what all take."""
        few = lacking if everything else lacking[:: max(1, len(lacking) // FEW)][:FEW]
        seconds = encode_terms(self, encoder, few) if few else 0.0
        if rest := len(lacking) - len(few):
            self.report.lacking_terms[encoder.name] = rest
            self.report.seconds_for_terms[encoder.name] = seconds / len(few) * rest

    def make_lenses(self) -> None:
        """Apply lenses."""
        clock = perf_counter()
        self.report.lensed = apply_lenses(self)
        self.report.seconds["lenses"] = perf_counter() - clock

    def encode(self) -> None:
        """Encode titles, abstracts, sentences, and values of prompted lenses."""
        clock = perf_counter()
        for _, encoder in self.encoders:
            self.report.encoded += encode_abstracts(self, encoder)
            encode_lacking_tokens(self, encoder)
            if self.settings.sentences_apart(encoder):
                encode_sentences(self, encoder)
            encode_readings(self.library, self.writer, encoder, self.settings.batch, self.progress)
        self.report.seconds["encode"] = perf_counter() - clock

    @property
    def _chunked(self) -> list[tuple[Encoder, str]]:
        settings = self.settings
        return (
            [(e, size) for _, e in self.encoders for size in settings.chunks] if settings.dense_chunks else []
        )

    def lacks_chunks(self) -> int:
        """Number of full texts that are not encoded yet."""
        derived, citations = self.library.derived, self.settings.citations
        return sum(len(derived.missing(chunk_vectors(e, size, citations))) for e, size in self._chunked)

    def make_full_texts(self) -> None:
        """Encode and read full texts."""
        report, clock = self.report, perf_counter()
        for encoder, size in self._chunked:
            report.encoded_full += encode_chunks(self, encoder, size)
        report.seconds["encode"] += perf_counter() - clock
        if self._chunked and self.settings.readers:
            clock = perf_counter()
            report.read = make_readings(self)
            report.seconds["reading"] = perf_counter() - clock


def parts_read(settings: IndexSettings) -> list[str]:
    """Parts of papers that a generation reads."""
    reads = {part for name in settings.applied_lenses for part in lens_values(name).reads}
    return sorted({"text", "sections", "record"} | reads)


def state_of(fixed: str, rows: NDArray[np.int64]) -> str:
    """Hash of everything that a generation depends on: equal state, nothing to do."""
    return digest_texts([fixed, rows[:, 2].astype("<i8").tobytes().hex()])


def fixed_state(
    library: Store,
    settings: IndexSettings,
    encoders: list[tuple[str, Encoder]],
    with_terms: Collection[str],
) -> str:
    """Hashes of everything that a generation depends on beside the papers.

    The first one is the same for shards that are built alike; after a slash follows that of the values of
    prompted lenses.
    """
    parts = [
        str(FORMAT),
        settings.dumps(),
        *(e.fingerprint for _, e in encoders),
        *(term_state(e, lacking=e.name not in with_terms) for _, e in encoders),
        f"sentences/{SPLITTER_VERSION}",
        lens_state(settings.applied_lenses),
        f"folding/{FOLDING_VERSION}",
        f"reverse/{REVERSE_VERSION} citations/{STRIPPER_VERSION} records/{FACTS_VERSION}",
        *((f"tokens/{TOKENS_VERSION}",) if settings.late else ()),
        *(name for _, e in encoders for name in prompt_facts(e)),
        reader_state(settings.readers),
    ]
    return f"{digest_texts(parts)}/{digest_texts(prompted_state(library))}"


def settings_of(library: Store) -> IndexSettings:
    """The settings the library was last indexed with; or the defaults."""
    return IndexSettings.loads(library.meta(SETTINGS_KEY))


def keep_settings(library: Store, writer: Writer, settings: IndexSettings | None) -> None:
    """Store what is built, for the next time, and so that there was an index; ``{}`` means the defaults."""
    if settings is not None or not library.meta(SETTINGS_KEY):
        writer.set_meta(SETTINGS_KEY, "{}" if settings is None else settings.dumps())


def with_encoders(
    settings: IndexSettings, load: Callable[[str], Encoder], manifest: dict[str, Any], lenient: bool
) -> tuple[IndexSettings, Named, dict[str, str]]:
    """The settings with the encoders that there are; these; and those left out, with what brings each."""
    used = {view.get("encoder") for view in manifest.get("views", {}).values()}
    encoders: Named = []
    absent: dict[str, str] = {}
    for spec in settings.encoders:
        try:
            encoders.append((spec, load(spec)))
        except MissingExtra as error:
            if not lenient or spec in used:
                raise
            absent[spec] = error.hint
    return replace(settings, encoders=tuple(spec for spec, _ in encoders)), encoders, absent


def fixed_as(manifest: dict[str, Any], library: Store, settings: IndexSettings, encoders: Named) -> str:
    """Fixed state that the generation of ``manifest`` would have if it were built with these arguments."""
    few = {encoder.name for _, encoder in encoders} - {*manifest.get("lacking_terms", ())}
    return fixed_state(library, settings, encoders, few)


def current_generation(library: Store) -> tuple[Path | None, dict[str, Any]]:
    """Folder and manifest of the generation in use; nothing where they are missing or damaged."""
    try:
        folder = library.generations.current()
        return (None, {}) if folder is None else (folder, library.generations.manifest(folder))
    except LibraryCorrupt:
        return None, {}
