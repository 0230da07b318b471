"""Load compiled libraries so that they neither crash each other nor contact other hosts.

usearch's Linux wheels contain a copy of libstdc++ that shares locale ids with the system's copy. If
usearch's copy starts first, importing onnxruntime, which reads patterns by locale, ends the process
with a segmentation fault. Pnyx therefore starts the system's copy before it imports usearch, and
refuses to continue in a process in which usearch was imported first.
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
"""std::codecvt<char16_t, char>::id, of which each copy of libstdc++ has its own. Numbered late."""
_SHARED_ID = "_ZNSt7__cxx117collateIcE2idE"
"""std::collate<char>::id, which all copies in a process share."""

_PARSING = threading.RLock()

WORTH_COMPILING = 20_000
"""Number of documents from which compiled search is faster. Measured CPU time of a query over this
many documents: 0.7 ms in numpy, 0.2 ms compiled; over 400,000 documents: 17.5 ms and 1.9 ms."""


def load_usearch() -> Any:
    """Return the module `usearch.index`, or raise MissingExtra."""
    if "usearch" not in sys.modules:
        library = _libstdcxx()
        if library is not None:
            library._ZNSt6locale7classicEv()  # std::locale::classic(), which takes no argument
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
    """Whether numba is installed; it is not imported for this, as that takes a second."""
    return find_spec("numba") is not None


def advise_compiling(documents: int) -> str:
    """Advise the user to install numba for this many documents; empty if it does not help."""
    if documents < WORTH_COMPILING or can_compile():
        return ""
    return f"Index and search {documents:,} documents faster: pip install 'pnyx[fast]'"


def load_onnxruntime() -> Any:
    """Return `onnxruntime` without telemetry; PnyxError if it would crash after usearch."""
    if "onnxruntime" not in sys.modules and "usearch" in sys.modules and _locales_are_mixed():
        raise PnyxError(
            "usearch was imported before onnxruntime, which crashes the process: "
            "import onnxruntime first"
        )
    # Importing it looks up a host and writes a device id and a database to the user's cache.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # in case other code imported it first
    return onnxruntime


@contextlib.contextmanager
def garbage_kept() -> Iterator[None]:
    """Disable garbage collection while `ast` parses a literal, as `numpy.load` does for each array.

    Python 3.11 counts the parser's depth once for the whole process. If garbage collection
    interrupts the parser and runs a finaliser that also parses, or lets another thread parse, the
    parser raises SystemError: "AST constructor recursion depth mismatch" (python/cpython#106905).
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
    """Return freed memory to the system; glibc otherwise keeps it."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # missing in musl
            trim(0)


def _locales_are_mixed() -> bool:
    """Whether the shared ids were numbered before those of the system's libstdc++."""
    library = _libstdcxx()
    if library is None:
        return False
    import ctypes

    try:
        own_id, shared = (ctypes.c_size_t.in_dll(library, n).value for n in (_OWN_ID, _SHARED_ID))
    except ValueError:  # this libstdc++ does not have them
        return False
    return own_id < shared


def _libstdcxx() -> Any:
    """Return the system's libstdc++; None if there is none (macOS, musl)."""
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        library = ctypes.CDLL("libstdc++.so.6")
        return library if hasattr(library, "_ZNSt6locale7classicEv") else None
    except OSError:
        return None
