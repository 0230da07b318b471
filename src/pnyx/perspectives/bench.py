"""Do retrievers show every side? Retrieve, judge and measure in one go (BERDS, sections 5 and 6).

Each retriever runs plain, with maximal marginal relevance (its lambda is chosen on questions that
are not measured), and once for each perspective from a source of perspectives. Queried with each
side instead of the question, retrievers also show how far they follow the query (BERDS, Fig. 3).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import atomic_text
from pnyx.core.placement import make_folder, placed_together
from pnyx.core.records import SIDES, Question, RunEntry
from pnyx.core.tabular import Result
from pnyx.formats import write_run
from pnyx.formats.perspectives import Questions
from pnyx.formats.runs.run_ids import SafeIds
from pnyx.formats.runs.trec import as_ranked
from pnyx.judging.base import Judge
from pnyx.judging.questions import PairSource, Support
from pnyx.judging.runs.pairs import pairs_of_views
from pnyx.judging.runs.results import apply_judge
from pnyx.models.embed.embedder import embedder_from
from pnyx.perspectives.bench_plan import PerspectiveBench
from pnyx.perspectives.measures.coverage import measure_perspectives
from pnyx.perspectives.measures.lean import Leaning, measure_leaning, side_questions
from pnyx.perspectives.measures.verdicts import Verdicts, verdicts_of_answers
from pnyx.search.engine import DocumentIndex
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.stats.base import Bootstrap, row_of

if TYPE_CHECKING:
    from pnyx.judging.measures.ground_truth import LabelledVerdicts
    from pnyx.judging.runs.shards import Shard
    from pnyx.models.embed.embedder import Embedder
    from pnyx.perspectives.measures.results import PerspectiveCoverage
    from pnyx.search.perspectives import PerspectiveSource

_CANDIDATES = 100
_VERDICTS = "verdicts.jsonl"

Runs: TypeAlias = dict[str, list[RunEntry]]


@dataclass(frozen=True, slots=True)
class BenchSearch:
    """The index, the questions and the settings of the benchmark's searches.

    `perspectives` is the result of `pnyx.formats.by_question`, with the question's text in
    `extra["question"]`. Retrievers that need an `embedder` use the packaged one by default;
    `expansions` writes the perspectives to search for; `problems` collects notes for the reader.

    Raises:
        InputError: a retriever is unknown, a question has no text, or the variant `perspectives`
            has no source.
    """

    index: DocumentIndex
    perspectives: Questions
    bench: PerspectiveBench
    embedder: Embedder | None = None
    expansions: PerspectiveSource | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if "perspectives" in self.bench.variants and self.expansions is None:
            raise InputError(
                "the variant perspectives requires a source of perspectives to search for"
            )
        _ = self.scorings
        self.questions(self.perspectives)

    @property
    def scorings(self) -> list[Scoring]:
        """The retrievers."""
        return [Scoring(r) if isinstance(r, str) else r for r in self.bench.retrievers]

    def questions(self, topics: Iterable[str]) -> list[Question]:
        """Return questions with the texts stored with their perspectives."""
        questions = []
        for topic in topics:
            carried = (str(p.extra.get("question") or "") for p in self.perspectives[topic])
            text = next(filter(None, carried), "")
            if not re.search(r"\w", text):
                topic_text = shorten(topic, 40)
                raise InputError(f"question {topic_text!r}: its perspectives do not name its text")
            questions.append(Question(topic, text))
        return questions

    def systems(self, topics: Sequence[str], lambdas: Mapping[str, Sequence[float]]) -> Runs:
        """Return each retriever's runs: MODEL, MODEL+VARIANT, or MODEL+mmr LAMBDA if several."""
        questions, runs = self.questions(topics), Runs()
        for scoring in self.scorings:
            if "plain" in self.bench.variants:
                runs[scoring.model] = self._run(SearchPlan(scoring), questions)
            if "mmr" in self.bench.variants:
                runs |= self.mmr(scoring, questions, lambdas[scoring.model])
            if "perspectives" in self.bench.variants:
                plan = SearchPlan(scoring, diversify="perspectives", depth=_CANDIDATES)
                runs[f"{scoring.model}+perspectives"] = self._run(plan, questions)
        return runs

    def mmr(
        self, scoring: Scoring, questions: Sequence[Question], lambdas: Sequence[float]
    ) -> Runs:
        """Return the runs of a retriever with maximal marginal relevance."""
        runs = Runs()
        for lam in lambdas:
            name = f"{scoring.model}+mmr" + (f" {lam:g}" if len(lambdas) > 1 else "")
            plan = SearchPlan(scoring, diversify="mmr", lam=lam, depth=_CANDIDATES)
            runs[name] = self._run(plan, questions)
        return runs

    def sided(self, topics: Sequence[str]) -> dict[str, Runs]:
        """Return retriever -> form of the query (`ASKED_AS`) -> its results."""
        views = {topic: self.perspectives[topic] for topic in topics}
        by_side = {str(side): side_questions(views, side) for side in SIDES}
        opposed = self.questions(question.id for question in by_side[SIDES[0]])
        if not opposed:
            raise InputError("leaning needs questions with two perspectives, one on each side")
        return {
            scoring.model: {
                name: self._run(SearchPlan(scoring), some)
                for name, some in {"question": opposed, **by_side}.items()
            }
            for scoring in self.scorings
        }

    def _run(self, plan: SearchPlan, questions: Sequence[Question]) -> list[RunEntry]:
        """Search for each question, down to the greatest measured depth."""
        embeds = plan.scoring.embeds or plan.diversify == "mmr"
        embedder = (self.embedder or embedder_from()) if embeds else None
        searcher = Searcher(self.index, plan, embedder=embedder, perspectives=self.expansions)
        entries = list[RunEntry]()
        for retrieved in searcher.search(questions, max(self.bench.depths)):
            self.problems.extend(retrieved.problems)
            entries += as_ranked(
                RunEntry(retrieved.question.id, hit.doc_id, hit.rank, hit.score, plan.scoring.model)
                for hit in retrieved.hits
            )
        return entries

    def pairs(self, runs: Iterable[list[RunEntry]]) -> PairSource:
        """Return all pairs of a retrieved document and a perspective, each once."""
        documents = ((entry.topic_id, (entry.doc_id,)) for entries in runs for entry in entries)
        return pairs_of_views(self.index, self.perspectives, documents, self.bench.words)


