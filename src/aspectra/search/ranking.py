"""Rankings: hits under one total order, each with its scores and evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from aspectra.base.display import Displayed
from aspectra.base.trec import trec_lines
from aspectra.papers.bibliography import is_retracted
from aspectra.papers.paper import Paper, Unit, field_text
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.plan import Plan, Step, Tally
from aspectra.search.planning.aspects import AspectRequests
from aspectra.views.lenses.protocol import TextSpan

if TYPE_CHECKING:
    import pandas as pd


def span_text(paper: Paper, span: Unit | TextSpan) -> str:
    """The stored text of a span of a paper."""
    return field_text(paper, span.field)[span.start : span.end]


class Evidence(Struct, frozen=True):
    """A quote that shows why a hit was found, checked by slicing the stored text.

    Attributes:
        quote: exactly ``field_text(paper, field)[start:end]``.
        field: ``title``, ``abstract`` or ``section:N``; ``note:N`` for the passage or the words of the note
            with that number.
        start, end: in characters.
        aspect: what the quote is about, or "".
        score: how well it matches, higher is better; comparable within one ranking.
        heading: of the section, for people, or "".
        seed: id of the seed paper whose sentence this one answers, or "".
        seed_quote: that sentence, or "".
        matched: of late interaction: (word of the query, word of the quote, their cosine), strongest first.
    """

    quote: str
    field: str
    start: int
    end: int
    aspect: str = ""
    score: float = 0.0
    heading: str = ""
    seed: str = ""
    seed_quote: str = ""
    matched: tuple[tuple[str, str, float], ...] = ()

    @classmethod
    def of(cls, paper: Paper, span: Unit | TextSpan, **more: Any) -> Evidence:
        """The quote of a span of a paper; ``more`` is what else is known of it."""
        return cls(span_text(paper, span), span.field, span.start, span.end, **more)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        held = structs.asdict(self)
        out = {name: held[name] for name in ("quote", "field", "start", "end", "aspect")}
        if self.seed:
            out |= {"seed": self.seed, "seed_quote": self.seed_quote}
        if self.matched:
            out["matched"] = [[query, word, round(cosine, 4)] for query, word, cosine in self.matched]
        return out


class ProbeScore(Struct, frozen=True):
    """The score of one hit by one probe.

    Attributes:
        view: the view that was searched.
        weight: of the probe.
        score: as the view gave it.
        standardised: the score in deviations, or None where ranks were fused.
        rank: the paper's place in this probe's own order, or None where the probe did not rank it.
        aspect: what it is about, or "".
    """

    view: str
    weight: float
    score: float | None
    standardised: float | None = None
    rank: int | None = None
    aspect: str = ""

    @property
    def name(self) -> str:
        """The view, and the aspect if there is one."""
        return f"{self.view} ({self.aspect})" if self.aspect else self.view

    def __str__(self) -> str:
        parts = [f"{self.weight:+.2f} × {self.name}:"]
        if self.score is None:
            parts.append("not ranked")
        elif self.standardised is not None:
            share = self.weight * self.standardised
            parts.append(f"{share:+.3f} ({self.standardised:+.2f} deviations, raw {self.score:.4f})")
        else:
            parts.append(f"raw {self.score:.4f}")
        if self.rank is not None:
            parts.append(f"rank {self.rank:,}")
        return " ".join(parts)


class ConditionResult(Struct, frozen=True):
    """The result of one condition for one hit.

    Attributes:
        condition: the condition.
        grade: how far the paper has the value, 0 to 1; None where nothing is known.
        moved: what it added to the score; 0 for what is required, below 0 where an exclusion leaves doubt.
        quote: the span of the text that decided, or "".
        reason: what in the record decided, or what is unknown, or "".
        exempt: what exempts the paper from the condition (``venue=SemEval``), or "".
    """

    condition: Condition
    grade: float | None
    moved: float = 0.0
    quote: str = ""
    reason: str = ""
    exempt: str = ""

    @property
    def met(self) -> bool:
        """True if the paper satisfies the condition, or is exempt from it."""
        return bool(self.exempt) or (self.grade is not None and self.grade >= MEETS) == (
            self.condition.sign > 0
        )

    def __str__(self) -> str:
        grade = "unknown" if self.grade is None else f"grade {self.grade:.2f}"
        moved = f", {self.moved:+.3f}" if self.moved or not self.condition.filters else ""
        met = f"exempt by {self.exempt}" if self.exempt else "met" if self.met else "not met"
        reason = f" ({self.reason})" if self.reason else ""
        return f"[{self.condition.spelling}] {met}: {grade}{moved}{reason}"

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "condition": self.condition.spelling,
            "met": self.met,
            "grade": None if self.grade is None else round(self.grade, 4),
            "moved": round(self.moved, 4),
            "quote": self.quote,
            "reason": self.reason,
            "exempt": self.exempt,
        }


class Fit(Struct, frozen=True):
    """Measures of the fit of the best hits to a query's words, see :mod:`aspectra.search.evidence.hits`.

    Attributes:
        likeness: mean cosine of the query with the abstracts of the three hits most like it; None without
            vectors of a calibrated encoder.
        words: weight of the query's words in the hit that holds most, over that of its eight rarest, 0 to 1.
        chance: that the library answers the query, where as many queries are answered as not.
        weak: whether it is so low that at most 1 answered question in 20 is below.
    """

    likeness: float | None
    words: float
    chance: float
    weak: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        likeness = None if self.likeness is None else round(self.likeness, 4)
        rounded = {"words": round(self.words, 4), "chance": round(self.chance, 4)}
        return {"weak": self.weak, "likeness": likeness, **rounded}


class Hit(Struct, frozen=True):
    """A paper at its place.

    Attributes:
        id, rank, score: rank counts from 1.
        paper: the paper without sections and references.
        evidence: best quote first.
        probes: per probe of the last search that was run, in its order.
        versions: ids of other versions of the same work.
        conditions: what each condition of the plan found, in its order.
        moves: (stage, place before, place after) for each stage that moved it; None before where it was
            brought by the stage.
    """

    id: str
    rank: int
    score: float
    paper: Paper
    evidence: tuple[Evidence, ...] = ()
    probes: tuple[ProbeScore, ...] = ()
    versions: tuple[str, ...] = ()
    conditions: tuple[ConditionResult, ...] = ()
    moves: tuple[tuple[str, int | None, int], ...] = ()

    @property
    def title(self) -> str:
        """The paper's title."""
        return self.paper.title

    @property
    def retracted(self) -> bool:
        """True if the paper's record or title says that it was retracted."""
        return is_retracted(self.paper)

    def reasons(self) -> list[str]:
        """Why it has its place, a line each: probes, conditions and stages."""
        lines = [*map(str, self.probes), *map(str, self.conditions)]
        for stage, before, after in self.moves:
            came = "joined at" if before is None else f"moved from {before} to"
            lines.append(f"{stage}: {came} {after}")
        return lines

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """JSON form; ``explain`` adds the scores by probe."""
        out: dict[str, Any] = {
            "id": self.id,
            "rank": self.rank,
            "title": self.paper.title,
            "authors": list(self.paper.authors),
            "year": self.paper.year,
            "venue": self.paper.venue,
            "score": round(self.score, 6),
            "evidence": [e.to_dict() for e in self.evidence],
        }
        if self.retracted:
            out["retracted"] = True
        if self.versions:
            out["versions"] = list(self.versions)
        if self.conditions:
            out["conditions"] = [c.to_dict() for c in self.conditions]
        if self.moves:
            out["moves"] = [{"stage": s, "from": before, "to": after} for s, before, after in self.moves]
        if explain:
            out["probes"] = [structs.asdict(probe) for probe in self.probes]
        return out


