"""What kind of place a text comes from: a blog, a forum, the press, a journal and so on.

The record decides where it can (a DOI, a word in the host's name); the rest is style: the persons of the text
and its layout. English cues are the fullest, German and Chinese ones the commonest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import CueLens
from aspectra.views.lenses._lead import LeadText, hardness
from aspectra.views.lenses.protocol import LENSES

_PAPERS_HAVE = frozenset({"doi", "arxiv", "acl", "s2", "openalex", "pmid", "pmcid"})

_TURNED = re.compile(r"\s*+([^:：\n]{2,40}?)(?: wrote| schrieb|写道)?\s?[:：]")
_DEFINES = re.compile(
    r"(?:is|are|was|were|denotes|means|ist|sind|war|bezeichnet)\s(?:an?|the|one|any|ein|eine|der|die|das)\b"
    r"|(?:，|\s)?(?:是|指)"
)
_HANDLE = re.compile(r"^[a-z]|[a-z][A-Z]|[\d_]")
_PRONOUN_SHARE = 0.03  # of the words, from which on a text is plainly told by somebody


def _is_thread(lead: LeadText) -> bool:
    """Whether most lines are turns of two or more speakers.

    Labels before a colon ("Note: ...") look like speakers; a speaker comes back, or has a made-up name.
    """
    lines = lead.layout
    if lines.number("turn") < 2 or lines.share("turn") < 0.5:
        return False
    names = [
        m[1].strip()
        for line in lines.lines
        if line.kind == "turn" and (m := _TURNED.match(lead.lead, line.start, line.end))
    ]
    again = {name for name in names if names.count(name) > 1 or _HANDLE.search(name)}
    return len(again) >= 2 or len(set(names)) < len(names)


def _first_person(lead: LeadText, words: frozenset[str]) -> float:
    if lead.cjk > 0.3:
        return min(1.0, 60 * lead.plain.count("我") / max(120, len(lead.plain)))
    return min(1.0, lead.share(words) / _PRONOUN_SHARE)


def _defines(lead: LeadText) -> float:
    """Whether the text opens by saying what its title is: 1; or what something in its title is: 0.7."""
    title = lead.title.strip().casefold()
    opening = lead.lead.lstrip()[:160].casefold()
    if not title or len(title) > 60 or title[-1:] in "?!？！":
        return 0.0
    at = opening.find(title[: max(3, len(title) - 1)])  # a plural's s may be missing
    if 0 <= at <= 8 and _DEFINES.search(opening, at + len(title) - 1, at + len(title) + 70):
        return 1.0
    found = _DEFINES.search(opening, 3, 80)
    if found is None:
        return 0.0
    subject = {word[:5] for word in re.findall(r"[^\W\d_]{5,}", opening[: found.start()])}
    return 0.7 if subject & {word[:5] for word in re.findall(r"[^\W\d_]{5,}", title)} else 0.0


class SourceLens(CueLens):
    """Grades of the kinds of source, each 0 to 1 on a logistic scale; several may hold.

    At 0.5, roughly: two or three independent cues. A dateline, a thread of speakers, or an opening that
    defines the title is nearly enough alone; so is a DOI or a telling host in the record. A paper without
    text has NaN.
    """

    name = "source"
    description = "what kind of place a text comes from: a blog, a forum, the press, a journal"
    reads: tuple[str, ...] = ("text", "url", "identifiers")
    labels: tuple[str, ...] = ("blog", "forum", "news", "scholarly", "encyclopedia", "official documentation")

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """See :class:`CueLens`."""
        odds = self._by_text(lead, added)
        # The record counts as much as two good cues.
        url = paper.url.casefold()
        told = {label for label, pattern in self.features.patterns.items() if pattern.search(url)}
        for label in told | ({"scholarly"} if _PAPERS_HAVE & paper.identifiers.keys() else set()):
            odds[label] += 4.0
        return [odds[label] for label in self.labels]

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The strongest cue, else the first turn of a thread or the sentence that defines the title."""
        place = super().place(lead, label)
        if place is not None:
            return place
        first = None
        if label == "forum":
            first = lead.layout.first("turn")
        if label == "encyclopedia" and _defines(lead) > 0:
            first = lead.layout.first("prose")
        start = first and first.start + len(lead.title) + 1
        return None if start is None else (start, start + 1)

    def _by_text(self, lead: LeadText, added: Mapping[str, float]) -> dict[str, float]:
        """Label -> log-odds from the text."""
        lines, known = lead.layout, self.features.words
        person = _first_person(lead, known["i"])
        addressed, together = (min(1.0, lead.share(known[name]) / _PRONOUN_SHARE) for name in ("you", "we"))
        chatty = min(1.0, lead.share(known["chatty"]) / 0.02)
        excited = min(2, sum(lead.text.count(c) for c in "!！")) / 2
        words = lead.words if lead.cjk < 0.3 else lead.cjk * len(lead.plain) / 1.6
        # A blog post is a story told by one person, so it needs some room.
        room = min(1.0, words / 60)
        # Neither a writer nor a reader is mentioned.
        alone = lines.share("prose") > 0.8 and not person + addressed + together + chatty + excited
        features = {
            "person": person,
            "story": person * room,
            "addressed": addressed,
            "together": together,
            "chatty": chatty,
            "excited": excited,
            "impersonal": room if alone else 0.0,
            "thread": _is_thread(lead),
            "hard": hardness(lead),
            "defines": _defines(lead),
            "clauses": min(3, lines.number("clause")),
            "options": min(4, lines.number("option")),
            "answers": bool(lines.number("question", "answer") and together),
        }
        odds = {label: self.features.odds(label, {**features, "cues": added[label]}) for label in self.labels}
        # An abstract may well cite a term's definition or quote people; a scholarly text is then still that.
        for label in ("encyclopedia", "news", "blog"):
            odds[label] -= 0.6 * min(3.0, max(0.0, added["scholarly"] - 0.8))
        return odds


LENSES.register("source")(SourceLens())
