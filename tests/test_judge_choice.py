"""Choosing a judge by accuracy and costs, and comparing its figures with earlier ones."""

from __future__ import annotations

from typing import Any

import pytest

from command import write_rows
from pnyx.audit.drift import CardFigure, compare_cards, compare_figures
from pnyx.audit.judge_choice import choose_joined, choose_judge, costs_of
from pnyx.audit.outcomes import outcomes_of, paired_interval
from pnyx.core.errors import InputError
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.verdicts import Verdict
from pnyx.models.chat.prices import Price
from pnyx.stats.base import Bootstrap

NO_DRAWS = Bootstrap(0)


def judged(
    name: str, *answers: tuple[Any, bool], chance: float | None = None, group: str = ""
) -> Any:
    """Return a judge's answers with labels; a yes has the probability `chance`, a no the rest."""
    pairs = []
    for number, (value, gold) in enumerate(answers):
        p = None if chance is None or value is None else chance if value else 1 - chance
        verdict = Verdict(id=f"i{number}", value=value, probability=p, judge=name, group=group)
        pairs.append(Pair(verdict, Gold(yes=gold, group=group)))
    return LabelledVerdicts("support", name, tuple(pairs))


def wrong_on(wrong: int, count: int = 1000) -> list[tuple[bool, bool]]:
    """Return answers of which `wrong` are wrong, spread over all of them."""
    step = count / wrong if wrong else 0
    errors = {int(number * step) // 2 * 2 + number % 2 for number in range(wrong)}
    return [((n % 2 == 0) != (n in errors), n % 2 == 0) for n in range(count)]


# -- The choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error"), [(10, 0.05), (40, 0.1), (80, 0.15), (120, 0.2), (180, 0.3), (400, None)]
)
def test_a_cascade_has_the_least_error_that_its_first_judge_keeps(wrong, error):
    """Of 1,000 answers, all equally certain, 1 % to 40 % are wrong.

    A threshold is taken if the share of errors on each side is shown to be small enough.
    """
    judges = {
        "cheap": judged("cheap", *wrong_on(wrong), chance=0.9),
        "dear": judged("dear", *wrong_on(0)),
    }
    costs = {"cheap": (0.001, 2.0), "dear": (0.01, 1.0)}
    chosen = choose_joined(judges, costs, margin=0.6, bootstrap=NO_DRAWS)
    if error is None:
        assert chosen.cascade is None
        return
    cascade = chosen.cascade
    assert cascade is not None
    assert (cascade.error, cascade.first_share) == (error, 1.0)
    assert (chosen.items, chosen.clusters) == (1000, 1000)
    assert cascade.usd == pytest.approx(0.001)
    assert cascade.seconds == pytest.approx(2.0)
    assert cascade.accuracy.value == pytest.approx(1 - wrong / 1000, abs=0.02)
    assert cascade.accuracy.asked == 500


def half_certain(count: int = 400) -> Any:
    """Return answers of which the second half is right, and the others state no probability."""
    certain = judged("cheap", *wrong_on(0, count), chance=0.95)
    pairs = [
        Pair(Verdict(id=pair.verdict.id, value=n % 4 < 2, judge="cheap"), pair.gold)
        if n % 2
        else pair
        for n, pair in enumerate(certain.pairs)
    ]
    return LabelledVerdicts("support", "cheap", tuple(pairs))


@pytest.mark.parametrize(("by", "choice"), [("dollars", "cheap, then dear"), ("seconds", "dear")])
def test_a_cascade_costs_the_first_judge_and_a_share_of_the_other(by, choice):
    """The first judge answers about half; the others of its answers are half wrong."""
    judges = {"cheap": half_certain(), "dear": judged("dear", *wrong_on(0, 400))}
    costs = {"cheap": (0.001, 2.0), "dear": (0.01, 1.0)}
    chosen = choose_joined(judges, costs, margin=0.1, by=by, bootstrap=NO_DRAWS)
    assert (chosen.choice, chosen.baseline, chosen.items) == (choice, "dear", 400)
    if by == "dollars":
        cascade = chosen.cascade
        share = cascade.first_share
        assert 0.4 < share < 0.6
        assert (cascade.name, cascade.error) == ("cheap, then dear", 0.05)
        assert cascade.usd == pytest.approx(0.001 + (1 - share) * 0.01)
        assert cascade.seconds == pytest.approx(2.0 + (1 - share) * 1.0)
        assert cascade.accuracy.value == 1.0
        assert [test.run for test in chosen.comparisons] == ["cheap", "cheap, then dear"]
        row = cascade.row()
        assert (row["kept"], row["first"], row["then"]) == (share, "cheap", "dear")
    else:
        assert chosen.cascade is None  # its last judge is the faster one


