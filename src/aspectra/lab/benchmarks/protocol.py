"""Benchmarks: what one declares, and what loading it gives.

To add a benchmark, write one module in ``lab/benchmarks`` with a function ``load(folder, options) ->
Benchmark`` decorated with ``@benchmark(name, ...)``; a third party names the module in an entry point of the
group ``aspectra.benchmark``. ``bench list``, ``bench audit`` and ``bench fetch`` show and check what it
declares. ``tests/unit/lab/test_benchmark_conformance.py`` tests every member on a made-up folder of
``tests/benchmark_fixtures.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from aspectra.base.errors import BadInput, MissingExtra, UsageError, refuse_unknown
from aspectra.base.files import digest
from aspectra.base.registry import Registry
from aspectra.base.values import replace
from aspectra.lab.benchmarks._files import (
    Folder,
    collection_at,
    compared,
    hub_sets,
    next_command,
    place,
    where,
)
from aspectra.lab.benchmarks._files import HubSet as HubSet
from aspectra.lab.runs.files import DUPLICATES, Grades
from aspectra.papers.paper import Paper

T = TypeVar("T")
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Topic:
    """One unit of scoring: a query, perhaps with instructions.

    Attributes:
        id: unique in the benchmark.
        text: the query text; "" where the seed alone is the query.
        seed: id of the seed paper, which is in the corpus, or "".
        aspect: the wanted aspect (``background``, ``method``, ``result``), or "".
        instructions: mode -> instruction text; modes that a topic lacks are absent.
        group: the core query this is a variant of (all instructed variants of one query, all aspects of one
            seed), or "".
        labels: what results are broken down by: ``dimension``, ``specificity``, ``quality`` ...
        typed: whether conditions are read out of the text, as out of a user's; else it is searched as it is.
        told: whether the aspect is stated by the instruction alone, and is not a field of the query.
        solution: of the query, for judges that are told to read solutions, and for nothing else.
    """

    id: str
    text: str = ""
    seed: str = ""
    aspect: str = ""
    instructions: Mapping[str, str] = field(default_factory=lambda: _NONE)
    group: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)
    typed: bool = False
    told: bool = False
    solution: str = ""


@dataclass(frozen=True)
class Audit:
    """Findings of loading. Counts are printed with every result; nothing is repaired silently.

    Attributes:
        checksums: file name -> SHA-256 of the bytes read.
        documents: documents in the corpus.
        topics: topics kept.
        judged: (judgement set, pairs) counts.
        problems: each one sentence: judged documents missing from the corpus, empty queries, duplicates ...
    """

    checksums: Mapping[str, str] = field(default_factory=lambda: _NONE)
    documents: int = 0
    topics: int = 0
    judged: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark.

    Attributes:
        name: registry name, with the part after ``/`` (``birco/doris-mae``).
        papers: the corpus, streaming; call again to start again.
        topics: units of scoring.
        qrels: judgement set -> judgements; for instruction sets the set is named like the mode, else
            ``gold`` and, where there is one, ``pooled``.
        revision: pinned revision, or a hash of the checksums for local copies.
        licence, source: what its owners allow, where it comes from and whom to cite; "" takes the declared
            ones.
        modes: ``("original",)``, or original, instructed, reversed.
        pools: topic -> documents to be ranked (re-ranking protocol), or None for the whole collection.
        excluded: topic -> documents dropped from its ranking before scoring.
        unranked: papers of the corpus that no topic ranks: query papers, which bring their text.
        measures: canonical names of the measures its paper reports; empty takes the declared ones.
        folds: fold name -> topic ids, where the benchmark defines folds.
        audit: what loading found.
        people: person -> ratings that this person alone gave, where the release has them: their order is a
            ranking by people.
        seeds: where queries are papers that the corpus need not hold: those papers with all their text,
            streaming, under the ids in :attr:`Topic.group`; else None.
    """

    name: str
    papers: Callable[[], Iterator[Paper]]
    topics: tuple[Topic, ...]
    qrels: Mapping[str, Grades]
    revision: str = ""
    licence: str = ""
    source: str = ""
    modes: tuple[str, ...] = ("original",)
    pools: Mapping[str, tuple[str, ...]] | None = None
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unranked: frozenset[str] = frozenset()
    measures: tuple[str, ...] = ()
    folds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit)
    people: Mapping[str, Grades] = field(default_factory=dict)
    seeds: Callable[[], Iterator[Paper]] | None = None

    @property
    def judgement_hash(self) -> str:
        """Changes with any grade of any judgement set."""
        return digest({name: {t: dict(docs) for t, docs in own.items()} for name, own in self.qrels.items()})

    def sampled(self, only: str, sample: str, draw: str) -> Benchmark:
        """The benchmark with a part of its topics, in their order; the audit says how many.

        Args:
            only: ``LABEL=VALUE`` that they have, or "".
            sample: how many, as ``40``, or of each value of a label, as ``40/origin``; "" for all.
            draw: seed; which topics are drawn depends on it and on their ids, and on nothing else.

        Raises:
            UsageError: ``only`` or ``sample`` cannot be read, or there are fewer topics than wanted.
        """
        label, _, value = only.partition("=")
        count, _, by = sample.partition("/")
        if sample and not (count.isascii() and count.isdigit() and int(count)):
            raise UsageError(f"a sample of {sample!r} cannot be drawn", hint="--option sample=40/specificity")
        groups: dict[str, list[str]] = {}
        for topic in self.topics:
            if not only or topic.labels.get(label) == value:
                groups.setdefault(topic.labels.get(by, "") if by else "", []).append(topic.id)
        groups = {group: ids for group, ids in groups.items() if group or not by}
        short = min(groups.items(), key=lambda one: len(one[1]), default=("", []))
        if len(short[1]) < int(count or 1):
            named = " ".join(
                filter(None, (f"with {only}" if only else "", f"and {by} {short[0]}" if by else ""))
            )
            raise UsageError(
                f"{self.name} has {len(short[1])} topics {named}".rstrip(),
                why=f"{count or 'one or more'} are wanted",
                hint="labels: " + (", ".join(sorted({n for t in self.topics for n in t.labels})) or "none"),
            )
        drawn = [
            sorted(ids, key=lambda i: digest([draw, i]))[: int(count or len(ids))] for ids in groups.values()
        ]
        kept = {topic for ids in drawn for topic in ids}
        said = f"{len(kept):,} of {len(self.topics):,} topics: only {only or 'any'}, sample {sample or 'all'}"
        topics = tuple(topic for topic in self.topics if topic.id in kept)
        problems = (*self.audit.problems, f"{said}, draw {draw}")
        return replace(
            self,
            topics=topics,
            qrels={name: of_topics(kept, grades) for name, grades in self.qrels.items()},
            pools=None if self.pools is None else of_topics(kept, self.pools),
            people={name: of_topics(kept, grades) for name, grades in self.people.items()},
            folds={name: tuple(i for i in ids if i in kept) for name, ids in self.folds.items()},
            audit=replace(self.audit, topics=len(topics), problems=problems),
        )

    def facts(self) -> dict[str, Any]:
        """Everything known of it but its papers, topics and judgements, as JSON."""
        found = self.audit
        return {
            "name": self.name,
            "revision": self.revision,
            "licence": self.licence,
            "source": self.source,
            "documents": found.documents,
            "topics": len(self.topics),
            "judged": dict(found.judged),
            "modes": list(self.modes),
            "protocol": "pools" if self.pools is not None else "the whole collection",
            "labels": sorted({name for topic in self.topics for name in topic.labels}),
            "measures": list(self.measures),
            "checksums": dict(found.checksums),
            "problems": list(found.problems),
        }


