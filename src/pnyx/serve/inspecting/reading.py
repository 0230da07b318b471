"""Sources read into a catalogue: one reader for each kind, streaming."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pnyx.corpora.base import MAX_DEPTH, check_depth, located
from pnyx.corpora.benchmarks.responses import parse_response
from pnyx.corpora.reading import FORMATS
from pnyx.errors import InputError, shorten
from pnyx.files import clean_text, decoded, parse_json_object, read_json, scan_raw_lines
from pnyx.judge.reports.reading import judged_report_at
from pnyx.judge.reports.records import JudgedReport, JudgedSentence
from pnyx.records import SIDES
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.building import SEARCHED, Builder
from pnyx.serve.inspecting.given import Found
from pnyx.serve.inspecting.measured import (
    ReportMeasures,
    read_board,
    read_measures,
    read_own_measures,
)

Reader = Callable[[Builder, int, Found], None]

_STATES: Final = ("unscored", "penalty", "reward", "neutral")
"""Of a sentence with several steps, the first of these counts."""


def read_source(builder: Builder, found: Found) -> None:
    """Read a source; a fault in it becomes its problem."""
    with builder.source(found) as source:
        if found.problem:
            raise InputError(found.problem)
        manifest = read_json(Path(found.files["manifest"])) if "manifest" in found.files else {}
        _about(builder, source, manifest or {})
        READERS[found.kind](builder, source, found)


def _about(builder: Builder, source: int, manifest: Mapping[str, Any]) -> None:
    judge = manifest.get("judge", "")
    judge = judge.get("name", "") if isinstance(judge, dict) else judge
    cost = manifest.get("cost")
    dollars = cost.get("dollars") if isinstance(cost, dict) else None
    builder.about(
        source,
        about=dict(manifest),
        task=str(manifest.get("task") or manifest.get("kind") or ""),
        judge=str(judge),
        finished=str(manifest.get("finished") or manifest.get("created") or ""),
        dollars=dollars if isinstance(dollars, int | float) else None,
    )


def _lines(path: str) -> Iterator[tuple[int, int, str]]:
    """Yield (line, place, text) of each line; InputError at the first that is no text."""
    empty = True
    for line, place, raw in scan_raw_lines(path):
        if raw.strip():
            empty = False
            yield line, place, decoded(raw.rstrip(b"\r\n"), path, line)
    if empty:
        raise InputError("is empty", path=path)


def _rows(path: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (line, place, object) of each line; InputError at the first fault."""
    for line, place, text in _lines(path):
        row = parse_json_object(text, path=path, number=line)
        if text.count("[") + text.count("{") > MAX_DEPTH:
            try:
                check_depth(row)
            except InputError as error:
                raise located(error, path, line) from error
        yield line, place, row


# Folders of results -------------------------------------------------------------------------------


def _results(builder: Builder, source: int, found: Found) -> None:
    for part, read in (
        ("responses", _responses),
        ("reports", _reports),
        ("answers", _answers),
        ("measures", read_own_measures),
        ("run", _ranking),
        ("summary", _document),
        ("items", _items),
    ):
        if part in found.files:
            read(builder, source, Found(found.name, found.path, "", {part: found.files[part]}))


# Judgements ---------------------------------------------------------------------------------------

_TASK, _JUDGE, _VERDICT = 3, 9, 11
"""Places among the columns of a judgement, from `source` on."""


def _answers(builder: Builder, source: int, found: Found) -> None:
    path = found.files["answers"]
    file = builder.file(source, path, "answers")
    scored = asked = 0
    judges: dict[str, None] = {}
    tasks: dict[str, None] = {}
    for line, place, row in _rows(path):
        asked += 1
        try:
            judged = _judged(builder, row, source, asked)
        except InputError as error:
            raise located(error, path, line) from error
        scored += judged[_VERDICT] != "unscored"
        judges[judged[_JUDGE]] = None
        tasks[judged[_TASK]] = None
        number = builder.judgement((*judged, file, place, line))
        if not hides_text():
            builder.words(number, _words(row))
    told = {"scored": scored, "asked": asked}
    builder.about(source, **told)
    builder.connection.execute(
        "UPDATE source SET judge = ? WHERE id = ? AND judge = ''",
        (", ".join(list(judges)[:3]), source),
    )
    builder.connection.execute(
        "UPDATE source SET task = ? WHERE id = ? AND task = ''",
        (", ".join(list(tasks)[:3]), source),
    )


