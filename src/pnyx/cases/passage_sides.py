"""How likely each passage of a ranking argues for yes, for no, or for neither side of a question.

A network reads each passage with the question answered by yes and by no: the detector of
perspectives, trained further on labelled paragraphs. A regression on its log-odds, on the cosine to
the question and on the whole ranking turns these into probabilities. It was fitted on labelled
folders and debates (`lab/argue/fit_passages.py`).
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.records import SIDES, Evidence, Question, Side, judged_text
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, of_kind
from pnyx.judging.calibration.curves import log_odds, logistic
from pnyx.judging.questions import JudgeQuestion, Support
from pnyx.judging.statements import statements_of
from pnyx.models.embed.embedder import PACKAGED, embedder_from
from pnyx.search.engine import Engine
from pnyx.search.features.vectors import VECTORS

if TYPE_CHECKING:
    from pnyx.judging.students.reader import ReaderScorer
    from pnyx.models.embed.embedder import Embedder

Floats = NDArray[np.float64]

BY_PASSAGE: Final = "passage"
"""The method of these verdicts in their provenance."""

BY_MODEL: Final = "listwise"
"""The method of verdicts by a language model that read the whole ranking (`model_sides`)."""

ARGUES: Final = 0.5
"""Probability of arguing any side from which the verdict is yes."""

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

_CLEAR: Final = 0.6
"""P(side | argues) from which a language model's verdict on a side is yes: a passage that it says
argues both sides is on neither."""

_GREATEST: Final = 3
"""Number of a side's most likely passages that decide how likely the documents argue it."""

RANKED: Final = 30
"""Number of top documents that describe the ranking; later ones are judged relative to these."""

_WEIGHTS: Final = "weights/passages.json"

_BUSY: Final = threading.Lock()
"""Lock around the network, which uses all cores and is loaded once."""

MOST_READINGS: Final = 5_000
"""Most cached readings of passages, for when a question is asked again."""

_READINGS: Final[dict[tuple[str, str, str], Floats]] = {}
"""Both statements and the passage -> the network's output, float64 [2, 3]; the oldest first."""


@dataclass(frozen=True, slots=True)
class SideChances:
    """The probability that a passage argues each side, in [0, 1].

    The rest is that it argues neither. If a language model decided, `by` names it and `explanation`
    is its reason.
    """

    pro: float
    con: float
    by: Provenance | None = None
    explanation: str = ""

    @property
    def argues(self) -> float:
        """The probability that it argues any side, in [0, 1]."""
        return self.pro + self.con


class PassageSides:
    """Judges the first passages of a ranking: how likely does each argue for yes, or for no?

    Args:
        engine: the searched engine; its vectors of the packaged embedder are used if it has them.
        embedder: the packaged one, if it is open already.

    Attributes:
        name: `passages@` and 8 digits of a hash of the weights, which name the network by its own.
        card: how reliable it is, in one line.
    """

    def __init__(self, engine: Engine, embedder: Embedder | None = None) -> None:
        info = engine.feature_info(VECTORS)
        self._stored = (
            info is not None and info.made_by == PACKAGED and info.documents == len(engine)
        )
        self._engine, self._embedder = engine, embedder
        self._fitted, digest = _fitted()
        self.name = f"passages@{digest}"
        self.card = str(self._fitted["card"])

    def judge(self, question: Question, documents: Sequence[Evidence]) -> list[SideChances | str]:
        """Return the probabilities of each document, or why there are none."""
        if not documents:
            return []
        odds = features_of(*self.read(question, documents)) @ np.array(self._fitted["weights"])
        return [
            SideChances(round(pro, 6), round(con, 6))
            if np.isfinite(pro + con)
            else "no_number: the model gives none"
            for pro, con in chances_of(odds + float(self._fitted["bias"])).tolist()
        ]

    def read(self, question: Question, documents: Sequence[Evidence]) -> tuple[Floats, Floats]:
        """Return the inputs of `features_of` for a ranking."""
        texts = [judged_text(document) for document in documents]
        classes = _read(statements_of(question), texts)
        return classes, self._cosines(question.text, texts, documents)

    def _cosines(
        self, question: str, texts: Sequence[str], documents: Sequence[Evidence]
    ) -> Floats:
        if self._embedder is None or self._embedder.name != PACKAGED:
            self._embedder = embedder_from()
        vector = self._embedder.encode([question])[0].astype(np.float64)
        if self._stored:
            rows = self._engine.vectors([document.id for document in documents])
        else:
            rows = self._embedder.encode(texts)
        cosines: Floats = np.asarray(rows, dtype=np.float64) @ vector
        return cosines


def _read(statements: tuple[str, str], texts: Sequence[str]) -> Floats:
    """Return log-probabilities [texts, 2 statements, 3 classes].

    The network reads the first 256 tokens of longer texts.
    """
    keys = [(*statements, text) for text in texts]
    with _BUSY:
        new = [key for key in dict.fromkeys(keys) if key not in _READINGS]
        pairs = [(text, statement) for *both, text in new for statement in both]
        rows = _reader().classes(pairs).reshape(len(new), 2, 3) if new else ()
        _READINGS.update(zip(new, rows, strict=True))
        raw = np.stack([_READINGS[key] for key in keys])
        for key in list(_READINGS)[: max(0, len(_READINGS) - MOST_READINGS)]:
            del _READINGS[key]
    logs: Floats = raw - np.logaddexp.reduce(raw, axis=-1, keepdims=True)
    return logs


