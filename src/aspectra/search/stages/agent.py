"""A multi-hop agent: search, read, take notes, search again (OBLIQ-Bench, section 5 and appendix D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError, check_choice
from aspectra.base.registry import spell
from aspectra.base.values import replace
from aspectra.llm import loops
from aspectra.llm.chat import Reply, Request, object_schema
from aspectra.llm.prompts.conversation import as_data, without_marks
from aspectra.search.plan import Step
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import read_labels
from aspectra.search.stages.protocol import STAGES, Context, SearchState
from aspectra.search.stages.rewrite import (
    Worded,
    ask_wording,
    field_of,
    kind_texts,
    prompt,
    reworded,
    step_of,
)

_LONGEST_NOTES = 3000  # characters of notes handed on


@STAGES.register("agent")
@dataclass(frozen=True)
class Agent(Worded):
    """In each hop the model words a query, reads what it finds, and picks and notes what helps.

    Papers that it picked come first, in the order of hops and of their places there; then what else was
    found, in the same order; then the papers of the first search, whose order stands where nothing was
    picked. A ``rerank`` behind it puts them in order. As in OBLIQ-Bench:
    ``agent(read=top,notes=added,tail=hops)``.

    Attributes:
        kind: of search, see :class:`~aspectra.search.stages.rewrite.Rewrite`.
        hops: searches.
        each: papers read in each hop.
        read: ``new``: the best that were not read before; ``top``: the best of each hop, read before or not.
        notes: ``rewritten``: after each hop the model writes all notes anew; ``added``: those of each hop are
            put behind the others, and the queries asked before are not shown.
        tail: ``first``: the papers of the first search follow behind those of the hops; ``hops``: those of
            the hops are all, also where nothing was picked.
        hop_prompt, read_prompt: other prompts than ours, or "".
        text_tokens, request_tokens: as for :class:`~aspectra.search.stages.rerank.Reranking`.
    """

    name: ClassVar[str] = "agent"
    kind: str = "general"
    hops: int = 4
    each: int = 25
    read: str = "new"
    notes: str = "rewritten"
    tail: str = "first"
    hop_prompt: str = ""
    read_prompt: str = ""
    text_tokens: int = 600
    request_tokens: int = 16_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.read, ("new", "top"), "read")
        check_choice(self.notes, ("rewritten", "added"), "notes")
        check_choice(self.tail, ("first", "hops"), "tail")
        if not (1 <= self.hops <= 50 and 1 <= self.each <= 200):
            raise UsageError("an agent makes 1 to 50 hops and reads 1 to 200 papers in each")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return max(wanted, 1)

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        asker = self.asker(state.search, context)
        picked: list[str] = []
        seen: list[str] = []
        asked: list[str] = []
        notes, said = "", []
        for hop in range(1, self.hops + 1):
            before = {"asked before": asked} if self.notes == "rewritten" else {}
            known = as_data({"notes": notes, **before})
            place = {"notes": known, "plain_notes": _plain(notes), "hop": str(hop), "hops": str(self.hops)}
            query = loops.run(ask_wording(asker, prompt("hop", self.hop_prompt), self.kind, **place))
            if asker.stopped is not None:
                break
            # Without a new wording the first hop searches the question as it is; later hops end here.
            if not query and asked:
                break
            hopped = replace(state, search=reworded(state.search, query)) if query else state
            asked.append(query or "(the question as it was)")
            read = set(seen) if self.read == "new" else set()
            ids = context.search(hopped, self.each + len(read)).ids
            fresh = [i for i in ids if i not in read][: self.each]
            said.append(f"hop {hop}: {asked[-1]}")
            if not fresh:
                continue
            seen += fresh
            chosen, written = loops.run(self._read(asker, hop, context.candidates(fresh), notes))
            notes = "\n".join(filter(None, (notes, written))) if self.notes == "added" else written or notes
            picked += chosen
            said[-1] += f" ({len(fresh)} read, {len(chosen)} picked)"
            if asker.stopped is not None:
                break
        alone = self.tail == "hops" and bool(seen) and asker.stopped is None
        order = (*picked, *seen, *(() if alone else state.ids))
        if not picked and not alone:
            said.append("nothing was picked: the order of the first search stands")
            order = (*state.ids, *seen)
        return state.ordered(order), step_of(spell(self), asker, *said, degraded=asker.unanswered > 0)

    async def _read(
        self, asker: Asker, hop: int, papers: list[Candidate], notes: str
    ) -> tuple[list[str], str]:
        """Ids picked among the papers, in their order, and the notes written of them, or ""."""
        words = prompt("read", self.read_prompt)
        picks = words.talk.keys.get("picked", "picked")
        labels = [str(number) for number in range(1, len(papers) + 1)]
        label = {"type": "string", "enum": labels}
        schema = object_schema(picked={"type": "array", "items": label}, notes={"type": "string"})

        def usable(reply: Reply) -> bool:
            found = field_of(reply.text, picks)
            return isinstance(found, list) and not any(
                words.talk.repeats(str(item)) for item in found if str(item) not in labels
            )

        def build(share: float) -> Request:
            values = {
                **asker.shown.values(papers, labels, share),
                "look": kind_texts(self.kind)["look"],
                "notes": as_data({"notes": notes}),
                "plain_notes": _plain(notes),
                "hop": str(hop),
                "hops": str(self.hops),
                "labels": f"{labels[0]} to {labels[-1]}",
            }
            subjects = tuple(paper.id for paper in papers)
            return words.request(values, max_tokens=900, schema=schema, subjects=subjects)

        reply = await asker.ask(build, usable)
        if reply is None:
            return [], ""
        given = [str(item) for item in field_of(reply.text, picks)]
        known = set(read_labels(" ".join(f"[{item}]" for item in given), labels).labels)
        invented = [item for item in given if item.strip("[] ") not in labels]
        asker.defects["unknown"] += len(invented)
        asker.bad += bool(invented)
        written = field_of(reply.text, words.talk.keys.get("notes", "notes"))
        new = isinstance(written, str) and written.strip() and not words.talk.repeats(written)
        kept = written if new else ""
        picked = [paper.id for label, paper in zip(labels, papers, strict=True) if label in known]
        return picked, kept[-_LONGEST_NOTES:]


def _plain(notes: str) -> str:
    """Notes as a prompt file of the user's own shows them: on one line, or a word that there are none."""
    return " ".join(without_marks(notes).split()) or "none"
