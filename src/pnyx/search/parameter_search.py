"""Tuning a model's parameters on topics with qrels, with cross-validation.

Every setting ranks every topic once. The best one's mean over all topics is biased upward, as
the same topics chose it. Cross-validation estimates the true gain: each fold of topics is measured
with the setting that is best on the other folds.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Qrel, Question
from pnyx.core.tabular import Result
from pnyx.formats.runs.rankings import Judgements, judgements_of
from pnyx.search.engine import DocumentIndex
from pnyx.search.index import Index
from pnyx.search.measures.irmeasures import RunScorer, parse_measures
from pnyx.search.plan import AUTO, MODEL_PARAMETERS, Scoring, check_parameter
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.scores import depth_of_parts, fuse_parts, question_vector, rank_documents
from pnyx.stats.base import TEST, Bootstrap, Measured, row_of
from pnyx.stats.intervals import UNIT, column_means
from pnyx.stats.significance import PairedTest, Test, differ
from pnyx.stats.weighted_measures import Floats, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pnyx.models.embed.embedder import Embedder

GRIDS: Final[Mapping[str, tuple[float, ...]]] = {
    "mu": (10, 25, 50, 100, 250, 500, 1000, 1500, 2000, 3000, 5000),
    "k1": (0.3, 0.6, 0.9, 1.2, 1.5, 2.0, 3.0),
    "b": (0.0, 0.25, 0.4, 0.5, 0.75, 1.0),
    "wc": (0, 1, 2, 5, 10, 20),
    "wq": (0, 1, 2, 5, 10, 20),
    "dense_weight": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
}
"""Values tried for each parameter by default."""

_MOST_SETTINGS: Final = 10_000

_WEIGHT: Final = "dense_weight"

Parameters: TypeAlias = Mapping[str, float]

_DEPTH: Final = 1000  # documents ranked if the measure has no cutoff
_SHALLOW: Final = {"cutoff", "rel", "dcg", "gains"}
"""Parameters of measures that ignore documents beyond their cutoff."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is tuned, and how.

    `scoring` is the model with the parameters to compare with, and `tried` the values of
    its parameters (by default all of `GRIDS`); the others are not changed. `measure` is in the
    notation of ir-measures. There are at least 2 `folds`; `test` is of the difference to the
    defaults; `seed` is of folds, bootstrap and randomisation test.

    Raises:
        InputError: a parameter that the model does not have, no value, too many settings, a model
            without parameters, or a number out of range.
    """

    scoring: Scoring
    tried: Mapping[str, Sequence[float]] = field(default_factory=dict)
    measure: str = "nDCG@10"
    folds: int = 5
    test: Test = TEST
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        tunable = _tunable(self.scoring)
        if not tunable:
            raise InputError(f"model {self.scoring.model} has no parameter to tune")
        for name, values in self.tried.items():
            if name not in tunable:
                problem = f"model {self.scoring.model} has no parameter {shorten(name, 40)!r}"
                raise InputError(f"{problem} to tune, expected: {', '.join(tunable)}")
            if not values:
                raise InputError(f"no value to try of {name}, expected at least one")
            for value in values:  # rejected now rather than during the search
                if name == _WEIGHT:
                    dataclasses.replace(self.scoring, dense_weight=value)
                else:
                    check_parameter(name, value)
        if self.folds < 2:
            raise InputError(f"folds is {self.folds}, expected at least 2")
        count = np.prod([float(len(values)) for values in self.grid.values()])
        if count > _MOST_SETTINGS:
            raise InputError(
                f"{count:,.0f} settings, expected at most {_MOST_SETTINGS:,}: try fewer values"
            )

    def scoring_of(self, setting: Parameters) -> Scoring:
        """Return the model with these values."""
        parameters = {name: value for name, value in setting.items() if name != _WEIGHT}
        weight = setting.get(_WEIGHT, self.scoring.dense_weight)
        return dataclasses.replace(self.scoring, parameters=parameters, dense_weight=weight)

    @property
    def bootstrap(self) -> Bootstrap:
        """The bootstrap, whose seed is also that of the randomisation test."""
        return Bootstrap(self.draws, self.seed)

    @property
    def default(self) -> Parameters:
        """The parameters that the choice is compared with."""
        scoring = self.scoring
        return {
            name: scoring.dense_weight if name == _WEIGHT else float(scoring.parameter(name))
            for name in _tunable(scoring)
        }

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        """The values tried for each tuned parameter, ascending, including the default."""
        default = self.default
        tried = self.tried or {name: GRIDS[name] for name in default}
        return {
            name: tuple(sorted({float(v) for v in (*tried[name], default[name])}))
            for name in default
            if name in tried
        }

    def settings(self) -> list[Parameters]:
        """Return all settings; those nearest to the default first, so that ties go to it."""
        grid, default = self.grid, dict(self.default)
        places = {name: {v: n for n, v in enumerate(values)} for name, values in grid.items()}

        def far(setting: Parameters) -> int:
            return sum(abs(at[setting[n]] - at[default[n]]) for n, at in places.items())

        every = [default | dict(zip(grid, v, strict=True)) for v in product(*grid.values())]
        return sorted(every, key=far)


def _tunable(scoring: Scoring) -> tuple[str, ...]:
    """Return the names of a model's tunable parameters."""
    names = MODEL_PARAMETERS.get(scoring.by_words, ())
    if scoring.flat:
        names = tuple(name for name in names if name != "mu")
    weighed = scoring.model == "hybrid" and scoring.fusion != "rrf"
    return (*names, _WEIGHT) if weighed else names


