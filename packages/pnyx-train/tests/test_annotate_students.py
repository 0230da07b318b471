"""The students that train on a CPU: what they read, what they learn, how they resume."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_fixture import BERT_SIZES, DEFINITION, write_bert
from bert_fixture import animal_pairs as pairs
from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.late import MAX_TOKENS, pieces_of, sentence_spans
from pnyx.judging.students.scorers import read_tokenizer
from pnyx.judging.students.student import open_student
from pnyx.relevance.distillation import Distillation, distil, example_of, split_questions
from pnyx_train.late_trainer import LateTrainer
from tries import tries

torch = pytest.importorskip("torch", reason="the libraries of pnyx-train are not installed")
pytest.importorskip("onnx", reason="the libraries of pnyx-train are not installed")


from pnyx_train.late_net import PACKAGED, LateNet, load_bert, tokenizer_of  # noqa: E402

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def tokenizer():
    return read_tokenizer(tokenizer_of(PACKAGED))


# --- texts


def test_short_sentences_go_with_the_next():
    text = "Examples:\n1. One thing that is long enough.\n2. Two."
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "Examples:\n1. One thing that is long enough.\n2. Two."
    ]
    text = "The first one is here. And here the second one stands."
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "The first one is here.",
        "And here the second one stands.",
    ]


@settings(max_examples=tries(60), deadline=None)
@given(st.text(max_size=400) | st.text("ab .\n", max_size=4000))
def test_pieces_hold_each_token_once(tokenizer, text):
    pieces = pieces_of(tokenizer, text)
    inner = np.concatenate([piece.ids[1:-1] for piece in pieces])
    plain = text.encode("utf-8", "replace").decode("utf-8")
    assert inner.tolist() == tokenizer.encode(plain).ids[1:-1][: len(inner)]
    for piece in pieces:
        assert 2 <= len(piece.ids) <= MAX_TOKENS
        numbers = piece.sentences[1:-1]
        assert piece.sentences[0] == piece.sentences[-1] == -1
        assert sorted(set(numbers.tolist())) == list(range(numbers.max(initial=-1) + 1))
        assert (np.diff(numbers) >= 0).all()


# --- networks


def test_the_packaged_encoder_starts_a_training_as_it_is():
    from pnyx.models.embed.encoder import load_encoder

    texts = ["Should social media be regulated?", "Emissions of suppliers are estimated. " * 9]
    bert = load_bert(PACKAGED).eval()
    reader = read_tokenizer(tokenizer_of(PACKAGED))
    for text, expected in zip(texts, load_encoder().encode(texts), strict=True):
        ids = torch.tensor([reader.encode(text).ids])
        with torch.inference_mode():
            mean = bert(ids).last_hidden_state[0].mean(0)
        cosine = torch.nn.functional.normalize(mean, dim=0) @ torch.from_numpy(expected)
        assert cosine > 0.99  # the one computes in float32, the other in int8


def test_what_is_trained_is_what_scores(base, tokenizer):
    """The network with gradients and the scorer in numpy agree on the same weights."""
    from pnyx.judging.students.late import LateScorer

    net = LateNet(load_bert(base), 1).eval()

    def run(ids):
        with torch.inference_mode():
            return net.bert(torch.from_numpy(ids)).last_hidden_state.numpy()

    scorer = LateScorer(run, tokenizer, net.weights.tolist(), float(net.intercept.detach()))
    asked = [
        ask_relevance("1", "Where do foxes live?", "In woods. Some live in towns, too, they say."),
        ask_relevance("2", "Where do foxes live?", "word " * 900, definition=DEFINITION),
        ask_relevance("3", "Who?", "x", definition="A long list. " * 200),
    ]
    texts = [[q.text, q.statement, f"{q.statement} {q.guideline}".strip()] for q in asked]
    read = [pieces_of(tokenizer, text) for row in texts for text in row]
    with torch.inference_mode():
        z = net.log_odds(read, [(0, 1, 2), (3, 4, 5), (6, 7, 8)])
    assert scorer.score(asked) == pytest.approx(torch.sigmoid(z).tolist(), abs=1e-5)
    assert scorer.score(asked[1:2]) == scorer.score(asked)[1:2]


def test_a_student_learns_a_rule_and_keeps_to_it_on_other_questions(base, tmp_path):
    made = LateTrainer(base=base, frozen=0, epochs=12, batch=10, learning_rate=3e-3)
    done = []
    found = distil(
        pairs(),
        made,
        Distillation("rule", held_out=0.5),
        tmp_path / "student",
        report=lambda step, of, word: done.append((step, of)),
    )
    assert done[-1][0] == done[-1][1] == len(done)
    assert found.figures["auroc"].value > 0.9
    judge = open_student(tmp_path / "student")
    answers = ask(judge, [example_of(pair).question for pair in pairs()])
    assert all(isinstance(answer, Judged) for answer in answers)
    right = [a.value == pair.value for a, pair in zip(answers, pairs(), strict=True)]
    assert np.mean(right) > 0.9
    assert not (tmp_path / "student.partial").exists()
    files = {path.name for path in (tmp_path / "student").iterdir()}
    assert files == {"card.md", "model.onnx", "student.json", "tokenizer.json"}


def test_an_interrupted_training_ends_with_the_same_weights(base, tmp_path, monkeypatch):
    made = LateTrainer(base=base, frozen=0, epochs=4, batch=10, learning_rate=1e-3)
    plan = Distillation("rule", held_out=0.5)
    monkeypatch.setattr("pnyx_train.torch_trainer._SECONDS", 0.0)  # a checkpoint each step

    class StopError(Exception):
        pass

    def stop(step, of, word):
        if step == 3:
            raise StopError

    distil(pairs(), made, plan, tmp_path / "whole")
    with pytest.raises(StopError):
        distil(pairs(), made, plan, tmp_path / "parted", report=stop)
    assert not (tmp_path / "parted").exists()
    steps = []
    distil(pairs(), made, plan, tmp_path / "parted", report=lambda step, *_: steps.append(step))
    assert steps[0] == 3  # a step is told before it is kept
    one, other = (tmp_path / name / "model.onnx" for name in ("whole", "parted"))
    assert one.read_bytes() == other.read_bytes()


def test_another_training_does_not_take_up_the_checkpoints(base, tmp_path, monkeypatch):
    monkeypatch.setattr("pnyx_train.torch_trainer._SECONDS", 0.0)

    def stop(step, of, word):
        if step == 2:
            raise KeyboardInterrupt

    plan = Distillation("rule", held_out=0.5)
    with pytest.raises(KeyboardInterrupt):
        distil(pairs(), LateTrainer(base=base), plan, tmp_path / "s", report=stop)
    with pytest.raises(InputError, match="belongs to a training on other pairs"):
        distil(pairs(), LateTrainer(base=base, epochs=3), plan, tmp_path / "s")
    with pytest.raises(InputError, match="belongs to a training on other pairs"):
        distil(pairs(each=8), LateTrainer(base=base), plan, tmp_path / "s")


def test_a_damaged_checkpoint_is_said_to_be_one(base, tmp_path, monkeypatch):
    monkeypatch.setattr("pnyx_train.torch_trainer._SECONDS", 0.0)

    def stop(step, of, word):
        if step == 2:
            raise KeyboardInterrupt

    plan = Distillation("rule", held_out=0.5)
    trainer = LateTrainer(base=base, frozen=0, epochs=1, batch=4)
    with pytest.raises(KeyboardInterrupt):
        distil(pairs(), trainer, plan, tmp_path / "s", report=stop)
    (tmp_path / "s.partial" / "checkpoint-1" / "model.safetensors").write_bytes(b"x" * 40)
    with pytest.raises(InputError, match="is not a checkpoint of this training"):
        distil(pairs(), trainer, plan, tmp_path / "s")


def test_a_rate_that_breaks_the_weights_is_an_error(base, tmp_path):
    with pytest.raises(PnyxError, match="not a number"):
        distil(
            pairs(),
            LateTrainer(base=base, epochs=30, batch=10, learning_rate=1e30),
            Distillation("rule", held_out=0.5),
            tmp_path / "s",
        )
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("fault", ["config", "weights", "tokenizer", "gone"])
def test_a_base_that_is_none_is_named(base, tmp_path, fault):
    import shutil

    folder = tmp_path / "base"
    if fault != "gone":
        shutil.copytree(base, folder)
    if fault == "config":
        (folder / "config.json").write_text('{"model_type": "t5"}', encoding="utf-8")
    if fault == "weights":
        (folder / "model.safetensors").write_bytes(b"no")
    if fault == "tokenizer":
        (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="base"):
        distil(pairs(), LateTrainer(base=str(folder)), Distillation("x"), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def _no_special_tokens(row):
    row["post_processor"] = None


def _two_tokens_before(row):
    row["post_processor"]["single"].insert(0, row["post_processor"]["single"][0])


BASES = {
    "short": ({"max_position_embeddings": 256}, None, "reads up to 256 tokens, expected at least"),
    "other words": ({"vocab_size": 30000}, None, "holds token 30521, its model 30000 tokens"),
    "no size": ({"hidden_size": None}, None, "hidden_size: found None, expected a size"),
    "text": ({"num_hidden_layers": "2"}, None, "num_hidden_layers: found 2, expected a size"),
    "no layer": ({"num_hidden_layers": 0}, None, "num_hidden_layers: found 0, expected a size"),
    "huge": ({"vocab_size": 10**400}, None, "vocab_size: found 1000"),
    "heads": ({"num_attention_heads": 5}, None, "hidden_size 48 is not a multiple of 5 heads"),
    "no ends": ({}, _no_special_tokens, "expected one special token before a text and one after"),
    "two ends": ({}, _two_tokens_before, "expected one special token before a text and one after"),
    "no tokenizer": ({}, lambda row: row.clear(), "tokenizer.json cannot be used"),
}


@pytest.mark.parametrize("fault", BASES)
def test_a_base_that_does_not_fit_is_refused_before_anything_is_trained(fault, tmp_path):
    sizes, change, said = BASES[fault]
    folder = tmp_path / "mybase"
    folder.mkdir()
    config = {"model_type": "bert", "hidden_act": "gelu", **BERT_SIZES, **sizes}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    row = json.loads(tokenizer_of(PACKAGED))
    if change:
        change(row)
    (folder / "tokenizer.json").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match="mybase") as refused:
        distil(pairs(), LateTrainer(base=str(folder)), Distillation("x"), tmp_path / "s")
    assert said in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mybase"]


def test_a_sentence_encoder_of_320_tokens_is_a_base(tmp_path):
    sizes = {**BERT_SIZES, "max_position_embeddings": 320, "type_vocab_size": 1}
    config = {"model_type": "bert", "hidden_act": "gelu", **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "tokenizer.json").write_bytes(tokenizer_of(PACKAGED))
    assert LateTrainer(base=str(tmp_path)).plan()["base"] == str(tmp_path)


@pytest.mark.parametrize(("layers", "frozen"), [(1, 0), (2, 1), (3, 2), (4, 3), (6, 4), (12, 8)])
def test_two_thirds_of_the_layers_stay_and_never_all(layers, frozen):
    assert LateTrainer().frozen_of(layers) == frozen
    assert LateTrainer(frozen=5).frozen_of(layers) == 5


def test_the_plan_says_how_many_layers_stay(base):
    assert LateTrainer().plan()["frozen"] == 4
    assert LateTrainer(base=base).plan()["frozen"] == 1
    assert LateTrainer(base=base, frozen=0).plan()["frozen"] == 0


# --- steps and splits


@given(st.integers(2, 9), st.floats(0.05, 0.95), st.integers(0, 99))
def test_a_question_lies_on_one_side_only(groups, share, seed):
    examples = [example_of(p) for p in pairs([f"g{i}" for i in range(groups)], each=4)]
    train, held = split_questions(examples, share, seed)
    assert {e.group for e in train} & {e.group for e in held} == set()
    assert len(train) + len(held) == len(examples)
    for part in (train, held):
        assert {e.value for e in part} == {True, False}
    assert len({e.group for e in held}) >= (2 if groups >= 4 else 1)


def test_batches_hold_questions_together_and_each_pair_once_an_epoch():
    examples = [example_of(pair) for pair in pairs(each=10)]
    trainer = LateTrainer(epochs=2, batch=8, together=5)
    batches = list(trainer.batches(examples))
    assert sorted(place for batch in batches for place in batch) == sorted([*range(40)] * 2)
    for batch in batches:
        for animal in {examples[place].group for place in batch}:
            assert sum(examples[place].group == animal for place in batch) in (5, 10)
    assert batches == list(trainer.batches(examples))


def test_others_may_read_a_student(base, tmp_path):
    plan = Distillation("rule", held_out=0.5)
    distil(pairs(), LateTrainer(base=base, epochs=1), plan, tmp_path / "s")
    plain = tmp_path / "plain"
    plain.touch()
    modes = {path.stat().st_mode for path in (tmp_path / "s").iterdir()}
    assert modes == {plain.stat().st_mode}