@dataclass(slots=True)
class BenchJudge:
    """Gets each pair judged once, and writes the verdicts to the folder `out`.

    `settings` is as for `apply_judge`; `on_pairs` is called before each round with the number of
    pairs to judge and whether the round is the last; `reused` counts verdicts of an earlier run;
    `shard` is the share of the pairs to judge.
    """

    judge: Judge
    out: Path
    settings: Mapping[str, Any] | None = None
    on_pairs: Callable[[int, bool], None] | None = None
    reused: int = 0
    shard: Shard | None = None

    def verdicts(self, pairs: PairSource, name: str, *, last: bool = True) -> Verdicts:
        """Return the verdicts on pairs; they are also written to the file `name`."""
        make_folder(self.out)

        def started(reused: int, _: int) -> None:
            if self.on_pairs is not None and pairs.count is not None:
                self.on_pairs(pairs.count - reused, last)

        rows: list[Mapping[str, Any]] = []
        applied = apply_judge(
            self.judge, pairs, self.out / name, settings=self.settings, on_start=started,
            take=rows.append, shard=self.shard,
        )  # fmt: skip
        self.reused += applied.reused
        return verdicts_of_answers(self.judge.name, rows)

    def write_runs(self, runs: Runs, index: DocumentIndex) -> None:
        """Write each system's run, and a map of the ids that a run cannot hold unchanged."""
        make_folder(self.out / "runs")
        with placed_together():
            for name, entries in runs.items():
                path, ids = self.out / "runs" / f"{name}.run", SafeIds(lambda name: name in index)
                with atomic_text(path) as stream:
                    write_run(stream, ids.entries(entries))
                ids.write_map(path)


@dataclass(frozen=True, slots=True, repr=False)
class PerspectiveBenchResult(Result):
    """The benchmark's result.

    `coverage` has all systems on the questions `test`, the first one being the baseline; `leaning`
    is at the first depth, if requested. `lambdas` were chosen by `tuning` (retriever -> lambda ->
    mean MRecall, None if undecided for all) on the questions `dev`. `problems` has one line each;
    `reused` counts the verdicts from an earlier run.
    """

    coverage: PerspectiveCoverage
    leaning: tuple[Leaning, ...]
    lambdas: Mapping[str, float]
    tuning: Mapping[str, Mapping[float, float | None]]
    dev: tuple[str, ...]
    test: tuple[str, ...]
    problems: tuple[str, ...]
    reused: int

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `coverage`."""
        return self.coverage.rows()

    def _heading(self) -> list[str]:
        return [f"Coverage of perspectives on {len(self.test):,} questions"]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`: that of `measure perspectives`, and lambda's tuning."""
        tuning = {
            name: [{"lambda": lam, "mrecall": value} for lam, value in values.items()]
            for name, values in self.tuning.items()
        }
        return {
            **self.coverage.row(),
            **row_of(self, "leaning lambdas"),
            "tuning": tuning,
            **row_of(self, "dev test problems"),
        }


