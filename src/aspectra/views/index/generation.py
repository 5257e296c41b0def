"""An opened index generation: ids, columns to filter by, units, lenses, encoders."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, NoSuchPaper, ViewMismatch
from aspectra.base.values import converted
from aspectra.papers.library.rows import text_hash
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.encoders.protocol import Encoder, load_encoder, refusal
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.lenses.protocol import LensValues
from aspectra.views.protocol import ViewFacts
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import StoredArray
from aspectra.views.storage.folder import (
    Units,
    open_folder,
    open_shard,
    paper_spans,
    stored_codes,
    stored_ids,
)
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import ROLE_GROUPS, Floats, Positions

_ALWAYS = ("venues", "languages")  # columns that generations of all versions have
# What is loaded when it is first read.
_ARRAYS = ("sample", "years", "text_hashes", "cited_by", "references", "full_text", "citations")


class Generation:
    """One immutable generation, opened for reading until :meth:`close`.

    Its files are checked when it is opened: one that is not as it was written raises LibraryCorrupt.

    Args:
        library: where it belongs; texts of seeds are read from it.
        folder: the generation's folder.
        load: makes an encoder from its specification.
        shard: number of the only shard that is read, of the generation of a collection: it scores its own
            papers, by statistics of the collection; None for all papers.

    Raises:
        LibraryCorrupt: it is damaged, was written by a newer version, or is gone.
        AspectraError: too many files are open.
    """

    def __init__(
        self,
        library: Store,
        folder: Path,
        load: Callable[[str], Encoder] = load_encoder,
        shard: int | None = None,
    ) -> None:
        self.library = library
        self.folder = folder
        # Views are opened when they are first used; until then nothing may take their files away.
        self._release = weakref.finalize(self, os.close, library.generations.hold(folder))
        try:
            self.manifest: dict[str, Any] = library.generations.manifest(folder)
            if shard is None:
                self.files = self._whole = open_folder(library.generations, folder, self.manifest)
                self.papers = slice(0, self.manifest["papers"])  # positions in the whole generation
            else:
                opened = open_shard(library.generations, folder, self.manifest, shard)
                self.files, self._whole, self.papers = opened
            self.ids: list[str] = stored_ids(self.files)
            self.id_order: NDArray[np.int32] = self._whole.whole("id_order")[self.papers]
        except BaseException:
            self._release()
            raise
        self._load = load
        self._encoders: dict[str, QueryEncoder] = {}
        self._units: dict[str, Units] = {}
        self._lenses: dict[str, LensValues] = {}
        self._roles: dict[tuple[str, ...], Floats] = {}
        self._coded: dict[str, tuple[NDArray[np.int32], list[str]]] = {}
        self._lock = threading.RLock()
        self._users = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self.ids)

    def enter(self) -> bool:
        """Keep the files open until :meth:`leave`, though another thread may close; False: it did."""
        with self._lock:
            self._users += not self._closed
            return not self._closed

    def leave(self) -> None:
        """The end of what :meth:`enter` began."""
        with self._lock:
            self._users -= 1
            if self._closed and not self._users:
                self._free()

    def close(self) -> None:
        """Close all files as soon as no thread uses them any more; the views cannot be used after that."""
        with self._lock:
            self._closed = True
            if not self._users:
                self._free()

    def _free(self) -> None:
        """Drop what was loaded, and close its files."""
        self.id_order = np.zeros(0, np.int32)
        for loaded in (self._units, self._lenses, self._roles, self._coded):
            loaded.clear()
        for name in _ARRAYS:
            self.__dict__.pop(name, None)
        self.files.close()
        self._whole.close()
        self._release()

    @cached_property
    def settings(self) -> IndexSettings:
        """Settings that the generation was built with.

        Checking them imports all lenses, so a search reads only the parts that it needs.
        """
        return IndexSettings.from_dict(self.manifest["settings"])

    @cached_property
    def lexical(self) -> LexicalSettings:
        """The settings of the views of words."""
        return converted(self.manifest["settings"]["lexical"], LexicalSettings)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Paper id -> position."""
        return {paper_id: i for i, paper_id in enumerate(self.ids)}

    @cached_property
    def sample(self) -> Positions:
        """Positions of the fixed random sample that scores are standardised against."""
        return self.own(self._whole.whole("sample"))[1]

    def own(self, papers: Positions) -> tuple[NDArray[np.bool_], Positions]:
        """(n,) True for positions in the whole generation whose papers are held here; where they are here."""
        inside = (self.papers.start <= papers) & (papers < self.papers.stop)
        return inside, np.asarray(papers[inside] - self.papers.start)

    @cached_property
    def years(self) -> NDArray[np.int32]:
        """Year of each paper, 0 when unknown."""
        return self.files.whole("years")

    def coded(self, column: str) -> tuple[NDArray[np.int32], list[str]]:
        """Codes per paper and their names, for ``venues`` and ``languages``.

        Where the generation :attr:`keeps_records` also for ``publishers``, ``affiliations`` (a line each),
        ``types``, ``origins`` and ``accesses``, see :class:`~aspectra.papers.bibliography.RecordFacts`; where
        it does not, one empty name.
        """
        with self._lock:
            if column not in self._coded and column not in _ALWAYS and not self.keeps_records:
                return np.zeros(len(self), np.int32), [""]
            if column not in self._coded:
                self._coded[column] = stored_codes(self.files, column)
            return self._coded[column]

    @property
    def waiting(self) -> str:
        """Values that ``index`` has not made yet, because it is running or was stopped; "" for none."""
        return str(self.manifest.get("waiting", ""))

    @property
    def keeps_records(self) -> bool:
        """True if it has the columns of facts from records; generations of older versions lack them."""
        return "records" in self.manifest

    @cached_property
    def cited_by(self) -> NDArray[np.int32]:
        """Citations of each paper as its record states them, -1 where it does not."""
        return self._stated("cited_by", -1)

    @cached_property
    def references(self) -> NDArray[np.int32]:
        """Number of references that each paper lists."""
        return self._stated("references", 0)

    @cached_property
    def full_text(self) -> NDArray[np.bool_]:
        """(papers,) True for each paper whose full text the library holds."""
        return self._stated("full_text", 0).astype(np.bool_)

    @cached_property
    def citations(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(rows, targets) of the citations between papers: paper n cites ``targets[rows[n]:rows[n + 1]]``."""
        if not self.keeps_records:
            return np.zeros(len(self) + 1, np.int64), np.zeros(0, np.int32)
        return self.files.whole("citation_rows"), self.files.whole("citations")

    def _stated(self, name: str, absent: int) -> NDArray[Any]:
        return self.files.whole(name) if self.keeps_records else np.full(len(self), absent, np.int32)

    @cached_property
    def text_hashes(self) -> StoredArray:
        """(papers, 16) uint8 hashes of the texts that the units count in."""
        return self.files.array("text_hashes")

    def position(self, paper_id: str) -> int:
        """Position of a paper.

        Raises:
            NoSuchPaper: it is not in this generation.
        """
        if paper_id not in self.positions:
            raise NoSuchPaper(
                f"{paper_id!r} is not in the index",
                why="it was added after the last index",
                hint="aspectra index",
            )
        return self.positions[paper_id]

    @property
    def view_names(self) -> list[str]:
        """Names of the views of this generation."""
        return sorted(self.manifest["views"])

    def units_of(self, facts: ViewFacts) -> Units | None:
        """The units of a view; None where each paper is one."""
        return self.units(facts.units) if facts.units else None

    def units(self, name: str) -> Units:
        """The units of ``sentences`` or of a chunk size (``chunks-250w``)."""
        with self._lock:
            if name not in self._units:
                self._units[name] = Units.load(self.files.folder(name))
            return self._units[name]

    @property
    def lens_names(self) -> list[str]:
        """Names of the lenses of this generation."""
        return sorted(self.manifest.get("lenses", {}))

    def lens(self, name: str) -> LensValues:
        """The values of a lens, for every paper or every unit of ``sentences``.

        Raises:
            ViewMismatch: the generation has no such lens.
        """
        with self._lock:
            if name not in self._lenses:
                facts = self.manifest.get("lenses", {}).get(name)
                if facts is None:
                    raise ViewMismatch(
                        f"the index has no lens {name!r}",
                        why="it has "
                        + (", ".join(self.lens_names) or "none: it was built before there were any"),
                        hint=f"aspectra lens add {name} && aspectra index",
                    )
                # The rows of a lens of sentences are those of the units.
                order = self.units("sentences").order if facts["kind"] == "sentence" else self.files.order
                values = self.files.whole(f"lens-{name}", order)
                self._lenses[name] = LensValues(tuple(facts["labels"]), values)
            return self._lenses[name]

    def role_weights(self, roles: tuple[str, ...]) -> Floats:
        """(units of sentences,) 1 where the sentence has one of the roles, else 0.

        The likeliest group of roles decides, and within a group that is not asked for as a whole the
        likeliest role. Deciding did better on development data than weighing by probability.
        """
        with self._lock:
            if roles not in self._roles:
                lens = self.lens("roles")
                table = np.nan_to_num(np.asarray(lens.values, dtype=np.float32))
                columns = [[lens.labels.index(role) for role in group] for group in ROLE_GROUPS]
                leader = np.stack([table[:, c].sum(axis=1) for c in columns]).argmax(axis=0)
                likeliest = np.isin(table.argmax(axis=1), [lens.labels.index(r) for r in roles])
                wanted = np.zeros(len(table), dtype=np.bool_)
                for number, group in enumerate(ROLE_GROUPS):
                    asked = [role in roles for role in group]
                    if any(asked):
                        wanted |= (leader == number) & (likeliest | all(asked))
                told = table.max(axis=1) > 0  # a title has no role
                self._roles[roles] = (wanted & told).astype(np.float32)
            return self._roles[roles]

    def seed_text(self, facts: ViewFacts) -> Callable[[str], str]:
        """Paper id -> its text in a view: that of the abstract, or the value of a prompted lens ("")."""
        if facts.lens:
            from aspectra.views.prompted.definition import text_of_paper  # few libraries have such lenses

            return partial(text_of_paper, self.library, facts.lens, facts.stored["values"])
        return lambda paper_id: paper_spans(self.library.get(paper_id))[0]

    def query_encoder(self, facts: ViewFacts) -> QueryEncoder:
        """Shared by all views of one encoder; checked against the view's fingerprint when it loads."""
        spec, fingerprint = facts.stored["encoder"], facts.stored["fingerprint"]
        with self._lock:
            if spec not in self._encoders:
                views = self.manifest["views"].values()
                late = any(one["kind"] == "late" and one["encoder"] == spec for one in views)
                self._encoders[spec] = QueryEncoder(lambda: self._checked(spec, fingerprint), tokens=late)
            return self._encoders[spec]

    def refusal(self, spec: str) -> AspectraError | None:
        """The error that keeps the library's encoder from being loaded; None without an error or encoder."""
        return refusal(spec) if spec and self._load is load_encoder else None

    def _checked(self, spec: str, fingerprint: str) -> Encoder:
        encoder = self._load(spec)
        if encoder.fingerprint != fingerprint:
            raise ViewMismatch(
                f"the views of {spec} were built with another version of that encoder",
                why=f"the index has fingerprint {fingerprint}, the installed encoder {encoder.fingerprint}; "
                "their vectors cannot be compared",
                hint="aspectra index",
            )
        return encoder

    def facts(self, name: str) -> ViewFacts:
        """Facts about a view, found without opening it; ``stored`` is empty if the view does not exist."""
        return ViewFacts.of(name, self.manifest["views"].get(name))

    def unchanged(self, paper: Paper) -> bool:
        """True if a paper's title and abstract are those that were indexed, so that its units fit them."""
        indexed: bytes = self.text_hashes[self.positions[paper.id]].tobytes()
        return bytes.fromhex(text_hash(paper)) == indexed

    def default_encoder(self) -> str:
        """Name of the encoder of the first dense abstract view, or "" without one."""
        for spec in self.manifest["settings"]["encoders"]:
            for facts in map(self.facts, self.manifest["views"]):
                if facts.base == "abstract" and facts.stored.get("encoder") == spec:
                    return facts.scorer
        return ""
