"""Triage: works are decided once, all records together; tags, notes, undo; files of what was decided."""

from __future__ import annotations

import csv
import html
import io
import json
from urllib.parse import parse_qs, urlsplit

import pytest

from aspectra.app.surfaces.service.question import Question
from aspectra.search.query import LIKE_DECIDED

ANY = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
WORDS = "rerank documents with language models"
PATH = f"/triage?text={WORDS.replace(' ', '+')}"


def shown(page):
    return page.locator("[data-paper]").get_attribute("data-paper")


@pytest.fixture
def pool(served):
    """Ids of the ten papers that the question finds first; decisions are gone before and after."""
    marks = served.library.marks

    def forget():
        if decided := list(marks.read.decisions()):
            marks.decide("", *decided)

    forget()
    yield Question(text=WORDS, limit=10).plan(served.library), served.library.search(WORDS, limit=10).ids
    forget()


@pytest.fixture
def ids(pool):
    return pool[1]


@ANY
def test_papers_come_one_after_the_other_until_each_is_decided(served, browse, ids, scripts):
    page = browse(served, f"{PATH}&pool=10", scripts=scripts).page
    marks = served.library.marks
    for number, (one, name) in enumerate(
        zip(ids, ["Include", "Exclude", "Later"] * 3 + ["Include"], strict=True)
    ):
        assert shown(page) == one
        assert page.inner_text(".meter strong") == str(number)
        if name == "Exclude":
            page.fill("#reason", "no method")
        page.get_by_role("button", name=name, exact=False).click()
        page.wait_for_selector(f".meter strong:text-is('{number + 1}')")
    assert page.inner_text(".notice strong") == "All decided"
    assert "4 included · 3 later · 3 excluded" in page.inner_text(".meter")
    made = [marks.of(one)["decision"] for one in ids]
    assert [one["decision"] for one in made] == ["include", "exclude", "maybe"] * 3 + ["include"]
    assert {one["under"] for one in made} == {WORDS}
    assert {one.get("reason") for one in made if one["decision"] == "exclude"} == {"no method"}
    assert page.locator("tbody tr").count() == 10
    page.locator("tbody tr").nth(2).get_by_text("change").click()
    page.get_by_role("button", name="Later").wait_for()
    assert shown(page) == ids[2]
    page.get_by_role("button", name="Later").click()  # takes it back
    page.wait_for_selector(".meter strong:text-is('9')")
    assert shown(page) == ids[2]
    assert marks.reasons() == ["no method"]
    assert page.locator("#reasons option").get_attribute("value") == "no method"


def test_all_records_of_a_work_share_a_decision_that_is_undone_at_once(served, ids):
    marks, works = served.library.marks, served.library.works
    works.merge(ids[0], ids[3], ids[5])
    try:
        text = html.unescape(served.get(f"{PATH}&pool=10").text)
        assert "One decision for 3 records" in text
        answer = served.post("/decide", {"id": ids[3], "decision": "exclude", "reason": "old", "back": PATH})
        assert (answer.status_code, answer.headers["location"]) == (303, PATH)
        decided = marks.read.decisions()
        assert {one: (held.decision, held.reason) for one, held in decided.items()} == {
            ids[n]: ("exclude", "old") for n in (0, 3, 5)
        }
        assert served.post("/undo", {"back": PATH}).status_code == 303
        assert marks.read.decisions() == {}
        assert served.post("/redo", {"back": PATH}).status_code == 303
        assert marks.read.decisions().keys() == decided.keys()
    finally:
        served.post("/undo", {})
        marks.undo()  # the merge


def test_a_tab_that_shows_an_older_decision_does_not_replace_it(served, ids):
    asked = {"id": ids[1], "back": PATH}
    try:
        assert '<input type="hidden" name="was" value="">' in served.get(f"{PATH}&pool=10").text
        for decision, was, status in (("include", "", 303), ("exclude", "", 422), ("include", "", 303)):
            answer = served.post("/decide", asked | {"decision": decision, "was": was})
            assert answer.status_code == status
            assert served.library.marks.read.decisions()[ids[1]].decision == "include"
        assert served.post("/decide", asked | {"decision": "exclude", "was": "include"}).status_code == 303
    finally:
        served.post("/decide", asked | {"decision": ""})


