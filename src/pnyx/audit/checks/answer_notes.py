"""What is said of the answers of a table: its words for yes and no, and cells without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pnyx.audit.checks.answer_scale import AnswerColumn, MappedColumn

USUAL = ("yes", "no")
"""What sentences say where a table has numbers, truth values, or several words for one answer."""


def word_pair(columns: Sequence[AnswerColumn], mapped: Sequence[MappedColumn]) -> tuple[str, str]:
    """Return the words for yes and no if each is one word throughout, else `USUAL`."""
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for column, answers in zip(columns, mapped, strict=True):
        for place, answer in zip(column.places, answers.answers, strict=True):
            if isinstance(answer, bool):
                plain = place.cell.number is not None or place.cell.word in ("true", "false")
                words[answer].add("" if plain else place.cell.word)
    if len(words[True]) != 1 or len(words[False]) != 1:
        return USUAL
    yes, no = words[True].pop(), words[False].pop()
    return (yes, no) if yes and no else USUAL


def open_notes(column: AnswerColumn, mapped: MappedColumn) -> tuple[str, ...]:
    """Say which cells have no answer though they are not empty, or are empty verdicts."""
    if not mapped.reasons:
        return ()
    reasons = Counter(mapped.reasons.values())
    lines: dict[str, int] = {}
    for index, reason in mapped.reasons.items():
        lines.setdefault(reason, column.places[index].line)
    parts = [f"{count:,} empty" for reason, count in reasons.items() if reason == "empty"]
    others = [reason for reason, _ in reasons.most_common() if reason != "empty"]
    parts += [f"{reasons[reason]:,} {reason!r}, line {lines[reason]}" for reason in others[:3]]
    if len(others) > 3:
        parts.append(f"{sum(reasons[reason] for reason in others[3:]):,} for other reasons")
    count, whole = len(mapped.reasons), len(column.places)
    what = "verdicts are unscored" if column.side == "judge" else "labels do not count"
    return (f"{column.short}: {count:,} of {whole:,} {what} ({'; '.join(parts)})",)
