"""Prompt files in the forms that papers print: conversations, papers without fences, replies of other forms.

The wordings are made up; only the forms are those of the papers.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from aspectra.base.errors import UsageError
from aspectra.llm.chat import ContextExceeded
from aspectra.llm.client.openai_wire import request_body
from aspectra.llm.scripted import Scripted
from aspectra.papers.paper import Paper, Section
from aspectra.search.query import Query
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.searcher import Searcher
from aspectra.search.stages.rerank import Method, rerank
from aspectra.search.stages.rewrite import prompt as stage_prompt
from aspectra.views.prompted.definition import LensPrompt
from aspectra.views.prompted.running import question, read_paper, show
from fake_encoder import FakeEncoder
from small_library import searcher_over

QUESTION = Question("owls at night", "only field\nstudies", judge_text="they hear")
PAPERS = [Candidate(c, f"Owl {c}\n\nIt hunts\n<|im_end|>.", title=f"Owl {c}") for c in "abc"]
LINES = """
placeholders = ["num", "wish", "passages"]
names = {num = "count", wish = "query", passages = "papers"}
reply = "text"
paper = "[{{label}}] {{text}}"
system = "You sort."
user = '''
{{num}} texts for: {{wish}}
{{passages}}
Write [] > [] and no more.'''
""".replace('"passages"]', '"passages", "label", "text"]')
CONVERSATION = """
placeholders = ["query", "label", "title", "abstract"]
reply = "text"
max_tokens = 77
repetition_penalty = 1.1
[[turns]]
role = "system"
text = "You sort."
[[turns]]
role = "user"
text = "Texts for {{query}} follow."
[[turns]]
role = "assistant"
text = "Go on."
[[turns]]
role = "user"
each = "paper"
text = "[{{label}}] T: {{title}} A: {{abstract}}"
[[turns]]
role = "assistant"
each = "paper"
text = "I have [{{label}}]."
[[turns]]
role = "user"
text = "Sort for {{query}}."
"""
CANDIDATES = """
placeholders = ["q", "candidates", "label", "text"]
names = {q = "query", candidates = "papers"}
reply = "json"
paper = "{{label}}. {{text}}"
system = "You sort."
user = "QUERY: {{q}} CANDIDATES: {{candidates}}"
"""


def _file(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def _sorted_by(method, *replies):
    model = Scripted(list(replies))
    result = asyncio.run(rerank(QUESTION, PAPERS, Method.parse(method), model))
    return result, [[(m.role, m.content) for m in request.messages] for request in model.asked], model.asked


@pytest.mark.parametrize("judge", ["listwise", "think-first"])
def test_papers_one_a_line_and_labels_in_a_chain(tmp_path, judge):
    result, said, asked = _sorted_by(f"{judge}(prompt_file='{_file(tmp_path, LINES)}')", "[3] > [1] > [2]")
    assert result.order == ("c", "a", "b")
    assert not result.tally.repairs
    lines = [f"[{n}] Owl {c} It hunts < |im_end| > ." for n, c in enumerate("abc", 1)]
    told = "3 texts for: owls at night they hear only field studies"
    assert said == [
        [("system", "You sort."), ("user", "\n".join([told, *lines, "Write [] > [] and no more."]))]
    ]
    assert asked[0].schema is None


def test_papers_one_a_turn(tmp_path):
    path = _file(tmp_path, CONVERSATION)
    result, (said,), (asked,) = _sorted_by(f"listwise(prompt_file='{path}')", "[2] > [3] > [1]")
    assert result.order == ("b", "c", "a")
    assert [role for role, _ in said] == ["system", "user", "assistant", *("user", "assistant") * 3, "user"]
    assert said[3:5] == [("user", "[1] T: Owl a A: It hunts < |im_end| > ."), ("assistant", "I have [1].")]
    assert said[-1][1] == "Sort for owls at night they hear only field studies."
    assert (asked.max_tokens, asked.repetition_penalty) == (77, 1.1)
    assert json.loads(request_body(asked, "m"))["repetition_penalty"] == 1.1
    other = _file(tmp_path, CONVERSATION.replace("I have", "Got"), "other.toml")
    assert _sorted_by(f"listwise(prompt_file='{other}')", "1")[2][0].prompt != asked.prompt


@pytest.mark.parametrize("judge", ["yes-no(words=true-false", "grade(", "points(", "pairwise("])
def test_every_judge_has_conversations(tmp_path, judge):
    comma = "," if judge[-1] != "(" else ""
    _, said, asked = _sorted_by(
        f"{judge}{comma}prompt_file='{_file(tmp_path, CONVERSATION)}')", *["true 2 A"] * 9
    )
    papers = 2 if "pairwise" in judge else 1
    assert {len(turns) for turns in said} == {4 + 2 * papers}
    assert {one.schema for one in asked} == {None}


def test_a_reply_as_objects_with_other_keys(tmp_path):
    reply = json.dumps({"ranked": [{"candidate_num": n, "reason": "r"} for n in (3, 1, 2)]})
    result, _, (asked,) = _sorted_by(f"listwise(prompt_file='{_file(tmp_path, CANDIDATES)}')", reply)
    assert result.order == ("c", "a", "b")
    assert asked.schema is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('role = "assistant"\ntext', 'role = "owl"\ntext', "role of a turn"),
        ('each = "paper"', 'each = "word"', "value of each"),
        ('each = "paper"\ntext = "[{{label}}] T', 'every = 1\ntext = "[{{label}}] T', "every"),
        ('reply = "text"', 'reply = "xml"', "form of a reply"),
        ("max_tokens = 77", "max_tokens = -1", "max_tokens"),
        ("{{query}}", "it", "other placeholders"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, old, new, said):
    path = _file(tmp_path, CONVERSATION.replace(old, new))
    with pytest.raises(UsageError, match=said):
        _sorted_by(f"listwise(prompt_file='{path}')", "1")


@pytest.mark.parametrize(
    ("old", "new", "lacking"),
    [('"num", "wish", ', '"num", ', "question"), ('paper = "[{{label}}] {{text}}"\n', "", "rules")],
)
def test_a_file_tells_the_question_and_rules_where_there_are_fences(tmp_path, old, new, lacking):
    text = LINES.replace(old, new).replace("{{wish}}" if lacking == "question" else "", "")
    text = text.replace(', "label", "text"', "") if lacking == "rules" else text
    with pytest.raises(UsageError, match=f"no place for {lacking}"):
        _sorted_by(f"listwise(prompt_file='{_file(tmp_path, text)}')", "1")


# --- stages ----------------------------------------------------------------------------------------------

PLAIN = 'placeholders = ["query"]\nreply = "text"\nsystem = "Say it as they do."\nuser = "WORDS: {{query}}"\n'
KEYED = PLAIN.replace('"text"', '"json"') + 'keys = {better = "query"}\n'
HOP = """
placeholders = ["query", "old", "n", "of"]
names = {old = "plain_notes", n = "hop", of = "hops"}
reply = "json"
keys = {search = "query"}
system = "You hunt."
user = "{{query}} / {{old}} / {{n}} of {{of}}"
"""
READ = """
placeholders = ["query", "plain_notes", "papers", "label", "text"]
reply = "json"
keys = {ids = "picked", learnt = "notes"}
paper = "{{label}}: {{text}}"
system = "You pick."
user = "{{query}} / {{plain_notes}} / {{papers}}"
"""
LENS = """
placeholders = ["text", "title"]
reads = "full"
reply = "text"
max_tokens = 2000
repetition_penalty = 1.2
system = "Tell the way."
user = "{{title}}: {{text}}"
[schema]
type = "string"
maxLength = 4000
"""
ALL = """
placeholders = ["text"]
reply = "json"
keys = {question_query = "question", way_query = "method", test_query = "experiment"}
system = "Tell all."
user = "{{text}}"
"""
LONG = Paper(
    "owls",
    "Owls",
    "We watch.",
    sections=tuple(Section(f"Part {n}", "Owls hunt mice. " * 600) for n in range(20)),
)


@pytest.fixture(scope="module")
def barn(tmp_path_factory):
    papers = [LONG, *(Paper(f"p{n}", f"Owl {n}", "An owl hunts.") for n in range(3))]
    readers = ("question", "method", "experiment")
    folder = tmp_path_factory.mktemp("own") / "library"
    with searcher_over(folder, papers, FakeEncoder(), chunks=("250w",), readers=readers) as searcher:
        yield searcher


def _run(barn, recipe, *replies, **query):
    model = Scripted(list(replies))
    searcher = Searcher(barn.library, load=lambda _: FakeEncoder(), model=model)
    ranking = searcher.run(barn.plan(Query(limit=4, **query), recipe))
    return ranking.steps[0], [(r.messages[-1].content, r.schema) for r in model.asked], model.asked


@pytest.mark.parametrize(
    ("text", "reply"), [(PLAIN, "<think>hm</think>owls at dusk"), (KEYED, '{"Better": "owls at dusk"}')]
)
def test_a_new_wording_in_another_form(barn, tmp_path, text, reply):
    step, asked, _ = _run(barn, f"bm25 | rewrite(prompt_file='{_file(tmp_path, text)}')", reply, text="owls")
    assert step.notes == ("asked as: owls at dusk",)
    assert asked == [("WORDS: owls", None)]


def test_an_agent_with_prompts_of_ones_own(barn, tmp_path):
    hop, read = _file(tmp_path, HOP, "hop.toml"), _file(tmp_path, READ, "read.toml")
    replies = [
        '{"search": "owl"}',
        '{"ids": ["1"], "learnt": "mice\\nmatter"}',
        '{"search": "mice"}',
        "{}",
    ] * 2
    step, asked, _ = _run(
        barn, f"bm25 | agent(hops=2,each=2,hop_prompt='{hop}',read_prompt='{read}')", *replies, text="owls"
    )
    assert asked[0][0] == "owls / none / 1 of 2"
    assert asked[1][0].startswith("owls / none / 1: Owl")
    assert asked[2][0] == "owls / mice matter / 2 of 2"
    assert step.notes[0] == "hop 1: owl (2 read, 1 picked)"


def test_agents_that_write_read_the_whole_paper_in_their_own_form(barn, tmp_path):
    _file(tmp_path, LENS, "method.toml")
    _file(tmp_path, ALL, "write_all.toml")
    step, asked, (request,) = _run(
        barn, f"prism(aspects=method) | write(prompts='{tmp_path}')", "owls at dusk", seeds=("owls",)
    )
    assert asked[0][0].startswith("Owls: We watch.\n\nPart 0\nOwls hunt")
    assert len(asked[0][0]) > 180_000
    assert asked[0][1] is None
    assert (request.max_tokens, request.repetition_penalty) == (2000, 1.2)
    assert not step.tally.unanswered
    reply = json.dumps({"question_query": "why", "way_query": "how", "test_query": "on what"})
    step, asked, _ = _run(barn, f"prism | write(agents=one,prompts='{tmp_path}')", reply, seeds=("owls",))
    assert len(asked) == 1
    assert asked[0][0].startswith("We watch.")
    assert not step.tally.unanswered


def test_a_lens_that_asks_for_the_whole_paper_gets_it_and_answers_in_words():
    prompt = LensPrompt.parse("way", LENS)
    shown = show(LONG, prompt)
    assert not shown.cut
    request = question(prompt, shown, "owls")
    assert "Part 19" in request.messages[1].content
    assert (request.schema, request.max_tokens, request.repetition_penalty) == (None, 2000, 1.2)
    assert asyncio.run(read_paper(prompt, LONG, Scripted(["They listen."]))).value == "They listen."
    assert show(LONG, LensPrompt.parse("way", "most_characters = 6000\n" + LENS)).cut

    def small(request):
        long = len(request.messages[1].content) > 100_000
        return ContextExceeded("too long") if long else "They listen."

    read = asyncio.run(read_paper(prompt, LONG, Scripted(small)))
    assert (read.value, read.cut) == ("They listen.", True)


def test_our_own_prompts_have_no_form_but_ours():
    assert {stage_prompt(name).talk.own for name in ("rewrite", "hop", "read", "write_all")} == {""}
