"""Comparison of judges and the choice among them: tables for a terminal, and one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pnyx.audit.display.card import page_html
from pnyx.audit.judge_choice import ChosenJudge, ComparedJudge, JudgeCascade
from pnyx.core.errors import count_of, escaped
from pnyx.display.plots import PlotPanel, Point, interval_plot
from pnyx.display.tables import Column, OwnWords, Part, Table, chance, draws_legend

NOT_KNOWN = "no price, no manifest, or answers from the store or an earlier part of the run"
"""Why dollars or seconds are unknown."""
_UNITS = {"dollars": "$ / 1,000", "seconds": "s / answer"}


def judge_parts(result: ChosenJudge) -> list[Part]:
    """Return the terminal output for `pnyx.audit.choose_judge`."""
    cascade = [] if result.cascade is None else [_cascade(result.cascade)]
    choice = [OwnWords(_choice(result))]
    return [*_judges(result), _candidates(result), *cascade, choice, _drawn(result)]


def judge_notes(result: ChosenJudge) -> list[str]:
    """Return notes on what is left out, unscored or unknown, one line each."""
    notes = []
    if result.left_out:
        notes.append(f"{result.left_out} labelled items were not asked of every judge: left out")
    for judge in result.judges:
        m = judge.measures["accuracy"]
        if m.scored < m.asked:
            notes.append(f"{escaped(judge.name, 40)}: {m.asked - m.scored} of {m.asked} unscored")
        if _cost(judge, result) is None:
            notes.append(f"{escaped(judge.name, 40)}: its {result.by} are not known ({NOT_KNOWN})")
    return notes


def judges_html(result: ChosenJudge) -> str:
    """Return the comparison as one self-contained HTML document; names in it may be hostile."""
    from pnyx._version import __version__

    accuracy = {judge.name: judge.measures["accuracy"] for judge in result.judges}
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
    return draws_legend(f"{count_of(result.clusters, 'cluster')}", result.bootstrap)


def _judges(result: ChosenJudge) -> list[Table]:
    names_of_measures = list(result.judges[0].measures)
    names_of_measures = [
        name for name in names_of_measures if all(name in judge.measures for judge in result.judges)
    ]
    names = [escaped(judge.name, 40) for judge in result.judges]
    measured = [[judge.measures[name] for name in names_of_measures] for judge in result.judges]
    columns = [Column("judge", "name"), *(Column(name, "figure") for name in names_of_measures)]
    figures = [[name, *row, row[0]] for name, row in zip(names, measured, strict=True)]
    title = f"{result.task}: {result.items} items that all judges were asked about"
    costs = [
        [name, *_costs(judge), _trials(judge)]
        for name, judge in zip(names, result.judges, strict=True)
    ]
    units = [Column(unit, "number") for unit in _UNITS.values()]
    return [
        Table([*columns, Column("answers", "counts")], figures, title=title),
        Table([columns[0], *units, Column("trials", "name")], costs),
    ]


def _costs(judge: ComparedJudge | JudgeCascade) -> list[float | None]:
    return [None if judge.usd is None else 1000 * judge.usd, judge.seconds]


def _trials(judge: ComparedJudge) -> str:
    if not judge.trials:
        return "no card"
    passed = sum(outcome == "passed" for outcome in judge.trials.values())
    others = ", ".join(f"{n} {o}" for n, o in judge.trials.items() if o != "passed")
    return f"{passed} of {len(judge.trials)} passed" + (f"; {others}" if others else "")


def _candidates(result: ChosenJudge) -> Table:
    """Return a row for each judge and the cascade, the cheapest first, with the tests."""
    names = ("difference", "95 % interval", "p", "(Holm)", "p not less", "(Holm) ")
    columns = [Column("candidate", "name"), Column(_UNITS[result.by], "number")]
    columns += [Column("good enough", "name"), Column("accuracy is", "name")]
    columns += [Column(n, "interval" if n == "95 % interval" else "number") for n in names]
    tested = {c.run: c for c in result.comparisons}
    some: list[ComparedJudge | JudgeCascade]
    some = [*result.judges, *([] if result.cascade is None else [result.cascade])]
    rows: list[Sequence[Any]] = []
    for candidate in sorted(
        some,
        key=lambda candidate: (_cost(candidate, result) is None, _cost(candidate, result) or 0),
    ):
        c = tested.get(candidate.name)
        head = [escaped(candidate.name, 80), _cost(candidate, result)]
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
        f"accuracy minus that of {escaped(result.baseline, 40)}; not less: by {result.margin:g} or "
        "more, one-sided p (Holm) < 0.025; Tango's intervals. The cheapest that is good enough is "
        "chosen"
    )
    return Table(columns, rows, legend=[legend])


def _cost(judge: ComparedJudge | JudgeCascade, result: ChosenJudge) -> float | None:
    return _costs(judge)[list(_UNITS).index(result.by)]


def _cascade(cascade: JudgeCascade) -> Table:
    columns = (Column("cascade", "name"), Column("accuracy", "figure"), Column("kept", "share"),
               *(Column(unit, "number") for unit in _UNITS.values()))  # fmt: skip
    limits = (("no to", cascade.low), ("yes from", cascade.high))
    sides = [f"{side} {limit:.4g}" for side, limit in limits if limit is not None]
    legend = (
        f"{escaped(cascade.first, 40)} keeps {' and '.join(sides)}; thresholds chosen on the other "
        f"half of the labels (pnyx judge calibrate --error {cascade.error:g}, then pnyx judge "
        "--set cascade=FILE)"
    )
    row = (escaped(cascade.name, 80), cascade.accuracy, cascade.first_share, *_costs(cascade))
    return Table(columns, [row], legend=[legend])


def _choice(result: ChosenJudge) -> str:
    if result.choice is None:
        return f"no choice: the {result.by} of a judge that is good enough are unknown"
    named = escaped(result.choice, 80)
    if result.choice == result.baseline:
        return f"take {named}: no cheaper judge is shown to be good enough"
    return f"take {named}: the cheapest that is good enough, by {result.by}"
