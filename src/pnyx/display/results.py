"""Results as tables and paragraphs for people, each in one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import count_of, escaped, shorten
from pnyx.display.tables import Column, Table
from pnyx.judging.judge_names import short_name

if TYPE_CHECKING:
    from pnyx.core.records import Perspective
    from pnyx.display.tables import Part
    from pnyx.judging.calibration.recalibration import Recalibration
    from pnyx.judging.llm.plan import PlannedModel
    from pnyx.judging.store.maintenance import StoreStats
    from pnyx.stats.base import Measured

_SHOWN_DOCUMENTS = 3


def in_units(count: int) -> str:
    """Return a number of bytes for people."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} bytes"


def store_lines(stats: StoreStats) -> str:
    """Return the contents of a judgement store: each model's replies, finish reasons and tokens."""
    size = f"{count_of(stats.replies, 'reply', 'replies')}, {in_units(stats.bytes)} on disk"
    lines = [f"{escaped(stats.path)}: {size}"]
    if stats.damaged:
        lines.append(f"damaged: {stats.damaged:,} (pnyx store --damaged --delete deletes them)")
    for model in stats.models:
        ends = (
            f"{shorten(name, 40) or '(not stated)'} {count:,}"
            for name, count in model.finish_reasons.items()
        )
        tokens = []
        for name, count in model.tokens.items():
            stated = "" if count.replies == model.replies else f" (stated by {count.replies:,})"
            total = "not stated" if count.total is None else f"{count.total:,}{stated}"
            tokens.append(f"{name.removesuffix('_tokens')} {total}")
        lines += [
            f"\n{shorten(model.model, 100)}",
            f"  {count_of(model.replies, 'reply', 'replies')}, {model.first} to {model.last}",
            f"  ended by: {', '.join(ends)}",
            f"  tokens: {', '.join(tokens)}",
            f"  with token alternatives: {model.with_alternatives:,}",
        ]
    return "\n".join(lines)


def perspective_lines(views: Sequence[Perspective]) -> str:
    """Format each perspective on two lines; its text may come from a hostile document."""
    lines = []
    for number, view in enumerate(views, 1):
        origin, documents = str(view.extra.get("origin", "")), view.extra.get("documents")
        if isinstance(documents, list):
            more = len(documents) - _SHOWN_DOCUMENTS
            origin += f": {', '.join(map(str, documents[:_SHOWN_DOCUMENTS]))}"
            origin += f" and {more} more" if more > 0 else ""
            origin += f"; side by {view.extra['side_by']}" if view.extra.get("side_by") else ""
        lines.append(f"{number:>3}  {view.stance or '?':<7}  {shorten(view.text, 1000)}")
        lines.append(f"{'':14}{shorten(origin, 200)}")
    return "\n".join(lines)


# Cost plans ----------------------------------------------------------------------------


def plan_row(model: PlannedModel) -> dict[str, Any]:
    """Return the planned calls of a model, for JSON."""
    estimate = asdict(model.estimate)
    calls = estimate.pop("requests")
    names = ("second_tries", "learnt_from")
    head = {"model": model.model, "from_store": model.from_store, "calls": calls}
    row = {**head, **{name: getattr(model, name) for name in names}, **estimate}
    if model.expected is not None:
        expected = asdict(model.expected)
        row |= {"calls_least": model.least}
        row |= {"expected": {"calls": expected.pop("requests"), **expected}}
    return row


def plan_lines(planned: Sequence[PlannedModel]) -> Iterator[str]:
    """Yield the planned calls of each model, and their cost."""
    for model in planned:
        yield escaped(model.model)
        yield from (f"  {name:<17}  {fact}" for name, fact in _plan_facts(model).items())
    if not planned:
        yield "  no language model is asked: no calls, no cost"
    if any(model.estimate.requests for model in planned):
        yield (
            "Repairs, retries of replies cut off, split calls and failed attempts may add to "
            "this; --budget or --set budget-tokens=N sets a hard limit."
        )


def _plan_facts(model: PlannedModel) -> dict[str, str]:
    estimate, usual = model.estimate, model.expected
    calls = f"{estimate.requests:,} ({model.from_store:,} from the store)"
    if usual is not None:
        calls = f"{model.least:,} to {calls}; {usual.requests:,} expected"
    facts = {"calls": calls}
    if estimate.requests:
        if model.second_tries:
            facts["of these again"] = f"{model.second_tries:,} expected, after replies cut off"
        basis = "from the fewest to the most possible"
        if model.learnt_from:
            basis = f"5th to 95th percentile of {model.learnt_from:,} stored replies"
        facts["prompt tokens"] = f"{_range(estimate.prompt_tokens)} ({basis})"
        facts["completion tokens"] = _range(estimate.completion_tokens)
        cost = estimate.cost_usd
        unknown = "not known; --set prices=FILE gives it"
        price = f"${cost[0]:.4f} to ${cost[1]:.4f}" if cost else unknown
        facts["price"] = price
        if usual is not None:
            facts["prompt tokens"] += f"; {_range(usual.prompt_tokens)} expected"
            facts["completion tokens"] += f"; {_range(usual.completion_tokens)} expected"
            if usual.cost_usd:
                low, high = usual.cost_usd
                facts["price"] += f"; ${low:.4f} to ${high:.4f} expected"
    return facts


def _range(tokens: tuple[int, int]) -> str:
    return f"{tokens[0]:,} to {tokens[1]:,}"


# Calibration and tuning --------------------------------------------------------------------------


