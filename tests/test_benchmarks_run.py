"""The benchmarks that need no data of others run on little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "lab"

COMMANDS = (
    "whole.py --smoke",
    "by_size.py --sizes 300",
    "search/speed.py --documents 100 --queries 5 --engines pnyx pnyx-hits",
    "search/touche.py --documents 100 --queries 3",
    "judging/check_simulation.py --smoke",
    "judging/endpoint.py --calls 20",
    "judging/peers.py --smoke",
    "judging/resume.py --questions 20 --latency 0",
    "judging/saturation.py --questions 20 --concurrency 4 --cases 0",
    "perspectives/correction.py --repeats 2 --topics 10 --questions 8",
    "trials/intervals.py --repeats 2",
    "reports/parts.py",
    "reports/negatives.py",
    "web/view_speed.py --runs 3 --topics 5 --judgements 100 --count 2",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.all,
    pytest.mark.skipif(not ROOT.exists(), reason="they are not in this copy"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_benchmark_runs(command, tmp_path):
    name, *options = command.split()
    if name.startswith("search/"):
        pytest.importorskip("numba", reason="the extra fast is not installed")
    environment = {k: v for k, v in os.environ.items() if k not in ("PNYX_DATA", "PNYX_LLM")}
    ran = subprocess.run(
        [sys.executable, str(ROOT / name), *options],
        cwd=tmp_path,
        env=environment | {"PNYX_STORE": str(tmp_path / "store.sqlite")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.count("|") > 4 or len(ran.stdout.splitlines()) > 1
    assert "failed: " not in ran.stdout
