"""`pnyx view RUN... --qrels QRELS`: a leaderboard with the numbers of `pnyx measure retrieval`."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from command import called, refuser
from page_fixture import PHONE, Watched, served_by_command

pytest.importorskip("ir_measures")
pytestmark = pytest.mark.usefixtures("runs")

NAMES = ("bm25", "dense", "hybrid")
MEASURES = ["nDCG@10", "P@10", "AP", "R@100"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three runs on eleven topics, one without the last; qrels with two grades."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    draw = random.Random(4)
    for skill, name in enumerate(NAMES):
        with Path(f"{name}.run").open("w") as stream:
            for topic in range(1, 12 - (name == "dense")):
                scores = [2 * (n < 5) * skill + draw.gauss(0, 1) for n in range(12)]
                for rank, n in enumerate(sorted(range(12), key=lambda n: -scores[n]), 1):
                    stream.write(f"{topic} Q0 d{n} {rank} {scores[n]:.5f} {name}\n")
    lines = [f"{t} 0 d{n} {2 * (n < 2) or int(n < 5)}\n" for t in range(1, 12) for n in range(12)]
    Path("qrels.txt").write_text("".join(lines))
    return [f"{name}.run" for name in NAMES]


def exported(capsys, *arguments: object) -> Path:
    code, out, err = called(capsys, "view", *arguments, "--qrels", "qrels.txt", "--export", "pages")
    assert (code, out) == (0, ""), err
    return Path("pages")


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{table}-qrels.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def numbers(row, names: str) -> list[float | None]:
    return [float(row[n]) if row[n] not in ("", None) else None for n in names.split()]


def test_values_intervals_and_corrected_p_are_those_of_measure(capsys, runs):
    how = ("--qrels", "qrels.txt", "--baseline", "bm25.run", "--json")
    measured = json.loads(called(capsys, "measure", "retrieval", *runs, *how)[1])
    folder = exported(capsys, *runs)
    means = {(r["run"], r["measure"]): r for r in rows_of(folder, "measures") if not r["topic"]}
    assert len(means) == 12
    for run in measured["runs"]:
        for name, expected in run["measures"].items():
            keys = "value low high scored asked"
            assert numbers(means[run["run"], name], keys) == numbers(expected, keys)
        assert run["measures"]["nDCG@10"]["low"] < run["measures"]["nDCG@10"]["value"]
    differences = {(r["run"], r["measure"]): r for r in rows_of(folder, "differences")}
    assert len(differences) == len(measured["comparisons"]) == 8
    for expected in measured["comparisons"]:
        row = differences[expected["run"], expected["measure"]]
        keys = "difference low high"
        assert numbers(row, keys) == numbers(expected, keys)
        assert numbers(row, "p") == numbers(expected, "p_holm")
    assert {c["significant"] for c in measured["comparisons"]} == {True, False}


def test_the_first_run_is_the_baseline_unless_one_is_named(capsys, runs):
    assert {r["baseline"] for r in rows_of(exported(capsys, *runs), "differences")} == {"bm25"}
    for number, named in enumerate(("hybrid", "hybrid.run")):
        where = f"pages-{number}"
        how = ("--qrels", "qrels.txt", "--baseline", named, "--export", where)
        assert called(capsys, "view", *runs, *how)[0] == 0
        assert {r["baseline"] for r in rows_of(Path(where), "differences")} == {"hybrid"}


def test_the_leaderboard_is_on_the_first_page(capsys, runs):
    folder = exported(capsys, *runs)
    for page in ("index.html", "leaderboard.html"):
        html = (folder / page).read_text()
        table = html.partition("<table class=board>")[2].partition("</table>")[0]
        names = [*MEASURES, ">hybrid<", ">bm25<"]  # the best by nDCG@10 first
        places = [table.index(name) for name in names]
        assert places == sorted(places)
        assert "baseline" in table
        assert ", p " in table
    assert "corrected by Holm-Bonferroni" in (folder / "leaderboard.html").read_text()


def test_one_run_has_no_differences(capsys):
    folder = exported(capsys, "bm25.run")
    assert {r["run"] for r in rows_of(folder, "measures")} == {"bm25"}
    assert not (folder / "tables" / "differences-qrels.csv").exists()


def test_a_folder_is_searched_for_runs_and_other_results_stay(capsys):
    Path("all").mkdir()
    for name in NAMES[:2]:
        Path(f"{name}.run").rename(f"all/{name}.run")
    Path("all/board.txt").write_text("f1 all 0.5\n")
    code, out, _ = called(capsys, "view", "all", "--qrels", "qrels.txt", "--json")
    assert code == 0
    kinds = {source["name"]: source["kind"] for source in json.loads(out)["sources"]}
    assert kinds == {"qrels": "retrieval", "board": "leaderboard"}


def test_qrels_that_change_are_read_again(capsys, runs):
    first = rows_of(exported(capsys, *runs), "measures")
    text = Path("qrels.txt").read_text()
    Path("qrels.txt").write_text(text.replace("1 0 d11 0\n", "1 0 d11 1\n", 1))
    code, _, err = called(capsys, "view", *runs, "--qrels", "qrels.txt", "--export", "again")
    assert code == 0, err
    assert rows_of(Path("again"), "measures") != first


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["bm25.run", "--qrels", "qrels.txt", "--baseline", "x"], "expected one of the runs bm25"),
        (["bm25.run", "--baseline", "bm25.run"], "--baseline requires --qrels"),
        (["qrels.txt", "--qrels", "qrels.txt"], "expected runs to measure in qrels.txt"),
        (["bm25.run", "--qrels", "none.txt"], "none.txt: does not exist"),
        (["bm25.run", "--qrels", "bm25.run"], "bm25.run:1: found 6 columns, expected 4"),
    ],
)
def test_what_cannot_be_measured_is_one_line(capsys, arguments, problem):
    assert problem in refuser("view")(capsys, *arguments, "--json")


BROKEN = """names => {
  const found = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) for (const name of names) {
    const node = walker.currentNode, at = node.data.indexOf(name);
    if (at < 0) continue;
    range.setStart(node, at); range.setEnd(node, at + name.length);
    const tops = [...range.getClientRects()].filter(r => r.width).map(r => Math.round(r.top));
    found.push([name, new Set(tops).size]);
  }
  return found;
}"""
"""Of each name on a page, over how many lines it is."""


@pytest.mark.all
@pytest.mark.slow
def test_names_of_measures_are_whole_on_a_phone(browser, tmp_path):
    long = "sentence_precision_of_quoted_words"
    cell = {"value": 0.5, "low": 0.4, "high": 0.6, "scored": 3, "asked": 3}
    runs = [{"run": f"run-{n}", "measures": {"f1": cell, long: cell}} for n in range(2)]
    (tmp_path / "reports.json").write_text(json.dumps({"task": "report", "runs": runs}))
    measures = {name: {**cell, "scored": 9} for name in ("average_precision", "alpha_nominal")}
    (tmp_path / "judge.json").write_text(json.dumps({"measures": measures, "task": "support"}))
    names = [*MEASURES, long, *measures]
    results = [*(f"{name}.run" for name in NAMES), "reports.json", "judge.json"]
    env = {"PNYX_CACHE": str(tmp_path / "cache")}
    watched = Watched(browser)
    arguments = ["view", *results, "--qrels", "qrels.txt"]
    with served_by_command(arguments, cwd=tmp_path, **env) as (address, _):
        seen = set()
        for path in ("/", "/leaderboard", "/leaderboard/reports", "/leaderboard/qrels", "/topic/1",
                     "/run/bm25", "/source/judge", "/source/qrels", "/measures/qrels",
                     "/compare/runs/bm25/dense", "/compare/runs/run-0/run-1"):  # fmt: skip
            page = watched.open(address + path, **PHONE)
            lines_of_names = page.evaluate(BROKEN, names)
            assert [name for name, lines in lines_of_names if lines > 1] == [], path
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            seen |= {name for name, _ in lines_of_names}
        assert {*MEASURES, long, *measures} - seen == set()
    watched.close()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_of_measures_are_whole_in_a_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    Path("dense.run").rename("a-dense-run-of-a-name-that-needs-more-than-its-share.run")
    names = ["nDCG(dcg='exp-log2')@10", "SetF(beta=0.5,rel=2)", "AP"]
    files = ["bm25.run", "a-dense-run-of-a-name-that-needs-more-than-its-share.run"]
    how = [part for name in names for part in ("--measure", name)]
    how += ["--baseline", "bm25.run", "--per-topic"]
    code, out, _ = called(capsys, "measure", "retrieval", *files, "--qrels", "qrels.txt", *how)
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    parts = [block for block in out.split("\n\n") if block.startswith("measure ")]
    assert parts
    columns = {line.split()[0] for line in out.splitlines() if line.startswith(("nDCG", "SetF"))}
    assert columns == set(names[:2])
    for block in out.split("\n\n"):
        if block.startswith("topic "):
            assert set(block.splitlines()[0].split()) - {"topic"} <= set(names)


def test_measure_retrieval_writes_the_leaderboard_that_compare_and_view_read(capsys, runs):
    how = ("--qrels", "qrels.txt", "--leaderboard", "board.txt", "--json")
    measured = json.loads(called(capsys, "measure", "retrieval", *runs, *how)[1])
    lines = map(str.split, Path("board.txt").read_text().splitlines())
    cells = {tuple(line[:3]): float(line[3]) for line in lines}
    assert len(cells) == 3 * 4 * 12  # runs x measures x topics and all
    for run in measured["runs"]:
        for name, mean in run["measures"].items():
            assert cells[run["run"], "all", name] == pytest.approx(mean["value"], abs=1e-9)
    assert called(capsys, "files", "validate", "board.txt")[0] == 0
    assert called(capsys, "compare", "board.txt", "board.txt")[0] == 0


def test_a_leaderboard_on_standard_output_is_alone_there(capsys, runs):
    how = ("measure", "retrieval", *runs, "--qrels", "qrels.txt", "--leaderboard")
    assert called(capsys, *how, "board.txt")[0] == 0
    code, out, _ = called(capsys, *how, "-")
    assert (code, out) == (0, Path("board.txt").read_text())


def test_a_leaderboard_of_reports_is_sorted_by_f1(capsys):
    cells = {name: {"value": 0.5, "scored": 3, "asked": 3} for name in ("citation_recall", "f1")}
    document = {
        "task": "report",
        "compared": list(cells),
        "runs": [{"run": "a", "measures": cells}],
    }
    Path("reports.json").write_text(json.dumps(document))
    Path("board.txt").write_text("a citation_recall all 0.5\na f1 all 0.5\n")
    for name in ("reports.json", "board.txt"):
        assert called(capsys, "view", name, "--export", f"{name}-pages")[0] == 0
        html = Path(f"{name}-pages/leaderboard.html").read_text()
        table = html.partition("<table class=board>")[2].partition("</table>")[0]
        assert 0 < table.lower().index("f1") < table.lower().index("citation"), name


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--leaderboard", "bm25.run"], "--leaderboard names the same file as RUN 1"),
        (["--leaderboard", "qrels.txt"], "--leaderboard names the same file as --qrels"),
        (["--leaderboard", "-", "--json"], "--json and --leaderboard - both write"),
        (["--unscored", "skip"], "--unscored requires a file to write"),
        (["--to", "tot"], "--to requires --leaderboard"),
    ],
)
def test_a_leaderboard_does_not_overwrite_what_it_is_made_of(capsys, more, problem):
    refused = refuser("measure", "retrieval")
    assert problem in refused(capsys, "bm25.run", "--qrels", "qrels.txt", *more)
