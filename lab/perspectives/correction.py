"""Do corrected intervals contain the truth? A simulation of judges, and people's labels of a part.

    python lab/perspectives/correction.py [--repeats 400] [--jobs 1]

Each repeat draws questions with two perspectives and five documents. The judge sees only a part of
the reasons for people's labels. The unseen part is shared by the pairs of a question, by those of a
perspective, or belongs to a single pair. People label some of the questions, chosen at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measures.correction import Correction
from pnyx.perspectives.measures.table import (
    PERSPECTIVE_MEASURES,
    Bounded,
    TopicTable,
    mrecall,
    precision,
)
from pnyx.stats.base import Bootstrap

K = 5
MEASURES: dict[str, Callable[[TopicTable, int], Bounded]] = {
    "MRecall": mrecall,
    "Precision": precision,
}


@dataclass(frozen=True)
class World:
    """The distribution of questions.

    Attributes:
        seen: mean of the log-odds of people's yes that the judge sees.
        question: standard deviation of the unseen part of a question.
        perspective: standard deviation of the unseen part of a perspective.
        misread: share of perspectives that the judge misreads: people almost always say no.
        offset: constant in the judge's log-odds.
        slope: factor of the seen log-odds in the judge's log-odds.
    """

    seen: float = -1.7
    question: float = 0.0
    perspective: float = 0.0
    misread: float = 0.0
    offset: float = 0.3
    slope: float = 1.3


WORLDS = {
    "errors fall apart": World(),
    # About the unexplained variation of the packaged detector on BERDS's pairs.
    "questions by 0.6, perspectives by 1": World(question=0.6, perspective=1),
    "perspectives differ by 2": World(perspective=2),
    "questions by 1.5": World(question=1.5),
    "a sixth of perspectives misread": World(misread=1 / 6),
    "the judge says yes far too often": World(question=0.6, perspective=1, offset=2.3),
    "the judge sees nothing": World(question=0.6, perspective=1, slope=0),
}


def draw(
    rng: np.random.Generator, topics: int, world: World
) -> tuple[list[TopicTable], list[TopicTable]]:
    """Return topics with judged and with true labels."""
    documents, shape = tuple(f"d{n}" for n in range(K)), (K, 2)
    closed = np.zeros(shape, dtype=bool)
    judged, true = [], []
    for topic in range(topics):
        seen = rng.normal(world.seen, 1.5, shape)
        unseen = rng.normal(0, world.question) + rng.normal(0, world.perspective, 2)
        unseen = unseen - 6.0 * (rng.random(2) < world.misread)
        probability = 1 / (1 + np.exp(-(world.slope * seen + world.offset)))
        yes = rng.random(shape) < 1 / (1 + np.exp(-(seen + unseen)))
        ids = f"q{topic}", documents, ("a", "b"), (None, None)
        judged.append(TopicTable(*ids, probability > 0.5, closed, (), probability))
        true.append(TopicTable(*ids, yes, closed, (), probability))
    return judged, true


def labelled(judged: Sequence[TopicTable], true: Sequence[TopicTable]) -> LabelledVerdicts:
    pairs = [
        Pair(
            Verdict(question_id=a.topic, doc_id=doc, value=bool(a.yes[i, j]), perspective_id=view),
            Gold(bool(b.yes[i, j])),
        )
        for a, b in zip(judged, true, strict=True)
        for i, doc in enumerate(a.documents)
        for j, view in enumerate(a.perspectives)
    ]
    return LabelledVerdicts("support", "simulated", tuple(pairs))


def mean(measure: Callable[[TopicTable, int], Bounded], tables: Sequence[TopicTable]) -> float:
    return float(np.mean([measure(table, K).value for table in tables]))


def simulate(name: str, questions: int, options: argparse.Namespace) -> list[str]:
    """Return one row: truth, estimates, coverage and width of the intervals."""
    world = WORLDS[name]
    _, large = draw(np.random.default_rng(1_000_003), 20_000, world)
    cells = [name, str(questions)]
    repeats = []
    for seed in range(options.repeats):
        tables, people = draw(np.random.default_rng(seed), options.topics, world)
        pairs = labelled(tables[:questions], people[:questions])
        repeats.append((tables, people, Correction(pairs, "simulated", Bootstrap(1, seed))))
    for notation, measure in MEASURES.items():
        truth, covered, estimates = mean(measure, large), [], []
        for tables, people, correction in repeats:
            corrected = correction.mean(tables, PERSPECTIVE_MEASURES[notation] @ K)
            truths = np.array([truth, mean(measure, people)])
            covered.append((corrected.low - 1e-12 <= truths) & (truths <= corrected.high + 1e-12))
            estimates.append(
                (corrected.value, corrected.high - corrected.low, mean(measure, tables))
            )
        value, width, judged = np.mean(estimates, axis=0)
        shares = ", ".join(f"{share:.3f}" for share in np.mean(covered, axis=0))
        cells += [f"{truth:.3f}", f"{judged:.3f}", f"{value:.3f}", shares, f"{width:.2f}"]
    return cells


def show(cells: Sequence[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--topics", type=int, default=100, help="measured questions")
    parser.add_argument("--questions", type=int, nargs="+", default=[8, 15, 30])
    parser.add_argument("--jobs", type=int, default=1, help="rows at the same time")
    options = parser.parse_args()
    columns = ["world", "labelled questions"]
    for notation in MEASURES:
        columns += [f"{notation}@{K}", "judged", "corrected", "held", "width"]
    show(columns)
    print("|" + "---|" * len(columns), flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [pool.submit(simulate, w, q, options) for w in WORLDS for q in options.questions]
        for row in rows:
            show(row.result())


if __name__ == "__main__":
    main()
