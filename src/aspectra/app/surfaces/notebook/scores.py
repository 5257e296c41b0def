"""What the score of each hit is made of, as rows and as a picture (extra ``plot``)."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from aspectra.app.output.maps import score_shares
from aspectra.app.surfaces.notebook.elements import (
    MOST_BYTES,
    Forms,
    Markup,
    element,
    fitting,
    picture,
    plain,
    row,
    size_of,
    table,
)
from aspectra.app.terminal.screen import count
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.lab.figures.drawing import (
    GREY,
    SMALLEST,
    Drawing,
    new_figure,
    numbers_on,
    shorten,
    style_of,
)
from aspectra.lab.figures.lines import padded
from aspectra.lab.reports.tables import Table, render

if TYPE_CHECKING:
    from aspectra.search.ranking import Ranking

_COLOURS = 6  # parts that are drawn apart; the smallest beyond them are drawn as one
_HITS = 40  # drawn
_LINE, _BAR = 0.23, 0.72  # height of a hit in inches, and the share of it that is filled
_TITLE = 40  # characters
_DOTS = (144, 96, 60)  # an inch: the sharpest that is small enough
_MOST_PNG = 50_000  # bytes
_HATCHES = ("", "////", "", "....", "", "xxxx")  # so that neighbours differ in grey too


def score_parts(ranking: Ranking) -> Table:
    """What the score of each hit is made of: rows of rank, id, part, share of the score, and the score.

    A part is a view, an aspect that is compared (all of its views together) or a condition that moves
    papers; the shares of a hit add up to its score. Where stages changed the order, they add up to the score
    of the last search before them.

    Raises:
        UsageError: the search was fused by rank, and was run without ``explain=True``.
    """
    fusion, staged = ranking.plan.search.fusion, any(hit.moves for hit in ranking)
    names = {one.partition(" ")[2]: one for one in ranking.requests.aspects}
    rows = [
        (hit.rank, hit.id, names.get(name, name), share, hit.score)
        for hit in ranking
        for name, share in score_shares(hit, fusion, whole=not staged).items()
    ]
    notes = (f"Fused by {fusion}.", *(("Stages after the search are no part.",) if staged else ()))
    return Table(
        "Parts of the scores", ("rank", "id", "part", "share", "score"), tuple(rows), notes, digits=3
    )


def plot_scores(ranking: Ranking, most: int = 20) -> Drawing:
    """A bar for each hit, stacked of what its score is made of.

    Args:
        ranking: what is drawn.
        most: hits, 1 to 40.

    Returns:
        A drawing: a notebook shows it, ``figure`` is matplotlib's, ``table`` has the numbers.

    Raises:
        MissingExtra: matplotlib is not installed.
        UsageError: there is nothing to draw, or as :func:`score_parts`.
    """
    from aspectra.base.errors import check_number

    check_number("the number of hits", most, 1, _HITS, hint="most = 20")
    drawn = replace(ranking, hits=ranking.hits[:most])
    numbers = score_parts(drawn)
    if not numbers.rows:
        raise UsageError("there is nothing to draw", why="no paper was found, or none was scored")
    shares: dict[str, dict[Any, float]] = {}
    for rank, _, part, share, _ in numbers.rows:
        shares.setdefault(str(part), {})[rank] = float(share)  # type: ignore[arg-type]
    shares = _largest(shares)
    title = f"What the scores of the first {len(drawn)} hits are made of"
    notes = ["Parts to the left of 0 lower the score.", *numbers.notes]
    with new_figure(title, notes, _LINE * len(drawn) + 1.0) as figure:
        _draw_bars(figure.subplots(), drawn, shares)
    first = "; ".join(f"{hit.rank}. {plain(hit.title or hit.id, 80)}: {hit.score:.2f}" for hit in drawn[:3])
    about = f"{title}, in the parts {', '.join(map(plain, shares))}. The first: {first}."
    return Drawing("scores", title, about, figure, numbers)


def _largest(shares: dict[str, dict[Any, float]]) -> dict[str, dict[Any, float]]:
    """The parts that have a colour of their own, in the order of the plan, and all others as one."""
    if len(shares) <= _COLOURS:
        return shares
    by_size = sorted(shares, key=lambda name: -sum(map(abs, shares[name].values())))
    kept = set(by_size[: _COLOURS - 1])
    merged: dict[Any, float] = {}
    for name in by_size[_COLOURS - 1 :]:
        for rank, share in shares[name].items():
            merged[rank] = merged.get(rank, 0.0) + share
    return {name: held for name, held in shares.items() if name in kept} | {
        f"{len(shares) - len(kept)} smaller parts": merged
    }


def _draw_bars(axes: Any, ranking: Ranking, shares: dict[str, dict[Any, float]]) -> None:
    names = shorten(list(shares), 30, 1)
    ends = {hit.rank: [0.0, 0.0] for hit in ranking}  # where negative and positive bars end
    for number, (part, held) in enumerate(shares.items()):
        sizes = [held.get(hit.rank, 0.0) for hit in ranking]
        starts = [ends[hit.rank][size > 0] for hit, size in zip(ranking, sizes, strict=True)]
        look = {"facecolor": style_of(number).color, "hatch": _HATCHES[number], "label": names[part]}
        axes.barh(range(len(sizes)), sizes, _BAR, left=starts, edgecolor="white", linewidth=0.6, **look)
        for hit, size in zip(ranking, sizes, strict=True):
            ends[hit.rank][size > 0] += size
    axes.set_xlim(*padded([end for both in ends.values() for end in both], 0.02))
    axes.set_ylim(len(ranking) - 0.5, -0.5)
    axes.set_yticks(range(len(ranking)), [plain(f"{h.rank}. {h.title or h.id}", _TITLE) for h in ranking])
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(ranking)), [f"{hit.score:.2f}" for hit in ranking])
    for axis in (axes, right):
        axis.tick_params(axis="y", length=0)
    right.spines[:].set_visible(False)
    right.set_ylabel("score", fontsize=SMALLEST, color=GREY)
    axes.grid(visible=False, axis="y")
    axes.axvline(0, color=GREY, linewidth=0.9)
    numbers_on(axes.xaxis)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=SMALLEST)


def forms_of_drawing(drawing: Drawing) -> Forms:
    """A drawing as a picture with a text alternative, and its numbers as a table that opens."""
    png = next((small for dots in _DOTS if len(small := _png(drawing, dots)) <= _MOST_PNG), b"")
    numbers = drawing.table
    right = [n for n, is_number in enumerate(numbers.numeric) if is_number]
    columns = range(len(numbers.columns))
    every = (
        row(*(plain(numbers.text(n, column), 100) for column in columns), named_by=-1, numbers=right)
        for n in range(len(numbers.rows))
    )
    shown = picture(png, drawing.about, float(drawing.figure.get_figwidth())) if png else Markup()
    room = MOST_BYTES - 1500 - size_of(shown)
    rows = fitting(every, room)
    rest = len(numbers.rows) - len(rows)
    more = element("p", f"and {count(rest, 'more row')}") if rest else Markup()
    head = [plain(column, 100) for column in numbers.columns]
    opened = element(
        "details", element("summary", "The numbers"), table(numbers.title, head, rows, right), more
    )
    html = element("figure", shown, opened, style="margin:0")
    return Forms(f"{drawing.about}\n\n{render(numbers, 'markdown')}", html, png=png)


def _png(drawing: Drawing, dots: int) -> bytes:
    """Its picture in at most 64 colours, which takes a third of the bytes and cannot be told from it."""
    from PIL import Image  # matplotlib needs it

    drawn, small = BytesIO(), BytesIO()
    drawing.figure.savefig(drawn, format="png", dpi=dots, facecolor="white")
    Image.open(drawn).convert("RGB").quantize(64).save(small, format="PNG", optimize=True)
    return small.getvalue()
