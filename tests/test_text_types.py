"""Each text that names a model, an address or a secret says so by its type."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from pnyx.cli import COMMANDS, app
from pnyx.cli.params import Command, SpecOption, verb
from pnyx.cli.record import decides, record_of_command
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName, SourceName, TextKind, Words

NAMES = {
    "--llm": TextKind.LANGUAGE_MODEL,
    "--cheap": TextKind.LANGUAGE_MODEL,
    "--editor": TextKind.LANGUAGE_MODEL,
    "--citation-judge": TextKind.LANGUAGE_MODEL,
    "--embedder": TextKind.MODEL,
    "--base": TextKind.MODEL,
    "--engine": TextKind.ADDRESS,
    "--host": TextKind.ADDRESS,
    "--search-url": TextKind.ADDRESS,
    "--token": TextKind.SECRET,
    "--index": TextKind.SOURCE,
}
SIGNS = re.compile(r"https?://|openai:|ray://|opensearch|hub name|language model that|Address")
"""What the help of an option says whose text may lead to a network."""


def all_commands() -> Iterator[Command]:
    """Yield each command of the registry."""

    def walk(command: click.Command) -> Iterator[Command]:
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from walk(found)
        elif isinstance(command, Command):
            yield command
            for other in command.words.values():
                yield from walk(other)

    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        yield from walk(command)


def test_options_that_lead_to_a_network_are_typed_in_every_command():
    seen = set()
    for command in all_commands():
        for option in command.params:
            if not isinstance(option, SpecOption):
                continue
            flag = max(option.opts, key=len)
            if flag in NAMES:
                assert option.text_kind is NAMES[flag], (command.name, flag)
                seen.add(flag)
            takes_text = isinstance(option.type, click.types.StringParamType)
            if takes_text and SIGNS.search(option.help or ""):
                kind = option.text_kind
                assert kind not in (None, TextKind.WORDS, TextKind.FILE), (command.name, flag)
    assert seen == NAMES.keys()


def test_indexes_given_as_arguments_are_typed():
    kinds = [c.argument_kinds["index"] for c in all_commands() if "index" in c.argument_kinds]
    assert len(kinds) >= 6
    assert set(kinds) == {TextKind.SOURCE}


class TypedSpec(Spec):
    """Texts with types."""

    name: Words | None = opt(None, "A name.")
    sources: tuple[SourceName, ...] = file_opt((), "Sources.")
    cuts: tuple[float, ...] = opt((), "Numbers.", each=True)
    note: str = opt("", "A text without a type.")


@pytest.mark.parametrize("records", [False, True])
def test_a_text_without_a_type_stops_a_command_that_writes_records(records):
    def run(items: FileName, spec: TypedSpec) -> int:
        """Do nothing."""
        return 0

    run.__annotations__ = {"items": FileName, "spec": TypedSpec, "return": int}
    made = verb("made", records=records)
    function = click.argument("items")(run)
    if records:
        with pytest.raises(TypeError, match="made: spec__note takes text, expected a type of"):
            made(function)
        return
    command = made(function)
    kinds = {str(p.name): command.kind_of(p) for p in command.params}
    expected = {"name": "WORDS", "sources": "SOURCE", "cuts": "WORDS"}
    assert kinds == {
        "items": TextKind.FILE,
        "spec__note": None,
        **{f"spec__{name}": TextKind[kind] for name, kind in expected.items()},
    }


def test_an_argument_without_a_type_stops_it_too():
    def run(items: str) -> int:
        """Do nothing."""
        return 0

    run.__annotations__ = {"items": str, "return": int}
    with pytest.raises(TypeError, match="made: items takes text"):
        verb("made", records=True)(click.argument("items")(run))


def test_no_record_holds_a_secret():
    token = SpecOption(["--token"], text_kind=TextKind.SECRET)
    assert not decides(token)
    assert decides(SpecOption(["--name"], text_kind=TextKind.WORDS))
    assert not decides(SpecOption(["--out"], text_kind=TextKind.FILE, writes="file"))


def test_a_command_that_is_not_marked_writes_no_record():
    def run() -> int:
        """Write a record."""
        record_of_command()
        return 0

    command = verb("made")(run)
    with pytest.raises(TypeError, match="made writes a record but lacks verb"):
        command.main([], prog_name="made", standalone_mode=False)
