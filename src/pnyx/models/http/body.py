"""Decompress a response body in bounded pieces, including all members of a gzip file.

httpx2's own decoder reads only the first member, and accepts a truncated body as complete.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

_GZIP, _ZLIB, _RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}
_MAGIC = b"\x1f\x8b"
_SLICE = 8192
"""The bytes after a member are copied for each: small slices keep many small members cheap."""


class DamagedError(ValueError):
    """A body does not match its compression; the message says how."""


class Inflate:
    """Decompresses one body; a body in an encoding that is not `known` is left unchanged."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding.strip().lower()
        window = _WINDOWS.get(self.encoding)
        self._window = window
        self._inflate = None if window is None else zlib.decompressobj(window)
        self._begun = False
        self._head = b""
        self._rest = b""

    @property
    def known(self) -> bool:
        """Whether the encoding can be decompressed."""
        return self._inflate is not None or self.encoding in ("", "identity")

    def feed(self, raw: bytes, most: int) -> bytes:
        """Return at most `most` decompressed bytes of a piece; the rest is lost."""
        if self._inflate is None:
            return raw
        parts: list[bytes] = []
        for start in range(0, len(raw), _SLICE):
            rest = self._next_member(raw[start : start + _SLICE])
            while rest and most > 0:
                parts.append(self._some(rest, most))
                most -= len(parts[-1])
                rest = self._next_member(self._inflate.unused_data) if self._inflate.eof else b""
        return b"".join(parts)

    def check_end(self) -> None:
        """Raise DamagedError if a body is incomplete."""
        if self._inflate is not None and not self._inflate.eof:
            raise DamagedError("it ends too early")

    def _some(self, raw: bytes, most: int) -> bytes:
        assert self._inflate is not None  # noqa: S101 - by `feed`
        try:
            part = self._inflate.decompress(raw, most)
        except zlib.error as error:
            if self._window != _ZLIB or self._begun:
                raise DamagedError(str(error)) from error
            # Some servers send deflate without its required header.
            self._window, raw = _RAW, self._head + raw
            self._inflate = zlib.decompressobj(_RAW)
            return self._some(raw, most)
        if not self._begun:
            self._begun = bool(part)
            self._head = b"" if self._begun or self._window != _ZLIB else self._head + raw
        return part

    def _next_member(self, raw: bytes) -> bytes:
        """Return the bytes of the next member, or nothing if other bytes follow."""
        assert self._inflate is not None  # noqa: S101 - by `feed`
        if not self._inflate.eof:
            return raw
        self._rest += raw
        if self._window != _GZIP or not _MAGIC.startswith(self._rest[:2]):
            self._rest = b"\0"  # padding, or bytes that browsers ignore: no member follows
            return b""
        if len(self._rest) < 2:
            return b""
        raw, self._rest = self._rest, b""
        self._inflate = zlib.decompressobj(_GZIP)
        return raw


async def read_body(
    response: httpx2.Response,
    limit: int,
    *,
    cut: bool = False,
    take: Callable[[int], Awaitable[None]] | None = None,
) -> tuple[bytes, bool]:
    """Read a body, decompressed, or (`cut`) its beginning; return whether it exceeds `limit`."""
    size = response.headers.get("content-length", "")
    if not cut and size.isascii() and size.isdigit() and len(size) < 20 and int(size) > limit:
        return b"", True
    inflate = Inflate(response.headers.get("content-encoding", ""))
    parts: list[bytes] = []
    sent = left = limit
    async for raw in response.aiter_raw():
        sent -= len(raw)
        part = inflate.feed(raw, left + 1)
        left -= len(part)
        longer = sent < 0 or left < 0
        if longer and not cut:
            return b"", True
        if part and take is not None:
            await take(len(part))
        parts.append(part)
        if longer:
            return b"".join(parts)[:limit], True
    inflate.check_end()
    return b"".join(parts), False
