"""`pnyx search tune`: choices that can be worked out by hand, and what is said of their worth."""

from __future__ import annotations

import itertools
import json
from xml.etree import ElementTree

import pytest

from command import called, write_rows
from pnyx.core.records import Document
from pnyx.search.build import build_index
from pnyx.search.measures.irmeasures import RunScorer

# Of each topic one document is long and says its word twice, the other is short and says it once.
# The collection has 17 tokens a document on average and idf is the same for all, so by BM25
# (k1 = 1.2) tf / (tf + k1 (1 - b + b dl / 17)) is
#   b = 0     long .625  short .455        b = .5   long .536  short .599
#   b = .25   long .577  short .517        b = .75  long .502  short .711  (the default)
# and the long one is first up to b = .25, the short one from b = .5 on.
LONG, SHORT = "long", "short"
B = ("--model", "bm25", "--try", "b=0,0.25,0.5", "--measure", "P@1")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    words = [f"topic{n}" for n in range(10)]
    rows = [Document(f"{LONG}{n}", f"{w} {w} " + "filler " * 30) for n, w in enumerate(words)]
    rows += [Document(f"{SHORT}{n}", f"{w} filler") for n, w in enumerate(words)]
    folder = tmp_path_factory.mktemp("tune") / "i"
    build_index(rows, folder)
    return folder


def _files(folder, relevant):
    """Topics of which the long or the short document is relevant."""
    topics, qrels = folder / "topics.jsonl", folder / "qrels.txt"
    rows = [{"id": f"t{n}", "question": f"topic{n}"} for n in range(len(relevant))]
    write_rows(topics, rows)
    qrels.write_text("".join(f"t{n} 0 {kind}{n} 1\n" for n, kind in enumerate(relevant)))
    return "--topics", topics, "--qrels", qrels


def _tuned(capsys, *arguments):
    status, out, error = called(capsys, "search", "tune", *arguments, "--json")
    assert status == 0, error
    return json.loads(out)


def test_the_best_value_is_found_and_of_equal_ones_the_nearest_to_the_default(
    capsys, index, tmp_path
):
    files = _files(tmp_path, [LONG] * 8 + [SHORT] * 2)
    found = _tuned(capsys, index, *files, *B)
    values = {s["parameters"]["b"]: s["value"] for s in found["settings"]}
    assert values == {0.0: 0.8, 0.25: 0.8, 0.5: 0.2, 0.75: 0.2}
    assert found["best"]["parameters"] == {"k1": 1.2, "b": 0.25}
    assert found["default"]["value"] == 0.2
    assert found["options"] == ["--model", "bm25", "--set", "k1=1.2", "--set", "b=0.25"]
    # Each fold has two topics, so in all others the long documents are the more.
    cross = found["cross_validation"]
    assert [fold["parameters"]["b"] for fold in cross["folds"]] == [0.25] * 5
    assert (cross["value"], cross["difference"], cross["scored"]) == (0.8, pytest.approx(0.6), 10)
    assert 0 < cross["p"] < 1
    assert cross["difference_low"] < 0.6 < cross["difference_high"]


def test_a_topic_has_no_say_in_what_it_is_measured_with(capsys, index, tmp_path):
    """Two topics that want opposite values: each is measured with what the other wants."""
    files = _files(tmp_path, [LONG, SHORT])
    found = _tuned(capsys, index, *files, *B, "--folds", "2")
    assert found["best"]["value"] == found["default"]["value"] == 0.5
    assert found["best"]["parameters"]["b"] == 0.75
    assert found["cross_validation"]["value"] == 0.0
    assert found["cross_validation"]["difference"] == -0.5


def test_what_a_fold_is_measured_with_does_not_depend_on_its_own_judgements(
    capsys, index, tmp_path
):
    relevant = [LONG, SHORT] * 5
    before = _tuned(capsys, index, *_files(tmp_path, relevant), *B, "--seed", "3")
    for fold in before["cross_validation"]["folds"]:
        own = {int(topic[1:]) for topic in fold["topics"]}
        turned = [
            {LONG: SHORT, SHORT: LONG}[kind] if n in own else kind
            for n, kind in enumerate(relevant)
        ]
        after = _tuned(capsys, index, *_files(tmp_path, turned), *B, "--seed", "3")
        (same,) = (f for f in after["cross_validation"]["folds"] if f["topics"] == fold["topics"])
        assert same["parameters"] == fold["parameters"]
        assert same["value"] == pytest.approx(1 - fold["value"])
    topics = [t for fold in before["cross_validation"]["folds"] for t in fold["topics"]]
    assert sorted(topics) == [f"t{n}" for n in range(10)]


