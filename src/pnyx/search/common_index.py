"""Commands that take an INDEX or documents, and suggest a corrected command after a mistake."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pnyx.cli.options import say, warn
from pnyx.cli.params import Command
from pnyx.core.errors import InputError, escaped
from pnyx.core.progress import counted
from pnyx.search.plan import FEATURES

if TYPE_CHECKING:
    from pnyx.search.engine import DocumentIndex

_WORDS: Final = "pnyx.words"
"""Key of a context's `meta`: the words of the command line."""
_SOURCE: Final = "FILE_OR_FOLDER"
_QUESTION: Final = "Should voting be compulsory?"
_SPACES: Final = "INDEX has spaces and needs quotes"
_UNQUOTED: Final = "QUESTION is more than one word and needs quotes"
_MOST: Final = 1500
"""Characters of a command that a message shows."""


class IndexCommand(Command):
    """A command that takes INDEX, QUESTION or both, and suggests how to correct wrong arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; InputError suggests the intended command."""
        ctx.meta[_WORDS] = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            if problem := _unparsed(ctx, error):
                raise InputError(problem) from error
            raise
        if not ctx.resilient_parsing:
            _check_question(ctx)
        return rest


def index_folder(where: str, *, lexical: bool = False) -> str:
    """Return the index that an argument names: itself, or that of documents, made or refreshed.

    With `lexical`, only words are indexed. InputError names the command that was meant.
    """
    from pnyx.search.open_engine import stands_for_index
    from pnyx.search.source_index import IndexReporting, keep_index

    if stands_for_index(where):
        return where
    if where == "-" or where.startswith("ir_datasets:"):
        line = f"pnyx index {shlex.quote(where)} --out my.index && {_corrected(index='my.index')}"
        raise InputError(f"expected an index, a file or a folder. Use: {line}", path=where)
    if not _exists(where):
        raise InputError(_not_there(where), path=where)
    try:
        reporting = IndexReporting(say, warn, counted)
        return keep_index(where, features=() if lexical else FEATURES, reporting=reporting)
    except InputError as error:
        is_whole = error.path == where and error.line is None
        if not is_whole or "Use: " in error.problem or Path(where).is_dir():
            raise
        line = _corrected(index=_SOURCE)
        raise InputError(f"{error.problem}. Use: {line}", path=where) from error


def open_documents(where: str) -> DocumentIndex:
    """Open the index that an argument names, see `index_folder`."""
    from pnyx.search.open_engine import open_index

    return open_index(index_folder(where))


def missing_question() -> str:
    """Say which of INDEX and QUESTION is missing, and give this command with it."""
    words, _ = _positionals(click.get_current_context())
    if words and not _names_index(words[0]) and (" " in words[0] or words[0].endswith("?")):
        line = _corrected(index=_SOURCE, question=words[0])
        return f"INDEX is missing. Use: {line}"
    source = words[0] if words else _SOURCE
    what = "QUESTION is" if words else "INDEX and QUESTION are"
    return f"{what} missing. Use: {_corrected(index=source, question=_QUESTION)}"


def _unparsed(ctx: click.Context, error: click.UsageError) -> str:
    """Suggest a correction if arguments are missing or left over; empty for other errors."""
    names = _argument_names(ctx)
    try:
        words, _ = _positionals(ctx)
    except click.UsageError:
        return ""
    if len(words) > len(names):
        return _left_over(words, names)
    if not (isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument)):
        return ""
    if names == ["index", "question"]:
        return missing_question()
    name = str(error.param.name)
    if example := {"index": _SOURCE, "question": _QUESTION}.get(name, ""):
        return f"{name.upper()} is missing. Use: {_corrected(**{name: example})}"
    return ""


