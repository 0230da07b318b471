"""The packaged encoder, run for real."""

import json
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError, PnyxError
from pnyx.models.embed.encoder import Encoder, load_encoder
from pnyx.models.http import flow
from tries import tries

FOLDER = resources.files("pnyx.models") / "weights" / "minilm"


@pytest.fixture(scope="module")
def encoder():
    return load_encoder()


# Cosines of the fp32 original; int8 may move one by about .01 and a processor by less.
GOLDEN = [
    ("Nuclear power is safe.", "Nuclear power is not safe.", 0.924),
    ("Should social media be regulated?", "Social media needs rules set by law.", 0.653),
    ("Should social media be regulated?", "The cat sat on the mat.", -0.044),
    ("Abortion should be legal", "Women have a right to choose", 0.417),
]


@pytest.mark.parametrize(("a", "b", "cosine"), GOLDEN)
def test_cosines_are_those_of_the_original_model(encoder, a, b, cosine):
    left, right = encoder.encode([a, b])
    assert float(left @ right) == pytest.approx(cosine, abs=0.03)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(encoder):
    texts = ["b", "a", "", "b", "x " * 5000]
    rows = encoder.encode(texts)
    assert rows.shape == (5, encoder.dimensions) == (5, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert (rows[0] == rows[3]).all()
    assert not (rows[0] == rows[1]).all()
    assert encoder.encode([]).shape == (0, 384)


@settings(max_examples=tries(30), deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_a_text_has_the_same_bits_alone_and_in_a_batch(texts):
    rows = load_encoder().encode([*texts, "a long companion " * 40])
    for text, row in zip(texts, rows, strict=False):
        assert (load_encoder().encode([text])[0] == row).all()


def test_the_number_of_cores_changes_no_bit(encoder, monkeypatch):
    texts = [f"Claim number {i} about taxes and schools." for i in range(12)]
    monkeypatch.setattr(flow, "cores", lambda: 1)
    alone = encoder.encode(texts)
    monkeypatch.setattr(flow, "cores", lambda: 5)
    assert (encoder.encode(texts) == alone).all()


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "\0" * 1000, "\ud800 lone", "🙂" * 50_000, "?!.…" * 30_000, "א ב" * 9000],
)
def test_hostile_texts_are_embedded_like_any_other(encoder, text):
    row = encoder.encode([text])[0]
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_only_the_first_256_tokens_count(encoder):
    start = "word " * 300
    assert (encoder.encode([start])[0] == encoder.encode([start + "else " * 50])[0]).all()


def test_it_is_loaded_once_and_an_unknown_name_is_refused(encoder):
    assert load_encoder() is encoder
    assert encoder.name == "minilm-int8"
    assert "Apache-2.0" in encoder.card
    with pytest.raises(InputError, match="expected minilm-int8"):
        load_encoder("bert-large")


def _copy(folder):
    for name in ("manifest.json", "card.md", "tokenizer.json", "model.onnx"):
        (folder / name).write_bytes(FOLDER.joinpath(name).read_bytes())


def test_damaged_or_missing_weights_are_reported_in_one_line(tmp_path):
    _copy(tmp_path)
    with (tmp_path / "model.onnx").open("r+b") as stream:
        stream.seek(1_000_000)
        stream.write(b"\xff\x00\xff")
    with pytest.raises(PnyxError, match=r"model\.onnx is damaged: reinstall"):
        Encoder("minilm-int8", tmp_path)
    (tmp_path / "model.onnx").unlink()
    with pytest.raises(PnyxError, match=r"model\.onnx cannot be read: reinstall"):
        Encoder("minilm-int8", tmp_path)


def test_the_licence_travels_with_the_weights():
    manifest = json.loads(FOLDER.joinpath("manifest.json").read_text())
    assert manifest["files"]["model.onnx"]["bytes"] < 24_000_000
    assert "Apache License" in FOLDER.joinpath("LICENSE").read_text()
    assert "sentence-transformers" in FOLDER.joinpath("NOTICE").read_text()
