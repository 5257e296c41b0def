"""``index``: what was added becomes searchable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.output.screen import count
from aspectra.app.session import Session, common
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store
    from aspectra.views.build.run import IndexReport
    from aspectra.views.settings import IndexSettings

__all__ = ["index"]

_METHODS = ("robertson", "atire", "bm25l", "bm25+", "lucene")


@common
def index(
    session: Session,
    encoder: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="An encoder, as minilm; again for several.", show_default=False),
    ] = None,
    no_encoder: Annotated[bool, typer.Option("--no-encoder", help="Words only: no vectors.")] = False,
    chunks: Annotated[
        list[str] | None,
        typer.Option(metavar="SIZE", help="Chunks of full text: 250w, 3000t, none.", show_default=False),
    ] = None,
    dense_chunks: Annotated[
        bool | None,
        typer.Option("--dense-chunks/--no-dense-chunks", help="Encode chunks too.", show_default=False),
    ] = None,
    sentences: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Sentence vectors: apart (better for aspects) or late (half the encoding).",
            show_default=False,
        ),
    ] = None,
    citations: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="In-text citations in views of full text: strip or keep.",
            show_default=False,
        ),
    ] = None,
    k1: Annotated[float | None, typer.Option(help="BM25: term saturation.", show_default=False)] = None,
    b: Annotated[float | None, typer.Option(help="BM25: length normalisation.", show_default=False)] = None,
    method: Annotated[
        str | None, typer.Option(help="BM25: " + ", ".join(_METHODS) + ".", show_default=False)
    ] = None,
    stemmer: Annotated[
        str | None, typer.Option(help="Snowball language, as english, or none.", show_default=False)
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build anew even if nothing changed.")] = False,
) -> None:
    """Make what was added searchable.

    Only what is new is encoded. Settings given here stay with the library.
    Ctrl-C is safe: finished batches are kept.

    Example:  aspectra index --encoder minilm --chunks 250w
    """
    from time import perf_counter

    from aspectra.app.output.progress import ProgressShown
    from aspectra.views.build.run import build_index

    if no_encoder and encoder:
        raise UsageError("--encoder and --no-encoder exclude each other")
    with session.open_library() as library:
        if not len(library):
            session.screen.line("The library holds no papers: nothing to index.")
            session.screen.next(f"aspectra add FILE{session.library_words()}")
            return
        settings = _settings(
            library,
            encoders=() if no_encoder else encoder,
            chunks=chunks,
            dense_chunks=dense_chunks,
            sentences=sentences,
            citations=citations,
            lexical={"k1": k1, "b": b, "method": method},
            stemmer=stemmer,
        )
        clock = perf_counter()
        with ProgressShown(session.config["progress"] and not session.quiet) as shown:
            report = build_index(library, settings, progress=shown, rebuild=rebuild)
        _tell(session, report, perf_counter() - clock)


def _settings(
    library: Store,
    *,
    encoders: list[str] | tuple[str, ...] | None,
    chunks: list[str] | None,
    dense_chunks: bool | None,
    sentences: str | None,
    citations: str | None,
    lexical: dict[str, float | str | None],
    stemmer: str | None,
) -> IndexSettings | None:
    """The library's settings with what was given changed; None when nothing was given."""
    from aspectra.views.build.run import settings_of
    from aspectra.views.encoders.protocol import ENCODERS
    from aspectra.views.settings import IndexSettings

    given = {name: value for name, value in lexical.items() if value is not None}
    if not given and all(v is None for v in (encoders, chunks, dense_chunks, sentences, citations, stemmer)):
        return None
    for spec in encoders or ():
        ENCODERS.get(spec.partition(":")[0])
    if lexical["method"] is not None and lexical["method"] not in _METHODS:
        raise UsageError(
            f"there is no BM25 method {lexical['method']!r}", why="known: " + ", ".join(_METHODS)
        )
    old = settings_of(library)
    new = old.to_dict()
    new["lexical"].update(given)
    if stemmer is not None:
        new["lexical"]["tokens"]["stemmer"] = _stemmer(stemmer)
    if encoders is not None:
        new["encoders"] = list(encoders)
    if chunks is not None:
        new["chunks"] = [size for size in chunks if size != "none"]
    if dense_chunks is not None:
        new["dense_chunks"] = dense_chunks
    if sentences is not None:
        new["sentences"] = sentences
    if citations is not None:
        new["citations"] = citations
    return IndexSettings.from_dict(new)


def _stemmer(name: str) -> str:
    import Stemmer

    if name in ("none", ""):
        return ""
    if name not in Stemmer.algorithms():
        raise UsageError(
            f"there is no stemmer {name!r}", why="known: none, " + ", ".join(sorted(Stemmer.algorithms()))
        )
    return name


def _tell(session: Session, report: IndexReport, seconds: float) -> None:
    from aspectra.app.output.progress import duration

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
    screen.next(f'aspectra search "what you look for"{session.library_words()}')