def test_searching_with_the_printed_options_gives_the_printed_mean(capsys, index, tmp_path):
    files = _files(tmp_path, [LONG] * 8 + [SHORT] * 2)
    for more in ((), ("--try", "k1=0.5,3", "--try", "b")):
        model = ("--model", "bm25", "--measure", "nDCG@1", *more)
        status, out, error = called(capsys, "search", "tune", index, *files, *model)
        assert (status, error) == (0, "")
        options = out.splitlines()[-1].removeprefix("use: ").split()
        run = tmp_path / "tuned.run"
        assert called(capsys, "search", index, *files[:2], "--out", run, *options)[0] == 0
        _, measured, _ = called(
            capsys, "measure", "retrieval", run, *files[2:], "--measure", "nDCG@1", "--json"
        )
        found = _tuned(capsys, index, *files, *model)
        mean = json.loads(measured)["measures"]["nDCG@1"]
        assert mean == {key: found["best"][key] for key in mean}
        assert found["options"] == options


def test_a_hybrids_weight_is_chosen_beside_its_lexical_parameters(capsys, tmp_path):
    texts = ["dogs and cats", "cats and dogs as pets at home", "a puppy", "a kitten", "taxes"]
    build_index([Document(f"d{n}", text) for n, text in enumerate(texts)], tmp_path / "i")
    assert called(capsys, "index", "--update", tmp_path / "i", "--vectors")[0] == 0
    topics, qrels = tmp_path / "topics.jsonl", tmp_path / "qrels.txt"
    asked = {"1": "dogs", "2": "cats"}
    rows = [{"id": n, "question": text} for n, text in asked.items()]
    write_rows(topics, rows)
    qrels.write_text("1 0 d2 1\n2 0 d3 1\n")  # found by their meaning alone
    files = ("--topics", topics, "--qrels", qrels, "--folds", "2", "--measure", "RR")
    found = _tuned(capsys, tmp_path / "i", *files, "--model", "hybrid", "--try", "dense-weight",
                   "--try", "mu=100")  # fmt: skip
    assert len(found["settings"]) == 11 * 2
    means = {s["parameters"]["dense_weight"]: s["value"] for s in found["settings"]
             if s["parameters"]["mu"] == 100}  # fmt: skip
    assert list(means.values()) != [means[0.6]] * 11
    assert all(means[a] <= means[b] + 1e-9 for a, b in itertools.pairwise(sorted(means)))
    assert found["best"]["parameters"]["dense_weight"] >= 0.6
    fused = _tuned(capsys, tmp_path / "i", *files, "--model", "hybrid", "--set", "fusion=rrf")
    assert set(fused["best"]["parameters"]) == {"mu"}


def test_the_report_has_the_curve_and_both_means(capsys, index, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    files = _files(tmp_path, [LONG] * 8 + [SHORT] * 2)
    plot = tmp_path / "tuned.svg"
    status, out, error = called(capsys, "search", "tune", index, *files, *B, "--plot", plot)
    assert (status, error) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("tune: bm25, 4 settings, 10 topics of ")
    curve = lines[lines.index(next(x for x in lines if x.startswith("b "))) + 1 :][:4]
    assert [line.split()[:2] for line in curve] == [
        ["0", "0.800"], ["0.25", "0.800"], ["0.5", "0.200"], ["0.75", "0.200"],
    ]  # fmt: skip
    assert [line.split()[-1] for line in curve if line.split()[-1].isalpha()] == ["best", "default"]
    assert any(
        x.startswith("chosen on the other folds (5; the same setting in all)") for x in lines
    )
    assert any(x.startswith("less the default's 0.200: +0.600 ") for x in lines)
    assert lines[-1] == "use: --model bm25 --set k1=1.2 --set b=0.25"
    assert called(capsys, "search", "tune", index, *files, *B)[1] == out
    picture = ElementTree.parse(plot).getroot()
    assert {"0", "0.25", "0.5", "0.75"} <= {e.text for e in picture.iter() if e.text}
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))) == 1


