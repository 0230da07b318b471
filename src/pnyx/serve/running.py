"""Serving an application until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, MissingExtra, OptionError, escaped, shorten
from pnyx.serve.security import is_loopback

if TYPE_CHECKING:
    from pnyx.app.serve_specs import ServerSpec

__all__ = ["check_server", "run_app"]

_WAIT_SECONDS = 3


def check_server(spec: ServerSpec) -> None:
    """Refuse to listen where others can reach without a token.

    Raises:
        OptionError: the host is not this machine's own, and there is no token; or the token could
            not be sent.
    """
    token = spec.token
    if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
        raise OptionError("--token: expected printable ASCII characters")
    if token is None and not is_loopback(spec.host):
        raise OptionError(
            f"--host {shorten(spec.host, 60)}: others can reach this address, so --token TOKEN (or "
            "PNYX_TOKEN) must say what visitors bring; 127.0.0.1 needs none"
        )


def run_app(
    app: Any,
    spec: ServerSpec,
    what: str,
    say: Callable[[str], None],
    *,
    tokens: Mapping[str, str] | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serve an ASGI application until Ctrl-C; `say` is told where, once it can be reached.

    `tokens` are visitors' own, by name; each is told its address. `on_start` gets the address of
    the first page.

    Raises:
        OptionError: see `check_server`.
        InputError: the address cannot be listened on.
        MissingExtra: uvicorn is not installed.
    """
    check_server(spec)
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("serving pages", "serve") from error

    with _listening(spec) as listener:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=_WAIT_SECONDS, proxy_headers=False, lifespan="on",
        )  # fmt: skip
        say(f"{what}: {_address(listener, spec)} (Ctrl-C ends)")
        for name, token in (tokens or {}).items():
            say(f"  {escaped(name)}: {_base(listener, spec)}?token={token}")
        if on_start is not None:
            on_start(_base(listener, spec))
        uvicorn.Server(config).run(sockets=[listener])


def _listening(spec: ServerSpec) -> socket.socket:
    try:
        found = socket.getaddrinfo(spec.host, spec.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(2048)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        place = f"--host {shorten(spec.host, 60)} --port {spec.port}"
        raise InputError(f"{place}: cannot listen there: {reason}") from error
    return listener


def _address(listener: socket.socket, spec: ServerSpec) -> str:
    return _base(listener, spec) + ("?token=..." if spec.token else "")


def _base(listener: socket.socket, spec: ServerSpec) -> str:
    port = listener.getsockname()[1]
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    return f"http://{host}:{port}/"
