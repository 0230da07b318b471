"""How the packaged quality model's settings are chosen: never by what is measured."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from pnyx.search.quality_training import PENALTIES

TOOLS = Path(__file__).parents[1] / "tools"

pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason="the tools are not in this copy")

REASONS = (
    "because studies found this although costs rose while others disagree about causes".split()
)


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import train_quality

    yield train_quality
    sys.modules.pop("train_quality", None)


def arguments(tool, seed: int, topics: int, words: tuple[int, int]):
    rng = np.random.default_rng(seed)
    texts, labels, names = [], [], []
    for number in range(topics * 12):
        count = int(rng.integers(*words))
        texts.append(f"Argument {' '.join(rng.choice(REASONS, count))}.")
        labels.append([min(1.0, count / words[1] + rng.normal(0, 0.05)), rng.random()])
        names.append(f"t{number % topics}")
    every = np.ones(len(texts), dtype=bool)
    return tool._arguments(texts, names, "", np.clip(labels, 0, 1), every)


def test_labels_that_are_left_out_choose_and_teach_nothing(tool):
    long, short = arguments(tool, 0, 4, (5, 90)), arguments(tool, 1, 4, (5, 25))
    rows = [np.flatnonzero(part.topics != "t3") for part in (long, short)]
    model, settings = tool.train_and_choose(long, short, *rows)
    turned = []
    for part in (long, short):
        labels = part.labels.copy()
        labels[part.topics == "t3"] = 1 - labels[part.topics == "t3"]
        rated = dataclasses.replace(part.rated, quality=labels[:, 0])
        turned.append(dataclasses.replace(part, labels=labels, rated=rated))
    again, chosen = tool.train_and_choose(*turned, *rows)
    assert settings == chosen
    assert model.predict(long.texts).tobytes() == again.predict(long.texts).tobytes()
    assert {settings.long, settings.short} <= set(PENALTIES)
    # With all rows the turned labels do count.
    every = [np.arange(len(part.texts)) for part in turned]
    other, _ = tool.train_and_choose(*turned, *every)
    assert other.predict(long.texts).tobytes() != model.predict(long.texts).tobytes()


def test_the_gate_goes_where_both_sets_are_predicted_best(tool):
    long, short = arguments(tool, 0, 3, (5, 90)).rated, arguments(tool, 1, 3, (5, 28)).rated
    words, few = (np.array([one.words for one in part.seen]) for part in (long, short))
    truth = np.where(words <= 20, 0.2, 0.7 + words / 1000)
    target = np.random.default_rng(0).normal(size=len(few))
    one = tool.Seen(
        dataclasses.replace(long, quality=truth),
        [0.7 + words / 1000 for _ in PENALTIES],  # the long head knows long texts alone
        [np.zeros(len(words)) for _ in PENALTIES],
    )
    other = tool.Seen(
        short, [0.7 + few / 1000 for _ in PENALTIES], [target for _ in PENALTIES], target
    )
    settings = tool.choose(one, other, 2.0)
    assert settings.base == pytest.approx(0.2, abs=0.1)
    assert settings.gate[3] <= 40.0  # the portals' long texts are for the long head
    # Where short arguments of up to 27 words are to be told apart, their head counts in full.
    other = dataclasses.replace(other, target=target * 100)
    assert tool.choose(one, other, 2.0) == settings  # correlations know no scale
    alone = [one.pearson(0, dataclasses.replace(settings, gate=(4.0, 8.0, full, none)))
             for full, none in ((15.0, 30.0), (40.0, 120.0))]  # fmt: skip
    assert alone[0] > alone[1]
    assert settings.short == 2.0
