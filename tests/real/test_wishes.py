"""How well the annotated texts beside the checkout are read: the shares reached, as lower bounds."""

from __future__ import annotations

import importlib.util
import json

import pytest

from aspectra.base.decompression import zstd
from aspectra.search.instructions.reading import read_instruction
from aspectra.search.instructions.understanding import understand
from aspectra.search.query import Query

# name: exact texts with requests, precision and recall of conditions, silently lost at most, damaged at most.
REACHED = {"dev": (0.90, 0.95, 0.93, 0.0, 0), "dev_extra": (0.74, 0.84, 0.86, 0.02, 1)}
YEAR = 2026


def read(row):
    if row["mode"] == "question":
        got = understand(Query(row["text"]))
    else:
        got = understand(Query("", seeds=("seed",), instruction=row["text"]))
    conditions = [
        {
            "relation": c.relation,
            "attribute": c.attribute,
            "value": c.value,
            "span": c.words,
            **({"unless": [e.to_dict() for e in c.unless]} if c.unless else {}),
        }
        for c in got.query.conditions
    ]
    aspects = {"same": list(got.query.same), "different": list(got.query.different)}
    topic = "" if got.fallback else got.query.text
    unread = [u.words for u in got.unread]
    return {"id": row["id"], "topic": topic, "conditions": conditions, "aspects": aspects, "unread": unread}


@pytest.mark.parametrize("name", sorted(REACHED))
def test_requests_are_read(shared, name):
    folder = shared / "data" / "wishes"
    if not folder.is_dir():
        pytest.skip("the annotated texts are not here")
    spec = importlib.util.spec_from_file_location("wishes_score", folder / "score.py")
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
    judged = [score.judge(row, read(row), YEAR) for row in rows]
    wished = [j for j in judged if not j["plain"]]
    right = sum(r == "right" for j in judged for r in j["result"])
    found = sum(len(j["P"]) for j in judged)
    asked = sum(r != "topic" for j in judged for r in j["result"])
    lost = sum(r == "lost" for j in judged for r in (*j["result"], *j["unread"]))
    exact, precision, recall, most_lost, damaged = REACHED[name]
    assert sum(j["exact"] for j in wished) >= exact * len(wished)
    assert right >= precision * found
    assert right >= recall * asked
    assert lost <= most_lost * (asked + sum(len(j["unread"]) for j in judged))
    assert sum(j["damaged"] for j in judged if j["plain"]) <= damaged
    assert not any("inverted" in j["result"] or j["swapped"] or j["both"] or j["denied"] for j in judged)


def _queries(file):
    with zstd.ZstdFile(file) as raw:
        return [json.loads(line)["text"] for line in raw.read().decode("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["clinical-trial", "doris-mae", "wtb"])
def test_long_needs_are_searched_whole(shared, name):
    file = shared / "data" / "birco" / name / "dev" / "queries.jsonl.zst"
    if not file.is_file():
        pytest.skip("the collection is not here")
    for text in _queries(file):
        reading = read_instruction(text)
        assert reading.spellings == (), text
        assert reading.unread == ()
        assert reading.topic == text.strip(" \t\r\n.,;:!?…。，：；？！、-–—")


def test_questions_for_papers_keep_their_subject(shared):
    """What is taken out of a question is a request or a demand that the texts do make."""
    folder = shared / "data" / "litquery"
    if not folder.is_dir():
        pytest.skip("the collection is not here")
    files = sorted(folder.glob("*/queries.jsonl.zst"))
    texts = [text for file in files for text in _queries(file)]
    read_as = {text: read_instruction(text) for text in texts}
    touched = [text for text, r in read_as.items() if r.spellings]
    assert len(touched) <= 0.1 * len(texts)
    assert not any(s.startswith(("exclude", "avoid")) for r in read_as.values() for s in r.spellings)
    assert all(s.split()[1].startswith(("year", "recency", "citations", "kind", "status")) for r in
               read_as.values() for s in r.spellings if s.startswith(("require", "prefer")))  # fmt: skip
