"""What is particular to each benchmark's layout."""

from __future__ import annotations

import hashlib
import json
import math

import pytest

from aspectra.base.errors import BadInput, MissingExtra, UsageError
from aspectra.base.values import replace
from aspectra.lab.benchmarks import _files
from aspectra.lab.benchmarks._files import Publication, read_data
from aspectra.lab.benchmarks.aspect_pairs import plain_name
from aspectra.lab.benchmarks.csfcube import FACETS, VARIANTS, facet_instruction
from aspectra.lab.benchmarks.infosearch import instruction_negatives
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.benchmarks.scifullbench import document_id
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import topic_query, topics_hash
from aspectra.papers.paper import Reference
from benchmark_fixtures import (
    aspect_pairs,
    beir,
    csfcube,
    followir,
    infosearch,
    infosearch_all,
    instructir,
    lines,
    litsearch,
    obliq,
    obliq_mteb,
    put,
    qrels,
    scifullbench,
)


def load(name, folder, **options):
    return BENCHMARKS.get(name)(folder, **options)


def problem(bench, part):
    return [text for text in bench.audit.problems if part in text]


class TestAspectPairs:
    def test_topics_have_a_seed_an_aspect_and_their_rarest_label(self, tmp_path):
        bench = load("aspect-pairs", aspect_pairs(tmp_path / "owls"))
        assert bench.name == "aspect-pairs/owls"
        topics = {topic.id: topic for topic in bench.topics}
        two = topics["p0#method"]
        assert (two.seed, two.aspect, two.text, two.labels["label"]) == ("p0", "method", "", "method: mice")
        assert bench.excluded["p0#method"] == {"p0"}
        assert bench.qrels["gold"]["p0#method"] == {"p4": 2, "p5": 0}

    def test_as_many_queries_of_each_label_as_wanted(self, tmp_path):
        aspect_pairs(tmp_path)
        per_label = {
            most: sum(
                t.labels["label"] == "method: feeding"
                for t in load("aspect-pairs", tmp_path, most=most).topics
            )
            for most in ("1", "2", "0")
        }
        assert per_label == {"1": 1, "2": 2, "0": 3}
        assert {t.aspect for t in load("aspect-pairs", tmp_path, aspect="background").topics} == {
            "background"
        }
        with pytest.raises(BadInput, match="whole number"):
            load("aspect-pairs", tmp_path, most="all")

    def test_queries_with_too_little_contrast_are_left_out(self, tmp_path):
        aspect_pairs(tmp_path)
        kept = {topic.id for topic in load("aspect-pairs", tmp_path, contrast="1", most="0").topics}
        assert kept == {"p0#background", "p0#method", "p2#method", "p3#method"}

    def test_the_oracle_names_the_labels(self, tmp_path):
        aspect_pairs(tmp_path)
        topics = {t.id: t.aspect for t in load("aspect-pairs", tmp_path, named="yes").topics}
        assert topics["p0#background"] == "background: Barn Owls"
        assert topics["p0#method"] == "method: feeding, mice"

    def test_names_of_headings(self):
        assert plain_name("Fertilization in Vitro") == "Fertilization in Vitro"
        assert plain_name("Stents (coated), Metal") == "Stents"

    def test_a_query_without_an_aspect_is_refused(self, tmp_path):
        aspect_pairs(tmp_path)
        lines(tmp_path / "queries.jsonl", [{"_id": "q", "seed": "p0", "aspect": "colour", "labels": ["red"]}])
        with pytest.raises(BadInput, match="no seed or no aspect"):
            load("aspect-pairs", tmp_path)