def features_of(classes: Floats, cosines: Floats) -> Floats:
    """Return float64 [documents, 2 sides, features] of a ranking; see `FEATURES`.

    Args:
        classes: log-probabilities of supports, opposes and neither, [documents, 2 statements, 3].
        cosines: of each document to the question, [documents].
    """
    odds = classes - np.log1p(-np.exp(np.minimum(classes, -1e-9)))
    neither = odds[..., 2].mean(axis=1)
    ranking = np.full_like(cosines, cosines[:RANKED].max())
    whole = [neither, cosines, ranking, np.full_like(cosines, neither[:RANKED].mean())]
    sides = [
        np.stack([*(odds[:, side, answer] for answer in (0, 1) for side in order), *whole], axis=1)
        for order in ((0, 1), (1, 0))
    ]
    return np.stack(sides, axis=1)


def chances_of(odds: Floats) -> Floats:
    """Return the probabilities of both sides, from log-odds against neither, [documents, 2]."""
    shares = np.exp(odds - np.logaddexp(0.0, np.logaddexp(odds[:, :1], odds[:, 1:])))
    return np.asarray(shares, dtype=np.float64)


def side_inputs(chances: Sequence[float] | Floats) -> list[float]:
    """Return the log-odds of the greatest probability, and the mean of the three greatest ones.

    Probabilities below 0.001 and missing ones count as 0.001.
    """
    greatest = np.sort(np.append(np.asarray(chances, dtype=np.float64), np.zeros(_GREATEST)))
    odds = log_odds(np.clip(greatest[::-1][:_GREATEST], 0.001, 0.999))
    return [float(odds[0]), float(odds.mean())]


def side_chance(chances: Sequence[float]) -> float | None:
    """Return the probability that the documents argue a side at all, from that of each document.

    None without documents. Fitted on rankings from which one side was removed.
    """
    if not len(chances):
        return None
    fitted = _fitted()[0]["side"]
    odds = np.array(side_inputs(chances)) @ np.array(fitted["weights"]) + fitted["bias"]
    return round(float(logistic(np.array([odds]))[0]), 6)


def relevance_of(chances: SideChances | str, judge: str) -> Answer:
    """Return whether a passage argues any side of the question, as a verdict."""
    provenance = Provenance(judge, method=BY_PASSAGE)
    if isinstance(chances, str):
        return Unscored(chances, provenance)
    p = round(chances.argues, 6)
    explanation = f"argues a side with probability {p:.2f}; yes from {ARGUES:.2f}"
    if chances.by is not None:
        provenance, explanation = chances.by, f"{chances.explanation}: {explanation}"
    return Judged(p >= ARGUES, provenance, probability=p, explanation=explanation)


class PassageStances:
    """Answers stance questions on passages by known probabilities.

    Args:
        judge: name and card of their judge. question: the question.
        chances: text of a passage -> its chances, or why there are none.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(
        self, judge: PassageSides, question: Question, chances: Mapping[str, SideChances | str]
    ) -> None:
        self.name, self.card = judge.name, judge.card
        self._pro, self._chances = statements_of(question)[0], chances

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        for position, question in enumerate(of_kind(Support, questions, self.name)):
            side = SIDES[0] if question.statement == self._pro else SIDES[1]
            emit(position, self._verdict(self._chances[question.text], side))

    def _verdict(self, chances: SideChances | str, side: Side) -> Answer:
        provenance = Provenance(self.name, method=BY_PASSAGE)
        if isinstance(chances, str):
            return Unscored(chances, provenance)
        chance = chances.pro if side == SIDES[0] else chances.con
        p = round(chance / max(chances.argues, 1e-12), 6)
        explanation = f"argues this side with probability {chance:.2f}"
        explanation += f", any side {chances.argues:.2f}"
        if chances.by is None:
            return Judged(p >= 0.5, provenance, probability=p, explanation=explanation)
        details = {**chances.by.details, "threshold": _CLEAR}
        provenance = replace(chances.by, details=details)
        explanation = f"{chances.explanation}: {explanation}"
        return Judged(p >= _CLEAR, provenance, probability=p, explanation=explanation)


@functools.cache
def _reader() -> ReaderScorer:
    from pnyx.judging.students.reader import open_reader

    return open_reader(*_network())


def _network() -> tuple[Path, Path]:
    """Return the folder of the network, and that of the detector it was trained from."""
    import pnyx.models

    weights = Path(pnyx.models.__file__).parent / "weights"
    return weights / "passages", weights / "perspectives"


def network_digest() -> str:
    """Return a hash of the network, for which the regression was fitted."""
    from pnyx.judging.students.reader import CHANGES, MATRICES
    from pnyx.judging.students.scorers import MODEL

    network, detector = _network()
    files = network / MODEL, network / CHANGES, detector / MATRICES
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@functools.cache
def _fitted() -> tuple[dict[str, Any], str]:
    data = resources.files("pnyx.cases").joinpath(_WEIGHTS).read_bytes()
    return json.loads(data), hashlib.sha256(data).hexdigest()[:8]
