"""The instruction reader: hand-written sentences, the rules one by one, and any text whatever."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.instructions.grammar.bounds import read_bound
from aspectra.search.instructions.grammar.lexicon import expand
from aspectra.search.instructions.grammar.names import read_name
from aspectra.search.instructions.grammar.spelling import corrected
from aspectra.search.instructions.grammar.tagging import pieces_of
from aspectra.search.instructions.reading import Reading, read_instruction

DATA = Path(__file__).parents[2] / "data"


def _read(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def _wanted(item: dict) -> set[tuple[str, str, str]]:
    return {(c["attribute"], c["value"], c["relation"]) for c in item["conditions"]}


def _found(reading: Reading) -> set[tuple[str, str, str]]:
    aspects = [("aspect", a, "same") for a in reading.same] + [
        ("aspect", a, "different") for a in reading.different
    ]
    return {(c.attribute, c.value, c.relation) for c in reading.conditions} | set(aspects)


@pytest.mark.parametrize("name", ["instructions.jsonl", "instructions_fresh.jsonl"])
def test_hand_written_instructions(name):
    items = _read(name)
    readings = [read_instruction(item["text"]) for item in items]
    pairs = list(zip(items, readings, strict=True))
    wrong = [i["text"] for i, r in pairs if _found(r) != _wanted(i)]
    other_rest = [i["text"] for i, r in pairs if r.rest != i["rest"]]
    assert len(wrong) <= 0.05 * len(items), wrong
    assert len(other_rest) <= 0.1 * len(items), other_rest


def test_distractors_and_permissions_bring_no_conditions():
    for item in _read("instructions.jsonl"):
        if item["dimension"] == "none":
            assert not _found(read_instruction(item["text"])), item["text"]


def test_instructions_of_the_obedience_queries():
    """They come with a query of their own, so that nothing is left but what is not understood."""
    queries = _read("obedience/queries.jsonl")
    wrong = [
        q["instruction_changed"]
        for q in queries
        if _found(read_instruction(q["instruction_changed"], whole_query=False)) != _wanted(q)
    ]
    assert len(wrong) <= 0.05 * len(queries), wrong


def test_questions_bring_no_conditions():
    for query in _read("obedience/queries.jsonl"):
        reading = read_instruction(query["text"])
        assert not _found(reading), query["text"]
        assert reading.rest == query["text"].strip("?")


def _spellings(text: str, **kwargs) -> tuple[str, ...]:
    return read_instruction(text, **kwargs).spellings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please answer in Welsh.", ["prefer language=cy"]),
        ("It must not be in Welsh.", ["exclude language=cy"]),
        ("It must be in Welsh.", ["require language=cy"]),
        ("Not in Welsh.", ["avoid language=cy"]),
        ("I'd rather not have anything in Welsh.", ["avoid language=cy"]),
        ("It should not be in Welsh.", ["avoid language=cy"]),
        ("nothing that isn't in Welsh", ["require language=cy"]),
        ("any language other than Welsh", ["avoid language=cy"]),
        ("non-Welsh documents", ["avoid language=cy"]),
        ("It need not be in Welsh.", []),
        ("Any language will do.", []),
        ("rather a forum post than a blog", ["prefer source=forum", "avoid source=blog"]),
        ("No blogs, forums or news.", ["exclude source=blog", "exclude source=forum", "exclude source=news"]),
        (
            "Blogs, forums or news only.",
            ["require source=blog", "require source=forum", "require source=news"],
        ),
        ("Leave blogs out.", ["exclude source=blog"]),
        ("I can't stand blogs, so leave them out.", ["exclude source=blog"]),
        ("A blog, ideally.", ["prefer source=blog"]),
        ("no fewer than 300 words", ["require length=>=300 words"]),
        ("Avoid anything over 300 words.", ["prefer length=<=300 words"]),
        ("not longer than 300 words", ["require length=<=300 words"]),
        ("between 300 and 500 words", ["require length=>=300 words", "require length=<=500 words"]),
        ("a page that can be read in two minutes or less", ["prefer length=<=460 words"]),
        ("published before 1999", ["require year=<=1998"]),
        ("not from the 1990s", ["exclude year=1990..1999"]),
        ("The year is unimportant.", []),
        ("papers at KDD", ["require venue=KDD"]),
        ("papers not by Ada Lovelace", ["exclude author=Ada Lovelace"]),
        ("I'd like papers by Ada Lovelace", ["prefer author=Ada Lovelace"]),
        ('It should mention "a", "b" and "c".', ["prefer keyword=a", "prefer keyword=b", "prefer keyword=c"]),
        ("The document must mention the option --dry-run.", ["require keyword=--dry-run"]),
        ("a page from the Emacs project's handbook", ["prefer source=name:Emacs"]),
        ("a manual with a list of options", ["prefer format=manual"]),
        ("same method, other data", ["same method", "different data"]),
        ("not the same method", ["different method"]),
        ("不要博客", ["exclude source=blog"]),
        ("最好用日语", ["prefer language=ja"]),
        ("Keine Foren, bitte.", ["exclude source=forum"]),
        ("Lieber nicht auf Polnisch.", ["avoid language=pl"]),
        ("Nur auf Dänisch.", ["require language=da"]),
    ],
)
def test_wording_maps_to_relations(text, expected):
    assert sorted(_spellings(text, whole_query=False)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Find me forum posts on beekeeping, please.", "beekeeping"),
        ("beekeeping, but nothing from forums", "beekeeping"),
        ("Beekeeping in Wales (in Welsh, please)", "Beekeeping in Wales"),
        ("topic: beekeeping; language: Welsh", "beekeeping"),
        (
            "beekeeping (hives and frames) for small gardens",
            "beekeeping (hives and frames) for small gardens",
        ),
        ("How do I keep bees in German cities?", "How do I keep bees in German cities"),
        ("bees, wasps and hornets, in Welsh only", "bees, wasps and hornets"),
        ("news", "news"),
        ("theory", "theory"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_rest_is_the_subject(text, rest):
    assert read_instruction(text).rest == rest


def test_what_is_not_understood_is_said():
    reading = read_instruction("beekeeping in winter; the text should be funny")
    assert reading.rest == "beekeeping in winter"
    assert reading.unread == ("the text should be funny",)


def test_an_instruction_beside_a_query_leaves_nothing_when_understood():
    assert read_instruction("Please provide documents written in Chinese.", whole_query=False).rest == ""
    assert read_instruction("Show me something about cats in Chinese.", whole_query=False).rest == "cats"


def test_denied_words_are_not_searched_for():
    reading = read_instruction("Do not give me a manual with pictures of engines.", whole_query=False)
    assert reading.spellings == ("exclude format=manual",)
    assert reading.rest == ""
    assert reading.unread == ("with pictures of engines",)


def test_long_texts_are_subjects():
    text = "Only in Welsh. " * 200
    assert read_instruction(text) == Reading(rest=text.strip(" ."))


def test_words_say_so():
    (condition,) = read_instruction("heat pumps; it must not be written in Welsh, please").conditions
    assert condition.words == "must not be written in Welsh"


WORDS = st.sampled_from(
    """
