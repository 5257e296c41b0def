"""From papers to rankings with evidence, on a small library with a fake encoder."""

from __future__ import annotations

import gc
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from aspectra.base.errors import BadInput, LibraryCorrupt, NoSuchPaper, UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.condition import limits
from aspectra.search.plan import Fusion, Plan, Search
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build import run as ahead
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe
from conftest import PAPERS
from fake_encoder import FakeEncoder


@pytest.mark.parametrize("planner", ["guided", "hybrid", "bm25", "dense", "fulltext"])
def test_every_planner_finds_the_right_paper(searcher, planner):
    ranking = searcher.search("owls in the dark", recipe=planner)
    assert ranking.ids[0] == "owl"
    assert [h.rank for h in ranking] == list(range(1, len(ranking) + 1))
    assert list(PLANNERS)


def test_evidence_is_the_best_sentence_and_slices_back(searcher):
    ranking = searcher.search("prompt a model to compare documents", evidence=2)
    hit = ranking[0]
    assert hit.id == "rank"
    assert hit.evidence[0].quote == "We prompt a model to compare two documents."
    assert len(hit.evidence) == 2
    for found in ranking:
        whole = searcher.library.get(found.id)
        for e in found.evidence:
            assert field_text(whole, e.field)[e.start : e.end] == e.quote


def test_paper_without_abstract_is_quoted_from_its_text_and_never_by_its_title_alone(searcher):
    hits = {h.id: h for h in searcher.search("transformers read long documents title", limit=5)}
    assert hits["full"].evidence[0].field == "section:0"
    assert not hits["bare"].evidence


def test_similar_leaves_out_the_seed_and_its_versions(library, searcher, encoder):
    with library.writing("add") as writer:
        writer.add([replace(PAPERS[0].with_id("owl-preprint"), venue="arXiv")])
    build_index(library, load=lambda _: encoder)
    searcher.refresh()
    ids = searcher.similar("10.1000/owl", limit=10).ids
    assert "owl" not in ids
    assert "owl-preprint" not in ids
    assert ids
    found = searcher.search("owls hunt at night", limit=10)
    assert len({"owl", "owl-preprint"} & set(found.ids)) == 1
    assert found[0].versions
    both = searcher.search("owls hunt at night", limit=10, versions="all")
    assert {"owl", "owl-preprint"} <= set(both.ids)


def test_seed_search_encodes_nothing(searcher, encoder):
    encoder.encoded.clear()
    assert searcher.similar("owl").ids
    assert encoder.encoded == []


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (limits(since=2021), {"mice", "rank"}),
        (limits(until=2020), {"owl", "full"}),
        (limits(venues=("ir",)), {"rank", "full"}),
        (limits(venues=("mam*",)), {"mice"}),
        (limits(authors=("Lovelace", "young")), {"owl", "mice"}),
        (limits(languages=("de",)), set()),
        (limits(since=2020, venues=("IR",), authors=("zed",)), {"full"}),
        (limits(authors=("nobody",)), set()),
    ],
)
@pytest.mark.parametrize("planner", ["hybrid", "dense", "fulltext"])
def test_limits_are_hard(searcher, conditions, expected, planner):
    found = searcher.search("documents mice owls text", limit=10, conditions=conditions, recipe=planner)
    ids = set(found.ids)
    assert ids <= expected
    if planner != "fulltext":
        assert ids == expected


def test_limit_zero_and_beyond(searcher):
    assert searcher.search("owls", limit=0).ids == []
    assert len(searcher.search("owls", limit=1000)) == len(PAPERS)
    with pytest.raises(UsageError):
        searcher.search("owls", limit=-1)
    with pytest.raises(UsageError, match="empty"):
        searcher.search("   ")
    with pytest.raises(UsageError, match="no year"):
        limits(since=2020, until=2019)


def test_query_without_known_words_still_answers(searcher):
    assert searcher.search("zzzz qqqq", recipe="bm25").ids == []
    assert searcher.search("zzzz qqqq", recipe="bm25").warnings == ()
    (said,) = searcher.search("to be or not to be", recipe="bm25").warnings
    assert said.startswith("“to be or not to be” is not searched: stop words")
    assert len(searcher.search("zzzz qqqq", limit=3)) == 3


