"""The user's permissions (for hosts, models, code that runs, libraries that are served), and the user's keys.

A library, a plan, a study or a project's ``aspectra.toml`` may come from somebody else. What it names is
data: it is used only under a :class:`Permission` of the user's. Permissions are given by the user's own
command line, environment and configuration file; those that a command line gave are remembered in
``trust.toml`` beside that configuration file. ``aspectra config trust`` lists and gives them, ``aspectra
config distrust`` withdraws them.

A key lives in an environment variable. It is read when a request is sent, and nothing keeps it: no attribute,
no message, no record.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from shlex import quote
from typing import Literal, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from aspectra.base.errors import NotTrusted, UsageError

_LOG = logging.getLogger(__name__)
DEFAULT_VARIABLE = "ASPECTRA_API_KEY"
OPENAI_VARIABLE = "OPENAI_API_KEY"
OPENAI_ORIGIN = "https://api.openai.com"
# A host in the user's environment is one that the user named; it receives OPENAI_API_KEY.
ADDRESSES = ("ASPECTRA_EMBEDDINGS_URL", "OPENAI_BASE_URL")
# Characters of a key; fewer are a placeholder, such as "none", and stand in honest texts too.
SHORTEST_KEY = 8
_WINDOW = 6  # a run of this many characters of a key is as good as the key for whoever looks for it
_LOOKS_SECRET = re.compile(r"(?i)\b(bearer\s+|(?:sk|pk|hf|gsk|xai|ghp|key)[-_])[A-Za-z0-9+/=._~-]{8,}")
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+")
_Placed = Literal["model", "code", "library", "settings"]
_DEEDS: dict[str, str] = {
    "model": "the model {} would be loaded, and files of a model can run code",
    "code": "code that comes with the model {} would be run",
    "library": "papers and notes of the library {} would be given to other programs",
    "settings": "what a language model is asked and may spend would follow the settings in {}",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ASK: ContextVar[Callable[[str], bool] | None] = ContextVar("ask", default=None)
"""Puts a question to the user and returns whether the answer is yes; None where nobody can be asked."""


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, in the one spelling that permissions have.

    Raises:
        UsageError: it is not an http(s) address.

    >>> origin_of("HTTPS://Example.org:443/v1"), origin_of("http://[::1]:8000/v1")
    ('https://example.org', 'http://[::1]:8000')
    """
    try:
        address = urlsplit(url)
        host, port = address.hostname or "", address.port
    except ValueError:
        address, host, port = urlsplit(""), "", None
    if not host.isascii():
        # IDNA 2003 and 2008 spell some names as two hosts; the library that connects may take the other.
        labels = (n if n.isascii() else f"xn--{n.encode('punycode').decode()}" for n in host.split("."))
        raise UsageError(
            "the address of a server cannot be used",
            why=f"letters beyond ASCII can stand for two hosts; write it as {'.'.join(labels)}",
        )
    if address.scheme not in _PORTS or not _HOST.fullmatch(host):
        raise UsageError("the address of a server cannot be used", why="it must be http(s)://host/path")
    shown = f"[{host}]" if ":" in host else host
    return f"{address.scheme}://{shown}{'' if port in (None, _PORTS[address.scheme]) else f':{port}'}"


def is_loopback(host: str) -> bool:
    """True if an address, or a name without a port, is of this computer alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Permission(Struct, frozen=True, order=True):
    """One thing that the user permits.

    It prints and parses as one text: ``https://host``, ``https://host with VARIABLE``, ``model:PLACE``,
    ``code:PLACE``, ``library:FOLDER`` or ``settings:FOLDER``.

    Attributes:
        kind: ``host``: texts may be sent there; ``model``: its files may be loaded; ``code``: the code that
            comes with a model may run; ``library``: other programs may be given its papers; ``settings``: the
            ``aspectra.toml`` in it may say what language models spend.
        name: an origin (see :func:`origin_of`), a folder's absolute path, or a model's name on a hub.
        key: of a host, the environment variable whose key may be sent there; "" for no key.
    """

    kind: Literal["host", "model", "code", "library", "settings"]
    name: str
    key: str = ""

    def __str__(self) -> str:
        if self.kind != "host":
            return f"{self.kind}:{self.name}"
        return f"{self.name} with {self.key}" if self.key else self.name

    @classmethod
    def host(cls, url: str, key: str = "") -> Permission:
        """Permission to send texts, and the key in a variable, to an address.

        Raises:
            UsageError: the address or the variable's name cannot be used.
        """
        if key and not _VARIABLE.fullmatch(key):
            raise UsageError(f"{key!r} is no name of an environment variable", hint="as in OPENAI_API_KEY")
        return cls("host", origin_of(url), key)

    @classmethod
    def folder(cls, place: str, kind: Literal["model", "library", "settings"] = "model") -> Permission:
        """Permission to use the model, the library or the settings in a folder; the folder is not read."""
        return cls(kind, os.path.abspath(os.path.expanduser(place)))

    @classmethod
    def parse(cls, text: str) -> Permission:
        """Read the spelling of a permission.

        Raises:
            UsageError: it is not a permission.

        >>> Permission.parse("https://example.org/v1 with MY_KEY")
        Permission(kind='host', name='https://example.org', key='MY_KEY')
        """
        kinds: tuple[_Placed, ...] = get_args(_Placed)
        for kind in kinds:
            if text.startswith(f"{kind}:") and text != f"{kind}:":
                return cls(kind, text.partition(":")[2])
        address, _, key = text.partition(" with ")
        try:
            return cls.host(address, key)
        except UsageError as error:
            raise UsageError(
                f"{text!r} cannot be permitted",
                why=error.why or error.what,
                hint="https://HOST, code:OWNER/NAME, model:NAME, or model:, library: or settings:FOLDER",
            ) from error

    @property
    def deed(self) -> str:
        """The action that it permits, as a sentence without its full stop."""
        if self.kind == "host":
            what = f"texts and the key in {self.key}" if self.key else "texts, and no key,"
            return f"{what} would be sent to {self.name}"
        return _DEEDS[self.kind].format(self.name)

    @property
    def command(self) -> str:
        """The command that gives it, safe to be pasted into a shell."""
        if self.kind == "host":
            return f"aspectra config trust {quote(self.name)}{f' --key {self.key}' if self.key else ''}"
        return f"aspectra config trust {quote(str(self))}"

    def covers(self, other: Permission) -> bool:
        """True if it permits the other too: a host with a key also receives texts without one."""
        return (self.kind, self.name) == (other.kind, other.name) and other.key in ("", self.key)


def trust_file() -> Path:
    """Path of the file of remembered permissions; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("aspectra", appauthor=False)) / "trust.toml"


