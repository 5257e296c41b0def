"""``groups`` and ``conditions``: groups of texts, and what a query asks for within one.

``groups``: every text of a group is a query, and the group's other parts are what it asks for. Authorship is
the plain case: a passage asks for passages of the same author, and those of the same book are left out of its
ranking, since they share subject and names (OBLIQ-Bench, section 4 and appendix D, writing). ``sample`` and
``corpus`` choose among queries and documents, of whatever steps.

``conditions``: one question under instructions that a part of its answers meet, and the opposite ones. The
layout is InfoSearch's (section 2.2 and appendix A): all documents of a group answer its question; an
instruction asks for those that meet a condition, its reversal for the others. Here no language model decides:
the language by its lens, the length by counting words, a keyword by the record, any other value by a file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from aspectra.base.errors import UsageError
from aspectra.base.files import digest
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, QueryDraft, Workbench, listed, placed_in, rows_of, step
from aspectra.papers.bibliography import language_name
from aspectra.papers.paper import normalise_title
from aspectra.papers.text.cleaning import clean, folded


class SampleOptions(Value, frozen=True):
    """Options of ``sample``.

    Attributes:
        positives: a query needs so many relevant documents.
        queries: drawn; 0 for all.
    """

    positives: int = 10
    queries: int = 400


@step(
    SampleOptions,
    helps="--option sample.positives=N: how many queries each number allows is said by the step before",
)
def sample(made: Made, bench: Workbench, options: SampleOptions) -> Made:
    """Queries with enough relevant documents, so many of them drawn."""
    relevant = made.relevant()
    able = [draft for draft in made.drafts if len(relevant.get(draft.id, ())) >= options.positives]
    bench.drop("queries with too few relevant documents", len(made.drafts) - len(able))
    names = set(bench.some([draft.id for draft in able], "sample", options.queries, "queries"))
    return made.of_queries(draft for draft in able if draft.id in names)


class CorpusOptions(Value, frozen=True):
    """Options of ``corpus``.

    Attributes:
        distractors: other documents for each relevant one, drawn; 0 keeps judged documents alone, and such a
            set flatters every system.
    """

    distractors: int = 10

    def __post_init__(self) -> None:
        if self.distractors < 0:
            raise UsageError(
                "the number of distractors is not negative", hint="--option corpus.distractors=0"
            )


@step(CorpusOptions)
def corpus(made: Made, bench: Workbench, options: CorpusOptions) -> Made:
    """The judged documents, and so many others for each relevant one."""
    judged = made.judged
    others = [name for name in made.corpus if name not in judged]
    chosen = set(bench.drawn(others, "distractors")[: options.distractors * len(judged)])
    bench.drop("documents that are neither judged nor drawn", len(others) - len(chosen))
    bench.found |= {"judged documents": len(judged), "distractors": len(chosen)}
    ids = tuple(name for name in made.corpus if name in judged or name in chosen)
    there = set(ids)
    excluded = {query: tuple(one for one in held if one in there) for query, held in made.excluded.items()}
    return replace(made, corpus=ids, excluded={query: held for query, held in excluded.items() if held})


class GroupsOptions(Value, frozen=True):
    """Options of ``groups``.

    Attributes:
        file: lines of JSON, ``_id`` (of a paper), ``group`` (an author) and ``part`` (a book); "" takes the
            papers' first authors and their venues.
        queries: drawn of each part; 0 for all its texts.
        parts: a group makes queries where it has so many parts, at least 2.
        groups: how many groups make queries, drawn; 0 for all. The others stay in the corpus.
    """

    file: str = ""
    queries: int = 3
    parts: int = 2
    groups: int = 0

    def __post_init__(self) -> None:
        if self.queries < 0 or self.parts < 2 or self.groups < 0:
            raise UsageError(
                "a group needs two parts, and no number is negative", hint="--option groups.parts=2"
            )


@step(
    GroupsOptions, helps="--option groups.file=FILE, lines of JSON with _id, group and part", files=("file",)
)
def groups(made: Made, bench: Workbench, options: GroupsOptions) -> Made:
    """Texts of a group ask for the group's texts in other parts: the same author, another book."""
    held: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    there = set(made.corpus)
    for name, group, part in _placed(made, bench, options):
        if name in there:
            held[group][part].append(name)
        else:
            bench.drop("texts that are not in the library")
    able = {group: parts for group, parts in held.items() if len(parts) >= options.parts}
    bench.drop("groups of too few parts", len(held) - len(able))
    asked, excluded = [], {}
    for group in bench.some(able, "groups", options.groups, "groups"):
        for part, members in sorted(able[group].items()):
            others = sorted(one for other, ids in able[group].items() if other != part for one in ids)
            for paper in bench.papers(bench.drawn(members, "texts")[: options.queries or None]):
                text = clean(f"{paper.title}\n{paper.abstract}")
                if not text:
                    bench.drop("texts without words")
                    continue
                draft = QueryDraft(f"q-{paper.id}", text, labels={"group": (group,)})
                asked.append((draft, dict.fromkeys(others, 1)))
                excluded[draft.id] = tuple(sorted(members))
    return made.asking(asked, excluded=excluded)


