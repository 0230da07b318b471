"""How well do judges of argument quality agree with experts? Dagstuhl-15512, as in ConQRet.

    python lab/quality/dagstuhl.py                                  # novices against experts
    ... --llm local --seconds 600                                          # and a language model
    ... --llm http://127.0.0.1:8000/v1#m --samples 3 [--format pointwise]
    ... --write docs/lab/judging-quality.md

Data: $PNYX_DATA/dagstuhl. `dg_scores_4dims.csv` has one expert value (1 to 3) for each argument on
four dimensions; `novice_annotations_long.csv` has the ratings of novices on eleven dimensions,
three of which are the same (Mirzakhmedova et al. 2024). The table of three experts by fifteen
dimensions, the crowd's and the published models' ratings are not available, so the other rows of
ConQRet's Table 5 cannot be recomputed.

Agreement is Krippendorff's alpha of two raters, the judge (or the mean or the median of the
novices) and the expert value, with 95 % percentile intervals from resampled arguments. Arguments
are judged in a fixed random order; `--seconds` stops between two blocks, so n depends only on the
time, not on the answers. With `--shots`, the examples come from a fifth of the arguments, chosen by
a hash of their ids, and the others are judged. Ratings on other scales are mapped to 1 to 3.
Replies are stored, so a second run asks nothing again.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
from common import Report, arguments

from pnyx.judging import Rating, ask, measure_agreement
from pnyx.judging.answers import Unscored, answer_rows
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.format_options import FormatSpec
from pnyx.judging.open_judge import open_judge
from pnyx.judging.options import JudgeSpec
from pnyx.judging.tasks import TASKS
from pnyx.stats.base import Measured

COLUMNS = {
    "local_acceptability": "LocalAcceptability",
    "local_relevance": "LocalRelevance",
    "local_sufficiency": "LocalSufficiency",
    "cogency": "Cogency",
}
"""Dimension -> column of the experts' table, in the order of the taxonomy."""

PUBLISHED = {"local_acceptability": 0.293, "local_relevance": 0.305, "local_sufficiency": 0.091}
"""Interval alpha of the novices' mean with the experts over 304 arguments (the data's README)."""

LEVELS = ("nominal", "ordinal", "interval")
LOW, HIGH = 1.0, 3.0


