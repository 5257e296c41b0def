"""Papers that changed are written beside an index: what it answers is what one made in one go answers."""

from __future__ import annotations

import math
import os
import shutil

import numpy as np
import pytest

from aspectra.base.errors import LibraryBusy, LibraryCorrupt
from aspectra.base.files import Disk, using
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.searcher import Searcher
from aspectra.testing.simulated_disk import Fault, run_with_fault
from aspectra.views.build import segments as switching
from aspectra.views.build.run import build_index, merge_segments
from aspectra.views.build.segments import Segments
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder
from long import LONG

ALWAYS = Segments(least=1, share=100.0, number=50)
WORDS = ("owl", "fox", "bear", "wolf", "lynx", "crab", "moth", "newt", "hare", "mole")
SETTINGS = IndexSettings(
    encoders=("fake",), chunks=("20w",), lenses=("language", "length", "roles"), readers=()
)
QUERIES = ("owl fox moth", "bear", "the wolf and the hare", "new word")


def paper(number: int, version: int = 0, *, full: bool = False) -> Paper:
    """A paper; its versions have one title, so that one replaces another."""
    draw = np.random.default_rng((number, version))
    words = list(draw.choice(WORDS, 4 + number % 9))
    text = f"{' '.join(words).capitalize()}. We count {words[0]} n{number}. Results of v{version} are new."
    sections = (Section("Method", f"{text} {' '.join(draw.choice(WORDS, 50))}."),) if full else ()
    return Paper(
        f"p{number:03}",
        f"{WORDS[number % 10]} {WORDS[number % 7]} of n{number}x{number}",
        text,
        year=2000 + number % 20,
        venue=f"Venue {number % 3} {version}",
        sections=sections,
        references=tuple(
            {"identifiers": {"id": f"p{(number * 7 + k) % 40:03}"}} for k in range(1 + version, number % 4)
        ),
    )


def indexed(store: Store, segments: Segments = ALWAYS, **more):
    return build_index(store, SETTINGS, load=lambda _: FakeEncoder(), segments=segments, **more)


def opened(store: Store) -> Searcher:
    return Searcher(Store(store.folder), lambda _: FakeEncoder())


def changed(store: Store, add=(), remove=()) -> None:
    with store.writing("test") as writer:
        if remove:
            writer.remove([*remove])
        if add:
            writer.add(add)


