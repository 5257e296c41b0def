"""``measure``: scores of any run, without a library and without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aspectra.app import options
from aspectra.app.output.experiments import write_tables
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, Names, OutputFile, argument, option
from aspectra.base.errors import BadInput, UsageError

if TYPE_CHECKING:
    from aspectra.lab.evaluation.means import Evaluation
    from aspectra.lab.reports.tables import Table
    from aspectra.lab.runs.run import Run

_PAIR = re.compile(r",(?=[a-z]+=)")
_BASE = "original"


@common
def measure(
    session: Session,
    run: Annotated[Path | None, argument("TREC, BEIR or JSONL; csv with --titles.", "RUN")] = None,
    qrels: Annotated[Path | None, argument("TREC, BEIR or JSONL.", "QRELS")] = None,
    measures: options.Measures = None,
    preset: options.Preset = None,
    mode: Annotated[
        Names, option("A run by mode: original, instructed, reversed.", metavar="NAME=RUN")
    ] = None,
    judged: Annotated[Names, option("Judgements of a mode.", metavar="NAME=QRELS")] = None,
    labels: Annotated[Path | None, option("Labels of topics: csv, tsv or JSON.")] = None,
    by: options.By = None,
    group: Annotated[str | None, option("The label that names the core query.", metavar="LABEL")] = None,
    excluded: Annotated[Path | None, option("Ids dropped, by topic: JSON or tsv.")] = None,
    titles: Annotated[Path | None, option("The corpus; matches ids or titles.")] = None,
    topic: Annotated[str, option("The topic of an export without one.", metavar="ID")] = "",
    duplicates: Annotated[str, option("A document twice: error or first [error].", metavar="HOW")] = "error",
    missing: Annotated[
        str, option("Unranked topics: declared or skip [declared].", metavar="HOW")
    ] = "declared",
    incomplete: Annotated[bool, option("Modes may cover different topics.")] = False,
    per_query: Annotated[bool, option("One row a topic.")] = False,
    format: options.Format = "markdown",  # noqa: A002
    as_json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Score a run against judgements, whichever engine made it.

    Example:  aspectra measure my.run qrels.tsv -m nDCG@10 -m R@100 --per-query

    Modes:  aspectra measure og.run og.tsv --mode instructed=new.run --judged instructed=new.tsv -m p-MRR

    An export:  aspectra measure results.csv qrels.tsv --titles corpus.jsonl
    """
    from aspectra.lab.evaluation.calculate import evaluate
    from aspectra.lab.evaluation.means import get_preset
    from aspectra.lab.runs.files import Checks, check_run
    from aspectra.lab.runs.run import Qrels, read_excluded, read_labels, read_titles

    chosen = get_preset(preset or "paper")
    wanted = list(measures or chosen.measures)
    for text in wanted:
        chosen.parse(text)
    run_files = _by_mode(run, mode, "--mode")
    qrels_files = _by_mode(qrels, judged, "--judged")
    if not run_files or not qrels_files:
        raise UsageError(
            "a run and judgements are needed", hint="aspectra measure RUN QRELS, or --mode NAME=RUN"
        )
    known = read_titles(titles) if titles else None
    runs = {m: _run(path, known, topic, duplicates) for m, path in run_files.items()}
    sets = {m: Qrels.read(path, duplicates=duplicates) for m, path in qrels_files.items()}
    named = read_labels(labels) if labels else {}
    for flag, label in (("--by", by), ("--group", group)):
        if label is not None and not any(label in held for held in named.values()):
            have = ", ".join(sorted({n for held in named.values() for n in held}))
            raise UsageError(
                f"{flag} {label}: no topic has that label",
                why=f"labels: {have}" if have else "",
                hint="name a file with --labels",
            )
    found = evaluate(
        wanted,
        {m: q.data for m, q in sets.items()}
        if len(sets) > 1 or len(runs) > 1
        else sets[next(iter(sets))].data,
        {m: r.data for m, r in runs.items()} if len(runs) > 1 else next(iter(runs.values())).data,
        preset=chosen,
        groups={t: held[group] for t, held in named.items() if group in held} if group else None,
        labels=named or None,
        excluded=read_excluded(excluded) if excluded else None,
        missing=missing,
        incomplete=incomplete,
    )
    notes = []
    for m, held in runs.items():
        checks = held.checks
        own = sets.get(m) or (next(iter(sets.values())) if len(sets) == 1 else None)
        if own is not None:
            checks = checks + own.checks + check_run(held.data, own.data, corpus=known)
        elif checks == Checks():
            continue
        notes += [f"{m}: {line}" if len(runs) > 1 else line for line in checks.lines()]
    if as_json or format == "json":
        session.screen.document("measure", {**found.to_dict(per_unit=True), "checks": notes}, output)
        return
    tables = [_per_query(found, notes) if per_query else _means(found, notes)]
    if by is not None:
        tables.append(_broken_down(found, by))
    write_tables(session, tables, format, output)


