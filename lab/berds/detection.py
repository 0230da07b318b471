"""Compare a detector of perspectives with the untrained similarity, with intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from debate_sets import NEAR, Debates, encyclopaedic, parts_of, table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.questions import Support
from pnyx.models.embed.encoder import Encoder, load_encoder

DEVELOPMENT, PAGES, BERDS = "development", "debatewise", "berds"
_DRAWS = 2000
_SETS = {DEVELOPMENT: "development", PAGES: "test"}

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Scores = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Line:
    """Probability from a score: the logistic of a linear function."""

    slope: float
    intercept: float

    def __call__(self, x: Floats) -> Floats:
        """Return probabilities, in [0, 1], of scores of any range."""
        p: Floats = 1 / (1 + np.exp(-(self.slope * x + self.intercept)))
        return p


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair; `group` is its question or page, `source` where the passage comes from."""

    text: str
    statement: str
    label: bool
    group: str
    source: str


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Pairs on which no detector is trained.

    Attributes:
        sets: labelled pairs by the set's name.
        near: their similarity: the largest cosine of the statement with a window of the passage.
        parts: part of each topic, from `parts_of`.
    """

    sets: Mapping[str, Sequence[Pair]]
    near: Scores
    parts: Mapping[str, str]

    @property
    def texts(self) -> dict[str, list[tuple[str, str]]]:
        """Passage and statement of each pair."""
        return {name: [(p.text, p.statement) for p in pairs] for name, pairs in self.sets.items()}


def held_out(data: Path) -> HeldOut:
    """Return all labelled pairs for calibrating and measuring detectors."""
    debates, encoder = Debates(data), load_encoder()
    rows = list(table(data / "berds" / "pers_det.test.tsv"))
    parts = parts_of(debates)
    sets = sets_of(debates, parts, encyclopaedic(data), rows, encoder)
    judge = EncoderJudge()
    near = {}
    for name, pairs in sets.items():
        features = judge.features([Support("", p.text, p.statement) for p in pairs])
        near[name] = np.array([row["similarity"] for row in features])
    return HeldOut(sets, near, parts)


def sets_of(
    debates: Debates,
    parts: Mapping[str, str],
    neutral: Sequence[str],
    berds: Sequence[Mapping[str, str]],
    encoder: Encoder,
) -> dict[str, list[Pair]]:
    """Return the pairs of each set.

    The claim of a page and its negation are paired with three passages of the page, the four
    closest of other debates and the three closest encyclopaedic ones, as in retrieval: 15 % of the
    pairs are in support, about as in BERDS. Closeness is by shared words, because closeness by the
    similarity, with which detectors are compared, would put it at a disadvantage.
    """
    rng = random.Random(1)
    others = [
        p
        for p in debates.passages
        if p.source in ("idebate", "introduction", "procon") and rng.random() < 0.12
    ]
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    shared = words.fit_transform([*(p.text for p in others), *neutral])

    def near(claim: str) -> Floats:
        scores: Floats = (shared @ words.transform([claim]).T).toarray()[:, 0]
        return scores

    sets = {
        name: _pages(debates, [k for k in parts if parts[k] == part], others, neutral, near,
                     encoder, rng)
        for name, part in _SETS.items()
    }  # fmt: skip
    sets[BERDS] = [
        Pair(r["document"], r["perspective"], r["label"] == "1", r["question"], BERDS)
        for r in berds
    ]
    return sets


def _pages(
    debates: Debates,
    keys: Sequence[str],
    others: Sequence[Any],
    neutral: Sequence[str],
    near: Callable[[str], Floats],
    encoder: Encoder,
    rng: random.Random,
) -> list[Pair]:
    pairs: list[Pair] = []
    claims = np.asarray(encoder.encode([debates.topics[key].claim for key in keys]))
    names = sorted({p.topic for p in others})
    rows = dict(zip(names, encoder.encode([debates.topics[n].claim for n in names]), strict=True))
    for key, claim in zip(keys, claims, strict=True):
        passages = [p for p in debates.passages if p.topic == key and len(p.text.split()) >= 30]
        drawn = [(p.text, p.side, "own") for p in rng.sample(passages, min(3, len(passages)))]
        topic = debates.topics[key]
        scores = near(topic.claim)
        close = [others[i] for i in np.argsort(-scores[: len(others)], kind="stable")[:200]]
        far = [p for p in close if rows[p.topic] @ claim < NEAR][:4]
        drawn += [(p.text, 0, p.source) for p in far]
        calm = np.argsort(-scores[len(others) :], kind="stable")[:3]
        drawn += [(neutral[i], 0, "encyclopaedic") for i in calm]
        for text, side, source in drawn:
            for statement, wanted in ((topic.claim, 1), (topic.negation, -1)):
                pairs.append(Pair(text, statement, side == wanted, key, source))
    return pairs


def both(scores: Scores, near: Scores) -> dict[str, Floats]:
    """Return the mean z-score of two systems; mean and deviation come from development pages."""
    return {name: (_z(scores, name) + _z(near, name)) / 2 for name in scores}


def compare(
    sets: Mapping[str, Sequence[Pair]], near: Scores, others: Mapping[str, Scores]
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return AUROC, AP, F1 and ECE by set and system, with intervals.

    The same figures are given for the difference from the similarity (`near`). Groups are
    resampled. Curve and threshold of each system are fitted on the development pages.
    """
    systems: dict[str, Scores] = {"similarity": near, **others}
    labels = {name: np.array([_label(p) for p in pairs]) for name, pairs in sets.items()}
    groups = {name: np.array([_group(p) for p in pairs]) for name, pairs in sets.items()}
    fitted = {n: fit(s[DEVELOPMENT], labels[DEVELOPMENT], groups[DEVELOPMENT])
              for n, s in systems.items()}  # fmt: skip
    out: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in (PAGES, BERDS):
        y, draws = labels[name], _draws(groups[name], labels[name])
        values: dict[str, Floats] = {}
        for system, scores in systems.items():
            curve, threshold = fitted[system]
            s, p = scores[name], curve(scores[name])
            values[system] = np.array([_figures(s[r], p[r], y[r], threshold) for r in draws])
        out[name] = {system: _rows(v, values["similarity"]) for system, v in values.items()}
    return out