def assert_same(one: Searcher, other: Searcher) -> None:
    """Every column, vector, link and answer of two libraries of the same papers."""
    a, b = one.index, other.index
    assert a.ids == b.ids
    for name in ("id_order", "sample", "years", "cited_by", "references", "full_text"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for mine, theirs in zip(a.citations, b.citations, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for column in ("venues", "languages", "types", "origins"):
        (codes, names), (others, theirs) = a.coded(column), b.coded(column)
        assert [names[c] for c in codes] == [theirs[c] for c in others]
    assert a.view_names == b.view_names
    for name in a.lens_names:
        np.testing.assert_array_equal(a.lens(name).values, b.lens(name).values)
    for name in a.view_names:
        mine, theirs = a.view(name), b.view(name)
        assert (mine.units is None) == (theirs.units is None)
        if mine.units is not None:
            np.testing.assert_array_equal(mine.units.offsets, theirs.units.offsets)
            np.testing.assert_array_equal(mine.units.spans[:], theirs.units.spans[:])
        if hasattr(mine, "vectors"):
            np.testing.assert_array_equal(mine.vectors[:], theirs.vectors[:])
            np.testing.assert_array_equal(mine.vectors.whole(), theirs.vectors.whole())
            rows = np.arange(len(mine.vectors))[::-3]
            np.testing.assert_array_equal(mine.vectors[rows], theirs.vectors[rows])
    assert a.manifest["state"] == b.manifest["state"]
    assert {n: v.get("words") for n, v in a.manifest["views"].items()}.keys() == b.manifest["views"].keys()
    for recipe in ("bm25", "hybrid", "guided"):
        for query in QUERIES:
            mine, theirs = one.search(query, recipe, limit=60), other.search(query, recipe, limit=60)
            assert mine.ids == theirs.ids, (recipe, query)
            for left, right in zip(mine, theirs, strict=True):
                if recipe == "bm25":
                    assert left.score == right.score  # to the last bit
                assert math.isclose(left.score, right.score, rel_tol=3e-6, abs_tol=1e-6)
                assert left.evidence == right.evidence
    for seed in a.ids[:5]:
        assert one.similar(seed, limit=60).ids == other.similar(seed, limit=60).ids


@pytest.fixture
def place(tmp_path):
    return tmp_path


def anew(store: Store, folder) -> Store:
    """The same papers in the same places, indexed in one go."""
    shutil.copytree(store.folder, folder)
    made = Store(folder)
    indexed(made, rebuild=True)
    return made


STEPS = [
    {"add": [paper(50)]},
    {"add": [paper(51), paper(52)], "remove": ["p003"]},
    {"add": [paper(7, 1)]},
    {"remove": ["p000", "p051"]},
    {"add": [paper(n, 2) for n in (1, 2, 50)] + [paper(60)]},
    {"add": [paper(3)]},
    {"add": [paper(61, full=True), paper(8, 3, full=True)]},
]


@pytest.mark.parametrize("full", [False, True])
def test_an_index_in_segments_is_that_of_one_go(place, full):
    store = Store.create(place / "library")
    changed(store, [paper(n, full=full and n % 2 == 0) for n in range(40)])
    assert indexed(store).changed
    for number, step in enumerate(STEPS[: None if full else -1]):
        changed(store, **step)
        report = indexed(store)
        assert report.changed
        assert report.papers == len(store)
        if LONG or number % 3 == full:
            with opened(store) as ours, opened(anew(store, place / str(number))) as theirs:
                assert len(ours.index.manifest["segments"]) > 1
                assert len(theirs.index.manifest["segments"]) == 1
                assert_same(ours, theirs)
        assert store.generations.verify(store.generations.current()) == []
    assert not indexed(store).changed
    assert _merge(store).changed
    with opened(store) as ours:
        assert len(ours.index.manifest["segments"]) == 1
    assert not _merge(store).changed


def test_only_what_is_new_is_written(place):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    first = store.generations.current()
    changed(store, [paper(50)])
    report = indexed(store)
    assert (report.encoded, report.papers) == (1, 41)
    second = store.generations.current()
    assert second != first
    vectors = "abstract@fake/vectors.npy"
    assert os.path.samefile(first / vectors, second / vectors)
    assert np.load(second / "segment-1" / vectors).shape[0] == 1


def test_few_papers_or_many_changes_are_written_anew(place):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    changed(store, [paper(50)])
    indexed(store, Segments(least=41))
    with opened(store) as found:
        assert len(found.index.manifest["segments"]) == 1
    for number, limits in enumerate((Segments(1, 0.05), Segments(1, most=2), Segments(1, 9, number=0))):
        changed(store, [paper(70 + 3 * number + k) for k in range(3)])
        indexed(store, limits)
        with opened(store) as found:
            assert len(found.index.manifest["segments"]) == 1
            assert len(found.index) == len(store)


def test_the_first_full_text_is_written_with_everything_else(place):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    changed(store, [paper(50, full=True)])
    indexed(store)
    with opened(store) as found:
        assert "full@bm25" in found.index.view_names
        assert len(found.index.manifest["segments"]) == 1


def test_a_search_after_removing_everything_of_a_segment(place):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    changed(store, [paper(50)])
    indexed(store)
    changed(store, remove=["p050"])
    indexed(store)
    with opened(store) as ours, opened(anew(store, place / "anew")) as theirs:
        assert_same(ours, theirs)


def test_a_word_whose_papers_are_all_gone_is_a_word_that_was_never_there(place):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    changed(store, [Paper("zebu", "Zebu zebu", "We count zebu cattle.")])
    settings = SETTINGS.changed(lexical=replace(SETTINGS.lexical, method="bm25l"))
    build_index(store, settings, load=lambda _: FakeEncoder(), segments=ALWAYS)
    changed(store, remove=["zebu"])
    build_index(store, settings, load=lambda _: FakeEncoder(), segments=ALWAYS)
    built = Store.create(place / "anew")
    changed(built, [paper(n) for n in range(40)])
    build_index(built, settings, load=lambda _: FakeEncoder())
    with opened(store) as ours, opened(built) as theirs:
        assert "zebu" in ours.index.view("abstract@bm25")._index.vocabulary
        assert ours.index.statistics(["zebu"]).rarity(["zebu"]) == {}
        for query in ("zebu owl", "zebu cattle"):
            mine, its = ours.search(query, "bm25", limit=60), theirs.search(query, "bm25", limit=60)
            # A paper without a word of the query has a score, too, by this variant.
            assert [(hit.id, hit.score, hit.evidence) for hit in mine] == [
                (hit.id, hit.score, hit.evidence) for hit in its
            ]


def _in_segments(place) -> Store:
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    changed(store, [paper(50)])
    assert not indexed(store).merge_due
    changed(store, remove=["p003"])
    assert indexed(store, Segments(1, 0.05, number=9)).merge_due  # one of the two that may be dead
    return store


def _merge(store: Store):
    return merge_segments(store, load=lambda _: FakeEncoder())


def test_segments_are_merged_beside_other_work(place):
    store = _in_segments(place)
    with opened(store) as before:
        assert _merge(store).changed
        with opened(store) as after:
            assert len(after.index.manifest["segments"]) == 1
            assert_same(before, after)  # a reader keeps what it opened
    assert not _merge(store).changed
    assert not indexed(store).changed


def test_a_merge_that_was_overtaken_changes_nothing(place, monkeypatch):
    store = _in_segments(place)
    current = store.generations.current()
    made = switching.write_generation

    def slow(draft):
        out = made(draft)
        monkeypatch.setattr(switching, "write_generation", made)
        with Store(store.folder) as other:  # nobody waits for the merge
            changed(other, [paper(51)])
        return out

    monkeypatch.setattr(switching, "write_generation", slow)
    report = _merge(store)
    assert not report.changed
    assert store.generations.current() == current
    assert store.generations.leftovers() == []
    assert _merge(store).changed  # with what waits for an index
    with opened(store) as found:
        assert "p051" in found.index.positions
        assert len(found.index.manifest["segments"]) == 1


def test_a_merge_that_was_overtaken_at_last_changes_nothing(place, monkeypatch):
    store = _in_segments(place)
    current = store.generations.current()
    purposes, given = [], Store.writing

    def writing(library, purpose, **more):
        purposes.append(purpose)
        if purposes == ["merge", "merge"]:  # to make the folder, to switch
            with Store(store.folder) as other:
                changed(other, [paper(51)])
        return given(library, purpose, **more)

    monkeypatch.setattr(Store, "writing", writing)
    assert not _merge(store).changed
    assert purposes == ["merge", "merge", "test"]
    assert store.generations.current() == current


def test_a_merge_that_was_overtaken_goes_no_further(place, monkeypatch):
    store = _in_segments(place)
    steps = []

    def progress(step, done, total):
        if not steps:
            with Store(store.folder) as other:
                changed(other, [paper(51)])
        steps.append(step)

    assert not merge_segments(store, progress=progress, load=lambda _: FakeEncoder()).changed
    assert len(steps) == 1


def test_others_write_while_a_merge_writes_sums_and_flushes(place):
    store = _in_segments(place)
    busy, free = [], []

    class Beside(Disk):
        """Another writer at every operation on the disk."""

        def _try(self, name):
            try:
                with Store(store.folder) as other, other.writing("tag"):
                    free.append(name)
            except LibraryBusy:
                busy.append(name)

        def create(self, path, mode="wb"):
            self._try(path.name)
            return super().create(path, mode)

        def sync(self, path):
            self._try(path.name)
            super().sync(path)

        def remove(self, path):
            self._try("removing")
            super().remove(path)

    with using(Beside()):
        assert _merge(store).changed
    folder = store.generations.current()
    written = [path for path in folder.rglob("*.*") if "standard" not in path.relative_to(folder).parts[:1]]
    files = {path.name for path in written if path.is_file()}
    assert files - {"manifest.json"} <= {*free}
    assert "removing" in free
    assert {name for name in busy if not name.startswith(".CURRENT")} == {"manifest.json"}


def test_a_merge_waits_for_a_writer_who_changes_nothing(place, monkeypatch):
    store = _in_segments(place)
    held = []

    def made(draft, made=switching.write_generation):
        held.append(Store(store.folder).writing("tag"))
        held[0].__enter__()
        return made(draft)

    def nap(_):
        held.pop().__exit__(None, None, None)

    monkeypatch.setattr(switching, "write_generation", made)
    monkeypatch.setattr(switching, "sleep", nap)
    assert _merge(store).changed
    assert held == []


def test_a_merge_removes_what_no_paper_needs(place, monkeypatch):
    store = _in_segments(place)
    changed(store, [paper(7, 1)])
    indexed(store)
    monkeypatch.setattr(switching, "_FEW_VALUES", 2)
    orphans = store.derived.orphans()
    assert len(orphans) > 2
    before = store.fetch("SELECT count(*) FROM derived")[0][0]
    assert _merge(store).changed
    assert store.derived.orphans() == []
    assert store.fetch("SELECT count(*) FROM derived")[0][0] == before - len(orphans)
    assert store.check() == []


def test_values_are_kept_that_a_paper_needs_again(place, monkeypatch):
    store = _in_segments(place)
    changed(store, [paper(7, 1)])
    indexed(store)
    found = type(store.derived).orphans

    def slow(derived):
        out = found(derived)
        assert out
        with Store(store.folder) as other:
            changed(other, [paper(7)])  # as it was
        return out

    monkeypatch.setattr(type(store.derived), "orphans", slow)
    before = store.fetch("SELECT count(*) FROM derived")[0][0]
    assert _merge(store).changed
    assert store.fetch("SELECT count(*) FROM derived")[0][0] == before


def test_one_merge_at_a_time(place):
    store = _in_segments(place)
    with Store(store.folder).generations.build():
        assert store.generations.building()
        assert not _merge(store).changed
    assert not store.generations.building()
    assert _merge(store).changed


def test_files_are_copied_where_there_are_no_hard_links(place):
    class Plain(Disk):
        def link(self, source, target):
            return False

    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    first = store.generations.current()
    changed(store, [paper(50)])
    with using(Plain()):
        indexed(store)
    second = store.generations.current()
    assert not os.path.samefile(first / "years.npy", second / "years.npy")
    assert store.generations.verify(second) == []
    with opened(store) as ours, opened(anew(store, place / "anew")) as theirs:
        assert_same(ours, theirs)
    damaged = second / "lens-length.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    changed(store, [paper(51)])
    with using(Plain()), pytest.raises(LibraryCorrupt, match=r"lens-length\.npy"):
        indexed(store)
    (found,) = store.generations.verify(store.generations.current())
    assert found.startswith("lens-length.npy has changed")


def test_a_paper_that_was_removed_and_brought_back_does_not_stop_a_merge(place):
    store = _in_segments(place)
    changed(store, remove=["p005"])
    with store.writing("test") as writer:
        writer.marks.undo()
    changed(store, [paper(51)])
    indexed(store)
    with opened(store) as before:
        assert _merge(store).changed
        with opened(store) as after:
            assert_same(before, after)


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
@pytest.mark.parametrize("kind", ["kill", "power", "full"])
def test_a_segment_that_was_not_finished_leaves_the_index_as_it_was(place, kind):
    store = Store.create(place / "library")
    changed(store, [paper(n) for n in range(40)])
    indexed(store)
    changed(store, [paper(50), paper(7, 1)], remove=["p003"])
    store.close()

    def step(folder):
        with Store(folder) as library:
            indexed(library)

    shutil.copytree(store.folder, place / "counted")
    total = run_with_fault(lambda: step(place / "counted"), place / "counted", Fault(10**9)).operations
    assert total > 100
    draw = np.random.default_rng(len(kind))
    for number, at in enumerate(draw.choice(total, 8 if LONG else 3, replace=False).tolist()):
        folder = place / f"{number}"
        shutil.copytree(store.folder, folder)
        before = (folder / "generations" / "CURRENT").read_bytes()
        outcome = run_with_fault(lambda f=folder: step(f), folder, Fault(at, kind, number))
        assert outcome.expected
        with Store(folder) as library:
            assert library.check() == []
            current = library.generations.current()
            assert library.generations.verify(current) == []
            assert len(list((current / "segment-1").glob("*"))) > 0 or current.name == "000001"
            assert (folder / "generations" / "CURRENT").read_bytes() == before or current.name == "000002"
            indexed(library)
            assert library.generations.leftovers() == []
            with opened(library) as found:
                assert len(found.index) == 40
                assert len(found.index.manifest["segments"]) == 2
