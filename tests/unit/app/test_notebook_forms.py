"""Notebooks: what values look like there, parts of scores, progress. No notebook runs here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from types import SimpleNamespace

import pytest

import aspectra
from aspectra import notebook
from aspectra.app.surfaces.notebook import forms
from aspectra.app.surfaces.notebook.forms import MARKED, ROLE_COLOURS
from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.base.values import replace as replaced
from aspectra.lab.figures.drawing import Drawing
from aspectra.lab.reports.tables import Table
from aspectra.papers.paper import Paper, Sentence
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Fusion, Plan, Search
from aspectra.search.query import Query
from aspectra.search.ranking import Evidence
from aspectra.views.view import Probe

BIB = """@article{dense, title={Dense retrieval of papers}, year=2020, doi={10.1000/d}, author={Lovelace, A},
  abstract={Search engines match words. We train encoders for dense retrieval.}}
@article{graph, title={Graph retrieval for molecules}, year=2022, author={Li, Bo}, journal={NeurIPS},
  abstract={Molecules are graphs. Retrieval helps.}}
@article{survey, title={A survey of retrieval}, year=2023, author={Zed, Ed},
  abstract={This survey reviews retrieval of papers. We compare forty systems.}}
"""
QUESTION = "retrieval of papers since 2021, prefer surveys, well written"


@pytest.fixture
def mine(home):
    (home / "lib.bib").write_text(BIB)
    with aspectra.create(home / "my.lib") as made:
        made.add(home / "lib.bib")
        made.index(encoders=[])
        yield made


def text_of(html: str) -> str:
    return unescape(" ".join(re.sub("<[^>]*>", " ", html).split()))


def document_of(value: object, name: str) -> dict:
    return value._repr_mimebundle_()[f"application/vnd.aspectra.{name}+json"]


def test_a_ranking_shows_requests_grades_quotes_and_notes(mine):
    ranking = mine.search(QUESTION)
    html = ranking._repr_html_()
    said = text_of(html)
    assert "applied require year=>=2021 “since 2021”" in said
    assert "not applied “well written” (a judgement that no record or text states)" in said
    assert "searched for retrieval of papers" in said
    assert said.count("well written") == 1  # not again among the notes
    rows = [text_of(row) for row in html.split("<tr>")]
    survey = next(row for row in rows if "A survey of retrieval" in row)
    assert re.fullmatch(r"1 2023 A survey of retrieval Ed Zed · survey · \d.* 1\.00 met 2023 .* met", survey)
    assert re.search(r"<mark [^>]*>This survey reviews retrieval of papers\.</mark>", html)
    assert html.count('scope="col"') == 5
    assert html.count('scope="row"') == 3 + len(ranking)  # three lists of requests, a row for each paper


def test_as_many_hits_are_shown_as_a_cell_holds_well(mine):
    ranking = mine.search("retrieval")
    many = replaced(ranking, hits=ranking.hits[:1] * 101)
    html = many._repr_html_()
    assert html.count("<tr>") == 1 + 100
    assert "100 of 101 papers are shown here; all of them: ranking.hits" in text_of(html)
    assert len(document_of(many, "search")["hits"]) == 101


def test_quotes_are_counted_and_not_shown_twice(mine):
    ranking = mine.search("retrieval, prefer surveys")
    hit = next(hit for hit in ranking if hit.evidence and any(one.quote for one in hit.conditions))
    said = Evidence(next(one.quote for one in hit.conditions if one.quote), "abstract", 0, 1)
    for times in (1, 4):
        shown = replaced(ranking, hits=(replaced(hit, evidence=(said,) * times),))._repr_html_()
        assert shown.count("<mark") == min(times, 3)
        assert ("and 1 more quote" in shown) == (times == 4)


def test_a_document_that_is_too_large_or_cannot_be_sent_is_left_out():
    for abstract in ("a" * 1_000_000, "half a character: \ud800"):
        assert set(Paper("p", "P", abstract)._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_weak_match_is_said(mine):
    ranking = mine.search("retrieval")
    weak = replaced(ranking, warnings=("weak match: <b>few</b> words",))
    assert "Note: weak match: <b>few</b> words" in text_of(weak._repr_html_())
    assert "Note:" not in text_of(ranking._repr_html_())


def test_documents_are_those_of_the_command_line(mine, home, run):
    shown = document_of(mine.search(QUESTION), "search")
    folder = ("--library", home / "my.lib")
    printed = json.loads(run("search", QUESTION, "--json", *folder)[1])
    assert {**shown, "seconds": 0} == {**printed, "seconds": 0}
    paper = document_of(notebook.open_paper(mine, "survey"), "paper")
    assert paper == json.loads(run("show", "survey", "--json", "--sentences", *folder)[1])
    assert document_of(mine, "status") == json.loads(run("status", "--json", *folder)[1])
    plan = mine.plan(QUESTION)
    assert Plan.from_dict(document_of(plan, "plan")) == plan
    assert Paper.from_dict(document_of(mine.show("survey"), "record")) == mine.show("survey")


def test_forms_can_be_included_and_excluded(mine):
    ranking = mine.search("retrieval")
    # MathJax takes no prices for formulas.
    assert ranking._repr_html_().startswith('<div class="tex2jax_ignore mathjax_ignore">')
    assert set(ranking._repr_mimebundle_()) == {
        "text/plain",
        "text/html",
        "application/vnd.aspectra.search+json",
    }
    assert set(ranking._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(ranking._repr_mimebundle_(None, {"text/html", "text/plain"})) == {
        "application/vnd.aspectra.search+json"
    }


def test_a_plan_shows_what_it_describes(mine):
    plan = mine.plan(QUESTION, recipe="bm25 | top(2)")
    said = text_of(plan._repr_html_())
    for line in plan.describe().split("\n"):
        assert " ".join(line.split()) in said


def test_a_library_shows_what_it_holds_and_what_waits(mine, home):
    assert "papers 3 with abstract 3 (100 %)" in text_of(mine._repr_html_())
    assert "abstract@bm25" in text_of(mine._repr_html_())
    (home / "more.bib").write_text("@article{new, title={New}, abstract={A new paper.}}")
    mine.add(home / "more.bib")
    assert "waiting 1 new: aspectra index" in text_of(mine._repr_html_())


def test_a_library_that_was_closed_shows_the_error(mine):
    mine.close()
    assert "my.lib is closed" in mine._repr_mimebundle_()["text/plain"]


def test_a_paper_shows_its_record_and_the_roles_that_are_known():
    paper = Paper(
        "owl",
        "Owls",
        "They hunt. We count. Few were left.",
        year=2019,
        sentences=(Sentence(0, 10, "background"), Sentence(11, 20, "method"), Sentence(21, 35, "method")),
    )
    html = paper._repr_html_()
    assert "Owls Record id owl year 2019 Abstract background They hunt. method We count. Few were left." in (
        text_of(html)
    )
    assert html.count(f"border-bottom:3px solid {ROLE_COLOURS['method']}") == 2
    assert html.count(f"border-bottom:3px solid {ROLE_COLOURS['background']}") == 1
    bare = Paper("bare", "Bare")._repr_html_()
    assert "(no abstract)" in bare
    assert "border-bottom:3px" not in bare


def test_an_opened_paper_shows_marks_and_links(mine):
    mine.marks.tag("survey", add=["read"])
    said = text_of(notebook.open_paper(mine, "survey")._repr_html_())
    assert "tags read" in said
    assert "This survey reviews retrieval of papers." in said
    with pytest.raises(NoSuchPaper):
        notebook.open_paper(mine, "none")


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#111111", "#000000"])
@pytest.mark.parametrize("role", ROLE_COLOURS)
def test_lines_below_sentences_are_seen_on_light_and_dark(role, paper):
    assert contrast(ROLE_COLOURS[role], paper) >= 3  # WCAG 2.2, 1.4.11


def test_no_background_is_set_without_its_colour(mine):
    back, ink = re.findall("#[0-9a-f]{6}", MARKED)
    assert contrast(back, ink) >= 7
    values = [mine, mine.search(QUESTION), mine.plan(QUESTION), mine.show("dense")]
    for style in re.findall('style="([^"]*)"', "".join(v._repr_html_() for v in values)):
        rules = dict(rule.split(":", 1) for rule in style.split(";"))
        assert "background" not in rules
        assert rules.get("background-color") in (None, "currentColor") or "color" in rules
        assert rules.get("color") in (None, "inherit") or "background-color" in rules


def test_nothing_of_notebooks_or_plots_is_loaded_to_show_a_value(mine, home):
    code = f"""
