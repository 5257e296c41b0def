"""Web of Science, Ovid, Copac and EndNote as tagged text, made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import Remark

WOS = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Owl, A
   Mouse, B
AF Owl, Ada
   Mouse, Bo
TI Hunting of
   mice at night
SO JOURNAL OF OWLS
LA English
DT Article; Proceedings Paper
DE owls; mice
ID NIGHT
AB Owls listen.
   They strike.
C1 [Owl, Ada] Wood Univ, Nest, Woodland.
CR Barn O, 2001, OWL J, V3, P4, DOI 10.1000/cited
   Hay M, 1999, MICE
SN 1234-5678
PD MAY
PY 2019
VL 4
IS 2
BP 10
EP 19
DI 10.1000/HUNT
UT WOS:000123456700001
PM 12345678
ER

PT J
AU Joffe, Hadine; Hall, Janet E
TI Another
PS 411-22
DI 467-72
PD 2006 May-Jun
UT MEDLINE:16735938
ER

EF
"""
OVID = """<1>
Database
  Embase
Accession Number
  12345.
Author
  Kohler, Lars 1;  Hertel, D. 1,2;  Old, Ed [Ed]
Title
  Clouds over spruce.[Article]
Source
  Ecohydrology.   8(6):1548-1564, September 2015.
Abstract
  Drops fall.
Author Keywords
  alpine;  canopy.
References
  Aber JD. 1989. Nitrogen in forests. Bioscience 39: 378-386.

  Acker K. 1998. Clouds at a mountain. Atmosphere 361: 59-64.
ISSN
  1936-0584
DOI Number
  10.1000/clouds
Language
  English.
Link to the Ovid Full Text or citation
 https://ovidsp.example.org/1
<2>
Author
  Field  Ada
Publication Type
  Book
Source
  Editor(2015). A Long Title of Reeds. (pp. 103-106) X pp. Town: Press
"""
COPAC = """TI- Tourism in the wood :
    new pathways
AU- Giaoutzi, Maria, 1950-
AU- Nijkamp, Peter
PU- Aldershot : Wood Press
PY- 2006.
IS- 0-7546-4746-3 (cased)
KW- Tourism; Woods
NT- With an index
HL- Nest; Burrow

TI- Second
PY- 1999
"""
ENW = """%0 Conference Paper
%T Owls at night
%A Owl, Ada
%A Mouse, Bo
%E Tree, Ed
%B Proceedings of Woods
%D 2020
%P 1--9
%R 10.1000/night
%X First line
second line
%K owls
mice
%@ 978-0-7546-4746-1
%~ Scopus
%U https://example.org/1
%0 Journal Article
%T Second
%J Owls
%@ 1234-5678
"""


def read(folder: Path, text: str, name: str = "export.txt") -> tuple[str, list[Paper], list[Remark]]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    items = list(read_papers(path))
    papers = [item for item in items if isinstance(item, Paper)]
    return detect(path), papers, [item for item in items if isinstance(item, Remark)]


def test_web_of_science(tmp_path: Path) -> None:
    name, (paper, other), remarks = read(tmp_path, WOS)
    assert (name, remarks) == ("wos", [])
    assert paper.title == "Hunting of mice at night"
    assert paper.authors == ("Ada Owl", "Bo Mouse")
    assert (paper.year, paper.venue, paper.language) == (2019, "JOURNAL OF OWLS", "en")
    assert paper.abstract == "Owls listen. They strike."
    assert paper.identifiers == {"doi": "10.1000/hunt", "pmid": "12345678"}
    assert [r.identifiers for r in paper.references] == [{"doi": "10.1000/cited"}, {}]
    meta = paper.metadata
    assert (meta["type"], meta["pages"], meta["issn"]) == ("article-journal", "10-19", "1234-5678")
    assert (meta["keywords"], meta["database"]) == (["owls", "mice", "NIGHT"], "Web of Science")
    assert ["C1", "[Owl, Ada] Wood Univ, Nest, Woodland."] in meta["wos"]
    assert ["", "EF"] not in meta["wos"]
    assert other.authors == ("Hadine Joffe", "Janet E Hall")
    assert other.identifiers == {"pmid": "16735938"}
    assert (other.year, other.metadata["pages"], other.metadata["database"]) == (2006, "411-22", "MEDLINE")


