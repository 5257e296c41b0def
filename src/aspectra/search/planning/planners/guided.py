"""Planners that read more than words: likeness in aspects, direction between papers, chunks of full text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from msgspec import structs

from aspectra.base.errors import UsageError, ViewMismatch, check_choice
from aspectra.base.values import replace
from aspectra.search.plan import Fusion, Search
from aspectra.search.planning.aspects import (
    ASPECT_ROLES,
    REST,
    Aspect,
    corrected_roles,
    named_sentences,
    other_roles,
)
from aspectra.search.planning.planners.plain import hybrid
from aspectra.search.planning.planners.protocol import Options, ViewNames, planner, probe
from aspectra.search.query import (
    ASPECT_CANDIDATES,
    ASPECT_MATCHINGS,
    ASPECT_WEIGHT,
    CONTRAST_BESIDE_TERMS,
    CONTRAST_WEIGHT,
    DIFFERENT_WEIGHT,
    DIRECTED_ABSTRACTS,
    DIRECTED_FULL_TEXTS,
    FREE,
    NAMED,
    TEXT_WEIGHT,
    Directed,
    Query,
    Shares,
    aspect_shares,
)
from aspectra.views.protocol import TERMS, ViewFacts, lens_base
from aspectra.views.readers.protocol import ASPECT_READERS
from aspectra.views.terms.view import Offer
from aspectra.views.view import Matching, Metric, Probe

_SHOWN = 5  # terms of an aspect that a plan shows
_LONGEST_SHOWN = 100  # characters of one: anything longer is not a word, but a text may hold it


@dataclass(frozen=True)
class Likeness:
    """Makes the probes of a query's aspects.

    Attributes:
        query: whose aspects they are.
        views: that there are.
        matchings: how sentences are compared, each with its share of the weight.
        reading: ``terms`` or ``sentences`` for one alone; "" decides by what the seeds offer.
    """

    query: Query
    views: ViewNames
    matchings: tuple[Matching, ...]
    reading: str = ""
    roles: Mapping[int, str] = field(init=False)
    offers: Mapping[str, tuple[Offer, ...]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "roles", corrected_roles(self.query.roles))
        seeds = self.views.seeds
        found = [seeds.offers(seed) for seed in self.query.seeds] if seeds is not None else []
        merged = {name: tuple(one[name] for one in found if name in one) for name in ASPECT_ROLES}
        object.__setattr__(self, "offers", merged)

    def said(self, aspects: Sequence[Aspect]) -> tuple[str, ...]:
        """Per aspect its terms, strongest first; those of all aspects that the seeds offer, without any."""
        named = {a.name: a.terms for a in aspects if a.terms}
        asked = dict.fromkeys([a.name for a in aspects if a.roles] or ASPECT_ROLES)
        told = {name: named.get(name) or ", ".join(self._strongest(name)) for name in asked}
        return tuple(f"{name}: {terms}" for name, terms in told.items() if terms)

    def _strongest(self, name: str) -> list[str]:
        """The terms that the seeds name in an aspect, strongest first."""
        phrases = [phrase for offer in self.offers[name] for phrase in offer.phrases]
        phrases.sort(key=lambda phrase: -phrase.weight)
        shown = {p.text.casefold(): p.text for p in phrases if len(p.text) <= _LONGEST_SHOWN}
        return list(shown.values())[:_SHOWN]

    def shares(self, aspect: Aspect) -> Shares:
        """Shares of an aspect's readings in its weight."""
        known = ViewFacts.words_of(TERMS).name in self.views.names
        if aspect.terms:
            return NAMED if known else replace(NAMED, sentences=1.0)
        if aspect.focus:
            return FREE
        offers = self.offers[aspect.name] if known and aspect.roles else ()
        if not offers or self.reading == "sentences":
            return Shares(sentences=1.0)
        shares = aspect_shares(max(offer.sure for offer in offers))
        return replace(shares, sentences=0.0) if self.reading else shares

    def probes(self, aspect: Aspect, weight: float) -> list[Probe]:
        """The probes of one aspect; ``weight`` times its shares."""
        shares = self.shares(aspect)
        query = self.query
        if aspect.terms:
            query = replace(query, text=aspect.terms, seeds=(), same_sentences=(), roles=())
        out = self.sentences(query, aspect, weight * shares.sentences)
        for view, share, roles in (
            (ViewFacts.words_of(TERMS).name, shares.words, aspect.roles),
            (f"{TERMS}@{self.views.encoder}", shares.vectors, aspect.roles),
            (ViewFacts.words_of("abstract").name, shares.anywhere, ()),
        ):
            if share and view in self.views.names:
                how: Matching = "single" if roles else ""
                found = probe(replace(query, text=aspect.terms), view, weight * share)
                out.append(replace(found, aspect=aspect.name, roles=roles, matching=how))
        return out

    def sentences(self, query: Query, aspect: Aspect, weight: float) -> list[Probe]:
        """Probes on the sentences that are about an aspect, one for each way of matching."""
        if not weight:
            return []
        asked = [self.views.dense("sentences")]
        chunks = f"{self.views.chunks()}@{self.views.encoder}"
        if aspect.focus and chunks in self.views.names:
            asked.append(chunks)
        share = weight / len(asked) / len(self.matchings)
        return [
            self.narrowed(replace(probe(query, view, share), matching=matching), aspect)
            for view in asked
            for matching in self.matchings
        ]

    def narrowed(self, made: Probe, aspect: Aspect) -> Probe:
        """A probe with a matching, on the sentences that are about an aspect."""
        numbers = self._numbers(aspect) if made.seeds else ()
        return replace(made, aspect=aspect.name, roles=aspect.roles, focus=aspect.focus, sentences=numbers)

    def _numbers(self, aspect: Aspect) -> tuple[int, ...]:
        """The seed's sentences of an aspect, where somebody corrected the role of one; else ().

        Raises:
            UsageError: none is left, or the seed has no sentence with one of the numbers.
        """
        seeds = self.views.seeds
        if not self.roles or not aspect.roles or seeds is None:
            return ()
        (seed,) = self.query.seeds
        every = seeds.sentences(seed, ())
        if beyond := [number for number in self.roles if number not in every]:
            raise UsageError(
                f"{seed} has no sentence {beyond[0]}",
                why=f"it has {len(every)}",
                hint=f"aspectra show {seed} --sentences",
            )
        held = {n for n in seeds.sentences(seed, aspect.roles) if n not in self.roles}
        held |= {n for n, role in self.roles.items() if role in aspect.roles}
        if not held:
            raise UsageError(
                f"no sentence of {seed} is left for {aspect.name}",
                why="the roles that were corrected take them away",
                hint=f"aspectra show {seed} --sentences",
            )
        return tuple(sorted(held))


