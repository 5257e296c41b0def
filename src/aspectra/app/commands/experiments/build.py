"""``bench build``: a benchmark made from a library's own papers."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aspectra.app.options.lab import Format, argument, choice
from aspectra.app.options.model import language_model
from aspectra.app.output.experiments import write_tables
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option

if TYPE_CHECKING:
    from aspectra.lab.construction.build import Built
    from aspectra.lab.reports.tables import Table


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
    from aspectra.lab.construction.protocol import STEPS
    from aspectra.lab.construction.recipe import BuildRecipe

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
    """What each step left, and what it left out."""
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
