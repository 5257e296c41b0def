"""Kinds of publication in one vocabulary (that of CSL), and the metadata names that formats share.

Sources of bibliographies put what a :class:`Paper` has no field for under these metadata names, so that
a record read from one format can be written in another: ``type`` (a CSL type), ``volume``, ``issue``,
``pages``, ``publisher``, ``issn``, ``date``, ``note`` (text), ``keywords`` and ``editors`` (lists).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["BIBTEX_TYPES", "CSL_TO_BIBTEX", "CSL_TO_RIS", "RIS_TYPES", "SHARED", "shared_list", "shared_text"]

SHARED = ("type", "volume", "issue", "pages", "publisher", "issn", "date", "note", "keywords", "editors")

BIBTEX_TYPES = {
    "article": "article-journal",
    "suppperiodical": "article-journal",
    "periodical": "periodical",
    "book": "book",
    "mvbook": "book",
    "collection": "book",
    "proceedings": "book",
    "booklet": "pamphlet",
    "inbook": "chapter",
    "bookinbook": "chapter",
    "incollection": "chapter",
    "inproceedings": "paper-conference",
    "conference": "paper-conference",
    "inreference": "entry-encyclopedia",
    "manual": "report",
    "mastersthesis": "thesis",
    "phdthesis": "thesis",
    "thesis": "thesis",
    "report": "report",
    "techreport": "report",
    "patent": "patent",
    "online": "webpage",
    "electronic": "webpage",
    "www": "webpage",
    "dataset": "dataset",
    "software": "software",
    "unpublished": "manuscript",
    "misc": "document",
}
CSL_TO_BIBTEX = {
    "article": "misc",
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "book": "book",
    "chapter": "incollection",
    "paper-conference": "inproceedings",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
    "pamphlet": "booklet",
}
RIS_TYPES = {
    "JOUR": "article-journal",
    "EJOUR": "article-journal",
    "JFULL": "periodical",
    "MGZN": "article-magazine",
    "NEWS": "article-newspaper",
    "BOOK": "book",
    "EBOOK": "book",
    "EDBOOK": "book",
    "CHAP": "chapter",
    "ECHAP": "chapter",
    "CONF": "paper-conference",
    "CPAPER": "paper-conference",
    "THES": "thesis",
    "RPRT": "report",
    "PAT": "patent",
    "ELEC": "webpage",
    "BLOG": "post-weblog",
    "DATA": "dataset",
    "COMP": "software",
    "UNPB": "manuscript",
    "MANSCPT": "manuscript",
    "INPR": "article-journal",
    "GEN": "document",
}
CSL_TO_RIS = {
    "article": "GEN",
    "article-journal": "JOUR",
    "article-magazine": "MGZN",
    "article-newspaper": "NEWS",
    "periodical": "JFULL",
    "book": "BOOK",
    "chapter": "CHAP",
    "paper-conference": "CPAPER",
    "thesis": "THES",
    "report": "RPRT",
    "patent": "PAT",
    "webpage": "ELEC",
    "post-weblog": "BLOG",
    "dataset": "DATA",
    "software": "COMP",
    "manuscript": "UNPB",
}


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
