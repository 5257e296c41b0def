"""The published layouts, with the file names, configs, columns and types of their cards and file listings.

The content is made up. Where a hub serves Parquet, it is written and read with pyarrow itself.
"""

from __future__ import annotations

import json
import tracemalloc

import pytest

from aspectra.base.errors import BadInput
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from benchmark_fixtures import as_parquet, infosearch, lines, litsearch, obliq, obliq_mteb, put, qrels


def load(name, folder, **options):
    return BENCHMARKS.get(name)(folder, **options)


def same(one, other):
    assert one.topics == other.topics
    assert one.qrels == other.qrels
    assert one.excluded == other.excluded
    assert list(one.papers()) == list(other.papers())


class TestLitsearch:
    def test_parquet_configs(self, tmp_path):
        """Configs query and corpus_clean, split full; ids and citations are whole numbers."""
        pytest.importorskip("pyarrow")
        plain = load("litsearch", litsearch(tmp_path / "plain"))
        hub = litsearch(tmp_path / "hub")
        as_parquet(hub / "query.jsonl", hub / "query" / "full")
        as_parquet(hub / "corpus_clean.jsonl", hub / "corpus_clean" / "full", parts=3)
        bench = load("litsearch", hub)
        same(bench, plain)
        assert set(bench.audit.checksums) == {
            "query/full-00000-of-00001.parquet",
            *(f"corpus_clean/full-{n:05d}-of-00003.parquet" for n in range(3)),
        }
        assert bench.qrels["gold"]["q4"] == {"7003": 1.0, "7004": 1.0}
        converted = litsearch(tmp_path / "converted")
        for config in ("query", "corpus_clean"):
            as_parquet(converted / f"{config}.jsonl", converted / config / "full" / "part")
        same(load("litsearch", converted), plain)

    def test_every_set_of_questions(self, tmp_path):
        """The four sets, both levels of specificity and of quality, and from one to five answers."""
        litsearch(tmp_path)
        rows = [
            {
                "query_set": name,
                "query": f"owls {n}",
                "specificity": n % 2,
                "quality": 1 + n % 2,
                "corpusids": list(range(7000, 7001 + n)),
            }
            for n, name in enumerate(
                ("inline_nonacl", "manual_acl", "inline_acl", "manual_iclr", "manual_acl")
            )
        ]
        lines(tmp_path / "query.jsonl", rows)
        bench = load("litsearch", tmp_path)
        assert [len(bench.qrels["gold"][t.id]) for t in bench.topics] == [1, 2, 3, 4, 5]
        assert [(t.labels["origin"], t.labels["venue"]) for t in bench.topics] == [
            ("inline", "nonacl"),
            ("manual", "acl"),
            ("inline", "acl"),
            ("manual", "nonacl"),
            ("manual", "acl"),
        ]
        assert {t.labels["specificity"] for t in bench.topics} == {"broad", "specific"}
        assert [paper.abstract for paper in bench.papers()][2] == ""

    def test_repeated_answers_count_once(self, tmp_path):
        litsearch(tmp_path)
        row = {"query_set": "manual_acl", "query": "owls", "specificity": 1, "quality": 2}
        lines(tmp_path / "query.jsonl", [{**row, "corpusids": [7001, 7001, 7002]}])
        bench = load("litsearch", tmp_path)
        assert bench.qrels["gold"]["q1"] == {"7001": 1.0, "7002": 1.0}
        assert "1 answer is listed twice" in bench.audit.problems


class TestInfosearch:
    def test_parquet_configs(self, tmp_path):
        """Configs corpus, queries and qrels_{og,changed,reversed}, whatever the first two call a split."""
        pytest.importorskip("pyarrow")
        plain = load("infosearch", infosearch(tmp_path / "plain" / "Clarity-v1"))
        hub = infosearch(tmp_path / "hub" / "Clarity-v1")
        as_parquet(hub / "corpus.jsonl", hub / "corpus" / "corpus", parts=2)
        as_parquet(hub / "queries.jsonl", hub / "queries" / "queries")
        for config in ("qrels_og", "qrels_changed", "qrels_reversed"):
            as_parquet(hub / config / "test.tsv", hub / config / "test")
        same(load("infosearch", hub), plain)

    def test_columns_that_only_some_dimensions_have(self, tmp_path):
        folder = infosearch(tmp_path / "Clarity-v1")
        rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        rows = [
            {**row, "keywords": ["owl", "food"], "short_query": "owls", "instruction_og": None}
            for row in rows
        ]
        lines(folder / "queries.jsonl", rows)
        bench = load("infosearch", folder)
        assert bench.name == "infosearch/keyword"
        assert set(bench.topics[0].instructions) == {"instructed", "reversed"}

    def test_an_original_instruction_is_kept(self, tmp_path):
        folder = infosearch(tmp_path / "Length-v1")
        text = (folder / "queries.jsonl").read_text()
        (folder / "queries.jsonl").write_text(
            text.replace('"instruction_og": ""', '"instruction_og": "Any."')
        )
        assert load("infosearch", folder).topics[0].instructions["original"] == "Any."


