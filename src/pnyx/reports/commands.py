"""`pnyx report`: write reports on requests, with citations, within a hard limit."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx._version import __version__
from pnyx.cases.open_citations import CitationSpec, WritingModels, open_writing_models
from pnyx.cli.judge_runs import plan_asked, say_judge
from pnyx.cli.options import Outcome, refuse_same_file, refuse_two_outputs, say, warn, warn_first
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped
from pnyx.core.progress import counted
from pnyx.core.spec import Spec, out_opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName
from pnyx.judging.options import PaidModelSpec
from pnyx.reports.lines import report_line, report_rows
from pnyx.reports.writing_options import (
    SubmissionSpec,
    WriteReportSpec,
    open_form,
    open_reporter,
    report_plan,
    rules_of,
)
from pnyx.search.common_index import IndexCommand, open_documents
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pnyx.cases.limits import Limits
    from pnyx.cases.report_plan import WritingPlan
    from pnyx.formats import ReportRequest
    from pnyx.reports.writing.report import Report, Reporter
    from pnyx.reports.writing.submission import ResponseForm
    from pnyx.search.pipeline import Searcher

_STAGES = (
    "rerank pointwise threshold window step diversify lam perspectives count depth stance "
    "certainty topic"
)


class FilesSpec(Spec, heading="Output"):
    """The requests, and where to write the reports."""

    requests: FileName = topics_opt(...)
    out: str | None = out_opt(None, metavar="RUN")
    markdown: str | None = out_opt(None, "Also write the reports as Markdown; - prints them.")


@verb(
    "report",
    kind=IndexCommand,
    without={"search": _STAGES},
    rare={"model": "plan budget", "citations": "citation_judge", "search": "model"},
    resumes=True,
)
@click.argument("index")
def command(
    index: SourceName,
    files: FilesSpec,
    submission: SubmissionSpec,
    spec: WriteReportSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    citations: CitationSpec,
    as_json: bool,
) -> int | Outcome:
    """Write a report for each request from INDEX: cited sentences within a hard limit.

    Without --llm, sentences are quoted, and neither a key nor a network is needed. With --llm, each
    citation is judged, by default by the same model.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      $ pnyx report my.index --requests ex/questions.md --max-length 300 \\
          --out run.jsonl
      pnyx: age-checks: 2 sentences from 2 of 8 documents; quoted verbatim
      ...
      pnyx: run.jsonl: 8 of 8 reports from evidence

    \b
    More: pnyx report --help-all, docs/recipes/writing-reports.md.
    \f
    A request has request_id, title, problem_statement, background and limit, or is a topic. If the
    index holds nothing about a request, or about a part of it, the report says so. The limit is
    never above those of the request and the track, and --max-length counts words if the track does,
    else characters. --track sets layout, citations, metadata and limits. --out gets one report per
    line, and is required without --plan.
    """
    model.check()
    if files.out is None and not model.plan:
        raise OptionError("Missing option '--out'.")
    for flag, path in (("--out", files.out), ("--markdown", files.markdown)):
        refuse_same_file(flag, path, REQUESTS=files.requests)
        refuse_two_outputs(flag, path, as_json=as_json)
    rules = rules_of(submission)
    plan = report_plan(spec, submission, rules)
    from pnyx.cases.limits import limits_of
    from pnyx.formats import read_requests
    from pnyx.reports.stand_ins import StandInReporter
    from pnyx.reports.writing.extractive import ExtractiveReporter

    requests = list(read_requests(files.requests))
    _check_titles(requests, files.requests)
    limited_requests = [(request, limits_of(request, rules, spec.limit)) for request in requests]
    with open_writing_models(model, citations, say) as models:
        llm = models.llm
        writer = open_reporter(spec, llm, plan)
        form = open_form(submission, rules, writer)
        searcher = open_searcher(open_documents(index), search, llm, None, say)
        writing: Reporter = writer
        if model.plan and writer.asks:
            writing = StandInReporter(writer, ExtractiveReporter())
        reports = _written(searcher, limited_requests, writing, plan, models)
        if model.plan:
            count = len(reports)
            head = {"reports": count}
            return plan_asked(models.models, model, f"{count} reports", head, as_json=as_json)
    responses = [report.response for report in reports]
    if not submission.documents:
        responses = [replace(response, documents={}) for response in responses]
    rows = list(map(form.row, responses))
    _write(files, rows, reports, index)
    logged = writer.asks and not sys.stderr.isatty()  # print each report when it is written
    _say(reports, rows, form, str(files.out), logged=logged)
    unscored = not all(report.complete for report in reports)
    return Outcome(report_rows(reports, rows, index), "", unscored, indent=2)


def _check_titles(requests: Sequence[ReportRequest], path: str) -> None:
    for request in requests:
        if any("\ud800" <= c <= "\udfff" for c in request.title):
            raise InputError(f"{escaped(request.id, 40)!r}: its title is not UTF-8", path=path)


def _write(
    files: FilesSpec, rows: Sequence[dict[str, Any]], reports: Sequence[Report], index: str
) -> None:
    from pnyx.core.files import atomic_text
    from pnyx.core.placement import placed_together
    from pnyx.formats.base import encode
    from pnyx.reports.report_markdown import render_reports

    with placed_together():
        with atomic_text(str(files.out)) as stream:
            stream.writelines(encode(row, "a report") for row in rows)
        if files.markdown is not None:
            more = {"index": index, "version": f"pnyx {__version__}"}
            with atomic_text(files.markdown) as stream:
                of = (replace(report, settings={**more, **report.settings}) for report in reports)
                stream.write(render_reports(of))


def _written(
    searcher: Searcher,
    limited_requests: Sequence[tuple[ReportRequest, Limits]],
    writer: Reporter,
    plan: WritingPlan,
    models: WritingModels,
) -> list[Report]:
    """Write all reports, in the order of the requests."""
    from pnyx.reports.writing.report import report_many

    written: dict[str, Report] = {}
    with counted("writing reports", len(limited_requests)) as show:

        def done(report: Report) -> None:
            written[report.request.id] = report
            show(len(written))
            if writer.asks and not sys.stderr.isatty():
                say(f"{len(written)} of {len(limited_requests)}: {report_line(report)}")

        report_many(
            searcher,
            limited_requests,
            judge=models.citation_judge,
            writer=writer,
            plan=plan,
            model=models.llm if writer.asks else None,
            done=done,
        )
    return [written[request.id] for request, _ in limited_requests]


def _say(
    reports: Sequence[Report],
    rows: Sequence[dict[str, Any]],
    form: ResponseForm,
    out: str,
    *,
    logged: bool,
) -> None:
    """Print a summary on standard error, with everything that the track objects to."""
    from pnyx.judging.answers import Unscored

    minded: Counter[str] = Counter()
    for report, row in zip(reports, rows, strict=True):
        if not logged:
            say(report_line(report))
        name = escaped(report.request.id, 60)
        warn_first([f"{name}: {p}" for p in report.problems], "problems")
        missing = sum(isinstance(answer, Unscored) for answer in report.support.values())
        if missing and form.style == "scores":
            warn(f"{name}: no verdict on {missing} citations; their score in the run is 0.5")
        for finding in form.minded(row, report.request):
            minded[finding.category] += 1
            if minded[finding.category] <= 1:
                warn(f"{name}: the track objects: {finding.problem}")
    for category, count in minded.items():
        if count > 1:
            warn(f"{count - 1} more about {category}")
    for name, card in {n: c for report in reports for n, c in report.judges.items()}.items():
        say_judge(name, card)
    cited = sum(bool(report.response.references) for report in reports)
    none = sum(report.no_evidence for report in reports)
    without = f"; no evidence was found for {none}" if none else ""
    say(f"{escaped(out, 200)}: {cited} of {len(reports)} reports from evidence{without}")
