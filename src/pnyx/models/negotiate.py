"""What an endpoint accepts, learnt from its own errors and remembered.

Nothing is guessed from a model's name: the strongest form is tried first, and a refusal that names
the form or the parameter moves on to the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FORMATS", "LIMITS", "Dialect", "is_too_long", "refused_parameter"]

FORMATS = ("json_schema", "json_object", "text")
"""How an answer's shape is asked for, strongest first."""

LIMITS = ("max_tokens", "max_completion_tokens", None)

_REFUSAL = re.compile(
    r"unsupported|not supported|n't support|not support|unknown|unrecogni[sz]ed|unexpected"
    r"|not permitted|not allowed|forbidden|invalid|not implemented|unavailable|only the default"
    r"|must be|cannot be|deprecated",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|structured[ _]output|guided|grammar", re.IGNORECASE
)
_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|too (long|many tokens|large)"
    r"|exceeds? the (model|limit|context)|reduce the length",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to word a request.

    `form` indexes `FORMATS`, `limit` the names of the output limit (the last is none at all);
    `dropped` are parameters that the server refused.
    """

    form: int = 0
    limit: int = 0
    dropped: frozenset[str] = frozenset()

    @property
    def response_format(self) -> str:
        """Name of the way in which the answer's shape is asked for."""
        return FORMATS[self.form]

    @property
    def limits_output(self) -> bool:
        """Whether the length of a reply is limited at all."""
        return LIMITS[self.limit] is not None

    def parameters(
        self, *, max_tokens: int, temperature: float, seed: int | None, logprobs: int = 0
    ) -> dict[str, float]:
        """Return the sampling parameters that this dialect allows, by the names it knows."""
        wanted: dict[str, float | None] = {"temperature": temperature, "seed": seed}
        if logprobs and not self.dropped & {"logprobs", "top_logprobs"}:
            wanted |= {"logprobs": True, "top_logprobs": logprobs}
        name = LIMITS[self.limit]
        if name is not None:
            wanted[name] = max_tokens
        return {k: v for k, v in wanted.items() if v is not None and k not in self.dropped}

    def shape(self, schema: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
        """Return the `response_format` to send, or None where nothing is to be sent."""
        if schema is None or self.response_format == "text":
            return None
        if self.response_format == "json_object":
            return {"type": "json_object"}
        described = {"name": name, "schema": dict(schema), "strict": True}
        return {"type": "json_schema", "json_schema": described}

    def without(self, parameter: str) -> Dialect | None:
        """Return the next dialect after a refusal of `parameter`, or None where there is none."""
        if parameter == "response_format":
            if self.response_format == "text":
                return None
            return Dialect(self.form + 1, self.limit, self.dropped)
        if parameter in LIMITS:
            if self.limit + 1 >= len(LIMITS):
                return None
            return Dialect(self.form, self.limit + 1, self.dropped)
        return Dialect(self.form, self.limit, self.dropped | {parameter})

    def merged(self, other: Dialect) -> Dialect:
        """Return the dialect that heeds the refusals that both have met."""
        return Dialect(
            max(self.form, other.form),
            max(self.limit, other.limit),
            self.dropped | other.dropped,
        )


def refused_parameter(body: str, sent: Mapping[str, Any]) -> str | None:
    """Return which of the `sent` parameters an error's body names as refused, or None."""
    named = _named_parameter(body)
    if named:
        parts = re.split(r"[./\[\]]", named)
        return next((name for name in sent if name in parts), None)
    if "response_format" in sent and _FORMAT_WORDS.search(body):
        return "response_format"
    if not _REFUSAL.search(body):
        return None
    return next((name for name in sent if re.search(rf"\b{name}\b", body)), None)


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


def is_too_long(body: str) -> bool:
    """Whether an error means that the request does not fit the model's window."""
    return _TOO_LONG.search(body) is not None
