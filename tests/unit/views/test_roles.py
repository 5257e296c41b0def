"""The sentence-role lens: what the model says, what it keeps, and its parts against plain computations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.papers.paper import Paper, Sentence
from aspectra.views.lenses._role_model import _WORD, PLACES, ROLES, _plain, pooled, sentence_keys, shipped
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.storage.folder import paper_spans

LENS = LENSES.get("roles")
WORDS = shipped().words

OWLS = [
    "Owls hunt at night and have long been studied by ornithologists.",
    "However, little is known about how they find mice under snow.",
    "The aim of this paper is to explain how owls locate prey they cannot see.",
    "We train a recurrent neural network on recordings from forty forests.",
    "Experimental results show that our approach outperforms the baseline by 12% in accuracy.",
]
ROLES_OF_OWLS = ["background", "background", "objective", "method", "result"]


def _paper(sentences: list[str], roles: list[str] | None = None, title: str = "Owls") -> Paper:
    text, marks = "", []
    for number, sentence in enumerate(sentences):
        text += " " if text else ""
        role = roles[number] if roles else ""
        marks.append(Sentence(len(text), len(text) + len(sentence), role))
        text += sentence
    return Paper("x", title, text, sentences=tuple(marks))


def _best(values: np.ndarray) -> list[str]:
    return [ROLES[n] for n in values.argmax(1)]


def test_a_plain_abstract() -> None:
    values = LENS.apply([_paper(OWLS)])[0]
    assert np.isnan(values[0]).all()
    assert _best(values[1:]) == ROLES_OF_OWLS


def test_probabilities_sum_to_one() -> None:
    values = LENS.apply([_paper(OWLS)])[0][1:]
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-5)
    assert (values > 0).all()


def test_the_sources_own_roles_are_kept_and_gaps_are_predicted() -> None:
    given_roles = ["method", "", "other", "", "background"]
    plain = LENS.apply([_paper(OWLS)])[0]
    values = LENS.apply([_paper(OWLS, given_roles)])[0]
    for row, role in enumerate(given_roles, 1):
        if role:
            assert values[row].tolist() == [float(r == role) for r in ROLES]
        else:
            np.testing.assert_allclose(values[row], plain[row], atol=1e-6)


def test_all_roles_given_leave_nothing_to_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr("aspectra.views.lenses.roles.shipped", refuse)
    values = LENS.apply([_paper(OWLS, ROLES_OF_OWLS)])[0]
    assert _best(values[1:]) == ROLES_OF_OWLS


def test_the_context_counts() -> None:
    sentence = "The owl is a bird of prey."
    early = LENS.apply([_paper([sentence, *OWLS[3:]], title="")])[0][0]
    late = LENS.apply([_paper([*OWLS[3:], sentence], title="")])[0][-1]
    assert early[ROLES.index("background")] > late[ROLES.index("background")] + 0.1


def test_another_script_is_not_guessed() -> None:
    values = LENS.apply([Paper("x", "猫头鹰", "猫头鹰在夜间捕食。它们听得见老鼠的声音。")])[0]
    assert values.shape == (3, 5)
    assert np.isnan(values).all()


def test_many_papers_at_once_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    papers = [_paper(OWLS[: 1 + n % 5]).with_id(str(n)) for n in range(23)]
    whole = LENS.apply(papers)
    monkeypatch.setattr("aspectra.views.lenses.roles._TOGETHER", 7)
    for a, b in zip(whole, LENS.apply(papers), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5, equal_nan=True)


def test_long_abstracts() -> None:
    values = LENS.apply([_paper(OWLS[:1] * 30 + OWLS[3:4] * 30 + OWLS[4:] * 30)])[0][1:]
    found = _best(values)
    assert found[0] == "background"
    assert found[45] == "method"
    assert found[-1] == "result"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=12))
def test_any_sentences(sentences: list[str]) -> None:
    paper = _paper(sentences)
    values = LENS.apply([paper])[0]
    assert values.shape == (len(paper_spans(paper)[2]), 5)
    known = ~np.isnan(values).any(1)
    np.testing.assert_allclose(values[known].sum(1), 1, atol=1e-4)
    assert np.isnan(values[~known]).all()


def _plain_keys(ids: list[int]) -> set[int]:
    kind = 1 << 45
    out = set(ids)
    out |= {kind | a << 15 | b for a, b in pairwise(ids)}
    out.add(2 * kind | ids[0])
    if len(ids) > 1:
        out.add(3 * kind | ids[0] << 15 | ids[1])
    if len(ids) > 2:
        out.add(4 * kind | ids[0] << 30 | ids[1] << 15 | ids[2])
    return out


WORDLIKE = st.lists(st.sampled_from("we show that owls 12 0.5 hunt % in this paper".split()), max_size=9)


@given(st.lists(WORDLIKE, min_size=1, max_size=6))
def test_keys_are_those_of_each_sentence_alone(rows: list[list[str]]) -> None:
    pieces = WORDS.cut([" ".join(row) for row in rows])
    owner, keys = sentence_keys(pieces)
    assert (np.diff(owner) >= 0).all()
    for number, (start, count) in enumerate(zip(pieces.starts, pieces.counts, strict=True)):
        expected = _plain_keys(pieces.ids[start : start + count].tolist())
        found = keys[owner == number].tolist()
        assert set(found) == expected
        assert len(found) == len(expected)


@given(st.lists(WORDLIKE, min_size=1, max_size=6))
def test_pooled_vectors_are_means(rows: list[list[str]]) -> None:
    pieces = WORDS.cut([" ".join(row) for row in rows])
    table = np.random.default_rng(0).normal(size=(len(WORDS.vocabulary), 4)).astype(np.float32)
    found = pooled(pieces, table, 3)
    for number, (start, count) in enumerate(zip(pieces.starts, pieces.counts, strict=True)):
        mine = table[pieces.ids[start : start + count]]
        expected = np.concatenate((mine.mean(0), mine[:3].mean(0)))
        np.testing.assert_allclose(found[number], expected, atol=1e-5)


def test_numbers_are_alike() -> None:
    one, other = WORDS.cut(["by 12 points", "by 97 points"]).ids.reshape(2, -1)
    assert one.tolist() == other.tolist()


@given(st.lists(st.lists(st.sampled_from(OWLS), min_size=1, max_size=13), min_size=1, max_size=4))
def test_places_do_not_look_across_papers(papers: list[list[str]]) -> None:
    flat = WORDS.cut([s for paper in papers for s in paper])
    together = WORDS.places(flat, np.array([len(p) for p in papers]))
    alone = [WORDS.places(WORDS.cut(p), np.array([len(p)])) for p in papers]
    assert together.shape[1] == PLACES
    np.testing.assert_array_equal(together, np.concatenate(alone))


@given(st.lists(st.lists(st.sampled_from(OWLS), min_size=1, max_size=13), min_size=1, max_size=4))
@settings(deadline=None, max_examples=30)
def test_neither_half_looks_across_papers(papers: list[list[str]]) -> None:
    model = shipped()

    def halves(some: list[list[str]]) -> list[np.ndarray]:
        counts = np.array([len(p) for p in some])
        pieces = model.words.cut([s for p in some for s in p])
        places = model.words.places(pieces, counts)
        return [half(pieces, places, counts) for half in (model.by_words, model.by_chain)]

    for together, *alone in zip(halves(papers), *(halves([p]) for p in papers), strict=True):
        np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


def test_the_gru_against_its_definition() -> None:
    """One sentence after the other, gate by gate (Cho et al. 2014, with torch's reset after the product)."""
    model = shipped()
    net = {name: values.astype(np.float64) for name, values in model._chain.items()}
    pieces = model.words.cut(OWLS)
    counts = np.array([len(OWLS)])
    places = model.words.places(pieces, counts)
    vectors = pooled(pieces, model._table, model._begin)
    logs = []
    for n in range(len(net["read.weight"])):
        x = vectors @ net["read.weight"][n].T + net["read.bias"][n] + places @ net["place.weight"][n].T
        x = np.maximum(x, 0)
        sides = []
        for end, order in (("", range(5)), ("_reverse", range(4, -1, -1))):
            w, u, b, c = (
                net[f"gru.{part}_l0{end}"][n] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            h = np.zeros(u.shape[1])
            states = [h] * 5
            for t in order:
                given_, again = np.split(w @ x[t] + b, 3), np.split(u @ h + c, 3)
                reset = 1 / (1 + np.exp(-given_[0] - again[0]))
                keep = 1 / (1 + np.exp(-given_[1] - again[1]))
                h = (1 - keep) * np.tanh(given_[2] + reset * again[2]) + keep * h
                states[t] = h
            sides.append(np.array(states))
        scores = np.concatenate((x, *sides, places), 1) @ net["out.weight"][n].T + net["out.bias"][n]
        logs.append(scores - np.log(np.exp(scores).sum(1, keepdims=True)))
    np.testing.assert_allclose(model.by_chain(pieces, places, counts), np.mean(logs, 0), atol=1e-4)


@given(st.text(st.one_of(st.characters(), st.sampled_from(list("aé字 1_\n\u2009'-.,")))))
def test_pieces_of_tokens_are_the_pieces_of_the_sentence(text):
    words = shipped().words
    found = [piece for word in _WORD.findall(_plain(text)) for piece in words._divide(word)]
    assert words.cut([text]).ids.tolist() == (found[:128] or [words.unknown])
