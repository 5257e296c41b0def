r"""JATS: the article XML of PubMed Central and many publishers.

Read are the front matter, the abstract (labels of a structured one stay in the text, ``Methods: ...``),
every section with its own paragraphs, and the reference list. Formulas are kept as LaTeX where the file has
it. The visible text of citations stays, and :attr:`Reference.key` is the ``rid`` they point to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aspectra.papers.identifiers import identifiers_in
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.papers.sources.fields import assemble, identifiers_of, language_of, one_line, year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml._parsing import Element, attribute, found, read_elements, root_name, text_of
from aspectra.papers.text.references import cited_title

__all__ = ["Jats"]

_SCHEMES = {"doi": "doi", "pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "arxiv": "arxiv", "isbn": "isbn"}
_SKIP = ("fig", "table-wrap", "fn", "supplementary-material", "media", "object-id")
_TITLE_SKIP = ("xref", "fn", "object-id")
_SIDE = {
    "graphical",
    "teaser",
    "toc",
    "executive-summary",
    "author-highlights",
    "key-points",
    "plain-language",
}
_LATEX = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.S)
_BLOCKS = ("p", "disp-formula", "list", "disp-quote", "boxed-text", "statement", "def-list")


class Jats:
    """JATS articles, one or several to a file."""

    name = "jats"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.97 when the root is ``article`` (or a set of them) with JATS's own marks, else 0."""
        root, attributes = root_name(head)
        if root in ("pmc-articleset", "articles"):
            return 0.97 if b"<article" in head else 0.0
        if root != "article":
            return 0.0
        sure = "article-type" in attributes or "dtd-version" in attributes
        return 0.97 if sure or b"<article-meta" in head or b"JATS" in head else 0.3

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """One paper for each ``article``; a sub-article is part of its article.

        Raises:
            BadInput: no well-formed XML, entity declarations, or no ``article`` element.
        """
        yield from read_elements(path, options, "article", _paper)


