"""Plans: a question as steps that can be printed, edited, hashed and run again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

from aspectra.base.display import Displayed
from aspectra.base.errors import UsageError, check_length, check_number
from aspectra.base.values import Value, force_setattr, replace
from aspectra.llm.budget import Cost
from aspectra.llm.chat import ModelError
from aspectra.search.conditions.condition import Conditions, check_conditions, distinct
from aspectra.search.query import (
    COMPLIANCE_WEIGHT,
    LONGEST_ASPECT,
    LONGEST_TEXT,
    MOST_EVIDENCE,
    MOST_PAPERS,
    MOST_SEEDS,
    Unread,
    Versions,
)
from aspectra.views.view import Probe

_LOST = {  # defect -> what it means
    "only-reasoning": "had text in their reasoning alone",
    "empty": "were empty",
    "cut-off": "were cut off at the longest answer allowed",
}


class Tally(Struct, frozen=True):
    """Counts of the questions put to a model; tallies add up with ``+``.

    Attributes:
        questions: that were put to a model, answered or not; a pair in both orders is two.
        repairs: questions whose answer had to be repaired, or that got none.
        unanswered: questions that got none.
        degraded: steps whose result is worth less than they promise.
        simulated: whether any answer came from no language model.
        cost: calls, tokens and money, paid and recorded apart.
        defects: kind -> count, see ``docs/reranking.md``.
        cut: texts that the model was shown only in part: papers, and the query.
    """

    questions: int = 0
    repairs: int = 0
    unanswered: int = 0
    degraded: int = 0
    simulated: bool = False
    cost: Cost = Cost()
    defects: Mapping[str, int] = field(default_factory=dict)
    cut: int = 0

    def __add__(self, other: Tally) -> Tally:
        kinds = sorted({*self.defects, *other.defects})
        return Tally(
            self.questions + other.questions,
            self.repairs + other.repairs,
            self.unanswered + other.unanswered,
            self.degraded + other.degraded,
            self.simulated or other.simulated,
            self.cost + other.cost,
            {kind: self.defects.get(kind, 0) + other.defects.get(kind, 0) for kind in kinds},
            self.cut + other.cut,
        )


class Step(Struct, frozen=True):
    """The record of one step.

    Attributes:
        step: its spelling.
        notes: what people should know of it: the new wording, how many papers joined.
        tally: its questions to a model, and what they cost.
        stopped: the error after which no more questions were put, or None.
        error: the last error of a call, or None.
        seconds: that it took.
    """

    step: str
    notes: tuple[str, ...] = ()
    tally: Tally = Tally()
    stopped: ModelError | None = None
    error: ModelError | None = None
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The spelling without options."""
        return self.step.partition("(")[0]

    @property
    def failed(self) -> ModelError | None:
        """The error that ended this step's questions or left all of them unanswered, or None."""
        if self.stopped is None and self.tally.questions and self.tally.unanswered == self.tally.questions:
            return self.error or ModelError("no answer could be read")
        return self.stopped

    def to_dict(self) -> dict[str, Any]:
        """JSON form; what is 0 or empty is left out."""
        tally, cost = self.tally, self.tally.cost
        out: dict[str, Any] = {"step": self.step, "seconds": round(self.seconds, 4)}
        counts = {"questions": tally.questions, "repairs": tally.repairs, "calls": cost.calls}
        counts |= {"prompt_tokens": cost.prompt_tokens, "completion_tokens": cost.completion_tokens}
        counts |= {"recorded": cost.recorded, "recorded_tokens": cost.recorded_tokens, "cut": tally.cut}
        out |= {name: value for name, value in counts.items() if value}
        if cost.calls:
            out["money"] = None if cost.unpriced else round(cost.money, 6)
        if self.notes:
            out["notes"] = list(self.notes)
        if tally.defects:
            out["defects"] = dict(tally.defects)
        out |= {name: True for name in ("degraded", "simulated") if getattr(tally, name)}
        if self.stopped or self.error:
            out["error"] = str(self.stopped or self.error)
        return out

    def warnings(self) -> list[str]:
        """Warnings for the reader, each one sentence."""
        tally, out = self.tally, []
        if tally.simulated:
            out.append(f"{self.name}: simulated, no language model was asked")
        last = self.stopped or self.error
        reason = "" if last is None else last.what + (f" ({last.why})" if last.why else "")
        if self.stopped is not None:
            out.append(f"{self.name} stopped: {reason}; the order before it stands")
        elif self.failed is not None:
            kept = "first-stage order, nothing was judged" if self.name == "rerank" else "nothing was changed"
            share = f"none of {tally.questions} questions was answered"
            out.append(f"{self.name} is degraded: {kept}; {share}" + (reason and f"; last: {reason}"))
        elif tally.degraded:
            share = f"{tally.repairs} of {tally.questions} answers were missing or had to be repaired"
            out.append(f"{self.name} is degraded: {share}" + (reason and f"; last: {reason}"))
        lost = [f"{tally.defects[kind]} {words}" for kind, words in _LOST.items() if tally.defects.get(kind)]
        if tally.degraded and lost:
            room = "an option such as yes-no(thinking=2000) gives a model room to think before it answers"
            out.append(f"{self.name}: of the replies {', '.join(lost)}; {room}")
        return out


