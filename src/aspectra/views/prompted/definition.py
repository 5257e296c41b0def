"""The prompted lenses of a library: which there are, what their values depend on, and where these are.

A definition is kept inside the library with the whole text of its prompt, so that a lens means the same for
as long as the library says so, whatever becomes of the file it was read from. Values belong to a
*fingerprint* of prompt, schema and model; where one of them changes, the old values stay in the database
and are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from aspectra.base.errors import LibraryCorrupt, UsageError
from aspectra.base.files import digest, digest_texts
from aspectra.base.values import converted, replace
from aspectra.llm.chat import Message
from aspectra.llm.prompts.conversation import CONVERSATION_KEYS, Conversation, fill, parse_prompt, read_prompt
from aspectra.papers.library.derived import Arrays, Producer, Stored
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import Parts
from aspectra.papers.library.shards import SPAN
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lenses.protocol import LENSES, optional_lenses
from aspectra.views.prompted.schema import LENSES_KEY, LensReply, Unreadable, Value, ValueSchema

# Prompt files of lenses: TOML with declared placeholders, hashed into what was computed with them.
#
# A prompt file says::
#
#     about = "what the lens computes, in a few words"
#     cues = ["words of a query", "that ask for it"]
#     placeholders = ["paper", "rules", "answer"]
#     system = "... {{rules}}"
#     user = "... {{paper}} ... {{answer}}"
#
#     [schema]                # of the value, as JSON schema; or in a file of its own
#     type = "string"
#     maxLength = 400
#
# Turns, own names and forms of a reply are as in :mod:`aspectra.llm.prompts.conversation`; ``{{title}}``
# and ``{{text}}`` are the paper without fences. Optional are ``reads`` (``abstract``, the default, or
# ``full``), ``most_characters`` of a paper that are shown (6,000 with ``abstract``, else the whole paper),
# ``max_tokens`` of an answer, and ``usual_tokens``, what an answer has as a rule, for the estimate before
# there is anything to measure.

_KNOWN = ("answer", "paper", "rules", "text", "title")
_KEYS = (
    "about",
    "cues",
    "most_characters",
    "reads",
    "schema",
    "usual_tokens",
    *CONVERSATION_KEYS,
)
_HERE = files("aspectra.views.prompted") / "prompts"
BUILTIN_PROMPTS = tuple(sorted(f.name[:-5] for f in _HERE.iterdir() if f.name.endswith(".toml")))
MOST_CHARACTERS = 1_000_000  # that a file can say; a larger number stands for the whole paper
_NUMBERS = {
    "most_characters": (6000, 100, MOST_CHARACTERS),
    "max_tokens": (256, 8, 32_000),
    "usual_tokens": (0, 0, 32_000),
}


@dataclass(frozen=True)
class LensPrompt:
    """A prompt and what belongs to it.

    Attributes:
        name: of the lens.
        talk: its turns, and how it wants its reply.
        schema: of the value.
        about: what the lens computes, for people.
        cues: words of a query that ask for this lens, in lower case.
        reads: ``abstract`` (title, and abstract or lead) or ``full`` (the sections too).
        most_characters: of a paper that are shown; more is cut, and counted.
        max_tokens: of an answer.
        usual_tokens: that an answer has as a rule; 0 where nobody said.
        thinking: tokens that a reasoning model may spend before it answers.
    """

    name: str
    talk: Conversation
    schema: ValueSchema
    about: str = ""
    cues: tuple[str, ...] = ()
    reads: str = "abstract"
    most_characters: int = 6000
    max_tokens: int = 256
    usual_tokens: int = 0
    thinking: int = 0

    @property
    def stamp(self) -> str:
        """Name and hash, as in ``stance/3f2a90c1``: what asks or answers otherwise has another stamp."""
        return f"{self.name}/{self.hash[:8]}"

    @property
    def hash(self) -> str:
        """Hash of everything that a value depends on; cues and the room for thinking are left out."""
        shown = [*(turn.text for turn in self.talk.turns), self.reads, self.most_characters, self.max_tokens]
        said = [common(name) for name in ("answer", "correction", "rules")]
        return digest([*shown, *said, self.schema.to_dict(), *filter(None, [self.talk.own])])

    def messages(
        self, paper: str, salt: str = "", plain: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[Message, ...]:
        """The turns about one paper.

        Args:
            paper: its text, fenced by a hash of itself, which nobody can write into it.
            salt: goes into that hash, so that another one makes other messages.
            plain: its title and its text, for prompts that show them without a fence.
        """
        fence = "===" + digest_texts([salt, paper] if salt else [paper])[:20]
        values = {
            "paper": f"{fence}\n{paper}\n{fence}",
            "rules": fill(common("rules"), {"fence": fence}),
            "answer": fill(common("answer"), {"values": self.schema.in_words()}),
        }
        return self.talk.messages({**values, **plain})

    def read(self, reply: str, *, cut: bool = False) -> LensReply:
        """The value in a reply; ``cut`` if it ended at its limit.

        Raises:
            Unreadable: there is none, or more than one could be meant.
        """
        found = self.schema.read(reply, plain=self.talk.reply == "text", cut=cut)
        if self.schema.kind == "text" and (
            self.talk.repeats(str(found.value)) or found.value == self.schema.in_words()
        ):
            raise Unreadable("the value repeats the prompt")
        return found

    @classmethod
    def parse(cls, name: str, text: str, schema: Any = None) -> LensPrompt:
        """Read the text of a prompt file.

        Args:
            name: of the lens.
            text: TOML.
            schema: JSON schema of the value from a file of its own, which comes before the prompt's.

        Raises:
            UsageError: not TOML, unknown keys, placeholders that differ from the declared ones, no place for
                the paper, or a schema that cannot be used.
        """
        what = f"the prompt of the lens {name!r}"
        data = parse_prompt(what, text, _KEYS)
        talk = Conversation.parse(what, {"placeholders": None, "system": "", **data})
        if unknown := sorted(set(talk.places) - set(_KNOWN)):
            raise _wrong(name, f"nobody fills {', '.join(unknown)}; known: {', '.join(_KNOWN)}")
        if not {"paper", "text"} & set(talk.places):
            raise _wrong(name, "it has no place for the paper", "write {{paper}} where its text belongs")
        given = data.get("schema") if schema is None else schema
        if given is None:
            raise _wrong(
                name, "it says nothing about the value", "add a [schema] table, or give --schema FILE"
            )
        about, cues, reads = data.get("about", ""), data.get("cues", []), data.get("reads", "abstract")
        if (
            not isinstance(about, str)
            or not isinstance(cues, list)
            or not all(isinstance(c, str) for c in cues)
        ):
            raise _wrong(name, "about must be a text and cues a list of texts")
        if reads not in ("abstract", "full"):
            raise _wrong(name, f"reads is {reads!r}; it must be abstract or full")
        numbers = {key: _number(name, data, key) for key in _NUMBERS}
        if reads == "full" and "most_characters" not in data:
            numbers["most_characters"] = MOST_CHARACTERS + 1
        return cls(
            name,
            talk,
            ValueSchema.parse(given),
            " ".join(about.split()),
            tuple(" ".join(cue.casefold().split()) for cue in cues if cue.strip()),
            reads,
            **numbers,
        )


def _number(name: str, data: Mapping[str, Any], key: str) -> int:
    plain, low, high = _NUMBERS[key]
    value = data.get(key, plain)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _wrong(name, f"{key} is {value!r}, not a whole number from {low:,} to {high:,}")
    return value


def _wrong(name: str, why: str, hint: str = "docs/lenses.md shows a whole prompt file") -> UsageError:
    return UsageError(f"the prompt of the lens {name!r} cannot be used", why=why, hint=hint)


@cache
def common(name: str) -> str:
    """Text that all lenses share: ``answer``, ``correction`` or ``rules``, on one line."""
    return " ".join((_HERE / f"{name}.txt").read_text("utf-8").split())


def builtin_text(name: str) -> str:
    """The text of a prompt file of ours.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in BUILTIN_PROMPTS:
        raise UsageError(
            f"there is no built-in prompt for a lens {name!r}",
            why="built in: " + ", ".join(BUILTIN_PROMPTS),
            hint=f"aspectra lens add {name} --prompt FILE",
        )
    return (_HERE / f"{name}.toml").read_text("utf-8")


