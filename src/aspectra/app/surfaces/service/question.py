"""The question as every served surface fills it in: HTTP, MCP and the page; the command line has options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from aspectra.app.settings import DEFAULT_RECIPE
from aspectra.base.errors import UsageError
from aspectra.base.values import Value, converted
from aspectra.papers.paper import Paper, normalise_title

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.search.plan import Plan


MOST_SHOWN = 100  # papers on a page
Short = Annotated[str, Meta(max_length=200)]
Few = Annotated[tuple[Short, ...], Meta(max_length=20)]
Year = Annotated[int, Meta(ge=0, le=9999)] | Annotated[str, Meta(max_length=20)] | None
Aspects = Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=8)]
_OPTION = re.compile(r"(?<!\w)(\w++)\s*+=")


def refuse_files(recipes: Iterable[str]) -> None:
    """Refuse recipes that name a file of this computer, as the recipe itself or as a step's prompt.

    Raises:
        UsageError: one does.
    """
    if any(
        one.strip().endswith(".toml") or any("prompt" in name for name in _OPTION.findall(one))
        for one in recipes
    ):
        raise UsageError(
            "a recipe that names a file is for the command line",
            why="a service reads no files that a request names",
            hint="write its steps, as: bm25 | top(200) | hybrid",
        )


class Question(Value, frozen=True):
    """A question to a library; text, seeds or both are needed.

    Attributes:
        text: the question in words; constraints in it are detected and applied.
        seeds: papers to start from: ids, DOIs, arXiv ids or exact titles.
        recipe: steps of the search, as ``guided``, ``bm25`` or ``bm25 | top(200) | hybrid``.
        same, different: aspects in which papers should be like the seeds, or unlike them: ``background``,
            ``method``, ``result``, free words, or terms of an aspect as ``method: gaussian splatting``.
        same_sentences: numbers of the one seed's sentences, from 1, whose like papers should say.
        roles: roles of these sentences that are corrected, as ``3=method``.
        conditions: as ``avoid source=blog`` or ``require year=>=2018``.
        instruction: the same in free words.
        literal: detect no constraints in the text.
        since, until: first and last year: a year, a date or an age such as ``3y``.
        venues, authors, languages: any of these.
        tags: only papers with all of these tags.
        decided: only papers with this decision: ``include``, ``exclude``, ``maybe``, ``any``, ``none``.
        direction: what the papers are to the seeds: ``builds-on``, ``built-on-by``, ``both``, or "".
        any_year: a direction ranks papers of every year.
        lenses: lenses to search.
        versions: ``best`` shows one version of a work, ``all`` ranks each by itself.
        limit: papers on a page.
        evidence: sentences quoted per paper.
    """

    text: Annotated[str, Meta(max_length=4000)] = ""
    seeds: Annotated[tuple[Annotated[str, Meta(max_length=1000)], ...], Meta(max_length=20)] = ()
    recipe: Annotated[str, Meta(max_length=1000)] = DEFAULT_RECIPE
    same: Aspects = ()
    different: Aspects = ()
    same_sentences: Annotated[tuple[Annotated[int, Meta(ge=1, le=100_000)], ...], Meta(max_length=50)] = ()
    roles: Few = ()
    conditions: Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=20)] = ()
    instruction: Annotated[str, Meta(max_length=4000)] = ""
    literal: bool = False
    since: Year = None
    until: Year = None
    venues: Few = ()
    authors: Few = ()
    languages: Few = ()
    tags: Few = ()
    decided: Literal["", "include", "exclude", "maybe", "any", "none"] = ""
    direction: Literal["", "builds-on", "built-on-by", "both"] = ""
    any_year: bool = False
    lenses: Few = ()
    versions: Literal["best", "all"] = "best"
    limit: Annotated[int, Meta(ge=1, le=MOST_SHOWN)] = 10
    evidence: Annotated[int, Meta(ge=0, le=5)] = 1

    def __post_init__(self) -> None:
        refuse_files([self.recipe])

    @classmethod
    def from_parameters(cls, given: Mapping[str, Sequence[str]]) -> Question:
        """The question of an address: parameters are named as the fields; empty ones count as not given.

        Args:
            given: name -> values, as ``{"text": ["owls"], "same": ["method"]}``; names of no field are
                ignored, they are the surface's own.

        Raises:
            UsageError: a value cannot be read.
        """
        found: dict[str, Any] = {}
        for one in msgspec.structs.fields(cls):
            values = [value.strip() for value in given.get(one.name, ()) if value.strip()]
            if values:
                found[one.name] = values if one.default == () else values[-1]
        for name in ("since", "until"):  # a year is a number, as where it is given as one
            if (year := found.get(name, "")).isascii() and year.isdigit() and len(year) <= 4:
                found[name] = int(year)
        try:
            return converted(found, cls, strict=False)
        except (msgspec.ValidationError, UnicodeError) as error:
            raise UsageError(
                "the question cannot be read", why=str(error), hint="correct that field"
            ) from error

    def parameters(self) -> list[tuple[str, str]]:
        """Inverse of :meth:`from_parameters`: the fields that have not their default, in their order."""
        out = []
        for name, value in self.to_dict().items():
            for one in value if isinstance(value, list | tuple) else [value]:
                out.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
        return out

    @property
    def words(self) -> str:
        """The question in one line: text, seeds, aspects; filters are left out."""
        return self.said({})

    def said(self, titles: Mapping[str, str]) -> str:
        """:attr:`words` for people.

        Args:
            titles: id of a paper -> its title.
        """
        aspects = [f"{word} {name}" for word in ("same", "different") for name in getattr(self, word)]
        named = ", ".join(f"“{titles[one]}”" if one in titles else one for one in self.seeds)
        said = " ".join((self.text + (f" like {named}" if named else "")).split())
        return ", ".join(part for part in (said, *aspects) if part)

    @property
    def asked(self) -> dict[str, Any]:
        """The mapping that saved searches and :mod:`aspectra.app.recent` keep."""
        given = msgspec.structs.asdict(self)
        return {"text": given.pop("text"), "seeds": [*given.pop("seeds")], "given": given}

    def plan(self, library: Library) -> Plan:
        """The plan of this question in a library.

        Raises:
            As :meth:`aspectra.app.library.Library.plan`.
        """
        asked = self.asked
        return library.plan(asked["text"], seeds=asked["seeds"], **asked["given"])

    def edited(self, plan: Plan, without: str = "", unsaid: str = "") -> Question:
        """The same question with what was read from its words written out, for a person to change.

        Args:
            plan: made of this question.
            without: the spelling of a condition, or ``same NAME`` or ``different NAME``, that is dropped.
            unsaid: words to remove from the question.
        """
        from aspectra.search.planning.aspects import ASPECT_ROLES, Aspect, aspects_asked, named_sentences

        sentences = named_sentences(self.same_sentences).name
        kept = tuple(c.spelling for c in plan.conditions if c.spelling != without)
        texts = [text for text in plan.search.texts if text]
        if unsaid:
            texts = [" ".join(text.replace(unsaid, " ", 1).split()).strip(" ,;") for text in texts]
        named = {
            word: tuple(
                name
                for name in dict.fromkeys(
                    (*aspects_asked(plan.search.probes, sign), *(Aspect.parse(a).name for a in told or ()))
                )
                if name != sentences and f"{word} {name}" != without
            )
            for word, sign, told in (("same", 1, plan.same), ("different", -1, plan.different))
        }
        held = {word: [one for one in getattr(self, word) if ":" in one] for word in named}
        return msgspec.structs.replace(
            self,
            text=texts[0] if texts else "" if self.seeds else self.text,
            conditions=kept,
            literal=True,
            # A role that was corrected needs an aspect that it could matter for.
            roles=self.roles
            if any(name in ASPECT_ROLES for names in named.values() for name in names)
            else (),
            instruction="",
            since=None,
            until=None,
            venues=(),
            authors=(),
            languages=(),
            tags=(),
            decided="",
            **{
                word: tuple(
                    next((one for one in held[word] if one.partition(":")[0].strip() == name), name)
                    for name in names
                )
                for word, names in named.items()
            },
        )


# Papers that somebody may mean who types a title, or a part of one, or an identifier.

_WORDS = 8  # of what was typed
_LONGEST = 300  # characters of it


def suggested_papers(library: Library, typed: str, limit: int = 8) -> list[Paper]:
    """Papers whose title holds all words that were typed, in any order; the last one may be a beginning.

    A paper with exactly this id, identifier or title comes first, then titles that begin so, then short ones.

    Args:
        library: that holds them.
        typed: as far as it is.
        limit: most papers.

    Returns:
        Without full text; [] for less than two letters.
    """
    typed = typed.strip()[:_LONGEST]
    key = normalise_title(typed)
    words = sorted(dict.fromkeys(key.split()), key=len, reverse=True)[:_WORDS]
    found: list[str] = []
    if sum(map(len, words)) > 1:
        # A normalised title is letters, digits and spaces: nothing that LIKE reads as a pattern.
        held = " AND ".join("title_key LIKE ?" for _ in words)
        order = "title_key NOT LIKE ?, length(title_key), pos"
        rows = library.store.fetch(
            f"SELECT id FROM papers WHERE {held} ORDER BY {order} LIMIT ?",
            [*(f"%{word}%" for word in words), f"{key}%", limit],
        )
        found = [str(row[0]) for row in rows]
    called = library.store.called(typed) if typed else []
    if len(called) == 1:
        found.insert(0, called[0])
    return list(library.store.get_many(list(dict.fromkeys(found))[:limit], full=False).values())
