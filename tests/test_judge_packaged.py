"""The judge that is asked where none is named; what was signed by the one before it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pnyx
from pnyx import PackagedJudge, Support, ask
from pnyx.cli import main
from pnyx.judging import EncoderJudge, load_perspective_student
from pnyx.judging.answers import Judged
from pnyx.judging.calibration.curves import Temperature
from pnyx.judging.calibration.recalibration import Recalibration, write_calibration
from pnyx.judging.calibration.selective import ConfidenceRegions, Region
from pnyx.judging.encoder import load_calibrations
from pnyx.judging.passages import pieces_of
from pnyx.judging.stances import ask_relevance, ask_stance
from pnyx.judging.students.judge import SideJudge

pytestmark = pytest.mark.usefixtures("own_place")

MEANS = "Says whether turnout rises where voting is compulsory, with figures of elections."
QUESTION = "Does compulsory voting raise turnout?"
ON_TOPIC = "Turnout rose from 60 % to 91 % in the first election after voting became compulsory."
OFF_TOPIC = "Bananas ripen faster beside apples, which give off ethylene."
VOTE = "Should voting be compulsory?"
AGAINST = (
    "Nobody should be forced to the ballot box: a fine for staying at home is an attack on liberty,"
    " and those who are driven there vote at random."
)
FORMER = "packaged@1"
"""Name of a judge that was packaged once; its answers are other ones."""


@pytest.fixture
def items(tmp_path) -> Path:
    rows = [
        {"id": "on", "question": QUESTION, "document": ON_TOPIC, "definition": MEANS},
        {"id": "off", "question": QUESTION, "document": OFF_TOPIC, "definition": MEANS},
        {"id": "bare", "question": QUESTION, "document": ON_TOPIC},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


def test_the_encoders_judge_answers_relevance_with_a_definition_and_without(
    items, tmp_path, capsys
):
    status, _, error = run(capsys, "judge", "relevance", items, "--out", tmp_path / "out")
    judge = EncoderJudge()
    assert status == 0
    assert "judge packaged (weak: treat as hints); accuracy: pnyx doctor" in error
    answers = (tmp_path / "out" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["id"]: row for row in map(json.loads, answers)}
    assert {row["judge"] for row in rows.values()} == {judge.name}
    assert {name: row["value"] for name, row in rows.items()} == {
        "on": True,
        "off": False,
        "bare": True,
    }
    asked = ask_relevance("on", QUESTION, ON_TOPIC, definition=MEANS)
    (alone,) = ask(judge, [asked])
    assert rows["on"]["probability"] == alone.probability
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["judge"] == judge.name


def test_the_student_that_brought_nothing_is_gone():
    weights = Path(pnyx.models.__file__).parent / "weights"
    assert sorted(folder.name for folder in weights.iterdir()) == [
        "minilm",
        "passages",
        "perspectives",
    ]


def sure_of(judge: str, path: Path) -> Path:
    limits = ConfidenceRegions(0.1, 0.2, 0.8, Region(50, 1, 0.09), Region(50, 1, 0.09), 120)
    curve = Temperature(2.0)
    write_calibration(path, Recalibration(judge, "relevance", "student", curve, 0.5, limits))
    return path


def test_a_curve_of_the_former_judge_is_refused(items, tmp_path, capsys):
    path = sure_of(FORMER, tmp_path / "former.json")
    ask = ("judge", "relevance", items, "--out", tmp_path / "out", "--set", f"calibration={path}")
    status, _, error = run(capsys, *ask)
    assert status == 2
    problem = f"the calibration was made for the judge '{FORMER}', not for '{EncoderJudge().name}'"
    assert problem in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_cascade_of_the_former_judge_is_refused(items, tmp_path, capsys):
    path = sure_of(FORMER, tmp_path / "former.json")
    model = ("--judge", "http://127.0.0.1:9/v1#none")
    ask = (
        "judge",
        "relevance",
        items,
        "--out",
        tmp_path / "out",
        "--set",
        f"cascade={path}",
        *model,
    )
    status, _, error = run(capsys, *ask)
    assert status == 2
    assert f"'{FORMER}'" in error
    assert error.count("\n") == 1


def test_former_answers_keep_their_judges_name_and_are_not_gone_on_with(items, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(capsys, "judge", "relevance", items, "--out", out)[0] == 0
    for name in ("answers.jsonl", "manifest.json"):
        text = (out / name).read_text(encoding="utf-8").replace(EncoderJudge().name, FORMER)
        (out / name).write_text(text, encoding="utf-8")
    again = run(capsys, "judge", "relevance", items, "--out", out)
    assert again[0] == 2
    assert again[2].count("\n") == 1
    looked = ("judge", "relevance", items, "--judge", out, "--out", tmp_path / "looked")
    assert run(capsys, *looked)[0] == 0
    lines = (tmp_path / "looked" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["judge"] for line in lines} == {f"lookup:out({FORMER})"}


def test_annotations_begun_by_the_former_judge_are_not_gone_on_with(items, tmp_path, capsys):
    out = tmp_path / "labels.jsonl"
    apply = ("annotate", "label", items, "--annotations-out", out)
    assert run(capsys, *apply)[0] == 0
    manifest = tmp_path / "labels.jsonl.manifest.json"
    text = manifest.read_text(encoding="utf-8").replace(EncoderJudge().name, FORMER)
    manifest.write_text(text, encoding="utf-8")
    before = out.read_bytes()
    status, _, error = run(capsys, *apply)
    assert status == 2
    assert "of another judge" in error
    assert out.read_bytes() == before


def test_the_card_line_says_what_was_chosen_by_its_figures():
    about, tasks = load_calibrations("minilm-int8")
    figures = tasks["relevance+guideline"].figures
    for name in ("auroc", "ap", "f1", "ece"):
        low, high = figures[f"{name}_low"], figures[f"{name}_high"]
        assert low <= figures[name] <= high
        shown = [f"{value:.2f}".removeprefix("0") for value in (figures[name], low, high)]
        assert f"{shown[0]} [{shown[1]}, {shown[2]}]" in about["card"]["relevance"]
    assert "chosen" in about["card"]["relevance"]
    assert len(EncoderJudge().card) <= 400  # where cards are joined, more is cut off


def test_other_tasks_are_unchanged():
    (answer,) = ask(EncoderJudge(), [Support("s", ON_TOPIC, "Compulsory voting raises turnout.")])
    assert answer.value is True


# --- one judge for every task


@pytest.mark.slow
def test_each_task_is_answered_by_the_model_that_is_best_at_it():
    judge = PackagedJudge()
    on, claim, cited, side = ask(
        judge,
        [
            Support("1", ON_TOPIC, QUESTION, "relevance", guideline=MEANS),
            Support("2", ON_TOPIC, "Compulsory voting raises turnout."),
            Support("2", ON_TOPIC, "Compulsory voting raises turnout.", cites=True),
            ask_stance("3", VOTE, AGAINST, "con"),
        ],
    )
    encoder = EncoderJudge()
    assert on.provenance.judge == cited.provenance.judge == encoder.name
    assert [on, cited] == ask(
        encoder,
        [
            Support("1", ON_TOPIC, QUESTION, "relevance", guideline=MEANS),
            Support("2", ON_TOPIC, "Compulsory voting raises turnout.", cites=True),
        ],
    )
    detector = load_perspective_student()
    assert [claim] == ask(detector, [Support("2", ON_TOPIC, "Compulsory voting raises turnout.")])
    assert claim.provenance.judge == detector.name
    assert side.provenance.judge == PackagedJudge("stance").name == f"{detector.name}+sides"
    quality = PackagedJudge("quality").name
    (given,) = ask(judge, [Support("4", ON_TOPIC, "Compulsory voting raises turnout.", "nugget")])
    nuggets = PackagedJudge("nugget")
    assert given.provenance.judge == nuggets.name == "nuggets@4"
    assert "calibrated on nuggets of reports" in nuggets.card
    names = (
        f"{encoder.name}, answers@1, {nuggets.name}, {side.provenance.judge}, {quality}, rules@2"
    )
    assert judge.name == f"packaged({detector.name}, {names})"
    for task, card in (("citation", "support"), ("relevance", "relevance")):
        assert PackagedJudge(task).card == f"{encoder.cards[card]}; weak: treat as hints"
        assert encoder.cards[card] in judge.card
    assert PackagedJudge("stance").card == SideJudge(detector).card
    assert SideJudge.cards["stance"] in judge.card
    assert "unseen" in judge.card


def test_support_of_perspectives_is_asked_of_the_detector():
    judge = PackagedJudge("support")
    detector = load_perspective_student()
    asked = [Support("1", AGAINST, "Voting should not be compulsory.")]
    assert (judge.name, judge.card) == (detector.name, detector.card)
    assert ask(judge, asked) == ask(detector, asked)
    (answer,) = ask(judge, [replace(asked[0], cites=True)])  # never the detector's in silence
    assert answer.reason == "task: no packaged model for 'citation'"


def test_a_text_against_the_claim_is_on_the_other_side_and_the_two_add_to_one():
    pro, con = (ask_stance(side, VOTE, AGAINST, side) for side in ("pro", "con"))
    answers = ask(PackagedJudge(), [pro, con])
    assert [answer.value for answer in answers] == [False, True]
    assert sum(answer.probability for answer in answers) == pytest.approx(1)
    details = [answer.provenance.details for answer in answers]
    assert details[0] == {"claim": details[1]["opposite"], "opposite": details[1]["claim"]}
    # the logistic of the slope times the difference of the log-odds
    p, q = details[1]["claim"], details[1]["opposite"]
    odds = 0.809 * (math.log(p / (1 - p)) - math.log(q / (1 - q)))
    assert answers[1].probability == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)


def test_the_passages_of_a_longer_text_add_up_to_its_side():
    first = " ".join([AGAINST] * 4)
    second = " ".join([ON_TOPIC] * 7)
    pieces = pieces_of(f"{first} {second}")
    assert len(pieces) == 3
    claim = "Voting should be compulsory."
    asked = [Support("1", text, claim, "stance") for text in (f"{first} {second}", *pieces)]
    whole, *each = ask(PackagedJudge("stance"), asked)

    def odds(p):
        return math.log(p / (1 - p))

    apart = sum(odds(answer.probability) for answer in each) / math.sqrt(len(each))
    assert odds(whole.probability) == pytest.approx(apart, abs=1e-3)
    shown = [odds(answer.provenance.details["claim"]) for answer in each]
    assert odds(whole.provenance.details["claim"]) == pytest.approx(np.mean(shown), abs=1e-3)


def test_a_question_that_no_rule_takes_apart_is_judged_with_yes_and_no():
    question = "What of golf?"
    pro, con = ask(
        PackagedJudge(),
        [ask_stance("1", question, AGAINST, side) for side in ("pro", "con")],
    )
    assert isinstance(pro, Judged)
    assert isinstance(con, Judged)
    assert pro.probability + con.probability == pytest.approx(1, abs=1e-5)


def test_what_no_packaged_model_does_is_said_in_one_line(tmp_path, capsys):
    row = {"id": "1", "query": "Is tea healthy?", "documents": ["Tea calms.", "Tea is old."]}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    status, _, error = run(capsys, "judge", "ranking", tmp_path / "items.jsonl", "--out", out)
    assert (status, error.count("\n")) == (2, 1)
    assert "task ranking needs a language model or people's labels (--judge)" in error
    assert not out.exists()


def test_no_model_is_loaded_before_it_is_asked():
    code = (
        "import sys, pnyx; j = pnyx.PackagedJudge(); j.name, j.card;"
        "assert not {'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("The council cut bus fares by 20 % in 2021.", True),
        ("The council did not cut bus fares by 20 % in 2021.", False),
        ("The council cut bus fares by 50 % in 2021.", False),
        ("Giraffes sleep standing up.", False),
    ],
)
def test_the_judge_of_answers_wants_what_the_passage_says(sentence: str, value: bool) -> None:
    text = "Ridership rose by a third. The council cut bus fares by 20 % in 2021."
    asked = Support("1", text, sentence, from_answer=True)
    (answer,) = ask(PackagedJudge("answer"), [asked])
    assert (answer.value, answer.provenance.judge) == (value, "answers@1")
    assert answer.value == (answer.probability >= 0.5)
