"""Keys: where they come from, whom they are sent to, and how they are kept out of every text.

A key lives in an environment variable. It is read when a request is sent, and nothing keeps it: no attribute,
no message, no record.
"""

from __future__ import annotations

import os
import re

from aspectra.base.errors import UsageError
from aspectra.base.trust import OPENAI_ORIGIN, OPENAI_VARIABLE, origin_of

DEFAULT_VARIABLE = "ASPECTRA_API_KEY"
SHORTEST = 8  # characters of a key; fewer are a placeholder, such as "none", and stand in honest texts too
_WINDOW = 6  # a run of this many characters of a key is as good as the key for whoever looks for it
_LOOKS_SECRET = re.compile(r"(?i)\b(bearer\s+|(?:sk|pk|hf|gsk|xai|ghp|key)[-_])[A-Za-z0-9+/=._~-]{8,}")


def key_variable(
    origin: str,
    named: str = "",
    *,
    default: str = DEFAULT_VARIABLE,
    addresses: tuple[str, ...] = ("OPENAI_BASE_URL",),
) -> str:
    """The environment variable that holds the key for a host, or "" for none.

    ``named`` if the user named one for this host; else ``default``; else
    ``OPENAI_API_KEY``, which is meant for one provider and goes to nobody else: to OpenAI, or to a host that
    the user's environment names.

    Args:
        origin: of the host, see :func:`aspectra.base.trust.origin_of`.
        named: a variable that the user named beside the address, or gave to the host (see
            :func:`aspectra.base.trust.key_for`).
        default: the variable for a host that the user named; "" where somebody else named it.
        addresses: variables of the environment with the address of a host that receives ``OPENAI_API_KEY``.
    """
    if named:
        return named if read_key(named) else ""
    if read_key(default):
        return default
    hosts = {OPENAI_ORIGIN, *(_origin(os.environ.get(variable, "")) for variable in addresses)} - {""}
    return OPENAI_VARIABLE if origin in hosts and read_key(OPENAI_VARIABLE) else ""


def _origin(url: str) -> str:
    try:
        return origin_of(url)
    except UsageError:
        return ""


def read_key(variable: str) -> str:
    """The key in an environment variable, or "". Callers use it at once and keep it nowhere."""
    return os.environ.get(variable, "").strip() if variable else ""


def redact(text: str, secret: str) -> str:
    """``text`` without the secret, without any longer part of it, and without what looks like another one.

    >>> redact("no such key: abcdefgh12345", "abcdefgh12345")
    'no such key: ***'
    >>> redact("cut off: efgh12345", "abcdefgh12345")
    'cut off: ***'
    >>> redact("Authorization: Bearer something-else-1", "")
    'Authorization: Bearer ***'
    """
    width = _WINDOW if len(secret) >= 2 * _WINDOW else len(secret) if len(secret) >= SHORTEST else 0
    covered = bytearray(len(text))
    for at in range(len(text) - width + 1 if width else 0):
        if text[at : at + width] in secret:
            covered[at : at + width] = b"\x01" * width
    out: list[str] = []
    for character, hidden in zip(text, covered, strict=True):
        if not hidden:
            out.append(character)
        elif not out or out[-1] != "***":
            out.append("***")
    return _LOOKS_SECRET.sub(lambda found: found.group(1) + "***", "".join(out))
