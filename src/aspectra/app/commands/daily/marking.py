"""Marks of papers, their records, and which records are one work: all that ``undo`` takes back.

``tag``, ``note``, ``decide``, ``edit``, ``duplicates``, ``merge``, ``split``, ``undo``, ``redo``.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app import recent
from aspectra.app.session import Session, common, read_stdin
from aspectra.app.terminal.panels import AsJson, Names, PanelCommand, argument, option
from aspectra.app.terminal.screen import Screen, count, safe
from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.papers.bibliography import is_retracted

if TYPE_CHECKING:
    from aspectra.app.ingest.works import Group
    from aspectra.app.library import Library
    from aspectra.papers.paper import Paper


_WAYS = "ids, DOIs or titles; last 3 or last 1-20 of a search; --from FILE. aspectra list shows ids"
_UNDECIDED = "undecided"
_OFFERED = 9  # reasons that are offered

FromFile = Annotated[
    Path | None, option("Papers listed in FILE, one a line; - for standard input.", "--from")
]
Papers = Annotated[Names, argument("Ids, DOIs, titles; or: last 3, last 1-20.", "PAPER...")]
_GROUPS = 20  # of each kind that are printed
_MEMBERS = 10  # records of a group that are printed
_Records = Annotated[list[str], argument("Ids, DOIs or exact titles; or: last 3,5.", "ID")]


def papers_named(
    session: Session, library: Library, words: list[str] | None, file: Path | None = None
) -> list[str]:
    """Ids of the papers that a command names.

    Raises:
        UsageError: none is named, or the last search has no such paper.
        NoSuchPaper: one is not in the library.
    """
    given = list(words or ())
    if file is not None:
        given += _listed(file)
    if not given:
        why = f"{file} lists none" if file is not None else ""
        raise UsageError("say which papers", why=why, hint=_WAYS)
    if given[0] == "last":
        return library.resolve(*recent.papers_of_last(given, library=session.library_path) or ())
    missing = []
    ids = []
    for one in given:
        try:
            ids += library.resolve(one)
        except NoSuchPaper as error:
            missing.append((one, error))
    if len(missing) == 1:
        raise missing[0][1]
    if missing:
        named = ", ".join(repr(one) for one, _ in missing[:3]) + (" and others" if len(missing) > 3 else "")
        raise NoSuchPaper(
            f"{len(missing):,} of {count(len(given), 'paper')} are not in the library",
            why=f"{named}; nothing was changed",
            hint="aspectra list",
        )
    return list(dict.fromkeys(ids))


def _listed(file: Path) -> list[str]:
    """The lines of a file that name papers."""
    if str(file) == "-":
        text = read_stdin()
    elif file.exists() and not file.is_dir():
        text = file.read_text("utf-8-sig", "replace")
    else:
        raise UsageError(f"there is no file {file}", hint="a text file with one id, DOI or title a line")
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


class TagCommand(PanelCommand):
    """A command with arguments such as ``-method``, which take a tag away."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As usual, with ``-method`` as ``--remove method``; options of one letter stay what they are."""
        end = args.index("--") if "--" in args else len(args)
        read = []
        for one in args[:end]:
            removal = len(one) > 2 and one[0] == "-" and one[1] != "-"
            read += ["--remove", one[1:]] if removal else [one]
        return super().parse_args(ctx, [*read, *args[end:]])


CLASSES = {"tag": TagCommand}


