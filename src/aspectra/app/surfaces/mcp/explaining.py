"""Why a paper is where it is in an answer; and what the libraries hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aspectra.app.surfaces.mcp.choices import library_of, papers_of
from aspectra.app.surfaces.mcp.fitting import STRUCTURED, TEXT, clip, fitting, line, plain, size, strings
from aspectra.app.surfaces.mcp.listing import MOST_REACHED, Told
from aspectra.base.errors import AspectraError, Gone

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.arguments import Explain, Status
    from aspectra.app.surfaces.mcp.libraries import Libraries
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.search.evidence.why_not import WhyNot
    from aspectra.search.ranking import Hit, Ranking

_LISTS = 2_500  # bytes of each


def explain_match(libraries: Libraries, given: Explain, chosen: Mapping[str, str]) -> Told:
    """What a paper's score is made of, or what keeps it from the papers that were found."""
    name, service = library_of(libraries, given, chosen)
    plan = service.known(given.plan)
    generation = service.generation()
    if given.generation and given.generation != generation:
        raise Gone("the index was built anew since that answer", hint="search again")
    paper = papers_of(service, [given.id], chosen)[0]
    shown = clip(line(given.id), 400)
    out: dict[str, Any] = {"library": name, "plan": plan.hash, "generation": generation}
    ranking = service.run(plan, explain=True)
    if paper not in ranking.ids:
        why = service.library.searcher.why_not(plan, paper)
        if not plan.limit < why.rank <= MOST_REACHED or any(one.drops for one in why.reasons):
            return _told(out | _of_missing(why), shown)
        ranking = service.run(plan.with_limit(why.rank), explain=True)  # it is among these
        if paper not in ranking.ids:  # another version of its work is shown
            return _told(out | _of_missing(why), shown)
    return _told(out | _of_hit(ranking, ranking.ids.index(paper)), shown)


def _told(out: dict[str, Any], shown: str) -> Told:
    out["untrusted"] = {"id": shown, **out["untrusted"]}
    return Told(out, _in_words(out))


def _of_hit(ranking: Ranking, place: int) -> dict[str, Any]:
    from aspectra.app.output.shares import why_not_higher

    hit: Hit = ranking[place]
    parts = (
        {
            "part": clip(line(probe.name), 200),
            "adds": None if probe.standardised is None else round(probe.weight * probe.standardised, 4),
            "weight": round(probe.weight, 4),
            "rank": probe.rank,
        }
        for probe in hit.probes
    )
    lost = why_not_higher(hit, ranking[place - 1], ranking.plan.search.fusion) if place else []
    quotes = (
        {
            "about": clip(line(one.aspect), 100),
            "text": clip(plain(one.quote), 600),
            "field": one.field[:40],
            "start": one.start,
            "end": one.end,
            "seed_text": clip(plain(one.seed_quote), 300),
        }
        for one in hit.evidence
    )
    return {
        "rank": hit.rank,
        "score": round(hit.score, 6),
        **({"retracted": True} if hit.retracted else {}),
        "parts": fitting(parts, _LISTS),
        "below_the_one_above_by": fitting(
            ({"part": clip(line(part), 200), "adds": round(share, 4)} for part, share in lost), _LISTS // 2
        ),
        "untrusted": {
            "title": clip(line(hit.title), 400),
            "quotes": fitting(quotes, _LISTS),
            "conditions": strings(
                (f"{found} “{found.quote}”" if found.quote else str(found) for found in hit.conditions),
                _LISTS,
            ),
            "moves": strings(hit.reasons()[len(hit.probes) + len(hit.conditions) :], 600, 200),
        },
    }


def _of_missing(why: WhyNot) -> dict[str, Any]:
    reasons = (
        {"what": clip(line(one.what), 400), "drops": one.drops, "quote": clip(line(one.quote), 400)}
        for one in why.reasons
    )
    return {
        "rank": why.rank,
        "found": False,
        "why": f"it {why.place}",
        "untrusted": {"title": clip(line(why.paper.title), 400), "reasons": fitting(reasons, _LISTS)},
    }


def _in_words(out: dict[str, Any]) -> str:
    told = out["untrusted"]
    if "score" not in out:
        rows = [out["why"]]
        rows += [
            f"untrusted: {'drops it: ' if one['drops'] else ''}{one['what']} {one['quote']}"
            for one in told["reasons"]
        ]
    else:
        rows = [f"rank {out['rank']}, score {out['score']}"]
        rows += [
            f"{p['part']}: {_signed(p['adds'])} (weight {p['weight']}, rank {p['rank']})"
            for p in out["parts"]
        ]
        rows += [
            f"to the paper above: {p['part']} {_signed(p['adds'])}" for p in out["below_the_one_above_by"]
        ]
        rows += [f"untrusted: {one}" for one in (*told["conditions"], *told["moves"])]
        rows += [f"untrusted: {one['about']} “{one['text']}”" for one in told["quotes"]]
    return "\n".join(strings([*rows[:1], f"untrusted: {told['id']} {told['title']}", *rows[1:]], TEXT, 500))


def _signed(number: float | None) -> str:
    return "no score in deviations" if number is None else f"{number:+}"


def library_status(libraries: Libraries, given: Status, chosen: Mapping[str, str]) -> Told:
    """What the libraries hold, whether their indexes are new, and what a question may name."""
    from aspectra.search.conditions.attributes.protocol import ATTRIBUTES

    names = (given.library,) if given.library else libraries.names
    if given.library and given.library not in libraries.names:
        libraries.get(given.library)  # the error that names those there are
    attributes = strings(ATTRIBUTES, 1_500, 60)
    rows = [_status(libraries, name) for name in names]
    shown = fitting(rows, STRUCTURED - size(attributes) - 500)
    out: dict[str, Any] = {"libraries": shown, "attributes": attributes}
    if len(shown) < len(rows):
        out["cut"] = [f"{len(rows) - len(shown)} libraries did not fit: name one"]
    told = [
        f"{row['name']}: {row['error']['what']}"
        if "error" in row
        else f"{row['name']}: {row['papers']} papers, {row['indexed']} indexed ({row['generation']})"
        for row in shown
    ]
    text = "\n".join(strings([*told, f"attributes of conditions: {', '.join(attributes)}"], TEXT, 1_500))
    return Told(out, text)


def _status(libraries: Libraries, name: str) -> dict[str, Any]:
    try:
        facts = _facts(libraries.get(name))
    except AspectraError as error:
        said = {
            key: clip(line(value), 400) for key, value in error.to_dict().items() if isinstance(value, str)
        }
        return {"name": name, "error": {**said, "retryable": error.retryable}}
    return {"name": name, **facts}


def _facts(service: Service) -> dict[str, Any]:
    held = service.library.status()
    index = held["index"] or {}
    counts = {key: held[key] for key in ("papers", "with_abstract", "with_full_text", "citations_resolved")}
    return {
        **counts,
        "indexed": index.get("papers", 0),
        "generation": index.get("generation", ""),
        "indexed_at": index.get("created", ""),
        **{key: index.get(key, 0) for key in ("waiting", "changed", "gone")},
    }
