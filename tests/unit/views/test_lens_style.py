"""The lenses of style and the attributes that grade by them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.build.run import build_index
from aspectra.views.index.opened import Index
from aspectra.views.lenses._cues import cue
from aspectra.views.lenses._lead import asks, layout, lead_batch, lead_text
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

STYLES = ("format", "source", "audience", "kind")


def grades(lens: str, text: str, title: str = "", **record) -> dict[str, float]:
    found = LENSES.get(lens)
    (row,) = found.apply([Paper("x", title, text, **record)])
    return dict(zip(found.labels, row[0].tolist(), strict=True))


def met(lens: str, text: str, title: str = "", **record) -> set[str]:
    return {label for label, grade in grades(lens, text, title, **record).items() if grade >= 0.5}


SNIPPET = (
    "# To pack a folder\ntar -czf out.tgz folder\n\n# To unpack it\ntar -xzf out.tgz\n\n# List\ntar -tf x.tgz"
)
BULLETS = "# pack\n\n- Pack a folder:\n\n`pack -c folder`\n\n- Unpack it:\n\n`pack -x file`\n"
OPTIONS = """NAME
pack - put files together

SYNOPSIS
pack [OPTION]... FILE

OPTIONS
  -c, --create   make a new archive
  -x, --extract  take files out
  -v             say what is done
