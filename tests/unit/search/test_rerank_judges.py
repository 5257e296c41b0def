"""What judges ask, and what they make of answers."""

from __future__ import annotations

import asyncio
import math

import pytest

import virtual_clock
from aspectra.base.errors import UsageError
from aspectra.llm.assemble import ModelSettings, build_model, wrap_model
from aspectra.llm.budget import Cost
from aspectra.llm.chat import ContextExceeded, Refused, Reply, Transient, Usage
from aspectra.llm.scripted import Scripted
from aspectra.search.plan import Step
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.cross_encoder import Local
from aspectra.search.rerank.judges.prompted import Grade, Listwise, Pairwise, Points, ThinkFirst, YesNo
from aspectra.search.rerank.judges.protocol import JUDGES, ListJudge, PairJudge, ScoreJudge
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import ShownTexts, TextBudget
from aspectra.search.rerank.sorters.sorts import Single
from aspectra.search.stages.rerank import Method, rerank

# Judges that ask a language model; what the others read is in test_rerank_local_judges.py.
MODELLED = [name for name in JUDGES if JUDGES.get(name).needs_model]
QUESTION = Question("owls at night", "only field studies", ("avoid language=zh",))
PAPERS = [
    Candidate("owl", "Owls hunt at night."),
    Candidate("mouse", "Mice hide."),
    Candidate("tree", "Trees."),
]


def ask(judge, replies, papers=PAPERS, again=0, **options):
    """What a judge gives, the requests it sent, and the asker that counted."""
    model = Scripted(replies, cut=False)
    asker = Asker(model, ShownTexts(QUESTION, **options), again=again)
    if isinstance(judge, ScoreJudge):
        answer = asyncio.run(judge.score(papers, asker))
    elif isinstance(judge, PairJudge):
        answer = asyncio.run(judge.first_wins(papers[0], papers[1], asker))
    else:
        answer = asyncio.run(judge.order(papers, asker))
    return answer, model.asked, asker


def logprobs(**chances):
    return Reply("?", logprobs=tuple((token, math.log(chance)) for token, chance in chances.items()))


def said(request):
    return "\n".join(message.content for message in request.messages)


@pytest.mark.parametrize("name", MODELLED)
def test_every_judge_keeps_its_protocol(name):
    judge = JUDGES.get(name)()
    kind = {"scores": ScoreJudge, "pairs": PairJudge, "lists": ListJudge}[judge.answers]
    assert judge.name == name
    assert isinstance(judge, kind)
    assert judge.needs_model
    assert judge.width >= 1


@pytest.mark.parametrize("name", MODELLED)
def test_every_judge_tells_the_whole_question_and_the_whole_texts(name):
    papers = [Candidate("a", "Owls hunt.", "Proof: they do."), Candidate("b", "Mice hide.")]
    _, asked, _ = ask(JUDGES.get(name)(), lambda request: "nothing", papers)
    whole = "".join(said(request) for request in asked)
    for part in ("owls at night", "only field studies", "avoid language=zh", "Owls hunt.", "Proof: they do."):
        assert part in whole
    assert "{{" not in whole
    for request in asked:
        assert request.prompt.startswith(name + "/")
        assert set(request.subjects) <= {"a", "b"}
        assert not any(paper.id * 5 in said(request) for paper in papers)
        assert request.temperature == 0


@pytest.mark.parametrize("name", MODELLED)
def test_criteria_reach_every_judge(name):
    for criterion, words in (
        ("authorship", "the same hand"),
        ("fits when it is short and old", "short and old"),
    ):
        model = Scripted(lambda request: "nothing")
        question = Question("q", criterion=criterion)
        asyncio.run(rerank(question, PAPERS, Method.parse(name), model))
        assert all(words in request.messages[0].content for request in model.asked)


def test_probability_of_yes_over_all_its_spellings():
    replies = [
        logprobs(**{" Yes": 0.5, "yes": 0.1, "No": 0.15, "▁no": 0.05, "maybe": 0.2}),
        logprobs(yes=0.001, maybe=0.9),
        logprobs(perhaps=0.9),
    ]
    scores, asked, asker = ask(YesNo(), replies)
    assert scores[0] == pytest.approx(0.75)
    assert scores[1] == 1.0
    assert scores[2] is None
    assert asker.defects == {"unreadable": 1}
    assert asked[0].top_logprobs == 20
    assert "yes or no" in said(asked[0])


def test_true_or_false():
    scores, asked, _ = ask(YesNo("true-false"), [logprobs(True_=0.9), logprobs(true=0.3, FALSE=0.6), "True."])
    assert scores == [None, pytest.approx(1 / 3), 1.0]
    assert "true or false" in said(asked[0])
    with pytest.raises(UsageError):
        YesNo("right-wrong")


