"""Attributes that a lens decides: kind, language, what people are told, and those of prompted lenses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from aspectra.base.errors import UsageError, unknown_name
from aspectra.base.expressions import expression
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute, by_name
from aspectra.views.index.opened import Index
from aspectra.views.lenses.artifacts import ArtifactsLens
from aspectra.views.lenses.kind import RECORDED, KindLens, stated_as
from aspectra.views.lenses.language import LANGUAGES, label_of
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.lenses.source import AudienceLens, FormatLens
from aspectra.views.prompted.schema import LENSES_KEY, ValueSchema
from aspectra.views.view import Floats, Positions

_PHRASES = expression(r"^([\w -]++)(?::[^=\n]*+)?+=((?:.|\n\s)*)", re.MULTILINE)


def lens_column(index: Index, lens: str, label: str, papers: Positions) -> Floats:
    """(papers,) values of a label of a lens; NaN where an index of an older version has none."""
    if lacks(index, lens, label):
        return np.full(len(papers), np.nan, np.float32)
    return np.asarray(index.lens(lens).column(label)[papers], np.float32)


def lacks(index: Index, lens: str, label: str) -> str:
    """Why the index has no values of a label, for people; "" where it has."""
    if lens in index.lens_names and label in index.lens(lens).labels:
        return ""
    if index.waiting:
        return f"the lens {lens} is not applied yet: aspectra index goes on with it"
    return f"the index was built by an older version, without {label} of the lens {lens}: aspectra index"


class LensAttribute(Attribute):
    """Conditions on the labels of a lens; the attribute has its name.

    Args:
        name: of the lens.
        values: its labels.
        every: who names several wants them all.
    """

    def __init__(self, name: str, values: tuple[str, ...], *, every: bool = False) -> None:
        self.name, self.values, self.every = name, values, every

    def check(self, value: str) -> None:
        """Refuse a value that is not a label of the lens.

        Raises:
            UsageError: with the values there are.
        """
        if value not in self.values:
            raise unknown_name(f"{value!r} is no {self.name}", value, self.values, self._synonyms(value))

    def _synonyms(self, word: str) -> dict[str, str]:
        """The word with the first value that its English words mean: ``review`` is said for ``survey``.

        A value for which the whole word is said goes before one with a longer phrase.
        """
        said = word.strip().casefold()
        held: dict[bool, str] = {}
        for value, phrases in _PHRASES.findall(self.words("en") if said else ""):
            alone = said in (re.sub(r"\([^()]*+\)", "", phrase).strip() for phrase in phrases.split("|"))
            if alone or re.search(rf"\b{re.escape(said)}\b", phrases):
                held.setdefault(alone, value.strip())
        return {said: held[max(held)]} if held else {}

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper without text, and for all where the index has no such label."""
        return lens_column(index, self.name, value, papers)

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known: an index of an older version has no such lens, or no such label."""
        return lacks(index, self.name, value) or super().missing(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The span with the strongest evidence for the value; None if it is the text as a whole."""
        return LENSES.get(self.name).span(paper, value)


# Whom a text is written for, its form, and what a paper makes available: who names code and data means both.
ATTRIBUTES.register("audience")(LensAttribute("audience", AudienceLens.labels))
ATTRIBUTES.register("format")(LensAttribute("format", FormatLens.labels))
ATTRIBUTES.register("artifacts")(LensAttribute("artifacts", ArtifactsLens.labels, every=True))


# Conditions on language: a BCP 47 tag, as in ``de``, ``zh-Hant`` or ``pt-BR``.
#
# A grade is the share of the title and abstract in that language. Regions say which way of writing Chinese
# is meant (``zh-TW`` is ``zh-Hant``) and are left aside elsewhere. A language that the lens cannot see is
# met by papers whose record states it, and not by those that state or are clearly in another.