MOST_PROBES = 64  # of all searches of a plan together: each scores every paper
MOST_STEPS = 32
_HEAVIEST = 1e6  # weights beyond it leave nothing of the other probes
_LONGEST_STAGE = 1000  # characters
_YEARS = re.compile(r"any|[<>]=\d{4}", re.ASCII)
_YEARS_SAID = {"<=": ", first those until {}", ">=": ", first those since {}", "an": ", of any year"}

FusionKind = Literal["standardised", "rrf", "sum"]
Contrast = Literal["subtract", "residual"]


class Fusion(Value, frozen=True):
    """Combination of the probes' scores into one score.

    Attributes:
        kind: ``standardised``: each probe's scores minus their mean over a fixed sample of papers, divided by
            their deviation there, times the weight, summed; ``rrf``: weight / (k + rank), summed (Cormack,
            Clarke and Büttcher, SIGIR 2009); ``sum``: the scores as they are, times the weight, summed.
        k: the constant of ``rrf``.
        depth: ranks read per probe for ``rrf``.
        candidates: papers that costly probes score, chosen by the cheap ones, where there are more than
            ``scan_limit`` papers.
        contrast: effect of likeness in the rest of the paper: ``subtract`` it by its weight, or
            (``residual``) only what it predicts of the likeness in the aspects that are wanted: its weight
            times the slope of the regression over the fixed sample.
    """

    kind: FusionKind = "standardised"
    k: int = 60
    depth: int = 1000
    candidates: int = 1000
    scan_limit: int = 20_000
    contrast: Contrast = "subtract"

    def __post_init__(self) -> None:
        for what, given, kind, hint in (
            ("fusion", self.kind, FusionKind, 'kind = "standardised"'),
            ("contrast", self.contrast, Contrast, 'contrast = "residual"'),
        ):
            if given not in get_args(kind):
                raise UsageError(
                    f"unknown {what} {given!r}", why=f"known: {', '.join(get_args(kind))}", hint=hint
                )
        for name in ("k", "depth", "candidates", "scan_limit"):
            check_number(f"{name} of the fusion", getattr(self, name), 1, MOST_PAPERS)

    def __str__(self) -> str:
        if self.kind == "standardised":
            rest = ", of the rest only what it predicts" if self.contrast == "residual" else ""
            return f"sum of standardised scores{rest}"
        if self.kind == "sum":
            return "sum of scores"
        return f"reciprocal rank fusion, k = {self.k}"


