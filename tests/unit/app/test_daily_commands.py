"""``last N``, pages and orders, works, the flow, one record a work in exports, saved searches."""

from __future__ import annotations

import csv
import io
import json
import re

import msgspec
import pytest

from aspectra.app.library import open_library
from aspectra.app.output.schemas import DOCUMENTS
from aspectra.app.recent import papers_of_last
from aspectra.app.settings import default_library
from aspectra.app.terminal.screen import schema_of
from aspectra.base.errors import UsageError

OWLS = [
    {
        "id": f"owl{n:02}",
        "title": f"{'Zebra' if n % 2 else 'Alpine'} owls of region {n}",
        "abstract": f"Owls hunt in region {n}. " * (n + 1),
        "authors": [f"Ada Author{n}"],
        "year": 2000 + (n * 7) % 20 if n != 5 else None,
        "metadata": {"citation_count": n * 3 % 11},
    }
    for n in range(23)
]
VERSIONS = """@article{jour, title={Mice that hide from owls by day}, author={Young, Cy}, year=2021,
  journal={Mammals}, doi={10.1000/mice}, volume=3}
@misc{pre, title={Mice that hide from owls by day}, author={Young, Cy}, year=2020, eprint={2001.00001},
  archiveprefix={arXiv}, abstract={Mice hide from owls.}}
"""


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


on_both = pytest.mark.parametrize("indexed", [0, 3], ids=["library", "collection"], indirect=True)


