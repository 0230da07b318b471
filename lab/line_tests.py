"""Find the tests that run a line of code, and run tests in processes, for `lab/mutants.py`."""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = "src/pnyx"
PACKAGES = ("build", "crawl", "pyserini", "ray", "train")
IMPORTS = ("src", *(f"packages/pnyx-{name}/src" for name in PACKAGES))
MEMORY = 8 << 30  # bytes of data of a process that runs tests
LONG = 3.0  # seconds; longer tests come last, whatever they run
DEPTH = 2  # names followed from a line that only runs at import, each by its definition
ROUND = 5  # tests of a file that are run before those of the next file
INCIDENTAL = 3  # a file of tests needs several that run a line to come early
PRELOADED = """_pytest.assertion.rewrite anyio click hypothesis httpx2 jinja2 lxml.html numpy
onnxruntime pydantic rich.console scipy.stats starlette.testclient tokenizers""".split()
"""Imported once, before processes are forked; never the code that is mutated."""

ROWS = """SELECT path, context, numbits FROM line_bits JOIN context ON context.id = context_id
JOIN file ON file.id = file_id"""
"""Files, tests, and a bit for each line that the test runs: the format of coverage 7."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


# -- processes -------------------------------------------------------------------------------------


def copy_checkout(folder: Path) -> None:
    """Copy the files that git tracks, and those that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def preload() -> None:
    """Import what most tests need, so that each process has it from the start."""
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)


def run_forked(action: Callable[[], int], log: Path, limit: float | None) -> int | None:
    """Run an action in its own process; return the exit status, or None after `limit` seconds.

    Child processes end with it.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = os.EX_SOFTWARE
        try:
            os.setsid()
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(output, 1)
            os.dup2(output, 2)
            code = action()
        except BaseException:  # pytest could not start: the log says why
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + limit if limit is not None else float("inf")
    try:
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


class Recorder:
    """A plugin of pytest: the seconds of each test, and which passed and which failed."""

    def __init__(self, measured: coverage.Coverage | None = None) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = defaultdict(float)
        self.passed: set[str] = set()
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Name the test to coverage, as the context of what runs now."""
        if self.measured:
            self.measured.switch_context(item.nodeid)
        result = yield
        if self.measured:
            self.measured.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note seconds and result of a test."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


@dataclass
class Workplace:
    """A folder with a copy of the checkout, in which processes run pytest."""

    folder: Path

    @property
    def copy(self) -> Path:
        """The copy of the checkout."""
        return self.folder / "copy"

    @property
    def log(self) -> Path:
        """The output of the last process."""
        return self.folder / "log.txt"

    def _pytest(self, arguments: Sequence[str], recorder: Recorder) -> int:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
        paths = [str(self.copy / path) for path in IMPORTS]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        sys.path[:0] = paths
        options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported by `preload`
        options += [f"--rootdir={self.copy}", f"--basetemp={self.folder / 'base'}"]
        return int(pytest.main([*options, *arguments], plugins=[recorder]))

    def run_until_failure(
        self, tests: Sequence[str], limit: float | None = None
    ) -> tuple[int | None, list[str]]:
        """Run tests until one fails; return the exit status (None: too late) and what failed."""
        notes = self.folder / "failed.json"
        notes.unlink(missing_ok=True)

        def action() -> int:
            os.chdir(self.copy)
            recorder = Recorder()
            code = self._pytest(["-x", "--tb=line", *tests], recorder)
            notes.write_text(json.dumps(recorder.failed))
            return code

        code = run_forked(action, self.log, limit)
        return code, json.loads(notes.read_text()) if notes.exists() else []

    def measure(self, arguments: Sequence[str], data: Path) -> dict[str, float]:
        """Run tests under coverage, which adds to `data`; return the seconds of those that pass."""
        notes = self.folder / "seconds.json"

        def action() -> int:
            os.chdir(self.copy)
            measured = coverage.Coverage(str(data), config_file=False, include=[f"{CODE}/*"])
            measured.set_option("run:relative_files", True)
            if data.exists():
                measured.load()
            measured.start()
            recorder = Recorder(measured)
            code = self._pytest(["--tb=short", *arguments], recorder)
            measured.stop()
            measured.save()
            passed = recorder.passed - set(recorder.failed)
            notes.write_text(json.dumps({test: recorder.seconds[test] for test in passed}))
            return code

        code = run_forked(action, self.log, None)
        log = self.log.read_text(errors="replace")
        if code not in {0, 1, 5}:  # all passed, some failed, none was selected
            raise click.ClickException(f"pytest ended with status {code}:\n{log[-2000:]}")
        if failed := re.findall(r"^(?:FAILED|ERROR) (\S+)", log, re.MULTILINE):
            click.echo(f"left out, as they fail without a change: {' '.join(failed)}", err=True)
        return dict(json.loads(notes.read_text()))


