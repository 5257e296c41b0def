"""Names of files that come with a request: of a path only the last part, and nothing that a system reads."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("anyio", reason="the page needs: pip install 'aspectra[serve]'")

from hypothesis import given
from hypothesis import strategies as st

from aspectra.app.surfaces.service.jobs import Jobs, plain_name

HOSTILE = {
    "../../etc/passwd": "passwd",
    "/etc/passwd": "passwd",
    "..\\..\\windows\\system32\\x.bib": "x.bib",
    "C:\\papers\\x.bib": "x.bib",
    "C:x.bib": "C_x.bib",
    "x.bib\x00.exe": "x.bib_.exe",
    "..": "file",
    ".": "file",
    "": "file",
    "/": "file",
    "...": "file",
    ".bashrc": "bashrc",
    "-rf": "rf",
    "--library=x": "library_x",
    "a\r\nb.ris": "a_b.ris",
    "\u202egpj.bib": "gpj.bib",
    "a\u2215b\u2044c\uff0fd.bib": "a_b_c_d.bib",  # signs that look like a slash
    "\u2024\u2024/x.bib": "x.bib",
    "con/\u2025/x": "x",
    "$(reboot).bib": "reboot_.bib",
    "a;b|c&d`e.bib": "a_b_c_d_e.bib",
    "Müller 2020.bib": "Müller_2020.bib",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_the_last_part_without_signs(name):
    assert plain_name(name) == HOSTILE[name]


@given(st.text(max_size=300))
def test_any_name_stays_in_its_folder(name):
    made = plain_name(name)
    assert re.fullmatch(r"(?![.\-_])[\w.-]{1,80}", made)
    assert made not in (".", "..")


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 5000 + ".bib"])
def test_a_file_is_kept_in_a_folder_of_its_content(tmp_path, name):
    jobs = Jobs(tmp_path / "papers.lib", tmp_path / "uploads")
    kept = jobs.keep(name, b"@book{x}")
    assert kept.read_bytes() == b"@book{x}"
    assert kept.parent.parent == tmp_path / "uploads"
    assert kept.resolve().is_relative_to((tmp_path / "uploads").resolve())
    assert jobs.keep(name, b"@book{x}") == kept
    assert jobs.keep(name, b"@book{y}").parent != kept.parent
    assert [one.name for one in kept.parent.iterdir()] == [kept.name]
