"""``groups``: every text of a group is a query, and the group's other parts are what it asks for.

Authorship is the plain case: a passage asks for passages of the same author, and those of the same book are
left out of its ranking, since they share subject and names (OBLIQ-Bench, section 4 and appendix D, writing).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, QueryDraft, Workbench, rows_of, step
from aspectra.papers.paper import normalise_title
from aspectra.papers.text.cleaning import clean


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
    drafts, gold, excluded = [], {}, {}
    for group in bench.some(able, "groups", options.groups, "groups"):
        for part, members in sorted(able[group].items()):
            others = sorted(one for other, ids in able[group].items() if other != part for one in ids)
            for paper in bench.papers(bench.drawn(members, "texts")[: options.queries or None]):
                text = clean(f"{paper.title}\n{paper.abstract}")
                if not text:
                    bench.drop("texts without words")
                    continue
                name = f"q-{paper.id}"
                drafts.append(QueryDraft(name, text, labels={"group": (group,)}))
                gold[name] = dict.fromkeys(others, 1)
                excluded[name] = tuple(sorted(members))
    return replace(made, drafts=tuple(drafts), qrels={"gold": gold}, excluded=excluded)


def _placed(made: Made, bench: Workbench, options: GroupsOptions) -> Iterator[tuple[str, str, str]]:
    """Text, group, part."""
    if not options.file:
        for paper in bench.papers(made.corpus):
            if paper.authors and paper.venue:
                yield paper.id, normalise_title(paper.authors[0]), normalise_title(paper.venue)
            else:
                bench.drop("papers without an author or a venue")
        return
    for place, row in rows_of(options.file):
        try:
            yield str(row["_id"]), str(row["group"]), str(row["part"])
        except KeyError as error:
            raise BadInput(
                f"{place} has no field {error}", hint="each line needs _id, group and part"
            ) from error
