"""How well the stated rules tell sentences that say that something is not known.

    git show b86b656:src/pnyx/judge/reports/rules.toml > /tmp/rules-1.toml
    python lab/reports/negatives.py --before /tmp/rules-1.toml \
        --write docs/lab/reports.md
    python lab/reports/negatives.py --misses        # what is wrong on the development half

The sentences are in `negatives.tsv`: half are for development, half were held out. `--misses` never
shows the second half, on which the rules are only measured.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
from common import Report, arguments

from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.judging.students.rules import RuleJudge
from pnyx.stats.intervals import share_of

PARTS = {"dev": "development", "test": "held out"}


class Told(NamedTuple):
    """A sentence, whether it is negative, and what the rules say."""

    sentence: str
    negative: bool
    found: bool
    why: str


def told(judge: RuleJudge, part: str) -> list[Told]:
    """Return what a judge says of one half of the sentences."""
    with Path(__file__).with_name("negatives.tsv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["part"] == part]
    asked = [
        Support(str(n), "The report.", row["sentence"], task="negative")
        for n, row in enumerate(rows)
    ]
    answers = ask(judge, asked)
    assert all(isinstance(one, Judged) for one in answers)
    return [
        Told(row["sentence"], row["label"] == "negative", one.value is True, one.explanation)
        for row, one in zip(rows, answers, strict=True)
        if isinstance(one, Judged)
    ]


def figures(found: Sequence[Told]) -> Iterator[str]:
    """Yield sentences, precision, recall and F1."""
    right = sum(one.found and one.negative for one in found)
    said = sum(one.found for one in found)
    there = sum(one.negative for one in found)
    yield f"{there} + {len(found) - there}"
    for whole in (said, there):
        one = share_of(right, whole, whole)
        shown = "none" if one.value is None else f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"
        yield f"{right} of {whole}: {shown}"
    yield f"{2 * right / (said + there):.3f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--before", metavar="FILE", help="an earlier file of rules")
    parser.add_argument("--misses", action="store_true", help="of the development half")
    options = parser.parse_args()
    now = RuleJudge()
    if options.misses:
        for one in told(now, "dev"):
            if one.found != one.negative:
                print("missed: " if one.negative else "false:  ", one.sentence, f"({one.why})")
        return
    report = Report("negative statements")
    report.head("rules", "sentences", "negative + other", "precision", "recall", "F1")
    for judge in [*([RuleJudge(options.before)] if options.before else []), now]:
        for part, name in PARTS.items():
            report.row(judge.name, name, *figures(told(judge, part)))
    report.line()
    report.line("Intervals are Wilson's, 95 %.")
    report.write(options.write)


if __name__ == "__main__":
    main()
