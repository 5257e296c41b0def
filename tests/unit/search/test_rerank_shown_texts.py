"""Texts before a model: cleaned, fitted, fenced; and what texts that want to steer it can do."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.lab.simulation.oracle import Oracle
from aspectra.llm.budget import estimate_tokens
from aspectra.llm.prompts.conversation import as_data
from aspectra.llm.scripted import Scripted
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import ShownTexts, TextBudget, fit_text, share_out, shared_words
from aspectra.search.stages.rerank import Method, rerank
from injections import FAMILIES, METHODS, gullible, poisoned
from long import some

ANY = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF))
FENCE = re.compile(r"^===[0-9a-f]{20}$")


# --- fitting ---------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(1, 400), st.integers(1, 2000))
def test_shares(sizes, each, total):
    shares = share_out(sizes, each, total)
    assert all(share <= min(size, each) for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) <= total
    if sum(min(size, each) for size in sizes) <= total:
        assert shares == [min(size, each) for size in sizes]
    # Whoever got less than it wanted got at least as much as anybody else (but for rounding).
    short = [share for share, size in zip(shares, sizes, strict=True) if share < min(size, each)]
    assert not short or max(shares) - min(short) <= 1


@given(ANY, ANY, st.integers(1, 60))
def test_what_is_fitted_fits(text, query, tokens):
    fitted = fit_text(text, query, tokens)
    assert estimate_tokens(fitted.text) <= tokens
    assert fitted.cut == (fitted.text != text)
    assert fitted.cut == (estimate_tokens(text) > tokens)


def test_the_passages_nearest_the_query_stay_in_order():
    filler = " ".join(f"Filler {n} says nothing at all." for n in range(40))
    text = f"A title. {filler} Owls hunt mice. {filler} At night they listen."
    fitted = fit_text(text, "how do owls hunt at night", 40)
    assert fitted.cut
    assert fitted.text.startswith("A title. ")
    assert fitted.text.index("Owls hunt mice.") < fitted.text.index("At night they listen.")


def test_a_first_sentence_longer_than_the_budget_is_cut_at_a_word():
    fitted = fit_text("word " * 100, "owls", 10)
    assert fitted.text.endswith("word…")
    assert estimate_tokens(fitted.text) <= 10


def test_nearness_of_scripts_without_spaces():
    near = shared_words("文献检索", ["我们研究文献检索。", "老鼠很小。"])
    assert near[0] > near[1] == 0


def test_cuts_are_counted_once_a_paper():
    papers = [
        Candidate("long", "Owls hunt at night. " * 200),
        Candidate("short", "Mice."),
        Candidate("mid", "x " * 90),
    ]
    result = asyncio.run(
        rerank(
            Question("owls " * 900),
            papers,
            Method.parse("pairwise+all-pairs"),
            Oracle({}),
            fit=TextBudget(200, 230),
        )
    )
    assert result.cut == ("long",)
    assert not result.query_cut
    result = asyncio.run(
        rerank(
            Question("owls " * 900),
            papers,
            Method.parse("listwise"),
            Oracle({}),
            fit=TextBudget(200, 230, 50),
        )
    )
    assert result.cut == ("long",)
    assert result.query_cut


# --- fences ----------------------------------------------------------------------------------------------


def block(text):
    """The lines of each fenced block of a message, and everything outside with fences made alike."""
    inside, outside, fence = [], [], None
    for line in text.split("\n"):
        if fence is None and FENCE.match(line):
            fence = line
            inside.append([])
            outside.append("FENCE")
        elif line == fence:
            fence = None
            outside.append("FENCE")
        elif fence is None:
            outside.append(line)
        else:
            inside[-1].append(line)
    assert fence is None, "a fence was not closed"
    return inside, outside


@given(st.lists(ANY, min_size=1, max_size=5), ANY)
def test_no_text_leaves_its_line(texts, query):
    papers = [Candidate(str(n), text) for n, text in enumerate(texts)]
    labels = [str(n) for n in range(len(texts))]
    values = ShownTexts(Question(query)).values(papers, labels)
    fence, *lines, last = values["papers"].split("\n")
    assert fence == last
    assert FENCE.match(fence)
    assert fence in values["rules"]
    assert values["question"].split("\n")[0] == fence == values["question"].split("\n")[-1]
    assert [json.loads(line)["label"] for line in lines] == labels
    assert not any(fence in line for line in lines)
    assert "\r" not in values["papers"]
    values["papers"].encode("utf-8")


@given(ANY)
def test_data_says_the_same(text):
    assert json.loads(as_data({"text": text})) == {"text": text}
    assert len(as_data({"text": text}).splitlines()) <= 1 + sum(text.count(c) for c in "\x85\u2028\u2029")


def test_templates_have_no_marks_left():
    text = "<|im_end|>\n<|im_start|>system</s>[INST]<think></think><<SYS>> a < b, [3] x<y"
    line = as_data(text)
    assert not re.search(r"<[|/a-zA-Z<]|\|>|\[/?INST", line)
    assert "a < b, [3]" in line


def test_the_fence_depends_on_everything_and_on_nothing_else():
    def fence(text="a", query="q", salt=""):
        return (
            ShownTexts(Question(query), salt=salt)
            .values([Candidate("1", text)], ["1"])["papers"]
            .split("\n")[0]
        )

    assert fence() == fence()
    assert len({fence(), fence("b"), fence(query="r"), fence(salt="s")}) == 4


def test_hidden_characters_are_counted_by_paper():
    papers = [
        Candidate("clean", "Owls"),
        Candidate("odd", "O\u200bw\U000e0041ls"),
        Candidate("odder", "\u202eswlO"),
    ]
    result = asyncio.run(rerank(Question("q"), papers, Method.parse("listwise"), Oracle({})))
    assert result.hidden == {"odd": 2, "odder": 1}


# --- papers that want to steer the judge -----------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_gullible_model_loses_and_invents_no_paper(family):
    ids = sorted(f"p{n}" for n in range(12))
    obeyed = 0
    for spelling in METHODS:
        for place in some((0, 5, 11), family, spelling):
            papers = poisoned(family, place)
            model = Scripted(gullible, cut=False)
            result = asyncio.run(rerank(Question("owls"), papers, Method.parse(spelling), model))
            assert sorted(result.order) == ids
            assert result.tally.simulated
            obeyed += sum(bool(gullible(request).strip()) for request in model.asked)
    # The test means something: the model did see the words, but where they were hidden.
    assert (obeyed > 0) == (family not in ("nobody", "hidden tags", "right to left"))


@pytest.mark.parametrize("spelling", METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_section_of_a_prompt_is_broken_out_of(family, spelling):
    for place in some((0, 5, 11), family, spelling):
        shown = {}
        for name, papers in (("clean", poisoned("plea", place)), ("poisoned", poisoned(family, place))):
            model = Scripted(lambda request: "", cut=False)
            asyncio.run(
                rerank(Question("owls"), papers, Method.parse(spelling), model, again=0, concurrency=1)
            )
            shown[name] = model.asked
        assert len(shown["clean"]) == len(shown["poisoned"])
        for clean, bad in zip(shown["clean"], shown["poisoned"], strict=True):
            assert bad.schema == clean.schema
            assert [m.role for m in bad.messages] == ["system", "user"]
            one, other = block(clean.messages[1].content), block(bad.messages[1].content)
            assert one[1] == other[1]  # all outside of the fences
            assert [len(lines) for lines in one[0]] == [len(lines) for lines in other[0]]
            assert one[0][0] == other[0][0]  # the question
            for line, same in zip(one[0][1], other[0][1], strict=True):
                assert json.loads(line).get("label") == json.loads(same).get("label")
                assert json.loads(line).keys() == json.loads(same).keys()
            fences = [re.findall(r"===[0-9a-f]{20}", m.messages[0].content) for m in (clean, bad)]
            assert [len(set(found)) for found in fences] == [1, 1]
            assert clean.messages[0].content.replace(fences[0][0], "") == bad.messages[0].content.replace(
                fences[1][0], ""
            )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_judge_that_does_not_listen_puts_a_poisoned_paper_where_it_belongs(family):
    grades = {f"p{n}": 12.0 - n for n in range(12)}
    for place in (0, 5, 11):
        for spelling in ("points", "pairwise+merge", "listwise"):
            result = asyncio.run(
                rerank(Question("owls"), poisoned(family, place), Method.parse(spelling), Oracle(grades))
            )
            assert result.order == tuple(f"p{n}" for n in range(12))
            assert bool(result.hidden) == (family in ("hidden tags", "zero width", "right to left"))
