"""A method of reranking: a judge and a sorter that fit, as a value with one spelling.

``listwise(width=10)+tournament(batch=10)``: names from the registries, options that differ from their
defaults in brackets. It prints as it parses.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.search.rerank.judge import JUDGES, Judge
from aspectra.search.rerank.sorter import SORTERS, Calls, Sorter

__all__ = ["Method", "fits"]

_PART = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_OPTION = re.compile(r"""\s*(\w+)\s*=\s*("[^"]*"|[^,"]*?)\s*(?:,|$)""")


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
        return f"{_spell(self.judge)}+{_spell(self.sorter)}"

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
        first, second = _halves(text)
        judge = _member(JUDGES.get, first, "judge")
        usual = {"scores": "single", "pairs": "heapsort", "lists": "window"}
        if second is None and judge.answers == "lists" and judge.width != 20:
            second = f"window(size={judge.width},step={max(1, judge.width // 2)})"
        return cls(judge, _member(SORTERS.get, usual[judge.answers] if second is None else second, "sorter"))


def _plain(make: Callable[..., Any]) -> Any:
    """A member with default options; None where it needs some."""
    try:
        return make()
    except TypeError:
        return None


def _halves(text: str) -> tuple[str, str | None]:
    """What stands before and after the plus sign outside of brackets and quotes; None where there is none."""
    depth, quoted = 0, False
    for at, sign in enumerate(text):
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if sign == "+" and depth == 0 and not quoted:
            return text[:at], text[at + 1 :]
    return text, None


def _member(get: Callable[[str], Callable[..., Any]], text: str, family: str) -> Any:
    found = _PART.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is no {family}", hint=f"write NAME or NAME(option=value), for the {family}"
        )
    make = get(found[1])
    options = _options(found[2] or "", found[1])
    known = {f.name: f for f in dataclasses.fields(make) if f.init} if dataclasses.is_dataclass(make) else {}
    refuse_unknown(options, known, f"option of {family} {found[1]!r}")
    read = {
        name: _value(value, known[name].default, f"{found[1]}({name}=...)") for name, value in options.items()
    }
    try:
        return make(**read)
    except TypeError as error:
        raise UsageError(f"{family} {found[1]!r} cannot be named on a line", why=str(error)) from error


def _options(text: str, where: str) -> dict[str, str]:
    out: dict[str, str] = {}
    at = 0
    while text[at:].strip():
        found = _OPTION.match(text, at)
        if found is None or found.end() == at or found[1] in out:
            raise UsageError(
                f"cannot read the options ({text}) of {where!r}", hint=f"write {where}(name=value,...)"
            )
        out[found[1]] = found[2].strip('"')
        at = found.end()
    return out


def _value(text: str, default: Any, where: str) -> Any:
    """A text in the kind of an option's default."""
    if isinstance(default, bool):
        if text not in ("yes", "no"):
            raise UsageError(f"{where} must be yes or no, not {text!r}")
        return text == "yes"
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError as error:
            raise UsageError(f"{where} must be a number, not {text!r}") from error
    return text


def _spell(member: Any) -> str:
    parts = []
    for field in dataclasses.fields(member) if dataclasses.is_dataclass(member) else ():
        value = getattr(member, field.name)
        if not field.init or field.name == "name" or value == field.default or callable(value):
            continue
        if isinstance(value, bool):
            value = "yes" if value else "no"
        text = str(value)
        parts.append(f'{field.name}="{text}"' if re.search(r"[,()+\s]", text) else f"{field.name}={text}")
    return f"{member.name}({','.join(parts)})" if parts else str(member.name)
