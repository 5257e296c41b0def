"""Directions, PRISM and the chain on a small made-up library, with what real libraries do wrong."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.lab.experiments.experiment import needs_of
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section, field_text
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.recipe import ProbeRecipe, Recipe, SearchRecipe
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.view import Probe
from fake_encoder import FakeEncoder

OWLS = "Owls hunt mice by ear at night. Barn owls turn the head to hear the mice."
BATS = "Bats find moths by echo in the dark. The echo tells bats how far the moths are."
CHESS = "Chess openings are stored in a book. The engine reads the book before every game."


def read_spans(folder, name, paper):
    """What a reader found in a paper of a generation: (field, start, end) of each span."""
    units = Units.load(StoredFolder(folder).folder(f"reading-{name}"))
    low, high = units.offsets[paper : paper + 2].tolist()
    return [(Units.field_name(f), a, b) for f, a, b in units.spans[low:high].tolist()]


def _paper(name, title, about, *, method, result, abstract=""):
    return Paper(
        name,
        title,
        abstract or about,
        year=2000,
        sections=(
            Section("Introduction", f"{about} We ask what nobody asked about it before this paper."),
            Section("Our method", f"{method} The method needs only a few minutes for every case at hand."),
            Section("Experiments", f"{result} The results were the same in all of the ten repeated trials."),
        ),
    )


PAPERS = [
    _paper(
        "owls", "Owls hear mice", OWLS, method="Microphones record owls.", result="Owls caught forty mice."
    ),
    # Builds on both: it talks about owls and about bats.
    _paper(
        "hearing",
        "Hearing in the dark, of owls and bats",
        f"{OWLS} {BATS} We compare hearing in both.",
        method="Microphones and echo recorders hear owls and bats hunt mice and moths.",
        result="Owls hear mice, and bats hear moths, within a second of the first sound.",
    ),
    _paper(
        "bats", "Bats and moths", BATS, method="Echo recorders follow bats.", result="Bats caught ten moths."
    ),
    _paper("chess", "A book of openings", CHESS, method="Moves are counted.", result="It won forty games."),
    _paper(
        "engine",
        "A chess engine",
        f"{CHESS} It learns.",
        method="A book of moves.",
        result="It won ten games.",
    ),
    Paper(
        "short", "Owls and mice in winter", "Owls hunt mice under snow. We counted owls in winter.", year=2001
    ),
    Paper("bare", "Moths"),
    Paper(
        "formulas",
        "Sums",
        "Sums of squares.",
        sections=(Section("1", "x = 1 + 2 ; y = 3 * ( 4 - 5 ) 6 7 8 9"),),
    ),
]
READERS = ("question", "method", "experiment", "base")


def _searcher(folder, papers, **settings):
    encoder = FakeEncoder()
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add(papers)
    chosen = IndexSettings(**{"encoders": ("fake",), "chunks": ("20w",), "readers": READERS, **settings})
    build_index(library, chosen, load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return _searcher(tmp_path_factory.mktemp("full") / "library", PAPERS)


def test_views_of_full_papers(searcher):
    names = set(searcher.index.view_names)
    assert {"full@bm25", "full@fake", *(f"{r}@fake" for r in READERS)} <= names


def test_direction_turns_the_ranking_round(searcher):
    on = searcher.similar("hearing", direction="builds-on", limit=3, evidence=0)
    by = searcher.similar("owls", direction="built-on-by", limit=3, evidence=0)
    assert {"owls", "bats"} <= {hit.id for hit in on}
    assert "hearing" in {hit.id for hit in by}
    assert on.plan.search.direction == "builds-on"
    assert any(p.reverse for p in on.plan.search.probes)
    assert Plan.loads(on.plan.to_toml()) == on.plan
    assert Plan.loads(on.plan.to_json()) == on.plan
    assert "direction builds-on" in on.plan.describe()
    assert "reverse from each candidate" in on.plan.describe()


@pytest.mark.parametrize("direction", ["builds-on", "built-on-by", "both"])
@pytest.mark.parametrize("seed", ["owls", "short", "bare", "formulas"])
def test_every_paper_can_be_a_seed(searcher, seed, direction):
    ranking = searcher.similar(seed, direction=direction, limit=20)
    year = {paper.id: paper.year for paper in PAPERS}
    wrong = {"builds-on": lambda one: one > year[seed] + 1, "built-on-by": lambda one: one < year[seed] - 1}
    late = {
        i for i, one in year.items() if one and year[seed] and direction in wrong and wrong[direction](one)
    }
    expected = year.keys() - {seed} - late
    assert len(ranking) == len(expected)
    assert set(ranking.ids) == expected
    assert [hit.rank for hit in ranking] == list(range(1, len(expected) + 1))
    assert np.isfinite([hit.score for hit in ranking]).all()


@pytest.mark.parametrize("planner", ["prism", "prism | chain", "directional", "fulltext"])
@pytest.mark.parametrize("seed", ["owls", "short", "bare", "formulas"])
def test_planners_of_full_papers(searcher, seed, planner):
    ranking = searcher.similar(seed, recipe=planner, limit=5)
    assert seed not in {hit.id for hit in ranking}
    assert len(ranking) == 5
    again = searcher.similar(seed, recipe=planner, limit=5)
    assert [(h.id, h.score) for h in again] == [(h.id, h.score) for h in ranking]
    assert Plan.loads(ranking.plan.to_toml()).hash == ranking.plan.hash


def test_prism_asks_four_lists(searcher):
    plan = searcher.plan(Query(seeds=("owls",)), "prism")
    assert [(p.view, p.asking) for p in plan.search.probes] == [
        ("abstract@fake", ""),
        ("chunks-20w@fake", "question@fake"),
        ("chunks-20w@fake", "method@fake"),
        ("chunks-20w@fake", "experiment@fake"),
    ]
    assert plan.search.fusion.kind == "rrf"
    assert searcher.run(plan).hits[0].id in {"hearing", "short"}


def test_quotes_point_into_the_stored_text(searcher):
    for planner in ("prism", "directional"):
        for hit in searcher.similar("owls", recipe=planner, limit=4):
            paper = searcher.library.get(hit.id)
            for quote in hit.evidence:
                assert field_text(paper, quote.field)[quote.start : quote.end] == quote.quote


def test_the_seed_is_quoted_where_it_speaks_of_a_hit(searcher):
    for hit in searcher.similar("hearing", direction="builds-on", limit=2):
        quote = hit.evidence[0]
        assert quote.seed == "hearing"
        seed = searcher.library.get("hearing")
        assert any(quote.seed_quote in section.text for section in seed.sections)
        assert ("owls" if hit.id == "owls" else "bats") in quote.seed_quote.lower()
    assert not searcher.similar("owls", direction="built-on-by", limit=1)[0].evidence[0].seed_quote


def test_what_has_no_full_text_is_said(searcher):
    ranking = searcher.similar("short", recipe="prism")
    said = searcher.similar("short", direction="builds-on").warnings
    assert any("short has no full text: its abstract is used instead" in w for w in said), (
        ranking.warnings,
        said,
    )


def test_readings_are_kept_and_never_zero(searcher):
    index = searcher.index
    for name in READERS:
        view = index.view(f"{name}@fake")
        assert np.linalg.norm(view.vectors, axis=1).min() > 0.5
        at = index.positions["owls"]
        spans = read_spans(index.folder, name, at)
        assert spans
        assert index.manifest["views"][f"{name}@fake"]["stood_in"]["abstract"] >= 1
        assert read_spans(index.folder, name, index.positions["formulas"]) == []


def test_recipes_carry_a_direction(searcher):
    recipe = Recipe.parse("directional(direction=builds-on)")
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    plan = recipe.plan(Query(seeds=("hearing",)), searcher.view_names)
    assert plan.search.direction == "builds-on"
    assert any(p.reverse for p in plan.search.probes)
    assert recipe.hash != Recipe.parse("directional(direction=built-on-by)").hash
    assert "full text" in needs_of(recipe)
    with pytest.raises(UsageError, match="unknown direction"):
        Recipe.parse("directional(direction=up)")


def test_a_direction_needs_a_seed():
    with pytest.raises(UsageError, match="needs a seed"):
        Query("owls", direction="builds-on")
    with pytest.raises(UsageError, match="unknown direction"):
        Query(seeds=("owls",), direction="up")


@pytest.mark.parametrize("planner", ["hybrid", "bm25", "prism", "prism | chain", "fulltext"])
def test_a_direction_is_never_passed_over(searcher, planner):
    with pytest.raises(UsageError, match="does not use a direction"):
        searcher.similar("owls", recipe=planner, direction="builds-on")


def test_a_direction_goes_with_an_aspect(searcher):
    plan = searcher.plan(Query(seeds=("owls",), direction="builds-on", same=("method",)))
    assert plan.search.direction == "builds-on"
    assert any(p.reverse for p in plan.search.probes)
    assert any(p.aspect == "method" for p in plan.search.probes)
    assert searcher.run(plan).hits


def test_planners_of_papers_need_a_paper(searcher):
    for planner in ("prism", "prism | chain", "directional"):
        with pytest.raises(UsageError, match="starts from a paper"):
            searcher.search("owls", recipe=planner)


def test_the_only_paper(tmp_path):
    alone = _searcher(tmp_path / "library", PAPERS[:1])
    for keywords in ({"direction": "builds-on"}, {"recipe": "prism"}, {"recipe": "prism | chain"}):
        assert len(alone.similar("owls", **keywords)) == 0


def test_abstracts_alone(tmp_path):
    bare = [Paper(p.id, p.title, p.abstract) for p in PAPERS]
    searcher = _searcher(tmp_path / "library", bare)
    ranking = searcher.similar("hearing", direction="builds-on", limit=3, evidence=0)
    assert {"owls", "bats"} & {hit.id for hit in ranking}
    for planner in ("prism", "prism | chain"):
        with pytest.raises(ViewMismatch, match="full texts"):
            searcher.similar("hearing", recipe=planner)


@pytest.mark.parametrize("recipe", ["hybrid | chain", "abstracts | chain", "prism | citations | chain"])
def test_a_chain_that_could_not_go_on_is_refused(searcher, recipe):
    one = SearchRecipe((ProbeRecipe("abstract@fake"),))
    made = Recipe("own", (one, "chain")) if recipe.startswith("abstracts") else Recipe.parse(recipe)
    with pytest.raises(UsageError, match="chain"):
        searcher.similar("owls", recipe=made)


def test_words_alone(tmp_path):
    searcher = _searcher(tmp_path / "library", PAPERS, encoders=())
    ranking = searcher.similar("hearing", direction="builds-on", limit=3, evidence=0)
    assert {"owls", "bats"} & {hit.id for hit in ranking}
    assert all(p.view.endswith("@bm25") for p in ranking.plan.search.probes)


def test_a_reverse_probe_of_a_view_that_cannot_is_refused(searcher):
    for view in ("sentences@fake", "question@fake"):
        with pytest.raises(ViewMismatch, match="reverse"):
            searcher.index.view(view).score(Probe(view, seeds=("owls",), reverse=True))
    with pytest.raises(UsageError, match="no seed"):
        Probe("full@bm25", text="owls", reverse=True)


def test_a_second_index_reads_nothing_again(tmp_path):
    encoder = FakeEncoder()
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(PAPERS[:3])
    settings = IndexSettings(encoders=("fake",), chunks=("20w",))
    first = build_index(library, settings, load=lambda _: encoder)
    assert first.read == 3
    encoder.encoded.clear()
    second = build_index(library, settings, load=lambda _: encoder, rebuild=True)
    assert second.read == 0
    assert encoder.encoded == []
    with library.writing("add") as writer:
        writer.add(PAPERS[3:4])
    assert build_index(library, settings, load=lambda _: encoder).read == 1


def test_shared_passes_score_like_single_ones(searcher):
    view = searcher.index.view("chunks-20w@fake")
    probes = [
        Probe(view.name, seeds=("owls",), asking="method@fake"),
        Probe(view.name, seeds=("bats",), pooling="mean3"),
        Probe(view.name, text="owls and mice"),
    ]
    for probe, found in zip(probes, searcher.index.score(searcher.index.look_up(probes)), strict=True):
        np.testing.assert_allclose(found.scores, view.score(probe).scores, rtol=1e-3, atol=1e-3)