def _by_mode(first: Path | None, others: Sequence[str] | None, flag: str) -> dict[str, Path]:
    """Mode -> file; one file alone has no mode."""
    out: dict[str, Path] = {}
    for words in others or ():
        for word in _PAIR.split(words):
            name, equals, path = word.partition("=")
            if not equals or not name or not path:
                raise UsageError(f"{flag} {word}: it is not NAME=FILE", hint=f"{flag} instructed=FILE")
            if name in out:
                raise UsageError(f"{flag} names the mode {name} twice")
            out[name] = Path(path)
    if first is not None:
        if _BASE in out:
            raise UsageError(f"{first} and {flag} {_BASE}=... are both of the mode {_BASE}")
        out = {_BASE: first, **out}
    return out


def _run(path: Path, titles: Mapping[str, str] | None, topic: str, duplicates: str) -> Run:
    from aspectra.lab.runs.run import Run, read_export

    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if titles is None and name.endswith(".csv"):
        raise UsageError(f"{path} is an export, and there is no corpus", hint="name it with --titles FILE")
    if titles is not None and name.endswith((".csv", ".tsv", ".jsonl", ".json")):
        try:
            return read_export(path, titles, topic=topic)
        except BadInput:  # BEIR and JSONL runs have such names too
            if name.endswith(".csv"):
                raise
    return Run.read(path, duplicates=duplicates)


def _means(found: Evaluation, notes: Sequence[str]) -> Table:
    from aspectra.lab.reports.tables import Table

    modes = any(score.mode for score in found.scores)
    header = ["measure", *(["mode"] if modes else []), "mean", "units", "missing", "undefined"]
    rows = []
    for score in found.scores:
        cells = [str(score.measure), *([score.mode] if modes else [])]
        rows.append((*cells, score.mean, score.units, len(score.missing), len(score.undefined)))
    remarks = [f"preset {found.preset}"]
    if found.average:
        remarks.append("means of the means by " + ", ".join(found.average))
    return Table("", tuple(header), tuple(rows), (*remarks, *found.remarks, *notes), 4)


def _per_query(found: Evaluation, notes: Sequence[str]) -> Table:
    from aspectra.lab.reports.tables import Table

    units = sorted({unit for score in found.scores for unit in score.values})
    header = [score.spelling for score in found.scores]
    rows = [(unit, *(s.values.get(unit) for s in found.scores)) for unit in units]
    rows.append(("mean", *(s.mean for s in found.scores)))
    return Table("", ("topic", *header), tuple(rows), (f"preset {found.preset}", *found.remarks, *notes), 4)


def _broken_down(found: Evaluation, label: str) -> Table:
    from aspectra.lab.reports.tables import Table

    rows = []
    for score in found.scores:
        rows += [(score.spelling, v or "–", m, n) for v, (m, n) in score.by(found.labels, label).items()]
    return Table("", ("measure", label, "mean", "units"), tuple(rows), (), 4)
