"""BibTeX, readable by BibTeX, Biber and JabRef (UTF-8).

A paper that came from BibTeX is written with its own type and raw fields as long as they still say what
the paper holds; beside the fields of BibLaTeX stand those of BibTeX, months are macros, and signs that LaTeX
would stumble over are escaped. Lost: dates in words that no calendar has, sections, references, sentence
spans, metadata outside the shared names, single line ends inside abstracts (blank lines stay), ``crossref``
and ``xdata`` links (what they brought is written out), and characters of an id that no citation key may hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate

from aspectra.papers.bibliography import (
    SHORT_MONTHS,
    csl_types,
    date_parts,
    fullest_date,
    keywords_text,
    shared_list,
    shared_text,
)
from aspectra.papers.export.protocol import NO_LIMIT, WRITERS, ReadBack, inverted, plain_doi, raw_record, tidy
from aspectra.papers.names import stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tagged.records import NAMES, entry_paper, names_of
from aspectra.papers.text.cleaning import latex_to_text, text_to_latex

# Pandoc refuses a file for signs outside words that are not ASCII, and for ^<>|.
_NO_KEY = re.compile(r"(?:[\s{}(),=\"#%\\~'@^<>|]|[^\w\x00-\x7f])+")
_FIELD_NAME = re.compile(r"[A-Za-z][\w.:+-]*")
_KIND = re.compile(r"[A-Za-z]+")
_WORD = re.compile(r"(?<![\\\w{])[^\W\d_][^\W_]*")
_BEGINS = re.compile(r"[.:?!]\s*$")  # a sentence
_INNER_CAPITAL = re.compile(r"[A-Z][^\W_]*[A-Z]")
_BARE = re.compile(r"(?<!\\)[&#%_]")
_MARKUP = re.compile(r"[$]|\\(?:url|href|begin)\b")
_AND = re.compile(r" and (?=\S)")
# BibTeX takes all before the last word in lower case for a particle: "Fonseca de la Bella, Ana".
_FAMILY = re.compile(r"^([^\W\da-z_][^,{}\\]{0,80} [a-z][^,{}\\]{0,80})(?=,)")
_PEOPLE = ("author", "editor")
_PRINTED = frozenset(
    "title subtitle booktitle maintitle journal journaltitle series publisher institution school "
    "organization address location eventtitle venue".split()
)
_DATE = re.compile(r"-?\d{4}(?:-\d\d){0,2}[?~%]?(?:/(?:-?\d{4}(?:-\d\d){0,2}[?~%]?|\.\.)?)?")
# Theses and reports name their publisher in another field.
_PUBLISHER = {
    **dict.fromkeys(("phdthesis", "mastersthesis"), "school"),
    **dict.fromkeys(("thesis", "techreport", "report"), "institution"),
}
_MEETING = re.compile(r"\b(?:proc|proceedings|conference|workshop|symposium|meeting)\b", re.I)
_IN_A_BOOK = frozenset(("inproceedings", "conference", "incollection", "inbook", "inreference"))
_COMMAS = 2
_LONGER = 3  # letters of articles and prepositions, which have no capital in any title
_ORDER = ("title", "author", "editor", "year", "date", "journal", "journaltitle", "booktitle")


class BibtexWriter:
    """BibTeX entries."""

    name = "bibtex"
    suffix = ".bib"

    def write(self, papers: Iterable[Paper]) -> str:
        """One entry a paper; keys are unique, also when case is ignored."""
        used: set[str] = set()
        return "\n".join(_entry(_key(paper.id, used), *_fields(paper)) for paper in map(tidy, papers))


def _key(wanted: str, used: set[str]) -> str:
    base = wanted if wanted and not _NO_KEY.search(wanted) else _NO_KEY.sub("-", wanted).strip("-") or "paper"
    key, number = base, 1
    while key.casefold() in used:
        number += 1
        key = f"{base}-{number}"
    used.add(key.casefold())
    return key


def _entry(key: str, kind: str, fields: Mapping[str, str]) -> str:
    names = [name for name in _ORDER if name in fields] + [name for name in fields if name not in _ORDER]
    lines = [f"  {name} = {_value(name, fields[name])},\n" for name in names if _FIELD_NAME.fullmatch(name)]
    return f"@{kind}{{{key},\n{''.join(lines)}}}\n"


def _value(name: str, text: str) -> str:
    return text if name == "month" and text in SHORT_MONTHS else f"{{{text}}}"


def _fields(paper: Paper) -> tuple[str, dict[str, str]]:
    raw = raw_record(paper, "bibtex")
    kind, fields = _guessed_kind(paper), {}
    if raw and isinstance(raw[1], dict):
        kind = raw[0] if _KIND.fullmatch(raw[0]) else kind
        fields = {
            name: _sound(name, value)
            for name, value in raw[1].items()
            if isinstance(value, str) and name not in ("crossref", "xdata") and not _is_a_list(name, value)
        }
    for name in ("journaltitle", *(("booktitle",) if kind == "article" else ())):
        if name in fields:
            fields.setdefault("journal", fields[name])
    if _PUBLISHER.get(kind) == "school" and "school" not in fields and "institution" in fields:
        fields["school"] = fields.pop("institution")
    if paper.abstract:
        fields.setdefault("abstract", text_to_latex(paper.abstract))
    if doi := plain_doi(paper, fields.get("doi", "")):
        fields["doi"] = _address(doi)
    back = ReadBack(paper, entry_paper(paper.id, kind, fields, "", NO_LIMIT))
    for attribute in back.attributes(NAMES.attributes):
        for name in NAMES.attributes[attribute]:
            fields.pop(name, None)
        fields.update(_written(paper, attribute, kind))
    _add_dates(paper, fields)
    _add_identifiers(paper, back, fields)
    _add_shared(paper, back, kind, fields)
    return kind, fields


def _add_dates(paper: Paper, fields: dict[str, str]) -> None:
    """Year and month for BibTeX, and for others a date where the day is known or the entry had one."""
    if paper.year is None:
        return
    date, year, month = (latex_to_text(fields.get(name, "")) for name in ("date", "year", "month"))
    parts = fullest_date((date, shared_text(paper.metadata, "date"), month, year), paper.year)
    if not year or len(date_parts(year, paper.year)) > 1:
        fields["year"] = str(paper.year)
    if len(parts) > 1:
        fields["month"] = SHORT_MONTHS[parts[1] - 1]
    if not _DATE.fullmatch(date):
        fields.pop("date", None)
        if len(parts) > 2:
            fields["date"] = "-".join(f"{part:02}" for part in parts)


def _is_a_list(name: str, value: str) -> bool:
    """True if commas separate the people of a field, which programs reject: a name has at most two."""
    people = _persons(value) if name in _PEOPLE else []
    return any("{" not in person and person.count(",") > _COMMAS for person in people)


def _persons(value: str) -> list[str]:
    return _AND.split(" ".join(value.split()))


def _sound(name: str, value: str) -> str:
    """The raw value, its braces balanced for BibTeX and for readers that honour escapes, no sign bare.

    It is on one line, as pandoc glues lines together, and in braces of its own only where they say something.
    """
    if name in _PEOPLE:
        value = " and ".join(_FAMILY.sub(r"{\1}", person) for person in _persons(value))
    elif name in _PRINTED:
        value = " ".join(value.split())
        value = value if _MARKUP.search(value) else _BARE.sub(r"\\\g<0>", value)
    elif value.startswith("{") and not re.search(r"[{}]", value[1:-1]):
        value = value.removeprefix("{").removesuffix("}")
    enclosed = "{" + value + "}"
    for signs in (re.findall(r"[{}]", enclosed), re.findall(r"(?<!\\)[{}]", enclosed)):
        *inside, end = accumulate(1 if sign == "{" else -1 for sign in signs)
        if end != 0 or any(depth < 1 for depth in inside):
            return text_to_latex(latex_to_text(value))
    # At the beginning of a line, @ would open a new entry.
    return re.sub(r"(?<!\s)\s++(?=@)", lambda m: " " if "\n" in m[0] else m[0], value)


def _guessed_kind(paper: Paper) -> str:
    known = shared_text(paper.metadata, "type")
    if known in NAMES.written_types:
        return NAMES.written_types[known]
    if not paper.venue:
        return "misc"
    return "inproceedings" if _MEETING.search(paper.venue) else "article"


def _written(paper: Paper, attribute: str, kind: str) -> dict[str, str]:
    match attribute:
        case "title":
            escaped = text_to_latex(paper.title)
            return {"title": _with_capitals(escaped)} if escaped else {}
        case "authors":
            return {"author": _people(paper, paper.authors)} if paper.authors else {}
        case "year":
            return {"year": str(paper.year)} if paper.year is not None else {}
        case "venue":
            name = "booktitle" if kind in _IN_A_BOOK else "journal"
            return {name: text_to_latex(paper.venue)} if paper.venue else {}
        case "url":
            return {"url": _address(paper.url)} if paper.url else {}
        case "language":
            return {"langid": paper.language} if paper.language else {}
        case _:
            return {attribute: text_to_latex(paper.abstract)} if paper.abstract else {}


def _with_capitals(title: str) -> str:
    """Acronyms and names in braces, for styles turn titles to lower case.

    Where at most half of the longer words have a capital, those that have one are names.
    """
    words = list(_WORD.finditer(title))
    inside = {m.start() for m in words[1:] if not _BEGINS.search(title, max(0, m.start() - 3), m.start())}
    longer = [m.group()[0].isupper() for m in words if m.start() in inside and len(m.group()) > _LONGER]
    named = 2 * sum(longer) <= len(longer)

    def kept(match: re.Match[str]) -> str:
        word = match.group()
        name = named and word[0].isupper() and match.start() in inside
        return "{" + word + "}" if name or _INNER_CAPITAL.search(word) else word

    return _WORD.sub(kept, title)


def _people(paper: Paper, names: Iterable[str]) -> str:
    stated = stated_names(paper.metadata)
    return " and ".join(_person(name, stated) for name in names)


def _person(name: str, stated: Collection[str]) -> str:
    escaped, turned = text_to_latex(name), text_to_latex(inverted(name, stated))
    if turned and names_of(turned) == [name]:
        return _FAMILY.sub(r"{\1}", turned)
    return escaped if names_of(escaped) == [name] and " " not in name else "{" + escaped + "}"


def _address(url: str) -> str:
    """A URL with only what would break the entry escaped, in the URL's own way."""
    return url.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")


