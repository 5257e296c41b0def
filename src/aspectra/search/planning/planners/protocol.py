"""The protocol of a planner: it makes a search from a query and the available views.

To add a planner, write one module in ``search/planning/planners`` with a function decorated by
``@planner(name)``, which also declares what it needs and takes; a third party names the module in an entry
point of the group ``aspectra.planner``. ``tests/unit/search/test_planners.py`` tests every member.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import Struct

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.registry import Registry
from aspectra.base.values import replace
from aspectra.search.instructions.understanding import Hints, SecondReader, Wordings
from aspectra.search.plan import Search
from aspectra.search.query import Query
from aspectra.views.encoders.protocol import Prompts
from aspectra.views.protocol import ViewFacts
from aspectra.views.readers.protocol import READERS
from aspectra.views.terms.view import Offer
from aspectra.views.text.tokens import ChunkSize
from aspectra.views.view import Metric, Probe

DEFAULT_PLANNER = "guided"
LENS_PLANNER = "lensed"  # for queries that name lenses


class Seeds(Protocol):
    """Facts about seed papers for planners."""

    def offers(self, seed: str) -> Mapping[str, Offer]:
        """Aspect -> the terms that a seed names in it; {} where none are stored."""
        ...

    def sentences(self, seed: str, roles: tuple[str, ...]) -> tuple[int, ...]:
        """Numbers of a seed's sentences with one of these roles, from 1; of all without roles."""
        ...

    def written(self, seed: str, lens: str) -> str | None:
        """Text of a prompted lens about a seed, "" for nothing to write; None if it was not run."""
        ...


class ViewNames(Struct, frozen=True):
    """The views a planner may search.

    Attributes:
        names: all of them.
        encoder: name of the default encoder, or "" when the library has lexical views only.
        lenses: names of the lenses that were run on every paper.
        readings: name -> cues of the prompted lenses that have views of their own.
        seeds: what is known of seed papers; None where a plan is made without a library.
        venues: names of venues that a text may use, by the folded name.
        prompts: view -> prompts of its encoder, for views that can encode a seed as a query.
        wordings: reads likeness to a seed in words that no rule knows; None where nothing can.
        hints: tells words that may ask for something; None where nothing can.
        own: name -> focus of the aspects that were defined for the library.
        second: reads texts beside the rules, as a language model does; None where nothing does.
    """

    names: tuple[str, ...]
    encoder: str
    lenses: tuple[str, ...] = ()
    readings: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    seeds: Seeds | None = None
    venues: Mapping[str, str] = msgspec.field(default_factory=dict)
    prompts: Mapping[str, Prompts] = msgspec.field(default_factory=dict)
    wordings: Wordings | None = None
    hints: Hints | None = None
    own: Mapping[str, str] = msgspec.field(default_factory=dict)
    second: SecondReader | None = None

    def require(self, name: str) -> str:
        """``name`` itself.

        Raises:
            ViewMismatch: the index lacks such a view.
        """
        if name not in self.names:
            raise ViewMismatch(
                f"the plan needs the view {name!r}",
                why="there are " + ", ".join(self.names),
                hint=ViewFacts.of(name).remedy if ViewFacts.of(name).base in READERS else "aspectra index",
            )
        return name

    def words(self, base: str) -> str:
        """The view of words of ``base``."""
        return self.require(ViewFacts.words_of(base).name)

    def dense(self, base: str) -> str:
        """The dense view ``base`` of the default encoder."""
        if not self.encoder:
            raise ViewMismatch(
                "the plan needs a dense view, and the library has none",
                hint="aspectra index --encoder minilm",
            )
        return self.require(f"{base}@{self.encoder}")

    def chunks(self) -> str:
        """The base name of the smallest chunk size there is, or ""."""
        sizes = {facts.base: facts.chunks for facts in map(ViewFacts.of, self.names) if facts.chunks}
        return min(sizes, key=lambda base: ChunkSize.parse(sizes[base]).count, default="")


Need = Literal["", "used", "needed"]


@dataclass(frozen=True)
class Options:
    """Options of a planner, as in ``directional(direction=builds-on)``; one with more declares a subclass.

    Attributes:
        direction, any_year: as in :class:`~aspectra.search.query.Query`.
    """

    name: ClassVar[str] = ""  # so that only the options are spelled
    direction: str = ""
    any_year: bool = False


