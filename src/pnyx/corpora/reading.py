"""Entry points of all readers: by format name, or by recognising the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from pnyx.corpora.base import Format, Kind, Options, Row, strict
from pnyx.corpora.items import ITEM_FORMATS
from pnyx.corpora.registry import FORMATS
from pnyx.corpora.responses import ANY_RESPONSES
from pnyx.corpora.sniff import sniff
from pnyx.errors import InputError
from pnyx.records import Evidence, Qrel, Question, Response, RunEntry

__all__ = [
    "check",
    "faults",
    "find_format",
    "read_evidence",
    "read_items",
    "read_qrels",
    "read_questions",
    "read_responses",
    "read_run",
]


def find_format(
    source: str,
    name: str | None = None,
    kind: Kind | None = None,
    columns: Mapping[str, str] | None = None,
) -> Format:
    """Return the format `name`, or recognise that of `source`; InputError if none fits."""
    if name is None:
        name = sniff(source, kind, tuple((columns or {}).values()))
    found = FORMATS.get(name)
    if found is None or kind not in (None, found.kind):
        known = ", ".join(f.name for f in FORMATS.values() if kind in (None, f.kind))
        raise InputError(f"no format {name!r} here, expected one of {known}", path=source)
    return found


def read_evidence(
    source: str,
    *,
    format: str | None = None,  # noqa: A002 - as on the command line
    columns: Mapping[str, str] | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> Iterator[Evidence]:
    """Yield the documents or arguments of a corpus, streaming.

    Args:
        source: a file (gzip or not), a folder, `-` for standard input, or `ir_datasets:ID`.
        format: a name in `FORMATS`; recognised from the first bytes where None.
        columns: Pnyx field -> the file's name for it, for tables and plain JSONL.
        on_warning: called with one line for files that were left out.

    Raises:
        InputError: at the first fault, naming file and line; also where nothing is there.
        MissingExtra: the format needs a package that is not installed.
    """
    options = Options(dict(columns or {}), on_warning)
    return cast(
        "Iterator[Evidence]",
        find_format(source, format, "evidence", columns).reader(source, options),
    )


def read_questions(path: str, format: str | None = None) -> Iterator[Question]:  # noqa: A002
    """Yield questions or topics; InputError at the first fault or where nothing is there."""
    return cast("Iterator[Question]", find_format(path, format, "questions").reader(path))


def read_run(path: str) -> Iterator[RunEntry]:
    """Yield the lines of a TREC run; InputError at the first fault or where nothing is there."""
    return cast("Iterator[RunEntry]", FORMATS["run"].reader(path))


def read_qrels(path: str) -> Iterator[Qrel]:
    """Yield TREC, diversity or BEIR qrels; InputError at the first fault or if there are none."""
    return cast("Iterator[Qrel]", find_format(path, None, "qrels").reader(path))


def read_responses(path: str) -> Iterator[Response]:
    """Yield responses in any layout and citation style; InputError at the first fault."""
    return cast("Iterator[Response]", ANY_RESPONSES.reader(path))


def read_items(path: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of a judges' file named in `ITEM_FORMATS`; `id` is text."""
    if name not in ITEM_FORMATS:
        raise ValueError(f"no items format {name!r}")
    return strict(FORMATS[name].scan(path, Options()), path, "items")


def check(
    source: str,
    found: Format,
    columns: Mapping[str, str] | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> Iterator[Row[Any]]:
    """Yield every record and every fault of `source`; being empty is one, and ends it."""
    empty = True
    try:
        for row in found.scan(source, Options(dict(columns or {}), on_warning)):
            empty = False
            yield row
    except InputError as error:
        yield error
        return
    if empty:
        yield InputError(f"holds no {found.plural}", path=source)


def faults(path: str, format: str | None = None) -> Iterator[InputError]:  # noqa: A002
    """Yield everything that is wrong with a file, in the order of its lines."""
    try:
        found = find_format(path, format)
    except InputError as error:
        yield error
        return
    for row in check(path, found):
        if isinstance(row, InputError):
            yield row
