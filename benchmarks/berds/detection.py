"""Measures a detector of perspectives against the untrained similarity, with intervals."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from debates import NEAR, Debates
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from pnyx.judge.passages import read_passage
from pnyx.models.encoder import Encoder

DEVELOPMENT, PAGES, BERDS = "development", "debatewise", "berds"
_DRAWS = 2000
_SETS = {DEVELOPMENT: "development", PAGES: "test"}

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Scores = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair; `group` is its question or page, `source` where the passage comes from."""

    text: str
    statement: str
    label: bool
    group: str
    source: str


def sets_of(
    debates: Debates,
    parts: Mapping[str, str],
    neutral: Sequence[str],
    berds: Sequence[Mapping[str, str]],
    encoder: Encoder,
) -> dict[str, list[Pair]]:
    """Return the pairs of each set.

    A page's claim and its negation are asked about three of its own passages, the four closest of
    other debates and the three closest encyclopaedic ones, as retrieval would bring them: 15 % of
    pairs are in support, about as in BERDS.
    """
    rng = random.Random(1)
    others = [
        p
        for p in debates.passages
        if p.source in ("idebate", "introduction", "procon") and rng.random() < 0.12
    ]
    beside = np.asarray(encoder.encode([p.text for p in others]))
    around = np.asarray(encoder.encode(list(neutral)))
    found = {
        name: _pages(debates, [k for k in parts if parts[k] == part], others, beside,
                     neutral, around, encoder, rng)
        for name, part in _SETS.items()
    }  # fmt: skip
    found[BERDS] = [
        Pair(r["document"], r["perspective"], r["label"] == "1", r["question"], BERDS)
        for r in berds
    ]
    return found


def _pages(
    debates: Debates,
    keys: Sequence[str],
    others: Sequence[Any],
    beside: npt.NDArray[np.float32],
    neutral: Sequence[str],
    around: npt.NDArray[np.float32],
    encoder: Encoder,
    rng: random.Random,
) -> list[Pair]:
    pairs: list[Pair] = []
    claims = np.asarray(encoder.encode([debates.topics[key].claim for key in keys]))
    names = sorted({p.topic for p in others})
    rows = dict(zip(names, encoder.encode([debates.topics[n].claim for n in names]), strict=True))
    for key, claim in zip(keys, claims, strict=True):
        own = [p for p in debates.passages if p.topic == key and len(p.text.split()) >= 30]
        drawn = [(p.text, p.side, "own") for p in rng.sample(own, min(3, len(own)))]
        close = [others[i] for i in np.argsort(-(beside @ claim))[:60]]
        far = [p for p in close if rows[p.topic] @ claim < NEAR][:4]
        drawn += [(p.text, 0, p.source) for p in far]
        drawn += [(neutral[i], 0, "encyclopaedic") for i in np.argsort(-(around @ claim))[:3]]
        topic = debates.topics[key]
        for text, side, source in drawn:
            for statement, wanted in ((topic.claim, 1), (topic.negation, -1)):
                pairs.append(Pair(text, statement, side == wanted, key, source))
    return pairs


def window_similarity(pairs: Sequence[Pair], encoder: Encoder) -> Floats:
    """Return the score of the packaged judge: the largest cosine over windows."""
    passages = {p.text: read_passage(p.text).windows for p in pairs}
    texts = dict.fromkeys(w for windows in passages.values() for w in windows)
    texts.update(dict.fromkeys(p.statement for p in pairs))
    vectors = dict(zip(texts, encoder.encode(list(texts)), strict=True))
    stacked = {text: np.stack([vectors[w] for w in ws]) for text, ws in passages.items()}
    return np.array([float((stacked[p.text] @ vectors[p.statement]).max()) for p in pairs])


def compare(
    sets: Mapping[str, Sequence[Pair]], scores: Scores, encoder: Encoder
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return for each set and system AUROC, AP, F1 and ECE: value, interval; the same of the
    difference to the similarity, groups drawn anew.

    Curve, threshold and the mean and deviation of each z-score are of the development pages.
    """
    near = {name: window_similarity(pairs, encoder) for name, pairs in sets.items()}
    both = {name: _z(scores, name) + _z(near, name) for name in sets}
    systems: dict[str, Scores] = {"similarity": near, "detector": scores, "both": both}
    labels = {name: np.array([p.label for p in pairs]) for name, pairs in sets.items()}
    groups = {name: np.array([p.group for p in pairs]) for name, pairs in sets.items()}
    fitted = {n: _fit(s[DEVELOPMENT], labels[DEVELOPMENT], groups[DEVELOPMENT])
              for n, s in systems.items()}  # fmt: skip
    out: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in (PAGES, BERDS):
        y, draws = labels[name], _draws(groups[name], labels[name])
        values: dict[str, Floats] = {}
        for system, found in systems.items():
            model, threshold = fitted[system]
            s, p = found[name], model.predict_proba(found[name][:, None])[:, 1]
            values[system] = np.array([_figures(s[r], p[r], y[r], threshold) for r in draws])
        out[name] = {system: _rows(v, values["similarity"]) for system, v in values.items()}
    return out


def _z(scores: Scores, name: str) -> Floats:
    own = scores[DEVELOPMENT]
    return (scores[name] - own.mean()) / own.std()


def _fit(x: Floats, y: Bools, groups: npt.NDArray[Any]) -> tuple[LogisticRegression, float]:
    """Fit the curve; the threshold is that of best F1, averaged over 100 draws of the groups."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(x[:, None], y)
    p, found = model.predict_proba(x[:, None])[:, 1], []
    for rows in _draws(groups, y)[1:101]:
        order = np.argsort(-p[rows], kind="stable")
        hits = np.cumsum(y[rows][order])
        scores = 2 * hits / (np.arange(1, len(rows) + 1) + hits[-1])
        found.append(p[rows][order][int(np.argmax(scores))])
    return model, float(np.mean(found))


def _draws(groups: npt.NDArray[Any], y: Bools) -> list[npt.NDArray[np.int64]]:
    """Return all rows, then rows of groups drawn with replacement, each with both labels."""
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
    ece = sum(share * apart for share, apart in shares)
    return roc_auc_score(y, s), average_precision_score(y, s), f1, float(ece)


def _rows(values: Floats, base: Floats) -> dict[str, list[float]]:
    apart = values - base
    found = {}
    for i, figure in enumerate(("AUROC", "AP", "F1", "ECE")):
        for name, v in ((figure, values[:, i]), (f"{figure} minus similarity", apart[:, i])):
            low, high = np.quantile(v[1:], [0.025, 0.975])
            found[name] = [round(float(x), 3) for x in (v[0], low, high)]
    return found
