"""Role of each sentence of an abstract: background, objective, method, result or other.

The model reads text only (no encoder): word pieces, their pairs and static vectors, the neighbours, and
the sentence's place. Trained on computer-science abstracts in English; see ``docs/roles.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import abstract_sentences
from aspectra.views.lenses._role_model import ROLES, shipped
from aspectra.views.lenses.protocol import LENSES, Lens, LensKind
from aspectra.views.storage.folder import paper_spans
from aspectra.views.view import Floats

_TOGETHER = 512  # sentences predicted at once: what fits the cache


class RolesLens(Lens):
    """Probabilities of a sentence's role, one row per unit of ``paper_spans``.

    The title's row is NaN: a title has no role. Roles that the source brings are kept as 1 and 0; a
    sentence without one is predicted, whatever its neighbours bring. A row is NaN, too, where no word of
    the sentence is known to the model (another script). Other rows sum to 1.
    """

    name = "roles"
    description = "what each sentence of an abstract does: background, objective, method, result, other"
    version = 2
    kind: LensKind = "sentence"
    labels: tuple[str, ...] = ROLES
    reads: tuple[str, ...] = ("text", "sentences")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(units, 5) probabilities of each paper."""
        out: list[Floats] = []
        waiting: list[tuple[Floats, list[str]]] = []
        size = 0
        for paper in papers:
            values, texts = self._prepare(paper)
            out.append(values)
            if texts:
                waiting.append((values, texts))
                size += len(texts)
            if size >= _TOGETHER:
                _fill(waiting)
                waiting, size = [], 0
        _fill(waiting)
        return out

    def _prepare(self, paper: Paper) -> tuple[Floats, list[str]]:
        """NaN for each unit, with known roles filled in; and the sentences to predict, if any are needed."""
        text, spans, units = paper_spans(paper)
        values = np.full((len(units), len(ROLES)), np.nan, dtype=np.float32)
        first = int(bool(units) and units[0][0] == "title")
        if paper.sentences:
            for row, sentence in enumerate(abstract_sentences(paper), first):
                if sentence.role in ROLES:
                    values[row] = 0.0
                    values[row, ROLES.index(sentence.role)] = 1.0
        if not np.isnan(values[first:]).any():
            return values, []
        return values, [text[start:end] for start, end in spans[first:]]


def _fill(waiting: Sequence[tuple[Floats, list[str]]]) -> None:
    """Predict rows of sentences that are still NaN, in place."""
    if not waiting:
        return
    found = shipped().probabilities(
        [text for _, texts in waiting for text in texts],
        np.array([len(texts) for _, texts in waiting], dtype=np.int64),
    )
    at = 0
    for values, texts in waiting:
        rows = values[len(values) - len(texts) :]
        np.copyto(rows, found[at : at + len(texts)], where=np.isnan(rows))
        at += len(texts)


LENSES.register("roles")(RolesLens())
