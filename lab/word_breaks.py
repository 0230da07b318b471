"""Make the table that splits English text into words like Lucene 8.

    npm pack @unicode/unicode-9.0.0 && npm pack @unicode/unicode-11.0.0    # unpack both
    python lab/word_breaks.py UNICODE-9 UNICODE-11     # folders of the packages; needs node

Lucene 8's StandardTokenizer takes the longest match of its own grammar at each position: the word
breaks of UAX #29 in Unicode 9.0, runs of South East Asian scripts, single ideographs and hiragana,
and emoji by the data of emoji 11.0. This script expresses the grammar as regular expressions over
classes of characters, compiles them into a minimal deterministic automaton, and writes that to
src/pnyx/formats/text/word_breaks.json with the class of every character.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

OUT = Path(__file__).parents[1] / "src" / "pnyx" / "formats" / "text" / "word_breaks.json"
POINTS = sys.maxunicode + 1

Points = frozenset[int]

_READ = """
const out = {};
for (const [name, path] of Object.entries(JSON.parse(process.argv[1]))) {
  out[name] = (await import(path)).default.map(r => [r.begin, r.end]);
}
console.log(JSON.stringify(out));
"""

_WORD_BREAK = (
    "ALetter Hebrew_Letter Numeric Katakana ExtendNumLet MidLetter MidNumLet MidNum Single_Quote "
    "Double_Quote Regional_Indicator Format Extend ZWJ"
).split()
_NINE = {name: f"Word_Break/{name}" for name in _WORD_BREAK} | {
    "Hangul": "Script/Hangul",
    "Han": "Script/Han",
    "Hiragana": "Script/Hiragana",
    "Complex_Context": "Line_Break/Complex_Context",
    "Fullwidth": "Block/Halfwidth_And_Fullwidth_Forms",
    "Nd": "General_Category/Decimal_Number",
}
_ELEVEN = {
    name: f"Binary_Property/{name}"
    for name in ("Emoji", "Emoji_Modifier", "Emoji_Modifier_Base", "Extended_Pictographic")
}


def properties(nine: Path, eleven: Path) -> dict[str, Points]:
    """Return the characters of each property, by name."""
    paths = {
        name: str((folder / path / "ranges.mjs").resolve())
        for folder, names in ((nine, _NINE), (eleven, _ELEVEN))
        for name, path in names.items()
    }
    command = ["node", "--input-type=module", "-e", _READ, json.dumps(paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ranges: dict[str, list[tuple[int, int]]] = json.loads(done.stdout)
    return {
        name: frozenset(point for first, stop in rows for point in range(first, stop))
        for name, rows in ranges.items()
    }


def terminals(of: dict[str, Points]) -> dict[str, Points]:
    """Return the sets of characters that the grammar uses."""
    ignored = of["Format"] | of["Extend"] | of["ZWJ"]
    letters = of["ALetter"] | of["Hebrew_Letter"]
    quotes = of["MidNumLet"] | of["Single_Quote"]
    key_cap_bases = frozenset(map(ord, "0123456789#*"))
    no_emoji = of["Regional_Indicator"] | key_cap_bases | of["Emoji_Modifier"]
    no_emoji |= frozenset(map(ord, "©®™\u3030\u303d"))
    return {
        "ignored": ignored,
        "ignored in emoji": ignored - {0xFE0E, 0xFE0F},
        "letter": letters,
        "hangul": of["Hangul"] & letters,
        "hebrew": of["Hebrew_Letter"],
        "digit": of["Numeric"] | (of["Fullwidth"] & of["Nd"]),
        "katakana": of["Katakana"],
        "low line": of["ExtendNumLet"],
        "in word": of["MidLetter"] | quotes,
        "in number": of["MidNum"] | quotes,
        "single quote": of["Single_Quote"],
        "double quote": of["Double_Quote"],
        "han": of["Han"],
        "hiragana": of["Hiragana"],
        "complex": of["Complex_Context"],
        "flag": of["Regional_Indicator"],
        "joiner": of["ZWJ"],
        "key cap base": key_cap_bases,
        "key cap": frozenset([0x20E3]),
        "as emoji": frozenset([0xFE0F]),
        "emoji": of["Extended_Pictographic"] | (of["Emoji"] - no_emoji),
        "modifier": of["Emoji_Modifier"],
        "modified": of["Emoji_Modifier_Base"],
        "tag": frozenset(range(0xE0020, 0xE007F)),
        "tag end": frozenset([0xE007F]),
    }


def classes(sets: dict[str, Points]) -> tuple[list[int], dict[str, frozenset[int]]]:
    """Return the class of every character, and the classes in each set.

    Characters of one class are in the same sets; those of class 0 are in none.
    """
    inside: list[list[str]] = [[] for _ in range(POINTS)]
    for name, points in sets.items():
        for point in points:
            inside[point].append(name)
    numbers: dict[tuple[str, ...], int] = {(): 0}
    of_point = [numbers.setdefault(tuple(names), len(numbers)) for names in inside]
    return of_point, {
        name: frozenset(number for names, number in numbers.items() if name in names)
        for name in sets
    }


@dataclass
class Grammar:
    """An automaton with empty transitions; a part of it is (first state, last state)."""

    sets: dict[str, frozenset[int]]
    empty: list[list[int]] = field(default_factory=list)
    moves: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)

    def state(self) -> int:
        self.empty.append([])
        self.moves.append([])
        return len(self.empty) - 1

    def one(self, name: str) -> tuple[int, int]:
        """One character of a set."""
        first, last = self.state(), self.state()
        self.moves[first].append((self.sets[name], last))
        return first, last

    def row(self, *parts: tuple[int, int]) -> tuple[int, int]:
        """A sequence of parts."""
        for (_, last), (first, _) in pairwise(parts):
            self.empty[last].append(first)
        return parts[0][0], parts[-1][1]

    def either(self, *parts: tuple[int, int]) -> tuple[int, int]:
        """An alternative of parts."""
        first, last = self.state(), self.state()
        for start, end in parts:
            self.empty[first].append(start)
            self.empty[end].append(last)
        return first, last

    def maybe(self, part: tuple[int, int]) -> tuple[int, int]:
        """The part or nothing."""
        first, last = self.either(part)
        self.empty[first].append(last)
        return first, last

    def some(self, part: tuple[int, int]) -> tuple[int, int]:
        """The part, one or more times."""
        first, last = self.either(part)
        self.empty[last].append(first)
        return first, last

    def any(self, part: tuple[int, int]) -> tuple[int, int]:
        """The part, zero or more times."""
        return self.maybe(self.some(part))

    def ex(self, name: str, ignored: str = "ignored") -> tuple[int, int]:
        """A character and the characters that rule WB4 of UAX #29 attaches to it."""
        return self.row(self.one(name), self.any(self.one(ignored)))


