"""A report: a verdict in plain words, tables, figures with their numbers, and what all of it depends on."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from aspectra.base.errors import AspectraError, MissingExtra, UsageError
from aspectra.base.values import replace
from aspectra.lab.experiments.directory import Opened
from aspectra.lab.figures.drawing import Drawing, needs_plot, printable, svg_text
from aspectra.lab.figures.kinds import draw
from aspectra.lab.figures.recorded import FigureChoice, Place, choose_column, places_of
from aspectra.lab.reports.scores import best_cells, comparable, comparison_tables, family_of, spelled
from aspectra.lab.reports.tables import Cell, Column, Number, Table
from aspectra.lab.statistics.significance import SMALL, Comparison, compare

_SHOWN = 5  # names in a sentence
_PLAIN = "bm25"  # what others are compared with where it was run and nothing else is named


@dataclass(frozen=True)
class TaskVerdict:
    """Conclusions on one benchmark under one protocol.

    Attributes:
        headline: one sentence, for somebody who reads no other.
        details: what else follows from the same tests, and what to keep in mind.
        column: the measure it is about.
        baseline: what the headline compares with, or "".
        best: the system with the best mean.
    """

    headline: str
    details: tuple[str, ...]
    column: Column
    baseline: str
    best: str


def verdict_on(place: Place, choice: FigureChoice) -> TaskVerdict:
    """The verdict by one measure.

    The system with the best mean is compared with the baseline, and all others with it; ceilings take no
    part. Every test is paired by query and corrected for the number of comparisons.

    Args:
        place: whose systems.
        choice: names measure, baseline, test and correction; the baseline is otherwise ``bm25``, or the first
            system where that was not run.

    Raises:
        UsageError: no measure fits.
    """
    column = choose_column(place, choice)
    scored = place.with_column(column)
    # A ceiling is made from the judgements: no system that could be chosen.
    ceilings = [name for name in scored if place.is_ceiling(scored[name])]
    systems = {name: system for name, system in scored.items() if name not in ceilings} or scored
    if not systems:
        raise UsageError(f"no system on {place.title} has a mean", hint="aspectra bench show DIR")
    place = replace(place, systems=systems)
    lower = family_of(column).better == "lower"
    means = {name: system.means[column] or 0.0 for name, system in systems.items()}
    best = (min if lower else max)(means, key=lambda name: means[name])
    usual = _PLAIN if _PLAIN in systems else next(iter(systems))
    baseline = choice.baseline if choice.baseline in systems else usual
    measure = spelled(column)
    units = len(systems[best].values[column])
    told = [*place.failed, *filter(None, [place.simulated])]
    if units < SMALL:
        told.append(f"{units} queries are few: the t-test then leans on differences that are about normal.")
    if ceilings and ceilings != list(scored):
        told.append(f"Made from the judgements, and no system to choose: {_list(ceilings)}.")
    if len(systems) == 1:
        mean = systems[best].mean(column)
        said = (
            f"Only {_named(best)} was run on {place.title}: {measure} {_text(mean)} over {units:,} queries."
        )
        return TaskVerdict(said, ("There is nothing to compare it with.", *told), column, "", best)
    against_base = _compared(place, column, baseline, choice)
    against_best = _compared(place, column, best, choice)
    first, base, where = _named(best), _named(baseline), f"on {place.title}"
    if best == baseline:
        equal = [name for name, one in against_best.items() if not one.significant()]
        worse = [name for name in against_best if name not in equal]
        shown = _text(systems[best].mean(column))
        said = f"{base} has the best mean {where}, {measure} {shown} over {units:,} queries"
        said += f"; better than {_list(worse)}" if worse else ""
        said += f"; {_list(equal)} cannot be told from it." if equal else "."
        return TaskVerdict(
            said, (*_each(place, column, against_base, baseline), *told), column, baseline, best
        )
    one = against_base.get(best)
    if one is None:
        said = f"{first} has the best mean {where}, but was scored on other queries than {base}."
        return TaskVerdict(said, tuple(told), column, baseline, best)
    scale = family_of(column).scale
    moved = f"{scale * one.difference:+.1f}".replace("-", "−")
    amount = f"{measure} {moved}{_span(one, scale)}, {one.units:,} queries{_p(one)}"
    others = [name for name, c in against_base.items() if c.significant() and _gain(c, lower)]
    if best in others:
        said = f"{first} is better than {base} {where}: {amount}"
    elif others:
        said = f"{_list(others)} {'is' if len(others) == 1 else 'are'} better than {base} {where}; "
        said += f"the best mean is that of {first}: {amount}"
    else:
        said = f"No system can be told from {base} as better {where}; "
        said += f"the best mean is that of {first}: {amount}"
    rest = [name for name, c in against_best.items() if name != baseline and not c.significant()]
    said += f"; {_list(rest)} cannot be told from {first}." if rest else "."
    details = _each(place, column, against_base, baseline, best if best in others else "")
    if len(systems) > 2:
        details.append(
            f"{first} was chosen as the best of {len(systems)} on these same queries, which flatters it; new "
            "queries decide."
        )
    return TaskVerdict(said, (*details, *told), column, baseline, best)


def _compared(place: Place, column: Column, base: str, choice: FigureChoice) -> Mapping[str, Comparison]:
    systems = place.with_column(column)
    own, others = comparable(base, {name: s.values[column] for name, s in systems.items()})
    return compare(own, others, test=choice.test, correction=choice.correction)


def _gain(one: Comparison, lower: bool) -> bool:
    return (one.difference < 0) == lower


def _each(
    place: Place, column: Column, found: Mapping[str, Comparison], baseline: str, told: str = ""
) -> list[str]:
    """Results of the tests against the baseline, of all systems but ``told``, which the headline names."""
    lower = family_of(column).better == "lower"
    better = [n for n, one in found.items() if one.significant() and _gain(one, lower) and n != told]
    worse = [n for n, one in found.items() if one.significant() and not _gain(one, lower)]
    open_ = [n for n, one in found.items() if not one.significant()]
    skipped = [n for n in place.with_column(column) if n != baseline and n not in found]
    out = [f"Better than {_named(baseline)}: {_list(better)}."] if better else []
    out += [f"Worse than {_named(baseline)}: {_list(worse)}."] if worse else []
    out += [f"Not to be told from {_named(baseline)}: {_list(open_)}."] if open_ else []
    out += [f"Scored on other queries and not compared: {_list(skipped)}."] if skipped else []
    return out


def _list(names: list[str]) -> str:
    """Names in a sentence: five at most.

    >>> _list(["a"]), _list(["a", "b", "c"]), _list(["a, b", "c"])
    ('a', 'a, b and c', '“a, b” and c')
    """
    shown = list(map(_named, names[:_SHOWN]))
    if len(names) > _SHOWN:
        return f"{', '.join(shown)} and {len(names) - _SHOWN} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _named(name: str) -> str:
    """A name in a sentence, in quotes where it holds a comma."""
    return f"“{name}”" if "," in name or " and " in name else name


def _span(one: Comparison, scale: float) -> str:
    if one.interval is None:
        return ""
    return f" [{scale * one.interval.low:.1f}, {scale * one.interval.high:.1f}]".replace("-", "−")


def _p(one: Comparison) -> str:
    p = one.p if one.adjusted is None else one.adjusted
    if p is None:
        return ""
    return f", p = {p:.3f}" if p >= 0.001 else ", p < 0.001"


def _text(mean: Number | None) -> str:
    return "–" if mean is None else mean.text(1).replace("-", "−")


# One HTML page without scripts and without requests: text is escaped, figures and styles are in it.

_LINKED = re.compile(r'((?:\bid|xlink:href)=")(#?)|(url\(#)')
_MOST_ROWS = 400  # of a figure's numbers on the page
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class PageSection:
    """A part of the page.

    Attributes:
        title: its heading.
        parts: pieces of HTML, escaped already.
    """

    title: str
    parts: tuple[str, ...]


def escaped(text: object) -> str:
    """Text for a page: nothing in it can be a tag, an attribute or a control character.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(str(text)), quote=True)


