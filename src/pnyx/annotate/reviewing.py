"""Where annotations and labels disagree: a sample for people to check (DIRAS, 4.1, App. M).

Disagreements are sampled from strata: bins of the judge's confidence, each by what the labels say.
As many are drawn from each stratum, so that rare kinds are seen, too; what each stands for goes
along. What people answer, `pnyx.measure.reviewed` turns into shares.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pnyx.errors import InputError
from pnyx.judge.verdicts import Verdict
from pnyx.measure.gold import Truth

__all__ = ["EDGES", "Disagreement", "draw_disagreements"]

EDGES: tuple[float, ...] = (0.9, 0.95, 0.98)
"""Confidences that part the bins of DIRAS, Appendix M; an edge belongs to the bin below it."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair on which the judge and the labels differ.

    Attributes:
        id: of the pair.
        question_id: of its question; may be empty.
        doc_id: of its document; may be empty.
        judge: who annotated it; may be empty.
        value: what the judge says.
        label: what the labels say: the opposite.
        probability: the judge's, that it is relevant.
        confidence: the judge's in its own verdict.
        low, high: the bin: above `low`, at most `high`.
        stratum: number of the stratum, from 1.
        stratum_size: how many disagreements there are in it.
        drawn: how many of them were drawn.
        scored: how many annotations the file has, agreeing or not, without the unscored.
        above: edge of a bin -> how many of these have a higher confidence.
        question: its text; empty where it is not at hand.
        definition: what is relevant to it.
        document: the passage.
        right: who is right, as a person says: `judge`, `labels`, `unclear`, or nothing yet.
    """

    id: str
    question_id: str
    doc_id: str
    judge: str
    value: bool
    label: bool
    probability: float
    confidence: float
    low: float
    high: float
    stratum: int
    stratum_size: int
    drawn: int
    scored: int
    above: Mapping[str, int] = field(hash=False)
    question: str = ""
    definition: str = ""
    document: str = ""
    right: str = ""


def draw_disagreements(
    annotations: Iterable[Verdict],
    truth: Truth,
    *,
    per_stratum: int = 25,
    edges: Sequence[float] = EDGES,
    seed: int = 0,
) -> tuple[list[Disagreement], dict[str, int]]:
    """Draw disagreements, as many from each stratum, in a mixed order.

    Args:
        annotations: a judge's; unscored ones agree and disagree with nothing.
        truth: what the labels say.
        per_stratum: how many to draw of each stratum; all where there are fewer. At least 1.
        edges: confidences that part the bins, rising, between 0 and 1.
        seed: of the draw.

    Returns:
        The sample, and the counts `annotations`, `scored`, `unscored`, `labelled` and
        `disagreements`.

    Raises:
        InputError: a number out of range.
    """
    bounds = (0.0, *edges, 1.0)
    if per_stratum < 1:
        raise InputError(f"{per_stratum} of each stratum, expected at least 1")
    if not all(a < b for a, b in pairwise(bounds)):  # NaN is neither
        shown = ",".join(f"{e:g}" for e in edges)
        raise InputError(f"edges: found {shown}, expected rising ones between 0 and 1")
    counts = dict.fromkeys(("annotations", "scored", "unscored", "labelled", "disagreements"), 0)
    above = dict.fromkeys(map(_name, edges), 0)
    strata: dict[int, list[Disagreement]] = {}
    for one in annotations:
        counts["annotations"] += 1
        confidence = one.confidence
        if one.value is None or confidence is None:
            counts["unscored"] += 1
            continue
        counts["scored"] += 1
        for edge in edges:
            above[_name(edge)] += confidence > edge
        label = truth(one)
        counts["labelled"] += label is not None
        if label is None or label == one.value:
            continue
        counts["disagreements"] += 1
        place = sum(confidence > edge for edge in edges)
        number = 2 * place + (1 if label else 2)
        found = _disagreement(one, confidence, bounds[place : place + 2], number)
        strata.setdefault(number, []).append(found)
    rng = random.Random(seed)
    drawn: list[Disagreement] = []
    for number in sorted(strata):
        some: list[Disagreement] = rng.sample(strata[number], min(per_stratum, len(strata[number])))
        for found in some:
            sized = replace(found, stratum_size=len(strata[number]), drawn=len(some))
            drawn.append(replace(sized, scored=counts["scored"], above=above))
    rng.shuffle(drawn)  # so that nobody sees from the place how sure the judge was
    return drawn, counts


def _name(edge: float) -> str:
    return f"{edge:g}"


def _disagreement(
    one: Verdict, confidence: float, bin_: Sequence[float], number: int
) -> Disagreement:
    texts: dict[str, Any] = {
        name: value
        for name in ("question", "definition", "document")
        if isinstance(value := one.extra.get(name), str)
    }
    return Disagreement(
        id=one.id,
        question_id=one.question_id,
        doc_id=one.doc_id,
        judge=one.judge,
        value=bool(one.value),
        label=not one.value,
        probability=one.probability or 0.0,
        confidence=confidence,
        low=bin_[0],
        high=bin_[1],
        stratum=number,
        stratum_size=0,
        drawn=0,
        scored=0,
        above={},
        **texts,
    )
