"""Reports for people: of pnyx doctor, of trials, raters and rates."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pnyx.display.rates import rate_notes, rate_table
from pnyx.display.results import store_lines
from pnyx.display.results_doctor import (
    _abilities,
    _line,
    _listed,
    _logprobs,
    _price,
    _spent,
    doctor_page,
)
from pnyx.display.tables import Table
from pnyx.display.trials import (
    format_tables,
    level_name,
    rater_table,
    rater_title,
    trial_lines,
    trial_tables,
)
from pnyx.judging.measures.rates import CorrectedRate
from pnyx.judging.store.maintenance import StoreStats
from pnyx.stats.base import Measured

# The report of pnyx doctor ------------------------------------------------------------------------


def report(**more: object) -> dict[str, object]:
    return {
        "pnyx": "1", "python": "3", "platform": "x", "dependencies": {}, "extras": {},
        "plugins": [],
        "packaged": {"intact": False, "problem": "gone", "local": {"model": "", "problem": "no"}},
        "store": {"path": "s", "problem": "", "exists": True, "writable": False, "replies": 1200,
                  "bytes": 1000},
        "environment": {}, "endpoints": [],
        "will_use": {"judge": "j", "judge_why": "w", "writer": "q", "writer_why": "v"},
        **more,
    }  # fmt: skip


@pytest.mark.parametrize(("columns", "widest"), [(111, 110), (110, 110), (109, 109), (40, None)])
def test_the_report_is_wrapped_to_the_terminal_and_110_columns_at_most(
    monkeypatch, columns, widest
):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("COLUMNS", str(columns))
    packaged = {"intact": False, "problem": "a " * 200, "local": {"model": "", "problem": "no"}}
    lines = list(doctor_page(report(packaged=packaged)))
    if widest is None:
        assert max(map(len, lines)) > 400  # too narrow: the terminal wraps it
    else:
        assert max(map(len, lines)) in (widest, widest - 1)
    assert "  file                s" in lines
    assert "  state               1,200 replies, 1.0 KB, NOT WRITABLE" in lines
    assert "  pnyx argue          judge as above, writer q: v" in " ".join(lines)


def test_a_line_is_wrapped_from_41_columns_on():
    assert len(_line("label", "word " * 10, 41)) > 1
    assert len(_line("label", "word " * 10, 40)) == 1
    assert _line("label", "", 110) == ["  label               "]


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "none"), (6, "m0, m1, m2, m3, m4, m5"), (7, "m0, m1, m2, m3, m4, m5 and 1 more")],
)
def test_six_models_of_a_server_are_named(count, words):
    row = {"published": {"models": [f"m{n}" for n in range(count)]}, "model": "m0"}
    assert _listed(row) == (words if count else "none; m0 IS NOT AMONG THEM")
    unknown = {"published": {"models": None, "problem": "404"}, "model": "m0"}
    assert _listed(unknown) == "not listed (404)"


def test_what_an_endpoint_can_do_is_said():
    row = {
        "window": 4096, "window_from": "published", "cuts_prompts": True, "used": "json",
        "shapes": [{"form": "json", "outcome": "works", "detail": "strict"},
                   {"form": "tool", "outcome": "fails", "detail": ""}],
        "alternatives": 5, "alternatives_alone": None, "probability": "token", "refused": [],
        "limit": "", "usage": ["cached_tokens"], "reasoning_tokens": 1200,
    }  # fmt: skip
    said = dict(_abilities(row))
    assert said["window"] == "4,096 tokens (published)"
    assert said["long prompts"].startswith("CUT OFF without an error")
    assert (said["json"], said["tool"]) == ("works (strict); judges use it", "fails")
    assert said["logprobs"] == "given, up to 5 alternatives of a token"
    assert said["P(yes) by auto"] == "from the tokens' probabilities"
    assert (said["refused"], said["output limit"]) == ("no parameter", "none is accepted")
    assert (said["usage"], said["cached tokens"]) == ("cached_tokens", "reported")
    assert said["thinking"].endswith("1,200 tokens here")
    less = dict(_abilities({**row, "window": None, "cuts_prompts": None, "refused": None,
                            "usage": [], "reasoning_tokens": 0, "probability": None}))  # fmt: skip
    assert less["window"] == "not published"
    assert (less["usage"], less["cached tokens"]) == ("not reported", "not reported")
    assert not {"long prompts", "refused", "output limit", "thinking"} & less.keys()
    for both, words in (
        ((0, 5), "given (up to 5 alternatives), but not together with an answer's shape"),
        ((None, None), "not known"), ((0, 0), "not given"),
    ):  # fmt: skip
        assert _logprobs({"alternatives": both[0], "alternatives_alone": both[1]}) == words
    price = {"input": 0.5, "cached_input": 0.25, "output": 2}
    assert _price({"price_usd_per_million": price}) == (
        "$0.5 in, $0.25 in from cache, $2 out, for a million tokens"
    )
    spent = {"prompt_tokens": 1200, "completion_tokens": 3, "without_usage": 1, "cost_usd": 0.5,
             "requests": 4, "seconds": 1.25}  # fmt: skip
    assert _spent(spent) == (
        "4 requests, 1,200 prompt and 3 completion tokens (1 replies without a count), "
        "$0.5000, 1.2 s"
    )


# Rates and trials ---------------------------------------------------------------------------------


def test_a_rate_says_what_it_leaves_out():
    good = Measured(0.5, 4, 4)
    rate = CorrectedRate(good, good, good, good, good, good)
    assert rate_notes(rate) == []
    assert rate_table(rate, ("a", "b")).columns[0].name == "share of a"
    bad = Measured(None, 0, 0, no_interval="one class")
    rate = CorrectedRate(Measured(0.5, 3, 4), good, bad, good, good, good)
    assert rate_notes(rate) == [
        "1 of 4 answers are unscored and excluded",
        "no Rogan-Gladen estimate: one class",
    ]


def figure_row(value: float | None, low: float | None = None) -> dict[str, object]:
    return {"value": value, "scored": 2, "asked": 3, "low": low, "high": low}


def shown_rows(table: Table) -> list[list[str]]:
    return [[c.shown(cell) for c, cell in zip(table.columns, row, strict=True)]
            for row in table.rows]  # fmt: skip


def test_levels_of_a_trial_are_rows():
    curve = {"levels": [0, 0.25], "points": [figure_row(0.9), figure_row(0.5)]}
    trial = {
        "trial": "noise", "task": "rag", "outcome": "passed", "expects": "a fall",
        "problems": [{"said": "A problem."}], "measures": {"fall": figure_row(0.4)},
        "items": {"used": 2, "asked_about": 5, "left_out": {"too short": 3}}, "unit": "share",
        "curves": {"wit": curve}, "precision": None, "documents": None,
        "grid": [{"level": 0.5, "sentences": 2, "score": figure_row(0.25)}],
        "separation": [{"level": 0.5, "distance": figure_row(0.125)}],
    }  # fmt: skip
    assert trial_lines(trial) == [
        "noise, rag: passed", "expected: a fall", "A problem.",
        "2 of 5 items (left out: 3 too short)",
    ]  # fmt: skip
    tables = trial_tables(trial)
    assert [shown_rows(table) for table in tables] == [
        [["fall", "0.400", "2 of 3"]],
        [["0 %", "0.900", "2 of 3"], ["25 %", "0.500", "2 of 3"]],
        [["50 %", "2", "0.250", "2 of 3"]],
        [["50 %", "0.125", "2 of 3"]],
    ]
    assert [column.name for column in tables[1].columns] == ["replaced", "wit", "items"]
    assert [level_name(2, unit) for unit in ("sentences", "share")] == ["2", "200 %"]


def test_formats_are_compared_by_their_smallest_step():
    def curve(*steps: float | None, counted: int = 3, falls: bool | None = True):
        return {"levels": [0, 0.5, 1], "points": [figure_row(v) for v in (0.9, 0.5, 0.4)],
                "pearson": figure_row(-0.9), "fall": figure_row(0.5), "counted": counted,
                "steps": [figure_row(step) for step in steps],
                "strictly_decreasing": falls}  # fmt: skip

    formats = {
        "a": {"context_relevance": curve(0.4, 0.1), "groundedness": None, "documents": None},
        "b": {"context_relevance": curve(0.4, 0.1, counted=2, falls=False), "groundedness": None,
              "documents": None},
        "c": {"context_relevance": curve(None, None, falls=None), "groundedness": None,
              "documents": None},
    }  # fmt: skip
    relevance, steps = format_tables({"formats": formats})
    assert shown_rows(relevance)[0] == [
        "a", "0.900", "0.500", "0.400", "-0.900", "0.500", "6 of 9",
    ]  # fmt: skip
    assert shown_rows(steps) == [
        ["a", "yes", "0.100", "50 %, 100 %", "6 of 9"],
        ["b", "no", "0.400", "0 %, 50 %", "6 of 9"],
        ["c", "-", "-", "-", "6 of 9"],
    ]


def test_raters_are_named_with_their_number():
    row = {"kind": "raters", "between": ["a", "b"], "raters": 3, "mean": {"kappa": figure_row(0.5)},
           "per_dimension": {"": {}, "wit": {"kappa": figure_row(0.25)}}}  # fmt: skip
    assert rater_title(row) == "raters of one file: a and b, 3 raters"
    assert rater_title({**row, "kind": "human-human"}) == "people and people: a and b"
    table = rater_table(row)
    assert [column.name for column in table.columns] == ["measure", "mean of 1", "wit", "items"]
    assert shown_rows(table) == [["kappa", "0.500", "0.250", "2 of 3"]]


def test_a_store_is_described_by_model(monkeypatch):
    stats = StoreStats("s.sqlite", 1500, 1, 1, [], 2)
    assert store_lines(stats) == (
        "s.sqlite: 1 reply, 1.5 KB on disk\ndamaged: 2 (pnyx store --damaged --delete deletes them)"
    )
