"""The question that judges answer, and the texts that they are shown."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError, check_number
from aspectra.base.files import digest_texts
from aspectra.llm import loops
from aspectra.llm.budget import estimate_tokens
from aspectra.llm.chat import ChatModel, Message, Request
from aspectra.llm.prompts.conversation import (
    CONVERSATION_KEYS,
    Conversation,
    as_data,
    parse_prompt,
    read_prompt,
    refuse_marks,
    without_hidden,
    without_marks,
)
from aspectra.papers.text.structure import split_sentences
from aspectra.search.rerank.question import Candidate, Question

# Prompts are files: TOML with declared placeholders, named with a hash wherever they were used.
#
# A prompt file says::
#
#     placeholders = ["question", "papers"]
#     system = "..."
#     user = "... {{question}} ... {{papers}} ..."
#
# or holds a conversation, see :mod:`aspectra.llm.prompts.conversation`. Besides our places there are plain
# texts on one line: ``query`` (with those of ``about``, ``instruction`` and ``conditions`` behind it that
# have no place), ``plain_notes``, and for each paper ``label``, ``text``, ``title`` and ``abstract``.

_HERE = "aspectra.search.rerank"
# A plain place -> what it stands for.
_INSTEAD = {"query": "question", "plain_notes": "notes", "text": "paper"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    Attributes:
        name: of the judge that it belongs to.
        talk: its turns, and how it wants its reply.
    """

    name: str
    talk: Conversation

    @property
    def placeholders(self) -> tuple[str, ...]:
        """All of them, sorted."""
        return self.talk.places

    @property
    def stamp(self) -> str:
        """Name and hash, as in ``listwise/3f2a90c1``: another wording is another stamp."""
        said = [*(turn.text for turn in self.talk.turns), rules(""), *filter(None, [self.talk.own])]
        return f"{self.name}/{digest_texts(said)[:8]}"

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The turns with values put in; values without a placeholder are left out.

        Args:
            values: of the placeholders; those of each paper are called ``each``.

        Raises:
            UsageError: a placeholder has no value.
        """
        if "query" in values:
            loose = [name for name in ("about", "instruction", "conditions") if name not in self.placeholders]
            values = {**values, "query": " ".join(filter(None, map(values.get, ("query", *loose))))}
        papers = values.get("each", ())
        if missing := sorted(set(self.placeholders) - set(values) - {name for one in papers for name in one}):
            raise UsageError(f"prompt {self.name!r} lacks {', '.join(missing)}")
        return self.talk.messages(values, papers)

    def request(self, values: Mapping[str, Any], **more: Any) -> Request:
        """The request that the prompt makes of the values.

        Args:
            values: see :meth:`messages`.
            more: what is usual for it; the length and the form of its reply are the file's where it says so.
        """
        return self.talk.request(Request(self.messages(values), prompt=self.stamp, **more))

    @classmethod
    def parse(cls, name: str, text: str) -> Prompt:
        """Read the text of a prompt file.

        Raises:
            UsageError: not TOML, unknown keys, or placeholders that differ from the declared ones.
        """
        what = f"the prompt {name!r}"
        return cls(name, Conversation.parse(what, parse_prompt(what, text, CONVERSATION_KEYS)))

    @classmethod
    def load(cls, name: str, path: str = "", *, package: str = _HERE) -> Prompt:
        """The prompt called ``name``: of a package's folder ``prompts``, or the file at ``path``.

        Raises:
            UsageError: it cannot be read, or leaves out what every judge must be told.
        """
        return _from_file(name, path, package) if path else _ours(name, package)


@cache
def _from_file(name: str, path: str, package: str) -> Prompt:
    prompt = Prompt.parse(name, read_prompt(Path(path)))
    # Ours says what must be told; how, and what is told beside it, is free. The rules are about fences.
    used = set(prompt.placeholders)
    fenced = used & ({"question", "paper"} if prompt.talk.plain else {"question", "paper", "papers"})
    used |= {_INSTEAD[one] for one in used & set(_INSTEAD)} | ({"papers"} if prompt.talk.plain else set())
    told = {"papers", "paper", "question", "notes", *(["rules"] if fenced else [])}
    if missing := sorted(told & set(_ours(name, package).placeholders) - used):
        raise UsageError(f"the prompt file {path} has no place for {', '.join(missing)}")
    return prompt


@cache
def _ours(name: str, package: str = _HERE) -> Prompt:
    return Prompt.parse(name, (files(package) / "prompts" / f"{name}.toml").read_text("utf-8"))


def rules(fence: str) -> str:
    """The rules for every judge on texts behind a fence."""
    return " ".join(_ours("rules").messages({"fence": fence})[1].content.split())


@cache
def criteria() -> Mapping[str, str]:
    """Name -> sentence of every criterion that we know by name."""
    return {
        name: " ".join(text.split())
        for name, text in tomllib.loads(
            (files(_HERE) / "prompts" / "criteria.toml").read_text("utf-8")
        ).items()
    }


def criterion(name: str) -> str:
    """The sentence of a named criterion; a text of more than one word is its own.

    Raises:
        UsageError: one word that names none, or a text with a mark of a chat template.
    """
    known = criteria()
    if name in known:
        return known[name]
    if len(name.split()) > 1:
        refuse_marks(name, "the criterion")
        return without_hidden(name)[0]
    raise UsageError(
        f"there is no criterion called {name!r}",
        why="known: " + ", ".join(sorted(known)),
        hint="or write a sentence",
    )


# Texts fitted to a budget: where a text is too long, the passages nearest the query stay.
#
# Nearness is by shared words. The first sentence (most often the title) always stays, and passages keep
# their order.

_GAP = " … "
WHOLE = 2**31  # tokens; no text has so many
_FOR_TEXTS = 0.75  # of the context that an endpoint states; the rest is for the prompt and the reply
_WORD = re.compile(r"\w+")
# Scripts written without spaces: two neighbouring characters stand for a word.
_DENSE = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class TextBudget:
    """Limits on the text in one question to a model, in tokens by the rule of thumb.

    Attributes:
        each: of one paper, at most.
        total: of all papers together, at most; long texts give way first.
        query: of the query, and of its text for judges, at most.
    """

    each: int = 600
    total: int = 16_000
    query: int = 2_000

    def __post_init__(self) -> None:
        if min(self.each, self.total, self.query) < 1:
            raise UsageError("texts need a budget of at least one token")

    @property
    def shown(self) -> int:
        """Tokens of a single paper."""
        return min(self.each, self.total)


def check_tokens(text_tokens: int, request_tokens: int = 0) -> None:
    """Check that the budgets of a stage are numbers of tokens.

    Raises:
        UsageError: a number is negative, or too large.
    """
    for name, value in (("text_tokens", text_tokens), ("request_tokens", request_tokens)):
        check_number(name, value, 0, WHOLE)


def fit_for(model: ChatModel | None, text_tokens: int, request_tokens: int) -> TextBudget:
    """Limits on the text that a stage shows a model in one question.

    A budget other than the usual one stays below the context that the endpoint states, where it states one.

    Args:
        model: is asked.
        text_tokens: of a paper, and of the query where that is more than usual; 0 for whole texts.
        request_tokens: of all papers together; 0 for what the model reads.
    """
    usual = TextBudget()
    if (text_tokens, request_tokens) == (usual.each, usual.total):
        return usual
    said = getattr(model, "context", None)
    stated = loops.run(said()) if said is not None else None
    room = int(stated * _FOR_TEXTS) if stated else WHOLE
    each = text_tokens or WHOLE
    query = min(max(usual.query, each), room)
    return TextBudget(each, max(1, min(request_tokens or WHOLE, room)), query)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text that fits, and whether anything was left out of it."""

    text: str
    cut: bool


