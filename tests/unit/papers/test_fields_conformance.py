"""One field, one reading: what a field means is the same in every format that has it, in both directions.

A row is a spelling and what it means. Every source reads it, every writer writes it, and what was written is
read again as the same. To add a hard value, add a row; to add a format, add its shape to ``FORMS``.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aspectra.papers.bibliography import shared_list
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.library.marks.reader import stated_decision
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers

Value = str | list[str]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _xml(value: str) -> str:
    return html.escape(value, quote=False)


def _parts(name: str) -> list[str]:
    """Family, given and suffix of "Family, Given, Suffix"; [] for a name that has no comma."""
    parts = [part.strip() for part in name.split(",")]
    return [*parts, ""][:3] if len(parts) > 1 else []


def _bibtex_person(name: str) -> str:
    return name if "," in name or " and " not in name else "{" + name + "}"


def _csl_person(name: str) -> str:
    parts = zip(("family", "given", "suffix"), _parts(name), strict=False)
    return _json({key: part for key, part in parts if part} or {"literal": name})


def _zotero_person(kind: str) -> Callable[[str], str]:
    def person(name: str) -> str:
        family, given, suffix = _parts(name) or ("", "", "")
        whole = {"lastName": family, "firstName": f"{given}, {suffix}".strip(", ")} if family else {}
        return _json({"creatorType": kind, **(whole or {"name": name})})

    return person


def _xml_person(whole: str, surname: str, given: str, suffix: str) -> Callable[[str], str]:
    def person(name: str) -> str:
        pieces = zip((surname, given, suffix), _parts(name), strict=False)
        parts = "".join(f"<{tag}>{_xml(part)}</{tag}>" for tag, part in pieces if part)
        if whole == "collab" and parts:
            return f"<name>{parts}</name>"
        return parts or f"<{whole}>{_xml(name)}</{whole}>"

    return person


_JATS_PERSON = _xml_person("collab", "surname", "given-names", "suffix")
_PUBMED_PERSON = _xml_person("CollectiveName", "LastName", "ForeName", "Suffix")
_EUROPE_PMC_PERSON = _xml_person("collectiveName", "lastName", "firstName", "suffix")


@dataclass
class Form:
    """How records look in a format.

    Attributes:
        file: name of a file.
        shape: a record, with ``{title}`` and ``{more}``, and ``{above}`` for fields that stand elsewhere.
        fields: name of a field -> how it stands in the record, ``~`` for its value; a ``^`` puts it above.
        spell: how a text is spelt.
        each: fields of which each name or keyword is spelt -> (what joins them, how).
    """

    file: str
    shape: str
    fields: dict[str, str]
    spell: Callable[[Any], str] = str
    each: dict[str, tuple[str, Callable[[str], str]]] = field(default_factory=dict)

    def record(self, name: str, value: Value) -> str:
        """A record with this field, and with a title where the field is another."""
        filled = {"title": self.spell("Owls"), "more": "", "above": ""}
        if name == "title":
            filled["title"] = self.spell(value)
        else:
            joint, spell = self.each.get(name, ("", self.spell))
            if isinstance(value, list) and name == "keywords" and name not in self.each:
                value = "; ".join(value)
            text = joint.join(map(spell, value)) if isinstance(value, list) else spell(value)
            shape = self.fields[name]
            filled["above" if shape.startswith("^") else "more"] = shape.lstrip("^").replace("~", text)
        out = self.shape
        for slot, text in filled.items():
            out = out.replace("{" + slot + "}", text, 1)
        return out


def _tagged(
    file: str,
    head: str,
    tail: str,
    between: str,
    tags: str,
    repeated: tuple[str, ...] = ("authors", "editors"),
) -> Form:
    """A format of lines, each with a tag; ``tags`` are ``field=tag``, the title first."""
    title, *others = (one.partition("=") for one in tags.split())
    pad = max(len(tag) for _, _, tag in others) if head.startswith("PMID") else 0
    lines = {name: f"{tag:{pad}}{between}" for name, _, tag in [title, *others]}
    shape = f"{head}{lines.pop('title')}{{title}}\n{{more}}{tail}"
    each: dict[str, tuple[str, Callable[[str], str]]] = {
        name: ("", (re.sub("[{}]", r"\g<0>\g<0>", lines[name]) + "{}\n").format) for name in repeated
    }
    return Form(file, shape, {n: "~" if n in each else f"{tag}~\n" for n, tag in lines.items()}, each=each)


def _named(pairs: str, shape: str) -> dict[str, str]:
    """Name of a field -> ``shape`` with its name in the format for ``#``; of one word both are alike."""
    names = (one.partition("=") for one in pairs.split())
    return {name: shape.replace("#", there or name) for name, _, there in names}


