"""Shared by the lab's commands: benchmarks named on the command line, tables and runs written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspectra.app.terminal.screen import Screen, count, duration
from aspectra.base.errors import AspectraError, UsageError

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.lab.benchmarks.protocol import Benchmark, HubSet
    from aspectra.lab.experiments.directory import Opened, Source, Study
    from aspectra.lab.reports.tables import Table
    from aspectra.lab.runs.run import Run


def library_home() -> Path:
    """The folder of the benchmarks' libraries; they can be made again from the files."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("aspectra", appauthor=False)) / "benchmarks"


def sources_of(given: Sequence[str], options: Iterable[str] | None) -> tuple[Source, ...]:
    """Benchmarks from ``NAME=FOLDER`` and options from ``[NAME.|NUMBER.]key=value``.

    Args:
        given: the benchmarks.
        options: an option without a name, or with the number of a benchmark, counts for that one; where
            several benchmarks are named, it needs one of both.

    Raises:
        UsageError: a word is not of that form, or an option is for nobody.
    """
    from aspectra.lab.experiments.directory import Source

    named: list[tuple[str, str]] = []
    for word in given:
        name, equals, path = word.partition("=")
        if not equals or not name or not path:
            raise UsageError(
                f"{word!r} is not a benchmark and its folder",
                hint="write NAME=FOLDER, as csfcube=data/csfcube",
            )
        named.append((name, str(Path(path).expanduser().absolute())))
    chosen: list[dict[str, str]] = [{} for _ in named]
    for word in options or ():
        key, equals, value = word.partition("=")
        whose, dot, own = key.rpartition(".")
        alone = not dot and len(named) == 1
        fits = [i for i, (name, _) in enumerate(named) if alone or whose in (name, str(i + 1))]
        if not equals or not own or not fits:
            raise UsageError(
                f"--option {word}: "
                + ("it is not key=value" if not equals else f"it is for none of {len(named)} benchmarks"),
                hint="write NAME.key=value, or 2.key=value for the second benchmark",
            )
        for i in fits:
            chosen[i][own] = value
    return tuple(Source(name, path, held) for (name, path), held in zip(named, chosen, strict=True))


def study_of(out: Path, **given: object) -> Study:
    """The study in the directory ``out`` with the given fields changed, or a new one.

    Args:
        out: the directory.
        given: fields of :class:`Study`; None leaves one as it is, lists become tuples.

    Raises:
        UsageError: it would replace a study of other recipes or benchmarks.
    """
    from aspectra.base.values import replace
    from aspectra.lab.experiments.directory import FILES, Study, open_study
    from aspectra.search.recipe import Recipe

    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None
    }
    if "recipes" in values:
        values["recipes"] = tuple(map(Recipe.parse, values["recipes"]))
    held = open_study(out).study if (out / FILES["study"]).exists() else None
    if held is not None and "sources" not in values:
        study = replace(held, **values)
    else:
        study = Study(**{"sources": (), "recipes": (), **values})
    names = [(*one.rows, *(s.benchmark for s in one.sources)) for one in (held, study) if one is not None]
    if lost := [name for name in names[0] if name not in names[-1]]:
        raise UsageError(
            f"{out} holds an experiment with {', '.join(lost)}, which this one would replace",
            hint="name these too (finished rankings are reused), or another --output",
        )
    return study


def described() -> list[dict[str, Any]]:
    """The declarations of all benchmarks, as JSON values."""
    from aspectra.lab.benchmarks.protocol import BENCHMARKS

    return [
        {
            "name": one.name,
            "about": one.about,
            "files": one.files,
            "options": [{**asdict(option), "values": list(option.values)} for option in one.options],
            "licence": one.licence,
            "source": one.source,
            "measures": list(one.measures),
            "preset": one.preset,
            "hub": [part.repo for part in one.hub],
        }
        for one in map(BENCHMARKS.get, BENCHMARKS)
    ]


def show_benchmarks(screen: Screen) -> None:
    """Print the declarations of all benchmarks."""
    from aspectra.lab.benchmarks.protocol import BENCHMARKS, COMMON

    for one in map(BENCHMARKS.get, BENCHMARKS):
        screen.line(f"{one.name}  {one.about}", style="bold")
        rows = [
            ("files", one.files),
            *(("option", str(option)) for option in one.options),
            ("licence", one.licence or "stated when it is loaded (bench audit)"),
            ("measures", ", ".join(one.measures)),
            ("code", f"--preset {one.preset} follows its public code" if one.preset != "paper" else ""),
            ("hub", ", ".join(part.repo for part in one.hub)),
        ]
        for label, text in rows:
            if text:
                screen.line(text, indent=11, first=f"  {label}")
        screen.line()
    screen.line("Options of every benchmark", style="bold")
    for option in COMMON:
        screen.line(str(option), indent=11, first="  option")


def hub_sets(name: str) -> tuple[HubSet, ...]:
    """The data sets to download for a benchmark, or for one part of it (``obliq/math``).

    Raises:
        UsageError: it is on no hub, or has no such part.
    """
    from aspectra.lab.benchmarks._files import collections, hub_sets, next_command, where
    from aspectra.lab.benchmarks.protocol import BENCHMARKS

    whole = name.partition("/")[0]
    # A collection in the layout of a benchmark has no loader of its own name.
    declared = BENCHMARKS.get("beir" if whole in {one.name for one in collections()} else whole)
    if not declared.hub:
        raise UsageError(
            f"no hub that holds {name} is known",
            why=where(name, "FOLDER", declared.licence),
            hint=next_command(name, "FOLDER")
            or f"download its files, then: aspectra bench audit {name} FOLDER",
        )
    return hub_sets(name, declared.hub)


