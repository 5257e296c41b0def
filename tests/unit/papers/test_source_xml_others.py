"""PubMed XML, EndNote XML and GROBID's training files, made up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import Remark

ARTICLE = """<PubmedArticle><MedlineCitation>
<PMID Version="1">123</PMID><DateCompleted><Year>2020</Year></DateCompleted>
<Article><Journal><ISSN>1234-5678</ISSN><JournalIssue><Volume>3</Volume><Issue>2</Issue>
<PubDate><Year>2018</Year></PubDate></JournalIssue><Title>Journal of owls</Title></Journal>
<ArticleTitle>Owls at H<sub>2</sub>O.</ArticleTitle><Pagination><MedlinePgn>7-9</MedlinePgn></Pagination>
<ELocationID EIdType="doi" ValidYN="Y">10.1000/OWL</ELocationID>
<Abstract><AbstractText Label="BACKGROUND">Owls drink.</AbstractText>
<AbstractText Label="RESULTS">They <i>fly</i>.</AbstractText></Abstract>
<AuthorList><Author><LastName>Owl</LastName><ForeName>Ada B</ForeName><Suffix>Jr</Suffix>
<AffiliationInfo><Affiliation>Wood University</Affiliation></AffiliationInfo></Author>
<Author><CollectiveName>Owl Group</CollectiveName></Author></AuthorList>
<Language>eng</Language><PublicationTypeList><PublicationType>Journal Article</PublicationType>
</PublicationTypeList></Article>
<MeshHeadingList><MeshHeading><DescriptorName>Owls</DescriptorName></MeshHeading></MeshHeadingList>
<KeywordList><Keyword>night</Keyword></KeywordList></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">123</ArticleId><ArticleId IdType="pmc">PMC7</ArticleId>
</ArticleIdList><ReferenceList><Reference><Citation>Mouse B. Mice. 2001.</Citation>
<ArticleIdList><ArticleId IdType="pubmed">99</ArticleId></ArticleIdList></Reference></ReferenceList>
</PubmedData></PubmedArticle>"""
BOOK = """<PubmedBookArticle><BookDocument><PMID>5</PMID><Book><BookTitle>Guide to owls</BookTitle>
<Publisher><PublisherName>Wood Press</PublisherName></Publisher><PubDate><Year>2009</Year></PubDate>
<AuthorList Type="editors"><Author><LastName>Tree</LastName><ForeName>Ed</ForeName></Author></AuthorList>
<ELocationID EIdType="doi">10.1000/guide</ELocationID></Book>
<Abstract><AbstractText>All of it.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"""
DOCTYPE = '<!DOCTYPE PubmedArticleSet SYSTEM "http://example.org/pubmed.dtd">'
ENDNOTE = """<?xml version="1.0"?><xml><records><record>
<database name="Mine.enl">Mine.enl</database><source-app name="EndNote" version="20">EndNote</source-app>
<ref-type name="Journal Article">17</ref-type><contributors><authors>
<author><style face="normal">Owl, Ada</style></author><author>Mouse, Bo</author></authors>
<secondary-authors><author>Tree, Ed</author></secondary-authors></contributors>
<titles><title><style>Owls at
   </style><style face="italic">night</style></title><secondary-title>J Owls</secondary-title></titles>
