"""A language model as a second reader of requests, beside the rules (the setting ``read.with``).

It fills in the same conditions, each with words of the text; one whose words are not there counts for
nothing. What only the model reads is applied under its name, unless those words are all that would be
searched for. Where both read the same words in two ways the rules' condition stays, and the model's is
offered. What the rules alone read stays.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from time import monotonic

import msgspec

from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.values import replace
from aspectra.llm import loops
from aspectra.llm.budget import Cost
from aspectra.llm.chat import ChatModel, Reply, Request, object_schema
from aspectra.llm.prompts.conversation import without_thoughts
from aspectra.search.conditions.condition import Condition
from aspectra.search.instructions.reading import OUTER, Reading, read_instruction
from aspectra.search.query import Unread
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.question import Question
from aspectra.search.rerank.shown_texts import Prompt, ShownTexts, TextBudget

_ITEM = object_schema(words={"type": "string"}, condition={"type": "string"})
_SCHEMA = object_schema(requests={"type": "array", "items": _ITEM})
_OBJECT = re.compile(r"\{[^{}]*+\}")
_EMPTY = re.compile(r'"requests"\s*+:\s*+\[\s*+\]')
_BOUND = re.compile(r"(?<=\w)\s*+(?=[<>])")  # "year>=2020"
_MOST = 32  # conditions that are read from one reply
_KEPT = 500  # texts whose reading is remembered
_FORGOTTEN = 60.0  # seconds until a text is asked about again after a failure


@dataclass(frozen=True, slots=True)
class ModelReading:
    """Requests that a model read in a text.

    Attributes:
        by: its name; with a word where it is simulated.
        items: (words, condition), as it wrote them.
        failed: the reason without any, or "".
        until: when a failure is forgotten, on the clock of ``monotonic``.
    """

    by: str
    items: tuple[tuple[str, str], ...] = ()
    failed: str = ""
    until: float = inf


@dataclass
class ModelReader:
    """Reads texts with a language model.

    A text is asked about once: what was answered is remembered, the newest 500 texts; a failure for a minute.

    Args:
        opening: opens the model for one question.
        spent: is told what each question cost, and the model's name.
    """

    opening: Callable[[], AbstractContextManager[ChatModel]]
    spent: Callable[[Cost, str], None] = lambda cost, name: None
    _known: OrderedDict[str, ModelReading] = field(default_factory=OrderedDict)

    def __call__(self, text: str, rules: Reading) -> Reading:
        """The reading of a text by both.

        Args:
            text: that was read.
            rules: what the rules read in it.
        """
        told = self._known.get(text)
        if told is None or told.until < monotonic():
            self._known[text] = told = self._asked(text)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        if told.failed:
            why = f"the model did not read it, the rules alone did: {told.failed}"
            return replace(rules, unread=(*rules.unread, Unread(text[:60].strip(), why, searched=True)))
        return read_by_both(text, rules, told)

    def _asked(self, text: str) -> ModelReading:
        try:
            with self.opening() as model:
                return self._answer(text, model)
        except AspectraError as error:
            return _failed(error)

    def _answer(self, text: str, model: ChatModel) -> ModelReading:
        prompt = Prompt.load("requests", package=__package__ or "")
        shown = ShownTexts(Question(text), TextBudget())
        asker = Asker(model, shown, concurrency=1)

        def usable(reply: Reply) -> bool:
            return items_in(reply.text, prompt) is not None

        def build(share: float) -> Request:
            return prompt.request(shown.values([], [], share), max_tokens=600, schema=_SCHEMA)

        reply = loops.run(asker.ask(build, usable))
        self.spent(asker.cost, model.name)
        items = None if reply is None else items_in(reply.text, prompt)
        if items is None:
            return _failed(asker.last_error or "its answer could not be read")
        return ModelReading(f"{model.name} (simulated)" if asker.simulated else model.name, items)


def _failed(why: object) -> ModelReading:
    return ModelReading("", failed=str(why), until=monotonic() + _FORGOTTEN)


def items_in(text: str, prompt: Prompt) -> tuple[tuple[str, str], ...] | None:
    """(words, condition) of each request in a reply; None where it answers nothing.

    A list that was cut off gives its complete items. Items that repeat the prompt are left out.
    """
    said, found = without_thoughts(text), []
    for one in _OBJECT.findall(said):
        try:
            held = json.loads(one)
        except (ValueError, RecursionError):
            continue
        words, condition = held.get("words"), held.get("condition")
        if isinstance(words, str) and isinstance(condition, str) and not prompt.talk.repeats(words):
            found.append((words, condition))
    return tuple(found[:_MOST]) if found or _EMPTY.search(said) else None


def read_by_both(text: str, rules: Reading, told: ModelReading) -> Reading:
    """The rules' reading with what a model read.

    Args:
        text: that was read.
        rules: what the rules read in it.
        told: what the model read.
    """
    conditions, unread, topic = list(rules.conditions), list(rules.unread), rules.topic
    had = {(c.attribute, c.value): c for c in rules.conditions}
    for written, spelled in told.items:
        place = _place(text, written.strip(OUTER))
        if place is None:
            continue
        words = text[slice(*place)]
        condition = _condition(spelled, words)
        if condition is None:
            if not any(_overlap(text, words, c.words) for c in conditions):
                why = f"{told.by} reads “{spelled[:80]}” in it, which is no condition"
                unread = [*_without(text, unread, words), Unread(words, why, searched=words in topic)]
            continue
        known = had.get((condition.attribute, condition.value))
        if known is not None and known.relation == condition.relation:
            continue
        left = _left(topic, words)
        if known is not None or any(_overlap(text, words, c.words) for c in rules.conditions):
            why = f"{told.by} reads {condition.spelling} in it"
            unread.append(Unread(words, why, instead=condition.spelling))
        elif not left and topic:
            why = f"{told.by} reads {condition.spelling} in it, and nothing else would be searched for"
            unread.append(Unread(words, why, searched=True, instead=condition.spelling))
        else:
            had[condition.attribute, condition.value] = condition
            conditions.append(msgspec.structs.replace(condition, by=told.by))
            unread, topic = _without(text, unread, words), left
    return replace(rules, conditions=tuple(conditions), unread=tuple(unread), topic=topic)


def _condition(spelled: str, words: str) -> Condition | None:
    """A condition as a model spelled it; if that is not valid, the rules' reading of its words."""
    spelled = spelled.strip()
    if "=" not in spelled.replace(">=", "").replace("<=", ""):
        spelled = _BOUND.sub("=", spelled, count=1)
    try:
        return msgspec.structs.replace(Condition.parse(spelled), words=words)
    except UsageError:
        pass
    relation, _, rest = spelled.partition(" ")
    attribute = rest.partition("=")[0].strip()
    for read in read_instruction(words, whole_query=False).conditions:
        if read.attribute == attribute and relation in ("require", "exclude", "prefer", "avoid"):
            return msgspec.structs.replace(read, relation=relation, words=words)
    return None


def _left(topic: str, words: str) -> str:
    """The topic without some words."""
    if (place := _place(topic, words)) is None:
        return topic
    return f"{topic[: place[0]].rstrip(OUTER)} {topic[place[1] :].lstrip(OUTER)}".strip()


def _place(text: str, words: str) -> tuple[int, int] | None:
    """(start, end) of words in a text, ignoring case and spacing; None if they are absent or empty."""
    found = re.search(r"\s+".join(map(re.escape, words.split())), text, re.IGNORECASE)
    return found.span() if found and words else None


def _overlap(text: str, words: str, others: str) -> bool:
    """True if two parts of a text overlap."""
    one, other = _place(text, words), _place(text, others)
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _without(text: str, unread: list[Unread], words: str) -> list[Unread]:
    """Requests that were not read, without those of which some words were read after all."""
    return [one for one in unread if not _overlap(text, words, one.words)]
