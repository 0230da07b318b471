"""Which side each passage argues, by a language model that reads a whole ranking in few calls.

The model is first asked about texts with a known side: the two claims, and a text about neither.
If it passes, it is asked about batches of passages, and again, in the opposite order, about those
that are unsure (docs/explain/decisions/main-job.md, "With a language model").
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pnyx.cases.passage_sides import BY_MODEL, SideChances
from pnyx.core.errors import shorten
from pnyx.formats.text.segment import trim
from pnyx.judging.answers import Provenance
from pnyx.judging.llm.concurrent import split_evenly
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.statements import statements_of
from pnyx.models.http.flow import run_all

if TYPE_CHECKING:
    import pydantic

    from pnyx.core.records import Question
    from pnyx.judging.store.completions import StoredModel


@dataclass(frozen=True, slots=True)
class Weighing:
    """How far a language model's answers on one question are used, and why.

    Attributes:
        model: its name.
        weight: share of the passages it was asked about on which its answer decides, in [0, 1]; 0
            if it did not pass the control.
        why: one line for people.
        asked: how many passages it was asked about.
        scored: how many of these it answered.
        again: how many it was asked about in both orders.
        agreed: on how many of these both answers were the same.
        unscored: how many answers are missing: passages, or 1 for the control.
        reason: why most of these are missing; empty where none is.
    """

    model: str
    weight: float
    why: str
    asked: int = 0
    scored: int = 0
    again: int = 0
    agreed: int = 0
    unscored: int = 0
    reason: str = ""

    @property
    def said(self) -> str:
        """Who decided the sides, and why; one sentence."""
        if self.weight:
            return f"{self.model} decided the sides of {self.scored} passages: {self.why}"
        return f"The packaged judge decided the sides, not {self.model}: {self.why}"

    @property
    def doubt(self) -> str:
        """A warning for the reader; empty if the model decided all that it was asked."""
        return self.said if not self.weight or self.unscored else ""

    def row(self) -> dict[str, Any]:
        """Return its fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


PROMPT: Final = "passage-sides"

BATCH: Final = 24
"""Passages of one call, at most: 24 of 120 words are about 4,500 tokens."""

_WORDS: Final = 120
"""Words of a passage shown to the model, as counted by `trim`."""

_ANSWERS: Final = ("yes", "no", "both", "neither")

_CONFIDENT: Final = 0.75
"""Confidence of the model below which it is asked again in the opposite order."""

_CONFIDENCES: Final = (0.5, 0.98)
"""The least and the greatest probability of one answer of the model."""

_LEAST_PERCENT: Final = 10.0
"""A greater confidence is a percentage; from 1 to 10 it may be on a scale of ten, and counts as
missing."""

_PRIOR: Final = (0.3, 0.3, 0.1, 0.3)
"""Prior of yes, no, both and neither; it divides the probability that an answer leaves."""

_CONTROL: Final = "The library opens at nine in the morning and closes at five in the afternoon."
"""A text that argues for neither claim."""

_SPLITS: Final = ("too_long", "length", "empty")
"""Failures after which a call is split into halves."""


@dataclass(frozen=True, slots=True)
class PassageAnswer:
    """The model's answer on one passage: yes, no, both or neither, with a confidence."""

    side: str
    confidence: float  # in `_CONFIDENCES`
    prompt_hash: str = ""
    calls: tuple[str, ...] = ()  # keys of the calls in the store


