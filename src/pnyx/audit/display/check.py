"""A check of judges: text for a terminal, and a page with figures and disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pnyx.audit.checks.bars import LOWER_IS_BETTER
from pnyx.audit.checks.summary import disagreement_line, notes_of, sentences
from pnyx.audit.display.card import Part, page_html
from pnyx.audit.display.check_biases import alternative_sentences, bias_sentences
from pnyx.audit.display.judges import judge_parts
from pnyx.core.errors import count_of, escaped
from pnyx.display.plots import reliability_plot
from pnyx.display.rates import rate_notes, rate_table
from pnyx.display.tables import Column, Table
from pnyx.display.text import one_line
from pnyx.display.trials import rater_parts
from pnyx.judging.measures.group_figures import MIN_GROUP_LABELS
from pnyx.stats.base import plain

if TYPE_CHECKING:
    from pnyx.audit.checks.check import Check
    from pnyx.audit.checks.items import Answer
    from pnyx.audit.checks.result import CheckedJudge, Disagreement
    from pnyx.audit.drift import Drift


MAX_DISAGREEMENTS = 100
"""Maximum disagreements of a judge on its page."""

MAX_TEXT_COLUMNS = 2
"""Maximum text columns shown with a disagreement: those with the longest texts."""

MAX_TEXT = 600
"""Maximum characters of a text to show."""

Section = tuple[str, Sequence[Part]]


def check_text(check: Check, html: str = "") -> str:
    """Return the text for a terminal: the summary, and where to find the disagreements."""
    count = sum(len(judge.disagreements) for judge in check.judges)
    hint = "--html FILE shows them" if count else ""
    return f"{check}\n\n{disagreement_line(check, html if count and html else hint)}"


def check_html(check: Check) -> str:
    """Return a check as one self-contained page; all of its text may be hostile."""
    from pnyx._version import __version__

    names = ", ".join(escaped(judge.name, 60) for judge in check.judges)
    which = "the judge" if len(check.judges) == 1 else "the judges"
    return page_html(f"Can {which} {names} be trusted?", check_sections(check), __version__)


def check_sections(check: Check) -> list[Section]:
    """Return the parts of the page under their headings."""
    sections: list[Section] = [("In words", sentences(check))]
    sections.append(("Figures", [_bars(check), *map(_figures, check.judges)]))
    if check.choice is not None:
        choice: list[Part] = []
        for part in judge_parts(check.choice):
            choice += [part] if isinstance(part, Table) else list(part)
        sections.append(("Which judge to take", choice))
    if check.drift:
        sections.append(("Since the earlier check", [drift_table(check.drift)]))
    if check.compared:
        sections.append(("People with each other", rater_parts(plain(list(check.compared)))))
    for judge in check.judges:
        of = f": {escaped(judge.name, 60)}" if len(check.judges) > 1 else ""
        if judge.disagreements:
            sections.append((f"Disagreements{of}", _disagreements(check, judge)))
        sections += [
            (f"{heading}{of}", parts) for heading, parts in _details(check, judge) if parts
        ]
    if notes := notes_of(check):
        sections.append(("Notes", [f"{note[:1].upper()}{note[1:]}." for note in notes]))
    sections.append(("What to do next", _next_steps(check)))
    return sections


def _details(check: Check, judge: CheckedJudge) -> list[Section]:
    alternative = judge.alternative
    tested = [] if alternative is None else alternative_sentences(alternative)
    return [
        ("Calibration", _calibration(judge)),
        ("Corrected rate", _rate(check, judge)),
        ("Biases", [*bias_sentences(judge.biases, check.items.words), *tested]),
        ("Groups", _groups(judge)),
    ]


def _bars(check: Check) -> Table:
    names = (Column("judge", "name"), Column("measure", "measure"), Column("bar", "name"))
    columns = (*names, Column("value, 95 % interval", "figure"), Column("the interval is", "name"))
    verdicts = {"above": "wholly above the bar", "below": "wholly below the bar"}
    rows = []
    for bar in check.decide().bars:
        lower = bar.measure in LOWER_IS_BETTER
        limit = f"at {'most' if lower else 'least'} {bar.bar:g}"
        verdict = verdicts.get(bar.verdict, f"undecided: {bar.why}")
        if lower and bar.verdict != "undecided":
            verdict = f"wholly {'within' if bar.verdict == 'above' else 'beyond'} the bar"
        rows.append((escaped(bar.judge, 60), bar.measure, limit, bar.measured, verdict))
    title = "Bars" if check.bars else "The usual bar (none was given)"
    return Table(columns, rows, title=title)


def _figures(judge: CheckedJudge) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("value, 95 % interval", "figure"),
        Column("answers", "counts"),
    )
    rows = [(name, measured, measured) for name, measured in judge.figures.items()]
    return Table(columns, rows, title=escaped(judge.name, 60))


def _disagreements(check: Check, judge: CheckedJudge) -> list[Part]:
    listed = judge.disagreements[:MAX_DISAGREEMENTS]
    texts = _text_columns(listed)
    grouped = any(row.item.group for row in listed)
    columns = [Column("line", "count"), *([Column("group", "text")] * grouped)]
    columns += [Column("judge", "name"), Column("people", "name")]
    columns += [Column(escaped(name, 40), "text") for name in texts]
    rows = []
    for row in listed:
        cells: list[Any] = [row.item.line, *([one_line(row.item.group)[:80]] * grouped)]
        stated = "" if row.confidence is None else f" ({100 * row.confidence:.0f} %)"
        cells += [_answer(check, row.verdict) + stated, _answer(check, row.label)]
        cells += [one_line(_cut(row.item.texts.get(name, ""))) for name in texts]
        rows.append(cells)
    left = len(judge.disagreements) - len(listed)
    note = [f"Not shown: {count_of(left, 'further disagreement')} (--json)."] if left else []
    return [Table(columns, rows), *note]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _text_columns(rows: Sequence[Disagreement]) -> list[str]:
    """Return the columns with the longest texts, in the order of the table."""
    sizes: dict[str, int] = {}
    for row in rows:
        for name, text in row.item.texts.items():
            sizes[name] = sizes.get(name, 0) + len(text)
    longest = sorted((name for name in sizes if sizes[name]), key=lambda name: -sizes[name])
    return [name for name in sizes if name in longest[:MAX_TEXT_COLUMNS]]


def _answer(check: Check, value: Answer) -> str:
    if check.items.kind == "rating":
        return "-" if value is None else f"{float(value):g}"
    return escaped(check.items.words[0 if value else 1], 40)


def _calibration(judge: CheckedJudge) -> list[Part]:
    bins = judge.agreement.reliability
    if not any(part.count for part in bins):
        return []
    note = "Dots: mean probability and share of yes; lines: Wilson's 95 % intervals."
    svg = reliability_plot(bins, judge.name, [note])
    return [("Reliability diagram: stated probability and share of yes", svg)]


def _rate(check: Check, judge: CheckedJudge) -> list[Part]:
    rate = judge.rate
    if rate is None or not judge.unlabelled:
        return []
    notes = [f"{note[:1].upper()}{note[1:]}." for note in rate_notes(rate)]
    return [rate_table(rate, check.items.words), *notes]


def _groups(judge: CheckedJudge) -> list[Part]:
    if not judge.groups:
        return []
    columns = (Column("group", "text"), Column("right", "name"), Column("accuracy", "figure"))
    rows = [
        (one_line(group.name)[:80], f"{group.right} of {group.accuracy.scored}",
         group.accuracy if group.accuracy.value is not None else None)
        for group in judge.groups
    ]  # fmt: skip
    legend = [f"A group of fewer than {MIN_GROUP_LABELS} labelled answers gets no figure."]
    return [Table(columns, rows, legend=legend)]


def _next_steps(check: Check) -> list[Part]:
    steps = [
        ("How many more labels are needed?", "pnyx check TABLE --labels-needed --half-width 0.05"),
        ("Has it become worse?", "pnyx check TABLE --against OLD.json"),
        ("Does the judge notice what it should, and ignore the rest?", "pnyx audit run"),
        ("One page about a judge over several tasks and trials", "pnyx audit card"),
        ("Do its trials still end as its card says?", "pnyx audit card --against"),
    ]
    if len(check.judges) == 1:
        steps.append(
            ("Is a cheaper judge good enough?", "pnyx check RESULTS RESULTS --labels LABELS")
        )
    return [Table((Column("question", "name"), Column("command", "name")), steps)]


def drift_table(moved: Sequence[Drift]) -> Table:
    """Return a row for each figure: then, now, and the interval of the change."""
    columns = [Column("figure", "measure"), Column("then", "number"), Column("now", "number")]
    columns += [Column("better by", "number"), Column("95 % interval", "interval")]
    columns += [Column("", "name")]
    rows = [
        (escaped(m.name, 80), m.then, m.now, m.better, (m.low, m.high), _verdict(m)) for m in moved
    ]
    return Table(columns, rows)


def _verdict(moved: Drift) -> str:
    how = (
        "paired" if moved.paired else "same items, unpaired" if moved.same_items else "other items"
    )
    return f"{moved.verdict} ({how})"
