"""Kind of a paper: survey, method, data set, randomised trial, case report and so on.

Titles announce it in set words and abstracts in set phrases; the record may state it (a publication type, a
track, a comment), and then it decides. Most papers are of several kinds, and grades are independent. But a
randomised trial is a trial too, and a paper that reviews or announces trials is not a trial itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import Cue, CueLens, CueTable, cue, strongest
from aspectra.views.lenses._lead import Doubles, LeadBatch, LeadText
from aspectra.views.lenses.protocol import LENSES, load_data, logistic, logistics
from aspectra.views.view import Floats

# Kinds that a paper's record states: a publication type, a track, the author's remark.

_LONGEST = 200  # characters of a value that is a type; longer ones are texts


@cache
def _tables() -> tuple[Mapping[str, Any], dict[str, list[str]], list[tuple[str, str]], dict[str, list[str]]]:
    """(fields, type -> kinds, beginnings of types with their kind, words of remarks -> kinds)."""
    data = load_data("kind_records")
    whole: dict[str, list[str]] = {}
    begins: list[tuple[str, str]] = []
    for kind, values in data["types"].items():
        for value in values:
            if value.endswith("*"):
                begins.append((value[:-1], kind))
            else:
                whole.setdefault(value, []).append(kind)
    remarks: dict[str, list[str]] = {}
    for kind, values in data["remarks"].items():
        for value in values:
            remarks.setdefault(value, []).append(kind)
    return data["fields"], whole, begins, remarks


def recorded_kinds(paper: Paper) -> dict[str, str]:
    """Kind -> the words of the record that state it; empty for most papers.

    >>> recorded_kinds(Paper("x", metadata={"nbib": [["PT", "Journal Article"], ["PT", "Case Reports"]]}))
    {'case report': 'Case Reports'}
    """
    if not paper.metadata:
        return {}
    fields, whole, begins, remarks = _tables()
    found: dict[str, str] = {}
    for stated in _types(paper.metadata, fields):
        for part in (stated, *stated.split(";")):
            value = part.strip().casefold()
            kinds = [*whole.get(value, ()), *(kind for start, kind in begins if value.startswith(start))]
            for kind in kinds:
                found.setdefault(kind, part.strip())
    for name in fields["remarks"]:
        if isinstance(remark := paper.metadata.get(name), str):
            low = remark.casefold()
            for words, kinds in remarks.items():
                if words in low:
                    for kind in kinds:
                        found.setdefault(kind, remark[:_LONGEST].strip())
    return found


def _types(metadata: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[str]:
    """The values of fields that hold a type of publication."""
    for name, value in metadata.items():
        if name.casefold() in fields["names"]:
            yield from _strings(value)
    tagged = metadata.get("nbib")
    if isinstance(tagged, list):
        yield from _tagged(tagged, fields["nbib"])
    ris = metadata.get("ris")
    if isinstance(ris, dict) and isinstance(ris.get("fields"), list):
        yield from _tagged(ris["fields"], fields["ris"])


def _tagged(rows: list[Any], tags: list[str]) -> Iterator[str]:
    for row in rows:
        if isinstance(row, list) and len(row) == 2 and row[0] in tags:
            yield from _strings(row[1])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


# How much a row of the data file counts: a title, or one phrase said of the paper, is just enough.
_STRENGTHS: dict[str, dict[str, Any]] = {
    "title": {"weight": 4.2, "most": 1, "where": "title"},
    "title_hints": {"weight": 1.2, "most": 1, "where": "title"},
    "says": {"weight": 3.8, "most": 2, "own": True},
    "does": {"weight": 3.8, "most": 2},
    "half": {"weight": 2.2, "most": 2, "own": True},
    "soft": {"weight": 3.0, "most": 1, "own": True},
    "hints": {"weight": 1.2, "most": 2},
    "many": {"weight": 0.7, "most": 6},
    "against": {"weight": -2.0, "most": 3},
    "refutes": {"weight": -8.0, "most": 1},
    "title_refutes": {"weight": -8.0, "most": 1, "where": "title"},
}
_BIAS = -3.2
_STATED = 4.0  # log-odds of what the record states
_SAID = 3.5  # the most that a text makes of them
_SOFTEST = -0.2  # the most that soft cues make of them: a grade of 0.45, which orders and never filters

RECORDED = 0.98  # the grade from which a record states the kind

# Kind -> the wider kinds that it is one of.
IMPLIED: Mapping[str, tuple[str, ...]] = {
    "systematic review": ("survey",),
    "scoping review": ("systematic review", "survey"),
    "meta-analysis": ("systematic review", "survey"),
    "rct": ("trial", "experiment", "empirical"),
    **dict.fromkeys(("trial", "field experiment", "in vivo", "in vitro"), ("experiment", "empirical")),
    "experiment": ("empirical",),
    "cohort": ("longitudinal", "empirical"),
    "mixed methods": ("qualitative", "empirical"),
    **dict.fromkeys(
        (
            *("evaluation", "case-control", "cross-sectional", "longitudinal", "qualitative", "case study"),
            *("case report", "case series", "field study", "replication"),
        ),
        ("empirical",),
    ),
}
# What single studies do, and reviews and protocols only speak of.
_DESIGNS = (
    *("rct", "trial", "cohort", "case-control", "cross-sectional", "longitudinal", "qualitative", "in vivo"),
    *("in vitro", "mixed methods", "case report", "case series", "experiment", "field experiment"),
    *("field study", "empirical", "simulation", "method", "evaluation", "dataset", "software"),
    "negative result",
)
# Designs of studies of people or animals.
_OF_LIVES = (
    *("rct", "trial", "cohort", "case-control", "cross-sectional", "longitudinal", "case report"),
    "case series",
)
_NOBODY = 3.0  # log-odds against them in a text that names neither
# Announced by protocols, and not yet there.
_REVIEWS = ("survey", "systematic review", "scoping review", "meta-analysis")
# What speaks of the studies of others.
_SPOKEN_OF = ("systematic review", "scoping review", "meta-analysis", "protocol")
# Works that are not original research.
_SECONDARY = (*("survey", "position", "tutorial", "book", "guideline", "editorial", "letter", "protocol"),)
_RESEARCH = (
    *("method", "theory", "empirical", "experiment", "dataset", "software", "evaluation", "simulation"),
    *("trial", "cohort", "case report", "case study", "thesis", "replication"),
)
# Kinds that only a record states. What is called an application differs too much for cues: of those that cues
# found, a quarter were right, so that it is unknown where no record states it.
_STATED_ONLY = ("patent", "grey literature", "news", "blog", "application")

KINDS: tuple[str, ...] = (
    *("survey", "systematic review", "scoping review", "meta-analysis", "method", "dataset", "theory"),
    *("evaluation", "position", "thesis", "book", "tutorial", "software", "replication", "empirical"),
    *("primary", "negative result", "case study", "case report", "case series", "rct"),
    *("trial", "cohort", "case-control", "cross-sectional", "longitudinal", "qualitative", "quantitative"),
    *("mixed methods", "experiment", "field experiment", "field study", "simulation", "in vivo", "in vitro"),
    *("protocol", "guideline", "editorial", "letter", *_STATED_ONLY),
)


@cache
def _lives() -> frozenset[str]:
    """Words for people and animals."""
    words = load_data("sample")
    return frozenset(f"{words['people']} {words['animals']} {words['one']}".split())


def _softly(kind: str) -> str:
    """The name of a kind's soft cues in the table."""
    return f"{kind}, softly"


