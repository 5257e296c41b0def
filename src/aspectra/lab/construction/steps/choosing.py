"""``consolidate`` and ``choose``: which groups of what a lens says are one, and which are worth asking for.

Groups that vectors made are coarse, so that a language model says which of their values mean the same, and
parts what is in doubt; of the groups those are chosen whose members lie in different fields, since words tell
such members least (OBLIQ-Bench, appendix D.2 and D.3).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import Value
from aspectra.base.values import replace as with_fields
from aspectra.lab.construction.made import Draft, Made
from aspectra.lab.construction.protocol import Workbench, listed, step
from aspectra.lab.construction.steps.latent import SAID, group_id
from aspectra.lab.construction.steps.write import AskingOptions, Note, own_prompt, replies
from aspectra.papers.text.cleaning import folded
from aspectra.search.stages._rewording import field_of

_CHUNK = 150  # values that a model is shown at a time
_MANY = 3  # fields from which a group is as mixed as can be


class ConsolidateOptions(AskingOptions, frozen=True):
    """Options of ``consolidate``, beside those of :class:`AskingOptions`.

    Attributes:
        least: members of a group.
    """

    least: int = 3


@step(
    "consolidate",
    ConsolidateOptions,
    "A language model says which values in a group mean the same; in doubt they are apart.",
    helps="another model, or --option consolidate.least=2",
    files=("prompt",),
    model=True,
)
def consolidate(made: Made, bench: Workbench, options: ConsolidateOptions) -> Made:
    """Each group of ``annotate`` parted by what its values mean; a value without company stays a group.

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
    notes = [Note(key, json.dumps(values, ensure_ascii=False)) for key, (_, values) in chunks.items()]

    def read(note: Note, reply: str) -> dict[str, str] | None:
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
    drafts, gold, facts, parted = [], {}, {}, 0
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
                new = Draft(group_id(members), names[key], context="\n".join([*sorted(own), names[key]]))
                drafts.append(new)
                gold[new.id], facts[new.id] = dict.fromkeys(members, 1), own
            else:
                bench.drop("groups of too few papers")
    bench.found["groups more by parting"] = parted
    return replace(made, drafts=tuple(drafts), qrels={"gold": gold}, facts={**made.facts, SAID: facts})


class ChooseOptions(Value, frozen=True):
    """Options of ``choose``.

    Attributes:
        field: metadata field that says in which field of study a paper lies; best one value a paper.
        queries: at most so many; 0 for all that are mixed.
        fewest: fields among the members of a group, below which it is left.
    """

    field: str = "keywords"
    queries: int = 0
    fewest: int = 2


@step(
    "choose",
    ChooseOptions,
    "The groups whose members lie in different fields, those first that bring new fields.",
    helps="--option choose.field=NAME: another metadata field, or --option choose.fewest=1",
)
def choose(made: Made, bench: Workbench, options: ChooseOptions) -> Made:
    """Queries by the diversity of what is relevant to them: three fields or more before two, new ones first.

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
    chosen: list[Draft] = []
    covered: set[str] = set()
    while left and not 0 < options.queries <= len(chosen):
        best = max(
            left, key=lambda name: (min(_MANY, len(fields[name])), len(fields[name] - covered), -order[name])
        )
        covered |= fields[best]
        mixed = str(min(_MANY, len(fields[best]))) + ("+" if len(fields[best]) >= _MANY else "")
        one = left.pop(best)
        chosen.append(with_fields(one, labels={**one.labels, "fields": (mixed,)}))
    bench.drop("queries not chosen", len(left))
    bench.found |= {"metadata field": options.field, "fields covered": len(covered)}
    return replace(made.of_queries(chosen), drafts=tuple(chosen))