def test_words_where_there_are_no_log_probabilities():
    scores, _, asker = ask(YesNo(), ["Yes.", "no, it is about mice", "Well"])
    assert scores == [1.0, 0.0, None]
    assert asker.defects == {"no-logprobs": 2, "unreadable": 1}


def test_a_thinking_model_is_not_asked_for_log_probabilities():
    scores, asked, asker = ask(YesNo(thinking=500), ["<think>no?</think>yes"] * 3)
    assert scores == [1.0] * 3
    assert (asked[0].top_logprobs, asked[0].max_tokens) == (0, 504)
    assert asker.defects == {}


def test_grades():
    replies = [logprobs(**{"3": 0.5, "2": 0.5, "x": 0.1}), "2", "7"]
    scores, _, asker = ask(Grade(), replies)
    assert scores == [pytest.approx(2.5), 2.0, None]
    assert asker.defects == {"no-logprobs": 1, "unreadable": 1}
    scores, asked, asker = ask(Grade(expected=False), ["3", "Grade: 1", "0"])
    assert scores == [3.0, 1.0, 0.0]
    assert asked[0].top_logprobs == 0
    assert asker.defects == {}


def test_points():
    scores, asked, _ = ask(Points(), ['{"points": 70}', "40/100", "a lot"])
    assert scores == [70.0, 40.0, None]
    assert asked[0].schema["properties"]["points"]["type"] == "integer"


def test_pairs():
    for reply, expected in (('{"better": "A"}', True), ("B", False), ("both", None)):
        answer, asked, _ = ask(Pairwise(), [reply])
        assert answer is expected
        assert asked[0].subjects == ("owl", "mouse")
        first, second = said(asked[0]).index("Owls hunt"), said(asked[0]).index("Mice hide")
        assert first < second


def test_lists():
    answer, asked, _ = ask(Listwise(), ['{"order": ["3", "1", "9", "3"]}'])
    assert answer == ["tree", "owl", "", "tree"]
    assert asked[0].schema["properties"]["order"]["items"]["enum"] == ["1", "2", "3"]
    answer, asked, _ = ask(Listwise(labels="letters"), ["C > A > B"])
    assert answer == ["tree", "owl", "mouse"]
    assert '"label": "C"' in said(asked[0])
    answer, asked, _ = ask(
        Listwise(reasons=True),
        ['{"order": [{"label": "2", "reason": "like [3]"}, {"label": "1", "reason": ""}]}'],
    )
    assert answer == ["mouse", "owl"]
    assert "reason" in said(asked[0])
    assert asked[0].max_tokens > 200


def test_think_first():
    reply = '{"query_thought": "x", "thoughts": [{"label": "1", "thought": "t"}], "order": ["2", "3", "1"]}'
    answer, asked, _ = ask(ThinkFirst(), [reply])
    assert answer == ["mouse", "tree", "owl"]
    assert list(asked[0].schema["properties"]) == ["query_thought", "thoughts", "order"]
    # Cut off while thinking: the labels of the thoughts are no order.
    answer, _, asker = ask(ThinkFirst(), [Reply(reply[:60], finish="length")])
    assert answer is None
    assert asker.defects == {"unreadable": 1, "cut-off": 1}


