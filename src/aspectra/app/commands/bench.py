"""``bench``: experiments, and their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.options.model import (
    BaseUrl,
    BudgetLimit,
    JournalFile,
    KeyVariable,
    Lanes,
    ModelName,
    OracleRates,
)
from aspectra.app.options.stages import Asked, answering_model
from aspectra.app.output.experiments import RUN_FORMATS, TABLE_FORMATS, write_tables
from aspectra.app.output.screen import count
from aspectra.app.session import Session, common
from aspectra.base.errors import UsageError

__all__ = ["app"]

app = typer.Typer(
    help="Run experiments on benchmarks, score and compare them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Option = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="K=V", help="Option of a loader; see bench list.", show_default=False),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", metavar="NAME", help="As nDCG@10; again for more.", show_default=False),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="Whose reading of the measures [paper].", show_default=False
    ),
]
Incomplete = Annotated[bool, typer.Option("--incomplete", help="Average although topics are missing.")]
Format = Annotated[
    str,
    typer.Option("--format", metavar="NAME", help=", ".join(TABLE_FORMATS) + ".", show_default=False),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE.", show_default=False)
]
Experiment = Annotated[
    Path, typer.Argument(metavar="DIR", help="Directory of an experiment.", show_default=False)
]
Test = Annotated[
    str, typer.Option("--test", metavar="NAME", help="t, wilcoxon, randomisation [t].", show_default=False)
]
Correction = Annotated[
    str,
    typer.Option("--correction", metavar="NAME", help="none, holm, bonferroni [none].", show_default=False),
]


@app.command("list")
@common
def list_(
    session: Session,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """The benchmarks there are.

    What they need on disk, their options, their licences.

    Example:  aspectra bench list
    """
    from aspectra.app.output.experiments import described

    known = described()
    if as_json:
        import json

        session.screen.data(json.dumps(known, ensure_ascii=False, indent=2) + "\n")
        return
    for number, one in enumerate(known):
        if number:
            session.screen.line()
        session.screen.line(f"{one['name']}  {one['about']}", style="bold")
        for label in ("path", "options", "licence", "measures"):
            if one[label]:
                session.screen.line(one[label], indent=11, first=f"  {label}")
    session.screen.next("aspectra bench audit NAME FOLDER")


@app.command()
@common
def audit(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="See bench list.", show_default=False)],
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Its files.", show_default=False)],
    option: Option = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Load a benchmark and say what is in it.

    Counts, checksums, whatever is odd. Exit code 1 when it cannot be read.

    Example:  aspectra bench audit csfcube ~/data/csfcube --option facet=method
    """
    from aspectra.app.output.experiments import audited, sources_of

    (source,) = sources_of([f"{name}={path}"], option)
    benchmark = source.load()
    if as_json:
        import json

        session.screen.data(json.dumps(audited(benchmark), ensure_ascii=False, indent=2) + "\n")
        return
    facts = audited(benchmark)
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="See bench list.", show_default=False)],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to put it.", show_default=False)],
) -> None:
    """Download a benchmark from its hub.

    At the revision pinned here. Needs a network and the extra `hub`; look at the licence first.

    Example:  aspectra bench fetch litsearch ~/data/litsearch
    """
    from aspectra.app.output.experiments import hub_sets
    from aspectra.lab.benchmarks._hub import fetch as download

    sets = hub_sets(name)
    if session.config["offline"]:
        raise UsageError(f"{name} cannot be fetched offline", hint="download its files elsewhere")
    download(sets, folder)
    session.screen.line(f"{name} is in {folder}.")
    session.screen.next(f"aspectra bench audit {name} {folder}")