@pytest.mark.parametrize(("gap", "tried"), [(0.9e-12, False), (1.2e-12, True)])
def test_costs_that_hardly_differ_are_equal(gap, tried):
    judges = {"cheap": half_certain(), "dear": judged("dear", *wrong_on(0, 400))}
    costs = {"cheap": (1.0, None), "dear": (1.0 + gap, None)}
    chosen = choose_joined(judges, costs, margin=0.1, bootstrap=NO_DRAWS)
    assert (chosen.cascade is not None) is tried


def test_a_judge_whose_yes_is_less_likely_than_its_no_makes_no_cascade():
    judges = {
        "cheap": judged("cheap", *wrong_on(0, 400), chance=0.1),
        "dear": judged("dear", *wrong_on(0, 400)),
    }
    costs = {"cheap": (0.1, None), "dear": (1.0, None)}
    assert choose_joined(judges, costs, margin=0.1, bootstrap=NO_DRAWS).cascade is None


def test_the_cheapest_is_known_only_if_all_costs_are():
    judges = {name: judged(name, *wrong_on(n, 400)) for n, name in enumerate("abc")}

    def choice(*usd: float | None, **more: Any) -> str | None:
        costs = {name: (cost, None) for name, cost in zip("abc", usd, strict=True)}
        return choose_joined(judges, costs, margin=0.1, bootstrap=NO_DRAWS, **more).choice

    assert choice(3.0, 2.0, 1.0) == "c"
    assert choice(1.0, 1.0, 1.0) == "a"
    assert choice(3.0, None, 1.0) is None
    assert choice(0.0, 2.0, 1.0) == "a"
    worse = {**judges, "b": judged("b", *wrong_on(200, 400))}
    costs = {"a": (3.0, None), "b": (None, None), "c": (1.0, None)}
    assert choose_joined(worse, costs, margin=0.1, bootstrap=NO_DRAWS).choice == "c"
    chosen = choose_joined(judges, {}, margin=0.1, baseline="b", bootstrap=NO_DRAWS)
    assert (chosen.baseline, chosen.choice) == ("b", None)
    assert [test.run for test in chosen.comparisons] == ["a", "c"]
    assert str(chosen).endswith("Most accurate: b (costs are not known)")
    priced = choose_joined(judges, dict.fromkeys("abc", (1.0, 1.0)), margin=0.1, bootstrap=NO_DRAWS)
    assert str(priced).endswith("Cheapest that is good enough, within 0.10: a")
    assert str(priced).startswith("Accuracy of 3 judges on the same 400 labelled items")
    assert priced.rows()[1] == {
        "judge": "b", **priced.judges[1].measures["accuracy"].row(), "usd": 1.0, "seconds": 1.0,
    }  # fmt: skip


def test_only_items_that_all_judges_were_asked_about_count():
    short = judged("b", *wrong_on(0, 390))
    chosen = choose_joined(
        {"a": judged("a", *wrong_on(4, 400)), "b": short}, {}, bootstrap=NO_DRAWS
    )
    assert (chosen.items, chosen.left_out, chosen.baseline) == (390, 10, "b")
    unscored = judged("c", *[(None, True)] * 400)
    with pytest.raises(InputError, match="none of its labelled answers is scored"):
        choose_joined({"c": unscored, "d": unscored}, {}, bootstrap=NO_DRAWS)
    other = LabelledVerdicts("support", "x", (Pair(Verdict(id="x", value=True), Gold(yes=True)),))
    with pytest.raises(InputError, match="no labelled item in common"):
        choose_joined({"a": short, "x": other}, {}, bootstrap=NO_DRAWS)


