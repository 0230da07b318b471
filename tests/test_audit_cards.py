"""What cards and pages of trials say, and what of a judge is compared with the example's labels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import run, runner, write_rows
from pnyx.audit.card import _advice, _by_results, _measured, _unknown, alpha_of, cost_of, make_card
from pnyx.audit.display.card import _dollars, card_markdown, card_sections
from pnyx.audit.example import (
    Unlabelled,
    argued_agreement,
    judge_agreement,
    search_agreement,
)
from pnyx.audit.pages.trials import _answer, _word, examples_of
from pnyx.audit.run_command import AuditRunSpec, _said
from pnyx.audit.trial_run import StressSpec, TrialJudgeSpec, task_of
from pnyx.core.errors import InputError, OptionError
from pnyx.core.records import Argument, Perspective, Premise, Question
from pnyx.formats.bundled_example import Example, ExampleLabel, ExampleWording
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Support

judge = runner("judge")


# -- Cards ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers of labels on 8 items, of which the first is answered wrongly."""
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"i{n}", "text": f"Text {n}.", "statement": "So it is."} for n in range(8)]
    write_rows("items.jsonl", items)
    write_rows("said.jsonl", [{"id": f"i{n}", "value": n % 2 == 1 or n == 0} for n in range(8)])
    write_rows("people.jsonl", [{"id": f"i{n}", "value": n % 2 == 1} for n in range(8)])
    assert judge("support", "items.jsonl", "--judge", "said.jsonl", "--out", "R") == 0
    return tmp_path / "R"


def test_a_card_of_results_and_labels(folder):
    card = make_card([folder], ["people.jsonl"])
    (asked,) = card["asked"]
    assert asked["measures"]["accuracy"]["value"] == 7 / 8
    assert asked["outcomes"]["value"].split().count("1") == 5
    assert asked["cost"] == {
        "calls": 0, "from_store": 0, "tokens_per_answer": 0, "usd_per_answer": 0.0,
    }  # fmt: skip
    assert card["not_known"][1:] == ["calibration: no probabilities with labels"]
    plain = make_card([folder], left_out={"self": "no text"})
    assert "agreement" not in plain["asked"][0]
    assert plain["not_known"][1:] == [
        "trial self: left out: no text",
        "agreement with people: no labels were given",
        "calibration: no probabilities with labels",
    ]
    assert "self" not in plain["not_known"][0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (None, "expected results of pnyx judge or of pnyx audit run, found none"),
        ("labels", "no answer"),
        ("both", "no label belongs to an answer of these results"),
        ("manifest", "holds a file that pnyx did not write in this form"),
    ],
)
def test_what_makes_no_card_is_refused(folder, change, problem):
    folders, labels = [folder], []
    if change is None:
        folders = []
    elif change == "manifest":
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "counts": None}))
    else:
        labels = [write_rows("other.jsonl", [{"id": "x", "value": True}])]
    if change == "both":
        assert judge("support", "items.jsonl", "--judge", "said.jsonl", "--out", "T") == 0
        folders = [folder, folder.parent / "T"]
    with pytest.raises(InputError, match=problem):
        make_card(folders, labels)


def test_labels_of_some_results_are_enough(folder):
    write_rows("more.jsonl", [{"id": "x", "text": "T.", "statement": "S."}])
    write_rows("yes.jsonl", [{"id": "x", "value": True}])
    assert judge("support", "more.jsonl", "--judge", "said.jsonl", "--out", "U") in (0, 3)
    card = make_card([folder, folder.parent / "U"], ["people.jsonl"])
    assert [("agreement" in result) for result in card["asked"]] == [True, False]
    assert run("audit", "card", "R", "U", "--labels", "people.jsonl", "--out", "c.md") == 0


