"""The form of a question for people, and the values of their choices.

Forms depend on the kind of question, so a new task needs no changes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.formats.label_words import PARTLY
from pnyx.judging.answers import Value
from pnyx.judging.dimensions import Scale
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judging.tasks import TASKS, Task

Marks: TypeAlias = tuple[int | None, ...]
"""For each field of a form the index of its choice, from 0; None if none was made."""

MOST_PLACES: Final = 9
"""Most texts that can be ranked: as many as there are digit keys."""

_STEPS: Final = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer: its value in a file, the key that chooses it, and its label."""

    value: Any
    key: str
    label: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to answer: a dimension of a rating, a text's rank, or the question itself."""

    dimension: str
    label: str
    guidance: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class FormBlock:
    """A text with its heading."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one question."""

    asks: str  # the question in one line
    reference: tuple[FormBlock, ...]  # what the texts are compared with; always visible
    guidelines: tuple[FormBlock, ...]  # guidelines for the answer
    texts: tuple[FormBlock, ...]  # the texts to judge
    fields: tuple[Field, ...]  # at least one
    levels: tuple[str, ...] = ()  # the values of all fields in words
    beside: bool = False  # whether two texts are compared side by side
    places: bool = False  # whether the fields are ranks, each used once
    side_order: str = ""  # which side comes first, `ab` or `ba`

    @property
    def single(self) -> bool:
        """Whether one choice is the whole answer."""
        return len(self.fields) == 1

    def values(self, marks: Marks) -> dict[str, Value]:
        """Return the values of choices by dimension; InputError if the answer is incomplete."""
        for field, mark in zip(self.fields, marks, strict=True):
            if mark is None:
                missing = f": {field.label}" if field.label else ""
                raise InputError(f"not everything is answered{missing}")
        chosen = [
            f.choices[m].value for f, m in zip(self.fields, marks, strict=True) if m is not None
        ]
        if not self.places:
            return {f.dimension: value for f, value in zip(self.fields, chosen, strict=True)}
        if len(set(chosen)) < len(chosen):
            raise InputError("two texts have the same place")
        order = sorted(range(len(chosen)), key=chosen.__getitem__)
        return {self.fields[0].dimension: order}

    def marks(self, values: Mapping[str, Any]) -> Marks:
        """Return the choices with these `values`, by dimension; None where none fits."""
        if self.places:
            order = values.get(self.fields[0].dimension)
            if not isinstance(order, list) or len(order) != len(self.fields):
                return (None,) * len(self.fields)
            return tuple(order.index(position) for position in range(len(order)))
        return tuple(
            next(
                (n for n, c in enumerate(f.choices) if _same(c.value, values.get(f.dimension))),
                None,
            )
            for f in self.fields
        )

    def words(self, value: Any) -> str:
        """Return a value of a field in words."""
        if self.places and isinstance(value, list):
            return " > ".join(str(position + 1) for position in value)
        choices = self.fields[0].choices
        choice_of_value = next((choice for choice in choices if _same(choice.value, value)), None)
        return choice_of_value.label if choice_of_value else shorten(str(value), 40)


def _same(value: Any, other: Any) -> bool:
    """Compare values of a file; 1 does not equal true."""
    return (
        isinstance(value, bool) == isinstance(other, bool) and value == other and other is not None
    )


def form_of(question: JudgeQuestion, *, turned: bool = False) -> Form:
    """Return the form of a question, second side first if `turned`; InputError: too many texts."""
    task = TASKS[question.task]
    form = _MAKERS[type(question)](task, question)
    return _turned(form) if turned and form.beside else form


def check_places(task: Task, questions: Sequence[JudgeQuestion], path: str) -> None:
    """Raise InputError, naming the item, for rankings with too many texts."""
    for question in questions:
        if isinstance(question, Ranking) and len(question.texts) > MOST_PLACES:
            fault = f"item {shorten(question.id, 40)!r} has {len(question.texts)} documents"
            problem = f"{fault}, and people can rank at most {MOST_PLACES} in {task.name}"
            raise InputError(problem, path=path)


def _asks(task: Task) -> str:
    return task.asks[:1].upper() + task.asks[1:]


def _blocks(*pairs: tuple[str, str]) -> tuple[FormBlock, ...]:
    return tuple(FormBlock(label, text) for label, text in pairs if text.strip())


def _documents(texts: Sequence[str]) -> tuple[FormBlock, ...]:
    if len(texts) == 1:
        return (FormBlock("Text", texts[0]),)
    return tuple(FormBlock(f"Document {n}", text) for n, text in enumerate(texts, 1))


