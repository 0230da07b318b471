"""A check in words, for a terminal, `print()` and the first lines of its page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from pnyx.audit.checks.bars import LOWER_IS_BETTER, DecidedBar, Decision
from pnyx.audit.checks.labelled_rows import pair_clusters
from pnyx.audit.checks.sample_size import UNEVEN, equal_groups
from pnyx.core.errors import escaped
from pnyx.display.figures import decimals, percent, share, signed
from pnyx.judging.measures.pairs import PairColumns
from pnyx.stats.base import Measured

if TYPE_CHECKING:
    from pnyx.audit.checks.result import CheckedJudge, CheckedTable

WIDTH = 100
"""Maximum columns of a printed result."""
MAX_LINES = 25
"""Lines of a summary, as far as notes make it long: those that do not fit are only counted."""

SHOWN = {
    "yes-no": ("accuracy", "kappa", "f1", "precision", "npv", "auroc", "ece", "brier"),
    "rating": ("accuracy", "kappa", "alpha_ordinal", "spearman", "mean_absolute_error"),
}
"""Kind of table -> the measures of the short table; sensitivity and specificity are sentences."""

_SEVERAL = {
    "yes-no": ("accuracy", "kappa", "sensitivity", "specificity"),
    "rating": ("accuracy", "alpha_ordinal", "spearman", "mean_absolute_error"),
}
_SAID = {
    **dict.fromkeys(("pass", "passed", "passes"), "passed"),
    **dict.fromkeys(("fail", "failed", "fails"), "failed"),
}
"""Word for yes or no -> the verb by which a sentence says that someone answered so."""
_RATES = {"passed": "passes", "failed": "fails"}
"""That verb -> what a rate is of."""

_OPENINGS = {
    "above": "Trustworthy",
    "below": "Not trustworthy",
    "undecided": "Not trustworthy yet",
}
_BAR_OPENINGS = {
    "above": "Above the bar",
    "below": "Below the bar",
    "undecided": "Cannot tell yet",
}
_GAP = "  "


def summary_text(check: CheckedTable) -> str:
    """Return sentences, a short table and notes, in at most `MAX_LINES` lines."""
    lines = _wrapped(sentences(check))
    table = figure_lines(check)
    notes = _first_notes(notes_of(check), MAX_LINES - len(lines) - len(table) - 2)
    return "\n".join([*lines, "", *table, *([""] if notes else []), *notes])


def _first_notes(notes: Sequence[str], room: int) -> list[str]:
    """Return the notes that fit into `room` lines, whole, then how many are left."""
    ends = list(accumulate(len(_wrapped([note])) for note in notes))
    if not ends or ends[-1] <= room:
        return _wrapped(notes)
    fitting = sum(end < room for end in ends)
    left = len(notes) - fitting
    return [*_wrapped(notes[:fitting]), f"{left} more {'note' if left == 1 else 'notes'}: --json"]


def _wrapped(lines: Iterable[str]) -> list[str]:
    """Return lines of at most `WIDTH` columns; `30 %` is not broken."""
    joined = (line.replace(" %", "\N{NO-BREAK SPACE}%") for line in lines)
    wrapped = (textwrap.wrap(line, WIDTH, break_long_words=False) for line in joined)
    return [part.replace("\N{NO-BREAK SPACE}%", " %") for parts in wrapped for part in parts]


def sentences(check: CheckedTable) -> list[str]:
    """Return what the check says, a sentence or two a line."""
    decision = check.decide()
    if len(check.judges) == 1:
        (judge,) = check.judges
        lines = _shares(check, judge) if check.items.kind == "yes-no" else _ratings(judge)
        lines.append(_verdict(check, decision, judge))
        lines += _rate(check, judge)
    else:
        lines = [_verdict(check, _of(decision, judge), judge) for judge in check.judges]
        lines += _choice(check)
    return [*lines, *_people(check), *_length(check), *_drift(check)]


def _of(decision: Decision, judge: CheckedJudge) -> Decision:
    return Decision([bar for bar in decision.bars if bar.judge == judge.name], judge.unscored)


def disagreement_line(check: CheckedTable, where: str = "") -> str:
    """Return how many disagreements there are, in which order, and where."""
    count = sum(len(judge.disagreements) for judge in check.judges)
    if not count:
        return "No disagreements."
    stated = any(row.confidence is not None for j in check.judges for row in j.disagreements)
    order = ", the furthest apart first" if check.items.kind == "rating" else ""
    order = ", most confident first" if stated else order
    listed = f"{count} {'disagreement' if count == 1 else 'disagreements'}{order}"
    return f"{listed}: {escaped(where)}" if where else f"{listed}."


# Sentences ---------------------------------------------------------------------------------------


def _shares(check: CheckedTable, judge: CheckedJudge) -> list[str]:
    """Return on how many of people's yes, and of their no, the judge agrees."""
    level = f"{100 * check.bootstrap.confidence:g} % interval "
    lines: list[str] = []
    for side, name in enumerate(("sensitivity", "specificity")):
        measured, word = judge.figures[name], check.items.words[side]
        if not measured.asked:
            continue
        noun = f" {_answers(measured.asked)}" if not lines else ""
        people = _SAID.get(word, f"labelled {_quoted(word)}")
        judged = _SAID.get(word, f"said {_quoted(word)} to")
        who = "the judge" if not lines else "it"
        count = round((measured.value or 0.0) * measured.scored)
        figure = share(measured, "" if lines else level, inside=True)
        lines.append(
            f"Of {measured.asked}{noun} that people {people}, {who} {judged} {count} ({figure})."
        )
    return lines or [f"None of {judge.unscored} labelled answers is scored."]


