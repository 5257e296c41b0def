"""Asking several probes at once: those on one view of units share one pass over its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aspectra.views.dense.view import DenseView
from aspectra.views.index import Index
from aspectra.views.view import Floats, Probe, Scored

__all__ = ["Asked", "ask"]


class Asked(NamedTuple):
    """A probe's answer.

    Attributes:
        scored: of every paper in order of position.
        by_unit: (units,) scores of units, where they were asked for and the view has units; else None.
    """

    scored: Scored
    by_unit: Floats | None = None


def ask(index: Index, probes: Sequence[Probe], *, keep_units: bool = False) -> list[Asked]:
    """Scores of all papers for each probe, in order.

    Args:
        index: what is asked.
        probes: the questions.
        keep_units: hand out the scores of units too.
    """
    out: list[Asked | None] = [None] * len(probes)
    shared: dict[str, list[int]] = {}
    for number, probe in enumerate(probes):
        view = index.view(probe.view)
        if isinstance(view, DenseView) and view.shares(probe):
            shared.setdefault(probe.view, []).append(number)
        else:
            out[number] = Asked(view.score(probe))
    for name, numbers in shared.items():
        view = index.view(name)
        if isinstance(view, DenseView):
            found = view.score_many([probes[n] for n in numbers], keep_units=keep_units)
            for number, (scored, by_unit) in zip(numbers, found, strict=True):
                out[number] = Asked(scored, by_unit)
    return [answer for answer in out if answer is not None]
