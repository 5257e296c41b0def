"""Train the token head: which words of an abstract name its problem, its method, its outcome.

    python training/train_aspects.py --data FOLDER --out src/aspectra/views/terms/data/minilm.npz

FOLDER holds ``aspect-pairs`` and ``csabstruct``. Needs scipy beside ``aspectra``. Nobody labelled words: a
word is an example of an aspect where it is part of a name that the labels of papers give to that aspect
(distant supervision; Mintz et al., ACL 2009), and, weakly, where it stands in a sentence with that role. The
names are subject headings (med), tasks and data sets of leaderboards (tdm) and authors' keywords (kw); the
texts are those under a licence that allows it: tdm, samd, CSAbstruct and abstracts with headings. ``--texts
all`` adds the texts of med and kw, which state none.

The head is a softmax over the encoder's token states, averaged over a word's pieces. An aspect has one column
for the names of each field, since a measured outcome and a data set share little, and one for sentences; its
chance is their sum. ``--half 0`` trains on the papers with an even hash only, and ``--labels 0`` on such
labels only, to be measured on the others. The same versions give the same weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from aspectra.base.decompression import zstd
from aspectra.views.encoders.protocol import TokenEncoder, load_encoder, mean_of_spans
from aspectra.views.terms.view import ASPECTS
from aspectra.views.text.tokens import Tokeniser, word_spans

COMPUTING, MEDICINE, SAID = 0, 3, 6  # first columns: names of two fields, and sentences with a role
COLUMNS = (*ASPECTS * 3, "none")
ROLES = {"background": 0, "objective": 0, "method": 1, "result": 2}  # aspect of a sentence's role
REST = 10.0  # what words without an aspect weigh, beside each aspect's 1
OFTEN = 0.5  # a name that occurs n times weighs n to this power
REGULAR = 1e-2
STEPS = 80
PER_NAME = 6  # words without an aspect drawn for each with one
MOST = 24_000  # examples of one source with an aspect, half of it, and without one
CLEAR = 0.9  # share of a name's uses that its aspect must have

Name = tuple[str, ...]
Keep = Callable[[str], bool]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Records of a .jsonl.zst file."""
    with zstd.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def half(text: str, salt: str) -> int:
    """0 or 1, by a hash: papers and labels that are trained on, and the others."""
    return int(hashlib.blake2b((salt + text).encode(), digest_size=4).hexdigest(), 16) % 2


@dataclass
class Source:
    """Texts with the words that carry an aspect.

    Attributes:
        name: for the report.
        column: of the first aspect.
        weight: beside that of other sources.
        texts: title and abstract.
        marked: per text, number of a word -> (aspect, name); the aspect -1 leaves the word out.
        absent: aspects that no label of the source tells: its other words may carry them.
    """

    name: str
    column: int
    weight: float = 1.0
    texts: list[str] = field(default_factory=list)
    marked: list[dict[int, tuple[int, Name]]] = field(default_factory=list)
    absent: frozenset[int] = frozenset()


class Words:
    """The stems of texts, one for each word."""

    def __init__(self) -> None:
        self._tokeniser = Tokeniser()
        self._known: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """The stem; empty for a stop word, and for a run of signs that is several words."""
        if word not in self._known:
            found = self._tokeniser.words(word)
            self._known[word] = found[0] if len(found) == 1 else ""
        return self._known[word]

    def stems(self, text: str) -> list[str]:
        """One for each word of :func:`word_spans`."""
        return [self.stem(text[start:end]) for start, end in word_spans(text)]

    def name(self, label: str) -> Name:
        """The stems of a label, inversions put right and what is in brackets left out."""
        parts = [part.strip() for part in re.sub(r"\([^)]*\)", "", label).split(",")]
        return tuple(stem for stem in self.stems(" ".join([*reversed(parts[1:]), parts[0]])) if stem)


def find(stems: Sequence[str], name: Name) -> list[int]:
    """Numbers of the words that make up a name, in any order and with one other word between them."""
    wanted = set(name)
    places = [number for number, stem in enumerate(stems) if stem in wanted]
    found: list[int] = []
    for first, start in enumerate(places):
        held: set[str] = set()
        for last in range(first, len(places)):
            if places[last] - start > len(wanted) + 1:
                break
            held.add(stems[places[last]])
            if held == wanted:
                found += places[first : last + 1]
                break
    return found


def names_of(labelled: Iterable[dict[str, Any]], words: Words, keep: Keep) -> dict[Name, int]:
    """Name -> the aspect that has nearly all of its uses."""
    uses: dict[Name, Counter[int]] = defaultdict(Counter)
    for row in labelled:
        for number, aspect in enumerate(ASPECTS):
            for label in filter(keep, row[aspect]):
                if name := words.name(label):
                    uses[name][number] += 1
    tops = {name: counts.most_common(1)[0] for name, counts in uses.items()}
    return {name: top for name, (top, count) in tops.items() if count >= CLEAR * sum(uses[name].values())}


