"""How quality models are trained on rated texts: the packaged recipe, and the Touché paper's (3.3).

The packaged model's recipe is ridge regression on surface features and hashed words, for texts of
one kind (`own_quality.py`); `train_quality.py` joins two kinds
(docs/explain/decisions/quality-model.md). Training needs scikit-learn, prediction numpy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.judging.calibration.curves import folds_of
from pnyx.judging.students.surface_quality import (
    HASH_BITS,
    MAX_DEVIATION,
    SURFACE,
    Features,
    Head,
    QualityModel,
    extract,
)
from pnyx.search.quality_models import MAX_WORDS, NEVER_SHORT, PaperModel, SupportVectors

if TYPE_CHECKING:
    import scipy.sparse as sp

PENALTIES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Penalties of the ridge regression, chosen on the training texts."""

SURFACE_SCALE = 0.1
"""Surface features get a hundredth of the words' penalty: they are few and dense."""
_FOLDS = 5

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class RatedTexts:
    """Texts with people's ratings: quality (n,) in [0, 1], 0 for other texts than arguments.

    `topics` (or text numbers) are the clusters of the cross-validation and the bootstrap.
    """

    texts: Sequence[str]
    quality: Floats
    argument: NDArray[np.bool_]
    topics: NDArray[np.str_]
    seen: Sequence[Features]

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        quality: Sequence[float] | Floats,
        argument: Sequence[bool] | NDArray[np.bool_],
        topics: Sequence[str] | NDArray[np.str_],
    ) -> RatedTexts:
        """Read the texts' features; InputError for a text without a word."""
        seen = []
        for text in texts:
            features = extract(text)
            if features is None:
                raise InputError(f"a rated text holds no word: {shorten(text, 40)!r}")
            seen.append(features)
        return cls(texts, np.asarray(quality, float), np.asarray(argument), np.array(topics), seen)

    def part(self, rows: Rows) -> RatedTexts:
        """Return some of them."""
        return RatedTexts(
            [self.texts[row] for row in rows],
            self.quality[rows],
            self.argument[rows],
            self.topics[rows],
            [self.seen[row] for row in rows],
        )


def train_surface_model(rated: RatedTexts, name: str) -> QualityModel:
    """Train by the packaged model's recipe on one kind of text; left-out topics set the penalty."""
    model = scaled_model(rated.seen, name)
    inputs = ridge_inputs(model, rated.seen)
    penalty = best_penalty(inputs, rated.quality, rated.topics)
    model = replace(model, long=fit_head(inputs, rated.quality, penalty))
    neutral = round(float(np.mean(model.predict(rated.texts))), 4)
    return replace(model, neutral=neutral)


def scaled_model(seen: Sequence[Features], name: str) -> QualityModel:
    """Return a model without weights, with the scale of these texts."""
    surface = np.stack([text.surface for text in seen])
    documents = np.bincount(np.concatenate([text.slots for text in seen]), minlength=2**HASH_BITS)
    blank = Head(0.0, np.zeros(len(SURFACE)), np.zeros(2**HASH_BITS))
    return QualityModel(
        name=name,
        neutral=0.5,
        mean=_stored(surface.mean(axis=0)),
        deviation=_stored(np.maximum(surface.std(axis=0), 1e-3)),
        idf=_stored(np.log((len(seen) + 1) / (documents + 1)) + 1, np.float16),
        long=blank,
        short=blank,
        base=0.0,
        spread=0.0,
        gate=NEVER_SHORT,
    )


def ridge_inputs(model: QualityModel, seen: Sequence[Features]) -> sp.csr_matrix:
    """Return the input of a model's heads, a row per text: scaled surface features, then words."""
    import scipy.sparse as sp

    surface = (np.stack([text.surface for text in seen]) - model.mean) / model.deviation
    surface = np.clip(surface, -MAX_DEVIATION, MAX_DEVIATION) * SURFACE_SCALE
    starts = np.cumsum([0, *(len(text.slots) for text in seen)])
    slots = np.concatenate([text.slots for text in seen])
    values = (1.0 + np.log(np.concatenate([text.counts for text in seen]))) * model.idf[slots]
    lengths = np.sqrt(np.add.reduceat(values * values, starts[:-1]))
    values /= np.repeat(lengths, np.diff(starts))
    words = sp.csr_matrix((values, slots, starts), shape=(len(seen), 2**HASH_BITS))
    return sp.hstack([sp.csr_matrix(surface), words]).tocsr()


