"""XLSX, DOCX and EPUB: documents inside ZIP archives, made up as small as the formats allow."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from aspectra.base.decompression import Bounds
from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.children import ZipMembers, zip_names
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.files import InputFile

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
REL = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def archive(path: Path, parts: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in parts.items():
            out.writestr(name, text)
    return path


def read(path: Path, name: str) -> tuple[list[Paper], list[Remark]]:
    assert detect(path) == name
    items = list(read_papers(path))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


def workbook(folder: Path, *sheets: str, more: dict[str, str] | None = None) -> Path:
    numbers = range(1, len(sheets) + 1)
    named = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
    links = "".join(f'<Relationship Id="rId{n}" Target="worksheets/sheet{n}.xml"/>' for n in numbers)
    parts = {
        "xl/workbook.xml": f"<workbook {MAIN} {REL}><sheets>{named}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="x">{links}</Relationships>',
        **{
            f"xl/worksheets/sheet{n}.xml": f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
            for n, rows in zip(numbers, sheets, strict=True)
        },
        **(more or {}),
    }
    return archive(folder / "table.xlsx", parts)


def row(number: int, *cells: str) -> str:
    inner = "".join(
        f'<c r="{chr(64 + n)}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
        for n, cell in enumerate(cells, 1)
        if cell
    )
    return f'<row r="{number}">{inner}</row>'


def test_a_workbook_with_shared_texts_numbers_and_dates(tmp_path: Path) -> None:
    texts = ["Article Title", "Publication Year", "Pubmed Id", "Early Access Date", "Authors"]
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)
    shared += "<si><r><t>Owls </t></r><r><t>at night_x000D_</t></r><rPh><t>x</t></rPh></si>"
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>'
        '<c r="D1" t="s"><v>3</v></c><c r="E1" t="s"><v>4</v></c></row>'
        '<row r="3"><c r="A3" t="s"><v>5</v></c><c r="B3"><v>2.019E3</v></c><c r="C3"><v>31234567.0</v></c>'
        '<c r="D3" s="1"><v>43586</v></c><c r="E3" t="inlineStr"><is><t>Owl, A; Barn, B</t></is></c></row>'
    )
    styles = f'<styleSheet {MAIN}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    more = {"xl/sharedStrings.xml": f"<sst {MAIN}>{shared}</sst>", "xl/styles.xml": styles}
    (paper,), remarks = read(workbook(tmp_path, rows, more=more), "xlsx")
    assert (paper.title, paper.year, paper.authors) == ("Owls at night", 2019, ("A Owl", "B Barn"))
    assert paper.identifiers == {"pmid": "31234567"}
    assert paper.metadata["date"] == "2019-05-01"
    assert not remarks
    sheets = '<workbookPr date1904="1"/><sheets><sheet name="S1" r:id="rId1"/></sheets>'
    more["xl/workbook.xml"] = f"<workbook {MAIN} {REL}>{sheets}</workbook>"
    (paper,), _ = read(workbook(tmp_path, rows, more=more), "xlsx")
    assert paper.metadata["date"] == "2023-05-02"  # Excel for Mac counts from 1904


def test_sheets_without_titles_are_named(tmp_path: Path) -> None:
    other, good = (
        row(1, "Name", "Count") + row(2, "a", "b"),
        row(1, "Title", "", "DOI") + row(2, "Owls", "", "10.1000/a"),
    )
    papers, remarks = read(workbook(tmp_path, other, good, ""), "xlsx")
    assert [(p.title, p.identifiers["doi"]) for p in papers] == [("Owls", "10.1000/a")]
    assert [(r.place, r.skipped) for r in remarks] == [("sheet S1", True)]
    assert "Name, Count" in remarks[0].reason
    with pytest.raises(BadInput, match="without a column of titles"):
        list(read_papers(workbook(tmp_path, other)))


def test_far_cells_cost_nothing(tmp_path: Path) -> None:
    far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row>'
    papers, _ = read(workbook(tmp_path, row(1, "Title", "Year") + row(2, "Owls", "2001") + far), "xlsx")
    assert [p.title for p in papers] == ["Owls"]


@pytest.mark.parametrize("sign", [";", "\t", ","])
def test_rows_in_one_cell_are_parted(tmp_path: Path, sign: str) -> None:
    """A table as text with a stray quote, as a program for sheets opens and saves it."""
    first, closed, open_ = (
        text.replace(";", sign)
        for text in (
            "one;10.1000/a;0\n2;B;two;10.1000/b;\n3;C;They say light helps.",
            "one;10.1000/e;0\n6;F;six;10.1000/f;1",
            "one;10.1000/g;0\n8;H;eight;10.1000/h;1\n",
        )
    )
    rows = [
        ("id", "title", "abstract", "doi", "included"),
        ("1", "A", first, "10.1000/c", "1"),
        ("4", "D", "Roe,Ann,Doe\nBen,Moor,Eva", "10.1000/d"),
        ("5", "E", closed),
        ("7", "G", open_),
    ]
    sheet = "".join(row(n, *cells) for n, cells in enumerate(rows, 1))
    papers, remarks = read(workbook(tmp_path, sheet), "xlsx")
    decided = {p.title: p.metadata.get("screening", {}).get("decision", "") for p in papers}
    dois = {p.title: p.identifiers["doi"][-1] + decided[p.title] for p in papers}
    assert dois == {"B": "b", "C": "cinclude", "D": "d", "F": "finclude", "H": "hinclude"}
    assert [(r.place, r.skipped) for r in remarks] == [("row 2", True), ("row 4", True), ("row 5", True)]


def test_sheets_that_name_one_part_are_read_once(tmp_path: Path) -> None:
    path = workbook(tmp_path, row(1, "Title") + row(2, "Owls at night"), row(1, "Title") + row(2, "Mice"))
    with zipfile.ZipFile(path) as made:
        parts = {name: made.read(name).decode() for name in made.namelist()}
    links = "xl/_rels/workbook.xml.rels"
    archive(path, {**parts, links: parts[links].replace("sheet2.xml", "sheet1.xml")})
    assert [paper.title for paper in read(path, "xlsx")[0]] == ["Owls at night"]


@pytest.mark.parametrize(
    "cell", ['<c r="XFD{0}" t="inlineStr"><is><t>x</t></is></c>', '<c r="A{0}" t="s"><v>0</v></c>']
)
def test_rows_that_expand_to_far_more_than_the_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    monkeypatch.setattr("aspectra.papers.sources.tables.xlsx._MOST_ADDED", 200_000)
    rows = "".join(f'<row r="{n}">{cell.format(n)}</row>' for n in range(2, 30))
    more = {"xl/sharedStrings.xml": f"<sst><si><t>{'owls ' * 4_000}</t></si></sst>"}
    with pytest.raises(BadInput, match="expands to far more than it holds"):
        read(workbook(tmp_path, row(1, "Title") + rows, more=more), "xlsx")


WORKBOOKS = Path(__file__).parents[2] / "data" / "workbooks"


@pytest.mark.parametrize("name", ["savedrecs.xls", "papers.ods"])
def test_workbooks_of_other_programs_are_read_like_xlsx(name: str) -> None:
    """Written by xlwt 1.3.0 and odfpy 1.4.1 from made-up rows."""
    (owls, terns), remarks = read(WORKBOOKS / name, "sheets")
    assert (owls.title, owls.year) == ("Owls at night: a survey of β-carotene", 2014)
    assert owls.authors == ("Ána Löwe", "Bob Bird")
    assert owls.identifiers["doi"] == "10.1234/owls.1"
    assert terns.year == 2020  # the cell holds 2020.0
    if name.endswith("xls"):
        assert [remark.place for remark in remarks] == ["sheet notes"]
        assert "2014-03-02" in str(owls.metadata)


@pytest.mark.parametrize("size", [600, 3000])
def test_a_damaged_workbook_is_refused_with_a_way_out(tmp_path: Path, size: int) -> None:
    path = tmp_path / "savedrecs.xls"
    path.write_bytes((WORKBOOKS / path.name).read_bytes()[:size])
    with pytest.raises(BadInput, match="cannot be read as a workbook") as caught:
        list(read_papers(path))
    assert "XLSX" in caught.value.hint


def test_a_workbook_that_expands_without_end_ends_its_own_process_only(tmp_path: Path) -> None:
    path = tmp_path / "papers.ods"
    with zipfile.ZipFile(WORKBOOKS / path.name) as given, zipfile.ZipFile(path, "w", 8) as made:
        for name in given.namelist():
            text = given.read(name)
            if name == "content.xml":
                cell = text[text.index(b"<table:table-cell") : text.index(b"</table:table-cell>") + 19]
                cell = cell.replace(b"table-cell ", b'table-cell table:number-columns-repeated="100" ', 1)
                cell = cell.replace(b"Authors", b"Authors " * 1000)
                text = text.replace(
                    b"<table:table-row>", b'<table:table-row table:number-rows-repeated="900000">' + cell, 1
                )
            made.writestr(name, text)
    with pytest.raises(BadInput, match="cannot be read as a workbook"):
        list(read_papers(path))


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


STYLES = f"""<w:styles {W}>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Two"><w:name w:val="Two"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>"""
CORE = """<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Document1</dc:title>
<dc:creator>Ada Owl; admin</dc:creator><cp:keywords>owls; night</cp:keywords></cp:coreProperties>"""


