"""Do corrected intervals contain the truth? Simulated judges and people, and halves of real ones.

    python benchmarks/perspectives/correction.py [--repeats 100] [--jobs 1]      # simulated
    ... --before COMMIT           # also by the correction of a former commit of this repository
    ... --answers FOLDER          # real: labels of one half of the questions, measured on the other

Each repeat draws questions with two perspectives and their documents, a judge that sees a part of
what makes people say yes, and labelled pairs of other questions, nine documents each. What it does
not see is shared by a question's pairs, by a perspective's, or concerns a pair alone. FOLDER is
what `pnyx judge support` wrote on pairs with labels (`benchmarks/berds/coverage.py` makes it).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from pnyx.judge.verdicts import Verdict
from pnyx.measure.core.base import Bootstrap
from pnyx.measure.core.ground_truth import Gold, Joined, join_labels
from pnyx.measure.core.ground_truth import Pair as LabelledPair
from pnyx.measure.perspectives.corrected import Correction
from pnyx.measure.perspectives.table import Bounded, Table, mrecall, precision

K = 5
DRAWS, DRAWS_BEFORE = 400, 200
MEASURES = {"MRecall@5": mrecall, "Precision@5": precision}
HOME = "src/pnyx/measure/perspectives/corrected.py"


@dataclass(frozen=True)
class World:
    """Where questions come from.

    Attributes:
        seen: mean log-odds of people's yes as far as the judge sees it.
        question: standard deviation of what it does not see of a question.
        perspective: and of a perspective.
        slopes: standard deviation, over questions, of how much it makes of what it sees.
        misread: share of perspectives that it misreads altogether: people nearly always say no.
        offset: how far its own log-odds are moved.
        slope: how much it makes of what it sees.
    """

    seen: float = -1.7
    question: float = 0.0
    perspective: float = 0.0
    slopes: float = 0.0
    misread: float = 0.0
    offset: float = 0.3
    slope: float = 1.3


PLAIN = World(question=0.6, perspective=1.0)
"""About what the packaged detector leaves open on BERDS's pairs."""

SCENES: dict[str, tuple[World, World, float]] = {
    "errors fall apart": (World(), World(), 0.0),
    "perspectives differ by 1": (World(perspective=1), World(perspective=1), 0.0),
    "perspectives differ by 2": (World(perspective=2), World(perspective=2), 0.0),
    "questions by 0.6, perspectives by 1": (PLAIN, PLAIN, 0.0),
    "questions by 1.5": (World(question=1.5), World(question=1.5), 0.0),
    "the judge's slope by 0.4": (replace(PLAIN, slopes=0.4), replace(PLAIN, slopes=0.4), 0.0),
    "a sixth of perspectives misread": (World(misread=1 / 6), World(misread=1 / 6), 0.0),
    "people say yes more often where measured": (PLAIN, replace(PLAIN, seen=-0.7), 0.0),
    "judge's log-odds +0.7 where measured": (PLAIN, replace(PLAIN, offset=1.0), 0.0),
    "the same, with a shift of 0.7": (PLAIN, replace(PLAIN, offset=1.0), 0.7),
    "judge's slope halved where measured": (PLAIN, replace(PLAIN, slope=0.65), 0.0),
    "the same, with a shift of 0.7 ": (PLAIN, replace(PLAIN, slope=0.65), 0.7),
}
"""Name -> where labelled and measured questions come from, and the shift that is stated."""

EVERY_SIZE = "questions by 0.6, perspectives by 1", "a sixth of perspectives misread"
"""Shown for every number of labelled questions, the others for the middle one alone."""

Pair = tuple[list[Table], list[Table]]


def draw(rng: np.random.Generator, topics: int, documents: int, world: World, name: str) -> Pair:
    """Return topics as judged and as they are."""
    names = tuple(f"d{n}" for n in range(documents))
    shape = documents, 2
    closed = np.zeros(shape, dtype=bool)
    judged, true = [], []
    for topic in range(topics):
        seen = rng.normal(world.seen, 1.5, shape)
        unseen = rng.normal(0, world.question) + rng.normal(0, world.perspective, 2)
        unseen = unseen - 6.0 * (rng.random(2) < world.misread)
        slope = max(0.0, world.slope + rng.normal(0, world.slopes))
        probability = 1 / (1 + np.exp(-(slope * seen + world.offset)))
        yes = rng.random(shape) < 1 / (1 + np.exp(-(seen + unseen)))
        ids = f"{name}{topic}", names, ("a", "b"), (None, None)
        judged.append(Table(*ids, probability > 0.5, closed, (), probability))
        true.append(Table(*ids, yes, closed, (), probability))
    return judged, true