"""
THREAD = """kettle_kid: my kettle trips the fuse every morning, any ideas?
Nora62: same here last winter, it was limescale on the element.
kettle_kid: descaled it and it works!! thanks all
Nora62: glad to hear it :)"""
NEWS = (
    "OSTFORD, 4 June — The town will close its oldest bridge for repairs, the council said on Tuesday. "
    '"Nobody can drive over it before spring," engineer Una Pell said. Traders called for a ferry.'
)
ABSTRACT = (
    "We measured the thermal conductivity of eleven ceramic coatings between 300 and 900 K. Conductivity "
    "declined significantly with porosity (p < 0.01), whereas grain size had no detectable influence. Our "
    "results suggest that residual porosity, rather than composition, determines performance."
)
BLOG = (
    "I never wanted a greenhouse. My husband did, and so last spring I found myself in the rain with forty "
    "panes of glass and no instructions. I learned a lot, mostly words I can't print here. It's up, and I "
    "love it! How did you build yours? Tell me in the comments, and until next week."
)
ENCYCLOPEDIA = (
    "A mooring is any permanent structure to which a vessel may be secured. Examples include quays and "
    "buoys. The word is also known as berth in older texts."
)
FOUND = {"empirical", "quantitative", "primary"}
RUN = {"experiment", *FOUND}
CASES = [
    ("format", "", SNIPPET, {"code"}),
    ("format", "", BULLETS, {"list"}),
    ("format", "", OPTIONS, {"manual"}),
    ("format", "", "pack\n\n## 语法\n\npack 文件\n\n## 选项\n\n-c：新建\n-x：取出\n", {"manual"}),
    ("format", "", "Q: Why?\nA: Because it is so.\nQ: And then?\nA: It ends.", {"qa"}),
    ("format", "", "问：为什么会响？\n答：因为松了。\n问：怎么办？\n答：拧紧。", {"qa"}),
    ("format", "", "Frage: Wie oft giessen?\nAntwort: Selten.\nFrage: Und im Winter?\nAntwort: Nie.", {"qa"}),
    ("format", "", ABSTRACT, {"prose"}),
    ("format", "", "1. Open the lid.\n2. Pour in the water.\n3. Wait for the light.", {"list"}),
    ("source", "Fuse trips", THREAD, {"forum"}),
    ("source", "Bridge to close", NEWS, {"news"}),
    ("source", "Conductivity of porous coatings", ABSTRACT, {"scholarly"}),
    ("source", "My greenhouse and I", BLOG, {"blog"}),
    ("source", "Mooring", ENCYCLOPEDIA, {"encyclopedia"}),
    (
        "source",
        "HX 4 owner's manual",
        "WARNING: Do not open. Parts must be fitted by your dealer.",
        {"official documentation"},
    ),
    ("audience", "", BLOG, {"lay"}),
    ("audience", "", ABSTRACT, {"expert"}),
    (
        "audience",
        "Worksheet 3: levers",
        "Work through the steps. Homework: explain why it tips.",
        {"student"},
    ),
    (
        "kind",
        "A survey of graph compression",
        "We review the literature and discuss future directions.",
        {"survey"},
    ),
    ("kind", "FOO", "We propose a novel loss. Our method outperforms earlier ones.", {"method", *RUN}),
    ("kind", "A corpus of court letters", "We release a manually annotated corpus.", {"dataset", "primary"}),
    ("kind", "Lower bounds for sorting", "We prove a matching upper bound.", {"theory", "primary"}),
    ("kind", "An empirical comparison of parsers", "We compare nine parsers.", {"evaluation", *FOUND}),
    (
        "kind",
        "Position paper: publish less",
        "We argue that the community should publish less.",
        {"position"},
    ),
]


@pytest.mark.parametrize(("lens", "title", "text", "wanted"), CASES)
def test_clear_cases(lens, title, text, wanted):
    assert met(lens, text, title) == wanted


def test_the_record_speaks_for_the_source():
    plain = "Some neutral words about ropes and sails that could stand anywhere."
    assert met("source", plain) == set()
    assert met("source", plain, identifiers={"doi": "10.1/x"}) == {"scholarly"}
    assert met("source", plain, url="https://forum.example.org/t/12") == {"forum"}


def test_labels_with_a_colon_are_no_thread():
    text = "Material: oak and beech\nFinish: natural oil\nOrigin: northern forests\nWeight: twelve kilograms"
    assert "forum" not in met("source", text)


def test_a_heading_is_no_comment_and_a_numbered_paragraph_no_clause():
    assert [x.kind for x in layout("# Title\n\nWords follow here.").lines] == ["heading", "prose"]
    assert [x.kind for x in layout("# do it\nmake all").lines] == ["comment", "code"]
    assert [x.kind for x in layout("3.1 Wipe it.\n3.2 " + "Long words. " * 30).lines] == ["clause", "prose"]


def test_a_flag_begins_an_option_only_with_its_description():
    assert [x.kind for x in layout("-v, --verbose  say more").lines] == ["option"]
    assert [x.kind for x in layout("--out FILE: where to write").lines] == ["option"]
    assert [x.kind for x in layout("-" * 5000).lines] == []


def test_points_a_and_b_are_items_unless_something_is_asked():
    assert [x.kind for x in layout("A. One thing.\nA: another").lines] == ["item", "item"]
    assert [x.kind for x in layout("Q. What now?\nA. Nothing.").lines] == ["question", "answer"]


def test_a_line_asks_whoever_signs_it():
    assert asks("Will it rain? (B. Ott)")
    assert asks("„Wirklich?“")
    assert not asks("It rains (does it?).")
    assert not asks("")


def test_longer_words_are_harder_and_german_ones_are_not_for_their_length():
    easy = "Every morning the farmer walked down to the river and looked for the boat with his brother."
    german = "Jeden Morgen ging der Bauer hinunter zum Fluss und suchte dort mit seinem Bruder nach dem Boot."
    dense = (
        "Die Wärmeleitfähigkeit keramischer Beschichtungen sinkt mit der Porosität, nicht mit der Korngrösse."
    )
    hard = "Conductivity measurements characterise heterogeneous polycrystalline ceramics under thermal load."
    papers = [Paper("x", "", text) for text in (easy, german, dense, hard, "汉字没有词长" * 20)]
    found = lead_batch(papers).hardness
    assert found[0] < 0
    assert found[1] < 0
    assert found[2] > 0.5
    assert found[3] > 1
    assert found[4] == 0


def test_cues_count_up_to_their_most_and_know_where_they_look():
    reading = lead_text(Paper("x", "Gold rush", "Gold, gold and golden gold. gold!"))
    assert len(cue(1, 3, ["gold"]).places(reading)) == 3
    assert len(cue(1, 9, ["gold"]).places(reading)) == 5
    assert len(cue(1, 9, ["gold*"]).places(reading)) == 6
    assert cue(1, 9, ["gold"], where="title").places(reading) == [(0, 4)]
    assert cue(1, 9, pattern="rush", where="start").places(reading) == []
    assert cue(1, 9, pattern="Gold", where="start").places(reading) == [(10, 14)]
    assert cue(1, 9, pattern="golden", needs=["silver"]).places(reading) == []


@pytest.mark.parametrize(("lens", "title", "text", "wanted"), CASES)
def test_spans_slice_into_the_text(lens, title, text, wanted):
    paper = Paper("x", title, text)
    spans = [LENSES.get(lens).span(paper, label) for label in sorted(wanted)]
    for span in spans:
        if span is not None:
            stored = field_text(paper, span.field)
            assert 0 <= span.start < span.end <= len(stored)
            quote = stored[span.start : span.end]
            assert quote == quote.strip()
    assert any(spans) or lens == "audience"


def test_a_pattern_of_lines_matches_where_they_begin():
    text = "Note: one\n  Note: two, Note: three\n\nNote: four"
    lead = lead_text(Paper("x", "Note: a title", text))
    found = cue(1, 9, pattern=r"\s*Note: \w+", where="line").places(lead)
    assert [lead.text[a:b].strip() for a, b in found] == ["Note: a", "Note: one", "Note: two", "Note: four"]
    assert len(cue(1, 2, pattern=r"\s*Note: \w+", where="line").places(lead)) == 2


CUES = [
    "we",
    "categorise",
    "a spokesman",
    "in vivo",
    "signifikante",
    "hausaufgaben",
    "we introduce several fast methods",
    "unlike this trial",
    "non- ",
    "a survey of",
    "unit",
    "a practical guide",
    "we show that",
    "we propose a new",
    "et al",
    "don't",
    "Usage: x",
    "\nName\n",
    "Re: x",
    "WARNING",
    "said,",
]
CUED = st.lists(st.one_of(st.sampled_from([*CUES, "\n", "问答", "说明书", "übung"]), st.text(max_size=9)))


@pytest.mark.parametrize("lens", STYLES)
@given(texts=st.lists(st.tuples(CUED, CUED), min_size=1, max_size=3))
def test_one_scan_adds_what_the_places_of_each_cue_add(lens, texts):
    table = LENSES.get(lens).table
    batch = lead_batch([Paper("x", " ".join(title), " ".join(text)) for title, text in texts])
    added = table.add_up(batch)
    for label, cues in table.cues.items():
        each = [sum(c.weight * len(c.places(lead)) for c in cues) for lead in batch.leads]
        assert added[label].tolist() == each


def test_a_span_is_the_sentence_with_the_cue():
    paper = Paper("x", "Bridges", "It was built long ago. We propose a new truss. It holds.")
    span = LENSES.get("kind").span(paper, "method")
    assert span is not None
    assert paper.abstract[span.start : span.end] == "We propose a new truss."
    title = LENSES.get("kind").span(Paper("x", "A survey of trusses", "Words."), "survey")
    assert title is not None
    assert title[:2] == ("title", 0)


SIGNS = st.text(st.sampled_from(list("-#*>`:.Qq?Aa1/[(<|=$ \n\t—“”İß“我问答：，。🙂é")), max_size=300)


@pytest.mark.parametrize("lens", STYLES)
@given(title=SIGNS, text=st.one_of(SIGNS, st.text(max_size=300)))
def test_any_text_has_grades_and_sound_spans(lens, title, text):
    member = LENSES.get(lens)
    paper = Paper("x", title, text)
    (row,) = member.apply([paper])
    assert row.shape == (1, len(member.labels))
    assert row.dtype == np.float32
    assert np.isnan(row).all() == (not (title + text).strip())
    assert not np.nan_to_num(row).min() < 0
    assert not np.nan_to_num(row).max() > 1
    for label in member.labels:
        span = member.span(paper, label)
        if span is not None:
            stored = field_text(paper, span.field)
            assert 0 <= span.start < span.end <= len(stored)


@given(SIGNS)
def test_lines_cover_the_text_in_order(text):
    lines = layout(text).lines
    assert all("\n" not in text[x.start : x.end] and text[x.start : x.end].strip() for x in lines)
    assert all(a.end < b.start for a, b in pairwise(lines))


@given(st.lists(st.sampled_from([SNIPPET, ABSTRACT, THREAD, OPTIONS]), max_size=5))
def test_papers_do_not_see_each_other(texts):
    papers = [Paper(str(i), "", text) for i, text in enumerate(texts)]
    for name in STYLES:
        together = LENSES.get(name).apply(papers)
        for paper, row in zip(papers, together, strict=True):
            assert np.array_equal(LENSES.get(name).apply([paper])[0], row, equal_nan=True)


PLACES = [
    Paper("site", "Tying knots", "How to tie one.", url="https://knotpedia.example/wiki/Bowline"),
    Paper("said", "Ropes", "This page first stood on Knotpedia and was moved."),
    Paper("paper", "What people write", "An analysis of Knotpedia edits.", venue="Journal of Ropes"),
    Paper("other", "Sails", "Sails are cloth.", venue="Journal of Ropes"),
    Paper("unknown", "Oars", "Oars are wood."),
    Paper("meta", "Masts", "Masts are long.", metadata={"site": "Knotpedia"}),
    Paper("snippet", "", SNIPPET),
]


@pytest.fixture
def places(tmp_path) -> Index:
    library = Store.create(tmp_path / "library")
    with library.writing("test") as writer:
        writer.add(PLACES)
    encoder = FakeEncoder()
    build_index(
        library, IndexSettings(encoders=("fake",), lenses=("language", *STYLES)), load=lambda _: encoder
    )
    return Index(library, library.generations.current(), load=lambda _: encoder)


def graded(index: Index, attribute: str, value: str) -> dict[str, float]:
    found = ATTRIBUTES.get(attribute).grades(value, index, np.arange(len(index)))
    return dict(zip(index.ids, np.round(found.astype(float), 3).tolist(), strict=True))


def test_a_name_is_found_in_the_record_and_in_the_text(places):
    found = graded(places, "source", "name:Knotpedia")
    promised = 0.45  # the most that a name like a reference work's earns without being found
    assert (found["site"], found["said"], found["meta"]) == (1.0, 0.6, 1.0)
    assert found["paper"] == pytest.approx(0.3, abs=0.01)
    assert all(found[i] < promised for i in ("other", "unknown", "snippet"))


def test_a_name_without_promises_says_nothing_of_papers_without_a_record(places):
    found = graded(places, "source", "name:Oakum & Sons")
    assert found["other"] == 0
    assert np.isnan(found["unknown"])


def test_what_a_name_promises_orders_but_never_meets(places):
    found = graded(places, "source", "name:cheat")
    assert found["snippet"] == max(found.values())
    assert 0.3 < found["snippet"] < 0.5
    assert graded(places, "source", "name:Chinese handbook")["other"] < 0.5


def test_signs_in_names_are_no_patterns(places):
    assert np.nan_to_num(list(graded(places, "source", "name:100%_a").values())).max() == 0


@pytest.mark.parametrize("name", STYLES)
def test_attributes_grade_as_their_lens(places, name):
    attribute = ATTRIBUTES.get(name)
    some = np.array([6, 0, 3])
    for value in LENSES.get(name).labels:
        attribute.check(value)
        grades = attribute.grades(value, places, some)
        if (name, value) not in {("kind", "news"), ("kind", "blog")}:  # what the lens source grades, too
            assert np.array_equal(grades, places.lens(name).column(value)[some], equal_nan=True)
        assert attribute.possible(value, places) is None
    with pytest.raises(UsageError, match=LENSES.get(name).labels[0]):
        attribute.check("nonsense")


def test_a_source_needs_a_kind_or_a_name():
    attribute = ATTRIBUTES.get("source")
    attribute.check("name:Le Monde")
    for value in ("name:", "name: !", "Le Monde", "Blog"):
        with pytest.raises(UsageError):
            attribute.check(value)


def test_spans_of_names_and_of_values(places):
    source = ATTRIBUTES.get("source")
    span = source.span("name:Knotpedia", PLACES[1], places)
    assert PLACES[1].abstract[span.start : span.end] == "Knotpedia"
    span = source.span("name:cheat", PLACES[6], places)
    assert PLACES[6].abstract[span.start : span.end] == "tar -czf out.tgz folder"
    assert source.span("name:Oakum & Sons", PLACES[6], places) is None
    span = ATTRIBUTES.get("format").span("code", PLACES[6], places)
    assert PLACES[6].abstract[span.start : span.end] == "tar -czf out.tgz folder"
