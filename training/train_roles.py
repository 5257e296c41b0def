"""Train the sentence-role model and report how good it is.

    python training/train_roles.py --model DIR --train train.jsonl.zst --dev dev.jsonl.zst --out roles.npz

Needs torch and scikit-learn (development only) and ``aspectra`` on the path; the result runs with numpy.
DIR holds all-MiniLM-L6-v2 (``model.safetensors``, ``tokenizer.json``); only its word vectors are used.
Data: CSAbstruct (Cohan et al., EMNLP 2019; Apache-2.0), JSON Lines with ``sentences``, ``labels`` and
``confs`` (agreement of the annotators). Same seed and same versions, same weights on the same machine.

Two models, averaged as log-probabilities:

- *words*: logistic regression on the keys and places of a sentence and the keys of its neighbours;
- *chain*: static word vectors, averaged over a sentence and over its first pieces, through a small
  bidirectional GRU over the abstract's sentences; several seeds.

``--folds 5`` reports cross-validation on train instead. Beside the model stands a bag-of-words logistic
regression (words and pairs of words of the sentence, words of its neighbours, its place).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from aspectra.base.decompression import zstd
from aspectra.views.lenses._role_model import (
    NEIGHBOUR,
    PLACES,
    ROLES,
    UNKNOWN,
    Pieces,
    RoleModel,
    WordPieces,
    pooled,
    sentence_keys,
)

BEGIN = 4  # pieces that count as a sentence's beginning
DIMENSIONS = 384  # of the static word vectors, principal components: all of them
LEAST = 2  # sentences of train that have a key, for it to be kept (neighbours' keys: one more)
OFTEN = 2  # times a piece occurs in train, for it to be shipped; others are cut into smaller ones
ALWAYS = frozenset({UNKNOWN, "0", "in", "this", "that"})  # pieces that the code names
PLACE = 2.0  # scale of places in the logistic regression: the larger, the less they are regularised


@dataclass
class Split:
    """Abstracts of one file: everything per sentence, abstract by abstract."""

    sentences: list[str]
    counts: np.ndarray
    labels: np.ndarray
    confs: np.ndarray

    def only(self, papers: np.ndarray) -> tuple[Split, np.ndarray]:
        """The abstracts marked True, and which sentences are theirs."""
        rows = np.repeat(papers, self.counts)
        kept = [s for s, keep in zip(self.sentences, rows, strict=True) if keep]
        return Split(kept, self.counts[papers], self.labels[rows], self.confs[rows]), rows


def read(path: Path) -> Split:
    """A .jsonl.zst file of CSAbstruct."""
    with zstd.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return Split(
        [s for row in rows for s in row["sentences"]],
        np.array([len(row["sentences"]) for row in rows]),
        np.array([ROLES.index(label) for row in rows for label in row["labels"]]),
        np.array([float(c) for row in rows for c in row["confs"]], dtype=np.float32),
    )


def static_vectors(folder: Path) -> tuple[list[str], np.ndarray]:
    """Pieces and (pieces, DIMENSIONS) their vectors: what the first layer reads, reduced."""
    tensors = load_file(folder / "model.safetensors")
    known = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    names = [w for w in known if w == UNKNOWN or (w.isascii() and not w.startswith("["))]
    whole = tensors["embeddings.word_embeddings.weight"].astype(np.float64)
    whole += tensors["embeddings.token_type_embeddings.weight"][0]
    whole += tensors["embeddings.position_embeddings.weight"][5:200].mean(0)
    whole = (whole - whole.mean(1, keepdims=True)) / whole.std(1, keepdims=True)
    whole = whole * tensors["embeddings.LayerNorm.weight"] + tensors["embeddings.LayerNorm.bias"]
    table = whole[[known[w] for w in names]]
    table -= table.mean(0)
    _, _, axes = np.linalg.svd(table, full_matrices=False)
    return names, table @ axes[:DIMENSIONS].T


def shipped_pieces(names: list[str], split: Split) -> np.ndarray:
    """Which pieces are kept: the frequent ones, those of one letter or sign, and those in ALWAYS."""
    often = np.bincount(WordPieces(names).cut(split.sentences).ids, minlength=len(names))
    single = np.array([len(name.removeprefix("##")) == 1 or name in ALWAYS for name in names])
    return np.asarray((often >= OFTEN) | single)


def rounded(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As 8-bit integers with one scale per row."""
    scale = np.abs(table).max(1) / 127
    scale[scale == 0] = 1
    return np.round(table / scale[:, None]).astype(np.int8), scale.astype(np.float32)


