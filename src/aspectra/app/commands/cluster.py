"""``cluster``: the shards of a collection in processes of their own, on a Ray cluster."""

from __future__ import annotations

from typing import Annotated

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup, argument, option
from aspectra.app.terminal.screen import columns, count
from aspectra.base.errors import AspectraError, UsageError

app = CommandGroup("Search the shards of a collection in processes of their own.")


@app.command()
@common
def up(
    session: Session,
    local: Annotated[int, option("Nodes on this computer.", min=1, max=64)] = 2,
    listen: Annotated[
        bool, option("Keep it where other computers reach its ports: behind a firewall.")
    ] = False,
) -> None:
    """Start a cluster on this computer, with a process for each shard of the collection.

    From then on every search of the collection, from the command line, the page, HTTP or MCP, has its papers
    scored there; the answers are the same. It needs the extra cluster, and the collection an index.

    Example:  aspectra cluster up --local 2
    """
    from aspectra.cluster import nodes

    with session.open_library() as library:
        library.searcher.index  # noqa: B018 - without an index there is nothing to start
        started = nodes.start(library.store.folder, local, listen=listen, note=session.screen.note)
    session.screen.line(f"the cluster at {started.address} searches {session.library_path}")
    session.screen.next("aspectra cluster check")


@app.command()
@common
def down(session: Session) -> None:
    """End the cluster of the collection.

    Example:  aspectra cluster down
    """
    from aspectra.cluster import nodes

    nodes.stop(session.library_path)
    session.screen.line("the cluster was ended; searches read the collection by themselves again")


@app.command()
@common
def status(session: Session) -> None:
    """Show the nodes of the cluster, the process of each shard, and the addresses that are listened at.

    Example:  aspectra cluster status
    """
    from aspectra.cluster import nodes

    found = nodes.status(session.library_path)
    rows = [("address", found["address"]), ("nodes", str(found["nodes"]))]
    rows += [(name, str(process)) for name, process in found["shards"].items()]
    rows += [("listening", ", ".join(found["listening"])), ("token", found["token"])]
    session.screen.lines(columns(rows))


@app.command()
@common
def check(
    session: Session,
    sample: Annotated[int, option("Papers whose titles are searched for.", min=1, max=1000)] = 20,
) -> None:
    """Compare answers of the cluster with those of this process alone; every difference is an error.

    Titles of a fixed sample are searched for by words, by vectors and by both, and each paper is a seed:
    hits, scores in bits, explanations and warnings are compared.

    Example:  aspectra cluster check --sample 20
    """
    from aspectra.cluster import nodes
    from aspectra.cluster.parts import differences
    from aspectra.search.searcher import Searcher

    nodes.Cluster.of(session.library_path)  # without one a process would be compared with itself
    with session.open_library() as library, Searcher(library.store) as alone:
        alone.lists = library.searcher.lists = library.lists
        compared, found = differences(alone, library.searcher, sample)
    session.screen.lines(found)
    if found:
        raise AspectraError(
            f"{count(len(found), 'answer')} of {compared} differ",
            why="a shard has other files, or another version or processor than this process",
            hint="aspectra cluster down, then aspectra cluster up",
        )
    session.screen.line(f"{compared} answers are the same, in bits")


@app.command()
@common
def plan(
    session: Session,
    papers: Annotated[str, argument("As 3M or 200000000.", "PAPERS")],
    memory: Annotated[int, option("Of a node, that the index may fill.", metavar="GB", min=1)] = 48,
    sentences: Annotated[bool, option("With vectors of sentences.")] = True,
) -> None:
    """Reckon the disk, memory, nodes and time that so many papers take, from measured constants.

    Example:  aspectra cluster plan 200M --memory 48
    """
    from aspectra.cluster.capacity import MEASURED, capacity
    from aspectra.papers.library.shards import MOST

    found = capacity(_number(papers), memory=memory << 30, sentences=sentences)
    rows = [(name, _size(size)) for name, size in found.bytes.items()]
    rows += [
        ("on disk, two generations", _size(found.disk)),
        ("read again and again", _size(found.hot)),
        ("memory of the caller", _size(found.caller)),
        (f"nodes of {memory} GB", f"{found.nodes:,}"),
        ("shards", f"{found.shards}"),
        ("to add, index and encode", f"{found.core_hours:,.0f} hours of one core"),
        ("hybrid search", f"{1000 * found.search:,.0f} ms, reckoned"),
        (
            "with stragglers, lost nodes",
            "{:,.0f} ms, of a hundred one above {:,.0f} ms, simulated".format(
                *(1000 * one for one in found.simulated)
            ),
        ),
    ]
    session.screen.lines(columns(rows))
    if found.nodes > MOST:
        session.screen.warn(
            f"a collection has {MOST} shards at most, so {MOST} nodes of {_size(found.hot / MOST)} are needed"
        )
    session.screen.note(f"constants of {MEASURED}")


def _number(text: str) -> int:
    """A number of papers.

    >>> _number("3M"), _number("86,638"), _number("1.5k")
    (3000000, 86638, 1500)
    """
    unit = {"k": 1000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        value = float(text[: -1 if unit > 1 else None].replace(",", ""))
    except ValueError:
        value = 0.0
    if not 1 <= value * unit <= 1e12:
        raise UsageError(f"{text!r} is no number of papers", hint="as 3M, 200M or 86638")
    return round(value * unit)


def _size(size: float) -> str:
    unit, of = ("TB", 1e12) if size >= 1e12 else ("GB", 1e9) if size >= 1e9 else ("MB", 1e6)
    return f"{size / of:,.1f} {unit}"
