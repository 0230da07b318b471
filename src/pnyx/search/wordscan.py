"""The compiled way from text to word numbers. Importing this module loads numba: see `words`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnyx.search.compiled import jit

__all__ = ["rehash", "scan"]

_SPACE, _NEWLINE = np.uint8(32), np.uint8(10)
_PRIME, _MIX, _FOLD = np.uint64(0x100000001B3), np.uint64(0xFF51AFD7ED558CCD), np.uint64(32)
"""FNV-1a's prime, and the last step of MurmurHash3."""


@jit
def scan(
    text: Any,
    basis: Any,
    hashes: Any,
    slots: Any,
    letters: Any,
    ends: Any,
    state: Any,
    numbers: Any,
    counts: Any,
) -> Any:
    """Number the words of documents until the text ends or the tables are full.

    Args:
        text: uint8; words parted by spaces, each document ended by a newline.
        basis: where hashing starts, uint64: drawn at random, so that no corpus can be written whose
            words all fall into one slot. The numbers do not depend on it.
        hashes: uint64 [2^n], of the word in each slot.
        slots: int32 [2^n], the word's number; -1 where a slot is free.
        letters: uint8, the words one after the other.
        ends: int64, where each word's letters end, after a first 0.
        state: int64 [5], goes on from there: place in the text, words known, numbers written,
            documents ended, numbers before the current document.
        numbers: int32, the number of each word of the text.
        counts: int64, how many words each document has.

    Returns:
        Whether the text was read to its end; otherwise the tables must grow first.
    """
    mask = np.uint64(len(slots) - 1)
    place, known, written, documents, before = state[0], state[1], state[2], state[3], state[4]
    size = len(text)
    done = True
    while place < size:
        letter = text[place]
        if letter == _SPACE:
            place += 1
            continue
        if letter == _NEWLINE:
            counts[documents] = written - before
            documents += 1
            before = written
            place += 1
            continue
        stop = place
        code = basis
        while stop < size and text[stop] != _SPACE and text[stop] != _NEWLINE:
            code = (code ^ np.uint64(text[stop])) * _PRIME
            stop += 1
        code = (code ^ (code >> _FOLD)) * _MIX
        slot = (code ^ (code >> _FOLD)) & mask
        number = np.int32(-1)
        while slots[slot] >= 0:
            if hashes[slot] == code and _equal(text, place, stop, letters, ends, slots[slot]):
                number = slots[slot]
                break
            slot = (slot + np.uint64(1)) & mask
        if number < 0:
            used = ends[known]
            if (
                2 * (known + 1) > len(slots)
                or known + 1 >= len(ends)
                or used + stop - place > len(letters)
            ):
                done = False
                break
            number = np.int32(known)
            slots[slot] = number
            hashes[slot] = code
            letters[used : used + stop - place] = text[place:stop]
            known += 1
            ends[known] = used + stop - place
        numbers[written] = number
        written += 1
        place = stop
    state[0], state[1], state[2], state[3], state[4] = place, known, written, documents, before
    return done


@jit
def _equal(text: Any, place: Any, stop: Any, letters: Any, ends: Any, number: Any) -> Any:
    first = ends[number]
    if ends[number + 1] - first != stop - place:
        return False
    for step in range(stop - place):  # noqa: SIM110
        if letters[first + step] != text[place + step]:
            return False
    return True


@jit
def rehash(hashes: Any, slots: Any, new_hashes: Any, new_slots: Any) -> None:
    """Move every word to its slot in larger tables."""
    mask = np.uint64(len(new_slots) - 1)
    for old in range(len(slots)):
        if slots[old] >= 0:
            code = hashes[old]
            slot = (code ^ (code >> _FOLD)) & mask
            while new_slots[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            new_slots[slot] = slots[old]
            new_hashes[slot] = code
