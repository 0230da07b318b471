"""Drafts as Markdown for people to edit (docs/reference/formats.md).

    ## q1: Should voting be compulsory?

    - con (p7): Voting should not be compulsory.

    > drafted_by: "gpt-4o-mini (question-pair@1)"

A perspective without a side is a `view`; the fields of one are indented below it. Any other
indented line continues the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text, parse_json_object, scan_lines
from pnyx.core.records import STANCES
from pnyx.formats.base import Format, Row, check_depth, encode, located, unique, with_options
from pnyx.formats.items import ITEM_FORMATS

_NO_SIDE = "view"
_HEADING = re.compile(r"##[ \t]+(?P<id>\S+):[ \t]+(?P<text>\S.*)")
_VIEW = re.compile(
    rf"[-*+][ \t]+(?P<side>{'|'.join((*STANCES, _NO_SIDE))})(?:[ \t]+\((?P<id>\S+)\))?:"
    r"[ \t]+(?P<text>\S.*)",
    re.IGNORECASE,
)
_MORE = re.compile(r">[ \t]*(?P<name>\w+):[ \t]*(?P<value>\S.*)")
_KNOWN = ("id", "question", "perspectives")
_EXPECTED = f"expected ## ID: QUESTION, - {' | '.join((*STANCES, _NO_SIDE))}: TEXT or > NAME: JSON"


def _unlike(line: str) -> InputError:
    return InputError(f"found {shorten(line, 40)!r}, {_EXPECTED}")


def _drafts(source: str) -> Iterator[Row[dict[str, Any]]]:
    """Yield each draft with the line of its heading, or the fault; a title may come first."""
    at = 0
    draft: dict[str, Any] | None = None
    fault: InputError | None = None
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            fault = fault or line
            continue
        try:
            if line.startswith("##") and not line.startswith("###"):
                if at:
                    yield _closed(at, draft, fault, source)
                at, draft, fault = number, None, None
                heading = _HEADING.fullmatch(line.rstrip())
                if heading is None:
                    raise _unlike(line)
                draft = {"id": heading["id"], "question": heading["text"], "perspectives": []}
            elif draft is not None:
                _add(draft, line.rstrip(), source, number)
            elif line.strip() and not line.startswith("# ") and not at:
                at = number
                raise _unlike(line)
        except InputError as error:
            fault = fault or located(error, source, number)
    if at or fault:
        yield _closed(at, draft, fault, source)


def _closed(
    at: int, draft: dict[str, Any] | None, fault: InputError | None, source: str
) -> Row[dict[str, Any]]:
    if fault is not None or draft is None:
        return fault or located(_unlike(""), source, at)
    for part, name in ((draft, "question"), *((view, "text") for view in draft["perspectives"])):
        if isinstance(part[name], list):
            part[name] = " ".join(part[name])
    try:
        return at, ITEM_FORMATS["drafts"].parse(draft)
    except InputError as error:
        return located(error, source, at)


def _add(draft: dict[str, Any], line: str, source: str, number: int) -> None:
    """Add a line to a draft; an unfinished text is a list of lines until it is closed."""
    if not line:
        return
    views: list[dict[str, Any]] = draft["perspectives"]
    indented = line[0] in " \t" and len(draft) == len(_KNOWN)
    part, name = (views[-1], "text") if views else (draft, "question")
    if view := _VIEW.fullmatch(line):
        side = view["side"].lower()
        stated = {"text": view["text"], "stance": None if side == _NO_SIDE else side}
        views.append(stated if view["id"] is None else {"id": view["id"], **stated})
    elif more := _MORE.fullmatch(line):
        _take(draft, more, source, number)
    elif indented and views and (more := _MORE.fullmatch(line.lstrip())):
        _take(part, more, source, number)
    elif indented:
        if isinstance(part[name], str):
            part[name] = [part[name]]
        part[name].append(line.strip())
    else:
        raise _unlike(line)


def _take(part: dict[str, Any], more: re.Match[str], source: str, number: int) -> None:
    """Add a further field, whose value is JSON."""
    if more["name"] in part:
        raise InputError(f"found {shorten(more['name'], 40)!r} twice")
    text = f'{{"value": {more["value"]}}}'
    value = parse_json_object(text, path=source, number=number)["value"]
    check_depth([value])
    part[more["name"]] = value


def write_drafts_markdown(stream: IO[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write drafts as Markdown; InputError for what only JSON Lines can hold."""
    for row in rows:
        name = repr(shorten(row["id"], 40))
        if not re.fullmatch(r"\S+", row["id"]) or clean_text(row["id"]) != row["id"]:
            raise InputError(f"{name}: a heading cannot hold an id with white space; write JSONL")
        if "perspectives" not in row:
            raise InputError(f"{name}: Markdown is for drafts, and it has no perspectives yet")
        lines = [f"## {row['id']}: {_line(row['question'], name)}", ""]
        for view in row["perspectives"]:
            identifier = view.get("id")
            if identifier is not None and not re.fullmatch(r"[^\s()\0]+", str(identifier)):
                raise InputError(
                    f"{name}: Markdown cannot hold the id {shorten(str(identifier), 40)!r}"
                )
            mark = "" if identifier is None else f" ({identifier})"
            lines.append(f"- {view.get('stance') or _NO_SIDE}{mark}: {_line(view['text'], name)}")
            lines += _fields(view, ("id", "text", "stance"), "  ", name)
        more = _fields(row, _KNOWN, "", name)
        stream.write("\n".join([*lines, *([""] if more else []), *more, "", ""]))


def _line(text: str, name: str) -> str:
    # split() knows every Unicode line ending.
    if text != " ".join(text.split()) or clean_text(text) != text:
        raise InputError(f"{name}: Markdown cannot hold a text of several lines; write JSONL")
    return text


def _fields(
    row: Mapping[str, Any], skipped: Sequence[str], indent: str, draft_name: str
) -> list[str]:
    lines = []
    for name, value in row.items():
        if name not in skipped:
            if not re.fullmatch(r"\w+", name):
                raise InputError(
                    f"{draft_name}: Markdown cannot hold a field {shorten(name, 40)!r}"
                )
            lines.append(f"{indent}> {name}: {encode(value, draft_name).rstrip()}")
    return lines


DRAFTS = Format(
    "drafts-markdown",
    "items",
    "drafts as Markdown, for people to read and edit",
    with_options(lambda source: unique(_drafts(source), lambda row: row["id"], source)),
    "## 1: Is tea healthy?\n\n- pro: Tea is healthy.\n- con: Tea is not healthy.\n\n"
    '> drafted_by: "rule"\n',
    plural="drafts",
)
