"""Reference lists out of plain text, in the styles they come in."""

from __future__ import annotations

import time

import pytest

from aspectra.papers.text.references import cited_title, cut_references, entries_of, read_reference

BODY = "Introduction\nText with a year, 1999.\n\n"


def split_references(text: str) -> tuple[str, list[str]]:
    """Text without its reference list, and the entries of the list."""
    before, block, after = cut_references(text)
    return (f"{before}\n\n{after}" if after else before), entries_of(block)


def test_bracketed_over_several_lines() -> None:
    text = BODY + (
        "References\n[1] C. Author. 2019. Umbrellas con-\nsidered lost. In Nothing.\n"
        "[2] E. Third. 2020. Rain. https://doi.org/10.1234/\nabc.5\n[ABC20] F. Fourth. 2020. Sun. Dry.\n"
    )
    body, entries = split_references(text)
    assert body == BODY.strip()
    assert entries == [
        "C. Author. 2019. Umbrellas considered lost. In Nothing.",
        "E. Third. 2020. Rain. https://doi.org/10.1234/abc.5",
        "F. Fourth. 2020. Sun. Dry.",
    ]


def test_numbered_ignores_numbers_inside() -> None:
    text = BODY + (
        "7. REFERENCES\n1. Author C. Umbrellas. Nothing 2019;\n12 3–4.\n2. Third E. Rain. Wet 2020.\n"
        "3. Fourth F. Sun. Dry 2021.\n"
    )
    _, entries = split_references(text)
    assert entries == [
        "Author C. Umbrellas. Nothing 2019; 12 3–4.",
        "Third E. Rain. Wet 2020.",
        "Fourth F. Sun. Dry 2021.",
    ]


def test_all_on_one_line() -> None:
    _, entries = split_references(BODY + "References\n[1] A. One. 2001. X y z. [2] B. Two. 2002. P q r.")
    assert entries == ["A. One. 2001. X y z.", "B. Two. 2002. P q r."]


def test_author_year_lines() -> None:
    text = BODY + (
        "References\nAda Example and Bo Sample. 2019. Umbrellas considered lost in trains\n"
        "and stations. In Proceedings of Nothing.\nAssociation for Rain.\n"
        "Cleo van der Author. 2020. Rain and its\nuses. Wet, 1(2):3–4.\n"
        "de Vries, D. 2021. Sun. Dry.\n"
    )
    _, entries = split_references(text)
    assert [entry.split(".")[0] for entry in entries] == [
        "Ada Example and Bo Sample",
        "Cleo van der Author",
        "de Vries, D",
    ]


def test_brackets_inside_an_unlabelled_list_are_no_labels() -> None:
    entry = "{} Example and Bo Sample. 2020. A rather long title about umbrellas that are lost in trains,\n"
    entry += (
        "and about the stations where they are found again. arXiv:2001.0000{}\n[cs.CL] https://x.org/{}\n"
    )
    text = (
        BODY
        + "References\n"
        + "".join(entry.format(name, n, n) for n, name in enumerate(("Ada", "Cleo", "Dan")))
    )
    assert [e.split()[0] for e in split_references(text)[1]] == ["Ada", "Cleo", "Dan"]


def test_bullets_and_blank_lines() -> None:
    bullets = "## References\n\n- A. One. 2001. X y z.\n- B. Two. 2002. P q\n  r.\n"
    assert split_references(BODY + bullets)[1] == ["A. One. 2001. X y z.", "B. Two. 2002. P q r."]
    blank = "References\n\nA. One. 2001. X.\n\nB. Two. 2002. P q\n\nand more of it.\n\nC. Three. 2003. S t.\n"
    assert len(split_references(BODY + blank)[1]) == 3


def test_what_follows_stays_in_the_text() -> None:
    text = (
        BODY + "References\n[1] A. One. 2001. X y.\n[2] B. Two. 2002. P q.\nA Proofs of claims\nProse only."
    )
    body, entries = split_references(text)
    assert body.endswith("A Proofs of claims\nProse only.")
    assert len(entries) == 2


def test_a_contents_line_is_not_the_list() -> None:
    text = (
        "Contents\nReferences\n\nPart\nText.\n\nReferences\n[1] A. One. 2001. X y.\n[2] B. Two. 2002. P q.\n"
    )
    body, entries = split_references(text)
    assert len(entries) == 2
    assert body.startswith("Contents\nReferences")


@pytest.mark.parametrize("text", ["", "No list here.", "References", "References\n\n"])
def test_without_list(text: str) -> None:
    assert split_references(text)[1] == []


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("A. Lee, “Maps of soft rooms,” J. Rooms 1, 2 (2020).", "Maps of soft rooms"),
        ("Lee, A., Roy, B.: Maps of soft rooms. In: Rooms (2020)", "Maps of soft rooms"),
        ("Lee A (2020). Maps of soft rooms. Rooms, 1.", "Maps of soft rooms"),
        (
            "Ann Lee. Maps of soft rooms: A U.S. view. arXiv:2001.00001, 2020.",
            "Maps of soft rooms: A U.S. view",
        ),
        ("Ann Lee and Bo Roy. 2020. Where are soft rooms? In Proceedings.", "Where are soft rooms"),
        ("A. Lee, Phys. Rev. B 1, 2 (2020).", ""),
        ("", ""),
    ],
)
def test_titles(raw: str, title: str) -> None:
    assert cited_title(raw).rstrip("?") == title


def test_links_in_markdown() -> None:
    reference = read_reference(
        "A. Lee. 2020. [Maps of soft](https://doi.org/10.1/x_(1)) [rooms.](https://doi.org/10.1234/y)"
    )
    assert "](" not in reference.raw
    assert reference.identifiers == {"doi": "10.1234/y"}


@pytest.mark.parametrize(
    "piece", ["[1] ", "A, ", "1 ", "References\n", "a-\n", "“a", "A. ", ": ", "(", "[a](b"]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = "References\n" + piece * 40_000
    start = time.perf_counter()
    for entry in split_references(text)[1][:50]:
        read_reference(entry)
    read_reference(text)
    assert time.perf_counter() - start < 10
