"""Judging reports into a folder: answers.jsonl, reports.jsonl, manifest.json; it can resume.

Answers are written at once (`pnyx.judging.runs.engine`), topic by topic and stage by stage of the
tree; the same call goes through the same questions in the same order and asks only those without
an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pnyx.core.errors import shorten
from pnyx.core.files import read_jsonl, write_json, write_jsonl
from pnyx.core.folders import file_hash
from pnyx.core.placement import newest, placed_together
from pnyx.core.records import NODES
from pnyx.formats.reports.judged_report import OUTCOMES, JudgedReport, NodeAnswer, report_of_row
from pnyx.judging.answers import (
    MANIFEST,
    Answer,
    Provenance,
    Unscored,
    answer_of_row,
    answer_rows,
    now,
)
from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import Support
from pnyx.judging.runs.engine import Journal, answer_items
from pnyx.judging.runs.results import results_journal, results_manifest, write_answers
from pnyx.judging.runs.shards import Shard, marked
from pnyx.reports.tree.open_report import STAGES, OpenTopic
from pnyx.reports.tree.plan import ReportPlan
from pnyx.reports.tree.walk import judge_topics

REPORTS = "reports.jsonl"

_TOGETHER = 16
"""Reports whose questions of one stage are asked together: enough to keep a server busy."""

_NAMED = 5
"""Maximum unknown documents of a run to name among its counts."""

_AT_ONCE = 10_000
"""Questions held in memory at once."""

Take = Callable[[Support, Answer], None]


def judge_reports_into(
    out: str | Path,
    judge: Judge,
    topics: Callable[[ReportPlan], Iterable[OpenTopic]],
    inputs: str,
    plan: ReportPlan,
    facts: Callable[[], Mapping[str, Any]],
    *,
    settings: Mapping[str, Any],
    from_rows: bool = True,
    on_start: Callable[[int], None] | None = None,
    on_total: Callable[[int], None] | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Judge reports, write the results to a folder, and return its manifest; see `judge_into`.

    `topics` returns what to judge by a plan, the same each time; `inputs` is a hash of it.
    `on_total` is called with the maximum number of questions, less known answers: before anything
    is asked, and again whenever an answer makes some unnecessary. It never grows. `shard` is the
    share of the topics to judge, some reports at a time.
    """
    folder, started = Path(out), now()
    run = {"task": "report", "judge": judge.name, "items_sha256": inputs, "plan": plan.row()}
    run |= {} if shard is None else {"shard": shard.about(settings)}
    with results_journal(out, run, settings, from_rows=from_rows) as journal:
        if on_start is not None:
            on_start(journal.reused)
        most = _most_asked(topics(replace(plan, every=True)), shard) if on_total else ()
        dealt = _dealt(topics(plan), shard)
        reports, places = _judge_all(judge, dealt, journal, most, on_total or (lambda _: None))
        rows = journal.rows()
        with placed_together():
            counts, digest = write_answers(folder, rows if shard is None else marked(rows, places))
            more = {"reports": write_reports(folder, reports), **facts()}
            manifest = results_manifest(run, counts, more, started, digest)
            write_json(folder / MANIFEST, manifest)
    return manifest


def write_reports(folder: Path, reports: Sequence[JudgedReport]) -> dict[str, Any]:
    """Write reports.jsonl; return facts about the reports as a whole."""
    write_jsonl(folder / REPORTS, (report.row() for report in reports))
    return count_reports(reports)


def merge_reports(shares: Sequence[Path], out: Path, manifest: dict[str, Any]) -> None:
    """Merge the reports of a run's shares, and add facts about them to the manifest."""
    files = (share / REPORTS for share in shares)
    reports = [report_of_row(row) for file in files for _, row in read_jsonl(file)]
    manifest["reports"] = write_reports(out, sorted(reports, key=by_run))
    if "record" in manifest:
        outputs = {f"out/{REPORTS}": file_hash(newest(out / REPORTS))}
        manifest["record"] = {**manifest["record"], "outputs": outputs}


def _most_asked(topics: Iterable[OpenTopic], shard: Shard | None) -> list[int]:
    """Return the maximum questions of each stage, block by block; the plan should set `every`."""
    counts: list[int] = []
    nothing = Unscored("not asked", Provenance(""))

    def count(questions: Iterable[Support], take: Take) -> None:
        counts.append(0)
        for question in questions:
            take(question, nothing)
            counts[-1] += 1

    for block in _dealt(topics, shard):
        judge_topics(block, count)
    return counts


