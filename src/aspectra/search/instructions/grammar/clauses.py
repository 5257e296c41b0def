"""Wishes and the subject: which parts of a text say what papers should be like, which what they are about.

A text is cut at its punctuation into segments. A segment of known words only is a wish, or politeness. In
any other, the words up to the last one that leads to a subject (*on*, *about*, *find me*) are a wish if
they ask for something; and what follows the subject is one too if every word of it is known and it says
what documents are like. Everything else is the subject.
"""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.search.instructions.grammar.lexicon import word_sets
from aspectra.search.instructions.grammar.parts import Clauses, Kind, Part
from aspectra.search.instructions.grammar.pieces import Piece
from aspectra.search.instructions.grammar.settling import RELATIVE, segments, settle
from aspectra.search.instructions.grammar.tokens import DELIMITERS

__all__ = ["Clauses", "Part", "divide"]

_WORDS = word_sets("clauses")
_QUESTION = _WORDS["question"]
_ASKS_HOW = _WORDS["asks_how"]
_ASKS_WHAT = _WORDS["asks_what"]
_STARTERS = _WORDS["starters"]
_FIRST_PERSON = _WORDS["first_person"]
_DETERMINERS = _WORDS["determiners"]
_PARTICIPLES = _WORDS["participles"]
_ABOUT = _WORDS["about"]
_READERS = frozenset("reader readers readership audience".split())
# A subject may follow these mentions directly: what is asked for is a kind of document.
_DOCUMENTS = ("format", "source", "kind", "length")
_HOLDERS = ("source", "author", "venue", "kind")
_RECORD = ("year", "venue", "author", "language", "keyword")