@dataclass(frozen=True, slots=True)
class Setting:
    """Values of all parameters that can be tuned, and the mean over the topics."""

    parameters: Parameters
    mean: Measured

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {"parameters": dict(self.parameters), **self.mean.row()}


@dataclass(frozen=True, slots=True)
class Fold:
    """Some topics, and the setting that is best on all others."""

    topics: tuple[str, ...]
    parameters: Parameters
    value: float

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "topics parameters value")


@dataclass(frozen=True, slots=True, repr=False)
class Tuned(Result):
    """The result of tuning.

    Means of `settings` are over all topics; that of the `best`, the one to use, is biased upward,
    since it was chosen by it. `held_out` is the mean where each topic has the setting that is best
    on other folds; `test`, `low` and `high` are of that less the default. Topics are left out where
    the measure is `undefined` for some setting, that are `unjudged`, or have no question
    (`unasked`).
    """

    tuning: Tuning
    measure: str
    settings: tuple[Setting, ...]
    best: Setting
    default: Setting
    folds: tuple[Fold, ...]
    held_out: Measured
    test: PairedTest
    low: float | None
    high: float | None
    undefined: tuple[str, ...]
    unjudged: tuple[str, ...]
    unasked: tuple[str, ...]

    @property
    def topics(self) -> int:
        """The number of topics used for tuning and measured."""
        return sum(len(fold.topics) for fold in self.folds)

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each setting over all topics, with its parameters; the best first."""
        ordered = sorted(self.settings, key=lambda s: s.mean.value or 0.0, reverse=True)
        ordered.sort(key=lambda setting: setting is not self.best)
        return [{**setting.parameters, **setting.mean.row()} for setting in ordered]

    def _heading(self) -> list[str]:
        return [
            f"Best setting: {' '.join(self.options())}",
            f"Settings chosen on other topics: {self.measure} {self.held_out}",
            f"Default setting: {self.measure} {self.default.mean}",
            f"{self.measure} of each setting on the topics that chose it, the best first:",
        ]

    def options(self) -> list[str]:
        """Return the options of `pnyx search` for the best setting."""
        scoring = self.tuning.scoring
        out = ["--model", scoring.model]
        if scoring.model == "hybrid":
            out += ["--set", f"lexical={scoring.lexical}", "--set", f"fusion={scoring.fusion}"]
        out += ["--set", "flat"] if scoring.flat else []
        for name, value in self.best.parameters.items():
            short = f"{value:g}"
            text = short if float(short) == value else repr(value)
            out += ["--set", f"{name.replace('_', '-')}={text}"]
        return out

    def curve(self, name: str) -> list[tuple[float, Setting]]:
        """Return the settings by one parameter, ascending, the others as in the best."""
        others = {n: v for n, v in self.best.parameters.items() if n != name}
        points = [
            (setting.parameters[name], setting)
            for setting in self.settings
            if all(setting.parameters[n] == v for n, v in others.items())
        ]
        return sorted(points, key=lambda pair: pair[0])

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/reference/measures.md)."""
        tuning = self.tuning
        return {
            "task": "tuning",
            "model": str(dataclasses.replace(tuning.scoring, parameters={})),
            "measure": self.measure,
            "topics": {"measured": self.topics, **row_of(self, "undefined unjudged unasked")},
            "options": self.options(),
            **row_of(self, "best default"),
            "cross_validation": {
                **row_of(self, "folds"),
                **self.held_out.row(),
                "difference": self.test.difference,
                "difference_low": self.low,
                "difference_high": self.high,
                **row_of(self.test, "p effect"),
            },
            **row_of(self, "settings"),
            "test": {"method": f"paired {tuning.test}", "comparisons": 1},
            "interval": tuning.bootstrap.row("bootstrap over topics"),
        }


