"""Every measure there is, with each parameter at its other values: taken from what the families declare."""

from __future__ import annotations

from typing import Any

from aspectra.lab.measures.protocol import MEASURES, Arity, Family, Measure, Param


def others(param: Param) -> tuple[Any, ...]:
    """Values of a parameter."""
    if param.choices:
        return param.choices
    if isinstance(param.default, bool):
        return (True, False)
    if isinstance(param.default, int):
        return (3,)
    if isinstance(param.default, float):
        low, high = (-1e9 if param.low is None else param.low), (1e9 if param.high is None else param.high)
        return tuple(value for value in (2.0, 0.125) if low <= value <= high)
    return (param.example,)


def variants(family: Family, cut: int = 10) -> list[Measure]:
    """The family with each parameter at each of its values, one at a time and then several at once."""
    at = None if family.cut == "none" else cut
    out = [family(at)]
    if family.cut == "optional":
        out.append(family())
    out += [family(at, **{param.name: value}) for param in family.params for value in others(param)]
    if len(family.params) > 1:
        out.append(family(at, **{p.name: p.choices[-1] for p in family.params if p.choices}))
    return list(dict.fromkeys(out))


def spelled(arity: Arity, cut: int) -> list[str]:
    """All variants of all measures of one arity."""
    families = [MEASURES.get(name) for name in MEASURES]
    return [str(one) for family in families if family.arity is arity for one in variants(family, cut)]
