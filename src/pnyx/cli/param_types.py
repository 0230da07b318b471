"""Types of values on the command line: finite numbers, and text as bytes or in UTF-8."""

from __future__ import annotations

import math
from typing import Any

import click

from pnyx.core.errors import escaped


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
