"""``mentions`` and ``overlap``: sentences that cite, as queries for what they cite.

The first steps of LitSearch (section 2.1): a sentence that cites works of the corpus is what a question is
written from, and stands for one, raw, where no language model writes it. A question that repeats the titles
it asks for is too easy, and is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from aspectra.base.files import digest_texts
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, MadeText, QueryDraft, Workbench, step
from aspectra.papers.paper import Paper, Reference, normalise_title
from aspectra.papers.text.references import strip_citations
from aspectra.papers.text.structure import split_sentences

_MARK = re.compile(r"\{\{cite:([^{}\s]{1,200})\}\}")
_LEFT = re.compile(r"(?: ?,){0,20} [,.;:)]")  # around marks that were taken out
_FORMULA = re.compile(r"[$\\^_{}]")
_CONTEXT = frozenset(
    "we our this these those such here it they its their moreover however also following see".split()
)
_FEW = 3  # relevant documents, up to which their titles count together


class MentionsOptions(Value, frozen=True):
    """Options of ``mentions``.

    Attributes:
        targets: ``papers`` of the library, or ``titles``: every work that a reference names with its title.
        mentions: drawn in all; 0 for all.
        each: of one paper.
        words: a sentence has at least and at most so many.
        works: cited at most in one sentence.
    """

    targets: Literal["papers", "titles"] = "papers"
    mentions: int = 400
    each: int = 2
    words: tuple[int, int] = (12, 60)
    works: int = 5


@step(
    "mentions",
    MentionsOptions,
    "Sentences that cite ask for the works that they cite.",
    helps="full texts that keep their marks of citations (unarXive), or --option mentions.targets=titles",
)
def mentions(made: Made, bench: Workbench, options: MentionsOptions) -> Made:
    """Queries from sentences that cite."""
    texts: dict[str, MadeText] = {}
    found: dict[str, tuple[QueryDraft, dict[str, int]]] = {}
    there = set(made.corpus)
    for paper in bench.papers(made.corpus, full=True):
        works = dict(_works(paper, bench, options, there, texts))
        own: dict[str, tuple[QueryDraft, dict[str, int]]] = {}
        for text, keys in _citing(paper):
            cited = sorted({works[key] for key in keys if key in works} - {paper.id})
            if reason := _unfit(text, cited, options):
                bench.drop(reason)
                continue
            name = f"m-{digest_texts([paper.id, text])[:12]}"
            labels: dict[str, tuple[str, ...]] = {"query_set": ("inline_nonacl",)}
            own[name] = QueryDraft(name, text, labels=labels, context=text), dict.fromkeys(cited, 1)
        chosen = bench.drawn(own, paper.id)[: options.each or None]
        bench.drop("sentences of a paper beyond the number for each", len(own) - len(chosen))
        found |= {name: own[name] for name in chosen}
    names = sorted(bench.drawn(found, "mentions")[: options.mentions or None])
    bench.drop("sentences not drawn", len(found) - len(names))
    corpus = tuple(sorted(texts)) if options.targets == "titles" else made.corpus
    drafts = tuple(found[name][0] for name in names)
    gold = {name: found[name][1] for name in names}
    return replace(made, corpus=corpus, drafts=drafts, qrels={"gold": gold}, texts={**made.texts, **texts})


def _works(
    paper: Paper, bench: Workbench, options: MentionsOptions, there: set[str], texts: dict[str, MadeText]
) -> Iterator[tuple[str, str]]:
    """Key of a reference, and the document that it is."""
    for reference in paper.references:
        if not reference.key:
            continue
        if options.targets == "titles":
            if work := MadeText.of_title(reference.title):
                texts.setdefault(work.id, work)
                yield reference.key, work.id
        elif name := _held(reference, bench, there):
            yield reference.key, name


def _held(reference: Reference, bench: Workbench, there: set[str]) -> str:
    """The paper of the library that a reference is, or ""."""
    names = [f"{scheme}:{value}" for scheme, value in sorted(reference.identifiers.items())]
    for name in filter(None, (*names, reference.title)):
        if (found := bench.store.called(name)) and found[0] in there:
            return found[0]
    return ""


def _citing(paper: Paper) -> Iterator[tuple[str, list[str]]]:
    """Sentences that cite, without their marks, and the keys that they cite."""
    for section in paper.sections:
        for start, end in split_sentences(section.text) if "{{cite:" in section.text else ():
            sentence = section.text[start:end]
            if keys := _MARK.findall(sentence):
                plain = " ".join(strip_citations(sentence).text.split())
                yield _LEFT.sub(lambda mark: mark[0].strip()[-1], plain), keys


def _unfit(text: str, cited: list[str], options: MentionsOptions) -> str:
    """Why a sentence stands for no question, or ""."""
    least, most = options.words
    if not cited:
        return "sentences that cite nothing in the corpus"
    if len(cited) > options.works:
        return "sentences that cite many works"
    if not least <= len(text.split()) <= most:
        return "sentences of too few or too many words"
    if _FORMULA.search(text):
        return "sentences with a formula"
    return "sentences that lean on those before" if text.split(maxsplit=1)[0].casefold() in _CONTEXT else ""


class OverlapOptions(Value, frozen=True):
    """Options of ``overlap``.

    Attributes:
        most: share of a question's words that may be in the titles of its answers, 0 to 1: published are 0.3
            where source and answers are of one venue, and 0.1 elsewhere.
    """

    most: float = 0.3


@step(
    "overlap",
    OverlapOptions,
    "Queries that repeat the titles of their answers are left out.",
    helps="--option overlap.most=0.5",
)
def overlap(made: Made, bench: Workbench, options: OverlapOptions) -> Made:
    """Leave out queries that name their answers (LitSearch, section 2.1).

    Up to three titles count together, more one by one, of which the largest share counts.
    """
    gold = made.qrels.get("gold", {})
    titles = {
        one.id: frozenset(normalise_title(one.title).split())
        for one in bench.documents(made, sorted(made.judged))
    }
    kept, shares = [], []
    for draft in made.drafts:
        asked = set(normalise_title(draft.text).split())
        held = [titles.get(one, frozenset()) for one in gold.get(draft.id, {})]
        sets = [frozenset[str]().union(*held)] if len(held) <= _FEW else held
        share = max((len(asked & words) / len(asked) for words in sets), default=0.0) if asked else 1.0
        shares.append(share)
        if share <= options.most:
            kept.append(draft)
    bench.drop("queries that repeat the titles of their answers", len(made.drafts) - len(kept))
    if shares:
        bench.found["mean share of a query's words in the titles"] = round(sum(shares) / len(shares), 3)
        for most in (0.1, 0.3):
            bench.found[f"queries with a share of at most {most}"] = sum(share <= most for share in shares)
    return made.of_queries(kept)
