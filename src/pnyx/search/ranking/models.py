"""Scoring models: how much one term adds to the score of one document.

A model gives a value per term frequency and one per length byte; a kernel combines them for each
posting, so any parameter works on any index (docs/explain/decisions/query-time-impacts.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.search.plan import MODEL_PARAMETERS, PARAMETERS, check_parameter

Floats: TypeAlias = NDArray[np.float64]

Combine: TypeAlias = Literal["add", "saturate"]
"""How a kernel computes a score from weight w, term value a and length value b:
`add` is w * max(0, a + b), `saturate` is w - w / (1 + a * b)."""


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """The number of documents with any term (Lucene's `docCount`), and of tokens."""

    documents: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Term:
    """Statistics of a term: document frequency and collection frequency."""

    document_frequency: int
    collection_frequency: int


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Query likelihood with Dirichlet smoothing, in Lucene's form (LMDirichletSimilarity).

    A term adds max(0, log(1 + tf / (mu p)) + log(mu / (dl + mu))) with p = (cf + 1) / (T + 1).
    Zhai and Lafferty, SIGIR 2001; the clip at zero and the p are Lucene's.
    """

    name: ClassVar[str] = "dirichlet"
    combine: ClassVar[Combine] = "add"

    mu: float = PARAMETERS["mu"].default

    def __post_init__(self) -> None:
        check_parameter("mu", self.mu)

    def weight(self, term: Term, collection: CollectionStatistics) -> float:  # noqa: ARG002
        """Return 1: a repeated query word counts each time."""
        return 1.0

    def term_values(
        self, frequencies: Floats, term: Term, collection: CollectionStatistics
    ) -> Floats:
        """Return log(1 + tf / (mu p))."""
        probability = (term.collection_frequency + 1.0) / (collection.tokens + 1.0)
        return np.log(1.0 + frequencies / (self.mu * probability))

    def length_values(self, lengths: Floats, collection: CollectionStatistics) -> Floats:  # noqa: ARG002
        """Return log(mu / (dl + mu)), never positive."""
        return np.log(self.mu / (lengths + self.mu))


@dataclass(frozen=True, slots=True)
class BM25:
    """BM25 as in Lucene 8 (BM25Similarity): without the constant factor (k1 + 1).

    A term adds idf * tf / (tf + k1 (1 - b + b dl / avgdl)) with
    idf = log(1 + (N - df + 0.5) / (df + 0.5)). Robertson and Zaragoza, FnTIR 2009.
    """

    name: ClassVar[str] = "bm25"
    combine: ClassVar[Combine] = "saturate"

    k1: float = PARAMETERS["k1"].default
    b: float = PARAMETERS["b"].default

    def __post_init__(self) -> None:
        check_parameter("k1", self.k1)
        check_parameter("b", self.b)

    def weight(self, term: Term, collection: CollectionStatistics) -> float:
        """Return the inverse document frequency."""
        df = term.document_frequency
        return math.log(1.0 + (collection.documents - df + 0.5) / (df + 0.5))

    def term_values(
        self,
        frequencies: Floats,
        term: Term,  # noqa: ARG002
        collection: CollectionStatistics,  # noqa: ARG002
    ) -> Floats:
        """Return the frequencies as they are."""
        return frequencies

    def length_values(self, lengths: Floats, collection: CollectionStatistics) -> Floats:
        """Return 1 / (k1 (1 - b + b dl / avgdl)); infinite where k1 is 0."""
        average = collection.tokens / collection.documents
        with np.errstate(divide="ignore"):
            return 1.0 / (self.k1 * ((1.0 - self.b) + self.b * lengths / average))


Model: TypeAlias = Dirichlet | BM25
MODELS: Mapping[str, type[Model]] = {m.name: m for m in (Dirichlet, BM25)}
"""Every scoring model by its name."""


def make_model(name: str, parameters: Mapping[str, float]) -> Model:
    """Return the model called `name` with `parameters` in place of its defaults."""
    if name not in MODELS:
        names = ", ".join(MODELS)
        raise InputError(f"unknown model {shorten(name, 40)!r}, expected one of: {names}")
    for parameter in parameters:
        if parameter not in MODEL_PARAMETERS[name]:
            problem = f"model {name} has no parameter {shorten(parameter, 40)!r}"
            raise InputError(f"{problem}, expected: {', '.join(MODEL_PARAMETERS[name])}")
    return MODELS[name](**parameters)
