"""Expected scores: the mean of a scale's points by the probabilities of the score's token.

This is how G-Eval turns integers into finer scores (Liu et al., EMNLP 2023, section 2): the sum of
p(s) s over the points s, here over the alternatives that a server lists for the token, divided by
their total probability mass, which is recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from pnyx.core.errors import InputError
from pnyx.judging.answers import Missing
from pnyx.judging.dimensions import Scale
from pnyx.judging.forms.base import ReplyReading
from pnyx.judging.llm.structured_replies import token_at
from pnyx.judging.questions import Rating
from pnyx.models.chat.types import Reply

_POINT = re.compile(r"(\d+|true|false)(?![\d.]*\d)", re.IGNORECASE)
NO_TOKENS = "logprobs: none for the score"


def points_of(scale: Scale) -> dict[str, float]:
    """Return each point of a scale as text; InputError if one is the prefix of another."""
    if scale.boolean:
        return {"true": scale.high, "false": scale.low}
    if scale.low < 0 or scale.high > 9:
        bounds = f"{scale.low:g} to {scale.high:g}"
        raise InputError(
            f"expected scores: found a scale from {bounds}, expected one within 0 to 9, where no "
            "value is the prefix of another"
        )
    low, high = math.ceil(scale.low), math.floor(scale.high)
    return {str(point): float(point) for point in range(low, high + 1)}


def expected_score(
    reply: Reply, span: tuple[int, int], points: Mapping[str, float]
) -> tuple[float, float] | None:
    """Return the mean of the points and their probability mass; None if no token is a point."""
    located = token_at(reply, span[0])
    if located is None:
        return None
    token, before = located
    chances: dict[str, float] = {}
    for text, logprob in token.alternatives:
        begun = bool(before) and text.startswith(before)
        match = _POINT.match(text[len(before) :] if begun else text.lstrip())
        if match is not None and match[1].lower() in points:
            word = match[1].lower()
            chances[word] = chances.get(word, 0.0) + math.exp(logprob)
    mass = math.fsum(chances.values())
    if not mass > 0:
        return None
    mean = math.fsum(points[word] * p for word, p in chances.items()) / mass
    return round(mean, 6), round(min(1.0, mass), 6)


def expected_cells(
    question: Rating, reading: ReplyReading, reply: Reply
) -> tuple[list[Any], dict[str, Any]]:
    """Return the score on each dimension or why there is none, and notes on them.

    `stated` is the score in the reply, `mass` the probability of the listed points.
    """
    points = points_of(question.rating_scale)
    values = reading.value if isinstance(reading.value, list) else [reading.value]
    reasons = reading.notes.get("dimensions", {})
    cells: list[Any] = []
    stated: dict[str, Any] = {}
    masses: dict[str, float] = {}
    for name, value in zip(question.dimensions, values, strict=True):
        if value is None:
            cells.append(Missing(reasons.get(name, "missing: not in the reply")))
            continue
        stated[name] = value
        span = reading.spans.get(name)
        expected = None if span is None else expected_score(reply, span, points)
        if expected is None:
            cells.append(Missing(NO_TOKENS))
        else:
            cells.append(expected[0])
            masses[name] = expected[1]
    return cells, {"stated": stated, "mass": masses}
