"""Why a result ranks where it does, in a sentence and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.display.text import one_line

if TYPE_CHECKING:
    from pnyx.search.explain import Explanation

_MODELS: Final = {
    "dirichlet": "Words",
    "bm25": "Words",
    "touche": "Words, topic and quality",
    "dense": "Meaning",
    "hybrid": "Words and meaning",
    "R": "R, relevance",
    "C": "C, topic",
    "Q": "Q, quality",
    "quality": "Quality",
    "copy": "Copy",
}
_FACTORS: Final = {
    "C": ("the cosine of question and topic", "not used"),
    "Q": ("the predicted quality", "not used"),
    "quality": (
        "the share of documents of lower quality",
        "its quality is unknown, so the middle is assumed",
    ),
}
"""Factor -> what it is based on, and what is said if that is unknown."""
_MOST_WORDS: Final = 8


@dataclass(frozen=True, slots=True)
class WhyRow:
    """A part of a score: its name, what it adds or multiplies by, and how it is computed."""

    label: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class WhyView:
    """A score in words, and its parts, if any."""

    sentence: str
    rows: tuple[WhyRow, ...]


def why_view(rank: int, why: Explanation | None) -> WhyView:
    """Return the view of an explanation; without one, only the rank is known."""
    if why is None:
        return WhyView(
            f"It is number {rank} of the ranking; the parts of its score are not available.", ()
        )
    parts = why.parts if why.name in ("touche", "hybrid", "good") else (why,)
    sign = " × " if why.combine == "product" else " + "
    score = f"Number {rank} with a score of {_number(why.value)}"
    if len(parts) > 1:
        score += f", which is {_parts_said(parts, sign)}"
    return WhyView(f"{score}. {_strongest(parts, why.combine)}".strip(), tuple(_rows(why, parts)))


def _called(part: Explanation) -> str:
    return {"R": "relevance", "C": "topic", "Q": "quality"}.get(
        part.name, _MODELS.get(part.name, part.name)
    )


def _strongest(parts: Sequence[Explanation], combine: str) -> str:
    """Say which of two added parts counts more."""
    if combine != "sum" or len(parts) != 2:
        return ""
    first, other = sorted(parts, key=lambda part: -part.value)
    if first.value < 1.25 * other.value:
        return "Both count about the same."
    what = _called(first)
    return f"{what} {'count' if what == 'Words' else 'counts'} most."


def _rows(why: Explanation, parts: Sequence[Explanation]) -> Iterator[WhyRow]:
    times = "× " if why.combine == "product" else ""
    for part in parts:
        if part.name == "relevance":
            yield from _relevance_rows(part)
            continue
        label = _MODELS.get(part.name, one_line(part.name))
        yield WhyRow(label, f"{times}{_number(part.value)}", _meaning(part))


def _relevance_rows(part: Explanation) -> Iterator[WhyRow]:
    """Return what relevance is made of: the document's own score, its parts, its neighbours."""
    score, near = part.parts
    weighted = f"{score.weight:g} × {_number(score.raw or 0.0)}"
    explanation = f"{weighted}, its own score: {_parts_said(score.parts)}"
    others = f"{near.weight:g} × {_number(near.raw or 0.0)}, the documents most like it"
    yield WhyRow("Relevance", _number(part.value), f"{explanation}; + {others}")
    yield from _rows(score, score.parts)


def _parts_said(parts: Sequence[Explanation], sign: str = " + ") -> str:
    return sign.join(f"{_number(p.value)} for {_called(p).lower()}" for p in parts)


def _meaning(part: Explanation) -> str:
    if part.name == "dense":
        phrase = _measured("cosine of question and document", part)
        return phrase or "not among the most similar in meaning"
    if part.name in _FACTORS:
        what, unknown = _FACTORS[part.name]
        return unknown if part.raw is None else f"1 + {part.weight:g} × {part.raw:.2f}, {what}"
    if part.name == "copy":
        return "nearly the same text as a result above it"
    words = _words(part)
    if part.raw is None:
        return words or ("fixed at 1" if part.name == "R" else "not among the best by words")
    model = "Dirichlet" if part.name in ("R", "dirichlet") else part.name.upper()
    phrase = _measured(f"{model} score", part) if part.weight or part.rank else f"{model} score"
    return f"{phrase}: {words}" if words else phrase


def _measured(what: str, part: Explanation) -> str:
    if part.raw is None:
        return ""
    phrase = f"{what} {_number(part.raw)}"
    if part.rank is not None:
        phrase += f", rank {part.rank} by this part alone"
    if part.weight is not None:
        phrase += f", weight {part.weight:g}"
    return phrase


def _words(part: Explanation) -> str:
    """List the words of the question that count, the strongest first."""
    strong = sorted(part.parts, key=lambda word: -word.value)[:_MOST_WORDS]
    return ", ".join(f"{one_line(word.name)} {_number(word.value)}" for word in strong)


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.2f}" if size >= 0.01 else f"{value:.3g}"