def _left_over(words: Sequence[str], names: Sequence[str]) -> str:
    """Suggest a correction for too many arguments: a text without quotes."""
    if names == ["question"]:
        return f"{_UNQUOTED}. Use: {_corrected(question=' '.join(words))}"
    for count in range(len(words), 0, -1):
        source, rest = " ".join(words[:count]), words[count:]
        if _exists(source) and (rest or "question" not in names):
            break
    else:
        source, rest = _SOURCE, words
        if _exists(words[-1]):
            source, rest = words[-1], words[:-1]
    if names == ["index"]:
        return "" if rest else f"{_SPACES}. Use: {_corrected(index=source)}"
    if names != ["index", "question"]:
        return ""
    line = _corrected(index=source, question=" ".join(rest))
    return f"{_UNQUOTED if len(rest) > 1 else _SPACES}. Use: {line}"


def _check_question(ctx: click.Context) -> None:
    """Reject an empty question, and a question in place of the index."""
    index, question = ctx.params.get("index"), ctx.params.get("question")
    if not isinstance(question, str):
        return
    if isinstance(index, str) and _names_index(question) and not _names_index(index):
        line = _corrected(index=question, question=index)
        raise InputError(f"INDEX comes first, then QUESTION. Use: {line}")
    if not question.strip():
        raise InputError(f"QUESTION is empty. Use: {_corrected(question=_QUESTION)}")


def _not_there(where: str) -> str:
    """Say that nothing has this name, and suggest a similar one."""
    problem = "is not there, expected an index, or a file or folder of documents"
    if near := _near(where):
        return f"is not there. Did you mean {escaped(near)}? Use: {_corrected(index=near)}"
    return f"{problem}. Use: {_corrected(index=_SOURCE)}"


def _near(where: str) -> str:
    """Return the existing path most similar to a missing one; empty if there is none."""
    path = Path()
    for part in Path(where).expanduser().parts:
        if not _exists(str(path / part)):
            try:
                names = [entry.name for entry in path.iterdir() if not entry.name.startswith(".")]
            except OSError:
                return ""
            near = difflib.get_close_matches(part, names, 1, cutoff=0.7)
            if not near:
                return ""
            part = near[0]
        path = path / part
    return str(path)


def _names_index(text: str) -> bool:
    from pnyx.search.open_engine import stands_for_index

    return bool(text) and (_exists(text) or stands_for_index(text))


def _exists(path: str) -> bool:
    return bool(path) and os.path.exists(path)  # noqa: PTH110 - False for what cannot be a name


# The corrected command line ----------------------------------------------------------------------


class _Word(str):
    """A word recognised by identity, since the parser passes its input on unchanged."""

    __slots__ = ()


def _argument_names(ctx: click.Context) -> list[str]:
    return [str(p.name) for p in ctx.command.params if isinstance(p, click.Argument)]


def _positionals(ctx: click.Context) -> tuple[list[str], list[str]]:
    """Return the arguments and the leftover words; UsageError for an unknown option."""
    words = [_Word(word) for word in ctx.meta[_WORDS]]
    values, rest, _ = ctx.command.make_parser(ctx).parse_args(list(words))
    typed = [values.get(name) for name in _argument_names(ctx)] + rest
    ids = {id(word) for word in typed}
    arguments = [str(word) for word in words if id(word) in ids]
    return arguments, [str(word) for word in words if id(word) not in ids and word != "--"]


def _corrected(**changed: str) -> str:
    """Return the current command with other values, ready to paste into a shell."""
    ctx = click.get_current_context()
    names = _argument_names(ctx)
    words, options = _positionals(ctx)
    values = {**dict(zip(names, words, strict=False)), **changed}
    if "index" in changed and "index" not in names:  # an option
        index_word = next(v for k, v in ctx.params.items() if k.endswith("__index"))
        options = [changed["index"] if word == index_word else word for word in options]
    arguments = [values[name] for name in names if name in values]
    dashes = ["--"] if any(word.startswith("-") for word in arguments) else []
    line = shlex.join([*options, *dashes, *arguments] if dashes else [*arguments, *options])
    return escaped(f"{ctx.command_path} {line}", _MOST)
