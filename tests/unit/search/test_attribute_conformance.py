"""What every attribute promises. A new attribute joins by an entry in ``VALUES``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import Grader, apply_conditions, conditions_mask, without_data
from aspectra.search.conditions.lists import UserLists
from aspectra.views.build.run import build_index
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

# Attribute -> values that mean something, and values that mean nothing.
VALUES: dict[str, tuple[list[str], list[str]]] = {
    "access": (["open", "fulltext"], ["", "closed"]),
    "affiliation": (["INRIA", "industry", "Chinese universities"], ["", " ", "!!"]),
    "artifacts": (["code", "data", "weights"], ["", "5", "coffee"]),
    "audience": (["lay", "expert", "student", "practitioner"], ["", "5"]),
    "author": (["Lovelace", "same", "Ada Lovelace", "Lovelace, Ada", "Nobody Known"], ["", " ", "!!"]),
    "boolean": (
        ["owl*", "(owl* OR mice) AND NOT zebras", "barn NEAR/2 listen[ab]", '"猫 头 鹰"', "ﬁ OR owl[kw]"],
        ["", " ", "++", "(owl", "owl AND", "owl AND x[la]"],
    ),
    "citations": ([">=50", ">100", "<20", "5..10", "0", "high", "low"], ["", "many", "10..5", ">= -1"]),
    "cites": (["Attention is all you need", "full", "owl", "10.1000/owl"], ["", " ", "!!"]),
    "combination": (
        ["language=en and year=>=2019", "topic=owls and kind=survey", "recency=new and citations=high"],
        ["", "kind=survey", "kind=survey and", "nothing=1 and year=2020", "combination=a and year=2020"],
    ),
    "decided": (["include", "exclude", "maybe", "any", "none", "undecided"], ["", "perhaps"]),
    "format": (["code", "qa", "manual", "prose", "list"], ["", "5"]),
    "keyword": (["owl", "Owls", "--all", "C++", "barn owl", "老鼠", "BERT", "of"], ["", " ", "++"]),
    "kind": (["survey", "method", "dataset", "theory", "rct", "letter", "in vivo"], ["", "5", "RCT2"]),
    "known": (["have", "mine", "listed", "Smith 2019", "owl"], ["", " ", "!!"]),
    "language": (["en", "zh", "zh-Hant", "pt-BR", "sw"], ["", "E", "Chinese language", "12"]),
    "length": (
        ["sentence", "paragraph", "article", "<=200 words", ">=1 minute", "<=8 pages", "short", "long"],
        ["", "5", "<=long"],
    ),
    "method": (["owls", "barn owls or mice", "FSL", "老鼠"], ["", " ", "++", "zinc or ++"]),
    "population": (["mice", "the owls", "barn owls, mice or zebras"], ["", " ", "++"]),
    "publisher": (["ACM", "MDPI"], ["", " ", "!!"]),
    "recency": (["new", "old"], ["", "2020"]),
    "reports": (["mice or zebras", "C++", "--all"], ["", " ", "++"]),
    "sample": ([">200", "<=50", "100", "100..500"], ["", "many", "500..100", ">", "-5"]),
    "source": (["blog", "forum", "news", "scholarly", "name:Owl Weekly"], ["", "5"]),
    "status": (["preprint", "peer-reviewed", "journal", "conference", "Poster", "retracted"], ["", "5"]),
    "tag": (["owl", "to read"], ["", " ", "!!"]),
    "topic": (
        ["owls", "barn owl hunters", "listening for mice", "captura nocturna", "猫头鹰"],
        ["", " ", "++"],
    ),
    "venue": (["Birds", "ACL", "*ir*", "Nowhere"], ["", " ", "!!"]),
    "venue_rank": (["top", "A*", "q1", "impact factor > 5"], ["", "best", "impact factor high"]),
    "year": (
        [">=2020", "<2019", "2018..2021", "2021", ">=now-5", "now"],
        ["", "recent", "2021..2019", ">=21", "now-"],
    ),
}
PAPERS = [
    Paper(
        "owl",
        "Owls hunt",
        "Barn owls listen for mice. Use --all or C++.",
        ("Ada Lovelace",),
        2019,
        "Birds",
        {"doi": "10.1145/owl"},
        references=(Reference("L. Bird. The long title of it. 1990."), Reference(identifiers={"id": "full"})),
        metadata={
            "type": "article-journal",
            "cited_by_count": 7,
            "affiliations": ["Owl GmbH, Germany", "\n"],
        },
    ),
    Paper("zh", "", "猫头鹰在夜间捕食。它们听得见老鼠的声音。", (), 2021, "Proceedings of ACL 2021"),
    Paper(
        "full",
        "Long",
        "",
        ("Bo Li",),
        2023,
        "IR",
        sections=(Section("A", "One owl. " * 300), Section("", "")),
    ),
    Paper("stated", "Bundi", "Bundi huwinda usiku.", ("A. Lovelace",), None, "", language="sw"),
    Paper("title", "Only a title about owls"),
    Paper("nothing"),
    Paper(
        "odd",
        "İıſẞ ﬁ 🙂 𠀀",
        "`" * 300 + "[" * 300 + "\x00e\u0301" * 30,
        ("\u202e",),
        2020,
        "\u200b",
    ),
    Paper("thread", "", "ann wrote: does it work?\nbob wrote: yes!\nann wrote: thanks :)", (), 2018, "Forum"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return opened(tmp_path_factory.mktemp("conformance"), PAPERS)


def opened(folder: Path, papers: list[Paper]) -> Index:
    library = Store.create(folder / "library")
    with library.writing("add") as writer:
        writer.add(papers)
    lenses = IndexSettings().lenses
    assert set(lenses) <= set(LENSES.names())
    encoder = FakeEncoder()
    build_index(
        library, IndexSettings(encoders=("fake",), chunks=("60w",), lenses=lenses), load=lambda _: encoder
    )
    folder = library.generations.current()
    assert folder is not None
    return Index(library, Path(folder), load=lambda _: encoder)


OURS = frozenset(ATTRIBUTES.names())


@pytest.fixture(scope="module", params=sorted(OURS))
def attribute(request: pytest.FixtureRequest) -> Attribute:
    return ATTRIBUTES.get(request.param)


def everyone(index: Index) -> np.ndarray:
    return np.arange(len(index))


def test_every_attribute_is_tested() -> None:
    assert set(VALUES) >= OURS


def test_what_it_says_of_itself(attribute: Attribute) -> None:
    assert ATTRIBUTES.get(attribute.name) is attribute
    assert isinstance(attribute.cheap, bool)
    assert (type(attribute).__doc__ or "").strip()


def test_values_are_checked(attribute: Attribute) -> None:
    good, bad = VALUES[attribute.name]
    for value in good:
        attribute.check(value)
        written = Condition(attribute.name, value, "avoid").spelling
        assert Condition.parse(written) == Condition(attribute.name, value, "avoid")
    for value in bad:
        with pytest.raises(UsageError):
            attribute.check(value)


def test_shapes_and_ranges(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        grades = attribute.grades(value, index, everyone(index))
        assert grades.shape == (len(PAPERS),)
        assert grades.dtype == np.float32
        known = grades[~np.isnan(grades)]
        assert ((known >= 0) & (known <= 1)).all(), value
        assert attribute.grades(value, index, everyone(index)[:0]).shape == (0,)


def test_the_same_again_in_any_order_and_alone(attribute: Attribute, index: Index) -> None:
    order = np.array([5, 2, 7, 0, 2, 1])
    for value in VALUES[attribute.name][0]:
        all_ = attribute.grades(value, index, everyone(index))
        np.testing.assert_array_equal(attribute.grades(value, index, order), all_[order])
        alone = [attribute.grades(value, index, np.array([paper]))[0] for paper in everyone(index)]
        np.testing.assert_array_equal(np.array(alone, np.float32), all_)


def test_require_exclude_and_unknown_cover_all_papers(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        passed = {}
        for relation in ("require", "exclude"):
            asked = [Condition(attribute.name, value, relation)]
            passed[relation] = apply_conditions(Grader(index), asked, everyone(index), 1.0).passed
            mask = conditions_mask(Grader(index), asked)
            assert mask is None or mask[passed[relation]].all(), value
        if without_data(Grader(index), [Condition(attribute.name, value, "require")]):
            assert passed["require"].all(), value
            assert passed["exclude"].all(), value
            continue
        unknown = np.isnan(attribute.grades(value, index, everyone(index)))
        assert (passed["require"] ^ passed["exclude"]).all(), value
        assert not (passed["require"] & unknown).any(), value


def test_it_says_why_nothing_is_known_of_any_paper(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        grades = attribute.grades(value, index, everyone(index))
        unapplied = without_data(Grader(index), [Condition(attribute.name, value, "require")])
        assert bool(unapplied) == bool(np.isnan(grades).all()), value
        assert all(len(why) > 20 for _, why in unapplied)


def test_reasons_are_short_lines(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        for paper in PAPERS:
            said = attribute.reason(value, index.library.get(paper.id), index)
            assert isinstance(said, str)
            assert len(said) < 400
            assert "\n" not in said


def test_bound_values_are_values(attribute: Attribute, index: Index) -> None:
    lists = UserLists({"birds": ("Birds", "IR")}, {"top": ("ACL",)}, {"have": ("owl",), "mine": ("full",)})
    for value in VALUES[attribute.name][0]:
        for seeds in ((), ("owl", "full")):
            bound = attribute.bound(value, seeds, index, lists)
            attribute.check(bound)
            assert attribute.bound(bound, seeds, index, lists) == bound
            assert attribute.grades(bound, index, everyone(index)).shape == (len(PAPERS),)


def test_its_words_are_of_its_values(attribute: Attribute) -> None:
    for language in ("en", "de", "zh"):
        lines = [li for li in attribute.words(language).splitlines() if li[:1].strip() and li[0] != "#"]
        for line in lines:
            attribute.check(line.partition(" =")[0].partition(":")[0].strip())


def test_what_is_impossible_has_grade_zero(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        possible = attribute.possible(value, index)
        if possible is None:
            continue
        assert possible.shape == (len(PAPERS),)
        assert possible.dtype == np.bool_
        grades = attribute.grades(value, index, everyone(index))
        assert (np.nan_to_num(grades[~possible], nan=0.0) == 0).all(), value


def test_spans_slice_into_the_text(attribute: Attribute, index: Index) -> None:
    for value in VALUES[attribute.name][0]:
        for paper in PAPERS:
            whole = index.library.get(paper.id)
            span = attribute.span(value, whole, index)
            if span is not None:
                text = field_text(whole, span.field)
                assert 0 <= span.start < span.end <= len(text)
                assert text[span.start : span.end].strip()
