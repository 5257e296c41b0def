"""A backtracking matcher that counts its steps, over the parse trees of the standard library's ``re``.

It does what the engine of CPython does: it tries each start, each alternative and each repetition in the same
order and goes back in the same order. A step is one instruction, or one character of a run of characters,
so a count depends on the pattern and the text alone, not on the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

_ONE = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_COPIES = 64  # a group repeated more often is treated as one repeated without end
_ALPHABET = "aZ0 \n\t-_.,'\"()[]{}<>\\/@#*=:;|&$%!?+~^`“’é中\x1b\xad\u200b\U000e0041e19IXbx"


class TooManySteps(Exception):
    """A search took more steps than it may."""


class Steps:
    """Counts the steps of one pattern.

    Args:
        pattern: the compiled pattern.
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.pattern = pattern
        self._bytes = isinstance(pattern.pattern, bytes)
        self.tree = _parser.parse(pattern.pattern, pattern.flags)
        self._state = self.tree.state
        self._slots = 0
        self.bounds = 0  # how often its bounded repetitions of single characters repeat, all together
        self._groups = pattern.groups + 1
        self.program = self._compiled(self.tree.data, pattern.flags)
        first = _first(self.tree.data)
        self._first = (
            None if first is None else self._single([(ops.BRANCH, (None, [self._sub([i]) for i in first]))])
        )

    def _sub(self, data: list[Any]) -> Any:
        return _parser.SubPattern(self._state, data)

    def _single(self, data: list[Any], flags: int | None = None) -> re.Pattern[Any]:
        """A small pattern for the real engine."""
        kept = (self.pattern.flags if flags is None else flags) & ~re.DEBUG
        made: re.Pattern[Any] = _compiler.compile(self._sub(data), kept)
        return made

    def _compiled(self, data: list[Any], flags: int) -> list[Any]:
        program: list[Any] = []
        self._emit(data, flags, program)
        program.append(("match",))
        return [
            (*step, _Skips(program, pc)) if step[0] == "split" else step for pc, step in enumerate(program)
        ]

    def _emit(self, data: list[Any], flags: int, out: list[Any]) -> None:
        for op, value in data:
            if op in _ONE:
                out.append(("one", _Test(self._single([(op, value)], flags))))
            elif op in _REPEATS:
                self._emit_repeat(op, value, flags, out)
            elif op is ops.SUBPATTERN:
                group, add, remove, inner = value
                if group is not None:
                    out.append(("save", 2 * group))
                self._emit(inner.data, (flags | add) & ~remove, out)
                if group is not None:
                    out.append(("save", 2 * group + 1))
            elif op is ops.BRANCH:
                ends = []
                branches = value[1]
                for number, branch in enumerate(branches):
                    last = number == len(branches) - 1
                    split = len(out)
                    if not last:
                        out.append(None)
                    self._emit(branch.data, flags, out)
                    if not last:
                        ends.append(len(out))
                        out.append(None)
                        out[split] = ("split", split + 1, len(out))
                for end in ends:
                    out[end] = ("jump", len(out))
            elif op is ops.AT:
                out.append(("at", self._single([(op, value)], flags)))
            elif op in (ops.ASSERT, ops.ASSERT_NOT):
                direction, inner = value
                back = inner.getwidth()[0] if direction < 0 else 0
                out.append(("look", self._compiled(inner.data, flags), back, op is ops.ASSERT_NOT))
            elif op is ops.ATOMIC_GROUP:
                out.append(("atomic", self._compiled(value.data, flags)))
            elif op is ops.GROUPREF:
                out.append(("again", value))
            else:
                raise NotImplementedError(op)

    def _emit_repeat(self, op: Any, value: Any, flags: int, out: list[Any]) -> None:
        least, most, inner = value
        endless = most is ops.MAXREPEAT
        if op is ops.POSSESSIVE_REPEAT:
            greedy = [(ops.MAX_REPEAT, value)]
            out.append(("atomic", self._compiled(greedy, flags)))
            return
        if len(inner.data) == 1 and inner.data[0][0] in _ONE:
            whole = self._single([(ops.MAX_REPEAT, (0, ops.MAXREPEAT, inner))], flags)
            self.bounds += 0 if endless or most > 2000 else most
            out.append(("run", whole, least, None if endless else most, op is ops.MIN_REPEAT))
            return
        for _ in range(min(least, _COPIES)):
            self._emit(inner.data, flags, out)
        lazy = op is ops.MIN_REPEAT
        if endless or most - least > _COPIES:
            slot, self._slots = self._slots, self._slots + 1
            start = len(out)
            out += [None, ("enter", slot)]
            self._emit(inner.data, flags, out)
            out += [("leave", slot), ("jump", start)]
            out[start] = ("split", start + 1, len(out)) if not lazy else ("split", len(out), start + 1)
            return
        splits = []
        for _ in range(most - least):
            splits.append(len(out))
            out.append(None)
            self._emit(inner.data, flags, out)
        for split in splits:
            out[split] = ("split", split + 1, len(out)) if not lazy else ("split", len(out), split + 1)

    def count(self, text: Any, mode: str, budget: int) -> int:
        """Steps of finding all matches in a text, or of one match at its beginning.

        Args:
            text: text or bytes, as the pattern.
            mode: ``search``, ``match`` or ``fullmatch``.
            budget: most steps.

        Raises:
            TooManySteps: there are more.
        """
        self._left = budget
        if mode != "search":
            self._run(self.program, text, 0, mode == "fullmatch")
            return budget - self._left
        at = 0
        while at <= len(text):
            if self._first is not None:
                found = self._first.search(text, at)
                self._pay((found.start() if found else len(text)) - at)
                if found is None:
                    break
                at = found.start()
            end = self._run(self.program, text, at, False)
            at = at + 1 if end <= at else end
        return budget - self._left

    def _pay(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooManySteps

    def _run(self, program: list[Any], text: Any, at: int, whole: bool) -> int:
        """End of the match that begins at ``at``, or -1."""
        size = len(text)
        slots: tuple[int, ...] = (-1,) * self._slots
        groups: tuple[int, ...] = (-1,) * (2 * self._groups)
        stack: list[Any] = []
        pc = 0
        while True:
            self._left -= 1
            if self._left < 0:
                raise TooManySteps
            step = program[pc]
            op = step[0]
            fits = True
            if op == "one":
                fits = at < size and step[1][text[at : at + 1]]
                at += 1
            elif op == "run":
                _, run, least, most, lazy = step
                end = run.match(text, at).end()
                if most is not None:
                    end = min(end, at + most)
                if end - at < least:
                    fits = False
                elif lazy:
                    at += least
                    stack.append((pc + 1, at, slots, groups, end, True))
                else:
                    self._pay(end - at)
                    if end > at + least:
                        stack.append((pc + 1, end, slots, groups, at + least, False))
                    at = end
            elif op == "split":
                ahead, skipped = step[3][text[at : at + 1]]
                if skipped:
                    self._pay(skipped - 1)
                    pc = ahead
                else:
                    stack.append((step[2], at, slots, groups, None, False))
                    pc = step[1]
                continue
            elif op == "jump":
                pc = step[1]
                continue
            elif op == "save":
                groups = (*groups[: step[1]], at, *groups[step[1] + 1 :])
            elif op == "enter":
                slots = (*slots[: step[1]], at, *slots[step[1] + 1 :])
            elif op == "leave":
                fits = slots[step[1]] != at
            elif op == "at":
                fits = step[1].match(text, at) is not None
            elif op == "look":
                _, inner, back, negated = step
                found = at - back >= 0 and self._run(inner, text, at - back, False) >= 0
                fits = found != negated
            elif op == "atomic":
                end = self._run(step[1], text, at, False)
                fits, at = end >= 0, end
            elif op == "again":
                low, high = groups[2 * step[1]], groups[2 * step[1] + 1]
                piece = text[low:high]
                fits = min(low, high) >= 0 and text.startswith(piece, at)
                self._pay(len(piece))
                at += len(piece)
            elif not whole or at == size:
                return at
            else:
                fits = False
            if fits:
                pc += 1
                continue
            while True:
                if not stack:
                    return -1
                pc, at, slots, groups, limit, lazy = stack.pop()
                if limit is None:
                    break
                if lazy:
                    if at >= limit:
                        self._pay(1)
                        continue
                    at += 1
                    stack.append((pc, at, slots, groups, limit, True))
                else:
                    at -= 1
                    if at > limit:
                        stack.append((pc, at, slots, groups, limit, False))
                break


class _Test(dict[Any, bool]):
    """Whether a character fits, remembered."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        super().__init__()
        self._pattern = pattern

    def __missing__(self, sign: Any) -> bool:
        self[sign] = fits = self._pattern.match(sign) is not None
        return fits


class _Skips(dict[Any, tuple[int, int]]):
    """Where a split goes on at a character, past the alternatives that cannot begin with it, and their steps.

    The steps are those of trying each of them; a list of words has hundreds.
    """

    def __init__(self, program: list[Any], pc: int) -> None:
        super().__init__()
        self._program = program
        self._pc = pc

    def __missing__(self, sign: Any) -> tuple[int, int]:
        self[sign] = found = self._past(self._pc, sign)
        return found

    def _past(self, pc: int, sign: Any) -> tuple[int, int]:
        steps = 0
        while self._program[pc][0] == "split" and (tried := self._failing(self._program[pc][1], sign)):
            pc, steps = self._program[pc][2], steps + 1 + tried
        return pc, steps

    def _failing(self, pc: int, sign: Any) -> int:
        """Steps until all that begins here has failed at a character; 0 where something may fit."""
        pc, steps = self._past(pc, sign)
        op, *held = self._program[pc]
        if op == "one":
            return 0 if sign and held[0][sign] else steps + 1
        if op not in ("save", "jump"):
            return 0
        inner = self._failing(pc + 1 if op == "save" else held[0], sign)
        return inner and steps + 1 + inner


def _first(data: list[Any]) -> list[Any] | None:
    """Single characters with which a match begins; None where that cannot be told."""
    found: list[Any] = []
    for op, value in data:
        if op in _ONE:
            return [*found, (op, value)]
        if op in _REPEATS:
            inner = _first(value[2].data)
            if inner is None:
                return None
            found += inner
            if value[0]:
                return found
        elif op is ops.SUBPATTERN and not value[1] and not value[2]:
            inner = _first(value[3].data)
            if inner is None:
                return None
            found += inner
            if value[3].getwidth()[0]:
                return found
        elif op is ops.BRANCH:
            parts = [_first(branch.data) for branch in value[1]]
            if any(part is None for part in parts) or not all(b.getwidth()[0] for b in value[1]):
                return None
            return [*found, *(item for part in parts for item in part or ())]
        elif op in (ops.AT, ops.ASSERT, ops.ASSERT_NOT):
            continue
        else:
            return None
    return None  # it may be empty


def hostile_texts(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """Texts of about ``length`` characters on which such a pattern could go back and forth without end.

    Runs of the characters it names, alone and with blanks and line ends between them; what comes before each
    repetition, followed by what it repeats, and a spoiler; and near misses of a whole match.
    """
    sampler = _Sampler(Steps(pattern))
    units: dict[str, None] = dict.fromkeys(' \n-a0"({[<\\')
    units |= dict.fromkeys(["a ", "a a\n", "a, ", "A. ", "0.", "a-", "{{", "((", "a\n\n"])
    for sign in sampler.signs[:24]:
        units |= dict.fromkeys([sign, sign + " ", sign + "\n", sign + "a"])
    texts: dict[str, None] = {}
    for before, inner in sampler.repeats():
        for unit in inner:
            many = unit * (length // max(len(unit), 1))
            texts |= dict.fromkeys([before + many, before + many + "\0", before + many + "\n"])
            units |= dict.fromkeys([before + unit, before + unit + " "])
        units |= dict.fromkeys([before, before + "a", before + " "])
    for whole in sampler.samples(sampler.steps.tree.data):
        units |= dict.fromkeys([whole, whole[:-1], whole + " ", whole[:-1] + "\0", whole[1:]])
    for unit in units:
        if unit:
            texts[unit * (length // len(unit))] = None
    for text in texts:
        yield text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text


class _Sampler:
    """Short texts that match parts of a pattern."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.signs: list[str] = []
        self._collect(steps.tree.data)
        self.signs = list(dict.fromkeys(self.signs))

    def _collect(self, data: list[Any]) -> None:
        for op, value in data:
            if op in _ONE:
                self.signs += self._choices((op, value), 3)
            for inner in _inner(op, value):
                self._collect(inner)

    def _choices(self, item: Any, most: int) -> list[str]:
        op, value = item
        if op is ops.LITERAL:
            return [chr(value)]
        test = self.steps._single([item])
        kind = isinstance(self.steps.pattern.pattern, bytes)
        return [s for s in _ALPHABET if test.match(s.encode("latin-1", "replace") if kind else s)][:most]

    def samples(self, data: list[Any]) -> list[str]:
        """One to three texts that match the sequence, the shortest first."""
        found = [""]
        for op, value in data:
            parts = self._parts(op, value)
            found = [
                a + parts[min(i, len(parts) - 1)]
                for i in range(3)
                for a in found[min(i, len(found) - 1) :][:1]
            ]
        return list(dict.fromkeys(found))

    def _parts(self, op: Any, value: Any) -> list[str]:
        if op in _ONE:
            return self._choices((op, value), 3) or ["a"]
        if op in _REPEATS:
            inner = self.samples(value[2].data)
            least = min(value[0], 20)
            return [(inner[0] * least), *(one * max(least, 1) for one in inner)][:3]
        if op is ops.SUBPATTERN:
            return self.samples(value[3].data)
        if op is ops.ATOMIC_GROUP:
            return self.samples(value.data)
        if op is ops.BRANCH:
            branches = value[1]
            return [self.samples(branches[i].data)[-1] for i in {0, len(branches) // 2, len(branches) - 1}]
        if op is ops.ASSERT and value[0] < 0:
            return self.samples(value[1].data)
        return [""]

    def repeats(self) -> Iterator[tuple[str, list[str]]]:
        """(a text that leads to a repetition, texts that it repeats) for all that are long or endless."""
        yield from self._repeats(self.steps.tree.data, "")

    def _repeats(self, data: list[Any], before: str) -> Iterator[tuple[str, list[str]]]:
        for op, value in data:
            if op in _REPEATS and value[1] is ops.MAXREPEAT:
                yield before, [one for one in self.samples(value[2].data) if one]
            for inner in _inner(op, value):
                yield from self._repeats(inner, before)
            before += self._parts(op, value)[-1]


def _inner(op: Any, value: Any) -> list[list[Any]]:
    if op in _REPEATS:
        return [value[2].data]
    if op is ops.SUBPATTERN:
        return [value[3].data]
    if op is ops.ATOMIC_GROUP:
        return [value.data]
    if op is ops.BRANCH:
        return [branch.data for branch in value[1]]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1].data]
    return []


@lru_cache
def endless(pattern: re.Pattern[Any]) -> bool:
    """Whether a pattern repeats anything without end."""
    return bool([*_endless(_parser.parse(pattern.pattern, pattern.flags).data)])


def _endless(data: list[Any]) -> Iterator[bool]:
    for op, value in data:
        if op in _REPEATS and value[1] is ops.MAXREPEAT:
            yield True
        for inner in _inner(op, value):
            yield from _endless(inner)
