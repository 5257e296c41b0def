"""A ranking for people: one block a paper, its evidence below it; and for programs: JSON and exports."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from aspectra.app.terminal.screen import Screen, count, safe
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.bibliography import is_retracted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aspectra.app.library import Library
    from aspectra.app.output.papers import Page
    from aspectra.papers.paper import Paper
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import ConditionResult, Hit, Ranking

_KEYS = re.compile(r"^@\w+\{([^,\n]*),$", re.M)
_AUTHORS = 3
_LONGEST_VENUE = 60
_LONGEST_QUOTE = 700
_LONGEST_TEXT = 100
_LONGEST_ITEM = 600  # characters of a request
DIRECTION_WORDS = {
    "": "like {}",
    "builds-on": "what {} builds on",
    "built-on-by": "what builds on {}",
    "both": "what {} builds on, or what builds on it",
}


def by_line(paper: Paper) -> str:
    """Authors, shortened; before them that the paper was retracted."""
    names = [name for author in paper.authors if (name := safe(author, one_line=True))]
    shown = ", ".join(names[:_AUTHORS]) + (" et al." if len(names) > _AUTHORS else "")
    return " · ".join(part for part in ("RETRACTED" if is_retracted(paper) else "", shown) if part)


def ids_kept(text: str, form: str, ids: Sequence[str]) -> str:
    """The topic of a TREC run, and whether a file has the ids of its papers, in this order; in words."""
    keys, topic = _KEYS.findall(text) if form == "bibtex" else ids, ""
    if form == "trec":
        keys, topic = [line.split()[2] for line in text.splitlines()], "topic q1, "
    changed = sum(a != b for a, b in zip(keys, ids, strict=False))
    return topic + (f"{count(changed, 'id')} changed to be valid keys" if changed else "ids unchanged")


def short(text: str, limit: int) -> str:
    """A text of a paper on one line, plain, and shortened with an ellipsis."""
    text = safe(text, one_line=True)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _score(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.4f}"


def _show_ranking(
    screen: Screen, library: Library, ranking: Ranking, page: Page | None, *, explain: bool
) -> None:
    """The table of ``--format table``; ``explain`` adds what each view gave."""
    if not screen.quiet:
        lists = ranking.requests.rows  # which name the conditions
        screen.line(_plan_in_words(ranking.plan, conditions=not lists), style="dim")
        terms = [("" if number else "terms", text) for number, text in enumerate(ranking.plan.search.terms)]
        screen.pairs((name, short(text, _LONGEST_ITEM)) for name, text in (*lists, *terms))
        if page is not None:
            screen.line(page.header, style="dim")
        screen.line()
    show_hits(screen, ranking, explain=explain)
    if not screen.quiet:
        from aspectra.search.conditions.grading import left_by_filters

        engine, conditions = library.searcher.engine, ranking.plan.conditions
        searched, left = f"{len(engine):,}", ranking.left_by_filters
        if left is not None:
            slow = any(c.filters and not c.cheap for c in conditions)  # grades candidates alone
            searched = f"{'at most ' if slow else ''}{left:,} left by the filters (of {searched})"
            if not left:
                alone = [c.label for c in conditions if left_by_filters(engine.grader, [c]) == 0]
                none = [f"[{safe(label, one_line=True)}]" for label in alone]
                why = f"; {' and '.join(none)} {'leaves' if len(none) == 1 else 'leave'} none" if none else ""
                searched = f"{len(engine):,} meets all conditions{why}"
        shown = count(len(ranking), "paper") if len(ranking) else "no paper"
        if page is not None:
            shown = f"page {page.number} of {page.of} · {shown} of {page.found:,} found"
        plan = f"plan {ranking.plan.hash[:6]} (aspectra plan last)"
        screen.line(f"{shown} of {searched} · {ranking.seconds:.2f} s · {plan}", style="dim")


def show_hits(screen: Screen, ranking: Ranking, *, explain: bool = False) -> None:
    """The papers of a ranking, a block each; ``explain`` adds what each view gave."""
    places = len(str(max((hit.rank for hit in ranking), default=0)))
    unapplied, indent = {condition for condition, _ in ranking.not_applied}, places + 8
    for hit in ranking:
        first = f"{hit.rank:>{places}}  {hit.paper.year or '–':>4}"
        for line in card_of(hit, explain=explain):
            screen.line(str(line), style=line.style, indent=indent, first=first)
            first = ""
        for reason in hit.reasons() if explain else ():
            screen.line(safe(reason, one_line=True), indent=indent)
        for found in hit.conditions:
            said = found.quote or (not explain and (_tells(found) or not found.condition.filters))
            if said and found.condition not in unapplied:
                screen.line(_condition_line(found), indent=indent)
        screen.line()


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a hit's card.

    Attributes:
        text: before the quote.
        style: on a terminal.
        quote: of a paper, or "".
        after: after the quote.
    """

    text: str
    style: str = ""
    quote: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.text}“{self.quote}”{self.after}" if self.quote else self.text