def words(sets: dict[str, frozenset[int]]) -> tuple[Grammar, int, int]:
    """Return the grammar of words, its first and its last state."""
    g = Grammar(sets)

    def lines() -> tuple[int, int]:
        return g.any(g.ex("low line"))

    def repeated(name: str, inside: str) -> tuple[int, int]:
        """Letters or digits, with at most one sign between two of them."""
        more = g.row(g.either(lines(), g.ex(inside)), g.ex(name))
        return g.row(g.ex(name), g.any(more))

    def body() -> tuple[int, int]:
        katakana = g.row(g.ex("katakana"), g.any(g.row(lines(), g.ex("katakana"))))
        ends = g.either(g.ex("single quote"), g.row(g.ex("double quote"), g.ex("hebrew")))
        hebrew = g.row(g.ex("hebrew"), ends)
        mixed = g.either(hebrew, repeated("digit", "in number"), repeated("letter", "in word"))
        return g.either(katakana, g.some(mixed))

    word = g.row(lines(), body(), g.any(g.row(g.some(g.ex("low line")), body())), lines())
    first, last = g.either(
        word,
        g.some(g.ex("complex")),
        g.ex("han"),
        g.ex("hiragana"),
        emoji(g),
        g.row(
            g.ex("key cap base", "ignored in emoji"),
            g.maybe(g.one("as emoji")),
            g.ex("key cap", "ignored in emoji"),
        ),
        g.row(g.ex("flag"), g.ex("flag")),
    )
    return g, first, last