def _placed(made: Made, bench: Workbench, options: GroupsOptions) -> Iterator[tuple[str, str, str]]:
    """Text, group, part."""
    if not options.file:
        for paper in bench.papers(made.corpus):
            if paper.authors and paper.venue:
                yield paper.id, normalise_title(paper.authors[0]), normalise_title(paper.venue)
            else:
                bench.drop("papers without an author or a venue")
        return
    for _, row in rows_of(options.file, "_id", "group", "part"):
        yield str(row["_id"]), str(row["group"]), str(row["part"])


_SURE = 0.8  # a grade of a lens from which a document meets a condition; below the rest it breaks it
_INSTRUCTIONS = {
    "language": ("Only documents written in {}.", "Only documents that are not written in {}."),
    "length": ("Only documents of at most {} words.", "Only documents of more than {} words."),
    "keyword": ("Only papers on {} as well.", "Only papers that are not on {}."),
    "value": ("Only documents of this kind: {}.", "No documents of this kind: {}."),
}


class ConditionsOptions(Value, frozen=True):
    """Options of ``conditions``.

    Attributes:
        dimension: what conditions are about.
        file: lines of JSON, ``_id`` (of a document) and ``group`` (what it is on), with ``value`` for the
            dimension of that name; "" groups papers by the keywords of their records, or takes the values of
            the step ``rewrite``.
        field: metadata field that lists the keywords.
        question: of a group; ``{}`` is its name.
        inside, outside: a condition needs so many documents that meet it, and that break it.
        smallest, largest: documents of a group.
        each: conditions of a group, drawn; 0 for all.
        ratio: longer documents than a bound on words have this many times its words, or count as neither.
    """

    dimension: Literal["language", "length", "keyword", "value"] = "keyword"
    file: str = ""
    field: str = "keywords"
    question: str = "{}"
    inside: int = 3
    outside: int = 5
    smallest: int = 10
    largest: int = 200
    each: int = 0
    ratio: float = 2.0

    def __post_init__(self) -> None:
        if "{}" not in self.question or self.inside < 1 or self.outside < 1 or self.ratio < 1:
            raise UsageError(
                "a question names its group as {}, and a condition parts a group",
                hint="aspectra bench build --help",
            )


class _Condition(NamedTuple):
    """A value, and the documents of the group that meet and that break it."""

    value: str
    told: str
    meet: Sequence[str]
    breaks: Sequence[str]


@step(
    ConditionsOptions,
    helps="--option conditions.file=FILE, lines of JSON with _id and group: documents on one subject",
    files=("file",),
)
def conditions(made: Made, bench: Workbench, options: ConditionsOptions) -> Made:
    """One question under instructions that a part of its documents meet, and under their opposites."""
    groups, values = _groups(made, bench, options)
    sized = {g: ids for g, ids in groups.items() if options.smallest <= len(ids) <= options.largest}
    bench.drop("groups of too few or too many documents", len(groups) - len(sized))
    of_paper = _measured(bench, sized, options, values)
    drafts: list[QueryDraft] = []
    qrels: dict[str, dict[str, dict[str, int]]] = {"original": {}, "instructed": {}, "reversed": {}}
    for group, ids in sorted(sized.items()):
        found = list(_parted(group, ids, options, of_paper))
        able = {
            one.value: one
            for one in found
            if len(one.meet) >= options.inside and len(one.breaks) >= options.outside
        }
        bench.drop("conditions that too few documents meet or break", len(found) - len(able))
        for value in sorted(bench.drawn(able, group)[: options.each or None]):
            one = able[value]
            name = f"{options.dimension}-{digest([group, value])[:10]}"
            meets, breaks = (text.format(one.told) for text in _INSTRUCTIONS[options.dimension])
            labels: dict[str, tuple[str, ...]] = {
                "dimension": (options.dimension,),
                "condition": (value,),
                "group": (group,),
            }
            told = {"instructed": meets, "reversed": breaks}
            text = options.question.replace("{}", group)
            drafts.append(QueryDraft(name, text, instructions=told, labels=labels, source="template"))
            meet, others = dict.fromkeys(sorted(one.meet), 1), dict.fromkeys(sorted(one.breaks), 1)
            qrels["original"][name] = {**meet, **others}
            qrels["instructed"][name], qrels["reversed"][name] = meet, others
    return replace(made, drafts=tuple(drafts), qrels=qrels)