def table_html(table: Table, *, rows: int = 0) -> str:
    """A table with its title as caption and its notes below.

    Args:
        table: what is shown.
        rows: show only so many, and say so; 0 shows all.
    """
    numeric = table.numeric
    shown = len(table.rows) if not rows else min(rows, len(table.rows))
    head = "".join(
        f'<th scope="col" class="{"n" if n else "t"}">{escaped(c)}</th>'
        for c, n in zip(table.columns, numeric, strict=True)
    )
    body = []
    for i in range(shown):
        cells = []
        for j, number in enumerate(numeric):
            text = escaped(table.text(i, j) + table.mark(i, j))
            text = f"<strong>{text}</strong>" if (i, j) in table.best and text else text
            if j == 0 and not number:
                cells.append(f'<th scope="row">{text}</th>')
            else:
                cells.append(f'<td class="{"n" if number else "t"}">{text}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = list(table.notes)
    if shown < len(table.rows):
        notes.append(f"the first {shown:,} of {len(table.rows):,} rows; all of them are in the figure's CSV")
    below = notes_html(notes)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escaped(table.title)}"><table>'
        f"<caption>{escaped(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{below}"
    )


def notes_html(notes: Sequence[str]) -> str:
    """Sentences below something, as a list; nothing for none."""
    listed = "".join(f"<li>{escaped(note)}</li>" for note in notes)
    return f'<ul class="notes">{listed}</ul>' if listed else ""


