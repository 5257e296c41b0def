"""Building a benchmark: recipes, steps that are kept, layouts that our own loaders read back."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.app.main import main
from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.construction.build import _parted, build_set, verdict_of
from aspectra.lab.construction.export import LAYOUTS, write_set
from aspectra.lab.construction.protocol import (
    STEPS,
    BuildRecipe,
    Made,
    MadeText,
    QueryDraft,
    Workbench,
    recipe_names,
)
from aspectra.lab.construction.steps import latent
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.chat import ModelError, QuotaSpent
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.views.prompted.definition import PromptedLens, define
from aspectra.views.prompted.running import bound_to, run_lens

AUTHORS, BOOKS = ("ann", "bob", "cy"), ("first", "second", "third")
PASSAGES = [
    Paper(f"{who}-{book}-{n}", "", f"Words of {who} in the {book} book, passage {n}.", (who,), 1900, book)
    for who in AUTHORS
    for book in BOOKS
    for n in range(4)
]
LABELLED = [
    Paper(f"p{n}", f"Paper {n}", "It names the topic owls." if n == 9 else "Text.") for n in range(40)
]


@pytest.fixture
def passages(tmp_path):
    with Store.create(tmp_path / "passages") as store:
        with store.writing("add") as writer:
            writer.add(PASSAGES)
        yield store


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", STEPS.names())
def test_a_step_says_what_it_does_and_has_defaults(name):
    step = STEPS.get(name)
    assert step.about.endswith(".")
    assert step.options.from_dict({}) == step.options()
    assert set(step.files) <= set(step.options.__struct_fields__)


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_of_the_package_is_sound(name):
    recipe = BuildRecipe.named(name)
    assert recipe.name == name
    assert recipe.layout in LAYOUTS
    assert [recipe.options(n) for n in range(len(recipe.steps))]
    assert BuildRecipe.loads(recipe.to_toml()) == recipe


def test_authorship(passages, tmp_path):
    built = build_set(BuildRecipe.named("authorship"), passages, tmp_path / "made")
    bench = built.benchmark
    assert len(bench.topics) == 3 * 3 * 3  # three passages of each book
    topic = next(one for one in bench.topics if one.id.startswith("q-ann-first"))
    assert topic.text == passages.get(topic.id[2:]).abstract
    assert set(bench.qrels["gold"][topic.id]) == {f"ann-{book}-{n}" for book in BOOKS[1:] for n in range(4)}
    assert bench.excluded[topic.id] == {f"ann-first-{n}" for n in range(4)}
    card = json.loads((built.folder / "card.json").read_text())
    assert card["positives of a query"] == {"least": 8, "mean": 8.0, "most": 8}
    assert "36 documents" in (built.folder / "README.md").read_text("utf-8")


def test_what_is_done_is_kept_and_the_same_bytes_come_twice(passages, tmp_path):
    recipe = BuildRecipe.named("authorship")
    for name in ("one", "two"):
        assert not build_set(recipe, passages, tmp_path / name).steps[0].kept
    assert build_set(recipe, passages, tmp_path / "one").steps[0].kept
    files = {name: sorted((tmp_path / name).rglob("*.*")) for name in ("one", "two")}
    assert [f.name for f in files["one"]] == [f.name for f in files["two"]]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files.values(), strict=True) if a.is_file())
    assert not build_set(recipe.changed(["groups.queries=1"]), passages, tmp_path / "one").steps[0].kept
    with passages.writing("add") as writer:
        writer.add([Paper("new", "", "More.", ("ann",), 1900, "first")])
    assert not build_set(recipe, passages, tmp_path / "one").steps[0].kept


def test_the_parts_of_a_set_share_no_question_and_one_corpus(passages, tmp_path):
    recipe = BuildRecipe.named("authorship")
    found = {}
    for part in ("dev", "test"):
        built = build_set(recipe.changed([f"part={part}", "test=0.3"]), passages, tmp_path / part)
        found[part] = {topic.id for topic in built.benchmark.topics}
        assert built.benchmark.audit.documents == 36
        assert set(built.benchmark.qrels["gold"]) == found[part]
        assert f"part {part}: {len(found[part])} of 27 queries" in built.verdict[0]
        assert "32 of 3" in built.verdict[0]  # relevant in both
        assert built.verdict[0] in (built.folder / "README.md").read_text("utf-8")
    assert found["dev"].isdisjoint(found["test"])
    assert (len(found["test"]), len(found["dev"])) == (8, 19)
    whole = build_set(recipe, passages, tmp_path / "dev")  # the steps are the same
    assert whole.steps[0].kept
    assert {topic.id for topic in whole.benchmark.topics} == found["dev"] | found["test"]


def test_one_question_under_several_conditions_is_in_one_part(passages, tmp_path):
    made = Made(drafts=tuple(QueryDraft(f"q{n}", f"question {n // 4}") for n in range(40)))
    parts = [
        _parted(BuildRecipe("x", (), part=part), made, Workbench(passages, 7))[0].drafts
        for part in ("dev", "test")
    ]
    assert sorted(d.id for part in parts for d in part) == sorted(d.id for d in made.drafts)
    texts = [{draft.text for draft in part} for part in parts]
    assert texts[0].isdisjoint(texts[1])
    assert [len(part) for part in parts] == [20, 20]


def test_nothing_is_written_to_estimate_and_until_stops(passages, tmp_path):
    recipe = BuildRecipe.named("authorship")
    assert build_set(recipe, passages, tmp_path / "made", estimate=True).steps[0].queries == 27
    assert not (tmp_path / "made").exists()
    assert build_set(recipe, passages, tmp_path / "made", until="groups").benchmark is None
    assert not (tmp_path / "made" / "set").exists()


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        (["groups.file=/nowhere"], "cannot be read"),
        (["groups.fil=x"], "unknown option of groups"),
        (["group.file=x"], "no step 'group'"),
        (["queries=3"], "cannot be read"),
        (["groups.parts=1"], "two parts"),
        (["groups.parts=9"], "no query is left"),
        (["layout=beer"], "no layout 'beer'"),
        (["part=train"], "the part 'train'"),
        (["test=1.0"], "1 of the queries"),
        (["part=test", "test=0.001"], "the part test has no query"),
    ],
)
def test_what_cannot_be_used_is_said(passages, tmp_path, settings_, said):
    with pytest.raises(AspectraError, match=said):
        build_set(BuildRecipe.named("authorship").changed(settings_), passages, tmp_path / "made")
    assert not (tmp_path / "made" / "set").exists()


def test_a_damaged_step_is_named(passages, tmp_path):
    recipe = BuildRecipe.named("authorship")
    build_set(recipe, passages, tmp_path / "made")
    (step,) = (tmp_path / "made" / "steps").iterdir()
    step.write_text(step.read_text("utf-8")[:-30], "utf-8")
    with pytest.raises(BadInput, match="is damaged"):
        build_set(recipe, passages, tmp_path / "made")


def test_shared_labels(tmp_path):
    rows = []
    for n in range(40):
        method = {"trees": 1} if n < 5 else {"nets": 1} if n < 12 else {f"rare {n}": 1}
        rows.append({"_id": f"p{n}", "background": {"owls": 1} if n < 10 else {"mice": 1}, "method": method})
    rows[3]["background"]["extra topic"] = 1
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(LABELLED)
        recipe = BuildRecipe.named("shared-labels").changed(
            [f"labels.file={lines(tmp_path / 'labels.jsonl', rows)}", "labels.share=0.3"]
        )
        bench = build_set(recipe, store, tmp_path / "made").benchmark
    gold = bench.qrels["gold"]
    assert {topic.id for topic in bench.topics} == {
        f"p{n}#{a}" for n in range(10) for a in ("background", "method")
    }
    assert gold["p0#background"] == {f"p{n}": 1 if n == 3 else 2 for n in range(1, 10)}
    # Alike in the topic, another method: contrast, but for the seed's own and those that are alike in both.
    assert gold["p0#method"] == {**{f"p{n}": 2 for n in range(1, 5)}, **{f"p{n}": 0 for n in range(5, 10)}}
    # p10 and p11 share the method of p5, and another topic: no label on too many papers makes a query.
    assert gold["p5#background"]["p10"] == gold["p5#background"]["p11"] == 0
    assert bench.excluded["p0#method"] == {"p0"}


def test_contrast_papers_neither_name_the_label_nor_are_akin(tmp_path):
    rows = [{"_id": f"p{n}", "background": {"owls": 1}, "method": {"trees": 1}} for n in range(5)]
    rows += [{"_id": f"p{n}", "background": {"hawks": 1}, "method": {"trees": 1}} for n in range(5, 10)]
    rows += [{"_id": f"p{n}", "background": {"barn owls": 1}, "method": {"trees": 1}} for n in range(10, 14)]
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(LABELLED)
        recipe = BuildRecipe.named("shared-labels").changed(
            [f"labels.file={lines(tmp_path / 'labels.jsonl', rows)}", "labels.share=0.5"]
        )
        grades = build_set(recipe, store, tmp_path / "made").benchmark.qrels["gold"]["p0#background"]
    assert {doc for doc, grade in grades.items() if grade == 0} == {f"p{n}" for n in range(5, 9)}  # not p9


_IDS = st.lists(st.text("abcüx0-_.:/#", min_size=1, max_size=8), min_size=4, max_size=9, unique=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=_IDS, pooled=st.booleans(), data=st.data())
@pytest.mark.parametrize("layout", [one for one in LAYOUTS if one != "scifullbench"])
def test_each_layout_is_read_back(tmp_path_factory, passages, layout, ids, pooled, data):
    folder = tmp_path_factory.mktemp("set")
    chosen = LAYOUTS[layout]
    texts = {name: MadeText(name, f"Title {n}", f"Words {n}", origin="made") for n, name in enumerate(ids)}
    asked = [f"q{n}" for n in range(data.draw(st.integers(1, 3)))]
    more = {"seed": ids[0], "aspect": "method"} if chosen.aspects else {"text": "owls at night"}
    told = {"instructed": "In German.", "reversed": "Not in German."} if chosen.modes else {}
    drafts = tuple(QueryDraft(name, **more, instructions=told) for name in asked)
    grades = {name: {doc: data.draw(st.integers(1, 2)) for doc in ids[1:3]} for name in asked}
    sets = ("original", "instructed", "reversed") if chosen.modes else ("gold",)
    qrels = dict.fromkeys(sets, grades)
    if layout == "obliq" and pooled:
        qrels["pooled"] = {name: {**held, ids[3]: 1} for name, held in grades.items()}
    excluded = dict.fromkeys(asked, (ids[3],)) if layout in ("obliq", "mteb") else {}
    made = Made(tuple(ids), drafts, qrels, excluded, texts, {"x": [1, None]})
    assert Made.of_lines(made.lines()) == made
    write_set(made, Workbench(passages, 1), folder, layout)
    read = BENCHMARKS.get(chosen.loader)(folder, **chosen.whole)
    assert [topic.text for topic in read.topics] == [draft.text for draft in drafts]
    if layout == "litsearch":  # its ids are whole numbers
        number = {str(n): name for n, name in enumerate(ids, 1)}
        assert [set(map(number.get, held)) for held in read.qrels["gold"].values()] == [set(ids[1:3])] * len(
            asked
        )
        return
    assert {paper.id for paper in read.papers()} == set(ids)
    assert {name: dict(held) for name, held in read.qrels.items()} == qrels
    assert {query: tuple(held) for query, held in read.excluded.items()} == (
        excluded or (dict.fromkeys(asked, (ids[0],)) if chosen.aspects else {})
    )


@pytest.mark.parametrize(
    ("layout", "draft"),
    [
        ("litsearch", QueryDraft("q", seed="d0")),
        ("obliq", QueryDraft("q", seed="d0", aspect="method")),
        ("beir", QueryDraft("q", "owls", instructions={"instructed": "In German."})),
        ("beir", QueryDraft("q", seed="d0")),
        ("beir", QueryDraft("a query", "owls")),
    ],
)
def test_what_a_layout_cannot_hold_is_said(passages, tmp_path, layout, draft):
    made = Made(("d0", "d1"), (draft,), {"gold": {draft.id: {"d1": 1}}})
    with pytest.raises(UsageError):
        write_set(made, Workbench(passages, 1), tmp_path / "set", layout)


def test_the_command(passages, tmp_path, capsys, home):
    common = ["--library", str(passages.folder), "-o", str(tmp_path / "made")]
    assert main(["bench", "build", "authorship", *common, "--estimate"]) == 0
    assert "Nothing was written" in capsys.readouterr().err
    assert main(["bench", "build", "authorship", *common, "--option", "groups.queries=1"]) == 0
    shown = capsys.readouterr()
    assert "| groups | 9 | 36 | 72 |" in shown.out
    assert f"aspectra bench run obliq={tmp_path / 'made' / 'set'}" in shown.err
    assert main(["bench", "build", "authorship", *common, "--option", "groups.parts=7"]) == 1
    assert "3 groups of too few parts" in capsys.readouterr().err


CITED = [Paper(f"c{n}", f"A study of owls that hunt by night, part {n}", "Words.") for n in range(6)]
CITING = [
    Paper(
        "asks",
        "What owls do",
        f"We look at owls. {CITED[3].title} says more. They hunt.",
        sections=(
            Section(
                "Introduction", f"Owls hunt (Smith, 2019). {CITED[0].title.upper()} was first. It is known."
            ),
            Section("Method", "We count. Nothing else is said here."),
            Section("Results", "Many. All was found."),
            Section("End", "Text.\n\nReferences\n[1] A. Bo. 2019. Owls.\n[2] C. Dee. 2018. Mice. 2017."),
        ),
    ),
    Paper("short", "No full text", "Words."),
    Paper(
        "lost",
        "Only titles",
        "Words.",
        sections=(Section("One", CITED[1].title), Section("Two", CITED[1].title)),
    ),
]


def _citations(tmp_path, *settings_):
    links = [("asks", one.id) for one in CITED] + [(q, "c1") for q in ("short", "lost")]
    (tmp_path / "links.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t1\n" for q, d in [*links, ("asks", "nowhere")])
    )
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add([*CITED, *CITING])
        changed = [f"graph.links={tmp_path / 'links.tsv'}", "sample.positives=6", *settings_]
        recipe = BuildRecipe.named("citation-pairs").changed(changed)
        return build_set(recipe, store, tmp_path / "made")


@pytest.mark.parametrize(("rule", "kept"), [("section", 3), ("sentence", 4)])
def test_citation_pairs(tmp_path, rule, kept):
    built = _citations(tmp_path, f"unlink.rule={rule}")
    (topic,) = built.benchmark.topics
    assert topic.labels["direction"] == "references"
    assert len(built.benchmark.qrels["gold"][topic.id]) == 6
    assert built.benchmark.audit.documents == 9  # three distractors, the asking paper among them
    text = built.made.texts["asks"]
    assert len(text.sections) == kept
    assert text.text == "We look at owls. They hunt."
    whole = " ".join(body for _, body in text.sections)
    assert "hunt by night" not in whole.lower()
    assert "Smith" not in whole
    assert "2018" not in whole
    assert ("It is known" in whole) == (rule == "sentence")
    dropped = {reason: times for one in built.steps for reason, times in one.dropped.items()}
    assert dropped["papers without a full text"] == 1
    assert dropped["citations of papers that are not in the corpus"] == 1
    found = {what: value for one in built.steps for what, value in one.found.items()}
    assert found["queries with at least 1, 2, 5, 10, 20 relevant papers"] == "3, 1, 1, 0, 0"
    assert "pairs with the whole title in the text" not in found
    full = next(one for one in built.benchmark.seeds())
    assert [section.text for section in full.sections] == [body for _, body in text.sections]


def test_a_paper_that_loses_most_sections_asks_nothing(tmp_path):
    with pytest.raises(BadInput, match="sample"):
        _citations(tmp_path, "sample.positives=7")
    assert "lost" not in _citations(tmp_path).made.texts


def test_titles_of_references_are_documents_of_their_own(tmp_path):
    references = tuple(Reference(title=f"A cited work on owls and mice, number {n}") for n in range(6))
    paper = Paper("asks", "Owls", "Words.", sections=(Section("One", "Text."),), references=references)
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add([paper])
        recipe = BuildRecipe.named("citation-pairs")
        with pytest.raises(BadInput, match="after the step graph") as refused:
            build_set(recipe, store, tmp_path / "made")
        assert "graph.targets=titles" in refused.value.hint
        recipe = recipe.changed(["graph.targets=titles", "sample.positives=6", "layout=beir"])
        with pytest.raises(UsageError, match="not in the corpus"):
            build_set(recipe, store, tmp_path / "made")
        built = build_set(recipe.changed(["layout=scifullbench"]), store, tmp_path / "made")
    assert built.benchmark.audit.documents == 6
    assert len(next(iter(built.benchmark.qrels["gold"].values()))) == 6


WORDS = {"short": 20, "middle": 30, "long": 130}
DOCUMENTS = [
    Paper(f"{subject}-{language}-{size}", "", f"{text} " * (WORDS[size] // len(text.split())))
    for subject in ("owls", "mice")
    for language, text in (
        ("en", f"The {subject} are seen at night and they are not very loud."),
        ("de", f"Das ist ein deutscher Satz und er handelt von {subject} in der Nacht."),
    )
    for size in WORDS
]


def _conditions(tmp_path, papers, *settings_):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(papers)
        given = ["conditions.smallest=2", "conditions.inside=2", "conditions.outside=2", *settings_]
        if papers is DOCUMENTS:
            parts = [one.id.split("-") for one in papers]
            rows = [{"_id": "-".join(part), "group": part[0], "value": part[2]} for part in parts]
            given.append(f"conditions.file={lines(tmp_path / 'groups.jsonl', rows)}")
        return build_set(BuildRecipe.named("conditions").changed(given), store, tmp_path / "made").benchmark


@pytest.mark.parametrize(
    ("dimension", "asked", "meet"),
    [
        ("language", "Only documents written in German.", {f"owls-de-{size}" for size in WORDS}),
        ("value", "Only documents of this kind: long.", {"owls-de-long", "owls-en-long"}),
    ],
)
def test_conditions_part_the_documents_of_a_group(tmp_path, dimension, asked, meet):
    bench = _conditions(
        tmp_path, DOCUMENTS, f"conditions.dimension={dimension}", "conditions.question=On {}?"
    )
    topic = next(t for t in bench.topics if t.text == "On owls?" and t.instructions["instructed"] == asked)
    every = {one.id for one in DOCUMENTS if one.id.startswith("owls")}
    assert set(bench.qrels["original"][topic.id]) == every
    assert set(bench.qrels["instructed"][topic.id]) == meet
    assert set(bench.qrels["reversed"][topic.id]) == every - meet
    assert topic.instructions["reversed"] != asked
    assert len({one.group for one in bench.topics}) == 2


def test_a_bound_on_words_leaves_out_what_is_near_it(tmp_path):
    bench = _conditions(tmp_path, DOCUMENTS, "conditions.dimension=length")
    assert len(bench.topics) == 2
    topic = next(one for one in bench.topics if one.text == "owls")
    short, long = (set(bench.qrels[mode][topic.id]) for mode in ("instructed", "reversed"))
    assert short == {"owls-de-short", "owls-en-short", "owls-de-middle", "owls-en-middle"}
    assert long == {"owls-de-long", "owls-en-long"}


def test_keywords_are_conditions_that_the_question_does_not_name(tmp_path):
    papers = [
        Paper(
            f"p{n}",
            "T",
            "A.",
            metadata={"keywords": ["Owls", "owls at night" if n < 5 else "Trees"][: 1 + (n < 8)]},
        )
        for n in range(10)
    ]
    bench = _conditions(tmp_path, papers)
    found = {(topic.text, topic.labels["condition"]): topic.id for topic in bench.topics}
    assert set(found) == {
        ("owls", "trees")
    }  # "owls at night" shares a word; too few of "trees" are elsewhere
    assert set(bench.qrels["instructed"][found["owls", "trees"]]) == {"p5", "p6", "p7"}


def test_a_question_that_names_no_group_is_refused(passages, tmp_path):
    for setting in ("conditions.question=Owls?", "conditions.dimension=value", "conditions.dimension=colour"):
        with pytest.raises(UsageError):
            build_set(BuildRecipe.named("conditions").changed([setting]), passages, tmp_path / "made")


CITES = [
    Paper(
        "asks",
        "Owls",
        "",
        sections=(
            Section(
                "One",
                "Many animals that live in forests hunt for their food in the dark {{cite:a}}. "
                "This is said in a sentence that leans on the one before it, with {{cite:b}}. "
                "Short {{cite:b}}. "
                "Some say that a bird of prey can hear what a mouse does under snow {{cite:b}}.",
            ),
        ),
        references=(
            Reference(key="a", title="Hunting by owls"),
            Reference(key="b", title="A bird of prey can hear"),
        ),
    )
]


def _asked(tmp_path, script, *settings_):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(CITES)
        recipe = BuildRecipe.named("citation-questions").changed(
            ["mentions.targets=titles", "overlap.most=0.5", *settings_]
        )
        return build_set(recipe, store, tmp_path / "made", model=script and Scripted(script))


def test_sentences_that_cite_are_queries_for_what_they_cite(tmp_path):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(CITES)
        recipe = BuildRecipe.named("citing-sentences").changed(["mentions.targets=titles"])
        built = build_set(recipe, store, tmp_path / "made")
    (topic,) = built.benchmark.topics
    assert topic.text == "Many animals that live in forests hunt for their food in the dark."
    dropped = {reason: times for one in built.steps for reason, times in one.dropped.items()}
    assert dropped == {
        "sentences that lean on those before": 1,
        "sentences of too few or too many words": 1,
        "queries that repeat the titles of their answers": 1,
    }


def _reply(text):
    return json.dumps({"reason": "r", "query": text})


def test_a_model_words_the_questions(tmp_path):
    built = _asked(tmp_path, lambda request: _reply("Which animals find food without light?"))
    assert [topic.text for topic in built.benchmark.topics] == ["Which animals find food without light?"] * 2
    assert {draft.source for draft in built.made.drafts} == {"scripted"}
    card = (built.folder / "README.md").read_text("utf-8")
    assert "2 scripted" in card
    assert "*simulated*" in card


@pytest.mark.parametrize("bad", ["no JSON", _reply(""), _reply("What does *Hunting by owls* say?"), ""])
def test_a_reply_that_cannot_be_used_is_asked_for_once_more_and_then_lost(tmp_path, bad):
    asked = []

    def script(request):
        text = "\n".join(message.content for message in request.messages)
        asked.append(text)
        return bad if "Hunting by owls" in text else _reply("What is noticed below a white cover?")

    built = _asked(tmp_path, script, "write.forbid=titles", "write.common=1")
    assert [draft.text for draft in built.made.drafts] == ["What is noticed below a white cover?"]
    assert len(asked) == 3
    assert {reason: n for one in built.steps for reason, n in one.dropped.items()}[
        "queries without a usable reply"
    ] == 1
    with pytest.raises(UsageError, match="no usable reply"):
        _asked(tmp_path, script, "write.forbid=titles", "write.common=1", "write.lost=0.1")


def test_a_build_that_is_stopped_in_the_middle_goes_on_with_the_next_model_call(tmp_path):
    with pytest.raises(UsageError, match="none is named"):
        _asked(tmp_path, None)
    assert len(list((tmp_path / "made" / "steps").iterdir())) == 1
    with pytest.raises(ModelError):
        _asked(tmp_path, [QuotaSpent("spent")] * 9)
    assert _asked(tmp_path, lambda request: _reply("What is eaten at night?")).steps[0].kept


SEEN = {"p0": "Owls are loud", "p1": "owls are loud", "p2": "Birds make noise", "p3": "Mice sleep", "p4": ""}
LENS_PROMPT = """
placeholders = ["paper", "rules", "answer"]
system = "{{rules}}"
user = "{{paper}} What is seen? {{answer}}"
usual_tokens = 8

