"""The pytest fixture `pnyx_check`: it fails, skips or passes, and says why in words."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.interop.pytest_plugin import RequiredCheck

HEAVY = {"numpy", "pydantic", "rich", "click", "jinja2", "pnyx.audit", "pnyx.stats"}

TESTS = """
import pytest

def rows(wrong, count=60):
    return [
        {"verdict": "pass" if (n % 2) ^ (n < wrong) else "fail",
         "label": "pass" if n % 2 else "fail"}
        for n in range(count)
    ]

GOOD, POOR, OPEN = rows(1), rows(30), rows(8, 40)
NAMED = {"judge": "verdict", "human": "label"}

def test_good(pnyx_check):
    required = pnyx_check(GOOD, **NAMED)
    required.require()
    required.require(kappa=0.6, tpr=0.7)
    assert required.check.judges[0].name == "verdict"

def test_poor(pnyx_check):
    pnyx_check(POOR, **NAMED).require(kappa=0.6)

def test_open(pnyx_check):
    pnyx_check(OPEN, **NAMED).require(kappa=0.6)

def test_open_skipped(pnyx_check):
    pnyx_check(OPEN, **NAMED).require(kappa=0.6, undecided="skip")

def test_poor_is_not_skipped(pnyx_check):
    pnyx_check(POOR, **NAMED).require(kappa=0.6, undecided="skip")

def test_bars_of_the_check(pnyx_check):
    pnyx_check(OPEN, bars={"kappa": 0.1}, **NAMED).require()

def test_unknown_measure(pnyx_check):
    with pytest.raises(Exception, match="bar beauty: not measured here"):
        pnyx_check(GOOD, **NAMED).require(beauty=1)

def test_unknown_choice(pnyx_check):
    with pytest.raises(ValueError, match="undecided: found 'pass'"):
        pnyx_check(GOOD, **NAMED).require(undecided="pass")
"""


def test_the_fixture_passes_fails_and_skips_with_words(tmp_path: Path) -> None:
    plugin = "from pnyx.interop.pytest_plugin import pnyx_check\n"  # also where it is not installed
    (tmp_path / "conftest.py").write_text(plugin)
    (tmp_path / "test_judge.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    outcomes = {
        words[1].rpartition("::")[2]: words[0]
        for line in done.stdout.splitlines()
        if (words := line.split()) and "::" in line and words[0] in ("PASSED", "FAILED")
    }
    assert outcomes == {
        "test_good": "PASSED",
        "test_poor": "FAILED",
        "test_open": "FAILED",
        "test_poor_is_not_skipped": "FAILED",
        "test_bars_of_the_check": "PASSED",
        "test_unknown_measure": "PASSED",
        "test_unknown_choice": "PASSED",
    }, done.stdout
    assert "4 passed, 1 skipped" in done.stdout.replace("3 failed, ", "")
    assert "Of 30 answers that people passed, the judge passed 15" in done.stdout
    assert "Below the bar: kappa 0.00" in done.stdout
    assert "Cannot tell yet: kappa 0.60" in done.stdout
    assert "Traceback" not in done.stdout


def _rows(wrong: int, count: int = 60) -> list[dict[str, str]]:
    verdicts = ("pass", "fail")
    return [
        {"verdict": verdicts[(n % 2) ^ (n < wrong)], "label": verdicts[n % 2]} for n in range(count)
    ]


def _required(wrong: int, count: int = 60, **options: Any) -> RequiredCheck:
    table = _rows(wrong, count)
    return RequiredCheck(pnyx.check(table, judge="verdict", human="label", **options))


def test_a_check_passes_fails_or_is_skipped(pnyx_check: Any) -> None:
    by_fixture = pnyx_check(_rows(1), judge="verdict", human="label")
    assert str(by_fixture.check) == str(_required(1).check)
    _required(1).require(undecided="skip")
    _required(1).require(kappa=0.6, tpr=0.7)
    for undecided in ("fail", "skip"):
        with pytest.raises(pytest.fail.Exception, match=r"Below the bar: kappa 0\.00"):
            _required(30).require(kappa=0.6, undecided=undecided)
    with pytest.raises(pytest.fail.Exception, match=r"Cannot tell yet: kappa 0\.60"):
        _required(8, 40).require(kappa=0.6)
    with pytest.raises(pytest.skip.Exception, match=r"Cannot tell yet: kappa 0\.60"):
        _required(8, 40).require(kappa=0.6, undecided="skip")
    _required(8, 40, bars={"kappa": 0.1}).require()
    with pytest.raises(pytest.fail.Exception):
        _required(8, 40, bars={"kappa": 0.1}).require(kappa=0.6)
    with pytest.raises(ValueError, match="undecided: found 'pass', expected fail or skip"):
        _required(1).require(undecided="pass")  # type: ignore[arg-type]


def test_pytest_finds_the_fixture_and_starts_without_anything_heavy() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    module = project["project"]["entry-points"]["pytest11"]["pnyx"]
    program = f"import {module}, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout)) & HEAVY == set()
