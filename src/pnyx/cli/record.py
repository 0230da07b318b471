"""The record of a command in its manifest: what decides the results, for `pnyx files repeat`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from os.path import realpath
from pathlib import Path
from typing import Any

import click

from pnyx.cli.params import Command, Raw, SpecOption
from pnyx.core.errors import InputError, escaped, printable
from pnyx.core.files import read_json
from pnyx.core.placement import newest
from pnyx.core.restricted_mode import hides_text
from pnyx.core.spec import main_flag
from pnyx.formats.text_types import TextKind, is_address_like
from pnyx.judging.answers import MANIFEST
from pnyx.models.http.addresses import shown_address

_UNDECIDING = frozenset(
    "plan budget budget-tokens concurrency timeout wait store prices from-store engine".split()
)
"""Options on spending and on where work is done; they do not affect results."""
_NO_ADDRESSES = (None, TextKind.WORDS, TextKind.FILE, TextKind.REQUEST_FIELDS)
"""Kinds of text that never name an address."""
LLM = "PNYX_LLM"
"""The environment variable that a record keeps if a language model is asked."""
_COMPUTES = ("numpy", "onnxruntime", "tokenizers")
"""Distributions whose versions may change the last digits of results."""


def record_of_command(
    outputs: Mapping[str, str | Path] | None = None, *, asks: bool = False
) -> dict[str, Any]:
    """Return what decides the results of the command that is running, as JSON.

    These are its words; all options by name, including defaults; the hashes of the files they
    name, by path (None for standard input); and the versions of numerical libraries. Paths are as
    given. `outputs` are files that are written already, in addition to answers.jsonl: by option, or
    option/name of a file in its folder. `asks`: a language model is asked, so the environment's
    choice of it is recorded.
    """
    context = click.get_current_context()
    command = context.command
    if not (isinstance(command, Command) and command.records):
        raise TypeError(f"{context.command_path} writes a record but lacks verb(records=True)")
    written = {realpath(path) for _, path in _outputs(context)}
    options: dict[str, Any] = {}
    arguments: list[str] = []
    inputs: dict[str, str | None] = {}
    for parameter in command.params:
        value = context.params.get(str(parameter.name))
        if value in (None, (), "") or not decides(parameter):
            continue
        texts = list(_texts(value))
        if isinstance(parameter, click.Argument):
            arguments += texts
        else:
            options[name_of(parameter)] = _shown(value, command.kind_of(parameter))
        if isinstance(parameter.type, Raw) or _any_text(parameter):
            inputs |= {p: input_hash(p) for p in texts if _is_input(p, written)}
    named = os.environ.get(LLM, "").split() if asks else []
    record = {
        "command": context.command_path.partition(" ")[2],
        "arguments": arguments,
        "options": options,
        "inputs": inputs,
        "environment": {LLM: " ".join(map(shown_address, named))} if named else {},
        "no_text": hides_text(),
        "versions": versions(),
        "writes": dict(_places(context)),
        "outputs": {name: input_hash(str(newest(path))) for name, path in (outputs or {}).items()},
    }
    whole: dict[str, Any] = json.loads(printable(json.dumps(record, ensure_ascii=False)))
    return whole


def decides(parameter: click.Parameter) -> bool:
    """Return whether an option or argument affects results and so belongs in a record."""
    if isinstance(parameter, SpecOption):
        secret = parameter.text_kind is TextKind.SECRET
        return not (secret or parameter.writes) and name_of(parameter) not in _UNDECIDING
    return isinstance(parameter, click.Argument)


def _texts(value: Any) -> Iterator[str]:
    """Yield each value of an option or argument as text."""
    if isinstance(value, tuple):
        for part in value:
            yield from _texts(part)
    else:
        yield str(value)


def name_of(option: click.Option | click.Parameter) -> str:
    """Return an option's main name, without dashes."""
    return main_flag(option.opts).lstrip("-")


def _any_text(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Argument) and not isinstance(parameter.type, click.Choice)


def _outputs(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield option and path of what the command writes."""
    for option in context.command.params:
        path = context.params.get(str(option.name))
        if isinstance(option, SpecOption) and option.writes and path:
            yield name_of(option), path


def _places(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield options that write, with the path that a repetition uses for their output."""
    for name, path in _outputs(context):
        yield name, name if Path(path).is_dir() else f"{name}/{Path(path).name}"


def _is_input(path: str, written: set[str]) -> bool:
    return path == "-" or (realpath(path) not in written and os.path.exists(path))  # noqa: PTH110


def _shown(value: Any, kind: TextKind | None) -> Any:
    """Return an option's value as JSON; an address without a user, a password or a query."""
    if isinstance(value, tuple):
        return [_shown(part, kind) for part in value]
    if not isinstance(value, str) or kind in _NO_ADDRESSES:
        return value
    names_file = kind in (TextKind.JUDGE, TextKind.LANGUAGE_MODEL) and not is_address_like(value)
    return value if names_file else shown_address(value)


def versions() -> dict[str, str]:
    """Return the versions of `_COMPUTES` here."""
    return {name: version(name) for name in _COMPUTES}


def input_hash(path: str) -> str | None:
    """Return SHA-256 of a file, of a folder's files, of an index's content, or of all answers."""
    from pnyx.core.folders import file_hash

    manifest = (read_json(Path(path) / MANIFEST) or {}) if Path(path).is_dir() else {}
    if manifest.get("format") == "pnyx-results":  # other files hold times and costs
        hashes = [file_hash(Path(path) / name) for name in ("answers.jsonl", "reports.jsonl")]
        return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()
    if manifest.get("format") == "pnyx-index":
        from pnyx.judging.documents import open_documents

        # A folder may be named NAME:REST, like the indexes of a plugin's engine.
        known_by = open_documents(Path(path).absolute()).known_by
        return hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()
    return file_hash(path)


def check_record(record: Mapping[str, Any], path: str) -> None:
    """Raise InputError if a record, which may come from a stranger, is malformed."""
    kinds = {"command": str, "arguments": list, "options": dict, "inputs": dict, "writes": dict}
    kinds |= {name: dict for name in ("outputs", "environment") if name in record}
    sound = all(isinstance(record.get(name), kind) for name, kind in kinds.items())
    names = [record.get(name, {}) for name in ("inputs", "writes", "outputs")] if sound else []
    if not sound or not all(isinstance(v, str | None) for part in names for v in part.values()):
        raise InputError("holds a damaged record", path=path)


def changed_input(record: Mapping[str, Any], inputs: Path) -> str:
    """Return which input is missing or has changed, in words; empty if none."""
    for path, sha256 in record["inputs"].items():
        if sha256 is None:
            return f"{escaped(path)} was standard input: its content is not recorded"
        digest = input_hash(str(inputs / path))
        if digest is None:
            return f"{escaped(path)} is missing; expected sha256 {sha256[:12]}..."
        if digest != sha256:
            now, recorded = f"{digest[:12]}...", f"{sha256[:12]}..."
            return f"{escaped(path)} has changed: sha256 {now}, recorded {recorded}"
    return ""
