"""Find, make and draw small changes of the code, for `lab/mutants.py`."""

from __future__ import annotations

import ast
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from cosmic_ray.ast import ast_nodes, get_ast, is_number
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from line_tests import CODE, ROOT, defined

NODES = {"ReplaceComparison": "comparison", "ReplaceBinary": "operator"}  # what each changes
LEAST = 3  # minimum number of mutants from each room
SMALL = 20  # whole numbers up to this one grow by 1 in `--constants`, other numbers by half
EDGES = tuple(
    f"ReplaceComparisonOperator_{edge}" for edge in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")
)


class EnlargeNumber(Operator):  # type: ignore[misc]
    """Enlarge a number: by 1 if it is whole and small, or 0; otherwise by half."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the place of a number."""
        if is_number(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002 - as cosmic-ray calls it
        """Return the number with its new value."""
        value = ast.literal_eval(node.value)
        whole = isinstance(value, int)
        if not value or (whole and value <= SMALL):
            value += 1
        else:
            value = value * 3 // 2 if whole else value * 1.5
        return type(node)(f" {value!r}", node.start_pos)

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return no examples: these are in the tests."""
        return ()


OPERATORS = {name: OperatorProvider()[name] for name in OperatorProvider()}
OPERATORS = {
    name: operator()
    for name, operator in OPERATORS.items()
    if not operator.arguments() and name != "RemoveDecorator"
}
CONSTANT_OPERATORS = {"EnlargeNumber": EnlargeNumber()} | {name: OPERATORS[name] for name in EDGES}


@dataclass(frozen=True)
class Mutant:
    """One change: the `occurrence`-th location in the file where the operator applies."""

    room: str
    path: str
    line: int
    operator: str
    occurrence: int


def room_of(path: str) -> str:
    """Return the room of a file; files directly below `pnyx` are the room `top`."""
    parts = Path(path).relative_to(CODE).parts
    return parts[0] if len(parts) > 1 else "top"


def unnoticeable(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield (line, column) of the start and the end of code whose changes no test can notice.

    These are annotations, blocks for type checkers, and the options of dataclasses.
    """
    lines = text.split("\n")

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode())

    for node in ast.walk(ast.parse(text)):
        skipped: list[Any] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            skipped = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped = [node.returns]
        elif isinstance(node, ast.ClassDef):
            skipped = [mark for mark in node.decorator_list if "dataclass" in ast.unparse(mark)]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            skipped = [node]
        for part in filter(None, skipped):
            start = part.lineno, column(part.lineno, part.col_offset)
            yield start, (part.end_lineno, column(part.end_lineno, part.end_col_offset))


