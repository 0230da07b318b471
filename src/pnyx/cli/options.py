"""Shared by several verbs: exit statuses, columns, checks of paths, and printed messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import Spec, opt, out_opt

if TYPE_CHECKING:
    from pnyx.core.records import Evidence
    from pnyx.display.tables import Part
    from pnyx.formats.file_account import FileAccount


EXIT_BAD_INPUT: Final = 2
EXIT_UNSCORED: Final = 3
"""Finished, but something is unscored."""
EXIT_INTERRUPTED: Final = 130


class ColumnSpec(Spec, rare="columns"):
    """The names of a source's columns."""

    columns: tuple[str, ...] = opt((), "", "--column", metavar="FIELD=COLUMN")

    @property
    def mapping(self) -> dict[str, str]:
        """Field -> column; InputError: one is not FIELD=COLUMN, or a field is given twice."""
        mapping: dict[str, str] = {}
        for column in self.columns:
            field, equals, name = column.partition("=")
            if not (field and equals and name):
                raise InputError(f"--column {shorten(column, 40)}: expected FIELD=COLUMN")
            if field in mapping:
                twice = f"{shorten(field, 40)} is given twice"
                raise InputError(f"--column {shorten(column, 40)}: {twice}")
            mapping[field] = name
        return mapping


class EvidenceSpec(ColumnSpec, rare="format strict_files"):
    """How a corpus is read."""

    format: str | None = opt(None, metavar="NAME", default_text="recognised")
    strict_files: bool = opt(False)

    def read(self, source: str) -> Iterator[Evidence]:
        """Yield the documents of a source."""
        from pnyx.formats import read_evidence

        return read_evidence(
            source,
            format=self.format,
            columns=self.mapping,
            on_warning=warn,
            on_account=say_account,
            strict_files=self.strict_files,
        )


class OutSpec(Spec, heading="Output"):
    """Where records are written; another command may read standard output."""

    out: str = out_opt("-", "", "-o", "--out", default_text="- (stdout)")

    def check_json(self, what: str, *, as_json: bool) -> None:
        """Raise if a summary would be printed among the records."""
        if as_json and self.out == "-":
            raise OptionError(f"--json requires --out FILE: the {what} are written to stdout")


def refuse_same_file(flag: str, out: str | None, /, **others: str | Path | None) -> None:
    """Raise if an output would overwrite a file that the command needs."""
    for what, other in others.items():
        if out and "-" not in (out, other) and other and realpath(out) == realpath(other):
            raise OptionError(f"{flag} names the same file as {what}, which would be overwritten")


def refuse_two_outputs(flag: str, out: str | None, *, as_json: bool) -> None:
    """Raise if --json and a flag's file (`-`) would both go to standard output."""
    if as_json and out == "-":
        raise OptionError(f"--json and {flag} - both write to standard output")


def check_question(question: str) -> None:
    """Raise if a question has no words or is not UTF-8."""
    if not question.strip():
        raise InputError(
            'QUESTION is empty, expected a question such as "Should voting be compulsory?"'
        )
    if any("\ud800" <= c <= "\udfff" for c in question):
        raise InputError("QUESTION is not UTF-8")


def say(line: str) -> None:
    """Print a line about the work on standard error."""
    click.echo(f"pnyx: {line}", err=True)


def warn(line: str) -> None:
    """Print a warning on standard error."""
    say(f"warning: {line}")


def say_account(account: FileAccount) -> None:
    """Say which files of a folder were read, as a warning if some were not."""
    source = escaped(account.source)
    if account.skipped:
        warn(f"{source}: {account.line()}")
    elif len(account.files) > 1:
        say(f"{source}: {account.line()}")
    for note in account.notes():
        say(f"{source}: {note}")


def warn_first(lines: Sequence[str], more: str, most: int = 5) -> None:
    """Print the first warnings, and how many more there are."""
    for line in lines[:most]:
        warn(line)
    if len(lines) > most:
        warn(f"{len(lines) - most} more {more}")


def warn_undefined(questions: Sequence[tuple[str, str | None]]) -> None:
    """Warn if questions have no definition of relevance."""
    distinct = {question for question, _ in questions}
    missing = len(distinct - {question for question, definition in questions if definition})
    if missing:
        warn(f"{missing} of {len(distinct)} questions have no definition (pnyx annotate define)")


def reasons_shown(reasons: Mapping[str, int]) -> str:
    """Return why answers are missing, with counts."""
    return ", ".join(f"{n} {escaped(reason, 40)}" for reason, n in reasons.items())


def print_result(row: object, line: str, *, as_json: bool, err: bool = True, **how: Any) -> None:
    """Print a summary, as JSON (`how` is passed to `json.dumps`) or as a line."""
    if as_json:
        click.echo(json.dumps(row, **how))
    elif line:
        click.echo(line, err=err)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command; `verb` prints it and exits with its status."""

    row: object  # what --json prints
    # For people: a text, tables and paragraphs, or a function that returns them.
    parts: str | Sequence[Part] | Callable[[], Sequence[Part]] = ""
    unscored: object = False  # exit status 3
    notes: Sequence[str] = ()  # printed to standard error first
    err: bool = False  # print `parts` on standard error
    indent: int | None = None  # of the JSON
    ascii: bool = False  # escape what is not ASCII in it

    def show(self, *, as_json: bool) -> int:
        """Print the outcome, and return the exit status."""
        for line in self.notes:
            say(line)
        text = ""
        if not as_json:
            from pnyx.display.tables import shown

            parts = self.parts() if callable(self.parts) else self.parts
            text = parts if isinstance(parts, str) else shown(parts)
        how = {"ensure_ascii": self.ascii, "indent": self.indent, "allow_nan": False}
        print_result(self.row, text, as_json=as_json, err=self.err, **how)
        return EXIT_UNSCORED if self.unscored else 0