def test_ties_fall_by_id_descending(library, settings, encoder):
    with library.writing("add") as writer:
        writer.add([Paper(i, "Twin text", year=1900 + n * 10) for n, i in enumerate(["t1", "t3", "t2"])])
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    for planner in ("bm25", "dense", "hybrid"):
        ids = searcher.search("twin text", recipe=planner, versions="all").ids
        assert ids[:3] == ["t3", "t2", "t1"]
        assert searcher.search("twin text", recipe=planner, limit=2, versions="all").ids == ["t3", "t2"]


def test_indexing_again_does_nothing_and_only_new_papers_are_encoded(library, settings, encoder):
    first = build_index(library, settings, load=lambda _: encoder)
    assert (first.changed, first.encoded, first.papers) == (True, len(PAPERS), len(PAPERS))
    encoder.encoded.clear()
    second = build_index(library, load=lambda _: encoder)
    assert (second.changed, second.generation) == (False, first.generation)
    assert encoder.encoded == []
    with library.writing("add") as writer:
        writer.add([Paper("new", "A new paper", "With one abstract.")])
    third = build_index(library, load=lambda _: encoder)
    assert third.encoded == 1
    # The abstract, then title and sentences each by itself.
    assert encoder.encoded == ["A new paper. With one abstract.", "A new paper", "With one abstract."]


def test_metadata_changes_are_indexed_without_encoding(library, settings, encoder):
    build_index(library, settings, load=lambda _: encoder)
    with library.writing("add") as writer:
        writer.add([replace(PAPERS[0], year=1999)])
    report = build_index(library, load=lambda _: encoder)
    assert (report.changed, report.encoded) == (True, 0)
    found = Searcher(library, load=lambda _: encoder).search("owls", conditions=limits(until=1999))
    assert found.ids == ["owl"]


def test_changes_since_the_index_are_said(library, searcher):
    with library.writing("add") as writer:
        writer.add([Paper("new", "New paper")])
        writer.remove(["mice"])
        writer.add([replace(PAPERS[0], abstract="Owls changed their mind.")])
    ranking = searcher.search("owls and mice", limit=10)
    assert "mice" not in ranking.ids
    text = " ".join(ranking.warnings)
    assert "1 paper was added since" in text
    assert "1 removed paper is still" in text
    assert "1 paper changed since the last index" in text
    assert next(h for h in ranking if h.id == "owl").evidence == ()


def test_sentences_apart_or_late_without_encoding_twice(library, settings, encoder):
    vectors = {}
    for how in ("late", "apart", "late"):
        encoder.encoded.clear()
        build_index(library, replace(settings, sentences=how), load=lambda _: encoder)
        index = Searcher(library, load=lambda _: encoder).index
        facts = index.manifest["views"]["sentences@fake"]
        assert facts["sentences"] == {"late": "late pooling", "apart": "encoded apart"}[how]
        vectors[how] = np.array(index.view("sentences@fake").vectors)
    assert encoder.encoded == []  # back to late: everything is cached
    assert vectors["late"].shape == vectors["apart"].shape
    assert not np.allclose(vectors["late"], vectors["apart"], atol=1e-3) or len(vectors["late"]) == 0
    with pytest.raises(UsageError, match="apart or late"):
        IndexSettings(sentences="early")  # type: ignore[arg-type]


def test_two_encoders_live_side_by_side_and_never_mix(library, settings, encoder):
    other = FakeEncoder("other", 16, late_pooling=False)
    both = {"fake": encoder, "other": other}
    late = replace(settings, encoders=("fake", "other"), sentences="late")
    report = build_index(library, late, load=both.__getitem__)
    assert report.encoded == 2 * len(PAPERS)
    searcher = Searcher(library, load=both.__getitem__)
    assert {"abstract@fake", "abstract@other", "sentences@other"} <= set(searcher.index.view_names)
    facts = searcher.index.manifest["views"]
    assert facts["sentences@fake"]["sentences"] == "late pooling"
    assert facts["sentences@other"]["sentences"] == "encoded apart"
    changed = FakeEncoder("fake")
    changed.fingerprint = "another model"
    with pytest.raises(ViewMismatch) as error:
        Searcher(library, load=lambda _: changed).search("owls")
    assert error.value.hint == "aspectra index"


def test_lexical_only_library(library):
    build_index(library, IndexSettings(encoders=(), chunks=()))
    searcher = Searcher(library)
    ranking = searcher.search("owls at night")
    assert ranking.ids[0] == "owl"
    assert ranking[0].evidence[0].quote
    with pytest.raises(ViewMismatch, match="dense view"):
        searcher.search("owls", recipe="dense")


