"""Read chat completions in the dialects of all servers, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii as _as_json
from typing import Any

from pnyx.core.errors import printable, shorten
from pnyx.core.files import clean_text
from pnyx.models.chat.types import MAX_REPLY_BYTES, CallFailed, Reply, Token, is_oversized

_MAX_TOKENS_BYTES = 6 * 1024 * 1024
_LONGEST_NAME = 1000
_OVERSIZED = "oversized"
_TEXT_PARTS = ("text", "output_text")
"""Types of the content parts that hold the reply's text."""
_USAGE = tuple(f"{k}_tokens" for k in ("prompt", "completion", "total", "cached", "reasoning"))
_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking", "thought", "reasoning_details")
"""Fields of a message that hold thinking: vLLM and DeepSeek, OpenRouter and Groq, others."""

_FINISH_REASONS = {
    "stop": "eos eos_token stop_sequence end_turn complete completed finished eosfound "
    "stopstringfound",
    "length": "max_tokens max_output_tokens model_length limit maxpredictedtokensreached "
    "contextlengthreached truncated max_length incomplete",
    "content_filter": "safety recitation blocklist prohibited_content spii error_toxic sensitive "
    "guardrail_intervened content_filtered image_safety language",
    "error": "abort aborted cancelled failed insufficient_system_resource network_error load "
    "malformed_function_call malformed_response",
}
"""A finish reason as OpenAI names it -> the names of others: Gemini, Anthropic, Mistral, Cohere,
TGI, LM Studio, DeepSeek, SGLang, Ollama, Zhipu."""
_FINISHES = {name: kind for kind, names in _FINISH_REASONS.items() for name in names.split()}
_STATUS_OF_CODES = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "model_not_found": 404,
}


def finish_reason_of(text: str) -> str:
    """Return OpenAI's name of a finish reason, or the reason itself if OpenAI has none."""
    word = text.strip().lower().partition(":")[0].removeprefix("finish_reason_")
    return _FINISHES.get(word, word if word in _FINISH_REASONS else text)


def read_reply(
    body: bytes, *, model: str, response_format: str, hide: Callable[[str], str] = str
) -> Reply | CallFailed:
    """Read a chat completion; `hide` removes secrets from a text before the text is shortened.

    Returns a reply, or `CallFailed` with `not_json`, `malformed`, `server_error`, `empty` or
    No text is ever invented: a body without content is a failure unless the model was cut off.
    """
    text = body.decode("utf-8", "replace")
    try:
        value = _decoded(text)
    except (ValueError, RecursionError):
        return CallFailed(f"not_json: {_looks_like(text)}")
    if isinstance(value, CallFailed):
        return value
    if not isinstance(value, dict):
        return CallFailed(f"malformed: found {shorten(text, 60)}, expected a chat completion")
    if (error := _error_of(value)) is not None:
        return CallFailed(f"server_error: {shorten(error[1], 120)}")
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        return CallFailed("malformed: the reply holds no choices")
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        return CallFailed("malformed: the reply's choice holds no message")
    return _reply(value, choice, message, model, response_format, hide)


def _reply(
    value: Mapping[str, Any],
    choice: Mapping[str, Any],
    message: Mapping[str, Any],
    model: str,
    response_format: str,
    hide: Callable[[str], str],
) -> Reply | CallFailed:
    stated = choice.get("finish_reason")
    raw, finish = _content(message, finish_reason_of(stated) if isinstance(stated, str) else "")
    if (content := _whole_text(raw)) is None:
        return CallFailed("malformed: the reply's content is not text")
    if finish == "error":
        return CallFailed(f"server_error: the generation failed ({shorten(str(stated), 40)})")
    if not content.strip() and finish not in ("length", "content_filter", "refusal"):
        return CallFailed(_why_empty(message, raw))
    text, finish = hide(clean_text(content)), hide(clean_text(finish))
    if is_oversized(text):
        text, finish = text.encode()[:MAX_REPLY_BYTES].decode("utf-8", "ignore"), _OVERSIZED
    named = value.get("model")
    name = shorten(hide(clean_text(named)), _LONGEST_NAME) if isinstance(named, str) else ""
    return Reply(
        text=text,
        finish_reason=shorten(finish),
        model=name or model,
        usage=_usage(value.get("usage")),
        response_format=response_format,
        tokens=_tokens(choice.get("logprobs")),
    )


def _why_empty(message: Mapping[str, Any], content: object) -> str:
    for name in _THINKING_FIELDS:
        if (thinking := message.get(name)) and str(thinking).strip():
            return (
                f"only_thinking: the reply's content is empty; {name} holds {len(str(thinking)):,} "
                "characters, but thinking is not an answer"
            )
    if isinstance(content, list) and content:
        return "only_thinking: the reply holds parts of thinking only, which is not an answer"
    return "empty: the reply holds no text"


def error_in(body: bytes) -> tuple[int, str] | None:
    """Return the error in a body sent with HTTP 200, as (status, JSON)."""
    text = body.decode("utf-8", "replace")
    try:
        value = _decoded(text)
    except (ValueError, RecursionError):
        return None
    error = _error_of(value) if isinstance(value, dict) else None
    return None if error is None else (error[0], json.dumps(value))