class Search(Value, frozen=True):
    """One search of a plan.

    Attributes:
        planner: who made it.
        probes: questions to views.
        fusion: how their answers are combined.
        direction: what the papers are to the seeds, as in :class:`~aspectra.search.query.Query`. The probes
            do the work; evidence and messages need the word.
        years: those that the direction leaves, as ``<=2021``: papers of other years are ranked after these,
            and papers of unknown year last. ``any`` leaves every year. What is more than a year apart is
            left out by a condition of the plan.
        terms: what the seeds name in each aspect, strongest first, or what was named for them, as in
            ``method: gaussian splatting, ray tracing``. For people, who may name others.
    """

    planner: str = "edited"
    probes: Annotated[tuple[Probe, ...], Meta(max_length=MOST_PROBES)] = ()
    fusion: Fusion = Fusion()
    direction: str = ""
    years: str = ""
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.probes:
            raise UsageError(
                "the search has no probes", hint='name a view in each probe: view = "abstract@bm25"'
            )
        check_length("terms in a search", self.terms, MOST_PROBES, hint="one text for each aspect")
        for terms in self.terms:
            check_length("characters in the terms of an aspect", terms, LONGEST_ASPECT, hint="shorten them")
        check_length("probes in a search", self.probes, MOST_PROBES, hint="search with those that weigh most")
        for probe in self.probes:
            _check_probe(probe)
        if self.years and not _YEARS.fullmatch(self.years):
            raise UsageError(
                f"years is {self.years!r}", why="write <=2021, >=2021 or any", hint='years = "<=2021"'
            )

    @property
    def seeds(self) -> tuple[str, ...]:
        """Ids of the papers that its probes start from, each once."""
        return tuple(dict.fromkeys(seed for probe in self.probes for seed in probe.seeds))

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts that its probes search for, on one line, each once."""
        return tuple(dict.fromkeys(" ".join(p.text.split()) for p in self.probes if p.text.strip()))

    def describe(self) -> list[str]:
        """For people: one line per probe, then the fusion."""
        way = f", direction {self.direction}" if self.direction else ""
        lines = [f"search by {self.planner}{way}{_YEARS_SAID.get(self.years[:2], '').format(self.years[2:])}"]
        lines += [f"  {_probe_line(probe)}" for probe in self.probes]
        if len(self.probes) > 1:
            lines.append(f"  fused by {self.fusion}")
        lines += [f"  terms of {terms}" for terms in self.terms]
        return lines


class Plan(Value, Displayed, frozen=True):
    """A query bound to views, as a list of steps.

    Attributes:
        steps: searches, and what happens to their results, in order. A search ranks the papers of the step
            before it, the first one all papers. A string is a stage: ``top(200)``, ``rerank(depth=50)``; see
            :mod:`aspectra.search.stages.protocol`.
        conditions: what the papers should be like. ``require`` and ``exclude`` drop papers from every search;
            ``prefer`` and ``avoid`` move them in the last one.
        compliance: what meeting one condition is worth, see :mod:`aspectra.search.conditions.grading`.
        exclude: ids never shown (the seeds of a seed query).
        within: only these ids are ranked (a pool); None for the whole library.
        limit, evidence, versions: as in :class:`~aspectra.search.query.Query`.
        unread: words of the query that request something of papers and are not applied, with the reason.
        text, instruction: the question as somebody wrote it, for stages that show it to a model.
        solution: of the query, for judges that are told to read solutions.
        same, different: aspects of the query, for the same stages, whatever its searches compare; None in a
            plan without stages, and in an older one, whose stages are told the aspects of its probes.

    >>> plan = library.plan("owls at night", recipe="bm25 | top(20)")
    >>> plan.stages, Plan.loads(plan.to_json()) == plan
    (('top(20)',), True)
    """

    steps: Annotated[tuple[Search | str, ...], Meta(max_length=MOST_STEPS)]
    conditions: Conditions = ()
    compliance: float = COMPLIANCE_WEIGHT
    exclude: tuple[str, ...] = ()
    within: tuple[str, ...] | None = None
    limit: int = 10
    evidence: int = 1
    versions: Versions = "best"
    unread: tuple[Unread, ...] = ()
    text: str = ""
    instruction: str = ""
    solution: str = ""
    same: tuple[str, ...] | None = None
    different: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "conditions", distinct(self.conditions))
        if not self.steps or not isinstance(self.steps[0], Search):
            raise UsageError("a plan begins with a search", hint="as in: bm25 | rerank")
        check_conditions(self.conditions)
        check_length("steps in a plan", self.steps, MOST_STEPS, hint="leave out some")
        every = [probe for search in self.searches for probe in search.probes]
        check_length("probes in a plan", every, MOST_PROBES, hint="search with those that weigh most")
        for stage in self.stages:
            check_length("characters in a stage", stage, _LONGEST_STAGE, hint="as in: rerank(depth=50)")
        for name in ("text", "instruction", "solution"):
            check_length(f"characters in the {name}", getattr(self, name), LONGEST_TEXT, hint="shorten it")
        aspects = (*(self.same or ()), *(self.different or ()))
        check_length("aspects in a plan", aspects, MOST_PROBES, hint="name those that matter most")
        for aspect in aspects:
            check_length("characters in an aspect", aspect, LONGEST_ASPECT, hint="say it in a few words")
        check_number("the limit", self.limit, 0, MOST_PAPERS, hint="limit = 10")
        check_number("evidence", self.evidence, 0, MOST_EVIDENCE, hint="evidence = 1")
        check_number("the compliance", self.compliance, -_HEAVIEST, _HEAVIEST, hint="compliance = 0.6")

    @property
    def searches(self) -> tuple[Search, ...]:
        """Its searches, in order."""
        return tuple(step for step in self.steps if isinstance(step, Search))

    @property
    def search(self) -> Search:
        """The last of its searches: the one whose scores are shown."""
        return self.searches[-1]

    @property
    def stages(self) -> tuple[str, ...]:
        """Its steps other than searches."""
        return tuple(step for step in self.steps if isinstance(step, str))

    def with_limit(self, limit: int) -> Plan:
        """The same plan for another number of papers."""
        return replace(self, limit=limit)

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``limit``, ``evidence`` and ``versions`` are always in it: people edit them."""
        shown = {"limit": self.limit, "evidence": self.evidence, "versions": self.versions}
        return {**shown, **super().to_dict()}

    def to_toml(self) -> str:
        """As TOML; several steps are on a line each."""
        import tomlkit  # slow to import, and only needed to write

        out = tomlkit.item(self.to_dict())
        if len(self.steps) > 1:
            out["steps"].multiline(True)
        return tomlkit.dumps(out)

    def describe(self) -> str:
        """For people: each step in order, then what holds for the whole."""
        lines = [f"plan {self.hash}: {self.limit} papers, {self.evidence} quoted sentence(s)"]
        several = len(self.steps) > 1
        for number, step in enumerate(self.steps, start=1):
            text = step.describe() if isinstance(step, Search) else [step]
            mark = f"{number}. " if several else ""
            lines += [f"  {mark}{text[0]}", *(f"  {' ' * len(mark)}{line}" for line in text[1:])]
        told = (("alike in", self.same), ("different in", self.different))
        lines += [f"  stages are told: {word} {', '.join(names)}" for word, names in told if names]
        for condition in self.conditions:
            said = f" “{condition.words}”" if condition.words else ""
            said += f", read by {condition.by}" if condition.by else ""
            how = "" if condition.filters else f", worth {condition.sign * self.compliance:+.2f} of the lead"
            how = ", lowers what it leaves by its grade" if condition.lowers else how
            lines.append(f"  [{condition.spelling}]{how}{said}")
        lines += [f"  not applied: “{u.words}”{f' ({u.why})' if u.why else ''}" for u in self.unread]
        if self.within is not None:
            lines.append(f"  ranks only {len(self.within)} given papers")
        if self.exclude:
            lines.append(f"  never shows {', '.join(self.exclude)}")
        return "\n".join(lines)


