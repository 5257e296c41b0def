"""Steps of construction: their declarations, their means, and the benchmark under way.

To add a step, write one module in ``lab/construction/steps`` with a function ``NAME(made, bench, options) ->
Made`` decorated with ``@step``, whose docstring begins with what the step does; its options are a
:class:`~aspectra.base.values.Value`, whose fields a recipe or ``--option`` names. A step changes no library,
draws by :meth:`Workbench.drawn` alone, and reports what it drops, so that a build repeats to the byte.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from aspectra.base.errors import BadInput, UsageError, did_you_mean, refuse_unknown, unknown_name
from aspectra.base.files import digest, digest_texts
from aspectra.base.registry import Registry
from aspectra.base.values import Value, replace
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.runs.rows import Row
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.text.cleaning import folded

# What a benchmark under construction holds, and its form on disk: lines of JSON.

Judged = Mapping[str, Mapping[str, int]]  # query -> document -> grade


class QueryDraft(Value, frozen=True):
    """A query that is being made.

    Attributes:
        id: unique in the set.
        text: the query, or "" where the seed alone is one.
        seed: id of the paper that it starts from, or "".
        aspect: the aspect that is asked for, or "".
        instructions: mode (``instructed``, ``reversed``) -> what is added to the text.
        labels: name -> values, for breaking results down.
        context: what the text was or will be made from; it is in no layout.
        source: where the text came from: ``library``, ``template``, or the name of a language model.
    """

    id: str
    text: str = ""
    seed: str = ""
    aspect: str = ""
    instructions: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    labels: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it for each value
    context: str = ""
    source: str = "library"


class MadeText(Value, frozen=True):
    """A document that is not a paper of the library, or whose text was changed.

    Attributes:
        id: of the document; of the library's paper whose text was changed.
        title, text: of the document; ``text`` is its abstract.
        sections: title and text of each.
        origin: ``changed`` (something was taken out), ``title`` (a cited work of which only that is known),
            or the name of the language model that wrote it.
        removed: what was taken out, as words that say where.
    """

    id: str
    title: str = ""
    text: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    origin: str = "changed"
    removed: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        """True if a language model wrote it."""
        return self.origin not in ("changed", "title")

    @classmethod
    def of_title(cls, title: str) -> MadeText | None:
        """A cited work of which only the title is known; None without words."""
        key = normalise_title(title)
        return cls(f"title:{digest_texts([key])[:12]}", title, origin="title") if key else None


@dataclass(frozen=True)
class Made:
    """A benchmark under construction, as one step hands it to the next.

    Attributes:
        corpus: ids of the documents, in order; those in ``texts`` have the texts that are there.
        drafts: the queries.
        qrels: judgement set -> query -> document -> grade; ``gold``, or one for each mode of instructions.
        excluded: query -> documents that are dropped from its ranking.
        texts: documents whose text is not the library's own, and query papers that were changed.
        facts: what steps report: name -> JSON value.
    """

    corpus: tuple[str, ...] = ()
    drafts: tuple[QueryDraft, ...] = ()
    qrels: Mapping[str, Judged] = field(default_factory=dict)
    excluded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, MadeText] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """One JSON object a line, in an order that depends on the content alone."""
        yield _line("corpus", list(self.corpus))
        for draft in sorted(self.drafts, key=lambda one: one.id):
            yield _line("draft", draft.to_dict())
        for name, grades in sorted(self.qrels.items()):
            for query, documents in sorted(grades.items()):
                yield _line("judged", [name, query, dict(sorted(documents.items()))])
        for query, ids in sorted(self.excluded.items()):
            yield _line("excluded", [query, sorted(ids)])
        for _, text in sorted(self.texts.items()):
            yield _line("text", text.to_dict())
        for name, value in sorted(self.facts.items()):
            yield _line("fact", [name, value])

    @classmethod
    def of_lines(cls, lines: Iterable[str | bytes], place: str = "") -> Made:
        """Inverse of :meth:`lines`.

        Raises:
            BadInput: a line is damaged; ``place`` names the file.
        """
        corpus: tuple[str, ...] = ()
        drafts: list[QueryDraft] = []
        qrels: dict[str, dict[str, dict[str, int]]] = {}
        excluded: dict[str, tuple[str, ...]] = {}
        texts: dict[str, MadeText] = {}
        facts: dict[str, Any] = {}
        for number, line in enumerate(lines, 1):
            try:
                kind, value = json.loads(line)
                if kind == "corpus":
                    corpus = tuple(value)
                elif kind == "draft":
                    drafts.append(QueryDraft.from_dict(value))
                elif kind == "judged":
                    name, query, documents = value
                    qrels.setdefault(name, {})[query] = documents
                elif kind == "excluded":
                    excluded[value[0]] = tuple(value[1])
                elif kind == "text":
                    texts[value["id"]] = MadeText.from_dict(value)
                else:
                    facts[value[0]] = value[1]
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise BadInput(
                    f"line {number} of {place or 'a step'} is damaged",
                    why=str(error),
                    hint="remove that file; the step is made again",
                ) from error
        return cls(corpus, tuple(drafts), qrels, excluded, texts, facts)

    @property
    def plainly(self) -> Judged:
        """The judgements of questions without an instruction."""
        return self.qrels.get("gold") or self.qrels.get("original", {})

    @property
    def judged(self) -> set[str]:
        """The documents that have a grade for any query."""
        return {doc for held in self.qrels.values() for grades in held.values() for doc in grades}

    def relevant(self) -> dict[str, list[str]]:
        """Query -> documents that are relevant to it, under its instruction where it has one."""
        return {
            query: [document for document, grade in grades.items() if grade > 0]
            for name in ("gold", "instructed")
            for query, grades in self.qrels.get(name, {}).items()
        }

    def asking(self, pairs: Iterable[tuple[QueryDraft, Mapping[str, int]]], **more: Any) -> Made:
        """The set with other queries, each with the grades of its documents; ``more`` are further fields."""
        held = list(pairs)
        gold = {draft.id: grades for draft, grades in held}
        return replace(self, drafts=tuple(draft for draft, _ in held), qrels={"gold": gold}, **more)

    def of_queries(self, kept: Iterable[QueryDraft]) -> Made:
        """The set with these queries alone, and the judgements, exclusions and changes for them."""
        drafts = tuple(kept)
        names = {draft.id for draft in drafts}
        qrels = {
            name: {query: grades for query, grades in judged.items() if query in names}
            for name, judged in self.qrels.items()
        }
        excluded = {query: ids for query, ids in self.excluded.items() if query in names}
        seeds = {draft.seed for draft in drafts}
        texts = {name: one for name, one in self.texts.items() if one.origin != "changed" or name in seeds}
        return Made(self.corpus, drafts, qrels, excluded, texts, self.facts)


def _line(kind: str, value: Any) -> str:
    return json.dumps([kind, value], ensure_ascii=False, separators=(",", ":")) + "\n"


def rows_of(name: str, *needed: str) -> Iterator[tuple[str, Row]]:
    """Place (for messages) and object of each line; packed by gzip or zstd too.

    Raises:
        BadInput: the file is not there, or a line is not an object or lacks a field that is needed.
    """
    path = Path(name).expanduser()
    for number, row in enumerate(Folder(path.parent).rows(path), 1):
        place = f"{path}, line {number},"
        if lacking := [field for field in needed if field not in row]:
            hint = f"each line needs {', '.join(needed[:-1])} and {needed[-1]}"
            raise BadInput(f"{place} has no field {lacking[0]!r}", hint=hint)
        yield place, row


def listed(paper: Paper, field: str) -> frozenset[str]:
    """Names that a metadata field lists, or has between semicolons, folded."""
    given = paper.metadata.get(field)
    words = given if isinstance(given, list) else str(given or "").split(";")
    return frozenset(filter(None, (folded(str(one)).strip() for one in words)))


NAME = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]+")  # capitalised inside a sentence
T = TypeVar("T")
_READ = 500  # papers at a time


@dataclass
class Workbench:
    """The means of a step: the library, the model, the folder, and counts for its report.

    Attributes:
        store: the library whose papers are the corpus.
        seed: of the recipe; every choice by chance depends on it.
        model: the language model, or None.
        dropped: reason -> how often, of the step under way.
        found: other numbers of the step under way, for the card.
        folder: of the build; what people fill in is in its folder ``review``.
        estimate: nothing is written.
        waiting: set by the step under way: what people have to do before it can be done.
    """

    store: Store
    seed: int
    model: ChatModel | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    found: dict[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)
    estimate: bool = False
    waiting: str = ""

    def require_model(self) -> ChatModel:
        """The language model.

        Raises:
            UsageError: none is named.
        """
        if self.model is None:
            raise UsageError(
                "this step asks a language model, and none is named",
                hint="aspectra config set llm.model NAME, then llm.base_url URL (docs/models.md)",
            )
        return self.model

    def papers(self, ids: Iterable[str], *, full: bool = False) -> Iterator[Paper]:
        """Papers of the library in the order of their ids, streaming; ids that it lacks are passed over.

        Args:
            ids: of papers.
            full: with sections and references.
        """
        wanted = list(ids)
        for at in range(0, len(wanted), _READ):
            yield from self.store.get_many(wanted[at : at + _READ], full=full).values()

    def documents(self, made: Made, ids: Iterable[str] | None = None) -> Iterator[MadeText]:
        """The documents of a set in its order, streaming; of these ids, where given, in their order."""
        wanted = list(made.corpus if ids is None else ids)
        papers = self.papers(one for one in wanted if one not in made.texts)
        waiting = next(papers, None)
        for name in wanted:
            if name in made.texts:
                yield made.texts[name]
            elif waiting is not None and waiting.id == name:
                yield MadeText(name, waiting.title, waiting.abstract, origin="corpus")
                waiting = next(papers, None)

    def by_id(self, made: Made, ids: Iterable[str]) -> dict[str, MadeText]:
        """Id -> document, of these ids."""
        return {one.id: one for one in self.documents(made, sorted(ids))}

    def drawn(self, keys: Iterable[T], of: str = "") -> list[T]:
        """The same keys in an order by chance, which depends on the seed, ``of`` and each key alone."""
        return sorted(keys, key=lambda one: digest([self.seed, of, str(one)]))

    def some(self, keys: Collection[T], of: str, most: int, what: str) -> list[T]:
        """So many of the keys by chance (0: all), sorted; the others are counted as ``WHAT not drawn``."""
        chosen = sorted(self.drawn(keys, of)[: most or None], key=str)
        self.drop(f"{what} not drawn", len(keys) - len(chosen))
        return chosen

    def enough(self, made: Made, least: float, sets: Iterable[str] = ("gold",)) -> Made:
        """The set without the queries that have fewer relevant documents in one of these judgement sets."""
        held = [made.qrels[name] for name in sets]
        kept = [
            one
            for one in made.drafts
            if all(sum(grade > 0 for grade in own.get(one.id, {}).values()) >= least for own in held)
        ]
        self.drop("queries with too few relevant documents", len(made.drafts) - len(kept))
        return made.of_queries(kept)

    def drop(self, reason: str, times: int = 1) -> None:
        """Count things that the step leaves out."""
        if times:
            self.dropped[reason] += times


# Does a step and returns the set after it; raises UsageError for an option that cannot be used, and BadInput
# where the corpus lacks what the step needs.
RunStep = Callable[[Made, Workbench, Any], Made]


@dataclass(frozen=True)
class ConstructionStep:
    """A step.

    Attributes:
        name: as in recipes.
        run: does it.
        options: its fields are the step's options.
        about: what it does, one line.
        helps: what the corpus can be given where the step makes too little, one sentence.
        version: raised when the same input gives something else.
        files: options that name files; their content counts, not their name.
        sheets: files that people filled in, from the build's folder and the options; their content counts.
        model: whether it asks a language model.
        queries: whether there must be queries after it.
    """

    name: str
    run: RunStep
    options: type[Value]
    about: str
    helps: str = ""
    version: int = 1
    files: tuple[str, ...] = ()
    sheets: Callable[[Path, Any], Sequence[Path]] = lambda folder, options: ()
    model: bool = False
    queries: bool = True


@dataclass(frozen=True)
class StepReport:
    """Report of a step.

    Attributes:
        name: of the step.
        kept: whether its output was there already.
        queries, documents, judged: how many there are after it.
        dropped: reason -> how often.
        found: what else it reports.
    """

    name: str
    kept: bool
    queries: int
    documents: int
    judged: int
    dropped: dict[str, int]
    found: dict[str, Any]

    @property
    def left_out(self) -> str:
        """Counts of what it left out, with the reasons, in words."""
        return ", ".join(f"{times:,} {reason}" for reason, times in self.dropped.items())


def placed_in(name: str, made: Made, bench: Workbench) -> Iterator[tuple[str, str, str]]:
    """Document, group and value of each line of a file whose document is in the corpus.

    Raises:
        BadInput: the file cannot be read, or a line lacks ``_id`` or ``group``.
    """
    there = set(made.corpus)
    for _, row in rows_of(name, "_id", "group"):
        document = str(row["_id"])
        if document in there:
            yield document, str(row["group"]), str(row.get("value", ""))
        else:
            bench.drop("documents that are not in the library")


STEPS: Registry[ConstructionStep] = Registry("step of construction", f"{__package__}.steps")


def step(options: type[Value], **declared: Any) -> Callable[[RunStep], ConstructionStep]:
    """Decorator that declares a step under its function's name and registers it.

    Args:
        options: the value of its options.
        declared: any other field of :class:`ConstructionStep`; ``about`` is the first line of the function's
            docstring where it is not given.
    """

    def add(run: RunStep) -> ConstructionStep:
        name, about = run.__name__, (run.__doc__ or "").partition("\n")[0]
        return STEPS.register(name)(ConstructionStep(name, run, options, **{"about": about, **declared}))

    return add


# Recipes of construction: which steps in which order, with which options.

_OWN = ("seed", "layout", "name", "part", "test")


class BuildRecipe(Value, frozen=True):
    """A way to build a benchmark.

    Attributes:
        name: of the benchmark.
        about: what it is, for its card.
        seed: of every choice by chance.
        layout: how it is written, see :data:`~aspectra.lab.construction.export.LAYOUTS`.
        steps: each with its name under ``step``, and its options.
        part: ``dev`` or ``test``: only its queries are written; "" for all.
        test: share of the queries that are for the test, from 0 to 1.

    Raises:
        UsageError: the part or its share cannot be.
    """

    name: str
    steps: tuple[dict[str, Any], ...]
    about: str = ""
    seed: int = 7
    layout: str = "beir"
    part: str = ""
    test: float = 0.5

    def __post_init__(self) -> None:
        if self.part not in ("", "dev", "test") or not 0 < self.test < 1:
            raise UsageError(
                f"the part {self.part!r} with {self.test:g} of the queries for the test cannot be",
                hint="--option part=dev or part=test, --option test=0.5",
            )

    def step_names(self, until: str = "") -> list[str]:
        """The steps' names, up to and with ``until``; "" for all."""
        names = [str(one.get("step", "")) for one in self.steps]
        return names[: names.index(until) + 1] if until in names else names

    def options(self, number: int) -> Value:
        """The options of a step, checked; ``number`` counts from 0.

        Raises:
            UsageError: the step or an option does not exist, or an option has another type.
        """
        given = dict(self.steps[number])
        step = STEPS.get(str(given.pop("step", "")))
        refuse_unknown(given, step.options.__struct_fields__, f"option of {step.name}")
        return step.options.from_dict(given)

    def changed(self, settings: Sequence[str]) -> BuildRecipe:
        """The recipe with options set: ``STEP.OPTION=VALUE``, or ``seed=N``, ``layout=NAME``, ``part=test``.

        Raises:
            UsageError: a setting names no step of the recipe, or cannot be read.
        """
        steps = [dict(one) for one in self.steps]
        own: dict[str, Any] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            at, dot, option = name.strip().partition(".")
            if not equals or (not dot and at not in _OWN):
                raise UsageError(
                    f"the setting {setting!r} cannot be read",
                    hint="--option STEP.OPTION=VALUE, or --option seed=8",
                )
            if not dot:
                own[at] = _read(value.strip()) if at in ("seed", "test") else value.strip()
                continue
            meant = [one for one in steps if one.get("step") == at]
            if not meant:
                names = [str(one.get("step")) for one in steps]
                raise UsageError(
                    f"the recipe {self.name} has no step {at!r}",
                    why="its steps: " + ", ".join(names),
                    hint=did_you_mean(at, names),
                )
            for one in meant:
                one[option] = _read(value.strip())
        return BuildRecipe.from_dict({**replace(self, steps=tuple(steps)).to_dict(), **own})

    @classmethod
    def named(cls, name: str) -> BuildRecipe:
        """A recipe of this package, or one in a file.

        Raises:
            UsageError: it is neither, or cannot be read.
        """
        if name in recipe_names():
            return cls.loads((_shipped() / f"{name}.toml").read_text("utf-8"))
        if Path(name).suffix in (".toml", ".json"):
            return cls.load(Path(name))
        raise unknown_name(f"there is no recipe of construction called {name!r}", name, recipe_names())


def _shipped() -> Any:
    return resources.files(__package__) / "recipes"


def recipe_names() -> list[str]:
    """The recipes of this package."""
    return sorted(
        one.name.removesuffix(".toml") for one in _shipped().iterdir() if one.name.endswith(".toml")
    )


def _read(text: str) -> Any:
    """A value as TOML has it; anything else is text.

    >>> _read("3"), _read("0.5"), _read("true"), _read("[1, 2]"), _read("data/x.jsonl")
    (3, 0.5, True, [1, 2], 'data/x.jsonl')
    """
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
