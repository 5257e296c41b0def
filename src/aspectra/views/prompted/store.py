"""Values of prompted lenses in ``library.db``, one for each text and fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.derived import Arrays, Producer, Stored
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import Parts
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.prompted.definition import PromptedLens
from aspectra.views.prompted.schema import Value


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one paper.

    Attributes:
        value: a text, a label or a number; None where none could be had.
        failure: why not, or "".
        calls: answers that it took.
        asked: tokens of the questions.
        answered: tokens of the answers.
        malformed: of the answers, those that gave no value.
        repaired: whether the value's own answer was not quite what was asked for.
        cut: whether the paper was longer than what was shown of it.
        thumb: tokens of the first question by the rule of thumb, which an estimate is made with.
        simulated: whether no language model was asked.
    """

    value: Value | None
    failure: str = ""
    calls: int = 1
    asked: int = 0
    answered: int = 0
    malformed: int = 0
    repaired: bool = False
    cut: bool = False
    thumb: int = 0
    simulated: bool = False

    def pack(self) -> Arrays:
        """As stored: JSON without what has its default value, as an array of bytes."""
        plain = asdict(Reading(None))
        kept = {key: value for key, value in asdict(self).items() if key == "value" or value != plain[key]}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        return [np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)]

    @classmethod
    def unpack(cls, arrays: Arrays) -> Reading:
        """Inverse of :meth:`pack`.

        Raises:
            LibraryCorrupt: it is none.
        """
        try:
            return cls(**json.loads(arrays[0].tobytes().decode("utf-8", "surrogatepass")))
        except (ValueError, TypeError) as error:
            raise LibraryCorrupt("a value of a prompted lens cannot be read", why=str(error)) from error


def values_of(lens: PromptedLens) -> Producer:
    """Values: a :class:`Reading` as one array of bytes, stored by what the prompt shows of a paper."""
    reads = "sections" if lens.prompt.reads == "full" else "fallback"
    return Producer(f"prompted:{lens.name}", lens.fingerprint, ("text", reads))


def vectors_of(lens: PromptedLens, encoder: Encoder) -> Producer:
    """Values: (dimensions,) float32 of a lens's text; number of cut texts. Keys end with the text's hash."""
    return Producer(f"prompted-vectors:{lens.name}", encoder.fingerprint, values_of(lens).reads)


def readings(library: Store, lens: PromptedLens) -> Iterator[tuple[Stored, Reading | None]]:
    """(paper with position, id and key; what came of it, or None where no model was called), in order."""
    for stored in library.derived.stream(values_of(lens)):
        yield stored, None if stored.value is None else Reading.unpack(stored.value)


def unread(
    library: Store, lens: PromptedLens, *, failed: bool = False, spread: bool = False
) -> dict[int, tuple[str, Reading | None]]:
    """Position of one paper for each text without a value -> its key, and what earlier runs had in vain.

    Args:
        library: whose papers are looked at.
        lens: whose values are missing.
        failed: those without a value in an earlier run too.
        spread: in an order that has nothing to do with the library's: the first are a fair sample.
    """
    waiting: dict[str, tuple[int, Reading | None]] = {}
    for (pos, _, key, _), reading in readings(library, lens):
        if key not in waiting and (reading is None or (failed and reading.value is None)):
            waiting[key] = pos, reading
    order = sorted(waiting) if spread else waiting
    return {waiting[key][0]: (key, waiting[key][1]) for key in order}


def papers_at(
    library: Store, lens: PromptedLens, positions: Sequence[int], ahead: int = 256
) -> Iterator[tuple[int, Paper]]:
    """(position, paper) at these positions, in this order, with what the lens reads of them.

    Papers are read ``ahead`` at a time, so that memory does not grow with the library; one that was removed
    meanwhile is left out.
    """
    parts: Parts = "sections" if lens.prompt.reads == "full" else "lead"
    for start in range(0, len(positions), ahead):
        block = positions[start : start + ahead]
        found = library.papers_at(block, parts)
        yield from ((pos, found[pos]) for pos in block if pos in found)


@dataclass
class Tally:
    """What a lens has by now.

    Attributes:
        papers: in the library.
        values: papers with a value; of text lenses also those with nothing to see.
        empty: of those, texts that say that there is nothing to see.
        failed: papers asked about in vain.
        failures: why -> papers.
        calls, asked, answered: what all that took, in answers and tokens.
        thumb: tokens of the first questions by the rule of thumb.
        malformed: answers that gave no value.
        repaired: values whose answer was not quite what was asked for.
        cut: papers longer than what was shown of them.
        simulated: values that come from no language model.
        old: values of an earlier prompt, schema or model, which are not looked at.
    """

    papers: int = 0
    values: int = 0
    empty: int = 0
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    asked: int = 0
    answered: int = 0
    thumb: int = 0
    malformed: int = 0
    repaired: int = 0
    cut: int = 0
    simulated: int = 0
    old: int = 0

    @property
    def missing(self) -> int:
        """Papers that were never asked about."""
        return self.papers - self.values - self.failed

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), "missing": self.missing}


def tally(library: Store, lens: PromptedLens) -> Tally:
    """Count what a lens has."""
    out = Tally(old=library.derived.superseded(values_of(lens)))
    for _, reading in readings(library, lens):
        out.papers += 1
        if reading is None:
            continue
        if reading.value is None:
            out.failed += 1
            out.failures[reading.failure] = out.failures.get(reading.failure, 0) + 1
        else:
            out.values += 1
            out.empty += reading.value == ""
        out.calls += reading.calls
        out.asked += reading.asked
        out.answered += reading.answered
        out.thumb += reading.thumb
        out.malformed += reading.malformed
        out.repaired += reading.repaired
        out.cut += reading.cut
        out.simulated += reading.simulated
    return out


def state(library: Store, lens: PromptedLens) -> str:
    """Changes whenever the lens's values do: what an index depends on."""
    return f"{lens.name}/{lens.fingerprint}/{library.derived.state(values_of(lens))}"


def reading_of(library: Store, name: str, values: str, paper_id: str) -> Reading | None:
    """What came of one paper, or None where no model was called.

    Args:
        library: the library with the values.
        name: of the lens.
        values: fingerprint of the values: those that a generation was built from, or of the lens.
        paper_id: of the paper.
    """
    value = library.derived.of(f"prompted:{name}", values, paper_id)
    return None if value is None else Reading.unpack(value)


def text_of_paper(library: Store, name: str, values: str, paper_id: str) -> str:
    """The value of a text lens for a paper, or ""; arguments as in :func:`reading_of`."""
    found = reading_of(library, name, values, paper_id)
    return "" if found is None else str(found.value or "")


def forget(writer: Writer, name: str) -> None:
    """Remove every value of a lens, of this prompt and of earlier ones, with the vectors made from them."""
    writer.derived.drop(f"prompted:{name}")
    writer.derived.drop(f"prompted-vectors:{name}")
