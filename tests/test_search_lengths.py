"""One-byte document lengths against Lucene's SmallFloat."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pnyx.search.lexical.postings import LENGTHS, decode_length, encode_lengths

# Lucene's LENGTH_TABLE goes on after 0..40 like this (worked out from SmallFloat.byte4ToInt).
AFTER_40 = [42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68, 72, 76, 80, 84, 88, 96, 104, 112, 120, 128]


def encode_length(length: int) -> int:
    """Lucene's SmallFloat.intToByte4: exact below 24, then a 3-bit mantissa with a leading one."""
    rest = length - 24
    shift = rest.bit_length() - 4
    code = rest if shift < 0 else (rest >> shift) & 0x07 | (shift + 1) << 3
    return length if rest < 0 else 24 + code


def test_lengths_up_to_forty_are_exact():
    assert [decode_length(encode_length(n)) for n in range(41)] == list(range(41))
    assert encode_length(40) == 40


def test_table_continues_as_lucenes_does():
    assert LENGTHS[41 : 41 + len(AFTER_40)].tolist() == AFTER_40
    assert encode_length(41) == 40  # rounded down to 40
    assert encode_length(42) == 41
    assert encode_length(2**31 - 1) == 255
    assert decode_length(255) == 24 + (15 << 27) == 2013265944


def test_every_byte_is_its_own_code_and_the_table_is_increasing():
    assert [encode_length(decode_length(b)) for b in range(256)] == list(range(256))
    assert (np.diff(LENGTHS) > 0).all()


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1))
def test_encoding_an_array_equals_the_algorithm(lengths):
    codes = encode_lengths(np.array(lengths, dtype=np.int64))
    assert codes.tolist() == [encode_length(n) for n in lengths]
    decoded = LENGTHS[codes]
    assert (decoded <= lengths).all()
    assert (decoded * 9 // 8 + 1 >= lengths).all()


def test_the_longest_length_is_that_of_lucene():
    """`SmallFloat.byte4ToInt(255)`: 24 exact values, then 15 << 27 for the last of the rest."""
    assert len(LENGTHS) == 256
    assert LENGTHS[255] == 24 + (15 << 27) == 2_013_265_944
