"""Hard limits on the length of a report, counted as in the campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pnyx.cases.report_plan import LIMIT
from pnyx.core.errors import InputError
from pnyx.core.records import Sentence
from pnyx.formats import ReportRequest, TrackRules
from pnyx.formats.text.segment import UNITS, LengthUnit, count_length


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a report: pairs of a unit and a number, all of which apply."""

    most: tuple[tuple[LengthUnit, int], ...]

    def fits(self, texts: Sequence[str]) -> bool:
        """Return whether sentences, together, are within all limits."""
        return all(count_length(texts, unit) <= most for unit, most in self.most)

    def cut(self, sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """Return the first sentences that are within the limits together."""
        fitting: list[Sentence] = []
        for sentence in sentences:
            if not self.fits([*(s.text for s in fitting), sentence.text]):
                break
            fitting.append(sentence)
        return tuple(fitting)

    def share(self, part: float) -> Limits:
        """Return a part of each limit."""
        return Limits(tuple((unit, int(most * part)) for unit, most in self.most))

    def left(self, texts: Sequence[str]) -> Limits:
        """Return the remaining limits for other sentences."""
        if not texts:
            return self
        used = [*texts, ""]  # including the space between
        return Limits(tuple((unit, most - count_length(used, unit)) for unit, most in self.most))

    def __str__(self) -> str:
        phrases = {f"{most} {UNITS[unit]}": None for unit, most in self.most}
        return " and ".join(phrases)


def limits_of(
    request: ReportRequest, rules: TrackRules | None = None, limit: int | None = None
) -> Limits:
    """Return the limits of a report: of the user, the request and the track, all of them.

    `limit` is in the track's unit, else in characters. Words are counted both with and without
    NFKC, since checkers differ in it.
    """
    limits: list[tuple[LengthUnit, int]] = []
    unit: LengthUnit = "chars" if rules is None else rules.length_unit
    if limit is not None:
        limits.append((unit, limit))
    if rules is not None and rules.length_limit is not None:
        limits.append((unit, rules.length_limit))
    if request.limit is not None:
        limits.append(("chars", request.limit))
    if request.word_limit is not None:
        limits.append(("words", request.word_limit))
    if any(most < 1 for _, most in limits):
        raise InputError("the limit is below 1, expected a positive whole number")
    worst: list[tuple[LengthUnit, int]] = []
    for kind, most in limits or [("chars", LIMIT)]:
        both: tuple[LengthUnit, ...] = ("chars",) if kind == "chars" else ("words", "nfkc-words")
        worst += [(unit, most) for unit in both]
    return Limits(tuple(dict.fromkeys(worst)))
