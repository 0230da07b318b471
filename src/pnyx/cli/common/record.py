"""The record of a command: what decided its results, in their manifest, for `pnyx repeat`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from os.path import realpath
from pathlib import Path
from typing import Any

import click

from pnyx.cli.common.params import Raw, SpecOption
from pnyx.errors import InputError, PnyxError, escaped
from pnyx.files import read_json
from pnyx.judge.answers import MANIFEST
from pnyx.models.chat.types import printable
from pnyx.models.http.addresses import shown_address
from pnyx.placing import newest
from pnyx.restricted import hides_text

_UNDECIDING = frozenset(
    "plan budget budget-tokens concurrency timeout store prices from-store engine".split()
)
"""Options that say what is spent, and where work is done, and decide no result."""
_LLM = "PNYX_LLM"
_RECORDED = (["judge"], ["audit"], ["annotate"], ["measure"], ["nuggets"])
"""First words of commands that write records."""
_COMPUTES = ("numpy", "onnxruntime", "tokenizers")
"""Distributions whose versions may move a last digit."""


def record_of_command(
    outputs: Mapping[str, str | Path] | None = None, *, asks: bool = False
) -> dict[str, Any]:
    """Return what decides the results of the command that is running, as JSON.

    Its words; all options by name, defaults too; the files they name, by path with their hash, None
    for standard input; versions of what computes. Paths are as given. `outputs` are files that are
    written already, beside answers.jsonl: by option, or option/name of a file in its folder.
    `asks`: a language model is asked, so that what the environment says of it counts.
    """
    context = click.get_current_context()
    written = {realpath(path) for _, path in _outputs(context)}
    options: dict[str, Any] = {}
    arguments: list[str] = []
    inputs: dict[str, str | None] = {}
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if value in (None, (), "") or not _decides(parameter):
            continue
        given = [str(v) for v in (value if isinstance(value, tuple) else (value,))]
        if isinstance(parameter, click.Argument):
            arguments += given
        else:
            options[name_of(parameter)] = _shown(parameter, value)
        if isinstance(parameter.type, Raw) or _any_text(parameter):
            inputs |= {p: input_hash(p) for p in given if _is_input(p, written)}
    named = os.environ.get(_LLM, "").split() if asks else []
    record = {
        "command": context.command_path.partition(" ")[2],
        "arguments": arguments,
        "options": options,
        "inputs": inputs,
        "environment": {_LLM: " ".join(map(shown_address, named))} if named else {},
        "no_text": hides_text(),
        "versions": versions(),
        "writes": dict(_places(context)),
        "outputs": {name: input_hash(str(newest(path))) for name, path in (outputs or {}).items()},
    }
    whole: dict[str, Any] = json.loads(printable(json.dumps(record, ensure_ascii=False)))
    return whole


def _decides(parameter: click.Parameter) -> bool:
    if isinstance(parameter, SpecOption):
        return not parameter.writes and name_of(parameter) not in _UNDECIDING
    return isinstance(parameter, click.Argument)


def name_of(option: click.Option | click.Parameter) -> str:
    """Return an option's longest name, without dashes."""
    return max(option.opts, key=len).lstrip("-")


def _any_text(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Argument) and not isinstance(parameter.type, click.Choice)


