"""The interface of judges, and the function that asks one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from pnyx.core.errors import InputError
from pnyx.judging.answers import Answer, Answers, Provenance, QuestionKind, Unscored
from pnyx.judging.questions import JudgeQuestion, Support
from pnyx.models.http.flow import run_blocking, wanted

T = TypeVar("T")
Q = TypeVar("Q")

Emit: TypeAlias = Callable[[int, Answer], None]
"""Called once per question, in any order, with its position and its answer."""


class Frame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any: ...  # noqa: D102


@runtime_checkable
class Judge(Protocol):
    """Anything that answers questions: a language model, an encoder, a file of human labels.

    Attributes:
        name: short and stable; recorded with every answer.
        kinds: the question classes it answers.
        card: one line on its accuracy, printed with its verdicts; may be empty.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def kinds(self) -> frozenset[type]: ...  # noqa: D102

    @property
    def card(self) -> str: ...  # noqa: D102

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question exactly once through `emit`, as soon as the answer is known.

        A question that cannot be answered gets `Unscored`. An exception means that nothing more can
        be asked (the endpoint is down, the key is refused); TypeError that a question is not one of
        `kinds`.
        """
        ...


def of_kind(kind: type[Q], questions: Sequence[JudgeQuestion], name: str) -> list[Q]:
    """Return the questions for a judge of one kind; TypeError for another kind."""
    fitting: list[Q] = [question for question in questions if isinstance(question, kind)]
    if len(fitting) < len(questions):
        raise _foreign(name, next(q for q in questions if not isinstance(q, kind)))
    return fitting


def by_text(questions: Sequence[JudgeQuestion], name: str) -> list[tuple[int, Support]]:
    """Return a judge's Support questions with their positions, grouped by text."""
    numbered = enumerate(of_kind(Support, questions, name))
    return sorted(numbered, key=lambda pair: (pair[1].text, pair[1].statement))


def refuse_other_kinds(judge: Judge, questions: Sequence[JudgeQuestion]) -> None:
    """Raise TypeError if a judge does not answer the kind of a question."""
    for question in questions:
        if type(question) not in judge.kinds:
            raise _foreign(judge.name, question)


def _foreign(name: str, question: JudgeQuestion) -> TypeError:
    kind = f"{type(question).__name__} questions (task {question.task})"
    return TypeError(f"{name} does not answer {kind}")


@overload
def ask(
    judge: Judge,
    questions: JudgeQuestion | Mapping[str, Any],
    on_answer: Emit | None = None,
    *,
    task: str | None = None,
) -> Answer: ...


@overload
def ask(
    judge: Judge,
    questions: Iterable[JudgeQuestion | Mapping[str, Any]] | Frame,
    on_answer: Emit | None = None,
    *,
    task: str | None = None,
) -> Answers: ...


def ask(
    judge: Judge, questions: Any, on_answer: Emit | None = None, *, task: str | None = None
) -> Answer | Answers:
    """Ask a judge and wait for all answers, in a script, a notebook or a web handler.

        judge = pnyx.PackagedJudge()
        items = [{"text": "Fares fell and more people rode.", "statement": "Buses got cheaper."}]
        answers = pnyx.ask(judge, items)
        print(answers)  # a summary; answers[0].value, answers.to_frame()

    Args:
        judge: any judge.
        questions: the questions, in the order of the returned answers: dicts with the fields of an
            items file (docs/reference/formats.md), a data frame with these columns, or questions
            such as `Support`. Items without an id are numbered from 1. RAG records (question,
            contexts, answer, as in ragas) become one question per sentence.
        on_answer: called with position and answer as each answer arrives.
        task: the task of dicts or a data frame: `support`, `relevance`, `stance` ... By default it
            is recognised from their fields; text and statement mean support.

    Returns:
        One answer per question, in order, with its question and the item's id; for a single
        question or dict, its answer alone. `value` is True or False for most tasks, with
        `probability`, the probability of yes in [0, 1]; an `Unscored` has a `reason` and no value.

    Raises:
        TypeError: the judge does not answer questions of this kind.
        pnyx.core.errors.InputError: `judge` is not a judge, an item is invalid (its row is named),
            or the fields of the items fit no task or several.
        pnyx.core.errors.ModelError: the judge cannot continue; earlier answers were emitted.
    """
    from pnyx.core.progress import showing

    _refuse_others(judge)
    listed, single = _listed(questions, task)
    done = 0

    with showing("judging") as show:

        def answered(position: int, answer: Answer) -> None:
            nonlocal done
            done += 1
            show(done, len(listed), "")
            if on_answer is not None:
                on_answer(position, answer)

        answers = run_blocking(lambda: _ask_all(judge, listed, answered))
    return answers[0] if single else answers


