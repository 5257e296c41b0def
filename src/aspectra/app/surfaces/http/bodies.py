"""Request bodies and answers: the same values as on every surface, read and described by msgspec.

Errors are problem documents (RFC 9457) from the one catalogue.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.output import documents, schemas
from aspectra.app.output.documents import DocumentPart
from aspectra.app.surfaces.service.access import retry_headers
from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import AspectraError, UsageError

PROBLEM = "application/problem+json"


def problem_response(error: AspectraError, request: Request) -> Response:
    """The answer to a request that failed: a problem document.

    It has ``type``, ``title``, ``status``, ``detail`` and ``instance``, and from the catalogue ``code``,
    ``hint``, ``retryable`` and ``retry_after``.
    """
    said = error.to_dict()
    document = {
        "type": f"urn:aspectra:error:{error.code}",
        "title": said["what"],
        "status": error.http_status,
        "detail": said["why"],
        "instance": request.url.path,
        **{name: said[name] for name in ("code", "hint", "retryable", "retry_after")},
    }
    given = dict(retry_headers(error))
    if error.http_status == 401:
        given["www-authenticate"] = "Bearer"
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, error.http_status, given, PROBLEM)


T = TypeVar("T")
Id = Annotated[str, Meta(min_length=1, max_length=1000)]
Ids = Annotated[list[Id], Meta(min_length=1, max_length=500)]
Sort = Literal["score", "year", "citations", "title", "added"]


class SearchBody(Question, frozen=True):
    """A question, which page of its answer, and in which order.

    ``cursor`` is the ``next_cursor`` of an answer to the same question; ``explain`` adds each view's score.
    """

    cursor: Annotated[str, Meta(max_length=400)] = ""
    sort: Sort = "score"
    explain: bool = False

    @property
    def question(self) -> Question:
        """The question alone."""
        return Question(**{one.name: getattr(self, one.name) for one in msgspec.structs.fields(Question)})


class DecideBody(DocumentPart, frozen=True):
    """A decision on papers and all records of their works, with its reason; an empty one takes it back."""

    ids: Ids
    decision: Literal["include", "exclude", "maybe", ""]
    reason: Annotated[str, Meta(max_length=500)] = ""
    under: Annotated[str, Meta(max_length=4000)] = ""


class ExportBody(DocumentPart, frozen=True):
    """Papers for other programs, in a format of ``aspectra export``."""

    ids: Ids
    format: Literal["bibtex", "ris", "csl-json", "csv", "jsonl"] = "bibtex"
    versions: Literal["best", "all"] = "best"


class IndexBody(DocumentPart, frozen=True):
    """Make what was added searchable; ``rebuild`` also where nothing changed."""

    rebuild: bool = False


class LensBody(DocumentPart, frozen=True):
    """Compute a prompted lens, for at most ``most`` papers; needs a language model in the settings."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    most: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class BenchBody(DocumentPart, frozen=True):
    """Rank and score a benchmark; the setting ``serve.benchmarks`` names the folder of its files."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    recipes: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1000)]], Meta(min_length=1, max_length=20)
    ] = msgspec.field(default_factory=lambda: ["bm25"])


class PlanAnswer(DocumentPart, frozen=True):
    """What a search would run: the plan, its hash, in words; and what became of the question's words."""

    plan: dict[str, Any]
    hash: str
    text: str
    requests: documents.Requests


class WhyNotAnswer(DocumentPart, frozen=True):
    """Why a paper is not among the hits of a plan; ``rank`` is its place without what keeps it out, or 0."""

    id: str
    rank: int
    limit: int
    reasons: list[dict[str, Any]]
    text: str


class SearchAnswer(documents.Search, frozen=True):
    """The document of ``aspectra search --json``, with the index generation and the next page's cursor."""

    generation: str = ""
    next_cursor: str = ""


class SentencesAnswer(DocumentPart, frozen=True):
    """The sentences of a paper's abstract, with their roles."""

    id: str
    sentences: list[schemas.Span]


class DecidedAnswer(DocumentPart, frozen=True):
    """For how many records the decision is new."""

    changed: int


class ExportAnswer(DocumentPart, frozen=True):
    """Records as text."""

    format: str
    records: int
    text: str


class JobProgress(DocumentPart, frozen=True):
    """How far a job is; a total of 0 is unknown."""

    step: str
    done: int
    total: int


class JobAnswer(DocumentPart, frozen=True):
    """A job; ``result`` is the document of its command, ``error`` of the catalogue."""

    id: str
    kind: str
    state: Literal["waiting", "running", "done", "failed", "stopped"]
    progress: JobProgress
    notes: list[str]
    result: dict[str, Any]
    error: dict[str, Any] | None
    created: str
    ended: str


class JobsAnswer(DocumentPart, frozen=True):
    """Jobs, newest first."""

    jobs: list[JobAnswer]


class Health(DocumentPart, frozen=True):
    """The process answers."""

    status: Literal["ok"]
    version: str


class Ready(DocumentPart, frozen=True):
    """Searches can be answered: from which index, by which models (fingerprints by view)."""

    generation: str
    papers: int
    indexed: int
    fingerprints: dict[str, str]


class Problem(DocumentPart, frozen=True):
    """An error (RFC 9457); ``code`` is stable, ``hint`` says what to do next."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    hint: str
    retryable: bool
    retry_after: float | None


async def read_body(request: Request, kind: type[T]) -> T:
    """The JSON body of a request as a value.

    Raises:
        UsageError: it is not JSON, or does not fit ``kind``; the reason names the field.
    """
    kind_given = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind_given != "application/json":
        raise UsageError("the body is not said to be JSON", hint="send content-type: application/json")
    raw = await request.body()
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError("the body cannot be read", why=str(error), hint="GET /openapi.json") from error


def written(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")
