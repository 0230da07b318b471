"""A quality model of one's own: `lab/training/own_quality.py` trains it, an index uses it."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from command import run, write_rows
from pnyx.core.errors import InputError
from pnyx.formats.rated_texts import read_rated
from pnyx.search.document_quality import FEATURE, HOW
from pnyx.search.index import Index
from pnyx.search.quality_models import read_quality_model
from quality_tool import tool

pytestmark = pytest.mark.usefixtures("own_place")

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))
WEBIS = DATA / "webis_argquality20" / "webis-argquality20-arguments.csv"
IBM = DATA / "ibm_argq_rank_30k" / "arg_quality_rank_30k.csv.gz"

METHODS = ("packaged", "paper")
REASONS = (
    "because surveys of teachers report fewer conflicts",
    "since the costs fall on families who earn least",
    "as studies of cities found that delays went down",
    "for evidence of three countries shows the opposite",
)
CHATTER = ("lol whatever", "thanks for this debate", "vote for me please", "i dont care haha")


def call(capsys, *arguments) -> tuple[int, str, str]:
    given = [str(argument) for argument in arguments]
    trains = given[:2] == ["quality", "train"]
    status = tool("own_quality").main(given[2:]) if trains else run(*given)
    said = capsys.readouterr()
    return status, said.out, said.err


def rated(seed: int = 0, topics: int = 4, each: int = 14) -> list[dict[str, object]]:
    """Arguments of one to four reasons, each worth a quarter, and talk that is none."""
    rng, rows = random.Random(seed), []
    for topic in range(topics):
        for number in range(each):
            chat = number % 5 == 4
            reasons = rng.sample(CHATTER if chat else REASONS, 1 + number % 4)
            rows.append(
                {
                    "text": f"Topic {'abcdefgh'[topic]} matters, {', and '.join(reasons)}.",
                    "quality": -4.0 if chat else round(len(reasons) + rng.gauss(0, 0.2), 3),
                    "is_argument": not chat,
                    "topic": f"t{topic}",
                }
            )
    return rows


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    return Path(write_rows(path, rows))


def table(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """A model of each method, trained on the same texts."""
    folder = tmp_path_factory.mktemp("models")
    path = jsonl(folder / "rated.jsonl", rated())
    for method in METHODS:
        tool("own_quality").make_quality_model(
            read_rated(str(path)), folder / method, method, folds=2
        )
    return {method: folder / method for method in METHODS}


@pytest.fixture
def texts(tmp_path) -> Path:
    return jsonl(tmp_path / "rated.jsonl", rated())


def test_the_command_that_trained_says_what_does(capsys):
    status, error = run("quality", "train", "rated.csv", "--out", "m"), capsys.readouterr().err
    assert (status, error.count("\n")) == (2, 1)
    assert "lab/training/own_quality.py" in error


@pytest.mark.parametrize("method", METHODS)
def test_a_model_is_trained_measured_and_used_by_an_index(method, texts, tmp_path, capsys):
    out = tmp_path / "model"
    train = ("quality", "train", texts, "--method", method, "--out", out, "--folds", "2")
    status, said, error = call(capsys, *train)
    assert (status, error) == (0, "")
    assert "56 texts of 4 topics, 48 of them arguments" in said
    for shown in ("Pearson", "Spearman", "R2", "squared error", "F1", "length alone", "95 %"):
        assert shown in said
    assert sorted(path.suffix for path in out.iterdir()) in (
        [".json", ".md", ".safetensors"],
        [".json", ".json", ".md", ".safetensors"],
    )
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "length alone" in card
    assert "topics left out" in card
    model = read_quality_model(out)
    documents = [{"id": str(n), "text": row["text"]} for n, row in enumerate(rated(seed=1))]
    corpus = jsonl(tmp_path / "corpus.jsonl", [*documents, {"id": "x", "text": "!"}])
    index = ("index", corpus, "--out", tmp_path / "i", "--quality", "--quality-model", out)
    status, _, error = call(capsys, *index)
    assert status == 0
    assert "quality of 57 documents, " in error
    feature = Index.open(tmp_path / "i").feature(FEATURE, HOW)
    values = feature.array("values")
    assert feature.meta["model"] == model.name
    assert values[-1] == np.float32(model.neutral)
    np.testing.assert_array_equal(values, model.predict([*[d["text"] for d in documents], "!"]))
    truth = [row["quality"] if row["is_argument"] else 0.0 for row in rated(seed=1)]
    assert np.corrcoef(values[:-1], truth)[0, 1] > 0.6


def test_what_json_says_is_what_the_folder_keeps(texts, tmp_path, capsys):
    out = tmp_path / "m"
    status, said, _ = call(
        capsys, "quality", "train", texts, "--out", out, "--folds", "2", "--json"
    )
    assert status == 0
    row = json.loads(said)
    assert row["model"] == read_quality_model(out).name
    assert row["counts"] == {"texts": 56, "arguments": 48, "topics": 4}
    kept = json.loads((out / "quality.json").read_text(encoding="utf-8"))
    assert row["figures"] == kept["figures"]
    for system in ("packaged", "length alone"):
        for measure in ("pearson", "spearman", "r2", "mse"):
            one = row["figures"][system][measure]
            assert one["low"] <= one["value"] <= one["high"]
            assert one["scored"] == one["asked"] == 56


@pytest.mark.all
@pytest.mark.parametrize("method", METHODS)
def test_the_same_texts_give_the_same_model_and_a_text_the_same_bits(
    method, models, texts, tmp_path, capsys
):
    out = tmp_path / models[method].name  # the same name, by default the folder's
    train = ("quality", "train", texts, "--method", method, "--out", out, "--folds", "2")
    assert call(capsys, *train)[0] == 0
    first, again = (folder / "weights.safetensors" for folder in (models[method], out))
    assert first.read_bytes() == again.read_bytes()
    assert read_quality_model(out).name == read_quality_model(models[method]).name
    model = read_quality_model(out)
    asked = [str(row["text"]) for row in rated(seed=2)]
    together = model.predict(asked)
    alone = [model.predict([text])[0] for text in asked]
    assert together.tobytes() == np.array(alone, dtype=np.float32).tobytes()


def test_the_papers_model_says_what_scikit_learn_says(models):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import SVC, LinearSVR

    rows, asked = rated(), [str(row["text"]) for row in rated(seed=3)]
    words = TfidfVectorizer(stop_words="english", max_features=2**18)
    known = words.fit_transform([row["text"] for row in rows])
    argument = np.array([row["is_argument"] for row in rows])
    quality = np.array([row["quality"] for row in rows])[argument]
    target = (quality - quality.min()) / (quality.max() - quality.min())
    svr = LinearSVR(random_state=0, max_iter=20_000).fit(known[argument], target)
    expected = np.clip(svr.predict(words.transform(asked)), 0, 1)
    expected[~SVC().fit(known, argument).predict(words.transform(asked))] = 0.0
    assert 0 < (expected == 0).sum() < len(expected)
    np.testing.assert_allclose(
        read_quality_model(models["paper"]).predict(asked), expected, atol=1e-6
    )


@pytest.mark.all
def test_a_table_with_other_names_and_without_flags_and_topics(tmp_path, capsys):
    rows = [{"body": r["text"], "stars": r["quality"]} for r in rated() if r["is_argument"]]
    path = table(tmp_path / "rated.csv", rows)
    names = ("--column", "text=body", "--column", "quality=stars")
    train = ("quality", "train", path, "--out", tmp_path / "m", "--folds", "2", *names)
    status, said, _ = call(capsys, *train)
    assert status == 0
    assert "48 texts, all taken for arguments" in said
    status, _, error = call(capsys, *train)
    assert status == 2
    assert f"{tmp_path / 'm'}: exists already" in error
    assert call(capsys, *train, "--force")[0] == 0


BAD = {
    "no quality": ([{"text": "One two."}], ":1: no quality"),
    "no number": ([{"text": "One two.", "quality": "good"}], ":1: quality: found good"),
    "not finite": ([{"text": "One.", "quality": "nan"}], ":1: quality: found nan"),
    "no text": ([{"text": " ", "quality": 1}], ":1: text is empty"),
    "no word": ([{"text": "12 !", "quality": 1}], ":1: text: found '12 !', expected a word"),
    "flag": (
        [{"text": "One.", "quality": 1, "is_argument": "maybe"}],
        ":1: is_argument: found maybe, expected true or false",
    ),
    "few": (rated()[:9], "9 rated texts, expected at least 20"),
    "alike": ([{**row, "quality": 1} for row in rated()], "all arguments have the quality 1"),
    "none": ([{**row, "is_argument": False} for row in rated()], "no text is an argument"),
    "empty": ([], "holds no rated texts"),
}


@pytest.mark.parametrize(("rows", "problem"), BAD.values(), ids=BAD)
def test_what_cannot_be_learned_from_is_one_line(rows, problem, tmp_path, capsys):
    path = jsonl(tmp_path / "rated.jsonl", rows)
    status, said, error = call(capsys, "quality", "train", path, "--out", tmp_path / "m")
    assert (status, said) == (2, "")
    assert problem in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_model_folder_is_checked_before_anything_is_indexed(models, tmp_path, capsys):
    out = tmp_path / "m"
    shutil.copytree(models["paper"], out)
    corpus = jsonl(tmp_path / "c.jsonl", [{"id": "1", "text": "One."}])
    index = ("index", corpus, "--out", tmp_path / "i", "--quality-model", out)
    status, _, error = call(capsys, *index, "--words-only")
    assert status == 2
    assert "--quality-model requires --quality" in error
    weights = load_file(out / "weights.safetensors")
    save_file({**weights, "weights": weights["weights"] * 2}, out / "weights.safetensors")
    status, _, error = call(capsys, *index)
    assert status == 2
    assert "weights.safetensors: is damaged" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "i").exists()


def tampered(folder: Path, **changes: object) -> None:
    path = folder / "quality.json"
    row = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(row | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"format_version": 9}, "this Pnyx reads pnyx-quality 1"),
        ({"kind": "pickle"}, "kind: found pickle, expected one of packaged, paper"),
        ({"files": {"../../etc/passwd": "00"}}, "files: found"),
        ({"name": "a b\n"}, "name: found"),
        ({"settings": {}}, "settings"),
        ({"neutral": 7}, "neutral: found 7, expected 0 to 1"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_a_folder_that_cannot_be_a_model_is_refused(method, changes, problem, models, tmp_path):
    out = tmp_path / "m"
    shutil.copytree(models[method], out)
    tampered(out, **changes)
    with pytest.raises(InputError, match=problem.replace("?", r"\?")):
        read_quality_model(out)


def test_new_documents_need_the_same_model(models, tmp_path, capsys):
    out = models["packaged"]
    first = jsonl(tmp_path / "a.jsonl", [{"id": "1", "text": "One two."}])
    more = jsonl(tmp_path / "b.jsonl", [{"id": "2", "text": "Three four."}])
    model = ("--quality", "--quality-model", out)
    own = read_quality_model(out).name
    assert call(capsys, "index", first, "--out", tmp_path / "i", *model[1:])[0] == 0
    status, _, error = call(capsys, "index", more, "--add", tmp_path / "i")
    assert (status, error.count("\n")) == (2, 1)
    assert f"its quality is by {own}: name it by --quality-model FOLDER" in error
    status, _, error = call(capsys, "index", more, "--add", tmp_path / "i", "--words-only")
    assert status == 0
    assert f"--quality --vectors --quality-model FOLDER (that of {own})" in error
    status, _, error = call(capsys, "index", "--update", tmp_path / "i", *model)
    assert "(1 new)" in error


# --- people's data -------------------------------------------------------------------------------

GOLDEN = {
    1610: {"f1": 0.8829, "r2": 0.1973, "mse": 0.0166},
    959: {"f1": 0.9024, "r2": 0.0574, "mse": 0.0236},
}
"""Texts of Webis-ArgQuality-20 -> the paper's two steps in its own 10 folds: all of the set as
recomputed from the authors' notebook, and the half of it that is at hand."""


@pytest.mark.all
@pytest.mark.skipif(not WEBIS.exists(), reason="no Webis-ArgQuality-20 in $PNYX_DATA")
def test_webis_as_published_gives_the_papers_figures(tmp_path, capsys):
    train = (
        "quality",
        "train",
        WEBIS,
        "--method",
        "paper",
        "--folds",
        "2",
        "--out",
        tmp_path / "m",
        "--json",
    )
    status, said, error = call(capsys, *train)
    assert (status, error) == (0, "")
    row = json.loads(said)
    expected = GOLDEN[row["counts"]["texts"]]
    assert row["as_in_the_paper"] == pytest.approx(expected, abs=1.5e-4)
    found, length = row["figures"]["paper"], row["figures"]["length alone"]
    assert found["pearson"]["value"] < length["pearson"]["value"]


@pytest.mark.all
@pytest.mark.skipif(not IBM.exists(), reason="no IBM-ArgQ-Rank-30kArgs in $PNYX_DATA")
def test_ibms_file_is_read_as_it_is():
    rows = list(read_rated(str(IBM)))
    assert len(rows) in (30_497, 24_182)
    assert all(0 <= row.quality <= 1 and row.is_argument and row.topic for row in rows)