class ModelSides:
    """Asks a language model which side of a question each passage argues.

    Args:
        model: the model, with its store.
        question: the question; `claims` define its two sides, if known.
        most: if a reply is missing, ask everything that could be asked, to estimate the cost.
    """

    def __init__(self, model: StoredModel, question: Question, *, most: bool = False) -> None:
        self._model, self._question, self._most = model, question, most
        self.name = f"{model.name}+sides"
        self.weighing: Weighing | None = None
        self.passed = False  # the control
        self.missing = False  # whether a reply is missing from the store, offline

    @property
    def card(self) -> str:
        """Who decided the sides, and why; empty until known."""
        return "" if self.weighing is None else self.weighing.said

    async def judge(self, texts: Sequence[str]) -> list[SideChances | str]:
        """Return the probabilities of each text, or why the model gives none."""
        problem, reason = await self._control()
        if problem and not (self._most and self.missing):
            self.weighing = Weighing(
                self._model.name, 0.0, problem, unscored=int(bool(reason)), reason=reason
            )
            return [problem] * len(texts)
        self.passed = True
        answers = await self._in_batches(texts)
        unsure = self._unsure(answers)[::-1]
        second = dict(zip(unsure, await self._in_batches([texts[i] for i in unsure]), strict=True))
        pairs = [(answer, second.get(i)) for i, answer in enumerate(answers)]
        self.weighing = self._weighed(pairs)
        chances: list[SideChances | str] = []
        for pair in pairs:
            scored = [answer for answer in pair if isinstance(answer, PassageAnswer)]
            chances.append(self._joined(scored) if scored else str(pair[0]))
        return chances

    async def _control(self) -> tuple[str, str]:
        """Return why the model is not used, if so, and why its answer is missing, if it is.

        It must classify both claims correctly; if it is right about one of them, it is asked once
        more, with the texts in the opposite order.
        """
        pro, con = statements_of(self._question)
        expected = {pro: "yes", con: "no"}
        seed = hashlib.sha256(self._question.text.encode("utf-8", "replace")).digest()[0]
        texts = [pro, con, _CONTROL]
        texts = texts[seed % 3 :] + texts[: seed % 3]
        for order in (texts, texts[::-1]):
            answer_of = dict(zip(order, await self._listed(order), strict=True))
            answers = {text: answer_of[text] for text in expected}
            missing = [answer for answer in answers.values() if isinstance(answer, str)]
            if missing and not self._most:
                return f"it did not answer which claim is which ({missing[0]})", missing[0]
            right = sum(
                isinstance(answer, PassageAnswer) and answer.side == expected[text]
                for text, answer in answers.items()
            )
            if right == 2:
                return "", ""
            if not right and not missing:
                break
        sides = ", ".join(f"{getattr(answer, 'side', '?')!r}" for answer in answers.values())
        return f"asked which side the two claims themselves argue, it said {sides}", ""

    async def _in_batches(self, texts: Sequence[str]) -> list[PassageAnswer | str]:
        """Ask about texts in batches of about the same size."""
        answer_at: dict[int, PassageAnswer | str] = {}

        async def ask(batch: list[int]) -> None:
            answers = await self._listed([texts[position] for position in batch])
            answer_at.update(zip(batch, answers, strict=True))

        batches = split_evenly(range(len(texts)), BATCH)
        async with self._model.running():
            await run_all(batches, ask, workers=self._model.concurrency)
        return [answer_at[position] for position in range(len(texts))]

    async def _listed(self, texts: Sequence[str]) -> list[PassageAnswer | str]:
        """Ask about texts in one call; return an answer for each, or why there is none."""
        pro, con = statements_of(self._question)
        inputs = {
            "question": self._question.text,
            "yes": pro,
            "no": con,
            "criterion": self._question.definition,
            "passages": [trim(text, _WORDS) for text in texts],
        }
        request = load_prompt(PROMPT).request(inputs, items=len(texts))
        shape: type[Any] = _reply_shape()
        sent: list[str] = []
        reply, problems = await ask_structured(self._model, request, shape, sent)
        if reply is None:
            reason = problems[-1]
            self.missing |= reason.startswith("not_in_store")
            if len(texts) > 1 and reason.startswith(_SPLITS):
                half = len(texts) // 2
                return [*await self._listed(texts[:half]), *await self._listed(texts[half:])]
            return [reason] * len(texts)
        answers = _by_number(reply.passages)
        return [
            replace(answer, prompt_hash=request.hash, calls=tuple(sent))
            if (answer := answers.get(number)) is not None
            else "missing: not in the reply, without a confidence, or answered twice differently"
            for number in range(1, len(texts) + 1)
        ]

    def _unsure(self, answers: Sequence[PassageAnswer | str]) -> list[int]:
        """Return the positions of passages to ask about in the opposite order."""
        return [
            position
            for position, answer in enumerate(answers)
            if (
                self._most or answer.startswith("missing:")
                if isinstance(answer, str)
                else answer.side == "both" or answer.confidence < _CONFIDENT
            )
        ]

    def _weighed(self, pairs: Sequence[tuple[PassageAnswer | str, Any]]) -> Weighing:
        answered = [any(isinstance(answer, PassageAnswer) for answer in pair) for pair in pairs]
        twice = [(a.side, b.side) for a, b in pairs
                 if isinstance(a, PassageAnswer) and isinstance(b, PassageAnswer)]  # fmt: skip
        total, scored, again = len(pairs), sum(answered), len(twice)
        agreed = sum(first == second for first, second in twice)
        reasons = Counter(
            pair[0] for pair, ok in zip(pairs, answered, strict=True)
            if not ok and isinstance(pair[0], str)
        )  # fmt: skip
        reason = max(reasons, key=reasons.__getitem__, default="")
        why = f"it classified both claims correctly, and answered on {scored} of {total}"
        if again:
            why += f"; asked again about {again} in the opposite order, it agreed on {agreed}"
        if reason:
            short_reason = shorten(reason, 100)
            why += f"; the packaged judge decided the other {total - scored} ({short_reason})"
        weight = round(scored / total, 4) if total else 0.0
        unscored = total - scored
        return Weighing(
            self._model.name, weight, why, total, scored, again, agreed, unscored, reason
        )

    def _joined(self, answers: Sequence[PassageAnswer]) -> SideChances:
        """Return the probabilities from the model's one or two answers on a passage."""
        shares = joined_shares(answers)
        pro, con = shares[0] + shares[2] / 2, shares[1] + shares[2] / 2
        details: Mapping[str, Any] = {
            "model": [{"side": a.side, "confidence": a.confidence} for a in answers]
        }
        calls = tuple(dict.fromkeys(key for answer in answers for key in answer.calls))
        by = Provenance(self.name, answers[0].prompt_hash, BY_MODEL, details, calls)
        listed = " and ".join(f"{a.side} ({a.confidence:.2f})" for a in answers)
        explanation = f"{self._model.name} says {listed}"
        return SideChances(round(pro, 6), round(con, 6), by, explanation)


