from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import PnyxError
from pnyx.core.records import Argument, Document, Premise
from pnyx.judging.students.surface_quality import SURFACE, QualityModel, extract, read_model
from pnyx.search.build import add_to_index, build_index
from pnyx.search.document_quality import FEATURE, HOW, rated_text, score_documents
from pnyx.search.features.access import put_feature, read_feature
from pnyx.search.index import Index
from tries import tries

MODEL = QualityModel.load()

UNIFORMS = (
    "School uniforms reduce visible differences in wealth between pupils. Several surveys of "
    "teachers report fewer conflicts after uniforms were introduced, because clothing no longer "
    "marks who can afford expensive brands. Although a uniform costs money, it usually replaces a "
    "larger number of costlier clothes, and many schools lend uniforms to families in need."
)
LIBRARIES = (
    "Public libraries should stay open in the evening because people who work during the day "
    "cannot otherwise use them."
)
GOLDEN = {
    UNIFORMS: 0.47414,
    LIBRARIES: 0.23754,
    "i dont like vaccines they suck and i think nurses is stupid": 0.0,
    "Trams carry more people than cars on the same road.": 0.17776,
}
PAIRS = [
    (UNIFORMS, "uniforms are bad lol. i hate them so much!!! vote pro"),
    (UNIFORMS, "Thanks to my opponent for this debate. I forfeit the round. Good luck, voters."),
    (LIBRARIES, "libraries rock, everybody knows that!!!"),
    (
        "Nurses should be vaccinated, since they care for patients whose immune systems are weak.",
        "i dont like vaccines they suck and i think nurses is stupid and so are you, ok?",
    ),
    (
        "Cities should charge cars for entering the centre because congestion delays buses.",
        "cars are what people want and i want my car so just let people have there cars ok",
    ),
]


def one(text):
    return float(MODEL.predict([text])[0])


@pytest.mark.parametrize(("text", "expected"), GOLDEN.items())
def test_the_packaged_model_says_what_it_said(text, expected):
    assert MODEL.name == "surface-words@2"
    assert one(text) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("better", "worse"), PAIRS)
def test_good_arguments_go_before_bad_ones(better, worse):
    assert one(better) > one(worse) + 0.02


def test_saying_a_long_argument_twice_gains_little():
    argument = f"{UNIFORMS} {LIBRARIES}"
    assert one(f"{argument} {argument}") < one(argument) + 0.1


def test_what_holds_no_word_gets_the_neutral_quality():
    neutral = np.float32(MODEL.neutral)
    assert 0.3 < neutral < 0.7
    for text in ("", " \n\t", "?! … 42 👍", "\u200b", "_"):
        assert MODEL.predict([text])[0] == neutral
    assert MODEL.predict([]).shape == (0,)
    assert MODEL.predict([]).dtype == np.float32


@settings(max_examples=tries(80), deadline=None)
@given(st.lists(st.text(max_size=300), max_size=6))
def test_any_text_has_a_quality_that_no_batch_changes(texts):
    together = MODEL.predict(texts)
    assert together.dtype == np.float32
    assert ((together >= 0) & (together <= 1)).all()
    alone = [MODEL.predict([text])[0] for text in texts]
    assert together.tobytes() == np.array(alone, dtype=np.float32).tobytes()


@settings(max_examples=tries(40), deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=[]), min_size=1, max_size=60))
def test_every_surface_feature_is_finite(text):
    seen = extract(text)
    if seen is not None:
        assert seen.surface.shape == (len(SURFACE),)
        assert np.isfinite(seen.surface).all()
        assert seen.words >= 1


@pytest.mark.parametrize(
    "text",
    [
        "a" * 3_000_000,
        "a " * 1_000_000,
        "!" * 1_000_000,
        ". " * 500_000,
        "'a" * 500_000,
        "\ud800 x",
    ],
)
def test_hostile_texts_are_read_in_bounded_time(text):
    assert 0.0 <= one(text) <= 1.0


def test_damaged_weights_are_refused():
    with pytest.raises(PnyxError, match="damaged: reinstall"):
        read_model({"sha256": "0" * 64}, b"something else")


def test_of_an_argument_the_premises_are_judged():
    argument = Argument("a", "Ban it", (Premise("It harms."), Premise(" "), Premise("It costs.")))
    assert rated_text(argument) == "It harms. It costs."
    assert rated_text(Argument("a", "Ban it")) == "Ban it."
    assert rated_text(Document("d", "Its text.", title="A title")) == "Its text."