class TestCsfcube:
    def test_topics_pools_and_folds(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path))
        topics = {topic.id: topic for topic in bench.topics}
        assert set(topics) == {"100_background", "101_background", "100_method", "102_result"}
        topic = topics["100_method"]
        assert (topic.seed, topic.aspect, topic.group, topic.text) == ("100", "method", "100", "")
        assert not topic.instructions
        assert bench.pools["100_background"] == ("101", "102", "103")
        assert bench.folds["fold1_test"] == bench.folds["fold2_dev"] == ("101_background", "102_result")
        assert problem(bench, "1 pairs of the folds have no judgements")
        assert bench.modes == ("original",)

    def test_query_paper_is_no_candidate_of_its_own(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path))
        assert bench.pools["101_background"] == ("104", "105")
        assert "101" not in bench.qrels["gold"]["101_background"]
        assert bench.excluded["101_background"] == {"101"}
        assert problem(bench, "1 pools hold the query paper itself")

    def test_missing_candidate_is_counted(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path))
        assert problem(bench, "1 judged document is not in the corpus (1 judgement of 'gold')")
        assert problem(bench, "1 document of the pools not in the corpus")

    def test_roles_come_with_the_papers(self, tmp_path):
        paper = next(load("csfcube", csfcube(tmp_path)).papers())
        assert [sentence.role for sentence in paper.sentences] == ["background", "method", "result"]

    def test_instruction_variants(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path), instruction="definition")
        for topic in bench.topics:
            assert topic.instructions == {"original": facet_instruction(topic.aspect, "definition")}
        bench = load("csfcube", tmp_path, instruction="aspect-subset")
        texts = {topic.id: topic.text for topic in bench.topics}
        assert texts["100_method"] == "We count them by ear."
        assert texts["100_background"] == "Birds of kind 0 sing."
        assert not any(topic.seed for topic in bench.topics)
        assert bench.excluded["100_background"] == {"100"}
        with pytest.raises(UsageError):
            load("csfcube", tmp_path, instruction="shouted")
        with pytest.raises(UsageError):
            load("csfcube", tmp_path, ratings="ann1")

    def test_ratings_of_one_annotator(self, tmp_path):
        csfcube(tmp_path)
        rated = {who: load("csfcube", tmp_path, ratings=who).qrels["gold"] for who in ("first", "second")}
        # Other annotators rated the second pair.
        for pair, first, second in [
            ("100_background", [3, 1, 0], [0, 1, 3]),
            ("101_background", [2, 0], [2, 3]),
        ]:
            assert [list(rated[who][pair].values()) for who in ("first", "second")] == [first, second]

    def test_aspect_subset_is_by_the_release_whatever_the_library_predicts(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path), instruction="aspect-subset", roles="predicted")
        assert {t.id: t.text for t in bench.topics}["100_method"] == "We count them by ear."
        assert not any(sentence.role for paper in bench.papers() for sentence in paper.sentences)

    def test_a_sample_of_topics_is_drawn_by_its_seed(self, tmp_path):
        csfcube(tmp_path)
        chosen = {"instruction": "paraphrases", "only": "facet=background", "sample": "1/wording"}
        drawn = [load("csfcube", tmp_path, draw=str(draw), **chosen).topics for draw in range(6)]
        assert all(len({topic.labels["wording"] for topic in topics}) == 3 for topics in drawn)
        assert len({str(topics) for topics in drawn}) > 1
        bench = load("csfcube", tmp_path, **chosen)
        ids = {topic.id for topic in bench.topics}
        assert bench.topics == drawn[0]
        assert len(ids) == 3 == bench.audit.topics
        assert set(bench.qrels["gold"]) == set(bench.pools) == set(bench.people["first"]) == ids
        assert "3 of 12 topics: only facet=background, sample 1/wording, draw 0" in bench.audit.problems
        assert len(load("csfcube", tmp_path, only="facet=result").topics) == 1
        for wrong in ({"sample": "3/facet"}, {"sample": "some"}, {"only": "facet=mood"}, {"sample": "0"}):
            with pytest.raises(UsageError):
                load("csfcube", tmp_path, **wrong)

    def test_paraphrases_are_topics_of_their_own(self, tmp_path):
        one = load("csfcube", csfcube(tmp_path))
        bench = load("csfcube", tmp_path, instruction="paraphrases")
        assert len(bench.topics) == 3 * len(one.topics)
        third = next(topic for topic in bench.topics if topic.id == "100_method#3")
        assert third.instructions == {"original": facet_instruction("method", "paraphrase-3")}
        assert (third.group, third.labels["wording"]) == ("100#3", "paraphrase-3")
        assert bench.qrels["gold"][third.id] == one.qrels["gold"]["100_method"]
        assert bench.pools[third.id] == one.pools["100_method"]
        assert bench.excluded[third.id] == {"100"}
        assert bench.folds["fold1_dev"][:3] == ("100_background#1", "100_background#2", "100_background#3")
        assert problem(bench, "1 pairs of the folds have no judgements")

    def test_own_wordings_come_from_a_file(self, tmp_path):
        csfcube(tmp_path)
        file = tmp_path / "mine.toml"
        file.write_text('background = "Why?"\nmethod = ["How?", "By what?"]\nresult = "What?"\n')
        bench = load("csfcube", tmp_path, instructions=str(file))
        asked = {topic.id: topic.instructions["original"] for topic in bench.topics}
        assert (asked["100_background"], asked["102_result"]) == ("Why?", "What?")
        assert (asked["100_method#1"], asked["100_method#2"]) == ("How?", "By what?")
        subset = load("csfcube", tmp_path, instructions=str(file), instruction="aspect-subset")
        assert subset.topics[0].text == "Birds of kind 0 sing."
        assert subset.topics[0].instructions == {"original": "Why?"}
        with pytest.raises(UsageError, match="exclude each other"):
            load("csfcube", tmp_path, instructions=str(file), instruction="base")
        file.write_text('background = "Why?"\nmethod = []\n')
        with pytest.raises(BadInput, match="no instruction for method"):
            load("csfcube", tmp_path, instructions=str(file))

    def test_an_aspect_that_only_the_words_tell(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path), instruction="base", aspect="told")
        topic = bench.topics[0]
        assert topic.aspect == "background"
        query = topic_query(topic, "original", 10)
        assert (query.same, query.instruction) == ((), facet_instruction("background"))
        field = load("csfcube", tmp_path, instruction="base")
        assert topic_query(field.topics[0], "original", 10).same == ("background",)
        assert topics_hash(bench, pools=False) != topics_hash(field, pools=False)

    def test_wordings_differ(self):
        for facet in FACETS:
            texts = [facet_instruction(facet, variant) for variant in VARIANTS if variant != "aspect-subset"]
            assert len(set(texts)) == len(texts)
        assert len({facet_instruction(facet, "generic") for facet in FACETS}) == 1
        assert len({facet_instruction(facet, "base") for facet in FACETS}) == 3

    def test_ratings_of_another_length(self, tmp_path):
        csfcube(tmp_path)
        path = tmp_path / "test-pid2anns-csfcube-method.json"
        value = json.loads(path.read_text())
        value["100"]["relevance_adju"].pop()
        path.write_text(json.dumps(value))
        with pytest.raises(BadInput, match="method, query 100: 2 ratings for 3 candidates"):
            load("csfcube", tmp_path)

    def test_one_facet(self, tmp_path):
        bench = load("csfcube", csfcube(tmp_path), facet="background")
        assert {topic.aspect for topic in bench.topics} == {"background"}