# -- words: logistic regression on keys ---------------------------------------------------------------------


def key_matrix(pieces: Pieces, keys: np.ndarray) -> csr_matrix:
    """(sentences, keys) zeros and ones."""
    owner, found = sentence_keys(pieces)
    column = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    there = keys[column] == found
    shape = (len(pieces.counts), len(keys))
    return csr_matrix((np.ones(there.sum(), np.float32), (owner[there], column[there])), shape)


def shifted(matrix: csr_matrix, counts: np.ndarray, by: int) -> csr_matrix:
    """Rows of the sentence before (by = -1) or after (1) in the same abstract; empty where there is none."""
    paper = np.repeat(np.arange(len(counts)), counts)
    rows = np.arange(matrix.shape[0])
    other = np.clip(rows + by, 0, len(rows) - 1)
    inside = (rows + by == other) & (paper[other] == paper)
    move = csr_matrix((inside.astype(np.float32), (rows, other)), (len(rows), len(rows)))
    return move @ matrix


def fit_words(words: WordPieces, split: Split, regular: float) -> dict[str, np.ndarray]:
    """The logistic regression's weights."""
    pieces = words.cut(split.sentences)
    _, found = sentence_keys(pieces)
    keys, often = np.unique(found, return_counts=True)
    keys = keys[often >= LEAST]
    own = key_matrix(pieces, keys)
    # Of a neighbour, pairs are left out: kinds other than 1.
    near = np.flatnonzero((keys >> 45 != 1) & (np.asarray(own.sum(0)).ravel() > LEAST))
    before, after = (shifted(own[:, near], split.counts, by) for by in (-1, 1))
    places = csr_matrix(PLACE * words.places(pieces, split.counts))
    features = hstack([own, NEIGHBOUR * before, NEIGHBOUR * after, places]).tocsr()
    weight = 0.3 + split.confs
    model = LogisticRegression(C=regular, max_iter=300, tol=1e-3).fit(features, split.labels, weight)
    parts = np.split(model.coef_.T, np.cumsum([len(keys), len(near), len(near)]))
    table = np.zeros((len(keys), 3, len(ROLES)), np.float16)
    table[:, 0], table[near, 1], table[near, 2] = parts[0], NEIGHBOUR * parts[1], NEIGHBOUR * parts[2]
    return {
        "words.keys": keys,
        "words.weights": table.reshape(len(keys), -1),
        "words.places": (PLACE * parts[3]).astype(np.float32),
        "words.bias": model.intercept_.astype(np.float32),
    }


# -- chain: static vectors and a GRU ------------------------------------------------------------------------


