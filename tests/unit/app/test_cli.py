"""The commands, run inside this process on a small library without vectors."""

import errno
import json
import os
import re
import sys
from pathlib import Path

import pytest

from aspectra.app.main import main
from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.papers.library.store import Store
from aspectra.papers.paper import field_text

pytestmark = pytest.mark.usefixtures("home")

PAPERS = [
    {
        "id": "retrieval",
        "title": "Dense retrieval of scientific papers",
        "abstract": "Search engines match words. We train encoders for dense retrieval. Recall rises.",
        "authors": ["Ada Lovelace"],
        "year": 2020,
        "venue": "SIGIR",
        "identifiers": {"doi": "10.1000/dense"},
    },
    {
        "id": "graphs",
        "title": "Graph pretraining for molecules",
        "abstract": "Molecules are graphs. Pretraining on graphs helps to predict their properties.",
        "authors": ["Alan Turing", "Grace Hopper"],
        "year": 2022,
        "venue": "NeurIPS",
        "references": [{"identifiers": {"id": "retrieval"}}],
    },
    {
        "id": "evil",
        "title": "Red \x9b31m alert \u202e gnitirw",
        "abstract": "Retrieval with bells.",
        "year": 2019,
    },
]


@pytest.fixture
def papers(home):
    path = home / "papers.jsonl"
    path.write_text("".join(json.dumps(p) + "\n" for p in PAPERS), "utf-8")
    return path


@pytest.fixture
def library(run, papers):
    assert run("init")[0] == 0
    assert run("add", papers)[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return papers


def test_version_and_help(run):
    assert run("--version")[1].startswith("aspectra ")
    code, out, _ = run("--help")
    assert code == 0
    for command in "init add index search similar show export plan status remove doctor config".split():
        assert f"  {command} " in out


@pytest.mark.parametrize(
    "command", "init add index search similar show export plan status remove doctor".split()
)
def test_every_command_explains_itself_with_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Example:  aspectra" in out
    assert "--library DIR" in out


def test_typos_are_answered_with_suggestions(run):
    code, _, err = run("serch", "x")
    assert code == 2
    assert "'search'" in err
    code, _, err = run("search", "--limt", "3", "x")
    assert code == 2
    assert "--limit" in err


def test_init_says_what_comes_next(run, home):
    code, out, err = run("init")
    assert code == 0
    assert str(home / "data") in out
    assert "next: aspectra add" in err
    assert not list(Path.cwd().iterdir())
    assert run("init", "-q") == (0, "", "")


def test_init_in_a_folder_of_other_things(run, home):
    other = home / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    code, _, err = run("init", "--library", other)
    assert code == 2
    assert "next:" in err


def test_init_project_is_found_from_below(run, home, papers, monkeypatch):
    assert run("init", "--project", "--library", "lib")[0] == 0
    assert Path("aspectra.toml").read_text() == 'library = "lib"\n'
    below = Path("a/b")
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run("add", papers)[0] == 0
    assert str(home / "work" / "lib") in run("status")[1]


def test_add_reports_and_is_idempotent(run, papers):
    run("init")
    code, out, err = run("add", papers)
    assert code == 0
    assert f"{papers} (jsonl): 3 added, 0 updated, 0 unchanged, 0 skipped" in out
    assert "Added 3 records (3 with abstract, 0 with full text, 0 skipped)." in out
    assert "next: aspectra index" in err
    code, out, err = run("add", papers)
    assert code == 0
    assert "as it was, 3 papers" in out
    assert "aspectra index" not in err
    assert "0 added, 0 updated, 3 unchanged" in run("add", "--again", papers)[1]


def test_a_known_file_is_read_again_when_one_of_its_papers_is_gone(run, papers):
    run("init")
    run("add", papers)
    run("remove", "graphs", "--yes")
    assert "1 added, 0 updated, 2 unchanged" in run("add", papers)[1]


def test_add_a_folder_of_everything(run, home):
    folder = home / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bib").write_text(
        "@article{a, title={One paper}, year=2020}\n@article{b, title={Two papers}}\n"
    )
    (folder / "sub" / "b.bib").write_text("@article{c, title={Broken, year=2020\n")
    (folder / "empty.ris").write_text("")
    (folder / "unknown.txt").write_text("KD Journal Article\nID 1\nA1 Owl, A\nT1 Owls\nYR 2012\n")
    (folder / "photo.bin").write_bytes(bytes(range(256)))
    (folder / ".hidden.bib").write_text("@article{h, title={Hidden}}")
    (folder / "README.md").write_text("# About\n\nText.\n")
    (folder / "out.bib").symlink_to(home / "secret.bib")
    (home / "secret.bib").write_text("@article{s, title={Secret}}")
    run("init")
    code, out, err = run("add", folder)
    assert code == 0
    assert "Added 2 records" in out
    assert "empty.ris: skipped: is empty; check that the export" in err
    assert "unknown.txt: skipped: the format is not recognised: it begins" in err
    assert "export its records as RIS" in err.partition("unknown.txt: skipped: ")[2]
    assert "3 files passed over" in err
    assert run("add", folder, "--strict")[0] == 4
    facts = json.loads(run("status", "--json", "--skips")[1])
    assert facts["papers"] == 2
    assert facts["records_skipped"] == len([r for r in facts["remarks"] if r["skipped"]]) > 0


