"""`pnyx measure` through the door that users take."""

from __future__ import annotations

import io
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from command import refuser, runner, write_rows
from command import run as pnyx
from pnyx.cli.measure.options import MeasureSpec
from pnyx.core.rooms import load, named
from pnyx.core.spec import opts_of
from pnyx.judging.measures.registry import DERIVED_MEASURES, MEASURES, RANKING_MEASURES
from pnyx.judging.questions import Support
from pnyx.judging.tasks import TASKS
from pnyx.judging.verdicts import YES_NO_TASKS
from pnyx.stats.base import Bootstrap

NAMES = (name for name, m in MEASURES.items() if "relevance" in m.inputs)
RELEVANCE = [*NAMES, *RANKING_MEASURES, *DERIVED_MEASURES]


run, refused = runner("measure"), refuser("measure")


def answer_rows(count: int = 24, **fields: Any) -> list[dict[str, Any]]:
    draw = random.Random(count)
    rows = []
    for n in range(count):
        probability = draw.random()
        row = {"id": f"i{n}", "task": "relevance", "value": probability > 0.5, "judge": "llama"}
        rows.append({**row, "probability": probability, "unscored": None, "group": f"t{n % 12}"})
    return [{**row, **fields} for row in rows]


def label_rows(count: int = 24) -> list[dict[str, Any]]:
    draw = random.Random(-count)
    return [
        {"id": f"i{n}", "value": draw.random() > 0.5, "gain": draw.randrange(4),
         "uncertain": draw.random() > 0.7}
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    return write_rows(tmp_path / "a.jsonl", answer_rows()), write_rows(
        tmp_path / "l.jsonl", label_rows()
    )


def test_words_that_were_removed_say_what_to_use(files, capsys, tmp_path, monkeypatch):
    answers, labels = files
    for word in ("support", "relevance", "quality", "rag", "preference"):
        line = refused(capsys, word, answers, "--labels", labels)
        assert f"measure {word} was removed: use pnyx measure RESULTS, which reads the task" in line
    assert "use pnyx measure RESULTS --by-threshold" in refused(capsys, "thresholds", answers)
    assert "use pnyx measure RESULTS --amount" in refused(capsys, "amount", "-")
    assert "pnyx label relevance" in refused(capsys, "review", "review.csv")
    assert "--judge was removed: use --by NAME" in refused(capsys, answers, "--judge", "llama")
    assert "Did you mean 'retrieval'?" in refused(capsys, "retreival", "my.run")
    monkeypatch.chdir(tmp_path)
    write_rows("support/answers.jsonl", answer_rows())
    assert run("support", "--labels", labels) == 0  # a folder of that name
    capsys.readouterr()
    assert "was removed" in refused(capsys, "support", answers)


def test_every_task_with_a_measure_has_a_door():
    doors = named("MEASURED")
    assert {task for m in MEASURES.values() for task in m.inputs} <= set(doors)
    yes_no = {name for name, task in TASKS.items() if task.kind is Support}
    assert {name for name in doors if doors[name].options >= {"plot"}} == {
        *yes_no, "perspectives", "rag"
    }  # fmt: skip
    assert set(doors) - {"perspectives"} == set(TASKS) - {"sides", "ranking"}
    fields = {field.name for field, _ in opts_of(MeasureSpec)}
    for door in doors.values():
        assert callable(load(door.target))
        assert door.options < fields
    assert MeasureSpec().bootstrap == Bootstrap()


def test_an_option_without_use_for_the_task_is_refused(files, capsys, tmp_path):
    answers, labels = files
    ratings = write_rows(tmp_path / "q.jsonl", [
        {"id": "1", "dimension": "tone", "task": "quality", "value": 2, "unscored": None,
         "judge": "j"}])  # fmt: skip
    qrels = ("--qrels", labels)
    for arguments, said in (
        ((answers, *qrels), "--qrels has no effect on answers to relevance"),
        ((ratings, "--plot", "p.svg"), "--plot has no effect on answers to quality"),
        ((answers, "--plot", "p.svg"), "--plot requires --labels"),
        ((answers, "--at", "0.5"), "--at requires --by-threshold or --amount"),
        ((answers, "--by-threshold", "--topics", labels), "--topics requires --amount"),
        ((answers, "--amount", "--labels", labels), "--labels has no effect with --amount"),
        ((answers, "--amount", "--seed", "1"), "--seed has no effect with --amount"),
        ((answers, "--amount", "--by-threshold"), "--by-threshold and --amount exclude each other"),
        ((answers, "--unjudged", "irrelevant"), "--unjudged requires --qrels"),
        (("-", "--by-threshold", "--qrels", "-"), "only one file can be standard input"),
    ):
        assert said in refused(capsys, *arguments)
    assert not (tmp_path / "p.svg").exists()


def test_a_task_without_a_measure_is_refused(capsys, tmp_path):
    rows = answer_rows(2, task="sides", value="pro", probability=None)
    line = refused(capsys, write_rows(tmp_path / "s.jsonl", rows))
    assert "s.jsonl: found answers to sides, expected those to one of: preference, support" in line


def test_standard_input_has_the_same_figures(files, capsys, monkeypatch):
    answers, labels = files
    for more in ((), ("--labels", labels), ("--amount",)):
        assert run(answers, *more, "--json") == 0
        expected = capsys.readouterr().out
        text = io.BytesIO(Path(answers).read_bytes())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text))
        assert run("-", *more, "--json") == 0
        assert capsys.readouterr().out == expected


