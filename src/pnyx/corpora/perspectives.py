"""Perspectives on questions as JSON Lines: Pnyx's own, and both files that BERDS has.

Pnyx: `id, question_id, text, stance`, optionally `question`. BERDS, query expansion: `id, org_q,
text` (one line for each perspective that its model wrote). BERDS, retrieval: `question,
perspectives` (a list of texts; one line for each question).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pnyx.corpora.base import Row, encode, parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields
from pnyx.errors import InputError
from pnyx.records import STANCES, Perspective, Stance

__all__ = ["perspective_line", "read_perspectives", "scan_perspectives"]


def scan_perspectives(source: str) -> Iterator[Row[Perspective]]:
    """Yield each perspective with its line, or what is wrong in its place.

    The question's text, where the file has it, is `extra["question"]`.
    """

    def flat() -> Iterator[Row[Perspective]]:
        for row in parse_rows(scan_json_objects(source), _perspectives, source):
            if isinstance(row, InputError):
                yield row
            else:
                yield from ((row[0], perspective) for perspective in row[1])

    yield from unique(flat(), lambda p: (p.question_id, p.id), source)


def read_perspectives(path: str | Path) -> list[Perspective]:
    """Read a file of perspectives; `-` is standard input.

    Raises:
        InputError: at the first fault, naming file and line; also where nothing is there.
    """
    rows = strict(scan_perspectives(str(path)), str(path), "perspectives")
    return [perspective for _, perspective in rows]


def perspective_line(perspective: Perspective) -> str:
    """Return a perspective as one line in Pnyx's own form, with its newline."""
    row = {
        "id": perspective.id,
        "question_id": perspective.question_id,
        "text": perspective.text,
        "stance": perspective.stance,
    }
    return encode({**perspective.extra, **row}, perspective.id)


def _perspectives(row: Mapping[str, Any]) -> list[Perspective]:
    if "text" not in row and "perspectives" in row:
        return _listed(row)
    fields = Fields(row)
    if "org_q" in row:  # what BERDS calls `question` there is the question with the perspective
        question = fields.required("org_q")
        question_id = fields.identifier("org_id") if "org_id" in row else question
        for repeated in ("question", "input"):
            fields.take(repeated)
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


def _listed(row: Mapping[str, Any]) -> list[Perspective]:
    """Return the perspectives of one line that lists them all."""
    fields = Fields(row)
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