[schema]
type = "string"
"""


def _latent(tmp_path, monkeypatch, script, *settings_, seen=SEEN):
    lens = PromptedLens("seen", LENS_PROMPT)
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(Paper(name, f"Title {name}", "Words.") for name in SEEN)
            define(store, writer, lens)
        answers = Scripted(lambda request: json.dumps({"value": seen[request.subjects[0]]}))
        with wrap_model(answers, ModelSettings(tries=1, prices=tmp_path / "none.toml")) as model:
            run_lens(store, bound_to(lens, model.name, switch=True), model)
        near = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]], np.float32)  # birds, mice, owls
        monkeypatch.setattr(latent, "_vectors", lambda texts, encoder: near[: len(texts)])
        given = ["annotate.lens=seen", "annotate.least=3", "rejudge.criterion=stance", *settings_]
        recipe = BuildRecipe.named("latent-queries").changed(given)
        return build_set(recipe, store, tmp_path / "made", model=script and Scripted(script))


def _judging(grades):
    def script(request):
        text = request.messages[-1].content
        if "The labels, as JSON" in text:
            return json.dumps({"labels": dict.fromkeys(("Owls are loud", "Birds make noise"), "loud birds")})
        if "the grade alone" not in text:
            return _reply("flying creatures that disturb sleepers")
        return str(next(grade for name, grade in grades.items() if name in text))

    return script


def test_groups_of_what_a_lens_says_become_queries_that_a_judge_looks_at_again(tmp_path, monkeypatch):
    built = _latent(tmp_path, monkeypatch, _judging({"p0": 3, "p1": 2, "p2": 1}), "rejudge.least=2")
    (topic,) = built.benchmark.topics
    assert topic.text == "flying creatures that disturb sleepers"
    assert dict(built.made.qrels["gold"][topic.id]) == {"p0": 2, "p1": 1, "p2": 0}
    dropped = {reason: times for one in built.steps for reason, times in one.dropped.items()}
    assert dropped["groups of too few papers"] == 1  # the mice
    assert dropped["papers of which the lens says nothing"] == 1
    assert "*simulated*" in (built.folder / "README.md").read_text("utf-8")


def test_a_query_with_a_word_of_the_notes_is_none(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="no usable reply"):
        _latent(tmp_path, monkeypatch, lambda request: _reply("Who is loud?"))


def test_a_judge_that_says_nothing_ends_the_build(tmp_path, monkeypatch):
    def script(request):
        judging = "the grade alone" in request.messages[-1].content
        return "?" if judging else _judging({})(request)

    with pytest.raises(UsageError, match="no answer that could be read"):
        _latent(tmp_path, monkeypatch, script)


def test_a_lens_that_was_not_run_is_said(passages, tmp_path):
    recipe = BuildRecipe.named("latent-queries")
    with pytest.raises(AspectraError, match="stance"):
        build_set(recipe, passages, tmp_path / "made", estimate=True)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=12), st.floats(0, 1))
def test_no_two_rows_of_a_group_are_farther_apart_than_the_distance(rows, distance):
    vectors = np.array(rows, np.float32).reshape(-1, 2)
    found = latent.grouped(vectors, distance)
    assert sorted(row for group in found for row in group) == list(range(len(rows)))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    for group in found:
        assert len(group) == 1 or float((1 - unit[group] @ unit[group].T).max()) <= distance + 1e-6


REVIEWED = BuildRecipe(
    "reviewed", ({"step": "groups", "queries": 1}, {"step": "review", "grades": [0, 1, 2]}), layout="obliq"
)


def _fill(folder, name, grades, mark=",", turned=False):
    """A copy of the sheet with made-up grades, as a spreadsheet would save it."""
    with (folder / "quality.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, grade in zip(rows, grades, strict=True):
        row["grade"] = grade
    with (folder / f"quality.{name}.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, rows[0], delimiter=mark)
        table.writeheader()
        table.writerows(reversed(rows) if turned else rows)


def test_people_review_the_queries(passages, tmp_path):
    made = tmp_path / "made"
    assert build_set(REVIEWED, passages, made, estimate=True).waiting == "review"
    assert not made.exists()
    waiting = build_set(REVIEWED, passages, made)
    assert (waiting.waiting, waiting.folder) == ("review", None)
    assert "9 of 9 queries have no grade" in waiting.todo
    assert "save it as CSV (UTF-8)" in waiting.todo  # any other is refused
    sheet = (made / "review" / "quality.csv").read_text("utf-8-sig")
    assert sheet.startswith("id,text,relevant 1,relevant 2,relevant 3,grade,note\n")
    assert "q-" not in sheet  # an id of a query may say where it comes from
    texts = [line.split('"')[1] for line in sheet.splitlines()[1:]]
    assert texts != sorted(texts)
    _fill(made / "review", "ann", [0, 0, 2, 1, 2, 2, 2, "", 0])
    assert "1 of 9 queries" in build_set(REVIEWED, passages, made).todo
    _fill(made / "review", "bob", ["0,0", 2, 2, "", 1, "2.0", 0, 1, 1], mark=";", turned=True)
    built = build_set(REVIEWED, passages, made)
    kept = {draft.text: "".join(draft.labels["quality"]) for draft in built.made.drafts}
    # Means 0 and 0.5 are below 1; a mean of 1 is not, and 1.5 is the lower of the grades beside it.
    assert kept == dict(zip([texts[n] for n in (1, 2, 3, 4, 5, 6, 7)], "1211211", strict=True))
    card = (built.folder / "README.md").read_text("utf-8")
    assert "2 queries of a quality below 1" in card
    assert "- review: quality, annotators: 2" in card
    assert "- review: quality, Cohen's kappa: 0.10" in card
    assert "over 7 units" in card
    assert build_set(REVIEWED, passages, made).steps[1].kept
    _fill(made / "review", "cy", [1] * 9)
    assert build_set(REVIEWED, passages, made).steps[1].found["quality, annotators"] == 3
    alone = build_set(REVIEWED.changed(["review.skip=true"]), passages, made)
    assert len(alone.benchmark.topics) == 9
    assert "*not reviewed*" in (alone.folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("quality.ann.csv", "{0}\n{1},1\nr0,1\n", "quality.ann.csv, line 3: nothing has the id 'r0'"),
        ("quality.ann.csv", "{0}\n{1},3\n", "quality.ann.csv, line 2: the grade '3' is none of 0, 1, 2"),
        ("quality.ann.csv", "{0}\n{1},1\n{1},1\n", "quality.ann.csv, line 3: '{1}' has a grade already"),
        ("quality.ann.csv", "id,mark\n{1},1\n", "quality.ann.csv has no column 'grade'"),
        ("quality.ann.xlsx", "PK", "quality.ann.xlsx is not a sheet in CSV"),
        ("quality.csv", "{0}\n{1},1\n", "quality.csv is the empty sheet, and somebody filled it in"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_named(passages, tmp_path, name, text, said):
    build_set(REVIEWED, passages, tmp_path / "made")
    folder = tmp_path / "made" / "review"
    first = (folder / "quality.csv").read_text("utf-8-sig").splitlines()[1].partition(",")[0]
    (folder / name).write_text(text.format("id,grade", first), "utf-8")
    with pytest.raises(BadInput) as refused:
        build_set(REVIEWED, passages, tmp_path / "made")
    assert said.format("", first) in str(refused.value)


@pytest.mark.parametrize(
    "setting", [f"review.{one}" for one in ("ask=text", "ask=A/b", "grades=[2, 1]", "ask=group")]
)
def test_what_a_review_cannot_ask_is_said(passages, tmp_path, setting):
    with pytest.raises(UsageError):
        build_set(REVIEWED.changed([setting]), passages, tmp_path / "made")


def test_the_verdict_says_what_a_set_can_show(passages, tmp_path):
    names = [
        "It was Zorba of Crete who sang.",
        "Cordelia and Anna of Crete.",
        "The owls of Crete sang to Anna.",
    ]
    texts = {f"d{n}": MadeText(f"d{n}", text=text) for n, text in enumerate([*names, "He met anna twice."])}
    words = "one two three four five six seven eight nine ten"
    asked = [
        "Who met Zorba at sea?",
        "Who met Anna on Crete?",
        "Where is Cordelia now?",
        words,
        f"{words[:-3]} eleven",
    ]
    drafts = tuple(QueryDraft(f"q{n}", text) for n, text in enumerate(asked))
    gold = {f"q{n}": {f"d{n % 2}": 1} for n in range(5)}  # Cordelia is in another document than q2's
    made = Made(tuple(texts), drafts, {"gold": gold}, texts=texts)
    power, few, leaks, near = verdict_of(made, Workbench(passages, 1))
    assert "a difference of 18.8 points" in power  # 2.8 * 15 / sqrt(5)
    assert "assumed to be 15 points, not measured" in power
    assert few == "power: fewer than 30 queries, which show large differences only"
    assert "1 of 5 queries share a name" in leaks  # anna is in small letters too
    assert near.startswith("near duplicates: 2 of 5 queries share 80%")
    told = tuple(QueryDraft(f"q{n}", "owls", instructions={"instructed": f"Of {n}."}) for n in range(40))
    power, leaks, near = verdict_of(Made(drafts=told), Workbench(passages, 1))
    assert near.startswith("near duplicates: 0 of 1 queries")
    built = build_set(BuildRecipe.named("authorship"), passages, tmp_path / "made")
    assert built.verdict[0] in (built.folder / "README.md").read_text("utf-8")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=12), min_size=1, max_size=8))
def test_near_duplicates_are_those_of_comparing_all_pairs(passages, texts):
    sets = [set(one) for one in texts]
    near = {
        n
        for n, one in enumerate(sets)
        for m, other in enumerate(sets)
        if n != m and one and 5 * len(one & other) >= 4 * len(one | other)
    }
    made = Made(drafts=tuple(QueryDraft(f"q{n}", " ".join(one)) for n, one in enumerate(texts)))
    assert f": {len(near)} of {len(texts)} " in verdict_of(made, Workbench(passages, 1))[-1]
