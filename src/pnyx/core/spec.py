"""A spec: a frozen dataclass of choices that knows its help, its defaults and what goes with what.

    class Shape(Spec, heading="Shape", rare="radius"):
        sides: int = opt(4, "How many sides.", low=3)
        round: bool = opt(False, "A circle.")
        radius: float | None = opt(None, "Radius of the circle.", needs="round")

The command line makes its options of the fields (`pnyx.cli.params`); a web request or a
remote worker sends `row()` and gets the same object from `from_row`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
)

from pnyx.core.errors import InputError, OptionError, shorten

T = TypeVar("T")

_OPT: Final = "opt"
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")


class Range(NamedTuple):
    """A range of numbers: least and greatest, None for none, and whether these are outside it."""

    low: float | None
    high: float | None
    above: bool
    below: bool


@dataclass(frozen=True, slots=True)
class Opt:
    """How one field is offered to a user.

    Attributes:
        help: a line or two; the default is added.
        flags: how the command line spells it; `--field-name` by default.
        metavar: placeholder of the value.
        shown: the default in words, where the value itself does not say it.
        low: least value of a number.
        within: range of a number as an interval, e.g. `(0, 1]`.
        raw: takes any bytes, as it may name a file; other text must be UTF-8.
        writes: what is written there, if anything (see `pnyx.core.files.check_output`): the command
            line refuses what cannot be written before the command does anything.
        restricts: turns restricted mode on (`--no-text`), unless --text is given.
        each: reads the values of a list that is given as one text between commas.
        needs: the choice without which it is useless: a field that must be given, FIELD=VALUE, or
            words for the user and a condition on the whole spec.
        env: environment variable that gives the default.
        heading: the heading it is shown under, in place of its spec's.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    shown: str = ""
    low: float | None = None
    within: str = ""
    raw: bool = False
    writes: Literal["", "file", "folder", "files"] = ""
    restricts: bool = False
    each: bool = False
    needs: str | tuple[str, Callable[[Any], object]] = ""
    env: str | None = None
    heading: str = ""

    @property
    def bounds(self) -> Range:
        """Range of a number, whole or not."""
        if not self.within:
            return Range(self.low, None, False, False)
        low, high = map(float, self.within[1:-1].split(","))
        closed = None if math.isinf(high) else high
        return Range(low, closed, self.within[0] == "(", self.within[-1] == ")")

    def allows(self, number: float) -> bool:
        """Tell whether a number is finite and in range."""
        low, high, above, below = self.bounds
        reaches = low is None or number > low or (number == low and not above)
        ends = high is None or number < high or (number == high and not below)
        return math.isfinite(number) and reaches and ends

    @property
    def expected(self) -> str:
        """The range of a number in words."""
        if self.within:
            return f"a number in {self.within}"
        return "a finite number" if self.low is None else f"at least {self.low:g}"


def opt(default: Any, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002
    """Return a dataclass field with its `Opt`; `...` as the default marks it as required."""
    told = {_OPT: Opt(help, flags, **more)}
    if default is ...:
        return dataclasses.field(metadata=told)
    return dataclasses.field(default=default, metadata=told)


def file_opt(default: Any, help: str, *flags: str, metavar: str = "FILE", **more: Any) -> Any:  # noqa: A002
    """Return such a field for the name of a file, of which any bytes are taken."""
    return opt(default, help, *flags, metavar=metavar, raw=True, **more)


def topics_opt(default: Any, help: str, **more: Any) -> Any:  # noqa: A002
    """Return such a field for topics: any file that `read_questions` reads, also of requests."""
    return file_opt(default, help, "--topics", "--requests", **more)


def out_opt(default: Any, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002
    """Return such a field for what is written: a file, unless `writes` says otherwise."""
    return file_opt(default, help, *flags, **{"writes": "file", **more})


def main_flag(flags: Sequence[str]) -> str:
    """Return the first long one of an option's names, by which messages and files call it."""
    return next((flag for flag in flags if flag.startswith("--")), flags[0])


def flags_of(field: dataclasses.Field[Any], told: Opt) -> tuple[str, ...]:
    """Return how the command line spells a field: a switch that is on can be turned off."""
    name = field.name.replace("_", "-")
    return told.flags or ((f"--{name}/--no-{name}" if field.default is True else f"--{name}"),)


def opts_of(spec: type[Spec]) -> Iterator[tuple[dataclasses.Field[Any], Opt]]:
    """Yield the fields that a user can choose, in order."""
    for field in dataclasses.fields(spec):
        if _OPT in field.metadata:
            yield field, field.metadata[_OPT]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Spec:
    """Base of specs: whoever inherits it becomes such a dataclass, too."""

    heading: ClassVar[str] = ""  # what the options of a class are shown under
    rare: ClassVar[str] = ""  # fields shown under "More options"

    def __init_subclass__(cls, heading: str = "", rare: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.heading, cls.rare = heading, rare
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        """Check numbers and texts; OptionError: one is out of range, or not Unicode."""
        for field, told in opts_of(type(self)):
            value = getattr(self, field.name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, int | float) and not told.allows(one):
                    raise OptionError(
                        f"{self.flag(field.name)}: found {one:g}, expected {told.expected}"
                    )
                if isinstance(one, str) and not told.raw and _NO_TEXT.search(one):
                    raise OptionError(f"{self.flag(field.name)}: found no text in UTF-8")

    def given(self, name: str) -> bool:
        """Tell whether a field has another value than its default."""
        (field,) = (f for f in dataclasses.fields(self) if f.name == name)
        return bool(getattr(self, name) != field.default)

    def flag(self, name: str) -> str:
        """Return how the command line spells the choice made in a field."""
        (flags,) = (flags_of(*one) for one in opts_of(type(self)) if one[0].name == name)
        on, _, off = main_flag(flags).partition("/")
        return off if off and getattr(self, name) is False else on

    def check_needs(self, **resolved: Any) -> None:
        """Refuse choices that change nothing; `resolved` are fields found out (`model=auto`)."""
        looked_at = dataclasses.replace(self, **resolved) if resolved else self
        for field, told in opts_of(type(self)):
            if told.needs and self.given(field.name):
                words, holds = looked_at._needed(told.needs)
                if not holds:
                    raise OptionError(f"{self.flag(field.name)} goes with {words}")

    def _needed(self, needs: str | tuple[str, Callable[[Any], object]]) -> tuple[str, object]:
        """Return what is needed, in words, and whether it is there."""
        if not isinstance(needs, str):
            return needs[0], needs[1](self)
        name, _, value = needs.partition("=")
        if value:
            return f"{self.flag(name)} {value}", getattr(self, name) == value
        return self.flag(name), self.given(name)

    def make(self, kind: Callable[..., T], **more: Any) -> T:
        """Return a dataclass of the fields that have the names of this spec's, and of `more`."""
        named = (field.name for field in dataclasses.fields(cast("Any", kind)))
        same = {name: getattr(self, name) for name in named if hasattr(self, name)}
        return kind(**{**same, **more})

    def row(self) -> dict[str, Any]:
        """Return what differs from the defaults, as JSON values."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, _ in opts_of(type(self))
            if (value := getattr(self, field.name)) != field.default
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the spec that `row()` was made of; InputError for a field that is wrong."""
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
