"""One paper, one question, one value: what is shown, what is asked again, what is given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.base.values import replace
from aspectra.llm.budget import prompt_tokens
from aspectra.llm.chat import BadRequest, ChatModel, ContextExceeded, Message, Refused, Reply, Request
from aspectra.llm.prompts.conversation import as_data, fill, without_hidden, without_marks
from aspectra.papers.paper import Paper
from aspectra.papers.text.citation_marks import strip_citations
from aspectra.views.prompted.definition import MOST_CHARACTERS, LensPrompt, common
from aspectra.views.prompted.schema import Unreadable
from aspectra.views.prompted.store import Reading

NO_TEXT = "no text beyond a title"
TRIES = 3  # answers asked for, at most, until one can be read
_SHRINK = (1.0, 0.5, 0.25)  # shares of a paper shown, where a model reads less than was thought
_QUOTED = 500  # characters of an unreadable answer that are shown back
_BREAK = "\n\n"  # between the parts of a paper


@dataclass(frozen=True, slots=True)
class Shown:
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


def show(paper: Paper, prompt: LensPrompt, share: float = 1.0) -> Shown | None:
    """What is shown of a paper, or None where it has nothing but a title.

    Sections are shown without their in-text citations, as views of full text see them. Where a paper is too
    long it is cut between sections, in reading order; inside of one only where less than half of what is
    allowed would be shown otherwise.

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
    clean = [(name, without_hidden(part)[0]) for name, part in parts]
    clean = [(name, part) for name, part in clean if part]
    if not clean:
        return None
    length = len(_BREAK.join(part for _, part in clean))
    # A share of no limit is none: beyond what a prompt file can say, it is one of the paper.
    most = prompt.most_characters if prompt.most_characters <= MOST_CHARACTERS else length
    body, left_out = _fitted(clean, max(1, int(most * share)))
    data = {"title": without_hidden(" ".join(paper.title.split()))[0], "text": body}
    cut = len(body) < length
    return Shown(
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


def question(prompt: LensPrompt, shown: Shown, paper_id: str, begun: int = 0, salt: str = "") -> Request:
    """The first question about a paper.

    Every answer may be given again by a journal, readable or not: what is asked after an unreadable one is
    another question, so that a run which was killed goes through the same answers without paying twice.

    Args:
        prompt: of the lens.
        shown: of the paper.
        paper_id: of the paper.
        begun: answers that earlier runs had in vain: those are not wanted again.
        salt: another one makes it another question: the number of a repeat, say.
    """
    asked = Request(
        prompt.messages(shown.text, salt, shown.plain),
        prompt=prompt.stamp,
        max_tokens=prompt.max_tokens + prompt.thinking,
        schema=prompt.schema.request_schema(),
        subjects=(paper_id,),
        repeat=begun,
        accept=_any,
    )
    return replace(prompt.talk.request(asked), max_tokens=asked.max_tokens)


def _any(reply: Reply) -> bool:
    """Any answer is one."""
    return True


async def read_paper(
    prompt: LensPrompt,
    paper: Paper,
    model: ChatModel,
    tries: int = TRIES,
    before: Reading | None = None,
) -> Reading:
    """A model's value of one paper; where there is none, why not.

    An answer that cannot be read is asked again, with what was wrong about it, ``tries`` times in all. A
    paper that is too long for the model is shown in part.

    Args:
        prompt: of the lens.
        paper: with what the prompt reads of it.
        model: is asked.
        tries: answers asked for, at most.
        before: what an earlier run had of it in vain; its answers count on.

    Raises:
        ModelError: nothing is known about this paper, because the endpoint did not serve; another run may
            do better.
    """
    for share in _SHRINK:
        shown = show(paper, prompt, share)
        if shown is None:
            return Reading(None, NO_TEXT, calls=0)
        try:
            return await _read(prompt, shown, paper.id, model, tries, before)
        except ContextExceeded:
            continue
        except Refused as error:
            return Reading(None, f"declined: {error.what}", cut=shown.cut, simulated=model.simulated)
        except BadRequest as error:
            if error.fatal:
                raise
            return Reading(None, f"not accepted: {error.what}", calls=0, cut=shown.cut)
    return Reading(None, "too long for the model", calls=0, cut=True)


async def _read(
    prompt: LensPrompt, shown: Shown, paper_id: str, model: ChatModel, tries: int, before: Reading | None
) -> Reading:
    spent = Reading(None, calls=0) if before is None else replace(before, failure="")
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
            found = prompt.read(reply.text)
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
