"""Planners that search one view, or two: words, vectors, late interaction, lenses, units of papers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from aspectra.base.errors import UsageError, ViewMismatch, check_choice, check_number
from aspectra.base.values import replace
from aspectra.search.plan import Fusion, Plan, Search
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner, probe
from aspectra.search.query import (
    LATE_CANDIDATES,
    LATE_WEIGHT,
    LEXICAL_WEIGHT,
    MOST_PAPERS,
    TEXT_WEIGHT,
    UNLENSED_WEIGHT,
    Query,
)
from aspectra.views.index.opened import GRAPH_VIEW, Index
from aspectra.views.protocol import TOKENS, ViewFacts, lens_base
from aspectra.views.view import Metric, Pooling, Probe


@planner("bm25")
def bm25(query: Query, views: ViewNames) -> Search:
    """Words of titles and abstracts (BM25)."""
    return Search(probes=(probe(query, views.words("abstract")),))


@planner("dense", vectors="needed")
def dense(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts."""
    return Search(probes=(probe(query, views.dense("abstract")),))


@planner("fulltext", vectors="used", full_text="needed")
def fulltext(query: Query, views: ViewNames) -> Search:
    """Abstracts and chunks of full text, by words and, where there are any, by vectors.

    Rank fusion, because a paper without full text has no chunk score to standardise.
    """
    base = views.chunks()
    names = [views.words("abstract"), views.words(base)]
    if views.encoder:
        names += [n for n in (f"abstract@{views.encoder}", f"{base}@{views.encoder}") if n in views.names]
    return Search(probes=tuple(probe(query, n) for n in names), fusion=Fusion(kind="rrf"))


STYLE_VIEW = ViewFacts.lens_vectors_of("style").name


@planner("hand", lenses=("style",))
def hand(query: Query, views: ViewNames) -> Search:
    """Texts written in the same style as a passage or a paper, whatever they are about."""
    return Search(probes=(probe(query, STYLE_VIEW),))


@planner("hybrid", vectors="used")
def hybrid(query: Query, views: ViewNames) -> Search:
    """Vectors of titles and abstracts, and 0.3 of BM25; BM25 alone where nothing was encoded."""
    lexical = views.words("abstract")
    if not views.encoder:
        return Search(probes=(probe(query, lexical),))
    return Search(probes=(probe(query, views.dense("abstract")), probe(query, lexical, LEXICAL_WEIGHT)))


@planner("linked", seeds=True, views=(GRAPH_VIEW,))
def linked(query: Query, views: ViewNames) -> Search:
    """What the seeds cite, what cites them, and what shares their references or citations.

    Further words are searched in titles and abstracts.
    """
    probes = [Probe(GRAPH_VIEW, seeds=query.seeds)]
    if query.text.strip():
        probes.append(Probe(views.words("abstract"), text=query.text, weight=TEXT_WEIGHT))
    return Search(probes=tuple(probes))


@planner("notes", views=("notes@bm25",))
def notes(query: Query, views: ViewNames) -> Search:
    """Words of your notes and annotations (BM25)."""
    return Search(probes=(probe(query, views.words("notes")),))


UNITS = ("A2A", "A2F", "F2A", "F2F", "A2C", "F2C")


@dataclass(frozen=True)
class UnitOptions(Options):
    """Units to compare, and the form of the comparison.

    Attributes:
        of: the seed's unit, ``2``, that of the papers: ``A`` title and abstract, ``F`` the full paper, ``C``
            its chunks.
        full: what a vector of a full paper is: the ``mean`` of its chunks, which leaves nothing out, or that
            of its ``first`` tokens, as many as the encoder reads (the published form).
        pooling, metric: as in :class:`~aspectra.views.view.Probe`.
        words: compare words, not vectors; of a full paper its 100 most telling ones. Not for F2A and F2C.

    Raises:
        UsageError: the unit or the form of full papers does not exist.
    """

    of: str = field(default="A2C", metadata={"bare": True})
    full: str = "mean"
    pooling: Pooling = "max"
    metric: Metric = "cosine"
    words: bool = False

    def __post_init__(self) -> None:
        check_choice(self.of, UNITS, "unit")
        check_choice(self.full, ("mean", "first"), "full paper")
        check_choice(self.pooling, get_args(Pooling), "pooling")
        check_choice(self.metric, get_args(Metric), "metric")
        if self.words and self.of in ("F2A", "F2C"):
            raise UsageError(
                f"unit({self.of}) compares vectors",
                why="words of a full paper are searched for in full papers alone",
                hint=f"unit({self.of}), or unit(F2F,words=yes)",
            )


@planner("unit", vectors="needed", full_text="used", seeds=True, options=UnitOptions)
def unit(query: Query, views: ViewNames, options: UnitOptions) -> Search:
    """Abstract or full paper of the seed against abstracts, papers or chunks.

    Source: PRISM (Park et al., 2025), section 4.2.

    Raises:
        ViewMismatch: the index lacks such a view.
    """

    def view(letter: str) -> str:
        bases = {"A": "abstract", "F": "full", "C": views.chunks() or "chunks-250w"}
        base = bases[letter]
        if options.words:
            return views.require(ViewFacts.words_of(base).name)
        return views.dense("first" if letter == "F" and options.full == "first" else base)

    asked, _, searched = options.of.partition("2")
    asking = "" if asked == searched else view(asked)
    return Search(
        probes=(
            Probe(
                view(searched),
                text=query.text,
                seeds=query.seeds,
                asking=asking,
                pooling=options.pooling,
                metric=options.metric,
            ),
        )
    )


