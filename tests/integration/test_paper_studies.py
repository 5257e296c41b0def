"""Studies of a paper's tables: rows as printed, run here, or with what they need."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import benchmark_fixtures as made_up
from aspectra.app.main import main
from aspectra.base.errors import UsageError
from aspectra.lab.studies import page as study_page
from aspectra.lab.studies.file import Need, lacking, read_study_file
from aspectra.lab.studies.page import _mean, _ran, run_study_file
from aspectra.llm.chat import Transient
from aspectra.llm.scripted import Scripted
from aspectra.search.plan import Tally
from aspectra.views.encoders.protocol import ENCODERS, split_argument

OTHERS = ("Human", "SPECTER2", "oTASPIRE", "gpt-3.5-turbo [pw]", "Mistral-7B [prp]", "Llama-3-8B [prp]")
OTHERS = (*OTHERS, "Llama-3-70B [prp]", "gpt-3.5-turbo [prp]", "gpt-4o [prp]")
TINY = f"""
title = "Tiny"
encoders = "encoders.toml"

[paper]
number = "000"
names = {{"GritLM-7B" = "words"}}

[paper.others]
{chr(10).join(f'"{name}" = "not of interest here"' for name in OTHERS)}

[common]
measures = ["nDCG@20", "p-MRR"]

[[parts]]
name = "here"
sources = [{{benchmark = "csfcube", path = "{{data}}/birds"}}]
recipes = [{{name = "words", steps = ["bm25"]}}, {{name = "words again", steps = ["bm25"]}}]
encoders = []

[[parts]]
name = "{{system.name}}"
sources = [{{benchmark = "csfcube", path = "{{data}}/{{system.folder}}"}}]
recipes = [{{name = "{{system.name}}", steps = ["dense"]}}]
encoders = ["{{encoders.nowhere}}"]
each.system = [{{name = "SciNCL", folder = "fish"}}, {{name = "SciNCL too", folder = "birds"}}]

[[parts]]
name = "gpt-4o"
sources = [{{benchmark = "csfcube", path = "{{data}}/birds"}}]
recipes = [{{name = "gpt-4o [pw]", steps = ["bm25", "rerank(method='yes-no')"]}}]
encoders = []
model = "gpt-4o"

