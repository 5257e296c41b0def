"""``bench build``, ``figure``, ``report``, ``gap``: benchmarks of your own papers, pictures, verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from aspectra.app import options
from aspectra.app.options import language_model, language_models
from aspectra.app.output.experiments import library_home, note_made, sources_of, write_tables
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import Names, argument, option
from aspectra.app.terminal.screen import count, write_file
from aspectra.base.errors import UsageError
from aspectra.base.values import replace

if TYPE_CHECKING:
    from aspectra.base.display import Progress
    from aspectra.lab.construction.build import Built
    from aspectra.lab.experiments.directory import Source, Study
    from aspectra.lab.reports.tables import Table
    from aspectra.search.recipe import Recipe

Directories = Annotated[list[Path], argument("Directories of experiments, or of a study.", "DIR...")]
Systems = Annotated[Names, option("Only this system; again for more.", "--system")]
Benchmark = Annotated[str, option("Only this benchmark.", "--benchmark")]
Protocol = Annotated[str, option("Only pool, or collection.", "--protocol")]
Libraries = Annotated[Path | None, option("Where indexed corpora are kept, for map.", metavar="DIR")]


@common
def figure(
    session: Session,
    kind: Annotated[
        str, argument("means, radar, recall, movement, tradeoff, cost, deltas, diversity or map.", "KIND")
    ],
    directories: Directories,
    output: Annotated[Path, option("Folder of the files [figures].", "-o", metavar="DIR")] = Path("figures"),
    measure: options.Measures = None,
    mode: Annotated[str, option("Original, instructed or reversed ranking.")] = "",
    system: Systems = None,
    baseline: options.Baseline = "",
    by: options.By = None,
    benchmark: Benchmark = "",
    protocol: Protocol = "",
    cost: Annotated[str, option("ms/query, calls/query, tokens/query, money [ms/query].")] = "ms/query",
    test: options.Test = "t",
    correction: options.Correction = "bonferroni",
    query: Annotated[Names, option("A query of map; again for more.", metavar="ID")] = None,
    depth: Annotated[int, option("Papers of each ranking in map [100].")] = 100,
    seed: Annotated[int, option("Of t-SNE [0].")] = 0,
    perplexity: Annotated[float, option("Of t-SNE [30].", metavar="N")] = 30.0,
    libraries: Libraries = None,
) -> None:
    """Draw what experiments recorded, as SVG, PNG and CSV.

    means (every measure), radar (by dimension or facet), recall (at growing cuts), movement (ranks under
    instructions), tradeoff (relevance and p-MRR), cost (quality and time or calls), deltas (query by query,
    with tests), diversity, map (t-SNE of what was found). Needs the extra `plot`.

    Example:  aspectra bench figure deltas exp/1 --baseline bm25 -o figures
    """
    from aspectra.lab.figures.drawing import write_drawing
    from aspectra.lab.figures.kinds import draw
    from aspectra.lab.figures.recorded import FigureChoice, open_all

    chosen = FigureChoice(
        measures=tuple(measure or ()),
        mode=mode,
        systems=tuple(system or ()),
        baseline=baseline,
        benchmark=benchmark,
        protocol=protocol,
        by=by or "",
        cost=cost,
        queries=tuple(query or ()),
        depth=depth,
        seed=seed,
        perplexity=perplexity,
        test=test,
        correction=correction,
        libraries=libraries or library_home(),
    )
    drawn = draw(kind, open_all(directories), chosen)
    for drawing in drawn:
        session.screen.line(str(write_drawing(drawing, output)[0]))
    session.screen.note(f"Drew {count(len(drawn), 'figure')}, each with PNG and CSV beside it.")


@common
def report(
    session: Session,
    directories: Directories,
    output: Annotated[Path, option("The page [report.html].", "-o")] = Path("report.html"),
    measure: options.Measures = None,
    mode: Annotated[str, option("Original, instructed or reversed ranking.")] = "",
    system: Systems = None,
    baseline: options.Baseline = "",
    benchmark: Benchmark = "",
    protocol: Protocol = "",
    test: options.Test = "t",
    correction: options.Correction = "bonferroni",
) -> None:
    """Write experiments as one HTML page.

    It opens with a verdict in plain words; then tables, figures with their numbers, and what these depend
    on. The page needs no script and requests nothing. Figures need the extra `plot`; without it they are
    left out, and the page says so.

    Example:  aspectra bench report exp/1 --baseline bm25 -o report.html
    """
    from aspectra.lab.figures.recorded import FigureChoice, open_all
    from aspectra.lab.pages.report import report_page

    chosen = FigureChoice(
        measures=tuple(measure or ()),
        mode=mode,
        systems=tuple(system or ()),
        baseline=baseline,
        benchmark=benchmark,
        protocol=protocol,
        test=test,
        correction=correction,
    )
    page = report_page(open_all(directories), chosen)
    write_file(output, page.html)
    session.screen.lines(page.verdict)
    for sentence in page.left_out:
        session.screen.warn(f"left out: {sentence}")
    session.screen.note(f"The page is {output}.")


# ``bench build``: a benchmark made from a library's own papers.


@common
def build(
    session: Session,
    recipe: Annotated[
        str,
        argument(
            "author-questions, authorship, citation-pairs, citation-questions, citing-sentences, conditions, "
            "latent-queries, rewritten-conditions, shared-labels, tip-of-the-tongue; or a TOML file.",
            "RECIPE",
        ),
    ],
    out: Annotated[
        Path | None,
        option("The directory of everything [experiments/RECIPE].", "--output", "-o", metavar="DIR"),
    ] = None,
    settings: Annotated[
        Names, option("An option of a step; again for more.", "--option", metavar="STEP.OPTION=VALUE")
    ] = None,
    until: Annotated[str, option("The last step to do.", metavar="STEP")] = "",
    estimate: Annotated[bool, option("Write nothing; ask no model.")] = False,
    format: options.Format = "markdown",  # noqa: A002
) -> None:
    """Build a benchmark from the library's papers.

    If it is stopped, rerun the command: steps that are done are kept. The set lies in DIR/set, with a card,
    in a published layout that bench run reads.

    Example:  aspectra bench build authorship --option groups.file=authors.jsonl -o made

    Then:  aspectra bench run obliq=made/set -r bm25 -r hybrid -o exp/made
    """
    from aspectra.lab.construction.build import build_set
    from aspectra.lab.construction.export import LAYOUTS
    from aspectra.lab.construction.protocol import STEPS, BuildRecipe

    chosen = BuildRecipe.named(recipe).changed(settings or ())
    folder = out or Path("experiments") / chosen.name
    asks = not estimate and any(STEPS.get(name).model for name in chosen.step_names(until))
    with language_model(session) if asks else nullcontext() as model, session.open_library() as library:
        built = build_set(chosen, library.store, folder, until=until, estimate=estimate, model=model)
    write_tables(session, [_table(chosen.name, built)], format)
    if built.folder is None:
        held = f"The step {built.waiting} comes next." if built.waiting else "Every step can be done."
        if estimate and built.waiting and STEPS.get(built.waiting).model:
            held = (
                f"The step {built.waiting} asks a language model {len(built.made.drafts):,} times, or more."
            )
        session.screen.note(built.todo or f"{held} {'Nothing was written.' if estimate else ''}".strip())
        return
    session.screen.note(f"The set is in {built.folder}, its card is {built.folder / 'README.md'}.")
    loader = LAYOUTS[chosen.layout].loader
    session.screen.next(f"aspectra bench run {loader}={built.folder} -r bm25 -r hybrid -o exp/{chosen.name}")


def _table(name: str, built: Built) -> Table:
    """Table of the construction steps: queries, documents and judgements after each, and those left out."""
    from aspectra.lab.reports.tables import Table

    rows = [(one.name, one.queries, one.documents, one.judged, one.left_out) for one in built.steps]
    found = [
        f"{one.name}: {what}: {value}" for one in built.steps for what, value in sorted(one.found.items())
    ]
    kept = [f"{one.name} was there already" for one in built.steps if one.kept]
    columns = ("step", "queries", "documents", "judged", "left out")
    return Table(f"Building {name}", columns, tuple(rows), (*found, *kept, *built.verdict, *built.problems))


_RETRIEVERS = ("bm25", "dense", "hybrid")
_SIZES = (10, 20, 50, 100, 200)
_ALL = 10_000  # more documents than a pool has


@common
def gap(
    session: Session,
    given: Annotated[
        list[str], argument("Directories of experiments; or a benchmark and its files.", "DIR|NAME=FOLDER")
    ],
    recipe: Annotated[
        Names, option("A retriever; again for more [bm25, dense, hybrid].", "-r", metavar="SPEC")
    ] = None,
    run: Annotated[list[Path] | None, option("A run file of another system.")] = None,
    agent: Annotated[Names, option("A system that searches in several steps.")] = None,
    without: Annotated[Names, option("A system that gives no document to the pools.")] = None,
    verifier: Annotated[
        Names, option("Judge and sorter, or a recipe [listwise+tournament].", metavar="SPEC")
    ] = None,
    size: Annotated[
        list[int] | None, option("Documents of a pool [10, 20, 50, 100, 200].", "-k", metavar="K")
    ] = None,
    inject: Annotated[str, option("Judgements whose documents are put in [gold].")] = "gold",
    leave_one_out: Annotated[bool, option("Retrievers too rank the pools of the others.")] = False,
    measure: Annotated[str, option("Of both sides [nDCG@10].", "-m")] = "nDCG@10",
    oracle: options.OracleRates = None,
    option: options.LoaderOption = None,
    no_encoder: Annotated[bool, option("Words only: no vectors.")] = False,
    out: Annotated[
        Path | None, option("The directory of everything [experiments/gap].", "--output", "-o", metavar="DIR")
    ] = None,
    libraries: Annotated[Path | None, option("Where indexed corpora are kept.", metavar="DIR")] = None,
    estimate: Annotated[bool, option("Only count the calls and tokens.")] = False,
    format: options.Format = "markdown",  # noqa: A002
) -> None:
    """The gap between retrieval and verification.

    Pools are the first documents of all systems. A verifier ranks each pool as it was found (lower bound) and
    with the missing relevant documents put in (upper bound). The verdict says whether the task is oblique:
    relevance easy to recognise, and hard to find.

    Example:  aspectra bench gap exp/1 --run other.run --estimate

    Your task:  aspectra bench gap beir=~/data/mine --oracle error=0.1
    """
    from aspectra.lab.studies.file import StudyFile, TableSpec
    from aspectra.lab.studies.page import run_study_file

    folder, place = out or Path("experiments") / "gap", libraries or library_home()
    tasks = _tasks(given, option, recipe, run or [], folder, no_encoder=no_encoder)
    if len(tasks) > 1 and run:
        raise UsageError("--run is for one benchmark", why=f"there are {len(tasks)}")
    first = {task.name: task.retrieval(measure) for task in tasks if task.to_be_run}
    verified: dict[str, Study] = {}
    for task in tasks:
        for k in size or _SIZES:
            for bound, put_in in (("lower", ""), ("upper", inject)):
                pools = {"size": k, "inject": put_in, "agents": tuple(agent or ())}
                left_out, label = tuple(without or ()), f"{task.name}, K {k}, {bound}"
                verified[label] = task.over(_verifiers(verifier), measure, oracle, without=left_out, **pools)
                for one in task.retrievers if leave_one_out else ():
                    less = tuple(dict.fromkeys((*left_out, one.name)))
                    verified[f"{label}, {one.name}"] = task.over((one,), measure, None, without=less, **pools)
    needed = any(study.needs_model for study in verified.values())
    title = "The gap between retrieval and verification" + (" [simulated]" if oracle and needed else "")
    if estimate:
        with session.progress() as shown:
            run_study_file(StudyFile(title, first, ()), folder, place, progress=shown)
            found = _estimate(verified, place, shown)
        write_tables(session, [found], format)
        session.screen.next("the same command without --estimate")
        return
    shown_by = tuple(dict.fromkeys((measure, "R@10")))
    table = TableSpec(title, parts=tuple(verified), gap=shown_by)
    with language_models(session) as answering, session.progress() as shown:
        if any(study.calls_model for study in verified.values()):
            answering("")  # an error now, not after the retrievers were run
        file = StudyFile(title, {**first, **verified}, (table,))
        page = run_study_file(file, folder, place, progress=shown, answering=answering)
    write_tables(session, list(page.tables), format)
    note_made(session, page.made, page.kept, folder)


@dataclass(frozen=True)
class _Task:
    """A benchmark, and where its rankings are.

    Attributes:
        name: of its parts.
        source: the benchmark.
        runs: directories of experiments and run files.
        retrievers: recipes that call no model.
        to_be_run: whether they are to be run, into the first of ``runs``.
        index: fields of the study that say how the library is indexed.
    """

    name: str
    source: Source
    runs: tuple[str, ...]
    retrievers: tuple[Recipe, ...]
    to_be_run: bool
    index: Mapping[str, Any]

    def retrieval(self, measure: str) -> Study:
        """The study that records the retrievers' rankings."""
        from aspectra.lab.experiments.directory import Study

        return Study((self.source,), self.retrievers, measures=(measure,), **self.index)

    def over(self, recipes: Sequence[Recipe], measure: str, oracle: str | None, **pools: Any) -> Study:
        """The study in which recipes rank pools."""
        from aspectra.lab.experiments.directory import Study
        from aspectra.lab.experiments.gap.verification import Pooling

        source = replace(self.source, pooling=Pooling(self.runs, **pools))
        scored = tuple(dict.fromkeys((measure, "R@10")))
        return Study((source,), tuple(recipes), measures=scored, oracle=oracle, **self.index)


