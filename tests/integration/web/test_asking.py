"""Ask: questions, papers that one knows, what was read, results, decisions; with and without scripts."""

from __future__ import annotations

import csv
import html
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from aspectra.app.surfaces.http.application import application
from aspectra.app.surfaces.service.access import Access, Gate
from aspectra.app.surfaces.service.answering import Service
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import Overloaded
from page_server import titles

ANY = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
WORDS = "dense retrieval of long documents since 2019"


def _found(served, question):
    ranking = served.library.run(question.plan(served.library))
    return [" ".join((hit.title or hit.id).split()) for hit in ranking], ranking


def _asked(page):
    """The question that the address of a page holds."""
    return parse_qs(urlsplit(page.url).query)


@pytest.fixture(scope="module")
def seed(served):
    """A paper of the library with an abstract of several sentences."""
    return served.library.search("rank documents with a language model", limit=1)[0].paper


@ANY
def test_a_question_finds_what_the_library_finds(served, browse, scripts):
    page = browse(served, scripts=scripts).page
    page.fill("#f-text", WORDS)
    page.click("text=Search >> nth=0")
    page.wait_for_selector(".hits")
    assert titles(page) == _found(served, Question(text=WORDS))[0]
    assert _asked(page)["text"] == [WORDS]
    assert page.locator(".understood .tag").first.inner_text().startswith("year ≥ 2019")
    page.reload()
    assert titles(page) == _found(served, Question(text=WORDS))[0]


def test_addresses_are_short_and_the_focus_moves_to_the_papers(served, browse):
    page = browse(served).page
    page.fill("#f-text", "language models")
    page.click("text=Search >> nth=0")
    page.wait_for_selector(".hits")
    assert _asked(page) == {"text": ["language models"]}
    assert page.evaluate("document.activeElement.id") == "results"
    assert page.inner_text("#said") == "10 papers"
    assert page.title().startswith("language models")
    page.go_back()
    page.wait_for_selector(".home")


@ANY
def test_a_paper_that_one_knows_is_found_by_a_part_of_its_title(served, browse, seed, scripts):
    page = browse(served, scripts=scripts).page
    words = " ".join(seed.title.split()[:3])
    if scripts:
        page.locator("#f-seed").press_sequentially(words, delay=5)
    else:
        page.fill("#f-seed", words)
        page.click("text=Search >> nth=0")
        assert "no paper in the library is called" in page.inner_text(".notice")
    box = page.locator(f"#suggested input[value='{seed.id}']")
    box.wait_for()
    if scripts:
        assert page.inner_text("#said").endswith("papers suggested")
    box.check()
    if scripts:
        assert page.locator(f"#seeds input[value='{seed.id}']").is_checked()
        assert page.input_value("#f-seed") == ""
    page.get_by_role("group", name="method").get_by_role("radio", name="same").check()
    page.click("text=Search >> nth=0")
    page.wait_for_selector(".hits")
    wanted, ranking = _found(served, Question(seeds=(seed.id,), same=("method",)))
    assert titles(page) == wanted
    quoted = [e.quote for e in ranking[0].evidence if e.aspect == "method"]
    assert page.locator(".hits > li").first.locator(".aspect-method mark").first.inner_text() in quoted


def test_a_seed_is_given_by_identifier_and_its_id_is_in_links(served, seed):
    text = served.get("/", seeds=seed.title.upper()).text
    assert f"seeds={seed.id}" in text


@ANY
def test_a_tag_is_removed_and_the_others_stay(served, browse, scripts):
    page = browse(served, "/?text=language+models+since+2019&same=method", scripts=scripts).page
    assert page.locator(".understood .tag").count() == 2
    page.locator(".understood .tag", has_text="year").locator(".remove").click()
    page.wait_for_selector(".understood .tags li:first-child:last-child")
    assert page.locator(".understood .tag").all_inner_texts()[0].startswith("same method")
    assert _asked(page)["same"] == ["method"]
    assert "since" not in _asked(page)["text"][0]


def test_what_is_not_applied_is_said_with_the_reason(served):
    text = served.get("/", text="language models not surveys about cats since 2019").text
    assert 'class="tag unapplied"' in text
    assert "a denial of several things at once" in text
    assert "<strong>not applied" not in text  # no warning repeats what the tag says