def _z(scores: Scores, name: str) -> Floats:
    development = scores[DEVELOPMENT]
    return (scores[name] - development.mean()) / development.std()


def right_sides(pairs: Sequence[Pair], scores: Floats) -> tuple[int, int]:
    """Return the number of texts whose supported statement scores highest, and of comparable texts.

    Comparable texts have a supported and an unsupported statement; ties count as wrong.
    """
    best: dict[tuple[str, str], dict[bool, float]] = {}
    for pair, score in zip(pairs, scores, strict=True):
        by_label = best.setdefault((pair.group, pair.text), {})
        by_label[pair.label] = max(by_label.get(pair.label, -np.inf), float(score))
    both_known = [by_label for by_label in best.values() if len(by_label) == 2]
    return sum(by_label[True] > by_label[False] for by_label in both_known), len(both_known)


def order(
    pairs: Sequence[Pair], near: Floats, others: Mapping[str, Floats]
) -> dict[str, dict[str, list[float]]]:
    """Return AUROC and AP of systems without fitting anything, in the format of `compare`."""
    y, groups = (np.array([f(p) for p in pairs]) for f in (_label, _group))
    draws = _draws(groups, y)
    systems = {"similarity": near, **others}
    values = {
        name: np.array([(roc_auc_score(y[r], s[r]), average_precision_score(y[r], s[r]))
                        for r in draws])
        for name, s in systems.items()
    }  # fmt: skip
    return {name: _rows(figures, values["similarity"]) for name, figures in values.items()}


def _label(pair: Pair) -> bool:
    return pair.label


def _group(pair: Pair) -> str:
    return pair.group


def fit(x: Floats, y: Bools, groups: npt.NDArray[Any]) -> tuple[Line, float]:
    """Fit the curve; the threshold has the best F1, averaged over 100 samples of the groups."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(x[:, None], y)
    curve = Line(float(model.coef_[0, 0]), float(model.intercept_[0]))
    p, thresholds = curve(x), []
    for rows in _draws(groups, y)[1:101]:
        order = np.argsort(-p[rows], kind="stable")
        hits = np.cumsum(y[rows][order])
        scores = 2 * hits / (np.arange(1, len(rows) + 1) + hits[-1])
        thresholds.append(p[rows][order][int(np.argmax(scores))])
    return curve, float(np.mean(thresholds))


def _draws(groups: npt.NDArray[Any], y: Bools) -> list[npt.NDArray[np.int64]]:
    """Return all rows, then samples of groups with replacement that contain both labels."""
    rng, names = np.random.default_rng(1), np.unique(groups)
    members = {name: np.flatnonzero(groups == name) for name in names}
    drawn = [np.arange(len(y))]
    while len(drawn) <= _DRAWS:
        rows = np.concatenate([members[n] for n in rng.choice(names, len(names))])
        if 0 < y[rows].sum() < len(rows):
            drawn.append(rows)
    return drawn


def _figures(s: Floats, p: Floats, y: Bools, threshold: float) -> tuple[float, ...]:
    yes = p >= threshold
    f1 = 2 * float((yes & y).sum()) / max(1.0, float(yes.sum() + y.sum()))
    bins = np.clip(np.ceil(p * 10) - 1, 0, 9).astype(int)
    shares = [((bins == b).mean(), abs(p[bins == b].mean() - y[bins == b].mean()))
              for b in np.unique(bins)]  # fmt: skip
    ece = sum(share * gap for share, gap in shares)
    return roc_auc_score(y, s), average_precision_score(y, s), f1, float(ece)


def _rows(values: Floats, base: Floats) -> dict[str, list[float]]:
    difference = values - base
    result = {}
    for i, figure in enumerate(("AUROC", "AP", "F1", "ECE")[: values.shape[1]]):
        for name, v in ((figure, values[:, i]), (f"{figure} minus similarity", difference[:, i])):
            low, high = np.quantile(v[1:], [0.025, 0.975])
            result[name] = [round(float(x), 3) for x in (v[0], low, high)]
    return result