def test_topics_without_qrels_and_qrels_without_topics_are_said(capsys, index, tmp_path):
    files = _files(tmp_path, [LONG] * 6)
    with files[1].open("a") as stream:
        stream.write(json.dumps({"id": "new", "question": "topic7"}) + "\n")
    with files[3].open("a") as stream:
        stream.write("gone 0 long7 1\n")
    status, _, error = called(capsys, "search", "tune", index, *files, *B)
    assert status == 0
    assert "pnyx: 1 topic (new) without qrels, left out" in error
    assert "pnyx: 1 topic (gone) of the qrels not among the topics, left out" in error


def test_a_measure_that_is_not_defined_for_a_topic_leaves_it_out(
    capsys, index, tmp_path, monkeypatch
):
    """No measure of ir-measures at hand does this, but its interface allows it."""
    score = RunScorer.score

    def undefined(self, rankings):
        found = score(self, rankings)
        return found | {"t5": dict.fromkeys(found["t5"])}

    monkeypatch.setattr(RunScorer, "score", undefined)
    files = _files(tmp_path, [LONG] * 6)
    status, out, error = called(capsys, "search", "tune", index, *files, *B, "--json")
    assert status == 3
    assert "pnyx: P@1 is not defined for 1 topic (t5), left out" in error
    assert json.loads(out)["topics"]["measured"] == json.loads(out)["best"]["scored"] == 5


WRONG = [
    (("--model", "dense"), "Invalid value for '--model'"),
    (("--model", "bm25", "--try", "mu=1"), "model bm25 has no parameter 'mu' to tune, expected: "),
    (("--model", "bm25", "--try", "b=x"), "--try b=x: expected NAME or NAME=NUMBER,NUMBER,..."),
    (("--model", "bm25", "--try", "b="), "--try b=: expected NAME or NAME=NUMBER,NUMBER,..."),
    (("--model", "bm25", "--try", "b=1", "--try", "b"), "--try b: b is given twice"),
    (("--model", "bm25", "--try", "b=2"), "b is 2, expected a number from 0 to 1"),
    (("--model", "bm25", "--try", "k1=nan"), "k1 is nan, expected a number from 0 to 1e+06"),
    (("--model", "touche", "--try", "wc=-1"), "wc is -1, expected a number from 0 to 1e+06"),
    (("--model", "hybrid", "--try", "dense-weight=2"), "weight of the dense ranking is 2"),
    (("--model", "hybrid", "--set", "fusion=rrf", "--try", "dense-weight"), "no parameter 'dense"),
    (("--model", "bm25", "--set", "lexical=bm25"), "--set lexical requires --model hybrid"),
    (("--model", "bm25", "--set", "embedder=minilm-int8"), "embedder requires --model touche"),
    (("--model", "bm25", "--set", "flat"), "model bm25 has no relevance score to fix at 1"),
    (("--model", "bm25", "--folds", "11"), "only 10 topics have judgements"),
    (("--model", "bm25", "--folds", "1"), "Invalid value for '--folds'"),
    (("--model", "bm25", "--measure", "nDCG@0"), "--measure nDCG@0: cutoff 0, expected 1 to"),
    (("--model", "bm25", "--measure", "alpha_nDCG@5"), "needs diversity qrels"),
    (("--model", "bm25", "--plot", "x.png"), "expected a name that ends in .svg"),
    (("--model", "touche"), "has no clusters: pnyx index --update INDEX --clusters"),
    (("--model", "hybrid"), "has no vectors: pnyx index --update INDEX --vectors"),
    (
        ("--model", "bm25", "--try", "b=" + ",".join(f"{n / 200}" for n in range(200)),
         "--try", "k1=" + ",".join(f"{n / 50}" for n in range(60))),
        "settings, expected at most 10,000: try fewer values",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "said"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_option_is_one_line(capsys, index, tmp_path, options, said):
    files = _files(tmp_path, [LONG] * 10)
    status, out, error = called(capsys, "search", "tune", index, *files, *options)
    assert (status, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1


def test_other_topics_than_those_of_the_qrels_are_one_line(capsys, index, tmp_path):
    files = _files(tmp_path, [LONG] * 3)
    files[3].write_text("other 0 long0 1\n")
    status, _, error = called(capsys, "search", "tune", index, *files, *B)
    assert (status, error.count("\n")) == (2, 1)
    assert "no topic has judgements" in error
