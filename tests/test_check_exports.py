"""Result files of DeepEval, ragas, MLflow and Langfuse, as the tools write them, in `pnyx check`.

The shapes were written by DeepEval 4.3.1 (`evaluate`: a saved test run and a dumped result), ragas
0.3.9 (`EvaluationResult.to_pandas`, `MetricAnnotation`), MLflow 3.17.2 (`search_traces`,
`Trace.to_json`, `genai.evaluate`) and the models of Langfuse's API (langfuse 5.0.4).
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from command import called, refuser
from pnyx.audit.checks.columns import read_check_items
from pnyx.core.errors import InputError

VERDICTS = [False, True, False, True, False, True, False, None]
LABELS = [False, True, True, False, True, True, None, None]
"""Of 4 yes of people the judge says yes to 2, of 2 no it says no to 1; one has no label, and one
verdict is an error."""


def assert_read(path: Path, judge: str, human: str, tool: str) -> None:
    items = read_check_items(str(path))
    assert (items.judges, items.people) == ((judge,), (human,))
    assert [item.verdicts[judge] for item in items.items] == VERDICTS
    assert [item.labels[human] for item in items.items] == LABELS
    assert f"read as results of {tool}" in items.notes
    assert items.items[7].unscored == {judge: "error: timed out"}


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


# DeepEval ----------------------------------------------------------------------------------------


def metric(verdict: bool | None, *, camel: bool) -> dict[str, Any]:
    error = "timed out" if verdict is None else None
    score = None if verdict is None else float(verdict)
    strict = {"strictMode" if camel else "strict_mode": False}
    data = {"name": "Faithfulness", "threshold": 0.5, "success": bool(verdict), "score": score}
    return {**data, "reason": "r", **strict, **({"error": error} if error or not camel else {})}


def cases(*, camel: bool, labels: bool = True) -> list[dict[str, Any]]:
    output, data = ("actualOutput", "metricsData") if camel else ("actual_output", "metrics_data")
    return [
        {
            "name": f"case {number}",
            "success": bool(verdict),
            "input": f"question {number}",
            output: "an answer",
            data: [metric(verdict, camel=camel)],
            "metadata": {"human_label": "pass" if label else "fail", "channel": "mail"}
            if label is not None and labels
            else None,
        }
        for number, (verdict, label) in enumerate(zip(VERDICTS, LABELS, strict=True))
    ]


@pytest.mark.parametrize("form", ["saved run", "latest run", "result"])
def test_deepeval(tmp_path, form):
    run = {"testCases": cases(camel=True), "conversationalTestCases": [], "testPassed": 3}
    content: dict[str, Any] = {
        "saved run": run,
        "latest run": {"testRunData": run, "fullTestRunFile": ".latest_run_full.json"},
        "result": {"test_results": cases(camel=False), "confident_link": None},
    }[form]
    path = write(tmp_path / "run.json", content)
    assert_read(path, "Faithfulness", "human_label", "DeepEval")
    first = read_check_items(str(path)).items[0]
    assert first.id == "case 0"
    assert first.texts["channel"] == "mail"
    assert first.texts["input"] == "question 0"


def test_deepeval_without_labels_says_where_to_put_them(tmp_path, capsys):
    path = write(tmp_path / "run.json", {"testCases": cases(camel=True, labels=False)})
    problem = refuser("check", path)(capsys)
    assert (
        'put each one into the metadata of its test case, such as {"human_label": "pass"}'
        in problem
    )
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"case {n},{la}\n" for n, la in enumerate(LABELS[:6])))
    code, out, _ = called(capsys, "check", path, "--labels", labels)
    assert code == 0
    assert 'Of 4 answers that people labelled "yes", the judge said "yes" to 2' in out


# ragas -------------------------------------------------------------------------------------------


def ragas_table(path: Path, label: bool) -> Path:
    """Write `EvaluationResult.to_pandas().to_csv`, perhaps with a column that people added."""
    names = ["", "user_input", "retrieved_contexts", "response", "reference", "faithfulness"]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, *(["label"] if label else [])])
        for number, (verdict, cell) in enumerate(zip(VERDICTS, LABELS, strict=True)):
            score = "" if verdict is None else 0.25 + 0.5 * verdict
            row = [number, f"q{number % 3}", "['one', 'two']", "an answer", "Paris", score]
            writer.writerow([*row, *([cell] if label else [])])
    return path


def test_ragas_scores_need_a_bound_and_labels(tmp_path, capsys):
    table = ragas_table(tmp_path / "scores.csv", label=True)
    assert 'such as --yes "faithfulness>=0.5"' in refuser("check", table)(capsys)
    items = read_check_items(str(table), yes="faithfulness>=0.5")
    assert (items.judges, items.people, items.group) == (
        ("faithfulness",),
        ("label",),
        "user_input",
    )
    assert [item.verdicts["faithfulness"] for item in items.items] == VERDICTS
    assert [item.labels["label"] for item in items.items] == LABELS
    bare = refuser(
        "check", ragas_table(tmp_path / "bare.csv", label=False), "--verdict", "faithfulness"
    )
    assert "no column of labels found" in bare(capsys)


def test_ragas_annotations(tmp_path):
    """`is_accepted` says whether a person agrees with the verdict: `MetricAnnotation.from_json`."""
    rows = [
        {
            "metric_input": {"user_input": f"q{n}", "response": "an answer"},
            "metric_output": float(bool(verdict)),
            "prompts": {},
            "is_accepted": verdict is label,
            "target": None,
        }
        for n, (verdict, label) in enumerate(zip(VERDICTS[:6], LABELS[:6], strict=True))
    ]
    items = read_check_items(str(write(tmp_path / "annotations.json", {"correctness": rows})))
    assert (items.judges, items.people) == (("correctness",), ("human correctness",))
    assert [item.verdicts["correctness"] for item in items.items] == VERDICTS[:6]
    assert [item.labels["human correctness"] for item in items.items] == LABELS[:6]
    assert items.items[1].texts["user_input"] == "q1"


# MLflow ------------------------------------------------------------------------------------------


def assessment(name: str, value: bool | None, kind: str, who: str, **more: Any) -> dict[str, Any]:
    failed = {"error_code": "E", "error_message": "timed out", "stack_trace": "s"}
    feedback = {"value": value, **({"error": failed} if value is None else {})}
    facts = {"assessment_id": "a-1", "assessment_name": name, "trace_id": "tr-1"}
    source = {"source_type": kind, "source_id": who}
    return {**facts, "source": source, "feedback": feedback, "valid": True, **more}


def traces(*, labels: bool = True) -> list[dict[str, Any]]:
    rows = []
    for number, (verdict, label) in enumerate(zip(VERDICTS, LABELS, strict=True)):
        assessments = [
            assessment("correct", not verdict, "LLM_JUDGE", "gpt-4o", valid=False),
            assessment("correct", verdict, "LLM_JUDGE", "gpt-4o"),
        ]
        if label is not None and labels:
            assessments.append(assessment("correct", label, "HUMAN", "jo"))
        expected = assessment("expected_response", True, "HUMAN", "jo") | {"feedback": None}
        assessments.append(expected | {"expectation": {"value": "Paris"}})
        info = {"trace_id": f"tr-{number}", "state": "OK", "assessments": assessments, "tags": {}}
        rows.append({"info": {**info, "request_preview": f"q{number}"}, "data": {"spans": []}})
    return rows


def frame(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `search_traces`, whose column `trace` is the whole trace as JSON."""
    return [
        {
            "trace_id": row["info"]["trace_id"],
            "trace": json.dumps(row),
            "state": "OK",
            "request": {"q": row["info"]["request_preview"]},
            "assessments": row["info"]["assessments"],
        }
        for row in rows
    ]


