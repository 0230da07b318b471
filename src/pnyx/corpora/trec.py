"""TREC runs and qrels, diversity qrels and BEIR qrels."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO, TypeVar

from pnyx.corpora.base import Row, parse_rows, unique
from pnyx.errors import InputError, shorten
from pnyx.files import scan_lines
from pnyx.records import Qrel, RunEntry

__all__ = ["scan_beir_qrels", "scan_qrels", "scan_run", "write_beir_qrels", "write_qrels"]
__all__ += ["as_ranked", "parse_float", "parse_int", "write_run"]

T = TypeVar("T")

BEIR_HEADER = "query-id\tcorpus-id\tscore"
_INT = re.compile(r"[+-]?[0-9]{1,18}")
_WHOLE = re.compile(r"([+-]?[0-9]{1,18})\.0+")
_FLOAT = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COLUMNS = re.compile(r"[ \t]+")
_MOST = 3.4e38
"""About the largest number in single precision."""
_LEAST_STEP = 1e-30
"""Far above the numbers near zero that some machines flush to zero."""


def parse_int(text: str, name: str) -> int:
    """Read an integer in ASCII digits.

    Raises:
        InputError: it is something else.
    """
    if not _INT.fullmatch(text):
        raise InputError(f"{name}: found {shorten(text, 30)!r}, expected an integer")
    return int(text)


def parse_float(text: str, name: str) -> float:
    """Read a finite number in ASCII digits.

    Raises:
        InputError: it is something else; NaN and infinity are no scores.
    """
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


def _lines(source: str, parse: Callable[[str], T]) -> Iterator[Row[T]]:
    rows: Iterator[Row[str]] = (
        line if isinstance(line, InputError) else (number, line)
        for number, line in scan_lines(source)
        if isinstance(line, InputError) or line.strip(" \t")
    )
    return parse_rows(rows, parse, source)


def _run_entry(line: str) -> RunEntry:
    topic, _, doc, rank, score, tag = _split(line, "topic Q0 document rank score tag")
    return RunEntry(topic, doc, parse_int(rank, "rank"), parse_float(score, "score"), tag)


def scan_run(source: str) -> Iterator[Row[RunEntry]]:
    """A TREC run; a document may be ranked once for each topic."""
    rows = _lines(source, _run_entry)
    yield from unique(rows, lambda e: (e.topic_id, e.doc_id), source, "topic and document")


def as_ranked(entries: Iterable[RunEntry]) -> Iterator[RunEntry]:
    """Yield entries with scores by which trec_eval orders them as they come.

    trec_eval orders by score alone, which it holds in single precision, and equal ones by document
    id, the last of the alphabet first. So a score that is not below the one before, as trec_eval
    sees it, is set just below it: by about one part in eight million. All others stay as they are.

    Args:
        entries: those of a topic together, the best first.
    """
    topic, before = None, math.inf
    for entry in entries:
        score, single = entry.score, _single(entry.score)
        if entry.topic_id == topic and not single < before:
            score = single = _single(before - max(abs(before) * 2**-23, _LEAST_STEP))
        topic, before = entry.topic_id, single
        yield entry if score == entry.score else replace(entry, score=score)


def _single(score: float) -> float:
    """Return a number as single precision holds it."""
    if not math.isfinite(score):
        return score
    held: float = struct.unpack("f", struct.pack("f", max(-_MOST, min(score, _MOST))))[0]
    return held


def write_run(stream: IO[str], entries: Iterable[RunEntry]) -> None:
    """Write a TREC run; scores with every digit, so that reading gives the same numbers.

    Raises:
        InputError: an id or tag is empty or holds white space, or a score is not finite.
    """
    for e in entries:
        if not math.isfinite(e.score):
            raise InputError(f"topic {shorten(e.topic_id)}: score {e.score!r} is not finite")
        ids = _token(e.topic_id, "topic"), _token(e.doc_id, "document"), _token(e.tag, "tag")
        stream.write(f"{ids[0]} Q0 {ids[1]} {e.rank} {float(e.score)!r} {ids[2]}\n")


def _token(text: str, what: str) -> str:
    """Return a text that fits into one column.

    Raises:
        InputError: it does not.
    """
    if not text or re.search(r"[ \t\r\n\0]", text) or text.startswith("\ufeff"):
        raise InputError(f"{what} {shorten(text)!r} is empty or holds white space")
    return text


def _grade(text: str) -> int:
    whole = _WHOLE.fullmatch(text)  # Touché 2020 wrote its grades as 4.0
    return parse_int(whole[1] if whole else text, "grade")


def _qrel(line: str) -> Qrel:
    topic, subtopic, doc, grade = _split(line, "topic subtopic document grade")
    return Qrel(topic, doc, _grade(grade), subtopic)


def _qrel_key(qrel: Qrel) -> tuple[str, str, str]:
    return qrel.topic_id, qrel.subtopic, qrel.doc_id


def scan_qrels(source: str) -> Iterator[Row[Qrel]]:
    """TREC qrels; in diversity qrels the second column numbers the subtopic."""
    rows = _lines(source, _qrel)
    yield from unique(rows, _qrel_key, source, "topic, subtopic and document")


def write_qrels(stream: IO[str], qrels: Iterable[Qrel]) -> None:
    """Write TREC qrels, with the subtopic in the second column.

    Raises:
        InputError: an id is empty or holds white space.
    """
    for q in qrels:
        topic, subtopic = _token(q.topic_id, "topic"), _token(q.subtopic, "subtopic")
        stream.write(f"{topic} {subtopic} {_token(q.doc_id, 'document')} {q.grade}\n")


def scan_beir_qrels(source: str) -> Iterator[Row[Qrel]]:
    """BEIR qrels: tab-separated with the header `query-id corpus-id score`."""
    rows = _beir_lines(source)
    yield from unique(rows, _qrel_key, source, "topic, subtopic and document")


def _beir_lines(source: str) -> Iterator[Row[Qrel]]:
    tab = re.compile("\t")

    def parse(line: str) -> Qrel:
        topic, doc, grade = _split(line, BEIR_HEADER, tab)
        if not topic or not doc:
            raise InputError("an id is empty")
        return Qrel(topic, doc, _grade(grade))

    header = True
    for number, line in scan_lines(source):
        if header and line != BEIR_HEADER:
            shown = shorten(line if isinstance(line, str) else line.problem, 40)
            problem = f"found {shown!r}, expected the header query-id, corpus-id, score"
            yield InputError(problem, path=source, line=number)
        elif isinstance(line, InputError):
            yield line
        elif not header and line.strip():
            yield from parse_rows([(number, line)], parse, source)
        header = False


def write_beir_qrels(stream: IO[str], qrels: Iterable[Qrel]) -> None:
    """Write BEIR qrels.

    Raises:
        InputError: an id holds a tab or line end, or a grade belongs to a subtopic.
    """
    stream.write(BEIR_HEADER + "\n")
    for q in qrels:
        if q.subtopic != "0":
            raise InputError(f"BEIR qrels cannot hold subtopic {shorten(q.subtopic)!r}")
        for name in (q.topic_id, q.doc_id):
            if not name or re.search(r"[\t\r\n\0]", name):
                raise InputError(f"id {shorten(name)!r} is empty or holds a tab or line end")
        stream.write(f"{q.topic_id}\t{q.doc_id}\t{q.grade}\n")
