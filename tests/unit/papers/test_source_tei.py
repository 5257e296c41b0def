"""GROBID TEI, with a made-up paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import SOURCES

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xml:space="preserve" xmlns="http://www.tei-c.org/ns/1.0">
<teiHeader xml:lang="en">
 <fileDesc>
  <titleStmt><title level="a" type="main">Umbrellas in <hi rend="i">trains</hi></title></titleStmt>
  <publicationStmt><date type="published" when="2021-03-05">5 March 2021</date></publicationStmt>
  <sourceDesc><biblStruct>
   <analytic>
    <author><persName><forename type="first">Ada</forename><forename type="middle">B</forename>
     <surname>Example</surname></persName><affiliation>Rain Institute</affiliation></author>
    <author><persName><forename>Bo</forename><surname>Sample</surname></persName></author>
    <idno type="DOI">10.1234/UMBRELLA</idno>
   </analytic>
   <monogr><title level="j">Journal of Rain</title><imprint><date/></imprint></monogr>
   <idno type="MD5">ABCDEF</idno><idno type="arXiv">arXiv:2101.01234v2[cs.IR]</idno>
  </biblStruct></sourceDesc>
 </fileDesc>
 <encodingDesc><appInfo><application version="0.8.1" ident="GROBID" when="2024"/></appInfo></encodingDesc>
 <profileDesc><textClass><keywords><term>rain</term></keywords></textClass>
  <abstract><div><p><s>Umbrellas get lost.</s> <s>We find   them.</s></p></div></abstract></profileDesc>
</teiHeader>
<text xml:lang="en"><body>
 <div><head n="1">Introduction</head><p>They get lost
  <ref type="bibr" target="#b0">[1]</ref>.</p><p>Often.</p>
  <figure><head>Figure 1</head><figDesc>A map</figDesc></figure></div>
 <div><head n="2">Method</head><p>We walk.</p></div>
</body><back>
 <div type="acknowledgement"><div><head>Acknowledgements</head><p>Thanks.</p></div></div>
 <div type="references"><listBibl>
  <biblStruct xml:id="b0"><analytic><title level="a">Umbrellas considered lost</title>
   <author><persName><forename>C</forename><surname>Author</surname></persName></author>
   <idno type="DOI">10.1234/abc</idno></analytic>
   <monogr><title level="m">Nothing</title><imprint><date when="2019"/></imprint></monogr>
   <note type="raw_reference">C. Author. 2019. Umbrellas considered lost. In Nothing.</note></biblStruct>
  <biblStruct xml:id="b1"><monogr><title>Rain and its uses</title>
   <author><persName><surname>Third</surname></persName></author>
   <imprint><date when="2020"/></imprint></monogr></biblStruct>
 </listBibl></div>
</back></text></TEI>"""


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    path = tmp_path / "x.xml"
    path.write_text(TEI, "utf-8")
    (item,) = read_papers(path, "tei")
    assert isinstance(item, Paper)
    return item


def test_header(paper: Paper) -> None:
    assert paper.title == "Umbrellas in trains"
    assert paper.authors == ("Ada B Example", "Bo Sample")
    assert (paper.year, paper.venue, paper.language) == (2021, "Journal of Rain", "en")
    assert paper.identifiers == {"doi": "10.1234/umbrella", "arxiv": "2101.01234"}
    assert paper.id == "doi:10.1234/umbrella"
    assert paper.metadata["extractor"] == "GROBID 0.8.1"
    assert paper.metadata["keywords"] == ["rain"]


def test_abstract_sentences_slice_back(paper: Paper) -> None:
    assert paper.abstract == "Umbrellas get lost. We find them."
    found = [paper.abstract[s.start : s.end] for s in paper.sentences]
    assert found == ["Umbrellas get lost.", "We find them."]


def test_sections(paper: Paper) -> None:
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("Introduction", "They get lost [1].\n\nOften."),
        ("Method", "We walk."),
        ("Acknowledgements", "Thanks."),
    ]
    assert paper.metadata["section_numbers"] == ["1", "2", ""]


def test_references(paper: Paper) -> None:
    first, second = paper.references
    assert (first.key, first.title) == ("b0", "Umbrellas considered lost")
    assert first.identifiers == {"doi": "10.1234/abc"}
    assert first.raw.startswith("C. Author. 2019.")
    assert (second.title, second.raw) == ("Rain and its uses", "Third. 2020. Rain and its uses")


def test_corpus_of_several(tmp_path: Path) -> None:
    inner = TEI.partition("?>")[2]
    path = tmp_path / "x.xml"
    path.write_text(f"<teiCorpus xmlns='http://www.tei-c.org/ns/1.0'>{inner}{inner}</teiCorpus>", "utf-8")
    papers = [i for i in read_papers(path, "tei") if isinstance(i, Paper)]
    assert [p.id for p in papers] == ["doi:10.1234/umbrella", "doi:10.1234/umbrella~2"]


def test_sniff(tmp_path: Path) -> None:
    source = SOURCES.get("tei")
    assert source.sniff(tmp_path, TEI.encode()) >= 0.95
    assert source.sniff(tmp_path, b"<article/>") == 0
    path = tmp_path / "x.xml"
    path.write_bytes(TEI.encode("utf-16"))
    assert detect(path) == "tei"


@pytest.mark.parametrize("text", ["<TEI><a></TEI>", "not xml", "<other/>", ""])
def test_unreadable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.xml"
    path.write_text(text)
    with pytest.raises(BadInput):
        list(read_papers(path, "tei"))
