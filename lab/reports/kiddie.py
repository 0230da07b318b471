"""The leaderboard of AutoJudge's kiddie data through `auto-judge run`, with the packaged workflow.

    pip install 'pnyx[autojudge]'
    export PNYX_DATA=...                                   # with reportgen/kiddie
    python lab/reports/kiddie.py --write docs/lab/reports.md

The data are four runs on five topics with a ground truth, all made up for trying programs. They
have no nugget bank, so the same run makes nuggets and qrels.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
from common import Report, arguments, interval_cell

from pnyx.formats import read_leaderboard, read_nugget_banks, read_qrels
from pnyx.reports.autojudge import workflow_path

PLACE = "reportgen/kiddie"
MEASURES = ("sentence_precision", "citation_precision", "citation_recall", "nugget_recall", "f1")


def judged(data: Path, folder: Path) -> Path:
    """Run `auto-judge` and return its folder of results."""
    runs = folder / "runs"
    runs.mkdir()
    for path in sorted(data.glob("run*.jsonl")):
        shutil.copy(path, runs)
    command = [
        Path(sys.executable).parent / "auto-judge",
        *("run", "--workflow", workflow_path()),
        *("--rag-responses", runs, "--rag-topics", data / "kiddie-topics.jsonl"),
        *("--out-dir", folder / "out"),
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return folder / "out"


def main() -> None:
    options = arguments(__doc__).parse_args()
    data = Path(os.environ.get("PNYX_DATA", "../shared/data")) / PLACE
    report = Report("reports kiddie")
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        out = judged(data, Path(folder))
        seconds = time.monotonic() - started
        results = json.loads((out / "default.pnyx.json").read_text())
        nuggets = sum(
            len(bank.nuggets) for bank in read_nugget_banks(str(out / "default.nuggets.jsonl"))
        )
        qrels = list(read_qrels(str(out / "default.qrels.txt")))
    truth = read_leaderboard(data / "kiddie_fake.eval.ir_measures.txt")
    fake = {row.run_id: row.value for row in truth.stated}
    report.line(
        f"Packaged variant, no language model, {seconds:.0f} s. Created: {nuggets} nuggets; judged "
        f"relevant: {sum(qrel.grade > 0 for qrel in qrels)} of {len(qrels)} cited documents."
    )
    report.head("run", *MEASURES, "made-up truth")
    for run in results["runs"]:
        figures = [interval_cell(run["measures"][name]) for name in MEASURES]
        report.row(run["run"], *figures, f"{fake[run['run']]:.3f}")
    items = [run["items"][name] for run in results["runs"] for name in MEASURES]
    scored, total = (sum(counts[key] for counts in items) for key in ("scored", "asked"))
    topics = {run["measures"][name]["scored"] for run in results["runs"] for name in MEASURES}
    report.line()
    report.line(
        f"Means over {'/'.join(map(str, sorted(topics)))} of 5 topics, with 95 % bootstrap "
        f"intervals over topics; {scored} of {total} items of these measures are scored."
    )
    report.write(options.write)


if __name__ == "__main__":
    main()
