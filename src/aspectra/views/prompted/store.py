"""Values of prompted lenses in ``library.db``, one row for each text and fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import PAPER_COLUMNS, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.build.vectors import read_sections
from aspectra.views.prompted.definition import PromptedLens
from aspectra.views.prompted.schema import Value

__all__ = [
    "Reading",
    "Tally",
    "forget",
    "keep",
    "papers_at",
    "readings",
    "state",
    "tally",
    "unread",
    "value_kind",
]


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

    def dumps(self) -> bytes:
        """As bytes: JSON without what has its default value."""
        whole = asdict(self)
        plain = asdict(Reading(None))
        kept = {key: value for key, value in whole.items() if key == "value" or value != plain[key]}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    @classmethod
    def loads(cls, data: bytes) -> Reading:
        """Inverse of :meth:`dumps`.

        Raises:
            LibraryCorrupt: it is none.
        """
        try:
            return cls(**json.loads(data.decode("utf-8", "surrogatepass")))
        except (ValueError, TypeError) as error:
            raise LibraryCorrupt("a value of a prompted lens cannot be read", why=str(error)) from error


def value_kind(name: str) -> str:
    """Kind of the cached rows of one lens."""
    return f"prompted:{name}"


def keep(writer: Writer, lens: PromptedLens, rows: Sequence[tuple[str, Reading]]) -> None:
    """Keep (content hash, reading) rows in one transaction."""
    kind, fingerprint = value_kind(lens.name), lens.fingerprint
    writer.put_vectors([(key, kind, fingerprint, reading.dumps()) for key, reading in rows])


def readings(library: Store, lens: PromptedLens) -> Iterator[tuple[str, Reading | None]]:
    """(paper id, what came of it, or None where it was not asked) in the library's order."""
    statement = (
        "SELECT p.id, v.data FROM papers p LEFT JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.kind = ? AND v.fingerprint = ? ORDER BY p.pos"
    )
    for paper_id, data in library.rows(statement, (value_kind(lens.name), lens.fingerprint)):
        yield paper_id, None if data is None else Reading.loads(data)


def unread(
    library: Store, lens: PromptedLens, *, failed: bool = False, spread: bool = False
) -> dict[int, Reading | None]:
    """Position of one paper for each text that the lens has no value of -> what was had of it in vain.

    Args:
        library: whose papers are looked at.
        lens: whose values are missing.
        failed: those without a value in an earlier run too.
        spread: in an order that has nothing to do with the library's: the first are a fair sample.
    """
    statement = (
        "SELECT min(p.pos), v.data, p.content_hash FROM papers p LEFT JOIN vectors v ON "
        "v.text_hash = p.content_hash AND v.kind = ? AND v.fingerprint = ? GROUP BY p.content_hash"
    )
    waiting: list[tuple[str, int]] = []
    had: dict[int, Reading | None] = {}
    for pos, data, key in library.rows(statement, (value_kind(lens.name), lens.fingerprint)):
        reading = None if data is None else Reading.loads(data)
        if reading is None or (failed and reading.value is None):
            waiting.append((str(key) if spread else "", int(pos)))
            had[int(pos)] = reading
    return {pos: had[pos] for _, pos in sorted(waiting)}


def papers_at(
    library: Store, lens: PromptedLens, positions: Sequence[int], ahead: int = 256
) -> Iterator[tuple[int, str, Paper]]:
    """(position, content hash, paper) at these positions, in this order, with what the lens reads of them.

    Papers are read ``ahead`` at a time, so that memory does not grow with the library; one that was removed
    meanwhile is left out.
    """
    for start in range(0, len(positions), ahead):
        block = positions[start : start + ahead]
        marks = ",".join("?" * len(block))
        statement = f"SELECT content_hash, {PAPER_COLUMNS} FROM papers WHERE pos IN ({marks})"
        found = {row[1]: row for row in library.rows(statement, block)}
        whole = lens.prompt.reads == "full"
        deep = [pos for pos, row in found.items() if whole or not row[4].strip()]
        sections = read_sections(library, deep) if deep else {}
        for pos in block:
            if pos in found:
                yield pos, found[pos][0], paper_from_row(found[pos][1:], sections.get(pos, ()))


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
    failures: dict[str, int] | None = None
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
        return {**asdict(self), "missing": self.missing, "failures": self.failures or {}}


def tally(library: Store, lens: PromptedLens) -> Tally:
    """Count what a lens has."""
    out = Tally(failures={})
    failures: dict[str, int] = {}
    for _, reading in readings(library, lens):
        out.papers += 1
        if reading is None:
            continue
        if reading.value is None:
            out.failed += 1
            failures[reading.failure] = failures.get(reading.failure, 0) + 1
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
    out.failures = failures
    (row,) = library.rows(
        "SELECT count(*) FROM vectors WHERE kind = ? AND fingerprint != ?",
        (value_kind(lens.name), lens.fingerprint),
    )
    out.old = int(row[0])
    return out


def state(library: Store, lens: PromptedLens) -> str:
    """Changes whenever the lens's values do: what an index depends on."""
    (row,) = library.rows(
        "SELECT count(*), max(rowid), total(rowid) FROM vectors WHERE kind = ? AND fingerprint = ?",
        (value_kind(lens.name), lens.fingerprint),
    )
    return f"{lens.name}/{lens.fingerprint}/{row[0]}/{row[1]}/{row[2]:.0f}"


def forget(writer: Writer, name: str) -> None:
    """Remove every value of a lens, of this prompt and of earlier ones, with the vectors made from them."""
    writer.drop_vectors(value_kind(name))
    writer.drop_vectors(f"{value_kind(name)}:%")
