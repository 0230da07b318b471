"""Libraries of compiled code, loaded so that they do not crash each other or call home.

usearch's Linux wheels hold a copy of libstdc++ that shares locale numbers with the system's copy.
If usearch's copy starts first, onnxruntime, which reads patterns by locale when imported, ends the
process with a segmentation fault. So the system's copy is started before usearch is imported, and
a process in which somebody else imported usearch first is refused before it crashes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from pnyx.core.errors import MissingExtra, PnyxError

_OWN_ID = "_ZNSt7codecvtIDsc11__mbstate_tE2idE"
"""std::codecvt<char16_t, char>::id, which each copy of libstdc++ has for itself. It comes late."""
_SHARED_ID = "_ZNSt7__cxx117collateIcE2idE"
"""std::collate<char>::id, which all copies in a process share."""

_PARSING = threading.RLock()

WORTH_COMPILING = 20_000
"""Documents from which compiled search pays. Measured: a query over as many takes .7 ms of CPU in
numpy and .2 ms compiled, and 17.5 and 1.9 ms over 400,000."""


def load_usearch() -> Any:
    """Return the module `usearch.index`, or raise MissingExtra."""
    if "usearch" not in sys.modules:
        _start_locales()
    try:
        import usearch.index
    except ImportError as error:
        raise MissingExtra("a graph of vectors", "dense") from error
    return usearch.index


def load_numba() -> Any:
    """Return the module `numba`, or raise MissingExtra."""
    try:
        import numba
    except ImportError as error:
        raise MissingExtra("compiled search", "fast") from error
    return numba


def can_compile() -> bool:
    """Whether numba is installed; it takes a second to load, and is not loaded for this."""
    return find_spec("numba") is not None


def advise_compiling(documents: int) -> str:
    """Say how so many documents are indexed and searched sooner; nothing where they are already."""
    if documents < WORTH_COMPILING or can_compile():
        return ""
    return f"{documents:,} documents are indexed and searched sooner after pip install 'pnyx[fast]'"


def load_onnxruntime() -> Any:
    """Return `onnxruntime` without telemetry; PnyxError where it would crash after usearch."""
    if "onnxruntime" not in sys.modules and "usearch" in sys.modules and _locales_are_mixed():
        raise PnyxError(
            "usearch was imported before onnxruntime, which crashes the process: "
            "import onnxruntime first"
        )
    # Its import looks up a host and leaves a device id and a database in the user's cache.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where somebody else imported it first
    return onnxruntime


@contextlib.contextmanager
def garbage_kept() -> Iterator[None]:
    """Collect no garbage while `ast` parses a literal, as `numpy.load` does for each array.

    Python 3.11 counts the parser's depth once for the whole process. Where collecting garbage in
    the middle of it runs a finaliser that parses, too, or lets another thread do so, the parser
    raises SystemError: "AST constructor recursion depth mismatch" (python/cpython#106905).
    """
    with _PARSING:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()


def free_memory() -> None:
    """Give memory that was freed back to the system; glibc keeps it otherwise."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # musl has none
            trim(0)


def _start_locales() -> None:
    """Let the system's libstdc++ make its locales, if this process has not done so."""
    library = _libstdcxx()
    if library is not None:
        library._ZNSt6locale7classicEv()  # std::locale::classic(), which takes nothing


def _locales_are_mixed() -> bool:
    """Whether what is shared was numbered before the system's libstdc++ numbered its own."""
    library = _libstdcxx()
    if library is None:
        return False
    import ctypes

    try:
        own, shared = (ctypes.c_size_t.in_dll(library, n).value for n in (_OWN_ID, _SHARED_ID))
    except ValueError:  # a libstdc++ without them
        return False
    return own < shared


def _libstdcxx() -> Any:
    """Return the system's libstdc++; None where there is none (macOS, musl)."""
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        library = ctypes.CDLL("libstdc++.so.6")
        return library if hasattr(library, "_ZNSt6locale7classicEv") else None
    except OSError:
        return None