@app.command()
@common
def run(
    session: Session,
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=FOLDER", help="A benchmark and its files; see bench list.", show_default=False
        ),
    ] = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(
            "--recipe",
            "-r",
            metavar="SPEC",
            help="bm25, 'bm25 | top(200) | dense' or FILE",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="pool, collection, both [the benchmark's].", show_default=False),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(metavar="N", help="Papers kept of a ranking [1000].", show_default=False)
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this mode; again for more.", show_default=False),
    ] = None,
    measure: Measures = None,
    preset: Preset = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Runs of what varies [1].", show_default=False)
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="An encoder; again for several.", show_default=False),
    ] = None,
    no_encoder: Annotated[bool, typer.Option("--no-encoder", help="Words only: no vectors.")] = False,
    option: Option = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    key_variable: KeyVariable = None,
    budget: BudgetLimit = None,
    lanes: Lanes = 8,
    journal: JournalFile = None,
    oracle: OracleRates = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The experiment's directory.", show_default=False),
    ] = None,
    libraries: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where indexed corpora are kept.", show_default=False),
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="Recipe to test others against.", show_default=False)
    ] = "",
    incomplete: Incomplete = False,
    format: Format = "markdown",  # noqa: A002
) -> None:
    """Rank and score benchmarks with recipes.

    Stopped, it goes on where it was when the same command, or only `bench run --out DIR`, is run again.
    An option of one benchmark is --option NAME.key=value.

    Example:  aspectra bench run csfcube=~/data/csfcube -r bm25 -r hybrid --protocol both --out exp/1
    """
    from aspectra.app.output.experiments import library_home, sources_of, study_of
    from aspectra.app.output.progress import ProgressShown
    from aspectra.lab.experiments.running import main_tables, run_study

    if no_encoder and encoder:
        raise UsageError("--encoder and --no-encoder exclude each other")
    study = study_of(
        out,
        sources=sources_of(benchmarks or [], option) or None,
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
    folder = out or Path("experiments") / "-".join(dict.fromkeys(s.benchmark for s in study.sources))
    session.screen.detail(f"libraries: {libraries or library_home()}")
    asked = Asked(model, base_url, key_variable, budget, lanes, journal)
    needed = study.needs_model and study.oracle is None
    progress = ProgressShown(session.config["progress"] and not session.quiet)
    with answering_model(session, asked, needed=needed) as answering, progress as shown:
        place = libraries or library_home()
        done = run_study(study, folder, place, incomplete=incomplete, progress=shown, model=answering)
    write_tables(session, list(main_tables(done.outcomes, baseline=baseline).values()), format)
    for failure in done.failures[:5]:
        session.screen.warn(failure)
    if len(done.failures) > 5:
        session.screen.warn(f"and {len(done.failures) - 5:,} more")
    kept = f", {done.kept:,} were there already" if done.kept else ""
    session.screen.note(f"Made {count(done.made, 'ranking')}{kept}; everything is in {folder}.")
    first = done.outcomes[0].cell.recipe.name
    several = len(study.recipes) > 1
    session.screen.next(
        f"aspectra bench {f'compare {folder} --baseline {first!r}' if several else f'show {folder}'}"
    )


@app.command("eval")
@common
def evaluate(
    session: Session,
    directory: Experiment,
    measure: Measures = None,
    preset: Preset = None,
    by: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Means by the values of a label.", show_default=False)
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="Recipe to test others against.", show_default=False)
    ] = "",
    incomplete: Incomplete = False,
    format: Format = "markdown",  # noqa: A002
    output: Output = None,
) -> None:
    """Score an experiment's rankings again.

    By other measures or under another preset; nothing is ranked.

    Example:  aspectra bench eval exp/1 --measure R@50 --by facet
    """
    from aspectra.lab.experiments.running import main_tables, score_study
    from aspectra.lab.experiments.study import open_study
    from aspectra.lab.reports.outcomes import breakdown_tables

    opened = open_study(directory)
    outcomes = score_study(opened, preset=preset or "", measures=measure or (), incomplete=incomplete)
    if by is None:
        write_tables(session, list(main_tables(outcomes, baseline=baseline).values()), format, output)
        return
    write_tables(session, breakdown_tables(outcomes, by), format, output)


@app.command()
@common
def compare(
    session: Session,
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Directories of experiments.", show_default=False),
    ],
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="What others are compared with.", show_default=False)
    ] = None,
    measure: Measures = None,
    test: Test = "t",
    correction: Correction = "none",
    published: Annotated[bool, typer.Option("--published", help="The papers' numbers too.")] = False,
    format: Format = "markdown",  # noqa: A002
    output: Output = None,
) -> None:
    """Compare recipes by paired tests.

    Differences with intervals, wins, ties and losses, p.

    Example:  aspectra bench compare exp/1 exp/2 --baseline bm25 --test randomisation --correction holm
    """
    from aspectra.app.output.experiments import benchmarks_of
    from aspectra.lab.experiments.study import open_study
    from aspectra.lab.reports.comparison import comparison_tables, published_table, systems_of

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
        found = [published_table(b, systems, measure or ()) for b in benchmarks_of(session, opened.values())]
        tables += [table for table in found if table is not None]
        if not any(found):
            session.screen.note("No paper's table on these benchmarks is held.")
    write_tables(session, tables, format, output)


@app.command()
@common
def show(
    session: Session,
    directory: Experiment,
    as_json: Annotated[bool, typer.Option("--json", help="The manifest as it is.")] = False,
) -> None:
    """What an experiment's numbers depend on.

    Versions, files, encoders, ties, what is missing, time, cost.

    Example:  aspectra bench show exp/1
    """
    from aspectra.app.output.experiments import show_facts
    from aspectra.lab.experiments.study import open_study

    facts = open_study(directory).facts()
    if as_json:
        import json

        session.screen.data(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
        return
    show_facts(session.screen, facts)


@app.command("export-run")
@common
def export_run(
    session: Session,
    directory: Experiment,
    recipe: Annotated[
        str | None, typer.Option("--recipe", "-r", metavar="NAME", help="Whose.", show_default=False)
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of which, where there are several.", show_default=False),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of which, where there are several.", show_default=False),
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="NAME", help="Whose rankings [original].", show_default=False)
    ] = "original",
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Which of several runs [0].", show_default=False)
    ] = 0,
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            "--format", metavar="NAME", help=", ".join(RUN_FORMATS) + " [trec].", show_default=False
        ),
    ] = "trec",
    output: Output = None,
) -> None:
    """Write one recipe's rankings as a run.

    Example:  aspectra bench export-run exp/1 --recipe hybrid --format trec -o hybrid.run
    """
    from aspectra.app.output.experiments import cell_of, write_run
    from aspectra.lab.experiments.running import recorded_run
    from aspectra.lab.experiments.study import open_study

    if format not in RUN_FORMATS:
        raise UsageError(f"there is no format {format!r} for runs", why="known: " + ", ".join(RUN_FORMATS))
    opened = open_study(directory)
    asked = {"recipe": recipe, "benchmark": benchmark, "protocol": protocol}
    made = recorded_run(opened, cell_of(opened, asked), mode=mode, repeat=repeat)
    write_run(session, made, format, output)
