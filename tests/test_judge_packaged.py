"""The judge that is asked where none is named: who answers what, and under which name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pnyx.models
from pnyx import EncoderJudge, PackagedJudge, Support, ask
from pnyx.errors import PnyxError
from pnyx.judge import packaged
from pnyx.judge.answers import Judged, Unscored
from pnyx.judge.packaged import load_relevance_student
from pnyx.judge.tasks.relevance import ask_relevance

MEANS = "Says whether turnout rises where voting is compulsory, with figures of elections."
QUESTION = "Does compulsory voting raise turnout?"
ON_TOPIC = "Turnout rose from 60 % to 91 % in the first election after voting became compulsory."
OFF_TOPIC = "Bananas ripen faster beside apples, which give off ethylene."

WEIGHTS = Path(pnyx.models.__file__).parent / "weights" / "relevance"


@pytest.fixture(scope="module")
def judge() -> PackagedJudge:
    return PackagedJudge()


def test_a_new_part_needs_a_new_name(judge):
    # Who changes weights or a calibration counts the name's number up and writes both here anew:
    # stores, calibrations and cascades know a judge by its name alone.
    parts = (judge.encoder.name, judge.student.name)
    assert (judge.name, parts) == ("packaged@1", ("minilm-int8@1", "student:relevance@f4aed2d8"))


def test_relevance_with_a_definition_is_for_the_student(judge):
    asked = [
        ask_relevance("bare", QUESTION, ON_TOPIC),
        ask_relevance("on", QUESTION, ON_TOPIC, definition=MEANS),
        Support("support", ON_TOPIC, "Compulsory voting raises turnout."),
        ask_relevance("off", QUESTION, OFF_TOPIC, definition=MEANS),
        ask_relevance("blank", QUESTION, ON_TOPIC, definition="  \n"),
    ]
    answers = dict(zip((q.id for q in asked), ask(judge, asked), strict=True))
    by = {name: answer.provenance.details["by"] for name, answer in answers.items()}
    encoder, student = judge.encoder.name, judge.student.name
    assert by == {
        "bare": encoder,
        "on": student,
        "support": encoder,
        "off": student,
        "blank": encoder,
    }
    assert {answer.provenance.judge for answer in answers.values()} == {"packaged@1"}
    assert {name: a.value for name, a in answers.items()} == {
        "bare": True,
        "on": True,
        "support": True,
        "off": False,
        "blank": True,
    }


def test_the_parts_answer_as_they_do_alone(judge):
    defined = ask_relevance("on", QUESTION, ON_TOPIC, definition=MEANS)
    bare = ask_relevance("bare", QUESTION, ON_TOPIC)
    (first, second) = ask(judge, [defined, bare])
    (by_student,) = ask(load_relevance_student(), [defined])
    (by_encoder,) = ask(EncoderJudge(), [bare])
    for answer, alone in ((first, by_student), (second, by_encoder)):
        assert isinstance(answer, Judged)
        assert isinstance(alone, Judged)
        assert answer.probability == alone.probability
        assert answer.provenance.method == alone.provenance.method


def test_what_cannot_be_judged_has_no_number(judge):
    (answer,) = ask(judge, [ask_relevance("empty", QUESTION, " ", definition=MEANS)])
    assert isinstance(answer, Unscored)
    assert answer.provenance.judge == "packaged@1"


def test_the_card_speaks_of_both_parts(judge):
    assert judge.student.card in judge.card
    assert judge.encoder.card in judge.card


def test_it_comes_with_its_card_and_is_not_too_large():
    assert "On people's labels" in (WEIGHTS / "card.md").read_text(encoding="utf-8")
    assert sum(file.stat().st_size for file in WEIGHTS.iterdir()) < 30e6


def test_damaged_weights_are_said_in_one_line(tmp_path):
    folder = tmp_path / "relevance"
    shutil.copytree(WEIGHTS, folder)
    (folder / "model.onnx").write_bytes(b"none")
    with pytest.raises(PnyxError, match=r"model.onnx.*damaged.*reinstall pnyx"):
        packaged._open(folder, "relevance")
