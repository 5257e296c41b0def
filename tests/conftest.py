"""Shared fixtures: small libraries, and where the real data are."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from aspectra.app.main import main
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from drawn_records import drawn_papers
from fake_encoder import FakeEncoder
from long import LONG

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("COLUMNS", None)  # output that is not for a terminal is wrapped where it is set
# What the person who runs the tests permits is not looked at, nor added to.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="aspectra-tests-")
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="aspectra-tests-")  # trails, the last search
# What an earlier test left over may wait, when it is collected, for threads that no forked child has.
os.register_at_fork(after_in_child=gc.disable)
# No test is timed: a busy machine must not fail one.
hypothesis.settings.register_profile("untimed", deadline=None, max_examples=100 if LONG else 30)
# CI tries the same examples every time; whoever develops tries new ones.
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("untimed"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "untimed")
# Real language models are tried by make test-llm alone.
collect_ignore = [] if os.environ.get("ASPECTRA_TEST_LLM") else ["llm"]
SHARED = Path(__file__).resolve().parents[2] / "shared"

PAPERS = [
    Paper(
        "owl",
        "Owls hunt at night",
        "Owls listen for mice in the dark. We recorded forty barn owls. They strike within a second.",
        ("Ada Lovelace", "Bo Li"),
        2019,
        "Birds",
        {"doi": "10.1000/owl"},
    ),
    Paper(
        "mice",
        "Mice avoid predators",
        "Mice freeze when a shadow passes. A maze was built for the study. Fear lasted ten minutes.",
        ("Cy Young",),
        2021,
        "Mammals",
        {"arxiv": "2101.00001"},
    ),
    Paper(
        "rank",
        "Ranking documents with language models",
        "Search engines order documents. We prompt a model to compare two documents. Ranking improves.",
        ("Dee Ada",),
        2023,
        "IR",
        language="en",
    ),
    Paper(
        "full",
        "A paper with full text",
        "",
        ("Ed Zed",),
        2020,
        "IR",
        sections=(
            Section("Introduction", "Transformers read long documents. " * 60),
            Section("Method", "Windows of text are pooled. Nothing is cut off."),
        ),
    ),
    Paper("bare", "Only a title here", year=None),
]


SETTINGS = IndexSettings(encoders=("fake",), chunks=("60w",), batch=2)


@pytest.fixture(autouse=True)
def _connections_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command run within the tests with --offline sets a variable of its process."""
    monkeypatch.setenv("ASPECTRA_OFFLINE", os.environ.get("ASPECTRA_OFFLINE", ""))


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder()


@pytest.fixture
def settings() -> IndexSettings:
    return SETTINGS


def _library(folder: Path) -> Store:
    made = Store.create(folder)
    with made.writing("add") as writer:
        writer.add(PAPERS)
    return made


@pytest.fixture(scope="session")
def indexed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library with its index, to be copied."""
    folder = tmp_path_factory.mktemp("indexed") / "library"
    with _library(folder) as made:
        build_index(made, SETTINGS, load=lambda _: FakeEncoder())
    return folder


@pytest.fixture
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if "searcher" not in request.fixturenames:
        return _library(tmp_path / "library")
    shutil.copytree(request.getfixturevalue("indexed_folder"), tmp_path / "library")
    return Store(tmp_path / "library")


@pytest.fixture
def searcher(library: Store, encoder: FakeEncoder) -> Searcher:
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data beside the checkout; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the real collections (../shared/data) are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def real_papers(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Paper]:
    """Some 400 records of real files, of six kinds."""
    return drawn_papers(shared, tmp_path_factory.mktemp("drawn") / "library")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without configuration, in an empty folder."""
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in [n for n in os.environ if n.startswith("ASPECTRA_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: (exit code, stdout, stderr); never a traceback."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return code, out.out, out.err

    return call
