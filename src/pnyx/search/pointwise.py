"""Pointwise reranking: documents in the order of a judge's probability that each is relevant.

Where no judge that ranks is at hand, one that answers Support questions will do, such as the
packaged encoder. Each document is judged by itself, so nothing depends on its neighbours, and the
probabilities mean the same in every list (DIRAS, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.tasks.relevance import ask_relevance
from pnyx.records import Question
from pnyx.search.rerank import Reranked

__all__ = ["rerank_pointwise"]


def rerank_pointwise(
    asked: Sequence[tuple[Question, Sequence[str]]], judge: Judge
) -> list[Reranked]:
    """Rerank the documents of many questions by P(relevant).

    A verdict without a probability counts as 1 or 0. Documents of equal probability keep their
    order; those without a verdict keep theirs behind the rest, and are counted.

    Args:
        asked: each question, whose `definition` says what is relevant, with its documents in the
            order of their ranks.
        judge: answers `relevance` questions.

    Returns:
        One result for each question, in order; its `windows` are the documents judged.

    Raises:
        ModelError: the judge cannot go on at all.
        TypeError: the judge does not answer such questions.
    """
    made = [
        ask_relevance(
            f"relevance/{question.id}/{number}",
            question.text,
            text,
            definition=question.definition,
            group=question.id,
        )
        for question, texts in asked
        for number, text in enumerate(texts, start=1)
    ]
    answers = iter(ask(judge, made))
    return [_ordered([next(answers) for _ in texts]) for _, texts in asked]


def _ordered(answers: Sequence[Answer]) -> Reranked:
    # Python's sort is stable, also backwards: equal ones keep their order.
    order = sorted(range(len(answers)), key=lambda i: _place(answers[i]), reverse=True)
    missing = [a.reason for a in answers if isinstance(a, Unscored)]
    said = f"{len(missing)} of {len(answers)} documents got no verdict and stand behind the rest"
    problems = (f"{said}: {shorten(missing[0])}",) if missing else ()
    return Reranked(tuple(order), len(answers), len(missing), problems=problems)


def _place(answer: Answer) -> tuple[bool, float]:
    """Return what to sort by: those with a verdict first, by P(yes)."""
    if isinstance(answer, Unscored):
        return False, 0.0
    yes = answer.probability
    return True, float(answer.value is True) if yes is None else yes