class _Table(Form):
    def record(self, name: str, value: Value) -> str:
        out, text = io.StringIO(), "; ".join(value) if isinstance(value, list) else value
        columns = {"title": "Owls", name: text}
        csv.writer(out).writerows([[self.fields[column] for column in columns], columns.values()])
        return out.getvalue()


def _index(text: str) -> str:
    words: dict[str, list[int]] = {}
    for number, word in enumerate(text.split()):
        words.setdefault(word, []).append(number)
    return _json(words)


FORMS: dict[str, Form] = {
    "bibtex": Form(
        "a.bib",
        "@article{a, title = {{title}}{more}}",
        _named(
            "abstract venue=journal authors=author editors=editor year doi serial=issn isbn keywords pages "
            "language publisher note url",
            ", # = {~}",
        ),
        each=dict.fromkeys(("authors", "editors"), (" and ", _bibtex_person)),
    ),
    "ris": _tagged(
        *("a.ris", "TY  - JOUR\n", "ER  - \n", "  - "),
        "title=TI abstract=AB venue=JO authors=AU editors=ED year=PY doi=DO serial=SN isbn=SN keywords=KW "
        "pages=SP language=LA publisher=PB note=N1 url=UR",
    ),
    "enw": _tagged(
        *("a.enw", "%0 Journal Article\n", "\n", " "),
        "title=%T abstract=%X venue=%J authors=%A editors=%E year=%D doi=%R serial=%@ isbn=%@ keywords=%K "
        "pages=%P language=%G publisher=%I note=%Z url=%U",
    ),
    "refworks": _tagged(
        *("a.txt", "RT Journal Article\nSR Electronic(1)\n", "\n", " "),
        "title=T1 abstract=AB venue=JF authors=A1 editors=A2 year=YR doi=DO serial=SN isbn=SN keywords=K1 "
        "pages=SP language=LA publisher=PB note=NO url=UL",
    ),
    "noteexpress": _tagged(
        *("a.net", "{Reference Type}: Journal Article\n", "\n", ": "),
        "title={Title} abstract={Abstract} venue={Journal} authors={Author} editors={Editor} year={Year} "
        "doi={DOI} serial={ISBN/ISSN} isbn={ISBN/ISSN} keywords={Keywords} pages={Pages} "
        "language={Language} publisher={Publisher} note={Notes} url={URL}",
    ),
    "nbib": _tagged(
        *("a.nbib", "PMID- 1\nOWN - NLM\n", "\n", "- "),
        "title=TI abstract=AB venue=JT authors=FAU editors=FED year=DP doi=LID serial=IS isbn=ISBN "
        "keywords=OT pages=PG language=LA publisher=PB",
        repeated=("authors", "editors", "keywords"),
    ),
    "wos": _tagged(
        *("a.ciw", "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\n", "ER\n\nEF\n", " "),
        "title=TI abstract=AB venue=SO authors=AF editors=BE year=PY doi=DI serial=SN isbn=BN keywords=DE "
        "pages=BP language=LA publisher=PU",
    ),
    "endnote-xml": Form(
        "e.xml",
        '<xml><records><record><ref-type name="Journal Article">17</ref-type><titles><title>'
        "<style>{title}</style></title></titles>{more}</record></records></xml>",
        {
            "venue": "<titles><secondary-title><style>~</style></secondary-title></titles>",
            "authors": "<contributors><authors>~</authors></contributors>",
            "editors": "<contributors><secondary-authors>~</secondary-authors></contributors>",
            "year": "<dates><year><style>~</style></year></dates>",
            "keywords": "<keywords>~</keywords>",
            "url": "<urls><related-urls><url><style>~</style></url></related-urls></urls>",
            **_named(
                "abstract doi=electronic-resource-num serial=isbn isbn pages language note=notes publisher",
                "<#><style>~</style></#>",
            ),
        },
        _xml,
        each={
            "keywords": ("", lambda word: f"<keyword><style>{_xml(word)}</style></keyword>"),
            **dict.fromkeys(
                ("authors", "editors"), ("", lambda n: f"<author><style>{_xml(n)}</style></author>")
            ),
        },
    ),
    "jats": Form(
        "j.xml",
        "<article article-type='x'><front><journal-meta>{above}</journal-meta><article-meta><title-group>"
        "<article-title>{title}</article-title></title-group>{more}</article-meta></front></article>",
        {
            "abstract": "<abstract><p>~</p></abstract>",
            "venue": "^<journal-title-group><journal-title>~</journal-title></journal-title-group>",
            "publisher": "^<publisher><publisher-name>~</publisher-name></publisher>",
            "serial": "^<issn>~</issn>",
            "isbn": "<isbn>~</isbn>",
            "year": "<pub-date><year>~</year></pub-date>",
            "doi": '<article-id pub-id-type="doi">~</article-id>',
            "keywords": "<kwd-group>~</kwd-group>",
            "authors": "<contrib-group>~</contrib-group>",
            "editors": "<contrib-group>~</contrib-group>",
        },
        _xml,
        each={
            "keywords": ("", lambda word: f"<kwd>{_xml(word)}</kwd>"),
            "authors": ("", lambda name: f"<contrib contrib-type='author'>{_JATS_PERSON(name)}</contrib>"),
            "editors": ("", lambda name: f"<contrib contrib-type='editor'>{_JATS_PERSON(name)}</contrib>"),
        },
    ),
    "pubmed-xml": Form(
        "p.xml",
        "<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Journal>{above}</Journal><ArticleTitle>"
        "{title}</ArticleTitle>{more}</Article></MedlineCitation></PubmedArticle>",
        {
            "abstract": "<Abstract><AbstractText>~</AbstractText></Abstract>",
            "venue": "^<Title>~</Title>",
            "serial": "^<ISSN>~</ISSN>",
            "year": "^<JournalIssue><PubDate><MedlineDate>~</MedlineDate></PubDate></JournalIssue>",
            "doi": '<ELocationID EIdType="doi">~</ELocationID>',
            "pages": "<Pagination><MedlinePgn>~</MedlinePgn></Pagination>",
            "language": "<Language>~</Language>",
            "keywords": "</Article><KeywordList>~</KeywordList><Article>",
            "authors": "<AuthorList>~</AuthorList>",
            "editors": '<AuthorList Type="editors">~</AuthorList>',
        },
        _xml,
        each={
            "keywords": ("", lambda word: f"<Keyword>{_xml(word)}</Keyword>"),
            **dict.fromkeys(("authors", "editors"), ("", lambda n: f"<Author>{_PUBMED_PERSON(n)}</Author>")),
        },
    ),
    "arxiv-atom": Form(
        "x.atom",
        '<feed xmlns="http://www.w3.org/2005/Atom"><id>http://arxiv.org/api/1</id><entry>'
        "<id>http://arxiv.org/abs/2004.07180v2</id><title>{title}</title>{more}</entry></feed>",
        {
            "abstract": "<summary>~</summary>",
            "venue": "<journal_ref>~</journal_ref>",
            "doi": "<doi>~</doi>",
        },
        _xml,
    ),
    "europe-pmc-xml": Form(
        "e.xml",
        "<responseWrapper><resultList><result><id>1</id><pubYear>1999</pubYear><title>{title}</title>{more}"
        "</result></resultList></responseWrapper>",
        {
            **_named("abstract=abstractText year=pubYear doi pages=pageInfo language", "<#>~</#>"),
            "venue": "<journalInfo><journal><title>~</title></journal></journalInfo>",
            "serial": "<journalInfo><journal><ISSN>~</ISSN></journal></journalInfo>",
            "publisher": "<bookOrReportDetails><publisher>~</publisher></bookOrReportDetails>",
            "keywords": "<keywordList>~</keywordList>",
            "authors": "<authorList>~</authorList>",
        },
        _xml,
        each={
            "keywords": ("", lambda word: f"<keyword>{_xml(word)}</keyword>"),
            "authors": ("", lambda name: f"<author>{_EUROPE_PMC_PERSON(name)}</author>"),
        },
    ),
    "jsonl: DataCite": Form(
        "d.jsonl",
        '{"data": {"id": "10.1000/1", "attributes": {"creators": [], '
        '"titles": [{"title": {title}}]{more}}}}\n',
        {
            **_named("year=publicationYear doi language publisher", ', "#": ~'),
            "abstract": ', "descriptions": [{"descriptionType": "Abstract", "description": ~}]',
            "venue": ', "container": {"title": ~}',
            "serial": ', "container": {"identifierType": "ISSN", "identifier": ~}',
            "pages": ', "container": {"firstPage": ~}',
            "keywords": ', "subjects": [~]',
            "authors": ', "creators": [~]',
            "editors": ', "contributors": [~]',
        },
        _json,
        each={
            "keywords": (", ", lambda word: _json({"subject": word})),
            "authors": (", ", lambda name: _json({"name": name})),
            "editors": (", ", lambda name: _json({"contributorType": "Editor", "name": name})),
        },
    ),
    "csl-json": Form(
        "c.json",
        '[{"id": "a", "type": "article-journal", "title": {title}{more}}]',
        {
            **_named(
                "abstract venue=container-title doi=DOI serial=ISSN isbn=ISBN keywords=keyword pages=page "
                "language note url=URL publisher",
                ', "#": ~',
            ),
            "year": ', "issued": {"raw": ~}',
            "authors": ', "author": [~]',
            "editors": ', "editor": [~]',
        },
        _json,
        each=dict.fromkeys(("authors", "editors"), (", ", _csl_person)),
    ),
    "better-bibtex": Form(
        "b.json",
        '{"config": {"label": "BetterBibTeX JSON"}, "items": [{"itemType": "journalArticle", '
        '"title": {title}{more}}]}',
        {
            **_named(
                "abstract=abstractNote venue=publicationTitle year=date doi=DOI serial=ISSN isbn=ISBN pages "
                "language note=extra url publisher",
                ', "#": ~',
            ),
            "keywords": ', "tags": [~]',
            "authors": ', "creators": [~]',
            "editors": ', "creators": [~]',
        },
        _json,
        each={
            "keywords": (", ", lambda word: _json({"tag": word})),
            "authors": (", ", _zotero_person("author")),
            "editors": (", ", _zotero_person("editor")),
        },
    ),
    "jsonl": Form(
        "a.jsonl",
        '{"paper_id": "a", "title": {title}{more}}\n',
        _named(
            "abstract venue year doi serial=issn isbn authors editors keywords pages language publisher note "
            "url",
            ', "#": ~',
        )
        | {"authors": ', "authors": [~]', "editors": ', "editors": [~]'},
        _json,
        each=dict.fromkeys(("authors", "editors"), (", ", _json)),
    ),
    "csv": _Table(
        "a.csv",
        "",
        _named(
            "title=Title abstract=Abstract venue=Journal year=Year doi=DOI serial=ISSN isbn=ISBN "
            "authors=Authors editors=Editors keywords=Keywords pages=Pages language=Language "
            "publisher=Publisher note=Notes url=URL",
            "#",
        ),
    ),
    "openalex": Form(
        "o.jsonl",
        '{"id": "https://openalex.org/W1", "cited_by_count": 0, "display_name": {title}, '
        '"referenced_works": []{more}}\n',
        {
            "abstract": ', "abstract_inverted_index": ~',
            "venue": ', "primary_location": {"source": {"display_name": ~}}',
            "serial": ', "primary_location": {"source": {"issn_l": ~}}',
            "year": ', "publication_year": ~',
            "doi": ', "doi": ~',
            "language": ', "language": ~',
        },
        _json,
        each={"abstract": ("", _index)},
    ),
    "arxiv": Form(
        "x.jsonl",
        '{"id": "2004.07180", "categories": "cs.IR", "versions": [], "abstract": "", "title": {title}'
        "{more}}\n",
        {"abstract": ', "abstract": ~', "venue": ', "journal-ref": ~', "doi": ', "doi": ~'}
        | {"authors": ', "authors_parsed": [~]'},
        _json,
        each={"authors": (", ", lambda name: _json([*(_parts(name) or (name, "", ""))]))},
    ),
}
WRITTEN = ("bibtex", "ris", "csl-json", "csv", "jsonl")
# Single spellings that a format cannot have, or reads as they stand.
BUT: dict[tuple[str, str], tuple[str, ...]] = {
    ("isbn", "1234-5678"): ("jsonl",),
    ("url", "example.org/a"): ("csv",),
}