def _quoted(word: str) -> str:
    return f'"{escaped(word, 40)}"'


def _answers(count: int) -> str:
    return "answer" if count == 1 else "answers"


def _ratings(judge: CheckedJudge) -> list[str]:
    exact, distance = judge.figures["accuracy"], judge.figures["mean_absolute_error"]
    if exact.value is None or distance.value is None:
        return ["No rating is scored."]
    count = round(exact.value * exact.scored)
    return [
        f"Of {exact.scored} ratings of people, the judge gave the same {count} times "
        f"({share(exact, inside=True)}).",
        f"On average, it differs from people by {decimals(distance)}.",
    ]


def _verdict(check: CheckedTable, decision: Decision, judge: CheckedJudge) -> str:
    opening = (_BAR_OPENINGS if check.bars else _OPENINGS)[decision.verdict]
    name = ""
    if len(check.judges) > 1:
        name = f"{escaped(judge.name, 40)}: "
        opening = opening[0].lower() + opening[1:]
    parts = [_bar(check, bar, judge) for bar in decision.bars]
    if decision.verdict == "undecided" and decision.unscored:
        parts.append(f"{decision.unscored} labelled {_answers(decision.unscored)} unscored")
    return f"{name}{opening}: {'; '.join(parts)}."


def _bar(check: CheckedTable, bar: DecidedBar, judge: CheckedJudge) -> str:
    clusters = judge.agreement.clusters
    base = f"{clusters} {cluster_noun(check, clusters)}"
    figure = f"{bar.measure} {decimals(bar.measured, base)}"
    limit = f"{bar.bar:g}"
    if bar.verdict == "undecided":
        straddles = "the interval lies on both sides of"
        why = f"{straddles} {limit}" if bar.why.startswith(straddles) else bar.why
        return f"{figure}, {why}"
    if bar.measure in LOWER_IS_BETTER:
        return f"{figure}, {'at most' if bar.verdict == 'above' else 'above'} {limit}"
    reached = "at least" if bar.verdict == "above" else "below"
    return f"{figure}, {reached} {limit}"


