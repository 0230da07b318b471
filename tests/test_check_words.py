"""What `pnyx check` says in words about figures that are given, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import pnyx
from pnyx.audit.checks.bars import DecidedBar
from pnyx.audit.checks.biases import AnnotatorAgreement, ConsensusPart, LengthBias
from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.pairs import check_pairs
from pnyx.audit.checks.plan import LabelCandidate, LabelGoal, LabelPlan, plan_labels
from pnyx.audit.checks.summary import _bar
from pnyx.audit.display.check import check_sections
from pnyx.audit.display.check_biases import (
    annotator_sentences,
    consensus_sentences,
    length_sentences,
)
from pnyx.audit.display.check_pairs import pair_sentences
from pnyx.audit.display.check_plan import plan_parts
from pnyx.audit.display.judges import judge_notes, judges_html
from pnyx.core.errors import InputError
from pnyx.stats.base import Bootstrap, Measured
from test_check_several import BASE, rows

KAPPA = Measured(0.5, 40, 40, 0.3, 0.7)
NONE = Measured(None, 0, 40)


# -- The summary ----------------------------------------------------------------------------------


def test_the_whole_summary_of_one_judge():
    """Of 80 answers in 20 questions 6 are wrong, one is unscored and 4 have no label."""
    words = {"yes": "pass", "no": "fail"}
    table = [
        {
            **row,
            "a": words[row["a"]] if n else "error: timeout",
            "label": words[row["label"]] if n < 76 else "",
            "answer": "word " * (5 if n % 2 else 9),
        }
        for n, row in enumerate(rows(80, a=6))
    ]
    assert str(pnyx.check(table, judge="a", human="label", group="question")).splitlines() == [
        "Of 38 answers that people passed, the judge passed 35 (92 %, 95 % interval 79 to 97 %).",
        "Of 37 that people failed, it failed 35 (95 %, 81 to 99 %).",
        "Not trustworthy yet: kappa 0.87 (0.71 to 0.94, 20 questions), at least 0.6; 1 labelled "
        "answer",
        "unscored.",
        "Its rate of 49 % passes is corrected to 51 % (29 to 72 %).",
        "The judge favours longer texts (answer above 5 words) more than people do: +13 points, "
        "+2 to +24.",
        "",
        "measure    value      interval   answers",
        "accuracy    0.93  0.86 to 0.97  75 of 76",
        "kappa       0.87  0.71 to 0.94  75 of 76",
        "f1          0.93  0.83 to 0.97  75 of 76",
        "precision   0.95  0.75 to 0.99        37",
        "npv         0.92  0.72 to 0.98        38",
        "",
        "pass counts as yes; fail counts as no",
        "a: 1 of 80 verdicts are unscored (1 'error: timeout', line 1)",
        "1 of 76 labelled answers are unscored: 1 error",
        "4 answers have no label",
    ]


def test_the_whole_summary_of_ratings():
    table = [
        {"id": str(n), "item": f"q{n % 20}", "verdict": 1 + n % 5,
         "label": 1 + (n + (n % 7 == 0)) % 5}
        for n in range(70)
    ]  # fmt: skip
    assert str(pnyx.check(table, judge="verdict", human="label", group="item")).splitlines() == [
        "Of 70 ratings of people, the judge gave the same 60 times (86 %, 78 to 91 %).",
        "On average, it differs from people by 0.23 (0.09 to 0.40).",
        "Not trustworthy yet: alpha_ordinal 0.86 (0.64 to 0.95, 20 items), the interval lies on "
        "both sides of",
        "0.667.",
        "",
        "measure              value      interval  answers",
        "accuracy              0.86  0.78 to 0.91       70",
        "kappa                 0.82  0.72 to 0.89       70",
        "alpha_ordinal         0.86  0.64 to 0.95       70",
        "spearman              0.86  0.63 to 0.95       70",
        "mean_absolute_error   0.23  0.09 to 0.40       70",
    ]


def two_judges(**more: Any) -> Any:
    """Return a check of two judges by two people, of whom one says no to the first five items."""
    table = [
        {**row, "second": row["label"] if n > 4 else "no"}
        for n, row in enumerate(rows(80, a=6, b=20))
    ]  # fmt: skip
    return pnyx.check(table, judge=["a", "b"], human=["label", "second"], group="question", **more)


def test_the_whole_summary_of_two_judges_and_two_people():
    assert str(two_judges(bars={"kappa": 0.6})).splitlines() == [
        "a: above the bar: kappa 0.90 (0.74 to 0.96, 20 questions), at least 0.6.",
        "b: cannot tell yet: kappa 0.54 (0.46 to 0.61, 20 questions), the interval lies on both "
        "sides of 0.6.",
        "b against a: -0.179 accuracy (p 0.000122, Holm), less accurate.",
        "Most accurate: a. Costs are not known (--cost COLUMN for each judge).",
        "People's agreement with each other: alpha 0.95 (0.81 to 0.99, 2 people); a's with people: "
        "0.90; b's",
        "with people: 0.54.",
        "",
        "judge           accuracy              kappa        sensitivity"
        "        specificity  answers",
        "a      0.95 0.88 to 0.98  0.90 0.74 to 0.96  0.97 0.85 to 1.00"
        "  0.93 0.79 to 0.98       78",
        "b      0.77 0.74 to 0.80  0.54 0.46 to 0.61  0.79 0.72 to 0.85"
        "               0.75       78",
        "",
        "2 items are tied between people and left out",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "verdict", "words"),
    [
        ("ece", "above", "at most 0.2"),
        ("ece", "below", "above 0.2"),
        ("kappa", "above", "at least 0.2"),
        ("kappa", "below", "below 0.2"),
    ],
)
def test_the_words_of_a_bar(measure, verdict, words):
    check = two_judges()
    bar = DecidedBar("a", measure, 0.2, KAPPA, verdict)
    expected = f"{measure} 0.50 (0.30 to 0.70, 20 questions), {words}"
    assert _bar(check, bar, check.judges[0]) == expected


# -- The page of several judges -------------------------------------------------------------------


def test_the_page_says_which_judge_to_take_and_what_moved():
    before = two_judges().row()
    table = [{**row, "x": 0.001, "y": 0.002} for row in rows(80, a=6, b=20)]
    named: dict[str, Any] = {"judge": ["a", "b"], "human": "label", "group": "question"}
    check = pnyx.check(table, **named, cost=["y", "x"], against=before, margin=0.05)
    sections = dict(check_sections(check))
    headings = list(sections)
    assert headings[:4] == [
        "In words", "Figures", "Which judge to take", "Since the earlier check",
    ]  # fmt: skip
    assert "Disagreements: a" in headings
    assert "Is a cheaper judge good enough?" not in str(sections["What to do next"])
    (moved,) = sections["Since the earlier check"]
    first = moved.rows[0]
    assert first[0] == "a: accuracy"
    assert first[1] == pytest.approx(74 / 78)
    assert first[2] == pytest.approx(74 / 80)
    assert first[5] == "same (other items)"
    measures, costs, candidates, choice, *_ = sections["Which judge to take"]
    assert measures.title == "support: 80 items that all judges were asked about"
    assert costs.rows == [["a", 2.0, None, "no card"], ["b", 1.0, None, "no card"]]
    assert [row[:4] for row in candidates.rows] == [
        ["b", 1.0, "not shown", "less"],
        ["a", 2.0, "yes", "baseline"],
    ]
    assert candidates.rows[0][4] == "-0.175"
    assert choice == "take a: no cheaper judge is shown to be good enough"


def test_the_page_of_a_choice():
    choice = two_judges().choice
    notes = judge_notes(choice)
    assert [note.partition(": ")[0] for note in notes] == ["a", "b"]
    assert "its dollars are not known (no price, no manifest, or answers from" in notes[0]
    page = judges_html(choice)
    assert "No choice: the dollars of a judge that is good enough are unknown." in page
    assert "Judges of support compared" in page
    assert "A cascade" not in page
    (a, b) = choice.judges
    accuracy = replace(a.measures["accuracy"], scored=70, asked=78)
    named = {"noise": "passed", "order": "failed", "length": "unclear"}
    judged = replace(a, measures={**a.measures, "accuracy": accuracy}, usd=0.5, trials=named)
    changed = replace(choice, judges=[judged, b], left_out=3, choice="b")
    assert judge_notes(changed)[:2] == [
        "3 labelled items were not asked of every judge: left out",
        "a: 8 of 78 unscored",
    ]
    page = judges_html(changed)
    assert "1 of 3 passed; order failed, length unclear" in page
    assert "Take b: the cheapest that is good enough, by dollars." in page


# -- Pairs in both orders -------------------------------------------------------------------------


def pairs(*cells: str) -> list[str]:
    """Return the sentences on pairs: the verdicts with A and with B first, and the label."""
    words = {"a": "A", "b": "B", "t": "tie", "-": ""}
    table = [
        (n, dict(zip(("first", "second", "label"), map(words.__getitem__, row), strict=True)))
        for n, row in enumerate(cells, 1)
    ]
    source = TableRows(("first", "second", "label"), table, "table")
    check = check_pairs(
        source, a_first="first", b_first="second", human=["label"], bootstrap=Bootstrap(0)
    )
    return pair_sentences(check)


def test_pairs_that_flip():
    assert pairs("aaa", "aab", "aba", "aba", "bab", "tat", "bb-") == [
        "The two orders agree on 3 of 7 pairs; 4 flip (57 %, no interval). Of these, 2 favour the "
        "text shown first both times, 1 favours the text shown second and 1 is a tie in one order "
        "only.",
        "The text shown first wins 54 % of the time (ties count as half); there are too few pairs "
        "or groups for an interval.",
        "The combined verdict (a tie where the orders differ) agrees with people on 2 of 6 pairs "
        "(33 %, no interval); 83 % with A shown first, 17 % with B shown first.",
        "Where both orders prefer the same text, it is people's choice on 1 of 2 pairs (50 %, no "
        "interval).",
    ]


def test_pairs_that_never_flip():
    first, _, people = pairs("aaa", "bbb")
    assert first == "The two orders agree on 2 of 2 pairs; 0 flip (0 %, no interval)."
    assert people == (
        "The combined verdict (a tie where the orders differ) agrees with people on 2 of 2 pairs "
        "(100 %, no interval); 100 % with A shown first, 100 % with B shown first."
    )


def test_pairs_without_verdicts_or_labels():
    assert pairs("a--", "-b-") == [
        "No pair has a verdict in both orders (2 pairs).",
        "There are no human labels to compare with.",
    ]
    assert pairs("a-a") == [
        "No pair has a verdict in both orders (1 pair).",
        "None of the 1 labelled pair has a verdict.",
    ]
    with pytest.raises(InputError, match="the table has no rows"):
        pairs()


# -- Biases ---------------------------------------------------------------------------------------

LENGTH = LengthBias(
    "answer", 7.0, Measured(0.3, 20, 20), Measured(0.1, 21, 21),
    Measured(0.2, 41, 41, 0.05, 0.35), (15, 8), (9, 6),
)  # fmt: skip
OF_TEXTS = (
    'Of 20 longer texts (answer above 7 words), the judge said "pass" to 15 and people to 9; of 21 '
    "others, to 8 and 6."
)
OF_RATINGS = (
    "On 20 longer texts (answer above 7 words), the judge's ratings differ from people's by +0.30, "
    "on 21 others by +0.10."
)


@pytest.mark.parametrize(
    ("bias", "word", "expected"),
    [
        (LENGTH, "pass",
         f"{OF_TEXTS} It favours longer texts more than people do: +20 points, +5 to +35."),
        (replace(LENGTH, difference=Measured(-0.2, 41, 41, -0.35, -0.05)), "pass",
         f"{OF_TEXTS} It favours shorter texts more than people do: -20 points, -35 to -5."),
        (LENGTH, "fail", OF_TEXTS.replace("pass", "fail") +
         " It is harder on longer texts than people are: +20 points, +5 to +35."),
        (replace(LENGTH, difference=Measured(0.2, 41, 41, 0.0, 0.35)), "pass",
         f"{OF_TEXTS} No length bias is shown (+20 points, +0 to +35)."),
        (replace(LENGTH, difference=Measured(-0.2, 41, 41, -0.35, 0.0)), "pass",
         f"{OF_TEXTS} No length bias is shown (-20 points, -35 to +0)."),
        (replace(LENGTH, difference=Measured(0.2, 41, 41)), "pass",
         f"{OF_TEXTS} The difference of +20 points has no interval."),
        (replace(LENGTH, judge_yes=None, people_yes=None), "yes",
         f"{OF_RATINGS} It favours longer texts more than people do: +0.20, +0.05 to +0.35."),
        (replace(LENGTH, no_figure="there are few"), "yes",
         "Length bias: no figure, as there are few."),
    ],
)  # fmt: skip
def test_the_words_of_a_length_bias(bias, word, expected):
    assert length_sentences(bias, word) == [expected]


def test_without_texts_there_is_no_length_bias():
    assert length_sentences(replace(LENGTH, column="", no_figure="no texts"), "yes") == []
    shown = [
        replace(LENGTH, difference=Measured(0.2, 9, 9, *ends)).shown
        for ends in ((0.001, 0.4), (0.0, 0.4), (-0.4, 0.0), (-0.4, -0.001), (None, None))
    ]
    assert shown == [True, False, False, True, None]


def test_the_words_of_consensus():
    value = Measured(0.9, 40, 44, 0.8, 0.96)
    parts = (
        ConsensusPart("unanimous", "accuracy", value, 36),
        ConsensusPart("split", "accuracy", NONE, None, 2, "3 items, and a figure needs 20"),
        ConsensusPart("split", "mean_absolute_error", replace(value, value=0.5), None, 1),
    )
    assert consensus_sentences(parts) == [
        "Where people are unanimous, the judge is right on 36 of 40 (90 %, 80 to 96 %).",
        "Where people are split: no figure (3 items, and a figure needs 20) (2 without a majority "
        "left out).",
        "Where people are split, the judge is off by 0.50 (0.80 to 0.96) on 40 items (1 without a "
        "majority left out).",
    ]


def test_the_words_of_annotators():
    accuracy = Measured(0.9, 40, 44, 0.8, 0.96)
    annotators = (
        AnnotatorAgreement("ann", accuracy, KAPPA, Measured(0.7, 30, 40)),
        AnnotatorAgreement("bob", accuracy, KAPPA, NONE),
        AnnotatorAgreement("cy", NONE, NONE, NONE, "3 items in common, and a figure needs 20"),
    )
    agrees = "on 36 of 40 (90 %, 80 to 96 %); kappa 0.50 (0.30 to 0.70)"
    assert annotator_sentences(annotators) == [
        f"The judge agrees with ann {agrees}; ann agrees with the other people on 70 %, no "
        "interval.",
        f"The judge agrees with bob {agrees}.",
        "With cy: no figure (3 items in common, and a figure needs 20).",
    ]


# -- Plans of labels ------------------------------------------------------------------------------

GOAL = LabelGoal(
    "kappa", KAPPA, None, 0.6, False, 120, 24, 90, (0.55, 0.75), 0.5, 400, 0.2, 0.2, 1.8
)
FIRST = tuple(LabelCandidate(f"r{n}", n + 2, f"q{n}", n % 2 == 0, 0.25) for n in range(30))
PLAN = LabelPlan("judge", "question", 40, 10, (GOAL,), FIRST, 30, 7, ("pass", "fail"))


def sentences_of(plan: LabelPlan) -> list[str]:
    return [str(line) for line in plan_parts(plan)[0]]


def test_the_words_of_a_plan():
    lines = sentences_of(PLAN)
    assert lines == [
        "Label about 120 more, in at least 24 more questions, to decide whether kappa is at least "
        "0.6. Now kappa is 0.50 (0.30 to 0.70) on 40 labels; if it stays, the interval will be "
        "0.55 to 0.75. It may move, so they decide with a chance of 50 %; 80 % takes about 400 "
        "more.",
        "Rows that share a question are alike (correlation 0.20): the variance is 1.8 times that "
        "of independent rows.",
        "With one row of each new question, about 90 labels suffice.",
        "The table has 30 rows without labels, in 30 new questions: add rows of new questions with "
        "the judge's verdict. Label in the order listed: it is random (seed 7), spread evenly over "
        "questions, verdicts and doubt, new questions first. Labelling only doubtful rows would "
        "bias all figures.",
    ]


@pytest.mark.parametrize(
    ("change", "line", "expected"),
    [
        ({"reached": True, "more": 0}, 0,
         "No more labels are needed to decide whether kappa is at least 0.6: kappa is 0.50 (0.30 "
         "to 0.70) on 40 labels."),
        ({"more": None, "why": "it is odd"}, 0,
         "No number of labels can be given to decide whether kappa is at least 0.6: kappa is 0.50 "
         "(0.30 to 0.70) on 40 labels, and it is odd."),
        ({"likely_more": None}, 0, " with a chance of 50 %; 80 % takes more than 5,000."),
        ({"likely_more": 120}, 0, "It may move, so they decide with a chance of 50 %."),
        ({"likely_more": 121}, 0, "; 80 % takes about 121 more."),
        ({"chance": None, "bar": None, "half_width": 0.05}, 0,
         "in at least 24 more questions, for an interval of kappa of ±0.05. Now kappa is"),
        ({"rough": True}, 0,
         "This is a rough number: kappa is 0.50 (0.30 to 0.70) on 40 labels, without a "
         "disagreement yet."),
        ({"more_groups": 1}, 0, "in at least 1 more question, to"),
        ({"used_correlation": 0.3}, 1,
         "(correlation 0.20); as there are only 10 questions, the plan takes 0.30, the upper end "
         "of its 80 % interval: the variance"),
        ({"more_singly": 119}, 2, "about 119 labels suffice"),
        ({"more": 30, "more_groups": 30}, 3,
         "The table has 30 rows without labels, in 30 new questions. Label in"),
        ({"more": 31, "more_groups": 30}, 3, "in 30 new questions: add rows of new questions"),
        ({"more": 30, "more_groups": 31}, 3, "in 30 new questions: add rows of new questions"),
    ],
)  # fmt: skip
def test_what_a_plan_says_of_a_goal(change, line, expected):
    more = {"more_singly": 1} if line == 3 else {}
    lines = sentences_of(replace(PLAN, goals=(replace(GOAL, **{**more, **change}),)))
    assert expected in lines[line]


def test_a_plan_without_groups_correlation_or_rows():
    assert "With one row of" not in " ".join(
        sentences_of(replace(PLAN, goals=(replace(GOAL, more_singly=120),)))
    )
    alone = sentences_of(replace(PLAN, group="", first=()))
    assert alone[1:] == [
        "Rows are taken to be independent: name the column that they share, with --group.",
        "The table has no rows without labels: add rows with the judge's verdict.",
    ]
    unknown = replace(GOAL, correlation=None)
    assert len(sentences_of(replace(PLAN, goals=(unknown,)))) == 2
    single = sentences_of(replace(PLAN, goals=(unknown,), groups=1))
    assert single[1] == (
        "All labels belong to one question, so a correlation of 0.20 between its rows is assumed."
    )
    undoubted = tuple(replace(row, doubt=None) for row in FIRST)
    last = sentences_of(replace(PLAN, first=undoubted, new_groups=0))[-1]
    assert "in no new questions: add rows of new questions" in last
    assert "spread evenly over questions and verdicts, new questions first." in last


def test_the_rows_to_label_first():
    table = plan_parts(PLAN)[1]
    assert [column.name for column in table.columns] == [
        "label first", "line", "question", "judge says", "doubt",
    ]  # fmt: skip
    assert table.rows[:2] == [["r0", 2, "q0", "pass", 0.25], ["r1", 3, "q1", "fail", 0.25]]
    assert len(table.rows) == 20
    assert table.notes == ["10 further rows to label in this order: --json"]
    few = plan_parts(replace(PLAN, goals=(replace(GOAL, more=5),)))[1]
    assert len(few.rows) == 5
    assert len(plan_parts(replace(PLAN, goals=(replace(GOAL, reached=True, more=0),)))) == 1
    rated = replace(FIRST[0], verdict=2.5, doubt=None)
    alone = plan_parts(replace(PLAN, first=(rated,), group=""))[1]
    assert alone.rows == [["r0", 2, "2.5"]]
    assert alone.notes == []


def test_a_plan_reaches_all_goals_with_a_number():
    other = replace(GOAL, more=80, more_groups=40)
    assert replace(PLAN, goals=(GOAL, other)).more == 120
    assert replace(PLAN, goals=(GOAL, other)).more_groups == 40
    assert replace(PLAN, goals=(GOAL, replace(GOAL, more=None))).more is None
    assert replace(PLAN, goals=()).more == 0


@pytest.mark.parametrize("half_width", [0.0, 1.0, None])
def test_a_plan_needs_a_goal(half_width):
    items = pnyx.check(rows(20, a=2), judge="a", **BASE).items
    problem = "expected a half_width or bars" if half_width is None else "between 0 and 1"
    with pytest.raises(ValueError, match=problem):
        plan_labels(items, "a", half_width=half_width)
