"""The options of every command that asks a language model, and the settings that they make.

A command takes the options as parameters and hands them to :func:`model_settings`. Nothing is opened or
sent by that; ``aspectra.llm.assemble.build_model`` does it. Keys are read from the environment alone, so
there is no option for one, only for the *name* of the variable that holds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.llm.assemble import ModelSettings
    from aspectra.llm.budget import Cost, Limits

__all__ = [
    "BaseUrl",
    "BudgetLimit",
    "JournalFile",
    "KeyVariable",
    "Lanes",
    "ModelName",
    "OracleRates",
    "cost_in_words",
    "currency_of",
    "model_settings",
    "read_limits",
]

ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The endpoint's name of the model.", show_default=False),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Its address, usually ending in /v1.", show_default=False),
]
KeyVariable = Annotated[
    str | None,
    typer.Option(
        "--key-variable", metavar="NAME", help="Environment variable with the key.", show_default=False
    ),
]
BudgetLimit = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="LIMIT",
        help="Spend at most: 500calls, 2Mtokens, or 1.50 of money. Again for more.",
        show_default=False,
    ),
]
Lanes = Annotated[int, typer.Option("--lanes", metavar="N", help="Calls under way at once.", min=1, max=256)]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", metavar="FILE", help="Where answers are kept.", show_default=False),
]

OracleRates = Annotated[
    str | None,
    typer.Option(
        "--oracle", metavar="RATES", help="Simulate the model: error=0.1,malformed=0.05.", show_default=False
    ),
]

_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*([kM]?)\s*(calls?|tokens?|)")
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000}


def read_limits(given: Sequence[str] | None) -> Limits:
    """Limits as people write them, several at once or separated by commas.

    Args:
        given: each as in ``500calls``, ``2Mtokens`` (``k`` and ``M`` multiply) or ``1.50``, which is money in
            the price file's currency.

    Raises:
        UsageError: one cannot be understood, or a thing is limited twice.

    >>> limits = read_limits(["500calls", "2Mtokens,1.50"])
    >>> limits.calls, limits.tokens, limits.money
    (500, 2000000, 1.5)
    """
    from aspectra.llm.budget import Limits

    found: dict[str, float] = {}
    for text in [part.strip() for one in given or () for part in one.split(",")]:
        read = _LIMIT.fullmatch(text)
        if read is None:
            raise UsageError(
                f"--budget does not understand {text!r}",
                hint="--budget 500calls, --budget 2Mtokens or --budget 1.50 (money, by your price file)",
            )
        kind = read[3].rstrip("s") or "money"
        value = float(read[1]) * _TIMES[read[2]]
        if kind in found:
            raise UsageError(f"--budget limits {kind if kind == 'money' else kind + 's'} twice")
        if not math.isfinite(value) or (kind != "money" and value != int(value)):
            raise UsageError(f"--budget {text!r} is no whole number of {kind}s")
        found[kind] = value
    return Limits(
        calls=int(found["call"]) if "call" in found else None,
        tokens=int(found["token"]) if "token" in found else None,
        money=found.get("money"),
    )


def model_settings(
    session: Session,
    *,
    model: str | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
    budget: Sequence[str] | None = None,
    lanes: int | None = None,
    journal: Path | None = None,
) -> ModelSettings:
    """What the options, the environment and the configuration together say about the model.

    An option comes before the environment (``ASPECTRA_LLM_MODEL``, ``ASPECTRA_LLM_BASE_URL``), and that
    before the configuration (``llm.model``, ``llm.base_url``, ``llm.key_variable``). With ``--offline``
    answers come from the journal alone and no connection is opened.

    Args:
        session: of the command.
        model: the endpoint's name of it; None where the option was not given, as below.
        base_url: its address.
        key_variable: name of the environment variable that holds the key.
        budget: see :func:`read_limits`.
        lanes: calls under way at once; None for the default.
        journal: the journal's file; None for the user's own.

    Raises:
        UsageError: a limit cannot be understood, or no model is named anywhere.
    """
    from aspectra.llm.assemble import ModelSettings

    session.flags.update(
        {
            "llm.model": model or None,
            "llm.base_url": base_url or None,
            "llm.key_variable": key_variable or None,
        }
    )
    session.__dict__.pop("config", None)  # what was read before these flags came is read again
    config = session.config
    if not config["llm.model"]:
        raise UsageError(
            "no language model is named",
            why="nothing is asked of a model unless you name one",
            hint="--model NAME --base-url URL, or: aspectra config set llm.model NAME (docs/models.md)",
        )
    plain = ModelSettings()
    return ModelSettings(
        model=config["llm.model"],
        base_url=config["llm.base_url"],
        key_variable=config["llm.key_variable"],
        limits=read_limits(budget),
        lanes=plain.lanes if lanes is None else lanes,
        journal=journal,
        offline=bool(config["offline"]),
    )


def currency_of(prices: Path | None = None) -> str:
    """The price file's currency, or "" where it names none; None for the user's own file."""
    from aspectra.llm.prices import Prices, default_prices

    return Prices.read(prices or default_prices()).currency


def cost_in_words(cost: Cost, currency: str = "") -> str:
    """A cost for people; money that is not known is said to be unknown, never 0.

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
