"""Units of papers as arrays: which span of which field, grouped by paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.papers.paper import Paper, Unit
from aspectra.papers.text.structure import abstract_sentences, lead_field
from aspectra.views.storage.arrays import StoredArray, save_array
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.view import Floats, Pooling, Positions

_TITLE = -2
_ABSTRACT = -1  # sections count from 0


class Units(Struct, frozen=True):
    """Spans grouped by paper.

    Attributes:
        offsets: (papers + 1,) int64: the units of paper i are ``offsets[i]`` to ``offsets[i + 1]``.
        spans: (units, 3) int32: field (-2 title, -1 abstract, N section), start, end in characters.
        order: (units,) the stored row of each unit, counted through the segments; None: all, as they lie.
        segments: ``offsets`` of each segment, with its own numbers of papers and units; () where there is
            one.
    """

    offsets: NDArray[np.int64]
    spans: NDArray[np.int32] | StoredArray
    order: Positions | None = None
    segments: tuple[NDArray[np.int64], ...] = ()

    @staticmethod
    def field_code(field: str) -> int:
        """The number of a field name."""
        return {"title": _TITLE, "abstract": _ABSTRACT}.get(field) or int(field.partition(":")[2])

    @staticmethod
    def field_name(code: int) -> str:
        """The field name of a number."""
        return {_TITLE: "title", _ABSTRACT: "abstract"}.get(code) or f"section:{code}"

    @classmethod
    def load(cls, folder: StoredFolder) -> Units:
        """From a generation."""
        segments = tuple(part.whole("offsets") for part in folder.segments)
        ends = np.cumsum([one[-1] for one in segments])[:-1]
        shifted = [one[1:] + end for one, end in zip(segments[1:], ends, strict=True)]
        stored = np.concatenate([segments[0], *shifted]) if shifted else segments[0]
        if folder.order is None:
            return cls(stored, folder.array("spans", None), None, segments)
        starts, counts = stored[:-1][folder.order], np.diff(stored)[folder.order]
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        order = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        return cls(offsets, folder.array("spans", order), order, segments)

    @property
    def by_segment(self) -> tuple[NDArray[np.int64], ...]:
        """``offsets`` of each segment, by itself."""
        return self.segments or (self.offsets,)

    def save(self, folder: Path) -> None:
        """Into a generation being built."""
        save_array(folder / "offsets.npy", self.offsets)
        save_array(folder / "spans.npy", np.asarray(self.spans))

    def unit(self, paper_id: str, index: int) -> Unit:
        """The unit at ``index`` as a value."""
        code, start, end = (int(v) for v in self.spans[index])
        return Unit(paper_id, self.field_name(code), start, end)

    def rows(self, papers: Positions) -> tuple[Positions, NDArray[np.int64]]:
        """Unit indices of these papers, concatenated, and (papers + 1,) offsets into them."""
        starts = self.offsets[papers]
        counts = self.offsets[papers + 1] - starts
        local = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(starts - local[:-1], counts) + np.arange(local[-1])
        return rows, local

    def sentence_rows(self, paper: int) -> Positions:
        """Units of a paper that are sentences, in order: all but its title."""
        low, high = int(self.offsets[paper]), int(self.offsets[paper + 1])
        rows: Positions = np.arange(low, high)[np.asarray(self.spans[low:high])[:, 0] != _TITLE]
        return rows

    @staticmethod
    def pool(values: Floats, offsets: NDArray[np.int64], how: Pooling) -> tuple[Floats, Positions]:
        """Unit scores to paper scores.

        Args:
            values: (units,) scores, grouped by paper.
            offsets: (papers + 1,) where each paper's units begin.
            how: see :class:`Probe`.

        Returns:
            (papers,) scores, -inf for a paper without units, and (papers,) index into ``values`` of the
            unit that decided, -1 without units.
        """
        starts, ends = offsets[:-1], offsets[1:]
        count = ends - starts
        full = np.flatnonzero(count)
        out = np.full(len(starts), -np.inf, dtype=np.float32)
        best = np.full(len(starts), -1, dtype=np.int64)
        if not len(full):
            return out, best
        begin = starts[full]
        highest = np.maximum.reduceat(values, begin)
        # The first unit that reaches its paper's maximum.
        owner = np.repeat(np.arange(len(full)), count[full])
        hits = np.flatnonzero(values[: len(owner)] == highest[owner])
        first = hits[np.unique(owner[hits], return_index=True)[1]]
        best[full] = first
        if how == "max":
            out[full] = highest
        elif how == "first":
            out[full] = values[begin]
            best[full] = begin
        elif how == "sum":
            out[full] = np.add.reduceat(values, begin)
        else:
            order = np.lexsort((-values[: len(owner)], owner))
            place = np.arange(len(owner)) - begin[owner] + begin[0]
            kept = np.where(place < 3, values[order], 0.0)
            out[full] = np.add.reduceat(kept, begin - begin[0]) / np.minimum(count[full], 3)
        return out, best


def paper_spans(paper: Paper) -> tuple[str, list[tuple[int, int]], list[tuple[str, int, int]]]:
    """What the abstract views encode of a paper.

    Returns:
        The text (title, then the lead text); the character span in it of each unit; and each unit as
        (field, start, end) in the stored text: the title first, then each sentence.
    """
    held = EncodedText.of(paper)
    title = held.title
    spans, units = [], []
    if title:
        at = paper.title.find(title)
        spans.append((0, len(title)))
        units.append(("title", at, at + len(title)))
    for sentence in abstract_sentences(paper):
        spans.append((sentence.start + held.shift, sentence.end + held.shift))
        units.append((held.field, sentence.start, sentence.end))
    return held.text, spans, units


class EncodedText(Struct, frozen=True):
    """What the abstract views encode of a paper: its title, then the lead text.

    Attributes:
        text: both.
        title: without outer white space.
        field: of the lead text in the paper.
        shift: where it begins in the text.
    """

    text: str
    title: str
    field: str
    shift: int

    @classmethod
    def of(cls, paper: Paper) -> EncodedText:
        """Of a paper."""
        field, lead = lead_field(paper)
        title = paper.title.strip()
        joint = "" if not title or not lead else " " if title[-1] in ".?!。！？" else ". "
        return cls(title + joint + lead, title, field, len(title) + len(joint))
