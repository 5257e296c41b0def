"""In-text citations left out, and the way back to the stored text."""

from __future__ import annotations

import pytest

from aspectra.papers.text.references import strip_citations


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("as shown (Min, 1996) here", "as shown  here"),
        ("as shown (see Min and Wilson, 1998; Abe et al., 2001b, p. 3) here", "as shown  here"),
        ("Min and Wilson (1998) show", " show"),
        ("by van Halteren et al. (1998) who", "by  who"),
        ("Smith et al., 1998 and others", " and others"),
        ("in [3, 7-9] and [12]", "in  and "),
        ("it {{cite:a1b2}} works", "it  works"),
        (r"it \citep[see][]{min96,abe} works", "it  works"),
        ("Brill (1992; 1994) tags", " tags"),
        ("(OCR) stays, and so does (a plain aside)", "(OCR) stays, and so does (a plain aside)"),
        ("since 1995 we count 2,000 words", "since 1995 we count 2,000 words"),
        ("", ""),
    ],
)
def test_what_is_left(text, left):
    assert strip_citations(text).text == left


def test_a_span_leads_back_to_the_stored_text():
    found = strip_citations("We follow Brill (1992) and extend it (Min, 1996) with care.")
    at = found.text.index("extend")
    low, high = found.original(at, at + len("extend"))
    assert found.stored[low:high] == "extend"
    whole = found.original(0, len(found.text))
    assert found.stored[slice(*whole)] == found.stored


def test_parts_of_a_text_are_cut_alike():
    text = "First words (Min, 1996) and last words."
    found = strip_citations(text)
    assert found.between(0, 15) + found.between(15, len(text)) == found.text
    assert found.between(14, 18) == ""  # inside the citation


def test_an_empty_span_stays_empty():
    found = strip_citations("A (Min, 1996) b")
    assert found.original(2, 2)[0] == found.original(2, 2)[1]
