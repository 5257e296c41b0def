"""Handles that a service gives out: opaque, signed, bound to a plan and a generation of the index."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass

from aspectra.base.errors import Gone, UsageError

_SIGNED = 12  # bytes of the signature
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of an answer.

    Attributes:
        plan: hash of the plan that was run.
        generation: of the index that answered.
        page: the number of the page, from 1.
        sort: its order, see :data:`aspectra.app.output.pages.SORTS`.
    """

    plan: str
    generation: str
    page: int
    sort: str = "score"


class Handles:
    """Writes and reads cursors; those of another process are refused.

    Args:
        key: that signs them; None for a new one.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def write(self, cursor: Cursor) -> str:
        """The cursor as text for addresses."""
        body = json.dumps([cursor.plan, cursor.generation, cursor.page, cursor.sort]).encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode().rstrip("=")

    def read(self, text: str) -> Cursor:
        """Inverse of :meth:`write`.

        Raises:
            UsageError: this is no cursor.
            Gone: it is one that another process gave, or somebody changed it.
        """
        try:
            if len(text) > _LONGEST or not text.isascii():
                raise ValueError(text)
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            body = raw[_SIGNED:]
            found = Cursor(*json.loads(body))
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError("this is no cursor", hint="send next_cursor of an answer, unchanged") from error
        if not hmac.compare_digest(raw[:_SIGNED], self._sign(body)):
            raise Gone("the cursor is unknown here", why="the service was started again", hint="search again")
        return found

    def _sign(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:_SIGNED]