def document(folder: Path, body: str, **more: str) -> Path:
    parts = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
    }
    return archive(folder / "paper.docx", parts | {f"word/{name}.xml": text for name, text in more.items()})


def test_a_document_with_styles(tmp_path: Path) -> None:
    body = (
        paragraph("Owls at night", "Titel")
        + paragraph("Ada Owl, Owl Labs")
        + paragraph("Abstract", "berschrift1")
        + paragraph("We watch.")
        + paragraph("1 Introduction", "Mine")
        + "<w:p><w:r><w:t>They</w:t><w:tab/><w:t>hu</w:t></w:r><w:r><w:t>nt.</w:t></w:r>"
        "<w:del><w:r><w:delText>Never.</w:delText></w:r></w:del><w:ins><w:r><w:"
        "t> Yes.</w:t></w:r></w:ins></w:p>"
        "<w:tbl><w:tr><w:tc>" + paragraph("a") + "</w:tc><w:tc>" + paragraph("b") + "</w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:pict><w:txbxContent>"
        + paragraph("In a box.")
        + "</w:txbxContent></w:pict></w:r></w:p>"
        + paragraph("Aims", "Two")
        + "<w:sdt><w:sdtContent>"
        + paragraph("To find them.")
        + "</w:sdtContent></w:sdt>"
        + paragraph("References", "berschrift1")
        + paragraph("A. Barn. 2001. Eggs of owls. doi:10.1000/e")
    )
    note = f"<w:footnote>{paragraph('A note.')}</w:footnote>"
    notes = f'<w:footnotes {W}><w:footnote w:type="separator"><w:p/></w:footnote>{note}</w:footnotes>'
    path = document(tmp_path, body, styles=STYLES, footnotes=notes)
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("docProps/core.xml", CORE)
    (paper,), _ = read(path, "docx")
    assert (paper.title, paper.abstract, paper.authors) == ("Owls at night", "We watch.", ("Ada Owl",))
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("Introduction", "They hunt. Yes.\n\na | b\n\nIn a box."),
        ("Aims", "To find them."),
        ("Footnotes", "A note."),
    ]
    assert [r.identifiers for r in paper.references] == [{"doi": "10.1000/e"}]
    assert paper.metadata["keywords"] == ["owls", "night"]
    assert paper.metadata["docx"]["title"] == "Document1"