def labelled(judged: Sequence[Table], true: Sequence[Table]) -> Joined:
    pairs = [
        LabelledPair(
            Verdict(
                question_id=a.topic, doc_id=a.documents[i], perspective_id=a.perspectives[j],
                value=bool(a.yes[i, j]), probability=float(a.probability[i, j]),
            ),
            Gold(bool(b.yes[i, j])),
        )
        for a, b in zip(judged, true, strict=True)
        for i in range(len(a.documents))
        for j in range(len(a.perspectives))
    ]  # fmt: skip
    return Joined("support", "simulated", tuple(pairs))


def mean(measure: Callable[[Table, int], Bounded], tables: Sequence[Table]) -> float:
    return float(np.mean([measure(table, K).value for table in tables]))


# --- what is counted --------------------------------------------------------------------------


class Count:
    """How often intervals hold the truth, and how wide they are."""

    def __init__(self) -> None:
        self.held: list[list[bool]] = []
        self.values: list[float] = []
        self.widths: list[float] = []

    def add(self, found: object, truths: Sequence[float]) -> None:
        low, high = found.low, found.high  # type: ignore[attr-defined]
        if low is None:
            self.held.append([False] * len(truths))
            return
        self.held.append([low - 1e-12 <= truth <= high + 1e-12 for truth in truths])
        self.values.append(found.value)  # type: ignore[attr-defined]
        self.widths.append(high - low)

    def cells(self) -> list[str]:
        """Return mean estimate, shares of intervals that hold each truth, and the mean width."""
        shares = [f"{share:.2f}".removeprefix("0") for share in np.mean(self.held, axis=0)]
        return [f"{np.mean(self.values):.3f}", ", ".join(shares), f"{np.mean(self.widths):.2f}"]


def former(commit: str | None) -> type | None:
    """Return the correction as it was in a commit."""
    if commit is None:
        return None
    shown = subprocess.run(
        ["git", "show", f"{commit}:{HOME}"],
        check=True,
        capture_output=True,
        text=True,
    )
    module = types.ModuleType("former")
    sys.modules["former"] = module
    exec(compile(shown.stdout, HOME, "exec"), module.__dict__)
    return module.Correction


def corrections(
    pairs: Joined, tables: Sequence[Table], shift: float, seed: int, before: type | None
) -> dict[str, object]:
    found: dict[str, object] = {}
    if before is not None:
        found["before"] = before(pairs, tables, DRAWS_BEFORE, seed)
    found["now"] = Correction(pairs, tables, shift=shift, bootstrap=Bootstrap(DRAWS, seed))
    return found


