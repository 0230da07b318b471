"""Serving an application until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, MissingExtra, OptionError, escaped, shorten
from pnyx.serve.security import is_loopback

if TYPE_CHECKING:
    from pnyx.app.serve_specs import ServerSpec

__all__ = ["check_server", "run_app"]

_WAIT_SECONDS = 3
_HEAD_SECONDS = 15.0
"""How long a connection may take until the head of its request is there."""
_PORT, _PORTS = 8321, 20
"""How many ports are tried from the usual one on."""


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
        from uvicorn.protocols.http.auto import AutoHTTPProtocol
    except ImportError as error:
        raise MissingExtra("serving pages", "serve") from error

    timed: Any = type("TimedProtocol", (_TimedHead, AutoHTTPProtocol), {})
    with _listening(spec) as listener:
        config = uvicorn.Config(
            app, http=timed, log_config=None, access_log=False, server_header=False,
            date_header=False,
            timeout_graceful_shutdown=_WAIT_SECONDS, proxy_headers=False, lifespan="on",
        )  # fmt: skip
        say(f"{what}: {_address(listener, spec)} (Ctrl-C ends)")
        for name, token in (tokens or {}).items():
            say(f"  {escaped(name)}: {_base(listener, spec)}?token={token}")
        if on_start is not None:
            on_start(_base(listener, spec))
        uvicorn.Server(config).run(sockets=[listener])


class _TimedHead:
    """Mixed into uvicorn's protocol, limits the time that the head of a request takes.

    uvicorn has no limit, and as many heads that never end as there are file descriptors keep all
    others out.
    """

    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # type: ignore[misc]
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)  # type: ignore[misc]
        if self._late is not None:
            self._late.cancel()

    @property
    def _waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if self._waits and self._late is None:
            self._late = self.loop.call_later(_HEAD_SECONDS, self._end)
        elif not self._waits and self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        self._late = None
        if self._waits:
            self.transport.close()


def _listening(spec: ServerSpec) -> socket.socket:
    """Return a socket on the port, or without one on the first of several that is free."""
    ports = range(_PORT, _PORT + _PORTS) if spec.port is None else (spec.port,)
    for port in ports:
        try:
            return _bound(spec.host, port)
        except (OSError, UnicodeError) as error:
            if port != ports[-1] and getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            reason = getattr(error, "strerror", None) or str(error)
            place = f"--host {shorten(spec.host, 60)} --port {port}"
            raise InputError(f"{place}: cannot listen there: {reason}") from error
    raise AssertionError("there is a last port")


def _bound(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _address(listener: socket.socket, spec: ServerSpec) -> str:
    return _base(listener, spec) + ("?token=..." if spec.token else "")


def _base(listener: socket.socket, spec: ServerSpec) -> str:
    port = listener.getsockname()[1]
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    return f"http://{host}:{port}/"
