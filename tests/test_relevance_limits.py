"""Limits of labelling relevance and rubrics: examples, held-out questions, grades, points."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from typing import Any

import pytest

import pnyx
from chat_server import ChatServer
from command import rows_of, run, write_rows
from pnyx.core.errors import InputError
from pnyx.core.records import Question
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.questions import Support
from pnyx.judging.runs.results import apply_judge
from pnyx.judging.stances import ask_relevance
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.judging.students.rules import RuleJudge
from pnyx.judging.students.trainer import TrainingExample
from pnyx.judging.verdicts import Verdict
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.quality.rubrics import draft_rubric
from pnyx.relevance import distillation
from pnyx.relevance.definitions import draft_definitions
from pnyx.relevance.distillation import Distillation, split_questions
from pnyx.relevance.grades import check_thresholds, write_graded_qrels
from pnyx.relevance.labelled_pairs import LabelledPair, ShotPool
from pnyx.relevance.listwise import QuestionDocuments, listed_by_question, write_ranking
from pnyx.relevance.sampling import PairSample

pytestmark = pytest.mark.usefixtures("own_place")


def test_a_definition_is_drafted_from_five_examples():
    reply = json.dumps({"meaning": "What zoos do to animals.", "examples": ["Cages."]})
    texts = [f"Example {letter}." for letter in "abcdef"]
    with ChatServer(reply=reply) as server, Store(":memory:") as store:
        model = StoredModel(endpoint_from([server.spec]), store)
        (drafted,) = draft_definitions([Question("q", "Are zoos good?")], model, {"q": texts})
        (asked,) = server.asked()
    prompt = " ".join(message["content"] for message in asked["messages"])
    assert [text in prompt for text in texts] == [True] * 5 + [False]
    assert drafted.question.definition == "What zoos do to animals.\n- Cages."


@pytest.mark.parametrize(
    ("meaning", "examples", "usable"),
    [
        ("a" * 8, ["ab"], True),
        ("a" * 7, ["ab"], False),
        ("a" * 4000, ["a" * 500] * 20, True),
        ("a" * 4001, ["ab"], False),
        ("a" * 8, ["a"], False),
        ("a" * 8, ["a" * 501], False),
        ("a" * 8, [], False),
        ("a" * 8, ["ab"] * 21, False),
    ],
)
def test_what_a_drafted_definition_may_contain(meaning, examples, usable):
    reply = json.dumps({"meaning": meaning, "examples": examples})
    with ChatServer(reply=reply) as server, Store(":memory:") as store:
        model = StoredModel(endpoint_from([server.spec]), store)
        (drafted,) = draft_definitions([Question("q", "Are zoos good?")], model)
    assert drafted.failed is not usable


# --- students


def example(group: str, value: bool) -> TrainingExample:
    question = ask_relevance(f"{group}{value}", "Q?", "D.", group=group)
    return TrainingExample(question, float(value), value, group)


@pytest.mark.parametrize(
    ("questions", "share", "held_out"),
    [
        (2, 0.25, 1),
        (3, 0.25, 1),
        (4, 0.25, 2),  # two at least, of four or more
        (8, 0.25, 2),
        (8, 0.26, 3),
        (4, 0.99, 3),  # one is left to learn from
    ],
)
def test_how_many_questions_are_held_out(questions, share, held_out):
    examples = [example(f"q{n}", value) for n in range(questions) for value in (True, False)]
    train, test = split_questions(examples, share, 0)
    assert len({e.group for e in test}) == held_out
    assert len(train) + len(test) == 2 * questions
    assert not {e.group for e in test} & {e.group for e in train}
    assert (train, test) == split_questions(examples, share, 0)


def test_a_student_is_calibrated_on_five_folds(monkeypatch):
    folds = []

    def crossfit(_: Any, raw: Any, truth: Any, numbers: Any, threshold: Any) -> list[Any]:
        folds.append(len(set(numbers)))
        return [(p, p >= 0.5) for p in raw]

    monkeypatch.setattr(distillation, "crossfit", crossfit)
    examples = [example(f"q{n}", value) for n in range(6) for value in (True, False)]
    scores = [0.9 if e.value else 0.2 for e in examples]
    _, threshold, figures = distillation.calibrate(examples, scores, "platt")
    assert folds == [5]
    assert figures["f1"].value == 1.0
    assert 0.2 < threshold < 0.9


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_that_cannot_be_held_out_is_refused(share):
    with pytest.raises(InputError, match="expected between 0 and 1"):
        Distillation("s", held_out=share)
    plan = Distillation("s")
    assert (plan.held_out, plan.curve, plan.seed) == (0.25, "platt", 0)


def test_four_examples_are_shown_by_default():
    pool = [LabelledPair(str(n), f"Q{n}?", "D.", value=n % 2 > 0) for n in range(8)]
    shots = ShotPool(pool).shots({"id": "x", "question": "Other?", "document": "E."})
    assert Counter(shot.yes for shot in shots) == {True: 2, False: 2}
    for count in (0, 1, 3):
        with pytest.raises(InputError, match="expected an even number"):
            ShotPool(pool, count)


# --- grades and samples


@pytest.mark.parametrize(
    ("thresholds", "valid"),
    [
        ((1.0,), True),
        ((1e-9, 0.5), True),
        ((0.0,), False),
        ((1.0001,), False),
        ((0.5, 0.5), False),
        ((0.7, 0.3), False),
        ((), False),
    ],
)
def test_thresholds_of_grades_increase_from_above_zero_to_one(thresholds, valid):
    if valid:
        check_thresholds(thresholds)
    else:
        with pytest.raises(InputError, match="thresholds: found"):
            check_thresholds(thresholds)


def test_a_grade_is_the_number_of_thresholds_that_are_reached(tmp_path):
    rows = [(0.2999, False), (0.3, False), (0.6999, True), (0.7, True), (None, None)]
    verdicts = [
        Verdict(f"q/{n}", "q", f"d{n}", value, probability)
        for n, (probability, value) in enumerate(rows)
    ]
    path = tmp_path / "qrels"
    counts = write_graded_qrels(path, verdicts, (0.3, 0.7), "zero")
    assert [line.split()[-1] for line in path.read_text().splitlines()] == ["0", "1", "1", "2", "0"]
    assert counts == {0: 2, 1: 2, 2: 1}
    assert write_graded_qrels(path, verdicts) == {0: 2, 1: 2}
    with pytest.raises(InputError, match="1 pairs are unscored"):
        write_graded_qrels(path, verdicts, (0.5,))
    with pytest.raises(InputError, match="all 1 pairs are unscored"):
        write_graded_qrels(path, verdicts[4:])
    assert write_graded_qrels(path, verdicts[4:], unscored="zero") == {0: 1, 1: 0}


def test_a_sample_of_pairs_needs_some():
    plan = PairSample()
    assert (plan.k, plan.top, plan.rest, plan.seed) == (20, 10, 10, 0)
    assert PairSample(k=1, top=0, rest=1).rest == 1
    assert PairSample(top=1, rest=0).top == 1
    for wrong in ({"k": 0}, {"top": -1}, {"rest": -1}, {"top": 0, "rest": 0}):
        with pytest.raises(InputError, match="expected"):
            PairSample(**wrong)


# --- annotations and results


@pytest.mark.parametrize(
    ("value", "copied"),
    [("x" * 200, True), ("x" * 201, False), (["x" * 196], True), (["x" * 197], False)],  # as JSON
)
def test_fields_of_up_to_200_characters_are_copied_to_annotations(tmp_path, value, copied):
    extra = {"question_id": "q", "doc_id": "d", "field": value}
    pair = Support("1", "T.", "It is unknown.", task="negative", group="g", extra=extra)
    apply_judge(RuleJudge(), [pair], tmp_path / "a.jsonl")
    (row,) = rows_of(tmp_path / "a.jsonl")
    assert ("field" in row) is copied
    assert row["question_id"] == "q"


def test_results_and_annotations_have_version_1(tmp_path):
    pair = Support("1", "T.", "It is unknown.", task="negative")
    applied = apply_judge(RuleJudge(), [pair], tmp_path / "a.jsonl")
    assert applied.manifest["format_version"] == 1
    items = write_rows("items.jsonl", [{"id": "1", "text": "T.", "statement": "S."}])
    labels = write_rows("labels.jsonl", [{"id": "1", "value": True}])
    assert run("judge", "support", items, "--judge", labels, "--out", "r") == 0
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert (manifest["format"], manifest["format_version"]) == ("pnyx-results", 1)


@pytest.mark.parametrize(
    ("votes", "value", "partial", "share"),
    [
        (["yes", "partially"], True, None, 1.0),  # as many in part as in full
        (["yes", "partially", "partially"], True, True, 1.0),
        (["partially", "no", "no"], False, None, 2 / 3),
        (["yes", "no"], None, None, None),
    ],
)
def test_most_votes_of_yes_decide_whether_it_is_in_part(votes, value, partial, share):
    path = write_rows(
        "labels.jsonl",
        [{"id": "1", "value": vote, "annotator": f"p{n}"} for n, vote in enumerate(votes)],
    )
    question = Support("1", "T.", "S.")
    (answer,) = pnyx.ask(HumanLabels(path), [question])
    assert getattr(answer, "value", None) == value
    assert answer.notes.get("partial") == partial
    agreeing = answer.provenance.details.get("agreeing", {"value": None})
    assert agreeing["value"] == (share if share is None else pytest.approx(share))


# --- rubrics


@pytest.mark.parametrize("bounds", [(1, 1), (1, 12), (0, 11), (5, 4)])
def test_a_drafted_scale_has_two_to_eleven_points(bounds):
    low, high = bounds
    model: Any = None
    with pytest.raises(InputError, match=f"high: found {high}, expected {low + 1} to {low + 10}"):
        draft_rubric("Polite?", model, low=low, high=high)


@pytest.mark.parametrize("bounds", [(1, 2), (1, 11), (0, 10)])
def test_a_scale_of_two_and_of_eleven_points_is_drafted(bounds):
    low, high = bounds
    reply = {
        "name": "letters",
        "dimensions": [{"name": "politeness", "label": "Polite", "definition": "Is it kind?"}],
        "levels": [f"{n}: level" for n in range(low, high + 1)],
        "examples": [{"text": "Hi.", "scores": [{"dimension": "politeness", "score": high}]}],
    }
    with ChatServer(reply=json.dumps(reply)) as server, Store(":memory:") as store:
        draft = draft_rubric(
            "Polite?", StoredModel(endpoint_from([server.spec]), store), low=low, high=high
        )
    assert draft.dimensions is not None
    assert (draft.dimensions.scale.low, draft.dimensions.scale.high) == bounds


# --- listwise


def listed(*rows: dict[str, Any], definition: bool = True) -> list[QuestionDocuments]:
    base = {"question": "Q?", "document": "D."}
    return listed_by_question(
        ((n, {"id": str(n), **base, **row}) for n, row in enumerate(rows, 1)),
        "items.jsonl",
        definition=definition,
    )


def test_documents_of_a_question_are_listed_by_rank_and_then_as_they_come():
    (first, second) = listed(
        {"doc_id": "a", "group": "g"},
        {"doc_id": "b", "group": "g", "rank": 2},
        {"doc_id": "z", "group": "h", "question": "Other?"},
        {"doc_id": "c", "group": "g", "rank": 1},
        {"doc_id": "", "group": "g"},
    )
    assert first.doc_ids == ("c", "b", "a", "5")
    assert (first.ranking.id, second.ranking.query, second.doc_ids) == ("g", "Other?", ("z",))
    (defined,) = listed({"definition": "Costs."})
    assert defined.ranking.criterion == "Costs."
    assert listed({"definition": "Costs."}, definition=False)[0].ranking.criterion == ""


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"doc_id": "a"}, "items.jsonl:2: Q[?] a appears twice, first in line 1"),
        ({"stance": "pro"}, "stance: a listwise ranking is by relevance only"),
        ({"definition": "Else."}, "definition: differs from the first line"),
        ({"rank": "first"}, "rank: found first, expected a finite number"),
    ],
)
def test_documents_that_cannot_be_listed_together(second, problem):
    with pytest.raises(InputError, match=problem):
        listed({"doc_id": "a"}, {"doc_id": "b", **second})


def test_a_ranking_is_written_best_first_and_an_unscored_one_in_its_first_order():
    questions = listed(
        {"doc_id": "a", "group": "g"}, {"doc_id": "b", "group": "g"},
        {"doc_id": "c", "group": "h"}, {"doc_id": "d", "group": "h"},
    )  # fmt: skip
    by = Provenance("j")
    stream = StringIO()
    write_ranking(stream, questions, [Judged([1, 0], by), Unscored("refusal: no", by)], "my run")
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["g", "Q0", "b", "1", "2.0", "my_run"],
        ["g", "Q0", "a", "2", "1.0", "my_run"],
        ["h", "Q0", "c", "1", "2.0", "my_run"],
        ["h", "Q0", "d", "2", "1.0", "my_run"],
    ]
