"""Disagreements as files that people fill in: JSONL, CSV for spreadsheets, Markdown for editors.

All three hold the same fields and are read again. Documents are hostile: in a spreadsheet a cell
that begins like a formula gets an apostrophe, in Markdown each line of a text is a quotation.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pnyx.annotate.reviewing import Disagreement
from pnyx.corpora.base import parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields, number, string
from pnyx.errors import InputError, shorten
from pnyx.files import MAX_LINE_BYTES, atomic_text, json_line, read_lines, scan_lines

__all__ = ["ANSWERS", "read_review", "write_review"]

ANSWERS = ("judge", "labels", "unclear")
"""What may stand in `right`; empty is no answer yet."""

_TEXTS = ("question", "definition", "document")
_CSV = ("right", "value", "label", *_TEXTS)
_NAMES = tuple(f.name for f in fields(Disagreement))
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "'")
_HEAD = """# Disagreements to check

After each `right:` write `judge` if what the judge says is right, `labels` if what the labels say
is right, or `unclear`. Change nothing else.
"""
_MARK = "<!-- pnyx "


def write_review(path: str | Path, found: Iterable[Disagreement]) -> None:
    """Write disagreements, as the name says: `.csv`, `.md` or else JSONL; `-` is stdout.

    Raises:
        PnyxError: the file cannot be written.
    """
    rows = [asdict(one) for one in found]
    suffix = Path(path).suffix.lower()
    with atomic_text(path) as stream:
        if suffix == ".csv":
            stream.write(_csv(rows))
        elif suffix in (".md", ".markdown"):
            stream.write(_HEAD + "".join(map(_markdown, rows)))
        else:
            stream.writelines(json_line(row) + "\n" for row in rows)


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    buffer = io.StringIO()
    names = [*_CSV, *(name for name in _NAMES if name not in _CSV)]
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    text: str = value.replace("\r\n", "\n").replace("\r", "\n")
    return "'" + text if text.startswith(_FORMULA) else text


def _markdown(row: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in row.items() if name not in (*_TEXTS, "right")}
    mark = json.dumps(kept).replace("<", "\\u003c").replace(">", "\\u003e")
    lines = [f"\n## {shorten(row['id'], 100)}\n", f"{_MARK}{mark} -->\n"]
    for name in _TEXTS:
        if row[name]:
            quoted = "\n".join(f"> {line}" for line in row[name].splitlines())
            lines.append(f"\n{name}:\n\n{quoted}\n")
    said = {True: "relevant", False: "irrelevant"}
    lines.append(f"\njudge: {said[row['value']]}\nlabels: {said[row['label']]}\n")
    return "".join(lines) + f"right: {row['right']}\n"


def read_review(path: str | Path) -> list[Disagreement]:
    """Read disagreements that were written by `write_review`, with people's answers.

    Raises:
        InputError: a line has another answer, lacks a field, or there are no disagreements; the
            line is named.
    """
    suffix = Path(path).suffix.lower()
    source = str(path)
    if suffix == ".csv":
        rows = _of_csv(source)
    elif suffix in (".md", ".markdown"):
        rows = _of_markdown(source)
    else:
        rows = scan_json_objects(source)
    parsed = unique(parse_rows(rows, _parse, source), lambda d: d.id, source)
    found = []
    draws: dict[Any, Any] = {}
    for line, one in strict(parsed, source, "disagreements"):
        for key, counts in (
            ("all", (one.scored, dict(one.above))),
            (one.stratum, (one.low, one.high, one.stratum_size)),
        ):
            if draws.setdefault(key, counts) != counts:
                problem = "is of another draw than the lines before it: evaluate each by itself"
                raise InputError(problem, path=path, line=line)
        found.append(one)
    return found


def _of_csv(path: str) -> Iterator[Any]:
    """Yield the rows of a CSV file, with commas or with the semicolons of some spreadsheets."""
    if csv.field_size_limit() < MAX_LINE_BYTES:
        csv.field_size_limit(MAX_LINE_BYTES)
    lines = _strict_lines(path)
    first = next(lines, "")
    reader = csv.reader(_chained(first, lines), delimiter=";" if ";" in first else ",")
    header = _row_of(reader, path) or []
    start = reader.line_num + 1
    while (row := _row_of(reader, path)) is not None:
        if row:
            if len(row) != len(header):
                problem = f"found {len(row)} columns, expected {len(header)} as in the header"
                raise InputError(problem, path=path, line=start)
            yield start, dict(zip(header, map(_uncell, row, header), strict=True))
        start = reader.line_num + 1


def _row_of(reader: Iterator[list[str]], path: str) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        line: int = getattr(reader, "line_num", 0) or 1
        raise InputError(f"not valid CSV ({error})", path=path, line=line) from error


def _strict_lines(path: str) -> Iterator[str]:
    for _, line in scan_lines(path, keepends=True):
        if isinstance(line, InputError):
            raise line
        yield line


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _uncell(cell: str, name: str) -> Any:
    if name in ("id", "question_id", "doc_id", "judge", *_TEXTS, "right"):
        return cell[1:] if cell.startswith("'") else cell
    try:
        return json.loads(cell.lower())  # spreadsheets write TRUE
    except (ValueError, RecursionError):
        return cell  # `_parse` says what is wrong with it


def _of_markdown(path: str) -> Iterator[Any]:
    """Yield the marks with the answers that follow them, numbered by the line of the answer."""
    mark: tuple[int, dict[str, Any]] | None = None
    for at, line in read_lines(path):
        if line.startswith(_MARK):
            if mark is not None:
                raise InputError("expected a line `right:` before it", path=path, line=at)
            try:
                mark = at, dict(json.loads(line.removeprefix(_MARK).removesuffix(" -->")))
            except (TypeError, ValueError, RecursionError) as error:
                raise InputError("the comment was changed", path=path, line=at) from error
        elif mark is not None and (found := re.match(r"right:(.*)", line)):
            yield at, {**mark[1], "right": found[1]}
            mark = None
    if mark is not None:
        raise InputError("expected a line `right:` after it", path=path, line=mark[0])


def _parse(row: Mapping[str, Any]) -> Disagreement:
    right = string(row.get("right") or "", "right").strip().lower()
    if right not in ("", *ANSWERS):
        expected = ", ".join(ANSWERS)
        raise InputError(f"right: found {shorten(right, 40)!r}, expected {expected} or nothing")
    taken = Fields(row)
    known: dict[str, Any] = {name: _share(row.get(name), name) for name in _SHARES}
    known |= {name: _count(row.get(name), name) for name in _COUNTS}
    above = row.get("above")
    if not isinstance(above, dict):
        raise InputError(f"above: found {shorten(above, 40)}, expected counts by confidence")
    above = {edge: _count(count, "above") for edge, count in above.items()}
    for name in ("value", "label"):
        if not isinstance(row.get(name), bool):
            raise InputError(f"{name}: found {shorten(row.get(name), 40)}, expected true or false")
    known |= {n: taken.text(n) for n in ("question_id", "doc_id", "judge", *_TEXTS)}
    return Disagreement(
        id=taken.identifier("id"),
        value=row["value"],
        label=row["label"],
        above=above,
        right=right,
        **known,
    )


def _share(value: Any, name: str) -> float:
    if not 0 <= number(value, name) <= 1:
        raise InputError(f"{name}: found {shorten(value, 40)}, expected 0 to 1")
    return float(value)


def _count(value: Any, name: str) -> int:
    if not (0 <= number(value, name) <= _MOST and value == int(value)):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected a whole number from 0")
    return int(value)


_SHARES = ("probability", "confidence", "low", "high")
_COUNTS = ("stratum", "stratum_size", "drawn", "scored")
_MOST = 1 << 53
