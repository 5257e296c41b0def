"""Who may use a service: where it listens, by which names, with which token."""

from __future__ import annotations

import hmac
import ipaddress
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from aspectra.base.errors import AspectraError, NotAllowed, UsageError

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


COOKIE = "aspectra_token"


class NoToken(NotAllowed):
    """A request without the token of the service, or with another one."""

    code = "no-token"
    http_status = 401


_ANY = ("0.0.0.0", "::", "[::]")  # noqa: S104 - refused without a name and a token
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_RANDOM = 'export ASPECTRA_TOKEN=$(python -c "import secrets; print(secrets.token_hex(16))")'


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can only be reached from this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Attributes:
        hosts: names and addresses by which the service is reached, as a Host header has them; first the one
            where it listens.
        port: on which it listens.
        token: that each request must bring, or "" where only this computer reaches the service.
        body: most bytes of a request.
        upload: most bytes of a request that brings files.
    """

    hosts: tuple[str, ...]
    port: int
    token: str = ""
    body: int = 1_048_576
    upload: int = 268_435_456

    @classmethod
    def to(cls, host: str, port: int, token: str = "", names: Sequence[str] = ()) -> Access:
        """For an address to listen on.

        Args:
            host: the address.
            port: the port.
            token: the secret, or "".
            names: further names by which the service is reached, each as the Host header has it: with its
                port where that is none of 80 and 443.

        Raises:
            UsageError: others reach it, and there is no token, or no name; or the token is short.
        """
        local = is_loopback(host)
        if not local and not token:
            raise UsageError(
                f"{host} can be reached from other computers, and no token is set",
                why="whoever reaches the service could read and change the library",
                hint=f"{_RANDOM}, or leave out --host",
            )
        if token and len(token) < 16:
            raise UsageError("the token has fewer than 16 characters", hint=_RANDOM)
        named = () if host in _ANY else (f"[{host}]" if ":" in host and host[0] != "[" else host,)
        known = tuple(dict.fromkeys((*named, *(_LOCAL if local else ()))))
        if not known and not names:
            raise UsageError(
                f"{host} stands for every address, and the service has no name",
                why="requests for a name that it does not know are refused",
                hint=f"--name HOST:{port}, as people will type it",
            )
        listened = known if port == 80 else tuple(f"{one}:{port}" for one in known)  # browsers leave out 80
        return cls((*listened, *names), port, token)

    def knows(self, authority: str) -> bool:
        """Whether a Host header, or the authority of an origin, names this service."""
        return authority.casefold() in {one.casefold() for one in self.hosts}

    def admits(self, given: str) -> bool:
        """Whether a token is the one of the service."""
        # As text, and as the bytes of a header, which arrive as Latin-1.
        sent = [given.encode(code, "ignore") for code in ("utf-8", "latin-1")]
        return not self.token or any(hmac.compare_digest(one, self.token.encode()) for one in sent)