def share_out(sizes: Sequence[int], each: int, total: int) -> list[int]:
    """Share of each of several texts, so that all together keep within ``total``.

    Short texts keep what they need; what they leave goes to the long ones in equal parts.

    >>> share_out([10, 100, 200], each=150, total=130)
    [10, 60, 60]
    """
    out = [min(size, each) for size in sizes]
    left, waiting = total, len(out)
    for place in sorted(range(len(out)), key=out.__getitem__):
        out[place] = min(out[place], left // waiting)
        left -= out[place]
        waiting -= 1
    return out


def fit_text(text: str, query: str, tokens: int) -> Fitted:
    """The text itself where it fits, else its passages nearest the query.

    Args:
        text: any text.
        query: what the passages should be near to.
        tokens: how much may stay, by the rule of thumb.
    """
    if estimate_tokens(text) <= tokens:
        return Fitted(text, False)
    passages = [text[a:b] for a, b in split_sentences(text)]
    if not passages:
        return Fitted("", bool(text))
    nearness = shared_words(query, passages)
    left = 4 * tokens  # bytes
    kept = set()
    for place in (0, *sorted(range(1, len(passages)), key=lambda n: (-nearness[n], n))):
        # Each passage is charged the mark of a gap on both sides, so that the whole never exceeds the budget.
        size = len(passages[place].encode("utf-8", "surrogatepass")) + 2 * len(_GAP.encode())
        if size <= left:
            kept.add(place)
            left -= size
    if not kept:
        return Fitted(_cut(passages[0], tokens), True)
    parts: list[str] = []
    for place in sorted(kept):
        if place and place - 1 not in kept:
            parts.append("…")
        parts.append(passages[place])
    if max(kept) < len(passages) - 1:
        parts.append("…")
    return Fitted(" ".join(parts), True)


def _cut(text: str, tokens: int) -> str:
    """The start of a text, cut at white space where there is some in its second half."""
    cut = text.encode("utf-8", "surrogatepass")[: max(1, 4 * tokens - 4)].decode("utf-8", "ignore")
    at = cut.rfind(" ", len(cut) // 2)
    return (cut[:at] if at > 0 else cut) + "…"


def shared_words(query: str, passages: Sequence[str]) -> list[float]:
    """Share of the query's words in each passage, rare words counting more; 0 to 1.

    A word counts by how few of the passages hold it, so that no list of stop words is needed.

    >>> [round(x, 2) for x in shared_words("owls hunt", ["owls fly", "mice run", "owls hunt mice"])]
    [0.4, 0.0, 1.0]
    """
    wanted = set(_words(query))
    held = [wanted.intersection(_words(passage)) for passage in passages]
    spread = Counter(word for words in held for word in words)
    weight = {word: math.log1p(len(passages) / count) for word, count in spread.items()}
    whole = sum(weight.values()) or 1.0
    return [sum(weight[word] for word in sorted(words)) / whole for words in held]


def _words(text: str) -> list[str]:
    out = []
    for word in _WORD.findall(text.casefold()):
        if _DENSE.search(word):
            out += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            out.append(word)
    return out


class ShownTexts:
    """The texts of one reranking, cleaned once and fitted as each request needs them.

    Args:
        question: what is looked for.
        fit: how much text a request may hold.
        salt: makes fences unknowable even to somebody who knows every other text; any text.

    Attributes:
        hidden: paper id -> hidden characters taken out of its text, where there were some.
        cut: ids of papers that at least one request showed only in part.
        query_cut: whether the query was too long to be shown whole.
        criterion: the sentence that says what fits.
    """

    def __init__(self, question: Question, fit: TextBudget | None = None, salt: str = "") -> None:
        self.question = question
        self.fit = fit or TextBudget()
        self.hidden: dict[str, int] = {}
        self.cut: set[str] = set()
        self.query_cut = False
        self.criterion = criterion(question.criterion)
        self._salt = salt
        self._query_words = without_hidden(question.spoken)[0]
        self._clean: dict[str, tuple[str, int]] = {}  # texts, and their tokens
        self._fitted: dict[tuple[str, int], Fitted] = {}
        self._asked: dict[float, dict[str, Any]] = {}

    def values(
        self, papers: Sequence[Candidate], labels: Sequence[str], share: float = 1.0
    ) -> dict[str, Any]:
        """Values of the placeholders ``criterion``, ``rules``, ``question`` and ``papers``, and plain ones.

        Args:
            papers: in the order in which they are shown.
            labels: a label for each; "" for none.
            share: of the budget, 0 to 1; less where a model's context turned out too small.
        """
        clean = [self._cleaned(paper) for paper in papers]
        sizes = [size for _, size in clean]
        total = self.fit.total if self.fit.total < WHOLE else sum(sizes)  # a share of no limit is none
        room = share_out(sizes, max(1, int(self.fit.each * share)), max(1, int(total * share)))
        lines, each = [], []
        for paper, label, (whole, size), tokens in zip(papers, labels, clean, room, strict=True):
            text = whole if size <= tokens else self._fit(paper.id, whole, tokens)
            lines.append(as_data({"label": label, "text": text} if label else {"text": text}))
            title = without_hidden(paper.title)[0].strip()
            body = text.removeprefix(title)
            plain = {"text": text, "title": title if body != text else "", "abstract": body}
            each.append({"label": label, **{name: _line(said) for name, said in plain.items()}})
        held = self._question(share)
        asked = as_data(held)
        fence = self._fence([asked, *lines])
        return {
            "criterion": self.criterion,
            "rules": rules(fence),
            "question": f"{fence}\n{asked}\n{fence}",
            "papers": "\n".join([fence, *lines, fence]),
            "query": _line(held["query"]),
            "about": _line(held.get("about the query", "")),
            "instruction": _line(held.get("instruction", "")),
            "conditions": _line("; ".join(held.get("conditions", ()))),
            "each": each,
        }

    def _fence(self, lines: list[str]) -> str:
        # A hash of all that it encloses: the same request is the same text again (a journal can find it), and
        # nobody can write a text that holds the hash of itself.
        fence = "=" * 3 + digest_texts([self._salt, *lines])[:20]
        while any(fence in line for line in lines):
            fence = "=" * 3 + digest_texts([fence, *lines])[:20]
        return fence

    def _question(self, share: float) -> dict[str, Any]:
        if share not in self._asked:
            said = estimate_tokens(f"{self.question.spoken}\n{self.question.judge_text}")
            limit = max(1, int((self.fit.query if self.fit.query < WHOLE else said) * share))
            asked: dict[str, Any] = {"query": self._fit_query(self.question.text, limit)}
            if self.question.judge_text:
                asked["about the query"] = self._fit_query(self.question.judge_text, limit)
            if self.question.instruction:
                asked["instruction"] = self._fit_query(self.question.instruction, limit)
            if self.question.conditions:
                asked["conditions"] = [without_hidden(one)[0] for one in self.question.conditions]
            self._asked[share] = asked
        return self._asked[share]

    def _fit_query(self, text: str, limit: int) -> str:
        fitted = fit_text(without_hidden(text)[0], self._query_words, limit)
        self.query_cut |= fitted.cut
        return fitted.text

    def _cleaned(self, paper: Candidate) -> tuple[str, int]:
        if paper.id not in self._clean:
            parts = [part for part in (paper.text, paper.judge_text) if part.strip()]
            clean, hidden = without_hidden("\n\n".join(parts))
            if hidden:
                self.hidden[paper.id] = hidden
            self._clean[paper.id] = clean, estimate_tokens(clean)
        return self._clean[paper.id]

    def _fit(self, paper: str, text: str, tokens: int) -> str:
        if (paper, tokens) not in self._fitted:
            self._fitted[paper, tokens] = fit_text(text, self._query_words, tokens)
        fitted = self._fitted[paper, tokens]
        if fitted.cut:
            self.cut.add(paper)
        return fitted.text


def _line(text: str) -> str:
    """A text as a part of a line: no text reaches a line of its own, and none holds a template's mark."""
    return " ".join(without_marks(text).split())