_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
# What conditions of other kinds are called; a lens of that name could not be told from them.
_TAKEN = frozenset({"author", "keyword", "venue", "year"})


def check_name(name: str) -> str:
    """Return a lens name as it is stored: hyphens become underscores, so that a condition can use it.

    Raises:
        UsageError: the name is not allowed, or is already taken.

    >>> check_name("failure-mode")
    'failure_mode'
    """
    plain = name.strip().replace("-", "_")
    if not _NAME.fullmatch(plain):
        raise UsageError(
            f"a lens cannot be called {name!r}",
            why="names begin with a small letter and go on with small letters, digits and _, 40 at most",
        )
    if plain in LENSES or plain in _TAKEN:
        raise UsageError(
            f"a lens cannot be called {plain!r}",
            why="something else is called so",
            hint="choose another name",
        )
    return plain


@dataclass(frozen=True)
class PromptedLens:
    """One lens of a library.

    Attributes:
        name: of the lens.
        text: of its prompt file.
        schema: JSON schema of the value from a file of its own, or None where the prompt holds it.
        path: of the file it was read from, "" for a prompt of ours.
        model: the journal's name of the model that computes it; "" before the first run.
        thinking: tokens that a reasoning model may spend before it answers; values do not depend on it.
        expected: in a shard, papers of the collection have values: it is indexed even if none here has one.
    """

    name: str
    text: str
    schema: Mapping[str, Any] | None = None
    path: str = ""
    model: str = ""
    thinking: int = 0
    expected: bool = False

    @cached_property
    def prompt(self) -> LensPrompt:
        """The prompt, parsed.

        Raises:
            UsageError: it cannot be used.
        """
        return replace(LensPrompt.parse(self.name, self.text, self.schema), thinking=self.thinking)

    @property
    def fingerprint(self) -> str:
        """Digest of what values depend on: prompt, schema and model."""
        return digest_texts([self.prompt.hash, self.model])[:16]

    def with_model(self, model: str) -> PromptedLens:
        """The same lens computed by another model: with other values."""
        return replace(self, model=model)

    @property
    def drift(self) -> str:
        """Message that the source of the prompt has changed since or is gone; "" if it has not changed."""
        try:
            now = read_prompt(Path(self.path)) if self.path else builtin_text(self.name)
        except UsageError:
            return f"its prompt file {self.path} is gone; the library keeps what it said" if self.path else ""
        if now == self.text:
            return ""
        where = f"its prompt file {self.path}" if self.path else "the prompt that comes with Aspectra"
        return f"{where} says something else by now; the library keeps what it said"


