"""What a study lacks on this computer: files of its benchmarks, an encoder, a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.lab.experiments.study import Study
from aspectra.llm.chat import ChatModel
from aspectra.search.stages.protocol import load_stages
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.settings import IndexSettings


@dataclass(frozen=True)
class Need:
    """Why a study was not run.

    Attributes:
        kind: ``data`` or ``model``.
        text: what is needed, and where it is: one line.
        model: what it needs of models besides, where its data are missing, or "".
    """

    kind: Literal["data", "model"]
    text: str
    model: str = ""


def lacking(
    study: Study,
    *,
    load: Callable[[str], Encoder],
    answering: Callable[[str], ChatModel] | None,
    known: Mapping[str, str] = MappingProxyType({}),
) -> Need | None:
    """What a study lacks, or None.

    Models are loaded only where all files are there, since that takes longer.

    Args:
        study: is not changed.
        load: makes an encoder from its specification.
        answering: makes a language model from its name at the endpoint, "" for the one that the settings
            name; None where there is no endpoint.
        known: specification of an encoder -> what must be downloaded for it.
    """
    for source in study.sources:
        if not Path(source.path).exists():
            try:
                source.open()
            except BadInput as error:
                return Need("data", _one_line(error), "; ".join(_models(study, known)))
        for run in source.pooling.runs if source.pooling else ():
            if not Path(run).exists():
                return Need("model", f"the rankings of {Path(run).name}, which were not made")
    tried: list[tuple[str, Callable[[], object]]] = [
        (_needed(spec, known), partial(load, spec)) for spec in study.settings().encoders
    ]
    tried += [
        (recipe.stages[-1], partial(load_stages, recipe.stages)) for recipe in study.recipes if recipe.stages
    ]
    if study.calls_model:
        tried.append(
            (f"language model {study.model}".rstrip(), partial(answering or _no_endpoint, study.model))
        )
    found: list[str] = []
    for what, attempt in tried:
        try:
            attempt()
        except AspectraError as error:
            found.append(f"{what} ({error.hint or error.what})")
    return Need("model", "; ".join(dict.fromkeys(found))) if found else None


def absent_data(error: BadInput) -> Need | None:
    """The need behind an error that a benchmark's loader raised, or None where it is another error."""
    return Need("data", _one_line(error)) if error.why.startswith("needs data: ") else None


def _models(study: Study, known: Mapping[str, str]) -> list[str]:
    """Models that a study names, not whether they are there."""
    named = [_needed(spec, known) for spec in study.encoders or () if spec not in IndexSettings().encoders]
    return named + ([f"language model {study.model}"] if study.calls_model else [])


def _needed(spec: str, known: Mapping[str, str]) -> str:
    """What must be downloaded for an encoder; a specification may have further options."""
    longest = max((one for one in known if one and spec.startswith(one)), key=len, default="")
    return known.get(longest, f"encoder {spec}")


def _no_endpoint(name: str) -> None:
    raise UsageError(f"no endpoint for {name or 'a language model'} is named")


def _one_line(error: AspectraError) -> str:
    why = (error.why or error.what).removeprefix("needs data: ")
    return "; ".join(part.strip() for part in (why, error.hint) if part)
