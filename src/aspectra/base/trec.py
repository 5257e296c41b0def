"""TREC run lines whose scores strictly fall, so that every tool reads one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from aspectra.base.errors import BadInput

_STEP = 2.0**-22  # two units in the last place of a 32-bit float
_LEAST = 1e-12  # below it 32-bit floats may be flushed to zero


def falling(scores: Sequence[float]) -> list[float]:
    """Scores (best first) lowered as little as needed to fall strictly, also as 32-bit floats.

    Tools break ties differently, and some compare 32 bits. Scores too large for them become minus the rank.

    >>> falling([2.0, 1.0, 1.0])[:2], falling([1.0, 1.0])[1] < 1.0
    ([2.0, 1.0], True)
    """
    if not len(scores):
        return []
    rounded = np.clip(np.asarray(scores, np.float64), -3.0e38, 3.0e38).astype(np.float32).astype(np.float64)
    if float(np.abs(rounded).max()) > 1e38:
        return [-float(rank) for rank in range(1, len(scores) + 1)]
    out: list[float] = rounded.tolist()
    last = out[0]
    for i in range(1, len(out)):
        if out[i] >= last:
            out[i] = float(np.float32(last - max(abs(last) * _STEP, _LEAST)))
        last = out[i]
    return out


def trec_token(text: str) -> str:
    """An id as one word: white space becomes ``_``, since the format has no quoting.

    >>> trec_token("smith 2020")
    'smith_2020'
    """
    return "_".join(text.split())


def trec_words(what: str, ids: Iterable[str]) -> dict[str, str]:
    """Id -> its word, see :func:`trec_token`.

    Args:
        what: for messages, as in ``document``.
        ids: any; each may come more than once.

    Raises:
        BadInput: two ids become one word, or one becomes none.
    """
    taken: dict[str, str] = {}
    for one in ids:
        word = trec_token(one)
        if taken.setdefault(word, one) != one or not word:
            raise BadInput(
                f"the {what} ids {taken[word]!r} and {one!r} are one word in TREC format",
                why="white space in ids is written as _",
                hint="--format jsonl keeps ids as they are",
            )
    return {one: word for word, one in taken.items()}


def trec_lines(query: str, ids: Sequence[str], scores: Sequence[float], tag: str) -> str:
    """Run lines: query, Q0, document, rank, score, tag.

    Args:
        query: its id.
        ids: documents, best first.
        scores: likewise.
        tag: name of the run.

    Raises:
        BadInput: two documents become one word.

    >>> trec_lines("q1", ["a", "b"], [0.5, 0.5], "mine").splitlines()
    ['q1 Q0 a 1 0.5 mine', 'q1 Q0 b 2 0.499999881 mine']
    """
    topic, name = trec_token(query) or "q", trec_token(tag) or "run"
    words = trec_words("document", ids)
    return "".join(
        f"{topic} Q0 {words[doc]} {rank} {score:.9g} {name}\n"
        for rank, (doc, score) in enumerate(zip(ids, falling(scores), strict=True), 1)
    )
