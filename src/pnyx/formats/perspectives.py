"""Perspectives on questions as JSON Lines: Pnyx's own format, and both formats of BERDS.

BERDS, retrieval: `question, perspectives` (texts). BERDS, query expansion: `org_id, org_q, text,
perspectives`, a line for each query that its model wrote, always with the list of perspectives
that a retrieval must cover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from pnyx.core.errors import InputError
from pnyx.core.records import STANCES, Perspective, Stance
from pnyx.formats.base import (
    Row,
    encode,
    format_of,
    parse_rows,
    row_writer,
    scan_json_objects,
    strict,
    unique,
    with_options,
)
from pnyx.formats.fields import Fields, merged
from pnyx.formats.questions import topic_order


def _scan_written(source: str) -> Iterator[Row[Perspective]]:
    """Yield perspectives; for BERDS's query expansion, those written by its model."""
    return _scan(source, _perspectives)


def _scan_gold(source: str) -> Iterator[Row[Perspective]]:
    """Like `_scan_written`, but for BERDS's query expansion those a retrieval must cover."""
    lists: dict[str, tuple[str, ...]] = {}

    def parse(row: Mapping[str, Any]) -> list[Perspective]:
        if "org_q" not in row or "perspectives" not in row:
            return _perspectives(row)
        perspectives = _listed(row)
        texts = tuple(perspective.text for perspective in perspectives)
        if lists.setdefault(perspectives[0].question_id, texts) is texts:
            return perspectives
        if lists[perspectives[0].question_id] != texts:
            raise InputError("perspectives: differ from those in an earlier line of the question")
        return []

    return _scan(source, parse)


def _scan(
    source: str, parse: Callable[[Mapping[str, Any]], list[Perspective]]
) -> Iterator[Row[Perspective]]:
    def flat() -> Iterator[Row[Perspective]]:
        for row in parse_rows(scan_json_objects(source), parse, source):
            if isinstance(row, InputError):
                yield row
            else:
                yield from ((row[0], perspective) for perspective in row[1])

    yield from unique(flat(), lambda p: (p.question_id, p.id), source)


def read_perspectives(path: str | Path, *, gold: bool = False) -> list[Perspective]:
    """Read a file of perspectives; `-` is standard input.

    Args:
        path: the file.
        gold: for BERDS's query expansion, the perspectives a retrieval must cover in place of
            the queries its model wrote.

    Raises:
        InputError: at the first fault, naming file and line; also if the file has no records.
    """
    scan = _scan_gold if gold else _scan_written
    rows = strict(scan(str(path)), str(path), "perspectives")
    return [perspective for _, perspective in rows]


def _row(perspective: Perspective) -> dict[str, Any]:
    row: dict[str, Any] = {"id": perspective.id, "question_id": perspective.question_id}
    if not perspective.question_id:  # a file on one question need not name it
        del row["question_id"]
    row |= {"text": perspective.text, "stance": perspective.stance}
    return dict(merged(row, perspective.extra, ("question_id", "org_q")))


def perspective_line(perspective: Perspective) -> str:
    """Return a perspective as one line in Pnyx's own form, with its newline."""
    return encode(_row(perspective), perspective.id)


write_perspectives = row_writer(_row)


def _perspectives(row: Mapping[str, Any]) -> list[Perspective]:
    if "text" not in row and "perspectives" in row:
        return _listed(row)
    fields = Fields(row)
    if "org_q" in row:  # there, BERDS's `question` is the question with the perspective
        question, question_id = _berds_question(fields)
    else:
        question = fields.text("question")
        question_id = fields.identifier("question_id") if "question_id" in row else question
    return [
        Perspective(
            id=fields.identifier("id"),
            question_id=question_id,
            text=fields.required("text"),
            stance=cast("Stance | None", fields.choice("stance", STANCES)),
            extra={**fields.rest, **({"question": question} if question else {})},
        )
    ]


def _berds_question(fields: Fields) -> tuple[str, str]:
    question = fields.required("org_q")
    question_id = fields.identifier("org_id") if "org_id" in fields.rest else question
    for repeated in ("question", "input"):
        fields.take(repeated)
    return question, question_id


def _listed(row: Mapping[str, Any]) -> list[Perspective]:
    fields = Fields(row)
    if "org_q" in row:
        question, question_id = _berds_question(fields)
    else:
        question = fields.required("question")
        question_id = fields.identifier("id") if row.get("id") is not None else question
    texts = fields.strings("perspectives")
    for position, text in enumerate(texts):
        if not text.strip():
            raise InputError(f"perspectives[{position}] is empty")
    if not texts:
        raise InputError("perspectives is empty")
    return [
        Perspective(str(number), question_id, text, extra={"question": question})
        for number, text in enumerate(texts, start=1)
    ]


FORMATS = (
    format_of("perspectives", with_options(_scan_written), write_perspectives),
    format_of("berds", with_options(_scan_gold)),
    format_of("berds-expansions", with_options(_scan_written)),
)


Questions: TypeAlias = Mapping[str, Sequence[Perspective]]


def by_question(
    perspectives: Iterable[Perspective], *, sides_by_order: bool = False
) -> dict[str, list[Perspective]]:
    """Return the perspectives of each question, questions in order.

    With `sides_by_order`, if a question has two perspectives without a side, the first supports it
    and the second opposes it, as in BERDS (Tables 9, 10 and 12).
    """
    by_topic: dict[str, list[Perspective]] = {}
    for perspective in perspectives:
        by_topic.setdefault(perspective.question_id, []).append(perspective)
    if sides_by_order:
        for question, sides in by_topic.items():
            if [side.stance for side in sides] == [None, None]:
                pro, con = sides
                by_topic[question] = [replace(pro, stance="pro"), replace(con, stance="con")]
    return {question: by_topic[question] for question in sorted(by_topic, key=topic_order)}