def read_experts(folder: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the texts by id, and the experts' labels."""
    with (folder / "dg_scores_4dims.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    labels = [
        {"id": row["arg_id"], "dimension": name, "value": int(row[column])}
        for row in rows
        for name, column in COLUMNS.items()
    ]
    return {row["arg_id"]: row["Text"] for row in rows}, labels


def read_novices(folder: Path) -> dict[tuple[str, str], list[int]]:
    """Return the novices' ratings by argument and dimension, without "?"."""
    ratings = defaultdict(list)
    with (folder / "novice_annotations_long.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["rating"] in "123":
                name = row["dimension"].replace("-", "_")
                ratings[row["argument_id"], name].append(int(row["rating"]))
    return ratings


def novice_rows(
    ratings: Mapping[tuple[str, str], Sequence[int]], how: str
) -> Iterator[dict[str, Any]]:
    """Yield the novices' ratings as answers of one judge, with the ids of the experts' table."""
    for (identifier, name), values in ratings.items():
        if name in COLUMNS:
            value = statistics.fmean(values) if how == "mean" else statistics.median_low(values)
            yield _row(identifier, name, value, None, f"novices, {how}")


def _row(
    identifier: str, name: str, value: float | None, unscored: str | None, judge: str
) -> dict[str, Any]:
    row = {"id": identifier, "task": "quality", "dimension": name, "value": value}
    return {**row, "unscored": unscored, "judge": judge, "prompt_hash": ""}


def judged(
    texts: Mapping[str, str], labels: Sequence[Mapping[str, Any]], args: argparse.Namespace
) -> tuple[list[dict[str, Any]], float, int]:
    """Return a model's answers as rows, the seconds that it took, and the number of calls."""
    order = sorted(texts, key=_hash)
    example_ids = order[: len(order) // 5] if args.shots else []
    judged_ids = order[len(example_ids) :][: args.limit]
    names = tuple(dimensions_of("quality")) if args.dimensions == "all" else tuple(COLUMNS)
    questions = [Rating(name, texts[name], names, (LOW, HIGH)) for name in judged_ids]
    spec = JudgeSpec(
        judge=tuple(args.llm), store=args.store, samples=args.samples, combine=args.combine,
        timeout=3600.0, concurrency=args.concurrency,
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        examples = _examples(Path(folder), example_ids, texts, labels) if args.shots else None
        form_spec = FormatSpec(
            format=args.format, scale=args.scale, shots=args.shots, examples=examples
        )
        task = TASKS["quality"]
        form = form_spec.chosen(task, spec)
        ready = form_spec.shaped(task, questions, form)
        begun = time.monotonic()
        with open_judge(task, spec, _say, form=form) as opened:
            for start in range(0, len(ready), args.block):
                if time.monotonic() - begun >= args.seconds:
                    break
                for answer in ask(opened.judge, ready[start : start + args.block]):
                    assert answer.question is not None
                    rows += _on_their_scale(answer_rows(answer.question, answer))
                    if isinstance(answer, Unscored):
                        _say(f"{answer.id}: {answer.reason[:120]}")
            calls = sum(model.counts.asked for model in opened.models)
    return rows, time.monotonic() - begun, calls


def _examples(
    folder: Path,
    chosen: Sequence[str],
    texts: Mapping[str, str],
    labels: Sequence[Mapping[str, Any]],
) -> str:
    """Write the arguments for examples with the experts' ratings; return the path."""
    ratings: dict[str, dict[str, float]] = defaultdict(dict)
    for label in labels:
        ratings[label["id"]][label["dimension"]] = label["value"]
    lines = [
        json.dumps({"id": name, "text": texts[name], "ratings": ratings[name]}) for name in chosen
    ]
    path = folder / "examples.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _on_their_scale(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return answers on the experts' scale."""
    rated = [row for row in rows if row["dimension"] in COLUMNS]
    for row in rated:
        if row["value"] is not None:
            row["value"] = round(LOW + (HIGH - LOW) * row["normalised"], 6)
    return rated


def _hash(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# The table ---------------------------------------------------------------------------------------


def table(
    report: Report,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    labels: Sequence[Mapping[str, Any]],
) -> None:
    """Report the rows of one judge: alphas by dimension, and their mean."""
    answered = {(row["id"], row["dimension"]) for row in rows}
    judged_labels = [label for label in labels if (label["id"], label["dimension"]) in answered]
    agreement = measure_agreement(rows, judged_labels, "quality")
    by_dimension = {d: agreement.per_dimension[d] for d in COLUMNS if d in agreement.per_dimension}
    for dimension, cells in {**by_dimension, "mean": agreement.dimension_mean}.items():
        measured = cells["alpha_interval"]
        alphas = [_shown(cells[f"alpha_{level}"]) for level in LEVELS]
        scored = f"{measured.scored} of {measured.asked}"
        report.row(name, dimension.replace("_", " "), *alphas, scored)


def _shown(measured: Measured) -> str:
    if measured.value is None:
        return "undefined"
    bounds = "" if measured.low is None else f" [{measured.low:.3f}, {measured.high:.3f}]"
    return f"{measured.value:.3f}{bounds}"


def main() -> None:
    """Print the table."""
    args = _arguments()
    folder = Path(args.data) / "dagstuhl"
    texts, labels = read_experts(folder)
    novices = read_novices(folder)
    report = Report("judging quality")
    report.line(f"{len(texts)} arguments, one expert value each on {len(COLUMNS)} dimensions.")
    published = [f"{name.replace('_', ' ')} {value:.3f}" for name, value in PUBLISHED.items()]
    report.line(f"Of 304 arguments, the novices' mean, interval: {', '.join(published)}.")
    rows: list[dict[str, Any]] = []
    if args.llm:
        rows, seconds, calls = judged(texts, labels, args)
        report.line(_about(rows, seconds, calls, args))
    report.head("judge", "dimension", *LEVELS, "scored")
    for how in ("mean", "median"):
        table(report, f"novices, {how}", list(novice_rows(novices, how)), labels)
    if rows:
        table(report, rows[0]["judge"], rows, labels)
    report.write(args.write)


def _about(
    rows: Sequence[Mapping[str, Any]], seconds: float, calls: int, args: argparse.Namespace
) -> str:
    """Describe the questions to a model and the distribution of its values."""
    count = len({row["id"] for row in rows})
    values = Counter(row["value"] for row in rows)
    distribution = ", ".join(
        f"{'unscored' if value is None else f'{value:g}'} {n} times"
        for value, n in sorted(values.items(), key=lambda pair: (pair[0] is None, pair[0]))
    )
    how = f"{args.format}, scale {args.scale or 3}, {args.shots} shots, {args.samples} samples"
    what = "all 15" if args.dimensions == "all" else "the 4 labelled"
    took = f"{calls} calls in {seconds:.0f} s, the others from the store"
    return (
        f"{rows[0]['judge']}: {how}, asked about {what} dimensions of {count} arguments; {took}. "
        f"It gave {distribution}."
    )


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--data", default=os.environ.get("PNYX_DATA", "data"))
    parser.add_argument("--llm", action="append", default=[])
    parser.add_argument("--store")
    parser.add_argument("--format", choices=("listwise", "pointwise"), default="listwise")
    parser.add_argument("--scale", choices=("3", "5", "boolean"))
    parser.add_argument("--shots", type=int, default=0)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--combine", choices=("auto", "mean", "majority"), default="auto")
    parser.add_argument("--dimensions", choices=("all", "labelled"), default="all")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--block", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
