"""Counts the steps of every regular expression of the package on texts made to be bad for it.

`python tests/regex_fuzz.py [SIZE]` prints each expression whose steps grow faster than its text.
The texts are made from the expression itself: what it repeats, repeated, behind what it begins
with and before what ends no match.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import re._constants as op
import re._parser as parser
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pnyx
from pnyx.formats.text import folded_words as folded
from pnyx.formats.text import words as word_breaks
from pnyx.judging.students import rules
from pnyx.models.http import addresses
from regex_steps import Steps, TooManyStepsError

SOURCE = Path(pnyx.__file__).parent
PLUGINS = sorted(Path(__file__).parents[1].glob("packages/*/src/*"))
METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
CALLS = re.compile(rf"\.\s*(?:{'|'.join(sorted(METHODS))}|compile)\b")
REGEX = re.compile(r"\bre\s*\.")
"""What a file holds that calls an expression, or makes one: no other is read as a tree."""
SIZE = 160
SUSPICIOUS = 8
"""Steps a character: whoever needs fewer is not counted on a longer text."""
HOPELESS = 2000
GROWTH = 9
"""For a text four times as long: linear is 4 times the steps, quadratic 16."""


@dataclass(frozen=True)
class Found:
    """An expression, where it stands, and the methods it is called by."""

    place: str
    pattern: Any
    methods: frozenset[str]


def collect() -> tuple[list[Found], list[str]]:
    """Return all expressions, and the places of those that are made of something unknown."""
    files = [file for folder in (SOURCE, *PLUGINS) for file in sorted(folder.rglob("*.py"))]
    sources = {path: path.read_text("utf-8") for path in files}
    trees = {
        path: list(ast.walk(ast.parse(source)))
        for path, source in sources.items()
        if CALLS.search(source)
    }
    used: dict[str, set[str]] = {}
    for node in (node for nodes in trees.values() for node in nodes):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
            used.setdefault(owner, set()).add(node.attr)
    found, unknown = [], []
    for path, nodes in trees.items():
        if not REGEX.search(sources[path]):
            continue
        names = {
            node.value: target.id
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(target := getattr(node, "target", None) or node.targets[0], ast.Name)
        }
        for node in filter(_is_regex_call, nodes):
            try:
                pattern = _compiled(node, path)
            except NameError:
                unknown.append(_placed(path))
                continue
            methods = {node.func.attr}
            if methods == {"compile"}:
                methods = used.get(names.get(node, ""), {"finditer"})
            place = f"{_placed(path)}:{node.lineno}"
            found.append(Found(place, pattern, frozenset(methods)))
    found += [
        Found(place, pattern, frozenset({"findall"}))
        for place, patterns in (
            ("formats/text/folded_words.py:_patterns", vars_of(folded._patterns())),
            ("formats/text/words.py:_ascii", [word_breaks._ascii()]),
            ("formats/text/words.py:_plain", vars_of(word_breaks._plain())),
            (
                "judging/students/rules.toml",
                [r.pattern for some in rules._table()[1].values() for r in some],
            ),
            ("models/http/addresses.py:_head", [addresses._Secret("sk-/a1&b2%c3")._head]),
        )
        for pattern in patterns  # compiled by functions
    ]
    return found, unknown


def _placed(path: Path) -> str:
    folder = next(one for one in (SOURCE, *PLUGINS) if path.is_relative_to(one))
    own = path.relative_to(folder)
    return str(own if folder == SOURCE else folder.name / own)


def vars_of(value: Any) -> list[Any]:
    return [getattr(value, name) for name in value.__slots__]


def _is_regex_call(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    owner, name = node.func.value, node.func.attr
    return isinstance(owner, ast.Name) and owner.id == "re" and name in {*METHODS, "compile"}


def _compiled(node: ast.Call, path: Path) -> Any:
    """Return the expression; NameError where it is made of a function's own variables."""
    flags = next((k.value for k in node.keywords if k.arg == "flags"), None)
    place = (
        1
        if node.func.attr == "compile"
        else {"sub": 4, "subn": 4, "split": 3}.get(node.func.attr, 2)
    )
    if flags is None and len(node.args) > place:
        flags = node.args[place]
    module = None
    values = []
    for argument in (node.args[0], flags):
        if argument is None or isinstance(argument, ast.Constant):
            values.append(0 if argument is None else argument.value)
            continue
        if module is None:
            name = _placed(path.with_suffix("")).replace(os.sep, ".")
            name = name if name.startswith("pnyx_") else f"pnyx.{name}"
            module = importlib.import_module(name.removesuffix(".__init__"))
        code = compile(ast.Expression(argument), str(path), "eval")
        values.append(eval(code, vars(module)))
    return re.compile(*values)


