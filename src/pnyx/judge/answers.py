"""What a judge answers: a value with its probability and provenance, or honestly nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pnyx.judge.questions import JudgeQuestion

__all__ = ["Answer", "Judged", "Provenance", "Unscored", "answer_row", "verdict_fields"]

Value: TypeAlias = bool | float | str | list[Any]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who answered, and by what.

    Attributes:
        judge: the judge's name as shown to people, e.g. `minilm-int8@1` or `labels:gold.jsonl`.
        prompt_hash: SHA-256 of the rendered prompt and its parameters; empty where there is none.
        method: how the probability was obtained: `calibrated`, `stated`, `label` ...
        details: model, token counts, store key and whatever else explains the answer.
    """

    judge: str
    prompt_hash: str = ""
    method: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's answer.

    Attributes:
        value: bool (Support); number (Rating; of several dimensions, a list in their order);
            "a", "b" or "tie" (Preference); list of 0-based positions, best first (Ranking).
        probability: of *yes*, in [0, 1]; None where the judge gives none.
        explanation: the judge's reason in words; may be empty.
        evidence: the span of the judged text that decided, verbatim; may be empty.
        raw: the reply before parsing; empty where there is none.
    """

    value: Value
    provenance: Provenance
    probability: float | None = None
    explanation: str = ""
    evidence: str = ""
    raw: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Unscored:
    """No answer, and why. Never a zero, a coin flip or a NaN (docs/decisions/unscored.md).

    Attributes:
        reason: one short machine-readable word first, then detail, e.g. `refusal: ...`.
        raw: what came back, if anything.
    """

    reason: str
    provenance: Provenance
    raw: str = field(default="", repr=False)


Answer: TypeAlias = Judged | Unscored


def answer_row(question: JudgeQuestion, answer: Answer) -> dict[str, Any]:
    """Return the line of `answers.jsonl` for one answer (the file contract in docs/formats.md).

    Unknown fields of the item come first, so that they can never shadow a field of the answer.
    """
    return {
        **question.extra,
        "id": question.id,
        "task": question.task,
        "group": question.group,
        "dimension": question.extra.get("dimension"),
        **verdict_fields(answer),
    }


def verdict_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields of an `answers.jsonl` line that come from the answer alone."""
    judged = answer if isinstance(answer, Judged) else None
    return {
        "value": judged.value if judged else None,
        "probability": judged.probability if judged else None,
        "unscored": answer.reason if isinstance(answer, Unscored) else None,
        "explanation": judged.explanation if judged else "",
        "evidence": judged.evidence if judged else "",
        "judge": answer.provenance.judge,
        "method": answer.provenance.method,
        "prompt_hash": answer.provenance.prompt_hash,
    }