def test_a_trial_alone_takes_no_labels(folder):
    items = [
        {"id": f"s{n}", "text": f"Text {n}. It is {n}.", "statement": "So it is.", "group": f"g{n}"}
        for n in range(3)
    ]
    write_rows("items.jsonl", items)
    with ChatServer(reply=planted.verdict(True, 1.0)) as server:
        asking = ("audit", "run", "items.jsonl", "--trial", "format", "--judge", server.spec)
        assert run(*asking, "--out", "S", "--tolerance", "1") == 0
    with pytest.raises(InputError, match=r"^--labels requires results of pnyx judge"):
        make_card(["S"], ["people.jsonl"])
    card = make_card(["S"])
    (trial,) = card["trials"]
    assert (trial["trial"], trial["outcome"]) == ("format", "passed")
    assert [name for name, _ in card_sections(card)] == [
        "When not to use it", "What it was asked", "Trial: format, support",
    ]  # fmt: skip


def trial(name: str, outcome: str, **more: Any) -> dict[str, Any]:
    return {"trial": name, "task": "support", "outcome": outcome, "problems": [], **more}


def test_a_failed_trial_is_advised_against_with_its_problems():
    problems = [{"said": "it fell"}, {"said": "it rose"}]
    card = {
        "trials": [trial("noise", "failed", problems=problems), trial("order", "passed"),
                   trial("length", "unclear"), trial("self", "unscored")],
        "asked": [],
    }  # fmt: skip
    (advice,) = _advice(card)
    assert advice == {
        "advice": "Do not use it to estimate how many of the retrieved documents are irrelevant",
        "why": "trial noise on support failed: it fell; it rose",
    }
    lines = list(_unknown(card))
    assert lines[0] == (
        "trials that were not run: hallucination, joint, injection, paraphrase, repeat, stance, "
        "format, asker, verbosity"
    )
    assert lines[1:] == [
        "trial length on support: unclear",
        "trial self on support: unscored",
        "agreement with people: no labels were given",
        "calibration: no probabilities with labels",
    ]


def test_the_figures_behind_advice():
    alpha = {"alpha_ordinal": {"value": 0.5, "high": 0.6, "low": 0.4}}
    people = {"alpha_ordinal": {"value": 0.8, "high": 0.9, "low": 0.7}}
    result = {
        "task": "quality",
        "counts": {"asked": 10, "unscored": 1},
        "agreement": {"compared": [
            {"kind": "human-judge", "between": ["j", "ann"], "mean": alpha},
            {"kind": "human-human", "between": ["bob", "ann"], "mean": people},
        ]},
        "calibration": {"measures": {
            "ece": {"value": 0.2, "low": None, "high": None},
            "auroc": {"value": 0.6, "low": 0.45, "high": 0.7},
        }},
    }  # fmt: skip
    assert [line["why"] for line in _by_results(result)] == [
        "1 of 10 quality items are unscored",
        "alpha_ordinal with ann is 0.500, below 0.667 (quality)",
        "alpha_ordinal at most 0.600 with people, who have at least 0.700 (quality)",
        "ECE 0.200, above 0.1 (quality)",
        "AUROC 0.600, from 0.450 (quality)",
    ]
    none = {"task": "quality", "counts": {"asked": 0, "unscored": 0}, "calibration": None}
    assert list(_by_results(none)) == []
    tasks = ("support", "relevance", "stance", "quality", "rag", "preference")
    assert [alpha_of(task) for task in tasks] == ["alpha_nominal"] * 3 + ["alpha_ordinal"] * 3


def test_measures_of_probabilities_are_calibration():
    some, none = {"value": 0.5, "scored": 1}, {"value": None, "scored": 0}
    row = {"measures": {"auroc": some, "f1": none, "ece": some, "brier": none}, "reliability": [4]}
    assert _measured(row) == {
        "calibration": {"measures": {"auroc": some, "ece": some}, "reliability": [4]},
        "measures": {"f1": none},
    }
    unstated = {"measures": {"f1": some, "brier": none}}
    assert _measured(unstated) == {"calibration": None, "measures": {"f1": some}}


