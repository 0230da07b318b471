"""The model that a name opens: an endpoint, several that share the requests, or a local one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pnyx.core.errors import InputError, printable, shorten
from pnyx.models.chat.endpoint import OPENAI_URL, ChatEndpoint
from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.model import ChatModel
from pnyx.models.http.addresses import read_key, read_spec, shown_address
from pnyx.models.http.responses import RetryPolicy

_FORMS = "http://HOST:PORT/v1#MODEL or openai:MODEL or local or gguf:PATH"


def endpoint_from(
    specs: str | Sequence[str],
    *,
    retry: RetryPolicy | None = None,
    concurrency: int = 32,
    ledger: Ledger | None = None,
    fields: Mapping[str, Any] | None = None,
) -> ChatModel:
    """Make a model from its name, as in `--llm` and `--judge`.

    Args:
        specs: `http://HOST:PORT/v1#MODEL` (or https) for any OpenAI-compatible server,
            `openai:MODEL`, `local` for the packaged model, or `gguf:PATH`. Several addresses of one
            model share its requests. The key is read from PNYX_API_KEY, for `openai:` also from
            OPENAI_API_KEY.
        retry: time limits and retries.
        concurrency: the maximum number of concurrent requests, at all addresses together.
        ledger: counts the usage and enforces its budget.
        fields: added to each request unchanged, such as `{"reasoning_effort": "low"}`.

    Raises:
        InputError: unknown form, missing key, or different models; see `open_local`.
        MissingExtra: a local model needs xllamacpp.
    """
    names = [specs] if isinstance(specs, str) else list(dict.fromkeys(specs))
    if not names:
        raise InputError(f"language model: found nothing, expected {_FORMS}")
    if len(names) == 1 and (names[0] == "local" or names[0].startswith("gguf:")):
        if fields:
            raise InputError(f"--set request: {shorten(names[0])} accepts no other fields")
        from pnyx.models.local.model import open_local

        return open_local(names[0], retry=retry)
    shared: dict[str, Any] = {
        "retry": retry,
        "concurrency": concurrency,
        "ledger": ledger,
        "fields": fields,
    }
    endpoints = [ChatEndpoint(*_read_spec(spec), **shared) for spec in names]
    if len(endpoints) == 1:
        return endpoints[0]
    from pnyx.models.chat.pool import EndpointPool

    return EndpointPool(endpoints)


def _read_spec(spec: str) -> tuple[str, str, str | None]:
    key = read_key("PNYX_API_KEY")
    kind, _, rest = spec.partition(":")
    if spec == "local" or kind == "gguf":
        raise InputError(f"{shorten(spec)} answers alone, not together with other models")
    if kind == "openai" and rest and rest == printable(rest):
        key = key or read_key("OPENAI_API_KEY")
        if key is None:
            raise InputError(f"{shorten(spec)} needs a key in PNYX_API_KEY or OPENAI_API_KEY")
        return OPENAI_URL, rest, key
    named = read_spec(spec)
    if named is None:
        excerpt = shorten(shown_address(spec))
        raise InputError(f"language model: found {excerpt!r}, expected {_FORMS}")
    return *named, key