def _paper(article: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    _plain_formulas(article)
    meta = next(found(article, "front/article-meta"), None)
    group = next(found(meta, "title-group"), None)
    title = text_of(next(found(group, "article-title"), None), _TITLE_SKIP)
    if subtitle := text_of(next(found(group, "subtitle"), None)):
        title = f"{title}: {subtitle}"
    identifiers = identifiers_of(
        (_SCHEMES[kind], _pmc(kind, text_of(i)))
        for i in found(meta, "article-id")
        if (kind := attribute(i, "pub-id-type").casefold()) in _SCHEMES
    )
    years = [year for date in found(meta, "pub-date") if (year := year_in(text_of(_one(date, "year"))))]
    sections = [s for part in ("body", "back") for s in _sections(_one(article, part))]
    metadata: dict[str, Any] = {
        "article_type": attribute(article, "article-type"),
        "keywords": [word for k in found(meta, "kwd-group/kwd") if (word := text_of(k))],
        "subjects": [text for s in found(meta, "article-categories//subject") if (text := text_of(s))],
        "volume": text_of(_one(meta, "volume")),
        "issue": text_of(_one(meta, "issue")),
        "pages": "–".join(p for n in ("fpage", "lpage") if (p := text_of(_one(meta, n)))),
        "publisher": text_of(_one(article, "front/journal-meta/publisher/publisher-name")),
        "license": text_of(_one(meta, "permissions/license")),
        "other_abstracts": [
            text
            for a in [*found(meta, "abstract"), *found(meta, "trans-abstract")]
            if a is not _main_abstract(meta) and (text := _abstract(a))
        ],
    }
    yield from assemble(
        place,
        options,
        title=title,
        abstract=_abstract(_main_abstract(meta)),
        authors=[n for c in found(meta, ".//contrib") if _is_author(c) and (n := _person(c))],
        year=min(years, default=None),
        venue=text_of(_one(article, "front/journal-meta//journal-title")),
        identifiers=identifiers,
        language=language_of(attribute(article, "xml:lang")),
        sections=sections,
        references=_references(article),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _one(element: Element | None, path: str) -> Element | None:
    return next(found(element, path), None)


def _pmc(kind: str, value: str) -> str:
    """PubMed Central writes its ids with and without the letters."""
    return f"PMC{value}" if kind in ("pmc", "pmcid") and value.isdigit() else value


def _is_author(contributor: Element) -> bool:
    return attribute(contributor, "contrib-type") in ("", "author")


def _person(contributor: Element) -> str:
    name = _one(contributor, "name")
    if name is None:
        name = _one(contributor, "name-alternatives/name")
    if name is not None:
        parts = [text_of(_one(name, part)) for part in ("prefix", "given-names", "surname", "suffix")]
        return one_line(" ".join(parts[1:]))
    return text_of(_one(contributor, "string-name")) or text_of(
        _one(contributor, "collab"), ("contrib-group",)
    )


def _plain_formulas(article: Element) -> None:
    """Of the alternatives of a formula keep the LaTeX, without its document around it."""
    for tex in article.iter("tex-math"):
        whole = "".join(str(part) for part in tex.itertext())
        inner = _LATEX.search(whole)
        for child in list(tex):
            tex.remove(child)
        tex.text = one_line(inner.group(1) if inner else whole)
    for choice in [*article.iter("alternatives")]:
        if choice.find("tex-math") is not None:
            for child in [c for c in choice if c.tag != "tex-math"]:
                child.tag = "object-id"  # a name that is left out; removing it would take its tail along


def _main_abstract(meta: Element | None) -> Element | None:
    every = [*found(meta, "abstract")]
    plain = [a for a in every if attribute(a, "abstract-type") not in _SIDE]
    return next(iter(plain or every), None)


def _abstract(element: Element | None) -> str:
    if element is None:
        return ""
    parts = [text_of(p, _SKIP) for p in element if p.tag in _BLOCKS]
    for part in element.iter("sec"):
        label = text_of(_one(part, "title")).rstrip(":. ")
        text = "\n\n".join(t for p in part if p.tag in _BLOCKS and (t := text_of(p, _SKIP)))
        if text:
            parts.append(f"{label}: {text}" if label else text)
    return "\n\n".join(part for part in parts if part)


def _sections(root: Element | None) -> Iterator[Section]:
    """Every section with its own paragraphs, in order; a stack, because depth is the document's to choose."""
    if root is None:
        return
    stack = [root]
    while stack:
        part = stack.pop()
        heading = "" if part is root else text_of(_one(part, "title"), _TITLE_SKIP)
        text = "\n\n".join(t for p in part if p.tag in _BLOCKS and (t := text_of(p, _SKIP)))
        if heading or text:
            yield Section(heading or ("Acknowledgements" if part.tag == "ack" else ""), text)
        inner = [e for e in part if e.tag in ("sec", "ack", "app", "app-group", "notes")]
        stack.extend(reversed(inner))


def _references(article: Element) -> list[Reference]:
    references = []
    for entry in found(article, "back//ref-list//ref"):
        citation = next(
            (e for e in entry.iter("mixed-citation", "element-citation", "citation", "nlm-citation")), None
        )
        if citation is None:
            continue
        titles = ("article-title", "chapter-title", "part-title", "source")
        title = next((t for name in titles if (t := text_of(_one(citation, f".//{name}")))), "")
        pairs: list[tuple[str, object]] = [
            (_SCHEMES[kind], _pmc(kind, text_of(i)))
            for i in found(citation, ".//pub-id")
            if (kind := attribute(i, "pub-id-type").casefold()) in _SCHEMES
        ]
        mixed = citation.tag in ("mixed-citation", "citation") and (citation.text or "").strip()
        raw = text_of(citation) if mixed or len(citation) < 2 else _printed(citation, title)
        identifiers = identifiers_of(pairs)
        for scheme, value in identifiers_in(raw).items():
            identifiers.setdefault(scheme, value)
        references.append(Reference(raw, attribute(entry, "id"), title or cited_title(raw), identifiers))
    return references


def _printed(citation: Element, title: str) -> str:
    """The entry put together out of its elements, which carry no punctuation."""
    people = [
        one_line(f"{text_of(_one(n, 'surname'))} {text_of(_one(n, 'given-names'))}")
        for n in citation.iter("name")
    ]
    people += [text_of(c) for c in citation.iter("collab", "string-name")]
    source = text_of(_one(citation, ".//source"))
    place = [text_of(_one(citation, f".//{name}")) for name in ("volume", "fpage")]
    parts = [
        ", ".join(people),
        text_of(_one(citation, ".//year")),
        title,
        source if source != title else "",
        ":".join(part for part in place if part),
        *(text_of(i) for i in found(citation, ".//pub-id")),
    ]
    return ". ".join(part for part in parts if part)


SOURCES.register("jats")(Jats())
