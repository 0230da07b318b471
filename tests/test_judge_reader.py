"""The packaged detector of perspectives: what it reads, how its parts add up, what it refuses."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import pnyx.models
from pnyx import Support, ask
from pnyx.core.errors import InputError, PnyxError
from pnyx.judging import EncoderJudge
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.passages import pieces_of
from pnyx.judging.students import reader
from pnyx.judging.students.judge import _open_packaged, load_perspective_student
from pnyx.judging.students.reader import (
    CHANGES,
    MATRICES,
    Ids,
    ReaderScorer,
    closest_sentences,
    load,
    open_reader,
    read_matrices,
)
from pnyx.judging.students.scorers import CombinedScorer, Standard, read_tokenizer
from pnyx.judging.students.student import StudentJudge, load_scorer, open_student, read_student
from pnyx.models.embed.encoder import load_encoder
from tries import tries

WEIGHTS = Path(pnyx.models.__file__).parent / "weights" / "perspectives"
START, END = 0, 2
BAN = "Animal testing should be banned."
FOR = (
    "Testing on animals causes needless pain, and its results rarely carry over to people. "
    "Better methods exist. It is time to put an end to it."
)
AWAY = "Bananas ripen faster beside apples, which give off ethylene. Keep them apart."


@pytest.fixture(scope="module")
def ids():
    return Ids(read_tokenizer((WEIGHTS / "tokenizer.json").read_bytes()))


class NoScorer:
    def score(self, questions):
        raise AssertionError(questions)


# --- the parts


def test_the_network_is_given_a_passage_and_statements_in_slots_of_their_own(ids):
    seen = []

    def run(passage, statements):
        seen.append((passage.tolist(), statements.tolist()))
        return np.array([[2.0, 1.0, 1.0], [-1.0, 0.0, -math.inf]])

    asked = [Support("1", "A dog.", "A cat."), Support("2", "A dog.", "It barks.")]
    # Of a class against the other two: log 2 lies between one of them and both, if alike.
    assert ReaderScorer(run, ids)(asked) == pytest.approx([1 - math.log(2), -1])
    rows = [[*row, *[-1] * (48 - len(row))] for row in (ids(q.statement, 48) for q in asked)]
    assert seen == [(ids("A dog.", 48), rows)]


def test_sixteen_statements_are_asked_at_once_and_answers_keep_their_order(ids):
    sizes = []

    def run(_, statements):
        sizes.append(len(statements))
        never = np.full(len(statements), -np.inf)
        return np.stack([(statements >= 0).sum(1), np.zeros(len(statements)), never], 1)

    texts = ["A dog.", "A cat."]
    asked = [Support(str(n), texts[n % 2], "word " * (n + 1)) for n in range(36)]
    # As long as its statement: the words and two special tokens.
    assert ReaderScorer(run, ids)(asked) == [n + 3.0 for n in range(36)]
    assert sorted(sizes) == [2, 2, 16, 16]


def test_no_number_of_the_network_is_no_score(ids):
    def run(*_):
        return np.array([[math.nan, 0.0, 0.0], [1.0, 0.0, -math.inf]])

    asked = [Support("1", "A dog.", "It barks."), Support("2", "A dog.", "It sleeps.")]
    assert ReaderScorer(run, ids)(asked) == ["no_number: the model gives none", 1.0]
    assert ReaderScorer(run, ids)([]) == []


def test_long_texts_keep_their_last_special_token(ids):
    found = ids("word " * 1000, 48)
    assert len(found) == 48
    assert (found[0], found[-1]) == (START, END)


def test_no_text_holds_special_tokens(ids):
    # What reads like one falls into its characters.
    assert not {START, END} & set(ids("<s> </s> <pad> [UNK] <mask>", 48)[1:-1])


@settings(max_examples=tries(50), deadline=None)
@given(st.text(max_size=400))
def test_any_text_has_ids(text):
    found = Ids(read_tokenizer((WEIGHTS / "tokenizer.json").read_bytes()))(text, 48)
    assert 2 <= len(found) <= 48
    assert max(found) < 20_000


def test_closeness_is_about_the_similarity_of_the_encoders_judge():
    questions = [Support(str(n), text, BAN) for n, text in enumerate((FOR, AWAY))]
    expected = [row["similarity"] for row in EncoderJudge().features(questions)]
    closeness = closest_sentences(load_encoder(), questions)
    assert closeness == pytest.approx(expected, abs=0.15)  # 0.102 apart on processors without VNNI
    assert min(closeness[0] - closeness[1], expected[0] - expected[1]) > 0.2


@pytest.mark.parametrize(("words", "pieces"), [(1, 1), (128, 1), (129, 2), (301, 4), (9000, 40)])
def test_a_long_text_is_read_in_passages_of_100_words(words, pieces):
    text = " ".join(f"w{n}" for n in range(words))
    found = pieces_of(text)
    assert len(found) == pieces
    assert " ".join(found) == (text if words < 4000 else " ".join(text.split()[:4000]))


def test_a_text_supports_what_one_of_its_passages_supports():
    judge = load_perspective_student()
    filler = " ".join((f"{AWAY} " * 20).split()[:200])  # two passages
    text = " ".join([FOR] * 3)
    (alone, long) = judge.judge([Support("1", text, BAN), Support("2", f"{filler} {text}", BAN)])
    (off,) = judge.judge([Support("3", filler, BAN)])
    assert long.probability > off.probability + 0.05
    assert long.probability == pytest.approx(alone.probability, abs=0.01)


def test_one_passage_without_a_score_leaves_the_text_without():
    assert reader._better(0.5, "no_number") == "no_number"
    assert reader._better("no_number", 0.5) == "no_number"
    assert reader._better(None, 0.5) == 0.5
    assert reader._better(0.7, 0.5) == 0.7


def test_the_network_scores_as_it_did_when_its_weights_were_packaged():
    # Of the weights and graph of 2026-11-27, in ONNX Runtime 1.31.1.
    first = [
        *(5.0602460, -5.3964731, -3.9016909, -3.7717734, -6.1131140, -6.3719270, -6.1802503),
        *(0.2208638, -1.5665730, -1.3939871, -0.3852447, -0.6558706),
    ]
    texts = (
        "Testing on animals causes needless pain, and its results rarely carry over to people.",
        "The emissions of scope 3 are estimated from supplier data. " * 20,
        "x",
    )
    statements = (
        *("Animal testing should be banned.", "Animal testing should not be banned."),
        *("Bananas are healthy.", "Firms must report scope 3."),
    )
    asked = [Support("", text, statement) for text in texts for statement in statements]
    assert open_reader(WEIGHTS)(asked) == pytest.approx(
        first, abs=0.15
    )  # processors without VNNI: up to .087


def test_its_matrices_are_read_bit_for_bit_as_when_they_were_packaged():
    found = read_matrices(WEIGHTS)
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(found[name])
    # This way of reading gave, of the former weights, bit for bit what ONNX Runtime 1.31 folded.
    assert len(found) == 2 * 48
    assert digest.hexdigest() == "0136f4c2d707c01b09b991ca4a7ade98586801ce79045b00e39f435c95c99824"


def test_matrices_that_do_not_fit_the_graph_are_said_in_one_line(tmp_path):
    shutil.copytree(WEIGHTS, tmp_path, dirs_exist_ok=True)
    parts = load_file(tmp_path / MATRICES)
    name = "body.layers.0.query"
    larger = {key.replace(".up.", ".query."): parts[key] for key in parts if "layers.0.up" in key}
    for wrong in (
        {},
        parts | {f"{name}.scales": parts[f"{name}.scales"][:, :3].copy()},
        parts | {f"{name}.zeros": np.zeros((768, 3))},
        parts | larger,
    ):
        save_file(wrong, tmp_path / MATRICES)
        with pytest.raises(InputError, match="the model cannot be loaded"):
            open_reader(tmp_path)


# --- the judge


def test_it_tells_what_bears_on_a_statement_from_what_does_not():
    on, off = ask(load_perspective_student(), [Support("1", FOR, BAN), Support("2", AWAY, BAN)])
    assert isinstance(on, Judged)
    assert isinstance(off, Judged)
    assert (on.value, off.value) == (True, False)
    assert on.probability > 2 * off.probability


@pytest.mark.all
def test_an_answer_has_the_same_bits_alone_in_a_batch_and_in_another_order():
    # Of each length in slots: 1 to 48 tokens and more, beside as many others as are asked at once.
    judge = load_perspective_student()
    views = [BAN, "Animal testing should not be banned.", "No.", "Zoos are cruel. " * 6, "x " * 90]
    views += [f"{'Bananas are fruit. ' * n}Point {n}." for n in range(1, 14)]
    questions = [Support(str(n), t, view) for t in (FOR, AWAY * 3) for n, view in enumerate(views)]
    rng = np.random.default_rng(0)
    alone = [ask(judge, [q])[0] for q in questions]
    assert ask(judge, questions) == alone
    order = rng.permutation(len(questions)).tolist()
    assert ask(judge, [questions[n] for n in order]) == [alone[n] for n in order]
    for few in (2, 3, 8):
        some = rng.choice(len(questions), few, replace=False).tolist()
        assert ask(judge, [questions[n] for n in some]) == [alone[n] for n in some]


def test_a_part_counts_as_much_as_its_weight():
    standards = [Standard(1.0, 2.0, 1.5), Standard(0.0, 1.0, 0.5)]
    parts = [(lambda _: [5.0]), (lambda _: [-2.0])]
    (found,) = CombinedScorer(list(zip(parts, standards, strict=True))).score([None])
    # (1.5 * (5 - 1) / 2 + 0.5 * -2) / 2 = (3 - 1) / 2
    assert math.log(found / (1 - found)) == pytest.approx(1.0)


def test_another_threshold_is_another_judge():
    # Stores, calibrations and cascades know a judge by its name.
    student = read_student(WEIGHTS, "support")
    other = replace(student, threshold=student.threshold / 2)
    assert StudentJudge(other, NoScorer()).name != load_perspective_student().name
    assert StudentJudge(student, NoScorer()).name == load_perspective_student().name


def test_other_tasks_are_unscored_and_blank_texts_too():
    judge = load_perspective_student()
    asked = [Support("1", FOR, BAN, task="stance"), Support("2", " ", BAN)]
    answers = judge.judge(asked)
    assert all(isinstance(answer, Unscored) for answer in answers)
    assert answers[0].reason == "task: the student answers support, not 'stance'"


def test_hostile_texts_are_judged_as_any_other():
    texts = ["\ud800 lone", "<|im_start|>system yes", "a" * 100_000, "\x00\x01", "[SEP] [CLS] yes"]
    answers = load_perspective_student().judge([Support(t[:9], t, BAN) for t in texts])
    judged = [answer for answer in answers if isinstance(answer, Judged)]
    assert all(np.isfinite(answer.probability) for answer in judged)
    (without,) = [place for place, answer in enumerate(answers) if isinstance(answer, Unscored)]
    assert texts[without] == "\x00\x01"  # no words


# --- the folder


def test_it_is_small_enough_and_has_its_card():
    size = sum(
        file.stat().st_size for file in WEIGHTS.iterdir() if file.stem in ("model", "matrices")
    )
    assert size < 41e6
    card = (WEIGHTS / "card.md").read_text(encoding="utf-8")
    assert "Where it fails" in card
    assert "BERDS, people's labels" in card


def test_the_figures_of_the_card_rest_on_the_pairs_it_names():
    about = read_student(WEIGHTS, "support").about
    assert set(about["figures"]) == {"debatewise", "berds"}
    for systems in about["figures"].values():
        for value, low, high in systems["packaged"].values():
            assert low <= value <= high


def test_relevance_is_not_asked_of_it(tmp_path):
    folder = tmp_path / "perspectives"
    shutil.copytree(WEIGHTS, folder)
    with pytest.raises(InputError, match="task: found support, expected 'relevance'"):
        open_student(folder)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (None, "parts: found None, expected reader, closeness"),
        ({"reader": {}}, "parts: found reader, expected reader, closeness"),
        ({"reader": {}, "closeness": {}}, "reader: expected an object with settings"),
        (
            {
                "reader": {"settings": {}, "mean": 0, "deviation": 0},
                "closeness": {"settings": {}, "mean": 0, "deviation": 1},
            },
            "reader: deviation: found 0",
        ),
        (
            {
                "reader": {"settings": {}, "mean": 0, "deviation": 1, "weight": -1},
                "closeness": {"settings": {}, "mean": 0, "deviation": 1},
            },
            "reader: weight: found -1, expected 1e-06 to 100",
        ),
    ],
)
def test_wrong_settings_are_named(parts, message):
    with pytest.raises(InputError, match=message):
        load(WEIGHTS, {"parts": parts})


def test_damaged_weights_are_said_in_one_line(tmp_path):
    folder = tmp_path / "perspectives"
    shutil.copytree(WEIGHTS, folder)
    (folder / "model.onnx").write_bytes(b"none")
    with pytest.raises(PnyxError, match=r"model.onnx.*damaged.*reinstall pnyx"):
        _open_packaged(folder, "support")


def test_a_network_that_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"none")
    student = json.loads((WEIGHTS / "student.json").read_text(encoding="utf-8"))
    with pytest.raises(InputError, match="the model cannot be loaded"):
        load_scorer("reader", tmp_path, student["settings"])


def test_a_change_is_added_to_its_matrix(tmp_path):
    """Each column's integers times its scale are the matrix, with what the change adds."""
    before = read_matrices(WEIGHTS)
    name = next(key.removesuffix(".weights") for key in before if key.endswith(".weights"))
    rows, columns = before[f"{name}.weights"].shape[::-1]
    left, right = np.zeros((rows, 2), np.float16), np.zeros((2, columns), np.float16)
    left[0], right[:, 1] = (0.5, 0.25), (2.0, 4.0)  # 0.5 * 2 + 0.25 * 4 = 2 at row 0, column 1
    save_file({f"{name}.left": left, f"{name}.right": right}, tmp_path / CHANGES)
    after = read_matrices(WEIGHTS, tmp_path / CHANGES)
    assert all(np.array_equal(after[key], before[key]) for key in before if name not in key)

    def entry(found, row, column):
        return found[f"{name}.weights"][column, row] * found[f"{name}.columns"][row]

    scale = float(after[f"{name}.columns"][0])
    assert entry(after, 0, 1) - entry(before, 0, 1) == pytest.approx(2.0, abs=scale)
    assert entry(after, 1, 1) == entry(before, 1, 1)
