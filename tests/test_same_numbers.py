"""What two commands can say of the same file is the same number, its interval included."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argue_report import BANK, PlannedJudge, response
from label_fixture import OPEN, Person, item_rows, labelling
from pnyx.formats import by_question, read_leaderboard, read_perspectives, read_qrels, read_run
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging import join_labels, measure_agreement
from pnyx.perspectives import measure_perspectives, read_verdicts
from pnyx.perspectives.pages import _covered, _matrix
from pnyx.reports import measure_reports, read_judged_reports, system_differences
from pnyx.reports.measures.registry import MAIN
from pnyx.reports.tree.walk import judge_reports
from pnyx.search import measure_correlation, measure_retrieval
from pnyx.search.pages.run_pair import _differences, _run_table
from pnyx.stats.base import Measured
from pnyx.web.label.organiser import agreement_of
from pnyx.web.results.judge_pair import compare_judges
from pnyx.web.results.open_catalogue import open_catalogue

pytestmark = pytest.mark.usefixtures("own_place")

FIGURE = "value low high scored asked".split()
DIFFERENCE = "difference low high p topics".split()
# Ten stands before nine by its letters, not by its size.
TOPICS = [str(n) for n in random.Random(5).sample(range(1, 14), 12)]


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def told(call):
    """Run `pnyx ARGUMENTS --json` and return its object."""

    def told(*argv: object) -> Any:
        status, out, err = call(*argv, "--json")
        assert status in (0, 3), err
        return json.loads(out)

    return told


def figures(found: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return name -> value, interval and counts, of objects as of rows."""
    return {name: pick(one, FIGURE) for name, one in found.items()}


def pick(one: Any, names: Iterable[str]) -> list[Any]:
    return [one[n] if isinstance(one, Mapping) else getattr(one, n) for n in names]