@pytest.mark.parametrize("content", [b"", b"   \n", bytes(range(128, 256)) * 4, b"@article{x, title={"])
def test_files_of_which_nothing_can_be_read(run, home, content):
    bad = home / "bad.bib"
    bad.write_bytes(content)
    run("init")
    code, out, err = run("add", bad)
    assert code == 1
    assert "Added nothing" in out
    assert "bad.bib" in out + err


def test_one_bad_file_does_not_stop_the_others(run, home, papers):
    run("init")
    code, out, err = run("add", home / "missing.bib", papers)
    assert code == 1  # a script must notice
    assert "there is no file or folder" in err
    assert "Added 3 records (3 with abstract, 0 with full text, 1 skipped)" in out


def test_wrong_encoding_is_read_and_said(run, home):
    latin = home / "latin.ris"
    latin.write_bytes(b"TY  - JOUR\nTI  - Caf\xe9 society\nAU  - X, Y\nER  - \n")
    run("init")
    code, _, err = run("add", latin)
    assert code == 0
    assert "Windows-1252" in err


def test_the_demo_does_not_mix_with_other_papers(run, library):
    code, _, err = run("init", "--demo")
    assert code == 2
    assert "already holds papers" in err


def test_a_library_inside_a_folder_is_not_read_as_papers(run, home, papers):
    run("init", "--library", home / "in" / "lib")
    (home / "in" / "p.jsonl").write_text(papers.read_text("utf-8"), "utf-8")
    code, out, err = run("add", home / "in", "--library", home / "in" / "lib", "-v")
    assert code == 0
    assert "Added 3 records" in out
    assert "an Aspectra library" in err


