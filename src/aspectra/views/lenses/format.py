"""In what form a text comes: code, questions and answers, a manual, prose, a list.

The kinds of its lines decide, which need no language (see :mod:`aspectra.views.lenses._layout`); words help
with manuals and question-and-answer posts. Grades are independent: a manual may be a list as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import CueLens
from aspectra.views.lenses._features import logistic
from aspectra.views.lenses._layout import Layout, LineKind, asks
from aspectra.views.lenses._lead import LeadText
from aspectra.views.lenses.protocol import LENSES


def _code(lines: Layout) -> float:
    # Commands with a comment each are all code and comment; the same commands below bullets are a list of
    # examples, and between headings and paragraphs they illustrate a manual.
    own = lines.share("code", "comment")
    other = lines.share("item", "option", "heading", "quote", "prose", "clause")
    comments = 1.0 if lines.number("comment") else 0.0
    return -2.4 + 6.0 * own - 4.0 * other + comments * min(1.0, lines.number("code") / 3)


def _list(lines: Layout) -> float:
    items = lines.number("item")
    # A code line below an item shows what the item says.
    led = min(lines.number("code"), items)
    body = len(lines.lines) - lines.number("heading", "quote")
    share = (items + led) / max(1, body)
    return -4.0 + 8.0 * share + 0.4 * min(items, 4) - 3.0 * lines.share("clause", "question", "answer")


def _manual(added: float, lines: Layout) -> float:
    options = lines.number("option")
    return (
        -3.0
        + added
        + 0.8 * min(options, 4)
        + 0.9 * min(lines.number("clause"), 4)
        - 3.0 * lines.share("question", "answer")
    )


def _questions(added: float, lead: LeadText) -> float:
    lines = lead.layout
    pairs = min(lines.number("question"), lines.number("answer"))
    # Questions on lines of their own, each with something below it.
    answered = 0
    below = False
    for line in lines.lines:
        asking = line.kind in ("prose", "heading", "item") and asks(lead.lead[line.start : line.end])
        answered += below and not asking
        below = asking
    return -3.2 + 2.4 * min(pairs, 2) + added + 0.9 * min(answered, 3)


def _prose(odds: Sequence[float], lines: Layout) -> float:
    # Prose is what has sentences and none of the other forms.
    own = lines.weight("prose", "turn", "quote")
    return -2.0 + 5.0 * own - 2.5 * logistic(max(odds))


# The kinds of line that each label is about.
_LINES: dict[str, tuple[LineKind, ...]] = {
    "code": ("code",),
    "qa": ("question",),
    "manual": ("option", "clause"),
    "prose": ("prose", "turn"),
    "list": ("item",),
}


class FormatLens(CueLens):
    """Grades of ``code``, ``qa``, ``manual``, ``prose`` and ``list``, each 0 to 1 on a logistic scale.

    At 0.5, roughly: ``code`` has three lines of code or comment to one of anything else; ``list`` has items
    (with the code they introduce) on every other line; ``manual`` has two of the sections of a reference
    page, or four described options or numbered clauses; ``qa`` has two questions with their answers or says
    that it has; ``prose`` is half in running lines, and nothing of the others. The whole lead (its first
    12,000 characters) is read. A paper without text has NaN.
    """

    name = "format"
    description = "in what form a text comes: code, questions and answers, a manual, prose, a list"
    labels = tuple(_LINES)

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """See :class:`CueLens`."""
        lines = lead.layout
        manual, asked = _manual(added["manual"], lines), _questions(added["qa"], lead)
        # The examples of a reference page do not make it a snippet, however many they are.
        code = _code(lines) - 2.5 * logistic(manual)
        listed = _list(lines)
        prose = _prose((code, listed, manual, asked), lines) if lines.lines else 0.0
        return (code, asked, manual, prose, listed)

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The first line of a kind that counts for the label, else the strongest cue."""
        found = lead.layout.first(*_LINES[label])
        if found is None:
            return super().place(lead, label)
        shift = len(lead.title) + 1
        return found.start + shift, found.end + shift


LENSES.register("format")(FormatLens())