@common
def tag(
    session: Session,
    words: Annotated[
        Names,
        argument(
            "Papers (ids, DOIs, titles; last 3), then tags to add and to remove.", "PAPER... +TAG... -TAG..."
        ),
    ] = None,
    add: Annotated[Names, option("As +TAG.", metavar="TAG", rare=True)] = None,
    remove: Annotated[Names, option("As -TAG, also for one letter.", metavar="TAG", rare=True)] = None,
    from_: FromFile = None,
) -> None:
    """Tag papers.

    Without papers, the tags in use are listed.

    Example:  aspectra tag last 1-3 +method "+to read" -later
    """
    papers = [word for word in words or () if not word.startswith("+")]
    new = [*(add or ()), *(word[1:] for word in words or () if word.startswith("+"))]
    with session.open_library() as library:
        if not (papers or new or remove or from_):
            _list_tags(session, library)
            return
        if not (new or remove):
            raise UsageError("say which tags", hint="aspectra tag PAPER +method -later")
        found = papers_named(session, library, papers, from_)
        changed = library.marks.tag(*found, add=new, remove=remove or ())
        left = library.marks.read.tags(found)
        for one in remove or ():
            kept = [paper for paper in found if one.casefold() in map(str.casefold, left.get(paper, ()))]
            if kept:
                session.screen.warn(
                    f"{safe(one)} stays on {count(len(kept), 'paper')}: another program or file brought it"
                )
    for one, tags in left.items() if len(found) <= _OFFERED else ():
        session.screen.detail(f"{one}: {', '.join(tags)}")
    session.screen.line(f"Changed the tags of {count(changed, 'paper')}.")
    if new:
        session.screen.next(f"aspectra list --tag {shlex.quote(new[0])}{session.library_words()}")


def _list_tags(session: Session, library: Library) -> None:
    counts = library.marks.read.tag_counts()
    session.screen.pairs((safe(name, one_line=True), count(n, "paper")) for name, n in counts.items())
    if not counts:
        session.screen.line("There are no tags yet.")
        session.screen.next(f"aspectra tag PAPER +TAG{session.library_words()}")


@common
def note(
    session: Session,
    words: Annotated[Names, argument("A paper (also: last 3), and the note.", 'PAPER "TEXT"')] = None,
    quote: Annotated[str, option("The sentence of the paper that it is about.", metavar="TEXT")] = "",
    remove: Annotated[int | None, option("Remove a note; show lists numbers.", metavar="NUMBER")] = None,
) -> None:
    """Write a note on a paper.

    Example:  aspectra note smith2020 "Their baseline is weak." --quote "We compare with BM25."
    """
    with session.open_library() as library:
        if remove is not None:
            session.screen.line(f"Removed note {remove} of {library.marks.drop_note(remove)}.")
            return
        if len(words or ()) < 2 and not quote:
            raise UsageError("a note needs a paper and a text", hint='aspectra note PAPER "TEXT"')
        *papers, text = words or [""]
        if quote and len(words or ()) == 1:  # a quoted sentence alone is a note too
            papers, text = list(words or ()), ""
        found = papers_named(session, library, papers)
        if len(found) != 1:
            raise UsageError(
                f"a note is about one paper, these are {len(found)}", hint='aspectra note PAPER "TEXT"'
            )
        paper = library.store.get(found[0])
        number = library.marks.note(found[0], text, quote=quote)
    said = " ".join([paper.title, paper.abstract, *(section.text for section in paper.sections)])
    if quote and " ".join(quote.split()) not in " ".join(said.split()):
        session.screen.warn("the quoted sentence is not in the paper as it is stored; the note is kept")
    session.screen.line(f"Note {number} on {found[0]}.")
    session.screen.next(f"aspectra show {shlex.quote(found[0])}{session.library_words()}")


