"""`pnyx start`: documents indexed, served and opened in the browser, in one command."""

from __future__ import annotations

from pathlib import Path

import click

from pnyx.app.serve_specs import ServerSpec
from pnyx.app.spec import Spec, opt, out_opt
from pnyx.cli.common.options import say
from pnyx.cli.common.params import verb
from pnyx.errors import OptionError, escaped


class StartSpec(Spec, heading="Start"):
    """Where the index is made, and whether a browser is opened."""

    out: str | None = out_opt(
        None,
        "Index folder to create, or to reuse if it exists.",
        shown="SOURCE.index, here",
        metavar="FOLDER",
    )
    open: bool = opt(True, "Open the first page in the browser.")
    lexical: bool = opt(False, "Index words only, which is far faster.")


@verb("start")
@click.argument("source")
def command(source: str, start: StartSpec, server: ServerSpec, as_json: bool) -> int:
    """Search SOURCE in the browser, and argue from it: a file or folder of documents, or an index.

    Documents are indexed first. The next start uses the same index and refreshes it: new, changed
    and deleted files.

    \b
    Example:
      pnyx start arguments.jsonl
      pnyx start ~/Documents/debates --lexical
    """
    from pnyx.cli.index import command as index
    from pnyx.cli.serve import command as serve
    from pnyx.search.opening import stands_for_index

    folder = source
    if stands_for_index(source) and (start.out is not None or start.lexical):
        raise OptionError("--out and --lexical go with documents: this is an index already")
    if not stands_for_index(source):
        folder = start.out or f"{Path(source).resolve().name.removesuffix('.gz')}.index"
        words = ["--lexical"] if start.lexical else []
        if stands_for_index(folder) and _is_source(folder, source):
            status: int = index.main([source, "--add", folder, *words], standalone_mode=False)
            if status:
                return status
        elif stands_for_index(folder):
            say(
                f"{escaped(folder)} exists and was not made from {escaped(source)}: it is used as "
                "it is; pnyx index --add adds documents"
            )
        else:
            status = index.main([source, "--out", folder, *words], standalone_mode=False)
            if status:
                return status
    flags = ["--open"] if start.open else []
    flags += ["--json"] if as_json else []
    flags += ["--host", server.host]
    flags += ["--port", str(server.port)] if server.port is not None else []
    flags += ["--token", server.token] if server.token is not None else []
    done: int = serve.main([folder, *flags], standalone_mode=False)
    return done


def _is_source(folder: str, source: str) -> bool:
    """Whether an index was made from these documents; one in a cluster is used as it is."""
    from pnyx.search.opensearch.client import is_remote
    from pnyx.search.refresh import is_source

    return not is_remote(folder) and is_source(folder, source)
