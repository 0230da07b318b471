"""Where annotations and labels disagree: a sample for people to check (DIRAS, 4.1, App. M)."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pnyx.corpora.base import parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields, number, string
from pnyx.errors import InputError, shorten
from pnyx.files import MAX_LINE_BYTES, atomic_text, json_line, scan_lines
from pnyx.judge.verdicts import Verdict
from pnyx.measure.core.ground_truth import Truth

EDGES: tuple[float, ...] = (0.9, 0.95, 0.98)
"""Confidences that part the bins of DIRAS, Appendix M; an edge belongs to the bin below it."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair on which the judge and the labels differ; names and texts may be empty.

    Attributes:
        value: what the judge says, `label` the labels: the opposite.
        probability: the judge's, that it is relevant.
        confidence: the judge's in its own verdict.
        low, high: the bin: above `low`, at most `high`.
        stratum: number of the stratum, from 1.
        stratum_size: how many disagreements there are in it; `drawn` of them were drawn.
        scored: how many annotations the file has, agreeing or not, without the unscored.
        above: edge of a bin -> how many of these have a higher confidence.
        definition: what is relevant to the question.
        right: who is right, as a person says: `judge`, `labels`, `unclear`, or nothing yet.
    """

    id: str
    question_id: str
    doc_id: str
    judge: str
    value: bool
    label: bool
    probability: float
    confidence: float
    low: float
    high: float
    stratum: int
    stratum_size: int
    drawn: int
    scored: int
    above: Mapping[str, int] = field(hash=False)
    question: str = ""
    definition: str = ""
    document: str = ""
    right: str = ""


def draw_disagreements(
    annotations: Iterable[Verdict],
    truth: Truth,
    *,
    per_stratum: int = 25,
    edges: Sequence[float] = EDGES,
    seed: int = 0,
) -> tuple[list[Disagreement], dict[str, int]]:
    """Draw disagreements, as many from each stratum, in a mixed order.

    Strata are bins of the judge's confidence, each by what the labels say.

    Args:
        annotations: a judge's; unscored ones agree and disagree with nothing.
        truth: what the labels say.
        per_stratum: how many to draw of each stratum, at least 1; all where there are fewer.
        edges: confidences that part the bins, rising, between 0 and 1.
        seed: random seed.

    Returns:
        The sample, and the counts `annotations`, `scored`, `unscored`, `labelled` and
        `disagreements`.

    Raises:
        InputError: a number out of range.
    """
    bounds = (0.0, *edges, 1.0)
    if per_stratum < 1:
        raise InputError(f"{per_stratum} of each stratum, expected at least 1")
    if not all(a < b for a, b in itertools.pairwise(bounds)):  # NaN is neither
        shown = ",".join(f"{e:g}" for e in edges)
        raise InputError(f"edges: found {shown}, expected rising ones between 0 and 1")
    strata, counts, above = _strata(annotations, truth, bounds)
    rng = random.Random(seed)
    drawn: list[Disagreement] = []
    for _, stratum in sorted(strata.items()):
        some = rng.sample(stratum, min(per_stratum, len(stratum)))
        sizes: dict[str, Any] = {
            "stratum_size": len(stratum),
            "drawn": len(some),
            "scored": counts["scored"],
        }
        drawn += [replace(found, **sizes, above=above) for found in some]
    rng.shuffle(drawn)  # so that nobody sees from the place how sure the judge was
    return drawn, counts


def _strata(
    annotations: Iterable[Verdict], truth: Truth, bounds: Sequence[float]
) -> tuple[dict[int, list[Disagreement]], dict[str, int], dict[str, int]]:
    """Return the disagreements by stratum, the counts, and those above each edge."""
    counts = dict.fromkeys(("annotations", "scored", "unscored", "labelled", "disagreements"), 0)
    edges = bounds[1:-1]
    above = {f"{edge:g}": 0 for edge in edges}
    strata: dict[int, list[Disagreement]] = {}
    for one in annotations:
        counts["annotations"] += 1
        confidence = one.confidence
        if one.value is None or confidence is None:
            counts["unscored"] += 1
            continue
        counts["scored"] += 1
        for edge in edges:
            above[f"{edge:g}"] += confidence > edge
        label = truth(one)
        counts["labelled"] += label is not None
        if label is None or label == one.value:
            continue
        counts["disagreements"] += 1
        place = sum(confidence > edge for edge in edges)
        number = 2 * place + (1 if label else 2)
        found = _disagreement(one, confidence, bounds[place : place + 2], number)
        strata.setdefault(number, []).append(found)
    return strata, counts, above


def _disagreement(
    one: Verdict, confidence: float, bin_: Sequence[float], number: int
) -> Disagreement:
    low, high = bin_
    known = {name: one.extra.get(name) for name in _TEXTS}
    texts: dict[str, Any] = {n: value for n, value in known.items() if isinstance(value, str)}
    return Disagreement(
        one.id, one.question_id, one.doc_id, one.judge, bool(one.value), not one.value,
        one.probability or 0.0, confidence, low, high, number, 0, 0, 0, {}, **texts,
    )  # fmt: skip


_ANSWERS = ("judge", "labels", "unclear")
"""What may stand in `right`; empty is no answer yet."""

_TEXTS = ("question", "definition", "document")
_CSV = ("right", "value", "label", *_TEXTS)
_NAMES = (*_CSV, *(f.name for f in fields(Disagreement) if f.name not in _CSV))
_STRINGS = ("id", "question_id", "doc_id", "judge", *_TEXTS, "right")
_SHARES = ("probability", "confidence", "low", "high")
_COUNTS = ("stratum", "stratum_size", "drawn", "scored")
_MOST = 1 << 53
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "'")
"""A cell that begins so gets an apostrophe: documents are hostile, spreadsheets compute."""


def write_review(path: str | Path, found: Iterable[Disagreement]) -> None:
    """Write disagreements for people to fill in: CSV for `.csv`, else JSONL; `-` is stdout."""
    rows = [asdict(one) for one in found]
    with atomic_text(path) as stream:
        if _is_csv(path):
            stream.write(_csv(rows))
        else:
            stream.writelines(json_line(row) + "\n" for row in rows)


def _is_csv(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".csv"


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _NAMES, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    text: str = value.replace("\r\n", "\n").replace("\r", "\n")
    return "'" + text if text.startswith(_FORMULA) else text


def read_review(path: str | Path) -> list[Disagreement]:
    """Read disagreements that were written by `write_review`, with people's answers.

    Raises:
        InputError: a line has another answer, lacks a field, or there are no disagreements; the
            line is named.
    """
    source = str(path)
    rows = _of_csv(source) if _is_csv(path) else scan_json_objects(source)
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
    delimiter = ";" if ";" in first else ","
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter)
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


def _uncell(cell: str, name: str) -> Any:
    if name in _STRINGS:
        return cell.removeprefix("'")
    try:
        return json.loads(cell.lower())  # spreadsheets write TRUE
    except (ValueError, RecursionError):
        return cell  # `_parse` says what is wrong with it


def _parse(row: Mapping[str, Any]) -> Disagreement:
    right = string(row.get("right") or "", "right").strip().lower()
    if right not in ("", *_ANSWERS):
        expected = ", ".join(_ANSWERS)
        raise InputError(f"right: found {shorten(right, 40)!r}, expected {expected} or nothing")
    taken, above = Fields(row), row.get("above")
    known: dict[str, Any] = {name: _share(row.get(name), name) for name in _SHARES}
    known |= {name: _count(row.get(name), name) for name in _COUNTS}
    if not isinstance(above, dict):
        raise InputError(f"above: found {shorten(above, 40)}, expected counts by confidence")
    known["above"] = {edge: _count(count, "above") for edge, count in above.items()}
    for name in ("value", "label"):
        known[name] = row.get(name)
        if not isinstance(known[name], bool):
            raise InputError(f"{name}: found {shorten(known[name], 40)}, expected true or false")
    known |= {n: taken.text(n) for n in _STRINGS if n not in ("id", "right")}
    return Disagreement(id=taken.identifier("id"), right=right, **known)


def _share(value: Any, name: str) -> float:
    if not 0 <= number(value, name) <= 1:
        raise InputError(f"{name}: found {shorten(value, 40)}, expected 0 to 1")
    return float(value)


def _count(value: Any, name: str) -> int:
    if not (0 <= number(value, name) <= _MOST and value == int(value)):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected a whole number from 0")
    return int(value)