# Spelling -> the text that it means.
TEXTS = {
    "CO<sub>2</sub> &amp; <i>E. coli</i>": "CO2 & E. coli",
    "p &amp;lt; 0.05": "p < 0.05",
    "p < 0.05 and q > 3, AT&T": "p < 0.05 and q > 3, AT&T",
    "Caf&#233;s &eacute;s": "Cafés és",
    "a&nbsp;b\xa0 c\u2009d": "a b c d",
    "<jats:p>Fed <jats:italic>it</jats:italic>.</jats:p>": "Fed it.",
    "<div><p>Fed</p></div>": "Fed",
    '<a href="https://example.org/x">Fed</a> <![CDATA[it]]>': "Fed it",
    "a &lt;i&gt;b&lt;/i&gt; c<sup>2</sup>": "a b c²",
    "The <mml:math><mml:msub><mml:mi>H</mml:mi><mml:mn>2</mml:mn></mml:msub></mml:math>O": "The H2O",
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>H</mi></math> bosons': "H bosons",
    "<inline-formula><tex-math>$x$</tex-math></inline-formula> rays": "x rays",
    "<jats:tex-math>$$x^2$$</jats:tex-math><mml:math><mml:mi>x</mml:mi></mml:math> rays": "x rays",
    "Age by $^{14}$C, CO$_2$ at 10$^{-3}$": "Age by ¹⁴C, CO2 at 10⁻³",
    r"$\beta$-decay at 37 $^\circ$C and $p<0.05$": "β-decay at 37 °C and p<0.05",
    r"On \textit{E. coli} by Poincar\'e": "On E. coli by Poincaré",
    "From 5 US$ to 10 US$": "From 5 US$ to 10 US$",
    "pho\xadto&shy;syn\xad thesis": "photosynthesis",
    "e\ufb03cient \u200bwo\u200brds\ufeff": "efficient words",
    "Mu\u0308ller": "Müller",
}  # fmt: skip
ABSTRACTS = {
    "Abstract: We fed.": "We fed.",
    "ABSTRACT\nWe fed.": "We fed.",
    "[Abstract] We fed.": "We fed.",
    "Abstract We fed.": "We fed.",
    "<jats:title>Abstract</jats:title><jats:p>We fed.</jats:p>": "We fed.",
    "Abstract algebra is hard.": "Abstract algebra is hard.",
    **dict.fromkeys(("[No abstract available]", "Abstract not available", "N/A", "-"), ""),
}  # fmt: skip