@planner("directional", vectors="used", full_text="used", seeds=True, takes_directions=True)
def directional(query: Query, views: ViewNames) -> Search:
    """What the seeds build on or what builds on them.

    The probes go by direction, on full texts where there are any, else on abstracts; without one, both ways.

    Further words are searched forward, in titles and abstracts.
    """
    table = DIRECTED_FULL_TEXTS if ViewFacts.words_of("full").name in views.names else DIRECTED_ABSTRACTS
    probes = _probes(query, views, table[query.direction or "both"])
    if query.text.strip():
        asked = views.dense("abstract") if views.encoder else views.words("abstract")
        probes.append(Probe(asked, text=query.text, weight=TEXT_WEIGHT))
    return Search(probes=tuple(probes))


def _probes(query: Query, views: ViewNames, recipe: Sequence[Directed]) -> list[Probe]:
    """The probes of a recipe that the library's views allow: without an encoder, only those of words."""
    out = []
    names = {"chunks": views.chunks() or "chunks", "encoder": views.encoder or "encoder"}
    for one in recipe:
        view, asking = one.view.format(**names), one.asking.format(**names)
        if view in views.names and (not asking or asking in views.names):
            own = structs.asdict(one) | {"view": view, "asking": asking}
            out.append(Probe(**own, seeds=query.seeds))
    if not out:
        views.require(recipe[0].view)  # raises
    return out


