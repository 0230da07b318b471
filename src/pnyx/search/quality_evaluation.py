"""How well a quality model predicts ratings of texts whose topic it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.judge.curves import folds_of
from pnyx.measure.base import Bootstrap, Measured
from pnyx.measure.binary import weighted_brier, weighted_f1
from pnyx.measure.bootstrap import draw_weights, drawn_value
from pnyx.measure.correlation import weighted_pearson, weighted_r2, weighted_spearman
from pnyx.measure.weighted import Weighted
from pnyx.search.quality import QualityModel
from pnyx.search.quality_paper import PaperModel, train_paper_model
from pnyx.search.quality_training import RatedTexts, needs_sklearn, train_surface_model

__all__ = [
    "LENGTHS",
    "LENGTH_ALONE",
    "METHODS",
    "QUALITY_MEASURES",
    "Figures",
    "cross_validate",
]

LENGTHS = slice(0, 6)
"""The surface features of length: the logarithm of the distinct words, bent at five points."""

METHODS: Mapping[str, Callable[[RatedTexts, str], QualityModel | PaperModel]] = {
    "packaged": train_surface_model,
    "paper": train_paper_model,
}
"""Name -> what trains it."""

QUALITY_MEASURES: Mapping[str, Weighted] = {
    "pearson": weighted_pearson,
    "spearman": weighted_spearman,
    "r2": weighted_r2,
    "mse": weighted_brier,
}
LENGTH_ALONE = "length alone"
_BOOTSTRAP = Bootstrap(1000)

Floats = NDArray[np.float64]
Figures: TypeAlias = dict[str, dict[str, Measured]]


def cross_validate(
    rated: RatedTexts,
    method: str,
    folds: int = 10,
    report: Callable[[int, int], None] | None = None,
) -> Figures:
    """Measure a method beside the length alone, each text by a model without its topic.

    Args:
        rated: the texts; whole topics are left out, and drawn for the 95 % intervals.
        method: a key of `METHODS`.
        folds: how many, at most.
        report: told after each fold.

    Returns:
        System -> measure (`QUALITY_MEASURES`, and `f1` of arguments among all texts where some
        are none; length alone, and the packaged recipe, call all of them arguments) -> its value.
    """
    place = np.array(folds_of(rated.topics.tolist(), folds))
    out = {name: np.zeros(len(place)) for name in (method, LENGTH_ALONE)}
    called = np.ones(len(place), dtype=bool)
    for fold in range(int(place.max()) + 1):
        fit, test = np.flatnonzero(place != fold), np.flatnonzero(place == fold)
        model, texts = (
            METHODS[method](rated.part(fit), method),
            [rated.texts[row] for row in test.tolist()],
        )
        out[method][test] = model.predict(texts)
        if isinstance(model, PaperModel):
            called[test] = [model.accepts(text) for text in texts]
        out[LENGTH_ALONE][test] = _by_length(rated.part(fit), rated.part(test))
        if report is not None:
            report(fold + 1, int(place.max()) + 1)
    return {
        method: _measures(rated, out[method], called),
        LENGTH_ALONE: _measures(rated, out[LENGTH_ALONE], np.ones(len(place), dtype=bool)),
    }


def _by_length(fit: RatedTexts, test: RatedTexts) -> Floats:
    """Predict quality by the number of distinct words, by a bent line."""
    needs_sklearn()
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known, asked = (
        np.stack([one.surface for one in part.seen])[:, LENGTHS] for part in (fit, test)
    )
    line = make_pipeline(StandardScaler(), Ridge(10.0)).fit(known, fit.quality)
    predicted: Floats = np.asarray(line.predict(asked), dtype=np.float64)
    return predicted.clip(0.0, 1.0)


def _measures(rated: RatedTexts, quality: Floats, called: NDArray[np.bool_]) -> dict[str, Measured]:
    clusters = np.unique(rated.topics, return_inverse=True)[1]
    found = {
        name: _measured(measure, rated.quality, quality, clusters)
        for name, measure in QUALITY_MEASURES.items()
    }
    if not rated.argument.all():
        gold, said = rated.argument.astype(float), called.astype(float)
        found["f1"] = _measured(weighted_f1, gold, said, clusters)
    return found


def _measured(
    measure: Weighted, gold: Floats, score: Floats, clusters: NDArray[np.intp]
) -> Measured:
    value = float(measure(gold, score, np.ones((1, len(gold))))[0])
    drawn = [measure(gold, score, weights) for weights in draw_weights(clusters, _BOOTSTRAP)]
    return drawn_value(value, np.concatenate(drawn), len(gold), len(gold), _BOOTSTRAP)
