"""Figures on a judge's biases and on people, from items that are counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pnyx.audit.checks.alternative import _discoveries, _p_less, alternative_annotator_test
from pnyx.audit.checks.biases import (
    annotator_agreement,
    consensus_parts,
    length_bias,
    measure_biases,
)
from pnyx.audit.checks.check import check, compare_people
from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.audit.checks.labelled_rows import cluster_numbers, join_items, settled_label
from pnyx.core.errors import InputError
from pnyx.stats.base import Bootstrap

NO_DRAWS = Bootstrap(0)


def table(
    *rows: tuple[Any, ...], kind: Any = "yes-no", group: Any = None, **texts: Any
) -> CheckItems:
    """Return items of rows: the verdict, then the labels of ann, bob and so on."""
    people = ("ann", "bob", "cy", "di")[: len(rows[0]) - 1]
    items = [
        CheckItem(
            f"i{n}",
            "" if group is None else group(n),
            n + 1,
            {"judge": verdict},
            dict(zip(people, labels, strict=True)),
            texts={name: text(n) for name, text in texts.items()},
        )
        for n, (verdict, *labels) in enumerate(rows)
    ]
    return CheckItems(items, kind, ("judge",), people)


def test_each_person_alone():
    """ann labels 22 items, of which 20 are scored and 15 right; bob 21 and cy 19."""
    rows = [
        (None if n > 19 else n < 15 or n == 17, True, n != 21, n < 19 or None) for n in range(22)
    ]
    rows[0] = (True, True, None, True)
    ann, bob, cy = annotator_agreement(table(*rows), "judge", bootstrap=NO_DRAWS)
    assert (ann.accuracy.value, ann.accuracy.scored, ann.accuracy.asked) == (0.8, 20, 22)
    assert (ann.others.value, ann.others.scored) == (21 / 22, 22)
    assert bob.no_figure == "19 items in common, and a figure needs 20"
    assert (bob.accuracy.scored, bob.accuracy.asked) == (19, 21)
    assert cy.no_figure == "19 items in common, and a figure needs 20"
    assert annotator_agreement(table(*[(True, True)] * 22), "judge", bootstrap=NO_DRAWS) == ()


def test_items_on_which_people_agree_and_are_split():
    """Of 24 unanimous items 3 are wrong; of 23 split ones 1 is tied, and 2 of 22 are wrong."""
    rows = [(n > 2, True, True, True) for n in range(24)]
    rows += [(n > 1, True, True, False) for n in range(22)]
    rows += [(True, True, False, None), (True, True, None, None)]
    unanimous, split = consensus_parts(table(*rows), "judge", bootstrap=NO_DRAWS)
    assert (unanimous.value.value, unanimous.right, unanimous.tied) == (21 / 24, 21, 0)
    assert (split.value.value, split.right, split.tied) == (20 / 22, 20, 1)
    assert (split.value.scored, split.value.asked) == (22, 22)
    few = consensus_parts(table(*rows[5:]), "judge", bootstrap=NO_DRAWS)[0]
    assert few.no_figure == "19 items, and a figure needs 20"
    assert consensus_parts(table(*[(True, True)] * 30), "judge", bootstrap=NO_DRAWS) == ()


def test_ratings_on_which_people_agree_and_are_split():
    rows = [(2.0, 2.0, 2.0)] * 20 + [(2.0, 3.0, 4.0)] * 20
    parts = consensus_parts(table(*rows, kind="rating"), "judge", bootstrap=NO_DRAWS)
    assert [(p.name, p.value.value, p.right) for p in parts] == [
        ("unanimous", 0.0, None), ("split", 1.5, None),
    ]  # fmt: skip


def test_longer_texts():
    """Of 20 longer texts the judge passes 15 and people 10; of 20 others 8 and 10."""
    rows = [(n % 20 < (15 if n < 20 else 8), n % 2 == 0) for n in range(40)]
    items = table(*rows, answer=lambda n: "word " * (9 if n < 20 else 3), note=lambda _: "n" * 99)
    bias = length_bias(items, "judge", bootstrap=NO_DRAWS)
    assert (bias.column, bias.words, bias.no_figure) == ("answer", 6.0, "")
    assert (bias.longer.value, bias.shorter.value) == (0.25, pytest.approx(-0.1))
    assert bias.difference.value == pytest.approx(0.35)
    assert (bias.judge_yes, bias.people_yes) == ((15, 8), (10, 10))
    assert bias.shown is None
    rated = table(*[(float(a), float(b)) for a, b in rows], kind="rating",
                  text=lambda n: "word " * (9 if n < 20 else 3))  # fmt: skip
    bias = length_bias(rated, "judge", bootstrap=NO_DRAWS)
    assert (bias.judge_yes, bias.people_yes, bias.longer.value) == (None, None, 0.25)
    assert (bias.column, bias.difference.asked) == ("text", 40)


def test_a_length_bias_needs_texts_of_labelled_items():
    rows = [(True, None)] * 9 + [(True, True)] * 41
    bare = length_bias(table(*rows), "judge", bootstrap=NO_DRAWS)
    assert (bare.column, bare.no_figure) == ("", "the table has no texts")
    items = table(*rows, other=lambda n: "short" if n else "a longer text")
    few = length_bias(items, "judge", bootstrap=NO_DRAWS)
    assert few.no_figure == "0 of 41 texts are longer, and a figure needs 20 of each"
    unlabelled = table(*[(True, None)] * 3, text=lambda _: "word")
    none = length_bias(unlabelled, "judge", bootstrap=NO_DRAWS)
    assert none.no_figure == "no labelled row has a text in text"
    longest = table(*rows, a=lambda _: "xx", b=lambda _: "xxx")
    assert length_bias(longest, "judge", bootstrap=NO_DRAWS).column == "b"


@pytest.mark.parametrize("favoured", ["longer", "shorter"])
def test_the_interval_of_a_difference_is_between_minus_two_and_two(favoured):
    """The judge says yes to all texts of one length only, people to all others but one."""
    rows = [(n < 30, n >= 30) for n in range(60)]
    rows[0] = (True, True)
    long = favoured == "longer"
    items = table(*rows, answer=lambda n: "word " * (9 if (n < 30) == long else 3))
    difference = length_bias(items, "judge", bootstrap=Bootstrap(200)).difference
    value, ends = difference.value, (difference.low, difference.high)
    sign = 1 if long else -1
    assert value == pytest.approx(sign * (29 / 30 + 1))
    nearest, farthest = sorted(abs(end) for end in ends)
    assert 1.7 < nearest < abs(value) < farthest <= 2.0


def test_measures_of_all_biases_are_of_one_judge():
    rows = [(True, True, n % 2 == 0) for n in range(24)]
    biases = measure_biases(table(*rows), "judge", bootstrap=NO_DRAWS)
    assert [part.name for part in biases.consensus] == ["unanimous", "split"]
    assert [person.name for person in biases.annotators] == ["ann", "bob"]
    with pytest.raises(InputError, match="no column of verdicts is called 'x': expected judge"):
        measure_biases(table(*rows), "x")


# -- The alternative annotator test ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "clusters", "p"),
    [
        ([-1.0, -1.0], [0, 1], 0.0),  # no spread, below 0
        ([1.0, 1.0], [0, 1], 1.0),
        ([0.0, 0.0], [0, 1], 1.0),
        ([-1.0, 1.0], [0, 1], 0.5),
        ([0.0, -1.0, -2.0], [0, 1, 2], 0.1127),  # t = -1.732 with 2 degrees of freedom
        ([0.0, 0.0, -2.0, -2.0], [0, 0, 1, 1], 0.25),  # t = -1 with 1
    ],
)
def test_a_one_sided_t_test_over_groups(values, clusters, p):
    assert _p_less(np.array(values), np.array(clusters)) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("p_values", "significant"),
    [
        ([0.05], [True]),
        ([0.0501], [False]),
        ([0.0166, None, 0.9], [True, False, False]),  # of two, the least: 0.05 / 2 / 1.5
        ([0.0167, None, 0.9], [False, False, False]),
        ([], []),
    ],
)
def test_the_correction_for_several_tests(p_values, significant):
    assert _discoveries(p_values) == significant


def test_the_greatest_small_p_takes_the_smaller_ones_along():
    """0.05 / 1.5 = 0.0333 is enough for the second of two, and then for the first, too."""
    assert _discoveries([0.033, 0.02]) == [True, True]
    assert _discoveries([0.034, 0.02]) == [False, False]


def test_an_annotator_and_the_judge_are_compared_by_the_others():
    """ann and the judge agree with 2, 1 or 0 of two others; 30 items, of which one has no label."""
    rows = [(True, n < 15, True, n < 25) for n in range(30)]
    rows.append((True, None, True, True))
    rows.append((None, True, True, True))
    test = alternative_annotator_test(table(*rows), "judge")
    ann = test.annotators[0]
    assert (ann.items, ann.clusters) == (30, 30)
    assert (ann.judge_as_good, ann.annotator_as_good) == (1.0, pytest.approx(20 / 30))
    assert test.tested == 3
    assert test.advantage == pytest.approx(
        sum(a.judge_as_good for a in test.annotators if a.judge_as_good is not None) / 3
    )


# -- Rows and groups ------------------------------------------------------------------------------


def test_items_without_a_group_are_alone():
    items = table(*[(True, True)] * 5, group=lambda n: "ab"[n] if n < 2 else "a" if n < 4 else "")
    assert cluster_numbers(items.items).tolist() == [0, 1, 0, 0, 2]
    other = CheckItem("a", "", 9, {}, {})
    assert cluster_numbers([*items.items, other]).tolist() == [0, 1, 0, 0, 2, 3]


def test_labels_of_several_people_are_settled():
    items, ratings = table((True, True)), table((1.0, 1.0), kind="rating")
    assert [settled_label(votes, items) for votes in ([True, True, False], [True, False], [])] == [
        True, None, None,
    ]  # fmt: skip
    assert settled_label([1.0, 2.0, 4.5], ratings) == 2.5
    assert settled_label([], ratings) is None
    rows = [(True, True, False), (False, True, True), (True, None, None), (None, False, False)]
    joined = join_items(table(*rows), "judge")
    assert (len(joined.pairs), joined.tied, joined.answers_without_label) == (2, 1, 1)
    assert joined.unlabelled.total() == 2
    assert [pair.verdict.unscored for pair in joined.pairs] == ["", "no verdict"]
    with pytest.raises(InputError, match="no row has a label that is not tied"):
        join_items(table((True, True, False)), "judge")


def test_disagreements_begin_with_the_most_confident():
    items = [
        CheckItem(str(n), "", n, {"judge": verdict}, {"ann": not verdict if n else verdict},
                  {} if p is None else {"judge": p})
        for n, (verdict, p) in enumerate(
            [(True, 0.99), (True, 0.6), (False, 0.1), (True, None), (False, 0.4), (True, 0.9)]
        )
    ]  # fmt: skip
    checked = check(CheckItems(items, "yes-no", ("judge",), ("ann",)), bootstrap=NO_DRAWS)
    (judge,) = checked.judges
    assert [(row.item.line, row.confidence) for row in judge.disagreements] == [
        (2, 0.9), (5, 0.9), (1, 0.6), (4, 0.6), (3, None),
    ]  # fmt: skip
    rated = table((1.0, 3.0), (4.0, 4.0), (5.0, 1.0), (3.0, 1.0), kind="rating")
    (judge,) = check(rated, bootstrap=NO_DRAWS).judges
    assert [row.item.line for row in judge.disagreements] == [3, 1, 4]


def test_precision_and_npv_are_of_the_judges_answers():
    rows = [(True, True)] * 3 + [(True, False)] + [(False, False)] * 4 + [(False, True)] * 2
    (judge,) = check(table(*rows), bootstrap=NO_DRAWS).judges
    values = {name: judge.figures[name].value for name in ("precision", "npv", "sensitivity")}
    assert values == {"precision": 0.75, "npv": pytest.approx(4 / 6), "sensitivity": 0.6}
    assert judge.figures["precision"].asked == 4
    assert judge.alternative is None


def test_people_are_compared_if_an_item_has_two_labels():
    assert compare_people(table((True, True, None), (True, None, True)), NO_DRAWS) == []
    both = compare_people(table((True, True, True), (False, None, True)), NO_DRAWS)
    assert [compared.names for compared in both][1:] == [
        ("judge", "ann"), ("judge", "bob"), ("ann", "bob"),
    ]  # fmt: skip