class TestInfosearch:
    def test_modes(self, tmp_path):
        bench = load("infosearch", infosearch(tmp_path / "Clarity-v1"))
        assert bench.name == "infosearch/keyword"
        assert bench.modes == ("original", "instructed", "reversed")
        assert [topic.id for topic in bench.topics] == ["q1", "q2", "q3"]
        assert problem(bench, "1 query without judgements in 'original', left out")
        assert problem(bench, "1 judged query is not among the topics (judgements 'instructed')")
        topic = bench.topics[0]
        assert topic.instructions == {"instructed": "For reader 1.", "reversed": "Not for reader 1."}
        assert bench.topics[0].group == bench.topics[1].group != bench.topics[2].group
        assert topic.labels["dimension"] == "keyword"

    def test_instruction_negatives(self, tmp_path):
        bench = load("infosearch", infosearch(tmp_path / "Clarity-v1"))
        found = instruction_negatives(bench.qrels["original"], bench.qrels["instructed"])
        assert found == {"q1": {"d1"}, "q2": {"d0"}, "q3": {"d3"}}

    def test_dimensions_with_corpora_of_their_own_stay_apart(self, tmp_path):
        bench = load("infosearch", infosearch_all(tmp_path))
        assert bench.name == "infosearch"
        assert {topic.labels["dimension"] for topic in bench.topics} == {"keyword", "length"}
        assert bench.topics[0].id == "keyword/q1"
        assert bench.qrels["instructed"]["length/q2"] == {"length/d1": 1}
        assert bench.pools["length/q2"] == tuple(f"length/d{n}" for n in range(6))
        assert bench.audit.documents == 12
        assert problem(bench, "6 documents repeat the whole text of another")
        one = load("infosearch", tmp_path, dimension="Clarity-v1")
        assert one.name == "infosearch/keyword"
        assert one.pools is None
        with pytest.raises(UsageError, match="no dimension 'colour'"):
            load("infosearch", tmp_path, dimension="colour")
        with pytest.raises(BadInput, match="keyword, length, and not language") as error:
            load("infosearch", tmp_path, dimension="language")
        assert "jianqunZ/Language-v1" in error.value.why
        assert error.value.hint == f"aspectra bench fetch infosearch/language {tmp_path}"

    def test_corpus_one_level_up(self, tmp_path):
        infosearch(tmp_path / "length")
        infosearch(tmp_path / "source")
        for name in ("length", "source"):
            rows = (tmp_path / name / "queries.jsonl").read_text().replace('"q', f'"{name}')
            (tmp_path / name / "queries.jsonl").write_text(rows)
            for path in (tmp_path / name).glob("qrels_*/test.tsv"):
                path.write_text(path.read_text().replace("\nq", f"\n{name}"))
            (tmp_path / name / "corpus.jsonl").rename(tmp_path / "corpus.jsonl")
        bench = load("infosearch", tmp_path)
        assert bench.audit.documents == 6
        assert len(bench.topics) == 6
        assert bench.pools is None
        assert len(load("infosearch", tmp_path / "length").topics) == 3

    def test_incomplete_folders(self, tmp_path):
        with pytest.raises(BadInput, match=r"has no queries.jsonl"):
            load("infosearch", tmp_path)
        infosearch(tmp_path / "a")
        (tmp_path / "a" / "qrels_reversed" / "test.tsv").unlink()
        with pytest.raises(BadInput, match="qrels_reversed"):
            load("infosearch", tmp_path / "a")
        (tmp_path / "a" / "corpus.jsonl").unlink()
        with pytest.raises(BadInput):
            load("infosearch", tmp_path / "a")


