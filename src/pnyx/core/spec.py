"""A spec: a frozen dataclass of options that knows their help, defaults and dependencies.

    class Shape(Spec, heading="Shape", rare="radius"):
        sides: int = opt(4, "How many sides.", low=3)
        round: bool = opt(False, "A circle.")
        radius: float | None = opt(None, "Radius of the circle.", needs="round")

The command line builds its options from the fields (`pnyx.cli.params`). A web request or a remote
worker sends `row()` and gets the same object from `from_row`.
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
from pnyx.core.flag_help import FLAG_HELP

T = TypeVar("T")

_OPT: Final = "opt"
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")


class Range(NamedTuple):
    """A range of numbers: lowest and highest (None: unbounded), and whether these are excluded."""

    low: float | None
    high: float | None
    above: bool
    below: bool


@dataclass(frozen=True, slots=True)
class Opt:
    """How one field is presented to a user.

    Attributes:
        help: a line or two, to which the default is added; empty: that of the flag (`FLAG_HELP`).
        flags: its names on the command line; `--field-name` by default.
        metavar: placeholder of the value.
        default_text: the default in words, if the value itself is not clear.
        low: lowest value of a number.
        within: range of a number as an interval, e.g. `(0, 1]`.
        raw: accepts any bytes, as it may name a file; other text must be UTF-8.
        writes: what the option writes, if anything (see `pnyx.core.files.check_output`): the
            command line refuses a path that cannot be written before the command starts.
        restricts: turns restricted mode on (`--no-text`), unless --text is given.
        each: reads the values of a list given as one comma-separated text.
        needs: the option without which this one has no effect: a field that must be given,
            FIELD=VALUE, or words for the user and a condition on the whole spec.
        env: environment variable that sets the default.
        heading: the heading in the help, instead of its spec's.
        replaces: flags that were removed, in place of which messages name this one.
        takes_settings: a value FILE.toml holds this option's value and settings (`setting_fields`).
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    default_text: str = ""
    low: float | None = None
    within: str = ""
    raw: bool = False
    writes: Literal["", "file", "folder", "files"] = ""
    restricts: bool = False
    each: bool = False
    needs: str | tuple[str, Callable[[Any], object]] = ""
    env: str | None = None
    heading: str = ""
    replaces: tuple[str, ...] = ()
    takes_settings: bool = False

    @property
    def bounds(self) -> Range:
        """The range of a number."""
        if not self.within:
            return Range(self.low, None, False, False)
        low, high = map(float, self.within[1:-1].split(","))
        closed = None if math.isinf(high) else high
        return Range(low, closed, self.within[0] == "(", self.within[-1] == ")")

    def allows(self, number: float) -> bool:
        """Return whether a number is finite and in range."""
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


def opt(default: Any, help: str = "", *flags: str, **more: Any) -> Any:  # noqa: A002
    """Return a dataclass field with its `Opt`; the default `...` marks it as required."""
    metadata = {_OPT: Opt(help, flags, **more)}
    if default is ...:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def file_opt(default: Any, help: str = "", *flags: str, metavar: str = "FILE", **more: Any) -> Any:  # noqa: A002
    """Return such a field for a file name, which may be any bytes."""
    return opt(default, help, *flags, metavar=metavar, raw=True, **more)


def topics_opt(default: Any, **more: Any) -> Any:
    """Return such a field for topics: any file that `read_questions` reads, including requests."""
    return file_opt(default, "", "--topics", "--requests", **more)


def out_opt(default: Any, help: str = "", *flags: str, **more: Any) -> Any:  # noqa: A002
    """Return such a field for output: a file, unless `writes` says otherwise."""
    return file_opt(default, help, *flags, **{"writes": "file", **more})


def main_flag(flags: Sequence[str]) -> str:
    """Return the first long name of an option, which messages and files use."""
    return next((flag for flag in flags if flag.startswith("--")), flags[0])


def flags_of(field: dataclasses.Field[Any], option: Opt) -> tuple[str, ...]:
    """Return the command-line names of a field: a switch that is on can be turned off."""
    name = field.name.replace("_", "-")
    return option.flags or ((f"--{name}/--no-{name}" if field.default is True else f"--{name}"),)


