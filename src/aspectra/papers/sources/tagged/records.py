"""The one reader of tagged formats (RIS, MEDLINE ...): a format declares its rules and what its tags mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import each
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import storable

__all__ = ["Rules", "TaggedFormat", "TaggedRecord", "cut_records"]

Tags = list[tuple[str, str]]


@dataclass(frozen=True)
class Rules:
    """How the records of a format are cut out of its text.

    Attributes:
        start: name of the tag that begins a record.
        begins: a line with that tag.
        tag: a line with any tag; its groups are the tag and its value.
        loose: the same in records whose first line does not match ``tag``; None where all lines must.
        stop: name of the tag that ends a record, or "" where there is none.
        end: a line that ends a record. If its group 1 is not empty, the line counts only if a record follows.
        headless: whether a record may lack its start tag: at the beginning of the file, and for ``fresh``.
        fresh: tags that begin a record behind a blank line when the one before has a title.
        titles: the tags of titles.
        listed: tags whose continuation lines are values of their own: they keep their line ends.
    """

    start: str
    begins: re.Pattern[str]
    tag: re.Pattern[str]
    loose: re.Pattern[str] | None = None
    stop: str = ""
    end: re.Pattern[str] | None = None
    headless: bool = False
    fresh: frozenset[str] = frozenset()
    titles: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()


@dataclass(slots=True)
class TaggedRecord:
    """One record.

    Attributes:
        tags: (tag, value) in file order; tag "" holds lines after the end of the record.
        line: number of its first line.
        strict: whether its lines must match ``Rules.tag``.
        ended: whether its end was marked.
    """

    tags: Tags = field(default_factory=list)
    line: int = 0
    strict: bool = True
    ended: bool = False

    def all(self, *tags: str) -> list[str]:
        """The values of the first of these tags that has any."""
        found = ([value for name, value in self.tags if name == tag and value.strip()] for tag in tags)
        return next((values for values in found if values), [])

    def first(self, *tags: str) -> str:
        """The first value of the first of these tags that has one, else ""."""
        return next(iter(self.all(*tags)), "")


@dataclass(frozen=True)
class TaggedFormat:
    """A source of tagged records; each format fills in these fields.

    Attributes:
        name: see :class:`~aspectra.papers.sources.protocol.Source`, as for ``description`` and ``endings``.
        noun: what a record is called in messages.
        rules: how records are cut out.
        confidence: the beginning of the text, with plain line ends -> 0 to 1.
        convert: (record, place, options) -> papers and remarks; ValueError refuses the record.
    """

    name: str
    description: str
    endings: tuple[str, ...]
    noun: str
    rules: Rules
    confidence: Callable[[str], float]
    convert: Callable[[TaggedRecord, str, ReadOptions], Iterator[Paper | Remark]]

    def sniff(self, path: Path, head: bytes) -> float:
        """``confidence`` of the text, or 0.2 for the ending of the name alone."""
        text = head.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        named = path.suffix.casefold() in self.endings and text.strip()
        return self.confidence(text) or (0.2 if named else 0.0)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no record.
        """
        return each(self._records(file), self.convert, options)

    def _records(self, file: InputFile) -> Iterator[tuple[str, TaggedRecord | Remark]]:
        text, notes = file.text()
        yield from ((note.place, note) for note in notes)
        rules, count = self.rules, 0
        for record in cut_records(storable(text), rules):
            count += 1
            place = f"record {count} (line {record.line})"
            if rules.stop and record.tags[0][0] != rules.start:
                yield place, Remark(place, f"{rules.start} missing: read as a generic record", skipped=False)
            elif rules.stop and not record.ended:
                reason = f"{rules.stop} missing: the record was ended at the next one"
                yield place, Remark(place, reason, skipped=False)
            yield place, record
        if not count:
            raise BadInput(
                f"{file.path} holds no {self.noun}",
                why=f"no line begins with the tag {rules.start}",
                hint="if it is another format, name it with --as NAME",
            )


def cut_records(text: str, rules: Rules) -> Iterator[TaggedRecord]:
    """Records cut out of the text, with continuation lines attached to their tags.

    Real files have wrong spacing, no end of record, blank lines, links behind the end, and lines of text that
    begin like a tag.
    """
    filled = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    begins = [rules.begins.match(line) is not None for _, line in filled]
    current: TaggedRecord | None = None
    last = 0
    for index, (number, line) in enumerate(filled):
        loose = rules.loose if rules.loose and (begins[index] or (current and not current.strict)) else None
        end = rules.end.match(line) if rules.end and not begins[index] else None
        tag = None if end else (loose or rules.tag).match(line)
        blank, last = number > last + 1, number
        if begins[index] or (tag and _headless(tag[1], current, rules, blank)):
            if current:
                yield current
            strict = rules.tag.match(line) is not None if begins[index] or not current else current.strict
            current = TaggedRecord(line=number, strict=strict)
        if current is None:
            continue  # headers that some databases put before the first record
        if end and (not end[1] or all(begins[index + 1 : index + 2])):
            current.ended = True
        elif tag:
            current.tags.append((tag[1], (tag[2] or "").strip()))
        elif current.ended:
            current.tags.append(("", line.strip()))  # "Link to full text" lines of Ovid and Embase
        elif current.tags:
            name, value = current.tags[-1]
            joined = "\n" if name in rules.listed else " "
            current.tags[-1] = (name, f"{value}{joined}{line.strip()}".strip())
    if current:
        yield current


def _headless(tag: str, current: TaggedRecord | None, rules: Rules, blank: bool) -> bool:
    """Whether a record begins at a tag that is not the start tag."""
    if current is None:
        return rules.headless
    return current.ended or (blank and tag in rules.fresh and bool(current.first(*rules.titles)))
