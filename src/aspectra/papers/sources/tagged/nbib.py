"""PubMed exports in MEDLINE format (``.nbib``, or "PubMed" text files).

All fields stay in ``metadata["nbib"]`` as (tag, value) pairs, except the abstract, which is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import (
    assemble,
    given_first,
    identifiers_of,
    json_value,
    language_of,
    one_line,
    year_in,
)
from aspectra.papers.sources.files import clean, read_text
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["Nbib"]

_TAG = re.compile(r"^([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)$")
_SNIFF = re.compile(r"^PMID *- *\d+", re.M)
_OTHER = re.compile(r"^(?:OWN |STAT|DCOM|LR  |DP  |FAU |TI  )- ", re.M)
_DOI = re.compile(r"^(\S+)\s*\[doi\]$", re.I)
_KINDS = {
    "Journal Article": "article-journal",
    "Preprint": "article",
    "Dataset": "dataset",
    "Congress": "paper-conference",
    "News": "article-newspaper",
    "Technical Report": "report",
}


@dataclass(slots=True)
class _Raw:
    line: int
    fields: list[tuple[str, str]] = field(default_factory=list)

    def all(self, tag: str) -> list[str]:
        return [value for name, value in self.fields if name == tag and value]

    def first(self, *tags: str) -> str:
        return next((value for tag in tags for value in self.all(tag)), "")


class Nbib:
    """PubMed MEDLINE exports."""

    name = "nbib"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 when the head holds a PMID and another MEDLINE tag."""
        text = head.decode("utf-8", "replace").replace("\r\n", "\n")
        if _SNIFF.search(text) and not re.search(r"^TY  - ", text, re.M):
            return 0.95 if _OTHER.search(text) else 0.6
        return 0.2 if path.suffix.casefold() == ".nbib" and text.strip() else 0.0

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no record.
        """
        yield from distinct_ids(self._read(path, options))

    def _read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        text, notes = read_text(path)
        yield from notes
        count = 0
        for raw in _records(json_value(text)):
            count += 1
            yield from _paper(raw, f"record {count} (line {raw.line})", options)
        if not count:
            raise BadInput(
                f"{path} holds no PubMed record",
                why="no line begins with PMID-",
                hint="if it is another format, name it with --as NAME",
            )


def _records(text: str) -> Iterator[_Raw]:
    current: _Raw | None = None
    blank = True
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            blank = True
            continue
        found = _TAG.match(line)
        # PMID begins a record; after a blank line, so does any tag where the last record is complete.
        fresh = found and (found.group(1) == "PMID" or current is None)
        if found and blank and current and current.first("TI", "BTI") and found.group(1) in ("TI", "OWN"):
            fresh = True
        if found and fresh:
            if current:
                yield current
            current = _Raw(number)
        if found and current:
            current.fields.append((found.group(1), found.group(2).strip()))
        elif current and current.fields:
            tag, value = current.fields[-1]
            current.fields[-1] = (tag, f"{value} {line.strip()}".strip())
        blank = False
    if current:
        yield current


def _paper(raw: _Raw, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    title = one_line(raw.first("TI", "BTI", "TT"))
    if title.startswith("[") and title.rstrip(".").endswith("]"):
        title = title.rstrip(".").strip("[]")  # a translated title
    abstract = clean(raw.first("AB"))
    pmid = raw.first("PMID")
    pairs: list[tuple[str, object]] = [("pmid", pmid), ("pmcid", raw.first("PMC"))]
    for value in (*raw.all("LID"), *raw.all("AID")):
        if found := _DOI.match(value):
            pairs.append(("doi", found.group(1)))
    serial = raw.first("ISBN")
    pairs.append(("isbn", serial.split()[0] if serial else ""))
    authors = raw.all("FAU") or raw.all("AU")
    names = [given_first(name) for name in authors] + [one_line(name) for name in raw.all("CN")]
    words = [*raw.all("OT"), *raw.all("MH")]
    kind = next((_KINDS[k] for k in raw.all("PT") if k in _KINDS), "article-journal")
    shared: dict[str, Any] = {
        "type": "book" if raw.first("BTI") and not raw.first("TI") else kind,
        "volume": raw.first("VI"),
        "issue": raw.first("IP"),
        "pages": raw.first("PG"),
        "publisher": raw.first("PB"),
        "issn": raw.first("IS").split(" ")[0],
        "date": raw.first("DP"),
        "keywords": list(dict.fromkeys(word.lstrip("*") for word in words)),
        "editors": [given_first(name) for name in raw.all("FED") or raw.all("ED")],
    }
    metadata = {name: value for name, value in shared.items() if value}
    metadata["nbib"] = [[tag, value] for tag, value in raw.fields if tag != "AB" or value != abstract]
    yield from assemble(
        place,
        options,
        own_id=pmid,
        title=title,
        abstract=abstract,
        authors=[name for name in names if name],
        year=year_in(raw.first("DP")) or year_in(raw.first("DEP", "EDAT", "DA")),
        venue=one_line(raw.first("JT", "TA", "BTI")),
        identifiers=identifiers_of(pairs),
        language=language_of(raw.first("LA")),
        metadata=metadata,
    )


SOURCES.register("nbib")(Nbib())
