"""A measure is a value with one spelling: it prints, parses, compares and hashes as one string.

``nDCG@10``, ``nDCG(gain=exp)@10``, ``R-precision``, ``NDCG%20``, ``p-MRR``, ``WISE(rule=fork)@20``: a name,
the parameters that differ from their defaults, and a cut. To add a measure, write one module in
``lab/measures`` with a function decorated with ``@measure(...)``; a third party names the module in an entry
point of the group ``aspectra.measure``. ``tests/unit/lab/test_measure_parsing.py`` tests every member.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from aspectra.base.errors import UsageError, refuse_unknown
from aspectra.base.registry import Registry

Value = str | int | float | bool
Cut = Literal["required", "optional", "none"]
Better = Literal["higher", "lower", ""]


class Arity(StrEnum):
    """The input from which a measure scores one unit."""

    RANKING = "one ranking"
    GROUP = "the rankings of one query's variants"
    MODES = "rankings by mode"
    VECTORS = "vectors"
    POOLS = "rankings of retrievers and verifiers"


@dataclass(frozen=True, slots=True)
class Param:
    """A declared parameter.

    Attributes:
        name: as it is spelled.
        default: its value where a spelling leaves it out; its type is the parameter's type.
        help: one line for people.
        choices: the values there are, or () for any of the type.
        low, high: least and greatest value of a number.
        check: turns a given text into its canonical form, or raises UsageError.
        example: another value than the default, for tests; needed only where ``check`` is given.
    """

    name: str
    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    check: Callable[[str], str] | None = None
    example: Value | None = None

    def read(self, given: Value, where: str) -> Value:
        """``given`` in the parameter's type.

        Raises:
            UsageError: it is none of the choices, of another type, too small or too large.
        """
        kind = type(self.default)
        try:
            value = _convert(given, kind)
        except ValueError as error:
            raise UsageError(
                f"{where}: {self.name} must be of type {kind.__name__}, not {given!r}", why=self.help
            ) from error
        if self.choices and value not in self.choices:
            raise UsageError(
                f"{where}: {self.name} cannot be {given!r}",
                why="choices: " + ", ".join(_spell(choice) for choice in self.choices),
            )
        if self.low is not None and float(value) < self.low:
            raise UsageError(f"{where}: {self.name} must be at least {self.low:g}, not {given!r}")
        if self.high is not None and float(value) > self.high:
            raise UsageError(f"{where}: {self.name} must be at most {self.high:g}, not {given!r}")
        if self.check and isinstance(value, str):
            value = self.check(value)
        return value


@dataclass(frozen=True, eq=False)
class Family:
    """All measures of one name; call it with parameters, and give the cut with ``@``.

    >>> from aspectra.lab import R, nDCG
    >>> nDCG@10, nDCG(gain="exp")@20, R(rel=2)@5, nDCG()
    (nDCG@10, nDCG(gain=exp)@20, R(rel=2)@5, nDCG)

    Attributes:
        name: as it is spelled.
        arity: what ``score`` is given for one unit.
        score: (measure, input) -> value, or None where it is undefined.
        cut: whether ``@k`` must, may or cannot be given.
        params: declared parameters, in the order of the spelling.
        missing: value of a judged unit without a ranking for which ``score`` is defined; None leaves it out
            of the mean.
        bounds: least and greatest value (infinite if unbounded).
        scale: tables print values times this: 100 for fractions, 1 for ranks, distances and percents.
        better: ``higher``, ``lower``, or "" where it depends. Tables mark the best and significant
            differences only of measures where higher is better.
        aliases: other spellings of the name, read without regard to case.
        percent: the cut is a percentage of the ranked pool, and is spelled ``NAME%k``.
        needs_pool: it has a meaning only where a whole pool is ranked.
        of: the measures it is computed from, for a measure that is a function of means.
        combine: (measure, values of those) -> value.
        modes: the modes that it needs (``Arity.MODES``), besides the one its parameter ``mode`` names.
        judged: those of the modes whose judgements it reads; of the others only rankings.
    """

    name: str
    arity: Arity
    score: Callable[[Measure, Any], float | None]
    cut: Cut = "none"
    params: tuple[Param, ...] = ()
    missing: float | None = 0.0
    bounds: tuple[float, float] = (0.0, 1.0)
    scale: float = 100.0
    better: Better = "higher"
    aliases: tuple[str, ...] = ()
    percent: bool = False
    needs_pool: bool = False
    of: Callable[[Measure], tuple[Measure, ...]] | None = None
    combine: Callable[[Measure, tuple[float, ...]], float | None] | None = None
    modes: tuple[str, ...] = ()
    judged: tuple[str, ...] = ("original", "instructed")

    def __post_init__(self) -> None:
        # help(nDCG) and pydoc show what the measure computes.
        object.__setattr__(self, "__doc__", self.score.__doc__)

    @property
    def help(self) -> str:
        """The first line of the scoring function's docstring."""
        return (self.score.__doc__ or "").strip().split("\n")[0]

    @property
    def identifier(self) -> str:
        """The name as Python spells it: ``R-precision`` is ``R_precision``, ``NDCG%`` is ``NDCG_percent``."""
        return self.name.replace("-", "_").replace("%", "_percent")

    def __matmul__(self, cut: int) -> Measure:
        return self(cut)

    def __call__(self, cut: int | None = None, /, **given: Value) -> Measure:
        """A measure of this family; a cut that it requires may follow with ``@``.

        Raises:
            UsageError: a parameter or a cut that the family does not have, or a value it cannot take.
        """
        refuse_unknown(given, (param.name for param in self.params), f"parameter of {self.name}")
        if self.cut == "none" and cut is not None:
            raise UsageError(f"{self.name} has no cut", hint=f"write {self.name}")
        if cut is not None and (cut < 1 or (self.percent and cut > 100)):
            most = " and at most 100" if self.percent else ""
            raise UsageError(f"the cut of {self.name} must be at least 1{most}")
        values = tuple(
            param.read(given[param.name], self.name) if param.name in given else param.default
            for param in self.params
        )
        return Measure(self, cut, values)


