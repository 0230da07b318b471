"""Estimate the cost of 1 M, 113 M and 906 M passages and 690,000 labels by extrapolation.

    python lab/on_paper.py --write docs/lab/scaling.md
    ... --node-price .5 --disk-price .1    # dollars per node and hour, and per GB and month

Nothing is run: the measurements come from docs/lab/scaling.md, docs/recipes/opensearch.md and the
pages named below.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "judging")]

from common import Report, arguments  # noqa: E402

SIZES = {"1 M": 1_000_000, "113 M (MS MARCO v2.1)": 113_520_750, "906 M (Sphere)": 906_000_000}
HOURS = 730
"""In a month."""
NODE_CORES, NODE_DISK, FULL, COPIES = 8, 500e9, 0.7, 2
"""A node of the cluster: cores, disk, its maximum fill; copies of each shard (one replica)."""
SHARD = 50e9
"""Maximum bytes of a shard, as OpenSearch recommends."""

# docs/recipes/opensearch.md, one shard on two cores, with all features: documents -> value.
LOADING = {10_725: 7.9, 100_000: 73.9, 387_740: 244.3}
CLUSTER = {10_725: 40e6, 100_000: 369e6, 387_740: 1.432e9}
DENSE = {10_725: 0.040, 100_000: 0.256, 387_740: 0.8325}
EMBEDDED = 25.0
"""Documents of 175 words that one core embeds per second (docs/start/tour.md)."""

PAIRS = 3_000 * 100 * 2.3
STUDENT = 39.0
"""Pairs that two cores judge per second (docs/lab/perspective-detector.md)."""
LEFT = {"error .1": 1.0, "error .2": 0.27}
"""Share of the pairs that a cascade's first stage passes on (docs/lab/cascade.md)."""
CALLS = 268
DOLLARS = (0.0145869, 0.16566525)
TOKENS = (96_174, 354_035)
"""Lowest and highest cost of `pnyx judge support --plan` by gpt-4o-mini (docs/lab/scaling.md)."""
ENGINE = 0.00236
"""CPU seconds per call (docs/lab/judge-engine.md)."""


def line(points: dict[int, float], at: int) -> float:
    """Return the value at a size on the line through the two largest points."""
    (n, low), (m, high) = sorted(points.items())[-2:]
    return low + (high - low) * (at - n) / (m - n)


def measured(name: str, unit: str) -> dict[int, float]:
    """Return a row of the table in docs/lab/scaling.md: size -> the last number before a unit."""
    page = (HERE.parent / "docs" / "lab" / "scaling.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:-1] for row in page.splitlines() if row.startswith("|")]
    sizes = next(row[1:] for row in rows if row[1:] and row[1].strip() == "10,000")
    cells = next(row[1:] for row in rows if row[0].strip().startswith(name))
    numbers = [re.findall(rf"([\d.,]+) {unit}", cell)[-1].replace(",", "") for cell in cells]
    return {
        int(size.strip().replace(",", "")): float(value)
        for size, value in zip(sizes, numbers, strict=True)
    }


def span(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{1000 * seconds:,.0f} ms"


def gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 2e12 else f"{size / 1e12:,.1f} TB"


def searching(report: Report, node_price: float, disk_price: float) -> None:
    words, files = measured("index words", "s CPU"), measured("its files", "MB")
    building, serving = measured("index words", "MB"), measured("`pnyx serve`", "MB")
    asking = measured("1,000 topics", "ms CPU")
    report.head("", *SIZES)
    each = list(SIZES.values())

    def row(name: str, cells: list[str]) -> None:
        report.row(name, *cells)

    row("folder, words: files", [gigabytes(1e6 * line(files, n)) for n in each])
    row("folder: indexing, one core", [span(line(words, n)) for n in each])
    row("folder: memory of indexing", [gigabytes(1e6 * line(building, n)) for n in each])
    row("folder: CPU for a question, 1,000 documents", [span(line(asking, n) / 1e3) for n in each])
    row("folder: memory of `pnyx serve`", [gigabytes(1e6 * line(serving, n)) for n in each])
    row("embedding, one core", [span(n / EMBEDDED) for n in each])
    row("cluster with vectors: one copy", [gigabytes(line(CLUSTER, n)) for n in each])
    row("cluster: loading by one client", [span(line(LOADING, n)) for n in each])
    row("cluster: shards", [f"{math.ceil(line(CLUSTER, n) / SHARD):,}" for n in each])
    disks = [COPIES * line(CLUSTER, n) / FULL for n in each]
    nodes = [max(3, math.ceil(disk / NODE_DISK)) for disk in disks]
    row(f"cluster: nodes ({COPIES} copies)", [f"{count:,}" for count in nodes])
    hourly = [count * node_price * HOURS for count in nodes]
    monthly = [disk / 1e9 * disk_price for disk in disks]
    row(
        "cluster: dollars a month", [f"${a + b:,.0f}" for a, b in zip(hourly, monthly, strict=True)]
    )
    dense = [line(DENSE, n) for n in each]
    row("cluster: a dense question, exact, two cores", [span(seconds) for seconds in dense])
    cores = [count * NODE_CORES for count in nodes]
    spread = [
        span(2 * seconds / core_count) for seconds, core_count in zip(dense, cores, strict=True)
    ]
    row("cluster: a dense question, cores of all nodes", spread)
    embedded = [span(n / EMBEDDED / core_count) for n, core_count in zip(each, cores, strict=True)]
    row("embedding, cores of all nodes", embedded)


def labelling(report: Report, node_price: float) -> None:
    report.head(f"{PAIRS:,.0f} pairs", "calls", "dollars", "time")
    hours = PAIRS / STUDENT * 2 / NODE_CORES / 3_600
    report.row(
        "the packaged detector",
        0,
        f"${hours * node_price:,.2f}",
        f"{hours:,.1f} h on {NODE_CORES} cores",
    )
    shares = {"gpt-4o-mini alone": 1.0}
    shares |= {f"cascade before it, {name}": share for name, share in LEFT.items()}
    for name, share in shares.items():
        pairs = share * PAIRS
        low, high = (pairs / CALLS * price for price in DOLLARS)
        calls = f"{pairs:,.0f}"
        time = f"{span(pairs / 10)} at 10 calls a second; {span(pairs * ENGINE)} CPU here"
        report.row(name, calls, f"${low:,.0f} to ${high:,.0f}", time)
    low, high = (PAIRS / CALLS * tokens / 1e6 for tokens in TOKENS)
    report.line()
    report.line(f"The model alone reads {low:,.0f} to {high:,.0f} million tokens.")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--node-price", type=float, default=4 * 0.0816)
    parser.add_argument("--disk-price", type=float, default=0.08)
    options = parser.parse_args()
    report = Report("on paper")
    searching(report, options.node_price, options.disk_price)
    labelling(report, options.node_price)
    report.write(options.write)


if __name__ == "__main__":
    main()