import sys, aspectra
with aspectra.open({str(home / "my.lib")!r}) as mine:
    ranking = mine.search("retrieval")
    assert not [m for m in sys.modules if m.startswith("aspectra.app.surfaces.notebook")]
    assert "<mark" in ranking._repr_html_()
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"IPython", "matplotlib", "pandas", "jinja2"}


def fused(searcher, kind: str) -> Plan:
    probes = (Probe("abstract@bm25", text="owls at night"), Probe("abstract@fake", text="owls", weight=0.5))
    return Plan((Search("edited", probes, Fusion(kind=kind)),), limit=5)


@pytest.mark.parametrize("kind", ["standardised", "sum", "rrf"])
def test_parts_add_up_to_scores(searcher, kind):
    ranking = searcher.run(fused(searcher, kind), explain=True)
    sums: dict[str, float] = {}
    for _, paper, part, share, _ in notebook.score_parts(ranking).rows:
        assert part in ("abstract@bm25", "abstract@fake")
        sums[paper] = sums.get(paper, 0.0) + share
    assert len(sums) >= 3
    assert sums == pytest.approx({hit.id: hit.score for hit in ranking}, abs=1e-6)


def test_parts_of_ranks_need_the_ranks(searcher):
    with pytest.raises(UsageError, match="fused by rank"):
        notebook.score_parts(searcher.run(fused(searcher, "rrf")))