def test_edit_all_writes_the_limits_into_the_form(served, browse):
    page = browse(served, f"/?text={WORDS.replace(' ', '+')}").page
    page.click("text=Write it all out in the form")
    page.wait_for_selector("details[open] input[name=conditions]")
    assert page.locator("input[name=conditions]").first.input_value() == "require year=>=2019"
    assert page.is_checked("input[name=literal]")
    assert "since" not in page.input_value("#f-text")


@ANY
def test_pages_and_orders(served, browse, scripts):
    page = browse(served, "/?text=language+models&limit=5", scripts=scripts).page
    page.click("text=Next →")
    page.wait_for_selector("h1:has-text('Papers 6 to 10')")
    both = _found(served, Question(text="language models", limit=10))[0]
    assert titles(page) == both[5:]
    page.click("nav[aria-label=Order] >> text=year")
    page.wait_for_selector("h1:has-text('newest first')")
    years = [int(re.search(r"· (\d{4})", one)[1]) for one in page.locator(".hits .byline").all_inner_texts()]
    assert years == sorted(years, reverse=True)


def test_everything_down_to_a_paper(served, browse):
    page = browse(served, "/?text=language+models&limit=5&page=2", scripts=False).page
    page.locator(".hits > li").nth(2).get_by_text("Everything down to here").click()
    assert titles(page) == _found(served, Question(text="language models", limit=8))[0]
    assert all(box.is_checked() for box in page.locator("[data-choose]").all())
    page.select_option("#f-format", "ris")
    with page.expect_download() as got:
        page.click("#chosen >> text=Export")
    assert got.value.path().read_text("utf-8").count("TY  - ") == 8


def test_chosen_papers_become_seeds(served, browse):
    page = browse(served, "/?text=language+models", scripts=False).page
    ids = served.library.search("language models", limit=2).ids
    for number in range(2):
        page.locator("[data-choose]").nth(number).check()
    page.click("#chosen >> text=More like these")
    page.wait_for_load_state()
    assert [box.get_attribute("value") for box in page.locator("#seeds input").all()] == ids
    assert titles(page) == _found(served, Question(seeds=tuple(ids)))[0]


@ANY
def test_a_decision_is_made_beside_a_hit_and_undone(served, browse, scripts):
    page = browse(served, "/?text=language+models", scripts=scripts).page
    first = served.library.search("language models", limit=1).ids[0]
    page.locator(".hits > li").first.get_by_role("button", name="Exclude").click()
    pressed = ".hits > li:first-child button[data-decide=exclude][aria-pressed=true]"
    page.wait_for_selector(pressed)
    if scripts:  # the page names the new step at once
        page.get_by_role("button", name=re.compile("^Undo: exclude")).wait_for()
    assert served.library.marks.of(first)["decision"]["decision"] == "exclude"
    assert served.library.marks.of(first)["decision"]["under"] == "language models"
    if scripts:
        assert page.evaluate("document.activeElement.dataset.decide") == "exclude"
    else:
        page.reload()
    page.goto("/?text=language+models")
    page.get_by_role("button", name=re.compile("^Undo: exclude")).click()
    page.wait_for_selector(".hits > li:first-child button[data-decide=exclude][aria-pressed=false]")
    assert "decision" not in served.library.marks.of(first)
    again = page.get_by_role("button", name=re.compile("^Undo: exclude"))
    assert again.count() == 0  # what is undone is not offered again


def test_undo_takes_the_step_that_is_shown_and_no_other(served):
    ids = served.library.search("language models", limit=2).ids
    marks = served.library.marks
    marks.decide("include", ids[0])
    form = dict(re.findall(r'name="(step|back)" value="([^"]*)"', served.get("/", text="owls").text))
    assert form["step"] == str(marks.read.undoable.number)
    marks.decide("exclude", ids[1])  # in another window
    refused = served.post("/undo", form)
    assert (refused.status_code, "another step" in refused.text) == (422, True)
    assert refused.headers["hx-push-url"] == "false"  # /undo is not an address to reload
    assert "hx-status:4xx" in re.search(r"<form[^>]*/undo[^>]*>", served.get("/triage", text="owls").text)[0]
    assert served.post("/redo", form).status_code == 422
    assert marks.read.decisions().keys() == set(ids)
    served.library.saved.save("owls", {"text": "owls", "seeds": [], "given": {}})
    for path in ("/?text=owls", "/triage?text=owls"):  # what was saved is no decision
        assert 'action="/undo"' not in served.get(path).text
    for _ in range(3):
        marks.undo()
    assert 'action="/redo"' in served.get("/triage?text=owls").text
    assert marks.read.decisions() == {}


