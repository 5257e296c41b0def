"""The trail in the page: go back, share, compare two steps, repeat one exactly, forget."""

from __future__ import annotations

import html
from urllib.parse import parse_qs, urlsplit

import pytest

from aspectra.app.surfaces.service.answering import moves
from aspectra.app.surfaces.service.question import Question
from page_server import titles

ANY = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
FIRST = "/?text=rerank+documents+with+language+models"
SECOND = FIRST + "&since=2023&same=method"


def forget(served):
    return served.post("/trail/clear")


@pytest.fixture
def steps(served):
    """Two steps: a question, and the same with limits."""
    forget(served)
    for path in (FIRST, SECOND):
        assert served.get(path).status_code == 200
    questions = [Question(text="rerank documents with language models", limit=10)]
    questions.append(Question(text=questions[0].text, since="2023", same=("method",)))
    yield [served.library.run(one.plan(served.library)) for one in questions]
    forget(served)


@ANY
def test_steps_are_newest_first_and_lead_back(served, browse, steps, scripts):
    page = browse(served, "/trail", scripts=scripts).page
    heads = [one.strip() for one in page.locator(".steps .title").all_inner_texts()]
    assert heads == [
        "rerank documents with language models, same method",
        "rerank documents with language models",
    ]
    assert page.locator(".steps > li").first.locator(".tag").all_inner_texts() == [
        "year ≥ 2023",
        "same method",
    ]
    assert steps[1].plan.hash in page.inner_text(".steps > li >> nth=0")
    page.click(".steps > li >> nth=0 >> text=Share")
    link = page.locator("#share-2").input_value()
    page.goto(link)
    page.wait_for_selector(".hits")
    assert titles(page) == [" ".join(hit.title.split()) for hit in steps[1]]
    page.goto("/trail")
    assert page.locator(".steps > li").count() == 2  # the same answer again is no new step


def test_the_same_question_again_after_another_is_a_step(served, steps):
    served.get(FIRST)
    text = served.get("/trail").text
    assert all(f'id="step-{number}"' in text for number in (1, 2, 3))


@ANY
def test_two_steps_are_compared_side_by_side(served, browse, steps, scripts):
    page = browse(served, "/trail", scripts=scripts).page
    page.get_by_role("radio", name="A: step 1").check()
    page.get_by_role("radio", name="B: step 2").check()
    page.locator("text=Compare A and B").first.click()
    page.wait_for_selector(".rankings")
    assert parse_qs(urlsplit(page.url).query) == {"a": ["1"], "b": ["2"]}
    rows = page.locator(".rankings tbody tr")
    one, other = (ranking.ids for ranking in steps)
    assert rows.count() == max(len(one), len(other))
    first, second = (served.library.store.get_many(ids) for ids in (one, other))
    told = moves(*_steps(served))
    for n, row in enumerate(rows.all()):
        left, right = row.locator("td").all_inner_texts()
        assert " ".join(first[one[n]].title.split()) in left
        assert ("gone" in left) == (one[n] not in other)
        assert " ".join(second[other[n]].title.split()) in right
        assert right.strip().endswith(f"{told[other[n]].sign} {told[other[n]].said}")
    lines = page.locator(".lines tr")
    assert lines.filter(has_text="[require year=>=2023]").locator(".sign").inner_text() == "+"
    assert page.locator(".lines .removed").count() + page.locator(".lines .added").count() > 1
    facts = {
        row.locator("th").inner_text(): row.inner_text()
        for row in page.locator("tbody tr:has(.verdict)").all()
    }
    assert "same" in facts["index"]
    assert "differs" in facts["plan"]
    assert "differs" in facts["papers and scores"]


def _steps(served):
    from aspectra.app.surfaces.service.answering import Service, Trail

    trail = Trail.of(Service(served.library))
    return trail.get(1), trail.get(2)


def test_repeating_says_that_all_is_the_same_and_adds_no_step(served, steps):
    text = served.get("/trail/2/repeat").text
    assert "Everything is the same" in text
    assert text.count("✗") == 0
    assert 'id="step-3"' not in served.get("/trail").text


def test_repeating_says_what_differs_after_the_library_changed(served, steps):
    served.get(FIRST + "&decided=none")
    first = steps[0].ids[0]
    served.library.marks.decide("exclude", first)
    try:
        text = html.unescape(served.get("/trail/3/repeat").text)
        assert "Not the same: papers, papers and scores" in text
        assert "gone" in text
        served.library.index(rebuild=True)
        text = html.unescape(served.get("/trail/1/repeat").text)
        assert "Not the same: index" in text
        assert "indexed anew" in text
    finally:
        served.library.marks.undo()


@ANY
def test_the_trail_is_forgotten_after_a_question(served, browse, steps, scripts):
    page = browse(served, "/trail", scripts=scripts).page
    page.click("text=forget them")
    assert "2 steps" in page.inner_text("main")
    page.click("text=Keep them")
    page.wait_for_load_state()
    assert page.locator(".steps > li").count() == 2
    page.click("text=forget them")
    page.click("text=Forget 2 steps")
    page.wait_for_selector("text=No steps yet")
    assert page.locator(".steps").count() == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/trail/compare", 422),
        ("/trail/compare?a=1", 422),
        ("/trail/compare?a=1&b=99", 404),
        ("/trail/compare?a=x&b=2", 422),
        ("/trail/99/repeat", 404),
        ("/trail/x/repeat", 422),
        ("/trail/-1/repeat", 404),
        (f"/trail/{'9' * 3000}/repeat", 404),
        ("/trail?page=0", 422),
        ("/trail?page=99", 422),
    ],
)
def test_steps_that_are_not_there(served, steps, path, status):
    assert served.get(path).status_code == status


def test_a_step_whose_paper_or_question_is_gone_is_still_listed(served, steps):
    trail = served_trail(served)
    lines = trail.read_text("utf-8").splitlines()
    broken = (
        lines[-1]
        .replace('["since","2023"]', '["since","soon"],["limit","x"]')
        .replace('"number":2', '"number":7')
    )
    assert broken != lines[-1]
    gone = lines[-1].replace(f'"{steps[1].ids[0]}"', '"no-such-paper"').replace('"number":2', '"number":8')
    trail.write_text("\n".join([*lines, broken, gone, ""]), "utf-8")
    text = served.get("/trail").text
    assert "no-such-paper" in text
    assert 'id="step-7"' in text
    assert served.get("/trail/7/repeat").status_code == 422
    assert served.get("/trail/compare?a=1&b=8").status_code == 200


def served_trail(served):
    from aspectra.app.surfaces.service.answering import Service, Trail

    return Trail.of(Service(served.library)).path


def test_hostile_words_are_text_in_the_trail(served, steps):
    words = "<script>document.title=1</script> \u202eowls {{7*7}}"
    served.get("/", text=words)
    text = served.get("/trail").text
    assert "<script>document.title" not in text
    assert "\u202e" not in text
    assert "{{7*7}}" in html.unescape(text)
