"""The language model of a command: named by the settings ``llm.*``, and what its use costs in words.

Nothing is opened or sent before :func:`language_model`. Keys are read from the environment alone, so there is
no setting for one, only for the *name* of the variable that holds it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app.settings import SPENDING
from aspectra.app.terminal.panels import option
from aspectra.base.errors import NotTrusted, UsageError
from aspectra.base.trust import Permission, require

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.llm.assemble import Model, ModelSettings
    from aspectra.llm.budget import Cost, Limits

OracleRates = Annotated[
    str | None,
    option("--oracle", metavar="RATES", about="Simulate the model: error=0.1,malformed=0.05."),
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
    return Limits(
        calls=int(found["call"]) if "call" in found else None,
        tokens=int(found["token"]) if "token" in found else None,
        money=found.get("money"),
    )


def model_settings(session: Session, name: str = "", *, connect: bool = True) -> ModelSettings:
    """What the settings ``llm.*`` say about the model.

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


def currency_of(prices: Path | None = None) -> str:
    """The price file's currency, or "" where it names none; None for the user's own file."""
    from aspectra.llm.budget import Prices, default_prices

    return Prices.read(prices or default_prices()).currency


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