_TAG = expression(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")


class LanguageAttribute(Attribute):
    """The language of a text, by its BCP 47 tag: ``de``, ``zh-Hant`` or ``pt-BR``."""

    name = "language"

    def check(self, value: str) -> None:
        """Refuse a value that is not a language tag.

        Raises:
            UsageError: with the tags that the lens sees.
        """
        if not _TAG.fullmatch(value.strip()):
            why = f"write a BCP 47 tag; seen in texts are {', '.join(sorted(LANGUAGES))}"
            raise UsageError(f"{value!r} is no language", why=why, hint="language=en, language=zh-Hant")

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) share of the text in the language, NaN where the text does not tell.

        Before the lens is applied the records alone tell.
        """
        out: Floats = np.full(len(papers), np.nan, np.float32)
        if "language" in index.lens_names:
            lens = index.lens("language")
            if label := label_of(value.strip()):
                return np.asarray(lens.column(label)[papers], np.float32)
            clear = np.max([lens.column(code)[papers] for code in LANGUAGES], axis=0) >= 0.5
            out = np.where(clear, np.float32(0), out)
        primary = re.split("[-_]", value.strip().casefold())[0]
        stated = by_name(index, "languages", papers, lambda name: float(name == primary) if name else np.nan)
        return np.where(np.isnan(stated), out, stated)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence with most words in the language."""
        label = label_of(value.strip())
        return LENSES.get("language").span(paper, label) if label else None


ATTRIBUTES.register("language")(LanguageAttribute())


# Conditions on kind: what sort of work a paper is, as the lens :mod:`aspectra.views.lenses.kind` graded it.
#
# ``news`` and ``blog`` are met by what the lens ``source`` takes for one, too. Of some kinds too few of the
# papers that a text marks were right, or too few were read. Where no record of a library states such a
# kind, conditions on it order and do not filter; where one does, the record alone filters.

_SOURCES = frozenset({"news", "blog"})

# Kind -> (right, read) of papers that its cues mark, read by hand (docs/results/graders.md): less than 90 %
# were right, or fewer were read than it takes to say so.
ORDERING = {
    "theory": (21, 30),
    "evaluation": (18, 30),
    "position": (6, 9),
    "thesis": (3, 3),
    "tutorial": (2, 2),
    "software": (21, 30),
    "replication": (1, 2),
    "case study": (19, 30),
    "case series": (0, 0),
    "case-control": (3, 4),
    "cross-sectional": (7, 8),
    "qualitative": (14, 19),
    "mixed methods": (3, 4),
    "in vivo": (17, 19),
    "in vitro": (9, 10),
    "guideline": (1, 3),
    "editorial": (2, 2),
    "letter": (0, 0),
}
# The most that a text makes of such a kind where records state it: less than it takes to meet.
_BY_TEXT = 0.45


