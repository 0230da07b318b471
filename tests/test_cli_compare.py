"""`pnyx compare`: its figures, what it leaves out, its picture, and bad input."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from command import caller
from pnyx.core.records import LeaderboardCell as Cell
from pnyx.formats import read_leaderboard, write_leaderboard

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))
KIDDIE = DATA / "reportgen" / "kiddie" / "kiddie_fake.eval.ir_measures.txt"
EVIL = "</text><script>alert(1)</script>\x1b[31m"


compare = caller("compare")


@pytest.fixture
def call(compare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return compare


def put(name: str, tables: dict[str, np.ndarray], style: str = "ir_measures") -> str:
    """Write {measure: values (runs, topics)}, NaN for no cell, with the means."""
    cells = [
        Cell(f"run{r}", f"t{t}", measure, float(value))
        for measure, table in tables.items()
        for (r, t), value in np.ndenumerate(table)
        if np.isfinite(value)
    ]
    with Path(name).open("w") as stream:
        write_leaderboard(stream, cells, style)
        # A row over all topics tells the columns apart.
        write_leaderboard(stream, [Cell("run0", "all", next(iter(tables)), 0.5)], style)
    return name


def planted(runs: int = 8, topics: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.normal(0, 1, (runs, 1)) + rng.normal(0, 1, (1, topics))
    return truth + rng.normal(0, 0.4, truth.shape), 3 + truth + rng.normal(0, 0.6, truth.shape)


def test_two_leaderboards(call):
    stats = pytest.importorskip("scipy.stats")
    judge, people = planted()
    put("judge.txt", {"F1": judge, "other": judge})
    put("people.txt", {"F1": people}, "tot")
    code, out, err = call("judge.txt", "people.txt", "--json", "--draws", "200")
    assert code == 0
    found = json.loads(out)
    assert found["task"] == "compare"
    (one,) = found["comparisons"]
    assert (one["leaderboard"], one["reference"], one["measure"]) == (
        "judge.txt",
        "people.txt",
        "F1",
    )
    means = judge.mean(axis=1), people.mean(axis=1)
    expected = {
        "kendall_tau_b": stats.kendalltau(*means)[0],
        "spearman": stats.spearmanr(*means)[0],
        "pearson": stats.pearsonr(*means)[0],
    }
    for name, value in expected.items():
        figure = one["coefficients"][name]
        assert figure["value"] == pytest.approx(value, abs=1e-6)
        for over in ("over_topics", "over_runs", "over_both"):
            low, high = figure[over]
            assert -1 <= low < high <= 1
    agree = 0
    for a in range(8):
        for b in range(a + 1, 8):
            outcomes = []
            for side in (judge, people):
                apart = side[a] - side[b]
                significant = stats.wilcoxon(apart).pvalue < 0.05
                outcomes.append(np.sign(apart.mean()) * significant)
            agree += outcomes[0] == outcomes[1]
    assert one["conclusions"]["pairs"]["agree"] == agree
    assert one["conclusions"]["accuracy"]["value"] == pytest.approx(agree / 28)
    assert one["systems"][0]["value"] == pytest.approx(means[0][0], abs=1e-6)
    assert "1 stated overall values are not the mean over its topics" in err  # the .5 of `put`
    code, out, _ = call("judge.txt", "people.txt", "--draws", "50")
    assert code == 0
    assert "F1: judge.txt and people.txt, 8 runs, 20 topics" in out
    assert f"{agree} of 28 pairs have the same conclusion" in out


@pytest.mark.parametrize(
    ("stated", "reported"),
    [(0.4, False), (0.4005, False), (0.3995, False), (0.4006, True), (0.3994, True)],
)
def test_a_stated_mean_may_be_rounded_to_three_digits(call, stated, reported):
    cells = [Cell(f"run{r}", f"t{t}", "F1", 0.4 + 0.1 * r) for r in range(3) for t in range(2)]
    with Path("board.txt").open("w") as stream:
        write_leaderboard(stream, [*cells, Cell("run0", "all", "F1", stated)], "jsonl")
    code, _, err = call("board.txt", "board.txt", "--draws", "0")
    assert code == 3  # two topics are too few for tests of significance
    assert ("stated overall values are not the mean over its topics" in err) is reported


def test_the_same_numbers_at_the_same_seed_and_in_every_format(call):
    judge, people = planted(5, 9)
    put("people.txt", {"m": people})
    seen = set()
    for style in ("ir_measures", "tot", "rag4reports", "ranking", "jsonl"):
        put("judge.txt", {"m": judge}, style)
        args = ("judge.txt", "people.txt", "--json", "--draws", "30", "--seed", "4")
        args += ("--format", style, "--format", "ir_measures") if style == "ranking" else ()
        code, out, _ = call(*args)
        assert code == 0
        seen.add(out)
    assert len(seen) == 1


def test_columns_that_cannot_be_told_are_read_by_the_other_leaderboard(call):
    judge, people = planted(4, 8)
    put("people.txt", {"m": people}, "jsonl")
    put("judge.txt", {"m": judge}, "tot")
    lines = Path("judge.txt").read_text().splitlines()[:-1]  # without the row over all topics
    Path("judge.txt").write_text("\n".join(lines) + "\n")
    assert call("judge.txt", "people.txt", "--draws", "0")[0] == 0
    code, out, err = call("judge.txt", "judge.txt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("pnyx: judge.txt: 'run0 m t0")
    assert "name the format" in err
    assert call("judge.txt", "judge.txt", "--format", "tot", "--draws", "0")[0] == 0


def test_several_judges_against_the_last_and_measures_of_other_names(call):
    judge, people = planted()
    for name, noise in (("one", 0.0), ("two", 3.0)):
        put(f"{name}.txt", {"auto": judge + noise * np.random.default_rng(1).random(judge.shape)})
    put("people.txt", {"manual": people})
    code, out, err = call("one.txt", "two.txt", "people.txt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "has no measure in common with people.txt (auto; there manual)" in err
    args = ("one.txt", "two.txt", "people.txt", "--measure-a", "auto", "--measure-b", "manual")
    code, out, _ = call(*args, "--json", "--draws", "0")
    found = json.loads(out)["comparisons"]
    assert [(c["leaderboard"], c["reference_measure"]) for c in found] == [
        ("one.txt", "manual"),
        ("two.txt", "manual"),
    ]
    assert all(c["coefficients"]["pearson"]["over_topics"] is None for c in found)


def test_what_is_left_out_is_said_and_the_status_is_3(call):
    judge, people = planted(6, 10)
    judge[0, 0] = np.nan
    put("judge.txt", {"m": judge})
    put("people.txt", {"m": people[:5, :9]})
    code, _, err = call("judge.txt", "people.txt", "--draws", "20")
    assert code == 3
    assert "judge.txt, m: 1 run (run5) only there, left out" in err
    assert "judge.txt, m: 1 topic (t9) only there, left out" in err
    assert "1 of 45 cells have no value (1 there, 0 in people.txt), left out on both sides" in err
    assert "5 runs are few: the intervals are too narrow" in err


def test_two_runs_or_constant_scores_have_no_figure_but_a_reason(call):
    put("a.txt", {"m": np.array([[0.1] * 8, [0.5] * 8])})
    code, out, err = call("a.txt", "a.txt", "--json")
    (one,) = json.loads(out)["comparisons"]
    assert code == 3
    assert {c["reason"] for c in one["coefficients"].values()} == {"3 runs are needed, found 2"}
    assert one["conclusions"]["accuracy"]["value"] == 1.0
    assert "3 runs are needed, found 2" in err
    put("b.txt", {"m": np.full((4, 8), 0.25)})
    code, out, _ = call("b.txt", "b.txt", "--draws", "10")
    assert code == 3
    assert "nan" not in out.lower()


def test_people_correct_a_leaderboard(call):
    judge, people = planted(3, 30)
    some = people.copy()
    some[:, 12:] = np.nan
    put("judge.txt", {"m": judge})
    put("people.txt", {"m": some})
    code, out, _ = call("judge.txt", "--people", "people.txt", "--json", "--draws", "10")
    found = json.loads(out)
    (few,) = found["corrected"]
    assert code == 0
    rows = {row["run"]: row for row in few["runs"]}
    for number in range(3):
        row = rows[f"run{number}"]["corrected"]
        assert row["low"] < people[number].mean() < row["high"]
        assert (row["scored"], row["asked"]) == (12, 30)
    assert len(few["differences"]) == 3
    put("other.txt", {"m": judge + 1})
    options = ("--people", "people.txt", "--json", "--draws", "0")
    both = json.loads(call("judge.txt", "other.txt", *options)[1])["corrected"]
    assert [board["runs"][0]["corrected"]["scored"] for board in both] == [12, 12]
    code, out, _ = call("judge.txt", "--people", "people.txt", "--baseline", "run1", "--draws", "0")
    assert code == 0
    assert "judge.txt corrected by people.txt: m" in out
    assert "12 of 30" in out
    assert "Holm-Bonferroni over 2 comparisons" in out


def test_differences_within_each_leaderboard(call):
    judge, people = planted(4, 12)
    put("judge.txt", {"m": judge})
    put("people.txt", {"m": people})
    code, out, _ = call("judge.txt", "people.txt", "--differences", "--json", "--draws", "10")
    found = json.loads(out)["differences"]
    assert code == 0
    assert [len(found[name]) for name in ("judge.txt", "people.txt")] == [6, 6]
    assert all(c["p_holm"] >= c["p"] for of in found.values() for c in of)
    code, out, _ = call(
        "judge.txt", "people.txt", "--differences", "--baseline", "run0", "--draws", "10"
    )
    assert "differences in people.txt" in out
    assert "Holm-Bonferroni over 3 comparisons" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["a.txt"], "give two leaderboards or more, or one and --people"),
        (["a.txt", "none.txt"], "none.txt: cannot be read: No such file"),
        (["a.txt", "a.txt", "--measure", "F9"], "a.txt: no measure 'F9' (found: m)"),
        (
            ["a.txt", "a.txt", "--measure-a", "m"],
            "--measure-a and --measure-b must be given equally often",
        ),
        (
            ["a.txt", "a.txt", "--baseline", "run0"],
            "--baseline requires --differences or --people",
        ),
        (["a.txt", "a.txt", "--differences", "--baseline", "z"], "a.txt: no run 'z' (found: "),
        (["a.txt", "a.txt", "--test", "t"], "--test requires --differences"),
        (["a.txt", "a.txt", "--plot", "x.gif"], "expected a name in .svg or .html"),
        (["a.txt", "a.txt", "--format", "tot", "--format", "tot", "--format", "tot"], "3 times"),
        (["a.txt", "a.txt", "--format", "docx"], "no format 'docx' of leaderboards"),
        (["-", "-"], "only one file can be standard input"),
        (["bad.txt", "a.txt"], "bad.txt:2: value: found 'x', expected a finite number"),
        (["empty.txt", "a.txt"], "empty.txt: is empty"),
    ],
)
def test_bad_input_is_one_line(args, said, call):
    put("a.txt", {"m": planted(3, 6)[0]})
    Path("bad.txt").write_text("a\tall\tm\t0.5\na\tt1\tm\tx\n")
    Path("empty.txt").write_text("")
    code, out, err = call(*args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_note_says_where_corrected_intervals_are_students(call):
    judge, people = planted(3, 12)
    shares = 1 / (1 + np.exp(-people))
    people = people.copy()
    people[:, 6:] = np.nan
    put("judge.txt", {"steps": judge, "recall": shares})
    put("people.txt", {"steps": people, "recall": np.where(np.isnan(people), np.nan, shares)})
    code, out, err = call("judge.txt", "--people", "people.txt", "--json")
    assert code == 0
    assert {c["measure"]: c["shares"] for c in json.loads(out)["corrected"]} == {
        "steps": False, "recall": True}  # fmt: skip
    assert "judge.txt, steps: some values are outside 0 to 1" in err
    assert "judge.txt, recall: some values" not in err


def test_hostile_names_are_shown_and_drawn_as_text(call):
    rows = [Cell(EVIL + run, EVIL + topic, EVIL, float(place))
            for run in "abc" for place, topic in enumerate("stuvwxyz")]  # fmt: skip
    with Path("a.jsonl").open("w") as stream:
        write_leaderboard(stream, rows, "jsonl")
    assert read_leaderboard("a.jsonl").runs[0] == EVIL + "a"
    code, out, err = call("a.jsonl", "a.jsonl", "--plot", "x.html", "--draws", "5", "--differences")
    assert code == 3  # all runs are the same
    assert "\x1b" not in out + err
    assert "<script" not in Path("x.html").read_text()


def test_the_picture_has_a_point_for_each_run(call):
    judge, people = planted(7, 9)
    put("a.txt", {"m": judge, "n": judge})
    put("b.txt", {"m": people, "n": judge})
    assert call("a.txt", "b.txt", "--plot", "x.svg", "--draws", "0")[0] == 0
    picture = ElementTree.parse("x.svg").getroot()
    spots = [one for one in picture.iter() if one.tag.endswith("circle")]
    assert len(spots) == 14
    said = " ".join("".join(one.itertext()) for one in picture.iter() if one.tag.endswith("text"))
    assert said.count("τ = ") == said.count("accuracy = ") == 2
    assert "τ = 1.00" in said
    assert "run6" in said


@pytest.mark.all
def test_the_picture_fits_its_page(call, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = os.environ.get("PNYX_CHROMIUM") or shutil.which("chromium")
    if not found:
        pytest.skip("no Chromium found (set PNYX_CHROMIUM or put chromium on the PATH)")
    judge, people = planted(12, 9)
    put("a.txt", {"a-long-name-of-a-measure": judge, "n": judge, "o": -judge, "p": judge})
    put("b.txt", {"a-long-name-of-a-measure": people, "n": judge, "o": judge, "p": people})
    assert call("a.txt", "b.txt", "--plot", "x.html", "--draws", "0")[0] == 0
    inside = """() => { const box = document.querySelector('svg').getBoundingClientRect();
      return [...document.querySelectorAll('svg text, svg circle')].filter(e => {
        const b = e.getBoundingClientRect();
        return b.left < box.left - 1 || b.right > box.right + 1 || b.bottom > box.bottom + 1;
      }).map(e => e.outerHTML) }"""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        page = browser.new_page()
        troubles = []
        page.on("console", lambda message: troubles.append(message.text))
        page.goto((tmp_path / "x.html").as_uri())
        outside = page.evaluate(inside)
        page.screenshot(path=str(tmp_path / "x.png"), full_page=True)
        browser.close()
    assert (outside, troubles) == ([], [])


@pytest.mark.skipif(not KIDDIE.is_file(), reason=f"{KIDDIE} is not there")
def test_the_kiddie_leaderboard_against_itself(call):
    code, out, err = call(KIDDIE, KIDDIE, "--json")
    (one,) = json.loads(out)["comparisons"]
    assert code == 3  # five topics are too few for the accuracy
    assert {c["value"] for c in one["coefficients"].values()} == {1.0}
    assert "p < .05 needs 6 topics or more, found 5" in err
