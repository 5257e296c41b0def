"""The page of a paper: its sentences by role, its terms, its marks, and searches that begin with them."""

from __future__ import annotations

import html
from urllib.parse import parse_qs, urlsplit

import jinja2
import pytest

import aspectra
from aspectra.app.output.papers import sentence_rows
from aspectra.app.surfaces.service.question import Question
from aspectra.app.surfaces.web.viewing import FOLDER
from aspectra.papers.paper import Paper, Section
from page_server import serving, titles


def _found(served, question):
    return [" ".join(hit.title.split()) for hit in served.library.run(question.plan(served.library))]


def _asked(page):
    return parse_qs(urlsplit(page.url).query)


@pytest.fixture(scope="module")
def seed(served):
    """A paper of the library with an abstract of several sentences."""
    return served.library.search("rank documents with a language model", limit=1)[0].paper


def test_a_paper_is_searched_by_sentence_role_and_term(served, browse, seed):
    page = browse(served, f"/paper/{seed.id}", scripts=False).page
    assert page.inner_text("h1") == seed.title
    sentences = page.locator(".sentences > li")
    assert sentences.count() > 2
    sentences.nth(1).locator("input").check()
    page.click("text=Find similar papers")
    asked = _asked(page)
    assert (asked["seeds"], asked["same_sentences"]) == ([seed.id], ["2"])
    assert titles(page) == _found(served, Question(seeds=(seed.id,), same_sentences=(2,)))
    page.goto(f"/paper/{seed.id}")
    sentences.nth(0).locator("select").select_option("1=result")
    page.get_by_role("group", name="result", exact=True).get_by_role("radio", name="same").check()
    page.click("text=Find similar papers")
    question = Question(seeds=(seed.id,), same=("result",), roles=("1=result",))
    assert titles(page) == _found(served, question)
    page.goto(f"/paper/{seed.id}")
    method = page.locator(".aspect.aspect-background")
    terms = [box.get_attribute("value") for box in method.locator("input[type=checkbox]").all()]
    assert len(terms) > 1
    method.get_by_role("radio", name="same").check()
    method.locator("input[type=checkbox]").first.uncheck()
    method.locator(".add").fill("tournament")
    page.click("text=Find similar papers")
    wanted = f"background: {', '.join([*terms[1:], 'tournament'])}"
    assert titles(page) == _found(served, Question(seeds=(seed.id,), same=(wanted,)))


def test_tags_and_notes_are_written_on_the_page_of_a_paper(served, browse, seed):
    page = browse(served, f"/paper/{seed.id}", scripts=False).page
    page.fill("#add-tag", "to read, cited")
    page.click("text=Add tags")
    page.fill("#note", "why <b>not</b>?")
    page.click("text=Add note")
    marks = served.library.marks.of(seed.id)
    assert marks["tags"] == ["cited", "to read"]
    assert page.inner_text(".notes p") == "why <b>not</b>?"
    page.get_by_role("button", name="remove the tag cited").click()
    assert served.library.marks.of(seed.id)["tags"] == ["to read"]
    page.click("text=Remove the note")
    assert "notes" not in served.library.marks.of(seed.id)


def test_marks_of_the_form_are_roles_with_their_names(served, browse, seed):
    page = browse(served, f"/paper/{seed.id}", scripts=False).page
    shown = [one.evaluate("one => one.selectedOptions[0].text") for one in page.locator(".role select").all()]
    assert shown == [row["role"] for row in sentence_rows(served.library, seed)]


STRANGE = ("10.1000/a/b", "a//b", "../up", "a b?c#d&e=f%2F", "ünï", "trailing/")


@pytest.fixture(scope="module")
def served_strange(tmp_path_factory):
    """Papers with strange ids, one with full text; not indexed."""
    path = tmp_path_factory.mktemp("strange") / "strange.lib"
    papers = [Paper(one, f"Owls {n}", "Owls hunt. Mice hide.", year=2000) for n, one in enumerate(STRANGE)]
    sections = (Section("Method", "We listen. " * 600), Section("", "Short."))
    with aspectra.create(path) as made, made.store.writing("add") as writer:
        writer.add([*papers, Paper("full", "A full paper", sections=sections)])
    with serving(path) as running:
        yield running


@pytest.mark.parametrize("name", STRANGE)
def test_every_id_has_an_address(served_strange, browse, name):
    loader = jinja2.FileSystemLoader(FOLDER / "templates")
    macros = jinja2.Environment(loader=loader, autoescape=True)
    macros.filters["plain"] = str
    href = html.unescape(str(macros.get_template("_parts.html").module.paper_href(name)).strip())
    page = browse(served_strange, href, scripts=False).page
    title = f"Owls {STRANGE.index(name)}"
    assert page.inner_text("h1") == title
    page.get_by_role("button", name="Include").click()
    assert page.inner_text("h1") == title
    assert served_strange.library.marks.of(name)["decision"]["decision"] == "include"


def test_long_sections_are_cut_and_it_is_said(served_strange):
    text = served_strange.get("/paper/full").text
    assert "more characters are not shown here" in text
    assert "The index does not know this paper" in text


def test_a_paper_that_is_not_there(served):
    answer = served.get("/paper/no-such")
    assert answer.status_code == 404
    assert "no paper in the library is called" in answer.text
    assert served.get("/paper").status_code == 404
