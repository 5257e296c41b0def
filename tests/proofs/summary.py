"""What every proof script shares: its options, the table it prints at the end, the line it records.

A script counts what happened, per row (a command, a kind of file) and outcome (``held``, ``lost``). Outcomes
that break a promise go through `Summary.broken`, which makes the exit status 1::

    options = arguments("Kill every writing command.").parse_args()
    summary = Summary("kills", options.seed)
    summary.count("add", "reopened")
    summary.broken("index", "lost", "paper p7 is gone after kill 12")
    raise SystemExit(summary.finish(options.record))
"""

from __future__ import annotations

import argparse
import datetime
import json
import secrets
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from aspectra.base.version import __version__

_SHOWN = 20


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the options of every proof: ``--seed N`` (random unless given), ``--record FILE``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--seed",
        type=int,
        default=secrets.randbelow(2**31),
        help="repeats a run; random unless given",
    )
    parser.add_argument("--record", type=Path, help="append one JSON line with the counts to this file")
    return parser


class Summary:
    """Counts of outcomes per row, printed as a table and recorded as one JSON line."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.counts: dict[str, Counter[str]] = {}
        self.faults: list[str] = []
        self.facts: dict[str, Any] = {}
        self._started = time.monotonic()
        print(f"{name}: seed {seed}", flush=True)

    def count(self, row: str, outcome: str, times: int = 1) -> None:
        """Add ``times`` to an outcome of a row; 0 makes the column appear."""
        self.counts.setdefault(row, Counter())[outcome] += times

    def broken(self, row: str, outcome: str, what: str) -> None:
        """Count an outcome that breaks a promise, print it at once, and make the exit status 1."""
        self.count(row, outcome)
        self.faults.append(f"{row}: {what}")
        print(f"BROKEN {row}: {outcome}: {what}", flush=True)

    def fact(self, name: str, value: object) -> None:
        """Keep a number that is no count, such as bytes or generations: printed and recorded."""
        self.facts[name] = value

    def table(self) -> str:
        """The counts as text: a line a row, a column an outcome, a line of sums."""
        columns = list(dict.fromkeys(outcome for counts in self.counts.values() for outcome in counts))
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        rows = [*self.counts.items(), ("all", total)]
        cells = [["", *columns], *([row, *(str(counts[c]) for c in columns)] for row, counts in rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns) + 1)]
        lines = []
        for name, *values in cells:
            right = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *right]))
        return "\n".join(lines)

    def finish(self, record: Path | None = None) -> int:
        """Print the table, append the record where one is kept, and return the exit status."""
        seconds = round(time.monotonic() - self._started, 1)
        print(self.table())
        for name, value in self.facts.items():
            print(f"{name}: {value}")
        for fault in self.faults[:_SHOWN]:
            print(f"BROKEN {fault}")
        verdict = f"{len(self.faults)} promises broken" if self.faults else "every promise held"
        print(f"{self.name}: {verdict}, seed {self.seed}, {seconds} s", flush=True)
        if record is not None:
            line = {
                "proof": self.name,
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "version": __version__,
                "commit": _commit(),
                "seed": self.seed,
                "seconds": seconds,
                "counts": self.counts,
                **({"facts": self.facts} if self.facts else {}),
                "broken": self.faults,
            }
            record.parent.mkdir(parents=True, exist_ok=True)
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return 1 if self.faults else 0


def _commit() -> str:
    """The commit that was tested, with ``+`` where files differ from it; empty outside a checkout."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    told = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return told.stdout.strip()
