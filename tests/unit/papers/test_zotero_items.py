"""Zotero's items as papers, its notes as text, its files as paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.papers.paper import Paper
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.zotero.mapping import (
    ItemNote,
    citation_key,
    collection_paths,
    html_text,
    item_paper,
    item_tags,
    note_html,
    pdf_path,
    read_note,
)

DATA, BASE = Path("/home/me/Zotero"), Path("/home/me/papers")


def paper_of(**item):
    (paper,) = item_paper(
        {"itemType": "journalArticle", "title": "T", "key": "ABCD2345", **item}, "1", ReadOptions()
    )
    assert isinstance(paper, Paper)
    return paper


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ({"citationKey": "own"}, "own"),
        ({"citekey": "better"}, "better"),
        ({"extra": "some words\nCitation Key: pinned\nmore"}, "pinned"),
        ({"extra": "citation key : pinned"}, "pinned"),
        ({"extra": "the citation key is: no"}, ""),
        ({"extra": None}, ""),
        ({}, ""),
    ],
)
def test_citation_keys(item, key):
    assert citation_key(item) == key
    assert paper_of(**item).id == (key or "ABCD2345")


def test_titles_and_venues_of_other_types():
    case = paper_of(itemType="case", title="", caseName="A v. B", dateDecided="3 May 1999")
    assert (case.title, case.year, case.metadata["type"]) == ("A v. B", 1999, "legal_case")
    talk = paper_of(itemType="conferencePaper", conferenceName="Owls 2020", proceedingsTitle="Proc. of Owls")
    assert (talk.venue, talk.metadata["type"]) == ("Proc. of Owls", "paper-conference")
    assert paper_of(itemType="thesis", university="X").metadata["publisher"] == "X"
    assert paper_of(itemType="newIdea").metadata["type"] == "document"


def test_those_who_made_it_stand_for_authors():
    patent = paper_of(
        itemType="patent", creators=[{"creatorType": "inventor", "firstName": "Ada", "lastName": "L"}]
    )
    assert patent.authors == ("Ada L",)
    book = paper_of(itemType="book", creators=[{"creatorType": "editor", "firstName": "Ed", "lastName": "I"}])
    assert (book.authors, book.metadata["editors"]) == ((), ["Ed I"])
    both = paper_of(
        creators=[
            {"creatorType": "contributor", "name": "C"},
            {"creatorType": "author", "name": "A"},
        ]
    )
    assert both.authors == ("A",)


def test_identifiers_of_fields_and_of_extra():
    paper = paper_of(
        DOI="https://doi.org/10.1000/X",
        ISBN="978-3-16-148410-0 0-306-40615-2",
        extra="PMID: 12345\nPMCID: PMC777\narXiv: 2101.00001 [cs]",
    )
    assert paper.identifiers == {
        "doi": "10.1000/x",
        "arxiv": "2101.00001",
        "pmid": "12345",
        "pmcid": "PMC777",
        "isbn": "9783161484100",
    }
    assert paper_of(archiveID="arXiv:2101.00002").identifiers == {"arxiv": "2101.00002"}


def test_every_field_is_kept_and_what_changes_by_itself_is_not():
    paper = paper_of(
        libraryCatalog="Catalogue", version=7, dateModified="2024", callNumber="QL 1", relations={"a": "b"}
    )
    held = paper.metadata["zotero"]["item"]
    assert (held["libraryCatalog"], held["callNumber"]) == ("Catalogue", "QL 1")
    assert not {"version", "dateModified"} & held.keys()
    assert paper == paper_of(libraryCatalog="Catalogue", version=8, dateModified="2025", callNumber="QL 1")


def test_tags_of_persons_and_of_records():
    item = {
        "tags": [{"tag": "mine"}, {"tag": "auto", "type": 1}, "plain", {"tag": " mine "}, {"nothing": 1}, 3]
    }
    assert item_tags(item, automatic=False) == ["mine", "plain"]
    assert item_tags(item, automatic=True) == ["auto"]


def test_an_item_without_anything_is_a_remark():
    (made,) = item_paper({"itemType": "journalArticle", "key": "ABCD2345"}, "item 1", ReadOptions())
    assert isinstance(made, Remark)


FIELDS = st.sampled_from(["title", "creators", "tags", "extra", "date", "DOI", "collections"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(FIELDS, VALUES))
def test_no_item_breaks_the_reader(item):
    for made in item_paper({"itemType": "book", "key": "ABCD2345", **item}, "1", ReadOptions()):
        assert isinstance(made, Paper | Remark)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<br>two</p>", "one\ntwo"),
        ("<p>one<br/>two &lt;b&gt; &nbsp;three</p>", "one\ntwo <b> three"),
        ("plain", "plain"),
        ("<style>p {}</style><p>seen</p><script>not()</script>", "seen"),
        ("<ul><li>a</li><li>b</li></ul>after", "a\nb\nafter"),
        ("<p>un<b>clo</p>sed", "unclo\nsed"),
        ("", ""),
    ],
)
def test_html_is_read_as_lines(html, text):
    assert html_text(html) == text


@given(st.lists(st.tuples(st.sampled_from(["h1", "p", "blockquote"]), st.text(min_size=1))))
def test_what_is_written_as_a_note_reads_back(paragraphs):
    wanted = [" ".join(html_text(note_html([part])).split()) for part in paragraphs]
    assert html_text(note_html(paragraphs)).split("\n") == [line for line in wanted if line] or not any(
        wanted
    )


def test_no_words_are_markup_in_a_note():
    assert (
        note_html([("p", "a < b & <script>x</script>")])
        == "<p>a &lt; b &amp; &lt;script&gt;x&lt;/script&gt;</p>"
    )


def test_annotations_without_words_are_none():
    drawing = {"itemType": "annotation", "key": "A", "annotationType": "ink", "annotationText": ""}
    assert read_note(drawing) is None
    marked = {**drawing, "annotationText": "  two\nlines ", "annotationPageLabel": "iv"}
    assert read_note(marked) == ItemNote("A", "annotation", "", "two lines", "iv", "")
    assert read_note({"itemType": "note", "key": "N", "note": "<p> </p>"}) is None
    assert read_note({"itemType": "book", "key": "B"}) is None


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"linkMode": "imported_file", "filename": "a.pdf"}, DATA / "storage" / "KEY2" / "a.pdf"),
        ({"linkMode": "imported_url", "filename": "a b.pdf"}, DATA / "storage" / "KEY2" / "a b.pdf"),
        ({"linkMode": "imported_file", "filename": "../../a.pdf"}, None),
        ({"linkMode": "imported_file", "filename": ".."}, None),
        ({"linkMode": "imported_file", "filename": ""}, None),
        ({"linkMode": "imported_file", "filename": "a.pdf", "key": "../KEY"}, None),
        ({"linkMode": "imported_file", "filename": "a.html", "contentType": "text/html"}, None),
        ({"linkMode": "linked_file", "path": "/mnt/a.pdf"}, Path("/mnt/a.pdf")),
        ({"linkMode": "linked_file", "path": "attachments:sub/a.pdf"}, BASE / "sub" / "a.pdf"),
        ({"linkMode": "linked_file", "path": "attachments:../a.pdf"}, None),
        ({"linkMode": "linked_file", "path": "attachments:/etc/a.pdf"}, None),
        ({"linkMode": "linked_file", "path": "//host/share/a.pdf"}, None),
        ({"linkMode": "linked_file", "path": "\\\\host\\share\\a.pdf"}, None),
        ({"linkMode": "linked_file", "path": "a.pdf"}, None),
        ({"linkMode": "linked_url", "path": "/mnt/a.pdf"}, None),
    ],
)
def test_where_a_pdf_is(item, path):
    assert pdf_path({"key": "KEY2", "contentType": "application/pdf", **item}, DATA, BASE) == path


def test_without_folders_nothing_is_found():
    stored = {
        "key": "KEY2",
        "contentType": "application/pdf",
        "linkMode": "imported_file",
        "filename": "a.pdf",
    }
    assert pdf_path(stored, None, BASE) is None
    linked = {**stored, "linkMode": "linked_file", "path": "attachments:a.pdf"}
    assert pdf_path(linked, DATA, None) is None


def test_collections_in_a_circle_end():
    paths = collection_paths([("A", "a", "B"), ("B", "b", "A"), ("C", "c", "GONE")])
    assert paths == {"A": "b / a", "B": "a / b", "C": "c"}
