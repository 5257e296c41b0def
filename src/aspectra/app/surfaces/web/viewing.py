"""Contents of the search pages: addresses, tags of requests, hits with their criteria and quotes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode
from zlib import crc32

import jinja2
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from aspectra.app.output.criteria import Criterion, CriterionResult, criteria_of, criteria_table
from aspectra.app.output.papers import SORTS
from aspectra.app.output.rankings import DIRECTION_WORDS
from aspectra.app.surfaces.service.access import Access, Gate, retry_headers
from aspectra.app.surfaces.service.answering import Answer, Service, Trail
from aspectra.app.surfaces.service.question import Question
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import AspectraError, UsageError, check_choice, check_length
from aspectra.base.values import replace
from aspectra.papers.bibliography import is_retracted
from aspectra.papers.text.structure import abstract_sentences
from aspectra.search.conditions.attributes.content.boolean import split_up
from aspectra.search.planning.aspects import ASPECT_ROLES, named_sentences

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.surfaces.service.jobs import Jobs
    from aspectra.papers.paper import Paper
    from aspectra.search.plan import Plan
    from aspectra.search.query import Unread
    from aspectra.search.ranking import Evidence, Hit, Ranking


# What every page needs: templates that escape, the service behind them, and where routes are collected.
#
# What a form or an address brings is read as plain texts.

MOST_IDS = 500


async def read_form(request: Request, *, files: int = 0) -> FormData:
    """The fields of a form.

    Args:
        request: that brings it; its size is limited before.
        files: most files in it.

    Raises:
        UsageError: it cannot be read, or has too many fields or files.
    """
    try:
        return await request.form(max_files=files, max_fields=2 * MOST_IDS)
    except HTTPException as error:
        raise UsageError("the form cannot be read", why=str(error.detail), hint="send it again") from error


def one_of(form: FormData, name: str, *, most: int = 4000) -> str:
    """The last text of a field without white space at its ends; "" where it is missing.

    Raises:
        UsageError: it has more than ``most`` characters.
    """
    texts = [value for value in form.getlist(name) if isinstance(value, str)]
    text = texts[-1].strip() if texts else ""
    check_length(f"characters in {name}", text, most, hint="shorten it")
    return text


def ids_of(values: Iterable[object]) -> list[str]:
    """Ids of papers that a form or an address names, each once.

    Raises:
        UsageError: there are more than 500.
    """
    found = list(dict.fromkeys(one.strip() for one in values if isinstance(one, str) and one.strip()))
    check_length("papers in one request", found, MOST_IDS, hint="take fewer at a time")
    return found


def given_of(request: Request) -> dict[str, list[str]]:
    """Name -> values of the address, as ``Question.from_parameters`` reads them."""
    return {name: request.query_params.getlist(name) for name in request.query_params}


FOLDER = Path(__file__).parent
T = TypeVar("T")


def _retracted(paper: Paper | Mapping[str, Any]) -> bool:
    """True if a paper, or a row of a listing, says that it was retracted."""
    return bool(paper.get("retracted")) if isinstance(paper, Mapping) else is_retracted(paper)


def _shown(value: object) -> object:
    """Whatever a template writes, without control and bidirectional characters; markup of macros as it is."""
    return safe(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


class Pages:
    """The service, its jobs and the templates, for the modules that answer.

    Args:
        service: that answers questions.
        gate: that all work with the library passes.
        jobs: what runs beside the service.
        access: who may ask.
    """

    def __init__(self, service: Service, gate: Gate, jobs: Jobs, access: Access) -> None:
        self.service, self.gate, self.jobs, self.access = service, gate, jobs, access
        self.trail = Trail.of(service)
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_shown,
        )
        # Without control and bidirectional characters; a piece of a longer text keeps its lines and spaces.
        self._templates.filters["plain"] = lambda text: safe(str(text), one_line=True)
        self._templates.filters["prose"] = lambda text: safe(str(text))
        self._templates.tests["retracted"] = _retracted

    def render(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """A template as a page, or as the fragment that htmx wants.

        Args:
            request: that is answered; templates see it, and ``fragment``: whether htmx asks for a part.
            template: its file.
            status: of HTTP.
            headers: further ones.
            values: of the template.
        """
        fragment = request.headers.get("hx-request") == "true"
        text = self._templates.get_template(template).render(
            request=request, fragment=fragment, library=self.service.library, **values
        )
        return HTMLResponse(
            text.encode("utf-8", "replace"), status, {"vary": "HX-Request", **(headers or {})}
        )

    def error(self, request: Request, error: AspectraError) -> Response:
        """An error as a page, or as a fragment: htmx swaps answers of every status."""
        # The address stays one that can be reloaded.
        headers = {"hx-push-url": "false", **retry_headers(error)}
        return self.render(request, "error.html", status=error.http_status, headers=headers, error=error)

    async def work(self, request: Request, work: Callable[[], T]) -> T:
        """Run blocking work in its turn; dropped where the browser has left meanwhile."""
        return await self.gate.run(work, gone=request.is_disconnected)

    @staticmethod
    def back(wanted: str, to: str = "/") -> Response:
        """Redirect after a form to an address of this site, or to ``to`` if ``wanted`` is not one."""
        inside = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
        plain = inside and wanted.isascii() and wanted.isprintable()
        return RedirectResponse(wanted if plain else to, 303)


def file_of(text: str, name: str, kind: str = "text/csv; charset=utf-8") -> Response:
    """A text as a file that the browser stores.

    Args:
        text: what is in it.
        name: of the file, after ``aspectra-``.
        kind: its media type.
    """
    named = {"content-disposition": f'attachment; filename="aspectra-{name}"'}
    return Response(text.encode("utf-8", "replace"), media_type=kind, headers=named)


def address(question: Question, path: str = "/", more: Iterable[tuple[str, object]] = ()) -> str:
    """The address of a question: what has its default is left out.

    Args:
        question: whose parameters it has.
        path: of the page.
        more: further parameters; those that are "" or None are left out.
    """
    given = question.parameters() + [(name, str(one)) for name, one in more if one not in ("", None)]
    text = urlencode(given, encoding="utf-8", errors="replace")
    return f"{path}?{text}" if text else path


@dataclass(frozen=True)
class WantedPage:
    """The values in an address of the page.

    Attributes:
        question: that is asked.
        page: which one is shown, from 1.
        sort: its order, see :data:`aspectra.app.output.papers.SORTS`.
        above: only papers down to this rank; None for a page of them.
        edit: True if the form shows every field that is set.
        read: mark of the words that were read before and are therefore taken literally; "" if the user
            wants any words taken literally.
    """

    question: Question = Question()
    page: int = 1
    sort: str = "score"
    above: int | None = None
    edit: bool = False
    read: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Sequence[str]]) -> Self:
        """From the parameters of an address.

        Beside the fields of the question there may be, for forms without scripts: ``method=same`` for
        ``same=method``, with the terms of a seed that are kept (``term-method``), how many there were
        (``terms-method``) and others (``more-method``); and ``id`` for a further seed.

        Raises:
            UsageError: a value cannot be read.
        """
        fields = {name: list(values) for name, values in given.items()}
        fields["seeds"] = [*fields.get("seeds", []), *fields.get("id", [])]
        for aspect in ASPECT_ROLES:
            relation = "".join(fields.get(aspect, [])[-1:])
            if relation in ("same", "different"):
                fields.setdefault(relation, []).append(_with_terms(aspect, fields))
        for name in ("seeds", "same", "different", "same_sentences", "roles", "conditions"):
            fields[name] = list(dict.fromkeys(one.strip() for one in fields.get(name, [])))
        read = "".join(fields.get("read", [])[-1:])
        if read and read != _mark("".join(fields.get("text", [])[-1:])):
            fields["literal"], read = [], ""  # other words are read anew
        question = Question.from_parameters(fields)
        page, above = ("".join(fields.get(name, [])[-1:]).strip() for name in ("page", "above"))
        sort = check_choice("".join(fields.get("sort", [])[-1:]).strip() or "score", SORTS, "order")
        for one, what in ((page, "page"), (above, "paper")):
            if one and not (one.isascii() and one.isdigit() and len(one) < 9 and int(one)):
                raise UsageError(f"{one[:40]!r} is not the number of a {what}", hint=f"the first {what} is 1")
        down_to = int(above) if above else None
        return cls(question, int(page or 1), sort, down_to, bool(fields.get("edit")), read)

    @property
    def asked(self) -> bool:
        """True if there is something to search for."""
        return bool(self.question.text or self.question.seeds)

    def address(self, path: str = "/", *, page: int = 1, sort: str | None = None) -> str:
        """The address of another page, or of the first one in another order."""
        order = self.sort if sort is None else sort
        more = [("sort", order if order != "score" else ""), ("page", page if page > 1 else "")]
        more.append(("read", self.read))
        return address(self.question, path, more)


def edited_address(
    question: Question,
    plan: Plan,
    without: str = "",
    more: Iterable[tuple[str, object]] = (),
    *,
    unsaid: str = "",
) -> str:
    """The address of a question with all that was read from its words written out, less a request or words.

    The words that are left are taken literally; as soon as they are others, they are read again.
    """
    made = question.edited(plan, without, unsaid)
    return address(made, more=[*more, ("read", _mark(made.text))])


def _mark(text: str) -> str:
    """A few signs that stand for words; never empty."""
    return f"{crc32(' '.join(text.split()).encode('utf-8', 'replace')):08x}"


def _with_terms(aspect: str, fields: Mapping[str, Sequence[str]]) -> str:
    """The aspect as a question spells it: with terms, where others than the seed's are wanted."""
    kept = [" ".join(one.split()) for one in fields.get(f"term-{aspect}", []) if one.strip()]
    more = [" ".join(one.split()) for one in fields.get(f"more-{aspect}", []) if one.strip()]
    offered = "".join(fields.get(f"terms-{aspect}", [])[-1:])
    if not more and (not kept or str(len(kept)) == offered):
        return aspect
    return f"{aspect}: {', '.join((*kept, *more))}"


