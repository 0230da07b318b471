"""Reranking by a judge: listwise (RankGPT, Sun et al., EMNLP 2023) or pointwise (DIRAS).

A listwise window slides from the back to the front; each is one Ranking question, conditioned on a
side as in ConQRet (3.2.1, Table 9) or on a definition of relevance as in DIRAS (Fig. 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Question
from pnyx.formats.text.segment import trim, word_weight
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Judge, ask, ask_async
from pnyx.judging.questions import Ranking
from pnyx.judging.stances import ask_relevance
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.search.plan import Listwise

_CONCURRENCY = 32
"""Questions reranked at once; the model's rate limit controls the number of requests."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """A new order of a ranked list, as 0-based positions, best first."""

    order: tuple[int, ...]
    windows: int = 0  # judged
    unscored: int = 0  # windows that kept their order
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    probabilities: tuple[float | None, ...] = ()  # P(relevant), in the order given
    reasons: tuple[str, ...] = ()


def rerank_many(
    items: Sequence[tuple[Question, Sequence[str]]],
    judge: Judge,
    how: Listwise | None = None,
) -> list[Reranked]:
    """Rerank the documents of each question, given as texts in the order of their ranks, listwise.

    No reply of a judge is fatal: documents missing from a reply keep their order behind the rest,
    repeated and invented identifiers are ignored, a window without an answer keeps its order, and
    all of this is counted. A window's question has the id of the question, `ID:pro` with a stance,
    and ends in `:FIRST-LAST` (1-based ranks) if there are several windows. `how` is window, stride
    and criterion.

    Raises InputError if the judge does not rank, ModelError if it cannot continue at all.
    """
    return run_blocking(lambda: rerank_async(items, judge, how))


async def rerank_async(
    items: Sequence[tuple[Question, Sequence[str]]],
    judge: Judge,
    how: Listwise | None = None,
) -> list[Reranked]:
    """Rerank within a running event loop; see `rerank_many`."""
    if Ranking not in judge.kinds:
        raise InputError(
            f"{shorten(judge.name, 40)} does not rank: reranking needs a language model or labels"
        )
    plan = how or Listwise()
    results: dict[int, Reranked] = {}

    async def work(item: tuple[int, tuple[Question, Sequence[str]]]) -> None:
        position, (question, texts) = item
        results[position] = await _slide(question, texts, judge, plan)

    await run_all(enumerate(items), work, workers=_CONCURRENCY)
    return [results[position] for position in range(len(items))]


async def _slide(question: Question, texts: Sequence[str], judge: Judge, how: Listwise) -> Reranked:
    """Order one window after another; each sees the order left by the previous one."""
    passages = [trim(text, how.words) if word_weight(text) > how.words else text for text in texts]
    trimmed = sum(a is not b for a, b in zip(passages, texts, strict=True))
    order = list(range(len(texts)))
    windows = how.windows(len(texts))
    counts = Counter(trimmed=trimmed if windows else 0)
    reasons: list[str] = []
    for ranks in windows:
        present = order[ranks.start : ranks.stop]
        parts = [question.id, *([how.stance] if how.stance else [])]
        task = Ranking(
            id=":".join([*parts, f"{ranks.start + 1}-{ranks.stop}"] if len(windows) > 1 else parts),
            query=question.text,
            texts=tuple(passages[i] for i in present),
            criterion=how.criterion(question),
            group=question.id,
        )
        answer = _checked((await ask_async(judge, [task]))[0], len(present))
        if isinstance(answer, Unscored):
            reasons.append(answer.reason)
            continue
        named = _positions(answer)
        left_out = [i for i in range(len(present)) if i not in named]
        counts["missing"] += len(left_out)
        counts["repeated"] += len(answer.notes.get("repeated", ()))
        counts["invented"] += int(answer.notes.get("invented", 0))
        order[ranks.start : ranks.stop] = [present[i] for i in (*named, *left_out)]
    counts = +counts
    problems = tuple(_lines(counts, reasons, len(windows), len(texts), how))
    return Reranked(
        tuple(order), len(windows), len(reasons), dict(counts), problems, reasons=tuple(reasons)
    )