MOVING = f"{PATH}&pool=10&decided=none&recipe=guided+|+feedback(decided=yes)"


@pytest.mark.parametrize("path", [f"{PATH}&pool=10", MOVING, "/triage"])
def test_a_record_that_came_later_is_not_asked_for_again(served, browse, ids, path):
    """The work was decided on before one of its records was known."""
    page = browse(served, path, scripts=False).page
    first = shown(page)
    other = next(one for one in ids[1:] if one != first)
    served.library.marks.decide("include", other)
    served.library.works.merge(other, first)
    try:
        page.reload()
        assert shown(page) not in (first, other)
        if path == MOVING:  # decided under no question; the search leaves the whole work out
            assert "0 of 10 decided" in " ".join(page.inner_text(".meter").split())
    finally:
        served.library.marks.undo()


def test_decided_papers_stay_in_the_count_where_undecided_ones_were_asked_for(served, browse, ids):
    page = browse(served, f"{PATH}&pool=10&decided=none", scripts=False).page
    page.get_by_role("button", name="Include").click()
    assert "1 of 10 decided" in " ".join(page.inner_text(".meter").split())


def test_what_was_skipped_is_in_the_address_and_comes_again(served, browse, ids):
    page = browse(served, f"{PATH}&pool=2", scripts=False).page
    page.click("#skip")
    assert shown(page) == ids[1]
    assert parse_qs(urlsplit(page.url).query)["skip"] == [ids[0]]
    page.get_by_role("button", name="Include").click()
    assert page.inner_text(".notice strong") == "1 skipped"
    page.click("text=Screen them now")
    assert shown(page) == ids[0]


def test_the_library_without_a_question_is_screened_newest_first(served, browse, ids):
    page = browse(served, "/triage", scripts=False).page
    newest = served.library.marks.papers(limit=2).ids
    assert shown(page) == newest[0]
    page.get_by_role("button", name="Exclude").click()
    assert shown(page) == newest[1]
    assert page.inner_text(".meter strong") == "1"
    assert page.inner_text(".meter .number >> nth=1") == str(len(served.library))
    assert urlsplit(page.url).query == ""


def test_more_like_these_searches_with_the_decisions_and_shows_none_of_them(served, browse, ids):
    page = browse(served, f"{PATH}&pool=10", scripts=False).page
    assert page.locator("text=More like these").count() == 0
    page.get_by_role("button", name="Include").click()
    page.get_by_role("button", name="Exclude").click()
    page.click("text=More like these")
    given = parse_qs(urlsplit(page.url).query)
    assert given["recipe"] == [f"guided | {LIKE_DECIDED}"]
    assert given["decided"] == ["none"]
    question = Question(text=WORDS, recipe=given["recipe"][0], decided="none", limit=10)
    expected = served.library.run(question.plan(served.library)).ids
    assert shown(page) == expected[0]
    assert not set(ids[:2]) & set(expected)
    assert "2 of 12 decided" in " ".join(page.inner_text(".meter").split())
    served.library.marks.decide("include", expected[5], under="another question")
    page.get_by_role("button", name="Include").click()
    assert "3 of 13 decided" in " ".join(page.inner_text(".meter").split())


