"""What any failure is in the catalogue of errors, and what an answer over HTTP says of a retry."""

from __future__ import annotations

import logging

from aspectra.base.errors import AspectraError

_LOG = logging.getLogger("aspectra.surfaces")


def as_error(error: BaseException) -> AspectraError:
    """The error of the catalogue that any failure is; what is unknown is logged and tells nothing outside."""
    if isinstance(error, AspectraError):
        return error
    _LOG.error("%s while answering", type(error).__name__, exc_info=error)
    if isinstance(error, MemoryError):
        return AspectraError("there is not enough memory", hint="ask for fewer papers")
    return AspectraError("internal error", hint="the log of the service tells more")


def retry_headers(error: AspectraError) -> dict[str, str]:
    """The header ``retry-after`` in whole seconds, where the error tells when a retry is worth it."""
    return {} if error.retry_after is None else {"retry-after": str(max(1, round(error.retry_after)))}
