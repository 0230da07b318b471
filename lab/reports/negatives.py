"""How well do the rules detect sentences that say that something is unknown?

    git show b86b656:src/pnyx/judge/reports/rules.toml > /tmp/rules-1.toml
    python lab/reports/negatives.py --before /tmp/rules-1.toml \
        --write docs/lab/reports.md
    python lab/reports/negatives.py --misses        # errors on the development half

The sentences are in `negatives.tsv`: half are for development, half are held out. `--misses` never
shows the held-out half, which is only for measuring.
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


class RuledSentence(NamedTuple):
    """A sentence with its label and the verdict of the rules."""

    sentence: str
    negative: bool
    judged_negative: bool
    why: str


def ruled_sentences(judge: RuleJudge, part: str) -> list[RuledSentence]:
    """Return the verdicts of a judge on one half of the sentences."""
    with Path(__file__).with_name("negatives.tsv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["part"] == part]
    questions = [
        Support(str(n), "The report.", row["sentence"], task="negative")
        for n, row in enumerate(rows)
    ]
    answers = ask(judge, questions)
    assert all(isinstance(answer, Judged) for answer in answers)
    return [
        RuledSentence(
            row["sentence"], row["label"] == "negative", answer.value is True, answer.explanation
        )
        for row, answer in zip(rows, answers, strict=True)
        if isinstance(answer, Judged)
    ]


def figures(rows: Sequence[RuledSentence]) -> Iterator[str]:
    """Yield sentences, precision, recall and F1."""
    right = sum(row.judged_negative and row.negative for row in rows)
    predicted = sum(row.judged_negative for row in rows)
    there = sum(row.negative for row in rows)
    yield f"{there} + {len(rows) - there}"
    for whole in (predicted, there):
        share = share_of(right, whole, whole)
        text = (
            "none"
            if share.value is None
            else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
        )
        yield f"{right} of {whole}: {text}"
    yield f"{2 * right / (predicted + there):.3f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--before", metavar="FILE", help="an earlier file of rules")
    parser.add_argument("--misses", action="store_true", help="of the development half")
    options = parser.parse_args()
    now = RuleJudge()
    if options.misses:
        for row in ruled_sentences(now, "dev"):
            if row.judged_negative != row.negative:
                print("missed: " if row.negative else "false:  ", row.sentence, f"({row.why})")
        return
    report = Report("negative statements")
    report.head("rules", "sentences", "negative + other", "precision", "recall", "F1")
    for judge in [*([RuleJudge(options.before)] if options.before else []), now]:
        for part, name in PARTS.items():
            report.row(judge.name, name, *figures(ruled_sentences(judge, part)))
    report.line()
    report.line("Intervals are Wilson's, 95 %.")
    report.write(options.write)


if __name__ == "__main__":
    main()
