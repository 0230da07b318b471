"""Options of servers. Importing this module does not load a web framework."""

from __future__ import annotations

from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import Address, FileName, Secret


class ServerSpec(Spec, heading="Server", rare="host token"):
    """Where pages are served, and to whom."""

    host: Address = opt(
        "127.0.0.1",
        "Address to listen on; an address that others can reach requires a token.",
        metavar="HOST",
    )
    port: int | None = opt(
        None,
        "Port; 0 for any free one.",
        within="[0, 65535]",
        metavar="PORT",
        default_text="8321, or the next that is free",
    )
    token: Secret | None = opt(
        None,
        "Token that visitors must send: ?token=TOKEN in a browser, else 'Authorization: Bearer "
        "TOKEN'. Prefer the environment variable, which process lists do not show.",
        env="PNYX_TOKEN",
        metavar="TOKEN",
    )


class ServingSpec(Spec, heading="Server"):
    """How the index is served."""

    open: bool = opt(False, "Open the first page in the browser.")
    mcp: bool = opt(
        False,
        "Serve a language model by the Model Context Protocol, on standard input and output.",
    )


class ServedIndexSpec(Spec, heading="Documents"):
    """How documents are indexed before they are served."""

    out: str | None = out_opt(
        None, default_text="INDEX.index, next to INDEX", metavar="FOLDER", writes="folder"
    )
    lexical: bool = opt(False, "", "--words-only")


class ViewSpec(Spec, heading="Pages", rare="store judgements fresh baseline"):
    """Options for displaying results."""

    qrels: FileName | None = file_opt(None, metavar="QRELS")
    baseline: FileName | None = opt(None, metavar="RUN", default_text="the first", needs="qrels")
    export: FileName | None = out_opt(
        None,
        "",
        metavar="DIR",
        writes="folder",
    )
    store: FileName | None = file_opt(
        None, metavar="FILE", default_text="the one named by the results"
    )
    judgements: int = opt(
        2000,
        "--export: most pages of single judgements, and of single sentences: unscored ones first, "
        "then those with the lowest confidence; 0 for all.",
        within="[0, 1000000000]",
        metavar="N",
    )
    watch: bool = opt(
        False,
        "Follow changes until Ctrl-C: open pages reload, --export writes again. Waits for results "
        "that do not exist yet.",
    )
    fresh: bool = opt(False, "Ignore the cache and read everything again.")
