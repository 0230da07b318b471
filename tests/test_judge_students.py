"""Students' folders whose files are what their manifest says, and yet cannot be used."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from pnyx.errors import InputError
from pnyx.judge.answers import Judged
from pnyx.judge.students import cross
from pnyx.judge.students.cross import MAX_TOKENS
from pnyx.judge.students.judge import StudentJudge
from pnyx.judge.students.late import MODEL, TOKENIZER
from pnyx.judge.tasks import ask_relevance
from student_fixture import tiny_student

onnx = pytest.importorskip("onnx")
INPUTS = ("input_ids", "attention_mask", "types")


def cross_encoder(folder, *, inputs=INPUTS, value=0.5, words=30_522, positions=MAX_TOKENS):
    """Write a model that says `value` of every pair, whatever stands in it."""
    from onnx import TensorProto, helper, numpy_helper

    words_and_places = [np.full((size, 1), value, np.float32) for size in (words, positions)]
    weights = [
        numpy_helper.from_array(table, name)
        for table, name in zip(words_and_places, ("words", "places"), strict=True)
    ]
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "one"))
    nodes = [
        helper.make_node("Gather", ["words", inputs[0]], ["seen"]),
        helper.make_node("NonZero", [inputs[1]], ["places_of"]),
        helper.make_node("Slice", ["places_of", "one", "two"], ["place"]),
        helper.make_node("Gather", ["places", "place"], ["known"]),
        helper.make_node("ReduceMax", ["known"], ["most"], keepdims=0),
        helper.make_node("ReduceMax", ["seen"], ["best"], keepdims=0),
        helper.make_node("Max", ["most", "best"], ["z"]),
        helper.make_node("Unsqueeze", ["z", "zero"], ["out"]),
    ]
    weights.append(numpy_helper.from_array(np.array([2], np.int64), "two"))
    weights.append(numpy_helper.from_array(np.array([0], np.int64), "zero"))
    graph = helper.make_graph(
        nodes,
        "cross",
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


def test_a_cross_encoder_that_runs_is_opened(tmp_path):
    (score,) = cross.load(cross_encoder(tmp_path), {}).score([QUESTION])
    assert score == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": ("tokens", "attention_mask", "types")},
        {"words": 100},
        {"positions": 128},
    ],
    ids=["other inputs", "fewer words", "fewer tokens"],
)
def test_a_cross_encoder_that_cannot_be_run_is_refused_when_it_is_opened(tmp_path, wrong):
    with pytest.raises(InputError, match="the model cannot be run: "):
        cross.load(cross_encoder(tmp_path, **wrong), {})


def test_a_cross_encoder_s_nan_is_unscored(tmp_path):
    scorer = cross.load(cross_encoder(tmp_path, value=np.nan), {})
    assert scorer.score([QUESTION]) == ["no_number: the model gives none"]


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
