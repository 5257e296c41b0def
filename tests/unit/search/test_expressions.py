"""Expressions that are compiled when they are first used give what ``re`` gives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.expressions import HAN, AllOf, AnyOf, Expression
from aspectra.search.instructions.recognisers import bounds, names
from aspectra.search.instructions.recognisers.lexicon import Entry, Lexicon, expand, tokenise

ALL = {
    f"{module.__name__.rsplit('.', 1)[1]}{name}": value
    for module in (bounds, names)
    for name, value in vars(module).items()
    if isinstance(value, Expression)
} | {f"names.{name}": form.expression for name, form in names._FORMS.items()}
PIECES = st.sampled_from(
    "at least two 200 words pages since 2019 cited by Ada Lovelace in Nature ACL the last five years "
    "more than n = 30 patients aged over 65 from MIT University of Delft published 90s decade années 的 论文 "
    "三年 citations et al. (2020) don’t -".split()
)
TEXTS = st.lists(PIECES, max_size=9).map(" ".join)


@given(TEXTS)
def test_a_shorter_form_and_a_part_change_no_match(text):
    for name, one in ALL.items():
        plain = re.compile(one.pattern, one.flags)
        for at in {0, text.find(" ") + 1, text.rfind(" ") + 1}:
            found, expected = one.match(text, at), plain.match(text, at)
            assert (found and (found.span(), found.groups())) == (
                expected and (expected.span(), expected.groups())
            ), name


def test_han_is_taken_out_for_ascii_alone():
    one = Expression(rf"[{HAN}]|[a{HAN}]+|[^\W{HAN}]")
    assert one.match("ab").group() == "a"
    assert one.match("文a").group() == "文"
    assert one.match("b").group() == "b"


def test_a_part_spares_the_rest():
    one = Expression(r"(x\d)+", part=Expression(r"\d"))
    assert one.match("xx") is None
    assert one._ascii is None
    assert one.match("x1x2").group() == "x1x2"
    assert one.match("xx") is None


def test_several_parts_spare_the_rest_and_each_other():
    number = Expression(r"\d")
    one = Expression(r"(x\d)+", part=AllOf(AnyOf(["x"]), number))
    assert one.match("y1") is None
    assert number._ascii is None
    assert one.match("xx") is None
    assert one._ascii is None
    assert one.match("x1x2").group() == "x1x2"


def test_the_methods_are_those_of_re():
    one = Expression("[, ]+")
    assert one.split("a, b c") == ["a", "b", "c"]
    assert one.sub("-", "a, b") == "a-b"
    assert one.findall("a, b c") == [", ", " "]
    assert one.search("ab") is None
    assert one.fullmatch(", ,")
    assert one.whole is one.whole


@pytest.mark.parametrize(
    "phrase",
    ["two words", "state-of-the-art models", "don't know", "l'article", "a - b", "c++", "e.g. this", "“a b”",
     "x2 words", "grand-mère", "论文 a", "d'un l", "it's 'so", "A-B c"],
)  # fmt: skip
def test_phrases_are_cut_as_texts_are(phrase):
    lexicon = Lexicon()
    lexicon.add(phrase, Entry("func"))
    words = [token.low for token in tokenise(phrase)]
    assert [held for held, _ in lexicon.phrases()] == [" ".join(words)]
    assert lexicon.words == set(words)


def test_runs_of_what_may_follow_are_a_choice():
    assert sorted(expand("a( b)( c)( d)")) == ["a", "a b", "a c", "a d"]
    assert expand("plain words") == ["plain words"]


OPTIONAL = ["(s)", "( post)", "( posts)( text)", "(the )", "(some )(other )", "( a)( b)( c)", "({x,y})"]
CHOICES = ["{a,an}", "{ long, short,}", "{new ,old ,}"]
PARTS = st.sampled_from(
    ["blog", "s", " ", " ", "-", "'s", "d'", "12", "3d", "论文", "'ve", ".", *OPTIONAL, *CHOICES]
)


@given(st.lists(PARTS, min_size=1, max_size=7).map("".join))
def test_a_pattern_is_added_part_by_part_as_all_its_phrases(pattern):
    parts, whole = Lexicon(), Lexicon()
    parts.read(f"func = {pattern}")
    for phrase in expand(pattern):
        whole.add(phrase, Entry("func"))
    assert dict(parts.phrases()) == dict(whole.phrases())
    assert parts.words == whole.words


def test_every_listed_name_lets_its_expression_match():
    for kind, listed in names._LISTS.items():
        for name in listed:
            assert names._part(kind).within(f"papers in {name}"), name
    found = {name: names.read_name(f"from {name} only", 0) for name in ("MIT", "Wikipedia", "Elsevier")}
    assert {name: one and one[1].attribute for name, one in found.items()} == {
        "MIT": "affiliation",
        "Wikipedia": "source",
        "Elsevier": "publisher",
    }
