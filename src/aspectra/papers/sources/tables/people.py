"""Names of people and lists in one cell of a table, in the spellings that exports use."""

from __future__ import annotations

import ast
import re

from aspectra.papers.bibliography import keywords_in
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
from aspectra.papers.text.cleaning import one_line

_PARTING = re.compile(r"[;|\n]")
_AND = re.compile(r"\s(?:and|&)\s")
_COMMA_AND = re.compile(r",(?:\s?(?:and|&)\s)?|\s(?:and|&)\s")
_LONGEST_LIST = 200_000  # characters of a list literal; longer ones are taken as text


def list_in(cell: str) -> list[str]:
    """The entries of a cell: a list as Python or JSON writes it, or keywords between signs.

    >>> list_in("['a, b', 'c']"), list_in("tumour (diagnosis, surgery), human")
    (['a, b', 'c'], ['tumour (diagnosis, surgery)', 'human'])
    """
    if (literal := _literal(cell)) is not None:
        return literal
    return keywords_in(cell)


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
    >>> people_in("Ada Lovelace, Alan Turing"), people_in("Moreno Vall, Ines María", semicolons=True)
    (['Ada Lovelace', 'Alan Turing'], ['Ines María Moreno Vall'])
    """
    if (literal := _literal(cell)) is not None:
        return [name for one in literal if (name := given_first(one))]
    cell = spelt_out(cell)
    parted = _PARTING.search(cell) is not None
    pieces = (_PARTING if parted else _COMMA_AND).split(with_suffixes(cell))
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
