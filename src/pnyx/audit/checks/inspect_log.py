"""Logs of Inspect: JSON, or `.eval`, a ZIP file of JSON documents."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pnyx.audit.checks.answer_words import cell_text, read_cell
from pnyx.audit.checks.assessments import AssessedItem, Assessment
from pnyx.audit.checks.check_rows import NumberedRow
from pnyx.audit.checks.column_names import is_usual_name, usual_name
from pnyx.audit.checks.json_rows import json_object, json_objects, parse_document
from pnyx.core.errors import InputError, shorten
from pnyx.formats.text.office_files import check_archive

_NO_ANSWER: Final = "N"
"""The value of a score for a refusal or no answer, which Inspect counts as 0: here unscored."""
_UNCHANGED: Final = "UNCHANGED"
"""The value of an edit that changes something else, such as the explanation."""


def is_inspect_sample(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a sample of a log."""
    return {"id", "epoch", "input", "scores"} <= row.keys()


def read_inspect_archive(path: Path) -> list[dict[str, Any]]:
    """Return the samples of an `.eval` file; InputError if it is damaged or too large."""
    check_archive(path, "a log of Inspect")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                name
                for name in archive.namelist()
                if name.startswith("samples/") and name.endswith(".json")
            ]
            samples = [parse_document(archive.read(name).decode()) for name in names]
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError,
            RuntimeError, EOFError, InputError) as error:  # fmt: skip
        problem = f"cannot be read as a log of Inspect: {shorten(str(error))}"
        hint = "convert it: inspect log convert --to json"
        raise InputError(f"{problem} ({hint})") from error
    return [sample for sample in samples if isinstance(sample, dict)]


def inspect_items(rows: Sequence[NumberedRow]) -> Iterator[AssessedItem]:
    """Yield the samples; the first value of an edited score is the judge's, the last a person's."""
    several = len({cell_text(row["epoch"]) for _, row in rows}) > 1
    for line, row in rows:
        sample = cell_text(row["id"])
        name = f"{sample} epoch {cell_text(row['epoch'])}" if several else sample
        item = AssessedItem(name, line, group=sample if several else "")
        completion = json_object(row.get("output")).get("completion")
        item.cells = {"input": _text_of(row["input"]), "target": cell_text(row.get("target"))}
        item.cells["output"] = cell_text(completion)
        for scorer, score in json_object(row["scores"]).items():
            if isinstance(score, dict):
                item.assessments += _assessments(scorer, score)
        for field, value in json_object(row.get("metadata")).items():
            if is_usual_name(field, "human") and not read_cell(value).blank:
                item.assessments.append(Assessment("human", "human", value, field))
        yield item


def _assessments(name: str, score: Mapping[str, Any]) -> list[Assessment]:
    """Return a score's assessments: the scorer's, and a person's if a person edited its value."""
    if is_usual_name(name, "human") or usual_name(name).startswith("human_"):
        return [Assessment("human", "human", _value(score.get("value")), name)]
    history = json_objects(score.get("history"))
    original = history[0] if history else score
    assessments = []
    if not _has_author(original):  # otherwise a person added the score
        reason = "no answer" if original.get("value") == _NO_ANSWER else ""
        verdict = _value(original.get("value"))
        assessments.append(Assessment(name, "judge", verdict, reason=reason))
    edits = [edit for edit in history if _has_author(edit) and edit.get("value") != _UNCHANGED]
    if edits:
        author = cell_text(edits[-1]["provenance"].get("author"))
        label = _value(edits[-1].get("value"))
        assessments.append(Assessment(name, "human", label, author))
    return assessments


def _has_author(edit: Mapping[str, Any]) -> bool:
    return isinstance(edit.get("provenance"), dict)


def _value(value: Any) -> Any:
    return None if value == _NO_ANSWER else value


def _text_of(value: Any) -> str:
    """Return an input as text: the last message of a conversation."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1].get("content")
    return cell_text(value)
