"""The word lists and texts that trials add, read from `patterns.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from pnyx.corpora.text.segment import word_weight

CONTROL = "control"
"""A passage of the length of an injection that asks for nothing."""


@cache
def patterns() -> Any:
    """Return what `patterns.toml` holds."""
    text = resources.files("pnyx.audit.stress").joinpath("patterns.toml").read_text("utf-8")
    return tomllib.loads(text)


def injection_names() -> tuple[str, ...]:
    """Return the names of the injections, the control last."""
    return (*(one["name"] for one in patterns()["injections"]), CONTROL)


def injected(text: str, name: str, verdict: str, reply: str) -> str:
    """Return a text with one injection after it (some begin before it).

    Args:
        text: of a document or an argument.
        name: one of `injection_names`.
        verdict: that the judge is told to give, in words.
        reply: the same as the JSON that a judge writes.
    """
    if name == CONTROL:
        return f"{text}\n\n{patterns()['control']}"
    one = next(one for one in patterns()["injections"] if one["name"] == name)
    before, after = (
        one.get(side, "").replace("VERDICT", verdict).replace("REPLY", reply)
        for side in ("before", "after")
    )
    return "\n\n".join(part for part in (before, text, after) if part)


def padding(words: int, seed: int) -> str:
    """Return about so many words that add nothing, the same for the same seed."""
    sentences: list[str] = list(patterns()["padding"])
    found: list[str] = []
    place = seed % len(sentences)
    while sum(map(word_weight, found)) < words:
        found.append(sentences[place % len(sentences)])
        place += 1
    return " ".join(found)