def test_a_document_without_styles_loses_no_word(tmp_path: Path) -> None:
    (paper,), _ = read(
        document(
            tmp_path,
            "".join(map(paragraph, ("Owls at night", "Abstract", "We watch.", "Introduction", "They hunt."))),
        ),
        "docx",
    )
    assert (paper.title, paper.abstract) == ("Owls at night", "We watch.")
    assert [(s.heading, s.text) for s in paper.sections] == [("Introduction", "They hunt.")]
    (plain,), _ = read(
        document(tmp_path, paragraph("only this, and no more.") + paragraph("And that.")), "docx"
    )
    whole = " ".join([plain.title, plain.abstract, *(s.text for s in plain.sections)])
    assert "only this, and no more." in whole
    assert "And that." in whole


def book(folder: Path, chapters: dict[str, str]) -> Path:
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in reversed(range(len(chapters))))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>The book of owls</dc:title><dc:creator>Owl, Ada</dc:creator><dc:date>2011-01-01</dc:date>"
        "<dc:identifier>urn:isbn:9780000000002</dc:identifier><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return archive(
        folder / "book.epub",
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="x"><rootfiles><rootfile full-path="O E/b.opf"/></roo'
            "tfiles></container>",
            "O E/b.opf": package,
            **{f"O E/{name.replace('%20', ' ')}": text for name, text in chapters.items()},
        },
    )


