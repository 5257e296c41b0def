"""Bad replies by the million: every one must become an order of exactly what was shown.

    python benchmarks/repair_fuzz.py --count 1000000

Two kinds. *Bad* replies are made to break things: labels repeated, missing, unknown, in any script, inside
broken JSON, thoughts, markup, noise. For each it is checked that nothing raises, that the order is a
permutation, and that the counts add up. *Good* replies hold a whole order in one of the forms that models
use, with other text around it; for each it is checked that this very order is read. The exit status is 1 if
any check fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from aspectra.search.rerank.repair import read_choice, read_labels, read_number, repair

_DIGITS = ("0123456789", "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "⁰¹²³⁴⁵⁶⁷⁸⁹", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
_SEPARATORS = (
    " > ",
    ">",
    ", ",
    "\n",
    " ",
    "; ",
    "] [",
    " | ",
    " >> ",
    "\t",
    "",
    " and ",
    " ≻ ",
    " → ",
    " , then ",
)
_WORDS = (
    "the best is", "Paper", "[", "]", "{", "}", '"order":', '"label":', "because", "\\", '"', "```json",
    "```", "</think>", "<think>", "[/THINK]", "<|message|>", "0.93", "2019", "[12]", "<|im_end|>",
    "\u200b", "\u202e", "\ud800", "\x00", "\x1b[2J", "NaN", "null", "1e999", "-1", "9" * 5000, "[[[[",
    "{{{{", "①", "⑳", "Ⅳ", "三", "½", "1.", "2)", "#", "- ", "* ", "A", "I", "I cannot help with that.",
    "Sorry", "ranking", '{"order": [', '"thoughts": [', "A good one", "[1-5]", "1/2",
)  # fmt: skip


def labels_for(draw: random.Random) -> list[str]:
    """Labels as a judge gives them out: 1 to 30 numbers, or up to 26 letters."""
    if draw.random() < 0.2:
        return [chr(65 + n) for n in range(draw.randint(1, 26))]
    return [str(n + 1) for n in range(draw.randint(1, 30))]


def _spelt(label: str, draw: random.Random) -> str:
    if label.isdigit() and draw.random() < 0.3:
        digits = draw.choice(_DIGITS)
        label = "".join(digits[int(d)] for d in label)
    around = draw.choice(
        ("{}", "[{}]", "[ {} ]", '"{}"', "【{}】", "({})", "#{}", "Paper {}", "0{}", '{{"label": "{}"}}')
    )
    return around.format(label)


def bad_reply(labels: Sequence[str], draw: random.Random) -> str:
    """A reply that is wrong in several ways at once."""
    known = list(labels)
    pool = [
        *known,
        *draw.choices(known, k=3),
        *(str(draw.randint(0, 10 ** draw.randint(1, 9))) for _ in range(3)),
        "ZZ",
    ]
    named = draw.choices(pool, k=draw.randint(0, 2 * len(known)))
    parts = [_spelt(name, draw) for name in named]
    for _ in range(draw.randint(0, 6)):
        parts.insert(draw.randint(0, len(parts)), draw.choice(_WORDS))
    text = (
        draw.choice(_SEPARATORS).join(parts)
        if draw.random() < 0.7
        else "".join(part + draw.choice(_SEPARATORS) for part in parts)
    )
    kind = draw.random()
    if kind < 0.15:
        text = json.dumps({draw.choice(("order", "ranked", "x", "thoughts")): _mixed(named, draw)})
    elif kind < 0.2:
        text = "".join(
            chr(draw.choice((draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0x110000))))
            for _ in range(draw.randint(0, 60))
        )
    elif kind < 0.21:
        text = draw.choice(("[", "{", "<think>", '{"order":[', "[1", '{"a":')) * draw.randint(1, 3000)
    if draw.random() < 0.3:
        text = text[: draw.randint(0, len(text))]
    return text


def _mixed(named: list[str], draw: random.Random) -> object:
    def one(name: str) -> object:
        return draw.choice(
            (
                lambda: name,
                lambda: int(name) if name.isdigit() else name,
                lambda: {"id": name},
                lambda: [name],
                lambda: None,
                lambda: True,
                lambda: {"label": name, "reason": "[3] > [1]"},
                lambda: float("inf"),
                lambda: -3.5,
                lambda: "[" + name + "]",
                lambda: {"candidate_num": {"deep": name}},
                lambda: "",
            )
        )()

    items = [one(name) for name in named]
    return draw.choice(
        (items, {str(n): item for n, item in enumerate(items)}, [items], {"order": items}, str(items))
    )


def _chain(mark: str, separator: str) -> Callable[[Sequence[str], random.Random], str]:
    return lambda order, draw: separator.join(mark.format(label) for label in order)


def _list(line: str) -> Callable[[Sequence[str], random.Random], str]:
    reasons = ("on owls", "it hunts", "about mice, rather", "says less")
    return lambda order, draw: "\n".join(
        line.format(n=n + 1, label=label, reason=draw.choice(reasons)) for n, label in enumerate(order)
    )


def _json(
    build: Callable[[Sequence[str]], object], indent: int | None = None
) -> Callable[[Sequence[str], random.Random], str]:
    return lambda order, draw: json.dumps(build(order), indent=indent)


# Forms in which models give an order, and whether letters can be read in them too.
FORMS: dict[str, tuple[Callable[[Sequence[str], random.Random], str], bool]] = {
    "json order": (_json(lambda o: {"order": list(o)}), True),
    "json indented": (_json(lambda o: {"order": list(o)}, 2), True),
    "json numbers": (_json(lambda o: {"ranking": [int(x) for x in o]}), False),
    "json brackets": (_json(lambda o: {"ranked": [f"[{x}]" for x in o]}), True),
    "json reasons": (_json(lambda o: {"order": [{"label": x, "reason": "2 of 3 fit"} for x in o]}), True),
    "json candidate_num": (
        _json(lambda o: {"ranked": [{"candidate_num": int(x), "reason": "r"} for x in o]}),
        False,
    ),
    "json list": (_json(lambda o: [int(x) for x in o]), False),
    "json nested": (_json(lambda o: {"result": {"order": list(o)}}), True),
    "json thoughts": (
        _json(
            lambda o: {
                "query_thought": "5 owls",
                "thoughts": [{"label": x, "thought": "t"} for x in sorted(o)],
                "order": list(o),
            }
        ),
        True,
    ),
    "json string": (_json(lambda o: {"order": " > ".join(f"[{x}]" for x in o)}), True),
    "chain": (_chain("[{}]", " > "), True),
    "tight chain": (_chain("[{}]", ">"), True),
    "bare chain": (_chain("{}", " > "), True),
    "commas": (_chain("{}", ", "), True),
    "lines": (_chain("[{}]", "\n"), True),
    "wide": (_chain("【{}】", "＞"), True),
    "numbered list": (_list("{n}. [{label}] {reason}"), True),
    "numbered papers": (_list("{n}. Paper {label}: {reason}"), False),
    "bullets": (_list("- [{label}] {reason}"), True),
    "json lines": (_list('{{"label": "{label}", "reason": "{reason}"}}'), True),
    "cut json": (lambda o, draw: json.dumps({"order": list(o)})[:-1], True),
    "cut reasons": (
        lambda o, draw: json.dumps({"order": [{"label": x, "reason": "so"} for x in o]})[:-7],
        True,
    ),
}
_AROUND: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"<think>Is [2] before [1]? 1 > 2 > 3.</think>\n{text}",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"Here is the order, best first:\n{text}",
    lambda text: f"{text}\n",
    lambda text: f"\ufeff{text}",
    lambda text: f"<reasoning>\n[3] or {{x}}</reasoning>Answer:\n\n{text}",
)


def check_good(draw: random.Random) -> tuple[str, str]:
    """One good reply: the name of its form, and what is wrong ("" when nothing)."""
    name = draw.choice(list(FORMS))
    make, letters = FORMS[name]
    labels = labels_for(draw)
    if len(labels) < 2 or (not letters and not labels[0].isdigit()):
        labels = [str(n + 1) for n in range(draw.randint(2, 30))]
    order = draw.sample(labels, len(labels))
    text = draw.choice(_AROUND)(make(order, draw))
    found = read_labels(text, labels)
    result = repair(found.labels, labels)
    wrong = "" if result.order == tuple(order) and result.clean else f"{name}: {text!r} read as {found}"
    return name, wrong


def check_bad(draw: random.Random) -> tuple[str, str]:
    """One bad reply: how it was read, and what is wrong ("" when nothing)."""
    labels = labels_for(draw)
    text = bad_reply(labels, draw)
    fallback = draw.sample(labels, len(labels))
    try:
        found = read_labels(text, labels)
        result = repair(found.labels, labels, fallback)
        read_choice(text, "AB")
        number = read_number(text, ("points",), 0, 100)
    except Exception as error:  # that none comes is what is checked
        return "raised", f"{error!r} from {text!r}"
    named = len(labels) - result.missing
    tail = set(result.order[named:])
    faults = [
        sorted(result.order) != sorted(labels) and "no permutation",
        named + result.unknown + result.repeated != len(found.labels) and "counts do not add up",
        [x for x in fallback if x in tail] != list(result.order[named:]) and "tail not in order",
        not repair(result.order, labels).clean and "not stable",
        number is not None and not 0 <= number <= 100 and "number out of range",
    ]
    return found.form, "; ".join(f"{fault}: {text!r}" for fault in faults if fault)


def _progress(
    count: int, seed: int, check: Callable[[random.Random], tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    for number in range(count):
        yield check(random.Random(f"{seed}:{number}"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Bad replies by the million")
    parser.add_argument("--count", type=int, default=1_000_000, help="bad replies; a tenth as many good ones")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failures = 0
    for title, check, count in (("bad", check_bad, args.count), ("good", check_good, args.count // 10)):
        started = time.perf_counter()
        kinds: Counter[str] = Counter()
        for kind, wrong in _progress(count, args.seed, check):
            kinds[kind] += 1
            if wrong:
                failures += 1
                if failures <= 10:
                    print("WRONG", wrong[:600])
        seconds = time.perf_counter() - started
        print(f"{count:,} {title} replies in {seconds:.0f} s ({1e6 * seconds / count:.0f} microseconds each)")
        for kind, number in kinds.most_common():
            print(f"  {kind:20} {number:>9,}")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
