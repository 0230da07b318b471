"""Command-line options made of specs, and help pages in sections.

@verb("search")
@click.argument("index")
def search(index: str, search: SearchSpec, as_json: bool) -> int: ...
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Mapping
from os.path import realpath
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.core import ParameterSource
from click.exceptions import Exit

from pnyx.cli.config import RESTRICTED, config_options, read_settings, save_config
from pnyx.cli.exit_status import EXIT_INTERRUPTED
from pnyx.cli.options import Outcome
from pnyx.cli.param_types import Number, NumberRange, Text
from pnyx.cli.param_types import Raw as Raw
from pnyx.cli.settings import SettingOption, set_option
from pnyx.cli.settings import SpecOption as SpecOption
from pnyx.core.errors import OptionError, PnyxError, escaped
from pnyx.core.restricted_mode import hides_text, no_text
from pnyx.core.spec import Opt, Spec, flags_of, main_flag, opts_of
from pnyx.formats.text_types import TextKind

F = TypeVar("F", bound=Callable[..., Any])
_MORE = "More options"
_SETTINGS = "Settings (--set NAME=VALUE)"
HELP_ALL = "pnyx.help_all"
"""Key of a context's `meta` under which help shows all options."""


class Command(click.Command):
    """A command whose help shows options under headings; `words` are subcommands.

    Options that few people need are under --help-all. `verb` sets `records`, `argument_kinds` and
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
        self.resumes, self.words = resumes, words or {}
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
        return [*[set_option()] * sets, *[_insecure()] * searches, *config_options(_MORE)]

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
        more, settings = sections.pop(_MORE, []), sections.pop(_SETTINGS, [])
        plain = sections.pop("", None)
        groups = [*sections.items(), ("Options", plain)]
        if ctx.meta.get(HELP_ALL):
            groups += [(_MORE, more), (_SETTINGS, settings)]
        for heading, records in groups:
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(click.Group):
    """A group of commands, in the order of the main job, that suggests one for a mistyped name."""

    gone: Mapping[str, str] = {}
    """Commands that were removed -> what to use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added."""
        return list(self.commands)

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
                offered = _takes(parameter, hint, left, hidden)(offered)
        command = click.command(name, cls=kind, **more)(offered)
        named = {parameter: _plain_type(hint)[1] for parameter, hint in hints.items()}
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
        help="Show all options and exit.",
    )


def _insecure() -> SpecOption:
    def allow(_: click.Context, __: click.Parameter, value: bool) -> None:
        if value:
            from pnyx.core.network import INSECURE

            os.environ[INSECURE] = "1"

    return SpecOption(
        ["--insecure"],
        heading=_MORE,
        is_flag=True,
        expose_value=False,
        callback=allow,
        help="Do not verify the certificate of opensearch+https://HOST.",
    )


def _restrict(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:
    if value is not None:
        ctx.meta[RESTRICTED] = value


def _restricts(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """Turn on restricted mode with another switch, unless --text is given."""
    if value:
        ctx.meta.setdefault(RESTRICTED, True)
    return value


_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
_NO_TEXT = click.option(
    "--no-text/--text",
    cls=SpecOption,
    heading=_MORE,
    default=None,
    expose_value=False,
    callback=_restrict,
    help="Show and write no text of documents or responses, nor reasons or quotations.",
)


def _takes(
    name: str, spec: type[Spec], without: Collection[str], rare: Collection[str]
) -> Callable[[F], F]:
    """Add the options of a spec to a function, which gets the spec under this name."""
    offered = [(field, option) for field, option in opts_of(spec) if field.name not in without]
    hints = typing.get_type_hints(spec, include_extras=True)

    def add(function: F) -> F:
        @functools.wraps(function)
        def with_spec(*args: Any, **values: Any) -> Any:
            chosen = {field.name: values.pop(f"{name}__{field.name}") for field, _ in offered}
            return function(*args, **{name: spec(**chosen)}, **values)

        wrapped: Any = with_spec
        for field, option in reversed(offered):
            heading = _MORE if field.name in rare else _heading(spec, field.name, option)
            heading = _SETTINGS if field.name in spec.setting_fields.split() else heading
            parameter = f"{name}__{field.name}"
            wrapped = _option(parameter, field, option, hints[field.name], heading)(wrapped)
        return typing.cast("F", wrapped)

    return add


def _heading(spec: type[Spec], name: str, option: Opt) -> str:
    """Return the heading of the class that first declares a field, or that mixes it in."""
    declares: list[Any] = [b for b in spec.__mro__ if name in inspect.get_annotations(b)]
    if name in declares[0].rare.split():
        return _MORE
    below = [b for b in spec.__mro__ if issubclass(b, declares[-1]) and issubclass(b, Spec)]
    return option.heading or next((b.heading for b in reversed(below) if b.heading), "")


def _option(
    parameter: str, field: dataclasses.Field[Any], option: Opt, hint: Any, heading: str
) -> Callable[[Any], Any]:
    """Return the decorator that adds one field's option."""
    hint, optional = _without_none(hint)
    listed = get_origin(hint) is tuple
    many = listed and Ellipsis in get_args(hint)  # otherwise this many values, given once
    kind, text_kind = _plain_type(hint)
    if option.each and kind is not str:
        text_kind = TextKind.WORDS  # comma-separated numbers or choices
    settings: dict[str, Any] = {"metavar": option.metavar, "envvar": option.env, "heading": heading}
    settings |= {"writes": option.writes, "text_kind": text_kind, "replaces": option.replaces}
    if option.takes_settings:
        settings |= {"is_eager": True, "callback": read_settings}
    if kind is bool:
        settings |= {"is_flag": True, "callback": _restricts if option.restricts else None}
    elif option.each:
        settings |= {"type": Text(), "callback": functools.partial(_split, _type(kind, option))}
    else:
        settings |= {"type": _type(kind, option), "multiple": many}
        settings["nargs"] = len(get_args(hint)) if listed and not many else 1
        settings["metavar"] = option.metavar or {int: "N", float: "X"}.get(kind)
    flags, default_text, default = flags_of(field, option), option.default_text, field.default
    if default is dataclasses.MISSING:
        settings["required"] = True
    else:
        settings["default"] = _joined(default) if option.each and default is not None else default
        if default is True:
            default_text = default_text or flags[0].partition("/")[0]
        if not (default_text or optional or kind is bool or default in ((), "")):
            default_text = _joined(default, ", ") if many else _shown(default)
    settings["help"] = (
        f"{option.help.removesuffix('.')}  [default: {default_text}]."
        if default_text
        else option.help
    )
    kind_of_option = SettingOption if heading == _SETTINGS else SpecOption
    return click.option(*flags, parameter, cls=kind_of_option, **settings)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _joined(values: Any, between: str = ",") -> str:
    return between.join(map(_shown, values))


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return a type without `| None`, and whether it was optional."""
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (arg for arg in get_args(hint) if arg is not type(None))
        return inner, True
    return hint, False


def _plain_type(hint: Any) -> tuple[Any, TextKind | None]:
    """Return the type of one value, without annotations, and what its text may name."""
    hint, _ = _without_none(hint)
    if get_origin(hint) is tuple:
        hint, _ = _without_none(get_args(hint)[0])
    if get_origin(hint) is not Annotated:
        return hint, None
    plain, *marks = get_args(hint)
    return plain, next((mark for mark in marks if isinstance(mark, TextKind)), None)


def _split(
    kind: click.ParamType[Any], ctx: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[Any, ...] | None:
    """Read comma-separated values."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    source = ctx.get_parameter_source(str(parameter.name))
    if not any(parts) and source is ParameterSource.COMMANDLINE:
        raise click.BadParameter("it is empty.", ctx, parameter)
    return tuple(kind.convert(part, parameter, ctx) for part in parts if part)


def _type(kind: Any, option: Opt) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(list(get_args(kind)))
    low, high, above, below = option.bounds
    bounded = low is not None or high is not None
    if kind is int:
        least, most = (None if n is None else int(n) for n in (low, high))
        return click.IntRange(least, most) if bounded else click.INT
    if kind is float:
        return NumberRange(low, high, min_open=above, max_open=below) if bounded else Number()
    return Raw() if option.raw else Text()
