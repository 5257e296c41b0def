"""Columns of a table by the names in its header (``columns.toml``), and lists of identifiers, one per line.

Also reads names of people and lists in one cell, in the spellings that exports use, and screening decisions
in an export: a column, or Rayyan's line in the notes.

Each DOI, PMID, arXiv id or web address of a list is kept as a paper without text, under its identifier: a
record of the same paper that comes later completes it. A web address without identifier is kept as the
paper's address.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from aspectra.base.errors import BadInput
from aspectra.base.expressions import expression
from aspectra.papers.bibliography import keywords_in
from aspectra.papers.identifiers import parse_identifier, scheme_of
from aspectra.papers.ids import choose_id
from aspectra.papers.names import (
    given_first,
    initials_last,
    is_initials,
    is_others,
    only_name,
    spelt_out,
    split_names,
    with_suffixes,
)
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import identifiers_of
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line

_TRIED = 500  # lines by which a list is recognised
_BEFORE = re.compile(r"(?:[-*•]|\[?\d{1,4}[.)\]])[ \t]{1,8}")
_PMID = re.compile(r"[1-9]\d{4,7}")
_ADDRESS = re.compile(r"https?://[^\s<>\"]{4,2000}")
_LABEL = re.compile(r"[A-Za-z]{2,8}\s?:?\s{0,4}")


def identifier_in_line(line: str, *, numbers: bool = False) -> tuple[str, str] | None:
    """(scheme, value) of a line that is one identifier and nothing else; scheme ``url`` for other addresses.

    Args:
        line: without its end; bullets, quotes, brackets and signs between cells around it do not count.
        numbers: whether a bare number of five to eight digits is a PMID.

    >>> identifier_in_line("- https://doi.org/10.1000/XYZ"), identifier_in_line("PMID: 1234567")
    (('doi', '10.1000/xyz'), ('pmid', '1234567'))
    >>> identifier_in_line("A paper, see 10.1000/xyz") is None
    True
    """
    text = line.strip()
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    text = text.strip("\"'<>,;\t ")
    if numbers and _PMID.fullmatch(text):
        return "pmid", text
    label, colon, rest = text.partition(":")
    if colon and " " in rest and scheme_of(label.strip()):
        text = f"{label.strip()}:{rest.strip()}"
    if not text or any(sign.isspace() for sign in text):
        return None
    if found := parse_identifier(text):
        return found
    return ("url", text) if _ADDRESS.fullmatch(text) else None


class Identifiers:
    """Lists of identifiers."""

    name = "identifiers"
    description = "a list of DOIs, PMIDs, arXiv ids or web addresses, one a line: kept to be completed later"
    endings = (".txt",)

    def sniff(self, path: Path, head: bytes) -> float:
        """0.9 where nearly every line is an identifier or an address, 0.6 for numbers that may be PMIDs."""
        if b"\x00" in head:
            return 0.0
        lines = [line for line in head.decode("utf-8", "replace").splitlines()[:_TRIED] if line.strip()]
        lines = lines[:-1] if len(head) > 60_000 else lines
        if not lines:
            return 0.0
        found = [identifier_in_line(line) for line in lines if len(line) < 2100]
        named = sum(one is not None for one in found)
        if named >= 0.8 * (len(lines) - 1) and any(one and one[0] != "url" for one in found):
            return 0.9
        if named and named >= 0.9 * (len(lines) - 1):
            return 0.7
        numbers = sum(_PMID.fullmatch(line.strip()) is not None for line in lines)
        return 0.6 if numbers >= 3 and numbers >= len(lines) - 1 else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """A paper without text for every line that is an identifier; remarks for the other lines.

        Raises:
            BadInput: no line is an identifier.
        """
        numbers = self.sniff(file.path, file.head) == 0.6
        others = 0
        seen: set[tuple[str, str]] = set()
        for item in file.text_lines():
            if isinstance(item, Remark):
                yield item
                continue
            number, line = item
            if not line.strip():
                continue
            found = identifier_in_line(line, numbers=numbers)
            if found is None:
                others += 1
                yield Remark(f"line {number}", f"is no identifier: skipped: {clean(line)[:100]}")
                continue
            if found in seen:
                yield Remark(f"line {number}", f"{found[1][:100]} stands in an earlier line", skipped=False)
                continue
            seen.add(found)
            scheme, value = found
            if scheme == "url":
                yield Paper(id=clean(value), url=clean(value))
            else:
                named = identifiers_of([found])
                yield Paper(id=choose_id(identifiers=named), identifiers=named)
        if not seen:
            raise BadInput(
                f"{file.path} holds no list of identifiers",
                why=f"none of its {others} lines is a DOI, PMID, arXiv id or web address",
                hint="write one identifier a line, or export as RIS",
            )
        reason = f"a list of identifiers: {len(seen)} papers without text are kept, to be completed"
        yield Remark("file", reason, skipped=False)


SOURCES.register("identifiers")(Identifiers())


_PARTING = expression(r"[;|\n]")
_AND = expression(r"\s(?:and|&)\s")
_COMMA_AND = expression(r",(?:\s?(?:and|&)\s)?|\s(?:and|&)\s")
_LONGEST_LIST = 200_000  # characters of a list literal; longer ones are taken as text


def list_in(cell: str) -> list[str]:
    """The entries of a cell: a list as Python or JSON writes it, or keywords between signs.

    >>> list_in("['a, b', 'c']"), list_in("tumour (diagnosis, surgery), human")
    (['a, b', 'c'], ['tumour (diagnosis, surgery)', 'human'])
    """
    literal = _literal(cell)
    return keywords_in(cell) if literal is None else literal


def _literal(cell: str) -> list[str] | None:
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]") and len(text) < _LONGEST_LIST):
        return None
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str | int | float) for one in found):
        return None
    return [part for part in map(one_line, found) if part]


def people_in(cell: str, *, semicolons: bool = False) -> list[str]:
    """The people in a cell as printed names, given name first.

    With ``semicolons`` these part the names in other cells, so that a single comma is inside a name.

    >>> people_in("Liu R., Adler D.G."), people_in("Zulhendri F,Perera CO")
    (['R. Liu', 'D.G. Adler'], ['F Zulhendri', 'CO Perera'])
    >>> people_in("Balica, G; Vostinaru, O"), people_in("['Marx, Karl', 'Lindgren, Astrid']")
    (['G Balica', 'O Vostinaru'], ['Karl Marx', 'Astrid Lindgren'])
    >>> people_in("Smith, J.A., van Doe, K."), people_in("Perera, Conrad (5720123456); Herman, H.")
    (['J.A. Smith', 'K. van Doe'], ['Conrad Perera', 'H. Herman'])
    >>> people_in("Guan WJ, Ni ZY, Hu Y; China Expert Group for Owls.")
    ['WJ Guan', 'ZY Ni', 'Y Hu', 'China Expert Group for Owls']
    >>> people_in("Ada Lovelace, Alan Turing"), people_in("Moreno Vall, Ines María", semicolons=True)
    (['Ada Lovelace', 'Alan Turing'], ['Ines María Moreno Vall'])
    """
    if (literal := _literal(cell)) is not None:
        return [name for one in literal if (name := given_first(one))]
    cell = spelt_out(cell)
    parted = _PARTING.search(cell) is not None
    pieces = (_PARTING if parted else _COMMA_AND).split(with_suffixes(cell))
    if parted:  # PubMed: "Guan WJ, Ni ZY; China Medical Expert Group."
        pieces = [one for piece in pieces for one in _listed(piece)]
    pieces = [piece for piece in map(only_name, pieces) if piece and not is_others(piece)]
    turned = [initials_last(piece) for piece in pieces]
    if turned and all(turned):
        return [name for name in turned if name]
    if parted:
        return [name for name in map(given_first, pieces) if name]
    if len(pieces) % 2 == 0 and all(is_initials(given.replace(" ", "")) for given in pieces[1::2]):
        return [f"{given} {family}" for family, given in zip(pieces[::2], pieces[1::2], strict=True)]
    if semicolons and cell.count(",") == 1 and not _AND.search(cell):
        return [given_first(cell)]
    return split_names(cell if _AND.search(cell) else ", ".join(pieces))


def _listed(piece: str) -> list[str]:
    """The people of a piece between semicolons, which may be a list of its own or a group."""
    names = [*map(initials_last, piece.split(","))]
    if len(names) > 1 and all(names):
        return names
    return [piece.removesuffix(".") if "," not in piece and piece.count(" ") > 2 else piece]


_WITH_REASON = expression(r"([^:–—(]{1,20}?)\s?[:–—(]\s?(.{1,2000})")
_RAYYAN = expression(r"RAYYAN-INCLUSION:\s{0,3}\{?([^{}|\n]{1,2000})")  # TeX has no braces
_VOTE = expression(r"=>\s{0,3}\"?([A-Za-z]{1,20})")
_REASONS = expression(r"RAYYAN-EXCLUSION-REASONS:\s{0,3}([^|\n]{1,2000})")


def screening_of(decision: str, reason: str = "", notes: str = "") -> dict[str, str]:
    """``{"decision": "include" | "exclude" | "maybe", "reason": ...}``; {} where no decision is stated.

    Args:
        decision: the cell of a column such as ``label_included``.
        reason: the cell of a column of reasons.
        notes: may hold ``RAYYAN-INCLUSION: {"Ada"=>"Excluded"}``; where people disagree, it is ``maybe``.

    >>> screening_of("1"), screening_of("Excluded", "no control group")
    ({'decision': 'include'}, {'decision': 'exclude', 'reason': 'no control group'})
    >>> screening_of("Exclude: wrong setting")
    {'decision': 'exclude', 'reason': 'wrong setting'}
    >>> screening_of("", notes='RAYYAN-INCLUSION: {"Ada"=>"Included", "Bo"=>"Excluded"} | USER-NOTES: {}')
    {'decision': 'maybe'}
    """
    found = _word(decision)
    if not found and (both := _WITH_REASON.fullmatch(one_line(decision))):
        found, reason = _word(both[1]), reason or both[2].removesuffix(")")
    if not found and (rayyan := _RAYYAN.search(notes)):
        votes = {vote for raw in _VOTE.findall(rayyan[1]) if (vote := _word(raw))}
        found = votes.pop() if len(votes) == 1 else "maybe" if votes else ""
        if reasons := _REASONS.search(notes):
            reason = reason or reasons[1]
    if not found:
        return {}
    return {"decision": found, **({"reason": text} if (text := one_line(reason)) else {})}


def _word(text: str) -> str:
    key = one_line(text).casefold()
    return next((name for name, spellings in words().decisions.items() if key in spellings), "")


_NO_NAME = expression(r"[\W_]+")


class Words(msgspec.Struct, frozen=True):
    """The contents of ``columns.toml``, see there."""

    attributes: dict[str, tuple[str, ...]]
    identifiers: dict[str, tuple[str, ...]]
    shared: dict[str, tuple[str, ...]]
    lists: dict[str, tuple[str, ...]]
    kept: dict[str, tuple[str, ...]]
    screening: dict[str, tuple[str, ...]]
    decisions: dict[str, tuple[str, ...]]
    types: dict[str, str]
    databases: dict[str, tuple[str, ...]]


@cache
def words() -> Words:
    """The words file, read once."""
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=Words)


@cache
def known_names() -> frozenset[str]:
    """Every name of a column that is read."""
    held = words()
    groups = (held.attributes, held.identifiers, held.shared, held.lists, held.kept, held.screening)
    return frozenset(name for group in groups for names in group.values() for name in names)


def folded(name: str) -> str:
    """A name of a column as the words file spells it.

    >>> folded("Author(s) ID"), folded("publication_year"), folded(" Abstract Note ")
    ('author s id', 'publication year', 'abstract note')
    """
    return _NO_NAME.sub(" ", name.casefold()).strip()


class Header(Struct, frozen=True, dict=True):
    """The first row of a table.

    Attributes:
        names: of the columns as printed, each once; a column without a name is ``column N``.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, cells: Sequence[str]) -> Header:
        """The header in a row: names are made unique, empty columns at its end left out."""
        last = max((number for number, cell in enumerate(cells, 1) if cell.strip()), default=0)
        names: dict[str, None] = {}
        for number, cell in enumerate(cells[:last], 1):
            wanted = " ".join(cell.split()) or f"column {number}"
            names[wanted if wanted not in names else f"{wanted} (column {number})"] = None
        return cls(tuple(names))

    @cached_property
    def keys(self) -> dict[str, list[int]]:
        """Folded name -> numbers of its columns from 0."""
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self.names):
            found.setdefault(folded(name.partition(" (column ")[0]), []).append(number)
        return found

    def columns(self, spellings: Iterable[str]) -> list[int]:
        """Numbers of the columns that have one of these names, in the order of the names."""
        return [number for name in spellings for number in self.keys.get(name, ())]

    def group(self, names: Mapping[str, Iterable[str]]) -> dict[str, list[int]]:
        """:meth:`columns` of each group of names."""
        return {group: self.columns(spellings) for group, spellings in names.items()}

    @cached_property
    def known(self) -> int:
        """The number of columns with a known name."""
        return sum(len(numbers) for name, numbers in self.keys.items() if name in known_names())

    @cached_property
    def titled(self) -> bool:
        """True if there is a column of titles."""
        return bool(self.columns(words().attributes["title"]))

    @cached_property
    def abstracted(self) -> bool:
        """True if there is a column whose name includes "abstract"; a summary may be one of anything."""
        named = [name for name in words().attributes["abstract"] if "abstract" in name]
        return bool(self.columns(named))

    @cached_property
    def identified(self) -> bool:
        """True if there is a column of identifiers by which a paper can be completed later."""
        schemes = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "acl")
        return any(self.columns(words().identifiers[scheme]) for scheme in schemes)
