"""``labels``: papers that share a kind of label, beside papers that share another kind only.

A query is a paper and an aspect. Relevant are papers with one of its labels of that aspect (grade 1), or with
two of them or the very same ones (grade 2). Contrast papers (grade 0) share a label of another aspect, and
have labels of this one, none of them the same or akin: who compares whole papers finds them too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aspectra.base.errors import BadInput
from aspectra.base.values import Value
from aspectra.lab.construction.made import Draft, Made
from aspectra.lab.construction.protocol import Workbench, listed, rows_of, step
from aspectra.papers.text.cleaning import folded

_WORD = re.compile(r"[^\W_]+")
_ASPECTS = ("background", "method", "result")

Labels = dict[str, dict[str, float]]  # paper -> label -> weight


class LabelsOptions(Value, frozen=True):
    """Options of ``labels``.

    Attributes:
        file: lines of JSON: ``_id``, and for each aspect an object of label -> weight; "" takes ``fields``.
        fields: aspect -> metadata field that lists its labels, as ``{background = "keywords"}``.
        weights: aspect -> the least weight of a label that makes positives; 1 where none is given.
        fewest, share: a label on fewer papers, or on a larger share of those with labels, makes no query.
        positives: a query needs so many.
        aspects: a paper needs queries in so many aspects to be asked with.
        contrast: kept of a query, drawn.
        families: lines of JSON, ``label`` and ``family``: labels of one family are akin; "" for none.
    """

    file: str = ""
    fields: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    weights: dict[str, float] = {}  # noqa: RUF012 - msgspec copies it for each value
    fewest: int = 4
    share: float = 0.06
    positives: int = 3
    aspects: int = 2
    contrast: int = 60
    families: str = ""


@step(
    "labels",
    LabelsOptions,
    "Papers alike in one kind of label, beside papers alike in another kind only.",
    helps="--option labels.file=FILE, lines of JSON with _id and for each aspect label -> weight",
    files=("file", "families"),
)
def labels(made: Made, bench: Workbench, options: LabelsOptions) -> Made:
    """Queries from kinds of labels."""
    every = _labels(made, bench, options)
    kin = _Kin(options.families)
    most = options.share * len(made.corpus)
    able: dict[str, dict[str, frozenset[str]]] = {}  # aspect -> paper -> labels that make positives
    for aspect, held in every.items():
        least = options.weights.get(aspect, 1.0)
        heavy = {paper: {one for one, w in own.items() if w >= least} for paper, own in held.items()}
        counts = Counter(one for own in heavy.values() for one in own)
        usable = {one for one, times in counts.items() if options.fewest <= times <= most}
        bench.drop("labels on too few or too many papers", len(counts) - len(usable))
        able[aspect] = {p: frozenset(own & usable) for p, own in heavy.items() if own & usable}
    with_label = {aspect: _turned(held) for aspect, held in able.items()}
    alike: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)  # seed -> aspect -> document -> grade
    for aspect, usable_of in able.items():
        for seed, mine in usable_of.items():
            shared = Counter(p for one in mine for p in with_label[aspect][one] if p != seed)
            if len(shared) >= options.positives:
                alike[seed][aspect] = {
                    p: 2 if times > 1 or every[aspect][seed].keys() == every[aspect][p].keys() else 1
                    for p, times in shared.items()
                }
            else:
                bench.drop("papers with too few alike")
    drafts, gold = [], {}
    for seed in sorted(alike):
        if len(alike[seed]) < options.aspects:
            bench.drop("papers with too few aspects")
            continue
        for aspect, found in sorted(alike[seed].items()):
            name, asked = f"{seed}#{aspect}", able[aspect][seed]
            others = {p for other, docs in alike[seed].items() if other != aspect for p in docs}
            apart = [
                p
                for p in others - found.keys()
                if p != seed and (theirs := every[aspect].get(p)) and not kin.akin(asked, theirs)
            ]
            apart = sorted(bench.drawn(apart, name)[: options.contrast])
            drafts.append(Draft(name, seed=seed, aspect=aspect, labels={"label": tuple(sorted(asked))}))
            gold[name] = {**dict(sorted(found.items())), **dict.fromkeys(apart, 0)}
    named = _naming(bench, {one.id: one.labels["label"] for one in drafts}, gold)
    bench.drop("contrast papers that name the label", sum(map(len, named.values())))
    gold = {q: {d: g for d, g in held.items() if d not in named.get(q, ())} for q, held in gold.items()}
    excluded = {draft.id: (draft.seed,) for draft in drafts}
    return replace(made, drafts=tuple(drafts), qrels={"gold": gold}, excluded=excluded)


def _labels(made: Made, bench: Workbench, options: LabelsOptions) -> dict[str, Labels]:
    """Aspect -> paper -> label -> weight, of papers in the corpus."""
    found: dict[str, Labels] = {}
    there = set(made.corpus)
    if options.file:
        for place, row in rows_of(options.file):
            name = str(row.get("_id", ""))
            if name not in there:
                bench.drop("papers with labels that are not in the library")
                continue
            for aspect in _ASPECTS:
                own = row.get(aspect) or {}
                if not isinstance(own, dict):
                    raise BadInput(f"{place} {aspect} is no object of label and weight")
                if own:
                    found.setdefault(aspect, {})[name] = {str(one): float(w) for one, w in own.items()}
        return found
    for paper in bench.papers(made.corpus):
        for aspect, field in options.fields.items():
            if words := listed(paper, field):
                found.setdefault(aspect, {})[paper.id] = dict.fromkeys(words, 1.0)
    return found


def _turned(held: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = defaultdict(list)
    for paper, own in held.items():
        for one in own:
            out[one].append(paper)
    return out


class _Kin:
    """Which labels are akin: a common word of four letters or more, or one family."""

    def __init__(self, file: str) -> None:
        self._families: dict[str, str] = {}
        if file:
            self._families = {str(row["label"]): str(row["family"]) for _, row in rows_of(file)}
        self._marks: dict[str, frozenset[str]] = {}

    def _of(self, label: str) -> frozenset[str]:
        if label not in self._marks:
            words = {one for one in _WORD.findall(folded(label)) if len(one) > 3 or one.isdigit()}
            family = self._families.get(label)
            own = {folded(label), *words} | ({f"family {family}"} if family else set())
            self._marks[label] = frozenset(own)
        return self._marks[label]

    def akin(self, some: Iterable[str], others: Iterable[str]) -> bool:
        """Whether a label of the one side is the same as, or akin to, one of the other."""
        marks = frozenset[str]().union(*map(self._of, some))
        return any(marks & self._of(other) for other in others)


def _naming(
    bench: Workbench, asked: Mapping[str, Sequence[str]], gold: Mapping[str, Mapping[str, int]]
) -> dict[str, set[str]]:
    """Query -> contrast papers whose title or abstract names one of its labels."""
    wanted: dict[str, list[str]] = defaultdict(list)  # document -> queries
    for query, grades in gold.items():
        for document, grade in grades.items():
            if grade == 0:
                wanted[document].append(query)
    found: dict[str, set[str]] = defaultdict(set)
    plain = {query: [folded(one) for one in own] for query, own in asked.items()}
    for paper in bench.papers(sorted(wanted)):
        text = folded(f"{paper.title} {paper.abstract}")
        for query in wanted[paper.id]:
            if any(one in text for one in plain[query]):
                found[query].add(paper.id)
    return found
