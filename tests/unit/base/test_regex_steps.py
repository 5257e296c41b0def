"""No regular expression of the package takes more than a fixed number of steps a character, on any text.

Texts come from anybody, so a pattern that goes back and forth over them is a way to stop the program. Every
pattern is run on texts made against it (see ``regex_steps``) by a matcher that counts its steps: all texts at
a short length; those that are not cheap at twice that, where the steps may have grown in proportion only; and
the dearest at full length. Of the texts against the longest patterns, which are thousands much alike, only
some are tried unless ``make test-long`` asks for all. A record, which ``make patterns`` writes, names those
that were proved by this check, this matcher and this Python: ``make test`` proves the others only,
``make test-long`` all.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import aspectra
import regex_steps
from aspectra.base.expressions import Expression, Later
from aspectra.base.files import digest_texts
from long import LONG
from regex_steps import Steps, TooManySteps, endless, hostile_texts

SOURCE = Path(aspectra.__file__).parent
LENGTH = 100_000 if LONG else 5_000  # characters
MOST = 100_000 if LONG else 150  # texts against one pattern
A_CHARACTER = 100  # steps that any pattern may take for each
AN_INSTRUCTION = 4  # more for each instruction (alternatives are tried in turn) and bounded repetition
SHORT = 500  # characters on which every hostile text is tried, and then twice as many
SMALL = 20  # steps a character below which growth is not judged
CHEAP = SMALL // 4  # on the short text: even three loops in each other stay below SMALL on twice as much
GROWTH = 2.6  # most that twice the characters may cost; 2 is linear, 4 is quadratic
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Patterns inside other values, and how they are called: on whole words, and at the beginnings of lines.
HELD = {"_PROMISES": {"fullmatch"}, "_marks": {"match"}, "_FORMS": {"match"}}
ANCHORED = {"match", "fullmatch"}
MODES = ("search", *ANCHORED)
# Classes, and what fills itself at the first use: see `made`.
LAZY = {"type", "ABCMeta", "CueTable", "Features"}

UNRECORDED = 20  # patterns that the record may lack
RECORD = Path(__file__).parents[2] / "data" / "regex_steps.json"

Found = dict[tuple[Any, int, str], str]  # (pattern, flags, mode) -> where


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages([str(SOURCE)], "aspectra."):
        if "__main__" not in found.name:
            yield importlib.import_module(found.name)


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Name -> the methods that the module calls on it; "" for any other use."""
    uses: dict[str, set[str]] = {}
    methods = {
        id(node.value): node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            method = methods.get(id(node), "")
            uses.setdefault(node.id, set()).add(method if method in CALLS else "")
    return uses


def _modes(methods: set[str]) -> set[str]:
    return methods if methods and methods <= ANCHORED else {"search"}


def _held(value: Any) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value and in what it holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Later):
        yield value.compiled()
    elif isinstance(value, Expression):
        yield value.whole
    elif isinstance(value, dict):
        for one in value.values():
            yield from _held(one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _held(one)
    elif type(value).__module__.startswith("aspectra.") and type(value).__name__ not in LAZY:
        names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
        for name in names:
            yield from _held(getattr(value, name, None)) if not name.startswith("__") else ()


def collected() -> Found:
    """Every pattern of the package that is there once it is imported, or written in a call."""
    found: Found = {}
    for module in _modules():
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        uses = _uses(tree)
        for name, held in vars(module).items():
            value = held.whole if isinstance(held, Expression) else held
            value = held.compiled() if isinstance(held, Later) else value
            holders = vars(value).values() if isinstance(value, type) else (value,)
            for pattern in (p for holder in holders for p in _held(holder)):
                direct = isinstance(value, re.Pattern) and value is pattern
                methods = uses.get(name, set()) if direct else HELD.get(name, set())
                for mode in _modes(methods):
                    found.setdefault((pattern.pattern, pattern.flags, mode), f"{module.__name__}.{name}")
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            target = node.func
            if isinstance(target.value, ast.Name) and target.value.id == "re" and target.attr in CALLS:
                flags = [*node.args[{"sub": 3, "subn": 3, "compile": 1}.get(target.attr, 2) :]]
                flags += [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
                try:
                    text = _evaluated(node.args[0], module)
                    flag = int(_evaluated(flags[0], module)) if flags else 0
                except NameError:
                    continue  # put together from arguments: see `made`
                pattern = re.compile(text, flag)
                if target.attr == "compile" and any((text, pattern.flags, m) in found for m in MODES):
                    continue  # it has a name, and is used as that is
                for mode in _modes({target.attr}):
                    found.setdefault((text, pattern.flags, mode), f"{module.__name__}:{node.lineno}")
    return found


def _evaluated(node: ast.expr, module: Any) -> Any:
    return eval(compile(ast.Expression(node), "", "eval"), vars(module))  # the package's own source


def made() -> list[tuple[re.Pattern[Any], str]]:
    """(pattern, mode) of those that are put together from data or arguments when they are first needed."""
    from aspectra.search.conditions.attributes.content.keyword import Term
    from aspectra.search.conditions.attributes.labels import source
    from aspectra.views.lenses import _lead, artifacts, language
    from aspectra.views.lenses._cues import CueLens
    from aspectra.views.lenses.protocol import LENSES
    from aspectra.views.readers import aspects as _sections

    terms = [Term.of(text) for text in ("state-of-the-art models", "GPT-4", "graphs", "naïve C++ code")]
    found = [
        *_held([(term.exact, term.loose) for term in terms]),
        source._pattern("Journal of Made Up Things"),
    ]
    found += _held(_sections._rules())
    found += _held([*vars(language).values()])
    found += artifacts._patterns().values()
    searched = {"code", "described", "function_words"}  # the other marks are matched at beginnings of lines
    marks = [(mark, "search" if name in searched else "match") for name, mark in _lead._marks().items()]
    lenses = [lens for lens in map(LENSES.get, LENSES) if isinstance(lens, CueLens)]
    cues = [cue for lens in lenses for some in lens.table.cues.values() for cue in some if cue.pattern]
    marks += [(cue.pattern, "match" if cue.where in {"start", "line"} else "search") for cue in cues]
    return [*((pattern, "search") for pattern in found), *marks]


def check(pattern: re.Pattern[Any], mode: str, length: int = LENGTH) -> str:
    """On which text it takes too many steps, or ""."""
    steps = Steps(pattern)
    a_character = A_CHARACTER + AN_INSTRUCTION * (len(steps.program) + steps.bounds)
    worst, dearest = 0, -1.0
    pairs = [*zip(hostile_texts(pattern, SHORT), hostile_texts(pattern, 2 * SHORT), strict=False)]
    each = len(pairs) // MOST + 1
    for number, (short, text) in enumerate(pairs):
        if number % each:
            continue
        try:
            first = steps.count(short, mode, a_character * 2 * SHORT)
            if first > dearest:
                worst, dearest = number, first
            if first <= CHEAP * len(short):
                continue
            second = steps.count(text, mode, a_character * 2 * SHORT)
        except TooManySteps:
            return _fault(text, a_character)
        price = second / max(first, 1) * 2 * len(short) / max(len(text), 1)
        if second > SMALL * len(text) and price > GROWTH:
            return f"{first:,} steps on {short[:30]!r}..., {second:,} on twice as much"
    if endless(pattern):
        long = next(islice(hostile_texts(pattern, length), worst, None), "")
        try:
            steps.count(long, mode, a_character * len(long))
        except TooManySteps:
            return _fault(long, a_character)
    return ""


def _fault(text: Any, limit: int) -> str:
    return f"{len(text):,} characters of {text[:30]!r}... take over {limit} steps each"


def record_key() -> str:
    """Of what a record's proofs depend on, beside the patterns."""
    bounds = [LENGTH, MOST, A_CHARACTER, AN_INSTRUCTION, SHORT, SMALL, CHEAP, GROWTH]
    code = [inspect.getsource(check), Path(regex_steps.__file__).read_text("utf-8")]
    return digest_texts([*code, repr(bounds), repr(sys.version_info[:2])])


def name_of(pattern: re.Pattern[Any], mode: str) -> str:
    return digest_texts([repr(pattern.pattern), str(pattern.flags), mode])[:12]


def _recorded() -> frozenset[str]:
    held = json.loads(RECORD.read_text("utf-8"))
    return frozenset(held["patterns"]) if held["key"] == record_key() and not LONG else frozenset()


@cache
def found() -> list[tuple[re.Pattern[Any], str, str]]:
    """(pattern, mode, where) of those that are collected: once, and not while other tests are collected."""
    return [(re.compile(text, flags), mode, where) for (text, flags, mode), where in collected().items()]


def test_every_pattern_is_linear() -> None:
    proved = _recorded()
    left = [one for one in found() if name_of(*one[:2]) not in proved]
    faults = {where: fault for pattern, mode, where in left if (fault := check(pattern, mode))}
    assert faults == {}
    # Each of them is proved again in every run, which takes a second or more.
    assert not proved or len(left) <= UNRECORDED, "make patterns"


def test_patterns_made_at_run_time_are_linear() -> None:
    patterns = made()
    assert len(patterns) > 20
    proved = _recorded()
    left = [one for one in patterns if name_of(*one) not in proved]
    assert {p.pattern: fault for p, mode in left if (fault := check(p, mode))} == {}


def test_nothing_is_missed() -> None:
    assert len(found()) > 200
    assert sum(endless(pattern) for pattern, _, _ in found()) > 100


@pytest.mark.parametrize(
    ("pattern", "mode"),
    [
        (r"\s+$", "search"),
        (r"(a+)+b", "match"),
        (r"(a|a)*b", "match"),
        (r"(?:a|aa)+$", "match"),
        (r"<!--.*?-->", "search"),
        (r"(\w+)\s*=\s*(.+?)\s*", "fullmatch"),
        (r"a*a*b", "match"),
        (r"(.*)\1x", "match"),
    ],
)
def test_patterns_that_go_back_and_forth_are_found(pattern: str, mode: str) -> None:
    assert check(re.compile(pattern), mode)


@pytest.mark.parametrize(
    ("pattern", "mode"),
    [
        (r"(?<!\s)\s++$", "search"),
        (r"(?>a+)+b", "match"),
        (r"[a-z]{1,20}x", "search"),
        (r"(?:ab)*+c", "match"),
        (r'"[^"]*;', "search"),
    ],
)
def test_patterns_that_do_not_are_let_through(pattern: str, mode: str) -> None:
    assert check(re.compile(pattern), mode) == ""


@pytest.mark.parametrize(
    ("pattern", "text", "ends"),
    [(r"(a|ab)(c|bcd)", "abcd", 4), (r"a{2,3}?b", "aaab", 4), (r"(?<=x)y*", "xyy", -1), (r"(\w)\1", "aa", 2)],
)
def test_the_matcher_ends_where_the_engine_does(pattern: str, text: str, ends: int) -> None:
    compiled = re.compile(pattern)
    found = compiled.match(text)
    assert (found.end() if found else -1) == ends
    steps = Steps(compiled)
    steps._left = 10_000
    assert steps._run(steps.program, text, 0, False) == ends


if __name__ == "__main__":
    every = [*(one[:2] for one in found()), *made()]
    assert {p.pattern: fault for p, mode in every if (fault := check(p, mode))} == {}
    names = sorted({name_of(*one) for one in every})
    RECORD.write_text(json.dumps({"key": record_key(), "patterns": names}, indent=0) + "\n", "utf-8")
