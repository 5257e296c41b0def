"""Keys: where they come from, whom they are sent to, and how they are kept out of every text.

A key lives in an environment variable. It is read when a request is sent, and nothing keeps it: no attribute,
no message, no record.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

__all__ = ["DEFAULT_VARIABLE", "OPENAI_HOST", "OPENAI_VARIABLE", "key_variable", "read_key", "redact"]

DEFAULT_VARIABLE = "ASPECTRA_API_KEY"
OPENAI_VARIABLE = "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"
_WINDOW = 6  # a run of this many characters of a key is as good as the key for whoever looks for it
_LOOKS_SECRET = re.compile(r"(?i)\b(bearer\s+|(?:sk|pk|hf|gsk|xai|ghp|key)[-_])[A-Za-z0-9+/=._~-]{8,}")


def key_variable(host: str, named: str = "") -> str:
    """The environment variable that holds the key for ``host``, or "" when there is none.

    ``named`` if somebody named one; else ``ASPECTRA_API_KEY``; else ``OPENAI_API_KEY``, which is meant for
    one provider and goes to nobody else: to OpenAI, or to the host that ``OPENAI_BASE_URL`` names.
    """
    if named:
        return named if read_key(named) else ""
    if read_key(DEFAULT_VARIABLE):
        return DEFAULT_VARIABLE
    hosts = {OPENAI_HOST, urlsplit(os.environ.get("OPENAI_BASE_URL", "")).hostname}
    return OPENAI_VARIABLE if host in hosts and read_key(OPENAI_VARIABLE) else ""


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
    # What is shorter than four characters is a word put there because something had to be.
    width = _WINDOW if len(secret) >= 2 * _WINDOW else len(secret) if len(secret) >= 4 else 0
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