class Measure:
    """A measure with all its parameters; equal to every measure with the same canonical string.

    >>> parse("ndcg(gain=exp)@10")
    nDCG(gain=exp)@10
    >>> parse("nDCG(gain=linear)@10") == parse("nDCG@10")
    True
    """

    __slots__ = ("_text", "cut", "family", "params")

    def __init__(self, family: Family, cut: int | None, values: tuple[Value, ...]) -> None:
        self.family = family
        self.cut = cut
        self.params: Mapping[str, Value] = {
            param.name: value for param, value in zip(family.params, values, strict=True)
        }
        given = [
            f"{param.name}={_spell(value)}"
            for param, value in zip(family.params, values, strict=True)
            if value != param.default
        ]
        mark = "" if cut is None else f"{'%' if family.percent else '@'}{cut}"
        self._text = family.name.rstrip("%") + (f"({','.join(given)})" if given else "") + mark

    def __matmul__(self, cut: int) -> Measure:
        return self.family(cut, **self.params)

    def complete(self) -> Measure:
        """The measure itself.

        Raises:
            UsageError: its family requires a cut, and it has none.
        """
        if self.family.cut == "required" and self.cut is None:
            raise UsageError(
                f"{self.name} needs a cut",
                hint=f"write {self._text}{'%20' if self.family.percent else '@10'}",
            )
        return self

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter."""
        return self.params[name]

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.family.name

    @property
    def arity(self) -> Arity:
        """The input from which it scores one unit."""
        return self.family.arity

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes it needs (:attr:`Arity.MODES` only)."""
        own = self.params.get("mode")
        return self.family.modes if own is None else (*self.family.modes, str(own))

    def score(self, given: Any) -> float | None:
        """The value of one unit, or None where it is undefined.

        Raises:
            UsageError: as :meth:`complete`.
        """
        return self.family.score(self.complete(), given)

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


