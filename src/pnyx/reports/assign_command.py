"""`pnyx nuggets assign`: compare reports with nuggets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pnyx.cli.judge_runs import ResultsSpec, answer_into, needs_out, warn_of_submissions
from pnyx.cli.options import say, warn, warn_first
from pnyx.cli.params import Raw, verb
from pnyx.core.errors import InputError, count_of, escaped
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName
from pnyx.reports.nugget_options import NuggetJudgeSpec

if TYPE_CHECKING:
    from pnyx.judging.answers import Answer
    from pnyx.reports.tree.assignment import Assigning

ASSIGNMENTS = "assignments.jsonl"


class AssignSpec(Spec, heading="Nuggets"):
    """The nuggets to compare reports with."""

    nuggets: FileName = file_opt(..., metavar="BANK")
    strict: bool = opt(False, restricts=True)


@verb(
    "assign",
    resumes=True,
    restricts=True,
    records=True,
    short_help="Compare reports with nuggets: support, partial, or none.",
    without={"results": "shard"},
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=Raw())
def assign(
    runs: tuple[FileName, ...],
    results: ResultsSpec,
    options: AssignSpec,
    spec: NuggetJudgeSpec,
    as_json: bool,
) -> int:
    """Compare each report of RUN with each nugget of its topic, as nuggetizer does.

    \b
    support          the report says it
    partial_support  it says part of it, or some answers of an AND
    not_support      it does not
    failed           the judge gave no verdict

    \b
    Example, after that of pnyx report and pnyx nuggets create:
      $ pnyx nuggets assign run.jsonl --nuggets bank.jsonl --out assigned
      pnyx: 15 not_support, 9 support
      judge packaged (weak: treat as hints); accuracy: pnyx doctor
      24 of 24 scored by packaged; see assigned

    \b
    More: pnyx nuggets assign --help-all, docs/recipes/nuggets.md.
    \f
    RESULTS gets assignments.jsonl (nuggetizer's assign format), reports.jsonl (for pnyx measure
    report, which prints nuggetizer's scores), answers.jsonl and manifest.json. Each answer to a
    question is judged on its own; questions without answers are left out. Running the command again
    asks only what is missing. Exit status 3: some nuggets got no verdict.

    With --strict, for pnyx measure report --strict: unreadable runs are left out, a report that
    cannot be judged because of its own text supports no nugget, and no text is written (--text: it
    may be).
    """
    from pnyx.formats import read_nugget_banks
    from pnyx.formats.reports.submissions import read_submissions
    from pnyx.reports.tree.assignment import Assigning
    from pnyx.reports.tree.own_text import OwnTextJudge

    needs_out(results.out, spec)
    submitted = read_submissions(runs, strict=options.strict)
    warn_of_submissions(submitted)
    assigning = Assigning.of(submitted.responses, read_nugget_banks(options.nuggets))
    questions = list(assigning.questions())
    if not questions:
        raise InputError("holds no answers for a topic of the runs' reports", path=options.nuggets)
    if assigning.without_bank:
        names = ", ".join(escaped(topic, 30) for topic in assigning.without_bank[:5])
        warn(f"no bank for {count_of(len(assigning.without_bank), 'topic')} of the runs: {names}")
    missing = Counter(run for run, _ in assigning.without_report).items()
    lines = [f"run {escaped(r)} has no report on {n} of the banks' topics" for r, n in missing]
    warn_first(lines, "runs with missing topics")

    def also(answers: Sequence[Answer]) -> None:
        by_id = dict(zip((question.id for question in questions), answers, strict=True))
        _write(Path(str(results.out)), assigning, by_id)

    source = ", ".join(escaped(run, 60) for run in runs)
    return answer_into(
        results.out,
        "nugget",
        source,
        questions,
        spec,
        as_json=as_json,
        facts=submitted.facts,
        adapt=partial(OwnTextJudge, whole=True) if options.strict else None,
        also=also,
    )


def _write(folder: Path, assigning: Assigning, answers: dict[str, Answer]) -> None:
    """Write assignments and judged reports next to the answers, and print the counts."""
    from pnyx.core.files import atomic_text, json_line, write_jsonl
    from pnyx.core.placement import placed_together
    from pnyx.reports.runs import REPORTS
    from pnyx.reports.tree.assignment import assignment_row, text_of

    judged = assigning.judged(answers)
    counts = Counter[str]()
    with placed_together():
        with atomic_text(folder / ASSIGNMENTS) as stream:
            for report, (response, bank) in zip(judged, assigning.pairs, strict=False):
                row = assignment_row(
                    report, bank, text_of(response), _reasons(report.row(), answers)
                )
                counts.update(nugget["assignment"] for nugget in row["nuggets"])
                stream.write(json_line(row) + "\n")
        ordered = sorted(judged, key=lambda report: (report.run_id, report.topic_id))
        write_jsonl(folder / REPORTS, (report.row() for report in ordered))
    say(", ".join(f"{counts[name]:,} {name}" for name in sorted(counts)) or "no nuggets")


def _reasons(report: dict[str, object], answers: dict[str, Answer]) -> dict[str, str]:
    """Return nugget id -> the reason for its first answer, or why it has none."""
    reasons = {}
    for nugget in report["nuggets"]:  # type: ignore[attr-defined]
        name = f"{report['run_id']}/{report['topic_id']}/{nugget['id']}/0"
        if (answer := answers.get(name)) is not None:
            reason = getattr(answer, "explanation", "") or getattr(answer, "reason", "")
            reasons[nugget["id"]] = reason
    return reasons
