"""Measures of judged reports: each worked by hand, and what must hold of any report."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argue_report import BANK, PlannedJudge, response
from pnyx.core.errors import InputError
from pnyx.core.records import Qrel
from pnyx.formats.reports.judged_report import (
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
)
from pnyx.reports import measure_report, measure_reports, read_judged_reports
from pnyx.reports.measures.exports import leaderboard_cells, nugget_qrels
from pnyx.reports.measures.registry import MAIN, REPORT_MEASURES
from pnyx.reports.tree.walk import judge_reports
from pnyx.stats import Bootstrap, Measured

(REPORT,) = judge_reports([response()], [BANK], PlannedJudge())

BY_HAND = {
    # name: (value, scored, asked)
    # Sentences 1 to 5 and 7 cite; 11 lacks a citation. Attested: 1, 2, 4, 5. Open: 7, whose text
    # is missing. 6 and 8 are negative, 9 needs no citation, 10 was said before: left out.
    "sentence_precision": (4 / 6, 6, 7),
    "sentence_precision_own": (3 / 5, 5, 6),  # 5 stands word for word in d6
    "sentence_precision_all": (4 / 10, 10, 11),
    # 1: d1 yes. 2: d1 yes, d3 yes. 3: d2 no. 4: d5 yes. 5: d6 yes. 7: d7 open.
    "citation_precision": (5 / 6, 6, 7),
    # d1, d1, d3, d2 by the bank, d5 by the judge; not d6; d7 open.
    "citation_relevance": (5 / 6, 6, 7),
    # The bank names d1, d2, d3 and d9; d9 is not cited.
    "citation_recall": (3 / 4, 4, 4),
    # n1: one of two answers of an AND, no. n2: one of an OR, yes. n3: yes. n4 has no answer.
    "nugget_recall": (2 / 3, 3, 3),
    # n1 is vital and weighs 2; n2 and n3 are okay and weigh 1.
    "nugget_recall_weighted": ((0 + 1 + 1) / (2 + 1 + 1), 3, 3),
    "nugget_recall_and": (1 / 3, 3, 3),  # n3 only
    "nugget_recall_or": (3 / 3, 3, 3),
    "answer_recall": (3 / 5, 5, 5),
    "f1": (2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3), 6 + 3, 7 + 3),  # 2/3
    "f1_weighted": (2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2), 6 + 3, 7 + 3),
    "strict_vital_score": (0 / 1, 1, 1),  # n1; n4 is vital, too, and has no answer
    "strict_all_score": (2 / 3, 3, 3),
    "vital_score": (0.5 / 1, 1, 1),  # n1 in part
    "all_score": ((0.5 + 1 + 1) / 3, 3, 3),
    "negatives_confirmed": (1 / 2, 2, 2),  # 6 yes, 8 no
    # By sentence: +1 +1 | +1 +1 +1 | -1 | +1 +1 | -1 | +1 | open, 0 | -1 | 0 | 0 | -1.
    "reward": (None, 15, 16),
    "penalty": (None, 15, 16),
    "net_reward": (None, 15, 16),
    "reward_per_step": ((8 - 4) / 15, 15, 16),
    "sentences": (11, 1, 1),
    "words": (8 + 10 + 10 + 6 + 5 + 10 + 7 + 8 + 10 + 10 + 9, 1, 1),
    "characters": (463, 1, 1),
    "citations": (7, 1, 1),
    "cited_documents": (6, 1, 1),  # d1, d2, d3, d5, d6, d7
}


def row_of(one):
    return one.value, one.scored, one.asked


def test_every_measure_by_hand():
    found = {name: row_of(one) for name, one in measure_report(REPORT).items()}
    assert found == {n: (pytest.approx(v), s, a) for n, (v, s, a) in BY_HAND.items()}


def test_sums_of_rewards_once_every_step_is_scored():
    scored = replace(REPORT, sentences=REPORT.sentences[:6] + REPORT.sentences[7:])
    found = measure_report(scored)
    # 1: 2, 2: 3, 4: 2, 6: 1; and 3, 5, 8, 11 a penalty each.
    assert row_of(found["reward"]) == (8, 14, 14)
    assert row_of(found["penalty"]) == (-4, 14, 14)
    assert row_of(found["net_reward"]) == (4, 14, 14)


@pytest.mark.parametrize("style", ["ids", "scores", "indices"])
def test_the_style_of_citations_changes_no_measure(style):
    (report,) = judge_reports([response(style)], [BANK], PlannedJudge())
    assert measure_report(report) == measure_report(REPORT)


def test_weights_can_be_chosen():
    # n1 weighs 3 and is not answered; n2 and n3 weigh 0.5 each and are.
    weights = {"VITAL": 3, "okay": 0.5}
    (run,) = measure_reports([REPORT], weights=weights).runs
    assert run.measures["nugget_recall_weighted"].value == pytest.approx(1 / 4)
    (run,) = measure_reports([REPORT], weights={"okay": 0}).runs
    assert row_of(run.per_topic["7"]["nugget_recall_weighted"]) == (0, 1, 1)  # n1 alone is left
    unknown = replace(REPORT, nuggets=tuple(replace(n, importance="odd") for n in REPORT.nuggets))
    (run,) = measure_reports([unknown], weights={"other": 0}).runs
    assert run.measures["nugget_recall_weighted"].value is None
    for bad in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="a number from 0"):
            measure_reports([REPORT], weights={"okay": bad})


def nugget(*given, aggregator="", importance="", partial=()):
    answers = tuple(JudgedAnswer("a", one, partial=n in partial) for n, one in enumerate(given))
    return JudgedNugget("n", "?", importance, aggregator, answers=answers)


@pytest.mark.parametrize(
    ("one", "strict", "lenient"),
    [
        (nugget(True), 1, 1),
        (nugget(False), 0, 0),
        (nugget(False, partial=[0]), 0, 0.5),
        (nugget(None), None, None),
        (nugget(True, False, aggregator="AND"), 0, 0.5),
        (nugget(False, None, aggregator="AND"), 0, None),  # the open answer would make it half
        (nugget(False, None, aggregator="AND", partial=[0]), 0, 0.5),
        (nugget(True, None, aggregator="AND"), None, None),
        (nugget(True, None, aggregator="OR"), 1, 1),
        (nugget(), None, None),
    ],
)
def test_nuggetizer_gives_half_for_what_is_given_in_part(one, strict, lenient):
    found = measure_report(JudgedReport("t", "r", nuggets=(one,)))
    assert (found["strict_all_score"].value, found["all_score"].value) == (strict, lenient)


def test_nuggetizer_as_its_authors_count():
    # Two vital nuggets, supported and in part, and an okay one that is not: nuggetizer's own
    # figures are .5, 1/3, .75, .5.
    nuggets = [nugget(True, importance="vital"), nugget(False, importance="vital", partial=[0])]
    nuggets.append(nugget(False, importance="okay"))
    named = tuple(replace(one, id=str(n)) for n, one in enumerate(nuggets))
    found = measure_report(JudgedReport("t", "r", nuggets=named))
    names = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")
    assert [found[n].value for n in names] == [0.5, pytest.approx(1 / 3), 0.75, 0.5]


def sentence(**findings):
    return JudgedSentence("s", findings={node: NodeAnswer(one) for node, one in findings.items()})


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (sentence(negative=False, needs_citation=True, said_before=False), (0, 1, 1)),
        (sentence(negative=False, needs_citation=True, said_before=True), (None, 0, 0)),
        (sentence(negative=False, needs_citation=False), (None, 0, 0)),
        (sentence(negative=True, unanswerable=False), (None, 0, 0)),
        (sentence(negative=None), (None, 0, 1)),
        (sentence(negative=False, needs_citation=None), (None, 0, 1)),
        (sentence(negative=False, needs_citation=True, said_before=None), (None, 0, 1)),
    ],
)
def test_which_sentences_without_citations_count(one, expected):
    assert row_of(measure_report(JudgedReport("t", "r", (one,)))["sentence_precision"]) == expected


def test_f1_needs_both_but_of_a_report_that_gives_nothing():
    lacking = sentence(negative=False, needs_citation=True, said_before=False)
    unknown = sentence(negative=None)
    for sentences, answered, expected in (
        ((), False, 0),
        ((lacking,), False, 0),
        ((lacking,), True, 0),
        ((unknown,), False, None),
        ((), True, None),
        ((), None, None),
        ((lacking,), None, None),
    ):
        report = JudgedReport("t", "r", sentences, (nugget(answered),))
        assert measure_report(report)["f1"].value == expected


def test_shares_lie_between_0_and_1_and_no_other_measure_does():
    amounts = "reward penalty net_reward reward_per_step sentences words characters citations"
    others = {*amounts.split(), "cited_documents"}
    ranges = {name: measure.range for name, measure in REPORT_MEASURES.items()}
    assert {name for name, interval in ranges.items() if interval is None} == others
    assert {interval for interval in ranges.values() if interval is not None} == {(0.0, 1.0)}


def test_an_empty_report_gives_nothing_and_an_empty_bank_asks_nothing():
    empty = measure_report(replace(REPORT, sentences=(), nuggets=()))
    shares = [n for n, m in REPORT_MEASURES.items() if m.is_share and n != "citation_recall"]
    said = {"citation_precision", *(n for n in REPORT_MEASURES if n.startswith("sentence_prec"))}
    said.add("citation_relevance")  # who says nothing gains nothing by it
    assert {n: empty[n] for n in shares} == {
        n: Measured(0.0 if n in said else None, 0, 0) for n in shares
    }
    assert row_of(empty["citation_recall"]) == (0, 4, 4)
    assert [empty[n].value for n in ("sentences", "words", "net_reward")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("sentences", "counted", "correct", "nuggets", "answered", "published"),
    [
        (1697, 1689, 1301, 1086, 514, (0.7702782711663706, 0.4732965009208103, 0.5863258384801264)),
        (234, 225, 165, 815, 253, (0.7333333333333333, 0.3104294478527607, 0.43620689655172407)),
        (400, 400, 8, 1086, 224, (0.02, 0.20626151012891344, 0.03646426827283087)),
    ],
)
def test_the_figures_that_auto_argue_published(
    sentences, counted, correct, nuggets, answered, published
):
    """Counts and figures of score files of TREC 2025 RAGTIME (hltime-lg.jina, .qwen, v1_qwen)."""
    yes, no = (JudgedSentence("s", (JudgedCitation("d", NodeAnswer(True), NodeAnswer(one)),))
               for one in (True, False))  # fmt: skip
    neutral = sentence(negative=False, needs_citation=False)
    report = JudgedReport(
        "all",
        "run",
        (yes,) * correct + (no,) * (counted - correct) + (neutral,) * (sentences - counted),
        (nugget(True),) * answered + (nugget(False),) * (nuggets - answered),
    )
    found = measure_report(report)
    names = ("sentence_precision", "nugget_recall", "f1")
    assert tuple(found[name].value for name in names) == pytest.approx(published, abs=1e-12)
    halves = [
        replace(
            report, topic_id="1", sentences=report.sentences[:100], nuggets=report.nuggets[::2]
        ),
        replace(
            report, topic_id="2", sentences=report.sentences[100:], nuggets=report.nuggets[1::2]
        ),
    ]
    (run,) = measure_reports(halves, bootstrap=Bootstrap(0)).runs
    assert tuple(run.pooled[name] for name in names) == pytest.approx(published, abs=1e-12)


# Runs ---------------------------------------------------------------------------------------------


def of(run, topic, given):
    """A report with one sentence whose citation attests it or not, and one nugget likewise."""
    citation = JudgedCitation("d", NodeAnswer(True), NodeAnswer(given))
    return JudgedReport(topic, run, (JudgedSentence("s", (citation,)),), (nugget(given),), ("d",))


def test_runs_are_means_over_topics_and_missing_topics_are_listed():
    given = [of("a", "1", True), of("a", "2", False), of("a", "3", None), of("b", "1", True),
             JudgedReport("2", "b", missing=True)]  # fmt: skip
    found = measure_reports(given, bootstrap=Bootstrap(0))
    a, b = found.runs
    assert found.topics == ("1", "2", "3")
    assert row_of(a.measures["nugget_recall"]) == (0.5, 2, 3)
    assert a.items["nugget_recall"] == (2, 3)
    assert (a.missing, b.missing) == ((), ("2", "3"))
    assert row_of(b.measures["nugget_recall"]) == (1.0, 1, 3)
    assert b.per_topic["2"]["nugget_recall"] == Measured(None, 0, 0)
    assert a.unscored == {"sentences": (1, 3), "citations": (1, 3), "nuggets": (1, 3),
                          "answers": (1, 3)}  # fmt: skip
    assert not b.unscored
    as_zero = measure_reports(given, missing="zero", bootstrap=Bootstrap(0)).runs[1]
    assert row_of(as_zero.measures["nugget_recall"]) == (pytest.approx(1 / 3), 3, 3)
    assert as_zero.missing == ("2", "3")
    assert (a.pooled["nugget_recall"], b.pooled["nugget_recall"]) == (0.5, 1)
    assert a.pooled["citation_recall"] == 1
    one = measure_reports(given, topics=["2", "9"], bootstrap=Bootstrap(0))
    assert [run.missing for run in one.runs] == [("9",), ("2", "9")]


def test_a_run_is_compared_with_the_baseline_on_the_topics_of_both():
    given = [of("a", str(n), n % 3 == 0) for n in range(12)]
    given += [of("b", str(n), n % 3 != 1) for n in range(11)]
    found = measure_reports(given, baseline="a", compared=("nugget_recall",), test="randomisation")
    (compared,) = found.comparisons
    # b also gives 2, 5 and 8: three of eleven differences are 1. All the same sign: p = 2 / 2^3.
    assert compared.test.difference == pytest.approx(3 / 11)
    assert compared.test.topics == 11
    assert (compared.test.p, compared.p_holm) == (0.25, 0.25)
    row = json.loads(json.dumps(found.row(), allow_nan=False))
    assert row["task"] == "report"
    assert row["runs"][0]["measures"]["nugget_recall"]["value"] == pytest.approx(4 / 12)
    assert "measures" in json.loads(json.dumps(measure_reports([REPORT]).row()))
    assert "nugget_recall" in repr(found)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="two reports"):
        measure_reports([REPORT, REPORT])
    with pytest.raises(InputError, match="no judged report"):
        measure_reports([])
    with pytest.raises(ValueError, match="baseline"):
        measure_reports([REPORT], baseline="b")
    with pytest.raises(ValueError, match="measure"):
        measure_reports([REPORT], compared=["f2"])
    named = measure_reports({"x": [REPORT], "y": [REPORT]})
    assert [run.name for run in named.runs] == ["x", "y"]


def test_cells_of_a_leaderboard():
    found = measure_reports([of("a", "1", True), of("b", "2", None)])
    cells = list(leaderboard_cells(found, ["f1"]))
    assert [(c.run_id, c.topic_id, c.value) for c in cells] == [("a", "1", 1.0), ("b", "2", None)]
    zero = measure_reports([of("a", "1", True), of("b", "2", None)], missing="zero")
    values = {(c.run_id, c.topic_id): c.value for c in leaderboard_cells(zero, ["f1"])}
    assert values == {("a", "1"): 1, ("a", "2"): 0, ("b", "1"): 0, ("b", "2"): None}
    assert {c.measure for c in leaderboard_cells(found)} == set(MAIN)


def test_diversity_qrels_of_judged_reports_and_of_a_bank():
    with pytest.raises(InputError, match="d7 is unscored"):
        nugget_qrels([REPORT])
    attesting = [("d1", "n1"), ("d1", "n2"), ("d3", "n2"), ("d5", "n3")]
    judged = [Qrel("7", doc_id, 1, n) for doc_id, n in attesting]
    judged += [Qrel("7", "d6", 0, n) for n in ("n1", "n2", "n3")]
    assert nugget_qrels([REPORT], unscored="skip") == judged
    with_zero = nugget_qrels([REPORT], unscored="zero")
    assert [q for q in with_zero if q not in judged] == [
        Qrel("7", "d7", 0, n) for n in ("n1", "n2", "n3")
    ]
    bank = nugget_qrels([REPORT], [BANK], unscored="skip")
    named = {(q.subtopic, q.doc_id) for q in bank if q.grade}
    assert named == {("n1", "d1"), ("n1", "d2"), ("n2", "d1"), ("n2", "d3"), ("n2", "d9")}
    assert {q.doc_id for q in bank if not q.grade} == {"d6"}
    spaced = replace(REPORT, nuggets=tuple(replace(n, id=f"{n.id} ?") for n in REPORT.nuggets))
    spaced = replace(spaced, sentences=tuple(
        replace(s, answers=tuple((f"{n} ?", a) for n, a in s.answers)) for s in spaced.sentences
    ))  # fmt: skip
    assert {q.subtopic for q in nugget_qrels([spaced], unscored="skip")} == {"1", "2", "3"}


# What holds of any report -------------------------------------------------------------------------

TRUTH = st.sampled_from([True, False, None])
KNOWN = st.booleans()


def reports(truth):
    finding = st.builds(NodeAnswer, truth)
    citation = st.builds(JudgedCitation, st.sampled_from("defg"), finding, finding)
    step = st.one_of(
        st.builds(lambda w: TreePath((), "reward", w), st.floats(0, 2)),
        st.builds(lambda w: TreePath((), "penalty", w), st.floats(-2, 0)),
        *([st.just(TreePath((), "unscored", None))] if truth is TRUTH else []),
    )
    nodes = ("negative", "unanswerable", "needs_citation", "said_before")
    sentences = st.builds(
        JudgedSentence,
        st.text(max_size=5),
        st.lists(citation, max_size=3, unique_by=lambda c: c.doc_id).map(tuple),
        st.fixed_dictionaries(dict.fromkeys(nodes, finding)),
        steps=st.lists(step, max_size=2).map(tuple),
    )
    answer = st.builds(JudgedAnswer, st.just("a"), truth)
    nuggets = st.builds(
        JudgedNugget,
        st.uuids().map(str),
        st.just("?"),
        st.sampled_from(["vital", "okay", "", "failed", "Vital"]),
        st.sampled_from(["AND", "OR", "", "SUM"]),
        answers=st.lists(answer, max_size=3).map(tuple),
    )
    return st.builds(
        JudgedReport,
        st.just("t"),
        st.just("r"),
        st.lists(sentences, max_size=4).map(tuple),
        st.lists(nuggets, max_size=4).map(tuple),
        st.lists(st.sampled_from("dexy"), max_size=4).map(tuple),
    )


@given(reports(TRUTH))
def test_a_measure_is_within_its_range_and_counts_what_it_rests_on(report):
    for name, m in measure_report(report).items():
        kind = REPORT_MEASURES[name]
        assert 0 <= m.scored <= m.asked, name
        assert m.value is None or kind.low <= m.value <= kind.high + 1e-12, name
        if m.scored == 0 and kind.is_share:
            assert m.value == (0 if report.empty and kind.zero_if_empty else None), name


@given(reports(TRUTH), st.randoms())
def test_the_order_of_sentences_and_nuggets_changes_nothing(report, draw):
    sentences, nuggets = list(report.sentences), list(report.nuggets)
    draw.shuffle(sentences)
    draw.shuffle(nuggets)
    other = measure_report(replace(report, sentences=tuple(sentences), nuggets=tuple(nuggets)))
    for name, m in measure_report(report).items():
        assert other[name].value == pytest.approx(m.value, abs=1e-12), name
        assert (other[name].scored, other[name].asked) == (m.scored, m.asked)


@given(reports(TRUTH))
def test_equal_weights_are_none_and_strict_is_at_most_lenient(report):
    found = measure_report(report, {"vital": 3, "okay": 3})
    others = {n.importance for n in report.nuggets if n.answers} - {"vital", "okay", "Vital"}
    if not others:
        assert found["nugget_recall_weighted"].value == pytest.approx(found["nugget_recall"].value)
        assert found["f1_weighted"].value == pytest.approx(found["f1"].value)
    one = measure_report(report, {})
    assert one["nugget_recall_weighted"].value == pytest.approx(one["nugget_recall"].value)


@given(reports(KNOWN))
def test_all_answers_are_at_most_the_banks_are_at_most_one(report):
    found = measure_report(report)
    names = ("nugget_recall_and", "nugget_recall", "nugget_recall_or")
    least, own, most = (found[name].value for name in names)
    assert (least is None) == (own is None) == (most is None)
    assert least is None or least <= own <= most
    for strict, lenient in (
        ("strict_vital_score", "vital_score"),
        ("strict_all_score", "all_score"),
    ):
        assert found[strict].value is None or found[strict].value <= found[lenient].value
    every = [m for n, m in found.items() if n not in ("f1", "f1_weighted")]
    assert all(m.scored == m.asked for m in every)


@given(reports(KNOWN), st.integers(0, 3))
def test_what_is_unscored_leaves_every_share_as_it_is_without_it(report, place):
    open_ = JudgedSentence("s", (JudgedCitation("z", NodeAnswer(None), NodeAnswer(None)),))
    unscored = nugget(None, importance="vital")
    more = replace(
        report,
        sentences=(*report.sentences[:place], open_, *report.sentences[place:]),
        nuggets=(*report.nuggets, unscored),
    )
    before, after = measure_report(report), measure_report(more)
    nothing_to_attest = before["sentence_precision"].asked == 0
    for name, kind in REPORT_MEASURES.items():
        if report.empty and kind.zero_if_empty:
            assert (before[name].value, after[name].value) == (0.0, None)
            continue
        if nothing_to_attest and name in ("f1", "f1_weighted"):
            assert after[name].value is None  # it was 0 where nothing is answered
        elif kind.is_share:
            assert after[name].value == before[name].value, name
            assert after[name].scored == before[name].scored, name


# Read again ---------------------------------------------------------------------------------------


def written(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_judged_reports_are_read_again(tmp_path):
    written(tmp_path / "reports.jsonl", REPORT.row(), {**of("b", "1", None).row(), "more": 1})
    read = list(read_judged_reports(tmp_path))
    assert read == [REPORT, of("b", "1", None)]
    assert list(read_judged_reports(tmp_path / "reports.jsonl")) == read


def _spoilt(change):
    row = json.loads(json.dumps(REPORT.row()))
    change(row)
    return row


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.pop("topic_id"), "no topic_id"),
        (lambda r: r["sentences"][0].pop("text"), r"no sentences\.0\.text"),
        (lambda r: r["sentences"][0]["citations"][0]["attests"].update(value="yes"),
         r'attests\.value: found "yes", expected a valid boolean'),
        (lambda r: r["nuggets"][0]["answers"][0].update(given=1), r"given: found 1, expected"),
        (lambda r: r["sentences"][0]["steps"][0].update(outcome="win"), r"outcome: found \"win\""),
        (lambda r: r["nuggets"][1].update(id="n1"), "the id 'n1' twice"),
        (lambda r: r["sentences"][0]["answers"].append(["n1", 2]), "answer 2 of nugget 'n1'"),
        (lambda r: r["sentences"][8]["findings"].update(odd={"value": True}), "found 'odd'"),
        (lambda r: r.update(missing=True), "no sentences"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place(change, said, tmp_path):
    path = written(tmp_path / "r.jsonl", of("b", "1", True).row(), _spoilt(change))
    with pytest.raises(InputError, match=said) as refused:
        list(read_judged_reports(path))
    assert (refused.value.line, refused.value.path) == (2, str(path))
    assert str(refused.value).count("\n") == 0


def test_no_report_and_two_of_one_topic_are_refused(tmp_path):
    with pytest.raises(InputError, match="holds no judged reports"):
        list(read_judged_reports(written(tmp_path / "none.jsonl")))
    with pytest.raises(InputError, match="duplicate run and topic 'run-a 7', first in line 1"):
        list(read_judged_reports(written(tmp_path / "two.jsonl", REPORT.row(), REPORT.row())))
    with pytest.raises(InputError, match=r"holds no reports\.jsonl"):
        list(read_judged_reports(tmp_path))