def card_of(hit: Hit, *, explain: bool = False) -> Iterator[CardLine]:
    """The card of a hit on terminals and in notebooks: its title, record, versions and quotes, each plain."""
    title = safe(hit.title, one_line=True) or short(hit.paper.abstract, 160) or "(no title)"
    yield CardLine(title, "bold")
    where = [by_line(hit.paper), short(hit.paper.venue, _LONGEST_VENUE)]
    # After a stage the score says no more than the place does; where a paper came from says more.
    facts = [safe(hit.id, one_line=True), *([_move(hit)] if hit.moves else [_score(hit.score)])]
    yield CardLine(" · ".join(part for part in (*where, *facts) if part), "cyan")
    if hit.versions:
        yield CardLine("also as " + ", ".join(safe(v, one_line=True) for v in hit.versions))
    for quote in hit.evidence:
        field = safe(quote.heading, one_line=True) or quote.field.replace(":", " ")
        place = "" if quote.field == "abstract" else f" [{field}]"
        about = f"{safe(quote.aspect, one_line=True)}: " if quote.aspect else ""
        yield CardLine(about, "dim", short(quote.quote, _LONGEST_QUOTE), place)
        if quote.seed_quote:
            of = safe(quote.seed, one_line=True)
            yield CardLine(f"  as in {of}: “{short(quote.seed_quote, _LONGEST_QUOTE)}”", "dim")
        if explain and quote.matched:
            pairs = ", ".join(f"{asked} ~ {word} {cosine:.2f}" for asked, word, cosine in quote.matched)
            yield CardLine(f"  matched: {short(pairs, _LONGEST_QUOTE)}", "dim")


def _tells(found: ConditionResult) -> bool:
    """True if the reason that a filter was passed adds to what the hit shows anyway."""
    unseen = found.condition.attribute not in ("year", "venue", "author")
    return bool(found.exempt) or (bool(found.reason) and (unseen or found.grade is None))


def _move(hit: Hit) -> str:
    first = hit.moves[0][1]
    stages = ", ".join(dict.fromkeys(stage for stage, _, _ in hit.moves))
    return f"brought by {stages}" if first is None else f"was {first} before {stages}"


def _condition_line(found: ConditionResult) -> str:
    said = f" “{short(found.quote, 120)}”" if found.quote else ""
    if why := f"exempt: {found.exempt}" if found.exempt else found.reason:
        said += f" ({short(why, 120)})"
    mark = "?" if found.grade is None and not found.exempt else "✓" if found.met else "✗"
    return f"{mark} {safe(found.condition.label, one_line=True)}{said}"


def write_ranking(
    screen: Screen,
    library: Library,
    ranking: Ranking,
    style: str,
    output: Path | None,
    *,
    explain: bool,
    page: Page | None = None,
) -> None:
    """Write a ranking in any format, to standard output or a file.

    Args:
        screen: where to.
        library: that was searched.
        ranking: what.
        style: ``table``, ``json`` or a format of ``aspectra export``.
        output: a file, or None.
        explain: also what each view gave.
        page: of which pages the ranking is one, or None.

    Raises:
        UsageError: a table cannot be written to a file.
    """
    if style == "table":
        if output is not None:
            raise UsageError(
                "a table is for the screen", hint=f"--format bibtex -o {output}, or: aspectra ... > {output}"
            )
        _show_ranking(screen, library, ranking, page, explain=explain)
        return
    kept = ""
    if style == "json":
        whole = ranking.to_dict(explain=explain)
        if page is not None:
            whole["page"] = asdict(page)
        screen.document("search", whole, output)
    elif style == "jsonl":
        lines = (json.dumps(hit.to_dict(explain=explain), ensure_ascii=False) for hit in ranking)
        screen.data("".join(f"{line}\n" for line in lines), output)
    else:
        if style == "trec":  # scores must fall
            ranking = replace(ranking, hits=tuple(sorted(ranking, key=lambda hit: hit.rank)))
        text = ranking.export(style)
        screen.data(text, output)
        kept = f", {ids_kept(text, style, ranking.ids)}"
    if output is not None:
        screen.note(f"Wrote {count(len(ranking), 'record')} to {output} ({style}{kept}).")


def _plan_in_words(plan: Plan, *, conditions: bool) -> str:
    """A plan in one line: its words or seeds, its conditions if requested, and its steps."""
    from aspectra.search.planning.aspects import aspects_asked

    texts, seeds = plan.search.texts, plan.search.seeds
    parts = [f"“{t[:_LONGEST_TEXT]}{'…' if len(t) > _LONGEST_TEXT else ''}”" for t in texts]
    if seeds:
        parts.append(DIRECTION_WORDS.get(plan.search.direction, "like {}").format(", ".join(seeds)))
        parts += ["any year"] if plan.search.years == "any" else []
    for sign, word in ((1, "same"), (-1, "different")):
        if named := aspects_asked(plan.search.probes, sign):
            parts.append(f"{word} " + ", ".join(named))
    if conditions:
        parts += [f"[{condition.label}]" for condition in plan.conditions]
    steps = " | ".join(step if isinstance(step, str) else step.planner for step in plan.steps)
    return safe(" · ".join([*parts, steps]), one_line=True)
