"""Relations: what negations, softeners and musts do to the wishes within their reach.

A wish part is cut into units at *but*, *and never*, *than* after *rather*, and at punctuation. Inside a unit,
what stands before a mention reaches it; what stands behind all mentions reaches them all. Denials are
counted, and two of them cancel out. A softener wins over a denial or a *must*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aspectra.search.conditions.condition import Relation
from aspectra.search.instructions.grammar.clauses import Clauses
from aspectra.search.instructions.grammar.pieces import Piece

__all__ = ["Wish", "wishes_of"]

_FACTS = ("year", "venue", "author")  # of the record: stated plainly they are limits
_BREAKS = frozenset("but yet although though however while so because aber sondern 但 但是".split())
_JOINS = frozenset("and or nor und oder & plus / 和 或 或者 以及 而且 并且".split())
_VERBS = frozenset("be come mention contain include have use say name feature appear stem".split())
_COMPARING = frozenset("than to over als".split())


class Wish(NamedTuple):
    """One wish as read.

    Attributes:
        attribute: as in conditions, or ``aspect``.
        value: of the attribute.
        relation: ``same`` and ``different`` for aspects.
        start, end: the words that said so.
        alone: a word of many meanings that nothing around it supports.
    """

    attribute: str
    value: str
    relation: Relation | str
    start: int
    end: int
    alone: bool = False


@dataclass(slots=True)
class _Unit:
    pieces: list[Piece] = field(default_factory=list)
    before: str = ""
    sentence: int = 0
    joined: bool = False  # by and/or to the unit before
    inherited: list[Piece] = field(default_factory=list)  # operators of the unit it continues


@dataclass(slots=True)
class _Read:
    """A mention and the operators that reach it."""

    piece: Piece
    operators: list[Piece]
    unit: _Unit
    dropped: bool = False


def _units(clauses: Clauses) -> list[_Unit]:
    out: list[_Unit] = []
    for part in clauses.parts:
        if part.kind != "wish":
            continue
        unit = _Unit(before=part.before, sentence=part.sentence)
        pieces = clauses.pieces[part.first : part.last]
        for at, piece in enumerate(pieces):
            following = next(
                (p for p in pieces[at + 1 :] if p.category not in ("func", "polite", "doc")), None
            )
            if piece.low in _BREAKS and piece.category == "func" and unit.pieces:
                out.append(unit)
                unit = _Unit(before=piece.low, sentence=part.sentence)
                continue
            if (
                piece.low in _JOINS
                and unit.pieces
                and following is not None
                and (following.rules or following.category == "open")
            ):
                out.append(unit)
                unit = _Unit(before="and", sentence=part.sentence, joined=True)
                continue
            compared = [p for p in unit.pieces if p.category == "soft" and _compares(p.low)]
            if (
                piece.low in _COMPARING
                and compared
                and _carries(unit.pieces)
                and following is not None
                and following.carries
            ):
                out.append(unit)
                than = Piece("neg", piece.start, piece.end, piece.low, "avoid")
                unit = _Unit([than], "than", part.sentence)
                continue
            unit.pieces.append(piece)
        if unit.pieces:
            out.append(unit)
    return out


def _compares(low: str) -> bool:
    return any(word in low for word in ("rather", "prefer", "sooner", "lieber", "eher", "preference"))


def _carries(pieces: Sequence[Piece]) -> bool:
    return any(p.carries for p in pieces)


def _reaching(unit: _Unit, mention: Piece) -> list[Piece]:
    """Operators of its unit that reach a mention: those before it, and those behind all mentions.

    *The word X must appear, and Y too*: what follows a term at once is said of it.
    """
    last = max(p.start for p in unit.pieces if p.carries)
    behind = (p for p in unit.pieces if p.start > mention.start and p.category != "func")
    at_once = next(behind, None) if mention.category == "term" else None
    return [p for p in unit.pieces if p.rules and (p.start < mention.start or p.start > last or p is at_once)]


def _relation(read: _Read) -> tuple[Relation | None, bool]:
    """The relation of a mention, and whether its denials leave it denied."""
    operators = read.operators
    if any(o.category == "perm" for o in operators):
        return None, False
    denials = [o for o in operators if o.category == "neg"]
    soft = any(o.category == "soft" or "soft" in o.marks for o in operators)
    hard = any(o.category == "hard" for o in operators)
    denied = len(denials) % 2 == 1
    fact = read.piece.attribute in _FACTS
    if fact and any(o.category == "wish" for o in operators):
        soft = True
    if read.piece.category == "bound":
        gentle = soft or (denied and denials[-1].value == "avoid") or "vague" in read.piece.marks
        return ("prefer" if gentle else "require"), denied
    if denied:
        if soft or any(o.value == "avoid" for o in denials):
            return "avoid", True
        strong = any(o.value == "strong" for o in denials) or (
            hard and denials[0].value == "not" and _must_not(operators)
        )
        return ("exclude" if strong or fact else "avoid"), True
    if soft:
        return "prefer", False
    return ("require" if hard or denials or fact else "prefer"), False


def _must_not(operators: Sequence[Piece]) -> bool:
    """Whether a *must* stands before the *not*, and not an *only* behind it."""
    kinds = [o.category for o in operators]
    return kinds.index("hard") < kinds.index("neg")


def _inherits(read: _Read, earlier: _Read | None) -> bool:
    """Whether a bare mention continues a list: *no blogs, forums or news*."""
    if earlier is None or read.operators or earlier.unit is read.unit:
        return False
    unit = read.unit
    if unit.before not in ("comma", "and") or unit.sentence != earlier.unit.sentence:
        return False
    if unit.before == "comma" and unit.pieces[0].low.split(" ")[0] in _VERBS:
        return any(o.category in ("hard", "soft") for o in earlier.operators)
    bare = all(
        p.carries or p.low in _JOINS or p.category == "polite" or p.low in ("too", "either", "as well")
        for p in unit.pieces
    )
    return bare and read.piece.attribute == earlier.piece.attribute


def wishes_of(clauses: Clauses) -> list[Wish]:
    """All wishes, in the order of the text, without repetition."""
    units = _units(clauses)
    reads: list[_Read] = []
    floating: list[Piece] = []
    for unit in units:
        mentions = [p for p in unit.pieces if p.carries]
        if not mentions:
            operators = [
                o for o in [p for p in unit.pieces if p.rules] if o.category != "perm" or _refers(unit)
            ]
            previous = [r for r in reads if r.unit.sentence == unit.sentence and r.unit is reads[-1].unit]
            if previous:
                _attach(previous, operators, reads, unit)
            else:
                floating = operators
            continue
        contents: Piece | None = None
        for mention in mentions:
            if contents is not None and _describes(unit, contents, mention):
                continue
            read = _Read(mention, _reaching(unit, mention), unit)
            if floating and not read.operators:
                read.operators = list(floating)
            elif _inherits(read, reads[-1] if reads else None):
                read.operators = unit.inherited = reads[-1].operators
            elif not read.operators and unit.inherited and mention.category != "bound":
                read.operators = unit.inherited
            reads.append(read)
            if mention.attribute == "format":
                contents = mention
        floating = []
    _pass_back(reads)
    return _collect(reads)


def _pass_back(reads: Sequence[_Read]) -> None:
    """*News, blogs or forums only*: what stands behind a list is said of all of it."""
    for read, following in zip(reversed(reads[:-1]), reversed(reads[1:]), strict=True):
        behind = [o for o in following.operators if o.start > following.piece.start]
        bare = not read.operators and all(p.carries or p.low in _JOINS for p in read.unit.pieces)
        linked = (
            following.unit is not read.unit
            and following.unit.before == "comma"
            and following.unit.sentence == read.unit.sentence
        )
        if behind and bare and linked and read.piece.attribute == following.piece.attribute:
            read.operators = behind


def _describes(unit: _Unit, first: Piece, second: Piece) -> bool:
    """*A manual with a list of options*: the second format is what the first has in it."""
    if second.attribute != "format" or second.values != ("list",):
        return False
    between = [p for p in unit.pieces if first.end <= p.start < second.start]
    return any(p.low in ("with", "listing", "including", "containing", "and its") for p in between)


def _refers(unit: _Unit) -> bool:
    """Whether a unit speaks of what was said before it: *that's optional*, but not *the results need not*."""
    pronoun = any(p.value == "back" or p.low in ("it's", "that's", "they're") for p in unit.pieces)
    return pronoun and not any(p.category == "doc" for p in unit.pieces)


