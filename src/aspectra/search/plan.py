"""Queries, and plans: a question as steps that can be printed, edited, hashed and run again.

A query holds text, seeds and conditions of a search, as one value that every surface fills in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

from aspectra.base.display import Displayed
from aspectra.base.errors import UsageError, check_length, check_number, unknown_name
from aspectra.base.values import Value, force_setattr, replace
from aspectra.llm.budget import Cost
from aspectra.llm.chat import ModelError
from aspectra.search.conditions.condition import Conditions, as_names, check_conditions, distinct
from aspectra.views.view import Matching, Probe

Versions = Literal["best", "all"]
DIRECTIONS = ("builds-on", "built-on-by", "both")

# What a query may hold at most, so that one search is bounded work.
LONGEST_TEXT = 100_000  # characters
MOST_SEEDS = 100
MOST_PAPERS = 10**9  # as a limit: more than any library holds
MOST_EVIDENCE = 100
_MOST_ASPECTS = 8  # same and different together: each is up to four probes
_MOST_LENSES = 16
_MOST_SENTENCES = 100
LONGEST_ASPECT = 2000  # characters


class Unread(Value, frozen=True):
    """Words of a query that request something of papers and are not applied.

    Attributes:
        words: as typed.
        why: the reason, in a few words.
        searched: whether they are searched for, since they may as well belong to the subject.
        instead: the spelling of the condition that they may mean, or "".
    """

    words: str
    why: str = ""
    searched: bool = False
    instead: str = ""


class Query(Value, frozen=True):
    """A question, before it is planned.

    Attributes:
        text: free words, or "".
        seeds: ids of seed papers (resolved).
        same, different: aspects in which papers should be like the seeds (or the text), or unlike them; see
            :class:`~aspectra.search.planning.aspects.Aspect`.
        same_sentences: numbers of sentences of the one seed, from 1, whose like papers should say.
        roles: roles that somebody corrected, as ``3=method``: for this query, that sentence of the one seed
            has that role.
        conditions: what the papers themselves should be like, each once; limits on year, venue, author and
            language are conditions too, see :func:`~aspectra.search.conditions.condition.limits`.
        instruction: what the papers should be like, in free words, or "".
        direction: what the papers are to the seeds: ``builds-on`` (the seeds build on them), ``built-on-by``
            (they build on the seeds), ``both``, or "" for plain likeness.
        any_year: a direction ranks papers of every year; otherwise those that cannot be in it are left out,
            see :mod:`aspectra.search.planning.index_views`.
        lenses: lenses to search through, for planners that use them; () leaves the choice to the planner.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper, 0 for none.
        versions: ``best`` shows one version of a work and names the others; ``all`` ranks each by itself.
        literal: search the text as it is; otherwise constraints in it are read and applied, as those of the
            instruction always are.

    Raises:
        UsageError: there is neither text nor seed, or a field has an impossible value.

    >>> Query("owls", limit=3).limit
    3
    """

    text: str = ""
    seeds: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    same_sentences: tuple[int, ...] = ()
    roles: tuple[str, ...] = ()
    conditions: Conditions = ()
    instruction: str = ""
    direction: str = ""
    any_year: bool = False
    lenses: tuple[str, ...] = ()
    limit: int = 10
    evidence: int = 1
    versions: Versions = "best"
    literal: bool = False

    def __post_init__(self) -> None:
        for name in ("seeds", "same", "different", "roles", "lenses"):
            force_setattr(self, name, as_names(getattr(self, name)))
        check_length("characters in the text", self.text, LONGEST_TEXT, hint="search for its abstract")
        check_length("characters in the instruction", self.instruction, LONGEST_TEXT, hint="shorten it")
        check_length("seeds", self.seeds, MOST_SEEDS, hint="name the papers that matter most")
        check_length("aspects", self.same + self.different, _MOST_ASPECTS, hint="name those that matter most")
        check_length("lenses", self.lenses, _MOST_LENSES, hint="name those that matter most")
        for aspect in (*self.same, *self.different):
            check_length("characters in an aspect", aspect, LONGEST_ASPECT, hint="say it in a few words")
        _check_sentences(self.same_sentences, self.roles, self.seeds)
        force_setattr(self, "conditions", distinct(self.conditions))
        check_conditions(self.conditions)
        if not self.text.strip() and not self.seeds:
            raise UsageError(
                "the query is empty", hint='give words, as in: aspectra search "graph pretraining"'
            )
        check_number("the limit", self.limit, 0, MOST_PAPERS, hint="--limit 10")
        check_number("evidence", self.evidence, 0, MOST_EVIDENCE, hint="--evidence 1")
        _check_direction(self.direction, self.seeds)
        if self.versions not in get_args(Versions):
            raise UsageError(
                f"versions is {self.versions!r}", why="it must be best or all", hint="--all-versions for all"
            )


def _check_sentences(numbers: tuple[int, ...], roles: tuple[str, ...], seeds: tuple[str, ...]) -> None:
    check_length("sentences", numbers, _MOST_SENTENCES, hint="name those that matter most")
    check_length("roles", roles, _MOST_SENTENCES, hint="correct those that matter most")
    for number in numbers:
        check_number("the number of a sentence", number, 1, MOST_PAPERS, hint="aspectra show ID --sentences")
    if (numbers or roles) and len(seeds) != 1:
        raise UsageError(
            "sentences are named of one seed paper",
            why=f"the query has {len(seeds)} seeds" if seeds else "the query has words alone",
            hint="aspectra similar ID --same-sentences 3,5",
        )


def _check_direction(direction: str, seeds: tuple[str, ...]) -> None:
    if direction and direction not in DIRECTIONS:
        raise unknown_name(f"unknown direction {direction!r}", direction, DIRECTIONS)
    if direction and not seeds:
        raise UsageError(
            f"a direction ({direction}) needs a seed paper",
            why="words alone neither build on papers nor are built on",
            hint=f"aspectra similar ID --direction {direction}",
        )


# The probes and weights of the planners' defaults, all in one place.
#
# They were chosen on development data only (docs/results/aspects.md says which, and what they cost and
# gain) and depend on nothing but the views there are and the fields that a query gives. Weights multiply
# scores in deviations from the mean of a fixed sample of papers, see :mod:`aspectra.search.scoring.chain`.

# BM25 beside the abstract vector's 1.0.
LEXICAL_WEIGHT = 0.3

# Likeness in the aspects that the query names, shared between them.
ASPECT_WEIGHT = 1.0

# Likeness in the other roles, subtracted: what tells "the same method" from "much the same paper". Where
# terms are compared too it gained nothing, plain or as residual.
CONTRAST_WEIGHT = 0.4
CONTRAST_BESIDE_TERMS = 0.0

# Likeness in an aspect that is to be different, subtracted, shared between them.
DIFFERENT_WEIGHT = 0.8

# How sentences of a role are compared; each has its share of the weight. MaxSim follows an aspect closer, the
# centroid is steadier where roles are predicted wrongly.
ASPECT_MATCHINGS: tuple[Matching, ...] = ("maxsim", "centroid")


class Shares(Struct, frozen=True):
    """Share of each reading of an aspect in the aspect's weight.

    Attributes:
        sentences: similarity of the sentences with its roles.
        words: terms shared, by words.
        vectors: terms shared, by their pooled vectors.
        anywhere: words that somebody named, wherever a paper has them.
    """

    sentences: float = 0.0
    words: float = 0.0
    vectors: float = 0.0
    anywhere: float = 0.0


# Terms that somebody named.
NAMED = Shares(words=0.5, vectors=1.0, anywhere=2.0)

# An aspect in free words, which has no terms: at 1.0 its sentences cost nDCG@20 in all of eight collections.
FREE = Shares(sentences=0.5)


def aspect_shares(sure: float) -> Shares:
    """Shares of an aspect's readings: terms count in proportion to the certainty of the seed's.

    Chosen so that no collection loses (CSFCube's development half, aspect-pairs). Labels alone would have
    terms count twice as much, CSFCube alone would have none. How far a seed's terms and sentences agree, and
    how much either singles out, did not tell which of the two serves it better.

    Args:
        sure: 0 to 1, see :class:`~aspectra.views.terms.view.Offer`.
    """
    return Shares(sentences=0.8, words=0.8 * sure, vectors=2.0 * sure)


# Papers whose sentences are compared, the best of the other probes, where all would be too many. Among 88,584
# papers 200 to 8,000 gave the same NDCG@20 within a point, so this is about time.
ASPECT_CANDIDATES = 300
# Papers of the hybrid that the planner `late` compares token by token, and what MaxSim counts beside it.
LATE_CANDIDATES = 300
LATE_WEIGHT = 0.5
# The hybrid's probes beside those of the lenses of a query: what a lens found comes first, and the paper's
# own words decide between papers in which it found much the same. Set by hand, not tuned.
UNLENSED_WEIGHT = 0.5

# What wholly meeting one preference is worth, as a share of the best paper's lead over the field.
COMPLIANCE_WEIGHT = 0.6

# The stage that takes a searcher's decisions as examples. Papers and weights as measured with simulated
# decisions, see docs/results/decisions.md.
LIKE_DECIDED = "feedback(papers=10,decided=yes,against=0.25)"

# Further words beside a seed with a direction.
TEXT_WEIGHT = 1.0


class Directed(Struct, frozen=True):
    """One probe of a directional plan before it knows its seed; fields as in a probe.

    ``{chunks}`` and ``{encoder}`` in a view's name stand for the library's own.
    """

    view: str
    weight: float = 1.0
    reverse: bool = False
    matching: Matching = ""
    asking: str = ""


# A direction's probes, chosen on one half of acl-fulltext's queries (docs/results/full-papers.md). What asks:
# a paper's telling words, its chunks, its abstract, the mean of its chunks; "back" is in reverse.
_WORDS_BACK = Directed("full@bm25", reverse=True)
_WORDS = Directed("full@bm25")
_CHUNKS_BACK = Directed("{chunks}@{encoder}", reverse=True)
_CHUNKS = Directed("{chunks}@{encoder}", matching="maxsim")
_PLACES_BACK = Directed("{chunks}@bm25", 0.5, reverse=True, asking="abstract@bm25")
_PLACES = Directed("{chunks}@bm25", 0.5)
_ABSTRACT = Directed("abstract@{encoder}")
_ABSTRACT_BACK = Directed("abstract@{encoder}", reverse=True)
_TERMS_BACK = Directed("abstract@bm25", reverse=True)

DIRECTED_FULL_TEXTS: dict[str, tuple[Directed, ...]] = {
    "builds-on": (_WORDS_BACK, _CHUNKS_BACK, replace(_PLACES_BACK, weight=1.0), _ABSTRACT),
    "built-on-by": (_WORDS, Directed("{chunks}@{encoder}", asking="abstract@{encoder}"), _PLACES),
    "both": (_WORDS_BACK, _WORDS, _CHUNKS_BACK, _CHUNKS, _PLACES_BACK, _PLACES, _ABSTRACT),
}
DIRECTED_ABSTRACTS: dict[str, tuple[Directed, ...]] = {
    "builds-on": (_ABSTRACT, replace(_TERMS_BACK, weight=0.5), replace(_ABSTRACT_BACK, weight=0.5)),
    "built-on-by": (_ABSTRACT, _TERMS_BACK, _ABSTRACT_BACK),
    "both": (_ABSTRACT, _TERMS_BACK, _ABSTRACT_BACK),
}


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
        if self.kind not in get_args(FusionKind):
            raise UsageError(
                f"unknown fusion {self.kind!r}",
                why="known: " + ", ".join(get_args(FusionKind)),
                hint='kind = "standardised"',
            )
        if self.contrast not in get_args(Contrast):
            raise UsageError(
                f"unknown contrast {self.contrast!r}",
                why="known: subtract, residual",
                hint='contrast = "residual"',
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
        direction: what the papers are to the seeds, as in :class:`~aspectra.search.plan.Query`. The probes
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
        limit, evidence, versions: as in :class:`~aspectra.search.plan.Query`.
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
        for what, text in (
            ("text", self.text),
            ("instruction", self.instruction),
            ("solution", self.solution),
        ):
            check_length(f"characters in the {what}", text, LONGEST_TEXT, hint="shorten it")
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
