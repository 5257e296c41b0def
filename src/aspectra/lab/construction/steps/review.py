"""``review``: people grade the queries, each in a copy of one sheet, and poor queries are left out.

A sheet shows a query and titles of documents that are relevant to it, in an order by chance, and says neither
where the query comes from nor what any system found. An id stands for all that its row shows, so that no
grade counts for a query that was changed later.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import make_folder, write_durably
from aspectra.base.hashing import digest
from aspectra.base.values import Value, replace
from aspectra.lab.construction.export import as_texts
from aspectra.lab.construction.made import Draft, Made
from aspectra.lab.construction.protocol import Workbench, step
from aspectra.lab.runs.rows import read_rows, text_of
from aspectra.lab.statistics.agreement import cohen_kappa, krippendorff_alpha
from aspectra.papers.export.csv import safe_cell
from aspectra.papers.text.cleaning import one_line

_COLUMNS = ("id", "text", "relevant 1", "relevant 2", "relevant 3", "grade", "note")
_LONG = 200  # characters of a title

Rows = dict[str, tuple[Draft, tuple[str, ...]]]  # id in the sheet -> query; its text and titles as shown


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

    def __post_init__(self) -> None:
        named = re.fullmatch(r"(?!text$)[a-z][a-z0-9-]*", self.ask)
        if not named or len(self.grades) < 2 or list(self.grades) != sorted(set(self.grades)):
            raise UsageError(
                "a review asks for a word in small letters that is not 'text', graded by two or more numbers",
                hint="--option review.ask=quality --option review.grades=[0,1,2], from the worst to the best",
            )


def _sheets(folder: Path, options: ReviewOptions) -> list[Path]:
    """The sheets that are there: the empty one, and what people filled in."""
    return [] if options.skip else sorted((folder / "review").glob(f"{options.ask}.*"))


@step(
    "review",
    ReviewOptions,
    "People grade the queries, and those with poor grades are left out.",
    helps="--option review.keep=N: the mean grade that a query needs",
    sheets=_sheets,
)
def review(made: Made, bench: Workbench, options: ReviewOptions) -> Made:
    """Keep the queries that people grade well; wait for the people."""
    ask = options.ask
    if options.skip:
        bench.found[ask] = "*not reviewed*"
        return made
    if taken := [draft.id for draft in made.drafts if ask in draft.labels]:
        raise UsageError(f"the query {taken[0]} has a label {ask!r} already", hint="--option review.ask=NAME")
    rows = _rows(made, bench, ask)
    given = [held for path in _sheets(bench.folder, options) if (held := _graded(path, rows, options))]
    ratings = np.array([[held.get(key, math.nan) for held in given] for key in rows], np.float64)
    ratings = ratings.reshape(len(rows), len(given))
    if lacking := int(np.isnan(ratings).all(1).sum()):
        bench.waiting = f"{lacking:,} of {len(rows):,} queries have no grade. " + _asked(bench, rows, options)
        return made
    kept = []
    for (draft, _), mean in zip(rows.values(), np.nanmean(ratings, 1), strict=True):
        _, grade = min((abs(one - mean), one) for one in options.grades)
        if mean >= options.keep:
            kept.append(replace(draft, labels={**draft.labels, ask: (str(grade),)}))
    bench.drop(f"queries of a {ask} below {options.keep:g}", len(rows) - len(kept))
    bench.found[f"{ask}, annotators"] = len(given)
    if len(given) == 2:
        bench.found[f"{ask}, Cohen's kappa"] = str(cohen_kappa(ratings))
    if len(given) > 1:
        alpha = krippendorff_alpha(ratings, ordinal=options.scale == "ordinal")
        bench.found[f"{ask}, Krippendorff's alpha ({options.scale})"] = str(alpha)
    return made.of_queries(kept)


def _rows(made: Made, bench: Workbench, ask: str) -> Rows:
    """The rows of the sheet, in an order by chance."""
    relevant = {query: bench.drawn(held, query)[:3] for query, held in made.relevant().items()}
    shown = sorted({name for held in relevant.values() for name in held})
    titles = {one.id: one_line(one.title or one.text)[:_LONG] for one in bench.documents(made, shown)}
    texts = {row["_id"]: row["text"] for row in as_texts(made, bench)}
    drafts = {draft.id: draft for draft in made.drafts}
    rows: Rows = {}
    for name in bench.drawn(drafts, f"review {ask}"):
        told = (texts[name], drafts[name].instructions.get("instructed"), drafts[name].aspect)
        held = [titles[one] for one in relevant.get(name, ()) if one in titles]
        cells = (one_line(" / ".join(filter(None, told))), *held)
        rows[f"r{digest([ask, name, cells])[:10]}"] = drafts[name], cells
    return rows


def _graded(path: Path, known: Collection[str], options: ReviewOptions) -> dict[str, int]:
    """Id -> grade, of the rows that have one."""
    if path.suffix.lower() != ".csv":
        raise BadInput(f"{path} is not a sheet in CSV", hint="save it as CSV (UTF-8), or remove it")
    found: dict[str, int] = {}
    grades = {str(one): one for one in options.grades}
    for number, row in read_rows(path):
        name, cell = text_of(row.get("id")), text_of(row.get("grade"))
        if missing := {"id", "grade"} - row.keys():
            raise BadInput(f"{path} has no column {min(missing)!r}", hint="fill in a new copy of the sheet")
        if not cell:
            continue
        grade = grades.get(re.sub(r"[.,]0+$", "", cell))  # spreadsheets make 1.0 of 1
        why = ""
        if name not in known:
            why = f"no query has the id {name!r}: it, or the queries, changed since the sheet was written"
        elif name in found:
            why = f"{name!r} has a grade already"
        elif grade is None:
            why = f"the grade {cell!r} is none of {', '.join(grades)}"
        if why or grade is None:
            raise BadInput(f"{path}, line {number}: {why}", hint="mend that line, or take the file away")
        found[name] = grade
    if found and path.name == f"{options.ask}.csv":
        raise BadInput(
            f"{path} is the empty sheet, and somebody filled it in",
            hint=f"rename it to {options.ask}.NAME.csv, NAME being yours, and run the command again",
        )
    return found


def _asked(bench: Workbench, rows: Rows, options: ReviewOptions) -> str:
    """What people have to do; the empty sheet is written."""
    path = bench.folder / "review" / f"{options.ask}.csv"
    out = io.StringIO()
    table = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    table.writeheader()
    for key, (_, cells) in rows.items():
        table.writerow(dict(zip(_COLUMNS, (key, *map(safe_cell, cells)), strict=False)))
    if not bench.estimate:
        make_folder(path.parent)
        write_durably(path, "\ufeff" + out.getvalue())  # the mark by which spreadsheets know UTF-8
    return (
        f"Copy {path} to {options.ask}.NAME.csv beside it, NAME being yours, fill in the column grade "
        f"({', '.join(map(str, options.grades))}), save it as CSV (UTF-8), and run the same command again; "
        "--option review.skip=true goes on without people."
    )
