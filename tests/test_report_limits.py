"""Limits and choices in judging, measuring and writing reports, each at its boundary."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from command import called
from pnyx.core.errors import InputError
from pnyx.core.records import (
    LeaderboardCell,
    Response,
    Sentence,
)
from pnyx.formats import Leaderboard
from pnyx.formats.reports.judged_report import (
    ANSWERED_ONLY,
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
)
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import ask
from pnyx.judging.questions import Shot, Support
from pnyx.reports.compare_tables import notes_on
from pnyx.reports.leaderboards.agreement import compare_leaderboards
from pnyx.reports.leaderboards.correction import CorrectedDifference
from pnyx.reports.measures.exports import leaderboard_cells, nuggetizer_rows, rests_on
from pnyx.reports.measures.nuggets import (
    all_score,
    checked_weights,
    nugget_recall_weighted,
    vital_score,
)
from pnyx.reports.measures.report_measures import measure_reports
from pnyx.reports.pages import report as report_page
from pnyx.reports.pages.report import _nuggets_asked
from pnyx.reports.runs import count_reports, plan_reports
from pnyx.reports.tree.open_report import DocumentSources
from pnyx.reports.tree.opened_sentence import uncited_steps
from pnyx.reports.tree.own_text import OwnTextJudge
from pnyx.reports.tree.plan import ReportPlan, Weights
from pnyx.reports.tree.repetition import repeated_sentences
from pnyx.reports.tree.shots import ReportExample, ReportShots
from pnyx.reports.tree.walk import opened_topics
from pnyx.reports.tree.word_rules import share_held
from pnyx.stats.base import Bootstrap, Measured
from pnyx.web.results.records import LinkedJudgement

NO_DRAWS = Bootstrap(0)


# --- measures


def nugget(name: str, *given: bool | None, importance: str = "", aggregator: str = "OR", **more):
    answers = tuple(JudgedAnswer(f"a{n}", value, **more) for n, value in enumerate(given))
    return JudgedNugget(name, name, importance, aggregator=aggregator, answers=answers)


def test_vital_nuggets_weigh_twice_and_weight_0_leaves_some_out():
    report = JudgedReport(
        "q",
        "r",
        nuggets=(
            nugget("1", True, importance=" Vital "),
            nugget("2", False, importance="okay"),
            nugget("3", False, importance="odd"),
            nugget("4", None, importance="okay"),
        ),
    )
    assert nugget_recall_weighted(report) == Measured(2 / 4, 3, 4)
    weights = checked_weights({"okay": 0, "OTHER": 3})
    assert nugget_recall_weighted(report, weights) == Measured(2 / 5, 2, 2)
    for weight in (-0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="expected a number from 0"):
            checked_weights({"vital": weight})


def test_half_is_given_for_a_part_of_an_answer_or_for_some_of_all():
    nuggets = (
        nugget("1", False, partial=True, importance="vital"),
        nugget("2", True, False, aggregator="AND"),
        nugget("3", False, False, aggregator="AND"),
        nugget("4", True),
        nugget("5", None),
    )
    report = JudgedReport("q", "r", nuggets=nuggets)
    assert all_score(report) == Measured((0.5 + 0.5 + 0 + 1) / 4, 4, 5)
    assert vital_score(report) == Measured(0.5, 1, 1)
    assert all_score(replace(report, notes=(ANSWERED_ONLY,))) == Measured(None, 0, 0)


def cited(*attested: bool | None) -> JudgedReport:
    """Return a report with a sentence for each verdict on its only citation."""
    sentences = [
        JudgedSentence(
            f"Fares fell {n}.",
            (JudgedCitation("d", NodeAnswer(True, "j"), NodeAnswer(value, "j")),),
            {},
        )
        for n, value in enumerate(attested)
    ]
    return JudgedReport("q", "r", tuple(sentences))


@pytest.mark.parametrize(("scored", "value"), [(4, 1.0), (3, None)])
def test_a_cell_of_a_leaderboard_rests_on_80_percent_of_its_items(scored, value):
    report = cited(*[True] * scored, *[None] * (5 - scored))
    result = measure_reports([report], bootstrap=NO_DRAWS)
    (cell,) = leaderboard_cells(result, ["sentence_precision"])
    assert (cell.value, cell.run_id, cell.topic_id) == (value, "r", "q")
    assert rests_on(result.runs[0].per_topic["q"], "f1") == scored / 5  # the least of its parts
    (lower,) = leaderboard_cells(result, ["sentence_precision"], 0.6)
    assert lower.value == 1.0


def test_nuggetizers_means_are_over_the_topics_that_have_a_value():
    cells = [
        LeaderboardCell("r", "1", "all_score", 0.5),
        LeaderboardCell("r", "2", "all_score", None),
        LeaderboardCell("r", "3", "all_score", 0.0),
    ]
    rows = list(nuggetizer_rows(cells))
    assert rows[-1] == {"qid": "all", "run_id": "r", "all_score": 0.25}
    assert rows[1] == {"qid": "2", "run_id": "r"}


def test_what_is_unscored_is_counted_by_the_main_measure_with_the_most():
    run = measure_reports([cited(True, None, None)], bootstrap=NO_DRAWS).runs[0]
    assert run.unscored == {"sentences": (2, 3), "citations": (2, 3)}


# --- leaderboards


def board(name: str, *values: float) -> Leaderboard:
    cells = [
        LeaderboardCell(f"r{n}", topic, "f1", value)
        for n, value in enumerate(values)
        for topic in ("1", "2")
    ]
    return Leaderboard(name, tuple(cells), ())


@pytest.mark.parametrize(("runs", "value"), [(2, None), (3, 1.0)])
def test_a_rank_correlation_needs_three_runs(runs, value):
    values = [0.1, 0.2, 0.3][:runs]
    result = compare_leaderboards([board("a", *values)], board("b", *values), bootstrap=NO_DRAWS)
    tau = result.comparisons[0].coefficients["kendall_tau_b"]
    assert (tau.value, tau.runs) == (value, runs)
    assert tau.why == ("" if value else "3 runs are needed, found 2")
    line = "a, f1: no Kendall's tau-b, tau_AP, tau_AP,b, tau_GAP, Spearman's rho, Pearson's r: "
    said = [note for note in notes_on(result, [], []) if note.startswith(line)]
    assert said == [] if value else [f"{line}3 runs are needed, found 2"]


@pytest.mark.parametrize(("topics", "pairs"), [(5, 0), (6, 3)])
def test_conclusions_need_six_topics_that_both_leaderboards_have(topics, pairs):
    values = {f"r{run}": {str(n): run + n / 10 for n in range(topics)} for run in range(3)}
    cells = [
        LeaderboardCell(run, topic, "f1", value)
        for run, of_topics in values.items()
        for topic, value in of_topics.items()
    ]
    boards = [Leaderboard(name, tuple(cells), ()) for name in "ab"]
    (comparison,) = compare_leaderboards(boards[:1], boards[1], bootstrap=NO_DRAWS).comparisons
    conclusions = comparison.conclusions.row()["pairs"]
    assert (conclusions["tested"], conclusions["agree"]) == (pairs, pairs)
    assert conclusions["differ_in_both"] == pairs  # all six differences have one sign: p = 2 / 64


@pytest.mark.parametrize(("p", "significant"), [(0.0499, True), (0.05, False), (None, False)])
def test_a_corrected_difference_is_significant_below_0_05(p, significant):
    estimate: Any = None
    assert CorrectedDifference("a", "b", estimate, p).significant is significant


def test_intervals_of_three_runs_are_warned_of():
    one = board("a", 0.1, 0.2, 0.3)
    result = compare_leaderboards([one], one, bootstrap=Bootstrap(20))
    assert "warning: 3 runs are few: the intervals are too narrow" in notes_on(result, [one], [])


def test_only_shares_are_pooled_over_topics():
    row = measure_reports([cited(True, False)], bootstrap=NO_DRAWS).runs[0].row()
    assert row["items"]["citation_precision"]["pooled"] == 0.5
    for name in ("reward", "penalty", "net_reward", "reward_per_step", "sentences", "words"):
        assert "pooled" not in row["items"][name]


# --- the tree


@pytest.mark.parametrize(("shared", "repeats"), [(17, 0), (16, None)])
def test_a_sentence_repeats_one_that_has_85_percent_of_its_words(shared, repeats):
    words = [f"word{n}" for n in range(20)]
    other = [*words[:shared], *(f"other{n}" for n in range(20 - shared))]
    assert repeated_sentences([" ".join(words), " ".join(other)]) == [None, repeats]


def test_of_a_sentence_10000_characters_are_compared():
    first = "alpha beta gamma".ljust(9_993)
    assert repeated_sentences([f"{first} omega1 x", "alpha beta gamma omega"]) == [None, None]
    assert repeated_sentences([f"{first} omega and more", "alpha beta gamma omega1"])[1] is None
    long = [f"{first} omega 1", f"{first} omega 2"]  # both are cut after omega and a space
    assert repeated_sentences(long) == [None, 0]


def test_a_negation_is_not_a_common_word():
    assert repeated_sentences(["Fares fell", "the fares fell"]) == [None, 0]
    assert repeated_sentences(["Fares did fall", "Fares did not fall"]) == [1, None]


@pytest.mark.parametrize(
    ("strict", "length", "is_too_long"),
    [(True, 2000, False), (True, 2001, True), (False, 2001, False)],
)
def test_the_longest_sentence_that_is_judged(strict, length, is_too_long):
    plan = ReportPlan(strict=strict)
    assert plan.is_too_long("a" * length) is is_too_long
    rules = {
        name: value for name, value in plan.row().items() if name in ("strict", "max_sentence")
    }
    assert rules == ({"strict": True, "max_sentence": 2000} if strict else {})


@pytest.mark.parametrize(
    ("findings", "outcome", "weight"),
    [
        ({}, "unscored", None),
        ({"negative": True, "unanswerable": True}, "reward", 1.0),
        ({"negative": True, "unanswerable": False}, "penalty", -1.0),
        ({"negative": False, "needs_citation": False}, "neutral", 0.0),
        ({"negative": False, "needs_citation": True, "said_before": True}, "neutral", 0.0),
        ({"negative": False, "needs_citation": True, "said_before": False}, "penalty", -1.0),
        ({"negative": False, "needs_citation": True, "said_before": None}, "unscored", None),
        ({"negative": False}, "neutral", 0.0),
    ],
)
def test_the_outcome_of_a_sentence_without_citations(findings, outcome, weight):
    answers = {node: NodeAnswer(value) for node, value in findings.items()}
    (step,) = uncited_steps(answers, Weights())
    assert (step.outcome, step.weight) == (outcome, weight)
    assert len(step.path) == len(findings)


@pytest.mark.parametrize(
    ("text", "share"),
    [("Fares fell in May.", 0.75), ("fares FELL, in", None), ("", None), ("Buses", 0.0)],
)
def test_the_share_of_words_that_two_texts_have_in_common(text, share):
    assert share_held(text, "Fares fell in June.") == share


def shot(name: str, yes: bool) -> ReportExample:
    return ReportExample(name, "attests", Shot("text", "statement", yes, False, ""), "", name)


@pytest.mark.parametrize(
    ("count", "problem"), [(1, "an even number"), (3, "an even number"), (0, "an even number")]
)
def test_half_of_the_examples_are_a_yes(count, problem):
    examples = [shot(str(n), n % 2 == 0) for n in range(8)]
    with pytest.raises(InputError, match=problem):
        ReportShots(examples, count)
    question = Support("q", "T.", "S.", extra={"node": "attests"})
    for size in (2, 8):
        shown = ReportShots(examples, size).shown(question).shots
        assert [sum(example.yes is yes for example in shown) for yes in (True, False)] == [
            size // 2,
            size // 2,
        ]
    with pytest.raises(InputError, match="found 4 examples at attests that are yes, expected 5"):
        ReportShots(examples, 10)


def test_ordinary_text_in_place_of_a_reports_has_500_or_10000_characters():
    """One sentence of 500 characters, and one report of 10,000, made of the same sentences."""
    asked: list[Support] = []

    class Refusing(Counting):
        async def answer(self, questions, emit):
            asked.extend(questions)
            for place, question in enumerate(questions):
                ordinary = question.id.endswith("/ordinary")
                judge = Provenance("refusing")
                emit(place, Judged(True, judge) if ordinary else Unscored("refusal: no", judge))

    questions = [
        Support(node, "Text.", "Statement.", extra={"node": node, "run_id": "r"})
        for node in ("attests", "answers", "negative")
    ]
    answers = ask(OwnTextJudge(Refusing()), questions)
    assert [getattr(answer, "reason", "") for answer in answers] == ["own_text: refusal: no"] * 3
    ordinary = {question.id: question for question in asked}
    attests, answered, negative = (ordinary[f"{q.id}/ordinary"] for q in questions)
    assert (attests.text, len(attests.statement)) == ("Text.", 500)
    assert (len(answered.text), answered.statement) == (500, "Statement.")
    assert (len(negative.text), len(negative.statement)) == (10_000, 500)
    assert negative.text.startswith(negative.statement)
    assert attests.statement.startswith("The town council met on Monday evening")


# --- runs


class Counting:
    """A judge that notes how many questions it is asked at once, and answers none."""

    name, card, kinds = "counting", "", frozenset({Support})

    def __init__(self) -> None:
        self.calls: list[int] = []

    async def answer(self, questions, emit):
        self.calls.append(len(questions))
        for place, _ in enumerate(questions):
            emit(place, Unscored("not asked", Provenance("counting")))


@pytest.mark.parametrize(("topics", "calls"), [(16, [16]), (17, [16, 1])])
def test_questions_about_16_reports_are_asked_together(topics, calls):
    responses = [
        Response(f"t{n:02}", "r", sentences=(Sentence("Fares fell."),)) for n in range(topics)
    ]
    judge = Counting()
    opened = opened_topics(responses, [], ReportPlan(), DocumentSources())
    assert plan_reports(judge, opened) == {"negative": topics}
    assert judge.calls == calls


def test_of_a_run_five_unknown_documents_are_named():
    unknown = NodeAnswer(False, "collection", "unknown")
    citations = tuple(JudgedCitation(f"d{n}", unknown, unknown) for n in range(6))
    report = JudgedReport("q", "r", (JudgedSentence("Fares fell.", citations, {}),))
    counts = count_reports([report, JudgedReport("q", "other", missing=True)])
    assert counts["unknown"] == {
        "r": {"citations": 6, "documents": 6, "first": ["d0", "d1", "d2", "d3", "d4"]}
    }
    assert (counts["runs"], counts["topics"], counts["reports"]) == (2, 1, 1)
    assert counts["missing"] == {"other": ["q"]}
    assert counts["nodes"]["attests"]["asked"] == 6


def planned_questions(capsys, tmp_path, cited, uncited, nuggets, *more):
    """Return the least, the expected and the most questions about a report."""
    sentences = [
        {"text": f"Fares fell in town {n}.", "citations": [f"d{i}" for i in range(cited)] * (n < 1)}
        for n in range(uncited + 1)
    ]
    about = {"run_id": "r", "topic_id": "7", "team_id": "t"}
    documents = {f"d{i}": {"id": f"d{i}", "text": f"Fares {i}."} for i in range(cited)}
    report = {"metadata": about, "responses": sentences, "documents": documents}
    report["references"] = list(documents)
    bank = {"query_id": "7", "format_version": "v3", "nugget_bank": nuggets, "claim_bank": {}}
    run, nuggets_file = tmp_path / "run.jsonl", tmp_path / "bank.jsonl"
    run.write_text(json.dumps(report) + "\n")
    nuggets_file.write_text(json.dumps(bank) + "\n")
    asked = ("judge", "report", run, "--nuggets", nuggets_file, "--plan", "--json", *more)
    status, out, err = called(capsys, *asked, "--judge", "http://127.0.0.1:1/v1#test")
    assert status == 0, err
    planned = json.loads(out)
    return [planned[name] for name in ("questions_least", "questions_expected", "questions")]


def test_how_many_questions_a_plan_expects(tmp_path, capsys, own_place):
    """What depends on open answers counts with its share: most citations hold, and so on."""

    def question(text, answers, *references):
        named = [{"doc_id": doc_id} for doc_id in references]
        rows = {f"a{n}": {"answer": f"Answer {n}.", "references": named} for n in range(answers)}
        return {"question": text, "question_id": text, "query_id": "7", "answers": rows}

    nuggets = {"n1": question("n1", 10, "d0"), "n2": question("n2", 0)}
    least, expected, most = planned_questions(capsys, tmp_path, 1, 20, nuggets)
    assert least == 20 + 1  # is each sentence negative, and does the document attest the first?
    assert most == least + 20 + 20 + 20 + 10
    assert expected == least + 0.95 * 20 + 0.05 * 20 + 0.6 * 20 + 0.8 * 10
    nuggets = {"n1": question("n1", 1)}
    counts = planned_questions(capsys, tmp_path, 10, 0, nuggets, "--attest", "relevant")
    assert counts == [10, round(10 + 0.8 * 10 + 0.8), 10 + 10 + 1]


# --- pages


def judgement(value: bool | None, probability: float | None = None) -> Any:
    return SimpleNamespace(value=value, probability=probability, judge="j", unscored="timeout")


def test_unscored_nuggets_come_first_and_those_that_are_not_answered_last():
    verdicts = [judgement(False), judgement(True), judgement(None), judgement(True, 0.3)]
    links = [LinkedJudgement(verdict, 0, "answers", "") for verdict in verdicts]
    links.append(LinkedJudgement(judgement(None), 0, "attests", ""))
    catalogue: Any = SimpleNamespace(line=lambda _: {"answer": 1})
    asked = _nuggets_asked(catalogue, links)
    assert [verdict for verdict, *_ in asked] == [verdicts[n] for n in (2, 1, 3, 0)]
    assert [position for *_, position in asked] == [1] * 4


def test_six_other_reports_on_a_topic_are_shown_with_a_report(monkeypatch):
    step = TreePath((), "unscored", None)
    report = JudgedReport("q", "r", (JudgedSentence("A."), JudgedSentence("B.", steps=(step,))))
    rows = [SimpleNamespace(id=n, topic="q", kind="judged") for n in range(9)]
    catalogue: Any = SimpleNamespace(report=lambda *_: rows[2], reports=lambda topic: rows)
    monkeypatch.setattr(report_page, "_read", lambda *_: (report, {"supports": None}))
    address: Any = SimpleNamespace(parts=("s", "r", "q"))
    values = report_page._show_report(catalogue, address).values
    assert [row.id for row in values["others"]] == [0, 1, 3, 4, 5, 6]
    assert values["unscored"] == [(2, step)]
    assert values["is_judged"] is True
