"""Comparing retrievers by perspectives: how lambda is chosen, how deep each variant searches."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from command import rows_of
from pnyx.core.errors import InputError
from pnyx.core.records import Document, Perspective
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.judging.runs.shards import Shard
from pnyx.perspectives import bench as bench_module
from pnyx.perspectives.bench import (
    BenchJudge,
    BenchSearch,
    bench_perspectives,
    judge_share,
    pairs_at_most,
)
from pnyx.perspectives.bench_plan import PerspectiveBench
from pnyx.search.build import build_index
from pnyx.search.index import Index

# Two documents are alike and come first; the third is on the other side.
DOCUMENTS = [
    Document("red1", "tea red"),
    Document("red2", "tea red milk"),
    Document("blue", "tea blue milk milk milk"),
]


class Colours:
    """Embeds a text by its colour."""

    name, dimensions = "colours", 2

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([[1, 0] if "red" in t else [0, 1] for t in texts], dtype=np.float32)


class ByColour:
    """Says that a text supports the perspective which names its colour."""

    name, card, kinds = "by-colour", "", frozenset({Support})

    def __init__(self, unscored: str = "") -> None:
        self.unscored = unscored
        self.asked = 0

    async def answer(self, questions: Any, emit: Any) -> None:
        for position, question in enumerate(questions):
            self.asked += 1
            yes = any(c in question.text and c in question.statement for c in ("red", "blue"))
            answer: Any = Judged(yes, Provenance(self.name), 0.9 if yes else 0.1)
            if self.unscored and self.unscored in question.text:
                answer = Unscored("timeout", Provenance(self.name))
            emit(position, answer)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "i"
    build_index(DOCUMENTS, folder)
    return Index.open(folder)


def views(count: int) -> dict[str, list[Perspective]]:
    """Return questions about tea, each with a perspective for red and one for blue."""
    asked = {"question": "tea?"}
    return {
        f"q{n}": [
            Perspective(f"q{n}-red", f"q{n}", "Tea is red.", "pro", asked),
            Perspective(f"q{n}-blue", f"q{n}", "Tea is blue.", "con", asked),
        ]
        for n in range(count)
    }


def compared(index, out, count=8, judge=None, **settings):
    settings = {"retrievers": ("bm25",), "depths": (2,), "draws": 0, **settings}
    search = BenchSearch(index, views(count), PerspectiveBench(**settings), Colours())
    return bench_perspectives(search, BenchJudge(judge or ByColour(), out))


def test_lambda_is_chosen_on_a_quarter_of_the_questions_and_the_highest_of_the_best(
    index, tmp_path
):
    """By BM25 the documents score 1, 0.87 and 0.69 of the best. The third comes second if
    lambda x 0.87 - (1 - lambda) is at most lambda x 0.69: up to lambda 0.85."""
    judge = ByColour()
    result = compared(index, tmp_path / "out", judge=judge)
    assert result.tuning == {"bm25": {0.5: 1.0, 0.75: 1.0, 0.9: 0.0, 0.95: 0.0, 0.99: 0.0}}
    assert result.lambdas == {"bm25": 0.75}
    assert (len(result.dev), len(result.test)) == (2, 6)
    assert sorted([*result.dev, *result.test]) == [f"q{n}" for n in range(8)]
    assert list(result.test) == sorted(result.test)
    values = {run.name: run.measures["MRecall@2"].value for run in result.coverage.runs}
    assert values == {"bm25": 0.0, "bm25+mmr": 1.0}
    assert result.coverage.baseline == "bm25"
    assert judge.asked == 8 * 3 * 2  # each document with each perspective, once
    for name, questions in (("verdicts-dev.jsonl", 2), ("verdicts.jsonl", 6)):
        assert len(rows_of(tmp_path / "out" / name)) == questions * 6
    assert sorted(path.name for path in (tmp_path / "out/runs").iterdir()) == [
        "bm25+mmr.run", "bm25.run",
    ]  # fmt: skip
    again = compared(index, tmp_path / "out", judge=judge)
    assert (judge.asked, again.reused) == (48, 48)
    row = again.row()
    assert row["tuning"]["bm25"][0] == {"lambda": 0.5, "mrecall": 1.0}
    assert (row["lambdas"], len(row["dev"]), len(row["test"])) == ({"bm25": 0.75}, 2, 6)
    assert str(again).splitlines()[0] == "Coverage of perspectives on 6 questions"


@pytest.mark.parametrize(
    ("questions", "share", "dev"),
    [(2, 0.25, 1), (2, 0.99, 1), (3, 0.5, 2), (5, 0.5, 2), (10, 0.25, 2), (10, 0.01, 1)],
)
def test_how_many_questions_lambda_is_chosen_on(questions, share, dev):
    """2.5 is rounded to the even 2, 1.5 to 2; at least one is used, and one is left."""
    bench = PerspectiveBench(dev_share=share)
    chosen, measured = bench_module._split([f"q{n}" for n in range(questions)], bench)
    assert (len(chosen), len(measured)) == (dev, questions - dev)


def test_one_question_is_too_few_to_choose_lambda_on(index, tmp_path):
    with pytest.raises(InputError, match="found 1 question, expected at least 2"):
        compared(index, tmp_path / "out", 1)
    result = compared(index, tmp_path / "out", 1, lambdas=(0.5,))
    assert (result.dev, result.test, result.tuning) == ((), ("q0",), {})
    assert result.lambdas == {"bm25": 0.5}
    only = compared(index, tmp_path / "plain", 1, variants=("plain",))
    assert (only.lambdas, only.coverage.baseline) == ({}, None)


def test_a_lambda_whose_value_is_not_known_is_not_chosen(index, tmp_path):
    result = compared(index, tmp_path / "out", judge=ByColour("blue"), lambdas=(0.5, 0.99))
    # With lambda 0.5 the unscored blue document decides; with 0.99 both are red: 0.
    assert result.tuning == {"bm25": {0.5: None, 0.99: 0.0}}
    assert result.lambdas == {"bm25": 0.99}


def test_each_query_of_a_side_finds_documents_of_it(index, tmp_path):
    result = compared(
        index, tmp_path / "out", 3, lambdas=(0.5,), variants=("plain",), depths=(1,), leaning=True
    )
    (lean,) = result.leaning
    assert {asked: (by.p, by.n) for asked, by in lean.by.items()} == {
        "question": (1.0, 0.0), "pro": (1.0, 0.0), "con": (0.0, 1.0),
    }  # fmt: skip
    assert lean.k == 1


def test_what_each_variant_searches(index, monkeypatch):
    """MMR and the search for each perspective use 100 documents, and keep the greatest depth."""
    searched: list[tuple[Any, int]] = []

    class Searcher:
        def __init__(self, _: object, plan: Any, **__: object) -> None:
            self.plan = plan

        def search(self, questions: Any, k: int) -> list[Any]:
            searched.append((self.plan, k))
            return []

    monkeypatch.setattr(bench_module, "Searcher", Searcher)
    bench = PerspectiveBench(retrievers=("bm25",), variants=("plain", "mmr", "perspectives"))
    source: Any = SimpleNamespace(name="none")
    search = BenchSearch(index, views(2), bench, Colours(), source)
    runs = search.systems(["q0"], {"bm25": (0.5, 0.9)})
    assert list(runs) == ["bm25", "bm25+mmr 0.5", "bm25+mmr 0.9", "bm25+perspectives"]
    assert [(p.diversify, p.depth, k) for p, k in searched] == [
        (None, 100, 10), ("mmr", 100, 10), ("mmr", 100, 10), ("perspectives", 100, 10),
    ]  # fmt: skip
    assert [plan.lam for plan, _ in searched[1:3]] == [0.5, 0.9]
    assert list(search.systems(["q0"], {"bm25": (0.5,)}))[1] == "bm25+mmr"


def test_a_share_of_the_pairs_is_judged_once_lambda_is_known(index, tmp_path):
    judged = []
    for number in (1, 2):
        search = BenchSearch(
            index, views(4), PerspectiveBench(retrievers=("bm25",), lambdas=(0.5,)), Colours()
        )
        judging = BenchJudge(ByColour(), tmp_path / str(number), shard=Shard(number, 2))
        assert judge_share(search, judging) == tmp_path / str(number) / "verdicts.jsonl"
        judged += [row["id"] for row in rows_of(tmp_path / str(number) / "verdicts.jsonl")]
    assert len(judged) == len(set(judged)) == 4 * 3 * 2
    search = BenchSearch(index, views(4), PerspectiveBench(retrievers=("bm25",)), Colours())
    with pytest.raises(InputError, match="--shard requires one --lambda"):
        judge_share(search, BenchJudge(ByColour(), tmp_path / "3", shard=Shard(1, 2)))


@pytest.mark.parametrize(("leaning", "pairs"), [(False, 2 * 2 * 2), (True, 2 * 3 * 2)])
def test_a_plan_counts_the_pairs_of_every_lambda(index, leaning, pairs):
    """Of two documents found for each question; those of the side of blue are the third, too."""
    bench = PerspectiveBench(
        retrievers=("bm25",), variants=("plain",), depths=(2,), leaning=leaning
    )
    assert len(pairs_at_most(BenchSearch(index, views(2), bench, Colours()))) == pairs
    bench = PerspectiveBench(retrievers=("bm25",), depths=(2,), lambdas=(0.5, 0.99))
    assert len(pairs_at_most(BenchSearch(index, views(2), bench, Colours()))) == 2 * 3 * 2


def test_what_cannot_be_searched_for_is_refused(index):
    bench = PerspectiveBench(retrievers=("bm25",))
    unnamed = {"q": [Perspective("a", "q", "Tea is red.", "pro", {"question": "?!"})]}
    with pytest.raises(InputError, match="question 'q': its perspectives do not name its text"):
        BenchSearch(index, unnamed, bench)
    with pytest.raises(InputError, match="requires a source of perspectives to search for"):
        BenchSearch(index, views(1), PerspectiveBench(variants=("perspectives",)))
    with pytest.raises(InputError, match="unknown model 'best'"):
        BenchSearch(index, views(1), PerspectiveBench(retrievers=("best",)))
    one_side = {"q0": views(1)["q0"][:1]}
    search = BenchSearch(index, one_side, PerspectiveBench(retrievers=("bm25",)), Colours())
    with pytest.raises(InputError, match="leaning needs questions with two perspectives"):
        search.sided(["q0"])


def test_the_retrievers_and_lambdas_compared_by_default():
    bench = PerspectiveBench()
    assert bench.retrievers == ("bm25", "dirichlet", "touche", "dense", "hybrid")
    assert (bench.depths, bench.variants) == ((5, 10), ("plain", "mmr"))
    assert (bench.words, bench.draws, bench.leaning) == (100, 1000, False)


@pytest.mark.parametrize(
    ("allowed", "refused", "problem"),
    [
        ({"depths": (1,)}, {"depths": (0, 5)}, "depths from 1, and words from 0"),
        ({"words": 0}, {"words": -1}, "depths from 1, and words from 0"),
        ({"dev_share": 0.001}, {"dev_share": 0.0}, "found 0, expected between 0 and 1"),
        ({"dev_share": 0.999}, {"dev_share": 1.0}, "found 1, expected between 0 and 1"),
        ({"lambdas": (0.0, 1.0)}, {"lambdas": (1.01,)}, "lambda: expected numbers from 0 to 1"),
        ({"lambdas": (0.5,)}, {"lambdas": (-0.01,)}, "lambda: expected numbers from 0 to 1"),
        ({"lambdas": (), "variants": ("plain",)}, {"lambdas": ()}, "lambda: expected numbers"),
        ({}, {"retrievers": ()}, "nothing to compare"),
        ({}, {"variants": ()}, "nothing to compare"),
        ({}, {"depths": ()}, "nothing to compare"),
        ({}, {"variants": ("plain", "best")}, "variants: expected some of plain, mmr"),
        ({}, {"retrievers": ("bm25", "bm25")}, "a retriever is named twice: bm25, bm25"),
    ],
)
def test_settings_have_ranges(allowed, refused, problem):
    PerspectiveBench(**allowed)
    with pytest.raises(InputError, match=problem):
        PerspectiveBench(**refused)
