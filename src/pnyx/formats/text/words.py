"""Words, as Lucene 8's StandardTokenizer splits them (UAX #29), and to compare texts."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

WINDOW = 255
"""Maximum length of a word, in UTF-16 units; longer words are cut there."""

_POINTS = 0x110000
_START = 1


@dataclass(frozen=True, slots=True)
class Automaton:
    """The automaton behind `split_words`."""

    classes: bytes  # class of every character
    moves: Sequence[Sequence[int]]  # state and class -> state; 0 a dead end, 1 the start
    ends: Sequence[int]  # 1 where a word may end
    window: int  # in units of UTF-16


@cache
def automaton() -> Automaton:
    """Return the automaton of the packaged table."""
    table = json.loads(Path(__file__).with_name("word_breaks.json").read_bytes())
    firsts = [*table["firsts"], _POINTS]
    runs = zip(table["classes"], firsts, firsts[1:], strict=False)
    classes = b"".join(bytes((number,)) * (stop - first) for number, first, stop in runs)
    return Automaton(classes, table["moves"], table["ends"], WINDOW)


def split_words(text: str) -> list[str]:
    """Return the words of `text` in order, unchanged."""
    if text.isascii():
        candidates = _ascii().findall(text)
    else:
        patterns = _plain()
        if patterns.hard.search(text):
            return split_by_automaton(text)
        candidates = patterns.word.findall(text)
    words = [word for word in candidates if word]
    return words if max(map(len, words), default=0) <= WINDOW else split_by_automaton(text)


def split_by_automaton(text: str) -> list[str]:
    """Split words with the automaton alone, in linear time, with the result of `split_words`."""
    machine = automaton()
    moves, ends = machine.moves, machine.ends
    codes = list(map(ord, text))
    classes = [machine.classes[code] for code in codes]
    places = list(accumulate((1 + (code > 0xFFFF) for code in codes), initial=0))
    words = []
    # Failed searches: the states passed and their result. Otherwise a long run of underscores or
    # joiners would be read again from each of its characters.
    trail = bytearray(len(codes) + 1)
    reached = reached_state = start = 0
    while start < len(codes):
        stop = bisect_right(places, places[start] + WINDOW) - 1
        at, state, end = start, _START, start
        while at < stop:
            state = moves[state][classes[at]]
            if not state:
                break
            at += 1
            if ends[state]:
                end = at
            elif end == start:
                if at < reached and trail[at] == state:
                    at, state = reached, reached_state
                    if not state:
                        break
                trail[at] = state
        if end > start:
            words.append(text[start:end])
            start = end
        else:
            reached, reached_state = at, state
            start += 1
    return words


@dataclass(frozen=True, slots=True)
class _Plain:
    """Patterns for texts whose characters are all of a class that ASCII has."""

    word: re.Pattern[str]
    hard: re.Pattern[str]


@cache
def _ascii() -> re.Pattern[str]:
    return _pattern("a-zA-Z", "0-9", "_", "':.", "',.;")


def _pattern(letter: str, digit: str, low: str, in_word: str, in_number: str) -> re.Pattern[str]:
    """Return a pattern whose group is the word; a match without group is skipped."""
    more = f"[{letter}{digit}{low}]"
    sign = f"(?:(?<=[{letter}])[{in_word}](?=[{letter}])|(?<=[{digit}])[{in_number}](?=[{digit}]))"
    return re.compile(f"([{low}]*[{letter}{digit}]{more}*(?:{sign}{more}+)*)|[{low}]+")


@cache
def _plain() -> _Plain:
    classes = automaton().classes[:0x10000]

    def of(characters: str) -> str:
        wanted = {classes[ord(character)] for character in characters}
        return _inside(bytes(number in wanted for number in classes))

    plain = {0, *classes[:128]}
    hard = _inside(bytes(number not in plain for number in classes))
    return _Plain(
        _pattern(of("a"), of("0"), of("_"), of("':."), of("',.;")),
        re.compile(f"[{hard}\U00010000-\U0010ffff]"),
    )


def _inside(wanted: bytes) -> str:
    """Return the inside of a character class with the characters that are wanted."""
    out = []
    stop = 0
    while (first := wanted.find(1, stop)) >= 0:
        stop = wanted.find(0, first)
        stop = len(wanted) if stop < 0 else stop
        out.append(f"\\u{first:04x}-\\u{stop - 1:04x}")
    return "".join(out)


def clean(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join("".join(c for c in text if c.isspace() or c >= " ").split())


def folded(text: str) -> str:
    """Return a text on one line for comparison, ignoring case and white space."""
    return " ".join(text.casefold().split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words by which two texts are compared."""
    return tuple(re.findall(r"\w+", text.casefold()))
