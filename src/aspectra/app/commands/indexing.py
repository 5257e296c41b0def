"""``index``: what was added becomes searchable."""

from __future__ import annotations

from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.app.terminal.screen import count
from aspectra.base.errors import AspectraError, UsageError

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.views.build.draft import IndexReport

_TEXTS, _WORDS = "Full texts", "BM25"


@common
def index(
    session: Session,
    encoder: Annotated[
        list[str] | None,
        option(metavar="SPEC", about="An encoder, as minilm; again for several{; encoders}."),
    ] = None,
    no_encoder: Annotated[bool, option("--no-encoder", about="Words only: no vectors.")] = False,
    sentences: Annotated[
        str | None,
        option(metavar="HOW", about="Sentence vectors: apart (better for aspects) or late (less to encode)."),
    ] = None,
    late: Annotated[
        bool | None, option("--late/--no-late", about="Keep token vectors, for the planner late.")
    ] = None,
    tokens: Annotated[
        str | None, option(metavar="TYPE", about="--late with bits, or int8 (8 times as large).")
    ] = None,
    terms: Annotated[bool, option("--terms", about="Encode again what lacks the terms of aspects.")] = False,
    rebuild: Annotated[bool, option("--rebuild", about="Build even if nothing changed.")] = False,
    merge: Annotated[
        bool, option("--merge", about="Join the segments of new papers to the rest of the index.")
    ] = False,
    beside: Annotated[
        bool,
        option("--beside", about="Return once words can be searched; the rest is made in the background."),
    ] = False,
    chunks: Annotated[
        list[str] | None,
        option(metavar="SIZE", about="Chunks of full text: 250w, 3000t, none.", panel=_TEXTS),
    ] = None,
    dense_chunks: Annotated[
        bool | None, option("--dense-chunks/--no-dense-chunks", about="Encode chunks too.", panel=_TEXTS)
    ] = None,
    citations: Annotated[
        str | None, option(metavar="HOW", about="In-text citations: strip or keep.", panel=_TEXTS)
    ] = None,
    reader: Annotated[
        list[str] | None,
        option(metavar="NAME", about="A reader of full texts, or none; again for several.", panel=_TEXTS),
    ] = None,
    k1: Annotated[float | None, option(about="Term saturation.", panel=_WORDS)] = None,
    b: Annotated[float | None, option(about="Length normalisation.", panel=_WORDS)] = None,
    method: Annotated[
        str | None, option(about="robertson, atire, bm25l, bm25+, okapi or lucene.", panel=_WORDS)
    ] = None,
    stemmer: Annotated[
        str | None, option(about="Snowball language, as english, or none.", panel=_WORDS)
    ] = None,
) -> None:
    """Make what was added searchable.

    Only what is new is encoded. Settings given here stay with the library.
    Ctrl-C is safe: finished batches are stored.

    Example:  aspectra index --encoder minilm --chunks 250w
    """
    from aspectra.app.upkeep.checkup import check_if_due

    if no_encoder and encoder:
        raise UsageError("--encoder and --no-encoder exclude each other")
    others = [encoder, no_encoder, sentences, late, tokens, terms, rebuild, merge, chunks, dense_chunks]
    if beside and any(
        one not in (None, False) for one in (*others, citations, reader, k1, b, method, stemmer)
    ):
        raise UsageError("--beside takes no other option", hint="leave --beside out")
    if late is False and tokens:
        raise UsageError("--no-late and --tokens exclude each other")
    with session.open_library() as library:
        if not len(library):
            session.screen.line("The library holds no papers: nothing to index.")
            session.screen.next(f"aspectra add FILE{session.library_words()}")
            return
        clock = perf_counter()
        if beside:
            _beside(session, library)
            return
        if merge:
            _tell(session, _merged(session, library), perf_counter() - clock)
            return
        check_if_due(library.store)
        with session.progress() as shown:
            report = library.index(
                encoders=[] if no_encoder else encoder,
                rebuild=rebuild,
                terms=terms,
                progress=shown,
                chunks=None if chunks is None else [size for size in chunks if size != "none"],
                dense_chunks=dense_chunks,
                sentences=sentences,
                late="" if late is False else tokens or ("bits" if late else None),
                citations=citations,
                readers=None if reader is None else [name for name in reader if name != "none"],
                k1=k1,
                b=b,
                method=method,
                stemmer="" if stemmer == "none" else stemmer,
            )
        _tell(session, report, perf_counter() - clock)
        if report.merge_due:
            from aspectra.app.upkeep.checkup import index_later

            index_later(library.store.folder, "--merge")


def _beside(session: Session, library: Library) -> None:
    """Index in another process; return once something can be searched, or it has ended."""
    from aspectra.app.upkeep.checkup import index_later

    generations, shown = library.store.generations, session.screen
    before = generations.current()
    process = index_later(library.store.folder)
    while process is not None and process.poll() is None and generations.current() == before:
        sleep(0.1)
    if process is None or process.poll() not in (None, 0):
        raise AspectraError(
            "the index cannot be made beside other work",
            why="its process could not be started, or has failed",
            hint="aspectra index",
        )
    folder = generations.current()
    waiting = "" if folder is None else generations.manifest(folder).get("waiting", "")
    if process.poll() is None:
        lacking = f" without {waiting}" if waiting else ""
        shown.line(
            f"{count(len(library), 'paper')} can be searched{lacking}; process {process.pid} makes the rest. "
            "If it is stopped, aspectra index goes on."
        )
    else:
        shown.line(f"{count(len(library), 'paper')} can be searched.")
    shown.next(f'aspectra search "what you look for"{session.library_words()}')


def _merged(session: Session, library: Library) -> IndexReport:
    from aspectra.app.upkeep.checkup import yield_to_others
    from aspectra.views.build.collection import merge_shards
    from aspectra.views.build.run import merge_segments

    merge = merge_segments if library.store.collection is None else merge_shards
    yield_to_others()
    if library.store.generations.building():
        session.screen.note("another process is building the index; this one leaves it to that")
    with session.progress() as shown:
        return merge(library.store, progress=shown)


def tell_absent(session: Session, report: IndexReport) -> None:
    """Say that papers are searched by words only, and which command changes it."""
    for encoder, command in report.absent.items():
        session.screen.note(
            f"Searched by words only: {encoder} is not installed. To search by meaning: {command}"
        )


def _tell(session: Session, report: IndexReport, seconds: float) -> None:
    from aspectra.app.terminal.screen import duration

    screen = session.screen
    if not report.changed:
        screen.line(
            f"Nothing changed: {count(report.papers, 'paper')} in generation {report.generation} "
            f"({duration(seconds)})."
        )
    else:
        full = f", {report.encoded_full:,} full texts" if report.encoded_full else ""
        full += f", {report.read:,} read for their aspects" if report.read else ""
        screen.line(
            f"Indexed {count(report.papers, 'paper')} ({report.encoded:,} newly encoded{full}) "
            f"in {duration(seconds)}; generation {report.generation}."
        )
    for view, number in report.truncated.items():
        if number:
            screen.note(f"{view}: {count(number, 'text')} longer than the encoder reads, cut")
    tell_absent(session, report)
    for encoder, number in report.lacking_terms.items():
        takes = duration(report.seconds_for_terms[encoder])
        screen.note(
            f"{count(number, 'paper')} encoded with {encoder} have no terms of aspects: aspects are compared "
            f"by sentences alone. Encoding them again takes about {takes}: aspectra index --terms"
        )
    screen.next(f'aspectra search "what you look for"{session.library_words()}')
