"""A method has one spelling; what does not fit is refused with what does; prompts are files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.cross_encoder import Local
from aspectra.search.rerank.judges.prompted import Listwise, Pairwise, ThinkFirst, YesNo
from aspectra.search.rerank.judges.protocol import JUDGES
from aspectra.search.rerank.shown_texts import Prompt, criteria, criterion, rules
from aspectra.search.rerank.sorters.protocol import SORTERS
from aspectra.search.rerank.sorters.sorts import AllPairs, Heapsort, Merge, Single, Tournament, Window
from aspectra.search.stages.rerank import Method, fits

FITS = {
    "yes-no": {"single"},
    "grade": {"single"},
    "points": {"single"},
    "pairwise": {"all-pairs", "bubble", "heapsort", "merge"},
    "listwise": {"all-pairs", "bubble", "heapsort", "merge", "tournament", "window"},
    "think-first": {"all-pairs", "bubble", "heapsort", "merge", "tournament", "window"},
}


LISTED = sorted(set().union(*FITS.values()))


def test_what_fits():
    assert set(FITS) == {name for name in JUDGES if JUDGES.get(name).needs_model}
    for judge, sorters in FITS.items():
        assert {s for s in LISTED if fits(JUDGES.get(judge)(), SORTERS.get(s)())} == sorters


@pytest.mark.parametrize("judge", FITS)
@pytest.mark.parametrize("sorter", LISTED)
def test_a_misfit_is_refused_with_what_fits(judge, sorter):
    spelling = f"{judge}+{sorter}"
    if sorter in FITS[judge]:
        assert str(Method.parse(spelling)) == spelling
        return
    with pytest.raises(UsageError) as caught:
        Method.parse(spelling)
    for name in FITS[judge]:
        assert name in caught.value.hint
    for name, sorters in FITS.items():
        assert (name in caught.value.hint.split(f"with {sorter}:")[1]) == (sorter in sorters)


def test_a_list_must_hold_what_the_sorter_shows():
    with pytest.raises(UsageError, match="does not fit"):
        Method.parse("listwise(width=10)+window")
    with pytest.raises(UsageError, match="does not fit"):
        Method(Listwise(19), Tournament())
    assert Method(Listwise(20), Tournament())


@given(
    st.one_of(
        st.builds(
            Method,
            st.builds(
                Listwise,
                st.integers(20, 26),
                st.sampled_from(["numbers", "letters"]),
                st.booleans(),
                st.integers(0, 9000),
                st.text("abcXYZ019,+()./= -_", max_size=9),
            ),
            st.one_of(
                st.builds(Window, st.integers(11, 20), st.integers(1, 10), st.integers(1, 4)),
                st.builds(Tournament, st.integers(10, 20), st.integers(1, 5), st.integers(0, 99)),
                st.builds(Merge, st.integers(2, 40)),
            ),
        ),
        st.builds(
            Method,
            st.builds(Pairwise, st.integers(0, 99)),
            st.builds(Heapsort, st.integers(1, 99), st.sampled_from(["earlier", "not-greater"])),
        ),
    )
)  # fmt: skip
def test_it_prints_as_it_parses(method):
    assert Method.parse(str(method)) == method


def test_spellings():
    assert Method.parse("listwise") == Method(Listwise(), Window())
    assert Method.parse("pairwise") == Method(Pairwise(), Heapsort())
    assert Method.parse("yes-no(words=true-false)") == Method(YesNo("true-false"), Single())
    assert Method.parse("listwise(width=5)") == Method(Listwise(5), Window(5, 2))
    assert Method.parse(" think-first ( ) + tournament( batch = 10 , top=3)") == Method(
        ThinkFirst(), Tournament(10, 3)
    )
    assert str(Method.parse("listwise(width=20)+window(size=20)")) == "listwise+window"
    assert (
        str(Method.parse('points(prompt_file="a, b+(c).toml")'))
        == 'points(prompt_file="a, b+(c).toml")+single'
    )
    assert str(Method(Pairwise(), AllPairs())) == "pairwise+all-pairs"
    assert str(Method(Local(lambda q, t: [], "mine"), Single())) == "mine+single"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "listwise+",
        "nobody",
        "listwise+nobody",
        "listwise(size=3)",
        "listwise(width=x)",
        "listwise(width=3",
        "listwise width=3",
        "listwise(width)",
        "listwise(width=3,width=4)",
        "listwise(reasons=maybe)",
        "listwise(width=1)",
        "window+listwise",
        "listwise+window+window",
        "local+single",
    ],
)
def test_what_is_no_method(text):
    with pytest.raises(UsageError):
        Method.parse(text)


def test_bounds_and_certainty_are_known_before():
    method = Method.parse("listwise+tournament")
    assert (method.calls(300).low, method.calls(300).high, method.certain(300)) == (19, 19, 4)
    assert Method.parse("pairwise+all-pairs").calls(100).high == 9900


def test_the_page_on_reranking_holds():
    page = (Path(__file__).parents[3] / "docs" / "reranking.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.S)
    exec(compile(code[1], "reranking.md", "exec"), {})
    for name in (*FITS, *LISTED, *criteria()):
        assert f"`{name}" in page
    stated = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d,]+(-[\d,]+)?", cells[4]):
            stated[cells[0]] = cells[4:]
    usual = {"single": "yes-no", "window": "listwise", "tournament": "listwise"}
    assert len(stated) == 8
    for cell, numbers in stated.items():
        sorter = re.match(r"`([a-z-]+)", cell)[1]
        judge = usual.get(sorter, "listwise" if cell == "`merge`, w = 20" else "pairwise")
        for count, said in zip((100, 1000), numbers, strict=True):
            calls = Method.parse(f"{judge}+{sorter}").calls(count)
            ends = [int(part.replace(",", "")) for part in said.split("-")]
            assert (ends[0], ends[-1]) == (calls.low, calls.high), cell


@pytest.mark.parametrize("name", sorted(FITS))
def test_prompts_declare_their_placeholders(name):
    prompt = Prompt.load(name)
    assert {"criterion", "rules", "question", "papers"} <= set(prompt.placeholders)
    assert prompt.stamp.startswith(name + "/")
    assert len(prompt.stamp) == len(name) + 9


def test_values_are_put_in_once():
    prompt = Prompt.parse("x", 'placeholders = ["a", "b"]\nsystem = "{{a}}"\nuser = "{{b}} {{a}}"')
    messages = prompt.messages({"a": "{{b}}", "b": "\\1 {{a}}"})
    assert [m.content for m in messages] == ["{{b}}", "\\1 {{a}} {{b}}"]
    with pytest.raises(UsageError, match="b"):
        prompt.messages({"a": "x"})
    other = Prompt.parse("x", 'placeholders = ["a", "b"]\nsystem = "{{a}}"\nuser = "{{b}}, {{a}}"')
    assert other.stamp != prompt.stamp


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        'placeholders = ["a"]\nsystem = ""\nuser = ""',
        'placeholders = []\nsystem = "{{a}}"\nuser = ""',
        'system = ""',
        'system = ""\nuser = ""\nextra = 1',
        'system = 1\nuser = ""',
    ],
)
def test_bad_prompt_files(text):
    with pytest.raises(UsageError):
        Prompt.parse("x", text)


def test_criteria():
    kinds = {"stance", "failure", "technique", "authorship", "recollection", "background", "method", "result"}
    assert {"relevance", *kinds} == set(criteria())
    assert criterion("relevance") == criteria()["relevance"]
    assert criterion("It fits when it is old.") == "It fits when it is old."
    with pytest.raises(UsageError, match="relevence"):
        criterion("relevence")
    assert "FENCE" in rules("FENCE")
