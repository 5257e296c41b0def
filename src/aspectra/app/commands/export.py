"""``show`` and ``export``: papers as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.output.screen import Screen, count, safe
from aspectra.app.session import Session, common
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store
    from aspectra.papers.paper import Paper

__all__ = ["export", "show"]

_FORMATS = ("bibtex", "ris", "csl-json", "csv", "jsonl")
_SUFFIXES = {
    ".bib": "bibtex",
    ".ris": "ris",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".json": "csl-json",
    ".trec": "trec",
    ".run": "trec",
}
_KEYS = re.compile(r"^@\w+\{([^,\n]*),$", re.M)
_LISTED = 20  # citing and cited papers shown


@common
def show(
    session: Session,
    paper_id: Annotated[
        str, typer.Argument(metavar="ID", help="An id, DOI, arXiv id or exact title.", show_default=False)
    ],
    sentences: Annotated[
        bool, typer.Option("--sentences", help="The abstract, sentence by sentence.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="The full text too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="NAME", help=", ".join(_FORMATS) + ".", show_default=False),
    ] = None,
) -> None:
    """Show one paper.

    Its record, its other versions, what it cites and what cites it inside the library.

    Example:  aspectra show doi:10.1000/xyz --sentences
    """
    with session.open_library() as library:
        paper = library.get(library.resolve(paper_id))
        if format is not None:
            session.screen.data(_written([paper], format))
            return
        links = {
            "versions": library.versions([paper.id]).get(paper.id, []),
            "cites": library.cites(paper.id),
            "cited_by": library.cited_by(paper.id),
        }
        if as_json:
            out = {**paper.to_dict(), "links": links}
            if sentences:
                out["sentence_spans"] = _spans(paper)
            session.screen.data(json.dumps(out, ensure_ascii=False, indent=2) + "\n")
            return
        _show(session.screen, library, paper, links, sentences=sentences, full=full)


def _spans(paper: Paper) -> list[dict[str, object]]:
    from aspectra.papers.text.sentences import abstract_sentences, lead_field

    place, lead = lead_field(paper)  # without an abstract: the beginning of the full text
    where = {} if place == "abstract" else {"field": place}
    return [
        {"start": s.start, "end": s.end, "role": s.role, "text": lead[s.start : s.end], **where}
        for s in abstract_sentences(paper)
    ]


def _show(
    screen: Screen,
    library: Store,
    paper: Paper,
    links: dict[str, list[str]],
    *,
    sentences: bool,
    full: bool,
) -> None:
    screen.line(safe(paper.title, one_line=True) or "(no title)", style="bold")
    rows = [("id", paper.id), ("authors", ", ".join(paper.authors)), ("year", str(paper.year or ""))]
    rows += [("venue", paper.venue), *((scheme, value) for scheme, value in paper.identifiers.items())]
    rows += [("url", paper.url), ("language", paper.language)]
    if paper.sections:
        size = sum(len(section.text) for section in paper.sections)
        rows.append(("full text", f"{count(len(paper.sections), 'section')}, {size:,} characters"))
    if paper.references:
        rows.append(("references", f"{len(paper.references):,}"))
    screen.pairs((label, safe(value, one_line=True)) for label, value in rows if value)
    screen.line()
    if sentences:
        spans = _spans(paper)
        if not paper.abstract.strip():
            screen.line("(no abstract; the full text begins)" if spans else "(no abstract)")
        for span in spans:
            role = f" {span['role']}" if span["role"] else ""
            screen.line(f"[{span['start']}–{span['end']}{role}] {span['text']}", indent=2)
    else:
        screen.line(paper.abstract or "(no abstract)")
    if full:
        for section in paper.sections:
            screen.line()
            screen.line(safe(section.heading, one_line=True), style="bold")
            for part in safe(section.text).split("\n"):
                screen.line(part)
    for name, label in (("versions", "other versions"), ("cites", "cites"), ("cited_by", "cited by")):
        if links[name]:
            screen.line()
            screen.line(f"{label} ({len(links[name]):,} in the library)", style="bold")
            titles = library.get_many(links[name][:_LISTED], full=False)
            for one, other in titles.items():
                year = f" ({other.year})" if other.year else ""
                screen.line(f"{one}  {safe(other.title, one_line=True)}{year}", indent=2)
            if len(links[name]) > _LISTED:
                screen.line(f"and {len(links[name]) - _LISTED:,} more (--json)", indent=2)


@common
def export(
    session: Session,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="last|ID", help="`last`: the last search.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every paper of the library.")] = False,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format", metavar="NAME", help=", ".join((*_FORMATS, "trec")) + ".", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, help="With last: so many papers.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE.", show_default=False)
    ] = None,
) -> None:
    """Write papers for other programs.

    BibTeX, RIS, CSL-JSON, CSV, JSON Lines, TREC runs; ids and citation keys are kept.
    The format is taken from the name of the file where none is given.

    Example:  aspectra export last --format ris -o picks.ris
    """
    chosen = format or (_SUFFIXES.get(output.suffix.lower(), "") if output else "") or "bibtex"
    if chosen not in (*_FORMATS, "trec"):
        raise UsageError(
            f"there is no export format {chosen!r}", why="known: " + ", ".join((*_FORMATS, "trec"))
        )
    last = ids == ["last"]
    if everything == bool(ids):
        raise UsageError("say which papers", hint="aspectra export last, aspectra export ID..., or --all")
    if chosen == "trec" and not last:
        raise UsageError("trec is a format for rankings", hint="aspectra export last --format trec")
    if last:
        text, number, changed = _last(session, chosen, limit)
    else:
        with session.open_library() as library:
            if everything:
                text, number, changed = _exported(library.papers(), chosen)
            else:
                found = list(dict.fromkeys(library.resolve(one) for one in ids or ()))
                text, number, changed = _exported(library.get_many(found).values(), chosen)
    session.screen.data(text, output)
    if output is not None:
        kept = f"{count(changed, 'id')} changed to be valid keys" if changed else "ids kept"
        session.screen.note(f"Wrote {count(number, 'record')} to {output} ({chosen}, {kept}).")


def _last(session: Session, chosen: str, limit: int | None) -> tuple[str, int, int]:
    from aspectra.app.recent import recall
    from aspectra.search.searcher import open_library

    recent = recall()
    plan = recent.plan if limit is None else recent.plan.with_limit(limit)
    named = session.config.origin("library") == "flag"
    with open_library(session.library_path if named else recent.library) as searcher:
        ranking = searcher.run(plan)
        for warning in ranking.warnings:
            session.screen.warn(session.spell_out(warning))
        if chosen == "trec":
            return ranking.to_trec(), len(ranking), 0
        return _exported(searcher.library.get_many(ranking.ids).values(), chosen)


def _exported(papers: Iterable[Paper], name: str) -> tuple[str, int, int]:
    """The text, the number of papers in it and how many ids the format could not keep."""
    ids: list[str] = []

    def noted() -> Iterator[Paper]:
        for paper in papers:
            ids.append(paper.id)
            yield paper

    text = _written(noted(), name)
    keys = _KEYS.findall(text) if name == "bibtex" else ids
    return text, len(ids), sum(a != b for a, b in zip(keys, ids, strict=False))


def _written(papers: Iterable[Paper], name: str) -> str:
    from aspectra.papers.export.protocol import WRITERS

    return WRITERS.get(name).write(papers)
