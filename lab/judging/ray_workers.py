"""How much faster do two Ray workers judge than one, each on a node with one core of this machine?

    python lab/judging/ray_workers.py --items 200 --rounds 3

Prints items per second of wall time and CPU seconds per item for one and two nodes, and whether the
answers are the same. The models are loaded before the measurement.
"""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import statistics
import time
from pathlib import Path

os.environ |= {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # the default 15 gives other work priority
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}

import ray
from ray.cluster_utils import Cluster

from pnyx.formats import load_example
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import PackagedJudge
from pnyx_ray.cluster import ray_cluster
from pnyx_ray.remote import RemoteJudge


def questions(count: int) -> list[Support]:
    example = load_example()
    views = itertools.cycle(example.perspectives)
    texts = itertools.cycle(enumerate(example.arguments))
    return [
        Support(f"i{n}", f"{number} {n} {passage.text}", next(views).text)
        for n, (number, passage) in zip(range(count), texts, strict=False)
    ]


def cpu() -> float:
    """Return the CPU seconds of all processes of Ray."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray" in (path / "cmdline").read_bytes():
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def measure(
    address: str, questions: list[Support], rounds: int
) -> tuple[float, float, list[object]]:
    with ray_cluster(address) as workers:
        judge = RemoteJudge(workers, PackagedJudge, "support")
        ask(judge, questions[: 16 * workers.count])  # loads the models
        rates, used = [], []
        for _ in range(rounds):
            begun, before = time.perf_counter(), cpu()
            answers = ask(judge, questions)
            rates.append(len(questions) / (time.perf_counter() - begun))
            used.append((cpu() - before) / len(questions))
        probabilities = [(answer.id, getattr(answer, "probability", None)) for answer in answers]
        return statistics.median(rates), statistics.median(used), list(probabilities)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    items = questions(chosen.items)
    results = {}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        for nodes in (1, 2):
            if nodes == 2:
                cluster.add_node(num_cpus=1)
            results[nodes] = measure(cluster.address, items, chosen.rounds)
            rate, used, _ = results[nodes]
            print(f"{nodes} node(s): {rate:.2f} items/s, {1000 * used:.0f} ms CPU an item")
    finally:
        cluster.shutdown()
    speed = results[2][0] / results[1][0] / 2
    same = results[1][2] == results[2][2]
    work = results[1][1] / results[2][1]
    print(f"efficiency of two nodes: {speed:.2f} by the wall, {work:.2f} by CPU an item")
    print(f"the same answers: {same}; Ray {ray.__version__}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
