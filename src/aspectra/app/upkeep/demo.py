"""The demo library that ships with the package."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from aspectra.app.terminal.screen import count

if TYPE_CHECKING:
    from aspectra.app.session import Session
    from aspectra.papers.library.store import Store
    from aspectra.views.build.draft import IndexReport


def fill(library: Store, session: Session) -> IndexReport:
    """Add the demo papers and index them, with the default encoder where it is installed.

    Raises:
        UsageError: the library holds other papers.
    """
    from aspectra.app.terminal.screen import duration
    from aspectra.base.errors import UsageError
    from aspectra.papers.paper import Paper
    from aspectra.papers.sources.detection import read_papers
    from aspectra.views.build.run import build_index

    resource = resources.files("aspectra") / "data" / "demo.jsonl"
    with resources.as_file(resource) as path:
        records = list(read_papers(path, "jsonl"))
    if set(library.ids()) - {record.id for record in records if isinstance(record, Paper)}:
        raise UsageError(
            f"the library at {library.folder} already holds papers",
            why="the demo papers would mix with them",
            hint="aspectra init --demo --library demo.lib",
        )
    with library.writing("init") as writer:
        report = writer.add(records, path="demo.jsonl", source="jsonl")
    with session.progress() as shown:
        built = build_index(library, progress=shown, lenient=True)
    if not session.screen.quiet:
        took = duration(sum(built.seconds.values()))
        session.screen.line(
            f"{count(report.added, 'demo paper')} added, {count(built.papers, 'paper')} indexed in {took}"
        )
    return built
