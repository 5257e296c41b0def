"""Progress with rate and time left, on standard error."""

from __future__ import annotations

import json
import os
import sys
from time import monotonic
from types import TracebackType
from typing import Any

from aspectra.app.terminal.screen import safe

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
