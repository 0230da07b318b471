"""Measures against scikit-learn, hand-worked numbers and their own definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from pnyx.core.records import Citation, Response, Sentence
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.measures import binary
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.measures.responses import citation_precision, judged_response, sentence_precision
from pnyx.stats.base import Measured
from pnyx.stats.intervals import log_odds_interval, wilson

BY = Provenance("test")
YES, NO, NONE = Judged(True, BY, 0.9), Judged(False, BY, 0.2), Unscored("timeout", BY)

scored_pairs = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5001, 0.9, 1.0])),
    min_size=1,
    max_size=60,
)


@given(scored_pairs)
def test_ranking_measures_equal_scikit_learn(pairs: list[tuple[bool, float]]) -> None:
    labels, scores = [a for a, _ in pairs], [b for _, b in pairs]
    both = 0 < sum(labels) < len(labels)
    area, precision = (MEASURES[n].value(labels, scores) for n in ("auroc", "average_precision"))
    assert (area is not None) == both
    assert (precision is not None) == any(labels)
    if area is not None:
        assert area == pytest.approx(metrics.roc_auc_score(labels, scores))
    if precision is not None:
        assert precision == pytest.approx(metrics.average_precision_score(labels, scores))
    assert MEASURES["brier"].value(labels, scores) == pytest.approx(
        np.mean((np.array(labels, float) - scores) ** 2)
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50))
def test_f1_and_accuracy_equal_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    labels, values = [a for a, _ in pairs], [b for _, b in pairs]
    ours = MEASURES["f1"].value(labels, values)
    if ours is None:
        assert not any(labels)
        assert not any(values)
    else:
        assert ours == pytest.approx(metrics.f1_score(labels, values, zero_division=0))
    ours = MEASURES["accuracy"].value(labels, values)
    assert ours == pytest.approx(metrics.accuracy_score(labels, values))


def test_an_interval_in_log_odds_by_hand() -> None:
    """A fifth, a standard deviation of ln 2 and 10 degrees: t = 2.228, odds 1/4 x 2^(+-2.228)."""
    low, high = log_odds_interval(0.2, math.log(2) ** 2, 10)
    odds = [0.25 * 2**-2.2281, 0.25 * 2**2.2281]
    assert (low, high) == pytest.approx([o / (1 + o) for o in odds], abs=1e-4)
    assert log_odds_interval(0.0, 1.0) == (0.0, 0.0)
    assert log_odds_interval(1.0, 1.0) == (1.0, 1.0)
    assert log_odds_interval(0.5, 1e9, 7) == pytest.approx((0.0, 1.0))


def test_wilson_by_hand() -> None:
    # 8 of 10, z = 1.96: centre (.8 + .19208)/1.38416 = .71674, half .22653 (Wilson 1927).
    low, high = wilson(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4)
    assert high == pytest.approx(0.9433, abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(counts: tuple[int, int]) -> None:
    low, high = wilson(*counts)
    assert 0 <= low <= counts[0] / counts[1] + 1e-12
    assert counts[0] / counts[1] - 1e-12 <= high <= 1


def test_wilson_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="expected"):
        wilson(3, 2)


def _response(*cited: tuple[str, ...]) -> Response:
    sentences = tuple(Sentence(f"s{i}.", tuple(map(Citation, c))) for i, c in enumerate(cited))
    return Response("q", "run", sentences)


def test_sentence_precision_by_hand() -> None:
    response = _response(("a", "b"), ("a",), ("a", "b"), (), ("c",))
    support = {
        (0, "a"): NO, (0, "b"): YES,  # one no is enough
        (1, "a"): YES,
        (2, "a"): YES, (2, "b"): NONE,  # the missing verdict could have been a no
        # sentence 3 cites nothing: nothing supports it; sentence 4's verdict is absent
    }  # fmt: skip
    verdicts = [one.attested for one in judged_response(response, support).sentences]
    assert verdicts == [False, True, None, False, None]
    measured = sentence_precision(response, support)
    assert (measured.value, measured.scored, measured.asked) == (pytest.approx(1 / 3), 3, 5)
    citations = citation_precision(response, support)
    assert (citations.value, citations.scored, citations.asked) == (0.75, 4, 6)


def test_nothing_scored_is_no_number() -> None:
    measured = sentence_precision(_response(("a",)), {(0, "a"): NONE})
    assert measured.row() == {"value": None, "low": None, "high": None, "scored": 0, "asked": 1}
    assert sentence_precision(_response(), {}).value is None


@given(st.lists(st.sampled_from([YES, NO, NONE]), min_size=1, max_size=30))
def test_unscored_never_moves_a_measure(answers: list[Judged | Unscored]) -> None:
    labels = [i % 2 == 0 for i in range(len(answers))]
    kept = [(a, x) for a, x in zip(answers, labels, strict=True) if a is not NONE]
    whole = binary.against_labels(answers, labels)
    assert {m.asked for m in whole.values()} == {len(answers)}
    assert {m.scored for m in whole.values()} == {len(kept)}
    if kept:
        part = binary.against_labels([a for a, _ in kept], [x for _, x in kept])
        assert {k: m.value for k, m in whole.items()} == {k: m.value for k, m in part.items()}
    else:
        assert all(m.value is None for m in whole.values())
    assert not any(m.value is not None and math.isnan(m.value) for m in whole.values())


def test_nothing_asked_is_none_and_not_an_error() -> None:
    assert set(binary.against_labels([], []).values()) == {Measured(None, 0, 0)}
    with pytest.raises(ValueError):
        binary.against_labels([YES], [])


def test_a_document_that_a_sentence_cites_twice_counts_once() -> None:
    twice = Sentence("s", (Citation("a"), Citation("a"), Citation("b")))
    measured = citation_precision(Response("q", "r", (twice,)), {(0, "a"): YES, (0, "b"): NO})
    assert (measured.value, measured.scored, measured.asked) == (0.5, 2, 2)
