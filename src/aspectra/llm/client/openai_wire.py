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

from aspectra.llm.chat import (
    BadRequest,
    ContextExceeded,
    KeyRefused,
    Malformed,
    ModelError,
    NoSuchModel,
    QuotaSpent,
    Refused,
    Reply,
    Request,
    Transient,
    Usage,
)

Clean = Callable[[str], str]
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_TRANSIENT = {408, 409, 425, 429}
# The work may have been done, and charged for, though the answer was lost on the way.
_LOST = {408, 504}
# Not the word billing alone: Groq's "slow down" names the page where more may be bought.
_SPENT = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit[_ ]balance|spend(ing)?[_ ]limit"
    r"|usage_limit|billing_|exceeded_current_quota|budget[_ ](has been )?exceeded"
    r"|(used all|any|out of) (\w+ )?credits",
    re.I,
)
_NO_MODEL = re.compile(
    r"unexpected endpoint|models?[_ ]not[_ ](exist|found)|(not a |in)valid[_ ]model|unknown[_ ]model"
    r"|no models? loaded|\bmodel \S+ (does not exist|(is )?not found)",
    re.I,
)
_NO_JSON = "json_validate_failed"  # Groq's code for what the model wrote
_WRONG_KEY = re.compile(r"api.?key (is )?(not valid|invalid)|(invalid|incorrect) api.?key", re.I)
_FILTERED = re.compile(
    r"content_filter|content_?policy|moderation_|_moderation|requires moderation|flagged as"
    r"|\b(in|out)put was flagged|(prompt|content) was flagged|data_inspection"
    r"|content exists risk|violates usage|content management policy",
    re.I,
)
_TOO_LONG_CODE = re.compile(r"context_length_exceeded|exceed_context_size|string_above_max_length", re.I)
_TOO_LONG = re.compile(
    r"(maximum|available|exceed\w{0,10}|longer than)[^.]{0,60}context"
    r"|context (length|size|window)[^.]{0,40}(exceed|not enough)|contextwindowexceeded|maximum prompt length"
    r"|token count[^.]{0,40}exceed|too many tokens|must have less than \d+ tokens"
    r"|inputs?\W{1,3}tokens[^.]{0,30}must be <="
    r"|\b(prompt|inputs?|text|request) (is|are) too (long|large)|too large to process|range of input length",
    re.I,
)
_MEANT = {  # of an error under status 200 without a status of its own
    401: re.compile(r"api.?key|authenti|unauthori[sz]ed", re.I),
    402: re.compile(r"insufficient|quota|credit|billing|daily|spend|usage.limit", re.I),
    429: re.compile(r"rate.?limit|too.many|overload", re.I),
    500: re.compile(r"internal|timeout|timed.out|unavailable|again|loading|busy", re.I),
}
_INVALID = re.compile(r"validation error|\bloc\b.{0,80}\bmsg\b")
_ENDED = {  # other servers' words for why an answer ended
    **dict.fromkeys(("model_length", "max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("sensitive", "safety", "prohibited_content", "refusal"), "content_filter"),
    **dict.fromkeys(("abort", "insufficient_system_resource", "network_error"), "error"),
}
_OPTIONS = {
    "temperature": re.compile(r"\btemperature\b", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
    "response_format": re.compile(
        r"response[_ ]?format|json[_ ]?(mode|object)|structured[_ ]?output|schema\b|\bgrammar|guided_",
        re.I,
    ),
    "logprobs": re.compile(r"log[_ ]?prob", re.I),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.I),
    "repetition_penalty": re.compile(r"\brepetition_penalty\b", re.I),
}
_NOT_TAKEN = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|extra|instead"
    r"|n[o']t (\w+ )?(support|accept|permit|allow|avail)",
    re.I,
)


def request_body(
    request: Request,
    model: str,
    *,
    changed: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
    omit: Sequence[str] = (),
) -> bytes:
    """The JSON of one request, UTF-8.

    Args:
        request: what is asked; lone surrogates become U+FFFD, which JSON can hold.
        model: the endpoint's name of the model.
        changed: what :func:`refused_option` found before: field -> None to leave it out, a most number of
            log-probabilities, or for ``max_tokens`` the field's other name.
        extra: fields added as they are.
        omit: fields left out, for endpoints that refuse them.
    """
    messages = [{"role": m.role, "content": m.content.translate(_SURROGATES)} for m in request.messages]
    body: dict[str, Any] = {"model": model, "messages": messages, "temperature": request.temperature}
    body["max_tokens"] = request.max_tokens
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
    for name, other in (changed or {}).items():
        value = body.pop(name, None)
        if name == "logprobs":
            most = body.pop("top_logprobs", 0)
            if other and value:
                body |= {"logprobs": True, "top_logprobs": min(most, other)}
        elif other and value is not None:
            body[other] = value
        elif name == "response_format" and value and not any("JSON" in m.content for m in request.messages):
            schema = json.dumps(value["json_schema"]["schema"], ensure_ascii=False)
            messages[-1]["content"] += f"\n\nReply with JSON and nothing else, by this JSON schema: {schema}"
    body.update(extra or {})
    for name in omit:
        body.pop(name, None)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def read_reply(raw: bytes, *, host: str, seconds: float, clean: Clean) -> Reply:
    """The reply in a body that came with status 200.

    Raises:
        Malformed: it is not JSON, has no choices, or is cut off.
        Refused: the model or a filter declined.
        Transient: the answer broke off before its end.
        ModelError: it holds an error in spite of its status.
    """
    body = _parsed(raw)
    if not isinstance(body, dict):
        # The text itself is not repeated: it may hold anything, and is often a web page.
        page = raw.lstrip().startswith(b"<")
        why = "a web page, and no JSON object" if page else f"{len(raw)} bytes that are no JSON object"
        raise _malformed(host, why)
    if (status := inner_status(200, raw)) != 200:
        raise failure(status, {}, raw, host=host, clean=clean)
    usage = _usage(body.get("usage"))
    ended: dict[str, Any] = {"status": 200, "billable": True, "usage": usage}
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        finish = str(choice.get("finish_reason") or "stop")
        finish = _ENDED.get(finish.lower(), finish)
        refusal = message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise _malformed(host, "there is no answer in it", usage) from error
    if refusal or finish == "content_filter":
        said = _line(clean(refusal)) if isinstance(refusal, str) else ""
        raise Refused(
            f"the model at {host} declines to answer",
            why=said or "a content filter stopped the answer",
            **ended,
        )
    if finish == "error" or choice.get("error"):
        raise Transient(
            f"the answer of {host} broke off before its end",
            why=_said(choice, clean)[0] or _line(clean(f"it ended with {choice.get('finish_reason')!r}")),
            **ended,
        )
    mark = body.get("system_fingerprint")
    facts: dict[str, Any] = {"fingerprint": mark} if mark else {}
    if not text.strip() and any(message.get(n) for n in ("reasoning", "reasoning_content", "thinking")):
        facts["reasoning"] = True  # only the reasoning is there, which is not an answer
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
    """The error for an answer with an error status.

    Args:
        status: HTTP status.
        headers: names in lower case.
        raw: the body.
        host: who answered.
        clean: takes keys out of a text; every word of the body that is repeated goes through it. A function,
            so that no frame here holds a key.
        now: seconds since 1970, for a Retry-After that is a date.
    """
    said, marks = _said(_parsed(raw), clean)
    words = f"{marks} {said}"
    why = f"status {status}" + (f": {said}" if said else "")
    told: dict[str, Any] = {"why": why, "status": status}
    if status == 402 or (status in {400, 403, 429} and _SPENT.search(words)):
        return QuotaSpent(
            f"the account at {host} cannot spend more",
            hint="add credit or raise the limit there; what was answered is kept and will not be asked again",
            **told,
        )
    if status in {400, 403} and _FILTERED.search(words):
        return Refused(f"a filter at {host} declines the request", **told)
    if status in {401, 403} or (status == 400 and _WRONG_KEY.search(said)):
        return KeyRefused(
            f"the endpoint at {host} refuses the key",
            why=why if status == 403 else f"status {status}",  # the others' words like to repeat the key
            hint="check the key in the environment, and that it may use this model",
            status=status,
        )
    if (
        _TOO_LONG_CODE.search(marks)
        or status == 413
        or (status in {400, 422, 500} and _TOO_LONG.search(said))
    ):
        return ContextExceeded(
            "the request does not fit into the model's context",
            hint="send fewer or shorter texts, or ask for a shorter answer",
            **told,
        )
    if status in _TRANSIENT or (status >= 500 and status != 501 and not _INVALID.search(said)):
        return Transient(
            f"the endpoint at {host} is not available",
            hint="try again later; what was answered is kept and will not be asked again",
            retry_after=retry_after(headers.get("retry-after", ""), now),
            billable=status in _LOST,
            **told,
        )
    if status == 400 and _NO_JSON in marks:
        return Malformed(f"the model at {host} wrote no JSON of the schema", billable=True, **told)
    if 300 <= status < 400 or status in {404, 405, 410} or _NO_MODEL.search(words):
        return NoSuchModel(
            f"the endpoint at {host} has no such model, or nothing at this address",
            hint="check the model's name and the base URL (it usually ends in /v1)",
            **told,
        )
    return BadRequest(
        f"the endpoint at {host} refuses the request",
        hint="check the model's options; a field it does not know can be left out",
        **told,
    )


def refused_option(status: int, raw: bytes, sent: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The option that a refusal names, and what to send in its place; None where it names none that was sent.

    Args:
        status: HTTP status, or the code of an error under status 200.
        raw: the body.
        sent: the request's fields.

    Returns:
        A field and what :func:`request_body` takes as ``changed`` for it.
    """
    body = _parsed(raw)
    if status not in {400, 403, 404, 422, 500} or not isinstance(body, dict):
        return None
    words, marks = _said(body, str, 600)
    error = body.get("error", body)
    named = error.get("param") if isinstance(error, dict) else None
    if _TOO_LONG_CODE.search(marks) or _TOO_LONG.search(words) or _NO_JSON in marks:
        return None
    if _FILTERED.search(f"{marks} {words}"):
        return None
    not_taken = _NOT_TAKEN.search(f"{words} {marks}")
    if status in {403, 500} and not not_taken and "valid" not in f"{words} {marks}".lower():
        return None
    for text in ([named] if isinstance(named, str) else []) + [words]:
        for option, pattern in _OPTIONS.items():
            if option not in sent or not pattern.search(text):
                continue
            if option == "max_tokens":
                other = re.search(r"max_(?:completion|output|new)_tokens", words)
                return (
                    (option, other[0] if other else "max_completion_tokens") if other or not_taken else None
                )
            if option == "logprobs":
                numbers = [int(n) for n in re.findall(r"(?<![\w.-])\d{1,3}(?![\w-])", words)]
                return option, max((n for n in numbers if 0 < n < sent.get("top_logprobs", 0)), default=None)
            return option, None
    return None


def inner_status(status: int, raw: bytes) -> int:
    """The status that a body's own error states, where it came with status 200."""
    body = _parsed(raw) if status == 200 else None
    error = _error_in(body) if isinstance(body, dict) and not body.get("choices") else None
    if error is None:
        return status
    code = str(error.get("code") if isinstance(error, dict) else "")
    if re.fullmatch(r"[45]\d\d", code):
        return int(code)
    said = " ".join(_said(body, str))
    return next((meant for meant, words in _MEANT.items() if words.search(said)), 400)


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
    """The JSON value, or None; the decoder's error is dropped because it holds the whole text.

    Of a list its first entry: Gemini's endpoint puts errors into one.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body[0] if isinstance(body, list) and body else body


def _malformed(host: str, why: str, usage: Usage | None = None) -> Malformed:
    return Malformed(
        f"the answer of {host} cannot be read",
        why=why,
        hint="check the base URL (it usually ends in /v1)",
        status=200,
        billable=True,
        usage=usage,
    )


def _error_in(body: dict[str, Any]) -> Any:
    """The error that a body states, under ``error`` or at its top; None if it states none."""
    return body.get("error") or (body if isinstance(body.get("message") or body.get("detail"), str) else None)


def _said(body: Any, clean: Clean, most: int = 200) -> tuple[str, str]:
    """(The server's own words: one line, at most so many characters, no key; its code and type.)"""
    error = body.get("error") or body if isinstance(body, dict) else {}
    if isinstance(error, str):  # Ollama's own form
        return _line(clean(error), most), ""
    if not isinstance(error, dict):
        return "", ""
    words = error.get("message") or error.get("detail") or ""
    if isinstance(words, dict):  # Mistral puts FastAPI's form inside
        words = words.get("detail") or words.get("message") or ""
    if isinstance(words, list):  # FastAPI: one entry a field
        words = "; ".join(
            f"{'.'.join(map(str, row.get('loc') or ()))}: {row.get('msg')}"
            for row in words
            if isinstance(row, dict)
        )
    marks = f"{error.get('code')} {error.get('type')}"
    return (_line(clean(words), most) if isinstance(words, str) else ""), marks


def _line(words: str, most: int = 200) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())[:most]


def _usage(given: Any) -> Usage:
    if not isinstance(given, dict):
        return Usage()
    counts = [given.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    asked, answered, total = (count if type(count) is int and count > 0 else 0 for count in counts)
    return Usage(asked, max(answered, total - asked))  # xAI and Gemini count thoughts in the total alone


def _text(content: Any) -> str:
    """An answer's text: a string, nothing, or parts of which those of text count."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise ValueError("no text")
    return (content or "").translate(_SURROGATES)


def _logprobs(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Alternatives of the first token with a letter or digit, likeliest first; () where none make sense."""
    try:
        content = choice["logprobs"]["content"]
        first = next((one for one in content if any(map(str.isalnum, str(one["token"])))), content[0])
        rows = first.get("top_logprobs") or [first]
        pairs = [(str(row["token"]).translate(_SURROGATES), float(row["logprob"])) for row in rows]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return ()
    kept = [pair for pair in pairs if math.isfinite(pair[1])]
    return tuple(sorted(kept, key=lambda pair: (-pair[1], pair[0])))