def definitions(library: Store) -> dict[str, PromptedLens]:
    """Name -> lens, in the order in which they were added.

    Only the fields of a lens are read: a library cannot name a model's address or key.

    Raises:
        LibraryCorrupt: the library does not hold a list of lenses, or one has an impossible name.
    """
    raw = library.meta(LENSES_KEY)
    if not raw:
        return {}
    try:
        lenses = converted(json.loads(raw), list[PromptedLens])
    except (ValueError, RecursionError) as error:
        raise LibraryCorrupt("the library's list of lenses cannot be read", why=str(error)) from error
    for lens in lenses:
        if not _NAME.fullmatch(lens.name):  # names of files are made of it
            raise LibraryCorrupt(
                "the library's list of lenses cannot be read", why=f"{lens.name!r} is no name"
            )
    return {lens.name: lens for lens in lenses}


def usable(library: Store) -> dict[str, PromptedLens]:
    """The lenses whose prompt can be used; of the others ``aspectra lens status`` says what is wrong."""
    out = {}
    for name, lens in definitions(library).items():
        try:
            lens.prompt  # noqa: B018 (parsing is the question)
        except UsageError:
            continue
        out[name] = lens
    return out


def definition(library: Store, name: str) -> PromptedLens:
    """One lens.

    Raises:
        UsageError: the library has none of that name.
    """
    known = definitions(library)
    plain = name.strip().replace("-", "_")
    if plain in LENSES:
        raise UsageError(
            f"the lens {plain} is local",
            why="it needs no model, and is applied by aspectra index",
            hint=f"aspectra lens add {plain}, then aspectra index"
            if plain in optional_lenses()
            else "aspectra index",
        )
    if plain not in known:
        ours = f"; built in: {', '.join(BUILTIN_PROMPTS)}"
        raise UsageError(
            f"the library has no prompted lens {name!r}",
            why=("it has " + ", ".join(known) if known else "it has none") + ours,
            hint=f"aspectra lens add {plain}",
        )
    return known[plain]


def define(library: Store, writer: Writer, lens: PromptedLens) -> None:
    """Add a lens, or put it in the place of the one of the same name."""
    _keep(writer, {**definitions(library), lens.name: lens})


