"""Presets: which reference implementation a number follows.

A preset sets the parameters that the spelling of a measure leaves out, the order of equal scores, and how
topics are averaged. Every report names it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources

from aspectra.base.checking import unknown_name
from aspectra.base.values import Value
from aspectra.lab.measures.protocol import Measure, parse
from aspectra.lab.runs.judged import Order, Precision


class Preset(Value, frozen=True):
    """A named way to evaluate.

    Attributes:
        name: as reports give it.
        about: one line for people.
        order: how equal scores are told apart.
        precision: of the scores when compared.
        defaults: family -> parameters, where a spelling leaves them out.
        renames: family -> family put in its place.
        average: labels, finest first: topics are averaged within them before their plain mean is taken.
        measures: reported where none is named.
    """

    name: str
    about: str
    order: Order = "id-descending"
    precision: Precision = "float64"
    defaults: dict[str, dict[str, str | int | float | bool]] = {}  # noqa: RUF012 - copied for each value
    renames: dict[str, str] = {}  # noqa: RUF012 - as above
    average: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("nDCG@10", "R@100", "MRR@10", "AP")

    def parse(self, text: str) -> Measure:
        """The measure that ``text`` spells under this preset.

        >>> get_preset("csfcube").parse("nDCG@20"), get_preset("csfcube").parse("P@20")
        (csfcube_ndcg@20, P(rel=2)@20)
        """
        return parse(text, self.defaults, self.renames)


def _read() -> dict[str, Preset]:
    text = (resources.files("aspectra.lab.evaluation") / "presets.toml").read_text("utf-8")
    return {name: Preset.from_dict({"name": name, **held}) for name, held in tomllib.loads(text).items()}


PRESETS: Mapping[str, Preset] = _read()


def get_preset(name: str) -> Preset:
    """The preset called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in PRESETS:
        raise unknown_name(f"there is no preset called {name!r}", name, PRESETS)
    return PRESETS[name]