def mark(stems: list[str], names: Iterable[tuple[Name, int]]) -> dict[int, tuple[int, Name]]:
    """Words with the aspect of the longest name they are part of."""
    out: dict[int, tuple[int, Name]] = {}
    for name, aspect in sorted(names, key=lambda item: (-len(set(item[0])), item)):
        for place in find(stems, name):
            out.setdefault(place, (aspect, name))
    return out


class Names:
    """Names by their stems, so that a text is compared with few of them."""

    def __init__(self, names: dict[Name, int]) -> None:
        self.names = names
        self._by_stem: dict[str, list[Name]] = defaultdict(list)
        for name in names:
            self._by_stem[name[0]].append(name)

    def within(self, stems: Sequence[str]) -> list[tuple[Name, int]]:
        """The names all of whose stems a text has."""
        held = set(stems)
        near = [name for stem in held for name in self._by_stem.get(stem, ())]
        return [(name, self.names[name]) for name in near if held.issuperset(name)]


def collection(folder: Path, words: Words, keep_paper: Keep, keep: Keep, more: Names | None = None) -> Source:
    """A collection's texts, marked with each paper's own labels and with further names."""
    labelled = {row["_id"]: row for row in rows(folder / "labels.jsonl.zst")}
    out = Source(folder.name, MEDICINE if folder.name == "med" else COMPUTING)
    for row in rows(folder / "corpus.jsonl.zst"):
        if not keep_paper(row["_id"]) or row["_id"] not in labelled:
            continue
        text = f"{row['title']}. {row['text']}"
        stems = words.stems(text)
        own = labelled[row["_id"]]
        labels = {words.name(label): n for n, a in enumerate(ASPECTS) for label in own[a] if keep(label)}
        held = set(stems)
        found = mark(stems, [(name, n) for name, n in labels.items() if name and held.issuperset(name)])
        if more is not None:
            found = {**mark(stems, more.within(stems)), **found}
        out.texts.append(text)
        out.marked.append(found)
    seen = {aspect for found in out.marked for aspect, _ in found.values()}
    out.absent = frozenset(range(len(ASPECTS))) - seen
    return out


def abstracts(folder: Path, keep_paper: Keep) -> Iterator[dict[str, Any]]:
    """Abstracts in sentences with their roles."""
    for split in ("train", "dev"):
        yield from (r for r in rows(folder / f"{split}.jsonl.zst") if keep_paper(str(r.get("id", ""))))


def named(folder: Path, column: int, weight: float, words: Words, names: Names, keep_paper: Keep) -> Source:
    """Abstracts marked with names; the roles of their sentences are not used."""
    out = Source(folder.name, column, weight)
    for row in abstracts(folder, keep_paper):
        text = " ".join(row["sentences"])
        stems = words.stems(text)
        out.texts.append(text)
        out.marked.append(mark(stems, names.within(stems)))
    seen = {aspect for found in out.marked for aspect, _ in found.values()}
    out.absent = frozenset(range(len(ASPECTS))) - seen
    return out


def said(folder: Path, weight: float, words: Words, keep_paper: Keep) -> Source:
    """Abstracts whose words have the aspect of their sentence; stop words have none."""
    out = Source(f"{folder.name}, roles", SAID, weight)
    for row in abstracts(folder, keep_paper):
        found: dict[int, tuple[int, Name]] = {}
        number = 0
        for sentence, role in zip(row["sentences"], row["labels"], strict=True):
            for stem in words.stems(sentence):
                if stem:
                    found[number] = (ROLES.get(role, -1), (stem,))
                number += 1
        out.texts.append(" ".join(row["sentences"]))
        out.marked.append(found)
    return out


@dataclass
class Examples:
    """Words to learn from.

    Attributes:
        states: (words, dimensions) float32.
        allowed: (words, columns) the columns that a word may fall into.
        weights: (words,) of the loss.
    """

    states: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray


