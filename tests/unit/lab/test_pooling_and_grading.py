"""Pools of what systems find, grades of a judge and of people, and texts that are half remembered."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from aspectra.app.main import main
from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.lab.construction.build import build_set
from aspectra.lab.construction.protocol import BuildRecipe, Made, MadeText, QueryDraft, Workbench
from aspectra.lab.construction.steps.review import (
    FavourOptions,
    GradeOptions,
    favour,
    human,
    left_out,
    unjudged,
)
from aspectra.lab.construction.steps.write import phrases
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.prompted.definition import PromptedLens, builtin_text, define
from aspectra.views.prompted.running import bound_to, run_lens

PAPERS = [
    Paper(f"{who}-{book}-{n}", "", f"Words of {who} in book {book}, passage {n}.", (who,), 1900, book)
    for who in ("ann", "bob")
    for book in ("one", "two")
    for n in range(2)
]


@pytest.fixture
def library(tmp_path):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(PAPERS)
        yield store


def recipe(*steps, layout="obliq"):
    return BuildRecipe("mine", ({"step": "groups", "queries": 1}, *steps), layout=layout)


def run_file(path, rankings):
    """A run in TREC's form."""
    rows = (f"{q} Q0 {d} {n} {-n} {path.stem}\n" for q, ids in rankings.items() for n, d in enumerate(ids, 1))
    path.write_text("".join(rows), "utf-8")
    return str(path)


def test_what_systems_find_and_nobody_judged_is_graded(library, tmp_path):
    plain = build_set(recipe(), library, tmp_path / "made")
    (first, *others) = sorted(draft.id for draft in plain.made.drafts)
    who = first.split("-")[1]
    known = set(plain.made.qrels["gold"][first])
    foreign = sorted(p.id for p in PAPERS if not p.id.startswith(who))
    hidden = plain.made.excluded[first][0]
    runs = [
        run_file(tmp_path / "a.txt", {first: [hidden, foreign[0], *sorted(known)], others[0]: ["absent"]}),
        run_file(tmp_path / "b.txt", {first: [*sorted(known), foreign[1], foreign[2]]}),
    ]
    steps = ({"step": "pool", "runs": runs, "depth": 3}, {"step": "rejudge", "of": "pool"})

    def script(request):  # the judge calls the first of them relevant
        asked = request.messages[-1].content
        return "3" if next(p.abstract for p in PAPERS if p.id == foreign[0]) in asked else "1"

    built = build_set(recipe(*steps), library, tmp_path / "made", model=Scripted(script))
    assert built.steps[0].kept
    pooled = built.benchmark.qrels["pooled"][first]
    assert {doc: pooled[doc] for doc in known} == dict.fromkeys(known, 1)
    assert {doc: grade for doc, grade in pooled.items() if doc not in known} == {foreign[0]: 2, foreign[1]: 0}
    assert dict(built.benchmark.qrels["gold"][first]) == dict.fromkeys(known, 1)
    found = built.steps[2].found
    assert found["relevant among them"] == 1
    assert found["a, nDCG@3"].endswith("without 1 that it alone found")
    assert found["b, nDCG@3"].endswith("without 0 that it alone found")
    assert float(found["a, nDCG@3"].split(",")[0]) > float(found["a, nDCG@3"].split(", ")[1].split()[0])
    with pytest.raises(UsageError, match="no place for grades of pools"):
        build_set(recipe(*steps, layout="beir"), library, tmp_path / "made", model=Scripted(script))


def _written_set(origin="small-model"):
    """Two queries, each with a written and a library's document of grade 1 and of grade 0."""
    papers = sorted(paper.id for paper in PAPERS)[:4]
    texts = {f"w{n}": MadeText(f"w{n}", text="Words.", origin=origin) for n in range(4)}
    gold = {
        f"q{n}": {papers[2 * n]: 1, f"w{2 * n}": 1, papers[2 * n + 1]: 0, f"w{2 * n + 1}": 0}
        for n in range(2)
    }
    drafts = tuple(QueryDraft(name, "words") for name in gold)
    return Made((*papers, *texts), drafts, {"gold": gold}, texts=texts), papers


def test_a_judge_that_favours_what_its_model_wrote_is_told(library, tmp_path):
    made, papers = _written_set()
    own = {f"q{n}": [f"w{2 * n}", papers[2 * n], f"w{2 * n + 1}", papers[2 * n + 1]] for n in range(2)}
    other = {f"q{n}": [papers[2 * n], f"w{2 * n}", f"w{2 * n + 1}", papers[2 * n + 1]] for n in range(2)}
    runs = (run_file(tmp_path / "own.txt", own), run_file(tmp_path / "other.txt", other))
    bench = Workbench(library, 1)
    assert favour.run(made, bench, FavourOptions(runs=runs)) is made
    assert bench.found["written by"] == "small-model"
    assert bench.found["own"].startswith("100.0 % of pairs")
    assert "+50.0 [+50.0, +50.0] from the other systems over 2 queries" in bench.found["own"]
    assert bench.found["other"].startswith("50.0 %")
    assert "-50.0" in bench.found["other"]