class KindAttribute(LensAttribute):
    """The sort of work that a paper is, by its record and by the lens ``kind``."""

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN for a paper of which neither text nor record is known."""
        grades = super().grades(value, index, papers)
        if value in _SOURCES:
            grades = np.fmax(grades, lens_column(index, "source", value, papers))
        if value in ORDERING and self.told(value, index):
            grades = np.where(grades >= RECORDED, grades, np.minimum(grades, np.float32(_BY_TEXT)))
        return grades

    def measure(self, value: str, index: Index) -> bool | None:
        """Whether the record of any of the papers states a kind that texts tell badly."""
        if value not in ORDERING:
            return None
        return bool((lens_column(index, self.name, value, np.arange(len(index))) >= RECORDED).any())

    def orders_only(self, value: str, index: Index) -> str:
        """How many of the papers that the kind marks were right, where these are too few for a filter."""
        if value not in ORDERING or self.told(value, index):
            return ""
        right, read = ORDERING[value]
        found = f"right for {right} of {read} papers it marks" if read else "no paper it marks was read"
        return f"not as a filter, it orders: kind={value}, {found}"

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence that decided; None where the record did."""
        if stated_as(value, paper):
            return None
        return LENSES.get("source" if value in _SOURCES else self.name).span(paper, value)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The kind that the record states, as in ``Case Reports (record)``; "" if the text decided."""
        stated = stated_as(value, paper)
        return f"{stated} (record)" if stated else ""


ATTRIBUTES.register("kind")(KindAttribute("kind", KindLens.labels))


# Attributes from prompted lenses: ``-c NAME=label``, ``-c NAME=>=0.5`` for numbers.
#
# Which there are depends on the library. Opening one makes its lenses known. Libraries in one process may
# have lenses of one name with other values: a condition can be made where any of them has the value, and is
# refused when a library without it grades it.

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_RANGE = expression(rf"\s*+(?:(<=|>=)\s*+({_NUMBER})|({_NUMBER})\s*+(?:\.\.\s*+({_NUMBER}))?)\s*+")


class PromptedAttribute(Attribute):
    """Conditions on the labels or numbers of a prompted lens; see the module.

    Args:
        name: of the lens.

    Attributes:
        schemas: folder of each library that was opened -> schema of its values there.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.schemas: dict[Path, ValueSchema] = {}

    def check(self, value: str) -> None:
        """Refuse a value that the lens does not have in any library that was opened.

        Raises:
            UsageError: with the values that it has in the one opened last.
        """
        refused = None
        for schema in reversed(self.schemas.values()):
            try:
                _check(self.name, schema, value)
            except UsageError as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 where the lens says so, 0 where it says otherwise, NaN where it has no value.

        Raises:
            UsageError: the lens does not have this value in this library.
        """
        from aspectra.views.prompted.collecting import NUMBER  # few libraries have such lenses

        lens = index.lens(self.name)
        schema = self.schemas.get(index.library.folder)
        if lens.labels != (NUMBER,) or (schema is not None and schema.kind == "label"):
            return np.asarray(lens.column(value)[papers], np.float32)
        found = np.asarray(lens.column(NUMBER)[papers], np.float32)
        low, high = _bounds(self.name, value)
        # Numbers are kept as float32; a bound means the number as it was written.
        return np.where(np.isnan(found), found, (found >= np.float32(low)) & (found <= np.float32(high)))


def _check(name: str, schema: ValueSchema, value: str) -> None:
    if schema.kind == "text":
        hint = f'aspectra search "..." --lens {name}'
        raise UsageError(f"the lens {name} gives texts, which conditions cannot use", hint=hint)
    if schema.kind == "label" and value not in schema.labels:
        why = f"known: {', '.join(schema.labels)}"
        raise UsageError(f"{value!r} is no label of the lens {name}", why=why)
    if schema.kind == "number":
        _bounds(name, value)


def _bounds(name: str, value: str) -> tuple[float, float]:
    """Lowest and highest number that meets a value."""
    found = _RANGE.fullmatch(value)
    if found is None:
        why = "write >=0.5, <=0.5, 0.5 or 0.2..0.5"
        raise UsageError(f"{value!r} is no number of the lens {name}", why=why)
    sign, bound, first, last = found.groups()
    low, high = float(bound or first), float(bound or last or first)
    return -np.inf if sign == "<=" else low, np.inf if sign == ">=" else high


def know_lenses(library: Store) -> None:
    """Make the prompted lenses of a library known as attributes.

    A lens whose prompt cannot be used is left out here; ``aspectra lens status`` says why.
    """
    if not library.meta(LENSES_KEY):
        return
    from aspectra.views.prompted.definition import usable

    for name, lens in usable(library).items():
        if name not in ATTRIBUTES:
            ATTRIBUTES.register(name)(PromptedAttribute(name))
        known = ATTRIBUTES.get(name)
        if isinstance(known, PromptedAttribute):
            known.schemas.pop(library.folder, None)  # the library opened last is named last
            known.schemas[library.folder] = lens.prompt.schema
