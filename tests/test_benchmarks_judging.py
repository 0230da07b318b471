"""Each benchmark of the judge engine runs at toy size and prints its table."""

import csv
import importlib
import os
import re
import runpy
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pnyx.formats.bundled_example import load_example

FOLDER = Path(__file__).parents[1] / "lab" / "judging"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not in this copy")


def narrowed(lines):
    """Return lines with tables that fit a page, as a benchmark writes them."""
    return runpy.run_path(str(FOLDER / "narrow_tables.py"))["narrowed"](lines)


@pytest.fixture
def bench(monkeypatch):
    """Import a benchmark as it is when run as a script, and forget it afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def table(tmp_path, script, *options):
    """Run a benchmark and return the cells of its table's rows, and all that it printed."""
    page = tmp_path / "page.md"
    name = script.removesuffix(".py")
    first, last = f"<!-- judging {name} -->", f"<!-- end of judging {name} -->"
    page.write_text(f"before\n{first}\nold\n{last}\nafter\n")
    done = subprocess.run(
        [sys.executable, FOLDER / script, *options, "--write", page],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PNYX_STORE": str(tmp_path / "unused.sqlite")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = page.read_text()
    body = "\n".join(narrowed(done.stdout.strip().splitlines()))
    assert written == f"before\n{first}\n{body}\n{last}\nafter\n"
    assert not (tmp_path / "unused.sqlite").exists()
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line[:2] == "| "]
    assert len({len(row) for row in rows}) == 1
    assert re.match(r"20\d\d-\d\d-\d\dT.* UTC; .* cores, .*Python .*pnyx ", done.stdout)
    return rows[1:], done.stdout


@pytest.mark.all
def test_overhead(tmp_path):
    rows, _ = table(
        tmp_path, "overhead.py", "--questions", "20", "--repeats", "1", "--peers", "pnyx", "httpx2"
    )
    assert [row[0] for row in rows] == ["pnyx.ask, LlmJudge, store on disk", "bare httpx2"]
    for row in rows:
        assert row[1] == "20"
        assert float(row[2].replace(",", "")) > 0
        assert float(row[3]) > 0


@pytest.mark.all
@pytest.mark.parametrize(("case", "refuses"), [("2", False), ("6", True)])
def test_saturation(tmp_path, case, refuses):
    rows, _ = table(
        tmp_path,
        "saturation.py",
        *("--questions", "60", "--cases", case, "--clients", "pnyx", "--concurrency", "32"),
    )
    ((server, client, whole, _, _, refused, _, lost),) = rows
    assert server.startswith("4 × 20 ms")
    assert client == "pnyx"
    assert 0 < float(whole.rstrip("%")) <= 100
    assert (int(refused) > 0) == refuses
    assert lost == "0"


@pytest.mark.all
def test_resume(tmp_path):
    rows, printed = table(tmp_path, "resume.py", "--questions", "200")
    calls = {row[0]: int(row[1]) for row in rows}
    assert calls["first"] == 200
    assert calls["again, same store"] == 0
    assert [row[4] for row in rows if row[0] in ("again, same store", "resumed")] == [
        "identical",
        "identical",
    ]
    assert 200 <= calls["killed half way"] + calls["resumed"] <= 232
    assert "DIFFERENT" not in printed


def test_a_failing_peer_is_reported(tmp_path, bench):
    """A client that cannot run leaves its last words, which its row shows."""
    job = {"client": "pnyx", "url": "", "work": ["absent.jsonl"], "concurrency": 1}
    found = bench("common").run_client(sys.executable, job | {"folder": str(tmp_path)}, 60)
    assert found["error"].startswith("FileNotFoundError")


@pytest.mark.all
def test_tokens_counts_agreement(tmp_path, bench, monkeypatch):
    """The figures of agreement, by a table worked by hand: 20 yes-yes, 5, 10, 15 no-no."""
    tokens = bench("tokens")
    one = [True] * 25 + [False] * 25
    two = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert tokens.kappa(one, two) == pytest.approx(0.4)  # (0.7 - 0.5) / (1 - 0.5)
    assert tokens.kappa([True, True], [True, True]) is None
    example = load_example()
    few = replace(example, arguments=example.arguments[:12])  # those of the first question
    monkeypatch.setattr(tokens, "load_example", lambda: few)
    pairs = tokens.reports(1, tmp_path)
    assert len(pairs) == 1
    assert pairs[0].nuggets
    assert pairs[0].attestation
    prompt = tokens.batched_prompt()
    assert prompt.form == "verdict-direct"
    assert "statements" in prompt.inputs