@pytest.mark.parametrize("form", ["list", "object", "lines", "frame", "table"])
def test_mlflow(tmp_path, form):
    path = tmp_path / "traces.json"
    rows = traces()
    if form == "lines":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif form == "table":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(frame(rows)[0]))
            writer.writeheader()
            writer.writerows(frame(rows))  # lists as Python writes them
    else:
        content: Any = {"list": rows, "object": {"traces": rows}, "frame": frame(rows)}[form]
        write(path, content)
    assert_read(path, "correct", "human correct", "MLflow")
    assert read_check_items(str(path)).items[0].texts["expected_response"] == "Paris"


def test_mlflow_without_labels_says_how_to_log_them(tmp_path, capsys):
    path = write(tmp_path / "traces.json", traces(labels=False))
    assert "log them with mlflow.log_feedback" in refuser("check", path)(capsys)


# Langfuse ----------------------------------------------------------------------------------------


def score(number: int, source: str, value: bool, form: str) -> dict[str, Any]:
    person = {"authorUserId": "u1"} if source == "ANNOTATION" else {}
    row: dict[str, Any] = {"id": f"s{number}", "name": "correct", "source": source, **person}
    row |= {"dataType": "BOOLEAN", "comment": "why" if source == "ANNOTATION" else None}
    if form == "v3":
        return row | {"value": value, "subject": {"kind": "trace", "id": f"t{number}"}}
    row |= {"value": float(value), "stringValue": str(value), "traceId": f"t{number}"}
    if form == "blob":  # scheduled exports to blob storage have snake_case columns
        names = {"traceId": "trace_id", "stringValue": "string_value", "dataType": "data_type"}
        names["authorUserId"] = "author_user_id"
        return {names.get(name, name): cell for name, cell in row.items()}
    return row