class Chain(nn.Module):
    """Scores of the roles from pooled vectors and places of an abstract's sentences."""

    def __init__(self, size: int, hidden: int, dropout: float, input_dropout: float) -> None:
        super().__init__()
        self.read = nn.Linear(size, hidden)
        self.place = nn.Linear(PLACES, hidden, bias=False)
        self.gru = nn.GRU(hidden, hidden // 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden + PLACES, len(ROLES))
        self.dropout, self.input_dropout = nn.Dropout(dropout), nn.Dropout(input_dropout)

    def forward(self, x: torch.Tensor, places: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        h = self.dropout(torch.relu(self.read(self.input_dropout(x)) + self.place(places)))
        packed = pack_padded_sequence(h, counts, batch_first=True, enforce_sorted=False)
        around, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.out(torch.cat([h, self.dropout(around), places], -1))


def fit_chain(
    vectors: np.ndarray, places: np.ndarray, split: Split, options: argparse.Namespace, seed: int
) -> dict[str, np.ndarray]:
    """One network's weights, with the inputs' standardisation folded in."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    mean, spread = vectors.mean(0), vectors.std(0) + 1e-6
    cuts = np.cumsum(split.counts)[:-1]

    def parts(values: np.ndarray) -> list[torch.Tensor]:
        return [torch.tensor(v) for v in np.split(values, cuts)]

    items = list(
        zip(
            parts((vectors - mean) / spread),
            parts(places),
            parts(split.labels),
            parts(split.confs),
            strict=True,
        )
    )
    model = Chain(vectors.shape[1], options.hidden, options.dropout, options.input_dropout)
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.05)
    steps = options.epochs * -(-len(items) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.rate, total_steps=steps + 1, pct_start=0.1
    )
    model.train()
    for _ in range(options.epochs):
        rng.shuffle(items)
        for low in range(0, len(items), options.batch):
            group = items[low : low + options.batch]
            x, place, labels, confs = (pad_sequence([g[k] for g in group], True) for k in range(4))
            counts = torch.tensor([len(g[2]) for g in group])
            seen = torch.arange(x.shape[1])[None] < counts[:, None]
            logs = torch.log_softmax(model(x, place, counts), -1)[seen]
            # Annotators disagree: part of a label's share goes to the other roles.
            share = options.floor + (1 - options.floor) * confs[seen]
            target = ((1 - share) / (len(ROLES) - 1))[:, None].expand_as(logs).clone()
            target.scatter_(1, labels[seen][:, None], share[:, None])
            loss = -(target * logs).sum(-1).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    out = {name: value.detach().numpy().copy() for name, value in model.named_parameters()}
    out["read.weight"] = out["read.weight"] / spread
    out["read.bias"] = out["read.bias"] - out["read.weight"] @ mean
    return out


def fit(
    names: list[str], table: np.ndarray, split: Split, options: argparse.Namespace
) -> dict[str, np.ndarray]:
    """All arrays of the model, as shipped."""
    kept = shipped_pieces(names, split)
    names = [name for name, keep in zip(names, kept, strict=True) if keep]
    table = table[kept]
    words = WordPieces(names)
    pieces = words.cut(split.sentences)
    coded, scale = rounded((table / table.std()).astype(np.float32))
    arrays: dict[str, np.ndarray] = {
        "pieces": np.frombuffer("\n".join(names).encode(), np.uint8),
        "vectors": coded,
        "scale": scale,
        "begin": np.array(BEGIN),
        **fit_words(words, split, options.regular),
    }
    vectors = pooled(pieces, coded * scale[:, None], BEGIN)
    places = words.places(pieces, split.counts)
    nets = [
        fit_chain(vectors, places, split, options, options.seed + number) for number in range(options.seeds)
    ]
    for name in nets[0]:
        arrays["chain." + name] = np.stack([net[name] for net in nets]).astype(np.float16)
    return arrays


# -- beside it: bag of words --------------------------------------------------------------------------------


def bag_of_words(train: Split, other: Split) -> np.ndarray:
    """(sentences of other, roles) probabilities of a plain bag-of-words logistic regression."""
    pattern = r"\b\w+\b"
    near = CountVectorizer(min_df=3, binary=True, token_pattern=pattern).fit(train.sentences)
    own = CountVectorizer(ngram_range=(1, 2), min_df=2, binary=True, token_pattern=pattern)
    own.fit(train.sentences)

    def features(split: Split) -> csr_matrix:
        bags = near.transform(split.sentences).astype(np.float32)
        place = [k / n for n in split.counts for k in range(n)]
        tenths = np.eye(10, dtype=np.float32)[[int(10 * p) for p in place]]
        around = [0.5 * shifted(bags, split.counts, by) for by in (-1, 1)]
        return hstack([own.transform(split.sentences), *around, csr_matrix(2 * tenths)]).tocsr()

    model = LogisticRegression(C=0.05, max_iter=300, tol=1e-3).fit(features(train), train.labels)
    return np.asarray(model.predict_proba(features(other)))


# -- report -------------------------------------------------------------------------------------------------


def report(title: str, found: np.ndarray, split: Split) -> None:
    """One line: micro-F1 (each sentence has one label, so this is accuracy), macro-F1, F1 of each role."""
    best, gold = found.argmax(1), split.labels
    sure = split.confs >= 0.999
    each = [
        200 * ((gold == n) & (best == n)).sum() / max((gold == n).sum() + (best == n).sum(), 1)
        for n in range(len(ROLES))
    ]
    likely = -np.log(found[np.arange(len(gold)), gold] + 1e-9).mean()
    print(
        f"{title:<28} {len(gold):>6} sentences  micro {100 * (best == gold).mean():.2f}  "
        f"macro {np.mean(each):.2f}  unanimous ({sure.sum()}) {100 * (best == gold)[sure].mean():.2f}  "
        f"log-loss {likely:.3f}  " + "  ".join(f"{r} {f:.1f}" for r, f in zip(ROLES, each, strict=True)),
        flush=True,
    )


def predict(arrays: dict[str, Any], split: Split) -> dict[str, np.ndarray]:
    """Probabilities of the whole model and of its two halves, from the code that runs in the package."""
    model = RoleModel(arrays)
    pieces = model.words.cut(split.sentences)
    places = model.words.places(pieces, split.counts)
    halves = {
        "words alone": model.by_words(pieces, places, split.counts),
        "chain alone": model.by_chain(pieces, places, split.counts),
    }
    # Where no word is known the lens says nothing; here that counts as a guess.
    whole = np.nan_to_num(model.probabilities(split.sentences, split.counts), nan=1 / len(ROLES))
    return {"model": whole} | {name: np.exp(logs) for name, logs in halves.items()}


def agreement(path: Path, arrays: dict[str, Any]) -> None:
    """Agreement with another model's roles (``pred_labels`` of CSFCube); nothing is trained on them."""
    with zstd.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    other = Split(
        [s for row in rows for s in row["abstract"]],
        np.array([len(row["abstract"]) for row in rows]),
        np.array([ROLES.index(re.sub("_label$", "", label)) for row in rows for label in row["pred_labels"]]),
        np.zeros(sum(len(row["abstract"]) for row in rows), np.float32),
    )
    found = predict(arrays, other)["model"]
    table = np.zeros((len(ROLES), len(ROLES)), int)
    np.add.at(table, (other.labels, found.argmax(1)), 1)
    right = np.trace(table) / table.sum()
    chance = (table.sum(0) * table.sum(1)).sum() / table.sum() ** 2
    print(f"{path.name}: agreement {100 * right:.1f} %, kappa {(right - chance) / (1 - chance):.3f}")
    print(" " * 12 + "".join(f"{r:>12}" for r in ROLES) + "   (columns: this model)")
    for role, row in zip(ROLES, table, strict=True):
        print(f"{role:<12}" + "".join(f"{n:>12}" for n in row))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--agree", type=Path, help="abstracts with another model's roles, to compare with")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folds", type=int, default=0, help="cross-validate on train instead")
    parser.add_argument("--regular", type=float, default=0.03, help="C of the logistic regression")
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--dropout", type=float, default=0.4)
    parser.add_argument("--input-dropout", type=float, default=0.3)
    parser.add_argument("--floor", type=float, default=0.8, help="least share of a label")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3, help="networks averaged")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.time()
    train, dev = read(options.train), read(options.dev)
    names, table = static_vectors(options.model)
    if options.folds:
        order = list(range(len(train.counts)))
        random.Random(options.seed).shuffle(order)
        whole: dict[str, np.ndarray] = {}
        for fold in range(options.folds):
            out = np.zeros(len(order), bool)
            out[order[fold :: options.folds]] = True
            (rest, _), (kept, rows) = train.only(~out), train.only(out)
            found = predict(fit(names, table, rest, options), kept)
            found["bag of words"] = bag_of_words(rest, kept)
            for name, values in found.items():
                whole.setdefault(name, np.zeros((len(rows), len(ROLES))))[rows] = values
                report(f"fold {fold + 1}, {name}", values, kept)
        for name, values in whole.items():
            report(f"{options.folds} folds, {name}", values, train)
        print(f"{time.time() - clock:.0f} s")
        return
    arrays = fit(names, table, train, options)
    for name, values in (predict(arrays, dev) | {"bag of words": bag_of_words(train, dev)}).items():
        report(f"dev, {name}", values, dev)
    if options.agree:
        agreement(options.agree, arrays)
    if options.out:
        np.savez_compressed(options.out, **arrays)
        print(f"wrote {options.out}, {options.out.stat().st_size / 1e6:.2f} MB")
    print(f"{time.time() - clock:.0f} s")


if __name__ == "__main__":
    main()
