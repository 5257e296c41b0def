"""The front door: one object that adds, indexes, searches, shows and exports; the commands use it too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from aspectra.app.settings import DEFAULT_RECIPE, Preferences, export_formats, make_query
from aspectra.base.display import Displayed, Progress, quiet
from aspectra.base.errors import check_choice
from aspectra.papers.library.store import Store
from aspectra.search.conditions.lists import UserLists

if TYPE_CHECKING:
    from aspectra.app.ingest.files import FileReport
    from aspectra.app.ingest.saved import SavedSearches
    from aspectra.app.ingest.works import LibraryMarks, Works
    from aspectra.llm.chat import ChatModel
    from aspectra.papers.paper import Paper
    from aspectra.papers.sources.protocol import ReadOptions
    from aspectra.search.plan import Plan
    from aspectra.search.planning.model_reader import ModelReader
    from aspectra.search.query import Query
    from aspectra.search.ranking import Ranking
    from aspectra.search.recipe import Recipe
    from aspectra.search.searcher import Searcher
    from aspectra.views.build.collection import Builder
    from aspectra.views.build.draft import IndexReport


class Library(Displayed):
    """A library of papers and its search; a context manager.

    Make one with :func:`aspectra.open` or :func:`aspectra.create`.

    Args:
        store: the papers, for whoever needs more than the methods here.
        model: the language model for steps that need one, or None; may be changed between two searches.
        lanes: calls to it under way at once; may be changed too, as may ``lists``, which conditions name, and
            ``second``, which reads questions beside the rules, see
            :class:`~aspectra.search.planning.model_reader.ModelReader`.

    >>> len(library)  # in these examples: three papers, in folder / "papers.lib"
    3
    """

    def __init__(self, store: Store, *, model: ChatModel | None = None, lanes: int = 8) -> None:
        self.store = store
        self.model, self.lanes, self.lists = model, lanes, UserLists()
        self.second: ModelReader | None = None

    @cached_property
    def searcher(self) -> Searcher:
        """The searcher over the current index."""
        from aspectra.search.searcher import Searcher

        made = Searcher(self.store)
        if self._on_cluster and not self.store.missing:
            from aspectra.cluster.nodes import shards_of

            made.elsewhere = shards_of(self.store.folder)
        return made

    @property
    def _on_cluster(self) -> bool:
        if self.store.collection is None:
            return False
        from aspectra.cluster import is_started

        return is_started(self.store.folder)

    @cached_property
    def marks(self) -> LibraryMarks:
        """Tags, notes, decisions and edits: read, written and undone."""
        from aspectra.app.ingest.works import LibraryMarks

        return LibraryMarks(self.store)

    @cached_property
    def works(self) -> Works:
        """Duplicates, merging and splitting of works, and the flow through a review."""
        from aspectra.app.ingest.works import Works

        return Works(self.store)

    @cached_property
    def saved(self) -> SavedSearches:
        """Saved searches, and what is new in them."""
        from aspectra.app.ingest.saved import SavedSearches

        return SavedSearches(self)

    def __enter__(self) -> Library:
        self.store.meta("format")  # a closed one says so
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.store)

    def close(self) -> None:
        """Release the library's files."""
        self.__dict__.get("searcher", self.store).close()  # a searcher closes the store too

    def add(
        self,
        *paths: Path | str,
        source: str | None = None,
        again: bool = False,
        options: ReadOptions | None = None,
        report: Callable[[FileReport], None] = lambda report: None,
        progress: Progress = quiet,
    ) -> list[FileReport]:
        """Add papers from files and folders; returns one report per file.

        Args:
            paths: files, or folders of files.
            source: the format, such as ``"bibtex"``; detected from the content where None.
            again: read files even if they have not changed.
            options: limits for reading.
            report: called with each report as soon as its file is done.
            progress: called with (step, done, total); a total of 0 is unknown.

        Raises:
            UsageError: the format does not exist.
            LibraryBusy: another process is writing.

        >>> [(r.source, r.unchanged) for r in library.add(folder / "papers.bib")]
        [('bibtex', 3)]
        """
        from aspectra.app.ingest.files import Adding
        from aspectra.papers.sources.protocol import SOURCES, ReadOptions

        if source is not None:
            SOURCES.get(source)  # a wrong name is an error before anything is read
        with self.store.writing("add") as writer:
            adding = Adding(self.store, writer, source, options or ReadOptions(), again, progress)
            reports = adding.run([Path(path) for path in paths], report)
            writer.checkpoint()
        return reports

    def resolve(self, *papers: str) -> list[str]:
        """Ids of papers by id, DOI, arXiv id or exact title, once each; NoSuchPaper where it is none."""
        return list(dict.fromkeys(self.store.resolve(one) for one in papers))

    def remove(self, *ids: str) -> int:
        """Remove papers (as in :meth:`resolve`); returns how many there were.

        Raises NoSuchPaper where one is not in the library; nothing is removed then.
        """
        found = self.resolve(*ids)
        with self.store.writing("remove") as writer:
            removed = writer.remove(found)
            writer.checkpoint()
        return removed

    def index(
        self,
        *,
        encoders: Sequence[str] | None = None,
        rebuild: bool = False,
        terms: bool = False,
        progress: Progress = quiet,
        **settings: Any,
    ) -> IndexReport:
        """Make what was added searchable; only what is new is encoded.

        Args:
            encoders: as ``["minilm"]``, which permits what each needs (:mod:`aspectra.base.trust`); ``[]``:
                words only. None: the library's, without those neither installed nor used in it.
            rebuild: build even if nothing changed.
            terms: encode papers again that were encoded before terms of aspects were kept.
            progress: called with (step, done, total).
            settings: other fields of :class:`~aspectra.views.settings.IndexSettings`, such as ``chunks``; and
                those of its BM25 (``k1``, ``b``, ``method``, ``stemmer``). They stay with the library.

        Raises:
            UsageError: a setting is unknown or out of its range.
            NotTrusted: an encoder that the library names is not permitted.
            LibraryBusy: another process is writing.

        >>> library.index(encoders=[]).changed
        False
        """
        from aspectra.views.build.collection import index_shards
        from aspectra.views.build.run import build_index
        from aspectra.views.build.work import settings_of
        from aspectra.views.encoders.protocol import permit_encoder

        changed = {k: value for k, value in {"encoders": encoders, **settings}.items() if value is not None}
        for spec in encoders or ():
            permit_encoder(spec)  # whoever writes it here permits it; a wrong one is an error at once
        chosen = settings_of(self.store).changed(**changed) if changed else None
        build: Callable[..., IndexReport] = build_index
        if self.store.collection is not None:
            build = partial(index_shards, build=self._builder(progress))
        done = build(
            self.store, chosen, progress=progress, rebuild=rebuild, terms=terms, lenient=encoders is None
        )
        if "searcher" in self.__dict__:
            self.searcher.refresh()
        return done

    def _builder(self, progress: Progress) -> Builder | None:
        """What indexes the shards of a collection, where they are on a cluster."""
        if not self._on_cluster:
            return None
        from aspectra.cluster.nodes import builder

        return builder(self.store.folder, progress)

    def query(self, text: str = "", seeds: Sequence[str] = (), **given: Unpack[Preferences]) -> Query:
        """The whole question as one value.

        Args:
            text: words, or "".
            seeds: ids, DOIs, arXiv ids or exact titles of papers.
            given: see :class:`~aspectra.app.settings.Preferences`.

        Raises:
            UsageError: the question cannot mean anything.
            NoSuchPaper: a seed is not in the library.

        >>> library.query("owls", since="2020", conditions="avoid kind=survey").conditions[0].spelling
        'require year=>=2020'
        """
        self.know_lenses()
        self.marks.check_tags(given.get("tags", ()))
        return make_query(text, tuple(self.resolve(*seeds)), given)

    def know_lenses(self) -> None:
        """Let conditions, in queries and in plans from files, name the library's prompted lenses."""
        from aspectra.search.conditions.attributes.labels.lensed import know_lenses

        know_lenses(self.store)

    def plan(
        self,
        text: str = "",
        *,
        seeds: Sequence[str] = (),
        recipe: Recipe | str = DEFAULT_RECIPE,
        **given: Unpack[Preferences],
    ) -> Plan:
        """Plan a search without running it; the plan prints, saves as TOML or JSON and can be run.

        Args:
            text: as in :meth:`search`.
            seeds: as in :meth:`similar`.
            recipe: steps, as ``"bm25 | top(200) | hybrid | rerank"``, or the TOML file of a recipe.
            given: as in :meth:`search`.

        Raises:
            UsageError: the question or the recipe cannot mean anything.
            ViewMismatch: the library has no index, or lacks a view that the recipe needs.

        >>> [probe.view for probe in library.plan("owls", recipe="bm25").search.probes]
        ['abstract@bm25']
        """
        self.searcher.lists, self.searcher.second = self.lists, self.second
        return self.searcher.plan(self.query(text, seeds, **given), recipe)

    def run(self, plan: Plan, *, explain: bool = False) -> Ranking:
        """The ranking of a plan.

        Args:
            plan: from :meth:`plan`, or read from a file with ``Plan.load``.
            explain: also find each hit's rank in the order of every probe.

        Raises:
            UsageError: a step needs a language model, and the library was opened without one.
            ViewMismatch: as :meth:`plan`.

        >>> library.run(library.plan("owls", recipe="bm25")).ids
        ['owl']
        """
        self.searcher.model, self.searcher.lanes = self.model, self.lanes
        return self.searcher.run(plan, explain=explain)

    def search(
        self,
        text: str,
        *,
        recipe: Recipe | str = DEFAULT_RECIPE,
        explain: bool = False,
        **given: Unpack[Preferences],
    ) -> Ranking:
        """Papers for a question in words, best first, each with the sentences that support it.

        Constraints in the text are detected and applied, unless ``literal=True``.

        Args:
            text: the question.
            recipe: as in :meth:`plan`.
            explain: as in :meth:`run`.
            given: see :class:`~aspectra.app.settings.Preferences`.

        Raises:
            As :meth:`plan` and :meth:`run`.

        >>> hits = library.search("how do owls hunt?", since=2015, limit=1)
        >>> hits[0].id, hits[0].evidence[0].quote
        ('owl', 'Owls listen for mice in the dark.')
        """
        return self.run(self.plan(text, recipe=recipe, **given), explain=explain)

    def similar(
        self,
        *seeds: str,
        text: str = "",
        recipe: Recipe | str = DEFAULT_RECIPE,
        explain: bool = False,
        **given: Unpack[Preferences],
    ) -> Ranking:
        """Papers like the seeds (as in :meth:`resolve`); they and their other versions are not shown.

        The rest is as in :meth:`search`; ``text`` are further words, searched together with the seeds.

        >>> library.similar("Owls hunt at night", limit=1).ids
        ['mice']
        """
        return self.run(self.plan(text, seeds=seeds, recipe=recipe, **given), explain=explain)

    def show(self, paper: str) -> Paper:
        """One paper with its full text, by id, DOI, arXiv id or exact title; NoSuchPaper where it is none.

        >>> library.show("owl").year
        2019
        """
        return self.store.get(self.store.resolve(paper))

    def links(self, paper: str) -> dict[str, list[str]]:
        """Ids of a paper's other ``versions``, of what it ``cites`` and what it is ``cited_by``.

        >>> library.links("owl")
        {'versions': [], 'cites': [], 'cited_by': []}
        """
        held = self.store.resolve(paper)
        return {
            "versions": self.store.versions([held]).get(held, []),
            "cites": self.store.cites(held),
            "cited_by": self.store.cited_by(held),
        }

    def export(
        self,
        papers: Ranking | Iterable[Paper | str] | None = None,
        format: str = "bibtex",  # noqa: A002
        versions: Literal["best", "all"] = "best",
    ) -> str:
        """Papers as text for other programs.

        Args:
            papers: a ranking, papers, or their ids, or one id; None for all papers of the library.
            format: name of a writer, as ``bibtex``, or ``trec`` for rankings.
            versions: ``best``: one record per work, completed from its other records; ``all``: each record.

        Raises:
            UsageError: the format does not exist, or does not fit.
            NoSuchPaper: an id is not in the library.

        >>> library.export(["owl"], "csv").splitlines()[0][:9]
        'id,title,'
        """
        from aspectra.app.ingest.works import written

        check_choice(format, export_formats(), "export format")
        if papers is not None and not hasattr(papers, "to_trec"):
            papers = [papers] if isinstance(papers, str) else papers
            papers = self.resolve(*(one if isinstance(one, str) else one.id for one in papers))
        return written(self.store, papers, format, versions)

    def backup(self, file: Path | str) -> Path:
        """Copy the library to one file while it is in use, as :func:`aspectra.restore` reads it."""
        from aspectra.papers.library.copies.backup import back_up

        return back_up(self.store, Path(file))

    def status(self) -> dict[str, Any]:
        """Counts of papers and records, and facts of the index (None before the first).

        >>> library.status()["papers"]
        3
        """
        from aspectra.app.ingest.library_facts import facts_of

        return facts_of(self.store)


