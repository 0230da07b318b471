"""`pnyx start`: documents indexed, served and opened in the browser, in one command."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pnyx.cli.options import say
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, escaped
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.search.common_index import IndexCommand, index_folder
from pnyx.web.ask.options import ServerSpec


class StartSpec(Spec, heading="Start"):
    """Options of `pnyx start`."""

    out: str | None = out_opt(
        None,
        "Index folder to create, or to reuse if it exists.",
        shown="SOURCE.index, next to SOURCE",
        metavar="FOLDER",
        writes="folder",
    )
    open: bool = opt(True, "Open the first page in the browser.")
    lexical: bool = opt(False, "Index only words, which is much faster.")


@verb("start", kind=IndexCommand)
@click.argument("source", required=False)
def command(source: str | None, start: StartSpec, server: ServerSpec, as_json: bool) -> int:
    """Search SOURCE in the browser, and argue from it: a file or folder of documents, or an index.

    Documents are indexed first. The next start uses the same index and refreshes it: new, changed
    and deleted files. Without SOURCE an example is used, 16 files about rent control: it is written
    to pnyx-example/rent, unless that exists.

    \b
    Example:
      pnyx start
      pnyx start ~/Documents/debates --lexical
    """
    from pnyx.search.open_engine import stands_for_index
    from pnyx.web.ask.serve_command import command as serve

    source = source or _example_folder()
    if stands_for_index(source) and (start.out is not None or start.lexical):
        raise OptionError("--out and --lexical require documents, but this is an index already")
    if start.out is None:
        folder = index_folder(source, lexical=start.lexical)
    else:
        folder = start.out
        if status := _index_in(folder, source, lexical=start.lexical):
            return status
    flags = ["--open"] if start.open else []
    flags += ["--json"] if as_json else []
    flags += ["--host", server.host]
    flags += ["--port", str(server.port)] if server.port is not None else []
    flags += ["--token", server.token] if server.token is not None else []
    done: int = serve.main([folder, *flags], standalone_mode=False)
    return done


def _example_folder() -> str:
    """Return the folder of example documents, writing it if it does not exist."""
    from pnyx.formats.bundled_example import EXAMPLE_FOLDER, EXAMPLE_QUESTION, write_example_folder

    folder = Path("pnyx-example", EXAMPLE_FOLDER)
    if not folder.is_dir():
        write_example_folder(folder)
    say(
        f"no SOURCE given, so an example is used: {folder}, files about rent control. "
        f'Ask for instance "{EXAMPLE_QUESTION}". Your own documents: pnyx start FOLDER'
    )
    return str(folder)


def _index_in(folder: str, source: str, *, lexical: bool) -> int:
    """Index documents in the folder of --out, or refresh that index; return the exit status."""
    from pnyx.search.index_command import command as index
    from pnyx.search.open_engine import stands_for_index

    words = ["--lexical"] if lexical else []
    status: int = 0
    if not stands_for_index(folder):
        status = index.main([source, "--out", folder, *words], standalone_mode=False)
    elif _is_source(folder, source):
        status = index.main([source, "--add", folder, *words], standalone_mode=False)
    else:
        command = f"pnyx index {shlex.quote(source)} --add {shlex.quote(folder)}"
        say(
            f"{escaped(folder)} exists and was not made from {escaped(source)}: it is used as it "
            f"is. To add the documents: {escaped(command, 1000)}"
        )
    return status


def _is_source(folder: str, source: str) -> bool:
    """Whether an index was made from these documents; an index in a cluster is used unchanged."""
    from pnyx.core.network import is_remote
    from pnyx.search.refresh import is_source

    return not is_remote(folder) and is_source(folder, source)
