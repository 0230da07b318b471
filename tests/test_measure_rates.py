"""Corrected shares of yes: by hand, through the command line, and by simulation."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from command import called, write_rows
from pnyx.judging import corrected_rate, join_labels
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.verdicts import Verdict
from pnyx.stats import Bootstrap
from pnyx.stats.distributions import student_quantile

LABELLED = [(True, True)] * 4 + [(True, False)] + [(False, True)] * 2 + [(False, False)] * 5
"""What people and the judge say: sensitivity 4/5, specificity 5/7."""


def files(folder, labelled=LABELLED, further=(12, 16), unscored=0, group=None):
    says = [judge for _, judge in labelled] + [True] * further[0] + [False] * further[1]
    rows = [
        {"id": f"i{n}", "task": "support", "value": value, "judge": "j", "group": group}
        | {"unscored": "refused" if value is None else None, "probability": None}
        for n, value in enumerate([*says, *[None] * unscored])
    ]
    labels = [{"id": f"i{n}", "value": people} for n, (people, _) in enumerate(labelled)]
    return write_rows(folder / "a.jsonl", rows), write_rows(folder / "l.jsonl", labels)


def test_by_hand_through_the_command_line(tmp_path, capsys):
    answers, labels = files(tmp_path)
    code, out, _ = called(capsys, "measure", answers, "--labels", labels, "--json")
    rate = json.loads(out)["rate"]
    assert code == 0
    # The judge says yes to 6 of the 12 labelled and 12 of the 28 others: 18 / 40 = .45.
    assert rate["judged"]["value"] == pytest.approx(0.45)
    assert (rate["judged"]["low"], rate["judged"]["scored"]) == (None, 40)
    assert rate["people"]["value"] == pytest.approx(5 / 12)
    assert rate["sensitivity"]["value"] == pytest.approx(4 / 5)
    assert rate["specificity"]["value"] == pytest.approx(5 / 7)
    # (.45 + 5/7 - 1) / (4/5 + 5/7 - 1) = (.45 - 2/7) / (18/35)
    expected = (0.45 - 2 / 7) / (18 / 35)
    assert rate["rogan_gladen"]["value"] == pytest.approx(expected)
    assert (rate["rogan_gladen"]["scored"], rate["rogan_gladen"]["asked"]) == (12, 40)
    # lambda = Cov / ((1 + 12/28) Var): the mean of products 4/12 - 5/12 * 6/12 = 1/8; Var of all 40
    # answers is .45 * .55 * 40/39. The others' mean is 12/28, that of the labelled 1/2.
    trust = 0.125 / ((1 + 12 / 28) * 0.45 * 0.55 * 40 / 39)
    powered = 5 / 12 + trust * (12 / 28 - 1 / 2)
    assert rate["prediction_powered"]["value"] == pytest.approx(powered)
    # Its interval: of 6 yes 4 are right, of 6 no 1 is wrong; with half a yes and half a no each
    # 4.5/7 and 1.5/7, whose variances are p (1 - p) / 7; Wilson's, t of 10 degrees of freedom.
    yes, no = 4.5 / 7, 1.5 / 7
    middle = 0.45 * yes + 0.55 * no
    variance = 0.45**2 * yes * (1 - yes) / 7 + 0.55**2 * no * (1 - no) / 7
    variance += (yes - no) ** 2 * 0.45 * 0.55 / 40
    units, t = middle * (1 - middle) / variance, student_quantile(10, 0.975)
    centre = (powered + t * t / 2 / units) / (1 + t * t / units)
    half = t / (1 + t * t / units)
    half *= (powered * (1 - powered) / units + t * t / 4 / units**2) ** 0.5
    assert rate["prediction_powered"]["low"] == pytest.approx(centre - half)
    assert rate["prediction_powered"]["high"] == pytest.approx(centre + half)
    low, high = rate["rogan_gladen"]["low"], rate["rogan_gladen"]["high"]
    assert 0 <= low < expected < high <= 1


def test_the_interval_of_rogan_and_gladen_is_fiellers(tmp_path):
    """At both ends the squared distance is Student's quantile times the standard error."""
    labelled = [pair for pair in LABELLED for _ in range(8)]
    rate = corrected_rate(join_labels(*files(tmp_path, labelled, (120, 160)), "support"))
    share, a, b = (48 + 120) / 376, 40 / 376, 56 / 376
    (hits, alarms), (of_hits, of_alarms) = (32.5 / 41, 16.5 / 57), (41, 57)
    pi = 40.5 / 97
    known = (a + b) ** 2 * (hits - alarms) ** 2 * pi * (1 - pi) / 97
    known += (280 / 376) ** 2 * share * (1 - share) / 280
    for end in (rate.rogan_gladen.low, rate.rogan_gladen.high):
        distance = share - end * hits - (1 - end) * alarms
        variance = known + (a - end) ** 2 * hits * (1 - hits) / of_hits
        variance += (b - (1 - end)) ** 2 * alarms * (1 - alarms) / of_alarms
        t = student_quantile(94, 0.975)
        assert distance**2 == pytest.approx(t * t * variance)


