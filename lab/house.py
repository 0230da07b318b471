"""Describe and check the code's structure: `python lab/house.py`, or `make house`.

Prints the lines, files, classes and doors of each room, the contracts on imports, the longest files
and functions, class names with several meanings, names that say too little, and the number of
commands, options and settings. Exit status 1, with the reason on stderr, if imports form a circle,
if a class name has more than one meaning, if a name says too little, if a file, function or --help
is too long, or if a flag has several help texts. The scripts of lab/ count as a room for names and
lengths.
`python lab/house.py --names ROOM` lists each name in a room that says too little, with its line.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (ROOT / "src", *sorted((ROOT / "packages").glob("*/src")))
SHOWN = 10
FILE_LINES, FUNCTION_LINES, HELP_LINES = 450, 60, 50
"""Maximum number of lines of a file, of a function without its docstring, and of --help."""
VAGUE = frozenset(
    "one found asked place known shown said told held kept given made own lacking apart".split()
)
"""Names of variables and parameters that do not say what they hold."""
KEYS = frozenset("asked given kept place shown".split())
"""The allowed ones: fields of records that are keys in files or columns of the catalogue."""
VAGUE_CLASSES = frozenset("Asked Chosen Found Held Joined Placed Posed Said Sided Told".split())
ACTIVITIES = frozenset("string ranking sampling training rendering reading".split())
"""Names of modules in -ing that the field uses as nouns."""
Modules = dict[str, tuple[Path, str, ast.Module]]
"""Dotted name -> path, text and tree."""
SHARED_NAMES = 1  # PnyxRetriever: the term of each library in pnyx.interop


@cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of a module: every check looks at them."""
    return list(ast.walk(tree))


@cache
def read_modules(*sources: Path) -> Modules:
    """Return path, text and tree of each module below some folders, by its dotted name."""
    modules = {}
    for source in sources:
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            modules[name] = (path, text, ast.parse(text))
    return modules


def read_scripts() -> Modules:
    """Return the same of the scripts of lab/, with names that start with `lab.`."""
    return {f"lab.{name}": module for name, module in read_modules(ROOT / "lab").items()}


def imports_of(name: str, tree: ast.Module, modules: Modules) -> set[str]:
    """Return the modules that `name` imports anywhere in its file, typing imports included."""
    imported = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = whole & modules.keys()
            imported |= inner
            if inner != whole:
                imported.add(node.module)
    return (imported & modules.keys()) - {name}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                result.append(sorted(part))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(result, key=len, reverse=True)


def room_of(name: str) -> str:
    """Return the room of a module; modules directly below `pnyx` are the room `top`."""
    package, *rest = name.split(".")
    if package != "pnyx":
        return package
    inside = len(rest) > 1 or (ROOT / "src" / "pnyx" / "".join(rest[:1])).is_dir()
    return rest[0] if rest and inside else "top"


def vague_names(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    """Return the names of a module that say too little, each with its line."""
    leaf = path.stem
    vague = [(1, leaf)] if leaf.endswith("ing") and leaf not in ACTIVITIES else []
    fields = {
        id(part.target)
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and ast.unparse(part.target) in KEYS
    }
    for node in nodes_of(tree):
        if id(node) in fields:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            vague.append((node.lineno, node.id))
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            vague.append((node.lineno, node.arg))
        elif isinstance(node, ast.ClassDef) and node.name in VAGUE_CLASSES:
            vague.append((node.lineno, node.name))
    return sorted(vague)


def doors_of_rooms(modules: Modules) -> dict[str, list[str]]:
    """Return the kinds of doors of each room: the upper-case names of its module `doors`."""
    return {
        room_of(name): [
            ast.unparse(node.target).lower()
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target)[0].isupper()
        ]
        for name, (_, _, tree) in modules.items()
        if name.endswith(".doors")
    }


def contracts() -> list[str]:
    """Return the names of the contracts on imports."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    return [contract["name"] for contract in settings["importlinter"]["contracts"]]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring, which may be the help of a command."""
    first = function.body[0]
    docstring = ast.get_docstring(function) is not None
    described = (first.end_lineno or 0) - first.lineno + 1 if docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - described


def all_commands() -> dict[str, click.Command]:
    """Return each command and subcommand of the rooms by its words, and `pnyx` itself."""
    from pnyx.cli import app
    from pnyx.core.rooms import room_commands

    commands: dict[str, click.Command] = {"pnyx": app}

    def walk(name: str, command: click.Command) -> None:
        commands[name] = command
        below = command.commands if isinstance(command, click.Group) else {}
        for word, part in (*below.items(), *getattr(command, "words", {}).items()):
            walk(f"{name} {word}", part)

    for verb, door in room_commands().items():
        walk(f"pnyx {verb}", door.load())
    return commands


