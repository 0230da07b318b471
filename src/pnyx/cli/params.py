"""Command-line options made of specs, and help pages in sections.

@verb("search")
@takes("search", SearchSpec)
def search(index: str, search: SearchSpec) -> int: ...
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click

from pnyx.app.spec import Opt, Spec, opts_of
from pnyx.cli.values import Number, NumberRange, Raw, Text
from pnyx.errors import OptionError, shorten

__all__ = ["Command", "Group", "SpecOption", "json_option", "takes", "verb"]

F = TypeVar("F", bound=Callable[..., Any])
_MORE = "More options"


class SpecOption(click.Option):
    """An option that knows the heading it is shown under."""

    def __init__(self, *args: Any, heading: str = "", **more: Any) -> None:
        self.heading = heading
        super().__init__(*args, **more)


class Command(click.Command):
    """A command whose help shows options under headings, the rare ones last."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; choices that do not go together are bad usage of it."""
        try:
            return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(str(error), ctx) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "heading", ""), []).append(record)
        more = sections.pop(_MORE, None)
        plain = sections.pop("", None)
        for heading, records in (
            *sections.items(),
            ("Options", plain),
            (_MORE, more),
        ):
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def verb(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with sections of a function."""
    return click.command(name, cls=Command, **more)


class Group(click.Group):
    """A group of commands that suggests the nearest one for a mistyped name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named first."""
        name = args[0] if args else ""
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {shorten(name, 40)!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def takes(
    name: str, spec: type[Spec], *, without: Collection[str] = (), rare: Collection[str] = ()
) -> Callable[[F], F]:
    """Add the options of a spec to a function, which gets the spec under this name.

    Args:
        name: of the function's parameter.
        spec: whose fields become options.
        without: fields that keep their defaults.
        rare: fields that this command shows under "More options".
    """
    offered = [(field, told) for field, told in opts_of(spec) if field.name not in without]
    hints = typing.get_type_hints(spec)

    def add(function: F) -> F:
        @functools.wraps(function)
        def with_spec(*args: Any, **values: Any) -> Any:
            chosen = {field.name: values.pop(f"{name}__{field.name}") for field, _ in offered}
            return function(*args, **{name: spec(**chosen)}, **values)

        wrapped: Any = with_spec
        for field, told in reversed(offered):
            heading = (
                _MORE
                if told.rare or field.name in rare
                else told.heading or _heading(spec, field.name)
            )
            option = _option(f"{name}__{field.name}", field, told, hints[field.name], heading)
            wrapped = option(wrapped)
        return typing.cast("F", wrapped)

    return add


def _heading(spec: type[Spec], name: str) -> str:
    """Return the heading of the class that a field stands in."""
    for base in reversed(spec.__mro__):
        if name in inspect.get_annotations(base):
            return str(vars(base).get("heading", ""))
    return ""


def _option(
    parameter: str, field: dataclasses.Field[Any], told: Opt, hint: Any, heading: str
) -> Callable[[Any], Any]:
    """Return the decorator that adds one field's option."""
    hint, optional = _without_none(hint)
    many = get_origin(hint) is tuple
    kind = _without_none(get_args(hint)[0])[0] if many else hint
    settings: dict[str, Any] = {"metavar": told.metavar, "envvar": told.env, "heading": heading}
    if kind is bool:
        settings["is_flag"] = True
    elif told.each:
        settings |= {"type": Text(), "callback": functools.partial(_split, _type(kind, told))}
    else:
        settings |= {"type": _type(kind, told), "multiple": many}
        settings["metavar"] = told.metavar or {int: "N", float: "X"}.get(kind)
    shown, default = told.shown, field.default
    if default is dataclasses.MISSING:
        settings["required"] = True
    else:
        settings["default"] = _joined(default) if told.each and default is not None else default
        if not (shown or optional or kind is bool or default in ((), "")):
            shown = _joined(default, ", ") if many else _shown(default)
    settings["help"] = f"{told.help.removesuffix('.')}  [default: {shown}]." if shown else told.help
    flags = told.flags or (f"--{field.name.replace('_', '-')}",)
    return click.option(*flags, parameter, cls=SpecOption, **settings)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _joined(values: Any, between: str = ",") -> str:
    return between.join(map(_shown, values))


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return a type without `| None`, and whether that was there."""
    if get_origin(hint) in (Union, types.UnionType):
        (kept,) = (one for one in get_args(hint) if one is not type(None))
        return kept, True
    return hint, False


def _split(
    kind: click.ParamType[Any], ctx: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[Any, ...] | None:
    """Read values between commas."""
    if value is None:
        return None
    parts = (part.strip() for part in value.split(","))
    return tuple(kind.convert(part, parameter, ctx) for part in parts if part)


def _type(kind: Any, told: Opt) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(list(get_args(kind)))
    bounded = told.low is not None or told.high is not None
    if kind is int:
        low, high = (None if n is None else int(n) for n in (told.low, told.high))
        return click.IntRange(low, high) if bounded else click.INT
    if kind is float:
        if not bounded:
            return Number()
        return NumberRange(told.low, told.high, min_open=told.above, max_open=told.below)
    return Raw() if told.raw else Text()
