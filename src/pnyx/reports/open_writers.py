"""Opens writers of reports, and the format of a run, from their options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.core.errors import OptionError

if TYPE_CHECKING:
    from pnyx.cases.report_plan import WritingPlan
    from pnyx.formats import TrackRules
    from pnyx.judging.store.completions import StoredModel
    from pnyx.reports.writing.report import Reporter
    from pnyx.reports.writing.submission import ResponseForm
    from pnyx.reports.writing_options import SubmissionSpec, WriteReportSpec


def rules_of(spec: SubmissionSpec) -> TrackRules | None:
    """Return the rules of the chosen track, if any."""
    from pnyx.formats import track_rules

    return None if spec.track is None else track_rules(spec.track)


def report_plan(
    spec: WriteReportSpec, submission: SubmissionSpec, rules: TrackRules | None
) -> WritingPlan:
    """Return the plan for writing reports."""
    from pnyx.cases.report_plan import WritingPlan

    of_track = None if rules is None else rules.max_citations_per_sentence
    limits = [limit for limit in (of_track, spec.citations) if limit is not None]
    return spec.make(
        WritingPlan,
        documents=spec.evidence,
        per_sentence=min(limits) if limits else WritingPlan().per_sentence,
        team=submission.team,
        run=submission.run_id,
    )


def open_reporter(spec: WriteReportSpec, model: StoredModel | None, plan: WritingPlan) -> Reporter:
    """Return the chosen writer of reports."""
    kind = spec.writer or ("extractive" if model is None else "llm")
    if spec.prompt is not None and kind != "llm":
        raise OptionError("--prompt requires --llm: without it sentences are quoted")
    if kind == "extractive":
        from pnyx.reports.writing.extractive import ExtractiveReporter

        return ExtractiveReporter()
    if model is None:
        raise OptionError("--writer llm requires --llm")
    from pnyx.reports.writing.generate import LlmReporter

    return LlmReporter(
        model, context=spec.context, citations=plan.per_sentence, prompt=spec.prompt or "report"
    )


def open_form(spec: SubmissionSpec, rules: TrackRules | None, writer: Reporter) -> ResponseForm:
    """Return the format of a run; InputError if the track does not accept the choices."""
    from pnyx.reports.writing.submission import form_of

    return form_of(
        rules,
        layout=spec.layout,
        style=spec.style,
        metadata=spec.metadata,
        run=spec.run_id,
        described=f"pnyx report: {writer.name}",
    )
