"""The argument quality of each document, relative to others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pnyx.core.records import Evidence
from pnyx.search.engine import Engine

MIDDLING = 0.5
"""Assumed quality, only for ordering, of a document of unknown quality."""


def quality_of(engine: Engine, documents: Sequence[Evidence]) -> tuple[dict[str, float], bool]:
    """Return the share of documents of lower quality by id, and whether among all documents."""
    ids = [document.id for document in documents]
    info = engine.feature_info("quality")
    of_all = info is not None and info.documents == len(engine)
    if of_all:
        shares = engine.quality_shares(ids)
    else:
        from pnyx.judging.students.quality.surface import QualityModel, predictions
        from pnyx.search.quality.documents import rated_text

        scores, _ = predictions(
            QualityModel.load(), [rated_text(document) for document in documents]
        )
        shares = np.searchsorted(np.sort(scores), scores) / max(1, len(scores))
    pairs = zip(ids, map(float, shares), strict=True)
    return {doc_id: share for doc_id, share in pairs if not math.isnan(share)}, of_all
