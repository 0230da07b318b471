"""The student without a network: what it sees of a pair, what it learns, what it refuses."""

from __future__ import annotations

import hashlib
import json
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.base import ask
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students import lexical as training
from pnyx.judging.students.lexical import (
    FEATURES,
    WEIGHTS,
    WORDS,
    LexicalTrainer,
    Lexicon,
    learn_lexicon,
)
from pnyx.judging.students.student import open_student
from pnyx.relevance.distillation import Distillation, distil
from pnyx.relevance.labelled_pairs import LabelledPair
from tries import tries

PASSAGES = (
    "Rivers flood the valley. Farmers move their cattle.",
    "Rivers carry sediment. The valley floor rises.",
    "Cattle prices fell.",
)


def seen(lexicon: Lexicon, question: str, document: str, definition: str = "") -> dict[str, float]:
    row = lexicon.features([ask_relevance("1", question, document, definition=definition)])[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


# --- words and features


def test_a_words_weight_is_its_inverse_document_frequency_and_each_passage_counts_once():
    lexicon = learn_lexicon([*PASSAGES, PASSAGES[0]])
    assert set(lexicon.weights) == {"river", "vallei", "cattl"}
    assert lexicon.weights["river"] == pytest.approx(math.log(4 / 2.5))
    assert lexicon.unseen == pytest.approx(math.log(4 / 0.5))
    assert list(lexicon.weights) == sorted(lexicon.weights)
    everywhere = learn_lexicon([f"cattle {n}" for n in range(50)])
    assert everywhere.weights == {"cattl": pytest.approx(math.log(51 / 50.5))}


def test_the_table_keeps_the_most_frequent_words(monkeypatch):
    monkeypatch.setattr(training, "MAX_WORDS", 2)
    passages = [f"otters {'swim' if n < 3 else 'eat'} {n}" for n in range(5)]
    assert set(learn_lexicon(passages).weights) == {"otter", "swim"}


def test_a_pair_by_hand():
    """Weights: flood 1, rivers 2, valley 3; any other word 4."""
    lexicon = Lexicon({"flood": 1.0, "river": 2.0, "vallei": 3.0}, 4.0)
    found = seen(lexicon, "Do rivers flood?", "The valley is dry. Rivers flood it.",
                 "Valley floods. Cattle drown.")  # fmt: skip
    # The question's words are do (4), river and flood; the definition adds valley, cattle, drown.
    assert found["question held by passage"] == pytest.approx(3 / 7)
    assert found["question held by sentence, best"] == pytest.approx(3 / 7)
    assert found["definition held by passage"] == pytest.approx(6 / 18)
    assert found["part held by passage, mean"] == pytest.approx((1 + 0) / 2)
    assert found["part held by passage, best"] == 1
    assert found["part held by sentence, best"] == pytest.approx(3 / 4)
    # Passage: valley, dry, river, flood (the others are stop words).
    norms = math.sqrt(9 + 16 + 4 + 1), math.sqrt(16 + 4 + 1 + 9 + 16 + 16)
    assert found["definition like passage"] == pytest.approx(14 / math.prod(norms))
    assert found["part like sentence, best"] == pytest.approx(9 / (5 * math.sqrt(10)))
    # Phrases of the question: do river (6), river flood (3).
    assert found["question's phrases held by passage"] == pytest.approx(3 / 9)
    assert found["definition's phrases held by passage"] == pytest.approx(3 / (9 + 4 + 8))
    assert found["length of passage"] == pytest.approx(math.log1p(4) / 5)


def test_a_passage_that_repeats_all_that_is_asked_holds_all_of_it():
    text = "Valley floods are listed. Rivers flood towns."
    found = seen(learn_lexicon(PASSAGES), "Rivers flood towns.", text, "Valley floods are listed.")
    held = [value for name, value in found.items() if "held by passage" in name]
    assert held == pytest.approx([1] * len(held))
    assert found["part like sentence, best"] == pytest.approx(1)


ODD = ["river", "rivers", "FLOODING", "the", "it", "12", "Flu\u00df", "\u6cb3\u5ddd", "don't", "."]
TEXTS = st.lists(st.sampled_from(ODD), max_size=30).map(" ".join) | st.text(max_size=80)


@pytest.mark.slow
@settings(max_examples=tries(60), deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS, TEXTS, TEXTS),
        min_size=1,
        max_size=4,
    )
)
def test_features_are_shares_and_a_pair_is_seen_alone_as_among_others(texts):
    lexicon = learn_lexicon(PASSAGES)
    asked = [ask_relevance("1", q, text, definition=d) for q, text, d in texts]
    found = lexicon.features(asked)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found[:, :-1] <= 1 + 1e-9).all()
    for question, row in zip(asked, found, strict=True):
        assert (learn_lexicon(PASSAGES).features([question])[0] == row).all()