def _error_of(value: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return status and message of an error in a decoded body, at the top or in a choice."""
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = value.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if not error and value.get("object") == "error":
        error = value
    if not error and not choices and isinstance(value.get("detail"), str):
        error = value["detail"]
    if not error:
        return None
    code = error.get("code") or error.get("status") if isinstance(error, dict) else None
    kind = error.get("type") if isinstance(error, dict) else None
    status = next((s for c in (code, kind) if (s := _status_of(c)) is not None), 500)
    return status, _message_of(error) or json.dumps(error)


def _status_of(code: object) -> int | None:
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool):
        return code if 400 <= code < 600 else None
    return _STATUS_OF_CODES.get(code) if isinstance(code, str) else None


def words_of_error(text: str) -> str:
    """Return the message in an error's body, or the body itself if it has none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _message_of(value) or text


def _message_of(error: object) -> str:
    """Return the first message in an error of any server, including its provider's message."""
    for _ in range(4):
        if isinstance(error, list) and error:
            error = error[0]
            continue
        if not isinstance(error, dict):
            break
        metadata = error.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, dict) else None
        names = ("error", "message", "msg", "detail", "errors", "error_message")
        inner = next((error[name] for name in names if error.get(name)), None)
        if isinstance(inner, str):
            return f"{inner}: {raw}" if isinstance(raw, str) and raw not in inner else inner
        error = inner
    return error if isinstance(error, str) else ""


def _decoded(text: str) -> Any:
    """Decode a body; a stream of events is joined into one completion."""
    if not text.lstrip()[:10].startswith(("data:", "event:", ":", "id:")):
        return json.loads(text)
    chunks, ended = [], False
    for line in text.split("\n"):  # not splitlines: a string may contain U+2028
        name, _, data = line.partition(":")
        if name == "data" and data.strip() == "[DONE]":
            ended = True
        elif name == "data":
            chunk = json.loads(data)
            chunks += [chunk] if isinstance(chunk, dict) else []
    whole = _added_up(chunks)
    if not ended and "error" not in whole and not whole["choices"][0]["finish_reason"]:
        return CallFailed("malformed: the stream ended before the reply did")
    return whole


def _added_up(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the completion that the chunks of a stream form, or the error among them."""
    texts: dict[str, list[str]] = {}
    finish, usage, model, tokens = None, None, None, list[Any]()
    for chunk in chunks:
        if _error_of(chunk) is not None:
            return {"error": chunk.get("error") or chunk["choices"][0]["error"]}
        usage, model = chunk.get("usage") or usage, model or chunk.get("model")
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            continue
        finish = choice.get("finish_reason") or finish
        logprobs = choice.get("logprobs")
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        tokens += content if isinstance(content, list) else []
        delta = choice.get("delta") or choice.get("message")
        for name, part in delta.items() if isinstance(delta, dict) else ():
            text = _whole_text(part) if name == "content" else part
            if isinstance(text, str) and name != "role":
                texts.setdefault(name, []).append(text)
    message = {name: "".join(parts) for name, parts in texts.items()}
    logprobs = {"content": tokens} if tokens else None
    choice = {"message": message, "finish_reason": finish, "logprobs": logprobs}
    return {"model": model, "choices": [choice], "usage": usage}


def _looks_like(text: str) -> str:
    head = text.lstrip()[:200].lower()
    if head.startswith(("<!doctype", "<html", "<head", "<?xml")):
        return "the endpoint sent a web page"
    return f"the endpoint sent {shorten(text.strip(), 60)!r}" if head else "an empty body"


def _content(message: Mapping[str, Any], finish: str) -> tuple[Any, str]:
    """Return (content, finish reason); a refusal has a finish reason of its own."""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return refusal, "refusal"
    return message.get("content"), finish


def _whole_text(content: object) -> str | None:
    """Return a content as text (some servers send it in parts); None if a part is not text."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        elif not isinstance(part, dict) or part.get("type", "text") in _TEXT_PARTS:
            return None  # parts of other types, such as thoughts, are not part of the text
    return "".join(texts)


def _tokens(value: object) -> tuple[Token, ...] | None:
    """Read `choices[0].logprobs`; None for any other shape, or if it is too large to store."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list) or not content:
        return None
    tokens, size = [], 0
    for entry in content:
        text = entry.get("token") if isinstance(entry, dict) else None
        if not isinstance(text, str):
            return None
        alternatives = entry.get("top_logprobs")
        seen = [
            _alternative(entry),
            *map(_alternative, alternatives if isinstance(alternatives, list) else []),
        ]
        likeliest: dict[str, float] = {}
        for name, logprob in (pair for pair in seen if pair is not None):
            likeliest.setdefault(printable(name), round(logprob, 6))
        ranked = sorted(likeliest.items(), key=lambda pair: -pair[1])
        size += 8 + sum(16 + len(_as_json(name)) for name in (text, *likeliest))
        if size > _MAX_TOKENS_BYTES:
            return None
        tokens.append(Token(_exact(text, entry.get("bytes")), tuple(ranked)))
    return tuple(tokens)


def _exact(text: str, values: object) -> str:
    """Return a token's text from its bytes: for half a character, `text` has only a placeholder."""
    if not isinstance(values, list) or not all(type(b) is int and 0 <= b < 256 for b in values):
        return printable(text)
    return bytes(values).decode("utf-8", "surrogateescape")


def _alternative(entry: object) -> tuple[str, float] | None:
    if not isinstance(entry, dict):
        return None
    text, logprob = entry.get("token"), entry.get("logprob")
    if not isinstance(text, str) or not isinstance(logprob, int | float):
        return None
    # A log probability; servers that send sentinels such as -9999 mean "impossible".
    return (text, float(logprob)) if -1000 < logprob <= 1e-6 else None


def _usage(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    details = [value, value.get("prompt_tokens_details"), value.get("completion_tokens_details")]
    return {
        name: count
        for part in details
        if isinstance(part, dict)
        for name in _USAGE
        if type(count := part.get(name)) is int and 0 <= count < 2**53
    }