MEASURES: Registry[Family] = Registry("measure", __package__)
_TREC_EVAL = re.compile(r"(?P<name>.+?)(?:_cut)?_(?P<cut>\d+)")  # ndcg_cut_10, P_10, recall_100
_SHAPE = re.compile(r"(?P<name>[^@%()\s]++)\s*+(?:\((?P<params>.*)\))?\s*+(?:(?P<mark>[@%])(?P<cut>\d+))?")


def measure(
    name: str, arity: Arity = Arity.RANKING, **declared: Any
) -> Callable[[Callable[[Measure, Any], float | None]], Family]:
    """Decorator that makes a family out of a scoring function and registers it.

    Args:
        name: as it is spelled.
        arity: what it scores.
        declared: any other field of :class:`Family`.
    """

    def add(score: Callable[[Measure, Any], float | None]) -> Family:
        return MEASURES.register(name)(Family(name, arity, score, **declared))

    return add


def parse(
    text: str,
    defaults: Mapping[str, Mapping[str, Value]] | None = None,
    renames: Mapping[str, str] | None = None,
) -> Measure:
    """The measure that ``text`` spells. Names are read without regard to case, and by common aliases.

    Args:
        text: as ``nDCG(gain=exp)@10``.
        defaults: family -> parameters that replace the family's defaults where the text leaves them out.
        renames: family -> family that a preset puts in its place, unless the text gives parameters which that
            one does not have.

    Raises:
        UsageError: no such measure, or parameters or a cut it does not have.

    >>> parse("map"), parse("Recall@5"), parse("NDCG%20")
    (AP, R@5, NDCG%20)
    >>> parse("R@20", {"R": {"rel": 2}}), parse("R(rel=1)@20", {"R": {"rel": 2}})
    (R(rel=2)@20, R@20)
    """
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None:
        raise UsageError(
            f"{text!r} is not the name of a measure", hint="write NAME, NAME@k or NAME(parameter=value)@k"
        )
    name = _name(shape["name"], shape["mark"] == "%")
    given: dict[str, Value] = {}
    for part in _split(shape["params"] or ""):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{text!r}: {part!r} is not a parameter", hint="write name=value")
        if key.strip() in given:
            raise UsageError(f"{text!r} gives {key.strip()!r} twice")
        given[key.strip()] = value.strip()
    if name in (renames or {}):
        other = MEASURES.get((renames or {})[name])
        # With parameters that the other one lacks, the named family is meant.
        if set(given) <= {param.name for param in other.params}:
            name = other.name
    if name not in MEASURES and (other_way := _TREC_EVAL.fullmatch(name)):
        known = _name(other_way["name"], percent=False)
        if known in MEASURES:
            raise UsageError(
                f"there is no measure called {text!r}", hint=f"did you mean {known}@{other_way['cut']}?"
            )
    cut = int(shape["cut"]) if shape["cut"] else None
    return MEASURES.get(name)(cut, **{**(defaults or {}).get(name, {}), **given}).complete()


def _name(given: str, percent: bool) -> str:
    """The registered name that a spelling means; the spelling itself where none does."""
    given += "%" if percent else ""
    known = MEASURES.names()
    if given in known:
        return given
    low = given.lower()
    spelled = {alias.lower(): name for name in known for alias in MEASURES.get(name).aliases}
    return spelled.get(low) or next((name for name in known if name.lower() == low), given)


def _split(text: str) -> list[str]:
    """Parameters apart, at the commas outside parentheses."""
    parts, depth, last = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    return [part.strip() for part in parts if part.strip()]


def _convert(given: Value, kind: type) -> Value:
    if kind is bool:
        if isinstance(given, str):
            given = {"true": True, "false": False}.get(given.lower(), given)
        if not isinstance(given, bool):
            raise ValueError(given)
        return given
    if isinstance(given, bool) or (kind is int and isinstance(given, float) and given != int(given)):
        raise ValueError(given)
    value: Value = kind(given)
    if kind is float and not abs(float(value)) < float("inf"):
        raise ValueError(given)
    return value


def _spell(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) else repr(value)
    return str(value)