class _Divider:
    def __init__(self, pieces: Sequence[Piece], whole_query: bool) -> None:
        self.pieces = list(pieces)
        self.whole_query = whole_query
        self.parts: list[Part] = []
        self.carriers = sum(p.carries and p.sure for p in pieces) + 1
        self.continues = False  # a wish went before, and a comma
        self.labelled = False  # the last words were "topic:" or the like

    def any(self, first: int, last: int, *categories: str) -> bool:
        return any(p.category in categories for p in self.pieces[first:last])

    def carries(self, first: int, last: int) -> bool:
        return any(p.carries for p in self.pieces[first:last])

    def covered(self, first: int, last: int) -> bool:
        return all(p.covered for p in self.pieces[first:last])

    def add(self, kind: Kind, first: int, last: int, before: str, sentence: int) -> None:
        if first < last:
            self.parts.append(Part(kind, first, last, before, sentence))

    def segment(self, first: int, last: int, before: str, sentence: int) -> None:
        """Divide the segment of pieces ``first`` to ``last``."""
        pieces = self.pieces
        labelled, self.labelled = self.labelled, False
        if labelled and before != "stop":
            self.add("subject", first, last, before, sentence)
            return
        self.continues = before in ("comma", "dash") and bool(self.parts) and self.parts[-1].kind == "wish"
        unknown = next((i for i in range(first, last) if not pieces[i].covered), None)
        if unknown is None:
            self._known(first, last, before, sentence)
            return
        if pieces[first].value == "swallow" and last - first <= 6:
            self.add("nothing", first, last, before, sentence)  # "whatever the method"
            return
        read_by = (
            any(p.low in _READERS for p in pieces[first:unknown])
            and sum(not p.covered for p in pieces[first:last]) <= 3
        )
        if read_by and any(p.attribute == "audience" for p in pieces[first:last]):
            self.add("wish", first, last, before, sentence)
            return
        cut = self._cut(first, last, unknown)
        if cut == first and (end := self._loose(first, last)):
            self.add("wish", first, end, before, sentence)
            if end < last:
                suffix = self._suffix(first, end + 1, last, licensed=True)
                self.add("subject", end + 1, suffix, "", sentence)
                self.add("wish", suffix, last, "", sentence)
            return
        start = cut
        if cut > first or self._asks(first, unknown) or not self.whole_query:
            head = self._object(cut, last, asked=cut > first)
            if head is not None:
                start, end_of_wish, tail = head
                self.add("wish", first, cut, before, sentence)
                before = "" if cut > first else before
                if start > cut:  # words before the kind of document: the subject, or adjectives nobody knows
                    self.add(tail, cut, start, before, sentence)
                self.add("wish", start, end_of_wish, "", sentence)
                self._tail(end_of_wish, last, sentence)
                return
        if cut == first and self._unread(first, last, unknown):
            end = self._suffix(first, first, last, licensed=True)
            self.add("unread", first, end, before, sentence)
            self.add("wish", end, last, "", sentence)
            return
        previous = self.parts[-1] if self.parts else None
        goes_on = (
            previous is not None and previous.sentence == sentence and previous.kind in ("subject", "bare")
        )
        if goes_on and before != "semicolon":
            # A subject goes on: *transformers (and kin) for proteins*; *GloVe: a dataset for X* is a title.
            plain = not (self._asks(first, last) or self.any(first, last, "polite"))
            if plain and (before == "colon" or cut == first + 1):
                self.add("bare", first, last, before, sentence)
                return
        suffix = self._suffix(first, cut, last)
        if cut > first:
            self.add("wish", first, cut, before, sentence)
            kind: Kind = "subject"
            before = ""
        elif pieces[first].low.split(" ")[0] in _FIRST_PERSON:
            kind = "chatter"
        else:
            kind = "subject" if before == "colon" and self.carried(sentence) else "bare"
        self.add(kind, cut, suffix, before, sentence)
        self.add("wish", suffix, last, "", sentence)

    def _loose(self, first: int, last: int) -> int:
        """Where a wish with a few unknown words ends: *I don't trust blogs*, *something for nurses about X*.

        Returns:
            The piece that leads to the subject, or ``last``; 0 where this is no wish.
        """
        pieces = self.pieces
        head = pieces[first]
        if head.low in _QUESTION:
            return 0
        led = head.rules or head.low in _PARTICIPLES
        led = led or any(p.rules and p.category != "soft" for p in pieces[first : first + 3])
        denied = any(p.category == "neg" for p in pieces[first : first + 3])

        def wishes(end: int) -> bool:
            return any(
                p.carries
                and p.category in ("mention", "bound")
                and (p.sure or denied)
                and (at + 1 >= end or pieces[at + 1].covered)
                for at, p in enumerate(pieces[first:end], first)
            )

        for at in range(first + 1, last):
            unknown = sum(not p.covered for p in pieces[first:at])
            if pieces[at].low in _ABOUT and 0 < unknown <= 4 and wishes(at):
                return at if led or head.category in ("open", "doc") else 0
        unknown = sum(not p.covered for p in pieces[first:last])
        elsewhere = any(not p.covered for p in pieces[:first]) or any(not p.covered for p in pieces[last:])
        if led and wishes(last) and unknown <= (3 if elsewhere or not self.whole_query else 1):
            return last
        return 0

    def carried(self, sentence: int) -> bool:
        """Whether a wish was found before, in this sentence."""
        return any(p.kind == "wish" and p.sentence == sentence for p in self.parts)

    def _known(self, first: int, last: int, before: str, sentence: int) -> None:
        pieces = self.pieces[first:last]
        previous = self.parts[-1] if self.parts else None
        title = (
            before == "colon"
            and previous is not None
            and previous.sentence == sentence
            and previous.kind == "bare"
        )
        if title and not any(p.rules or p.category in ("open", "polite") for p in pieces):
            self.add("bare", first, last, before, sentence)
            return
        self.labelled = pieces[-1].category == "topic"
        if (
            self.whole_query
            and before == "colon"
            and previous is not None
            and previous.kind == "wish"
            and self.carries(previous.first, previous.last)
            and not any(p.kind in ("subject", "bare") for p in self.parts)
        ):
            plain = not any(p.rules or p.category in ("open", "polite") for p in pieces)
            if plain and self._last_words(last):
                self.add("subject", first, last, before, sentence)
                return
        if any(p.carries or p.rules for p in pieces):
            self.add("wish", first, last, before, sentence)
        elif any(p.category in ("open", "topic", "polite", "doc") or p.value == "seed" for p in pieces):
            self.add("nothing", first, last, before, sentence)
        else:
            self.add("chatter", first, last, before, sentence)

    def _last_words(self, last: int) -> bool:
        """Whether the text ends here."""
        return all(p.category in DELIMITERS for p in self.pieces[last:])

    def _asks(self, first: int, last: int) -> bool:
        return self.any(first, last, "open", "neg", "hard", "soft", "wish", "perm")

    def _cut(self, first: int, last: int, unknown: int) -> int:
        """Where the subject begins: behind the last word before ``unknown`` that leads to one."""
        pieces = self.pieces
        for at in range(unknown - 1, first - 1, -1):
            piece = pieces[at]
            leads = piece.category == "topic" or (piece.category == "open" and piece.value != "weak")
            if not leads and piece.low in ("of", "to") and at > first:
                leads = piece.low in pieces[at - 1].marks and self._wanted(first, at)
            if leads and self._request(first, at + 1):
                return at + 1
        return first

    def _wanted(self, first: int, last: int) -> bool:
        before = self.pieces[last - 1]
        if self._asks(first, last) or self.pieces[first].low in _DETERMINERS or self.continues:
            return True
        if self.pieces[first].low in _QUESTION:
            return before.carries
        return (
            before.carries and before.sure and " " in before.low
        )  # "replication studies of", not "survey of"

    def _request(self, first: int, last: int) -> bool:
        """Whether the pieces of a prefix ask for documents."""
        pieces = self.pieces[first:last]
        asks = self._asks(first, last)
        if pieces[0].low in _QUESTION or (pieces[0].category == "name" and pieces[0].low.startswith("what")):
            if pieces[0].low in _ASKS_HOW:
                return False
            named = any(
                p.category == "doc" or (p.carries and p.sure and p.attribute in _HOLDERS) for p in pieces
            )
            opens = pieces[0].low not in _ASKS_WHAT and any(p.category == "open" for p in pieces)
            return (
                opens
                or (named and pieces[-1].category == "topic" and pieces[-1].low not in ("for", "to"))
                or (named and pieces[-1].low == "of")
            )
        if any(p.category == "open" for p in pieces):
            return True
        if len(pieces) == 1 and pieces[0].category == "topic":
            return True
        if any(p.category == "topic" and len(p.low.split()) > 1 for p in pieces):  # "the topic is"
            return True
        if any(p.category == "doc" for p in pieces):
            return True
        carriers = [p for p in pieces if p.carries]
        if not carriers:
            return False
        determined = pieces[0].low in _DETERMINERS or any(p.category == "polite" for p in pieces)
        if asks or self.continues or (determined and (carriers[-1].sure or "det" in carriers[-1].marks)):
            return True
        # Bare words (*forum threads on bees*) ask only where a kind of document is their head.
        head = carriers[-1]
        return head.attribute in _DOCUMENTS + _RECORD and (head.sure or self.carriers > len(carriers))

    def _object(self, cut: int, last: int, asked: bool) -> tuple[int, int, Kind] | None:
        """A kind of document that is asked for directly: *give me a manual with ...*, *find me bee blogs*.

        Returns:
            Where it begins and ends, and what the words before it are; None where there is none.
        """
        pieces = self.pieces
        while cut < last and pieces[cut].rules:
            cut += 1
        for at in range(cut, last):
            piece = pieces[at]
            if piece.category == "topic" or piece.rules:
                return None
            if (
                piece.category == "mention"
                and piece.attribute in _DOCUMENTS
                and (piece.sure or not self.whole_query)
            ):
                end = at + 1
                if end < last and (not pieces[end].covered or pieces[end].tied):
                    continue
                while end < last and pieces[end].carries and pieces[end].category == "mention":
                    end += 1
                words = sum(not p.covered for p in pieces[cut:at])
                if not words:
                    return (cut, end, "wish")
                if words > 6 or not asked:
                    return None
                leads = any(p.category == "topic" for p in pieces[end:last])
                tail: Kind = "unread" if leads or not self.whole_query else "subject"
                return (at, end, tail)
        return None

    def _tail(self, first: int, last: int, sentence: int) -> None:
        """What follows a kind of document: modifiers, then perhaps the subject."""
        if first >= last:
            return
        pieces = self.pieces
        topics = [i for i in range(first, last) if pieces[i].category == "topic"]
        at = topics[0] if topics else last
        if self.covered(first, at):
            self.add("wish", first, at, "", sentence)
        else:
            suffix = self._suffix(first, first, at, licensed=True)
            self.add("unread", first, suffix, "", sentence)
            self.add("wish", suffix, at, "", sentence)
        if at < last:
            suffix = self._suffix(at, at + 1, last, licensed=True)
            self.add("subject", at + 1, suffix, "", sentence)
            self.add("wish", suffix, last, "", sentence)

    def _unread(self, first: int, last: int, unknown: int) -> bool:
        """Whether a segment with unknown words still wishes something: *the text should be funny*."""
        pieces = self.pieces
        head = pieces[first:unknown]
        if not head or not any(p.category in ("neg", "hard", "soft") for p in head):
            return False
        if pieces[first].low in _QUESTION:
            return False
        about = any(p.category == "doc" or (p.category == "func" and p.value == "back") for p in head)
        if about:
            return True
        return head[0].rules and (
            not self.whole_query or any(p.kind in ("subject", "bare", "wish") for p in self.parts)
        )

    def _suffix(self, first: int, cut: int, last: int, licensed: bool = False) -> int:
        """Where the wish at the end of a subject begins; ``last`` where there is none."""
        pieces = self.pieces
        start = last
        while start > cut and pieces[start - 1].covered:
            start -= 1
        if start == cut:
            return last
        documents = self.any(first, cut, "doc") or self.carries(first, cut)
        licensed = licensed or (cut > first and (documents or self.any(first, cut, "open")))
        for at in range(start, last):
            piece = pieces[at]
            limits = piece.low == "to" and any(
                p.low.startswith(("restrict", "limit", "confine")) for p in pieces[first:cut]
            )
            begins = (
                limits
                or piece.low.split(" ")[0] in _STARTERS
                or piece.rules
                or piece.category in ("bound", "name", "term", "polite")
            )
            if not begins or piece.tied:
                continue
            tail = pieces[at:last]
            kinds = {p.category for p in tail}
            if kinds <= {"polite", "soft", "func"} and "polite" in kinds:
                return at
            if piece.low.split(" ")[0] in RELATIVE and not documents:
                return last
            if (
                cut > first
                and all(p.category in ("hard", "soft", "func", "polite") for p in tail)
                and piece.rules
            ):
                return at  # "... would be good"
            if (
                piece.low in RELATIVE
                and documents
                and any(p.value == "back" and p is not piece for p in tail)
            ):
                return at  # "... that uses it"
            if not any(p.carries for p in tail):
                continue
            explicit = any(p.rules or p.category == "polite" for p in tail) or tail[0].low in (
                "written",
                "published",
                "posted",
            )
            explicit = explicit or (tail[0].low.startswith(("published", "posted")) and tail[0].carries)
            unsure = any(p.carries and not p.sure for p in tail)
            if unsure and not documents:
                continue
            if any(p.attribute == "year" and not p.sure for p in tail):
                continue
            if explicit or licensed:
                return at
        return last


def divide(pieces: Sequence[Piece], whole_query: bool) -> Clauses:
    """Divide a text into wishes and what it is about.

    Args:
        pieces: of the whole text.
        whole_query: whether the text has a subject; otherwise it only says what documents should be like.
    """
    settled = settle(pieces)
    divider = _Divider(settled, whole_query)
    for first, last, before, sentence in segments(settled):
        divider.segment(first, last, before, sentence)
    return Clauses(tuple(divider.pieces), tuple(divider.parts))
