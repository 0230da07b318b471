"""Texts and names reduced to their appearance, so that a disguised copy compares as equal."""

from __future__ import annotations

import unicodedata
from typing import Final

_LETTERS: Final = str.maketrans(
    "АВЕКМНОРСТУХІЈЅЗавекмнорстухіјѕԁһԛԝьΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβεικνορτυχωıɑɡ",
    "ABEKMHOPCTYXIJS3abekmhopctyxijsdhqwbABEZHIKMNOPTYXabeikvoptuxwiag",
)
"""Cyrillic, Greek and other letters that are read as Latin ones (from the confusables of Unicode
Technical Standard 39: only letters that occur in words)."""

_IN_NAMES: Final = str.maketrans("01i|", "olll")
"""After case folding: signs that are confused in names, where no word distinguishes them."""

_DASHES: Final = ("Pd", "Pc", "Zs")
_ACCENTS: Final = ("\u0300", "\u036f")  # combining marks that are written over Latin letters


def undisguised(text: str) -> str:
    """Return a text without case, accents and invisible characters, with look-alikes made Latin.

    For comparing only: letters of a text that is wholly Cyrillic or Greek are changed, too.
    """
    letters = unicodedata.normalize("NFKD", text)
    letters = "".join(c for c in letters if not (_is_accent(c) or _is_invisible(c)))
    return unicodedata.normalize("NFKC", letters.translate(_LETTERS).casefold())


def name_shape(name: str) -> str:
    """Return the appearance of a name: equal for names that a reader may confuse."""
    shape = undisguised(name.strip()).translate(_IN_NAMES)
    return "".join("-" if unicodedata.category(c) in _DASHES else c for c in shape)


def _is_accent(character: str) -> bool:
    return _ACCENTS[0] <= character <= _ACCENTS[1]


def _is_invisible(character: str) -> bool:
    return not character.isspace() and unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co")
