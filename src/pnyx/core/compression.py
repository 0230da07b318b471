"""Files as plain UTF-8 bytes: gzip, bzip2, xz and UTF-16 are recognised by their first bytes."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from typing import Any, BinaryIO, cast

MAGIC_BYTES = 10
"""The number of first bytes that `decompressed` needs to recognise a compression."""

ENDINGS = (".gz", ".bz2", ".xz")
"""The usual suffixes of compressed files."""

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
"""The bytes after the level of a bzip2 file: its first block, or its end if it is empty."""
_UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_CHUNK = 1 << 16


def damage_errors() -> tuple[type[Exception], ...]:
    """Return the errors that an unreadable or damaged file raises; the xz module may be missing."""
    lzma = sys.modules.get("lzma")
    more = () if lzma is None else (cast("type[Exception]", lzma.LZMAError),)
    return (OSError, EOFError, zlib.error, *more)


def plain_name(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    return next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), name)


def _compression(head: bytes) -> str:
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_XZ):
        return "xz"
    if head.startswith(_BZIP2) and head[4:10] in _BZIP2_BLOCKS:
        return "bzip2"
    return ""


def _library(name: str) -> Any:
    """Import the library of a compression; OSError if this Python was built without it."""
    try:
        if name == "xz":
            import lzma

            return lzma
        import bz2
    except ImportError as error:
        raise OSError(f"this Python was built without {name}; decompress the file") from error
    return bz2


def decompressed(stream: BinaryIO, head: bytes) -> BinaryIO:
    """Return a stream of the decompressed content; `head` is its first bytes, already read."""
    name = _compression(head)
    if name == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    if name == "xz":
        return cast("BinaryIO", _library(name).LZMAFile(stream))
    return cast("BinaryIO", _library(name).BZ2File(stream)) if name else stream


def decompressed_head(head: bytes, size: int) -> bytes:
    """Return at most `size` bytes from the start of the decompressed content."""
    name = _compression(head)
    if not name:
        return head
    if name == "gzip":
        return zlib.decompressobj(wbits=31).decompress(head, size)
    library = _library(name)
    unpack = library.LZMADecompressor() if name == "xz" else library.BZ2Decompressor()
    return bytes(unpack.decompress(head, size))


def utf16_codec(head: bytes) -> str:
    """Return the codec that a UTF-16 byte order mark states; empty for any other text."""
    return next((codec for mark, codec in _UTF16_MARKS.items() if head.startswith(mark)), "")


def utf8_head(head: bytes) -> bytes:
    """Return the first bytes of a text as UTF-8, without a byte order mark."""
    codec = utf16_codec(head)
    if not codec:
        return head.removeprefix(codecs.BOM_UTF8)
    return codecs.getincrementaldecoder(codec)("replace").decode(head[2:]).encode()


def in_utf8(stream: BinaryIO) -> BinaryIO:
    """Return a text's stream, recoded to UTF-8 if its byte order mark says UTF-16."""
    codec = utf16_codec(cast("Any", stream).peek(2)[:2])
    return cast("BinaryIO", io.BufferedReader(_Recoded(stream, codec))) if codec else stream


class _Recoded(io.RawIOBase):
    """The UTF-8 bytes of a stream in UTF-16, without its byte order mark."""

    def __init__(self, source: BinaryIO, codec: str) -> None:
        self._source, self._decoder = source, codecs.getincrementaldecoder(codec)()
        self._ready, self._ended = b"", False
        source.read(2)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            chunk = self._source.read(_CHUNK)
            self._ended = not chunk
            try:
                self._ready = self._decoder.decode(chunk, final=self._ended).encode()
            except UnicodeDecodeError as error:
                raise OSError(f"not valid UTF-16 ({error.reason})") from error
        size = len(buffer)
        part, self._ready = self._ready[:size], self._ready[size:]
        buffer[: len(part)] = part
        return len(part)
