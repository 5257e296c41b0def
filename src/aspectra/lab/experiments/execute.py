"""Running a study in its directory, and scoring its recorded rankings again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import BadInput, LibraryBusy, UsageError
from aspectra.base.files import make_folder, write_durably
from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.lab.experiments.directory import (
    FILES,
    Opened,
    Study,
    cell_facts,
    corpus_hash,
    library_folder,
    manifest,
    read_oracle,
    save_study,
    write_json,
)
from aspectra.lab.experiments.experiment import (
    BASE_MODE,
    Cell,
    Models,
    PaperVectors,
    Records,
    benchmark_library,
    library_state,
    paper_vectors,
    run_cells,
)
from aspectra.lab.experiments.scoring import CellOutcome, labels_of, score_cell
from aspectra.lab.reports.scores import System, main_tables, read_systems
from aspectra.lab.reports.tables import render
from aspectra.lab.runs.run import Run
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.search.searcher import Searcher
from aspectra.views.encoders.protocol import Encoder, load_encoder

# Rankings made from judgements: ceilings, and those of people.
#
# A ceiling is what a recipe's rankings become when what complies with an instruction is told without error.
#
# Of the documents on the subject (relevant in the original mode), those that comply (relevant in the mode)
# go before everything else and the others behind it, each in the order in which the recipe ranked them.
# What other documents are like is not judged, so they keep their places.
#
# A person's ranking is the order of the ratings that this person alone gave, equal ones by id as in every
# ranking, those that were not rated last.


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
            else:
                on_subject = _relevant(qrels[BASE_MODE].get(base.topic, {}))
                comply = _relevant(qrels[base.mode].get(base.topic, {})) & on_subject
                if base.mode == BASE_MODE:
                    on_subject = comply = set()
                order = sorted(base.ids, key=lambda i: 0 if i in comply else 2 if i in on_subject else 1)
            scores = tuple(-float(place) for place in range(len(order)))
            records.add(replace(base, cell=cell.key, ids=tuple(order), scores=scores))
            made += 1
    return made


def _relevant(grades: Mapping[str, float]) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}


@dataclass(frozen=True)
class Finished:
    """The result of one run of a study.

    Attributes:
        outcomes: scores of every cell.
        made: rankings made now.
        kept: rankings that had been recorded before.
        failures: topics that could not be ranked, one sentence each.
    """

    outcomes: tuple[CellOutcome, ...]
    made: int
    kept: int
    failures: tuple[str, ...]

    @property
    def scores(self) -> list[System]:
        """The outcomes as tables take them, see :func:`scores_of`."""
        return scores_of(self.outcomes)


def run_study(
    study: Study,
    folder: Path,
    libraries: Path,
    *,
    incomplete: bool = False,
    progress: Progress = quiet,
    load: Callable[[str], Encoder] = load_encoder,
    model: ChatModel | None = None,
) -> Finished:
    """Run a study in its directory; rankings recorded there are not made again.

    Args:
        study: what is to be measured.
        folder: the experiment directory; made when it does not exist.
        libraries: where the benchmarks' libraries are kept.
        incomplete: average although topics could not be ranked.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.
        model: the language model that stages call, where the study names no oracle.

    Raises:
        LibraryBusy: another process runs a study in this directory.
        BadInput: a benchmark cannot be read, or topics could not be ranked and ``incomplete`` is False.
        UsageError: the study needs something that a benchmark does not have.
    """
    make_folder(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(WriterLock(folder, "bench run"))
        except LibraryBusy as error:
            raise LibraryBusy(
                f"an experiment is running in {folder}", why=error.why, hint="wait, or use another --output"
            ) from error
        benchmarks = study.benchmarks()
        settings = study.settings()
        searchers: dict[str, Searcher] = {}
        for name, benchmark in benchmarks.items():
            corpus = corpus_hash(benchmark)
            place = library_folder(libraries, benchmark, settings, corpus, study.among)
            place.parent.mkdir(parents=True, exist_ok=True)
            searcher = benchmark_library(
                benchmark,
                place,
                settings,
                corpus=corpus,
                among=Path(study.among) if study.among else None,
                progress=progress,
                load=load,
            )
            searchers[name] = stack.enter_context(searcher)
        remote = study.repeats > 1 and any(load(spec).remote for spec in settings.encoders)
        states = {name: library_state(searcher) for name, searcher in searchers.items()}
        models, name = _models(study, model)
        cells = study.cells(benchmarks, states, remote=remote, model=name)
        save_study(folder, study, cells, remote=remote, model=name)
        failures: list[str] = []
        with Records(folder / FILES["records"]) as records:
            made = run_cells(
                [cell for cell in cells if not cell.ceiling_of],
                searchers,
                records,
                modes=study.modes or None,
                progress=progress,
                failures=failures,
                model=models,
            )
            if failures and not incomplete:
                raise BadInput(
                    f"{len(failures):,} rankings could not be made",
                    why="; ".join(failures[:3]),
                    hint="use --incomplete to leave them out of the means",
                )
            made += add_ceilings(cells, records)
            kept = sum(len(records.of(cell.key)) for cell in cells) - made
            vectors = {name: paper_vectors(searcher) for name, searcher in searchers.items()}
            outcomes = _score(cells, records, study, incomplete, vectors)
            found = results(outcomes)
            write_json(folder / FILES["results"], found)
            facts = manifest(study, outcomes, records, searchers, results=found)
            write_json(folder / FILES["manifest"], {**facts, "failures": failures})
        for name, table in main_tables(scores_of(outcomes, held=found)).items():
            make_folder(folder / FILES["tables"])
            write_durably(folder / FILES["tables"] / f"{name}.md", render(table, "markdown"))
    return Finished(tuple(outcomes), made, kept, tuple(failures))


def _models(study: Study, model: ChatModel | None) -> tuple[Models | None, str]:
    """The model for each topic (None where no recipe needs one), and its name in cells."""
    if not study.needs_model:
        return None, ""
    if study.oracle is not None:
        oracle = read_oracle(study.oracle)

        def about(benchmark: Benchmark, topic: Topic, mode: str) -> ChatModel:
            sets = benchmark.qrels
            judged = sets[mode] if mode in sets else sets.get("gold", next(iter(sets.values()), {}))
            return oracle.about(judged.get(topic.id, {}))

        return about, oracle.name
    if model is None:
        raise UsageError(
            "a recipe needs a language model, and none was named",
            hint="aspectra config set llm.model NAME, or --oracle error=0.1 for a simulated one",
        )
    return lambda *_: model, model.name


def score_study(
    opened: Opened, *, preset: str = "", measures: Sequence[str] = (), incomplete: bool = False
) -> list[CellOutcome]:
    """Score the rankings of a directory again; nothing is ranked.

    Args:
        opened: the directory.
        preset: default: the study's.
        measures: default: the study's.
        incomplete: average although rankings are missing.

    Raises:
        BadInput: a benchmark's files are not those of the run, or rankings are missing.
    """
    study = replace(
        opened.study, preset=preset or opened.study.preset, measures=tuple(measures) or opened.study.measures
    )
    _, cells = opened.load()
    with Records(opened.file("records"), write=False) as records:
        return _score(cells, records, study, incomplete)


def _score(
    cells: Sequence[Any],
    records: Records,
    study: Study,
    incomplete: bool,
    vectors: Mapping[str, PaperVectors] | None = None,
) -> list[CellOutcome]:
    return [
        score_cell(
            cell,
            records,
            preset=study.preset,
            measures=study.measures,
            modes=study.modes or None,
            incomplete=incomplete,
            vectors=(vectors or {}).get(cell.benchmark.name),
        )
        for cell in cells
    ]


def results(outcomes: Sequence[CellOutcome]) -> dict[str, Any]:
    """Everything that was scored, by unit and unrounded, and nothing that changes from run to run."""
    benchmarks = {o.cell.benchmark.name: o.cell.benchmark for o in outcomes}
    return {
        "format": 1,
        "benchmarks": {
            name: {
                **b.facts(),
                "judgement_hash": b.judgement_hash,
                "labels": {topic: held for topic, held in labels_of(b).items() if held},
            }
            for name, b in benchmarks.items()
        },
        "cells": [_cell(outcome) for outcome in outcomes],
    }


def _cell(outcome: CellOutcome) -> dict[str, Any]:
    sets = {}
    for name, evaluation in outcome.evaluations.items():
        value = evaluation.to_dict()
        for row, score in zip(value["scores"], evaluation.scores, strict=True):
            key = (name, str(score.measure), score.mode)
            if key in outcome.deviations:
                row["deviation"] = outcome.deviations[key]
        sets[name] = value
    return {
        **cell_facts(outcome),
        "recipe": outcome.name,
        "runs": outcome.cell.runs,
        "deterministic": outcome.cell.deterministic,
        "notes": list(outcome.notes),
        **({"failed": outcome.failed} if outcome.failed else {}),
        **(
            {"unanswered": [tally.unanswered, tally.questions]} if (tally := outcome.tally).unanswered else {}
        ),
        "sets": sets,
    }


def scores_of(
    outcomes: Sequence[CellOutcome], where: str = "", held: Mapping[str, Any] | None = None
) -> list[System]:
    """Outcomes as tables take them: with what making the rankings took, which ``results.json`` leaves out.

    Args:
        outcomes: of any cells.
        where: name of the experiment that they are from.
        held: their :func:`results`, where they are known already.
    """
    found = held or results(outcomes)
    cells = [
        {
            **cell,
            "seconds": outcome.seconds,
            "cost": outcome.cost,
            "labels": {unit: own for e in outcome.evaluations.values() for unit, own in e.labels.items()},
        }
        for cell, outcome in zip(found["cells"], outcomes, strict=True)
    ]
    return read_systems(where, {**found, "cells": cells})


def recorded_run(
    opened: Opened,
    cell: Mapping[str, str],
    *,
    mode: str = "original",
    repeat: int = 0,
    incomplete: bool = False,
) -> Run:
    """The recorded rankings of one cell in one mode, as a run.

    Args:
        opened: the directory.
        cell: one of :attr:`Description.cells`.
        mode: whose rankings.
        repeat: of several runs, which.
        incomplete: leave out rankings in which calls to a model failed.

    Raises:
        UsageError: nothing is recorded of it, or calls failed in it.
    """
    with Records(opened.file("records"), write=False) as records:
        held = records.of(cell["cell"])
    chosen = [r for r in held if r.mode == mode and r.repeat == repeat]
    if not chosen:
        modes = ", ".join(sorted({r.mode for r in held})) or "nothing"
        raise UsageError(
            f"nothing is recorded of {cell['recipe']} on {cell['benchmark']} in mode {mode}, run {repeat}",
            why=f"recorded: {modes}",
        )
    if (failed := sum(r.failed for r in chosen)) and not incomplete:
        raise UsageError(
            f"calls to the model failed in {failed:,} of {len(chosen):,} rankings of {cell['recipe']}",
            why="those are rankings of the stage before it",
            hint=f"aspectra bench run --output {opened.folder} asks again; --incomplete leaves them out",
        )
    data = {r.topic: dict(zip(r.ids, r.scores, strict=True)) for r in chosen if not r.failed}
    return Run(data, cell["recipe"])