def _tasks(
    given: Sequence[str],
    options: Sequence[str] | None,
    recipes: Sequence[str] | None,
    runs: Sequence[Path],
    folder: Path,
    *,
    no_encoder: bool,
) -> list[_Task]:
    """The tasks that directories of experiments, or benchmarks and their files, name."""
    from aspectra.base.files import file_name
    from aspectra.search.recipe import Recipe
    from aspectra.search.stages.protocol import needs_model

    files = tuple(str(path.absolute()) for path in runs)
    named = [word for word in given if "=" in word]
    if len(named) < len(given):
        if named or recipes or options or no_encoder:
            raise UsageError(
                "an experiment's directory names its benchmark and its retrievers",
                hint="aspectra bench gap DIR, or aspectra bench gap NAME=FOLDER --recipe SPEC",
            )
        return _recorded([Path(word) for word in given], files)
    made = []
    sources = sources_of(named, options)
    chosen = recipes or ([] if files else ["bm25"] if no_encoder else _RETRIEVERS)
    retrievers = tuple(map(Recipe.parse, chosen))
    if calling := [recipe.name for recipe in retrievers if needs_model(recipe.stages)]:
        raise UsageError(
            f"the recipe {calling[0]} calls a language model",
            why="what it costs should be seen apart from what a verifier does",
            hint=f"aspectra bench run {named[0]} --recipe {calling[0]!r} --output DIR, then bench gap DIR",
        )
    for number, source in enumerate(sources, 1):
        name = source.benchmark if len(sources) == 1 else f"{source.benchmark} {number}"
        own = (str((folder / file_name(name)).absolute()),) if retrievers else ()
        index = {"encoders": ()} if no_encoder else {}
        made.append(_Task(name, source, (*own, *files), retrievers, bool(retrievers), index))
    return made


