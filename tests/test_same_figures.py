"""Figures of a judge (calibration, trials) are the same in each command and in `pnyx view`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from command import write_rows as write
from inspect_fixture import run
from pnyx.judging.judge_names import short_name
from pnyx.stats.base import Measured
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.routes import address_of, show

pytestmark = pytest.mark.usefixtures("own_place", "run_once")

FIGURE = "value low high scored asked".split()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))


def told(*argv: object):
    """Run `pnyx ARGUMENTS --json` and return its object."""
    status, out = run(*argv, "--json")
    assert status in (0, 3)
    return json.loads(out)


def figures(rows):
    return {name: [row[n] for n in FIGURE] for name, row in rows.items()}


@pytest.mark.parametrize("task", ["support", "relevance"])
def test_figures_before_a_calibration_are_those_of_measure(task):
    draw = random.Random(3)
    answers, labels = [], []
    for n in range(120):
        yes = draw.random() < 0.4
        p = min(1.0, max(0.0, draw.gauss(0.35 + 0.4 * yes, 0.25)))
        answers.append({"id": str(n), "task": task, "judge": "j", "group": f"t{n % 8}",
                        "unscored": None, "value": p > 0.5, "probability": p})  # fmt: skip
        labels.append({"id": str(n), "value": yes})
    write(Path("answers.jsonl"), answers)
    write(Path("labels.jsonl"), labels)
    about = told("judge", "calibrate", "answers.jsonl", "--labels", "labels.jsonl",
                 "--out", "c.json", "--method", "platt")["about"]["figures"]  # fmt: skip
    measured = told("measure", "answers.jsonl", "--labels", "labels.jsonl")["measures"]
    before = figures(about["before"])
    before.pop("log_loss")  # which `measure` does not have
    assert before == {name: figures(measured)[name] for name in before}
    assert {"f1", "accuracy", "auroc", "ece", "brier"} == before.keys()
    assert all(low < value < high for value, low, high, *_ in before.values())


def test_trials_are_shown_as_they_were_measured():
    """The rows of a trial's table are those of `--json`; so are its curves."""
    write(Path("items.jsonl"), (
        {"id": f"{t}/{n}", "group": f"t{t}", "question": f"Did turnout rise in town {t}?",
         "document": f"Paragraph {n} says that turnout in town {t} rose by {n} percent."}
        for t in range(4) for n in range(4)
    ))  # fmt: skip
    row = told("audit", "run", "--trial", "noise", "items.jsonl", "--out", "noise", "--draws", 100)
    assert json.loads(Path("noise/summary.json").read_text()) == row
    catalogue = open_catalogue(["noise"])
    first = show(catalogue, address_of("stress/noise")).values["sections"][0]
    measures = next(f.table for f in first.figures if f.name == "measures")
    shown = {name: [getattr(cell, n) for n in FIGURE] for name, cell, *_ in measures.rows}
    assert shown == figures(row["measures"])
    (listed,) = show(catalogue, address_of("stress")).values["sections"][0].figures[0].table.rows
    named = {**row, "judge": short_name(row["judge"])}
    assert listed[:5] == tuple(named[n] for n in ("trial", "task", "judge", "outcome", "primary"))
    assert isinstance(listed[5], Measured)
    assert [getattr(listed[5], n) for n in FIGURE] == shown[row["primary"]]
    curve = next(f.table for f in first.figures if f.name == "curve")
    points = [figures({"": point})[""] for c in row["curves"].values() for point in c["points"]]
    cells = [cell for cells in curve.rows for cell in cells if isinstance(cell, Measured)]
    drawn = [[getattr(cell, n) for n in FIGURE] for cell in cells]
    assert all(point in drawn for point in points)
