"""A connection to Ray, which calls functions on the cores of this machine or of a cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pnyx._version import __version__
from pnyx.core.errors import ModelError, OptionError, PnyxError, shorten
from pnyx.core.network import check_network, names_of
from pnyx.models.http import flow

_ADDRESS = re.compile(r"(?:ray://)?(?P<host>[^\s/@:]+|\[[0-9a-fA-F:]+\]):(?P<port>[0-9]{1,5})")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Binds Ray's own ports to 127.0.0.1, as on Windows and macOS; Ray reads it on import."""
_OBJECTS = 256 * 1024 * 1024
_SECONDS = 10.0
_RETRIES = 10
"""How often a call is restarted after its worker or machine is lost."""


class RayCluster:
    """A connection to Ray; `count` is the number of its cores, each with one worker."""

    def __init__(self, engine: str) -> None:
        self._ray = _connected(engine)
        self.count = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._task: Any = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_work)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call an importable function in a worker and return its result; ModelError if it fails."""
        return self.map(function, [args])[0]

    def spread(self, function: Callable[..., Any], rows: Sequence[Any]) -> list[Any]:
        """Call a function on parts of the rows, two per worker; return the results in order."""
        size = max(1, len(rows) // (2 * self.count))
        return self.map(function, [(list(rows[n : n + size]),) for n in range(0, len(rows), size)])

    def map(self, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """Return the results of a function for each call's arguments, in order."""
        try:
            done = self._ray.get([self._task.remote(__version__, function, c) for c in calls])
        except self._ray.exceptions.RayError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise ModelError(f"Ray: {shorten(lines[-1].strip(), 300)}") from error
        for _, problem in done:
            if problem:
                raise ModelError(problem)
        return [result for result, _ in done]


@contextlib.contextmanager
def ray_cluster(engine: str) -> Iterator[RayCluster]:
    """Connect to Ray as `engine` says: `ray` is this machine, else the address of a cluster.

    Raises:
        OptionError: the value is neither of these.
        ModelError: the cluster cannot be reached.
    """
    cluster = RayCluster(engine)
    try:
        yield cluster
    finally:
        cluster._ray.shutdown()


def _connected(engine: str) -> Any:
    """Import Ray, start or find a cluster, and return the library."""
    address = _ADDRESS.fullmatch(engine)
    if engine != "ray" and address is None:
        excerpt = shorten(engine.rpartition("@")[2], 60)
        raise OptionError(f"engine: found {excerpt!r}, expected ray, ray://HOST:10001 or HOST:PORT")
    check_network(*names_of(engine))
    quiet = {"log_to_driver": False, "configure_logging": False}
    if address is not None:
        host, port = address["host"], int(address["port"])
        try:
            socket.create_connection((host.strip("[]"), port), _SECONDS).close()
        except (OSError, OverflowError) as error:
            raise ModelError(f"Ray cannot be reached at {shorten(engine, 60)}: {error}") from error
    if address is None or address["host"] in _LOOPBACK:
        os.environ.update(_ON_LOOPBACK)
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        with _silent(), warnings.catch_warnings(action="ignore"), _taken_port() as port:
            import ray

            if address is not None:
                ray.init(engine, **quiet)
            else:
                ray.init("local", **_local_options(port), **quiet)
    except (Exception, SystemExit) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"Ray cannot be used at {shorten(engine, 60)}: {first}") from error
    return ray


def _local_options(taken_port: int) -> dict[str, Any]:
    """Return the options of Ray on this machine alone, without requests to a cloud.

    Even without a dashboard Ray starts the process that reports usage, and that process requests
    the metadata addresses of clouds (169.254.169.254) even if reports are off. It is not started if
    its port is taken, and Ray continues without it. With 0 TPUs, Ray looks for none and does not
    ask the cloud for their type.
    """
    return {
        "num_cpus": flow.cores(),
        "resources": {"TPU": 0},
        "object_store_memory": _OBJECTS,
        "include_dashboard": False,
        "dashboard_host": "127.0.0.1",
        "dashboard_port": taken_port,
    }


@contextlib.contextmanager
def _taken_port() -> Iterator[int]:
    """Hold a port of 127.0.0.1, and yield its number."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep the output of Ray's compiled code off standard error: failures take one line."""
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _work(version: str, function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, str]:
    """Call a function in a worker on its one core; return its result, or the problem."""
    host = socket.gethostname()
    if version != __version__:
        return None, f"Ray: {host} has Pnyx {__version__}, expected {version}"
    flow.use_cores(1)
    try:
        return function(*args), ""
    except PnyxError as error:
        return None, f"{error} (on {host})"
