"""Options of the command line from the fields of specs (`pnyx.core.spec`)."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.core import ParameterSource

from pnyx.cli.config import RESTRICTED, read_settings
from pnyx.cli.settings import Number, NumberRange, SettingOption, Text
from pnyx.cli.settings import Raw as Raw
from pnyx.cli.settings import SpecOption as SpecOption
from pnyx.core.spec import Opt, Spec, flags_of, help_of, opts_of
from pnyx.formats.text_types import TextKind

F = TypeVar("F", bound=Callable[..., Any])

MORE = "More options"
"""Heading of options that --help leaves out."""
SETTINGS = "Settings (--set NAME=VALUE)"
"""Heading of settings, which --help leaves out, too."""


def _restricts(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """Turn on restricted mode with another switch, unless --text is given."""
    if value:
        ctx.meta.setdefault(RESTRICTED, True)
    return value


def takes(
    name: str, spec: type[Spec], without: Collection[str], rare: Collection[str]
) -> Callable[[F], F]:
    """Add the options of a spec to a function, which receives the spec as argument `name`."""
    offered = [(field, option) for field, option in opts_of(spec) if field.name not in without]
    hints = typing.get_type_hints(spec, include_extras=True)

    def add(function: F) -> F:
        @functools.wraps(function)
        def with_spec(*args: Any, **values: Any) -> Any:
            chosen = {field.name: values.pop(f"{name}__{field.name}") for field, _ in offered}
            return function(*args, **{name: spec(**chosen)}, **values)

        wrapped: Any = with_spec
        for field, option in reversed(offered):
            heading = MORE if field.name in rare else _heading(spec, field.name, option)
            heading = SETTINGS if field.name in spec.setting_fields.split() else heading
            parameter = f"{name}__{field.name}"
            wrapped = _option(parameter, field, option, hints[field.name], heading)(wrapped)
        return typing.cast("F", wrapped)

    return add


def _heading(spec: type[Spec], name: str, option: Opt) -> str:
    """Return the heading of the class that first declares a field, or that mixes it in."""
    declares: list[Any] = [b for b in spec.__mro__ if name in inspect.get_annotations(b)]
    if name in declares[0].rare.split():
        return MORE
    below = [b for b in spec.__mro__ if issubclass(b, declares[-1]) and issubclass(b, Spec)]
    return option.heading or next((b.heading for b in reversed(below) if b.heading), "")


def _option(
    parameter: str, field: dataclasses.Field[Any], option: Opt, hint: Any, heading: str
) -> Callable[[Any], Any]:
    """Return the decorator that adds one field's option."""
    hint, optional = _without_none(hint)
    listed = get_origin(hint) is tuple
    many = listed and Ellipsis in get_args(hint)  # otherwise this many values, given once
    kind, text_kind = plain_type(hint)
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
    settings |= {"help": help_of(field, option), "default_text": default_text}
    kind_of_option = SettingOption if heading == SETTINGS else SpecOption
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


def plain_type(hint: Any) -> tuple[Any, TextKind | None]:
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
