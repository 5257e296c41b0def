"""500 hostile texts in every field of papers and questions: none is executed, none reaches a page raw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import httpx
import pytest
from lxml import html

import aspectra
from aspectra.papers.paper import Paper, Section
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from hostile_strings import HOSTILE
from long import LONG
from page_server import Served, serving

# Elements and attributes that our templates have; anything else came from a text.
_ELEMENTS = frozenset(
    "html head meta title link script body a header nav main footer div span p h1 h2 h3 h4 h5 ul ol li dl dt "
    "dd form fieldset legend label input textarea select option optgroup datalist button details summary "
    "table caption colgroup col thead tbody tr th td mark q cite blockquote strong em b i small code pre kbd "
    "time meter progress svg rect path g circle text line dialog noscript section article aside hr br output "
    "abbr sup sub figure figcaption".split()
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ADDRESS = ("href", "src", "action", "formaction", "data", "hx-get", "hx-post", "poster", "background")


def _papers() -> Iterator[Paper]:
    for number, text in enumerate(HOSTILE):
        yield Paper(
            f"p{number:03d}",
            f"owls {text}",
            f"Owls hunt at night. {text} We measured {text} on forty nights.",
            (text, f"{text} Strix"),
            2000 + number % 25,
            text,
            {"doi": f"10.1000/{number}"},
            url=text,
            sections=(Section(text, f"Owls again. {text}"),),
            metadata={"keywords": [text], text[:60]: text, "database": text},
        )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A library of them, with hostile tags, notes, reasons and names of searches too."""
    folder = tmp_path_factory.mktemp("hostile") / "hostile.lib"
    with aspectra.create(folder) as made:
        with made.store.writing("add") as writer:
            writer.add(_papers())
        build_index(made.store, IndexSettings(encoders=(), chunks=()))
        for number in range(0, len(HOSTILE), 10):
            text, paper = HOSTILE[number], f"p{number:03d}"
            made.marks.tag(paper, add=[" ".join(text.split())[:50] or "x"])
            made.marks.note(paper, text, quote=text)
            made.marks.decide(
                ("include", "exclude", "maybe")[number % 3], paper, reason=text[:200], under=text
            )
    with serving(folder) as running:
        yield running


def _faults(text: str) -> list[str]:
    """What in a page did not come from our templates."""
    found = []
    page = html.document_fromstring(text)
    for element in page.iter():
        if not isinstance(element.tag, str):  # a comment
            found.append(f"comment {element.text!r}")
            continue
        if element.tag not in _ELEMENTS:
            found.append(f"element {element.tag}")
        for name, value in element.attrib.items():
            if name.startswith("on") or name in ("srcdoc", "style") or name.startswith("hx-on"):
                found.append(f"attribute {name}={value[:60]!r}")
            plain = re.sub(r"[\s\x00-\x20]", "", value).casefold()
            if name in _ADDRESS and plain.startswith(("javascript:", "data:", "vbscript:", "//")):
                found.append(f"address {name}={value[:60]!r}")
        if element.tag == "script" and element.get("src", "").partition("?")[0] not in (
            "/static/htmx.min.js",
            "/static/page.js",
        ):
            found.append("script")
        if element.tag == "base" or (
            element.tag == "link" and not element.get("href", "").startswith("/static/")
        ):
            found.append(f"link {element.get('href')}")
        if element.tag == "meta" and element.get("http-equiv", "").casefold() == "refresh":
            found.append("refresh")
    if controls := _CONTROLS.findall(text):
        found.append(f"control characters {sorted(map(ascii, set(controls)))}")
    return found


def _sound(served: Served, addresses: list[str], **given: Any) -> None:
    """Every address answers with a page of ours."""

    def one(address: str) -> tuple[str, int, list[str]]:
        answer = served.client.get(address, **given)
        return address, answer.status_code, _faults(answer.text)

    with ThreadPoolExecutor(3) as pool:
        for address, status, faults in pool.map(one, addresses):
            assert status < 500, f"{address}: {status}"
            assert faults == [], f"{address}: {faults[:5]}"


def test_there_are_enough_of_them():
    assert len(set(HOSTILE)) >= 500