<periodical><full-title>Journal of Owls</full-title></periodical><pages>1--9</pages><volume>3</volume>
<number>2</number><dates><year>2019</year><pub-dates><date>May 3</date></pub-dates></dates>
<isbn>1234-5678&#xD;8765-4321</isbn><accession-num>12345678</accession-num>
<electronic-resource-num>10.1000/OWL</electronic-resource-num><abstract>Owls listen.</abstract>
<keywords><keyword>owls</keyword><keyword>mice</keyword></keywords><label>B7</label>
<urls><related-urls><url>https://example.org/1</url></related-urls></urls>
{more}</record></records></xml>"""
TRAINING = """<?xml version="1.0"?>
<tei><teiHeader><fileDesc xml:id="_1"/></teiHeader><text xml:lang="en"><front>
<docTitle><titlePart>Owls hunt in<lb/> woods<lb/></titlePart></docTitle>
<byline><docAuthor>Ada B. Owl 1,* , Bo Mouse 2 and Cy Tree<lb/></docAuthor></byline>
<div type="abstract">Owls lis-<lb/>ten at night.<lb/></div>Running head</front></text></tei>"""
TRAINING_BODY = """<tei><teiHeader/><text xml:lang="en"><p>A sci-<lb/>entific start.</p>
<head>Methods</head><p>We looked.</p><item>One</item> loose text</text></tei>"""


def read(folder: Path, content: str | bytes) -> tuple[str, list[Paper], list[Remark]]:
    path = folder / "file.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    items = list(read_papers(path))
    papers = [item for item in items if isinstance(item, Paper)]
    return detect(path), papers, [item for item in items if isinstance(item, Remark)]


@pytest.mark.parametrize(
    "text", [ARTICLE, f'<?xml version="1.0"?>{DOCTYPE}<PubmedArticleSet>{ARTICLE}</PubmedArticleSet>']
)
def test_a_pubmed_article(tmp_path: Path, text: str) -> None:
    name, (paper,), remarks = read(tmp_path, text)
    assert (name, remarks) == ("pubmed-xml", [])
    assert paper.title == "Owls at H2O."
    assert paper.authors == ("Ada B Owl Jr", "Owl Group")
    assert paper.abstract == "BACKGROUND: Owls drink.\n\nRESULTS: They fly."
    assert (paper.year, paper.venue, paper.language) == (2018, "Journal of owls", "en")
    assert paper.identifiers == {"doi": "10.1000/owl", "pmid": "123", "pmcid": "PMC7"}
    assert [r.identifiers for r in paper.references] == [{"pmid": "99"}]
    meta = paper.metadata
    assert (meta["volume"], meta["issue"], meta["pages"], meta["issn"]) == ("3", "2", "7-9", "1234-5678")
    assert (meta["keywords"], meta["database"]) == (["night", "Owls"], "PubMed")
    assert meta["affiliations"] == ["Wood University"]
    assert ["PublicationType", "Journal Article"] in meta["pubmed"]


@pytest.mark.parametrize("said", ["Buhos beben.", "Abstract available from the publisher."])
@pytest.mark.parametrize("own", [True, False])
def test_an_abstract_in_another_language_is_kept_where_there_is_no_other(
    tmp_path: Path, said: str, own: bool
) -> None:
    other = f'<OtherAbstract Language="spa"><AbstractText>{said}</AbstractText></OtherAbstract>'
    text = ARTICLE.replace("</Article>", f"</Article>{other}")
    _, (paper,), _ = read(tmp_path, text if own else re.sub("(?s)<Abstract>.*</Abstract>", "", text))
    nbib = tmp_path / "x.nbib"
    nbib.write_text(
        f"PMID- 123\nTI  - Owls\n{'AB  - Owls drink.' * own}\nOAB - Publisher: {said}\nOABL- spa\n"
    )
    (tagged,) = read_papers(nbib)
    right = "Owls drink." if own else said.partition("Abstract")[0]
    assert paper.abstract.removeprefix("BACKGROUND: ").partition("\n")[0] == right
    assert isinstance(tagged, Paper)
    assert tagged.abstract == right


def test_a_pubmed_book_and_an_empty_one(tmp_path: Path) -> None:
    empty = "<PubmedBookArticle/>"
    _, (paper,), (remark,) = read(tmp_path, f"<PubmedBookArticleSet>{BOOK}{empty}</PubmedBookArticleSet>")
    assert (paper.title, paper.year, paper.authors) == ("Guide to owls", 2009, ())
    assert paper.identifiers == {"doi": "10.1000/guide", "pmid": "5"}
    assert (paper.metadata["type"], paper.metadata["editors"]) == ("book", ["Ed Tree"])
    assert remark.skipped
    assert "empty" in remark.reason


def test_broken_xml_is_refused_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not well-formed") as caught:
        read(tmp_path, "<PubmedArticleSet><PubmedArticle></PubmedArticleSet>")
    assert "line 1" in caught.value.why


def test_endnote_xml(tmp_path: Path) -> None:
    name, (paper,), remarks = read(tmp_path, ENDNOTE.format(more=""))
    assert (name, remarks) == ("endnote-xml", [])
    assert (paper.title, paper.authors) == ("Owls at night", ("Ada Owl", "Bo Mouse"))
    assert (paper.year, paper.venue, paper.abstract) == (2019, "Journal of Owls", "Owls listen.")
    assert paper.identifiers == {"doi": "10.1000/owl", "pmid": "12345678"}
    meta = paper.metadata
    assert (meta["type"], meta["pages"], meta["issn"]) == ("article-journal", "1-9", "1234-5678, 8765-4321")
    assert (meta["editors"], meta["keywords"]) == (["Ed Tree"], ["owls", "mice"])
    assert meta["database"] == "EndNote"
    assert ["label", "B7"] in meta["endnote"]


def test_the_database_that_endnote_searched_comes_before_the_program(tmp_path: Path) -> None:
    more = "<remote-database-name>Ovid MEDLINE(R)</remote-database-name>"
    _, (paper,), _ = read(tmp_path, ENDNOTE.format(more=more))
    assert paper.metadata["database"] == "MEDLINE"


@pytest.mark.parametrize("stated", ["utf-8", "utf-16", "windows-1252"])
@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_xml_in_utf_16_whatever_its_declaration_states(tmp_path: Path, coding: str, stated: str) -> None:
    text = ENDNOTE.format(more="").replace('version="1.0"', f'version="1.0" encoding="{stated}"')
    _, (paper,), _ = read(tmp_path, text.replace("Owls listen", "Öwls listen").encode(coding))
    assert paper.abstract == "Öwls listen."


def test_training_header(tmp_path: Path) -> None:
    name, (paper,), remarks = read(tmp_path, TRAINING)
    assert (name, remarks) == ("grobid-training", [])
    assert paper.title == "Owls hunt in woods"
    assert paper.authors == ("Ada B. Owl", "Bo Mouse", "Cy Tree")
    assert paper.abstract == "Owls listen at night."
    assert "Running head" in paper.metadata["front_matter"]


def test_training_full_text_without_title(tmp_path: Path) -> None:
    _, (paper,), (remark,) = read(tmp_path, TRAINING_BODY)
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("", "A scientific start."),
        ("Methods", "We looked.\n\nOne\n\nloose text"),
    ]
    assert "no title" in remark.reason


def test_tei_without_header_is_kept_as_text(tmp_path: Path) -> None:
    text = "<TEI><teiHeader/><text><div>The invention.</div><div type='references'>Old.</div></text></TEI>"
    _, (paper,), (remark,) = read(tmp_path, text)
    assert [s.text for s in paper.sections] == ["The invention."]
    assert "no title" in remark.reason


def test_unknown_xml_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, "<modsCollection><mods/></modsCollection>")
    assert "<modsCollection>" in caught.value.why


def test_arxivs_answers(tmp_path: Path) -> None:
    feed = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:a="http://arxiv.org/schemas/atom">
<id>http://arxiv.org/api/1</id><title>ArXiv Query</title><entry>
<id>http://arxiv.org/abs/hep-th/9901001v2</id>
<published>1999-01-02T10:00:00Z</published><updated>2001-05-01T10:00:00Z</updated><title>Owls
 listen</title><summary>They hear. </summary><author><name>Ines Moreno</name>
<a:affiliation>Wood</a:affiliation>
</author><a:comment>12 pages</a:comment><category term="hep-th"/><category term="q-bio"/></entry>
<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title>
<summary>id is wrong</summary></entry></feed>"""
    kind, (paper,), remarks = read(tmp_path, feed)
    assert kind == "arxiv-atom"
    assert (paper.title, paper.year, paper.authors) == ("Owls listen", 1999, ("Ines Moreno",))
    assert paper.identifiers == {"arxiv": "hep-th/9901001"}
    kept = {"categories": "hep-th q-bio", "comments": "12 pages", "affiliations": ["Wood"]}
    assert paper.metadata.items() >= {**kept, "v1_date": "1999-01-02", "latest_date": "2001-05-01"}.items()
    assert [remark.reason for remark in remarks] == ["arXiv answered with an error: id is wrong"]


