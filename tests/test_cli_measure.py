"""`pnyx measure` through the door that users take."""

from __future__ import annotations

import importlib
import json
import random
import re
from typing import Any

import pytest

from command import refuser, runner, write_rows
from command import run as pnyx
from pnyx.cli.measure.commands import AgreementSpec
from pnyx.judging.measures.registry import DERIVED_MEASURES, MEASURES, RANKING_MEASURES
from pnyx.judging.questions import Support
from pnyx.judging.tasks import TASKS
from pnyx.judging.verdicts import YES_NO_TASKS
from pnyx.stats.base import Bootstrap

NAMES = (name for name, m in MEASURES.items() if "relevance" in m.inputs)
OTHERS = ("retrieval", "perspectives", "correlation", "thresholds", "amount")
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


def test_the_command_that_was_cut_says_what_to_use(capsys):
    assert "pnyx label relevance" in refused(capsys, "review", "review.csv")


def test_the_defaults_and_tasks_are_those_of_python():
    commands = dict(importlib.import_module("pnyx.cli.measure.commands").command.commands)
    for name in (*OTHERS, "report", "rag", "preference"):
        del commands[name]
    assert AgreementSpec(labels="l").bootstrap == Bootstrap()
    assert set(commands) == {task for m in MEASURES.values() for task in m.inputs}
    assert set(commands) <= set(TASKS)


def test_json_is_the_contract_and_the_same_in_any_order_of_lines(files, tmp_path, capsys):
    answers, labels = files
    assert run("relevance", answers, "--labels", labels, "--json") == 0
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
    assert run("relevance", shuffled, "--labels", backwards, "--json") == 0
    assert capsys.readouterr().out == first
    assert run("relevance", answers, "--labels", labels, "--json", "--seed", "1") == 0
    other = json.loads(capsys.readouterr().out)
    values = [{n: m["value"] for n, m in x["measures"].items()} for x in (found, other)]
    assert values[0] == values[1]
    assert other["measures"] != found["measures"]


def test_of_many_groups_the_table_shows_both_ends_and_json_has_all(tmp_path, capsys):
    rows = [row | {"group": f"t{n // 20:02}"} for n, row in enumerate(answer_rows(1200))]
    answers = write_rows(tmp_path / "a.jsonl", rows)
    labels = write_rows(tmp_path / "l.jsonl", label_rows(1200))
    assert run("relevance", answers, "--labels", labels, "--json", "--draws", "9") == 0
    groups = json.loads(capsys.readouterr().out)["per_group"]
    assert len(groups) == 60
    assert run("relevance", answers, "--labels", labels, "--draws", "9") == 0
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
    assert run("relevance", answers, "--labels", labels, "--draws", "9") == 0
    printed = capsys.readouterr().out
    assert "large " in printed
    assert "small " not in printed
    assert "1 group with fewer than 20 scored answers: no separate figures" in printed
    assert run("relevance", answers, "--labels", labels, "--draws", "9", "--json") == 0
    groups = json.loads(capsys.readouterr().out)["per_group"]
    assert set(groups) == set(sizes)
    for name, measured in groups["small"].items():
        assert (measured["scored"], measured["asked"]) == (19, 19), name
        assert (measured["value"] is None) == (not re.match("ndcg|map", name)), name
    assert all(measured["value"] is not None for measured in groups["large"].values())
    rows[0] |= {"value": None, "probability": None, "unscored": "timeout"}
    answers = write_rows(tmp_path / "a.jsonl", rows)
    assert run("relevance", answers, "--labels", labels, "--draws", "9") == 3
    assert "2 groups with fewer than 20" in capsys.readouterr().out


