"""Query rewriting: a model rewords the question once, like texts that would fit (OBLIQ-Bench, section 5)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.registry import spell
from aspectra.base.values import replace
from aspectra.llm import loops
from aspectra.llm.chat import Reply, Request, object_schema
from aspectra.llm.prompts.conversation import without_thoughts
from aspectra.search.plan import Search, Step
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.repair import json_values
from aspectra.search.rerank.shown_texts import Prompt, ShownTexts, check_tokens, criteria, fit_for
from aspectra.search.stages.protocol import STAGES, Context, SearchState
from aspectra.views.index.opened import GRAPH_VIEW
from aspectra.views.view import Probe

_PACKAGE = "aspectra.search.stages"
_WORDING = object_schema(reason={"type": "string"}, query={"type": "string"})
_LONGEST = 4000  # characters of a new wording; more is an essay, not a query


@cache
def kinds() -> Mapping[str, Mapping[str, str]]:
    """Name -> ``write`` (how texts that fit may be worded) and ``look`` (what to learn from those found)."""
    found: dict[str, dict[str, str]] = tomllib.loads(
        (files(_PACKAGE) / "prompts" / "kinds.toml").read_text("utf-8")
    )
    return {name: {k: " ".join(v.split()) for k, v in entry.items()} for name, entry in found.items()}


def kind_texts(kind: str) -> Mapping[str, str]:
    """One of :func:`kinds`.

    Raises:
        UsageError: the name is unknown.
    """
    if kind not in kinds():
        raise UsageError(f"unknown kind of search {kind!r}", why="known: " + ", ".join(sorted(kinds())))
    return kinds()[kind]


def criterion_of(kind: str) -> str:
    """Name of the judges' criterion for a search of this kind; "" if the query states it."""
    return kind if kind in criteria() else ""


def prompt(name: str, path: str = "") -> Prompt:
    """One of our prompts, or a file of the user's."""
    return Prompt.load(name, path, package=_PACKAGE)


def field_of(text: str, name: str) -> Any:
    """The value of a field in the last JSON object of a reply that has it; None where none has."""
    found = None
    for value in json_values(without_thoughts(text)):
        if isinstance(value, Mapping):
            folded = {str(key).casefold(): inner for key, inner in value.items()}
            found = folded.get(name, found)
    return found


def wording(text: str, words: Prompt) -> str:
    """A new wording in a reply to a prompt, cut to the length of a query; "" without one."""
    plain = words.talk.reply == "text"
    found = without_thoughts(text) if plain else field_of(text, words.talk.keys.get("query", "query"))
    new = " ".join(found.split())[:_LONGEST] if isinstance(found, str) else ""
    return "" if words.talk.repeats(new) else new


async def ask_wording(asker: Asker, words: Prompt, kind: str, **more: str) -> str:
    """A model's new wording of the asker's question; "" without a usable reply.

    Args:
        asker: counts the calls; its texts hold the question.
        words: the prompt.
        kind: of search, see :func:`kind_texts`.
        more: values of the prompt's other placeholders.
    """

    def usable(reply: Reply) -> bool:
        return bool(wording(reply.text, words))

    def build(share: float) -> Request:
        values = {**asker.shown.values([], [], share), "way": kind_texts(kind)["write"], **more}
        return words.request(values, max_tokens=700, schema=_WORDING)

    reply = await asker.ask(build, usable)
    return "" if reply is None else wording(reply.text, words)


def reworded(search: Search, text: str, *, keep: bool = False) -> Search:
    """The search in other words.

    Probes that compare the seeds themselves stay: sentences of aspects, reverse probes, citations.

    Args:
        search: whose probes get the new wording.
        text: the new wording, instead of words and seeds alike.
        keep: search the old wording too; the new one then has the same weight.
    """
    new = []
    for probe in search.probes:
        worded = _takes_words(probe)
        if keep or not worded:
            new.append(probe)
        if worded:
            new.append(replace(probe, text=text, seeds=(), aspect="reworded" if keep else probe.aspect))
    return replace(search, probes=tuple(new))


def check_words(search: Search, stage: str) -> None:
    """Check that a new wording can change a search.

    Raises:
        UsageError: all its probes compare the seeds themselves.
    """
    if not any(map(_takes_words, search.probes)):
        raise UsageError(
            f"{stage} has no words to change here",
            why="all probes compare the papers themselves: "
            + ", ".join(probe.view for probe in search.probes),
            hint=f"aspectra similar ID -r 'hybrid | {stage}'",
        )


def _takes_words(probe: Probe) -> bool:
    return not (probe.matching or probe.reverse or probe.view == GRAPH_VIEW)


def step_of(spelling: str, asker: Asker, *notes: str, degraded: bool = False) -> Step:
    """The record of a stage, with the counts of its asker."""
    if asker.shown.query_cut:
        notes += ("the query was shown only in part",)
    if asker.shown.cut:
        notes += (f"papers shown only in part: {len(asker.shown.cut)}",)
    return Step(spelling, notes, asker.tally(degraded=degraded), asker.stopped, asker.last_error)


class Worded:
    """Common part of stages that have a model word queries."""

    name: ClassVar[str]
    needs_model: ClassVar[bool] = True
    kind: str
    text_tokens: int
    request_tokens: int

    def __post_init__(self) -> None:
        kind_texts(self.kind)
        check_tokens(self.text_tokens, self.request_tokens)

    def asker(self, search: Search, context: Context) -> Asker:
        """Its calls to the model.

        Raises:
            UsageError: there is no model, or no word of the search can be changed.
        """
        check_words(search, self.name)
        model = context.require(self.name)
        fit = fit_for(model, self.text_tokens, self.request_tokens)
        shown = ShownTexts(context.question(criterion_of(self.kind)), fit, context.salt)
        return Asker(model, shown, concurrency=context.lanes)


@STAGES.register("rewrite")
@dataclass(frozen=True)
class Rewrite(Worded):
    """The question in other words; where no usable wording comes, the question as it was.

    Attributes:
        kind: of search: ``general``, ``stance``, ``failure``, ``technique``, ``authorship`` or
            ``recollection``.
        keep: whether the first wording is searched too.
        prompt_file: another prompt than ours, or "".
        text_tokens, request_tokens: as for :class:`~aspectra.search.stages.rerank.Reranking`.
    """

    name: ClassVar[str] = "rewrite"
    kind: str = "general"
    keep: bool = False
    prompt_file: str = ""
    text_tokens: int = 600
    request_tokens: int = 16_000

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0  # it looks at no paper

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        asker = self.asker(state.search, context)
        text = loops.run(ask_wording(asker, prompt("rewrite", self.prompt_file), self.kind))
        if not text:
            note = "no new wording came; the question was asked as it was"
            return state, step_of(spell(self), asker, note, degraded=True)
        search = reworded(state.search, text, keep=self.keep)
        return state.anew(search), step_of(spell(self), asker, f"asked as: {text}")