@dataclass(frozen=True)
class AskedPage:
    """A tag: something that was read from the question, or given with it.

    Attributes:
        text: for people.
        words: of the question that it was read from, or "".
        kind: class of its colour, or "".
        applied: whether it is applied.
        searched: whether its words are searched for where it is not.
        why: the reason where it is not; who read it, where that was not the rules.
        remove: address of the question without it, or "".
        apply: address of the question with what its words may mean, or "".
    """

    text: str
    words: str = ""
    kind: str = ""
    applied: bool = True
    searched: bool = False
    why: str = ""
    remove: str = ""
    apply: str = ""


_RELATIONS = {"require": "", "exclude": "not ", "prefer": "rather ", "avoid": "rather not "}


def said_of(label: str) -> str:
    """A condition's spelling for people.

    >>> said_of("require year=>=2018"), said_of("avoid topic=vision"), said_of("same method")
    ('year ≥ 2018', 'rather not about vision', 'same method')
    >>> said_of("exclude combination=kind=trial and population=children")
    'not both kind trial and population children'
    """
    relation, _, rest = label.partition(" ")
    if relation not in _RELATIONS:
        return label
    attribute, _, value = rest.partition("=")
    if attribute == "combination":
        return f"{_RELATIONS[relation]}both " + " and ".join(
            said_of(f"require {one}") for one in split_up(value)
        )
    attribute = "about" if attribute == "topic" else attribute.replace("_", " ")
    sign = {">=": "≥ ", "<=": "≤ "}.get(value[:2], "")
    return f"{_RELATIONS[relation]}{attribute} {sign}{value[2:] if sign else value}"


