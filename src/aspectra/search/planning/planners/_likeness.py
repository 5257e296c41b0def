"""Probes for likeness in aspects: papers that share the terms of a seed, or have similar sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.search.defaults import FREE, NAMED, Shares, aspect_shares
from aspectra.search.planning.aspects import ASPECT_ROLES, Aspect, corrected_roles
from aspectra.search.planning.planners.protocol import ViewNames, probe
from aspectra.search.query import Query
from aspectra.views.protocol import TERMS, ViewFacts
from aspectra.views.terms.phrases import Offer
from aspectra.views.view import Matching, Probe

_SHOWN = 5  # terms of an aspect that a plan shows
_LONGEST_SHOWN = 100  # characters of one: what is longer is no word, but a text may hold it


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
        asked = [a.name for a in aspects if a.roles] or list(ASPECT_ROLES)
        out = []
        for name in dict.fromkeys(asked):
            if terms := named.get(name) or ", ".join(self._strongest(name)):
                out.append(f"{name}: {terms}")
        return tuple(out)

    def _strongest(self, name: str) -> list[str]:
        """The terms that the seeds name in an aspect, strongest first."""
        phrases = [phrase for offer in self.offers[name] for phrase in offer.phrases]
        phrases.sort(key=lambda phrase: -phrase.weight)
        shown = {p.text.casefold(): p.text for p in phrases if len(p.text) <= _LONGEST_SHOWN}
        return list(shown.values())[:_SHOWN]

    def shares(self, aspect: Aspect) -> Shares:
        """How much each reading of an aspect counts."""
        known = ViewFacts.words_of(TERMS).name in self.views.names
        if aspect.terms:
            return NAMED if known else dataclasses.replace(NAMED, sentences=1.0)
        if aspect.focus:
            return FREE
        offers = self.offers[aspect.name] if known and aspect.roles else ()
        if not offers:
            return Shares(sentences=1.0)
        if self.reading == "sentences":
            return Shares(sentences=1.0)
        shares = aspect_shares(max(offer.sure for offer in offers))
        return dataclasses.replace(shares, sentences=0.0) if self.reading else shares

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
            UsageError: none is left, or there is no sentence of a number.
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