_YES, _NO = Choice(True, "y", "Yes"), Choice(False, "n", "No")
_PARTLY = Choice(PARTLY, "p", "In part")


def _support(task: Task, question: Support) -> Form:
    same = question.statement.strip() == question.question.strip()
    texts = _blocks(
        ("Question", question.question), ("Statement", "" if same else question.statement)
    )
    choices = (_YES, _PARTLY, _NO) if task.graded else (_YES, _NO)
    name = "What counts as relevant" if task.name == "relevance" else "Guideline"
    return Form(
        _asks(task),
        texts,
        _blocks((name, question.guideline)),
        _blocks(("Text", question.text)),
        (Field(question.cells[0], "", "", choices),),
    )


def _rating(task: Task, question: Rating) -> Form:
    dimensions = question.known
    choices, levels = _scaled(question.rating_scale)
    title = "Argument" if question.other or question.documents else "Text"
    return Form(
        _asks(task),
        _blocks(("Question", question.question), ("Side taken", question.stance)),
        (),
        (
            *_blocks((title, question.text), ("The other argument", question.other)),
            *(FormBlock(f"Document {n}", text) for n, text in enumerate(question.documents, 1)),
        ),
        tuple(
            Field(name, dimensions[name].label, dimensions[name].definition, choices)
            for name in question.dimensions
        ),
        levels,
    )


@cache
def _scaled(scale: Scale) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    """Return the choices of a scale, and their meanings, one line each."""
    if scale.boolean:
        guidance = (
            scale.levels[0].replace("true", "yes", 1),
            scale.levels[1].replace("false", "no", 1),
        )
        return (Choice(1, "y", "Yes"), Choice(0, "n", "No")), guidance
    if (
        not scale.name
        or scale.high > MOST_PLACES
        or scale.high - scale.low != len(scale.levels) - 1
    ):
        return _stepped(scale)
    first = round(scale.low)
    words = [level.partition(":")[2].partition(";")[0].strip(" .") for level in scale.levels]
    choices = (Choice(first + n, str(first + n), str(first + n), w) for n, w in enumerate(words))
    return tuple(choices), scale.levels


def _stepped(scale: Scale) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    """Return five even steps of a scale without words."""
    step = (scale.high - scale.low) / (_STEPS - 1)
    values = [scale.low + n * step for n in range(_STEPS)]
    plain = [int(value) if value == int(value) else value for value in values]
    words = ("not at all", "hardly", "in part", "mostly", "fully")
    choices = tuple(
        Choice(value, str(n), f"{value:g}", word)
        for n, (value, word) in enumerate(zip(plain, words, strict=True), 1)
    )
    return choices, tuple(f"{c.label}: {c.explanation} (key {c.key})" for c in choices)


def _preference(task: Task, question: Preference) -> Form:
    choices = (Choice("a", "a", "A"), Choice("b", "b", "B"), Choice("tie", "t", "Neither"))
    return Form(
        _asks(task),
        _blocks(("Question", question.question)),
        _blocks(("What to go by", question.criterion)),
        (FormBlock("A", question.a), FormBlock("B", question.b), *_documents(question.documents)),
        (Field(question.cells[0], "", "", choices),),
        beside=True,
        side_order="ab",
    )


def _turned(form: Form) -> Form:
    """Return a form with the second side first: A on the page is the item's b."""
    (first, second, *rest), (field,) = form.texts, form.fields
    a, b, tie = field.choices
    choices = (replace(a, value=b.value), replace(b, value=a.value), tie)
    return replace(
        form,
        texts=(FormBlock("A", second.text), FormBlock("B", first.text), *rest),
        fields=(replace(field, choices=choices),),
        side_order="ba",
    )


def _ranking(task: Task, question: Ranking) -> Form:
    count = len(question.texts)
    places = tuple(Choice(n, str(n), str(n)) for n in range(1, count + 1))
    return Form(
        _asks(task),
        _blocks(("Query", question.query)),
        _blocks(("What to go by", question.criterion)),
        tuple(FormBlock(f"Document {n}", text) for n, text in enumerate(question.texts, 1)),
        tuple(Field(question.cells[0], f"Document {n}", "", places) for n in range(1, count + 1)),
        ("1: serves the query best.", f"{count}: serves it least."),
        places=True,
    )


_MAKERS: Final[Mapping[type, Callable[[Task, Any], Form]]] = {
    Support: _support,
    Rating: _rating,
    Preference: _preference,
    Ranking: _ranking,
}