@dataclass(frozen=True)
class Guidance(Options):
    """Options of the planner ``guided``.

    Attributes:
        contrast: weight of the roles that are not named, subtracted; 0 leaves them out.
        contrast_terms: the same where terms are compared too.
        residual: subtract only what the rest predicts, see :class:`~aspectra.search.plan.Fusion`.
        matching: how sentences are compared, see :class:`~aspectra.views.view.Probe`; "" for the default's.
        reading: of aspects: ``terms`` (a paper shares the seed's terms), ``sentences`` (its sentences are
            similar) or "", which decides by how sure the seed's terms are.
    """

    contrast: float = CONTRAST_WEIGHT
    contrast_terms: float = CONTRAST_BESIDE_TERMS
    residual: bool = False
    matching: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        check_choice(self.matching, get_args(Matching), "matching")
        check_choice(self.reading, ("", "terms", "sentences"), "reading")


@planner("guided", vectors="used", takes_directions=True, takes_sentences=True, options=Guidance)
def guided(query: Query, views: ViewNames, options: Guidance = Guidance()) -> Search:
    """The default: hybrid search, and likeness in the aspects that the query names.

    The hybrid's probes; for each aspect to be shared, the terms that the seed names in it, weighted by their
    certainty, and the sentences of its roles; without terms, the other roles count against a paper. Without
    aspects it is the hybrid; with a direction, the probes of ``directional`` replace the hybrid's.
    For an aspect in free words, each sentence counts as much as it is about them. If chunks of full text are
    encoded, free words are compared with them too.
    """
    whole = replace(query, same_sentences=(), roles=())
    plain = directional(whole, views) if query.direction else hybrid(whole, views)
    same = tuple(Aspect.parse(a, views.own) for a in query.same)
    different = tuple(Aspect.parse(a, views.own) for a in query.different)
    matchings = (cast("Matching", options.matching),) if options.matching else ASPECT_MATCHINGS
    like = Likeness(query, views, matchings, options.reading)
    if query.roles and not any(a.roles for a in (*same, *different)):
        raise UsageError(
            "a corrected role changes nothing",
            why="the query names no aspect of sentences",
            hint="--same method --role 3=method",
        )
    if not same and not different and not query.same_sentences:
        return replace(plain, terms=like.said(())) if query.seeds else plain
    if "roles" not in views.lenses and any(a.roles for a in (*same, *different)):
        raise ViewMismatch(
            "the index has no roles of sentences",
            why="it was built without the lens roles, or without vectors so far",
            hint="aspectra index",
        )
    named = named_sentences(query.same_sentences)
    probes = list(plain.probes)
    wanted = len(same) + bool(query.same_sentences)
    for aspect in same:
        probes += like.probes(aspect, ASPECT_WEIGHT / wanted)
    if query.same_sentences:
        found = like.sentences(query, named, ASPECT_WEIGHT / wanted)
        probes += [replace(one, sentences=query.same_sentences, text="") for one in found]
    for aspect in different:
        probes += like.probes(aspect, -DIFFERENT_WEIGHT / len(different))
    rest = tuple(r for r in other_roles(same) if not any(r in a.roles for a in different))
    by_terms = any(like.shares(aspect).words or like.shares(aspect).vectors for aspect in same)
    contrast = options.contrast_terms if by_terms else options.contrast
    if same and rest and contrast:
        probes += like.sentences(query, Aspect(REST, rest), -contrast)
    fusion = replace(
        plain.fusion,
        candidates=ASPECT_CANDIDATES,
        contrast="residual" if options.residual else "subtract",
    )
    return Search(probes=tuple(probes), fusion=fusion, terms=like.said((*same, *different)))


_DEPTH = 300  # ranks of each list, as in the paper
# Reader -> the prompted lens whose prompt has a language model write about the same.
WRITERS = {
    "question": "research_question",
    "method": "method",
    "experiment": "experiment",
    "base": "overview",
}