def test_web_of_science_without_the_lines_around_and_with_one_blank(tmp_path: Path) -> None:
    text = "PT J\nAU OWL, A\n Mouse, B\nTI Owls\nSO Wood\nC1\nPY 2001\nER\n\nPT J\nTI Mice\nSO Wood\n"
    name, papers, remarks = read(tmp_path, text.replace("\n", "\r\n"), "savedrecs.ciw")
    assert (name, [p.title for p in papers]) == ("wos", ["Owls", "Mice"])
    assert papers[0].authors == ("A OWL", "B Mouse")
    assert ["ER missing" in r.reason for r in remarks] == [True]


def test_two_exports_in_one_file(tmp_path: Path) -> None:
    _, papers, _ = read(tmp_path, WOS + WOS.replace("WOS:000123456700001", "WOS:2"))
    assert len(papers) == 4
    assert not any(tag == "" for paper in papers for tag, _ in paper.metadata["wos"])


def test_ovid(tmp_path: Path) -> None:
    name, (paper, other), remarks = read(tmp_path, OVID)
    assert (name, remarks) == ("ovid", [])
    assert paper.title == "Clouds over spruce"
    assert paper.authors == ("Lars Kohler", "D. Hertel")
    assert (paper.year, paper.venue, paper.language) == (2015, "Ecohydrology", "en")
    assert paper.identifiers == {"doi": "10.1000/clouds"}
    assert [r.raw[:5] for r in paper.references] == ["Aber ", "Acker"]
    meta = paper.metadata
    assert (meta["volume"], meta["issue"], meta["pages"]) == ("8", "6", "1548-1564")
    assert (meta["editors"], meta["keywords"]) == (["Ed Old"], ["alpine", "canopy"])
    assert meta["database"] == "Embase"
    assert (other.title, other.year, other.authors) == ("A Long Title of Reeds", 2015, ("Ada Field",))
    assert other.metadata["type"] == "book"


def test_copac(tmp_path: Path) -> None:
    name, (paper, other), remarks = read(tmp_path, COPAC)
    assert (name, remarks) == ("copac", [])
    assert paper.title == "Tourism in the wood : new pathways"
    assert paper.authors == ("Maria Giaoutzi", "Peter Nijkamp")
    assert (paper.year, paper.identifiers) == (2006, {"isbn": "0754647463"})
    assert (paper.metadata["keywords"], paper.metadata["note"]) == (["Tourism", "Woods"], "With an index")
    assert other.title == "Second"


def test_endnote_import_format(tmp_path: Path) -> None:
    name, (paper, other), remarks = read(tmp_path, ENW)
    assert (name, remarks) == ("enw", [])
    assert (paper.title, paper.authors) == ("Owls at night", ("Ada Owl", "Bo Mouse"))
    assert paper.abstract == "First line second line"
    assert (paper.year, paper.venue, paper.url) == (2020, "Proceedings of Woods", "https://example.org/1")
    assert paper.identifiers == {"doi": "10.1000/night", "isbn": "9780754647461"}
    meta = paper.metadata
    assert (meta["type"], meta["pages"], meta["database"]) == ("paper-conference", "1-9", "Scopus")
    assert (meta["keywords"], meta["editors"]) == (["owls", "mice"], ["Ed Tree"])
    assert other.metadata["issn"] == "1234-5678"
    assert other.identifiers == {}


@pytest.mark.parametrize("kind", ["", "%0 Journal Article\n"])
def test_refer_is_parted_by_blank_lines_wherever_the_types_stand(tmp_path: Path, kind: str) -> None:
    rows = "".join(f"%A Ada Owl\n\n%D 1990\n\n%T {n}\n{kind}%R 10.1000/{n}\n%J Wood\n\n" for n in (1, 2))
    _, papers, remarks = read(tmp_path, f"{rows}%0 Journal Article\n%T 3\n%0 Book\n%T 4\n")
    assert [(p.title, p.venue, p.identifiers.get("doi")) for p in papers] == [
        ("1", "Wood", "10.1000/1"),
        ("2", "Wood", "10.1000/2"),
        ("3", "", None),
        ("4", "", None),
    ]
    assert not remarks