def test_a_decision_leaves_what_was_opened_and_chosen(served, browse):
    page = browse(served, "/?text=language+models").page
    first = page.locator(".hits > li").first
    first.locator("[data-why] summary").click()
    first.locator("[data-choose]").check()
    first.get_by_role("button", name="Later").click()
    page.wait_for_selector(".hits > li:first-child button[data-decide=maybe][aria-pressed=true]")
    assert first.locator("[data-choose]").is_checked()
    assert first.locator("[data-why] table").is_visible()
    assert page.evaluate("document.activeElement.dataset.decide") == "maybe"
    first.get_by_role("button", name="Later").click()
    page.wait_for_selector(".hits > li:first-child button[data-decide=maybe][aria-pressed=false]")


def test_keys_move_decide_and_undo_and_do_nothing_in_fields(served, browse):
    page = browse(served, "/?text=language+models").page
    second = served.library.search("language models", limit=2).ids[1]
    for key in "jj":
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.matches('.hits > li:nth-child(2)')")
    page.keyboard.press("i")
    page.wait_for_selector(".hits > li:nth-child(2) button[data-decide=include][aria-pressed=true]")
    page.wait_for_function("document.activeElement.closest('.hits > li:nth-child(2)')")  # after the swap
    page.keyboard.press("c")
    assert page.locator("[data-choose]").nth(1).is_checked()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "f-text"
    page.keyboard.type("jxu?")
    assert page.input_value("#f-text") == "jxu?"
    assert served.library.marks.of(second)["decision"]["decision"] == "include"
    page.goto("/?text=language+models")
    with page.expect_navigation():  # to its load: until the new page's script runs, keys are lost
        page.keyboard.press("u")
    page.wait_for_selector(".hits > li:nth-child(2) button[data-decide=include][aria-pressed=false]")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] h1")
    page.locator("[data-keys-on]").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('.hits')") is None