@ANY
def test_tags_and_notes_are_written_beside_the_decision(served, browse, ids, scripts):
    page = browse(served, f"{PATH}&pool=10", scripts=scripts).page
    marks = served.library.marks
    page.fill("#tag-add", "to read, a <b>tag</b>")
    page.get_by_role("button", name="Add", exact=False).first.click()
    page.wait_for_selector(".tag")
    assert marks.of(ids[0])["tags"] == ["a <b>tag</b>", "to read"]
    page.get_by_role("button", name="remove the tag a <b>tag</b>").click()
    page.wait_for_selector(".tag >> nth=1", state="detached")
    page.click("text=Add a note")
    quote = page.locator("#note-quote option").nth(1).get_attribute("value")
    page.select_option("#note-quote", quote)
    page.fill("#note-text", "why <i>not</i>?\nsecond line")
    page.click("text=Save the note")
    page.wait_for_selector(".note")
    (note,) = marks.of(ids[0])["notes"]
    assert (note["text"].splitlines(), note["quote"]) == (["why <i>not</i>?", "second line"], quote)
    assert quote in served.library.show(ids[0]).abstract
    assert shown(page) == ids[0]
    page.click("[aria-label='Remove note 1']")
    page.wait_for_selector(".note", state="detached")
    page.get_by_role("button", name="remove the tag to read").click()
    page.wait_for_selector(".tag", state="detached")
    assert not {"notes", "tags"} & marks.of(ids[0]).keys()


def test_the_whole_path_from_question_to_file_needs_no_mouse(served, browse, ids):
    page = browse(served).page
    keys = page.keyboard

    def tab_to(selector, most=400):
        for _ in range(most):
            keys.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    keys.press("/")
    keys.type(WORDS)
    tab_to("#ask .primary")
    keys.press("Enter")
    page.wait_for_selector(".hits")
    for key in "ji":
        keys.press(key)
    page.wait_for_selector(".hits > li:first-child button[data-decide=include][aria-pressed=true]")
    tab_to("a[href^='/triage?']")
    keys.press("Enter")
    page.wait_for_url("**/triage?**")
    assert shown(page) == ids[1]
    keys.press("r")
    keys.type("not now")
    keys.press("Enter")  # excludes
    page.wait_for_selector(".meter strong:text-is('2')")
    assert page.evaluate("document.activeElement.id") == "results"
    assert page.inner_text("#said").startswith("2 of 50 decided")
    keys.press("u")
    page.wait_for_selector(".meter strong:text-is('1')")
    keys.press("x")
    page.wait_for_selector(".meter strong:text-is('2')")
    keys.press("i")
    page.wait_for_selector(".meter strong:text-is('3')")
    decided = served.library.marks.read.decisions()
    assert [decided[one].decision for one in ids[:3]] == ["include", "exclude", "include"]
    tab_to(".triage-side summary")
    keys.press("Enter")
    tab_to("#export-format")
    keys.type("RIS")
    tab_to("form[action='/export'] button")
    with page.expect_download() as got:
        keys.press("Enter")
    text = got.value.path().read_text("utf-8")
    assert got.value.suggested_filename == "aspectra-included.ris"
    assert text.count("TY  - ") == 2
    assert all(served.library.show(ids[n]).title in text for n in (0, 2))


@pytest.mark.parametrize(
    ("form", "suffix", "kind", "read"),
    [
        ("bibtex", "bib", "application/x-bibtex", lambda text: text.count("\n@") + text.startswith("@")),
        ("ris", "ris", "application/x-research-info-systems", lambda text: text.count("TY  - ")),
        ("csl-json", "json", "application/vnd.citationstyles.csl+json", lambda text: len(json.loads(text))),
        ("csv", "csv", "text/csv; charset=utf-8", lambda text: len(list(csv.DictReader(io.StringIO(text))))),
        ("jsonl", "jsonl", "application/x-ndjson", lambda text: len(text.splitlines())),
    ],
)
def test_files_have_their_type_and_name_and_what_was_named(served, ids, form, suffix, kind, read):
    answer = served.get("/export", id=ids[:3], format=form)
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f'attachment; filename="aspectra-papers.{suffix}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert read(answer.text) == 3
    assert answer.text == served.library.export(ids[:3], form)


