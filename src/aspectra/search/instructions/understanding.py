"""From what somebody wrote to fields of a query: the instruction, and constraints inside the text itself."""

from __future__ import annotations

from dataclasses import dataclass

from aspectra.base.values import replace
from aspectra.search.instructions.reading import Reading, read_instruction
from aspectra.search.query import Query

__all__ = ["Understood", "understand"]


@dataclass(frozen=True, slots=True)
class Understood:
    """A query with its words read.

    Attributes:
        query: with conditions and aspects as fields, and the rest as its text.
        unread: parts that look like constraints and were not understood.
    """

    query: Query
    unread: tuple[str, ...] = ()


def understand(query: Query) -> Understood:
    """Read a query's instruction into conditions and aspects; what is left of it joins the text.

    Unless the query is literal, constraints in its text are read too ("... in Chinese, not from a blog"). A
    text of nothing but constraints is searched as it is as well, since something must be. Conditions that the
    query already has go before what is read about the same value.
    """
    unread: tuple[str, ...] = ()
    if query.text.strip() and not query.literal:
        reading = read_instruction(query.text)
        unread += reading.unread
        if reading.spellings:
            rest = reading.rest.strip()
            query = _with(query, reading, rest if rest or query.seeds else query.text)
    if query.instruction.strip():
        reading = read_instruction(query.instruction, whole_query=False)
        text = " ".join(part for part in (query.text.strip(), reading.rest.strip()) if part)
        query = replace(_with(query, reading, text), instruction="")
        unread += reading.unread
    return Understood(query, unread)


def _with(query: Query, reading: Reading, text: str) -> Query:
    known = {(c.attribute, c.value) for c in query.conditions}
    new = tuple(c for c in reading.conditions if (c.attribute, c.value) not in known)
    return replace(
        query,
        text=text,
        conditions=(*query.conditions, *new),
        same=tuple(dict.fromkeys((*query.same, *reading.same))),
        different=tuple(dict.fromkeys((*query.different, *reading.different))),
    )