def test_the_costs_of_shared_and_stored_replies():
    manifest = {
        "counts": {"asked": 4},
        "models": [{"spent": {"cost_usd": 0.02}}, {"spent": {"cost_usd": 0.04}}],
        "store": {"asked": 5, "shared": 2, "from_store": 0},
        "tokens": {"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 90},
    }  # fmt: skip
    assert cost_of(manifest) == {
        "calls": 7, "from_store": 0, "tokens_per_answer": 3, "usd_per_answer": pytest.approx(0.015),
    }  # fmt: skip
    stored = cost_of({**manifest, "store": {"asked": 5, "from_store": 1}})
    assert (stored["calls"], stored["from_store"], stored["usd_per_answer"]) == (6, 1, None)
    assert cost_of({**manifest, "counts": {"asked": 0}})["tokens_per_answer"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not known"), (0.0, "0"), (0.5, "0.5"), (0.00012, "0.00012"), (1e-9, "0"), (2.0, "2")],
)
def test_dollars_have_no_trailing_zeros(value, text):
    assert _dollars(value) == text


def test_a_card_in_markdown(folder):
    page = card_markdown(make_card([folder], ["people.jsonl"]))
    assert "## Agreement with people: support" in page
    assert "## Calibration" not in page
    assert "| items.jsonl (8)" in page.replace("\\", "")


# -- Pages of trials ------------------------------------------------------------------------------


def test_the_items_whose_answers_moved_most_are_shown():
    """The second item changes its verdict, the first its probability by 0.3, the third nothing."""
    items, answers = [], []
    for n, (before, after, value) in enumerate(
        [(0.9, 0.6, True), (0.6, 0.4, False), (0.9, 0.9, True)]
    ):
        for variant, p, said in (("clean", before, True), ("changed", after, value)):
            items.append({"id": f"{n}~{variant}", "of": str(n), "variant": variant,
                          "text": f"{variant} {n}", "statement": "S."})  # fmt: skip
            answers.append(
                {"id": f"{n}~{variant}", "value": said, "probability": p, "unscored": None}
            )
    items.append({"id": "alone", "text": "T."})
    examples = examples_of(items, answers)
    assert [example.item for example in examples] == ["1", "0", "2"]
    assert [round(example.distance, 6) for example in examples] == [1.2, 0.3, 0.0]
    first = examples[0]
    assert first.texts == {"statement": "S.", "text": "clean 1"}
    assert [(c.variant, c.texts, c.answer, c.changed) for c in first.changes] == [
        ("clean", {}, "yes", False), ("changed", {"text": "changed 1"}, "no", True),
    ]  # fmt: skip
    many = [{"id": f"{n}{k}", "of": n, "text": "T."} for n in range(6) for k in "ab"]
    assert len(examples_of(many, [])) == 5


def test_an_answer_in_words():
    assert _answer([]) == ("", None, "not asked")
    row = {"value": 4.0, "probability": None, "unscored": None, "dimension": "clarity"}
    missing = {"value": None, "probability": 0.5, "unscored": "timeout", "dimension": "depth"}
    assert _answer([row, missing]) == ("clarity 4", None, "")
    assert _answer([missing, missing]) == ("", 0.5, "timeout")
    assert [_word(value) for value in (True, False, 2.5, "a")] == ["yes", "no", "2.5", "a"]


# -- Options of trials ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "clusters", "needed", "said"),
    [
        ("no text", None, None, "left out: no text"),
        (None, 5, None, "no number is enough (--tolerance)"),
        (None, 5, 5, ""),
        (None, 4, 5, "too few: may stay unclear"),
    ],
)
def test_what_is_said_of_a_planned_trial(why, clusters, needed, said):
    assert _said({"why_not": why, "clusters": clusters, "clusters_needed": needed}) == said


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pairs": "p"}, "--write-pairs requires --trial self"),
        ({"pairs": "p", "trials": ("self", "order")}, "--write-pairs requires --trial self"),
        ({"pairs": "p", "trials": ("self",), "formats": ("direct",)}, "--write-pairs requires"),
        ({"formats": ("a", "b"), "trials": ("order",)}, "leave out --trial"),
        ({"formats": ("a", "b"), "trials": ("noise",)}, "leave out --trial"),
        ({"formats": ("all",), "trials": ("noise",)}, "leave out --trial"),
    ],
)
def test_options_of_a_card_that_exclude_each_other(options, problem):
    with pytest.raises(OptionError, match=problem):
        AuditRunSpec(**options).check()


