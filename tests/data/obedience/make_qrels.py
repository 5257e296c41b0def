"""Write the judgements of each mode from the attributes of the documents."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
SIZES = ["sentence", "paragraph", "article"]
NEGATED = {"exclude", "avoid"}


def read(name: str) -> list[dict]:
    """The records of a JSON Lines file of this folder."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def holds(attributes: dict, attribute: str, value: str) -> bool:
    """Whether a document has the value, or lies within the bound, whatever the relation says."""
    if attribute == "keyword":
        return value in attributes["keywords"]
    bound = re.fullmatch(r"([<>]=)(.+)", value)
    if not bound:
        return attributes[attribute] == value
    sign, limit = bound.groups()
    if attribute == "length":
        mine, limit = SIZES.index(attributes["length"]), SIZES.index(limit)
    else:
        mine, limit = attributes[attribute], int(limit)
    return mine <= limit if sign == "<=" else mine >= limit


def meets(attributes: dict, conditions: list[dict]) -> bool:
    """Whether all conditions are met; wanted values of one attribute are alternatives, but for keywords."""

    def key(c: dict) -> str:
        alone = c["relation"] in NEGATED or c["attribute"] == "keyword" or c["value"][0] in "<>"
        return f"{c['attribute']} {c['relation']} {c['value'] if alone else ''}"

    for _, group in groupby(sorted(conditions, key=key), key=key):
        members = list(group)
        found = any(holds(attributes, c["attribute"], c["value"]) for c in members)
        if found == (members[0]["relation"] in NEGATED):
            return False
    return True


def judgements() -> dict[str, list[tuple[str, str]]]:
    """(query, document) pairs of each mode."""
    modes: dict[str, list[tuple[str, str]]] = {"og": [], "changed": [], "reversed": []}
    documents = read("attributes.jsonl")
    for query in read("queries.jsonl"):
        for document in documents:
            if document["subject"] == query["subject"]:
                pair = (query["_id"], document["id"])
                modes["og"].append(pair)
                met = meets(document["attributes"], query["conditions"])
                modes["changed" if met else "reversed"].append(pair)
    return modes


def render(pairs: list[tuple[str, str]]) -> str:
    """The text of a judgement file."""
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t1\n" for q, d in pairs)


if __name__ == "__main__":
    for mode, mode_pairs in judgements().items():
        (HERE / f"qrels_{mode}" / "test.tsv").write_text(render(mode_pairs), encoding="utf-8")