DOIS = {
    **dict.fromkeys(
        (
            *("10.55555/ABC-12", "doi: 10.55555/abc-12", "DOI:10.55555/abc-12.", "10.55555/abc-12 [doi]"),
            *("http://dx.doi.org/10.55555/abc-12", "<https://doi.org/10.55555/abc-12>", "10.55555%2Fabc-12"),
            *("https://doi.org/10.55555/abc-12?utm_source=x&utm_medium=y", "10.55555/abc-12#sec1"),
            *("\u200e10.55555/ab\xadc\u200b-12\u200e", "10.55555/abc\u201012", "10.55555/abc-12&nbsp;"),
            *("https://proxy.example.org/login?url=https://doi.org/10.55555/abc-12", "10.55555/abc-12/"),
            *("10.55555/abc-12/full", "10.55555/abc-12 10.55555/x", "(10.55555/abc-12)"),
        ),
        "10.55555/abc-12",
    ),
    "10.55555/a_b(c)": "10.55555/a_b(c)",
    "10.55555/a&amp;b": "10.55555/a&b",
    "10.1002/(SICI)1(8)19:6&lt;335::AID-B1&gt;3.0.CO;2-2": "10.1002/(sici)1(8)19:6<335::aid-b1>3.0.co;2-2",
}
# Spelling -> (ISBN, ISSN), in the field of the one and of the other.
SERIALS = {
    **dict.fromkeys(
        ("1234-567X", "1234567x", "ISSN 1234-567X", "1234-567X (Print)", "1234\u2010567X"), ("", "1234-567X")
    ),
    "1234-5679; 8765-4321": ("", "1234-5679, 8765-4321"),
    "978-3-16-148410-0": ("9783161484100", ""),
    "978-3-16-148410-0; 1234-5679": ("9783161484100", "1234-5679"),
}
ISBNS = {
    **dict.fromkeys(
        (
            *("978-3-16-148410-0 (print)", "ISBN 978-3-16-148410-0", "9783161484100 9783161484117"),
            *("9783161484100; 978-3-16-148411-7", "978\u20103\u201016\u2010148410\u20100"),
        ),
        ("9783161484100", ""),
    ),
    "3-16-148410-X": ("316148410X", ""),
    "1234-5678": ("", "1234-5678"),
}
PAGES = {
    **dict.fromkeys(("12-19", "12--19", "12\u201319", "12 - 19", "pp. 12\u201219"), "12-19"),
    **{"S12-S19": "S12-S19", "e123": "e123"},
}  # fmt: skip
YEARS = {
    **dict.fromkeys(
        (
            *("2018", "2018/03/02/", "2018 Mar-Apr", "Spring 2018", "2018a", "[2018]", "c2018", "\u00a92018"),
            *("2018-2019", "in press, 2018", "2018.0", "02/03/2018", "2018-03-02T00:00:00Z", "20180302"),
            *("201803", "2018\u5e743\u6708", "\uff12\uff10\uff11\uff18"),
        ),
        2018,
    ),
    **dict.fromkeys(("in press", "n.d.", "0", "9999", "Mar-07"), None),
}
LANGUAGES = {
    **dict.fromkeys(("eng", "English", "en-US", "EN", "en_GB", "eng; fre"), "en"),
    **{"ger": "de", "und": ""},
}
URLS = {
    **dict.fromkeys(
        (
            *("https://example.org/a?x=1&amp;y=2", "<https://example.org/a?x=1&y=2>"),
            *("URL: https://example.org/a?x=1&y=2", "https://example.org/a?x=1&y=2\u200b."),
            *("https://example.org/a?x=1&y=2; https://b.org", "https://example.org/a?x=1&y=2|https://b.org"),
            "https://example.org/a?x=1&y=2 http://dx.doi.org/10.1000/a",
        ),
        "https://example.org/a?x=1&y=2",
    ),
    **{"https://example.org/~ada/a_(b)": "https://example.org/~ada/a_(b)", "example.org/a": "example.org/a"},
    # EndNote's address of a record of Web of Science.
    "<Go to ISI>://WOS:000123456700008": "https://www.webofscience.com/wos/woscc/full-record/WOS:000123456700008",
}
# Notes of programs for screening -> (decision, reason).
NOTES = {
    "ASReview_relevant": ("include", ""),
    'RAYYAN-INCLUSION: {"Ada"=>"Excluded"} | RAYYAN-EXCLUSION-REASONS: no owls': ("exclude", "no owls"),
    'RAYYAN-INCLUSION: {"Ada"=>"Included", "Bo"=>"Excluded"}': ("maybe", ""),
}
# Keywords as a list are one a field where a format has one for each, else parted by semicolons.
KEYWORDS: list[tuple[Value, list[str]]] = [
    (["bogs", "Models, Animal"], ["bogs", "Models, Animal"]),
    (["*Bogs;", "", "peat", "*Bogs"], ["Bogs", "peat"]),
    (["bogs\uff1bpeat (cut, dried)"], ["bogs", "peat (cut, dried)"]),
    (["R&amp;D", "Caf&#233;"], ["R&D", "Café"]),
]
PEOPLE: list[tuple[list[str], list[str]]] = [
    (["Roe, Anna", "Li, Bo", "et al."], ["Anna Roe", "Bo Li"]),
    (["\u738b, \u4f1f", "\uae40, \ucca0\uc218"], ["\u738b\u4f1f", "\uae40\ucca0\uc218"]),
    *(
        (["Roe, Anna", others], ["Anna Roe"])
        for others in ("others", "[et al.]", "and others", "...", "* \u2020", "[Anonymous]", "Anon.")
    ),
    (["van der Berg, Anna"], ["Anna van der Berg"]),
    (["de la Cueva Ribas, Juan Jos\u00e9", "Li, Wei"], ["Juan Jos\u00e9 de la Cueva Ribas", "Wei Li"]),
    (["Garc\u00eda M\u00e1rquez, Gabriel", "Plato"], ["Gabriel Garc\u00eda M\u00e1rquez", "Plato"]),
    (["King, Martin Luther, Jr."], ["Martin Luther King Jr."]),
    (["King, Martin Luther Jr", "Roe, Al 3rd"], ["Martin Luther King Jr", "Al Roe 3rd"]),
    (["Roe, Anna, PhD", "Li, Bo, M.D."], ["Anna Roe PhD", "Bo Li M.D."]),
    (["World Health Organization"], ["World Health Organization"]),
    (["Institute for Tides and Dunes"], ["Institute for Tides and Dunes"]),
    (["Institute for Tides and Dunes", "Roe, Anna"], ["Institute for Tides and Dunes", "Anna Roe"]),
    (["O&apos;Brien, Se&aacute;n", "Mu\u0308l\xadler, A."], ["Se\u00e1n O'Brien", "A. M\u00fcller"]),
    (["Roe, Anna*", "Li, Bo (0000-0002-1825-009X)"], ["Anna Roe", "Bo Li"]),
    (["Roe, Anna (Ed.)", "Li, Bo \u2020"], ["Anna Roe", "Bo Li"]),
    (["\u738b\u4f1f", "\u674e\u5a1c"], ["\u738b\u4f1f", "\u674e\u5a1c"]),
]
# Names as a whole, which formats with parts of names do not have.
WHOLE: list[tuple[list[str], list[str]]] = [
    (["Roe AB", "Osk V"], ["AB Roe", "V Osk"]),
    (["Mizdrell A."], ["A. Mizdrell"]),
    (["Anna Roe, PhD", "Bo Li, Jr."], ["Anna Roe PhD", "Bo Li Jr."]),
    (["Roe, Anna; Li, Bo"], ["Anna Roe", "Bo Li"]),
    (["Roe, Anna and Li, Bo"], ["Anna Roe", "Bo Li"]),
    (["\u738b\u4f1f\uff1b\u674e\u5a1c"], ["\u738b\u4f1f", "\u674e\u5a1c"]),
    (["ACME, Inc."], ["ACME, Inc."]),
]
_IN_PARTS = ("jats", "pubmed-xml", "europe-pmc-xml", "jsonl: DataCite", "csl-json", "better-bibtex", "arxiv")
BUT |= {(name, str(spelt)): _IN_PARTS for name in ("authors", "editors") for spelt, _ in WHOLE}