def of_topics(kept: Collection[str], held: Mapping[str, T]) -> dict[str, T]:
    """The entries of some topics, in their order."""
    return {topic: value for topic, value in held.items() if topic in kept}


# Reads a benchmark, loaded and audited, from the files of a local folder in its published layout, and every
# declared option, checked, with its default where none was given. Raises BadInput for a file that is missing,
# truncated, or changed under a pinned checksum.
Loader = Callable[[Folder, Mapping[str, str]], Benchmark]


@dataclass(frozen=True)
class Option:
    """An option of a loader.

    Attributes:
        name: as in ``--option name=value``.
        help: what it does, one line.
        values: those it can have; () for any text.
        default: its value where none is given.
    """

    name: str
    help: str
    values: tuple[str, ...] = ()
    default: str = ""

    def __str__(self) -> str:
        """The option as help prints it: ``text=title-abstract|full [title-abstract]: what is indexed``."""
        values = "|".join(self.values) or "TEXT"
        return f"{self.name}={values}{f' [{self.default}]' if self.default else ''}: {self.help}"


# Options that every benchmark has.
COMMON = (
    Option("checksums", "file of pinned SHA-256 sums; a file that differs is an error"),
    Option("revision", "name of the files' revision, instead of a hash of their checksums"),
    Option("duplicates", "which grade counts where a pair is judged twice", DUPLICATES, DUPLICATES[0]),
    Option("only", "LABEL=VALUE: the topics that have this label alone"),
    Option("sample", "N: so many topics, drawn; N/LABEL: so many of each value of the label"),
    Option("draw", "seed of the sample: another number draws other topics", default="0"),
)


