"""Pointwise reranking: documents in the order of a judge's probability that each is relevant.

Where no judge that ranks is at hand, one that answers Support questions will do, such as the
packaged encoder. Each document is judged by itself, so nothing depends on its neighbours, and the
probabilities mean the same in every list (DIRAS, section 3). So a threshold on them can take the
place of a fixed number of documents (DIRAS, section 5): `at_least`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.tasks import ask_relevance
from pnyx.records import Question
from pnyx.search.rerank import Reranked

__all__ = ["at_least", "rerank_pointwise"]


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


def at_least(reranked: Reranked, threshold: float) -> Reranked:
    """Keep the documents whose P(relevant) is at least `threshold`: as many as there are, or none.

    Those without a verdict are not kept, since nothing is known of them; `unscored` still counts
    them, and the problem says so.

    Args:
        reranked: of `rerank_pointwise`.
        threshold: in (0, 1].
    """
    found = reranked.probabilities
    kept = tuple(i for i in reranked.order if (found[i] or 0.0) >= threshold)
    problems = tuple(problem.replace(_BEHIND, _LEFT_OUT) for problem in reranked.problems)
    return replace(reranked, order=kept, problems=problems)


_BEHIND = "stand behind the rest"
_LEFT_OUT = "are left out, relevant or not"


def _ordered(answers: Sequence[Answer]) -> Reranked:
    found = tuple(_probability(answer) for answer in answers)
    # Python's sort is stable, also backwards: equal ones keep their order.
    places = [(p is not None, p or 0.0) for p in found]
    order = sorted(range(len(answers)), key=places.__getitem__, reverse=True)
    missing = [a.reason for a in answers if isinstance(a, Unscored)]
    said = f"{len(missing)} of {len(answers)} documents got no verdict and {_BEHIND}"
    problems = (f"{said}: {shorten(missing[0])}",) if missing else ()
    return Reranked(
        tuple(order), len(answers), len(missing), problems=problems, probabilities=found
    )


def _probability(answer: Answer) -> float | None:
    """Return P(yes), 1 or 0 of a verdict that has none, None without a verdict."""
    if isinstance(answer, Unscored):
        return None
    yes = answer.probability
    return float(answer.value is True) if yes is None else yes
