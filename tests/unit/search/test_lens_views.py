"""What prompted lenses saw as views and attributes, and the planner that looks through them."""

from __future__ import annotations

import json

import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan
from aspectra.search.planning.planners.plain import fitting
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.index.opened import Index
from aspectra.views.prompted.definition import PromptedLens, define, definition, undefine
from aspectra.views.prompted.running import bound_to, run_lens
from aspectra.views.settings import IndexSettings

HEAD = 'cues = ["mood", "feels like"]\nplaceholders = ["paper", "answer"]\nuser = "{{paper}} {{answer}}"\n'
MOOD = PromptedLens("mood", HEAD + '[schema]\ntype = "string"\n')
TONE = PromptedLens("tone", HEAD + '[schema]\nenum = ["calm", "dark"]\n')
FEAR = PromptedLens("fear", HEAD + '[schema]\ntype = "number"\n')
SEEN = {
    "mood": {
        "owl": "silent menace from above",
        "mice": "trembling at silent menace",
        "rank": "dry busywork",
        "full": "",
    },
    "tone": {"owl": "dark", "mice": "dark", "rank": "calm"},
    "fear": {"owl": 0.2, "mice": 0.9, "rank": 0.0, "full": 0.5},
}


def look(library, folder, *lenses, seen=SEEN):
    for lens in lenses:

        def script(request, values=seen[lens.name]):
            return json.dumps({"value": values.get(request.subjects[0], "?")})

        settings = ModelSettings(journal=folder / f"{lens.name}.db", prices=folder / "none")
        with wrap_model(Scripted(script), settings) as model:
            run_lens(library, bound_to(lens, model.name), model, tries=1, failed=True)


@pytest.fixture
def lensed(library, tmp_path, encoder, settings):
    look(library, tmp_path, MOOD, TONE, FEAR)
    build_index(library, settings, load=lambda _: encoder)
    return Searcher(library, load=lambda _: encoder)


def ids(ranking):
    return [hit.id for hit in ranking]


def test_texts_become_a_lexical_and_a_dense_view(lensed):
    assert {"lens-mood@bm25", "lens-mood@fake"} <= set(lensed.index.view_names)
    assert not any(name.startswith("lens-tone") for name in lensed.index.view_names)
    facts = lensed.index.manifest["views"]["lens-mood@bm25"]
    assert facts["simulated"]
    assert facts["without"] == 1
    assert not lensed.index.view("lens-mood@fake").vectors[lensed.index.position("bare")].any()


def test_a_query_finds_what_no_text_says(lensed):
    assert "menace" not in " ".join(p.abstract for p in lensed.library.papers())
    found = lensed.search("silent menace", lenses=["mood"], limit=2)
    assert set(ids(found)) == {"owl", "mice"}
    assert {p.view for p in found.plan.search.probes} == {"lens-mood@bm25", "lens-mood@fake"}
    assert any("*simulated*" in warning for warning in found.warnings)
    assert found.hits[0].evidence  # quoted is the paper's own text
    assert "menace" not in found.hits[0].evidence[0].quote


def test_a_seed_asks_with_what_the_lens_saw_of_it(lensed):
    found = lensed.similar("owl", lenses=["mood"], limit=1)
    assert ids(found) == ["mice"]
    lexical = lensed.index.view("lens-mood@bm25")
    assert lexical.query_text(found.plan.search.probes[0]) == "silent menace from above"


def test_a_seed_of_which_the_lens_saw_nothing_is_no_error(lensed):
    assert "full" not in ids(lensed.similar("full", lenses=["mood"]))


def test_labels_are_conditions(lensed):
    dark = [Condition.parse("require tone=dark")]
    assert set(ids(lensed.search("silent menace", conditions=dark, limit=9))) == {"owl", "mice"}
    without = lensed.search("documents", conditions=[Condition.parse("exclude tone=dark")], limit=9)
    assert set(ids(without)) == {"rank", "full", "bare"}  # nothing is known of two, so nothing is broken
    assert any("tone" in warning and "*simulated*" in warning for warning in without.warnings)


