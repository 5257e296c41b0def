"""What one step of a plan did, and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aspectra.llm.budget import Cost
from aspectra.llm.failures import ModelError

_LOST = {  # defect -> what it means
    "only-reasoning": "had text in their reasoning alone",
    "empty": "were empty",
    "cut-off": "were cut off at the longest answer allowed",
}


@dataclass(frozen=True)
class Tally:
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


@dataclass(frozen=True)
class Step:
    """What one step did.

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
        """What the reader should know, each one sentence."""
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