@pytest.fixture
def indexed(run, home, request):
    (home / "owls.jsonl").write_text(lines_of(OWLS), "utf-8")
    (home / "mice.bib").write_text(VERSIONS, "utf-8")
    shards = getattr(request, "param", 0)
    assert run("init", *(["--shards", shards] if shards else []))[0] == 0
    assert run("add", home / "owls.jsonl", home / "mice.bib")[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return run


def document(run, name, *command):
    code, out, err = run(*command, "--json")
    assert code == 0, err
    loaded = json.loads(out)
    assert loaded["schema"] == schema_of(name)
    msgspec.convert(loaded, DOCUMENTS[name], strict=True)
    return loaded


def hits(run, *command):
    return document(run, "search", "search", "owls", *command)


def test_pages_are_parts_of_one_order(indexed):
    whole = [hit["id"] for hit in hits(indexed, "-n", "24")["hits"]]
    assert len(whole) == 24  # of 25 records, two are one work
    seen = []
    for number in (1, 2, 3, 4, 5):
        found = hits(indexed, "-n", "5", "--page", str(number))
        assert found["page"] == {"number": number, "of": 5, "size": 5, "found": 24, "sort": "score"}
        assert [hit["rank"] for hit in found["hits"]] == [
            rank for rank in range(5 * number - 4, 5 * number + 1) if rank <= 24
        ]
        seen += [hit["id"] for hit in found["hits"]]
    assert seen == whole
    assert indexed("search", "owls", "-n", "5", "--page", "6")[0] == 2
    assert indexed("search", "owls", "--page", "0")[0] == 2
    assert indexed("search", "owls", "--sort", "yeer")[0] == 2


@pytest.mark.parametrize("sort", ["year", "citations", "title", "added"])
def test_orders_within_what_was_found(indexed, sort):
    found = hits(indexed, "-n", "3", "--sort", sort)
    everything = hits(indexed, "-n", "24")["hits"]
    value = {
        "year": lambda hit: -(hit["year"] or -1),
        "citations": lambda hit: (
            -next((p["metadata"]["citation_count"] for p in OWLS if p["id"] == hit["id"]), -1)
        ),
        "title": lambda hit: hit["title"].casefold(),
        "added": lambda hit: -["jour", "pre", *(p["id"] for p in OWLS[::-1])].index(hit["id"]) * -1,
    }[sort]
    wanted = sorted(everything, key=lambda hit: (value(hit), hit["rank"]))
    assert found["page"] == {"number": 1, "of": 8, "size": 3, "found": 24, "sort": sort}
    assert [(h["id"], h["rank"]) for h in found["hits"]] == [(h["id"], h["rank"]) for h in wanted[:3]]


def test_papers_that_hardly_match_are_not_sorted_among_the_others(indexed):
    asked = ("search", "search", "mice that owls eat", "--recipe", "bm25", "-n", "3")
    assert len(document(indexed, *asked)["hits"]) == 3
    found = document(indexed, *asked, "--sort", "year")
    assert [hit["id"] for hit in found["hits"]] == ["pre"]
    assert found["page"]["found"] == 1


def test_the_header_says_what_was_sorted_and_numbers_stay_ranks(indexed):
    _, out, _ = indexed("search", "owls", "-n", "3", "--sort", "title")
    assert "the 24 best matches, sorted by title · page 1 of 8" in out
    numbers = [int(n) for n in re.findall(r"^ *(\d+)  (?:\d{4}|   –)", out, re.M)]
    assert len(numbers) == 3
    assert numbers != sorted(numbers)
    shown = [
        re.search(r"· (\w+) · [\d.]+$", line)[1] for line in out.splitlines() if re.search(r"· [\d.]+$", line)
    ]
    for number, one in zip(numbers, shown, strict=True):
        assert indexed("show", "last", str(number), "--json")[1].startswith(
            '{\n  "schema": "aspectra.paper/1",\n'
        )
        assert json.loads(indexed("show", "last", str(number), "--json")[1])["id"] == one


def test_last_names_papers_by_number(indexed):
    found = [hit["id"] for hit in hits(indexed, "-n", "10", "--page", "2")["hits"]]
    whole = [hit["id"] for hit in hits(indexed, "-n", "24")["hits"]]
    hits(indexed, "-n", "10", "--page", "2")
    assert papers_of_last(["owl01"]) is None
    assert papers_of_last(["last"]) == found
    assert papers_of_last(["last", "3"]) == [whole[2]]
    assert papers_of_last(["last", "2-4,1", "3"]) == [whole[1], whole[2], whole[3], whole[0]]
    for wrong in ("0", "4-2", "99", "x", "-1", "1-", ","):
        with pytest.raises(UsageError):
            papers_of_last(["last", wrong])
    assert json.loads(indexed("show", "last", "3", "--json")[1])["id"] == whole[2]
    assert indexed("similar", "last", "1", "--json")[0] == 0


def test_last_of_another_library(indexed, home):
    indexed("search", "owls")
    assert indexed("init", "--library", home / "other.lib")[0] == 0
    code, _, err = indexed("show", "last", "1", "--library", home / "other.lib")
    assert code == 2
    assert "the last search was in another library" in err


def test_export_of_last_searches_nothing_again(indexed, home, monkeypatch):
    found = [hit["id"] for hit in hits(indexed, "-n", "5", "--sort", "year")["hits"]]
    found = ["jour" if one == "pre" else one for one in found]  # the published record of that work
    ids = lambda out: [json.loads(line)["id"] for line in out.splitlines()]  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr("aspectra.app.library.Library.run", None)
        assert ids(indexed("export", "last", "--format", "jsonl")[1]) == found
        assert len(ids(indexed("export", "last", "1-20", "--format", "jsonl")[1])) == 20
        trec = indexed("export", "last", "--format", "trec")[1].splitlines()
        scores = [float(line.split()[4]) for line in trec]
        assert {line.split()[2] for line in trec} == {"pre" if one == "jour" else one for one in found}
        assert scores == sorted(scores, reverse=True)
    best = [hit["id"] for hit in hits(indexed, "-n", "9")["hits"]]
    hits(indexed, "-n", "2")
    more = indexed("export", "last", "-n", "9", "--format", "trec")[1].splitlines()  # is searched again
    assert [line.split()[2] for line in more] == best


@pytest.mark.parametrize("words", [("export", "--all"), ("export", "owl"), ("zotero", "push", "--included")])
def test_a_limit_that_would_not_be_applied_is_refused(indexed, words):
    code, _, err = indexed(*words, "-n", "3")
    assert code == 2
    assert "--limit is for the last search" in err


def test_one_record_a_work_is_exported(indexed, home):
    code, _, err = indexed("export", "--all", "-o", home / "all.bib")
    assert code == 0
    assert "Wrote 25 records of 24 works, one each, to" in err
    text = (home / "all.bib").read_text("utf-8")
    assert "@article{jour," in text
    assert "Mice hide from owls." in text  # only the preprint has it
    assert "2001.00001" in text
    assert "{pre," not in text
    _, _, err = indexed("export", "--all", "--all-versions", "-o", home / "all.bib")
    assert "Wrote 25 records to" in err
    assert "{pre," in (home / "all.bib").read_text("utf-8")
    indexed("search", "mice by day", "-n", "1")
    assert "@article{jour," in indexed("export", "last")[1]
    every = indexed("export", "last", "--all-versions", "--format", "jsonl")[1].splitlines()
    assert {json.loads(line)["id"] for line in every} == {"jour", "pre"}
    (best,) = indexed("export", "pre", "--format", "jsonl")[1].splitlines()
    with open_library(default_library()) as library:
        assert library.export(["pre"], "jsonl").splitlines() == [best]
    (named,) = indexed("export", "pre", "--all-versions", "--format", "jsonl")[1].splitlines()
    assert [json.loads(one)["id"] for one in (best, named)] == ["jour", "pre"]


def test_add_says_which_records_are_versions(run, home):
    (home / "mice.bib").write_text(VERSIONS, "utf-8")
    run("init")
    _, out, err = run("add", home / "mice.bib", "--verbose")
    assert "2 records are versions of works that were there, or of each other: aspectra duplicates" in out
    assert "jour is the same work as pre" in err
    (home / "again.bib").write_text(VERSIONS.replace("{jour,", "{third,"), "utf-8")
    found = document(run, "added", "add", home / "again.bib")
    assert (found["added"], found["unchanged"]) == (1, 1)
    assert found["merged"] == [{"id": "third", "versions": ["jour", "pre"]}]
    assert found["to_complete"] == 0


def test_a_folder_of_many_files_is_summed_up(run, home):
    folder = home / "many"
    folder.mkdir()
    for n in range(30):
        (folder / f"f{n:02}.jsonl").write_text(
            lines_of([{"id": f"p{n}", "title": f"Paper number {n} of these"}]), "utf-8"
        )
    run("init")
    _, out, err = run("add", folder)
    assert out.count("1 added") == 20
    assert "and 10 files more (--verbose lists them)" in err
    assert "Added 30 records" in out
    _, out, _ = run("add", folder, "--verbose")
    assert out.count("as it was") == 30


def test_duplicates_merge_and_split(indexed):
    code, out, _ = indexed("duplicates")
    assert code == 0
    assert "25 records of 24 works: 1 work with 2 records; 0 groups to look at" in out
    assert "same title, authors" in out
    found = document(indexed, "duplicates", "duplicates")
    assert [group["ids"] for group in found["groups"]] == [["jour", "pre"]]
    assert document(indexed, "split", "split", "pre")["apart"] == [["pre", "jour"]]
    assert document(indexed, "duplicates", "duplicates")["works"] == 25
    assert document(indexed, "merge", "merge", "pre", "10.1000/mice")["records"] == ["pre", "jour"]
    assert "pre" in json.loads(indexed("search", "mice by day", "-n", "1", "--json")[1])["hits"][0]["id"]
    assert indexed("merge", "pre")[0] == 2
    assert indexed("split", "owl01")[0] == 2


def test_the_record_that_leads_is_shown(indexed):
    indexed("merge", "jour", "pre")
    shown = [hit["id"] for hit in hits(indexed, "-n", "24")["hits"]]
    assert {"jour", "pre"} & set(shown) == {"pre"}  # it alone has an abstract that can be quoted
    indexed("merge", "owl01", "owl02")
    assert "owl02" not in [hit["id"] for hit in hits(indexed, "-n", "24")["hits"]]
    indexed("merge", "owl02", "owl01")
    assert "owl01" not in [hit["id"] for hit in hits(indexed, "-n", "24")["hits"]]


def test_origins_of_the_flow_in_short(indexed, home):
    names = [
        "Scopus",
        "Scopus",
        "Zotero",
        "DOI.org (Crossref)",
        "brill.com",
        "arXiv.org",
        "ClinicalTrials.gov",
    ]
    names += [f"Database {letter}" for letter in "ABCDEFGH"]
    (home / "o.ris").write_text(
        "".join(f"TY  - JOUR\nTI  - Owl {n}\nDB  - {name}\nER  - \n" for n, name in enumerate(names)), "utf-8"
    )
    assert indexed("add", home / "o.ris")[0] == 0
    kinds = {one["name"]: one["kind"] for one in document(indexed, "flow", "status", "--flow")["origins"]}
    catalogues = {name for name, kind in kinds.items() if kind == "catalogue"}
    assert catalogues == {"DOI.org (Crossref)", "Zotero", "brill.com"}
    assert kinds["arXiv"] == kinds["Scopus"] == "database"
    assert kinds["ClinicalTrials.gov"] == "register"
    shown = indexed("status", "--flow")[1].partition("Records removed")[0].splitlines()[1:]
    lines = [line.strip().split("  ", 1) for line in shown if line.startswith("    ")]
    assert len(lines) == 13
    assert lines[-1] == ["4", "and 4 others"]
    indexed("status", "--flow", "-o", home / "flow.csv")
    assert sum(
        row.startswith("identified,") for row in (home / "flow.csv").read_text("utf-8").splitlines()
    ) == (len(kinds) + 1)


def test_the_flow_of_records(indexed, home):
    (home / "ris.ris").write_text(
        "TY  - JOUR\nTI  - Mice that hide from owls by day\nAU  - Young, Cy\nPY  - 2021\n"
        "DO  - 10.1000/mice\nER  - \n"
        "TY  - JOUR\nTI  - Bats that hear owls by night\nAU  - Bat, Bo\nPY  - 2022\nER  - \n",
        "utf-8",
    )
    indexed("add", home / "ris.ris")
    for one, decision, reason in (
        ("owl01", "include", ""),
        ("owl02", "exclude", "no mice"),
        ("pre", "maybe", ""),
    ):
        assert indexed("decide", decision, one, *(("--reason", reason) if reason else ()))[0] == 0
    found = document(indexed, "flow", "status", "--flow")
    assert found["identified"] == 27
    assert (found["duplicates"], found["removed"], found["works"]) == (2, 0, 25)
    assert (found["screened"], found["waiting"]) == (3, 22)
    assert found["excluded"] == {"no mice": 1}
    assert (found["sought"], found["undecided"], found["included"]) == (2, 1, 1)
    assert {(one["kind"], one["name"]): one["records"] for one in found["origins"]} == {
        ("other", "jsonl files"): 23,
        ("other", "bibtex files"): 2,
        ("other", "ris files"): 2,
    }
    _, out, _ = indexed("status", "--flow")
    assert re.search(r"^ 2  further records of one work|2  further records of one work", out, re.M)
    assert indexed("status", "--flow", "-o", home / "flow.mmd")[0] == 0
    drawn = (home / "flow.mmd").read_text("utf-8")
    assert drawn.startswith("flowchart TD\n")
    assert "Records identified (n = 27)<br/>" in drawn
    assert indexed("status", "--flow", "-o", home / "flow.csv")[0] == 0
    rows = list(csv.reader(io.StringIO((home / "flow.csv").read_text("utf-8"))))
    assert ["excluded", "no mice", "1"] in rows
    assert indexed("status", "--flow", "-o", home / "flow.png")[0] == 2
    assert indexed("status", "-o", home / "flow.mmd")[0] == 2


@on_both
def test_saved_searches_and_what_is_new(indexed, home):
    assert "No search is saved" in indexed("saved")[1]
    assert indexed("news", "owls")[0] == 2
    indexed("search", "owls region", "-n", "50", "--since", "30y")
    assert indexed("save", "owls")[0] == 0
    indexed("search", "mice")
    code, _, err = indexed("save", " owls")
    assert (code, "aspectra saved --delete owls" in err) == (2, True)
    listed = document(indexed, "saved", "saved")["searches"]
    assert [(one["name"], one["asked"]["text"]) for one in listed] == [("owls", "owls region")]
    assert listed[0]["asked"]["given"]["since"] == "30y"  # as it was asked, not the year that it means today
    assert document(indexed, "news", "news", "owls")["searches"][0]["hits"] == []
    new = [
        {"id": "fresh", "title": "Owls of region 99", "abstract": "Owls hunt in region 99.", "year": 2024},
        {"id": "old", "title": "Owls of region 98", "abstract": "Owls hunt in region 98.", "year": 1950},
        {"id": "again", "title": OWLS[3]["title"], "authors": OWLS[3]["authors"], "year": OWLS[3]["year"],
         "abstract": OWLS[3]["abstract"]},
    ]  # fmt: skip
    (home / "new.jsonl").write_text(lines_of(new), "utf-8")
    indexed("add", home / "new.jsonl")
    assert document(indexed, "news", "news")["searches"][0]["hits"] == []  # not indexed yet
    indexed("index")
    assert [hit["id"] for hit in document(indexed, "news", "news", "--keep")["searches"][0]["hits"]] == [
        "fresh"
    ]
    _, out, _ = indexed("news")
    assert "owls: 1 new paper since" in out
    assert json.loads(indexed("show", "last", "1", "--json")[1])["id"] == "fresh"
    assert document(indexed, "news", "news", "owls")["searches"][0]["hits"] == []
    assert indexed("saved", "--delete", "owls")[0] == 0
    assert document(indexed, "saved", "saved")["searches"] == []
    assert indexed("undo")[0] == 0
    assert [one["name"] for one in document(indexed, "saved", "saved")["searches"]] == ["owls"]


@on_both
def test_searches_with_seeds_and_from_files_are_saved_too(indexed, home):
    indexed("similar", "owl01", "--text", "region", "-n", "50")
    assert indexed("save", "like one")[0] == 0
    indexed("plan", "owls", "--toml", "-o", home / "plan.toml")
    indexed("search", "--plan-file", home / "plan.toml")
    assert indexed("save", "from a file")[0] == 0
    found = {one["name"]: one["asked"] for one in document(indexed, "saved", "saved")["searches"]}
    assert found["like one"]["seeds"] == ["owl01"]
    assert "plan" in found["from a file"]
    news = document(indexed, "news", "news")["searches"]
    assert [(one["name"], one["hits"]) for one in news] == [("from a file", []), ("like one", [])]


@on_both
def test_what_moved_up_or_came_back_is_no_news(indexed, home):
    first = hits(indexed, "-n", "2")["hits"][0]["id"]
    hits(indexed, "-n", "1")
    assert indexed("save", "best")[0] == 0
    indexed("remove", first, "--yes")
    indexed("index")
    assert document(indexed, "news", "news")["searches"][0]["hits"] == []  # the second is the best now
    (home / "back.jsonl").write_text(lines_of([p for p in OWLS if p["id"] == first]), "utf-8")
    indexed("add", home / "back.jsonl")
    indexed("index")
    assert document(indexed, "news", "news")["searches"][0]["hits"] == []
