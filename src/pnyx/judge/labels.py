"""People's labels from a file, as a judge like any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from pnyx.corpora import read_items
from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored, Value
from pnyx.judge.base import Emit
from pnyx.judge.questions import JudgeQuestion, Preference, Ranking, Rating, Support

__all__ = ["HumanLabels"]

_YES_NO = {"yes": True, "no": False, "true": True, "false": False}


class HumanLabels:
    """Answers by looking up what people said; where annotators differ, the majority counts.

    Args:
        path: labels JSONL: `id`, `value`; optional `annotator`, `dimension` (ratings), `gain`,
            `uncertain`, `group`. Several lines may label one id.

    Raises:
        InputError: a line is not a label, or one annotator labels one thing twice.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._votes: dict[tuple[str, str], list[Value]] = {}
        self._annotators: set[str] = set()
        self._read()

    @property
    def name(self) -> str:
        """`labels:` and the file's name."""
        return f"labels:{'-' if self._path == '-' else Path(self._path).name}"

    @property
    def card(self) -> str:
        """How many labels by how many people."""
        votes = sum(map(len, self._votes.values()))
        people = f" by {len(self._annotators)} annotators" if self._annotators else ""
        return f"people's labels: {votes} labels of {len(self._votes)} items{people}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        for position, question in enumerate(questions):
            emit(position, self._answer(question))

    def _read(self) -> None:
        for _, row in read_items(self._path, "labels"):
            key = row["id"], row.get("dimension") or ""
            self._votes.setdefault(key, []).append(row["value"])
            if row.get("annotator") is not None:
                self._annotators.add(str(row["annotator"]))

    def _answer(self, question: JudgeQuestion) -> Answer:
        provenance = Provenance(self.name, method="label")
        dimensions = (
            question.dimensions
            if isinstance(question, Rating)
            else (str(question.extra.get("dimension") or ""),)
        )
        values: list[Any] = []
        shares: dict[str, float] = {}
        for dimension in dimensions:
            votes = self._votes.get((question.id, dimension))
            if votes is None:
                return Unscored("no label", provenance)
            read = [_value(question, vote) for vote in votes]
            if None in read:
                found = shorten(repr(votes[read.index(None)]), 40)
                return Unscored(f"label: {found} is no answer to the question", provenance)
            winner, share = _majority(read)
            if share == 0:
                return Unscored("tie", provenance)
            values.append(winner)
            shares[dimension or "value"] = share
        details = {"agreeing": shares}
        value = values if isinstance(question, Rating) and len(values) > 1 else values[0]
        return Judged(value, Provenance(self.name, method="label", details=details))


def _majority(values: Sequence[Any]) -> tuple[Any, float]:
    """Return the most frequent value and its share; a share of 0 says that there is a tie."""
    counts: Counter[Hashable] = Counter()
    by_key = {}
    for value in values:
        key = tuple(value) if isinstance(value, list) else value
        counts[key] += 1
        by_key[key] = value
    ranked = counts.most_common(2)
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None, 0.0
    return by_key[ranked[0][0]], ranked[0][1] / len(values)


def _value(question: JudgeQuestion, value: Any) -> Any:
    """Return a label as an answer of the question's kind, or None where it is none."""
    if isinstance(question, Support):
        return _yes_or_no(value)
    if isinstance(question, Rating):
        low, high = question.scale
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if number and low <= value <= high else None
    if isinstance(question, Preference):
        return value if value in ("a", "b", "tie") else None
    complete = isinstance(value, list) and all(type(v) is int for v in value)
    return value if complete and sorted(value) == list(range(len(question.texts))) else None


def _yes_or_no(value: Any) -> bool | None:
    if isinstance(value, str):
        return _YES_NO.get(value.strip().lower())
    return bool(value) if value in (True, False) else None
