"""The options of a question, of language models and of the lab's commands, declared once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.settings import SPENDING, TABLE_FORMATS, export_formats
from aspectra.app.terminal.panels import (
    Names,
    OutputFile,
    argument,
    filtering,
    option,
    preference,
    searching,
    showing,
)
from aspectra.base.errors import NotTrusted, UsageError, check_choice
from aspectra.base.trust import Permission, allow, require

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.session import Session
    from aspectra.llm.assemble import Model, ModelSettings
    from aspectra.llm.budget import Cost, Limits
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.search.recipe import Recipe


# The language model of a command: named by the settings ``llm.*``, and what its use costs in words.
#
# Nothing is opened or sent before :func:`language_model`. Keys are read from the environment alone, so
# there is no setting for one, only for the *name* of the variable that holds it.

OracleRates = Annotated[
    str | None, option("Simulate the model: error=0.1,malformed=0.05.", "--oracle", metavar="RATES")
]

_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*+([kM]?)\s*+(calls?|tokens?|)")
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000}


def read_limits(given: str) -> Limits:
    """Limits as people write them, separated by commas; "" for none.

    Args:
        given: each as in ``500calls``, ``2Mtokens`` (``k`` and ``M`` multiply) or ``1.50``, which is money in
            the price file's currency.

    Raises:
        UsageError: one cannot be understood, or a thing is limited twice.

    >>> limits = read_limits("500calls,2Mtokens,1.50")
    >>> limits.calls, limits.tokens, limits.money
    (500, 2000000, 1.5)
    """
    from aspectra.llm.budget import Limits

    found: dict[str, float] = {}
    for text in [part.strip() for part in given.split(",")] if given else ():
        read = _LIMIT.fullmatch(text)
        if read is None:
            raise UsageError(
                f"llm.budget is {text!r}, which is no limit",
                hint="500calls, 2Mtokens or 1.50 (money, by your price file)",
            )
        kind = read[3].rstrip("s") or "money"
        value = float(read[1]) * _TIMES[read[2]]
        if kind in found:
            raise UsageError(f"llm.budget limits {kind if kind == 'money' else kind + 's'} twice")
        if not math.isfinite(value) or (kind != "money" and value != int(value)):
            raise UsageError(f"llm.budget: {text!r} is no whole number of {kind}s")
        found[kind] = value
    whole = {f"{kind}s": int(value) for kind, value in found.items() if kind != "money"}
    return Limits(**whole, money=found.get("money"))


def model_settings(session: Session, name: str = "", *, connect: bool = True) -> ModelSettings:
    """The model's settings, from ``llm.*``.

    With ``--offline`` answers come from the journal alone and no connection is opened.

    Args:
        session: of the command.
        name: of another model at the same endpoint; "" for ``llm.model``.
        connect: False where answers come from the journal alone.

    Raises:
        UsageError: no model is named, or the budget cannot be understood.
        NotTrusted: a project's file that the user has not permitted says what is asked or spent, or puts the
            journal outside of the project.
    """
    from aspectra.llm.assemble import ModelSettings

    profile = session.settings.llm
    if not (name or profile.model):
        raise UsageError(
            "no language model is named",
            why="this needs one, and there is no default",
            hint="aspectra config set llm.model NAME, then llm.base_url URL (docs/models.md)",
        )
    claimed = session.config.claimed
    project = session.config.project
    journal = Path(profile.journal).expanduser() if profile.journal else None
    extra = _fields(profile.extra)
    if journal and project and claimed("llm.journal"):
        _refuse_outside(journal, project)
    theirs = [key for key in SPENDING if claimed(key)]
    if project and theirs and connect and not session.settings.offline:
        require(Permission.folder(str(project.parent), "settings"), f"{project} ({', '.join(theirs)})")
    return ModelSettings(
        model=name or profile.model,
        base_url=profile.base_url,
        key_variable=profile.key_variable,
        named_by=str(project) if claimed("llm.base_url") or claimed("llm.key_variable") else "",
        limits=read_limits(profile.budget),
        lanes=profile.lanes,
        timeout=profile.timeout,
        seconds=max(120.0, 2 * profile.timeout),
        journal=journal,
        journal_text=profile.journal_text,
        offline=session.settings.offline,
        extra={name: value for name, value in extra.items() if value is not None},
        omit=tuple(name for name, value in extra.items() if value is None),
    )


def _fields(text: str) -> dict[str, Any]:
    """The fields that ``llm.extra`` names; None for one to leave out."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"llm.extra is {text[:60]!r}, which is not a JSON object",
            hint='aspectra config set llm.extra \'{"reasoning_effort": "low", "temperature": null}\'',
        )
    return found


