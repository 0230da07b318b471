"""Validate published nugget banks, and convert them to every dialect and back.

    PNYX_DATA=DATA python lab/reports/banks.py --write docs/lab/reports.md

The files are three submissions to RAGTIME 2026's nugget task (BiTeM, HES-SO Geneva) and the nuggets
of TREC RAG 2025's development topics. The commands are `pnyx files validate` and
`pnyx files convert`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "lab" / "judging")]

from common import Report, arguments, run_pnyx  # noqa: E402

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data")) / "reportgen"
FILES = (
    *(DATA / "ragtime26_bitem" / f"T3_run_{number}.jsonl" for number in (1, 2, 3)),
    DATA / "trec_rag25_dev" / "rag25-dev-nuggets.jsonl",
)
DIALECTS = ("nuggetbank-v3", "ragtime26-nuggets", "nuggetizer", "rag25-nuggets")


def pnyx(*argv: object) -> dict[str, Any]:
    """Run a command and return its JSON output; empty if the dialect cannot represent the file."""
    done = run_pnyx(*argv, "--json")
    if "cannot hold it" in done.stderr + done.stdout:
        return {}
    if done.returncode:
        sys.exit(f"pnyx {' '.join(map(str, argv))}: {done.stdout}{done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(path: Path) -> list[int]:
    """Return the number of banks, nuggets, unanswerable nuggets, answers and references."""
    banks = rows(path)
    nuggets = [nugget for bank in banks for nugget in bank.get("nugget_bank") or bank["nuggets"]]
    answers = [answer for nugget in nuggets for answer in nugget.get("answers", ())]
    empty = sum(nugget.get("answers") == [] for nugget in nuggets)
    references = sum(len(answer["references"]) for answer in answers)
    return [len(banks), len(nuggets), empty, len(answers), references]


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("nugget banks")
    valid = {path: pnyx("files", "validate", path) for path in FILES}
    report.head(
        "file", "format", "faults", "banks", "nuggets", "unanswerable", "answers", "references"
    )
    for path, validated in valid.items():
        numbers = (f"{count:,}" for count in counts(path))
        report.row(f"`{path.name}`", validated["format"], validated["fault_count"], *numbers)
    report.head("there and back: equal objects", *DIALECTS)
    with tempfile.TemporaryDirectory() as name:
        there, back = Path(name, "there.jsonl"), Path(name, "back.jsonl")
        for path in FILES:
            cells = []
            for dialect in DIALECTS:
                if not pnyx("files", "convert", path, "--to", dialect, "-o", there):
                    cells.append("refused")
                    continue
                pnyx("files", "convert", there, "--to", valid[path]["format"], "-o", back)
                pairs = list(zip(rows(path), rows(back), strict=True))
                same = sum(left == right for left, right in pairs)
                bytes_too = path.read_bytes() == back.read_bytes()
                cells.append(f"{same} of {len(pairs)}{', byte for byte' if bytes_too else ''}")
            report.row(f"`{path.name}`", *cells)
    report.write(options.write)


if __name__ == "__main__":
    main()
