"""Every state of Ask and of a paper: accessible, light and dark, 320 pixels wide; nothing hostile runs."""

from __future__ import annotations

import html
from urllib.parse import urlencode

import httpx
import pytest

import aspectra
from aspectra.papers.paper import Paper, Sentence
from page_server import serving

SEED = "{seed}"
STATES = {
    "home": "/",
    "results": "/?text=language+models+not+surveys+about+cats+since+2019",
    "limits": "/?text=language+models+since+2019&edit=1&venues=ACL&same=evaluation+protocol",
    "similar": f"/?seeds={SEED}&same=method&different=background&since=2018",
    "nothing": "/?text=language+models&since=2100",
    "weak": "/?text=sourdough+bread+baking+temperature",
    "above": "/?text=language+models&above=1.5",
    "second page": "/?text=language+models&page=2&limit=5",
    "by year": "/?text=language+models&sort=year",
    "unknown seed": "/?seeds=tourrank",
    "wrong year": "/?text=owls&since=soon",
    "why higher": f"/why?text=language+models&paper={SEED}",
    "why absent": f"/why?text=language+models&since=2100&paper={SEED}",
    "criteria": f"/criteria?seeds={SEED}&same=method&different=background&since=2018",
    "no criteria": "/criteria?text=language+models",
    "paper": f"/paper/{SEED}",
    "suggestions": "/suggest?q=language",
    "keys": "/keys",
    "no such page": "/no-such-page",
    "token": "/token",
}
LOOKS = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 320}}

# What must come out as text, in whatever field it comes in.
HOSTILE = [
    "<script>document.title='run'</script>",
    '"><img src=x onerror="document.title=\'run\'">',
    "' onfocus='document.title=1' autofocus x='",
    "</textarea><script>document.title='run'</script>",
    "</option></select><svg onload=document.title='run'>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:document.title='run'",
    "\u202egnissim si siht\u202c",
    "a\x00b\x07c\x1b[31mred",
    '=HYPERLINK("http://x.example")',
    "</title><script>document.title='run'</script>",
    "<a hx-get=/keys hx-trigger=load>x</a>",
    "\ud800 alone",
    "%3Cscript%3Edocument.title=1%3C/script%3E",
]


@pytest.fixture(scope="module")
def addresses(served):
    seed = served.library.search("rank documents with a language model", limit=1).ids[0]
    served.library.marks.decide("include", served.library.search("language models", limit=1).ids[0])
    served.library.marks.tag(seed, add=["to read"])
    served.library.marks.note(seed, "compare with ours", quote="one sentence")
    return {name: path.replace(SEED, seed) for name, path in STATES.items()}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(served, browse, violations, addresses, state, look):
    page = browse(served, addresses[state], axe=True, **LOOKS[look]).page
    assert page.locator("h1").count() == 1
    for part in page.locator("details").all():
        part.evaluate("one => { one.open = true; }")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


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
    assert page.is_visible(".hits .title")


@pytest.fixture(scope="module")
def served_hostile(tmp_path_factory):
    """A library whose papers and marks are hostile in every field."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.lib"
    texts = [one.replace("\ud800", "") for one in HOSTILE]
    papers = [
        Paper(
            f"p{n}/{text[:40]}".replace("\x00", "").replace("\x07", "").replace("\x1b", ""),
            f"owls {text}",
            f"Owls hunt {text} at night. We record owls {text}. {text}",
            (text, "Ada"),
            2000 + n,
            text,
            {"doi": f"10.1/{n}"},
            url=text,
            language="en",
            sentences=(Sentence(0, 9, "method"),) if n % 2 else (),
        )
        for n, text in enumerate(texts)
    ]
    with aspectra.create(path) as made:
        with made.store.writing("add") as writer:
            writer.add(papers)
        made.index(encoders=[])
        for one, text in zip(made.store.ids(), texts, strict=True):
            made.marks.tag(one, add=[text[:60] or "x"])
            made.marks.note(one, text, quote=text)
            made.marks.decide("exclude", one, reason=text[:100], under=text)
    with serving(path) as running:
        yield running


def _hostile_addresses(served):
    out = ["/?text=owls&limit=20&evidence=3", "/criteria?text=owls+since+2001&limit=20", "/"]
    out += ["/paper?" + urlencode({"id": one}) for one in served.library.store.ids()]
    for text in HOSTILE:
        sent = text.encode("utf-8", "replace").decode()
        names = ("text", "seeds", "same", "venues", "conditions", "recipe", "since", "page", "sort", "tags")
        out += [f"/?{urlencode({'text': 'owls', name: sent})}" for name in names]
        out += [f"/suggest?{urlencode({'q': sent})}", f"/why?{urlencode({'text': 'owls', 'paper': sent})}"]
    return out


def test_hostile_texts_are_text(served_hostile, browse):
    watched = browse(served_hostile, "/")
    page = watched.page
    page.on("dialog", lambda _: watched.errors.append("a dialog"))
    for path in _hostile_addresses(served_hostile):
        page.goto(path)
        found = page.evaluate(
            """() => ({
                run: document.title.startsWith('run') || document.title === '1',
                scripts: [...document.scripts].filter(one => !one.src).length,
                strange: document.querySelectorAll('[onerror], [onload], [onfocus], img').length,
                links: [...document.links].filter(one => !['http:', 'https:'].includes(one.protocol)).length,
                triggers: document.querySelectorAll('[hx-trigger=load]').length,
                bidi: /[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008\\u001b]/.test(document.body.innerText),
            })"""
        )
        assert not any(found.values()), (path, found)


def test_hostile_texts_never_fail_and_are_never_raw(served_hostile):
    with httpx.Client(base_url=served_hostile.address, headers={"accept": "text/html"}) as client:
        for path in _hostile_addresses(served_hostile):
            answer = client.get(path)
            assert answer.status_code < 500, (path, answer.text[:300])
            assert "<script>document" not in answer.text
            assert 'onerror="' not in answer.text
            assert "style=" not in html.unescape(answer.text).replace("style sheet", "")