def test_judges_of_other_tasks_are_refused(tmp_path):
    answers = [{"id": "x", "task": "quality", "dimension": "clarity", "value": 1, "judge": "j",
                "unscored": None}]  # fmt: skip
    rated = write_rows(tmp_path / "rated.jsonl", answers)
    labels = write_rows(tmp_path / "l.jsonl", [{"id": "x", "dimension": "clarity", "value": 1}])
    with pytest.raises(InputError, match="found quality, expected answers of yes and no"):
        choose_judge({"a": rated, "b": rated}, labels)


# -- Costs ----------------------------------------------------------------------------------------

TIMES = {"started": "2026-01-01T00:00:00", "finished": "2026-01-01T00:00:10"}
ASKED = {"counts": {"asked": 4}, **TIMES}
TOKENS = {"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 400}
PRICES = {"m": Price(10.0, 1.0, 100.0), "n": Price(1.0, 1.0, 1.0)}
DOLLARS = (600 * 10 + 400 * 1 + 100 * 100) / 1e6 / 4


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({}, (None, None)),
        ({"counts": {"asked": 0}}, (None, None)),
        (ASKED, (0.0, 2.5)),
        ({**ASKED, "kept": 2}, (0.0, None)),
        ({**ASKED, "models": [{"name": "m"}], "kept": 2}, (None, None)),
        ({**ASKED, "models": [{"name": "m"}], "store": {"from_store": 1}}, (None, None)),
        ({**ASKED, "models": [{"name": "m"}], "tokens": TOKENS}, (DOLLARS, 2.5)),
        ({**ASKED, "models": [{"name": "m"}] * 2, "tokens": TOKENS}, (DOLLARS, 2.5)),
        ({**ASKED, "models": [{"name": "m"}]}, (None, 2.5)),
        ({**ASKED, "models": [{"name": "m", "spent": {"cost_usd": 0.5}}, {"name": "n", "spent":
          {"cost_usd": 0.3}}], "tokens": TOKENS}, (0.2, 2.5)),
        ({**ASKED, "models": [{"name": "m", "spent": {"cost_usd": 0.5}}, {"name": "n"}],
          "tokens": TOKENS}, (None, 2.5)),
        ({**ASKED, "models": [{"name": "x", "spent": {"cost_usd": 0.5}}], "tokens": TOKENS},
         (0.125, 2.5)),
    ],
)  # fmt: skip
def test_what_an_answer_costs(manifest, expected):
    assert costs_of(manifest, PRICES) == pytest.approx(expected)


# -- Figures then and now -------------------------------------------------------------------------


def moved(then: CardFigure, now: CardFigure | None, margin: float = 0.1) -> Any:
    later = {} if now is None else {"f": now}
    (drift,) = compare_figures({"f": then}, later, margin, NO_DRAWS)
    return drift


def figure(value: float | None, off: float | None = 0.05, items: str = "a", sign: int = 1) -> Any:
    if value is None or off is None:
        return CardFigure(value, None, None, items, sign)
    return CardFigure(value, value - off, value + off, items, sign)


@pytest.mark.parametrize(
    ("then", "now", "verdict"),
    [
        (figure(0.9), figure(0.8), "same"),  # by the margin, not more
        (figure(0.9), figure(0.7999), "worse"),
        (figure(0.1, sign=-1), figure(0.2, sign=-1), "same"),
        (figure(0.1, sign=-1), figure(0.2001, sign=-1), "worse"),
        (figure(0.9), figure(0.7999, items="b"), "worse"),  # by 0.1 at least 0.1 - 0.0707 = 0.03
        (figure(0.9, 0.1), figure(0.7999, 0.1, "b"), "maybe worse"),  # 0.1 - 0.14 < 0
        (figure(0.9, None), figure(0.7, items="b"), "maybe worse"),
        (figure(0.9, None), figure(0.7), "worse"),
        (figure(0.7), figure(0.9, items="b"), "better"),
        (figure(0.8), figure(0.87), "same"),  # 0.07 - 0.0707 < 0
        (figure(0.8), figure(0.871), "better"),
        (figure(0.8, sign=-1), figure(0.729, sign=-1), "better"),
        (figure(0.9), None, "not measured"),
        (figure(None), figure(0.9), "not measured"),
        (figure(0.9, items=""), figure(0.7, 0.3, ""), "maybe worse"),  # items are unknown
    ],
)
def test_how_far_a_figure_may_move(then, now, verdict):
    drift = moved(then, now)
    assert drift.verdict == verdict
    assert drift.paired is False


