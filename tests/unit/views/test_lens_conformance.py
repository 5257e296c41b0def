"""What every lens promises. A new lens joins by being a module of the family's package."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.base.values import replace
from aspectra.papers.library.rows import part_sql
from aspectra.papers.paper import Paper, Reference, Section, Sentence, field_text
from aspectra.views.dense.reverse import vector_lens
from aspectra.views.lenses.protocol import (
    LENSES,
    Lens,
    default_lenses,
    found_in_package,
    optional_lenses,
)
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import paper_spans

# Lenses of raw counts; all others grade from 0 to 1.
COUNTS = {"length", "sample"}

EMPTY = [
    Paper("nothing"),
    Paper("spaces", " \t", "\n  \n"),
    Paper("hollow", "", "", sections=(Section("Only a heading", ""), Section("", " "))),
]
PAPERS = [
    Paper("title", "Only a title about owls"),
    Paper("plain", "Owls hunt", "Owls listen for mice. They strike within a second. It is not known why."),
    Paper("chinese", "猫头鹰", "猫头鹰在夜间捕食。它们听得见老鼠的声音。"),
    Paper("german", "", "Die Eule jagt in der Nacht. Sie hört die Maus, und das ist nicht leicht."),
    Paper("stated", "Hiboux", "Le hibou chasse la nuit.", language="fr", venue="Revue", year=2001),
    Paper("code", "ls", "```\nls -l --all | wc -l\n```\n\n- list files\n\n`ls`\n\n# comment\nx = {1: [2]};"),
    Paper(
        "full", "With text", "", sections=(Section("A", "We study owls. " * 300), Section("B", "1\n\n2\n\n"))
    ),
    Paper(
        "marked",
        "Marked sentences",
        "Owls hunt. We count them.",
        sentences=(Sentence(0, 10, "background"), Sentence(11, 25, "method")),
    ),
    Paper("thread", "", "ann wrote: does it work?\nbob wrote: yes!\nann wrote: thanks :)"),
]
HOSTILE = [
    Paper("surrogate", "lone \ud800 surrogate", "and \udfff another.\x00 Nul."),
    Paper("marks", "Z̴̢͊a̷̛͠l̵͝g̸͝o̴̕", "e\u0301" * 50 + "\u202e right to left \u200b\u200d\ufeff"),
    Paper("astral", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🙂", "𠀀𠀁𠀂。👩‍👩‍👧‍👦 İıſẞ ﬁ Ǆ \u2028 line \u2029 paragraph \x85"),
    Paper("signs", "-" * 5000, "`" * 3000 + "{{" * 500 + "[" * 500 + "<" * 500),
    Paper("run", "a" * 20_000, "字" * 20_000),
    Paper("lines", "\n" * 3000, "\r\n\r\n- \r\n" * 500),
    Paper("words", "ab " * 5000, ". ! ? " * 2000),
]
ALL = [*EMPTY, *PAPERS, *HOSTILE]


@pytest.fixture(scope="module", params=LENSES.names())
def lens(request: pytest.FixtureRequest) -> Lens:
    return LENSES.get(request.param)


def _check(lens: Lens, papers: list[Paper]) -> list[np.ndarray]:
    found = lens.apply(papers)
    assert len(found) == len(papers)
    for paper, values in zip(papers, found, strict=True):
        rows = 1 if lens.kind in ("paper", "vector") else len(paper_spans(paper)[2])
        assert values.shape == (rows, len(lens.labels)), paper.id
        assert values.dtype == np.float32
        known = values[~np.isnan(values)]
        assert np.isfinite(known).all(), paper.id
        assert (known >= 0).all(), paper.id
        if lens.name not in COUNTS:
            assert (known <= 1 + 1e-5).all(), paper.id
    return found


def _same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5, equal_nan=True)


def test_what_it_says_of_itself(lens: Lens) -> None:
    assert lens.name in LENSES.names()
    assert LENSES.get(lens.name) is lens
    assert lens.version >= 1
    assert lens.kind in ("paper", "sentence", "vector")
    if lens.kind == "vector":
        assert sum(vector_lens(lens.name).groups) == len(lens.labels)
        assert vector_lens(lens.name).of_text("Owls hunt.").shape == (len(lens.labels),)
    assert isinstance(lens.labels, tuple)
    assert lens.labels
    assert len(set(lens.labels)) == len(lens.labels)
    assert all(part_sql(part) for part in lens.reads)
    assert isinstance(lens.default, bool)
    assert lens.description == lens.description.strip(". \n")
    assert "\n" not in lens.description
    assert lens.description
    assert found_in_package(lens.name)
    assert (type(lens).__doc__ or "").strip()


def test_what_a_new_library_applies() -> None:
    nine = ("artifacts", "audience", "format", "kind", "language", "length", "roles", "sample", "source")
    assert default_lenses() == IndexSettings().lenses == IndexSettings.from_dict({}).lenses == nine
    assert "style" in optional_lenses()
    assert sorted((*nine, *optional_lenses())) == LENSES.names()


def test_a_lens_of_a_callers_module_is_not_found_in_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shout:
        default = False

    monkeypatch.setitem(LENSES._members, "shout", Shout())  # type: ignore[arg-type]
    assert not found_in_package("shout")
    assert "shout" in optional_lenses()


def test_shapes_and_ranges(lens: Lens) -> None:
    _check(lens, ALL)


def test_nothing_in_nothing_out(lens: Lens) -> None:
    assert lens.apply([]) == []


def test_of_nothing_nothing_is_known(lens: Lens) -> None:
    for values in lens.apply(EMPTY):
        assert np.isnan(values).all() or values.size == 0


def test_the_same_again_alone_and_in_any_order(lens: Lens) -> None:
    together = lens.apply(ALL)
    _same(together, lens.apply(ALL))
    _same(together, [lens.apply([paper])[0] for paper in ALL])
    order = random.Random(5).sample(range(len(ALL)), len(ALL))
    _same([together[i] for i in order], lens.apply([ALL[i] for i in order]))


def test_ids_and_metadata_decide_nothing(lens: Lens) -> None:
    _same(lens.apply(PAPERS), lens.apply([paper.with_id(f"other-{i}") for i, paper in enumerate(PAPERS)]))


def test_sections_count_only_where_they_are_said_to(lens: Lens) -> None:
    """The index reads sections only for lenses that declare them."""
    if "sections" in lens.reads or "record" in lens.reads:
        return
    text = "Owls hunt at night. We counted them."
    more = tuple(
        Section("Next", words) for words in ("Mäuse sind nicht da.", "Code: `x`", "Sehr gut. " * 900)
    )
    _same(lens.apply([Paper("x", "Owls", text)]), lens.apply([Paper("x", "Owls", text, sections=more)]))


def test_what_a_lens_does_not_read_changes_nothing(lens: Lens) -> None:
    """Values are stored by what the lens declares: a change of the rest recomputes nothing."""
    if "record" in lens.reads:
        return
    text = "Owls hunt at night. We counted them."
    plain = Paper("x", "Owls", text, sentences=(Sentence(0, 19), Sentence(20, 36)))
    others = {
        "authors": ("Ada Lovelace",),
        "year": 1999,
        "venue": "Stack Overflow",
        "identifiers": {"doi": "10.1/x"},
        "url": "https://en.wikipedia.org/wiki/Owl",
        "language": "de",
        "references": (Reference("Someone. 1900. Owls."),),
        "sentences": (Sentence(0, 19, "method"), Sentence(20, 36, "result")),
        "metadata": {"cited_by_count": 1000, "type": "review"},
    }
    for name, value in others.items():
        if name not in lens.reads:
            _same(lens.apply([plain]), lens.apply([replace(plain, **{name: value})]))


def test_spans_slice_into_the_text(lens: Lens) -> None:
    for paper in ALL:
        for label in lens.labels:
            span = lens.span(paper, label)
            if span is not None:
                text = field_text(paper, span.field)
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end].strip()


@settings(max_examples=40)
@given(st.text(max_size=40), st.text(max_size=300))
def test_any_text_at_all(title: str, abstract: str) -> None:
    paper = Paper("x", title, abstract)
    for name in LENSES.names():
        lens = LENSES.get(name)
        _check(lens, [paper])
        for label in lens.labels:
            span = lens.span(paper, label)
            assert span is None or 0 <= span.start < span.end <= len(field_text(paper, span.field))
