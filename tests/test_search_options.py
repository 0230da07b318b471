"""Options of searches and their results: what is allowed, and what is drawn."""

from __future__ import annotations

import dataclasses
from typing import Any
from xml.etree import ElementTree

import pytest

from command import called
from pnyx.core.errors import OptionError
from pnyx.core.records import Document, Qrel, Question
from pnyx.core.spec import Spec, opts_of
from pnyx.perspectives.measure_command import CoverageSpec
from pnyx.perspectives.retrievers_command import BenchSpec
from pnyx.search.build import build_index
from pnyx.search.commands import RunSpec
from pnyx.search.index import Index
from pnyx.search.measure_command import RetrievalSpec
from pnyx.search.options import ClusterSpec, FeatureSpec, SearchSpec
from pnyx.search.parameter_search import Tuned, Tuning, tune
from pnyx.search.perspectives_command import SourceSpec
from pnyx.search.plan import Scoring
from pnyx.search.tune_command import TuneSpec, _settings, tuning_plot


@pytest.mark.parametrize(
    ("spec", "name", "allowed", "refused"),
    [
        (RunSpec, "k", (1, 10**6), (0,)),
        (SearchSpec, "dense_weight", (0.0, 1.0), (-0.01, 1.01)),
        (SearchSpec, "feedback", (0, 100), (-1,)),
        (SearchSpec, "window", (2, 100), (1,)),
        (SearchSpec, "step", (1, 100), (0,)),
        (SearchSpec, "count", (1, 50), (0, 51)),
        (SearchSpec, "depth", (1, 10**6), (0,)),
        (ClusterSpec, "shards", (1, 100), (0,)),
        (ClusterSpec, "replicas", (0, 100), (-1,)),
        (FeatureSpec, "cluster_count", (1, 10**6), (0,)),
        (FeatureSpec, "seed", (0, 4294967295), (-1, 4294967296)),
        (SourceSpec, "count", (1, 50), (0, 51)),
        (TuneSpec, "folds", (2, 100), (1,)),
        (RetrievalSpec, "min_judged", (0.0, 1.0), (-0.01, 1.01)),
        (RetrievalSpec, "margin", (1e-9, 100.0), (0.0,)),
        (CoverageSpec, "depths", (1, 1_000_000), (0, 1_000_001)),
        (CoverageSpec, "union_depth", (1, 1_000_000), (0, 1_000_001)),
        (CoverageSpec, "min_judged", (0.0, 1.0), (-0.01, 1.01)),
        (BenchSpec, "depths", (1, 1000), (0, 1001)),
        (BenchSpec, "lambdas", (0.0, 1.0), (-0.01, 1.01)),
        (BenchSpec, "dev", (0.01, 0.99), (0.0, 1.0)),
        (BenchSpec, "words", (0, 100), (-1,)),
    ],
)
def test_the_range_of_an_option(spec: type[Spec], name: str, allowed: Any, refused: Any) -> None:
    (option,) = (option for field, option in opts_of(spec) if field.name == name)
    assert all(option.allows(number) for number in allowed)
    assert not any(option.allows(number) for number in refused)


@pytest.mark.parametrize(
    ("spec", "defaults"),
    [
        (SearchSpec, {"model": "auto", "rerank": False, "topic": (), "flat": False}),
        (TuneSpec, {"measure": "nDCG@10", "folds": 5, "draws": 1000, "seed": 0}),
        (CoverageSpec, {"depths": (5,), "topics_of": "perspectives", "unjudged": "unscored",
                        "min_judged": 0.8, "strict": False}),
        (RetrievalSpec, {"topics_of": "qrels", "documents_of": "run", "min_judged": 0.8,
                         "format": "ir_measures", "unscored": "error"}),
        (BenchSpec, {"variants": ("plain", "mmr"), "depths": (5, 10), "lambdas": (), "dev": 0.25,
                     "leaning": False, "words": 100}),
    ],
)  # fmt: skip
def test_what_is_chosen_by_default(spec: type[Spec], defaults: dict[str, Any]) -> None:
    usual = {field.name: field.default for field, _ in opts_of(spec)}
    assert {name: usual[name] for name in defaults} == defaults


# Features -----------------------------------------------------------------------------------------


def test_which_features_an_index_gets() -> None:
    new = FeatureSpec().of_new_index()
    assert (new.named, new.embeds) == (("quality", "vectors"), True)
    assert FeatureSpec(lexical=True).of_new_index().named == ()
    assert FeatureSpec(lexical=True).of_grown_index(["quality", "vectors"]).named == ()
    assert FeatureSpec().of_grown_index([]).named == ()
    assert FeatureSpec().of_grown_index(["quality"]).named == ("quality",)
    every = ["quality", "vectors", "vectors_ann", "clusters"]
    assert FeatureSpec().of_grown_index(every).named == ("quality", "vectors", "ann", "assign")
    again = FeatureSpec(clusters=True).of_grown_index(every)
    assert again.named == ("quality", "vectors", "ann", "clusters")
    assert [FeatureSpec(**{name: True}).embeds for name in ("clusters", "assign", "quality")] == [
        True, True, False,
    ]  # fmt: skip
    with pytest.raises(OptionError, match="--clusters and --assign exclude each other"):
        FeatureSpec(clusters=True, assign=True).check()