def examples(source: Source, encoder: TokenEncoder, draw: np.random.Generator) -> Examples:
    """Words with an aspect, and some without one from the same texts; states are means over word pieces."""
    at = [
        (t, word)
        for t, found in enumerate(source.marked)
        for word, (aspect, _) in found.items()
        if aspect >= 0
    ]
    used = sorted({text for text, _ in at})
    spans = {text: np.array(word_spans(source.texts[text]), np.int64) for text in used}
    rest = [
        (text, word) for text in used for word in range(len(spans[text])) if word not in source.marked[text]
    ]
    pick = draw.permutation(len(at))[: MOST // 2]
    others = draw.permutation(len(rest))[: min(PER_NAME * len(pick), MOST)]
    chosen = [at[n] for n in pick] + [rest[n] for n in others]
    found = [source.marked[text][word] for text, word in chosen[: len(pick)]]

    states = np.zeros((len(chosen), encoder.dimensions), np.float32)
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, (text, _) in enumerate(chosen):
        wanted[text].append(number)
    texts = sorted(wanted)

    def each(index: int, held: np.ndarray, offsets: np.ndarray) -> None:
        numbers = wanted[texts[index]]
        words = spans[texts[index]][[chosen[n][1] for n in numbers]]
        states[numbers] = mean_of_spans(held, offsets, words)

    encoder.encode_tokens([source.texts[text] for text in texts], each)

    allowed = np.zeros((len(chosen), len(COLUMNS)), bool)
    weights = np.zeros(len(chosen))
    count = Counter(found)
    for number, (aspect, name) in enumerate(found):
        allowed[number, source.column + aspect] = True
        weights[number] = count[aspect, name] ** -OFTEN
    for aspect in range(len(ASPECTS)):
        ours = np.flatnonzero(allowed[: len(pick), source.column + aspect])
        weights[ours] /= max(weights[ours].sum(), 1e-9)
    allowed[len(pick) :, -1] = True
    for aspect in source.absent:
        allowed[len(pick) :, source.column + aspect] = True
    weights[len(pick) :] = REST / max(len(others), 1)
    print(f"{source.name:<16} {len(source.texts):>6} texts, words by aspect", end=" ")
    print(
        *(sum(aspect == n for aspect, _ in found) for n in range(len(ASPECTS))), f"and {len(others)} others"
    )
    beyond = states.any(axis=1)  # the encoder cut the text before the word
    return Examples(states[beyond], allowed[beyond], source.weight * weights[beyond])


def fit(parts: Sequence[Examples]) -> tuple[np.ndarray, np.ndarray]:
    """(dimensions, columns) weights and (columns,) bias: the allowed columns' greatest likelihood."""
    states = np.concatenate([part.states for part in parts])
    allowed = np.concatenate([part.allowed for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    weights = (weights / weights.sum()).astype(np.float32)
    mean = weights @ states
    spread = float(np.sqrt(weights @ (states - mean) ** 2).mean())
    given = (states - mean) / np.float32(spread)
    shape = (given.shape[1], len(COLUMNS))
    size = shape[0] * shape[1]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[:size].reshape(shape).astype(np.float32), flat[size:].astype(np.float32)
        scores = given @ w + b
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        kept = np.where(allowed, scores, 0)
        all_of, ours = scores.sum(axis=1), kept.sum(axis=1) + 1e-30
        value = float(weights @ (np.log(all_of) - np.log(ours))) + REGULAR * float((w**2).sum())
        slope = (scores / all_of[:, None] - kept / ours[:, None]) * weights[:, None]
        return value, np.concatenate([(given.T @ slope + 2 * REGULAR * w).ravel(), slope.sum(axis=0)]).astype(
            float
        )

    start = np.random.default_rng(0).normal(0, 0.01, size + shape[1])  # equal columns would stay equal
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    w = found[:size].reshape(shape) / spread
    return w.astype(np.float32), (found[size:] - mean @ w).astype(np.float32)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", choices=("free", "all"), default="free")
    parser.add_argument("--names", nargs="*", default=["med", "tdm", "kw"], choices=("med", "tdm", "kw"))
    parser.add_argument("--half", type=int, choices=(0, 1), help="only papers of this half")
    parser.add_argument("--labels", type=int, choices=(0, 1), help="only labels of this half")
    options = parser.parse_args()
    clock = time.time()
    encoder, words, pairs = load_encoder("minilm"), Words(), options.data / "aspect-pairs"
    if not isinstance(encoder, TokenEncoder):
        raise SystemExit("the encoder gives no token states")

    def keep_paper(name: str) -> bool:
        return options.half is None or not name or half(name, "paper") == options.half

    def keep(label: str) -> bool:
        return options.labels is None or half(label, "label") == options.labels

    known = {n: names_of(rows(pairs / n / "labels.jsonl.zst"), words, keep) for n in options.names}
    medicine = Names(known.get("med", {}))
    computing = Names({**known.get("kw", {}), **known.get("tdm", {})})
    methods = Names({name: aspect for name, aspect in known.get("kw", {}).items() if aspect == 1})
    spoken = (pairs / "roles" / "samd", options.data / "csabstruct")
    sources = [
        collection(pairs / "tdm", words, keep_paper, keep, methods),
        named(pairs / "roles" / "trial-headings", MEDICINE, 1.0, words, medicine, keep_paper),
        *(named(folder, COMPUTING, 0.5, words, computing, keep_paper) for folder in spoken),
        *(said(folder, 0.3, words, keep_paper) for folder in spoken),
    ]
    if options.texts == "all":
        sources += [collection(pairs / name, words, keep_paper, keep) for name in ("med", "kw")]
    draw = np.random.default_rng(0)
    weights, bias = fit([examples(source, encoder, draw) for source in sources])
    np.savez(options.out, W=weights, b=bias, labels=np.array(COLUMNS), encoder=np.array(encoder.fingerprint))
    print(f"wrote {options.out}, {options.out.stat().st_size / 1e3:.0f} kB, {time.time() - clock:.0f} s")


if __name__ == "__main__":
    main()