def undefine(library: Store, writer: Writer, name: str) -> None:
    """Take a lens out of the library's list; its values stay until they are removed."""
    _keep(writer, {key: lens for key, lens in definitions(library).items() if key != name})


def _keep(writer: Writer, lenses: Mapping[str, PromptedLens]) -> None:
    writer.set_meta(LENSES_KEY, _dumps(lenses.values()))


def _dumps(lenses: Iterable[PromptedLens]) -> str:
    return json.dumps([asdict(lens) for lens in lenses], ensure_ascii=False)


def share_definitions(library: Store) -> None:
    """Write the lenses of a collection into its shards, where they differ.

    Raises:
        LibraryBusy: another process is writing into a shard.
    """
    known = usable(library)
    lenses = [
        replace(lens, expected=name in known and _has_values(library, lens))
        for name, lens in definitions(library).items()
    ]
    text = _dumps(lenses)
    for shard in library.shards.values():
        if (shard.meta(LENSES_KEY) or _dumps([])) != text:
            with shard.writing("lens") as writer:
                writer.set_meta(LENSES_KEY, text)


def _has_values(library: Store, lens: PromptedLens) -> bool:
    stored = library.derived.items(values_of(lens))
    return any(LensAnswer.unpack(value).value is not None for _, value in stored)


# Values of prompted lenses in ``library.db``, one for each text and fingerprint.


@dataclass(frozen=True, slots=True)
class LensAnswer:
    """Result of a lens for one paper.

    Attributes:
        value: a text, a label or a number; None if the model gave none.
        failure: the reason why there is no value, or "".
        calls: answers that it took.
        asked: tokens of the questions.
        answered: tokens of the answers.
        malformed: of the answers, those that gave no value.
        repaired: whether the value's own answer was not quite what was asked for.
        cut: whether the paper was longer than what was shown of it.
        thumb: tokens of the first question by the rule of thumb, which an estimate is made with.
        simulated: whether no language model was asked.
    """

    value: Value | None
    failure: str = ""
    calls: int = 1
    asked: int = 0
    answered: int = 0
    malformed: int = 0
    repaired: bool = False
    cut: bool = False
    thumb: int = 0
    simulated: bool = False

    def pack(self) -> Arrays:
        """The stored form: JSON without the default values, as an array of bytes."""
        plain = asdict(LensAnswer(None))
        kept = {key: value for key, value in asdict(self).items() if key == "value" or value != plain[key]}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        return [np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)]

    @classmethod
    def unpack(cls, arrays: Arrays) -> LensAnswer:
        """Inverse of :meth:`pack`.

        Raises:
            LibraryCorrupt: the arrays do not hold a result.
        """
        try:
            return cls(**json.loads(arrays[0].tobytes().decode("utf-8", "surrogatepass")))
        except (ValueError, TypeError) as error:
            raise LibraryCorrupt("a value of a prompted lens cannot be read", why=str(error)) from error


def values_of(lens: PromptedLens) -> Producer:
    """Values: a :class:`LensAnswer` as one array of bytes, stored by what the prompt shows of a paper."""
    reads = "sections" if lens.prompt.reads == "full" else "fallback"
    return Producer(f"prompted:{lens.name}", lens.fingerprint, ("text", reads))


def vectors_of(lens: PromptedLens, encoder: Encoder) -> Producer:
    """Values: (dimensions,) float32 of a lens's text; number of cut texts. Keys end with the text's hash."""
    return Producer(f"prompted-vectors:{lens.name}", encoder.fingerprint, values_of(lens).reads)


def readings(library: Store, lens: PromptedLens) -> Iterator[tuple[Stored, LensAnswer | None]]:
    """(paper with position, id and key; its result, or None if no model was called), in order."""
    for stored in library.derived.stream(values_of(lens)):
        yield stored, None if stored.value is None else LensAnswer.unpack(stored.value)


class PendingText(NamedTuple):
    """A text without a value.

    Attributes:
        key: under which its value is to be stored.
        before: the failed result of earlier runs, or None.
        places: of a paper with this text; in a collection, of one in each shard that lacks the value.
    """

    key: str
    before: LensAnswer | None
    places: list[int]


