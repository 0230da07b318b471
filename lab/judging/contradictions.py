"""How many contradictions of a passage do the packaged judges reject? On 40 pairs that we wrote.

    python lab/judging/contradictions.py

Each pair is a passage with a sentence that follows from it and one that contradicts it: another
number, the opposite direction (`rose` for `fell`), a negation, or swapped names. Nothing was fitted
on them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pnyx.judging.answers import Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import ANSWER, CITATION, PackagedJudge

PAIRS = Path(__file__).with_name("contradictions.jsonl")
JUDGES = {CITATION: {"cites": True}, ANSWER: {"from_answer": True}, "support": {}}
"""Task of the packaged judge -> options of its questions."""


def verdicts(judge: Judge, rows: Sequence[Any], field: str, **about: bool) -> list[bool]:
    """Return whether the judge finds that each passage supports the sentence of its row.

    Raises:
        ValueError: an answer is unscored, so it is neither accepted nor rejected.
    """
    answers = ask(judge, [Support(row["id"], row["text"], row[field], **about) for row in rows])
    scored = [answer.value is True for answer in answers if isinstance(answer, Judged)]
    if len(scored) < len(rows):
        raise ValueError(f"{len(rows) - len(scored)} of {len(rows)} answers are unscored")
    return scored


def main() -> None:
    """Print a table of rejected contradictions and accepted sentences."""
    rows = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    print("| judge | " + " | ".join(f"{kind} refused" for kind in kinds) + " | true accepted |")
    print("|---" * (len(kinds) + 2) + "|")
    for task, about in JUDGES.items():
        judge = PackagedJudge(task)
        false, true = (verdicts(judge, rows, field, **about) for field in ("false", "true"))
        cells = []
        for kind in kinds:
            accepted = [yes for yes, row in zip(false, rows, strict=True) if row["kind"] == kind]
            cells.append(f"{accepted.count(False)} of {len(accepted)}")
        print(f"| {task} | {' | '.join(cells)} | {sum(true)} of {len(true)} |")


if __name__ == "__main__":
    main()
