"""The page, served on loopback within this process, and where Chromium is."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import httpx

import aspectra
from aspectra.app.library import Library

# Where distributions put the browser; the one without windows takes a fraction of the work.
_CHROMIUM = (
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--renderer-process-limit=1"]


def chromium_path() -> str:
    """Where the browser is; "" where it is not installed."""
    return next((one for one in _CHROMIUM if Path(one).exists()), "")


def titles(page: Any) -> list[str]:
    """Titles of the papers found, once the page is there: a click waits for its first bytes only."""
    page.wait_for_load_state()
    return [one.strip() for one in page.locator(".hits .title").all_inner_texts()]


def make_demo(folder: Path) -> None:
    """The demo library in a new folder, indexed with the default encoder where it is installed."""
    from aspectra.views.build.run import build_index

    with (
        resources.as_file(resources.files("aspectra") / "data" / "demo.jsonl") as file,
        aspectra.create(folder) as made,
    ):
        made.add(file)
        build_index(made.store, lenient=True)


@dataclass(frozen=True)
class Served:
    """A library that is served.

    Attributes:
        address: of the page, without a slash at its end.
        library: as the server holds it.
        path: its folder.
        client: asks for pages, as a browser does.
    """

    address: str
    library: Library
    path: Path
    client: httpx.Client

    def get(self, path: str, **given: Any) -> httpx.Response:
        """A page."""
        return self.client.get(path, params=given or None)

    def post(self, path: str, data: Any = None, files: Any = None, **headers: str) -> httpx.Response:
        """The answer to a form, which is not followed."""
        sent = {"origin": self.address, **headers}
        return self.client.post(path, data=data or {}, files=files, headers=sent)


@contextlib.contextmanager
def serving(path: Path, token: str = "") -> Iterator[Served]:
    """Serve a library on a free port of this computer."""
    import uvicorn

    from aspectra.app.surfaces.http.application import application
    from aspectra.app.surfaces.service.access import Access, Gate
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.service.jobs import Jobs

    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken, aspectra.open(path) as library:
        port = int(taken.getsockname()[1])
        access = Access.to("127.0.0.1", port, token)
        app = application(Service(library), Gate(), Jobs(path, path.parent / "uploads"), access)
        config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        address = f"http://127.0.0.1:{port}"
        try:
            with httpx.Client(base_url=address, headers={"accept": "text/html"}, timeout=120) as client:
                yield Served(address, library, path, client)
        finally:
            server.should_exit = True
            thread.join(10)
