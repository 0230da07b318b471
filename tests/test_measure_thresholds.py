"""`pnyx measure --by-threshold` and `--amount`: by hand, by brute force, on published labels."""

from __future__ import annotations

import csv
import itertools
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.judging.measures.thresholds import measure_amount, measure_thresholds
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap
from tries import tries

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))


def annotations(rows):
    """(question, probability or None) -> annotations, numbered."""
    return [
        Verdict(str(n), q, f"d{n}", None if p is None else p >= 0.5, p, judge="j")
        for n, (q, p) in enumerate(rows)
    ]


def f1(hits, taken, relevant):
    return None if taken + relevant == 0 else 2 * hits / (taken + relevant)


pairs = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.booleans()),
    min_size=1,
    max_size=8,
)


@settings(max_examples=tries(80), deadline=None)
@given(pairs)
def test_both_curves_are_what_counting_says(rows):
    if not any(relevant for *_, relevant in rows):
        with pytest.raises(InputError, match="none of the labelled pairs is relevant"):
            measure_thresholds(annotations([r[:2] for r in rows]), lambda _: False)
        return
    truth = {str(n): relevant for n, (*_, relevant) in enumerate(rows)}
    grid = (0.1, 0.2, 0.5, 0.95, 1.0)
    found = measure_thresholds(
        annotations([r[:2] for r in rows]),
        lambda a: truth[a.id],
        grid=grid,
        bootstrap=Bootstrap(20),
    )
    relevant = sum(r for *_, r in rows)
    for at, measured in zip(grid, found.thresholds.f1, strict=True):
        taken = [r for _, p, r in rows if p >= at]
        assert measured.value == pytest.approx(f1(sum(taken), len(taken), relevant))
    by_question = {q: [r[1:] for r in rows if r[0] == q] for q in sorted({r[0] for r in rows})}
    for k, measured, mean in zip(
        found.cutoffs.at, found.cutoffs.f1, found.cutoffs.mean_f1, strict=True
    ):
        hits, each = 0.0, []
        for some in by_question.values():
            orders = [
                sum(r for _, r in order[: int(k)])
                for order in itertools.permutations(some)
                if all(a[0] >= b[0] for a, b in itertools.pairwise(order))
            ]
            hits += np.mean(orders)
            found_here = f1(np.mean(orders), min(k, len(some)), sum(r for _, r in some))
            each.append(found_here)
        taken = sum(min(k, len(some)) for some in by_question.values())
        assert measured.value == pytest.approx(f1(hits, taken, relevant))
        assert mean.value == pytest.approx(np.mean([x for x in each if x is not None]))


def test_a_threshold_fits_questions_of_different_size_and_k_does_not():
    rows = [(f"q{n}", 0.9 if i < 1 + 3 * n else 0.1) for n in range(6) for i in range(30)]
    found = measure_thresholds(
        annotations(rows),
        lambda a: rows[int(a.id)][1] > 0.5,
        bootstrap=Bootstrap(200),
        grid=(0.05, 0.4, 0.6),
    )
    assert found.best_threshold.held_out.value == 1.0
    assert found.best_threshold.at == 0.4  # the lower of two that are the same
    assert found.best_cutoff.held_out.value < 0.8
    assert found.gain.low > 0
    assert found.per_question["q0"] == {
        "documents": 30, "relevant": 1, "unscored": 0, "taken": 1, "f1_at_threshold": 1.0,
        "f1_at_k": pytest.approx(2 / (1 + found.best_cutoff.at)), "f1_at_own_best_k": 1.0,
    }  # fmt: skip


def test_unscored_and_unlabelled_are_counted_and_one_question_has_no_interval():
    rows = [("a", 0.9), ("a", 0.1), ("a", None), ("b", 0.9)]
    truth = {"0": True, "1": False, "2": True}
    found = measure_thresholds(annotations(rows), lambda a: truth.get(a.id))
    assert found.counts == {
        "asked": 3, "scored": 2, "unscored": 1, "unlabelled": 1, "relevant": 1, "questions": 1,
    }  # fmt: skip
    point = found.thresholds.f1[49]
    assert (point.value, point.low, point.scored, point.asked) == (1.0, None, 2, 3)
    assert (found.best_threshold.held_out.value, found.gain.value) == (None, None)
    assert json.loads(json.dumps(found.row(), allow_nan=False))["gain"]["value"] is None
    with pytest.raises(InputError, match="no scored pair has a label"):
        measure_thresholds(annotations(rows), lambda _: None)


def test_the_amount_of_each_question():
    rows = [("a", 0.5), ("a", 0.25), ("a", None), ("b", 1.0), ("c", None), ("none", 0.0)]
    found = measure_amount(annotations(rows), (0.5, 0.9))
    assert list(found) == ["b", "a", "none", "c"]  # what is not known is behind what is nothing
    assert found["a"].row() == {
        "documents": 2, "unscored": 1, "expected": 0.75, "mean": 0.375,
        "reaching": [
            {"threshold": 0.5, "count": 1, "share": 0.5},
            {"threshold": 0.9, "count": 0, "share": 0.0},
        ],
    }  # fmt: skip
    assert (found["c"].mean, found["c"].unscored) == (None, 1)