def test_json_is_the_contract_and_the_same_in_any_order_of_lines(files, tmp_path, capsys):
    answers, labels = files
    assert run(answers, "--labels", labels, "--json") == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert list(found["measures"]) == RELEVANCE
    assert set(found["per_group"]) == {f"t{n}" for n in range(12)}
    for part in (found["measures"], *found["per_group"].values()):
        for row in part.values():
            assert set(row) == {"value", "low", "high", "scored", "asked"}
    assert {row["asked"] for row in found["measures"].values()} == {24}
    assert all(row["low"] <= row["high"] for row in found["measures"].values())
    assert found["interval"]["clusters"] == 12
    shuffled = write_rows(tmp_path / "a2.jsonl", random.Random(0).sample(answer_rows(), 24))
    backwards = write_rows(tmp_path / "l2.jsonl", label_rows()[::-1])
    assert run(shuffled, "--labels", backwards, "--json") == 0
    assert capsys.readouterr().out == first
    assert run(answers, "--labels", labels, "--json", "--seed", "1") == 0
    other = json.loads(capsys.readouterr().out)
    values = [{n: m["value"] for n, m in x["measures"].items()} for x in (found, other)]
    assert values[0] == values[1]
    assert other["measures"] != found["measures"]


def test_of_many_groups_the_table_shows_both_ends_and_json_has_all(tmp_path, capsys):
    rows = [row | {"group": f"t{n // 20:02}"} for n, row in enumerate(answer_rows(1200))]
    answers = write_rows(tmp_path / "a.jsonl", rows)
    labels = write_rows(tmp_path / "l.jsonl", label_rows(1200))
    assert run(answers, "--labels", labels, "--json", "--draws", "9") == 0
    groups = json.loads(capsys.readouterr().out)["per_group"]
    assert len(groups) == 60
    assert run(answers, "--labels", labels, "--draws", "9") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "by f1; --json also has the other 40" in printed
    ranked = sorted(groups, key=lambda group: groups[group]["f1"]["value"])
    first = printed[printed.index("group f1") :]
    assert [w for w in first.split() if w in groups][:20] == ranked[:10] + ranked[-10:]


def test_groups_of_fewer_than_20_answers_get_no_figures_of_their_own(tmp_path, capsys):
    sizes = {"large": 20, "small": 19}
    names = [name for name, size in sizes.items() for _ in range(size)]
    rows = [row | {"group": g} for g, row in zip(names, answer_rows(39), strict=True)]
    answers = write_rows(tmp_path / "a.jsonl", rows)
    labels = write_rows(tmp_path / "l.jsonl", label_rows(39))
    assert run(answers, "--labels", labels, "--draws", "9") == 0
    printed = capsys.readouterr().out
    assert "large " in printed
    assert "small " not in printed
    assert "1 group with fewer than 20 scored answers: no separate figures" in printed
    assert run(answers, "--labels", labels, "--draws", "9", "--json") == 0
    groups = json.loads(capsys.readouterr().out)["per_group"]
    assert set(groups) == set(sizes)
    for name, measured in groups["small"].items():
        assert (measured["scored"], measured["asked"]) == (19, 19), name
        assert (measured["value"] is None) == (not re.match("ndcg|map", name)), name
    assert all(measured["value"] is not None for measured in groups["large"].values())
    rows[0] |= {"value": None, "probability": None, "unscored": "timeout"}
    answers = write_rows(tmp_path / "a.jsonl", rows)
    assert run(answers, "--labels", labels, "--draws", "9") == 3
    assert "2 groups with fewer than 20" in capsys.readouterr().out