def test_the_peers_get_one_table_of_known_counts(tmp_path, bench):
    """16 answers that people pass, of which the judge passes 9; 104 that they fail, of which 75."""
    assert bench("peer_tables").write_tables(tmp_path) == pytest.approx(0.15)
    with (tmp_path / "results.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    counts = Counter((row["label"], row["verdict"]) for row in rows)
    assert counts == {
        ("pass", "pass"): 9,
        ("pass", "fail"): 7,
        ("fail", "fail"): 75,
        ("fail", "pass"): 29,
    }
    assert set(Counter(row["question"] for row in rows).values()) == {8}
    with (tmp_path / "all.csv").open() as stream:
        assert sum(row["label"] == "" for row in csv.DictReader(stream)) == 480


@pytest.mark.parametrize(
    ("line", "figure"),
    [
        ("kappa 0.1793", (0.1793, None, None)),
        ("kappa 0.18 0.01 0.35", (0.18, 0.01, 0.35)),
        ("  kappa:  0.18 [-0.01, 0.35] (ppi++)", (0.18, -0.01, 0.35)),
    ],
)
def test_figures_are_read_from_what_a_peer_prints(bench, line, figure):
    results = bench("peer_results")
    assert results._stated(f"first 1\n{line}\n", {"kappa": "kappa"})["kappa"] == figure
    with pytest.raises(ValueError, match="no figure"):
        results._stated(line, {"kappa": "rate"})


@pytest.mark.all
@pytest.mark.slow
def test_a_peer_that_cannot_be_installed_is_listed_with_the_reason_of_pip(tmp_path, bench):
    peers = bench("peers")
    absent = peers.Peer("./absent", (), "no", "no")
    outcome = peers.outcome_of(absent, tmp_path, tmp_path, Namespace(smoke=False, repeats=1))
    assert outcome.failure.startswith("not installed: ERROR: ")
    assert "absent" in outcome.failure


@pytest.mark.slow
def test_a_peer_that_fails_is_listed_with_its_error(tmp_path, bench):
    peers = bench("peers")
    broken = peers.Peer("judgy", ("python rate.py",), "no", "no")
    (outcome,) = [peers.try_peer(broken, tmp_path, sys.executable, 1)]
    assert outcome.failure == "ModuleNotFoundError: No module named 'judgy'"


def test_a_peer_that_does_not_end_is_listed_with_the_limit(tmp_path, bench, monkeypatch):
    peers = bench("peers")
    monkeypatch.setattr(peers, "TIMEOUT", 0.5)
    endless = peers.Peer("judgy", ("python -c 'import time; time.sleep(60)'",), "no", "no")
    outcome = peers.try_peer(endless, tmp_path, sys.executable, 1)
    assert outcome.failure == "not finished after 0.5 s"


def test_samples_of_checks_have_the_kappa_and_the_error_that_they_claim(bench):
    """The true kappa is that of many questions; its naive error is right of independent answers."""
    samples, rng = bench("check_samples"), np.random.default_rng(1)
    rows = list(samples.Judge(0.6, 0.2, 0.2).rows(rng, [4] * 8_000))
    assert samples.naive_kappa(rows)[0] == pytest.approx(0.6, abs=0.02)
    assert len({row.group for row in rows}) == 8_000
    judge = samples.Judge(0.6, 0.5, 0.0)
    drawn = [samples.naive_kappa(judge.rows(rng, [20] * 5)) for _ in range(400)]
    values, errors = np.array(drawn).T
    assert values.std() == pytest.approx(errors.mean(), rel=0.12)
    assert samples.sizes_of(300, 5, uneven=True) == [131, 66, 44, 33, 26]
    assert samples.sizes_of(100, 30) == [3] * 30


def test_a_table_of_more_than_six_columns_is_turned_or_split():
    few = ["text", "| a | b | c | d | e | f | g |", "|---|---:|---:|---:|---:|---:|---:|"]
    few += ["| x | 1 | 2 | 3 | 4 | 5 | 6\\|7 |", "| y | 1 | | 3 | 4 | 5 | 6 |", "text"]
    turned = ["| a | x | y |", "| --- | ---: | ---: |", "| b | 1 | 1 |", "| c | 2 | |"]
    turned += ["| d | 3 | 3 |", "| e | 4 | 4 |", "| f | 5 | 5 |", "| g | 6\\|7 | 6 |"]
    assert narrowed(few) == ["text", *turned, "text"]
    fits = ["| a | b | c | d | e | f |", "|---|---|---|---|---|---|", "| x | 1 | 2 | 3 | 4 | 5 |"]
    assert narrowed(fits) == fits
    rows = [f"| {n // 2} | {n % 2} | 1 | 2 | 3 | 4 | 5 |" for n in range(6)]  # two labels
    split = narrowed(["| a | b | c | d | e | f | g |", "|---|---|--:|--:|--:|--:|--:|", *rows])
    head = ["| a | b | c | d | e |", "| --- | --- | --: | --: | --: |"]
    assert split[:3] == [*head, "| 0 | 0 | 1 | 2 | 3 |"]
    assert split[8:12] == [
        "",
        "| a | b | f | g |",
        "| --- | --- | --: | --: |",
        "| 0 | 0 | 4 | 5 |",
    ]
