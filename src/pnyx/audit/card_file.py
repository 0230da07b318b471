"""Reader of a judge's card, which checks every field; pydantic makes this slow to import."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import model_validator

from pnyx.audit.card import alpha_of
from pnyx.audit.trials.trials import TRIALS
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_json
from pnyx.formats.rows import Number, Row, checked, must, says

_ABSENT: Any = None
"""Default of a field that may be missing but is never null."""

_Count = Annotated[int, must(lambda value: value >= 0, "a count")]
_Share = Annotated[Number, must(lambda value: 0 <= value <= 1, "a number from 0 to 1")]
_Trial = Annotated[str, must(lambda value: value in TRIALS, f"one of {', '.join(TRIALS)}")]
_Pair = Annotated[list[str], must(lambda value: len(value) >= 2, "two names")]
_Column = Annotated[
    str, must(lambda value: re.fullmatch(r"(-|\d+)( (-|\d+))*", value), "numbers between blanks")
]


class _Figure(Row):
    value: Number | None
    low: Number | None
    high: Number | None


class _Counts(Row):
    asked: _Count
    scored: _Count

    @model_validator(mode="after")
    def _adds_up(self) -> _Counts:
        if self.scored > self.asked:
            raise says(f": {self.scored} are scored of {self.asked} asked")
        return self


class _Compared(Row):
    kind: str
    between: _Pair
    mean: dict[str, _Figure]


class _Agreement(Row):
    compared: list[_Compared]


class _Calibration(Row):
    measures: dict[str, _Figure]


class _Outcomes(Row):
    sha256: str
    group: _Column
    label: _Column
    value: _Column
    probability: _Column

    @model_validator(mode="after")
    def _are_of_the_same_items(self) -> _Outcomes:
        columns = (self.group, self.label, self.value, self.probability)
        if len({len(column.split()) for column in columns}) > 1:
            raise says(": group, label, value and probability are not of equally many items")
        return self


class _AskedResults(Row):
    task: str
    items_sha256: str
    counts: _Counts
    agreement: _Agreement = _ABSENT
    calibration: _Calibration | None = None
    measures: dict[str, _Figure] = _ABSENT
    outcomes: _Outcomes = _ABSENT

    @model_validator(mode="after")
    def _has_alpha(self) -> _AskedResults:
        alpha = alpha_of(self.task)
        compared = self.agreement.compared if self.agreement else ()
        if any(c.kind == "human-judge" and alpha not in c.mean for c in compared):
            raise says(f": agreement: no {alpha}, expected it of the task {shorten(self.task, 40)}")
        return self


class _TrialResult(Row):
    task: str
    trial: _Trial
    items_sha256: str
    outcome: str
    primary: str
    measures: dict[str, _Figure]

    @model_validator(mode="after")
    def _has_primary(self) -> _TrialResult:
        if self.primary not in self.measures:
            raise says(": its primary measure is missing")
        return self


class Card(Row):
    """The fields of a card that `pnyx audit card --against` and `pnyx check` read."""

    format: Literal["pnyx-card"]
    judge: str
    asked: list[_AskedResults]
    trials: list[_TrialResult]
    margin: _Share = _ABSENT
    record: dict[str, Any] = _ABSENT


def read_card(path: str) -> dict[str, Any]:
    """Return a card of `pnyx audit card` or `audit run`; InputError if it is none, or damaged."""
    card = read_json(path)
    if card is None or card.get("format") != "pnyx-card":
        raise InputError("expected a card of pnyx audit card or audit run, in JSON", path=path)
    check_card(card, path)
    return card


def check_card(card: Mapping[str, Any], path: str | Path | None = None) -> None:
    """Raise InputError, with its position, at the first field that is not as Pnyx writes it."""
    try:
        checked(Card, dict(card))
    except InputError as error:
        raise InputError(f"is not a card as pnyx writes it: {error.problem}", path=path) from error
