"""The compiled conversion of text to word numbers. Importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnyx.search.lexical.compiled_kernel import jit

_PRIME, _MIX, _FOLD = np.uint64(0x100000001B3), np.uint64(0xFF51AFD7ED558CCD), np.uint64(32)
"""FNV-1a's prime, and the last step of MurmurHash3."""

_LOWER = np.frombuffer(bytes(range(256)).lower(), dtype=np.uint8)
_START = np.uint8(1)
_BEYOND_ASCII = 0x80
_TWO_UNITS = 4
"""Bytes of a character that UTF-16 writes as two units."""


@jit
def scan(
    text: Any, stops: Any, rules: Any, basis: Any, tables: Any, state: Any, results: Any
) -> Any:
    """Number the words of documents until the text ends or the tables are full; return which.

    The letters A to Z count as a to z. Hashing starts from the random `basis`, so that no corpus
    can be written whose words all fall into one slot; the numbers do not depend on it.

        text, stops: uint8, UTF-8, the documents one after the other; int64, where each ends
        rules: of `pnyx.formats.text.words.Automaton`: class of every character, moves
            [states, classes], which states end a word, how far a word goes, in units of UTF-16
        tables: uint64 [2^n], the hash in each slot; int32 [2^n], its word number, -1 where free;
            uint8, the words one after the other; int64, where each word's letters end, after a
            first 0
        state: place in the text, words known, numbers written, documents ended, numbers before this
            one
        results: int32, the number of each word of the text; int64, how many words each document has
    """
    hashes, slots, letters, ends = tables
    numbers, counts = results
    mask = np.uint64(len(slots) - 1)
    position, word_count, written = state[0], state[1], state[2]
    documents, before = state[3], state[4]
    done = True
    while done and documents < len(stops):
        size = stops[documents]
        while position < size:
            stop, code = _word(text, position, size, rules, basis)
            if stop < 0:  # no word begins here
                position = -stop
                continue
            code = (code ^ (code >> _FOLD)) * _MIX
            slot = (code ^ (code >> _FOLD)) & mask
            number = np.int32(-1)
            while slots[slot] >= 0:
                if hashes[slot] == code and _equal(
                    text, position, stop, letters, ends, slots[slot]
                ):
                    number = slots[slot]
                    break
                slot = (slot + np.uint64(1)) & mask
            if number < 0:
                used = ends[word_count]
                if (
                    2 * (word_count + 1) > len(slots)
                    or word_count + 1 >= len(ends)
                    or used + stop - position > len(letters)
                ):
                    done = False
                    break
                number = np.int32(word_count)
                slots[slot] = number
                hashes[slot] = code
                for step in range(stop - position):
                    letters[used + step] = _LOWER[text[position + step]]
                word_count += 1
                ends[word_count] = used + stop - position
            numbers[written] = number
            written += 1
            position = stop
        if done:
            counts[documents] = written - before
            documents += 1
            before = written
    state[0], state[1], state[2] = position, word_count, written
    state[3], state[4] = documents, before
    return done


@jit
def _word(text: Any, start: Any, size: Any, rules: Any, basis: Any) -> Any:
    """Return where the longest word from a place ends, and its hash; or -(the next place)."""
    classes, moves, ends_word, left = rules
    at, state = start, _START
    stop = -(start + _width(text[start]))
    code = hashed = basis
    while at < size:
        byte = text[at]
        if byte < _BEYOND_ASCII:
            state = moves[state, classes[byte]]
            left -= 1
            if left < 0 or state == 0:
                break
            code = (code ^ np.uint64(_LOWER[byte])) * _PRIME
            at += 1
        else:
            width = _width(byte)
            point = np.uint32(byte & (0xFF >> (width + 1)))
            for step in range(at + 1, at + width):
                point = point << np.uint32(6) | np.uint32(text[step] & 0x3F)
            state = moves[state, classes[point]]
            left -= 1 + (width == _TWO_UNITS)
            if left < 0 or state == 0:
                break
            for step in range(at, at + width):
                code = (code ^ np.uint64(text[step])) * _PRIME
            at += width
        if ends_word[state]:
            stop, hashed = at, code
    return stop, hashed


@jit
def _width(byte: Any) -> Any:
    if byte < _BEYOND_ASCII:
        return 1
    return 2 if byte < 0xE0 else 3 if byte < 0xF0 else _TWO_UNITS


@jit
def _equal(text: Any, start: Any, stop: Any, letters: Any, ends: Any, number: Any) -> Any:
    first = ends[number]
    if ends[number + 1] - first != stop - start:
        return False
    for step in range(stop - start):  # noqa: SIM110
        if letters[first + step] != _LOWER[text[start + step]]:
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
