"""Figures, tables and texts for people: roundings, limits and words, each at its boundary."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pnyx.core.records import Perspective
from pnyx.display.figures import decimals, percent, percent_ends, share, signed
from pnyx.display.results import (
    in_units,
    judged_notes,
    perspective_lines,
    plan_lines,
    plan_row,
)
from pnyx.display.states import probability, said_of, state_of
from pnyx.display.summary import mean_sentence, share_sentence, summary_lines
from pnyx.display.tables import Column, Marked, Table, chance, interval, number, withheld_line
from pnyx.display.text import cut, escape_markdown, listed, locate, markdown_link, web_address
from pnyx.judging.llm.plan import PlannedModel
from pnyx.judging.measures.summary import AnswerSummary, RunSummary, YesShare
from pnyx.models.chat.ledger import Estimate
from pnyx.stats.base import Bootstrap, Measured


def measured(value: float | None, low: float | None = None, high: float | None = None) -> Measured:
    return Measured(value, 3, 4, low, high)


# Figures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0 %"), (0.004, "0.4 %"), (0.006, "1 %"), (0.994, "99 %"), (0.996, "99.6 %"),
     (1.0, "100 %"), (0.125, "12 %"), (0.0001, "0.0 %")],
)  # fmt: skip
def test_a_share_is_a_whole_percentage_and_0_and_100_only_if_exact(value, words):
    assert percent(value) == words


def test_shares_and_differences_have_their_intervals():
    whole = measured(0.13, 0.07, 0.21)
    assert percent_ends(whole) == "7 to 21 %"
    assert percent_ends(measured(0.13, None, 0.21)) == percent_ends(measured(0.13, 0.07)) == ""
    assert share(whole) == "13 % (7 to 21 %)"
    assert share(whole, "95 %: ") == "13 % (95 %: 7 to 21 %)"
    assert share(whole, inside=True) == "13 %, 7 to 21 %"
    assert share(measured(0.13)) == "13 %"
    assert share(measured(None), inside=True) == "undefined, no interval"
    assert decimals(measured(0.184, -0.026, 0.366), "15 questions") == (
        "0.18 (-0.03 to 0.37, 15 questions)"
    )
    assert decimals(measured(None), "3 items") == "undefined (3 items)"
    assert decimals(measured(-0.001)) == "0.00"
    assert signed(measured(0.05, -0.1, 0.2), points=True) == "+5 points, -10 to +20"
    assert signed(measured(-0.051, -0.1), points=False) == "-0.05"
    assert signed(measured(None, 0.1, 0.2), points=False) == "-"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "p = 0.00"), (0.0001, "p < 0.01"), (0.00999, "p < 0.01"), (0.01, "p = 0.01"),
     (0.99, "p = 0.99"), (0.9901, "p > 0.99"), (1.0, "p = 1.00"), (None, ""),
     (float("nan"), ""), (float("inf"), "")],
)  # fmt: skip
def test_a_probability_is_not_rounded_to_certainty(value, words):
    assert probability(value) == words


@pytest.mark.parametrize(
    ("p", "words"), [(None, "-"), (0.00009, "<0.0001"), (0.0001, "0.0001"), (0.05, "0.0500")]
)
def test_a_p_value_has_four_digits(p, words):
    assert chance(p) == words


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        ((), "uncited"), (("quoted", "quoted"), "quoted"), (("quoted", "yes"), "yes"),
        (("quoted", "weak"), "weak"), (("quoted", "no"), "mixed"), (("weak", "no"), "mixed"),
        (("no", "unscored"), "no"), (("yes", "unscored"), "unscored"), (("no",), "no"),
        (("quoted", "unscored"), "unscored"), (("yes", "no", "unscored"), "mixed"),
    ],
)  # fmt: skip
def test_the_verdicts_on_a_sentence_are_one_state(verdicts, state):
    assert state_of(verdicts) == state


def test_a_yes_below_one_half_is_weak():
    words = ("supported", "not supported")
    assert said_of(True, 0.4999, words) == ("weak", "perhaps supported")
    assert said_of(True, 0.5, words) == said_of(True, None, words) == ("yes", "supported")
    assert said_of(False, 0.4, words) == ("no", "not supported")


@pytest.mark.parametrize(
    ("count", "words"),
    [(999, "999 bytes"), (1000, "1.0 KB"), (10**6 - 1, "1,000.0 KB"), (10**6, "1.0 MB"),
     (10**9, "1.0 GB"), (0, "0 bytes")],
)  # fmt: skip
def test_bytes_have_a_fitting_unit(count, words):
    assert in_units(count) == words


# Tables -------------------------------------------------------------------------------------------


def test_cells_of_every_kind():
    assert [number(value) for value in (None, 0.5, -0.0001)] == ["-", "0.500", "0.000"]
    assert interval(measured(0.5, 0.25, 0.75)) == interval((0.25, 0.75)) == "[0.250, 0.750]"
    assert interval(0.25) == interval(None, 0.5) == interval(measured(0.5, 0.1)) == "-"
    assert interval(0.25, 0.75) == interval((0.25, 0.75, "why")) == "[0.250, 0.750]"
    for kind, value, shown in (
        ("text", None, ""), ("name", "a" * 2001, "a" * 1999 + "…"), ("count", 1200, "1,200"),
        ("count", None, "-"), ("share", 0.1234, "12.3%"), ("share", None, "-"),
        ("counts", (3, 4), "3 of 4"), ("counts", (4, 4), "4"), ("counts", None, "-"),
        ("counts", measured(0.5), "3 of 4"), ("figure", measured(0.5), "0.500"),
        ("figure", measured(0.5, 0.25, 0.75), "0.500 [0.250, 0.750]"),
        ("figure", Marked(measured(0.5, 0.25, 0.75), "*"), "0.500 * [0.250, 0.750]"),
        ("figure", Marked(measured(0.5)), "0.500  "), ("number", Marked(0.5, "*"), "0.500 *"),
    ):  # fmt: skip
        assert Column("c", kind).shown(value) == shown, (kind, value)


def table(width: int, *texts: str, kind: str = "text") -> list[str]:
    columns = (Column("name", "name"), Column("text", kind), Column("n", "count"))
    return Table(columns, [("a", text, 3) for text in texts]).text(width).split("\n")


def test_a_table_is_as_wide_as_its_cells_and_folded_where_that_is_too_wide():
    words = "some words that are folded"  # 26 wide, and 4 + 2 + 2 + 1 for the rest
    assert table(35, words)[1] == f"a     {words}  3"
    assert table(34, words)[1:] == ["a     some words that are        3", "      folded"]


@pytest.mark.parametrize(("width", "parts"), [(30, 1), (29, 2)])
def test_a_table_that_cannot_be_folded_further_is_continued_below(width, parts):
    """A column of text is folded to 16; two of numbers need 5 each, and two gaps 2 each."""
    columns = (Column("a"), Column("b", "count"), Column("c", "number"))
    text = Table(columns, [("w" * 20, 1234, 0.5)]).text(width)
    assert len(text.split("\n\n")) == parts


def test_words_are_broken_before_numbers_and_these_before_measures():
    def lines(width: int) -> list[str]:
        columns = (Column("t"), Column("m", "measure"), Column("n", "count"))
        return Table(columns, [("w" * 30, "nDCG@10", 1_234_567)]).text(width).split("\n")

    assert lines(22)[1] == "ww  nDCG@10  1,234,567"  # 30 and 7 and 9, and two gaps
    assert lines(16)[1] == "ww  nDCG@10  1,2"
    assert max(map(len, lines(8))) == 8


def test_a_table_is_markdown_html_csv_and_json():
    columns = (Column("name", "name"), Column("f", "figure", "value"), Column("n", "counts"))
    rows = [("a|b", Marked(measured(0.5, 0.25, 0.75), "*"), (3, 4)), (),
            ("=c", measured(None), None)]  # fmt: skip
    made = Table(columns, rows, ["A note."], ["A legend."], "Title")
    assert made.markdown().split("\n") == [
        "**Title**", "", "| name | f | n |", "| --- | ---: | ---: |",
        "| a\\|b | 0.500 * [0.250, 0.750] | 3 of 4 |", "| =c | - | - |", "", "A note.", "",
        "A legend.", "",
    ]  # fmt: skip
    assert made.csv() == (
        "name,value,value low,value high,value mark,n,n asked\na|b,0.5,0.25,0.75,*,3,4\n'=c,,,,,,\n"
    )
    assert made.csv(head=False).startswith("a|b,")
    assert [list(row) for row in made.json()] == [["name", "value", "n"]] * 2
    assert made.json()[0]["value"]["low"] == 0.25
    html = made.html()
    assert "<caption>Title</caption>" in html
    assert '<td>a|b</td><td class="number">0.500 * [0.250, 0.750]</td>' in html
    assert html.count("</tbody><tbody>") == 1
    assert '<p class="note">A note.</p>\n<p class="legend">A legend.</p>' in html


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ("abc", "no interval: one item (a, b, c)"),
        ("abcd", "no interval: one item (a, b, c, ...)"),
        ("", ""),
    ],
)
def test_three_places_without_an_interval_are_named(names, line):
    values = [SimpleNamespace(value=0.5, no_interval="one item", measure=name) for name in names]
    values.append(SimpleNamespace(value=None, no_interval="one item", measure="none"))
    assert withheld_line([*values, None]) == line


# Texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "pieces"), [(4000, ["text"]), (4001, ["text", "gap"])])
def test_a_passage_of_4000_characters_is_shown_whole(length, pieces):
    assert [segment.kind for segment in cut("a" * length, {})] == pieces


def test_a_long_passage_has_900_characters_at_the_start_and_around_its_evidence():
    """White space is sought for 40 characters, so that no word is cut, unless it is very long."""
    words = "word " * 2000
    segments = cut(words, {"e": (5000, 5004)})
    shown = [(segment.kind, len(segment.text)) for segment in segments if segment.kind != "gap"]
    # 904: the end of the word at 900; from 4,100, where a word begins; to 5,904.
    assert shown == [("text", 904), ("text", 900), ("mark", 4), ("text", 900)]
    assert [segment.text for segment in segments if segment.kind == "gap"] == ["3,196", "4,096"]
    for gap, kept in ((39, 939), (40, 900)):
        text = "a" * (900 + gap) + " " + "b" * 4000
        assert len(cut(text, {})[0].text) == kept


def test_words_in_sentences():
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "", "a", "a and b", "a, b and c",
    ]  # fmt: skip
    assert locate("A b. C d.", "x", "C d") == (5, 8)
    assert locate("A b. C  d.", "x", "c D.") == (5, 9)
    assert locate("A b.", "", "x") is None
    for text, escaped_text in (
        ("1. a", "1\\. a"), ("1.a) b", "1\\.a) b"), ("- a", "\\- a"), ("a - b", "a - b"),
        ("# a", "\\# a"), ("a_b*c", "a\\_b\\*c"),
    ):  # fmt: skip
        assert escape_markdown(text) == escaped_text


@pytest.mark.parametrize(
    ("url", "is_link"),
    [("http://a.org", True), ("https://a.org/x", True), ("ftp://a.org", False), ("http:", False),
     ("https://a b.org", False), ("http://[a", False)],
)  # fmt: skip
def test_only_pages_of_the_web_are_links(url, is_link):
    assert web_address(url) == (url if is_link else "")
    assert markdown_link("http://a.org") == "<http://a.org>"
    assert markdown_link("http://a.org/<") == "http://a.org/\\<"


@pytest.mark.parametrize(
    ("documents", "origin"),
    [
        (["a", "b", "c"], "clusters: a, b, c; side by judge"),
        (["a", "b", "c", "d"], "clusters: a, b, c and 1 more; side by judge"),
    ],
)
def test_three_documents_of_a_perspective_are_named(documents, origin):
    extra = {"origin": "clusters", "documents": documents, "side_by": "judge"}
    view = Perspective("p", "q", "Ban cars.", "pro", extra)
    assert perspective_lines([view, Perspective("r", "q", "Keep cars.")]) == (
        f"  1  pro      Ban cars.\n{'':14}{origin}\n  2  ?        Keep cars.\n{'':14}"
    )


# Plans, stores, reports ---------------------------------------------------------------------------


def test_a_plan_says_what_it_may_cost():
    estimate = Estimate(1200, (10, 2000), (5, 10), (0.01, 0.02))
    expected = Estimate(600, (7, 8), (3, 4), (0.005, 0.006))
    model = PlannedModel("m", 3, estimate, 40, 2, expected, 100)
    assert list(plan_lines([model]))[:-1] == [
        "m",
        "  calls              100 to 1,200 (3 from the store); 600 expected",
        "  of these again     2 expected, after replies cut off",
        "  prompt tokens      10 to 2,000 (5th to 95th percentile of 40 stored replies); "
        "7 to 8 expected",
        "  completion tokens  5 to 10; 3 to 4 expected",
        "  price              $0.0100 to $0.0200; $0.0050 to $0.0060 expected",
    ]
    row = plan_row(model)
    assert (row["calls"], row["calls_least"], row["expected"]["calls"]) == (1200, 100, 600)
    none = PlannedModel("m", 3, Estimate(0, (0, 0), (0, 0), None), 0)
    assert list(plan_lines([none])) == ["m", "  calls              0 (3 from the store)"]
    assert "expected" not in plan_row(none)
    unknown = PlannedModel("m", 0, Estimate(1, (1, 2), (1, 2), None), 0)
    assert "  price              not known; --set prices=FILE gives it" in plan_lines([unknown])
    assert list(plan_lines([])) == ["  no language model is asked: no calls, no cost"]


def test_judged_reports_name_five_topics_three_documents_and_their_counts():
    counts = {
        "missing": {"r": ["a", "b", "c", "d", "e"], "s": ["a", "b", "c", "d", "e", "f"]},
        "differing": {"r": {"a": 0.5, "b": 0.25, "c": 0.1, "d": 0.9}},
        "notes": {"odd": 1, "long": 2},
    }
    (missing, _), (differing, _), (notes, _) = judged_notes(counts)
    assert missing[0].endswith("on 5 of the topics: a, b, c, d, e")
    assert missing[1].endswith("on 6 of the topics: a, b, c, d, e, ...")
    assert differing[0].endswith("Words in common: a 50%, b 25%, c 10%")
    assert differing[0].startswith("run r: 4 of its cited documents")
    assert notes == ["1 report: odd", "2 reports: long"]


def test_a_summary_names_ten_runs():
    def summary(runs: int) -> AnswerSummary:
        of = RunSummary([YesShare("answer", "supported", 1, Measured(0.5, 2, 2))])
        every = {f"r{n}": of for n in range(runs)}
        return AnswerSummary("support", "j", of, every, 2, {}, Bootstrap(0))

    assert summary_lines(summary(10))[-1] == "r9: 1 of 2 answers is supported (50 %)."
    assert summary_lines(summary(11))[-2:] == [
        "r9: 1 of 2 answers is supported (50 %).", "1 more runs: --json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("yes", "value", "sentence"),
    [
        (2, Measured(0.5, 4, 4, 0.2, 0.8), "2 of 4 answers are supported (50 %, 20 to 80 %)"),
        (1, Measured(0.25, 4, 4), "1 of 4 answers is supported (25 %)"),
        (0, Measured(0.0, 1, 1), "0 of 1 answer is supported (0 %)"),
        (2, Measured(0.5, 4, 6), "2 of 4 scored answers are supported (50 %); 2 of 6 are unscored"),
        (0, Measured(None, 0, 1), "none of 1 answer is scored"),
        (0, Measured(None, 0, 2), "none of 2 answers is scored"),
    ],
)
def test_a_share_is_a_sentence(yes, value, sentence):
    assert share_sentence(YesShare("answer", "supported", yes, value)) == sentence


def test_a_mean_says_how_many_are_scored():
    assert mean_sentence("wit", Measured(2.5, 4, 4)) == "wit 2.50"
    assert (
        mean_sentence("wit", Measured(2.5, 3, 4, 2, 3)) == "wit 2.50 (2.00 to 3.00), 3 of 4 scored"
    )
    assert mean_sentence("wit", Measured(None, 0, 4)) == "wit: none of 4 is scored"
