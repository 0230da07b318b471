"""Command-line options made of specs, and help pages in sections.

@verb("search")
@click.argument("index")
def search(index: str, search: SearchSpec, as_json: bool) -> int: ...
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping
from os.path import realpath
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.exceptions import Exit

from pnyx.cli.config import RESTRICTED, config_options, save_config
from pnyx.cli.options import EXIT_INTERRUPTED, Outcome
from pnyx.cli.settings import Raw as Raw
from pnyx.cli.settings import SettingOption, set_option
from pnyx.cli.settings import SpecOption as SpecOption
from pnyx.cli.spec_options import MORE, SETTINGS, plain_type, takes
from pnyx.core.errors import OptionError, PluginError, PnyxError, escaped
from pnyx.core.plugins import APART, Plugin, plugin_commands
from pnyx.core.restricted_mode import hides_text, no_text
from pnyx.core.spec import Spec, main_flag
from pnyx.formats.text_types import TextKind

F = TypeVar("F", bound=Callable[..., Any])
HELP_ALL = "pnyx.help_all"
"""Key of a context's `meta` under which help shows all options."""


class Command(click.Command):
    """A command whose help shows options under headings; `words` are subcommands.

    Options that few people need, and the part of the description after a form feed, are under
    --help-all. `verb` sets `records`, `argument_kinds` and
    `gone`: whether it may write a record for `pnyx files repeat`, what the text of each argument
    may name, and what to use in place of options and subcommands that were removed.
    """

    records = False
    gone: Mapping[str, str] = types.MappingProxyType({})
    argument_kinds: Mapping[str, TextKind] = types.MappingProxyType({})

    def __init__(
        self,
        *args: Any,
        resumes: bool = False,
        words: Mapping[str, click.Command] | None = None,
        **more: Any,
    ) -> None:
        self.resumes, self.words = resumes, {} if words is None else words
        super().__init__(*args, **more)

    def kind_of(self, parameter: click.Parameter) -> TextKind | None:
        """Return what the text of an option or argument may name; None if it is untyped."""
        if isinstance(parameter, SpecOption):
            return parameter.text_kind
        return self.argument_kinds.get(str(parameter.name))

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments, or let the subcommand named first read them."""
        taken = self.words.get(args[0]) if args else None
        if taken is None:
            self._refuse_removed(str(info_name), args)
            return super().make_context(info_name, args, parent, **extra)
        return taken.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def _refuse_removed(self, name: str, args: list[str]) -> None:
        """Raise UsageError if the arguments name a removed subcommand, and not a file."""
        word, *rest = args or [""]
        if word.startswith("-") or word not in self.gone:
            return
        if not Path(word).exists() or (rest and (rest[0] == "-" or not rest[0].startswith("-"))):
            raise click.UsageError(f"{name} {word} was removed: {self.gone[word]}")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an option that was removed says what to use."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            replacement = self._replacement(error.option_name)
            if not replacement:
                raise
            raise click.UsageError(f"{error.option_name} {replacement}", ctx) from error

    def _replacement(self, flag: str) -> str:
        """Return what to use in place of a removed flag; empty for an unknown flag."""
        if flag in self.gone:
            return f"was removed: {self.gone[flag]}"
        for option in self.params:
            if isinstance(option, SettingOption) and flag in option.opts:
                return f"is a setting: use --set {option.setting}=VALUE"
            if isinstance(option, SpecOption) and flag in option.replaces:
                return f"was removed: use {main_flag(option.opts)}"
        return ""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; conflicting options are a usage error."""
        try:
            if save_config(ctx):
                return 0
            self._check_outputs(ctx)
            if not (ctx.meta.get(RESTRICTED) or hides_text()):
                return super().invoke(ctx)
            with no_text(PnyxError, OSError, click.ClickException, click.Abort, Exit):
                return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(str(error), ctx) from error
        except KeyboardInterrupt:
            if not self.resumes:
                raise
            click.echo("pnyx: interrupted; the same command resumes where it stopped", err=True)
            return EXIT_INTERRUPTED

    def _check_outputs(self, ctx: click.Context) -> None:
        """Raise before any work if outputs cannot be written or name the same file."""
        from pnyx.core.files import check_output
        from pnyx.core.network import is_remote

        flags: dict[str, str] = {}
        for option in self.params:
            if not isinstance(option, SpecOption) or not option.writes:
                continue
            path = ctx.params.get(str(option.name))
            flag = main_flag(option.opts)
            if path is None or (is_remote(path) and self.name == "index"):
                continue
            if is_remote(path):
                raise OptionError(f"{flag} names an index in a cluster, expected a file or folder")
            check_output(path, option.writes)
            other = flags.setdefault(path if path == "-" else realpath(path), flag)
            if other != flag and not path.startswith("/dev/"):
                if path == "-":
                    raise OptionError(f"{other} and {flag} both write to standard output")
                raise OptionError(
                    f"{flag} names the same file as {other}, which would be overwritten"
                )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with --help-all if --help hides some."""
        parameters = super().get_params(ctx)
        if not any(isinstance(parameter, SpecOption) for parameter in parameters):
            return parameters
        return [*parameters, *self._shared_options, _help_all()]

    @functools.cached_property
    def _shared_options(self) -> list[click.Option]:
        """Options of many commands; the same objects, because click sorts them by identity."""
        sets = any(isinstance(parameter, SettingOption) for parameter in self.params)
        searches = any(str(p.name).rpartition("__")[2] in ("index", "add") for p in self.params)
        return [*[set_option(MORE)] * sets, *[_insecure()] * searches, *config_options(MORE)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description; what follows a form feed is shown by --help-all only."""
        super().format_help_text(ctx, formatter)
        details = inspect.cleandoc(self.help or "").partition("\f")[2]
        if details and ctx.meta.get(HELP_ALL):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(inspect.cleandoc(details))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands and the options in sections."""
        if self.words:
            with formatter.section("Commands"):
                texts = {name: word.get_short_help_str(100) for name, word in self.words.items()}
                formatter.write_dl(list(texts.items()))
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "heading", ""), []).append(record)
        more, settings = sections.pop(MORE, []), sections.pop(SETTINGS, [])
        plain = sections.pop("", None)
        groups = [*sections.items(), ("Options", plain)]
        if ctx.meta.get(HELP_ALL):
            groups += [(MORE, more), (SETTINGS, settings)]
        for heading, records in groups:
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(click.Group):
    """A group of commands, in the order of the main job, that suggests one for a mistyped name.

    Plugins add commands to it: the entry point `files web` adds `web` to the group `files`.
    """

    gone: Mapping[str, str] = {}
    """Commands that were removed -> what to use."""

    def plugin_commands(self) -> dict[str, Plugin]:
        """Return the commands of plugins by name."""
        return plugin_commands(str(self.name), self.commands)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added, then those of plugins."""
        return [*self.commands, *self.plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; one of a plugin is imported."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        return plugin_command(f"{self.name} {cmd_name}", self.plugin_commands().get(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands; those of plugins are not imported."""
        width = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        texts = {name: part.get_short_help_str(width) for name, part in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(list(texts.items()))
        write_plugins(formatter, self.plugin_commands())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named first."""
        name = args[0] if args else ""
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            if name in self.gone:
                raise click.UsageError(f"{name} was removed: {self.gone[name]}", ctx)
            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {escaped(name, 40)!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def plugin_command(path: str, plugin: Plugin | None) -> click.Command | None:
    """Import the command of a plugin; PluginError names the distribution that would add `path`."""
    if plugin is not None:
        command: click.Command = plugin.load(click.Command)
        return command
    if path in APART:
        raise PluginError(f"`pnyx {path}` is a plugin: pip install {APART[path]}")
    return None


def write_plugins(formatter: click.HelpFormatter, commands: Mapping[str, Plugin]) -> None:
    """List commands of plugins with the summaries of their distributions."""
    if commands:
        with formatter.section("Plugins"):
            formatter.write_dl([(name, plugin.summary) for name, plugin in commands.items()])


def verb(
    name: str,
    *,
    group: click.Group | None = None,
    restricts: bool = False,
    records: bool = False,
    without: Mapping[str, str] | None = None,
    rare: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
    kind: type[Command] = Command,
    **more: Any,
) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function; its spec parameters and `as_json` become options.

    It returns its exit status or an `Outcome`, which is printed, with --json as JSON.

    Args:
        name: of the command.
        group: to which it is added.
        restricts: offers --no-text: neither its output nor the answers it writes contain text.
        records: may write a record for `pnyx files repeat`. Each of its texts must then have a type
            of `pnyx.formats.text_types`, or TypeError is raised.
        without: parameter -> fields of its spec that keep their defaults.
        rare: parameter -> fields that this command shows under "More options".
        gone: options and subcommands that were removed -> what to use.
        kind: class of the command.
        more: as for click; `resumes` says that an interrupted command continues when it is run
            again, `words` are as for `Command`.
    """

    def make(called: Callable[..., Any]) -> Command:
        hints = typing.get_type_hints(called, include_extras=True)
        result = hints.pop("return", None)

        @functools.wraps(called)
        def function(*args: Any, **values: Any) -> Any:
            as_json = values.get("as_json", False)
            if "as_json" not in hints:
                values.pop("as_json", None)
            outcome = called(*args, **values)
            return outcome.show(as_json=as_json) if isinstance(outcome, Outcome) else outcome

        offered: Any = function
        if "as_json" in hints or Outcome in (result, *get_args(result)):
            offered = _JSON(_NO_TEXT(function) if restricts else function)
        for parameter, hint in reversed(hints.items()):
            if isinstance(hint, type) and issubclass(hint, Spec):
                left, hidden = ((by or {}).get(parameter, "").split() for by in (without, rare))
                offered = takes(parameter, hint, left, hidden)(offered)
        command = click.command(name, cls=kind, **more)(offered)
        named = {parameter: plain_type(hint)[1] for parameter, hint in hints.items()}
        command.argument_kinds = {name: kind for name, kind in named.items() if kind is not None}
        command.records = records
        command.gone = gone or {}
        if records:
            _check_typed(command)
        if group is not None:
            group.add_command(command)
        return command

    return make


def _check_typed(command: Command) -> None:
    """Raise TypeError if a text of a command that writes records is not typed."""
    for parameter in command.params:
        takes_text = isinstance(parameter.type, click.types.StringParamType)
        if takes_text and command.kind_of(parameter) is None:
            raise TypeError(
                f"{command.name}: {parameter.name} takes text, expected a type of "
                "pnyx.formats.text_types that says what it may name"
            )


def _help_all() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[HELP_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options and details, and exit.",
    )


def _insecure() -> SpecOption:
    def allow(_: click.Context, __: click.Parameter, value: bool) -> None:
        if value:
            from pnyx.core.network import INSECURE

            os.environ[INSECURE] = "1"

    return SpecOption(
        ["--insecure"],
        heading=MORE,
        is_flag=True,
        expose_value=False,
        callback=allow,
        help="Do not verify the certificate of opensearch+https://HOST.",
    )


def _restrict(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:
    if value is not None:
        ctx.meta[RESTRICTED] = value


_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
_NO_TEXT = click.option(
    "--no-text/--text",
    cls=SpecOption,
    heading=MORE,
    default=None,
    expose_value=False,
    callback=_restrict,
    help="Show and write no text of documents or responses, nor reasons or quotations.",
)