def _refuse_outside(journal: Path, project: Path) -> None:
    """Refuse a journal that a project's file puts outside of the project: it would be written there."""
    if not journal.resolve().is_relative_to(project.parent.resolve()):
        raise NotTrusted(
            f"answers of the model would be written to {journal}",
            why=f"{project} names it, and it is outside of that folder",
            hint=f"delete it there; if you want it: aspectra config set llm.journal {quote(str(journal))}",
        )


@contextmanager
def language_model(
    session: Session, *, connect: bool = True, sent: str = "Texts of papers are"
) -> Iterator[Model]:
    """The model that the settings name, closed at the end.

    Args:
        session: of the command.
        connect: False answers from the journal alone, as ``--offline`` does.
        sent: what the user is told is sent.

    Raises:
        UsageError: as :func:`model_settings`.
    """
    from aspectra.base.values import replace
    from aspectra.llm.assemble import build_model

    settings = model_settings(session, connect=connect)
    with build_model(replace(settings, offline=settings.offline or not connect)) as model:
        _say_where(session, model, settings.model, sent)
        yield model


def read_beside_rules(session: Session) -> None:
    """Let the model read questions too, where the settings say so; what that cost is said."""
    if session.settings.read.reader != "model":
        return
    from aspectra.search.planning.model_reader import ModelReader

    def spent(cost: Cost, name: str) -> None:
        session.screen.note(f"the question was read by {name} too: {cost_in_words(cost)}")

    session.second = ModelReader(lambda: language_model(session, sent="The question is"), spent)


def _say_where(session: Session, model: Model, name: str, sent: str = "Texts of papers are") -> None:
    if model.remote:
        session.screen.note(f"{sent} sent to {model.remote} ({name}).")


def run_plan(session: Session, library: Library, plan: Plan, *, explain: bool = False) -> Ranking:
    """The ranking of a plan; meanwhile the model that the settings name is open, where a step needs one."""
    from aspectra.search.stages.protocol import needs_model

    with language_model(session) if needs_model(plan.stages) else nullcontext() as library.model:
        return library.run(plan, explain=explain)


@contextmanager
def language_models(session: Session) -> Iterator[Callable[[str], Model]]:
    """Makes models by their names at the endpoint, "" for the one that the settings name.

    All are closed at the end, and together they stay within ``llm.budget``.

    Raises:
        UsageError: as :func:`model_settings`.
    """
    from aspectra.llm.assemble import build_model
    from aspectra.llm.budget import spending

    made: dict[str, Model] = {}
    with ExitStack() as opened:
        opened.enter_context(spending(read_limits(session.settings.llm.budget), "run"))

        def answering(name: str) -> Model:
            if name not in made:
                settings = model_settings(session, name)
                made[name] = opened.enter_context(build_model(settings))
                _say_where(session, made[name], settings.model)
            return made[name]

        yield answering


def currency_of() -> str:
    """The currency of the user's price file, or "" where it names none."""
    from aspectra.llm.budget import Prices, default_prices

    return Prices.read(default_prices()).currency


def cost_in_words(cost: Cost, currency: str = "") -> str:
    """A cost for people; money that is not known is reported as unknown, never as 0.

    >>> from aspectra.llm.budget import Cost
    >>> cost_in_words(Cost(calls=2, prompt_tokens=900, completion_tokens=100, unpriced=2))
    '2 calls, 1,000 tokens (900 asked, 100 answered), money unknown: the model has no price'
    """
    parts = [
        f"{cost.calls:,} call{'' if cost.calls == 1 else 's'}",
        f"{cost.tokens:,} tokens ({cost.prompt_tokens:,} asked, {cost.completion_tokens:,} answered)",
    ]
    if cost.unpriced:
        parts.append("money unknown: the model has no price")
    elif cost.calls:
        parts.append(f"{cost.money:.4g} {currency}".strip())
    if cost.recorded:
        parts.append(f"{cost.recorded:,} from the journal")
    return ", ".join(parts)


