"""Students' folders whose files are what their manifest says, and yet cannot be used."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students import late
from pnyx.judging.students.scorers import MODEL, TOKENIZER
from pnyx.judging.students.student import StudentJudge
from student_fixture import tiny_student

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytestmark = pytest.mark.train
INPUTS = ("input_ids", "attention_mask")
SETTINGS = {"weights": [1.0] * len(late.FEATURES), "intercept": -7.0}


def encoder(folder, *, inputs=INPUTS, value=0.5, words=30_522, positions=late.MAX_TOKENS):
    """Write an encoder that has one dimension and says 2 `value` of every token."""
    from onnx import TensorProto, helper, numpy_helper

    tables = {"words": words, "places": positions}
    weights = [
        numpy_helper.from_array(np.full((size, 1), value, np.float32), name)
        for name, size in tables.items()
    ]
    weights += [numpy_helper.from_array(np.array([n], np.int64), name) for n, name in enumerate(
        ("zero", "one", "two"))]  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["words", inputs[0]], ["seen"]),
        helper.make_node("NonZero", [inputs[1]], ["places_of"]),
        helper.make_node("Slice", ["places_of", "one", "two"], ["place"]),
        helper.make_node("Gather", ["places", "place"], ["known"]),
        helper.make_node("Add", ["seen", "known"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(n, TensorProto.INT64, [1, None]) for n in inputs],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / MODEL).write_bytes(model.SerializeToString())
    packaged = resources.files("pnyx.models") / "weights" / "minilm" / "tokenizer.json"
    (folder / TOKENIZER).write_bytes(packaged.read_bytes())
    return folder


QUESTION = ask_relevance("1", "Is tea healthy?", "Tea calms people. " * 400)


def test_an_encoder_that_runs_is_opened(tmp_path):
    """In one dimension all cosines are 1."""
    (score,) = late.load(encoder(tmp_path), SETTINGS).score([QUESTION])
    assert score == pytest.approx(0.5)


@pytest.mark.parametrize(
    "wrong",
    [{"inputs": ("tokens", "attention_mask")}, {"words": 100}, {"positions": 128}],
    ids=["other inputs", "fewer words", "fewer tokens"],
)
def test_an_encoder_that_cannot_be_run_is_refused_when_it_is_opened(tmp_path, wrong):
    with pytest.raises(InputError, match="the model cannot be run: "):
        late.load(encoder(tmp_path, **wrong), SETTINGS)


@pytest.mark.parametrize("weights", [None, [1.0], [10**400] * 7, ["1"] * 7, [float("nan")] * 7])
def test_weights_that_are_none_are_refused(tmp_path, weights):
    with pytest.raises(InputError, match="settings: "):
        late.load(tmp_path, {"weights": weights, "intercept": 0.0})


def test_what_a_student_says_that_is_no_number_is_unscored():
    class Broken:
        def score(self, questions):
            return [float("nan"), float("inf"), 0.5][: len(questions)]

    judge = StudentJudge(tiny_student().student, Broken())
    asked = [ask_relevance(name, "Is it ripe?", "A ripe banana.") for name in "abc"]
    first, second, third = judge.judge(asked)
    assert [first.reason, second.reason] == [
        "score: found nan, expected a number",
        "score: found inf, expected a number",
    ]
    assert isinstance(third, Judged)
