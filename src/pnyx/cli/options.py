"""What several verbs share: checks of paths, columns, and lines on standard error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

import click

from pnyx.app.spec import Spec, opt
from pnyx.errors import InputError, OptionError, shorten

__all__ = [
    "ColumnSpec",
    "column_mapping",
    "refuse_same_file",
    "refuse_two_outputs",
    "say",
    "warn",
    "warn_undefined",
]


@dataclass(frozen=True, kw_only=True)
class ColumnSpec(Spec):
    """How the columns of a source are called."""

    columns: tuple[str, ...] = opt(
        (),
        "Which column or key of the source holds a field, e.g. text=body. Repeatable.",
        "--column",
        metavar="FIELD=COLUMN",
        rare=True,
    )

    @property
    def mapping(self) -> dict[str, str]:
        """Field -> column.

        Raises:
            InputError: one is not FIELD=COLUMN, or a field is given twice.
        """
        return column_mapping(self.columns)


def refuse_same_file(flag: str, out: str, /, **others: str | Path | None) -> None:
    """Refuse to write a file over one that the same command needs.

    Args:
        flag: the option that names `out`.
        out: what is to be written; `-` is standard output.
        others: what they are -> names of other files, whether they exist yet or not.

    Raises:
        click.UsageError: `out` is one of them.
    """
    for what, other in others.items():
        if "-" not in (out, other) and other and realpath(out) == realpath(other):
            raise click.UsageError(f"{flag} names the same file as {what}: it would be lost")


def refuse_two_outputs(flag: str, out: str | None, *, as_json: bool) -> None:
    """Refuse to print --json and the file that a flag names (`-`) to one place.

    Raises:
        OptionError: both are printed.
    """
    if as_json and out == "-":
        raise OptionError(f"--json and {flag} - both write to standard output")


def column_mapping(columns: Iterable[str]) -> dict[str, str]:
    """Return what `--column` says as field -> column.

    Raises:
        InputError: one is not FIELD=COLUMN, or a field is given twice.
    """
    mapping: dict[str, str] = {}
    for column in columns:
        field, equals, name = column.partition("=")
        if not (field and equals and name):
            raise InputError(f"--column {shorten(column, 40)}: expected FIELD=COLUMN")
        if field in mapping:
            raise InputError(f"--column {shorten(column, 40)}: {shorten(field, 40)} is given twice")
        mapping[field] = name
    return mapping


def say(line: str) -> None:
    """Print a line about the work on standard error."""
    click.echo(f"pnyx: {line}", err=True)


def warn(line: str) -> None:
    """Print a warning on standard error."""
    click.echo(f"pnyx: warning: {line}", err=True)


def warn_undefined(lacking: int, questions: int) -> None:
    """Warn that questions lack a definition of relevance, if any do."""
    if lacking:
        warn(f"{lacking} of {questions} questions have no definition (pnyx annotate define)")
