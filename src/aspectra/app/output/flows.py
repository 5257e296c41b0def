"""The flow of records for people, and as Mermaid, CSV or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aspectra.app.terminal.screen import Screen, safe
from aspectra.base.errors import check_choice

if TYPE_CHECKING:
    from aspectra.app.ingest.flow import Flow

_ENDINGS = {".mmd": "mermaid", ".csv": "csv", ".json": "json"}


def write_flow(screen: Screen, flow: Flow, output: Path | None, *, as_json: bool) -> None:
    """Write a flow of records to the screen or a file.

    Args:
        screen: where to.
        flow: the numbers.
        output: a file, whose ending names the format; or None.
        as_json: write JSON.

    Raises:
        UsageError: the ending names no format.
    """
    ending = ".json" if as_json else output.suffix.lower() if output else ""
    if output is not None:
        check_choice(ending, _ENDINGS, "ending of a file for the flow")
    if ending == ".json":
        screen.document("flow", flow.to_dict(), output)
    elif output is not None:
        screen.data(flow.to_mermaid() if ending == ".mmd" else flow.to_csv(), output)
    else:
        _show(screen, flow)
        return
    if output is not None:
        screen.note(f"Wrote the flow of records to {output} ({_ENDINGS[ending]}).")


def _show(screen: Screen, flow: Flow) -> None:
    boxes = flow.boxes(brief=True)
    width = max(len(f"{number:,}") for _, _, number, _ in boxes)
    for _, label, number, inside in boxes:
        screen.line(f"{number:>{width},}  {label}", style="bold")
        for name, part in inside:
            if part:
                screen.line(f"{part:>{width},}  {safe(name, one_line=True)}", indent=4, first="    ")
