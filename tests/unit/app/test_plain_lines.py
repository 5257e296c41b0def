"""Lines that are written without a console are those that the console writes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.app.terminal.screen import Screen

TEXTS = st.text(st.sampled_from(list("ab [/]é论\U0001f600\u0301\n\t\r\x07\x0c\x1b:*_ ")), max_size=30)


@pytest.fixture(autouse=True)
def no_widths(monkeypatch):
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS, first=st.sampled_from(["", "1.", "label:", " a "]), indent=st.sampled_from([0, 4, 9]))
def test_both_ways_write_the_same(capsys, text, first, indent):
    written = []
    for plainly in (True, False):
        screen = Screen()
        assert screen._plain
        screen._plain = plainly
        capsys.readouterr()
        screen.line(text, "bold", indent, first)
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_width_and_colours_are_kept_where_they_are_asked_for(capsys, monkeypatch, name):
    monkeypatch.setenv(name, "40" if name == "COLUMNS" else "1")
    Screen().line("owls hunt at night and sleep by day, most of them", "bold")
    out = capsys.readouterr().out
    assert len(out.strip().split("\n")) == 2 if name == "COLUMNS" else "\x1b[1m" in out
