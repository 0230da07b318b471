"""Result files of other tools: promptfoo, DeepEval, ragas, MLflow, Langfuse, Label Studio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pnyx.audit.checks.answer_words import cell_text, read_cell
from pnyx.audit.checks.assessments import AssessedItem, Assessment, assessed_table
from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.column_names import HUMAN_NAMES, usual_name
from pnyx.audit.checks.inspect_log import inspect_items, is_inspect_sample

Rows = Sequence[tuple[int, Mapping[str, Any]]]
_HUMAN: Final = frozenset().union(*HUMAN_NAMES)
_OR_FILE: Final = "or give labels in a second table with --labels FILE (columns id and label)"


@dataclass(frozen=True, slots=True)
class Export:
    """A tool's format: what its rows look like, and how they are read.

    Attributes:
        tool: its name.
        fits: whether a row is of this format.
        items: the items of the rows.
        advice: how a person's labels get into such a file.
        overall: the verdict that a person's label of the whole item belongs to.
    """

    tool: str
    fits: Callable[[Mapping[str, Any]], bool]
    items: Callable[[Rows], Iterator[AssessedItem]]
    advice: str
    overall: str = ""


def exported_table(table: TableRows) -> TableRows:
    """Return the table of assessments if the rows are of another tool's format, else the table."""
    sample = [row for _, row in table.rows[:20]]
    export = next((e for e in EXPORTS if sample and all(map(e.fits, sample))), None)
    if export is None:
        return table
    assessed = assessed_table(export.items(table.rows), export.overall)
    judges = list(assessed.pairs) or None
    note = f"read as results of {export.tool}"
    roles = {"id": ("id",), **({"group": ("group",)} if assessed.has_groups else {})}
    missing = "" if judges else f"has no labels of people: {export.advice}, {_OR_FILE}"
    return TableRows(
        assessed.columns,
        assessed.rows,
        table.source,
        (*table.notes, note),
        roles,
        assessed.pairs,
        missing,
    )


def unwrapped(value: Any) -> Any:
    """Return the list of results in a tool's JSON document; other documents as they are."""
    if not isinstance(value, dict):
        return value
    run = value.get("testRunData")
    if isinstance(run, dict):
        return unwrapped(run)
    results = value.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return results["results"]
    if isinstance(results, list) and _has_rows(results) and all(map(_is_promptfoo, results[:20])):
        return results
    for names in (("testCases", "conversationalTestCases"), ("test_results",)):
        if any(_has_rows(value.get(name)) for name in names):
            return [row for name in names for row in value.get(name) or ()]
    for name, fits in (("samples", is_inspect_sample), ("traces", _is_trace), ("data", _is_score)):
        rows = value.get(name)
        if isinstance(rows, list) and _has_rows(rows) and all(map(fits, rows[:20])):
            return rows
    if value and all(_has_rows(rows) and _is_annotated(rows[0]) for rows in value.values()):
        return [{"ragas metric": name, **row} for name, rows in value.items() for row in rows]
    return value


def _has_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _flat(cells: Mapping[str, Any], *skipped: str) -> dict[str, Any]:
    """Return the cells that can be shown: texts, numbers, and lists as JSON."""
    return {
        str(name): cell
        for name, cell in cells.items()
        if name not in skipped and cell not in (None, "", [], {})
    }


def _people(cells: Mapping[str, Any]) -> list[Assessment]:
    """Return the labels of people among further cells, by their usual names."""
    return [
        Assessment(
            "human" if usual_name(str(name)) in ("human", "label") else str(name), "human", v
        )
        for name, v in cells.items()
        if usual_name(str(name)) in _HUMAN and not read_cell(v).blank
    ]


def _is_promptfoo(row: Mapping[str, Any]) -> bool:
    return "gradingResult" in row and ("testCase" in row or "vars" in row or "success" in row)


