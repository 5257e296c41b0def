"""A small indexed library behind the whole application, without a socket."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from aspectra.app.http.application import application
from aspectra.app.http.guards import Access, Application
from aspectra.app.library import Library, create_library, open_library
from aspectra.app.service.answering import Service
from aspectra.app.service.gate import Gate
from aspectra.app.service.jobs import Jobs

ADDRESS = "http://127.0.0.1:8765"


@dataclass
class Served:
    """The application and what is behind it."""

    app: Application
    library: Library
    service: Service
    gate: Gate

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """One request, from this computer."""
        address = given.pop("address", ADDRESS)

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url=address) as client:
                return await client.request(method, path, **given)

        return asyncio.run(send())

    def post(self, path: str, body: Any, **given: Any) -> httpx.Response:
        """A request with a JSON body."""
        return self.ask("POST", path, json=body, **given)


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo library, indexed; not to be written to."""
    from aspectra.app.session import CommonOptions, Session
    from aspectra.app.upkeep.demo import fill

    folder = tmp_path_factory.mktemp("served") / "demo"
    session = Session(CommonOptions(library=folder, quiet=True, no_progress=True))
    with create_library(folder) as library:
        fill(library.store, session)
    return folder


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Serves a library: ``serving(folder, token="")``."""
    made: list[Service] = []

    def serve(folder: Path, token: str = "", **limits: Any) -> Served:
        library = open_library(folder)
        service = Service(library)
        gate = Gate(**limits)
        made.append(service)
        jobs = Jobs(folder, tmp_path / "uploads")
        access = Access.to("127.0.0.1", 8765, token)
        return Served(application(service, gate, jobs, access), library, service, gate)

    yield serve
    for service in made:
        service.close()


@pytest.fixture
def served(demo_folder: Path, serving: Callable[..., Served]) -> Served:
    """The demo library, served; not to be written to."""
    return serving(demo_folder)


@pytest.fixture
def writable(demo_folder: Path, tmp_path: Path, serving: Callable[..., Served]) -> Served:
    """A copy of it that may be written to."""
    return serving(Path(shutil.copytree(demo_folder, tmp_path / "copy")))
