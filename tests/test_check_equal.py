"""`pnyx check` shows the figures of Pnyx's other doors: one number, one name, one interval."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import pnyx
from command import called, write_rows
from pnyx.audit.checks.result import CheckedJudge
from pnyx.judging.measures.ground_truth import join_labels
from pnyx.judging.measures.rates import corrected_rate

GROUPED = "--verdict", "judge", "--human", "human", "--group", "question", "--probability", "p"


def table(count: int = 160, labelled: int = 110) -> list[dict[str, Any]]:
    """Return rows whose ids are in another order than their lines; 5 verdicts are missing."""
    rng = random.Random(5)
    rows = []
    for n in range(count):
        people = rng.random() < 0.4
        p = round(min(0.99, max(0.01, rng.gauss(0.65 if people else 0.35, 0.2))), 3)
        rows.append(
            {
                "id": f"r{(n * 37) % count:03d}",
                "question": f"q{n % 13}",
                "judge": "" if n % 33 == 7 else "yes" if p > 0.5 else "no",
                "human": ("yes" if people else "no") if n < labelled else "",
                "p": p,
            }
        )
    return rows


def verdicts_and_labels(rows: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Return the same rows as the answers of a judge and people's labels."""
    verdicts = [
        {
            "id": row["id"],
            "task": "support",
            "judge": "judge",
            "value": row["judge"] == "yes" if row["judge"] else None,
            "probability": row["p"] if row["judge"] else None,
            "unscored": None if row["judge"] else "no verdict",
            "group": row["question"],
        }
        for row in rows
    ]
    labels = [
        {"id": row["id"], "value": row["human"] == "yes", "group": row["question"]}
        for row in rows
        if row["human"]
    ]
    return verdicts, labels


@pytest.fixture
def judge() -> CheckedJudge:
    (judge,) = pnyx.check(
        table(), judge="judge", human="human", group="question", probability="p", id="id"
    ).judges
    return judge


def test_measures_and_intervals_are_those_of_measure_agreement(judge):
    measured = pnyx.measure_agreement(*verdicts_and_labels(table()))
    names = "kappa", "auroc", "ece", "brier", "accuracy", "f1", "average_precision"
    for name in names:
        assert judge.figures[name] == measured.measures[name]
        assert judge.figures[name].low is not None
        assert (judge.figures[name].scored, judge.figures[name].asked) == (106, 110)
    assert judge.agreement.reliability == measured.reliability
    assert (judge.agreement.clusters, judge.unscored) == (13, 4)


def test_the_corrected_rate_is_that_of_corrected_rate(judge):
    joined = join_labels(*verdicts_and_labels(table()))
    expected = corrected_rate(joined)
    assert judge.rate == expected
    assert expected.prediction_powered.low is not None
    assert expected.rogan_gladen.low is not None
    assert judge.figures["sensitivity"] == expected.sensitivity
    assert judge.figures["specificity"] == expected.specificity


def test_files_give_the_same_through_the_command_line(capsys, tmp_path):
    rows = table()
    verdicts, labels = verdicts_and_labels(rows)
    answers = write_rows(tmp_path / "answers.jsonl", verdicts)
    people = write_rows(tmp_path / "labels.jsonl", labels)
    path = write_rows(tmp_path / "table.jsonl", rows)
    measure = "measure", answers, "--labels", people, "--json"
    measured = json.loads(called(capsys, *measure)[1])
    checked = json.loads(called(capsys, "check", path, *GROUPED, "--id-column", "id", "--json")[1])
    (judge,) = checked["judges"]
    for name, figure in measured["measures"].items():
        if figure["value"] is not None:
            assert judge["measures"][name] == figure
    rates = measured["rate"]
    for name in ("judged", "people", "rogan_gladen", "prediction_powered", "sensitivity"):
        assert judge["rate"][name] == rates[name]


def test_the_words_show_the_corrected_rate(judge, capsys, tmp_path):
    path = write_rows(Path(tmp_path) / "table.jsonl", table())
    words = " ".join(called(capsys, "check", path, *GROUPED, "--id-column", "id")[1].split())
    rate = judge.rate
    assert rate is not None
    figure = rate.prediction_powered
    corrected = f"{100 * figure.value:.0f} % ({100 * figure.low:.0f} to {100 * figure.high:.0f} %)"
    assert f'rate of {100 * rate.judged.value:.0f} % "yes" is corrected to {corrected}' in words


def test_precision_and_npv_are_counted_by_the_judge_s_answers(judge):
    """Of the judge's yes, those that people share; of its no, the same."""
    scored = [row for row in table() if row["judge"] and row["human"]]
    for name, verdict in (("precision", "yes"), ("npv", "no")):
        labels = [row["human"] for row in scored if row["judge"] == verdict]
        figure = judge.figures[name]
        assert (figure.value, figure.scored) == (labels.count(verdict) / len(labels), len(labels))


@pytest.mark.parametrize("peer", ["sklearn.metrics"])
def test_values_are_those_of_scikit_learn(judge, peer):
    metrics = pytest.importorskip(peer)
    scored = [row for row in table() if row["judge"] and row["human"]]
    people, judged = ([row[name] == "yes" for row in scored] for name in ("human", "judge"))
    p = [row["p"] for row in scored]
    assert judge.figures["kappa"].value == pytest.approx(metrics.cohen_kappa_score(people, judged))
    assert judge.figures["auroc"].value == pytest.approx(metrics.roc_auc_score(people, p))
    assert judge.figures["brier"].value == pytest.approx(metrics.brier_score_loss(people, p))
