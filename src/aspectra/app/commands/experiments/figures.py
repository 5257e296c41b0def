"""``bench build``, ``figure``, ``report``: benchmarks of your own papers, pictures of experiments."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aspectra.app.options.question import (
    Baseline,
    By,
    Correction,
    Format,
    Measures,
    Test,
    argument,
    choice,
    language_model,
)
from aspectra.app.output.experiments import write_tables
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.app.terminal.screen import count, write_file

if TYPE_CHECKING:
    from aspectra.lab.construction.build import Built
    from aspectra.lab.reports.tables import Table


Directories = Annotated[list[Path], argument("Directories of experiments, or of a study.", "DIR...")]
Systems = Annotated[list[str] | None, choice("Only this system; again for more.", "--system")]
Benchmark = Annotated[str, choice("Only this benchmark.", "--benchmark")]
Protocol = Annotated[str, choice("Only pool, or collection.", "--protocol")]
Libraries = Annotated[Path | None, choice("Where indexed corpora are kept, for map.", metavar="DIR")]


@common
def figure(
    session: Session,
    kind: Annotated[
        str,
        argument("means, radar, recall, movement, tradeoff, cost, deltas, diversity or map.", "KIND"),
    ],
    directories: Directories,
    output: Annotated[Path, choice("Folder of the files [figures].", "--output", "-o", metavar="DIR")] = Path(
        "figures"
    ),
    measure: Measures = None,
    mode: Annotated[str, choice("Original, instructed or reversed ranking.", "--mode")] = "",
    system: Systems = None,
    baseline: Baseline = "",
    by: By = None,
    benchmark: Benchmark = "",
    protocol: Protocol = "",
    cost: Annotated[str, choice("ms/query, calls/query, tokens/query, money [ms/query].")] = "ms/query",
    test: Test = "t",
    correction: Correction = "bonferroni",
    query: Annotated[list[str] | None, choice("A query of map; again for more.", metavar="ID")] = None,
    depth: Annotated[int, choice("Papers of each ranking in map [100].", metavar="N")] = 100,
    seed: Annotated[int, choice("Of t-SNE [0].", metavar="N")] = 0,
    perplexity: Annotated[float, choice("Of t-SNE [30].", metavar="N")] = 30.0,
    libraries: Libraries = None,
) -> None:
    """Draw what experiments recorded, as SVG, PNG and CSV.

    means (every measure), radar (by dimension or facet), recall (at growing cuts), movement (ranks under
    instructions), tradeoff (relevance and p-MRR), cost (quality and time or calls), deltas (query by query,
    with tests), diversity, map (t-SNE of what was found). Needs the extra `plot`.

    Example:  aspectra bench figure deltas exp/1 --baseline bm25 -o figures
    """
    from aspectra.app.output.experiments import library_home
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
    output: Annotated[Path, choice("The page [report.html].", "--output", "-o", metavar="FILE")] = Path(
        "report.html"
    ),
    measure: Measures = None,
    mode: Annotated[str, choice("Original, instructed or reversed ranking.", "--mode")] = "",
    system: Systems = None,
    baseline: Baseline = "",
    benchmark: Benchmark = "",
    protocol: Protocol = "",
    test: Test = "t",
    correction: Correction = "bonferroni",
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
    for sentence in page.verdict:
        session.screen.line(sentence)
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
        choice("The directory of everything [experiments/RECIPE].", "--output", "-o", metavar="DIR"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        choice("An option of a step; again for more.", "--option", metavar="STEP.OPTION=VALUE"),
    ] = None,
    until: Annotated[str, choice("The last step to do.", "--until", metavar="STEP")] = "",
    estimate: Annotated[bool, option("--estimate", about="Write nothing; ask no model.")] = False,
    format: Format = "markdown",  # noqa: A002
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
    with (
        language_model(session) if asks else nullcontext() as model,
        session.open_library() as library,
    ):
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

    rows = [
        (
            one.name,
            one.queries,
            one.documents,
            one.judged,
            one.left_out,
        )
        for one in built.steps
    ]
    found = [
        f"{one.name}: {what}: {value}" for one in built.steps for what, value in sorted(one.found.items())
    ]
    kept = [f"{one.name} was there already" for one in built.steps if one.kept]
    columns = ("step", "queries", "documents", "judged", "left out")
    return Table(f"Building {name}", columns, tuple(rows), (*found, *kept, *built.verdict, *built.problems))