def _read() -> dict[str, list[Permission]]:
    path = trust_file()
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        return {name: [Permission.parse(text) for text in data.get(name, ())] for name in _LISTS}
    except (FileNotFoundError, NotADirectoryError):
        return {name: [] for name in _LISTS}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, UsageError) as error:
        raise UsageError(
            f"the permissions in {path} cannot be read",
            why=getattr(error, "what", "") or str(error),
            hint="correct the file, or delete it and permit again with aspectra config trust",
        ) from error


_LISTS = ("allowed", "refused")
_unwritten: set[Permission] = set()  # given in this process, where the file cannot be written


def _write(lists: dict[str, list[Permission]]) -> None:
    # A JSON string is a TOML string.
    import json

    lines = ["# Kept by `aspectra config trust` and `aspectra config distrust`."]
    for name in _LISTS:
        rows = [f"  {json.dumps(str(one))},\n" for one in sorted(lists[name])]
        lines.append(f"{name} = [\n{''.join(rows)}]")
    path = trust_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def from_environment() -> Iterator[Permission]:
    """The hosts that the user's environment names (:data:`ADDRESSES`); they receive ``OPENAI_API_KEY``."""
    for variable in ADDRESSES:
        if url := os.environ.get(variable, ""):
            try:
                yield Permission.host(url, OPENAI_VARIABLE)
            except UsageError:  # whoever connects to it reports it
                continue


def allowed() -> list[Permission]:
    """Permissions that the user gave for good, sorted.

    Raises:
        UsageError: the file that remembers it cannot be read.
    """
    return sorted({*_read()["allowed"], *_unwritten})


def refused() -> list[Permission]:
    """Permissions that the user was asked for and refused, sorted."""
    return sorted(_read()["refused"])


def allows(needed: Permission) -> bool:
    """True if the user permits it, by ``aspectra config trust`` or by an address in the environment."""
    return any(one.covers(needed) for one in (*allowed(), *from_environment()))


def key_for(origin: str) -> str:
    """The variable whose key the user gave to a host, or ""."""
    return next((one.key for one in allowed() if one.kind == "host" and one.name == origin), "")


def allow(given: Permission) -> None:
    """Permit something for good; a host has one key, the last that it was given.

    Where the file cannot be written, it is permitted until the process ends, and a warning is logged.
    """
    if any(one.covers(given) for one in allowed()):
        return
    lists = _read()
    for name in _LISTS:
        lists[name] = [one for one in lists[name] if not given.covers(one) and not _same(one, given)]
    lists["allowed"].append(given)
    _keep(lists, given)


def withdraw(spelling: str) -> bool:
    """Forget a permission or a refusal; returns whether there was one.

    Args:
        spelling: as listed; of a host, its address alone is enough.

    Raises:
        UsageError: it is not a permission.
    """
    gone = Permission.parse(spelling)
    lists = _read()
    kept = {name: [one for one in lists[name] if not _same(one, gone)] for name in _LISTS}
    _unwritten.difference_update([one for one in _unwritten if _same(one, gone)])
    if kept == lists:
        return False
    try:
        _write(kept)
    except OSError as error:
        raise UsageError(f"cannot write {trust_file()}", why=error.strerror or str(error)) from error
    return True


def require(needed: Permission, named_by: str) -> None:
    """Return where the user permits it; else put the question, once, and remember the answer.

    Args:
        needed: what is about to be done.
        named_by: who named it, for the message: "the library's index".

    Raises:
        NotTrusted: it is not permitted.
    """
    if allows(needed):
        return
    ask = ASK.get()
    if ask is not None and needed not in refused():
        if ask(f"{needed.deed}: {named_by} names it. Permit this from now on?"):
            allow(needed)
            return
        lists = _read()
        lists["refused"].append(needed)
        _keep(lists, None)
    raise NotTrusted(
        needed.deed,
        why=f"{named_by} names it, and you have not permitted it",
        hint=f"if you trust it: {needed.command}",
    )


def _same(one: Permission, other: Permission) -> bool:
    return (one.kind, one.name) == (other.kind, other.name)


def _keep(lists: dict[str, list[Permission]], given: Permission | None) -> None:
    try:
        _write(lists)
    except OSError as error:
        if given is not None:
            _unwritten.add(given)
        _LOG.warning("the answer is kept for this command only: cannot write %s (%s)", trust_file(), error)


# Keys: whom they are sent to, and how they are kept out of every text.


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
        origin: of the host, see :func:`origin_of`.
        named: a variable that the user named beside the address, or gave to the host (see :func:`key_for`).
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
    width = _WINDOW if len(secret) >= 2 * _WINDOW else len(secret) if len(secret) >= SHORTEST_KEY else 0
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