@dataclass(frozen=True)
class PrismOptions(Options):
    """Readings of the seed to search with.

    Attributes:
        aspects: readers, with + between them: those of the three aspects, or ``base``, of all at once.
        abstract: whether the seed's abstract is searched for in abstracts, too.
        readers: ``extracted``: sentences that readers find in the papers; ``prompted``: what lenses of the
            same aspects wrote about them.
        metric: as in :class:`~aspectra.views.view.Probe`.

    Raises:
        UsageError: the aspect or the kind of readers does not exist.
    """

    aspects: str = "+".join(ASPECT_READERS)
    abstract: bool = True
    readers: str = "extracted"
    metric: Metric = "cosine"

    def __post_init__(self) -> None:
        for name in self.chosen:
            check_choice(name, WRITERS, "aspect")
        if len(set(self.chosen)) < len(self.chosen):
            raise UsageError(f"an aspect is named twice in {self.aspects}", hint="name each once")
        check_choice(self.readers, ("extracted", "prompted"), "kind of readers")
        check_choice(self.metric, get_args(Metric), "metric")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The aspects, in order."""
        return tuple(part.strip() for part in self.aspects.split("+"))


@planner("prism", vectors="needed", full_text="needed", seeds=True, options=PrismOptions)
def prism(query: Query, views: ViewNames, options: PrismOptions) -> Search:
    """Like the seeds in each aspect of their full texts (PRISM).

    The abstract probe and one for each aspect that full texts were read for, fused by rank with k = 60.
    Readings are extracted; ``readers=prompted`` takes what lenses wrote, and a stage ``write`` has it written
    for the seeds. Source: PRISM (Park et al., 2025), section 3.

    Raises:
        ViewMismatch: no readings of full text, or a lens was not run on a seed.
    """
    view = views.dense(views.chunks())
    given = [a for a in options.chosen if f"{a}@{views.encoder}" in views.names]
    extracted = {a: f"{a}@{views.encoder}" for a in given}
    if options.readers == "prompted":
        asking = {a: found for a in options.chosen if (found := _written(query, views, a, extracted.get(a)))}
    else:
        asking = extracted
    if not asking or (options.aspects != PrismOptions().aspects and set(options.chosen) - asking.keys()):
        missing = [a for a in options.chosen if a not in asking]
        raise ViewMismatch(
            "the planner prism needs full texts that were read for aspects",
            why=f"the index has no readings of {', '.join(missing)}",
            hint="aspectra index "
            + " ".join(f"--reader {a}" for a in dict.fromkeys((*ASPECT_READERS, *missing))),
        )
    probes = [
        Probe(view, seeds=query.seeds, aspect=a, asking=name, metric=options.metric)
        for a, name in asking.items()
    ]
    if options.abstract:
        probes.insert(0, probe(query, views.dense("abstract"), metric=options.metric))
    return Search(probes=tuple(probes), fusion=Fusion(kind="rrf", depth=_DEPTH))


def _written(query: Query, views: ViewNames, aspect: str, extracted: str | None) -> str | None:
    """The view of what a lens wrote; the extracted reading where it found nothing to write about a seed.

    Raises:
        ViewMismatch: the lens was not run on the library, or not on a seed.
    """
    lens = WRITERS[aspect]
    name = f"{lens_base(lens)}@{views.encoder}"
    texts = [views.seeds.written(seed, lens) for seed in query.seeds] if views.seeds is not None else []
    if name not in views.names or None in texts:
        untold = [seed for seed, text in zip(query.seeds, texts, strict=False) if text is None]
        raise ViewMismatch(
            f"there is no text of the lens {lens} on {', '.join(untold) or 'this library'}",
            why="prism(readers=prompted) searches with what a language model wrote about the seeds",
            hint=f"aspectra lens add {lens}, aspectra lens run {lens}, then aspectra index; "
            'or for the seeds alone: -r "prism | write"',
        )
    return extracted if "" in texts else name
