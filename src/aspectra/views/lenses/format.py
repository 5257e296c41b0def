"""In what form a text comes: code, questions and answers, a manual, prose, a list.

The kinds of its lines decide, which need no language (see :mod:`aspectra.views.lenses._layout`); words help
with manuals and question-and-answer posts. Grades are independent: a manual may be a list as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import Reading, add_up, cue, logistic, read, strongest
from aspectra.views.lenses._layout import Layout, LineKind, asks, layout
from aspectra.views.lenses.protocol import LENSES, LensKind, TextSpan
from aspectra.views.view import Floats

__all__ = ["FormatLens"]

# The headings that a reference page is divided by, in the languages of most of them.
_SECTIONS = (
    r"^[#* \t\d.]*(?:name|synopsis|syntax|usage|options?|flags|switches|parameters?|arguments?|operands"
    r"|description|return values?|exit (?:status|codes?)|environment|files|examples?|notes|see also|bugs"
    r"|requirements|installation|set-?up|getting started|operation|maintenance|troubleshooting|warranty"
    r"|specifications?|technical data|safety(?: instructions)?|care and storage|configuration"
    r"|aufruf|optionen|parameter|beschreibung|beispiele?|siehe auch|bedienung|wartung|störungen?|anwendung"
    r"|sicherheitshinweise|technische daten|语法|用法|选项|参数|参数说明|命令格式|格式|返回值|实例|示例|例子"
    r"|使用方法|安装|配置|描述|注意事项|故障排除|维护|保养|规格)[ \t]*[:：*]*[ \t]*$"
)
_MANUAL = (
    cue(1.6, 4, pattern=f"(?i){_SECTIONS}"),
    cue(
        1.6,
        1,
        pattern=r"^[ \t]*(?:[Uu]sage|USAGE|[Ss]ynopsis|SYNOPSIS|[Aa]ufruf|用法)[ \t]*[:：]\s*\S",
        needs="sage|SAGE|ynopsis|SYNOPSIS|ufruf|用法",
    ),
    # Callouts with a word of danger stand in instructions for use.
    cue(
        1.2,
        1,
        pattern=r"^[ \t*#>⚠️!]*(?:WARNING|CAUTION|DANGER|NOTICE|IMPORTANT|ACHTUNG|WARNUNG"
        r"|WARNHINWEIS|VORSICHT|HINWEIS"
        r"|警告|注意|危险)\b",
        needs="WARN|CAUTION|DANGER|NOTICE|IMPORTANT|ACHTUNG|VORSICHT|HINWEIS|警告|注意|危险",
    ),
    cue(
        1.8,
        1,
        "user guide|user's guide|user manual|users manual|owner's guide|owner's manual|instruction manual"
        "|instructions for use|operating instructions|operator's manual|reference manual|service manual"
        "|man page|manual page|operating manual|assembly instructions|fitting instructions"
        "|gebrauchsanweisung*|bedienungsanleitung*|gebrauchsinformation*|betriebsanleitung*|handbuch"
        "|benutzerhandbuch*|使用手册|用户手册|说明书|操作手册|参考手册|使用说明",
    ),
    # What only a maker or an authority writes to whoever uses the thing.
    cue(
        0.5,
        2,
        "voids the warranty|your dealer|authorised dealer|authorized dealer|this model|this appliance"
        "|this device|the following options|is ignored if|defaults to|the default is|deprecated"
        "|ist zu verwenden|sind zu verwenden|nicht verwenden|指定|默认",
    ),
)
_ASKED = (
    cue(1.6, 1, "frequently asked questions|faq|faqs|häufige fragen|常见问题|问答"),
    cue(1.2, 1, "q a|questions and answers|fragen und antworten|asked by|question by|question from", ""),
    cue(
        1.4,
        2,
        "best answer|accepted answer|top answer|another answer|other answers|answered by|answer accepted"
        "|1 answer|2 answers|3 answers|4 answers|beste antwort|hilfreichste antwort|最佳答案|最佳回答"
        "|提问|网友回答|answer from|reply from the expert|ask the expert*|readers ask|leserfrage",
    ),
    cue(0.5, 2, "upvote*|upvoted|votes|replies|answers|asked|answered|antworten|回答"),
)


def _code(reading: Reading, lines: Layout) -> float:
    # Commands with a comment each are all code and comment; the same commands below bullets are a list of
    # examples, and between headings and paragraphs they illustrate a manual.
    own = lines.share("code", "comment")
    other = lines.share("item", "option", "heading", "quote", "prose", "clause")
    comments = 1.0 if lines.number("comment") else 0.0
    return -2.4 + 6.0 * own - 4.0 * other + comments * min(1.0, lines.number("code") / 3)


def _list(reading: Reading, lines: Layout) -> float:
    items = lines.number("item")
    # A code line below an item shows what the item says.
    led = min(lines.number("code"), items)
    body = len(lines.lines) - lines.number("heading", "quote")
    share = (items + led) / max(1, body)
    return -4.0 + 8.0 * share + 0.4 * min(items, 4) - 3.0 * lines.share("clause", "question", "answer")


def _manual(reading: Reading, lines: Layout) -> float:
    options = lines.number("option")
    return (
        -3.0
        + add_up(_MANUAL, reading)
        + 0.8 * min(options, 4)
        + 0.9 * min(lines.number("clause"), 4)
        - 3.0 * lines.share("question", "answer")
    )


def _questions(reading: Reading, lines: Layout) -> float:
    pairs = min(lines.number("question"), lines.number("answer"))
    # Questions that stand as lines of their own, each with something below it.
    answered = 0
    below = False
    for line in lines.lines:
        asking = line.kind in ("prose", "heading", "item") and asks(reading.lead[line.start : line.end])
        answered += below and not asking
        below = asking
    return -3.2 + 2.4 * min(pairs, 2) + add_up(_ASKED, reading) + 0.9 * min(answered, 3)


def _prose(odds: Sequence[float], lines: Layout) -> float:
    # Prose is what has sentences and none of the other forms.
    own = lines.weight("prose", "turn", "quote")
    return -2.0 + 5.0 * own - 2.5 * logistic(max(odds))


class FormatLens:
    """Grades of ``code``, ``qa``, ``manual``, ``prose`` and ``list``, each 0 to 1 on a logistic scale.

    At 0.5, roughly: ``code`` has three lines of code or comment to one of anything else; ``list`` has items
    (with the code they introduce) on every other line; ``manual`` has two of the sections of a reference
    page, or four described options or numbered clauses; ``qa`` has two questions with their answers or says
    that it has; ``prose`` is half in running lines, and nothing of the others. The whole lead (its first
    12,000 characters) is read. A paper without text has NaN.
    """

    name = "format"
    version = 2
    kind: LensKind = "paper"
    labels: tuple[str, ...] = ("code", "qa", "manual", "prose", "list")
    reads: tuple[str, ...] = ("text",)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 5) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        reading = read(paper)
        if not reading.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        lines = layout(reading.lead)
        manual, asked = _manual(reading, lines), _questions(reading, lines)
        # The examples of a reference page do not make it a snippet, however many they are.
        code = _code(reading, lines) - 2.5 * logistic(manual)
        listed = _list(reading, lines)
        prose = _prose((code, listed, manual, asked), lines) if lines.lines else 0.0
        return np.array([[logistic(x) for x in (code, asked, manual, prose, listed)]], np.float32)

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The first line of the kind that speaks for the label, or of the first strong phrase."""
        reading = read(paper)
        lines = layout(reading.lead)
        kinds: dict[str, tuple[LineKind, ...]] = {
            "code": ("code",),
            "list": ("item",),
            "manual": ("option", "clause"),
            "qa": ("question",),
            "prose": ("prose", "turn"),
        }
        found = lines.first(*kinds[label])
        if found is not None:
            return _trim(reading, found.start, found.end)
        place = (
            strongest(_MANUAL if label == "manual" else _ASKED, reading)
            if label in ("manual", "qa")
            else None
        )
        return reading.quote(*place) if place else None


def _trim(reading: Reading, start: int, end: int) -> TextSpan | None:
    shift = len(reading.title) + 1
    return reading.quote(start + shift, end + shift)


LENSES.register("format")(FormatLens())
