"""Drafts: questions with opposing perspectives on their way to a benchmark (BERDS, section 4.1).

A draft is a plain object with `id`, `question`, `perspectives` and whatever says where it is from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.corpora.base import Options, Row, encode, strict
from pnyx.corpora.benchmarks.markdown import write_drafts_markdown
from pnyx.corpora.benchmarks.perspectives import read_perspectives
from pnyx.corpora.fields import Fields
from pnyx.corpora.reading import FORMATS, sniff
from pnyx.errors import InputError
from pnyx.files import atomic_text
from pnyx.records import STANCES, Perspective, Question

_DRAFT = ("id", "question", "perspectives")


def clean(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join("".join(c for c in text if c.isspace() or c >= " ").split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words by which two texts are compared."""
    return tuple(re.findall(r"\w+", text.casefold()))


def read_drafts(path: str, *, also: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Read drafts as JSON Lines or Markdown, or any file of perspectives as drafts.

    Args:
        path: the file, or `-`; the format is recognised.
        also: names of items formats whose rows have a `question` and are taken as they are.

    Returns:
        Rows with `id`, `question` and, except those of `also`, `perspectives`: objects with `text`,
        `stance` (or null) and, where it has one of its own, `id`.

    Raises:
        InputError: at the first fault, naming file and line; also where nothing is there.
    """
    name = _recognised(path, also)
    if name is None:
        try:
            return drafts_of(read_perspectives(path, gold=True))
        except InputError as error:
            raise InputError(error.problem, path=path, line=error.line) from error
    rows: Iterator[Row[dict[str, Any]]] = FORMATS[name].scan(path, Options())
    return [_normal(row) for _, row in strict(rows, path, "drafts")]


def _recognised(path: str, also: Sequence[str]) -> str | None:
    """Return the format of a file of drafts (also where it is neither), None of perspectives."""
    try:
        name, as_views = sniff(path), sniff(path, "perspectives")
    except InputError:
        return "drafts"
    if name == "guidelines":  # its first question has no perspective
        return "drafts-markdown"
    if name in ("drafts", "drafts-markdown", *also):
        return name
    return None if as_views in ("perspectives", "berds", "berds-expansions") else "drafts"


def _normal(row: Mapping[str, Any]) -> dict[str, Any]:
    if "perspectives" not in row:
        return dict(row)
    views = [dict(v) if isinstance(v, dict) else {"text": v} for v in row["perspectives"]]
    for view in views:
        view["stance"] = Fields(view).choice("stance", STANCES)
    return {**row, "perspectives": views}


def drafts_of(perspectives: Iterable[Perspective]) -> list[dict[str, Any]]:
    """Return perspectives as drafts, one for each question, each text as one line."""
    found: dict[str, dict[str, Any]] = {}
    for one in perspectives:
        question = clean(str(one.extra.get("question") or ""))
        draft = found.setdefault(
            one.question_id, {"id": one.question_id, "question": question, "perspectives": []}
        )
        draft["question"] = draft["question"] or question
        views = draft["perspectives"]
        own = {} if one.id == str(len(views) + 1) else {"id": one.id}
        more = {name: value for name, value in one.extra.items() if name != "question"}
        views.append({**own, "text": clean(one.text), "stance": one.stance, **more})
    for draft in found.values():
        if not draft["question"]:
            raise InputError(f"{draft['id']!r}: the perspectives do not say their question's text")
    return list(found.values())


def with_sides(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Let the first of two perspectives that have no side support the question, as in BERDS."""
    views = draft["perspectives"]
    if [view.get("stance") for view in views] != [None, None]:
        return dict(draft)
    sided = [{**view, "stance": side} for view, side in zip(views, ("pro", "con"), strict=True)]
    return {**draft, "perspectives": sided}


def is_markdown(path: str) -> bool:
    """Whether a file's name asks for Markdown."""
    return Path(path).suffix.lower() in (".md", ".markdown")


def write_drafts(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write drafts all or nothing: Markdown where the name ends in .md, else JSON Lines.

    Raises:
        InputError: the format cannot hold a draft.
        PnyxError: the file cannot be written.
    """
    with atomic_text(path) as stream:
        if is_markdown(path):
            write_drafts_markdown(stream, rows)
        else:
            for row in rows:
                stream.write(encode(row, row["id"]))


def finished(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Question], list[Perspective]]:
    """Return drafts as questions and perspectives; a perspective without id gets its number."""
    questions, perspectives = [], []
    for row in rows:
        more = {name: value for name, value in row.items() if name not in _DRAFT}
        questions.append(Question(row["id"], row["question"], extra=more))
        for number, view in enumerate(row["perspectives"], start=1):
            fields = Fields(view)
            own = fields.identifier("id") if view.get("id") is not None else str(number)
            text, stance = fields.required("text"), fields.take("stance")
            extra = {**fields.rest, "question": row["question"]}
            extra.pop("id", None)
            perspectives.append(Perspective(own, row["id"], text, stance, extra))
    return questions, perspectives