def _checked(answer: Answer, count: int) -> Answer:
    """Return the answer, or Unscored if it is not an order of the window: judges are pluggable."""
    if isinstance(answer, Unscored):
        return answer
    named = _positions(answer)
    if named and len(set(named)) == len(named) and set(named) <= set(range(count)):
        return answer
    return Unscored(f"order: not some of {count} positions once", Provenance(judge="rerank"))


def _positions(answer: Judged) -> list[int]:
    value = answer.value
    return value if isinstance(value, list) and all(type(i) is int for i in value) else []


def _lines(
    counts: Mapping[str, int], reasons: Sequence[str], windows: int, documents: int, how: Listwise
) -> list[str]:
    descriptions = {
        "trimmed": f"of {documents} documents were trimmed to {how.words} words",
        "missing": "times a reply left a document out; it kept its order behind the rest",
        "repeated": "times a reply named a document twice; the first counts",
        "invented": "times a reply named a document that does not exist",
    }
    lines = [f"{counts[name]} {what}" for name, what in descriptions.items() if name in counts]
    if reasons:
        missing = f"{len(reasons)} of {windows} windows got no answer and kept their order"
        lines.append(f"{missing}: {shorten(reasons[0])}")
    return lines


def rerank_pointwise(
    items: Sequence[tuple[Question, Sequence[str]]], judge: Judge
) -> list[Reranked]:
    """Rerank the documents of many questions by P(relevant), given in the order of their ranks.

    Each document is judged by itself, so its probability means the same in every list (DIRAS,
    section 3). A question's `definition` says what is relevant. A verdict without a probability
    counts as 1 or 0; ties keep their order; documents without a verdict follow in their order,
    and are counted. A result's `windows` are the documents judged.

    Raises ModelError if the judge cannot continue at all, TypeError if it does not answer
    `relevance`.
    """
    tasks = [
        ask_relevance(
            f"relevance/{question.id}/{number}",
            question.text,
            text,
            definition=question.definition,
            group=question.id,
        )
        for question, texts in items
        for number, text in enumerate(texts, start=1)
    ]
    answers = iter(ask(judge, tasks))
    return [_ordered([next(answers) for _ in texts]) for _, texts in items]


def at_least(reranked: Reranked, threshold: float) -> Reranked:
    """Keep documents with P(relevant) of at least `threshold` (DIRAS, section 5), none unjudged."""
    probabilities = reranked.probabilities
    order = tuple(i for i in reranked.order if (probabilities[i] or 0.0) >= threshold)
    problems = tuple(problem.replace(_BEHIND, _LEFT_OUT) for problem in reranked.problems)
    return replace(reranked, order=order, problems=problems)


_BEHIND = "were put last"
_LEFT_OUT = "were left out, relevant or not"


def _ordered(answers: Sequence[Answer]) -> Reranked:
    probabilities = tuple(_probability(answer) for answer in answers)
    # Python's sort is stable even with reverse=True: equal ones keep their order.
    places = [(p is not None, p or 0.0) for p in probabilities]
    order = sorted(range(len(answers)), key=places.__getitem__, reverse=True)
    missing = [a.reason for a in answers if isinstance(a, Unscored)]
    problem = f"{len(missing)} of {len(answers)} documents got no verdict and {_BEHIND}"
    problems = (f"{problem}: {shorten(missing[0])}",) if missing else ()
    return Reranked(
        tuple(order), len(answers), len(missing), problems=problems, probabilities=probabilities
    )


def _probability(answer: Answer) -> float | None:
    """Return P(yes), 1 or 0 for a verdict without a probability, None without a verdict."""
    if isinstance(answer, Unscored):
        return None
    yes = answer.probability
    return float(answer.value is True) if yes is None else yes
