"""A spec: a frozen dataclass of choices that knows its help, its defaults and what goes with what.

    @dataclass(frozen=True, kw_only=True)
    class Shape(Spec):
        heading = "Shape"
        sides: int = opt(4, "How many sides.", low=3)
        radius: float | None = opt(None, "Of a circle.", needs=("--round", lambda s: s.round))
        round: bool = opt(False, "A circle.")

The command line makes its options of the fields (`pnyx.cli.params`); a web request or a remote
worker sends `row()` and gets the same object from `from_row`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast

from pnyx.errors import InputError, OptionError, shorten

__all__ = ["Opt", "Spec", "opt", "opts_of"]

_OPT: Final = "opt"
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Opt:
    """How one field is offered to a user.

    Attributes:
        help: a line or two; what the default is, is added.
        flags: how the command line spells it; `--field-name` by default.
        metavar: what stands for the value.
        shown: the default in words, where the value itself does not say it.
        low: least value of a number.
        high: greatest value of a number.
        above: whether `low` itself is out of range.
        below: whether `high` itself is out of range.
        raw: takes any bytes, as it may name a file; other text must be UTF-8.
        each: reads the values of a list that is given as one text between commas.
        needs: what it is of no use without: in words, and told from the whole spec.
        rare: shown under "More options".
        env: environment variable that gives the default.
        heading: the heading it is shown under, in place of its spec's.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    shown: str = ""
    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False
    raw: bool = False
    each: bool = False
    needs: tuple[str, Callable[[Any], object]] | None = None
    rare: bool = False
    env: str | None = None
    heading: str = ""

    def allows(self, number: float) -> bool:
        """Tell whether a number is finite and in range."""
        low = self.low is None or number > self.low or (number == self.low and not self.above)
        high = self.high is None or number < self.high or (number == self.high and not self.below)
        return math.isfinite(number) and low and high


def opt(default: Any, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002
    """Return a dataclass field with its `Opt`; `...` as the default marks it as required."""
    told = {_OPT: Opt(help, flags, **more)}
    if default is ...:
        return dataclasses.field(metadata=told)
    return dataclasses.field(default=default, metadata=told)


def opts_of(spec: type[Spec]) -> Iterator[tuple[dataclasses.Field[Any], Opt]]:
    """Yield the fields that a user can choose, in the order in which they stand."""
    for field in dataclasses.fields(spec):
        if _OPT in field.metadata:
            yield field, field.metadata[_OPT]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Base of specs.

    Attributes:
        heading: what its options are shown under.
    """

    heading: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check numbers and texts, whoever made the choice.

        Raises:
            OptionError: a number is out of range, or a text is no Unicode.
        """
        for field, told in opts_of(type(self)):
            value = getattr(self, field.name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, int | float) and not told.allows(one):
                    raise OptionError(f"{self.flag(field.name)}: found {one:g}, out of range")
                if isinstance(one, str) and not told.raw and _NO_TEXT.search(one):
                    raise OptionError(f"{self.flag(field.name)}: found no text in UTF-8")

    def given(self, name: str) -> bool:
        """Tell whether a field has another value than its default."""
        (field,) = (f for f in dataclasses.fields(self) if f.name == name)
        return bool(getattr(self, name) != field.default)

    def flag(self, name: str) -> str:
        """Return how the command line spells the choice made in a field."""
        (told,) = (told for field, told in opts_of(type(self)) if field.name == name)
        longest = max(told.flags, key=len, default=f"--{name.replace('_', '-')}")
        on, _, off = longest.partition("/")
        return off if off and getattr(self, name) is False else on

    def check_needs(self, **resolved: Any) -> None:
        """Refuse choices that would change nothing: whoever makes one means it.

        Args:
            resolved: what fields stand for, where that was found out (`model=auto`).

        Raises:
            OptionError: a choice goes with another that was not made.
        """
        looked_at = dataclasses.replace(self, **resolved) if resolved else self
        for field, told in opts_of(type(self)):
            if told.needs and self.given(field.name):
                words, holds = told.needs
                if not holds(looked_at):
                    raise OptionError(f"{self.flag(field.name)} goes with {words}")

    def row(self) -> dict[str, Any]:
        """Return what differs from the defaults, as JSON values."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, _ in opts_of(type(self))
            if (value := getattr(self, field.name)) != field.default
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the spec that `row()` was made of.

        Raises:
            InputError: a field is unknown, lacking or of another type.
        """
        from pydantic import ValidationError

        known = {field.name for field, _ in opts_of(cls)}
        for name in row:
            if name not in known:
                raise InputError(f"{cls.__name__} has no field {shorten(name, 40)!r}")
        try:
            made: Self = _adapter(cast("Hashable", cls)).validate_python(dict(row))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            found = shorten(str(first["input"]), 60)
            raise InputError(f"{cls.__name__}.{place}: found {found}, {first['msg']}") from None
        return made


@functools.cache
def _adapter(spec: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Spec]", spec))