def _promptfoo_items(rows: Rows) -> Iterator[AssessedItem]:
    for line, row in rows:
        test, grading = _fields(row.get("testCase")), _fields(row.get("gradingResult"))
        variables = _fields(row.get("vars")) or _fields(test.get("vars"))
        response = _fields(row.get("response"))
        index = row.get("testIdx")
        item = AssessedItem(cell_text(row.get("id")) or str(line), line)
        item.group = "" if index is None else f"test {index}"
        item.cells = _flat({**variables, "output": response.get("output")})
        metadata = {**_fields(test.get("metadata")), **_fields(row.get("metadata"))}
        error = cell_text(row.get("error")) if not grading else ""
        passes: list[bool] = []
        for part in _objects(grading.get("componentResults")):
            assertion = _fields(part.get("assertion"))
            if assertion.get("type") == "human":
                item.assessments.append(Assessment("human", "human", part.get("pass")))
                continue
            name = cell_text(assertion.get("metric") or assertion.get("type")) or "assertion"
            item.assessments.append(Assessment(name, "judge", part.get("pass")))
            passes += [bool(part.get("pass"))]
        rated = any(one.side == "human" for one in item.assessments)
        whole = all(passes) if passes else None if rated else grading.get("pass")
        item.assessments.append(Assessment("passed", "judge", whole, reason=error))
        if not rated:
            item.assessments += _people(metadata)
        yield item


def _is_deepeval(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("metricsData", row.get("metrics_data")), list)


def _deepeval_items(rows: Rows) -> Iterator[AssessedItem]:
    for line, row in rows:
        item = AssessedItem(cell_text(row.get("name")) or str(line), line)
        names = ("input", "actualOutput", "actual_output", "expectedOutput", "expected_output",
                 "retrievalContext", "retrieval_context", "comments")  # fmt: skip
        item.cells = _flat({name: row.get(name) for name in names})
        metadata: dict[str, Any] = {}
        for name in ("metadata", "additionalMetadata", "additional_metadata"):
            metadata |= _fields(row.get(name))
        for metric in _objects(row.get("metricsData", row.get("metrics_data"))):
            name = cell_text(metric.get("name")) or "metric"
            error = cell_text(metric.get("error"))
            value = None if error else metric.get("success")
            item.assessments.append(Assessment(name, "judge", value, reason=error))
        item.assessments += _people(metadata)
        item.cells |= _flat({n: v for n, v in metadata.items() if usual_name(n) not in _HUMAN})
        yield item


def _is_annotated(row: Any) -> bool:
    return isinstance(row, dict) and {"metric_input", "metric_output", "is_accepted"} <= row.keys()


def _ragas_items(rows: Rows) -> Iterator[AssessedItem]:
    for line, row in rows:
        name = cell_text(row.get("ragas metric")) or "metric"
        item = AssessedItem(str(line), line, _flat(_fields(row.get("metric_input"))))
        verdict = read_cell(row.get("metric_output")).truth
        accepted = read_cell(row.get("is_accepted")).truth
        label = None if verdict is None or accepted is None else verdict is accepted
        output = row.get("metric_output")
        item.assessments = [Assessment(name, "judge", output), Assessment(name, "human", label)]
        yield item


def _is_trace(row: Mapping[str, Any]) -> bool:
    info = _fields(row.get("info")) or row
    identified = "trace_id" in info or "request_id" in info
    return identified and isinstance(info.get("assessments"), list)


def _mlflow_items(rows: Rows) -> Iterator[AssessedItem]:
    for line, row in rows:
        info = _fields(row.get("info")) or row
        item = AssessedItem(cell_text(info.get("trace_id") or info.get("request_id")), line)
        names = ("request", "response", "request_preview", "response_preview", "inputs", "outputs")
        item.cells = _flat({name: row.get(name, info.get(name)) for name in names})
        for found in _objects(info.get("assessments")):
            if found.get("valid") is False:
                continue  # overridden by a later one
            source = _fields(found.get("source"))
            is_human = str(source.get("source_type", source.get("sourceType"))).upper() == "HUMAN"
            said = _fields(found.get("feedback")) or _fields(found.get("expectation"))
            error = found.get("error") or _fields(found.get("feedback")).get("error")
            item.assessments.append(
                Assessment(
                    cell_text(found.get("name") or found.get("assessment_name")) or "assessment",
                    "human" if is_human else "judge",
                    said.get("value"),
                    cell_text(source.get("source_id", source.get("sourceId"))),
                    cell_text(_fields(error).get("error_message") or error) if error else "",
                )
            )
        yield item


