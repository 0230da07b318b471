"""Rebuild a command line from a record that a stranger may have written.

A record cannot choose a command that writes no records, nor a path, model, address or secret: the
user gives these again, as `--with OPTION=VALUE`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from pnyx.cli.params import Command, SpecOption
from pnyx.cli.record import LLM, decides, name_of
from pnyx.cli.settings import SettingOption
from pnyx.core.errors import InputError, OptionError, PnyxError, escaped
from pnyx.core.plugins import plugins
from pnyx.core.spec import Spec, main_flag, opt
from pnyx.formats.text_types import TextKind, Words, is_address_like
from pnyx.models.embed.embedder import PACKAGED as PACKAGED_EMBEDDER

_PACKAGED = {TextKind.LANGUAGE_MODEL: "local", TextKind.MODEL: PACKAGED_EMBEDDER}
"""Models that need no network and cost nothing, by the kind of text that names them."""
READABLE = (TextKind.FILE, TextKind.SOURCE)
"""Kinds of text that are read, and that reach a network only if they hold an address."""


class TrustSpec(Spec, heading="Trust"):
    """Options for what a record cannot choose."""

    replaced: tuple[Words, ...] = opt(
        (),
        "Value for an option of the record that names a model, or an address on the network. A "
        "record cannot choose these by itself.",
        "--with",
        metavar="OPTION=VALUE",
    )

    def values(self) -> dict[str, list[str]]:
        """Return option -> values; OptionError: one is not OPTION=VALUE."""
        values: dict[str, list[str]] = {}
        for text in self.replaced:
            name, equals, value = text.partition("=")
            if not (name and equals and value):
                raise OptionError(f"--with {escaped(text, 60)}: expected OPTION=VALUE")
            values.setdefault(name.removeprefix("--"), []).append(value)
        return values


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text of a record, by the name of its option or argument."""

    name: str
    text: str
    kind: TextKind | None

    @property
    def trusted(self) -> bool:
        """Whether a record may choose it: words, packaged models, and local files."""
        if self.kind is TextKind.WORDS:
            return True
        if self.kind in READABLE:
            return not is_address_like(self.text)
        if self.kind is TextKind.JUDGE:
            # The content of FILE.toml is checked nowhere; a record holds its content, not its name.
            unchecked = self.text in plugins("judges") or self.text.endswith(".toml")
            return not (unchecked or is_address_like(self.text))
        return self.kind is not None and self.text == _PACKAGED.get(self.kind)


def recorded_command(record: Mapping[str, Any]) -> Command:
    """Return the command of a record; InputError if it does not write records."""
    from pnyx.cli import app

    words = str(record["command"]).split()
    command: click.Command | None = app
    context = click.Context(app)
    with contextlib.suppress(PnyxError):
        for word in words:
            if isinstance(command, click.Group):
                command = command.get_command(context, word)
            else:
                command = getattr(command, "words", {}).get(word)
        if isinstance(command, Command) and command.records:
            return command
    command_line = escaped(" ".join(words), 60)
    raise InputError(f"pnyx {command_line} writes no records in this version; damaged or forged")


def options_of(command: Command) -> dict[str, click.Option]:
    """Return the options of a command by their names in a record."""
    options = (option for option in command.params if isinstance(option, click.Option))
    return {name_of(option): option for option in options}


def trusted_record(
    record: Mapping[str, Any],
    values: Mapping[str, Sequence[str]],
    path: str,
    *,
    kinds: Collection[TextKind | None] = (None, *TextKind),
) -> dict[str, Any]:
    """Return a record with values replaced by those of the command line.

    `kinds` are the kinds of text that the caller uses.

    Raises:
        InputError: the record names a model or an address that is not among `values`.
        OptionError: some of `values` are for what the record chooses itself.
    """
    command = recorded_command(record)
    refused: dict[str, list[NamedText]] = {}
    for named in _named_texts(command, record):
        if named.kind in kinds and not named.trusted:
            refused.setdefault(named.name, []).append(named)
    for name in values:
        if name not in refused:
            raise OptionError(
                f"--with {escaped(name, 40)}: the record names no model or address there"
            )
    missing = [named for name, texts in refused.items() if name not in values for named in texts]
    if missing:
        raise InputError(_refusal(missing), path=path)
    return _replaced(command, record, values)


def _named_texts(command: Command, record: Mapping[str, Any]) -> Iterator[NamedText]:
    """Yield each text of a record's options, arguments and environment."""
    options = options_of(command)
    for name, value in record["options"].items():
        option = options.get(name)
        if option is None or not decides(option):
            continue  # refused by `arguments_of`
        if isinstance(option.type, click.types.StringParamType):
            kind = command.kind_of(option)
            yield from (NamedText(name, text, kind) for text in _texts(value))
    for argument, texts in _arguments(command, record["arguments"]).items():
        if isinstance(argument.type, click.types.StringParamType):
            kind = command.kind_of(argument)
            yield from (NamedText(str(argument.name), text, kind) for text in texts)
    for text in str(record.get("environment", {}).get(LLM) or "").split():
        yield NamedText("llm", text, TextKind.LANGUAGE_MODEL)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield str(value)


def _arguments(command: Command, texts: Sequence[Any]) -> dict[click.Argument, list[str]]:
    """Return the texts of each argument, as click assigns them; InputError: there are too many."""
    parser = command.make_parser(click.Context(command))
    values, rest, _ = parser.parse_args(["--", *map(str, texts)])
    by_argument: dict[click.Argument, list[str]] = {}
    for argument in command.params:
        if isinstance(argument, click.Argument):
            value = values.get(str(argument.name))
            parts = value if isinstance(value, tuple) else (value,)
            by_argument[argument] = [part for part in parts if isinstance(part, str)]
    if rest:
        raise InputError(f"pnyx {command.name} takes fewer arguments; damaged or forged")
    return by_argument


