"""An opened index generation: ids, columns to filter by, and its views."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt, NoSuchPaper, ViewMismatch
from aspectra.papers.library.store import Store
from aspectra.views.arrays import load_array
from aspectra.views.build.lenses import load_lens
from aspectra.views.dense.lens_vectors import DELTA, DeltaEncoder
from aspectra.views.dense.view import DenseView, QueryEncoder
from aspectra.views.encoders.protocol import ENCODERS, Encoder, load_encoder
from aspectra.views.lenses.protocol import LensValues
from aspectra.views.lexical.bm25 import LexicalView
from aspectra.views.lexical.reverse import Moments
from aspectra.views.prompted.building import reading_text
from aspectra.views.settings import IndexSettings
from aspectra.views.units import Units, paper_spans
from aspectra.views.view import ROLE_GROUPS, Floats, Positions

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
        # Views are opened when they are first asked; until then nothing may take their files away.
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
        self._views: dict[str, LexicalView | DenseView] = {}
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

    def _role_weights(self, roles: tuple[str, ...]) -> Floats:
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

    def seed_text(self, paper_id: str) -> str:
        """The text of a paper in the abstract views."""
        return paper_spans(self.library.get(paper_id))[0]

    def reading(self, facts: dict[str, Any], paper_id: str) -> str:
        """What a prompted lens saw of a paper: its text in that lens's views, "" where it saw nothing."""
        return reading_text(self.library, facts["lens"], facts["values"], paper_id)

    def query_encoder(self, spec: str, fingerprint: str) -> QueryEncoder:
        """Shared by all views of one encoder; checked against the views' fingerprint when it loads."""
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

    def view(self, name: str) -> LexicalView | DenseView:
        """A view by name, opened at the first use.

        Raises:
            ViewMismatch: the generation has no such view.
        """
        with self._lock:
            if name in self._views:
                return self._views[name]
            facts = self.manifest["views"].get(name)
            if facts is None:
                raise ViewMismatch(
                    f"the index has no view {name!r}",
                    why="it has " + ", ".join(self.view_names),
                    hint=_remedy(name),
                )
            units = self.units(facts["units"]) if "units" in facts else None
            view: LexicalView | DenseView
            if facts["kind"] == "lexical":
                view = LexicalView(
                    name,
                    self.folder / facts["folder"],
                    len(self.ids),
                    self.id_order,
                    self.settings.lexical,
                    partial(self.reading, facts) if "lens" in facts else self.seed_text,
                    units,
                    positions=lambda: self.positions,
                    pairs=facts.get("pairs", False),
                    own_words=facts.get("own_words", False),
                )
            elif facts["kind"] == "vector":
                folder = self.folder / facts["folder"]
                asked = QueryEncoder(partial(DeltaEncoder, facts["lens"], folder))
                view = DenseView(name, folder, self.positions, self.id_order, asked)
            else:
                encoder = self.query_encoder(facts["encoder"], facts["fingerprint"])
                folder = self.folder / facts["folder"]
                view = DenseView(
                    name,
                    folder,
                    self.positions,
                    self.id_order,
                    encoder,
                    units,
                    role_weights=self._role_weights if facts.get("units") == "sentences" else None,
                    unit_length=facts.get("unit_length", True),
                    moments=partial(Moments.load, folder) if facts.get("pairs") else None,
                    other=self._dense_view,
                    stand_in=f"abstract@{name.partition('@')[2]}" if name.startswith("chunks-") else "",
                    encoder_key=facts["fingerprint"],
                )
            self._views[name] = view
            return view

    def _dense_view(self, name: str) -> DenseView:
        found = self.view(name)
        if not isinstance(found, DenseView):
            raise ViewMismatch(f"{name} has no vectors to ask with", why="it is lexical")
        return found

    def default_encoder(self) -> str:
        """Name of the encoder of the first dense abstract view, or "" when there is none."""
        for spec in self.settings.encoders:
            for name, facts in self.manifest["views"].items():
                if name.startswith("abstract@") and facts.get("encoder") == spec:
                    return str(name).partition("@")[2]
        return ""


def _remedy(name: str) -> str:
    base, _, scorer = name.partition("@")
    if base.startswith("chunks"):
        return f"aspectra index --chunks {base.partition('-')[2] or '250w'}"
    if base.startswith("lens-"):
        name = base.removeprefix("lens-")
        done = "" if scorer == DELTA else f"aspectra lens run {name}, then "
        return f"aspectra lens add {name}, then {done}aspectra index"
    if scorer in ENCODERS:
        return f"aspectra index --encoder {scorer}"
    return "aspectra status"
