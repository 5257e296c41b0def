"""Any page of lines: the layout of PDFs is read without an error, and every word of it goes somewhere."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspectra.papers.sources.pages.layout.document import read_pages
from aspectra.papers.sources.pages.layout.lines import page_of

LINES = [
    *(
        "Abstract",
        "ABSTRACT",
        "References",
        "1 Introduction",
        "2 Method",
        "II. RELATED WORK",
        "Appendix",
        "Contents",
    ),
    *(
        "Keywords: owls, mice",
        "Figure 1: an owl",
        "Table 1: mice by night",
        "Ada Strix and Ben Ferox",
        "ada@owls.org",
    ),
    *(
        "University of Nights",
        "Proceedings of Nothing",
        "10.1234/abc",
        "arXiv:2101.01234v2 [cs.IR] 5 Mar 2021",
    ),
    *("[1] A. Author. 2019. Owls considered. In Proc. of Nights.", "Abstract. We show that owls hear mice."),
    *(
        "Owls listen for mice in the dark and hear them well from afar.",
        "short",
        "a",
        "7",
        "•",
        "I.",
        "–",
        "§ 3",
    ),
]
STYLES = [["F", 400, False], ["B", 700, False], ["I", 400, True]]
ROWS = st.tuples(
    st.sampled_from(LINES),
    st.sampled_from([6, 8, 10, 10, 10, 12, 18]),
    st.sampled_from([1.2, 1.3, 2.5]),
    st.sampled_from([60, 60, 320, 100]),
    st.sampled_from([0, 0, 1, 2]),
    st.sampled_from([2, 2, 2, 1, 0]),
)
WORD = re.compile(r"[^\W\d_]{3,}")


def _page(number, rows):
    runs, y = [], 40.0
    for text, size, leading, x, style, joint in rows:
        y += size * leading
        runs.append([text, x, y - size, x + len(text) * size / 2, y + 2, y, size, style, joint])
    chars = sum(len(row[0]) for row in rows)
    message = {"page": number, "runs": runs, "styles": STYLES, "chars": chars, "hidden": {}}
    return page_of({**message, "size": [612, 820]})


# Pages of headings alone, small and large, of the kind of which one lost its last word on an older version.
ABSTRACTS = [("Abstract", size, 1.2, 60, 0, 2) for size in (6, 60, 6, 6, 60, 6)]


@settings(max_examples=200)
@example([[*ABSTRACTS, ("2 Method", 6, 1.2, 60, 0, 2)]], "")
@example([[*ABSTRACTS, ("2 Method", 60, 2.5, 60, 1, 0)]], "Owls")
@given(
    st.lists(st.lists(ROWS, max_size=25), min_size=1, max_size=4), st.sampled_from(["", "Owls", "Ada; Ben"])
)
def test_every_word_goes_somewhere(rows, stated):
    pages = [_page(number, some) for number, some in enumerate(rows, 1)]
    held = {word for some in rows for row in some for word in WORD.findall(row[0])}
    found = read_pages(pages, {"Title": stated, "Author": stated})
    texts = [found.title, found.abstract, found.front, *found.heads, *found.turned, *found.authors]
    texts += [text for section in found.sections for text in (section.heading, section.text)]
    texts += [entry.raw for entry in found.references]
    kept = "".join(c for text in texts for c in text if c.isalpha())
    # Headings of parts that have a place of their own.
    assert [word for word in held - {"Abstract", "ABSTRACT", "References"} if word not in kept] == []
