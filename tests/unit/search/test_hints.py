"""Words that may ask for something: which are reported, and that no search changes by it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.papers.paper import Paper
from aspectra.search.instructions.marks import is_english
from aspectra.search.instructions.understanding import understand
from aspectra.search.planning.heads import HINT_LABELS, beside, hints, hints_by
from aspectra.search.query import Query
from aspectra.views.encoders.protocol import load_encoder
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.terms.view import TokenHead
from small_library import searcher_over

BRACKETED = Path(__file__).parents[2] / "data" / "requests" / "bracketed.txt"


def _told(text, *words, **fields):
    """What is reported of a text whose words of a list may ask for something."""
    places = [(text.index(word), text.index(word) + len(word)) for word in words]
    plain, read = (
        understand(Query(**{"text": text} | fields), {}, None, h) for h in (None, lambda _: places)
    )
    assert read.query == plain.query, "a hint changes no search"
    assert read.unread[: len(plain.unread)] == plain.unread
    return [one.words for one in read.unread[len(plain.unread) :]]


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("owls of ponds whose keepers swear", ["keepers", "swear"], ["keepers swear"]),
        ("owls of ponds whose old keepers swear", ["whose", "keepers", "swear"], ["whose old keepers swear"]),
        ("owls of ponds, brindled, whose keepers", ["ponds", "brindled"], ["ponds", "brindled"]),
        ("owls of brindled ponds since 2019", ["brindled", "since", "2019"], ["brindled"]),
        ("owls of ponds, no surveys", ["surveys"], []),
        ("papers about owls of the pond", ["papers", "about", "of", "the"], []),
        ("Eulen der Teiche, welche die Nacht lieben und im Winter ziehen", ["welche", "Nacht"], []),
        ("Owls of Brindled Ponds Whose Keepers Swear", ["Keepers"], []),
        ("OWLS of ponds by night, no surveys", ["OWLS"], ["OWLS"]),
    ],
)
def test_words_that_are_neither_applied_nor_reported_are_reported_by_runs(text, words, told):
    assert _told(text, *words) == told


def test_words_of_a_literal_text_are_not_reported():
    assert _told("owls whose keepers swear", "keepers", literal=True) == []


def test_a_word_is_told_by_the_mean_of_its_tokens_and_by_its_neighbours():
    states = np.array([[0.0], [1.0], [0.0], [4.0], [0.0]], np.float32)
    np.testing.assert_allclose(beside(states)[:, 1], [0.5, 0.0, 2.5, 0.0, 2.0])
    places = np.array([(0, 0), (0, 3), (4, 7), (7, 9), (0, 0)])
    by_state = TokenHead(
        np.array([[0, 1], [0, 0]], np.float32), np.array([0, -1.5], np.float32), HINT_LABELS, ""
    )
    by_neighbours = TokenHead(
        np.array([[0, 0], [0, 2]], np.float32), np.zeros(2, np.float32), HINT_LABELS, ""
    )
    assert hints("owl pondly", (states, places), by_state, 0.5) == [(4, 10)], "the mean of 0.18 and 0.92"
    assert hints("owl pondly", (states, places), by_state, 0.6) == []
    assert hints("owl pondly", (states, places), by_neighbours, 0.7) == [(4, 10)]


@pytest.fixture(scope="module")
def minilm():
    try:
        return load_encoder("minilm:?threads=1")
    except MissingExtra as error:
        pytest.skip(f"{error.what}: {error.hint}")


OWLS = [
    Paper("a", "Owls and barns", "Owls hunt in barns."),
    Paper("b", "Owls by night", "Owls hunt by night."),
]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("owls on farms that cite Dalgaard 2014", "that cite Dalgaard 2014"),
        ("owl pellets validated against field measurements", "validated against field measurements"),
        ("how do owls hunt in barns", ""),
        ("sound localisation by barn owls", ""),
        ("", ""),
    ],
)
def test_the_shipped_head(tmp_path, minilm, text, told):
    with searcher_over(tmp_path / "owls", OWLS, minilm) as searcher:
        plan = searcher.plan(Query(text, seeds=() if text else ("a",)))
        assert " ".join(one.words for one in plan.unread) == told
        assert plan.search.texts == ((text,) if text else ())
        if told:
            assert f"not applied: “{told}” (perhaps a request; its words are searched for)" in plan.describe()


def test_the_pass_for_hints_gives_the_vector_of_the_text_too(minilm, monkeypatch):
    text, once = "how do owls hunt in barns", QueryEncoder(lambda: minilm)
    expected = QueryEncoder(lambda: minilm)(text)
    assert once.states(text) is not None
    monkeypatch.setattr(type(minilm), "encode", None)
    np.testing.assert_array_equal(once(text).vector, expected.vector)


def test_requests_in_many_wordings(minilm):
    """How many are told, as the README of the head says; each text with its requests in brackets."""
    hints_here = hints_by(QueryEncoder(lambda: minilm))
    lost, told_plain = [0, 0], 0
    for line in BRACKETED.read_text("utf-8").splitlines()[1:]:
        parts = re.split(r"[\[\]]", line)
        text = "".join(parts)
        if not is_english(text):
            continue
        for rules, reader in enumerate((hints_here, None)):
            try:
                found = understand(Query(text), hints=reader)
            except UsageError:
                continue
            told = [one.words.casefold() for one in (*found.query.conditions, *found.unread)]
            taken = [(at, at + len(w)) for w in told if w and (at := text.casefold().find(w)) >= 0]
            if len(parts) == 1:
                told_plain += any(one.searched for one in found.unread)
            for n in range(1, len(parts), 2):
                first = len("".join(parts[:n]))
                last = first + len(parts[n])
                lost[rules] += all(end <= first or start >= last for start, end in taken)
    assert lost[0] <= 0.75 * lost[1]
    assert told_plain <= 10


def test_an_encoder_that_the_head_does_not_know_tells_nothing(tmp_path, encoder):
    with searcher_over(tmp_path / "owls", OWLS, encoder) as searcher:
        assert not searcher.plan(Query("owl pellets validated against field measurements")).unread
