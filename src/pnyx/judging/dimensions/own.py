"""User-defined dimensions: a TOML file with definitions, a scale and examples."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import read_toml
from pnyx.judging.dimensions import Dimension, Scale, dimensions_of

NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
"""Pattern of valid names of dimensions."""
_MOST_VALUES, _LISTED = 101, 10
_TABLES = ("name", "reviewed", "drafted_by", "scale", "dimensions", "examples")
_OF_SCALE, _OF_DIMENSION = ("low", "high", "levels"), ("definition", "label")
_OF_EXAMPLE = ("text", "scores")


@dataclass(frozen=True, slots=True)
class OwnDimensions:
    """The content of a file; `examples` are texts with scores on some dimensions."""

    name: str
    sha256: str
    scale: Scale
    dimensions: Mapping[str, Dimension]
    examples: Sequence[tuple[str, tuple[tuple[str, int], ...]]]
    drafted_by: str = ""  # the model whose draft a person has reviewed

    def __hash__(self) -> int:
        return hash(self.sha256)

    def row(self) -> dict[str, Any]:
        """Return its description for a manifest."""
        row = {"name": self.name, "sha256": self.sha256, "dimensions": list(self.dimensions)}
        return {**row, "drafted_by": self.drafted_by} if self.drafted_by else row


def read_own(path: str | Path) -> OwnDimensions:
    """Read a file of dimensions (docs/recipes/judging-quality.md).

    Raises:
        InputError: it is not TOML, a dimension or the scale is missing, or it is a draft that
            nobody has reviewed; with the line if it is known.
    """
    return _own(*read_toml(path), str(path), draft=False)


def parse_draft(toml: str) -> OwnDimensions:
    """Return the content of such a file, reviewed or not; InputError as for `read_own`."""
    try:
        return _own(tomllib.loads(toml), toml.split("\n"), "draft", draft=True)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML ({shorten(str(error), 100)})") from error


def _own(
    table: Mapping[str, Any], lines: Sequence[str], path: str, *, draft: bool
) -> OwnDimensions:
    reader = _Reader(path, lines)
    reader.known(table, _TABLES, "")
    reviewed = table.get("reviewed", None if "drafted_by" in table else True)
    if not (reviewed is None or isinstance(reviewed, bool)):
        reader.fail("reviewed", f"found {shorten(reviewed, 40)!r}, expected true or false")
    if not (draft or reviewed):
        value = "none" if reviewed is None else "false"
        reader.fail("reviewed", f"found {value}: a draft, expected true, once a person has read it")
    scale = reader.scale(table.get("scale"))
    entries = table.get("dimensions")
    if not isinstance(entries, dict) or not entries:
        reader.fail("dimensions", "found none, expected a table [dimensions.NAME] for each")
    dimensions = {name: reader.dimension(name, entry) for name, entry in entries.items()}
    rows = table.get("examples", [])
    if not isinstance(rows, list):
        reader.fail("examples", "expected tables [[examples]]")
    examples = [reader.example(row, dimensions, scale) for row in rows]
    name = reader.text(table.get("name", Path(path).stem), "name")
    text = "\n".join(lines)
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    drafter = reader.text(table["drafted_by"], "drafted_by") if "drafted_by" in table else ""
    return OwnDimensions(name, digest, scale, dimensions, examples, drafter)


class _Reader:
    """Checks the parts of a file, and names the line of a problem."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self._path, self._lines = path, lines

    def fail(self, word: str, problem: str, where: str = "") -> NoReturn:
        """Raise InputError at the first line that contains a word after that of `where`."""
        start = self._line(where, 0) if where else 0
        line = self._line(word, start)
        raise InputError(f"{escaped(word, 60)}: {problem}", path=self._path, line=line or None)

    def _line(self, word: str, start: int) -> int:
        named = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        lines = enumerate(self._lines[max(0, start - 1) :], max(1, start))
        return next((number for number, text in lines if named.search(text)), start)

    def known(self, table: Any, names: Sequence[str], where: str) -> None:
        if not isinstance(table, dict):
            self.fail(where, f"expected a table with {', '.join(names)}")
        for name in table:
            if name not in names:
                self.fail(name, f"expected {', '.join(names[:-1])} or {names[-1]}", where)

    def text(self, value: Any, name: str, where: str = "") -> str:
        if not isinstance(value, str) or not value.strip():
            self.fail(name, f"found {shorten(value, 40)!r}, expected a text", where)
        return value.strip()

    def scale(self, table: Any) -> Scale:
        """Return a scale of whole numbers, with the meaning of its values if given."""
        if table is None:
            self.fail("scale", "found none, expected [scale] with low and high")
        self.known(table, _OF_SCALE, "scale")
        low, high = (table.get(name) for name in ("low", "high"))
        for name, value in (("low", low), ("high", high)):
            if not isinstance(value, int) or isinstance(value, bool):
                self.fail(name, f"found {shorten(value, 40)}, expected a whole number", "scale")
        if not low < high < low + _MOST_VALUES:
            expected = f"more than low, which is {low}, by at most {_MOST_VALUES - 1}"
            self.fail("high", f"found {high}, expected {expected}", "scale")
        values = [str(value) for value in range(low, high + 1)]
        ends = [f"{low}: the lowest.", *values[1:-1], f"{high}: the highest."]
        levels = table.get("levels", ends if len(ends) <= _LISTED else [ends[0], ends[-1]])
        texts = isinstance(levels, list) and all(isinstance(meaning, str) for meaning in levels)
        if not texts or ("levels" in table and len(levels) != len(values)):
            self.fail("levels", f"expected {len(values)} texts, such as '{low}: poor'", "scale")
        few = len(values) <= _LISTED
        described = f"{', '.join(values[:-1])} or {values[-1]}" if few else (
            f"a whole number from {low} to {high}"
        )  # fmt: skip
        return Scale("own", low, high, described, tuple(level.strip() for level in levels))

    def dimension(self, name: str, table: Any) -> Dimension:
        if not re.fullmatch(NAME, name):
            self.fail(name, "expected a name of letters, digits, - and _, a letter first")
        if name in dimensions_of("quality"):  # otherwise labels and figures of both would be mixed
            self.fail(name, "is a dimension that pnyx defines, expected a name of its own")
        self.known(table, _OF_DIMENSION, name)
        if "definition" not in table:
            self.fail(name, "has no definition, expected what a judge must look at")
        definition = self.text(table["definition"], "definition", name)
        label = self.text(table.get("label", name.replace("_", " ").capitalize()), "label", name)
        return Dimension(name, label, " ".join(definition.split()))

    def example(
        self, table: Any, dimensions: Mapping[str, Dimension], scale: Scale
    ) -> tuple[str, tuple[tuple[str, int], ...]]:
        self.known(table, _OF_EXAMPLE, "examples")
        text, scores = self.text(table.get("text"), "text", "examples"), table.get("scores")
        if not isinstance(scores, dict) or not scores:
            self.fail("scores", "expected a table of a score for each dimension", "examples")
        for name, score in scores.items():
            if name not in dimensions:
                names = ", ".join(dimensions)
                self.fail(name, f"is no dimension of this file ({shorten(names, 80)})", "examples")
            whole = isinstance(score, int) and not isinstance(score, bool)
            if not whole or not scale.low <= score <= scale.high:
                expected = f"{scale.low:g} to {scale.high:g}"
                self.fail(name, f"found {shorten(score, 40)}, expected {expected}", "examples")
        return text, tuple(scores.items())