def test_no_index_and_empty_library(tmp_path, library):
    with pytest.raises(ViewMismatch) as error:
        Searcher(library).search("owls")
    assert error.value.hint == "aspectra index"
    empty = Store.create(tmp_path / "empty")
    build_index(empty, IndexSettings(encoders=(), chunks=()))
    assert Searcher(empty).search("owls").ids == []


def test_unknown_planner_and_seed(searcher):
    with pytest.raises(UsageError, match="hybird"):
        searcher.search("owls", recipe="hybird")
    with pytest.raises(NoSuchPaper):
        searcher.similar("nobody at all")


def test_plans_round_trip_and_rerun_bit_equal(searcher):
    query = Query("owls “quoted”", conditions=limits(since=2000, venues=("Birds",)), limit=3)
    for planner in ("hybrid", "bm25", "dense", "fulltext"):
        plan = searcher.plan(query, planner)
        assert Plan.loads(plan.to_json()) == plan
        assert Plan.loads(plan.to_toml()) == plan
        assert Plan.loads(plan.to_json()).hash == plan.hash
        one, two = searcher.run(plan), searcher.run(Plan.loads(plan.to_toml()))
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in two]
        assert "2000" in plan.describe()


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "probes = 3",
        "steps = 3",
        '{"steps": ["rerank"]}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x"}]}], "exclude": "id"}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x"}]}], "versions": "nonsense"}',
        '{"steps": [{"probes": []}]}',
        '{"steps": [{"probes": [{"view": "abstract@bm25"}]}]}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x", "colour": "red"}]}]}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x"}], "fusion": {"kind": "magic"}}]}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x"}]}], "limit": -2}',
        '{"steps": [{"probes": [{"view": "abstract@bm25", "text": "x", "pooling": "median"}]}]}',
    ],
)
def test_bad_plans_are_usage_errors(bad):
    with pytest.raises(UsageError):
        Plan.loads(bad)


def test_papers_of_other_years_come_after_those_asked_for_where_room_is_left(searcher):
    search = Search("edited", (Probe("abstract@bm25", text="owls mice documents"),), years=">=2021")
    few, many = ([hit.paper.year >= 2021 for hit in searcher.run(Plan((search,), limit=n))] for n in (1, 9))
    assert few == [True]
    assert many == sorted(many, reverse=True) != [True] * len(many)


def test_edited_plans_can_ask_any_view(searcher):
    probes = (
        Probe("sentences@fake", text="a maze was built", weight=1.0),
        Probe("abstract@bm25", text="owls", weight=-1.0),
        Probe("chunks-60w@fake", text="windows are pooled", pooling="mean3", weight=0.2),
    )
    for fusion in (Fusion(), Fusion(scan_limit=1), Fusion(kind="rrf")):
        ranking = searcher.run(Plan((Search("edited", probes, fusion),), limit=5), explain=True)
        assert ranking.ids
        if fusion.kind == "standardised":
            assert ranking.ids[0] == "mice"
            share = sum(p.weight * p.standardised for p in ranking[0].probes)
            assert share == pytest.approx(ranking[0].score, abs=1e-6)
            assert ranking[0].probes[0].rank == 1
    assert "sentences@fake" in ranking.explain(0)


