"""Evidence for directions: the seed's own sentence that is most about a hit, as it builds on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from aspectra.papers.paper import Paper, Section
from aspectra.papers.text.sentences import lead_field, split_sentences
from aspectra.search.plan import Search
from aspectra.search.ranking import Evidence
from aspectra.views.index.opened import Index

_SHORTEST, _LONGEST = 6, 80  # words: shorter ones are headings, longer ones tables


def with_passages(
    index: Index, search: Search, papers: Sequence[Paper], quotes: Sequence[tuple[Evidence, ...] | None]
) -> list[tuple[Evidence, ...] | None]:
    """Each hit's first quote beside the sentence of a seed that shares most rare words with the hit.

    Args:
        index: the generation searched.
        search: only those in the direction ``builds-on`` or ``both`` get passages.
        papers: the hits.
        quotes: found for them.
    """
    seeds = list(dict.fromkeys(seed for probe in search.probes if probe.reverse for seed in probe.seeds))
    if search.direction not in ("builds-on", "both") or not seeds:
        return list(quotes)
    words = index.word_view()
    held = index.library.get_many(seeds)
    sentences = [
        (seed, text, known)
        for seed, paper in held.items()
        for text in _sentences(paper)
        if (known := set(words.terms(text))) and _SHORTEST <= text.count(" ") + 1 <= _LONGEST
    ]
    out: list[tuple[Evidence, ...] | None] = []
    for paper, found in zip(papers, quotes, strict=True):
        rarity = words.rarity(set(words.terms(f"{paper.title}\n{lead_field(paper)[1]}")))
        best, place = 0.0, -1
        for number, (_, _, known) in enumerate(sentences):
            value = sum(rarity[t] for t in known & rarity.keys()) / math.sqrt(len(known) + 4)
            if value > best:
                best, place = value, number
        if not found or place < 0:
            out.append(found)
            continue
        seed, text, _ = sentences[place]
        out.append((replace(found[0], seed=seed, seed_quote=text), *found[1:]))
    return out


def _sentences(paper: Paper) -> list[str]:
    """The sentences of a paper's full text, or of its abstract."""
    parts = [section.text for section in paper.sections if _is_text(section)] or [lead_field(paper)[1]]
    return [text[a:b] for text in parts for a, b in split_sentences(text)]


def _is_text(section: Section) -> bool:
    return bool(section.text.strip())