def plain_warning(text: str) -> str:
    """A warning without the spellings of conditions.

    >>> plain_warning("3 papers of unknown year were left out by [require year=>=2020]")
    '3 papers of unknown year were left out by: year ≥ 2020'
    """
    return re.sub(r" \[([^\[\]]{1,500})\]", lambda found: f": {said_of(found[1])}", text)


def words_of(library: Library, question: Question) -> str:
    """The question in one line, with the titles of its seeds."""
    held = library.store.get_many(question.seeds, full=False)
    return question.said({one: paper.title for one, paper in held.items() if paper.title})


def kind_of(name: str) -> str:
    """The class that colours an aspect; "" for free words and conditions."""
    aspect = name.removeprefix("same ").removeprefix("different ").partition(":")[0]
    return f"aspect-{aspect}" if aspect in ASPECT_ROLES else ""


def asked_tags(
    question: Question, ranking: Ranking, more: Iterable[tuple[str, object]] = ()
) -> list[AskedPage]:
    """Tags of the requests applied, then of those not applied, each with a link that drops it.

    Args:
        question: that was asked.
        ranking: its answer.
        more: parameters that the links keep, such as the order.
    """
    plan, requests, kept = ranking.plan, ranking.requests, list(more)
    terms = {
        f"{word} {one.partition(':')[0].strip()}": one.partition(":")[2].strip()
        for word in ("same", "different")
        for one in getattr(question, word)
        if ":" in one
    }
    out = [
        AskedPage(
            f"{name}: {terms[name]}" if terms.get(name) else name,
            kind=kind_of(name),
            remove=edited_address(question, plan, name, kept),
        )
        for name in requests.aspects
        if name != f"same {named_sentences(question.same_sentences).name}"
    ]
    out += [
        AskedPage(
            said_of(one.label),
            one.words,
            why=f"read by {one.by}" if one.by else "",
            remove=edited_address(question, plan, one.spelling, kept),
        )
        for one in requests.applied
    ]

    def given(text: str, **without: Any) -> AskedPage:
        return AskedPage(text, remove=address(replace(question, **without), more=kept))

    if question.same_sentences:
        numbers = ", ".join(map(str, question.same_sentences))
        out.append(given(f"like sentence {numbers} of your paper", same_sentences=()))
    for role in question.roles:
        number, _, name = role.partition("=")
        others = tuple(one for one in question.roles if one != role)
        out.append(given(f"sentence {number} of your paper is {name}", roles=others))
    if question.direction:
        said = DIRECTION_WORDS[question.direction].format("your paper")
        out.append(given(said, direction="", any_year=False))
    for one in requests.not_applied:
        without = edited_address(question, plan, more=kept, unsaid=one.words) if one.searched else ""
        use = _applied_address(question, plan, one, kept) if one.instead else ""
        out.append(AskedPage(one.words, "", "", False, one.searched, one.why, without, use))
    return out


