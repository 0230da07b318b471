"""Agreement of raters: equal to the krippendorff package and to the book's worked example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.judging import join_labels, measure_agreement, measure_raters
from pnyx.stats import krippendorff_alpha
from pnyx.stats.base import Bootstrap
from raters_fixture import alpha_by_coincidences

LEVELS = ["nominal", "ordinal", "interval"]
NAN = float("nan")
BOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
"""Four raters, twelve units (Krippendorff, Content Analysis, 2004, p. 230)."""
TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([NAN, 0.0, 1.0, 1.5, 2.0, 3.0]), min_size=raters, max_size=raters),
        min_size=1,
        max_size=20,
    )
)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_the_worked_example_of_the_book(level, published):
    assert krippendorff_alpha(BOOK, level) == pytest.approx(published, abs=0.0006)


@given(TABLES)
def test_alpha_of_any_table_is_the_books_definition(units):
    table = np.array(units).T
    for level in LEVELS:
        expected = alpha_by_coincidences(table, level)
        found = krippendorff_alpha(table, level)
        assert (found is None) == (expected is None)
        assert found == pytest.approx(expected, abs=1e-9)


@given(TABLES)
def test_alpha_of_any_table_is_the_packages(units):
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    table = np.array(units).T
    rated = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    for level in LEVELS:
        found = krippendorff_alpha(table, level)
        if len(set(rated[~np.isnan(rated)].tolist())) < 2:
            assert found is None
        else:
            theirs = krippendorff.alpha(reliability_data=rated, level_of_measurement=level)
            assert found == pytest.approx(theirs, abs=1e-9)


def test_undefined_is_none_and_bad_tables_are_refused():
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None
    assert krippendorff_alpha([[1, None], [None, 1]], "nominal") is None
    assert krippendorff_alpha([], "nominal") is None
    with pytest.raises(ValueError, match="different lengths"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(ValueError, match="level"):
        krippendorff_alpha([[1, 2]], "ratio")


@pytest.mark.parametrize("wrong", [0, 1, 3, 20])
def test_agreement_and_measure_say_the_same_of_one_judge(wrong):
    """Of answers all right as of all wrong, too, where the draws are all equal."""
    labels = [{"id": f"i{k}", "value": k % 4 == 0} for k in range(20)]
    asked = {"task": "support", "judge": "j", "unscored": None}
    answers = [
        {**one, **asked, "value": one["value"] ^ (k < wrong)} for k, one in enumerate(labels)
    ]
    support = measure_agreement(join_labels(answers, labels, "support")).measures
    raters = measure_raters(answers, [labels]).compared[0].mean
    for name in ("accuracy", "kappa", "alpha_nominal"):
        assert raters[name] == support[name]
    assert raters["kappa"] == raters["alpha_nominal"] or wrong


def test_preferences_are_compared_and_rankings_refused():
    def answers(*values):
        return [{"id": f"i{n}", "task": "preference", "judge": "j", "value": v, "unscored": None}
                for n, v in enumerate(values)]  # fmt: skip

    people = [{"id": f"i{n}", "value": v} for n, v in enumerate("aab")]
    (found,) = measure_raters(answers("a", "tie", "b"), [people], names=["ann"]).compared
    assert found.names == ("j", "ann")
    assert found.mean["accuracy"].value == pytest.approx(2 / 3)
    with pytest.raises(InputError, match=r"value: found \[0, 1\], expected yes or no"):
        measure_raters(answers([0, 1]), [people])


@pytest.mark.parametrize(
    ("labels", "accuracy"),
    [
        # The first item's majority is yes, the second's no; a tie between two people is no label.
        ({"0": (True, True, False), "1": (True, False, False), "2": (True, False)}, 1.0),
        # The means are 2/3, 1/3 and 1/2: none is 0 or 1.
        ({"0": (1, 1, 0), "1": (1, 0, 0), "2": (1, 0)}, 0.0),
    ],
)
def test_several_peoples_verdicts_count_by_majority_and_their_numbers_by_the_mean(labels, accuracy):
    asked = {"task": "support", "judge": "j", "unscored": None}
    answers = [{"id": item, **asked, "value": item == "0"} for item in labels]
    rows = [
        {"id": item, "value": value, "annotator": f"p{number}"}
        for item, values in labels.items()
        for number, value in enumerate(values)
    ]
    compared = measure_raters(answers, [rows], bootstrap=Bootstrap(draws=0)).compared[0]
    assert compared.mean["accuracy"].value == accuracy


def test_no_answer_with_a_label_is_an_error():
    with pytest.raises(InputError, match="no answer of 'j' has a label in labels 1"):
        measure_raters(
            [{"id": "a", "task": "support", "value": True, "judge": "j", "unscored": None}],
            [[{"id": "b", "value": True}]],
        )
