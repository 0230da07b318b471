"""Outcomes: a judge's answers on labelled items, kept in its card to pair them with later ones.

Columns are strings, which are short in JSON. They contain no ids and no texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.base import Bootstrap
from pnyx.stats.intervals import draw_weights, interval_of, paired_shares
from pnyx.stats.weighted_measures import Floats, prepare

_DIGITS = 10_000
"""Resolution of probabilities."""


def outcomes_of(joined: LabelledVerdicts) -> dict[str, str]:
    """Return labels and answers of yes/no items, in the order of their ids' hashes; else nothing.

    `sha256` covers ids, groups and labels: two cards with the same one are about the same items.
    """
    pairs = PairColumns.of(joined.pairs)
    yes = pairs.labels(lambda gold: gold.yes)
    places = np.flatnonzero(np.isfinite(yes)).tolist()
    if joined.task == "quality" or len({pairs.ids[at] for at in places}) < max(1, len(places)):
        return {}
    hashed = {at: hashlib.sha256(pairs.ids[at].encode()).hexdigest() for at in places}
    places.sort(key=hashed.__getitem__)
    groups, value, probability = pairs.groups, pairs.value(), pairs.probability()
    named = [groups[at] or f"\0{hashed[at]}" for at in places]  # without one: alone
    numbered = {name: str(n) for n, name in enumerate(dict.fromkeys(named))}
    lines = (f"{hashed[at]} {name} {yes[at]:.0f}" for at, name in zip(places, named, strict=True))
    return {
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        "group": " ".join(numbered[name] for name in named),
        "label": " ".join(f"{yes[at]:.0f}" for at in places),
        "value": " ".join(_told(value[at], 1) for at in places),
        "probability": " ".join(_told(probability[at], _DIGITS) for at in places),
    }


def _told(number: float, times: int) -> str:
    return f"{number * times:.0f}" if np.isfinite(number) else "-"


def _column(row: Mapping[str, str], name: str, times: int = 1) -> Floats:
    parts = (np.nan if part == "-" else int(part) / times for part in row[name].split())
    return np.fromiter(parts, np.float64)


def paired_interval(
    then: Mapping[str, str], now: Mapping[str, str], measure: str, bootstrap: Bootstrap
) -> tuple[float, float | None, float | None] | None:
    """Return now minus then with the ends of its interval, on the items scored both times.

    For accuracy it is Tango's interval, else the bootstrap's, both over groups; ends are None if
    all draws are equal. None: not the same items or labels, or nothing to draw from.
    """
    if not then or then.get("sha256") != now.get("sha256"):
        return None
    _, named = MEASURES[measure].inputs["support"]
    times = _DIGITS if named == "probability" else 1
    columns = [_column(row, named, times) for row in (then, now)]
    both = np.isfinite(columns[0]) & np.isfinite(columns[1])
    gold, (before, after) = _column(then, "label")[both], (column[both] for column in columns)
    places = np.unique(_column(then, "group")[both], return_inverse=True)[1].astype(np.intp)
    if not len(gold) or (count := int(places.max()) + 1) < 2:
        return None
    if measure == "accuracy":
        differences = (after == gold).astype(np.float64) - (before == gold)
        return float(differences.mean()), *paired_shares(differences, places).interval()
    old, new = (prepare(MEASURES[measure].weighted, gold, score) for score in (before, after))
    once = np.ones((1, len(gold)))
    change = float((new(once) - old(once))[0])
    drawn = [new(weights) - old(weights) for weights in draw_weights(places, bootstrap)]
    if not np.isfinite(change) or not drawn:
        return None
    low, high, _ = interval_of(change, np.concatenate(drawn), count, bootstrap)
    return change, low, high
