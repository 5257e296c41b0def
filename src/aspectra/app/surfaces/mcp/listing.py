"""Answers that fit; papers that a question finds, as many and as much of each as an answer has room for."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from aspectra.app.surfaces.mcp.arguments import Libraries, SearchPapers, Similar, library_of, papers_of
from aspectra.app.surfaces.service.answering import Cursor, Service
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import Gone, UsageError
from aspectra.llm.prompts.conversation import without_hidden

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.question import Question
    from aspectra.search.ranking import Evidence, Hit, Ranking


# Answers that fit: texts and lists are cut to a number of bytes before they are put together.
#
# Sizes are those of JSON with every character beyond ASCII escaped, the longest form that a transport
# writes.

STRUCTURED = 15_000
"""Most bytes of the structured content of an answer that has a short text beside it."""

TEXT = 7_000
"""Most bytes of that text."""

_MARK = "…"
_LONGEST_HANDLE = 400
Fit = TypeVar("Fit")


def plain(text: object) -> str:
    """Text without control characters, marks of direction and other characters that are not seen."""
    return without_hidden(safe(str(text)))[0]


def line(text: object) -> str:
    """The same on one line, so that nothing in it can begin another."""
    return " ".join(plain(text).split())


def size(value: Any) -> int:
    """Bytes of a value as JSON."""
    return len(json.dumps(value, separators=(",", ":")))


def clip(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis.

    Args:
        text: from :func:`plain`.
        most: bytes that it may have, without its quotes.
    """
    if 12 * len(text) <= most or size(text) - 2 <= most:
        return text
    return text[: room(text, most - 6)].rstrip() + _MARK if most >= 6 else ""


def room(text: str, most: int, start: int = 0) -> int:
    """Position of the first character, from ``start``, that no longer fits into so many bytes."""
    longest = max(0, min(len(text) - start, most))
    return start + bisect_right(range(1, longest + 1), most, key=lambda n: size(text[start : start + n]) - 2)


def fitting(items: Iterable[Fit], most: int) -> list[Fit]:
    """The first items that have so many bytes together."""
    kept = []
    for one in items:
        most -= size(one) + 1
        if most < 0:
            break
        kept.append(one)
    return kept


def strings(texts: Iterable[str], most: int, each: int = 600) -> list[str]:
    """Lines that are plain, none longer than ``each`` bytes, and together no longer than ``most``."""
    return fitting((clip(line(text), each) for text in texts), most)


def handle(paper_id: str, identifiers: dict[str, str]) -> str:
    """By what a paper is named: its id; its DOI or arXiv id where the id cannot be shown as it is; or ""."""
    others = [f"{scheme}:{identifiers[scheme]}" for scheme in ("doi", "arxiv") if scheme in identifiers]
    for name in (paper_id, *others):
        if name == line(name) and size(name) <= _LONGEST_HANDLE:
            return name
    return ""


# Papers that a question finds.

MOST_REACHED = 250  # papers of one question, over all its answers
_PLACES = "places"  # an answer ends where its bytes do, so its cursor counts papers, not pages
_NOTES = 1_200  # bytes of each list beside the papers
_WORD = re.compile(r"[A-Za-z0-9.:/_+-]{1,64}")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool: the structured content, and a short text with the same content."""

    structured: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class _Room:
    """Most bytes of the texts of one paper, and how many quotes it has."""

    title: int
    authors: int
    quote: int
    quotes: int
    abstract: int = 0


# The first with which all papers fit is taken; with the last, the list ends where the room does.
_ROOMS = (
    _Room(600, 300, 1_200, 6, 3_000),
    _Room(400, 200, 700, 5, 1_500),
    _Room(300, 120, 450, 4, 700),
    _Room(200, 60, 250, 3, 300),
    _Room(120, 0, 120, 1),
)


def search_papers(libraries: Libraries, given: SearchPapers) -> ToolResult:
    """Papers for a question in words."""
    name, service = library_of(libraries, given)
    return _found(name, service, given.question(), given)


def find_similar(libraries: Libraries, given: Similar) -> ToolResult:
    """Papers like others."""
    name, service = library_of(libraries, given)
    return _found(name, service, given.question(seeds=papers_of(service, given.seeds)), given)


def _found(name: str, service: Service, question: Question, given: SearchPapers | Similar) -> ToolResult:
    made = service.plan(question)
    start = _start(service, made.hash, given.cursor)
    wanted = min(start + given.limit, MOST_REACHED)
    ranking = service.run(made.with_limit(wanted))
    hits = ranking.hits[start:]
    out: dict[str, Any] = {"library": name, "plan": made.hash, "generation": ranking.generation, "papers": []}
    out |= _notes(ranking)
    papers, cut = _fitted(hits, given.detail, STRUCTURED - size(out) - 1_000)
    end = start + len(papers)
    if len(papers) < len(hits):
        cut.append(f"{len(hits) - len(papers)} papers did not fit: send next_cursor")
    if len(papers) < len(hits) or (len(ranking) == wanted and end < MOST_REACHED):
        out["next_cursor"] = service.handles.write(Cursor(made.hash, ranking.generation, end, _PLACES))
    if cut:
        out["cut"] = cut
    out["papers"] = papers
    return ToolResult(out, _in_words(out))


def _start(service: Service, plan: str, cursor: str) -> int:
    """The number of papers before this page, from the cursor of an earlier answer to the same question."""
    if not cursor:
        return 0
    held = service.handles.read(cursor)
    if held.plan != plan or held.sort != _PLACES:
        raise UsageError("the cursor belongs to another question", hint="send the same arguments with it")
    if held.generation != service.generation():
        raise Gone("the index was built anew since this cursor", hint="search again without it")
    return held.page


def _notes(ranking: Ranking) -> dict[str, Any]:
    """The requests applied and not applied, the warnings, and a flag for weak matches."""
    asked = ranking.requests.to_dict()
    applied = (f"{r['request']} “{r['words']}”" if r["words"] else r["request"] for r in asked["applied"])
    missed = (f"“{r['words']}”: {r['why']}" for r in asked["not_applied"])
    lists = {
        "applied": strings(applied, _NOTES),
        "not_applied": strings(missed, _NOTES),
        "warnings": strings(ranking.warnings, _NOTES),
    }
    weak = {"weak_match": True} if ranking.fit is not None and ranking.fit.weak else {}
    return {name: held for name, held in lists.items() if held} | weak


def _fitted(hits: tuple[Hit, ...], detail: str, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Entries of the hits that fit, and what was left out of them."""
    if detail == "ids":
        return fitting((_bare(hit) for hit in hits), most), []
    for room in _ROOMS:
        entries = [_entry(hit, room, full=detail == "full") for hit in hits]
        if sum(size(one) + 1 for one in entries) <= most:
            break
    # At least one has room: everything in it has a limit.
    short = room is not _ROOMS[0]
    return fitting(entries, most), ["texts were shortened: get_paper has them whole"] if short else []


