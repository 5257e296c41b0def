"""An index of many new papers: searchable by words at once, while others write, and the same in the end."""

from __future__ import annotations

import json
import threading
import time
from itertools import count

import numpy as np
import pytest

from aspectra.base.errors import LibraryBusy
from aspectra.base.values import replace
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.searcher import Searcher
from aspectra.views.build import run as ahead
from aspectra.views.build import values
from aspectra.views.build.run import build_index
from aspectra.views.build.work import Work
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

BIRDS = "owl tern wren crow swan gull lark kite dove hawk".split()
PAPERS = [
    Paper(
        f"p{n}", f"The {BIRDS[n % 10]} of place {n}", f"We count {BIRDS[n % 7]} birds. They are {n} in all."
    )
    for n in range(30)
]
NEW = Paper("new", "The ibis of a far place", "We count ibis birds.")
SETTINGS = IndexSettings(encoders=("fake",), batch=8)


class Busy(FakeEncoder):
    """Something happens while it encodes."""

    def __init__(self, what=lambda: None):
        super().__init__()
        self.what = what

    def encode(self, texts, **more):
        self.what()
        return super().encode(texts, **more)


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(ahead, "MANY", 20)
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(PAPERS)
        yield store


def searcher(store):
    return Searcher(Store(store.folder), lambda _: FakeEncoder())


def index(store, encoder=None, **more):
    return build_index(store, SETTINGS, load=lambda _: encoder or FakeEncoder(), **more)


def found(store, text):
    with searcher(store) as opened:
        ranking = opened.search(text, limit=40)
        return [(hit.id, round(hit.score, 5)) for hit in ranking], ranking.warnings


def test_words_are_searched_and_decisions_made_while_vectors_are(library, tmp_path, monkeypatch):
    seen = []

    def meanwhile():
        with Store(library.folder) as other, other.writing("decide") as writer:
            writer.marks.decide(["p1"], "include")
        ids, warnings = found(library, "owl, prefer surveys")
        seen.append((ids[0][0], warnings))

    steps = []
    report = index(library, Busy(meanwhile), progress=lambda step, done, total: steps.append(step))
    assert {one for one, _ in seen} <= {"p0", "p10", "p20"}
    assert all("searched without vectors of fake so far: aspectra index makes them" in w for _, w in seen)
    assert report.encoded == len(PAPERS)
    assert report.lensed > 0
    told = [step for n, step in enumerate(steps) if step.startswith("searchable") and step not in steps[:n]]
    assert told == ["searchable without lenses and vectors of fake", "searchable without vectors of fake"]
    with Store.create(tmp_path / "whole") as whole:
        with whole.writing("add") as writer:
            writer.add(PAPERS)
        monkeypatch.setattr(ahead, "MANY", len(PAPERS) + 1)  # all under the lock
        index(whole)
        assert found(library, "crow of a place") == found(whole, "crow of a place")
    assert not index(library).changed