def _groups(
    made: Made, bench: Workbench, options: ConditionsOptions
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Group -> its documents; document -> its value in a file."""
    held: dict[str, list[str]] = defaultdict(list)
    values: dict[str, str] = {}
    if options.dimension == "value" and not options.file and "placed" not in made.facts:
        raise UsageError(
            "values come from a file, or from the step rewrite before this one",
            hint="--option conditions.file=FILE, lines of _id, group, value",
        )
    if options.file or options.dimension == "value":
        placed = placed_in(options.file, made, bench) if options.file else made.facts["placed"]
        for name, group, value in placed:
            held[group].append(name)
            values[name] = value
    else:
        for paper in bench.papers(made.corpus):
            for one in listed(paper, options.field):
                held[one].append(paper.id)
    return held, values


def _measured(
    bench: Workbench,
    groups: Mapping[str, Sequence[str]],
    options: ConditionsOptions,
    values: Mapping[str, str],
) -> dict[str, Mapping[str, float]]:
    """Document -> value -> grade: how surely it has that value."""
    ids = sorted({one for held in groups.values() for one in held})
    if options.dimension == "value":
        return {one: {values[one]: 1.0} for one in ids if values.get(one)}
    if options.dimension == "keyword":
        keywords = {paper.id: listed(paper, options.field) for paper in bench.papers(ids)}
        return {paper: dict.fromkeys(own, 1.0) for paper, own in keywords.items() if own}
    found: dict[str, Mapping[str, float]] = {}
    if options.dimension == "language":
        from aspectra.views.lenses.protocol import LENSES

        lens = LENSES.get("language")
        for paper in bench.papers(ids, full=True):
            (row,) = lens.apply([paper])[0]
            grades = {
                label: float(grade) for label, grade in zip(lens.labels, row, strict=True) if "-" not in label
            }
            if not any(map(math.isnan, grades.values())):
                found[paper.id] = grades
        return found
    for paper in bench.papers(ids, full=True):
        words = len(" ".join((paper.abstract, *(section.text for section in paper.sections))).split())
        found[paper.id] = {"words": float(words)}
    return found


def _parted(
    group: str,
    ids: Sequence[str],
    options: ConditionsOptions,
    measured: Mapping[str, Mapping[str, float]],
) -> Iterator[_Condition]:
    """Conditions that divide the documents of a group."""
    known = [one for one in ids if one in measured]
    if options.dimension == "length":
        yield from _bounds({one: measured[one]["words"] for one in known}, options)
        return
    own = set(folded(group).split())
    for value in sorted({value for one in known for value in measured[one]}):
        if options.dimension == "keyword" and own & set(value.split()):
            continue  # the question would name the condition
        grades = {one: measured[one].get(value, 0.0) for one in known}
        meet = [one for one, grade in grades.items() if grade >= _SURE]
        breaks = [one for one, grade in grades.items() if grade <= round(1 - _SURE, 6)]
        if meet:
            told = language_name(value) if options.dimension == "language" else value
            yield _Condition(value, told, meet, breaks)


def _bounds(words: Mapping[str, float], options: ConditionsOptions) -> Iterator[_Condition]:
    """The bound on words, in tens, that parts the most documents evenly."""
    best: tuple[tuple[int, int], _Condition] | None = None
    for bound in sorted({-(-int(count) // 10) * 10 for count in words.values() if count}):
        meet = [one for one, count in words.items() if 0 < count <= bound]
        breaks = [one for one, count in words.items() if count >= options.ratio * bound]
        worth = min(len(meet), len(breaks)), len(meet) + len(breaks)
        if best is None or worth > best[0]:
            best = worth, _Condition(str(bound), str(bound), meet, breaks)
    if best is not None:
        yield best[1]
