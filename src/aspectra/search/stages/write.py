"""Query optimisers: a model reads the seed paper and writes a query for each aspect (PRISM, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aspectra.base.errors import UsageError, check_choice, check_number
from aspectra.base.files import digest_texts
from aspectra.base.registry import spell
from aspectra.base.values import replace
from aspectra.llm import loops
from aspectra.llm.chat import Reply, Request, object_schema
from aspectra.llm.prompts.conversation import read_prompt
from aspectra.papers.paper import Paper
from aspectra.search.plan import Search, Step
from aspectra.search.planning.planners.guided import WRITERS
from aspectra.search.rerank.asker import Asker, in_parallel
from aspectra.search.rerank.shown_texts import ShownTexts, fit_for, rules
from aspectra.search.stages.protocol import STAGES, Context, SearchState
from aspectra.search.stages.rewrite import field_of, prompt, step_of
from aspectra.views.prompted.definition import LensPrompt, PromptedLens, builtin_text, definitions, reading_of
from aspectra.views.prompted.running import ShownPaper, question, show
from aspectra.views.prompted.schema import Unreadable
from aspectra.views.protocol import ViewFacts
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.view import Probe

_LONGEST = 4000  # characters of a query


@dataclass(frozen=True, slots=True)
class _Task:
    """One question to the model.

    Attributes:
        paper: the seed, with its sections.
        aspects: what it writes about: one, or all at once.
        prompt: of the lens of the one aspect; of all at once, what says how much of the paper is shown.
        path: another prompt for all at once than ours, or "".
    """

    paper: Paper
    aspects: tuple[str, ...]
    prompt: LensPrompt
    path: str = ""

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        return self.paper.id, self.aspects

    def shown(self, share: float) -> ShownPaper:
        found = show(self.paper, self.prompt, share)
        return ShownPaper("{}") if found is None else found

    def request(self, share: float, salt: str) -> Request:
        shown = self.shown(share)
        if len(self.aspects) == 1:
            return question(self.prompt, shown, self.paper.id, salt=salt)
        fence = "===" + digest_texts([salt, shown.text] if salt else [shown.text])[:20]
        words = prompt("write_all", self.path)
        values = {"paper": f"{fence}\n{shown.text}\n{fence}", "rules": rules(fence), **shown.plain}
        text = {"type": "string", "maxLength": _LONGEST}
        schema = object_schema(**dict.fromkeys(self.aspects, text))
        most = len(self.aspects) * self.prompt.max_tokens + self.prompt.thinking
        return words.request(values, max_tokens=most, schema=schema, subjects=(self.paper.id,))

    def read(self, reply: Reply) -> dict[str, str]:
        """Aspect -> what was written about it, "" for nothing; {} where that cannot be read."""
        if len(self.aspects) == 1:
            try:
                return {
                    self.aspects[0]: str(self.prompt.read(reply.text, cut=reply.finish == "length").value)
                }
            except Unreadable:
                return {}
        talk = prompt("write_all", self.path).talk
        found = {aspect: field_of(reply.text, talk.keys.get(aspect, aspect)) for aspect in self.aspects}
        if not all(isinstance(text, str) and not talk.repeats(text) for text in found.values()):
            return {}
        return {aspect: " ".join(text.split())[:_LONGEST] for aspect, text in found.items()}


@STAGES.register("write")
@dataclass(frozen=True)
class Write:
    """Readings of the seeds give way to queries that the model writes; readings of other papers stay.

    The prompts are those of the lenses ``research_question``, ``method``, ``experiment`` and, for the reader
    ``base``, ``overview``, as the library has them, else ours. They are about the paper alone: instruction
    and aspects of the query are not in them, and a note says so. What a lens holds of a seed already, by the
    same model, is taken as it is. Where nothing was written the extracted reading stays.

    Attributes:
        agents: ``each``: a question for each aspect; ``one``: one question for all aspects of a paper.
        thinking: tokens that a reasoning model may spend before it answers.
        prompts: a folder of files that come before those prompts, each called as its lens with ``.toml``, and
            ``write_all.toml`` for one agent; "" for none.
        text_tokens: of a seed that are shown, at most; 0 for the whole paper, -1 for what the prompt says.
    """

    name: ClassVar[str] = "write"
    needs_model: ClassVar[bool] = True
    agents: str = "each"
    thinking: int = 0
    prompts: str = ""
    text_tokens: int = -1

    def __post_init__(self) -> None:
        check_choice(self.agents, ("each", "one"), "kind of agents")
        check_number("the room for thinking", self.thinking, 0, 1_000_000)
        check_number("text_tokens", self.text_tokens, -1, 1_000_000_000)

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0  # only the seeds, before anything is searched

    def requests(self, search: Search, context: Context) -> list[Request]:
        """Requests that it will send to the model, without those that lenses answer already.

        Raises:
            UsageError: the search has no reading to write.
        """
        known = self._known(search, context)
        return [task.request(1.0, context.salt) for task in self._tasks(search, context, known)]

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`.

        Raises:
            UsageError: it does not follow a search with readings.
        """
        question = context.question()
        asker = Asker(context.require(self.name), ShownTexts(question), concurrency=context.lanes)
        texts = self._known(state.search, context)
        notes = [f"{aspect} of {seed}: as the lens holds it" for seed, aspect in texts]
        asker.simulated = any(simulated for _, simulated in texts.values())
        tasks = self._tasks(state.search, context, texts)
        shares: dict[tuple[str, tuple[str, ...]], float] = {}

        async def ask(task: _Task) -> dict[str, str]:
            def build(share: float) -> Request:
                shares[task.key] = share
                return task.request(share, context.salt)

            reply = await asker.ask(build, lambda reply: bool(task.read(reply)))
            return {} if reply is None else task.read(reply)

        found = loops.run(in_parallel(ask, tasks, context.lanes))
        written = {key: text for key, (text, _) in texts.items()}
        for task, answer in zip(tasks, found, strict=True):
            written |= {(task.paper.id, aspect): text for aspect, text in answer.items()}
        cuts = _cuts(tasks, shares)
        notes += cuts
        if question.instruction:
            notes.append(f"its prompts ask for fixed parts of a paper: not told “{question.instruction}”")
        lacking = [key for key in _wanted(state.search) if not written.get(key)]
        notes += [
            f"nothing was written about the {a} of {seed}: its reading is searched" for seed, a in lacking
        ]
        search = replace(state.search, probes=_with_texts(state.search.probes, written))
        asked = {(task.paper.id, aspect) for task in tasks for aspect in task.aspects}
        lost = any(key in asked and key not in written for key in lacking)
        step = step_of(spell(self), asker, *notes, degraded=lost)
        return state.anew(search), replace(step, tally=replace(step.tally, cut=len(cuts)))

    def _known(self, search: Search, context: Context) -> dict[tuple[str, str], tuple[str, bool]]:
        """(seed, aspect) -> text that a lens holds of it by this model, and whether that is simulated."""
        wanted = _wanted(search)
        if (
            context.model is None
            or context.salt
            or self.agents == "one"
            or self.text_tokens >= 0
            or self.prompts
        ):
            return {}
        out = {}
        held = definitions(context.engine.library)
        for seed, aspect in wanted:
            lens = held.get(WRITERS[aspect])
            if lens is None or lens.model != context.model.name:
                continue
            found = reading_of(context.engine.library, lens.name, lens.fingerprint, seed)
            if found is not None and isinstance(found.value, str):
                out[seed, aspect] = found.value, found.simulated
        return out

    def _file(self, name: str) -> str:
        """A file of the user's for a prompt, or ""."""
        path = Path(self.prompts) / f"{name}.toml"
        return str(path) if self.prompts and path.is_file() else ""

    def _tasks(
        self, search: Search, context: Context, known: dict[tuple[str, str], tuple[str, bool]]
    ) -> list[_Task]:
        held = definitions(context.engine.library)
        wanted = [key for key in _wanted(search) if key not in known]
        papers = {p.id: p for p in context.papers([seed for seed, _ in wanted], full=True)}

        room = fit_for(context.model, self.text_tokens, 0).shown if self.text_tokens >= 0 else 0

        def words(aspect: str) -> LensPrompt:
            name = WRITERS[aspect]
            lens = held.get(name) or PromptedLens(name, builtin_text(name))
            if path := self._file(name):
                lens = PromptedLens(name, read_prompt(Path(path)))
            thinking = max(lens.thinking, self.thinking)
            most = 4 * room if room else lens.prompt.most_characters
            return replace(lens.prompt, thinking=thinking, most_characters=most)

        if self.agents == "one":
            if {aspect for _, aspect in wanted} - set(ASPECT_READERS):
                raise UsageError("one agent writes about the question, the method and the experiments")
            seeds = dict.fromkeys(seed for seed, _ in wanted)
            made = [
                _Task(papers[seed], ASPECT_READERS, words("question"), self._file("write_all"))
                for seed in seeds
                if seed in papers
            ]
        else:
            made = [_Task(papers[seed], (a,), words(a)) for seed, a in wanted if seed in papers]
        return [task for task in made if show(task.paper, task.prompt) is not None]