def open_library(
    path: Path | str, *, model: ChatModel | None = None, lanes: int = 8, partial: bool = False
) -> Library:
    """Open a library.

    Args:
        path: its folder.
        model: the language model for steps that need one, from :func:`aspectra.llm.assemble.build_model`.
        lanes: calls to it under way at once.
        partial: search a collection although shards are missing; each ranking says which.

    Raises:
        LibraryNotFound: there is none; ``aspectra.create`` makes one.
        LibraryCorrupt: it is damaged, or was written by a newer version.

    >>> with open_library(folder / "papers.lib") as opened:
    ...     opened.search("owls").ids
    ['owl']
    """
    return Library(Store(path, partial=partial), model=model, lanes=lanes)


def create_library(path: Path | str, *, shards: int = 0) -> Library:
    """Make a library, or open the one that is there.

    Args:
        path: its folder; made where it does not exist.
        shards: number of libraries that share its papers, for a collection of millions; 0 for one that holds
            them itself.

    Raises:
        UsageError: the folder holds other things, or a library with another number of shards.

    >>> with create_library(folder / "new.lib") as made:
    ...     [r.added for r in made.add(folder / "papers.bib")], made.index(encoders=[]).papers
    ([3], 3)
    """
    return Library(Store.create(path, shards=shards))
