"""Does the corrected interval hold the truth? Simulated judges whose errors fall together or apart.

Each repeat draws questions with two perspectives and five documents each, a judge that sees a part
of what makes people say yes, and labelled pairs of other questions, nine documents each. What the
judge does not see of a perspective (in standard deviations of log-odds) makes its errors there
fall together.

    python benchmarks/perspectives/correction.py --repeats 100
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from pnyx.measure.perspective_corrected import Correction
from pnyx.measure.perspective_labelled import Labelled, LabelledVerdict
from pnyx.measure.perspective_table import Bounded, Table, mrecall, precision

K = 5


def world(
    rng: np.random.Generator, topics: int, documents: int, unseen: float
) -> tuple[list[Table], list[Table]]:
    """Return topics as judged and as they are."""
    names = tuple(f"d{n}" for n in range(documents))
    shape = documents, 2
    closed = np.zeros(shape, dtype=bool)
    judged, true = [], []
    for topic in range(topics):
        seen = rng.normal(-1.7, 1.5, shape)
        chance = 1 / (1 + np.exp(-(seen + rng.normal(0, unseen, 2))))
        probability = 1 / (1 + np.exp(-(1.3 * seen + 0.3)))
        for found, yes in ((judged, probability > 0.5), (true, rng.random(shape) < chance)):
            ids = f"q{topic}", names, ("a", "b"), (None, None)
            found.append(Table(*ids, yes, closed, (), probability))
    return judged, true


def labelled(judged: list[Table], true: list[Table]) -> Labelled:
    pairs = [
        LabelledVerdict(
            a.topic, a.documents[i], a.perspectives[j], bool(b.yes[i, j]), bool(a.yes[i, j]),
            float(a.probability[i, j]),
        )
        for a, b in zip(judged, true, strict=True)
        for i in range(len(a.documents))
        for j in range(2)
    ]  # fmt: skip
    return Labelled("simulated", tuple(pairs))


def mean(measure: Callable[[Table, int], Bounded], tables: list[Table]) -> float:
    return float(np.mean([measure(table, K).value for table in tables]))


def row(unseen: float, questions: int, repeats: int, topics: int, draws: int) -> str:
    _, large = world(np.random.default_rng(1_000_003), 20_000, K, unseen)
    truth = {"MRecall@5": mean(mrecall, large), "Precision@5": mean(precision, large)}
    judged = {name: [] for name in truth}
    estimates = {name: [] for name in truth}
    held = dict.fromkeys(truth, 0)
    apart = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        tables, _ = world(rng, topics, K, unseen)
        correction = Correction(labelled(*world(rng, questions, 9, unseen)), tables, draws, seed)
        for name, plain, corrected in (
            ("MRecall@5", mrecall, correction.mrecall),
            ("Precision@5", precision, correction.precision),
        ):
            found = corrected(tables, K)
            judged[name].append(mean(plain, tables))
            estimates[name].append(found.value)
            apart += [found.apart] if found.apart is not None else []
            held[name] += found.low <= truth[name] <= found.high
    cells = [f"{unseen:g}", str(questions)]
    for name, more in (("MRecall@5", [f"{np.mean(apart):.3f}"]), ("Precision@5", [])):
        cells += [
            f"{truth[name]:.3f}", f"{np.mean(judged[name]):.3f}", *more,
            f"{np.mean(estimates[name]):.3f}", f"{held[name]} of {repeats}",
        ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--topics", type=int, default=150)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    measures = "MRecall@5 | judged | errors apart | corrected | interval holds it | "
    measures += "Precision@5 | judged | corrected | interval holds it |"
    print(f"| unseen | labelled questions | {measures}\n|{'---|' * 11}")
    given = options.repeats, options.topics, options.draws
    for unseen in (0.0, 1.0, 2.0):
        for questions in (15, 30):
            print(row(unseen, questions, *given), flush=True)


if __name__ == "__main__":
    main()
