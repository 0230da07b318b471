"""Which sentences a report quotes and in which order, and how pages word the tree's findings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pnyx.cases.limits import Limits
from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank
from pnyx.formats.reports.judged_report import (
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
)
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.reports.pages import tree_words
from pnyx.reports.pages.judged_reader import _state, is_judged_reports
from pnyx.reports.pages.report_pair import _nuggets_of_both
from pnyx.reports.tree.node_questions import ask_answers
from pnyx.reports.tree.opened_sentence import NodeAnswers, OpenSentence, TopicBank
from pnyx.reports.tree.plan import ReportPlan
from pnyx.reports.writing.extractive import ExtractiveReporter, _Candidates, _in_order

ROOM = Limits((("words", 100),))


def chosen(
    fit: list[list[float]],
    *,
    texts: list[str] | None = None,
    worth: list[float] | None = None,
    documents: list[int] | None = None,
    cosines: dict[tuple[int, int], float] | None = None,
    limits: Limits = ROOM,
) -> list[int]:
    """Return the sentences that are chosen, given how well they fit each part of a request."""
    count = len(fit)
    same = np.eye(count)
    for (a, b), cosine in (cosines or {}).items():
        same[a, b] = same[b, a] = cosine
    vectors = np.linalg.cholesky(same).astype(np.float32)
    texts = texts or [f"Fares fell in town {n}." for n in range(count)]
    documents = list(range(count)) if documents is None else documents
    candidates = _Candidates(texts, [[str(n)] for n in documents], documents, vectors)
    sources = np.array(worth or [0.0] * count, dtype=np.float32)
    fits = np.array(fit, dtype=np.float32)
    return ExtractiveReporter()._choose(candidates, fits, sources, limits)


@pytest.mark.parametrize(("fit", "is_chosen"), [(0.3001, True), (0.2999, False)])
def test_a_sentence_fits_a_part_from_a_cosine_of_0_3(fit, is_chosen):
    assert chosen([[0.1, fit], [0.9, 0.9]]) == [1, *[0] * is_chosen]


@pytest.mark.parametrize(("cosine", "both"), [(0.849, True), (0.851, False)])
def test_sentences_of_a_cosine_of_0_85_say_the_same(cosine, both):
    assert chosen([[0.9], [0.8]], cosines={(0, 1): cosine}) == [0, *[1] * both]


def test_the_best_fit_counts_as_much_as_that_to_the_whole_request():
    assert chosen([[0.6, 0.4], [0.5, 0.8]]) == [1, 0]  # 0.6 and 0.65
    assert chosen([[0.8, 0.4], [0.5, 0.6]]) == [0, 1]


@pytest.mark.parametrize(("less", "first"), [(0.15, 1), (0.25, 0)])
def test_a_sentence_that_leans_on_another_is_worth_0_2_less(less, first):
    """What a sentence newly covers, half of its fit, is also worth more: 0.7 + 0.5 to 0.7."""
    texts = ["This was because fares fell.", "Fares fell in the town."]
    fit = [[0.9], [0.9 - less * 0.7 / 1.2]]
    assert chosen(fit, texts=texts)[0] == first


@pytest.mark.parametrize(("less", "first"), [(0.45, 1), (0.55, 0)])
def test_the_worth_of_a_document_counts_half(less, first):
    fit = [[0.9], [0.9 - less * 0.7 / 1.2]]
    assert chosen(fit, worth=[0.0, 1.0])[0] == first


@pytest.mark.parametrize(("less", "second"), [(0.19, 2), (0.21, 1)])
def test_another_sentence_of_a_document_is_worth_0_2_less(less, second):
    """The first covers all: then only 0.7 of the worth counts."""
    fit = [[0.9], [0.8], [0.8 - less / 0.7]]
    assert chosen(fit, documents=[0, 0, 1])[:2] == [0, second]


@pytest.mark.parametrize(("less", "second"), [(0.14, 2), (0.16, 1)])
def test_what_is_near_to_a_chosen_sentence_is_worth_less(less, second):
    """0.3 * 0.5 for a cosine of one half."""
    fit = [[0.9], [0.8], [0.8 - less / 0.7]]
    assert chosen(fit, cosines={(0, 1): 0.5})[:2] == [0, second]


@pytest.mark.parametrize(("fit", "second"), [(0.94, 1), (0.96, 2)])
def test_half_of_what_a_sentence_newly_covers_counts(fit, second):
    """0.7 * 0.6 is as much as 0.7 * 0.5 * fit, and half of the mean of 0 and fit - 0.6."""
    assert chosen([[0.9, 0.6], [0.6, 0.6], [0.0, fit]])[:2] == [0, second]


def test_a_sentence_that_does_not_fit_the_limit_is_passed_over():
    texts = ["Fares fell.", "One two three four.", "Buses fill."]
    assert chosen([[0.9], [0.8], [0.7]], texts=texts, limits=Limits((("words", 4),))) == [0, 2]


def test_sentences_are_read_by_part_then_by_document():
    fit = np.array([[0.9, 0.1, 0.8], [0.8, 0.7, 0.1], [0.7, 0.1, 0.9], [0.6, 0.2, 0.6]])
    candidates: Any = SimpleNamespace(document_numbers=[5, 3, 3, 5])
    assert _in_order([2, 1, 0, 3], candidates, fit) == [2, 0, 3, 1]
    assert _in_order([1, 0], candidates, fit[:, :1]) == [1, 0]


# --- the words of the tree


def nugget(name: str, *given: bool | None, importance: str = "", aggregator: str = "OR", **more):
    answers = tuple(JudgedAnswer(f"a{n}", value) for n, value in enumerate(given))
    return JudgedNugget(name, name, importance, aggregator=aggregator, answers=answers, **more)


def test_nuggets_are_listed_unscored_first_and_vital_before_others():
    nuggets = (
        nugget("empty"),
        nugget("yes", True),
        nugget("no", False),
        nugget("open", None),
        nugget("vital no", False, importance="vital"),
        nugget("vital yes", True, importance="vital"),
    )
    listed = tree_words.nuggets_in_order(JudgedReport("q", "r", nuggets=nuggets))
    assert listed == [
        (4, nuggets[3]),
        (5, nuggets[4]),
        (3, nuggets[2]),
        (6, nuggets[5]),
        (2, nuggets[1]),
        (1, nuggets[0]),
    ]


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (nugget("n", True, aggregator="and"), "question, all answers"),
        (nugget("n", True, aggregator="OR"), "question"),
        (nugget("n", True, is_claim=True, aggregator="AND"), "claim"),
    ],
)
def test_the_kinds_of_nuggets(item, kind):
    assert tree_words.nugget_kind(item) == kind


@pytest.mark.parametrize(
    ("answer", "worded"),
    [
        (JudgedAnswer("a", None), ("unscored", "unscored")),
        (JudgedAnswer("a", True), ("yes", "answered")),
        (JudgedAnswer("a", False), ("no", "missed")),
        (JudgedAnswer("a", False, partial=True), ("no", "missed, given in part")),
    ],
)
def test_the_words_for_an_answer(answer, worded):
    assert tree_words.answer_worded(answer) == worded


def test_the_words_for_a_way_through_the_tree():
    step = TreePath(("relevant=yes", "attests=no", "odd=yes"), "penalty", -1.5, "d")
    assert tree_words.step_words(step) == (
        "the cited document is relevant; the cited document does not attest it; odd=yes"
    )
    assert tree_words.step_words(TreePath((), "unscored", None)) == "nothing could be asked"
    unscored = TreePath(("negative=unscored",), "unscored", None)
    assert tree_words.step_words(unscored).startswith("it is open whether it says that something")
    assert tree_words.step_outcome(step) == "penalty 1.5"
    assert tree_words.step_outcome(TreePath((), "neutral", 0.0)) == "neutral"
    assert tree_words.step_state(step) == "no"


def test_equal_ways_are_shown_once_and_unscored_ones_first():
    reward = [TreePath(("answers=yes",), "reward", 1.0, about) for about in ("a", "b", "a")]
    unscored = TreePath(("attests=unscored",), "unscored", None, "d")
    sentence = JudgedSentence("Fares fell.", steps=(*reward, unscored))
    assert tree_words.steps_together(sentence) == [
        (unscored, [("d", 1)]),
        (reward[0], [("a", 2), ("b", 1)]),
    ]


def test_a_finding_names_its_reason():
    judgement: Any = SimpleNamespace(value=False, probability=0.2, judge="j", unscored=None)
    line = {"explanation": "Half of it.", "notes": {"partial": True}}
    finding = tree_words.finding_of(judgement, line)
    assert finding == NodeAnswer(False, "j", "Half of it. (given in part, which is a no)", 0.2)
    assert tree_words.finding_of(judgement, {"explanation": 1}).why == ""
    judgement = SimpleNamespace(value=None, probability=None, judge="j", unscored="timeout")
    assert tree_words.finding_of(judgement, {"explanation": "Late."}).why == "timeout"
    assert tree_words.finding_worded(tree_words.NOT_JUDGED) == ("unscored", "not judged")
    assert tree_words.finding_worded(tree_words.VERBATIM)[0] == "quoted"
    assert tree_words.finding_worded(NodeAnswer(False), "attests") == ("no", "not supported")


def test_nuggets_of_two_reports_are_grouped_by_who_answers_them():
    states: dict[str, tuple[bool | None, bool]] = {"both": (True, True)}
    states |= {"first": (True, False), "second": (False, True)}
    states |= {"neither": (False, False), "open": (None, True)}
    sides = [
        JudgedReport("q", run, nuggets=tuple(nugget(n, pair[k]) for n, pair in states.items()))
        for k, run in enumerate(("a", "b"))
    ]
    only = nugget("only here", True)
    first = JudgedReport("q", "a", nuggets=(*sides[0].nuggets, only, nugget("no answers")))
    there = nugget("only there", False)
    second = JudgedReport("q", "b", nuggets=(*sides[1].nuggets, there))
    groups = _nuggets_of_both(first, second)
    assert [(heading, sign, [n.id for n in nuggets]) for heading, sign, nuggets in groups] == [
        ("Unscored in one", "unscored", ["open", "only here", "only there"]),
        ("Answered by a only", "mixed", ["first"]),
        ("Answered by b only", "mixed", ["second"]),
        ("Answered by both", "yes", ["both"]),
        ("Missed by both", "no", ["neither"]),
    ]


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ((), "neutral"),
        (("reward", "neutral"), "reward"),
        (("reward", "penalty"), "penalty"),
        (("penalty", "unscored"), "unscored"),
    ],
)
def test_the_worst_step_is_the_state_of_a_sentence(outcomes, state):
    steps = tuple(TreePath((), outcome, None) for outcome in outcomes)
    assert _state(JudgedSentence("Fares fell.", steps=steps)) == state


@pytest.mark.parametrize(
    ("line", "is_judged"),
    [
        ('{"report": {}, "judgments": [{"judgment_type_id": "A"}]}', True),
        ('{"report": {}, "judgments": []}', False),
        ('{"sentences": [], "nuggets": [], "run_id": "r", "topic_id": "7", "x": "relevant"}', True),
        ('{"sentences": [], "nuggets": [], "run_id": "r", "x": {"relevant": 1}}', False),
        ('{"sentences": [], "nuggets": [], "run_id": "r", "relevant": ', False),
        ('["sentences", "nuggets", "run_id", "relevant"]', False),
        ('{"sentences": [], "run_id": "r", "topic_id": "7", "relevant": 1}', False),
    ],
)
def test_judged_reports_are_known_by_their_first_line(tmp_path, line, is_judged):
    path = tmp_path / "f.jsonl"
    path.write_text(line + "\n")
    assert is_judged_reports(path) is is_judged


def test_the_state_of_a_sentence_is_that_of_its_citations():
    def cited(*values: bool | None) -> JudgedSentence:
        found = (
            JudgedCitation(str(n), NodeAnswer(True), NodeAnswer(v)) for n, v in enumerate(values)
        )
        return JudgedSentence("Fares fell.", tuple(found))

    states = [tree_words.sentence_state(cited(*values)) for values in ((True,), (False,), (None,))]
    assert states == ["yes", "no", "unscored"]
    shown = tree_words.legend([JudgedReport("q", "r", (cited(False), cited(True), cited(True)))])
    assert sorted(state for state, _ in shown) == ["no", "yes"]


# --- answers at a node


def test_one_yes_settles_a_node_and_the_highest_probability_is_its():
    judge = Provenance("j")
    answers = NodeAnswers("id")
    assert answers.finding() == NodeAnswer(False, "", "", None, "id")
    assert answers.take(Judged(False, judge, 0.2, explanation="Odd."), "nugget 1") is False
    assert answers.take(Unscored("timeout: late", judge), "nugget 2") is None
    assert answers.take(Unscored("refusal", judge), "nugget 3") is None
    assert answers.finding() == NodeAnswer(None, "j", "timeout: late", None, "id")
    assert answers.take(Judged(True, judge, 0.9, explanation="It says so."), "nugget 4") is True
    answers.take(Judged(True, judge, 0.7, explanation="So does this."), "nugget 5")
    assert answers.finding() == NodeAnswer(True, "j", "nugget 4: It says so.", 0.9, "id")
    answers = NodeAnswers("id")
    answers.take(Judged(True, judge), "nugget 1")
    assert answers.finding() == NodeAnswer(True, "j", "nugget 1", None, "id")


def test_a_sentence_that_gives_no_answer_says_so():
    """Of three answers, one is given in part; then one is unscored; then one is given."""
    nugget = Nugget("n", "Why?", tuple(NuggetAnswer(text) for text in "abc"))
    topic = TopicBank("7", NuggetBank("7", (nugget,)), ReportPlan(credit="any"))
    where = {"run_id": "r", "topic_id": "7", "sentence": 1}
    sentence = OpenSentence(topic, where, "A.", [], "A.", ())
    questions = list(ask_answers("p", "A.", [nugget], "answers", topic_id="7"))
    judge = Provenance("j")
    states = []
    partly = Judged(False, judge, notes={"partial": True})
    answers: list[Answer] = [partly, Unscored("late", judge), Judged(True, judge)]
    for question, answer in zip(questions, answers, strict=True):
        sentence.take(question, answer)
        states.append(sentence.judged().findings["answers"].value)
    assert states == [False, None, True]
    pairs = [list(some) for some in (sentence.partial, sentence.open, sentence.given)]
    assert pairs == [[("n", 0)], [("n", 1)], [("n", 2)]]