@pytest.mark.parametrize(
    "text",
    [
        "XA  - one\nXB  - two\nXC  - three\n",
        "FN Some Format\nVR 1.0\nQQ one\nWW two\nZZ three\n",
        "<1>\nHeading of mine\n  text\n",
        "%Q one\n%W two\n%Z three\n",
    ],
)
def test_unknown_tagged_text_is_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.txt"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        detect(path)
    assert " ".join(text.splitlines()[0].split()) in caught.value.why
    assert "RIS" in caught.value.hint


def test_noteexpress_as_chinese_databases_export_it(tmp_path: Path) -> None:
    path = tmp_path / "cnki.net"
    path.write_text(
        """{Reference Type}: Journal Article
{Title}: \u591c\u95f4\u732b\u5934\u9e70
{Translated Title}: Owls at night
{Author}: \u738b\u4f1f;\u674e\u82b3;
{Author Address}: Wood University;
{Journal}: \u9e1f\u7c7b\u5b66\u62a5
{Year}: 2021
{Volume} : 9
{Issue}: 11
{Pages}: 2184-2188
{Keywords}: owls;night hunting
{Abstract}: We heard owls.
They struck.
{ISBN/ISSN}: 1006-2084
{Database Provider}: CNKI

{Reference Type}: Thesis
{Title}: Mice
{Author}: Roe, Anna
{Author}: Li, Bo
{Publisher}: Wood University
{Year}: 2020
{DOI}: 10.1000/mice
{URL}: https://example.org/mice
""",
        encoding="utf-8",
        newline="",
    )
    assert detect(path) == "noteexpress"
    first, second = (item for item in read_papers(path) if isinstance(item, Paper))
    assert first.authors == ("\u738b\u4f1f", "\u674e\u82b3")
    assert (first.year, first.venue) == (2021, "\u9e1f\u7c7b\u5b66\u62a5")
    assert first.abstract == "We heard owls. They struck."
    held = {name: first.metadata[name] for name in ("type", "volume", "issue", "pages", "issn", "database")}
    assert list(held.values()) == ["article-journal", "9", "11", "2184-2188", "1006-2084", "CNKI"]
    assert first.metadata["keywords"] == ["owls", "night hunting"]
    assert (second.authors, second.metadata["type"]) == (("Anna Roe", "Bo Li"), "thesis")
    assert (second.identifiers, second.url) == ({"doi": "10.1000/mice"}, "https://example.org/mice")


def test_refworks_text(tmp_path: Path) -> None:
    path = tmp_path / "refworks.txt"
    path.write_text(
        """RT Journal Article
SR Print(0)
ID 12
A1 Roe, Anna
A1 Li, Bo
T1 Owls hunt
JF Journal of Owls
YR 2019
VO 4
IS 2
SP 10
OP 19
K1 owls
K1 night; mice
AB Owls listen.
OWLS strike.
DO 10.1000/HUNT
SN 1234-5679
UL https://example.org/hunt
DS PubMed
AN 12345678

RT Book, Section
A1 Ng, Cy
A2 Poe, Di
T1 Mice
T2 All of the wood
YR 2001
OP 3-9
PMID 23456789
"""
    )
    assert detect(path) == "refworks"
    first, second = (item for item in read_papers(path) if isinstance(item, Paper))
    assert (first.title, first.authors, first.venue) == (
        "Owls hunt",
        ("Anna Roe", "Bo Li"),
        "Journal of Owls",
    )
    assert first.abstract == "Owls listen. OWLS strike."
    assert first.identifiers == {"doi": "10.1000/hunt", "pmid": "12345678"}
    assert (first.metadata["pages"], first.metadata["keywords"]) == ("10-19", ["owls", "night", "mice"])
    assert (second.metadata["type"], second.venue) == ("chapter", "All of the wood")
    assert (second.metadata["editors"], second.metadata["pages"]) == (["Di Poe"], "3-9")
    assert second.identifiers == {"pmid": "23456789"}
