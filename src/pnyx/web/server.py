"""Serving an application until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.web.security import is_loopback

if TYPE_CHECKING:
    from pnyx.web.ask.options import ServerSpec

_WAIT_SECONDS: Final = 3
HEAD_SECONDS = 10.0
"""Longest time to wait for the headers of a request."""
_PORT: Final = 8321
_PORTS: Final = 100
"""The default port, and how many ports from it are tried if none is given."""


def check_server(spec: ServerSpec) -> None:
    """Raise OptionError if others can reach the address and there is no valid token."""
    token = spec.token
    if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
        raise OptionError("--token: expected printable ASCII characters")
    if token is None and not is_loopback(spec.host):
        raise OptionError(
            f"--host {shorten(spec.host, 60)}: others can reach this address, so it requires "
            f"--token TOKEN (or PNYX_TOKEN); 127.0.0.1 does not"
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
    """Serve an ASGI application until Ctrl-C.

    `say` gets its address once it can be reached. `tokens` are those of visitors, by name; the
    address of each is printed. `on_start` gets the address of the first page.

    Raises:
        OptionError: see `check_server`.
        InputError: the address cannot be listened on.
    """
    check_server(spec)
    import uvicorn

    with _listening(spec) as listener:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=_WAIT_SECONDS, proxy_headers=False, lifespan="on",
            http=_timed(), ws="none",
        )  # fmt: skip
        bring = "?token=..." if spec.token else ""
        say(f"{what}: {_base(listener, spec)}{bring} (Ctrl-C ends)")
        for name, token in (tokens or {}).items():
            say(f"  {escaped(name)}: {_base(listener, spec)}?token={token}")
        if on_start is not None:
            on_start(_base(listener, spec))
        uvicorn.Server(config).run(sockets=[listener])


def _timed() -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with a time limit for the headers and body of a request."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Timed(H11Protocol):
        ends: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._look()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop()

        def _look(self) -> None:
            """Start the timer when waiting for headers; incoming bytes do not reset it."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self.ends is None and not self.transport.is_closing():
                self.ends = self.loop.call_later(HEAD_SECONDS, self.transport.close)

        def _stop(self) -> None:
            if self.ends is not None:
                self.ends.cancel()
                self.ends = None

    return Timed


def _listening(spec: ServerSpec) -> socket.socket:
    """Return a socket at the given port, or else at the first free one from the default."""
    ports = range(_PORT, _PORT + _PORTS) if spec.port is None else (spec.port,)
    for port in ports:
        try:
            return _bound(spec.host, port)
        except (OSError, UnicodeError) as error:
            taken = getattr(error, "errno", None) == errno.EADDRINUSE
            if taken and port != ports[-1]:
                continue
            reason = getattr(error, "strerror", None) or str(error)
            named = port if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"
            options = f"--host {shorten(spec.host, 60)} --port {named}"
            raise InputError(f"{options}: cannot listen there: {reason}") from error
    raise AssertionError("no port was tried")


def _bound(host: str, port: int) -> socket.socket:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = addresses[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _base(listener: socket.socket, spec: ServerSpec) -> str:
    port = listener.getsockname()[1]
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    return f"http://{host}:{port}/"
