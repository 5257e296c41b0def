"""BibTeX, readable by BibTeX, Biber and JabRef (UTF-8).

A paper that came from BibTeX is written with its own type and raw fields as long as they still say what
the paper holds. Lost: sections, references, sentence spans, metadata outside the shared names, single line
ends inside abstracts (blank lines stay), ``crossref`` and ``xdata`` links (what they brought is written out),
and characters of an id that no citation key may hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from aspectra.papers.bibliography import csl_types, keywords_text, shared_list, shared_text
from aspectra.papers.export.protocol import NO_LIMIT, WRITERS, ReadBack, inverted, raw_record, tidy
from aspectra.papers.names import stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tagged.entry import NAMES, entry_paper, names_of
from aspectra.papers.text.latex import latex_to_text, text_to_latex

_NO_KEY = re.compile(r"[\s{}(),=\"#%\\~'@]+")
_FIELD_NAME = re.compile(r"[A-Za-z][\w.:+-]*")
_KIND = re.compile(r"[A-Za-z]+")
_ACRONYM = re.compile(r"(?<![\\\w{])[^\W\d_]*[A-Z][^\W_]*[A-Z][^\W_]*")
_MEETING = re.compile(r"\b(?:proc|proceedings|conference|workshop|symposium|meeting)\b", re.I)
_IN_A_BOOK = frozenset(("inproceedings", "conference", "incollection", "inbook", "inreference"))
_ORDER = ("title", "author", "editor", "year", "date", "journal", "journaltitle", "booktitle")


class BibtexWriter:
    """BibTeX entries."""

    name = "bibtex"
    suffix = ".bib"

    def write(self, papers: Iterable[Paper]) -> str:
        """One entry a paper; keys are unique, also when case is ignored."""
        used: set[str] = set()
        entries = []
        for paper in map(tidy, papers):
            kind, fields = _fields(paper)
            entries.append(_entry(_key(paper.id, used), kind, fields))
        return "\n".join(entries)


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
    lines = [f"  {name} = {{{fields[name]}}},\n" for name in names if _FIELD_NAME.fullmatch(name)]
    return f"@{kind}{{{key},\n{''.join(lines)}}}\n"


def _fields(paper: Paper) -> tuple[str, dict[str, str]]:
    raw = raw_record(paper, "bibtex")
    kind, fields = _guessed_kind(paper), {}
    if raw and isinstance(raw[1], dict):
        kind = raw[0] if _KIND.fullmatch(raw[0]) else kind
        fields = {
            name: _sound(value)
            for name, value in raw[1].items()
            if isinstance(value, str) and name not in ("crossref", "xdata")
        }
    if paper.abstract:
        fields.setdefault("abstract", text_to_latex(paper.abstract))
    back = ReadBack(paper, entry_paper(paper.id, kind, fields, "", NO_LIMIT))
    for attribute in back.attributes(NAMES.attributes):
        for name in NAMES.attributes[attribute]:
            fields.pop(name, None)
        fields.update(_written(paper, attribute, kind))
    _add_identifiers(paper, back, fields)
    _add_shared(paper, back, kind, fields)
    return kind, fields


def _sound(value: str) -> str:
    """The raw value unchanged if its braces balance for BibTeX and for readers that honour escapes."""
    enclosed = "{" + value + "}"
    for signs in (re.findall(r"[{}]", enclosed), re.findall(r"(?<!\\)[{}]", enclosed)):
        depth = 0
        for number, sign in enumerate(signs):
            depth += 1 if sign == "{" else -1
            if depth < 0 or (depth == 0 and number < len(signs) - 1):
                return text_to_latex(latex_to_text(value))
        if depth:
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
            # Styles turn titles to lower case; acronyms are protected from it.
            return {"title": _ACRONYM.sub(lambda m: "{" + m.group() + "}", escaped)} if escaped else {}
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


def _people(paper: Paper, names: Iterable[str]) -> str:
    stated = stated_names(paper.metadata)
    return " and ".join(_person(name, stated) for name in names)


def _person(name: str, stated: Collection[str]) -> str:
    escaped, turned = text_to_latex(name), text_to_latex(inverted(name, stated))
    if turned and names_of(turned) == [name]:
        return turned
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
        elif name in NAMES.shared and (value := shared_text(paper.metadata, name)):
            # A date that is not the year's own would change the year on reading.
            if name == "date" and str(paper.year) not in value:
                continue
            fields[NAMES.shared[name][0]] = text_to_latex(" ".join(value.split()))


WRITERS.register("bibtex")(BibtexWriter())