def fit_head(inputs: sp.csr_matrix, target: Floats, penalty: float) -> Head:
    """Fit a head; round its weights as in the model's file."""
    ridge = _ridge(penalty, 1e-6).fit(inputs, target)
    surface = _stored(ridge.coef_[: len(SURFACE)] * SURFACE_SCALE)
    words = _stored(ridge.coef_[len(SURFACE) :], np.float16)
    return Head(round(float(ridge.intercept_), 6), surface, words)


def best_penalty(inputs: sp.csr_matrix, target: Floats, topics: NDArray[np.str_]) -> float:
    """Return the penalty with the smallest squared error on left-out topics."""
    errors = [float(((out - target) ** 2).mean()) for out in left_out(inputs, target, topics)]
    return PENALTIES[int(np.argmin(errors))]


def left_out(inputs: sp.csr_matrix, target: Floats, topics: NDArray[np.str_]) -> list[Floats]:
    """Return, for each of `PENALTIES`, predictions of each text without its topic."""
    folds = np.array(folds_of(topics.tolist(), _FOLDS))
    predictions = [np.full(len(target), float(target.mean())) for _ in PENALTIES]
    for fold in np.unique(folds) if folds.any() else ():
        test = folds == fold
        for column, penalty in enumerate(PENALTIES):
            ridge = _ridge(penalty, 1e-4).fit(inputs[~test], target[~test])
            predictions[column][test] = ridge.predict(inputs[test])
    return predictions


def _ridge(penalty: float, tolerance: float) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(penalty, solver="sparse_cg", tol=tolerance)


def _stored(values: Floats, dtype: type = np.float32) -> Floats:
    """Round as in the file, so that the trained and the loaded model agree."""
    return values.astype(dtype).astype(np.float64)


# The paper's own model ----------------------------------------------------------------------------

MAX_STEPS = 20_000
"""Maximum iterations of the regression; scikit-learn's 1,000 are too few for some sets."""


def train_paper_model(rated: RatedTexts, name: str) -> PaperModel:
    """Train both steps as in the paper."""
    vectors, seen = paper_words(rated.texts)
    from sklearn.svm import SVC, LinearSVR

    argument = rated.argument
    svr = LinearSVR(random_state=0, max_iter=MAX_STEPS).fit(seen[argument], rated.quality[argument])
    machine = None if argument.all() else _machine(SVC().fit(seen, argument))
    model = PaperModel(
        name=name,
        neutral=0.5,
        words={word: int(position) for word, position in sorted(vectors.vocabulary_.items())},
        idf=np.asarray(vectors.idf_, np.float64),
        weights=np.asarray(svr.coef_, np.float64),
        intercept=float(svr.intercept_[0]),
        machine=machine,
    )
    mean = float(np.mean(model.predict(rated.texts)))
    return replace(model, neutral=round(mean, 4))


def paper_words(texts: Sequence[str]) -> tuple[Any, sp.csr_matrix]:
    """Return the paper's tf-idf, fitted to texts, and their features."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(stop_words="english", max_features=MAX_WORDS)
    return vectors, vectors.fit_transform(texts)


def _machine(svc: Any) -> SupportVectors:
    rows = svc.support_vectors_.tocsr()
    return SupportVectors(
        starts=rows.indptr.astype(np.int64),
        words=rows.indices.astype(np.int64),
        values=rows.data.astype(np.float64),
        weights=np.asarray(svc.dual_coef_.todense(), np.float64)[0],
        intercept=float(svc.intercept_[0]),
        gamma=float(svc._gamma),
    )


def paper_protocol(rated: RatedTexts) -> dict[str, float]:
    """Measure both steps as in the paper: ten folds in file order, words of all texts.

    Topics are in several folds, so these figures are comparable only with the paper's. Returns `f1`
    of the machine, where there are ten texts of either kind; `r2` (which the paper prints as its
    mean squared error) and `mse` of the regression on the arguments.
    """
    _, every = paper_words(rated.texts)
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC, LinearSVR

    argument, figures = rated.argument, dict[str, float]()
    if min(argument.sum(), (~argument).sum()) >= 10:
        figures["f1"] = float(cross_val_score(SVC(), every, argument, cv=10, scoring="f1").mean())
    argument_rows, target = every[argument], rated.quality[argument]
    for name, scoring in (("r2", "r2"), ("mse", "neg_mean_squared_error")):
        svr = LinearSVR(random_state=0, max_iter=MAX_STEPS)
        figures[name] = cross_val_score(svr, argument_rows, target, cv=10, scoring=scoring).mean()
    return {name: round(abs(v) if name == "mse" else v, 4) for name, v in figures.items()}
