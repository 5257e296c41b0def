"""Progress of long steps in a notebook, and on standard error elsewhere."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Any

from aspectra.app.surfaces.notebook.elements import Markup, element, plain, quiet
from aspectra.app.terminal.screen import ProgressShown

_EVERY = 0.2  # seconds between two updates
_SOON = 0.5  # seconds before anything is shown


class Progress:
    """A callback ``(step, done, total)`` for ``progress=`` of ``Library.add`` and ``Library.index``.

    In a notebook one line is updated in place, and nothing is left of it when its cell has run; it needs no
    widgets. Elsewhere a terminal shows a bar, and other streams get a line now and then. As a context
    manager it ends with the block.

    >>> with Progress() as shown:
    ...     _ = library.index(encoders=[], progress=shown)
    """

    def __init__(self) -> None:
        self._cell = _running_cell()
        self._plain = ProgressShown(wanted=True)
        self._line: Any = None
        self._step = ""
        self._began = self._drawn = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._cell is None:
            self._plain(step, done, total)
            return
        now = monotonic()
        if now - self._began < _SOON or (now - self._drawn < _EVERY and step == self._step):
            return
        self._step, self._drawn = step, now
        self._draw(_line(step, done, total))

    def _draw(self, line: Markup) -> None:
        if self._line is not None:
            self._line.update(_Line(line))
        elif line:
            from IPython.display import display

            self._cell.events.register("post_run_cell", self._ended)
            self._line = display(_Line(line), display_id=True)  # type: ignore[no-untyped-call]

    def _ended(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take away what is shown; the next call brings it back."""
        self._plain.clear()
        if self._line is not None:
            self._draw(Markup())
            self._line = None
            self._cell.events.unregister("post_run_cell", self._ended)
        self._step, self._began = "", monotonic()


class _Line:
    """One line that takes the place of the one before."""

    def __init__(self, html: Markup) -> None:
        self._html = html

    def __repr__(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return self._html


def _line(step: str, done: int, total: int) -> Markup:
    said = f"{done:,}" + (f" of {total:,}" if total else "")
    ends = {"max": str(total), "value": str(min(done, total)), "aria-label": step}
    shown = element("progress", **ends) if total else Markup()
    return element("p", plain(step, 80), " ", shown, " ", quiet(said), role="status")


def _running_cell() -> Any:
    """The IPython that runs in a kernel, or None elsewhere; it is never imported for this."""
    running = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return running if running is not None and hasattr(running, "kernel") else None