@common
def decide(
    session: Session,
    decision: Annotated[str, argument("undecided takes a decision back.", "include|exclude|maybe")],
    papers: Papers = None,
    reason: Annotated[str | None, option("Why; earlier reasons are offered.", "-r", metavar="TEXT")] = None,
    from_: FromFile = None,
) -> None:
    """Include or exclude papers.

    All records of a work share the decision.

    Example:  aspectra decide exclude last 4-9 --reason "no experiment"
    """
    from aspectra.papers.library.marks.values import DECISIONS

    if decision not in (*DECISIONS, _UNDECIDED):
        raise UsageError(
            f"{decision!r} is no decision",
            hint=f"one of {', '.join(DECISIONS)}, {_UNDECIDED}; then the papers",
        )
    with session.open_library() as library:
        found = papers_named(session, library, papers, from_)
        wanted = "" if decision == _UNDECIDED else decision
        if wanted == "exclude" and reason is None:
            reason = _reason(session, library)
        under = recent.recall().words if papers and papers[0] == "last" else ""
        changed = library.marks.decide(wanted, *found, reason=reason or "", under=under)
        records = {*found, *(one for some in library.store.versions(found).values() for one in some)}
        counts = Counter(one.decision for one in library.marks.read.decisions().values())
        left = len(library) - counts.total()
    same = f" ({len(records) - changed:,} were decided so before)" if changed < len(records) else ""
    session.screen.line(f"{decision}: {count(changed, 'paper')}{same}.")
    if others := len(records) - len(found):
        session.screen.note(f"with {count(others, 'other record')} of the same works")
    known = ", ".join(f"{counts[name]:,} {name}" for name in DECISIONS if name in counts)
    session.screen.note(f"all: {known + ', ' if known else ''}{left:,} undecided")
    session.screen.next(f"aspectra list --undecided{session.library_words()}")


