"""Read and write files safely: bounded lines, compression, standard input, atomic writes."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from json.scanner import make_scanner
from pathlib import Path
from typing import IO, Any, BinaryIO

from pnyx.core.compression import (
    MAGIC_BYTES,
    damage_errors,
    decompressed,
    decompressed_head,
    in_utf8,
    utf8_head,
)
from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.core.folders import device_status, refuse_devices
from pnyx.core.placement import make_folder, place_folder, placed, recover_folder, temporary_of
from pnyx.core.placement import temporary as temporary_neighbour

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest accepted line; a longer line means a broken or hostile file."""


@contextlib.contextmanager
def open_binary(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for `-`; decompress gzip, bzip2 and xz."""
    name = str(path)
    raw = _open_raw(name)
    buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    try:
        head = guarded(lambda: buffered.peek(MAGIC_BYTES)[:MAGIC_BYTES], name)
        yield guarded(lambda: decompressed(buffered, head), name)
    finally:
        if name != "-":
            raw.close()


@contextlib.contextmanager
def open_text(path: str | Path) -> Iterator[BinaryIO]:
    """Open a text file as `open_binary` does; UTF-16 with a byte order mark is read as UTF-8."""
    with open_binary(path) as stream:
        yield guarded(lambda: in_utf8(stream), str(path))


def read_head(path: str | Path, size: int) -> bytes:
    """Return about the first `size` bytes of a file, to recognise its format.

    The bytes are decompressed; text is converted to UTF-8 without a byte order mark. If the source
    can be read only once (standard input, a pipe), the bytes are put back for the next
    `open_binary`.
    """
    name = str(path)
    source = _read_once(name)
    if source is None:
        with open_binary(path) as stream:
            head: bytes = guarded(lambda: stream.read(size), name)
        return utf8_head(head)
    raw = _open_raw(name)
    head = guarded(lambda: raw.read(size), name)
    _unread[name] = source, io.BufferedReader(_Unread(head, raw, owned=name != "-"))
    return utf8_head(guarded(lambda: decompressed_head(head, size), name))


class _Unread(io.RawIOBase):
    """A stream whose first bytes were read and are returned again."""

    def __init__(self, head: bytes, rest: Any, *, owned: bool) -> None:
        self._head, self._rest, self._owned = head, rest, owned

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        part, self._head = self._head[:size], self._head[size:]
        part = part or self._rest.read1(size)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if self._owned:
            self._rest.close()
        super().close()


_unread: dict[str, tuple[object, io.BufferedReader]] = {}
"""Name -> the file behind it when it was read, and the stream with its first bytes put back."""


def _read_once(name: str) -> object | None:
    """Return what identifies the stream behind a name that can be read only once, else None."""
    if name == "-":
        return sys.stdin
    status = device_status(Path(name))
    return status and (status.st_dev, status.st_ino)


def _open_raw(name: str) -> Any:
    source, stream = _unread.pop(name, (None, None))
    if stream is not None and source == _read_once(name):
        return stream
    if name == "-":
        if sys.stdin is None:  # closed by the process that started this one
            raise InputError("is closed", path=name)
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot be read: {reason}", path=name) from error


def guarded(read: Callable[[], Any], name: str) -> Any:
    """Call `read`; an unreadable or damaged file becomes an InputError."""
    try:
        return read()
    except damage_errors() as error:
        raise InputError(f"cannot be read: {error}", path=name) from error


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield (1-based line number, line without its end) of a UTF-8 text file, streaming."""
    for number, line in scan_lines(path):
        if isinstance(line, InputError):
            raise line
        yield number, line


def read_toml(path: str | Path) -> tuple[dict[str, Any], list[str]]:
    """Return the content of a TOML file and its lines; InputError names an invalid line."""
    import tomllib

    lines = [line for _, line in read_lines(path)]
    try:
        return tomllib.loads("\n".join(lines)), lines
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        text = str(error)
        at = re.search(r"\(at line (\d+), column \d+\)$", text)
        line = int(at.group(1)) if at else len(lines)
        what = shorten(text[: at.start()].strip() if at else text, 100)
        raise InputError(f"not valid TOML ({what})", path=path, line=line) from error


def scan_lines(
    path: str | Path, *, keepends: bool = False
) -> Iterator[tuple[int, str | InputError]]:
    """Like `read_lines`, but yield an undecodable line as its error and continue."""
    for number, _, raw in scan_raw_lines(path):
        try:
            line = decoded(raw, path, number)
        except InputError as error:
            yield number, error
        else:
            yield number, line if keepends else line.rstrip("\r\n")


def scan_raw_lines(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (1-based number, byte offset, bytes) of each line; `read_line_at` takes the offset."""
    with open_text(path) as stream:
        number, offset = 0, 0
        read = partial(stream.readline, MAX_LINE_BYTES + 1)
        while raw := guarded(read, str(path)):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                limit = MAX_LINE_BYTES // (1024 * 1024)
                raise InputError(f"line is longer than {limit} MB", path=path, line=number)
            yield number, offset, raw
            offset += len(raw)


def read_line_at(path: str | Path, offset: int, number: int) -> str:
    """Return the line at an offset from `scan_raw_lines`, also in a compressed file."""
    with open_text(path) as stream:
        guarded(lambda: _skip(stream, offset), str(path))
        raw = guarded(lambda: stream.readline(MAX_LINE_BYTES + 1), str(path))
    return decoded(raw, path, number).rstrip("\r\n")


def _skip(stream: BinaryIO, size: int) -> None:
    if stream.seekable():
        stream.seek(size)
        return
    while size > 0 and (part := stream.read(min(size, 1 << 20))):
        size -= len(part)


def decoded(raw: bytes, path: str | Path, number: int) -> str:
    """Return a line's bytes as text; InputError with the location if they are not UTF-8."""
    if b"\0" in raw:
        raise InputError("found a NUL byte, expected text", path=path, line=number)
    if number == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        excerpt = f"byte 0x{raw[error.start]:02x} at column {error.start + 1}"
        problem = f"found {excerpt}, expected UTF-8 (convert it, e.g. iconv -f latin1 -t utf-8)"
        raise InputError(problem, path=path, line=number) from error


_UNHELD = re.compile("[\0\ud800-\udfff]")
_UNHELD_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def clean_text(text: str) -> str:
    """Replace NUL and lone surrogates, which text files cannot contain, by U+FFFD."""
    return _UNHELD.sub("\ufffd", text)


def clean_value(value: Any) -> Any:
    """Apply `clean_text` to all texts of a decoded JSON value; RecursionError if too deep."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): clean_value(entry) for key, entry in value.items()}
    return [clean_value(entry) for entry in value] if isinstance(value, list) else value


def parse_json_object(
    line: str, *, path: str | Path, number: int, keep_surrogates: bool = False
) -> dict[str, Any]:
    """Decode one line that must be a JSON object; otherwise InputError with the location."""
    try:
        value = _decoded_json(line)
        if not keep_surrogates and "\\u" in line and _UNHELD_ESCAPE.search(line):
            value = clean_value(value)
    except (ValueError, RecursionError) as error:
        fault = shorten(str(error))
        if isinstance(error, json.JSONDecodeError):
            number += error.lineno - 1  # one object may span several lines
            fault = f"{shorten(error.msg.removesuffix(' at'))} at column {error.colno}"
        problem = f"not valid JSON ({fault}), expected one JSON object a line"
        raise InputError(problem, path=path, line=number) from error
    if not isinstance(value, dict):
        problem = f"found {shorten(json.dumps(value), 40)}, expected a JSON object"
        raise InputError(problem, path=path, line=number)
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{shorten(digits, 20)} is out of range")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_DECODER: Any = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
"""`json.loads` with these options would create a new decoder for each line."""

_scan = make_scanner(_DECODER)


def _decoded_json(line: str) -> Any:
    """Decode as `_DECODER` does, with a fast path for lines that are exactly one object."""
    if line[:1] == "{":
        try:
            value, end = _scan(line, 0)
        except StopIteration:
            end = -1
        if end == len(line):
            return value
    return _DECODER.decode(line)


def parse_json(content: bytes) -> Any:
    """Decode JSON; ValueError or RecursionError if it is invalid or a number is out of range."""
    return _DECODER.decode(content.decode("utf-8-sig"))


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each non-blank line of a JSONL file, streaming."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, parse_json_object(line, path=path, number=number)


def read_json(path: str | Path) -> dict[str, Any] | None:
    """Return the JSON object in a file of at most 128 MB; None if the file has no JSON object."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > 8 * MAX_LINE_BYTES:
            return None
        value = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_line(value: Any) -> str:
    """Encode one JSONL line (without newline): UTF-8, no NaN, line separators U+2028/9 escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def own_folder(out: str | Path, marks: Collection[str], what: str) -> Path:
    """Return a folder to write in; create it, or require that it is empty or has one of `marks`."""
    if str(out) in ("", "-"):
        raise InputError(f"found {str(out)!r}, expected the name of a folder to write")
    folder = Path(out)
    with disk_errors(out):
        try:
            make_folder(folder)
        except FileExistsError as error:
            raise InputError("found a file, expected a folder to write", path=out) from error
        names = {entry.name for entry in folder.iterdir() if not temporary_of(entry.name)}
    refuse_devices(folder)
    if names and names.isdisjoint(marks):
        raise InputError(f"holds files that are not {what}", path=out)
    return folder


def check_output(path: str | Path, writes: str) -> None:
    """Refuse a path that cannot be written in the end, because of its name or its location.

    `writes` is `file` or `folder` (replaced as a whole) or `files` (written into a folder). Nothing
    is changed. Raises InputError if the name is not valid or the path has another type, and
    PnyxError if it cannot be written.
    """
    if str(path) == "-" and writes == "file":
        return
    what = "file" if writes == "file" else "folder"
    if str(path) in ("", "-"):
        raise InputError(f"found {str(path)!r}, expected the name of a {what} to write")
    first = target = Path(path)
    with disk_errors(path):
        if os.path.lexists(target):
            if writes == "file" and target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if writes == "file" and device_status(target) is not None:
                return
            if writes == "files":
                if not target.is_dir():
                    raise InputError("found a file, expected a folder to write into", path=path)
                first = target / target.name
        elif len(os.fsencode(target.name)) > 255:  # the limit in bytes of common file systems
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        while not os.path.lexists(first.parent) and first.parent != first:
            first = first.parent
        with temporary_neighbour(first):  # the first folder that has to be created
            pass


@contextlib.contextmanager
def atomic_text(path: str | Path) -> Iterator[IO[str]]:
    """Write a text file (`-`, a device, `.gz`) atomically, through a temporary neighbour."""
    if str(path) == "-":
        yield sys.stdout
        return
    if not str(path):
        raise InputError("found an empty name, expected a file to write")
    target = Path(path)
    with disk_errors(path):
        if device_status(target) is not None:
            with target.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        make_folder(target.parent)
        with placed(target) as temporary:
            with contextlib.ExitStack() as stack:
                raw: Any = stack.enter_context(temporary.open("wb"))
                if target.suffix == ".gz":
                    raw = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
                yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))
            temporary.chmod(0o666 & ~_umask())


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file with `atomic_text`."""
    with atomic_text(path) as stream:
        stream.write(text)


def write_json(path: str | Path, value: Any) -> None:
    """Write one JSON value, indented, without NaN, with `atomic_text`."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_jsonl(path: str | Path, rows: Iterable[Any]) -> None:
    """Write one line of JSON for each row, with `atomic_text`."""
    with atomic_text(path) as stream:
        stream.writelines(json_line(row) + "\n" for row in rows)


@contextlib.contextmanager
def atomic_folder(path: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Write a folder atomically: yield a temporary neighbour and rename it when it is complete."""
    if str(path) in ("", "-"):
        raise InputError(f"found {str(path)!r}, expected the name of a folder to write")
    target = Path(path)
    with disk_errors(path):
        if not replace:
            recover_folder(target)
            if os.path.lexists(target):
                raise InputError("exists already", path=path)
        make_folder(target.parent)
        with temporary_neighbour(target, folder=True) as temporary:
            yield temporary
            mask = _umask()
            temporary.chmod(0o777 & ~mask)
            for file in temporary.rglob("*"):  # some libraries write private files
                if file.is_file() and not file.is_symlink():
                    file.chmod(0o666 & ~mask)
            try:
                place_folder(temporary, target, replace=replace)
            except FileExistsError as error:  # another process created it first
                raise InputError("exists already", path=path) from error


@contextlib.contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Convert an error while writing to a PnyxError that names the file."""
    if "\0" in str(path):
        raise InputError("found a NUL byte in the name of a file to write", path=path)
    try:
        yield
    except OSError as error:
        name = escaped(str(path))
        raise PnyxError(f"{name}: cannot be written: {error.strerror}") from error
    except UnicodeEncodeError as error:
        excerpt = shorten(error.object[error.start])
        problem = f"found a lone surrogate ({excerpt}), expected whole characters"
        raise PnyxError(f"{escaped(str(path))}: cannot be written: {problem}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
