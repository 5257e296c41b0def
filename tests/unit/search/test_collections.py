"""Commands on a collection of shards give what they give on one library of the same papers."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3

import pytest
from test_lens_views import FEAR, MOOD, TONE
from test_parts_of_a_search import PAPERS, SETTINGS
from test_shards import answer, put

from aspectra.app.library import create_library
from aspectra.app.upkeep.checkup import repair, restore_library
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.copies.backup import back_up
from aspectra.papers.library.shards import SPAN, shard_of
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.collection import IndexedShard, index_shards, merge_shards
from aspectra.views.build.run import build_index
from aspectra.views.build.segments import Segments
from aspectra.views.prompted.definition import definition, forget_lens, tally, undefine
from aspectra.views.prompted.running import bound_to, estimate_lens, run_lens
from aspectra.views.settings import IndexSettings
from token_encoder import TokenEncoder

SETTINGS = {**SETTINGS, "lenses": ("style",)}
TWINS = [Paper(f"twin {n}", "Owls sleep by day", "In a hollow tree.") for n in range(8)]  # in all shards


@pytest.fixture(scope="module")
def load():
    encoder = TokenEncoder()
    return lambda _: encoder


def seen(name, paper):
    """A made-up value: not of every paper, and of one shard's papers only at first."""
    number = sum(paper.encode())
    return {
        "mood": f"silent menace {number % 7} from above" if number % 3 else "",
        "tone": ("calm", "dark")[number % 2],
        "fear": number % 10 / 10,
    }[name]


def look(library, folder, *lenses, **more):
    for lens in lenses:
        # By the text that is shown, so that papers with the same text have the same value.
        def script(request, name=lens.name):
            return json.dumps({"value": seen(name, request.messages[-1].content)})

        settings = ModelSettings(journal=folder / f"{lens.name}.db", prices=folder / "none")
        with wrap_model(Scripted(script), settings) as model:
            bound = bound_to(lens, model.name)
            before = estimate_lens(library, bound, model)
            yield before, run_lens(library, bound, model, batch=16, **more), tally(library, bound)


def test_a_prompted_lens_is_that_of_one_library(tmp_path, load):
    settings = IndexSettings(**SETTINGS)
    papers = [*PAPERS, *TWINS]
    one, many = Store.create(tmp_path / "one"), Store.create(tmp_path / "many", shards=3)
    looked = {}
    for library in (one, many):
        put(library, papers)
        folder = tmp_path / f"journals of {library.folder.name}"
        folder.mkdir()
        looked[library] = [*look(library, folder, MOOD, TONE, FEAR)]
    assert looked[many] == looked[one]
    assert looked[one][0][1].values < len(papers)  # each text is asked about once
    index_shards(many, settings, load=load)
    first = IndexedShard.of(many.shards[0])
    build_index(one, settings, load=load, standard=(first.folder, first.manifest), segments=Segments(least=1))
    with Searcher(one, load) as single, Searcher(many, load) as spread:
        named = [name for name in single.index.manifest["views"] if name.startswith("lens-mood")]
        assert len(named) == 2
        for name in named:
            ours, theirs = (s.index.manifest["views"][name] for s in (spread, single))
            same = ("without", "missing", "simulated", "values", "truncated", "unit_length", "words")
            assert {k: ours.get(k) for k in same} == {k: theirs.get(k) for k in same}
        assert spread.index.manifest["lenses"]["fear"] == single.index.manifest["lenses"]["fear"]
        queries = [
            Query("silent menace", lenses=("mood",), limit=30),
            Query("owls", conditions=(Condition.parse("require tone=dark"),), limit=30),
            Query("networks", conditions=(Condition.parse("prefer fear=>=0.5"),), limit=30),
            Query("the mood of owls", limit=20),
            Query(seeds=("p007",), lenses=("mood",), limit=20),
            Query(seeds=("p007",), limit=20),
        ]
        for query in queries:
            plan = single.plan(query)
            assert spread.plan(query) == plan
            expected = answer(single, plan)
            assert answer(spread, plan) == expected
            assert isinstance(expected, tuple), expected
        warned = spread.search("silent menace", lenses=["mood"]).warnings
        assert any("*simulated*" in warning for warning in warned)


