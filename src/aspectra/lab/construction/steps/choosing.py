"""``consolidate``, ``choose``, ``labels``: which groups are one, worth asking for, or alike in a label.

Groups that vectors made are coarse, so that a language model says which of their values mean the same, and
parts what is in doubt; of the groups those are chosen whose members lie in different fields, since words tell
such members least (OBLIQ-Bench, appendix D.2 and D.3).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, QueryDraft, Workbench, listed, rows_of, step
from aspectra.lab.construction.steps.latent import SAID, group_id
from aspectra.lab.construction.steps.write import AskingOptions, WriterNote, own_prompt, replies
from aspectra.papers.text.cleaning import folded
from aspectra.search.stages.rewrite import field_of

_CHUNK = 150  # values that a model is shown at a time
_MANY = 3  # fields from which a group is as mixed as can be


class ConsolidateOptions(AskingOptions, frozen=True):
    """Options of ``consolidate``, beside those of :class:`AskingOptions`.

    Attributes:
        least: members of a group.
    """

    least: int = 3


@step(
    ConsolidateOptions, helps="another model, or --option consolidate.least=2", files=("prompt",), model=True
)
def consolidate(made: Made, bench: Workbench, options: ConsolidateOptions) -> Made:
    """A language model says which values in a group mean the same; in doubt they are apart.

    Each group of ``annotate`` is parted by what its values mean; a value without company stays a group.

    Raises:
        UsageError: no step brought values together, or as
            :func:`~aspectra.lab.construction.steps.write.replies`.
        ModelError: the model cannot be asked any more; replies so far are in the journal.
    """
    said: Mapping[str, Mapping[str, list[str]]] = made.facts.get(SAID, {})
    if not said:
        raise UsageError("there are no values of a lens to part", hint="the step annotate before consolidate")
    prompt = own_prompt("consolidate", options.prompt)
    chunks: dict[str, tuple[str, list[str]]] = {}  # key of a note -> group, values
    for draft in made.drafts:
        values = sorted(said[draft.id])
        for at in range(0, len(values) if len(values) > 1 else 0, _CHUNK):
            chunks[f"{draft.id} {at}"] = draft.id, values[at : at + _CHUNK]
    notes = [WriterNote(key, json.dumps(values, ensure_ascii=False)) for key, (_, values) in chunks.items()]

    def read(note: WriterNote, reply: str) -> dict[str, str] | None:
        told: Any = field_of(reply, "labels")
        if not isinstance(told, Mapping):
            return None
        plain = {folded(str(value)): str(name).strip() for value, name in told.items()}
        values = chunks[note.key][1]
        return (
            {one: plain[folded(one)] for one in values} if all(plain.get(folded(v)) for v in values) else None
        )

    found, _ = replies(bench, prompt, notes, read, options, of="groups")
    named: dict[str, dict[str, str]] = defaultdict(dict)  # group -> value -> what it means
    lost = set()
    for (group, _), mapping in zip(chunks.values(), found, strict=True):
        named[group] |= mapping or {}
        lost |= {group} if mapping is None else set()
    asked, facts, parted = [], {}, 0
    for draft in made.drafts:
        if draft.id in lost:
            continue
        parts: dict[str, dict[str, list[str]]] = defaultdict(dict)
        names: dict[str, str] = {}
        for value, papers in said[draft.id].items():
            name = named[draft.id].get(value, value)
            parts[folded(name)][value] = papers
            names.setdefault(folded(name), name)
        parted += len(parts) - 1
        for key, own in sorted(parts.items()):
            members = sorted(paper for papers in own.values() for paper in papers)
            if len(members) >= options.least:
                new = QueryDraft(group_id(members), names[key], context="\n".join([*sorted(own), names[key]]))
                asked.append((new, dict.fromkeys(members, 1)))
                facts[new.id] = own
            else:
                bench.drop("groups of too few papers")
    bench.found["groups more by parting"] = parted
    return made.asking(asked, facts={**made.facts, SAID: facts})


class ChooseOptions(Value, frozen=True):
    """Options of ``choose``.

    Attributes:
        field: metadata field that says in which field of study a paper lies; best one value per paper.
        queries: at most so many; 0 for all that are mixed.
        fewest: fields among the members of a group, below which it is left.
    """

    field: str = "keywords"
    queries: int = 0
    fewest: int = 2


@step(ChooseOptions, helps="--option choose.field=NAME: another metadata field, or --option choose.fewest=1")
def choose(made: Made, bench: Workbench, options: ChooseOptions) -> Made:
    """The groups whose members lie in different fields, those first that bring new fields.

    Three fields or more come before two; of as many, those with the most new fields come first.

    Raises:
        BadInput: no relevant paper has the metadata field.
    """
    relevant = made.relevant()
    of_paper = {one.id: listed(one, options.field) for one in bench.papers(sorted(made.judged))}
    if not any(of_paper.values()):
        raise BadInput(
            f"no relevant paper has the metadata field {options.field!r}", hint="--option choose.field=NAME"
        )
    fields = {
        one.id: frozenset[str]().union(*(of_paper.get(doc, frozenset()) for doc in relevant.get(one.id, ())))
        for one in made.drafts
    }
    left = {one.id: one for one in made.drafts if len(fields[one.id]) >= options.fewest}
    bench.drop(f"queries of fewer than {options.fewest} fields", len(made.drafts) - len(left))
    order = {name: place for place, name in enumerate(bench.drawn(left, "choose"))}
    chosen: list[QueryDraft] = []
    covered: set[str] = set()
    while left and not 0 < options.queries <= len(chosen):
        best = max(
            left, key=lambda name: (min(_MANY, len(fields[name])), len(fields[name] - covered), -order[name])
        )
        covered |= fields[best]
        mixed = str(min(_MANY, len(fields[best]))) + ("+" if len(fields[best]) >= _MANY else "")
        one = left.pop(best)
        chosen.append(replace(one, labels={**one.labels, "fields": (mixed,)}))
    bench.drop("queries not chosen", len(left))
    bench.found |= {"metadata field": options.field, "fields covered": len(covered)}
    return made.of_queries(chosen)


# ``labels``: papers that share a kind of label, beside papers that share another kind only.
#
# A query is a paper and an aspect. Relevant are papers with one of its labels of that aspect (grade 1), or
# with two of them or the very same ones (grade 2). Contrast papers (grade 0) share a label of another
# aspect, and have labels of this one, none of them the same or akin: who compares whole papers finds them
# too.

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
    LabelsOptions,
    helps="--option labels.file=FILE, lines of JSON with _id and for each aspect label -> weight",
    files=("file", "families"),
)
def labels(made: Made, bench: Workbench, options: LabelsOptions) -> Made:
    """Papers alike in one kind of label, beside papers alike in another kind only."""
    every = _labels(made, bench, options)
    marks = _marks_by(options.families)
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
            kin = frozenset[str]().union(*map(marks, asked))
            others = {p for other, docs in alike[seed].items() if other != aspect for p in docs}
            apart = [
                p
                for p in others - found.keys()
                if p != seed
                and (theirs := every[aspect].get(p))
                and not any(map(kin.intersection, map(marks, theirs)))
            ]
            apart = sorted(bench.drawn(apart, name)[: options.contrast])
            drafts.append(QueryDraft(name, seed=seed, aspect=aspect, labels={"label": tuple(sorted(asked))}))
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


def _marks_by(file: str) -> Callable[[str], frozenset[str]]:
    """Label -> its marks: itself, its words of four letters or more, and its family in a file.

    Labels that share a mark are akin.
    """
    families = {str(row["label"]): str(row["family"]) for _, row in rows_of(file)} if file else {}

    @cache
    def marks(label: str) -> frozenset[str]:
        words = {one for one in _WORD.findall(folded(label)) if len(one) > 3 or one.isdigit()}
        family = {f"family {families[label]}"} if families.get(label) else set[str]()
        return frozenset({folded(label), *words} | family)

    return marks


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
