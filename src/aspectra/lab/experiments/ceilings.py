"""Ceilings: what a recipe's rankings become when what complies with an instruction is told without error.

Of the documents on the subject (relevant in the original mode), those that comply (relevant in the mode) go
before everything else and the others behind it, each in the order in which the recipe ranked them. What other
documents are like is not judged, so they keep their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.lab.experiments.experiment import BASE_MODE, Cell
from aspectra.lab.experiments.records import Records

__all__ = ["add_ceilings"]


def add_ceilings(cells: Iterable[Cell], records: Records) -> int:
    """Record the rankings of those cells that are ceilings of others; returns how many were made.

    Args:
        cells: of a study.
        records: with the rankings of the cells that they are ceilings of.

    Raises:
        UsageError: a benchmark has no judgements by mode.
    """
    made = 0
    for cell in cells:
        if not cell.ceiling_of:
            continue
        qrels = cell.benchmark.qrels
        if BASE_MODE not in qrels:
            raise UsageError(f"{cell.benchmark.name} has no modes, so that nothing has a ceiling there")
        for base in records.of(cell.ceiling_of):
            held = records.get(cell.key, base.topic, base.mode, base.repeat)
            if held is not None and not held.failed:
                continue
            on_subject = _relevant(qrels[BASE_MODE].get(base.topic, {}))
            comply = _relevant(qrels[base.mode].get(base.topic, {})) & on_subject
            if base.mode == BASE_MODE:
                on_subject = comply = set()
            groups: tuple[list[str], list[str], list[str]] = ([], [], [])
            for paper in base.ids:
                groups[0 if paper in comply else 2 if paper in on_subject else 1].append(paper)
            ids = tuple(paper for group in groups for paper in group)
            scores = tuple(-float(place) for place in range(len(ids)))
            records.add(replace(base, cell=cell.key, ids=ids, scores=scores))
            made += 1
    return made


def _relevant(grades: Mapping[str, float]) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}
