"""The OpenAI-compatible chat protocol as functions: a request's body, a reply's reading, a refusal's class.

Shapes were taken from what OpenAI, vLLM, llama.cpp, Ollama and OpenRouter send; see docs/models.md.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aspectra.llm.chat import Reply, Request, Usage
from aspectra.llm.failures import (
    BadRequest,
    ContextExceeded,
    KeyRefused,
    Malformed,
    ModelError,
    NoSuchModel,
    QuotaSpent,
    Refused,
    Transient,
)

__all__ = ["context_in_card", "failure", "read_reply", "request_body", "retry_after", "wants_other_limit"]

Clean = Callable[[str], str]
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_TRANSIENT = {408, 409, 425, 429}
# The work may have been done, and charged for, though the answer was lost on the way.
_LOST = {408, 504}
_SPENT = re.compile(r"insufficient_quota|credit_balance|spend_limit|usage_limit|billing", re.I)
_FILTERED = re.compile(r"content_filter|content_policy|moderation", re.I)
_TOO_LONG_CODE = re.compile(r"context_length_exceeded|exceed_context_size|string_above_max_length", re.I)
_TOO_LONG = re.compile(
    r"(maximum|available|exceed\w{0,10}|longer than)[^.]{0,60}context"
    r"|context (length|size|window)[^.]{0,40}exceed",
    re.I,
)


def request_body(
    request: Request,
    model: str,
    *,
    limit_field: str = "max_tokens",
    extra: Mapping[str, Any] | None = None,
    omit: Sequence[str] = (),
) -> bytes:
    """The JSON of one request, UTF-8.

    Args:
        request: what is asked; lone surrogates become U+FFFD, which JSON can hold.
        model: the endpoint's name of the model.
        limit_field: name of the field that bounds the answer's tokens.
        extra: fields added as they are.
        omit: fields left out, for endpoints that refuse them.
    """
    messages = [{"role": m.role, "content": m.content.translate(_SURROGATES)} for m in request.messages]
    body: dict[str, Any] = {"model": model, "messages": messages, "temperature": request.temperature}
    body[limit_field] = request.max_tokens
    if request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None:
        form = {"name": "answer", "strict": True, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.top_logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = request.top_logprobs
    if request.repetition_penalty:
        body["repetition_penalty"] = request.repetition_penalty
    body.update(extra or {})
    for name in omit:
        body.pop(name, None)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def read_reply(raw: bytes, *, host: str, seconds: float, clean: Clean) -> Reply:
    """The reply in a body that came with status 200.

    Raises:
        Malformed: it is no JSON, has no choices, or is cut off.
        Refused: the model or a filter declined.
        ModelError: it holds an error in spite of its status.
    """
    body = _parsed(raw)
    if not isinstance(body, dict):
        # The text itself is not repeated: it may hold anything, and is often a web page.
        raise _malformed(host, f"{len(raw)} bytes that are no JSON object")
    if body.get("error") and not body.get("choices"):
        status = _inner_code(body["error"])
        raise failure(status, {}, raw, host=host, clean=clean)
    usage = _usage(body.get("usage"))
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        finish = str(choice.get("finish_reason") or "stop")
        refusal = message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise _malformed(host, "there is no answer in it", usage) from error
    if refusal or finish == "content_filter":
        said = _line(clean(refusal)) if isinstance(refusal, str) else ""
        raise Refused(
            f"the model at {host} declines to answer",
            why=said or "a content filter stopped the answer",
            status=200,
            billable=True,
            usage=usage,
        )
    facts = {"fingerprint": body["system_fingerprint"]} if body.get("system_fingerprint") else {}
    return Reply(
        text=text,
        model=str(body.get("model") or ""),
        usage=usage,
        finish=finish,
        logprobs=_logprobs(choice),
        seconds=seconds,
        simulated=body.get("simulated") is True,
        facts=facts,
    )


def failure(
    status: int, headers: Mapping[str, str], raw: bytes, *, host: str, clean: Clean, now: float = 0.0
) -> ModelError:
    """The error that a refusing answer stands for.

    Args:
        status: HTTP status.
        headers: names in lower case.
        raw: the body.
        host: who answered.
        clean: takes keys out of a text; every word of the body that is repeated goes through it. A function,
            so that no frame here holds a key.
        now: seconds since 1970, for a Retry-After that is a date.
    """
    said, marks = _said(raw, clean)
    why = f"status {status}" + (f": {said}" if said else "")
    wait = retry_after(headers.get("retry-after", ""), now)
    if status in {401, 403}:
        # The words are left out: they like to repeat the key.
        return KeyRefused(
            f"the endpoint at {host} refuses the key",
            why=f"status {status}",
            hint="check the key in the environment, and that it may use this model",
            status=status,
        )
    if status == 402 or (status == 429 and _SPENT.search(marks)):
        return QuotaSpent(
            f"the account at {host} cannot spend more",
            why=why,
            hint="add credit or raise the limit there; what was answered is kept and will not be asked again",
            status=status,
        )
    if (
        _TOO_LONG_CODE.search(marks)
        or status == 413
        or (status in {400, 422, 500} and _TOO_LONG.search(said))
    ):
        return ContextExceeded(
            "the request does not fit into the model's context",
            why=why,
            hint="send fewer or shorter texts, or ask for a shorter answer",
            status=status,
        )
    if status == 400 and _FILTERED.search(marks):
        return Refused(f"a filter at {host} declines the request", why=why, status=status)
    if status in _TRANSIENT or status >= 500:
        return Transient(
            f"the endpoint at {host} is not available",
            why=why,
            hint="try again later; what was answered is kept and will not be asked again",
            status=status,
            retry_after=wait,
            billable=status in _LOST,
        )
    if status == 404:
        return NoSuchModel(
            f"the endpoint at {host} has no such model, or nothing at this address",
            why=why,
            hint="check the model's name and the base URL (it usually ends in /v1)",
            status=status,
        )
    return BadRequest(
        f"the endpoint at {host} refuses the request",
        why=why,
        hint="check the model's options; a field it does not know can be left out",
        status=status,
    )


def wants_other_limit(status: int, raw: bytes) -> bool:
    """Whether a refusal says that the answer's length is bounded by ``max_completion_tokens`` there."""
    return status == 400 and b"max_completion_tokens" in raw and b"max_tokens" in raw


