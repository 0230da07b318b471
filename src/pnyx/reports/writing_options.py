"""Options for writing reports, and the writers that they open. Importing this loads no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pnyx.cases.plan import CONTEXT
from pnyx.cases.report_plan import LIMIT, QUESTIONS, WritingPlan
from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.records import CitationStyle
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName

if TYPE_CHECKING:
    from pnyx.formats import TrackRules
    from pnyx.judging.store.completions import StoredModel
    from pnyx.reports.writing.report import Reporter
    from pnyx.reports.writing.submission import ResponseForm


class SubmissionSpec(Spec, heading="Output", rare="layout style metadata_fields"):
    """The format of the reports."""

    track: str | None = opt(None, metavar="TRACK")
    team: str = opt(WritingPlan().team, "team_id of the run.")
    run_id: str = opt(WritingPlan().run)
    layout: Literal["rag24", "rag25", "ragtime"] | None = opt(
        None, "Layout of a line.", default_text="the track's, else ragtime"
    )
    style: CitationStyle | None = opt(None, default_text="the track's, else scores")
    metadata_fields: tuple[str, ...] = opt(
        (),
        "Field of the metadata, e.g. type=manual.",
        "--metadata",
        metavar="KEY=VALUE",
    )
    documents: bool = opt(
        False, "Embed the cited texts in the run.", "--embed-texts", replaces=("--documents",)
    )

    @property
    def metadata(self) -> dict[str, str]:
        """Field -> value; InputError if one is not KEY=VALUE."""
        fields: dict[str, str] = {}
        for metadata_field in self.metadata_fields:
            key, equals, value = metadata_field.partition("=")
            if not (key.strip() and equals):
                raise InputError(f"--metadata {shorten(metadata_field, 40)}: expected KEY=VALUE")
            fields[key] = value
        return fields


class WriteReportSpec(
    Spec, heading="Report", rare="retrieve evidence lam questions context writer prompt"
):
    """How to write a report; see `pnyx.cases.report_plan.WritingPlan`."""

    limit: int | None = opt(
        None,
        "Maximum length of a report: in words if --track counts words, else in characters. Never "
        "exceeds the limits of request and track.",
        "--max-length",
        low=1,
        default_text=f"the request's and the track's, else {LIMIT} characters",
        replaces=("--limit",),
    )
    retrieve: int = opt(WritingPlan().retrieve, low=1)
    evidence: int = opt(WritingPlan().documents, "Documents handed to the writer.", low=1)
    lam: float = opt(WritingPlan().lam, "", "--lambda", within="[0, 1]")
    citations: int | None = opt(
        None, "Maximum citations of a sentence.", low=1, default_text="the track's, else 3"
    )
    questions: int = opt(
        QUESTIONS, "Sub-questions that a language model suggests to search for; 0 for none.",
        within="[0, 20]",
    )  # fmt: skip
    writer: Literal["extractive", "llm"] | None = opt(
        None, default_text="llm with --llm, else extractive"
    )
    context: int = opt(CONTEXT, low=100)
    prompt: FileName | None = file_opt(None, metavar="NAME", default_text="report")


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
