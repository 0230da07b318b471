"""Specs of servers. Light: nothing here loads a web framework."""

from __future__ import annotations

from pnyx.app.spec import Spec, opt

__all__ = ["ServerSpec"]


class ServerSpec(Spec, heading="Server"):
    """Where pages are served, and to whom."""

    host: str = opt(
        "127.0.0.1",
        "Address to listen on; any but this machine's own needs a token.",
        metavar="HOST",
    )
    port: int = opt(8321, "Port; 0 for any free one.", within="[0, 65535]", metavar="PORT")
    token: str | None = opt(
        None,
        "What visitors must bring: ?token=TOKEN in a browser, else 'Authorization: Bearer TOKEN'. "
        "Better in the environment, where no list of processes shows it.",
        env="PNYX_TOKEN",
        metavar="TOKEN",
    )
