"""What a benchmark under construction holds, and its form on disk: lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.base.hashing import digest_texts
from aspectra.base.values import Value
from aspectra.papers.paper import normalise_title

Judged = Mapping[str, Mapping[str, int]]  # query -> document -> grade


class Draft(Value, frozen=True):
    """A query that is being made.

    Attributes:
        id: unique in the set.
        text: the query, or "" where the seed alone is one.
        seed: id of the paper that it starts from, or "".
        aspect: the aspect that is asked for, or "".
        instructions: mode (``instructed``, ``reversed``) -> what is added to the text.
        labels: name -> values, for breaking results down.
        context: what the text was or will be made from; it is in no layout.
        source: where the text came from: ``library``, ``template``, or the name of a language model.
    """

    id: str
    text: str = ""
    seed: str = ""
    aspect: str = ""
    instructions: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    labels: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - msgspec copies it for each value
    context: str = ""
    source: str = "library"


class MadeText(Value, frozen=True):
    """A document whose text is not the library's own, or is no paper of the library.

    Attributes:
        id: of the document; of the library's paper whose text was changed.
        title, text: of the document; ``text`` is its abstract.
        sections: title and text of each.
        origin: ``changed`` (something was taken out), ``title`` (a cited work of which only that is known),
            or the name of the language model that wrote it.
        removed: what was taken out, as words that say where.
    """

    id: str
    title: str = ""
    text: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    origin: str = "changed"
    removed: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        """Whether a language model wrote it."""
        return self.origin not in ("changed", "title")

    @classmethod
    def of_title(cls, title: str) -> MadeText | None:
        """A cited work of which only the title is known; None without words."""
        key = normalise_title(title)
        return cls(f"title:{digest_texts([key])[:12]}", title, origin="title") if key else None


@dataclass(frozen=True)
class Made:
    """A benchmark under construction, as one step hands it to the next.

    Attributes:
        corpus: ids of the documents, in order; those in ``texts`` have the texts that are there.
        drafts: the queries.
        qrels: judgement set -> query -> document -> grade; ``gold``, or one for each mode of instructions.
        excluded: query -> documents that are dropped from its ranking.
        texts: documents whose text is not the library's own, and query papers that were changed.
        facts: what steps report: name -> JSON value.
    """

    corpus: tuple[str, ...] = ()
    drafts: tuple[Draft, ...] = ()
    qrels: Mapping[str, Judged] = field(default_factory=dict)
    excluded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, MadeText] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """One JSON object a line, in an order that depends on the content alone."""
        yield _line("corpus", list(self.corpus))
        for draft in sorted(self.drafts, key=lambda one: one.id):
            yield _line("draft", draft.to_dict())
        for name, grades in sorted(self.qrels.items()):
            for query, documents in sorted(grades.items()):
                yield _line("judged", [name, query, dict(sorted(documents.items()))])
        for query, ids in sorted(self.excluded.items()):
            yield _line("excluded", [query, sorted(ids)])
        for _, text in sorted(self.texts.items()):
            yield _line("text", text.to_dict())
        for name, value in sorted(self.facts.items()):
            yield _line("fact", [name, value])

    @classmethod
    def of_lines(cls, lines: Iterable[str | bytes], place: str = "") -> Made:
        """Inverse of :meth:`lines`.

        Raises:
            BadInput: a line is damaged; ``place`` names the file.
        """
        corpus: tuple[str, ...] = ()
        drafts: list[Draft] = []
        qrels: dict[str, dict[str, dict[str, int]]] = {}
        excluded: dict[str, tuple[str, ...]] = {}
        texts: dict[str, MadeText] = {}
        facts: dict[str, Any] = {}
        for number, line in enumerate(lines, 1):
            try:
                kind, value = json.loads(line)
                if kind == "corpus":
                    corpus = tuple(value)
                elif kind == "draft":
                    drafts.append(Draft.from_dict(value))
                elif kind == "judged":
                    name, query, documents = value
                    qrels.setdefault(name, {})[query] = documents
                elif kind == "excluded":
                    excluded[value[0]] = tuple(value[1])
                elif kind == "text":
                    texts[value["id"]] = MadeText.from_dict(value)
                else:
                    facts[value[0]] = value[1]
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise BadInput(
                    f"line {number} of {place or 'a step'} is damaged",
                    why=str(error),
                    hint="remove that file; the step is made again",
                ) from error
        return cls(corpus, tuple(drafts), qrels, excluded, texts, facts)

    @property
    def plainly(self) -> Judged:
        """The judgements of questions without an instruction."""
        return self.qrels.get("gold") or self.qrels.get("original", {})

    @property
    def judged(self) -> set[str]:
        """The documents that have a grade for any query."""
        return {doc for held in self.qrels.values() for grades in held.values() for doc in grades}

    def relevant(self) -> dict[str, list[str]]:
        """Query -> documents that are relevant to it, under its instruction where it has one."""
        return {
            query: [document for document, grade in grades.items() if grade > 0]
            for name in ("gold", "instructed")
            for query, grades in self.qrels.get(name, {}).items()
        }

    def of_queries(self, kept: Iterable[Draft]) -> Made:
        """With these queries alone, and what is judged, excluded and changed for them."""
        drafts = tuple(kept)
        names = {draft.id for draft in drafts}
        qrels = {
            name: {query: grades for query, grades in judged.items() if query in names}
            for name, judged in self.qrels.items()
        }
        excluded = {query: ids for query, ids in self.excluded.items() if query in names}
        seeds = {draft.seed for draft in drafts}
        texts = {name: one for name, one in self.texts.items() if one.origin != "changed" or name in seeds}
        return Made(self.corpus, drafts, qrels, excluded, texts, self.facts)


def _line(kind: str, value: Any) -> str:
    return json.dumps([kind, value], ensure_ascii=False, separators=(",", ":")) + "\n"