not no never must only should rather prefer avoid without except German Chinese blog forum news code
list short long mention contain term “x” 'y' "z" about on for and or but than , . : ; ( ) - more
less 200 words 2019 since by Ada Lovelace from the project same different method results I'd like I
need don't isn't any language that it which tables cats kein nicht nur auf Deutsch 不要 中文 必须 包含 的
papers find me please
""".split()
)


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=30).map(" ".join)), st.booleans())
def test_any_text_is_read(text, whole_query):
    reading = read_instruction(text, whole_query=whole_query)
    assert reading.rest in text
    assert reading.rest == reading.rest.strip()
    assert all(part and part in text for part in reading.unread)
    assert all(c.words and c.words in text for c in reading.conditions)
    assert len(set(reading.spellings)) == len(reading.spellings)


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_pieces_stand_in_order_and_do_not_overlap(text):
    pieces = pieces_of(text)
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    assert all(p.start < p.end <= len(text) for p in pieces)


LANGUAGES = {
    names: tag
    for tag, names in re.findall(r"^(.+): prefix = \{([^,}]+)", ATTRIBUTES.get("language").words("en"), re.M)
}
FRAMES = [
    ("Please answer in {}.", "prefer"),
    ("It has to be in {}.", "require"),
    ("Nothing in {}.", "exclude"),
    ("Don't show me anything in {}.", "exclude"),
    ("but not in {}", "avoid"),
    ("I would rather not have it in {}", "avoid"),
    ("No text is acceptable unless it is in {}.", "require"),
    ("Ideally in {}", "prefer"),
]


@given(st.sampled_from(sorted(LANGUAGES)), st.sampled_from(FRAMES))
def test_every_language_in_every_frame(name, frame):
    assert _spellings(frame[0].format(name), whole_query=False) == (f"{frame[1]} language={LANGUAGES[name]}",)


@given(st.integers(2, 99_999), st.sampled_from(["words", "characters"]))
def test_bounds_hold_and_turn(number, unit):
    bound = read_bound(f"at most {number:,} {unit}", 0)
    assert bound is not None
    assert bound[1].values == (f"<={number} {unit}",)
    assert bound[1].opposite == f">={number} {unit}"
    assert _spellings(f"Nothing over {number} {unit}.", whole_query=False) == (
        f"require length=<={number} {unit}",
    )


@given(st.integers(1500, 2098))
def test_years_turn(year):
    assert _spellings(f"published after {year}", whole_query=False) == (f"require year=>={year + 1}",)
    assert _spellings(f"nothing published after {year}", whole_query=False) == (f"require year=<={year}",)


@given(st.text(max_size=80), st.integers(0, 80))
def test_recognisers_stay_inside_the_text(text, at):
    for found in (read_name(text, at), read_bound(text.lower(), at)):
        assert found is None or at < found[0] <= len(text.lower())


def test_patterns_expand():
    assert expand("{a,b} c(s)") == ["a cs", "a c", "b cs", "b c"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("contian", "contain"), ("pleese", "please"), ("germany", "germany"), ("catain", "catain")],
)
def test_spelling(said, meant):
    assert corrected(said) == meant
