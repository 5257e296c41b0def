"""Languages that a paper's text is written in.

Scripts tell most languages apart; those that share a script are told by their commonest words, by letters
of their own and by word endings. Everything but prose (inline code, options, paths, identifiers) is left out,
and words of another script inside a line belong to the line: a Chinese page that names English commands is
Chinese. The evidence is some eighty words per language, so a title of three words can be undecided; no
language is then returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from aspectra.base.expressions import expression
from aspectra.base.values import Remembered
from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import lead_field, split_sentences
from aspectra.views.lenses._lead import LeadBatch, lead_batch, spread
from aspectra.views.lenses.protocol import LENSES, Lens, TextSpan, load_data
from aspectra.views.view import Floats

_CYRILLIC, _ARABIC = ("ru", "uk", "bg", "sr"), ("ar", "fa", "ur")
_LATIN_SCRIPT = (
    *("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "no", "fi"),
    *("pl", "cs", "sk", "hu", "ro", "tr", "vi", "id", "ca", "hr"),
)
LANGUAGES = (*_LATIN_SCRIPT, *_CYRILLIC, *_ARABIC, "el", "he", "th", "hi", "ko", "ja", "zh")
_LABELS = (*LANGUAGES, "zh-Hans", "zh-Hant")
_COLUMN = {label: i for i, label in enumerate(_LABELS)}

_MOST = 12_000  # characters read: more of the same text does not change its language
_BLOCK = 48  # words judged together, so that an abstract may be in two languages
_PRIOR = 3.0  # what the whole text's evidence weighs in a block, in words
_LIKELY = 0.2  # of English where nothing else decides, in words: most of the literature is
_TRUST = 3.0  # a third of a text's words are common ones; text with fewer is taken for names or code
_KANA_SHARE = 0.2  # of kana and Chinese characters together, from which on these are Japanese
_LEAST = 0.35  # evidence in words, below which no language is returned, as for a variable's name
_ONE_LETTER = 0.3  # worth of words of one letter, which are names in formulas and code too
_CODE_WORDS = 0.1  # worth of words in lines of code, where a page has another script as well
_WORTH = {"word": 1.0, "letter": 0.7, "ending": 0.4}

_CODE = expression(r"`[^`\n]+`|\{\{[^}\n]{0,200}+\}\}|https?://\S+")
_CODE_SIGNS = ("`", "{{", "://")
# Words of prose: letters that touch no sign of code, option, path or number on either side.
_WORD = expression(
    r"(?<![\w\-/\\$@<{=.~%&+|])[^\W\d_]+(?:'(?=[^\W\d_])|(?![\w\-/\\(=<{_@~|+&\[]))",
)
_CODE_LINE = expression(r"[\\$@<>{}=_|\[\]]|\w\(|\*\.|;\s*$")
_OTHER_SCRIPT = expression("[\u0370-\u1cff\u1f00-\u1fff\u2e80-\ud7ff\uf900-\ufefc\U00020000-\U000323af]")
_HAN = "zh"
# Signs of a script, and how many words of an alphabet each is worth. Lone Greek letters are mathematics.
_SCRIPTS = {
    _HAN: (re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"), 0.6),
    "ja": (re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff]"), 0.4),
    "ko": (re.compile("[\uac00-\ud7a3\u1100-\u11ff]+"), 1.0),
    "el": (re.compile("[\u0370-\u03ff\u1f00-\u1fff]{3,}"), 1.0),
    "he": (re.compile("[\u0590-\u05ff]{2,}"), 1.0),
    "th": (re.compile("[\u0e01-\u0e4e]"), 0.2),
    "hi": (re.compile("[\u0900-\u097f]+"), 1.0),
    "Cyrillic": (re.compile("[\u0400-\u04ff]{2,}"), 1.0),
    "Arabic": (re.compile("[\u0600-\u06ff\u0750-\u077f]{2,}"), 1.0),
}
_SHARED = {"Cyrillic": _CYRILLIC, "Arabic": _ARABIC}


class _Tables:
    """Evidence of words, letters and endings for each language, from ``data/language.toml``.

    Attributes:
        weights: (rows, languages); row 0 says nothing.
        cells: row -> the places in ``weights``, flattened, that are not 0.
        rows: word -> its row: its own or its ending's.
        letters: letter -> its row.
        letter: matches one of them.
        forms: characters of simplified and of traditional Chinese alone.
    """

    def __init__(self) -> None:
        data = load_data("language")
        known: dict[str, dict[str, int]] = {kind: {} for kind in _WORTH}
        cells: list[tuple[int, int, float]] = []
        count = 1
        for kind, rows in known.items():
            for code, text in data[f"{kind}s"].items():
                for item in set(text.split()):
                    if item not in rows:
                        rows[item] = count
                        count += 1
                    worth = _ONE_LETTER if kind == "word" and len(item) == 1 else _WORTH[kind]
                    cells.append((rows[item], _COLUMN[code], worth))
        self.weights: Floats = np.zeros((count, len(LANGUAGES)), np.float32)
        for row, column, worth in cells:
            self.weights[row, column] = worth
        self.cells: list[list[int]] = [[] for _ in range(count)]
        for place in np.flatnonzero(self.weights).tolist():
            self.cells[place // len(LANGUAGES)].append(place)
        words, endings = known["word"], known["ending"]
        self.rows = Remembered(
            lambda word: words.get(word) or (endings.get(word[-3:], 0) if len(word) > 5 else 0), 200_000
        )
        self.letters = known["letter"]
        self.letter = re.compile("[" + "".join(self.letters) + "]")
        simplified, traditional = (
            frozenset("".join(data["chinese"][form].split())) for form in ("simplified", "traditional")
        )
        self.forms = (simplified - traditional, traditional - simplified)


_tables = cache(_Tables)
# What white space separates -> the words of prose in it: no sign beyond a space decides on a word.
_WORDS = Remembered(_WORD.findall)
_LATIN = np.array([code in _LATIN_SCRIPT for code in LANGUAGES])


def label_of(tag: str) -> str:
    """The label that says most of a BCP 47 tag, or "" where the lens has none for its language.

    >>> [label_of(tag) for tag in ("en", "pt-BR", "zh-TW", "zh-Hans-CN", "nb", "sw")]
    ['en', 'pt', 'zh-Hant', 'zh-Hans', 'no', '']
    """
    first, *rest = tag.replace("_", "-").casefold().split("-")
    first = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "cmn": "zh"}.get(first, first)
    if first == "zh":
        if {"hant", "tw", "hk", "mo"} & set(rest):
            return "zh-Hant"
        if {"hans", "cn", "sg"} & set(rest):
            return "zh-Hans"
    return first if first in LANGUAGES else ""


def _words(text: str) -> list[str]:
    """The words of prose in a text, in order, lower-cased."""
    return list(chain.from_iterable(map(_WORDS.__getitem__, text.lower().split())))


def _evidence(words: Sequence[str]) -> Floats:
    """(blocks, languages) what runs of :data:`_BLOCK` words say for each language."""
    tables = _tables()
    rows = [*map(tables.rows.__getitem__, words)]
    held = [tables.cells[row] for row in rows]
    blocks = np.repeat(np.arange(len(rows)) // _BLOCK, [*map(len, held)])
    scores = _added(-(-len(rows) // _BLOCK), blocks, np.array([*chain.from_iterable(held)], np.int64))
    for block in range(len(scores)):
        joint = "".join(words[block * _BLOCK : (block + 1) * _BLOCK])
        if not joint.isascii():
            letters = [tables.letters[letter] for letter in tables.letter.findall(joint)]
            scores[block] += tables.weights[letters].sum(axis=0)
    return scores


def _added(count: int, blocks: NDArray[np.int64], cells: NDArray[np.int64]) -> Floats:
    """(count, languages) sums of cells by block, one after the other: sums in other orders differ in bits."""
    out = np.zeros((count, len(LANGUAGES)), np.float32)
    worth = _tables().weights.ravel()[cells]
    np.add.at(out.reshape(-1), blocks * len(LANGUAGES) + cells % len(LANGUAGES), worth)
    return out


def _plain_rows(token: str) -> list[int] | None:
    """Rows of the words of what white space separates; None where more than ASCII words may count."""
    words = _words(token.replace("’", "'"))
    if any(sign in token for sign in _CODE_SIGNS) or _OTHER_SCRIPT.search(token):
        return None
    return [*map(_tables().rows.__getitem__, words)] if "".join(words).isascii() else None


_PLAIN_ROWS = Remembered(_plain_rows)


def _simple_weights(batch: LeadBatch, simple: NDArray[np.bool_]) -> Floats:
    """(papers, languages) as :func:`_weights`, of texts whose words are all ASCII; others are not simple.

    Args:
        batch: the texts.
        simple: (papers,) whether a text may be so; set to False where it is not.
    """
    written, tables = batch.written, _tables()
    rows = [*map(_PLAIN_ROWS.__getitem__, written.known)]
    simple &= written.sums(np.array([some is None for some in rows], np.float64)) == 0
    chosen = simple[written.rows]
    words, each = spread([some or () for some in rows], written.numbers[chosen])
    texts = np.repeat(written.rows[chosen], each)
    told, first, sizes = np.unique(texts, return_index=True, return_counts=True)
    out = np.zeros((len(simple), len(LANGUAGES)), np.float32)
    if len(told):
        begins = (np.arange(len(words)) - np.repeat(first, sizes)) % _BLOCK == 0
        cells, each = spread(tables.cells, words)
        blocks = np.repeat(np.cumsum(begins) - 1, each)
        out[told] = _latin(_added(int(begins.sum()), blocks, cells), sizes)
    return out


def _latin(scores: Floats, sizes: NDArray[np.int64]) -> Floats:
    """(texts, languages) how many words of prose each Latin-script language has.

    Args:
        scores: (blocks, languages) evidence of runs of :data:`_BLOCK` words, those of a text in a row.
        sizes: (texts,) number of words of each, not 0.
    """
    blocks = -(-sizes // _BLOCK)
    first = np.cumsum(blocks) - blocks
    text = np.repeat(np.arange(len(sizes)), blocks)
    scores = scores * _LATIN
    whole = np.add.reduceat(scores, first)
    most = whole.max(axis=1, keepdims=True)
    prior = _PRIOR * whole / np.maximum(most, _LEAST)
    prior[:, _COLUMN["en"]] += _LIKELY
    columns = (scores + prior[text]).argmax(axis=1)
    number = np.arange(len(scores))
    size = np.minimum(_BLOCK, sizes[text] - (number - first[text]) * _BLOCK).astype(np.float32)
    out = np.zeros_like(whole)
    np.add.at(out, (text, columns), np.minimum(size, _TRUST * scores[number, columns]))
    out[most[:, 0] < _LEAST] = 0
    return out


def _latin_words(words: Sequence[str]) -> Floats:
    """(languages,) the same of the words of one text."""
    if not words:
        return np.zeros(len(LANGUAGES), np.float32)
    return np.asarray(_latin(_evidence(words), np.array([len(words)]))[0])


def _shared(script: str, words: Sequence[str]) -> str:
    """The most likely language of a script that several languages share."""
    members = _SHARED[script]
    scores = _evidence(words).sum(axis=0) if words else np.zeros(len(LANGUAGES))
    return max(members, key=lambda code: float(scores[_COLUMN[code]]))  # the first where nothing decides


def _weights(text: str) -> Floats:
    """(languages,) how many words of the text are in each language; all 0 where nothing can be told."""
    text = text[:_MOST].replace("’", "'")
    if any(sign in text for sign in _CODE_SIGNS):
        text = _CODE.sub(" ", text)
    if _OTHER_SCRIPT.search(text) is None:
        return _latin_words(_words(text))
    signs = dict.fromkeys(_SCRIPTS, 0.0)
    latin: list[str] = []
    code: list[str] = []
    foreign: dict[str, list[str]] = {script: [] for script in _SHARED}
    for line in text.splitlines():
        # Script -> how many words its signs in the line are worth.
        found = {
            code: worth * len(signs_in)
            for code, (pattern, worth) in _SCRIPTS.items()
            if (signs_in := pattern.findall(line))
        }
        words = _words(line)
        for script in _SHARED:
            if script in found:
                foreign[script] += words
        if found:
            words = [word for word in words if _OTHER_SCRIPT.match(word) is None]
            for script, worth in found.items():
                signs[script] += worth
        if sum(found.values()) < len(words):
            if _CODE_LINE.search(line) is None:
                latin += words
            else:
                code += words
    out = _latin_words(latin) + _CODE_WORDS * _latin_words(code)
    for script, worth in signs.items():
        out[_COLUMN[_shared(script, foreign[script]) if script in _SHARED else script]] += worth
    han, kana = out[_COLUMN[_HAN]], out[_COLUMN["ja"]]
    # In signs, not words: a page in Chinese may quote a Japanese name.
    if kana and kana / 0.4 >= _KANA_SHARE * (kana / 0.4 + han / 0.6):
        out[_COLUMN["ja"]] += han
        out[_COLUMN[_HAN]] = 0
    return out


def _forms(text: str) -> tuple[float, float]:
    """Shares of simplified and traditional characters among those that tell; NaN where none does."""
    simplified, traditional = (sum(c in form for c in text[:_MOST]) for form in _tables().forms)
    told = simplified + traditional
    return (simplified / told, traditional / told) if told else (np.nan, np.nan)


_BEGINNING = 500  # characters


class LanguageLens(Lens):
    """Shares of the title and the abstract (or lead) in each language, in words of prose.

    Grades go from 0 to 1 and sum to 1 over :data:`LANGUAGES`; ``zh-Hans`` and ``zh-Hant`` divide ``zh`` by
    the characters that differ, NaN where none does. A language that the record states wins over the text
    (all grades are 0 where the lens has no label for it). Without letters, or with too few common words to
    tell, all is NaN.
    """

    name = "language"
    description = "which languages a text is written in"
    labels: tuple[str, ...] = _LABELS
    reads: tuple[str, ...] = ("text", "language")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, labels) of each paper."""
        if not papers:
            return []
        batch = lead_batch(papers)
        simple = np.array([not p.language for p in papers])
        simple &= [len(lead.text) <= _MOST for lead in batch.leads]
        weights = _simple_weights(batch, simple)
        rows = np.zeros((len(papers), 1, len(_LABELS)), np.float32)
        total = weights.sum(axis=1, keepdims=True)
        rows[:, 0, : len(LANGUAGES)] = weights / np.where(total, total, 1)
        rows[total[:, 0] == 0] = np.nan
        for number in np.flatnonzero(~simple).tolist():
            rows[number] = self._row(papers[number])
        return [*rows]

    def _row(self, paper: Paper) -> Floats:
        row = np.zeros((1, len(_LABELS)), np.float32)
        text = f"{paper.title}\n{lead_field(paper)[1]}"
        if paper.language:
            if label := label_of(paper.language):
                row[0, _COLUMN[label.partition("-")[0]]] = 1
        else:
            weights = _weights(text)
            total = weights.sum()
            if not total:
                row[:] = np.nan
                return row
            row[0, : len(LANGUAGES)] = weights / total
        if chinese := row[0, _COLUMN[_HAN]]:
            row[0, len(LANGUAGES) :] = np.multiply(_forms(text), chinese)
        return row

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The first sentence of which half the words or more are in the language; None where none is."""
        code = label.partition("-")[0]
        for field, text, (start, end) in _sentences(paper):
            weights = _weights(text[start:end])
            here = float(weights[_COLUMN[code]])
            if here > 0 and here >= 0.5 * weights.sum():
                return TextSpan(field, start, end)
        return None


def _sentences(paper: Paper) -> Iterator[tuple[str, str, tuple[int, int]]]:
    for field, text in (lead_field(paper), ("title", paper.title)):
        # The sentence is mostly in the beginning.
        first = split_sentences(text[:_BEGINNING])[:-1]
        for span in first:
            yield field, text, span
        for span in split_sentences(text[:_MOST])[len(first) :]:
            yield field, text, span


LENSES.register("language")(LanguageLens())
