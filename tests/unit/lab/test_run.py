"""Runs and judgements: what is read, what is refused, what is written."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from aspectra.base.decompression import zstd
from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.runs.files import Checks, check_run, judge, order_ids
from aspectra.lab.runs.rows import read_rows
from aspectra.lab.runs.run import UNMATCHED, Qrels, Run, read_export

TREC = "q1 Q0 a 1 2.5 mine\nq1 Q0 b 2 1 mine\nq2 Q0 a 1 -3e-1 mine\n"
DATA = {"q1": {"a": 2.5, "b": 1.0}, "q2": {"a": -0.3}}


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.trec", TREC),
        ("tabs.trec", TREC.replace(" ", "\t")),
        ("windows.trec", "\ufeff" + TREC.replace("\n", "\r\n")),
        ("no-end.trec", TREC.rstrip("\n")),
        ("blank.trec", TREC.replace("\n", "\n\n")),
        ("run.json", json.dumps(DATA)),
        ("run.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t2.5\nq1\tb\t1\nq2\ta\t-0.3\n"),
        ("run.jsonl", "".join(json.dumps({"query_id": q, "docs": d}) + "\n" for q, d in DATA.items())),
        ("mteb.json", json.dumps({"mteb_model_meta": {"name": "x"}, "default": {"test": DATA}})),
        (
            "rank-llm.jsonl",
            "".join(
                json.dumps(
                    {
                        "query": {"qid": q, "text": "?"},
                        "candidates": [{"docid": d, "score": s, "doc": {}} for d, s in ds.items()],
                    }
                )
                + "\n"
                for q, ds in DATA.items()
            ),
        ),
        (
            "rows.jsonl",
            "".join(
                json.dumps({"query_id": q, "doc_id": d, "score": s}) + "\n"
                for q, ds in DATA.items()
                for d, s in ds.items()
            ),
        ),
    ],
)
@pytest.mark.parametrize("pack", ["", "gz", "zst"])
def test_formats(tmp_path: Path, name: str, text: str, pack: str) -> None:
    raw = text.encode()
    raw = gzip.compress(raw) if pack == "gz" else zstd.compress(raw) if pack == "zst" else raw
    run = Run.read(put(tmp_path, f"{name}.{pack}".rstrip("."), raw))
    assert run.data == DATA
    assert not run.checks
    assert run.name == name.split(".", maxsplit=1)[0]
    assert (len(run), "q1" in run, list(run)) == (2, True, ["q1", "q2"])


def test_a_large_run_is_read_block_by_block(tmp_path: Path) -> None:
    lines = [f"q{q} Q0 doc-{q}-{d} {d} {1000 - d} name\n" for q in range(40) for d in range(1000)]
    run = Run.read(put(tmp_path, "big.trec", "".join(lines)))
    assert (len(run), sum(map(len, run.values()))) == (40, 40_000)
    assert run["q7"]["doc-7-999"] == 1.0
    assert list(run["q3"])[:2] == ["doc-3-0", "doc-3-1"]
    lines[35_000] = lines[34_999]
    with pytest.raises(BadInput, match=r"line 35001: topic 'q34' has 'doc-34-999' twice"):
        Run.read(put(tmp_path, "big.trec", "".join(lines)))
    lines[35_000] = "short line\n"
    with pytest.raises(BadInput, match=r"line 35001: 2 columns instead of 6"):
        Run.read(put(tmp_path, "big.trec", "".join(lines)))


def test_lists_in_json_are_in_order(tmp_path: Path) -> None:
    run = Run.read(put(tmp_path, "lists.jsonl", '{"query_id": "q", "docs": ["b", "a", 7]}\n'))
    assert run.ranking("q") == ["b", "a", "7"]
    assert Qrels.read(put(tmp_path, "gold.json", '{"q": ["a", "b"]}'))["q"] == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no run"),
        ("\n \n", "holds no run"),
        ("{}", "holds no run"),
        ("q1 Q0 a 1 2.5 mine\nq1 Q0 a 2 1 mine\n", "line 2: topic 'q1' has 'a' twice"),
        ("q1 Q0 a 1 nan mine\n", "line 1: the score of 'a' for 'q1' is nan"),
        ("q1 Q0 a 1 1 mine\nq1 Q0 b 1 -inf mine\n", "line 2: the score of 'b' for 'q1' is -inf"),
        ("q1 Q0 a 1 high mine\n", "line 1: the score 'high' is not a number"),
        ("q1 Q0 a 1 2\n", "line 1: 5 columns instead of 6"),
        ("# our run\nq1 Q0 a 1 2 x\n", "line 1: a comment"),
        ("# made on day 1 5 x\nq1 Q0 a 1 2 x\n", "line 1: a comment"),
        ("#run\nq1 Q0 a 1 2 x\n", "line 1: a comment"),
        ('{"mteb_model_meta": {"a": 1}, "x": {"dev": {}, "test": {}}}', "x/dev, x/test"),
        ("q1 Q0 a b 1 2 mine\n", "line 1: 7 columns instead of 6"),
        ('{"q": {"a": NaN}}', "the score of 'a' for 'q' is nan"),
        ('{"q": {"a": null}}', "the score None is not a number"),
        ('{"q": 3}', "documents with a score each"),
        ('{"query_id": "q", "doc_id": "a"}\n', "no score: name it score"),
        ('{"query_id": "q", "docs": {"a": 1}}\n{broken\n', "line 2: cannot be used"),
        ('{"doc_id": "a", "score": 1, "query_id": {}}\n', "no topic"),
        ("query-id\tcorpus-id\tscore\nq\ta\n", "2 columns instead of 3"),
        ("query-id\tcorpus-id\tnothing\nq\ta\t1\n", "line 2: no score: name it score"),
        ("query-id\tcorpus-id\tscore\n\ta\t1\n", "without an id"),
        (b"q1 Q0 \xff\xfe 1 1 mine\n", "is not UTF-8"),
        (gzip.compress(TREC.encode(), mtime=0)[:-9], "is damaged"),
    ],
)
def test_what_cannot_stand_is_refused(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        Run.read(put(tmp_path, "bad", text))
    assert said in str(caught.value)


def test_a_name_twice_in_json_is_not_lost(tmp_path: Path) -> None:
    topics = put(tmp_path, "topics.json", '{"q1": {"a": 3}, "q2": {"a": 1}, "q1": {"b": 5}}')
    docs = put(tmp_path, "docs.json", '{"q1": {"a": 3, "b": 1, "a": 2}}')
    for path, duplicates in ((topics, "error"), (topics, "first"), (docs, "error")):
        with pytest.raises(BadInput, match="is in it twice"):
            Run.read(path, duplicates=duplicates)
    run = Run.read(docs, duplicates="first")
    assert (run["q1"], run.checks.lines()) == (
        {"a": 3, "b": 1},
        ("1 documents listed twice, the first kept (a)",),
    )
    same = Qrels.read(put(tmp_path, "same.json", '{"q1": {"a": 3, "a": 3}}'))
    assert (same["q1"], same.checks.lines()) == ({"a": 3}, ("1 judgements repeated with the same grade (a)",))


def test_judgements_with_blanks_and_tabs_have_the_columns_of_trec_eval(tmp_path: Path) -> None:
    text = "1 0\tD1 \t1\n1\t0 D2\t0\n"
    assert Qrels.read(put(tmp_path, "mixed", text)).data == {"1": {"D1": 1.0, "D2": 0.0}}


def test_scores_beyond_32_bits_are_equal_there(recwarn: pytest.WarningsRecorder) -> None:
    scores = {"a": 2e39, "b": 1e39, "c": 1.0}
    assert order_ids(scores, precision="float32") == ["b", "a", "c"]
    assert judge(scores, ["a", "c"], np.ones(2), precision="float32").ranks.tolist() == [2, 3]
    assert not recwarn.list


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot open"):
        Run.read(tmp_path / "none.trec")


def test_duplicates_can_be_counted_instead(tmp_path: Path) -> None:
    path = put(tmp_path, "twice.trec", "q Q0 a 1 3 m\nq Q0 b 2 2 m\nq Q0 a 3 1 m\n")
    run = Run.read(path, duplicates="first")
    assert run["q"] == {"a": 3.0, "b": 2.0}
    assert run.checks.lines() == ("1 documents listed twice, the first kept (q a)",)
    with pytest.raises(UsageError, match="no policy for duplicates"):
        Run.read(path, duplicates="last")


def test_judgements(tmp_path: Path) -> None:
    trec = Qrels.read(put(tmp_path, "a.qrels", "q1 0 a 2\nq1 0 b -1\nq2 0 c 1\n"))
    beir = Qrels.read(put(tmp_path, "b.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t-1\nq2\tc\t1\n"))
    assert trec.data == beir.data == {"q1": {"a": 2.0, "b": -1.0}, "q2": {"c": 1.0}}
    for form in ("trec", "beir", "jsonl"):
        trec.write(tmp_path / f"out.{form}", form)
        assert Qrels.read(tmp_path / f"out.{form}").data == trec.data
    with pytest.raises(BadInput, match="holds no judgements"):
        Qrels.read(put(tmp_path, "empty.tsv", "query-id\tcorpus-id\tscore\n"))
    with pytest.raises(BadInput, match="6 columns instead of 4"):
        Qrels.read(put(tmp_path, "run.trec", TREC))
    with pytest.raises(UsageError, match="no format"):
        trec.write(tmp_path / "x", "xml")


@pytest.mark.parametrize("grade", ["relevance", "grade", "rel", "label"])
@pytest.mark.parametrize("score", ["score", "sim"])
def test_a_row_with_score_and_grade_gives_each_kind_its_own(tmp_path: Path, score: str, grade: str) -> None:
    table = put(tmp_path, "t.tsv", f"query_id\tdoc_id\trank\t{score}\t{grade}\nq\ta\t1\t7.5\t0\n")
    row = {"docno": "a", score: 7.5, grade: 0}
    nested = put(tmp_path, "n.jsonl", json.dumps({"qid": "q", "results": [row]}))
    for path in (table, nested):
        assert (Qrels.read(path)["q"], Run.read(path)["q"]) == ({"a": 0.0}, {"a": 7.5})


GRADE_NAMES = ("relevance", "grade", "rel", "label", "rating", "judgment", "judgement", "gain", "Relevance")


@pytest.mark.parametrize("name", GRADE_NAMES)
def test_the_grade_column_has_many_names_in_any_case(tmp_path: Path, name: str) -> None:
    row = {"Doc_ID": "a", name: 0}
    for text in (
        f"query_id\tdoc_id\t{name}\nq\ta\t0\n",
        json.dumps({"Query": "q", **row}),
        json.dumps({"query_id": "q", "Qrels": [row]}),
    ):
        assert Qrels.read(put(tmp_path, "judged", text)).data == {"q": {"a": 0.0}}


@pytest.mark.parametrize(
    "text",
    [
        "query_id\tdoc_id\tstars\nq\ta\t0\n",
        '{"query": "q", "docid": "a", "stars": 0}',
        '{"query": "q", "docid": "a", "verdict": "not relevant"}',
        '{"query_id": "q", "qrels": [{"doc_id": "a", "stars": 0}]}',
    ],
)
def test_a_grade_of_unknown_name_is_not_taken_for_relevant(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="no grade: name it relevance"):
        Qrels.read(put(tmp_path, "judged", text))


def test_rows_of_relevant_documents_alone_have_grade_1(tmp_path: Path) -> None:
    for text in (
        "qid\tdocno\titeration\nq\ta\t0\n",
        '{"query": "q", "docid": "a", "title": "A", "text": "words"}',
        '{"query": {"qid": "q"}, "candidates": [{"docid": "a", "doc": {"text": "words"}}]}',
    ):
        assert Qrels.read(put(tmp_path, "judged", text)).data == {"q": {"a": 1.0}}


def test_a_pair_judged_twice(tmp_path: Path) -> None:
    """The same policy in every layout: the same grade counts once and is reported, two grades are refused."""
    for name, same, other in (
        ("trec", "q 0 a 2\nq 0 a 2\n", "q 0 a 2\nq 0 a 1\n"),
        ("bare", "q a 2\nq a 2\n", "q a 2\nq a 1\n"),
        ("tsv", "qid\tpid\tgrade\nq\ta\t2\nq\ta\t2\n", "qid\tpid\tgrade\nq\ta\t2\nq\ta\t1\n"),
        (
            "jsonl",
            '{"qid": "q", "pid": "a", "grade": 2}\n' * 2,
            '{"qid": "q", "pid": "a", "grade": 2}\n{"qid": "q", "pid": "a", "grade": 1}\n',
        ),
    ):
        held = Qrels.read(put(tmp_path, f"same.{name}", same))
        assert held.data == {"q": {"a": 2.0}}
        assert held.checks.lines() == ("1 judgements repeated with the same grade (q a)",)
        path = put(tmp_path, f"other.{name}", other)
        with pytest.raises(BadInput, match="topic 'q' has 'a' twice"):
            Qrels.read(path)
        first = Qrels.read(path, duplicates="first")
        assert first.data == {"q": {"a": 2.0}}
        assert first.checks.lines() == ("1 documents listed twice, the first kept (q a)",)


def test_judgements_keep_their_number_of_columns(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 1: a comment"):
        Qrels.read(put(tmp_path, "comment", "# judged by 2\nq 0 #17 1\n"))
    assert Qrels.read(put(tmp_path, "hash", "#q 0 #17 1\n"))["#q"] == {"#17": 1.0}
    assert Qrels.read(put(tmp_path, "bare", "q\ta b\t1\nq\tc\t0\n"))["q"] == {"a b": 1.0, "c": 0.0}
    with pytest.raises(BadInput, match="line 2: 3 columns instead of 4"):
        Qrels.read(put(tmp_path, "cut", "q 0 17 1\nq 0 18\n"))


def test_rows_of_every_layout(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": 'Says "no", twice'}, {"id": "b", "title": ""}]
    layouts = {
        "lines": "".join(json.dumps(row) + "\n\n" for row in rows),
        "array": json.dumps(rows),
        "commas": 'ID,Title\na,"Says ""no"", twice"\nb,\n',
        "semicolons.csv": 'id;title\na;"Says ""no"", twice"\nb;\n',
        "tabs": '\ufeffid\ttitle\na\tSays "no", twice\nb\t\n',
    }
    for name, text in layouts.items():
        assert [row for _, row in read_rows(put(tmp_path, name, text))] == rows, name
        packed = put(tmp_path, f"{name}.gz", gzip.compress(text.encode()))
        assert [row for _, row in read_rows(packed)] == rows, name
    broken = put(tmp_path, "broken.csv", 'id,title\na,"one\ntwo"\nb\n')
    with pytest.raises(BadInput, match="line 4: cannot be used") as caught:
        list(read_rows(broken))
    assert "1 columns instead of 2" in str(caught.value)


@pytest.mark.parametrize("form", ["trec", "beir", "jsonl"])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_runs_come_back(tmp_path: Path, form: str, ending: str) -> None:
    run = Run({"q1": {"a": 1.0, "b": 2.0, "c": 1.0}, "q 2": {"d": 0.0}} if form != "trec" else DATA, "mine")
    path = tmp_path / f"run.{form}{ending}"
    run.write(path, form)
    again = Run.read(path)
    assert set(again) == set(run)
    for topic in run:
        assert again.ranking(topic) == run.ranking(topic)
        assert list(again[topic]) == run.ranking(topic), "best first, so that input order agrees too"
    first = path.read_bytes()
    run.write(path, form)
    assert path.read_bytes() == first


def test_written_scores_never_tie_and_every_order_agrees(tmp_path: Path) -> None:
    docs = {
        f"d{i}": score
        for i, score in enumerate([1.0] * 50 + [1.0 + 1e-12] * 3 + [0.0] * 20 + [-5.0, 1e-30, 7e8])
    }
    run = Run({"q": docs})
    run.write(tmp_path / "run.trec")
    again = Run.read(tmp_path / "run.trec")["q"]
    narrow = [np.float32(score) for score in again.values()]
    assert all(a > b for a, b in pairwise(again.values()))
    assert all(a > b for a, b in pairwise(narrow))
    for order in ("id-descending", "id-ascending", "input"):
        assert order_ids(again, order, "float32") == run.ranking("q")


def test_huge_scores_are_written_as_ranks(tmp_path: Path) -> None:
    Run({"q": {"a": 1e300, "b": 1e200}}).write(tmp_path / "huge.trec")
    lines = (tmp_path / "huge.trec").read_text().splitlines()
    assert [line.split()[2:5] for line in lines] == [["a", "1", "-1"], ["b", "2", "-2"]]


def test_ids_that_become_one_word_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="one word in TREC format"):
        Run({"q": {"a b": 1.0, "a_b": 0.5}}).write(tmp_path / "run.trec")
    Run({"q": {"a b": 1.0, "a_b": 0.5}}).write(tmp_path / "run.json", "beir")
    with pytest.raises(UsageError, match="no format"):
        Run(DATA).write(tmp_path / "x", "xml")
    with pytest.raises(BadInput, match="NaN or infinite"):
        Run({"q": {"a": float("nan")}}).write(tmp_path / "nan.trec")


def test_judgements_are_written_without_loss(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="one word in TREC format"):
        Qrels({"q": {"a b": 1.0, "a_b": 0.0}}).write(tmp_path / "qrels.trec")
    exact = Qrels({"q": {"a": 0.123456789, "b": 2.0, "c": -1.0}})
    for form in ("trec", "beir", "jsonl"):
        exact.write(tmp_path / f"exact.{form}", form)
        assert Qrels.read(tmp_path / f"exact.{form}").data == exact.data, form
    assert (tmp_path / "exact.trec").read_text().splitlines()[1] == "q 0 b 2"


def test_orders() -> None:
    run = Run({"q": {"2": 1.0, "10": 1.0, "9": 1.0, "x": 3.0}})
    assert run.ranking("q") == ["x", "9", "2", "10"]
    assert run.ranking("q", "id-ascending") == ["x", "10", "2", "9"]
    assert run.ranking("q", "input") == ["x", "2", "10", "9"]
    assert run.ranking("nothing") == []
    assert order_ids({"a": 1.0, "b": 1.0 + 1e-9}) == ["b", "a"]
    assert order_ids({"b": 1.0, "c": 1.0 - 1e-9}, precision="float32") == ["c", "b"]
    with pytest.raises(UsageError, match="there is no order"):
        order_ids({}, "random")  # type: ignore[arg-type]


def test_plain_lists() -> None:
    assert Run.from_rankings({"q": ["b", "a"]}).ranking("q") == ["b", "a"]
    with pytest.raises(BadInput, match="ranks 'a' twice"):
        Run.from_rankings({"q": ["a", "b", "a"]})


def test_checks_count_what_does_not_fit() -> None:
    run = {"q1": {"a": 1.0, "b": 1.0, "alien": 0.0}, "q2": {}, "q9": {"a": 1.0}}
    qrels = {"q1": {"a": 1, "ghost": 1}, "q2": {"a": 1}, "q3": {"a": 0}}
    checks = check_run(run, qrels, corpus=["a", "b"])
    assert checks.counts == {
        "topics with an empty ranking": 1,
        "ranked documents outside the corpus": 1,
        "judged documents outside the corpus": 1,
        "documents with the score of another": 1,
    }
    assert "1 judged documents outside the corpus (q1 ghost)" in checks.lines()
    assert not check_run({"q": {"a": 1.0}}, {"q": {"a": 1}}, corpus={"a"})
    lost = check_run({"q1": {"x": 1.0}, "q2": {"y": 1.0}}, {"q1": {"a": 1}, "q2": {"y": 1}})
    assert lost.lines() == ("1 topics rank no judged document (q1)",)
    (line,) = check_run({"q1": {"x": 1.0}}, {"q1": {"a": 1}}).lines()
    assert "check that both files use the same document ids" in line
    assert (Checks.of({"x": ["1"]}) + Checks.of({"x": ["2"], "y": ["3"]})).counts == {"x": 2, "y": 1}


TITLES = {
    "p1": "Attention Is All You Need",
    "p2": "Deep Nets",
    "p3": "Deep nets!",
    "p4": "Schrödinger's cat",
    "p5": "",
}


def test_export_of_another_engine(tmp_path: Path) -> None:
    text = (
        "Query_ID,Rank,Title,Score\n"
        'q1,1,"Attention is all you need.",9\n'
        "q1,2,Deep Nets,8\n"
        "q1,3,Schrodinger's Cat,7\n"
        "q1,4,Something Else,6\n"
        "q1,5,ATTENTION IS ALL YOU NEED,5\n"
    )
    run = read_export(put(tmp_path, "engine.csv", text), TITLES)
    assert run.ranking("q1") == ["p1", f"{UNMATCHED}deep nets", "p4", f"{UNMATCHED}something else"]
    assert run.checks.counts == {
        "matched by title": 3,
        "unmatched": 1,
        "ambiguous": 1,
        "listed again": 1,
    }
    assert run.checks.examples["ambiguous"] == ("q1: Deep Nets",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "topic\tid\trank\nq\tp2\t2\nq\tp1\t1\n"),
        ("a.csv", "topic;id;rank\nq;p2;2\nq;p1;1\n"),
        ("a.jsonl", '{"topic": "q", "id": "p1"}\n{"topic": "q", "id": "p2"}\n'),
        ("a.json", '[{"id": "p1", "title": "x"}, {"id": "p2"}]'),
        ("b.csv", "doc_id,similarity\np2,0.1\np1,0.2\n"),
        ("e.csv", "query,id,rank,score\nq,p2,2,\nq,p1,1,\n"),  # its scores are left empty
        ("c.csv", "qid,docid,docno,rank,score\nq,0,p1,0,9.1\nq,1,p2,1,7.2\n"),  # PyTerrier
    ],
)
def test_exports_by_id(tmp_path: Path, name: str, text: str) -> None:
    run = read_export(put(tmp_path, name, text), TITLES, topic="q")
    assert run.ranking("q") == ["p1", "p2"]
    assert run.checks.counts == {"matched by id": 2}


def test_each_topic_of_an_export_is_ordered_by_one_column(tmp_path: Path) -> None:
    text = "query,id,rank,score\nq,p2,1,0.2\nq,p1,2,0.9\nr,p1,2,\nr,p2,1,\n"
    run = read_export(put(tmp_path, "two.csv", text), TITLES)
    assert (run.ranking("q"), run.ranking("r")) == (["p1", "p2"], ["p2", "p1"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,score\np1,1\n", "no topic"),
        ("query,score\nq,1\n", "neither an id nor a title"),
        ("query,id,score\nq,p1,best\n", "is not a number"),
        ("query,id,rank,score\nq,p1,1,0.9\nq,p2,2,\nq,p3,3,0.1\n", "line 3: '' is not a number"),
        ("query,id,rank\nq,p1,1\nq,p2,\n", "line 3: '' is not a number"),
        ('{"query": "q", "id": "p1", "rank": 1}\n{"query": "q", "id": "p2", "score": 9}\n', "'' is not"),
        ("query,id,score\nq,p1,nan\n", "has no place in an order"),
        ("query,id,score\n", "has no rows"),
        ("[1, 2]", "not a JSON object"),
        ('{"query": ', "not valid JSON"),
        ("", "is empty"),
    ],
)
def test_exports_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_export(put(tmp_path, "export", text), TITLES)
    assert said in str(caught.value)
