"""A judge's answer, a value with its provenance or why there is none, and a list of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, SupportsIndex, TypeAlias, TypeVar, overload

from pnyx.core.errors import shorten
from pnyx.core.restricted_mode import hides_text, reason_word, textless
from pnyx.core.tabular import Result

Value: TypeAlias = bool | float | str | list[Any]

A = TypeVar("A", "Judged", "Unscored", "Answer")

NOTES: dict[str, str] = {
    "repaired": "true: the first reply was unreadable; this one came after a repair turn",
    "lenient": "how the reply departs from the requested form, although it was readable: prose "
    '(its only JSON object is among other words), number (2.0 or "2" for 2, 90 % for 0.9), word '
    "(`Yes.` or true for yes, or only the word), fields (additional fields, null or a list as "
    "evidence, names in capitals), json (a comma before a bracket, a line break in a text), "
    "wrapper (a list or an object around the requested one), dimensions (the unreadable ones "
    "are unscored)",
    "batch": "how many questions shared the call",
    "probabilities": "probability of yes by method: stated, token",
    "dimensions": "of a rating: dimension -> why it is unscored",
    "reasons": "of a rating: dimension -> the reason for its score",
    "orders": "of a preference: the verdict for (a, b) and for (b, a), in terms of a and b; of a "
    "rating of two texts: the rating of each dimension in each order",
    "chances": "of a choice, as (a, b) and as (b, a): the token probability of a, b and tie",
    "rubric": "of a rating: dimension -> point -> its rating, or those in both orders",
    "documents": "of a rating: dimension -> the number for each document, in their order",
    "sentences": "of a rating by support: each sentence, whether it is supported, and the "
    "probability for each document it was compared with, by number",
    "counted": "of a rating by support: dimension -> number of scored verdicts, and of all",
    "yes": "of a rating by support: dimension -> share of the scored verdicts that are yes",
    "other": "of a rating of two texts: dimension -> the number for the second text; as the "
    "value, the mean of both orders if both were asked",
    "missing": "of a ranking: positions that the reply omitted; they are unranked",
    "repeated": "of a ranking: positions named twice; the first counts",
    "invented": "of a ranking: how many names are not those of a text",
    "votes": "of several judges or repeats: the value of each, null if unscored",
    "agreement": "share of the scored votes that are equal to the most frequent one",
    "spread": "standard deviation of the scored votes' numbers (population)",
    "stage": "of a cascade: the judge whose answer counts, cheap or strong",
    "contradiction": "true: the reply says yes with a probability below 0.5, or no with one above",
    "partial": "true: of human labels, most yes votes say only partially; of a nugget, the text "
    "covers it only in part, which is a no",
    "not_named": "true: the reply names the nuggets that the text covers, and not this one",
    "windows": "of a long ranking: the number of windows that were asked about",
    "kept": "of a long ranking: the number of windows without an answer, which kept their order",
    "uncalibrated": "the probability before recalibration",
}
"""Name of a note -> its meaning. Other names are never allowed."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who gave the answer, and how.

    Attributes:
        judge: the judge's name as displayed, e.g. `minilm-int8@1` or `labels:gold.jsonl`.
        prompt_hash: SHA-256 of the rendered prompt and its parameters; empty without one.
        method: how the answer was obtained: `calibrated`, `token`, `stated`, `label` ...
        details: model, token counts and other facts that explain the answer.
        asked: keys in the judgement store of all calls behind the answer, in order: first attempts,
            repair turns, calls shared with other questions, calls of several judges.
    """

    judge: str
    prompt_hash: str = ""
    method: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    asked: tuple[str, ...] = ()


def after(calls: Iterable[str], answer: A) -> A:
    """Return the answer with these calls before its own (`Provenance.asked`)."""
    keys = tuple(dict.fromkeys((*calls, *answer.provenance.asked)))
    return replace(answer, provenance=replace(answer.provenance, asked=keys))


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's answer.

    Attributes:
        value: bool (Support); number (Rating; of several dimensions, a list in their order with
            None for unscored ones); "a", "b" or "tie" (Preference); list of 0-based positions, best
            first (Ranking; omitted positions are unranked).
        probability: of *yes*, in [0, 1]; None if the judge gives none.
        explanation: the judge's reason in words; may be empty.
        evidence: the decisive span of the judged text, verbatim; may be empty.
        raw: the reply before parsing; empty if there is none.
        notes: facts that a reader of the answer needs, ready for JSON; see `NOTES`.
        question: the question answered; `pnyx.ask` sets it.
    """

    value: Value
    provenance: Provenance
    probability: float | None = None
    explanation: str = ""
    evidence: str = ""
    raw: str = field(default="", repr=False)
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    question: QuestionKind | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The id of the item; empty if the question is not available."""
        return self.question.id if self.question else ""


@dataclass(frozen=True, slots=True)
class Unscored:
    """No answer, and the reason; never a zero, a coin flip or a NaN.

    Why: docs/explain/decisions/unscored.md.

    `reason` starts with one short machine-readable word, followed by details, e.g. `refusal: ...`;
    `raw`, `notes` and `question` are as in `Judged`.
    """

    reason: str
    provenance: Provenance
    raw: str = field(default="", repr=False)
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    question: QuestionKind | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The id of the item; empty if the question is not available."""
        return self.question.id if self.question else ""