def figure_html(drawing: Drawing, number: int) -> str:
    """A figure inside the page, with its text alternative and its numbers as a table.

    Args:
        drawing: the figure.
        number: of the figure on its page; keeps the names inside it apart from those of others.
    """
    text = svg_text(drawing)
    text = text[text.index("<svg") :]
    before, _, rest = text.partition("<metadata>")  # of names alone, which need no place on the page
    text = before + rest.partition("</metadata>")[2]
    prefix = f"f{number}-"
    text = _LINKED.sub(lambda m: f"{m[3]}{prefix}" if m[3] else f"{m[1]}{m[2]}{prefix}", text)
    about = escaped(drawing.about)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{about}" ', 1)
    return (
        f"<figure>{text}<figcaption>Figure {number}. {escaped(drawing.title)}</figcaption></figure>"
        f"<details><summary>Numbers of figure {number}</summary>"
        f"{table_html(drawing.table, rows=_MOST_ROWS)}</details>"
    )


def page_html(title: str, lead: str, sections: Sequence[PageSection], foot: str) -> str:
    """The whole page.

    Args:
        title: its heading, plain text.
        lead: below the heading, HTML.
        sections: in order.
        foot: last line, plain text.
    """
    style = resources.files(__package__).joinpath("data/report.css").read_text("utf-8")
    named = [(f"part-{n}", section) for n, section in enumerate(sections, 1)]
    links = "".join(f'<li><a href="#{name}">{escaped(s.title)}</a></li>' for name, s in named)
    parts = "\n".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escaped(s.title)}</h2>\n'
        + "\n".join(s.parts)
        + "</section>"
        for name, s in named
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style></head>\n<body>\n"
        f"<header><h1>{escaped(title)}</h1>{lead}"
        f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav></header>\n'
        f"<main>\n{parts}\n</main>\n"
        f'<footer class="small"><p>{escaped(foot)}</p></footer>\n</body></html>\n'
    )


# Kinds of figures that a report shows where they can be drawn.
FIGURES = ("means", "deltas", "radar", "tradeoff", "cost", "diversity", "movement", "recall")