def test_an_index_follows_the_lenses_of_the_collection(tmp_path, load):
    """Values in one shard only, a lens that is taken away, and one that a shard has by itself."""
    many = Store.create(tmp_path / "many", shards=3)
    put(many, [*PAPERS[:30], *TWINS])
    settings = IndexSettings(encoders=(), chunks=(), lenses=())
    index_shards(many, settings, load=load)
    assert not index_shards(many, load=load).changed
    ((_, report, _),) = look(many, tmp_path, MOOD, most=3)
    assert report.left == 0
    assert report.values == 3
    assert index_shards(many, load=load).changed
    assert not index_shards(many, load=load).changed
    with Searcher(Store(many.folder), load) as searcher:
        facts = searcher.index.manifest["views"]["lens-mood@bm25"]
        assert facts["missing"] == len(many) - 3
    with many.writing("lens") as writer:
        writer.set_meta("index_settings", replace(settings, lenses=("style",)).dumps())
    index_shards(many, load=load)
    with Searcher(Store(many.folder), load) as searcher:
        assert "lens-style" in " ".join(searcher.index.view_names)
    standards = {IndexedShard.of(shard).standard for shard in many.shards.values()}
    assert len(standards) == 1  # a new one, which has the lens
    facts = json.loads((IndexedShard.of(many.shards[2]).folder / "standard/facts.json").read_text())
    assert any("style" in view for view in facts["views"])
    [*look(many.shards[1], tmp_path, TONE)]
    index_shards(many, load=load)
    with Searcher(Store(many.folder), load) as searcher:
        assert "tone" not in searcher.index.lens_names
    forget_lens(many, "mood")
    assert tally(many, definition(many, "mood")).values == 0
    with many.writing("lens") as writer:
        undefine(many, writer, "mood")
    index_shards(many, load=load)
    with Searcher(Store(many.folder), load) as searcher:
        assert "lens-mood@bm25" not in searcher.index.view_names
    many.close()


def test_what_is_new_is_counted_in_each_shard(tmp_path):
    with create_library(tmp_path / "many", shards=3) as many:
        put(many.store, TWINS)
        many.index(encoders=[], lenses=[])
        many.search("owls")
        many.saved.save("owls", {"text": "owls", "seeds": [], "given": {"limit": 50}})
        shards = []
        for number in range(12):
            put(many.store, [Paper(f"new {number}", f"Owls of region {number}", "They sleep.")])
            assert many.saved.news("owls").ranking.ids == []  # not indexed yet
            many.index()
            assert many.saved.news("owls").ranking.ids == [f"new {number}"]
            shards.append(shard_of(f"new {number}", 3))
        assert {*shards} == {0, 1, 2}
        assert shards != sorted(shards)


def test_edits_and_removals_are_undone_in_their_shards(tmp_path):
    with create_library(tmp_path / "one") as one, create_library(tmp_path / "many", shards=3) as many:
        for library in (one, many):
            put(library.store, PAPERS[:9])
            library.marks.tag("p001", add=["owls"])
            library.marks.edit("p001", title="Strigidae", year=1758)
            library.remove("p001", "p002", "p003", "p004")
            library.marks.edit("p005", title="Tyto")
            library.marks.tag("p006", add=["mice"])

        def same():
            assert sorted(many.store.ids()) == sorted(one.store.ids())
            for paper in one.store.papers():
                assert many.store.get(paper.id) == paper
            steps = [(step.verb, step.what, step.undone) for step in one.store.marks.actions()]
            assert [(step.verb, step.what, step.undone) for step in many.store.marks.actions()] == steps
            assert many.store.marks.tags() == one.store.marks.tags()

        same()
        many.index(encoders=[], lenses=[])  # which drops the marks of papers that are gone
        for turn in ("undo", "undo", "undo", "undo", "redo", "redo", "redo", "undo", "undo", "redo"):
            said = [getattr(library.marks, turn)() for library in (one, many)]
            assert said[0][0].what == said[1][0].what
            assert said[0][1] == said[1][1]
            same()
        assert many.store.check() == []
        for library in (one, many):
            library.marks.undo()  # of the removal
        with many.store.writing("undo") as writer:  # as after a kill: the collection's own step is left
            writer._writers[shard_of("p001", 3)].marks.undo()
        assert many.marks.undo()[0].what == one.marks.undo()[0].what == "edit of title, year of p001"
        same()
        with create_library(many.store.folder / f"shards/{shard_of('p001', 3)}") as shard:
            shard.marks.edit("p001", title="Its own")
        with pytest.raises(UsageError, match="cannot be done again"):
            many.marks.redo()
        assert many.store.marks.actions()[-2].undone
        assert many.store.get("p001").title == "Its own"


def test_a_collection_is_backed_up_to_one_file_and_restored(tmp_path):
    file, folder = tmp_path / "papers.backup", tmp_path / "many"
    with create_library(folder, shards=3) as many:
        put(many.store, PAPERS[:30])
        many.index(encoders=[], lenses=["style"])
        many.marks.tag("p001", add=["owls"])
        many.works.merge("p001", "p002")
        assert many.backup(file) == file
        expected = sorted(many.store.ids()), many.search("owls").ids, many.works.duplicates()
        many.remove("p001")
        assert many.backup(tmp_path / "later") == tmp_path / "later"
        many.marks.undo()
        assert many.backup(file) == file  # an earlier one is replaced
    with pytest.raises(UsageError, match="library with papers"):
        restore_library(file, folder)
    put(Store(folder), [Paper("later")])
    shutil.rmtree(folder / "shards/1")
    for target in (folder, tmp_path / "new"):
        with restore_library(file, target, replace=True) as again:
            assert (sorted(again.store.ids()), again.search("owls").ids, again.works.duplicates()) == expected
            assert again.store.marks.tags() == {"p001": ["owls"]}
            assert again.store.check() == []
            assert [action.verb for action in again.store.marks.actions()] == ["remove", "merge", "tag"]
            assert "lens-style" in " ".join(again.searcher.index.view_names)
    assert len([*folder.rglob("library.db.replaced-1")]) == 3
    create_library(tmp_path / "two", shards=2).close()
    with pytest.raises(UsageError, match="of 2 shards"):
        restore_library(tmp_path / "later", tmp_path / "two")
    (tmp_path / "cut").write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(BadInput, match="is damaged"):
        restore_library(tmp_path / "cut", tmp_path / "other")
    assert not (tmp_path / "other").exists()
    back_up(Store(folder / "shards/0"), tmp_path / "one")
    with pytest.raises(UsageError, match="backup of one library"):
        restore_library(tmp_path / "one", folder, replace=True)
    assert not [*tmp_path.glob(".*")]


