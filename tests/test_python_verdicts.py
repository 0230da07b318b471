"""Verdicts and labels as programs have them: dicts, lists, arrays, series and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pnyx
from pnyx.judging import join_labels

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

JUDGE, PEOPLE = [True, False, True, True], [True, False, False, True]
"""They agree on 3 of 4; by chance on .75 x .5 + .25 x .5 = .5, so kappa is (.75 - .5) / .5 = .5."""
NAMES = ["a", "b", "c", "d"]


def words(values: list[bool]) -> list[str]:
    return ["Yes" if value else "no" for value in values]


def by_id(values: list[Any]) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


def frame(name: str, values: list[Any]) -> Any:
    return pandas.DataFrame({"id": NAMES, name: values})


def series(values: list[Any], order: int = 1) -> Any:
    return pandas.Series(values, index=NAMES)[::order]


PAIRS = [
    (by_id(JUDGE), by_id(PEOPLE)),
    (by_id(words(JUDGE)), by_id(words(PEOPLE))),
    (by_id([int(v) for v in JUDGE]), by_id([float(v) for v in PEOPLE])),
    (dict(enumerate(JUDGE)), dict(enumerate(PEOPLE))),
    (JUDGE, PEOPLE),
    (words(JUDGE), [int(v) for v in PEOPLE]),
    (np.array(JUDGE), np.array(PEOPLE, dtype=np.int64)),
    (iter(JUDGE), (v for v in PEOPLE)),
    (pandas.Series(JUDGE), PEOPLE),
    (series(JUDGE), PEOPLE),
    (PEOPLE, pandas.Series(JUDGE, index=[2, 3, 5, 7])),
    (pandas.Series([*JUDGE, None]).dropna(), pandas.Series([*PEOPLE, True])),
    (pandas.Series([None, *JUDGE]).dropna(), pandas.Series([True, *PEOPLE])),
    (pandas.Series(JUDGE), pandas.Series(PEOPLE)[::-1]),
    (series(JUDGE), series(PEOPLE, -1)),
    (series(JUDGE), by_id(PEOPLE)),
    (pandas.Series(JUDGE), dict(enumerate(PEOPLE, start=1))),
    (frame("value", JUDGE), frame("value", PEOPLE)),
    (frame("verdict", words(JUDGE)), frame("label", PEOPLE)),
    (frame("value", JUDGE).assign(label=PEOPLE), None),
    ([{"value": v} for v in JUDGE], [{"value": v} for v in PEOPLE]),
]
"""Verdicts and labels in memory, which belong together by id or by position."""
REFUSED = (7, 20)
"""Numbers of pairs that `pnyx.check` does not take: iterators, and rows without an id."""


@pytest.mark.parametrize(("answers", "labels"), PAIRS, ids=lambda source: type(source).__name__)
def test_verdicts_meet_labels_by_id_or_by_position(answers: Any, labels: Any) -> None:
    result = pnyx.measure_agreement(answers, labels)
    assert result.joined.task == "support"
    assert result.measures["accuracy"].value == 0.75
    assert result.measures["kappa"].value == pytest.approx(0.5)
    assert result.measures["accuracy"].scored == 4


@pytest.mark.parametrize(
    ("answers", "labels"),
    [pair for number, pair in enumerate(PAIRS) if number not in REFUSED],
    ids=lambda source: type(source).__name__,
)
def test_a_check_joins_them_in_the_same_way(answers: Any, labels: Any) -> None:
    (judge,) = pnyx.check(answers, labels).judges
    assert judge.figures["accuracy"].value == 0.75
    assert judge.figures["accuracy"].scored == 4


def test_what_nobody_said_is_unscored_or_unlabelled() -> None:
    result = pnyx.measure_agreement([1, None, 1, 1, 0], [1, 0, 0, float("nan"), 0])
    assert result.counts["asked"] == 4
    assert result.counts["reasons"] == {"no verdict": 1}
    assert (result.measures["accuracy"].scored, result.measures["accuracy"].asked) == (3, 4)
    assert result.counts["answers_without_label"] == 1


@pytest.mark.parametrize(
    "answers",
    [
        [None, None, True],
        {"1": None, "2": None, "3": True},
        iter([None, None, True]),
        pandas.Series([None, None, True]),
        pandas.DataFrame({"value": [None, None, True]}),
    ],
    ids=lambda source: type(source).__name__,
)
def test_answers_may_begin_without_a_verdict(answers: Any) -> None:
    result = pnyx.measure_agreement(answers, [None, True, True])
    accuracy = result.measures["accuracy"]
    assert (accuracy.value, accuracy.scored, accuracy.asked) == (1.0, 1, 2)


@pytest.mark.parametrize(
    "answers",
    [
        [None, None],
        {"1": None, "2": None},
        pandas.DataFrame({"id": ["1", "2"], "value": [None] * 2}),
    ],
    ids=lambda source: type(source).__name__,
)
def test_answers_without_any_verdict_are_all_unscored(answers: Any) -> None:
    accuracy = pnyx.measure_agreement(answers, [True, False]).measures["accuracy"]
    assert (accuracy.value, accuracy.scored, accuracy.asked) == (None, 0, 2)


@pytest.mark.parametrize(
    ("values", "task"),
    [([0, 1, 1], "support"), ([0, 1, 2], "quality"), ([-1, 1, 0], "quality")],
)
def test_numbers_outside_0_to_1_are_ratings(values: list[int], task: str) -> None:
    result = pnyx.measure_agreement(values, values)
    assert result.joined.task == task
    assert ("spearman" in result.measures) == (task == "quality")


def test_a_task_that_is_named_counts() -> None:
    result = pnyx.measure_agreement([0, 0.5, 1], [0, 1, 0.5], "quality")
    # Ranks 1, 2, 3 and 1, 3, 2: 1 - 6 x 2 / (3 x 8) = 0.5.
    assert result.measures["spearman"].value == pytest.approx(0.5)
    assert pnyx.measure_agreement(JUDGE, PEOPLE, "relevance").joined.task == "relevance"


@pytest.mark.parametrize(
    ("answers", "labels", "problem"),
    [
        (["pass", "fail"], [1, 0], r"row 1: value: found 'pass', expected yes or no.*pnyx\.check"),
        ([0.9, 0.2], [1, 0], r"found 0\.9, expected yes or no.*ratings: task='quality'"),
        ([1, 0], [1, "maybe"], r"rows:2: value: found 'maybe', expected true, false, yes, no"),
        ([1, 0, 1], [1], r"found 3 answers and 1 labels, expected as many"),
        (pandas.Series([1, 0, 1], index=["a", "b", "c"]), [1], r"found 3 answers and 1 labels"),
        (pandas.Series([1, 0], index=[4, 4]), pandas.Series([1, 0]),
         r"answers: the index has 4 twice, expected once"),
        ({"a": True}, {"b": True}, r"answers are to 'a'; labels are of 'b'"),
        ({1, 0}, [1, 0], r"found set, expected a file, id -> value"),
        (5, [1], r"found int, expected a file, id -> value"),
        (None, None, r"found NoneType, expected"),
        (pandas.DataFrame({"said": [1], "human": [1]}), None,
         r"found the fields said, human, expected value or verdict\. .*pnyx\.check\(TABLE"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(answers: Any, labels: Any, problem: str) -> None:
    with pytest.raises(pnyx.InputError, match=problem) as raised:
        pnyx.measure_agreement(answers, labels)
    assert "\n" not in str(raised.value)


def test_a_rate_is_corrected_from_dicts_and_lists() -> None:
    verdicts, labels = [1, 0, 1, 1, 0, 1, 0, 1], [1, 0, 0, 1, None, None, None, None]
    rate = pnyx.corrected_rate(verdicts, labels)
    assert (rate.judged.value, rate.judged.scored) == (0.625, 8)  # 5 of 8
    assert (rate.people.value, rate.people.scored) == (0.5, 4)
    # Sensitivity 2/2, specificity 1/2: (.625 - .5) / (1 - .5) = .25 (Rogan and Gladen).
    assert rate.rogan_gladen.value == pytest.approx(0.25)
    answers = {str(n): value for n, value in enumerate(verdicts, 1)}
    people = {str(n): value for n, value in enumerate(labels, 1) if value is not None}
    for same in (pnyx.corrected_rate(answers, people),
                 pnyx.corrected_rate(join_labels(answers, people))):  # fmt: skip
        assert same.row() == rate.row()
    with pytest.raises(pnyx.InputError, match="found ratings, expected answers of yes or no"):
        pnyx.corrected_rate([1, 5, 3], [2, 4, 3])


FIVE, SCORES, FURTHER = [1, 0, 1, 1, 0], [1, 0, 1, 0, 0], [1, 1, 0]


@pytest.mark.parametrize(
    ("people", "judge", "further"),
    [
        (FIVE, SCORES, FURTHER),
        ([bool(v) for v in FIVE], words([bool(v) for v in SCORES]), np.array(FURTHER)),
        ([*FIVE, None, float("nan"), None], [*SCORES, *FURTHER], ()),
        (pandas.Series(FIVE), pandas.Series(SCORES), pandas.Series(FURTHER)),
        (pandas.Series(FIVE)[::-1], pandas.Series([*SCORES, *FURTHER]), ()),
        (dict(enumerate(FIVE)), dict(reversed(list(enumerate([*SCORES, *FURTHER])))), ()),
        (dict(enumerate(FIVE)), dict(enumerate(SCORES)), dict(zip("xyz", FURTHER, strict=True))),
    ],
)
def test_labels_and_scores_of_every_shape_give_one_estimate(
    people: Any, judge: Any, further: Any
) -> None:
    arrays = (np.array(values, dtype=float) for values in (FIVE, SCORES, FURTHER))
    expected = pnyx.prediction_powered(*arrays)
    estimate = pnyx.prediction_powered(people, judge, further)
    assert estimate.corrected.value == pytest.approx(expected.corrected.value)
    assert estimate.corrected.low == pytest.approx(expected.corrected.low)
    assert (estimate.corrected.scored, estimate.corrected.asked) == (5, 8)
    assert estimate.people == expected.people


@pytest.mark.parametrize(
    ("people", "judge", "further", "problem"),
    [
        (FIVE, [1, 0], [], "found 5 labels of people and 2 scores of the judge, expected as many"),
        (dict(enumerate(FIVE)), SCORES, [], "people, judge: found one dict, expected two"),
        ({"a": 1, "b": 0}, {"a": 1}, [], r"1 of 2 labels are of topics .* such as 'b'"),
        (["maybe"] * 5, SCORES, [], "people, value 1: found 'maybe', expected a number, or yes"),
        ("abc", SCORES, [], "people: found 'abc', expected a list of numbers"),
        (FIVE, [1, 0, 1, None, 1], [], "judge: found a topic without a score"),
        (FIVE, SCORES, [1, None], "further: found a topic without a score"),
        ([1, 0, 1, 1, float("inf")], SCORES, [], "people: found an infinite number"),
        (FIVE, SCORES, np.array([-np.inf]), "further: found an infinite number"),
        (frame("value", JUDGE), SCORES, [], "found a data frame, expected a list .* its columns"),
    ],
)  # fmt: skip
def test_samples_that_do_not_fit_are_one_line(
    people: Any, judge: Any, further: Any, problem: str
) -> None:
    with pytest.raises(pnyx.InputError, match=problem):
        pnyx.prediction_powered(people, judge, further)


RECORD = {
    "question": "When did fares fall?",
    "contexts": ["The council cut fares in May."],
    "answer": "The council cut fares in May. They sing about penguins.",
}


@pytest.mark.parametrize("judge", [pnyx.PackagedJudge(), pnyx.PackagedJudge("support")])
def test_a_rag_record_is_asked_about_sentence_by_sentence(judge: Any) -> None:
    answers = pnyx.ask(judge, RECORD)
    assert [answer.question.id for answer in answers] == ["1#1", "1#2"]
    assert [answer.value for answer in answers] == [True, False]
    assert {answer.provenance.judge for answer in answers} == {"answers@1"}
    table = pandas.DataFrame([{**RECORD, "contexts": np.array(RECORD["contexts"], dtype=object)}])
    assert [answer.value for answer in pnyx.ask(judge, table, task="support")] == [True, False]


def test_rag_records_that_cannot_be_judged_are_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"skipped 1 row: 1 with no answer \(row 2\)"):
        answers = pnyx.ask(pnyx.PackagedJudge("support"), [RECORD, {**RECORD, "answer": None}])
    assert len(answers) == 2


def test_one_item_has_one_answer() -> None:
    item = {"text": "Fares fell.", "statement": "Buses got cheaper."}
    judge = pnyx.PackagedJudge("support")
    answer = pnyx.ask(judge, item)
    assert answer.value is pnyx.ask(judge, [item])[0].value
    assert answer.question.id == "1"


def test_two_dicts_are_checked() -> None:
    verdicts, labels = by_id(JUDGE), by_id(PEOPLE)
    checked = pnyx.check(verdicts, labels)
    assert checked.judges[0].figures["kappa"].value == pytest.approx(0.5)
    assert checked.row() == pnyx.check(verdicts, labels=labels).row()
    answers = pnyx.ask(
        pnyx.PackagedJudge("support"),
        [{"id": name, "text": "Fares fell.", "statement": "Fares fell."} for name in NAMES],
    )
    assert pnyx.check(answers, labels).judges[0].figures["accuracy"].value == 0.5
    with pytest.raises(pnyx.InputError, match="found NoneType, expected a file, a data frame"):
        pnyx.check(None)