REPLIES = {
    "whole": "[1] > [3] > [2]",
    "a label is missing": "[3] > [1]",
    "a label twice": "[1] > [3] > [2] > [1]",
    "cut off": '{"order": ["3"',
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_an_answer_that_was_used_is_not_paid_for_again(tmp_path, reply):
    first, again = run_and_repeat(tmp_path, "listwise", [reply])
    assert first.tally.cost.calls == 1
    assert again.tally.cost.calls == 0
    assert (again.order, again.tally.defects, again.stopped) == (first.order, first.tally.defects, None)


def test_an_answer_that_came_after_an_unreadable_one_is_used_again(tmp_path):
    first, again = run_and_repeat(tmp_path, "listwise", ["hm", "[2] > [3] > [1]"])
    assert first.order == ("mouse", "tree", "owl")
    assert first.tally.cost.calls == 2
    assert again.tally.cost.calls == 0
    assert (again.order, again.tally.defects) == (first.order, first.tally.defects)


def test_an_answer_for_less_text_is_used_again(tmp_path):
    first, again = run_and_repeat(
        tmp_path, "listwise", [ContextExceeded("long"), "hm", "[2] > [3] > [1]"], sends_free=1
    )
    assert first.order == ("mouse", "tree", "owl")
    assert first.tally.defects == {"asked-anew": 1, "context": 1}
    assert (again.order, again.tally.defects) == (first.order, first.tally.defects)


def run_and_repeat(folder, method, script, sends_free=0):
    """Results of a first run, and of one whose model has nothing to say, which is the same offline."""
    papers = [Candidate(p.id, f"{p.text} It was so. It was not so. " * 40) for p in PAPERS]
    held = {"journal": folder / "calls.db", "prices": folder / "none"}

    def judged(model):
        return asyncio.run(rerank(QUESTION, papers, Method.parse(method), model, fit=TextBudget(each=90)))

    with wrap_model(Scripted(script, name="m"), ModelSettings(**held)) as model:
        first = judged(model)
    silent = Scripted([ContextExceeded("long")] * sends_free, name="m")
    with wrap_model(silent, ModelSettings(**held)) as model:
        again = judged(model)
    with build_model(ModelSettings(model="m", offline=True, **held)) as model:
        offline = judged(model)
    assert len(silent.asked) == sends_free
    assert (offline.order, offline.tally, offline.stopped) == (again.order, again.tally, None)
    return first, again


def test_unreadable_answers_are_not_given_again_by_a_journal():
    _, asked, _ = ask(Pairwise(), ["A"])
    assert asked[0].accept(Reply("A"))
    assert not asked[0].accept(Reply("A or B"))
    _, asked, _ = ask(YesNo(), ["yes"] * 3)
    assert asked[0].accept(Reply("no"))
    assert not asked[0].accept(Reply("who knows"))
    _, asked, _ = ask(Listwise(), ["1"])
    assert not asked[0].accept(Reply(""))


def test_impossible_lists():
    for make in (lambda: Listwise(1), lambda: Listwise(27, "letters"), lambda: ThinkFirst(labels="roman")):
        with pytest.raises(UsageError):
            make()


def test_an_unreadable_answer_is_asked_for_anew_as_another_request():
    answer, asked, asker = ask(Pairwise(), ["hm", "B"], again=1)
    assert answer is False
    assert [request.repeat for request in asked] == [0, 1]
    assert asked[0].key != asked[1].key
    assert (asker.questions, asker.cost.calls, asker.bad) == (1, 2, 0)
    assert asker.defects == {"asked-anew": 1}
    answer, _, asker = ask(Pairwise(), ["hm", "hm", "B"], again=1)
    assert answer is None
    assert (asker.questions, asker.cost.calls, asker.bad, asker.unanswered) == (1, 2, 1, 1)


def test_a_context_that_is_too_small_gets_less_text():
    papers = [Candidate("a", "Owls hunt. " * 300), Candidate("b", "Mice hide. " * 300)]
    answer, asked, asker = ask(Pairwise(), [ContextExceeded("full"), ContextExceeded("full"), "A"], papers)
    assert answer is True
    sizes = [len(said(request)) for request in asked]
    assert sizes[0] > 1.5 * sizes[1] > 2 * sizes[2]
    assert asker.defects == {"context": 2}
    answer, asked, asker = ask(Pairwise(), [ContextExceeded("full")] * 9, papers)
    assert answer is None
    assert len(asked) == 3
    assert asker.defects == {"context": 3, "failed": 1}


def test_refusals_and_failures_are_no_answers():
    for step, kind in (
        (Reply("[1] > [2] > [3]", finish="content_filter"), "refused"),
        (Refused("no"), "refused"),
        (Transient("down"), "failed"),
    ):
        answer, asked, asker = ask(Listwise(), [step, "[1] > [2] > [3]"], again=1)
        assert answer is None
        assert len(asked) == 1
        assert asker.defects == {kind: 1}


def test_what_it_cost_is_the_sum_of_all_calls():
    replies = [
        Reply("hm", usage=Usage(10, 1)),
        Transient("x", usage=Usage(5, 0)),
        Reply("B", usage=Usage(20, 2)),
    ]
    _, _, asker = ask(Pairwise(), replies, again=1)
    assert asker.cost == Cost(2, 15, 1, unpriced=2)
    replies = [Reply("B.", usage=Usage(20, 2), finish="length", recorded=True)]
    _, _, asker = ask(Pairwise(), replies)
    assert asker.cost == Cost(recorded=1, recorded_tokens=22)
    assert asker.defects == {"cut-off": 1}


def test_a_prompt_of_ones_own(tmp_path):
    bare, mine = tmp_path / "bare.toml", tmp_path / "mine.toml"
    bare.write_text(
        'placeholders = ["papers", "question"]\nsystem = "Judge."\nuser = "{{question}} {{papers}} A or B?"\n'
    )
    with pytest.raises(UsageError, match="rules"):
        ask(Pairwise(prompt_file=str(bare)), ["A"])
    with pytest.raises(UsageError, match="cannot be read"):
        ask(Pairwise(prompt_file=str(tmp_path / "none.toml")), ["A"])
    text = "{{rules}} {{question}} {{papers}} A or B?"
    mine.write_text(f'placeholders = ["papers", "question", "rules"]\nsystem = "Judge."\nuser = "{text}"\n')
    answer, asked, _ = ask(Pairwise(prompt_file=str(mine)), ["A"])
    assert answer is True
    assert asked[0].messages[0].content == "Judge."
    assert asked[0].prompt.startswith("pairwise/")
    assert asked[0].prompt != ask(Pairwise(), ["A"])[1][0].prompt


def test_a_function_as_a_judge():
    seen = []

    def function(query, texts):
        seen.append((query, list(texts)))
        return [1.0, float("nan"), 3.0]

    papers = [Candidate("a", "A", "proof"), Candidate("b", "B"), Candidate("c", "C")]
    result = asyncio.run(rerank(QUESTION, papers, Method(Local(function, "cross"), Single())))
    assert seen == [("owls at night\nonly field studies\navoid language=zh", ["A\n\nproof", "B", "C"])]
    assert result.order == ("c", "b", "a")
    assert result.scores == (3.0, None, 1.0)
    assert (result.tally.cost.calls, result.tally.questions, result.tally.repairs, result.tally.degraded) == (
        0,
        3,
        1,
        True,
    )
    assert not result.tally.simulated
    assert result.method == "cross+single"
    assert Method(Local(function), Single()).calls(3).high == 0
    with pytest.raises(UsageError, match="2 scores for 3"):
        asyncio.run(rerank(QUESTION, papers, Method(Local(lambda q, t: [1, 2]), Single())))


def test_impossible_askers():
    with pytest.raises(UsageError):
        Asker(None, ShownTexts(QUESTION), concurrency=0)
    with pytest.raises(UsageError):
        TextBudget(each=0)


def test_the_money_of_a_stage_is_what_was_charged(tmp_path):
    """Failures that cost and failures that do not, refusals, repeats and recorded answers."""

    def script(request):
        count[request.subjects] = number = count.get(request.subjects, 0) + 1
        place = list(count).index(request.subjects)
        if number == 1 and place % 4 == 1:
            return Transient("lost", billable=True, usage=Usage(70 + place, 0))
        if number == 1 and place % 4 == 2:
            return Transient("cut off", billable=True)  # nobody says what it cost
        if number == 1 and place % 4 == 3:
            return Transient("busy", status=429)
        if place % 5 == 4:
            return Refused("no", billable=True, usage=Usage(50, 1))
        return Reply("hm" if number == 1 else "A", usage=Usage(100 + place, 3))

    prices = tmp_path / "prices.toml"
    prices.write_text("[models.m]\ninput = 2.0\noutput = 10.0\n")
    papers = [Candidate(f"p{number}", f"Owls, part {number}.") for number in range(6)]
    for run in (1, 2):
        count: dict = {}
        settings = ModelSettings(model="m", journal=tmp_path / "calls.db", prices=prices)
        with wrap_model(Scripted(script, name="m"), settings) as model:
            judged = rerank(QUESTION, papers, Method.parse("pairwise+all-pairs"), model)
            cost = virtual_clock.run(judged).tally.cost
            paid = model.account.cost
        assert (
            cost.money
            == pytest.approx(paid.money)
            == pytest.approx((2 * paid.prompt_tokens + 10 * paid.completion_tokens) / 1e6)
        )
        assert (cost.calls, cost.tokens, cost.recorded, cost.unpriced) == (
            paid.calls,
            paid.tokens,
            paid.recorded,
            0,
        )
        assert (paid.calls > 30) == (run == 1)
    assert paid.recorded > 15


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        (Reply("\n\nYes", logprobs=(("\n\n", -0.004), ("No", -6.0), ("Yes", -7.0))), 1.0),
        (Reply("3 birds. Answer: No", logprobs=(("3", -0.1), ("Yes", -3.0))), 0.0),
        (Reply("**No**", logprobs=(("No", -0.7), ("Yes", -0.7))), 0.5),
        (Reply("not sure", logprobs=(("Yes", -0.1), ("No", -3.0))), None),
    ],
)
def test_log_probabilities_count_at_the_token_that_answers(reply, score):
    assert YesNo()._read(reply) == (score if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Reply(""), "empty", "1 were empty"),
        (Reply("", facts={"reasoning": True}), "only-reasoning", "in their reasoning alone"),
        (Reply("Let me see", finish="length"), "cut-off", "cut off"),
    ],
)
def test_why_a_reply_could_not_be_read_is_said_with_the_option_that_helps(reply, kind, said):
    answer, _, asker = ask(Pairwise(), [reply])
    assert answer is None
    assert asker.defects[kind] == 1
    warned = Step("rerank", (), asker.tally(degraded=True)).warnings()[-1]
    assert said in warned
    assert "thinking=" in warned