def changes_of(
    text: str, operators: dict[str, Any] = OPERATORS
) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Return what can be changed at each position: line and column -> (operator, occurrence)."""
    skipped = list(unnoticeable(text))
    nodes = defaultdict(list)
    for node in ast_nodes(get_ast(text)):
        nodes[node.type if node.type in ("comparison", "operator") else ""].append(node)
    changes = defaultdict(list)
    for name, operator in operators.items():
        kind = next((kind for word, kind in NODES.items() if word in name), "")
        spans = [span for node in nodes[kind] for span in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(spans):
            if not any(first <= start < last for first, last in skipped):
                changes[start].append((name, occurrence))
    return changes


def changed_code(text: str, mutant: Mutant) -> str:
    """Return the text of a file with the change; UsageError if it has no such location."""
    operator = (OPERATORS | CONSTANT_OPERATORS)[mutant.operator]
    text_changed = mutate_code(text, operator, mutant.occurrence)
    if text_changed is None:
        raise click.UsageError(f"{mutant.path} has changed since the table was written")
    return str(text_changed)


def compiles(text: str, mutant: Mutant) -> bool:
    """Whether the changed code is Python: some operators take `*` in a signature for a product."""
    try:
        ast.parse(changed_code(text, mutant))
    except SyntaxError:
        return False
    return True


def shares(lines: dict[str, int], count: int) -> dict[str, int]:
    """Return how many mutants to draw from each room: by its lines, and `LEAST` at least."""
    total = sum(lines.values())
    return {room: max(LEAST, round(count * size / total)) for room, size in lines.items()}


def draw(root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw mutants from all rooms, in random order, so that any first part is a sample, too."""
    chance = random.Random(seed)
    texts = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted((root / CODE).rglob("*.py"))
    }
    rooms: dict[str, list[str]] = defaultdict(list)
    for path in texts:
        rooms[room_of(path)].append(path)
    lines = {room: sum(texts[path].count("\n") for path in rooms[room]) for room in rooms}
    changes: dict[str, dict[tuple[int, int], list[tuple[str, int]]]] = {}
    mutants: dict[Mutant, None] = {}
    for room, wanted in shares(lines, count).items():
        weights = [texts[path].count("\n") for path in rooms[room]]
        room_mutants: dict[Mutant, None] = {}
        for _ in range(100 * wanted):  # more than enough, unless the room has few changes
            if len(room_mutants) == wanted:
                break
            (path,) = chance.choices(rooms[room], weights)
            if path not in changes:
                changes[path] = changes_of(texts[path])
            if changes[path]:
                start = chance.choice(sorted(changes[path]))
                operator, occurrence = chance.choice(changes[path][start])
                mutant = Mutant(room, path, start[0], operator, occurrence)
                if compiles(texts[path], mutant):
                    room_mutants[mutant] = None
        mutants |= room_mutants
    return chance.sample(list(mutants), len(mutants))


def changed_lines(commit: str) -> dict[str, set[int]]:
    """Return the lines of each file of the code that were added or changed since a commit."""
    command = ["git", "diff", "--unified=0", "--no-color", commit, "--", CODE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise click.UsageError(f"--since {commit}: {done.stderr.strip().splitlines()[0]}")
    lines: dict[str, set[int]] = defaultdict(set)
    path = ""
    for row in done.stdout.splitlines():
        if row.startswith("+++ "):
            path = row.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", row):
            first, size = int(match[1]), int(match[2] or 1)
            lines[path] |= set(range(first, first + size))
    return {path: rows for path, rows in lines.items() if path.endswith(".py") and rows}


def draw_changed(root: Path, lines: dict[str, set[int]], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of the changed lines, one at most at each position."""
    chance = random.Random(seed)
    mutants = []
    for path, rows in sorted(lines.items()):
        text = (root / path).read_text(encoding="utf-8")
        changes = changes_of(text)
        for start in sorted(changes):
            if start[0] in rows:
                operator, occurrence = chance.choice(changes[start])
                mutant = Mutant(room_of(path), path, start[0], operator, occurrence)
                if compiles(text, mutant):
                    mutants.append(mutant)
    return chance.sample(mutants, min(count, len(mutants)))


def constant_lines(text: str) -> dict[int, int]:
    """Return the lines of the definitions of named constants outside functions: line -> first."""
    lines: dict[int, int] = {}
    tree = ast.parse(text)
    for owner in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
        for statement in owner.body:
            names = (
                defined(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) else set()
            )
            if names and all(name.isupper() for name in names):
                for line in range(statement.lineno, (statement.end_lineno or 0) + 1):
                    lines[line] = statement.lineno
    return lines


def draw_constants(root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw larger values of named constants, one of each, and shifted comparisons with them."""
    chance = random.Random(seed)
    mutants = []
    for path in sorted((root / CODE).rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(root))
        rows, firsts = text.split("\n"), constant_lines(text)
        options = defaultdict(list)
        for (line, column), changes in sorted(changes_of(text, CONSTANT_OPERATORS).items()):
            for operator, occurrence in changes:
                mutant = Mutant(room_of(name), name, line, operator, occurrence)
                if operator in EDGES and re.search(r"\b_?[A-Z][A-Z0-9_]{2,}\b", rows[line - 1]):
                    options[line, column].append(mutant)
                elif operator not in EDGES and line in firsts:
                    options[firsts[line], 0].append(mutant)
        mutants += [chance.choice(choices) for choices in options.values()]
    return chance.sample(mutants, min(count, len(mutants)))