# --- in an index ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    texts = [UNIFORMS, LIBRARIES, "", "lol"]
    records = [Document(str(n), text, title="tea") for n, text in enumerate(texts)]
    build_index(records, tmp_path / "i")
    return tmp_path / "i"


def values(folder):
    return Index.open(folder).feature(FEATURE, HOW).array("values")


def test_an_index_keeps_the_quality_of_its_documents(folder):
    stats = score_documents(folder, MODEL)
    assert (stats.documents, stats.added, stats.unscored) == (4, 4, 1)
    assert values(folder).dtype == np.float32
    expected = MODEL.predict([UNIFORMS, LIBRARIES, "", "lol"])
    np.testing.assert_array_equal(values(folder), expected)
    feature = Index.open(folder).feature(FEATURE, HOW)
    assert feature.meta == {"model": MODEL.name, "neutral": MODEL.neutral, "unscored": 1}


def test_shares_of_lower_quality_leave_out_what_is_unknown(folder):
    shown = np.array([0.5, np.nan, 0.2, 0.5], dtype=np.float32)
    put_feature(folder, FEATURE, {"values": shown}, documents=4, meta={"model": "written"})
    index = Index.open(folder)
    shares = index.quality_shares(index.doc_ids(np.arange(4)))
    # Three are known; of these one is below .5 and none below .2.
    np.testing.assert_array_equal(shares, [1 / 3, np.nan, 0.0, 1 / 3])


def test_only_new_documents_are_scored(folder):
    score_documents(folder, MODEL)
    again = score_documents(folder, MODEL)
    assert (again.added, again.unscored) == (0, 1)
    add_to_index([Document("n1", LIBRARIES), Document("n2", "12")], folder)
    told = []
    stats = score_documents(folder, MODEL, told.append)
    assert (stats.documents, stats.added, stats.unscored, told) == (6, 2, 2, [6])
    texts = [UNIFORMS, LIBRARIES, "", "lol", LIBRARIES, "12"]
    np.testing.assert_array_equal(values(folder), MODEL.predict(texts))


# --- at the shell -----------------------------------------------------------------------------


def pnyx(*arguments, capsys, code=0):
    with pytest.raises(SystemExit) as exit_:
        main([str(a) for a in arguments])
    assert (exit_.value.code or 0) == code
    return capsys.readouterr()


def corpus(path, *texts):
    rows = [{"id": f"{path.stem}{n}", "text": text} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_quality_with_a_new_a_grown_and_an_existing_index(tmp_path, capsys):
    first, more = corpus(tmp_path / "a.jsonl", UNIFORMS, "!"), corpus(tmp_path / "b.jsonl", "lol")
    index = tmp_path / "i"
    shown = pnyx("index", first, "--out", index, "--words-only", "--quality", capsys=capsys)
    assert "quality of 2 documents, " in shown.err
    assert "1 without words" in shown.err
    shown = pnyx("index", more, "--add", index, "--words-only", capsys=capsys)
    assert f"no quality yet: pnyx index --update {index} --quality" in shown.err
    shown = pnyx("index", "--update", index, "--quality", "--json", capsys=capsys)
    row = json.loads(shown.out)
    assert row["index"] == str(index)
    assert (row["quality"]["documents"], row["quality"]["added"]) == (3, 1)
    shown = pnyx("index", first, "--out", index, "--force", "--json", capsys=capsys)
    assert json.loads(shown.out)["documents"] == 2
    assert len(values(index)) == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["d.jsonl", "--update", "i"], "--update takes no CORPUS"),
        (["a.jsonl", "--update", "i", "--quality"], "takes no CORPUS"),
        (["--update", "i", "--out", "j", "--quality"], "give one of --out"),
        (["--update", "i", "--quality", "--force"], "require --out"),
        (["--quality"], "give one of --out"),
        (["--out", "j", "--quality"], "Missing argument 'CORPUS...'"),
        (["--update", "nowhere", "--quality"], "nowhere: is not there"),
    ],
)
def test_wrong_usage_is_one_line(options, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = pnyx("index", *options, capsys=capsys, code=2)
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_feature_of_another_model_is_made_anew(folder):
    score_documents(folder, MODEL)
    other = replace(MODEL, name="other@1", neutral=0.25)
    assert score_documents(folder, other).added == 4
    assert values(folder)[2] == np.float32(0.25)
    index = Index.open(folder)
    assert read_feature(folder, index.manifest, FEATURE).meta["model"] == "other@1"