def test_aspects_and_conditions_are_parts_and_stages_are_not(searcher):
    wanted = (Condition.parse("prefer keyword=maze"),)
    ranking = searcher.search(Query(seeds=("owl",), same=("method",), conditions=wanted, limit=3))
    table = notebook.score_parts(ranking)
    assert {"same method", "abstract@bm25", wanted[0].label} <= {row[2] for row in table.rows}
    assert table.notes == ("Fused by sum of standardised scores.",)
    hits = tuple(replaced(hit, score=9.0, moves=(("rerank", 2, 1),)) for hit in ranking)
    moved = notebook.score_parts(replaced(ranking, hits=hits))
    assert [row[:4] for row in moved.rows] == [row[:4] for row in table.rows]
    assert moved.notes[1] == "Stages after the search are no part."
    other = notebook.score_parts(replaced(ranking, hits=(replaced(ranking[0], score=9.0),)))
    assert "other parts" in {row[2] for row in other.rows}


def test_a_drawing_is_shown_with_a_text_alternative_and_its_numbers():
    figure = pytest.importorskip("matplotlib.figure").Figure((4, 3))
    numbers = Table("Papers", ("system", "papers"), (("<b>bm25</b>", 3), ("dense", 12)))
    forms = Drawing(
        "papers", "Papers", 'Papers "of" two <i>systems</i>.', figure, numbers
    )._repr_mimebundle_()
    assert forms["image/png"].startswith(b"\x89PNG")
    assert '<img alt="Papers &quot;of&quot; two &lt;i&gt;systems&lt;/i&gt;."' in forms["text/html"]
    assert "The numbers Papers system papers <b>bm25</b> 3 dense 12" in text_of(forms["text/html"])
    assert "<b>bm25" not in forms["text/html"]
    assert "| system | papers |" in forms["text/plain"]


class Kernel:
    """What a notebook's Python has of IPython."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.shown: list[str] = []
        self.ended: list = []
        events = SimpleNamespace(
            register=lambda event, call: self.ended.append(call),
            unregister=lambda event, call: self.ended.remove(call),
        )
        running = SimpleNamespace(kernel=object(), events=events)
        handle = SimpleNamespace(update=self.show)
        display = SimpleNamespace(display=lambda value, raw, display_id: self.show(value, raw) or handle)
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: running))
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(forms, "monotonic", lambda: self.now)

    def show(self, value: dict[str, str], raw: bool) -> None:
        assert raw
        assert value["text/plain"] == ""
        self.shown.append(text_of(value["text/html"]))


def test_progress_in_a_notebook_is_one_line_that_ends_with_its_cell(monkeypatch):
    kernel = Kernel(monkeypatch)
    shown = notebook.Progress()
    shown("reading", 1, 0)
    assert kernel.shown == []  # what is over soon is not shown
    for n in range(100):
        kernel.now = 1 + n / 100
        shown("encoding <b>", n, 100)
    assert kernel.shown[0] == "encoding <b> 0 of 100"
    assert 4 <= len(kernel.shown) <= 6
    (end,) = kernel.ended
    end(None)
    assert kernel.shown[-1] == ""
    assert kernel.ended == []
    kernel.now = 9
    shown("reading", 7, 0)
    assert kernel.shown[-1] == "reading 7"
    shown.close()
    assert kernel.shown[-1] == ""


def test_progress_elsewhere_goes_to_standard_error(mine, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    with notebook.Progress() as shown:
        mine.index(encoders=[], rebuild=True, progress=shown)
    out = capsys.readouterr()
    assert out.out == ""


def test_unknown_names_of_the_package_are_said():
    with pytest.raises(AttributeError, match="has no attribute 'none'"):
        notebook.none  # noqa: B018
    assert {getattr(notebook, name).__name__ for name in notebook.__all__} == set(notebook.__all__)
