"""`--engine ray`: answers by Ray's workers are those of one process; nothing is done twice."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import caller, rows_of, wait_for, write_rows
from pnyx.core.plugins import plugins
from pnyx.formats import load_example

pytestmark = [
    pytest.mark.usefixtures("own_place"),
    pytest.mark.skipif(not plugins("workers"), reason="pnyx-ray is not installed"),
]
call = caller()
HAS_RAY = importlib.util.find_spec("ray") is not None
with_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed")


def items(count, each=5):
    """Write items, some on each text, of texts that share passages."""
    passages = load_example().arguments
    return write_rows(
        "items.jsonl",
        (
            {
                "id": f"i{n}",
                "text": f"{passages[n // each % 40].text} {n // each}",
                "statement": passages[n % 31].text[:60],
            }
            for n in range(count)
        ),
    )


def pnyx(*arguments, **more):
    """Run `pnyx ARGUMENTS` in a process of its own: Ray is started once in a process."""
    command = [sys.executable, "-m", "pnyx", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def of_ray(parent):
    """Return Ray's processes below one, by pid."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = path.read_text().rsplit(")", 1)
        except OSError:
            continue
        found[int(path.parent.name)] = (name.partition("(")[2], int(fields.split()[1]))
    below = {parent}
    while more := {pid for pid, (_, above) in found.items() if above in below} - below:
        below |= more
    return {pid: found[pid][0] for pid in below - {parent}}


@pytest.mark.parametrize("engine", ["spark", "ray://", "ray://user:secret@host:1", "host", "a b:1"])
def test_an_engine_that_is_none_is_one_line(engine, call):
    code, _, said = call("judge", "support", items(4), "--set", f"engine={engine}", "--out", "o")
    assert (code, said.count("\n")) == (2, 1)
    assert "expected ray, ray://HOST:10001 or HOST:PORT" in said
    assert "secret" not in said


@with_ray
@pytest.mark.all
def test_a_cluster_that_is_not_there_is_one_line(call):
    code, _, said = call("judge", "support", items(4), "--set", "engine=127.0.0.1:9", "--out", "o")
    assert code == 2
    assert "Ray cannot be reached at 127.0.0.1:9" in said


@with_ray
@pytest.mark.all
def test_ray_writes_the_same_files_on_loopback_alone():
    path = items(60)
    assert pnyx("judge", "support", path, "--out", "one").returncode == 0
    done = pnyx("judge", "support", path, "--out", "ray", "--set", "engine=ray", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["scored"] == 60
    assert Path("one/answers.jsonl").read_bytes() == Path("ray/answers.jsonl").read_bytes()


SEES_CONNECTIONS = """
import sys

def noted(event, arguments):
    place = {{"socket.connect": 1, "socket.getaddrinfo": 0}}.get(event)
    if place is not None:
        with open({log!r}, "a") as log:
            log.write(f"{{event}} {{arguments[place]}}\\n")

sys.addaudithook(noted)
"""
"""sitecustomize.py that writes down what a process and its children connect to and look up."""


@with_ray
@pytest.mark.slow
def test_ray_on_one_machine_asks_no_cloud_who_hosts_it(tmp_path):
    """Its usage reporter asks 169.254.169.254 and metadata.google.internal, off as it is."""
    log = tmp_path / "connections"
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(SEES_CONNECTIONS.format(log=str(log)))
    paths = [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    script = "from pnyx_ray.cluster import ray_cluster\n"
    script += "with ray_cluster('ray') as cluster: print(cluster.map(len, [('ab',)]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          check=False, env=environment)  # fmt: skip
    assert done.stdout == "[2]\n", done.stderr
    assert done.stderr == ""
    seen = log.read_text().splitlines()
    assert any("127.0.0.1" in line for line in seen)  # Ray's own processes are seen
    away = [line for line in seen if "127.0.0.1" not in line and "localhost" not in line]
    assert [line for line in away if "/" not in line] == []  # but sockets with a path


@with_ray
@pytest.mark.all
def test_vectors_and_qualities_by_ray_are_the_same():
    rows = ({"id": a.id, "text": a.text} for a in load_example().arguments)
    corpus = write_rows("c.jsonl", rows)
    for out, more in (("one", []), ("ray", ["--engine", "ray"])):
        done = pnyx("index", corpus, "--out", out, *more)
        assert done.returncode == 0, done.stderr
    names = {path.relative_to("one") for path in Path("one").rglob("*") if "feature" in path.name}
    assert len(names) == 2
    for name in names:
        assert (Path("one") / name).read_bytes() == (Path("ray") / name).read_bytes()


def open_ports(pids):
    """Return the addresses at which processes listen."""
    sockets = set()
    for pid in pids:
        for fd in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(fd.readlink())
            except OSError:
                continue
            sockets.add(target.removeprefix("socket:[").removesuffix("]"))
    tables = [Path(f"/proc/net/{kind}").read_text().splitlines() for kind in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    return {line[1].split(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets}


@with_ray
@pytest.mark.all
def test_killed_workers_and_a_killed_driver_lose_nothing():
    path = items(160)
    command = [sys.executable, "-m", "pnyx", "judge", "support", path, "--set", "engine=ray"]
    known = Path("out/answers.jsonl.partial/answers.jsonl")

    def count():
        return len(known.read_bytes().splitlines()) if known.exists() else 0

    with subprocess.Popen([*command, "--out", "out"], stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: count() > 0, 300)
        ray = of_ray(process.pid)
        loopback = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
        assert open_ports(ray) <= loopback
        for pid, name in ray.items():
            if name in ("ray::_work", "ray::IDLE"):  # its workers; the rest is one node
                os.kill(pid, signal.SIGKILL)
        before = count()
        wait_for(lambda: count() > before + 30 or process.poll() is not None, 300)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    kept = count()
    assert 0 < kept < 160
    again = pnyx(*command[3:], "--out", "out")
    assert again.returncode == 0, again.stderr
    assert f"{kept} items are answered already" in again.stderr
    assert [row["id"] for row in rows_of("out")] == [f"i{n}" for n in range(160)]
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ray), 60)
