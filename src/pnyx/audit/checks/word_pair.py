"""The words with which a table says yes and no, for sentences about it."""

from __future__ import annotations

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
