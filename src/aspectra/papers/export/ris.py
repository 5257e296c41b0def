"""RIS, readable by Zotero, EndNote, Mendeley and screening tools.

A paper that came from RIS is written with its own type and tags as long as they still say what the paper
holds. Lost: sections, references, sentence spans, metadata outside the shared names, line ends inside
abstracts, lines after the end of a record, identifiers other than DOI, PMID, PMCID, ISBN and
arXiv. The arXiv id is written as a link, which becomes the URL of a paper that has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aspectra.papers.bibliography import shared_list, shared_text
from aspectra.papers.export.protocol import NO_LIMIT, WRITERS, ReadBack, inverted, raw_record, tidy
from aspectra.papers.names import given_first, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tagged.records import TaggedRecord
from aspectra.papers.sources.tagged.ris import NAMES, TAGS_OF, ris_paper
from aspectra.papers.text.cleaning import one_line

_Tags = list[tuple[str, str]]
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
    lines.append("ER  - ")
    return "\n".join(lines) + "\n"


def _tags(paper: Paper) -> tuple[str, _Tags]:
    raw = raw_record(paper, "ris")
    known = shared_text(paper.metadata, "type")
    kind = _KINDS.get(known) or ("JOUR" if paper.venue else "GEN")
    tags: _Tags = []
    if raw and isinstance(raw[1], list):
        kind = raw[0] if raw[0].isalnum() else kind
        tags = [(t, v) for t, v in map(_pair, raw[1]) if len(t) == 2 and t.isalnum() and t != "ID"]
    if paper.abstract and not any(tag in TAGS_OF["abstract"] for tag, _ in tags):
        tags += _written(paper, "abstract", kind)
    back = ReadBack(paper, ris_paper(TaggedRecord([("TY", kind), *tags]), "", NO_LIMIT))
    for attribute in back.attributes(TAGS_OF):
        tags = [(tag, value) for tag, value in tags if tag not in TAGS_OF[attribute]]
        tags += _written(paper, attribute, kind)
    tags += _identifiers(paper, back)
    held = {(tag, one_line(value)) for tag, value in tags if tag in ("KW", "N1")}
    tags += [pair for pair in _shared(paper, back) if pair not in held]
    tags.append(("ID", paper.id))
    return kind, tags


def _pair(item: Any) -> tuple[str, str]:
    match item:
        case [str(tag), str(value)]:
            return tag, value
    return "", ""


def _written(paper: Paper, attribute: str, kind: str) -> _Tags:
    match attribute:
        case "authors":
            return [("AU", name) for name in _people(paper, paper.authors)]
        case "year":
            return [("PY", str(paper.year))] if paper.year is not None else []
        case "venue":
            tag = "JO" if kind in ("JOUR", "EJOUR", "MGZN", "NEWS") else "T2"
            return [(tag, paper.venue)] if paper.venue else []
    tag = {"title": "TI", "abstract": "AB", "url": "UR", "language": "LA"}[attribute]
    value = getattr(paper, attribute)
    if attribute == "url":
        value = value.replace(";", "%3B")  # readers split links there
    return [(tag, one_line(value))] if value else []


def _people(paper: Paper, names: Iterable[str]) -> list[str]:
    stated = stated_names(paper.metadata)
    turned = {name: inverted(name, stated, suffix_last=True) for name in names}
    return [turned[name] if given_first(turned[name]) == name else name for name in names]


def _identifiers(paper: Paper, back: ReadBack) -> _Tags:
    tags = {"doi": "DO", "pmcid": "C2", "isbn": "SN"}
    out: _Tags = []
    for scheme, value in back.identifiers().items():
        if scheme in tags:
            out.append((tags[scheme], value))
        elif scheme == "pmid":
            out += [("AN", value), ("DB", "PubMed")]
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
            out += [("A2", one) for one in _people(paper, shared_list(paper.metadata, name))]
        elif name == "pages":
            start, _, end = shared_text(paper.metadata, name).partition("-")
            out += [("SP", start.strip()), ("EP", end.strip("- "))]
        elif name in NAMES.shared:
            out.append((NAMES.shared[name][0], shared_text(paper.metadata, name)))
    return [(tag, value) for tag, value in out if value]


WRITERS.register("ris")(RisWriter())
