"""Result files of other tools: promptfoo, DeepEval, ragas, MLflow, Langfuse, Label Studio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pnyx.audit.checks.answer_words import cell_text, read_cell
from pnyx.audit.checks.assessments import AssessedItem, Assessment, Side, assessed_table
from pnyx.audit.checks.check_rows import NumberedRow, TableRows
from pnyx.audit.checks.column_names import is_usual_name, usual_name
from pnyx.audit.checks.inspect_log import inspect_items, is_inspect_sample
from pnyx.audit.checks.json_rows import json_object, json_objects, parse_document
from pnyx.core.errors import InputError

_SAMPLE = 20
"""Rows by which a tool's format is recognised."""
_REPLACED: Final = "a rating replaced the verdict of a test with a threshold"
"""Why a verdict of promptfoo is unscored: with a threshold, it does not follow from its parts."""


@dataclass(frozen=True, slots=True)
class _Export:
    """A tool's format: how its rows are recognised and read.

    Attributes:
        tool: its name.
        fits: whether a row is of this format.
        items: the items of the rows.
        advice: how to get labels of people into such a file.
        overall: the verdict on the whole item, to which a person's label of the item belongs.
    """

    tool: str
    fits: Callable[[Mapping[str, Any]], bool]
    items: Callable[[Sequence[NumberedRow]], Iterator[AssessedItem]]
    advice: str
    overall: str = ""


def exported_table(table: TableRows) -> TableRows:
    """Return the table of assessments if the rows are of another tool's format, else the table."""
    sample = [row for _, row in table.rows[:_SAMPLE]]
    export = next((export for export in _EXPORTS if all(map(export.fits, sample))), None)
    if export is None:
        return table
    rows = [(line, row) for line, row in table.rows if export.fits(row)]
    items = list(export.items(rows))
    assessed = assessed_table(items, table.source, export.overall)
    notes = (*table.notes, f"read as results of {export.tool}")
    if others := len(table.rows) - len(rows):
        left_out = f"{others:,} of {len(table.rows):,} rows are not such results and were left out"
        notes = (*notes, left_out)
    missing = ""
    if all(assessment.side == "judge" for item in items for assessment in item.assessments):
        second = "or give labels in a second table with --labels FILE (columns id and label)"
        missing = f"has no labels of people: {export.advice}, {second}"
    return replace(assessed, notes=notes, missing=missing)


def unwrapped(value: Any) -> Any:
    """Return the list of results in a tool's JSON document; other documents as they are."""
    if not isinstance(value, dict):
        return value
    for name in ("testRunData", "results"):
        if isinstance(inner := value.get(name), dict):
            return unwrapped(inner)
    cases = [
        *json_objects(value.get("testCases")),
        *json_objects(value.get("conversationalTestCases")),
    ]
    if cases:
        return cases
    for name in ("results", "test_results", "samples", "traces", "data"):
        rows = json_objects(value.get(name))
        if rows and any(all(map(e.fits, rows[:_SAMPLE])) for e in _EXPORTS):
            return rows
    rows = [{"ragas metric": n, **row} for n, some in value.items() for row in json_objects(some)]
    return rows if rows and all(map(_is_annotated, rows)) else value


