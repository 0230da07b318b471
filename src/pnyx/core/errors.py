"""The errors that a user can see: one line, exit code 2, never a traceback."""

from __future__ import annotations

import re
from pathlib import Path

from pnyx.core.restricted_mode import hides_text

__all__ = [
    "IndexFolderError",
    "InputError",
    "MissingExtra",
    "ModelError",
    "OptionError",
    "PluginError",
    "PnyxError",
    "count_of",
    "escaped",
    "printable",
    "shorten",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
_SECRET = re.compile(r"(?<=:/)(/?)[^/@\s]+@")
"""User and password in an address, even if it was mistaken for a path."""
_MAX_SHOWN = 80
_MAX_MESSAGE = 2000


class PnyxError(Exception):
    """Base of every error that Pnyx raises on purpose; `str()` is one line for the user."""

    def __str__(self) -> str:
        return escaped(super().__str__(), _MAX_MESSAGE)


def shorten(value: object, limit: int = _MAX_SHOWN) -> str:
    """Return `value`, escaped, as one line of a message; in restricted mode, only its length.

    Anything except a number may quote a text. Use `escaped` for names that must be shown, such as
    file names.
    """
    if hides_text() and not isinstance(value, int | float | None):
        return f"<{len(str(value))} characters>"
    return escaped(value, limit)


def escaped(value: object, limit: int = 200) -> str:
    """Return `value` as one printable line of at most `limit` characters, without passwords."""
    text = value if isinstance(value, str) else repr(value)
    if ":/" in text[:limit]:
        text = _SECRET.sub(r"\1***@", text[: limit + _MAX_MESSAGE])
    text = text[: limit + 1]  # escaping only lengthens; a line may have millions of characters
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 copy", "2,000 copies"."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


def printable(text: str) -> str:
    """Replace lone surrogates, which files and requests cannot contain."""
    return _SURROGATE.sub("\ufffd", text)


class InputError(PnyxError):
    """Bad input: which file, which line, what was found, what was expected.

    Attributes:
        path: the file as the user named it (`-` for standard input), or None.
        line: 1-based line (or record) number, or None if the problem concerns the whole file.
        problem: what was found and what was expected, without the location.
    """

    def __init__(
        self, problem: str, *, path: str | Path | None = None, line: int | None = None
    ) -> None:
        self.problem = problem
        self.path = None if path is None else str(path)
        self.line = line
        name = "standard input" if self.path == "-" else escaped(self.path or "''")
        location = name if line is None else f"{name}:{line}"
        super().__init__(problem if path is None else f"{location}: {problem}")


class IndexFolderError(InputError):
    """The folder is not an index, is damaged, or was written by a newer version."""


class OptionError(InputError):
    """Options exclude each other, or an option has no effect without another."""


class MissingExtra(PnyxError):  # noqa: N818 - the name is the message to the user
    """An optional dependency is needed; the message names the extra that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'pnyx[{extra}]'")


class PluginError(PnyxError):
    """A plugin cannot be used, or is not installed."""


class ModelError(PnyxError):
    """A language model cannot be reached or refuses every request, so the run must stop."""
