"""Every state of triage, trail, library and jobs: accessible, light and dark, 320 pixels wide."""

from __future__ import annotations

import re
import time
from urllib.parse import urlencode

import pytest

import aspectra
from aspectra.papers.paper import Paper
from hostile_strings import HOSTILE, MARK
from long import LONG
from made_once import copy_of
from page_server import serving

WORDS = "rerank documents with language models"
STATES = {
    "triage": f"/triage?text={WORDS}&same=method&since=2018",
    "triage, decided": f"/triage?text={WORDS}&at={{decided}}",
    "triage, versions": "/triage?at={version}",
    "triage, more like these": f"/triage?text={WORDS}&recipe=guided+|+feedback(decided=yes)&decided=none",
    "triage, end": f"/triage?text={WORDS}&pool=1",
    "triage, skipped": f"/triage?text={WORDS}&pool=2&skip={{skipped}}",
    "triage, library": "/triage",
    "triage, wrong": "/triage?text=owls&pool=x",
    "trail": "/trail",
    "trail, compare": "/trail/compare?a=1&b=2",
    "trail, repeat": "/trail/1/repeat",
    "trail, repeat differs": "/trail/2/repeat",
    "trail, clear": "/trail/clear",
    "library": "/library",
    "library, filtered": "/library?tag=to+read&order=year",
    "library, nothing": "/library?years=1700",
    "library, index": "/library/index",
    "library, flow": "/library/flow",
    "library, skipped": "/library/skipped",
    "library, duplicates": "/library/duplicates",
    "library, saved": "/library/saved",
    "jobs": "/jobs",
    "job, done": "{added}",
    "job, failed": "{failed}",
    "job, waiting": "{waiting}",
}


@pytest.fixture(scope="module")
def furnished(demo_folder, tmp_path_factory):
    """A library in which every state can be seen, and the addresses of these."""
    path = tmp_path_factory.mktemp("furnished") / "demo.lib"
    copy_of(demo_folder, path)
    with serving(path) as running:
        library, marks = running.library, running.library.marks
        ids = library.search(WORDS, limit=12).ids
        library.works.merge(ids[7], ids[8], ids[9])
        marks.decide("include", ids[0], reason="fits", under=WORDS)
        marks.tag(ids[1], ids[2], add=["to read", "a tag that is rather long for a narrow screen"])
        marks.note(ids[0], "compare with ours", quote="one sentence")
        library.saved.save("rankers", {"text": WORDS, "seeds": [], "given": {}})
        marks.undo()  # so that there is something to do again
        for given in ({"text": WORDS}, {"text": WORDS, "decided": "none", "same": "method"}):
            running.get("/", **given)
        marks.redo()
        marks.decide("exclude", ids[1])

        def job(name, body):
            return running.post("/library/add", files={"files": (name, body)}).headers["location"]

        bib = b"@article{a, title={One}}\n@article{b, title = {never closed"
        given = {
            "decided": ids[0],
            "version": ids[7],
            "skipped": library.search(WORDS, limit=2).ids[1],
            "added": job("one.bib", bib),
            "failed": job("two.bib", b"\x00\xff" * 1000),
        }
        many = "".join(
            f"@article{{m{n}, title={{Paper {n}}}, abstract={{{'Words. ' * 50}}}}}\n" for n in range(9999)
        )
        while running.get("/v1" + given["failed"]).json()["state"] in ("waiting", "running"):
            time.sleep(0.05)
        for number in range(3):
            given["waiting"] = job(f"many{number}.bib", many.encode())
        yield running, {name: one.format(**given) for name, one in STATES.items()}


@pytest.mark.parametrize("state", list(reversed(STATES)))  # the job that waits comes first
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(furnished, browse, accessible, state):
    served, addresses = furnished
    accessible(browse(served, addresses[state], axe=True).page, [*STATES].index(state))


@pytest.mark.parametrize("state", ["triage", "triage, end", "trail", "library", "library, filtered"])
def test_targets_are_at_least_24_pixels(furnished, browse, state):
    served, addresses = furnished
    page = browse(served, addresses[state]).page
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea, summary, .remove, .pager a')]
            .filter(one => one.offsetParent && one.type !== 'hidden' && !one.classList.contains('unseen'))
            .map(one => [one.outerHTML.slice(0, 90), (one.closest('label') || one).getBoundingClientRect()])
            .filter(([_, box]) => box.width < 24 || box.height < 24).map(([text]) => text)"""
    )
    assert small == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A library whose marks and saved searches are hostile."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.lib"
    with aspectra.create(path) as made:
        with made.store.writing("add") as writer:
            writer.add(Paper(f"p{n}", f"owls {n}", "Owls hunt.") for n in range(20))
        made.index(encoders=[])
        for n, text in enumerate(HOSTILE[:20]):
            made.marks.tag(f"p{n}", add=[text[:60]])
            made.marks.note(f"p{n}", text, quote=text)
            made.marks.decide("exclude", f"p{n}", reason=text[:100], under=text)
            made.saved.save(text[:90], {"text": text, "seeds": [], "given": {}})
        made.works.merge("p0", "p1")
    with serving(path) as running:
        yield running


def _addresses():
    yield from ("/library", "/library/saved", "/library/duplicates", "/jobs", "/triage?text=owls&pool=20")
    yield from (f"/triage?text=owls&at=p{n}" for n in range(20))
    for name in ("text", "pool", "skip", "at", "same", "tags"):
        yield from (
            f"/triage?{urlencode({'text': 'owls', name: text})}" for text in HOSTILE[: 50 : 4 if LONG else 12]
        )
    for name in ("tag", "decision", "years", "order", "page"):
        yield from (f"/library?{urlencode({name: text})}" for text in HOSTILE[: 50 : 4 if LONG else 12])
    yield from (f"/export?{urlencode({'id': text})}" for text in HOSTILE[: 50 : 4 if LONG else 12])
    yield from ("/trail/1/repeat", "/trail/compare?a=1&b=2", "/trail")


def test_hostile_words_come_out_as_text_and_never_as_an_internal_error(hostile):
    for text in HOSTILE[:2]:
        hostile.get("/", text=f"owls {text}")
    raw = re.compile(rf"<[^<>]*{re.escape(MARK)}|<script>{re.escape(MARK)}|[\x00-\x08\x1b\u202e\u2066]")
    for path in _addresses():
        answer = hostile.get(path)
        assert answer.status_code < 500, path
        assert answer.headers["content-type"].startswith("text/html"), path
        values = re.sub(r"(?:value|href|action|data-say|aria-label|title|hx-get)=\"[^\"]*\"", "", answer.text)
        assert raw.search(values) is None, path
