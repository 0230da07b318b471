"""Specs of servers. Light: nothing here loads a web framework."""

from __future__ import annotations

from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import Address, FileName, Secret


class ServerSpec(Spec, heading="Server"):
    """Where pages are served, and to whom."""

    host: Address = opt(
        "127.0.0.1",
        "Address to listen on; any but this machine's own needs a token.",
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
        "What visitors must bring: ?token=TOKEN in a browser, else 'Authorization: Bearer TOKEN'. "
        "Better in the environment, where no list of processes shows it.",
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
        None,
        "Index folder to create, or to reuse if it exists.",
        default_text="INDEX.index, next to INDEX",
        metavar="FOLDER",
        writes="folder",
    )
    lexical: bool = opt(False, "Index words only, which is far faster.", "--words-only")


class ViewSpec(Spec, heading="Pages"):
    """How results are shown."""

    qrels: FileName | None = file_opt(
        None,
        "Judgements on which all runs of RESULTS are measured, as by pnyx measure retrieval.",
        metavar="QRELS",
    )
    baseline: FileName | None = opt(
        None,
        "Run that the others are compared with.",
        metavar="RUN",
        default_text="the first",
        needs="qrels",
    )
    export: FileName | None = out_opt(
        None,
        "Write all pages as files into this folder, instead of serving them.",
        metavar="DIR",
        writes="folder",
    )
    store: FileName | None = file_opt(
        None,
        "Judgement store with the prompts and replies behind judgements.",
        metavar="FILE",
        default_text="the one that the results name",
    )
    judgements: int = opt(
        2000,
        "--export: pages of single judgements at most, and of single sentences: what is unscored "
        "first, then what the judge was least sure of; 0 for all.",
        within="[0, 1000000000]",
        metavar="N",
    )
    watch: bool = opt(
        False,
        "Follow what changes, until Ctrl-C: open pages load themselves again, --export writes "
        "again. What is not there yet is waited for.",
    )
    fresh: bool = opt(False, "Read everything again, whatever the cache holds.")