def test_who_favours_is_asked_only_of_texts_that_a_model_wrote_and_systems_that_rank_them(library, tmp_path):
    bench = Workbench(library, 1)
    favour.run(_written_set("changed")[0], bench, FavourOptions(runs=("x",)))
    assert bench.found == {"favour": "no language model wrote a document"}
    made, _ = _written_set()
    bench = Workbench(library, 1)
    favour.run(made, bench, FavourOptions())
    assert bench.found == {"favour": "*not looked at*"}
    run = run_file(tmp_path / "few.txt", {"q0": ["bob-two-1"]})  # no pair of it is ranked
    favour.run(made, bench, FavourOptions(runs=(run,)))
    assert bench.found["few"] == "ranks no pair of equal grade"


def test_without_runs_nothing_is_pooled_and_no_model_asked(library, tmp_path):
    steps = ({"step": "pool"}, {"step": "rejudge", "of": "pool"})
    built = build_set(recipe(*steps), library, tmp_path / "made")
    assert "*not pooled*" in (built.folder / "README.md").read_text("utf-8")
    assert set(built.made.qrels) == {"gold"}


def test_a_changed_run_is_pooled_anew_and_one_of_another_set_is_refused(library, tmp_path):
    names = [draft.id for draft in build_set(recipe(), library, tmp_path / "made").made.drafts]
    run = run_file(tmp_path / "a.txt", {names[0]: ["ann-one-0"]})
    step = {"step": "pool", "runs": [run]}
    assert not build_set(recipe(step), library, tmp_path / "made").steps[1].kept
    assert build_set(recipe(step), library, tmp_path / "made").steps[1].kept
    run_file(tmp_path / "a.txt", {names[0]: ["bob-one-0"]})
    assert not build_set(recipe(step), library, tmp_path / "made").steps[1].kept
    run_file(tmp_path / "a.txt", {"other": ["bob-one-0"]})
    with pytest.raises(BadInput, match="other topics"):
        build_set(recipe(step), library, tmp_path / "made")


def test_an_experiment_on_the_set_is_pooled(library, tmp_path, home):
    built = build_set(recipe(), library, tmp_path / "made")
    command = [
        "bench",
        "run",
        f"obliq={built.folder}",
        "-r",
        "bm25",
        "--no-encoder",
        "-o",
        str(tmp_path / "exp"),
    ]
    assert main(command) == 0
    step = {"step": "pool", "runs": [str(tmp_path / "exp")]}
    found = build_set(recipe(step), library, tmp_path / "made").steps[1].found
    assert found == {"systems": "bm25", "depth": 10, "documents without a grade": 4 * 4}


def test_leaving_a_system_out_by_hand():
    """Two systems, each with one relevant document that the other lacks; one of them is gold."""
    pool = {"x": {"q": ["g", "a"]}, "y": {"q": ["b", "g"]}}
    made = Made(("a", "b", "g"), (QueryDraft("q", "t"),), {"gold": {"q": {"g": 1}}}, facts={"pool": pool})
    assert unjudged(made) == {"q": ["a", "b"]}
    grades = {"q": {"g": 1, "a": 1, "b": 0}}
    # x finds both: 100 with, and 100 without its own document, as the ideal has g alone then. y finds one of
    # two in its second place: (1 / log2 3) / (1 + 1 / log2 3) with what x found, which stays for y.
    assert left_out(made, grades) == {
        "x, nDCG@2": "100.0, 100.0 without 1 that it alone found",
        "y, nDCG@2": "38.7, 38.7 without 0 that it alone found",
    }