def help_of(field: dataclasses.Field[Any], option: Opt) -> str:
    """Return the help text of a field, or that of its flag in all commands."""
    return option.help or FLAG_HELP[main_flag(flags_of(field, option)).partition("/")[0]]


def opts_of(spec: type[Spec]) -> Iterator[tuple[dataclasses.Field[Any], Opt]]:
    """Yield the fields that a user can set, in order."""
    for field in dataclasses.fields(spec):
        if _OPT in field.metadata:
            yield field, field.metadata[_OPT]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Spec:
    """Base class of specs; a subclass becomes such a dataclass as well."""

    heading: ClassVar[str] = ""  # the help heading of the options of a class
    rare: ClassVar[str] = ""  # fields shown under "More options"
    setting_fields: ClassVar[str] = (
        ""  # fields that are set by --set NAME=VALUE, without an own flag
    )

    def __init_subclass__(
        cls, heading: str = "", rare: str = "", settings: str = "", **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        cls.heading, cls.rare = heading, rare
        inherited = (base.setting_fields for base in cls.__bases__ if issubclass(base, Spec))
        cls.setting_fields = " ".join([*inherited, settings])
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        """Check numbers and texts; OptionError if one is out of range or not valid Unicode."""
        for field, option in opts_of(type(self)):
            value = getattr(self, field.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, int | float) and not option.allows(item):
                    raise OptionError(
                        f"{self.flag(field.name)}: found {item:g}, expected {option.expected}"
                    )
                if isinstance(item, str) and not option.raw and _NO_TEXT.search(item):
                    raise OptionError(f"{self.flag(field.name)}: found text that is not UTF-8")

    def given(self, name: str) -> bool:
        """Return whether a field differs from its default."""
        (field,) = (f for f in dataclasses.fields(self) if f.name == name)
        return bool(getattr(self, name) != field.default)

    def flag(self, name: str) -> str:
        """Return the command-line flag of the value in a field; `--set NAME` of a setting."""
        (flags,) = (flags_of(*pair) for pair in opts_of(type(self)) if pair[0].name == name)
        on, _, off = main_flag(flags).partition("/")
        if name in self.setting_fields.split():
            return f"--set {on.lstrip('-')}"
        return off if off and getattr(self, name) is False else on

    def check_needs(self, **resolved: Any) -> None:
        """Refuse options without effect; `resolved` are fields determined later (`model=auto`)."""
        looked_at = dataclasses.replace(self, **resolved) if resolved else self
        for field, option in opts_of(type(self)):
            if option.needs and self.given(field.name):
                words, holds = looked_at._needed(option.needs)
                if not holds:
                    raise OptionError(f"{self.flag(field.name)} requires {words}")

    def _needed(self, needs: str | tuple[str, Callable[[Any], object]]) -> tuple[str, object]:
        """Return the required option in words, and whether it is set."""
        if not isinstance(needs, str):
            return needs[0], needs[1](self)
        name, _, value = needs.partition("=")
        if value:
            return f"{self.flag(name)} {value}", getattr(self, name) == value
        return self.flag(name), self.given(name)

    def make(self, kind: Callable[..., T], **more: Any) -> T:
        """Return a dataclass made from the fields that share its names, and from `more`."""
        named = (field.name for field in dataclasses.fields(cast("Any", kind)))
        same = {name: getattr(self, name) for name in named if hasattr(self, name)}
        return kind(**{**same, **more})

    def row(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as JSON values."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, _ in opts_of(type(self))
            if (value := getattr(self, field.name)) != field.default
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the spec that produced `row()`; InputError for an invalid field."""
        from pydantic import ValidationError

        names = {field.name for field, _ in opts_of(cls)}
        for name in row:
            if name not in names:
                raise InputError(f"{cls.__name__} has no field {shorten(name, 40)!r}")
        try:
            spec: Self = _adapter(cast("Hashable", cls)).validate_python(dict(row))
        except ValidationError as error:
            first = error.errors()[0]
            location = ".".join(map(str, first["loc"]))
            value = shorten(str(first["input"]), 60)
            raise InputError(f"{cls.__name__}.{location}: found {value}, {first['msg']}") from None
        return spec


@functools.cache
def _adapter(spec: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Spec]", spec))
