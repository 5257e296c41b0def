"""What an ``index`` makes of papers before it writes them: vectors, terms, lens values, readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from aspectra.base.progress import Progress
from aspectra.papers.library.derived import Missing
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import IndexReport
from aspectra.views.build.lenses import apply_lenses
from aspectra.views.build.readings import make_readings
from aspectra.views.build.terms import FEW, encode_terms
from aspectra.views.build.tokens import encode_lacking_tokens
from aspectra.views.build.vectors import chunk_vectors, encode_abstracts, encode_chunks, encode_sentences
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.prompted.building import encode_readings
from aspectra.views.settings import IndexSettings

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """What an ``index`` makes of papers before it writes them.

    Attributes:
        library: the papers, all or some of them.
        writer: of the library.
        settings: what is built.
        encoders: (specification, encoder).
        progress: called with (step, done, total).
        sample: see :func:`~aspectra.views.build.run.build_index`.
        report: what was done.
    """

    library: Store
    writer: Writer
    settings: IndexSettings
    encoders: list[tuple[str, Encoder]]
    progress: Progress
    sample: Sequence[str] | None = None
    report: IndexReport = field(default_factory=IndexReport)

    def make_abstracts(self, lacking: dict[str, list[Missing]], *, everything: bool) -> None:
        """Encode titles and abstracts, and apply lenses.

        Args:
            lacking: name of an encoder -> papers without terms of aspects.
            everything: make the terms of all those.
        """
        library, writer, settings, progress = self.library, self.writer, self.settings, self.progress
        report = self.report
        clock = perf_counter()
        for _, encoder in self.encoders:
            report.encoded += encode_abstracts(library, writer, encoder, settings, progress)
            without = lacking[encoder.name]
            _add_terms(library, writer, encoder, without, everything, report, settings.batch, progress)
            encode_lacking_tokens(library, writer, encoder, settings, progress)
            if settings.sentences_apart(encoder):
                encode_sentences(library, writer, encoder, settings, progress)
            encode_readings(library, writer, encoder, settings.batch, progress)
        report.seconds["encode"] = perf_counter() - clock
        clock = perf_counter()
        report.lensed = apply_lenses(library, writer, settings.applied_lenses, progress)
        report.seconds["lenses"] = perf_counter() - clock

    @property
    def _chunked(self) -> list[tuple[Encoder, str]]:
        settings = self.settings
        return (
            [(e, size) for _, e in self.encoders for size in settings.chunks] if settings.dense_chunks else []
        )

    def lacks_chunks(self) -> bool:
        """Whether a full text is not encoded yet."""
        derived, citations = self.library.derived, self.settings.citations
        return any(derived.missing(chunk_vectors(e, size, citations)) for e, size in self._chunked)

    def make_full_texts(self) -> None:
        """Encode and read full texts."""
        library, writer, settings, report = self.library, self.writer, self.settings, self.report
        clock = perf_counter()
        for encoder, size in self._chunked:
            report.encoded_full += encode_chunks(library, writer, encoder, size, settings, self.progress)
        report.seconds["encode"] += perf_counter() - clock
        if self._chunked and settings.readers:
            clock = perf_counter()
            encoders = [encoder for _, encoder in self.encoders]
            report.read = make_readings(library, writer, encoders, settings, self.progress)
            report.seconds["reading"] = perf_counter() - clock


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
