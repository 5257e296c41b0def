"""Answers of a prompted lens: their JSON schema (a text, a label or a number), and the parsing of replies.

A model is asked for ``{"value": ...}``. Replies that are nearly that are repaired where only one reading is
possible, and counted; all others are malformed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from aspectra.base.errors import UsageError, refuse_unknown
from aspectra.llm.chat import object_schema

LENSES_KEY = "prompted_lenses"  # of a library's small table: the definitions of its prompted lenses

Value = str | float
Kind = Literal["text", "label", "number"]
_LONGEST = 4000  # characters of a text where the schema says nothing
_KEYS = {
    "text": ("type", "maxLength", "description"),
    "label": ("type", "enum", "description"),
    "number": ("type", "minimum", "maximum", "description"),
}
_OBJECT_FIRST = re.compile(r"(?:```\w*\s*)?\{")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


class Unreadable(ValueError):
    """A reply that gives no value; its text says why."""


class LensReply(Struct, frozen=True):
    """A value read from a reply.

    Attributes:
        value: a text ("" where there is nothing to see), a label or a number.
        repaired: whether the reply was not quite what was asked for.
    """

    value: Value
    repaired: bool = False


class ValueSchema(Struct, frozen=True):
    """The values of one lens.

    Attributes:
        kind: ``text``, ``label`` or ``number``.
        labels: of a label, in order.
        minimum, maximum: of a number, or None.
        longest: characters of a text; longer ones are cut at a word.
        whole: whether numbers are whole.
        description: of the value, for the model, or "".
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    longest: int = _LONGEST
    whole: bool = False
    description: str = ""

    @classmethod
    def parse(cls, schema: Any) -> ValueSchema:
        """Read a JSON schema of the value.

        Raises:
            UsageError: it is not of the three kinds, or contradicts itself.

        >>> ValueSchema.parse({"enum": ["yes", "no"]}).labels
        ('yes', 'no')
        """
        if not isinstance(schema, Mapping):
            raise _wrong("it is no JSON object")
        kind: Kind
        if "enum" in schema:
            kind = "label"
        elif schema.get("type") == "string":
            kind = "text"
        elif schema.get("type") in ("number", "integer"):
            kind = "number"
        else:
            raise _wrong(f"its type is {schema.get('type')!r}, and it has no enum")
        refuse_unknown(schema, _KEYS[kind], f"key in the schema of a {kind}")
        description = schema.get("description", "")
        if not isinstance(description, str):
            raise _wrong("its description is no text")
        if kind == "label":
            return cls(kind, _labels(schema), description=description)
        if kind == "text":
            longest = schema.get("maxLength", _LONGEST)
            if isinstance(longest, bool) or not isinstance(longest, int) or not 1 <= longest <= 100_000:
                raise _wrong(f"maxLength is {longest!r}, not a whole number from 1 to 100,000")
            return cls(kind, longest=longest, description=description)
        low, high = (_bound(schema, side) for side in ("minimum", "maximum"))
        if low is not None and high is not None and low >= high:
            raise _wrong(f"no number lies between {low:g} and {high:g}")
        whole = schema["type"] == "integer"
        return cls(kind, minimum=low, maximum=high, whole=whole, description=description)

    def to_dict(self) -> dict[str, Any]:
        """The JSON schema of the value; :meth:`parse` reads it back."""
        if self.kind == "label":
            out: dict[str, Any] = {"type": "string", "enum": list(self.labels)}
        elif self.kind == "text":
            out = {"type": "string", "maxLength": self.longest}
        else:
            kind = "integer" if self.whole else "number"
            out = {"type": kind, "minimum": self.minimum, "maximum": self.maximum}
        out["description"] = self.description or None
        return {key: value for key, value in out.items() if value is not None}

    def request_schema(self) -> dict[str, Any]:
        """The schema for requests to models: an object with one field."""
        return object_schema(value=self.to_dict())

    def in_words(self) -> str:
        """Describe the allowed values, for a prompt.

        >>> ValueSchema.parse({"type": "integer", "minimum": 0, "maximum": 3}).in_words()
        'a whole number from 0 to 3'
        """
        if self.kind == "label":
            return "one of " + ", ".join(json.dumps(label, ensure_ascii=False) for label in self.labels)
        if self.kind == "text":
            return f"a text of at most {self.longest:,} characters"
        low = "" if self.minimum is None else f" from {self.minimum:g}"
        high = "" if self.maximum is None else f" to {self.maximum:g}"
        return f"a {'whole ' if self.whole else ''}number{low}{high}"

    def read(self, reply: str, *, plain: bool = False, cut: bool = False) -> LensReply:
        """The value in a reply, behind what the model thinks aloud.

        Args:
            reply: of the model.
            plain: whether a text that is not JSON was asked for.
            cut: whether the reply ended at its limit; prose is then thoughts, or the start of a value.

        Raises:
            Unreadable: the reply holds no value, or several could be meant.
        """
        from aspectra.llm.prompts.conversation import without_thoughts  # a search reads schemas, no replies

        text = reply.strip()
        strict = text == reply
        whole = _json(text)
        if whole is None:
            text, strict = without_thoughts(text).strip(), False
            whole = _json(text)
            if whole is None and (not cut or _OBJECT_FIRST.match(text)):
                whole = _only_object(text)
        if not text:
            raise Unreadable("the reply is empty")
        if cut and self.kind != "label" and not isinstance(whole, dict):
            raise Unreadable("the reply was cut off at its limit")
        if isinstance(whole, dict):
            if "value" not in whole:
                raise Unreadable("the reply has no field value")
            found, strict = whole["value"], strict and len(whole) == 1
        elif whole is not None:
            found, strict = whole, False
        elif self.kind == "text" and plain:
            if not reply.rstrip().endswith(text):
                raise Unreadable("the reply ends with thinking aloud, or speaks of a mark of it")
            found = text
        elif self.kind == "text":
            raise Unreadable("the reply is no JSON")  # any prose could be the value, or talk about it
        else:
            found = text.strip(" .\"'`*")
        value, fits = self._fit(found)
        return LensReply(value, repaired=not (strict and fits))

    def _fit(self, found: Any) -> tuple[Value, bool]:
        """The value, and whether it was one without further ado."""
        if self.kind == "text":
            if found is None:
                return "", False
            if not isinstance(found, str):
                raise Unreadable("the value is no text")
            clean = " ".join(found.split())
            return _cut(clean, self.longest), len(clean) <= self.longest
        if self.kind == "label":
            if isinstance(found, str):
                if found in self.labels:
                    return found, True
                near = [label for label in self.labels if label.casefold() == found.strip().casefold()]
                if len(near) == 1:
                    return near[0], False
            raise Unreadable("the value is none of the labels")
        plain = isinstance(found, int | float) and not isinstance(found, bool)
        if not plain and not (isinstance(found, str) and _NUMBER.fullmatch(found.strip())):
            raise Unreadable("the value is no number")
        number = float(found)
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if not math.isfinite(number) or not low <= number <= high:
            raise Unreadable("the number is out of range")
        if self.whole and number != round(number):
            raise Unreadable("the number is not whole")
        return number, plain