@pytest.mark.parametrize(
    ("value", "met"),
    [
        (">=0.5", {"mice", "full"}),
        ("<=0.2", {"owl", "rank"}),
        ("0.9", {"mice"}),
        ("0.1..0.5", {"owl", "full"}),
    ],
)
def test_numbers_are_conditions(lensed, value, met):
    wish = [Condition.parse(f"require fear={value}")]
    assert set(ids(lensed.search("owls mice documents", conditions=wish, limit=9))) == met


def test_wrong_values_say_which_there_are(lensed):
    with pytest.raises(UsageError, match="is no label of the lens tone") as error:
        Condition.parse("tone=loud")
    assert "calm, dark" in error.value.why
    with pytest.raises(UsageError, match="is no number"):
        Condition.parse("fear=some")
    with pytest.raises(UsageError, match="gives texts") as error:
        Condition.parse("mood=dark")
    assert "--lens mood" in error.value.hint


def test_words_of_the_query_choose_the_lens(lensed):
    plan = lensed.plan(Query("what feels like silent menace"), "lensed")
    assert [p.view for p in plan.search.probes] == [
        "lens-mood@fake",
        "lens-mood@bm25",
        "abstract@fake",
        "abstract@bm25",
    ]
    assert [p.weight for p in plan.search.probes] == [1.0, 0.3, 0.5, 0.15]
    plain = lensed.plan(Query("owls at night"), "lensed")
    assert {p.view for p in plain.search.probes} == {"abstract@fake", "abstract@bm25"}
    assert any(p.view == "lens-mood@fake" for p in lensed.plan(Query(seeds=("owl",)), "lensed").search.probes)


def test_cues_count_as_whole_words():
    cues = {"a": ["stance"], "b": ["in favour of", "opinion"], "c": []}
    assert fitting("a STANCE in  favour of opinions", cues) == ("a", "b")
    assert fitting("instances of resistance", cues) == ()
    assert fitting("in favour of an opinion, a stance", {**cues, "a": ["x"]}) == ("b",)


def test_a_lens_that_is_not_there_is_said(lensed):
    with pytest.raises(ViewMismatch, match="no views of a lens 'stance'") as error:
        lensed.search("owls", lenses=["stance"])
    assert "aspectra lens add stance" in error.value.hint
    assert "mood" in error.value.why
    with pytest.raises(UsageError, match="has no texts to search"):
        lensed.search("owls", lenses=["tone"])
    with pytest.raises(UsageError, match="does not use lenses"):
        lensed.search("owls", lenses=["mood"], recipe="bm25")
    with pytest.raises(ViewMismatch) as error:
        lensed.index.view("lens-stance@bm25")
    assert "aspectra lens run stance" in error.value.hint


def test_plans_with_lenses_are_saved_and_recipes_use_them(lensed):
    plan = lensed.plan(Query("menace", conditions=(Condition.parse("tone=dark"),), lenses=("mood",)))
    assert Plan.loads(plan.to_toml()) == plan
    assert (
        Recipe.parse("lensed").plan(Query("the mood of it"), lensed.view_names).search.probes[0].view
        == "lens-mood@fake"
    )


def test_an_index_follows_the_values(library, tmp_path, encoder, settings):
    look(library, tmp_path, MOOD)
    first = build_index(library, settings, load=lambda _: encoder)
    encoder.encoded.clear()
    assert not build_index(library, settings, load=lambda _: encoder).changed
    look(library, tmp_path, TONE)
    second = build_index(library, settings, load=lambda _: encoder)
    assert second.changed
    assert second.generation != first.generation
    assert encoder.encoded == []  # nothing is encoded twice
    assert Index(library, library.generations.current()).lens_names.count("tone") == 1
    with library.writing("lens") as writer:
        undefine(library, writer, "mood")
    build_index(library, settings, load=lambda _: encoder)
    assert "lens-mood@bm25" not in Index(library, library.generations.current()).view_names


