"""An opened index generation: ids, columns to filter by, and its views."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt, NoSuchPaper, ViewMismatch
from aspectra.base.values import replace as changed
from aspectra.papers.library.rows import text_hash
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.views.arrays import load_array
from aspectra.views.build.lenses import load_lens
from aspectra.views.dense.query_encoder import QueryEncoder
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.kinds.protocol import VIEW_KINDS, Asked, VectorView, View, ViewFacts, WordView
from aspectra.views.lenses.protocol import LensValues
from aspectra.views.prompted.building import reading_text
from aspectra.views.settings import IndexSettings
from aspectra.views.units import Units, paper_spans
from aspectra.views.view import ROLE_GROUPS, Floats, Matching, Positions, Probe, Scored

__all__ = ["Index"]

_NEWEST = 1


class Index:
    """One immutable generation, opened for search.

    Args:
        library: where it belongs; texts of seeds are read from it.
        folder: the generation's folder.
        load: makes an encoder from its specification.
    """

    def __init__(self, library: Store, folder: Path, load: Callable[[str], Encoder] = load_encoder) -> None:
        self.library = library
        self.folder = folder
        # Views are opened when they are first used; until then nothing may take their files away.
        weakref.finalize(self, os.close, library.generations.hold(folder))
        self.manifest: dict[str, Any] = library.generations.manifest(folder)
        if int(self.manifest.get("format", 0)) > _NEWEST:
            raise LibraryCorrupt(
                "the index was built by a newer Aspectra", hint="pip install --upgrade aspectra"
            )
        self.settings = IndexSettings.from_dict(self.manifest["settings"])
        self.ids: list[str] = json.loads((folder / "ids.json").read_text("utf-8"))
        self.id_order: NDArray[np.int32] = self.array("id_order")
        self._load = load
        self._views: dict[str, View] = {}
        self._encoders: dict[str, QueryEncoder] = {}
        self._units: dict[str, Units] = {}
        self._lenses: dict[str, LensValues] = {}
        self._roles: dict[tuple[str, ...], Floats] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self.ids)

    def array(self, name: str) -> Any:
        """A stored array, memory-mapped."""
        return load_array(self.folder / f"{name}.npy")

    @cached_property
    def positions(self) -> dict[str, int]:
        """Paper id -> position."""
        return {paper_id: i for i, paper_id in enumerate(self.ids)}

    @cached_property
    def sample(self) -> Positions:
        """Positions of the fixed random sample that scores are standardised against."""
        return np.asarray(self.array("sample"))

    @cached_property
    def years(self) -> NDArray[np.int32]:
        """Year of each paper, 0 when unknown."""
        return np.asarray(self.array("years"))

    def coded(self, column: str) -> tuple[NDArray[np.int32], list[str]]:
        """Codes per paper and their names, for ``venues`` and ``languages``."""
        return np.asarray(self.array(column)), json.loads((self.folder / f"{column}.json").read_text("utf-8"))

    @cached_property
    def text_hashes(self) -> NDArray[np.uint8]:
        """(papers, 16) hashes of the texts that the units count in."""
        return np.asarray(self.array("text_hashes"))

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
                self._units[name] = Units.load(self.folder / name)
            return self._units[name]

    @property
    def lens_names(self) -> list[str]:
        """Names of the lenses of this generation."""
        return sorted(self.manifest.get("lenses", {}))

    def lens(self, name: str) -> LensValues:
        """What a lens saw, for every paper or every unit of ``sentences``.

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
                        hint="aspectra index",
                    )
                self._lenses[name] = load_lens(self.folder, name, facts)
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
        """Paper id -> its text in a view: that of the abstract, or what a prompted lens says of it ("")."""
        if facts.lens:
            return partial(reading_text, self.library, facts.lens, facts.stored["values"])
        return lambda paper_id: paper_spans(self.library.get(paper_id))[0]

    def query_encoder(self, facts: ViewFacts) -> QueryEncoder:
        """Shared by all views of one encoder; checked against the view's fingerprint when it loads."""
        spec, fingerprint = facts.stored["encoder"], facts.stored["fingerprint"]
        with self._lock:
            if spec not in self._encoders:
                self._encoders[spec] = QueryEncoder(lambda: self._checked(spec, fingerprint))
            return self._encoders[spec]

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
        """What is known of a view without opening it; without ``stored`` where there is no such view."""
        return ViewFacts.of(name, self.manifest["views"].get(name))

    def view(self, name: str) -> View:
        """A view by name, opened at the first use.

        Raises:
            ViewMismatch: the generation has no such view.
        """
        with self._lock:
            if name not in self._views:
                facts = self.facts(name)
                if not facts.kind:
                    raise ViewMismatch(
                        f"the index has no view {name!r}",
                        why="it has " + ", ".join(self.view_names),
                        hint=facts.remedy,
                    )
                self._views[name] = VIEW_KINDS.get(facts.kind)(self, facts)
            return self._views[name]

    def word_view(self, base: str = "abstract") -> WordView:
        """The view of words of ``base``.

        Raises:
            ViewMismatch: there is none.
        """
        return cast("WordView", self.view(ViewFacts.words_of(base).name))

    def vector_view(self, name: str) -> VectorView:
        """A view by name, one of vectors.

        Raises:
            ViewMismatch: there is none, or it is one of words.
        """
        found = self.view(name)
        if not hasattr(found, "vectors"):  # checking the whole protocol costs as much as a small search
            raise ViewMismatch(f"{name} has no vectors to ask with", why="it is lexical")
        return cast("VectorView", found)

    def look_up(self, probes: Sequence[Probe]) -> list[Asked]:
        """Probes with what their texts and seeds bring, in order; equal questions are looked up once."""
        known: dict[Probe, Asked] = {}
        out = []
        for probe in probes:
            matching: Matching = "single" if probe.matching else ""
            question = changed(
                probe, weight=1.0, aspect="", pooling="max", metric="cosine", matching=matching
            )
            if question not in known:
                known[question] = self.view(probe.view).look_up(question)
            out.append(replace(known[question], probe=probe))
        return out

    def with_quotes(self, asked: Asked) -> Asked:
        """The same with the seed's sentence of each vector; "" where the seed changed since indexing."""
        units = self.view(asked.probe.view).units
        quotes, papers = [], dict[str, Paper]()
        for owner, unit in zip(asked.owners, asked.units, strict=True):
            if unit < 0 or units is None:
                quotes.append(("", ""))
                continue
            seed = asked.probe.seeds[owner]
            if seed not in papers:
                papers[seed] = self.library.get(seed)
            held = units.unit(seed, int(unit))
            text = field_text(papers[seed], held.field) if self.unchanged(papers[seed]) else ""
            quotes.append((seed, text[held.start : held.end]))
        return replace(asked, quotes=tuple(quotes))

    def unchanged(self, paper: Paper) -> bool:
        """Whether a paper's title and abstract are those that were indexed, so that its units fit them."""
        indexed: bytes = self.text_hashes[self.positions[paper.id]].tobytes()
        return bytes.fromhex(text_hash(paper)) == indexed

    def score(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores for each of several probes; those on one view are scored together where it can.

        Args:
            asked: probes, looked up.
            papers: positions; None for all papers, in order of position.
        """
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(asked):
            numbers.setdefault(one.probe.view, []).append(number)
        out: dict[int, Scored] = {}
        for name, chosen in numbers.items():
            found = self.view(name).score_many([asked[n] for n in chosen], papers)
            out |= zip(chosen, found, strict=True)
        return [out[n] for n in range(len(asked))]

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best of all papers that a probe scored, see :meth:`View.best`."""
        return self.view(asked.probe.view).best(asked, scored, k, allowed)

    def default_encoder(self) -> str:
        """Name of the encoder of the first dense abstract view, or "" when there is none."""
        for spec in self.settings.encoders:
            for facts in map(self.facts, self.manifest["views"]):
                if facts.base == "abstract" and facts.stored.get("encoder") == spec:
                    return facts.scorer
        return ""
