"""The words of a plan of labels: how many more, why, and which rows first."""

from __future__ import annotations

from pnyx.audit.checks.plan import LIKELY, MOST_LABELS, LabelCandidate, LabelGoal, LabelPlan
from pnyx.errors import escaped
from pnyx.view.percentages import percent
from pnyx.view.tables import Column, OwnWords, Part, Table
from pnyx.view.text import many

SHOWN_ROWS = 20
"""Rows to label that the terminal shows; `--json` has all."""


def plan_sentences(plan: LabelPlan) -> list[str]:
    """Return what to label, a goal a line, then why and how."""
    lines = [_goal_sentence(goal, plan) for goal in plan.goals]
    named = [goal for goal in plan.goals if goal.more]
    if named:
        lines += _group_sentences(max(named, key=lambda goal: goal.more or 0), plan)
        lines.append(_rows_sentence(plan))
    return lines


def plan_parts(plan: LabelPlan) -> list[Part]:
    """Return the sentences, and the rows to label first as a table."""
    parts: list[Part] = [[OwnWords(line) for line in plan_sentences(plan)]]
    wanted = min(plan.more or SHOWN_ROWS, len(plan.first), SHOWN_ROWS)
    if any(goal.more for goal in plan.goals) and wanted:
        parts.append(first_table(plan, wanted))
    return parts


def first_table(plan: LabelPlan, rows: int) -> Table:
    """Return the first rows to label as a table."""
    columns = [Column("label first", "name"), Column("line", "count")]
    columns += [Column(plan.group, "name")] if plan.group else []
    columns += [Column(f"{plan.judge} says", "name"), Column("doubt", "number")]

    def cells(row: LabelCandidate) -> list[object]:
        yes_no = isinstance(row.verdict, bool)
        verdict = ("no", "yes")[int(row.verdict)] if yes_no else f"{row.verdict:g}"
        group = [escaped(row.group, 40)] if plan.group else []
        return [escaped(row.id, 40), row.line, *group, verdict, row.doubt]

    left = len(plan.first) - rows
    notes = [f"{many(left, 'further row')} to label in this order: --json"] if left else []
    return Table(columns, [cells(row) for row in plan.first[:rows]], notes)


def _goal_sentence(goal: LabelGoal, plan: LabelPlan) -> str:
    name, aim = goal.measure, _aim(goal)
    if goal.reached:
        return f"No more labels are needed {aim}: {name} is {_figure(goal)}."
    if goal.more is None:
        return f"No number of labels can be named {aim}: {goal.why}."
    more = f"Label about {goal.more:,} more"
    if plan.group:
        more += f", in at least {goal.more_groups:,} more {_groups(plan)}"
    line = f"{more}, {aim}: {name} is {_figure(goal)} on {plan.labels:,} labels"
    if goal.expected is not None:
        low, high = goal.expected
        line += f", and would be {low:.2f} to {high:.2f} if its estimate stays"
    lines = [f"{line}."]
    if goal.chance is not None:
        lines.append(_chance_sentence(goal))
    if goal.rough:
        lines.append("There is no disagreement yet, so this is a rough number.")
    return " ".join(lines)


def _aim(goal: LabelGoal) -> str:
    if goal.half_width is not None:
        return f"for an interval of {goal.measure} of ±{goal.half_width:g}"
    return f"to decide whether {goal.measure} is above {goal.bar:g}"


def _figure(goal: LabelGoal) -> str:
    value = goal.value
    if value.value is None:
        return "unknown"
    if value.low is None or value.high is None:
        return f"{value.value:.2f} (no interval)"
    return f"{value.value:.2f} ({value.low:.2f} to {value.high:.2f})"


def _chance_sentence(goal: LabelGoal) -> str:
    decides = percent(goal.chance or 0)
    chance = f"The estimate will move: the chance that these labels decide is {decides}"
    if goal.likely_more is None:
        return f"{chance}, and up to {MOST_LABELS:,} labels do not raise it to {percent(LIKELY)}."
    if goal.more is not None and goal.likely_more <= goal.more:
        return f"{chance}."
    return f"{chance}; it is {percent(LIKELY)} with about {goal.likely_more:,} more."


def _group_sentences(goal: LabelGoal, plan: LabelPlan) -> list[str]:
    """Say what groups cost, and what labelling fewer rows of each would save."""
    if not plan.group:
        return ["Rows are taken to be independent: name the column that they share, with --group."]
    lines: list[str] = []
    if goal.correlation is None:
        if plan.groups > 1:
            return lines
        lines.append(
            f"All labels are of one of the {_groups(plan)}, so it is assumed that rows of one are "
            f"alike to a degree of {goal.used_correlation:.2f}."
        )
    else:
        lines.append(
            f"Rows that share a {_group(plan)} are alike (correlation {goal.correlation:.2f}), "
            f"so their labels count for less: the variance is {goal.design_effect:.1f} times that "
            "of independent rows."
        )
        if goal.used_correlation > goal.correlation:
            lines.append(
                f"With only {plan.groups} {_groups(plan)}, the plan cautiously takes "
                f"{goal.used_correlation:.2f}, the upper end of its 80 % interval."
            )
    singly = goal.more_singly
    if singly is not None and goal.more is not None and singly < goal.more:
        lines.append(f"With one row of each new {_group(plan)}, about {singly:,} labels would do.")
    return lines


def _rows_sentence(plan: LabelPlan) -> str:
    if not plan.first:
        return "The table has no rows without labels: add rows with the judge's verdict."
    have = f"The table has {many(len(plan.first), 'row')} without labels"
    if plan.group:
        have += f", of {plan.new_groups} new {_groups(plan, plan.new_groups)}"
    if plan.more is not None and len(plan.first) < plan.more:
        have += ": add more rows with the judge's verdict"
    new = f", new {_groups(plan)} first" if plan.group else ""
    spread = (
        f"evenly over {_groups(plan)} and the judge's doubt" if plan.group else "over its doubt"
    )
    return (
        f"{have}. Label them in the order listed: drawn at random (seed {plan.seed}), "
        f"{spread}{new}. To pick only doubtful rows would bias all figures."
    )


def _group(plan: LabelPlan) -> str:
    return escaped(plan.group, 40)


def _groups(plan: LabelPlan, count: int = 2) -> str:
    name = _group(plan)
    return name if count == 1 or name.endswith("s") else f"{name}s"