def _recorded(folders: Sequence[Path], files: tuple[str, ...]) -> list[_Task]:
    """The tasks of experiments; directories of the same benchmark belong to one task."""
    from aspectra.lab.experiments.directory import open_study
    from aspectra.search.stages.protocol import needs_model

    made: dict[str, _Task] = {}
    for folder in folders:
        study = open_study(folder).study
        free = tuple(recipe for recipe in study.recipes if not needs_model(recipe.stages))
        index = {"encoders": study.encoders, "index": study.index, "among": study.among}
        for source in study.sources:
            key = replace(source, pooling=None).to_json()
            known = made.get(key) or _Task(
                f"{source.benchmark} {len(made) + 1}", source, (), (), False, index
            )
            runs, retrievers = (*known.runs, str(folder.absolute())), (*known.retrievers, *free)
            made[key] = replace(known, runs=runs, retrievers=retrievers)
    return [replace(task, runs=(*task.runs, *files)) for task in made.values()]


def _verifiers(given: Sequence[str] | None) -> list[Recipe]:
    """Recipes that rank a pool: of a judge and a sorter, all of the shuffled pool."""
    from aspectra.base.registry import spell
    from aspectra.search.recipe import Recipe
    from aspectra.search.stages.rerank import Reranking

    out = []
    for text in given or ("listwise+tournament",):
        steps = ("bm25", "shuffle", spell(Reranking(method=text, depth=_ALL))) if "|" not in text else ()
        out.append(Recipe(text, steps) if steps else Recipe.parse(text))
    return out


def _estimate(verified: Mapping[str, Study], libraries: Path, progress: Progress) -> Table:
    """Estimate the calls of the verifiers by running every question on a simulated model; nothing is kept."""
    from aspectra.lab.experiments.execute import run_study
    from aspectra.lab.reports.tables import Table

    rows: list[tuple[Any, ...]] = []
    with TemporaryDirectory() as folder:
        for name, study in verified.items():
            if not study.needs_model:
                continue
            asked = replace(study, oracle="error=0")
            done = run_study(asked, Path(folder) / str(len(rows)), libraries, progress=progress)
            for outcome in done.outcomes:
                cost = outcome.cost
                ranked = f"{name}: {outcome.cell.recipe.name}"
                rows.append((ranked, outcome.ranked, round(cost["calls"]), round(cost["tokens"])))
    total = [sum(row[column] for row in rows) for column in (1, 2, 3)]
    notes = (
        "every question was put to a simulated model; answers of a language model are longer where it gives "
        "reasons, and a malformed answer is asked for again",
        "rankings and answers that are recorded already cost nothing",
    )
    return Table(
        "What verification takes", ("part", "rankings", "calls", "tokens"), (*rows, ("in all", *total)), notes
    )
