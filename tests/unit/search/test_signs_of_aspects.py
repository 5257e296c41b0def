"""Aspects that are named together, and those that are denied beside one that is wished for."""

from __future__ import annotations

from itertools import permutations

import pytest

from aspectra.search.instructions.reading import read_instruction

ASPECTS = {"method": "method", "task": "task", "results": "result", "problem": "background", "data": "data"}
APART = """
same {0}, different {1} | the same {0} but a different {1} | similar in {0}, not in {1}
share the {0}, not the {1}
like it in {0} but not in {1} | same {0}; other {1} | matching {0}, unlike {1} | keep the {0}, change the {1}
not the same {1}, but the same {0} | with another {1} and the same {0} | agree in {0}, disagree in {1}
the {0} must be the same and the {1} must differ | the {0} is the same but the {1} is not
papers with a similar {0} but without the same {1} | common {0}, distinct {1} | different in {1}, alike in {0}
only the {0} should be similar, not the {1} | compare on {0}, not on {1} | focus on the {0}, not the {1}
"""
ALIKE = """
same {0} and {1} | the same {0} and the same {1} | similar in {0} and {1} | share both {0} and {1}
{0} and {1} should match | alike in {0} as well as {1} | same {0}, {1} | same {0} & {1}
"""
UNLIKE = """
different {0} and {1} | neither the same {0} nor the same {1} | not the same {0} or {1}
differ in {0} and {1}
other {0} and other {1} | unlike it in {0} and {1} | not the same {0}, {1}
"""


def _read(text):
    read = read_instruction(text, whole_query=False)
    assert not [one for one in read.spellings if "topic=" in one or "population=" in one], text
    return set(read.same), set(read.different)


def _filled(templates):
    for one in templates.replace("\n", "|").split("|"):
        for first, second in permutations(ASPECTS, 2) if one.strip() else ():
            yield one.strip().format(first, second), ASPECTS[first], ASPECTS[second]


def test_one_is_the_same_and_the_other_is_not():
    for text, same, different in _filled(APART):
        assert _read(text) == ({same}, {different}), text


def test_two_are_the_same():
    for text, one, other in _filled(ALIKE):
        assert _read(text) == ({one, other}, set()), text


def test_two_are_different():
    for text, one, other in _filled(UNLIKE):
        assert _read(text) == (set(), {one, other}), text


@pytest.mark.parametrize(
    ("text", "same", "different"),
    [
        ("gleiche Methode, nicht die Daten", {"method"}, {"data"}),
        ("weder die gleiche Methode noch die gleichen Daten", set(), {"method", "data"}),
        ("même méthode, pas les données", {"method"}, {"data"}),
        ("otro método y otros datos", set(), {"method", "data"}),
        ("相同的方法和数据", {"method", "data"}, set()),
        ("ignore the task, match the method", {"method"}, set()),  # any task will do
        ("the method should match, the task may not", {"method"}, set()),
        ("same method, task and data, but other results", {"method", "task", "data"}, {"result"}),
        ("same method and results on owls", {"method"}, set()),  # what its results are on
    ],
)
def test_aspects_beside_each_other(text, same, different):
    assert _read(text) == (same, different)


def test_the_name_of_an_aspect_alone_is_not_what_papers_are_not_about():
    read = read_instruction("by method, not by task", whole_query=False)
    assert not read.spellings
    assert [one.words for one in read.unread] == ["not by task"]
