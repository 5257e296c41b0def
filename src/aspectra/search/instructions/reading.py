"""Reading instructions: free words to conditions, aspects, and what the query keeps.

>>> reading = read_instruction("Only papers written in German, please: bee health")
>>> reading.spellings, reading.rest
(('require language=de',), 'bee health')

The rules are in :mod:`aspectra.search.instructions.grammar`; ``docs/instructions.md`` says what people can
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from aspectra.base.errors import UsageError
from aspectra.search.conditions.condition import Condition, Relation
from aspectra.search.instructions.grammar.clauses import Clauses, Part, divide
from aspectra.search.instructions.grammar.scope import Wish, wishes_of
from aspectra.search.instructions.grammar.tagging import pieces_of

__all__ = ["Reading", "read_instruction"]

# What nobody counts as part of a subject at its ends.
_OUTER = " \t\r\n.,;:!?…。，：；？！、-–—"
# Longer texts are seed texts: abstracts, notes. They are searched for as they are.
_MOST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Reading:
    """What an instruction says.

    Attributes:
        conditions: what papers should be like, in the order of the text.
        same, different: aspects in which they should be like the seeds, or unlike them.
        rest: what the query keeps: one piece of the text, without outer punctuation.
        unread: parts that look like requests about documents and were not understood.
    """

    conditions: tuple[Condition, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    rest: str = ""
    unread: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Conditions and aspects as a person edits them: ``avoid language=zh``, ``same method``."""
        conditions = tuple(c.spelling for c in self.conditions)
        return (
            conditions
            + tuple(f"same {a}" for a in self.same)
            + tuple(f"different {a}" for a in self.different)
        )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start] in _OUTER or text[start].isspace()):
        start += 1
    while end > start and (text[end - 1] in _OUTER or text[end - 1].isspace()):
        end -= 1
    return start, end


def _span(clauses: Clauses, parts: Sequence[Part]) -> tuple[int, int]:
    return clauses.pieces[parts[0].first].start, clauses.pieces[parts[-1].last - 1].end


def _chains(clauses: Clauses, kinds: tuple[str, ...]) -> list[list[Part]]:
    """Runs of parts of such kinds with nothing else between them."""
    out: list[list[Part]] = []
    open_run = False
    for part in clauses.parts:
        if part.kind not in kinds:
            open_run = False
        elif open_run:
            out[-1].append(part)
        else:
            out.append([part])
            open_run = True
    return out


def _denied(clauses: Clauses, part: Part) -> bool:
    """Whether a part's sentence says what is not wanted: its words must not be searched for."""
    return any(
        piece.category == "neg"
        for other in clauses.parts
        if other.sentence == part.sentence and (other.kind == "wish" or other is part)
        for piece in clauses.pieces[other.first : other.last]
    )


def _subject(clauses: Clauses, whole_query: bool) -> list[Part]:
    """The run of parts that the query keeps."""
    kinds: tuple[str, ...] = ("subject", "bare")
    if not whole_query:
        chains = _chains(clauses, (*kinds, "unread"))
        chains = [[p for p in chain if not _denied(clauses, p)] for chain in chains]
        return max(filter(None, chains), key=lambda chain: _length(clauses, chain), default=[])
    requested = any(
        p.kind == "unread" or (p.kind == "wish" and any(q.carries for q in clauses.pieces[p.first : p.last]))
        for p in clauses.parts
    )
    if not requested:  # nothing to tell apart: from the first word that matters to the last
        content = [p for p in clauses.parts if p.kind in (*kinds, "chatter")]
        return [content[0], content[-1]] if content else []
    chains = _chains(clauses, kinds) or _chains(clauses, ("unread",))
    led = [chain for chain in chains if any(p.kind == "subject" for p in chain)]
    return max(led or chains, key=lambda chain: _length(clauses, chain), default=[])


def _length(clauses: Clauses, parts: Sequence[Part]) -> int:
    start, end = _span(clauses, parts)
    return end - start


def _only_names(clauses: Clauses, requests: Sequence[Wish]) -> bool:
    """Whether the whole text is a kind or a language and nothing says that it is requested: *theory*."""
    parts = [p for p in clauses.parts if p.kind != "nothing"]
    if len(parts) != 1 or parts[0].kind != "wish" or not requests:
        return False
    pieces = clauses.pieces[parts[0].first : parts[0].last]
    return all(p.category == "mention" and p.attribute != "year" for p in pieces) and len(pieces) <= 2


def _supported(clauses: Clauses, requests: Sequence[Wish]) -> list[Wish]:
    """Without requests that rest on a word of many meanings alone (*code*), where there is no other."""
    asked = any(
        any(
            clauses.pieces[i].value == "back" or clauses.pieces[i].low == "that's"
            for i in range(p.first, p.last)
        )
        and any(clauses.pieces[i].category == "open" for i in range(p.first, p.last))
        for p in clauses.parts
        if p.kind == "wish"
    )
    return list(requests) if asked or any(not w.alone for w in requests) else []


def read_instruction(text: str, *, whole_query: bool = True) -> Reading:
    """Read what a text says about the documents it asks for.

    Args:
        text: any text; one of more than 2,000 characters is taken as a subject and kept whole.
        whole_query: the text is the whole query, subject included; otherwise it accompanies one, and ``rest``
            is only what was not understood (and is not denied: *no papers on X* must not search for X).

    Returns:
        The reading. Words of conditions, ``rest`` and ``unread`` are substrings of the text. Nothing is
        raised, whatever the text.
    """
    if len(text) > _MOST_CHARACTERS:
        return Reading(rest=text[slice(*_trim(text, 0, len(text)))])
    clauses = divide(pieces_of(text), whole_query)
    requests = wishes_of(clauses)
    asked = any(p.kind in ("wish", "unread", "nothing") for p in clauses.parts)
    if whole_query and requests:
        requests = [] if _only_names(clauses, requests) else _supported(clauses, requests)
        asked = bool(requests)
    unread = [_span(clauses, [p]) for p in clauses.parts if _is_unread(clauses, p, whole_query)]
    conditions: list[Condition] = []
    aspects: dict[str, list[str]] = {"same": [], "different": []}
    for request in requests:
        if request.attribute == "aspect":
            aspects[request.relation].append(request.value)
            continue
        try:
            relation = cast(Relation, request.relation)
            conditions.append(
                Condition(request.attribute, request.value, relation, text[request.start : request.end])
            )
        except UsageError:  # a value that its attribute cannot mean: better said than lost
            unread.append((request.start, request.end))
    subject = _subject(clauses, whole_query)
    kept = _span(clauses, subject) if subject else (0, 0)
    if whole_query and not asked:  # a text in which nothing asks for anything is its own subject
        kept = (0, len(text))
    parts = (text[slice(*_trim(text, *span))] for span in unread)
    return Reading(
        tuple(conditions),
        tuple(aspects["same"]),
        tuple(aspects["different"]),
        text[slice(*_trim(text, *kept))],
        tuple(part for part in parts if part),
    )


def _is_unread(clauses: Clauses, part: Part, whole_query: bool) -> bool:
    if part.kind == "unread":
        return True
    return not whole_query and part.kind in ("subject", "bare") and _denied(clauses, part)