def test_options_of_a_card_that_go_together():
    AuditRunSpec(pairs="p", trials=("self",)).check()
    AuditRunSpec(formats=("a", "b"), trials=("noise", "hallucination")).check()
    AuditRunSpec(formats=("a", "a"), trials=("order",)).check()
    AuditRunSpec(formats=("a",), trials=("noise",)).check()
    assert AuditRunSpec().margin == 0.1
    assert [AuditRunSpec(formats=f).compares_formats for f in (("a",), ("a", "b"), ("all",))] == [
        False, True, True,
    ]  # fmt: skip


def test_levels_of_a_trial_by_default():
    options = StressSpec()
    assert options.plan_of("noise").levels == (0.0, 0.1, 0.2, 0.5, 0.7, 1.0)
    assert options.plan_of("joint").levels == (0.0, 0.5, 1.0)
    assert StressSpec(levels=(0.0, 0.3)).plan_of("joint").levels == (0.0, 0.3)
    plan = options.plan_of("order")
    assert (plan.sentences, plan.padding) == ((0, 1, 2, 5), (0.5, 1.0, 2.0))
    assert (plan.orders, plan.repeats, plan.tolerance, plan.limit) == (2, 3, 0.1, 0)


def test_stored_replies_need_a_model(tmp_path):
    spec = TrialJudgeSpec(offline=True)
    with pytest.raises(OptionError, match="--from-store requires a language model, or --editor"):
        StressSpec(out=str(tmp_path / "S")).check_judge(spec)
    with pytest.raises(OptionError, match="items from standard input require --task"):
        task_of("-", None)
    with pytest.raises(OptionError, match=r"^--task: found 'odd', expected one of support, "):
        task_of("-", "odd")


@pytest.mark.parametrize(
    ("row", "task"),
    [
        ({"id": "a", "text": "T.", "statement": "S."}, "support"),
        ({"id": "a", "question": "Q?", "document": "D."}, "relevance"),
        ({"id": "a", "question": "Q?", "a": "A.", "b": "B."}, "preference"),
        ({"id": "a", "text": "T.", "dimensions": ["clarity"]}, "quality"),
        ({"id": "a", "query": "Q?", "documents": ["D.", "E."]}, "ranking"),
    ],
)
def test_the_task_of_items_by_their_fields(tmp_path, row, task):
    path = write_rows(tmp_path / "items.jsonl", [row])
    assert task_of(path, None) == task
    assert task_of(path, "stance") == "stance"
    with pytest.raises(InputError, match="the fields are of no task: name the task with --task"):
        task_of(write_rows(tmp_path / "odd.jsonl", [{"id": "a"}]), None)
    with pytest.raises(InputError, match="holds no items"):
        task_of(write_rows(tmp_path / "none.jsonl", []), None)


# -- The example's labels -------------------------------------------------------------------------


def argument(name: str, conclusion: str) -> Argument:
    return Argument(name, conclusion, (Premise("So it is."),))


EXAMPLE = Example(
    arguments=(argument("a", "Zoos help."), argument("b", "Zoos harm."), argument("c", "Tea."),
               argument("d", "Zoos do both.")),
    questions=(Question("q", "Should zoos stay?"), Question("r", "Should tea stay?")),
    perspectives=(Perspective("p", "q", "They help."), Perspective("s", "q", "They harm."),
                  Perspective("t", "r", "It is hot.")),
    labels=(
        ExampleLabel("q", "a", 2, "pro", 3, frozenset("p")),
        ExampleLabel("q", "b", 1, "con", 1, frozenset()),
        ExampleLabel("q", "c", 0, "none", 1, frozenset()),
        ExampleLabel("q", "d", 2, "both", 2, frozenset("ps")),
        ExampleLabel("r", "c", 2, "pro", 3, frozenset()),
    ),
    wordings=(ExampleWording("q", "own_words", ""), ExampleWording("q2", "other_words", "Zoos?"),
              ExampleWording("r", "own_words", "")),
)  # fmt: skip