def _refusal(missing: Iterable[NamedText]) -> str:
    """Return why a record is refused, and what to add if the user trusts it."""
    names, additions = [], []
    for named in missing:
        noun = named.kind.value if named.kind not in (None, *READABLE) else "an address"
        names.append(f"{noun} ({named.name}: {escaped(named.text, 300)})")
        additions.append(f"--with {shlex.quote(f'{named.name}={escaped(named.text, 300)}')}")
    return (
        f"the record names {', '.join(names)}. A record may come from a stranger and cannot "
        f"choose that by itself: if you trust it, add {' '.join(additions)}"
    )


def _replaced(
    command: Command, record: Mapping[str, Any], values: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    options, environment = dict(record["options"]), dict(record.get("environment", {}))
    arguments = _arguments(command, record["arguments"])
    option_by_name = options_of(command)
    for name, texts in values.items():
        option = option_by_name.get(name)
        if name in options and option is not None:
            if len(texts) > 1 and not option.multiple:
                raise OptionError(f"--with {escaped(name, 40)}: expected one value")
            options[name] = list(texts) if option.multiple else texts[0]
        if name == "llm" and environment.get(LLM):
            environment[LLM] = " ".join(texts)
        for argument in arguments:
            if argument.name == name:
                arguments[argument] = list(texts)
    flat = [text for texts in arguments.values() for text in texts]
    return {**record, "options": options, "environment": environment, "arguments": flat}


def allowed_addresses(record: Mapping[str, Any], values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the allowed connections while stored replies stand in for language models."""
    from pnyx.judging.students.student import BASE_LOCATION

    command = recorded_command(record)
    kinds = {name: command.kind_of(option) for name, option in options_of(command).items()}
    texts = [
        text
        for name in values
        if name != "llm" and kinds.get(name) is not TextKind.LANGUAGE_MODEL
        for text in values[name]
        if kinds.get(name) is not TextKind.JUDGE or text in plugins("judges")
    ]
    return [*texts, *filter(None, [os.environ.get(BASE_LOCATION)])]


@contextlib.contextmanager
def environment_of(record: Mapping[str, Any]) -> Iterator[None]:
    """Set the environment to name the language models of the record."""
    before = os.environ.pop(LLM, None)
    if named := record.get("environment", {}).get(LLM):
        os.environ[LLM] = str(named)
    try:
        yield
    finally:
        os.environ.pop(LLM, None)
        if before is not None:
            os.environ[LLM] = before


def from_store(record: Mapping[str, Any], stored: Sequence[str]) -> list[str]:
    """Return the options that make stored replies stand in for a record's language models.

    `stored` names the store; paths are looked up in the working directory.
    """
    from pnyx.judging.opened_judge import names_student

    command = recorded_command(record)
    named = _named_texts(command, record)
    texts = [
        text.text
        for text in named
        if text.kind is TextKind.LANGUAGE_MODEL
        or (text.kind is TextKind.JUDGE and (text.text == "local" or is_address_like(text.text)))
    ]
    # A folder with the name of a model is not taken for a student model.
    if all(text != "local" and not is_address_like(text) and names_student(text) for text in texts):
        return []
    if "from-store" not in options_of(command):
        raise InputError(f"pnyx {record['command']} has no --from-store and cannot be repeated")
    return ["--from-store", *stored]


def arguments_of(
    record: Mapping[str, Any], outputs: Mapping[str, str], added: Sequence[str] = ()
) -> list[str]:
    """Return the command line of a trusted record, with new output paths and extra options.

    Raises:
        InputError: the record names an option that this version does not have, or that Pnyx never
            records.
    """
    command, words = recorded_command(record), str(record["command"]).split()
    options = options_of(command)
    line = list(words)
    for name, value in {**record["options"], **outputs}.items():
        option = options.get(name)
        if option is None:
            missing = escaped(name, 40)
            raise InputError(f"pnyx {' '.join(words)} has no option --{missing} in this version")
        writes = isinstance(option, SpecOption) and option.writes
        if not (writes if name in outputs else decides(option)):
            raise InputError(
                f"--{escaped(name, 40)} is in no record of pnyx {' '.join(words)}; forged"
            )
        line += _option_words(option, value)
    line += added
    if "no-text" in options and "no_text" in record:
        line.append("--no-text" if record["no_text"] else "--text")
    return [*line, "--", *map(str, record["arguments"])]


def _option_words(option: click.Option, value: Any) -> Iterator[str]:
    """Yield an option as command-line words; InputError if its value does not fit."""
    flag = main_flag(option.opts)
    if isinstance(option, SettingOption):
        text = str(value).lower() if isinstance(value, bool) else ",".join(_texts(value))
        yield from ("--set", f"{option.setting}={text}")
        return
    if option.is_flag:
        if value or option.secondary_opts:
            yield flag if value else max(option.secondary_opts, key=len)
        return
    if option.multiple and not isinstance(value, list):
        raise InputError(f"{flag}: expected a list of values; damaged or forged")
    for single in value if option.multiple else [value]:
        if option.nargs == 1:
            yield from (flag, ",".join(_texts(single)))
        elif isinstance(single, list) and len(list(_texts(single))) == option.nargs:
            yield from (flag, *_texts(single))
        else:
            raise InputError(f"{flag}: expected {option.nargs} values; damaged or forged")