def _reason(session: Session, library: Library) -> str:
    """The reason for an exclusion: chosen where somebody can choose, else none, and how to give one."""
    known = library.marks.reasons("exclude")[:_OFFERED]
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or session.screen.quiet:
        earlier = f"; given before: {'; '.join(safe(one) for one in known)}" if known else ""
        session.screen.note(f"no reason was given (--reason TEXT){earlier}")
        return ""
    for number, one in enumerate(known, start=1):
        session.screen.note(f"{number}  {safe(one, one_line=True)}")
    words = "Reason (number or words, Enter for none)" if known else "Reason (Enter for none)"
    said = str(typer.prompt(words, default="", show_default=False, err=True)).strip()
    return known[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(known) else said


@common
def duplicates(
    session: Session,
    limit: Annotated[int, option("Groups of each kind that are listed [20].", "-n", min=0)] = _GROUPS,
    as_json: AsJson = False,
) -> None:
    """List records of the same work.

    First groups that should be looked at, then those that are one work already: search shows one record of
    each, and export writes one. Nothing is deleted. `merge` and `split` decide; `undo` takes it back.

    Example:  aspectra duplicates -n 50
    """
    with session.open_library() as library:
        found = library.works.duplicates()
        if as_json:
            session.screen.document("duplicates", asdict(found))
            return
        screen = session.screen
        look = [group for group in found.groups if group.kind == "look"]
        one = [group for group in found.groups if group.kind == "one"]
        further = found.records - found.works
        screen.line(
            f"{count(found.records, 'record')} of {count(found.works, 'work')}: {count(len(one), 'work')} "
            f"with {count(len(one) + further, 'record')}; {count(len(look), 'group')} to look at"
        )
        for title, groups in (("To look at", look), ("One work already", one)):
            if groups and limit:
                screen.line()
                screen.line(title, style="bold")
                _list_groups(screen, library, groups, limit)
        if look:
            session.screen.next(f"aspectra merge ID ID, or aspectra split ID ID{session.library_words()}")


def _list_groups(screen: Screen, library: Library, groups: list[Group], limit: int) -> None:
    for group in groups[:limit]:
        shown = library.store.get_many(group.ids[:_MEMBERS], full=False)
        for one in shown.values():
            screen.line(_record(one), indent=2)
        if len(group.ids) > _MEMBERS:
            screen.line(f"and {count(len(group.ids) - _MEMBERS, 'record')} more (--json)", indent=2)
        screen.line(safe("; ".join(group.why) or "grouped earlier", one_line=True), style="dim", indent=4)
    if len(groups) > limit:
        screen.line(f"and {count(len(groups) - limit, 'group')} more: --limit {len(groups)}", indent=2)


def _record(paper: Paper) -> str:
    year = (f" ({paper.year})" if paper.year else "") + (" RETRACTED" if is_retracted(paper) else "")
    where = f", {paper.venue}" if paper.venue else ""
    return safe(f"{paper.id}  {paper.title[:120] or '(no title)'}{year}{where}", one_line=True)


@common
def merge(session: Session, papers: _Records, as_json: AsJson = False) -> None:
    """Make records one work.

    The first one leads: it is shown, and exported with what only the others have. All records stay, and the
    decision lasts when the same files are added again. `aspectra undo` takes it back.

    Example:  aspectra merge smith2020 arXiv:2004.07180
    """
    named = recent.papers_of_last(papers, library=session.library_path) or papers
    with session.open_library() as library:
        records = library.works.merge(*named)
    if as_json:
        session.screen.document("merge", {"records": records})
        return
    session.screen.line(
        f"{records[0]} leads {count(len(records), 'record')} of one work: {', '.join(records)}"
    )


@common
def split(session: Session, papers: _Records, as_json: AsJson = False) -> None:
    """Keep records apart.

    One paper is split from all its versions, several from each other. They are never grouped again, also when
    the same files are added again. `aspectra undo` takes it back.

    Example:  aspectra split smith2020
    """
    named = recent.papers_of_last(papers, library=session.library_path) or papers
    with session.open_library() as library:
        pairs = library.works.split(*named)
    if as_json:
        session.screen.document("split", {"apart": pairs})
        return
    for one, other in pairs:
        session.screen.line(f"{one} and {other} are two works")


@common
def undo(
    session: Session,
    steps: Annotated[int | None, option("So many steps [1; listed: 100].", "-n", min=1)] = None,
    list_: Annotated[bool, option("List the steps that can be undone.", "--list")] = False,
) -> None:
    """Undo the last step.

    Tags, notes, decisions, edits, removals, merges, splits and saved searches can be undone, the last
    fifty of them.

    Example:  aspectra undo
    """
    _turn(session, "undo", steps, list_=list_)


@common
def redo(
    session: Session,
    steps: Annotated[int, option("So many steps [1].", "-n", min=1)] = 1,
) -> None:
    """Do again what was undone last.

    Example:  aspectra redo
    """
    _turn(session, "redo", steps)


def _turn(session: Session, verb: str, steps: int | None, *, list_: bool = False) -> None:
    with session.open_library() as library:
        if list_:
            for one in library.marks.read.actions(steps or 100):
                gone = "  (undone)" if one.undone else ""
                session.screen.line(f"{one.at[:16].replace('T', ' ')}  {safe(one.what, one_line=True)}{gone}")
            return
        before = library.store.revision
        for number in range(steps or 1):
            try:
                action, missing = library.marks.undo() if verb == "undo" else library.marks.redo()
            except UsageError:
                if number == 0:
                    raise
                session.screen.warn(f"there were {count(number, 'step')} only")
                break
            word = "Undid" if verb == "undo" else "Did again"
            when = action.at[:16].replace("T", " ")
            session.screen.line(f"{word}: {safe(action.what, one_line=True)} ({when})")
            if missing:
                named = ", ".join(missing[:3]) + (" and others" if len(missing) > 3 else "")
                session.screen.warn(
                    f"not for {count(len(missing), 'paper')} no longer in the library: {named}"
                )
        changed = library.store.revision != before
    if changed:
        session.screen.next(f"aspectra index{session.library_words()}")
    else:
        session.screen.next(f"aspectra {'redo' if verb == 'undo' else 'undo'}{session.library_words()}")


# ``edit``: a paper's record, corrected.


@common
def edit(
    session: Session,
    paper: Annotated[list[str], argument("An id, DOI or title; or: last 3.", "PAPER")],
    title: Annotated[str | None, option("The title.", metavar="TEXT")] = None,
    author: Annotated[Names, option("An author; repeat for all.")] = None,
    year: Annotated[int | None, option("The year.", metavar="YEAR")] = None,
    venue: Annotated[str | None, option("The journal, meeting or publisher.", metavar="TEXT")] = None,
    abstract: Annotated[str | None, option("The abstract.", metavar="TEXT")] = None,
    identifier: Annotated[Names, option("As doi=10.1000/x; doi= removes it.", metavar="SCHEME=VALUE")] = None,
    url: Annotated[str | None, option("Its page.", metavar="URL")] = None,
    language: Annotated[str | None, option("As en.", metavar="TAG")] = None,
    reset: Annotated[Names, option("Bring the file's own value back.", metavar="FIELD")] = None,
) -> None:
    """Correct the record of a paper.

    What you write lasts when its file is added again. Without options, $EDITOR opens with the record.

    Example:  aspectra edit smith2020 --year 2021 --identifier doi=10.1000/xyz
    """
    with session.open_library() as library:
        (found,) = _one(papers_named(session, library, paper))
        given = {"title": title, "authors": author, "year": year, "venue": venue, "abstract": abstract}
        given |= {"url": url, "language": language}
        fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if identifier:
            fields["identifiers"] = _identifiers(dict(library.store.get(found).identifiers), identifier)
        fields |= dict.fromkeys(reset or ())
        if not fields:
            fields = _in_editor(library, found)
        changed = library.marks.edit(found, **fields)
    if not changed:
        session.screen.line("Nothing changed.")
        return
    session.screen.line(f"Changed {', '.join(changed)} of {found}.")
    session.screen.next(f"aspectra index{session.library_words()}")


def _one(found: list[str]) -> list[str]:
    if len(found) != 1:
        raise UsageError(f"one paper is edited at a time, these are {len(found)}", hint="aspectra edit PAPER")
    return found


def _identifiers(held: dict[str, str], changes: list[str]) -> dict[str, str]:
    from aspectra.papers.identifiers import normalise

    for one in changes:
        scheme, equals, value = one.partition("=")
        scheme = scheme.strip().casefold()
        canonical = normalise(scheme, value) if value.strip() else ""
        if not equals or not scheme or (value.strip() and not canonical):
            raise UsageError(f"{one!r} is no identifier", hint="--identifier doi=10.1000/xyz")
        held.pop(scheme, None)
        if canonical:
            held[scheme] = canonical
    return held


def _in_editor(library: Library, paper: str) -> dict[str, Any]:
    """The fields that the user changed in an editor."""
    import tomllib

    import tomlkit

    from aspectra.papers.library.marks.values import EDITABLE, values_of

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("say what to change", hint="aspectra edit PAPER --title TEXT --year 2020")
    held = values_of(library.store.get(paper), EDITABLE)
    shown = {name: held[name] for name in EDITABLE if held[name] is not None}
    comment = f"# {paper}: change what is wrong, save and close. A removed line changes nothing.\n"
    try:
        written = tomllib.loads(_written(comment + tomlkit.dumps(shown)))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            "what you wrote is no TOML", why=str(error), hint=f"aspectra edit {paper}"
        ) from error
    return {name: value for name, value in written.items() if value != held.get(name)}


def _written(text: str) -> str:
    """Open a text in the user's editor; returns the edited text."""
    import subprocess
    import tempfile

    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named:
        raise UsageError(
            "no editor is named",
            why="neither VISUAL nor EDITOR is set",
            hint="aspectra edit PAPER --title TEXT",
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paper.toml"
        file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(named), str(file)], check=False)  # noqa: S603 - the user's own
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {named!r} cannot be started", why=str(error)) from error
        if done.returncode:
            raise UsageError(f"the editor {named!r} failed", why="nothing was changed")
        return file.read_text("utf-8-sig", "replace")
