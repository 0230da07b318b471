"""Limits of packaged and trained students: what they read of a text, and what they refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import pnyx.models
from pnyx.core.errors import InputError
from pnyx.judging.questions import Support
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students import combined, late, lexical, regression
from pnyx.judging.students.combined import open_parts
from pnyx.judging.students.lexical import FEATURES, Lexicon
from pnyx.judging.students.reader import Ids, ReaderScorer
from pnyx.judging.students.scorers import LinearScorer, Standard, read_parts, read_tokenizer
from pnyx.judging.students.surface_quality import SURFACE, QualityModel, extract
from pnyx.models.embed.encoder import load_encoder

WEIGHTS = Path(pnyx.models.__file__).parent / "weights" / "perspectives"

# --- the quality of the surface


def surface_of(text: str) -> dict[str, float]:
    """Return the surface features of a text that are not 0."""
    features = extract(text)
    assert features is not None
    values = zip(SURFACE, features.surface.tolist(), strict=True)
    return {name: value for name, value in values if value}


def test_features_of_the_surface_by_hand():
    """13 words of 47 letters, all different, in 3 sentences; two have more than 6 letters."""
    text = "WOW, it works!! Because studies (2019) say 50% of cats nap. i agree; do you?"
    once = dict.fromkeys(
        "commas semicolons brackets shouting lower_i rate_reason rate_evidence rate_first_person "
        "rate_second_person rate_slang".split(), 1 / 13,
    )  # fmt: skip
    assert surface_of(text) == pytest.approx({
        **once,
        "log_distinct_words": math.log(14), "log_distinct_words_above_10": math.log(1.4),
        "log_words_per_sentence": math.log(1 + 13 / 3), "type_token": 1, "type_token_50": 1,
        "letters_per_word": 47 / 13, "words_over_6": 2 / 13, "numbers": 2 / 13,
        "questions": 1 / 3, "exclamations": 2 / 3, "lower_starts": 1 / 3, "repeated_marks": 1 / 3,
        "has_reference": 1, "starts_upper": 1, "ends_closed": 1,
        "has_reason": 1, "has_evidence": 1, "has_first_person": 1, "has_second_person": 1,
        "has_slang": 1,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("abcdef abcdefg abcdefghi abcdefghij", {"words_over_6": 3 / 4, "words_over_9": 1 / 4}),
        ("a " * 50 + "b", {"type_token": 2 / 51, "type_token_50": 1 / 50}),
        ("See https://a.org and www.b.org", {"links": 2 / 8, "has_link": 1}),
        ("See [12] [a (b", {"brackets": 3 / 3, "has_reference": 1}),
        ("a ,b .c d.ef", {"misplaced_marks": 3 / 5, "commas": 1 / 5}),
        ('“Über” "x', {"quotes": 2 / 2, "not_ascii": 3 / 9}),
        ("A B", {"starts_upper": 1, "shouting": 0}),  # one letter does not shout
        ("NO word", {"shouting": 1 / 2}),
        ("No words; no: end", {"semicolons": 2 / 4, "rate_negation": 2 / 4}),
    ],
)
def test_a_feature_of_the_surface_at_its_limit(text, features):
    seen = surface_of(text)
    assert {name: seen.get(name, 0.0) for name in features} == pytest.approx(features)


@pytest.mark.parametrize("knot", [10, 20, 40, 80, 160])
def test_lengths_count_from_knots_on(knot):
    """log(1 + n) exceeds log(knot) from n = knot on."""
    name = f"log_distinct_words_above_{knot}"
    words = ["".join(chr(97 + n // 26**k % 26) for k in range(3)) for n in range(knot)]
    assert surface_of(" ".join(words))[name] == pytest.approx(math.log((knot + 1) / knot))
    assert name not in surface_of(" ".join(words[:-1]))


def test_20000_characters_of_a_text_are_read_for_its_quality():
    inside, beyond = extract("a" * 19_998 + " b"), extract("a" * 19_999 + " b")
    assert inside is not None
    assert beyond is not None
    assert (inside.words, beyond.words) == (2, 1)
    assert extract("12 3.4 ...") is None


def test_the_share_of_the_head_for_short_texts():
    """It is 0 up to 4 words, 1 from 8 to 30 and 0 from 60; linear in log(1 + words) between."""
    share = QualityModel.load().short_share
    assert [share(words) for words in (4, 8, 30, 60, 61)] == [0, 1, 1, 0, 0]
    assert share(5) == pytest.approx(math.log(6 / 5) / math.log(9 / 5))
    assert share(59) == pytest.approx(math.log(61 / 60) / math.log(61 / 31))


def test_features_far_from_those_of_training_count_as_six_deviations():
    model = QualityModel.load()
    features = extract("Parks cost money.")
    assert features is not None
    wild = features._replace(surface=model.mean + model.deviation * 6.1)
    assert model.inputs(wild)[0] == pytest.approx(np.full(len(SURFACE), 6.0))
    near = features._replace(surface=model.mean - model.deviation * 5.9)
    assert model.inputs(near)[0] == pytest.approx(np.full(len(SURFACE), -5.9))
    _, words = model.inputs(features)
    assert float((words * words).sum()) == pytest.approx(1.0)


# --- shared words


def held(lexicon: Lexicon, question: str, document: str, definition: str = "") -> dict[str, float]:
    row = lexicon.features([ask_relevance("1", question, document, definition=definition)])[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


def test_the_best_three_parts_count_and_parts_of_one_word_do_not():
    """Of five parts, shares are 1, 1/2, 1/2, 0 and 0; a part of one word is none."""
    definition = "Otters swim. Otters dive. Otters sleep. Foxes bark. Herons fly. Parks."
    seen = held(Lexicon({}, 1.0), "Animals?", "Otters swim.", definition)
    assert seen["part held by sentence, best 3"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert seen["part held by sentence, best"] == 1
    assert seen["part held by sentence, mean"] == pytest.approx(2 / 5)


def test_a_thousand_words_of_a_question_and_its_definition_count():
    names = [f"{chr(97 + n // 260)}{chr(97 + n // 10 % 26)}z{n % 10}" for n in range(1001)]
    for last, share in ((1000, 1 / 1000), (1001, 0.0)):
        seen = held(Lexicon({}, 1.0), " ".join(names[:last]), names[last - 1])
        assert seen["question held by passage"] == pytest.approx(share)


def lexical_student(folder: Path, words: int) -> dict[str, Any]:
    """Write a lexical student that knows so many words; return its settings."""
    names = sorted(f"w{n}" for n in range(words))
    (folder / "words.json").write_text(json.dumps({"words": names}))
    weights = np.zeros(len(FEATURES) + 1)
    save_file({"weights": weights, "idf": np.ones(words)}, folder / "weights.safetensors")
    return {"features": 1, "unseen": 1.0}


def test_a_lexical_student_knows_at_most_50000_words(tmp_path):
    settings = lexical_student(tmp_path, 50_000)
    assert isinstance(lexical.load(tmp_path, settings), LinearScorer)
    lexical_student(tmp_path, 50_001)
    with pytest.raises(InputError, match="expected up to 50000 words"):
        lexical.load(tmp_path, settings)


def test_only_version_1_of_lexical_features_is_read(tmp_path):
    settings = lexical_student(tmp_path, 3)
    with pytest.raises(InputError, match="features"):
        lexical.load(tmp_path, {**settings, "features": 2})


# --- late interaction and the reader


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return read_tokenizer((WEIGHTS / "tokenizer.json").read_bytes())


@pytest.mark.parametrize(("words", "tokens"), [(318, [320]), (319, [320, 3])])
def test_pieces_of_a_late_student_have_up_to_320_tokens(tokenizer, words, tokens):
    pieces = late.pieces_of(tokenizer, " ".join(["a"] * words))
    assert [len(piece.ids) for piece in pieces] == tokens


@pytest.mark.parametrize(("words", "pieces"), [(2118, 7), (2119, 8), (2437, 8)])
def test_eight_pieces_of_a_text_are_read(tokenizer, words, pieces):
    """A sentence is cut after 1,200 characters, so that 600 words are pieces of 318 and 282."""
    assert len(late.pieces_of(tokenizer, " ".join(["a"] * words))) == pieces


@pytest.mark.parametrize(("length", "seen"), [(32_768, 32_768), (32_769, 32_768)])
def test_characters_of_a_text_that_students_read(length, seen):
    texts: list[str] = []

    def encode(text: str) -> Any:
        texts.append(text)
        return SimpleNamespace(ids=[0], special_tokens_mask=[1], offsets=[(0, 0)])

    text = "a" * (length - 3) + " b."
    late.pieces_of(SimpleNamespace(encode=encode), text)
    Ids(SimpleNamespace(encode=encode))(text, 48)
    assert [len(text) for text in texts] == [seen, seen]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One two three four. Five six seven eight.", 2),
        ("One two three. Five six seven eight.", 1),  # three words are joined with the next
        ("One two three four. Five.", 1),  # the last with the one before
        ("One.", 1),
        ("...", 1),
    ],
)
def test_sentences_of_fewer_than_four_words_are_joined(text, sentences):
    spans = late.sentence_spans(text)
    assert len(spans) == sentences
    assert (spans[0][0], spans[-1][1]) == (0, len(text))


def test_features_of_late_interaction_by_hand():
    """Four parts, whose closest sentences have cosines 0.9, 0.8, 0.5 and 0.1."""
    eye = np.eye(4, dtype=np.float32)
    sentences = np.diag([0.9, 0.1, 0.8, 0.5]).astype(np.float32)
    pieces = np.array([[0.3, 0.2, 0, 0], [0.1, 0.4, 0, 0]], dtype=np.float32)
    passage = late.TextVectors(pieces, sentences)
    question = late.TextVectors(eye[:1], eye[:1])
    definition = late.TextVectors(eye[1:2], eye)
    assert late.interact(passage, question, definition) == pytest.approx(
        [0.3, 0.4, 0.9, 0.1, 2.3 / 4, 0.9, 2.2 / 3], rel=1e-6
    )


def test_a_passage_has_256_tokens_and_a_statement_48(tokenizer):
    shapes = []

    def run(passage: Any, statements: Any) -> Any:
        shapes.append((len(passage), statements.shape[1], int((statements >= 0).sum())))
        return np.zeros((len(statements), 3))

    words = "dog " * 300
    ReaderScorer(run, Ids(tokenizer))([Support("1", words, words), Support("2", "A dog.", "Dogs.")])
    assert shapes[0] == (256, 48, 48)


# --- numbers of a student


@pytest.mark.parametrize(
    ("name", "inside", "beyond"),
    [
        ("mean", (-100.0, 100.0), (-100.1, 100.1)),
        ("deviation", (1e-6, 100.0), (0.9e-6, 100.1)),
        ("weight", (1e-6, 100.0), (0.9e-6, 100.1)),
    ],
)
def test_ranges_of_the_numbers_of_a_part(name, inside, beyond):
    def read(value: float) -> Standard:
        row = {"settings": {}, "mean": 0.0, "deviation": 1.0, name: value}
        return read_parts({"parts": {"p": row}}, ["p"])["p"][1]

    assert [getattr(read(value), name) for value in inside] == list(inside)
    for value in beyond:
        with pytest.raises(InputError, match=f"p: {name}: found"):
            read(value)
    assert Standard(1.0, 2.0)(4.0) == 1.5  # a part has the weight 1 by default


def test_six_strengths_are_tried_on_five_folds(monkeypatch):
    """Five folds for each strength, then all with the best, the first of equals."""
    tried = []

    def fit(x: Any, _: Any, groups: Any, strength: float) -> regression.Regression:
        tried.append((strength, len(x)))
        return regression.Regression(np.zeros(x.shape[1]), 0.0, strength)

    monkeypatch.setattr(regression, "fit_regression", fit)
    x, targets = np.ones((10, 1)), np.array([0.0, 1.0] * 5)
    fitted = regression.fit_regressions(x, targets, list("abcdefghij"))
    assert fitted.strength == 0.03
    assert tried == [(s, 8) for s in (0.03, 0.1, 0.3, 1, 3, 10) for _ in range(5)] + [(0.03, 10)]
    assert regression.fit_regressions(x[:1], targets[:1], ["a"]).strength == 1.0  # no fold


def test_the_strength_that_ranks_left_out_questions_best_is_taken(monkeypatch):
    def fit(x: Any, _: Any, groups: Any, strength: float) -> regression.Regression:
        return regression.Regression(np.array([1.0 if strength == 0.3 else -1.0]), 0.0, strength)

    monkeypatch.setattr(regression, "fit_regression", fit)
    targets = np.array([0.4999, 0.5] * 3)  # a target is yes from one half on
    fitted = regression.fit_regressions(targets[:, None] - 0.49995, targets, list("aabbcc"))
    assert fitted.strength == 0.3


def test_only_version_2_of_closeness_is_read(monkeypatch, tmp_path):
    for module in (late, lexical):
        monkeypatch.setattr(module, "load", lambda *_: None)
    settings: dict[str, Any] = {"late-interaction": {}, "lexical": {}, "closeness": {"features": 3}}
    with pytest.raises(InputError, match="closeness: "):
        open_parts(tmp_path, settings)
    encoder = load_encoder()
    monkeypatch.setattr(combined, "load_encoder", lambda _: encoder)
    settings["closeness"]["features"] = 2
    assert set(open_parts(tmp_path, settings)) == set(settings)
