"""``aspect``: aspects of papers that a library defines beside background, method and result."""

from __future__ import annotations

from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, CommandGroup, option
from aspectra.app.terminal.screen import columns

app = CommandGroup("Define an aspect of your own, and compare papers in it.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="One to four words.", show_default=False)]


@app.command()
@common
def add(
    session: Session,
    name: Name,
    definition: Annotated[str, option("--as", metavar="TEXT", about="What it is about, in a sentence.")],
    example: Annotated[
        list[str] | None, option(metavar="TEXT", about="A sentence about it, as papers write it; several.")
    ] = None,
) -> None:
    """Define an aspect, or change one; nothing is indexed anew.

    Papers are then compared by their sentences that are nearest to the definition and the examples.

    Example:  aspectra aspect add population --as "who was studied" --example "Forty adults took part."
    """
    from aspectra.search.planning.aspects import define_aspect

    with session.open_library() as library, library.store.writing("aspect") as writer:
        kept = define_aspect(library.store, writer, name, definition, example or ())
    session.screen.line(f"The aspect {kept} is defined.")
    session.screen.next(f'aspectra similar PAPER --same "{kept}"{session.library_words()}')


@app.command("list")
@common
def list_(session: Session, as_json: AsJson = False) -> None:
    """The aspects that papers can be compared in.

    Example:  aspectra aspect list
    """
    from aspectra.search.planning.aspects import ASPECT_ROLES, own_aspects

    with session.open_library() as library:
        own = own_aspects(library.store)
    rows = [{"aspect": name, "definition": "built in", "examples": []} for name in ASPECT_ROLES]
    for name, focus in own.items():
        definition, *examples = focus.splitlines()
        rows.append({"aspect": name, "definition": definition, "examples": examples})
    if as_json:
        session.screen.document("aspect-list", {"aspects": rows})
        return
    table = [[str(row["aspect"]), str(row["definition"]), str(len(row["examples"]))] for row in rows]
    for line in columns([["aspect", "definition", "examples"], *table]):
        session.screen.line(line)


@app.command()
@common
def remove(session: Session, name: Name) -> None:
    """Remove an aspect that was defined; papers stay as they are.

    Example:  aspectra aspect remove population
    """
    from aspectra.search.planning.aspects import remove_aspect

    with session.open_library() as library, library.store.writing("aspect") as writer:
        remove_aspect(library.store, writer, name)
    session.screen.line(f"The aspect {name} is removed.")
