"""Verdicts and reports: the sentences follow from the tests, and the page is whole, escaped and inert."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from aspectra.lab.experiments.directory import Description, Opened, Source, Study
from aspectra.lab.figures.dots import Dots, dot_figure
from aspectra.lab.figures.recorded import FigureChoice, Place
from aspectra.lab.pages.report import PageSection, figure_html, page_html, table_html, verdict_on
from aspectra.lab.reports.scores import System, mean_of
from aspectra.lab.reports.tables import Number, Table
from aspectra.search.recipe import Recipe

COLUMN = ("gold", "nDCG@10", "")
RANK = ("modes", "GoldRank", "")


def place(values, column=COLUMN, ceilings=()):
    """A place with systems of the given values by query."""
    rows = dict.fromkeys(ceilings, "bm25")
    study = Study((Source("beir", "owls"),), (Recipe.parse("bm25"),), ceilings=rows)
    cells = tuple({"cell": f"key {n}", "recipe": n, "benchmark": "owls", "protocol": "pool"} for n in values)
    opened = Opened(Path("nowhere"), Description(1, study, {}, {}, cells))
    systems = {
        name: System(
            name, "owls", "pool", "paper", {column: own}, {column: mean_of(own)}, {"cell": f"key {name}"}
        )
        for name, own in values.items()
    }
    return Place(systems, {"": opened})


def noisy(shift, seed=0, count=40, noise=0.05):
    base, draw = random.Random(1), random.Random(f"{shift} {seed}")
    return {f"q{n}": base.random() / 2 + shift + draw.uniform(-noise, noise) for n in range(count)}


def test_a_clear_winner():
    found = verdict_on(
        place({"bm25": noisy(0), "hybrid": noisy(0.2), "dense": noisy(0.2, 1)}), FigureChoice()
    )
    assert re.fullmatch(
        r"(hybrid|dense) is better than bm25 on owls \(pools\): nDCG@10 \+\d\d\.\d \[\d\d\.\d, \d\d\.\d\], "
        r"40 queries, p < 0\.001; (hybrid|dense) cannot be told from (hybrid|dense)\.",
        found.headline,
    )
    assert any("chosen as the best of 3" in sentence for sentence in found.details)
    assert not any("few" in sentence for sentence in found.details)


def test_no_difference_is_no_win():
    found = verdict_on(place({"bm25": noisy(0, 0), "dense": noisy(0.001, 5, noise=0.4)}), FigureChoice())
    if found.best == "bm25":
        assert "has the best mean" in found.headline
        assert "cannot be told from it" in found.headline
    else:
        assert found.headline.startswith("No system can be told from bm25 as better on owls (pools); ")
    assert "is better than" not in found.headline


def test_the_baseline_may_win():
    found = verdict_on(place({"bm25": noisy(0.3), "dense": noisy(0), "hybrid": noisy(0.1)}), FigureChoice())
    assert found.headline.startswith("bm25 has the best mean on owls (pools), nDCG@10 ")
    assert found.headline.endswith("; better than dense and hybrid.")
    other = verdict_on(place({"bm25": noisy(0.3), "dense": noisy(0)}), FigureChoice(baseline="dense"))
    assert other.headline.startswith("bm25 is better than dense")


def test_one_system_few_queries_ceilings_and_lower_is_better():
    alone = verdict_on(place({"guided": noisy(0, count=12)}), FigureChoice())
    assert alone.headline.startswith("Only guided was run on owls (pools): nDCG@10 ")
    assert any("12 queries are few" in sentence for sentence in alone.details)
    values = {"bm25": noisy(0), "a, b": noisy(0.2), "perfect": noisy(0.5)}
    found = verdict_on(place(values, ceilings=["perfect"]), FigureChoice())
    assert found.headline.startswith("“a, b” is better than bm25")
    assert "Made from the judgements, and no system to choose: perfect." in found.details
    ranks = verdict_on(
        place({"bm25": noisy(3), "guided": noisy(1)}, RANK), FigureChoice(measures=("GoldRank",))
    )
    assert ranks.headline.startswith("guided is better than bm25 on owls (pools): GoldRank −2.0 [−2.")


def test_what_was_scored_on_other_queries_is_not_compared():
    found = verdict_on(place({"bm25": noisy(0), "dense": noisy(0.1, count=30)}), FigureChoice())
    assert "scored on other queries" in found.headline
    simulated = verdict_on(place({"bm25": noisy(0), "rerank [simulated]": noisy(0.2)}), FigureChoice())
    assert any(sentence.startswith("Simulated:") for sentence in simulated.details)


# The page


class Outline(HTMLParser):
    """Tags with their attributes, and what stands in them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


EVIL = '<script>alert("x")</script><img src=http://evil.example/a.png onerror=x>\u202e&amp;'


@pytest.fixture(scope="module")
def page():
    rows = ((EVIL, Number(1.0, 0.5, 2.0)), ("b", None))
    table = Table(EVIL, (EVIL, "n"), rows, (EVIL,), best=frozenset({(0, 1)}))
    drawing = dot_figure(EVIL, EVIL, Dots((EVIL, "b"), {EVIL: [Number(1.0), Number(2.0)]}))
    parts = tuple(figure_html(drawing, n) for n in (1, 2))
    sections = [PageSection(EVIL, (table_html(table),)), PageSection("Figures", parts)]
    return page_html(EVIL, "<p>lead</p>", sections, EVIL)


def test_a_page_runs_nothing_and_requests_nothing(page):
    outline = Outline()
    outline.feed(page)
    names = {tag for tag, _ in outline.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "base", "form", "image"}
    for tag, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, name)
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))
    policy = next(a["content"] for _, a in outline.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert '<script>alert("x")</script>' in "".join(outline.texts).replace("\n", "")  # as text
    assert "\u202e" not in page


def test_a_page_can_be_read_without_looking(page):
    outline = Outline()
    outline.feed(page)
    ids = [a["id"] for _, a in outline.tags if a.get("id")]
    assert len(set(ids)) == len(ids)
    for _, attributes in outline.tags:
        for name in ("href", "xlink:href", "aria-labelledby"):
            if attributes.get(name):
                assert attributes[name].removeprefix("#") in ids
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("h1") == 1
    assert tags.count("table") == tags.count("caption") == 3
    figures = [a for tag, a in outline.tags if tag == "svg"]
    assert len(figures) == 2
    assert all(a["role"] == "img" and a["aria-label"] for a in figures)
    assert tags.count("details") == 2  # the numbers of each figure
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
