"""A ranking and a plan in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aspectra.app.output.criteria import criteria_of, criteria_table
from aspectra.app.output.rankings import by_line
from aspectra.app.surfaces.notebook.elements import (
    MOST_BYTES,
    Forms,
    Markup,
    bar,
    element,
    fitting,
    joined,
    lines,
    listed,
    plain,
    quiet,
    quoted,
    row,
    shortened,
    size_of,
    table,
)
from aspectra.app.terminal.screen import count, schema_of
from aspectra.search.planning.aspects import NOT_APPLIED

if TYPE_CHECKING:
    from aspectra.app.output.criteria import Cell, Criterion
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Hit, Ranking

_CRITERIA = 6  # columns; more do not fit beside the papers
_QUOTES = 3  # of a paper
_NOTES = 12
_LINES = 200  # of a plan
_SPACE = "margin:.3em 0"


def forms_of_ranking(ranking: Ranking) -> Forms:
    """Its forms; papers that have no room are counted below the others."""
    columns = criteria_of(ranking)[:_CRITERIA]
    head = joined([_heading(ranking), _requests(ranking), _warnings(ranking)])
    below = _steps(ranking)
    names = ("#", "paper", *map(_column, columns), "score")
    numbers = (0, len(names) - 1)
    graded = zip(ranking, criteria_table(ranking), strict=True)
    caption = "Papers, best first" + (": each criterion with its grade" if columns else "")
    empty = table(caption, names, [], numbers)
    room = MOST_BYTES - 500 - size_of(head) - size_of(below) - size_of(empty)
    rows = fitting((_row(hit, columns, cells, numbers) for hit, cells in graded), room)
    shown = table(caption, names, rows, numbers) if rows else Markup()
    more = (
        element("p", _more(len(rows), len(ranking)), style=_SPACE) if len(rows) < len(ranking) else Markup()
    )
    document = {"schema": schema_of("search"), **ranking.to_dict()}
    return Forms(
        _text(ranking),
        element("div", head, shown, more, below),
        "search",
        shortened(document, "hits", _more),
    )


def _more(shown: int, of: int) -> str:
    return f"{shown:,} of {count(of, 'paper')} are shown here; all of them: ranking.hits"


def _text(ranking: Ranking) -> str:
    told = [f"{name:<14}{text}" for name, text in ranking.requests.rows]
    told += [
        f"{hit.rank:>4}  {hit.score:7.3f}  {hit.title or hit.id} [{hit.id}]{' RETRACTED' * hit.retracted}"
        for hit in ranking
    ]
    return "\n".join([*told, *ranking.warnings, f"{count(len(ranking), 'paper')}, plan {ranking.plan.hash}"])


def _heading(ranking: Ranking) -> Markup:
    found = count(len(ranking), "paper") if len(ranking) else "no paper"
    facts = [f"{ranking.seconds:.2f} s", f"plan {ranking.plan.hash}"]
    facts += ["simulated: no language model answered"] if ranking.simulated else []
    return element("p", element("b", found), " · ", " · ".join(facts), style=_SPACE)


def _requests(ranking: Ranking) -> Markup:
    """What was applied, what was not, what is searched for: a row each, as in the other surfaces."""
    groups: dict[str, list[str]] = {}
    for name, item in ranking.requests.rows:
        groups.setdefault(name or next(reversed(groups)), []).append(plain(item, 200))
    terms = [plain(one, 200) for one in ranking.plan.search.terms[:_NOTES]]
    groups |= {"terms": terms} if terms else {}
    rows = [row(name, lines(items[:_NOTES] + _others(items))) for name, items in groups.items()]
    return table("What was read from the question", (), rows) if rows else Markup()


def _others(items: Sequence[str]) -> list[str]:
    rest = len(items) - _NOTES
    return [f"and {rest:,} more"] if rest > 0 else []


def _warnings(ranking: Ranking) -> Markup:
    in_rows = bool(ranking.requests.rows)
    said = [w for w in ranking.warnings if not (in_rows and w.startswith(NOT_APPLIED))]
    weak = ranking.fit is not None and ranking.fit.weak
    if weak and not any(warning.startswith("weak match") for warning in said):
        said.insert(0, "weak match: the library may hold nothing on this")
    if not said:
        return Markup()
    items = [joined([element("b", "Note: "), plain(warning, 400)]) for warning in said]
    return element("div", listed(items, _NOTES), role="note")


def _column(one: Criterion) -> Markup:
    said = [quiet(f"“{plain(one.words, 60)}”")] if one.words else []
    return lines([plain(one.name, 60), *said])


def _row(hit: Hit, columns: Sequence[Criterion], cells: Sequence[Cell], numbers: Sequence[int]) -> Markup:
    paper = hit.paper
    title = plain(hit.title, 200) or plain(paper.abstract, 160) or "(no title)"
    where = [plain(by_line(paper), 160), str(paper.year or ""), plain(paper.venue, 80), plain(hit.id, 100)]
    told = [element("b", title, dir="auto"), quiet(" · ".join(part for part in where if part))]
    if hit.versions:
        told.append(quiet(plain("also as " + ", ".join(hit.versions), 160)))
    for quote in hit.evidence[:_QUOTES]:
        about = plain(quote.aspect or quote.heading, 60)
        told.append(joined([quiet(f"{about}: ") if about else "", quoted(quote.quote)]))
        if quote.seed_quote:
            of = f"as in {plain(quote.seed, 60)}: “{plain(quote.seed_quote, 240)}”"
            told.append(quiet(of))
    if (rest := len(hit.evidence) - _QUOTES) > 0:
        told.append(quiet(f"and {count(rest, 'more quote')}"))
    held = {quote.quote for quote in hit.evidence}
    told += [
        joined([quiet(f"{plain(one.name, 60)}: "), quoted(cell.quote, 200)])
        for one, cell in zip(columns, cells, strict=False)
        if cell.quote and cell.quote not in held
    ]
    grades = [_cell(cell) for cell in cells[: len(columns)]]
    return row(str(hit.rank), lines(told), *grades, f"{hit.score:.3f}", named_by=1, numbers=numbers)


def _cell(cell: Cell) -> Markup:
    """The number, the same as a bar, the verdict in words, and what in the record decided."""
    drawn = [bar(cell.grade)] if cell.grade is not None else []
    verdict = "" if cell.verdict == "unknown" and cell.reason else cell.verdict
    said = [quiet(part) for part in (verdict, plain(cell.reason, 80)) if part]
    return lines([cell.value, *drawn, *said])


def _steps(ranking: Ranking) -> Markup:
    """What each stage did, where there was any, and what it cost."""
    rows = []
    for step in ranking.steps[:_NOTES]:
        facts = [f"{step.tally.questions:,} questions" if step.tally.questions else "", *step.notes[:3]]
        said = "; ".join(plain(fact, 200) for fact in facts if fact)
        rows.append(row(plain(step.step, 120), said, f"{step.seconds:.2f} s", numbers=(2,)))
    return table("Stages", ("stage", "what it did", "took"), rows, (2,)) if rows else Markup()


def forms_of_plan(plan: Plan) -> Forms:
    """Its forms: the lines that ``describe`` gives, and how it is edited."""
    first, *steps = plan.describe().split("\n")
    shown = [_line(line) for line in steps[:_LINES]]
    rest = len(steps) - len(shown)
    if rest > 0:
        shown.append(element("li", f"and {count(rest, 'more line')}: plan.describe()"))
    return Forms(
        plan.describe(),
        element(
            "div",
            element("p", element("b", plain(first, 200)), style=_SPACE),
            element("ul", *shown, style="margin:0;padding-left:.5em"),
            element("p", quiet("To edit it: plan.to_toml(). To run it: library.run(plan)."), style=_SPACE),
        ),
        "plan",
        plan.to_dict(),
    )


def _line(line: str) -> Markup:
    depth = (len(line) - len(line.lstrip())) / 2
    return element("li", plain(line, 300), style=f"list-style:none;margin-left:{depth:.1f}em")
