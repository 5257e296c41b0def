"""One pass over the library: the cost of a lens, questions about each paper, and a run that resumes.

A reply is in the journal of model calls before it is used, and a value is in the library soon after. So a
run that was killed goes on from the journal: at most the calls under way are asked again. The library is
locked only while a batch of values is written; adding papers meanwhile is possible.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import LibraryBusy, UsageError
from aspectra.base.values import replace
from aspectra.llm.assemble import Model
from aspectra.llm.budget import Cost, prompt_tokens
from aspectra.llm.chat import (
    ChatModel,
    ContextExceeded,
    Message,
    ModelError,
    Offline,
    Refused,
    Request,
)
from aspectra.llm.loops import run
from aspectra.llm.prompts.conversation import as_data, fill, without_hidden, without_marks
from aspectra.papers.library.derived import Arrays
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.text.references import strip_citations
from aspectra.views.prompted.definition import (
    MOST_CHARACTERS,
    LensAnswer,
    LensPrompt,
    PendingText,
    PromptedLens,
    common,
    define,
    papers_at,
    pending_texts,
    tally,
    values_of,
)
from aspectra.views.prompted.schema import Unreadable

# One paper, one question, one value: what is shown, what is asked again, what is given up.

NO_TEXT = "no text beyond a title"
TRIES = 3  # answers asked for, at most, until one can be read
_SHRINK = (1.0, 0.5, 0.25)  # shares of a paper shown, where a model reads less than was thought
_QUOTED = 500  # characters of an unreadable answer that are shown back
_BREAK = "\n\n"  # between the parts of a paper


@dataclass(frozen=True, slots=True)
class ShownPaper:
    """A paper as a model sees it.

    Attributes:
        text: one JSON object, on one line, see :mod:`aspectra.llm.prompts.conversation`.
        cut: whether the paper says more.
        left_out: headings of the sections that are not shown, or only in part; their numbers, from 1, where
            they have no heading.
        plain: its ``title`` and its ``text``, without a form and without a template's marks.
    """

    text: str
    cut: bool = False
    left_out: tuple[str, ...] = ()
    plain: Mapping[str, str] = field(default_factory=dict)


def show(paper: Paper, prompt: LensPrompt, share: float = 1.0) -> ShownPaper | None:
    """Text of a paper that the model is shown; None if the paper has nothing but a title.

    Sections are shown without their in-text citations, as views of full text see them. A paper that is too
    long is cut between sections, in reading order. It is cut inside a section only if less than half of the
    allowed length would be shown otherwise.

    Args:
        paper: with its sections where the prompt reads them or they stand for the abstract.
        prompt: says what is read, and how much of it.
        share: of the characters allowed.
    """
    parts = [("", paper.abstract.strip())]
    if prompt.reads == "full" or not parts[0][1]:
        for number, section in enumerate(paper.sections, start=1):
            heading = " ".join(section.heading.split())
            if text := strip_citations(section.text).text.strip():
                parts.append((heading or str(number), f"{heading}\n{text}".strip()))
    clean = [(name, part) for name, written in parts if (part := without_hidden(written)[0])]
    if not clean:
        return None
    length = len(_BREAK.join(part for _, part in clean))
    # A limit beyond what a prompt file can state is no limit: the share then applies to the paper's length.
    most = prompt.most_characters if prompt.most_characters <= MOST_CHARACTERS else length
    body, left_out = _fitted(clean, max(1, int(most * share)))
    data = {"title": without_hidden(" ".join(paper.title.split()))[0], "text": body}
    cut = len(body) < length
    return ShownPaper(
        as_data({k: v for k, v in data.items() if v}),
        cut,
        left_out,
        {name: without_marks(part) for name, part in data.items()},
    )


def _fitted(parts: Sequence[tuple[str, str]], most: int) -> tuple[str, tuple[str, ...]]:
    """The first of these (name, text) parts within ``most`` characters, and the names of the others."""
    kept: list[str] = []
    used = 0
    for number, (_, part) in enumerate(parts):
        if used + len(part) > most:
            if used < most / 2:
                kept.append(_first_words(part, most - used))
            return _BREAK.join(kept), tuple(name for name, _ in parts[number:] if name)
        kept.append(part)
        used += len(part) + len(_BREAK)
    return _BREAK.join(kept), ()


def _first_words(text: str, most: int) -> str:
    """The start of a text, cut at white space where there is some in its second half."""
    at = max(text.rfind(space, most // 2, most + 1) for space in (" ", "\n"))
    return text[: at if at > 0 else most]


def question(prompt: LensPrompt, shown: ShownPaper, paper_id: str, begun: int = 0, salt: str = "") -> Request:
    """The first question about a paper.

    A journal may return every answer again, readable or not. After an unreadable answer another question is
    asked, so a run that was killed gets the same answers again without paying twice.

    Args:
        prompt: of the lens.
        shown: of the paper.
        paper_id: of the paper.
        begun: number of answers in earlier runs that gave no value and are not to be returned again.
        salt: another one makes it another question: the number of a repeat, say.
    """
    asked = Request(
        prompt.messages(shown.text, salt, shown.plain),
        prompt=prompt.stamp,
        max_tokens=prompt.max_tokens + prompt.thinking,
        schema=prompt.schema.request_schema(),
        subjects=(paper_id,),
        repeat=begun,
        accept=lambda reply: True,  # whatever it is
    )
    return replace(prompt.talk.request(asked), max_tokens=asked.max_tokens)


async def read_paper(
    prompt: LensPrompt,
    paper: Paper,
    model: ChatModel,
    tries: int = TRIES,
    before: LensAnswer | None = None,
) -> LensAnswer:
    """A model's value of one paper, or the reason why it gave none.

    An answer that cannot be read is asked again, with what was wrong about it, ``tries`` times in all. A
    paper that is too long for the model is shown in part.

    Args:
        prompt: of the lens.
        paper: with what the prompt reads of it.
        model: is asked.
        tries: answers asked for, at most.
        before: the failed result of an earlier run; its answers are counted too.

    Raises:
        ModelError: nothing is known about this paper, because the endpoint did not serve, or refused the
            request for a reason that need not lie in the paper; another run may do better.
    """
    for share in _SHRINK:
        shown = show(paper, prompt, share)
        if shown is None:
            return LensAnswer(None, NO_TEXT, calls=0)
        try:
            return await _read(prompt, shown, paper.id, model, tries, before)
        except ContextExceeded:
            continue
        except Refused as error:
            return LensAnswer(None, f"declined: {error.what}", cut=shown.cut, simulated=model.simulated)
    return LensAnswer(None, "too long for the model", calls=0, cut=True)


async def _read(
    prompt: LensPrompt,
    shown: ShownPaper,
    paper_id: str,
    model: ChatModel,
    tries: int,
    before: LensAnswer | None,
) -> LensAnswer:
    spent = LensAnswer(None, calls=0) if before is None else replace(before, failure="")
    request = first = question(prompt, shown, paper_id, spent.calls)
    spent = replace(spent, cut=shown.cut, thumb=spent.thumb + prompt_tokens(request))
    why = ""
    for attempt in range(tries):
        reply = await model.complete(request)
        spent = replace(
            spent,
            calls=spent.calls + 1,
            asked=spent.asked + reply.usage.prompt_tokens,
            answered=spent.answered + reply.usage.completion_tokens,
            simulated=spent.simulated or reply.simulated,
        )
        try:
            found = prompt.read(reply.text, cut=reply.finish == "length")
        except Unreadable as error:
            why = str(error)
            spent = replace(spent, malformed=spent.malformed + 1)
        else:
            return replace(spent, value=found.value, repaired=found.repaired)
        # Another question, so that a model which always answers the same to the same has a reason not to.
        said = Message("assistant", without_marks(reply.text[:_QUOTED]) or "-")
        asked = Message("user", fill(common("correction"), {"why": without_marks(why)}))
        request = replace(first, messages=(*first.messages, said, asked), repeat=first.repeat + attempt + 1)
    return replace(spent, failure=f"malformed: {why}")


_MEASURED = 20  # values from which on an estimate is measured rather than guessed
_PATIENCE = 120.0  # seconds that the last write waits for another process's


@dataclass(frozen=True)
class LensEstimate:
    """Estimate of the remaining work of a lens and of its cost.

    Attributes:
        papers: to be asked about.
        without_text: that have nothing but a title and will not be asked about.
        cut: of ``papers``, those longer than what is shown of them.
        recorded: of ``papers``, those whose answer is in the journal: they cost nothing.
        cost: of the rest, expected.
        most: of the rest at the very most, every answer as long as it may be and read at the last try.
        measured: values that the expectation was measured on; 0 where it is a rule of thumb.
        simulated: whether some of those come from no language model.
    """

    papers: int = 0
    without_text: int = 0
    cut: int = 0
    recorded: int = 0
    cost: Cost = Cost()
    most: Cost = Cost()
    measured: int = 0
    simulated: bool = False


def estimate_lens(
    library: Store, lens: PromptedLens, model: Model | None = None, *, failed: bool = False
) -> LensEstimate:
    """Estimate the cost of computing a lens's missing values.

    Tokens are the rule of thumb of :mod:`aspectra.llm.budget`. Once there are values, it is corrected by what
    those took: tokens of questions against the rule of thumb, tokens of answers, and answers for a value.

    Args:
        library: whose papers are looked at.
        lens: with the model that is to compute it.
        model: for its price and its journal; None where no model is named: then money is unknown.
        failed: count those without a value in an earlier run too.
    """
    prompt = lens.prompt
    papers = without = cut = recorded = thumb = asked = 0
    had = pending_texts(library, lens, failed=failed)
    for pos, paper in papers_at(library, lens, list(had)):
        shown = show(paper, prompt)
        if shown is None:
            without += 1
            continue
        papers += 1
        cut += shown.cut
        before = had[pos].before
        request = question(prompt, shown, paper.id, 0 if before is None else before.calls)
        if model is not None and model.journal.holds(request):
            recorded += 1
        else:
            asked += 1
            thumb += prompt_tokens(request)
    known = tally(library, lens)
    read = known.values + known.failed - known.failures.get(NO_TEXT, 0)
    measured = read if read >= _MEASURED and known.thumb and known.calls else 0
    # How much a model thinks is anybody's guess before it was measured.
    usual = (prompt.usual_tokens or prompt.max_tokens // 2) + prompt.thinking // 2
    longest = prompt.max_tokens + prompt.thinking
    calls, prompts, answers = float(asked), float(thumb), float(usual * asked)
    if measured:
        calls *= known.calls / measured
        prompts *= known.asked / known.thumb
        answers = known.answered / measured * asked
    price = None if model is None else model.price

    def cost(n: float, question_tokens: float, answer_tokens: float) -> Cost:
        q, a = round(question_tokens), round(answer_tokens)
        return Cost(round(n), q, a, price.of(q, a) if price else 0.0, 0 if price else round(n))

    # Each correction repeats the question, the answers before and a sentence.
    worst = sum(thumb + (prompt.max_tokens + 60) * n * asked for n in range(TRIES))
    most = cost(TRIES * asked, worst, TRIES * longest * asked)
    expected = cost(calls, prompts, answers)
    simulated = bool(measured and known.simulated)
    return LensEstimate(papers, without, cut, recorded, expected, most, measured, simulated)


@dataclass
class RunReport:
    """Result of one run.

    Attributes:
        values: got now.
        empty: of those, texts that say that there is nothing to see.
        failed: papers without text, or that the model gave no value for.
        failures: reason -> papers.
        unanswered: papers that the endpoint did not serve; another run asks them again.
        malformed: answers now that gave no value.
        repaired: values whose answer was not quite what was asked for.
        cut: papers longer than what was shown of them.
        left: papers that the run did not reach.
        cost: spent now.
        simulated: whether no language model was behind any of it.
        stopped: what ended the run before its end, or None.
    """

    values: int = 0
    empty: int = 0
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    unanswered: int = 0
    malformed: int = 0
    repaired: int = 0
    cut: int = 0
    left: int = 0
    cost: Cost = Cost()
    simulated: bool = False
    stopped: ModelError | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``stopped`` is the code of what ended the run, or ""."""
        out = asdict(replace(self, stopped=None))
        return {**out, "stopped": "" if self.stopped is None else self.stopped.code}

    def note(self, reading: LensAnswer, before: LensAnswer | None = None) -> None:
        """Count one paper, for which an earlier run may have had failed answers."""
        self.malformed += reading.malformed - (0 if before is None else before.malformed)
        self.repaired += reading.repaired
        self.cut += reading.cut
        self.simulated |= reading.simulated
        if reading.value is None:
            self.failed += 1
            self.failures[reading.failure] = self.failures.get(reading.failure, 0) + 1
        else:
            self.values += 1
            self.empty += reading.value == ""


