"""`pnyx serve` from the command line: what it refuses, and that it answers."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import httpx2
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from asking_fixture import VOTING, example_index
from page_fixture import served_by_command


@pytest.mark.parametrize("flags", [[], ["--mcp"]])
def test_what_is_no_index_is_one_line(call, own_place, tmp_path, flags):
    (tmp_path / "other").mkdir()
    for place in ("none", "other"):
        status, out, err = call("serve", place, *flags)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert place in err


def test_others_need_a_token_and_that_is_checked_first(call, own_place):
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        status, _, err = call("serve", "none", "--host", host)
        assert status == 2
        assert "others can reach this address" in err
        assert err.count("\n") == 1
    status, _, err = call("serve", "none", "--host", "0.0.0.0", "--token", "s")
    assert (status, "none" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "mu=5", "--model", "dense"], "mu"),
        pytest.param(["--set", "lambda=0.5"], "--set lambda requires", marks=pytest.mark.all),
        pytest.param(["--writer", "llm"], "--writer llm requires --llm", marks=pytest.mark.all),
        pytest.param(
            ["--budget", "1"], "--budget requires a language model", marks=pytest.mark.all
        ),
        pytest.param(["--examples", "none.jsonl"], "--examples", marks=pytest.mark.all),
    ],
)
def test_choices_that_cannot_be_are_refused_at_the_start(call, own_place, options, said):
    status, out, err = call("serve", example_index(), *options)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_it_answers_gets_ready_and_ends(own_place):
    args = ["serve", str(example_index()), "--model", "bm25"]
    with served_by_command(args, PNYX_TOKEN="s3cret") as (address, process):
        limit = time.monotonic() + 300
        while httpx2.get(f"{address}/healthz").json()["status"] != "ok":
            assert time.monotonic() < limit
            time.sleep(0.2)
        assert httpx2.get(f"{address}/v1/search", params={"q": VOTING}).status_code == 401
        headers = {"authorization": "Bearer s3cret"}
        found = httpx2.get(f"{address}/v1/search", params={"q": VOTING}, headers=headers).json()
        assert found["search"].startswith("bm25")
        page = httpx2.get(f"{address}/", headers=headers)
        assert not {"server", "date"} & set(page.headers)  # nothing about the software
        process.send_signal(signal.SIGINT)
        assert process.wait(120) in (0, 130)


@pytest.mark.all
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process in /proc")
def test_arguing_with_the_packaged_networks_keeps_memory_within_bounds(own_place):
    # Measured on two cores: 0.42 GB, 0.49 at its largest. Constants that ONNX Runtime folded when
    # it loaded the detector took 2 GB, and the process kept them.
    with served_by_command(["serve", str(example_index())], OMP_NUM_THREADS="1") as (
        address,
        process,
    ):
        said = httpx2.post(f"{address}/v1/argue", json={"question": VOTING}, timeout=300)
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    assert said.status_code == 200
    megabytes = {
        name: int(rest.split()[0]) / 1024
        for name, _, rest in (line.partition(":") for line in lines)
        if name in ("VmRSS", "VmHWM")
    }
    assert megabytes["VmRSS"] < 600
    assert megabytes["VmHWM"] < 900
