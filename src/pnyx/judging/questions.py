"""The four kinds of question for judges (docs/explain/architecture.md, "The one idea").

A question's task selects prompt and calibration; its kind determines the type of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.core.errors import shorten
from pnyx.formats.label_words import LABEL_WORDS
from pnyx.judging import votes
from pnyx.judging.answers import (
    Answer,
    Judged,
    Missing,
    Provenance,
    QuestionKind,
    Unscored,
    Value,
    notes_on_reading,
    verdict_fields,
)
from pnyx.judging.dimensions import Dimension, Scale, aspect_of, dimensions_of, normalised, scale_of

if TYPE_CHECKING:
    from pnyx.judging.dimensions.own import OwnDimensions

_YES_NO = {**LABEL_WORDS, "true": True, "false": False}


AGAIN = "again~"
"""Field of a question that is repeated in the same words: its number, from 1. A stored reply to
another number does not answer it."""


def _extra() -> Any:
    return field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Shot:
    """An answered question shown as an example before the actual one (few-shot)."""

    text: str
    statement: str
    yes: bool
    partial: bool = False  # for a nugget: a no that is covered in part
    question: str = ""  # the question that the statement answers


@dataclass(frozen=True, slots=True)
class RatedShot:
    """A rated text shown before the question; `scores` are (dimension, number on its scale)."""

    text: str
    scores: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Support(QuestionKind):
    """Does `text` support `statement`? Answered by a bool with the probability of yes.

    Attributes:
        statement: the statement to be supported, or the question to be answered.
        question: the contentious question behind the statement, if any.
        guideline: a relevance definition or other instruction for the judge.
        shots: examples, for prompts with examples.
        opposite: the opposing statement, if it does not follow from the question.
        cites: whether the statement is a sentence that cites the text, and so must follow from it;
            otherwise the text may support it by implication (a perspective).
        from_answer: whether the statement is a sentence of a generated answer, and the text was
            retrieved for it.
        submitter: owner of the question; questions of different submitters never share a call, as
            one could influence the answers to the others.
    """

    judged = ("text", "statement")
    counted = ("majority", "mean")
    yes_no = True
    count = votes.count_verdicts

    id: str
    text: str
    statement: str
    task: str = "support"
    question: str = ""
    guideline: str = ""
    group: str = ""
    extra: Mapping[str, Any] = _extra()
    shots: tuple[Shot, ...] = ()
    opposite: str = ""
    cites: bool = field(default=False, repr=False)  # not in item hashes, so old runs can resume
    from_answer: bool = field(default=False, repr=False)
    submitter: str = field(default="", repr=False)

    @property
    def sought(self) -> str:
        """Statement and guideline together: the text that an encoder compares with."""
        return f"{self.statement} {self.guideline}".strip()

    @property
    def beginning(self) -> object:  # noqa: D102
        return self.task, self.text

    @property
    def shared(self) -> object:  # noqa: D102
        # A list of nuggets shows each with its own question.
        question = "" if self.task == "nugget" else self.question
        return self.guideline, question, self.shots, self.submitter

    def value_of(self, value: Any) -> Any:
        """Read yes and no, also as 1 and 0 or as words in any case ("partially" is yes)."""
        if isinstance(value, str):
            return _YES_NO.get(value.strip().lower())
        return bool(value) if value in (True, False) else None


@dataclass(frozen=True, slots=True)
class Rating(QuestionKind):
    """How good is `text` on each of `dimensions`? Answered by a number on `scale` for each.

    Attributes:
        text: the rated text; empty if only the documents are rated.
        dimensions: names of the dimensions, at least one.
        scale: lowest and highest value, both allowed.
        question: the topic of the text, if any.
        stance: `pro`, `con` or empty: the side that the text takes.
        documents: the documents that the text is based on, if the judge should see them.
        other: a second text to compare with; the answer is about the first.
        turned: whether the other text is shown first.
        rubric: points to ask about one by one on each dimension, for formats that do so.
        nuggets: number of points that the judge generates itself.
        shots: examples, for prompts with examples.
        custom: a file's dimensions, instead of the task's.
    """

    judged = ("text",)
    counted = ("mean", "majority")
    count = votes.count_ratings

    id: str
    text: str
    dimensions: tuple[str, ...]
    scale: tuple[float, float]
    task: str = "quality"
    question: str = ""
    stance: str = ""
    documents: tuple[str, ...] = ()
    group: str = ""
    extra: Mapping[str, Any] = _extra()
    other: str = ""
    turned: bool = False
    rubric: tuple[str, ...] = ()
    nuggets: int = 0
    shots: tuple[RatedShot, ...] = ()
    custom: OwnDimensions | None = field(default=None, repr=False)

    @property
    def known(self) -> Mapping[str, Dimension]:
        """The available dimensions by name."""
        return dimensions_of(self.task) if self.custom is None else self.custom.dimensions

    @property
    def rating_scale(self) -> Scale:
        """The scale with its descriptions."""
        return scale_of(self.task, self.scale) if self.custom is None else self.custom.scale

    @property
    def parts(self) -> tuple[str, ...]:  # noqa: D102
        return ("documents",) if self.documents and not self.text else self.judged

    @property
    def cells(self) -> tuple[str, ...]:  # noqa: D102
        return self.dimensions

    def fault(self) -> str:  # noqa: D102
        unknown = [name for name in self.dimensions if name not in self.known]
        return f"task: {self.task} has no dimension {shorten(unknown[0], 40)!r}" if unknown else ""

    def value_of(self, value: Any) -> Any:  # noqa: D102
        low, high = self.scale
        if isinstance(value, bool) and (low, high) == (0, 1):
            return int(value)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if number and low <= value <= high else None

    def normalised(self, value: Any) -> float | None:
        """Return a value normalised to [0, 1]: 0 is the lowest of the scale, 1 the highest."""
        number = self.value_of(value)
        return None if number is None else normalised(number, self.scale)

    def preference(self, word: str) -> float:
        """Return a, b or tie as a number on the scale: the highest for the question's own text."""
        low, high = self.scale
        return low + (high - low) * {"a": 1.0, "b": 0.0}.get(word, 0.5)

    def compose(
        self,
        cells: Sequence[Any],
        provenance: Provenance,
        *,
        notes: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Answer:
        """Return a number for one dimension, a list for several (None for unscored ones).

        If all are unscored, `Unscored` with the (first) reason.
        """
        pairs = zip(self.dimensions, cells, strict=True)
        reasons = {name: str(cell) for name, cell in pairs if isinstance(cell, Missing)}
        notes = dict(notes or {})
        if len(reasons) == len(cells):
            return Unscored(next(iter(reasons.values())), provenance, notes=notes)
        if reasons:
            notes["dimensions"] = reasons
        values: list[Any] = [None if isinstance(cell, Missing) else cell for cell in cells]
        value: Value = values if len(values) > 1 else values[0]
        return Judged(value, provenance, notes=notes, **fields)

    def votes(self, answer: Answer) -> list[float | Missing]:
        """Return an answer's rating on each dimension, or the reason why it is unscored."""
        if isinstance(answer, Unscored):
            return [Missing(answer.reason)] * len(self.dimensions)
        values: list[Any] = answer.value if isinstance(answer.value, list) else [answer.value]
        reasons = answer.notes.get("dimensions", {})
        pairs = zip(self.dimensions, values, strict=True)
        return [Missing(reasons.get(name, "missing")) if v is None else v for name, v in pairs]

    def lines(self, answer: Answer) -> list[tuple[str | None, dict[str, Any]]]:  # noqa: D102
        lines: list[tuple[str | None, dict[str, Any]]] = []
        reasons = answer.notes.get("reasons", {})
        details = answer.provenance.details
        hashes, calls = details.get("prompt_hashes", {}), details.get("asked", {})
        for n, dimension in enumerate(self.dimensions):
            fields = verdict_fields(answer)
            fields["explanation"] = reasons.get(dimension, fields["explanation"])
            fields["notes"] = _notes_on(answer.notes, dimension, n) or None
            if isinstance(answer, Judged) and isinstance(answer.value, list):
                fields["value"] = answer.value[n]
                if answer.value[n] is None:
                    missing = answer.notes.get("dimensions", {})
                    fields["unscored"] = missing.get(dimension, "missing: not in the reply")
            fields |= {"normalised": self.normalised(fields["value"]), "scale": list(self.scale)}
            fields["prompt_hash"] = hashes.get(dimension, fields["prompt_hash"])
            if calls.get(dimension):
                fields["asked"] = list(calls[dimension])
            aspect = "" if self.custom else aspect_of(self.task, dimension)
            fields["aspect"] = aspect or None
            lines.append((dimension, fields))
        return lines


_OF_SOME = (
    *("counted", "documents", "mass", "orders", "other", "rubric", "sentences", "stated", "yes"),
)
"""Notes of a rating that are stored once for all dimensions."""


def _notes_on(notes: Mapping[str, Any], dimension: str, n: int) -> dict[str, Any]:
    selected = {}
    for name, note in notes.items():
        if name in ("dimensions", "reasons"):  # each line has separate fields for these
            continue
        if name in _OF_SOME and dimension not in note:
            continue
        if name == "votes":
            selected[name] = [vote[n] if isinstance(vote, list) else vote for vote in note]
        else:
            selected[name] = (
                note[dimension] if isinstance(note, dict) and dimension in note else note
            )
    return selected


TURNED = {"a": "b", "b": "a", "tie": "tie"}
"""Verdict on two arguments -> the same verdict with the arguments swapped."""


@dataclass(frozen=True, slots=True)
class Preference(QuestionKind):
    """Which of `a` and `b` answers `question` better? Answered by "a", "b" or "tie".

    Attributes:
        criterion: the criterion for the better one, if not the prompt's default.
        documents: the documents that both are based on, if the judge should see them.
        rubric: points to ask about one by one, for prompts that do so.
    """

    judged = ("a", "b", "question")
    count = votes.count_preferences

    id: str
    a: str
    b: str
    question: str
    task: str = "preference"
    criterion: str = ""
    documents: tuple[str, ...] = ()
    group: str = ""
    extra: Mapping[str, Any] = _extra()
    rubric: tuple[str, ...] = ()

    @property
    def swapped(self) -> Preference:  # noqa: D102
        return replace(self, a=self.b, b=self.a)

    def fault(self) -> str:  # noqa: D102
        if self.task == "sides" and not any(c.isalnum() for text in self.documents for c in text):
            return "blank: the text has no words"
        return ""

    def value_of(self, value: Any) -> Any:  # noqa: D102
        return value if value in ("a", "b", "tie") else None

    def settled(self, first: Judged, turned: Judged) -> Judged:
        """Combine the answers in both orders: a verdict that depends on the order is a tie."""
        orders = [str(first.value), TURNED[str(turned.value)]]
        value = orders[0] if orders[0] == orders[1] else "tie"
        read = notes_on_reading((first, turned))
        notes = {**first.notes, **turned.notes, **read, "orders": orders}
        if "chances" in first.notes and "chances" in turned.notes:
            (other,) = turned.notes["chances"]
            notes["chances"] = [*first.notes["chances"], {TURNED[v]: p for v, p in other.items()}]
        else:
            notes.pop("chances", None)
        return replace(first, value=value, notes=notes)


@dataclass(frozen=True, slots=True)
class Ranking(QuestionKind):
    """In what order do `texts` answer `query`? Answered by their 0-based positions, best first.

    An answer may omit texts: these are tied, after the others (`ranks_of`).

    Attributes:
        texts: at least one, in their current order.
        criterion: what makes a text better, e.g. a definition of relevance or a side to argue.
    """

    judged = ("query", "texts")
    counted = ("mean",)
    count = votes.count_orders

    id: str
    query: str
    texts: tuple[str, ...]
    task: str = "ranking"
    criterion: str = ""
    group: str = ""
    extra: Mapping[str, Any] = _extra()

    def value_of(self, value: Any) -> Any:  # noqa: D102
        named = isinstance(value, list) and all(type(v) is int for v in value)
        there = named and value and set(value) <= set(range(len(self.texts)))
        return value if there and len(set(value)) == len(value) else None


JudgeQuestion: TypeAlias = Support | Rating | Preference | Ranking


def blank(question: JudgeQuestion) -> str:
    """Return why a question has no words to judge (a judge would invent an answer), or ""."""
    for name in question.parts:
        value = getattr(question, name)
        texts = (value,) if isinstance(value, str) else value
        if not any(character.isalnum() for text in texts for character in text):
            return f"blank: the {name} has no words"
    return ""


@dataclass(frozen=True, slots=True)
class PairSource:
    """Items that can be iterated over several times.

    Attributes:
        make: returns an iterator over the items, always the same ones in the same order.
        about: description of the source with hashes, so that a later run can recognise it.
        count: the number of items; None if unknown before the end.
    """

    make: Callable[[], Iterator[Any]]
    about: Mapping[str, Any]
    count: int | None = None

    def __iter__(self) -> Iterator[Any]:
        return self.make()
