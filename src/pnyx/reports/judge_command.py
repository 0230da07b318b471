"""`pnyx judge report`: judge reports sentence by sentence with the ARGUE tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.judge_runs import (
    ResultsSpec,
    needs_out,
    print_planned,
    say_judge,
    say_kept,
    warn_of_submissions,
)
from pnyx.cli.options import Outcome, say, warn_first
from pnyx.cli.params import Raw, verb
from pnyx.cli.record import record_of_command
from pnyx.core.errors import OptionError, count_of, escaped
from pnyx.display.results import judged_notes, judged_text
from pnyx.formats.text_types import FileName
from pnyx.judging.counted_judge import watched
from pnyx.judging.judge_names import short_name
from pnyx.judging.open_models import prices_by_model
from pnyx.judging.opened_judge import OpenedJudge, deciding_settings, manifest_facts
from pnyx.reports.open_reports import ReportInputs, open_report_judge, read_report_inputs
from pnyx.reports.options import JudgeReportSpec, ReportJudgeSpec, WeightSpec, plan_of

if TYPE_CHECKING:
    from pnyx.reports.tree.plan import ReportPlan


@verb(
    "report",
    short_help="Judge reports with citations by the ARGUE tree.",
    resumes=True,
    restricts=True,
    records=True,
    without={"spec": "calibration cascade cheap prompt"},
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=Raw())
def command(
    runs: tuple[FileName, ...],
    results: ResultsSpec,
    report: JudgeReportSpec,
    weights: WeightSpec,
    spec: ReportJudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Judge reports with citations sentence by sentence with the ARGUE tree.

    RUN holds reports in any track's layout; a folder holds several. --index names the collection of
    the cited documents.

    \b
    Example, after that of pnyx report and pnyx nuggets create:
      $ pnyx judge report run.jsonl --nuggets bank.jsonl --index my.index \\
          --out judged
      ...
      8 reports of 1 run on 8 topics: 23 sentences, 23 citations; 19 reward, ...
        relevant        10 yes, 23 of 23 scored (by 10 lookup, 13 nuggets@4)
        attests         23 yes, 23 of 23 scored (by 23 minilm-int8@1)
        answers         9 yes, 10 of 10 scored (by 10 nuggets@4); see judged

    \b
    More: pnyx judge report --help-all, docs/recipes/reports.md.
    \f
    \b
    with citations     is each document relevant? does it attest the sentence?
                       which nugget answers does the sentence give?
    without citations  does it say that something is not known, and does a
                       nugget without answers confirm that? else: does it need
                       a citation, and was it said and cited before?

    The texts of --index or --documents are judged, whatever texts the reports embed, and a citation
    of a document outside them is a no (--unknown-documents). Without them the judge sees the texts
    that reports embed, unchecked; a citation without an embedded text is unscored. --topics limits
    the topics. --qrels are used for documents that the bank does not name. Without a language
    model, relevance is looked up in the bank, documented rules compare words, and the packaged
    judge answers the rest.

    With --strict, a collection must be named; unknown ids and sentences that cannot be judged
    because of their own text count as no; topics are those of --topics, else --nuggets; unreadable
    runs are left out; no text is written (--text: it may be).

    RESULTS (--out, required without --plan) gets reports.jsonl (every finding, each sentence's path
    through the tree and each nugget, for pnyx measure report), answers.jsonl (the judge's answers)
    and manifest.json. Running the command again, even after a crash, asks only what is missing.
    Exit status 3: finished, but some findings are unscored, or --strict left out a run.

    \b
      pnyx judge report run.jsonl --nuggets bank.jsonl --answers lookup --out R
      pnyx judge report a.jsonl b.jsonl --nuggets banks/ --index my.index \\
        --judge http://127.0.0.1:8000/v1#my-model --plan
    """
    from pnyx.reports.runs import REPORTS, judge_reports_into

    needs_out(results.out, spec, "results", "student")
    shard = results.share
    report.check()
    inputs = read_report_inputs(runs, report)
    warn_of_submissions(inputs.submitted)
    if inputs.other_topics:
        counted = escaped(report.topics or report.nuggets, 60)
        say(f"{count_of(inputs.other_topics, 'topic')} not in {counted}: left out")
    plan = plan_of(report, weights)
    with open_report_judge(spec, say, strict=report.strict) as opened:
        if spec.plan:
            if shard is not None:
                raise OptionError("--plan estimates the whole run: leave out --shard")
            return _plan(opened, inputs, plan, spec, as_json)
        total: list[int] = []
        with watched(opened.judge, opened.models, lambda: total[-1] if total else None) as judge:
            manifest = judge_reports_into(
                str(results.out),
                judge,
                inputs.topics,
                inputs.digest,
                plan,
                lambda: _facts(opened, inputs, runs, f"{results.out}/{REPORTS}"),
                settings=deciding_settings(opened, spec),
                from_rows=not opened.models,
                on_start=say_kept,
                on_total=total.append,
                shard=shard,
            )
    for lines, more in judged_notes(manifest["reports"]):
        warn_first(lines, more)
    say_judge(manifest["judge"], manifest["card"])
    line = f"{judged_text(manifest)}; see {escaped(str(results.out), 200)}"
    nodes = manifest["reports"]["nodes"].values()
    unscored = any(row["scored"] < row["asked"] for row in nodes)
    return Outcome(manifest, line, unscored or bool(inputs.submitted.left_out))


