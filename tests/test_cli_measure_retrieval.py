"""`pnyx measure retrieval` through the door that users take, and the plot that it draws."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import typing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import refuser, runner
from pnyx.core.spec import opts_of
from pnyx.display.plots import PlotPanel, Point, interval_plot
from pnyx.search.measure_command import RetrievalSpec
from pnyx.search.measures.irmeasures import DEFAULT_DIVERSITY, DEFAULT_MEASURES
from pnyx.search.measures.retrieval import TopicsOf
from pnyx.stats.base import Bootstrap
from pnyx.stats.significance import Test

CONTRACT = {"value", "low", "high", "scored", "asked"}


run, refused = runner("measure", "retrieval"), refuser("measure", "retrieval")


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def ranking(luck: float, topics: int = 20, seed: int = 0) -> str:
    """Return a run that puts relevant documents (d0 to d4 of 20) forward by so much."""
    draw = random.Random(f"{luck}{seed}")
    lines = []
    for topic in range(1, topics + 1):
        scores = {f"d{n}": draw.random() + luck * (n < 5) for n in range(20)}
        ordered = sorted(scores, key=scores.__getitem__, reverse=True)
        lines += [f"{topic} Q0 {d} {n} {scores[d]!r} t" for n, d in enumerate(ordered, 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    judged = "".join(f"{t} 0 d{n} {int(n < 5)}\n" for t in range(1, 21) for n in range(20))
    return (
        write(tmp_path / "base.run", ranking(0.1)),
        write(tmp_path / "good.run.txt", ranking(0.9)),
        write(tmp_path / "same.run", ranking(0.12)),
        write(tmp_path / "q.qrels", judged),
    )


def test_the_defaults_are_those_of_python():
    hints = typing.get_type_hints(RetrievalSpec)
    assert RetrievalSpec(qrels="q").bootstrap == Bootstrap()
    assert hints["test"] == Test
    assert hints["topics_of"] == TopicsOf
    (told,) = (told for field, told in opts_of(RetrievalSpec) if field.name == "measures")
    stated = f"{' '.join(DEFAULT_MEASURES)}; with diversity qrels also "
    assert told.default_text == stated + " ".join(DEFAULT_DIVERSITY)


def test_json_of_one_run_is_the_contract(files, capsys):
    base, _, _, qrels = files
    assert run(base, "--qrels", qrels, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["measures"]) == list(DEFAULT_MEASURES)
    assert list(found["per_group"]) == [str(t) for t in range(1, 21)]
    for part in (found["measures"], *found["per_group"].values()):
        assert all(set(row) == CONTRACT for row in part.values())
    (only,) = found["runs"]
    assert (only["run"], only["tags"]) == ("base", ["t"])
    assert only["measures"] == found["measures"]
    assert only["per_group"] == found["per_group"]
    assert (found["baseline"], found["comparisons"], found["test"]) == (None, [], None)
    m = found["measures"]["P@10"]
    assert m["low"] < m["value"] < m["high"]
    mean = sum(row["P@10"]["value"] for row in found["per_group"].values()) / 20
    assert m["value"] == pytest.approx(mean)


def test_measures_of_one_run_are_one_block_and_of_two_runs_several(files, capsys):
    base, good, _, qrels = files
    measures = ("--measure", "P@10", "--measure", "AP")
    assert run(base, "--qrels", qrels, *measures) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = (n for n, line in enumerate(lines) if line.startswith("P@10"))
    assert lines[at + 1].startswith("AP")
    assert run(base, good, "--qrels", qrels, *measures) == 0
    lines = capsys.readouterr().out.splitlines()
    (at,) = (n for n, line in enumerate(lines) if line.startswith("P@10"))
    assert lines[at - 1].split()[0] == "measure"
    assert (lines[at + 2], lines[at + 3].split()[0]) == ("", "AP")


def test_not_lower_is_shown_against_a_margin_only(files, capsys):
    base, good, same, qrels = files
    arguments = (base, good, same, "--qrels", qrels, "--measure", "P@5", "--baseline", "base")
    assert run(*arguments, "--json") == 0
    assert "conclusion" not in capsys.readouterr().out
    shown = {}
    for margin in ("0.02", "0.9"):
        assert run(*arguments, "--margin", margin, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["test"]["level_against_margin"] == 0.025
        shown[margin] = {c["run"]: c["conclusion"] for c in found["comparisons"]}
        better, alike = found["comparisons"]
        assert better["margin"] == float(margin)
        assert alike["p_not_lower_holm"] >= alike["p_not_lower"]
        assert alike["p_equivalent"] >= alike["p_not_lower"]
    assert shown == {
        "0.02": {"good": "higher", "same": "inconclusive"},
        "0.9": {"good": "higher", "same": "equivalent"},
    }
    assert run(*arguments, "--margin", "0.02") == 0
    out = capsys.readouterr().out
    assert "p not lower" in out
    assert "not lower: not below the baseline by 0.02 or more, one-sided p (Holm) < 0.025" in out
    for margin in ("0", "-1", "nan", "inf", "x"):
        assert "--margin" in refused(capsys, *arguments, "--margin", margin)
    assert "--margin requires --baseline" in refused(
        capsys, base, "--qrels", qrels, "--margin", "0.1"
    )


def test_runs_against_a_baseline(files, capsys):
    base, good, same, qrels = files
    arguments = (
        base,
        good,
        same,
        "--qrels",
        qrels,
        "--measure",
        "P@5",
        "--measure",
        "AP",
        "--baseline",
        "base",
    )
    assert run(*arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "measures" not in found
    assert [r["run"] for r in found["runs"]] == ["base", "good", "same"]
    assert [(c["run"], c["measure"]) for c in found["comparisons"]] == [
        ("good", "P@5"), ("good", "AP"), ("same", "P@5"), ("same", "AP"),
    ]  # fmt: skip
    assert found["test"] == {
        "method": "paired randomisation", "correction": "Holm-Bonferroni", "comparisons": 4,
        "level": 0.05, "patterns": 100_000, "seed": 0,
    }  # fmt: skip
    assert [c["significant"] for c in found["comparisons"]] == [True, True, False, False]
    smallest = min(c["p"] for c in found["comparisons"])
    assert min(c["p_holm"] for c in found["comparisons"]) == pytest.approx(4 * smallest)
    assert run(*arguments, "--per-topic") == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.split()[:1] == ["good"])
    assert " ▲ " in row
    assert row.split()[1] == f"{found['runs'][1]['measures']['P@5']['value']:.3f}"
    assert "▼" not in "".join(lines[:-4])
    assert "Holm-Bonferroni over 4 comparisons" in "".join(lines)
    table = [line for line in lines[2 : lines.index("base")] if line and "d:" not in line]
    assert len({line.index("[") for line in table if "[" in line}) == 1, "columns are not aligned"
    topics = lines[lines.index("good") + 3 : lines.index("same") - 1]
    values = found["runs"][1]["per_group"]
    assert [line.split() for line in topics] == [
        [t, *(f"{values[t][m]['value']:.3f}" for m in ("P@5", "AP"))] for t in values
    ]
    # The other way round, good is the better one.
    assert run(*arguments[:-1], "good", "--test", "t", "--json") == 0
    other = json.loads(capsys.readouterr().out)
    assert other["test"]["method"] == "paired t"
    assert other["comparisons"][0]["difference"] == -found["comparisons"][0]["difference"]
    assert other["comparisons"][0]["significant"]


def test_the_baseline_may_be_a_further_file_and_names_stay_apart(files, tmp_path, capsys):
    base, good, _, qrels = files
    assert run(good, "--qrels", qrels, "--baseline", base, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert ([r["run"] for r in found["runs"]], found["baseline"]) == (["base", "good"], "base")
    (tmp_path / "other").mkdir()
    packed = tmp_path / "other" / "base.run.gz"
    packed.write_bytes(gzip.compress(Path(base).read_bytes()))
    assert run(base, str(packed), "--qrels", qrels, "--baseline", base, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [r["run"] for r in found["runs"]] == [base, str(packed)]
    assert {c["p"] for c in found["comparisons"]} == {1.0}
    assert "given twice" in refused(capsys, base, base, "--qrels", qrels)
    line = refused(capsys, base, "--qrels", qrels, "--baseline", "nobody")
    assert f"--baseline nobody: is neither a file nor one of {base}" in line


def test_what_must_be_known_is_said(files, tmp_path, capsys):
    _, _, _, qrels = files
    part = write(tmp_path / "part.run", ranking(0.5, 9) + "x Q0 d1 1 1 t\n")
    assert run(part, "--qrels", qrels) == 0
    printed = capsys.readouterr()
    assert "part: 11 topics (10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 1 more) absent, counted " \
        "as empty rankings (trec_eval -c)" in printed.err  # fmt: skip
    assert "part: 1 topic (x) without qrels, not measured" in printed.err
    assert "1 run on 20 topics" in printed.out
    assert run(part, "--qrels", qrels, "--topics-of", "run") == 0
    printed = capsys.readouterr()
    assert "absent" not in printed.err
    assert "warning: 9 topics are few: the intervals are too narrow" in printed.err
    assert "1 run on 9 topics" in printed.out
    other = write(tmp_path / "other.run", "1 Q0 elsewhere 1 1 t\n1 Q0 where 1 2 t\n")
    assert run(other, "--qrels", qrels) == 0
    printed = capsys.readouterr()
    assert "other: warning: none of its documents is in the qrels" in printed.err
    assert "a different order by rank" not in printed.err
    write(tmp_path / "other.run", "1 Q0 d1 1 1 t\n1 Q0 d2 2 2 t\n2 Q0 d1 1 1 t\n")
    none = write(tmp_path / "none.qrels", "1 0 d1 0\n2 0 d1 1\n")
    assert run(other, "--qrels", none) == 0
    printed = capsys.readouterr()
    assert "other: 1 topic has a different order by rank than by score" in printed.err
    assert "1 topic (1) of the qrels has no relevant document" in printed.err


def test_diversity_and_stance_qrels(files, tmp_path, capsys):
    base, good, _, _ = files
    sides = "".join(f"{t} {s} d{n} 1\n" for t in range(1, 21) for s, n in (("pro", 0), ("con", 1)))
    diverse = write(tmp_path / "d.qrels", sides)
    assert run(base, good, "--qrels", diverse, "--json", "--baseline", base) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["runs"][0]["measures"]) == {*DEFAULT_MEASURES, *DEFAULT_DIVERSITY}
    recall = [r["measures"]["StRecall@10"]["value"] for r in found["runs"]]
    assert recall[0] < recall[1] == 1
    pro = write(tmp_path / "pro.qrels", "".join(f"{t} 0 d0 1\n" for t in range(1, 21)))
    assert run(base, "--qrels", pro, "--measure", "nDCG@10", "--measure", "RR") == 0
    assert capsys.readouterr().out.count("base") == 2
    line = refused(capsys, base, "--qrels", pro, "--measure", "alpha_nDCG@10")
    assert "alpha_nDCG@10 needs diversity qrels (topic subtopic document grade)" in line


def test_a_name_that_is_no_measure_is_refused(files, capsys):
    base, _, _, qrels = files
    line = refused(capsys, base, "--measure", "P@5", "--measure", "nDGC@10", "--qrels", qrels)
    assert "nDGC@10: is not a measure of ir-measures" in line


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("1 Q0 a 1 nan t\n", "bad.run:1: score: found 'nan', expected a finite number"),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "bad.run:2: duplicate topic and document"),
        ("1 Q0 a 1 2\n", "bad.run:1: found 5 columns, expected 6"),
        ("1 Q0 a first 2 t\n", "bad.run:1: rank: found 'first', expected an integer"),
        ("", "holds no"),
        ("77 Q0 a 1 2 t\n", "bad: no topic has qrels (topics are '77'; qrels are of '1', '2', '3'"),
        ("<b>\x1b[2J Q0 a 1 2 t\n", "no topic has qrels (topics are '<b>"),
    ],
)
def test_a_hostile_run_is_one_line(files, tmp_path, capsys, lines, problem):
    base, _, _, qrels = files
    bad = write(tmp_path / "bad.run", lines)
    plot = tmp_path / "p.svg"
    assert problem in refused(capsys, base, bad, "--qrels", qrels, "--plot", str(plot))
    assert not plot.exists()


def test_other_bad_usage_is_one_line(files, tmp_path, capsys):
    base, _, _, qrels = files
    line = refused(capsys, base, "--qrels", qrels, "--plot", base)
    assert "expected a name that ends in .svg" in line
    assert "only one file can be standard input" in refused(capsys, "-", "--qrels", "-")
    assert "cannot be read" in refused(capsys, str(tmp_path / "no.run"), "--qrels", qrels)
    write(tmp_path / "huge.qrels", "1 0 d1 1000000000000\n")
    line = refused(capsys, base, "--qrels", str(tmp_path / "huge.qrels"))
    assert "topic 1, d1: grade 1000000000000, expected at most 1000000" in line
    assert "Missing argument 'RUN...'" in refused(capsys, "--qrels", qrels)


def test_without_the_extra_the_pip_command_is_given(files, capsys, monkeypatch):
    base, _, _, qrels = files
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    line = refused(capsys, base, "--qrels", qrels)
    assert line == "pnyx: measuring runs needs an extra: pip install 'pnyx[retrieval]'\n"


def test_the_plot_shows_what_the_table_says(files, tmp_path, capsys):
    base, good, _, qrels = files
    plot = tmp_path / "new" / "p.svg"
    arguments = (base, good, "--qrels", qrels, "--baseline", base, "--plot", str(plot), "--json")
    assert run(*arguments) == 0
    found = json.loads(capsys.readouterr().out)
    first = plot.read_bytes()
    tree = ElementTree.fromstring(first)
    texts = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")]
    for name in DEFAULT_MEASURES:
        assert name in texts
        for r, mark in zip(found["runs"], ("", " ▲"), strict=True):
            shown = f"{r['measures'][name]['value']:.3f}"
            assert shown in texts or shown + mark in texts
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}circle"))) == 8
    assert run(*arguments) == 0
    assert plot.read_bytes() == first


NUMBERS = st.none() | st.floats(-1e6, 1e6, allow_nan=False)


@given(
    title=st.text(max_size=40),
    rows=st.lists(
        st.tuples(st.text(max_size=60), NUMBERS, st.floats(0, 5)), min_size=1, max_size=5
    ),
    panels=st.integers(1, 7),
)
def test_any_plot_is_well_formed_and_within_its_bounds(title, rows, panels):
    points = [
        Point(name, v, None if v is None else v - d, None if v is None else v + d)
        for name, v, d in rows
    ]
    text = interval_plot([PlotPanel(title, points, points[0].value)] * panels, [title])
    tree = ElementTree.fromstring(text.encode())
    wide, high = float(tree.get("width")), float(tree.get("height"))
    for element in tree.iter():
        for name, value in element.attrib.items():
            if re.fullmatch("c?[xy][12]?", name):
                assert 0 <= float(value) <= (wide if "x" in name else high)
    ticks = [t.text for t in tree.iter() if t.get("class") == "tick"][:8]
    assert len(set(ticks)) >= 3


def test_a_campaign_counts_all_topics_and_wants_the_first_documents_judged(files, tmp_path, capsys):
    base, *_, qrels = files
    half = [line for line in Path(base).read_text().splitlines() if int(line.split()[0]) <= 10]
    short = write(tmp_path / "short.run", "\n".join(half) + "\n")
    arguments = (short, "--qrels", qrels, "--measure", "P@10", "--strict")
    assert run(*arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judged"] == {"short": 1.0}
    assert found["runs"][0]["measures"]["P@10"]["asked"] == 20
    assert len(found["rules"]) == 2
    assert found["record"]["inputs"].keys() == {short, qrels}
    few = write(
        tmp_path / "few.qrels", "".join(f"{t} 0 d{n} 1\n" for t in range(1, 21) for n in range(5))
    )
    status = run(base, "--qrels", few, "--measure", "P@10", "--strict")
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert "no leaderboard: base: " in err
    assert "--min-judged requires 80%" in err
    assert run(base, "--qrels", few, "--measure", "P@10", "--strict", "--min-judged", "0") == 0
    assert "judged of the first 10 documents: base " in capsys.readouterr().err
    assert "exclude each other" in refused(
        capsys, base, "--qrels", qrels, "--strict", "--topics-of", "run"
    )
