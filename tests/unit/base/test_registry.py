"""Registries find out cheaply whether any installed package brings members, and read what a line names."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from aspectra.base import registry
from aspectra.base.errors import UsageError

_POINTS = "[aspectra.encoder]\nmine = mine:Encoder\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:0])
    return tmp_path


def _put(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "entry_points.txt").write_text(text)


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_an_entry_point_of_ours_is_seen(installed: Path, kind: str) -> None:
    _put(installed / f"other-1.0.{kind}", "[console_scripts]\naspectra = aspectra.__main__:main\n")
    assert not registry._may_plug_in.__wrapped__()
    _put(installed / f"mine-1.0.{kind}", _POINTS)
    assert registry._may_plug_in.__wrapped__()


def test_what_cannot_be_looked_into_may_have_one(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed / "packed.egg").write_bytes(b"")
    assert registry._may_plug_in.__wrapped__()
    (installed / "packed.egg").unlink()
    archive = installed / "app.zip"
    archive.write_bytes(b"")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert registry._may_plug_in.__wrapped__()


def test_finders_beside_pythons_own_are_asked(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_distributions(self) -> list[object]:
            return []

    monkeypatch.setattr(sys, "meta_path", [Finder()])
    assert not registry._may_plug_in.__wrapped__()
    monkeypatch.setattr(sys, "meta_path", [Finder(), Finder()])
    assert registry._may_plug_in.__wrapped__()


def test_a_line_names_a_member_with_its_options_and_errors_name_the_family() -> None:
    owls: registry.Registry[type] = registry.Registry("owl")

    @owls.register("barn")
    @dataclass(frozen=True)
    class Barn:
        eggs: int = 2

    assert owls.read("barn(eggs=5)") == Barn(5)
    with pytest.raises(UsageError, match="is no owl"):
        owls.read("barn(")
    with pytest.raises(UsageError, match="there is no owl called 'snowy'"):
        owls.read("snowy")
    with pytest.raises(UsageError, match="option of owl 'barn'"):
        owls.read("barn(legs=2)")


def test_members_are_found_while_another_thread_imports_modules() -> None:
    family = registry.Registry[str]("bird")
    family.register("owl")("an owl")
    waiting = family._waiting
    waiting.update((f"birds.m{number}", f"m{number}") for number in range(20_000))
    done = threading.Event()

    def imported() -> None:
        while not done.is_set():
            waiting["birds.heron"] = "heron"
            time.sleep(0)
            del waiting["birds.heron"]
            time.sleep(0)

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    other = threading.Thread(target=imported)
    other.start()
    try:
        family._import_all = lambda: None  # type: ignore[method-assign]
        assert not any(family._find("tern") for _ in range(200))
    finally:
        done.set()
        other.join()
        sys.setswitchinterval(switching)
