"""The server: both eras of the protocol, over standard input and output and over HTTP."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from aspectra.app.surfaces.mcp.arguments import Libraries, read
from aspectra.app.surfaces.mcp.listing import clip, plain
from aspectra.app.surfaces.mcp.tools import ANNOTATIONS, INSTRUCTIONS, TOOLS, Tool
from aspectra.app.surfaces.service.access import Gate, as_error
from aspectra.base.errors import AspectraError
from aspectra.base.version import __version__

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import Receive, Scope, Send


LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")
# The SDK's MCPServer is not used: it makes longer schemas, passes over arguments that a tool does not have,
# answers what it cannot read with the text of pydantic, and announces prompts and resources.
_LISTED = CacheHint(ttl_ms=3_600_000, scope="public")  # what is listed changes with the program alone
_BODY = 1_048_576  # most bytes of a request


def mcp_server(libraries: Libraries, gate: Gate) -> Server[Any]:
    """The server, for any transport.

    Args:
        libraries: that it answers from.
        gate: that all work with them passes.
    """
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values()])

    async def list_tools(
        context: ServerRequestContext[Any], given: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[Any], given: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if (tool := TOOLS.get(given.name)) is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {given.name[:64]!r}: {', '.join(TOOLS)}")
        try:
            asked = read(tool.arguments, given.arguments)
            gone = getattr(context.request, "is_disconnected", None)
            told = await gate.run(partial(tool.answer, libraries, asked), gone=gone)
        except Exception as error:
            return _failed(as_error(error))
        return types.CallToolResult(
            content=[types.TextContent(text=told.text)], structured_content=told.structured
        )

    return Server(
        "aspectra",
        version=__version__,
        title="Aspectra",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": _LISTED, "server/discover": _LISTED},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.schema,
        output_schema=tool.output,
        annotations=types.ToolAnnotations.model_validate(ANNOTATIONS),
    )


def _failed(error: AspectraError) -> types.CallToolResult:
    """An error of the catalogue, for the model to correct itself."""
    said = {k: clip(plain(v), 2_500) if isinstance(v, str) else v for k, v in error.to_dict().items()}
    rows = [f"{said['code']}: {said['what']}"]
    rows += [f"{name}: {said[key]}" for name, key in (("why", "why"), ("next", "hint")) if said[key]]
    return types.CallToolResult(
        content=[types.TextContent(text="\n".join(rows))], structured_content=said, is_error=True
    )


def serve_stdio(libraries: Libraries) -> None:
    """Serve over standard input and output, until the input ends.

    Args:
        libraries: that are served.
    """
    # Nothing is written, and the thread that reads the input would keep an interrupted process waiting.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve_stdio, libraries)


async def _serve_stdio(libraries: Libraries) -> None:
    server = mcp_server(libraries, Gate())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class McpApplication:
    """Streamable HTTP as an ASGI application for one address; each request stands alone.

    Args:
        manager: of the SDK.
    """

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    def running(self) -> AbstractAsyncContextManager[None]:
        """The lifespan of the application: entered once, while requests are answered."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Names of hosts have no case; the SDK compares them with case.
        headers = [(k, v.lower() if k == b"host" else v) for k, v in scope["headers"]]
        await self._manager.handle_request({**scope, "headers": headers}, receive, send)


def mcp_application(libraries: Libraries, gate: Gate, hosts: Sequence[str] = LOOPBACK) -> McpApplication:
    """The server for an ASGI application, as the endpoint of ``Route("/mcp", ...)``.

    Args:
        libraries: that it answers from.
        gate: that all work with them passes.
        hosts: values of the header Host under which the service is reached, ``:*`` for any port.
    """
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts],
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )
    return McpApplication(
        StreamableHTTPSessionManager(
            mcp_server(libraries, gate),
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=_BODY,
        )
    )