def _add_identifiers(paper: Paper, back: ReadBack, fields: dict[str, str]) -> None:
    for scheme, value in back.identifiers().items():
        if scheme == "arxiv":
            fields |= {"eprint": _address(value), "archiveprefix": "arXiv"}
        elif scheme in ("doi", "pmid", "pmcid", "isbn", "openalex"):
            fields[scheme] = _address(value)
        elif scheme == "s2":
            fields["corpusid"] = _address(value)


def _add_shared(paper: Paper, back: ReadBack, kind: str, fields: dict[str, str]) -> None:
    for name in back.shared():
        if name == "keywords":
            fields["keywords"] = text_to_latex(keywords_text(shared_list(paper.metadata, name)))
        elif name == "note" and paper.metadata.get("annote"):
            lines = shared_text(paper.metadata, "annote").splitlines()  # a reason ends at the bar
            fields["annote"] = text_to_latex(" | ".join(" ".join(line.split()) for line in lines))
        elif name == "type":
            known = shared_text(paper.metadata, name)
            if known in csl_types() and NAMES.types.get(kind) != known:
                fields["entrysubtype"] = known.removeprefix("article-")
        elif name == "note":  # a line end alone is layout
            lines = shared_text(paper.metadata, name).splitlines()
            fields["note"] = "\n\n".join(" ".join(text_to_latex(line).split()) for line in lines)
        elif name == "editors":
            fields["editor"] = _people(paper, shared_list(paper.metadata, name))
        elif name in NAMES.shared and name != "date" and (value := shared_text(paper.metadata, name)):
            field = _PUBLISHER.get(kind, name) if name == "publisher" else NAMES.shared[name][0]
            fields[field] = text_to_latex(" ".join(value.split()))


WRITERS.register("bibtex")(BibtexWriter())