def show(cells: Sequence[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def head(first: Sequence[str], before: bool) -> None:
    columns = list(first)
    for measure in MEASURES:
        columns += [measure, "judged"]
        for when in ("before", "now") if before else ("now",):
            columns += [f"{when}: corrected", "held", "width"]
    show(columns)
    print("|" + "---|" * len(columns), flush=True)


# --- simulated --------------------------------------------------------------------------------


def simulate(scene: str, questions: int, options: argparse.Namespace) -> list[str]:
    """Return one row: labels of other questions."""
    before = former(options.before if questions == middle(options) else None)
    there, here, shift = SCENES[scene]
    _, large = draw(np.random.default_rng(1_000_003), 20_000, K, here, "q")
    truth = {name: mean(measure, large) for name, measure in MEASURES.items()}
    raw: dict[str, list[float]] = {name: [] for name in MEASURES}
    counts: dict[tuple[str, str], Count] = {}
    for seed in range(options.repeats):
        rng = np.random.default_rng(seed)
        tables, people = draw(rng, options.topics, K, here, "q")
        pairs = labelled(*draw(rng, questions, 9, there, "l"))
        for when, correction in corrections(pairs, tables, shift, seed, before).items():
            for name, measure in MEASURES.items():
                found = getattr(correction, measure.__name__)(tables, K)
                truths = truth[name], mean(measure, people)
                counts.setdefault((name, when), Count()).add(found, truths)
        for name, measure in MEASURES.items():
            raw[name].append(mean(measure, tables))
    cells = [scene.strip(), str(questions)]
    for name in MEASURES:
        cells += [f"{truth[name]:.3f}", f"{np.mean(raw[name]):.3f}"]
        if options.before is not None:
            found = counts.get((name, "before"))
            cells += ["", "", ""] if found is None else found.cells()
        cells += counts[name, "now"].cells()
    return cells


def sampled(scene: str, questions: int, options: argparse.Namespace) -> list[str]:
    """Return one row: some of the measured questions are labelled themselves."""
    _, here, _ = SCENES[scene]
    _, large = draw(np.random.default_rng(1_000_003), 20_000, K, here, "q")
    counts = {name: Count() for name in MEASURES}
    truth = {name: mean(measure, large) for name, measure in MEASURES.items()}
    raw: dict[str, list[float]] = {name: [] for name in MEASURES}
    for seed in range(options.repeats):
        rng = np.random.default_rng(seed)
        tables, people = draw(rng, options.topics, K, here, "q")
        pairs = labelled(tables[:questions], people[:questions])
        correction = Correction(pairs, tables, bootstrap=Bootstrap(DRAWS, seed))
        for name, measure in MEASURES.items():
            found = getattr(correction, measure.__name__)(tables, K)
            counts[name].add(found, (truth[name], mean(measure, people)))
            raw[name].append(mean(measure, tables))
    cells = [scene.strip(), str(questions)]
    for name in MEASURES:
        cells += [f"{truth[name]:.3f}", f"{np.mean(raw[name]):.3f}", *counts[name].cells()]
    return cells


def middle(options: argparse.Namespace) -> int:
    """Return the number of labelled questions for which everything is shown."""
    return int(sorted(options.questions)[len(options.questions) // 2])


# --- real -------------------------------------------------------------------------------------


def table_pair(pairs: Sequence[LabelledPair], draw_: random.Random) -> tuple[Table, Table]:
    """Return a question's documents with all their labels, in any order: as judged, and as is."""
    views = tuple(dict.fromkeys(one.verdict.perspective_id for one in pairs))
    found: dict[str, dict[str, LabelledPair]] = {}
    for one in pairs:
        found.setdefault(one.verdict.doc_id, {})[one.verdict.perspective_id] = one
    whole = [doc for doc, own in found.items() if len(own) == len(views)]
    draw_.shuffle(whole)
    rows = [[found[doc][view] for view in views] for doc in whole]
    said, truth, chance = (
        np.array([[of(one) for one in row] for row in rows])
        for of in (
            lambda p: p.verdict.value,
            lambda p: p.gold.yes,
            lambda p: p.verdict.probability,
        )
    )
    ids = pairs[0].verdict.question_id, tuple(whole), views, (None,) * len(views)
    none = np.zeros_like(said)
    return Table(*ids, said, none, (), chance), Table(*ids, truth, none, (), chance)


def halves(options: argparse.Namespace, before: type | None) -> None:
    """Show how often intervals from one half's labels hold what people say of the other half."""
    known = join_labels(options.answers, task="support")
    scored = [one for one in known.pairs if one.verdict.value is not None]
    own: dict[str, list[LabelledPair]] = {}
    for one in sorted(scored, key=lambda pair: pair.verdict.line):
        own.setdefault(one.verdict.question_id, []).append(one)
    for size in (len(own) // 2 + len(own) % 2, 2 * len(own) // 3):
        counts: dict[tuple[str, str], Count] = {}
        truths: dict[str, list[float]] = {name: [] for name in MEASURES}
        raw: dict[str, list[float]] = {name: [] for name in MEASURES}
        for seed in range(options.repeats):
            drawn = random.Random(seed)
            order = drawn.sample(list(own), len(own))
            pairs = tuple(p for question in order[:size] for p in own[question])
            both = [table_pair(own[question], drawn) for question in order[size:]]
            tables, people = [a for a, _ in both], [b for _, b in both]
            halved = Joined(known.task, known.judge, pairs)
            for name, measure in MEASURES.items():
                truths[name].append(mean(measure, people))
                raw[name].append(mean(measure, tables))
            for when, correction in corrections(halved, tables, 0.0, seed, before).items():
                for name, measure in MEASURES.items():
                    found = getattr(correction, measure.__name__)(tables, K)
                    counts.setdefault((name, when), Count()).add(found, truths[name][-1:])
        cells = [str(size), str(len(own) - size)]
        for name in MEASURES:
            cells += [f"{np.mean(truths[name]):.3f}", f"{np.mean(raw[name]):.3f}"]
            for when in ("before", "now"):
                cells += counts[name, when].cells() if (name, when) in counts else []
        show(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--topics", type=int, default=100, help="measured questions")
    parser.add_argument("--questions", type=int, nargs="+", default=[8, 15, 30])
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--answers", metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=1, help="rows at the same time")
    options = parser.parse_args()
    if options.answers is not None:
        before = former(options.before)
        head(["labelled questions", "measured"], before is not None)
        halves(options, before)
        return
    rows = [
        (scene, questions)
        for scene in SCENES
        for questions in (options.questions if scene in EVERY_SIZE else [middle(options)])
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        elsewhere = [pool.submit(simulate, *row, options) for row in rows]
        own = [
            pool.submit(sampled, scene, questions, options)
            for scene in EVERY_SIZE
            for questions in options.questions
        ]
        print("held: the mean over all such questions, and over those that are measured")
        print("\nLabels of other questions\n")
        head(["scene", "labelled questions"], options.before is not None)
        for one in elsewhere:
            show(one.result())
        print("\nSome of the measured questions labelled themselves, picked at random\n")
        head(["scene", "labelled questions"], False)
        for one in own:
            show(one.result())


if __name__ == "__main__":
    main()
