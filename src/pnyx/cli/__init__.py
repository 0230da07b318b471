"""The command line: one file per verb, imported only when that verb is called."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from pnyx._version import __version__
from pnyx.cli.options import EXIT_BAD_INPUT as EXIT_BAD_INPUT
from pnyx.cli.options import EXIT_INTERRUPTED as EXIT_INTERRUPTED
from pnyx.cli.options import EXIT_UNSCORED as EXIT_UNSCORED
from pnyx.cli.params import Group, plugin_command, write_plugins
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.plugins import Plugin, plugin_commands
from pnyx.core.rooms import SECTIONS, RoomCommands, room_commands

COMMANDS: Final = RoomCommands()
"""Verb -> its command, from the doors of the rooms (`pnyx.core.rooms`).

Others are plugins of the group `pnyx.commands`."""

_GONE = {
    "corpus": "use pnyx files split or pnyx files web",
    "validate": "use pnyx files validate",
    "convert": "use pnyx files convert",
    "repeat": "use pnyx files repeat",
    "results": "use pnyx files merge SHARE... --out RESULTS",
    "tune": "use pnyx search tune",
    "calibrate": "use pnyx judge calibrate",
    "sample": "use pnyx label sample",
    "bench": "use pnyx compare retrievers",
    "start": "use pnyx serve --open, with or without a folder",
    "mcp": "use pnyx serve INDEX --mcp",
    "quality": "to train a quality model for pnyx index --quality-model, use "
    "lab/training/own_quality.py of the repository",
}
"""Removed verb -> what to use instead."""


class _ReaderGoneError(Exception):
    """The reader of the output closed the pipe; click would exit with a status of its choice."""


class LazyGroup(Group):
    """A group whose commands are imported on use, so that `pnyx --help` stays fast."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the arguments, and print help if asked."""
        with _while_it_is_read():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _while_it_is_read():
            return super().invoke(ctx)

    def plugin_commands(self) -> dict[str, Plugin]:
        """Return the verbs of plugins by name."""
        return plugin_commands("", COMMANDS)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the main job, then those of plugins."""
        return [*COMMANDS, *self.plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb's command."""
        if cmd_name in COMMANDS:
            command: click.Command = COMMANDS[cmd_name]
            return command
        plugin = plugin_command(cmd_name, self.plugin_commands().get(cmd_name))
        if plugin is None and cmd_name in _GONE:
            raise InputError(f"`pnyx {cmd_name}` was removed: {_GONE[cmd_name]}")
        return plugin

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        doors = room_commands().values()
        for section in SECTIONS:
            if rows := [(door.name, door.summary) for door in doors if door.section == section]:
                with formatter.section(section):
                    formatter.write_dl(rows)
        write_plugins(formatter, self.plugin_commands())


@contextlib.contextmanager
def _while_it_is_read() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGoneError from error


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="pnyx")
def app() -> None:
    """Find all sides of a contentious question, argue each, and measure the trust.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx argue ex/rent "Does rent control reduce the supply of housing?" \\
          --html report.html
      the case for yes: 10 sentences from 4 documents; on the question 0.80; ...
      the case for no: 4 sentences from 2 documents; on the question 0.67; on ...

    Exit status: 0 done, 1 a judge misses a required measure or got worse, 2 bad usage or input, 3
    something is unscored or undecided, 130 interrupted. More: pnyx COMMAND --help.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; turn errors of Pnyx into one line and exit status 2."""
    _prepare_outputs()
    shown_before, warnings.showwarning = warnings.showwarning, _show_warning
    try:
        status = _run(argv)
    except BrokenPipeError:  # of the line that says what went wrong
        status = EXIT_BAD_INPUT
    finally:
        warnings.showwarning = shown_before
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)
    if status == EXIT_INTERRUPTED and argv is None:
        # A thread in compiled code may crash an interpreter that is shutting down ("terminate
        # called without an active exception"). By now, all files are written and closed.
        os._exit(status)
    sys.exit(status)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a Python warning, for example about skipped documents, in one line."""
    click.echo(f"pnyx: warning: {escaped(str(message), 1000)}", err=True)


def _run(argv: Sequence[str] | None) -> int:
    """Run the command line and return its exit status."""
    try:
        result: Any = app.main(args=argv, prog_name="pnyx", standalone_mode=False)
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()  # flushed here, so that a full disk is reported in one line
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_BAD_INPUT
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        hint = f" (see {where} --help)" if where else ""
        message = " ".join(error.format_message().split())
        click.echo(f"pnyx: {message}{hint}", err=True)
        return EXIT_BAD_INPUT
    except PnyxError as error:
        click.echo(f"pnyx: {error}", err=True)
        return EXIT_BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        _end_in_peace(argv)
        click.echo("pnyx: interrupted", err=True)
        return EXIT_INTERRUPTED
    except UnicodeEncodeError as error:  # a file's name, where only text can be written
        raw = error.object[error.start : error.end] if isinstance(error.object, str) else ""
        click.echo(f"pnyx: {InputError(f'found {raw!r}, expected text in UTF-8')}", err=True)
        return EXIT_BAD_INPUT
    except _ReaderGoneError:
        return 0
    except OSError as error:  # an error of the system, reported in its own words
        reason = error.strerror or str(error)
        click.echo(f"pnyx: {InputError(reason, path=error.filename)}", err=True)
        _discard(sys.stdout)
        return EXIT_BAD_INPUT
    if result == EXIT_INTERRUPTED:
        _end_in_peace(argv)
    return result if isinstance(result, int) else 0


def _end_in_peace(argv: Sequence[str] | None) -> None:
    """Ignore further Ctrl-C while this process ends."""
    if argv is None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _discard(stream: Any) -> None:
    """Discard buffered output: Python would try, and fail, to write it at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _prepare_outputs() -> None:
    """Write UTF-8 whatever the locale; discard what goes to a closed output."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
