"""``bench`` and ``measure``, run inside this process on made-up collections."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import benchmark_fixtures as made_up
from aspectra.lab.benchmarks.protocol import BENCHMARKS

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def owls(home):
    return made_up.beir(home / "owls")


@pytest.fixture
def cube(home):
    return made_up.csfcube(home / "cube")


@pytest.fixture
def modes(home):
    return made_up.infosearch(home / "modes")


def put(path, text):
    path.write_text(text, "utf-8")
    return path


# bench list, bench audit


def test_list_says_what_each_needs(run):
    code, out, _ = run("bench", "list")
    assert code == 0
    for name in BENCHMARKS:
        assert f"\n{name}  " in f"\n{out}"
    assert "test-pid2anns-csfcube-FACET.json" in out
    assert "CC BY-NC 4.0" in out
    assert "paraphrase-1" in out
    assert "``" not in out
    listed = json.loads(run("bench", "list", "--json")[1])["benchmarks"]
    assert {one["name"] for one in listed} == set(BENCHMARKS)
    assert all(one["files"] and one["about"] and one["measures"] for one in listed)


def test_audit(run, cube):
    code, out, _ = run("bench", "audit", "csfcube", cube)
    assert code == 0
    assert "problem: 1 pools hold the query paper itself" in out
    assert "licence    CC BY-NC" in out
    facts = json.loads(run("bench", "audit", "csfcube", cube, "--option", "facet=method", "--json")[1])
    assert facts["topics"] == 1
    assert all(len(value) == 64 for value in facts["checksums"].values())


def test_audit_of_what_cannot_be_read(run, home, cube):
    assert run("bench", "audit", "csfcube", home / "nowhere")[0] == 1
    (cube / "test-pid2anns-csfcube-method.json").unlink()
    code, _, err = run("bench", "audit", "csfcube", cube)
    assert code == 1
    assert "has no test-pid2anns-csfcube-method.json" in err
    assert run("bench", "audit", "cubes", cube)[0] == 2
    assert run("bench", "audit", "csfcube", cube, "--option", "colour=red")[0] == 2


def test_a_changed_file_under_a_pinned_checksum(run, home, owls):
    pins = json.loads(run("bench", "audit", "beir", owls, "--json")[1])["checksums"]
    held = put(home / "pins.json", json.dumps(pins))
    assert run("bench", "audit", "beir", owls, "--option", f"checksums={held}")[0] == 0
    with (owls / "corpus.jsonl").open("a") as stream:
        stream.write('{"_id": "b9", "title": "", "text": "new"}\n')
    code, _, err = run("bench", "run", f"beir={owls}", "-r", "bm25", "--option", f"checksums={held}")
    assert code == 1
    assert "is not the file that was pinned" in err


def test_a_truncated_folder(run, owls):
    whole = (owls / "corpus.jsonl").read_bytes()
    (owls / "corpus.jsonl").write_bytes(whole[:-20])
    code, out, err = run("bench", "run", f"beir={owls}", "-r", "bm25")
    assert code == 1
    assert not out
    assert "corpus.jsonl" in err


def test_fetch(run, home, monkeypatch):
    fetched = []
    monkeypatch.setattr(
        "aspectra.lab.benchmarks.protocol.fetch", lambda sets, folder: fetched.append((sets[0].repo, folder))
    )
    code, _, _ = run("bench", "fetch", "litsearch", home / "lit")
    assert code == 0
    assert fetched == [("princeton-nlp/LitSearch", home / "lit")]
    assert run("bench", "fetch", "litsearch", home / "lit", "--offline")[0] == 2
    code, _, err = run("bench", "fetch", "csfcube", home / "cube")
    assert code == 2
    assert "no hub that holds csfcube is known" in err
    assert "git clone https://github.com/iesl/CSFCube" in err
    code, _, err = run("bench", "fetch", "birco", home / "birco")
    assert (code, "BIRCO, revision 84b2b05c" in err) == (2, True)
    assert len(fetched) == 1


# bench run


def test_run_eval_compare_show_export(run, home, cube):
    out = home / "exp"
    arguments = (
        "bench",
        "run",
        f"csfcube={cube}",
        "-r",
        "bm25",
        "--no-encoder",
        "--protocol",
        "both",
        "--output",
        out,
    )
    code, printed, err = run(*arguments)
    assert code == 0, err
    assert "### csfcube (pools)" in printed
    assert "NDCG%20 is of a whole pool: not scored" in printed
    assert "Made 8 rankings; everything is in" in err
    assert {p.name for p in out.iterdir()} >= {
        "experiment.json", "records.jsonl", "results.json", "manifest.json", "tables"
    }  # fmt: skip
    assert "8 were there already" in run("bench", "run", "--output", out)[2]

    code, printed, _ = run("bench", "eval", out, "-m", "P@1", "--preset", "trec", "--format", "csv")
    assert code == 0
    assert "P@1" in printed.splitlines()[0]
    by = json.loads(run("bench", "eval", out, "--by", "facet", "--format", "json")[1])
    assert {row["recipe"] for table in by["tables"] for row in table["rows"]} == {"bm25"}

    assert "abstract@bm25" in run("bench", "show", out)[1]
    assert json.loads(run("bench", "show", out, "--json")[1])["versions"]["aspectra"]

    code, _, err = run("bench", "export-run", out)
    assert code == 2
    assert "several rankings fit" in err
    code, printed, _ = run("bench", "export-run", out, "--recipe", "bm25", "--protocol", "pool")
    assert code == 0
    assert printed.split("\n")[0].split()[1] == "Q0"
    target = home / "bm25.jsonl"
    assert run("bench", "export-run", out, "--protocol", "pool", "--format", "jsonl", "-o", target)[0] == 0
    assert json.loads(target.read_text().splitlines()[0])["docs"]
    assert run("bench", "export-run", out, "--recipe", " bm25 ", "--protocol", "pool")[1] == printed
    assert run("bench", "export-run", out, "--format", "excel")[0] == 2

    code, printed, err = run("bench", "compare", out, "--published")
    assert code == 0
    assert "not comparable: other collection" in printed
    assert run("bench", "compare", out)[0] == 2
    assert run("bench", "compare", out, "--baseline", "bm25")[0] == 2  # nothing beside it
    assert run("bench", "compare", home, "--baseline", "bm25")[0] == 1


def test_compare_of_two_directories(run, home, owls):
    recipe = put(
        home / "short.toml",
        'name = "short"\nsteps = ["bm25", "top(2)", "bm25"]\n',
    )
    assert run("bench", "run", f"beir={owls}", "-r", "bm25", "--no-encoder", "--output", "a")[0] == 0
    assert run("bench", "run", f"beir={owls}", "-r", recipe, "--no-encoder", "--output", "b")[0] == 0
    code, out, _ = run(
        "bench", "compare", "a", "b", "--baseline", "bm25", "--test", "randomisation", "--correction", "holm"
    )  # fmt: skip
    assert code == 0
    assert "| nDCG@10 | short |" in out
    assert "randomisation, holm-corrected" in out
    plain = run("bench", "compare", "a", "b", "--baseline", "bm25")[1]
    assert "t, bonferroni-corrected" in plain, "as figures and reports"
    for words in ((f"beir={owls}", "-r", "hybrid"), ("-r", "hybrid")):
        code, _, err = run("bench", "run", *words, "--no-encoder", "--output", "a")
        assert (code, "holds an experiment with bm25" in err) == (2, True)
    assert (
        run("bench", "run", f"beir={owls}", "-r", "bm25", "-r", recipe, "--no-encoder", "--output", "a")[0]
        == 0
    )
    assert run("bench", "compare", "a", "b", "--baseline", "bm25", "--test", "guess")[0] == 2


def test_default_places(run, home, owls):
    assert run("bench", "run", f"beir={owls}", "-r", "bm25", "-q")[0] == 0
    assert (home / "work" / "experiments" / "beir" / "results.json").exists()
    (library,) = (home / "cache" / "aspectra" / "benchmarks").iterdir()
    assert library.name.startswith("beir-")


def test_modes_and_options_of_one_benchmark(run, home, modes, cube):
    code, out, err = run(
        "bench", "run", f"infosearch={modes}", f"csfcube={cube}", "-r", "bm25", "--option",
        "csfcube.facet=method", "--option", "2.ratings=max", "--output", "x", "--measure", "nDCG@10",
    )  # fmt: skip
    assert code == 0, err
    assert "nDCG@10 ori" in out
    assert "nDCG@10 rev" in out
    study = json.loads((home / "work" / "x" / "experiment.json").read_text())["study"]
    assert [s.get("options", {}) for s in study["sources"]] == [{}, {"facet": "method", "ratings": "max"}]
    code, out, _ = run(
        "bench", "run", f"infosearch={modes}", "-r", "bm25", "--mode", "original", "--output", "y"
    )
    assert code == 0
    assert "p-MRR needs the mode instructed, which was not run" in out
    assert (
        run("bench", "run", f"infosearch={modes}", "-r", "bm25", "--mode", "sideways", "--output", "z")[0]
        == 2
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no benchmark is named"),
        (("{owls}",), "is not a benchmark and its folder"),
        (("beir={owls}",), "no recipe is named"),
        (("beir={owls}", "-r", "bm26"), "no step called 'bm26'"),
        (("beir={owls}", "-r", "bm25", "--option", "x"), "it is not key=value"),
        (("beir={owls}", "-r", "bm25", "--option", "csfcube.facet=x"), "for none of 1 benchmarks"),
        (("beir={owls}", "-r", "bm25", "-m", "Best@5"), "no measure called 'Best'"),
        (("beir={owls}", "-r", "bm25", "--encoder", "minilm", "--no-encoder"), "exclude each other"),
        (("beir={owls}", "-r", "bm25", "--option", "pools=no", "--protocol", "pool"), "has no pools"),
        (("beir={owls}", "-r", "bm25", "--format", "tex"), "no table format 'tex'"),
        (("beir={owls}", "-r", "bm25", "--baseline", "nosuch"), "no recipe 'nosuch'"),
    ],
)
def test_wrong_usage(run, owls, arguments, message):
    code, _, err = run("bench", "run", *(a.format(owls=owls) for a in arguments))
    assert code == 2
    assert message in err
    assert not [*Path().glob("experiments/*/records*")]  # nothing was ranked first


def test_incomplete_is_refused_unless_meant(run, home, owls):
    assert run("bench", "run", f"beir={owls}", "-r", "bm25", "--output", "x")[0] == 0
    records = home / "work" / "x" / "records.jsonl"
    records.write_bytes(records.read_bytes().splitlines(keepends=True)[0])
    code, out, err = run("bench", "eval", "x")
    assert (code, out) == (1, "")
    assert "1 of 2 rankings are missing" in err
    code, out, _ = run("bench", "eval", "x", "--incomplete")
    assert code == 0
    assert "incomplete: 1 of 2 rankings are missing" in out


# measure

RUN = "q1 Q0 a 1 3.0 x\nq1 Q0 b 2 2.0 x\nq2 Q0 c 1 1.0 x\nq9 Q0 a 1 1.0 x\n"
QRELS = "q1 0 a 1\nq1 0 d 1\nq2 0 d 1\nq3 0 a 1\n"


@pytest.fixture
def files(home):
    return put(home / "a.run", RUN), put(home / "a.qrels", QRELS)


def test_measure_says_what_it_stands_on(run, files):
    code, out, _ = run("measure", *files, "-m", "nDCG@10", "-m", "R@1")
    assert code == 0
    assert "| R@1 | 0.1667 | 3 | 1 | 0 |" in out
    assert "preset paper" in out
    assert "1 judged topics have no ranking and score each measure's declared value: q3" in out
    assert "1 ranked topics are not judged: q9" in out
    assert "1 topics rank no judged document (q2)" in out
    whole = json.loads(run("measure", *files, "-m", "R@1", "--json")[1])
    assert whole["scores"][0]["values"] == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    assert whole["preset"] == "paper"
    assert "| R@1 | 0.2500 | 2 |" in run("measure", *files, "-m", "R@1", "--missing", "skip")[1]
    each = ("measure", *files, "-m", "R@1", "-m", "AP(rel=3)", "--per-query")
    assert "1 topics rank no judged document (q2)" in run(*each)[1]
    assert "no document is relevant for AP(rel=3): name the least grade" in run(*each)[1]
    rows = list(csv.DictReader(io.StringIO(run(*each, "--format", "csv")[1])))
    assert {row["topic"]: row["R@1"] for row in rows}["q1"] == "0.5"


def test_measure_of_modes(run, home, files):
    ranked, judged = files
    other = put(
        home / "b.run", RUN.replace("q1 Q0 a 1 3.0", "q1 Q0 a 1 1.0").replace("\nq9 Q0 a 1 1.0 x", "")
    )
    changed = put(home / "b.qrels", "q1 0 d 1\nq2 0 d 1\nq3 0 a 1\n")
    arguments = (
        "measure",
        ranked,
        judged,
        "--mode",
        f"instructed={other}",
        "--judged",
        f"instructed={changed}",
    )
    code, out, err = run(*arguments, "-m", "p-MRR", "-m", "R@1")
    assert code == 0, err
    assert "| R@1 | instructed |" in out
    # q1: a falls from 1 to 2, 1 - 1/2; q2 and q3 have no changed document
    assert "| p-MRR |  | 0.5000 | 1 | 1 | 2 |" in out
    both = ("measure", "--mode", f"original={ranked},instructed={other}")
    more = ("--judged", f"original={judged}", "--judged", f"instructed={changed}", "-m", "p-MRR")
    assert "| 0.5000 |" in run(*both, *more)[1]
    short = put(home / "c.run", "q1 Q0 a 1 1.0 x\n")
    code, _, err = run(*arguments[:3], "--mode", f"instructed={short}", "--judged", f"instructed={changed}")
    assert code == 1
    assert "the modes cover different topics" in err
    assert run(*arguments[:3], "--mode", f"original={short}")[0] == 2
    assert run(*arguments[:3], "--mode", "instructed")[0] == 2


def test_measure_of_an_export(run, home, files):
    corpus = put(
        home / "corpus.jsonl", '{"_id": "a", "title": "Night owls"}\n{"_id": "d", "title": "Day owls"}\n'
    )
    export = put(
        home / "out.csv", "query_id,title,rank\nq1,Night Owls!,1\nq1,No such paper,2\nq1,day owls,3\n"
    )
    code, out, _ = run("measure", export, files[1], "--titles", corpus, "-m", "R@3", "-m", "nDCG@10")
    assert code == 0
    assert "2 matched by title" in out
    assert "1 unmatched (q1: No such paper)" in out
    assert "| R@3 | 0.3333 | 3 |" in out
    assert run("measure", export, files[1])[0] == 2
    code, out, _ = run("measure", *files, "--titles", corpus, "-m", "R@3")
    assert "2 ranked documents outside the corpus (q1 b, q2 c)" in out
    beir = put(home / "run.json", json.dumps({"q1": {"a": 1.0}}))
    assert run("measure", beir, files[1], "--titles", corpus)[0] == 0


def test_measure_with_labels_groups_and_excluded(run, home, files):
    labels = put(home / "labels.tsv", "query_id\tkind\tcore\nq1\tx\tc1\nq2\tx\tc1\nq3\ty\tc2\n")
    code, out, _ = run("measure", *files, "--labels", labels, "--by", "kind", "-m", "R@1")
    assert code == 0
    assert "| R@1 | x | 0.2500 | 2 |" in out
    out = run("measure", *files, "--labels", labels, "--group", "core", "-m", "Robustness@10")[1]
    assert "| Robustness@10 | 0.0000 | 2 |" in out
    code, _, err = run("measure", *files, "--by", "kind")
    assert code == 2
    assert "no topic has that label" in err
    dropped = put(home / "drop.json", '{"q1": ["d"]}')
    assert "| R@1 | 0.3333 |" in run("measure", *files, "--excluded", dropped, "-m", "R@1")[1]
    dropped = put(home / "drop.tsv", "q1\td\n")
    assert "| R@1 | 0.3333 |" in run("measure", *files, "--excluded", dropped, "-m", "R@1")[1]


@pytest.mark.parametrize(
    ("run_text", "qrels_text", "message"),
    [
        ("q1 Q0 a 1 nan x\n", QRELS, "the score of 'a' for 'q1' is nan"),
        ("q1 Q0 a 1 inf x\n", QRELS, "is inf"),
        ("q1 Q0 a 1 1 x\nq1 Q0 a 2 0 x\n", QRELS, "topic 'q1' has 'a' twice"),
        (RUN, "", "holds no judgements"),
        (RUN, "q1 0 a\n", "the grade 'a' is not a number"),
        (RUN, "q1 0 a 1\nq1 0 7\n", "3 columns instead of 4"),
        ("x1 Q0 a 1 1 x\n", QRELS, "ranks documents for none of the 3 judged topics"),
        ("", QRELS, "holds no run"),
    ],
)
def test_bad_input_is_an_error(run, home, run_text, qrels_text, message):
    ranked, judged = put(home / "bad.run", run_text), put(home / "bad.qrels", qrels_text)
    code, out, err = run("measure", ranked, judged)
    assert (code, out) == (1, "")
    assert message in err


def test_what_can_be_scored_is_remarked_on(run, home, files):
    twice = put(home / "twice.run", "q1 Q0 a 1 1 x\nq1 Q0 a 2 0 x\n")
    code, out, _ = run("measure", twice, files[1], "--duplicates", "first", "-m", "R@1")
    assert code == 0
    assert "1 documents listed twice, the first kept (q1 a)" in out
    strange = put(home / "strange.run", "q1 Q0 A-1 1 2 x\nq2 Q0 A-2 1 2 x\n")
    out = run("measure", strange, files[1], "-m", "R@1")[1]
    assert "check that both files use the same document ids" in out


def test_measure_usage(run, files, home):
    assert run("measure")[0] == 2
    assert run("measure", files[0])[0] == 2
    assert run("measure", home / "none", files[1])[0] == 1
    assert run("measure", *files, "-m", "Best@1")[0] == 2
    assert run("measure", *files, "--preset", "mine")[0] == 2
    assert run("measure", *files, "--format", "word")[0] == 2
    assert run("measure", *files, "-m", "HullVolume")[0] == 2


def test_measure_imports_nothing_heavy(files):
    script = (
        "import sys; from aspectra.app.main import main; "
        f"code = main(['measure', {str(files[0])!r}, {str(files[1])!r}]); "
        "heavy = {'openvino', 'bm25s', 'scipy', 'tokenizers', 'torch', 'Stemmer', 'numba', 'sqlite3'}; "
        "sys.exit(code or (f'imported {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_run_of_an_experiment_scores_the_same(run, home, owls):
    assert run("bench", "run", f"beir={owls}", "-r", "bm25", "--output", "x")[0] == 0
    assert run("bench", "export-run", "x", "-o", "x.run")[0] == 0
    whole = json.loads(run("measure", "x.run", owls / "qrels.tsv", "-m", "nDCG@10", "--json")[1])
    results = json.loads((home / "work" / "x" / "results.json").read_text())
    (score,) = [s for s in results["cells"][0]["sets"]["gold"]["scores"] if s["measure"] == "nDCG@10"]
    assert whole["scores"][0]["values"] == score["values"]
