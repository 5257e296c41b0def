"""Markdown and plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.pages.markdown import front_matter
from aspectra.papers.sources.protocol import SOURCES, Remark

NOUGAT = """# Umbrellas in trains

Ada Example

###### Abstract

They get lost. We find them.

## 1 Introduction

Lost [1].

```python
# not a heading
```

### 1.1 Aims

To find them.

Method
------

We walk.

## References

* [1] C. Author. 2019. Umbrellas considered lost. In Nothing. doi:10.1234/abc
* [2] E. Third. 2020. [Rain and its uses.](https://arxiv.org/abs/2002.00001) In Wet.

## Appendix A Proofs

None.
"""


def read(path: Path, text: str) -> list[Paper | Remark]:
    path.write_text(text, "utf-8")
    return list(read_papers(path, "markdown"))


def one(path: Path, text: str) -> Paper:
    items = [item for item in read(path, text) if isinstance(item, Paper)]
    assert len(items) == 1
    return items[0]


def test_nougat(tmp_path: Path) -> None:
    paper = one(tmp_path / "x.mmd", NOUGAT)
    assert paper.title == "Umbrellas in trains"
    assert paper.abstract == "They get lost. We find them."
    assert [s.heading for s in paper.sections] == ["Introduction", "Aims", "Method", "Proofs"]
    assert "# not a heading" in paper.sections[0].text
    assert [r.title for r in paper.references] == ["Umbrellas considered lost", "Rain and its uses"]
    assert [r.identifiers for r in paper.references] == [{"doi": "10.1234/abc"}, {"arxiv": "2002.00001"}]
    assert paper.metadata["file"] == "x.mmd"
    assert paper.metadata["front_matter"] == "Ada Example"


def test_front_matter(tmp_path: Path) -> None:
    text = (
        "---\ntitle: 'Umbrellas: a study'\nauthors:\n  - name: Ada Example\n    affiliation: Rain\n"
        "  - Sample, Bo\nyear: 2021\ndoi: 10.1234/U\nlang: en-GB\ntags: [rain, trains]\n"
        "abstract: >\n  They get lost.\n  We find them.\n---\n\n## Introduction\n\nLost.\n"
    )
    paper = one(tmp_path / "x.md", text)
    assert (paper.title, paper.year, paper.language) == ("Umbrellas: a study", 2021, "en")
    assert paper.authors == ("Ada Example", "Bo Sample")
    assert paper.abstract == "They get lost. We find them."
    assert paper.identifiers == {"doi": "10.1234/u"}
    assert paper.metadata["tags"] == ["rain", "trains"]
    assert [s.heading for s in paper.sections] == ["Introduction"]


def test_people_of_front_matter_are_objects_in_any_order(tmp_path: Path) -> None:
    people = "- affiliation: 1\n  name: Ada Example\n- affiliation: 2\n  name: Bo Sample\n"
    assert one(tmp_path / "x.md", f"---\ntitle: T\nauthors:\n{people}---\nText").authors == (
        "Ada Example",
        "Bo Sample",
    )


def test_front_matter_that_is_no_yaml_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\ntitle: Umbrellas: a study\nyear: 2021\nlist: [a\n---\nText")
    remark, paper = read_papers(path, "markdown")
    assert "front matter" in remark.reason
    assert (paper.title, paper.year) == ("Umbrellas: a study", 2021)


def test_aliases_of_front_matter_are_not_followed(tmp_path: Path) -> None:
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    fields, _, problem = front_matter(f"---\ntitle: T\na0: &a0 x\n{bomb}---\nText")
    assert fields["title"] == "T"
    assert "aliases" in problem


@pytest.mark.parametrize("text", ["---\nnever closed", "no matter", "", "----\nx\n----"])
def test_no_front_matter(text: str) -> None:
    assert front_matter(text) == ({}, text, "")


def test_short_text_is_title_and_abstract(tmp_path: Path) -> None:
    paper = one(tmp_path / "x.txt", "Umbrellas in trains\n\nThey get lost.\nWe find them.\n")
    assert (paper.title, paper.abstract, paper.sections) == (
        "Umbrellas in trains",
        "They get lost. We find them.",
        (),
    )


def test_text_without_title(tmp_path: Path) -> None:
    paper = one(tmp_path / "x.txt", "they get lost, all of them, and nobody knows why.")
    assert (paper.title, paper.abstract) == ("", "they get lost, all of them, and nobody knows why.")


def test_long_text_is_one_section(tmp_path: Path) -> None:
    paper = one(tmp_path / "x.txt", "Umbrellas in trains\n\n" + "They get lost every day. " * 400)
    assert (paper.title, paper.abstract, len(paper.sections)) == ("Umbrellas in trains", "", 1)


def test_structured_text(tmp_path: Path) -> None:
    text = (
        "Umbrellas in trains\n\nAda Example\n\nAbstract\n\nThey get lost.\n\n1 Introduction\n\nLost [1].\n\n"
        "2 Method\n\nWe walk.\n\nReferences\n\n[1] C. Author. 2019. Umbrellas considered lost. Nothing.\n\n"
        "[2] E. Third. 2020. Rain and its uses. Wet.\n"
    )
    paper = one(tmp_path / "x.txt", text)
    assert paper.abstract == "They get lost."
    assert [s.heading for s in paper.sections] == ["Introduction", "Method"]
    assert len(paper.references) == 2


def test_invisible_characters_are_removed_and_said(tmp_path: Path) -> None:
    remark, paper = read(tmp_path / "x.txt", "Umbrellas in trains\n\nThey\u200b get \u202elost.")
    assert isinstance(remark, Remark)
    assert not remark.skipped
    assert isinstance(paper, Paper)
    assert paper.abstract == "They get lost."


@pytest.mark.parametrize(
    ("name", "head", "least", "most"),
    [
        ("x.md", b"# A title", 0.3, 0.3),
        ("x.txt", "Ünïcode".encode(), 0.3, 0.3),
        ("x.txt", "caf\u00e9 au lait in a caf\u00e9".encode("cp1252"), 0.3, 0.3),
        ("x.dat", b"some words", 0.1, 0.1),
        ("x.py", b"import os", 0.0, 0.0),
        ("x.json", b'{"a": 1}', 0.0, 0.0),
        ("x.txt", b"\x00\x01\x02", 0.0, 0.0),
        ("x.txt", bytes(range(128, 256)) * 4, 0.0, 0.0),
    ],
)
def test_sniff(tmp_path: Path, name: str, head: bytes, least: float, most: float) -> None:
    assert least <= SOURCES.get("markdown").sniff(tmp_path / name, head) <= most


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"ab\x00cd")
    with pytest.raises(BadInput):
        list(read_papers(path, "markdown"))


JOSS = """---
title: 'Owls: a package'
tags:
  - birds
authors:
  - name: Ada M. Owl^[corresponding author]
    orcid: 0000-0000-0000-0000
    affiliation: "1, 2" # (quoted)
  - given-names: Ludwig
    dropping-particle: van
    surname: Barn
    affiliation: 3
affiliations:
 - name: Owl Labs
   index: 1
date: 13 August 2017
bibliography: paper.bib
---

# Summary

We watch owls.
"""


def test_joss_names(tmp_path: Path) -> None:
    paper = one(tmp_path / "paper.md", JOSS)
    assert (paper.title, paper.year) == ("Owls: a package", 2017)
    assert paper.authors == ("Ada M. Owl", "Ludwig van Barn")
    assert paper.metadata["bibliography"] == "paper.bib"
    mended = one(tmp_path / "paper.md", JOSS.replace("'", "").replace("name: Ada", "name: Ada: "))
    assert mended.title == "Owls: a package"
    assert mended.authors[1] == "Ludwig van Barn"


@pytest.mark.parametrize(
    ("people", "names"),
    [
        ("  name: Ada Owl\n  affiliation: 1", ("Ada Owl",)),
        ("  - Ada Owl:\n    affiliation: 1", ("Ada Owl",)),
        ("  - name:\n      given: Ada\n      family: Owl", ("Ada Owl",)),
        ("  - affiliation: 1", ()),
    ],
)
def test_authors_of_a_front_matter(tmp_path: Path, people: str, names: tuple[str, ...]) -> None:
    assert one(tmp_path / "x.md", f"---\ntitle: T\nauthors:\n{people}\n---\nText.\n").authors == names


README = """# Owl tools

Tools for owls.

## Citation

```bibtex
@article{owl, title = {Owls at night}, author = {Owl, Ada}, year = 2001}
```

More text.

~~~
@misc{eggs,
  title = {Eggs}
}
~~~
"""


def test_a_readme_gives_what_it_cites(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(README)
    found = [item for item in read_papers(path) if isinstance(item, Paper)]
    assert [paper.title for paper in found] == ["Owls at night", "Eggs"]
    items = list(read_papers(path, "markdown"))
    assert [item for item in items if isinstance(item, Paper)] == found
    assert [item.reason for item in items if isinstance(item, Remark)] == [
        "cites papers in BibTeX: its entries are read, its own text is not"
    ]


def test_a_paper_may_show_bibtex(tmp_path: Path) -> None:
    paper = one(
        tmp_path / "x.md",
        "# Keys\n\n## Abstract\n\nWe show keys.\n\n" + README.partition("Tools for owls.")[2],
    )
    assert (paper.title, paper.abstract) == ("Keys", "We show keys.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "# Owl tools\n\nTools for owls.\n"),
        ("LICENSE.txt", "You may copy this.\n"),
        ("x.txt", "FN Some Database\nVR 1.0\nPT J\nAU Owl, A\n   Barn, B\nTI Owls\nER\n\nEF\n"),
        ("x.txt", "TI- Owls\nAU- Owl, A\nPY- 2001\n"),
        ("x.txt", "%0 Journal Article\n%T Owls\n%A Owl, A\n"),
        ("x.txt", "<1>\nAuthor\n  Owl, A\nTitle\n  Owls\n"),
        ("x.txt", "one\ttwo\tthree\n1\t2\t3\n4\t5\t6\n"),
        ("x.md", "TI  - Owls\nAB  - They hunt.\nAU  - Owl, A\n"),
    ],
)
def test_other_files_are_no_papers(tmp_path: Path, name: str, text: str) -> None:
    assert SOURCES.get("markdown").sniff(tmp_path / name, text.encode()) == 0.0


def test_a_readme_with_an_abstract_is_a_paper(tmp_path: Path) -> None:
    text = "# Owls\n\n## Abstract\n\nThey hunt.\n"
    assert SOURCES.get("markdown").sniff(tmp_path / "README.md", text.encode()) == 0.3


@pytest.mark.parametrize("mark", ["## {}\n\n", "<h2>{}</h2>\n"])
@pytest.mark.parametrize("abstract", ["Zusammenfassung", "Resumen", "Summary"])
@pytest.mark.parametrize("references", ["Literaturverzeichnis", "Literature", "Bibliografía", "Works cited"])
def test_headings_mean_the_same_in_every_format(
    tmp_path: Path, mark: str, abstract: str, references: str
) -> None:
    plain = mark.startswith("#")
    parts = [
        (abstract, "Eulen hören Mäuse."),
        ("1 Eulen", "Sie jagen."),
        (references, "[1] A. Roe. Owls. 2001."),
    ]
    text = "".join(
        mark.format(name) + (body + "\n\n" if plain else f"<p>{body}</p>\n") for name, body in parts
    )
    path = tmp_path / ("a.md" if plain else "a.html")
    path.write_text("# Eulen\n\n" + text if plain else f"<html><body><h1>Eulen</h1>{text}</body></html>")
    (paper,) = [item for item in read_papers(path) if isinstance(item, Paper)]
    assert (paper.abstract, len(paper.sections), len(paper.references)) == ("Eulen hören Mäuse.", 1, 1)
