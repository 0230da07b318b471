"""Kinds of values that options take: finite numbers, and text that is UTF-8."""

from __future__ import annotations

import math
from typing import Any

import click

from pnyx.errors import shorten

__all__ = ["Number", "NumberRange", "Raw", "Text", "with_texts"]

RAW = frozenset(
    (
        "annotations answers corpus index items labelled leaning others out pairs prompt question "
        "questions runs sources"
    ).split()
)
"""Parameters that take any bytes: they may name a file, or are a question, which can be searched
for with what is legible of it. Declared paths (`click.Path`) take any bytes too."""


class Number(click.types.FloatParamType):
    """A finite number: what is not one passes every comparison, or none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number."""
        return _finite(self, super().convert(value, param, ctx), value, param, ctx)


class NumberRange(click.FloatRange):
    """A finite number between bounds."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number within the bounds."""
        return _finite(self, super().convert(value, param, ctx), value, param, ctx)


def _finite(
    kind: click.types.FloatParamType,
    number: float,
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> float:
    if not math.isfinite(number):
        kind.fail(f"{shorten(value, 40)!r} is not a finite number.", param, ctx)
    return number


class Raw(click.types.StringParamType):
    """Any bytes: it may name a file, or is a question, of which what is legible is searched for."""


class Text(click.types.StringParamType):
    """Text; bytes that are not UTF-8 cannot be written to any file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a text."""
        text = super().convert(value, param, ctx)
        if isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text):
            self.fail(f"found {shorten(text, 60)!r}, expected text in UTF-8.", param, ctx)
        return text


def with_texts(command: click.Command) -> click.Command:
    """Have a command's parameters, and those of its commands, take UTF-8 alone, but for `RAW`."""
    for parameter in command.params:
        if parameter.type is click.STRING and parameter.name not in RAW:
            parameter.type = Text()
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_texts(one)
    return command