def _rows() -> Iterator[tuple[str, Value, object]]:
    for name in ("title", "abstract", "venue"):
        yield from ((name, spelt, meant) for spelt, meant in TEXTS.items())
    for name in ("publisher", "keywords"):
        for spelt, meant in TEXTS.items():
            yield (name, [spelt, "owls"], [meant, "owls"]) if name == "keywords" else (name, spelt, meant)
    yield from (("keywords", spelt, meant) for spelt, meant in KEYWORDS)
    yield from ((name, spelt, meant) for name in ("authors", "editors") for spelt, meant in PEOPLE + WHOLE)
    groups = {"abstract": ABSTRACTS, "doi": DOIS, "serial": SERIALS, "isbn": ISBNS, "pages": PAGES}
    groups |= {"year": YEARS, "language": LANGUAGES, "note": NOTES, "url": URLS}
    for name, rows in groups.items():
        yield from ((name, spelt, meant) for spelt, meant in rows.items())


ROWS = list(_rows())


def _papers(path: Path, form: str, text: str) -> Paper:
    path.write_text(text, encoding="utf-8", newline="")
    (paper,) = (item for item in read_papers(path, form.partition(":")[0]) if isinstance(item, Paper))
    return paper


def _stated(paper: Paper, name: str) -> object:
    if name in ("serial", "isbn"):
        return paper.identifiers.get("isbn", ""), paper.metadata.get("issn", "")
    if name in ("keywords", "editors"):
        return shared_list(paper.metadata, name)
    if name == "note":
        decision = stated_decision(paper, "a file")
        return (decision.decision, decision.reason) if decision else paper.metadata.get("note")
    if name == "authors":
        return list(paper.authors)
    return paper.identifiers["doi"] if name == "doi" else getattr(paper, name, paper.metadata.get(name))


