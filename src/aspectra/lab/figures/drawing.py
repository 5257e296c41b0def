"""Common parts of figures: styles that survive grey and print, text that is measured before it is placed.

matplotlib is imported when a figure is drawn, and never by importing this package. Sizes are inches, fonts
points at print size; nothing is smaller than :data:`SMALLEST`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from aspectra.base.display import Displayed
from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.files import file_name, make_folder, write_durably
from aspectra.base.values import replace
from aspectra.lab.reports.tables import Table, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.0  # of a page with margins
BODY, SMALLEST = 8.0, 7.0
MOST_LINES = 6  # in one panel
GREY = "#595959"
_LINE = 1.35  # height of a line of text, in font sizes
_POINT = 1 / 72


@dataclass(frozen=True, slots=True)
class Style:
    """Style of one system: a colour after Okabe and Ito, a marker and dashes that differ in grey too.

    Attributes:
        color: of lines and markers.
        marker, dashes: as matplotlib spells them.
        hollow: whether markers are not filled.
    """

    color: str
    marker: str
    dashes: Any
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """The style as arguments of matplotlib."""
        fill = "white" if self.hollow else self.color
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.dashes,
            "markerfacecolor": fill,
        }

    @property
    def mark(self) -> dict[str, Any]:
        """The marker alone."""
        return self.line | {"linestyle": "none"}


_STYLES = (
    Style("#0072B2", "o", "-"),
    Style("#D55E00", "s", (0, (5, 1.5)), hollow=True),
    Style("#000000", "D", (0, (1, 1.2))),
    Style("#009E73", "^", (0, (6, 1.5, 1, 1.5)), hollow=True),
    Style("#A6427F", "v", (0, (3, 1, 1, 1, 1, 1))),
    Style("#8A6A00", "X", (0, (9, 2)), hollow=True),
)
_RC: Mapping[str, Any] = MappingProxyType(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib, so that a figure is the same everywhere
        "font.size": BODY,
        "axes.labelsize": BODY,
        "axes.titlesize": BODY,
        "xtick.labelsize": SMALLEST,
        "ytick.labelsize": SMALLEST,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#404040",
        "axes.linewidth": 0.7,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#D9D9D9",
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.4,
        "lines.markersize": 4.5,
        "figure.facecolor": "white",
        "axes.facecolor": "white",
        "savefig.facecolor": "white",
        "text.parse_math": False,  # names come from files, and a dollar sign is one
        "svg.hashsalt": "aspectra",
        "svg.fonttype": "path",
    }
)


@dataclass(frozen=True)
class Drawing(Displayed):
    """A figure with the numbers behind it.

    Attributes:
        name: of its files, without an ending.
        title: what it shows.
        about: its text alternative, a few sentences.
        figure: of matplotlib.
        table: every number drawn, unrounded in its CSV.
    """

    name: str
    title: str
    about: str
    figure: Figure
    table: Table


def needs_plot(module: str = "matplotlib") -> Any:
    """The module, imported.

    Raises:
        MissingExtra: it is not installed.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"figures need {module.partition('.')[0]}",
            why="it is not installed",
            hint="pip install 'aspectra[plot]'",
        ) from error


@contextmanager
def _styled() -> Iterator[None]:
    mpl = needs_plot()
    with mpl.rc_context({**mpl.rcParamsDefault, **_RC, "backend": "agg"}):
        yield


