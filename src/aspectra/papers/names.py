"""Names of persons: read from files, and split into parts for formats that need them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from aspectra.base.expressions import expression
from aspectra.papers.text.cleaning import latex_to_text, one_line, unmarked

_SUFFIX = expression(r"(?:jr|sr|ii|iii|iv|v|ph\.? ?d|m\.? ?d|esq)\.?", re.I)
_BEHIND = expression(r"(?:[JS]r|II|III|IV|[Pp][Hh]\.? ?D|Esq)\.?")  # a whole name
_COMPANY = expression(r"(?:inc|ltd|llc|corp|co|gmbh|plc|jr|sr)\.?", re.I)
_OF_COMPANY = expression(r".*\s(?:(?:and|&)\s.*|inc|ltd|llc|corp|gmbh|plc)\.?", re.I | re.S)  # behind a comma
_LAST_SUFFIX = expression(r"(?:jr|sr|ii|iii|iv|ph\.?d|m\.?d|esq)\.?", re.I)
_GENERATION = r"(?:jr|sr|2nd|3rd|4th|ii|iii|iv)"
_NUMBERED = expression(rf"{_GENERATION}\.?", re.I)
_NO_INITIALS = expression(rf"(?:{_GENERATION}|ph\.?d|m\.d)\.?", re.I)
_BEHIND_INITIALS = expression(rf"(?<=\.),\s{{0,3}}({_GENERATION}\b\.?)", re.I)
_LAST_STOP = expression(r"(?<=[^\W\d_]{2})\.$")
_GENERATION_LAST = expression(r"(.*\S) ([JS]r\.?|2nd|3rd|4th|III?|IV)", re.S)  # in given names
_OTHERS = expression(
    r"(?:(?:and|&) )?(?:et\.? al(?:ii|\.)?|others|\.\.\.|…|\d+ more)"
    r"|no authors?(?: names?)?(?: available| listed| given)?|anon(?:ymous)?\.?",
    re.I,
)
_INSTITUTION = expression(
    r"\b(?:organi[sz]ation|university|institute|association|committee|group|team|consortium|society|department"
    r"|ministry|council|foundation|centre|center|laborator\w*|collaboration|network|initiative|inc|ltd)\b",
    re.I,
)
# Signs of footnotes, numbers of people, roles and titles: they are in lists of names, and no part of one.
_NO_NAME = expression(
    r"[*\u2020\u2021\u00a7\u00b6\u2217]+| ?[(\[](?:(?:orcid:? ?)?(?:https?://orcid\.org/)?(?:\d{4}-){3}\d{3}[\dX]"
    r"|\d{5,20}|eds?\.?|editors?|hrsg\.?)[)\]]|^(?:(?:dr|prof)\.? )+(?=\S+ )",
    re.I,
)
_FULL_WIDTH = str.maketrans("\uff1b\uff0c\u3001", ";,;")
# One name: lower case begins it, "y" is its second word, or initials end the given names alone.
_FAMILY_FIRST = expression(r"(?:[a-zß-ÿ][^,]*|[^\s,]+ y [^,]+),[^,]+|[^,]+[^\W\dA-Z],[^,]*[ .-][A-Z]\.")
_SEVERAL = expression(r"[^,]+,[^,]+ (?:and|&) [^,]+,")  # "Family, Given and Family, Given"
# Keys of a name's parts in JSON records, in the order in which the parts are printed.
_PARTS = (
    ("given", "first", "firstName", "first_name", "forename", "givenName"),
    ("middle",),
    ("dropping-particle",),
    ("non-dropping-particle",),
    ("family", "last", "lastName", "last_name", "surname", "familyName"),
    ("suffix",),
)
_EAST_ASIAN = expression(r"[\u3041-\u3096\u3400-\u9fff\uac00-\ud7a3]{1,4}")  # Han, hiragana, hangul
_WHOLE = ("literal", "name", "display_name", "full_name")

NameParts = tuple[str, str, str, str]
"""(given, particle, family, suffix), each "" when absent."""


def given_first(name: object) -> str:
    """A personal name as printed: "Family, Given" is turned round, suffixes stay last.

    >>> given_first("Knuth, Donald E."), given_first("King, Jr., Martin Luther")
    ('Donald E. Knuth', 'Martin Luther King Jr.')
    >>> given_first("Churchill, S.A.")  # initials far more often than a company
    'S.A. Churchill'
    >>> given_first("Harper, JR"), given_first("Perera, CO"), given_first("Ebron G.P., Jr.")
    ('JR Harper', 'CO Perera', 'G.P. Ebron Jr.')
    >>> given_first("van der Berg, Anna, III"), given_first("ACME, Inc.")
    ('Anna van der Berg III', 'ACME, Inc.')
    >>> given_first("Marsh, Moor and Mud Ltd."), given_first("Cournapeau D, et al.")
    ('Marsh, Moor and Mud Ltd.', 'Cournapeau D')
    >>> given_first("Smith, John A Jr")
    'John A Smith Jr'
    """
    text = one_line(name)
    parts = [part for part in (p.strip() for p in text.split(",")) if part]
    if len(parts) > 1 and is_others(parts[-1]):
        while len(parts) > 1 and is_others(parts[-1]):
            parts.pop()
        text = ", ".join(parts)
    if len(parts) == 2:
        if _NUMBERED.fullmatch(parts[1]) and (turned := initials_last(parts[0])):
            return f"{turned} {parts[1]}"
        if " " in parts[0] and _BEHIND.fullmatch(parts[1]) and parts[0][0].isupper():
            return " ".join(parts)
        company = _COMPANY.fullmatch(parts[1]) or _OF_COMPANY.fullmatch(parts[1])
        if not company or (parts[1] in ("JR", "SR", "CO") and not text.isupper()):
            return printed(parts[1], parts[0])
    given = [part for part in parts[1:] if not is_suffix(part)]
    if len(parts) > 2 and len(given) == 1:
        return " ".join([given[0], parts[0], *filter(is_suffix, parts[1:])])
    return text.rstrip(", ") if len(parts) == 1 else text


def printed(given: str, family: str, suffix: str = "") -> str:
    """A name as printed: given names first, but in Chinese, Japanese and Korean script the family, unspaced.

    >>> printed("Ada", "Lovelace"), printed("\u4f1f", "\u738b")
    ('Ada Lovelace', '\u738b\u4f1f')
    """
    if _EAST_ASIAN.fullmatch(given) and _EAST_ASIAN.fullmatch(family):
        return family + given
    if not suffix and (found := _GENERATION_LAST.fullmatch(given)):  # MEDLINE: "Smith, John A Jr"
        given, suffix = found.groups()
    return one_line(f"{given} {family} {suffix}")


def is_suffix(text: str) -> bool:
    """True if the text is a suffix of a name: a generation or a degree."""
    return _SUFFIX.fullmatch(text.strip()) is not None


def only_name(text: str) -> str:
    """A name without signs of footnotes, numbers of people, roles and titles."""
    return one_line(_NO_NAME.sub("", text))


def spelt_out(text: str) -> str:
    """A list of names whose entities are undone before it is cut, with plain signs between the names."""
    return unmarked(text) if text.isascii() else unmarked(text).translate(_FULL_WIDTH)


def split_names(text: object) -> list[str]:
    """Names out of one string: separated by semicolons, `` and ``, or commas between full names.

    >>> split_names("Ada Lovelace, Alan Turing"), split_names("Lovelace, Ada; Turing, Alan")
    (['Ada Lovelace', 'Alan Turing'], ['Ada Lovelace', 'Alan Turing'])
    >>> split_names("van Gogh, Vincent Willem"), split_names("Ortega y Gasset, José Luis")
    (['Vincent Willem van Gogh'], ['José Luis Ortega y Gasset'])
    """
    line = spelt_out(one_line(text))
    if ";" in line or (" and " in line and "," not in line and _INSTITUTION.search(line)):
        pieces = line.split(";")
    elif " and " in line or " & " in line:
        pieces = re.split(r",? (?:and|&) ", line)
        if len(pieces) == 2 and "," in pieces[0]:
            first = [piece.strip() for piece in pieces[0].split(",")]
            if all(" " in piece for piece in first):
                pieces = [*first, pieces[1]]
    else:
        pieces = [piece.strip() for piece in line.split(",")]
        if not all(" " in piece for piece in pieces) or _FAMILY_FIRST.fullmatch(line):
            pieces = [line]
    return [name for name in map(given_first, pieces) if name]


def is_others(name: str) -> bool:
    """True if a name stands for authors left out, such as ``et al.``, or for none, as ``[Anonymous]``."""
    return _OTHERS.fullmatch(name.strip(" ,;[]()")) is not None


def is_initials(word: str) -> bool:
    """True if a word is initials, such as ``AB``, ``A.B.`` and ``J.-P.``."""
    letters = word.replace(".", "").replace("-", "")
    return 1 <= len(letters) <= 4 and letters.isalpha() and letters.isupper()


def initials_last(name: str) -> str:
    """Return "AB Family" for "Family AB", a suffix behind; "" for a name of another shape."""
    # The end of a list ("Jones KL.") has a full stop of its own.
    words = _LAST_STOP.sub("", name).split()
    suffix = f" {words.pop()}" if len(words) > 2 and _NO_INITIALS.fullmatch(words[-1]) else ""
    if len(words) < 2 or "," in name or not is_initials(words[-1]) or is_initials(words[0]):
        return ""
    return f"{words[-1]} {' '.join(words[:-1])}{suffix}"


def with_suffixes(text: str) -> str:
    """A list of names in which a suffix behind initials has no comma before it, which would make it a name.

    >>> with_suffixes("Liu R., Adler D.G., Jr., Ro K.")
    'Liu R., Adler D.G. Jr., Ro K.'
    """
    return _BEHIND_INITIALS.sub(r" \1", text)


def names_in_lines(lines: Iterable[str]) -> list[str]:
    """The names of a record that has one in each line, or several with semicolons; initials go first.

    An *and* behind a name, which R writes, is none of it.

    A name alone is turned round where its initials are one letter or have stops: "Google AI" may be a name.

    >>> names_in_lines(["Roe AB", "Osk V"]), names_in_lines(["Google AI"]), names_in_lines(["Li, Bo; Ro, Al"])
    (['AB Roe', 'V Osk'], ['Google AI'], ['Bo Li', 'Al Ro'])
    """
    every = (one_line(line).removesuffix(" and") for value in lines for line in value.split("\n"))
    names = [spelt_out(line) for line in every if line and not is_others(line)]
    if turned := _turned(names, several=True):
        return turned
    return [name for line in names for name in _in_line(line) if name]


def _in_line(line: str) -> list[str]:
    several = ";" in line or (_SEVERAL.match(line) and not _INSTITUTION.search(line))
    return split_names(line) if several else [given_first(line)]


def _turned(names: list[str], *, several: bool = False) -> list[str]:
    """The names with their initials first where all have them last, and surely; else none.

    Sure is a list with a single letter or a stop in it, and with ``several`` every list of two or more.
    """
    if all("," in name for name in names) or any(map(_INSTITUTION.search, names)):
        return []
    turned = [initials_last(name) for name in names]
    sure = any(len(name.split(" ")[0].partition(".")[0]) == 1 for name in turned if name)
    return turned if all(turned) and (sure or (several and len(turned) > 1)) else []


def names_in_commas(text: str) -> list[str]:
    """The names of a text that is three or more of them between commas; of any other text none.

    Each has its initials last, or each has two words or more; "Family, Jr., Given" is one name.

    >>> names_in_commas("Liu R., Adler D.G., Jr., Ro K."), names_in_commas("Ada Ro, Bo Roy, et al.")
    (['R. Liu', 'D.G. Adler Jr', 'K. Ro'], ['Ada Ro', 'Bo Roy'])
    """
    text = with_suffixes(text)
    pieces = [piece for piece in map(one_line, text.split(",")) if piece and not is_others(piece)]
    if text.count(",") < 2 or _INSTITUTION.search(text):
        return []
    turned = [initials_last(piece) for piece in pieces]
    return turned if all(turned) else pieces if all(" " in piece for piece in pieces) else []


def people(values: Iterable[Any], *, turn: bool = True) -> list[str]:
    """The names of the authors of a JSON record, each as :func:`person` has it; initials go first."""
    listed = list(values)
    found = (_in_line(spelt_out(one)) if isinstance(one, str) else [person(one, turn=turn)] for one in listed)
    names = [name for several in found for name in several if name]
    whole = not any(isinstance(one, Mapping) and not one.keys() & {*_WHOLE} for one in listed)
    return (_turned(names) if whole else []) or names


def person(value: Any, *, turn: bool = True) -> str:
    """The name in one author of a JSON record: a text, or an object with the name or its parts.

    Args:
        value: the author; anything else gives "".
        turn: whether "Family, Given" is turned round where the name is given whole.

    >>> person({"first": "Ada", "middle": ["King"], "last": "Lovelace"}), person("Lovelace, Ada")
    ('Ada King Lovelace', 'Ada Lovelace')
    """
    whole = given_first if turn else one_line
    if isinstance(value, str):
        return whole(value)
    if not isinstance(value, Mapping):
        return ""
    if isinstance(value.get("author"), Mapping):
        value = value["author"]  # OpenAlex: the position in the list around the person
    for key in _WHOLE:
        if isinstance(value.get(key), str) and value[key].strip():
            return whole(value[key])
    parts: list[str] = []
    for keys in _PARTS:
        part = next((value[key] for key in keys if value.get(key)), "")
        parts.extend(map(str, part) if isinstance(part, list) else [str(part)])
    if any("," in part and is_suffix(part.rpartition(",")[2]) for part in parts):  # as Zotero keeps suffixes
        return given_first(f"{' '.join(parts[1:])}, {parts[0]}")
    return printed(one_line(" ".join(parts[:-2])), *parts[-2:])


def stated_names(record: Any) -> set[str]:
    """All that a record, in whatever format, states as "Family, Given": see :func:`name_parts`."""
    if isinstance(record, Mapping):
        parts = (record.get(key, "") for key in ("non-dropping-particle", "family", "given"))
        return {one_line("{} {}, {}".format(*parts))}.union(*map(stated_names, record.values()))
    if isinstance(record, (list, tuple)):
        return set[str]().union(*map(stated_names, record))
    text = record if isinstance(record, str) and len(record) < 80 * record.count(",") else ""  # no prose
    if not text:
        return set()
    if "{" in text or "\\" in text:
        text = latex_to_text(text)
    # BibTeX breaks lines anywhere, other formats between names.
    lists = {*re.split(r"\sand\s|;", text), *re.split(r"[;\n]", text)}
    return {one_line(name).replace(" ,", ",") for name in lists}


def name_parts(name: str, stated: Collection[str] = ()) -> NameParts | None:
    """A printed name taken apart; None for institutions and names of one word.

    The family name is the last word, or what ``stated`` has before a comma.

    >>> name_parts("Ines Moreno Vall", {"Moreno Vall, Ines"})
    ('Ines', '', 'Moreno Vall', '')
    >>> name_parts("Anna van der Berg"), name_parts("Martin Luther King Jr.")
    (('Anna', 'van der', 'Berg', ''), ('Martin Luther', '', 'King', 'Jr.'))
    >>> name_parts("World Health Organization"), name_parts("Ann Center", {"Center, Ann"})
    (None, ('Ann', '', 'Center', ''))
    """
    for at in range(1, len(name)) if _EAST_ASIAN.fullmatch(name) else ():
        if f"{name[:at]}, {name[at:]}" in stated:
            return name[at:], "", name[:at], ""
    words: Sequence[str] = name.split()
    suffix = ""
    if len(words) > 2 and _LAST_SUFFIX.fullmatch(words[-1]):
        suffix, words = words[-1], words[:-1]
    if not 2 <= len(words) <= 7 or "," in name:
        return None
    start = last = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    told = [at for at in range(1, last + 1) if f"{' '.join(words[at:])}, {' '.join(words[:at])}" in stated]
    if not told and (_INSTITUTION.search(name) or words[0].islower()):
        return None
    if told:
        start = told[-1]
        last = next((n for n in range(start, last) if not words[n].islower()), last)
    return " ".join(words[:start]), " ".join(words[start:last]), " ".join(words[last:]), suffix
