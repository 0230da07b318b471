"""A model of argument quality in a folder, small enough that its figures are worked out here."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.search.quality_models import (
    MANIFEST,
    WEIGHTS,
    WORDS,
    PaperModel,
    read_quality_model,
    sha256,
)

save_file = pytest.importorskip("safetensors.numpy").save_file

# Of a text with both words, the lengths of tf-idf are 3 and 4, so that its row is (0.6, 0.8).
ARRAYS = {"idf": [3.0, 4.0], "weights": [0.5, -0.25]}
MACHINE = {
    "machine_starts": np.array([0, 1, 2], dtype=np.int64),
    "machine_words": np.array([0, 1], dtype=np.int64),
    "machine_values": np.array([1.0, 1.0]),
    "machine_weights": np.array([1.0, -1.0]),
}


def model(
    folder: Path,
    words: Any = ("cat", "dog"),
    arrays: dict[str, Any] | None = None,
    machine: dict[str, Any] | None = None,
    **changes: Any,
) -> PaperModel:
    """Write a model in a folder, and read it."""
    folder.mkdir(exist_ok=True)
    values = {name: np.array(row) for name, row in ARRAYS.items()} | (MACHINE if machine else {})
    values |= {name: np.array(row) for name, row in (arrays or {}).items()}
    save_file(values, folder / WEIGHTS)
    (folder / WORDS).write_text(json.dumps({"words": words}))
    settings: dict[str, Any] = {"intercept": 0.1}
    settings |= {"machine": machine} if machine else {}
    row = {
        "format": "pnyx-quality", "format_version": 1, "kind": "paper", "name": "small",
        "neutral": 0.5, "settings": settings,
        "files": {name: sha256(folder / name) for name in (WEIGHTS, WORDS)},
    }  # fmt: skip
    (folder / MANIFEST).write_text(json.dumps(row | changes))
    read = read_quality_model(folder)
    assert isinstance(read, PaperModel)
    return read


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Cat, dog.", 0.6 * 0.5 - 0.8 * 0.25 + 0.1),
        ("cat cat dog", (6 * 0.5 - 4 * 0.25) / math.sqrt(52) + 0.1),
        ("A CAT", 0.6),
        ("dog", 0.0),  # -0.15, of which there is none
        ("horse", None),
        ("c d", None),  # a word has two letters
        ("x" * 19_996 + " cat", 0.6),
        ("x" * 19_997 + " cat", None),  # 20,000 characters are read
    ],
)
def test_a_text_is_scored_by_the_words_in_it(text, score, tmp_path):
    small = model(tmp_path / "m")
    assert small.score(text) == (None if score is None else pytest.approx(score))
    assert small.accepts(text)
    assert small.predict([text]).tolist() == [pytest.approx(0.5 if score is None else score)]


def test_a_score_is_at_most_1(tmp_path):
    assert model(tmp_path / "m", arrays={"weights": [5.0, 0.0]}).score("cat") == 1.0


@pytest.mark.parametrize(
    ("intercept", "accepted"),
    [(0.0, ["cat"]), (1.0, ["cat", "dog", "cat dog"]), (-1.0, []), (0.05, ["cat"])],
)
def test_a_machine_decides_which_texts_are_arguments(intercept, accepted, tmp_path):
    """With gamma 1, "cat" has the kernel 1 with the first vector and exp(-2) with the second.

    "cat dog" is (0.6, 0.8): exp(-0.8) - exp(-0.4) = -0.22.
    """
    small = model(tmp_path / "m", machine={"gamma": 1.0, "intercept": intercept})
    texts = ["cat", "dog", "cat dog"]
    assert [text for text in texts if small.accepts(text)] == accepted
    scores = [small.score(text) for text in texts]
    assert [bool(score) for score in scores] == [
        text in accepted and text != "dog" for text in texts
    ]
    assert small.score("horse") is None


def test_a_text_as_near_to_both_vectors_is_not_an_argument(tmp_path):
    small = model(tmp_path / "m", machine={"gamma": 1.0, "intercept": 0.0})
    assert not small.accepts("cat " * 4 + "dog " * 3)  # 4 x 3 and 3 x 4
    assert small.accepts("cat " * 5 + "dog " * 3)


def test_the_name_of_a_model_has_a_digest_of_what_decides(tmp_path):
    names = [
        model(tmp_path / "a").name,
        model(tmp_path / "b", neutral=0.25).name,
        model(tmp_path / "c", arrays={"weights": [0.5, 0.25]}).name,
        model(tmp_path / "d", remark="none").name,
    ]
    assert len(set(names)) == 3
    assert names[0] == names[3]
    assert all(name.startswith("small@") and len(name) == len("small@") + 8 for name in names)


def test_a_model_has_at_most_262144_words(tmp_path):
    words = [f"w{n:06}" for n in range(262_145)]
    with pytest.raises(InputError, match="expected up to 262144 words"):
        model(tmp_path / "m", words)
    with pytest.raises(InputError, match=r"idf: found float64 \(2,\), expected shape \(262144,\)"):
        model(tmp_path / "m", words[:-1])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"words": ("dog", "cat")}, "in order and each once"),
        ({"words": ("cat", "cat")}, "in order and each once"),
        ({"words": ("cat", 1)}, "expected words, a list of strings"),
        ({"words": "cat"}, "expected words, a list of strings"),
        ({"arrays": {"idf": [3.0, 0.0]}}, "idf: expected numbers above 0"),
        ({"arrays": {"weights": [1.0]}}, r"weights: found float64 \(1,\), expected shape \(2,\)"),
        ({"arrays": {"weights": [1, 2]}}, r"weights: found int64 \(2,\), expected shape \(2,\)"),
        ({"arrays": {"weights": [1.0, math.inf]}}, "expected finite numbers"),
        ({"format_version": 2}, "found pnyx-quality 2, this Pnyx reads pnyx-quality 1"),
        ({"kind": "pickle"}, "kind: found pickle, expected one of packaged, paper"),
        ({"kind": 7}, "kind: found 7, expected one of packaged, paper"),
        ({"kind": None}, "kind: found None, expected one of packaged, paper"),
        ({"name": "n" * 62}, "name: found"),
        ({"name": ".n"}, "name: found"),
        ({"neutral": 1.01}, "neutral: found 1.01, expected 0 to 1"),
        ({"neutral": -0.01}, "neutral: found -0.01, expected 0 to 1"),
        ({"files": {WEIGHTS: "0"}}, "files: found"),
        ({"files": {WEIGHTS: "0", WORDS: "0"}}, "is damaged"),
        ({"settings": []}, "settings: found"),
        ({"settings": {"intercept": "1"}}, "settings.intercept"),
        ({"machine": {"gamma": 0.0, "intercept": 0.0}}, "gamma: found 0, expected more than 0"),
    ],
)
def test_a_folder_that_cannot_be_right_is_refused(changes, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        model(tmp_path / "m", **changes)


@pytest.mark.parametrize("changes", [{"neutral": 0.0}, {"neutral": 1.0}, {"name": "n" * 61}])
def test_the_ends_of_a_range_are_allowed(changes, tmp_path):
    model(tmp_path / "m", **changes)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("machine_starts", [1, 1, 2]),
        ("machine_starts", [0, 2, 1]),
        ("machine_words", [0, 2]),
        ("machine_words", [-1, 0]),
        ("machine_values", [1.0]),
        ("machine_weights", [1.0]),
    ],
)
def test_rows_of_a_machine_must_fit(name, values, tmp_path):
    with pytest.raises(InputError, match="machine"):
        model(tmp_path / "m", arrays={name: values}, machine={"gamma": 1.0, "intercept": 0.0})


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no quality\.json"):
        read_quality_model(tmp_path)
    model(tmp_path / "m")
    (tmp_path / "m" / WORDS).unlink()
    with pytest.raises(InputError, match=r"words\.json: is missing"):
        read_quality_model(tmp_path / "m")