def test_values_of_another_prompt_are_in_no_index(library, tmp_path, encoder, settings):
    look(library, tmp_path, MOOD)
    changed = PromptedLens("mood", MOOD.text.replace("{{paper}} {{answer}}", "{{paper}} now {{answer}}"))
    look(library, tmp_path, changed, seen={"mood": {"owl": "merry"}})
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    assert ids(searcher.search("silent menace", recipe="lensed", lenses=["mood"], limit=1)) != []
    view = searcher.index.view("lens-mood@bm25")
    (merry,) = view.words("merry")
    assert [*view.statistics(words := view.words("menace merry")).rarity(words)] == [merry]


def test_a_library_without_lenses_builds_as_before(library, encoder, settings):
    build_index(library, settings, load=lambda _: encoder)
    assert not any(
        name.startswith("lens-") for name in Index(library, library.generations.current()).view_names
    )


def test_lenses_work_where_nothing_is_encoded(library, tmp_path):
    from aspectra.views.settings import IndexSettings

    look(library, tmp_path, MOOD)
    build_index(library, IndexSettings(encoders=(), chunks=()))
    found = Searcher(library).search("silent menace", lenses=["mood"], limit=2)
    assert set(ids(found)) == {"owl", "mice"}


def test_a_lens_that_did_not_come_to_all_papers_is_said(library, tmp_path, encoder, settings):
    look(library, tmp_path, MOOD, TONE)
    with library.writing("add") as writer:
        writer.add([Paper("new", "New", "Herons fish by day.")])
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    found = searcher.search("silent menace", lenses=["mood"])
    assert any("has not been run on 1 of 6 papers: aspectra lens run mood" in w for w in found.warnings)
    assert "new" not in ids(found)[:2]
    plain = searcher.search("herons", conditions=[Condition.parse("avoid tone=dark")])
    assert plain.hits[0].id == "new"
    assert not any("mood" in w for w in plain.warnings)


def test_a_lens_that_cannot_be_used_stops_nothing_else(library, tmp_path, encoder, settings):
    look(library, tmp_path, MOOD)
    with library.writing("lens") as writer:
        define(library, writer, PromptedLens("broken", "user = "))
        define(library, writer, PromptedLens("odd", MOOD.text, {"type": "list"}))
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    assert set(ids(searcher.search("silent menace", lenses=["mood"], limit=2))) == {"owl", "mice"}
    with pytest.raises(UsageError, match="broken"):
        definition(library, "broken").prompt  # noqa: B018


def test_the_python_in_the_documentation_runs(monkeypatch, tmp_path):
    import re
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "lenses.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    exec(compile(code, "lenses", "exec"), {})


def test_the_prompt_file_in_the_documentation_can_be_used():
    import re
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "lenses.md").read_text("utf-8")
    (prompt,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert len(prompt.splitlines()) <= 10
    assert PromptedLens("addressee", prompt).prompt.schema.kind == "text"


def test_two_libraries_may_have_a_lens_of_one_name_with_other_values(tmp_path, encoder):
    opened = []
    for name, labels, seen in (
        ("first", '["calm", "dark"]', {"owl": "dark"}),
        ("second", '["loud", "soft"]', {"owl": "loud"}),
    ):
        store = Store.create(tmp_path / name)
        with store.writing("add") as writer:
            writer.add([Paper("owl", "Owls at night", "Owls listen.")])
        lens = PromptedLens("twofold", HEAD + f"[schema]\nenum = {labels}\n")
        look(store, tmp_path / name, lens, seen={"twofold": seen})
        build_index(store, IndexSettings(encoders=(), chunks=()), load=lambda _: encoder)
        opened.append(Searcher(store))
    first, second = opened
    dark, loud = Condition.parse("require twofold=dark"), Condition.parse("require twofold=loud")
    assert ids(first.search("owls", conditions=[dark])) == ["owl"]
    assert ids(second.search("owls", conditions=[loud])) == ["owl"]
    assert ids(first.search("owls", conditions=[dark])) == ["owl"]
    with pytest.raises(UsageError, match="no label 'dark'") as error:
        second.search("owls", conditions=[dark])
    assert "loud" in error.value.why
    with pytest.raises(UsageError, match="no label of the lens twofold"):
        Condition.parse("twofold=green")
    Searcher(first.library)  # opened once more, it is the one that messages name
    with pytest.raises(UsageError) as error:
        Condition.parse("twofold=green")
    assert error.value.why == "known: calm, dark"
