"""`pnyx serve`: pages and the HTTP API over one index."""

from __future__ import annotations

import click

from pnyx.cases.options import ArgueSpec
from pnyx.cli.options import print_result, say
from pnyx.cli.params import verb
from pnyx.formats.text_types import SourceName
from pnyx.judging.options import PaidModelSpec
from pnyx.search.common_index import IndexCommand, index_folder
from pnyx.search.options import SearchSpec
from pnyx.web.ask.options import BrowserSpec, ServerSpec


@verb(
    "serve",
    kind=IndexCommand,
    without={"model": "plan", "search": "stance certainty", "argue": "claims"},
    rare={"model": "budget", "argue": "points retrieve per_side definition", "search": "topic"},
)
@click.argument("index")
def command(
    index: SourceName,
    server: ServerSpec,
    browser: BrowserSpec,
    argue: ArgueSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    as_json: bool,
) -> int:
    """Serve pages to search INDEX and argue from it, and an HTTP API (/v1/openapi.json).

    Options given here are the defaults of every request. A request may override them, but cannot
    name a file, address or model. Only this machine can reach it, unless --host and --token are
    given. With --json the address is printed as soon as it can be reached.

    \b
    Example:
      pnyx serve my.index
      pnyx serve my.index --llm local --budget-tokens 100000
      PNYX_TOKEN=$(openssl rand -hex 16) pnyx serve my.index --host 0.0.0.0
      curl 'http://127.0.0.1:8321/v1/search?q=Should+voting+be+compulsory%3F&k=3'
    """
    from pnyx.web.server import check_server, run_app

    check_server(server)
    from pnyx.search.split_documents import size_of
    from pnyx.web.ask.application import build_asking
    from pnyx.web.ask.service import ServerSettings, open_service

    asking = ServerSettings(index=index_folder(index), search=search, argue=argue, model=model)
    with open_service(asking, say) as service:
        app = build_asking(service, server.token or "")
        about = {"index": index, "documents": service.documents}

        def started(url: str) -> None:
            print_result({"url": url, **about}, "", as_json=as_json)
            if browser.open:
                import webbrowser

                webbrowser.open(url + (f"?token={server.token}" if server.token else ""))

        what = f"{service.name}, {size_of(service.index)}"
        run_app(app, server, what, say, on_start=started)
    return 0