_SCORE_SOURCES: Final = {"ANNOTATION": "human", "EVAL": "judge", "API": "judge"}


def _is_score(row: Mapping[str, Any]) -> bool:
    traced = "traceId" in row or "trace_id" in row
    known = str(row.get("source")).upper() in _SCORE_SOURCES
    return traced and known and "name" in row and ("value" in row or "stringValue" in row)


def _langfuse_items(rows: Rows) -> Iterator[AssessedItem]:
    items: dict[str, AssessedItem] = {}
    for line, row in rows:
        trace = cell_text(row.get("traceId", row.get("trace_id")))
        part = cell_text(row.get("observationId", row.get("observation_id")))
        key = f"{trace} {part}".strip()
        item = items.setdefault(key, AssessedItem(key or str(line), line))
        item.group = item.group or cell_text(row.get("sessionId", row.get("session_id")))
        text = row.get("stringValue", row.get("string_value"))
        value = row.get("value") if read_cell(text).blank else text
        is_human = _SCORE_SOURCES.get(str(row.get("source")).upper()) == "human"
        side: Literal["judge", "human"] = "human" if is_human else "judge"
        author = cell_text(row.get("authorUserId", row.get("author_user_id")))
        source = author if side == "human" else ""
        item.assessments.append(Assessment(cell_text(row.get("name")), side, value, source))
        comment = row.get("comment")
        item.cells |= _flat({f"{side} comment": comment})
    yield from items.values()


def _is_task(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("data"), dict) and isinstance(row.get("annotations"), list)


def _label_studio_items(rows: Rows) -> Iterator[AssessedItem]:
    for line, row in rows:
        data = _fields(row.get("data"))
        item = AssessedItem(cell_text(row.get("id")) or str(line), line, _flat(data))
        for said in _objects(row.get("annotations")):
            if said.get("was_cancelled"):
                continue
            by = said.get("completed_by")
            person = cell_text(_fields(by).get("email") or _fields(by).get("id") or by)
            item.assessments += _choices(said, "human", person)
        for said in _objects(row.get("predictions")):
            item.assessments += _choices(said, "judge", cell_text(said.get("model_version")))
        yield item


def _choices(said: Mapping[str, Any], side: Any, source: str) -> list[Assessment]:
    """Return the choices, ratings and numbers of an annotation or a prediction."""
    assessments = []
    for result in _objects(said.get("result")):
        value = _fields(result.get("value"))
        kind = next((k for k in ("choices", "rating", "number", "taxonomy") if k in value), None)
        if kind is not None:
            name = cell_text(result.get("from_name")) or kind
            assessments.append(Assessment(name, side, value[kind], source))
    return assessments


EXPORTS: Final = (
    Export(
        "promptfoo",
        _is_promptfoo,
        _promptfoo_items,
        "rate outputs with thumbs up or down in promptfoo view and export again",
        "passed",
    ),
    Export(
        "DeepEval",
        _is_deepeval,
        _deepeval_items,
        'put each one into the metadata of its test case, such as {"human_label": "pass"}',
    ),
    Export("ragas", _is_annotated, _ragas_items, "accept or reject results in the annotation app"),
    Export(
        "Inspect",
        is_inspect_sample,
        inspect_items,
        "edit scores as a person (inspect_ai.log.edit_score with provenance) or add a field "
        "human_label to the metadata of samples",
    ),
    Export(
        "MLflow",
        _is_trace,
        _mlflow_items,
        "log them with mlflow.log_feedback and a source of type HUMAN, named as the judge's",
    ),
    Export(
        "Langfuse",
        _is_score,
        _langfuse_items,
        "annotate traces with a score of the same name (source ANNOTATION)",
    ),
    Export("Label Studio", _is_task, _label_studio_items, "export annotated tasks"),
)