def _snake(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with snake_case names, as tools use both: `traceId` is trace_id."""
    return {usual_name(name): value for name, value in row.items()}


def _people(cells: Mapping[str, Any]) -> list[Assessment]:
    """Return the labels of people among further cells, by their usual names."""
    return [
        Assessment("human" if usual_name(name) in ("human", "label") else name, "human", value)
        for name, value in cells.items()
        if is_usual_name(name, "human") and not read_cell(value).blank
    ]


def _is_promptfoo(row: Mapping[str, Any]) -> bool:
    return "gradingResult" in row and not {"testCase", "vars", "success"}.isdisjoint(row)


def _promptfoo_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    for line, row in rows:
        test, grading = json_object(row.get("testCase")), json_object(row.get("gradingResult"))
        variables = json_object(row.get("vars")) or json_object(test.get("vars"))
        item = AssessedItem(cell_text(row.get("id")) or str(line), line)
        item.group = f"test {row['testIdx']}" if row.get("testIdx") is not None else ""
        item.cells = {**variables, "output": json_object(row.get("response")).get("output")}
        parts = json_objects(grading.get("componentResults"))
        for part in parts:
            assertion = json_object(part.get("assertion"))
            name = cell_text(assertion.get("metric") or assertion.get("type")) or "assertion"
            if _is_rating(part):
                item.assessments.append(Assessment("human", "human", part.get("pass")))
            else:
                item.assessments.append(Assessment(name, "judge", part.get("pass")))
        item.assessments.append(_test_verdict(row, test, grading))
        if not any(map(_is_rating, parts)):
            item.assessments += _people(json_object(test.get("metadata")))
            item.assessments += _people(json_object(row.get("metadata")))
        yield item


def _is_rating(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a test's result is a person's rating."""
    return json_object(part.get("assertion")).get("type") == "human"


def _test_verdict(
    row: Mapping[str, Any], test: Mapping[str, Any], grading: Mapping[str, Any]
) -> Assessment:
    """Return the verdict on a whole test, which a person's rating has replaced in the file."""
    parts = json_objects(grading.get("componentResults"))
    if not any(map(_is_rating, parts)):
        error = "" if grading else cell_text(row.get("error"))
        return Assessment("passed", "judge", grading.get("pass"), reason=error)
    if test.get("threshold") is not None:
        return Assessment("passed", "judge", None, reason=_REPLACED)
    passes: list[bool | None] = []
    members = 0  # of an assertion set, which follow it and do not count on their own
    for part in parts:
        if members:
            members -= 1
        elif not _is_rating(part):
            passes.append(part.get("pass"))
            members = len(json_objects(part.get("componentResults")))
    passed = None if not passes or None in passes else all(passes)
    return Assessment("passed", "judge", passed)


def _deepeval_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    texts = "input actual_output expected_output retrieval_context comments".split()
    for line, row in rows:
        case = _snake(row)
        item = AssessedItem(cell_text(case.get("name")) or str(line), line)
        metadata = {
            **json_object(case.get("metadata")),
            **json_object(case.get("additional_metadata")),
        }
        item.cells = {name: case.get(name) for name in texts}
        item.cells |= {n: v for n, v in metadata.items() if not is_usual_name(n, "human")}
        for metric in json_objects(case["metrics_data"]):
            name, error = cell_text(metric.get("name")), cell_text(metric.get("error"))
            value = None if error else metric.get("success")
            item.assessments.append(Assessment(name or "metric", "judge", value, reason=error))
        item.assessments += _people(metadata)
        yield item


def _is_annotated(row: Mapping[str, Any]) -> bool:
    return {"metric_input", "metric_output", "is_accepted"} <= row.keys()


def _ragas_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    for line, row in rows:
        name, output = cell_text(row.get("ragas metric")) or "metric", row["metric_output"]
        verdict, accepted = read_cell(output).truth, read_cell(row["is_accepted"]).truth
        label = None if verdict is None or accepted is None else verdict is accepted
        item = AssessedItem(str(line), line, json_object(row["metric_input"]))
        item.assessments = [Assessment(name, "judge", output), Assessment(name, "human", label)]
        yield item


def _trace_info(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a trace in MLflow; in a CSV file, its column `trace` is JSON."""
    trace = row.get("trace")
    if isinstance(trace, str) and not isinstance(row.get("assessments"), list):
        try:
            row = json_object(parse_document(trace))
        except InputError:
            return {}
    return json_object(row.get("info")) or dict(row)


def _is_trace(row: Mapping[str, Any]) -> bool:
    info = _trace_info(row)
    return "trace_id" in info and isinstance(info.get("assessments"), list)


def _mlflow_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    for line, row in rows:
        info = _trace_info(row)
        item = AssessedItem(cell_text(info["trace_id"]), line)
        names = ("request", "response", "request_preview", "response_preview")
        item.cells = {name: row.get(name, info.get(name)) for name in names}
        for entry in json_objects(info["assessments"]):
            if entry.get("valid") is False:
                continue  # overridden by a later one
            source = json_object(entry.get("source"))
            feedback = json_object(entry.get("feedback"))
            name = cell_text(entry.get("assessment_name"))
            if not feedback:  # the expected answer, which is not a label
                item.cells[name] = json_object(entry.get("expectation")).get("value")
                continue
            error = cell_text(json_object(feedback.get("error")).get("error_message"))
            side: Side = "human" if source.get("source_type") == "HUMAN" else "judge"
            author = cell_text(source.get("source_id"))
            item.assessments.append(Assessment(name, side, feedback.get("value"), author, error))
        yield item


def _score_subject(score: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return session, trace and observation of a score; version 3 of the API has a subject."""
    subject = _snake(json_object(score.get("subject")))
    if kind := subject.get("kind"):
        score = {"trace_id": subject.get("trace_id"), f"{kind}_id": subject.get("id")}
    session, trace, observation = (
        cell_text(score.get(name)) for name in ("session_id", "trace_id", "observation_id")
    )
    return session, trace, observation


def _is_score(row: Mapping[str, Any]) -> bool:
    score = _snake(row)
    has_source = score.get("source") in ("ANNOTATION", "EVAL", "API")
    return has_source and {"name", "value"} <= score.keys() and any(_score_subject(score))


def _langfuse_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    items: dict[tuple[str, ...], AssessedItem] = {}
    for line, row in rows:
        score = _snake(row)
        session, trace, observation = subject = _score_subject(score)
        item_id = " ".join(filter(None, (trace, observation))) or session
        item = items.setdefault(subject, AssessedItem(item_id, line, group=session))
        text = score.get("string_value")
        value = score["value"] if read_cell(text).blank else text
        name = cell_text(score["name"])
        side: Side = "human" if score["source"] == "ANNOTATION" else "judge"
        author = cell_text(score.get("author_user_id")) if side == "human" else ""
        item.assessments.append(Assessment(name, side, value, author))
        if comment := score.get("comment"):
            item.cells[f"{side} comment"] = comment
    yield from items.values()


def _is_task(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("data"), dict) and isinstance(row.get("annotations"), list)


def _label_studio_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    for line, row in rows:
        item = AssessedItem(cell_text(row.get("id")) or str(line), line, json_object(row["data"]))
        for annotation in json_objects(row["annotations"]):
            annotator = annotation.get("completed_by")
            user = json_object(annotator)
            name = cell_text(user.get("email") or user.get("id") or annotator)
            if not annotation.get("was_cancelled"):
                item.assessments += _choices(annotation, "human", name)
        for prediction in json_objects(row.get("predictions")):
            model = cell_text(prediction.get("model_version"))
            item.assessments += _choices(prediction, "judge", model)
        yield item


def _choices(annotation: Mapping[str, Any], side: Side, source: str) -> Iterator[Assessment]:
    """Yield the choices, ratings and numbers of an annotation or a prediction."""
    for result in json_objects(annotation.get("result")):
        value = json_object(result.get("value"))
        kind = next((kind for kind in ("choices", "rating", "number") if kind in value), "")
        if kind:
            yield Assessment(cell_text(result.get("from_name")) or kind, side, value[kind], source)


_EXPORTS: Final = (
    _Export(
        "promptfoo",
        _is_promptfoo,
        _promptfoo_items,
        "rate outputs with thumbs up or down in promptfoo view and export again",
        "passed",
    ),
    _Export(
        "DeepEval",
        lambda row: isinstance(_snake(row).get("metrics_data"), list),
        _deepeval_items,
        'put each one into the metadata of its test case, such as {"human_label": "pass"}',
    ),
    _Export("ragas", _is_annotated, _ragas_items, "accept or reject results in the annotation app"),
    _Export(
        "Inspect",
        is_inspect_sample,
        inspect_items,
        "edit scores as a person (inspect_ai.log.edit_score with provenance) or add a field "
        "human_label to the metadata of samples",
    ),
    _Export(
        "MLflow",
        _is_trace,
        _mlflow_items,
        "log them with mlflow.log_feedback and a source of type HUMAN, named as the judge's",
    ),
    _Export(
        "Langfuse",
        _is_score,
        _langfuse_items,
        "annotate traces with a score of the same name (source ANNOTATION)",
    ),
    _Export("Label Studio", _is_task, _label_studio_items, "export annotated tasks"),
)