def test_unscored_answers_are_left_out_counted_and_told(tmp_path, capsys):
    answers, labels = files(tmp_path, unscored=3)
    code, out, err = called(capsys, "measure", answers, "--labels", labels)
    assert code == 0  # all labelled answers are scored
    assert "3 of 43 answers are unscored and excluded" in err
    assert "40 of 43" in out
    assert "the labelled answers must be a random sample" in " ".join(out.split())


@pytest.mark.parametrize(
    ("labelled", "why"),
    [
        ([(True, True)] * 9, "labels are all alike"),
        ([(True, True), (True, False), (False, True)] * 3, "the judge is no better than chance"),
    ],
)
def test_no_estimate_by_a_judge_that_cannot_tell(tmp_path, capsys, labelled, why):
    answers, labels = files(tmp_path, labelled)
    _, out, err = called(capsys, "measure", answers, "--labels", labels, "--json")
    rate = json.loads(out)["rate"]
    assert rate["rogan_gladen"]["value"] is None
    assert f"no Rogan-Gladen estimate: {why}" in err
    assert rate["prediction_powered"]["value"] is not None


def test_check_gives_the_same_rate(tmp_path, capsys):
    answers, labels = files(tmp_path, unscored=3, group="g")
    _, out, _ = called(capsys, "measure", answers, "--labels", labels, "--json")
    status, checked, _ = called(capsys, "check", answers, "--labels", labels, "--json")
    assert status == 0
    assert json.loads(checked)["judges"][0]["rate"] == json.loads(out)["rate"]
    _, words, _ = called(capsys, "check", answers, "--labels", labels)
    assert "3 of 43 verdicts are unscored" in words


def test_without_unlabelled_answers_there_is_nothing_to_correct(tmp_path, capsys):
    answers, labels = files(tmp_path, further=(0, 0))
    _, out, _ = called(capsys, "measure", answers, "--labels", labels, "--json")
    assert "rate" not in json.loads(out)


def test_the_former_option_says_when_the_rate_is_given(tmp_path, capsys):
    answers, labels = files(tmp_path)
    status, out, err = called(capsys, "measure", answers, "--labels", labels, "--rates")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--rates was removed: the corrected share of yes is reported" in err


def test_with_all_labels_both_are_what_people_say(tmp_path):
    rate = corrected_rate(join_labels(*files(tmp_path, further=(0, 0)), "support"))
    assert rate.rogan_gladen.value == pytest.approx(5 / 12)
    assert rate.prediction_powered.value == pytest.approx(5 / 12)


def test_answers_alike_within_groups_widen_the_intervals():
    def joined(size: int) -> LabelledVerdicts:
        pairs = tuple(
            Pair(
                Verdict(id=f"{n}", value=n % 8 < 4, line=n), Gold(n % 8 < 4, group=f"g{n // size}")
            )
            for n in range(80)
        )
        others = Counter({(f"g{n}", n % 2 == 0): 4 for n in range(20)})
        return LabelledVerdicts("support", "j", pairs, unlabelled=others)

    alike, mixed = (corrected_rate(joined(size)).prediction_powered for size in (4, 8))
    assert alike.high - alike.low > 1.5 * (mixed.high - mixed.low)


def test_without_draws_there_are_no_intervals(tmp_path):
    rate = corrected_rate(join_labels(*files(tmp_path), "support"), bootstrap=Bootstrap(0))
    assert all(row["low"] is None and row["value"] is not None for row in rate.rows())


@pytest.mark.all
def test_intervals_hold_the_truth_of_a_judge_who_errs():
    """Of 600 samples of 25 labels; docs/lab/corrected-rates.md has more."""
    held = np.zeros(2)
    for seed in range(600):
        rng = np.random.default_rng(seed)
        people = rng.random(300) < 0.3
        judge = np.where(people, rng.random(300) < 0.8, rng.random(300) < 0.1)
        both = zip(people[:25].tolist(), judge[:25].tolist(), strict=True)
        pairs = tuple(
            Pair(Verdict(id=f"{n}", value=j, line=n), Gold(p)) for n, (p, j) in enumerate(both)
        )
        others = Counter(("", value) for value in judge[25:].tolist())
        rate = corrected_rate(
            LabelledVerdicts("support", "j", pairs, unlabelled=others), bootstrap=Bootstrap(2)
        )
        for place, one in enumerate((rate.rogan_gladen, rate.prediction_powered)):
            held[place] += one.value is None or one.low <= 0.3 <= one.high
    assert (held / 600 > 0.93).all()