class Planner(Struct, frozen=True):
    """Maker of a search from a query and the available views.

    Attributes:
        name: as people write it.
        make: the function; the first line of its docstring is its help text.
        vectors: whether it searches vectors: never, where there are any, or always.
        full_text: whether it searches chunks of full texts, likewise.
        lenses: lenses whose views it needs, such as ``style``.
        views: names of further views that it needs, such as ``citations@graph``.
        tokens: whether it compares token vectors.
        seeds: it starts from papers; words alone will not do.
        takes_lenses: it searches through the lenses that a query names.
        takes_directions: it follows the direction of a query.
        takes_sentences: it compares the sentences that a query names, and follows the roles it corrects.
        options: the kind of its options; the function of a planner with a kind of its own takes them third.
    """

    name: str
    make: Callable[..., Search]
    vectors: Need = ""
    full_text: Need = ""
    lenses: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    tokens: bool = False
    seeds: bool = False
    takes_lenses: bool = False
    takes_directions: bool = False
    takes_sentences: bool = False
    options: type[Options] = Options

    @property
    def summary(self) -> str:
        """One line for people."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    def __call__(self, query: Query, views: ViewNames, options: Options | None = None) -> Search:
        """The search for a query that was read already.

        Raises:
            UsageError: the query has fields, or there are options, that this planner does not use.
            ViewMismatch: a view is missing.
        """
        given = options or self.options()
        if type(given) is not self.options:
            usual: dict[str, Any] = {"direction": given.direction, "any_year": given.any_year}
            if given != type(given)(**usual):
                raise UsageError(f"the planner {self.name} has no such options", why=f"given: {given}")
            given = self.options(**usual)
        own = () if self.options is Options else (given,)
        if self.seeds and not query.seeds:
            raise UsageError(
                f"the planner {self.name} starts from a paper",
                why="the query has words alone",
                hint=f"aspectra similar ID -r {self.name}",
            )
        for asked, takes, what in (
            (query.lenses, "takes_lenses", "lenses"),
            (query.direction, "takes_directions", "a direction"),
            (query.same_sentences, "takes_sentences", "sentences"),
            (query.roles, "takes_sentences", "roles"),
        ):
            if asked and not getattr(self, takes):
                said = ", ".join(map(str, asked)) if isinstance(asked, tuple) else asked
                raise UsageError(
                    f"the planner {self.name} does not use {what} ({said})",
                    why="its ranking would be the same without",
                    hint="-r " + " or ".join(n for n in PLANNERS if getattr(PLANNERS.get(n), takes)),
                )
        if self.full_text == "needed" and not views.chunks():
            raise ViewMismatch(
                "the library has no full texts to search",
                why=f"the planner {self.name} searches chunks of them",
                hint="add papers with full text (PDF, unarXive, JATS ...), then aspectra index",
            )
        for name in self.views:
            if name not in views.names:
                raise ViewMismatch(
                    f"the planner {self.name} needs the view {name}, and the index has none",
                    hint=ViewFacts.of(name).remedy,
                )
        for lens in self.lenses:
            if not any(view.startswith(f"lens-{lens}@") for view in views.names):
                raise ViewMismatch(
                    f"the lens {lens} has not been run on this library",
                    why=f"the planner {self.name} searches what it finds",
                    hint=f"aspectra lens add {lens}, then aspectra index",
                )
        made = self.make(query, views, *own)
        years = "any" if query.direction and query.any_year else ""
        return replace(made, planner=self.name, direction=query.direction, years=years)


PLANNERS: Registry[Planner] = Registry("planner", __package__)


def planner(name: str, **declared: Any) -> Callable[[Callable[..., Search]], Planner]:
    """Decorator that registers a function as a planner.

    Args:
        name: as people write it.
        declared: what it needs and takes, see :class:`Planner`.
    """

    def add(make: Callable[..., Search]) -> Planner:
        return PLANNERS.register(name)(Planner(name, make, **declared))

    return add


def probe(query: Query, view: str, weight: float = 1.0, metric: Metric = "cosine") -> Probe:
    """A probe with the query's text and seeds."""
    return Probe(view, text=query.text, seeds=query.seeds, weight=weight, metric=metric)


def search_with(name: str, query: Query, views: ViewNames, options: Options | None = None) -> Search:
    """Plan a search for a query that was read already; if it names lenses, ``lensed`` replaces the default.

    Raises:
        UsageError, ViewMismatch: as :meth:`Planner.__call__`.
    """
    return PLANNERS.get(LENS_PLANNER if query.lenses and name == DEFAULT_PLANNER else name)(
        query, views, options
    )
