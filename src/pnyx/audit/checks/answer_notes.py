"""Notes on the answers of a table: its words for yes and no, and its cells without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pnyx.audit.checks.answer_scale import AnswerColumn, MappedColumn

USUAL = ("yes", "no")
"""The words of sentences if a table has numbers, truth values, or several words for one answer."""


def word_pair(columns: Sequence[AnswerColumn], mapped: Sequence[MappedColumn]) -> tuple[str, str]:
    """Return the words for yes and no if each is one word throughout, else `USUAL`."""
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for column, answers in zip(columns, mapped, strict=True):
        for cell, answer in zip(column.cells, answers.answers, strict=True):
            if isinstance(answer, bool):
                plain = cell.number is not None or cell.word in ("true", "false")
                words[answer].add("" if plain else cell.word)
    if len(words[True]) != 1 or len(words[False]) != 1:
        return USUAL
    yes, no = words[True].pop(), words[False].pop()
    return (yes, no) if yes and no else USUAL


def open_notes(column: AnswerColumn, mapped: MappedColumn) -> tuple[str, ...]:
    """Return a note on verdicts that are unscored, or on labels that are not answers, if any."""
    if not mapped.reasons:
        return ()
    reasons = Counter(mapped.reasons.values())
    lines: dict[str, int] = {}
    for index, reason in mapped.reasons.items():
        lines.setdefault(reason, column.lines[index])
    parts = [f"{count:,} empty" for reason, count in reasons.items() if reason == "empty"]
    others = [reason for reason, _ in reasons.most_common() if reason != "empty"]
    parts += [f"{reasons[reason]:,} {reason!r}, line {lines[reason]}" for reason in others[:3]]
    if len(others) > 3:
        parts.append(f"{sum(reasons[reason] for reason in others[3:]):,} for other reasons")
    count, whole = len(mapped.reasons), len(column.cells)
    what = "verdicts are unscored" if column.side == "judge" else "labels do not count"
    return (f"{column.short}: {count:,} of {whole:,} {what} ({'; '.join(parts)})",)