def _check_probe(probe: Probe) -> None:
    check_number(f"the weight of the probe on {probe.view}", probe.weight, -_HEAVIEST, _HEAVIEST)
    check_length("seeds of a probe", probe.seeds, MOST_SEEDS, hint="name the papers that matter most")
    check_length("characters in the text of a probe", probe.text, LONGEST_TEXT, hint="shorten it")
    check_length("characters in its instruction", probe.instruction, LONGEST_TEXT, hint="shorten it")
    check_length("characters in the focus of a probe", probe.focus, LONGEST_ASPECT, hint="shorten it")
    for name in (probe.view, probe.asking, probe.aspect):
        check_length("characters in a name", name, 2 * LONGEST_ASPECT, hint="name a view, or an aspect")


def _probe_line(probe: Probe) -> str:
    searched = []
    if probe.text:
        text = " ".join(probe.text.split())
        searched.append(f"“{text[:70]}{'…' if len(text) > 70 else ''}”")
    as_query = {"": "", "query": " encoded as a query", "query+text": " with it, encoded as one query"}
    searched += [f"paper {seed}{as_query[probe.seeds_as]}" for seed in probe.seeds]
    extra = "".join(
        f", {name} {value}"
        for name, value, plain in (
            ("aspect", probe.aspect, ""),
            ("roles", " + ".join(probe.roles), ""),
            ("sentences", " + ".join(map(str, probe.sentences)), ""),
            ("about", probe.focus.replace("\n", " · "), ""),
            ("matching", probe.matching, ""),
            ("pooling", probe.pooling, "max"),
            ("metric", probe.metric, "cosine"),
            ("instruction", probe.instruction, ""),
            ("as in", probe.asking, ""),
            ("reverse", "from each candidate" if probe.reverse else "", ""),
        )
        if value != plain
    )
    return f"{probe.weight:+.2f} × {probe.view} for {' and '.join(searched)}{extra}"
