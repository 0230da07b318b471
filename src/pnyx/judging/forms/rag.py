"""Forms for judging arguments together with their documents (ConQRet, Appendix D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from pnyx.judging.answers import Missing
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.forms.base import FormCall, Put, Readings, ReplyReading, shape
from pnyx.judging.forms.kinds import (
    NAMES,
    PreferenceForm,
    RatingForm,
    choice_type,
    score_type,
    value_and_notes,
    whole_number,
    winner_word,
)
from pnyx.judging.llm.structured_replies import validated, validated_value
from pnyx.judging.questions import Preference, Rating
from pnyx.judging.votes import most_frequent

if TYPE_CHECKING:
    from pydantic import BaseModel

_GRADES = (1, 5)
"""Grades of a nugget: poorly to thoroughly covered (Appendix D.4)."""

_GROUNDED = "groundedness"
"""Asked only about points that the argument makes."""

_COMPARED = ("context_relevance", "answer_relevance", "groundedness")
"""Dimensions on which two arguments are scored side by side, if there are two."""


class EvidenceForm(RatingForm):
    """Asks for a score on each dimension of an argument with its documents."""

    inputs = {  # noqa: RUF012
        **RatingForm.inputs,
        **dict.fromkeys(("dimension", "first", "second", "count"), False),
        **dict.fromkeys(("rubric", "steps"), True),
    }

    def material(self, question: Rating, dimensions: Sequence[str]) -> dict[str, Any]:  # noqa: D102
        inputs = super().material(question, dimensions)
        first, second = question.text, question.other
        if question.turned:
            first, second = second, first
        defined = dimensions_of(question.task)
        return inputs | {
            "dimension": "\n".join(inputs["dimensions"]),
            "first": first,
            "second": second,
            "count": str(question.nuggets),
            "rubric": list(question.rubric),
            "steps": [step for name in dimensions for step in defined[name].steps],
        }


class PointsForm(EvidenceForm):
    """Asks about a rubric's points one by one: the share of yes, or the mean of 1 to 5."""

    def __init__(self, *, holds: bool) -> None:
        self.holds = holds

    def reply(self, question: Rating) -> type[BaseModel]:
        """Return the type of the entry on one dimension: a reason, and a value for each point."""
        return _points(len(question.rubric), "holds" if self.holds else "grade")

    def entry(self, question: Rating, name: str) -> type[BaseModel]:
        """See `PromptForm.entry`; 0 is for a point that the argument does not make."""
        if self.holds or name != _GROUNDED:
            return self.reply(question)
        return _points(len(question.rubric), "grade or none")

    def material(self, question: Rating, dimensions: Sequence[str]) -> dict[str, Any]:
        """See `RatingForm.material`; `dimension` is the question about a nugget."""
        inputs = super().material(question, dimensions)
        if not self.holds:
            defined = dimensions_of(question.task)
            lines = [f"{name}: {defined[name].nugget}" for name in dimensions]
            inputs["dimension"] = "\n".join(lines)
        return inputs

    def rated(
        self, question: Rating, name: str, scores: Mapping[str, Any]
    ) -> tuple[float, Mapping[str, Any]] | Missing:
        """See `RatingForm.rated`; without points nothing can be scored."""
        if not question.rubric:
            return Missing(f"format: there are no points to judge {name} by")
        if not self.holds and name == _GROUNDED and name in scores:
            entry = validated_value(self.entry(question, name), scores[name], name)
            if not any(_values(entry, question.rubric).values()):
                return Missing("format: the argument makes none of the points")
        return super().rated(question, name, scores)

    def score(self, question: Rating, entry: Any) -> float:
        """See `RatingForm.score`; points that the argument does not make (0) do not count."""
        values = list(_values(entry, question.rubric).values())
        return fmean(values if self.holds else filter(None, values))

    def remarks(self, question: Rating, entry: Any) -> Mapping[str, Any]:
        """Return the verdict on each point."""
        return {"rubric": _values(entry, question.rubric)}