def test_unscored_answers_are_counted_and_end_with_3(tmp_path, capsys):
    rows = answer_rows()
    rows[0] |= {"value": None, "probability": None, "unscored": "timeout: 5 attempts"}
    rows[1] |= {"probability": None}
    answers = write_rows(tmp_path / "a.jsonl", [*rows, *answer_rows(1, id="more")])
    labels = write_rows(tmp_path / "l.jsonl", [*label_rows(), {"id": "less", "value": True}])
    assert run("relevance", answers, "--labels", labels) == 3
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
    assert run("relevance", str(folder), "--labels", labels, "--json") == 0
    assert json.loads((folder / "measures.json").read_text()) == json.loads(capsys.readouterr().out)
    before = (folder / "measures.json").read_bytes()
    write_rows(tmp_path / "l.jsonl", [{"id": "i0", "value": "unclear"}])
    refused(capsys, "relevance", str(folder), "--labels", labels)
    assert (folder / "measures.json").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["answers.jsonl", "measures.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no answers.jsonl" in refused(capsys, "relevance", str(empty), "--labels", labels)
    (empty / "answers.jsonl.partial").touch()
    assert "has not ended" in refused(capsys, "relevance", str(empty), "--labels", labels)


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
    assert run("support", out, "--labels", paths[2], "--json") == 3
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
    assert run("quality", paths[0], "--labels", paths[1], "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["per_dimension"]) == {"cogency", "tone"}
    cells = [found["per_dimension"][d]["accuracy"]["value"] for d in ("cogency", "tone")]
    assert found["dimension_mean"]["accuracy"]["value"] == pytest.approx(sum(cells) / 2)
    assert found["measures"]["accuracy"]["value"] == pytest.approx(sum(cells) / 2)
    assert found["interval"]["clusters"] == 12
    assert run("quality", paths[0], "--labels", paths[1]) == 0
    rows = [x.split() for x in capsys.readouterr().out.splitlines() if x.startswith("cogency")]
    assert float(rows[0][1]) == pytest.approx(cells[0], abs=5e-4)
    low = found["per_dimension"]["cogency"]["accuracy"]["low"]
    assert rows[0][2] == f"[{low:.3f},"
    assert run("quality", paths[0], "--labels", paths[1], "--draws", "0") == 0
    printed = capsys.readouterr().out
    assert "mean over dimensions" in printed
    assert "[" not in printed


def test_every_task_of_yes_and_no_is_measured(files, tmp_path, capsys):
    """As support, and all but support and stance as relevance, to the same figures."""
    _, labels = files
    yes_no = {name for name, task in TASKS.items() if task.kind is Support}
    assert yes_no == {"support", "relevance", "stance", *YES_NO_TASKS}
    found = {}
    for task in sorted(yes_no):
        rows = [{**row, "question_id": row["group"]} for row in answer_rows(task=task)]
        answers = write_rows(tmp_path / f"{task}.jsonl", rows)
        for verb in ("support", "relevance", "thresholds"):
            if (verb, task) in {("support", "relevance")} or (
                verb != "support" and task in {"support", "stance"}
            ):
                continue
            assert run(verb, answers, "--labels", labels, "--json") == 0
            found.setdefault(verb, []).append(json.loads(capsys.readouterr().out))
    for own in found.values():
        assert all(one["measures"] == own[0]["measures"] for one in own if "measures" in one)
    assert {verb: len(own) for verb, own in found.items()} == {
        "support": 6, "relevance": 5, "thresholds": 5
    }  # fmt: skip


def test_one_clear_line_for_files_that_do_not_fit(files, tmp_path, capsys):
    answers, labels = files
    mixed = write_rows(
        tmp_path / "m.jsonl", [*answer_rows(2), *answer_rows(2, judge="evil\x1b[2J\n")]
    )
    line = refused(capsys, "relevance", mixed, "--labels", labels)
    assert "answers of several judges ('llama', 'evil" in line
    assert run("relevance", mixed, "--labels", labels, "--judge", "llama", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["asked"] == 2
    line = refused(capsys, "relevance", mixed, "--labels", labels, "--judge", "gpt")
    assert "no answers of 'gpt' (judges found: llama, " in line
    line = refused(capsys, "support", answers, "--labels", labels)
    assert f"{answers}:1: task: found 'relevance', expected support" in line
    line = refused(capsys, "relevance", answers, "--labels", write_rows(tmp_path / "o.jsonl", [
        {"id": "x", "value": True}]))  # fmt: skip
    assert "no answer has a label (answers are to 'i0', 'i1'; labels are of 'x')" in line
    twice = write_rows(tmp_path / "t.jsonl", [*answer_rows(2), *answer_rows(1)])
    assert f"{twice}:3: duplicate" in refused(capsys, "relevance", twice, "--labels", labels)
    words = write_rows(tmp_path / "w.jsonl", answer_rows(2, value="yes"))
    line = refused(capsys, "relevance", words, "--labels", labels)
    assert f"{words}:1: value: found 'yes', expected true, false or null" in line
    assert "cannot be read" in refused(
        capsys, "relevance", str(tmp_path / "no"), "--labels", labels
    )
    assert "both be standard input" in refused(capsys, "relevance", "-", "--labels", "-")
    tied = [{"id": "i0", "value": n == 0, "annotator": n} for n in range(2)]
    line = refused(
        capsys, "relevance", answers, "--labels", write_rows(tmp_path / "tied.jsonl", tied)
    )
    assert "no answer has a label that is not tied" in line
