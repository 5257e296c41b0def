"""Presets: which reference implementation a number follows.

A preset sets the parameters that the spelling of a measure leaves out, the order of equal scores, and how
topics are averaged. Every report names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from aspectra.base.errors import UsageError
from aspectra.lab.measures.protocol import Measure, Value, parse
from aspectra.lab.runs.judged import Order, Precision

__all__ = ["PRESETS", "Preset", "get_preset"]


@dataclass(frozen=True)
class Preset:
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
    defaults: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    average: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("nDCG@10", "R@100", "MRR@10", "AP")

    def parse(self, text: str) -> Measure:
        """The measure that ``text`` spells under this preset.

        >>> get_preset("csfcube").parse("nDCG@20"), get_preset("csfcube").parse("P@20")
        (csfcube_ndcg@20, P(rel=2)@20)
        """
        return parse(text, self.defaults, self.renames)


_INSTRUCTION = ("nDCG@10", "MRR@1", "Robustness@10", "SICR", "p-MRR", "WISE@20", "WISE-ideal@20", "Per@20")
_FORK: Mapping[str, Value] = {"rule": "fork"}
_REL2: Mapping[str, Value] = {"rel": 2.0}

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("paper", "the papers' definitions, with the field's order of ties (default)"),
        Preset(
            "fork",
            "InfoSearch's public code: ties in input order, its rules for WISE and SICR",
            order="input",
            defaults={
                "WISE": _FORK,
                "WISE-ideal": _FORK,
                "Per": _FORK,
                "SICR": {"rule": "fork", "missing": "zero"},
            },
            measures=_INSTRUCTION,
        ),
        Preset("trec", "trec_eval: scores compared as 32-bit floats", precision="float32"),
        Preset(
            "csfcube",
            "CSFCube's tool: its DCG, relevant from grade 2, means of folds",
            order="input",
            defaults={
                **dict.fromkeys(
                    ("R", "P", "R-precision", "Success", "MRR", "csfcube_r_precision", "F1", "p-MRR"), _REL2
                ),
                "AP": {"rel": 2.0, "base": "found"},
            },
            renames={"nDCG": "csfcube_ndcg"},
            average=("fold",),
            measures=("csfcube_r_precision", "P@20", "R@20", "nDCG", "nDCG@20", "NDCG%20"),
        ),
        Preset(
            "litsearch-tool",
            "LitSearch's public code: its own nDCG, rankings as given",
            order="input",
            renames={"nDCG": "litsearch_ndcg"},
            measures=("R@5", "R@20", "nDCG@10"),
        ),
        Preset(
            "followir-2024",
            "FollowIR's code of 2024 (mteb 1.12): ties in input order",
            order="input",
            measures=("p-MRR", "nDCG@5", "AP(cut=1000)"),
        ),
        Preset(
            "mteb", "mteb 2.20: ties by document id, descending", measures=("p-MRR", "nDCG@5", "AP(cut=1000)")
        ),
    )
}


def get_preset(name: str) -> Preset:
    """The preset called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        raise UsageError(
            f"there is no preset called {name!r}",
            why="known: " + ", ".join(PRESETS),
            hint=f"did you mean {near[0]}?" if near else "",
        )
    return PRESETS[name]
