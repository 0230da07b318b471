"""Predicted argument quality of each document of an index: Q(d) of the Touché paper, Eq. 1."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.progress import counting
from pnyx.core.records import Argument, Evidence
from pnyx.judging.students.surface_quality import QualityModel as QualityModel
from pnyx.judging.students.surface_quality import TextQuality, predictions
from pnyx.search.features.access import put_feature
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import damaged

FEATURE = "quality"
"""Name of the feature; its section `values` is float32 (documents,), in [0, 1]."""

HOW = "pnyx index --update INDEX --quality"
"""The command that makes the feature, for `Index.feature`."""

_BATCH = 1000


def rated_text(record: Evidence) -> str:
    """Return the text whose quality is predicted: an argument's premises, else the whole text."""
    premises = record.premises if isinstance(record, Argument) else ()
    return " ".join(p.text for p in premises if p.text.strip()) or record.text


@dataclass(frozen=True, slots=True)
class QualityStats:
    """What `score_documents` did: documents scored, scored now, and without words (neutral)."""

    model: str
    documents: int
    added: int
    unscored: int
    seconds: float


def score_documents(
    index_folder: str | Path,
    model: TextQuality | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> QualityStats:
    """Predict the quality of an index's documents and keep it as the feature `quality`.

    It holds `values`, float32 (documents,), and in its meta `model`, `neutral` and `unscored`. What
    this model, the packaged one (None) or one of `read_quality_model`, has scored before is kept.
    `on_progress` is called from time to time with the number of documents scored.

    Raises:
        IndexFolderError: not an index, or a damaged one.
        InputError: another process added documents meanwhile.
        PnyxError: the disk is full or read-only, or another process is writing.
    """
    start = time.monotonic()
    index = WordIndex.open(index_folder)
    model = model or QualityModel.load()
    stored, unscored = _known(index, model)
    parts = [stored]
    with counting(on_progress, "predicting quality", len(index)) as advance:
        for first in range(len(stored), len(index), _BATCH):
            numbers = range(first, min(first + _BATCH, len(index)))
            scores, none = predictions(model, [rated_text(index.document_at(n)) for n in numbers])
            unscored += none
            parts.append(scores)
            advance(numbers.stop)
    added = len(index) - len(stored)
    if added:
        meta = {"model": model.name, "neutral": model.neutral, "unscored": unscored}
        values = {"values": np.concatenate(parts)}
        put_feature(index.path, FEATURE, values, documents=len(index), meta=meta)
    return QualityStats(model.name, len(index), added, unscored, time.monotonic() - start)


def _known(index: WordIndex, model: TextQuality) -> tuple[NDArray[np.float32], int]:
    """Return this model's stored scores of the first documents, and how many are unscored."""
    feature = index.known(FEATURE)
    if feature is None or feature.meta.get("model") != model.name:
        return np.zeros(0, dtype=np.float32), 0
    values, unscored = feature.array("values"), feature.meta.get("unscored")
    shape = (feature.documents,)
    if values.shape != shape or values.dtype != np.float32 or not isinstance(unscored, int):
        raise damaged(index.path, f"feature {FEATURE} is not understood")
    return values, unscored


def document_quality(index: WordIndex) -> NDArray[np.float32]:
    """Return the quality of each document of an index, float32 (documents,), NaN for unknown."""
    feature = index.feature(FEATURE, HOW)
    return index.once(FEATURE, lambda: _checked(index, feature.array("values")))


def _checked(index: WordIndex, values: NDArray[Any]) -> NDArray[np.float32]:
    within = np.isnan(values) | ((values >= 0) & (values <= 1))
    if values.shape != (len(index),) or not within.all():
        raise damaged(index.path, "feature quality is not one number from 0 to 1 per document")
    return values.astype(np.float32)
