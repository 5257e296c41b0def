"""An encoder that is loaded in another thread, for the search that will need it."""

from __future__ import annotations

import threading

import pytest

from aspectra.app.commands.searching import load_and_try
from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission
from aspectra.views.encoders import early
from aspectra.views.encoders.early import load_early, loaded_early
from aspectra.views.encoders.protocol import ENCODERS, EncoderFactory, load_encoder
from fake_encoder import FakeEncoder


def _load(spec):
    return load_and_try(spec, "some words")


@pytest.fixture
def loads(monkeypatch):
    """Threads in which the encoder ``made-early`` was loaded."""
    where: list[str] = []

    def load(place, options):
        where.append(threading.current_thread().name)
        if place == "broken":
            raise UsageError("it cannot be loaded")
        return FakeEncoder()

    def needs(place, options):
        return [Permission("folder", place)] if place == "private" else []

    monkeypatch.setitem(ENCODERS._members, "made-early", EncoderFactory("made-early", "", {}, load, needs))
    monkeypatch.setattr(early, "_EARLY", {})
    return where


def test_it_is_loaded_once_and_elsewhere(loads):
    load_early("made-early", _load)
    load_early("made-early", _load)
    assert load_encoder("made-early").encode(["x"]).vectors.shape[0] == 1
    assert loads == ["load made-early"]
    load_encoder("made-early")  # the early one was given away
    assert loads == ["load made-early", threading.current_thread().name]


def test_what_fails_early_is_reported_by_who_needs_it(loads):
    load_early("made-early:broken", _load)
    with pytest.raises(UsageError, match="it cannot be loaded"):
        load_encoder("made-early:broken")
    assert len(loads) == 2


def test_nothing_is_loaded_that_needs_a_permission(loads):
    load_early("made-early:private", _load)
    assert loaded_early("made-early:private") is None
    assert loads == []


def test_a_wrong_specification_harms_nobody(loads):
    load_early("no-such-encoder", _load)
    assert loaded_early("no-such-encoder") is None
