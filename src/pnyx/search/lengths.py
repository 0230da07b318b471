"""Document lengths in one byte, exactly as Lucene stores them (SmallFloat.intToByte4).

Lengths 0 to 39 are exact; beyond that a byte keeps the four most significant bits, rounded down,
so that a length is off by at most 1/8. Rankings equal to Lucene's need this very rounding.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LENGTHS", "decode_length", "encode_length", "encode_lengths"]

_MAX_LENGTH = 2**31 - 1


def _to_int4(value: int) -> int:
    """Lucene's SmallFloat.longToInt4: a float with a 3-bit mantissa and an implicit leading one."""
    bits = value.bit_length()
    if bits < 4:
        return value
    shift = bits - 4
    return ((value >> shift) & 0x07) | ((shift + 1) << 3)


def _from_int4(code: int) -> int:
    """Lucene's SmallFloat.int4ToLong."""
    mantissa, shift = code & 0x07, (code >> 3) - 1
    return mantissa if shift == -1 else (mantissa | 0x08) << shift


_EXACT = 255 - _to_int4(_MAX_LENGTH)
"""Byte values that the small float leaves free (24); they extend the exact range."""


def encode_length(length: int) -> int:
    """Return the byte, 0 to 255, that stands for `length` (in tokens, 0 to 2^31 - 1).

    Raises:
        ValueError: the length is out of that range.
    """
    if not 0 <= length <= _MAX_LENGTH:
        raise ValueError(f"a document length must be in 0..{_MAX_LENGTH}, not {length}")
    return length if length < _EXACT else _EXACT + _to_int4(length - _EXACT)


def decode_length(byte: int) -> int:
    """Return the length, in tokens, that a byte 0 to 255 stands for."""
    return byte if byte < _EXACT else _EXACT + _from_int4(byte - _EXACT)


LENGTHS: Final[NDArray[np.int64]] = np.array([decode_length(b) for b in range(256)], dtype=np.int64)
"""Length of each byte, strictly increasing; shape (256,)."""


def encode_lengths(lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Encode many lengths at once: the largest byte whose length does not exceed the true one."""
    codes: NDArray[np.uint8] = (np.searchsorted(LENGTHS, lengths, side="right") - 1).astype(
        np.uint8
    )
    return codes