def joined_shares(answers: Sequence[PassageAnswer]) -> tuple[float, float, float, float]:
    """Return the probabilities of yes, no, both and neither from one or two answers.

    An answer gets its confidence, and the others share the rest by `_PRIOR`. Two answers are
    combined by the geometric mean: if they differ, the more confident one is likelier.
    """
    logs = np.zeros(len(_ANSWERS))
    for answer in answers:
        position = _ANSWERS.index(answer.side)
        rest = np.array(_PRIOR)
        rest[position] = 0.0
        shares = rest / rest.sum() * (1.0 - answer.confidence)
        shares[position] = answer.confidence
        logs += np.log(shares) / len(answers)
    joined = np.exp(logs - logs.max())
    yes, no, both, neither = (joined / joined.sum()).tolist()
    return yes, no, both, neither


def _by_number(entries: Sequence[Any]) -> dict[int, PassageAnswer]:
    """Return the answers of a reply by the passages' numbers; contradictory ones are left out."""
    answers: dict[int, PassageAnswer] = {}
    contradicted: set[int] = set()
    for entry in entries:
        earlier = answers.get(entry.id)
        if earlier is not None and earlier.side != entry.side:
            contradicted.add(entry.id)
        confidence = _confidence(entry.confidence)
        if confidence is not None:  # no probability is stated: treated as not answered
            answers[entry.id] = PassageAnswer(entry.side, confidence)
    return {number: answer for number, answer in answers.items() if number not in contradicted}


def _confidence(stated: float | None) -> float | None:
    """Return a confidence as a probability; None if it is not one."""
    if stated is None or not (0.0 <= stated <= 1.0 or _LEAST_PERCENT < stated <= 100.0):
        return None
    share = stated if stated <= 1.0 else stated / 100.0
    return float(np.clip(share, *_CONFIDENCES))


@cache
def _reply_shape() -> type[pydantic.BaseModel]:
    """Build the reply's shape on first use: pydantic is slow to import.

    Its schema is strict; further fields are still accepted, and a missing confidence affects only
    its own passage.
    """
    import pydantic

    side: Any = (str, pydantic.Field(json_schema_extra={"enum": list(_ANSWERS)}))
    number: Any = {"type": "number", "minimum": 0, "maximum": 1}
    stated: Any = (float | None, pydantic.Field(None, json_schema_extra=number))
    fields = ["id", "side", "confidence"]
    entry: Any = pydantic.create_model(
        "PassageSide",
        __config__=_sent_strictly(fields),
        __validators__={"lower_side": pydantic.field_validator("side")(_side)},
        id=(int, ...),
        side=side,
        confidence=stated,
    )
    return pydantic.create_model(
        "PassageSides", __config__=_sent_strictly(["passages"]), passages=(list[entry], ...)
    )


def _sent_strictly(fields: list[str]) -> pydantic.ConfigDict:
    closed: Any = {"additionalProperties": False, "required": fields}
    return {"json_schema_extra": closed}


def _side(text: str) -> str:
    word = text.strip().strip(".").casefold()
    if word not in _ANSWERS:
        raise ValueError(f"expected one of {', '.join(_ANSWERS)}")
    return word