def test_files_hold_what_was_decided_with_reasons_and_no_formula(served, ids):
    served.library.marks.decide("exclude", *ids[:2], reason="=HYPERLINK(1)")
    served.library.marks.decide("include", ids[2])
    given = {"format": "csv", "decided": "exclude"}
    rows = list(csv.DictReader(io.StringIO(served.get("/export", **given).text)))
    assert {row["id"] for row in rows} == {*ids[:2]}
    assert {row["reason"] for row in rows} == {"'=HYPERLINK(1)"}
    some = served.post("/export", {"id": ids[1:5], "format": "csv", "decided": "any"}).text
    assert {row["id"] for row in csv.DictReader(io.StringIO(some))} == {ids[1], ids[2]}


@pytest.mark.parametrize(
    ("path", "given", "status", "said"),
    [
        ("/export", {}, 422, "no papers are named"),
        ("/export", {"id": ["x"] * 1 + [f"x{n}" for n in range(500)]}, 422, "501"),
        ("/export", {"id": ["no such paper"]}, 404, "no such paper"),
        ("/export", {"decided": "include", "format": "exe"}, 422, "exe"),
        ("/export", {"decided": "include"}, 422, "no paper is included"),
        ("/export", {"decided": "none"}, 422, "none"),
        ("/triage", {"text": "owls", "pool": "9999"}, 422, "cannot be screened"),
        ("/triage", {"text": "owls", "pool": "٣"}, 422, "cannot be screened"),
        ("/triage", {"text": "owls", "since": "soon"}, 422, "no year"),
        ("/triage", {"at": "no such paper"}, 404, "no such paper"),
    ],
)
def test_addresses_that_mean_nothing_say_so(served, ids, path, given, status, said):
    answer = served.get(path, **given)
    assert answer.status_code == status
    assert said in html.unescape(answer.text)
    assert "attachment" not in answer.headers.get("content-disposition", "")


@pytest.mark.parametrize(
    ("path", "data", "status", "said"),
    [
        ("/decide", {"decision": "include"}, 422, "no paper is named"),
        ("/decide", {"id": "{id}", "decision": "perhaps"}, 422, "there is no decision"),
        ("/decide", {"id": "no such paper", "decision": "include"}, 404, "no such paper"),
        ("/decide", {"id": "{id}", "decision": "include", "reason": "x" * 501}, 422, "characters in reason"),
        ("/tag", {"id": "{id}"}, 422, "no tag is named"),
        ("/tag", {"id": "{id}", "add": "x" * 300}, 422, "tag"),
        ("/note", {"id": "{id}"}, 422, "the note is empty"),
        ("/note", {"text": "x"}, 422, "one paper"),
        ("/note", {"drop": "999999"}, 422, "there is no note"),
        ("/note", {"drop": "-1"}, 422, "there is no note"),
        ("/redo", {}, 422, "undone"),
    ],
)
def test_forms_that_mean_nothing_change_nothing(served, ids, path, data, status, said):
    before = served.library.marks.read.revision
    answer = served.post(path, {k: v.replace("{id}", ids[0]) for k, v in data.items()})
    assert answer.status_code == status
    assert said in html.unescape(answer.text)
    assert served.library.marks.read.revision == before


def test_a_form_that_is_no_form_is_refused(served):
    answer = served.post("/decide", None, **{"content-type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 422
    many = served.post("/decide", {"id": [str(n) for n in range(1001)], "decision": "include"})
    assert many.status_code == 422


@pytest.mark.parametrize(
    "back",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/x\r\nset-cookie: a=b",
        "\x00/",
        "javascript:1",
    ],
)
def test_a_form_leads_to_this_site_alone(served, ids, back):
    answer = served.post("/tag", {"id": ids[0], "add": "x", "back": back})
    assert answer.headers["location"] == "/triage"
    assert "set-cookie" not in answer.headers


def test_forms_of_other_sites_change_nothing(served, ids):
    before = served.library.marks.read.revision
    data = {"id": ids[0], "decision": "include"}
    for headers in (
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
    ):
        assert served.post("/decide", data, **headers).status_code == 403
    assert served.library.marks.read.revision == before
