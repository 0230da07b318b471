"""How likely each passage of a ranking argues for yes, for no, or for neither side of a question.

A network reads each passage with the question answered by yes and by no. A regression on what it
says, on the cosine to the question and on the whole ranking turns that into probabilities; it was
fitted on labelled folders and debates (`benchmarks/argue/fit_passages.py`).
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.claims import claims_of
from pnyx.judge.passages import pieces_of
from pnyx.models.embed.embedder import PACKAGED, embedder_from
from pnyx.records import SIDES, Evidence, Question, Side, judged_text
from pnyx.search.engine import Engine
from pnyx.search.features.vectors import VECTORS

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder
    from pnyx.students.reader import ReaderScorer

Floats = NDArray[np.float64]

BY_PASSAGE: Final = "passage"
"""The method of these verdicts in their provenance."""

ARGUES: Final = 0.5
"""Probability of arguing a side from which a passage counts as relevant."""

_WEIGHTS: Final = "weights/passages.json"

FEATURES: Final = (
    "own supports",
    "other supports",
    "own opposes",
    "other opposes",
    "neither",
    "cosine",
    "highest cosine",
    "neither in the ranking",
)
"""Inputs of the regression for one side of one passage: log-odds that the passage supports and
opposes the side's own statement and the other one, mean log-odds of neither, cosine to the
question, and of the whole ranking the highest cosine and the mean log-odds of neither."""


@dataclass(frozen=True, slots=True)
class SideChances:
    """How likely a passage argues each side; what is left is that it argues neither."""

    pro: float
    con: float

    @property
    def argues(self) -> float:
        """How likely it argues any side, in [0, 1]."""
        return self.pro + self.con


class PassageSides:
    """Judges the first passages of a ranking: how likely does each argue for yes, or for no?

    Args:
        engine: what was searched; its vectors of the packaged embedder are used where it has them.
        embedder: the packaged one, if it is open already.

    Attributes:
        name: `passages@` and 8 digits of a hash of the weights.
        card: how far it can be trusted, in one line.
    """

    def __init__(self, engine: Engine, embedder: Embedder | None = None) -> None:
        known = engine.feature_info(VECTORS)
        self._stored = (
            known is not None and known.made_by == PACKAGED and known.documents == len(engine)
        )
        self._engine, self._embedder = engine, embedder
        self._fitted, digest = _fitted()
        self.name = f"passages@{digest}"
        self.card = str(self._fitted["card"])

    def judge(self, question: Question, documents: Sequence[Evidence]) -> list[SideChances | str]:
        """Return the chances of each document, or why there are none."""
        if not documents:
            return []
        table = self.features(question, documents)
        weights, bias = np.array(self._fitted["weights"]), float(self._fitted["bias"])
        odds = table @ weights + bias  # [documents, sides], against neither
        top = np.maximum(odds.max(axis=1, keepdims=True), 0.0)
        shares = np.exp(odds - top)
        shares /= shares.sum(axis=1, keepdims=True) + np.exp(-top)
        return [
            SideChances(round(float(pro), 6), round(float(con), 6))
            if np.isfinite(pro) and np.isfinite(con)
            else "no_number: the model gives none"
            for pro, con in shares
        ]

    def features(self, question: Question, documents: Sequence[Evidence]) -> Floats:
        """Return float64 [documents, 2 sides, features]; see `FEATURES`."""
        classes = self._read(claims_of(question), [judged_text(one) for one in documents])
        cosines = self._cosines(question.text, documents)
        return features_of(classes, cosines)

    def _read(self, statements: tuple[str, str], texts: Sequence[str]) -> Floats:
        """Return log-probabilities [texts, 2 statements, 3 classes], the mean of long texts."""
        pieces = [(place, piece) for place, text in enumerate(texts) for piece in pieces_of(text)]
        pairs = [(piece, statement) for _, piece in pieces for statement in statements]
        raw = _reader().classes(pairs).reshape(len(pieces), 2, 3)
        logs = raw - np.logaddexp.reduce(raw, axis=-1, keepdims=True)
        owners = np.array([place for place, _ in pieces])
        return np.stack([logs[owners == place].mean(axis=0) for place in range(len(texts))])

    def _cosines(self, question: str, documents: Sequence[Evidence]) -> Floats:
        if self._embedder is None or self._embedder.name != PACKAGED:
            self._embedder = embedder_from()
        own = self._embedder.encode([question])[0].astype(np.float64)
        if self._stored:
            rows = self._engine.vectors([document.id for document in documents])
        else:
            rows = self._embedder.encode([judged_text(document) for document in documents])
        found: Floats = np.asarray(rows, dtype=np.float64) @ own
        return found


def features_of(classes: Floats, cosines: Floats) -> Floats:
    """Return float64 [documents, 2 sides, features] of a ranking; see `FEATURES`.

    Args:
        classes: log-probabilities of supports, opposes and neither, [documents, 2 statements, 3].
        cosines: of each document to the question, [documents].
    """
    odds = classes - np.log1p(-np.exp(np.minimum(classes, -1e-9)))
    neither = odds[:, :, 2].mean(axis=1)
    whole = [neither, cosines, np.full_like(cosines, cosines.max())]
    whole.append(np.full_like(cosines, neither.mean()))
    sides = []
    for own, other in ((0, 1), (1, 0)):
        read = [odds[:, own, 0], odds[:, other, 0], odds[:, own, 1], odds[:, other, 1]]
        sides.append(np.stack([*read, *whole], axis=1))
    return np.stack(sides, axis=1)


def relevance_of(chances: SideChances | str, judge: str) -> Answer:
    """Return whether a passage argues a side of the question at all, as a verdict."""
    provenance = Provenance(judge, method=BY_PASSAGE)
    if isinstance(chances, str):
        return Unscored(chances, provenance)
    p = round(chances.argues, 6)
    said = f"argues a side with probability {p:.2f}; yes from {ARGUES:.2f}"
    return Judged(p >= ARGUES, provenance, probability=p, explanation=said)


def stances_of(chances: SideChances | str, judge: str) -> dict[Side, Answer]:
    """Return whether a passage serves each side, given that it argues one, as verdicts."""
    provenance = Provenance(judge, method=BY_PASSAGE)
    if isinstance(chances, str):
        return {side: Unscored(chances, provenance) for side in SIDES}
    total = max(chances.argues, 1e-12)
    found: dict[Side, Answer] = {}
    for side, chance in zip(SIDES, (chances.pro, chances.con), strict=True):
        p = round(chance / total, 6)
        said = f"argues this side with probability {chance:.2f}"
        found[side] = Judged(p >= 0.5, provenance, probability=p, explanation=said)
    return found


@functools.cache
def _reader() -> ReaderScorer:
    import pnyx.models
    from pnyx.students.reader import open_reader

    return open_reader(Path(pnyx.models.__file__).parent / "weights/perspectives")


@functools.cache
def _fitted() -> tuple[dict[str, Any], str]:
    data = resources.files("pnyx.write").joinpath(_WEIGHTS).read_bytes()
    return json.loads(data), hashlib.sha256(data).hexdigest()[:8]
