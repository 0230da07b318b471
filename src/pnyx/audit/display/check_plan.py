"""Sentences of a label plan: how many more labels, why, and which rows first."""

from __future__ import annotations

from pnyx.audit.checks.plan import LIKELY, MOST_LABELS, LabelCandidate, LabelGoal, LabelPlan
from pnyx.core.errors import count_of, escaped
from pnyx.display.figures import decimals, percent
from pnyx.display.tables import Column, OwnWords, Part, Table
from pnyx.display.text import listed

SHOWN_ROWS = 20
"""Maximum rows to label in the terminal; `--json` has all."""


def plan_parts(plan: LabelPlan) -> list[Part]:
    """Return the sentences, and the rows to label first as a table."""
    lines = [_goal_sentence(goal, plan) for goal in plan.goals]
    named = [goal for goal in plan.goals if goal.more]
    if named:
        lines += _group_sentences(max(named, key=lambda goal: goal.more or 0), plan)
        lines.append(_rows_sentence(plan))
    parts: list[Part] = [[OwnWords(line) for line in lines]]
    wanted = min(plan.more or SHOWN_ROWS, len(plan.first), SHOWN_ROWS)
    if any(goal.more for goal in plan.goals) and wanted:
        parts.append(first_table(plan, wanted))
    return parts


def first_table(plan: LabelPlan, rows: int) -> Table:
    """Return the first rows to label as a table."""
    doubted = any(row.doubt is not None for row in plan.first)
    columns = [Column("label first", "name"), Column("line", "count")]
    columns += [Column(plan.group, "name")] if plan.group else []
    columns += [Column(f"{plan.judge} says", "name")]
    columns += [Column("doubt", "number")] if doubted else []

    def cells(row: LabelCandidate) -> list[object]:
        yes_no = isinstance(row.verdict, bool)
        verdict = escaped(plan.words[not row.verdict], 40) if yes_no else f"{row.verdict:g}"
        group = [escaped(row.group, 40)] if plan.group else []
        return [escaped(row.id, 40), row.line, *group, verdict, *([row.doubt] if doubted else [])]

    left = len(plan.first) - rows
    notes = [f"{count_of(left, 'further row')} to label in this order: --json"] if left else []
    return Table(columns, [cells(row) for row in plan.first[:rows]], notes)


def _goal_sentence(goal: LabelGoal, plan: LabelPlan) -> str:
    now = f"{goal.measure} is {decimals(goal.value)} on {count_of(plan.labels, 'label')}"
    if goal.reached:
        return f"No more labels are needed {_aim(goal)}: {now}."
    if goal.more is None:
        return f"No number of labels can be given {_aim(goal)}: {now}, and {goal.why}."
    more = f"Label about {goal.more:,} more"
    if plan.group:
        more += f", in at least {goal.more_groups:,} more {_groups(plan, goal.more_groups)}"
    lines = [f"{more}, {_aim(goal)}."]
    if goal.rough:
        lines.append(f"This is a rough number: {now}, without a disagreement yet.")
    elif goal.expected is not None:
        low, high = goal.expected
        lines.append(f"Now {now}; if it stays, the interval will be {low:.2f} to {high:.2f}.")
    if goal.chance is not None:
        lines.append(_chance_sentence(goal))
    return " ".join(lines)


def _aim(goal: LabelGoal) -> str:
    if goal.half_width is not None:
        return f"for an interval of {goal.measure} of ±{goal.half_width:g}"
    return f"to decide whether {goal.measure} is at least {goal.bar:g}"


def _chance_sentence(goal: LabelGoal) -> str:
    chance = f"It may move, so they decide with a chance of {percent(goal.chance or 0)}"
    if goal.likely_more is None:
        return f"{chance}; {percent(LIKELY)} takes more than {MOST_LABELS:,}."
    if goal.more is not None and goal.likely_more <= goal.more:
        return f"{chance}."
    return f"{chance}; {percent(LIKELY)} takes about {goal.likely_more:,} more."


def _group_sentences(goal: LabelGoal, plan: LabelPlan) -> list[str]:
    """Return sentences on the cost of groups, and the savings of fewer rows per group."""
    if not plan.group:
        return ["Rows are taken to be independent: name the column that they share, with --group."]
    lines: list[str] = []
    if goal.correlation is None and plan.groups > 1:
        return lines
    if goal.correlation is None:
        lines.append(
            f"All labels belong to one {_group(plan)}, so a correlation of "
            f"{goal.used_correlation:.2f} between its rows is assumed."
        )
    else:
        alike = f"Rows that share a {_group(plan)} are alike (correlation {goal.correlation:.2f})"
        if goal.used_correlation > goal.correlation:
            alike += (
                f"; as there are only {plan.groups} {_groups(plan)}, the plan takes "
                f"{goal.used_correlation:.2f}, the upper end of its 80 % interval"
            )
        lines.append(
            f"{alike}: the variance is {goal.design_effect:.1f} times that of independent rows."
        )
    singly = goal.more_singly
    if singly is not None and goal.more is not None and singly < goal.more:
        lines.append(f"With one row of each new {_group(plan)}, about {singly:,} labels suffice.")
    return lines


def _rows_sentence(plan: LabelPlan) -> str:
    if not plan.first:
        return "The table has no rows without labels: add rows with the judge's verdict."
    have = f"The table has {count_of(len(plan.first), 'row')} without labels"
    if plan.group:
        have += f", in {plan.new_groups or 'no'} new {_groups(plan, plan.new_groups)}"
    missing = plan.more is not None and len(plan.first) < plan.more
    missing |= bool(plan.group) and plan.new_groups < plan.more_groups
    if missing:
        new = f" of new {_groups(plan)}" if plan.group else ""
        have += f": add rows{new} with the judge's verdict"
    over = [*([_groups(plan)] if plan.group else []), "verdicts"]
    over += ["doubt"] if any(row.doubt is not None for row in plan.first) else []
    first = f", new {_groups(plan)} first" if plan.group else ""
    return (
        f"{have}. Label in the order listed: it is random (seed {plan.seed}), spread evenly over "
        f"{listed(over)}{first}. Labelling only doubtful rows would bias all figures."
    )


def _group(plan: LabelPlan) -> str:
    return escaped(plan.group, 40)


def _groups(plan: LabelPlan, count: int = 2) -> str:
    name = _group(plan)
    return name if count == 1 or name.endswith("s") else f"{name}s"