def pending_texts(
    library: Store, lens: PromptedLens, *, failed: bool = False, spread: bool = False
) -> dict[int, PendingText]:
    """Position of one paper for each text without a value -> the text.

    Args:
        library: whose papers are looked at.
        lens: whose values are missing.
        failed: those without a value in an earlier run too.
        spread: in an order that has nothing to do with the library's: the first are a fair sample.
    """
    waiting: dict[str, PendingText] = {}
    for (pos, _, key, _), reading in readings(library, lens):
        if reading is None or (failed and reading.value is None):
            places = waiting.setdefault(key, PendingText(key, reading, [])).places
            if not places or places[-1] // SPAN != pos // SPAN:
                places.append(pos)
    order = sorted(waiting) if spread else waiting
    return {waiting[key].places[0]: waiting[key] for key in order}


def papers_at(
    library: Store, lens: PromptedLens, positions: Sequence[int], ahead: int = 256
) -> Iterator[tuple[int, Paper]]:
    """(position, paper) at these positions, in this order, with what the lens reads of them.

    Papers are read ``ahead`` at a time, so that memory does not grow with the library; one that was removed
    meanwhile is left out.
    """
    parts: Parts = "sections" if lens.prompt.reads == "full" else "lead"
    for start in range(0, len(positions), ahead):
        block = positions[start : start + ahead]
        found = library.papers_at(block, parts)
        yield from ((pos, found[pos]) for pos in block if pos in found)


@dataclass
class LensTally:
    """Counts of the values of a lens so far.

    Attributes:
        papers: in the library.
        values: papers with a value; of text lenses also those with nothing to see.
        empty: of those, texts that say that there is nothing to see.
        failed: papers that the model gave no value for.
        failures: reason -> papers.
        calls, asked, answered: what all that took, in answers and tokens.
        thumb: tokens of the first questions by the rule of thumb.
        malformed: answers that gave no value.
        repaired: values whose answer was not quite what was asked for.
        cut: papers longer than what was shown of them.
        simulated: values that come from no language model.
        old: values of an earlier prompt, schema or model, which are not used.
    """

    papers: int = 0
    values: int = 0
    empty: int = 0
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    asked: int = 0
    answered: int = 0
    thumb: int = 0
    malformed: int = 0
    repaired: int = 0
    cut: int = 0
    simulated: int = 0
    old: int = 0

    @property
    def missing(self) -> int:
        """Papers that were never asked about."""
        return self.papers - self.values - self.failed

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**asdict(self), "missing": self.missing}


def tally(library: Store, lens: PromptedLens) -> LensTally:
    """Count what a lens has."""
    out = LensTally(old=library.derived.superseded(values_of(lens)))
    for _, reading in readings(library, lens):
        out.papers += 1
        if reading is None:
            continue
        if reading.value is None:
            out.failed += 1
            out.failures[reading.failure] = out.failures.get(reading.failure, 0) + 1
        else:
            out.values += 1
            out.empty += reading.value == ""
        out.calls += reading.calls
        out.asked += reading.asked
        out.answered += reading.answered
        out.thumb += reading.thumb
        out.malformed += reading.malformed
        out.repaired += reading.repaired
        out.cut += reading.cut
        out.simulated += reading.simulated
    return out


def state(library: Store, lens: PromptedLens) -> str:
    """Changes whenever the lens's values do: what an index depends on."""
    return f"{lens.name}/{lens.fingerprint}/{library.derived.state(values_of(lens))}"


def reading_of(library: Store, name: str, values: str, paper_id: str) -> LensAnswer | None:
    """Result of a lens for one paper; None if no model was called.

    Args:
        library: the library with the values.
        name: of the lens.
        values: fingerprint of the values: those that a generation was built from, or of the lens.
        paper_id: of the paper.
    """
    value = library.derived.of(f"prompted:{name}", values, paper_id)
    return None if value is None else LensAnswer.unpack(value)


def text_of_paper(library: Store, name: str, values: str, paper_id: str) -> str:
    """The value of a text lens for a paper, or ""; arguments as in :func:`reading_of`."""
    found = reading_of(library, name, values, paper_id)
    return "" if found is None else str(found.value or "")


def forget(library: Store, *producers: str) -> None:
    """Remove every value of these producers, of all their versions.

    Args:
        library: with its shards, where it has any.
        producers: their names.
    """
    for one in library.shards.values() or [library]:
        with one.writing("lens") as writer:
            for name in producers:
                writer.derived.drop(name)


def forget_lens(library: Store, name: str) -> None:
    """Remove every value of a lens, of this prompt and of earlier ones, with the vectors made from them."""
    forget(library, f"prompted:{name}", f"prompted-vectors:{name}")
