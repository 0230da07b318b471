"""`pnyx validate`: check a file against its format, and list every fault with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli import EXIT_BAD_INPUT
from pnyx.cli.common.options import warn
from pnyx.cli.common.params import verb
from pnyx.errors import InputError, PnyxError, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command"]

MAX_JSON_FAULTS = 10_000
"""So many faults go into the JSON output; it must be held whole, and nobody reads more."""


class FormatSpec(Spec):
    """What the file is checked against."""

    format: str | None = opt(None, "Format of FILE.", metavar="NAME", shown="recognised")


@verb("validate")
@click.argument("file")
def command(file: str, spec: FormatSpec, as_json: bool) -> int:
    """Check FILE (corpus, questions, run, qrels, responses, nuggets, judges' file, index).

    Prints `FILE: ok (FORMAT, N records)` and exits 0, or a line `FILE:LINE: problem` for every
    fault and exits 2. `-` is standard input; gzip is recognised. docs/formats.md lists the
    formats.

    \b
    Example:
      pnyx validate run.trec
      pnyx validate gold.jsonl --format labels
    """
    name = spec.format
    if name is None and _is_index(file):
        return _report(file, "pnyx-index", _index_faults(file), as_json)
    from pnyx.corpora import check, find_format

    try:
        found = find_format(file, name)
    except InputError as error:
        return _report(file, name, iter((error,)), as_json)
    on_warning = None if as_json else warn
    return _report(file, found.name, check(file, found, on_warning=on_warning), as_json)


def _is_index(file: str) -> bool:
    """Whether it is an index, also one that has lost its manifest."""
    manifest = Path(file, "manifest.json")
    try:
        if file == "-" or not Path(file).is_dir():
            return False
        if Path(file, "segment-000001.data").exists():
            return True
        return manifest.is_file() and b'"pnyx-index"' in manifest.read_bytes()
    except OSError:
        return False


def _index_faults(file: str) -> Iterator[InputError]:
    from pnyx.search.index import verify_index

    try:
        verify_index(file)
    except InputError as error:
        yield error


def _report(file: str, name: str | None, rows: Iterator[Any], as_json: bool) -> int:
    """Print the outcome and return the exit status."""
    records = count = 0
    faults: list[dict[str, Any]] = []
    for row in rows:
        if not isinstance(row, PnyxError):
            records += 1
            continue
        count += 1
        if not as_json:
            click.echo(str(row))
        elif isinstance(row, InputError) and count <= MAX_JSON_FAULTS:
            faults.append({"path": row.path, "line": row.line, "problem": row.problem})
    if as_json:
        result = {"file": file, "format": name, "ok": count == 0, "records": records}
        click.echo(json.dumps({**result, "faults": faults, "fault_count": count}))
    elif count == 0:
        shown = "standard input" if file == "-" else shorten(file, 200)
        kind = f"{name}, {records} record{'' if records == 1 else 's'}"
        click.echo(f"{shown}: ok ({'index' if name == 'pnyx-index' else kind})")
    return EXIT_BAD_INPUT if count else 0