def test_a_book_in_the_order_of_its_spine(tmp_path: Path) -> None:
    head = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>'
    chapters = {
        "two.xhtml": f"{head}<h1>Eggs</h1><p>They&nbsp;lay.</p></body></html>",
        "a%20one.xhtml": f"{head}<p>For my owl.</p><h1>Night</h1><p>They <i>hu</i>nt.</p></body></html>",
    }
    (paper,), _ = read(book(tmp_path, chapters), "epub")
    assert (paper.title, paper.authors, paper.year) == ("The book of owls", ("Ada Owl",), 2011)
    assert (paper.identifiers, paper.language) == ({"isbn": "9780000000002"}, "en")
    assert [(s.heading, s.text) for s in paper.sections] == [
        ("", "For my owl."),
        ("Night", "They hunt."),
        ("Eggs", "They lay."),
    ]


def test_a_missing_chapter_is_said(tmp_path: Path) -> None:
    path = book(tmp_path, {"one.xhtml": "<html><body><h1>Night</h1><p>They hunt.</p></body></html>"})
    with zipfile.ZipFile(path) as old:
        parts = {n: old.read(n).decode() for n in old.namelist() if not n.endswith("one.xhtml")}
    path.unlink()
    papers, remarks = read(archive(path, parts), "epub")
    assert [p.title for p in papers] == ["The book of owls"]
    assert "one.xhtml is not in the archive" in remarks[0].reason


@pytest.mark.parametrize("name", ["docx", "xlsx", "epub"])
def test_bombs_damage_and_other_archives(tmp_path: Path, name: str) -> None:
    bomb = "<w:document><w:body>" + " " * (40 << 20)
    part = {"docx": "word/document.xml", "xlsx": "xl/workbook.xml", "epub": "META-INF/container.xml"}[name]
    path = archive(tmp_path / "x", {part: bomb})
    assert detect(path) == name
    with pytest.raises(BadInput, match=r"expands|larger|well-formed"):
        list(read_papers(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput):
        list(read_papers(path, name))
    other = archive(tmp_path / "y.zip", {"a.txt": "a"})
    with pytest.raises(BadInput, match="unpack it"):
        detect(other)
    with pytest.raises(BadInput):
        list(read_papers(other, name))


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_of_papers_is_no_paper(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"papers.{kind}"
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.4\n" + b"1 0 obj\n" * 99)
    (tmp_path / "list.ris").write_text("TY  - JOUR\nTI  - Owls\nER  - \n" * 9)
    for first in ("paper.pdf", "list.ris"):
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as out:
                out.write(tmp_path / first, first)
        else:
            with tarfile.open(path, "w") as out:
                out.add(tmp_path / first, first)
        with pytest.raises(BadInput, match="is not read") as caught:
            detect(path)
        assert kind in caught.value.why.casefold()
        assert "unpack" in caught.value.hint


def test_an_archive_of_too_many_names_is_refused_unlisted(tmp_path: Path, monkeypatch) -> None:
    path = document(tmp_path, paragraph("Owls hunt at night."))
    assert "word/document.xml" in zip_names(path, b"PK\x03\x04")
    monkeypatch.setattr("aspectra.papers.sources.children._LARGEST_DIRECTORY", 10)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(BadInput, match="lists too many files"):
        ZipMembers(InputFile(path), Bounds())
    assert zip_names(path, b"PK\x03\x04") == ()
