"""What a form or an address brings, as plain texts."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from aspectra.base.checking import check_length
from aspectra.base.errors import UsageError

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
