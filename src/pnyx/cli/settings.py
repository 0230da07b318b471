"""Options from the fields of specs, types of values, and settings: options for --set NAME=VALUE."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from pnyx.core.errors import escaped
from pnyx.core.spec import main_flag
from pnyx.formats.text_types import TextKind


class Number(click.types.FloatParamType):
    """A finite number; NaN would pass or fail every comparison."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{escaped(value, 40)!r} is not a finite number.", param, ctx)
        return number


class NumberRange(click.FloatRange, Number):
    """A finite number between bounds."""


class Raw(click.types.StringParamType):
    """Text of any bytes, since it may name a file."""


class Text(click.types.StringParamType):
    """Text; bytes that are not UTF-8 cannot be written to any file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a text."""
        text = super().convert(value, param, ctx)
        if isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text):
            self.fail(f"found {escaped(text, 60)!r}, expected text in UTF-8.", param, ctx)
        return text


class SpecOption(click.Option):
    """An option with its heading in help, what it writes, and what its text may name.

    Its default, and that it may be repeated, are added to `help`, which is the same text for a flag
    in all commands.
    """

    def __init__(
        self,
        *args: Any,
        heading: str = "",
        writes: str = "",
        text_kind: TextKind | None = None,
        replaces: tuple[str, ...] = (),
        default_text: str = "",
        **more: Any,
    ) -> None:
        self.heading, self.writes, self.text_kind = heading, writes, text_kind
        self.replaces, self.default_text = replaces, default_text
        super().__init__(*args, **more)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Add the default in words; omit the range: the error message about a value shows it."""
        extra = {k: v for k, v in super().get_help_extra(ctx).items() if k != "range"}
        return extra | ({"default": self.default_text} if self.default_text else {})

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flags, and the help with what is added to it."""
        record = super().get_help_record(ctx)
        if record is None or not self.multiple:
            return record
        text, extra, values = record[1].partition("  [")
        return record[0], f"{text} Repeatable.{extra}{values}"


class SettingOption(SpecOption):
    """An option without a flag: it is set by --set NAME=VALUE, or by a file of options."""

    @property
    def setting(self) -> str:
        """Its name in --set."""
        return main_flag(self.opts).lstrip("-")

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add no flag."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the last value of --set, or that of a file, or the default."""
        texts = [text for name, text in map(_setting, opts.get(_SET) or ()) if name == self.setting]
        if not texts:
            return super().consume_value(ctx, opts)
        return texts[-1], ParameterSource.COMMANDLINE

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return NAME=VALUE, and its help."""
        record = super().get_help_record(ctx)
        value = "true" if self.is_flag else self.make_metavar(ctx)
        return record and (f"{self.setting}={value}", record[1])

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its name in messages."""
        return f"--set {self.setting}"


_SET = "settings"
"""Parameter of --set."""


def _setting(text: str) -> tuple[str, str]:
    """Split NAME=VALUE; a name alone turns a setting on."""
    name, equals, value = text.partition("=")
    return name.strip().replace("_", "-"), value if equals else "true"


def _check_settings(
    ctx: click.Context, _: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse a name in --set that is not a setting of the command, and a wrong value."""
    options = {p.setting: p for p in ctx.command.params if isinstance(p, SettingOption)}
    for text in texts:
        name, value = _setting(text)
        if name not in options:
            near = difflib.get_close_matches(name, options, 1)
            names = ", ".join(options)
            expected = f"did you mean {near[0]}?" if near else f"expected one of {names}"
            raise click.UsageError(f"--set {escaped(name, 40)}: no such setting; {expected}", ctx)
        options[name].type_cast_value(ctx, value)
    return texts


def set_option(heading: str) -> SpecOption:
    """Return the option --set of a command, shown under a heading."""
    return SpecOption(
        ["--set", _SET],
        heading=heading,
        multiple=True,
        is_eager=True,
        expose_value=False,
        metavar="NAME=VALUE",
        callback=_check_settings,
        type=Raw(),
        help="Set a value that is rarely needed: one of the settings below.",
    )
