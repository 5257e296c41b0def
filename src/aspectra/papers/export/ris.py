"""RIS, readable by Zotero, EndNote, Mendeley and screening tools.

A paper that came from RIS is written with its own type and tags as long as they still say what the paper
holds, but under one name each (``TI AU AB PY``): programs take the names of a whole file from one record. The
year stands alone under ``PY``, a date in numbers under ``DA``. Lost: dates in words that no calendar has,
sections, references, sentence spans, metadata outside the shared names, line ends inside abstracts, lines
after the end of a record, identifiers other than DOI, PMID, PMCID, ISBN and arXiv. The arXiv id is written as
a link, which becomes the URL of a paper that has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aspectra.papers.bibliography import fullest_date, shared_list, shared_text
from aspectra.papers.export.protocol import (
    NO_LIMIT,
    WRITERS,
    ReadBack,
    family_first,
    plain_doi,
    raw_record,
    tidy,
)
from aspectra.papers.names import names_in_lines
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tagged.records import TaggedRecord
from aspectra.papers.sources.tagged.ris import NAMES, TAGS_OF, ris_paper
from aspectra.papers.text.cleaning import one_line

_Tags = list[tuple[str, str]]
_COMMON = {"T1": "TI", "A1": "AU", "N2": "AB"}
_KINDS = {meant: kind for kind, meant in reversed(NAMES.types.items())} | NAMES.written_types


class RisWriter:
    """RIS records."""

    name = "ris"
    suffix = ".ris"

    def write(self, papers: Iterable[Paper]) -> str:
        """One record a paper, separated by blank lines; the id is under ``ID``."""
        return "\n".join(_record(paper) for paper in map(tidy, papers))


def _record(paper: Paper) -> str:
    kind, tags = _tags(paper)
    lines = [f"TY  - {kind}"]
    for tag, value in tags:
        pieces = value.split("\n") if tag in ("KW", "N1") else [value]
        lines += [f"{tag}  - {one_line(piece)}" for piece in pieces if piece.strip()]
    return "\n".join([*lines, "ER  - \n"])


def _tags(paper: Paper) -> tuple[str, _Tags]:
    raw = raw_record(paper, "ris")
    known = shared_text(paper.metadata, "type")
    kind = _KINDS.get(known) or ("JOUR" if paper.venue else "GEN")
    tags: _Tags = []
    if raw and isinstance(raw[1], list):
        kind = raw[0] if raw[0].isalnum() else kind
        tags = [(t, v) for t, v in map(_pair, raw[1]) if len(t) == 2 and t.isalnum() and t != "ID"]
    dates, tags = _dates(paper, tags), _in_common_names(paper, tags)
    if paper.abstract and not any(tag in TAGS_OF["abstract"] for tag, _ in tags):
        tags += _written(paper, "abstract", kind)
    back = ReadBack(paper, ris_paper(TaggedRecord([("TY", kind), *tags, *dates]), "", NO_LIMIT))
    for attribute in back.attributes(name for name in TAGS_OF if name != "year"):
        tags = [(tag, value) for tag, value in tags if tag not in TAGS_OF[attribute]]
        tags += _written(paper, attribute, kind)
    tags += dates + _identifiers(paper, back)
    held = {(tag, one_line(value)) for tag, value in tags if tag in ("KW", "N1")}
    tags += [pair for pair in _shared(paper, back) if pair not in held]
    return kind, [*tags, ("ID", paper.id)]


def _in_common_names(paper: Paper, tags: _Tags) -> _Tags:
    """Tags under their usual names, without markup, dates and people who are nobody (*et al.*)."""
    held = {tag for tag, _ in tags}
    out: _Tags = []
    for tag, value in tags:
        name = _COMMON.get(tag, tag)
        name = name if name == "AU" or name not in held else tag
        if name == "TI" and paper.title:
            out.append((name, paper.title))
        elif name == "DO":
            out.append((name, plain_doi(paper, value)))
        elif name == "AU":
            out += [(name, value)] if names_in_lines([value]) else []
        elif name not in TAGS_OF["year"] and not (name == "AB" and paper.abstract):
            out.append((name, value))
    return out if "DO" in held else [*out, ("DO", plain_doi(paper))]


def _dates(paper: Paper, tags: _Tags) -> _Tags:
    said = [
        shared_text(paper.metadata, "date"),
        *(v for name in TAGS_OF["year"] for t, v in tags if t == name),
    ]
    if paper.year is None:
        return [("DA", text) for text in said if text][:1]
    parts = fullest_date(said, paper.year)
    exact = [("DA", "/".join(f"{part:02}" for part in parts))] if len(parts) > 1 else []
    return [("PY", str(paper.year)), *exact]


def _pair(item: Any) -> tuple[str, str]:
    match item:
        case [str(tag), str(value)]:
            return tag, value
    return "", ""


def _written(paper: Paper, attribute: str, kind: str) -> _Tags:
    match attribute:
        case "authors":
            return [("AU", name) for name in family_first(paper, paper.authors)]
        case "venue":
            tag = "JO" if kind in ("JOUR", "EJOUR", "MGZN", "NEWS") else "T2"
            return [(tag, paper.venue)] if paper.venue else []
    tag = {"title": "TI", "abstract": "AB", "url": "UR", "language": "LA"}[attribute]
    value = getattr(paper, attribute)
    if attribute == "url":
        value = value.replace(";", "%3B")  # readers split links there
    return [(tag, one_line(value))] if value else []


def _identifiers(paper: Paper, back: ReadBack) -> _Tags:
    tags = {"doi": "DO", "pmcid": "C2", "isbn": "SN"}
    out: _Tags = []
    for scheme, value in back.identifiers().items():
        if scheme in tags:
            out.append((tags[scheme], value))
        elif scheme == "pmid" and shared_text(paper.metadata, "database") == "PubMed":
            out += [("AN", value), ("DB", "PubMed")]
        elif scheme == "pmid":  # an accession number would make the record one of PubMed
            out.append(("M2", f"PMID: {value}"))
        elif scheme == "arxiv":
            out.append(("UR", f"https://arxiv.org/abs/{value}"))
    return out


def _shared(paper: Paper, back: ReadBack) -> _Tags:
    out: _Tags = []
    for name in back.shared():
        if name == "keywords":
            out += [("KW", word) for word in shared_list(paper.metadata, name)]
        elif name == "note":
            out += [("N1", one_line(line)) for line in shared_text(paper.metadata, name).split("\n")]
        elif name == "editors":
            out += [("A2", one) for one in family_first(paper, shared_list(paper.metadata, name))]
        elif name == "pages":
            start, _, end = shared_text(paper.metadata, name).partition("-")
            out += [("SP", start.strip()), ("EP", end.strip("- "))]
        elif name in NAMES.shared and name != "date":
            out.append((NAMES.shared[name][0], shared_text(paper.metadata, name)))
    return [(tag, value) for tag, value in out if value]


WRITERS.register("ris")(RisWriter())
