"""Exports, read by the programs that they are for: real records of six kinds of source in one file.

``make test-consumers`` installs those on PyPI beside the project; pandoc, biber and bibtex are Debian's
(``pandoc biber texlive-binaries``). What is not there is skipped by name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.names import name_parts, stated_names
from aspectra.papers.paper import Paper

HERE = Path(__file__).resolve().parent
PYTHON = Path(os.environ.get("ASPECTRA_CONSUMERS", HERE.parents[2] / ".venv-consumers")) / "bin" / "python"
# Not of a consumer: a formula, which each program writes in its own way, years with an end in BibTeX; years
# before Christ, which papers do not have; a name that its source wrote in one piece, and stays so.
_RAW = re.compile(r"[$\\^]|<[a-z]+>")
_SPAN = re.compile(r"\d{4}\W+\d{0,4}")


@pytest.fixture(scope="module")
def exported(real_papers: list[Paper], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Says where all papers are in a format; they are written once."""
    folder = tmp_path_factory.mktemp("exports")

    @cache
    def write(form: str) -> Path:
        writer = WRITERS.get(form)
        path = folder / f"x{writer.suffix}"
        path.write_text(writer.write(real_papers), encoding="utf-8", newline="")
        return path

    return write


def _run(*command: str | Path, where: Path | None = None) -> str:
    """What a program prints; an error is a failure with its words."""
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=where, check=False)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-2000:]
    return ended.stdout


def _program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def _read(consumer: str, path: Path) -> list[dict[str, Any]]:
    if not PYTHON.exists():
        pytest.skip(f"{consumer} is not installed: make test-consumers")
    rows = _run(PYTHON, HERE / "reading.py", consumer, path, where=path.parent).splitlines()
    return [json.loads(row) for row in rows]


def _letters(text: str | None) -> str:
    """Letters and figures alone: programs differ in blanks, quotation marks, dashes and capitals."""
    plain = re.sub(r"</?(?:i|b|sup|sub|span)\b[^<>]*>|[{}]", "", text or "")
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", plain).casefold())


def _families(paper: Paper) -> list[str]:
    stated = stated_names(paper.metadata)
    parts = [name_parts(name, stated) or ("", "", name, "") for name in paper.authors]
    return [_letters(particle + family) for _, particle, family, _ in parts]


def _raw(paper: Paper, *names: str) -> str:
    """What a BibTeX source said in some fields."""
    fields = paper.metadata.get("bibtex", {}).get("fields", {})
    return " ".join(str(fields.get(name, "")) for name in names)


def _unlike(papers: list[Paper], rows: list[dict[str, Any]], *, tex: bool = False) -> list[tuple[Any, ...]]:
    """(id, field, ours, theirs) of all that a program reads otherwise; ``tex``: as raw fields of TeX."""
    assert len(rows) == len(papers)
    out: list[tuple[Any, ...]] = []
    for paper, row in zip(papers, rows, strict=True):
        fields = [("title", paper.title), ("venue", paper.venue), ("doi", paper.identifiers.get("doi", ""))]
        formula = tex and _RAW.search(_raw(paper, "title", "booktitle", "journal"))
        for name, ours in fields:
            if name in row and not formula and _letters(ours) != _letters(row[name]):
                out.append((paper.id, name, ours, row[name]))
        year = str(paper.year) if paper.year is not None else None
        ancient = year is None and (row.get("year") or "").startswith("-")
        if (
            "year" in row
            and not ancient
            and year != row["year"]
            and not (tex and _SPAN.fullmatch(_raw(paper, "year")))
        ):
            out.append((paper.id, "year", year, row["year"]))
        if (theirs := row.get("families")) is not None:
            found = [_letters(name) for name in theirs if name and name != "others"]
            if found != _families(paper) and not set(paper.authors) & set(theirs):
                out.append((paper.id, "authors", paper.authors, theirs))
    return out


@pytest.mark.parametrize(
    ("consumer", "form"),
    [("asreview", "ris"), ("asreview", "csv"), ("rispy", "ris"), ("bibtexparser", "bibtex")],
)
def test_python_programs_read_what_was_written(real_papers, exported, consumer, form):
    assert _unlike(real_papers, _read(consumer, exported(form)), tex=form == "bibtex") == []


def test_citeproc_prints_every_title(real_papers, exported):
    rows = _read("citeproc", exported("csl-json"))
    printed = [(paper, _letters(row["title"])) for paper, row in zip(real_papers, rows, strict=True)]
    assert [paper.id for paper, text in printed if _letters(paper.title) not in text] == []


@pytest.mark.parametrize(
    ("source", "form"), [("csljson", "csl-json"), ("bibtex", "bibtex"), ("biblatex", "bibtex")]
)
def test_pandoc_reads_what_was_written(real_papers, exported, source, form):
    items = json.loads(_run(_program("pandoc"), "-f", source, "-t", "csljson", exported(form)))
    rows = [
        {
            "title": item.get("title"),
            "year": str(next(iter(item.get("issued", {}).get("date-parts") or [[""]]))[0]) or None,
            "doi": item.get("DOI"),
            "families": [_family(person) for person in item.get("author", [])],
        }
        for item in items
    ]
    assert _unlike(real_papers, rows, tex=form == "bibtex") == []


def _family(person: dict[str, str]) -> str:
    particles = person.get("non-dropping-particle", ""), person.get("dropping-particle", "")
    return " ".join([*particles, person.get("family") or person.get("literal") or ""]).strip()


def test_bibtex_finds_nothing_empty_that_the_library_knows(real_papers, exported, tmp_path):
    path = exported("bibtex")
    (tmp_path / "x.aux").write_text(f"\\citation{{*}}\n\\bibstyle{{plain}}\n\\bibdata{{{path.stem}}}\n")
    shutil.copy(path, tmp_path)
    printed = _run(_program("bibtex"), "-min-crossrefs=1000", "x", where=tmp_path)
    keys = re.findall(r"^@\w+\{(.+),$", path.read_text("utf-8"), re.M)
    held = dict(zip(keys, real_papers, strict=True))
    attributes = {
        "journal": "venue",
        "booktitle": "venue",
        "year": "year",
        "author": "authors",
        "title": "title",
    }
    empty = re.findall(r"empty (\w+) in (.+)$", printed, re.M)
    assert [(k, f) for f, k in empty if f in attributes and getattr(held[k], attributes[f])] == []


def test_biber_finds_every_date_in_order(real_papers, exported, tmp_path):
    path = exported("bibtex")
    printed = _run(_program("biber"), "--tool", "--nolog", "-O", tmp_path / "out.bib", path)
    assert len(re.findall(r"^@", (tmp_path / "out.bib").read_text("utf-8"), re.M)) == len(real_papers)
    assert re.findall(r".*Invalid format.*|.*ERROR.*", printed) == []