def _attach(previous: list[_Read], operators: list[Piece], reads: list[_Read], unit: _Unit) -> None:
    """A unit without mentions says how the ones before were meant: *so leave those out*, *that's a must*."""
    reach = previous
    if any(p.low == "both" for p in unit.pieces):
        reach = [r for r in reads if r.unit.sentence == unit.sentence]
    for read in reach:
        denied = any(o.category == "neg" for o in read.operators)
        again = [o for o in operators if o.category == "neg"]
        if denied and again and again[0].value == "strong":  # said twice, and the second time plainly
            read.operators = [o for o in read.operators if o.category not in ("neg", "soft")] + again
        else:
            read.operators = read.operators + [
                o for o in operators if not (denied and o.category in ("neg", "hard"))
            ]


def _collect(reads: Sequence[_Read]) -> list[Wish]:
    out: list[Wish] = []
    for read in reads:
        relation, denied = _relation(read)
        piece = read.piece
        if relation is None:
            continue
        first, last = read.unit.pieces[0].start, read.unit.pieces[-1].end
        own = [o for o in read.operators if first <= o.start < last]  # the others stand elsewhere
        start = min([piece.start, *(o.start for o in own)])
        end = max([piece.end, *(o.end for o in own)])
        if piece.category == "aspect":
            same = (piece.value == "same") != denied
            out.append(Wish("aspect", piece.values[0], "same" if same else "different", start, end))
            continue
        if piece.category == "bound" and denied:
            if not piece.opposite:
                continue
            out.append(Wish(piece.attribute, piece.opposite, relation, start, end))
            continue
        bare = all(p.carries or p.low in _JOINS for p in read.unit.pieces)
        alone = piece.category == "mention" and bare and not piece.sure and not read.operators
        out.extend(Wish(piece.attribute, value, relation, start, end, alone) for value in piece.values)
    seen: dict[tuple[str, str, str], Wish] = {}
    for wish in out:
        seen.setdefault((wish.attribute, wish.value, str(wish.relation)), wish)
    return list(seen.values())
