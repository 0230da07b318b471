"""Sides told by a language model as far as its answers carry information, else without it.

A small model says yes to everything, or takes what comes first. So a model is asked which of the
two claims a text argues for, in both orders, first of texts whose side is known: the claims
themselves. How its answers count is in docs/decisions/main-job.md, "With a language model".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, Judge, ask_async, of_kind
from pnyx.judge.calibration.curves import log_odds, logistic
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.stances import ask_claims
from pnyx.judge.statements import statements_of
from pnyx.records import Question

SHIFT: Final = "about"
"""Detail of a verdict: what the model's "neither" does to the log-odds of relevance."""

_WORDS: Final = 120
"""Words of a text that the model is shown: its side shows early, and reading costs most."""

_MOST: Final = 4.0
"""Log-odds to which one answer is held (.98): a single word is no surer than that."""

_SAID: Final = 0.95
"""What a word counts where the server gives no probabilities."""

_APART: Final = 2.0
"""The least log-odds between the two claims themselves: about .73 for the right one of each."""

_RELIABLE: Final = 0.5
"""The least reliability: half of the variance is the texts', not the order's or chance."""

_ASIDE: Final = "The library opens at nine in the morning and closes at five in the afternoon."
"""A text that argues for neither claim."""


@dataclass(frozen=True, slots=True)
class SideOdds:
    """What a model said of one text, asked with the claims in either order."""

    odds: tuple[float, float]  # of pro against con, log, within 4 of 0
    neither: tuple[float, float]  # log-odds of neither, within 4 of 0

    @property
    def side(self) -> float:
        """Log-odds of pro, the preference for what comes first cancelled."""
        return sum(self.odds) / 2

    @property
    def aside(self) -> float:
        """Log-odds of neither."""
        return sum(self.neither) / 2


@dataclass(frozen=True, slots=True)
class Control:
    """What a model said of texts whose answer is known; None where it did not answer."""

    pro: SideOdds | None
    con: SideOdds | None
    aside: SideOdds | None = None

    @property
    def apart(self) -> float | None:
        """Log-odds between the claims themselves: positive where it tells them rightly."""
        return None if self.pro is None or self.con is None else self.pro.side - self.con.side

    @property
    def lean(self) -> float:
        """Log-odds of pro of what is on neither side, by the middle of the claims."""
        known = [one.side for one in (self.pro, self.con) if one is not None]
        return sum(known) / len(known) if known else 0.0

    @property
    def says_neither(self) -> bool:
        """Whether it says neither of what argues for neither, and not of the claims."""
        claimed = [one for one in (self.pro, self.con) if one is not None]
        told = self.aside is not None and min(self.aside.neither) > 0.0
        return told and all(one.aside < 0.0 for one in claimed)


