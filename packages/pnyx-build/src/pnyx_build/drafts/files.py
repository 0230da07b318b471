"""Files of drafts: plain objects with `id`, `question`, `perspectives` and their origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.files import atomic_text
from pnyx.core.records import STANCES, Perspective, Question
from pnyx.formats.base import Options, Row, encode, strict
from pnyx.formats.fields import Fields
from pnyx.formats.format_table import FORMATS
from pnyx.formats.perspectives import read_perspectives
from pnyx.formats.recognition import sniff
from pnyx.formats.text.words import clean
from pnyx_build.drafts.markdown import DRAFTS, write_drafts_markdown

_DRAFT = ("id", "question", "perspectives")


def read_drafts(path: str, *, also: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Read drafts as JSON Lines or Markdown, or any file of perspectives as drafts.

    Args:
        path: the file, or `-`; the format is recognised.
        also: names of items formats whose rows have a `question` and are taken as they are.

    Returns:
        Rows with `id`, `question` and, except those of `also`, `perspectives`: objects with `text`,
        `stance` (or null) and, where it has one of its own, `id`.

    Raises:
        InputError: at the first fault, naming file and line; also if the file has no records.
    """
    try:
        name, as_views = sniff(path), sniff(path, "perspectives")
    except InputError:
        name = as_views = "drafts"
    if name == "guidelines":  # its first question has no perspective
        name = DRAFTS.name
    if name not in ("drafts", DRAFTS.name, *also):
        if as_views in ("perspectives", "berds", "berds-expansions"):
            try:
                return drafts_of(read_perspectives(path, gold=True))
            except InputError as error:
                raise InputError(error.problem, path=path, line=error.line) from error
        name = "drafts"
    form = DRAFTS if name == DRAFTS.name else FORMATS[name]
    rows: Iterator[Row[dict[str, Any]]] = form.scan(path, Options())
    return [_with_views(row) for _, row in strict(rows, path, "drafts")]


def _with_views(row: Mapping[str, Any]) -> dict[str, Any]:
    if "perspectives" not in row:
        return dict(row)
    views = [dict(v) if isinstance(v, dict) else {"text": v} for v in row["perspectives"]]
    for view in views:
        view["stance"] = Fields(view).choice("stance", STANCES)
    return {**row, "perspectives": views}


def drafts_of(perspectives: Iterable[Perspective]) -> list[dict[str, Any]]:
    """Return perspectives as drafts, one for each question, each text as one line."""
    drafts: dict[str, dict[str, Any]] = {}
    for view in perspectives:
        draft = drafts.setdefault(
            view.question_id, {"id": view.question_id, "question": "", "perspectives": []}
        )
        more = dict(view.extra)
        question = clean(str(more.pop("question", None) or ""))
        draft["question"] = draft["question"] or question
        identifier = {} if view.id == str(len(draft["perspectives"]) + 1) else {"id": view.id}
        row = {**identifier, "text": clean(view.text), "stance": view.stance, **more}
        draft["perspectives"].append(row)
    for draft in drafts.values():
        if not draft["question"]:
            raise InputError(f"{draft['id']!r}: the perspectives have no text of their question")
    return list(drafts.values())


def with_sides(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Make the first of two perspectives without a side support the question, as in BERDS."""
    views = draft["perspectives"]
    if [view.get("stance") for view in views] != [None, None]:
        return dict(draft)
    sided = [{**view, "stance": side} for view, side in zip(views, ("pro", "con"), strict=True)]
    return {**draft, "perspectives": sided}


def is_markdown(path: str) -> bool:
    """Whether a file's name asks for Markdown."""
    return Path(path).suffix.lower() in (".md", ".markdown")


def write_drafts(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write drafts, all or nothing: Markdown if the name ends in .md, else JSON Lines.

    Raises:
        InputError: the format cannot hold a draft.
        PnyxError: the file cannot be written.
    """
    with atomic_text(path) as stream:
        if is_markdown(path):
            write_drafts_markdown(stream, rows)
        else:
            stream.writelines(encode(row, row["id"]) for row in rows)


def finished(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Question], list[Perspective]]:
    """Return drafts as questions and perspectives; a perspective without id gets its number."""
    questions, perspectives = [], []
    for row in rows:
        more = {name: value for name, value in row.items() if name not in _DRAFT}
        questions.append(Question(row["id"], row["question"], extra=more))
        for number, view in enumerate(row["perspectives"], start=1):
            fields = Fields(view)
            identifier = fields.identifier("id") if view.get("id") is not None else str(number)
            text, stance = fields.required("text"), fields.take("stance")
            extra = {**fields.rest, "question": row["question"]}
            extra.pop("id", None)
            perspectives.append(Perspective(identifier, row["id"], text, stance, extra))
    return questions, perspectives
