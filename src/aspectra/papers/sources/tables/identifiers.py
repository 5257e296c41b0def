"""A list of DOIs, PMIDs, arXiv ids or web addresses, one per line.

Each is kept as a paper without text, under its identifier: a record of the same paper that comes later
completes it. A web address without identifier is kept as the paper's address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.identifiers import parse_identifier, scheme_of
from aspectra.papers.ids import choose_id
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import identifiers_of
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean

_TRIED = 500  # lines by which a list is recognised
_BEFORE = re.compile(r"(?:[-*•]|\[?\d{1,4}[.)\]])[ \t]{1,8}")
_PMID = re.compile(r"[1-9]\d{4,7}")
_ADDRESS = re.compile(r"https?://[^\s<>\"]{4,2000}")
_LABEL = re.compile(r"[A-Za-z]{2,8}\s?:?\s{0,4}")


def identifier_in_line(line: str, *, numbers: bool = False) -> tuple[str, str] | None:
    """(scheme, value) of a line that is one identifier and nothing else; scheme ``url`` for other addresses.

    Args:
        line: without its end; bullets, quotes, brackets and signs between cells around it do not count.
        numbers: whether a bare number of five to eight digits is a PMID.

    >>> identifier_in_line("- https://doi.org/10.1000/XYZ"), identifier_in_line("PMID: 1234567")
    (('doi', '10.1000/xyz'), ('pmid', '1234567'))
    >>> identifier_in_line("A paper, see 10.1000/xyz") is None
    True
    """
    text = line.strip()
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    text = text.strip("\"'<>,;\t ")
    if numbers and _PMID.fullmatch(text):
        return "pmid", text
    label, colon, rest = text.partition(":")
    if colon and " " in rest and scheme_of(label.strip()):
        text = f"{label.strip()}:{rest.strip()}"
    if not text or any(sign.isspace() for sign in text):
        return None
    if found := parse_identifier(text):
        return found
    if _ADDRESS.fullmatch(text):
        return "url", text
    return None


class Identifiers:
    """Lists of identifiers."""

    name = "identifiers"
    description = "a list of DOIs, PMIDs, arXiv ids or web addresses, one a line: kept to be completed later"
    endings = (".txt",)

    def sniff(self, path: Path, head: bytes) -> float:
        """0.9 where nearly every line is an identifier or an address, 0.6 for numbers that may be PMIDs."""
        if b"\x00" in head:
            return 0.0
        lines = [line for line in head.decode("utf-8", "replace").splitlines()[:_TRIED] if line.strip()]
        lines = lines[:-1] if len(head) > 60_000 else lines
        if not lines:
            return 0.0
        found = [identifier_in_line(line) for line in lines if len(line) < 2100]
        named = sum(one is not None for one in found)
        if named >= 0.8 * (len(lines) - 1) and any(one and one[0] != "url" for one in found):
            return 0.9
        if named and named >= 0.9 * (len(lines) - 1):
            return 0.7
        numbers = sum(_PMID.fullmatch(line.strip()) is not None for line in lines)
        return 0.6 if numbers >= 3 and numbers >= len(lines) - 1 else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """A paper without text for every line that is an identifier; remarks for the other lines.

        Raises:
            BadInput: no line is an identifier.
        """
        numbers = self.sniff(file.path, file.head) == 0.6
        count = others = 0
        seen: set[tuple[str, str]] = set()
        for item in file.text_lines():
            if isinstance(item, Remark):
                yield item
                continue
            number, line = item
            if not line.strip():
                continue
            found = identifier_in_line(line, numbers=numbers)
            if found is None:
                others += 1
                yield Remark(f"line {number}", f"is no identifier: skipped: {clean(line)[:100]}")
                continue
            if found in seen:
                yield Remark(f"line {number}", f"{found[1][:100]} stands in an earlier line", skipped=False)
                continue
            seen.add(found)
            count += 1
            scheme, value = found
            if scheme == "url":
                yield Paper(id=clean(value), url=clean(value))
            else:
                named = identifiers_of([found])
                yield Paper(id=choose_id(identifiers=named), identifiers=named)
        if not count:
            raise BadInput(
                f"{file.path} holds no list of identifiers",
                why=f"none of its {others} lines is a DOI, PMID, arXiv id or web address",
                hint="write one identifier a line, or export as RIS",
            )
        reason = f"a list of identifiers: {count} papers without text are kept, to be completed"
        yield Remark("file", reason, skipped=False)


SOURCES.register("identifiers")(Identifiers())
