"""Headings and paragraphs of a document in reading order, and the paper that they make up.

HTML, DOCX and EPUB share this. No word is lost: text before the first heading is the front matter where an
abstract follows, else a section without heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aspectra.papers.paper import Section, normalise_title
from aspectra.papers.sources.assembly import role_of
from aspectra.papers.text.cleaning import clean, one_line
from aspectra.papers.text.references import ABSTRACT_NAMES, REFERENCES_NAMES, read_reference
from aspectra.papers.text.structure import Outline, bare_heading, outline

_ABSTRACT = re.compile(ABSTRACT_NAMES, re.I)
_REFERENCES = re.compile(REFERENCES_NAMES, re.I)
_LABELLED = re.compile(r"abstract\s?[.:—–-]\s?(\S.*)", re.I | re.S)
_ENTRY = re.compile(r"\[?\d{1,4}[\].]\s?")


class Block(NamedTuple):
    """One heading or paragraph.

    Attributes:
        level: 1 to 9 for a heading, 0 for a paragraph.
        text: on one line.
    """

    level: int
    text: str


def outline_of(blocks: Iterable[Block], title: str = "", abstract: str = "") -> Outline:
    """The parts of a paper in its blocks.

    Args:
        blocks: in reading order.
        title: where it is known from elsewhere; else the first heading, where nothing stands before it and no
            other heading of its level follows.
        abstract: where it is known from elsewhere; else what stands under a heading such as *Abstract*.
    """
    held = [block for block in blocks if block.text]
    if not any(block.level for block in held):
        return _without_headings(held, title, abstract)
    if not title:
        title, held = _title(held)
    same = normalise_title(title)
    front, groups = list[str](), list[tuple[int, str, list[str]]]()
    for level, text in held:
        if level and normalise_title(text) == same and not groups:
            continue  # the title once more
        if level:
            groups.append((level, bare_heading(one_line(text)), []))
        elif groups:
            groups[-1][2].append(text)
        elif normalise_title(text) != same:
            front.append(text)
    found, groups = _abstract(groups)
    if not found:
        found, front = _labelled(front)
    sections = list[Section]()
    references = list[str]()
    for _, heading, texts in groups:
        if _REFERENCES.fullmatch(heading):
            references += [_ENTRY.sub("", text, count=1) if _ENTRY.match(text) else text for text in texts]
        elif heading or texts:
            sections.append(Section(heading, "\n\n".join(texts)))
    if abstract and found and normalise_title(abstract) != normalise_title(found):
        # The page states a shorter one, or another: the longer is the abstract, the other is kept too.
        shorter, longer = sorted((abstract, found), key=len)
        if normalise_title(shorter.rstrip(" .…")[:200]) not in normalise_title(longer):
            sections.insert(0, Section("Abstract", shorter))
        abstract = longer
    abstract = abstract or found
    if front and not abstract:
        sections.insert(0, Section("", "\n\n".join(front)))
        front = []
    return Outline(
        one_line(title),
        "\n\n".join(front),
        clean(abstract),
        tuple(sections),
        tuple(map(read_reference, references)),
    )


def _without_headings(blocks: Sequence[Block], title: str, abstract: str) -> Outline:
    found = outline("\n\n".join(block.text for block in blocks), title=title, markdown=False)
    if not abstract:
        return found
    sections = found.sections
    if found.abstract and normalise_title(found.abstract) != normalise_title(abstract):
        sections = (Section("Abstract", found.abstract), *sections)
    return Outline(found.title, found.front, abstract, sections, found.references)


def _title(blocks: Sequence[Block]) -> tuple[str, list[Block]]:
    """(the title or "", the blocks without it)."""
    first = next((number for number, block in enumerate(blocks) if block.level), 0)
    level, text = blocks[first]
    same = sum(block.level == level for block in blocks)
    special = _ABSTRACT.fullmatch(bare_heading(text)) or _REFERENCES.fullmatch(bare_heading(text))
    if special or (same > 1 and level > 1) or (same > 1 and first > 0):
        return "", list(blocks)
    return text, [*blocks[:first], *blocks[first + 1 :]]


def _abstract(
    groups: list[tuple[int, str, list[str]]],
) -> tuple[str, list[tuple[int, str, list[str]]]]:
    """(text under the first heading *Abstract* with its parts, the other groups)."""
    at = next((n for n, (_, heading, _) in enumerate(groups[:12]) if _ABSTRACT.fullmatch(heading)), None)
    if at is None:
        return "", groups
    level, _, texts = groups[at]
    parts, end = list(texts), at + 1
    while end < len(groups) and groups[end][0] > level and (not parts or role_of(groups[end][1]) != "other"):
        _, heading, more = groups[end]
        label = heading.rstrip(":.")
        parts += [f"{label}: {more[0]}", *more[1:]] if more else [label]
        end += 1
    return ("\n\n".join(parts), groups[:at] + groups[end:]) if parts else ("", groups)


def _labelled(front: list[str]) -> tuple[str, list[str]]:
    """(the paragraph that begins with *Abstract:*, the others)."""
    for number, text in enumerate(front):
        if found := _LABELLED.fullmatch(text):
            return found[1], front[:number] + front[number + 1 :]
        if _ABSTRACT.fullmatch(text.strip(" .:")) and number + 1 < len(front):
            return front[number + 1], front[:number] + front[number + 2 :]
    return "", front
