"""The tree's questions about reports, of which people answer a sample (`pnyx label sample`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pnyx.core.spec import flags_of, main_flag, opts_of
from pnyx.judging.answers import Answer, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.reports.open_reports import read_report_inputs
from pnyx.reports.options import JudgeReportSpec, WeightSpec, plan_of
from pnyx.reports.tree.walk import judge_topics


def questions_of_record(record: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield all questions that the tree may ask about the reports, once each."""
    options = record["options"]
    named = {
        field.name: options[flag]
        for field, option in opts_of(JudgeReportSpec)
        for flag in (main_flag(flags_of(field, option)).lstrip("-"),)
        if flag in options
    }
    spec = JudgeReportSpec(**named)
    inputs = read_report_inputs(record["arguments"], spec)
    drawn: dict[str, Support] = {}
    nothing = Unscored("not asked", Provenance(""))

    def collect(questions: Iterable[Support], take: Callable[[Support, Answer], None]) -> None:
        for question in questions:
            drawn.setdefault(question.id, question)
            take(question, nothing)

    for topic in inputs.topics(replace(plan_of(spec, WeightSpec()), every=True)):
        judge_topics([topic], collect)
    for question in drawn.values():
        row = {"id": question.id, "text": question.text, "statement": question.statement}
        more = {"question": question.question, "group": question.extra.get("topic_id")}
        yield question.task, row | {k: v for k, v in more.items() if v}
