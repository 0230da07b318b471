"""Readers of all kinds of files: corpora, topics, runs, qrels, responses, judges' items."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.records import Evidence, Qrel, Question, Response, RunEntry
from pnyx.formats.base import Format, Options, Row, files_of, strict
from pnyx.formats.file_account import FileAccount
from pnyx.formats.format_table import FORMATS
from pnyx.formats.in_memory import (
    given_evidence,
    qrels_in_memory,
    questions_in_memory,
    run_in_memory,
)
from pnyx.formats.items import ITEM_FORMATS
from pnyx.formats.recognition import find_format
from pnyx.formats.reports.responses import ANY_RESPONSES


def read_evidence(
    source: object,
    *,
    format: str | None = None,  # noqa: A002 - as on the command line
    columns: Mapping[str, str] | None = None,
    on_warning: Callable[[str], None] | None = None,
    on_account: Callable[[FileAccount], None] | None = None,
    strict_files: bool = False,
) -> Iterator[Evidence]:
    """Yield the documents or arguments of a corpus, streaming.

    Args:
        source: a file (gzip or not), a folder, `-` for standard input, or `ir_datasets:ID`; or data
            in memory: a data frame of pandas or polars, dicts with a `text`, texts, records.
        format: a name in `FORMATS`; recognised from the first bytes if None.
        columns: Pnyx field -> the file's name for it, for tables and plain JSONL.
        on_warning: called with one line for files or documents that were left out; by default
            a Python warning is issued.
        on_account: called with the outcome for each file of a folder.
        strict_files: reject files and documents without text, and unreadable files, instead of
            leaving them out.

    Raises:
        InputError: at the first fault, naming file and line; also if there are no records.
        MissingExtra: the format needs a package that is not installed.
    """
    if not isinstance(source, str | Path):
        if format is not None:
            raise InputError("a format requires a file or folder")
        return given_evidence(source, columns)
    warn = on_warning or partial(warnings.warn, stacklevel=2)
    options = Options(dict(columns or {}), warn, on_account, strict_files)
    return find_format(str(source), format, "evidence", columns).reader(str(source), options)


def read_questions(
    source: object,
    format: str | None = None,  # noqa: A002 - as on the command line
    *,
    on_warning: Callable[[str], None] | None = None,
) -> Iterator[Question]:
    """Yield the questions or topics of a file, a data frame, dicts, or a dict of id -> text.

    `on_warning` is called with a line about assumptions, such as that a line is a header; by
    default a Python warning is issued. InputError at the first fault or if there are none.
    """
    if not isinstance(source, str | Path):
        return questions_in_memory(source)
    path, warn = str(source), on_warning or partial(warnings.warn, stacklevel=2)
    return find_format(path, format, "questions").reader(path, Options(on_warning=warn))


def read_run(source: object) -> Iterator[RunEntry]:
    """Yield the entries of a run: a file, a data frame, rows, or topic -> document -> score.

    InputError at the first fault or if there are none.
    """
    if not isinstance(source, str | Path):
        return run_in_memory(source)
    return find_format(str(source), None, "run").reader(str(source))


def read_qrels(source: object) -> Iterator[Qrel]:
    """Yield qrels of a file, a data frame, rows, or topic -> document -> grade.

    InputError at the first fault or if there are none.
    """
    if not isinstance(source, str | Path):
        return qrels_in_memory(source)
    return find_format(str(source), None, "qrels").reader(str(source))


def read_responses(path: str) -> Iterator[Response]:
    """Yield responses in any layout and citation style, of a file or a folder of them.

    InputError at the first fault.
    """
    files = files_of(str(path))
    if not files:
        raise InputError("is a folder without files, expected responses", path=path)
    return chain.from_iterable(map(ANY_RESPONSES.reader, files))


def read_items(path: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of a judges' file named in `ITEM_FORMATS`; `id` is text."""
    if name not in ITEM_FORMATS:
        raise ValueError(f"no items format {name!r}")
    return strict(FORMATS[name].scan(path, Options()), path, "items")


def check(
    source: str,
    format_: Format,
    columns: Mapping[str, str] | None = None,
    on_warning: Callable[[str], None] | None = None,
    *,
    on_account: Callable[[FileAccount], None] | None = None,
    strict_files: bool = False,
) -> Iterator[Row[Any]]:
    """Yield every record and every fault of `source`; an empty file is a fault, too."""
    empty = True
    options = Options(dict(columns or {}), on_warning, on_account, strict_files)
    try:
        for row in format_.rows(source, options):
            empty = False
            yield row
    except InputError as error:
        yield error
        return
    if empty:
        yield InputError(f"holds no {format_.plural}", path=source)


def faults(path: str, format: str | None = None) -> Iterator[InputError]:  # noqa: A002
    """Yield all faults of a file, in the order of its lines."""
    try:
        detected = find_format(path, format)
    except InputError as error:
        yield error
        return
    for row in check(path, detected, strict_files=True):
        if isinstance(row, InputError):
            yield row
