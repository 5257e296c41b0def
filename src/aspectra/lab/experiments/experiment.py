"""Experiments and their records: recipes run over benchmarks, resumable, every finished ranking kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError, BadInput, NoSuchPaper, UsageError
from aspectra.base.files import digest, digest_texts, disk, make_folder
from aspectra.base.registry import read_call, split_line
from aspectra.base.values import Value, replace
from aspectra.base.version import __version__
from aspectra.lab.benchmarks.protocol import Benchmark, Topic
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.search.plan import Tally
from aspectra.search.planning.planners.protocol import PLANNERS, Planner
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.search.stages.moves import Prefixes
from aspectra.views.build.run import build_index
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.protocol import TOKENS, ViewFacts
from aspectra.views.settings import IndexSettings

# The append-only record of an experiment: every finished (cell, topic, mode, repeat), once.


class RankingRecord(Value, frozen=True):
    """One ranking.

    Attributes:
        cell: hash of recipe, benchmark revision, library state and protocol: what the ranking depends on.
        topic, mode, repeat: which one.
        ids, scores: best first, tie-free order.
        seconds: time of this ranking.
        tally: the calls of its stages to a model, and what they cost.
        missing: documents of the pool that the recipe did not rank, which follow behind.
        version: of the program that made it.
        error: of its last call that failed, in the endpoint's words; or "".
    """

    cell: str
    topic: str
    mode: str
    repeat: int
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    tally: Tally = Tally()
    missing: int = 0
    version: str = ""
    error: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The fields that make a record unique."""
        return self.cell, self.topic, self.mode, self.repeat

    @property
    def failed(self) -> bool:
        """True if calls to a model failed, so that the next run makes this ranking again."""
        return self.tally.defects.get("failed", 0) > 0


class Records:
    """A JSON Lines file of records, flushed to disk one by one.

    A line cut off by a kill is dropped when the file is opened, and made again by the run.

    Args:
        path: the file; made when it does not exist.
        write: False reads what is there and touches nothing.

    Raises:
        BadInput: a whole line is damaged, so that the file was changed by something else.
    """

    def __init__(self, path: Path, *, write: bool = True) -> None:
        self.path = path
        self._records: dict[tuple[str, str, str, int], RankingRecord] = {}
        self._cells: dict[str, list[RankingRecord]] = {}
        self._stream: BinaryIO | None = None
        whole = self._read()
        if not write:
            return
        try:
            make_folder(path.parent)
            self._stream = disk().create(path, "ab")
            self._stream.truncate(whole)
            disk().sync_folder(path.parent)
        except OSError as error:
            raise self._unwritten(error) from error

    def _read(self) -> int:
        """Load finished records; returns the length of the undamaged part in bytes."""
        if not self.path.exists():
            return 0
        whole = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    break  # cut off by a kill, as only the last line can be
                try:
                    record = msgspec.json.decode(line, type=RankingRecord)
                except ValueError as error:
                    raise BadInput(
                        f"line {number} of {self.path} is damaged",
                        why=str(error),
                        hint="remove that line; its ranking will be made again",
                    ) from error
                self._keep(record)
                whole += len(line)
        return whole

    def _keep(self, record: RankingRecord) -> None:
        held = self._records.get(record.key)
        if held is None or held.failed:  # what was made again counts
            if held is not None:
                self._cells[record.cell].remove(held)
            self._records[record.key] = record
            self._cells.setdefault(record.cell, []).append(record)

    def get(self, cell: str, topic: str, mode: str, repeat: int) -> RankingRecord | None:
        """The finished record, or None."""
        return self._records.get((cell, topic, mode, repeat))

    def of(self, cell: str) -> list[RankingRecord]:
        """All records of one cell."""
        return list(self._cells.get(cell, ()))

    def add(self, record: RankingRecord) -> None:
        """Keep a record; it is on disk when this returns."""
        if self._stream is None:
            raise AspectraError(f"{self.path} is not open for writing")
        try:
            self._stream.write(msgspec.json.encode(record) + b"\n")
            disk().sync_stream(self._stream)
        except OSError as error:
            with contextlib.suppress(OSError):  # it tries once more to write
                self._stream.close()
            self._stream = None  # a line may be cut off: nothing may follow it
            raise self._unwritten(error) from error
        self._keep(record)

    def _unwritten(self, error: OSError) -> AspectraError:
        return AspectraError(
            f"cannot write {self.path}",
            why=error.strerror or str(error),
            hint="make room or allow writing there, then run the command again: finished rankings are reused",
        )

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