def fill(folder, name, grade):
    with (folder / "relevance.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["grade"] = grade(row)
    with (folder / f"relevance.{name}.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows(rows)


def test_people_grade_documents_and_each_is_scored_against_the_others(library, tmp_path):
    given = recipe({"step": "grade", "grades": [1, 2, 3], "keep": 0})
    made = tmp_path / "made"
    waiting = build_set(given, library, made)
    assert "8 of 8 documents have no grade" in waiting.todo
    assert "grade.skip=true" in waiting.todo
    sheet = (made / "review" / "relevance.csv").read_text("utf-8-sig")
    assert sheet.startswith("id,text,title,document,grade,note\n")
    assert "ann-" not in sheet
    fill(made / "review", "ann", lambda row: 3 if "passage 0" in row["document"] else 1)
    fill(made / "review", "bob", lambda row: 3 if "passage 0" in row["document"] else 2)
    built = build_set(given, library, made)
    grades = {doc: grade for held in built.made.qrels["gold"].values() for doc, grade in held.items()}
    assert grades == {
        p.id: 2 if p.id.endswith("0") else 0 for p in PAPERS
    }  # 1.5 is the lower of its neighbours
    found = built.steps[1].found
    assert found["Human 1, nDCG(ties=average)@20"].startswith("100.0 [100.0, 100.0] over 4 queries")
    assert "relevance, Krippendorff's alpha (ordinal)" in found
    skipped = build_set(given.changed(["grade.skip=true"]), library, made)
    assert "*not graded by people*" in (skipped.folder / "README.md").read_text("utf-8")


def test_a_person_who_turns_the_order_round_is_scored_so():
    pairs = [("q", "a"), ("q", "b"), ("r", "a"), ("r", "b")]
    ratings = np.array([[2, 2, 0], [0, 0, 2], [1, 1, 1], [0, 0, np.nan]], np.float64)
    found = human(pairs, ratings, GradeOptions())
    # The third has b before a where the others say a alone, then one document of the other query.
    assert found["Human 3, nDCG(ties=average)@20"].startswith("81.5 [63.1, 100.0] over 2 queries")
    assert human(pairs, ratings[:, :1], GradeOptions()) == {}


def test_documents_under_instructions_are_not_graded_by_people(library, tmp_path):
    texts = {"d": MadeText("d", text="x")}
    made = Made(("d",), (QueryDraft("q", "t"),), {"original": {"q": {"d": 1}}}, texts=texts)
    from aspectra.lab.construction.steps.review import grade

    with pytest.raises(UsageError, match="instructions"):
        grade.run(made, Workbench(library, 1), GradeOptions())


def _added(library, name):
    lens = PromptedLens(name, builtin_text(name))
    with library.writing("lens") as writer:
        define(library, writer, lens)
    return lens


def _recalled(library, tmp_path, text, *settings_, memorable=5):
    lens = _added(library, "memorability")
    grades = Scripted(lambda request: json.dumps({"value": memorable if "ann" in request.subjects[0] else 2}))
    with wrap_model(grades, ModelSettings(tries=1, prices=tmp_path / "none.toml")) as model:
        run_lens(library, bound_to(lens, model.name, switch=True), model)
    posts = Scripted(lambda request: json.dumps({"reason": "r", "query": text}))
    chosen = BuildRecipe.named("tip-of-the-tongue").changed(settings_)
    return build_set(chosen, library, tmp_path / "made", model=posts)


def test_memorable_texts_are_asked_for_as_somebody_remembers_them(library, tmp_path):
    built = _recalled(library, tmp_path, "Somebody once wrote something down twice.")
    topics = built.benchmark.topics
    assert {next(iter(built.benchmark.qrels["gold"][t.id])) for t in topics} == {
        p.id for p in PAPERS if "ann" in p.id
    }
    assert len({one.labels["opening"] for one in built.made.drafts}) == 4  # each begins in another way
    assert built.steps[0].dropped == {"papers of a memorability below 3": 4}
    with pytest.raises(BadInput, match="no query is left"):
        _recalled(library, tmp_path, "Somebody once wrote.", "recall.least=5.5")


@pytest.mark.parametrize(
    "text", ["It had words of ann in it.", "In the Bob book, perhaps", "It was passage 10."]
)
def test_a_post_with_a_phrase_or_a_name_of_the_text_is_none(text):
    source = "There were words of ann in it. I met Bob with 10 owls."
    from aspectra.lab.construction.steps import write

    assert phrases(source) & write._said(text)
    assert not phrases(source) & write._said("There were many words in it, and I met somebody.")


def test_a_lens_without_numbers_or_values_is_said(library, tmp_path):
    _added(library, "stance")
    with pytest.raises(UsageError, match="no numbers"):
        build_set(
            BuildRecipe.named("tip-of-the-tongue").changed(["recall.lens=stance"]), library, tmp_path / "m"
        )
    with pytest.raises(AspectraError, match="memorability"):
        build_set(BuildRecipe.named("tip-of-the-tongue"), library, tmp_path / "m")


def test_people_write_questions_on_papers_that_they_know(library, tmp_path):
    chosen = BuildRecipe.named("author-questions").changed(["entries.fewest=2"])
    folder = tmp_path / "made"
    waiting = build_set(chosen, library, folder)
    assert waiting.waiting == "entries"
    assert waiting.todo.startswith("0 questions are written. Copy ")
    with (folder / "review" / "questions.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(PAPERS)
    asked = {row["id"]: row["abstract"] for row in rows[:3]}
    for name, texts in (("ann", ["Who wrote  it?", "When?"]), ("bob", ["", "", "How long is it?"])):
        written = [{"id": key, "question": text} for key, text in zip(asked, texts, strict=False)]
        with (folder / "review" / f"questions.{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, ("id", "question"))
            table.writeheader()
            table.writerows(written)
    built = build_set(chosen, library, folder)
    texts = {p.id: p.abstract for p in PAPERS}
    found = {draft.text: texts[next(iter(built.made.qrels["gold"][draft.id]))] for draft in built.made.drafts}
    assert found == dict(zip(["Who wrote it?", "When?", "How long is it?"], asked.values(), strict=True))
    assert built.steps[0].found == {"people": 2}
    assert "3 people" in (built.folder / "README.md").read_text("utf-8")
    assert len(built.benchmark.topics) == 3
