"""Steps of construction: what one declares, and what it works with.

To add a step, write one module in ``lab/construction/steps`` with a function ``NAME(made, bench, options) ->
Made`` decorated with ``@step``; its options are a :class:`~aspectra.base.values.Value`, whose fields a recipe
or ``--option`` names. A step changes no library, draws by :meth:`Workbench.drawn` alone, and reports what it
drops, so that a build repeats to the byte.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.hashing import digest
from aspectra.base.registry import Registry
from aspectra.base.values import Value
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.construction.made import Made, MadeText
from aspectra.lab.runs.rows import Row
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.text.cleaning import folded


def rows_of(name: str) -> Iterator[tuple[str, Row]]:
    """Place (for messages) and object of each line; packed by gzip or zstd too.

    Raises:
        BadInput: the file is not there, or a line is not an object.
    """
    path = Path(name).expanduser()
    for number, row in enumerate(Folder(path.parent).rows(path), 1):
        yield f"{path}, line {number},", row


def listed(paper: Paper, field: str) -> frozenset[str]:
    """What a metadata field lists, or names between semicolons; as people type it."""
    given = paper.metadata.get(field)
    words = given if isinstance(given, list) else str(given or "").split(";")
    return frozenset(filter(None, (folded(str(one)).strip() for one in words)))


NAME = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]+")  # capitalised inside a sentence
T = TypeVar("T")
_READ = 500  # papers at a time


@dataclass
class Workbench:
    """What a step works with.

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

    def drawn(self, keys: Iterable[T], of: str = "") -> list[T]:
        """The same keys in an order by chance, which depends on the seed, ``of`` and each key alone."""
        return sorted(keys, key=lambda one: digest([self.seed, of, str(one)]))

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
        """Count what the step leaves out."""
        if times:
            self.dropped[reason] += times


class RunStep(Protocol):
    """Does a step."""

    def __call__(self, made: Made, bench: Workbench, options: Any, /) -> Made:
        """The set after the step.

        Raises:
            UsageError: an option cannot be used. BadInput: the corpus lacks what the step needs.
        """
        ...


@dataclass(frozen=True)
class Step:
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
    """What a step did.

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
        """What it left out, in words."""
        return ", ".join(f"{times:,} {reason}" for reason, times in self.dropped.items())


def placed_in(name: str, made: Made, bench: Workbench) -> Iterator[tuple[str, str, str]]:
    """Document, group and value of each line of a file whose document is in the corpus.

    Raises:
        BadInput: the file cannot be read, or a line lacks ``_id`` or ``group``.
    """
    there = set(made.corpus)
    for place, row in rows_of(name):
        try:
            document, group = str(row["_id"]), str(row["group"])
        except KeyError as error:
            raise BadInput(f"{place} has no field {error}", hint="each line needs _id and group") from error
        if document in there:
            yield document, group, str(row.get("value", ""))
        else:
            bench.drop("documents that are not in the library")


STEPS: Registry[Step] = Registry("step of construction", f"{__package__}.steps")


def step(name: str, options: type[Value], about: str, **declared: Any) -> Callable[[RunStep], Step]:
    """Decorator that declares a step and registers it.

    Args:
        name: registry name.
        options: the value of its options.
        about: what it does, one line.
        declared: any other field of :class:`Step`.
    """

    def add(run: RunStep) -> Step:
        return STEPS.register(name)(Step(name, run, options, about, **declared))

    return add
