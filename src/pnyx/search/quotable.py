"""Which sentences of a document can be quoted on their own, and which state a reason."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_MIN_WORDS, _MAX_WORDS = 6, 60
MAX_SENTENCES = 60
"""Maximum number of sentences per document; only the start of a longer page is used."""

# Footnotes and references are not sentences of the argument: "[ii] Mason, Daniel, Europe, 2012."
_NOTE = re.compile(r"[\[(]\s*(?:\d{1,3}|[ivxlc]{1,6}|[a-z])\s*[\])]", re.IGNORECASE)
_NAME_LIKE = 0.5
_ENDS = re.compile(r"[.!…。！।][\"'”’)\]]*$")
_ASKS = re.compile(r"(?:why|how) (?:do|does|would|should|can|could|is|are|much)\b", re.IGNORECASE)
_OPENING = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_REFUSED = (
    "markup", "smiley", "link", "middle", "debate", "conceding", "byline", "definition",
    "figures", "appeal",
)  # fmt: skip
"""Lists of patterns in `standing.toml`, in the order of matching."""
_FIRST_WORDS = 5
"""Within this many words, a pronoun after words without content refers back."""


@cache
def _lists() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("standing.toml").read_text("utf-8"))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(str(_lists()[name]).split())


@cache
def _phrases() -> tuple[str, ...]:
    return tuple(p for p in re.split(r"[|\n]", _lists()["phrases"]) if p)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    lists = _lists()
    return re.compile("|".join(lists["patterns"].get(name) or lists[name]), re.IGNORECASE)


def has_verb(words: Sequence[str]) -> bool:
    """Decide whether a conclusion, in lower case, has a verb."""
    verbs = _words("verbs")
    forms = (word.removesuffix("s") for word in words[1:])
    listed = any(form in verbs or form.removesuffix("e") in verbs for form in forms)
    return listed or not _words("auxiliaries").isdisjoint(words)


def leans(sentence: str) -> bool:
    """Return whether the start of a sentence depends on the previous one."""
    low = sentence.lstrip("‘“'\"([ ").lower()
    words = _OPENING.findall(low)[:_FIRST_WORDS]
    if not words or words[0] in _words("leaning") or low.startswith(_phrases()):
        return True
    if _pattern("forward").match(low):
        return False
    if _pattern("pointing_back").search(low):
        return True
    for word in words:
        if word in _words("pointing"):
            return True
        if word not in _words("glue"):
            return False
    return False


def flaw(sentence: str, following: str = "") -> str:
    """Return why a sentence cannot be quoted alone, as `standing.toml` names it, or "".

    A sentence that the `following` one retracts ("However, ...") is a concession.
    """
    begin = sentence.lstrip("‘“'\"([ ")[:1]
    paired = all(sentence.count(a) == sentence.count(b) for a, b in ("()", "[]", "“”"))
    if begin.islower() or not begin.isalnum():
        return "middle"
    if "?" in sentence or _ASKS.match(sentence):
        return "question"
    for name in _REFUSED:
        if _pattern(name).search(sentence):
            return name
    if not paired or sentence.count('"') % 2:
        return "middle"
    if not _ENDS.search(sentence):
        return "heading"
    if leans(sentence):
        return "leaning"
    return "conceding" if _pattern("turning").match(following) else ""


def is_quotable(sentence: str) -> bool:
    """Return whether it is a sentence of running text, not a note, list of names or address."""
    words = sentence.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or _NOTE.match(sentence):
        return False
    name_like = sum(map(_is_name_like, words))
    return name_like <= _NAME_LIKE * len(words) and "://" not in sentence


def _is_name_like(word: str) -> bool:
    bare = word.strip("‘’“”'\"([])}.,;:!?")
    return bare[:1].isdigit() or (bare[:1].isupper() and not bare.isupper())


Floats = npt.NDArray[np.floating[Any]]

WEIGHTS: Final = Path(__file__).with_name("reasons.json")
"""Fitted on the training folders by `lab/argue/fit_reasons.py`."""

MIN_REASON: Final = 0.6
"""Minimum probability of a sentence that counts as stating a reason. In folds over the training
folders, 85 % of the headlines that reach it do (docs/lab/argue-folders.md)."""

_FIGURE = re.compile(
    r"\d|\b(?:per ?cent|half|third|quarter|twice|dozen|hundreds?|thousands?|millions?|billions?)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine)\b")


def reason_inputs(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return the features of each sentence of one passage.

    Args:
        texts: the sentences, n of them.
        vectors: their embeddings by the packaged encoder, [n, d].

    Returns:
        Float64 [n, 4 + d]: the cosine to the passage's mean, the logarithm of the number of words,
        whether there is a figure, whether the writer speaks of themselves, and the embedding.
    """
    embedded = np.asarray(vectors, dtype=np.float64)
    words = np.array([len(text.split()) for text in texts], dtype=np.float64)
    figures = np.array([bool(_FIGURE.search(text)) for text in texts], dtype=np.float64)
    personal = np.array([bool(_FIRST_PERSON.search(text)) for text in texts], dtype=np.float64)
    hand = (embedded @ embedded.mean(axis=0), np.log(np.maximum(words, 1)), figures, personal)
    return np.column_stack([*hand, embedded])


def reason_probabilities(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return the probability that each sentence of a passage, on its own, states a reason.

    `texts` and `vectors` as in `reason_inputs`; there is at least one.
    """
    constant, weights = _regression()
    odds = reason_inputs(texts, vectors) @ weights + constant
    chances: Floats = 1.0 / (1.0 + np.exp(-odds))
    return chances


@cache
def _regression() -> tuple[float, Floats]:
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return float(stored["constant"]), np.array(stored["weights"], dtype=np.float64)
