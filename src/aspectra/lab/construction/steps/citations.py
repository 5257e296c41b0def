"""What papers cite, as queries: by the sentences that cite, and by the graph of citations.

``mentions`` and ``overlap`` are the first steps of LitSearch (section 2.1): a sentence that cites works of
the corpus is what a question is written from, and stands for one, raw, where no language model writes it. A
question that repeats the titles it asks for is too easy, and is dropped.

``graph`` and ``unlink``: full papers ask for what they cite, or for what cites them. Relevance is a citation
(SciFullBench, section 4.1 and appendix A.2). What would give the answer away is taken out of the asking
paper: its list of references, its marks of citations, and the sections or sentences that hold the title of a
cited paper.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from aspectra.base.errors import UsageError
from aspectra.base.files import digest_texts
from aspectra.base.values import Value, replace
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.construction.protocol import Made, MadeText, QueryDraft, Workbench, step
from aspectra.papers.paper import Paper, Reference, normalise_title
from aspectra.papers.text.references import cut_references, strip_citations
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
    MentionsOptions,
    helps="full texts that keep their marks of citations (unarXive), or --option mentions.targets=titles",
)
def mentions(made: Made, bench: Workbench, options: MentionsOptions) -> Made:
    """Sentences that cite ask for the works that they cite."""
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
    names = bench.some(found, "mentions", options.mentions, "sentences")
    corpus = tuple(sorted(texts)) if options.targets == "titles" else made.corpus
    return made.asking(map(found.__getitem__, names), corpus=corpus, texts={**made.texts, **texts})


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


@step(OverlapOptions, helps="--option overlap.most=0.5")
def overlap(made: Made, bench: Workbench, options: OverlapOptions) -> Made:
    """Queries that repeat the titles of their answers are left out.

    Source: LitSearch, section 2.1.

    Up to three titles count together, more one by one, of which the largest share counts.
    """
    gold = made.qrels.get("gold", {})
    answers = bench.by_id(made, made.judged)
    titles = {name: frozenset(normalise_title(one.title).split()) for name, one in answers.items()}
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


_SHORT = 4  # a title of fewer words is met by chance
_COUNTS = (1, 2, 5, 10, 20)


class GraphOptions(Value, frozen=True):
    """Options of ``graph``.

    Attributes:
        direction: ``references`` asks for what a paper cites, ``citations`` for what cites it.
        links: ``library`` for those that the library knows, else a file of judgements: query, document.
        targets: ``papers`` of the library, or ``titles``: every work that a reference names with its title,
            of which nothing else is known.
    """

    direction: Literal["references", "citations"] = "references"
    links: str = ""
    targets: Literal["papers", "titles"] = "papers"


@step(
    GraphOptions,
    helps="add the cited papers (aspectra add), or --option graph.targets=titles: cited titles as documents",
    files=("links",),
)
def graph(made: Made, bench: Workbench, options: GraphOptions) -> Made:
    """A paper with a full text asks for the papers that it cites, or that cite it."""
    texts: dict[str, MadeText] = {}
    corpus = made.corpus
    if options.targets == "titles":
        if options.direction == "citations" or options.links:
            raise UsageError("titles are those of references", hint="leave out direction and links")
        pairs, texts = _titles(made, bench)
        corpus = tuple(sorted(texts))
    elif options.links:
        path = Path(options.links).expanduser()
        pairs = {q: set(docs) for q, docs in Folder(path.parent).qrels(path).items()}
    else:
        linked = bench.store.cites if options.direction == "references" else bench.store.cited_by
        pairs = {name: set(linked(name)) for name in made.corpus}
    there, asking = set(corpus), set(made.corpus)
    gold: dict[str, dict[str, int]] = {}
    for query, found in pairs.items():
        kept = sorted(found & there - {query})
        bench.drop("citations of papers that are not in the corpus", len(found) - len(kept))
        if kept and query in asking:
            gold[query] = dict.fromkeys(kept, 1)
    sizes = [len(held) for held in gold.values()]
    bench.found["queries with at least 1, 2, 5, 10, 20 relevant papers"] = ", ".join(
        f"{sum(size >= least for size in sizes):,}" for least in _COUNTS
    )
    labels: dict[str, tuple[str, ...]] = {"direction": (options.direction,)}
    asked = ((QueryDraft(query, seed=query, labels=labels), gold[query]) for query in sorted(gold))
    excluded = {query: (query,) for query in gold}
    return made.asking(asked, corpus=corpus, texts={**made.texts, **texts}, excluded=excluded)


def _titles(made: Made, bench: Workbench) -> tuple[dict[str, set[str]], dict[str, MadeText]]:
    """Paper -> ids of the works that it names by title; and those works."""
    pairs: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, MadeText] = {}
    for paper in bench.papers(made.corpus, full=True):
        for reference in paper.references:
            work = MadeText.of_title(reference.title)
            if work is None:
                bench.drop("references without a title")
                continue
            texts.setdefault(work.id, work)
            pairs[paper.id].add(work.id)
    return pairs, texts


class UnlinkOptions(Value, frozen=True):
    """Options of ``unlink``.

    Attributes:
        rule: what is taken out around the title of a cited paper: its ``section``, as the paper does, or its
            ``sentence``.
        most_lost: a paper that loses a larger share of its sections asks nothing.
        least_references: nor does one with fewer references, where any are known.
    """

    rule: Literal["section", "sentence"] = "section"
    most_lost: float = 0.5
    least_references: int = 5


@step(UnlinkOptions, helps="--option unlink.rule=sentence, or --option unlink.least_references=0")
def unlink(made: Made, bench: Workbench, options: UnlinkOptions) -> Made:
    """References, marks of citations and titles of cited papers are taken out of the asking paper."""
    gold = made.qrels.get("gold", {})
    titles = {one.id: one.title for one in bench.documents(made, sorted(made.judged))}
    texts, kept = dict(made.texts), []
    leaks: Counter[str] = Counter()
    asking = {draft.seed: draft for draft in made.drafts}
    for paper in bench.papers(asking, full=True):
        if not paper.has_full_text:
            bench.drop("papers without a full text")
        elif paper.references and len(paper.references) < options.least_references:
            bench.drop("papers with too few references")
        else:
            relevant = [titles.get(one, "") for one in gold[asking[paper.id].id]]
            named = [*relevant, *(reference.title for reference in paper.references)]
            left = _without(paper, _keys(named), options, leaks)
            if left is None:
                bench.drop("papers that would lose too many sections")
                continue
            kept.append(asking[paper.id])
            texts[paper.id] = left
            leaks.update(_leaks(left, relevant))
    bench.found |= {what: leaks[what] for what in sorted(leaks)}
    return replace(made, texts=texts).of_queries(kept)


def _keys(titles: Iterable[str]) -> list[str]:
    """Titles that are looked for, normalised; short ones are met by chance."""
    keys = {normalise_title(title) for title in titles}
    return sorted(key for key in keys if len(key.split()) >= _SHORT)


def _without(paper: Paper, keys: list[str], options: UnlinkOptions, counts: Counter[str]) -> MadeText | None:
    """The paper without what names its answers; None where too much would go."""
    own = [key for key in keys if key != normalise_title(paper.title)]
    sections: list[tuple[str, str]] = []
    removed: list[str] = []
    for section in paper.sections:
        before, _, after = cut_references(section.text)
        text = strip_citations(f"{before}\n{after}" if after else before).text
        if _holds(f"{section.heading} {text}", own):
            counts["sections with the title of a cited paper"] += 1
            removed.append(f"{options.rule} of {section.heading or 'the text'}")
            text = "" if options.rule == "section" else _sentences(text, own)
            heading = "" if _holds(section.heading, own) else section.heading
            if not text or _holds(f"{heading} {text}", own):  # a title may run over the end of a sentence
                continue
            sections.append((heading, text))
        elif text.strip():
            sections.append((section.heading, text))
    lost = len(paper.sections) - len(sections)
    if options.rule == "section" and removed and lost > options.most_lost * len(paper.sections):
        return None
    abstract = _sentences(paper.abstract, own) if _holds(paper.abstract, own) else paper.abstract
    return MadeText(paper.id, paper.title, abstract, tuple(sections), removed=tuple(removed))


def _holds(text: str, keys: Iterable[str]) -> bool:
    plain = f" {normalise_title(text)} "
    return any(f" {key} " in plain for key in keys)


def _sentences(text: str, keys: list[str]) -> str:
    """The sentences without any of these titles."""
    return " ".join(text[a:b] for a, b in split_sentences(text) if not _holds(text[a:b], keys))


def _leaks(text: MadeText, titles: Iterable[str]) -> Iterator[str]:
    """Counter names for each title of a relevant paper: ``pairs``, and its leak into the asking paper."""
    body = " ".join((text.text, *(f"{heading} {words}" for heading, words in text.sections)))
    plain = f" {normalise_title(body)} "
    own = normalise_title(text.title)
    for title in titles:
        key = normalise_title(title)
        name = normalise_title(title.partition(":")[0]) if ":" in title else ""
        if not key or key == own:
            continue
        yield "pairs"
        if f" {key} " in plain:
            kind = "a short" if len(key.split()) < _SHORT else "the whole"
            yield f"pairs with {kind} title in the text"
        elif name and f" {name} " in plain:
            yield "pairs with the name before the title's colon in the text"