def _bare(hit: Hit) -> dict[str, Any]:
    named = handle(hit.id, dict(hit.paper.identifiers))
    facts = {"rank": hit.rank, "score": round(hit.score, 6), "year": hit.paper.year}
    facts |= {"retracted": True} if hit.retracted else {}
    # Ids come from files, and some are sentences.
    plain_word = {"id": named} if _WORD.fullmatch(named) else {}
    return {**plain_word, **facts, "untrusted": {"id": named}}


def _entry(hit: Hit, room: _Room, *, full: bool) -> dict[str, Any]:
    entry = _bare(hit)
    paper, untrusted = hit.paper, entry["untrusted"]
    untrusted["title"] = clip(line(paper.title), room.title)
    if room.authors:
        untrusted["authors"] = clip(line(", ".join(paper.authors[:50])), room.authors)
        untrusted["venue"] = clip(line(paper.venue), room.authors)
    quotes = [quote_entry(one, room.quote, full=full) for one in hit.evidence]
    if full:
        quotes += [
            {"about": clip(line(c.condition.spelling), 200), "text": clip(plain(c.quote), room.quote)}
            for c in hit.conditions
            if c.quote
        ]
        untrusted["abstract"] = clip(plain(paper.abstract), room.abstract)
        untrusted["conditions"] = strings((str(c) for c in hit.conditions), room.abstract // 2, 200)
    untrusted["quotes"] = quotes[: room.quotes]
    return {**entry, "untrusted": {name: held for name, held in untrusted.items() if held}}


def quote_entry(found: Evidence, most: int, *, full: bool) -> dict[str, Any]:
    """A quote, its text cut to ``most`` bytes; ``full`` adds its place and the sentence of the seed."""
    out: dict[str, Any] = {"about": clip(line(found.aspect), 200), "text": clip(plain(found.quote), most)}
    if full:
        out |= {"field": found.field[:40], "start": found.start, "end": found.end}
        out["seed_text"] = clip(plain(found.seed_quote), most // 2)
    return {name: held for name, held in out.items() if held != "" or name == "text"}


def _in_words(out: dict[str, Any]) -> str:
    """The answer as lines; what follows ``untrusted:`` on a line is text of papers."""
    rows = [f"{len(out['papers'])} papers of {out['library']}, plan {out['plan']}"]
    rows += [
        f"{name}: {'; '.join(out[name])}"
        for name in ("applied", "not_applied", "warnings", "cut")
        if name in out
    ]
    if "weak_match" in out:
        rows.append("weak match: perhaps no paper here answers this")
    if "next_cursor" in out:
        rows.append(f"next_cursor: {out['next_cursor']}")
    rows = strings(rows, TEXT // 2, 1_200)
    left = TEXT - size(rows)
    papers = []
    for one in out["papers"]:
        told = one["untrusted"]
        quotes = " | ".join(f"“{clip(line(quote['text']), 240)}”" for quote in told.get("quotes", [])[:2])
        shown = f": {clip(told['title'], 200)} {quotes}" if "title" in told else ""
        year = (f" ({one['year']})" if one["year"] is not None else "") + " RETRACTED" * ("retracted" in one)
        papers.append(f"{one['rank']}.{year} {one['score']} untrusted: {told.get('id', '')}{shown}")
    shown_papers = fitting((clip(row, 700) for row in papers), left - 100)
    if len(shown_papers) < len(papers):
        shown_papers.append(f"{len(papers) - len(shown_papers)} more: see the structured content")
    return "\n".join([*rows, *shown_papers])