# --- from the command line


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["measure", *map(str, arguments)])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def files(tmp_path):
    rows = [
        {"id": f"p{n}", "question_id": f"q<{n % 4}>", "doc_id": f"d{n}", "judge": "j\x1b[1m",
         "value": n % 3 == 0, "probability": 0.8 if n % 3 == 0 else n / 100, "unscored": None}
        for n in range(40)
    ]  # fmt: skip
    labels = [{"id": f"p{n}", "value": n % 3 == 0 or n == 1} for n in range(40)]
    return write(tmp_path / "a.jsonl", rows), write(tmp_path / "l.jsonl", labels)


def test_tables_json_and_pictures(capsys, files, tmp_path):
    path, labels = files
    plot = tmp_path / "t.svg"
    status, out, error = run(capsys, "--by-threshold", path, "--labels", labels, "--plot", plot)
    assert status == 0
    assert "4 questions are few" in error
    assert "best threshold" in out
    assert "\x1b" not in out + plot.read_text()
    assert len(list(ElementTree.parse(plot).iter())) > 60
    status, out, _ = run(capsys, "--by-threshold", path, "--labels", labels, "--json")
    found = json.loads(out)
    assert len(found["thresholds"]) == 99
    assert [row["k"] for row in found["cutoffs"]] == list(range(1, 11))
    assert found["counts"]["relevant"] == 15
    plot = tmp_path / "a.svg"
    topics = write(tmp_path / "q.jsonl", [{"id": "q<0>", "text": "Is <b>tea</b> healthy?"}])
    status, out, _ = run(capsys, "--amount", path, "--topics", topics, "--plot", plot)
    assert status == 0
    assert "Is <b>tea</b> healthy?" in out
    text = "".join(ElementTree.parse(plot).getroot().itertext())
    assert "Is <b>tea</b> healthy?" in text
    assert set(json.loads(run(capsys, "--amount", path, "--json")[1])) == {
        "q<0>", "q<1>", "q<2>", "q<3>",
    }  # fmt: skip


def test_unscored_is_exit_status_3_and_wrong_usage_one_line(capsys, files, tmp_path):
    path, labels = files
    with path.open("a") as stream:
        stream.write('{"id": "u", "value": null, "unscored": "refusal", "judge": "j\\u001b[1m"}\n')
    with labels.open("a") as stream:
        stream.write('{"id": "u", "value": true}\n')
    assert run(capsys, "--by-threshold", path, "--labels", labels, "--draws", 0)[0] == 3
    assert run(capsys, "--amount", path)[0] == 3
    drawn = write(tmp_path / "w.jsonl", [{"id": "1", "value": True, "weight": 12.5}])
    assert "not of the corpus" in run(capsys, "--amount", drawn)[2]
    for arguments, said in (
        (("--by-threshold", path), "give either --labels LABELS or --qrels QRELS"),
        (("--by-threshold", path, "--labels", labels, "--plot", "x.pdf"), "ends in .svg"),
        (("--by-threshold", path, "--labels", labels, "--at", "0.9,2"), "2.0 is not in the range"),
        (("--by-threshold", path, "--qrels", "none"), "none: cannot be read"),
        (("--amount", path, "--at", "x"), "'x' is not a valid float"),
        (("--amount", path, "--by", "z"), "holds no labels of 'z'"),
        (("--amount", labels.with_name("no.jsonl")), "cannot be read"),
    ):
        status, _, error = run(capsys, *arguments)
        assert (status, error.count("\n")) == (2, 1), arguments
        assert said in error
    write(path, [{"id": "1", "value": True, "judge": j} for j in "xy"])
    assert "several judges ('x', 'y')" in run(capsys, "--amount", path)[2]
    write(path, [{"id": "1", "value": "maybe"}])
    assert "a.jsonl:1: value: found 'maybe', expected true" in run(capsys, "--amount", path)[2]


def test_the_published_predictions(capsys, tmp_path):
    folder = DATA / "chatreportretrieve"
    if not folder.exists():
        pytest.skip("the data of the papers is not here (PNYX_DATA)")
    with (folder / "chatreport_test.csv").open() as one:
        gold = list(csv.DictReader(one))
    with (folder / "student_predictions.csv").open() as one:
        predictions = list(csv.DictReader(one))
    rows, labels = [], []
    for n, (label, said) in enumerate(zip(gold, predictions, strict=True)):
        yes = "yes" in said["gc_llama_2e__tok_guess"].lower()
        sure = float(said["gc_llama_2e__tok_conf"])
        rows.append({"id": str(n), "question_id": label["Questions"], "value": yes,
                     "probability": sure if yes else 1 - sure, "judge": "llama3-tok"})  # fmt: skip
        labels.append({"id": str(n), "value": label["gold"] != "no"})
    paths = write(tmp_path / "a.jsonl", rows), write(tmp_path / "l.jsonl", labels)
    found = json.loads(
        run(capsys, "--by-threshold", paths[0], "--labels", paths[1], "--draws", 200, "--json")[1]
    )
    at = {row["threshold"]: row["f1"]["value"] for row in found["thresholds"]}
    yes = [r["value"] for r in rows]
    relevant = [r["value"] for r in labels]
    hits = sum(a and b for a, b in zip(yes, relevant, strict=True))
    assert at[0.5] == pytest.approx(2 * hits / (sum(yes) + sum(relevant)))
    # "Good F1 over a wide range of thresholds" (section 5), and better than any k.
    assert min(at[t / 100] for t in range(20, 91)) > found["best_cutoff"]["f1"]["value"]
