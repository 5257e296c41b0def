"""Printed pages: columns, headings, front matter and references of the layouts that publishers use."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.pages.layout.document import remove_running
from aspectra.papers.sources.pages.layout.lines import Font, Line, PrintedPage, TextRun
from aspectra.papers.sources.protocol import Remark

sys.path.insert(0, str(Path(__file__).parents[2]))
from pdf_maker import Placed, place_pdf

WORDS = (
    "the umbrella is lost in a train and we walk to the station of that day while rain falls over every "
    "platform so people search for it under seats with care"
).split()
TWO = ((54.0, 246.0), (312.0, 246.0))


def prose(count: int, seed: int, width: float, size: float) -> list[str]:
    """Printed lines of ``count`` made-up words; a sentence every fourteen."""
    choose = random.Random(seed)
    words = [choose.choice(WORDS) for _ in range(count)]
    words = [w.capitalize() if n % 14 == 0 else f"{w}." if n % 14 == 13 else w for n, w in enumerate(words)]
    words[-1] = words[-1].rstrip(".") + "."
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > width / (0.44 * size):
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


class Sheet:
    """Lines put below each other, column after column, page after page."""

    def __init__(self, columns: tuple[tuple[float, float], ...] = TWO, top: float = 72.0) -> None:
        self.pages: list[list[Placed]] = [[]]
        self.columns, self.column, self.top, self.y = columns, 0, top, top

    def at(self, x: float, y: float, size: float, font: str, text: str) -> None:
        self.pages[-1].append((x, y, size, font, text))

    def put(self, text: str, size: float, font: str, *, gap: float = 0.0, indent: float = 0.0) -> None:
        self.y += gap
        if self.y > 720:
            self.column, self.y = self.column + 1, self.top
            if self.column == len(self.columns):
                self.pages.append([])
                self.column, self.top, self.y = 0, 72.0, 72.0
        self.at(self.columns[self.column][0] + indent, self.y, size, font, text)
        self.y += 1.2 * size

    def prose(self, count: int, seed: int, size: float = 10.0, font: str = "roman") -> list[str]:
        lines = prose(count, seed, self.columns[0][1], size)
        for number, line in enumerate(lines):
            self.put(line, size, font, indent=10 if number == 0 else 0)
        return lines

    def feet(self, text: str = "{}") -> None:
        for number, page in enumerate(self.pages, 1):
            page.append((300, 760, 9.0, "roman", text.format(number)))


def read(folder: Path, sheet: Sheet, **options: object) -> tuple[Paper, list[str]]:
    path = folder / "paper.pdf"
    path.write_bytes(place_pdf(sheet.pages, **options))  # type: ignore[arg-type]
    items = list(read_papers(path, "pdf"))
    (paper,) = [item for item in items if isinstance(item, Paper)]
    return paper, [item.reason for item in items if isinstance(item, Remark)]


def squash(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def everything(paper: Paper) -> str:
    parts = [paper.title, paper.abstract, str(paper.metadata.get("front_matter", ""))]
    parts += [text for s in paper.sections for text in (s.heading, s.text)]
    parts += [entry.raw for entry in paper.references] + list(paper.metadata.get("running_heads", ()))
    return squash(" ".join(parts))


def letters() -> Sheet:
    """A robotics letter: abstract behind its label, Roman numbers in capitals, lettered second level."""
    sheet = Sheet(top=230.0)
    sheet.at(150, 40, 7, "roman", "UMBRELLA AND RAIN LETTERS. PREPRINT VERSION. ACCEPTED JUNE, 2021")
    sheet.at(100, 90, 24, "roman", "Finding Lost Umbrellas with a")
    sheet.at(120, 118, 24, "roman", "Quadruped in Crowded Stations")
    sheet.at(110, 150, 11, "roman", "Ada Example, Student Member, IEEE, Bo Sample, and Carl van der Berg")
    for number, line in enumerate(prose(60, 1, 200, 9)):
        sheet.put(("Abstract—" if number == 0 else "") + line, 9, "bold")
    sheet.put("Index Terms—Legged robots, umbrellas.", 9, "bold", gap=6)
    sheet.put("I. INTRODUCTION", 10, "roman", gap=10, indent=80)
    sheet.prose(150, 2)
    sheet.put("II. RELATED WORK", 10, "roman", gap=8, indent=80)
    sheet.put("A. Walking Robots", 10, "italic", gap=6)
    sheet.prose(120, 3)
    sheet.put("B. Lost Things", 10, "italic", gap=6)
    sheet.prose(120, 4)
    sheet.put("III. METHOD", 10, "roman", gap=8, indent=80)
    sheet.prose(300, 5)
    sheet.put("TABLE I", 8, "roman", gap=8, indent=90)
    sheet.put("MEAN TIME UNTIL FOUND", 8, "roman", indent=60)
    sheet.put("IV. CONCLUSION", 10, "roman", gap=8, indent=80)
    sheet.prose(60, 7)
    sheet.put("REFERENCES", 10, "roman", gap=8, indent=80)
    for n in range(1, 9):
        sheet.put(f'[{n}] A. Lee and B. Roy, "Umbrellas of the north and', 8, "roman")
        sheet.put(f'their rain," J. Rain, vol. {n}, pp. 1-9, 20{10 + n}.', 8, "roman", indent=14)
    sheet.at(54, 745, 8, "roman", "nothing")
    sheet.pages[0].append((54, 745, 8, "roman", "Digital Object Identifier (DOI): 10.1234/letters.2021.5678"))
    sheet.feet()
    return sheet


def test_letters(tmp_path: Path) -> None:
    paper, remarks = read(tmp_path, letters())
    assert paper.title == "Finding Lost Umbrellas with a Quadruped in Crowded Stations"
    assert paper.authors == ("Ada Example", "Bo Sample", "Carl van der Berg")
    assert (paper.year, paper.identifiers) == (2021, {"doi": "10.1234/letters.2021.5678"})
    expected = prose(60, 1, 200, 9)
    assert squash(paper.abstract) == squash("".join(expected))
    assert [section.heading for section in paper.sections] == [
        *("INTRODUCTION", "RELATED WORK", "Walking Robots", "Lost Things", "METHOD", "CONCLUSION"),
    ]
    assert len(paper.references) == 8
    assert remarks == []


def journal() -> Sheet:
    """A journal: its name larger than the title, keywords beside the abstract, spaced capitals."""
    sheet = Sheet(top=420.0)
    sheet.at(200, 50, 8, "roman", "Contents lists available at ScienceDirect")
    sheet.at(190, 75, 14, "roman", "Robotics and Autonomous Umbrella Systems")
    sheet.at(200, 95, 8, "roman", "journal homepage: www.example.org/raus")
    sheet.at(54, 150, 13.5, "roman", "Umbrella retrieval in trains: A comparative study of walking")
    sheet.at(54, 168, 13.5, "roman", "and waiting strategies")
    sheet.at(54, 195, 10.5, "roman", "Ada Example")
    sheet.at(112, 191, 7, "roman", "a,*")
    sheet.at(122, 195, 10.5, "roman", ", Bo Sample")
    sheet.at(176, 191, 7, "roman", "b")
    sheet.at(54, 212, 7, "italic", "a  Department of Rain, University of Somewhere, 12345 Town, Country")
    sheet.at(54, 250, 9, "roman", "A R T I C L E   I N F O")
    sheet.at(220, 250, 9, "roman", "A B S T R A C T")
    for number, line in enumerate(
        ["Keywords:", "Umbrella retrieval", "Trains and stations", "Rain forecasts"]
    ):
        sheet.at(54, 270 + 10 * number, 8, "roman", line)
    for number, line in enumerate(prose(90, 1, 330, 8)):
        sheet.at(220, 270 + 10 * number, 8, "roman", line)
    sheet.put("1. Introduction", 9.5, "bold")
    sheet.prose(250, 2, 9)
    sheet.put("2. Materials and methods", 9.5, "bold", gap=8)
    sheet.put("2.1. Walking strategies", 9.5, "italic", gap=6)
    sheet.prose(200, 3, 9)
    sheet.put("3. Results", 9.5, "bold", gap=8)
    sheet.prose(220, 4, 9)
    sheet.put("Declaration of competing interest", 9.5, "bold", gap=8)
    sheet.prose(20, 9, 9)
    sheet.put("References", 9.5, "bold", gap=8)
    for n in range(1, 9):
        sheet.put(f"Lee, A., Roy, B., 20{10 + n}. Umbrellas of the north and their", 8, "roman")
        sheet.put(f"rain. J. Rain {n}, 1-9. https://doi.org/10.9999/rain.{n}", 8, "roman", indent=12)
    sheet.pages[0].append((54, 740, 7, "roman", "https://doi.org/10.1234/raus.2019.01.002"))
    sheet.pages[0].append((54, 749, 7, "roman", "0921-8890/© 2019 Rain Press. All rights reserved."))
    return sheet


def test_journal(tmp_path: Path) -> None:
    paper, _ = read(tmp_path, journal())
    assert paper.title.startswith("Umbrella retrieval in trains")
    assert paper.title.endswith("waiting strategies")
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert (paper.year, paper.identifiers) == (2019, {"doi": "10.1234/raus.2019.01.002"})
    assert squash(paper.abstract) == squash("".join(prose(90, 1, 330, 8)))
    assert [s.heading for s in paper.sections if s.heading] == [
        *("Introduction", "Materials and methods", "Walking strategies", "Results"),
        "Declaration of competing interest",
    ]
    assert len(paper.references) == 8


def word() -> Sheet:
    """A report: headings in bold of the size of the text, no numbers, one column."""
    sheet = Sheet(columns=((72.0, 468.0),))
    sheet.put("Umbrella Retrieval for Commuters: A Field Report", 16, "bold", indent=60)
    for name, place in (("Ada Example", "University of Somewhere"), ("Bo Sample", "Institute of Trains")):
        sheet.put(name, 12, "roman", gap=12, indent=190)
        sheet.put(place, 12, "roman", indent=170)
        sheet.put("someone@example.org", 12, "roman", indent=175)
    sheet.put("March 2014", 12, "roman", gap=8, indent=190)
    for seed, (name, count) in enumerate(
        [("Abstract", 90), ("Introduction", 250), ("What the Field Looks Like", 200), ("Method", 200)]
    ):
        sheet.put(name, 12, "bold", gap=14)
        sheet.prose(count, seed, 12)
    sheet.put("Bibliography", 12, "bold", gap=14)
    for n in range(1, 7):
        sheet.put(
            f"Lee, Ann. (20{10 + n}). Umbrellas of the north. Journal of Rain, {n}(2), 1-9.", 12, "roman"
        )
        sheet.put(f"Town {n}: Rain Press.", 12, "roman", indent=36)
    sheet.feet()
    return sheet


def test_word(tmp_path: Path) -> None:
    paper, _ = read(tmp_path, word())
    assert paper.title == "Umbrella Retrieval for Commuters: A Field Report"
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert paper.year == 2014
    assert [s.heading for s in paper.sections] == ["Introduction", "What the Field Looks Like", "Method"]
    assert len(paper.references) == 6


def article() -> Sheet:
    """A weekly: abstract in bold without a heading, unnumbered headings of the size of the text."""
    sheet = Sheet(top=330.0)
    sheet.at(54, 90, 22, "sans_bold", "Lost umbrellas are found faster")
    sheet.at(54, 114, 22, "sans_bold", "by those who walk slowly")
    sheet.at(54, 150, 9, "sans_bold", "Ada Example")
    sheet.at(107, 146, 6, "sans", "1")
    sheet.at(112, 150, 9, "sans_bold", ", Bo Sample")
    sheet.at(163, 146, 6, "sans", "2")
    sheet.at(168, 150, 9, "sans_bold", " & Carl Tester")
    for number, line in enumerate(prose(110, 1, 500, 9)):
        sheet.at(54, 190 + 11 * number, 9, "bold", line)
    sheet.prose(300, 2, 9)
    for seed, name in enumerate(["Walking slowly helps", "Rain does not matter", "Discussion", "Methods"]):
        sheet.put(name, 9, "sans_bold", gap=10)
        sheet.prose(200, 10 + seed, 9)
    sheet.put("References", 9, "sans_bold", gap=10)
    for n in range(1, 9):
        sheet.put(f"{n}. Lee, A. & Roy, B. Umbrellas of the north. J. Rain", 7, "roman")
        sheet.put(f"{n}, 1-9 (20{10 + n}).", 7, "roman", indent=8)
    for number, page in enumerate(sheet.pages):
        page.append((54, 765, 7, "sans", f"{120 + number} | Umbrella | Vol 512 | 3 May 2018"))
    return sheet


def test_article(tmp_path: Path) -> None:
    paper, _ = read(tmp_path, article())
    assert paper.title == "Lost umbrellas are found faster by those who walk slowly"
    assert paper.authors == ("Ada Example", "Bo Sample", "Carl Tester")
    assert paper.year == 2018
    assert squash(paper.abstract) == squash("".join(prose(110, 1, 500, 9)))
    assert [s.heading for s in paper.sections] == [
        *("", "Walking slowly helps", "Rain does not matter", "Discussion", "Methods"),
    ]
    assert len(paper.references) == 8


def thesis() -> Sheet:
    """A thesis: title page, abstract on a later page, table of contents, chapters on pages of their own."""
    sheet = Sheet(columns=((108.0, 400.0),))
    sheet.put("UNIVERSITY OF SOMEWHERE", 14, "roman", gap=60, indent=90)
    sheet.put("Walking Machines That Find", 24, "bold", gap=40, indent=40)
    sheet.put("Lost Umbrellas", 24, "bold", indent=100)
    sheet.put("by", 12, "roman", gap=30, indent=190)
    sheet.put("Ada Example", 14, "roman", indent=150)
    sheet.put("A thesis submitted for the degree of Doctor of Philosophy", 12, "roman", gap=20)
    sheet.put("May 2016", 12, "roman", gap=20, indent=170)

    def page() -> None:
        sheet.pages.append([])
        sheet.y = 72.0

    page()
    sheet.put("Abstract", 20, "bold")
    sheet.prose(150, 1, 11)
    page()
    sheet.put("Contents", 20, "bold")
    for n in range(1, 5):
        sheet.put(f"{n} Chapter About Things {n * 10}", 11, "bold", gap=6)
        sheet.put(f"{n}.1 Section of umbrellas . . . . . . . . . . . . {n * 10 + 1}", 11, "roman", indent=14)
    for n, name in enumerate(["Introduction", "Related Machines", "Walking in Rain", "Conclusions"], 1):
        page()
        sheet.put(f"Chapter {n}", 20, "bold")
        sheet.put(name, 24, "bold", gap=16)
        sheet.prose(200, 30 + n, 11)
        sheet.put(f"{n}.1 Section of Seats", 14, "bold", gap=12)
        sheet.prose(500, 40 + n, 11)
    page()
    sheet.put("Bibliography", 24, "bold")
    for n in range(1, 30):
        sheet.put(f"[{n}] A. Lee and B. Roy. Umbrellas of the north and their rain.", 11, "roman")
        sheet.put(f"Journal of Rain, {n}:1-9, 20{10 + n % 9}.", 11, "roman", indent=18)
    page()
    sheet.put("Appendix A", 20, "bold")
    sheet.put("Tables of Rain", 24, "bold", gap=16)
    sheet.prose(200, 77, 11)
    sheet.feet()
    return sheet


def test_thesis(tmp_path: Path) -> None:
    paper, _ = read(tmp_path, thesis())
    assert paper.title == "Walking Machines That Find Lost Umbrellas"
    assert paper.authors == ("Ada Example",)
    assert paper.year == 2016
    assert squash(paper.abstract) == squash("".join(prose(150, 1, 400, 11)))
    named = [s.heading for s in paper.sections if s.heading]
    assert "Chapter About Things 10" not in named
    assert [h for h in named if not h.startswith("Chapter")] == [
        *("Contents", "Introduction", "Section of Seats", "Related Machines", "Section of Seats"),
        *("Walking in Rain", "Section of Seats", "Conclusions", "Section of Seats"),
        *("Appendix A", "Tables of Rain"),
    ]
    assert len(paper.references) == 29


@pytest.mark.parametrize("make", [letters, journal, word, article, thesis])
def test_no_line_is_lost(tmp_path: Path, make: Callable[[], Sheet]) -> None:
    sheet = make()
    paper, _ = read(tmp_path, sheet)
    kept = everything(paper)
    said = {"abstract", "references", "bibliography", "abstract—"}
    for page in sheet.pages:
        for *_, text in page:
            shown = squash(text.removeprefix("Abstract—"))
            # Numbers of headings, labels of entries and page numbers are not text.
            bare = squash(text.split(" ", 1)[-1])
            assert shown in kept or bare in kept or shown in said or shown.isdigit(), text


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    sheet = letters()
    paper, _ = read(tmp_path, sheet)
    method = next(s.text for s in paper.sections if s.heading == "METHOD")
    assert squash("".join(prose(300, 5, 246, 10))) in squash(method)


def test_text_behind_the_references_is_a_section(tmp_path: Path) -> None:
    sheet = word()
    sheet.put("More Umbrellas", 12, "bold", gap=14)
    lines = sheet.prose(200, 50, 12)
    paper, _ = read(tmp_path, sheet)
    assert paper.sections[-1].heading == "More Umbrellas"
    assert squash("".join(lines)) in squash(paper.sections[-1].text)
    assert len(paper.references) == 6


def test_lives_behind_the_references_are_no_references(tmp_path: Path) -> None:
    sheet = letters()
    life = "Ada Example received the B.S. degree in rain from the University of Somewhere in 2012. She walks."
    sheet.put(life[:50], 8, "roman", gap=20)
    sheet.put(life[50:], 8, "roman")
    for line in prose(60, 9, 246, 8):
        sheet.put(line, 8, "roman")
    paper, _ = read(tmp_path, sheet)
    assert len(paper.references) == 8
    assert squash(life[:40]) in squash(paper.sections[-1].text)


def test_stamp_names_id_and_year_and_is_no_title(tmp_path: Path) -> None:
    sheet = word()
    sheet.pages[0] = [line for line in sheet.pages[0] if line[4] != "March 2014"]
    paper, _ = read(tmp_path, sheet, turned="arXiv:2604.01234v2 [cs.IR] 3 Apr 2026")
    assert paper.title == "Umbrella Retrieval for Commuters: A Field Report"
    assert (paper.year, paper.identifiers) == (2026, {"arxiv": "2604.01234"})


@pytest.mark.parametrize("title", ["Umbrella Journal", "manuscript.dvi", "Another title that is not printed"])
def test_title_of_the_information_is_not_believed(tmp_path: Path, title: str) -> None:
    paper, _ = read(tmp_path, word(), info={"Title": title, "Author": "Somebody Else"})
    assert paper.title == "Umbrella Retrieval for Commuters: A Field Report"
    assert paper.authors == ("Ada Example", "Bo Sample")


def test_foot_with_proceedings_gives_the_year_only(tmp_path: Path) -> None:
    sheet = letters()
    sheet.pages[0] = [line for line in sheet.pages[0] if "2021" not in line[4]]
    foot = (
        90.0,
        770.0,
        9.0,
        "italic",
        "Proceedings of the 3rd Conference on Umbrellas, pages 1-9, Town, 2017.",
    )
    sheet.pages[0].insert(0, foot)
    paper, _ = read(tmp_path, sheet)
    assert paper.title.startswith("Finding Lost")
    assert paper.year == 2017


def test_slides_keep_their_text_with_a_remark(tmp_path: Path) -> None:
    sheet = Sheet(columns=((72.0, 468.0),))
    for number in range(6):
        if number:
            sheet.pages.append([])
            sheet.y = 72.0
        sheet.put(f"Umbrellas, part {number}", 32, "sans_bold")
        for point in range(4):
            sheet.put(f"point {point} about umbrellas and rain on slide {number}", 20, "sans", gap=12)
    paper, remarks = read(tmp_path, sheet)
    kept = everything(paper)
    assert all(squash(f"Umbrellas, part {number}") in kept for number in range(6))
    assert squash("point 3 about umbrellas and rain on slide 5") in kept
    assert any("may be no paper" in remark for remark in remarks)


def test_cells_at_the_foot_of_a_page_are_no_page_numbers(tmp_path: Path) -> None:
    sheet = letters()
    for row in range(4):
        for column, value in enumerate(("model", f"0.{row}7", str(row + 1))):
            sheet.pages[0].append((312 + 60 * column, 690 + 12 * row, 9, "roman", f"{value}"))
    paper, _ = read(tmp_path, sheet)
    assert squash("model 0.37 4") in everything(paper)


def test_pages_that_are_images_are_named(tmp_path: Path) -> None:
    sheet = word()
    sheet.pages.append([])
    data = place_pdf(sheet.pages)
    # The last page is empty: an image over all of it takes the place of its content.
    image = b"q 612 0 0 792 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q"
    empty = b"<< /Length 5  >>\nstream\nBT\nET\nendstream"
    assert data.count(empty) == 1
    path = tmp_path / "paper.pdf"
    path.write_bytes(data.replace(empty, b"<< /Length %d >>\nstream\n%b\nendstream" % (len(image), image)))
    items = list(read_papers(path, "pdf"))
    (paper,) = [item for item in items if isinstance(item, Paper)]
    last = len(sheet.pages)
    assert paper.metadata["pages_of_images"] == [last]
    assert any(f"without OCR: {last}" in item.reason for item in items if isinstance(item, Remark))


def test_a_lost_section_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aspectra.papers.sources.pages import pdf

    def lossy(*arguments: object) -> object:
        found = whole(*arguments)  # type: ignore[arg-type]
        del found.sections[-1]
        return found

    whole = pdf.read_pages
    monkeypatch.setattr(pdf, "read_pages", lossy)
    paper, remarks = read(tmp_path, word())
    assert paper.metadata["text_quality"] == "poor"
    assert any("of the letters kept" in remark for remark in remarks)


def test_long_divided_words_of_two_known_ones_keep_their_hyphen(tmp_path: Path) -> None:
    sheet = word()
    sheet.put("Endings", 12, "bold", gap=14)
    sheet.put("The meaning of a representation is clear, and this meaning-", 12, "roman")
    sheet.put("representation language is umbrella-", 12, "roman")
    sheet.put("like, but it is not in the re-", 12, "roman")
    sheet.put("trieval of the day.", 12, "roman")
    paper, _ = read(tmp_path, sheet)
    assert "meaning-representation language" in paper.sections[-1].text
    assert "the retrieval of" in paper.sections[-1].text


def test_a_last_line_that_comes_back_is_no_foot() -> None:
    font = Font("Times")

    def line(text: str, base: float, page: int) -> Line:
        return Line([TextRun(text, 72, base - 8, 72 + 5 * len(text), base + 2, base, 10, font)], page)

    pages = []
    for number in range(4):
        texts = [
            line(f"umbrella {word * (number + 1)} in the rain", 640 + 12 * n, number)
            for n, word in enumerate("abcdef")
        ]
        texts += [line("Society of Umbrellas.", 712, number), line(str(number + 7), 760, number)]
        texts.append(line("Rain and Umbrellas", 40, number))
        pages.append(PrintedPage(number, 612, 792, texts))
    heads, count = remove_running(pages, 10.0)
    assert heads == ["Rain and Umbrellas"]
    assert count == sum(len(str(n + 7)) for n in range(4)) + 4 * len("RainandUmbrellas")
    assert all(page.lines[-1].text == "Society of Umbrellas." for page in pages)