@dataclass(frozen=True, slots=True)
class Weighing:
    """How much a language model's answers on one question count, and why."""

    model: str  # its name
    weight: float  # of its log-odds, 0 (the packaged judge alone) to 1
    why: str  # one line for people
    asked: int = 0  # how many texts it was asked about
    scored: int = 0  # on how many of these its answer is known
    apart: float | None = None  # see `Control.apart`
    reliability: float | None = None  # by how well both orders agree, at most 1

    @property
    def said(self) -> str:
        """Who told the sides, and why; one sentence."""
        if self.weight:
            return f"{self.model} told the sides, with weight {self.weight:.2f}: {self.why}"
        return f"The packaged judge told the sides, not {self.model}: {self.why}"

    def row(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def choice_of(answer: Answer) -> SideOdds | None:
    """Return what an answer to `ask_claims` says; None where there is none."""
    if not isinstance(answer, Judged):
        return None
    chances = answer.notes.get("chances") or [_worded(v) for v in answer.notes.get("orders", ())]
    if len(chances) != 2:
        return None
    sides = [_held(c["a"] + c["tie"] / 2, c["b"] + c["tie"] / 2) for c in chances]
    neither = [_held(c["tie"], c["a"] + c["b"]) for c in chances]
    return SideOdds((sides[0], sides[1]), (neither[0], neither[1]))


def _held(one: float, other: float) -> float:
    return float(np.clip(np.log(one / other), -_MOST, _MOST))


def _worded(value: str) -> Mapping[str, float]:
    """Return the probabilities that a bare word stands for."""
    rest = (1.0 - _SAID) / 2
    return {one: _SAID if one == value else rest for one in ("a", "b", "tie")}


def weigh(model: str, control: Control, choices: Sequence[SideOdds | None]) -> Weighing:
    """Return how much a model's answers on texts of one question count.

    A model that does not tell the claims themselves apart has no weight. Else it is the reliability
    of the mean of both orders (Spearman and Brown, two halves), over texts and claims, if that is
    at least .5: shared variance of the orders, what the order alone does taken away.
    """
    known = [one for one in (*choices, control.pro, control.con) if one is not None]
    count = {"asked": len(choices), "scored": sum(one is not None for one in choices)}
    apart = control.apart
    if apart is None or apart < _APART:
        told = "did not answer on" if apart is None else "does not tell apart"
        seen = "" if apart is None else f" (log-odds {apart:.2f}, at least {_APART:g} wanted)"
        why = f"it {told} the two claims themselves, asked in both orders{seen}"
        return Weighing(model, 0.0, why, **count, apart=apart)
    sure = _reliability(np.array([one.odds for one in known]))
    weight = sure if sure >= _RELIABLE else 0.0
    agree = "agree" if weight else "do not agree"
    why = f"its answers in the two orders {agree} (reliability {sure:.2f})"
    return Weighing(model, round(weight, 4), why, **count, apart=apart, reliability=round(sure, 4))


def _reliability(odds: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the reliability of the mean of two orders, float64 [texts, 2]; 0 without variance."""
    apart = odds - odds.mean(axis=0)
    whole = float((apart**2).sum())
    agreement = 2.0 * float((apart[:, 0] * apart[:, 1]).sum()) / whole if whole else 0.0
    return max(0.0, 2.0 * agreement / (1.0 + agreement)) if agreement > -1.0 else 0.0


class WeighedSides:
    """Answers stance questions of one question by a language model and by the packaged judge.

    Log-odds are added, the model's with its weight (`weigh`, kept in `weighed`). Where that is 0,
    and for texts beyond `most`, the packaged judge's answer stands. A text on which a model that
    counts gave no answer is unscored; so are all texts where it gave none on the claims.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, model: Judge, packaged: Judge, question: Question, most: int) -> None:
        self._model, self._packaged = model, packaged
        self._question, self._most = question, most
        self.weighed: Weighing | None = None

    @property
    def name(self) -> str:
        """The model's name, with what it is asked."""
        return f"{self._model.name}+sides"

    @property
    def card(self) -> str:
        """Who told the sides, and why; empty before that is known."""
        return "" if self.weighed is None else self.weighed.said

    @property
    def cards(self) -> dict[str, str]:
        """Name -> card of it and of the packaged judge beside it."""
        return {self.name: self.card, self._packaged.name: self._packaged.card}

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        asked = of_kind(Support, questions, self.name)
        if not asked:
            return
        packaged = await ask_async(self._packaged, asked)
        texts = list(dict.fromkeys(one.text for one in asked))
        control, missing = await self._control()
        answers: list[Answer] = []
        if control.apart is not None and control.apart >= _APART:
            answers = await self._ask(texts[: self._most])
        choices = list(map(choice_of, answers))
        self.weighed = weigh(self._model.name, control, choices)
        if isinstance(missing, Unscored):
            answers, choices = [missing] * len(texts), [None] * len(texts)
        heard = dict(zip(texts, zip(answers, choices, strict=True), strict=False))
        pro = statements_of(self._question)[0]
        for place, (one, other) in enumerate(zip(asked, packaged, strict=True)):
            answer, choice = heard.get(one.text, (None, None))
            counts = self.weighed.weight > 0.0 or isinstance(missing, Unscored)
            if answer is None or not counts:
                emit(place, other)
            elif choice is None:
                emit(place, _unscored(answer, self.name))
            else:
                emit(place, self._verdict(choice, control, other, one.statement == pro))

    async def _control(self) -> tuple[Control, Answer | None]:
        """Ask about the claims and, once told apart, about neither; return what is missing, too."""
        known = await self._ask(statements_of(self._question))
        pro, con = map(choice_of, known)
        missing = next((a for a in known if isinstance(a, Unscored)), None)
        control = Control(pro, con)
        if control.apart is None or control.apart < _APART:
            return control, missing
        (aside,) = await self._ask([_ASIDE])
        return Control(pro, con, choice_of(aside)), missing

    async def _ask(self, texts: Sequence[str]) -> list[Answer]:
        asked = self._question
        made = (
            ask_claims(
                f"sides/{place}",
                asked.text,
                _cut(text),
                definition=asked.definition,
                given=asked.claims,
            )
            for place, text in enumerate(texts)
        )
        return await ask_async(self._model, list(made))

    def _verdict(
        self, choice: SideOdds, control: Control, packaged: Answer, is_pro: bool
    ) -> Judged:
        assert self.weighed is not None  # noqa: S101 - it was weighed before
        weight, sign = self.weighed.weight, 1.0 if is_pro else -1.0
        chance = packaged.probability if isinstance(packaged, Judged) else None
        local = 0.0 if chance is None else float(log_odds([chance])[0])
        own = sign * (choice.side - control.lean)
        both = logistic(np.array([own, local + weight * own])).round(6).tolist()
        about = -sum(choice.neither) if control.says_neither else min(0.0, -choice.aside)
        details = {
            "model": both[0],
            "packaged": chance,
            "weight": weight,
            "orders": [round(sign * one, 4) for one in choice.odds],
            SHIFT: round(weight * about, 4),
        }
        first, second = logistic(sign * np.array(choice.odds)).tolist()
        said = f"model {first:.2f} and {second:.2f} in the two orders"
        said += "" if chance is None else f", packaged judge {chance:.2f}"
        provenance = Provenance(self.name, method="weighed", details=details)
        return Judged(both[1] >= 0.5, provenance, both[1], explanation=said)


def _unscored(answer: Answer, name: str) -> Unscored:
    reason = answer.reason if isinstance(answer, Unscored) else "choice: none in both orders"
    return Unscored(reason, Provenance(name, method="weighed"))


def _cut(text: str) -> str:
    words = text.split()
    return text if len(words) <= _WORDS else " ".join(words[:_WORDS])
