"""`lab/mutants.py`: changes that no test notices are listed, those that one notices are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray")
pytest.importorskip("coverage")

LAB = Path(__file__).parents[1] / "lab"
if not LAB.is_dir():
    pytest.skip("the lab is not in this copy", allow_module_level=True)
sys.path.insert(0, str(LAB))

import code_changes  # noqa: E402
import mutants  # noqa: E402

LIMITS = """
MOST = 3


def is_short(words):
    return len(words) <= MOST


def is_empty(words):
    return len(words) < 1


def never_run(number):
    return number + 1


LEAST = 2
"""
TESTS = """
from pnyx.stats import limits
from pnyx.stats.limits import is_empty, is_short


def test_three_words_are_short_and_four_are_not():
    assert is_short("abc") and not is_short("abcd")


def test_no_words_are_empty():
    assert is_empty("")  # and nothing about one word


def test_the_least_is_two():
    assert limits.LEAST == 2
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with one module, half of it tested, and the tools."""
    files = {"src/pnyx/stats/limits.py": LIMITS, "tests/test_limits.py": TESTS}
    files |= dict.fromkeys(("src/pnyx/__init__.py", "src/pnyx/stats/__init__.py"), "# empty\n")
    files["pyproject.toml"] = "[tool.pytest.ini_options]\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "lab").mkdir()
    for name in ("mutants.py", "code_changes.py", "line_tests.py"):
        shutil.copy(LAB / name, tmp_path / "lab")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for arguments in (
        ("init", "--quiet"),
        ("add", "."),
        ("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "--message", "Start"),
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def run_tool(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "lab/mutants.py", "--out", "out", "--cache", "map", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, cwd=project, capture_output=True, text=True, env=environment)


def tried(project: Path, *arguments: str) -> tuple[dict[tuple[int, str, int], str], str]:
    """Run the tool; return each mutant (line, operator, occurrence) with its state, and stdout."""
    done = run_tool(project, *arguments)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, (project / "out/mutants.jsonl").read_text().splitlines())
    states = {
        (row["mutant"]["line"], row["mutant"]["operator"], row["mutant"]["occurrence"]): row[
            "outcome"
        ]["state"]
        for row in rows
    }
    return states, done.stdout


@pytest.mark.slow
def test_a_change_that_no_test_notices_is_listed_until_one_does(project):
    states, table = tried(project, "--count", "200")
    lines = LIMITS.split("\n")
    most, short, empty, never, least = (
        next(number for number, line in enumerate(lines, 1) if text in line)
        for text in ("MOST = 3", "<= MOST", "< 1", "number + 1", "LEAST = 2")
    )
    # 3 -> 4 and 3 -> 2: a test runs the line that uses the constant, on both sides of it.
    assert states[most, "NumberReplacer", 0] == states[most, "NumberReplacer", 1] == "killed"
    # A test reads the constant, although it runs no line that does.
    assert {state for (line, *_), state in states.items() if line == least} == {"killed"}
    assert states[short, "ReplaceComparisonOperator_LtE_Lt", 0] == "killed"
    # `len("") < 1` and `len("") < 2` are both true; `len("") < 0` is not.
    assert states[empty, "NumberReplacer", 2] == "survived"
    assert states[empty, "NumberReplacer", 3] == "killed"
    assert states[empty, "ReplaceComparisonOperator_Lt_LtE", 0] == "survived"
    assert {state for (line, *_), state in states.items() if line == never} == {"not covered"}
    counts = [list(states.values()).count(state) for state in mutants.STATES]
    assert counts[1] == 0
    share = round(100 * counts[0] / len(states))
    assert table.splitlines()[-1].split() == ["all", *map(str, counts), str(share), "%"]
    assert (project / "src/pnyx/stats/limits.py").read_text() == LIMITS

    with (project / "tests/test_limits.py").open("a") as stream:
        stream.write("\ndef test_one_word_is_not_empty():\n    assert not is_empty('a')\n")
    after, _ = tried(project, "--again", "out/mutants.jsonl")
    assert after.keys() == states.keys()
    assert after[empty, "NumberReplacer", 2] == "killed"
    assert after[empty, "ReplaceComparisonOperator_Lt_LtE", 0] == "killed"
    assert {state for (line, *_), state in after.items() if line == never} == {"not covered"}


@pytest.mark.slow
def test_only_the_changed_lines_are_mutated(project):
    text = LIMITS.replace("number + 1", "number - 10")
    (project / "src/pnyx/stats/limits.py").write_text(text)
    states, _ = tried(project, "--since", "HEAD", "--count", "9")
    assert {line for line, *_ in states} == {text.split("\n").index("    return number - 10") + 1}
    assert len(states) == 2  # one change of the operator, one of the number


@pytest.mark.slow
def test_only_named_constants_and_comparisons_with_them_are_mutated(project):
    states, _ = tried(project, "--constants")
    most, least, short = (
        LIMITS.split("\n").index(line) + 1
        for line in ("MOST = 3", "LEAST = 2", "    return len(words) <= MOST")
    )
    assert states == {
        (most, "EnlargeNumber", 0): "killed",
        (least, "EnlargeNumber", 3): "killed",  # after the numbers of two functions
        (short, "ReplaceComparisonOperator_LtE_Lt", 0): "killed",
    }


def test_a_constant_grows_by_one_if_it_is_small_and_whole_and_by_half_otherwise():
    text = "class Sizes:\n    FEW = 20\n    MANY = 21\nSHARE: float = 0.5\nNONE = 0.0\nsize = 7\n"
    assert code_changes.constant_lines(text) == {2: 2, 3: 3, 4: 4, 5: 5}
    changes = code_changes.changes_of(text, code_changes.CONSTANT_OPERATORS)
    rows = {}
    for (line, _), ((operator, occurrence),) in changes.items():
        mutant = code_changes.Mutant("stats", "limits.py", line, operator, occurrence)
        rows[line] = code_changes.changed_code(text, mutant).split("\n")[line - 1].split()[-1]
    assert rows == {2: "21", 3: "31", 4: "0.75", 5: "1.0", 6: "8"}


def test_annotations_and_options_of_dataclasses_are_not_changed():
    text = (
        "@dataclass(frozen=True)\nclass Span:\n    end: int | None = None\n\n"
        'def first(text: "str | None" = None) -> int | None:\n    return text is None\n'
    )
    assert {line for line, _ in code_changes.changes_of(text)} == {6}


def test_each_room_gets_mutants_by_its_lines_and_three_at_least():
    # 90 % and 9.9 % of 100 mutants, and 0.1 %, which is none.
    assert code_changes.shares({"search": 900, "web": 99, "top": 1}, 100) == {
        "search": 90,
        "web": 10,
        "top": 3,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--since", "no-such-commit"), "--since no-such-commit: fatal: "),
        (("--again", "old.jsonl"), "src/pnyx/stats/limits.py has changed since the table was"),
    ],
)
def test_a_commit_or_a_table_that_does_not_fit_is_refused(project, arguments, problem):
    mutant = {"room": "stats", "path": "src/pnyx/stats/limits.py", "line": 2}
    mutant |= {"operator": "NumberReplacer", "occurrence": 99}
    row = {"mutant": mutant, "outcome": {"state": "survived"}}
    (project / "old.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = run_tool(project, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


@pytest.mark.slow
def test_without_changed_lines_nothing_is_tried(project):
    done = run_tool(project, "--since", "HEAD")
    assert (done.returncode, done.stdout) == (0, "no line of src/pnyx changed since HEAD\n")
    assert not (project / "map").exists()