def _aspect_of(probe: Probe) -> str:
    """The reader whose reading a probe searches with, or that of its lens; "" where it has none."""
    facts = ViewFacts.of(probe.asking)
    lenses = {lens: aspect for aspect, lens in WRITERS.items()}
    return facts.base if facts.base in WRITERS else lenses.get(facts.lens, "")


def _wanted(search: Search) -> list[tuple[str, str]]:
    """(seed, aspect) of all that is to be written, each once.

    Raises:
        UsageError: nothing is to be written.
    """
    found = [
        (seed, _aspect_of(p)) for p in search.probes if _aspect_of(p) and not p.reverse for seed in p.seeds
    ]
    if not found:
        raise UsageError(
            f"nothing can be written for the search by {search.planner}",
            why="none of its probes searches with a reading of a seed",
            hint="prism | write",
        )
    return list(dict.fromkeys(found))


def _with_texts(probes: Sequence[Probe], written: dict[tuple[str, str], str]) -> tuple[Probe, ...]:
    """The probes with texts in place of seeds; one for each seed, which share the weight."""
    out = []
    for probe in probes:
        aspect = _aspect_of(probe)
        texts = {seed: written.get((seed, aspect), "") for seed in probe.seeds} if aspect else {}
        if probe.reverse or not any(texts.values()):
            out.append(probe)
            continue
        for seed, text in texts.items():
            one = replace(probe, weight=probe.weight / len(texts), aspect=aspect)
            out.append(replace(one, text=text, seeds=()) if text else replace(one, seeds=(seed,)))
    return tuple(out)


def _cuts(tasks: Sequence[_Task], shares: Mapping[tuple[str, tuple[str, ...]], float]) -> list[str]:
    """Parts of the papers that were not shown, each one sentence."""
    out = []
    for task in tasks:
        shown = task.shown(shares.get(task.key, 1.0))
        if shown.cut:
            names = ", ".join(shown.left_out[:5]) + (" ..." if len(shown.left_out) > 5 else "")
            out.append(f"{task.paper.id} is too long to be shown whole: without {names or 'its end'}")
    return list(dict.fromkeys(out))