def test_huge_texts_take_neither_hours_nor_gigabytes():
    words = " ".join(f"w{n}" for n in range(60_000))
    begun = time.process_time()
    found = seen(learn_lexicon(PASSAGES), words, words, ". ".join([words[:1200]] * 300))
    assert time.process_time() - begun < 120
    assert found["question held by passage"] > 0.9


# --- training


def rule(groups=("otters", "foxes", "herons", "badgers"), each=12) -> list[LabelledPair]:
    """Where an animal lives is asked; half of the passages say it, all of them name it."""
    return [
        LabelledPair(
            id=f"{animal}/{n}",
            question=f"Where do {animal} live?",
            document=(
                f"Number {n}: these {animal} live in rivers and woods."
                if n % 2
                else f"Number {n}: {animal} weigh some {n} kilograms."
            ),
            definition="Rivers and woods that they live in.",
            group=animal,
            value=bool(n % 2),
            probability=0.9 if n % 2 else 0.2,
            judge="a rule",
        )
        for animal in groups
        for n in range(each)
    ]


@pytest.fixture
def student(tmp_path):
    found = distil(rule(), LexicalTrainer(), Distillation("words", held_out=0.5), tmp_path / "s")
    assert found.figures["auroc"].value > 0.95
    return tmp_path / "s"


def test_a_student_learns_a_rule_in_words_and_answers_by_it(student):
    judge = open_student(student)
    asked = [ask_relevance(p.id, p.question, p.document, definition=p.definition) for p in rule()]
    answers = ask(judge, asked)
    assert all(isinstance(answer, Judged) for answer in answers)
    for animal in {pair.group for pair in rule()}:
        own = [(p.value, a.probability) for p, a in zip(rule(), answers, strict=True)
               if p.group == animal]  # fmt: skip
        assert max(p for yes, p in own if not yes) < min(p for yes, p in own if yes)
    assert ask(judge, asked[::-1]) == answers[::-1]
    assert isinstance(ask(judge, [ask_relevance("1", "Where?", "?!")])[0], Unscored)
    # Words of the stop list alone, and none that it knows, are judged all the same.
    odd = ask(judge, [ask_relevance("1", "Is it?", "It is."), ask_relevance("2", "Xx?", "Yy zz.")])
    assert all(isinstance(answer, Judged) for answer in odd)


def test_the_same_pairs_give_the_same_files(student, tmp_path):
    distil(rule(), LexicalTrainer(), Distillation("words", held_out=0.5), tmp_path / "again")
    names = sorted(path.name for path in student.iterdir())
    assert names == ["card.md", "student.json", WEIGHTS, WORDS]
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (student / name).read_bytes()


def _words(change):
    return lambda folder: folder.joinpath(WORDS).write_text(
        json.dumps({"words": change(json.loads(folder.joinpath(WORDS).read_text())["words"])})
    )


def _tensors(change):
    def damage(folder):
        from safetensors.numpy import load_file, save_file

        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)

    return damage


DAMAGE = {
    "order": (_words(lambda w: w[::-1]), "in order and each once"),
    "twice": (_words(lambda w: [w[0], *w]), "in order and each once"),
    "many": (_words(lambda w: [f"{n:06}" for n in range(50_001)]), "expected up to 50000 words"),
    "one less": (_words(lambda w: w[1:]), "found shapes"),
    "no words": (_words(lambda w: {}), "a list of strings"),
    "numbers": (_words(lambda w: [1, 2]), "a list of strings"),
    "no JSON": (lambda f: f.joinpath(WORDS).write_text("["), "not valid JSON"),
    "deep": (lambda f: f.joinpath(WORDS).write_text("[" * 100_000), "not valid JSON"),
    "idf": (_tensors(lambda t: t["idf"].fill(-1)), "frequencies up to"),
    "nan": (_tensors(lambda t: t["weights"].fill(np.nan)), "expected finite weights"),
    "no idf": (_tensors(lambda t: t.pop("idf")), "cannot be read"),
    "no tensors": (lambda f: f.joinpath(WEIGHTS).write_bytes(b"no"), "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_words_or_weights_that_cannot_be_are_refused(student, damage):
    """Also where the manifest vouches for them."""
    change, said = DAMAGE[damage]
    change(student)
    row = json.loads(student.joinpath("student.json").read_text())
    for name in row["files"]:
        row["files"][name] = hashlib.sha256(student.joinpath(name).read_bytes()).hexdigest()
    student.joinpath("student.json").write_text(json.dumps(row))
    with pytest.raises(InputError, match=said):
        open_student(student)


@pytest.mark.parametrize("unseen", [None, "much", True])
def test_a_weight_of_unseen_words_that_is_none_is_refused(student, unseen):
    row = json.loads(student.joinpath("student.json").read_text())
    row["settings"]["unseen"] = unseen
    student.joinpath("student.json").write_text(json.dumps(row))
    with pytest.raises(InputError, match="unseen"):
        open_student(student)