def tune(
    index: DocumentIndex,
    questions: Sequence[Question],
    qrels: Iterable[Qrel],
    tuning: Tuning,
    *,
    embedder: Embedder | None = None,
    report: Callable[[int, int, str], None] = lambda _done, _of, _word: None,
) -> Tuned:
    """Choose a model's parameters on topics, and estimate the gain on other topics.

    Questions without qrels are left out; the `embedder` is that of the index, where the model
    embeds questions; `report` is called with settings done, of how many, and a word.

    Raises:
        InputError: fewer topics with qrels than folds, a parameter out of range, an index without
            what the model needs, or a measure that cannot be computed.
        MissingExtra: what computes the measure is not installed.
        ModelError: the embedder cannot be used.
    """
    parsed = parse_measures([tuning.measure])
    (name,) = parsed
    judgements = judgements_of(qrels)
    question_texts = {q.id: q.text for q in questions}
    texts = {
        topic: question_texts[topic] for topic in judgements.by_topic if topic in question_texts
    }
    judged = Judgements({topic: judgements.by_topic[topic] for topic in texts})
    _enough(len(texts), tuning)
    scorer = RunScorer(parsed, judged)
    settings = tuning.settings()
    params = parsed[name].params
    bounded = params.get("cutoff") and set(params) <= _SHALLOW
    ranker = _Ranker(index, texts, int(params["cutoff"]) if bounded else _DEPTH, embedder)
    table = np.full((len(texts), len(settings)), np.nan)
    # The default comes first to report missing features; in a hybrid the weight varies fastest.
    first, *others = range(len(settings))
    grid = list(tuning.grid)
    columns = [first, *sorted(others, key=lambda n: [settings[n][name] for name in grid])]
    for done, column in enumerate(columns):
        report(done, len(settings), name)
        values = scorer.score(ranker.rank(tuning.scoring_of(settings[column])))
        table[:, column] = numbers([values[t][name] for t in texts])
    defined = np.isfinite(table).all(axis=1)
    topics = [topic for topic, has in zip(texts, defined, strict=True) if has]
    _enough(len(topics), tuning)
    return _judge(
        tuning, name, settings, topics, table[defined],
        undefined=tuple(t for t in texts if t not in set(topics)),
        unjudged=tuple(t for t in question_texts if t not in judgements.by_topic),
        unasked=tuple(t for t in judgements.by_topic if t not in question_texts),
    )  # fmt: skip


def _enough(topics: int, tuning: Tuning) -> None:
    if topics < tuning.folds:
        judged = "no topic has" if not topics else f"only {topics} topics have"
        raise InputError(
            f"{judged} judgements, expected at least one topic for each of {tuning.folds} folds"
        )


class _Ranker:
    """Ranks all topics; caches unchanged parts of a fused model."""

    def __init__(
        self, index: DocumentIndex, texts: Mapping[str, str], k: int, embedder: Embedder | None
    ) -> None:
        self._index, self._texts, self._k = index, texts, k
        self._embedder = None if embedder is None else _Remembering(embedder)
        self._kept: dict[tuple[str, int], tuple[Scoring, RankedList]] = {}

    def rank(self, scoring: Scoring) -> dict[str, list[str]]:
        """Return topic -> document ids, best first."""
        if scoring.model == AUTO:
            raise ValueError("auto has no parameters")
        return {topic: self._rank(topic, text, scoring) for topic, text in self._texts.items()}

    def _rank(self, topic: str, text: str, scoring: Scoring) -> list[str]:
        index = self._index
        if not scoring.parts or not isinstance(index, Index):
            hits = index.retrieve(text, scoring, self._k, self._embedder)
            return [hit.doc_id for hit in hits]
        rankings = [self._part(index, topic, n, text, p) for n, p in enumerate(scoring.parts)]
        question = question_vector(index, text, self._embedder)
        return index.doc_ids(fuse_parts(index, scoring, rankings, question, self._k)[0])

    def _part(self, index: Index, topic: str, number: int, text: str, part: Scoring) -> RankedList:
        cached = self._kept.get((topic, number))
        if cached is None or cached[0] != part:
            deep = depth_of_parts(self._k)
            cached = part, rank_documents(index, text, part, deep, self._embedder)
            self._kept[topic, number] = cached
        return cached[1]


class _Remembering:
    """An embedder that embeds a question once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._kept: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for text in texts:
            if text not in self._kept:
                self._kept[text] = self._embedder.encode([text])[0]
        return np.stack([self._kept[text] for text in texts])


def _judge(
    tuning: Tuning,
    measure: str,
    settings: Sequence[Parameters],
    topics: Sequence[str],
    table: Floats,
    **left_out: tuple[str, ...],
) -> Tuned:
    """Choose and cross-validate with a table (topics, settings); setting 0 is the default."""
    cross_fitted = np.empty(len(topics))
    folds = []
    places = list(range(len(topics)))
    random.Random(tuning.seed).shuffle(places)
    for first in range(tuning.folds):
        part = np.sort(np.array(places[first :: tuning.folds], dtype=np.int64))
        others = np.setdiff1d(np.arange(len(topics)), part)
        chosen = _best(table[others])
        cross_fitted[part] = table[part, chosen]
        names = tuple(topics[n] for n in part)
        folds.append(Fold(names, settings[chosen], float(cross_fitted[part].mean())))
    means = column_means(np.column_stack([table, cross_fitted]), tuning.bootstrap, UNIT)
    (tested,) = differ((cross_fitted - table[:, 0])[:, None], tuning.test, tuning.bootstrap)
    tried = tuple(map(Setting, settings, means[:-1]))
    return Tuned(
        tuning, measure, tried, tried[_best(table)], tried[0], tuple(folds), means[-1],
        tested.test, tested.low, tested.high, **left_out,
    )  # fmt: skip


def _best(table: Floats) -> int:
    """Return the setting of the highest mean; of equal ones the first, nearest to the default."""
    means = table.mean(axis=0)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])
