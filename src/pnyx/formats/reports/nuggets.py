"""Nugget banks: the contents of an ideal report, in the dialects of several tools."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, shorten
from pnyx.core.nuggets import NuggetBank
from pnyx.formats.base import (
    Format,
    Row,
    files_of,
    format_of,
    json_documents,
    located,
    row_writer,
    with_options,
)
from pnyx.formats.fields import an_object

_WRAPPER = "autojudge-banks"
_SUFFIXES = (".json", ".jsonl")


# Files and folders --------------------------------------------------------------------------------


def bank_files(source: str) -> list[str]:
    """Return the files of a folder that can hold banks, by name; a file is itself the only one."""
    files = files_of(source)
    return [p for p in files if p == source or plain_name(p).lower().endswith(_SUFFIXES)]


def _scan(source: str, name: str | None = None) -> Iterator[Row[NuggetBank]]:
    """Yield the banks of a file or folder, or their faults; a topic (of a run) occurs once."""
    first: dict[tuple[str, str], str] = {}
    for path in bank_files(source):
        for row in _banks(path, name):
            if isinstance(row, InputError):
                yield row
                continue
            number, bank = row
            key = bank.run_id, bank.topic_id
            if key in first:
                topic = " ".join(repr(shorten(part, 60)) for part in key if part)
                problem = f"duplicate topic {topic}, first in {first[key]}"
                yield InputError(problem, path=path, line=number)
            else:
                first[key] = f"line {number}" if path == source else shorten(path, 100)
                yield row


def _banks(path: str, name: str | None) -> Iterator[Row[NuggetBank]]:
    from pnyx.formats.reports.nugget_layouts import parse_nugget_bank

    for row in json_documents(path, "bank"):
        if isinstance(row, InputError):
            yield row
            continue
        number, value = row
        try:
            wrapped = _unwrapped(value, name)
        except InputError as error:
            yield located(error, path, number)
            continue
        for where, bank_row in wrapped:
            try:
                yield number, parse_nugget_bank(bank_row, None if name == _WRAPPER else name)
            except InputError as error:
                yield InputError(f"{where}{error.problem}", path=path, line=number)


def _unwrapped(value: dict[str, Any], name: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the banks of an object, each with its location for messages."""
    if name not in (None, _WRAPPER) or (name is None and "banks" not in value):
        return [("", value)]
    banks = []
    for key, bank in an_object(value.get("banks"), "banks").items():
        where = f"banks[{shorten(key, 60)!r}]"
        banks.append((f"{where}: ", an_object(bank, where)))
    return banks


def read_nugget_banks(path: str) -> Iterator[NuggetBank]:
    """Yield nugget banks of any dialect, streaming.

    Args:
        path: a file (gzip or not) of one bank per line or of one JSON object, a folder of such
            files (`.json`, `.jsonl`, also `.gz`), or `-` for standard input.

    Raises:
        InputError: at the first fault, naming file and line; also if there are no banks. A topic
            may occur once, or once for each `run_id`.
    """
    return _ANY.reader(path)


def _format(name: str) -> Format:
    def row(bank: NuggetBank) -> dict[str, Any]:
        from pnyx.formats.reports.nugget_layouts import nugget_bank_row

        return nugget_bank_row(bank, name)

    writer = None if name == _WRAPPER else row_writer(row, lambda bank: bank.topic_id)
    return format_of(name, with_options(partial(_scan, name=name)), writer)


_ANY = Format("nuggets", "nuggets", "nugget banks of any dialect", with_options(_scan), "")

FORMATS = tuple(
    map(_format, ("nuggetbank-v3", "ragtime26-nuggets", "nuggetizer", "rag25-nuggets", _WRAPPER))
)
"""All dialects with one bank per object, and autojudge's object of several."""
