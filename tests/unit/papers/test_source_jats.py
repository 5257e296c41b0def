"""JATS, with a made-up article."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark

JATS = r"""<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "JATS-archive.dtd">
<article article-type="research-article" xml:lang="en" xmlns:mml="http://www.w3.org/1998/Math/MathML">
<front>
 <journal-meta><journal-title-group><journal-title>Journal of Rain</journal-title></journal-title-group>
 </journal-meta>
 <article-meta>
  <article-id pub-id-type="pmc">123</article-id><article-id pub-id-type="doi">10.1234/UMBRELLA</article-id>
  <article-id pub-id-type="publisher-id">u-1</article-id>
  <title-group><article-title>Umbrellas in <italic>trains</italic><xref ref-type="fn">*</xref></article-title>
   <subtitle>a study</subtitle></title-group>
  <contrib-group>
   <contrib contrib-type="author"><name><surname>Example</surname>
    <given-names>Ada B</given-names></name></contrib>
   <contrib contrib-type="author"><collab>The Rain Group</collab></contrib>
   <contrib contrib-type="editor"><name><surname>Editor</surname></name></contrib>
  </contrib-group>
  <aff id="a1"><label>1</label><institution>Rain Institute</institution>, Oslo</aff>
  <pub-date pub-type="collection"><year>2022</year></pub-date>
  <pub-date pub-type="epub"><day>1</day><year>2021</year></pub-date>
  <volume>7</volume><fpage>1</fpage><lpage>9</lpage>
  <abstract abstract-type="graphical"><p>A picture.</p></abstract>
  <abstract><sec><title>Background</title><p>They get lost.</p></sec>
   <sec><title>Methods:</title><p>We&nbsp;walk.</p></sec></abstract>
  <kwd-group><kwd>rain</kwd></kwd-group>
 </article-meta>
</front>
<body>
 <p>Before all.</p>
 <sec><label>1</label><title>Introduction</title><p>Lost <xref ref-type="bibr" rid="r1">[1]</xref> again.</p>
  <sec><title>Aims</title><p>To find <inline-formula><alternatives><tex-math>\documentclass{a}
   \begin{document}$x^2$\end{document}</tex-math><mml:math><mml:mi>x2</mml:mi></mml:math></alternatives>
   </inline-formula> of them.</p>
   <fig><caption><p>A map</p></caption></fig></sec></sec>
</body>
<back>
 <ack><p>Thanks.</p></ack>
 <ref-list>
  <ref id="r1"><mixed-citation><name><surname>Author</surname> <given-names>C</given-names></name>.
   <article-title>Umbrellas considered lost</article-title>. <source>Nothing</source>
   <year>2019</year> <pub-id pub-id-type="doi">10.1234/abc</pub-id></mixed-citation></ref>
  <ref id="r2"><element-citation><name><surname>Third</surname><given-names>E</given-names></name>
   <article-title>Rain and its uses</article-title><source>Wet</source><year>2020</year>
   <pub-id pub-id-type="pmid">42</pub-id></element-citation></ref>
 </ref-list>
</back>
</article>"""


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    path = tmp_path / "x.nxml"
    path.write_text(JATS, "utf-8")
    (item,) = read_papers(path, "jats")
    assert isinstance(item, Paper)
    return item


def test_affiliations(paper: Paper) -> None:
    assert paper.metadata["affiliations"] == ["Rain Institute, Oslo"]


def test_front(paper: Paper) -> None:
    assert paper.title == "Umbrellas in trains: a study"
    assert paper.authors == ("Ada B Example", "The Rain Group")
    assert (paper.year, paper.venue, paper.language) == (2021, "Journal of Rain", "en")
    assert paper.identifiers == {"doi": "10.1234/umbrella", "pmcid": "PMC123"}
    assert paper.metadata["pages"] == "1-9"
    assert paper.metadata["keywords"] == ["rain"]


def test_abstract_is_the_structured_one(paper: Paper) -> None:
    assert paper.abstract == "Background: They get lost.\n\nMethods: We walk."
    assert paper.metadata["other_abstracts"] == ["A picture."]


def test_sections(paper: Paper) -> None:
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("", "Before all."),
        ("Introduction", "Lost [1] again."),
        ("Aims", "To find $x^2$ of them."),
        ("Acknowledgements", "Thanks."),
    ]


def test_references(paper: Paper) -> None:
    first, second = paper.references
    assert (first.key, first.title, first.identifiers) == (
        "r1",
        "Umbrellas considered lost",
        {"doi": "10.1234/abc"},
    )
    assert second.identifiers == {"pmid": "42"}
    assert second.raw == "Third E. 2020. Rain and its uses. Wet. 42"


def test_set_of_articles_and_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    inner = JATS[JATS.index("<article ") :].replace("&nbsp;", " ")
    path.write_text(f"<pmc-articleset>{inner}<article/></pmc-articleset>", "utf-8")
    items = list(read_papers(path, "jats"))
    assert isinstance(items[0], Paper)
    assert isinstance(items[1], Remark)
    assert items[1].skipped


def test_sniff(tmp_path: Path) -> None:
    source = SOURCES.get("jats")
    assert source.sniff(tmp_path, JATS.encode()) >= 0.95
    assert source.sniff(tmp_path, b"<html/>") == 0


def test_other_xml(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text("<html/>")
    with pytest.raises(BadInput, match="no <article>"):
        list(read_papers(path, "jats"))