# -- statements ------------------------------------------------------------------------------------


@dataclass
class Surroundings:
    """What is around a line: the innermost function or class, and statement or `except`."""

    function: Function | None
    owner: ast.ClassDef | None
    statement: ast.AST


def surroundings(tree: ast.Module) -> dict[int, Surroundings]:
    """Return what is around each line of a module that is part of a statement."""
    around: dict[int, Surroundings] = {}
    waiting: list[tuple[Function | None, ast.ClassDef | None, ast.AST]] = [(None, None, tree)]
    while waiting:
        function, owner, parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.match_case):
                waiting.append((function, owner, node))
            elif isinstance(node, ast.stmt | ast.ExceptHandler):
                marks = getattr(node, "decorator_list", [])
                inner = node if isinstance(node, Function) else function
                outer = node if isinstance(node, ast.ClassDef) else owner
                first = marks[0].lineno if marks else node.lineno
                for line in range(first, (node.end_lineno or first) + 1):
                    around[line] = Surroundings(inner, owner, node)
                waiting.append((inner, outer, node))
    return around


def header(statement: Any) -> range:
    """Return the lines of a statement, without those of the statements inside."""
    inside = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not inside:
        return range(statement.lineno, statement.end_lineno + 1)
    first = inside[0].pattern if isinstance(inside[0], ast.match_case) else inside[0]
    return range(statement.lineno, max(first.lineno, statement.lineno + 1))


def body_lines(function: Function) -> range:
    """Return the lines of a function's body."""
    return range(function.body[0].lineno, (function.end_lineno or 0) + 1)


def defined(statement: ast.AST | None) -> set[str]:
    """Return the names that a statement outside functions defines."""
    if isinstance(statement, ast.ClassDef | Function):
        return {statement.name}
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    nodes = (node for target in targets if target for node in ast.walk(target))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


# -- which tests run a line ------------------------------------------------------------------------


