"""Running a recipe: each step's output is a file, and existing files are not made again.

A step's file is named after a hash of all that it depends on: its options, its version, the content of the
files that it reads, the step before it, and at the start the corpus. It is written whole or not at all. So
a build that was stopped goes on where it was, a changed option makes that step and those behind it again, and
two builds of the same library are equal to the byte.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest, digest_texts, disk, make_folder, write_durably
from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.construction.export import FileLayout, as_texts, write_set
from aspectra.lab.construction.protocol import (
    NAME,
    STEPS,
    BuildRecipe,
    ConstructionStep,
    Made,
    QueryDraft,
    StepReport,
    Workbench,
)
from aspectra.lab.statistics.significance import SMALL
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.papers.text.cleaning import folded

# Verdict on a set, without an index or a model: what it can show, and what gives its answers away.

_REACH = 1.96 + 0.84  # standard errors that a two-sided test at 5 % finds with a power of 80 %
_SPREAD = 0.15  # deviation over queries of the difference of two systems; assumed: none has ranked the set
_RARE = 20  # a name is in at most so many documents, and in at most one of so many
_NEAR = 0.8  # the share of all words of two near duplicates that both have
_WORD = re.compile(r"[^\W_][\w'’-]*")


def verdict_of(made: Made, bench: Workbench) -> tuple[str, ...]:
    """Sentences on power, on names that queries share with their answers, and on near duplicates."""
    points = 100 * _REACH * _SPREAD / math.sqrt(len(made.drafts))
    power = (
        f"power: a difference of {points:.1f} points between two systems is found in 80 % of cases (at the "
        f"5 % level; its deviation over queries is assumed to be {100 * _SPREAD:.0f} points, not measured)"
    )
    few = f"power: fewer than {SMALL} queries, which show large differences only"
    notes = [power, few] if len(made.drafts) < SMALL else [power]
    return (*notes, *filter(None, (_names(made, bench), _near(made, bench), _lengths(made, bench))))


def _lengths(made: Made, bench: Workbench) -> str:
    """Note on how often the longer document is the relevant one; "" if no model wrote documents."""
    if not any(one.written for one in made.texts.values()):
        return ""
    words = {one.id: len(one.text.split()) for one in bench.documents(made, sorted(made.judged))}
    wanted, longer, pairs = made.relevant(), 0.0, 0
    for query, ids in wanted.items():
        graded = {doc for held in made.qrels.values() for doc in held.get(query, ())}
        for good in ids:
            for other in graded.difference(ids):
                pairs += 1
                longer += (words[good] > words[other]) + (words[good] == words[other]) / 2
    told = (
        f"length: of {pairs:,} pairs of a relevant and an irrelevant document the longer one is relevant in"
    )
    return f"{told} {longer / pairs:.0%}, and a model wrote some of them" if pairs else ""


def _names(made: Made, bench: Workbench) -> str:
    """Note on queries with a name that is in few documents, a relevant one among them."""
    asked = {draft.id: set(NAME.findall(draft.text)) for draft in made.drafts if draft.text}
    wanted = set[str]().union(*asked.values())
    lower = {word.lower() for word in wanted}
    held: dict[str, set[str]] = defaultdict(set)
    common: set[str] = set()  # words in small letters, which are not names
    for one in bench.documents(made):
        words = set(_WORD.findall(f"{one.title} {one.text}"))
        common |= words & lower
        for word in words & wanted:
            held[word].add(one.id)
    most = max(2, min(_RARE, len(made.corpus) // _RARE))
    rare = {word: ids for word, ids in held.items() if len(ids) <= most and word.lower() not in common}
    relevant = made.relevant()
    leaks = 0
    for query, own in asked.items():
        there = set[str]().union(*(rare[word] for word in own & rare.keys()))
        leaks += not there.isdisjoint(relevant.get(query, ()))
    told = f"names: {leaks:,} of {len(asked):,} queries share a name with a relevant document"
    return f"{told} (capitalised in a sentence, in at most {most} documents)" if asked else ""


def _near(made: Made, bench: Workbench) -> str:
    """Note on queries that nearly repeat another; a question under several conditions is one query."""
    units = {one.id: one.seed or (one.text if one.instructions else one.id) for one in made.drafts}
    texts = {units[row["_id"]]: {*_WORD.findall(folded(row["text"]))} for row in as_texts(made, bench)}
    times = Counter(word for own in texts.values() for word in own)
    held: dict[str, list[str]] = defaultdict(list)
    near: set[str] = set()
    for unit, own in texts.items():
        # Two sets that share _NEAR of their words share one of the rarest 1 - _NEAR of each.
        rarest = sorted(own, key=lambda word: (times[word], word))[: int((1 - _NEAR) * len(own) + 1e-9) + 1]
        for other in {other for word in rarest for other in held[word]}:
            if len(own & texts[other]) >= _NEAR * len(own | texts[other]):
                near |= {unit, other}
        for word in rarest:
            held[word].append(unit)
    return f"near duplicates: {len(near):,} of {len(texts):,} queries share {_NEAR:.0%} of words with another"


# The card of a set: what it was made of, how, and what may be done with it.

_NONE = "not stated"


def card_of(
    recipe: BuildRecipe,
    made: Made,
    steps: Sequence[StepReport],
    read: Benchmark,
    store: Store,
    verdict: Sequence[str],
) -> tuple[str, str]:
    """The card as Markdown, and as JSON.

    Args:
        recipe: what was done.
        made: the set.
        steps: what the steps did.
        read: the set as our own loader reads it.
        store: the library, for the licences of its papers.
        verdict: sentences on what the set can show.
    """
    licences, there = Counter[str](), set(made.corpus)
    for paper in (one for one in store.papers("none") if one.id in there):
        licences[str(paper.metadata.get("license") or paper.metadata.get("licence") or _NONE)] += 1
    positives = [len(held) for held in made.relevant().values()]
    facts: dict[str, Any] = {
        "name": recipe.name,
        "recipe": recipe.to_dict(),
        "recipe hash": recipe.hash,
        "corpus hash": made.facts["corpus"],
        "documents": read.audit.documents,
        "queries": len(read.topics),
        "positives of a query": {
            "least": min(positives, default=0),
            "mean": round(float(np.mean(positives)), 2) if positives else 0.0,
            "most": max(positives, default=0),
        },
        "judged": dict(read.audit.judged),
        "texts": dict(sorted(Counter(one.origin for one in made.texts.values()).items())),
        "queries from": dict(sorted(Counter(draft.source for draft in made.drafts).items())),
        "licences of the papers": dict(licences.most_common(10)),
        "steps": [
            {"step": one.name, "queries": one.queries, "dropped": one.dropped, "found": one.found}
            for one in steps
        ],
        "verdict": list(verdict),
        "audit": list(read.audit.problems),
    }
    return _page(recipe, facts), json.dumps(facts, ensure_ascii=False, indent=2) + "\n"


def _page(recipe: BuildRecipe, facts: dict[str, Any]) -> str:
    few = facts["positives of a query"]
    made_up = any(one["found"].get("replies") == "simulated" for one in facts["steps"])
    simulated = ["*simulated*: a scripted model answered, and nothing measured here counts.", ""]
    lines = [
        f"# {recipe.name}",
        "",
        *([recipe.about.strip(), ""] if recipe.about else []),
        f"{facts['queries']:,} queries over {facts['documents']:,} documents; {few['least']} to "
        f"{few['most']} relevant documents a query, {few['mean']} on average. A pair that is not listed is "
        "unjudged, not irrelevant.",
        "",
        f"Queries come from: {_counts(facts['queries from'])}. Documents whose text is not the library's: "
        f"{_counts(facts['texts']) or 'none'}.",
        "",
        f"Licences that the papers state: {_counts(facts['licences of the papers'])}. Whoever passes the "
        "set on passes on their texts.",
        "",
        f"Recipe {facts['recipe hash']}, seed {recipe.seed}, corpus {facts['corpus hash'][:12]}; the same "
        "library and recipe give the same files.",
        "",
        *(simulated if made_up else []),
        "| step | queries after it | left out |",
        "|:--|--:|:--|",
        *(f"| {one['step']} | {one['queries']:,} | {_counts(one['dropped'])} |" for one in facts["steps"]),
        "",
        *(
            f"- {one['step']}: {what}: {told}"
            for one in facts["steps"]
            for what, told in one["found"].items()
        ),
        *(f"- {problem}" for problem in (*facts["verdict"], *facts["audit"])),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _counts(held: dict[str, int]) -> str:
    return ", ".join(f"{times:,} {what}" for what, times in held.items())


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
    layout: FileLayout | None = None

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
            done = step.run(made, bench, options)
            if bench.waiting:
                return Built(made, tuple(reports), step.name, "" if estimate else bench.waiting)
            fact = {"dropped": dict(sorted(bench.dropped.items())), "found": bench.found}
            done = replace(done, facts={**done.facts, f"step {number:02}": fact})
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


def _parted(recipe: BuildRecipe, made: Made, bench: Workbench) -> tuple[Made, tuple[str, ...]]:
    """The part of the set that a recipe wants, and its overlap with the other part.

    A question under several conditions is in one part with all of them. The documents are those of both, so
    that both parts are asked of one corpus.
    """
    if not recipe.part:
        return made, ()
    units: dict[str, list[QueryDraft]] = defaultdict(list)
    for draft in made.drafts:
        units[draft.seed or folded(draft.text)].append(draft)
    chosen, wanted = set[str](), recipe.test * len(made.drafts)
    for unit in bench.drawn(units, "part"):
        if len(chosen) + len(units[unit]) / 2 <= wanted:
            chosen |= {draft.id for draft in units[unit]}
    kept = [draft for draft in made.drafts if (draft.id in chosen) == (recipe.part == "test")]
    names = {draft.id for draft in kept}
    part = made.of_queries(kept)
    relevant = made.relevant()
    own, other = (
        {doc for draft in made.drafts if (draft.id in names) is mine for doc in relevant.get(draft.id, ())}
        for mine in (True, False)
    )
    told = f"part {recipe.part}: {len(kept):,} of {len(made.drafts):,} queries, no question is in both parts"
    return part, (f"{told}; {len(own & other):,} of {len(own):,} relevant documents are relevant in both",)


def _report(step: ConstructionStep, made: Made, number: int, *, kept: bool) -> StepReport:
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


def _nothing(recipe: BuildRecipe, reports: Sequence[StepReport], step: ConstructionStep) -> BadInput:
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
    made, parted = _parted(recipe, made, bench)
    if not made.drafts:
        raise BadInput(f"the part {recipe.part} has no query", hint="--option test=0.5, or more queries")
    layout = write_set(made, bench, new, recipe.layout)
    read = layout.read(new)
    if len(read.topics) != len(made.drafts):
        raise BadInput(
            f"of {len(made.drafts)} queries {len(read.topics)} can be read back as {recipe.layout}",
            why="; ".join(read.audit.problems),
        )
    verdict = (*parted, *verdict_of(made, bench))
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
