"""Judges compared, and which of them to take: tables for a terminal, and one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pnyx.audit.display.card import page_html
from pnyx.audit.judge_choice import ChosenJudge, ComparedJudge, JudgeCascade
from pnyx.core.errors import escaped
from pnyx.display.plots import PlotPanel, Point, interval_plot
from pnyx.display.tables import Column, OwnWords, Part, Table, chance, draws_legend
from pnyx.display.text import many

NOT_KNOWN = "no price, no manifest, or answers from the store or an earlier part of the run"
"""Why dollars or seconds are not known."""
_UNITS = {"dollars": "$ / 1,000", "seconds": "s / answer"}


def judge_parts(result: ChosenJudge) -> list[Part]:
    """Return what a terminal shows of `pnyx.audit.choose_judge`."""
    cascade = [] if result.cascade is None else [_cascade(result.cascade)]
    choice = [OwnWords(_choice(result))]
    return [*_judges(result), _candidates(result), *cascade, choice, _drawn(result)]


def judge_notes(result: ChosenJudge) -> list[str]:
    """Return what was left out, is unscored or is not known, a line each."""
    notes = []
    if result.left_out:
        notes.append(f"{result.left_out} labelled items were not asked of every judge: left out")
    for one in result.judges:
        m = one.measures["accuracy"]
        if m.scored < m.asked:
            notes.append(f"{escaped(one.name, 40)}: {m.asked - m.scored} of {m.asked} unscored")
        if _cost(one, result) is None:
            notes.append(f"{escaped(one.name, 40)}: its {result.by} are not known ({NOT_KNOWN})")
    return notes


def judges_html(result: ChosenJudge) -> str:
    """Return the comparison as one self-contained HTML document; names in it may be hostile."""
    from pnyx._version import __version__

    accuracy = {one.name: one.measures["accuracy"] for one in result.judges}
    points = [Point(escaped(name, 40), m.value, m.low, m.high) for name, m in accuracy.items()]
    best = accuracy[result.baseline].value
    note = f"Dots: accuracy; lines: 95 % intervals; dashed: {escaped(result.baseline, 40)}."
    svg = interval_plot([PlotPanel("accuracy", points, best)], [note])
    choice = _choice(result)
    taken = f"{choice[:1].upper()}{choice[1:]}."
    sections: list[tuple[str, Sequence[Any]]] = [
        ("Which to take", [taken, _candidates(result), *judge_notes(result)]),
        ("What was measured", [("Accuracy of each judge", svg), *_judges(result), *_drawn(result)]),
    ]
    if result.cascade is not None:
        sections.append(("A cascade", [_cascade(result.cascade)]))
    return page_html(f"Judges of {result.task} compared", sections, __version__)


def _drawn(result: ChosenJudge) -> list[str]:
    return draws_legend(f"{many(result.clusters, 'cluster')}", result.bootstrap)


def _judges(result: ChosenJudge) -> list[Table]:
    shown = list(result.judges[0].measures)
    shown = [name for name in shown if all(name in one.measures for one in result.judges)]
    names = [escaped(one.name, 40) for one in result.judges]
    measured = [[one.measures[name] for name in shown] for one in result.judges]
    columns = [Column("judge", "name"), *(Column(name, "figure") for name in shown)]
    figures = [[name, *row, row[0]] for name, row in zip(names, measured, strict=True)]
    title = f"{result.task}: {result.items} items that all judges were asked about"
    costs = [
        [name, *_costs(one), _trials(one)] for name, one in zip(names, result.judges, strict=True)
    ]
    units = [Column(unit, "number") for unit in _UNITS.values()]
    return [
        Table([*columns, Column("answers", "counts")], figures, title=title),
        Table([columns[0], *units, Column("trials", "name")], costs),
    ]


def _costs(one: ComparedJudge | JudgeCascade) -> list[float | None]:
    return [None if one.usd is None else 1000 * one.usd, one.seconds]


def _trials(one: ComparedJudge) -> str:
    if not one.trials:
        return "no card"
    passed = sum(outcome == "passed" for outcome in one.trials.values())
    others = ", ".join(f"{n} {o}" for n, o in one.trials.items() if o != "passed")
    return f"{passed} of {len(one.trials)} passed" + (f"; {others}" if others else "")


def _candidates(result: ChosenJudge) -> Table:
    """Return a row for each judge and the cascade, the cheapest first: why one is taken."""
    names = ("difference", "95 % interval", "p", "(Holm)", "p not less", "(Holm) ")
    columns = [Column("candidate", "name"), Column(_UNITS[result.by], "number")]
    columns += [Column("good enough", "name"), Column("accuracy is", "name")]
    columns += [Column(n, "interval" if n == "95 % interval" else "number") for n in names]
    tested = {c.run: c for c in result.comparisons}
    some: list[ComparedJudge | JudgeCascade]
    some = [*result.judges, *([] if result.cascade is None else [result.cascade])]
    rows: list[Sequence[Any]] = []
    for one in sorted(some, key=lambda one: (_cost(one, result) is None, _cost(one, result) or 0)):
        c = tested.get(one.name)
        head = [escaped(one.name, 80), _cost(one, result)]
        if c is None:
            rows.append([*head, "yes", "baseline", "-", None, *["-"] * 4])
            continue
        less = (None, None) if c.against is None else (
            c.against.p_not_lower, c.against.p_not_lower_holm
        )  # fmt: skip
        difference = "-" if c.test.difference is None else f"{c.test.difference:+.3f}"
        cells = [difference, (c.low, c.high), *map(chance, (c.test.p, c.p_holm, *less))]
        enough = "yes" if c.good_enough else "not shown"
        rows.append([*head, enough, c.conclusion.replace("lower", "less"), *cells])
    legend = (
        f"accuracy less that of {escaped(result.baseline, 40)}; not less: by {result.margin:g} or "
        "more, one-sided p (Holm) < .025; Tango's intervals. The cheapest that is good enough is "
        "taken"
    )
    return Table(columns, rows, legend=[legend])


def _cost(one: ComparedJudge | JudgeCascade, result: ChosenJudge) -> float | None:
    return _costs(one)[list(_UNITS).index(result.by)]


def _cascade(one: JudgeCascade) -> Table:
    columns = (Column("cascade", "name"), Column("accuracy", "figure"), Column("kept", "share"),
               *(Column(unit, "number") for unit in _UNITS.values()))  # fmt: skip
    limits = (("no to", one.low), ("yes from", one.high))
    sides = [f"{side} {limit:.4g}" for side, limit in limits if limit is not None]
    legend = (
        f"{escaped(one.first, 40)} keeps {' and '.join(sides)}; thresholds chosen on the other "
        f"half of the labels (pnyx calibrate --error {one.error:g}, then pnyx judge --cascade)"
    )
    row = (escaped(one.name, 80), one.accuracy, one.kept, *_costs(one))
    return Table(columns, [row], legend=[legend])


def _choice(result: ChosenJudge) -> str:
    if result.choice is None:
        return f"no choice: the {result.by} of a judge that is good enough are not known"
    named = escaped(result.choice, 80)
    if result.choice == result.baseline:
        return f"take {named}: no cheaper judge is shown to be good enough"
    return f"take {named}: the cheapest that is good enough, by {result.by}"