def calibration_parts(calibration: Recalibration, out: str) -> list[Part]:
    """Return measures before and after calibration, and the answers that a cascade keeps."""
    from pnyx.display.trials import figure

    counts, figures = calibration.about["counts"], calibration.about["figures"]
    of = figures["after"]["ece"]
    fitted = (
        f"{shorten(short_name(calibration.judge))}, {calibration.task}: {calibration.method} on "
        f"{counts['fitted']} answers ({counts['yes']} yes), {counts['groups']} groups; "
        f"yes from {calibration.threshold:.3f}"
    )
    columns = (Column("measure", "measure"), Column("before", "figure"), Column("after", "figure"))
    rows = [
        (name, *(figure(figures[when][name]) for when in ("before", "after")))
        for name in figures["after"]
    ]
    measured = f"{of['scored']} of {of['asked']}, cross-fitted in {counts['folds']} folds"
    sure = calibration.sure
    cascade = [] if sure is None else [f"cascade at error {sure.error:g}: {sure}"]
    table = Table(columns, rows, title=fitted)
    return [table, [f"answers: {measured}", *cascade, f"wrote {escaped(out)}"]]


# Judged reports ---------------------------------------------------------------------------------


def judged_notes(counts: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    """Yield warnings of one kind, and the words for further ones."""
    missing = [
        f"run {escaped(run)} has no report on {len(topics)} of the topics: "
        f"{', '.join(escaped(topic, 30) for topic in topics[:5])}"
        f"{', ...' if len(topics) > 5 else ''}"
        for run, topics in counts["missing"].items()
    ]
    yield missing, "runs lack topics"
    differing = [
        f"run {escaped(run)}: {len(texts)} of its cited documents have a different text there "
        f"than in the collection; the collection's text is judged. Words in common: "
        + ", ".join(f"{escaped(name, 30)} {share:.0%}" for name, share in list(texts.items())[:3])
        for run, texts in counts["differing"].items()
    ]
    yield differing, "runs embed other texts"
    yield [f"{n} report{'s' * (n != 1)}: {note}" for note, n in counts["notes"].items()], "notes"


def judged_text(manifest: Mapping[str, Any]) -> str:
    """Return a summary of the judged reports."""
    counts = manifest["reports"]
    outcomes = ", ".join(f"{number:,} {name}" for name, number in counts["outcomes"].items())
    lines = [
        f"{_many(counts, 'reports')} of {_many(counts, 'runs')} on {_many(counts, 'topics')}: "
        f"{_many(counts, 'sentences')}, {_many(counts, 'citations')}; {outcomes}"
    ]
    for node, row in counts["nodes"].items():
        reasons = ", ".join(f"{n:,} {shorten(why, 40)}" for why, n in row["reasons"].items())
        by = ", ".join(f"{n:,} {escaped(who, 40)}" for who, n in row["by"].items())
        left = f"; unscored: {reasons}" if reasons else ""
        lines.append(
            f"  {node:<14}  {row['yes']:,} yes, {row['scored']:,} of {row['asked']:,} scored "
            f"(by {by}){left}"
        )
    for run, row in counts["unknown"].items():
        how = "a no" if manifest["plan"]["unknown_documents"] == "no" else "unscored"
        first = ", ".join(escaped(doc_id, 30) for doc_id in row["first"])
        more = ", ..." if row["documents"] > len(row["first"]) else ""
        lines.append(
            f"  {_many(row, 'citations')} of run {escaped(run)} "
            f"to {_many(row, 'documents')} missing from the collection: {how} ({first}{more})"
        )
    return "\n".join(lines)


def _many(counts: Mapping[str, int], name: str) -> str:
    return f"{counts[name]:,} {name[:-1] if counts[name] == 1 else name}"


# Written reports --------------------------------------------------------------------------------


# The demo --------------------------------------------------------------------------------------

_MEANING = {
    "P@10": "relevant, of the first 10 documents found",
    "perspectives@10": "share of all perspectives supported by the first 10 documents",
    "relevance.accuracy": "judge against labels, on retrieved documents",
    "relevance.f1": "the same, F1 of yes",
    "relevance.auroc": "the same; 0.5 is chance",
    "lookalikes.accuracy": "harder: off-topic passages share the question's words",
    "lookalikes.f1": "the same, F1 of yes",
    "lookalikes.auroc": "the same; below 0.5 the judge prefers the look-alikes",
    "support.accuracy": "judge against labels: is a perspective supported?",
    "support.f1": "the same, F1 of yes",
    "support.auroc": "the same; 0.5 is chance",
    "stance.accuracy": "judge against hidden labels: pro or con?",
    "own_words.on_question": "cited passages about the question, by the labels",
    "own_words.right_side": "of these: on the side for which they are cited",
    "other_words.on_question": "the same, for questions not in the corpus's words",
    "other_words.right_side": "of these: on the side for which they are cited",
    "no_labels.on_question": "the same, with the corpus's labels hidden",
    "no_labels.right_side": "of these: on the side for which they are cited",
    "cited.strong": "of all these: labelled as strong arguments",
}
_GROUPS = ("relevance.accuracy", "lookalikes.accuracy", "support.accuracy", "stance.accuracy",
           "own_words.on_question")  # fmt: skip
"""Measures that begin a new group of the table."""


def demo_table(measures: Mapping[str, Measured]) -> Table:
    """Return the measures of the bundled example, each with its meaning."""
    rows: list[tuple[object, ...]] = []
    for name, measured in measures.items():
        rows += [()] if name in _GROUPS else []
        rows.append((name, measured, measured, _MEANING[name]))
    columns = (Column("measure", "measure"), Column("value [95 %]", "figure"),
               Column("scored", "counts"), Column("meaning"))  # fmt: skip
    return Table(columns, rows)