@overload
async def ask_async(
    judge: Judge,
    questions: JudgeQuestion | Mapping[str, Any],
    on_answer: Emit | None = None,
    *,
    task: str | None = None,
) -> Answer: ...


@overload
async def ask_async(
    judge: Judge,
    questions: Iterable[JudgeQuestion | Mapping[str, Any]] | Frame,
    on_answer: Emit | None = None,
    *,
    task: str | None = None,
) -> Answers: ...


async def ask_async(
    judge: Judge, questions: Any, on_answer: Emit | None = None, *, task: str | None = None
) -> Answer | Answers:
    """Ask a judge within a running event loop; arguments, answers and errors are as for `ask`."""
    _refuse_others(judge)
    listed, single = _listed(questions, task)
    answers = await _ask_all(judge, listed, on_answer)
    return answers[0] if single else answers


def _listed(questions: Any, task: str | None) -> tuple[Sequence[JudgeQuestion], bool]:
    """Return what `ask` was given as questions, and whether it was a single one."""
    ready = isinstance(questions, list) and all(isinstance(q, QuestionKind) for q in questions)
    if ready and task is None:
        return questions, False
    from pnyx.judging.question_rows import questions_of

    return questions_of(questions, task)


def _refuse_others(judge: object) -> None:
    """Raise InputError if this is not a judge: a caller without types may pass anything."""
    if not isinstance(judge, Judge):
        expected = "expected a judge: PackagedJudge(), LlmJudge(SPEC) ..."
        raise InputError(f"found {type(judge).__name__}, {expected}")


async def _ask_all(
    judge: Judge, questions: Sequence[JudgeQuestion], on_answer: Emit | None
) -> Answers:
    answers = Answers([_NONE] * len(questions))

    def emit(position: int, answer: Answer) -> None:
        answers[position] = replace(answer, question=questions[position])
        if on_answer is not None:
            on_answer(position, answer)

    await answer_once(judge, questions, emit)
    return answers


def chunks_by_text(
    questions: Iterable[tuple[int, Q]], size: int, most: int | None = None
) -> Iterator[list[tuple[int, Q]]]:
    """Cut sorted questions into chunks of `size`; split only texts with more than `most` questions.

    A model may then read a text once for all questions about it.
    """
    chunk: list[tuple[int, Q]] = []
    for _, group in groupby(questions, key=lambda pair: getattr(pair[1], "text", pair[0])):
        about = list(group)
        for start in range(0, len(about), most or size):
            part = about[start : start + (most or size)]
            if chunk and len(chunk) + len(part) > size:
                yield chunk
                chunk = []
            chunk = chunk + part
    if chunk:
        yield chunk


async def answer_chunks(
    questions: Sequence[tuple[int, Q]],
    size: int,
    judge: Callable[[list[Q]], Sequence[Answer]],
    emit: Emit,
) -> None:
    """Answer numbered questions in a worker thread, `size` of them between two emits."""
    import anyio

    check = wanted()
    for chunk in chunks_by_text(questions, size):
        check()
        answers = await anyio.to_thread.run_sync(judge, [question for _, question in chunk])
        for (position, _), answer in zip(chunk, answers, strict=True):
            emit(position, answer)


async def answer_once(judge: Judge, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
    """Ask a judge; RuntimeError unless it answers each question exactly once.

    LeftError stops it at an answer that nobody waits for any longer.
    """
    refuse_other_kinds(judge, questions)
    answered, check = bytearray(len(questions)), wanted()

    def once(position: int, answer: Answer) -> None:
        if answered[position]:
            raise RuntimeError(f"{judge.name} answered question {position} twice")
        answered[position] = True
        check()
        emit(position, answer)

    await judge.answer(questions, once)
    if missing := answered.count(0):
        raise RuntimeError(f"{judge.name} left {missing} questions unanswered")


_NONE = Unscored("none", Provenance(""))
