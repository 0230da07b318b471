"""Sources read into a catalogue: one reader for each kind, streaming."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text, decoded, read_json, scan_raw_lines
from pnyx.core.records import SIDES
from pnyx.core.restricted_mode import hides_text
from pnyx.core.rooms import ReaderDoor, load, named
from pnyx.formats.base import MAX_DEPTH, check_depth, located
from pnyx.formats.format_table import FORMATS
from pnyx.formats.label_words import LABEL_WORDS
from pnyx.formats.reports.responses import parse_response
from pnyx.judging.runs.engine import rows_in
from pnyx.web.results.builder import SEARCHED, Builder
from pnyx.web.results.measure_reader import read_leaderboard_file, read_measures
from pnyx.web.results.sources import ROOM_FILES, GivenSource

Reader = Callable[[Builder, int, str, str], None]
"""Reads a file of a source: (builder, number of the source, its part, its path)."""

UNFINISHED: Final = "unfinished"
"""The end time of a run that is in progress or was stopped."""

_NEAR: Final = 0.1
"""A probability within this distance of its threshold counts as near."""


def read_source(builder: Builder, given_source: GivenSource) -> None:
    """Read a source; a fault is stored as its problem."""
    with builder.source(given_source) as source:
        if given_source.problem:
            raise InputError(given_source.problem)
        if "manifest" in given_source.files:
            _about(builder, source, read_json(Path(given_source.files["manifest"])) or {})
        if given_source.kind == "begun":
            _judgements(builder, source, "begun", given_source.files["answers"])
            builder.about(source, finished=UNFINISHED)
            return
        parts = (
            _ORDER
            if given_source.kind in _FOLDERS
            else [p for p in given_source.files if p != "manifest"]
        )
        for part in parts:
            if part in given_source.files:
                _read_part(builder, source, part, given_source)


def _read_part(builder: Builder, source: int, part: str, given_source: GivenSource) -> None:
    rooms: dict[str, ReaderDoor] = named("READERS")
    if part in rooms:
        load(rooms[part].read)(builder, source, given_source)
        return
    read = _PARTS.get(part) if given_source.kind in _FOLDERS else READERS.get(given_source.kind)
    if read is None:
        raise InputError(f"no installed room reads {part}", path=given_source.path)
    read(builder, source, part, given_source.files[part])


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


def lines_of(path: str, *, begun: bool = False) -> Iterator[tuple[int, int, str]]:
    """Yield (line, place, text) of each line.

    InputError at the first line that is not text. A `begun` file may be empty, and may end within a
    line.
    """
    empty = not begun
    for line, offset, raw in scan_raw_lines(path):
        if raw.strip() and not (begun and not raw.endswith(b"\n")):
            empty = False
            yield line, offset, decoded(raw.rstrip(b"\r\n"), path, line)
    if empty:
        raise InputError("is empty", path=path)


def _rows(path: str, *, begun: bool = False) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (line, place, object) of each line, or row of it; InputError at the first fault."""
    for line, offset, text in lines_of(path, begun=begun):
        rows = rows_in(text, path, line)
        if text.count("[") + text.count("{") > MAX_DEPTH:
            try:
                for row in rows:
                    check_depth(row)
            except InputError as error:
                raise located(error, path, line) from error
        yield from ((line, offset, row) for row in rows)


def _shown(text: str) -> str:
    return "" if hides_text() else clean_text(text)


# Judgements ---------------------------------------------------------------------------------------


def _judgements(builder: Builder, source: int, part: str, path: str) -> None:
    file = builder.file(source, path, "answers")
    scored = count = 0
    judges: dict[str, None] = {}
    tasks: dict[str, None] = {}
    for line, offset, row in _rows(path, begun=part == "begun"):
        count += 1
        try:
            columns = _judgement(builder, row)
        except InputError as error:
            raise located(error, path, line) from error
        scored += columns["verdict"] != "unscored"
        judges[columns["judge"]] = tasks[columns["task"]] = None
        words = "" if hides_text() else _words(row)
        builder.judgement((source, count, *columns.values(), file, offset, line), words)
    builder.about(source, scored=scored, asked=count)
    for column, names in (("judge", judges), ("task", tasks)):
        builder.connection.execute(
            f"UPDATE source SET {column} = ? WHERE id = ? AND {column} = ''",
            (", ".join(list(names)[:3]), source),
        )


