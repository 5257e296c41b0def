"""For whom a text is written: lay people, experts, students.

Readability first: the mean length of the words, which in alphabetic scripts tells easy from hard text as
well as the classic formulas do and needs no syllables; then numbers with units, abbreviations and symbols,
how readers are spoken to, definitions, and the words of a classroom. Chinese, Japanese and Korean text has no
word length; there the other cues decide.

How rare the words are in the library is left out: it tells experts' texts only where most texts are plain.
Among papers everyday words are the rare ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import Reading, add_up, cue, hardness, logistic, read, strongest
from aspectra.views.lenses.protocol import LENSES, LensKind, TextSpan
from aspectra.views.view import Floats

__all__ = ["AudienceLens"]

_SPEAKS = frozenset(
    """i i'm i've i'd i'll me my you your you're you'll you've yours ich mir mich mein meine du dir dich dein
    deine ihr euch""".split()
)
_CONTRACTED = frozenset(
    """it's that's don't didn't doesn't can't couldn't won't isn't wasn't there's here's let's i'm i've you're
    you'll haven't wouldn't what's they're we're we'll""".split()
)

_LAY = (
    # Things explained to whoever has not met them.
    cue(
        0.8,
        2,
        "is called|are called|which means|this means|in other words|imagine|think of|simply put|put simply"
        "|in plain words|for beginners|don't worry|no need to|everyone|anyone|your doctor|the nurse|at home"
        "|das heißt|man nennt|stellen sie sich|zu hause|einfach|也就是说|简单来说|简单地说|通俗|比如"
        "|就像|在家"
        "|不要紧|大家|新手|小白",
    ),
    cue(0.5, 2, "你|您|我|吧|呢|啦|吗"),
)
_EXPERT = (
    cue(
        0.7,
        3,
        "et al|in vivo|in vitro|significantly|hypothesis|cohort|regression|randomised|randomized|algorithm"
        "|theorem|parameters|coefficient|mechanism|protocol|tolerance|calibrated|calibration|substrate"
        "|specification|clinicians|practitioners|patients|workshops|professionals|specialists|for dealers"
        "|respectively|via|wrt|hereafter|is defined as|is consistent with|appears to|likely to|may be due"
        "|were observed|was observed|signifikant*|hinsichtlich|gemäß|mittels|显著|机制|参数|系数|浓度|临床"
        "|算法|本文|研究表明|假设",
    ),
    # Formulas, levels of significance, citations.
    cue(
        0.7,
        2,
        pattern=r"\$[^$\n]{2,60}\$|[∑∫∂≤≥≈±∈∇√]|[<=>](?:(?<=\b[pPnN].)|(?<=\b[pPnN] .)) ?0?\.?\d",
    ),
    cue(0.7, 1, pattern=r"\([A-Z][\w-]+[^()\n]{0,40},? (?:19|20)\d\d\)", needs="("),
)
_STUDENT = (
    cue(
        1.7,
        2,
        "worksheet|homework|exercise|exercises|revision|learning objectives|learning objective|key stage"
        "|in this chapter|in this lesson|in this unit|in this course|by the end of|pupils|students"
        "|your teacher"
        "|your notebook|classroom|classwork|coursework|syllabus|exam|quiz|test yourself|exam practice"
        "|model answer|practice questions|textbooks|lecture notes|lecture"
        "|show your working|in your own words|explain why|write down|work through|aufgabe|aufgaben|übung"
        "|übungen|übungsblatt|hausaufgabe*|schüler|schülerinnen|klassenarbeit|lernziel*|studierende"
        "|arbeitsblatt|lehrbuch|vorlesung|同学|作业|练习|思考题|习题|考试|课堂|下节课|本章|本课|复习"
        "|学生|教材|讲义",
    ),
    cue(
        1.2,
        1,
        "worksheet|arbeitsblatt|exam|lesson|unit|chapter|lecture|revision|course|exercise|exercises"
        "|tutorial|textbook|aufgabe"
        "|lektion|kapitel|kurs|课|讲|练习|章",
        where="title",
    ),
    cue(
        0.9,
        1,
        pattern=r"(?:Year|year|Grade|grade|Class|class|Klasse) \d{1,2}\b",
        needs="ear |rade |lass |Klasse ",
    ),
)
# Quantities as specialists write them, comparisons, abbreviations, and words with digits in them.
_TECHNICAL = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d ?(?:%|°|[µmckM]?[mgLlsWVAΩNJ]\b|[kM]?Hz\b|k?Pa\b|dB\b|rpm\b|ppm\b|bar\b|mol\b|min\b|h\b)",
        r"[<>≤≥]=? ?\d",
        r"[A-Z]{2,6}(?![a-z])",
        r"\d(?:(?<=[A-Za-z].)|(?<=[A-Za-z]-.))",
    )
)
_BANG = re.compile("[!！]")


def _odds(reading: Reading) -> tuple[float, float, float]:
    words = float(reading.words)
    if reading.cjk > 0.3:
        words = reading.cjk * len(reading.plain) / 1.6  # characters to a Chinese word
    hard = hardness(reading)
    # Two technical tokens in a hundred words are already unusual in a text for everybody.
    tokens = sum(len(pattern.findall(reading.text)) for pattern in _TECHNICAL)
    technical = min(2.0, 50.0 * tokens / max(40.0, words))
    speaks = min(1.0, reading.share(_SPEAKS) / 0.03)
    easy_talk = min(1.0, reading.share(_CONTRACTED) / 0.01) + min(2, len(_BANG.findall(reading.text))) / 2
    lay, expert, student = (add_up(cues, reading) for cues in (_LAY, _EXPERT, _STUDENT))
    return (
        0.6
        - 3.0 * hard
        - 0.9 * technical
        + 0.6 * speaks
        + 0.5 * easy_talk
        + lay
        - 0.6 * expert
        - 0.7 * student,
        -1.6
        + 3.0 * hard
        + 1.1 * technical
        + expert
        - 0.8 * speaks
        - 0.8 * easy_talk
        - 0.5 * lay
        - 0.5 * student,
        -2.8 + student - 0.5 * expert,
    )


class AudienceLens:
    """Grades of ``lay``, ``expert`` and ``student``, each 0 to 1 on a logistic scale.

    ``lay`` is 0.5 at words of about 5.1 letters with nothing else to tell, ``expert`` at about 5.4, or
    earlier with quantities and abbreviations; one letter more is three units of log-odds. ``student`` needs
    two words of the classroom. A paper without text has NaN.
    """

    name = "audience"
    version = 2
    kind: LensKind = "paper"
    labels: tuple[str, ...] = ("lay", "expert", "student")
    reads: tuple[str, ...] = ("text",)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 3) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        reading = read(paper)
        if not reading.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        return np.array([[logistic(x) for x in _odds(reading)]], np.float32)

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The sentence of the strongest cue; None where only the words as a whole speak."""
        reading = read(paper)
        place = strongest({"lay": _LAY, "expert": _EXPERT, "student": _STUDENT}[label], reading)
        if place is None and label == "expert":
            found = [m.span() for pattern in _TECHNICAL if (m := pattern.search(reading.text))]
            place = min(found, default=None)
        return reading.quote(*place) if place else None


LENSES.register("audience")(AudienceLens())