class PreferredPointsForm(PreferenceForm):
    """Asks for each point (or criterion) which of two is better; the most frequent counts."""

    inputs = {**PreferenceForm.inputs, "rubric": True}  # noqa: RUF012

    def reply(self, question: Preference) -> type[BaseModel]:
        """Return the reply's type: a reason, and a winner on each point."""
        return _points(len(_compared_by(question)), "better")

    def put(self, call: FormCall) -> Put:  # noqa: D102
        inputs, _ = super().put(call)
        return {**inputs, "rubric": _compared_by(call.question)}, ()

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        question = call.question
        reply: Any = validated(self.reply(question), text)
        values = {p: NAMES[w] for p, w in _values(reply, _compared_by(question)).items()}
        better = _preferred(values.values())
        return [ReplyReading(better, explanation=reply.reason, notes={"rubric": values})]


class TriadForm(EvidenceForm):
    """Asks for scores on one argument, or on two side by side and for the better one."""

    def entry(self, question: Rating, name: str) -> type[BaseModel]:  # noqa: D102
        if name == "preference":
            return choice_type()
        if question.other and name in _COMPARED:
            return _pair(*question.scale)
        return score_type(*question.scale)

    def score(self, question: Rating, entry: Any) -> float:
        """See `RatingForm.score`; a preference for the question's own text is the highest score."""
        if hasattr(entry, "winner"):
            return _preference_score(question, NAMES[entry.winner])
        if hasattr(entry, "first"):
            return float(entry.second if question.turned else entry.first)
        return super().score(question, entry)

    def remarks(self, question: Rating, entry: Any) -> Mapping[str, Any]:
        """Return the other argument's score."""
        if not hasattr(entry, "first"):
            return {}
        return {"other": entry.first if question.turned else entry.second}


class TriadPointsForm(EvidenceForm):
    """Lets the judge generate nuggets and grade documents and arguments on each (Appendix D.5)."""

    keyed = False

    def reply(self, question: Rating) -> type[BaseModel]:
        """Return the reply's type: nuggets of the question, and nuggets of the documents."""
        return _triad(max(1, question.nuggets), bool(question.text), bool(question.other))

    def names(self, question: Rating, dimensions: Sequence[str]) -> list[str]:
        """Return a name for each nugget, as the length of the reply depends on their number."""
        return [str(number) for number in range(1, max(1, question.nuggets) + 1)]

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        question = call.question
        reply: Any = validated(self.reply(question), text)
        numbers = [str(number) for number in range(1, max(1, question.nuggets) + 1)]
        tables = {
            name: [getattr(getattr(reply, name), number) for number in numbers]
            for name in ("nuggets", "findings")
            if hasattr(reply, name)
        }
        rated = {name: _read_table(question, name, tables) for name in question.dimensions}
        value, notes = value_and_notes(rated)
        return [ReplyReading(value=value, notes=notes)]


_READ = {
    "context_relevance": ("nuggets", "documents"),
    "answer_relevance": ("nuggets", "own"),
    "groundedness": ("findings", "own"),
    "preference": ("nuggets", "better"),
}
"""Dimension -> the list of nuggets with its grades, and their column."""


def _read_table(
    question: Rating, name: str, tables: Mapping[str, Sequence[Any]]
) -> tuple[float, dict[str, Any]] | Missing:
    """Return the score on a dimension from a list of nuggets, and the grade of each."""
    first, others = ("second", "first") if question.turned else ("first", "second")
    table, column = _READ.get(name, ("", ""))
    grades = _graded(tables.get(table, ()), first if column == "own" else column)
    if not grades:
        return Missing(f"format: it rates no {name} here")
    if column == "better":
        return _preference_score(question, _preferred(grades.values())), {"rubric": grades}
    notes: dict[str, Any] = {"rubric": grades}
    if column == "own" and question.other:
        notes["other"] = fmean(_graded(tables[table], others).values())
    return fmean(grades.values()), notes