def style_of(number: int) -> Style:
    """The style of a line by its place in its panel; from the seventh on with the marker of another one."""
    count = len(_STYLES)
    marker = _STYLES[(number + number // count) % count].marker
    return replace(_STYLES[number % count], marker=marker)


def groups_of(names: Sequence[str], most: int = MOST_LINES) -> list[list[str]]:
    """The names in panels of at most ``most``, evenly filled, in order.

    >>> [len(group) for group in groups_of("abcdefgh")]
    [4, 4]
    """
    count = max(1, math.ceil(len(names) / most))
    size = math.ceil(len(names) / count) if names else 1
    return [list(names[i : i + size]) for i in range(0, len(names), size)]


@cache
def _advance(text: str, size: float) -> float:
    """Width in inches of one line of text."""
    if not text.strip():
        return 0.0
    needs_plot()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    path = TextPath((0, 0), text, size=size, prop=FontProperties(family="DejaVu Sans"), usetex=False)
    return float(path.get_extents().width) * _POINT


def text_width(text: str, size: float = BODY) -> float:
    """Width in inches of a text of one or several lines, with a hair's breadth around it."""
    return max((_advance(line, size) for line in text.split("\n")), default=0.0) + 0.02


def text_height(text: str, size: float = BODY) -> float:
    """Height in inches."""
    return (text.count("\n") + 1) * size * _LINE * _POINT


def shorten(names: Sequence[str], width: float = 24, lines: int = 2) -> dict[str, str]:
    r"""Name -> the name in at most ``lines`` lines of about ``width`` characters, each still one of its own.

    Text that does not fit is cut in the middle; names that would become one get a number.

    >>> shorten(["guided, released roles", "a" * 60], width=14)["guided, released roles"]
    'guided,\nreleased roles'
    """
    out: dict[str, str] = {}
    for number, name in enumerate(dict.fromkeys(names), 1):
        plain = " ".join(printable(name).split()) or "(no name)"
        shown = _cut(plain, int(width), lines, "")
        if shown in out.values():
            shown = _cut(plain, int(width), lines, f" ({number})")
        out[name] = shown
    return out


def _cut(plain: str, width: int, lines: int, mark: str) -> str:
    most = width * lines - (2 if lines > 1 else 0) - len(mark)
    if len(plain) > most:
        head = most * 2 // 3
        plain = f"{plain[:head].rstrip()}…{plain[len(plain) - (most - head - 1) :].lstrip()}"
    wrapped = textwrap.wrap(plain + mark, width)
    if len(wrapped) > lines:
        whole = plain + mark
        wrapped = [whole[i : i + width].strip() for i in range(0, len(whole), width)][:lines]
    return "\n".join(wrapped)


def short_text(text: str, width: float, lines: int = 1) -> str:
    """The text in so many lines of about ``width`` characters; see :func:`shorten`."""
    return shorten([text], width, lines)[text]


def panels_in(figure: Any, count: int, columns: int, **more: Any) -> list[Any]:
    """So many panels in rows of ``columns``; ``more`` is what matplotlib's ``subplots`` takes."""
    grid = figure.subplots(-(-count // columns), columns, squeeze=False, **more).ravel()
    for axes in grid[count:]:
        axes.remove()
    return list(grid[:count])


def numbers_on(axis: Any, most: int = 5) -> None:
    """Let an axis (of matplotlib, ``axes.xaxis``) print short numbers, in at most ``most`` steps."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(tick))


def tick(value: float, _: object = None) -> str:
    """A number on an axis, short at any size.

    >>> tick(0.25), tick(-12.0), tick(1500), tick(25000), tick(1500000), tick(0.000002)
    ('0.25', '−12', '1,500', '25k', '1.5M', '2e−06')
    """
    size = abs(value)
    if size >= 1e4:
        text = f"{value / 1e6:.4g}M" if size >= 1e6 else f"{value / 1e3:.4g}k"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


@contextmanager
def new_figure(title: str, notes: Sequence[str], body: float) -> Iterator[Figure]:
    """A white figure with its title above and its notes below; matplotlib makes room for both.

    Args:
        title: a sentence or a phrase; wrapped.
        notes: sentences below: what was measured on what; wrapped.
        body: height of everything between, in inches.
    """
    with _styled():
        from matplotlib.figure import Figure

        head = _wrapped(title, BODY + 1)
        foot = "\n".join(_wrapped(note, SMALLEST) for note in notes if note)
        height = 0.1 + text_height(head, BODY + 1) + body + text_height(foot, SMALLEST) + 0.1
        made = Figure(figsize=(WIDTH, height), layout="constrained")
        left = 0.1 / WIDTH
        made.suptitle(head, x=left, ha="left", fontsize=BODY + 1, fontweight="bold")
        if foot:
            made.supxlabel(foot, x=left, ha="left", fontsize=SMALLEST, color=GREY)
        yield made


def _wrapped(text: str, size: float) -> str:
    plain = " ".join(printable(text).split())
    share = (WIDTH - 0.2) / max(text_width(plain, size) * 1.08, 1e-9)  # bold is wider
    return "\n".join(textwrap.wrap(plain, max(20, int(len(plain) * share))))


def svg_text(drawing: Drawing) -> str:
    """The figure as SVG: the same bytes from the same numbers, with the title and the text alternative."""
    stream = BytesIO()
    told = {"Title": printable(drawing.title), "Description": printable(drawing.about)}
    with _styled():
        drawing.figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, **told})
    lines = stream.getvalue().decode("utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def printable(text: str) -> str:
    """The text without control characters, which no XML may hold and which turn or hide what is shown."""
    return "".join(c if c.isprintable() else " " for c in text)


def write_drawing(drawing: Drawing, folder: Path) -> list[Path]:
    """Write ``NAME.svg``, ``NAME.png`` (150 dots an inch) and ``NAME.csv``; returns their paths."""
    make_folder(folder)
    stem = folder / file_name(drawing.name)
    image = BytesIO()
    with _styled():
        drawing.figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    write_durably(stem.with_name(stem.name + ".svg"), svg_text(drawing))
    write_durably(stem.with_name(stem.name + ".csv"), render(drawing.table, "csv"))
    stem.with_name(stem.name + ".png").write_bytes(image.getvalue())
    return [stem.with_name(stem.name + ending) for ending in (".svg", ".png", ".csv")]


def no_systems(what: str) -> UsageError:
    """The error of a figure without anything to draw."""
    return UsageError(
        f"there is nothing to draw: {what}",
        why="no system has a finite value",
        hint="aspectra bench show DIR",
    )