def faults_of_command_line() -> list[str]:
    """Print the size of the command line; return flags with several help texts, and long helps.

    The default of a flag, and that it may be repeated, are not part of its text. A setting is a
    name of --set NAME=VALUE; one of several commands counts once.
    """
    from pnyx.cli.settings import SettingOption

    commands = all_commands()
    leaves = [c for c in commands.values() if not isinstance(c, click.Group)]
    every = [o for leaf in leaves for o in leaf.params if isinstance(o, click.Option)]
    settings = {option.setting for option in every if isinstance(option, SettingOption)}
    options = [option for option in every if not isinstance(option, SettingOption)]
    texts: dict[str, set[str]] = defaultdict(set)
    for option in options:
        for flag in option.opts:
            texts[flag].add(option.help or "")
    several = [flag for flag, meanings in texts.items() if len(meanings) > 1]
    lines = {name: lines_of_help(name, command) for name, command in commands.items()}
    verbs = sum(name.count(" ") == 1 for name in commands)
    print(
        f"command line: {verbs} commands on the first page, {len(leaves)} in all, {len(options)} "
        f"options, {len(settings)} settings (--set); {len(texts)} flags, {len(several)} with "
        f"several help texts; longest help {max(lines.values())} lines"
    )
    faults = [f"{flag} has several help texts (core/flag_help.py)" for flag in several]
    return faults + [f"{name} --help: {count} lines, at most {HELP_LINES}"
                     for name, count in lines.items() if count > HELP_LINES]  # fmt: skip


def lines_of_help(name: str, command: click.Command) -> int:
    """Return the number of lines of a command's help at 80 columns, of which click leaves two."""
    context = click.Context(command, info_name=name, terminal_width=78, max_content_width=78)
    return len(command.get_help(context).splitlines())


def list_names(room: str) -> int:
    """Print each name in a room that says too little."""
    for name, (path, _, tree) in (read_modules(*SOURCES) | read_scripts()).items():
        if room_of(name) == room:
            for line, vague in vague_names(path, tree):
                print(f"{path.relative_to(ROOT)}:{line} {vague}")
    return 0


def print_rooms(modules: Modules) -> None:
    """Print lines, files, classes and doors of each room."""
    lines, files, classes = Counter[str](), Counter[str](), Counter[str]()
    for name, (_, text, tree) in modules.items():
        room = room_of(name)
        lines[room] += text.count("\n")
        files[room] += 1
        classes[room] += sum(isinstance(node, ast.ClassDef) for node in nodes_of(tree))
    print(f"{'room':<14}{'lines':>7}{'files':>7}{'classes':>9}  doors")
    doors = doors_of_rooms(modules)
    for room in sorted(lines, key=lambda room: -lines[room]):
        numbers = f"{lines[room]:>7}{files[room]:>7}{classes[room]:>9}"
        print(f"{room:<14}{numbers}  {' '.join(doors.get(room, ()))}".rstrip())
    core = [room for room in lines if not room.startswith("pnyx_") and room != "lab"]
    print(f"{'src/pnyx':<14}{sum(lines[room] for room in core):>7}")


def check_lengths(modules: Modules) -> list[str]:
    """Print the longest files and functions; return those that are too long."""
    files = [(text.count("\n"), f"{path.relative_to(ROOT)}") for path, text, _ in modules.values()]
    functions = [
        (lines_of(node), f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
        for path, _, tree in modules.values()
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    faults = []
    for title, sizes, limit in (
        ("\nlongest files:    ", files, FILE_LINES),
        ("longest functions, without docstrings:", functions, FUNCTION_LINES),
    ):
        longest = sorted(sizes, reverse=True)
        print(title, *(f"\n  {length} {at}" for length, at in longest[:SHOWN]))
        faults += [f"{at}: {n} lines, at most {limit}" for n, at in sorted(sizes) if n > limit]
    return faults


def check_class_names(modules: Modules) -> list[str]:
    """Print names of several classes; return a fault if there are too many."""
    meanings: dict[str, list[str]] = defaultdict(list)
    for path, _, tree in modules.values():
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                meanings[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    shared = {name: at for name, at in sorted(meanings.items()) if len(at) > 1}
    print(
        "names of several classes:",
        *(f"\n  {name}: {', '.join(at)}" for name, at in shared.items()),
    )
    if len(shared) <= SHARED_NAMES:
        return []
    return [f"{len(shared)} class names mean several things, allowed: {SHARED_NAMES}"]


def check_names(modules: Modules) -> list[str]:
    """Print how many names of each room say too little; return a fault if there are any."""
    vague = Counter[str]()
    for name, (path, _, tree) in modules.items():
        vague[room_of(name)] += len(vague_names(path, tree))
    print(f"names that say too little: {vague.total()}")
    print("".join(f"  {count} {room}\n" for room, count in vague.most_common() if count), end="")
    if not vague.total():
        return []
    return [f"{vague.total()} names say too little: python lab/house.py --names ROOM"]


def main() -> int:
    modules = read_modules(*SOURCES)
    everything = modules | read_scripts()
    print_rooms(everything)
    print("\ncontracts (lint-imports):", *(f"\n  {name}" for name in contracts()))
    graph = {name: imports_of(name, tree, modules) for name, (_, _, tree) in modules.items()}
    faults = [f"circle of {len(part)}: {' '.join(part)}" for part in circles(graph)]
    faults += check_lengths(everything)
    faults += check_class_names(modules)
    faults += check_names(everything)
    faults += faults_of_command_line()
    if faults:
        print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(list_names(sys.argv[2]) if sys.argv[1:2] == ["--names"] else main())
