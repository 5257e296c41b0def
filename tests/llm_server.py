"""A loopback server that speaks the OpenAI-compatible chat protocol, answers by hash, and fails on request.

    python tests/llm_server.py --port 8123 --latency 0.05 --fault 429-after=0.1 --fault cut=0.05

It listens on 127.0.0.1 only and prints its address. No language model is behind it: every reply says
``"simulated": true``. What it answers, and which requests meet a fault, depends on the request's content and
on how often it was asked, never on the order of arrival; so one run can be compared with another.

Answers: an instance of the JSON schema where one is asked for; an order of the bracketed identifiers in the
question where it has some; else a word. With log-probabilities: "yes" and "no".

Faults, each ``--fault KIND=SHARE``, met by that share of the requests, at their first attempt only:
``429`` (no Retry-After), ``429-after`` (Retry-After: 1), ``500``, ``503``, ``quota``, ``auth``,
``missing-model``, ``context``, ``timeout`` (never answers), ``drop`` (closes the connection), ``empty`` (no
choices), ``blank`` (no text), ``refusal``, ``filter``, ``cut`` (half a body, then closes), ``json`` (half a
JSON text), ``html``. A kind written with a plus (``429+=1``) is met at every attempt.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = frozenset(
    """429 429-after 500 503 quota auth missing-model context timeout drop empty blank refusal filter cut json
    html""".split()
)
_MARK = re.compile(r"\[(\w{1,8})\]")


def _share(*parts: object) -> float:
    """A number in [0, 1) that depends on ``parts`` and on nothing else."""
    raw = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "big") / 2**64


def _instance(schema: Mapping[str, Any], salt: str) -> Any:
    """Some value that follows a JSON schema, chosen by hash."""
    if "enum" in schema:
        values = list(schema["enum"])
        return values[int(_share(salt, "enum") * len(values))]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        inner = schema.get("properties", {})
        return {name: _instance(part, f"{salt}.{name}") for name, part in inner.items()}
    if kind == "array":
        items = schema.get("items", {})
        if "enum" in items:  # identifiers: all of them, in the order of their hashes
            count = schema.get("maxItems", len(items["enum"]))
            return sorted(items["enum"], key=lambda value: _share(salt, value))[:count]
        return [_instance(items, f"{salt}.{n}") for n in range(max(1, schema.get("minItems", 1)))]
    if kind in {"integer", "number"}:
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        value = low + _share(salt, "number") * (high - low)
        return round(value) if kind == "integer" else round(value, 3)
    return {"boolean": _share(salt, "truth") < 0.5, "null": None}.get(kind, "text")


@dataclass
class Server:
    """The server's behaviour and its counts.

    Attributes:
        latency: seconds before an answer.
        faults: kind -> share of the requests in [0, 1]; a kind with "+" is met at every attempt.
        die_after: the process ends, without a word, when it is asked once more than this; None for never.
        key: the key it wants as a bearer token, or "" for any.
        context: tokens that it says it reads; 0 says nothing and reads everything.
        model: the only one there is; "" for any.
        unsupported: names of request fields that it refuses with status 400.
        ignored: names of request fields that it takes and does not heed.
        asked: content hash of a question -> how often it was asked.
    """

    latency: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    die_after: int | None = None
    key: str = ""
    context: int = 0
    model: str = "loopback"
    unsupported: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    asked: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keep_bodies: bool = False

    def __post_init__(self) -> None:
        if unknown := {kind.rstrip("+") for kind in self.faults} - KINDS:
            raise ValueError(f"unknown faults: {sorted(unknown)}")

    @property
    def calls(self) -> int:
        """Chat requests so far."""
        return sum(self.asked.values())

    def _fault(self, question: str, attempt: int) -> str:
        at = _share(question, "fault")
        for kind, share in self.faults.items():
            if at < share:
                return kind.rstrip("+") if attempt == 1 or kind.endswith("+") else ""
            at -= share
        return ""

    def _answer(self, body: Mapping[str, Any], question: str) -> tuple[str, dict[str, Any]]:
        """(text, the other fields of the choice)."""
        text = str(body["messages"][-1]["content"])
        salt = question
        if body.get("temperature", 1) and "seed" in body and "seed" not in self.ignored:
            salt = f"{salt}/{body['seed']}"
        elif body.get("temperature", 1):
            salt = f"{salt}/{self.asked[question]}"  # hot and without a seed: another answer each time
        form = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if form is not None and "response_format" not in self.ignored:
            return json.dumps(_instance(form, salt)), {}
        more: dict[str, Any] = {}
        if body.get("logprobs") and "logprobs" not in self.ignored:
            lean = _share(salt, "yes")
            pair = [{"token": "yes", "logprob": lean - 1.0}, {"token": "no", "logprob": -lean - 0.001}]
            pair.sort(key=lambda row: -row["logprob"])
            pair = pair[: max(1, body.get("top_logprobs", 1))]
            more["logprobs"] = {"content": [{**pair[0], "top_logprobs": pair}]}
            return str(pair[0]["token"]), more
        if marks := list(dict.fromkeys(_MARK.findall(text))):
            return " > ".join(f"[{m}]" for m in sorted(marks, key=lambda m: _share(salt, m))), more
        return f"answer {int(_share(salt, 'word') * 10**10):010d}", more

    def _reply(self, body: Mapping[str, Any], question: str) -> dict[str, Any]:
        text, more = self._answer(body, question)
        tokens = sum(_tokens(m["content"]) + 4 for m in body["messages"])
        limit = body.get("max_tokens", body.get("max_completion_tokens", 16))
        spent = _tokens(text)
        finish = "length" if spent > limit else "stop"
        if spent > limit:
            text, spent = text[: limit * 4], limit
        message = {"role": "assistant", "content": text}
        return {
            "id": f"chat-{question[:12]}",
            "object": "chat.completion",
            "model": self.model or body.get("model"),
            "simulated": True,
            "choices": [{"index": 0, "message": message, "finish_reason": finish, **more}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": spent, "total_tokens": tokens + spent},
        }

    def _refuse(
        self, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]] | None:
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            given = headers.get("authorization", "").removeprefix("Bearer ")
            return 401, _error(f"Incorrect API key provided: {given}", "invalid_api_key")
        if self.model and body.get("model") != self.model:
            return 404, _error(f"The model {body.get('model')!r} does not exist", "model_not_found")
        for name in sorted(self.unsupported & set(body)):
            return 400, _error(f"Unsupported parameter: '{name}'", "unsupported_parameter", name)
        size = sum(_tokens(m["content"]) + 4 for m in body["messages"])
        if self.context and size + body.get("max_tokens", 0) > self.context:
            said = f"This model's maximum context length is {self.context} tokens"
            return 400, _error(said, "context_length_exceeded", "messages")
        return None

    async def chat(self, raw: bytes, headers: Mapping[str, str], writer: asyncio.StreamWriter) -> bool:
        """Answer one question; returns whether the connection stays open."""
        body = json.loads(raw)
        if self.keep_bodies:
            self.bodies.append(body)
        question = hashlib.blake2b(raw, digest_size=16).hexdigest()
        self.asked[question] += 1
        if self.die_after is not None and self.calls > self.die_after:
            os._exit(9)
        fault = self._fault(question, self.asked[question])
        if fault == "timeout":
            await asyncio.sleep(3600)
        if self.latency:
            await asyncio.sleep(self.latency)
        if fault == "drop":
            return False
        if refused := self._refuse(body, headers):
            return _send(writer, *refused)
        echo = headers.get("authorization", "").removeprefix("Bearer ")  # as careless servers do
        if fault in _STATUS:
            status, said, code, kind = _STATUS[fault]
            more = {"Retry-After": "1"} if fault == "429-after" else {}
            return _send(writer, status, _error(f"{said} {echo}", code, kind=kind), more)
        if fault == "html":
            return _send(writer, 200, f"<html>It works {echo}</html>".encode())
        reply = self._reply(body, question)
        choice = reply["choices"][0]
        if fault:
            reply = {"echo": echo, **reply}  # first, so that half a body holds it too
        if fault == "empty":
            reply["choices"] = []
        elif fault == "blank":
            choice["message"]["content"] = ""
        elif fault == "refusal":
            choice["message"].update(content=None, refusal=f"I cannot help with {echo}")
        elif fault == "filter":
            choice.update(finish_reason="content_filter")
            choice["message"]["content"] = None
        raw = json.dumps(reply).encode()
        if fault == "json":
            return _send(writer, 200, raw[: len(raw) // 2])
        if fault == "cut":
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(raw)}\r\n\r\n".encode()
            writer.write(head + raw[: len(raw) // 2])
            return False
        self.answered += 1
        return _send(writer, 200, raw)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled when the server stops, and nobody needs to be told.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            stay = True
            while stay:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                headers = {
                    name.strip().lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines if line)
                }
                verb, path, _ = first.split(" ", 2)
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                if verb == "POST" and path.endswith("/chat/completions"):
                    stay = await self.chat(raw, headers, writer)
                elif verb == "GET" and path.endswith("/models"):
                    card: dict[str, Any] = {"id": self.model, "object": "model", "simulated": True}
                    if self.context:
                        card["max_model_len"] = self.context
                    stay = _send(writer, 200, {"object": "list", "data": [card]})
                elif verb == "GET" and path.endswith("/counts"):
                    counts = {"calls": self.calls, "questions": len(self.asked), "answered": self.answered}
                    stay = _send(writer, 200, counts)
                else:
                    stay = _send(writer, 404, _error("no such path", "not_found"))
                await writer.drain()
        writer.close()

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0) -> Any:
        """Serve on 127.0.0.1 in this event loop; yields the base URL."""
        listening = await asyncio.start_server(self._handle, "127.0.0.1", port, limit=2**24)
        port = listening.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            listening.close()
            for task in asyncio.all_tasks():
                if task.get_coro().__qualname__ == "Server._handle":  # type: ignore[union-attr]
                    task.cancel()

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[str]:
        """Serve from a thread of its own; yields the base URL."""
        import threading

        loop = asyncio.new_event_loop()
        ready = threading.Event()
        urls: list[str] = []
        done = asyncio.Event()

        async def serve() -> None:
            async with self.running() as url:
                urls.append(url)
                ready.set()
                await done.wait()

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
        thread.start()
        ready.wait()
        try:
            yield urls[0]
        finally:
            loop.call_soon_threadsafe(done.set)
            thread.join()


# Kind -> status, words, code, type.
_STATUS = {
    "429": (429, "Rate limit reached", "rate_limit_exceeded", "requests"),
    "429-after": (429, "Rate limit reached", "rate_limit_exceeded", "requests"),
    "500": (500, "The server had an error", "", "server_error"),
    "503": (503, "Overloaded", "", "server_error"),
    "quota": (429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
    "auth": (401, "Incorrect API key provided:", "invalid_api_key", "invalid_request_error"),
    "missing-model": (404, "The model does not exist", "model_not_found", "invalid_request_error"),
    "context": (400, "maximum context length exceeded", "context_length_exceeded", "invalid_request_error"),
}


def _tokens(text: object) -> int:
    return -(-len(str(text).encode("utf-8", "surrogatepass")) // 4)


def _error(message: str, code: str, param: str | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code or None}}


def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes | dict[str, Any],
    more: Mapping[str, str] | None = None,
) -> bool:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(more or {})}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines.items()) + "\r\n"
    writer.write(head.encode() + raw)
    return True


async def _serve(server: Server, port: int) -> None:
    async with server.running(port) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8123, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before an answer")
    parser.add_argument("--fault", action="append", default=[], metavar="KIND=SHARE")
    parser.add_argument("--die-after", type=int, metavar="N", help="end without a word after N questions")
    parser.add_argument("--context", type=int, default=0, help="tokens that it reads")
    parser.add_argument("--model", default="loopback")
    options = parser.parse_args()
    faults = {kind: float(share) for kind, _, share in (text.partition("=") for text in options.fault)}
    server = Server(
        latency=options.latency,
        faults=faults,
        die_after=options.die_after,
        context=options.context,
        model=options.model,
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(server, options.port))


if __name__ == "__main__":
    main()