def bound_to(lens: PromptedLens, model: str, *, switch: bool = False) -> PromptedLens:
    """The lens with the model that computes it.

    Args:
        lens: as the library has it.
        model: the journal's name of the model.
        switch: take this model from now on; the other's values are then not looked at.

    Raises:
        UsageError: the lens is computed by another model.
    """
    if lens.model and lens.model != model and not switch:
        raise UsageError(
            f"the lens {lens.name!r} is computed by the model {lens.model!r}, not {model!r}",
            why="values of two models are not mixed",
            hint=f"name that model, or: aspectra lens run {lens.name} --switch-model, which starts anew",
        )
    return lens.with_model(model)


def run_lens(
    library: Store,
    lens: PromptedLens,
    model: Model,
    *,
    failed: bool = False,
    most: int | None = None,
    spread: bool = False,
    tries: int = TRIES,
    batch: int = 256,
    progress: Progress = quiet,
) -> RunReport:
    """Compute a lens's missing values.

    Args:
        library: whose papers are looked at.
        lens: bound to this model by :func:`bound_to`.
        model: is asked.
        failed: ask again about papers without a value in an earlier run.
        most: papers looked at, or None for all.
        spread: in an order that makes the first a fair sample.
        tries: answers asked for, at most, until one can be read.
        batch: papers under way between two writes.
        progress: called with (step, done, total).

    Returns:
        What was done; ``stopped`` says why the end was not reached, where it was not.

    Raises:
        LibraryBusy: values could not be written; they are in the journal, and cost nothing again.
        JournalFailed, JournalBroken: the journal cannot be used.
    """
    with library.writing("lens") as writer:
        define(library, writer, lens)
    had = pending_texts(library, lens, failed=failed, spread=spread)
    waiting = list(had)[:most]
    total = len(waiting)
    report, done = RunReport(), 0
    before = model.account.cost
    pending: list[tuple[PendingText, LensAnswer]] = []
    lost: ModelError | None = None
    step = f"asking {model.name} through the lens {lens.name}"
    while done < total and report.stopped is None:
        progress(step, done, total)
        block = list(papers_at(library, lens, waiting[done : done + batch], batch))
        done = min(total, done + batch)
        found = run(_ask(lens, model, [(paper, had[pos].before) for pos, paper in block], tries))
        errors = [reading for reading in found if isinstance(reading, ModelError)]
        for (pos, _), reading in zip(block, found, strict=True):
            if isinstance(reading, LensAnswer):
                report.note(reading, had[pos].before)
                pending.append((had[pos], reading))
        report.unanswered += len(errors)
        lost = next(iter(errors), lost)
        # What is not recorded cannot be had offline; what is recorded can, and may come later.
        ends = [error for error in errors if error.fatal and not isinstance(error, Offline)]
        if ends or (errors and len(errors) == len(found) and not isinstance(errors[0], Offline)):
            report.stopped = (ends or errors)[0]
        if _write(library, lens, pending):
            pending = []
    deadline = time.monotonic() + _PATIENCE
    while not _write(library, lens, pending, last=time.monotonic() > deadline):
        time.sleep(0.2)
    progress(step, done, total)
    report.left = total - done
    report.stopped = report.stopped or (lost if report.unanswered else None)
    report.cost = model.account.cost - before
    report.simulated |= model.simulated
    return report


async def _ask(
    lens: PromptedLens, model: ChatModel, papers: list[tuple[Paper, LensAnswer | None]], tries: int
) -> list[LensAnswer | ModelError]:
    """A reading of each paper, or the error that prevented it; the journal limits the calls under way."""
    asked = [read_paper(lens.prompt, paper, model, tries, before) for paper, before in papers]
    out: list[LensAnswer | ModelError] = []
    for found in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(found, BaseException) and not isinstance(found, ModelError):
            raise found
        out.append(found)
    return out


def _write(
    library: Store, lens: PromptedLens, rows: list[tuple[PendingText, LensAnswer]], last: bool = False
) -> bool:
    """Write values; False where another process is writing, and this is not the last attempt."""
    packed: dict[Store, list[tuple[str, Arrays]]] = {}
    for text, reading in rows:
        for place in text.places:
            packed.setdefault(library.holder(place), []).append((text.key, reading.pack()))
    try:
        for holder, values in packed.items():
            with holder.writing("lens") as writer:
                writer.derived.put(values_of(lens), values)
    except LibraryBusy:
        if last:
            raise
        return False
    return True