def test_which_searches_judge_and_ask() -> None:
    assert not SearchSpec().judged
    assert SearchSpec(rerank=True).judged
    assert SearchSpec(threshold=0.5).judged
    assert not SearchSpec(rerank=True).judges_each
    assert SearchSpec(rerank=True, pointwise=True).judges_each
    assert SearchSpec(threshold=0.5).judges_each
    assert not SearchSpec(diversify="mmr").asks_model
    assert SearchSpec(diversify="perspectives").asks_model
    assert not SearchSpec(diversify="perspectives", perspectives="views.jsonl").asks_model
    assert SearchSpec(stance="pro").asks_model


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--out {i} --add {i} x", "give one of --out (a new index), --add"),
        ("x", "give one of --out (a new index), --add"),
        ("--update {i} x", "--update takes no CORPUS"),
        ("--update {i} --unit passage", "--unit requires --out or --add"),
        ("--update {i} --words-only", "--words-only requires --out or --add"),
        ("--out {i}", "Missing argument 'CORPUS...'"),
        ("--add {i} x --fields topic", "--fields, --language and --force require --out"),
        ("--add {i} x --language none", "--fields, --language and --force require --out"),
        ("--add {i} x --force", "--fields, --language and --force require --out"),
        ("--update {i} --assign", "--assign: the index has no topics yet; use --clusters"),
        ("--update {i} --ann", "--ann: the index has no vectors yet; add --vectors"),
        ("--out {i} x --shards 2", "--shards and --replicas require opensearch://"),
        ("--out {i} {i}/rows.jsonl --words-only", "exists already: use --add to add documents"),
    ],
)
def test_options_of_an_index_that_do_not_fit(arguments, problem, tmp_path, capsys):
    build_index([Document("a", "Tea.")], tmp_path / "i")
    (tmp_path / "i" / "rows.jsonl").write_text('{"id": "b", "text": "Milk."}\n')
    words = arguments.format(i=tmp_path / "i").split()
    status, _, error = called(capsys, "index", *words)
    assert status == 2
    assert problem in error


# The picture of tuning ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> Tuned:
    """Of each topic the long document is relevant; it is first with b = 0 and 0.25."""
    folder = tmp_path_factory.mktemp("plot") / "i"
    rows = [Document(f"long{n}", f"topic{n} topic{n} " + "filler " * 30) for n in range(4)]
    rows += [Document(f"short{n}", f"topic{n} filler") for n in range(4)]
    build_index(rows, folder)
    tuning = Tuning(Scoring("bm25"), {"b": (0.0, 0.25, 0.5)}, "P@1", 2, draws=0)
    questions = [Question(f"t{n}", f"topic{n}") for n in range(4)]
    qrels = [Qrel(f"t{n}", f"long{n}", 1) for n in range(4)]
    return tune(Index.open(folder), questions, qrels, tuning)


SVG = "{http://www.w3.org/2000/svg}"


def test_the_best_setting_is_a_dot_in_a_panel_of_its_parameter(tuned):
    """A panel is 300 wide and 200 high; it is 40 right of the margin of 20, and 44 below it."""
    assert dict(tuned.best.parameters) == {"k1": 1.2, "b": 0.25}
    root = ElementTree.fromstring(tuning_plot(tuned))
    assert root.get("viewBox") == "0 0 380 314"
    (dot,) = root.iter(f"{SVG}circle")
    assert (dot.get("cx"), dot.get("cy")) == ("160.0", "64.0")  # the second of four, at 1
    texts = {text.text: (float(text.get("x", "")), float(text.get("y", "")))
             for text in root.iter(f"{SVG}text")}  # fmt: skip
    assert texts["P@1 by parameter"] == (20, 30)
    assert texts["b"] == (60, 52)
    assert [texts[value] for value in ("0.25", "0.75")] == [(160, 280), (360, 280)]


def test_panels_are_side_by_side(tuned):
    both = Tuning(Scoring("bm25"), {"b": (0.0,), "k1": (0.5,)}, "P@1", 2, draws=0)
    root = ElementTree.fromstring(tuning_plot(dataclasses.replace(tuned, tuning=both)))
    assert root.get("viewBox") == "0 0 736 314"
    texts = {text.text: float(text.get("x", "")) for text in root.iter(f"{SVG}text")}
    assert [texts[name] for name in ("k1", "b")] == [60, 60 + 300 + 56]


def test_the_default_and_the_best_setting_are_listed_first_and_once(tuned):
    assert [row[0] for row in _settings(tuned).rows] == [
        "default: k1 1.2, b 0.75", "best: k1 1.2, b 0.25", "k1 1.2, b 0", "k1 1.2, b 0.5",
    ]  # fmt: skip