def test_unscored_answers_are_counted_and_end_with_3(tmp_path, capsys):
    rows = answer_rows()
    rows[0] |= {"value": None, "probability": None, "unscored": "timeout: 5 attempts"}
    rows[1] |= {"probability": None}
    answers = write_rows(tmp_path / "a.jsonl", [*rows, *answer_rows(1, id="more")])
    labels = write_rows(tmp_path / "l.jsonl", [*label_rows(), {"id": "less", "value": True}])
    assert run(answers, "--labels", labels) == 3
    printed = capsys.readouterr()
    assert "relevance: llama, 23 of 24 labelled questions scored" in printed.out
    assert "1 of 24 answers are unscored: 1 timeout" in printed.err
    assert "1 answers have no probability" in printed.err
    assert "1 answers have no label" in printed.err
    assert "1 labels have no answer" in printed.err
    lines = printed.out.splitlines()
    assert any(line.startswith("f1 ") and "23 of 24" in line for line in lines)
    assert any(line.startswith("brier ") and "22 of 24" in line for line in lines)
    table = lines[lines.index("") + 1 :][: 1 + len(RELEVANCE)]
    assert len({line.index("of 24") for line in table if "of 24" in line}) == 1, (
        "columns are not aligned"
    )
    assert "1000 draws (seed 0) of 12 groups" in printed.out


