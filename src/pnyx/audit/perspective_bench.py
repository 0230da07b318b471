"""Do retrievers show every side? Retrieve, judge and measure in one go (BERDS, sections 5 and 6).

    bench = PerspectiveBench(retrievers=("bm25", "dense"))
    search = BenchSearch(Index.open("my.index"), by_question(views), bench)
    found = bench_perspectives(search, BenchJudge(judge, Path("out")))

Each retriever is run plain, with maximal marginal relevance, and once for each perspective that a
source writes. Lambda of the second is chosen on questions that are not measured. Asked each side in
place of the question, retrievers also show how far they follow it (BERDS, Fig. 3).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.audit.perspective_plan import PerspectiveBench
from pnyx.audit.perspective_runs import BenchJudge, BenchSearch
from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.measure.base import Bootstrap
from pnyx.measure.perspective_leaning import Leaning, measure_leaning
from pnyx.measure.perspectives import measure_perspectives

if TYPE_CHECKING:
    from pnyx.measure.gold import Joined
    from pnyx.measure.perspective_results import PerspectiveCoverage

__all__ = ["Benched", "bench_perspectives", "pairs_at_most"]


@dataclass(frozen=True, slots=True)
class Benched:
    """What came of it.

    Attributes:
        coverage: all systems on the questions that are measured, the first is the baseline.
        leaning: how far each retriever follows its question, at the first depth; empty unless
            asked.
        lambdas: retriever -> the lambda that was chosen for it; empty without `mmr`.
        tuning: retriever -> lambda -> mean MRecall on the questions that chose it, None where
            it is open for all of them.
        dev: ids of these questions.
        test: ids of the questions that are measured.
        problems: what a reader must know, one line each.
        kept: how many verdicts were there from an earlier run.
    """

    coverage: PerspectiveCoverage
    leaning: tuple[Leaning, ...]
    lambdas: Mapping[str, float]
    tuning: Mapping[str, Mapping[float, float | None]]
    dev: tuple[str, ...]
    test: tuple[str, ...]
    problems: tuple[str, ...]
    kept: int

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`: that of `measure perspectives`, and how lambda came."""
        tuning = {
            name: [{"lambda": lam, "mrecall": value} for lam, value in own.items()]
            for name, own in self.tuning.items()
        }
        return {
            **self.coverage.row(),
            "leaning": [one.row() for one in self.leaning],
            "lambdas": dict(self.lambdas),
            "tuning": tuning,
            "dev": list(self.dev),
            "test": list(self.test),
            "problems": list(self.problems),
        }


def bench_perspectives(
    search: BenchSearch, judging: BenchJudge, labelled: Joined | None = None, shift: float = 0.0
) -> Benched:
    """Retrieve for questions, judge what is found and measure whether it shows every perspective.

    Verdicts are written as they come; after an interruption the same call resumes from them.

    Args:
        search: what is searched for what.
        judging: who judges; `runs/SYSTEM.run`, `verdicts.jsonl` and, with `mmr`,
            `verdicts-dev.jsonl` go to its folder.
        labelled: see `measure_perspectives`.
        shift: see `measure_perspectives`.

    Raises:
        InputError: there are fewer than two questions where lambda is chosen, the index lacks what
            a retriever needs, or the folder holds verdicts on other pairs.
        ModelError: the judge, the embedder or the source cannot go on; rerun to continue.
    """
    bench = search.bench
    if labelled is not None and labelled.judge != judging.judge.name:
        theirs, own = shorten(labelled.judge, 60), shorten(judging.judge.name, 60)
        raise InputError(f"the labelled pairs were answered by {theirs!r}, expected {own!r}")
    dev, test = _split(list(search.perspectives), bench)
    tuning, lambdas = _tuned(search, judging, dev)
    runs = search.systems(test, {model: (lam,) for model, lam in lambdas.items()})
    sided = search.sided(test) if bench.leaning else {}
    views = {topic: search.perspectives[topic] for topic in test}
    asked = [*runs.values(), *(entries for own in sided.values() for entries in own.values())]
    verdicts = judging.verdicts(search.pairs(asked), "verdicts.jsonl")
    # After the verdicts: a refusal leaves the runs that belong to those there.
    judging.write_runs(runs)
    bootstrap = Bootstrap(bench.draws, bench.seed)
    coverage = measure_perspectives(
        runs,
        views,
        verdicts,
        depths=bench.depths,
        labelled=labelled,
        shift=shift,
        baseline=next(iter(runs)) if len(runs) > 1 else None,
        bootstrap=bootstrap,
    )
    leaning = tuple(
        measure_leaning(name, three, views, verdicts, bench.depths[0], bootstrap=bootstrap)
        for name, three in sided.items()
    )
    problems = tuple(dict.fromkeys(search.problems))
    return Benched(coverage, leaning, lambdas, tuning, dev, test, problems, judging.kept)


def _tuned(
    search: BenchSearch, judging: BenchJudge, dev: Sequence[str]
) -> tuple[dict[str, dict[float, float | None]], dict[str, float]]:
    """Return retriever -> lambda -> mean MRecall at the first depth; and the lambda it gets.

    Of equal lambdas the highest counts: it is nearest to plain.
    """
    lambdas = search.bench.lambdas
    if not dev:
        mmr = "mmr" in search.bench.variants
        return {}, {s.model: lambdas[0] for s in search.scorings if mmr}
    asked = search.questions(dev)
    runs = {s.model: list(search.mmr(s, asked, lambdas).values()) for s in search.scorings}
    pairs = search.pairs(entries for own in runs.values() for entries in own)
    verdicts = judging.verdicts(pairs, "verdicts-dev.jsonl")
    views = {topic: search.perspectives[topic] for topic in dev}
    name = f"MRecall@{search.bench.depths[0]}"
    tuning: dict[str, dict[float, float | None]] = {}
    for model, own in runs.items():
        named = {f"{lam:g}": entries for lam, entries in zip(lambdas, own, strict=True)}
        found = measure_perspectives(named, views, verdicts, [name], bootstrap=Bootstrap(0))
        values = {run.name: run.measures[name].measured.value for run in found.runs}
        tuning[model] = {lam: values[f"{lam:g}"] for lam in lambdas}
    best = {
        model: max(own, key=lambda lam: (-1.0 if own[lam] is None else own[lam], lam))
        for model, own in tuning.items()
    }
    return tuning, best


def pairs_at_most(search: BenchSearch) -> list[Support]:
    """Return all pairs that may be judged: those of every lambda, whichever is chosen.

    Raises:
        InputError: the index lacks what a retriever needs.
    """
    topics = list(search.perspectives)
    lambdas = dict.fromkeys((s.model for s in search.scorings), search.bench.lambdas)
    runs = list(search.systems(topics, lambdas).values())
    if search.bench.leaning:
        for three in search.sided(topics).values():
            runs += three.values()
    return list(search.pairs(runs))


def _split(
    topics: Sequence[str], bench: PerspectiveBench
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part questions into those that choose lambda and those that are measured."""
    if "mmr" not in bench.variants or len(bench.lambdas) == 1:
        return (), tuple(topics)
    if len(topics) < 2:
        raise InputError(
            f"found {len(topics)} question, expected at least 2: lambda is chosen on others than "
            "those that are measured (name one lambda, or leave mmr out)"
        )
    drawn = sorted(topics)
    random.Random(bench.seed).shuffle(drawn)
    count = min(max(1, round(len(drawn) * bench.dev_share)), len(drawn) - 1)
    chosen = set(drawn[:count])
    dev = tuple(topic for topic in topics if topic in chosen)
    return dev, tuple(topic for topic in topics if topic not in chosen)