def test_progress_lines_and_bars(capsys, monkeypatch):
    from aspectra.app.terminal import screen as progress

    ticks = iter([0.0, 0.0, 11.0, 22.0, 33.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(ticks))
    with progress.ProgressShown(True) as shown:
        shown("encoding", 0, 400)
        shown("encoding", 110, 400)
        shown("encoding", 220, 400)
        shown("encoding", 400, 400)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["encoding: 110 of 400, 10/s, 29 s left", "encoding: 220 of 400, 10/s, 18 s left"]


def test_add_with_a_wrong_format_name(run, papers):
    run("init")
    code, _, err = run("add", papers, "--as", "bibtx")
    assert code == 2
    assert "did you mean bibtex" in err


@pytest.mark.parametrize("command", [["search", "x"], ["status"], ["add", "x"], ["index"], ["show", "x"]])
def test_without_a_library(run, command):
    code, _, err = run(*command)
    assert code == 2
    assert "there is no library" in err
    assert "next: aspectra init" in err


def test_search_before_index(run, papers):
    run("init")
    run("add", papers)
    code, _, err = run("search", "retrieval")
    assert code == 6
    assert "aspectra index" in err


def test_index_of_an_empty_library(run):
    run("init")
    code, out, _ = run("index")
    assert code == 0
    assert "nothing to index" in out


def test_index_reports(run, papers):
    run("init")
    run("add", papers)
    code, out, err = run("index", "--no-encoder", "--k1", "0.9", "--b", "0.4", "--stemmer", "none")
    assert code == 0
    assert "Indexed 3 papers (0 newly encoded) in" in out
    assert "generation 000001" in out
    assert "next: aspectra search" in err
    assert "Nothing changed" in run("index")[1]
    facts = json.loads(run("status", "--json")[1])["index"]
    assert facts["bm25"] == {"k1": 0.9, "b": 0.4, "method": "lucene", "stemmer": "none"}
    assert facts["waiting"] == facts["changed"] == facts["gone"] == 0


@pytest.mark.parametrize(
    "flags",
    [
        ["--encoder", "minlim"],
        ["--k1", "-1"],
        ["--b", "2"],
        ["--method", "bm26"],
        ["--stemmer", "klingon"],
        ["--chunks", "3x"],
        ["--encoder", "minilm", "--no-encoder"],
    ],
)
def test_index_settings_that_mean_nothing(run, library, flags):
    code, _, err = run("index", *flags)
    assert code == 2
    assert err
    assert "Nothing changed" in run("index")[1]


def test_a_search_shows_what_was_applied_what_was_not_and_what_was_searched_for(run, library):
    asked = "dense retrieval, no surveys, well written"
    for command in ("search", "plan"):
        code, out, err = run(command, asked)
        said = " ".join(out.split())
        assert (code, "not applied" in err) == (0, False)  # once, beside the hits
        assert re.search(r"exclude kind=survey\]? “no surveys”", said)
        assert "“well written” (a judgement that no record or text states)" in said
        assert "searched for" in said
    assert "searched for" not in run("search", "dense retrieval")[1]


def test_the_json_document(run, library):
    code, out, err = run("search", "dense retrieval", "--json")
    assert (code, err) == (0, "")
    whole = json.loads(out)
    assert list(whole) == ["schema", "plan", "hits", "requests", "warnings", "seconds", "fit"]
    assert isinstance(whole["seconds"], float)
    hit = whole["hits"][0]
    assert hit["id"] == "retrieval"
    assert set(hit) == {"id", "rank", "title", "authors", "year", "venue", "score", "evidence"}
    assert set(hit["evidence"][0]) == {"quote", "field", "start", "end", "aspect"}
    paper = Store(Path(json.loads(run("status", "--json")[1])["folder"])).get("retrieval")
    for quote in hit["evidence"]:
        assert field_text(paper, quote["field"])[quote["start"] : quote["end"]] == quote["quote"]


def test_json_lines_and_explanations(run, library):
    _, out, _ = run("search", "retrieval", "--jsonl", "--explain")
    hits = [json.loads(line) for line in out.splitlines()]
    assert [h["rank"] for h in hits] == [1, 2]
    assert hits[0]["probes"][0]["view"] == "abstract@bm25"


def test_the_table(run, library):
    code, out, _ = run(
        "search", "dense", "retrieval", "--since", "2020-05-01", "--venue", "sig*", "--explain"
    )
    assert code == 0
    assert "“dense retrieval” · [require year=>=2020] · [require venue=sig*] · guided" in out
    assert "Dense retrieval of scientific papers" in out
    assert "“We train encoders for dense retrieval.”" in out
    assert "1 paper of 1 left by the filters (of 3)" in out
    assert "abstract@bm25" in out
    _, out, _ = run("search", "retrieval", "-c", "require year=1800")
    assert "no paper of 3 meets all conditions; [require year=1800] leaves none" in " ".join(out.split())
    filtered, whole = (
        json.loads(run("search", "retrieval", *c, "--json")[1]) for c in (("--until", "1800"), ())
    )
    assert filtered["left_by_filters"] == 0
    assert "left_by_filters" not in whole


@pytest.mark.parametrize(
    ("flag", "condition"),
    [
        (("--since", "2020"), "require year=>=2020"),
        (("--until", "2020"), "require year=<=2020"),
        (("--venue", "SIGIR"), "require venue=SIGIR"),
        (("--author", "Karpukhin"), "require author=Karpukhin"),
        (("--language", "en"), "require language=en"),
    ],
)
def test_a_flag_is_the_condition_of_that_name(run, library, flag, condition):
    plans = [run("plan", "retrieval", *given, "--json")[1] for given in (flag, ("-c", condition))]
    assert plans[0] == plans[1]
    assert json.loads(plans[0])["conditions"]


def test_similar_reads_the_further_words_too(run, library):
    seed = json.loads(run("search", "retrieval", "--json")[1])["hits"][0]["id"]
    given = ("similar", seed, "--text", "ranking of papers, only in German", "--plan", "--format", "json")
    read = json.loads(run(*given)[1])
    assert read["conditions"][0]["attribute"] == "language"
    assert "conditions" not in json.loads(run(*given, "--literal")[1])


def test_no_control_characters_reach_the_terminal(run, library):
    for command in (["search", "bells"], ["show", "evil"], ["plan", "bells \x1b[2J"]):
        out = run(*command)[1]
        assert not any(c in out for c in "\x1b\x9b\u202e\x07"), command


@pytest.mark.parametrize("style", ["bibtex", "ris", "csl-json", "csv", "trec", "jsonl"])
def test_formats(run, library, style, home):
    code, out, _ = run("search", "dense retrieval", "--format", style)
    assert code == 0
    assert "retrieval" in out
    target = home / "picks"
    code, out, err = run("search", "dense retrieval", "--format", style, "-o", target)
    assert (code, out) == (0, "")
    assert "retrieval" in target.read_text("utf-8")
    assert "Wrote 2 records" in err


@pytest.mark.parametrize(
    "flags",
    [
        ["--limit", "-1"],
        ["--evidence", "-1"],
        ["--since", "soon"],
        ["--since", "2020-13-01"],
        ["--since", "2022", "--until", "2020"],
        ["--recipe", "hybird"],
        ["--format", "pdf"],
        ["--json", "--jsonl"],
        ["--limit", "many"],
        ["-o", "table.txt"],
        ["--plan-file", "nowhere.toml"],
    ],
)
def test_questions_that_mean_nothing(run, library, flags):
    code, out, err = run("search", "retrieval", *flags)
    assert (code, out) == (2, "")
    assert 1 <= len(err.strip().splitlines()) <= 3


def test_years_ago():
    from datetime import UTC, datetime

    from aspectra.app.settings import parse_year

    assert parse_year("3y", "since") == datetime.now(UTC).year - 3


def test_an_empty_question(run, library):
    assert run("search")[0] == 2
    assert run("search", "  ")[0] == 2


def test_nothing_found(run, library):
    code, out, _ = run("search", "zzzzqqqq")
    assert code == 0
    assert "no paper of 3" in out
    assert run("search", "zzzzqqqq", "--fail-empty")[0] == 3
    assert run("search", "retrieval", "--limit", "0")[0] == 0


def test_strict_counts_warnings(run, library):
    assert run("search", "retrieval", "--strict")[0] == 0
    run("remove", "graphs", "--yes")
    code, _, err = run("search", "retrieval", "--strict")
    assert code == 4
    assert "warning:" in err


def test_similar(run, library):
    code, out, _ = run("similar", "doi:10.1000/dense", "--json")
    assert code == 0
    assert "retrieval" not in [h["id"] for h in json.loads(out)["hits"]]
    code, _, err = run("similar", "no such paper at all")
    assert code == 1
    assert "next:" in err
    code, _, err = run("similar", "graphs of molecules")
    assert code == 1


def test_plans_can_be_edited_and_run(run, library, home):
    _, out, _ = run("plan", "dense retrieval", "--limit", "1")
    assert "abstract@bm25" in out
    for style in ("--toml", "--json"):
        target = home / "plan"
        assert run("plan", "dense retrieval", "-n", "1", style, "-o", target)[0] == 0
        code, out, _ = run("search", "--plan-file", target, "--json")
        assert code == 0
        assert [h["id"] for h in json.loads(out)["hits"]] == ["retrieval"]
    assert run("search", "dense retrieval", "--plan")[1].startswith("plan ")


def test_the_last_search_is_exported(run, library, home):
    assert run("export", "last")[0] == 2
    run("search", "dense retrieval", "-n", "1")
    assert "dense retrieval" in run("plan", "last")[1]
    target = home / "picks.ris"
    (theirs := home / ".picks.ris.part").write_text("of another process")
    code, _, err = run("export", "last", "-o", target)
    assert theirs.exists()
    assert code == 0
    assert "Wrote 1 record" in err
    assert "TY  - " in target.read_text("utf-8")
    assert run("export", "last", "--format", "trec")[1].startswith("q1 Q0 retrieval 1 ")


def test_export(run, library):
    assert run("export")[0] == 2
    assert run("export", "graphs", "--all")[0] == 2
    assert run("export", "graphs", "--format", "trec")[0] == 2
    assert run("export", "graphs", "--format", "docx")[0] == 2
    assert "@" in run("export", "graphs")[1]
    lines = run("export", "--all", "--format", "jsonl")[1].splitlines()
    assert [json.loads(line)["id"] for line in lines] == [p["id"] for p in PAPERS]
    assert run("export", "graphs", "-o", "no/such/folder/x.bib")[0] == 1


def test_show(run, library):
    code, out, _ = run("show", "10.1000/dense", "--sentences")
    assert code == 0
    assert "[0–27] Search engines match words." in out
    assert "graphs" in out.partition("cited by")[2]
    whole = json.loads(run("show", "graphs", "--json")[1])
    assert whole["links"]["cites"] == ["retrieval"]
    assert "Graph pretraining" in run("show", "graphs", "--format", "bibtex")[1]
    assert run("show", "nobody")[0] == 1


def test_remove(run, library):
    code, _, err = run("remove", "graphs")
    assert code == 2
    assert "--yes" in err
    assert run("remove", "graphs", "nobody", "--yes")[0] == 1
    assert run("remove", "graphs", "--yes")[1] == "Removed 1 paper.\n"
    index = json.loads(run("status", "--json")[1])["index"]
    assert (index["waiting"], index["changed"], index["gone"]) == (0, 0, 1)
    assert "1 removed: aspectra index" in run("status")[1]


def test_doctor(run, library):
    code, out, _ = run("doctor", "--verify", "--json")
    whole = json.loads(out)
    states = {c["name"]: c["state"] for c in whole["checks"]}
    assert code == 0
    assert whole["ok"]
    assert states["library"] == states["index"] == states["network"] == "ok"


def test_doctor_hides_keys(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretverysecret")
    code, out, err = run("doctor")
    assert code == 0
    assert "secret" not in out + err
    assert "OPENAI_API_KEY set" in out


def test_damage_is_found_and_named(run, library):
    folder = Path(json.loads(run("status", "--json")[1])["folder"])
    array = next((folder / "generations" / "000001").rglob("years.npy"))
    array.write_bytes(b"\x93NUMPY" + array.read_bytes()[6:-1] + b"\xff")
    assert run("doctor")[0] == 0
    code, out, _ = run("doctor", "--verify")
    assert code == 6
    assert "years.npy has changed" in out
    array.write_bytes(b"not an array")
    code, out, _ = run("doctor")
    assert code == 6
    assert "index --rebuild" in out
    code, _, err = run("search", "retrieval", "--since", "2000")
    assert code == 6
    assert "aspectra index --rebuild" in err
    assert run("index", "--rebuild")[0] == 0
    assert run("search", "retrieval", "--since", "2000")[0] == 0


def test_a_damaged_database(run, library):
    folder = Path(json.loads(run("status", "--json")[1])["folder"])
    for name in ("library.db-wal", "library.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "library.db").write_bytes(b"this is no database" * 1000)
    for command in (["search", "x"], ["status"], ["add", str(library)], ["index"], ["doctor"]):
        code, out, err = run(*command)
        assert code == 6, command
        assert "library.db" in out + err


def test_a_library_of_a_newer_version(run, library):
    import sqlite3

    folder = Path(json.loads(run("status", "--json")[1])["folder"])
    with sqlite3.connect(folder / "library.db") as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    db.close()
    code, _, err = run("search", "x")
    assert code == 6
    assert "newer" in err


def test_disk_full(run, library, home, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    monkeypatch.setattr("aspectra.app.terminal.screen.write_durably", full)
    code, _, err = run("export", "--all", "-o", home / "x.bib")
    assert code == 1
    assert "the disk is full" in err
    assert "free some space" in err


def test_disk_full_while_indexing(run, library, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("aspectra.views.lexical.collection.save_array", full)
    code, _, err = run("index", "--rebuild")
    assert code == 1
    assert "the disk is full" in err
    monkeypatch.undo()


def test_interruption_and_surprises(run, monkeypatch):
    def fail(error):
        def raising(*_, **__):
            raise error

        monkeypatch.setattr("aspectra.app.session.Session.open_library", raising)
        return run("status")

    assert fail(KeyboardInterrupt())[0] == 130
    code, _, err = fail(ZeroDivisionError("oh\nno"))
    assert code == 1
    assert err.startswith("aspectra: internal error: ZeroDivisionError: oh no")
    assert "--debug" in err
    code, _, err = fail(AspectraError("what", why="because", hint="do this"))
    assert (code, err) == (1, "aspectra: what\n  why:  because\n  next: do this\n")
    assert fail(LibraryCorrupt("x"))[0] == 6
    assert fail(MemoryError())[0] == 1


def test_debug_shows_the_traceback(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("aspectra.app.session.Session.open_library", fail)
    with pytest.raises(ZeroDivisionError):
        main(["status", "--debug"])


def test_flags_may_stand_before_the_command(run, library, home):
    code, _, err = run("--library", home / "other", "status")
    assert code == 2
    assert str(home / "other") in err


def test_printed_commands_reach_the_library_that_was_named(run, home, papers):
    lib = home / "my lib"
    flag = ["--library", str(lib)]
    run("init", *flag)
    assert f"next: aspectra index --library '{lib}'" in run("add", papers, *flag)[2]
    assert f"next: aspectra index --library '{lib}'" in run("search", "x", *flag)[2]
    assert f"aspectra index --library '{lib}'" in run("status", *flag)[1]


def test_offline_reaches_the_encoders(run, library, monkeypatch):
    monkeypatch.setitem(os.environ, "ASPECTRA_OFFLINE", "")
    run("search", "retrieval", "--offline")
    assert os.environ["ASPECTRA_OFFLINE"] == "1"


def test_standard_input(run, library, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"dense retrieval")))
    assert json.loads(run("search", "-", "--json")[1])["hits"][0]["id"] == "retrieval"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run("search", "-")[0] == 2


def test_a_plan_file_says_what_flags_it_overrules(run, library, home):
    target = home / "plan.toml"
    assert run("plan", "graphs", "--toml", "-o", target)[0] == 0
    code, _, err = run("search", "--plan-file", target, "--since", "2021", "--evidence", "0")
    assert code == 2
    assert "--since, --evidence" in err
    assert run("search", "--plan-file", target, "-n", "1")[0] == 0


def test_export_says_when_keys_had_to_change(run, library, home):
    odd = home / "odd.jsonl"
    odd.write_text(json.dumps({"id": "a key~2", "title": "Odd"}) + "\n", "utf-8")
    assert run("add", odd)[0] == 0
    target = home / "all.bib"
    assert "1 id changed to be valid keys" in run("export", "--all", "-o", target)[2]
    assert "@misc{a-key-2," in target.read_text("utf-8")
    assert "ids unchanged" in run("export", "graphs", "-o", target)[2]
    assert "ids unchanged" in run("export", "--all", "-o", home / "all.ris")[2]
    assert run("index")[0] == run("search", "odd")[0] == 0
    for words in (
        ("export", "last"),
        ("search", "odd", "--format", "trec"),
        ("search", "odd", "--format", "bibtex"),
    ):
        err = run(*words, "-o", home / "all.trec")[2]
        assert "1 id changed to be valid keys" in err
        assert ("topic q1" in err) == (words[-1] != "bibtex")


def test_sentences_of_a_paper_without_abstract(run, library, home):
    (home / "notes.md").write_text("# Notes\n\n# Body\n\nWhales sing. They sing at night.\n", "utf-8")
    assert run("add", home / "notes.md")[0] == 0
    code, out, _ = run("show", "Notes", "--sentences")
    assert code == 0
    assert "Whales sing." in out
    spans = json.loads(run("show", "Notes", "--sentences", "--json")[1])["sentence_spans"]
    assert [s["text"] for s in spans] == ["Whales sing.", "They sing at night."]
    assert {s["field"] for s in spans} == {"section:0"}


def test_a_mistyped_name_is_not_remembered(run, library):
    assert run("add", "nowhere.bib")[0] == 1
    assert "nowhere" not in run("status", "--skips")[1]


def test_slow_progress_has_a_rate():
    from aspectra.app.terminal.screen import _speed

    assert [_speed(r) for r in (1234.0, 2.34, 0.02)] == ["1,234/s", "2.3/s", "1.2/min"]
