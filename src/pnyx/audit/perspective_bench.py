"""Do retrievers show every side? Retrieve, judge and measure in one go (BERDS, sections 5 and 6).

    bench = PerspectiveBench(retrievers=(Scoring("bm25"), Scoring("dense")))
    found = bench_perspectives(Index.open("my.index"), by_question(views), judge, "out", bench)

Each retriever is run plain, with maximal marginal relevance, and once for each perspective that a
source writes. Lambda of the second is chosen on questions that are not measured. Asked each side in
place of the question, retrievers also show how far they follow it (BERDS, Fig. 3).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pnyx.audit.perspective_runs import Runs, Work, plan_of, question_of, system_name
from pnyx.errors import InputError, shorten
from pnyx.judge.base import Judge
from pnyx.judge.perspectives import PASSAGE_WORDS
from pnyx.judge.questions import Support
from pnyx.measure.base import Bootstrap
from pnyx.measure.perspective_leaning import Leaning, measure_leaning
from pnyx.measure.perspective_verdicts import read_verdicts
from pnyx.measure.perspectives import Questions, measure_perspectives
from pnyx.search.index import Index
from pnyx.search.scoring import Scoring

if TYPE_CHECKING:
    from pnyx.measure.gold import Joined
    from pnyx.measure.perspective_results import PerspectiveCoverage
    from pnyx.models.embedding import Embedder
    from pnyx.search.perspectives import PerspectiveSource

__all__ = [
    "LAMBDAS",
    "VARIANTS",
    "Benched",
    "PerspectiveBench",
    "Variant",
    "bench_perspectives",
    "pairs_at_most",
]

Variant: TypeAlias = Literal["plain", "mmr", "perspectives"]

VARIANTS: tuple[Variant, ...] = get_args(Variant)

LAMBDAS = (0.5, 0.75, 0.9, 0.95, 0.99)
"""BERDS, Appendix B.6."""


@dataclass(frozen=True, slots=True)
class PerspectiveBench:
    """What is compared, and how.

    Attributes:
        retrievers: each another way of ranking.
        variants: of `VARIANTS`; `perspectives` needs a source of them.
        depths: k of MRecall@k and Precision@k; lambda is chosen by MRecall at the first.
        lambdas: of which one is chosen for each retriever, in [0, 1].
        dev_share: of the questions, on which lambda is chosen and nothing is measured, in (0, 1).
        leaning: also run each retriever, plain, with the supporting and with the opposing
            perspective in place of the question.
        words: documents are judged in passages of so many words; 0 leaves them whole.
        draws: of the bootstrap over questions.
        seed: of the choice of questions and of all that is drawn.

    Raises:
        InputError: a value out of range, nothing to compare, or a retriever named twice.
    """

    retrievers: Sequence[Scoring]
    variants: Sequence[Variant] = ("plain", "mmr")
    depths: Sequence[int] = (5, 10)
    lambdas: Sequence[float] = LAMBDAS
    dev_share: float = 0.25
    leaning: bool = False
    words: int = PASSAGE_WORDS
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        names = [scoring.model for scoring in self.retrievers]
        if not names or not self.variants or not self.depths:
            raise InputError("nothing to compare: expected retrievers, variants and depths")
        if len(set(names)) < len(names):
            raise InputError(f"a retriever is named twice: {', '.join(names)}")
        if not set(self.variants) <= set(VARIANTS):
            raise InputError(f"variants: expected some of {', '.join(VARIANTS)}")
        if min(self.depths) < 1 or self.words < 0:
            raise InputError("expected depths from 1, and words from 0")
        if not 0 < self.dev_share < 1:
            raise InputError(f"share of questions for lambda: found {self.dev_share:g}, "
                             "expected between 0 and 1")  # fmt: skip
        if "mmr" in self.variants and not all(0 <= lam <= 1 for lam in self.lambdas or (-1,)):
            raise InputError("lambda: expected numbers from 0 to 1")


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
    index: Index,
    perspectives: Questions,
    judge: Judge,
    out: str | Path,
    bench: PerspectiveBench,
    *,
    embedder: Embedder | None = None,
    expansions: PerspectiveSource | None = None,
    labelled: Joined | None = None,
    shift: float = 0.0,
    settings: Mapping[str, Any] | None = None,
    on_pairs: Callable[[int], None] | None = None,
) -> Benched:
    """Retrieve for questions, judge what is found and measure whether it shows every perspective.

    Verdicts are written as they come; interrupted, the same call goes on from them.

    Args:
        index: is searched.
        perspectives: what `pnyx.measure.perspectives.by_question` returns; `extra["question"]` is
            the question's text.
        judge: says which passage supports which perspective.
        out: a folder: `runs/SYSTEM.run`, `verdicts.jsonl`, with `mmr` also `verdicts-dev.jsonl`.
        bench: what is compared.
        embedder: of questions, where a retriever needs one.
        expansions: writes the perspectives that are searched; those to be covered are the answer,
            and no expansion.
        labelled: see `measure_perspectives`.
        shift: see `measure_perspectives`.
        settings: see `apply_judge`.
        on_pairs: told how many pairs there are to judge, before each of the two rounds.

    Raises:
        InputError: a question has no text, there are fewer than two where lambda is chosen, the
            variant `perspectives` has no source, the index lacks what a retriever needs, or `out`
            holds verdicts on other pairs.
        ModelError: the judge, the embedder or the source cannot go on; rerun to continue.
    """
    _check(bench, judge, expansions, labelled)
    questions = {topic: question_of(topic, perspectives) for topic in perspectives}
    dev, test = _split(list(questions), bench)
    work = Work(index, perspectives, judge, Path(out), bench, embedder, expansions, settings)
    work.on_pairs = on_pairs
    tuning = work.tune([questions[topic] for topic in dev]) if dev else {}
    lambdas = {name: _best(own) for name, own in tuning.items()}
    if "mmr" in bench.variants and not dev:
        lambdas = dict.fromkeys((scoring.model for scoring in bench.retrievers), bench.lambdas[0])
    runs: Runs = {
        system_name(scoring, variant): work.run(
            plan_of(scoring, variant, lambdas.get(scoring.model)), [questions[t] for t in test]
        )
        for scoring in bench.retrievers
        for variant in VARIANTS
        if variant in bench.variants
    }
    sided = work.ask_sides(test) if bench.leaning else {}
    plain = {f"{name} {asked}": run for name, own in sided.items() for asked, run in own.items()}
    own_views = {topic: perspectives[topic] for topic in test}
    verdicts = read_verdicts(work.judge({**runs, **plain}, "verdicts.jsonl"))
    # After the verdicts: a refusal leaves the runs that belong to those there.
    work.write_runs(runs)
    bootstrap = Bootstrap(bench.draws, bench.seed)
    coverage = measure_perspectives(
        runs,
        own_views,
        verdicts,
        depths=bench.depths,
        labelled=labelled,
        shift=shift,
        baseline=next(iter(runs)) if len(runs) > 1 else None,
        bootstrap=bootstrap,
    )
    leaning = tuple(
        measure_leaning(name, three, own_views, verdicts, bench.depths[0], bootstrap=bootstrap)
        for name, three in sided.items()
    )  # fmt: skip
    return Benched(
        coverage,
        leaning,
        lambdas,
        tuning,
        dev,
        test,
        tuple(dict.fromkeys(work.problems)),
        work.kept,
    )


def _check(
    bench: PerspectiveBench,
    judge: Judge,
    expansions: PerspectiveSource | None,
    labelled: Joined | None,
) -> None:
    """Refuse what would otherwise be refused after all is judged."""
    if "perspectives" in bench.variants and expansions is None:
        raise InputError("the variant perspectives needs a source of perspectives to search for")
    if labelled is not None and labelled.judge != judge.name:
        theirs, own = shorten(labelled.judge, 60), shorten(judge.name, 60)
        raise InputError(f"the labelled pairs were answered by {theirs!r}, expected {own!r}")


def pairs_at_most(
    index: Index,
    perspectives: Questions,
    bench: PerspectiveBench,
    *,
    embedder: Embedder | None = None,
    expansions: PerspectiveSource | None = None,
) -> list[Support]:
    """Return all pairs that may be judged: those of every lambda, whichever is chosen.

    Raises:
        InputError: as in `bench_perspectives`.
    """
    asked = [question_of(topic, perspectives) for topic in perspectives]
    work = Work(index, perspectives, None, Path(), bench, embedder, expansions, None)
    runs = {
        f"{system_name(scoring, variant)} {lam:g}": work.run(plan_of(scoring, variant, lam), asked)
        for scoring in bench.retrievers
        for variant in bench.variants
        for lam in (bench.lambdas if variant == "mmr" else (1.0,))
    }
    if bench.leaning:
        for name, three in work.ask_sides(list(perspectives)).items():
            runs |= {f"{name} {asked}": entries for asked, entries in three.items()}
    return list(work.pairs(runs))


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


def _best(own: Mapping[float, float | None]) -> float:
    """Return the lambda with the highest MRecall; of equal ones the highest: nearest to plain."""
    return max(own, key=lambda lam: (-1.0 if own[lam] is None else own[lam], lam))
