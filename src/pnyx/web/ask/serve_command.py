"""`pnyx serve`: pages, the HTTP API and MCP over one index."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pnyx.cases.options import ArgueSpec
from pnyx.cli.options import print_result, say
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, escaped
from pnyx.formats.text_types import SourceName
from pnyx.judging.options import PaidModelSpec
from pnyx.search.common_index import IndexCommand, index_folder
from pnyx.search.options import SearchSpec
from pnyx.web.ask.options import ServedIndexSpec, ServerSpec, ServingSpec


@verb(
    "serve",
    kind=IndexCommand,
    without={"model": "plan", "search": "stance certainty", "argue": "claims"},
    rare={
        "model": "budget",
        "argue": "points retrieve per_side definition",
        "search": "model rerank threshold diversify",
    },
)
@click.argument("index", required=False)
def command(
    index: SourceName | None,
    documents: ServedIndexSpec,
    server: ServerSpec,
    serving: ServingSpec,
    argue: ArgueSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    as_json: bool,
) -> int:
    """Serve pages to search INDEX and argue from it, and an HTTP API (/v1/openapi.json).

    INDEX may also be a file or folder of documents, which are indexed first. Without INDEX an
    example is served: 16 files about rent control. Only this machine can connect.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx serve ex/rent
      pnyx: ex/rent: 16 files: 16 read; indexed in ex/rent.index (97 passages)
      pnyx: rent.index, 97 passages: http://127.0.0.1:8321/ (Ctrl-C ends)

    \b
    More: pnyx serve --help-all, docs/recipes/serving.md.
    \f
    The example is written to pnyx-example/rent. Documents are indexed in --out; the next time the
    same index is used, and refreshed: new, changed and deleted files.

    The options are the defaults of every request. A request may choose others, but no file, address
    or model. Others can connect with --host and --token. With --json the address is printed as soon
    as the server can be reached. With --mcp a language model's client, which starts this command
    itself, gets four tools: search, perspectives, argue and judge.

    \b
      pnyx serve ~/Documents/debates --open --words-only
      pnyx serve my.index --llm local --set budget-tokens=100000
      PNYX_TOKEN=$(openssl rand -hex 16) pnyx serve my.index --host 0.0.0.0
      curl 'http://127.0.0.1:8321/v1/search?q=Should+voting+be+compulsory%3F&k=3'
      pnyx serve my.index --mcp
    """
    from pnyx.web.server import check_server, run_app

    if serving.mcp:
        _refuse_with_mcp(server, serving, as_json=as_json)
    else:
        check_server(server)
    from pnyx.search.split_documents import size_of
    from pnyx.web.ask.application import build_asking
    from pnyx.web.ask.service import ServerSettings, open_service

    index = index or _example_folder()
    folder, status = _served_index(index, documents)
    if status:
        return status
    asking = ServerSettings(index=folder, search=search, argue=argue, model=model)
    with open_service(asking, say) as service:
        if serving.mcp:
            from pnyx.web.api.mcp_stdio import serve_mcp

            serve_mcp(service, say)
            return 0
        app = build_asking(service, server.token or "")
        about = {"index": folder if documents.out else index, "documents": service.documents}

        def started(url: str) -> None:
            print_result({"url": url, **about}, "", as_json=as_json)
            if serving.open:
                import webbrowser

                webbrowser.open(url + (f"?token={server.token}" if server.token else ""))

        what = f"{service.name}, {size_of(service.index)}"
        run_app(app, server, what, say, on_start=started)
    return 0


def _refuse_with_mcp(server: ServerSpec, serving: ServingSpec, *, as_json: bool) -> None:
    """Refuse options that would change nothing on standard input and output."""
    flags = [server.flag(name) for name in ("host", "port") if server.given(name)]
    flags += ["--open"] if serving.open else []
    flags += ["--json"] if as_json else []
    if flags:
        raise OptionError(f"{flags[0]} and --mcp exclude each other")


def _served_index(index: str, documents: ServedIndexSpec) -> tuple[str, int]:
    """Return the index to serve, made or refreshed if need be, and the exit status so far."""
    from pnyx.search.open_engine import stands_for_index

    if stands_for_index(index) and (documents.out is not None or documents.lexical):
        raise OptionError("--out and --words-only require documents: this is an index already")
    if documents.out is None:
        return index_folder(index, lexical=documents.lexical), 0
    return documents.out, _index_in(documents.out, index, lexical=documents.lexical)


def _example_folder() -> str:
    """Return the folder of example documents; it is written if it does not exist."""
    from pnyx.formats.bundled_example import EXAMPLE_FOLDER, EXAMPLE_QUESTION, write_example_folder

    folder = Path("pnyx-example", EXAMPLE_FOLDER)
    if not folder.is_dir():
        write_example_folder(folder)
    say(
        f"no INDEX is named, so an example is served: {folder}, files about rent control. "
        f'Ask for instance "{EXAMPLE_QUESTION}". Your own documents: pnyx serve FOLDER'
    )
    return str(folder)


def _index_in(folder: str, source: str, *, lexical: bool) -> int:
    """Index documents in the folder that --out names, or refresh that; return the exit status."""
    from pnyx.search.index_command import command as index
    from pnyx.search.open_engine import stands_for_index

    words = ["--words-only"] if lexical else []
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
    """Whether an index was made from these documents; one in a cluster is used as it is."""
    from pnyx.core.network import is_remote
    from pnyx.search.refresh import is_source

    return not is_remote(folder) and is_source(folder, source)