@dataclass(frozen=True)
class Ranking(Displayed, Sequence[Hit]):
    """Hits of a plan, best first: score descending, then paper id descending.

    Attributes:
        plan: what was run.
        hits: the papers.
        warnings: what the reader should know, each one sentence.
        seconds: how long it took.
        generation: the index generation that answered.
        steps: what each stage of the plan did, and what it cost.
        not_applied: the conditions of which nothing is known of any paper, each with the reason.
        fit: how well the best hits fit the words of the query; None where nothing tells.
        left_by_filters: papers, at most so many where a filter is slow to grade; None where nothing filters.

    >>> ranking = library.search("owls at night")
    >>> ranking.ids[0], ranking[0].paper.title
    ('owl', 'Owls hunt at night')
    """

    plan: Plan
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    generation: str = ""
    steps: tuple[Step, ...] = ()
    not_applied: tuple[tuple[Condition, str], ...] = ()
    fit: Fit | None = None
    left_by_filters: int | None = None

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: Any) -> Any:
        return self.hits[index]

    @property
    def requests(self) -> AspectRequests:
        """The words of the query by their use: applied, not applied, searched for."""
        return AspectRequests.of(self.plan, self.not_applied)

    @property
    def ids(self) -> list[str]:
        """Ids, best first."""
        return [hit.id for hit in self.hits]

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """The one JSON document of ``--json``."""
        out: dict[str, Any] = {
            "plan": {**self.plan.to_dict(), "hash": self.plan.hash},
            "hits": [hit.to_dict(explain=explain) for hit in self.hits],
            "requests": self.requests.to_dict(),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 4),
        }
        if self.fit is not None:
            out["fit"] = self.fit.to_dict()
        if self.left_by_filters is not None:
            out["left_by_filters"] = self.left_by_filters
        if self.steps:
            out["steps"] = [step.to_dict() for step in self.steps]
        if self.simulated:
            out["simulated"] = True
        return out

    @property
    def tally(self) -> Tally:
        """The questions of its stages to a model, and what they cost."""
        return sum((step.tally for step in self.steps), Tally())

    @property
    def simulated(self) -> bool:
        """True if any stage was answered by something other than a language model."""
        return self.tally.simulated

    def to_json(self) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def to_trec(self, query_id: str = "q1", tag: str = "aspectra") -> str:
        """TREC run lines: query, Q0, document, rank, score, tag; scores strictly fall, so tools agree.

        White space in ids is written as ``_``, since the format has no quoting.

        Raises:
            BadInput: two ids differ in nothing but that.
        """
        return trec_lines(query_id, self.ids, [hit.score for hit in self.hits], tag)

    def to_bibtex(self) -> str:
        """BibTeX of the hits, keys kept."""
        return self.export("bibtex")

    def export(self, writer: str) -> str:
        """The hits as ``bibtex``, ``ris``, ``csl-json``, ``csv``, ``jsonl``, ``trec`` (:meth:`to_trec`)."""
        from aspectra.papers.export.protocol import WRITERS

        if writer == "trec":
            return self.to_trec()
        return WRITERS.get(writer).write(hit.paper for hit in self.hits)

    def to_pandas(self) -> pd.DataFrame:
        """One row per hit; needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            from aspectra.base.errors import MissingExtra

            raise MissingExtra("pandas is not installed", hint="pip install aspectra[pandas]") from error
        rows = []
        for hit in self.hits:
            row = hit.to_dict()
            first = hit.evidence[0] if hit.evidence else None
            row["evidence"] = first.quote if first else ""
            row["authors"] = "; ".join(hit.paper.authors)
            rows.append(row)
        names = ["rank", "id", "title", "authors", "year", "venue", "score", "evidence"]
        # A column with a gap would turn 2020 into 2020.0.
        return pd.DataFrame(rows, columns=names).astype({"year": "Int64"})

    def explain(self, index: int = 0) -> str:
        """Why a hit has its place: each probe's score, weight and rank, and the quotes."""
        hit = self.hits[index]
        lines = [f"{hit.rank}. {hit.title or hit.id} [{hit.id}], score {hit.score:.4f}"]
        lines += [f"  {line}" for line in hit.reasons()]
        lines += [f"  “{e.quote}” ({e.field} {e.start}–{e.end})" for e in hit.evidence]
        return "\n".join(lines)
