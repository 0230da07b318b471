"""Texts that trials add, and rewordings known to be equivalent, from `patterns.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from pnyx.formats.text.segment import word_weight

CONTROL = "control"
"""A passage as long as an injection that asks for nothing."""


@cache
def patterns() -> Any:
    """Return the content of `patterns.toml`."""
    text = resources.files("pnyx.audit.trials").joinpath("patterns.toml").read_text("utf-8")
    return tomllib.loads(text)


def injection_names() -> tuple[str, ...]:
    """Return the names of the injections, the control last."""
    return (*(injection["name"] for injection in patterns()["injections"]), CONTROL)


def injected(text: str, name: str, verdict: str, reply: str) -> str:
    """Return a text with one injection, which demands the `verdict` or contains the `reply`."""
    if name == CONTROL:
        return f"{text}\n\n{patterns()['control']}"
    injection = next(
        injection for injection in patterns()["injections"] if injection["name"] == name
    )
    before, after = (
        injection.get(side, "").replace("VERDICT", verdict).replace("REPLY", reply)
        for side in ("before", "after")
    )
    return "\n\n".join(part for part in (before, text, after) if part)


def lengthened(text: str) -> str:
    """Return a text that says the same in more words, where a rule allows it."""
    return _by_list("wordy")(text)


def padding(words: int, seed: int) -> str:
    """Return about `words` words without content, the same for the same seed."""
    sentences: list[str] = list(patterns()["padding"])
    chosen: list[str] = []
    index = seed % len(sentences)
    while sum(map(word_weight, chosen)) < words:
        chosen.append(sentences[index % len(sentences)])
        index += 1
    return " ".join(chosen)


# Rewordings ---------------------------------------------------------------------------------------

_CURLY = {"'": "’", '"': "”", " - ": " – ", "...": "…"}


def reworded(text: str, way: str) -> str:
    """Return a reworded text; the same text if the way changes nothing."""
    return REWORDINGS[way](text)


def as_motion(text: str) -> str:
    """Return "Should X be Y?" as "This house believes that X should be Y."; else unchanged."""
    words = text.strip().removesuffix("?").split(" ")
    low = [word.lower() for word in words]
    single = low.count("be") == 1 and _OTHER_VERB.isdisjoint(low) and _PLAIN.match(text)
    if not (single and text.rstrip().endswith("?") and low[0] == "should" and low[1] != "be"):
        return text
    verb = low.index("be")
    claim = [*words[1:verb], "should", *words[verb:]]
    return f"This house believes that {' '.join(claim)}."


_OTHER_VERB = frozenset(
    "to not who that which what and or let make help see have if when because".split()
)
"""Words before which the "be" of a question may belong to another verb."""
_PLAIN = re.compile(r"[\w'’ -]+\?\s*$")


@cache
def _table(name: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    pairs: Mapping[str, str] = patterns()["rewordings"][name]
    longest = sorted(pairs, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})\b", re.IGNORECASE), pairs


def _by_list(name: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        pattern, pairs = _table(name)
        return pattern.sub(lambda match: _cased(match[0], pairs[match[0].lower()]), text)

    return change


def _cased(before: str, after: str) -> str:
    return after[0].upper() + after[1:] if before[0].isupper() else after


def _typography(text: str) -> str:
    for plain, set_ in _CURLY.items():
        text = text.replace(plain, set_)
    return text


REWORDINGS: dict[str, Callable[[str], str]] = {
    "contractions": _by_list("contractions"),
    "synonyms": _by_list("synonyms"),
    "spelling": _by_list("spelling"),
    "motion": as_motion,
    "typography": _typography,
    "line breaks": lambda text: re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", text),
}
"""Way -> the function that applies it; each is defined in docs/reference/measures.md."""
