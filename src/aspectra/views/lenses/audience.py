"""For whom a text is written: lay people, experts, students, practitioners.

Readability first: the mean length of the words, which in alphabetic scripts tells easy from hard text as
well as the classic formulas do and needs no syllables; then numbers with units, abbreviations and symbols,
how readers are addressed, definitions, and the words of a classroom. Chinese, Japanese and Korean text has no
word length; there the other cues decide.

How rare the words are in the library is left out: it tells experts' texts only where most texts are plain.
Among papers everyday words are the rare ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import CueLens
from aspectra.views.lenses._lead import LeadText, hardness
from aspectra.views.lenses.protocol import LENSES


class AudienceLens(CueLens):
    """Grades of ``lay``, ``expert``, ``student`` and ``practitioner``, each 0 to 1 on a logistic scale.

    ``lay`` is 0.5 at words of about 5.1 letters with nothing else to tell, ``expert`` at about 5.4, or
    earlier with quantities and abbreviations; one letter more is three units of log-odds. ``student`` needs
    two words of the classroom, ``practitioner`` one phrase of advice for practice. A paper without text
    has NaN.
    """

    name = "audience"
    description = "for whom a text is written: lay people, experts, students, practitioners"
    version = 3
    labels: tuple[str, ...] = ("lay", "expert", "student", "practitioner")

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """See :class:`CueLens`."""
        words = float(lead.words)
        if lead.cjk > 0.3:
            words = lead.cjk * len(lead.plain) / 1.6  # characters to a Chinese word
        # Two technical tokens in a hundred words are already unusual in a text for everybody.
        tokens = sum(len(pattern.findall(lead.text)) for pattern in self.features.patterns.values())
        technical = min(2.0, 50.0 * tokens / max(40.0, words))
        marks = lead.text.count("!") + lead.text.count("！")
        known = self.features.words
        features = {
            **added,
            "hard": hardness(lead),
            "technical": technical,
            "personal": min(1.0, lead.share(known["personal"]) / 0.03),
            "talk": min(1.0, lead.share(known["contracted"]) / 0.01) + min(2, marks) / 2,
        }
        return [self.features.odds(label, features) for label in self.labels]

    def place(self, lead: LeadText, label: str) -> tuple[int, int] | None:
        """The strongest cue; for experts the first quantity or abbreviation where there is none."""
        place = super().place(lead, label)
        if place is None and label == "expert":
            found = [
                m.span() for pattern in self.features.patterns.values() if (m := pattern.search(lead.text))
            ]
            place = min(found, default=None)
        return place


LENSES.register("audience")(AudienceLens())
