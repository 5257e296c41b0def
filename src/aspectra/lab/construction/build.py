"""Running a recipe: each step's output is a file, and what is there already is not made again.

A step's file is named after a hash of all that it depends on: its options, its version, the content of the
files that it reads, the step before it, and at the start the corpus. It is written whole or not at all. So
a build that was stopped goes on where it was, a changed option makes that step and those behind it again, and
two builds of the same library are equal to the byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import disk, make_folder, write_durably
from aspectra.base.hashing import digest, digest_texts
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.construction.card import card_of
from aspectra.lab.construction.export import Layout, write_set
from aspectra.lab.construction.made import Made
from aspectra.lab.construction.protocol import STEPS, Step, StepReport, Workbench
from aspectra.lab.construction.recipe import BuildRecipe
from aspectra.lab.construction.verdict import verdict_of
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store


@dataclass(frozen=True)
class Built:
    """A build.

    Attributes:
        made: the set after the last step that was done.
        steps: what they did, in order.
        waiting: the name of the first step that was not done, or "".
        todo: what people have to do before that step can be done, or "".
        folder: where the set is; None before it is written.
        problems: what our own loader finds wrong with it.
        verdict: sentences on what the set can show, and what gives its answers away.
        layout: that it is written in.
    """

    made: Made
    steps: tuple[StepReport, ...]
    waiting: str = ""
    todo: str = ""
    folder: Path | None = None
    problems: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    layout: Layout | None = None

    @cached_property
    def benchmark(self) -> Benchmark | None:
        """The set as our own loader reads it; None before it is written."""
        return self.layout.read(self.folder) if self.layout and self.folder else None


def build_set(
    recipe: BuildRecipe,
    store: Store,
    folder: Path,
    *,
    until: str = "",
    estimate: bool = False,
    model: ChatModel | None = None,
) -> Built:
    """Build the benchmark of a recipe in ``folder``, or go on with it.

    Args:
        recipe: its steps are checked before the first is done.
        store: the library.
        folder: ``steps/`` holds the steps' outputs, ``review/`` what people fill in, ``set/`` the benchmark,
            beside its card.
        until: the last step to be done; "" does all and writes the set.
        estimate: do the steps that ask no language model, and write nothing.
        model: the language model, for steps that ask one.

    Raises:
        UsageError: the recipe cannot be used. BadInput: the corpus lacks what it needs, so that no query is
            left; the reason says what each step dropped. AspectraError: the disk refuses.
    """
    steps = [(STEPS.get(str(one.get("step", ""))), recipe.options(n)) for n, one in enumerate(recipe.steps)]
    names = [step.name for step, _ in steps]
    if until and until not in names:
        raise UsageError(f"the recipe has no step {until!r}", why="its steps: " + ", ".join(names))
    rows = store.fetch("SELECT id, content_hash FROM papers ORDER BY pos")
    made = Made(
        corpus=tuple(row[0] for row in rows), facts={"corpus": digest_texts(f"{i} {h}" for i, h in rows)}
    )
    key = digest([made.facts["corpus"], recipe.seed])
    reports: list[StepReport] = []
    for number, (step, options) in enumerate(steps, 1):
        if estimate and step.model:
            return Built(made, tuple(reports), step.name)
        contents = [_content(str(getattr(options, name))) for name in step.files]
        contents += [_content(str(path)) for path in step.sheets(folder, options)]
        asked = model.name if step.model and model is not None else ""
        key = digest([key, step.name, step.version, options.to_dict(), contents, asked])
        path = folder / "steps" / f"{number:02}-{step.name}-{key[:12]}.jsonl"
        kept = path.exists()
        if kept:
            with path.open("rb") as stream:
                made = Made.of_lines(stream, str(path))
        else:
            bench = Workbench(store, recipe.seed, model, folder=folder, estimate=estimate)
            done = _done(step, options, made, bench, number)
            if bench.waiting:
                return Built(made, tuple(reports), step.name, "" if estimate else bench.waiting)
            text = "".join(done.lines())
            if not estimate:
                make_folder(path.parent)
                write_durably(path, text)
            made = Made.of_lines(text.split("\n")[:-1], str(path))  # in the order in which it is read again
        reports.append(_report(step, made, number, kept=kept))
        if step.queries and not made.drafts:
            raise _nothing(recipe, reports, step)
        if step.name == until:
            after = names[number] if number < len(names) else ""
            return Built(made, tuple(reports), after)
    if estimate:
        return Built(made, tuple(reports))
    return _written(recipe, made, reports, store, folder)


def _done(step: Step, options: Any, made: Made, bench: Workbench, number: int) -> Made:
    found = step.run(made, bench, options)
    fact = {"dropped": dict(sorted(bench.dropped.items())), "found": bench.found}
    return replace(found, facts={**made.facts, f"step {number:02}": fact})


def _report(step: Step, made: Made, number: int, *, kept: bool) -> StepReport:
    fact = made.facts[f"step {number:02}"]
    judged = sum(len(grades) for held in made.qrels.values() for grades in held.values())
    return StepReport(
        step.name, kept, len(made.drafts), len(made.corpus), judged, fact["dropped"], fact["found"]
    )


def _content(name: str) -> str:
    """Hash of a file that a step reads, or "" where none is named."""
    if not name:
        return ""
    try:
        return digest_texts([Path(name).expanduser().read_bytes().hex()])
    except OSError as error:
        raise BadInput(f"the file {name} cannot be read", why=error.strerror or str(error)) from error


def _nothing(recipe: BuildRecipe, reports: Sequence[StepReport], step: Step) -> BadInput:
    lines = [f"{one.name}: {one.left_out}" for one in reports if one.dropped]
    return BadInput(
        f"no query is left after the step {step.name} of {recipe.name}",
        why="; ".join(lines) or "the corpus has nothing that it could use",
        hint=step.helps or "try another option with --option",
    )


def _written(recipe: BuildRecipe, made: Made, reports: list[StepReport], store: Store, folder: Path) -> Built:
    """Write the set and its card, and read it back with our own loader."""
    new, old = folder / ".set.new", folder / "set"
    shutil.rmtree(new, ignore_errors=True)
    if lost := sorted(made.judged.difference(made.corpus)):
        raise BadInput(
            f"{len(lost)} judged documents are not in the corpus, {lost[0]} among them",
            why="the last steps of the recipe left them out",
            hint="put the step corpus behind those that judge",
        )
    bench = Workbench(store, recipe.seed)
    layout = write_set(made, bench, new, recipe.layout)
    read = layout.read(new)
    if len(read.topics) != len(made.drafts):
        raise BadInput(
            f"of {len(made.drafts)} queries {len(read.topics)} can be read back as {recipe.layout}",
            why="; ".join(read.audit.problems),
        )
    verdict = verdict_of(made, bench)
    card, facts = card_of(recipe, made, reports, read, store, verdict)
    write_durably(new / "README.md", card)
    write_durably(new / "card.json", facts)
    shutil.rmtree(old, ignore_errors=True)
    disk().replace(new, old)
    for left in (folder / "steps").glob(".*.new"):  # by builds that were killed
        left.unlink(missing_ok=True)
    return Built(
        made, tuple(reports), folder=old, problems=read.audit.problems, verdict=verdict, layout=layout
    )
