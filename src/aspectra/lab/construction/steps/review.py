"""What systems and people make of a set, of which it knows nothing itself.

``pool`` keeps documents that systems find and nobody has judged, for a judge or for people to grade. A set
whose judgements are those of its construction counts as irrelevant what nobody looked at; the first documents
of several systems are looked at too (OBLIQ-Bench, section 4: pool and expand). Who is scored on a set to
which it gave documents has an advantage over who did not: each system is scored with and without what it
alone found. ``favour`` says which systems place texts that a language model wrote above others.

``review``, ``grade``, ``screen``, ``entries``: people grade queries or documents, or write questions. They do
so in a sheet, which shows a query and titles of documents that are relevant to it, or a query and one
document, in an order by chance, and says neither where they come from nor what any system found. An id stands
for all that its row shows, so that no grade counts for what was changed later.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest, make_folder, write_durably
from aspectra.base.values import Value, replace
from aspectra.lab.construction.export import as_texts
from aspectra.lab.construction.protocol import Made, MadeText, QueryDraft, Workbench, step
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.gap.verification import Pooling, recorded_systems
from aspectra.lab.runs.files import Array
from aspectra.lab.runs.rows import read_rows, text_of
from aspectra.lab.runs.run import Run
from aspectra.lab.statistics.significance import bootstrap_interval, cohen_kappa, krippendorff_alpha
from aspectra.papers.export.csv import safe_cell
from aspectra.papers.text.cleaning import one_line

_FACT = "pool"


class FavourOptions(Value, frozen=True):
    """Options of ``favour``.

    Attributes:
        runs: directories of experiments (``aspectra bench run``) on this set as it is without the step, and
            run files; none leaves the step out.
        benchmark: the set's name in the experiments; "" where each has one alone.
    """

    runs: tuple[str, ...] = ()
    benchmark: str = ""


class PoolOptions(FavourOptions, frozen=True):
    """Options of ``pool``, beside those of :class:`FavourOptions`.

    Attributes:
        depth: first documents of each system.
    """

    depth: int = 10

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError("a pool has documents", hint="--option pool.depth=10")


def files_of(runs: Sequence[str]) -> list[Path]:
    """The files that rankings are read from."""
    return [Path(one) / "records.jsonl" if Path(one).is_dir() else Path(one) for one in runs]


def _runs(folder: Path, options: FavourOptions) -> list[Path]:
    return files_of(options.runs)


@step(PoolOptions, sheets=_runs)
def pool(made: Made, bench: Workbench, options: PoolOptions) -> Made:
    """The first documents of several systems, for a judge or people.

    They are the fact ``pool``.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    if not options.runs:
        bench.found["pool"] = "*not pooled*"
        return made
    found = first_found(made, options.runs, options.benchmark, options.depth)
    made = replace(made, facts={**made.facts, _FACT: found})
    bench.found |= {"systems": ", ".join(sorted(found)), "depth": options.depth}
    bench.found["documents without a grade"] = sum(map(len, unjudged(made).values()))
    return made