class ByDocumentForm(TriadForm):
    """Asks for each document's relevance, then the other dimensions (Figure 11)."""

    def names(self, question: Rating, dimensions: Sequence[str]) -> list[str]:
        """Return the names in the reply: each document, then each other dimension."""
        rest = [name for name in dimensions if name != "context_relevance"]
        return [*_documents(question), *rest]

    def entry(self, question: Rating, name: str) -> type[BaseModel]:
        """See `PromptForm.entry`; two arguments are compared by the preference alone."""
        return choice_type() if name == "preference" else score_type(*question.scale)

    def rated(  # noqa: D102
        self, question: Rating, name: str, reply: Mapping[str, Any]
    ) -> tuple[float, Mapping[str, Any]] | Missing:
        if name != "context_relevance":
            return super().rated(question, name, reply)
        names = _documents(question)
        left_out = [name for name in names if name not in reply]
        if left_out:
            return Missing(f"missing: {left_out[0]} is not in the reply")
        parts = [validated_value(self.entry(question, name), reply[name], name) for name in names]
        scores = [self.score(question, part) for part in parts]
        reasons = " ".join(
            f"[{number}] {part.reason}" for number, part in enumerate(parts, 1) if part.reason
        )
        return fmean(scores), {"reasons": reasons, "documents": scores}


def _compared_by(question: Preference) -> list[str]:
    return list(question.rubric or dimensions_of("rag")["preference"].criteria.values())


def _documents(question: Rating) -> list[str]:
    if "context_relevance" not in question.dimensions:
        return []
    return [f"document {number}" for number in range(1, len(question.documents) + 1)]


def _values(entry: Any, rubric: Sequence[str]) -> dict[str, Any]:
    """Return point -> its value in an entry."""
    return {point: getattr(entry, str(number)) for number, point in enumerate(rubric, 1)}


def _graded(table: Sequence[Any], column: str) -> dict[str, Any]:
    """Return nugget -> its grade; nuggets with the same words get distinct names."""
    grades: dict[str, Any] = {}
    for number, row in enumerate(table, 1):
        if not hasattr(row, column):
            return {}
        value = getattr(row, column)
        name = row.nugget if row.nugget not in grades else f"{row.nugget} ({number})"
        grades[name] = NAMES[value] if column == "better" else value
    return grades


def _preferred(words: Any) -> str:
    """Return the most frequent of a, b and tie; equal counts of a and b are a tie."""
    winners, _ = most_frequent(words)
    return str(winners[0]) if len(winners) == 1 else "tie"


def _preference_score(question: Rating, choice: str) -> float:
    """Return a preference between two, as they were shown, as a number on the scale."""
    side = {"a": "b", "b": "a"}.get(choice, "tie") if question.turned else choice
    return question.preference(side)


@cache
def _points(
    count: int, kind: Literal["holds", "grade", "grade or none", "better"]
) -> type[BaseModel]:
    types = {
        "holds": bool,
        "grade": whole_number(*_GRADES),
        "grade or none": whole_number(0, _GRADES[1]),
        "better": winner_word(),
    }
    return shape("Points", reason=str, **{str(n): types[kind] for n in range(1, count + 1)})


@cache
def _pair(low: float, high: float) -> type[BaseModel]:
    number = whole_number(low, high)
    return shape("Pair", reason=str, first=number, second=number)


@cache
def _triad(count: int, text: bool, other: bool) -> type[BaseModel]:
    grade = whole_number(*_GRADES)
    arguments = {**({"first": grade} if text else {}), **({"second": grade} if other else {})}
    better = {"better": winner_word()} if other else {}
    nugget = shape("Nugget", nugget=str, documents=grade, **arguments, **better)
    finding = shape("NuggetOfDocuments", nugget=str, **arguments)
    numbers = [str(number) for number in range(1, count + 1)]
    tables = {"nuggets": shape("Nuggets", **dict.fromkeys(numbers, nugget))}
    if arguments:
        tables["findings"] = shape("Findings", **dict.fromkeys(numbers, finding))
    return shape("Triad", **tables)
