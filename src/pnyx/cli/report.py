"""`pnyx report`: reports to requests, with citations, under a hard limit."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from pnyx._version import __version__
from pnyx.app.judge_specs import PaidModelSpec
from pnyx.app.open_models import open_model
from pnyx.app.open_search import open_searcher
from pnyx.app.open_writing import open_form, open_reporter, report_plan, rules_of
from pnyx.app.search_specs import SearchSpec
from pnyx.app.spec import Spec, file_opt, out_opt
from pnyx.app.writing_specs import ReportSpec, SubmissionSpec
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.common.answering import plan_asked
from pnyx.cli.common.options import (
    print_result,
    refuse_same_file,
    refuse_two_outputs,
    say,
    warn,
    warn_first,
)
from pnyx.cli.common.params import verb
from pnyx.cli.common.progress import counted
from pnyx.errors import InputError, OptionError, escaped, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pnyx.corpora import ReportRequest
    from pnyx.judge.store.completions import StoredModel
    from pnyx.search.pipeline import Searcher
    from pnyx.write.reports.limits import Limits
    from pnyx.write.reports.plan import WritingPlan
    from pnyx.write.reports.reporting import Report, Reporter
    from pnyx.write.reports.submission import Form

_STAGES = (
    "rerank pointwise threshold window step diversify lam perspectives count depth stance "
    "certainty topic"
)


class FilesSpec(Spec, heading="Output"):
    """What is asked for, and where the reports are written."""

    request: str = file_opt(
        ..., "Requests, one a line: request_id, title, problem_statement, background, limit."
    )
    out: str | None = out_opt(
        None, "Run to write, one report a line; required without --plan.", metavar="RUN"
    )
    markdown: str | None = out_opt(None, "Write the reports as Markdown, too; - prints them.")


@verb(
    "report",
    without={"search": _STAGES},
    rare={"model": "plan budget"},
    resumes=True,
)
@click.argument("index")
def command(
    index: str,
    files: FilesSpec,
    submission: SubmissionSpec,
    spec: ReportSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    as_json: bool,
) -> int:
    """Write the report to each request from an index: cited sentences under a hard limit.

    Without --llm sentences are quoted, so that no key and no network are needed. Each citation of
    what a language model writes is judged by the packaged judge. Where the index holds nothing
    about a request, or about a part of it, the report says so. docs/writing-reports.md shows it
    step by step.

    \b
    Example:
      pnyx report my.index --request requests.jsonl --out run.jsonl \\
        --track ragtime26 --markdown report.md
    """
    _check(files, model, as_json=as_json)
    rules = rules_of(submission)
    plan = report_plan(spec, submission, rules)
    from pnyx.search.index import Index
    from pnyx.write.reports.limits import limits_of

    requests = _requests(files.request)
    asked = [(one, limits_of(one, rules, spec.limit)) for one in requests]
    with open_model(model, say, model) as llm:
        writer = open_reporter(spec, llm, plan)
        form = open_form(submission, rules, writer)
        searcher = open_searcher(Index.open(index), search, llm, None, say)
        reports = _written(searcher, asked, writer, plan, llm)
        if model.plan:
            line = f"{len(reports)} reports"
            plan_asked(llm, model, line, {"reports": len(reports)}, as_json=as_json)
            return 0
    rows = [_row(one, form, documents=submission.documents) for one in reports]
    _write(str(files.out), rows)
    if files.markdown is not None:
        _write_markdown(files.markdown, reports, index)
    told = writer.asks and not sys.stderr.isatty()  # as each was written
    _say(reports, rows, form, str(files.out), told=told)
    print_result(_json(reports, rows, index), "", as_json=as_json, ensure_ascii=False, indent=2)
    return 0 if all(one.complete for one in reports) else EXIT_UNSCORED


def _check(files: FilesSpec, model: PaidModelSpec, *, as_json: bool) -> None:
    """Refuse what cannot be written before anything is read or asked."""
    model.check()
    if files.out is None and not model.plan:
        raise OptionError("Missing option '--out'.")
    for flag, path in (("--out", files.out), ("--markdown", files.markdown)):
        refuse_same_file(flag, path, REQUEST=files.request)
        refuse_two_outputs(flag, path, as_json=as_json)


def _requests(path: str) -> list[ReportRequest]:
    from pnyx.corpora import read_requests

    found = list(read_requests(path))
    for one in found:
        if any("\ud800" <= c <= "\udfff" for c in one.title):
            raise InputError(f"{escaped(one.id, 40)!r}: its title is not UTF-8", path=path)
    return found


def _written(
    searcher: Searcher,
    asked: Sequence[tuple[ReportRequest, Limits]],
    writer: Reporter,
    plan: WritingPlan,
    llm: StoredModel | None,
) -> list[Report]:
    """Write all reports, in the order of their requests."""
    from pnyx.students.judge import PackagedJudge
    from pnyx.write.reports.reporting import report_many

    made: dict[str, Report] = {}
    with counted("writing reports", len(asked)) as show:

        def done(one: Report) -> None:
            made[one.request.id] = one
            show(len(made))
            if writer.asks and not sys.stderr.isatty():
                say(f"{len(made)} of {len(asked)}: {_summary(one)}")

        report_many(
            searcher,
            asked,
            judge=PackagedJudge("support"),
            writer=writer,
            plan=plan,
            model=llm if writer.asks else None,
            done=done,
        )
    return [made[request.id] for request, _ in asked]


def _row(one: Report, form: Form, *, documents: bool) -> dict[str, Any]:
    from dataclasses import replace

    response = one.response if documents else replace(one.response, documents={})
    return form.row(response)


def _write(path: str, rows: Sequence[dict[str, Any]]) -> None:
    from pnyx.corpora.base import encode
    from pnyx.files import atomic_text

    with atomic_text(path) as stream:
        for row in rows:
            stream.write(encode(row, "a report"))


def _write_markdown(path: str, reports: Sequence[Report], index: str) -> None:
    from dataclasses import replace

    from pnyx.files import atomic_text
    from pnyx.view.report_markdown import render_reports

    more = {"index": index, "version": f"pnyx {__version__}"}
    with atomic_text(path) as stream:
        told = (replace(one, settings={**more, **one.settings}) for one in reports)
        stream.write(render_reports(told))


def _summary(one: Report) -> str:
    """Return a line on one report."""
    from pnyx.view.notes import said_of_precision

    name, count = escaped(one.request.id, 60), len(one.response.sentences)
    if one.no_evidence:
        said = "the report says so" if count else "the limit is too short to say so"
        return f"{name}: no evidence was found, {said}"
    if one.failed:
        return f"{name}: nothing usable was written"
    count -= one.negative
    line = f"{name}: {count} sentence{'' if count == 1 else 's'} from "
    line += f"{len(one.response.references)} of {len(one.gathered.documents)} documents"
    line += said_of_precision(one.response, one.support, one.measures)
    if one.lacking:
        parts = "; ".join(shorten(part, 80) for part in one.lacking)
        line += f"; no evidence on {len(one.lacking)} parts: {parts}"
    return line


def _say(
    reports: Sequence[Report], rows: Sequence[dict[str, Any]], form: Form, out: str, *, told: bool
) -> None:
    """Sum up on standard error, with all that the track minds."""
    minded: Counter[str] = Counter()
    for one, row in zip(reports, rows, strict=True):
        if not told:
            say(_summary(one))
        warn_first([f"{escaped(one.request.id, 60)}: {p}" for p in one.problems], "problems")
        for finding in form.minded(row, one.request):
            minded[finding.category] += 1
            if minded[finding.category] <= 1:
                warn(f"{escaped(one.request.id, 60)}: the track minds: {finding.problem}")
    for category, count in minded.items():
        if count > 1:
            warn(f"{count - 1} more on {category}")
    for name, card in {n: c for one in reports for n, c in one.judges.items()}.items():
        say(f"judge {escaped(name)}: {shorten(card, 400)}")
    cited = sum(bool(one.response.references) for one in reports)
    none = sum(one.no_evidence for one in reports)
    said = f"; no evidence was found for {none}" if none else ""
    say(f"{escaped(out, 200)}: {cited} of {len(reports)} reports from evidence{said}")


def _json(reports: Sequence[Report], rows: Sequence[dict[str, Any]], index: str) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "index": index,
        "reports": [
            {
                "request": one.request.id,
                "response": row,
                "limit": str(one.limits),
                "queries": [query.text for query in one.gathered.queries],
                "relevance": one.gathered.relevance,
                "no_evidence": one.no_evidence,
                "without_evidence": list(one.lacking),
                "failed": one.failed,
                "measures": {name: m.row() for name, m in one.measures.items()},
                "judges": dict(one.judges),
                "problems": list(one.problems),
                "settings": dict(one.settings),
            }
            for one, row in zip(reports, rows, strict=True)
        ],
    }
