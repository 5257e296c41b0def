"""RIS, readable by Zotero, EndNote, Mendeley and screening tools.

A paper that came from RIS is written with its own type and tags as long as they still say what the paper
holds. Lost: sections, references, sentence spans, metadata outside the shared names, line ends inside
abstracts, lines that stood after the end of a record, identifiers other than DOI, PMID, PMCID, ISBN and
arXiv. The arXiv id is written as a link, which becomes the URL of a paper that has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aspectra.papers.export.protocol import WRITERS, raw_record, tidy
from aspectra.papers.kinds import CSL_TO_RIS, SHARED, shared_list, shared_text
from aspectra.papers.names import given_first, name_parts
from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import ReadOptions
from aspectra.papers.sources.tagged.records import TaggedRecord
from aspectra.papers.sources.tagged.ris import TAGS_OF, ris_paper
from aspectra.papers.text.cleaning import one_line

__all__ = ["RisWriter"]

_NO_LIMIT = ReadOptions(max_text_chars=2**62)
_SHARED_TAGS = {"volume": "VL", "issue": "IS", "publisher": "PB", "issn": "SN", "date": "DA", "note": "N1"}
_Tags = list[tuple[str, str]]


class RisWriter:
    """RIS records."""

    name = "ris"
    suffix = ".ris"

    def write(self, papers: Iterable[Paper]) -> str:
        """One record a paper, parted by blank lines; the id stands under ``ID``."""
        return "\n".join(_record(paper) for paper in map(tidy, papers))


def _record(paper: Paper) -> str:
    kind, tags = _tags(paper)
    lines = [f"TY  - {kind}"]
    for tag, value in tags:
        pieces = value.split("\n") if tag == "KW" else [value]
        lines += [f"{tag}  - {one_line(piece)}" for piece in pieces if piece.strip()]
    lines.append("ER  - ")
    return "\n".join(lines) + "\n"


def _tags(paper: Paper) -> tuple[str, _Tags]:
    raw = raw_record(paper, "ris")
    known = shared_text(paper.metadata, "type")
    kind = CSL_TO_RIS.get(known, "JOUR" if paper.venue else "GEN")
    tags: _Tags = []
    if raw and isinstance(raw[1], list):
        kind = raw[0] if raw[0].isalnum() else kind
        tags = [(t, v) for t, v in map(_pair, raw[1]) if len(t) == 2 and t.isalnum() and t != "ID"]
    if paper.abstract and not any(tag in TAGS_OF["abstract"] for tag, _ in tags):
        tags += _written(paper, "abstract", kind)
    said = _read_back(kind, tags)
    for attribute, names in TAGS_OF.items():
        if said is None or getattr(said, attribute) != getattr(paper, attribute):
            tags = [(tag, value) for tag, value in tags if tag not in names]
            tags += _written(paper, attribute, kind)
    tags += _identifiers(paper, said)
    tags += _shared(paper, said)
    tags.append(("ID", paper.id))
    return kind, tags


def _pair(item: Any) -> tuple[str, str]:
    match item:
        case [str(tag), str(value)]:
            return tag, value
    return "", ""


def _read_back(kind: str, tags: _Tags) -> Paper | None:
    try:
        items = ris_paper(TaggedRecord([("TY", kind), *tags]), "", _NO_LIMIT)
        return next((item for item in items if isinstance(item, Paper)), None)
    except ValueError:
        return None


def _written(paper: Paper, attribute: str, kind: str) -> _Tags:
    match attribute:
        case "authors":
            return [("AU", _person(name)) for name in paper.authors]
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


def _person(name: str) -> str:
    parts = name_parts(name)
    if parts is None:
        return name
    given, particle, family, suffix = parts
    whole = f"{particle} {family}".strip()
    inverted = f"{whole}, {given}, {suffix}" if suffix else f"{whole}, {given}"
    return inverted if given_first(inverted) == name else name


def _identifiers(paper: Paper, said: Paper | None) -> _Tags:
    known = said.identifiers if said else {}
    tags = {"doi": "DO", "pmcid": "C2", "isbn": "SN"}
    out: _Tags = []
    for scheme, value in paper.identifiers.items():
        if known.get(scheme) == value:
            continue
        if scheme in tags:
            out.append((tags[scheme], value))
        elif scheme == "pmid":
            out += [("AN", value), ("DB", "PubMed")]
        elif scheme == "arxiv":
            out.append(("UR", f"https://arxiv.org/abs/{value}"))
    return out


def _shared(paper: Paper, said: Paper | None) -> _Tags:
    known: Mapping[str, Any] = said.metadata if said else {}
    out: _Tags = []
    for name in SHARED:
        if not paper.metadata.get(name) or known.get(name) == paper.metadata.get(name):
            continue
        if name == "keywords":
            out += [("KW", word) for word in shared_list(paper.metadata, name)]
        elif name == "editors":
            out += [("A2", _person(editor)) for editor in shared_list(paper.metadata, name)]
        elif name == "pages":
            start, _, end = shared_text(paper.metadata, name).partition("-")
            out += [("SP", start.strip()), ("EP", end.strip("- "))]
        elif name in _SHARED_TAGS:
            out.append((_SHARED_TAGS[name], shared_text(paper.metadata, name)))
    return [(tag, value) for tag, value in out if value]


WRITERS.register("ris")(RisWriter())
