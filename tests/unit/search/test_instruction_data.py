"""The hand-written instructions and documents are what their README says (only the data are checked here)."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from pathlib import Path

DATA = Path(__file__).parents[2] / "data"
OBEDIENCE = DATA / "obedience"
SIX = ["language", "length", "keyword", "format", "source", "audience"]
NEGATED = {"exclude", "avoid"}
SIZES = ["sentence", "paragraph", "article"]
SOURCES = {"blog", "forum", "news", "scholarly", "encyclopedia", "official documentation"}
CLOSED = {
    "format": {"code", "qa", "manual", "prose", "list"},
    "audience": {"lay", "expert", "student"},
    "kind": {"survey", "method", "dataset", "theory", "evaluation", "position"},
    "source": SOURCES,
    "length": set(SIZES),
}
OPEN = {
    "language": r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?",
    "length": r"[<>]=(paragraph|[1-9]\d* (words|characters))",
    "keyword": r"\S(.*\S)?",
    "source": r"name:\S(.*\S)?",
    "year": r"[<>]=\d{4}|\d{4}\.\.\d{4}",
    "venue": r"\S(.*\S)?",
    "author": r"\S(.*\S)?",
    "aspect": r"\S(.*\S)?",
}


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


INSTRUCTIONS = _read(DATA / "instructions.jsonl")
DOCUMENTS = {
    d["_id"]: {**d, **more}
    for d, more in zip(_read(OBEDIENCE / "corpus.jsonl"), _read(OBEDIENCE / "attributes.jsonl"), strict=True)
}
QUERIES = {q["_id"]: q for q in _read(OBEDIENCE / "queries.jsonl")}


def _conditions_are_valid(conditions: list[dict]) -> bool:
    for c in conditions:
        assert list(c) == ["attribute", "value", "relation"], c
        attribute, value = c["attribute"], c["value"]
        relations = {"same", "different"} if attribute == "aspect" else {"require", "prefer", *NEGATED}
        assert c["relation"] in relations, c
        known = value in CLOSED.get(attribute, ()) or re.fullmatch(OPEN.get(attribute, "(?!)"), value)
        assert known, c
    return len({tuple(c.values()) for c in conditions}) == len(conditions)


def _starts(prefix: str) -> int:
    return sum(i["id"].startswith(prefix) for i in INSTRUCTIONS)


def test_instruction():
    for item in INSTRUCTIONS:
        assert [k for k in item if k != "note"] == [
            "id",
            "text",
            "conditions",
            "rest",
            "dimension",
            "negated",
        ]
        assert _conditions_are_valid(item["conditions"])
        assert item["rest"] in item["text"]
        assert item["rest"] == item["rest"].strip(" .,;:!?。，：？")
        attributes = {c["attribute"] for c in item["conditions"]}
        assert item["dimension"] in (attributes or {"none"})
        if any(c["relation"] in NEGATED for c in item["conditions"]):
            assert item["negated"]
        for c in item["conditions"]:
            if c["attribute"] in {"keyword", "venue", "author"} or c["value"].startswith("name:"):
                assert c["value"].removeprefix("name:") in item["text"], c
            if c["attribute"] == "year" and ".." in c["value"]:
                first, last = c["value"].split("..")
                assert first <= last


def test_instructions_are_many_and_various():
    ids, texts = [i["id"] for i in INSTRUCTIONS], [i["text"].casefold() for i in INSTRUCTIONS]
    assert len(set(ids)) == len(set(texts)) == len(INSTRUCTIONS) >= 230
    count = Counter(i["dimension"] for i in INSTRUCTIONS)
    negated = Counter(i["dimension"] for i in INSTRUCTIONS if i["negated"])
    for dimension in SIX:
        assert _starts(f"{dimension}-") >= 25
        assert 0.4 <= negated[dimension] / count[dimension] <= 0.6, dimension
    assert all(count[d] >= 8 for d in ("year", "kind", "venue", "author", "aspect"))
    combined = [i for i in INSTRUCTIONS if i["id"].startswith("combo-")]
    assert len(combined) >= 30
    assert all(2 <= len(i["conditions"]) <= 3 for i in combined)
    assert _starts("distractor-") >= 35
    notes = Counter(i.get("note", "").split(":")[0] for i in INSTRUCTIONS)
    assert notes["typo"] >= 7
    assert sum("double negation" in i.get("note", "") for i in INSTRUCTIONS) >= 5
    assert sum(bool(re.search("[\u4e00-\u9fff]", i["text"])) for i in INSTRUCTIONS) >= 8
    for relation in ("require", "exclude", "prefer", "avoid"):
        assert sum(c["relation"] == relation for i in INSTRUCTIONS for c in i["conditions"]) >= 40


def _occurs(term: str, text: str) -> bool:
    if re.search("[\u4e00-\u9fff]", term):
        return term in text
    return bool(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE))


def test_document():
    for document in DOCUMENTS.values():
        assert list(document) == ["_id", "title", "text", "year", "id", "subject", "attributes"]
        assert document["_id"] == document["id"]
        assert document["title"].strip()
        attributes, text = document["attributes"], document["text"]
        assert attributes["language"] in {"en", "de", "zh"}
        assert attributes["source"] in SOURCES | {"other"}
        assert all(attributes[a] in CLOSED[a] for a in ("length", "format", "audience"))
        assert 2000 < attributes["year"] < 2025
        chinese = len(re.findall("[\u4e00-\u9fff]", text))
        assert (chinese > 0.5 * len(text)) == (attributes["language"] == "zh")
        words, blocks = (chinese / 1.7 if chinese else len(text.split())), text.count("\n\n") + 1
        if attributes["length"] == "article":
            assert words >= 220
            assert blocks >= 3
        else:
            assert words <= (50 if attributes["length"] == "sentence" else 150)
            assert blocks == 1
        if attributes["length"] == "sentence":
            assert len(re.findall(r"[.!?。！？](?=\s|$)", text)) == 1
        whole = document["title"] + "\n" + text
        fellows = [d for d in DOCUMENTS.values() if d["subject"] == document["subject"]]
        asked = {k for d in fellows for k in d["attributes"]["keywords"]}
        assert {k for k in asked if _occurs(k, whole)} == set(attributes["keywords"])


def test_documents_are_many_and_various():
    assert len(DOCUMENTS) == len(_read(OBEDIENCE / "corpus.jsonl")) >= 110
    assert len({d["text"] for d in DOCUMENTS.values()}) == len(DOCUMENTS)
    subjects = Counter(d["subject"] for d in DOCUMENTS.values())
    assert 12 <= len(subjects) <= 14
    assert set(subjects.values()) <= {8, 9}


def test_query():
    for query in QUERIES.values():
        fields = [
            "_id",
            "subject",
            "text",
            "instruction_changed",
            "instruction_reversed",
            "conditions",
            "dimension",
        ]
        assert list(query) == fields
        assert all(query[f] for f in fields)
        assert _conditions_are_valid(query["conditions"])
        attributes = [c["attribute"] for c in query["conditions"]]
        assert query["dimension"] == (attributes[0] if len(attributes) == 1 else "combination")
        asked = {c["value"] for c in query["conditions"] if c["attribute"] == "keyword"}
        fellows = [d for d in DOCUMENTS.values() if d["subject"] == query["subject"]]
        assert asked <= {k for d in fellows for k in d["attributes"]["keywords"]}
        for term in asked:
            assert term in query["instruction_changed"]
            assert term in query["instruction_reversed"]


def test_queries_are_many_and_various():
    assert len(QUERIES) == len(_read(OBEDIENCE / "queries.jsonl")) >= 48
    assert len({q["text"] for q in QUERIES.values()}) == len(QUERIES)
    count = Counter(q["dimension"] for q in QUERIES.values())
    assert all(count[d] >= 6 for d in (*SIX, "combination"))
    negated = [q for q in QUERIES.values() if any(c["relation"] in NEGATED for c in q["conditions"])]
    assert 0.3 <= len(negated) / len(QUERIES) <= 0.6


def _judged(mode: str) -> set[tuple[str, str]]:
    head, *rows = (OBEDIENCE / f"qrels_{mode}" / "test.tsv").read_text("utf-8").splitlines()
    assert head == "query-id\tcorpus-id\tscore"
    assert all(row.endswith("\t1") for row in rows)
    assert len(set(rows)) == len(rows)
    return {tuple(row.split("\t")[:2]) for row in rows}


def test_judgements_divide_each_subject():
    original, instructed, back = (_judged(m) for m in ("og", "changed", "reversed"))
    documents = DOCUMENTS.values()
    assert original == {
        (q["_id"], d["_id"]) for q in QUERIES.values() for d in documents if d["subject"] == q["subject"]
    }
    assert instructed | back == original
    assert not instructed & back
    assert {q for q, _ in instructed} == {q for q, _ in back} == set(QUERIES)


def test_judgements_follow_from_the_attributes():
    spec = importlib.util.spec_from_file_location("make_qrels", OBEDIENCE / "make_qrels.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    for mode, pairs in maker.judgements().items():
        assert (OBEDIENCE / f"qrels_{mode}" / "test.tsv").read_text("utf-8") == maker.render(pairs)


def test_one_plain_condition_is_judged_by_the_attribute_itself():
    instructed = _judged("changed")
    for query_id, document_id in _judged("og"):
        condition, *more = QUERIES[query_id]["conditions"]
        attribute, value = condition["attribute"], condition["value"]
        if more or value[0] in "<>":
            continue
        attributes = DOCUMENTS[document_id]["attributes"]
        has = value in attributes["keywords"] if attribute == "keyword" else attributes[attribute] == value
        met = has != (condition["relation"] in NEGATED)
        assert met == ((query_id, document_id) in instructed), (query_id, document_id)
