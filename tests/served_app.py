"""A small indexed library behind the whole application, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aspectra.app.library import Library, open_library
from made_once import copy_of, once
from page_server import make_demo

if TYPE_CHECKING:
    import httpx

    from aspectra.app.surfaces.service.access import Gate
    from aspectra.app.surfaces.service.answering import Service

ADDRESS = "http://127.0.0.1:8765"


@dataclass
class Answering:
    """The application and what is behind it."""

    app: Any
    library: Library
    service: Service
    gate: Gate

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """One request, from this computer."""
        import httpx

        address = given.pop("address", ADDRESS)

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=address) as client:
                return await client.request(method, path, **given)

        return asyncio.run(send())

    def post(self, path: str, body: Any, **given: Any) -> httpx.Response:
        """A request with a JSON body."""
        return self.ask("POST", path, json=body, **given)


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo library, indexed; copy it, do not write to it."""
    return once(tmp_path_factory, "demo.lib", make_demo)


@pytest.fixture
def answering_from(tmp_path: Path) -> Iterator[Callable[..., Answering]]:
    """Serves a library: ``answering_from(folder, token="")``."""
    from aspectra.app.surfaces.http.application import application
    from aspectra.app.surfaces.service.access import Access, Gate
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.service.jobs import Jobs

    made: list[Service] = []

    def serve(folder: Path, token: str = "", **limits: Any) -> Answering:
        library = open_library(folder)
        service = Service(library)
        gate = Gate(**limits)
        made.append(service)
        jobs = Jobs(folder, tmp_path / "uploads")
        access = Access.to("127.0.0.1", 8765, token)
        return Answering(application(service, gate, jobs, access), library, service, gate)

    yield serve
    for service in made:
        service.close()


@pytest.fixture
def answering(demo_folder: Path, answering_from: Callable[..., Answering]) -> Answering:
    """The demo library, answering; not to be written to."""
    return answering_from(demo_folder)


@pytest.fixture
def writable(demo_folder: Path, tmp_path: Path, answering_from: Callable[..., Answering]) -> Answering:
    """A copy of it that may be written to."""
    return answering_from(copy_of(demo_folder, tmp_path / "copy"))