def texts_for(pattern: Any, size: int) -> Iterator[str]:
    """Yield texts of some `size` characters that are bad for an expression."""
    source = pattern.pattern
    tree = parser.parse(source.decode("latin-1") if isinstance(source, bytes) else source)
    pumps: dict[str, None] = {}
    alphabet: dict[str, None] = dict.fromkeys("\n a")
    fragments: list[tuple[str, str]] = []
    whole = _walk(tree, "", pumps, alphabet, fragments)
    letters = list(alphabet)[:9]
    for first in letters:
        pumps[first] = None
        for second in letters[:6]:
            pumps[first + second] = None
    for end in range(1, min(len(whole), 12) + 1):
        pumps[whole[:end]] = None
    for pump in list(pumps)[:90]:
        if pump:
            yield pump * (size // len(pump))
    for before, body in fragments[:12]:
        yield before + body * (size // max(1, len(body))) + "\x01"
        yield (before + body * 3) * (size // (len(before) + 3 * len(body) or 1))
        if before:
            yield before * (size // len(before) // 2) + body * (size // max(1, len(body)) // 2)


def _walk(tree: Any, before: str, pumps: Any, alphabet: Any, fragments: Any) -> str:
    """Return a text that the tree matches, more or less; note what it repeats."""
    text = ""
    for kind, value in tree:
        if kind is op.LITERAL:
            text += chr(value)
            alphabet[chr(value)] = None
        elif kind is op.NOT_LITERAL or kind is op.ANY:
            text += "a"
        elif kind is op.IN:
            letter = _member(value)
            text += letter
            alphabet[letter] = None
        elif kind is op.BRANCH:
            options = [_walk(t, before + text, pumps, alphabet, fragments) for t in value[1]]
            pumps.update(dict.fromkeys(options[:6]))
            text += options[0]
        elif kind is op.SUBPATTERN:
            text += _walk(value[3], before + text, pumps, alphabet, fragments)
        elif kind is op.ATOMIC_GROUP:
            text += _walk(value, before + text, pumps, alphabet, fragments)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            body = _walk(value[2], before + text, pumps, alphabet, fragments)
            pumps[body] = None
            fragments.append((before + text, body))
            text += body * max(1, min(value[0], 3))
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            ahead = _walk(value[1], before + text, pumps, alphabet, fragments)
            pumps[text + ahead] = None
    return text


_CATEGORIES = {
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_NOT_WORD: ".",
}


def _member(items: Any) -> str:
    """Return a character of a class."""
    refused = items[0][0] is op.NEGATE
    for kind, value in items[refused:]:
        if refused:
            continue
        if kind is op.LITERAL:
            return chr(value)
        if kind is op.RANGE:
            return chr(value[0])
        if kind is op.CATEGORY:
            return _CATEGORIES[value]
    taken = {chr(v) for k, v in items if k is op.LITERAL}
    return next(letter for letter in "a1 .-\n_" if letter not in taken)


def slow(found: Found, size: int = SIZE) -> str | None:
    """Return the beginning of a text on which an expression is slower than linear, or None."""
    steps = Steps(found.pattern)
    binary = isinstance(found.pattern.pattern, bytes)

    def count(method: str, text: str, most: float = float("inf")) -> int:
        said: Any = text.encode("utf-8", "replace") if binary else text
        return steps.count(method, said, most)

    alone = {"match", "fullmatch", "search"}
    for method in sorted({method if method in alone else "finditer" for method in found.methods}):
        for number, text in enumerate(texts_for(found.pattern, size)):
            try:
                if count(method, text, HOPELESS * size) < SUSPICIOUS * size:
                    continue
                short, long = (
                    list(texts_for(found.pattern, times * size))[number] for times in (2, 8)
                )
                count(method, long, GROWTH * count(method, short, HOPELESS * len(short)))
            except TooManyStepsError:
                return f"{method} {text[:24]!r}"
    return None


def main() -> int:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE
    found, unknown = collect()
    say = sys.stdout.write
    for one in found:
        say(f"at {one.place}\n")  # the last line tells what hung
        sys.stdout.flush()
        if problem := slow(one, size):
            say(f"SLOW {one.place} {one.pattern.pattern[:80]!r} {problem}\n")
    say(f"{len(found)} expressions; made of variables: {', '.join(unknown)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
