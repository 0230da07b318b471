"""ConQRet's published train split: its size compared with the paper, and retrieval by titles.

    PNYX_DATA=DATA python lab/conqret/train.py --write docs/lab/conqret.md

All numbers come from `pnyx` commands. The texts of the documents are not published, so a document
is the title of a source as cited on the page. Nothing was chosen on these numbers.
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

from common import Report, arguments, interval_cell, run_pnyx  # noqa: E402

from pnyx.formats import read_qrels, write_qrels  # noqa: E402

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data")) / "conqret"
PAPER = {
    "topics": ("topics", "68"),
    "documents per topic": ("per_topic", "69"),
    "relevant documents per topic": ("relevant_per_topic", "34"),
    "relevant documents per stance": ("per_side", "17"),
    "topics with judged pairs": ("judged", "-"),
    "documents in pairs": ("documents", "-"),
    "sources on the pages": ("cited", "-"),
}
"""Row of Table 2 -> field of `pnyx build stats`, and the paper's value for the train split."""


def pnyx(*argv: object, as_json: bool = True) -> Any:
    """Run a command and return its JSON output."""
    done = run_pnyx(*argv, *(["--json"] if as_json else []))
    if done.returncode:
        sys.exit(f"pnyx {' '.join(map(str, argv))}: {done.stderr.strip()}")
    return json.loads(done.stdout) if as_json else None


def sizes(report: Report) -> None:
    stats = pnyx("build", "stats", DATA)
    train = stats["splits"]["train"]
    report.head("train split", "here", "paper, Table 2")
    for label, (field, paper) in PAPER.items():
        value = train[field]
        text = f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
        report.row(label, text, paper)
    words = stats["words"]
    report.line()
    report.line(
        f"Relevant pairs: {train['pro']:,} pro, {train['con']:,} con; documents that both sides of "
        f"a topic cite: {train['both_sides']}; irrelevant pairs: {train['irrelevant']:,}. Titles: "
        f"{words['documents']:,}, median {words['median']:.0f} words, longest {words['longest']}."
    )


def retrieval(report: Report, folder: Path) -> None:
    documents, index = folder / "documents.jsonl", folder / "index"
    pages = DATA / "procon_train_public.jsonl"
    pnyx("files", "convert", pages, "--format", "debate-sources", "--to", "jsonl", "-o", documents)
    pnyx("index", documents, "--out", index)
    qrels = list(read_qrels(str(DATA / "train_qrels.csv")))
    report.head("retriever", *(f"{side} {m}" for side in ("pro", "con", "either side") for m in
                               ("P@10", "nDCG@10")))  # fmt: skip
    for model in ("bm25", "dirichlet", "hybrid"):
        run = folder / f"{model}.run"
        topics = DATA / "train_queries.csv"
        search = ("search", index, "--topics", topics, "--model", model, "-k", 100, "--out", run)
        pnyx(*search, as_json=False)
        cells = []
        for sides in (("pro",), ("con",), ("pro", "con")):
            path = folder / "qrels"
            best = {(q.topic_id, q.doc_id): q for q in qrels if q.subtopic in sides}
            with path.open("w", encoding="utf-8") as stream:
                write_qrels(stream, best.values())
            measures = ("--measure", "P@10", "--measure", "nDCG@10")
            measured = pnyx("measure", "retrieval", run, "--qrels", path, *measures)
            values = measured["measures"]
            cells += [interval_cell(values[name]) for name in ("P@10", "nDCG@10")]
        report.row(model, *cells)


def judging(report: Report, folder: Path) -> None:
    report.head("packaged judge asked", "pairs", "relevant", "AUROC", "AP")
    asked_of = (
        ("about the topic", "none", "all"),
        ("for each stance, the negatives of other topics", "both", "irrelevant"),
        ("for each stance, the negatives of the other side", "both", "other-side"),
        ("for each stance, both", "both", "all"),
    )
    for question, stance, negatives in asked_of:
        name = f"{stance}-{negatives}"
        items, labels = folder / f"{name}.items", folder / f"{name}.labels"
        built = pnyx(
            "build", "pairs", DATA / "train_qrels.csv", "--topics", DATA / "train_queries.csv",
            "--documents", folder / "documents.jsonl", "--stance", stance,
            *(("--negatives", negatives) if stance != "none" else ()),
            "--out", items, "--labels", labels,
        )  # fmt: skip
        pnyx("judge", "relevance", items, "--out", folder / name)
        measured = pnyx("measure", folder / name, "--labels", labels)["measures"]
        cells = (interval_cell(measured[name]) for name in ("auroc", "average_precision"))
        report.row(question, f"{built['pairs']:,}", f"{built['relevant']:,}", *cells)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("conqret")
    sizes(report)
    with tempfile.TemporaryDirectory() as name:
        retrieval(report, Path(name))
        judging(report, Path(name))
    report.write(options.write)


if __name__ == "__main__":
    main()
