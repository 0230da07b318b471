"""The settings of a search with their defaults; importing this module does not load numpy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Final, Literal, NamedTuple, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, UNITS, Question, Side, Unit
from pnyx.judging.statements import statements_of


class Parameter(NamedTuple):
    """A number that a scoring model depends on: its default and its range."""

    default: float
    low: float
    high: float


PARAMETERS: Final[Mapping[str, Parameter]] = {
    "mu": Parameter(2000.0, 1e-6, 1e12),
    "k1": Parameter(1.2, 0.0, 1e6),
    "b": Parameter(0.75, 0.0, 1.0),
    # The weights of topic and quality of the Touché paper's most relevant run (Table 1, row 1).
    "wc": Parameter(10.0, 0.0, 1e6),
    "wq": Parameter(5.0, 0.0, 1e6),
}
"""Every parameter of every lexical model."""

MODEL_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "dirichlet": ("mu",),
    "bm25": ("k1", "b"),
    "touche": ("mu", "wc", "wq"),
}
"""The parameters of each model that ranks by the words of the question."""

LEXICAL: Final = tuple(MODEL_PARAMETERS)
"""Models that rank by the words of the question."""

AUTO: Final = "auto"
"""Selects the best model for an index; see `scores.choose_scoring`."""

SCORINGS: Final = (AUTO, *LEXICAL, "dense", "hybrid")
"""Every model."""

FEATURES: Final = ("quality", "vectors")
"""The features that `pnyx index` computes by default: the default search and `pnyx argue` use
them."""

FUSIONS: Final = ("minmax", "zscore", "rrf")
"""How a hybrid fuses two rankings."""

CERTAINTY: Final = 0.7
"""Minimum probability for a verdict to decide a side (docs/explain/decisions/sides.md)."""

PERSPECTIVES: Final = 8
"""Maximum number of perspectives per question."""

FOUND: Final = 10
"""Default number of documents per question."""

Rerank: TypeAlias = Literal["listwise", "pointwise"]
Diversify: TypeAlias = Literal["mmr", "perspectives"]


def check_parameter(name: str, value: float) -> None:
    """Reject a parameter (a key of `PARAMETERS`) that is out of its range."""
    _check_range(name, value, *PARAMETERS[name][1:])


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also rejects NaN
        raise InputError(f"{name} is {value:g}, expected a number from {low:g} to {high:g}")


def check_least(name: str, value: object, least: int) -> None:
    """Raise InputError for a number that is too small, or is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(
            f"{name} is {shorten(repr(value), 40)}, expected a whole number from {least}"
        )
    if value < least:
        raise InputError(f"{name} is {value}, expected at least {least}")


