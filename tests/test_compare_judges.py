"""Which judge to take: `pnyx check` over several folders that `pnyx judge` wrote."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

from chat_server import ChatServer
from command import called, refuser, rows_of, run, write_rows
from planted_judges import verdict
from pnyx.stats.intervals import PairedShares, paired_shares

refused = refuser("check")
COUNT = 120
pytestmark = pytest.mark.usefixtures("own_place")


def wrong_on(*wrong: int, unsure: int = 0):
    """Return a judge that errs on some items; of those below `unsure` it is not sure."""

    def reply(prompt: str) -> str:
        number = int(prompt.rpartition("NUMBER")[2][:3])
        right = number % 3 == 0
        return verdict(right != (number in wrong), 0.6 if number < unsure else 0.97)

    return reply


def judged(folder: Path, name: str, reply, *more: str) -> Path:
    items = [{"id": f"i{n}", "text": "a text", "statement": f"NUMBER{n:03d}"} for n in range(COUNT)]
    path = write_rows(folder / "items.jsonl", items)
    with ChatServer(reply=reply) as server:
        llm = server.spec.replace("#test", f"#{name}")
        code = run("judge", "support", path, "--judge", llm, "--out", folder / name,
                   "--set", "probability=ask", *more)  # fmt: skip
        assert code in (0, 3)
    return folder / name


@pytest.fixture
def labels(tmp_path):
    rows = [{"id": f"i{n}", "value": n % 3 == 0} for n in range(COUNT)]
    return write_rows(tmp_path / "labels.jsonl", rows)


def prices(folder, **dollars):
    path = folder / "prices.toml"
    lines = (f'"{name}" = {{ input = {usd}, output = {usd} }}' for name, usd in dollars.items())
    path.write_text("[models]\n" + "\n".join(lines))
    return path


@pytest.mark.all
def test_a_judge_that_scored_nothing_has_no_figure_and_is_not_taken(tmp_path, labels, capsys):
    good = judged(tmp_path, "good", wrong_on(1))
    rows = [row | {"value": None, "probability": None, "unscored": "timeout"}
            for row in rows_of(good)]  # fmt: skip
    none, too = (write_rows(tmp_path / f"{name}.jsonl", rows) for name in ("none", "too"))
    code, out, err = called(capsys, "check", none, good, "--labels", labels, "--json")
    row = json.loads(out)
    assert (code, row["baseline"]) == (3, "good")
    assert row["choice"] in (None, "good")
    (figures,) = (one["measures"] for one in row["judges"] if one["name"] != "good")
    assert {figure["value"] for figure in figures.values()} == {None}
    assert f"{COUNT} of {COUNT} unscored" in err
    bad = judged(tmp_path, "bad", wrong_on(*range(COUNT)))
    found = called(capsys, "check", none, bad, "--labels", labels, "--json")
    assert json.loads(found[1])["baseline"] == "bad"
    Path(good, "manifest.json").write_text('{"counts": {"asked": 12}}')
    assert "good: holds a damaged manifest" in refused(capsys, none, good, "--labels", labels)
    said = refused(capsys, none, too, "--labels", labels)
    assert "none of its labelled answers is scored" in said


def test_the_cheapest_that_is_good_enough_and_a_cascade(tmp_path, labels, capsys):
    dear = judged(tmp_path, "dear", wrong_on())
    cheap = judged(tmp_path, "cheap", wrong_on(*range(40), unsure=40))
    fair = judged(tmp_path, "fair", wrong_on(7))
    priced = prices(tmp_path, dear=10, cheap=0.1, fair=2)
    code, out, _ = called(capsys, "check", dear, cheap, fair, "--labels", labels,
                            "--prices", priced, "--margin", "0.12", "--json")  # fmt: skip
    row = json.loads(out)
    assert (code, row["baseline"], row["items"]) == (0, "dear", COUNT)
    by_name = {one["name"]: one for one in row["judges"]}
    # 40 of 120 are wrong, and of the cheap judge's dollars 100 are one of the dear one's.
    assert by_name["cheap"]["measures"]["accuracy"]["value"] == pytest.approx(80 / 120)
    assert by_name["dear"]["usd"] == pytest.approx(100 * by_name["cheap"]["usd"], rel=0.02)
    assert by_name["dear"]["seconds"] >= 0
    shown = {c["run"]: c["conclusion"] for c in row["comparisons"]}
    assert shown["cheap"] == "lower"
    assert shown["fair"] in ("equivalent", "not lower")
    code, out, _ = called(capsys, "check", dear, fair, "--labels", labels,
                          "--prices", priced, "--margin", "0.1")  # fmt: skip
    assert "take fair: the cheapest that is good enough, by dollars" in " ".join(out.split())
    # The cheap judge is sure of 80 and right in all: it keeps those, the dear one does the rest.
    code, out, _ = called(capsys, "check", dear, cheap, "--labels", labels,
                          "--prices", priced, "--margin", "0.12", "--json")  # fmt: skip
    row = json.loads(out)
    cascade = row["cascade"]
    assert (cascade["first"], cascade["then"]) == ("cheap", "dear")
    assert cascade["accuracy"]["asked"] == COUNT / 2
    assert 0.5 < cascade["kept"] < 0.9
    rest = by_name["dear"]["usd"] * (1 - cascade["kept"])
    assert cascade["usd"] == pytest.approx(by_name["cheap"]["usd"] + rest)
    assert row["choice"] == cascade["name"] == "cheap, then dear"


@pytest.mark.all
def test_nothing_is_good_enough_by_few_labels(tmp_path, capsys):
    few = write_rows(
        tmp_path / "few.jsonl", [{"id": f"i{n}", "value": n % 3 == 0} for n in range(12)]
    )
    dear, fair = judged(tmp_path, "dear", wrong_on()), judged(tmp_path, "fair", wrong_on(7))
    priced = prices(tmp_path, dear=10, fair=2)
    code, out, _ = called(capsys, "check", dear, fair, "--labels", few,
                          "--prices", priced)  # fmt: skip
    assert code == 0
    assert "take dear: no cheaper judge is shown to be good enough" in " ".join(out.split())


@pytest.mark.all
def test_costs_that_are_not_known_are_not_zero(tmp_path, labels, capsys):
    dear, other = judged(tmp_path, "dear", wrong_on()), judged(tmp_path, "other", wrong_on())
    _, out, err = called(capsys, "check", dear, other, "--labels", labels,
                            "--margin", "0.1", "--json")  # fmt: skip
    row = json.loads(out)
    assert [one["usd"] for one in row["judges"]] == [None, None]
    assert row["choice"] is None
    assert "dear: its dollars are not known (no price" in err
    _, out, err = called(capsys, "check", dear, other, "--labels", labels,
                            "--margin", "0.1", "--minimize", "seconds", "--json")  # fmt: skip
    assert json.loads(out)["choice"] in ("dear", "other")
    # Asked again, all replies come from the store: that says nothing of what an answer takes.
    judged(tmp_path, "other", wrong_on())
    _, out, _ = called(capsys, "check", dear, other, "--labels", labels, "--json")
    assert json.loads(out)["judges"][1]["seconds"] is None


@pytest.mark.all
def test_unscored_answers_are_counted_and_compared_on_what_both_scored(tmp_path, labels, capsys):
    dear = judged(tmp_path, "dear", wrong_on())
    mute = judged(tmp_path, "mute", lambda p: "?" if "NUMBER004" in p else wrong_on()(p))
    code, out, err = called(capsys, "check", dear, mute, "--labels", labels)
    assert code == 3
    assert "mute: 1 of 120 unscored" in err
    assert "119 of 120" in out


def read_page(path: Path) -> tuple[list[list[str]], str]:
    """Return the cells of each row of all tables of a page, and the page."""
    page = path.read_text()
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[unescape(cell) for cell in row] for row in cells], page


def shown(measured: dict) -> str:
    bounds = "" if measured["low"] is None else " [{low:.3f}, {high:.3f}]"
    return f"{{value:.3f}}{bounds}".format(**measured)


@pytest.mark.all
def test_the_page_shows_what_the_command_line_and_json_say(tmp_path, labels, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    dear, cheap = (judged(tmp_path, name, wrong_on(*wrong, unsure=40)) for name, wrong in
                   (("dear", ()), ("cheap", range(40))))  # fmt: skip
    hostile = judged(tmp_path, "fair", wrong_on(7)).rename(tmp_path / "<img src=x onerror=y>")
    comparing = ("check", dear, cheap, hostile, "--labels", labels, "--margin", "0.12",
                 "--prices", prices(tmp_path, dear=10, cheap=0.1, fair=2))  # fmt: skip
    code, out, _ = called(capsys, *comparing, "--html", tmp_path / "page.html", "--json")
    row = json.loads(out)
    _, text, _ = called(capsys, *comparing)
    assert called(capsys, *comparing, "--html", "-")[1] == (tmp_path / "page.html").read_text()
    assert called(capsys, *comparing, "--html", "-", "--json")[0] == 2
    rows, page = read_page(tmp_path / "page.html")
    printed = {" ".join(line.split()) for line in text.splitlines()}
    assert code == 0
    for cells in rows:
        assert " ".join(cells).split() in [line.split() for line in printed]
    for one in row["judges"]:
        figures = [shown(measured) for measured in one["measures"].values()]
        assert [one["name"], *figures, str(COUNT)] in rows
        assert [one["name"], f"{1000 * one['usd']:.3f}", f"{one['seconds']:.3f}", "no card"] in rows
    candidates = {cells[0]: cells[1:] for cells in rows if len(cells) == 10}
    for tested in row["comparisons"]:
        _, enough, _, difference, bounds, *_ = candidates[tested["run"]]
        assert (enough == "yes") == (tested["conclusion"] in ("equivalent", "not lower"))
        assert (difference, bounds) == (
            "{difference:+.3f}".format(**tested), "[{low:z.3f}, {high:z.3f}]".format(**tested)
        )  # fmt: skip
    costs = [float(cells[0]) for name, cells in candidates.items() if name != "candidate"]
    assert costs == sorted(costs)
    assert f"Take {escape(row['choice'])}: the cheapest that is good enough, by dollars." in page
    assert row["cascade"]["name"] in candidates
    assert "<img src=x" not in page
    assert "<script" not in page


def test_a_card_tells_its_trials(tmp_path, labels, capsys):
    dear, fair = judged(tmp_path, "dear", wrong_on()), judged(tmp_path, "fair", wrong_on(7))
    judge = json.loads((dear / "manifest.json").read_text())["judge"]
    figure = {"value": 0.5, "low": None, "high": None}
    trial = {"task": "support", "items_sha256": "a", "primary": "f1", "measures": {"f1": figure}}
    card = {"format": "pnyx-card", "judge": judge, "asked": [],
            "trials": [{**trial, "trial": "noise", "outcome": "passed"},
                       {**trial, "trial": "order", "outcome": "failed"}]}  # fmt: skip
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card))
    _, out, _ = called(capsys, "check", dear, fair, "--labels", labels,
                       "--card", path, "--json")  # fmt: skip
    trials = [one["trials"] for one in json.loads(out)["judges"]]
    assert trials == [{"noise": "passed", "order": "failed"}, {}]


def test_bad_choices_are_one_line(tmp_path, labels, capsys):
    dear = judged(tmp_path, "dear", wrong_on())
    capsys.readouterr()
    assert "has no effect with one table" in refused(
        capsys, dear, "--labels", labels, "--minimize", "seconds"
    )
    assert "require one --labels FILE" in refused(capsys, dear, labels)
    for option in (
        ("--bar", "kappa=0.6"),
        ("--verdict", "j"),
        ("--labels-needed", "--half-width", "0.1"),
    ):
        said = refused(capsys, dear, labels, "--labels", labels, *option)
        assert f"{option[0]} has no effect with several results" in said
    before = Path(dear, "answers.jsonl").read_bytes()
    said = refused(capsys, dear, labels, "--labels", labels, "--out", dear / "answers.jsonl")
    assert "--out names the same file as TABLE 1" in said
    assert Path(dear, "answers.jsonl").read_bytes() == before
    assert "use pnyx check RESULTS RESULTS" in refuser("compare", "judges")(capsys, dear, dear)
    assert "given twice" in refused(capsys, dear, dear, "--labels", labels)
    other = write_rows(tmp_path / "other.jsonl", [
        {"id": f"j{n}", "task": "support", "value": True, "unscored": None, "judge": "j",
         "probability": None} for n in range(3)])  # fmt: skip
    more = write_rows(tmp_path / "more.jsonl", [{"id": "j1", "value": True},
                                                {"id": "i1", "value": True}])  # fmt: skip
    assert "no labelled item in common" in refused(capsys, dear, other, "--labels", more)
    assert "expected one of dear, other" in refused(
        capsys, dear, other, "--labels", labels, "--baseline", "nobody"
    )
    assert "expected a card" in refused(
        capsys, dear, other, "--labels", labels, "--card", dear / "manifest.json"
    )


def test_tangos_interval_by_brute_force():
    """Its ends are where the score is 1.96, with the nuisance share found by search."""
    paired = PairedShares(9, 3, 50)
    low, high = paired.interval()
    shares = np.linspace(0, 0.5, 2_000_001)[1:-1]
    for difference in (low, high):
        more, less = shares + difference, shares
        sound = (more > 0) & (more + less < 1)
        more, less = more[sound], less[sound]
        best = np.argmax(9 * np.log(more) + 3 * np.log(less) + 38 * np.log(1 - more - less))
        variance = (more[best] + less[best] - difference**2) * 50
        assert abs(9 - 3 - 50 * difference) / math.sqrt(variance) == pytest.approx(1.96, abs=0.001)


def test_two_judges_that_never_differ_are_shown_alike_by_enough_items():
    """The score is then n m / sqrt(n m (1 - m)): the rule of what is seen in none of n."""
    margin, count = Fraction(1, 20), 80
    z = math.sqrt(count * margin / (1 - margin))
    expected = 0.5 * math.erfc(z / math.sqrt(2))
    assert PairedShares(0, 0, count).chance(-0.05) == pytest.approx(expected)
    assert expected < 0.025 < PairedShares(0, 0, 60).chance(-0.05)


def test_clusters_with_the_same_mixture_of_answers_count_in_full():
    """Each of three clusters has one 1 and one 0: about their mean, 0.5, their sums are all 0."""
    mixed = paired_shares(np.array([1.0, 0] * 3), np.repeat(np.arange(3), 2))
    assert (mixed.more, mixed.less, mixed.count) == (3, 0, 6)


def test_answers_alike_within_clusters_count_for_less():
    differences = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1, 0, 0, 0, 0])
    alone = paired_shares(differences, np.arange(16))
    fours = paired_shares(differences, np.repeat(np.arange(4), 4))
    assert (alone.more, alone.less, alone.count) == (4, 4, 16)
    # Sums 4, 0, -4, 0 have squares 32, single answers 8: 4 times that, times 4 / 3.
    assert fours.count == pytest.approx(16 / (4 * 4 / 3))
