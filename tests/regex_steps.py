"""How many steps Python's regular expressions take, counted by walking their trees as `re` does.

Counts are the same on every machine. What is found is held to what `re` itself finds, so that a
count is of the same matching.
"""

from __future__ import annotations

import re._compiler as compiler
import re._constants as op
import re._parser as parser
import sys
from collections.abc import Callable
from typing import Any

DEEP = 1 << 20
"""Frames while steps are counted: a repeated group takes some for each of its turns."""
FAILED = -1
Next = Callable[[int], int]
Matcher = Callable[[int, Next], int]
"""From a position and what has to match behind it to the end of the match, or FAILED."""


def _plain(nodes: Any) -> bool:
    """Return whether the first of nodes matches one character, whatever stands around it."""
    return bool(nodes) and nodes[0][0] in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


class TooManyStepsError(Exception):
    """More steps than were allowed."""


class Steps:
    """The steps that an expression takes on a text."""

    def __init__(self, pattern: Any):
        self.pattern = pattern
        tree = parser.parse(pattern.pattern, pattern.flags & ~op.SRE_FLAG_UNICODE)
        self._state = tree.state
        self._match = self._sequence(tree, pattern.flags)

    def count(self, method: str, text: Any, most: float = float("inf")) -> int:
        """Return the steps of a method, all that go on after a match as `finditer` does.

        TooManyStepsError beyond `most`.
        """
        self._text, self._most, self.taken = text, most, 0
        self._groups: dict[int, tuple[int, int]] = {}
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(DEEP)
        try:
            if method in ("match", "fullmatch", "search"):
                found = self._first(0, method == "search", method == "fullmatch")
                real = getattr(self.pattern, method)(text)
                assert found == (real and real.span()), (self.pattern, method, text)
            else:
                assert self._all() == [m.span() for m in self.pattern.finditer(text)], self.pattern
        finally:
            sys.setrecursionlimit(limit)
        return self.taken

    def _first(
        self, start: int, anywhere: bool, whole: bool = False, empty: bool = True
    ) -> tuple[int, int] | None:
        """Return the first match from `start` on, which may be `empty` there."""
        size = len(self._text)
        for begin in range(start, (size if anywhere else start) + 1):

            def accept(end: int, begin: int = begin) -> int:
                fits = (end == size or not whole) and (empty or end > start or begin > start)
                return end if fits else FAILED

            self._step()
            if (end := self._match(begin, accept)) != FAILED:
                return begin, end
        return None

    def _all(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        span = self._first(0, True)
        while span is not None:
            found.append(span)
            span = self._first(span[1], True, empty=span[0] < span[1])
        return found

    def _step(self) -> None:
        self.taken += 1
        if self.taken > self._most:
            raise TooManyStepsError

    # --- an expression's tree as matchers

    def _sequence(self, tree: Any, flags: int) -> Matcher:
        parts = [self._node(kind, value, flags) for kind, value in tree]

        def sequence(i: int, then: Next, at: int = 0) -> int:
            if at == len(parts):
                return then(i)
            return parts[at](i, lambda j: sequence(j, then, at + 1))

        return parts[0] if len(parts) == 1 else sequence

    def _node(self, kind: Any, value: Any, flags: int) -> Matcher:
        if _plain([(kind, value)]):
            return self._character((kind, value), flags)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            low, high, body = value
            if kind is op.POSSESSIVE_REPEAT:
                return self._atomic(self._repeated(low, high, body, flags, False))
            return self._repeated(low, high, body, flags, kind is op.MIN_REPEAT)
        if kind is op.SUBPATTERN:
            number, added, removed, body = value
            return self._group(number, self._sequence(body, (flags | added) & ~removed))
        if kind is op.BRANCH:
            return self._branch(value[1], flags)
        if kind is op.ATOMIC_GROUP:
            return self._atomic(self._sequence(value, flags))
        if kind in (op.ASSERT, op.ASSERT_NOT):
            direction, body = value
            back = body.getwidth()[0] if direction < 0 else 0
            return self._look(self._sequence(body, flags), back, kind is op.ASSERT)
        if kind is op.AT:
            here = compiler.compile(self._alone((kind, value)), flags)
            return lambda i, then: then(i) if here.match(self._text, i) else FAILED
        if kind is op.GROUPREF:
            return self._again(value)
        raise NotImplementedError(kind)

    def _alone(self, node: Any) -> Any:
        return parser.SubPattern(self._state, [node])

    def _one(self, node: Any, flags: int) -> Callable[[int], bool]:
        """Return whether the character at a position is one that `re` lets a node match."""
        alone = compiler.compile(self._alone(node), flags)
        known: dict[Any, bool] = {}

        def matches(i: int) -> bool:
            self._step()
            letter = self._text[i : i + 1]
            if letter not in known:
                known[letter] = alone.match(letter) is not None
            return known[letter]

        return matches

    def _character(self, node: Any, flags: int) -> Matcher:
        matches = self._one(node, flags)
        return lambda i, then: then(i + 1) if matches(i) else FAILED

    def _repeated(self, low: int, high: Any, body: Any, flags: int, lazy: bool) -> Matcher:
        most = sys.maxsize if high is op.MAXREPEAT else int(high)
        if len(body) == 1 and _plain(body):
            return self._run(low, most, self._one(body[0], flags), lazy)
        once = self._sequence(body, flags)

        def turn(i: int, then: Next, done: int = 0) -> int:
            self._step()
            if lazy and done >= low and (end := then(i)) != FAILED:
                return end
            if done < most:

                def another(j: int) -> int:
                    return turn(j, then, done + 1) if j != i or done < low else FAILED

                if (end := once(i, another)) != FAILED:
                    return end
            return then(i) if done >= low and not lazy else FAILED

        return turn

    def _run(self, low: int, most: int, matches: Callable[[int], bool], lazy: bool) -> Matcher:
        """Match one character again and again: `re` counts them first, then goes back."""

        def run(i: int, then: Next) -> int:
            longest = min(most, len(self._text) - i)
            done = 0
            while done < (low if lazy else longest) and done < longest and matches(i + done):
                done += 1
            while low <= done:
                self._step()
                if (end := then(i + done)) != FAILED:
                    return end
                if lazy and not (done < longest and matches(i + done)):
                    return FAILED
                done += 1 if lazy else -1
            return FAILED

        return run

    def _branch(self, trees: list[Any], flags: int) -> Matcher:
        options = [self._sequence(tree, flags) for tree in trees]
        firsts = [self._one(tree[0], flags) if _plain(tree[:1]) else None for tree in trees]
        known: dict[Any, list[Matcher]] = {}

        def branch(i: int, then: Next) -> int:
            letter = self._text[i : i + 1]
            if letter not in known:
                pairs = zip(options, firsts, strict=True)
                known[letter] = [option for option, first in pairs if first is None or first(i)]
            for option in known[letter]:  # no generator: it would need the stack of C
                self._step()
                if (end := option(i, then)) != FAILED:
                    return end
            return FAILED

        return branch

    def _atomic(self, body: Matcher) -> Matcher:
        def atomic(i: int, then: Next) -> int:
            end = body(i, lambda j: j)
            return FAILED if end == FAILED else then(end)

        return atomic

    def _look(self, body: Matcher, back: int, wanted: bool) -> Matcher:
        def look(i: int, then: Next) -> int:
            seen = i >= back and body(i - back, lambda j: j) != FAILED
            return then(i) if seen == wanted else FAILED

        return look

    def _group(self, number: int | None, body: Matcher) -> Matcher:
        if number is None:
            return body

        def group(i: int, then: Next) -> int:
            def closed(j: int) -> int:
                before = self._groups.get(number)
                self._groups[number] = (i, j)
                if (end := then(j)) == FAILED and before is not None:
                    self._groups[number] = before
                elif end == FAILED:
                    del self._groups[number]
                return end

            return body(i, closed)

        return group

    def _again(self, number: int) -> Matcher:
        def again(i: int, then: Next) -> int:
            begin, end = self._groups.get(number, (0, FAILED))
            self.taken += max(0, end - begin)
            same = end != FAILED and self._text.startswith(self._text[begin:end], i)
            return then(i + end - begin) if same else FAILED

        return again