class LineTests:
    """Which tests run a line, from a file of coverage's with one context for each test."""

    def __init__(self, root: Path, data: Path, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.texts = {
            str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted((root / CODE).rglob("*.py"))
        }
        files = {test.partition("::")[0] for test in seconds}
        self._test_texts = {file: (root / file).read_text(encoding="utf-8") for file in files}
        self.breadth = Counter[str]()
        self._sizes = Counter(test.partition("::")[0] for test in seconds)
        self._bits: dict[str, list[tuple[str, int]]] = defaultdict(list)
        with closing(sqlite3.connect(data)) as database:
            for path, test, bits in database.execute(ROWS):
                if test in seconds:
                    lines = int.from_bytes(bits, "little")
                    self._bits[path].append((test, lines))
                    self.breadth[test] += lines.bit_count()
        self._around: dict[str, dict[int, Surroundings]] = {}

    def tests(self, path: str, line: int) -> list[str]:
        """Return the tests that run a line, the most promising first.

        A line that runs only when its module is imported counts as run by the tests that name what
        it defines, or run a line which does; if there is none, by those that run a function of the
        file.
        """
        around = self._surroundings(path)
        tests = self._run(path, line, DEPTH)
        if not tests and line in around and around[line].function is None:
            tests = self._at(path, [row for row, part in around.items() if part.function])
        return self._ranked(tests)

    def _ranked(self, tests: set[str]) -> list[str]:
        """Sort tests by how soon they may notice a change, long ones last.

        Two orders in turn: those that run the fewest lines of all code first; and a few of each
        file, where files come first most of whose tests are among these.
        """
        by_file: dict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            by_file[test.partition("::")[0]].append(test)
        rounds = {
            test: (position // ROUND, -share, file, position)
            for file, of_file in by_file.items()
            for share in [len(of_file) / (self._sizes[file] + INCIDENTAL)]
            for position, test in enumerate(of_file)
        }
        narrow = sorted(tests, key=lambda test: (self.breadth[test], test))
        places: dict[str, int] = {}
        for both in zip(narrow, sorted(tests, key=rounds.__getitem__), strict=True):
            for test in both:
                places.setdefault(test, len(places))
        return sorted(tests, key=lambda test: (self.seconds[test] > LONG, places[test]))

    def _surroundings(self, path: str) -> dict[int, Surroundings]:
        if path not in self._around:
            self._around[path] = surroundings(ast.parse(self.texts[path]))
        return self._around[path]

    def _at(self, path: str, lines: Iterable[int]) -> set[str]:
        """Return the tests that run one of the lines."""
        wanted = sum(1 << line for line in set(lines))
        return {test for test, bits in self._bits[path] if bits & wanted}

    def _run(self, path: str, line: int, depth: int) -> set[str]:
        """Return the tests that run a line, or what it defines, or what is defined by that."""
        part = self._surroundings(path).get(line)
        if part is None:
            return set()
        function = part.function
        if function is not None and line >= function.body[0].lineno:
            if isinstance(function, ast.AsyncFunctionDef):
                # Before Python 3.12, lines run after an exception was thrown into a coroutine,
                # such as a cancelled wait that it survived, are not traced.
                return self._at(path, body_lines(function))
            return self._at(path, [line]) or self._at(path, header(part.statement))
        tests = set() if function is None else self._at(path, body_lines(function))
        names = defined(part.statement) if depth else set()
        tests = tests.union(*map(self._readers, names))
        return tests.union(*(self._users(path, name, part.owner, depth - 1) for name in names))

    def _readers(self, name: str) -> set[str]:
        """Return the tests whose own text has the name: they may read it without running a line."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        readers = set()
        for file, text in self._test_texts.items():
            if word.search(text):
                lines = text.split("\n")
                for node in ast.parse(text).body:
                    if isinstance(node, Function):
                        body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                        if word.search(body):
                            readers.add(f"{file}::{node.name}")
        return {test for test in self.seconds if test.partition("[")[0] in readers}

    def _users(self, path: str, name: str, owner: ast.ClassDef | None, depth: int) -> set[str]:
        """Return the tests that run a line with the name.

        Files that may have it: only this one, if the name is private; if it is of a class, those
        with the name of the class.
        """
        tests: set[str] = set()
        word = re.compile(rf"\b{re.escape(name)}\b")
        needed = re.compile(rf"\b{owner.name}\b") if owner else word
        for other in [path] if name.startswith("_") else self.texts:
            if needed.search(self.texts[other]):
                rows = enumerate(self.texts[other].split("\n"), 1)
                for line in [number for number, row in rows if word.search(row)]:
                    part = self._surroundings(other).get(line)
                    if part is not None and name not in defined(part.statement):
                        tests |= self._run(other, line, depth)
        return tests


def digests(root: Path, *patterns: str) -> dict[str, str]:
    """Return a digest of each file that matches one of the patterns."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in patterns
        for path in sorted(root.glob(pattern))
    }


def measure_lines(workplace: Workplace, cache: Path, selection: str) -> LineTests:
    """Measure which test runs which line, or only what changed since the last time."""
    root = workplace.copy
    code = digests(root, f"{CODE}/**/*.py")
    tests = digests(root, "tests/test_*.py", "packages/*/tests/test_*.py")
    notes, data = cache / "tests.json", cache / "coverage"
    state = json.loads(notes.read_text()) if notes.exists() else {}
    if state.get("code") == code and state.get("selection") == selection:
        before = state["tests"]
        stale = {file for file in tests | before if tests.get(file) != before.get(file)}
        seconds = {
            test: value
            for test, value in state["seconds"].items()
            if test.partition("::")[0] not in stale
        }
        files = sorted(stale & tests.keys())
    else:
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        seconds, files = {}, sorted(tests)
    if files:
        click.echo(f"measuring which lines the tests of {len(files)} files run", err=True)
        seconds |= workplace.measure(["-m", selection, *files], data)
        state = {"code": code, "tests": tests, "selection": selection, "seconds": seconds}
        notes.write_text(json.dumps(state))
    return LineTests(root, data, seconds)
