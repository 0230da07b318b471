"""Training a quality model on rated texts: surface features and hashed words, by ridge regression.

The recipe of the packaged model, for texts of one kind; `tools/train_quality.py` joins two kinds
(docs/decisions/quality-model.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import InputError, MissingExtra, shorten
from pnyx.judge.curves import folds_of
from pnyx.search.quality import MAX_DEVIATION, Head, QualityModel
from pnyx.search.quality_features import HASH_BITS, SURFACE, Features, extract

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = [
    "RatedTexts",
    "best_penalty",
    "fit_head",
    "left_out",
    "needs_sklearn",
    "ridge_inputs",
    "scaled_model",
    "train_surface_model",
]

PENALTIES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Of the ridge regression, to choose from on the texts that are trained on."""

NEVER_SHORT = (0.0, 0.0, 0.0, 0.0)
"""A gate that no text passes: with one kind of texts there is no head for short ones."""

SURFACE_SCALE = 0.1
"""Surface features get a hundredth of the words' penalty: they are few and dense."""
_FOLDS = 5

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class RatedTexts:
    """Texts with what people thought of them: quality (n,) in [0, 1], 0 for no argument.

    `topics` (or text numbers) are the clusters in which texts are left out and drawn.
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
            one = extract(text)
            if one is None:
                raise InputError(f"a rated text holds no word: {shorten(text, 40)!r}")
            seen.append(one)
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


def needs_sklearn() -> None:
    """Raise MissingExtra where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("training a quality model", "quality") from error


def train_surface_model(rated: RatedTexts, name: str) -> QualityModel:
    """Train the packaged model's recipe on texts of one kind; topics left out give the penalty."""
    model = scaled_model(rated.seen, name)
    inputs = ridge_inputs(model, rated.seen)
    penalty = best_penalty(inputs, rated.quality, rated.topics)
    model = dataclasses.replace(model, long=fit_head(inputs, rated.quality, penalty))
    neutral = round(float(np.mean(model.predict(rated.texts))), 4)
    return dataclasses.replace(model, neutral=neutral)


def scaled_model(seen: Sequence[Features], name: str) -> QualityModel:
    """Return a model without weights, by whose scale features are seen: that of these texts."""
    surface = np.stack([one.surface for one in seen])
    documents = np.bincount(np.concatenate([one.slots for one in seen]), minlength=2**HASH_BITS)
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
    """Return what a model's heads see, one row a text: scaled surface, then words."""
    import scipy.sparse as sp

    surface = (np.stack([one.surface for one in seen]) - model.mean) / model.deviation
    surface = np.clip(surface, -MAX_DEVIATION, MAX_DEVIATION) * SURFACE_SCALE
    starts = np.cumsum([0, *(len(one.slots) for one in seen)])
    slots = np.concatenate([one.slots for one in seen])
    values = (1.0 + np.log(np.concatenate([one.counts for one in seen]))) * model.idf[slots]
    lengths = np.sqrt(np.add.reduceat(values * values, starts[:-1]))
    values /= np.repeat(lengths, np.diff(starts))
    words = sp.csr_matrix((values, slots, starts), shape=(len(seen), 2**HASH_BITS))
    return sp.hstack([sp.csr_matrix(surface), words]).tocsr()


def fit_head(inputs: sp.csr_matrix, target: Floats, penalty: float) -> Head:
    """Fit a head, its weights rounded as the file of the model rounds them."""
    ridge = _ridge(penalty, 1e-6).fit(inputs, target)
    surface = _stored(ridge.coef_[: len(SURFACE)] * SURFACE_SCALE)
    words = _stored(ridge.coef_[len(SURFACE) :], np.float16)
    return Head(round(float(ridge.intercept_), 6), surface, words)


def best_penalty(inputs: sp.csr_matrix, target: Floats, topics: NDArray[np.str_]) -> float:
    """Return the penalty with the least squared error on topics left out."""
    errors = [float(((out - target) ** 2).mean()) for out in left_out(inputs, target, topics)]
    return PENALTIES[int(np.argmin(errors))]


def left_out(inputs: sp.csr_matrix, target: Floats, topics: NDArray[np.str_]) -> list[Floats]:
    """Return, for each of `PENALTIES`, predictions of each text without its topic."""
    folds = np.array(folds_of(topics.tolist(), _FOLDS))
    found = [np.full(len(target), float(target.mean())) for _ in PENALTIES]
    for fold in np.unique(folds) if folds.any() else ():
        test = folds == fold
        for place, penalty in enumerate(PENALTIES):
            ridge = _ridge(penalty, 1e-4).fit(inputs[~test], target[~test])
            found[place][test] = ridge.predict(inputs[test])
    return found


def _ridge(penalty: float, tolerance: float) -> Any:
    needs_sklearn()
    from sklearn.linear_model import Ridge

    return Ridge(penalty, solver="sparse_cg", tol=tolerance)


def _stored(values: Floats, dtype: type = np.float32) -> Floats:
    """Round as the file will, so that a model trained and one loaded say the same."""
    return values.astype(dtype).astype(np.float64)
