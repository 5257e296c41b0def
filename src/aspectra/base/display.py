"""Values that notebooks show, what draws them in a room above being named here on import; and progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # called with (step, done, total)


def quiet(step: str, done: int, total: int) -> None:
    """Show no progress."""


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, TypeAlias

    Forms: TypeAlias = dict[str, Any]

_drawers: list[Callable[[object], Forms]] = []


def display_with(draw: Callable[[object], Forms]) -> None:
    """Name what draws values: it gives the forms of a value by media type."""
    _drawers[:] = [draw]


class Displayed:
    """Base of values that notebooks show, as :mod:`aspectra.app.surfaces.notebook.forms` draws them."""

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> Forms:
        """Its forms by media type, as IPython requests them: those that are included and not excluded."""
        forms = _drawers[0](self) if _drawers else {"text/plain": repr(self)}
        return {
            kind: form
            for kind, form in forms.items()
            if (not include or kind in include) and kind not in (exclude or ())
        }

    def _repr_html_(self) -> str | None:
        """The form for browsers, or None without one."""
        return self._repr_mimebundle_().get("text/html")
