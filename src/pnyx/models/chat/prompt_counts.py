"""Whether a server's count of prompt tokens can be that of the whole prompt.

Some servers truncate prompts to their context without an error (Ollama: 4,096 tokens by default)
and report the count of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

from pnyx.models.chat.types import ChatRequest

LEAST_WORDS = 300
"""Shorter prompts fit every context, so their counts prove nothing."""
_LEAST_TOKENS = 0.9
"""Minimum number of tokens per word: no common tokenizer puts several words into a token, except a
few short ones; English text has about 1.3."""


def cuts_prompt(request: ChatRequest, usage: Mapping[str, int]) -> bool:
    """Whether a count of prompt tokens is too low for all of a request's words."""
    tokens = usage.get("prompt_tokens", 0)
    if tokens <= 0:
        return False
    # Some servers count cached tokens separately.
    tokens += usage.get("cached_tokens", 0)
    words = sum(len(message.content.split()) for message in request.messages)
    return words >= LEAST_WORDS and tokens < _LEAST_TOKENS * words