def _judged(builder: Builder, row: Mapping[str, Any], source: int, n: int) -> tuple[Any, ...]:
    """Return the columns of a judgement from `source` to `doubt`."""
    if "id" not in row or "value" not in row:
        raise InputError("found no id or no value, expected a line of answers.jsonl")
    value, probability = row["value"], row.get("probability")
    unscored = _text(row, "unscored")
    if value is None:
        unscored = unscored or "no verdict"
        probability = None
    if isinstance(probability, bool) or not isinstance(probability, int | float | None):
        raise InputError(f"probability: found {shorten(probability, 40)}, expected 0 to 1 or null")
    if probability is not None and not 0 <= probability <= 1:
        raise InputError(f"probability: found {probability:g}, expected 0 to 1")
    topic = _text(row, "topic_id") or _text(row, "group") or _text(row, "question_id")
    run = _text(row, "run_id")
    verdict = verdict_of(value)
    doubt = -1.0 if value is None else 2.0 if probability is None else _confidence(
        verdict, float(probability)
    )  # fmt: skip
    return (
        source, n, _text(row, "id"), _text(row, "task"), _text(row, "dimension"),
        builder.run(run) if run else None, builder.topic(topic) if topic else None,
        _text(row, "doc_id"), _text(row, "perspective_id") or _text(row, "nugget_id"),
        _text(row, "judge"), None if value is None else json.dumps(value), verdict, probability,
        "" if value is not None else unscored, doubt,
    )  # fmt: skip


def verdict_of(value: Any) -> str:
    """Return the class of a value, by which lists are narrowed."""
    if value is None:
        return "unscored"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value if value in ("a", "b", "tie", *SIDES) else "word"
    return "order" if isinstance(value, list) else "score"


def _confidence(verdict: str, probability: float) -> float:
    """Return the probability of the value given; where it says nothing of that, the larger."""
    if verdict == "yes":
        return probability
    return 1.0 - probability if verdict == "no" else max(probability, 1.0 - probability)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict):
        raise InputError(f"{name}: found {shorten(repr(value), 40)}, expected text")
    return str(value)


def _words(row: Mapping[str, Any]) -> str:
    found = (row.get(name) for name in SEARCHED)
    return clean_text(" ".join(one[:2000] for one in found if isinstance(one, str) and one))


# Reports and responses ----------------------------------------------------------------------------


def _reports(builder: Builder, source: int, found: Found) -> None:
    path = found.files["reports"]
    file = builder.file(source, path, "reports")
    seen: set[tuple[int, int]] = set()
    own = ReportMeasures(builder, source)
    for line, place, text in _lines(path):
        report = judged_report_at(text, path, line)
        ids = builder.run(report.run_id), builder.topic(report.topic_id)
        if ids in seen:
            raise InputError("found a second report of its run and topic", path=path, line=line)
        seen.add(ids)
        scored, asked = _counts(report)
        texts = [] if hides_text() else [clean_text(one.text) for one in report.sentences]
        states = [_state(one) for one in report.sentences]
        builder.report(
            (source, *ids, "judged", "", len(states), scored, asked, int(report.missing), file,
             place, line),
            states,
            texts,
        )  # fmt: skip
        own.take(report, *ids)
    own.finish()


def _counts(report: JudgedReport) -> tuple[int, int]:
    """Return how many findings of a report are scored, of how many."""
    findings = [
        finding
        for sentence in report.sentences
        for finding in (
            *sentence.findings.values(),
            *(f for one in sentence.citations for f in (one.relevant, one.attests)),
        )
    ]
    return sum(one.value is not None for one in findings), len(findings)


def _state(sentence: JudgedSentence) -> str:
    outcomes = {step.outcome for step in sentence.steps}
    return next((one for one in _STATES if one in outcomes), "neutral")