def _rate(check: CheckedTable, judge: CheckedJudge) -> list[str]:
    if judge.rate is None or judge.rate.judged.value is None:
        return []
    rate = judge.rate
    word = check.items.words[0]
    noun = _RATES.get(_SAID.get(word, ""), _quoted(word))
    judged = percent(judge.rate.judged.value)
    corrected = rate.prediction_powered
    if judge.unlabelled and corrected.value is not None:
        return [f"Its rate of {judged} {noun} is corrected to {share(corrected)}."]
    if judge.unlabelled:
        return [f"Its rate of {judged} {noun} cannot be corrected: too few labels."]
    if rate.people.value is None:
        return []
    return [f"Its rate is {judged} {noun}; people's is {share(rate.people)}."]


def _people(check: CheckedTable) -> list[str]:
    if check.people is None or check.people.value is None:
        return []
    kind = "nominal" if check.items.kind == "yes-no" else "ordinal"
    agreement = decimals(check.people, f"{len(check.items.people)} people")
    judges = [
        f"{escaped(j.name, 40) if len(check.judges) > 1 else 'the judge'}'s with people: "
        f"{alpha.value:.2f}"
        for j in check.judges
        if (alpha := j.figures[f"alpha_{kind}"]).value is not None
    ]
    return ["; ".join([f"People's agreement with each other: alpha {agreement}", *judges]) + "."]


def _length(check: CheckedTable) -> list[str]:
    """Return sentences on judges that favour longer or shorter texts beyond chance."""
    lines = []
    for judge in check.judges:
        length = judge.biases.length
        if length.shown and length.difference.value is not None:
            who = escaped(judge.name, 40) if len(check.judges) > 1 else "The judge"
            longer = length.difference.value > 0
            texts = f"{'longer' if longer else 'shorter'} texts ({escaped(length.column, 40)} "
            texts += f"{'above' if longer else 'up to'} {length.words:g} words)"
            figure = signed(length.difference, points=check.items.kind == "yes-no")
            lines.append(f"{who} {leaning(texts, check.items.words[0])}: {figure}.")
    return lines


def leaning(texts: str, yes: str) -> str:
    """Return how a judge treats texts to which it says yes too often; yes may mean a failure."""
    if _SAID.get(yes) == "failed":
        return f"is harder on {texts} than people are"
    return f"favours {texts} more than people do"


def _choice(check: CheckedTable) -> list[str]:
    choice = check.choice
    if choice is None:
        return []
    lines = []
    for tested in choice.comparisons:
        words = tested.conclusion.replace("lower", "less accurate")
        words = words.replace("higher", "more accurate")
        if tested.good_enough and tested.conclusion == "lower":
            words += f" by less than {choice.margin:g}"
        p = "-" if tested.p_holm is None else f"{tested.p_holm:.3g}"
        lines.append(
            f"{escaped(tested.run, 40)} against {escaped(choice.baseline, 40)}: "
            f"{tested.test.difference:+.3f} accuracy (p {p}, Holm), {words}."
            if tested.test.difference is not None
            else f"{escaped(tested.run, 40)}: nothing to compare."
        )
    if choice.choice is None:
        best = escaped(choice.baseline, 40)
        lines.append(f"Most accurate: {best}. Costs are not known (--cost COLUMN for each judge).")
    else:
        lines.append(f"Take {escaped(choice.choice, 80)}: the cheapest that is good enough.")
    return lines


def _drift(check: CheckedTable) -> list[str]:
    if not check.drift:
        return []
    moved = {kind: [d.name for d in check.drift if d.verdict == kind] for kind in
             ("worse", "maybe worse", "better")}  # fmt: skip
    parts = [f"{kind}: {', '.join(escaped(n, 60) for n in names)}" for kind, names in moved.items()
             if names]  # fmt: skip
    return [f"Since the earlier check, {'; '.join(parts) or 'no figure is worse'}."]


_COUNTED = frozenset(
    "question topic query prompt session conversation thread cluster task input document user item "
    "id claim answer trace case example".split()
)
"""Names of groups that a sentence counts by: `12 questions`; others are counted as groups."""


def cluster_noun(check: CheckedTable, count: int) -> str:
    """Return what is drawn, named after the column of groups if that is a usual word."""
    name = check.items.group.lower().removesuffix("_id").removesuffix(" id")
    grouped = any(judge.agreement.clustered_by == "group" for judge in check.judges)
    if not grouped:
        name = "answer"
    elif name not in _COUNTED:
        name = "group"
    if count == 1:
        return name
    return f"{name[:-1]}ies" if name[-1] == "y" and name[-2:-1] not in "aeiou" else f"{name}s"


