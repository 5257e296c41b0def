"""The two streams, results on standard output and everything else on standard error, and progress.

Texts of papers come from anybody's files, so nothing reaches a terminal before :func:`safe` removed what a
terminal would execute.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from aspectra.base.errors import AspectraError
from aspectra.base.files import write_durably

if TYPE_CHECKING:
    from rich.console import Console


PROGRAM_READS = "ASPECTRA_PROGRAM"  # where this variable is set, standard error holds JSON, an object a line
_PROGRAM_EVERY = 0.2
_EVERY = 10.0  # seconds between lines where standard error is no terminal
_SOON = 1.0  # seconds before a step of unknown length is shown


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(4.2), duration(75), duration(7320)
    ('4.2 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _speed(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s" if rate >= 0.1 else f"{rate * 60:.1f}/min"


class ProgressShown:
    """A callback ``(step, done, total)`` that shows a bar on a terminal and now and then a line elsewhere.

    A total of 0 is unknown. Steps that are over at once are not shown.

    Args:
        wanted: False shows nothing.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._terminal = sys.stderr.isatty()
        self._program = bool(os.environ.get(PROGRAM_READS))
        self._bar: Any = None
        self._task: Any = None
        self._step = ""
        self._began = self._spoke = monotonic()
        self._from = 0

    def __enter__(self) -> ProgressShown:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the bar away, so that something else can be written; the next call brings it back."""
        self._step = ""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def __call__(self, step: str, done: int, total: int) -> None:
        if not self._wanted:
            return
        now = monotonic()
        if step != self._step:
            if self._task is not None:
                self._bar.remove_task(self._task)
                self._task = None
            self._step, self._began, self._spoke, self._from = step, now, now, done
        if self._program:
            if now - self._spoke >= _PROGRAM_EVERY or done in (0, total):
                self._spoke = now
                sys.stderr.write(json.dumps({"progress": [step, done, total]}) + "\n")
                sys.stderr.flush()
            return
        passed = now - self._began
        rate = (done - self._from) / passed if passed > 0.5 else 0.0
        if self._terminal:
            if passed > _SOON or total:
                self._draw(step, done, total, rate)
        elif now - self._spoke >= _EVERY and (done < total or not total):
            self._spoke = now
            left = f", {duration((total - done) / rate)} left" if rate and total else ""
            of = f" of {total:,}" if total else ""
            sys.stderr.write(f"{safe(step, one_line=True)}: {done:,}{of}, {_speed(rate)}{left}\n")
            sys.stderr.flush()

    def _draw(self, step: str, done: int, total: int, rate: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[count]}"),
                TimeRemainingColumn(compact=True),
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=4,
            )
            self._bar.start()
        if self._task is None:
            self._task = self._bar.add_task(safe(step, one_line=True)[:40], total=total or None, count="")
        of = f" of {total:,}" if total else ""
        count = f"{done:,}{of}{f'  {_speed(rate)}' if rate else ''}"
        self._bar.update(self._task, completed=done, count=count)


# Control characters (escape sequences begin with one), and the marks that reverse the direction of a line.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")
_UNWRAPPED = 1_000_000
_WIDTHS_AND_COLOURS = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")  # variables that ask for them in a pipe


def safe(text: str, *, one_line: bool = False) -> str:
    r"""``text`` without anything a terminal would execute; optionally on one line.

    >>> safe("a \x1b[31mred\x1b[0m title\x07")
    'a red title'
    """
    plain = _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r", "\n")))
    return " ".join(plain.split()) if one_line else plain


def schema_of(name: str) -> str:
    """The value of ``schema`` in a command's JSON; its number changes with the meaning of a field.

    >>> schema_of("search")
    'aspectra.search/1'
    """
    return f"aspectra.{name}/1"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "paper"), count(1200, "paper"), count(2, "entry", "entries")
    ('1 paper', '1,200 papers', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def error_text(what: str, why: str, hint: str) -> str:
    """An error in three lines at most: what happened, why, and what comes next."""
    return "\n".join([what, *([f"  why:  {why}"] if why else []), *([f"  next: {hint}"] if hint else [])])


class Screen:
    """Writes for people and programs.

    Args:
        color: whether colours may be used on a terminal.
        quiet: only results and errors.
        verbose: details too.
    """

    def __init__(self, *, color: bool = True, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.terminal = sys.stdout.isatty()
        self._color = color

    @cached_property
    def console(self) -> Console:
        """Standard output; lines are wrapped only on a terminal or where COLUMNS says how wide."""
        from rich.console import Console

        wide = None if self.terminal or os.environ.get("COLUMNS", "").isdigit() else _UNWRAPPED
        return Console(
            no_color=True if not self._color else None, highlight=False, markup=False, emoji=False, width=wide
        )

    @cached_property
    def _plain(self) -> bool:
        """True if lines have neither a width nor colours, so that no console is needed (20 ms to import)."""
        return not self.terminal and not any(os.environ.get(name) for name in _WIDTHS_AND_COLOURS)

    def line(self, text: str = "", style: str = "", indent: int = 0, first: str = "") -> None:
        """A line of a result, wrapped with ``indent``; ``first`` is written into the first line's indent."""
        plain = safe(text)
        if self._plain and "\t" not in plain:
            sys.stdout.write(f"{first:<{indent}}{plain.rstrip()}\n")
            return
        from rich.text import Text

        room = max(20, self.console.width - indent)
        shown = Text(plain, style=style)
        wrapped = text and room < _UNWRAPPED // 2
        for number, part in enumerate(shown.wrap(self.console, room) if wrapped else [shown]):
            part.rstrip()
            whole = Text(first.ljust(indent) if number == 0 else " " * indent)
            self.console.print(whole.append_text(part), soft_wrap=True)

    def flush(self) -> None:
        """Write all lines so far; raises the error of a full disk or a closed pipe."""
        sys.stdout.flush()

    def lines(self, texts: Iterable[str]) -> None:
        """Lines of a result."""
        for text in texts:
            self.line(text)

    def pairs(self, rows: Iterable[tuple[str, str]]) -> None:
        """Aligned ``label  value`` lines."""
        kept = list(rows)
        width = max((len(label) for label, _ in kept), default=0) + 2
        for label, value in kept:
            self.line(value or "–", indent=width, first=label)

    def data(self, text: str, target: Path | None = None) -> None:
        """Text for programs: UTF-8, unchanged, on standard output or into a file."""
        if target is not None:
            write_file(target, text)
            return
        shown = safe(text) if self.terminal else text
        sys.stdout.flush()
        sys.stdout.buffer.write(shown.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()

    def document(self, name: str, value: Mapping[str, Any], target: Path | None = None) -> None:
        """The one JSON document of a command, which names its schema (:mod:`aspectra.app.output.schemas`)."""
        whole = {"schema": schema_of(name), **value}
        self.data(json.dumps(whole, ensure_ascii=False, indent=2) + "\n", target)

    def note(self, text: str) -> None:
        """Something good to know; not with ``--quiet``."""
        if not self.quiet:
            _stderr(text)

    def next(self, command: str) -> None:
        """The command that comes next."""
        self.note(f"next: {command}")

    def warn(self, text: str) -> None:
        """Something to worry about."""
        _stderr(f"warning: {text}")

    def detail(self, text: str) -> None:
        """Only with ``--verbose``."""
        if self.verbose:
            _stderr(text)

    def failure(self, error: AspectraError) -> None:
        """An error that does not end the command."""
        _stderr(error_text(error.what, error.why, error.hint))


def _stderr(text: str) -> None:
    sys.stdout.flush()  # where both streams end in one place, their lines keep their order
    sys.stderr.write(safe(text) + "\n")


def write_file(target: Path, text: str) -> None:
    """Write a whole file or leave the old one alone.

    Raises:
        AspectraError: the folder cannot be written to.
    """
    try:
        if not target.is_file() and target.exists():  # a pipe, a device
            target.write_text(text, encoding="utf-8", errors="replace", newline="")
            return
        write_durably(target, text.encode("utf-8", "replace"))
    except OSError as error:
        if error.errno == 28:
            raise
        raise AspectraError(
            f"cannot write {target}", why=error.strerror or str(error), hint="choose another file with -o"
        ) from error


def columns(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Rows as aligned lines; the last column is not padded."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        gap.join(c if i == len(row) - 1 else c.ljust(widths[i]) for i, c in enumerate(row)) for row in rows
    ]
