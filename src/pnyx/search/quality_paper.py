"""The Touché paper's own quality model: is it an argument, and if so, how good (section 3.3).

Both steps see the tf-idf of the words. Training needs scikit-learn, prediction numpy alone.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.search.quality_training import RatedTexts, needs_sklearn

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["PaperModel", "SupportVectors", "paper_protocol", "paper_words", "train_paper_model"]

MAX_WORDS = 2**18
MAX_STEPS = 20_000
"""Of the regression, in place of scikit-learn's 1,000, which some sets outlast; where those
sufficed the result is the same."""
_WORD = re.compile(r"(?u)\b\w\w+\b")
_MAX_CHARACTERS = 20_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SupportVectors:
    """A support vector machine with the kernel exp(-gamma |x - v|²), its vectors in CSR rows."""

    starts: Ints
    words: Ints
    values: Floats
    weights: Floats
    intercept: float
    gamma: float

    def accepts(self, text: Floats) -> bool:
        """Return whether a text, as a dense row of tf-idf, is an argument."""
        rows = np.repeat(np.arange(len(self.weights)), np.diff(self.starts))
        dots = np.bincount(rows, self.values * text[self.words], minlength=len(self.weights))
        norms = np.bincount(rows, self.values**2, minlength=len(self.weights))
        distance = np.maximum(norms + float((text * text).sum()) - 2 * dots, 0.0)
        kernel = np.exp(-self.gamma * distance)
        return float((self.weights * kernel).sum()) + self.intercept > 0


@dataclass(frozen=True, slots=True)
class PaperModel:
    """0 for what the machine calls no argument, else the regression's value, clipped to [0, 1].

    `words` maps words to columns of `idf` and `weights`; `machine` is None if all it saw are
    arguments.
    """

    name: str
    neutral: float
    words: Mapping[str, int]
    idf: Floats
    weights: Floats
    intercept: float
    machine: SupportVectors | None

    def score(self, text: str) -> float | None:
        """Return the quality of a text, None where it holds no known word."""
        places, values = self._seen(text)
        if not len(places):
            return None
        if not self._accepts(places, values):
            return 0.0
        value = float((values * self.weights[places]).sum()) + self.intercept
        return min(1.0, max(0.0, value))

    def accepts(self, text: str) -> bool:
        """Return whether the machine calls a text an argument."""
        return self._accepts(*self._seen(text))

    def _accepts(self, places: Ints, values: Floats) -> bool:
        if self.machine is None:
            return True
        row = np.zeros(len(self.idf))
        row[places] = values
        return self.machine.accepts(row)

    def _seen(self, text: str) -> tuple[Ints, Floats]:
        """Return the columns of a text's known words, ascending, and their tf-idf."""
        found = Counter(_WORD.findall(text[:_MAX_CHARACTERS].lower()))
        known = sorted((self.words[word], n) for word, n in found.items() if word in self.words)
        places = np.array([place for place, _ in known], dtype=np.int64)
        values = np.array([n for _, n in known], dtype=np.float64) * self.idf[places]
        length = math.sqrt(float((values * values).sum()))
        return places, values / length if len(places) else values

    def predict(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n,) in [0, 1]; `neutral` for a text without a known word."""
        found = (self.score(text) for text in texts)
        return np.array([self.neutral if q is None else q for q in found], dtype=np.float32)


def train_paper_model(rated: RatedTexts, name: str) -> PaperModel:
    """Train both steps as the paper did."""
    vectors, seen = paper_words(rated.texts)
    from sklearn.svm import SVC, LinearSVR

    argument = rated.argument
    svr = LinearSVR(random_state=0, max_iter=MAX_STEPS).fit(seen[argument], rated.quality[argument])
    machine = None if argument.all() else _machine(SVC().fit(seen, argument))
    model = PaperModel(
        name=name,
        neutral=0.5,
        words={word: int(place) for word, place in sorted(vectors.vocabulary_.items())},
        idf=np.asarray(vectors.idf_, np.float64),
        weights=np.asarray(svr.coef_, np.float64),
        intercept=float(svr.intercept_[0]),
        machine=machine,
    )
    mean = float(np.mean(model.predict(rated.texts)))
    return dataclasses.replace(model, neutral=round(mean, 4))


def paper_words(texts: Sequence[str]) -> tuple[Any, sp.csr_matrix]:
    """Return the paper's tf-idf, fitted to texts, and what it sees of them."""
    needs_sklearn()
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
    """Measure both steps as the paper did: ten folds in the file's order, words of all texts.

    Topics are in several folds, so these figures compare with the paper's alone. Returns `f1` of
    the machine, where there are ten texts of either kind; `r2` (which the paper prints as its mean
    squared error) and `mse` of the regression on the arguments.
    """
    _, every = paper_words(rated.texts)
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC, LinearSVR

    argument, found = rated.argument, dict[str, float]()
    if min(argument.sum(), (~argument).sum()) >= 10:
        found["f1"] = float(cross_val_score(SVC(), every, argument, cv=10, scoring="f1").mean())
    known, target = every[argument], rated.quality[argument]
    for name, scoring in (("r2", "r2"), ("mse", "neg_mean_squared_error")):
        svr = LinearSVR(random_state=0, max_iter=MAX_STEPS)
        found[name] = cross_val_score(svr, known, target, cv=10, scoring=scoring).mean()
    return {name: round(abs(v) if name == "mse" else v, 4) for name, v in found.items()}
