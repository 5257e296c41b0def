"""Rankings made from judgements: ceilings, and those of people.

A ceiling is what a recipe's rankings become when what complies with an instruction is told without error.

Of the documents on the subject (relevant in the original mode), those that comply (relevant in the mode) go
before everything else and the others behind it, each in the order in which the recipe ranked them. What other
documents are like is not judged, so they keep their places.

A person's ranking is the order of the ratings that this person alone gave, equal ones by id as in every
ranking, those that were not rated last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.lab.experiments.experiment import BASE_MODE, Cell
from aspectra.lab.experiments.records import Record, Records


def add_ceilings(cells: Iterable[Cell], records: Records) -> int:
    """Record the rankings of those cells that are ceilings of others; returns how many were made.

    Args:
        cells: of a study.
        records: with the rankings of the cells that they are ceilings of.

    Raises:
        UsageError: a benchmark has no judgements by mode, or no ratings of a person.
    """
    made = 0
    for cell in cells:
        if not cell.ceiling_of:
            continue
        qrels, people = cell.benchmark.qrels, cell.benchmark.people
        if cell.person and cell.person not in people:
            raise UsageError(
                f"{cell.benchmark.name} has no ratings of {cell.person!r} alone",
                why="people: " + (", ".join(people) or "none"),
            )
        if not cell.person and BASE_MODE not in qrels:
            raise UsageError(f"{cell.benchmark.name} has no modes, so that nothing has a ceiling there")
        for base in records.of(cell.ceiling_of):
            held = records.get(cell.key, base.topic, base.mode, base.repeat)
            if held is not None and not held.failed:
                continue
            if cell.person:
                rated = people[cell.person].get(base.topic, {})
                order = sorted(base.ids, key=lambda i: (rated.get(i, -1.0), i), reverse=True)
                records.add(_placed(base, cell, order))
                made += 1
                continue
            on_subject = _relevant(qrels[BASE_MODE].get(base.topic, {}))
            comply = _relevant(qrels[base.mode].get(base.topic, {})) & on_subject
            if base.mode == BASE_MODE:
                on_subject = comply = set()
            groups: tuple[list[str], list[str], list[str]] = ([], [], [])
            for paper in base.ids:
                groups[0 if paper in comply else 2 if paper in on_subject else 1].append(paper)
            records.add(_placed(base, cell, [paper for group in groups for paper in group]))
            made += 1
    return made


def _placed(base: Record, cell: Cell, ids: Sequence[str]) -> Record:
    scores = tuple(-float(place) for place in range(len(ids)))
    return replace(base, cell=cell.key, ids=tuple(ids), scores=scores)


def _relevant(grades: Mapping[str, float]) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}