def _outputs(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield option and path of what the command writes."""
    for option in context.command.params:
        path = context.params.get(str(option.name))
        if isinstance(option, SpecOption) and option.writes and path:
            yield name_of(option), path


def _places(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield options that write, with the place that a repetition gives what they write."""
    for name, path in _outputs(context):
        yield name, name if Path(path).is_dir() else f"{name}/{Path(path).name}"


def _is_input(path: str, written: set[str]) -> bool:
    return path == "-" or (realpath(path) not in written and os.path.exists(path))  # noqa: PTH110


def _shown(parameter: click.Parameter, value: Any) -> Any:
    """Return an option's value as JSON; an address without what must not be seen."""
    if name_of(parameter) in ("llm", "cheap", "editor"):
        return (
            [shown_address(v) for v in value] if isinstance(value, tuple) else shown_address(value)
        )
    return list(value) if isinstance(value, tuple) else value


def versions() -> dict[str, str]:
    """Return the versions of `_COMPUTES` here."""
    return {name: version(name) for name in _COMPUTES}


def input_hash(path: str) -> str | None:
    """Return SHA-256 of a file, of a folder's files, of an index's content, or of all answers."""
    from pnyx.runs.pairs import file_hash

    manifest = (read_json(Path(path) / MANIFEST) or {}) if Path(path).is_dir() else {}
    if manifest.get("format") == "pnyx-results":  # other files say when, and what it cost
        found = [file_hash(Path(path) / name) for name in ("answers.jsonl", "reports.jsonl")]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()
    if manifest.get("format") == "pnyx-index":
        from pnyx.search.opening import open_index

        known_by = open_index(path).known_by
        return hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()
    return file_hash(path)


def check_record(record: Mapping[str, Any], path: str) -> None:
    """Raise InputError unless a record, which strangers may write, is made as they are."""
    kinds = {"command": str, "arguments": list, "options": dict, "inputs": dict, "writes": dict}
    kinds |= {name: dict for name in ("outputs", "environment") if name in record}
    sound = all(isinstance(record.get(name), kind) for name, kind in kinds.items())
    names = [record.get(name, {}) for name in ("inputs", "writes", "outputs")] if sound else []
    if not sound or not all(isinstance(v, str | None) for part in names for v in part.values()):
        raise InputError("holds a damaged record", path=path)


def changed_input(record: Mapping[str, Any], inputs: Path) -> str:
    """Return which input is not there or has changed, in words; nothing where all are the same."""
    for path, sha256 in record["inputs"].items():
        if sha256 is None:
            return f"{escaped(path)} was standard input: its content is not recorded"
        found = input_hash(str(inputs / path))
        if found is None:
            return f"{escaped(path)} is not there; expected sha256 {sha256[:12]}..."
        if found != sha256:
            return f"{escaped(path)} is another: sha256 {found[:12]}..., recorded {sha256[:12]}..."
    return ""


@contextlib.contextmanager
def environment_of(record: Mapping[str, Any]) -> Iterator[None]:
    """Have the environment say of language models what it said when a record was made."""
    before = os.environ.pop(_LLM, None)
    if named := record.get("environment", {}).get(_LLM):
        os.environ[_LLM] = str(named)
    try:
        yield
    finally:
        os.environ.pop(_LLM, None)
        if before is not None:
            os.environ[_LLM] = before


def arguments_of(
    record: Mapping[str, Any], outputs: Mapping[str, str], stored: Sequence[str]
) -> list[str]:
    """Return the arguments of the command line that a record is of, with its outputs elsewhere.

    A record may come from a stranger: it chooses neither what is written nor what is spent. Where
    it names a language model, replies come from a store, with the arguments `stored`.

    Raises:
        InputError: the record names what this version does not have, or no record of ours names.
    """
    from pnyx.cli import app

    words = str(record["command"]).split()
    if words[:1] not in _RECORDED:
        raise InputError(f"pnyx {' '.join(words)} writes no records; damaged or forged")
    command = _command(app, words)
    options = {name_of(option): option for option in command.params}
    found = list(words)
    for name, value in {**record["options"], **outputs}.items():
        option = options.get(name)
        if not isinstance(option, click.Option):
            raise InputError(f"pnyx {' '.join(words)} has no option --{name} in this version")
        if name not in outputs and not _decides(option):
            raise InputError(f"--{name} is in no record of pnyx {' '.join(words)}; forged")
        found += _given(option, value)
    if "llm" in options and ("llm" in record["options"] or os.environ.get(_LLM)):
        if "from-store" not in options:
            raise InputError(f"pnyx {' '.join(words)} asks its model anew: it cannot be repeated")
        found += ["--from-store", *stored]
    if "no-text" in options and "no_text" in record:
        found.append("--no-text" if record["no_text"] else "--text")
    return [*found, "--", *map(str, record["arguments"])]


def _command(group: click.Group, words: list[str]) -> click.Command:
    context, command = click.Context(group), group
    found: click.Command | None = command
    for word in words:
        if isinstance(found, click.Group):
            found = found.get_command(context, word)
        else:
            found = getattr(found, "words", {}).get(word)
    if found is None:
        raise PnyxError(f"this version has no command pnyx {' '.join(words)}")
    return found


def _given(option: click.Option, value: Any) -> Iterator[str]:
    """Yield how an option is given on a command line."""
    flag = max(option.opts, key=len)
    if option.is_flag:
        if value or option.secondary_opts:
            yield flag if value else max(option.secondary_opts, key=len)
    elif option.multiple:
        yield from (word for one in value for word in (flag, str(one)))
    elif isinstance(value, list) and option.nargs == 1:
        yield from (flag, ",".join(str(one) for one in value))
    elif isinstance(value, list):
        yield from (flag, *map(str, value))
    else:
        yield from (flag, str(value))
