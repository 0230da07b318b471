"""Combine several answers to one question: majority, mean, mean rank.

An `Unscored` is not a vote, and more than half of the judges must have answered.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pnyx.core.errors import shorten
from pnyx.judging.answers import (
    Answer,
    Judged,
    Missing,
    Provenance,
    QuestionKind,
    Unscored,
    notes_on_reading,
)

How: TypeAlias = Literal["auto", "majority", "mean"]
"""`auto`: the mean of ratings and of ranks, the majority for everything else."""

T = TypeVar("T")


class _Texts(Protocol):
    """A question whose answer is an order of texts."""

    @property
    def texts(self) -> Sequence[str]: ...


class _Dimensions(Protocol):
    """A question whose answer is a number on each dimension."""

    @property
    def dimensions(self) -> Sequence[str]: ...

    def votes(self, answer: Answer) -> Sequence[float | Missing]: ...

    def compose(self, cells: Sequence[Any], provenance: Provenance, **fields: Any) -> Answer: ...


def combine(
    question: QuestionKind, answers: Sequence[Answer], how: How = "auto", *, judge: str
) -> Answer:
    """Combine one or more answers to the same question into one.

    - Support: the majority; an even split follows the mean probability if every vote states one.
        With `mean`, yes if the mean probability is at least 0.5. The probability is the mean in
        both cases; a vote without one counts as 1 or 0.
    - Rating: for each dimension the mean (`auto`, `mean`) or the most frequent number; if several
        are equally frequent, the median of all votes (`majority`). A dimension without enough votes
        is None in the list, with its reason in `notes["dimensions"]`.
    - Preference: the majority, in which "tie" is a vote like others. If a and b have equally many
        votes, and "tie" not more, it is a "tie".
    - Ranking: by mean rank (Borda); texts with equal mean ranks in the order of the first vote.
        Positions that a vote omits get the mean of the remaining ranks; positions that all votes
        omit are unranked.

    Any other even split is `Unscored("tie: ...")`. The order of the answers matters only for equal
    mean ranks and for the explanation shown. A kind that can be counted in only one way ignores
    `how`; `judge` is the name of the combination.

    Returns:
        The answer, with notes on votes, agreement and spread (both for at least two votes), the
        explanation and evidence of the first vote for (or nearest to) the value, and all
        provenances in `details["members"]`.
    """
    if not answers:
        raise ValueError("no answers to combine")
    method = how if how in question.counted else question.counted[0]
    notes: dict[str, Any] = {"votes": [a.value if isinstance(a, Judged) else None for a in answers]}
    read = notes_on_reading(answers)
    notes |= {"lenient": read["lenient"]} if "lenient" in read else {}
    combined: Answer = question.count(answers, provenance_of(judge, method, answers), notes)
    return combined


def provenance_of(judge: str, method: str, answers: Sequence[Answer]) -> Provenance:
    """Return the provenance of a combined answer."""
    members = []
    for answer in answers:
        by = answer.provenance
        member: dict[str, Any] = {"judge": by.judge, "prompt_hash": by.prompt_hash}
        member |= {"method": by.method, "details": dict(by.details)}
        if isinstance(answer, Unscored):
            member["unscored"] = answer.reason
        members.append(member)
    hashes = {answer.provenance.prompt_hash for answer in answers}
    shared = hashes.pop() if len(hashes) == 1 else ""
    calls = tuple(dict.fromkeys(key for answer in answers for key in answer.provenance.asked))
    return Provenance(judge, shared, method, {"members": members}, calls)


def _too_few(votes: Sequence[object]) -> Missing | None:
    """Return the reason if too few votes are scored; a `Missing` is not a vote."""
    reasons = Counter(shorten(v.partition(":")[0], 40) for v in votes if isinstance(v, Missing))
    scored = len(votes) - reasons.total()
    if 2 * scored > len(votes):
        return None
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count} {reason}" for reason, count in ranked)
    # A common cause, such as an exhausted budget, remains the cause in the counts.
    word = next(iter(reasons)) if len(reasons) == 1 and not scored else "panel"
    return Missing(f"{word}: {scored} of {len(votes)} scored ({listed})")


def most_frequent(votes: Iterable[T]) -> tuple[list[T], float]:
    """Return the most frequent votes (of at least one), each once, and the share of one of them."""
    counts: Counter[Hashable] = Counter()
    first: dict[Hashable, T] = {}
    for vote in votes:
        key: Any = tuple(vote) if isinstance(vote, list) else vote
        counts[key] += 1
        first.setdefault(key, vote)
    most = max(counts.values())
    return [first[key] for key, count in counts.items() if count == most], most / counts.total()


def _agreement(votes: Sequence[Any]) -> dict[str, float]:
    # A single vote always agrees with itself, which is not informative.
    return {"agreement": most_frequent(votes)[1]} if len(votes) > 1 else {}


def _spread(numbers: Sequence[float]) -> dict[str, float]:
    if len(numbers) < 2:
        return {}
    mean = _mean(numbers)
    return {"spread": math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))}


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean: independent of the order, and exact if all numbers are equal."""
    low, high = min(numbers), max(numbers)  # rounding must not exceed these
    return float(min(max(math.fsum(numbers) / len(numbers), low), high))


def _scored(
    answers: Sequence[Answer], provenance: Provenance, notes: dict[str, Any]
) -> list[Judged] | Unscored:
    """Return the votes and note their agreement, or return why they are too few."""
    votes = [Missing(a.reason) if isinstance(a, Unscored) else a for a in answers]
    if missing := _too_few(votes):
        return Unscored(str(missing), provenance, notes=notes)
    scored = [a for a in answers if isinstance(a, Judged)]
    notes |= _agreement([a.value for a in scored])
    return scored