DIVERSE = 200  # first papers of a ranking whose diversity is measured (PRISM, table 8)
# Ids of papers -> (papers with a vector, dimensions).
PaperVectors = Callable[[Sequence[str]], NDArray[np.float64]]


def vectors_by_id(searcher: Searcher, ids: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Paper -> the vector of its title and abstract; papers without text have none and are left out.

    Raises:
        UsageError: the library has no encoder.
    """
    encoder = searcher.index.default_encoder()
    if not encoder:
        raise UsageError(
            "the library has no vectors",
            why="no recipe needs them, so none were made",
            hint="run a recipe such as dense beside the others, or name an --encoder",
        )
    view: Any = searcher.index.view(f"abstract@{encoder}")
    rows = {paper: view.vectors_of(paper) for paper in ids}
    return {paper: own[0] for paper, own in rows.items() if len(own) and np.any(own[0])}


def paper_vectors(searcher: Searcher) -> PaperVectors:
    """A function that gives the vectors of papers, by the library's first encoder."""

    def of(ids: Sequence[str]) -> NDArray[np.float64]:
        found = list(vectors_by_id(searcher, ids).values())
        return np.stack(found).astype(np.float64) if found else np.zeros((0, 0))

    return of


# Hashes of what a ranking depends on: by them a run finds the rankings that it has made already.

# Where our own prompts are.
_PROMPTS = ("aspectra.search.stages", "aspectra.search.rerank")
_LENSES = "aspectra.views.prompted"  # the stage write asks what lenses ask


def topics_hash(benchmark: Benchmark, *, pools: bool) -> str:
    """Hash of the topics in their order, and of what may be ranked for them.

    Args:
        benchmark: whose topics.
        pools: whether only pools are ranked, so that they count too.
    """
    rows: list[list[object]] = [[*sorted(benchmark.unranked)]] if benchmark.unranked else []
    for topic in benchmark.topics:
        row: list[object] = [topic.id, topic.text, topic.seed, topic.aspect]
        row += [sorted(topic.instructions.items()), sorted(benchmark.excluded.get(topic.id, ()))]
        row += [True] if topic.typed else []  # so that rankings of the others keep their keys
        row += ["told"] if topic.told else []
        row += ["solution", topic.solution] if topic.solution else []
        if pools and benchmark.pools is not None:
            row.append(list(benchmark.pools.get(topic.id, ())))
        rows.append(row)
    return digest(rows)


def prompts_hash(recipe: Recipe) -> str:
    """Hash of our own prompts, and of the files that options of the recipe's stages name."""
    texts = []
    writes = any(stage.partition("(")[0] == "write" for stage in recipe.stages)
    for package in (*_PROMPTS, *((_LENSES,) if writes else ())):
        files = sorted((resources.files(package) / "prompts").iterdir(), key=lambda file: file.name)
        texts += [part for file in files if file.is_file() for part in (file.name, file.read_text("utf-8"))]
    for stage in recipe.stages:
        texts += [path.read_bytes().hex() for path in _named_files(stage)]
    return digest_texts(texts)


def _named_files(spelling: str) -> Iterator[Path]:
    """Files that are values of options, also of members inside of an option: ``method="a(file=x)+b"``."""
    for name, value in read_call(spelling, "stage")[1].items():
        with contextlib.suppress(OSError, ValueError, UsageError):  # any other text
            if Path(value).is_file():
                yield Path(value)
            elif name == "prompts":
                yield from sorted(Path(value).glob("*.toml"))
            elif "(" in value:
                for part in split_line(value, "+"):
                    yield from _named_files(part)


Protocol = Literal["collection", "pool"]
# The language model that stages call for a topic of a benchmark in a mode.
Models = Callable[[Benchmark, Topic, str], ChatModel]
BASE_MODE = "original"


@dataclass(frozen=True)
class Cell:
    """One recipe on one benchmark under one protocol.

    Attributes:
        recipe: how to search.
        benchmark: the topics.
        protocol: ``collection`` ranks the whole collection, ``pool`` each topic's pool.
        depth: papers kept of a collection ranking; pools are kept whole.
        state: of the library searched: generation and encoder fingerprints.
        repeats: runs wanted; a deterministic recipe is run once all the same.
        deterministic: whether every run gives the same ranking.
        model: name of the language model that its stages call, or "".
        recorded: the key that it was run under, for a cell that is only scored; "" computes it.
        ceiling_of: key of the cell whose papers it puts in the order of the judgements, or of a person, see
            :mod:`aspectra.lab.experiments.execute`, or "".
        person: whose ratings give the order, see :attr:`Benchmark.people`, or "".
    """

    recipe: Recipe
    benchmark: Benchmark
    protocol: Protocol
    depth: int
    state: str
    repeats: int = 1
    deterministic: bool = True
    model: str = ""
    recorded: str = ""
    ceiling_of: str = ""
    person: str = ""

    @cached_property
    def key(self) -> str:
        """A hash of whatever a ranking depends on, topics included: options may change those.

        Where a model is called also its name, the prompts, and the judgements, which a simulated model reads;
        for a ceiling the judgements too.
        Measures and presets are left out: they score rankings, and make none. So is the version of the
        program, which every record names.
        """
        if self.recorded:
            return self.recorded
        parts = [self.recipe.hash, self.benchmark.name, self.benchmark.revision, self.protocol, self.depth]
        parts += [self.state, topics_hash(self.benchmark, pools=self.protocol == "pool")]
        if self.model:
            parts += [self.model, prompts_hash(self.recipe), self.benchmark.judgement_hash]
        if self.ceiling_of:
            parts += [self.ceiling_of, self.benchmark.judgement_hash]
        if self.person:
            parts += [self.person, digest(self.benchmark.people.get(self.person, {}))]
        return digest(parts)[:16]

    @property
    def runs(self) -> int:
        """Number of times that it is run."""
        return 1 if self.deterministic else self.repeats

    @property
    def label(self) -> str:
        """Recipe, benchmark and protocol, for messages."""
        pool = " (pools)" if self.protocol == "pool" else ""
        return f"{self.recipe.name} on {self.benchmark.name}{pool}"


# What an index holds besides words -> whether a view is of that kind, whether a planner searches by it.
_NEEDS: Mapping[str, tuple[Callable[[ViewFacts], bool], Callable[[Planner], bool]]] = {
    "vectors": (lambda view: not view.lexical, lambda made: bool(made.vectors)),
    "full text": (lambda view: bool(view.chunks), lambda made: bool(made.full_text)),
    "style": (lambda view: view.lens == "style", lambda made: "style" in made.lenses),
    "tokens": (lambda view: view.base == TOKENS, lambda made: made.tokens),
}


def needs_of(recipe: Recipe) -> set[str]:
    """The parts of an index that searches of the recipe use besides words: by planner, or by a probe's view.

    >>> [sorted(needs_of(Recipe.parse(text))) for text in ("bm25", "dense | top(200) | bm25", "hybrid")]
    [[], ['vectors'], ['vectors']]
    >>> [sorted(needs_of(Recipe.parse(f"bm25 | top(200) | {text}"))) for text in ("fulltext", "hand", "late")]
    [['full text', 'vectors'], ['style'], ['tokens', 'vectors']]
    """
    found = set()
    for search in recipe.searches:
        planner = PLANNERS.get(search.partition("(")[0]) if isinstance(search, str) else None
        views = [] if isinstance(search, str) else [ViewFacts.of(probe.view) for probe in search.probes]
        found |= {
            need
            for need, (of_view, of_planner) in _NEEDS.items()
            if any(map(of_view, views)) or (planner is not None and of_planner(planner))
        }
    return found


def benchmark_library(
    benchmark: Benchmark,
    folder: Path,
    settings: IndexSettings | None = None,
    *,
    corpus: str = "",
    among: Path | None = None,
    progress: Progress = quiet,
    load: Callable[[str], Encoder] = load_encoder,
) -> Searcher:
    """A searcher over the benchmark's corpus; the library is made once and used again.

    Args:
        benchmark: whose papers are added.
        folder: where the library is kept; the same folder serves the same corpus only.
        settings: what to index; default: as the library was indexed before, else the defaults.
        corpus: what tells its corpus from another; default: the benchmark's name and revision.
        among: a library whose papers and vectors are copied first; it is only read.
        progress: called with (step, done, total).
        load: makes an encoder from its specification.

    Raises:
        UsageError: the folder holds another corpus.
    """
    library = Store.create(folder)
    mark = corpus or f"{benchmark.name} {benchmark.revision}"
    held = library.meta("benchmark")
    if held and held != mark:
        raise UsageError(
            f"the library at {folder} holds another corpus", why=f"it is of {held}, not of {mark}"
        )
    if library.meta("benchmark complete") != "yes":
        with library.writing("bench") as writer:
            writer.set_meta("benchmark", mark)
            if among is not None:
                with Store(among) as others:
                    writer.add(others.papers(), path=str(among), source="library")
                    writer.derived.copy(others.derived)
            report = writer.add(benchmark.papers(), path=benchmark.name, source="benchmark")
            if report.remarks:
                # A renamed document could not be matched with its judgements.
                raise UsageError(
                    f"the corpus of {benchmark.name} does not fit a library",
                    why=f"{len(report.remarks)} remarks, the first: {report.remarks[0].reason}",
                )
            writer.set_meta("benchmark complete", "yes")
    build_index(library, settings, progress=progress, load=load)
    return Searcher(library, load)


def library_state(searcher: Searcher) -> str:
    """A hash of what rankings depend on besides recipe and topic: texts and encoders."""
    return str(searcher.index.manifest["state"])


def run_cells(
    cells: Sequence[Cell],
    searchers: dict[str, Searcher],
    records: Records,
    *,
    modes: Iterable[str] | None = None,
    progress: Progress = quiet,
    failures: list[str] | None = None,
    model: Models | None = None,
) -> int:
    """Make every ranking that is not yet recorded; returns how many were made.

    Topics are the outer loop: the query is encoded once, and what recipes have in common up to a ``top`` is
    run once.

    Args:
        cells: what to run.
        searchers: benchmark name -> searcher over its corpus.
        records: where finished rankings are kept and looked up.
        modes: modes to run; default: all of the benchmark.
        progress: called with (step, done, total).
        failures: takes one sentence for each topic that could not be ranked; None lets the error through.
        model: gives the language model that stages call for a topic in a mode, or None.

    Raises:
        ModelError: one that would recur in every call (budget, quota, key); this ranking is not recorded.
        UsageError: a mode that a benchmark does not have, or a protocol that needs pools it does not have.
        NoSuchPaper: a seed is not in the corpus, and ``failures`` is None.
        BadInput: a topic gives no query, and ``failures`` is None.
    """
    made = 0
    for cell in cells:
        if cell.protocol == "pool" and cell.benchmark.pools is None:
            raise UsageError(f"{cell.benchmark.name} has no pools", hint="--protocol collection")
        _known_modes(cell.benchmark, modes)
    for name in dict.fromkeys(cell.benchmark.name for cell in cells):
        here = [cell for cell in cells if cell.benchmark.name == name]
        benchmark = here[0].benchmark
        searcher = searchers[name]
        total = len(benchmark.topics)
        for number, topic in enumerate(benchmark.topics):
            progress(f"ranking {name}", number, total)
            begun: Prefixes = {}
            for mode in modes_of(topic, _known_modes(benchmark, modes)):
                for cell, repeat in [(one, n) for one in here for n in range(one.runs)]:
                    held = records.get(cell.key, topic.id, mode, repeat)
                    if held is not None and not held.failed:
                        continue
                    if model is not None:
                        searcher.model = model(benchmark, topic, mode)
                    try:
                        record = _rank(cell, topic, mode, repeat, searcher, begun)
                    except (BadInput, NoSuchPaper) as error:
                        if failures is None:
                            raise
                        failures.append(f"{cell.label}, topic {topic.id}: {error.what}")
                        continue
                    records.add(record)
                    made += 1
        progress(f"ranking {name}", total, total)
    return made


def _known_modes(benchmark: Benchmark, wanted: Iterable[str] | None) -> tuple[str, ...]:
    """The modes to run."""
    chosen = tuple(wanted) if wanted is not None else benchmark.modes
    if unknown := [mode for mode in chosen if mode not in benchmark.modes]:
        raise UsageError(
            f"{benchmark.name} has no mode {unknown[0]!r}", why="it has " + ", ".join(benchmark.modes)
        )
    return chosen


def modes_of(topic: Topic, modes: Iterable[str]) -> list[str]:
    """The members of ``modes`` that a topic has; without an instruction, only the original."""
    return [mode for mode in modes if mode == BASE_MODE or mode in topic.instructions]


def topic_query(topic: Topic, mode: str, limit: int) -> Query:
    """The query of a topic in a mode."""
    return Query(
        text=topic.text,
        seeds=(topic.seed,) if topic.seed else (),
        limit=limit,
        evidence=0,
        versions="all",
        instruction=topic.instructions.get(mode, ""),
        same=(topic.aspect,) if topic.aspect and not topic.told else (),
        literal=not topic.typed,  # most benchmarks' queries are searched as they were written
    )


def _rank(
    cell: Cell, topic: Topic, mode: str, repeat: int, searcher: Searcher, begun: Prefixes
) -> RankingRecord:
    benchmark = cell.benchmark
    dropped = benchmark.excluded.get(topic.id, frozenset())
    nothing = RankingRecord(
        cell.key, topic.id, mode, repeat, ids=(), scores=(), seconds=0.0, version=__version__
    )
    pool: tuple[str, ...] | None = None
    if cell.protocol == "pool":
        held = (benchmark.pools or {}).get(topic.id, ())
        pool = tuple(i for i in held if i not in dropped and i != topic.seed)
        if not pool:
            return nothing
    clock = perf_counter()
    try:
        query = topic_query(topic, mode, cell.depth if pool is None else len(pool))
    except UsageError as error:
        raise BadInput(f"topic {topic.id} gives no query: {error.what}", why=error.why) from error
    try:
        plan = searcher.plan(query, cell.recipe)
    except UsageError:
        if topic.typed:  # read like a user's, and refused: no hits
            return nothing
        raise
    hidden = tuple(dict.fromkeys((*plan.exclude, *sorted(dropped | benchmark.unranked))))
    plan = replace(plan, exclude=hidden, within=pool, solution=topic.solution)
    result = searcher.result(plan, salt=str(repeat) if repeat else "", prefixes=begun)
    for step in result.steps:
        if step.stopped is not None:
            raise step.stopped
    ids, scores, late = placed_whole(result.ids, result.scores, pool or ())
    return replace(
        nothing,
        ids=ids,
        scores=scores,
        seconds=perf_counter() - clock,
        tally=sum((step.tally for step in result.steps), Tally()),
        missing=late,
        error=next((f"{e.what}: {e.why}".rstrip(": ") for s in reversed(result.steps) if (e := s.error)), ""),
    )


def placed_whole(
    ids: Sequence[str], scores: Sequence[float], pool: Collection[str]
) -> tuple[tuple[str, ...], tuple[float, ...], int]:
    """A ranking in which every paper of a pool has a place, and how many the recipe did not rank.

    Those follow all that were ranked, by id, descending, as the default order of ties is; each one scores 1
    less than the one before, so that no preset orders them otherwise. No order of the pool's file is used: it
    may list relevant papers first.

    Args:
        ids: as ranked, best first.
        scores: theirs.
        pool: what must be ranked; empty for a collection.

    >>> placed_whole(["b"], [0.5], ["a9", "b", "a10", "c"])
    (('b', 'c', 'a9', 'a10'), (0.5, -0.5, -1.5, -2.5), 3)
    """
    rest = sorted(set(pool) - set(ids), reverse=True)
    lowest = min(scores, default=0.0)
    below = [lowest - 1.0 - n for n in range(len(rest))]
    return (*ids, *rest), (*scores, *below), len(rest)
