"""Text without its in-text citations, with a map back into the stored text.

A view of full text that is to say what papers are *about* should not match "(Brill, 1992)" with "(Brill,
1992)": that would find citation links by their markers. The stored text stays as it is; a view reads it
through :class:`Stripped`, whose offsets lead back, so that every quote can still be checked by slicing.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from aspectra.base.expressions import expression

# Part of every cache key that depends on what is left out: raise it when the rules change.
STRIPPER_VERSION = 1

_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_NAME = (
    r"(?:(?:van|von|de|der|den|di|du|la|le|Mc|Mac|O['’])\s?){0,4}"
    r"[A-Z](?=[\w'’-]{0,60}[a-z])[\w'’-]{1,61}+"
)
_NAMES = (
    rf"{_NAME}(?:\s*+,\s*+{_NAME}){{0,4}}(?:\s*+,?\s*+(?:and|&)\s++{_NAME})?"
    r"(?:(?:\s*+,)?+\s++et\.?\s*+al\b\.?)?"
    r"(?:['’]s)?"
)
_YEARS = rf"{_YEAR}(?:\s*+[,;]\s*+{_YEAR})*"
_RULES = expression(
    "|".join(
        (
            # Markers that converters leave behind.
            r"\{\{cite:[^{}]{1,200}\}\}",
            r"\\(?:cite|citep|citet|citealp|citeauthor|citeyear)\*?(?:\[[^\]]{0,80}\]){0,2}\{[^{}]{1,300}\}",
            # Part of the sentence: "Min and Wilson (1998)".
            rf"\b{_NAMES}\s*+[(\[]\s*+{_YEARS}\s*+(?:[:,][^()\[\]]{{0,40}})?[)\]]",
            # In brackets with a name, a year and other text: "(see Min, 1996; Abe, 1998)".
            rf"[(\[](?=[^()\[\]]{{0,300}}[A-Z])[^()\[\]]{{1,300}}\b{_YEAR}\b[^()\[\]]{{0,80}}[)\]]",
            # Years alone in brackets: "Brill's tagger (1992; 1994)".
            rf"[(\[]\s*+{_YEARS}\s*+[)\]]",
            # Without brackets: "Smith et al., 1998", "Min and Wilson, 1998".
            rf"\b{_NAME}(?:\s*+,)?+\s++et\.?\s*+al\b\.?(?:\s*+,?\s*+{_YEARS})?",
            rf"\b{_NAME}\s++(?:and|&)\s++{_NAME}\s*+,\s*+{_YEARS}\b",
            rf"\b{_NAME}\s*+,\s*+{_YEARS}\b",
            # Numbers: "[3, 7-9]".
            r"\[\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*\]",
        )
    )
)


class Stripped(Struct, frozen=True, dict=True):
    """A text without its citations.

    Attributes:
        stored: the text as it is stored.
        removed: (start, end) of each citation in it, ascending, not overlapping.
    """

    stored: str
    removed: tuple[tuple[int, int], ...]

    @cached_property
    def text(self) -> str:
        """What is left."""
        return self.between(0, len(self.stored))

    def between(self, start: int, end: int) -> str:
        """What is left of ``stored[start:end]``."""
        parts, at = [], start
        for low, high in self.removed:
            if high <= start or low >= end:
                continue
            parts.append(self.stored[at : max(at, low)])
            at = max(at, high)
        parts.append(self.stored[at:end] if at < end else "")
        return "".join(parts)

    @cached_property
    def _gone(self) -> tuple[list[int], list[int]]:
        """Position of each citation in :attr:`text`, and characters removed up to its end."""
        total = list(accumulate(high - low for low, high in self.removed))
        before = [0, *total][: len(total)]
        return [low - gone for (low, _), gone in zip(self.removed, before, strict=True)], total

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of :attr:`stored` that ``text[start:end]`` comes from; citations inside it are in it.

        >>> found = strip_citations("We follow Brill (1992) and Min (1996) here.")
        >>> found.text
        'We follow  and  here.'
        >>> found.stored[slice(*found.original(11, 20))]
        'and Min (1996) here'
        """
        if end <= start:
            at = self._place(start)
            return at, at
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        places, total = self._gone
        number = bisect_right(places, at)
        return at + (total[number - 1] if number else 0)


def strip_citations(text: str) -> Stripped:
    r"""Find in-text citations: names with years, years and numbers in brackets, ``{{cite:..}}``, ``\cite``.

    Rules, not a model: on ACL papers they leave about a tenth of the years that a text mentions. A formula
    such as ``x[1]`` loses its index too, which no view would have matched anyway.

    Source: the need is that of SciFullBench (PRISM, section 4), which removes citations and mentions.
    """
    return Stripped(text, tuple(m.span() for m in _RULES.finditer(text)))
