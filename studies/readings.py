"""How requests in words are read: shares over files of annotated texts, as a page with a manifest beside it.

    python studies/readings.py PAGE.md [NAME=FILE.jsonl[,FILE.jsonl][:HALF] ...]

``HALF`` is ``development`` or ``test``. Besides, the files of ``tests/data/requests`` are scored, each half
by itself. Nothing is searched.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
from pathlib import Path

from annotations import Annotation, read_text
from aspectra.base.version import __version__
from aspectra.lab.experiments.directory import write_json
from aspectra.lab.reports.tables import Number, Table, render, to_dict
from aspectra.search.planning.heads import hints_by
from aspectra.views.encoders.protocol import load_encoder
from aspectra.views.encoders.query_encoder import QueryEncoder
from verdicts import Ratio, by_attribute, judge_reading, reading_scores

OWN = Path(__file__).parents[1] / "tests" / "data" / "requests"
RESULTS = ("right", "strength", "inverted", "misread", "unread", "lost", "topic")
ABOUT = """# Requests in words, as they are read

Texts are read as a search reads them, and compared with annotations; nothing is searched. Shares are
percentages of texts, of requested conditions, or of read ones (precision). *Silently lost*: neither applied
nor reported. *Decidable, only reported*: conditions that a record or text decides, reported as not applied.
Of our own texts one half was for development, of *idioms* and *varied* both; `tests/data/requests` says how
they are annotated, and from when on errors of a test half were known: of *fresh* none are.

A search with the default encoder also reports words that may ask for something (*perhaps a request*); the
second table is of the rules alone.

Made by `python studies/readings.py`.
"""


def named_files(given: list[str]) -> list[tuple[str, list[Path], str]]:
    """(name, files, half) of every set, half "" for all of its files."""
    out = []
    for one in given:
        name, _, place = one.partition("=")
        paths, _, half = place.partition(":")
        out.append((name, [Path(path) for path in paths.split(",")], half))
    others = [OWN / f"{language}.jsonl" for language in ("de", "es", "fr", "zh")]
    out += [(name, [OWN / f"{name}.jsonl"], "") for name in ("idioms", "varied")]
    sets = {name: [OWN / f"{name}.jsonl"] for name in ("exceptions", "later", "ordinary", "fresh")}
    sets["four languages"] = others
    for name, files in sets.items():
        out += [(f"{name}, {half}", files, half) for half in ("development", "test")]
    return out


def shares_table(title: str, columns: dict[str, dict[str, Ratio]]) -> Table:
    """A row a measure, a column a set of texts."""
    cells = tuple(
        (
            measure,
            *(Number(100 * held[measure].share) if held[measure].of else None for held in columns.values()),
            " / ".join(str(held[measure].of) for held in columns.values()),
        )
        for measure in next(iter(columns.values()))
    )
    return Table(title, ("share, %", *columns, "of"), cells)


def main() -> None:
    """Score the files that the command line names."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("which page? Next: python studies/readings.py readings.md dev=dev.jsonl")
    page = Path(sys.argv[1])
    year = datetime.datetime.now(datetime.UTC).year
    hints = hints_by(QueryEncoder(lambda: load_encoder("minilm")))
    columns, by_rules, checksums, attributes = {}, {}, {}, []
    for name, paths, half in named_files(sys.argv[2:]):
        raw = b"".join(path.read_bytes() for path in paths)
        every = (Annotation.of(json.loads(line)) for line in raw.decode("utf-8").split("\n") if line)
        rows = [one for one in every if half in ("", one.half)]
        judged = [(one, judge_reading(one, read_text(one, hints), year)) for one in rows]
        by_rules[name] = reading_scores([(one, judge_reading(one, read_text(one), year)) for one in rows])
        checksums[name] = hashlib.sha256(raw).hexdigest()
        columns[name] = reading_scores(judged)
        counts = by_attribute([verdict for _, verdict in judged])
        header = ("attribute", "requested", *RESULTS)
        cells = tuple((one, held.total(), *(held[r] for r in RESULTS)) for one, held in counts.items())
        attributes.append(Table(f"{name}: conditions by attribute", header, cells))
    shares = [shares_table("Shares", columns), shares_table("Shares, by the rules alone", by_rules)]
    tables = [*shares, *attributes]
    page.write_text(ABOUT + "\n" + "\n".join(render(table, "markdown") for table in tables), "utf-8")
    facts = {"aspectra": __version__, "year": year, "checksums": checksums}
    write_json(page.with_suffix(".json"), {**facts, "tables": [to_dict(table) for table in tables]})


if __name__ == "__main__":
    main()
