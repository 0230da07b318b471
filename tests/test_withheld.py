"""Where a value has no interval, the reason stands below the table and in `--json`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pnyx.display.tables import Column, Table
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.intervals import CONSTANT, FEW, UNDEFINED, cluster_mean, interval_of

pytestmark = pytest.mark.usefixtures("own_place")


def told(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("drawn", "clusters", "draws", "why"),
    [
        ([1.0, 2.0], 1, 9, FEW),
        ([0.5, np.nan, np.nan], 5, 9, UNDEFINED),
        ([0.5, 0.5], 5, 9, CONSTANT),
        ([0.5, 0.5], 5, 0, ""),  # no intervals were wanted
    ],
)
def test_whoever_decides_says_why(drawn, clusters, draws, why):
    ends = interval_of(0.5, np.array(drawn), clusters, Bootstrap(draws), bounds=(0, 1))
    assert ends == (None, None, why)
    assert interval_of(0.5, np.array([0.4, 0.6]), 5, bounds=(0, 1))[2] == ""


def test_a_mean_of_one_cluster_says_so():
    assert cluster_mean([0.25, 0.5], ["a", "a"]).row()["no_interval"] == FEW
    assert "no_interval" not in cluster_mean([0.25, 0.5], ["a", "b"]).row()


def test_a_table_has_one_line_for_its_reasons():
    rows = [
        ("a", Measured(0.5, 1, 1, no_interval="few"), (None, None, "same")),
        ("b", Measured(0.5, 2, 2, 0.1, 0.9), (0.1, 0.9, "")),
        ("c", Measured(None, 0, 1, no_interval="nothing"), None),
    ]
    table = Table([Column("run"), Column("value", "figure"), Column("ends", "interval")], rows)
    line = "no interval: few (a); same (a)"
    assert line in table.text(100)
    assert f'<p class="note">{line}</p>' in table.html()
    assert line in table.markdown().replace("\\", "")
    assert table.json()[1]["ends"] == (0.1, 0.9)
    assert "no interval" not in Table(table.columns, rows[1:]).text()


def answers(folder: Path) -> tuple[Path, Path]:
    """Each rating is 2 and off by 1: the error is constant, and has no bound."""
    rated = [{"id": str(n), "task": "quality", "value": 2, "unscored": None, "judge": "m",
              "dimension": "cogency", "group": str(n % 4), "scale": [1, 3]}
             for n in range(12)]  # fmt: skip
    labels = [{"id": str(n), "value": 1 + 2 * (n % 2), "dimension": "cogency", "annotator": "x"}
              for n in range(12)]  # fmt: skip
    for name, rows in (("answers", rated), ("labels", labels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "answers.jsonl", folder / "labels.jsonl"


@pytest.mark.parametrize("verb", [("measure",), ("check",)])
def test_measure_and_check_say_why(verb, tmp_path, call):
    given, labels = answers(tmp_path)
    _, printed, said = call(*verb, given, "--labels", labels)
    assert f"no interval: {CONSTANT}" in told(printed), said
    _, printed, _ = call(*verb, given, "--labels", labels, "--json")
    assert CONSTANT in printed


def test_compare_says_why(tmp_path, call):
    for name, more in (("one", 0), ("two", 0.1)):
        cells = [
            {"run_id": run, "topic_id": "1", "measure": "m", "value": place / 10 + more}
            for place, run in enumerate("abc")
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(cell) + "\n" for cell in cells))
    _, printed, said = call("compare", "one.jsonl", "two.jsonl")
    assert f"no interval: {FEW} (Kendall's tau-b, " in told(printed), said
    _, printed, _ = call("compare", "one.jsonl", "two.jsonl", "--json")
    (one,) = json.loads(printed)["comparisons"]
    why = one["coefficients"]["kendall_tau_b"]["no_interval"]
    assert (why["topics"], why["runs"]) == (FEW, CONSTANT)


def test_view_says_why(tmp_path, call):
    given, labels = answers(tmp_path)
    _, printed, _ = call("measure", given, "--labels", labels, "--json")
    Path("measured.json").write_text(printed)
    figure = {"value": 0.5, "low": None, "high": None, "scored": 3, "asked": 3}
    runs = {"runs": [{"run": "r", "measures": {"m": {**figure, "no_interval": "few <b>"}}}]}
    Path("runs.json").write_text(json.dumps(runs))
    status, _, said = call("view", "runs.json", "measured.json", "--export", "pages")
    assert status == 0, said
    pages = [path.read_text(encoding="utf-8") for path in Path("pages").rglob("*.html")]
    assert any(f"no interval: {CONSTANT} (kappa, mean_absolute_error)" in page for page in pages)
    assert any("no interval: few &lt;b&gt; (m)" in page for page in pages)