def first_found(
    made: Made, runs: Sequence[str], benchmark: str, depth: int
) -> dict[str, dict[str, list[str]]]:
    """System -> query -> the first documents that it finds, but for those that the query leaves out.

    Args:
        made: the set.
        runs: directories of experiments and run files.
        benchmark: as in :class:`PoolOptions`.
        depth: documents of each system.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    queries = {draft.id: draft for draft in made.drafts}
    there, found = set(made.corpus), {}
    for system in recorded_systems(benchmark, queries, Pooling(runs=tuple(runs))):
        run, firsts = Run(system.run), {}
        for query, draft in queries.items():
            hidden = {draft.seed, *made.excluded.get(query, ())}
            ranked = [doc for doc in run.ranking(query) if doc not in hidden]
            firsts[query] = [doc for doc in ranked if doc in there][:depth]
        found[system.name] = firsts
    return found


def unjudged(made: Made) -> dict[str, list[str]]:
    """Query -> documents of its pool that have no grade."""
    systems: Mapping[str, Any] = made.facts.get(_FACT, {})
    gold = made.qrels.get("gold", {})
    return {
        one.id: sorted(
            {doc for firsts in systems.values() for doc in firsts[one.id]}.difference(gold.get(one.id, ()))
        )
        for one in made.drafts
    }


def left_out(made: Made, grades: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Each system's nDCG at the depth of the pools, with and without the relevant documents it alone found.

    Documents of the construction itself (``gold`` judgements) are nobody's. Source: Zobel, How Reliable Are
    the Results of Large-Scale Information Retrieval Experiments?, 1998.

    Args:
        made: a set whose step ``pool`` is done.
        grades: query -> document -> grade, of the pools too.
    """
    systems: Mapping[str, Any] = made.facts[_FACT]
    gold = made.qrels["gold"]
    depth = max((len(ids) for firsts in systems.values() for ids in firsts.values()), default=1)
    told = {}
    for name, firsts in sorted(systems.items()):
        others = {
            query: {doc for other, held in systems.items() if other != name for doc in held[query]}
            for query in grades
        }
        kept = {
            query: {doc: grade for doc, grade in own.items() if doc in gold[query] or doc in others[query]}
            for query, own in grades.items()
        }
        run = {query: {doc: -float(place) for place, doc in enumerate(ids)} for query, ids in firsts.items()}
        measure = f"nDCG@{depth}"
        full, alone = (evaluate([measure], dict(one), run)[measure].mean or 0.0 for one in (grades, kept))
        lost = sum(own[doc] > 0 for query, own in grades.items() for doc in own.keys() - kept[query].keys())
        told[f"{name}, {measure}"] = (
            f"{100 * full:.1f}, {100 * alone:.1f} without {lost:,} that it alone found"
        )
    return told


