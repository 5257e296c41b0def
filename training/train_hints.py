"""Train the head for hints: which words of a text belong to a request, and which to its subject.

    python training/train_hints.py --out src/aspectra/search/planning/data/heads-hints-minilm.npz

Needs scikit-learn beside ``aspectra``. ``requests.txt`` holds the examples, written for this: a text a line,
its requests in square brackets. Further ones are the development texts of ``tests/data/requests`` (CC0), and
files of the same kind that ``--more`` names. ``wordings.txt`` gives subjects of papers, in its frames for
titles.

``--subjects FILE`` adds titles of papers. The head is a logistic regression on a token's state beside the
mean of its neighbours'. ``--titles FILE`` reports of how many titles words would be reported. The same
versions give the same weights.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from train_wordings import TITLES, lines, titles

from aspectra.search.instructions.understanding import understand
from aspectra.search.planning.heads import HINT_LABELS, beside, hints
from aspectra.search.query import Query
from aspectra.views.encoders.protocol import TokenEncoder, load_encoder
from aspectra.views.terms.view import TokenHead

REGULAR = 0.03  # C
FRAMES_OF_A_SUBJECT, MOST_TITLES = 2, 1500
UNKNOWN, SUBJECT, REQUEST = -1, 0, 1
Labelled = tuple[str, np.ndarray]  # a text, and for each character what it belongs to


def bracketed(path: Path) -> Iterator[Labelled]:
    """Texts of ``requests.txt``."""
    for line in path.read_text("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        parts = re.split(r"[\[\]]", line.strip())
        kinds = [np.full(len(part), number % 2) for number, part in enumerate(parts)]
        yield "".join(parts), np.concatenate(kinds)


def annotated(path: Path) -> Iterator[Labelled]:
    """Development questions of a file of annotated texts; what nobody annotated is unknown."""
    for line in path.open(encoding="utf-8"):
        row = json.loads(line)
        if row.get("half") == "test" or row["mode"] != "question":
            continue
        text = row["text"]
        kinds = np.full(len(text), SUBJECT if row.get("plain") else UNKNOWN)
        for words, kind in _annotations(row):
            if words and (at := text.lower().find(words.lower())) >= 0:
                kinds[at : at + len(words)] = kind
        yield text, kinds


def _annotations(row: dict[str, Any]) -> Iterator[tuple[str, int]]:
    yield row.get("topic", ""), SUBJECT
    yield from ((words, UNKNOWN) for words in row.get("chatter", ()))
    yield from ((c.get("span", ""), UNKNOWN if c.get("or_topic") else REQUEST) for c in row["conditions"])
    yield from ((words, REQUEST) for words in row.get("unread", ()))


def subjects(path: Path) -> Iterator[Labelled]:
    """Topics of ``wordings.txt`` as titles."""
    topics = [line for label, line in lines(path) if label == "topics"]
    for number, topic in enumerate(topics):
        for n in range(FRAMES_OF_A_SUBJECT):
            text = TITLES[(number + 7 * n) % len(TITLES)].format(topic)
            yield text, np.full(len(text), SUBJECT)


def encoded(encoder: TokenEncoder, texts: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
    """States and places of the tokens of each text."""
    out: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    encoder.encode_tokens(texts, lambda n, states, at: out.update({n: (states.copy(), at)}), kind="query")
    return [out[number] for number in range(len(texts))]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parent
    parser.add_argument("--texts", type=Path, default=here / "requests.txt")
    parser.add_argument("--wordings", type=Path, default=here / "wordings.txt")
    parser.add_argument("--requests", type=Path, default=Path("tests/data/requests"))
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="annotated texts, .jsonl")
    parser.add_argument("--subjects", type=Path, help="papers whose titles request nothing, .jsonl.zst")
    parser.add_argument("--titles", type=Path, help="papers whose titles are read with the head, .jsonl.zst")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    clock = time.time()
    held = list(bracketed(options.texts))
    for path in (*sorted(options.requests.glob("*.jsonl")), *options.more):
        held += annotated(path)
    held += subjects(options.wordings)
    if options.subjects:
        held += ((title, np.full(len(title), SUBJECT)) for title in titles(options.subjects)[:MOST_TITLES])
    encoder = load_encoder("minilm")
    assert isinstance(encoder, TokenEncoder)
    rows: list[np.ndarray] = []
    wanted: list[int] = []
    for (_, kinds), (states, places) in zip(held, encoded(encoder, [text for text, _ in held]), strict=True):
        for state, (start, end) in zip(beside(states), places, strict=True):
            if end > start and kinds[start] != UNKNOWN:
                rows.append(state)
                wanted.append(int(kinds[start]))
    print(f"{len(held)} texts, {len(rows)} tokens, {np.mean(wanted):.0%} of requests")
    model = LogisticRegression(C=REGULAR, max_iter=3000).fit(np.array(rows), wanted)
    weights = np.hstack([np.zeros_like(model.coef_.T), model.coef_.T]).astype(np.float32)
    bias = np.array([0.0, model.intercept_[0]], np.float32)
    head = TokenHead(weights, bias, HINT_LABELS, encoder.fingerprint)
    if options.titles:
        read = titles(options.titles)
        taken = [
            title
            for title, tokens in zip(read, encoded(encoder, read), strict=True)
            if understand(Query(title), hints=lambda text, held=tokens: hints(text, held, head)).unread
        ]
        print(f"titles: words of {len(taken)} of {len(read)} are reported")
    if options.out:
        np.savez(options.out, W=weights, b=bias, labels=np.array(head.labels), encoder=np.array(head.encoder))
        print(f"wrote {options.out}, {options.out.stat().st_size / 1e3:.0f} kB, {time.time() - clock:.0f} s")


if __name__ == "__main__":
    main()