def test_the_interval_of_a_change_is_that_of_two_independent_figures():
    """(0.8 - 0.9) ± hypot of the distances to the ends that count (Zou and Donner)."""
    then, now = CardFigure(0.9, 0.86, 0.93, "a", 1), CardFigure(0.8, 0.76, 0.88, "b", 1)
    drift = moved(then, now)
    assert drift.better == pytest.approx(-0.1)
    assert drift.low == pytest.approx(-0.1 - 0.05)  # 0.04 below now, 0.03 above then
    assert drift.high == pytest.approx(-0.1 + (0.08**2 + 0.04**2) ** 0.5)
    turned = moved(CardFigure(0.9, 0.86, 0.93, "a", -1), CardFigure(0.8, 0.76, 0.88, "b", -1))
    assert (turned.better, turned.low) == (pytest.approx(0.1), pytest.approx(-drift.high))
    assert turned.high == pytest.approx(0.15)
    assert (drift.same_items, moved(then, CardFigure(0.8, 0.7, 0.9, "a", 1)).same_items) == (
        False, True,
    )  # fmt: skip


def card(task: str = "support", scored: int = 80, **measures: float) -> dict[str, Any]:
    figures = {n: {"value": v, "low": v - 0.01, "high": v + 0.01} for n, v in measures.items()}
    asked = {"task": task, "items_sha256": "a", "counts": {"asked": 100, "scored": scored},
             "measures": figures}  # fmt: skip
    return {"format": "pnyx-card", "judge": "j", "asked": [asked], "trials": []}


@pytest.mark.parametrize(
    ("measure", "verdict"),
    [("f1", "better"), ("accuracy", "better"), ("average_precision", "better"),
     ("auroc", "better"), ("ece", "worse"), ("brier", "worse")],
)  # fmt: skip
def test_more_is_better_unless_it_is_an_error(measure, verdict):
    share, figure = compare_cards(card(**{measure: 0.4}), card(**{measure: 0.6}), 0.1)
    assert (share.name, share.then, share.verdict) == ("support: scored", 0.8, "same")
    assert (figure.name, figure.verdict) == (f"support: {measure}", verdict)


def test_shares_agreement_and_trials_are_compared():
    then, now = card(), card(scored=60)
    for row, value in ((then, 0.9), (now, 0.7)):
        alpha = {"value": value, "low": value - 0.05, "high": value + 0.05}
        compared = [
            {"kind": "human-judge", "between": ["j", "ann"], "mean": {"alpha_nominal": alpha}},
            {"kind": "human-human", "between": ["bob", "ann"], "mean": {"alpha_nominal": alpha}},
        ]
        row["asked"][0]["agreement"] = {"compared": compared}
        row["asked"][0]["calibration"] = {"measures": {"ece": alpha}}
        row["trials"] = [
            {"task": "support", "trial": trial, "items_sha256": "a", "outcome": "passed",
             "primary": "x", "measures": {"x": alpha}}
            for trial in ("noise", "order")
        ]  # fmt: skip
    verdicts = {drift.name: drift.verdict for drift in compare_cards(then, now, 0.1)}
    assert verdicts == {
        "support: scored": "worse",
        "support: alpha_nominal with ann": "worse",
        "support: ece": "better",
        "support, noise: x": "worse",
        "support, order: x": "better",  # a verdict that must stay: less change is better
    }


# -- Outcomes that are kept to pair them ----------------------------------------------------------


