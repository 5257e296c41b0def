"""Paragraphs out of rows, across columns and pages; captions and footnotes wait for the end of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from aspectra.papers.sources.pages.layout.headings import Body
from aspectra.papers.sources.pages.layout.lines import Row

_CAPTION = re.compile(
    r"(?:fig(?:ure)?s?|table|tab|algorithm|listing|scheme|box)\b\.?\s*[A-Z]?\d+\s*[.:|(–—-]", re.I
)
_BULLET = re.compile(r"(?:[•▪■◦‣∙*–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]|\[\d{1,3}\])\s")
_END = re.compile(r"[.!?:;][”’\"')\]\d†‡∗*]{0,4}$")


def paragraphs(rows: Sequence[Row], body: Body) -> list[str]:
    r"""Paragraphs as printed lines with ``\\n`` between them, so that hyphens can be mended.

    Every row is in exactly one paragraph. What is set smaller than the body (footnotes, labels of figures,
    cells of tables) and captions never stand within a sentence of the text: they follow its paragraph.
    """
    out: list[str] = []
    waiting: list[str] = []
    text: list[str] = []
    for block, side in _blocks(rows, body):
        if side:
            waiting.append(block)
            continue
        if text and _goes_on(text[-1], block):
            text.append(block)
            continue
        # What was printed within a paragraph comes behind it.
        out += ["\n".join(text), *waiting] if text else waiting
        waiting, text = [], [block]
    return [*out, *(["\n".join(text)] if text else []), *waiting]


def _goes_on(text: str, block: str) -> bool:
    """Whether ``block`` is the rest of an unfinished sentence."""
    if text.endswith("-"):
        return block[:1].islower()
    return not _END.search(text[-12:]) and (block[:1].islower() or block[:1] in "(,;")


def _blocks(rows: Sequence[Row], body: Body) -> Iterator[tuple[str, bool]]:
    """(printed lines of a paragraph of one column, whether it is set beside the text)."""
    current: list[str] = []
    last: Row | None = None
    side = caption = False
    for row in rows:
        line = row.line
        begins_caption = bool(_CAPTION.match(line.text))
        small = line.size < body.size - 0.6
        fresh = (
            last is None
            or _breaks(last, row, rows, body, caption)
            or begins_caption
            or small != (side and not caption)
        )
        if fresh and current:
            yield "\n".join(current), side or caption
            current = []
        if fresh:
            caption, side = begins_caption, small
        current.append(line.text)
        last = row
    if current:
        yield "\n".join(current), side or caption


def _breaks(last: Row, row: Row, rows: Sequence[Row], body: Body, caption: bool) -> bool:
    """Whether a paragraph ends between two rows that follow each other."""
    if last.region != row.region:
        return True
    one, two = last.line, row.line
    step = two.base - one.base
    leading = max(body.leading if abs(two.size - body.size) < 0.6 else 1.2 * two.size, 0.8 * two.size)
    if step > 1.3 * max(leading, 1.15 * min(one.size, two.size)) or step < 0:
        return True
    if caption:
        return False
    if _BULLET.match(two.text) and two.left <= one.left + 1:
        return True
    # An indented line begins a paragraph when the line before did not hang as well.
    indented = 0.6 * two.size < two.left - one.left < 4 * two.size and len(one.text) > 20
    return indented and bool(_END.search(one.text[-12:]))