def _judge_all(
    judge: Judge,
    blocks: Iterable[Sequence[OpenTopic]],
    journal: Journal,
    most: Sequence[int],
    on_total: Callable[[int], None],
) -> tuple[list[JudgedReport], list[int]]:
    """Judge all reports, some topics at a time.

    Returns the reports by run, then topic, and for each answer the number of its block.
    """
    count, calls, left, stages = 0, 0, sum(most), iter(most)
    places: list[int] = []
    on_total(max(0, left - journal.reused))

    def ask_all(questions: Iterable[Support], take: Take) -> None:
        nonlocal count, calls, left
        source = iter(questions)
        while some := list(islice(source, _AT_ONCE)):
            answer_items(judge, some, journal, answer_rows, first=count)
            for question, (row,) in zip(some, journal.rows(count), strict=False):
                take(question, answer_of_row(row))
            count += len(some)
            places.extend([calls // STAGES] * len(some))
        calls += 1
        left -= next(stages, 0)
        on_total(max(0, count + left - journal.reused))

    judged = [report for block in blocks for report in judge_topics(block, ask_all)]
    journal.check_count(count)
    return sorted(judged, key=by_run), places


def by_run(report: JudgedReport) -> tuple[str, str]:
    """Return the sort key of a report."""
    return report.run_id, report.topic_id


def plan_reports(
    judge: Judge, topics: Iterable[OpenTopic], done: Callable[[str], None] | None = None
) -> Counter[str]:
    """Ask a judge whose models are offline the tree's questions; return their counts by node.

    Questions that depend on answers are not known: the topics' plan should set `least` or `every`.
    `done` is called with each node whose questions were just asked, if there are any.
    """
    counts = Counter[str]()

    def ask_all(questions: Iterable[Support], take: Take) -> None:
        source = iter(questions)
        while some := list(islice(source, _AT_ONCE)):
            nodes: dict[str, list[Support]] = {}
            for question in some:
                nodes.setdefault(question.extra["node"], []).append(question)
            for node, answers in nodes.items():
                for question, answer in zip(answers, ask(judge, answers), strict=True):
                    take(question, answer)
                counts[node] += len(answers)
                if done is not None:
                    done(node)

    for block in _blocks(topics):
        judge_topics(block, ask_all)
    return counts


def _blocks(topics: Iterable[OpenTopic]) -> Iterator[list[OpenTopic]]:
    """Yield topics in blocks of enough reports."""
    some: list[OpenTopic] = []
    for topic in topics:
        some.append(topic)
        if sum(len(topic.reports) for topic in some) >= _TOGETHER:
            yield some
            some = []
    if some:
        yield some


def _dealt(topics: Iterable[OpenTopic], shard: Shard | None) -> Iterator[list[OpenTopic]]:
    """Yield blocks, without topics of other shares: a call may ask about several topics."""
    for number, block in enumerate(_blocks(topics)):
        yield block if shard is None or number % shard.of == shard.number - 1 else []


def count_reports(reports: Sequence[JudgedReport]) -> dict[str, Any]:
    """Return facts about judged reports as a whole, ready for JSON.

    By node of the tree: questions asked and scored. By run: `missing` topics, citations of
    `unknown` documents, and documents for which it embeds a `differing` text (the share of common
    words).
    """
    there = [report for report in reports if not report.missing]
    sentences = [sentence for report in there for sentence in report.sentences]
    missing: dict[str, list[str]] = {}
    unknown: dict[str, Counter[str]] = {}
    differing: dict[str, dict[str, float]] = {}
    for judged in reports:
        cited = [citation for sentence in judged.sentences for citation in sentence.citations]
        unknown.setdefault(judged.run_id, Counter()).update(c.doc_id for c in cited if c.unknown)
        if judged.differing:
            differing.setdefault(judged.run_id, {}).update(judged.differing)
        if judged.missing:
            missing.setdefault(judged.run_id, []).append(judged.topic_id)
    outcomes = Counter(step.outcome for sentence in sentences for step in sentence.steps)
    return {
        "runs": len({report.run_id for report in reports}),
        "topics": len({report.topic_id for report in reports}),
        "reports": len(there),
        "sentences": len(sentences),
        "citations": sum(len(sentence.citations) for sentence in sentences),
        "nuggets": len({(report.topic_id, n.id) for report in reports for n in report.nuggets}),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "nodes": _nodes(there),
        "missing": missing,
        "unknown": {
            run: {"citations": ids.total(), "documents": len(ids), "first": sorted(ids)[:_NAMED]}
            for run, ids in unknown.items()
            if ids
        },
        "differing": differing,
        "notes": dict(Counter(_kind(note) for report in there for note in report.notes)),
    }


def _nodes(reports: Iterable[JudgedReport]) -> dict[str, Any]:
    answers: dict[str, list[NodeAnswer]] = {node: [] for node in NODES}
    for sentence in (sentence for report in reports for sentence in report.sentences):
        for citation in sentence.citations:
            answers["relevant"].append(citation.relevant)
            answers["attests"].append(citation.attests)
        for node, finding in sentence.findings.items():
            answers[node].append(finding)
    return {node: _tallied(findings) for node, findings in answers.items() if findings}


def _tallied(findings: Sequence[NodeAnswer]) -> dict[str, Any]:
    unscored = [finding.why for finding in findings if finding.value is None]
    return {
        "asked": len(findings),
        "scored": len(findings) - len(unscored),
        "yes": sum(finding.value is True for finding in findings),
        "by": dict(Counter(finding.by for finding in findings)),
        "reasons": dict(Counter(why.partition(":")[0] for why in unscored)),
    }


def _kind(note: str) -> str:
    """Return a note without its numbers and names."""
    return shorten(note.lstrip("0123456789 ").partition(" (")[0], 80)