def test_a_results_folder_gets_measures_json(tmp_path, capsys):
    folder = tmp_path / "results"
    write_rows(folder / "answers.jsonl", answer_rows())
    labels = write_rows(tmp_path / "l.jsonl", label_rows())
    assert run(str(folder), "--labels", labels, "--json") == 0
    assert json.loads((folder / "measures.json").read_text()) == json.loads(capsys.readouterr().out)
    before = (folder / "measures.json").read_bytes()
    write_rows(tmp_path / "l.jsonl", [{"id": "i0", "value": "unclear"}])
    refused(capsys, str(folder), "--labels", labels)
    assert (folder / "measures.json").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["answers.jsonl", "measures.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no answers.jsonl" in refused(capsys, str(empty), "--labels", labels)
    (empty / "answers.jsonl.partial").touch()
    assert "has not ended" in refused(capsys, str(empty), "--labels", labels)


def test_what_a_judge_wrote_can_be_measured(tmp_path, capsys):
    """The whole way: items, the judge of people's labels, its answers on other labels."""
    items = [{"id": str(n), "text": "Prices rose.", "statement": "It rose."} for n in range(6)]
    first = [{"id": str(n), "value": n < 4} for n in range(5)]
    second = [{"id": str(n), "value": n < 3, "group": n % 2} for n in range(6)]
    paths = [
        write_rows(tmp_path / f"{name}.jsonl", rows)
        for name, rows in (("items", items), ("first", first), ("second", second))
    ]
    out = str(tmp_path / "out")
    assert pnyx("judge", "support", paths[0], "--judge", paths[1], "--out", out) == 3
    capsys.readouterr()
    assert run(out, "--labels", paths[2], "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["judge"] == "labels:first.jsonl"
    assert found["counts"]["reasons"] == {"no label": 1}
    assert found["measures"]["accuracy"]["value"] == 0.8
    assert found["measures"]["f1"]["value"] == pytest.approx(6 / 7)
    assert found["measures"]["auroc"] == {
        "value": None, "low": None, "high": None, "scored": 0, "asked": 6,
    }  # fmt: skip
    assert set(found["per_group"]) == {"0", "1"}
    assert (tmp_path / "out" / "measures.json").exists()


def test_ratings_by_dimension(tmp_path, capsys):
    keys = [(f"i{n}", d) for n in range(12) for d in ("cogency", "tone")]
    draw = random.Random(2)
    answers = [
        {"id": i, "dimension": d, "task": "quality", "value": draw.randrange(1, 4),
         "unscored": None, "judge": "j"}
        for i, d in keys
    ]  # fmt: skip
    labels = [{"id": i, "dimension": d, "value": draw.randrange(1, 4)} for i, d in keys]
    paths = write_rows(tmp_path / "a.jsonl", answers), write_rows(tmp_path / "l.jsonl", labels)
    assert run(paths[0], "--labels", paths[1], "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["per_dimension"]) == {"cogency", "tone"}
    cells = [found["per_dimension"][d]["accuracy"]["value"] for d in ("cogency", "tone")]
    assert found["dimension_mean"]["accuracy"]["value"] == pytest.approx(sum(cells) / 2)
    assert found["measures"]["accuracy"]["value"] == pytest.approx(sum(cells) / 2)
    assert found["interval"]["clusters"] == 12
    assert run(paths[0], "--labels", paths[1]) == 0
    rows = [x.split() for x in capsys.readouterr().out.splitlines() if x.startswith("cogency")]
    assert float(rows[0][1]) == pytest.approx(cells[0], abs=5e-4)
    low = found["per_dimension"]["cogency"]["accuracy"]["low"]
    assert rows[0][2] == f"[{low:.3f},"
    assert run(paths[0], "--labels", paths[1], "--draws", "0") == 0
    printed = capsys.readouterr().out
    assert "mean over dimensions" in printed
    assert "[" not in printed


def test_every_task_of_yes_and_no_is_measured(files, tmp_path, capsys):
    """To the same figures; relevance has those of a ranking in addition."""
    _, labels = files
    measured, by_threshold = {}, []
    for task in ("perspectives", *(name for name, task in TASKS.items() if task.kind is Support)):
        rows = [{**row, "question_id": row["group"]} for row in answer_rows(task=task)]
        answers = write_rows(tmp_path / f"{task}.jsonl", rows)
        assert run(answers, "--labels", labels, "--json") == 0
        measured[task] = json.loads(capsys.readouterr().out)["measures"]
        if task in {"support", "stance", "perspectives"}:
            line = refused(capsys, answers, "--by-threshold", "--labels", labels)
            assert f"task: found {task!r}, expected relevance" in line
        else:
            assert run(answers, "--by-threshold", "--labels", labels, "--json") == 0
            by_threshold.append(json.loads(capsys.readouterr().out)["thresholds"])
    assert set(measured) == {"support", "relevance", "stance", "perspectives", *YES_NO_TASKS}
    assert list(measured["relevance"]) == RELEVANCE
    shared = measured["support"]
    for figures in measured.values():
        assert {name: figures[name] for name in shared} == shared
    assert len(by_threshold) == 5
    assert all(row == by_threshold[0] for row in by_threshold)


def test_one_clear_line_for_files_that_do_not_fit(files, tmp_path, capsys):
    answers, labels = files
    mixed = write_rows(
        tmp_path / "m.jsonl", [*answer_rows(2), *answer_rows(2, judge="evil\x1b[2J\n")]
    )
    line = refused(capsys, mixed, "--labels", labels)
    assert "answers of several judges ('llama', 'evil" in line
    assert run(mixed, "--labels", labels, "--by", "llama", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["asked"] == 2
    line = refused(capsys, mixed, "--labels", labels, "--by", "gpt")
    assert "no answers of 'gpt' (judges found: llama, " in line
    several = write_rows(
        tmp_path / "n.jsonl", [*answer_rows(1), *answer_rows(2, task="support")[1:]]
    )
    line = refused(capsys, several, "--labels", labels)
    assert f"{several}:2: task: found 'support', expected relevance" in line
    line = refused(capsys, answers, "--labels", write_rows(tmp_path / "o.jsonl", [
        {"id": "x", "value": True}]))  # fmt: skip
    assert "no answer has a label (answers are to 'i0', 'i1'; labels are of 'x')" in line
    twice = write_rows(tmp_path / "t.jsonl", [*answer_rows(2), *answer_rows(1)])
    assert f"{twice}:3: duplicate" in refused(capsys, twice, "--labels", labels)
    words = write_rows(tmp_path / "w.jsonl", answer_rows(2, value="yes"))
    line = refused(capsys, words, "--labels", labels)
    assert f"{words}:1: value: found 'yes', expected true, false or null" in line
    assert "cannot be read" in refused(capsys, str(tmp_path / "no"), "--labels", labels)
    assert "only one file can be standard input" in refused(capsys, "-", "--labels", "-")
    tied = [{"id": "i0", "value": n == 0, "annotator": n} for n in range(2)]
    line = refused(capsys, answers, "--labels", write_rows(tmp_path / "tied.jsonl", tied))
    assert "no answer has a label that is not tied" in line
