"""A method of reranking: a judge and a sorter that fit, as a value with one spelling.

``listwise(width=10)+tournament(batch=10)``: names from the registries, options that differ from their
defaults in brackets. It prints as it parses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.spelling import read_member, spell, split_line
from aspectra.search.rerank.judges.protocol import JUDGES, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, Sorter


def fits(judge: Judge, sorter: Sorter) -> bool:
    """Whether the sorter can use the judge's answers, and the judge takes as many papers as it shows."""
    return judge.answers in sorter.asks and judge.width >= sorter.least_width


@dataclass(frozen=True)
class Method:
    """A judge and a sorter.

    Raises:
        UsageError: they do not fit; the message lists what does.
    """

    judge: Judge
    sorter: Sorter

    def __post_init__(self) -> None:
        if fits(self.judge, self.sorter):
            return
        judge, sorter = self.judge, self.sorter
        if judge.answers in sorter.asks:
            why = f"{judge.name} takes {judge.width} papers, {sorter.name} shows {sorter.least_width}"
        else:
            asks = " or ".join(sorter.asks)
            why = f"{judge.name} answers with {judge.answers}, {sorter.name} asks for {asks}"
        good = [name for name in SORTERS if (other := _plain(SORTERS.get(name))) and fits(judge, other)]
        judges = [name for name in JUDGES if (other := _plain(JUDGES.get(name))) and fits(other, sorter)]
        hint = f"with {judge.name}: {', '.join(good)}; with {sorter.name}: {', '.join(judges)}"
        raise UsageError(f"{judge.name} does not fit {sorter.name}", why=why, hint=hint)

    def __str__(self) -> str:
        return f"{spell(self.judge)}+{spell(self.sorter)}"

    def calls(self, count: int) -> Calls:
        """Bounds on the calls for so many papers, all answers being usable."""
        return self.sorter.calls(count, self.judge)

    def certain(self, count: int) -> int:
        """How many of the first places are right when the judge never errs."""
        return self.sorter.certain(count, self.judge)

    @classmethod
    def parse(cls, text: str) -> Method:
        """From its spelling; of a judge alone, with the sorter that is usual for it.

        Raises:
            UsageError: unknown names or options, or a pair that does not fit.

        >>> str(Method.parse("listwise(width=10, reasons=yes) + window(size=10,step=5)"))
        'listwise(width=10,reasons=yes)+window(size=10,step=5)'
        >>> str(Method.parse("yes-no"))
        'yes-no+single'
        """
        first, *rest = split_line(text, "+")
        second = "+".join(rest) if rest else None
        judge = read_member(JUDGES.get, first, "judge")
        usual = {"scores": "single", "pairs": "heapsort", "lists": "window"}
        if second is None and judge.answers == "lists" and judge.width != 20:
            second = f"window(size={judge.width},step={max(1, judge.width // 2)})"
        return cls(
            judge, read_member(SORTERS.get, usual[judge.answers] if second is None else second, "sorter")
        )


def _plain(make: Callable[..., Any]) -> Any:
    """A member with default options; None where it needs some."""
    try:
        return make()
    except (TypeError, UsageError):
        return None
