"""A ranking for people: one block a paper, its proof below it; and for programs: JSON and exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aspectra.app.output.screen import Screen, count, safe

if TYPE_CHECKING:
    from aspectra.papers.paper import Paper
    from aspectra.search.ranking import Hit, Kept, Ranking

__all__ = ["by_line", "document", "hit_lines", "show_ranking"]

_AUTHORS = 3
_LONGEST_VENUE = 60
_LONGEST_QUOTE = 700


def by_line(paper: Paper) -> str:
    """Authors, shortened."""
    names = [name for author in paper.authors if (name := safe(author, one_line=True))]
    if len(names) > _AUTHORS:
        return ", ".join(names[:_AUTHORS]) + " et al."
    return ", ".join(names)


def _short(text: str, limit: int) -> str:
    text = safe(text, one_line=True)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _score(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.4f}"


def show_ranking(
    screen: Screen, ranking: Ranking, asked: str, searched: str, footer: str, *, explain: bool = False
) -> None:
    """The table of ``--format table``.

    Args:
        screen: where to.
        ranking: what.
        asked: the question and its limits in words.
        searched: among how many papers.
        footer: how to see the plan.
        explain: also what each view said.
    """
    if not screen.quiet:
        screen.line(asked, style="dim")
        screen.line()
    places = len(str(len(ranking)))
    for hit in ranking:
        _show_hit(screen, hit, places, explain=explain)
    if not screen.quiet:
        shown = count(len(ranking), "paper") if len(ranking) else "no paper"
        screen.line(f"{shown} of {searched} · {ranking.seconds:.2f} s · {footer}", style="dim")


def _show_hit(screen: Screen, hit: Hit, places: int, *, explain: bool) -> None:
    indent = places + 8
    year = str(hit.paper.year) if hit.paper.year else "   –"
    title = safe(hit.title, one_line=True) or _short(hit.paper.abstract, 160) or "(no title)"
    screen.line(title, style="bold", indent=indent, first=f"{hit.rank:>{places}}  {year}")
    where = [by_line(hit.paper), _short(hit.paper.venue, _LONGEST_VENUE)]
    # After a stage the score says no more than the place does; where a paper came from says more.
    facts = [safe(hit.id, one_line=True), *([_move(hit)] if hit.moves else [_score(hit.score)])]
    screen.line(" · ".join(part for part in (*where, *facts) if part), style="cyan", indent=indent)
    if hit.versions:
        screen.line("also as " + ", ".join(safe(v, one_line=True) for v in hit.versions), indent=indent)
    for quote in hit.evidence:
        field = safe(quote.heading, one_line=True) or quote.field.replace(":", " ")
        place = "" if quote.field == "abstract" else f" [{field}]"
        about = f"{safe(quote.aspect, one_line=True)}: " if quote.aspect else ""
        screen.line(f"{about}“{_short(quote.quote, _LONGEST_QUOTE)}”{place}", style="dim", indent=indent)
        if quote.seed_quote:
            of = safe(quote.seed, one_line=True)
            screen.line(
                f"  as in {of}: “{_short(quote.seed_quote, _LONGEST_QUOTE)}”", style="dim", indent=indent
            )
    for kept in hit.conditions:
        if kept.condition.filters and not (explain or kept.quote):
            continue  # every paper shown passed it, and no sentence says why
        screen.line(_condition_line(kept, explain=explain), indent=indent)
    if explain:
        for probe in hit.probes:
            screen.line(_probe_line(probe), indent=indent)
        for stage, before, after in hit.moves:
            screen.line(f"{stage}: {'new' if before is None else before} → {after}", indent=indent)
    screen.line()


def _move(hit: Hit) -> str:
    first = hit.moves[0][1]
    stages = ", ".join(dict.fromkeys(stage for stage, _, _ in hit.moves))
    return f"brought by {stages}" if first is None else f"was {first} before {stages}"


def _condition_line(kept: Kept, *, explain: bool) -> str:
    mark = "✓" if kept.met else "✗"
    said = f" “{_short(kept.quote, 120)}”" if kept.quote else ""
    if not explain:
        return f"{mark} {safe(kept.condition.spelling, one_line=True)}{said}"
    grade = "unknown" if kept.grade is None else f"grade {kept.grade:.2f}"
    moved = "" if kept.condition.filters else f", {kept.moved:+.3f}"
    return f"{mark} {safe(kept.condition.spelling, one_line=True)}: {grade}{moved}{said}"


def _probe_line(probe: Any) -> str:
    parts = [f"{probe.weight:+.2f} × {probe.name}:"]
    if probe.score is None:
        parts.append("not ranked")
    elif probe.standardised is not None:
        share = probe.weight * probe.standardised
        parts.append(f"{share:+.3f} ({probe.standardised:+.2f} deviations, raw {probe.score:.4f})")
    else:
        parts.append(f"raw {probe.score:.4f}")
    if probe.rank is not None:
        parts.append(f"rank {probe.rank:,}")
    return " ".join(parts)


def _hit(hit: Hit, *, explain: bool) -> dict[str, Any]:
    out = hit.to_dict()
    if explain:
        out["probes"] = [
            {
                "view": p.view,
                "aspect": p.aspect,
                "weight": p.weight,
                "score": p.score,
                "standardised": p.standardised,
                "rank": p.rank,
            }
            for p in hit.probes
        ]
    return out


def document(ranking: Ranking, *, explain: bool = False) -> str:
    """The one JSON document of ``--json``; ``explain`` adds ``probes`` to each hit."""
    whole = ranking.to_dict()
    if explain:
        whole["hits"] = [_hit(hit, explain=True) for hit in ranking]
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def hit_lines(ranking: Ranking, *, explain: bool = False) -> str:
    """The stream of ``--jsonl``: one hit a line."""
    return "".join(json.dumps(_hit(h, explain=explain), ensure_ascii=False) + "\n" for h in ranking)