def retry_after(value: str, now: float) -> float | None:
    """Seconds that a Retry-After header asks to wait (RFC 9110, 10.2.3), or None.

    >>> retry_after("7", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0), retry_after("soon", 0.0)
    (7.0, 40.0, None)
    """
    text = value.strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):  # a fraction is not allowed, and sent all the same
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def context_in_card(card: Mapping[str, Any]) -> int | None:
    """Tokens that a model's card says it reads, under the names that servers use, or None."""
    meta = card.get("meta")
    inner = meta if isinstance(meta, dict) else {}
    places = [
        card.get(n) for n in ("max_model_len", "context_length", "context_window", "max_context_length")
    ]
    places += [inner.get("n_ctx"), inner.get("n_ctx_train")]
    return next((value for value in places if type(value) is int and value > 0), None)


def _parsed(raw: bytes) -> Any:
    """The JSON value, or None; the decoder's error is dropped because it holds the whole text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _malformed(host: str, why: str, usage: Usage | None = None) -> Malformed:
    return Malformed(
        f"the answer of {host} cannot be read",
        why=why,
        hint="check the base URL (it usually ends in /v1)",
        status=200,
        billable=True,
        usage=usage,
    )


def _inner_code(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else 500


def _said(raw: bytes, clean: Clean) -> tuple[str, str]:
    """(The server's own words: one line, at most 200 characters, no key; its code and type.)"""
    body = _parsed(raw)
    error = body.get("error", body) if isinstance(body, dict) else {}
    if isinstance(error, str):  # Ollama's own form
        return _line(clean(error)), ""
    if not isinstance(error, dict):
        return "", ""
    words = error.get("message") or error.get("detail") or ""
    marks = f"{error.get('code')} {error.get('type')}"
    return (_line(clean(words)) if isinstance(words, str) else ""), marks


def _line(words: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())[:200]


def _usage(given: Any) -> Usage:
    if not isinstance(given, dict):
        return Usage()
    counts = [given.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if type(count) is int and count > 0 else 0 for count in counts))


def _text(content: Any) -> str:
    """An answer's text: a string, nothing, or parts of which those of text count."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise ValueError("no text")
    return (content or "").translate(_SURROGATES)


def _logprobs(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Alternatives of the first answer token, likeliest first; () where there are none that make sense."""
    try:
        first = choice["logprobs"]["content"][0]
        rows = first.get("top_logprobs") or [first]
        pairs = [(str(row["token"]).translate(_SURROGATES), float(row["logprob"])) for row in rows]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return ()
    kept = [pair for pair in pairs if math.isfinite(pair[1])]
    return tuple(sorted(kept, key=lambda pair: (-pair[1], pair[0])))
