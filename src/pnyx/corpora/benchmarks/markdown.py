"""Questions as Markdown for people to edit: with definitions of relevance, or with perspectives.

    ## q1: Should voting be compulsory?

Guidelines: everything up to the next such heading is the definition, where a leading `#` is
escaped by a backslash. Drafts: perspectives (without a side a `view`, `- pro (p7): ...` with an id
of its own) and further fields, those of a perspective indented; other indented lines continue one.

    - con: Voting should not be compulsory.

    > drafted_by: "gpt-4o-mini (question-pair@1)"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import IO, Any

from pnyx.corpora.base import Format, Row, check_depth, encode, located, unique, with_options
from pnyx.corpora.benchmarks.items import ITEM_FORMATS
from pnyx.errors import InputError, shorten
from pnyx.files import clean_text, parse_json_object, scan_lines
from pnyx.records import STANCES, Question

_HEADING = re.compile(r"##[ \t]+(?P<id>\S+):[ \t]+(?P<text>\S.*)")
_A_HEADING = "expected a heading ## ID: QUESTION"

_NO_SIDE = "view"
_VIEW = re.compile(
    rf"[-*+][ \t]+(?P<side>{'|'.join((*STANCES, _NO_SIDE))})(?:[ \t]+\((?P<id>\S+)\))?:"
    r"[ \t]+(?P<text>\S.*)",
    re.IGNORECASE,
)
_MORE = re.compile(r">[ \t]*(?P<name>\w+):[ \t]*(?P<value>\S.*)")
_KNOWN = ("id", "question", "perspectives")
_EXPECTED = f"expected ## ID: QUESTION, - {' | '.join((*STANCES, _NO_SIDE))}: TEXT or > NAME: JSON"


def _questions(source: str) -> Iterator[Row[Question]]:
    opened: tuple[int, re.Match[str]] | None = None
    lines: list[str] = []

    def closed() -> Iterator[Row[Question]]:
        if opened is not None:
            at, heading = opened
            text = "\n".join(lines).strip("\n")
            definition = text if text.strip() else ""
            yield at, Question(heading["id"], heading["text"], definition=definition)

    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
        elif line.startswith("##") and not line.startswith("###"):
            yield from closed()
            found = _HEADING.fullmatch(line.rstrip())
            opened, lines = found and (number, found), []
            if found is None:
                yield _fault(line, source, number, _A_HEADING)
        elif opened is not None:
            lines.append(line[1:] if re.match(r"\\+#", line) else line)
        elif line.strip() and not line.startswith("# "):
            yield _fault(line, source, number, _A_HEADING)
    yield from closed()


def _fault(line: str, source: str, number: int, expected: str) -> InputError:
    return InputError(f"found {shorten(line, 40)!r}, {expected}", path=source, line=number)


def write_guidelines(stream: IO[str], records: Iterable[Question]) -> None:
    """Write questions with their definitions as Markdown."""
    for q in records:
        shown = repr(shorten(q.id, 40))
        if not re.fullmatch(r"\S+", q.id) or clean_text(q.id) != q.id:
            raise InputError(f"{shown}: a heading cannot hold an id with white space or NUL")
        if q.text != q.text.strip() or not q.text.isprintable():
            raise InputError(f"{shown}: a heading cannot hold a text of several lines or tabs")
        if q.description or q.narrative or q.extra:
            raise InputError(f"{shown}: the format holds nothing but id, text and definition")
        if q.definition != q.definition.strip("\n") or not _holds(q.definition):
            raise InputError(f"{shown}: Markdown would not give this definition back")
        lines = [f"\\{x}" if re.match(r"\\*#", x) else x for x in q.definition.split("\n")]
        stream.write("\n".join([f"## {q.id}: {q.text}", "", *lines, "", ""]))


def _holds(definition: str) -> bool:
    """Whether Markdown lines give this definition back."""
    if "\r" in definition or clean_text(definition) != definition:
        return False
    return bool(definition.strip()) or not definition


GUIDELINES = Format(
    "guidelines",
    "questions",
    "questions with definitions of relevance as Markdown, for people to edit",
    with_options(lambda source: unique(_questions(source), attrgetter("id"), source)),
    "## q1: Is tea healthy?\n\nEffects of tea on health:\n- on the heart\n- on sleep\n",
    write_guidelines,
)


def scan_drafts_markdown(source: str) -> Iterator[Row[dict[str, Any]]]:
    """Yield each draft with the line of its heading, or what is wrong; a title may come first."""
    yield from unique(_drafts(source), lambda row: row["id"], source)


def _drafts(source: str) -> Iterator[Row[dict[str, Any]]]:
    at, draft, fault = 0, None, None
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            fault = fault or line
            continue
        if line.startswith("##") and not line.startswith("###"):
            if at:
                yield _closed(at, draft, fault, source)
            at, draft, fault = number, _opened(line), None
            if draft is None:
                fault = _fault(line, source, number, _EXPECTED)
        elif draft is not None:
            try:
                _add(draft, line.rstrip(), source, number)
            except InputError as error:
                fault = fault or located(error, source, number)
        elif line.strip() and not line.startswith("# ") and not at:
            at, fault = number, _fault(line, source, number, _EXPECTED)
    if at or fault:
        yield _closed(at, draft, fault, source)


def _opened(line: str) -> dict[str, Any] | None:
    found = _HEADING.fullmatch(line.rstrip())
    if found is None:
        return None
    return {"id": found["id"], "question": found["text"], "perspectives": []}


def _closed(
    at: int, draft: dict[str, Any] | None, fault: InputError | None, source: str
) -> Row[dict[str, Any]]:
    if fault is not None or draft is None:
        return fault or _fault("", source, at, _EXPECTED)
    for home, name in ((draft, "question"), *((view, "text") for view in draft["perspectives"])):
        if isinstance(home[name], list):
            home[name] = " ".join(home[name])
    try:
        return at, ITEM_FORMATS["drafts"].parse(draft)
    except InputError as error:
        return located(error, source, at)


def _add(draft: dict[str, Any], line: str, source: str, number: int) -> None:
    if not line:
        return
    views: list[dict[str, Any]] = draft["perspectives"]
    indented = line[0] in " \t" and len(draft) == len(_KNOWN)
    if found := _VIEW.fullmatch(line):
        side = found["side"].lower()
        view = {"text": found["text"], "stance": None if side == _NO_SIDE else side}
        views.append(view if found["id"] is None else {"id": found["id"], **view})
    elif found := _MORE.fullmatch(line):
        _take(draft, found, source, number)
    elif indented and views and (found := _MORE.fullmatch(line.lstrip())):
        _take(views[-1], found, source, number)
    elif indented and views:
        _go_on(views[-1], "text", line)
    elif indented:
        _go_on(draft, "question", line)
    else:
        raise _fault(line, source, number, _EXPECTED)


def _go_on(home: dict[str, Any], name: str, line: str) -> None:
    """Add a line to a text, which is a list of lines until `_closed` joins it."""
    if isinstance(home[name], str):
        home[name] = [home[name]]
    home[name].append(line.strip())


def _take(home: dict[str, Any], found: re.Match[str], source: str, number: int) -> None:
    """Add a further field, whose value is JSON."""
    if found["name"] in home:
        raise InputError(f"found {shorten(found['name'], 40)!r} twice")
    text = f'{{"value": {found["value"]}}}'
    value = parse_json_object(text, path=source, number=number)["value"]
    check_depth([value])
    home[found["name"]] = value


def write_drafts_markdown(stream: IO[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write drafts as Markdown; InputError for what only JSON Lines can hold."""
    for row in rows:
        shown = repr(shorten(row["id"], 40))
        if not re.fullmatch(r"\S+", row["id"]) or clean_text(row["id"]) != row["id"]:
            raise InputError(f"{shown}: a heading cannot hold an id with white space; write JSONL")
        if "perspectives" not in row:
            raise InputError(f"{shown}: Markdown is for drafts, and it has no perspectives yet")
        lines = [f"## {row['id']}: {_line(row['question'], shown)}", ""]
        for view in row["perspectives"]:
            lines += [_view(view, shown), *_fields(view, ("id", "text", "stance"), "  ", shown)]
        more = _fields(row, _KNOWN, "", shown)
        stream.write("\n".join([*lines, *([""] if more else []), *more, "", ""]))