def _responses(builder: Builder, source: int, found: Found) -> None:
    (path,) = found.files.values()
    file = builder.file(source, path, "responses")
    for line, place, row in _rows(path):
        try:
            response = parse_response(row)
        except InputError as error:
            raise located(error, path, line) from error
        title = "" if hides_text() else clean_text(response.topic)
        ids = builder.run(response.run_id), builder.topic(response.topic_id, title)
        side = response.metadata.get("stance")
        texts = [] if hides_text() else [clean_text(one.text) for one in response.sentences]
        count = len(response.sentences)
        builder.report(
            (source, *ids, "response", side if side in SIDES else "", count, 0, 0, 0, file, place,
             line),
            [""] * count,
            texts,
        )  # fmt: skip


def _ranking(builder: Builder, source: int, found: Found) -> None:
    (path,) = found.files.values()
    builder.file(source, path, "run")
    counts: dict[tuple[str, str], int] = {}
    for entry in FORMATS["run"].reader(path):
        key = entry.tag, entry.topic_id
        counts[key] = counts.get(key, 0) + 1
    for (run, topic), count in counts.items():
        builder.value(
            (
                source,
                builder.run(run),
                builder.topic(topic),
                "documents",
                0,
                count,
                None,
                None,
                1,
                1,
            )
        )
    tags = {run for run, _ in counts}
    for run in tags:
        own = [count for (tag, _), count in counts.items() if tag == run]
        mean = sum(own) / len(own)
        builder.value(
            (source, builder.run(run), None, "documents", 0, mean, None, None, len(own), len(own))
        )


def _nuggets(builder: Builder, source: int, found: Found) -> None:
    (part, path), *_ = found.files.items()
    builder.file(source, path, "nuggets")
    count = nuggets = 0
    for bank in FORMATS[part].reader(path):
        count += 1
        nuggets += len(bank.nuggets)
        builder.topic(bank.topic_id, "" if hides_text() else clean_text(bank.title))
    builder.about(source, task="nuggets", about={"topics": count, "nuggets": nuggets})


def _topics(builder: Builder, source: int, found: Found) -> None:
    (part, path), *_ = found.files.items()
    builder.file(source, path, "topics")
    count = 0
    for question in FORMATS[part].reader(path):
        count += 1
        builder.topic(question.id, "" if hides_text() else clean_text(question.text))
    builder.about(source, task="topics", about={"topics": count})


def _kept(builder: Builder, source: int, found: Found) -> None:
    """Keep where a file is; pages read it themselves."""
    for part, path in found.files.items():
        builder.file(source, path, part)


def _items(builder: Builder, source: int, found: Found) -> None:
    """Read where each item is, so that its text stands beside what was said of it."""
    (path,) = found.files.values()
    file = builder.file(source, path, "items")
    count = 0
    for line, place, row in _rows(path):
        name = _text(row, "id")
        if not name:
            raise InputError("found no id, expected an item", path=path, line=line)
        builder.item((name, file, place, line))
        count += 1
    if found.kind == "items":
        builder.about(source, task="items", about={"items": count})


def _labels(builder: Builder, source: int, found: Found) -> None:
    _answers(builder, source, Found(found.name, found.path, "", {"answers": found.files["labels"]}))


def _document(builder: Builder, source: int, found: Found) -> None:
    (path,) = found.files.values()
    builder.file(source, path, "document")
    document = read_json(Path(path)) or {}
    judge = document.get("judge")
    judge = judge.get("name", "") if isinstance(judge, dict) else judge or ""
    builder.about(source, task=str(document.get("task") or ""), judge=str(judge))
    try:
        read_measures(builder, source, document)
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise InputError(f"is not as pnyx writes it: {shorten(str(error))}", path=path) from error


READERS: Final[Mapping[str, Reader]] = {
    "results": _results,
    "stress": _results,
    "answers": _answers,
    "labels": _labels,
    "items": _items,
    "responses": _responses,
    "ranking": _ranking,
    "leaderboard": read_board,
    "nuggets": _nuggets,
    "topics": _topics,
    "perspectives": _kept,
    "measures": _document,
    "agreement": _document,
    "calibration": _document,
    "trial": _document,
    "card": _document,
    "compared": _document,
    "argued": _document,
    "unknown": _document,
}
"""Kind of source -> its reader."""

KINDS: Final = tuple(READERS)
"""Every kind of source."""