@dataclass(frozen=True)
class ReportPage:
    """A report.

    Attributes:
        html: the page.
        verdict: its opening sentences, one for each benchmark and protocol.
        left_out: what could not be shown, and why, one sentence each.
    """

    html: str
    verdict: tuple[str, ...]
    left_out: tuple[str, ...]


def report_page(opened: Mapping[str, Opened], choice: FigureChoice) -> ReportPage:
    """The report on experiments.

    Args:
        opened: name -> experiment.
        choice: measure, baseline, systems, test and correction.

    Raises:
        UsageError: nothing fits the choice. BadInput: an experiment is damaged.
    """
    places = places_of(opened, choice)
    verdicts = [verdict_on(place, choice) for place in places]
    figures, left_out = _figures(opened, choice, places, verdicts)
    lead = "".join(_verdict_html(v) for v in verdicts) + (
        f'<p class="small">Measures are x100 except ranks, distances and percents; in brackets: 95 % '
        f"intervals. Paired tests by query ({escaped(choice.test)}), corrected for the number of comparisons "
        f"({escaped(choice.correction)}).</p>"
    )
    names = ", ".join(dict.fromkeys(place.first.benchmark for place in places))
    facts = {name: one.facts() for name, one in opened.items()}
    drawn = [figure_html(drawing, n) for n, drawing in enumerate(figures, 1)]
    drawn += ["<p>Not shown:</p>" + notes_html(left_out)] if left_out else []
    sections = [
        PageSection(
            "Results",
            tuple(
                table_html(t) for p, v in zip(places, verdicts, strict=True) for t in _tables(p, v, choice)
            ),
        ),
        PageSection("Figures", tuple(drawn)),
        PageSection("What the numbers depend on", tuple(_dependencies(facts))),
        PageSection("How to run it again", tuple(_commands(facts))),
    ]
    made = sorted({str(held.get("created", ""))[:10] for held in facts.values()} - {""})
    foot = "Made by aspectra bench report from experiments of " + (", ".join(made) or "an unknown day") + "."
    html = page_html(f"Report: {names}", lead, sections, foot)
    return ReportPage(html, tuple(v.headline for v in verdicts), tuple(left_out))


def _verdict_html(verdict: TaskVerdict) -> str:
    rest = "".join(f"<p>{escaped(sentence)}</p>" for sentence in verdict.details)
    return f'<div class="verdict"><p><strong>{escaped(verdict.headline)}</strong></p>{rest}</div>'


def _tables(place: Place, verdict: TaskVerdict, choice: FigureChoice) -> list[Table]:
    """Means of all measures, and the comparisons with the baseline."""
    out = [_means(place)]
    if verdict.baseline:
        systems = list(place.systems.values())
        out += comparison_tables(systems, verdict.baseline, test=choice.test, correction=choice.correction)
    return out


def _means(place: Place) -> Table:
    columns = place.columns
    several = {c[1] for c in columns if sum(o[1] == c[1] for o in columns) > 1}
    header = tuple(
        " ".join(filter(None, (c[1], c[2], c[0] if c[1] in several and not c[2] else ""))) for c in columns
    )
    times = place.costs("ms/query")
    rows: list[tuple[Cell, ...]] = [
        (name, *(system.mean(c) for c in columns), round(times[name], 1) if name in times else None)
        for name, system in place.systems.items()
    ]
    best = best_cells(list(place.systems.values()), columns)
    notes = (
        "in brackets: 95 % intervals of means over queries, not of differences between systems",
        "bold: best mean",
        *place.failed,
    )
    return Table(place.title, ("system", *header, "ms/query"), tuple(rows), notes, best=best)


