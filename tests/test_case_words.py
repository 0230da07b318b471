"""What an argued case says of its sides, passages and verdicts, word for word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from case_fixture import JUDGE, argued, build_case, no, one_sided_case, unscored, yes
from pnyx.cases.case import (
    Undecided,
    passages,
    percent,
    sentence_lines,
    verdict_rows,
    why_empty,
    with_settings,
)
from pnyx.cases.model_sides import Weighing
from pnyx.cases.page.build import (
    _checks,
    _label,
    _measure,
    _numbers,
    _threshold,
    _undecided,
    _unsure,
    _verdict,
    view_case,
)
from pnyx.cases.page.markdown import render_markdown
from pnyx.cases.page.notes import (
    asked_back,
    doubts,
    label_notes,
    near_said,
    said_of_number,
    said_of_placing,
    said_of_precision,
)
from pnyx.cases.page.report import _legend
from pnyx.cases.rows import case_row
from pnyx.cases.side_choice import Expected
from pnyx.core.records import Argument, Citation, Document, Premise, Response, Sentence
from pnyx.display.states import STATES
from pnyx.judging.answers import QUOTED, Judged, Provenance
from pnyx.search.topics import LabelledTopic, TopicMatch
from pnyx.stats.base import Measured

EMPTY = one_sided_case().sides[1]
MAYBE = Undecided("a", yes(0.7), {"pro": yes(0.6), "con": no(0.4)})


# -- Sides without an argument --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "case", "expected"),
    [
        ({}, {}, "No passage that argues a side of the question was found."),
        ({"considered": 1}, {}, "One passage argued this side, but no sentence could be drawn."),
        ({"considered": 2, "failed": True}, {"about": 3},
         "2 passages argued this side, but the writer returned nothing usable."),
        ({"less_sure": (MAYBE,)}, {"certainty": 0.7, "about": 2},
         "No passage is likely enough to argue this side (at least 70 %): one passage may argue "
         "it, listed below."),
        ({}, {"about": 1},
         "No passage was found for this side. One passage argues the other side, or it is not "
         "clear which."),
        ({}, {"about": 2, "unscored": 1, "unscored_reason": "timeout:  of\nthe server"},
         "No passage was found for this side. 2 passages argue the other side, or it is not clear "
         "which. For one passage a verdict is missing: timeout: of the server."),
        ({}, {"unscored": 2, "unscored_reason": "refusal"},
         "It is unknown whether any passage argues this side. For 2 passages a verdict is "
         "missing: refusal."),
    ],
)  # fmt: skip
def test_why_a_side_is_empty(side, case, expected):
    empty = replace(EMPTY, **side)
    assert why_empty(replace(one_sided_case(), **case), empty) == expected


def test_an_argued_side_is_not_empty():
    case = one_sided_case()
    assert why_empty(case, case.sides[0]) == ""
    assert (passages(1), passages(2)) == ("one passage", "2 passages")
    assert (percent(0.345), percent(1.0)) == ("34 %", "100 %")


# -- Notes ----------------------------------------------------------------------------------------


def test_how_the_passages_were_placed():
    case = replace(one_sided_case(), passed_over=0)
    base = "Passages were put 11 on the pro side, 0 on the con side"
    end = ". One that argues both sides is counted on each."
    assert said_of_placing(case) == f"{base}, 0 undecided{end}"
    sides = (case.sides[0], replace(EMPTY, less_sure=(MAYBE, MAYBE)))
    case = replace(case, sides=sides, undecided=(MAYBE,), passed_over=4, unscored=3)
    assert said_of_placing(case) == (
        f"{base}, 2 less likely on a side, 1 undecided; 4 argue neither side; for 3 of them a "
        f"verdict is missing{end}"
    )


def test_how_many_passages_argue_a_side():
    case = build_case()
    assert said_of_number(case) == ""
    counted = replace(case, expected_about=Expected(12.4, 28, 30))
    assert said_of_number(counted) == (
        "Probably about 12 of the 30 passages read (2 without a verdict not counted) argue a side "
        "of the question; 7 cited."
    )
    single = replace(case, expected_about=Expected(0.6, 1, 1), sides=())
    assert said_of_number(single) == (
        "Probably about 1 of the one passage read argues a side of the question; 0 cited."
    )


def topic(name: str, same: float, opposite: float = 0.0, *, used: bool = False) -> TopicMatch:
    return TopicMatch(name, same, opposite, "meaning", used)


def test_five_topics_whose_labels_do_not_count_are_named():
    used = LabelledTopic(topic("Used", 0.9, used=True), 2)
    near = [LabelledTopic(topic(f"Near {n}", 0.2, 0.1), 1) for n in range(7)]
    far = LabelledTopic(topic("Far", 0.2, 0.0999), 3)
    lines = label_notes([used, *near, far])
    assert lines[0].startswith("Labels on “Used” (2 passages) count: the topic ")
    assert lines[1] == (
        "Labels on “Near 0” (one passage) do not count: it is too uncertain whether the topic asks "
        "the same (same 0.20, opposite 0.10); --topic names it."
    )
    assert len(lines) == 6  # five in all, and a line for the others: 3 near ones and 3 far ones
    assert lines[5] == "6 passages have labels on other topics, which do not count."
    single = label_notes([LabelledTopic(topic("Far", 0.1), 1)])
    assert single == ("One passage has a label on another topic, which does not count.",)
    assert label_notes([]) == ()


def test_a_near_topic_is_asked_about():
    topics = (LabelledTopic(topic("Ban\nzoos", 0.4), 2), LabelledTopic(topic(" ", 0.4), 1))
    assert near_said(topics) == (("Ban zoos", "2 passages"),)
    case = replace(build_case(), topics=topics[:1])
    assert asked_back(case) == ("Did you mean “Ban zoos” (2 passages)?",)
    assert asked_back(build_case()) == ()


def test_what_a_reader_may_doubt():
    case = one_sided_case()
    (line,) = doubts(case)
    assert line == (
        "The case for no: not argued. No passage that argues a side of the question was found."
    )
    doubtful = replace(case.sides[0], likely=0.6)
    weighed = Weighing("m", 0.0, "it failed")
    noted = replace(case, sides=(doubtful,), question_notes=("A\nnote.",), weighed=weighed)
    assert doubts(noted) == (
        "A note.",
        "The packaged judge decided the sides, not m: it failed",
        "The case for yes: Your documents may not argue this side: the probability that they do "
        "is 60 %.",
    )


@pytest.mark.parametrize(
    ("weight", "unscored_", "doubtful"), [(0.9, 0, False), (0.9, 1, True), (0.0, 0, True)]
)
def test_a_model_is_doubted_if_it_did_not_decide_all(weight, unscored_, doubtful):
    weighed = Weighing("m", weight, "so", 10, 9, unscored=unscored_)
    words = (
        "m decided the sides of 9 passages: so"
        if weight
        else "The packaged judge decided the sides, not m: so"
    )
    assert (weighed.said, weighed.doubt) == (words, words if doubtful else "")
    assert weighed.row()["asked"] == 10


def test_sentence_precision_and_quotations_are_said():
    response = Response("q", "r", (Sentence("A.", (Citation("a"),)), Sentence("B.")))
    measured = {"sentence_precision": Measured(0.5, 1, 2)}
    quoted = {(0, "a"): Judged(True, QUOTED)}
    assert said_of_precision(response, {}, {}) == ""
    assert said_of_precision(response, quoted, {}) == "; quoted verbatim"
    precision = "; sentence precision 0.50 (1 of 2 scored)"
    assert said_of_precision(response, {}, measured) == precision
    assert said_of_precision(response, quoted, measured) == (
        f"{precision[:-1]}; 1 of 2 sentences quoted verbatim)"
    )
    none = {"sentence_precision": Measured(None, 0, 2)}
    assert said_of_precision(response, {}, none) == (
        "; sentence precision nothing scored (0 of 2 scored)"
    )


# -- Verdicts and measures ------------------------------------------------------------------------


def test_a_verdict_in_words():
    none = _verdict("support", None)
    assert (none.state, none.phrase, none.reason) == (
        "unscored",
        "unscored: not asked",
        "not asked",
    )
    missing = _verdict("support", unscored("too\nlong"))
    assert missing.phrase == f"unscored: too long, {missing.judge}"
    assert _verdict("support", unscored("")).reason == "no reason given"
    assert _verdict("support", Judged(True, QUOTED)).state == "quoted"
    sure = _verdict("support", yes(0.93))
    assert (sure.state, sure.probability, sure.chance) == ("yes", "p = 0.93", "0.93")
    assert sure.phrase == f"{sure.word}, p = 0.93, packaged"
    assert _verdict("support", no(0.2)).state == "no"


@pytest.mark.parametrize(
    ("threshold", "p", "words"),
    [
        (0.7, 0.8, " (yes from 0.70)"), (0.5, 0.8, ""), (0.7, None, ""), ("0.7", 0.8, ""),
        (None, 0.8, ""),
    ],
)  # fmt: skip
def test_a_threshold_that_is_not_one_half_is_named(threshold, p, words):
    details = {} if threshold is None else {"threshold": threshold}
    assert _threshold(Judged(True, Provenance("j", details=details), p)) == words


def test_a_verdict_that_did_not_decide_is_neither_yes_nor_no():
    verdict = _unsure(_verdict("stance", yes(0.6)))
    assert (verdict.state, verdict.word) == ("mixed", "not sure enough")
    assert verdict.phrase == "not sure enough, p = 0.60, packaged"
    missing = _verdict("stance", unscored())
    assert _unsure(missing) is missing
    plain = _unsure(_verdict("stance", Judged(True, JUDGE)))
    assert plain.phrase == "not sure enough, packaged"


@pytest.mark.parametrize(
    ("measured", "value", "interval", "plot"),
    [
        (Measured(0.5, 3, 4, 0.25, 0.75), "0.50", "[0.25, 0.75]", (50, 25, 75)),
        (Measured(1.0, 3, 4, 0.5, 1.0), "1.00", "[0.50, 1.00]", (100, 50, 100)),
        (Measured(0.0, 3, 4, 0.0, 0.5), "0.00", "[0.00, 0.50]", (0, 0, 50)),
        (Measured(2.0, 3, 4, 1.0, 3.0), "2", "[1.00, 3.00]", None),
        (Measured(0.5, 3, 4, -0.1, 0.75), "0.50", "[-0.10, 0.75]", None),
        (Measured(0.5, 3, 4, 0.2, 1.1), "0.50", "[0.20, 1.10]", None),
        (Measured(0.5, 3, 4), "0.50", "", None),
        (Measured(None, 0, 4), "unscored", "", None),
    ],
)
def test_a_measure_is_plotted_as_a_share(measured, value, interval, plot):
    view = _measure("sentence_precision", measured)
    assert (view.value, view.interval, view.plot) == (value, interval, plot)
    assert view.base == f"{measured.scored} of 4 scored"


@pytest.mark.parametrize(("length", "whole"), [(400, True), (401, False)])
def test_400_characters_of_a_passage_and_of_a_quotation_are_shown(length, whole):
    text = "x" * length
    case = replace(build_case(), documents={"a": Document("a", text)}, undecided=(MAYBE,))
    assert (_undecided(case, MAYBE).opening == text) is whole
    side = argued("pro", (("conclusion", "C.", {"a": yes(0.9, text)}),))
    page = render_markdown(replace(case, sides=(side,), undecided=()))
    assert (f"“{text}”" in page) is whole
    assert (f"“{'x' * 399}…”" in page) is not whole


def test_the_checks_of_a_passage_on_neither_side():
    case = replace(build_case(), documents={"a": Document("a", "Text.", title="Title")})
    view = _undecided(case, MAYBE)
    checks = [(check.question, check.side, check.verdict.state) for check in view.checks]
    assert checks == [
        ("Argues a side?", "", "yes"),
        ("Serves pro?", "pro", "mixed"),
        ("Serves con?", "con", "mixed"),
    ]  # fmt: skip
    assert (view.title, view.opening) == ("Title", "Text.")
    unlikely = _undecided(case, replace(MAYBE, relevance=no(0.3)))
    assert unlikely.checks[0].verdict.state == "mixed"
    unknown = _undecided(replace(case, documents={}), MAYBE)
    assert (unknown.title, unknown.opening, unknown.url) == ("a", "", "")


def test_the_checks_of_a_cited_passage():
    case = build_case()
    checks = [(c.question, c.side, c.verdict.state) for c in _checks(case, "aec-2019-04")]
    assert checks == [
        ("Argues a side?", "", "yes"), ("Serves pro?", "pro", "yes"), ("Serves con?", "con", "no"),
    ]  # fmt: skip
    con = case.sides[1]
    other = replace(con, relevance={**con.relevance, "aec-2019-04": no(0.3)})
    checks = list(_checks(replace(case, sides=(case.sides[0], other)), "aec-2019-04"))
    assert [check.side for check in checks] == ["pro", "con", "pro", "con"]
    assert list(_checks(case, "nothing")) == []


def test_a_corpus_label_in_words():
    label = Argument("a", "C.", (Premise("P."),), stance="pro", topic="Ban zoos?")
    assert _label(label) == "pro, on “Ban zoos?”"
    assert _label(replace(label, topic="")) == "pro, on “C.”"
    assert _label(replace(label, stance=None)) == ""
    assert _label(Document("d", "T.")) == ""
    assert _label(None) == ""


def test_points_are_a_conclusion_and_its_premises():
    lines = [("premise", "A.", {"a": yes(0.9)}), ("conclusion", "B.", {"a": yes(0.9)}),
             ("premise", "C.", {"b": yes(0.9)}), ("conclusion", "D.", {})]  # fmt: skip
    side = argued("pro", tuple(lines), chances={"a": 0.65})
    case = replace(build_case(), sides=(side,))
    (view,) = view_case(case).sides
    first, second, third = view.groups
    assert (first.conclusion, len(first.premises), first.likelihood) == (None, 1, "likely, 65 %")
    assert (second.conclusion.text, [p.text for p in second.premises]) == ("B.", ["C."])
    assert (third.likelihood, third.premises) == ("", ())
    assert [s.label for s in (first.premises[0], second.conclusion)] == ["P1", "P2"]
    assert view.passages == 2
    assert view.citations == 3


def test_references_are_numbered_once():
    case = build_case()
    assert list(_numbers(case).values()) == [1, 2, 3, 4, 5, 6, 7]
    assert _numbers(case)["hostile-1"] == 2
    page = view_case(case)
    assert (page.sentences, page.citations) == (15, 17)
    assert (page.scored, page.quoted, page.less_sure) == (15, 0, 0)
    assert page.certainty == "35 %"


def test_a_document_that_is_cited_twice_keeps_its_first_place():
    case = build_case()
    side = case.sides[0]
    twice = Sentence("A.", tuple(Citation(name) for name in ("panel-77", "court-1", "panel-77")))
    response = replace(side.response, sentences=(twice,))
    numbers = _numbers(replace(case, sides=(replace(side, response=response),)))
    assert numbers == {"panel-77": 1, "court-1": 2}


# -- In a notebook and in rows --------------------------------------------------------------------


def test_sentences_are_printed_on_a_line_each_with_two_citations():
    cited = tuple(Citation(name) for name in "abc")
    sentences = [Sentence(f"S{n}.", cited[:n]) for n in range(4)]
    assert sentence_lines(sentences, 4) == ["  S0.", "  S1. [a]", "  S2. [a, b]", "  S3. [a, b, …]"]
    assert sentence_lines(sentences, 3)[-1] == "  1 more: .to_frame()"
    (line,) = sentence_lines([Sentence("word " * 60, cited[:1])], 1)
    assert len(line) <= 100
    assert line.endswith(" [a]")


def test_a_case_is_printed():
    case = replace(one_sided_case(), judges={"j": "good", "k": "", "l": "", "m": ""})
    lines = repr(case).splitlines()
    assert lines[:2] == ["Should voting be compulsory?", "The case for yes:"]
    assert len([line for line in lines if line.startswith("Judge ")]) == 3
    assert "  No passage that argues a side of the question was found." in lines
    assert not any("may not argue" in line for line in lines)
    doubtful = replace(case, sides=(replace(case.sides[0], likely=0.5),))
    assert "The case for yes (Your documents may not argue this side" in repr(doubtful)
    page = doubtful._repr_html_()
    assert "<b>A duty to vote brings almost everyone to the polls.</b>" in page
    assert "<small>[aec-2019-04]</small>" in page
    assert page.count("<li>") == 7
    assert (case.pro, case.con) == case.sides
    assert doubtful.con is None


def test_rows_of_a_case():
    rows = build_case().rows()
    assert len(rows) == 18  # 17 citations, and a sentence without one
    assert rows[0] == {
        "side": "pro", "sentence": 0, "role": "conclusion", "chance": None, "likelihood": "",
        "text": "A duty to vote brings almost everyone to the polls.", "doc_id": "aec-2019-04",
        "document": "aec-2019-04", "passage": None, "supported": True, "probability": 0.93,
    }  # fmt: skip
    last = rows[-1]
    assert (last["doc_id"], last["document"], last["supported"]) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "complete"),
    [({}, True), ({"unscored": 1}, False), ({"search_unscored": 1}, False),
     ({"weighed": Weighing("m", 0.5, "", unscored=1)}, False),
     ({"weighed": Weighing("m", 0.5, "")}, True)],
)  # fmt: skip
def test_a_case_is_complete_without_a_missing_verdict(changes, complete):
    side = argued("pro", (("conclusion", "C.", {"a": yes(0.9)}),))
    case = replace(build_case(), sides=(side,), **changes)
    assert case.complete is complete
    assert not replace(case, sides=(replace(side, failed=True),)).complete
    missing = replace(side, support={(0, "a"): unscored()})
    assert not replace(case, sides=(missing,)).complete


def test_verdicts_and_counts_in_json():
    case = replace(
        one_sided_case(), undecided=(MAYBE,), unscored=1, search_unscored=2,
        weighed=Weighing("m", 0.5, "", unscored=4),
    )  # fmt: skip
    row: Any = case_row(case).model_dump()
    assert row["unscored"] == 7
    assert row["sides"][1]["empty"] == why_empty(case, case.sides[1])
    assert row["sides"][0]["empty"] is None
    assert row["sides"][0]["warning"] is None
    assert row["undecided"][0]["pro"]["probability"] == 0.6
    rows = list(verdict_rows(build_case()))
    assert len(rows) == 17 + 2 * (4 + 4)
    assert (rows[0]["id"], rows[0]["sentence"]) == ("q1/pnyx/0/aec-2019-04", 0)
    assert [r["task"] for r in rows].count("stance") == 8
    assert with_settings(case, index="i").settings["index"] == "i"


def test_the_legend_has_the_states_on_the_page():
    assert set(_legend(view_case(build_case()))) == {"yes", "no", "mixed", "unscored", "uncited"}
    empty = replace(build_case(), sides=(EMPTY,))
    assert set(_legend(view_case(empty))) == set(STATES)
