"""``bench``: experiments, and their numbers."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from aspectra.app import options
from aspectra.app.commands.experiments import build, figure, gap, report
from aspectra.app.options import language_model, language_models
from aspectra.app.output import experiments
from aspectra.app.output.experiments import note_made, write_tables
from aspectra.app.session import Session, common
from aspectra.app.settings import RUN_FORMATS, TABLE_FORMATS
from aspectra.app.terminal.panels import AsJson, CommandGroup, Names, OutputFile, argument, option
from aspectra.base.errors import UsageError, check_choice

app = CommandGroup("Run experiments on benchmarks, score and compare them.")


@app.command("list")
@common
def list_(session: Session, as_json: AsJson = False) -> None:
    """The benchmarks there are.

    What they need on disk, their options, their licences.

    Example:  aspectra bench list
    """
    if as_json:
        session.screen.document("bench-list", {"benchmarks": experiments.described()})
        return
    experiments.show_benchmarks(session.screen)
    session.screen.next("aspectra bench audit NAME FOLDER")


@app.command()
@common
def audit(
    session: Session,
    name: Annotated[str, argument("See bench list.", metavar="NAME")],
    path: Annotated[Path, argument("Its files.", metavar="FOLDER")],
    option: options.LoaderOption = None,
    statistics: Annotated[bool, option("Tables of sizes and lengths.")] = False,
    format: options.Format = "markdown",  # noqa: A002
    as_json: AsJson = False,
) -> None:
    """Load a benchmark and report what is in it.

    Counts, checksums and problems; with --statistics, the tables of its paper. Exit code 1 when it cannot be
    read.

    Example:  aspectra bench audit csfcube ~/data/csfcube --option facet=method
    """
    (source,) = experiments.sources_of([f"{name}={path}"], option)
    if statistics:
        from aspectra.lab.reports.tables import collection_tables

        write_tables(session, collection_tables(source.open()), "json" if as_json else format)
        return
    facts = source.open().facts()
    if as_json:
        session.screen.document("bench-audit", facts)
        return
    rows = [(label, str(facts[label])) for label in ("name", "revision", "licence", "source")]
    rows += [("documents", f"{facts['documents']:,}"), ("topics", f"{facts['topics']:,}")]
    rows += [("judged", ", ".join(f"{k} {n:,}" for k, n in facts["judged"].items()))]
    rows += [("modes", ", ".join(facts["modes"])), ("protocol", facts["protocol"])]
    rows += [("labels", ", ".join(facts["labels"])), ("measures", ", ".join(facts["measures"]))]
    session.screen.pairs(rows)
    for file, value in facts["checksums"].items():
        session.screen.line(f"{value}  {file}")
    for problem in facts["problems"]:
        session.screen.line(f"problem: {problem}")
    session.screen.next(f"aspectra bench run {name}={path} --recipe bm25")


@app.command()
@common
def fetch(
    session: Session,
    name: Annotated[str, argument("See bench list; NAME/PART for one part.", metavar="NAME")],
    folder: Annotated[Path, argument("Where to put it.", metavar="FOLDER")],
) -> None:
    """Download a benchmark, or one part of it, from its hub.

    At the revision pinned here. Needs a network and the extra `hub`; read the licence first.

    Example:  aspectra bench fetch obliq/math ~/data/obliq
    """
    from aspectra.lab.benchmarks._files import audit_command
    from aspectra.lab.benchmarks.protocol import fetch as download

    sets = experiments.hub_sets(name)
    if session.settings.offline:
        raise UsageError(f"{name} cannot be fetched offline", hint="download its files elsewhere")
    download(sets, folder)
    session.screen.line(f"{name} is in {folder}.")
    session.screen.next(audit_command(name, folder))


@app.command()
@common
def run(
    session: Session,
    benchmarks: Annotated[
        Names, argument("A benchmark and its files, see bench list; or a study file.", metavar="NAME=FOLDER")
    ] = None,
    recipe: Annotated[
        Names, option("bm25, 'bm25 | top(200) | dense' or FILE{; planners}{; stages}", "-r", metavar="SPEC")
    ] = None,
    protocol: Annotated[str | None, option("pool, collection, both [the benchmark's].")] = None,
    depth: Annotated[int | None, option("Papers kept of a ranking [1000].")] = None,
    mode: Annotated[Names, option("Only this mode; again for more.")] = None,
    measure: options.Measures = None,
    preset: options.Preset = None,
    repeats: Annotated[int | None, option("Runs of what varies [1].")] = None,
    encoder: Annotated[Names, option("An encoder; again for several{; encoders}.", metavar="SPEC")] = None,
    no_encoder: Annotated[bool, option("Words only: no vectors.")] = False,
    option: options.LoaderOption = None,
    oracle: options.OracleRates = None,
    out: Annotated[
        Path | None, option("The experiment's directory.", "--output", "-o", metavar="DIR")
    ] = None,
    libraries: Annotated[Path | None, option("Where indexed corpora are kept.", metavar="DIR")] = None,
    baseline: options.Baseline = "",
    incomplete: options.Incomplete = False,
    format: options.Format = "markdown",  # noqa: A002
    data: Annotated[Path | None, option("Folder of a study's data sets.", metavar="DIR")] = None,
    among: Annotated[
        Path | None, option("Library of other papers, for a study that needs one.", metavar="DIR")
    ] = None,
    part: Annotated[Names, option("Only this part of a study; again for more.")] = None,
    prompts: Annotated[Path | None, option("Prompt files for a study's rows.", metavar="DIR")] = None,
) -> None:
    """Rank and score benchmarks with recipes.

    If it is stopped, rerun the command, or only `bench run --output DIR`: finished rankings are reused.
    An option of one benchmark is --option NAME.key=value. A study file says all but where things are:
    `bench run FILE.toml --data DIR`.

    Example:  aspectra bench run csfcube=~/data/csfcube -r bm25 -r hybrid --protocol both -o exp/1
    """
    from aspectra.lab.experiments.execute import run_study
    from aspectra.lab.reports.scores import main_tables
    from aspectra.views.encoders.protocol import permit_encoder

    check_choice(format, TABLE_FORMATS, "table format")  # before hours of ranking
    if benchmarks and benchmarks[0].endswith(".toml"):
        given = (recipe, protocol, depth, mode, measure, preset, repeats, encoder, option, oracle, baseline)
        if len(benchmarks) > 1 or no_encoder or incomplete or any(one is not None and one for one in given):
            raise UsageError(
                "a study file says what is run and how", hint=f"aspectra bench run {benchmarks[0]} --data DIR"
            )
        _run_file(session, Path(benchmarks[0]), data, among, out, libraries, part or [], format, prompts)
        return
    for name, value in (("data", data), ("among", among), ("part", part), ("prompts", prompts)):
        if value:
            raise UsageError(f"--{name} is for study files", hint="aspectra bench run FILE.toml --data DIR")
    if no_encoder and encoder:
        raise UsageError("--encoder and --no-encoder exclude each other")
    for spec in encoder or ():
        permit_encoder(spec)
    sources = experiments.sources_of(benchmarks or [], option)
    folder = out or Path("experiments") / "-".join(dict.fromkeys(s.benchmark for s in sources))
    study = experiments.study_of(
        folder,
        sources=sources or None,
        recipes=recipe,
        protocol=protocol,
        depth=depth,
        modes=mode,
        measures=measure,
        preset=preset,
        repeats=repeats,
        encoders=[] if no_encoder else encoder,
        oracle=oracle,
    )
    if baseline:
        check_choice(baseline, study.rows, "recipe")
    place = libraries or experiments.library_home()
    session.screen.detail(f"libraries: {place}")
    calls = study.calls_model
    with language_model(session) if calls else nullcontext() as answering, session.progress() as shown:
        done = run_study(study, folder, place, incomplete=incomplete, progress=shown, model=answering)
    write_tables(session, list(main_tables(done.scores, baseline=baseline).values()), format)
    for failure in done.failures[:5]:
        session.screen.warn(failure)
    if len(done.failures) > 5:
        session.screen.warn(f"and {len(done.failures) - 5:,} more")
    note_made(session, done.made, done.kept, folder)
    first = done.outcomes[0].cell.recipe.name
    several = len(study.recipes) > 1
    session.screen.next(
        f"aspectra bench {f'compare {folder} --baseline {first!r}' if several else f'show {folder}'}"
    )


def _run_file(
    session: Session,
    path: Path,
    data: Path | None,
    among: Path | None,
    out: Path | None,
    libraries: Path | None,
    parts: list[str],
    format_: str,
    prompts: Path | None,
) -> None:
    """``bench run`` on a study file."""
    from aspectra.lab.studies.file import read_study_file
    from aspectra.lab.studies.page import run_study_file

    if data is None:
        raise UsageError(
            "the folder of the data sets is not named", hint=f"aspectra bench run {path} --data DIR"
        )
    folder = out or Path("experiments") / path.stem
    file = read_study_file(path, data, among, folder, prompts)
    with language_models(session) as answering, session.progress() as shown:
        place = libraries or experiments.library_home()
        page = run_study_file(file, folder, place, only=parts, progress=shown, answering=answering)
    write_tables(session, list(page.tables), format_)
    for sentence in page.absent:
        session.screen.warn(f"left out: {sentence}")
    note_made(session, page.made, page.kept, folder)


@app.command("eval")
@common
def evaluate(
    session: Session,
    directory: options.Experiment,
    measure: options.Measures = None,
    preset: options.Preset = None,
    by: options.By = None,
    baseline: options.Baseline = "",
    incomplete: options.Incomplete = False,
    format: options.Format = "markdown",  # noqa: A002
    output: OutputFile = None,
) -> None:
    """Score an experiment's rankings again.

    By other measures or under another preset; nothing is ranked.

    Example:  aspectra bench eval exp/1 --measure R@50 --by facet
    """
    from aspectra.lab.experiments.directory import open_study
    from aspectra.lab.experiments.execute import score_study, scores_of
    from aspectra.lab.reports.scores import breakdown_tables, main_tables

    opened = open_study(directory)
    outcomes = score_study(opened, preset=preset or "", measures=measure or (), incomplete=incomplete)
    systems = scores_of(outcomes)
    if by is None:
        write_tables(session, list(main_tables(systems, baseline=baseline).values()), format, output)
        return
    write_tables(session, breakdown_tables(systems, by), format, output)


@app.command()
@common
def compare(
    session: Session,
    directories: Annotated[list[Path], argument("Directories of experiments.", metavar="DIR")],
    baseline: Annotated[str | None, option("What others are compared with.")] = None,
    measure: options.Measures = None,
    test: options.Test = "t",
    correction: options.Correction = "bonferroni",
    published: Annotated[bool, option("The papers' numbers too.")] = False,
    format: options.Format = "markdown",  # noqa: A002
    output: OutputFile = None,
) -> None:
    """Compare recipes by paired tests.

    Differences with intervals, wins, ties and losses, p.

    Example:  aspectra bench compare exp/1 exp/2 --baseline bm25 --test randomisation --correction holm
    """
    from aspectra.lab.experiments.directory import open_study
    from aspectra.lab.reports.published import published_table
    from aspectra.lab.reports.scores import comparison_tables, systems_of

    if baseline is None and not published:
        raise UsageError(
            "no baseline is named", hint=f"aspectra bench compare {directories[0]} --baseline NAME"
        )
    opened = {str(directory): open_study(directory) for directory in directories}
    systems = systems_of({name: one.results() for name, one in opened.items()})
    tables = []
    if baseline is not None:
        tables += comparison_tables(
            systems, baseline, test=test, correction=correction, measures=measure or ()
        )
    if published:
        found = [
            published_table(b, systems, measure or ())
            for b in experiments.benchmarks_of(session, opened.values())
        ]
        tables += [table for table in found if table is not None]
        if not any(found):
            session.screen.note("No paper's table on these benchmarks is held.")
    write_tables(session, tables, format, output)


@app.command()
@common
def show(session: Session, directory: options.Experiment, as_json: AsJson = False) -> None:
    """What an experiment's numbers depend on.

    Versions, files, encoders, ties, what is missing, time, cost.

    Example:  aspectra bench show exp/1
    """
    from aspectra.lab.experiments.directory import open_study

    facts = open_study(directory).facts()
    if as_json:
        session.screen.document("bench-manifest", facts)
        return
    experiments.show_facts(session.screen, facts)


@app.command("export-run")
@common
def export_run(
    session: Session,
    directory: options.Experiment,
    recipe: Annotated[str | None, option("Whose.", "-r")] = None,
    benchmark: Annotated[str | None, option("Of which, where there are several.")] = None,
    protocol: Annotated[str | None, option("Of which, where there are several.")] = None,
    mode: Annotated[str, option("Whose rankings [original].")] = "original",
    repeat: Annotated[int, option("Which of several runs [0].")] = 0,
    incomplete: Annotated[bool, option("Leave out rankings whose calls failed.")] = False,
    format: Annotated[str, option(f"{', '.join(RUN_FORMATS)} [trec].")] = "trec",  # noqa: A002
    output: OutputFile = None,
) -> None:
    """Write one recipe's rankings as a run.

    Example:  aspectra bench export-run exp/1 --recipe hybrid --format trec -o hybrid.run
    """
    from aspectra.lab.experiments.directory import open_study
    from aspectra.lab.experiments.execute import recorded_run

    if format not in RUN_FORMATS:
        raise UsageError(f"there is no format {format!r} for runs", why="known: " + ", ".join(RUN_FORMATS))
    opened = open_study(directory)
    wanted = {"recipe": recipe, "benchmark": benchmark, "protocol": protocol}
    cell = experiments.cell_of(opened, wanted)
    made = recorded_run(opened, cell, mode=mode, repeat=repeat, incomplete=incomplete)
    experiments.write_run(session, made, format, output)


for _command in (figure, report, gap, build):
    app.command()(_command)