def _judgement(builder: Builder, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a judgement from `item` to `judges`, in their order."""
    if "id" not in row or "value" not in row:
        raise InputError("found no id or no value, expected a line of answers.jsonl")
    value = row["value"]
    probability = None if value is None else row.get("probability")
    if isinstance(probability, bool) or not isinstance(probability, int | float | None):
        raise InputError(f"probability: found {shorten(probability, 40)}, expected 0 to 1 or null")
    if probability is not None and not 0 <= probability <= 1:
        raise InputError(f"probability: found {probability:g}, expected 0 to 1")
    topic, run = _text(row, "topic_id", "group", "question_id"), _text(row, "run_id")
    verdict, unscored = _verdict(value), _text(row, "unscored")
    return {
        "item": _text(row, "id"),
        "task": _text(row, "task"),
        "dimension": _text(row, "dimension"),
        "run": builder.run(run) if run else None,
        "topic": builder.topic(topic) if topic else None,
        "doc": _text(row, "doc_id"),
        "perspective": _text(row, "perspective_id", "nugget_id"),
        "judge": _text(row, "judge", "annotator"),
        "value": None if value is None else json.dumps(value),
        "verdict": verdict,
        "probability": probability,
        "unscored": "" if value is not None else unscored or "no verdict",
        "doubt": _doubt(verdict, probability),
        "threshold": _nearness(probability, row.get("threshold")),
        "label": "",  # this and the next are filled in when all sources are read
        "judges": "",
    }


def _nearness(probability: float | None, threshold: Any) -> str:
    valid = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    near = probability is not None and abs(probability - (threshold if valid else 0.5)) <= _NEAR
    return "near" if near else ""


def _verdict(value: Any) -> str:
    """Return the class of a value, by which tables are filtered."""
    if value is None:
        return "unscored"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        if (label := LABEL_WORDS.get(value.strip().lower())) is not None:
            return "yes" if label else "no"
        return value if value in ("a", "b", "tie", *SIDES) else "word"
    return "order" if isinstance(value, list) else "score"


def _doubt(verdict: str, probability: float | None) -> float:
    """Return the sort key of tables (`schema.sql`)."""
    if verdict == "unscored":
        return -1.0
    if probability is None:
        return 2.0
    if verdict in ("yes", "no"):
        return probability if verdict == "yes" else 1.0 - probability
    return max(probability, 1.0 - probability)


def _text(row: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is present; empty for none."""
    for name in names:
        value = row.get(name)
        if isinstance(value, bool | list | dict):
            raise InputError(f"{name}: found {shorten(repr(value), 40)}, expected text")
        if value is not None and value != "":
            return str(value)
    return ""


def _words(row: Mapping[str, Any]) -> str:
    texts = (row.get(name) for name in SEARCHED)
    return clean_text(" ".join(text[:2000] for text in texts if isinstance(text, str) and text))


def _items(builder: Builder, source: int, part: str, path: str) -> None:
    """Read the position of each item, so that its text can be shown next to its judgement."""
    file = builder.file(source, path, "items")
    count = 0
    for line, offset, row in _rows(path):
        name = _text(row, "id")
        if not name:
            raise InputError("found no id, expected an item", path=path, line=line)
        builder.add("item", (name, file, offset, line))
        count += 1
    if part != "items":  # of a results folder, described by its manifest
        builder.about(source, task="items", about={"items": count})


# Responses ----------------------------------------------------------------------------------------


def _responses(builder: Builder, source: int, part: str, path: str) -> None:
    file = builder.file(source, path, "responses")
    for line, offset, row in _rows(path):
        try:
            response = parse_response(row)
        except InputError as error:
            raise located(error, path, line) from error
        ids = builder.run(response.run_id), builder.topic(response.topic_id, _shown(response.topic))
        side = response.metadata.get("stance")
        texts = [] if hides_text() else [clean_text(s.text) for s in response.sentences]
        count = len(response.sentences)
        head = (source, *ids, "response", side if side in SIDES else "", count, 0, 0, 0)
        builder.report((*head, file, offset, line), [""] * count, texts)


# Runs, topics, documents --------------------------------------------------------------------------


def _ranking(builder: Builder, source: int, part: str, path: str) -> None:
    """Count the documents of each run and topic; who shows a ranking reads it from its file."""
    builder.file(source, path, "run")
    counts = Counter((entry.tag, entry.topic_id) for entry in FORMATS[part].reader(path))
    by_run: dict[str, list[int]] = {}
    measure = ("documents", 0)
    for (run, topic), count in counts.items():
        by_run.setdefault(run, []).append(count)
        ids = builder.run(run), builder.topic(topic)
        builder.value((source, *ids, *measure, count, None, None, 1, 1))
    for run, scores in by_run.items():
        mean, topics = sum(scores) / len(scores), len(scores)
        cells = (*measure, mean, None, None, topics, topics)
        builder.value((source, builder.run(run), None, *cells))


def _nuggets(builder: Builder, source: int, part: str, path: str) -> None:
    builder.file(source, path, "nuggets")
    topics = nuggets = 0
    for bank in FORMATS[part].reader(path):
        topics += 1
        nuggets += len(bank.nuggets)
        builder.topic(bank.topic_id, _shown(bank.title))
    builder.about(source, task="nuggets", about={"topics": topics, "nuggets": nuggets})


def _topics(builder: Builder, source: int, part: str, path: str) -> None:
    builder.file(source, path, "topics")
    topics = 0
    for question in FORMATS[part].reader(path):
        topics += 1
        request = "" if question.description == question.text else question.description
        texts = question.text, request, question.narrative or question.definition
        builder.topic(question.id, *map(_shown, texts))
    builder.about(source, task="topics", about={"topics": topics})


def _file_alone(builder: Builder, source: int, part: str, path: str) -> None:
    """Store the path of a file; pages read it themselves."""
    builder.file(source, path, part)


def _document(builder: Builder, source: int, part: str, path: str) -> None:
    from pnyx.web.results.documents import check_document

    builder.file(source, path, "document")
    document = read_json(Path(path)) or {}
    judge = document.get("judge")
    judge = judge.get("name", "") if isinstance(judge, dict) else judge or ""
    builder.about(source, task=str(document.get("task") or ""), judge=str(judge))
    try:
        read_measures(builder, source, document)
        check_document(document)
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    except (TypeError, AttributeError, LookupError, RuntimeError, ValueError) as error:
        raise InputError(f"is not as pnyx writes it: {shorten(str(error))}", path=path) from error


def _measures(builder: Builder, source: int, part: str, path: str) -> None:
    builder.file(source, path, "measures")
    document = read_json(Path(path))
    if document is None:
        raise InputError("is not a JSON object, expected measures", path=path)
    read_measures(builder, source, document)


_PARTS: Final[Mapping[str, Reader]] = {
    "responses": _responses,
    "answers": _judgements,
    "measures": _measures,
    "run": _ranking,
    "summary": _document,
    "items": _items,
}
"""Part of a results folder -> its reader."""

_FOLDERS: Final = ("results", "stress")
"""Kinds of sources that are folders of results."""

_ORDER: Final = (
    "responses",
    *ROOM_FILES.values(),
    *(part for part in _PARTS if part != "responses"),
)
"""Parts of a results folder, in reading order."""

READERS: Final[Mapping[str, Reader]] = {
    "answers": _judgements,
    "labels": _judgements,
    "items": _items,
    "responses": _responses,
    "ranking": _ranking,
    "leaderboard": read_leaderboard_file,
    "nuggets": _nuggets,
    "topics": _topics,
    "perspectives": _file_alone,
    "measures": _document,
    "calibration": _document,
    "trial": _document,
    "card": _document,
    "compared": _document,
    "argued": _document,
    "unknown": _document,
}
"""Kind of a source that is one file -> its reader."""

_ORDERED_KINDS: Final = (
    "retrieval begun results stress answers labels items responses ranking leaderboard nuggets "
    "topics perspectives collection measures calibration trial card compared argued unknown"
).split()
_ROOM_KINDS: Final = (door.kind for door in named("READERS").values())

KINDS: Final = tuple(dict.fromkeys([*_ORDERED_KINDS, *_ROOM_KINDS]))
"""Every kind of source, in the order of the first page."""