def _labels(schema: Mapping[str, Any]) -> tuple[str, ...]:
    labels = schema["enum"]
    if (
        not isinstance(labels, list)
        or any(not isinstance(label, str) or not label.strip() or label != label.strip() for label in labels)
        or not 2 <= len(labels) <= 200
    ):
        raise _wrong("enum must list 2 to 200 labels, each a text without spaces at its ends")
    if len({label.casefold() for label in labels}) < len(labels):
        raise _wrong("two labels are the same but for capital letters")
    if schema.get("type", "string") != "string":
        raise _wrong("the type of labels is string")
    return tuple(labels)


def _bound(schema: Mapping[str, Any], side: str) -> float | None:
    value = schema.get(side)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(f"{side} is {value!r}, not a number")
    return float(value)


def _wrong(why: str) -> UsageError:
    return UsageError(
        "the schema of a lens cannot be used",
        why=why,
        hint='write {"type": "string"}, {"enum": ["yes", "no"]} or {"type": "number", "minimum": 0}',
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _only_object(text: str) -> dict[str, Any] | None:
    """The one JSON object with a value inside other text; None without one, or with two different ones."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0 and len(found) < 8:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and "value" in value and value not in found:
            found.append(value)
        at = text.find("{", end)
    return found[0] if len(found) == 1 else None


def _cut(text: str, longest: int) -> str:
    """The start of a text, whole words."""
    if len(text) <= longest:
        return text
    return text[: longest + 1].rpartition(" ")[0] or text[:longest]
