"""Request bodies and documents: the same values as on every surface, read and described by msgspec."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.service.question import Question
from aspectra.base.errors import UsageError

__all__ = ["BODIES", "Decide", "Export", "IndexJob", "LensJob", "Plan", "Search", "read_body", "written"]

T = TypeVar("T")
Ids = Annotated[list[Annotated[str, Meta(min_length=1, max_length=1000)]], Meta(min_length=1, max_length=500)]


class Search(Question, frozen=True):
    """A question, which page of its answer, and in which order.

    ``cursor`` is the ``next_cursor`` of an answer to the same question; ``explain`` adds each view's score.
    """

    cursor: Annotated[str, Meta(max_length=400)] = ""
    sort: str = "score"
    explain: bool = False

    @property
    def question(self) -> Question:
        """The question alone."""
        names = {one.name for one in msgspec.structs.fields(Question)}
        return Question(**{k: v for k, v in msgspec.structs.asdict(self).items() if k in names})


class Plan(Question, frozen=True):
    """A question whose plan is wanted."""

    @property
    def question(self) -> Question:
        """The question."""
        return Question(**msgspec.structs.asdict(self))


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision on papers, with its reason; an empty one takes it back."""

    ids: Ids
    decision: str
    reason: Annotated[str, Meta(max_length=500)] = ""
    under: Annotated[str, Meta(max_length=4000)] = ""


class Export(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Papers for other programs: ``format`` as of ``aspectra export``."""

    ids: Ids
    format: Annotated[str, Meta(max_length=40)] = "bibtex"
    versions: str = "best"


class IndexJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Make what was added searchable."""

    rebuild: bool = False


class LensJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Compute a prompted lens for at most ``most`` papers."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    most: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


BODIES = (Search, Plan, Decide, Export, IndexJob, LensJob)


async def read_body(request: Request, kind: type[T]) -> T:
    """The JSON body of a request as a value.

    Raises:
        UsageError: it is no JSON, or no such value; the reason names the field.
    """
    raw = await request.body()
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError("the body cannot be read", why=str(error), hint="GET /openapi.json") from error


def written(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")
