"""Rows of other tools, and cells of pairs, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.audit.checks.assessments import AssessedItem, Assessment, assessed_table
from pnyx.audit.checks.columns import read_check_items
from pnyx.audit.checks.exports import unwrapped
from pnyx.audit.checks.pair_answers import read_pairs
from pnyx.audit.checks.pair_words import PairWords
from pnyx.audit.checks.pairs import JudgedPair, measure_pairs
from pnyx.audit.checks.table import read_table_rows
from pnyx.core.errors import InputError
from pnyx.stats.base import Bootstrap


def cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [dict(row) for _, row in read_table_rows(rows).rows]


def judge(name: str, value: Any, source: str = "", reason: str = "") -> Assessment:
    return Assessment(name, "judge", value, source, reason)


def human(name: str, value: Any, source: str = "") -> Assessment:
    return Assessment(name, "human", value, source)


# -- Assessments as columns -----------------------------------------------------------------------


def test_a_column_of_each_judge_and_person():
    items = [
        AssessedItem("x", 1, {"note": "n", "tone": "data", "empty": ""}, assessments=[
            judge("tone", "yes"), human("tone", "no", "ann"), human("tone", "yes", "bob"),
            judge("depth", 1, "m1"), judge("depth", 0, "m2"), human("human", "ok"),
        ]),
        AssessedItem("y", 2, assessments=[
            judge("tone", None, reason="timeout"), human("tone", "no", "ann"),
            human("tone", "yes", "ann"), judge("depth", None, "m1"), human("tone", None, "ann"),
        ]),
    ]  # fmt: skip
    table = assessed_table(items, "file")
    assert table.columns == (
        "id", "tone", "human tone (ann)", "human tone (bob)", "depth (m1)", "depth (m2)", "human",
        "note", "tone (data)",
    )  # fmt: skip
    assert table.rows[1] == (
        2, {"id": "y", "tone": "error: timeout", "human tone (ann)": "yes", "depth (m1)": None},
    )  # fmt: skip
    assert table.rows[0][1]["tone (data)"] == "data"
    assert table.roles == {"id": ("id",), "judge": ("tone", "depth (m1)", "depth (m2)")}
    assert table.pairs == {"tone": ("human tone (ann)", "human tone (bob)")}


def test_labels_of_one_thing_belong_to_all_verdicts_or_to_the_one_on_all():
    first = AssessedItem("x", 1, group="g", assessments=[
        judge("a", "yes"), judge("b", "no"), human("other", "yes"),
    ])  # fmt: skip
    table = assessed_table([first, AssessedItem("y", 2)], "file")
    assert table.pairs == {"a": ("human other",), "b": ("human other",)}
    assert table.roles["group"] == ("group",)
    assert table.rows[1] == (2, {"id": "y", "group": ""})
    only = assessed_table([first], "file", "b")
    assert (only.pairs, only.roles["judge"]) == ({"b": ("human other",)}, ("b",))
    two = AssessedItem("z", 3, assessments=[judge("a", 1), human("p", 1), human("q", 1)])
    assert assessed_table([two], "file").pairs == {}


# -- promptfoo ------------------------------------------------------------------------------------


def part(passes: Any, kind: str = "llm-rubric", **more: Any) -> dict[str, Any]:
    return {"pass": passes, "assertion": {"type": kind}, **more}


@pytest.mark.parametrize(
    ("parts", "more", "passed", "label"),
    [
        ([part(True), part(False, "human")], {}, True, False),
        ([part(False), part(True, "human")], {}, False, True),
        ([part(None), part(True, "human")], {}, None, True),
        ([part(True, "human")], {}, None, True),
        ([part(True), part(True, "human")], {"threshold": 0.5}, None, True),
        ([part(True, componentResults=[part(False)]), part(False), part(True, "human")], {}, True,
         True),
    ],
)  # fmt: skip
def test_a_verdict_that_a_person_replaced_follows_from_the_parts(parts, more, passed, label):
    row = {"id": "r", "testIdx": 3, "vars": {"q": "Q"}, "testCase": more,
           "response": {"output": "O"},
           "gradingResult": {"pass": "replaced", "componentResults": parts}}  # fmt: skip
    (read,) = cells([row])
    assert (read["id"], read["group"], read["q"], read["output"]) == ("r", "test 3", "Q", "O")
    why = "error: a rating replaced the verdict of a test with a threshold"
    assert read["passed"] == (why if more else passed)
    assert read["human"] is label


def test_a_test_without_ratings_has_its_own_verdict():
    rows = [
        {"success": True, "testCase": {"metadata": {"human": "fail"}},
         "gradingResult": {"pass": True, "componentResults": [part(True)]}},
        {"success": False, "error": "broken", "gradingResult": None},
    ]  # fmt: skip
    first, second = cells(rows)
    assert (first["passed"], first["human"], first["llm-rubric"]) == (True, "fail", True)
    assert (second["id"], second["passed"], second.get("group")) == ("2", "error: broken", None)


# -- Inspect, MLflow, Langfuse, Label Studio, ragas -----------------------------------------------


def sample(value: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": "s", "epoch": epoch, "input": "Q", "target": "T", "scores": {"m": value}, **more}


def test_samples_of_inspect():
    edit = {"value": "I", "provenance": {"author": "ann"}}
    rows = [
        sample({"value": "C"}, output={"completion": "O"}, metadata={"human": "", "label": "I"}),
        sample({"value": "N"}, 2, input=[{"content": "first"}, {"content": "last"}]),
        sample({"value": "I", "history": [{"value": "C"}, edit]}, 3),
        sample({"value": "C", "history": [{"value": "C"}, {**edit, "value": "UNCHANGED"}]}, 4),
        sample({"value": "I", "history": [edit]}, 5),
    ]
    read = cells(rows)
    assert [row["id"] for row in read] == [f"s epoch {n}" for n in range(1, 6)]
    assert [row.get("group") for row in read] == ["s"] * 5
    assert [row.get("m") for row in read] == ["C", "error: no answer", "C", "C", None]
    assert [row.get("human m") for row in read] == [None, None, "I", None, "I"]
    assert (read[0]["output"], read[0]["human"], read[1]["input"]) == ("O", "I", "last")
    (alone,) = cells([{**sample({"value": "C"}), "scores": {"human": {"value": "N"}, "m": 1}}])
    assert (alone["id"], "m" in alone) == ("s", False)


def feedback(name: str, value: Any, kind: str = "LLM_JUDGE", **more: Any) -> dict[str, Any]:
    return {"assessment_name": name, "source": {"source_type": kind, "source_id": "x"},
            "feedback": {"value": value}, **more}  # fmt: skip


def test_traces_of_mlflow():
    entries = [
        feedback("ok", "no", valid=False), feedback("ok", "yes"), feedback("ok", "no", "HUMAN"),
        {"assessment_name": "answer", "expectation": {"value": "E"}},
    ]  # fmt: skip
    info = {"trace_id": "t", "assessments": entries, "request_preview": "Q"}
    (read,) = cells([{"info": info, "response": "R"}])
    assert read == {
        "id": "t", "ok": "yes", "human ok": "no", "answer": "E", "request_preview": "Q",
        "response": "R",
    }  # fmt: skip
    failed = {**feedback("ok", None), "feedback": {"error": {"error_message": "late"}}}
    (read,) = cells([{"info": {"trace_id": "t", "assessments": [failed]}}])
    assert read["ok"] == "error: late"
    broken = [{"trace": "{", "verdict": "yes", "label": "no"}] * 2
    assert read_check_items(broken).judges == ("verdict",)


def test_scores_of_langfuse():
    base = {"name": "ok", "source": "EVAL", "traceId": "t", "value": 1}
    rows = [
        {**base, "stringValue": "good", "comment": "why"},
        {**base, "source": "ANNOTATION", "value": 0, "authorUserId": "ann"},
        {**base, "observationId": "o"},
        {**base, "traceId": None, "sessionId": "u"},
    ]
    read = cells(rows)
    assert [row["id"] for row in read] == ["t", "t o", "u"]
    assert (read[0]["ok"], read[0]["human ok"], read[0]["judge comment"]) == ("good", 0, "why")
    assert (read[2]["group"], read[1]["ok"]) == ("u", 1)


def test_tasks_of_label_studio():
    def result(kind: str, value: Any, name: str = "") -> dict[str, Any]:
        return {"from_name": name, "value": {kind: value}}

    row = {
        "id": 7, "data": {"text": "T"},
        "annotations": [
            {"completed_by": {"email": "ann"}, "result": [result("choices", ["yes"], "ok")]},
            {"completed_by": 3, "was_cancelled": True, "result": [result("choices", ["no"], "ok")]},
        ],
        "predictions": [{"model_version": "m", "result": [result("choices", ["no"], "ok"),
                                                          result("rating", 4),
                                                          result("textarea", "x")]}],
    }  # fmt: skip
    assert cells([row]) == [
        {"id": "7", "human ok": ["yes"], "ok": ["no"], "rating": 4, "text": "T"}
    ]


@pytest.mark.parametrize(
    ("output", "accepted", "label"),
    [("yes", True, True), ("yes", False, False), ("no", True, False), ("no", False, True),
     ("odd", True, None), ("yes", None, None)],
)  # fmt: skip
def test_an_accepted_verdict_of_ragas_is_the_label(output, accepted, label):
    row = {"metric_input": {"q": "Q"}, "metric_output": output, "is_accepted": accepted}
    (read,) = cells([row])
    assert (read["metric"], read["human metric"], read["q"]) == (output, label, "Q")


def test_a_document_holds_its_rows():
    annotated = {"metric_input": {}, "metric_output": "yes", "is_accepted": True}
    document = unwrapped({"tone": [annotated], "depth": [annotated]})
    assert [row["ragas metric"] for row in document] == ["tone", "depth"]
    task = {"data": {}, "annotations": []}
    assert unwrapped({"results": {"results": [task]}}) == [task]
    assert unwrapped({"data": [task], "meta": {}}) == [task]
    other = {"data": [{"a": 1}]}
    assert unwrapped(other) is other
    assert unwrapped({"testCases": [task], "conversationalTestCases": [task]}) == [task, task]
    assert unwrapped([1]) == [1]


# -- Pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "plain", "by_position", "second"),
    [
        ("A", "a", "a", "b"), ("[[B]]", "b", "b", "a"), ("1", "a", "a", "b"), (2.0, "b", "b", "a"),
        ("first", "a", "a", "b"), ("the right one", "b", "b", "a"), ("Model A", "a", "a", "b"),
        ("Tie", "tie", "tie", "tie"), ("both good", "tie", "tie", "tie"), ("n/a", None, None, None),
        (None, None, None, None), ("gpt", "a", "a", "a"),
    ],
)  # fmt: skip
def test_a_cell_prefers_a_text(cell, plain, by_position, second):
    """By position, A is the text shown first, which is B in the other order."""
    row = {"v": cell, "model_a": "GPT", "model_b": "llama"}
    words = PairWords("model_a", "model_b")
    assert words.choice(row, "v", 1) == plain
    named_by_place = cell in ("first", "the right one")
    expected = second if named_by_place else plain
    assert words.choice(row, "v", 1, b_first=True) == expected
    places = PairWords("model_a", "model_b", by_position=True)
    assert places.choice(row, "v", 1) == by_position
    assert places.choice(row, "v", 1, b_first=True) == second


def test_a_cell_that_prefers_no_text_is_refused():
    with pytest.raises(
        InputError, match="column v: found 'perhaps', expected A, B or tie"
    ) as caught:
        PairWords(source="file").choice({"v": "perhaps"}, "v", 7)
    assert (caught.value.line, caught.value.path) == (7, "file")
    same = {"v": "x", "a": "x", "b": "x"}
    with pytest.raises(InputError, match="found 'x'"):
        PairWords("a", "b").choice(same, "v", 1)


def answer(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "task": "preference", "judge": "j", "value": value, "unscored": None,
            "probability": None, **more}  # fmt: skip


def test_answers_on_pairs():
    rows = [
        answer("x", "a", notes={"orders": ["a", "tie"]}, group="g", label="B"),
        answer("y", "tie", notes={"orders": ["a"]}),
        answer("z", None, unscored="timeout", notes={"orders": ["a", "b"]}),
    ]
    pairs = read_pairs(rows, None)
    assert [(p.a_first, p.b_first, p.one_order, p.labels) for p in pairs] == [
        ("a", "tie", False, ("b",)), ("tie", None, True, ()), (None, None, False, ()),
    ]  # fmt: skip
    assert [p.combined for p in pairs] == ["tie", "tie", None]
    labelled = read_pairs(rows, [{"id": "y", "value": " A "}])
    assert [p.labels for p in labelled] == [(), ("a",), ()]
    with pytest.raises(InputError, match="no answer has a label: the ids do not match"):
        read_pairs(rows, [{"id": "w", "value": "a"}])
    with pytest.raises(InputError, match="value: found 'c', expected a, b or tie"):
        read_pairs(rows, [{"id": "y", "value": "c"}])


def test_position_bias_by_its_interval():
    pairs = [JudgedPair(str(n), "", "a", "b") for n in range(20)]
    pairs += [JudgedPair(str(n), "", "a", "a", ("a", "b")) for n in range(20, 30)]
    check = measure_pairs(pairs, bootstrap=Bootstrap(200))
    assert (check.first_slot.value, check.flips.value) == (pytest.approx(25 / 30), 20 / 30)
    assert (check.reversed, check.first_both, check.second_both, check.agree) == (20, 20, 0, 10)
    assert check.position_bias is True
    assert (check.labels, check.tied_labels, check.clusters) == (0, 10, 30)
    even = [JudgedPair(str(n), "", *("ab" if n % 2 else "ba")) for n in range(40)]  # type: ignore[misc]
    assert measure_pairs(even, bootstrap=Bootstrap(200)).position_bias is False
    assert measure_pairs(even, bootstrap=Bootstrap(0)).position_bias is None