class TestObliq:
    def test_mteb_parquet(self, tmp_path):
        """Configs TASK-corpus, -queries, -qrels and -top_ranked, split test."""
        pytest.importorskip("pyarrow")
        plain = load("obliq", obliq_mteb(tmp_path / "plain"))
        hub = obliq_mteb(tmp_path / "hub")
        for config, parts in (("corpus", 3), ("queries", 1), ("qrels", 1), ("top_ranked", 1)):
            at = hub / f"writing-{config}"
            as_parquet(at / "test.jsonl", at / "test", parts=parts)
        same(load("obliq", hub), plain)
        assert plain.qrels == {"gold": {"q0": {"t1": 1.0}, "q1": {"t2": 2.0}}}

    @pytest.mark.parametrize("header", ["query-id\tcorpus-id\tscore", "query_id\tcorpus_id\tscore"])
    def test_both_spellings_of_the_header(self, tmp_path, header):
        at = obliq(tmp_path / "descriptive" / "twitter") / "queries+qrels"
        qrels(at / "qrels.tsv", [("q0", "t1", 2), ("q1", "t2", 2)], header)
        bench = load("obliq", tmp_path, task="twitter")
        assert bench.qrels["gold"] == {"q0": {"t1": 2.0}, "q1": {"t2": 2.0}}

    def test_a_task_without_pool_and_exclusions(self, tmp_path):
        at = obliq(tmp_path / "tip-of-tongue" / "congress") / "queries+qrels"
        for name in ("qrels_pool.tsv", "per_query_excluded_ids.json"):
            (at / name).unlink()
        bench = load("obliq", tmp_path, task="congress")
        assert (set(bench.qrels), bench.excluded) == ({"gold"}, {})

    def test_titles_are_optional_and_exclusions_may_name_what_is_not_there(self, tmp_path):
        at = obliq(tmp_path)
        lines(
            at / "corpus" / "corpus.jsonl",
            [
                {"_id": "t0", "title": "Owls", "text": "Of owls"},
                *({"_id": f"t{n}", "text": "x"} for n in (1, 2, 3)),
            ],
        )
        put(at / "queries+qrels" / "per_query_excluded_ids.json", json.dumps({"q0": [], "q9": ["t1"]}))
        bench = load("obliq", tmp_path)
        assert [paper.title for paper in bench.papers()] == ["Owls", "", "", ""]
        assert bench.excluded == {"q0": frozenset()}
        assert "1 query with excluded ids not among the topics" in bench.audit.problems

    def test_a_large_corpus_is_never_held_whole(self, tmp_path):
        """The largest task has 2.3 GB of text: loading it and reading its papers holds ids and hashes."""
        folder = obliq(tmp_path)
        # A whole JSON file is read into a buffer of the largest size allowed.
        (folder / "queries+qrels" / "per_query_excluded_ids.json").unlink()
        path = folder / "corpus" / "corpus.jsonl"
        filler = "a riddle about owls " * 500
        with path.open("w", encoding="utf-8") as file:
            for n in range(2_000):
                file.write(json.dumps({"_id": f"t{n}", "text": f"{n} {filler}"}) + "\n")
        tracemalloc.start()
        try:
            bench = load("obliq", folder)
            count = sum(1 for _ in bench.papers())
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert count == 2_000
        assert most < path.stat().st_size / 4


def test_a_damaged_part_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    hub = litsearch(tmp_path)
    as_parquet(hub / "corpus_clean.jsonl", hub / "corpus_clean" / "full", parts=2)
    part = hub / "corpus_clean" / "full-00001-of-00002.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(BadInput, match=r"full-00001-of-00002\.parquet is damaged"):
        load("litsearch", hub)
