"""A collection of shards answers as one library: hits, scores in bits, all that is said."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from test_parts_of_a_search import PAPERS, SETTINGS, generated

from aspectra.app.ingest.library_facts import remarks
from aspectra.app.library import create_library
from aspectra.base.errors import AspectraError, LibraryCorrupt, NoSuchPaper, UsageError
from aspectra.base.values import replace
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.mutations import AddReport
from aspectra.papers.library.schema import ReadConnection
from aspectra.papers.library.shards import MANIFEST, MOST, SPAN, shard_of
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Remark
from aspectra.search.query import Query
from aspectra.search.scoring.phases import join
from aspectra.search.searcher import Searcher
from aspectra.views.build import collection as building
from aspectra.views.build.collection import IndexedShard, index_shards
from aspectra.views.build.run import build_index, merge_segments
from aspectra.views.build.segments import Segments
from aspectra.views.settings import IndexSettings
from aspectra.views.terms import view as heads
from token_encoder import TokenEncoder, made_up_head

PLANS = int(os.environ.get("ASPECTRA_PLANS", "240")) // 6
COUNTS = (1, 2, 3, 4, 7)


def put(library: Store, papers) -> AddReport:
    with library.writing("add") as writer:
        return writer.add(papers)


@pytest.fixture(scope="module")
def load():
    patch = pytest.MonkeyPatch()
    encoder = TokenEncoder()
    patch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))
    yield lambda _: encoder
    patch.undo()


def both(folder: Path, papers, shards: int, load) -> tuple[Searcher, Searcher]:
    """Searchers of one library and of a collection, by one standard."""
    settings = IndexSettings(**SETTINGS)
    collection = Store.create(folder / "collection", shards=shards)
    put(collection, papers)
    index_shards(collection, settings, load=load)
    one = Store.create(folder / "one")
    put(one, papers)
    first = IndexedShard.of(next(shard for shard in collection.shards.values() if len(shard)))
    standard = first.folder, first.manifest
    build_index(one, settings, load=load, standard=standard, segments=Segments(least=1))
    return Searcher(one, load), Searcher(collection, load)


def answer(searcher: Searcher, plan):
    """All that is found and said, and the scores of all candidates by id."""
    try:
        found = searcher.run(plan, explain=True).to_dict(explain=True)
        fused = join(searcher.result(plan).state.rows.parts)
    except AspectraError as error:
        return f"{error.what} ({error.why})"
    ids = [searcher.index.ids[at] for at in fused.papers]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    columns = [fused.scores, *fused.raw, *fused.standardised, *fused.grades, *fused.moves]
    bits = [None if one is None else np.asarray(one)[order].tobytes() for one in columns]
    for timed in (found, *found.get("steps", ())):
        del timed["seconds"]
    why = [searcher.why_not(plan, paper) for paper in ("p007", "p060", "p111")]
    return found, sorted(ids), bits, fused.scales, why


@pytest.mark.parametrize("count", COUNTS)
def test_shards_answer_as_one_library(tmp_path, load, count):
    ran = Counter[str]()
    one, many = both(tmp_path, PAPERS, count, load)
    with one, many:
        for number in range(count * 1000, count * 1000 + PLANS):
            plan = generated(one, random.Random(number))
            assert generated(many, random.Random(number)) == plan
            if plan is None:
                continue
            expected = answer(one, plan)
            assert answer(many, plan) == expected, plan
            ran["found" if isinstance(expected, tuple) else "error"] += 1
    assert ran["found"] > PLANS / 4


WORKS = [
    Paper("10.1/a", "Owls hunt at night in old forests", "They listen.", ("Ann Ash",), 2019),
    Paper("arxiv:1", "Owls hunt at night in old forests", "They hear.", ("Ann Ash",), 2018),
    Paper("10.1/b", "Bees dance in the dark hive", "They turn.", ("Bo Birch",), 2020),
    Paper("x1", "Bees dance in the dark hive", "", ("Bo Birch",), 2020),
    Paper("d", "Mice fear owls", "Always.", ("Di Dogwood",), 2022),
    Paper(
        "c",
        "A review of forest animals",
        "All.",
        ("Cy Cedar",),
        2021,
        references=(
            Reference(title="Owls hunt at night in old forests"),
            Reference(raw="Birch: Bees dance in the dark hive, 2020"),
        ),
    ),
]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_works_and_citations_reach_over_shards(tmp_path, count):
    one = Store.create(tmp_path / "one")
    put(one, WORKS)
    collection = Store.create(tmp_path / "collection", shards=count)
    put(collection, WORKS)
    assert not (tmp_path / "collection" / "generations").exists()
    index_shards(collection, IndexSettings(encoders=(), chunks=(), lenses=()))
    ids = [paper.id for paper in WORKS]
    assert len(collection) == len(one) == len(ids)
    assert sorted(collection.ids()) == sorted(ids)
    expected = {i: sorted(others) for i, others in one.versions(ids).items()}
    assert {i: sorted(others) for i, others in collection.versions(ids).items()} == expected
    assert len(expected) == 4
    for paper in ids:
        assert collection.get(paper) == one.get(paper)
        # Of records with one title, the one that was added first is cited: another order, another record.
        assert works(collection.cites(paper), expected) == works(one.cites(paper), expected)
    assert len(collection.cites("c")) == 2
    assert collection.cited_by(collection.cites("c")[0]) == ["c"]
    assert collection.ids_by_author("Ash") == {"10.1/a", "arxiv:1"}
    assert collection.resolve("Mice fear owls") == "d"
    with collection.snapshot():
        assert {*collection.get_many(["d", "x1", "nowhere"])} == {"d", "x1"}
    with pytest.raises(NoSuchPaper):
        collection.get("nowhere")
    # Its own groups stay where nothing reaches over shards, under numbers of its own.
    groups = dict(collection.fetch("SELECT id, version_group FROM papers"))
    assert groups["10.1/a"] == groups["arxiv:1"] != groups["10.1/b"] == groups["x1"]
    collection.close()
    one.close()


def works(ids, versions) -> list[str]:
    return sorted(min([one, *versions.get(one, ())]) for one in ids)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*.npy")}


def test_a_shard_that_gets_a_paper_changes_no_other(tmp_path, load):
    one, many = both(tmp_path, PAPERS, 3, load)
    one.close()
    collection = many.library
    new = Paper("new owl", "Owls and networks", "A network of owls.", ("Ann Author3",), 2024)
    mine = shard_of(new.id, 3)
    others = [shard.folder for number, shard in collection.shards.items() if number != mine]
    before = [contents(folder) for folder in others]
    put(collection, [new])
    assert many.engine.changes() == (frozenset(), 1)  # until the index is made, as in a library
    done = index_shards(collection, load=load)
    assert (done.papers, done.changed, done.encoded) == (len(PAPERS) + 1, True, 1)
    assert [contents(folder) for folder in others] == before
    assert new.id not in many.search("owls network", "bm25", limit=200).ids  # the generation that it opened
    many.refresh()
    assert new.id in many.search("owls network", "bm25", limit=200).ids
    again = index_shards(collection, load=load)
    assert (again.papers, again.changed) == (len(PAPERS) + 1, False)
    with collection.writing("remove") as writer:
        assert writer.remove([new.id]) == 1
        with pytest.raises(NoSuchPaper, match="nothing was removed"):
            writer.remove(["p001", "nowhere"])
    assert "p001" in collection
    assert new.id not in many.search("owls network", "bm25", limit=200).ids
    many.close()


def test_a_shard_that_was_indexed_by_itself_takes_the_standard_again(tmp_path, load):
    one, many = both(tmp_path, PAPERS, 3, load)
    one.close()
    collection = many.library
    build_index(collection.shards[1], rebuild=True, load=load)
    assert IndexedShard.of(collection.shards[1]).standard != IndexedShard.of(collection.shards[0]).standard
    index_shards(collection, load=load)
    assert len({IndexedShard.of(shard).standard for shard in collection.shards.values()}) == 1
    many.close()


def test_without_a_shard_the_others_are_searched_where_that_is_asked_for(tmp_path, load):
    one, many = both(tmp_path, PAPERS, 3, load)
    everything = one.search("owls network", "hybrid", limit=200)
    one.close()
    many.close()
    folder = tmp_path / "collection"
    (folder / "shards/1").rename(tmp_path / "away")
    with pytest.raises(LibraryCorrupt, match=r"shards/1 is missing") as error:
        Store(folder)
    assert "--partial" in error.value.hint
    with Searcher(Store(folder, partial=True), load) as some:
        found = some.search("owls network", "hybrid", limit=200)
        left = [hit for hit in everything if shard_of(hit.id, 3) != 1]
        # The same scores: what papers are measured by is that of all of them.
        assert [(hit.id, hit.score, hit.evidence) for hit in found] == [
            (hit.id, hit.score, hit.evidence) for hit in left
        ]
        lost = sum(shard_of(paper.id, 3) == 1 for paper in PAPERS)
        assert f"shards/1 is missing: {lost} of 120 papers were not searched" in found.warnings
        assert not [warning for warning in found.warnings if "removed" in warning]
        with pytest.raises(UsageError, match="while shards/1 is missing"):
            put(some.library, [Paper("new")])


def test_what_cannot_be_read_is_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match="11 shards"):
        Store.create(tmp_path / "many", shards=MOST + 1)
    folder = tmp_path / "collection"
    Store.create(folder, shards=2).close()
    with pytest.raises(UsageError, match="of 2 shards"):
        Store.create(folder, shards=3)
    with Store(folder) as collection:
        put(collection, WORKS)
        with pytest.raises(UsageError, match="is a collection"), collection.writing("zotero sync"):
            pass
        for work in (build_index, merge_segments):
            with pytest.raises(UsageError, match="is a collection"):
                work(collection)
        with pytest.raises(UsageError, match="in its shards"):
            collection.derived.orphans()
    (folder / "shards/1").rename(folder / "elsewhere")
    with pytest.raises(LibraryCorrupt, match=r"shards/1 is missing"):
        Store(folder)
    (folder / "elsewhere").rename(folder / "shards/1")
    held = (folder / MANIFEST).read_text()
    outside = [[], ["../plain"], ["/etc"], ["shards/0", "shards/2"], [f"shards/{n}" for n in range(11)]]
    for text in (
        "{",
        *(json.dumps({"format": 1, "shards": names}) for names in outside),
        held.replace("1", "2"),
    ):
        (folder / MANIFEST).write_text(text)
        with pytest.raises(LibraryCorrupt, match=MANIFEST):
            Store(folder)
    (folder / MANIFEST).write_text(held)
    for name in ("shards/1", "shards/1/library.db", "shards", MANIFEST):  # nothing of others is read
        (folder / name).rename(tmp_path / "other")
        (folder / name).symlink_to(tmp_path / "other")
        with pytest.raises(LibraryCorrupt, match=f"{name} is a symbolic link"):
            Store(folder)
        (folder / name).unlink()
        (tmp_path / "other").rename(folder / name)
    Store(folder).close()
    plain = Store.create(tmp_path / "plain")
    put(plain, WORKS)
    plain.close()
    with pytest.raises(UsageError, match="with papers"):
        Store.create(tmp_path / "plain", shards=2)


FILES = {
    "one.bib": "@article{a, title={Owls hunt}, doi={10.1000/owl}, year={2001}}\n"
    "@article{b, title={Bees dance}, year={2002}}\n@article{,}\n",
    "two.bib": "@article{a2, title={Owls hunt}, doi={10.1000/OWL}, abstract={They listen.}}\n"
    "@article{c, title={Mice fear owls}, year={2003}}\n",
}


def test_files_are_added_once_and_go_to_all_shards(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in FILES]
    reports = {}
    with create_library(tmp_path / "one") as one, create_library(tmp_path / "many", shards=3) as many:
        for library in (one, many):
            before = library.works.last_positions
            reports[library] = [
                [
                    (r.added, r.updated, r.unchanged, r.skipped, r.known, r.with_abstract, r.remarks)
                    for r in library.add(*paths)
                ]
                for _ in range(2)
            ]
            assert library.index(encoders=[], lenses=[]).papers == 4
            assert library.works.added_since(before) == library.works.added_since(before)
        assert reports[one] == reports[many]
        assert [r[4] for r in reports[many][1]] == [True, True]  # not read again
        facts, expected = many.status(), one.status()
        assert sum(facts.pop("shards").values()) == 4
        own = {"folder", "revision", "bytes", "index"}
        assert {name: facts[name] for name in facts.keys() - own} == {
            name: expected[name] for name in expected.keys() - own
        }
        assert facts["records_skipped"] == 1
        assert [(r["place"], r["reason"]) for r in remarks(many.store)] == [
            (r["place"], r["reason"]) for r in remarks(one.store)
        ]
        assert many.show("Mice fear owls") == one.show("Mice fear owls")
        assert many.store.versions(["a"]) == one.store.versions(["a"]) == {"a": ["a2"]}
        assert many.search("mice").ids == one.search("mice").ids == ["c"]


def test_a_file_that_was_cut_says_nothing_of_the_records_it_lost(tmp_path):
    papers = [Paper(f"p{number}", f"Owls hunt at night {number}") for number in range(9)]
    cut = [*papers[:4], Remark("line 9", "unreadable")]
    for folder, shards in (("one", 0), ("many", 3)):
        with Store.create(tmp_path / folder, shards=shards) as library:
            for records in (papers, cut):
                with library.writing("add") as writer:
                    writer.add(records, path="owls.bib")
            assert len(library.marks.origins([paper.id for paper in papers])) == 9
            with library.writing("add") as writer:
                writer.add(papers[:4], path="owls.bib")
            assert len(library.marks.origins([paper.id for paper in papers])) == 4


def test_marks_lie_beside_the_shards(tmp_path):
    noted = tmp_path / "noted.jsonl"
    with create_library(tmp_path / "other") as other:
        put(other.store, [Paper("n", "A noted paper", authors=("Al Alder",))])
        other.marks.tag("n", add=["kept"])
        noted.write_text(other.export(["n"], "jsonl"))
    with create_library(tmp_path / "one") as one, create_library(tmp_path / "many", shards=3) as many:
        for library in (one, many):
            put(library.store, WORKS)
            library.add(noted)
            library.index(encoders=[], lenses=[])
            library.marks.tag("d", "10.1/b", add=["owls", "mice"])
            library.marks.tag("d", remove=["mice"])
            library.marks.note("c", "Read again.")
            library.marks.decide("exclude", "d", "x1", reason="off topic")
            library.marks.decide("include", "10.1/a")
            library.marks.undo()
        for read in (
            lambda marks: marks.tags(),
            lambda marks: marks.tag_counts(),
            lambda marks: {i: (d.decision, d.reason) for i, d in marks.decisions().items()},
            lambda marks: [(i, note.text) for i, note in marks.notes()],
            lambda marks: [action.verb for action in marks.actions()],
        ):
            assert read(many.store.marks) == read(one.store.marks)
        assert many.store.marks.tags()["d"] == ["owls"]
        assert many.search("mice", conditions=["require tag=owls"]).ids == ["d"]
        assert many.store.check() == []
        assert all(shard.marks.tags() == {} for shard in many.store.shards.values())
        # A paper that is gone takes its marks along, as in a library; what changed is copied again.
        many.remove("d")
        put(many.store, [replace(WORKS[2], abstract="They turn and turn.")])
        many.index()
        assert many.store.check() == []
        assert many.store.marks.tags() == {"10.1/b": ["mice", "owls"], "n": ["kept"]}


def test_a_file_that_cannot_be_read_to_its_end_leaves_what_was_read(tmp_path):
    def cut():
        yield Paper("a", "Owls hunt")
        yield Paper("b", "Bees dance")
        raise ValueError("cut")

    with Store.create(tmp_path / "many", shards=2) as collection:
        with pytest.raises(ValueError, match="cut"):
            put(collection, cut())
        assert sorted(collection.ids()) == ["a", "b"]


def test_papers_that_share_an_id_share_a_shard():
    assert len({shard_of(f"10.1/x{end}", 7) for end in ("", "~2", "~33")}) == 1
    drawn = Counter(shard_of(f"paper {number}", 4) for number in range(4000))
    assert min(drawn.values()) > 900
    # A paper never moves.
    assert [shard_of("10.1145/3368089", n) for n in (2, 3, 7, 10)] == [0, 1, 6, 6]


def test_places_lie_in_the_range_of_the_shard(tmp_path):
    collection = Store.create(tmp_path / "collection", shards=3)
    put(collection, WORKS)
    rows = collection.fetch("SELECT pos, id FROM papers")
    assert all(pos // SPAN == shard_of(paper, 3) for pos, paper in rows)
    collection.close()


@pytest.mark.parametrize(
    "place",
    [
        "build_index",
        "Store.link_shards",
        "_assemble",
        "_write_whole",
        "Generations.flush",
        "Generations.switch",
    ],
)
def test_an_index_that_is_stopped_leaves_the_old_one_and_goes_on(tmp_path, monkeypatch, place):
    settings = IndexSettings(encoders=(), chunks=(), lenses=())
    collection = Store.create(tmp_path / "collection", shards=3)
    put(collection, WORKS)
    index_shards(collection, settings)
    new = Paper("new", "Mice sleep in the hive", "All winter.", year=2024)
    put(collection, [new])
    owner = {"Store": Store, "Generations": Generations}.get(place.partition(".")[0], building)
    work = getattr(owner, place.rpartition(".")[2])
    left = {"build_index": 1, "Generations.flush": 1, "Generations.switch": 1}.get(place, 0)

    def stopped(*given, **named):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return work(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, place.rpartition(".")[2], stopped)
        with pytest.raises(KeyboardInterrupt):
            index_shards(collection)
    with Searcher(Store(tmp_path / "collection")) as old:
        assert old.search("mice").ids == ["d"]
    done = index_shards(collection)
    assert (done.papers, done.changed) == (len(WORKS) + 1, True)
    assert len([*(tmp_path / "collection/generations").glob(".building*")]) == 0
    with Searcher(collection) as found:
        assert sorted(found.search("mice").ids) == ["d", "new"]


def test_words_that_were_searchable_early_are_weighed_by_the_standard(tmp_path, load, monkeypatch):
    """Reverse probes weigh words, of each shard by the standard."""
    monkeypatch.setattr("aspectra.views.build.run.MANY", 10)
    one, many = both(tmp_path, [replace(paper, sections=()) for paper in PAPERS], 3, load)
    with one, many:
        for seed in ("p007", "p030", "p071"):
            plan = one.plan(Query(seeds=(seed,), limit=40), "directional")
            assert answer(many, plan) == answer(one, plan)


def test_a_rebuilt_shard_is_read_by_the_collection(tmp_path, load):
    one, many = both(tmp_path, PAPERS, 3, load)
    one.close()
    collection = many.library
    before = collection.generations.current()
    done = index_shards(collection, load=load, rebuild=True)
    assert done.changed
    folder = collection.generations.current()
    assert folder.name == done.generation != before.name
    for number, below in enumerate(("", "shard-1", "shard-2")):
        own = IndexedShard.of(collection.shards[number]).folder
        for file in own.rglob("*documents_values.npy"):
            assert file.samefile(folder / below / file.relative_to(own))
    many.close()


def test_statements_of_others_in_a_shard_are_refused(tmp_path):
    folder = tmp_path / "collection"
    Store.create(folder, shards=2).close()
    with contextlib.closing(sqlite3.connect(folder / "shards/1/library.db")) as db:
        db.execute("CREATE VIEW more AS SELECT 1")
    with pytest.raises(LibraryCorrupt, match=r"shards/1/library\.db is not a library") as error:
        Store(folder)
    assert "view" in error.value.why


def test_a_snapshot_of_a_collection_reads_its_revisions_once(tmp_path, monkeypatch):
    collection = Store.create(tmp_path / "collection", shards=3)
    put(collection, WORKS)
    with collection.snapshot():
        before = collection.revision
        put(Store(tmp_path / "collection"), [Paper("new", "Mice sleep")])
        monkeypatch.setattr(ReadConnection, "fetch", None)  # nothing is read again
        assert collection.revision == before > 0
        monkeypatch.undo()
    assert collection.revision > before
    collection.close()
