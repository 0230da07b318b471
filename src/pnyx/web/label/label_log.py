"""The labels, replayed from the annotators' actions: nothing is lost, the last answer counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from pnyx.core.errors import InputError, shorten
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.questions import JudgeQuestion
from pnyx.web.label.forms import Marks

Does = Literal["answer", "skip", "draft", "undo"]
_DOES: Final = get_args(Does)

_UNDOES: Final = 1_000
"""How many of a person's latest acts can be undone, one after the other; all would fill memory."""


@dataclass(frozen=True, slots=True)
class Act:
    """One action of one person on one item; a line of the journal."""

    who: str  # the annotator
    item: str  # id of the item
    does: Does  # `answer`, `skip`, `draft` (not confirmed) or `undo`
    marks: Marks = ()  # the choices made
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    unsure: bool = False  # whether the person is unsure
    comment: str = ""  # in the person's words; for a skip the reason
    seconds: float | None = None  # spent on the item with its page in sight
    shown: str = ""  # which side came first (see `Form`)
    at: str = ""  # when, in UTC (ISO 8601)
    seen: str = ""  # the judge whose answer was seen before

    def row(self) -> dict[str, Any]:
        """Return the line of the journal: the values that differ from the defaults."""
        row: dict[str, Any] = {"who": self.who, "item": self.item, "does": self.does}
        if self.marks:
            row["marks"] = list(self.marks)
        if self.values:
            row["values"] = dict(self.values)
        for name in ("unsure", "comment", "seconds", "shown", "at", "seen"):
            value = getattr(self, name)
            if value not in (None, "") and value is not False:  # 0 seconds are kept
                row[name] = value
        return row

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Act:
        """Parse a line of the journal; InputError if it is invalid."""
        try:
            fields = dict(row)
            act = cls(**{**fields, "marks": tuple(fields.get("marks", ()))})
        except TypeError as error:
            raise InputError("is not a line of a journal") from error
        if act.does not in _DOES:
            raise InputError(f"does: found {shorten(act.does, 40)!r}, expected {', '.join(_DOES)}")
        return act


@dataclass(slots=True)
class State:
    """The state of one item for one person."""

    act: Act | None = None  # the answer or skip that counts
    draft: Act | None = None  # a draft begun after it
    version: int = 0  # number of the person's actions on the item
    ever: bool = False  # ever answered, even if taken back: a judge's answer was shown
    seen: str = ""  # the judge last named as seen

    @property
    def latest(self) -> Act | None:
        """The act that the form shows."""
        return self.draft or self.act

    @property
    def answered(self) -> bool:
        """Whether there is an answer, rather than nothing or a skip."""
        return self.act is not None and self.act.does == "answer"


_NOTHING: Final = State()


class Book:
    """All states, by annotator and item; only `apply` changes them."""

    def __init__(self, acts: Iterable[Act] = ()) -> None:
        self._states: dict[str, dict[str, State]] = {}
        self._done: dict[str, deque[tuple[str, Act | None]]] = {}
        """Annotator -> items answered or skipped, and the previous state of each."""
        self.count = 0
        for act in acts:
            self.apply(act)

    def apply(self, act: Act) -> State:
        """Apply an act and return the item's state.

        InputError if an undo is not of the last act.
        """
        done = self._done.setdefault(act.who, deque(maxlen=_UNDOES))
        if act.does == "undo" and (not done or done[-1][0] != act.item):
            raise InputError(f"{shorten(act.item, 40)!r} is not what was answered last")
        state = self._states.setdefault(act.who, {}).setdefault(act.item, State())
        if act.does == "undo":
            state.draft, state.act = state.act, done.pop()[1]
        elif act.does == "draft":
            state.draft = act
        else:
            done.append((act.item, state.act))
            state.act, state.draft = act, None
        state.version += 1
        state.ever = state.ever or act.does == "answer"
        state.seen = act.seen or state.seen
        self.count += 1
        return state

    def state(self, who: str, item: str) -> State:
        """Return the state of an item for a person."""
        return self._states.get(who, {}).get(item, _NOTHING)

    def last(self, who: str) -> str:
        """Return the item that an undo by this person would affect; empty for none."""
        done = self._done.get(who)
        return done[-1][0] if done else ""

    @property
    def people(self) -> list[str]:
        """Annotators in the order of their first act, without the adjudicator."""
        return [who for who in self._states if who != ADJUDICATED]

    def answers(self, item: str, *, adjudicated: bool = False) -> Iterator[Act]:
        """Yield the answers to an item; also the adjudicated one on demand."""
        for who, states in self._states.items():
            state = states.get(item)
            counts = adjudicated or who != ADJUDICATED
            if counts and state is not None and state.act is not None and state.answered:
                yield state.act


def label_rows(question: JudgeQuestion, answers: Iterable[Act]) -> list[dict[str, Any]]:
    """Return the lines of a labels file for one item, by annotator and dimension."""
    rows = []
    for act in sorted(answers, key=lambda act: act.who):
        for dimension, value in act.values.items():
            row: dict[str, Any] = {"id": question.id, "value": value, "annotator": act.who}
            row |= {"dimension": dimension} if dimension else {}
            row |= {"group": question.group} if question.group else {}
            row["uncertain"] = act.unsure
            for name in ("seconds", "comment", "shown", "seen", "at"):
                if (field_value := getattr(act, name)) not in (None, ""):
                    row[name] = field_value
            rows.append(row)
    return rows


def disputed(answers: Sequence[Act], steps: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the dimensions on which people differ; on `steps`, by more than one."""
    dimensions = []
    for dimension in answers[0].values if answers else ():
        values = [answer.values.get(dimension) for answer in answers]
        scale = steps.get(dimension)
        if scale is None:
            differ = any(value != values[0] for value in values)
        else:
            places = [scale.index(value) for value in values if value in scale]
            differ = bool(places) and max(places) - min(places) > (1 if len(scale) > 2 else 0)
        if differ:
            dimensions.append(dimension)
    return dimensions
