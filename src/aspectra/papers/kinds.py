"""Kinds of publication in one vocabulary (that of CSL), and the metadata names that formats share.

Sources of bibliographies put what a :class:`Paper` has no field for under these metadata names, so that
a record read from one format can be written in another: ``type`` (a CSL type), ``volume``, ``issue``,
``pages``, ``publisher``, ``issn``, ``date``, ``note`` (text), ``keywords`` and ``editors`` (lists).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["BIBTEX_TYPES", "CSL_TO_BIBTEX", "CSL_TO_RIS", "RIS_TYPES", "SHARED", "shared_list", "shared_text"]

SHARED = ("type", "volume", "issue", "pages", "publisher", "issn", "date", "note", "keywords", "editors")

# CSL type -> the types of a format that mean it; the first is the one to write.
_BIBTEX = {
    "article-journal": ("article", "suppperiodical"),
    "book": ("book", "mvbook", "collection", "proceedings"),
    "pamphlet": ("booklet",),
    "chapter": ("incollection", "inbook", "bookinbook"),
    "paper-conference": ("inproceedings", "conference"),
    "thesis": ("phdthesis", "mastersthesis", "thesis"),
    "report": ("techreport", "manual", "report"),
    "manuscript": ("unpublished",),
}
# Read, but written by the venue: BibTeX itself does not know them.
_BIBLATEX = {
    "periodical": ("periodical",),
    "entry-encyclopedia": ("inreference",),
    "patent": ("patent",),
    "webpage": ("online", "electronic", "www"),
    "dataset": ("dataset",),
    "software": ("software",),
    "document": ("misc",),
}
_RIS = {
    "article-journal": ("JOUR", "EJOUR", "INPR"),
    "article-magazine": ("MGZN",),
    "article-newspaper": ("NEWS",),
    "periodical": ("JFULL",),
    "book": ("BOOK", "EBOOK", "EDBOOK"),
    "chapter": ("CHAP", "ECHAP"),
    "paper-conference": ("CPAPER", "CONF"),
    "thesis": ("THES",),
    "report": ("RPRT",),
    "patent": ("PAT",),
    "webpage": ("ELEC",),
    "post-weblog": ("BLOG",),
    "dataset": ("DATA",),
    "software": ("COMP",),
    "manuscript": ("UNPB", "MANSCPT"),
}


def _by_name(kinds: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names}


BIBTEX_TYPES = _by_name(_BIBTEX | _BIBLATEX)
RIS_TYPES = {**_by_name(_RIS), "GEN": "document"}
CSL_TO_BIBTEX = {kind: names[0] for kind, names in _BIBTEX.items()}
CSL_TO_BIBTEX |= {"article": "misc", "article-magazine": "article", "article-newspaper": "article"}
CSL_TO_RIS = {kind: names[0] for kind, names in _RIS.items()} | {"article": "GEN"}


def shared_text(metadata: Mapping[str, Any], name: str) -> str:
    """The text or number under a shared metadata name; "" when it is absent or of another kind."""
    value = metadata.get(name)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def shared_list(metadata: Mapping[str, Any], name: str) -> list[str]:
    """The texts under a shared metadata name, whether it holds a list or one text."""
    value = metadata.get(name)
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str) and v] if isinstance(value, list) else []
