"""Judging of reports with the ARGUE tree, in memory, by any judge (Auto-ARGUE, 2.1 and 2.2).

The tree is asked in stages, so that earlier answers save later questions; at each stage the
questions of all reports are asked together (docs/recipes/reports.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from pnyx.core.nuggets import NuggetBank
from pnyx.core.progress import showing
from pnyx.core.records import Evidence, Response
from pnyx.formats.reports.judged_report import JudgedReport
from pnyx.judging.answers import Answer
from pnyx.judging.base import Judge, ask
from pnyx.judging.counted_judge import watched
from pnyx.judging.questions import Support
from pnyx.reports.tree.assignment import by_keys
from pnyx.reports.tree.open_report import STAGES, DocumentSources, OpenTopic
from pnyx.reports.tree.plan import ReportPlan

_AT_ONCE = 20_000
"""Questions held in memory at once."""

Ask: TypeAlias = Callable[[Iterable[Support], Callable[[Support, Answer], None]], None]
"""Asks questions, and passes on each with its answer."""

Documents: TypeAlias = Callable[[str], Evidence | None]
"""Document id -> the document; None if the collection has none with that id."""

Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
"""Topic -> document -> grade."""


def judge_reports(
    responses: Iterable[Response],
    banks: Iterable[NuggetBank],
    judge: Judge,
    *,
    plan: ReportPlan | None = None,
    documents: Documents | None = None,
    qrels: Qrels | None = None,
) -> list[JudgedReport]:
    """Judge reports sentence by sentence and return the results, by run, then topic.

    Every run gets a report for each topic of the banks; one without a response is `missing`.

    Args:
        responses: of one or several runs, at most one for each run and topic.
        banks: at most one for each topic. Without one, what depends on nuggets is unscored.
        judge: answers Support questions of `pnyx.reports.tree.node_questions.REPORT_TASKS`.
        plan: the options; the default is the tree as published.
        documents: finds the documents that the responses do not embed.
        qrels: relevant documents, for documents that the bank does not name.

    Raises:
        InputError: a run has two reports on a topic, or a topic two banks.
        pnyx.core.errors.ModelError: the judge cannot continue.
    """
    material = DocumentSources(documents, qrels or {})

    def ask_all(questions: Iterable[Support], take: Callable[[Support, Answer], None]) -> None:
        source = iter(questions)
        while some := list(islice(source, _AT_ONCE)):
            for question, answer in zip(some, ask(judge, some), strict=True):
                take(question, answer)

    topics = opened_topics(responses, banks, plan or ReportPlan(), material)
    with watched(judge, reporting=showing) as judge:
        judged = [report for topic in topics for report in judge_topics([topic], ask_all)]
    return sorted(judged, key=lambda report: (report.run_id, report.topic_id))


def opened_topics(
    responses: Iterable[Response],
    banks: Iterable[NuggetBank],
    plan: ReportPlan,
    material: DocumentSources,
) -> Iterator[OpenTopic]:
    """Yield what to judge, by topic in order of ids; InputError first for duplicates."""
    by_topic, of_run = by_keys(responses, banks)
    runs = dict.fromkeys(run for run, _ in of_run)
    return (
        OpenTopic(t, by_topic.get(t), {run: of_run.get((run, t)) for run in runs}, plan, material)
        for t in sorted({*by_topic, *(topic for _, topic in of_run)})
    )


def judge_topics(topics: Sequence[OpenTopic], ask_all: Ask) -> list[JudgedReport]:
    """Ask the tree's questions on some topics, stage by stage, and return their reports."""
    by_id = {topic.id: topic for topic in topics}

    def take(question: Support, answer: Answer) -> None:
        by_id[question.group].take(question, answer)

    def questions(stage: int) -> Iterator[Support]:
        for topic in topics:
            yield from topic.questions(stage)

    for stage in range(STAGES):
        ask_all(questions(stage), take)
    return [report for topic in topics for report in topic.judged()]