def _figures(
    opened: Mapping[str, Opened],
    choice: FigureChoice,
    places: Sequence[Place],
    verdicts: Sequence[TaskVerdict],
) -> tuple[list[Drawing], list[str]]:
    """The figures that can be drawn, and a sentence on each of the others."""
    try:
        needs_plot()
    except MissingExtra as error:
        return [], [f"figures: {error.what}, {error.why}; {error.hint}"]
    out: list[Drawing] = []
    lacking: list[str] = []
    for place, verdict in zip(places, verdicts, strict=True):
        own = replace(
            choice,
            benchmark=place.first.benchmark,
            protocol=place.first.protocol,
            baseline=verdict.baseline or choice.baseline,
        )
        for kind in FIGURES:
            if not _possible(kind, place, verdict):
                continue
            one = replace(own, measures=()) if kind in ("means", "diversity", "tradeoff") else own
            if kind in ("radar", "cost", "deltas"):
                one = replace(own, measures=(verdict.column[1],), mode=verdict.column[2])
            try:
                out += draw(kind, opened, one)
            except AspectraError as error:
                lacking.append(f"{kind} of {one.benchmark}, {one.protocol}: {error.what}")
    return out, lacking


def _possible(kind: str, place: Place, verdict: TaskVerdict) -> bool:
    """True if a figure of a kind has a meaning here; the others are not reported as missing."""
    names = {family_of(c).name for c in place.columns}
    modes = {c[2] for c in place.columns}
    labels = {name for own in place.first.labels.values() for name in own}
    several = len(place.systems) > 1
    return {
        "deltas": several and bool(verdict.baseline),
        "radar": bool(labels & {"dimension", "facet", "aspect"}),
        "tradeoff": "p-MRR" in names and several,
        "cost": several,
        "diversity": "HullVolume" in names or "CosineDistance" in names,
        "movement": {"original", "instructed", "reversed"} <= modes,
        "recall": "NDCG" not in names or place.first.protocol == "collection",
    }.get(kind, True)


def _dependencies(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    out = []
    for name, held in facts.items():
        versions = ", ".join(f"{k} {v}" for k, v in (held.get("versions") or {}).items())
        rows: list[tuple[Cell, ...]] = [("made", str(held.get("created", ""))), ("versions", versions)]
        rows.append(("hash of the results", str(held.get("results_hash", ""))))
        for benchmark, about in (held.get("benchmarks") or {}).items():
            index = about.get("index") or {}
            told = [(what, about.get(what, "")) for what in ("revision", "source", "licence")]
            told.append(("documents, queries", f"{about.get('documents', 0):,}, {about.get('topics', 0):,}"))
            told.append(("judgements", about.get("judgement_hash", "")))
            told.append(("state of the library", index.get("state", "")))
            told += (about.get("checksums") or {}).items()
            told += [("problem", problem) for problem in about.get("problems") or ()]
            rows += [(f"{benchmark}: {what}", str(value)) for what, value in told]
        rows += [("missing", str(failure)) for failure in held.get("failures") or ()]
        short = name.replace("\\", "/").rpartition("/")[2]
        out.append(table_html(Table(f"Experiment {short}", ("what", "value"), tuple(rows))))
        cells = [
            (
                f"{c['recipe']['name']} on {c['benchmark']}, {c['protocol']}",
                str(c.get("recipe_hash", "")),
                str(c.get("model", "")) + (" (simulated)" if c.get("simulated") else ""),
                f"{c.get('ranked', 0):,} of {c.get('topics', 0):,}",
                c.get("ties"),
                c.get("seconds"),
            )
            for c in held.get("cells") or ()
        ]
        header = ("ranking", "recipe", "model", "queries ranked", "ties", "seconds")
        out.append(table_html(Table(f"Rankings of {short}", header, tuple(cells))))
    return out


def _commands(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    commands = list(dict.fromkeys(str(held.get("command", "")) for held in facts.values()))
    return [
        "<p>FOLDER is where a benchmark's files lie, DIR where the experiment goes. Finished rankings are "
        "reused.</p>",
        *(f"<pre>{escaped(command)}</pre>" for command in commands if command),
    ]