@dataclass(frozen=True)
class Declaration:
    """Description of a benchmark, known before its files are read; call it to load them.

    Attributes:
        name: registry name.
        load: reads the files.
        about: what it is, one line.
        files: what its folder must hold, one sentence.
        licence, source: what its owners allow, where it comes from and whom to cite; "" where only the files
            say.
        options: its own options, besides :data:`COMMON`.
        measures: canonical names of the measures its paper reports.
        preset: the preset (``--preset``) that follows its public code.
        hub: data sets to download; empty if it is not on a hub. A benchmark of this package has its own in
            ``data/published.toml``.
    """

    name: str
    load: Loader
    about: str
    files: str
    licence: str = ""
    source: str = ""
    options: tuple[Option, ...] = ()
    measures: tuple[str, ...] = ()
    preset: str = "paper"
    hub: tuple[HubSet, ...] = ()

    def __call__(self, path: Path, **options: Any) -> Benchmark:
        """The loaded benchmark.

        Args:
            path: its folder.
            options: by name; ``checksums`` may also be a mapping from file name to SHA-256.

        Raises:
            BadInput: the folder or a file is missing, damaged, or changed under a pinned checksum.
            UsageError: an option that it does not have, or a value that an option cannot have.
        """
        known = {option.name: option for option in (*self.options, *COMMON)}
        refuse_unknown(options, known, f"option of the benchmark {self.name}")
        for name, value in options.items():
            if known[name].values and value not in (*known[name].values, known[name].default):
                raise UsageError(
                    f"the option {name} of {self.name} cannot be {value!r}",
                    why="known: " + ", ".join(known[name].values),
                )
        chosen = {**{name: option.default for name, option in known.items()}, **options}
        if not path.is_dir():
            raise self.absent(path, chosen)
        folder = Folder(path, chosen["checksums"], chosen["duplicates"])
        found = self.load(folder, chosen)
        pinned, other = compared(found.name, found.audit.checksums, path)
        if other:
            said = (f"{file} is not the file of the published revision" for file in other)
            found = replace(found, audit=replace(found.audit, problems=(*found.audit.problems, *said)))
        if chosen["only"] or chosen["sample"]:
            found = found.sampled(chosen["only"], chosen["sample"], chosen["draw"])
        of_files = f"files:{digest(found.audit.checksums)[:16]}"
        return replace(
            found,
            revision=chosen["revision"] or found.revision or pinned or of_files,
            licence=found.licence or self.licence,
            source=found.source or self.source,
            measures=found.measures or self.measures,
        )

    def absent(self, path: Path, options: Mapping[str, Any], what: str = "") -> BadInput:
        """The error of a folder or part that is not there: the files, where they are, and the next command.

        Args:
            path: the benchmark's folder.
            options: of the loader; one may name the only part that is needed.
            what: the message; "" for a missing folder.
        """
        name = collection_at(path) or self.name
        home = next((str(one) for one in (path, *path.parents) if one.name == name), str(path))
        held = place(name)
        if held and held.option and options.get(held.option):
            name = f"{name}/{options[held.option]}"
        return BadInput(
            what or f"{path} is not a folder",
            why=f"needs data: {where(name, str(path), self.licence)}",
            hint=next_command(name, home) or "name the folder that holds the benchmark's files",
        )


BENCHMARKS: Registry[Declaration] = Registry("benchmark", __package__)


def benchmark(name: str, **declared: Any) -> Callable[[Loader], Declaration]:
    """Decorator that declares a benchmark and registers its loader.

    Args:
        name: registry name.
        declared: any other field of :class:`Declaration`; ``about`` is the first line of the loader's
            docstring where it is not given.
    """

    def add(load: Loader) -> Declaration:
        own = {"about": (load.__doc__ or "").partition("\n")[0], "hub": hub_sets(name)}
        return BENCHMARKS.register(name)(Declaration(name, load, **{**own, **declared}))

    return add


# Fetching a benchmark from a data hub, at a pinned revision (extra ``hub``).


def fetch(sets: Sequence[HubSet], folder: Path) -> Path:
    """Download data sets into ``folder``, from which a loader reads them; returns ``folder``.

    Raises:
        MissingExtra: the hub's client is not installed.
        BadInput: the network is down, or the hub refuses.
    """
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtra(
            "fetching from the hub needs huggingface_hub",
            hint="pip install aspectra[hub], or download the files and name their folder",
        ) from error
    for one in sets:
        try:
            hub.snapshot_download(
                repo_id=one.repo,
                repo_type="dataset",
                revision=one.revision or None,
                local_dir=str(folder / one.folder),
                allow_patterns=list(one.only) or None,
            )
        except Exception as error:  # the client raises errors of its own, of the network's and of others
            raise BadInput(
                f"cannot fetch {one.repo} from the hub",
                why=f"{type(error).__name__}: {error}".splitlines()[0][:300],
                hint="check the network, or download the files elsewhere and name their folder",
            ) from error
    return folder