def _tab_to(page, what):
    """Press Tab until what has the focus; it must be reached."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", what):
            return
    raise AssertionError(f"the keyboard does not reach {what}")


def test_the_whole_path_needs_no_mouse(served, browse):
    page = browse(served).page
    page.keyboard.press("/")
    page.keyboard.type("the same method but another task, not vision, since 2018")
    _tab_to(page, "#f-seed")
    page.keyboard.type("dense passage retrieval for")
    page.wait_for_selector("#suggested input")
    _tab_to(page, "#suggested input")
    page.keyboard.press("Space")
    _tab_to(page, "#ask .primary")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    tags = [one.split(" “")[0] for one in page.locator(".understood .tag > span").all_inner_texts()]
    assert tags == ["same method", "different background", "rather not about vision", "year ≥ 2018"]
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.keyboard.press("i")
    page.wait_for_selector(".hits > li:first-child button[data-decide=include][aria-pressed=true]")
    assert page.locator("[data-choose]").first.is_checked()
    title = titles(page)[0]
    _tab_to(page, "#f-format")
    page.keyboard.type("RIS")
    _tab_to(page, "#chosen button")
    with page.expect_download() as got:
        page.keyboard.press("Enter")
    assert f"TI  - {title}" in got.value.path().read_text("utf-8")
    served.library.marks.undo()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/paper/**")


@ANY
def test_why_a_hit_is_not_higher(served, browse, scripts):
    page = browse(served, "/?text=language+models", scripts=scripts).page
    hit = page.locator(".hits > li").nth(1)
    hit.locator("[data-why] summary").click()
    hit.get_by_text("Why not higher?").click()
    page.wait_for_selector("text=What parts it from number 1")
    assert page.locator("text=abstract@").count()


def test_why_a_paper_is_not_there(served, browse, seed):
    old = served.library.search("language models", until=2018, limit=1)[0].paper
    page = browse(served, "/?text=language+models+since+2019", scripts=False).page
    page.fill("#f-paper", old.title)
    page.click("text=Explain")
    assert page.inner_text("h1") == "Why it is not among the papers"
    assert "breaks [require year=>=2019]" in page.inner_text("main")


def test_why_suggests_papers_where_none_is_called_so(served, seed):
    answer = served.get("/why", text="language models", paper=" ".join(seed.title.split()[:3]))
    assert answer.status_code == 404
    assert f"paper={seed.id}" in html.unescape(answer.text)


def test_an_error_of_a_part_is_shown_and_the_hit_stays(served, browse):
    page = browse(served, "/?text=language+models").page
    with served.library.store.writing("add"):
        page.locator(".hits > li").first.get_by_role("button", name="Include").click()
        page.wait_for_selector("#failed .notice.error", timeout=40_000)
    assert "is being written" in page.inner_text("#failed")
    assert page.locator(".hits > li").count() == 10
    page.locator(".hits > li").first.get_by_role("button", name="Include").click()
    page.wait_for_selector(".hits > li:first-child [aria-pressed=true]")
    assert page.locator("#failed .notice").count() == 0
    served.library.marks.undo()


def test_the_criteria_table_and_its_file_are_of_the_same_papers(served, browse, seed):
    path = f"?seeds={seed.id}&same=method&since=2019&limit=4"
    page = browse(served, "/criteria" + path, scripts=False).page
    heads = page.locator("thead th").all_inner_texts()
    assert heads == ["Paper", "same method", "year ≥ 2019"]
    rows = list(csv.DictReader(io.StringIO(served.get("/criteria.csv" + path).text)))
    shown = [one.strip() for one in page.locator("tbody th a").all_inner_texts()]
    assert [" ".join(row["title"].split()) for row in rows] == shown
    quotes = page.locator("tbody td.aspect-method mark").all_inner_texts()
    assert [
        " ".join(row["same method: quote"].split()) for row in rows if row["same method: quote"]
    ] == quotes


@pytest.mark.parametrize(
    "path", ["text=language+models", "seeds={seed}&same=method", "text=owls&aspect=evaluation+protocol"]
)
def test_the_map_has_the_papers_of_the_ranking_and_their_table(served, browse, seed, path):
    path = path.format(seed=seed.id)
    page = browse(served, "/?" + path.partition("&aspect")[0]).page
    page.get_by_role("link", name="Map").click()
    page.wait_for_url("**/map?*")
    if "aspect" in path:
        page.goto("/map?" + path)
    question = Question.from_parameters(parse_qs(path))
    found = served.library.run(question.plan(served.library).with_limit(50))
    rows = page.locator(".map-table tbody tr")
    shown = [[cell.strip() for cell in row.locator("td.number").all_inner_texts()] for row in rows.all()]
    ranks = [*("S" for _ in question.seeds), *(str(hit.rank) for hit in found)]
    assert [row[0] for row in shown] == ranks
    aspect = {"seeds": "method", "text": "title and abstract"}[path.partition("=")[0]]
    aspect = "evaluation protocol" if "aspect" in path else aspect
    assert page.locator("[aria-label='What is compared'] [aria-current]").inner_text() == aspect
    # The picture says the same, and leads to the rows.
    drawn = page.locator("svg.map a")
    assert sorted(one.strip() for one in drawn.locator("text").all_text_contents()) == sorted(ranks)
    targets = drawn.evaluate_all("all => all.map(one => one.getAttribute('href').slice(1))")
    assert sorted(targets) == sorted(rows.evaluate_all("all => all.map(one => one.id)"))


@pytest.mark.parametrize(
    "path",
    [
        "text=the+same+method+but+another+task,+not+vision,+since+2018&seeds={seed}",
        "seeds={seed}&same=method&same_sentences=2&same_sentences=3&roles=1%3Dbackground",
        "seeds={seed}&same=method&different=result&roles=1%3Dbackground&roles=2%3Dresult",
        "text=language+models+since+2019,+not+surveys&conditions=avoid+venue%3DNature",
    ],
)
def test_each_tag_is_dropped_by_its_own_link_and_the_others_stay(served, seed, path):
    def tags(address):
        answer = served.get(address)
        assert answer.status_code == 200
        found = re.findall(
            r'<a class="remove" href="([^"]*)" aria-label="search without: ([^"]*)"', answer.text
        )
        return {html.unescape(text): html.unescape(link) for link, text in found}

    shown = tags("/?" + path.format(seed=seed.id))
    assert len(shown) > 1
    for text, link in shown.items():
        left = set(shown) - {text}
        if text == "same method" and "different" not in path:  # a corrected role matters for an aspect alone
            left = {one for one in left if "paper is" not in one}
        assert set(tags(link)) == left, text


def test_words_that_were_changed_after_a_tag_was_dropped_are_read_again(served, browse):
    page = browse(served, "/?text=language+models+since+2019,+not+surveys").page
    page.locator(".tags .remove").first.click()
    page.wait_for_url("**literal=true**")
    hint = page.locator("#f-text-hint")
    assert "other words are read again" in hint.inner_text()
    page.locator("#f-text").fill("query expansion since 2022")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url("**query+expansion**")
    assert "literal" not in page.url
    assert page.get_by_text("year ≥ 2022").count()
    page.goto("/?text=language+models+since+2019&literal=true")  # as somebody wants it
    page.locator("#f-text").fill("query expansion since 2022")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url("**query+expansion**")
    assert "literal=true" in page.url
    assert "Taken literally" in hint.inner_text()


def test_behind_the_last_page_there_is_a_way_back(served):
    text = html.unescape(served.get("/", text="language models", since="2022", page="10", limit="20").text)
    assert "There are no further papers" in text
    assert "Remove a limit" not in text


def test_the_examples_of_the_start_page_are_read_right(served):
    text = served.get("/").text
    (links,) = re.findall(r'<ul class="examples.*?</ul>', text, re.S)
    found = [html.unescape(one) for one in re.findall(r'href="([^"]*)"', links)]
    assert len(found) == 3
    for link in found:
        answer = served.get(link)
        assert answer.status_code == 200
        assert "not applied" not in answer.text
    assert "year ≥" in answer.text


def test_a_map_of_too_few_papers_says_so_and_a_wrong_aspect_is_refused(served):
    few = served.get("/map", text="language models", venues="no such venue")
    assert (few.status_code, "There is nothing to draw" in few.text) == (200, True)
    for aspect, said in (("metod", "method"), ("o" * 501, "shorten")):
        wrong = served.get("/map", text="language models", aspect=aspect)
        assert (wrong.status_code, said in wrong.text) == (422, True)


def test_more_like_what_was_included_is_offered_after_a_decision(served):
    assert "More like what I included" not in served.get("/", text="language models").text
    first = served.library.search("language models", limit=1).ids[0]
    served.library.marks.decide("include", first)
    try:
        text = html.unescape(served.get("/", text="language models").text)
        (href,) = re.findall(r'href="([^"]*)">More like what I included', text)
        assert "feedback" in parse_qs(urlsplit(href).query)["recipe"][0]
        assert served.get(href).status_code == 200
    finally:
        served.library.marks.undo()


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"text": "owls", "since": "soon"}, 422, "no year"),
        ({"text": "owls", "recipe": "no-such"}, 422, "no-such"),
        ({"text": "owls", "page": "x"}, 422, "number of a page"),
        ({"text": "owls", "above": "x"}, 422, "number of a paper"),
        ({"seeds": "no such paper"}, 404, "no paper in the library is called"),
        ({"text": "x" * 5000}, 422, "the question cannot be read"),
    ],
)
def test_errors_say_what_and_keep_the_form(served, given, status, said):
    answer = served.get("/", **given)
    assert answer.status_code == status
    assert said in html.unescape(answer.text)
    assert 'id="f-text"' in answer.text


def test_a_refusal_keeps_the_question_and_says_when_to_come_again(served):
    class Full(Gate):
        async def run(self, work, **_):
            error = Overloaded("too many requests are waiting")
            error.retry_after = 7.0
            raise error

    service = Service(served.library)
    app = application(service, Full(), Jobs(served.path, served.path.parent), Access.to("127.0.0.1", 8000))

    client = TestClient(app, base_url="http://127.0.0.1:8000")
    answer = client.get("/", params={"text": "owls & mice"}, headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["retry-after"]) == (Overloaded.http_status, "7")
    assert "owls &amp; mice</textarea>" in answer.text


def test_an_empty_library_and_one_without_index_say_what_comes_next(served_empty, browse):
    page = browse(served_empty, scripts=False).page
    assert page.locator("h2", has_text="This library is empty").count() == 1
    assert served_empty.get("/", text="owls").status_code >= 400


def test_fragments_are_only_the_part_that_is_swapped(served):
    whole = served.get("/", text="language models")
    part = served.client.get("/", params={"text": "language models"}, headers={"hx-request": "true"})
    assert '<header class="top">' in whole.text
    assert '<header class="top">' not in part.text
    assert part.text.startswith("<title>")
    assert part.headers["vary"] == "HX-Request"