Answer: TypeAlias = Judged | Unscored


class Missing(str):
    """Why a question, or one dimension of it, has no value."""

    __slots__ = ()


class QuestionKind:
    """The common base of all kinds of question; a kind overrides what differs."""

    __slots__ = ()
    judged: ClassVar[tuple[str, ...]]  # the fields that must contain words
    counted: ClassVar[tuple[str, ...]] = ("majority",)
    count: ClassVar[Callable[..., Any]]
    yes_no: ClassVar[bool] = False  # whether there is a probability of yes
    id: str  # unique within one run over an items file
    task: str
    group: str  # the topic, for per-topic measures; may be empty
    extra: Mapping[str, Any]  # unknown fields of the items file, carried to the answers

    @property
    def parts(self) -> tuple[str, ...]:
        """The fields of this question that must contain words."""
        return self.judged

    @property
    def cells(self) -> tuple[str, ...]:
        """The `dimension` of each line with a label or answer of the question; "" for none."""
        return (str(self.extra.get("dimension") or ""),)

    @property
    def beginning(self) -> object:
        """The beginning of a prompt about the question, which servers reuse from call to call."""
        return self.task, self.id

    @property
    def shared(self) -> object:
        """The part that must be equal for questions with the same beginning to share a call."""
        return None

    @property
    def swapped(self) -> Any:
        """The question with both texts swapped, which must get the same answer; None without."""
        return None

    def fault(self) -> str:
        """Return why the question cannot be asked in its task, or an empty string."""
        return ""

    def value_of(self, value: Any) -> Any:
        """Return the answer that a file's value means on one line, or None if it is not valid."""
        raise NotImplementedError

    def compose(
        self,
        cells: Sequence[Any],
        provenance: Provenance,
        *,
        notes: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Answer:
        """Return an answer composed of `cells`: each a value or `Missing` with a reason."""
        (cell,) = cells
        if isinstance(cell, Missing):
            return Unscored(str(cell), provenance, notes=notes or {})
        return Judged(cell, provenance, notes=notes or {}, **fields)

    def lines(self, answer: Answer) -> list[tuple[str | None, dict[str, Any]]]:
        """Return the dimension of each line of the answer, and the fields of its verdict."""
        return [(self.extra.get("dimension"), verdict_fields(answer))]


QUOTED: Final = Provenance("verbatim", method="quoted")
"""The judge's name if the passage contains the sentence word for word."""


def is_quoted(answer: Answer | None) -> bool:
    """Return whether the cited passage contains the sentence word for word."""
    return isinstance(answer, Judged) and answer.provenance.method == QUOTED.method


def notes_on_reading(answers: Iterable[Answer]) -> dict[str, Any]:
    """Return the notes on reading replies that a combined answer inherits."""
    notes = [answer.notes for answer in answers]
    lenient = sorted({how for note in notes for how in note.get("lenient", ())})
    repaired = any(note.get("repaired") for note in notes)
    return {**({"repaired": True} if repaired else {}), **({"lenient": lenient} if lenient else {})}


def answer_rows(question: QuestionKind, answer: Answer) -> list[dict[str, Any]]:
    """Return the lines of an answer, one per dimension; unknown fields of the item come first."""
    base = {**question.extra, "id": question.id, "task": question.task, "group": question.group}
    rows = [
        {**base, "dimension": dimension, **fields} for dimension, fields in question.lines(answer)
    ]
    return textless(rows) if hides_text() else rows


def verdict_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields of an `answers.jsonl` line that come from the answer alone."""
    judged, by = answer if isinstance(answer, Judged) else None, answer.provenance
    return {
        "value": judged.value if judged else None,
        "probability": judged.probability if judged else None,
        "unscored": answer.reason if isinstance(answer, Unscored) else None,
        "explanation": judged.explanation if judged else "",
        "evidence": judged.evidence if judged else "",
        "judge": answer.provenance.judge,
        "method": answer.provenance.method,
        "prompt_hash": answer.provenance.prompt_hash,
        "notes": dict(answer.notes) or None,
        **({"threshold": by.details["threshold"]} if "threshold" in by.details else {}),
        **({"asked": list(by.asked)} if by.asked else {}),
    }


def answer_of_row(row: Mapping[str, Any]) -> Answer:
    """Return the answer that a line of `answer_rows` describes; a rating has several lines."""
    by = Provenance(row["judge"], row["prompt_hash"], row["method"], asked=asked_of(row))
    notes = row["notes"] or {}
    if row["unscored"] is not None:
        return Unscored(row["unscored"], by, notes=notes)
    texts = {name: row[name] for name in ("probability", "explanation", "evidence")}
    return Judged(row["value"], by, **texts, notes=notes)


def asked_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the store keys of the calls behind a line of answers; empty if it names none."""
    keys = row.get("asked")
    return tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else ()


ANSWERS = "answers.jsonl"
MANIFEST = "manifest.json"


_COUNTED = {"missing": "partly_ranked", "lenient": "read_leniently"}
"""Notes that readers of a summary need -> their names in the summary."""


def tally(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `asked`, `scored`, `unscored`, `reasons` (most frequent first), and any `NOTES`."""
    count, reasons, noted = 0, Counter[str](), Counter[str]()
    for row in rows:
        count += 1
        noted.update(name for note, name in _COUNTED.items() if note in (row.get("notes") or ()))
        if row["unscored"] is not None:
            reasons[reason_word(row["unscored"])] += 1
    return {
        "asked": count,
        "scored": count - reasons.total(),
        "unscored": reasons.total(),
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        **noted,
    }


def now() -> str:
    """Return the time in UTC in the format of the rows."""
    return datetime.now(UTC).isoformat(timespec="seconds")


_SHOWN: Final = ("id", "dimension", "value", "probability", "unscored", "explanation")
_FIRST: Final = 10  # answers that `print` shows


class Answers(Result, list[Answer]):
    """The result of `pnyx.ask`: a list of answers that prints as a summary.

    `answers[0].value`, `answers[:5]`, `for answer in answers` and `len(answers)` work as for any
    list; `answers.to_frame()` is a data frame with the fields of an answers file.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Answer: ...

    @overload
    def __getitem__(self, index: slice) -> Answers: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Answer | Answers:
        chosen = list.__getitem__(self, index)
        return Answers(chosen) if isinstance(chosen, list) else chosen

    def rows(self) -> list[dict[str, Any]]:
        """Return the lines of an answers file: one per answer, or per dimension of a rating."""
        return [row for answer in self for row in _rows(answer)]

    def _heading(self) -> list[str]:
        scored = [answer.value for answer in self if isinstance(answer, Judged)]
        counts = {"scored": len(scored)}
        if scored and all(isinstance(value, bool) for value in scored):
            counts = {"yes": scored.count(True), "no": scored.count(False)}
        elif scored and all(isinstance(value, str) for value in scored):
            counts = dict(Counter(shorten(value, 20) for value in scored).most_common(5))
        counts["unscored"] = len(self) - len(scored)
        listed = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        names = dict.fromkeys(answer.provenance.judge for answer in self)
        judges = f" (judge: {', '.join(shorten(name, 40) for name in names)})" if names else ""
        return [f"{len(self):,} answer{'s' * (len(self) != 1)}: {listed}{judges}"]

    def _main_rows(self, rows: Sequence[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
        nothing = dict.fromkeys(_SHOWN)
        return [{name: row.get(name) for name in _SHOWN} for row in rows[:_FIRST]] or [nothing]


def _rows(answer: Answer) -> list[dict[str, Any]]:
    if answer.question is None:  # not made by `ask`
        return [{"id": None, **verdict_fields(answer)}]
    return answer_rows(answer.question, answer)
