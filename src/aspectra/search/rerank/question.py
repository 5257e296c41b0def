"""A question to judges, and the papers that may answer it."""

from __future__ import annotations

from msgspec import Struct


class Candidate(Struct, frozen=True):
    """A paper to be judged.

    Attributes:
        id: its id; unique among the candidates.
        text: what may also be searched: title and abstract.
        judge_text: what only a judge sees (a solution, a full text); "" where there is none.
        title: that the text begins with; "" where it has none.
    """

    id: str
    text: str
    judge_text: str = ""
    title: str = ""


class Question(Struct, frozen=True):
    """The query and everything else that every judge is told about it.

    Attributes:
        text: the query, or the text of the seed papers.
        instruction: what the person said about how to search, or "".
        conditions: as in ``avoid language=zh``.
        criterion: what makes a paper fit: a name in the file of criteria (``relevance``, ``technique`` ...),
            or a sentence of one's own.
        judge_text: of the query, for judges only (the solution of a problem, say); "" where there is none.
        aspects: in which papers should be alike or different; the instruction names them too.
    """

    text: str
    instruction: str = ""
    conditions: tuple[str, ...] = ()
    criterion: str = "relevance"
    judge_text: str = ""
    aspects: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """Query, instruction and conditions as one text, for judges that read no form."""
        return "\n".join(part for part in (self.text, self.instruction, "; ".join(self.conditions)) if part)
