"""Texts as one line, and as the words by which two of them are compared."""

from __future__ import annotations

import re


def clean(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join("".join(c for c in text if c.isspace() or c >= " ").split())


def folded(text: str) -> str:
    """Return a text on one line for comparison, ignoring case and white space."""
    return " ".join(text.casefold().split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words by which two texts are compared."""
    return tuple(re.findall(r"\w+", text.casefold()))