@dataclass(frozen=True)
class QuestionOptions:
    """The question, beside words and seeds, and how it is searched."""

    same: Annotated[
        Names, preference("Alike in background, method, result, or 'method: X'.", metavar="ASPECT")
    ] = None
    same_sentences: Annotated[
        Names, preference("Like these sentences of the seed.", metavar="N,N", rare=True)
    ] = None
    role: Annotated[
        Names, preference("The seed's sentence N has this role.", metavar="N=ROLE", rare=True)
    ] = None
    different: Annotated[Names, preference("Unlike in this.", metavar="ASPECT")] = None
    condition: Annotated[
        Names, preference("As: avoid source=blog, require language=de{; attributes}.", "-c", metavar="TEXT")
    ] = None
    instruction: Annotated[str, preference("What papers should be like, in words.", metavar="TEXT")] = ""
    literal: Annotated[bool, preference("Detect no constraints in TEXT.", rare=True)] = False
    since: Annotated[str | None, filtering("First year: 2020, or 3y (years ago).", metavar="WHEN")] = None
    until: Annotated[str | None, filtering("Last year.", metavar="WHEN")] = None
    venue: Annotated[Names, filtering("Only this venue; * matches anything.")] = None
    author: Annotated[Names, filtering("Only this author.")] = None
    language: Annotated[Names, filtering("Only this language, as en.", metavar="TAG")] = None
    tag: Annotated[Names, filtering("Only papers that you tagged so.", metavar="TAG", rare=True)] = None
    decided: Annotated[str, filtering("Only what you decided: include, any.", rare=True)] = ""
    undecided: Annotated[bool, filtering("Only papers without a decision.", rare=True)] = False
    recipe: Annotated[
        str | None,
        searching("As guided, bm25, 'bm25 | top(200) | dense' or FILE{; planners}.", "-r", metavar="STEPS"),
    ] = None
    stage: Annotated[
        Names, searching("A further step, as 'citations(seeds=10)'{; stages}.", metavar="STEP")
    ] = None
    rerank: Annotated[
        str | None, searching("Last step, as listwise+tournament{; judges}{; sorters}.", metavar="METHOD")
    ] = None
    like_decided: Annotated[
        bool, searching("More like what you included, less like exclusions.", rare=True)
    ] = False
    lens: Annotated[Names, searching("Search this lens.", rare=True)] = None
    all_versions: Annotated[bool, searching("Rank preprint and journal version apart.", rare=True)] = False
    limit: Annotated[int | None, showing("Papers shown [10].", "-n")] = None
    evidence: Annotated[int | None, showing("Sentences quoted per paper [1].", rare=True)] = None

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
    from aspectra.search.recipe import Recipe
    from aspectra.search.stages.protocol import permissions_of

    for needed in permissions_of(Recipe.parse(" | ".join(("bm25", *steps))).stages):
        allow(needed)


@dataclass(frozen=True)
class ResultOptions:
    """The format and destination of a ranking."""

    format: Annotated[str | None, showing("table, json or one of export{; writers}.")] = None
    json: Annotated[bool, showing("One JSON document (aspectra schema search).", rare=True)] = False
    jsonl: Annotated[bool, showing("One JSON object a paper.", rare=True)] = False
    output: OutputFile = None
    sort: Annotated[
        str | None, showing("The best matches, by year, citations, title, added.", metavar="ORDER")
    ] = None
    page: Annotated[int | None, showing("The next papers: --page 2.", rare=True)] = None
    explain: Annotated[bool, showing("Show the score of each view.")] = False
    why_not: Annotated[str | None, showing("Why this paper is not listed.", metavar="ID")] = None
    plan: Annotated[bool, showing("Print the plan and stop.", rare=True)] = False
    partial: Annotated[bool, showing("Search a collection although shards are missing.", rare=True)] = False
    fail_empty: Annotated[bool, showing("Exit with 3 when nothing is found.", rare=True)] = False
    strict: Annotated[bool, showing("Exit with 4 when there are warnings.", rare=True)] = False

    @property
    def paged(self) -> bool:
        """True if an order or a page is requested."""
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
        UsageError: a part is not a number.
    """
    parts = [part.strip() for one in given or () for part in one.split(",") if part.strip()]
    if wrong := [part for part in parts if not (part.isascii() and part.isdigit())]:
        raise UsageError(
            f"{wrong[0]!r} is no number of a sentence",
            why="sentences are counted from 1",
            hint="aspectra show ID --sentences, then --same-sentences 3,5",
        )
    return tuple(dict.fromkeys(int(part[:9]) for part in parts))


# Options that the commands of the lab share.


LoaderOption = Annotated[Names, option("Option of a loader; see bench list.", "--option", metavar="K=V")]
Measures = Annotated[Names, option("As nDCG@10; again for more{; measures}.", "--measure", "-m")]
Preset = Annotated[str | None, option("Which reference implementation to follow [paper].", "--preset")]
Incomplete = Annotated[bool, option("Average although topics are missing.", "--incomplete")]
Format = Annotated[str, option(", ".join(TABLE_FORMATS) + ".", "--format")]
Experiment = Annotated[Path, argument("Directory of an experiment.", "DIR")]
Test = Annotated[str, option("t, wilcoxon, randomisation [t].", "--test")]
Correction = Annotated[str, option("none, holm, bonferroni [bonferroni].", "--correction")]
By = Annotated[str | None, option("Means by the values of a label.", "--by", metavar="LABEL")]
Baseline = Annotated[str, option("Recipe to test others against.", "--baseline")]
