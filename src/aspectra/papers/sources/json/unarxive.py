"""unarXive: full text of arXiv papers with linked citations, as JSON Lines.

Two layouts are read: the published one (unarXive 2022: ``metadata``, ``body_text`` in paragraphs,
``bib_entries`` with ``ids``) and a flat one (``title``, ``abstract``, ``sections``, ``bib_entries``).

The citation markers of the text, ``{{cite:KEY}}``, stay where they are, and :attr:`Reference.key` is that
``KEY``, so that a citation context can be linked to its reference by looking up the marker; so do markers
of figures and tables, whose captions are in ``metadata["ref_entries"]``. A formula marker is replaced by
its LaTeX, without which the sentence cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from aspectra.base.values import replace
from aspectra.papers.identifiers import named_identifiers
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.papers.sources.assembly import assemble, identifiers_of, reference_of
from aspectra.papers.sources.json.arxiv import arxiv_year, authors_of
from aspectra.papers.sources.json.records import JsonFormat, as_dict, as_list, rest
from aspectra.papers.sources.json.s2orc import sections_of
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, latex_to_text, one_line

_FORMULA = re.compile(r"\{\{formula:([^{}\s]{1,80})\}\}")
_USED = "paper_id title abstract authors year sections body_text bib_entries metadata".split()
_USED_INNER = ("id", "title", "authors", "authors_parsed", "abstract", "journal-ref", "doi")
_PUBLISHED = {"_source_hash", "_source_name", "body_text.sec_number", "body_text.sec_type"}


def _confidence(keys: frozenset[str], head: bytes) -> float:
    published = "body_text" in keys and keys & _PUBLISHED
    flat = "sections" in keys and "discipline" in keys
    return 0.97 if "paper_id" in keys and (published or flat) else 0.0


def _paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    inner = as_dict(record.get("metadata"))
    arxiv = record.get("paper_id") or inner.get("id")
    identifiers = identifiers_of([("arxiv", arxiv), ("doi", inner.get("doi"))])
    formulas = _formulas(as_dict(record.get("ref_entries")))
    abstract = record.get("abstract")
    if isinstance(abstract, dict):
        abstract = abstract.get("text")
    text_of = partial(_with_formulas, formulas)
    sections, numbers = _sections(record, text_of)
    metadata = rest(inner, _USED_INNER) | rest(record, _USED)
    if formulas and "ref_entries" in metadata:
        metadata["ref_entries"] = {k: v for k, v in metadata["ref_entries"].items() if k not in formulas}
    metadata["section_numbers"] = numbers if any(numbers) else []
    first = as_dict(next(iter(as_list(inner.get("versions"))), None))
    yield from assemble(
        place,
        options,
        own_id=arxiv,
        title=record.get("title") or inner.get("title"),
        abstract=text_of(abstract or inner.get("abstract")),
        authors=map(
            latex_to_text,
            authors_of(record.get("authors") or inner.get("authors"), inner.get("authors_parsed")),
        ),
        year=(record.get("year"), first.get("created"), arxiv_year(identifiers.get("arxiv", ""))),
        venue=inner.get("journal-ref"),
        identifiers=identifiers,
        url=f"https://arxiv.org/abs/{identifiers['arxiv']}" if "arxiv" in identifiers else "",
        sections=sections,
        references=_references(as_dict(record.get("bib_entries"))),
        metadata=metadata,
    )


def _formulas(entries: Mapping[str, Any]) -> dict[str, str]:
    stated = ((key, as_dict(entry).get("latex")) for key, entry in entries.items())
    return {key: clean(latex) for key, latex in stated if isinstance(latex, str) and latex.strip()}


def _with_formulas(formulas: Mapping[str, str], text: object) -> str:
    text = clean(text)
    if "{{formula:" not in text:
        return text
    return _FORMULA.sub(lambda m: f"${formulas[m[1]]}$" if m[1] in formulas else m[0], text)


def _sections(record: Mapping[str, Any], text_of: Callable[[object], str]) -> tuple[list[Section], list[str]]:
    """Sections of either layout and, beside them, their numbers."""
    flat = [as_dict(entry) for entry in as_list(record.get("sections"))]
    sections, numbers = sections_of(as_list(record.get("body_text")), text_of)
    headed = [Section(clean(part.get("heading")), text_of(part.get("text"))) for part in flat]
    return [*headed, *sections], [*(one_line(part.get("number")) for part in flat), *numbers]


def _references(entries: Mapping[str, Any]) -> Iterator[Reference]:
    for key, value in entries.items():
        entry = as_dict(value)
        raw = one_line(entry.get("bib_entry_raw") or entry.get("raw"))
        pairs = [*named_identifiers(as_dict(entry.get("ids")) or entry)]
        pairs += [("arxiv", as_dict(item).get("id")) for item in as_list(entry.get("contained_arXiv_ids"))]
        made = reference_of(raw, key, one_line(entry.get("title")), pairs)
        if own := one_line(entry.get("papers_corpus_id")):
            made = replace(made, identifiers={**made.identifiers, "id": own})
        yield made


SOURCES.register("unarxive")(
    JsonFormat("unarxive", "unarXive 2022; `{{cite:KEY}}` stays in the text", _confidence, _paper)
)