def count_verdicts(
    _: Any, answers: Sequence[Answer], provenance: Provenance, notes: dict[str, Any]
) -> Answer:
    """Count votes of yes and no; see `combine`."""
    if isinstance(scored := _scored(answers, provenance, notes), Unscored):
        return scored
    stated = [a.probability for a in scored if a.probability is not None]
    numbers = [float(a.value is True) if a.probability is None else a.probability for a in scored]
    mean, yes = _mean(numbers), sum(a.value is True for a in scored)
    no = len(scored) - yes
    if stated:
        notes |= _spread(numbers)
    all_stated = len(stated) == len(scored)
    if provenance.method == "mean" and stated and (all_stated or mean != 0.5):
        value = mean >= 0.5
    elif yes != no:
        value = yes > no
    elif all_stated and mean != 0.5:
        value = mean > 0.5
    else:
        return Unscored(f"tie: {yes} yes, {no} no", provenance, notes=notes)
    words = _words(scored, [None if a.value != value else 0 for a in scored])
    return Judged(value, provenance, mean, notes=notes, **words)


def count_preferences(
    _: Any, answers: Sequence[Answer], provenance: Provenance, notes: dict[str, Any]
) -> Answer:
    """Count votes for a, b and tie; see `combine`."""
    if isinstance(scored := _scored(answers, provenance, notes), Unscored):
        return scored
    votes = [a.value for a in scored]
    winners, _ = most_frequent(votes)
    if len(winners) == 1:
        value = winners[0]
    elif {"a", "b"} <= set(winners):
        value = "tie"
    else:
        counts = ", ".join(f"{votes.count(v)} {v}" for v in ("a", "b", "tie") if v in votes)
        return Unscored(f"tie: {counts}", provenance, notes=notes)
    words = _words(scored, [None if v != value else 0 for v in votes])
    return Judged(value, provenance, notes=notes, **words)


def count_orders(
    question: _Texts, answers: Sequence[Answer], provenance: Provenance, notes: dict[str, Any]
) -> Answer:
    """Order texts by mean rank, ties in the order of the first vote; see `combine`."""
    if isinstance(scored := _scored(answers, provenance, notes), Unscored):
        return scored
    orders: list[Any] = [a.value for a in scored]
    texts = len(question.texts)
    table = [ranks_of(order, texts) for order in orders]
    ranks = [math.fsum(column) for column in zip(*table, strict=True)]
    named = list(dict.fromkeys(position for order in orders for position in order))
    mean = sorted(named, key=ranks.__getitem__)
    if len(mean) < texts:
        notes["missing"] = [position for position in range(texts) if position not in mean]
    places = ranks_of(mean, texts)
    distances = [  # Spearman's footrule
        sum(abs(rank - mean) for rank, mean in zip(row, places, strict=True)) for row in table
    ]
    return Judged(mean, provenance, notes=notes, **_words(scored, distances))


def ranks_of(order: Sequence[int], texts: int) -> list[float]:
    """Return the 0-based rank of each text from an order of positions; omitted ones are tied."""
    ranks = [(len(order) + texts - 1) / 2] * texts
    for rank, position in enumerate(order):
        ranks[position] = float(rank)
    return ranks


def _words(scored: Sequence[Judged], distances: Sequence[float | None]) -> dict[str, Any]:
    """Return explanation and evidence of the first vote nearest to the value; None is excluded."""
    near = [(distance, n) for n, distance in enumerate(distances) if distance is not None]
    if not near:
        return {}
    speaker = scored[min(near)[1]]
    return {"explanation": speaker.explanation, "evidence": speaker.evidence}


def count_ratings(
    question: _Dimensions, answers: Sequence[Answer], provenance: Provenance, notes: dict[str, Any]
) -> Answer:
    """Count the ratings on each dimension; see `combine`."""
    table = [question.votes(answer) for answer in answers]
    cells: list[float | Missing] = []
    by_dimension: dict[str, dict[str, float]] = {"agreement": {}, "spread": {}}
    for dimension, column in zip(question.dimensions, zip(*table, strict=True), strict=True):
        numbers = [cell for cell in column if not isinstance(cell, Missing)]
        cells.append(_too_few(column) or _rating(numbers, provenance.method))
        for name, number in (_agreement(numbers) | _spread(numbers)).items():
            by_dimension[name][dimension] = number
    for name, shares in by_dimension.items():
        if shares:
            notes[name] = shares if len(cells) > 1 else shares[question.dimensions[0]]
    pairs = [(a, _gap(row, cells)) for a, row in zip(answers, table, strict=True)]
    scored = [(a, gap) for a, gap in pairs if isinstance(a, Judged)]
    words = _words([a for a, _ in scored], [gap for _, gap in scored])
    return question.compose(cells, provenance, notes=notes, **words)


def _rating(numbers: Sequence[float], method: str) -> float:
    if method == "mean":
        return _mean(numbers)
    winners, _ = most_frequent(numbers)
    return winners[0] if len(winners) == 1 else statistics.median(numbers)


def _gap(row: Sequence[float | Missing], cells: Sequence[float | Missing]) -> float | None:
    """Return the distance of a vote from the combined ratings, on the dimensions that both have."""
    gaps = [
        abs(vote - cell)
        for vote, cell in zip(row, cells, strict=True)
        if not isinstance(vote, Missing) and not isinstance(cell, Missing)
    ]
    return _mean(gaps) if gaps else None