def test_words_are_written_once_and_are_those_of_an_index_in_one_go(library, tmp_path, monkeypatch):
    read = []
    index(library, progress=lambda step, done, total: read.append(step) if not done else None)
    assert read.count("reading abstracts") == 1
    first = library.generations.current()
    monkeypatch.setattr(ahead, "MANY", len(PAPERS) + 1)
    index(library, rebuild=True)
    again = library.generations.current()
    assert again != first
    names = {path.relative_to(first) for path in first.rglob("*") if path.is_file()}
    assert names == {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    different = {str(name) for name in names if (first / name).read_bytes() != (again / name).read_bytes()}
    assert different <= {"manifest.json"}
    manifests = [json.loads((folder / "manifest.json").read_bytes()) for folder in (first, again)]
    assert manifests[0]["files"] == manifests[1]["files"]


def test_a_paper_that_comes_meanwhile_is_indexed_too(library):
    calls = []

    def meanwhile():
        calls.append(1)
        if len(calls) == 2:
            with Store(library.folder) as other, other.writing("add") as writer:
                writer.add([NEW])
                writer.remove(["p3"])

    index(library, Busy(meanwhile))
    with searcher(library) as opened:
        assert set(opened.index.ids) == {p.id for p in PAPERS} - {"p3"} | {"new"}
        assert opened.index.waiting == ""
        assert np.asarray(opened.index.view("abstract@fake").facts.stored["dimensions"]) == 32
    assert found(library, "ibis")[0][0][0] == "new"


@pytest.mark.parametrize("comes", [False, True])
def test_values_are_looked_for_again_only_where_papers_came_meanwhile(library, monkeypatch, comes):
    passes, whole, first = [], Work.make_lenses, ahead.make_ahead
    monkeypatch.setattr(Work, "make_lenses", lambda work, *given: passes.append(whole(work, *given)))

    def made_ahead(*given, **more):
        made = first(*given, **more)
        if comes:
            with Store(library.folder) as other, other.writing("add") as writer:
                writer.add([NEW])
                writer.remove(["p3"])
        return made

    monkeypatch.setattr(ahead, "make_ahead", made_ahead)
    index(library)
    assert not library.derived.orphans()
    assert len(passes) == 1 + comes
    assert ("new" in [one for one, _ in found(library, "ibis")[0]]) == comes


def test_values_of_texts_that_are_gone_are_removed(library):
    index(library)
    with library.writing("add") as writer:
        writer.add([replace(one, title=f"{one.title} anew") for one in PAPERS])
    report = build_index(library, replace(SETTINGS, batch=9), load=lambda _: FakeEncoder())
    assert report.encoded == len(PAPERS)
    assert not library.derived.orphans()


def test_a_paper_that_comes_before_any_value_is_made(library):
    def added(step, done, total):
        if step == "reading abstracts" and "new" not in ids:
            ids.append("new")
            with Store(library.folder) as other, other.writing("add") as writer:
                writer.add([NEW])

    ids: list[str] = []
    index(library, progress=added)
    assert found(library, "ibis")[0][0][0] == "new"


def test_an_interrupted_index_goes_on_and_words_stay_searchable(library):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index(library, Busy(stop))
    ids, warnings = found(library, "owl")
    assert ids
    assert warnings
    name = library.generations.current().name
    first = []
    build_index(library, load=lambda _: Busy(lambda: first.append(library.generations.current().name)))
    assert first[0] == name  # the words were not written again, and the settings are those of the first run
    assert found(library, "owl")[1] == ()


def test_what_was_encoded_before_a_stop_is_kept(library):
    calls = []

    def stop():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index(library, Busy(stop))
    assert index(library).encoded == len(PAPERS) - 2 * SETTINGS.batch


@pytest.mark.parametrize(("seconds", "stores"), [(0.0, [30]), (2.0, [8, 8, 8, 6])])
def test_vectors_of_a_fast_encoder_are_stored_together(library, monkeypatch, seconds, stores):
    clock, seen = count(), []
    monkeypatch.setattr(values, "perf_counter", lambda: seconds * next(clock))
    store = ahead.InTurns.put_all

    def watched(self, batches):
        given = [(producer, list(rows)) for producer, rows in batches]
        seen.append({producer.name: len(rows) for producer, rows in given}.get("abstract", 0))
        store(self, given)

    monkeypatch.setattr(ahead.InTurns, "put_all", watched)
    assert index(library).encoded == len(PAPERS)
    assert [one for one in seen if one] == stores


def test_two_do_not_make_the_same_values(library):
    with WriterLock(library.folder, "index", name="index.lock"), pytest.raises(LibraryBusy, match="index"):
        index(library)


def test_vectors_that_are_there_stay_until_the_new_ones_are(library):
    index(library)
    with library.writing("add") as writer:
        writer.add([Paper(f"q{n}", f"The {BIRDS[n % 9]} of town {n}", "More birds.") for n in range(25)])
    seen = []

    def meanwhile():
        with searcher(library) as opened:
            seen.append(opened.index.waiting or sorted(opened.index.view_names)[:2])

    assert index(library, Busy(meanwhile)).encoded == 25
    assert seen[0] == ["abstract@bm25", "abstract@fake"]


def test_abstracts_are_searched_before_full_texts(library, monkeypatch):
    monkeypatch.setattr(ahead, "MANY_TEXTS", 2)
    with library.writing("add") as writer:
        writer.add(
            [
                Paper(f"f{n}", f"Finch {n}", "A finch.", sections=(Section("S", "Long. " * 9),))
                for n in range(3)
            ]
        )
    seen = set()

    def meanwhile():
        with searcher(library) as opened:
            seen.add(opened.index.waiting)

    index(library, Busy(meanwhile))
    assert seen == {"vectors of fake", "vectors of full texts"}


def test_a_writer_waits_for_a_brief_one_and_is_refused_by_another(tmp_path):
    held = threading.Event()

    def hold(brief):
        with WriterLock(tmp_path, "index", brief=brief):
            held.set()
            time.sleep(0.2)

    for brief in (True, False):
        held.clear()
        thread = threading.Thread(target=hold, args=(brief,))
        thread.start()
        held.wait()
        if brief:
            with WriterLock(tmp_path, "decide"):
                pass
        else:
            with pytest.raises(LibraryBusy):
                WriterLock(tmp_path, "decide").__enter__()
        thread.join()
