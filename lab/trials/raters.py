"""Agreement among people, and of a language model with assessors, on published labels.

    PNYX_DATA=DATA python lab/trials/raters.py
    ... --write docs/lab/trials.md   # updates its section

TREC RAG 2025: the official relevance grades (0 to 4) of topics and passages, compared with those of
a language model (umbrela). Dagstuhl-15512 ArgQuality: the experts' value for each argument and
dimension, compared with the mean of the novices' ratings; and the agreement among novices.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.display.tables import number
from pnyx.display.trials import figure
from pnyx.judging import measure_raters

DIMENSIONS = {
    "LocalAcceptability": "local-acceptability",
    "LocalRelevance": "local-relevance",
    "LocalSufficiency": "local-sufficiency",
}
"""Experts' column -> the novices' name of the dimension."""
SHOWN = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "accuracy", "kappa", "spearman")


def qrels(path: Path, least: int | None) -> Iterator[dict[str, Any]]:
    """Yield the labels of a qrels file: grades, or (with `least`) yes from that grade on."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            topic, _, document, grade = line.split()
            value = int(grade) if least is None else int(grade) >= least
            yield {"id": f"{topic} {document}", "value": value, "group": topic}


def experts(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            for column, name in DIMENSIONS.items():
                yield {
                    "id": row["arg_id"].removeprefix("arg"),
                    "dimension": name,
                    "value": float(row[column]),
                }


def novices(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the novices' ratings, without "?"."""
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["rating"] in ("1", "2", "3") and row["dimension"] in DIMENSIONS.values():
                yield {
                    "id": row["argument_id"].removeprefix("arg"),
                    "dimension": row["dimension"],
                    "value": int(row["rating"]),
                    "annotator": row["annotator"],
                }


def cell(row: Mapping[str, Any]) -> str:
    measured = figure(row)
    bounds = "" if measured.low is None else f" [{number(measured.low)}, {number(measured.high)}]"
    return f"{number(measured.value)}{bounds}"


def main() -> None:
    options = arguments(__doc__).parse_args()
    data = Path(os.environ["PNYX_DATA"])
    report = Report("trial raters")
    folder = data / "reportgen/trec_rag25_dev"
    report.head("assessors and a language model", *SHOWN, "pairs, topics")
    for name, least in (("grades 0 to 4", None), ("relevant from 2", 2)):
        files = [folder / "qrels.rag25.test.txt.gz", folder / "qrels.rag25.test-umbrela2.txt.gz"]
        agreement = measure_raters(None, [list(qrels(path, least)) for path in files])
        (row,) = (table.row() for table in agreement.compared)
        items = row["per_dimension"][""]["accuracy"]["scored"]
        report.row(name, *(cell(row["mean"][m]) for m in SHOWN), f"{items:,}, {agreement.clusters}")
    folder = data / "dagstuhl"
    people = [list(experts(folder / "dg_scores_4dims.csv")),
              list(novices(folder / "novice_annotations_long.csv"))]  # fmt: skip
    for row in (table.row() for table in measure_raters(None, people).compared):
        who = "novices" if row["kind"] == "raters" else "novices' mean and experts"
        report.head(f"{who}, {row['raters']} raters", *SHOWN, "arguments")
        for name, measures in row["per_dimension"].items():
            items = measures["alpha_interval"]["scored"]
            report.row(name, *(cell(measures[m]) for m in SHOWN), items)
        report.row("mean", *(cell(row["mean"][m]) for m in SHOWN), "")
    report.write(options.write)


if __name__ == "__main__":
    main()