def test_outcomes_hold_labels_and_answers_but_no_ids():
    rows = judged("j", (True, True), (False, True), (None, False), chance=0.87654, group="q")
    outcomes = outcomes_of(rows)
    columns = {name: sorted(outcomes[name].split()) for name in ("label", "value", "probability")}
    assert columns == {
        "label": ["0", "1", "1"], "value": ["-", "0", "1"], "probability": ["-", "1235", "8765"],
    }  # fmt: skip
    assert outcomes["group"] == "0 0 0"
    alone = outcomes_of(judged("j", (True, True), (False, True)))
    assert alone["group"] == "0 1"
    assert alone["sha256"] != outcomes["sha256"]
    twice = LabelledVerdicts("support", "j", (rows.pairs[0], rows.pairs[0]))
    assert outcomes_of(twice) == {}
    assert outcomes_of(LabelledVerdicts("quality", "j", rows.pairs)) == {}
    assert outcomes_of(LabelledVerdicts("support", "j", ())) == {}


def outcome_row(
    value: str, label: str = "1 1 0 0", group: str = "0 1 2 3", **more: str
) -> dict[str, str]:
    return {"sha256": "s", "group": group, "label": label, "value": value,
            "probability": "9000 8000 2000 1000", **more}  # fmt: skip


def test_outcomes_on_the_same_items_are_paired():
    """Right on all, then on all but one; F1 falls from 1 to 2 / 3."""
    then, now = outcome_row("1 1 0 0"), outcome_row("1 0 0 0")
    change, low, high = paired_interval(then, now, "accuracy", NO_DRAWS)
    assert change == -0.25
    assert low < -0.25 < high
    assert paired_interval(then, now, "f1", NO_DRAWS) is None  # nothing is drawn
    change, *_ = paired_interval(then, now, "f1", Bootstrap(20))
    assert change == pytest.approx(-1 / 3)
    change, *_ = paired_interval(
        outcome_row("1 - 0 0"), outcome_row("1 0 0 1"), "accuracy", NO_DRAWS
    )
    assert change == pytest.approx(-1 / 3)  # of the three scored both times
    later = outcome_row("1 1 0 0", probability="8000 9000 2000 1000")
    change, *_ = paired_interval(then, later, "brier", Bootstrap(20))
    assert change == pytest.approx(0.0)
    less = outcome_row("1 1 0 0", probability="5000 8000 2000 1000")
    change, *_ = paired_interval(then, less, "brier", Bootstrap(20))
    assert change == pytest.approx((0.25 - 0.01) / 4)
    for other in ({}, {**now, "sha256": "t"}):
        assert paired_interval(then, other, "accuracy", NO_DRAWS) is None
    assert paired_interval({}, {}, "accuracy", NO_DRAWS) is None
    single_group = {"group": "0 0 0 0"}
    assert (
        paired_interval(
            outcome_row("1 1 0 0", **single_group),
            outcome_row("1 0 0 0", **single_group),
            "accuracy",
            NO_DRAWS,
        )
        is None
    )
    nothing = outcome_row("- - - -")
    assert paired_interval(nothing, nothing, "accuracy", NO_DRAWS) is None


def test_a_paired_error_is_better_if_it_falls():
    then = CardFigure(
        0.05, 0.01, 0.1, "a", -1, "brier", outcome_row("1 1 0 0", probability="5000 8000 2000 1000")
    )
    now = CardFigure(0.02, 0.01, 0.1, "b", -1, "brier", outcome_row("1 1 0 0"))
    (drift,) = compare_figures({"f": then}, {"f": now}, 0.01, Bootstrap(200))
    assert (drift.paired, drift.same_items) == (True, True)
    assert drift.better == pytest.approx(0.06)
    assert drift.low <= drift.better <= drift.high
    (back,) = compare_figures({"f": now}, {"f": then}, 0.01, Bootstrap(200))
    assert (back.verdict, back.better) == ("worse", pytest.approx(-0.06))


def test_judges_that_scored_no_item_in_common_are_not_compared():
    half = [(True, True)] * 10
    judges = {
        "a": judged("a", *half, *[(None, True)] * 10),
        "b": judged("b", *[(None, True)] * 10, *half),
    }
    chosen = choose_joined(judges, {}, bootstrap=NO_DRAWS)
    (tested,) = chosen.comparisons
    assert (tested.test.difference, tested.low, tested.against) == (None, None, None)
    assert not tested.good_enough