def test_another_feed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="root is <feed>"):
        read(tmp_path, "<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>News</title></entry></feed>")


def test_europe_pmcs_answers(tmp_path: Path) -> None:
    answer = """<responseWrapper><hitCount>2</hitCount><resultList><result><id>33</id><source>MED</source>
<pmid>33</pmid><title>Owls</title><authorString>Moreno Vall I.</authorString><authorList><author>
<fullName>Moreno Vall I</fullName><firstName>Ines</firstName><lastName>Moreno Vall</lastName></author>
<author><collectiveName>Owl Group</collectiveName></author></authorList><journalInfo><volume>10</volume>
<journal><title>J Owls</title></journal></journalInfo><pubYear>2021</pubYear><pageInfo>1-9</pageInfo>
<abstractText>We &lt;i&gt;see&lt;/i&gt; <b>owls</b>.</abstractText>
<pubTypeList><pubType>Journal Article</pubType>
</pubTypeList><meshHeadingList><meshHeading><descriptorName>Mice</descriptorName></meshHeading>
</meshHeadingList></result><result/></resultList></responseWrapper>"""
    kind, (paper,), remarks = read(tmp_path, answer)
    assert kind == "europe-pmc-xml"
    assert (paper.abstract, paper.venue, paper.year) == ("We see owls.", "J Owls", 2021)
    assert paper.authors == ("Ines Moreno Vall", "Owl Group")
    shared = {"volume": "10", "pages": "1-9", "keywords": ["Mice"], "type": "article-journal"}
    assert paper.metadata.items() >= {**shared, "database": "Europe PMC", "source": "MED"}.items()
    assert [remark.reason for remark in remarks] == ["the result is empty: skipped"]