@dataclass(frozen=True, slots=True)
class Scoring:
    """A model with its parameters.

    Attributes:
        model: one of `SCORINGS`. `touche` is Dirichlet boosted by topic and quality, `dense` the
            cosine of vectors, `hybrid` a fusion of both, `auto` the best model for the index.
        parameters: the model's own (`MODEL_PARAMETERS`); those of `lexical` in a hybrid.
        flat: Touché with R fixed to 1.
        lexical: what a hybrid fuses with the dense ranking, one of `LEXICAL`.
        fusion: of `FUSIONS`: scores made comparable, or reciprocal ranks.
        dense_weight: of the dense scores in `minmax` and `zscore`, 0 to 1
            (docs/explain/decisions/hybrid.md).
        feedback: in a hybrid, the number of best documents towards which the question's vector is
            moved before ranking again; 0 for none.

    Raises:
        InputError: an unknown value, or a parameter that the model does not have. Ranges of
            parameters are checked when something is ranked.
    """

    model: str = AUTO
    parameters: Mapping[str, float] = field(default_factory=dict)
    flat: bool = False
    lexical: str = "dirichlet"
    fusion: str = "minmax"
    dense_weight: float = 0.7
    feedback: int = 3

    def __post_init__(self) -> None:
        for what, name, choices in (
            ("model", self.model, SCORINGS),
            ("lexical model", self.lexical, LEXICAL),
            ("fusion", self.fusion, FUSIONS),
        ):
            if name not in choices:
                value = shorten(name, 40)
                raise InputError(f"unknown {what} {value!r}, expected one of: {', '.join(choices)}")
        _check_range("the weight of the dense ranking", self.dense_weight, 0.0, 1.0)
        check_least("feedback", self.feedback, 0)
        allowed = MODEL_PARAMETERS.get(self.by_words, ())
        for name in self.parameters:
            if name not in allowed:
                problem = f"model {self.model} has no parameter {shorten(name, 40)!r}"
                raise InputError(f"{problem}, expected: {', '.join(allowed) or 'none'}")
        if self.flat and self.by_words != "touche":
            raise InputError(f"model {self.model} has no relevance score to fix at 1")

    @property
    def by_words(self) -> str:
        """The lexical model that is used; empty if none."""
        others = {AUTO: self.lexical, "dense": "", "hybrid": self.lexical}
        return others.get(self.model, self.model)

    @property
    def embeds(self) -> bool:
        """Whether the question is embedded; for `auto`, whether it may be."""
        topics = self.by_words == "touche" and self.parameter("wc") != 0.0
        return topics or self.model in (AUTO, "dense", "hybrid")

    @property
    def parts(self) -> tuple[Scoring, ...]:
        """The models whose rankings a hybrid fuses, the dense one last; else empty."""
        if self.model != "hybrid":
            return ()
        return Scoring(self.lexical, self.parameters, flat=self.flat), Scoring("dense")

    def parameter(self, name: str) -> float:
        """Return the value of a parameter, given or default."""
        return self.parameters.get(name, PARAMETERS[name].default)

    def __str__(self) -> str:
        parts = [self.model]
        if self.model == "hybrid":
            weight = "" if self.fusion == "rrf" else f", weight {self.dense_weight:g} on dense"
            feedback = f", feedback of {self.feedback}" if self.feedback else ""
            parts = [f"hybrid of {self.lexical} and dense ({self.fusion}{weight}{feedback})"]
        if self.flat:
            parts.append("R fixed to 1")
        parts += [f"{name} {value:g}" for name, value in self.parameters.items()]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Listwise:
    """How a judge reranks a list.

    Attributes:
        window: documents in one question to the judge, at least 2.
        step: the window's stride, from 1 to `window`: `window - step` documents of one window are
            in the next, so at most `window - step` documents can move to the front.
        stance: the side that the documents should support; None for relevance alone.
        definition: what is relevant, in place of the question's own definition.
        words: longer documents are trimmed to it (a long word counts as several); RankGPT uses 300.

    Raises:
        InputError: a number out of range.
    """

    window: int = 20
    step: int = 10
    stance: Side | None = None
    definition: str = ""
    words: int = 300

    def __post_init__(self) -> None:
        check_least("window", self.window, 2)
        if not 1 <= self.step <= self.window:
            raise InputError(f"step is {self.step}, expected 1 to the window, {self.window}")
        check_least("words", self.words, 1)

    def windows(self, count: int) -> list[range]:
        """Return the 0-based ranks of each window over `count` documents, in judging order."""
        ranges = []
        stop = count
        while stop > 0:
            start = max(0, stop - self.window)
            if stop - start > 1:
                ranges.append(range(start, stop))
            stop = stop - self.step if start > 0 else 0
        return ranges

    def criterion(self, question: Question) -> str:
        """Return the ranking criterion as text; empty for plain relevance."""
        parts = []
        if definition := (self.definition or question.definition).strip():
            parts.append(f"What is relevant to the query:\n{definition}")
        if self.stance is not None:
            claim = statements_of(question)[SIDES.index(self.stance)]
            parts.append(
                f"Documents are wanted that help to argue the {self.stance} side of the query, "
                f"which says: {claim}\n"
                "A document is better the more, and the better, reasons and evidence it gives for "
                "that side. One that speaks for the other side only, or for none, comes behind "
                "all that help."
            )
        return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How documents are found for a question; see `pnyx.search.pipeline`.

    Attributes:
        scoring: the model that ranks.
        rerank: `listwise`, `pointwise` or None.
        listwise: window and step of listwise reranking.
        diversify: `mmr` (BERDS, Eq. 1), `perspectives` (BERDS, section 5) or None.
        lam: of `mmr`, 0 to 1: weight of relevance against novelty; BERDS uses 0.75 to 0.99.
        stance: put the documents on this side first: by listwise reranking itself, or else by the
            corpus's labels and the judge's verdicts.
        certainty: minimum probability of a judge's verdict that decides a side, 0.5 to 1.
        depth: number of best documents that the later stages use, at least 1.
        threshold: of the first `depth` documents, keep only those with at least this P(relevant),
            in (0, 1] (DIRAS, section 5); needs `pointwise`.
        topics: topics of the corpus named as being about the question; see `TopicMatcher`.
        good_first: let `Searcher.show` put good arguments first if a hybrid ranks, the index
            has quality, and no later stage reorders.
        unit: rank passages, or documents by their best passage in an index of passages.

    Raises:
        InputError: a number out of range, or an unknown stage.
    """

    scoring: Scoring = field(default_factory=Scoring)
    rerank: Rerank | None = None
    listwise: Listwise = field(default_factory=Listwise)
    diversify: Diversify | None = None
    lam: float = 0.75
    stance: Side | None = None
    certainty: float = CERTAINTY
    depth: int = 100
    threshold: float | None = None
    topics: tuple[str, ...] = ()
    good_first: bool = True
    unit: Unit = "passage"

    def __post_init__(self) -> None:
        choices: Iterable[str]
        for what, value, choices in (
            ("rerank", self.rerank, ("listwise", "pointwise")),
            ("diversify", self.diversify, ("mmr", "perspectives")),
            ("stance", self.stance, SIDES),
            ("unit", self.unit, UNITS),
        ):
            if value is not None and value not in choices:
                raise InputError(f"{what} is {value!r}, expected one of: {', '.join(choices)}")
        _check_range("lambda", self.lam, 0.0, 1.0)
        _check_range("certainty", self.certainty, 0.5, 1.0)
        check_least("depth", self.depth, 1)
        if self.threshold is None:
            return
        if not 0.0 < self.threshold <= 1.0:
            raise InputError(f"threshold is {self.threshold:g}, expected above 0, at most 1")
        if self.rerank != "pointwise":
            raise InputError("a threshold needs pointwise reranking, which gives probabilities")

    @property
    def asks_sides(self) -> bool:
        """Whether each document's side is determined."""
        return self.stance is not None and self.rerank != "listwise"

    @property
    def staged(self) -> bool:
        """Whether any stage follows ranking."""
        return bool(self.rerank or self.diversify or self.stance)

    def __str__(self) -> str:
        parts = [str(self.scoring)]
        if self.rerank:
            parts.append(f"{self.rerank} reranking of {self.depth}")
        if self.threshold is not None:
            parts.append(f"relevant with a probability of at least {self.threshold:g}")
        if self.diversify == "mmr":
            parts.append(f"MMR of {self.depth} with lambda {self.lam:g}")
        elif self.diversify:
            parts.append("for each perspective")
        if self.stance:
            parts.append(f"{self.stance} side first")
        return "; ".join(parts)