def test_papers_reach_no_page_raw(hostile):
    pages = [f"/?text=owls&recipe=bm25&limit=100&evidence=3&page={page}" for page in range(1, 6)]
    pages += [f"/?seeds=p{n:03d}&text=owls&limit=20" for n in range(0, 500, 25)]
    pages += [
        f"/criteria?text=owls&conditions=avoid+kind%3Dsurvey&limit=100&page={page}" for page in range(1, 6)
    ]
    pages += [f"/paper/p{number:03d}" for number in range(0, 500, 1 if LONG else 20)]
    pages += [f"/library?page={page}" for page in range(1, 11)]
    pages += [
        "/triage",
        "/triage?text=owls",
        "/trail",
        "/library/skipped",
        "/library/duplicates",
        "/library/flow",
    ]
    pages += [f"/suggest?q={word}" for word in ("owls", "script", "p00", "strix")]
    pages += [f"/why?text=owls&paper=p{number:03d}" for number in range(0, 500, 50)]
    _sound(hostile, pages)


@pytest.mark.parametrize(
    "field",
    [
        "text",
        "seeds",
        "same",
        "different",
        "conditions",
        "venues",
        "authors",
        "languages",
        "tags",
        "since",
        "recipe",
    ],
)
def test_questions_reach_no_page_raw(hostile, field):
    chosen = HOSTILE[:: 1 if LONG else 8 if field == "text" else 25]
    more = {} if field in ("text", "seeds") else {"text": "owls"}
    _sound(hostile, [str(httpx.URL("/", params={field: text, **more})) for text in chosen])


@pytest.mark.parametrize(
    "address", ["/suggest?q=", "/paper/", "/why?text=owls&paper=", "/library?tag=", "/jobs/"]
)
def test_names_reach_no_page_raw(hostile, address):
    from urllib.parse import quote

    _sound(hostile, [address + quote(text, safe="") for text in HOSTILE[:: 5 if LONG else 20]])


def test_titles_reach_no_map_raw(tmp_path, browse):
    with aspectra.create(tmp_path / "mapped.lib") as made:
        with made.store.writing("add") as writer:
            writer.add(islice(_papers(), 0, None, 10))
        build_index(made.store, IndexSettings(chunks=()))
    with serving(tmp_path / "mapped.lib") as running:
        _sound(running, ["/map?text=owls&versions=all", "/map?seeds=p000&aspect=method"])
        opened = browse(running, "/map?text=owls&versions=all")
        assert opened.page.locator("svg.map a").count() == 50
        assert opened.page.evaluate("window.taken") is None


def test_a_browser_executes_none(hostile, browse):
    opened = browse(hostile, "/?text=owls&recipe=bm25&limit=100&evidence=3")
    page = opened.page
    page.on("dialog", lambda dialog: opened.errors.append(f"dialog {dialog.message}"))
    addresses = [f"/?text=owls&recipe=bm25&limit=100&evidence=3&page={n}" for n in range(2, 6)]
    addresses += [f"/criteria?text=owls&conditions=avoid+kind%3Dsurvey&limit=100&page={n}" for n in (1, 3)]
    addresses += [f"/paper/p{n:03d}" for n in range(0, 500, 10 if LONG else 50)]
    addresses += ["/library", "/library?page=3", "/triage?text=owls", "/trail"]
    for address in addresses:
        page.goto(address)
        page.wait_for_timeout(30)
        assert page.evaluate("window.taken") is None, address
    for text in HOSTILE[:: 1 if LONG else 40]:
        page.goto(str(httpx.URL("/", params={"text": text})))
        assert page.evaluate("window.taken") is None, text


def test_exports_hold_no_formulas(hostile):
    ids = [("id", f"p{number:03d}") for number in range(500)]
    answer = hostile.client.get("/export", params=[*ids, ("format", "csv")])
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    import csv
    import io

    for row in csv.reader(io.StringIO(answer.text)):
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@", "|")) for cell in row), row
    table = hostile.get("/criteria.csv", text="owls", limit=100)
    for row in csv.reader(io.StringIO(table.text)):
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@", "|")) for cell in row), row


def test_the_check_notices():
    """A page with any of the texts in it raw is a fault."""
    frame = "<html><head></head><body><p>{}</p></body></html>"
    assert _faults(frame.format("plain &lt;script&gt;")) == []
    ours = [
        text for text in HOSTILE[:22] if not text.startswith(("&lt;", "<body"))
    ]  # lxml drops a second body
    assert [text for text in ours if not _faults(frame.format(text))] == []
