"""The lab: score runs, compare them, run experiments on benchmarks.

Measures are values: ``nDCG@10``, ``R(rel=2)@5``, ``AP()``. Every registered measure is an attribute of this
package under its name (``p_MRR`` for ``p-MRR``), not only those listed here. Importing the package loads
nothing; each name is loaded when it is first used.

>>> from aspectra.lab import AP, Qrels, Run, compare, evaluate, nDCG
>>> qrels = Qrels({"q1": {"a": 1}, "q2": {"c": 2}, "q3": {"d": 1}})
>>> good = Run({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"b": 2.0, "d": 1.0}})
>>> poor = Run({"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}, "q3": {"b": 1.0}})
>>> scored = [evaluate([nDCG@10, AP], qrels, run) for run in (poor, good)]
>>> [round(one[nDCG@10].mean, 4) for one in scored]
[0.5436, 0.877]
>>> test = compare(scored[0]["AP"].values, {"good": scored[1]["AP"].values})["good"]
>>> round(test.difference, 4), test.units
(0.3333, 3)
"""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aspectra.lab.evaluation.calculate import evaluate
    from aspectra.lab.evaluation.means import Evaluation, Score
    from aspectra.lab.measures.protocol import Measure
    from aspectra.lab.measures.protocol import parse as parse_measure
    from aspectra.lab.measures.rankings import average_precision as AP  # noqa: N812
    from aspectra.lab.measures.rankings import ndcg as nDCG  # noqa: N812
    from aspectra.lab.measures.rankings import precision as P  # noqa: N812
    from aspectra.lab.measures.rankings import r_precision as R_precision  # noqa: N812
    from aspectra.lab.measures.rankings import recall as R  # noqa: N812
    from aspectra.lab.measures.rankings import reciprocal_rank as MRR  # noqa: N812
    from aspectra.lab.measures.rankings import success as Success  # noqa: N812
    from aspectra.lab.runs.run import Qrels, Run
    from aspectra.lab.statistics.significance import Comparison, compare

    read_qrels = Qrels.read
    read_run = Run.read

__all__ = [
    "AP",
    "MRR",
    "Comparison",
    "Evaluation",
    "Measure",
    "P",
    "Qrels",
    "R",
    "R_precision",
    "Run",
    "Score",
    "Success",
    "compare",
    "evaluate",
    "nDCG",
    "parse_measure",
    "read_qrels",
    "read_run",
]

_WHERE = {
    "Comparison": ("statistics.significance", "Comparison"),
    "Evaluation": ("evaluation.means", "Evaluation"),
    "Measure": ("measures.protocol", "Measure"),
    "Qrels": ("runs.run", "Qrels"),
    "Run": ("runs.run", "Run"),
    "Score": ("evaluation.means", "Score"),
    "compare": ("statistics.significance", "compare"),
    "evaluate": ("evaluation.calculate", "evaluate"),
    "parse_measure": ("measures.protocol", "parse"),
    "read_qrels": ("runs.run", "Qrels.read"),
    "read_run": ("runs.run", "Run.read"),
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module, attribute = _WHERE[name]
        return attrgetter(attribute)(importlib.import_module(f"{__name__}.{module}"))
    if not name.startswith("_"):
        measures = importlib.import_module(f"{__name__}.measures.protocol").MEASURES
        for family in map(measures.get, measures):
            if family.identifier == name:
                return family
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    measures = importlib.import_module(f"{__name__}.measures.protocol").MEASURES
    return sorted({*globals(), *__all__, *(measures.get(name).identifier for name in measures)})
