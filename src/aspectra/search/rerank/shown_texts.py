"""What judges are asked about, and the texts that they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aspectra.base.hashing import digest_texts
from aspectra.llm.budget import estimate_tokens
from aspectra.llm.prompts.data import as_data, without_marks
from aspectra.llm.prompts.plain_text import without_hidden
from aspectra.search.rerank.fitting import WHOLE, Fit, fit_text, share_out
from aspectra.search.rerank.templates import criterion, rules


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

    def __init__(self, question: Question, fit: Fit | None = None, salt: str = "") -> None:
        self.question = question
        self.fit = fit or Fit()
        self.hidden: dict[str, int] = {}
        self.cut: set[str] = set()
        self.query_cut = False
        self.criterion = criterion(question.criterion)
        self._salt = salt
        self._query_words = without_hidden(question.spoken)[0]
        self._clean: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._fitted: dict[tuple[str, int], tuple[str, bool]] = {}
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
        sizes = [self._size(paper) for paper in papers]
        total = self.fit.total if self.fit.total < WHOLE else sum(sizes)  # a share of no limit is none
        room = share_out(sizes, max(1, int(self.fit.each * share)), max(1, int(total * share)))
        lines, each = [], []
        for paper, label, size, tokens in zip(papers, labels, sizes, room, strict=True):
            text = self._text(paper, size, tokens)
            lines.append(as_data({"label": label, "text": text} if label else {"text": text}))
            title = without_hidden(paper.title)[0].strip()
            body = text.removeprefix(title)
            each.append(
                {
                    "label": label,
                    "text": _line(text),
                    "title": _line(title if body != text else ""),
                    "abstract": _line(body),
                }
            )
        held = self._question(share)
        asked = as_data(held)
        fence = self._fence([asked, *lines])
        fenced = "\n".join([fence, *lines, fence])
        return {
            "criterion": self.criterion,
            "rules": rules(fence),
            "question": f"{fence}\n{asked}\n{fence}",
            "papers": fenced,
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

    def _size(self, paper: Candidate) -> int:
        if paper.id not in self._sizes:
            parts = [part for part in (paper.text, paper.judge_text) if part.strip()]
            clean, hidden = without_hidden("\n\n".join(parts))
            if hidden:
                self.hidden[paper.id] = hidden
            self._clean[paper.id] = clean
            self._sizes[paper.id] = estimate_tokens(clean)
        return self._sizes[paper.id]

    def _text(self, paper: Candidate, size: int, tokens: int) -> str:
        if size <= tokens:
            return self._clean[paper.id]
        key = (paper.id, tokens)
        if key not in self._fitted:
            fitted = fit_text(self._clean[paper.id], self._query_words, tokens)
            self._fitted[key] = fitted.text, fitted.cut
        text, cut = self._fitted[key]
        if cut:
            self.cut.add(paper.id)
        return text


def _line(text: str) -> str:
    """A text as a part of a line: no text reaches a line of its own, and none holds a template's mark."""
    return " ".join(without_marks(text).split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paper to be judged.

    Attributes:
        id: its id; unique among the candidates.
        text: what may also be searched: title and abstract.
        judge_text: what only a judge sees (a solution, a full text); "" where there is none.
        title: that the text begins with; "" where it has none.
    """

    id: str
    text: str
    judge_text: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for; every judge is told all of it.

    Attributes:
        text: the query, or the text of the seed papers.
        instruction: what the person said about how to search, or "".
        conditions: as in ``avoid language=zh``.
        criterion: what makes a paper fit: a name in the file of criteria (``relevance``, ``technique`` ...),
            or a sentence of one's own.
        judge_text: of the query, for judges only (the solution of a problem, say); "" where there is none.
        aspects: in which papers should be alike or different; the instruction names them too.
    """

    text: str
    instruction: str = ""
    conditions: tuple[str, ...] = ()
    criterion: str = "relevance"
    judge_text: str = ""
    aspects: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """Query, instruction and conditions as one text, for judges that read no form."""
        return "\n".join(part for part in (self.text, self.instruction, "; ".join(self.conditions)) if part)
