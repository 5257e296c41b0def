"""Schemas and prompt files of lenses: what is refused, and how replies are read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.views.prompted.definition import BUILTIN_PROMPTS, LensPrompt, builtin_text
from aspectra.views.prompted.running import show
from aspectra.views.prompted.schema import Unreadable, ValueSchema

TEXT = ValueSchema.parse({"type": "string", "maxLength": 20})
LABEL = ValueSchema.parse({"enum": ["for", "against", "neither one"]})
NUMBER = ValueSchema.parse({"type": "number", "minimum": 0, "maximum": 1})
WHOLE = ValueSchema.parse({"type": "integer", "minimum": 0, "maximum": 3})

PROMPT = """
about = "what it says of owls"
cues = ["Owls at  Night"]
placeholders = ["paper", "rules", "answer"]
system = "You look at owls. {{rules}}"
user = "{{paper}} What of owls? {{answer}}"

[schema]
type = "string"
"""


def test_a_value_that_repeats_the_prompt_is_none():
    said = PROMPT.replace("What of owls?", r"Like {\"value\": \"a plain sentence\"}.")
    prompt = LensPrompt.parse("owls", said)
    for value in ("a plain  sentence", "...", "a text of at most 4,000 characters"):
        with pytest.raises(Unreadable, match="repeats the prompt"):
            prompt.read(json.dumps({"value": value}))
    assert prompt.read('{"value": ""}').value == ""
    label = said.replace('type = "string"', 'enum = ["a plain sentence", "none"]')
    assert LensPrompt.parse("owls", label).read('{"value": "a plain sentence"}').value == "a plain sentence"


@pytest.mark.parametrize("schema", [TEXT, LABEL, NUMBER, WHOLE], ids=lambda s: s.kind)
def test_a_schema_reads_back(schema):
    assert ValueSchema.parse(schema.to_dict()) == schema
    assert schema.request_schema()["properties"]["value"] == schema.to_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"type": "object"},
        {"type": "string", "maxLength": 0},
        {"type": "string", "maxLength": True},
        {"type": "string", "pattern": "x"},
        {"enum": ["one"]},
        {"enum": ["a", "A"]},
        {"enum": ["a", " b"]},
        {"enum": ["a", 1]},
        {"enum": "ab"},
        {"enum": ["a", "b"], "type": "number"},
        {"type": "number", "minimum": 1, "maximum": 1},
        {"type": "number", "minimum": "0"},
        {"type": "number", "maximum": math.inf},
        {"type": "string", "description": 3},
    ],
)
def test_a_schema_that_means_nothing_is_refused(wrong):
    with pytest.raises(UsageError):
        ValueSchema.parse(wrong)


@pytest.mark.parametrize(
    ("schema", "reply", "value", "repaired"),
    [
        (TEXT, '{"value": "owls"}', "owls", False),
        (TEXT, '{"value": ""}', "", False),
        (TEXT, '{"value": null}', "", True),
        (TEXT, 'Sure!\n```json\n{"value": "owls"}\n```', "owls", True),
        (TEXT, '<think>{"value": "no"}</think>{"value": "owls"}', "owls", True),
        (TEXT, '{"value": "owls hunt mice in the dark"}', "owls hunt mice in", True),
        (TEXT, '{"value": "owls", "why": "x"}', "owls", True),
        (LABEL, '{"value": "against"}', "against", False),
        (LABEL, '{"value": "AGAINST"}', "against", True),
        (LABEL, "Neither one.", "neither one", True),
        (NUMBER, '{"value": 0.25}', 0.25, False),
        (NUMBER, '{"value": "0.25"}', 0.25, True),
        (NUMBER, "0.25", 0.25, True),
        (WHOLE, '{"value": 3}', 3.0, False),
        (LABEL, 'Maybe {"value": "for"}? no</think>\nagainst', "against", True),
        (LABEL, '[THINK]{"value": "for"}?[/THINK]{"value": "against"}', "against", True),
        (
            LABEL,
            '<|channel|>analysis<|message|>{"value": "for"}<|end|><|channel|>final<|message|>against',
            "against",
            True,
        ),
        (TEXT, '{"value": "a <think> mark"}', "a <think> mark", False),
    ],
)
def test_what_can_only_mean_one_thing_is_read(schema, reply, value, repaired):
    read = schema.read(reply)
    assert (read.value, read.repaired) == (value, repaired)


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        (TEXT, ""),
        (TEXT, "The text is about owls."),
        (TEXT, '{"value": "cut o'),
        (TEXT, '{"value": 3}'),
        (TEXT, '{"other": "owls"}'),
        (TEXT, '{"value": "a"} or {"value": "b"}'),
        (LABEL, '{"value": "perhaps"}'),
        (LABEL, "for or against"),
        (NUMBER, '{"value": 1.5}'),
        (NUMBER, '{"value": true}'),
        (NUMBER, '{"value": NaN}'),
        (NUMBER, "between 0.2 and 0.3"),
        (WHOLE, '{"value": 1.5}'),
        (TEXT, '<think>It could be {"value": "a sentence"}. Let me read'),
        (LABEL, '<think>If it were {"value": "for"} it would'),
        (NUMBER, '◁think▷{"value": 1} would mean'),
    ],
)
def test_what_could_mean_anything_is_malformed(schema, reply):
    with pytest.raises(Unreadable):
        schema.read(reply)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Owls hunt.", "Owls hunt."),
        ("The user wants an answer.</think>\n\nOwls hunt.", "Owls hunt."),
        ("[THINK]hm[/THINK]Owls hunt.", "Owls hunt."),
        ("<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>Owls hunt.", "Owls hunt."),
        ("<think>Okay, the user wants", None),
        ("[THINK]Okay", None),
        ("The paper puts <think> marks around it.", None),
        ("<|channel|>analysis<|message|>We need to", None),
    ],
)
def test_a_plain_text_is_read_without_thoughts(reply, value):
    if value is None:
        with pytest.raises(Unreadable):
            TEXT.read(reply, plain=True)
    else:
        assert TEXT.read(reply, plain=True).value == value


@pytest.mark.parametrize(
    ("schema", "reply", "value"),
    [
        (TEXT, "Owls hunt mi", None),
        (TEXT, 'The form is {"value": "a sentence"}. Now the paper says', None),
        (TEXT, '```json\n{"value": "owls"}\n```\nThis is because', "owls"),
        (TEXT, '{"value": "owls"}', "owls"),
        (NUMBER, "0.2", None),
        (LABEL, "against", "against"),
    ],
)
def test_a_reply_that_was_cut_off_is_read_where_its_value_is_whole(schema, reply, value):
    if value is None:
        with pytest.raises(Unreadable, match="cut off"):
            schema.read(reply, plain=True, cut=True)
    else:
        assert schema.read(reply, plain=True, cut=True).value == value


@given(
    st.text(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["value", "x"]), x, max_size=2),
        max_leaves=5,
    ).map(json.dumps)
)
def test_any_reply_gives_a_value_of_the_schema_or_none(reply):
    for schema in (TEXT, LABEL, NUMBER, WHOLE):
        try:
            value = schema.read(reply).value
        except Unreadable:
            continue
        if schema.kind == "text":
            assert isinstance(value, str)
            assert len(value) <= 20
        elif schema.kind == "label":
            assert value in schema.labels
        else:
            assert schema.minimum <= value <= schema.maximum


@given(st.sampled_from([LABEL, NUMBER, WHOLE, TEXT]), st.data())
def test_a_right_reply_is_never_repaired(schema, data):
    values = {
        "text": st.sampled_from(["", "owls", "a b c"]),
        "label": st.sampled_from(schema.labels or ("x",)),
        "number": st.integers(0, 1),
    }
    value = data.draw(values[schema.kind])
    read = schema.read(json.dumps({"value": value}))
    assert read.value == value
    assert not read.repaired


def test_a_prompt_file_is_read():
    prompt = LensPrompt.parse("owls", PROMPT)
    assert prompt.cues == ("owls at night",)
    system, user = prompt.messages('{"text": "{{rules}} stays as it is"}')
    assert "{{rules}} stays as it is" in user.content
    assert "a text of at most" in user.content
    fence = user.content.split("\n")[0]
    assert fence in system.content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('user = "{{paper}}', 'user = "{{papers}}'), "other placeholders"),
        (("{{paper}}", "it"), "other placeholders"),
        (('placeholders = ["paper", "rules", "answer"]', ""), "declares no list"),
        (("[schema]", "[scheme]"), "unknown key"),
        (('type = "string"', 'type = "list"'), "schema"),
        (('about = "what it says of owls"', "about = 3"), "about"),
        (('about = "what it says of owls"', 'reads = "title"'), "reads"),
        (('about = "what it says of owls"', "max_tokens = 1"), "max_tokens"),
        (('about = "what', "about = what"), "not valid TOML"),
    ],
)
def test_a_prompt_file_that_cannot_be_used_is_refused_and_said(change, said):
    with pytest.raises(UsageError) as error:
        LensPrompt.parse("owls", PROMPT.replace(*change))
    assert said in str(error.value)


def test_the_schema_of_a_file_comes_before_that_of_the_prompt():
    assert LensPrompt.parse("owls", PROMPT, {"enum": ["a", "b"]}).schema.kind == "label"


def test_what_a_value_depends_on_is_in_the_hash_and_the_rest_is_not():
    plain = LensPrompt.parse("owls", PROMPT)
    assert LensPrompt.parse("owls", PROMPT.replace("what it says", "other")).hash == plain.hash
    for old, new in (("You look", "You see"), ("What of", "Why"), ("[schema]", "reads = 1\n[schema]")):
        if new.startswith("reads"):
            changed = PROMPT.replace('about = "what it says of owls"', 'reads = "full"')
        else:
            changed = PROMPT.replace(old, new)
        assert LensPrompt.parse("owls", changed).hash != plain.hash
    assert LensPrompt.parse("owls", PROMPT, {"type": "string", "maxLength": 9}).hash != plain.hash


@pytest.mark.parametrize("name", BUILTIN_PROMPTS)
def test_prompts_of_ours_can_be_used(name):
    from aspectra.papers.paper import Paper

    prompt = LensPrompt.parse(name, builtin_text(name))
    assert prompt.about
    assert prompt.cues
    assert 0 < prompt.usual_tokens < prompt.max_tokens
    shown = show(Paper("x", "Owls", "They hunt."), prompt)
    assert shown is not None
    assert "They hunt." in prompt.messages(shown.text)[1].content