# The short table ---------------------------------------------------------------------------------


def figure_lines(check: CheckedTable) -> list[str]:
    """Return the short table: of one judge a line a measure, of several a line a judge."""
    if len(check.judges) == 1:
        (judge,) = check.judges
        rows = [["measure", "value", "interval", "answers"]]
        for name in SHOWN[check.items.kind]:
            if name in judge.figures:
                measured = judge.figures[name]
                rows.append([name, _value(measured), _ends(measured), _counts(measured)])
        return _aligned(rows, 1)
    names = [n for n in _SEVERAL[check.items.kind] if all(n in j.figures for j in check.judges)]
    rows = [["judge", *names, "answers"]]
    for judge in check.judges:
        figures = [judge.figures[name] for name in names]
        cells = [f"{_value(m)} {_ends(m)}".strip() for m in figures]
        rows.append([escaped(judge.name, 30), *cells, _counts(figures[0])])
    return _aligned(rows, 1)


def _value(measured: Measured) -> str:
    return "-" if measured.value is None else f"{measured.value:z.2f}"


def _ends(measured: Measured) -> str:
    if measured.low is None or measured.high is None:
        return ""
    return f"{measured.low:z.2f} to {measured.high:z.2f}"


def _counts(measured: Measured) -> str:
    if measured.scored == measured.asked:
        return f"{measured.asked:,}"
    return f"{measured.scored:,} of {measured.asked:,}"


def _aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            cell.ljust(width) if n < left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def notes_of(check: CheckedTable) -> list[str]:
    """Return what was guessed, left out or is unscored, a line each."""
    notes = [escaped(note, 300) for note in check.items.notes]
    for judge in check.judges:
        counts = judge.agreement.counts
        if judge.unscored:
            reasons = ", ".join(f"{n} {escaped(r, 40)}" for r, n in counts["reasons"].items())
            name = f"{escaped(judge.name, 40)}: " if len(check.judges) > 1 else ""
            notes.append(f"{name}{judge.unscored} of {counts['asked']} labelled answers are "
                         f"unscored: {reasons}")  # fmt: skip
    if check.tied:
        items = "item is" if check.tied == 1 else "items are"
        notes.append(f"{check.tied} {items} tied between people and left out")
    unlabelled = max(judge.unlabelled for judge in check.judges) - check.tied
    if unlabelled > 0:
        has = "has" if unlabelled == 1 else "have"
        notes.append(f"{unlabelled} {_answers(unlabelled)} {has} no label")
    notes += _withheld(check)
    notes += _uneven(check)
    if not check.items.group:
        notes.append("no column of groups: answers to one question count as if they were "
                     "independent (--group COLUMN)")  # fmt: skip
    return notes


def _withheld(check: CheckedTable) -> list[str]:
    """Return why measures of the short table have no interval, a line for each reason."""
    reasons: dict[str, dict[str, None]] = {}
    for judge in check.judges:
        for name in SHOWN[check.items.kind]:
            measured = judge.figures.get(name)
            if measured and measured.value is not None and measured.no_interval:
                reasons.setdefault(measured.no_interval, {})[name] = None
    return [f"no interval: {reason} ({', '.join(names)})" for reason, names in reasons.items()]


def _uneven(check: CheckedTable) -> list[str]:
    """Warn of groups that differ so much in size that intervals are too narrow."""
    sizes = np.bincount(pair_clusters(PairColumns.of(check.judges[0].agreement.joined.pairs)))
    equal = equal_groups(sizes)
    if equal >= UNEVEN * len(sizes):
        return []
    groups = f"{len(sizes)} {cluster_noun(check, len(sizes))}"
    return [f"the {groups} differ much in size, like {equal:.1f} equal ones: the intervals may be "
            "somewhat too narrow"]  # fmt: skip