def figures(measured: Any) -> dict[str, tuple[Any, int, int]]:
    return {name: (m.value, m.scored, m.asked) for name, m in measured.items()}


def test_rankings_are_compared_with_labels():
    """Of ten places three or one are relevant; one or both of two perspectives are covered."""
    measured = search_agreement({"q": ["c", "a", "x", "b", "d"], "r": ["a"]}, EXAMPLE)
    assert measured["P@10"].value == pytest.approx((0.3 + 0.0) / 2)
    assert measured["perspectives@10"].value == pytest.approx((1.0 + 0.0) / 2)
    late = {"q": [*"xyzuvwklm", "a", "d"], "r": ["c"]}
    measured = search_agreement(late, EXAMPLE)
    assert measured["P@10"].value == pytest.approx((0.1 + 0.1) / 2)  # the eleventh does not count
    assert measured["perspectives@10"].value == pytest.approx((0.5 + 0.0) / 2)


class Scripted:
    """A judge that says yes to what has a word, and nothing on other matters."""

    name, card, kinds = "scripted", "", frozenset({Support})

    async def answer(self, questions: Any, emit: Any) -> None:
        by = Provenance("scripted")
        for position, question in enumerate(questions):
            if question.task == "stance" and "both" not in question.text:
                pro = question.id.startswith("stance/pro")
                emit(position, Judged(pro == ("help" in question.text), by, 0.5))
            elif question.task == "stance":
                emit(position, Unscored("timeout", by))
            else:
                emit(
                    position,
                    Judged("Zoos" in question.text, by, 0.9 if "Zoos" in question.text else 0.1),
                )


def test_a_judge_is_compared_with_labels():
    measured = figures(judge_agreement(Scripted(), {"q": ["a", "c"], "r": ["c"]}, EXAMPLE))
    assert measured["relevance.accuracy"] == (pytest.approx(2 / 3), 3, 3)
    assert measured["lookalikes.accuracy"] == (pytest.approx(4 / 5), 5, 5)
    # On q each of four texts has two perspectives, on r one has one: a p, d p and d s are yes.
    assert measured["support.accuracy"] == (pytest.approx((2 + 2 + 2 + 1 - 1 - 1 + 1) / 9), 9, 9)
    assert measured["stance.accuracy"] == (pytest.approx(2 / 3), 3, 3)
    assert set(measured) == {
        *(f"{task}.{name}" for task in ("relevance", "lookalikes", "support")
          for name in ("accuracy", "f1", "auroc")),
        "stance.accuracy",
    }  # fmt: skip


def test_a_judge_that_is_unscored_on_a_side_has_no_verdict_there():
    both = replace(EXAMPLE, labels=(replace(EXAMPLE.labels[3], stance="pro"), EXAMPLE.labels[0]))
    measured = figures(judge_agreement(Scripted(), {"q": ["a", "c"]}, both))
    assert measured["stance.accuracy"] == (1.0, 1, 2)


def test_cited_documents_are_compared_with_labels():
    cited = {("q", "pro"): ["a", "b", "c", "d", "x"], ("q", "con"): ["b"], ("q2", "pro"): ["a"]}
    measured = figures(argued_agreement(cited, EXAMPLE))
    assert measured["own_words.on_question"] == (pytest.approx(4 / 6), 6, 6)
    assert measured["own_words.right_side"] == (pytest.approx(2 / 3), 3, 3)
    assert measured["other_words.on_question"] == (0.0, 1, 1)
    assert measured["other_words.right_side"] == (None, 0, 0)
    assert measured["cited.strong"] == (0.25, 4, 4)


def test_documents_without_labels():
    class Engine:
        size = 4

        def __len__(self) -> int:
            return self.size

        def fetch(self, ids: Any) -> list[Any]:
            return [argument(name, "Zoos help.") for name in ids]

    engine: Any = Unlabelled(Engine())  # type: ignore[arg-type]
    assert (len(engine), engine.size) == (4, 4)
    (document,) = engine.fetch(["a"])
    assert (document.id, document.text) == ("a", "Zoos help. So it is.")
    assert not isinstance(document, Argument)
