"""Lengths as evaluation campaigns count them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

LengthUnit: TypeAlias = Literal["words", "nfkc-words", "chars"]
"""Words between white space, the same after NFKC, or characters after NFKC."""

UNITS: Final[dict[LengthUnit, str]] = {
    "words": "words",
    "nfkc-words": "words",
    "chars": "characters",
}
"""What a unit is called in messages."""


def count_length(texts: Iterable[str], unit: LengthUnit) -> int:
    """Return the length of sentences.

    Words are those between white space; NFKC can make two of one (of "a´b"). Characters are counted
    after joining the sentences by one space and NFKC, as by the validator of RAGTIME.
    """
    joined = " ".join(texts)
    if unit != "words":
        joined = unicodedata.normalize("NFKC", joined)
    return len(joined) if unit == "chars" else len(joined.split())
