"""How the packaged quality model's settings are chosen: never by what is measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from quality_tool import tool as import_tool

REASONS = (
    "because studies found this although costs rose while others disagree about causes".split()
)


@pytest.fixture
def tool():
    return import_tool("train_quality")


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


@pytest.mark.all
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
    assert {settings.long, settings.short} <= set(tool.PENALTIES)
    # With all rows the turned labels do count.
    every = [np.arange(len(part.texts)) for part in turned]
    other, _ = tool.train_and_choose(*turned, *every)
    assert other.predict(long.texts).tobytes() != model.predict(long.texts).tobytes()


def test_the_gate_serves_both_sets_and_not_one_alone(tool):
    long, short = arguments(tool, 0, 3, (5, 90)).rated, arguments(tool, 1, 3, (5, 38)).rated
    words, few = (np.array([one.words for one in part.seen]) for part in (long, short))
    target = np.random.default_rng(0).normal(size=len(few))
    flat = [np.full(len(few), 0.7) for _ in tool.PENALTIES]  # the long head knows nothing of these
    portals = tool.HeldOutScores(
        dataclasses.replace(long, quality=np.where(words <= 15, 0.2, 0.4 + words / 200)),
        [0.4 + words / 200 for _ in tool.PENALTIES],
        [np.where(words % 2, 0.3, -0.3) for _ in tool.PENALTIES],
    )
    single = tool.HeldOutScores(short, flat, [target for _ in tool.PENALTIES], target)
    alone = tool.choose(portals, portals, 2.0)
    both = tool.choose(portals, single, 2.0)

    def mean(settings) -> float:
        place = tool.PENALTIES.index(settings.long)
        return (portals.pearson(place, settings) + single.pearson(place, settings)) / 2

    assert portals.pearson(0, alone) >= portals.pearson(0, both)
    assert mean(both) > mean(alone)
    assert both.gate[2:] > alone.gate[2:]
    assert both.short == 2.0