def _read(folder: Path, forms: Iterable[str], row: tuple[str, Value, object]) -> dict[str, Paper]:
    name, spelt, _ = row
    without = BUT.get((name, str(spelt)), ())
    shapes = {form: FORMS[form] for form in forms if form not in without}
    able = {f: shape for f, shape in shapes.items() if name == "title" or name in shape.fields}
    return {f: _papers(folder / shape.file, f, shape.record(name, spelt)) for f, shape in able.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}"[:60])
def test_a_field_means_the_same_in_every_format(tmp_path: Path, row: tuple[str, Value, object]) -> None:
    name, _, meant = row
    read = _read(tmp_path, FORMS, row)
    assert {form: got for form, paper in read.items() if (got := _stated(paper, name)) != meant} == {}
    wrong = {}
    for form, paper in read.items():
        for writer in WRITTEN:
            again = _papers(tmp_path / "out", writer, WRITERS.get(writer).write([paper]))
            if (got := _stated(again, name)) != meant:
                wrong[f"{form} to {writer}"] = got
    assert wrong == {}
    if read:  # through all of them, twice
        again = next(iter(read.values()))
        for writer in WRITTEN * 2:
            again = _papers(tmp_path / "out", writer, WRITERS.get(writer).write([again]))
        assert _stated(again, name) == meant


def test_the_documentation_lists_the_fields() -> None:
    text = (Path(__file__).parents[3] / "docs" / "files.md").read_text("utf-8").partition("## Fields")[2]
    rows = [line.split("|")[1] for line in text.splitlines() if line[:3] == "| `"]
    names = {name.strip("` ") for fields in rows for name in fields.split(",")}
    fields = {"issn" if name == "serial" else name for form in FORMS.values() for name in form.fields}
    assert names == fields
