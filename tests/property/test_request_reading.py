"""Whatever somebody types is read, and every piece of it is accounted for."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.instructions.marks import marks_of
from aspectra.search.instructions.pieces import divide
from aspectra.search.instructions.reading import Reading, read_instruction
from aspectra.search.instructions.recognisers.bounds import read_bound
from aspectra.search.instructions.recognisers.names import read_name
from aspectra.search.instructions.understanding import understand
from aspectra.search.query import Query

WORDS = st.sampled_from(
    """
not no never must only should rather prefer avoid without except unless but nor neither wait sorry fine
German Chinese surveys review preprints thesis recent seminal open access code data trials RCTs humans mice
list short long mention term “x” 'y' "z" about on for of in and or than , . : ; ( ) - – more less older 200
words pages citations participants n > 2019 2015 since before after last five years by Ada Lovelace from
NeurIPS Nature MDPI Stanford US the same different method results papers studies that which use using with
tables cats graph learning kein nicht nur auf Deutsch sans thèses depuis sin tesis desde
不要 中文 综述 必须 2020年 的 以后
find me please well-written inclusion exclusion
leave out lass weg weder noch sauf ni 除 外 、 和 task share is University of Oxford MIT > 'z
""".split()
)
SPACED = st.tuples(WORDS, st.sampled_from([" ", "", "\n", "  ", "\n\n"])).map("".join)
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(WORDS, max_size=40).map(" ".join),
    st.lists(SPACED, max_size=20).map("".join),
)
# Signs that belong to no piece.
BETWEEN = re.compile(r"[\s.,;:!?…。，、：；？！()\[\]（）【】\-‐‑–—]*")


def spoken(reading: Reading) -> list[str]:
    return [c.words for c in reading.conditions] + [u.words for u in reading.unread]


@given(TEXTS, st.booleans())
def test_any_text_is_read(text, question):
    reading = read_instruction(text, whole_query=question)
    assert all(words and words in text for words in spoken(reading))
    assert len(set(reading.spellings)) == len(reading.spellings)
    assert reading.topic == reading.topic.strip()
    kept = iter(text.replace(" ", ""))
    assert all(c in kept for c in "".join(reading.topic.split())) or not text.isascii()


@given(TEXTS, st.booleans())
def test_the_parts_are_the_whole_text(text, question):
    at = 0
    for part in read_instruction(text, whole_query=question).parts:
        start = text.index(part.words, at)
        assert BETWEEN.fullmatch(text[at:start])
        at = start + len(part.words)
    assert BETWEEN.fullmatch(text[at:])


@given(TEXTS, st.booleans())
def test_marks_and_pieces_stand_in_order(text, question):
    marks = marks_of(text)
    assert all(a.end <= b.start for a, b in pairwise(marks))
    assert all(m.start < m.end <= len(text) for m in marks)
    pieces = divide(marks, question=question)
    assert [m for p in pieces for m in p.marks] == [m for m in marks if any(m in p.marks for p in pieces)]


@given(TEXTS, TEXTS)
def test_any_query_is_understood(text, instruction):
    query = Query(text, seeds=("seed",), instruction=instruction)
    understood = understand(query)
    assert understood.query.instruction.strip() == ""
    literal = understand(Query(text, seeds=("seed",), literal=True))
    assert literal.query.text == text


SUBJECTS = st.sampled_from(
    ["bee health", "graph learning for molecules", "the ideal gas law", "labour markets"]
)
DENIALS = st.sampled_from(
    ["no {}", "but not {}", "nothing on {}", "excluding {}", "exclude {}", "not about {}",
     "without {}",
     "no {} please",
     "avoid {}", "except {}", "I don't want {}", "{} excluded"]
)  # fmt: skip
THINGS = st.sampled_from(
    [
        "surveys",
        "theses",
        "zinc plates",
        "quantum dots",
        "preprints",
        "deep learning",
        "mice",
        "German cities",
    ]
)
JOINTS = st.sampled_from([", ", "; ", ". ", " (", " - "])


@given(SUBJECTS, JOINTS, DENIALS, THINGS)
def test_denied_words_are_never_searched_for(subject, joint, denial, thing):
    end = ")" if joint == " (" else ""
    reading = read_instruction(f"{subject}{joint}{denial.format(thing)}{end}")
    assert reading.topic == subject
    assert all(c.relation in ("exclude", "avoid") for c in reading.conditions)
    assert reading.conditions or reading.unread


@given(SUBJECTS, st.lists(THINGS, min_size=1, max_size=3, unique=True))
def test_a_plain_topic_is_searched_whole(subject, things):
    text = f"{subject} and {' and '.join(things)} in gardens"
    reading = read_instruction(text)
    assert reading == Reading(topic=text, parts=reading.parts)


NAMES = {
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
    ("Ideally in {}", "prefer"),
]


@given(st.sampled_from(sorted(NAMES)), st.sampled_from(FRAMES))
def test_every_language_in_every_frame(name, frame):
    reading = read_instruction(frame[0].format(name), whole_query=False)
    assert reading.spellings == (f"{frame[1]} language={NAMES[name]}",)


@given(st.integers(2, 99_999), st.sampled_from(["words", "characters", "pages"]))
def test_bounds_hold_and_turn(number, unit):
    bound = read_bound(f"at most {number:,} {unit}", 0)
    assert bound is not None
    assert bound[1].values == (f"<={number} {unit}",)
    assert read_instruction(f"Nothing over {number} {unit}.", whole_query=False).spellings == (
        f"require length=<={number} {unit}",
    )


@given(st.integers(1500, 2098))
def test_years_turn(year):
    for text, value in (
        ("published after {}", f">={year + 1}"),
        ("nothing published after {}", f"<={year}"),
        ("not before {}", f">={year}"),
        ("bis {}", f"<={year}"),
        ("{}年以前", f"<={year - 1}"),
    ):
        reading = read_instruction(text.format(year), whole_query=False)
        assert reading.spellings == (f"require year={value}",), text


@given(st.text(max_size=80), st.integers(0, 80))
def test_recognisers_stay_inside_the_text(text, at):
    for found in (read_name(text, at), read_bound(text.lower(), at)):
        assert found is None or at < found[0] <= len(text.lower())