def _applied_address(question: Question, plan: Plan, one: Unread, more: Iterable[tuple[str, object]]) -> str:
    """The address of a question with what some words may mean, in place of what was read in them."""
    read = (c.spelling for c in plan.conditions if c.words and (c.words in one.words or one.words in c.words))
    made = question.edited(plan, next(read, ""))
    made = replace(made, conditions=(*made.conditions, one.instead))
    return address(made, more=[*more, ("read", _mark(made.text))])


@dataclass(frozen=True)
class Row:
    """The result of one criterion for a hit.

    Attributes:
        criterion, cell: as in :mod:`aspectra.app.output.criteria`.
        said: the criterion, for people.
        kind: class of its colour, or "".
        place: where its quote is, or "".
    """

    criterion: Criterion
    cell: CriterionResult
    said: str
    kind: str
    place: str = ""

    @property
    def verdict(self) -> str:
        """The cell's, or of an aspect its likeness among the papers of the page in a word."""
        if self.criterion.condition or self.cell.grade is None:
            return self.cell.verdict
        return ("low", "middle", "high")[min(2, int(self.cell.grade * 3))]


def hits_of(library: Library, answer: Answer) -> list[dict[str, Any]]:
    """The hits of an answer, with marks and links.

    Returns:
        hit: of the ranking.
        rows: a row for each criterion of the question.
        quotes: quotes that no row shows: (evidence, where it is, class of its colour).
        abstract: in pieces: (text, whether it is quoted).
        decision: what was decided of it, or None.
        tags: of it.
        why_not: address of why it is not higher; "" for the first.
        similar: address of papers like it.
        above: address of it and all papers above it.
    """
    ranking, question = answer.ranking, answer.question
    marks, ids = library.marks.read, ranking.ids
    decisions, tags = marks.decisions(ids), marks.tags(ids)
    columns, table = criteria_of(ranking), criteria_table(ranking)
    out = []
    for hit, cells in zip(ranking, table, strict=True):
        rows = [_row(hit, column, cell) for column, cell in zip(columns, cells, strict=True)]
        said = {row.cell.quote for row in rows}
        unsaid = [e for e in hit.evidence if e.quote not in said]
        spans = [(e.start, e.end) for e in hit.evidence if e.field == "abstract"]
        alike = Question(seeds=(hit.id,), same=question.same, different=question.different)
        out.append(
            {
                "hit": hit,
                "rows": rows,
                "quotes": [(e, place_of(hit.paper, e), kind_of(e.aspect)) for e in unsaid],
                "abstract": pieces_of(hit.paper.abstract, spans),
                "decision": decisions.get(hit.id),
                "tags": tags.get(hit.id, []),
                "why_not": address(question, "/why", [("paper", hit.id)]) if hit.rank > 1 else "",
                "similar": address(alike),
                "above": address(question, more=[("above", hit.rank)]),
            }
        )
    return out


def _row(hit: Hit, column: Criterion, cell: CriterionResult) -> Row:
    found = next((e for e in hit.evidence if cell.quote and e.quote == cell.quote), None)
    place = place_of(hit.paper, found) if found is not None else ""
    return Row(column, cell, said_of(column.name), kind_of(column.key), place)


def place_of(paper: Paper, evidence: Evidence) -> str:
    """The place of a quote in words, such as ``abstract, sentence 3``."""
    if evidence.heading:
        return evidence.heading
    kind, _, number = evidence.field.partition(":")
    if kind == "abstract":
        spans = enumerate(abstract_sentences(paper), start=1)
        held = next((n for n, span in spans if span.start <= evidence.start < span.end), None)
        return f"abstract, sentence {held}" if held is not None else "abstract"
    if kind == "section":
        return f"section {int(number) + 1}" if number.isdigit() else "full text"
    return "your note" if kind == "note" else kind


def pieces_of(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text cut at the ends of spans: (piece, whether a span covers it); empty pieces are left out."""
    edges = sorted({0, len(text), *(min(max(0, at), len(text)) for span in spans for at in span)})
    return [
        (text[start:end], any(first <= start and end <= last for first, last in spans))
        for start, end in itertools.pairwise(edges)
        if text[start:end]
    ]