def emoji(g: Grammar) -> tuple[int, int]:
    """Emoji of UTS #51: joined to others, or with a tag."""

    def one() -> tuple[int, int]:
        joiners = g.any(g.one("joiner"))
        plain = g.row(joiners, g.ex("emoji", "ignored in emoji"), g.maybe(g.one("as emoji")))
        base = g.row(g.any(g.one("joiner")), g.ex("modified", "ignored in emoji"))
        return g.either(plain, g.row(g.maybe(base), g.ex("modifier", "ignored in emoji")))

    joined = g.any(g.row(g.one("joiner"), one()))
    tagged = g.row(g.some(g.one("tag")), g.one("tag end"))
    return g.row(one(), g.either(joined, tagged))


def determined(g: Grammar, first: int, last: int, count: int) -> tuple[list[list[int]], list[bool]]:
    """Return the minimal deterministic automaton: transitions by state and class, accepting states.

    State 0 is a dead end, 1 the start.
    """

    def closed(states: Iterable[int]) -> frozenset[int]:
        reached, todo = set(), list(states)
        while todo:
            state = todo.pop()
            if state not in reached:
                reached.add(state)
                todo += g.empty[state]
        return frozenset(reached)

    numbers = {frozenset[int](): 0, closed([first]): 1}
    table: list[list[int]] = []
    for states in (queue := list(numbers)):
        row = []
        for number in range(count):
            moved = closed(to for s in states for members, to in g.moves[s] if number in members)
            if moved not in numbers:
                numbers[moved] = len(numbers)
                queue.append(moved)
            row.append(numbers[moved])
        table.append(row)
    return smallest(table, [last in states for states in queue])


def smallest(
    table: Sequence[Sequence[int]], ends: Sequence[bool]
) -> tuple[list[list[int]], list[bool]]:
    """Return the automaton with indistinguishable states merged (Moore's algorithm)."""
    group = [int(end) for end in ends]
    while True:
        keys: dict[tuple[int, ...], int] = {}
        new = [
            keys.setdefault((old, *(group[to] for to in row)), len(keys))
            for old, row in zip(group, table, strict=True)
        ]
        if len(keys) == len(set(group)):
            break
        group = new
    representative = {number: state for state, number in reversed(list(enumerate(new)))}
    out = [
        [new[to] for to in table[representative[number]]] for number in range(len(representative))
    ]
    return out, [ends[representative[number]] for number in range(len(representative))]


def main() -> None:
    sets = terminals(properties(*map(Path, sys.argv[1:3])))
    of_point, named = classes(sets)
    table, ends = determined(*words(named), max(of_point) + 1)
    firsts = [0, *(p for p in range(1, POINTS) if of_point[p] != of_point[p - 1])]
    content = {
        "about": "made by lab/word_breaks.py of the Unicode Character Database 9.0 and emoji "
        "data 11.0, copyright Unicode, Inc., https://www.unicode.org/license.txt",
        "firsts": firsts,
        "classes": [of_point[point] for point in firsts],
        "ends": [int(end) for end in ends],
        "moves": table,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    text = ",\n".join(lines).replace(", ", ",")
    OUT.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    print(f"{max(of_point) + 1} classes, {len(firsts)} ranges, {len(table)} states")


if __name__ == "__main__":
    main()