@dataclass(frozen=True)
class Interaction(Options):
    """Options of the planner ``late``.

    Attributes:
        weight: of MaxSim, beside 1 of the abstract's vector and 0.3 of BM25.
        candidates: the hybrid's best papers, which are compared token by token.
    """

    weight: float = LATE_WEIGHT
    candidates: int = LATE_CANDIDATES

    def __post_init__(self) -> None:
        check_number("candidates of late", self.candidates, 1, MOST_PAPERS)


@planner("late", vectors="needed", tokens=True, options=Interaction)
def late(query: Query, views: ViewNames, options: Interaction = Interaction()) -> Search:
    """The hybrid's first papers, each word of the query compared with each of theirs (MaxSim).

    Standardised MaxSim is added to the hybrid's score. For MaxSim alone a recipe ends with a search of its
    own: ``{probes = [{view = "tokens@{encoder}"}]}`` after ``top(300)``.
    Source: Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.

    Raises:
        ViewMismatch: the index has no token vectors.
    """
    plain = hybrid(query, views)
    facts = ViewFacts(TOKENS, views.encoder)
    if facts.name not in views.names:
        raise ViewMismatch(
            "the planner late needs token vectors, and the index has none",
            why="they take space, and are kept only where they are wanted",
            hint=facts.remedy,
        )
    probes = (*plain.probes, probe(query, facts.name, options.weight))
    return replace(plain, probes=probes, fusion=Fusion(candidates=options.candidates, scan_limit=1))


@planner("lensed", vectors="used", takes_lenses=True)
def lensed(query: Query, views: ViewNames) -> Search:
    """What lenses found in papers: the named lenses, or those that the words fit.

    The named lenses alone; else those whose cues are in the query, beside the hybrid's probes. Each lens
    is searched as the hybrid searches abstracts: by vectors, and 0.3 of that by words. A seed is compared by
    what the lens found in it; seeds without words are compared by all lenses alike. Where no lens fits it is
    the hybrid.
    """
    if query.lenses:
        names = tuple(dict.fromkeys(name.strip().replace("-", "_") for name in query.lenses))
        probes = [one for name in names for one in _through(name, query, views, 1.0 / len(names))]
        return Search(probes=tuple(probes))
    plain = hybrid(query, views)
    names = fitting(query.text, views.readings) if query.text.strip() else tuple(sorted(views.readings))
    if not names:
        return plain
    probes = [one for name in names for one in _through(name, query, views, 1.0 / len(names))]
    probes += [replace(one, weight=UNLENSED_WEIGHT * one.weight) for one in plain.probes]
    return Search(probes=tuple(probes))


def _through(name: str, query: Query, views: ViewNames, weight: float) -> list[Probe]:
    """Probes on the views of one lens."""
    if name == "style":
        return [replace(one, weight=weight) for one in hand(replace(query, lenses=()), views).probes]
    lexical = ViewFacts.words_of(lens_base(name)).name
    if lexical not in views.names:
        if name in views.lenses:
            raise UsageError(
                f"the lens {name} has no texts to search",
                why="it gives labels or numbers, which are for conditions",
                hint=f"-c {name}=LABEL",
            )
        known = [*views.readings, *(["style"] if STYLE_VIEW in views.names else [])]
        raise ViewMismatch(
            f"the index has no views of a lens {name!r}",
            why="it has those of " + ", ".join(known) if known else "no lens has any yet",
            hint=f"aspectra lens add {name}, aspectra lens run {name}, then aspectra index",
        )
    dense = f"lens-{name}@{views.encoder}"
    if not views.encoder or dense not in views.names:
        return [probe(query, lexical, weight)]
    return [probe(query, dense, weight), probe(query, lexical, LEXICAL_WEIGHT * weight)]


def fitting(text: str, readings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the lenses whose cues are in a query, those with most cues first.

    A cue counts as whole words, in any case; among lenses only those count that have at
    least half as many as the first.

    >>> fitting("which papers fail, and what goes wrong?", {"failure": ["goes wrong"], "method": ["method"]})
    ('failure',)
    """
    asked = " ".join(text.casefold().split())
    found = {
        name: sum(re.search(rf"(?<!\w){re.escape(cue)}(?!\w)", asked) is not None for cue in cues)
        for name, cues in readings.items()
    }
    most = max(found.values(), default=0)
    kept = [name for name, count in found.items() if count and 2 * count >= most]
    return tuple(sorted(kept, key=lambda name: (-found[name], name)))


def lens_warnings(index: Index, plan: Plan) -> list[str]:
    """Warnings about the prompted lenses that a plan uses, each one sentence.

    A lens is simulated, or was not run on all papers.
    """
    views, lenses = index.manifest["views"], index.manifest.get("lenses", {})
    probes = [probe for search in plan.searches for probe in search.probes]
    facts = [views.get(probe.view, {}) for probe in probes]
    facts += [lenses.get(condition.attribute, {}) for condition in plan.conditions]
    asking = [views.get(probe.asking, {}) for probe in probes]  # of the seeds, whatever other papers have
    searched = {str(one["lens"]) for one in facts if "stamp" in one}
    out = []
    for name, one in {str(one["lens"]): one for one in (*facts, *asking) if "stamp" in one}.items():
        if one["simulated"]:
            out.append(f"the values of the lens {name} are *simulated*: no language model was used")
        if one["missing"] and name in searched:
            out.append(
                f"the lens {name} has not been run on {one['missing']:,} of {len(index):,} papers: "
                f"aspectra lens run {name}, then aspectra index"
            )
    return out