def _cues(rows: Mapping[str, list[str]], soft: bool) -> list[Cue]:
    """The cues of one kind, the soft ones or the others, see the head of the data file."""
    out = []
    for name, values in rows.items():
        kind_of_row, _, form = name.partition("_")
        if (kind_of_row == "soft") != soft:
            continue
        strength = _STRENGTHS[name if name in _STRENGTHS else kind_of_row]
        if form == "pattern":
            pattern = "|".join(f"(?:{value})" for value in values)
            out.append(cue(pattern=pattern, needs=rows.get(f"{kind_of_row}_needs", ()), **strength))
        elif form != "needs":
            out.append(cue(phrases=values, **strength))
    return out


def stated_as(kind: str, paper: Paper) -> str:
    """The words of the record that state a kind, or one that implies it; "" where it does not."""
    stated = recorded_kinds(paper)
    found = (words for each, words in stated.items() if each == kind or kind in IMPLIED.get(each, ()))
    return next(found, "")


class KindLens(CueLens):
    """Grades of the kinds of paper, each 0 to 1 on a logistic scale.

    At 0.5, roughly: a set word in the title or one phrase about the paper, with nothing against it. A kind
    that the record states has 0.98, one that the text states at most 0.97, and one that may describe only a
    part of the paper, or another paper, at most 0.45. A text that is not a paper has low grades everywhere. A
    paper without text has NaN for kinds that its record does not state, and ``application`` has NaN unless it
    is stated.
    """

    name = "kind"
    version = 4
    description = "what kind of paper it is: survey, method, dataset, trial, case report and others"
    reads: tuple[str, ...] = ("text", "metadata")
    labels = KINDS

    @cached_property
    def table(self) -> CueTable:
        """See :class:`CueLens`."""
        rows = load_data(self.name)
        hard = {kind: _cues(rows[kind], soft=False) for kind in rows}
        soft = {_softly(kind): _cues(rows[kind], soft=True) for kind in rows}
        return CueTable(hard | soft)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """See :class:`CueLens`."""
        rows = super().apply(papers)
        at = KINDS.index("application")
        for paper, row in zip(papers, rows, strict=True):
            if np.isnan(row[0, 0]):  # no text: the record alone
                for kind in recorded_kinds(paper):
                    for each in (kind, *IMPLIED.get(kind, ())):
                        row[0, KINDS.index(each)] = logistic(_STATED)
            if row[0, at] < RECORDED:  # no record states it
                row[0, at] = np.nan
        return rows

    def odds(self, batch: LeadBatch, added: Mapping[str, Doubles]) -> Sequence[Doubles]:
        """See :class:`CueLens`."""
        count = len(batch.papers)
        stated = {kind: np.zeros(count, np.bool_) for kind in KINDS}
        for row, paper in enumerate(batch.papers):
            for kind in recorded_kinds(paper):
                stated[kind][row] = True
        odds: dict[str, Doubles] = {}
        for kind in KINDS:
            odds[kind] = np.full(count, _BIAS)
            if kind in added:
                plain = _BIAS + added[kind]
                odds[kind] = np.maximum(plain, np.minimum(plain + added[_softly(kind)], _SOFTEST))
            odds[kind][stated[kind]] = _STATED
        announced = 12.0 * logistics(2.0 * odds["protocol"] - 1.0)
        spoken_of = np.maximum.reduce([odds[kind] for kind in _SPOKEN_OF])
        for kind in _REVIEWS:
            odds[kind] = np.where(stated[kind], odds[kind], odds[kind] - announced)
        of_reviews = np.maximum(6.0 * logistics(spoken_of), 4.0 * logistics(odds["survey"]))
        subdued = np.maximum(of_reviews, announced)
        of_nobody = subdued + np.where(batch.tokens.any(_lives()), 0.0, _NOBODY)
        for kind in _DESIGNS:
            less = of_nobody if kind in _OF_LIVES else subdued
            odds[kind] = np.where(stated[kind], odds[kind], odds[kind] - less)
        sure = {kind: of.copy() for kind, of in stated.items()}
        for kind, wider in IMPLIED.items():
            for each in wider:
                odds[each] = np.maximum(odds[each], odds[kind])
                sure[each] |= stated[kind]
        # Research of none of these kinds, with at least a hint that it is research.
        hint = np.maximum.reduce([odds[kind] for kind in _RESEARCH]) - _BIAS - 0.5
        odds["primary"] = np.minimum(-np.maximum.reduce([odds[kind] for kind in _SECONDARY]), hint)
        odds["quantitative"] = odds["empirical"]
        return [np.where(sure[kind], odds[kind], np.minimum(odds[kind], _SAID)) for kind in KINDS]

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The strongest cue of the kind, else of one that implies it."""
        cues = self.table.cues
        found = strongest(cues.get(label, ()), lead) or strongest(cues.get(_softly(label), ()), lead)
        narrower = (kind for kind, wider in IMPLIED.items() if label in wider)
        return found or next((place for kind in narrower if (place := self.place(lead, kind))), None)


LENSES.register("kind")(KindLens())
