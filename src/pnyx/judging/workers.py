"""Workers of plugins, in which judges and packaged models run instead of in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pnyx.core.errors import OptionError, PluginError, shorten
from pnyx.core.network import check_network, names_of
from pnyx.core.plugins import APART, plugins

if TYPE_CHECKING:
    from pnyx.judging.base import Judge
    from pnyx.judging.students.surface_quality import TextQuality
    from pnyx.models.embed.embedder import Embedder


@runtime_checkable
class Workers(Protocol):
    """Processes, here or on other machines, that compute exactly what this process would."""

    def judge(self, make: Callable[..., Judge], *args: str) -> Judge:
        """Return a judge with the answers of `make(*args)`; workers can import `make`."""

    def embedder(self) -> Embedder:
        """Return an embedder with the vectors of the packaged encoder."""

    def quality(self) -> TextQuality:
        """Return a model with the values of the packaged quality model."""


@contextlib.contextmanager
def open_workers(engine: str) -> Iterator[Workers]:
    """Connect to the workers at `NAME` or `NAME:REST`, NAME being that of a plugin.

    An address that begins with no such name (HOST:PORT) is passed to the only plugin.

    Raises:
        PluginError: no plugin with workers is installed, or it cannot be used.
        OptionError: the plugin does not accept the address.
        ModelError: the workers cannot be reached.
    """
    check_network(*names_of(engine))
    installed = plugins("workers")
    if not installed:
        raise PluginError(f"engine needs a plugin: pip install {APART['--engine']}")
    name = engine.partition(":")[0]
    if name not in installed and len(installed) > 1:
        names = " or ".join(installed)
        raise OptionError(f"engine: found {shorten(name, 60)!r}, expected {names}, or NAME:ADDRESS")
    plugin = installed.get(name) or next(iter(installed.values()))
    with plugin.load(Callable)(engine) as workers:
        if not isinstance(workers, Workers):
            raise PluginError(f"{plugin} opens {type(workers).__name__}, expected Workers")
        yield workers
