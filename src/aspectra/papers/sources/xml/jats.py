r"""JATS: the article XML of PubMed Central and many publishers.

Read are the front matter, the abstract (labels of a structured one stay in the text, ``Methods: ...``),
every section with its own paragraphs, and the reference list. Formulas are kept as LaTeX where the file has
it. The visible text of citations stays, and :attr:`Reference.key` is the ``rid`` they point to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aspectra.papers.names import printed
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.papers.sources.assembly import assemble, reference_of, year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, ids_of, text_of
from aspectra.papers.text.cleaning import one_line

_SKIP = ("fig", "table-wrap", "fn", "supplementary-material", "media", "object-id")
_TITLE_SKIP = ("xref", "fn", "object-id")
_SIDE = frozenset(
    "graphical teaser toc executive-summary author-highlights key-points plain-language".split()
)
_LATEX_BEGIN, _LATEX_END = r"\begin{document}", r"\end{document}"
_BLOCKS = ("p", "disp-formula", "list", "disp-quote", "boxed-text", "statement", "def-list")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    if root in ("pmc-articleset", "articles"):
        return 0.97 if b"<article" in head else 0.0
    if root != "article":
        return 0.0
    sure = "article-type" in attributes or "dtd-version" in attributes
    return 0.97 if sure or b"<article-meta" in head or b"JATS" in head else 0.3


def _paper(article: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    _plain_formulas(article)
    meta = first(article, "front/article-meta")
    group = first(meta, "title-group")
    title = text_of(group, "article-title", skip=_TITLE_SKIP)
    if subtitle := text_of(group, "subtitle"):
        title = f"{title}: {subtitle}"
    years = [year for date in found(meta, "pub-date") if (year := year_in(text_of(date, "year")))]
    sections = [s for part in ("body", "back") for s in _sections(first(article, part))]
    metadata: dict[str, Any] = {
        "article_type": attribute(article, "article-type"),
        "keywords": [*map(text_of, found(meta, "kwd-group/kwd"))],
        "editors": [_person(c) for c in found(meta, ".//contrib") if _kind(c) == "editor"],
        "affiliations": [
            text for a in found(meta, ".//aff") if (text := text_of(a, skip=("label", "sup", "email")))
        ],
        "subjects": [text for s in found(meta, "article-categories//subject") if (text := text_of(s))],
        "volume": text_of(meta, "volume"),
        "issue": text_of(meta, "issue"),
        "pages": "-".join(p for n in ("fpage", "lpage") if (p := text_of(meta, n)))
        or text_of(meta, "elocation-id"),
        "publisher": text_of(article, "front/journal-meta/publisher/publisher-name"),
        "issn": "; ".join(map(text_of, [*found(article, "front/journal-meta/issn"), *found(meta, "isbn")])),
        "license": text_of(meta, "permissions/license"),
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
        authors=[_person(c) for c in found(meta, ".//contrib") if _kind(c) in ("", "author")],
        year=min(years, default=None),
        venue=text_of(article, "front/journal-meta//journal-title"),
        identifiers=ids_of(meta, "article-id", "pub-id-type"),
        language=attribute(article, "xml:lang"),
        sections=sections,
        references=_references(article),
        metadata=metadata,
    )


def _kind(contributor: Element) -> str:
    return attribute(contributor, "contrib-type")


def _person(contributor: Element) -> str:
    names = [*found(contributor, "name"), *found(contributor, "name-alternatives/name")]
    if names:
        return printed(*(text_of(names[0], part) for part in ("given-names", "surname", "suffix")))
    return text_of(contributor, "string-name") or text_of(contributor, "collab", skip=("contrib-group",))


def _plain_formulas(article: Element) -> None:
    """Of the alternatives of a formula keep the LaTeX, without its document around it."""
    for tex in article.iter("tex-math"):
        whole = "".join(str(part) for part in tex.itertext())
        _, begun, inner = whole.partition(_LATEX_BEGIN)
        inner, ended, _ = inner.partition(_LATEX_END)
        for child in list(tex):
            tex.remove(child)
        tex.text = one_line(inner if begun and ended else whole)
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
    parts = [text_of(p, skip=_SKIP) for p in element if p.tag in _BLOCKS]
    for part in element.iter("sec"):
        label = text_of(part, "title").rstrip(":. ")
        text = "\n\n".join(t for p in part if p.tag in _BLOCKS and (t := text_of(p, skip=_SKIP)))
        if text:
            parts.append(f"{label}: {text}" if label else text)
    return "\n\n".join(part for part in parts if part)


def _sections(root: Element | None) -> Iterator[Section]:
    """Every section with its own paragraphs, in order; a stack, because documents nest without limit."""
    if root is None:
        return
    stack = [root]
    while stack:
        part = stack.pop()
        heading = "" if part is root else text_of(part, "title", skip=_TITLE_SKIP)
        text = "\n\n".join(t for p in part if p.tag in _BLOCKS and (t := text_of(p, skip=_SKIP)))
        if heading or text:
            yield Section(heading or ("Acknowledgements" if part.tag == "ack" else ""), text)
        inner = [e for e in part if e.tag in ("sec", "ack", "app", "app-group", "notes")]
        stack.extend(reversed(inner))


def _references(article: Element) -> Iterator[Reference]:
    for entry in found(article, "back//ref-list//ref"):
        names = ("mixed-citation", "element-citation", "citation", "nlm-citation")
        citation = next(entry.iter(*names), None)
        if citation is None:
            continue
        titles = ("article-title", "chapter-title", "part-title", "source")
        title = text_of(citation, *(f".//{name}" for name in titles))
        mixed = citation.tag in ("mixed-citation", "citation") and (citation.text or "").strip()
        raw = text_of(citation) if mixed or len(citation) < 2 else _printed(citation, title)
        stated = ids_of(citation, ".//pub-id", "pub-id-type")
        yield reference_of(raw, attribute(entry, "id"), title, stated)


def _printed(citation: Element, title: str) -> str:
    """The entry put together out of its elements, which carry no punctuation."""
    people = [one_line(f"{text_of(n, 'surname')} {text_of(n, 'given-names')}") for n in citation.iter("name")]
    people += [text_of(c) for c in citation.iter("collab", "string-name")]
    source = text_of(citation, ".//source")
    place = [text_of(citation, f".//{name}") for name in ("volume", "fpage")]
    parts = [
        ", ".join(people),
        text_of(citation, ".//year"),
        title,
        source if source != title else "",
        ":".join(part for part in place if part),
        *(text_of(i) for i in found(citation, ".//pub-id")),
    ]
    return ". ".join(part for part in parts if part)


SOURCES.register("jats")(
    XmlFormat(
        "jats",
        "JATS articles of PubMed Central, one or several a file",
        "article",
        _confidence,
        _paper,
        (".xml", ".nxml"),
    )
)
