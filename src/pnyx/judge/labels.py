"""People's labels from a file, as a judge like any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pnyx.corpora.items import PARTLY
from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Missing, Provenance, Value
from pnyx.judge.base import Emit
from pnyx.judge.combine import most_frequent
from pnyx.judge.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judge.verdicts import read_verdicts

__all__ = ["HumanLabels"]


class HumanLabels:
    """Answers by looking up what people said; where annotators differ, the majority counts.

    Of a rating, a dimension without a label (or with a tie) is None in the list of values, with
    its reason in `notes["dimensions"]`.

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
        for one in read_verdicts(self._path, "labels"):
            self._votes.setdefault(one.key, []).append(one.value)
            if one.annotator:
                self._annotators.add(one.annotator)

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

    def _answer(self, question: JudgeQuestion) -> Answer:
        found = [self._label(question, dimension) for dimension in question.cells]
        shares = {
            dimension or "value": label.share
            for dimension, label in zip(question.cells, found, strict=True)
            if label.value is not None
        }
        details = {"agreeing": shares} if shares else {}
        provenance = Provenance(self.name, method="label", details=details)
        cells = [Missing(label.reason) if label.value is None else label.value for label in found]
        notes = {"partial": True} if any(label.partial for label in found) else {}
        return question.compose(cells, provenance, notes=notes)

    def _label(self, question: JudgeQuestion, dimension: str) -> _Label:
        votes = self._votes.get((question.id, dimension))
        if votes is None:
            return _Label(reason="no label")
        read = [question.value_of(vote) for vote in votes]
        if None in read:
            found = shorten(repr(votes[read.index(None)]), 40)
            return _Label(reason=f"label: {found} is no answer to the question")
        winners, share = most_frequent(read)
        if len(winners) > 1:
            return _Label(reason="tie")
        return _Label(winners[0], share, partial=winners[0] is True and _partial(votes, read))


class _Label(NamedTuple):
    """What people say of one thing, and how many of them; or the reason why that is open."""

    value: Any = None
    share: float = 0.0
    reason: str = ""
    partial: bool = False


def _partial(votes: Sequence[Value], read: Sequence[Any]) -> bool:
    """Say whether most of those who said yes said that it is only in part."""
    said = [vote for vote, yes in zip(votes, read, strict=True) if yes is True]
    in_part = sum(isinstance(vote, str) and vote.strip().lower() == PARTLY for vote in said)
    return 2 * in_part > len(said)
