"""The options of ``search``, ``similar`` and ``plan``, declared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.options.model import read_beside_rules
from aspectra.app.settings import export_formats
from aspectra.app.terminal.panels import FILTERS, OUTPUT, PREFERENCES, SEARCH, OutputFile, option
from aspectra.base.errors import UsageError, check_choice

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.search.recipe import Recipe

Names = list[str] | None


@dataclass(frozen=True)
class QuestionOptions:
    """The question, beside words and seeds, and how it is searched."""

    same: Annotated[
        Names,
        option(
            metavar="ASPECT",
            about="Alike in background, method, result, or 'method: X'.",
            panel=PREFERENCES,
        ),
    ] = None
    same_sentences: Annotated[
        Names,
        option(metavar="N,N", about="Like these sentences of the seed.", rare=True, panel=PREFERENCES),
    ] = None
    role: Annotated[
        Names,
        option(metavar="N=ROLE", about="The seed's sentence N has this role.", rare=True, panel=PREFERENCES),
    ] = None
    different: Annotated[Names, option(metavar="ASPECT", about="Unlike in this.", panel=PREFERENCES)] = None
    condition: Annotated[
        Names,
        option(
            "--condition",
            "-c",
            metavar="TEXT",
            about="As: avoid source=blog, require language=de{; attributes}.",
            panel=PREFERENCES,
        ),
    ] = None
    instruction: Annotated[
        str, option(metavar="TEXT", about="What papers should be like, in words.", panel=PREFERENCES)
    ] = ""
    literal: Annotated[
        bool, option("--literal", about="Detect no constraints in TEXT.", rare=True, panel=PREFERENCES)
    ] = False
    since: Annotated[
        str | None, option(metavar="WHEN", about="First year: 2020, or 3y (years ago).", panel=FILTERS)
    ] = None
    until: Annotated[str | None, option(metavar="WHEN", about="Last year.", panel=FILTERS)] = None
    venue: Annotated[
        Names, option(metavar="NAME", about="Only this venue; * matches anything.", panel=FILTERS)
    ] = None
    author: Annotated[Names, option(metavar="NAME", about="Only this author.", panel=FILTERS)] = None
    language: Annotated[Names, option(metavar="TAG", about="Only this language, as en.", panel=FILTERS)] = (
        None
    )
    tag: Annotated[
        Names, option(metavar="TAG", about="Only papers that you tagged so.", rare=True, panel=FILTERS)
    ] = None
    decided: Annotated[
        str, option(metavar="NAME", about="Only what you decided: include, any.", rare=True, panel=FILTERS)
    ] = ""
    undecided: Annotated[
        bool, option("--undecided", about="Only papers without a decision.", rare=True, panel=FILTERS)
    ] = False
    recipe: Annotated[
        str | None,
        option(
            "--recipe",
            "-r",
            metavar="STEPS",
            about="As guided, bm25, 'bm25 | top(200) | dense' or FILE{; planners}.",
            panel=SEARCH,
        ),
    ] = None
    stage: Annotated[
        Names,
        option(metavar="STEP", about="A further step, as 'citations(seeds=10)'{; stages}.", panel=SEARCH),
    ] = None
    rerank: Annotated[
        str | None,
        option(
            metavar="METHOD", about="Last step, as listwise+tournament{; judges}{; sorters}.", panel=SEARCH
        ),
    ] = None
    like_decided: Annotated[
        bool,
        option(
            "--like-decided",
            about="More like what you included, less like exclusions.",
            rare=True,
            panel=SEARCH,
        ),
    ] = False
    lens: Annotated[Names, option(metavar="NAME", about="Search this lens.", rare=True, panel=SEARCH)] = None
    all_versions: Annotated[
        bool,
        option("--all-versions", about="Rank preprint and journal version apart.", rare=True, panel=SEARCH),
    ] = False
    limit: Annotated[
        int | None, option("--limit", "-n", metavar="N", about="Papers shown [10].", panel=OUTPUT)
    ] = None
    evidence: Annotated[
        int | None, option(metavar="N", about="Sentences quoted per paper [1].", rare=True, panel=OUTPUT)
    ] = None

    def settle(self, session: Session) -> None:
        """Give the options that are settings too to the session, and it what reads questions."""
        session.override(search__limit=self.limit, search__recipe=self.recipe, search__evidence=self.evidence)
        read_beside_rules(session)

    def given(self, session: Session, **more: Any) -> dict[str, Any]:
        """The arguments that they, and ``more``, are to :meth:`aspectra.app.library.Library.plan`."""
        settings = session.settings.search
        return {
            "recipe": self._recipe(settings.recipe),
            "same": _split(self.same),
            "different": _split(self.different),
            "same_sentences": _numbers(self.same_sentences),
            "roles": tuple(part for one in self.role or () for part in one.split(",")),
            "conditions": tuple(self.condition or ()),
            "instruction": self.instruction,
            "literal": self.literal,
            "since": self.since,
            "until": self.until,
            "venues": tuple(self.venue or ()),
            "authors": tuple(self.author or ()),
            "languages": tuple(self.language or ()),
            "tags": tuple(self.tag or ()),
            "decided": "none" if self.undecided else self.decided,
            "lenses": tuple(self.lens or ()),
            "versions": "all" if self.all_versions else "best",
            "limit": settings.limit,
            "evidence": settings.evidence,
            **more,
        }

    def _recipe(self, first: str) -> Recipe | str:
        """The recipe, with the further steps."""
        from aspectra.search.query import LIKE_DECIDED

        further = [LIKE_DECIDED] if self.like_decided else []
        further += self.stage or ()
        if self.rerank is not None:
            sign = "'" if '"' in self.rerank else '"'
            further.append(f"rerank(method={sign}{self.rerank}{sign})")
        _permit([*further, *([self.recipe] if self.recipe and "|" in self.recipe else [])])
        if not first.endswith(".toml"):
            return " | ".join((first, *further))
        from aspectra.base.values import replace
        from aspectra.search.recipe import Recipe

        made = Recipe.parse(first)
        return replace(made, steps=(*made.steps, *further))

    def refuse_beside(self, plan_file: Path) -> None:
        """Refuse options that a plan from a file would overrule.

        Raises:
            UsageError: one was given, other than ``--limit``.
        """
        given = [
            f"--{one.name.replace('_', '-')}"
            for one in fields(self)
            if one.name != "limit" and getattr(self, one.name) != one.default
        ]
        if given:
            raise UsageError(
                f"{', '.join(given)} cannot be given with --plan-file",
                why="the plan decides it; only --limit may differ",
                hint=f"write it in {plan_file}",
            )


def _permit(steps: Sequence[str]) -> None:
    """Permit what steps need that were typed: the models of their judges. Others are in files."""
    if not steps:
        return
    from aspectra.base.trust import allow
    from aspectra.search.recipe import Recipe
    from aspectra.search.stages.protocol import permissions_of

    for needed in permissions_of(Recipe.parse(" | ".join(("bm25", *steps))).stages):
        allow(needed)


@dataclass(frozen=True)
class ResultOptions:
    """What is written of a ranking, and where."""

    format: Annotated[
        str | None,
        option(metavar="NAME", about="table, json or one of export{; writers}.", panel=OUTPUT),
    ] = None
    json: Annotated[
        bool, option("--json", about="One JSON document (aspectra schema search).", rare=True, panel=OUTPUT)
    ] = False
    jsonl: Annotated[bool, option("--jsonl", about="One JSON object a paper.", rare=True, panel=OUTPUT)] = (
        False
    )
    output: OutputFile = None
    sort: Annotated[
        str | None,
        option(metavar="ORDER", about="The best matches, by year, citations, title, added.", panel=OUTPUT),
    ] = None
    page: Annotated[
        int | None, option(metavar="N", about="The next papers: --page 2.", rare=True, panel=OUTPUT)
    ] = None
    explain: Annotated[bool, option("--explain", about="Show the score of each view.", panel=OUTPUT)] = False
    why_not: Annotated[
        str | None, option(metavar="ID", about="Why this paper is not listed.", panel=OUTPUT)
    ] = None
    plan: Annotated[bool, option("--plan", about="Print the plan and stop.", rare=True, panel=OUTPUT)] = False
    fail_empty: Annotated[
        bool, option("--fail-empty", about="Exit with 3 when nothing is found.", rare=True, panel=OUTPUT)
    ] = False
    strict: Annotated[
        bool, option("--strict", about="Exit with 4 when there are warnings.", rare=True, panel=OUTPUT)
    ] = False

    @property
    def paged(self) -> bool:
        """Whether one of several pages is wanted."""
        return self.sort is not None or self.page is not None

    def settle(self, session: Session) -> str:
        """The format that the options or the settings name.

        Raises:
            UsageError: two are named, or there is none of that name.
        """
        named = {"json": self.json, "jsonl": self.jsonl, self.format or "": bool(self.format)}
        chosen = [name for name, wanted in named.items() if wanted]
        if len(chosen) > 1:
            raise UsageError(f"two formats at once: {' and '.join(chosen)}")
        session.override(search__format=chosen[0] if chosen else None)
        style = session.settings.search.format
        if style in ("table", "json"):
            return style
        return check_choice(style, ("table", "json", *export_formats()), "format")


def _split(given: Sequence[str] | None) -> tuple[str, ...]:
    """Aspects of one or several flags, separated by commas too; all that follows a colon are its terms."""
    out = []
    for one in given or ():
        before, colon, terms = one.partition(":")
        *plain, last = before.split(",")
        out += [*plain, f"{last}{colon}{terms}"]
    return tuple(part.strip() for part in out if part.strip())


def _numbers(given: Sequence[str] | None) -> tuple[int, ...]:
    """Numbers of sentences of one or several flags, each once.

    Raises:
        UsageError: one is no number.
    """
    parts = [part.strip() for one in given or () for part in one.split(",") if part.strip()]
    if wrong := [part for part in parts if not (part.isascii() and part.isdigit())]:
        raise UsageError(
            f"{wrong[0]!r} is no number of a sentence",
            why="sentences are counted from 1",
            hint="aspectra show ID --sentences, then --same-sentences 3,5",
        )
    return tuple(dict.fromkeys(int(part[:9]) for part in parts))