def benchmarks_of(session: Session, opened: Iterable[Opened]) -> list[Benchmark | str]:
    """The benchmarks of experiments: loaded, or by name where their files cannot be read any more."""
    out: dict[str, Benchmark | str] = {}
    for one in opened:
        try:
            out |= {name: benchmark for name, benchmark in one.load()[0].items() if name not in out}
        except AspectraError as error:
            session.screen.warn(f"{one.folder}: {error.what}")
            out |= {name: name for name in one.about.revisions if name not in out}
    return list(out.values())


def cell_of(opened: Opened, wanted: dict[str, str | None]) -> dict[str, str]:
    """The one cell of an experiment that fits.

    Args:
        opened: the experiment.
        wanted: recipe, benchmark and protocol, None where any will do.

    Raises:
        UsageError: none fits, or several do.
    """
    from aspectra.search.recipe import Recipe

    recipe = wanted["recipe"]
    if recipe is not None and recipe not in {c["recipe"] for c in opened.about.cells}:
        wanted = {**wanted, "recipe": Recipe.parse(recipe).name}  # another spelling of the same steps
    fits = [
        dict(c) for c in opened.about.cells if all(v is None or c[name] == v for name, v in wanted.items())
    ]
    if len(fits) == 1:
        return fits[0]
    listed = "; ".join(
        f"{c['recipe']} on {c['benchmark']}, {c['protocol']}" for c in fits or opened.about.cells
    )
    raise UsageError(
        "several rankings fit" if fits else "no ranking fits",
        why=listed,
        hint="name one with --recipe, --benchmark and --protocol",
    )


def write_tables(session: Session, tables: Sequence[Table], format_: str, output: Path | None = None) -> None:
    """Tables to standard output or into a file; as JSON they are one document."""
    import json

    from aspectra.lab.reports.tables import render, to_dict

    if format_ == "json":
        text = json.dumps({"tables": [to_dict(t) for t in tables]}, ensure_ascii=False, indent=1) + "\n"
    else:
        text = "\n".join(render(table, format_) for table in tables)
    session.screen.data(text, output)
    if output is not None:
        session.screen.note(f"Wrote {count(len(tables), 'table')} to {output} ({format_}).")


def note_made(session: Session, made: int, kept: int, folder: Path) -> None:
    """Say how many rankings were made, and where everything is."""
    already = f", {kept:,} were there already" if kept else ""
    session.screen.note(f"Made {count(made, 'ranking')}{already}; everything is in {folder}.")


def write_run(session: Session, made: Run, format_: str, output: Path | None) -> None:
    """A run into a file, or to standard output."""
    if output is not None:
        try:
            made.write(output, format_)
        except OSError as error:
            raise AspectraError(f"cannot write {output}", why=error.strerror or str(error)) from error
        session.screen.note(f"Wrote {count(len(made), 'ranking')} to {output} ({format_}).")
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        made.write(Path(folder) / "run", format_)
        session.screen.data((Path(folder) / "run").read_text("utf-8"))


def show_facts(screen: Screen, facts: Mapping[str, Any]) -> None:
    """A manifest for people."""
    screen.pairs(
        [
            ("made", str(facts.get("created", ""))),
            ("by", str(facts.get("command", ""))),
            ("versions", ", ".join(f"{k} {v}" for k, v in facts.get("versions", {}).items())),
        ]
    )
    for name, held in facts.get("benchmarks", {}).items():
        screen.line()
        screen.line(name, style="bold")
        index = held.get("index", {})
        views = index.get("views", {})
        rows = [
            ("  revision", held.get("revision", "")),
            ("  licence", held.get("licence", "")),
            ("  papers", f"{held.get('documents', 0):,}, {held.get('topics', 0):,} topics"),
            ("  judged", ", ".join(f"{k} {n:,}" for k, n in held.get("judged", {}).items())),
            ("  library", f"state {index.get('state', '')}"),
        ]
        for view, about in views.items():
            mark = f", fingerprint {about['fingerprint']}" if "fingerprint" in about else ""
            cut = f", {about['truncated']:,} texts cut" if about.get("truncated") else ""
            rows.append((f"  {view}", f"{about.get('kind', '')}{mark}{cut}"))
        screen.pairs([*rows, *(("  problem", problem) for problem in held.get("problems", ()))])
    for cell in facts.get("cells", ()):
        screen.line()
        screen.line(f"{cell['recipe']['name']} on {cell['benchmark']}, {cell['protocol']}", style="bold")
        cost = ", ".join(f"{name} {value:g}" for name, value in cell.get("cost", {}).items())
        cut = cell.get("cut", 0)
        screen.pairs(
            [
                ("  recipe", cell["recipe_hash"]),
                ("  preset", cell["preset"]),
                ("  versions", ", ".join(cell.get("made_by", ())) or "not recorded"),
                ("  topics", f"{cell['ranked']:,} of {cell['topics']:,} ranked"),
                ("  ties", f"{cell['ties']:,} neighbours with equal scores, told apart by id"),
                ("  appended", f"{cell['appended_to_pools']:,} pool documents that were not ranked"),
                ("  time", duration(float(cell["seconds"]))),
                ("  cost", cost or "nothing was paid for"),
                *([("  cut", f"{cut:,} texts shown to the model only in part")] if cut else []),
            ]
        )
    for failure in facts.get("failures", ()):
        screen.line(f"missing: {failure}")
