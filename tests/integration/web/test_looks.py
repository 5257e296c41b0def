"""Every state of Ask and of a paper: accessible, in light and dark, on paper and 320 pixels wide."""

from __future__ import annotations

import pytest

SEED = "{seed}"
STATES = {
    "home": "/",
    "results": "/?text=language+models+not+surveys+about+cats+since+2019",
    "limits": "/?text=language+models+since+2019&edit=1&venues=ACL&same=evaluation+protocol",
    "similar": f"/?seeds={SEED}&same=method&different=background&since=2018",
    "nothing": "/?text=language+models&since=2100",
    "weak": "/?text=sourdough+bread+baking+temperature",
    "above": "/?text=language+models&above=15",
    "second page": "/?text=language+models&page=2&limit=5",
    "by year": "/?text=language+models&sort=year",
    "unknown seed": "/?seeds=tourrank",
    "wrong year": "/?text=owls&since=soon",
    "why higher": f"/why?text=language+models&paper={SEED}",
    "why absent": f"/why?text=language+models&since=2100&paper={SEED}",
    "criteria": f"/criteria?seeds={SEED}&same=method&different=background&since=2018",
    "no criteria": "/criteria?text=language+models",
    "map": f"/map?seeds={SEED}&same=method",
    "paper": f"/paper/{SEED}",
    "suggestions": "/suggest?q=language",
    "keys": "/keys",
    "no such page": "/no-such-page",
    "token": "/token",
}


@pytest.fixture(scope="module")
def addresses(served):
    seed = served.library.search("rank documents with a language model", limit=1).ids[0]
    served.library.marks.decide("include", served.library.search("language models", limit=1).ids[0])
    served.library.marks.tag(seed, add=["to read"])
    served.library.marks.note(seed, "compare with ours", quote="one sentence")
    return {name: path.replace(SEED, seed) for name, path in STATES.items()}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(served, browse, accessible, addresses, state):
    accessible(browse(served, addresses[state], axe=True).page, [*STATES].index(state))


@pytest.mark.parametrize("state", ["home", "results", "similar", "paper", "criteria"])
def test_targets_are_at_least_24_pixels_or_apart(served, browse, addresses, state):
    page = browse(served, addresses[state]).page
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea, summary, .remove, .pager a')]
            .filter(one => one.checkVisibility() && !one.matches('[type=hidden], .unseen'))
            .map(one => [one.outerHTML.slice(0, 90), (one.closest('label') || one).getBoundingClientRect()])
            .filter(([_, box]) => box.width < 24 || box.height < 24).map(([text]) => text)"""
    )
    assert small == []


def test_at_four_times_the_size_all_of_it_is_there(served, browse, addresses):
    page = browse(served, addresses["similar"], width=320, height=256).page
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator(".hits > li").count() == 10


def test_the_dialog_of_keys_is_accessible(served, browse, violations):
    page = browse(served, "/", axe=True).page
    page.click("[data-keys]")
    page.wait_for_selector("dialog[open] h1")
    assert violations(page) == []


def test_paper_prints_without_forms_and_navigation(served, browse, addresses):
    page = browse(served, addresses["results"]).page
    page.emulate_media(media="print")
    assert not page.is_visible("header.top")
    assert not page.is_visible("#ask")
    assert not page.is_visible(".hits [data-choose]")
    assert page.is_visible(".hits .title")


@pytest.mark.parametrize(
    "name", ["sort", "page", "above", "method", "term-method", "more-method", "id", "edit"]
)
def test_parameters_of_the_page_itself_are_only_text(served, name):
    for text in ("</title><script>alert(1)</script>", "\u202e'\"><b onload=x>", "\x00", "{{ 7 * 7 }}"):
        given = {"text": "owls", "method": "same", name: text}
        answer = served.get("/", **given)
        assert answer.status_code in (200, 404, 422)
        assert [raw for raw in ("<script>alert", "<b onload", "\u202e") if raw in answer.text] == []
