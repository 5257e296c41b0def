"""RIS files, as databases and reference managers really export them.

rispy knows the tags; before it, records are cut out and straightened here, because real files have wrong
spacing, no end of record, blank lines, links after the end, and ``ER`` at the beginning of a line of text.
All tags stay in ``metadata["ris"]``, unknown ones too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.fields import json_value
from aspectra.papers.sources.files import read_text
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tagged.ris_record import tagged_paper

__all__ = ["RIS"]

_START = re.compile(r"^\s{0,4}TY(\s{0,4}-)\s*([A-Za-z][A-Za-z0-9]{1,9})?\s*$")
_END = re.compile(r"^\s{0,4}ER\s{0,4}-?\s*$")
_END_WITH_TEXT = re.compile(r"^ER\s{1,3}-\s*\S")
_STRICT = re.compile(r"^([A-Z][A-Z0-9])  -(?:\s(.*)|)$", re.S)
_LOOSE = re.compile(r"^\s{0,4}([A-Z][A-Z0-9])\s{0,4}-\s*(.*)$", re.S)
_SNIFF = re.compile(r"^[ \t]{0,4}TY[ \t]{0,4}-[ \t]*[A-Z]", re.M)


@dataclass(slots=True)
class _Raw:
    line: int
    kind: str = "GEN"
    strict: bool = True
    ended: bool = False
    started: bool = True
    tags: list[tuple[str, list[str]]] = field(default_factory=list)


class RIS:
    """RIS exports of databases and reference managers."""

    name = "ris"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 when the head holds a ``TY  -`` line, a little for the name alone."""
        text = head.decode("utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
        found = _SNIFF.search(text.replace("\r\n", "\n").replace("\r", "\n"))
        if found:
            return 0.95 if found.start() < 4000 else 0.6
        return 0.2 if path.suffix.casefold() == ".ris" and text.strip() else 0.0

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
            place = f"record {count} (line {raw.line})"
            if not raw.started:
                yield Remark(place, "TY missing: read as a generic record", skipped=False)
            elif not raw.ended:
                yield Remark(place, "ER missing: the record was ended at the next one", skipped=False)
            tags = [(tag, ("\n" if tag == "KW" else " ").join(lines)) for tag, lines in raw.tags]
            try:
                items = list(tagged_paper(raw.kind, tags, place, options))
            except (ValueError, LookupError, AttributeError, TypeError) as error:
                yield Remark(place, f"record cannot be read: {error}")
                continue
            yield from items
        if not count:
            raise BadInput(
                f"{path} holds no RIS record",
                why="no line begins with TY  -",
                hint="if it is another format, name it with --as NAME",
            )


def _records(text: str) -> Iterator[_Raw]:
    """Records cut out of the text, with tag lines recognised and continuation lines attached."""
    lines = text.split("\n")
    begins = [bool(_START.match(line)) for line in lines]
    # For every line, whether the next line that is not blank begins a record (or none follows).
    next_begins = [True] * len(lines)
    after = True
    for number in range(len(lines) - 1, -1, -1):
        next_begins[number] = after
        if lines[number].strip():
            after = begins[number]
    current: _Raw | None = None
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if begins[number]:
            if current:
                yield current
            found = _START.match(line)
            spacing, kind = (found.group(1), found.group(2)) if found else ("", None)
            current = _Raw(number + 1, (kind or "GEN").upper(), strict=spacing == "  -")
            continue
        if current is None:
            continue  # headers that some databases put before the first record
        if _END.match(line) or (_END_WITH_TEXT.match(line) and next_begins[number]):
            current.ended = True
            continue
        found = None if _END_WITH_TEXT.match(line) else (_STRICT if current.strict else _LOOSE).match(line)
        if found and current.ended:
            yield current
            current = _Raw(number + 1, started=False, strict=current.strict)
        if found:
            current.tags.append((found.group(1), [(found.group(2) or "").strip()]))
        elif current.ended:
            current.tags.append(("", [line.strip()]))  # "Link to full text" lines of Ovid and Embase
        elif current.tags:
            current.tags[-1][1].append(line.strip())
    if current:
        yield current


SOURCES.register("ris")(RIS())
