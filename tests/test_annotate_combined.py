"""The default student: what its parts say, how their scores are combined, invalid settings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.combined import closeness, load
from pnyx.judging.students.scorers import CombinedScorer, Standard
from pnyx.models.embed.encoder import load_encoder


def part(*values):
    """A part that says these of the pairs `0`, `1` ..."""
    return lambda questions: [values[int(q.id)] for q in questions]


OTTERS = ("These otters live near the river. It is a quiet place.", "They eat fish. They like it.")


def numbered(count):
    return [ask_relevance(str(n), "Where?", f"There {n}.") for n in range(count)]


# --- the sum


def test_a_score_by_hand():
    """Log-odds 1 and 3 at 2 +- 1, -1 and 0 at -1 +- 0.5, cosines .3 and .5 at .4 +- .1."""
    scorer = CombinedScorer(
        [
            (part(1.0, 3.0), Standard(2.0, 1.0)),
            (part(-1.0, 0.0), Standard(-1.0, 0.5)),
            (part(0.3, 0.5), Standard(0.4, 0.1)),
        ]
    )
    # In deviations: -1, 0, -1 with the mean -2/3; and 1, 2, 1 with the mean 4/3.
    expected = [1 / (1 + math.exp(2 / 3)), 1 / (1 + math.exp(-4 / 3))]
    assert scorer.score(numbered(2)) == pytest.approx(expected, rel=1e-12)


def test_a_pair_of_which_one_part_says_nothing_has_no_score():
    standard = Standard(0.0, 1.0)
    scorer = CombinedScorer(
        [
            (part(0.0, "too long", 0.0, "too long"), standard),
            (part(0.0, 0.0, "no words", "no words"), standard),
        ]
    )
    assert scorer.score(numbered(4)) == [0.5, "too long", "no words", "too long"]


def test_closeness_is_the_cosine_of_the_mean_of_sentences_whoever_else_is_asked():
    asked = [
        *(ask_relevance(t, "Where do otters live?", t, definition="Rivers.") for t in OTTERS),
        ask_relevance("a", "Where do foxes live?", "In woods. In towns, too, as they say. " * 60),
        ask_relevance("b", "Who?", "x"),
        ask_relevance("c", "Who?", "…"),
    ]
    encoder = load_encoder()
    found = closeness(encoder, asked)
    assert found.tolist() == [float(closeness(encoder, [q])[0]) for q in asked]
    # By hand: the mean of the sentences' vectors, each as often as it has characters.
    first, second = "It is dry.", "Rivers flood the whole valley."
    pair = ask_relevance("d", "Where?", f"{first} {second}", definition="Rivers.")
    one, other, sought = encoder.encode([first, second, pair.sought])
    mean = len(first) * one + len(second) * other
    expected = float(mean @ sought / np.linalg.norm(mean))
    assert closeness(encoder, [pair])[0] == pytest.approx(expected, abs=1e-6)


# --- settings


def row(**changed):
    parts = {
        name: {"settings": {}, "mean": 0.0, "deviation": 1.0}
        for name in ("late-interaction", "lexical", "closeness")
    }
    parts["lexical"].update(changed)
    return {"parts": parts}


def without(name):
    found = row()
    del found["parts"][name]
    return found


SETTINGS = {
    "none": ({}, "parts: found None, expected late-interaction, lexical, closeness"),
    "a list": ({"parts": ["lexical"]}, "parts: found ['lexical'], expected"),
    "one missing": (without("closeness"), "parts: found late-interaction, lexical, expected"),
    "one more": ({"parts": row()["parts"] | {"luck": {}}}, "closeness, luck, expected"),
    "no object": ({"parts": row()["parts"] | {"lexical": 3}}, "lexical: expected an object with"),
    "no settings": (row(settings=None), "lexical: expected an object with settings"),
    "no mean": (row(mean=None), "lexical: mean: found None, expected a finite number"),
    "text": (row(mean="0"), "lexical: mean: found 0, expected a finite number"),
    "true": (row(deviation=True), "lexical: deviation: found True, expected a finite number"),
    "NaN": (row(mean=math.nan), "lexical: mean: found nan, expected a finite number"),
    "infinite": (row(deviation=math.inf), "lexical: deviation: found inf, expected a finite"),
    "digits": (row(mean=10**400), "lexical: mean: found 1000"),
    "far away": (row(mean=-1e9), "lexical: mean: found -1e+09, expected -100 to 100"),
    "no spread": (row(deviation=0), "lexical: deviation: found 0, expected 1e-06 to 100"),
    "negative": (row(deviation=-1.5), "lexical: deviation: found -1.5, expected 1e-06 to 100"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_are_none_are_refused(case, tmp_path):
    settings, said = SETTINGS[case]
    with pytest.raises(InputError) as refused:
        load(tmp_path, settings)
    assert said in str(refused.value)
