"""The key with which Zotero's program lets us write, since version 10.

Source: "Zotero Local API", Authorizing Writes. The person gives it in a dialogue of Zotero's, for one request
or for good. One for good is kept in the user's own configuration folder, readable by nobody else, and never
in a library.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from aspectra.app.ingest.zotero.connection import Connection, ZoteroError


def keys_file() -> Path:
    """Where keys are kept; it need not exist."""
    from aspectra.app.settings import user_file

    return user_file().with_name("zotero-keys.json")


class WriteKey:
    """The key for one Zotero database; calling it gives the key, or "".

    Args:
        connection: to the program; its requests carry the key from now on.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._key = _kept().get(connection.server, "")
        connection.key = self

    def __call__(self) -> str:
        return self._key

    def renew(self) -> None:
        """Put the question to the person, in Zotero, and wait for the answer.

        Raises:
            ZoteroError: the answer is no, or this Zotero takes no writes.
        """
        self._key = ""
        reply = self._connection.send("POST", "/local/authorize", {"appName": "Aspectra"})
        if reply.status == 403:
            raise ZoteroError(
                "Zotero does not let us write", why="the answer in its window was no", hint="nothing was sent"
            )
        if reply.status != 200:
            raise self._connection.refusal(reply)
        answer = reply.json()
        self._key = str(answer.get("key", ""))
        if answer.get("remember"):
            _keep({**_kept(), self._connection.server: self._key})


def _kept() -> dict[str, str]:
    try:
        found = json.loads(keys_file().read_text("utf-8"))
        return {str(k): str(v) for k, v in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _keep(keys: dict[str, str]) -> None:
    path = keys_file()
    with contextlib.suppress(OSError):  # the dialogue comes again then
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(json.dumps(keys, indent=1) + "\n", "utf-8")
        part.replace(path)