def _line(text: str, shown: str) -> str:
    # split() knows every line end of Unicode.
    if text != " ".join(text.split()) or clean_text(text) != text:
        raise InputError(f"{shown}: Markdown cannot hold a text of several lines; write JSONL")
    return text


def _view(view: Mapping[str, Any], shown: str) -> str:
    own = view.get("id")
    if own is not None and not re.fullmatch(r"[^\s()\0]+", str(own)):
        raise InputError(f"{shown}: Markdown cannot hold the id {shorten(str(own), 40)!r}")
    mark = "" if own is None else f" ({own})"
    return f"- {view.get('stance') or _NO_SIDE}{mark}: {_line(view['text'], shown)}"


def _fields(row: Mapping[str, Any], known: Sequence[str], indent: str, shown: str) -> list[str]:
    lines = []
    for name, value in row.items():
        if name not in known:
            if not re.fullmatch(r"\w+", name):
                raise InputError(f"{shown}: Markdown cannot hold a field {shorten(name, 40)!r}")
            lines.append(f"{indent}> {name}: {encode(value, shown).rstrip()}")
    return lines


DRAFTS = Format(
    "drafts-markdown",
    "items",
    "drafts as Markdown, for people to read and edit",
    with_options(scan_drafts_markdown),
    "## 1: Is tea healthy?\n\n- pro: Tea is healthy.\n- con: Tea is not healthy.\n\n"
    '> drafted_by: "rule"\n',
    plural="drafts",
)