def write(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


# Judged reports -----------------------------------------------------------------------------------

BOARD = ("--leaderboard", "board.jsonl", "--to", "leaderboard-jsonl", "--unscored", "skip",
         "--min-scored", "0")  # fmt: skip
"""A leaderboard of every value that there is."""


@pytest.fixture
def reports() -> str:
    """Reports of three runs in no order; some topics lack one, some figures are unscored."""
    whole, silent = (
        judge_reports([response()], [BANK], judge)[0]
        for judge in (PlannedJudge(), PlannedJudge(unscored=["run-a/7/1/attests/d1"]))
    )
    rows = []
    for n, topic in enumerate(TOPICS):
        for run, kept in (("long", 11 - n % 5), ("short", 2 + n % 4), ("odd", 1 + n % 9)):
            if run == "short" and n in (3, 7):
                continue
            report = silent if run == "odd" and n % 4 == 0 else whole
            sentences = report.sentences[:kept]
            rows.append(replace(report, run_id=run, topic_id=topic, sentences=sentences).row())
    random.Random(2).shuffle(rows)
    return write("reports.jsonl", rows)


def test_means_of_reports_are_those_of_view_python_and_the_leaderboards_written(reports, told):
    row = told("measure", "report", reports, *BOARD)
    Path("said.json").write_text(json.dumps(row))
    found = {run.name: run for run in measure_reports(read_judged_reports(reports)).runs}
    catalogue = open_catalogue([reports, "said.json", "board.jsonl"])
    scored = told("compare", "board.jsonl", "board.jsonl")["comparisons"]
    for one in row["runs"]:
        name, measures = one["run"], {m: one["measures"][m] for m in MAIN}
        assert figures({m: found[name].measures[m] for m in MAIN}) == figures(measures)
        for source in ("reports", "said"):
            shown = {v.measure: v for v in catalogue.values(source=source, run=name)}
            assert figures({m: shown[m] for m in MAIN}) == figures(measures), source
        for value in catalogue.values(source="board", run=name):
            expected = measures[value.measure]
            assert value.value == pytest.approx(expected["value"], abs=1e-12), value.measure
        for compared in scored:
            values = {s["run"]: s["value"] for s in compared["systems"]}
            expected = measures[compared["measure"]]["value"]
            assert values[name] == pytest.approx(expected, abs=1e-12)
        for topic, cells in one["per_group"].items():
            shown = {v.measure: v for v in catalogue.values(source="reports", run=name,
                                                           topic=topic)}  # fmt: skip
            for measure, value in shown.items():
                assert pick(value, FIGURE) == pick(cells[measure], FIGURE), (topic, measure)


def test_differences_of_reports_are_those_of_view_python_and_compare(reports, told):
    row = told("measure", "report", reports, "--baseline", "short", *BOARD)
    Path("said.json").write_text(json.dumps(row))
    by_measure = {(c["run"], c["measure"]): c for c in row["comparisons"]}
    assert len(by_measure) == 2 * len(MAIN)
    assert {c["topics"] for c in row["comparisons"]} >= {10}
    assert any(c["low"] is not None and c["p"] < 1 for c in row["comparisons"])
    whole = measure_reports(read_judged_reports(reports), baseline="short")
    python = {(c.run, c.measure): c.row() for c in whole.comparisons}
    boards = told("compare", "board.jsonl", "board.jsonl", "--differences", "--baseline", "short")
    (listed,) = {json.dumps(rows) for rows in boards["differences"].values()}
    compared = {(c["run"], c["measure"]): c for c in json.loads(listed)}
    of_board = {
        (c.run, c.measure): c.row()
        for c in system_differences(read_leaderboard("board.jsonl"), baseline="short")
    }
    for key, one in by_measure.items():
        for other in (python[key], compared[key], of_board[key]):
            assert pick(other, [*DIFFERENCE, "p_holm"]) == pick(one, [*DIFFERENCE, "p_holm"]), key
    catalogue = open_catalogue([reports, "said.json", "board.jsonl"])
    for source in ("reports", "said", "board"):
        place = catalogue.source(source)
        for run in ("long", "odd"):
            table = _run_table(catalogue, place, (run, "short"))
            for shown in _differences(catalogue, place, (run, "short"), table):
                if shown.measure in MAIN:
                    one = by_measure[run, shown.measure]
                    assert pick(shown, DIFFERENCE) == pick(one, DIFFERENCE), (source, run)


# Runs ---------------------------------------------------------------------------------------------


def write_run(name: str, topics: Iterable[str], seed: int) -> str:
    draw = random.Random(seed)
    lines = []
    for topic in topics:
        for rank, doc in enumerate(draw.sample("abcdefgh", 8), 1):
            lines.append(f"{topic} Q0 {doc} {rank} {10 - rank} {name}\n")
    Path(f"{name}.run").write_text("".join(lines))
    return f"{name}.run"


def test_runs_on_qrels_are_the_same_in_view_and_python(told):
    pytest.importorskip("ir_measures")
    runs = [write_run("one", TOPICS, 1), write_run("two", TOPICS[:9], 2)]
    draw = random.Random(3)
    lines = [f"{t} 0 {d} {draw.randrange(3)}\n" for t in sorted(TOPICS) for d in "abcdefgh"]
    Path("qrels.txt").write_text("".join(lines))
    for topics_of in ("qrels", "run"):
        how = ("--topics-of", topics_of, "--baseline", "two")
        row = told("measure", "retrieval", *runs, "--qrels", "qrels.txt", *how)
        Path(f"{topics_of}.json").write_text(json.dumps(row))
        found = measure_retrieval(
            {name: list(read_run(f"{name}.run")) for name in ("one", "two")},
            list(read_qrels("qrels.txt")), topics_of=topics_of, baseline="two",
        )  # fmt: skip
        compared = {c["measure"]: c for c in row["comparisons"]}
        for c in found.comparisons:
            assert pick(c.row(), DIFFERENCE) == pick(compared[c.measure], DIFFERENCE)
        catalogue = open_catalogue([f"{topics_of}.json"])
        for one, run in zip(row["runs"], found.runs, strict=True):
            assert figures(run.measures) == figures(one["measures"])
            shown = {v.measure: v for v in catalogue.values(run=run.name)}
            assert figures(shown) == figures(one["measures"])
        (source,) = catalogue.sources()
        table = _run_table(catalogue, source, ("one", "two"))
        for shown in _differences(catalogue, source, ("one", "two"), table):
            assert pick(shown, DIFFERENCE) == pick(compared[shown.measure], DIFFERENCE), topics_of


def test_correlation_is_the_same_in_python_and_view(told):
    runs = [write_run("one", TOPICS, 1), write_run("two", TOPICS, 2)]
    draw = random.Random(8)
    annotations = write("annotations.jsonl", (
        {"id": f"{t}/{d}", "question_id": t, "doc_id": d, "judge": "j", "task": "relevance",
         "value": p > 0.5, "probability": p, "unscored": None}
        for t in TOPICS for d in "abcdefgh" for p in [draw.random()]
    ))  # fmt: skip
    row = told("measure", "retrieval", *runs, "--annotations", annotations)
    Path("said.json").write_text(json.dumps(row))
    named = {name: list(read_run(f"{name}.run")) for name in ("one", "two")}
    found = measure_correlation(named, annotations)
    catalogue = open_catalogue(["said.json"])
    for one, run in zip(row["runs"], found.runs, strict=True):
        assert figures(run.measures) == figures(one["measures"])
        shown = {v.measure: v for v in catalogue.values(run=run.name)}
        assert figures(shown) == figures(one["measures"])
    ((c,), (said,)) = found.comparisons, row["comparisons"]
    assert pick(c.row("other", "questions"), said) == list(said.values())


# Perspectives -------------------------------------------------------------------------------------


def perspectives_and_labels(count: int = 12) -> list[dict[str, Any]]:
    """Write perspectives, items of support and labels of three people; return the items."""
    draw = random.Random(11)
    write("views.jsonl", (
        {"question_id": t, "question": f"Question {t}?", "id": side, "text": f"{side} of {t}",
         "stance": side} for t in TOPICS[:count] for side in ("pro", "con")
    ))  # fmt: skip
    items, labels = [], []
    for topic in TOPICS[:count]:
        for doc in "abcdefgh":
            for side in ("pro", "con"):
                key = {"id": f"{topic}/{doc}/{side}", "question_id": topic, "doc_id": doc,
                       "perspective_id": side}  # fmt: skip
                text = f"Passage {doc} is about {topic}."
                statement = f"{side} of {topic}"
                items.append({**key, "text": text, "statement": statement, "group": topic})
                said = [draw.random() < 0.4 for _ in range(3)]
                labels += [{**key, "value": v, "annotator": f"p{n}"} for n, v in enumerate(said)]
                if draw.random() < 0.3:
                    labels.append({**key, "value": draw.random() < 0.4, "annotator": ADJUDICATED})
    draw.shuffle(labels)
    write("items.jsonl", items)
    write("labels.jsonl", labels)
    return items


def test_labels_are_the_same_verdicts_to_judge_and_to_measure_perspectives(told, call):
    """What was adjudicated alone counts, whoever reads the labels."""
    perspectives_and_labels()
    run = write_run("one", TOPICS, 1)
    status, _, err = call("judge", "support", "items.jsonl", "--judge", "labels.jsonl", "--out",
                          "judged")  # fmt: skip
    assert status == 0, err
    direct, judged = (
        told(
            "measure", "perspectives", run, "--perspectives", "views.jsonl", "--verdicts", verdicts
        )
        for verdicts in ("labels.jsonl", "judged")
    )
    assert direct["measures"] == judged["measures"]
    assert direct["per_group"] == judged["per_group"]
    assert 0 < direct["measures"]["MRecall@5"]["value"] < 1
    found = measure_perspectives(
        {"one": list(read_run(run))},
        by_question(read_perspectives("views.jsonl")),
        read_verdicts("judged"),
    )
    assert figures(found.runs[0].measures) == figures(direct["measures"])


def test_perspectives_are_the_same_by_diversity_qrels_and_in_view(told, call):
    pytest.importorskip("ir_measures")
    pytest.importorskip("pyndeval")
    perspectives_and_labels()
    run = write_run("one", TOPICS, 1)
    status, _, err = call("judge", "support", "items.jsonl", "--judge", "labels.jsonl", "--out",
                          "judged")  # fmt: skip
    assert status == 0, err
    measures = ("MRecall@5", "Precision@5", "MRecall@8", "alpha_nDCG@5")
    chosen = [word for m in measures for word in ("--measure", m)]
    row = told("measure", "perspectives", run, "--perspectives", "views.jsonl", "--verdicts",
               "judged", "--qrels-out", "views.qrels", *chosen)  # fmt: skip
    by_qrels = told("measure", "retrieval", run, "--qrels", "views.qrels", "--measure", "MRecall@5",
                    "--measure", "alpha_nDCG@5")  # fmt: skip
    for name in ("MRecall@5", "alpha_nDCG@5"):
        one, other = (pick(r["measures"][name], FIGURE) for r in (row, by_qrels))
        assert other == pytest.approx(one, abs=1e-12), name
    catalogue = open_catalogue(["judged", "views.jsonl", run])
    source = catalogue.source("judged")
    for topic, cells in row["per_group"].items():
        matrix = _matrix(catalogue, source, topic, "one")
        shown = {n: m.value for n, m in matrix.measures.items()}
        assert shown["Precision@5"] == cells["Precision@5"]["value"]
        assert shown["MRecall@5"] == cells["MRecall@5"]["value"]
    # As judged, the documents stand in the order of the items: a run in that order says the same.
    lines = [
        f"{t} Q0 {d} {n} {10 - n} plain\n" for t in TOPICS for n, d in enumerate("abcdefgh", 1)
    ]
    Path("plain.run").write_text("".join(lines))
    plain = told("measure", "perspectives", "plain.run", "--perspectives", "views.jsonl",
                 "--verdicts", "judged")["measures"]  # fmt: skip
    table = _covered(open_catalogue(["judged", "views.jsonl"]), source, "covered").table
    heads = [column.name for column in table.columns]
    for name in ("MRecall@5", "Precision@5"):
        mean = table.rows[0][heads.index(name)]
        assert isinstance(mean, Measured)
        assert pick(mean, FIGURE) == pick(plain[name], FIGURE), name


# Answers and labels -------------------------------------------------------------------------------


def test_agreement_with_labels_is_the_same_in_measure_check_card_view_and_python(told, call):
    items = perspectives_and_labels(6)
    draw = random.Random(4)
    truth = {i["id"]: draw.random() < 0.4 for i in items}
    labels = write("gold.jsonl", ({"id": key, "value": yes} for key, yes in truth.items()))
    answers = write("answers.jsonl", (
        {"id": i["id"], "task": "support", "judge": "j", "unscored": None, "group": i["group"],
         "value": p > 0.5, "probability": p}
        for i in items for p in [min(1.0, max(0.0, draw.gauss(0.3 + 0.4 * truth[i["id"]], 0.2)))]
    ))  # fmt: skip
    judged = ("judge", "support", "items.jsonl", "--judge", answers, "--out", "results")
    assert call(*judged)[0] == 0
    row = told("measure", "results", "--labels", labels)
    measures = figures(row["measures"])
    assert measures["f1"][1] < measures["f1"][0] < measures["f1"][2]
    python = measure_agreement(join_labels("results", labels, "support"))
    assert figures(python.measures) == measures
    kept = json.loads(Path("results/measures.json").read_text())
    assert figures(kept["measures"]) == measures
    shown = {v.measure: v for v in open_catalogue(["results"]).values()}
    assert figures({m: shown[m] for m in measures}) == measures
    (checked,) = told("check", "results", "--labels", labels)["judges"]
    assert figures({name: checked["measures"][name] for name in measures}) == measures
    assert (
        pick(checked["rate"]["sensitivity"], FIGURE) == figures(checked["measures"])["sensitivity"]
    )
    told("audit", "card", "results", "--labels", labels, "--out", "card.json")
    (asked,) = json.loads(Path("card.json").read_text())["asked"]
    calibration = figures(asked["calibration"]["measures"])
    assert calibration == {name: measures[name] for name in calibration}
    assert {"auroc", "ece", "brier"} <= calibration.keys()


def test_two_judges_agree_as_much_in_view_as_in_check(told):
    draw = random.Random(6)
    for judge in ("j", "k"):
        write(f"{judge}.jsonl", (
            {"id": f"{t}/{n}", "task": "support", "judge": judge, "unscored": None, "group": t,
             "value": draw.random() < 0.5, "probability": 0.7}
            for t in TOPICS for n in range(5)
        ))  # fmt: skip
    labels = write("k-labels.jsonl", (
        {key: json.loads(line)[key] for key in ("id", "value", "group")}
        for line in Path("k.jsonl").read_text().splitlines()
    ))  # fmt: skip
    audited = told("check", "j.jsonl", "--labels", labels)["judges"][0]["measures"]
    catalogue = open_catalogue(["j.jsonl", "k.jsonl"])
    compared = compare_judges(catalogue, catalogue.source("j"), catalogue.source("k"))
    for _, name, measured in compared.agreement:
        assert pick(measured, FIGURE) == pick(audited[name], FIGURE), name
    assert len(compared.agreement) == 3


def test_the_organiser_of_labels_sees_the_agreement_of_check(told, tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 8)) as (desk, _, address):
        for name, marks in (("ann", "01011010"), ("bo", "01110010")):
            person = Person(address, name)
            for mark in marks:
                assert person.send(int(mark)).status_code == 200
        seen = agreement_of(desk).compared
    while OPEN:
        OPEN.pop().close()
    assert seen is not None
    answers = write("answers.jsonl", (
        {"id": i["id"], "task": "support", "judge": "j", "unscored": None, "value": True,
         "group": i["group"]}
        for i in item_rows("support", 8)
    ))  # fmt: skip
    compared = told("check", answers, "--labels", "labels.jsonl")["compared"]
    (audited,) = (one["mean"] for one in compared if one["kind"] == "raters")
    for name, measured in seen.mean.items():
        assert pick(measured, FIGURE) == pick(audited[name], FIGURE), name
    assert audited["kappa"]["low"] < audited["kappa"]["value"] < audited["kappa"]["high"]