def test_candidates_score_the_same_as_everything(searcher):
    probes = (Probe("abstract@fake", text="owls at night"), Probe("sentences@fake", text="owls at night"))
    exact = searcher.run(Plan((Search("edited", probes),), limit=3))
    staged = searcher.run(Plan((Search("edited", probes, Fusion(scan_limit=1, candidates=5)),), limit=3))
    assert exact.ids == staged.ids
    assert [h.score for h in exact] == pytest.approx([h.score for h in staged], abs=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_metrics_agree_on_unit_vectors(searcher, metric):
    plan = Plan((Search("edited", (Probe("abstract@fake", text="owls at night", metric=metric),)),), limit=5)
    assert searcher.run(plan).ids == searcher.search("owls at night", recipe="dense", limit=5).ids


def test_outputs(searcher):
    ranking = searcher.search("owls <b>at</b> night", limit=5)
    document = json.loads(ranking.to_json())
    assert set(document) == {"plan", "hits", "requests", "warnings", "seconds", "fit"}
    assert {"id", "title", "authors", "year", "venue", "score", "evidence"} <= set(document["hits"][0])
    assert {"quote", "field", "start", "end", "aspect"} == set(document["hits"][0]["evidence"][0])
    lines = [line.split() for line in ranking.to_trec("7").splitlines()]
    assert [line[2] for line in lines] == ranking.ids
    assert ranking.export("trec") == ranking.to_trec()
    scores = [float(line[4]) for line in lines]
    assert all(a > b for a, b in pairwise(scores))
    frame = ranking.to_pandas()
    assert str(frame["year"].dtype) == "Int64"
    assert list(frame["id"]) == ranking.ids
    html = replace(ranking, hits=(replace(ranking[0], paper=Paper("x", "<script>alert(1)</script>")),))
    assert "<script>" not in html._repr_html_()
    assert "<mark " in html._repr_html_()
    listed = searcher.search("<b>owls</b>, no surveys, well written")._repr_html_()
    rows = [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in listed.split("</tr>")]
    assert rows[0].endswith("applied exclude kind=survey “no surveys”")
    assert rows[1].startswith("not applied “well written”")
    assert "<b>owls" not in listed


def test_trec_scores_fall_strictly_even_when_tied(searcher):
    ranking = searcher.search("owls", limit=5)
    tied = replace(ranking, hits=tuple(replace(h, score=0.0) for h in ranking.hits))
    scores = [float(line.split()[4]) for line in tied.to_trec().splitlines()]
    assert all(a > b for a, b in pairwise(scores))


def test_two_ids_never_become_one_word_of_a_trec_run(library, settings, encoder):
    with library.writing("add") as writer:
        writer.add([Paper("a b", "Owls again", "Owls."), Paper("a_b", "Owls once more", "Owls.")])
    build_index(library, settings, load=lambda _: encoder)
    ranking = Searcher(library, load=lambda _: encoder).search("owls", limit=9)
    assert {"a b", "a_b"} <= set(ranking.ids)
    with pytest.raises(BadInput, match="are one word in TREC format"):
        ranking.to_trec()


def test_damaged_generation_is_found(library, searcher):
    folder = searcher.index.folder
    assert library.generations.verify(folder) == []
    target = folder / "abstract@fake" / "vectors.npy"
    raw = bytearray(target.read_bytes())
    raw[-5] ^= 1
    target.write_bytes(raw)
    assert library.generations.verify(folder) == [
        "abstract@fake/vectors.npy has changed since it was written"
    ]
    target.write_bytes(b"")
    with pytest.raises(LibraryCorrupt):
        Searcher(library, load=lambda _: FakeEncoder()).search("owls", recipe="dense")
    (folder / "manifest.json").unlink()
    with pytest.raises(LibraryCorrupt, match="missing"):
        library.generations.current()
    report = build_index(library, rebuild=True, load=lambda _: FakeEncoder())
    assert report.changed


def test_reader_keeps_its_generation(library, searcher, encoder):
    before = searcher.search("owls at night").ids
    with library.writing("add") as writer:
        writer.add([Paper("owls2", "Owls at night again", "More owls at night.")])
    build_index(library, load=lambda _: encoder)
    assert searcher.search("owls at night").ids == before
    searcher.refresh()
    assert "owls2" in searcher.search("owls at night").ids


def test_vectors_stored_as_encoded(searcher, encoder):
    view = searcher.index.view("abstract@fake")
    expected = encoder.encode([f"{PAPERS[0].title}. {PAPERS[0].abstract}"]).vectors[0]
    assert np.allclose(view.vectors[0], expected)


def test_cosine_of_an_encoder_that_does_not_normalise(library, settings):
    class Long(FakeEncoder):
        def encode(self, texts, **more):
            coded = super().encode(texts, **more)
            scale = 1.0 + np.arange(len(texts), dtype=np.float32)[:, None]
            return replace(coded, vectors=coded.vectors * scale * 3)

    long, plain = Long(), FakeEncoder()
    build_index(library, settings, load=lambda _: long)
    found = Searcher(library, load=lambda _: long).search("mice in a maze", recipe="dense")
    build_index(library, settings, load=lambda _: plain, rebuild=True)
    assert found[0].id == "mice"
    assert max(h.score for h in found) <= 1.0001


def test_full_text_plan_quotes_the_body(searcher):
    ranking = searcher.search("windows of text are pooled", recipe="fulltext")
    assert ranking.ids[0] == "full"
    quote = ranking[0].evidence[0]
    assert (quote.field, quote.quote) == ("section:1", "Windows of text are pooled.")
    assert field_text(searcher.library.get("full"), "section:1")[quote.start : quote.end] == quote.quote


def test_windows_too_long_for_the_encoder_are_halved(library, settings):
    short = FakeEncoder(max_tokens=16)  # windows are sized for 300 words to 512 tokens
    report = build_index(library, settings, load=lambda _: short)
    assert report.truncated["chunks-60w@fake"] == 0
    assert any(len(text.split()) > 5 for text in short.encoded)


def test_one_name_is_one_name_and_a_year_is_a_number():
    assert limits(venues="IR") == limits(venues=("IR",))
    assert limits(authors=["Li"]) == limits(authors=("Li",))
    with pytest.raises(UsageError, match="since is '2020'"):
        limits(since="2020")
    assert Query("owls", same="method").same == ("method",)


def test_works_with_many_versions_do_not_take_the_places_of_others(library, encoder, settings):
    about = {"abstract": "ants ants ants", "authors": ("Ada Lovelace",), "year": 2019}
    copies = [Paper(f"copy{i}", title="Ants in the gardens", **about) for i in range(40)]
    others = [
        Paper(f"other{i}", title=f"Other work number {i}", abstract=f"ants among {i} words")
        for i in range(20)
    ]
    with library.writing("add") as writer:
        writer.add([*copies, *others])
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    for planner in ("bm25", "fulltext"):
        found = searcher.search("ants", recipe=planner, limit=12)
        assert len(found) == 12
        assert sum(i.startswith("copy") for i in found.ids) == 1


def test_a_reader_keeps_the_generation_it_opened(library, searcher, encoder):
    before = searcher.search("owls", recipe="bm25").ids
    opened = searcher.index.folder
    for number in range(3):
        with library.writing("add") as writer:
            writer.add([Paper(f"new{number}", title=f"New owls {number}", abstract="owls owls")])
        build_index(library, load=lambda _: encoder)
    # Views and columns that were not asked before are still there.
    assert searcher.search("owls", recipe="bm25").ids == before
    assert searcher.search("documents", recipe="fulltext", conditions=limits(venues=("IR",))).ids
    assert opened.is_dir()
    searcher.refresh()
    assert "new2" in searcher.search("owls", recipe="bm25").ids
    with library.writing("add") as writer:
        writer.add([Paper("last", title="Last", abstract="owls")])
    gc.collect()  # the old generation goes with its last user
    build_index(library, load=lambda _: encoder)
    assert not opened.exists()


def test_full_text_that_changed_is_not_quoted_at_the_old_place(library, searcher):
    full = next(p for p in PAPERS if p.id == "full")

    def quoted():
        found = searcher.search("windows pooled cut off", recipe="fulltext", evidence=100)
        return {e.field for hit in found if hit.id == "full" for e in hit.evidence}

    assert "section:1" in quoted()
    body = "Something stands before. " + full.sections[1].text
    with library.writing("add") as writer:
        writer.add([replace(full, sections=(full.sections[0], replace(full.sections[1], text=body)))])
    assert quoted() == {"section:0"}


def test_the_version_with_an_abstract_is_shown(library, encoder, settings):
    with library.writing("add") as writer:
        writer.add([replace(PAPERS[0].with_id("zz-owl-preprint"), abstract="")])
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    found = searcher.search("owls hunt at night", limit=3)
    assert found.ids[0] == "owl"
    assert "zz-owl-preprint" not in found.ids
    assert found[0].versions == ("zz-owl-preprint",)


def test_abstracts_are_searchable_while_full_texts_are_encoded(library, settings, monkeypatch):
    monkeypatch.setattr(ahead, "MANY", 1)
    monkeypatch.setattr(ahead, "MANY_TEXTS", 1)
    seen = []

    class Watching(FakeEncoder):
        def encode(self, texts, **more):
            current = library.generations.current()
            seen.append(bool(current) and "spans" not in more)
            return super().encode(texts, **more)

    watching = Watching()
    report = build_index(library, settings, load=lambda _: watching)
    assert True in seen  # a generation was in use before the chunks were encoded
    assert report.encoded_full == 1
    names = Searcher(library, load=lambda _: watching).index.view_names
    assert "chunks-60w@fake" in names


def test_index_mends_a_missing_generation(library, searcher, encoder):
    (searcher.index.folder / "manifest.json").unlink()
    with pytest.raises(LibraryCorrupt):
        library.generations.current()
    assert build_index(library, load=lambda _: encoder).changed
    assert Searcher(library, load=lambda _: encoder).search("owls").ids
