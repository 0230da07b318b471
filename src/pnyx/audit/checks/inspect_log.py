"""Logs of Inspect: JSON, or `.eval`, a ZIP file of JSON documents."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pnyx.audit.checks.answer_words import cell_text, read_cell
from pnyx.audit.checks.assessments import AssessedItem, Assessment
from pnyx.audit.checks.column_names import HUMAN_NAMES, usual_name
from pnyx.corpora.text.office_files import check_archive
from pnyx.errors import InputError, shorten
from pnyx.files import clean_value

_HUMAN: Final = frozenset().union(*HUMAN_NAMES)
_NO_ANSWER: Final = "N"
"""The value of a score for a refusal or no answer, which Inspect counts as 0: here unscored."""


def is_inspect_sample(row: Mapping[str, Any]) -> bool:
    """Say whether a row is a sample of a log."""
    has_scores = isinstance(row.get("scores"), dict) or "scores" in row
    return has_scores and {"id", "epoch", "input"} <= row.keys()


def read_inspect_archive(path: Path) -> list[dict[str, Any]]:
    """Return the samples of an `.eval` file; InputError where it is damaged or too large."""
    check_archive(path, "a log of Inspect")
    samples: list[dict[str, Any]] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("samples/") and name.endswith(".json"):
                    value = json.loads(archive.read(name), parse_constant=lambda _: None)
                    if isinstance(value, dict):
                        samples.append(clean_value(value))
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, RecursionError,
            NotImplementedError, RuntimeError, EOFError) as error:  # fmt: skip
        problem = f"cannot be read as a log of Inspect: {shorten(str(error))}"
        hint = "convert it: inspect log convert --to json"
        raise InputError(f"{problem} ({hint})") from error
    return samples


def inspect_items(rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[AssessedItem]:
    """Yield the samples; the first value of an edited score is the judge's, the last a person's."""
    epochs = {cell_text(row.get("epoch")) for _, row in rows}
    for line, row in rows:
        sample = cell_text(row.get("id"))
        epoch = cell_text(row.get("epoch"))
        item = AssessedItem(f"{sample} epoch {epoch}" if len(epochs) > 1 else sample, line)
        item.group = sample if len(epochs) > 1 else ""
        output = row.get("output")
        completion = output.get("completion") if isinstance(output, dict) else None
        item.cells = {"input": _text_of(row.get("input")), "target": cell_text(row.get("target"))}
        item.cells |= {"output": cell_text(completion)}
        scores = row.get("scores")
        for name, score in (scores if isinstance(scores, dict) else {}).items():
            if isinstance(score, dict):
                item.assessments += _assessments(str(name), score)
        metadata = row.get("metadata")
        for name, value in (metadata if isinstance(metadata, dict) else {}).items():
            if usual_name(str(name)) in _HUMAN and not read_cell(value).blank:
                item.assessments.append(Assessment("human", "human", value))
        yield item


def _assessments(name: str, score: Mapping[str, Any]) -> list[Assessment]:
    """Return a score's assessments: the scorer's, and a person's if a person edited it."""
    if usual_name(name) in _HUMAN or usual_name(name).startswith("human_"):
        return [Assessment("human", "human", _value(score.get("value")))]
    history = [edit for edit in score.get("history") or () if isinstance(edit, dict)]
    edits = [edit for edit in history if isinstance(edit.get("provenance"), dict)]
    first = next((edit for edit in history if not edit.get("provenance")), score)
    first_value = _value(first.get("value"))
    reason = "no answer" if first.get("value") == _NO_ANSWER else ""
    assessments = [Assessment(name, "judge", first_value, reason=reason)]
    if edits:
        author = cell_text(edits[-1]["provenance"].get("author"))
        assessments.append(Assessment(name, "human", _value(score.get("value")), author))
    return assessments


def _value(value: Any) -> Any:
    return None if value == _NO_ANSWER else value


def _text_of(value: Any) -> str:
    """Return an input as text: the last message of a conversation."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        return cell_text(value[-1].get("content"))
    return cell_text(value)
