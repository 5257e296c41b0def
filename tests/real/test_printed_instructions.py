"""Reading of the instructions that InfoSearch prints (tables 10 to 15); its text is beside the checkout."""

from __future__ import annotations

import re

import pytest

from aspectra.search.instructions.understanding import understand
from aspectra.search.query import Query

# Row of a table -> what must be read of it, one of these; + wanted, - unwanted.
MEANT = {
    "10 Instructed 1": ["+audience=lay"],
    "10 Instructed 2": ["+audience=expert"],
    "10 Reversed 1": ["+audience=expert", "-audience=lay"],
    "10 Reversed 2": ["+audience=lay"],
    "12 Instructed 1": ["+source=name:Stackoverflow"],
    "12 Reversed 1": ["-source=name:Stackoverflow"],
    "14 Reversed 1": ["-length=sentence", "+length=>=paragraph", "+length=article"],
    "14 Reversed 2": ["-length=paragraph"],
    "14 Reversed 3": ["-length=article"],
}
VALUES = {
    "11": ["keyword=progesterone", "keyword=mint", "keyword=Chamomile"],
    "12": ["", "format=code", "source=official documentation"],
    "13": ["language=zh", "language=en"],
    "14": ["length=sentence", "length=paragraph", "length=article"],
    "15": ["source=blog", "source=forum", "source=news"],
}
MEANT |= {
    f"{table} {mode} {number}": [sign + value]
    for table, values in VALUES.items()
    for mode, sign in (("Instructed", "+"), ("Reversed", "-"))
    for number, value in enumerate(values, 1)
    if f"{table} {mode} {number}" not in MEANT
}


def _printed(text):
    """(row, its core query, its instruction) of all six tables."""
    for table, body in re.findall(
        r"\nTable (1[0-5]): An example[^\n]*\n(.*?)(?=\nTable 1[0-6]:|\nMoreover)", text, re.S
    ):
        rows = dict(re.findall(r"(?m)^((?:Core|Instructed|Reversed) \w+)\t(.*)$", body))
        core = rows.pop("Core Query")
        yield from ((f"{table} {name}", core, instruction) for name, instruction in rows.items())


def test_printed_instructions_are_read(shared):
    path = shared / "papers" / "001-infosearch.txt"
    if not path.is_file():
        pytest.skip("the text of the paper is not here")
    right, wrong, inverted = [], [], []
    for row, core, instruction in _printed(path.read_text("utf-8")):
        conditions = understand(Query(core, instruction=instruction)).query.conditions
        # What is asked of the subject, in words of the core query, is beside the point.
        told = [
            c for c in conditions if not (c.attribute == "topic" and c.value.casefold() in core.casefold())
        ]
        read = [
            ("+" if c.relation in ("require", "prefer") else "-") + f"{c.attribute}={c.value}" for c in told
        ]
        opposite = {("-" if one[0] == "+" else "+") + one[1:] for one in MEANT[row]}
        right += [row] if read and set(read) <= set(MEANT[row]) else []
        inverted += [row] if opposite & set(read) else []
        wrong += [f"{row}: {one}" for one in read if one not in MEANT[row]]
    assert inverted == []
    assert wrong == []
    assert len(right) >= 28, sorted(set(MEANT) - set(right))