[[tables]]
title = "Table {{number}}"
published = "{{number}}"
rows = ["words again", "SciNCL too"]
each.number = ["1", "2"]
"""

PEOPLE = TINY.replace('"Human" = "not of interest here"', "").replace(
    "encoders = []", 'encoders = []\npeople = {Human = "first", "another person" = "second"}', 1
)


@pytest.fixture
def tiny(tmp_path, home, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made_up.csfcube(tmp_path / "data" / "birds")
    nowhere = 'spec = "sentence-transformers:nowhere/model"\nneeds = "downloads nowhere/model"'
    (tmp_path / "encoders.toml").write_text(f"[nowhere]\n{nowhere}\n", "utf-8")
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, "utf-8")
    return path


def run(tiny, *words):
    folder = tiny.parent
    places = ["--output", str(folder / "out"), "--libraries", str(folder / "libraries"), "--no-progress"]
    return main(["bench", "run", str(tiny), "--data", str(folder / "data"), *places, *words])


def test_each_printed_row_is_run_here_or_says_what_it_needs(tiny, capsys):
    assert run(tiny) == 0
    assert "left out" not in capsys.readouterr().err
    out = tiny.parent / "out"
    tables = {t["title"]: t for t in json.loads((out / "tables.json").read_text("utf-8"))["tables"]}
    rows = tables["Table 1"]["rows"]
    assert len(rows) == 12 + 1 + 2  # as printed, the one that was run, those that are not in the paper
    status = {(row["system"], n): row[""] for n, row in enumerate(rows)}
    notes = dict(note.split("] ", 1) for note in tables["Table 1"]["notes"] if note.startswith("["))

    def said(system, place=0):
        found = [words for (name, _), words in status.items() if name == system][place]
        return " ".join([found.partition(" [")[0], notes.get("[" + found.partition("[")[2][:1], "")])

    assert said("Human") == "not run not of interest here"
    assert said("SciNCL").startswith("needs data ")
    found = next(words for (name, _), words in status.items() if name == "SciNCL")
    assert notes["[" + found.rpartition("[")[2].rstrip("]")] == "downloads nowhere/model"
    assert said("SciNCL too").startswith("needs model downloads nowhere/model (")
    assert said("gpt-4o [pw]").startswith(
        "needs model language model gpt-4o (aspectra config set llm.base_url"
    )
    assert said("GritLM-7B") == "published "
    assert said("GritLM-7B", 1).startswith("run here; not comparable other collection")
    assert said("words again") == "run here, not in the paper "
    printed, measured = [row for row in rows if row["system"] == "GritLM-7B"]
    assert printed["nDCG@20 method"]["value"] == pytest.approx(28.82)
    results = json.loads((out / "here" / "results.json").read_text("utf-8"))
    held = results["cells"][0]["sets"]["gold"]["scores"]
    values = next(score["values"] for score in held if score["measure"] == "nDCG@20")
    labels = results["benchmarks"]["csfcube"]["labels"]
    method = [value for unit, value in values.items() if labels[unit]["aspect"] == "method"]
    assert 0 < len(method) < len(values)
    assert measured["nDCG@20 method"]["value"] == pytest.approx(100 * sum(method) / len(method))
    assert measured["nDCG@20"]["value"] == pytest.approx(100 * sum(values.values()) / len(values))
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert manifest["parts"]["SciNCL"]["needs"].startswith("data: ")
    assert str(tiny.parent) not in json.dumps(manifest) + (out / "page.md").read_text("utf-8")


def test_people_are_rows_of_their_own(tiny, capsys):
    text = PEOPLE.replace('["words again"', '["another person"')
    tiny.write_text(text, "utf-8")
    assert run(tiny) == 0
    tables = json.loads((tiny.parent / "out" / "tables.json").read_text("utf-8"))["tables"]
    rows = [row for row in tables[0]["rows"] if row["system"] in ("Human", "another person")]
    assert [row[""][:9] for row in rows] == ["published", "run here;", "run here,"]
    # The first one's ratings are the adjudicated ones, the second's are the same from behind.
    assert [row["nDCG@20"]["value"] for row in rows[1:]] == pytest.approx([100, 75.694], abs=0.001)
    assert all(row["p-MRR"] for row in tables[1]["rows"] if row["system"] in ("Human", "another person"))
    tiny.write_text(text.replace('"second"', '"third"'), "utf-8")
    assert run(tiny) == 2
    assert "has no ratings of 'third' alone" in capsys.readouterr().err


def test_rows_are_marked_against_the_baseline(tiny, capsys):
    seeds = {}
    for seed in range(100, 108):
        cands = [str(100 + (seed + n) % 8) for n in (1, 2, 3)]
        best = [3 - seed % 2, 1, 0]
        seeds[str(seed)] = {"cands": cands, "relevance_adju": best}
        seeds[str(seed)] |= {"relevance_ann1": best, "relevance_ann2": best[::-1]}
    place = tiny.parent / "data" / "birds" / "test-pid2anns-csfcube-background.json"
    place.write_text(json.dumps(seeds), "utf-8")
    text = PEOPLE.replace('rows = ["words again"', 'baseline = "Human"\nrows = ["another person"')
    for baseline, row, mark in (("Human", "another person", "-"), ("another person", "Human", "+")):
        tiny.write_text(text.replace('baseline = "Human"', f'baseline = "{baseline}"'), "utf-8")
        assert run(tiny) == 0
        table = json.loads((tiny.parent / "out" / "tables.json").read_text("utf-8"))["tables"][0]
        at = [n for n, one in enumerate(table["rows"]) if one["system"] == row][-1]
        assert [at, "nDCG@20", mark] in table["marks"]
        assert any(note.startswith("+ / - : better / worse than " + baseline) for note in table["notes"])
    tiny.write_text(text.replace('baseline = "Human"', 'baseline = "SciNCL"'), "utf-8")
    assert run(tiny) == 0
    assert "no marks of significance: SciNCL, the baseline" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Human" = "not of interest here"', "", "no recipe for its row 'Human'"),
        ('rows = ["words again", ', 'rows = ["word again", ', "no recipe for its row 'word again'"),
        ('each.number = ["1", "2"]', 'each.number = ["9"]', "paper 000 has no table '9'"),
        ('number = "000"', 'number = "017"', "no published numbers of paper '017'"),
        ('[paper]\nnumber = "000"', "[paper]", "missing required field"),
    ],
)
def test_a_row_of_which_nothing_is_known_is_refused_before_anything_is_run(tiny, capsys, old, new, message):
    assert old in TINY
    tiny.write_text(TINY.replace(old, new), "utf-8")
    assert run(tiny) == 2
    assert message in capsys.readouterr().err
    assert not (tiny.parent / "out").exists()


def test_a_model_is_made_by_the_name_that_the_part_gives(tiny):
    file = read_study_file(tiny, tiny.parent / "data")
    wanted = []
    need = lacking(file.parts["gpt-4o"], load=pytest.fail, answering=wanted.append)
    assert need is None
    assert wanted == ["gpt-4o"]
    need = lacking(file.parts["gpt-4o"], load=pytest.fail, answering=None)
    assert need == Need("model", "language model gpt-4o (no endpoint for gpt-4o is named)")


def test_a_row_says_what_its_model_was_shown_only_in_part(monkeypatch):
    monkeypatch.setattr(study_page, "paper_rows", lambda *_: [])
    outcome = SimpleNamespace(
        cell=SimpleNamespace(benchmark=SimpleNamespace(name="owls")), tally=Tally(cut=7), failed=0
    )
    notes: dict[str, int] = {}
    row = SimpleNamespace(paper="000", table="1")
    assert _ran([outcome], {(): row}, notes) == "run here; texts cut [1]"
    assert list(notes)[-1] == "the model was shown 7 texts only in part"
    outcome.tally = Tally(simulated=True)
    assert _ran([outcome], {}, notes, " on owls") == "run here on owls, simulated, not in the paper"
    outcome.failed, outcome.cell.recipe = 3, SimpleNamespace(name="owl")
    assert _ran([outcome], {}, notes) == "failed [2]"


def test_a_row_of_our_own_in_which_calls_failed_is_shown(tiny):
    tiny.write_text(TINY.replace('rows = ["words again"', 'rows = ["gpt-4o [pw]"'), "utf-8")
    file, out = read_study_file(tiny, tiny.parent / "data"), tiny.parent / "out"
    down = Scripted(lambda _: Transient("down"))
    page = run_study_file(file, out, tiny.parent / "libraries", answering=lambda _: down)
    assert [row[1][:6] for row in page.tables[0].rows if row[0] == "gpt-4o [pw]"] == [
        "publis",
        "failed",
        "failed",
    ]


def test_a_row_says_own_prompt_until_it_has_its_file(tiny, capsys):
    tiny.write_text(
        TINY.replace('number = "000"', 'number = "000"\nown_prompts = ["gpt-4o [pw]", "SciNCL too"]', 1),
        "utf-8",
    )
    mine = tiny.parent / "prompts" / "gpt-4o--pw-" / "yes-no.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert run(tiny, "--prompts", str(mine.parents[1])) == 0
    assert capsys.readouterr().out.count("; own prompt") == 2  # SciNCL too, in both tables
    assert run(tiny) == 0
    said = capsys.readouterr().out
    assert said.count("; own prompt") == 4
    assert "own prompt: its model was tuned on another prompt" in said
    assert main(["bench", "run", "beir=x", "--prompts", "x"]) == 2


@pytest.mark.parametrize(
    ("study", "make", "under", "parts", "said"),
    [
        ("infosearch", made_up.infosearch, "Language-v1", ["BM25"], "measured on infosearch/language alone"),
        (
            "obliq",
            made_up.obliq,
            "analogues/math",
            ["BM25, math", "BM25, twitter"],
            "obliq/twitter, looked for in DATA/obliq",
        ),
    ],
)
def test_a_part_of_the_data_gives_all_tables(tmp_path, home, capsys, study, make, under, parts, said):
    make(tmp_path / study / under)
    path = Path(__file__).parents[2] / "studies" / "papers" / f"{study}.toml"
    places = ["--output", str(tmp_path / "out"), "--libraries", str(tmp_path / "libraries"), "--no-progress"]
    chosen = [word for part in parts for word in ("--part", part)]
    assert main(["bench", "run", str(path), "--data", str(tmp_path), *places, *chosen]) == 0
    page = (tmp_path / "out" / "page.md").read_text("utf-8")
    assert "run here; not comparable" in page
    assert said in page


PART = "GPT-5-2-agents--twitter"


@pytest.mark.parametrize(
    ("name", "files", "row", "given"),
    [
        ("infosearch", ["listwise"], "RankZephyr-v1, listwise", ["prompt_file", "listwise.toml"]),
        ("infosearch", ["FollowIR--pointwise/yes-no"], "FollowIR, pointwise", ["FollowIR--pointwise/yes"]),
        ("litsearch", ["listwise"], "GPT-4o one-hop (w/ GritLM)", ["listwise.toml"]),
        ("scifullbench", ["method", "write_all"], "GPT-4o-Mini-2024-0718 + TE3-Small", ["prompts="]),
        ("obliq", [f"{PART}/hop", f"{PART}/read"], "GPT-5.2 Multi-Hop Agent", [f"{PART}/hop", "read_p"]),
        ("exploration", ["pairwise"], "gpt-4o [prp]", ["pairwise(prompt_file="]),
    ],
)  # fmt: skip
def test_prompt_files_go_to_their_rows(tmp_path, name, files, row, given):
    for file in files:
        (tmp_path / "prompts" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "prompts" / f"{file}.toml").write_text("mine")
    path = Path(__file__).parents[2] / "studies" / "papers" / f"{name}.toml"
    found = read_study_file(path, tmp_path, prompts=tmp_path / "prompts")
    stages = [str(r.stages) for s in found.parts.values() for r in s.recipes if r.name == row]
    assert all(text in stages[0] for text in given)
    assert sum(str(tmp_path) in one for one in stages) == (1 if "obliq" in name else len(stages))
    others = read_study_file(path, tmp_path).parts
    assert {r.name for s in others.values() for r in s.recipes} == {
        r.name for s in found.parts.values() for r in s.recipes
    }
    (tmp_path / "prompts" / "owl.toml").write_text("mine")
    with pytest.raises(UsageError, match="owl"):
        read_study_file(path, tmp_path, prompts=tmp_path / "prompts")


def test_rows_of_encoders_that_take_an_instruction_have_one(tmp_path):
    path = Path(__file__).parents[2] / "studies" / "papers" / "exploration.toml"
    told = [
        s for s in read_study_file(path, tmp_path).parts.values() if s.recipes[0].instruction == "encoder"
    ]
    wordings = [study.sources[0].options.get("instruction") for study in told]
    assert wordings == ["base", "generic", "definition", "paraphrases", "aspect-subset"]


def test_a_prompt_file_of_an_encoder_goes_to_its_row(tmp_path):
    path = Path(__file__).parents[2] / "studies" / "papers" / "litsearch.toml"
    mine = tmp_path / "prompts" / "GritLM-7B" / "encoder.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('query = "<|user|>\\nOwls & more?\\n<|embed|>\\n"')
    plain = read_study_file(path, tmp_path).parts
    found = read_study_file(path, tmp_path, prompts=mine.parents[1]).parts
    assert {name for name in plain if plain[name].encoders != found[name].encoders} == {"GritLM-7B"}
    options = found["GritLM-7B"].encoders[0].partition(":")[2]
    _, read = split_argument(options, ENCODERS.get("sentence-transformers").options, encoder="x")
    assert (read["query"], read["template"]) == ("<|user|>\nOwls & more?\n<|embed|>\n", "gritlm")
    mine.write_text('owls = "x"')
    with pytest.raises(UsageError, match="owls"):
        read_study_file(path, tmp_path, prompts=mine.parents[1])


def test_a_study_of_no_paper_whose_data_are_absent_is_an_error(tiny, capsys):
    text = TINY[TINY.index("[common]") : TINY.index("[[tables]]")]
    tiny.write_text(text.replace("{encoders.nowhere}", "sentence-transformers:nowhere/model"), "utf-8")
    assert run(tiny, "--part", "SciNCL") == 1
    assert "no part of the study can be run: SciNCL needs data" in capsys.readouterr().err


def test_means_as_the_papers_take_them():
    values = {"a": 0.0, "b": 1.0, "c": 1.0, "d": 0.5}
    venues = {"a": "ACL", "b": "ACL", "c": "EMNLP", "d": "ICLR"}
    labels = {unit: {"venue": venue} for unit, venue in venues.items()}
    assert _mean(values, labels, {"venue": "mean of ACL and EMNLP"}, "", "")[0] == 0.75
    assert _mean(values, labels, {"venue": "mean of ACL and SIGIR"}, "", "")[0] is None
    assert _mean(values, labels, {}, "", "venue")[0] == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert _mean(values, labels, {"task": "math"}, "math", "") == (0.625, values)
    assert _mean(values, labels, {"task": "math"}, "writing", "") == (None, {})
    pairs = {"a": {"pair": "x"}, "b": {"pair": "x"}, "c": {"pair": "y"}, "d": {"pair": "y"}}
    assert _mean({"a": 0.0, "b": 1.0, "c": 1.0}, pairs, {}, "", "")[0] == 0.75


@pytest.mark.parametrize(
    ("why_not", "said"),
    [
        ("doubtful: printed twice", "run here"),
        ("other collection; doubtful: printed twice", "run here; not comparable [1]"),
    ],
)
def test_a_doubtful_number_hides_no_other_reason(monkeypatch, why_not, said):
    row = SimpleNamespace(
        paper="002", table="4", label="BM25", comparable=False, doubt="printed twice", why_not=why_not
    )
    monkeypatch.setattr(study_page, "paper_rows", lambda *_: [row])
    monkeypatch.setattr(study_page, "_column", lambda _: ())
    notes: dict[str, int] = {}
    outcome = SimpleNamespace(
        cell=SimpleNamespace(benchmark=SimpleNamespace(name="owls")), tally=Tally(), failed=0
    )
    assert _ran([outcome], {(): row}, notes) == said