def _facts(
    opened: OpenedJudge, inputs: ReportInputs, runs: Sequence[str], written: str
) -> dict[str, Any]:
    """Return what the manifest records about the judge, the submissions and the command."""
    record = record_of_command({f"out/{Path(written).name}": written}, asks=bool(opened.models))
    return {
        **manifest_facts(opened, ", ".join(runs), len(inputs.responses)),
        **inputs.submitted.facts,
        "record": record,
    }


def _plan(
    opened: OpenedJudge,
    inputs: ReportInputs,
    plan: ReportPlan,
    spec: ReportJudgeSpec,
    as_json: bool,
) -> int:
    """Print the least, the most and the expected cost of judging."""
    from pnyx.judging.llm.plan import planned_models
    from pnyx.judging.store.completions import Counts
    from pnyx.reports.runs import plan_reports
    from pnyx.reports.tree.plan import EXPECTED

    least = plan_reports(opened.judge, inputs.topics(replace(plan, least=True)))
    chances = {model.name: dict.fromkeys(model.missing, 1.0) for model in opened.models}
    for model in opened.models:
        model.counts = Counts()

    def asked(node: str) -> None:
        for model in opened.models:
            chances_by_key = chances[model.name]
            for key in islice(model.missing, len(chances_by_key), None):
                chances_by_key[key] = EXPECTED.get(node, 1.0)

    most = plan_reports(opened.judge, inputs.topics(replace(plan, every=True)), asked)
    usual = sum(least[n] + EXPECTED.get(n, 1.0) * (most[n] - least[n]) for n in most)
    planned = planned_models(opened.models, prices_by_model(spec, opened.models), chances)
    head = {
        "judge": opened.judge.name,
        "reports": len(inputs.responses),
        "questions": most.total(),
        "questions_least": least.total(),
        "questions_expected": round(usual),
        "expected_shares": EXPECTED,
    }
    shares = ", ".join(f"{node} {share:.0%}" for node, share in EXPECTED.items())
    line = (
        f"{len(inputs.responses)} reports for {escaped(short_name(opened.judge.name))}: "
        f"{least.total():,} to {most.total():,} questions, {round(usual):,} expected. "
        "The least assumes that no answer leads to further questions, the most that every open one "
        f"does; expected shares of such questions: {shares}."
    )
    return print_planned(line, head, planned, as_json=as_json)