def bench_perspectives(
    search: BenchSearch, judging: BenchJudge, labelled: LabelledVerdicts | None = None
) -> PerspectiveBenchResult:
    """Retrieve for questions, judge the results and measure whether they show every perspective.

    Verdicts are written as they come; after an interruption the same call resumes from them.

    Args:
        search: the index, the questions and the settings of the searches.
        judging: the judge; `runs/SYSTEM.run`, `verdicts.jsonl` and, with `mmr`,
            `verdicts-dev.jsonl` are written to its folder.
        labelled: see `measure_perspectives`.

    Raises:
        InputError: there are fewer than two questions to choose lambda on, the index lacks data
            that a retriever needs, or the folder holds verdicts on other pairs.
        ModelError: the judge, the embedder or the source failed; run again to continue.
    """
    bench = search.bench
    if labelled is not None and labelled.judge != judging.judge.name:
        theirs, expected = shorten(labelled.judge, 60), shorten(judging.judge.name, 60)
        raise InputError(f"the labelled pairs were answered by {theirs!r}, expected {expected!r}")
    dev, test = _split(list(search.perspectives), bench)
    tuning, lambdas = _tuned(search, judging, dev)
    runs, sided, pairs = _retrieved(search, test, lambdas)
    views = {topic: search.perspectives[topic] for topic in test}
    verdicts = judging.verdicts(pairs, _VERDICTS)
    # After the verdicts: if these are refused, the runs of the earlier verdicts stay in place.
    judging.write_runs(runs, search.index)
    bootstrap = Bootstrap(bench.draws, bench.seed)
    coverage = measure_perspectives(
        runs,
        views,
        verdicts,
        depths=bench.depths,
        labelled=labelled,
        baseline=next(iter(runs)) if len(runs) > 1 else None,
        bootstrap=bootstrap,
    )
    leaning = tuple(
        measure_leaning(name, three, views, verdicts, bench.depths[0], bootstrap=bootstrap)
        for name, three in sided.items()
    )
    problems = tuple(dict.fromkeys(search.problems))
    return PerspectiveBenchResult(
        coverage, leaning, lambdas, tuning, dev, test, problems, judging.reused
    )


def judge_share(search: BenchSearch, judging: BenchJudge) -> Path:
    """Judge the share `judging.shard` of the retrieved pairs, and return the verdict file.

    InputError if lambda is still to be chosen, which requires the verdicts of all shares.
    """
    dev, test = _split(list(search.perspectives), search.bench)
    if dev:
        raise InputError("--shard requires one --lambda: choosing one takes all shares' verdicts")
    _, lambdas = _tuned(search, judging, dev)
    judging.verdicts(_retrieved(search, test, lambdas)[2], _VERDICTS)
    return judging.out / _VERDICTS


def _retrieved(
    search: BenchSearch, topics: Sequence[str], lambdas: Mapping[str, float]
) -> tuple[Runs, dict[str, Runs], PairSource]:
    """Return the runs, the runs queried with each side, and all pairs to judge."""
    runs = search.systems(topics, {model: (lam,) for model, lam in lambdas.items()})
    sided = search.sided(topics) if search.bench.leaning else {}
    entries_to_judge = [
        *runs.values(),
        *(entries for side_runs in sided.values() for entries in side_runs.values()),
    ]
    return runs, sided, search.pairs(entries_to_judge)


def _tuned(
    search: BenchSearch, judging: BenchJudge, dev: Sequence[str]
) -> tuple[dict[str, dict[float, float | None]], dict[str, float]]:
    """Return retriever -> lambda -> mean MRecall, and the best lambda (the highest if tied)."""
    lambdas = search.bench.lambdas
    if not dev:
        mmr = "mmr" in search.bench.variants
        return {}, {s.model: lambdas[0] for s in search.scorings if mmr}
    questions = search.questions(dev)
    runs = {s.model: list(search.mmr(s, questions, lambdas).values()) for s in search.scorings}
    pairs = search.pairs(entries for run in runs.values() for entries in run)
    verdicts = judging.verdicts(pairs, "verdicts-dev.jsonl", last=False)
    views = {topic: search.perspectives[topic] for topic in dev}
    name = f"MRecall@{search.bench.depths[0]}"
    tuning: dict[str, dict[float, float | None]] = {}
    for model, model_runs in runs.items():
        named = {f"{lam:g}": entries for lam, entries in zip(lambdas, model_runs, strict=True)}
        coverage = measure_perspectives(named, views, verdicts, [name], bootstrap=Bootstrap(0))
        values = {run.name: run.measures[name].value for run in coverage.runs}
        tuning[model] = {lam: values[f"{lam:g}"] for lam in lambdas}
    best = {
        model: max(values, key=lambda lam: (-1.0 if values[lam] is None else values[lam], lam))
        for model, values in tuning.items()
    }
    return tuning, best


def pairs_at_most(search: BenchSearch) -> list[Support]:
    """Return all pairs that may be judged: those of every lambda, whichever will be chosen."""
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
    """Split questions into those used to choose lambda and those to measure."""
    if "mmr" not in bench.variants or len(bench.lambdas) == 1:
        return (), tuple(topics)
    if len(topics) < 2:
        raise InputError(
            f"found {len(topics)} question, expected at least 2: lambda is chosen on questions "
            "that are not measured (name one lambda, or leave out mmr)"
        )
    drawn = sorted(topics)
    random.Random(bench.seed).shuffle(drawn)
    count = min(max(1, round(len(drawn) * bench.dev_share)), len(drawn) - 1)
    chosen = set(drawn[:count])
    dev = tuple(topic for topic in topics if topic in chosen)
    return dev, tuple(topic for topic in topics if topic not in chosen)