@pytest.mark.parametrize("form", ["v2", "v3", "blob"])
def test_langfuse(tmp_path, form):
    rows = [score(n, "EVAL", bool(v), form) for n, v in enumerate(VERDICTS[:7])]
    rows += [score(n, "ANNOTATION", bool(la), form) for n, la in enumerate(LABELS[:6])]
    content = rows if form == "blob" else {"data": rows, "meta": {"page": 1, "totalItems": 13}}
    items = read_check_items(str(write(tmp_path / "scores.json", content)))
    assert (items.judges, items.people) == (("correct",), ("human correct",))
    assert [item.verdicts["correct"] for item in items.items] == VERDICTS[:7]
    assert [item.labels["human correct"] for item in items.items] == LABELS[:7]
    assert [item.id for item in items.items] == [f"t{n}" for n in range(7)]
    assert items.items[0].texts["human comment"] == "why"
    alone = write(tmp_path / "judge.json", rows[:7])
    with pytest.raises(InputError, match=r"annotate traces with a score of the same name"):
        read_check_items(str(alone))


def test_langfuse_observations_and_sessions_are_items_of_their_own(tmp_path):
    rows: list[dict[str, Any]] = []
    for number in range(4):
        subject = {"kind": "observation", "id": f"o{number}", "traceId": "t1"}
        both = (score(number, source, number < 2, "v3") for source in ("EVAL", "ANNOTATION"))
        rows += ({**row, "subject": subject} for row in both)
    items = read_check_items(str(write(tmp_path / "scores.json", {"data": rows})))
    assert [item.id for item in items.items] == ["t1 o0", "t1 o1", "t1 o2", "t1 o3"]
    for number, row in enumerate(rows):
        row["subject"] = {"kind": "session", "id": f"x{number // 2}"}
    items = read_check_items(str(write(tmp_path / "scores.json", {"data": rows})))
    assert [(item.id, item.group) for item in items.items] == [(f"x{n}", f"x{n}") for n in range(4)]


def test_rows_are_of_a_tool_only_if_all_first_ones_are(tmp_path):
    """Twenty rows decide: a score among them that is none makes the file an ordinary table."""
    rows = [score(n % 10, "EVAL" if n < 10 else "ANNOTATION", n % 3 > 0, "v2") for n in range(20)]
    strange = {"id": "x", "name": "y"}
    items = read_check_items(str(write(tmp_path / "s.json", [*rows, strange])))
    assert items.judges == ("correct",)
    assert "1 of 21 rows are not such results and were left out" in items.notes
    with pytest.raises(InputError, match="several columns could hold labels"):
        read_check_items(str(write(tmp_path / "s.json", [*rows[:19], strange, rows[19]])))
