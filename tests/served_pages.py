"""The page, served on loopback over a small library, and a browser that looks at it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import aspectra
from long import LONG
from page_server import FLAGS, Served, chromium_path, serving

_SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def served(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo library served: a copy for each module of tests."""
    path = tmp_path_factory.mktemp("served") / "demo.lib"
    shutil.copytree(demo_folder, path)
    with serving(path) as running:
        yield running


@pytest.fixture(scope="module")
def served_empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A library without papers, served."""
    path = tmp_path_factory.mktemp("served") / "empty.lib"
    aspectra.create(path).close()
    with serving(path) as running:
        yield running


# Not for the session: while Playwright drives, its event loop runs in this thread, and no other can.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser tests: pip install playwright")
    found = chromium_path()
    if not found:
        pytest.skip("no browser tests: Chromium is missing (apt install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """A page of the browser that keeps what no page of ours may do.

    Attributes:
        page: of Playwright.
        outside: addresses of other sites that were requested.
        errors: of scripts, of the policy for content, and of requests that failed.
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.outside, self.errors = page, list[str](), list[str]()
        page.on("request", lambda r: None if r.url.startswith(address) else self.outside.append(r.url))
        page.on("console", self._console)
        page.on("response", self._response)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _console(self, message: Any) -> None:
        # A question that cannot be answered has a status of its own, which is no error of the page.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.errors.append(message.text)

    def _response(self, answer: Any) -> None:
        if answer.status >= 400 and answer.request.resource_type not in ("document", "fetch"):
            self.errors.append(f"{answer.status} {answer.url}")


@pytest.fixture
def browse(chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Opens an address: ``browse(served, "/", dark=True, width=320, scripts=False).page``.

    After the test, no request to another site and no error of a script may have happened, unless the test
    empties these lists.
    """
    contexts: list[Any] = []
    watched: list[Watched] = []

    def opened(
        served: Served,
        path: str = "/",
        *,
        dark: bool = False,
        width: int = 1280,
        height: int = 900,
        scripts: bool = True,
        axe: bool = False,
    ) -> Watched:
        context = chromium.new_context(
            base_url=served.address,
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": height},
            java_script_enabled=scripts,
            bypass_csp=axe,  # axe is a script that is put into the page
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        one = Watched(context.new_page(), served.address)
        watched.append(one)
        one.page.goto(path)
        return one

    yield opened
    for context in contexts:
        context.close()
    assert [address for one in watched for address in one.outside] == []
    assert [error for one in watched for error in one.errors] == []


@pytest.fixture(scope="session")
def violations() -> Callable[[Any], list[str]]:
    """What axe finds serious or critical on an open page (made with ``axe=True``), one line each."""
    held = pytest.importorskip("axe_playwright_python", reason="no accessibility tests: axe is missing")
    script = (Path(held.__file__).parent / "axe.min.js").read_text(encoding="utf-8")

    def found(page: Any, options: str = "{}") -> list[str]:
        if not page.evaluate("typeof window.axe === 'object'"):
            page.evaluate(script)
        result = page.evaluate(f"axe.run(document, {{...{options}, resultTypes: ['violations']}})")
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in result["violations"]
            if one["impact"] in _SERIOUS
        ]

    return found


@pytest.fixture
def accessible(violations: Callable[..., list[str]]) -> Callable[[Any], None]:
    """Asserts that an open page is accessible and cut off nowhere: light, dark, and 320 pixels wide.

    Of another colour scheme only contrast can differ; of another width everything else. Unless all of it is
    tried, axe looks at the page in light alone, and of many pages at those in an even ``place``.
    """
    looks = (
        ("light", 1280, "{}"),
        ("dark", 1280, "{runOnly: ['color-contrast']}"),
        ("light", 320, "{rules: {'color-contrast': {enabled: false}}}"),
    )

    def check(page: Any, place: int = 0) -> None:
        assert page.locator("h1").count() == 1
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for number, (scheme, width, options) in enumerate(looks):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            if LONG or (number == 0 and place % 2 == 0):
                assert violations(page, options) == [], (scheme, width)
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (scheme, width)

    return check
