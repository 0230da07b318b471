"""TREC runs and qrels, diversity qrels and BEIR qrels."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import IO

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import scan_lines
from pnyx.core.records import Qrel, RunEntry
from pnyx.formats.base import Row, format_of, scan_text_lines, scanned, with_options

BEIR_HEADER = "query-id\tcorpus-id\tscore"
_INT = re.compile(r"[+-]?[0-9]{1,18}")
_WHOLE = re.compile(r"([+-]?[0-9]{1,18})\.0+")
_FLOAT = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COLUMNS = re.compile(r"[ \t]+")
_TAB = re.compile("\t")
_MOST = 3.4e38
"""About the largest number in single precision."""
_LEAST_STEP = 1e-30
"""Well above the numbers near zero that some machines flush to zero."""


def _parse_int(text: str, name: str) -> int:
    if not _INT.fullmatch(text):
        raise InputError(f"{name}: found {shorten(text, 30)!r}, expected an integer")
    return int(text)


def parse_float(text: str, name: str) -> float:
    """Read a finite number in ASCII digits."""
    value = float(text) if _FLOAT.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise InputError(f"{name}: found {shorten(text, 30)!r}, expected a finite number")
    return value


def _split(line: str, names: str, separator: re.Pattern[str] = _COLUMNS) -> list[str]:
    parts = separator.split(line.strip(" \t")) if separator is _COLUMNS else separator.split(line)
    expected = len(names.split())
    if len(parts) != expected:
        raise InputError(f"found {len(parts)} columns, expected {expected} ({names})")
    return parts


def _run_entry(line: str) -> RunEntry:
    topic, _, doc, rank, score, tag = _split(line, "topic Q0 document rank score tag")
    return RunEntry(topic, doc, _parse_int(rank, "rank"), parse_float(score, "score"), tag)


def as_ranked(entries: Iterable[RunEntry]) -> Iterator[RunEntry]:
    """Yield entries, best first, with scores that stay ordered in single precision (trec_eval)."""
    topic, before = None, math.inf
    for entry in entries:
        score, single = entry.score, _single(entry.score)
        if entry.topic_id == topic and not single < before:
            score = single = _single(before - max(abs(before) * 2**-23, _LEAST_STEP))
        topic, before = entry.topic_id, single
        yield entry if score == entry.score else replace(entry, score=score)


def _single(score: float) -> float:
    """Return a number rounded to single precision."""
    if not math.isfinite(score):
        return score
    return array("f", [max(-_MOST, min(score, _MOST))])[0]


def trec_eval_order(scores: Mapping[str, float]) -> list[tuple[float, str]]:
    """Return scores in single precision with their documents, best first, as trec_eval ranks them.

    Equal scores are in order of document id, last first; scores beyond single precision are equal.
    """
    return sorted(zip(array("f", scores.values()), scores, strict=True), reverse=True)


def write_run(stream: IO[str], entries: Iterable[RunEntry]) -> None:
    """Write a TREC run; InputError for an id, tag or score that the format cannot hold."""
    for e in entries:
        if not math.isfinite(e.score):
            raise InputError(f"topic {shorten(e.topic_id)}: score {e.score!r} is not finite")
        ids = a_token(e.topic_id, "topic"), a_token(e.doc_id, "document"), a_token(e.tag, "tag")
        stream.write(f"{ids[0]} Q0 {ids[1]} {e.rank} {float(e.score)!r} {ids[2]}\n")


def a_token(text: str, what: str) -> str:
    """Return a text if it fits into one column; else InputError."""
    if not text or re.search(r"[ \t\r\n\0]", text) or text.startswith("\ufeff"):
        raise InputError(f"{what} {escaped(text)!r} is empty or holds white space")
    return text


def parse_grade(text: str) -> int:
    """Read a grade, also one written as 4.0."""
    whole = _WHOLE.fullmatch(text)  # Touché 2020 wrote its grades as 4.0
    return _parse_int(whole[1] if whole else text, "grade")


def _qrel(line: str) -> Qrel:
    topic, subtopic, doc, grade = _split(line, "topic subtopic document grade")
    return Qrel(topic, doc, parse_grade(grade), subtopic)


def _scan_qrels(
    source: str, parse: Callable[[str], Qrel] = _qrel, rows: Iterable[Row[str]] | None = None
) -> Iterator[Row[Qrel]]:
    rows = scan_text_lines(source) if rows is None else rows
    key = attrgetter("topic_id", "subtopic", "doc_id")
    return scanned(source, parse, key, rows=rows, what="topic, subtopic and document")


def write_qrels(stream: IO[str], qrels: Iterable[Qrel]) -> None:
    """Write TREC qrels, the subtopic second; InputError for an id with white space."""
    for q in qrels:
        topic, subtopic = a_token(q.topic_id, "topic"), a_token(q.subtopic, "subtopic")
        stream.write(f"{topic} {subtopic} {a_token(q.doc_id, 'document')} {q.grade}\n")


def _beir_qrel(line: str) -> Qrel:
    topic, doc, grade = _split(line, BEIR_HEADER, _TAB)
    if not topic or not doc:
        raise InputError("an id is empty")
    return Qrel(topic, doc, parse_grade(grade))


def _beir_lines(source: str) -> Iterator[Row[str]]:
    header = True
    for number, line in scan_lines(source):
        if header and line != BEIR_HEADER:
            first_line = shorten(line if isinstance(line, str) else line.problem, 40)
            problem = f"found {first_line!r}, expected the header query-id, corpus-id, score"
            yield InputError(problem, path=source, line=number)
        elif isinstance(line, InputError):
            yield line
        elif not header and line.strip():
            yield number, line
        header = False


def _write_beir_qrels(stream: IO[str], qrels: Iterable[Qrel]) -> None:
    stream.write(BEIR_HEADER + "\n")
    for q in qrels:
        if q.subtopic != "0":
            raise InputError(f"BEIR qrels cannot hold subtopic {shorten(q.subtopic)!r}")
        for name in (q.topic_id, q.doc_id):
            if not name or re.search(r"[\t\r\n\0]", name):
                raise InputError(f"id {shorten(name)!r} is empty or holds a tab or line end")
        stream.write(f"{q.topic_id}\t{q.doc_id}\t{q.grade}\n")


def _scan_run(source: str) -> Iterator[Row[RunEntry]]:
    key, rows = attrgetter("topic_id", "doc_id"), scan_text_lines(source)
    return scanned(source, _run_entry, key, rows=rows, what="topic and document")


FORMATS = (
    format_of("run", with_options(_scan_run), write_run),
    format_of("qrels", with_options(_scan_qrels), write_qrels),
    format_of(
        "beir-qrels",
        with_options(lambda source: _scan_qrels(source, _beir_qrel, _beir_lines(source))),
        _write_beir_qrels,
    ),
)
