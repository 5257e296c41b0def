"""One paper: its record, its links, and a part of its text; and papers as citations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aspectra.app.surfaces.mcp.choices import library_of, papers_of
from aspectra.app.surfaces.mcp.fitting import clip, fitting, handle, line, plain, room, size, strings
from aspectra.app.surfaces.mcp.listing import Told
from aspectra.papers.record_facts import is_retracted

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.arguments import Cite, Get
    from aspectra.app.surfaces.mcp.libraries import Libraries
    from aspectra.papers.export.protocol import Writer
    from aspectra.papers.paper import Paper

# Most bytes of a passage and of citations. Both stand in the structured content and in the text beside it,
# since a client may show either alone.
_PASSAGE = 8_000
_CITATIONS = 10_000


def get_paper(libraries: Libraries, given: Get, chosen: Mapping[str, str]) -> Told:
    """A paper, with as much of its text from ``start`` as there is room for."""
    name, service = library_of(libraries, given, chosen)
    library = service.library
    paper = library.show(papers_of(service, [given.id], chosen)[0])
    text, headings = _text(paper)
    links = library.links(paper.id)
    out: dict[str, Any] = {
        "library": name,
        "year": paper.year,
        **({"retracted": True} if is_retracted(paper) else {}),
        "untrusted": {
            "id": handle(paper.id, dict(paper.identifiers)),
            "links": {kind: _links(ids) for kind, ids in links.items() if ids},
            "title": clip(line(paper.title), 800),
            "authors": clip(line(", ".join(paper.authors[:100])), 600),
            "venue": clip(line(paper.venue), 200),
            "url": clip(line(paper.url), 300),
            "identifiers": strings((f"{k}:{v}" for k, v in paper.identifiers.items()), 400, 200),
            "sections": fitting(headings, 700),
        },
        "characters": len(text),
        "start": min(given.start, len(text)),
    }
    out["untrusted"] = {key: held for key, held in out["untrusted"].items() if held}
    end = room(text, _PASSAGE, out["start"])
    part = out["untrusted"]["text"] = text[out["start"] : end]
    if end < len(text):
        out["next_start"] = end
    told = " ".join(out["untrusted"].get(name, "") for name in ("id", "title"))
    more = f"; the rest: start {end}" if end < len(text) else ""
    head = f"{paper.year or 'no year'}, characters {out['start']} to {end} of {len(text)}{more}"
    head = f"RETRACTED, {head}" if "retracted" in out else head
    return Told(out, f"{head}\nuntrusted, to the end: {clip(told, 600)}\n{part}")


def _links(ids: Sequence[str]) -> dict[str, Any]:
    """How many papers, and those that can be named."""
    return {"count": len(ids), "ids": fitting((one for one in ids[:50] if handle(one, {})), 400)}


def _text(paper: Paper) -> tuple[str, list[dict[str, Any]]]:
    """The abstract and the sections as one text, and where each section begins."""
    parts, headings = [plain(paper.abstract).strip()], []
    at = len(parts[0])
    for section in paper.sections:
        heading, body = line(section.heading), plain(section.text).strip()
        whole = f"\n\n# {heading}\n\n{body}" if heading else f"\n\n{body}"
        headings.append({"heading": clip(heading, 100), "start": at})
        parts.append(whole)
        at += len(whole)
    return "".join(parts), headings


def export_citations(libraries: Libraries, given: Cite, chosen: Mapping[str, str]) -> Told:
    """Records for a reference manager, one a work, as many from ``start`` as there is room for."""
    from aspectra.app.ingest.works import one_each
    from aspectra.papers.export.protocol import WRITERS

    name, service = library_of(libraries, given, chosen)
    ids = papers_of(service, given.ids, chosen)
    records = [_record(paper, abstracts=given.abstracts) for paper in one_each(service.library.store, ids)]
    writer = WRITERS.get(given.format)
    kept, cut, end = _kept(writer, records, given.start)
    text = plain(writer.write(kept)) if kept else ""
    out: dict[str, Any] = {"library": name, "format": given.format, "start": given.start}
    out |= {"records": len(kept), "of": len(records)}
    if end < len(records):
        out["next_start"] = end
    if shown := strings(cut, 500, 100):
        out["cut"] = shown
    more = f"; the rest: start {end}" if end < len(records) else ""
    head = (
        f"{len(kept)} of {len(records)} records as {given.format}{more}{''.join(f'; {one}' for one in shown)}"
    )
    return Told({**out, "untrusted": {"text": text}}, f"{head}\nuntrusted, to the end:\n{text}")


def _kept(writer: Writer, records: Sequence[Paper], start: int) -> tuple[list[Paper], list[str], int]:
    """Records that have room together, what was cut, and the number of the first that waits."""
    kept, places, cut, left = [], [], list[str](), _CITATIONS
    end = len(records)
    for place, paper in enumerate(records[start:], start=start):
        sizes = ((one, size(plain(writer.write([one]))) + 4) for one in _shorter(paper))
        alone, taken = next((pair for pair in sizes if pair[1] <= _CITATIONS), (None, 0))
        if alone is None:
            cut.append(f"record {place} has no room: aspectra export writes it")
            continue
        if taken > left:
            end = place
            break
        kept.append(alone)
        places.append(place)
        left -= taken
        if alone is not paper:
            cut.append(f"record {place} was shortened")
    while size(plain(writer.write(kept))) > _CITATIONS:  # where together they are longer than each alone
        kept.pop()
        end = places.pop()
    return kept, cut, end


def _record(paper: Paper, *, abstracts: bool) -> Paper:
    whole = replace(paper, sections=(), references=(), sentences=())
    return whole if abstracts else replace(whole, abstract="")


def _shorter(paper: Paper) -> Iterator[Paper]:
    """A paper, and with less and less of what citations can do without."""
    yield paper
    bare = replace(paper, abstract="", metadata={})
    yield bare
    yield replace(bare, title=paper.title[:300], authors=paper.authors[:20], venue=paper.venue[:100], url="")