@step(
    FavourOptions,
    about="Whether a system, such as a judge, favours texts that a language model wrote.",
    sheets=_runs,
)
def favour(made: Made, bench: Workbench, options: FavourOptions) -> Made:
    """Report how often each system places a written text above another of the same grade; change nothing.

    Kinds of text differ by who wrote them, so that a share says little by itself; what differs between two
    systems over the same pairs is theirs.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    written = {one.id: one.origin for one in made.texts.values() if one.written}
    if not options.runs or not written:
        bench.found["favour"] = "*not looked at*" if written else "no language model wrote a document"
        return made
    pairs = {
        query: [(a, b) for a in own.keys() & written for b in own.keys() - written if own[a] == own[b]]
        for query, own in made.plainly.items()
    }
    shares: dict[str, dict[str, float]] = {}
    for name, firsts in first_found(made, options.runs, options.benchmark, len(made.corpus)).items():
        shares[name] = {}
        for query, own in pairs.items():
            place = {doc: at for at, doc in enumerate(firsts[query])}
            found = [(place.get(a, len(place)), place.get(b, len(place))) for a, b in own]
            above = [float(a < b) for a, b in found if a != b]
            if above:
                shares[name][query] = 100 * sum(above) / len(above)
    bench.found["written by"] = ", ".join(sorted(set(written.values())))
    for name, own_shares in sorted(shares.items()):
        others = [held for other, held in shares.items() if other != name]
        both = [query for query in own_shares if others and all(query in held for held in others)]
        differs = {q: own_shares[q] - sum(held[q] for held in others) / len(others) for q in both}
        told = f"{_mean(own_shares):.1f} % of pairs of equal grade have the written text first"
        if not own_shares:
            told = "ranks no pair of equal grade"
        if interval := bootstrap_interval(differs):
            span = f"[{interval.low:+.1f}, {interval.high:+.1f}]"
            told += f", {_mean(differs):+.1f} {span} from the other systems over {len(both):,} queries"
        bench.found[name] = told
    return made


def _mean(held: Mapping[str, float]) -> float:
    return sum(held.values()) / max(1, len(held))


# What people make of it.

_COLUMNS = {  # of the sheet, by what is graded
    "queries": ("id", "text", "relevant 1", "relevant 2", "relevant 3", "grade", "note"),
    "documents": ("id", "text", "title", "document", "grade", "note"),
}
_LONG = 200  # characters of a title
_PASSAGE = 1500  # characters of a document

T = TypeVar("T")
Rows = dict[str, tuple[T, tuple[str, ...]]]  # id in the sheet -> what is graded; it as it is shown


class ReviewOptions(Value, frozen=True):
    """Options of ``review``.

    Attributes:
        ask: what is graded; names the sheet, and the label that queries get.
        grades: what a grade may be, from the worst to the best.
        keep: a query stays if the mean of its grades is at least this.
        scale: of Krippendorff's alpha: ``ordinal``, grades further apart disagree more, or ``nominal``.
        skip: go on without people; the card says so.
    """

    ask: str = "quality"
    grades: tuple[int, ...] = (0, 1, 2)
    keep: float = 1.0
    scale: Literal["ordinal", "nominal"] = "ordinal"
    skip: bool = False

    step: ClassVar[str] = "review"
    of: ClassVar[str] = "queries"

    def __post_init__(self) -> None:
        named = re.fullmatch(r"(?!text$)[a-z][a-z0-9-]*", self.ask)
        if not named or len(self.grades) < 2 or list(self.grades) != sorted(set(self.grades)):
            raise UsageError(
                "a review asks for a word in small letters that is not 'text', graded by two or more numbers",
                hint="--option review.ask=quality --option review.grades=[0,1,2], from the worst to the best",
            )


def _sheets(folder: Path, options: ReviewOptions) -> list[Path]:
    """The sheets that are there: the empty one, and what people filled in."""
    return [] if options.skip else _found(folder, options.ask)


def _found(folder: Path, ask: str) -> list[Path]:
    return sorted((folder / "review").glob(f"{ask}.*"))


@step(ReviewOptions, helps="--option review.keep=N: the mean grade that a query needs", sheets=_sheets)
def review(made: Made, bench: Workbench, options: ReviewOptions) -> Made:
    """People grade the queries, and those with poor grades are left out.

    The step waits for the people.
    """
    ask = options.ask
    if options.skip:
        bench.found[ask] = "*not reviewed*"
        return made
    if taken := [draft.id for draft in made.drafts if ask in draft.labels]:
        raise UsageError(f"the query {taken[0]} has a label {ask!r} already", hint="--option review.ask=NAME")
    rows = _rows(made, bench, ask)
    if (ratings := _ratings(bench, rows, options)) is None:
        return made
    kept = []
    means = np.nanmean(ratings, 1)
    for (draft, _), mean, place in zip(rows.values(), means, _places(means, options.grades), strict=True):
        if mean >= options.keep:
            kept.append(replace(draft, labels={**draft.labels, ask: (str(options.grades[place]),)}))
    bench.drop(f"queries of a {ask} below {options.keep:g}", len(rows) - len(kept))
    return made.of_queries(kept)


def _ratings(bench: Workbench, rows: Rows[T], options: ReviewOptions) -> Array | None:
    """(rows, people) grades, NaN where somebody gave none; None if a row has none at all: the bench waits."""
    given = [held for path in _sheets(bench.folder, options) if (held := _graded(path, rows, options))]
    ratings = np.array([[held.get(key, math.nan) for held in given] for key in rows], np.float64)
    ratings = ratings.reshape(len(rows), len(given))
    if lacking := int(np.isnan(ratings).all(1).sum()):
        told = f"{lacking:,} of {len(rows):,} {options.of} have no grade. "
        bench.waiting = told + _asked(bench, rows, options)
        return None
    bench.found[f"{options.ask}, annotators"] = len(given)
    if len(given) == 2:
        bench.found[f"{options.ask}, Cohen's kappa"] = str(cohen_kappa(ratings))
    if len(given) > 1:
        alpha = krippendorff_alpha(ratings, ordinal=options.scale == "ordinal")
        bench.found[f"{options.ask}, Krippendorff's alpha ({options.scale})"] = str(alpha)
    return ratings


class GradeOptions(ReviewOptions, frozen=True):
    """Options of ``grade``; those of ``review``, but for ``keep``.

    Attributes:
        keep: relevant documents that a query keeps.
        measure: of each person's order against the grades of the others.
    """

    ask: str = "relevance"
    measure: str = "nDCG(ties=average)@20"
    step: ClassVar[str] = "grade"
    of: ClassVar[str] = "documents"


@step(GradeOptions, helps="--option grade.keep=1: the relevant documents that a query needs", sheets=_sheets)
def grade(made: Made, bench: Workbench, options: GradeOptions) -> Made:
    """People grade the judged documents of each query, and those of the step pool.

    Their grades take the place of those that were made; the worst grade is 0, the next 1, and so on.

    With two people or more, each one's order is scored against the grades of the others, as a system is
    (CSFCube's study, the row *Human*).

    Raises:
        UsageError: the set has instructions, under which a document has several grades.
    """
    if options.skip:
        bench.found[options.ask] = "*not graded by people*"
        return made
    if set(made.qrels) != {"gold"}:
        raise UsageError(
            "people grade documents once a query, and this set has instructions or pooled grades"
        )
    more, gold = unjudged(made) if "pool" in made.facts else {}, made.qrels["gold"]
    judged = [(one.id, d) for one in made.drafts for d in {*gold.get(one.id, ()), *more.get(one.id, ())}]
    rows = _documents(made, bench, options.ask, judged)
    if (ratings := _ratings(bench, rows, options)) is None:
        return made
    given: dict[str, dict[str, int]] = {draft.id: {} for draft in made.drafts}
    places = _places(np.nanmean(ratings, 1), options.grades)
    for ((query, document), _), place in zip(rows.values(), places, strict=True):
        given[query][document] = place
    bench.found |= human([pair for pair, _ in rows.values()], ratings, options)
    if "pool" in made.facts:
        bench.found |= left_out(made, given)
    return bench.enough(replace(made, qrels={"gold": given}), options.keep)


class ScreenOptions(ReviewOptions, frozen=True):
    """Options of ``screen``; those of ``review``, but for ``keep``.

    Attributes:
        keep: relevant documents that a query keeps in each of its judgements.
        runs: directories of experiments (``aspectra bench run``) on this set, and run files; none looks at
            nothing.
        benchmark: the set's name in the experiments; "" where each has one alone.
        depth: first documents of each system.
        share: of the systems that do not find a relevant document so early, from which it is looked at.
    """

    ask: str = "fit"
    grades: tuple[int, ...] = (0, 1)
    runs: tuple[str, ...] = ()
    benchmark: str = ""
    depth: int = 50
    share: float = 0.5
    step: ClassVar[str] = "screen"
    of: ClassVar[str] = "documents"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 1:
            raise UsageError("a system finds documents first", hint="--option screen.depth=50")


@step(
    ScreenOptions,
    helps="--option screen.keep=1: the relevant documents that a query needs",
    sheets=lambda folder, options: [*_sheets(folder, options), *files_of(options.runs)],
)
def screen(made: Made, bench: Workbench, options: ScreenOptions) -> Made:
    """People look at relevant documents that most systems do not find, and wrong ones are left out.

    What they give the worst grade is left out of every judgement (InfoSearch, appendix A.7).

    The published second sign, a relevance score below 0.5, is of a scale that is not named, and is not taken.

    Raises:
        BadInput, UsageError: rankings or sheets cannot be read, or are of another set.
    """
    if options.skip or not options.runs:
        bench.found[options.ask] = "*not looked at*"
        return made
    systems = first_found(made, options.runs, options.benchmark, options.depth)
    pairs = [
        (query, doc)
        for query, grades in made.plainly.items()
        for doc, grade in grades.items()
        if grade > 0
        and sum(doc not in firsts[query] for firsts in systems.values()) >= options.share * len(systems)
    ]
    bench.found["systems"] = len(systems)
    bench.found[f"relevant, not in the first {options.depth} of most"] = len(pairs)
    if not pairs:
        return made
    rows = _documents(made, bench, options.ask, pairs)
    if (ratings := _ratings(bench, rows, options)) is None:
        return made
    places = _places(np.nanmean(ratings, 1), options.grades)
    wrong = {pair for (pair, _), place in zip(rows.values(), places, strict=True) if place == 0}
    bench.drop("relevant documents that people find wrong", len(wrong))
    qrels = {
        name: {
            query: {doc: grade for doc, grade in grades.items() if (query, doc) not in wrong}
            for query, grades in held.items()
        }
        for name, held in made.qrels.items()
    }
    return bench.enough(replace(made, qrels=qrels), options.keep, qrels)


def _places(means: Array, grades: Sequence[int]) -> list[int]:
    """The place, from 0, of the grade nearest to each mean; half way that of the lower one."""
    return [min(range(len(grades)), key=lambda at: abs(grades[at] - mean)) for mean in means.tolist()]


def human(pairs: Sequence[tuple[str, str]], ratings: Array, options: GradeOptions) -> dict[str, str]:
    """Each person's order of the documents, scored against the mean grade of the others.

    Args:
        pairs: query and document of each row.
        ratings: (rows, people), NaN where somebody gave no grade.
        options: the grades, and the measure.

    Returns:
        One entry for each person, with a 95 % bootstrap interval over queries; none for a single person.
    """
    told = {}
    for person in range(ratings.shape[1] if ratings.shape[1] > 1 else 0):
        others = np.delete(ratings, person, 1)
        both = ~np.isnan(ratings[:, person]) & ~np.isnan(others).all(1)
        truth: dict[str, dict[str, float]] = defaultdict(dict)
        run: dict[str, dict[str, float]] = defaultdict(dict)
        places = _places(np.nanmean(others[both], 1), options.grades)
        for row, place in zip(np.flatnonzero(both).tolist(), places, strict=True):
            query, document = pairs[row]
            truth[query][document] = place
            run[query][document] = float(ratings[row, person])
        if not any(grade > 0 for held in truth.values() for grade in held.values()):
            continue
        values = evaluate([options.measure], truth, run)[options.measure].values
        found = {query: 100 * value for query, value in values.items()}
        interval = bootstrap_interval(found)
        held = f" [{interval.low:.1f}, {interval.high:.1f}]" if interval else ""
        average = sum(found.values()) / len(found)
        told[f"Human {person + 1}, {options.measure}"] = f"{average:.1f}{held} over {len(found):,} queries"
    return told


def _documents(
    made: Made, bench: Workbench, ask: str, pairs: Sequence[tuple[str, str]]
) -> Rows[tuple[str, str]]:
    """A row for each query and document, in an order by chance."""
    texts = {row["_id"]: one_line(row["text"]) for row in as_texts(made, bench)}
    shown = bench.by_id(made, {doc for _, doc in pairs})
    rows: Rows[tuple[str, str]] = {}
    for query, doc in bench.drawn(pairs, f"grade {ask}"):
        cells = (texts[query], *_shown(shown[doc]))
        rows[f"r{digest([ask, query, doc, cells])[:10]}"] = (query, doc), cells
    return rows


def _shown(one: MadeText) -> tuple[str, str]:
    """Title and text of a document in a sheet."""
    return one_line(one.title)[:_LONG], one_line(one.text)[:_PASSAGE]


def _rows(made: Made, bench: Workbench, ask: str) -> Rows[QueryDraft]:
    """The rows of the sheet, in an order by chance."""
    relevant = {query: bench.drawn(held, query)[:3] for query, held in made.relevant().items()}
    shown = sorted({name for held in relevant.values() for name in held})
    titles = {one.id: one_line(one.title or one.text)[:_LONG] for one in bench.documents(made, shown)}
    texts = {row["_id"]: row["text"] for row in as_texts(made, bench)}
    drafts = {draft.id: draft for draft in made.drafts}
    rows: Rows[QueryDraft] = {}
    for name in bench.drawn(drafts, f"review {ask}"):
        told = (texts[name], drafts[name].instructions.get("instructed"), drafts[name].aspect)
        held = [titles[one] for one in relevant.get(name, ()) if one in titles]
        cells = (one_line(" / ".join(filter(None, told))), *held)
        rows[f"r{digest([ask, name, cells])[:10]}"] = drafts[name], cells
    return rows


def _graded(path: Path, known: Collection[str], options: ReviewOptions) -> dict[str, int]:
    """Id -> grade, of the rows that have one."""
    grades = {str(one): one for one in options.grades}

    def read(cell: str) -> int | None:
        return grades.get(re.sub(r"[.,]0+$", "", cell))  # spreadsheets make 1.0 of 1

    return _filled(path, known, options.ask, "grade", read, f"is none of {', '.join(grades)}")


def _filled(
    path: Path, known: Collection[str], ask: str, column: str, read: Callable[[str], T | None], wrong: str
) -> dict[str, T]:
    """Id -> what somebody filled in, of the rows that have it; ``wrong`` says why a cell cannot be read."""
    found: dict[str, T] = {}
    if path.suffix.lower() != ".csv":
        raise BadInput(f"{path} is not a sheet in CSV", hint="save it as CSV (UTF-8), or remove it")
    for number, row in read_rows(path):
        name, cell = text_of(row.get("id")), text_of(row.get(column))
        if missing := {"id", column} - row.keys():
            raise BadInput(f"{path} has no column {min(missing)!r}", hint="fill in a new copy of the sheet")
        if not cell:
            continue
        value, why = read(cell), ""
        if name not in known:
            why = f"nothing has the id {name!r}: it, or what is graded, changed since the sheet was written"
        elif name in found:
            why = f"{name!r} has a {column} already"
        elif value is None:
            why = f"the {column} {cell!r} {wrong}"
        if why or value is None:
            raise BadInput(f"{path}, line {number}: {why}", hint="mend that line, or take the file away")
        found[name] = value
    if found and path.name == f"{ask}.csv":
        raise BadInput(
            f"{path} is the empty sheet, and somebody filled it in",
            hint=f"rename it to {ask}.NAME.csv, NAME being yours, and run the command again",
        )
    return found


def _asked(bench: Workbench, rows: Rows[T], options: ReviewOptions) -> str:
    """Write the empty sheet; return the task for people."""
    told = _written(bench, rows, options.ask, _COLUMNS[options.of])
    return (
        f"{told} fill in the column grade ({', '.join(map(str, options.grades))}), save it as CSV (UTF-8), "
        f"and run the same command again; --option {options.step}.skip=true goes on without people."
    )


def _written(bench: Workbench, rows: Rows[T], ask: str, columns: Sequence[str]) -> str:
    """The empty sheet, and how a person begins with it."""
    path = bench.folder / "review" / f"{ask}.csv"
    out = io.StringIO()
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    for key, (_, cells) in rows.items():
        table.writerow(dict(zip(columns, (key, *map(safe_cell, cells)), strict=False)))
    if not bench.estimate:
        make_folder(path.parent)
        write_durably(path, "\ufeff" + out.getvalue())  # the mark by which spreadsheets know UTF-8
    return f"Copy {path} to {ask}.NAME.csv beside it, NAME being yours,"


class EntriesOptions(Value, frozen=True):
    """Options of ``entries``.

    Attributes:
        papers: that people are asked about, drawn; 0 for all.
        fewest: questions with which the build goes on.
    """

    papers: int = 100
    fewest: int = 1


def _entered(folder: Path, options: EntriesOptions) -> list[Path]:
    return _found(folder, "questions")


@step(EntriesOptions, helps="more people, or --option entries.papers=N", sheets=_entered)
def entries(made: Made, bench: Workbench, options: EntriesOptions) -> Made:
    """People who know a paper write questions that it answers.

    One query for each question (LitSearch, section 2.2); the step waits for the people.
    """
    papers = bench.drawn(made.corpus, "entries")[: options.papers or None]
    shown = bench.by_id(made, papers)
    rows: Rows[str] = {}
    for name in papers:
        cells = _shown(shown[name])
        rows[f"r{digest(['entries', name, cells])[:10]}"] = name, cells
    asked, people = [], 0
    for path in _entered(bench.folder, options):
        said = _filled(path, rows, "questions", "question", one_line, "is empty")
        people += bool(said)
        for key, text in sorted(said.items()):
            draft = QueryDraft(f"e-{digest([key, path.name])[:12]}", text, source="people")
            asked.append((draft, {rows[key][0]: 1}))
    if len(asked) < max(1, options.fewest):
        told = _written(bench, rows, "questions", ("id", "title", "abstract", "question", "note"))
        bench.waiting = (
            f"{len(asked):,} questions are written. {told} fill in the column question for papers that you "
            "know, as you would have asked before you knew them and without words of the title, save it as "
            "CSV (UTF-8), and run the same command again."
        )
        return made
    bench.found["people"] = people
    return made.asking(asked)
