"""The wording of requests to an endpoint, and which of its fields an error refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pnyx.core.errors import printable
from pnyx.models.chat.types import ChatRequest, Message

FORMATS = ("json_schema", "json_object", "text")
"""How an answer's shape is requested, strictest first."""

LIMITS = ("max_tokens", "max_completion_tokens", None)

OWN_FIELDS = frozenset(
    "model messages stream stream_options response_format temperature seed logprobs top_logprobs"
    " max_tokens max_completion_tokens n".split()
)
"""Fields of a request that Pnyx sets, so that users cannot set them with the setting `request`."""

_REFUSAL = re.compile(
    r"unsupported|not supported|n't support|not support|unknown|unrecogni[sz]ed|unexpected"
    r"|not permitted|not allowed|forbidden|invalid|not implemented|unavailable|only the default"
    r"|must be|cannot|deprecated|not enabled|extra inputs|no endpoints|disabled",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|structured[ _]output|guided|grammar|json mode",
    re.IGNORECASE,
)
_LOGPROB_WORDS = re.compile(r"log_?prob|top_n_tokens|log probabilit", re.IGNORECASE)
_SYSTEM_WORDS = re.compile(
    r"system (?:role|message|prompt|instruction|turn)|role.{0,40}system|'system' role"
    r"|developer instruction|roles must alternate|only user and assistant",
    re.IGNORECASE,
)
_STREAM_WORDS = re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d{1,2}\b")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to word a request."""

    form: int = 0  # indexes `FORMATS`
    limit: int = 0  # indexes the names of the output limit; the last means no limit
    dropped: frozenset[str] = frozenset()  # parameters that the server refused
    merges_system: bool = False  # the system message is prepended to the first user message
    streams: bool = False
    most_alternatives: int | None = None  # per token, if the server stated a maximum

    @property
    def response_format(self) -> str:
        """Name of the way in which the answer's shape is requested."""
        return FORMATS[self.form]

    @property
    def limits_output(self) -> bool:
        """Whether the length of a reply is limited."""
        return LIMITS[self.limit] is not None

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """Return the parameters next to model and messages, under the names the server knows."""
        wanted: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed}
        if request.logprobs and not self.dropped & {"logprobs", "top_logprobs"}:
            most = min(request.logprobs, self.most_alternatives or request.logprobs)
            wanted |= {"logprobs": True, "top_logprobs": most}
        if (limit := LIMITS[self.limit]) is not None:
            wanted[limit] = request.max_tokens
        if request.schema is not None and self.response_format != "text":
            wanted["response_format"] = {"type": self.response_format}
            if self.response_format == "json_schema":
                named = {"name": request.schema_name, "schema": dict(request.schema)}
                wanted["response_format"]["json_schema"] = {**named, "strict": True}
        if self.streams:
            wanted |= {"stream": True, "stream_options": {"include_usage": True}}
        sent = {k: v for k, v in wanted.items() if v is not None and k not in self.dropped}
        return {**sent, **request.fields}

    def messages(self, request: ChatRequest) -> list[dict[str, str]]:
        """Return the messages to send."""
        turns = list(request.messages)
        if self.merges_system and len(turns) > 1 and turns[0].role == "system":
            merged = Message(turns[1].role, f"{turns[0].content}\n\n{turns[1].content}")
            turns = [merged, *turns[2:]]
        return [{"role": turn.role, "content": printable(turn.content)} for turn in turns]

    def features(self, request: ChatRequest) -> frozenset[str]:
        """Return the parts of a request that a server could refuse, regardless of its texts."""
        parameters = self.parameters(request)
        roles = {f"role {turn['role']}" for turn in self.messages(request)}
        form = {self.response_format} if "response_format" in parameters else set()
        return frozenset({*parameters, *roles, *form})

    def without(self, parameter: str) -> Dialect | None:
        """Return the next dialect after a refusal of `parameter`, or None if there is none."""
        if parameter == "response_format":
            return None if self.response_format == "text" else replace(self, form=self.form + 1)
        if parameter in LIMITS:
            last = self.limit + 1 == len(LIMITS)
            return None if last else replace(self, limit=self.limit + 1)
        if parameter == "system":
            return None if self.merges_system else replace(self, merges_system=True)
        if parameter == "stream":
            return None if self.streams else replace(self, streams=True)
        return replace(self, dropped=self.dropped | {parameter})

    def variants(self, request: ChatRequest) -> Iterator[Dialect]:
        """Yield dialects that differ in one part that a server may refuse, most likely first."""
        sent = self.parameters(request)
        names = ["logprobs", "response_format", "system", "temperature", "seed", "stream"]
        has_system = request.messages[0].role == "system" and len(request.messages) > 1
        there = {*sent, *(["system"] if has_system else []), "stream"}
        for name in [*names, *(name for name in LIMITS if name in sent)]:
            variant = self.without(str(name)) if name in there else None
            while variant is not None:
                yield variant
                variant = variant.without(str(name)) if name == "response_format" else None

    def plainest(self, request: ChatRequest) -> Dialect:
        """Return the dialect without all that its variants leave out, except for a limit."""
        plain = replace(self, form=len(FORMATS) - 1, merges_system=True)
        dropped = {"logprobs", "top_logprobs", "temperature", "seed"} & {*self.parameters(request)}
        return replace(plain, dropped=self.dropped | dropped)

    def merged(self, other: Dialect) -> Dialect:
        """Return the dialect that respects the refusals of both."""
        most = [n for n in (self.most_alternatives, other.most_alternatives) if n is not None]
        return Dialect(
            max(self.form, other.form),
            max(self.limit, other.limit),
            self.dropped | other.dropped,
            self.merges_system or other.merges_system,
            self.streams or other.streams,
            min(most, default=None),
        )

    def after_refusal(self, body: str, request: ChatRequest) -> Dialect | None:
        """Return the dialect without the field that an error names; None if it names none."""
        sent = self.parameters(request)
        name = refused_parameter(body, sent)
        if name in ("logprobs", "top_logprobs"):
            numbers = [n for n in map(int, _NUMBER.findall(body)) if n < sent["top_logprobs"]]
            if numbers and max(numbers) > 0 and self.most_alternatives is None:
                return replace(self, most_alternatives=max(numbers))
        if name in ("stream", "stream_options"):
            return replace(self, dropped=self.dropped | {"stream_options"})
        if name is not None:
            return self.without(name)
        if _SYSTEM_WORDS.search(body) and any(m.role == "system" for m in request.messages):
            return self.without("system")
        if _STREAM_WORDS.search(body):
            return self.without("stream")
        return None


def refused_parameter(body: str, sent: Mapping[str, Any]) -> str | None:
    """Return the `sent` parameter that an error's body names as refused, or None."""
    named = _named_parameter(body)
    if named:
        parts = re.split(r"[./\[\]]", named)
        return next((name for name in sent if name in parts), None)
    if "logprobs" in sent and _LOGPROB_WORDS.search(body):
        return "logprobs"
    if "response_format" in sent and _FORMAT_WORDS.search(body):
        return "response_format"
    if not _REFUSAL.search(body):
        return None
    return next((name for name in sent if re.search(rf"\b{re.escape(name)}\b", body)), None)


def _named_parameter(body: str) -> str | None:
    """Read the parameter out of OpenAI's `error.param` or FastAPI's `detail[0].loc`."""
    try:
        value = json.loads(body)
        error = value.get("error", value)
        if isinstance(error, dict) and isinstance(error.get("param"), str):
            return str(error["param"])
        return "/".join(str(part) for part in value["detail"][0]["loc"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