def test_segments_of_a_collection_are_merged(tmp_path, load):
    settings = IndexSettings(**SETTINGS)
    many = Store.create(tmp_path / "many", shards=2)
    standards = []
    for papers in ([p for p in PAPERS if p.sections][:9], PAPERS):  # it outgrows its standard
        put(many, papers)
        index_shards(many, settings, load=load)
        standards.append(IndexedShard.of(many.shards[0]).standard)
    assert standards[0] == standards[1]
    new = [replace(paper, id=f"new {paper.id}", title=f"{paper.title} again") for paper in PAPERS[:6]]
    for paper in new:
        put(many, [paper])
        index_shards(many, load=load)
    with Searcher(Store(many.folder), load) as searcher:
        assert len(searcher.index.manifest["segments"]) > 2
        plans = [searcher.plan(Query("owls network", limit=50)), searcher.plan(Query(seeds=("p007",)))]
        expected = [answer(searcher, plan) for plan in plans]
    assert merge_shards(many, load=load).changed
    assert not merge_shards(many, load=load).changed
    assert {IndexedShard.of(shard).standard for shard in many.shards.values()} == {standards[0]}
    with Searcher(Store(many.folder), load) as searcher:
        assert len(searcher.index.manifest["segments"]) == 2
        assert [answer(searcher, plan) for plan in plans] == expected


def test_a_damaged_shard_is_made_again_from_its_papers(tmp_path):
    folder = tmp_path / "many"
    with create_library(folder, shards=4) as many:
        put(many.store, PAPERS[:30])
        many.index(encoders=[], lenses=["style"])
        many.marks.tag("p001", add=["owls"])
        expected = sorted(many.store.fetch("SELECT pos, id FROM papers")), many.search("owls").ids
        empty = max({1, 2, 3} - {shard_of("p001", 4)})
        many.remove(*[i for i in many.store.ids() if shard_of(i, 4) == empty])
    assert ["of no paper" in check.text for check in repair(folder)] == [True]  # of the removed ones
    assert [check.text for check in repair(folder)] == ["nothing to repair"]
    for number in (shard_of("p001", 4), empty):
        with contextlib.closing(sqlite3.connect(folder / f"shards/{number}/library.db")) as db, db:
            db.execute("INSERT INTO authors VALUES ('someone', 'else', 7)")  # of no paper
    (folder / f"shards/{shard_of('p001', 4)}/.library.db.new").touch()
    done = repair(folder)
    assert {check.state for check in done} == {"ok"}
    said = " ".join(check.text for check in done)
    assert said.count("made again from its papers") == 2
    assert "left by a killed command" in said
    assert "built the index again" in said
    with create_library(folder) as many:
        assert many.store.check() == []
        new = next(name for name in map(str, range(99)) if shard_of(name, 4) == empty)
        put(many.store, [Paper(new, "Bees dance")])
        assert many.store.fetch("SELECT pos FROM papers WHERE id = ?", (new,))[0][0] // SPAN == empty
        many.marks.undo()
        many.remove(new)
        many.index()
        found = sorted(many.store.fetch("SELECT pos, id FROM papers")), many.search("owls").ids
        assert found == expected
        assert many.store.marks.tags() == {"p001": ["owls"]}
    assert [check.text for check in repair(folder)] == ["nothing to repair"]
    with contextlib.closing(sqlite3.connect(folder / "library.db")) as db, db:
        db.execute("UPDATE meta SET value = '[]' WHERE key = 'index_settings'")
    assert [check.state for check in repair(folder)] == ["bad"]


def test_small_shards_need_no_merge(tmp_path):
    """A merge in another process would keep their writers' locks, and save nothing."""
    library = Store.create(tmp_path / "small", shards=2)
    settings = IndexSettings(encoders=(), chunks=(), lenses=())
    for number in range(6):
        with library.writing("add") as writer:
            writer.add([Paper(f"p{number}-{n}", f"Owls of region {number} {n}") for n in range(4)])
        assert not index_shards(library, settings).merge_due
    library.close()