class TestLitsearch:
    def test_labels_and_references(self, tmp_path):
        bench = load("litsearch", litsearch(tmp_path))
        assert [topic.id for topic in bench.topics] == ["q1", "q2", "q3", "q4"]
        assert bench.topics[1].labels == {
            "query_set": "manual_acl",
            "origin": "manual",
            "venue": "acl",
            "specificity": "specific",
            "quality": "1",
        }
        assert bench.topics[0].labels["venue"] == bench.topics[3].labels["venue"] == "nonacl"
        assert bench.qrels["gold"]["q4"] == {"7003": 1.0, "7004": 1.0}
        paper = next(bench.papers())
        assert paper.references == (Reference(identifiers={"id": "7001"}),)
        assert not paper.sections
        assert "full_paper" not in paper.metadata

    def test_full_text(self, tmp_path):
        paper = next(load("litsearch", litsearch(tmp_path), text="full").papers())
        assert paper.sections[0].text.startswith("Owls eat.\n\nOwl number 0")

    def test_hub_folders(self, tmp_path):
        litsearch(tmp_path / "flat")
        for config in ("query", "corpus_clean"):
            (tmp_path / "hub" / config).mkdir(parents=True)
            target = tmp_path / "hub" / config / "full.jsonl"
            (tmp_path / "flat" / f"{config}.jsonl").rename(target)
        assert len(load("litsearch", tmp_path / "hub").topics) == 4

    def test_parquet_needs_its_extra(self, tmp_path, monkeypatch):
        import sys

        litsearch(tmp_path)
        (tmp_path / "query.jsonl").unlink()
        put(tmp_path / "query" / "full-00000-of-00001.parquet", "PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(MissingExtra, match="pyarrow"):
            load("litsearch", tmp_path)

    def test_answers_that_are_no_list(self, tmp_path):
        litsearch(tmp_path)
        lines(tmp_path / "query.jsonl", [{"query": "owls?", "corpusids": "7000"}])
        with pytest.raises(BadInput, match="q1: no list of answers"):
            load("litsearch", tmp_path)


class TestScifullbench:
    def test_judging_by_string(self, tmp_path):
        bench = load("scifullbench", scifullbench(tmp_path), queries="text")
        topics = {topic.id: topic for topic in bench.topics}
        assert set(topics) == {"ACL/Cited_Papers/a1", "ICLR/Direct_References/i1"}
        topic = topics["ACL/Cited_Papers/a1"]
        assert topic.labels == {"venue": "ACL", "task": "Cited_Papers", "direction": "citations"}
        assert topic.group == document_id("Query a1", "What a1 is about.")
        assert (topic.seed, topic.text) == ("", "Query a1\nWhat a1 is about.")
        relevant = bench.qrels["gold"][topic.id]
        assert set(relevant) == {document_id(f"Owl study {n}", f"We study owl {n}.") for n in (0, 1)}
        assert problem(bench, "1 judged document is not in the corpus")
        assert problem(bench, "1 documents repeat the id of another")
        assert bench.audit.documents == 5

    def test_query_papers_join_the_corpus_with_their_full_text_and_are_never_ranked(self, tmp_path):
        bench = load("scifullbench", scifullbench(tmp_path))
        assert all(topic.seed == topic.group and not topic.text for topic in bench.topics)
        assert bench.unranked == {topic.seed for topic in bench.topics}
        papers = {paper.id: paper for paper in bench.papers()}
        assert len(papers) == bench.audit.documents + 2 == 7
        assert all(papers[name].sections[0].text == "We ask owls." for name in bench.unranked)
        assert problem(bench, "2 query papers are not in the corpus: indexed with full text")
        plain = load("scifullbench", tmp_path, queries="text")
        assert len(list(plain.papers())) == plain.audit.documents == 5
        assert not plain.unranked

    def test_seeds_bring_their_full_text_from_both_places(self, tmp_path):
        bench = load("scifullbench", scifullbench(tmp_path))
        seeds = {paper.title: paper for paper in bench.seeds()}
        assert {topic.group for topic in bench.topics} == {paper.id for paper in seeds.values()}
        assert [s.heading for s in seeds["Query a1"].sections] == ["Method"]
        assert seeds["Query i1"].sections[0].text == "We ask owls."
        assert not problem(bench, "no full text (.mmd)")

    def test_a_full_text_without_headings_is_one_section(self, tmp_path):
        scifullbench(tmp_path)
        put(tmp_path / "Benchmark" / "Full_Papers" / "i1.mmd", "We ask owls at night.\n\nThey answer.\n")
        papers = {paper.title: paper for paper in load("scifullbench", tmp_path).papers()}
        assert [s.text for s in papers["Query i1"].sections] == ["We ask owls at night.\n\nThey answer."]

    def test_query_paper_in_the_corpus(self, tmp_path):
        scifullbench(tmp_path)
        path = tmp_path / "Benchmark" / "ACL" / "Cited_Papers" / "a1.json"
        value = json.loads(path.read_text())
        value["Query"] = {"title": "Owl study 4", "abstract": "We study owl 4."}
        path.write_text(json.dumps(value))
        bench = load("scifullbench", tmp_path)
        topic = bench.topics[0]
        assert topic.seed == topic.group == document_id("Owl study 4", "We study owl 4.")
        assert bench.excluded == {topic.id: {topic.seed}}
        assert problem(bench, "1 query paper is in the corpus: excluded for itself")

    def test_parts(self, tmp_path):
        scifullbench(tmp_path)
        assert len(load("scifullbench", tmp_path, venue="iclr").topics) == 1
        assert len(load("scifullbench", tmp_path, direction="references").topics) == 1
        with pytest.raises(BadInput, match=r"found: ACL/Cited_Papers, ICLR/Direct_References"):
            load("scifullbench", tmp_path, venue="CVPR")

    def test_texts(self, tmp_path):
        scifullbench(tmp_path / "data")
        for text, held in (("chunks", ["Part one.", "Two."]), ("pairs", ["Part one. Two."])):
            paper = next(load("scifullbench", tmp_path / "data", text=text).papers())
            assert [section.text for section in paper.sections] == held
        put(tmp_path / "x.mmd", "# Owl study 0\n\n## Intro\n\nIt is night.\n")
        paper = next(load("scifullbench", tmp_path / "data", text="full").papers())
        assert paper.sections[0].text == "It is night."

    def test_a_full_text_path_never_leaves_the_folder(self, tmp_path):
        scifullbench(tmp_path / "set" / "data")
        put(tmp_path / "secret.mmd", "# S\n\n## I\n\nSecret.\n")
        path = next((tmp_path / "set" / "data" / "Target_Corpus").rglob("corpus.json"))
        path.write_text(path.read_text().replace("x.mmd", "../secret.mmd"))
        papers = list(load("scifullbench", tmp_path / "set" / "data", text="full").papers())
        assert not any(paper.sections for paper in papers if paper.title.startswith("Owl study"))


class TestObliq:
    def test_gold_pooled_excluded(self, tmp_path):
        bench = load("obliq", obliq(tmp_path / "data"))
        assert set(bench.qrels) == {"gold", "pooled"}
        assert dict(bench.audit.judged) == {"gold": 2, "pooled": 3}
        assert bench.excluded == {"q0": {"t0"}, "q1": {"t0", "t5"}}
        assert problem(bench, "1 documents repeat the whole text of another")

    def test_names_can_be_masked(self, tmp_path):
        bench = load("obliq", obliq(tmp_path), names="masked")
        lines(tmp_path / "corpus" / "corpus.jsonl", [{"_id": "t0", "text": "A riddle of Ada at Oslo."}])
        assert next(iter(bench.papers())).abstract == "A riddle of Xxxx at Xxxx."

    def test_pooled_must_hold_gold(self, tmp_path):
        obliq(tmp_path)
        qrels(tmp_path / "queries+qrels" / "qrels_pool.tsv", [("q0", "t3", 1), ("q1", "t2", 1)])
        assert problem(load("obliq", tmp_path), "1 gold judgement is not in the pooled set")

    def test_relevant_and_excluded(self, tmp_path):
        obliq(tmp_path)
        put(tmp_path / "queries+qrels" / "per_query_excluded_ids.json", json.dumps({"q0": ["t1"]}))
        assert problem(load("obliq", tmp_path), "1 relevant document is excluded")

    def test_release(self, tmp_path):
        obliq(tmp_path / "analogues" / "math")
        obliq(tmp_path / "descriptive" / "twitter")
        assert load("obliq", tmp_path, task="math").name == "obliq/math"
        assert load("obliq", tmp_path / "descriptive" / "twitter").name == "obliq/twitter"
        with pytest.raises(UsageError, match="several tasks"):
            load("obliq", tmp_path)
        with pytest.raises(BadInput, match="no folder analogues/writing") as error:
            load("obliq", tmp_path, task="writing")
        assert error.value.hint == f"aspectra bench fetch obliq/writing {tmp_path}"
        with pytest.raises(UsageError, match="the option task of obliq cannot be"):
            load("obliq", tmp_path, task="cooking")

    @pytest.mark.parametrize(("task", "judgements"), [("math", "pooled"), ("congress", "gold")])
    def test_mteb_copy(self, tmp_path, task, judgements):
        bench = load("obliq", obliq_mteb(tmp_path, task=task))
        assert bench.name == f"obliq/{task}"
        assert bench.qrels == {judgements: {"q0": {"t1": 1.0}, "q1": {"t2": 2.0}}}
        assert bench.excluded == {"q0": {"t0"}, "q1": {"t0", "t5"}}
        assert bench.audit.documents == 6
        assert load("obliq", tmp_path, task=task).topics == bench.topics
        obliq_mteb(tmp_path, task="twitter")
        with pytest.raises(UsageError, match="several tasks"):
            load("obliq", tmp_path)
        with pytest.raises(BadInput, match="no folder analogues/writing") as error:
            load("obliq", tmp_path, task="writing")
        assert error.value.hint == f"aspectra bench fetch obliq/writing {tmp_path}"

    def test_mteb_copy_without_candidates(self, tmp_path):
        obliq_mteb(tmp_path)
        lines(tmp_path / "writing-top_ranked" / "test.jsonl", [{"query-id": "q0"}])
        with pytest.raises(BadInput, match="q0: no list of candidates"):
            load("obliq", tmp_path)
        (tmp_path / "writing-top_ranked" / "test.jsonl").unlink()
        assert load("obliq", tmp_path).excluded == {}

    def test_the_release_is_compared_with_its_listing(self, tmp_path, monkeypatch):
        at = obliq(tmp_path / "analogues" / "math")
        bench = load("obliq", tmp_path, task="math")
        assert len(problem(bench, "is not the file of the published revision")) == 5
        assert bench.revision.startswith("files:")
        listing = {}
        real = read_data("published.toml")["obliq"]
        for path in sorted(path for path in at.rglob("*") if path.is_file()):
            raw = path.read_bytes()
            blob = "git:" + hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
            whole = "sha256:" + hashlib.sha256(raw).hexdigest()
            listing[f"analogues/math/{path.relative_to(at)}"] = (
                len(raw),
                whole if path.name == "corpus.jsonl" else blob,
            )
        monkeypatch.setattr(
            _files, "place", lambda name: replace(Publication.from_dict(real), listing=listing)
        )
        for folder in (tmp_path, at):
            bench = load("obliq", folder, task="math")
            assert bench.revision == "4ebee29f68ceeb62ca00bd73d5478acdd3cd7764"
            assert not problem(bench, "published revision")
        left = listing.pop("analogues/math/queries+qrels/qrels_pool.tsv")
        assert load("obliq", tmp_path, task="math").revision.startswith("files:")
        listing["analogues/math/queries+qrels/qrels_pool.tsv"] = left
        path = at / "queries+qrels" / "queries.jsonl"
        path.write_text(path.read_text().replace("owl", "elk"))
        found = problem(load("obliq", tmp_path, task="math"), "published revision")
        assert found == ["queries+qrels/queries.jsonl is not the file of the published revision"]

    def test_flat_folder(self, tmp_path):
        obliq(tmp_path / "raw")
        for path in list((tmp_path / "raw").rglob("*.*")):
            path.rename(tmp_path / path.name)
        assert len(load("obliq", tmp_path).topics) == 2


class TestBeir:
    def test_instructions_make_pools(self, tmp_path):
        bench = load("beir", beir(tmp_path))
        assert bench.pools == {"q0": ("b0", "b1"), "q1": ("b2",)}
        assert bench.topics[0].instructions == {"original": "Find owls."}
        assert bench.qrels["gold"]["q0"] == {"b0": 0.5, "b1": 0.0}
        assert problem(bench, "1 query without judgements")
        assert load("beir", tmp_path, pools="no").pools is None

    def test_birco_is_scored_as_its_tool_does(self, tmp_path):
        """Gain is the grade, the ideal is that of the pool; R@5 counts grades from 1."""
        folder = tmp_path / "birco" / "owls" / "dev"
        beir(folder)
        lines(folder / "queries.jsonl", [{"_id": "q0", "text": "flying", "instruction": "Find owls."}])
        qrels(folder / "qrels.tsv", [("q0", "b0", 2), ("q0", "b1", 1), ("q0", "b2", 0.5), ("q0", "b3", 0)])
        bench = load("beir", folder)
        assert bench.name == "birco/owls"
        assert bench.measures == ("nDCG@10", "R@5")
        run = {"q0": {"b1": 4.0, "b0": 3.0, "b3": 2.0, "b2": 1.0}}
        done = evaluate(list(bench.measures), bench.qrels["gold"], run)
        gained = 1 + 2 / math.log2(3) + 0.5 / math.log2(5)
        ideal = 2 + 1 / math.log2(3) + 0.5 / math.log2(4)
        assert done["nDCG@10"].mean == pytest.approx(gained / ideal)
        assert done["R@5"].mean == 1.0
        assert set(bench.pools["q0"]) == {"b0", "b1", "b2", "b3"}

    def test_a_collection_is_known_by_its_folder_and_not_by_the_name_of_its_judgements(self, tmp_path):
        for name, licence in (("scifact", "CC BY-NC 2.0"), ("owls", "not stated")):
            folder = beir(tmp_path / name)
            qrels(folder / "qrels" / "test.tsv", [("q0", "b0", 1)])
            assert load("beir", folder, qrels="test").licence.startswith(licence)

    def test_standard_folder(self, tmp_path):
        beir(tmp_path)
        (tmp_path / "qrels.tsv").unlink()
        qrels(tmp_path / "qrels" / "test.tsv", [("q0", "b0", 1)])
        qrels(tmp_path / "qrels" / "dev.tsv", [("q1", "b1", 1), ("q2", "b1", 1)])
        assert len(load("beir", tmp_path).topics) == 1
        assert len(load("beir", tmp_path, qrels="dev").topics) == 2
        with pytest.raises(BadInput):
            load("beir", tmp_path, qrels="train")

    def test_several_judgements_need_a_choice(self, tmp_path):
        beir(tmp_path)
        (tmp_path / "qrels.tsv").rename(tmp_path / "qrels_one.tsv")
        qrels(tmp_path / "qrels_two.tsv", [("q0", "b0", 1)])
        with pytest.raises(UsageError) as error:
            load("beir", tmp_path)
        assert error.value.hint == "name one: qrels=one|two"
        assert load("beir", tmp_path, qrels="two").name.endswith("/two")

    @pytest.mark.parametrize(
        "text",
        [
            "q0\tb0\t1\nq1\tb1\t2\n",
            "q0 0 b0 1\nq1 0 b1 2\n",
            "query-id\tcorpus-id\tscore\nq0\tb0\t1\nq1\tb1\t2\n",
        ],
    )
    def test_judgements_with_and_without_header_and_trec(self, tmp_path, text):
        beir(tmp_path)
        put(tmp_path / "qrels.tsv", text)
        assert load("beir", tmp_path).qrels["gold"] == {"q0": {"b0": 1.0}, "q1": {"b1": 2.0}}

    @pytest.mark.parametrize("line", ["q0\tb0", "q0\tb0\tyes", "q0\tb0\tnan", "q0\tb0\tinf", "\tb0\t1"])
    def test_bad_judgement_names_its_line(self, tmp_path, line):
        beir(tmp_path)
        put(tmp_path / "qrels.tsv", f"query-id\tcorpus-id\tscore\nq1\tb1\t1\n{line}\n")
        with pytest.raises(BadInput, match=r"qrels.tsv, line 3"):
            load("beir", tmp_path)

    def test_empty_qrels(self, tmp_path):
        beir(tmp_path)
        put(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\n")
        with pytest.raises(BadInput, match="holds no judgement"):
            load("beir", tmp_path)

    def test_counted_problems(self, tmp_path):
        beir(tmp_path)
        docs = [("b0", "Owl"), ("b0", "Other owl"), ("b1", "Owl"), ("b2", ""), ("q0", "Query")]
        lines(tmp_path / "corpus.jsonl", [{"_id": name, "title": "", "text": text} for name, text in docs])
        asked = [{"_id": "q0", "text": "x"}, {"_id": "q0", "text": "again"}, {"_id": "q1", "text": " "}]
        lines(tmp_path / "queries.jsonl", asked)
        pairs = [
            ("q0", "b0", 1),
            ("q0", "b0", 1),
            ("q0", "q0", 1),
            ("q0", "b9", 1),
            ("q1", "b1", 0),
            ("q7", "b1", 1),
        ]
        qrels(tmp_path / "qrels.tsv", pairs)
        bench = load("beir", tmp_path)
        assert [paper.abstract for paper in bench.papers()] == ["Owl", "Owl", "", "Query"]
        assert [topic.text for topic in bench.topics] == ["x", ""]
        assert bench.excluded == {"q0": {"q0"}}
        for part in (
            "1 query repeats the id of another",
            "1 judged query is not among the topics",
            "1 query is judged against themselves",
            "1 document has the id of a query",
            "1 documents repeat the id",
            "1 documents repeat the whole text",
            "1 documents have no text",
            "1 query is empty",
            "1 judged document is not in the corpus",
            "1 topic has nothing relevant in 'gold'",
            "qrels.tsv: 1 judgements repeated with the same grade",
        ):
            assert problem(bench, part), part
        by_chance = load("beir", tmp_path, seed="no")
        assert (by_chance.excluded, by_chance.qrels["gold"]["q0"]["q0"]) == ({}, 1.0)

    def test_document_without_id(self, tmp_path):
        beir(tmp_path)
        lines(tmp_path / "corpus.jsonl", [{"_id": "b0", "text": "x"}, {"text": "owl"}])
        with pytest.raises(BadInput, match="document 2 of the corpus has no id"):
            load("beir", tmp_path)

    def test_another_corpus(self, tmp_path):
        beir(tmp_path / "a")
        beir(tmp_path / "b")
        (tmp_path / "a" / "corpus.jsonl").unlink()
        for corpus in (tmp_path / "b", tmp_path / "b" / "corpus.jsonl"):
            assert load("beir", tmp_path / "a", corpus=str(corpus)).audit.documents == 5
        with pytest.raises(BadInput, match="there is no corpus"):
            load("beir", tmp_path / "a", corpus=str(tmp_path / "c"))


class TestInstructionSets:
    def test_followir(self, tmp_path):
        bench = load("followir", followir(tmp_path / "core17-instructions"))
        assert bench.name == "followir/core17"
        assert bench.modes == ("original", "instructed")
        assert set(bench.topics[0].instructions) == {"original", "instructed"}
        assert bench.pools["q1"] == ("d0", "d1", "d2", "d3", "d4")
        assert load("followir", tmp_path / "core17-instructions", pools="no").pools is None

    def test_followir_lists_to_rerank(self, tmp_path):
        followir(tmp_path)
        lines(tmp_path / "top_ranked" / "test.jsonl", [{"query-id": "q1", "corpus-ids": ["d3", "d1"]}])
        bench = load("followir", tmp_path)
        assert bench.pools == {"q1": ("d3", "d1")}
        assert problem(bench, "2 topics have no documents to re-rank")

    def test_instructir(self, tmp_path):
        bench = load("instructir", instructir(tmp_path))
        first = bench.topics[0]
        assert (first.text, dict(first.instructions)) == ("owl 1", {"instructed": "I am user 1."})
        assert bench.topics[0].group == bench.topics[1].group != bench.topics[2].group
        assert bench.qrels["original"] == bench.qrels["instructed"]

    def test_instructir_with_instructions_apart(self, tmp_path):
        instructir(tmp_path)
        rows = [{"_id": "1_1", "text": "owl 1"}, {"_id": "1_2", "text": "owl 1"}]
        lines(tmp_path / "queries.jsonl", rows)
        lines(tmp_path / "instruction.jsonl", [{"query-id": "1_1", "instruction": "I am user 1."}])
        bench = load("instructir", tmp_path)
        assert bench.topics[0].instructions == {"instructed": "I am user 1."}
        assert problem(bench, "1 topic has no instruction")
        assert problem(bench, "2 judged queries are not among the topics")
